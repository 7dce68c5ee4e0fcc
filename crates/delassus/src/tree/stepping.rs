//! What a time-stepper needs of a tree besides the recursions: damping inside the mass matrix, rows of forces on
//! links, and one step of a configuration.
//!
//! Semi-implicit Euler, M (v' − v) = h(τ − bias) and then q ← q ⊕ h v', is written for a floating joint in axes that
//! do not turn during the step, although its velocity is kept in link axes: [`Tree::unturned`] adds h ω × u to the
//! old velocity, and [`Tree::advance`] turns the new one. So a body in free flight keeps its momentum, which explicit
//! Coriolis terms in turning axes would let grow by ½(h ω)² in each step.

use glam::{DMat3, DQuat, DVec3};

use super::joint::{self, ElementaryJoint, quaternion};
use super::kinematics::{add_subspace, subspace};
use super::spatial::{Force, Motion, Pose};
use super::{Data, LinkPoint, Tree, TreeError, TreeJoint};
use crate::index::LinkId;

/// Forces that go to the ground side by side.
const TOGETHER: usize = 4;

/// A joint at unit speed that moves a point by less than this does not move it \[m/s\].
const STILL: f64 = 1e-9;

/// Up to four forces on one link on their way to the ground.
struct Climb<'a> {
    tree: &'a Tree,
    data: &'a Data,
    link: LinkId,
    forces: &'a [[f64; 6]],
    /// Rows one after the other, and numbers of each.
    rows: &'a mut [f64],
    width: usize,
}

impl pulp::WithSimd for Climb<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let (tree, data) = (self.tree, self.data);
        let mut lanes = [[0.0; TOGETHER]; 6];
        for (lane, force) in self.forces.iter().enumerate().take(TOGETHER) {
            for k in 0..6 {
                lanes[k][lane] = force[k];
            }
        }
        let centre = tree.centre(data, self.link);
        let (n, mut i) = (self.width, tree.seats[self.link.index()].node);
        let rows = &mut *self.rows;
        while i != 0 {
            let (node, body) = (&tree.nodes[i], &data.bodies[i]);
            let (arm, at, r) = (centre - body.origin, node.v_at, &body.rotation);
            match node.kind {
                ElementaryJoint::Turn => add(turned(&lanes, r.z_axis, arm), rows, at, n),
                ElementaryJoint::Slide => add(pushed(&lanes, r.z_axis), rows, at, n),
                ElementaryJoint::Screw(pitch) => {
                    add(turned(&lanes, r.z_axis, arm), rows, at, n);
                    add(pushed(&lanes, r.z_axis * pitch), rows, at, n);
                }
                ElementaryJoint::Ball | ElementaryJoint::Free => {
                    add(turned(&lanes, r.x_axis, arm), rows, at, n);
                    add(turned(&lanes, r.y_axis, arm), rows, at + 1, n);
                    add(turned(&lanes, r.z_axis, arm), rows, at + 2, n);
                    if node.kind == ElementaryJoint::Free {
                        add(pushed(&lanes, r.x_axis), rows, at + 3, n);
                        add(pushed(&lanes, r.y_axis), rows, at + 4, n);
                        add(pushed(&lanes, r.z_axis), rows, at + 5, n);
                    }
                }
            }
            i = node.parent;
        }
    }
}

/// What forces at an arm from a joint do about its axis: (axis × arm)·f + axis·τ.
#[inline(always)]
fn turned(lanes: &[[f64; TOGETHER]; 6], axis: DVec3, arm: DVec3) -> [f64; TOGETHER] {
    let mut sums = pushed(lanes, axis.cross(arm));
    for r in 0..TOGETHER {
        sums[r] = axis.x.mul_add(lanes[3][r], sums[r]);
        sums[r] = axis.y.mul_add(lanes[4][r], sums[r]);
        sums[r] = axis.z.mul_add(lanes[5][r], sums[r]);
    }
    sums
}

/// What forces do along an axis.
#[inline(always)]
fn pushed(lanes: &[[f64; TOGETHER]; 6], axis: DVec3) -> [f64; TOGETHER] {
    let mut sums = [0.0; TOGETHER];
    for r in 0..TOGETHER {
        sums[r] = axis.x * lanes[0][r];
        sums[r] = axis.y.mul_add(lanes[1][r], sums[r]);
        sums[r] = axis.z.mul_add(lanes[2][r], sums[r]);
    }
    sums
}

/// Adds one number to each of some rows, at the same velocity. They go through memory: if the compiler saw where each
/// goes, it would compute each by itself.
#[inline(always)]
fn add(sums: [f64; TOGETHER], rows: &mut [f64], at: usize, n: usize) {
    let sums = std::hint::black_box(sums);
    for (row, sum) in rows.chunks_exact_mut(n).zip(sums) {
        row[at] += sum;
    }
}

impl Tree {
    /// The same tree with the damping of a step of h seconds in its armature, M + hD, so that implicit Euler treats
    /// it. Floating joints keep their damping.
    pub fn damped(&self, h: f64) -> Tree {
        let mut tree = self.clone();
        for link in &mut tree.links {
            if link.joint != TreeJoint::Floating {
                link.armature += h * link.damping;
                link.damping = 0.0;
            }
        }
        for node in tree.nodes[1..].iter_mut() {
            if node.kind != ElementaryJoint::Free {
                node.armature += h * node.damping;
                node.damping = 0.0;
            }
        }
        tree
    }

    /// Adds Jᵀφ to `row`, for a force φ about a point of a link, both in the world: the row whose velocity is the
    /// power of φ, and the joint forces that do the work of φ.
    pub fn add_wrench(
        &self,
        data: &Data,
        at: LinkPoint,
        force: Force,
        row: &mut [f64],
    ) -> Result<(), TreeError> {
        self.check_length("row", row, self.n_dofs)?;
        let node = self.seat(at.link)?.node;
        let arm = at.point - data.bodies[node].origin;
        self.climb(data, node, force.from(arm), row);
        Ok(())
    }

    /// Adds Sᵀφ of every joint between a node and the ground to `row`, for a force φ about the node's origin.
    #[inline]
    fn climb(&self, data: &Data, mut i: usize, mut force: Force, row: &mut [f64]) {
        while i != 0 {
            let (node, body) = (&self.nodes[i], &data.bodies[i]);
            for k in 0..node.kind.dofs() {
                row[node.v_at + k] += force.power(subspace(node.kind, body, k));
            }
            force = force.from(body.arm);
            i = node.parent;
        }
    }

    /// Whether a joint between two links, or between one and the ground, parts them along a direction at a point. The joints
    /// that carry both do not.
    pub(crate) fn can_part(
        &self,
        data: &Data,
        (a, b): (LinkId, Option<LinkId>),
        (point, direction): (DVec3, DVec3),
    ) -> bool {
        let node = |link: LinkId| self.seats[link.index()].node;
        let ground = 0;
        let (mut a, mut b) = (node(a), b.map_or(ground, node));
        while a != b {
            // A node stands behind those that carry it: what carries both is met by both.
            let far = a.max(b);
            let (joint, body) = (&self.nodes[far], &data.bodies[far]);
            let force = Force {
                torque: DVec3::ZERO,
                force: direction,
            }
            .from(point - body.origin);
            let speed = |k| force.power(subspace(joint.kind, body, k)).abs();
            if (0..joint.kind.dofs()).any(|k| STILL < speed(k)) {
                return true;
            }
            (a, b) = (a.min(b), joint.parent);
        }
        false
    }

    /// The centre of mass of a link of this tree, in the world.
    pub(crate) fn centre(&self, data: &Data, link: LinkId) -> DVec3 {
        let seat = &self.seats[link.index()];
        let body = &data.bodies[seat.node];
        let frame = Pose {
            rotation: body.rotation,
            position: body.origin,
        };
        frame.point(seat.frame.point(self.links[link.index()].body.com))
    }

    /// The axes of a link of this tree, its centre of mass, and how that moves.
    pub(crate) fn shown(&self, data: &Data, link: LinkId) -> (DMat3, DVec3, Motion) {
        let seat = &self.seats[link.index()];
        let body = &data.bodies[seat.node];
        let arm = seat.frame.point(self.links[link.index()].body.com);
        let arm = body.rotation * arm;
        let turn = body.rotation * seat.frame.rotation;
        (turn, body.origin + arm, body.velocity.at(arm))
    }

    /// [`Tree::add_wrench`] about the centre of mass of a link of this tree, for a row of the right length.
    pub(crate) fn add_centre_wrench(
        &self,
        data: &Data,
        link: LinkId,
        force: Force,
        row: &mut [f64],
    ) {
        let node = self.seats[link.index()].node;
        let arm = self.centre(data, link) - data.bodies[node].origin;
        self.climb(data, node, force.from(arm), row);
    }

    /// The same for several forces, [force, torque] each, and as many rows of this width one after the other: the three of a
    /// contact go to the ground together.
    pub(crate) fn add_centre_wrenches(
        &self,
        data: &Data,
        link: LinkId,
        forces: &[[f64; 6]],
        (rows, width): (&mut [f64], usize),
    ) {
        let rows = rows.chunks_mut(TOGETHER * width);
        for (forces, rows) in forces.chunks(TOGETHER).zip(rows) {
            pulp::Arch::new().dispatch(Climb {
                tree: self,
                data,
                link,
                forces,
                rows,
                width,
            });
        }
    }

    /// The motion of the centre of mass of a link of this tree under the velocities v: J v = Σ (S v) of the joints
    /// between it and the ground, each carried to the centre.
    pub(crate) fn centre_velocity(&self, data: &Data, link: LinkId, v: &[f64]) -> Motion {
        let centre = self.centre(data, link);
        let mut sum = Motion::ZERO;
        let mut i = self.seats[link.index()].node;
        while i != 0 {
            let (node, body) = (&self.nodes[i], &data.bodies[i]);
            let mut own = Motion::ZERO;
            add_subspace(node, body, v, &mut own);
            let carried = own.at(centre - body.origin);
            sum.angular += carried.angular;
            sum.linear += carried.linear;
            i = node.parent;
        }
        sum
    }

    /// Whether some joint between a link and the ground moves.
    pub fn moves(&self, link: LinkId) -> bool {
        self.seats
            .get(link.index())
            .is_some_and(|seat| seat.node != 0)
    }

    /// Whether two links are one rigid body, or neighbours across one joint.
    pub fn adjacent(&self, a: LinkId, b: LinkId) -> bool {
        let node = |link: LinkId| self.seats.get(link.index()).map(|seat| seat.node);
        let (Some(a), Some(b)) = (node(a), node(b)) else {
            return false;
        };
        // Links without mass only stand between the axes of one joint.
        let carrier = |mut i: usize| {
            while i != 0 {
                i = self.nodes[i].parent;
                if i == 0 || self.inertias[i].mass != 0.0 {
                    break;
                }
            }
            i
        };
        a == b || carrier(a) == b || carrier(b) == a
    }

    /// ½ Σ armature v²: what rotors hold besides the links \[J\].
    pub fn rotor_energy(&self, v: &[f64]) -> f64 {
        let energy = |node: &super::Node, armature: f64| {
            let rates = v.get(node.v_at..node.v_at + node.kind.dofs());
            let squares = rates.map_or(0.0, |v| v.iter().map(|v| v * v).sum());
            0.5 * armature * squares
        };
        let nodes = self.nodes[1..].iter();
        let burdens = self.burdens.iter();
        nodes.map(|node| energy(node, node.armature)).sum::<f64>()
            + burdens
                .map(|b| energy(&self.nodes[b.node], b.armature))
                .sum::<f64>()
    }

    /// v ← v + h ω × u for floating joints: their velocities as a step in unturned axes begins with them.
    pub fn unturned(&self, v: &mut [f64], h: f64) -> Result<(), TreeError> {
        self.check("velocity", v, self.n_dofs)?;
        for node in self.nodes[1..]
            .iter()
            .filter(|n| n.kind == ElementaryJoint::Free)
        {
            let (spin, slide) = velocity(&v[node.v_at..]);
            let slide = slide + h * spin.cross(slide);
            v[node.v_at + 3..node.v_at + 6].copy_from_slice(&slide.to_array());
        }
        Ok(())
    }

    /// Moves a configuration for h seconds at a velocity in the axes of its beginning, which is then turned into
    /// those of its end. Origins of floating links move on straight lines; quaternions stay unit.
    pub fn advance(&self, q: &mut [f64], v: &mut [f64], h: f64) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.check("velocity", v, self.n_dofs)?;
        for node in &self.nodes[1..] {
            let coordinates = node.q_at..node.q_at + node.kind.coordinates();
            if node.kind != ElementaryJoint::Free {
                let dofs = node.v_at..node.v_at + node.kind.dofs();
                joint::advance(node.kind, &mut q[coordinates], &v[dofs], h);
                continue;
            }
            let q = &mut q[coordinates];
            let (spin, slide) = velocity(&v[node.v_at..]);
            let old = quaternion(&q[3..]);
            // x ← x + h R u,   R ← R exp(h ω)
            let moved = DVec3::from_slice(q) + h * (old * slide);
            q[..3].copy_from_slice(&moved.to_array());
            let turn = DQuat::from_scaled_axis(h * spin);
            joint::store(old * turn, &mut q[3..]);
        }
        self.turn(v, h)
    }

    /// Velocities of floating joints in the axes they have turned to after h seconds; a negative h turns them back.
    pub fn turn(&self, v: &mut [f64], h: f64) -> Result<(), TreeError> {
        self.check("velocity", v, self.n_dofs)?;
        for node in self.nodes[1..]
            .iter()
            .filter(|n| n.kind == ElementaryJoint::Free)
        {
            let (spin, slide) = velocity(&v[node.v_at..]);
            // u ← exp(−h ω) u
            let slide = DQuat::from_scaled_axis(-h * spin) * slide;
            v[node.v_at + 3..node.v_at + 6].copy_from_slice(&slide.to_array());
        }
        Ok(())
    }
}

/// Angular and linear velocity of a floating joint.
fn velocity(v: &[f64]) -> (DVec3, DVec3) {
    (DVec3::from_slice(v), DVec3::from_slice(&v[3..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::spatial::Pose;
    use crate::tree::{Link, MassProperties, TreeJoint};
    use glam::DMat3;

    #[test]
    fn a_floating_body_in_free_flight_keeps_its_momentum() {
        let body = MassProperties {
            mass: 2.0,
            com: DVec3::ZERO,
            inertia: DMat3::from_diagonal(DVec3::splat(0.1)),
        };
        let tree = Tree::new(vec![Link::new(
            None,
            TreeJoint::Floating,
            Pose::IDENTITY,
            body,
        )])
        .unwrap();
        let (mut data, mut q) = (tree.data(), tree.neutral());
        let mut v = vec![3.0, -2.0, 5.0, 1.0, 2.0, 3.0];
        let h = 0.01;
        let (mut p, mut bias) = (vec![0.0; 6], vec![0.0; 6]);
        for _ in 0..1000 {
            tree.bias(&mut data, (&q, &v), DVec3::ZERO, &mut bias)
                .unwrap();
            tree.unturned(&mut v, h).unwrap();
            tree.mul_mass(&mut data, &v, &mut p).unwrap();
            for (p, bias) in p.iter_mut().zip(&bias) {
                *p -= h * bias;
            }
            tree.solve(&mut data, &mut p).unwrap();
            v.copy_from_slice(&p);
            tree.advance(&mut q, &mut v, h).unwrap();
        }
        tree.velocities(&q, &v, &mut data).unwrap();
        let momentum = tree.momentum(&data).force;
        assert!((momentum - DVec3::new(2.0, 4.0, 6.0)).length() < 1e-11);
        assert!((DVec3::from_slice(&q) - DVec3::new(10.0, 20.0, 30.0)).length() < 1e-10);
    }
}
