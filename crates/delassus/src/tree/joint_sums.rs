//! J M⁻¹Jᵀ summed joint by joint: Σ over common ancestors of (SᵀF_e)ᵀ D⁻¹ (SᵀF_f), with the ends in lanes.
//!
//! Ends below a node are a range, so their forces climb in vectors; those of a vector that are not below the node are
//! left as they are. Every lane adds what a single end would, in the same order, so that bits do not depend on the
//! width.

use pulp::Simd;

use super::data::{Body, Multi};
use super::efpa::free_mobility;
use super::joint::ElementaryJoint;
use super::lanes::{Spatial, constant, inside};
use super::{Data, Node, Tree};
use crate::linalg::sym3::lanes::{Sym, add_sym_mul, sym_constant, sym_mul};
use crate::math::simd::fused::{
    Mat3, add_cross, add_mul, add_scaled, dot, mul_transposed, subtract_scaled,
};
use crate::math::simd::{LANES, Lane, X, difference, scaled, three};

/// A force of eight ends: torque, then force.
pub(super) type Eight = [Lane; 6];

/// The sums for all pairs of ends.
pub(super) struct JointSums<'a> {
    pub(super) tree: &'a Tree,
    pub(super) data: &'a Data,
    /// Ends below each node, and one past the last of them.
    pub(super) below: &'a [usize],
    pub(super) at: &'a [usize],
    pub(super) forces: &'a mut [Eight],
    /// SᵀF of each end at the present joint, and D⁻¹SᵀF.
    pub(super) along: &'a mut [[Eight; 2]],
    /// Entries, the earlier end first; rows of whole vectors.
    pub(super) pairs: &'a mut [f64],
}

/// A torque and a force in each lane.
type Force<S> = Spatial<S>;

impl pulp::WithSimd for JointSums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (width, stride) = (S::F64_LANES, LANES * self.forces.len());
        for (i, node) in self.tree.nodes.iter().enumerate().skip(1).rev() {
            if self.below[i] == 0 {
                continue;
            }
            let (body, dofs) = (&self.data.bodies[i], node.kind.dofs());
            let (from, to) = (self.at[i] - self.below[i], self.at[i]);
            let (first, last) = (from / width, to.div_ceil(width));
            let parts = LANES / width;
            for p in first..last {
                let (group, part) = (p / parts, p % parts);
                let inside = inside(simd, p * width, (from, to));
                let all = X::load_all(simd, &self.forces[group], part);
                let force = [[all[0], all[1], all[2]], [all[3], all[4], all[5]]];
                let multi = &self.data.multi;
                let (along, weighed, passed) = at_joint(node, body, multi, force, inside);
                let [left, right] = &mut self.along[group];
                along[0][0].store(&mut left[0], part);
                weighed[0][0].store(&mut right[0], part);
                if 1 < dofs {
                    for k in 1..6 {
                        along[k / 3][k % 3].store(&mut left[k], part);
                        weighed[k / 3][k % 3].store(&mut right[k], part);
                    }
                }
                for k in 0..6 {
                    passed[k / 3][k % 3].store(&mut self.forces[group][k], part);
                }
            }
            for e in from..to {
                let row = &mut self.pairs[e * stride..(e + 1) * stride];
                let (row, _) = S::as_mut_simd_f64s(row);
                for k in 0..dofs {
                    let left = X::splat(simd, self.along[e / LANES][0][k][e % LANES]);
                    for p in e / width..last {
                        let right = X::load(simd, &self.along[p / parts][1][k], p % parts);
                        row[p] = left.mul_add(right, X(simd, row[p])).1;
                    }
                }
            }
        }
    }
}

/// SᵀF, D⁻¹SᵀF, and what is left of the force at the parent; outside nothing, nothing and the force as it is.
#[inline(always)]
fn at_joint<S: Simd>(
    node: &Node,
    body: &Body,
    multi: &[Multi],
    [torque, force]: Force<S>,
    inside: X<S>,
) -> (Force<S>, Force<S>, Force<S>) {
    let simd = inside.0;
    let none = [X::splat(simd, 0.0); 3];
    let (along, weighed, mut passed) = match node.kind {
        ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => {
            let axis = constant(simd, body.rotation.z_axis);
            let along = match node.kind {
                ElementaryJoint::Slide => dot(axis, force),
                ElementaryJoint::Screw(pitch) => {
                    dot(axis, torque) + inside.like(pitch) * dot(axis, force)
                }
                _ => dot(axis, torque),
            };
            let along = along * inside;
            let step = along * inside.like(body.inverse_d);
            let passed = [
                subtract_scaled(torque, constant(simd, body.u.torque), step),
                subtract_scaled(force, constant(simd, body.u.force), step),
            ];
            let mut left = [none, none];
            let mut right = [none, none];
            (left[0][0], right[0][0]) = (along, step);
            (left, right, passed)
        }
        ElementaryJoint::Ball => {
            let factor = &multi[node.multi];
            let inverse: Sym<S> = sym_constant(simd, &factor.inverse_a);
            let coupling: Mat3<S> = three!(j => constant(simd, factor.coupling.col(j)));
            let along = scaled(torque, inside);
            let weighed = sym_mul(inverse, along);
            let kept = difference(torque, along);
            let passed = [
                add_scaled(kept, weighed, inside.like(node.armature)),
                difference(force, mul_transposed(coupling, along)),
            ];
            ([along, none], [weighed, none], passed)
        }
        ElementaryJoint::Free => {
            let mobility = free_mobility(&multi[node.multi]);
            let (t, f) = (scaled(torque, inside), scaled(force, inside));
            let b: Mat3<S> = three!(j => constant(simd, mobility.b.col(j)));
            let linear = add_mul(sym_mul(sym_constant(simd, &mobility.a), f), b, t);
            let c = sym_constant(simd, &mobility.c);
            let angular = add_sym_mul(mul_transposed(b, f), c, t);
            let passed = [difference(torque, t), difference(force, f)];
            ([t, f], [angular, linear], passed)
        }
    };
    if !node.concentric {
        let arm = scaled(constant(simd, body.arm), inside);
        passed[0] = add_cross(passed[0], arm, passed[1]);
    }
    (along, weighed, passed)
}
