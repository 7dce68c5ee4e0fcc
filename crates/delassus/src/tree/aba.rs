//! Forward dynamics by the articulated-body algorithm, O(n): q̈ = M⁻¹(τ − bias), and the same recursion as a
//! solver of M x = y that is factored once and applied to many right-hand sides.
//!
//! ```text
//! leaves to root:  U = I^A S,  D = SᵀU + armature,  I^a = I^A − U D⁻¹Uᵀ,  p^a = p + U D⁻¹(τ − Sᵀp)
//! root to leaves:  q̈ = D⁻¹(τ − Sᵀp − Uᵀa_parent),  a = a_parent + S q̈
//! ```
//!
//! Sources: [Featherstone08 §7.3], [KKT]. How this differs: (1) world axes about each link's origin; (2) velocity
//! terms and gravity become forces before the recursion, as in inverse dynamics, so that it meets only the linear
//! problem; (3) past a joint of several dofs the rows and columns of I^a along S are zero exactly, and p^a along S
//! is τ exactly: they are written in closed form, κD⁻¹a and κD⁻¹b with armature κ. Left to cancellation the
//! rounding there grows from joint to joint, and forty ball-jointed beads have no correct digit left.

use glam::{DMat3, DVec3};

use super::data::{Body, Multi, Pass, Passes};
use super::joint::ElementaryJoint;
use super::spatial::{Articulated, Force, Motion, Sym3};
use super::{Data, Node, Tree, TreeError};

/// A pivot below this share of the inertia it is taken from is rounding.
pub(super) const PIVOT: f64 = 1e-14;

impl Tree {
    /// q̈ of a state under joint forces τ. Damping acts too.
    pub fn forward_dynamics(
        &self,
        data: &mut Data,
        (q, v, tau): (&[f64], &[f64], &[f64]),
        gravity: DVec3,
        acceleration: &mut [f64],
    ) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.check("velocity", v, self.n_dofs)?;
        self.check("force", tau, self.n_dofs)?;
        self.check_length("acceleration", acceleration, self.n_dofs)?;
        self.walk(data, (q, v), (gravity, true), |_, _| {});
        data.waiting.clear();
        let mut carried = None;
        for i in (1..self.nodes.len()).rev() {
            let (node, body) = (&self.nodes[i], &mut data.bodies[i]);
            let multi = &mut data.multi;
            let mut inertia = data.waiting.enter(i, &body.inertia, carried);
            self.eliminate(node, (body, &mut inertia), multi)?;
            carried = data.waiting.leave((i, node, body), inertia);
            let damped = |k: usize| tau[k] - node.damping * v[k];
            let force = pass_force(node, body, multi, &mut data.passes[i], damped);
            data.passes[node.parent].force += node.handed(body, force);
        }
        data.factored = true;
        self.respond(data, acceleration);
        Ok(())
    }

    /// Factors M(q) into articulated inertias; [`Tree::solve`] then costs one pass down and one up.
    pub fn factor(&self, data: &mut Data, q: &[f64]) -> Result<(), TreeError> {
        self.kinematics(q, data)?;
        self.factor_placed(data)
    }

    /// As [`Tree::factor`], for the present poses.
    pub(crate) fn factor_placed(&self, data: &mut Data) -> Result<(), TreeError> {
        data.waiting.clear();
        let mut carried = None;
        for i in (1..self.nodes.len()).rev() {
            let (node, body) = (&self.nodes[i], &mut data.bodies[i]);
            let mut inertia = data.waiting.enter(i, &body.inertia, carried);
            self.eliminate(node, (body, &mut inertia), &mut data.multi)?;
            carried = data.waiting.leave((i, node, body), inertia);
        }
        data.factored = true;
        Ok(())
    }

    /// x ← M⁻¹x. Factors the present poses first if that has not been done.
    pub fn solve(&self, data: &mut Data, x: &mut [f64]) -> Result<(), TreeError> {
        self.check_length("vector", x, self.n_dofs)?;
        if !data.factored {
            self.factor_placed(data)?;
        }
        for pass in &mut data.passes {
            pass.force = Force::ZERO;
        }
        self.pass_forces(data, x);
        self.respond(data, x);
        Ok(())
    }

    /// x ← M⁻¹x with what is written kept apart: many may solve with one factor, which must be there.
    pub(crate) fn solve_shared(&self, data: &Data, passes: &mut Passes, x: &mut [f64]) {
        passes.0.clear();
        passes.0.resize(self.nodes.len(), Pass::default());
        self.pass_forces_in((&data.bodies, &data.multi), &mut passes.0, x);
        self.respond_in((&data.bodies, &data.multi), &mut passes.0, x);
    }

    /// Carries forces from the leaves to the ground.
    pub(super) fn pass_forces(&self, data: &mut Data, tau: &[f64]) {
        self.pass_forces_in((&data.bodies, &data.multi), &mut data.passes, tau);
    }

    /// Joint and link accelerations from the ground to the leaves.
    pub(super) fn respond(&self, data: &mut Data, x: &mut [f64]) {
        self.respond_in((&data.bodies, &data.multi), &mut data.passes, x);
    }

    #[inline]
    fn pass_forces_in(
        &self,
        (bodies, multi): (&[Body], &[Multi]),
        passes: &mut [Pass],
        tau: &[f64],
    ) {
        for i in (1..self.nodes.len()).rev() {
            let (node, body) = (&self.nodes[i], &bodies[i]);
            let force = pass_force(node, body, multi, &mut passes[i], |k| tau[k]);
            passes[node.parent].force += node.handed(body, force);
        }
    }

    #[inline]
    fn respond_in(&self, (bodies, multi): (&[Body], &[Multi]), passes: &mut [Pass], x: &mut [f64]) {
        passes[0].response = Motion::ZERO;
        for i in 1..self.nodes.len() {
            let (node, body) = (&self.nodes[i], &bodies[i]);
            let carried = node.carried(body, passes[node.parent].response);
            let pass = &mut passes[i];
            pass.response = respond(node, body, multi, pass, carried, x);
        }
    }

    /// As [`Tree::respond`], along the nodes that rows act through; other places of x are left as they are.
    pub(super) fn respond_marked(&self, data: &mut Data, x: &mut [f64]) {
        let passes = &mut data.passes;
        passes[0].response = Motion::ZERO;
        for i in 1..self.nodes.len() {
            if data.marked[i] {
                let (node, body) = (&self.nodes[i], &data.bodies[i]);
                let carried = node.carried(body, passes[node.parent].response);
                let pass = &mut passes[i];
                pass.response = respond(node, body, &data.multi, pass, carried, x);
            }
        }
    }

    /// Carries what rows add to the ground and leaves it at the joints, on top of what is there.
    pub(super) fn pass_extra(&self, data: &mut Data) {
        for i in (1..self.nodes.len()).rev() {
            if data.marked[i] {
                let (node, body) = (&self.nodes[i], &data.bodies[i]);
                let mut extra = Pass {
                    force: data.extra[i],
                    ..Pass::default()
                };
                let force = pass_force(node, body, &data.multi, &mut extra, |_| 0.0);
                data.extra[node.parent] += node.handed(body, force);
                data.passes[i].tau += extra.tau;
                data.passes[i].force += extra.force;
            }
        }
    }

    /// Takes one joint out of its articulated inertia.
    #[inline(always)]
    pub(super) fn eliminate(
        &self,
        node: &Node,
        (body, inertia): (&mut Body, &mut Articulated),
        multi: &mut [Multi],
    ) -> Result<(), TreeError> {
        let fault = match node.kind {
            ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => {
                eliminate_axis(node, body, inertia)
            }
            ElementaryJoint::Ball => eliminate_ball(node.armature, inertia, &mut multi[node.multi]),
            ElementaryJoint::Free => eliminate_free(inertia, &mut multi[node.multi]),
        };
        fault.map_err(|pivot| TreeError::Singular {
            link: self.name_of(node.link),
            pivot,
        })
    }
}

#[inline(always)]
fn eliminate_axis(node: &Node, body: &mut Body, i: &mut Articulated) -> Result<(), f64> {
    let axis = body.rotation.z_axis;
    let (u, d, scale) = match node.kind {
        ElementaryJoint::Slide => {
            let force = i.c.mul(axis);
            let torque = i.b * axis;
            (
                Force { torque, force },
                axis.dot(force),
                i.c.xx + i.c.yy + i.c.zz,
            )
        }
        ElementaryJoint::Screw(pitch) => {
            let motion = Motion {
                angular: axis,
                linear: axis * pitch,
            };
            let u = i.mul(motion);
            (u, u.power(motion), i.a.xx + i.a.yy + i.a.zz)
        }
        _ => {
            let torque = i.a.mul(axis);
            let b = &i.b;
            let force = DVec3::new(b.x_axis.dot(axis), b.y_axis.dot(axis), b.z_axis.dot(axis));
            (
                Force { torque, force },
                axis.dot(torque),
                i.a.xx + i.a.yy + i.a.zz,
            )
        }
    };
    let d = d + node.armature;
    if !(PIVOT * scale < d) {
        return Err(d);
    }
    body.u = u;
    body.inverse_d = 1.0 / d;
    i.subtract_outer(body.inverse_d, u);
    Ok(())
}

/// S = (1, 0): I^a = [[κD⁻¹a, κD⁻¹b], [·, c − bᵀD⁻¹b]], D = a + κ1.
fn eliminate_ball(armature: f64, i: &mut Articulated, factor: &mut Multi) -> Result<(), f64> {
    let mut d = i.a;
    d.add(&Sym3::diagonal(armature));
    let inverse = d.inverse()?;
    let columns = [i.b.x_axis, i.b.y_axis, i.b.z_axis].map(|column| inverse.mul(column));
    let coupling = DMat3::from_cols(columns[0], columns[1], columns[2]);
    let taken = Sym3::of(&(i.b.transpose() * coupling));
    i.c.subtract(&taken);
    if armature == 0.0 {
        i.a = Sym3::default();
        i.b = DMat3::ZERO;
    } else {
        i.a = Sym3::of(&(armature * (inverse.matrix() * i.a.matrix())));
        i.b = armature * coupling;
    }
    factor.inverse_a = inverse;
    factor.coupling = coupling;
    Ok(())
}

/// S = 1: nothing of the inertia is left. D⁻¹ is kept as that of c and of a − b c⁻¹bᵀ.
fn eliminate_free(i: &mut Articulated, factor: &mut Multi) -> Result<(), f64> {
    let inverse_c = i.c.inverse()?;
    let rows = i.b.transpose();
    let rows = [rows.x_axis, rows.y_axis, rows.z_axis].map(|row| inverse_c.mul(row));
    let coupling = DMat3::from_cols(rows[0], rows[1], rows[2]).transpose();
    let taken = Sym3::of(&(coupling * i.b.transpose()));
    let mut schur = i.a;
    schur.subtract(&taken);
    factor.inverse_a = schur.inverse()?;
    factor.coupling = coupling;
    factor.inverse_c = inverse_c;
    *i = Articulated::default();
    Ok(())
}

/// Keeps τ − Sᵀp at the joint and gives p^a = p + U D⁻¹(τ − Sᵀp).
#[inline(always)]
pub(super) fn pass_force(
    node: &Node,
    body: &Body,
    multi: &[Multi],
    pass: &mut Pass,
    tau: impl Fn(usize) -> f64,
) -> Force {
    let p = pass.force;
    let axis = body.rotation.z_axis;
    let local = |at: usize| body.rotation * DVec3::new(tau(at), tau(at + 1), tau(at + 2));
    let along = match node.kind {
        ElementaryJoint::Turn => axis.dot(p.torque),
        ElementaryJoint::Slide => axis.dot(p.force),
        ElementaryJoint::Screw(pitch) => axis.dot(p.torque) + pitch * axis.dot(p.force),
        ElementaryJoint::Ball => {
            let factor = &multi[node.multi];
            let torque = local(node.v_at);
            let rest = torque - p.torque;
            pass.force.torque = rest;
            // With κ = 0 the torque past the joint is τ itself.
            let mut passed = torque;
            if node.armature != 0.0 {
                passed -= node.armature * factor.inverse_a.mul(rest);
            }
            return Force {
                torque: passed,
                force: p.force + factor.coupling.transpose() * rest,
            };
        }
        ElementaryJoint::Free => {
            let applied = Force {
                torque: local(node.v_at),
                force: local(node.v_at + 3),
            };
            pass.force = Force {
                torque: applied.torque - p.torque,
                force: applied.force - p.force,
            };
            return applied;
        }
    };
    pass.tau = tau(node.v_at) - along;
    let step = body.inverse_d * pass.tau;
    Force {
        torque: p.torque + body.u.torque * step,
        force: p.force + body.u.force * step,
    }
}

/// Acceleration of a joint and its link, given that of the parent at the link's origin.
#[inline(always)]
pub(super) fn respond(
    node: &Node,
    body: &Body,
    multi: &[Multi],
    pass: &Pass,
    carried: Motion,
    x: &mut [f64],
) -> Motion {
    let axis = body.rotation.z_axis;
    let mut motion = carried;
    match node.kind {
        ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => {
            let rate = body.inverse_d * (pass.tau - body.u.power(carried));
            x[node.v_at] = rate;
            match node.kind {
                ElementaryJoint::Slide => motion.linear += axis * rate,
                ElementaryJoint::Screw(pitch) => {
                    motion.angular += axis * rate;
                    motion.linear += axis * (rate * pitch);
                }
                _ => motion.angular += axis * rate,
            }
        }
        ElementaryJoint::Ball => {
            // D⁻¹(τ − aα − b v) with a = D − κ1: the joint takes back the carried turn up to armature.
            let factor = &multi[node.multi];
            let mut rate =
                factor.inverse_a.mul(pass.force.torque) - factor.coupling * carried.linear;
            rate -= carried.angular;
            if node.armature != 0.0 {
                rate += node.armature * factor.inverse_a.mul(carried.angular);
            }
            motion.angular += rate;
            let local = body.rotation.transpose() * rate;
            x[node.v_at..node.v_at + 3].copy_from_slice(&local.to_array());
        }
        ElementaryJoint::Free => {
            let factor = &multi[node.multi];
            let rest = pass.force.torque - factor.coupling * pass.force.force;
            let angular = factor.inverse_a.mul(rest);
            let linear =
                factor.inverse_c.mul(pass.force.force) - factor.coupling.transpose() * angular;
            motion = Motion { angular, linear };
            let back = body.rotation.transpose();
            let (turn, slide) = (angular - carried.angular, linear - carried.linear);
            x[node.v_at..node.v_at + 3].copy_from_slice(&(back * turn).to_array());
            x[node.v_at + 3..node.v_at + 6].copy_from_slice(&(back * slide).to_array());
        }
    }
    motion
}
