//! Λ⁻¹ = J M⁻¹Jᵀ by extended force propagators, O(n + m d + m²) for m rows on a tree of depth d.
//!
//! ```text
//! force past a joint:    L = 1 − U D⁻¹Sᵀ,  F_parent = shift(L F)
//! mobility of a link:    Ω = S D⁻¹Sᵀ + Lᵀ shift(Ω_parent) L,  Ω of the ground is zero
//! entry of two ends:     F_eᵀ Ω_c F_f at their nearest common ancestor c
//! ```
//!
//! Source: [Wensing12]. How this differs: (1) forces climb the tree in batches, and the entries of two batches are
//! taken where they meet, so that no force is stored for more than one link; (2) rows may have several ends, so
//! loops need nothing special; (3) joints of several dofs use the closed forms of the articulated inertia.
//! Prefer the columns of M⁻¹Jᵀ where M⁻¹Jᵀ itself is needed.

use glam::DMat3;

use super::data::{Body, Multi};
use super::joint::Kind;
use super::kinematics::subspace;
use super::rows::{End, Rows};
use super::spatial::{Articulated, Force, Motion, Sym3};
use super::{Data, Node, Tree, TreeError};

/// Marks the end of a list.
const NONE: u32 = u32::MAX;

/// Work arrays for [`Tree::delassus`].
#[derive(Clone, Debug, Default)]
pub struct Propagation {
    /// Ω of the nodes that rows act through, as [[linear, ·], [·, angular]].
    mobility: Vec<Articulated>,
    needed: Vec<bool>,
    /// First end that is at a node now, and the last one; ends are chained by `next`.
    first: Vec<u32>,
    last: Vec<u32>,
    next: Vec<u32>,
    ends: Vec<End>,
}

impl Tree {
    /// J M⁻¹Jᵀ, row-major, for the poses of `data`, which is factored if it has not been.
    pub fn delassus(
        &self,
        data: &mut Data,
        rows: &Rows,
        work: &mut Propagation,
        out: &mut [f64],
    ) -> Result<(), TreeError> {
        let m = rows.len();
        self.check_length("Delassus matrix", out, m * m)?;
        if !data.factored {
            self.factor_placed(data)?;
        }
        out.fill(0.0);
        work.prepare(self, rows);
        self.mobilities(data, work);
        for e in 0..work.ends.len() {
            let End { row, node, force } = work.ends[e];
            out[row * m + row] += force.power(work.mobility_of(node, force));
            work.merge(node, (e as u32, e as u32), out, m);
        }
        for i in (1..self.nodes.len()).rev() {
            if work.first[i] == NONE {
                continue;
            }
            let node = &self.nodes[i];
            let (body, multi) = (&data.bodies[i], &data.multi[..]);
            let mut e = work.first[i];
            while e != NONE {
                let end = &mut work.ends[e as usize];
                end.force = pass(node, body, multi, end.force).from(body.arm);
                e = work.next[e as usize];
            }
            // Past a joint to the ground no force is left that could move anything.
            if node.parent != 0 {
                work.merge(node.parent, (work.first[i], work.last[i]), out, m);
            }
        }
        Ok(())
    }

    /// Ω from the ground outwards, along the links that rows act through.
    fn mobilities(&self, data: &Data, work: &mut Propagation) {
        for i in 1..self.nodes.len() {
            if !work.needed[i] {
                continue;
            }
            let (node, body) = (&self.nodes[i], &data.bodies[i]);
            let mut omega = Articulated::default();
            if node.parent != 0 && !matches!(node.kind, Kind::Free) {
                omega.add_shifted(&work.mobility[node.parent], -body.arm);
            }
            match node.kind {
                Kind::Turn | Kind::Slide | Kind::Screw(_) => through_axis(node, body, &mut omega),
                Kind::Ball => through_ball(node.armature, &data.multi[node.multi], &mut omega),
                Kind::Free => omega = free_mobility(&data.multi[node.multi]),
            }
            work.mobility[i] = omega;
        }
    }
}

impl Propagation {
    /// Marks the nodes that rows act through; no end is anywhere yet.
    fn prepare(&mut self, tree: &Tree, rows: &Rows) {
        let count = tree.nodes.len();
        self.mobility.resize(count, Articulated::default());
        self.needed.clear();
        self.needed.resize(count, false);
        for list in [&mut self.first, &mut self.last] {
            list.clear();
            list.resize(count, NONE);
        }
        self.ends.clear();
        self.ends.extend_from_slice(&rows.ends);
        self.next.clear();
        self.next.resize(self.ends.len(), NONE);
        for end in &self.ends {
            let mut i = end.node;
            while i != 0 && !self.needed[i] {
                self.needed[i] = true;
                i = tree.nodes[i].parent;
            }
        }
    }

    /// Motion of a node under a force on it.
    #[inline]
    fn mobility_of(&self, node: usize, force: Force) -> Motion {
        let omega = &self.mobility[node];
        let moved = omega.mul(Motion {
            angular: force.force,
            linear: force.torque,
        });
        Motion {
            angular: moved.force,
            linear: moved.torque,
        }
    }

    /// A batch of ends arrives at a node: its entries with the ends that are there already, which meet it here
    /// for the first time, and then it joins them.
    fn merge(&mut self, node: usize, (first, last): (u32, u32), out: &mut [f64], m: usize) {
        let mut f = first;
        loop {
            let arrived = self.ends[f as usize];
            let motion = self.mobility_of(node, arrived.force);
            let mut e = self.first[node];
            while e != NONE {
                let there = &self.ends[e as usize];
                let entry = there.force.power(motion);
                out[there.row * m + arrived.row] += entry;
                out[arrived.row * m + there.row] += entry;
                e = self.next[e as usize];
            }
            if f == last {
                break;
            }
            f = self.next[f as usize];
        }
        match self.last[node] {
            NONE => self.first[node] = first,
            end => self.next[end as usize] = first,
        }
        self.last[node] = last;
        self.next[last as usize] = NONE;
    }
}

/// L F: what a force on a link still is past its joint.
#[inline]
fn pass(node: &Node, body: &Body, multi: &[Multi], f: Force) -> Force {
    let axis = body.rotation.z_axis;
    let along = match node.kind {
        Kind::Turn => axis.dot(f.torque),
        Kind::Slide => axis.dot(f.force),
        Kind::Screw(pitch) => axis.dot(f.torque) + pitch * axis.dot(f.force),
        Kind::Ball => {
            let factor = &multi[node.multi];
            return Force {
                torque: node.armature * factor.inverse_a.mul(f.torque),
                force: f.force - factor.coupling.transpose() * f.torque,
            };
        }
        Kind::Free => return Force::ZERO,
    };
    let step = body.inverse_d * along;
    Force {
        torque: f.torque - body.u.torque * step,
        force: f.force - body.u.force * step,
    }
}

/// Ω ← LᵀΩL + s sᵀ/D for a joint of one dof: a change of rank two, s tᵀ + t sᵀ.
fn through_axis(node: &Node, body: &Body, omega: &mut Articulated) {
    let s = subspace(node.kind, body, 0);
    let moved = omega.mul(Motion {
        angular: body.u.force,
        linear: body.u.torque,
    });
    // w = Ω U, as a motion.
    let (w_linear, w_angular) = (moved.torque, moved.force);
    let power = body.u.torque.dot(w_angular) + body.u.force.dot(w_linear);
    let half = 0.5 * body.inverse_d * (1.0 + body.inverse_d * power);
    let t_linear = s.linear * half - w_linear * body.inverse_d;
    let t_angular = s.angular * half - w_angular * body.inverse_d;
    add_symmetric(&mut omega.c, s.angular, t_angular);
    let b = &mut omega.b;
    b.x_axis += t_linear * s.angular.x;
    b.y_axis += t_linear * s.angular.y;
    b.z_axis += t_linear * s.angular.z;
    if !matches!(node.kind, Kind::Turn) {
        add_symmetric(&mut omega.a, s.linear, t_linear);
        b.x_axis += s.linear * t_angular.x;
        b.y_axis += s.linear * t_angular.y;
        b.z_axis += s.linear * t_angular.z;
    }
}

/// A + u vᵀ + v uᵀ.
fn add_symmetric(a: &mut Sym3, u: glam::DVec3, v: glam::DVec3) {
    a.xx += 2.0 * u.x * v.x;
    a.xy += u.x * v.y + u.y * v.x;
    a.xz += u.x * v.z + u.z * v.x;
    a.yy += 2.0 * u.y * v.y;
    a.yz += u.y * v.z + u.z * v.y;
    a.zz += 2.0 * u.z * v.z;
}

/// L = [[κD⁻¹, 0], [−Cᵀ, 1]] with C = D⁻¹b, and D⁻¹ on the angular block.
fn through_ball(armature: f64, factor: &Multi, omega: &mut Articulated) {
    let c = factor.coupling;
    let (p, q, r) = (omega.c.matrix(), omega.b.transpose(), omega.a.matrix());
    let mut angular = c * r * c.transpose();
    let mut cross = -(c * r);
    if armature != 0.0 {
        let e = armature * factor.inverse_a.matrix();
        let eq = e * q;
        let mixed = eq * c.transpose();
        angular += e * p * e - mixed - mixed.transpose();
        cross += eq;
    }
    omega.c = Sym3::of(&angular);
    omega.c.add(&factor.inverse_a);
    omega.b = cross.transpose();
}

/// The inverse of the articulated inertia, from its factor.
fn free_mobility(factor: &Multi) -> Articulated {
    let coupling: DMat3 = factor.coupling;
    let p = factor.inverse_a.matrix();
    let mut linear = Sym3::of(&(coupling.transpose() * p * coupling));
    linear.add(&factor.inverse_c);
    Articulated {
        a: linear,
        b: -(p * coupling).transpose(),
        c: factor.inverse_a,
    }
}
