//! Where links are, how they move, and what follows from it directly: poses, velocities, Jacobians, bias
//! accelerations, energy, momentum, centre of mass.

use glam::{DMat3, DVec3};

use super::data::{Body, pair};
use super::joint::{ElementaryJoint, quaternion};
use super::rigid::{Own, Rigid};
use super::spatial::{Force, Motion, Pose};
use super::turns::Turns;
use super::{Data, Node, Tree, TreeError};
use crate::index::LinkId;
use crate::math::simd::LANES;

/// The acceleration of a ground that falls upwards without gravity.
const STANDING: Motion = Motion {
    angular: DVec3::ZERO,
    linear: DVec3::splat(-0.0),
};

/// What is turned into the axes of the world with the poses of links.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turned {
    Nothing,
    Inertias,
    /// Inertias, and the force that each link asks for.
    Forces,
}

impl Tree {
    /// Poses of all links for a configuration.
    pub fn kinematics(&self, q: &[f64], data: &mut Data) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.place_nodes(q, data);
        Ok(())
    }

    /// Poses and velocities of all links, and their accelerations at q̈ = 0 without gravity.
    pub fn velocities(&self, q: &[f64], v: &[f64], data: &mut Data) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.check("velocity", v, self.n_dofs)?;
        self.walk(data, (q, v), (DVec3::ZERO, false), |_, _| {});
        Ok(())
    }

    /// Poses of all links without their inertias, which stay as they were.
    pub(crate) fn poses(&self, q: &[f64], data: &mut Data) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.pass(q, data, Turned::Nothing, |_, _, _| {});
        Ok(())
    }

    /// The same with their motion, as [`Tree::velocities`] finds it.
    pub(crate) fn motion(&self, q: &[f64], v: &[f64], data: &mut Data) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.check("velocity", v, self.n_dofs)?;
        data.bodies[0].acceleration = STANDING;
        self.pass(q, data, Turned::Nothing, |node, parent, body| {
            moves(node, v, parent, body);
        });
        Ok(())
    }

    /// Poses, velocities and accelerations at q̈ = 0 from the ground, which falls upwards, to the leaves. `visit`
    /// sees every node before its children, and what it adds to the acceleration is carried on.
    #[inline]
    pub(super) fn walk(
        &self,
        data: &mut Data,
        (q, v): (&[f64], &[f64]),
        (gravity, needs): (DVec3, bool),
        visit: impl Fn(&Node, &mut Body),
    ) {
        data.bodies[0].acceleration = Motion {
            angular: DVec3::ZERO,
            linear: -gravity,
        };
        let turned = match needs {
            true => Turned::Forces,
            false => Turned::Inertias,
        };
        self.pass(q, data, turned, |node, parent, body| {
            moves(node, v, parent, body);
            visit(node, body);
        });
        if needs {
            self.add_burdens(gravity, data);
        }
    }

    /// The ground falls upwards, and what has no weight must not be asked to follow.
    pub(super) fn add_burdens(&self, gravity: DVec3, data: &mut Data) {
        for burden in &self.burdens {
            data.passes[burden.node].force.force += burden.armature * gravity;
        }
    }

    /// Poses from the ground to the leaves, `visit` seeing every node after its parent, and what is turned with them
    /// a group at a time.
    #[inline]
    fn pass(
        &self,
        q: &[f64],
        data: &mut Data,
        turned: Turned,
        visit: impl Fn(&Node, &Body, &mut Body),
    ) {
        data.factored = false;
        data.turns.prepare(&self.turning, q);
        for (group, own) in self.own.iter().enumerate() {
            let first = group * LANES;
            for i in first.max(1)..self.nodes.len().min(first + LANES) {
                let node = &self.nodes[i];
                let (body, parent) = pair(&mut data.bodies, i, node.parent);
                place(node, (q, &data.turns), parent, body);
                visit(node, parent, body);
                if turned == Turned::Nothing {
                    continue;
                }
                data.eight.place(i - first, &body.rotation);
                if turned == Turned::Forces {
                    let spin = body.velocity.angular;
                    data.eight.moves(i - first, spin, body.acceleration);
                }
            }
            if turned != Turned::Nothing {
                data.turn_inertias(own, first, turned == Turned::Forces);
            }
        }
    }

    pub(super) fn check_configuration(&self, q: &[f64]) -> Result<(), TreeError> {
        self.check("configuration", q, self.n_coordinates)?;
        self.check_quaternions(q)
    }

    pub(super) fn check_quaternions(&self, q: &[f64]) -> Result<(), TreeError> {
        if self.n_multi == 0 {
            return Ok(());
        }
        for node in &self.nodes[1..] {
            let at = match node.kind {
                ElementaryJoint::Ball => node.q_at,
                ElementaryJoint::Free => node.q_at + 3,
                _ => continue,
            };
            // As `quaternion` asks, without its root.
            let square: f64 = q[at..at + 4].iter().map(|x| x * x).sum();
            if !(0.0 < square && square.is_finite()) {
                return Err(TreeError::BadQuaternion {
                    link: self.name_of(node.link),
                });
            }
        }
        Ok(())
    }

    pub(super) fn place_nodes(&self, q: &[f64], data: &mut Data) {
        self.pass(q, data, Turned::Inertias, |_, _, _| {});
    }

    /// The frame of a link in the world.
    pub fn pose(&self, data: &Data, link: LinkId) -> Result<Pose, TreeError> {
        let seat = self.seat(link)?;
        let body = &data.bodies[seat.node];
        let frame = Pose {
            rotation: body.rotation,
            position: body.origin,
        };
        Ok(frame.then(&seat.frame))
    }

    /// Angular velocity of a link and velocity of a point of it (world), as of the last call of
    /// [`Tree::velocities`] or of a recursion that takes a velocity.
    pub fn point_velocity(
        &self,
        data: &Data,
        link: LinkId,
        point: DVec3,
    ) -> Result<Motion, TreeError> {
        let body = &data.bodies[self.seat(link)?.node];
        Ok(body.velocity.at(point - body.origin))
    }

    /// J̇q̇: angular acceleration of a link and acceleration of a point of it (world) at q̈ = 0, without gravity,
    /// as of the last call of [`Tree::velocities`].
    pub fn point_bias(&self, data: &Data, link: LinkId, point: DVec3) -> Result<Motion, TreeError> {
        let body = &data.bodies[self.seat(link)?.node];
        let arm = point - body.origin;
        // a = a_O + α × r + ω × (ω × r)
        let mut bias = body.acceleration.at(arm);
        let spin = body.velocity.angular;
        bias.linear += spin.cross(spin.cross(arm));
        Ok(bias)
    }

    /// The six rows (angular, then linear; world axes) of a point of a link, each of length
    /// [`Tree::n_dofs`], row-major: (ω, velocity of the point) = J q̇.
    pub fn jacobian(
        &self,
        data: &Data,
        link: LinkId,
        point: DVec3,
        rows: &mut [f64],
    ) -> Result<(), TreeError> {
        let n = self.n_dofs;
        if rows.len() != 6 * n {
            return Err(TreeError::WrongLength {
                what: "Jacobian",
                expected: 6 * n,
                found: rows.len(),
            });
        }
        rows.fill(0.0);
        let mut i = self.seat(link)?.node;
        while i != 0 {
            let (node, body) = (&self.nodes[i], &data.bodies[i]);
            let arm = point - body.origin;
            for k in 0..node.kind.dofs() {
                let column = subspace(node.kind, body, k).at(arm);
                for axis in 0..3 {
                    rows[axis * n + node.v_at + k] = column.angular[axis];
                    rows[(axis + 3) * n + node.v_at + k] = column.linear[axis];
                }
            }
            i = node.parent;
        }
        Ok(())
    }

    /// Kinetic energy as of the last velocities \[J\].
    pub fn kinetic_energy(&self, data: &Data) -> f64 {
        // T = ½ Σ vᵀI v + ½ Σ armature q̇²
        let rotors: f64 = self
            .nodes
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, node)| node.armature != 0.0)
            .map(|(i, node)| 0.5 * node.armature * self.rate_squared(data, i))
            .sum();
        let bodies = data.bodies[1..].iter();
        rotors
            + bodies
                .map(|body| body.inertia.energy(body.velocity))
                .sum::<f64>()
    }

    /// |q̇|² of a node that can have armature.
    fn rate_squared(&self, data: &Data, i: usize) -> f64 {
        let (node, body) = (&self.nodes[i], &data.bodies[i]);
        let carried = data.bodies[node.parent].velocity.at(body.arm);
        match node.kind {
            ElementaryJoint::Slide => (body.velocity.linear - carried.linear).length_squared(),
            _ => (body.velocity.angular - carried.angular).length_squared(),
        }
    }

    /// Potential energy in a uniform field of gravity \[J\].
    pub fn potential_energy(&self, data: &Data, gravity: DVec3) -> f64 {
        // V = −Σ g·(m x_O + m c)
        -gravity.dot(self.moments(data).1)
    }

    /// Mass of the moving links, and their first moment about the origin of the world: Σ m and Σ (m c + m x_O).
    fn moments(&self, data: &Data) -> (f64, DVec3) {
        let (mut mass, mut first) = (0.0, DVec3::ZERO);
        for body in &data.bodies[1..] {
            mass += body.inertia.mass;
            first += body.inertia.first + body.origin * body.inertia.mass;
        }
        for burden in &self.burdens {
            mass -= burden.armature;
            first -= burden.armature * data.bodies[burden.node].origin;
        }
        (mass, first)
    }

    /// Centre of mass of the moving links, or the origin if they have no mass \[m\].
    pub fn centre_of_mass(&self, data: &Data) -> DVec3 {
        let (mass, first) = self.moments(data);
        if mass == 0.0 {
            DVec3::ZERO
        } else {
            first / mass
        }
    }

    /// Angular momentum about the world's origin, and linear momentum.
    pub fn momentum(&self, data: &Data) -> Force {
        let mut sum = Force::ZERO;
        for body in &data.bodies[1..] {
            // I v about the body's origin, moved to the world's: L + x_O × P
            sum += body.inertia.mul(body.velocity).from(body.origin);
        }
        sum
    }
}

impl Data {
    /// Takes over poses and motion without weight, and asks which force each node needs under its weight.
    pub(super) fn weigh(&mut self, own: &[Own], known: &Data, gravity: DVec3) {
        self.factored = false;
        self.bodies.copy_from_slice(&known.bodies);
        for (group, own) in own.iter().enumerate() {
            let first = group * LANES;
            for (lane, body) in self.bodies[first..].iter_mut().take(LANES).enumerate() {
                // The ground falls upwards, and all that stands on it.
                body.acceleration.linear -= gravity;
                self.eight.place(lane, &body.rotation);
                self.eight
                    .moves(lane, body.velocity.angular, body.acceleration);
            }
            self.turn_inertias(own, first, true);
        }
    }

    /// Inertias of eight nodes in world axes, and with `needs` the force that each asks for.
    #[inline]
    fn turn_inertias(&mut self, own: &Own, first: usize, needs: bool) {
        let eight = &mut *self.eight;
        self.turns.arch.dispatch(Rigid { own, eight, needs });
        for (lane, body) in self.bodies[first..].iter_mut().take(LANES).enumerate() {
            eight.give_inertia(lane, &mut body.inertia);
        }
        if needs {
            for (lane, pass) in self.passes[first..].iter_mut().take(LANES).enumerate() {
                pass.force = eight.need(lane);
            }
        }
    }
}

impl Node {
    /// A motion of the parent, as it is at this node's origin.
    #[inline]
    pub(super) fn carried(&self, body: &Body, motion: Motion) -> Motion {
        if self.concentric {
            motion
        } else {
            motion.at(body.arm)
        }
    }

    /// A force about this node's origin, as it is about the parent's.
    #[inline]
    pub(super) fn handed(&self, body: &Body, force: Force) -> Force {
        if self.concentric {
            force
        } else {
            force.from(body.arm)
        }
    }
}

/// Column k of the motion subspace of a node, in world axes about its origin.
pub(super) fn subspace(kind: ElementaryJoint, body: &Body, k: usize) -> Motion {
    let (turn, slide) = (Motion::turning, Motion::sliding);
    let axis = body.rotation.z_axis;
    match kind {
        ElementaryJoint::Turn => turn(axis),
        ElementaryJoint::Slide => slide(axis),
        ElementaryJoint::Screw(pitch) => Motion {
            angular: axis,
            linear: axis * pitch,
        },
        ElementaryJoint::Ball => turn(body.rotation.col(k)),
        ElementaryJoint::Free if k < 3 => turn(body.rotation.col(k)),
        ElementaryJoint::Free => slide(body.rotation.col(k - 3)),
    }
}

/// Pose and inertia of a node from those of its parent.
#[inline(always)]
fn place(node: &Node, (q, turns): (&[f64], &Turns), parent: &Body, body: &mut Body) {
    let base = match &node.swap {
        Some(swap) => swap.axes(&node.place.rotation, &parent.rotation),
        None => parent.rotation * node.place.rotation,
    };
    let mut arm = DVec3::ZERO;
    if !node.concentric {
        arm = parent.rotation * node.place.position;
    }
    let turned = || {
        let (sin, cos) = turns.of(node.turn);
        let (x, y) = (base.x_axis, base.y_axis);
        DMat3::from_cols(x * cos + y * sin, y * cos - x * sin, base.z_axis)
    };
    body.rotation = match node.kind {
        ElementaryJoint::Turn => turned(),
        ElementaryJoint::Slide => {
            arm += base.z_axis * q[node.q_at];
            base
        }
        ElementaryJoint::Screw(pitch) => {
            arm += base.z_axis * (pitch * q[node.q_at]);
            turned()
        }
        ElementaryJoint::Ball => base * orientation(&q[node.q_at..]),
        ElementaryJoint::Free => {
            arm += base * DVec3::from_slice(&q[node.q_at..]);
            base * orientation(&q[node.q_at + 3..])
        }
    };
    body.arm = arm;
    body.origin = parent.origin + arm;
}

fn orientation(q: &[f64]) -> DMat3 {
    DMat3::from_quat(quaternion(q))
}

/// Velocity of a node and its acceleration at q̈ = 0, from those of its parent.
#[inline]
fn moves(node: &Node, v: &[f64], parent: &Body, body: &mut Body) {
    let spin = parent.velocity.angular;
    let mut velocity = parent.velocity;
    let mut acceleration = parent.acceleration;
    if !node.concentric {
        let carried = spin.cross(body.arm);
        velocity.linear += carried;
        acceleration = acceleration.at(body.arm);
        acceleration.linear += spin.cross(carried);
    }
    match node.kind {
        ElementaryJoint::Turn => {
            let rate = body.rotation.z_axis * v[node.v_at];
            velocity.angular += rate;
            acceleration.angular += spin.cross(rate);
        }
        ElementaryJoint::Slide => {
            let rate = body.rotation.z_axis * v[node.v_at];
            velocity.linear += rate;
            acceleration.linear += 2.0 * spin.cross(rate);
        }
        ElementaryJoint::Screw(pitch) => {
            let rate = body.rotation.z_axis * v[node.v_at];
            velocity.angular += rate;
            velocity.linear += rate * pitch;
            let coriolis = spin.cross(rate);
            acceleration.angular += coriolis;
            acceleration.linear += 2.0 * pitch * coriolis;
        }
        ElementaryJoint::Ball => {
            let rate = body.rotation * DVec3::from_slice(&v[node.v_at..]);
            velocity.angular += rate;
            acceleration.angular += spin.cross(rate);
        }
        ElementaryJoint::Free => {
            let rate = body.rotation * DVec3::from_slice(&v[node.v_at..]);
            let slide = body.rotation * DVec3::from_slice(&v[node.v_at + 3..]);
            velocity.angular += rate;
            velocity.linear += slide;
            acceleration.angular += spin.cross(rate);
            // Velocities in link axes turn with the link, hence ω_rel × u beside Coriolis.
            acceleration.linear += 2.0 * spin.cross(slide) + rate.cross(slide);
        }
    }
    body.velocity = velocity;
    body.acceleration = acceleration;
}

/// S x of a node, added to a motion.
#[inline]
pub(super) fn add_subspace(node: &Node, body: &Body, x: &[f64], motion: &mut Motion) {
    match node.kind {
        ElementaryJoint::Turn => motion.angular += body.rotation.z_axis * x[node.v_at],
        ElementaryJoint::Slide => motion.linear += body.rotation.z_axis * x[node.v_at],
        ElementaryJoint::Screw(pitch) => {
            let turn = body.rotation.z_axis * x[node.v_at];
            motion.angular += turn;
            motion.linear += turn * pitch;
        }
        ElementaryJoint::Ball => {
            motion.angular += body.rotation * DVec3::from_slice(&x[node.v_at..])
        }
        ElementaryJoint::Free => {
            motion.angular += body.rotation * DVec3::from_slice(&x[node.v_at..]);
            motion.linear += body.rotation * DVec3::from_slice(&x[node.v_at + 3..]);
        }
    }
}

/// Sᵀf of a node.
#[inline]
pub(super) fn project(node: &Node, body: &Body, f: Force, out: &mut [f64]) {
    let axis = body.rotation.z_axis;
    match node.kind {
        ElementaryJoint::Turn => out[node.v_at] = axis.dot(f.torque),
        ElementaryJoint::Slide => out[node.v_at] = axis.dot(f.force),
        ElementaryJoint::Screw(pitch) => {
            out[node.v_at] = axis.dot(f.torque) + pitch * axis.dot(f.force)
        }
        ElementaryJoint::Ball => {
            let torque = body.rotation.transpose() * f.torque;
            out[node.v_at..node.v_at + 3].copy_from_slice(&torque.to_array());
        }
        ElementaryJoint::Free => {
            let back = body.rotation.transpose();
            out[node.v_at..node.v_at + 3].copy_from_slice(&(back * f.torque).to_array());
            out[node.v_at + 3..node.v_at + 6].copy_from_slice(&(back * f.force).to_array());
        }
    }
}
