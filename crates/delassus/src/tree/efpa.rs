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
//! loops need nothing special; (3) joints of several dofs use the closed forms of the articulated inertia; (4) where
//! few rows share many joints, the entries are summed joint by joint, F_eᵀ S D⁻¹Sᵀ F_f, without Ω: what is cheaper
//! is counted beforehand, so the cost stays within the bound.
//! Prefer the columns of M⁻¹Jᵀ where M⁻¹Jᵀ itself is needed.

use glam::DMat3;

use super::data::{Body, Multi};
use super::joint::ElementaryJoint;
use super::joint_sums::{Eight, JointSums};
use super::kinematics::subspace;
use super::rows::TreeRows;
use super::spatial::{Articulated, Force, Motion, Sym3};
use super::{Data, Node, Tree, TreeError};
use crate::math::simd::LANES;

/// Work arrays for [`Tree::delassus`].
#[derive(Clone, Debug, Default)]
pub struct Propagation {
    /// Ω of the nodes that rows act through, as [[linear, ·], [·, angular]].
    mobility: Vec<Articulated>,
    /// Ends below each node, itself included.
    below: Vec<usize>,
    /// Ends by ascending node: subtrees are contiguous, so the ends below a node are a range.
    order: Vec<usize>,
    /// One past the last of the ends that are at each node now.
    at: Vec<usize>,
    /// Their forces, in that order.
    forces: Vec<Force>,
    /// Entries of pairs of ends, the earlier one first, and how far apart their rows are.
    pairs: Vec<f64>,
    stride: usize,
    /// The same forces in lanes, and their components along a joint.
    eights: Vec<Eight>,
    along: Vec<[Eight; 2]>,
}

/// Work of one step of Ω, in entries of one joint: what decides between the two sums.
const MOBILITY_COST: usize = 40;
/// Entries of one joint that cost as much as an entry of Ω: they come in vectors.
const JOINT_SHARE: usize = 16;

impl Tree {
    /// J M⁻¹Jᵀ, row-major, for the poses of `data`, which is factored if it has not been.
    pub fn delassus(
        &self,
        data: &mut Data,
        rows: &TreeRows,
        work: &mut Propagation,
        out: &mut [f64],
    ) -> Result<(), TreeError> {
        let m = rows.len();
        self.check_length("Delassus matrix", out, m * m)?;
        if !data.factored {
            self.factor_placed(data)?;
        }
        if work.prepare(self, rows) {
            work.sum_joints(self, data, rows);
            work.collect(self, rows, out);
            return Ok(());
        }
        self.mobilities(data, work);
        for i in (1..self.nodes.len()).rev() {
            if work.below[i] == 0 {
                continue;
            }
            let (node, body) = (&self.nodes[i], &data.bodies[i]);
            let (from, to) = (work.at[i] - work.below[i], work.at[i]);
            // Ends of its own stand before those that have come up from below, and meet them here.
            let own = |e: &usize| rows.ends[work.order[*e]].node == i;
            for e in from..(from..to).take_while(own).last().map_or(from, |e| e + 1) {
                work.meet(i, e, (e, to));
            }
            // Past a joint to the ground no force is left that could move anything.
            if node.parent != 0 {
                // F ← X L F: what is left of each force past the joint, about the parent's origin
                for force in &mut work.forces[from..to] {
                    *force = node.handed(body, pass(node, body, &data.multi, *force));
                }
                let end = work.at[node.parent];
                (from..to).for_each(|e| work.meet(node.parent, e, (to, end)));
            }
        }
        work.collect(self, rows, out);
        Ok(())
    }

    /// Ω from the ground outwards, along the links that rows act through.
    fn mobilities(&self, data: &Data, work: &mut Propagation) {
        work.mobility
            .resize(self.nodes.len(), Articulated::default());
        for i in 1..self.nodes.len() {
            if work.below[i] == 0 {
                continue;
            }
            let (node, body) = (&self.nodes[i], &data.bodies[i]);
            let mut omega = Articulated::default();
            if node.parent != 0 && !matches!(node.kind, ElementaryJoint::Free) {
                omega = work.mobility[node.parent];
                omega.shift(-body.arm);
            }
            // Ω = S D⁻¹Sᵀ + Lᵀ shift(Ω_parent) L
            match node.kind {
                ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => {
                    through_axis(node, body, &mut omega)
                }
                ElementaryJoint::Ball => {
                    through_ball(node.armature, &data.multi[node.multi], &mut omega)
                }
                ElementaryJoint::Free => omega = free_mobility(&data.multi[node.multi]),
            }
            work.mobility[i] = omega;
        }
    }
}

impl Propagation {
    /// Sorts the ends, counts them below each node, and says whether to sum over joints rather than to use Ω.
    fn prepare(&mut self, tree: &Tree, rows: &TreeRows) -> bool {
        let (count, ends) = (tree.nodes.len(), rows.ends.len());
        self.order.clear();
        self.order.extend(0..ends);
        self.order.sort_unstable_by_key(|&e| (rows.ends[e].node, e));
        self.stride = ends.next_multiple_of(LANES);
        self.pairs.clear();
        self.pairs.resize(ends * self.stride, 0.0);
        self.forces.clear();
        self.forces
            .extend(self.order.iter().map(|&e| rows.ends[e].force));
        self.below.clear();
        self.below.resize(count, 0);
        self.at.clear();
        self.at.resize(count, 0);
        for (place, &e) in self.order.iter().enumerate() {
            self.below[rows.ends[e].node] += 1;
            self.at[rows.ends[e].node] = place + 1;
        }
        let (mut by_joints, mut by_mobility) = (0, ends * ends);
        for i in (1..count).rev() {
            let (parent, below) = (tree.nodes[i].parent, self.below[i]);
            self.below[parent] += below;
            self.at[parent] = self.at[parent].max(self.at[i]);
            by_joints +=
                below * below.next_multiple_of(LANES) * tree.nodes[i].kind.dofs() / JOINT_SHARE;
            by_mobility += if below == 0 { 0 } else { MOBILITY_COST };
        }
        by_joints <= by_mobility
    }

    /// F_eᵀ Ω F_f for the ends f of a range.
    #[inline]
    fn meet(&mut self, node: usize, e: usize, (from, to): (usize, usize)) {
        let motion = moved(&self.mobility[node], self.forces[e]);
        let row = e * self.stride;
        let out = &mut self.pairs[row + from..row + to];
        for (out, force) in out.iter_mut().zip(&self.forces[from..to]) {
            *out = force.power(motion);
        }
    }

    /// F_eᵀ S D⁻¹Sᵀ F_f of all joints for all pairs, with the ends in lanes.
    fn sum_joints(&mut self, tree: &Tree, data: &Data, rows: &TreeRows) {
        self.eights.clear();
        self.eights.resize(self.stride / LANES, [[0.0; LANES]; 6]);
        self.along.resize(self.stride / LANES, Default::default());
        for (place, &e) in self.order.iter().enumerate() {
            let Force { torque, force } = rows.ends[e].force;
            let eight = &mut self.eights[place / LANES];
            for k in 0..3 {
                eight[k][place % LANES] = torque[k];
                eight[k + 3][place % LANES] = force[k];
            }
        }
        data.turns.arch.dispatch(JointSums {
            tree,
            data,
            below: &self.below,
            at: &self.at,
            forces: &mut self.eights,
            along: &mut self.along,
            pairs: &mut self.pairs,
        });
    }

    /// Adds the entries of pairs of ends up into those of rows; ends that share no link with each other have none.
    fn collect(&self, tree: &Tree, rows: &TreeRows, out: &mut [f64]) {
        let m = rows.len();
        out.fill(0.0);
        for (i, _) in (tree.nodes.iter().enumerate().skip(1)).filter(|(_, node)| node.parent == 0) {
            let (from, to) = (self.at[i] - self.below[i], self.at[i]);
            for a in from..to {
                let row = rows.ends[self.order[a]].row;
                let entries = &self.pairs[a * self.stride + a..a * self.stride + to];
                out[row * m + row] += entries[0];
                for (&f, entry) in self.order[a + 1..to].iter().zip(&entries[1..]) {
                    let column = rows.ends[f].row;
                    out[row * m + column] += entry;
                    out[column * m + row] += entry;
                }
            }
        }
    }
}

/// Motion of a link of this mobility under a force.
#[inline]
pub(super) fn moved(mobility: &Articulated, force: Force) -> Motion {
    let moved = mobility.mul(Motion {
        angular: force.force,
        linear: force.torque,
    });
    Motion {
        angular: moved.force,
        linear: moved.torque,
    }
}

/// L F: what a force on a link still is past its joint.
#[inline]
pub(super) fn pass(node: &Node, body: &Body, multi: &[Multi], f: Force) -> Force {
    let axis = body.rotation.z_axis;
    let along = match node.kind {
        ElementaryJoint::Turn => axis.dot(f.torque),
        ElementaryJoint::Slide => axis.dot(f.force),
        ElementaryJoint::Screw(pitch) => axis.dot(f.torque) + pitch * axis.dot(f.force),
        ElementaryJoint::Ball => {
            let factor = &multi[node.multi];
            return Force {
                torque: node.armature * factor.inverse_a.mul(f.torque),
                force: f.force - factor.coupling.transpose() * f.torque,
            };
        }
        ElementaryJoint::Free => return Force::ZERO,
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
    omega.c.add_both_outer(s.angular, t_angular);
    let b = &mut omega.b;
    b.x_axis += t_linear * s.angular.x;
    b.y_axis += t_linear * s.angular.y;
    b.z_axis += t_linear * s.angular.z;
    if !matches!(node.kind, ElementaryJoint::Turn) {
        omega.a.add_both_outer(s.linear, t_linear);
        b.x_axis += s.linear * t_angular.x;
        b.y_axis += s.linear * t_angular.y;
        b.z_axis += s.linear * t_angular.z;
    }
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
pub(super) fn free_mobility(factor: &Multi) -> Articulated {
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
