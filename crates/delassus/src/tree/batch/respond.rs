//! Root to leaves: accelerations of joints and links, in lanes.

use pulp::Simd;

use super::{Pass, at};
use crate::linalg::sym3::lanes::sym_mul;
use crate::math::simd::fused::{add_cross, add_scaled, dot, mul, mul_transposed};
use crate::math::simd::{Vec3, X, difference, sum};
use crate::tree::Node;
use crate::tree::joint::ElementaryJoint;
use crate::tree::lanes::Spatial;

/// Joint accelerations, of which a joint writes its own.
type Rates<'a, S> = &'a mut [<S as Simd>::f64s];

impl<S: Simd> Pass<'_, S> {
    /// q̈ = D⁻¹(τ − Sᵀp − Uᵀa_parent), a = a_parent + S q̈. Accelerations go where τ was.
    #[inline(always)]
    pub(super) fn respond(&mut self, x: Rates<'_, S>) {
        let tree = self.tree;
        let zero = X::splat(self.simd, 0.0);
        self.set(0, at::RESPONSE, [zero; 6]);
        for (i, node) in tree.nodes.iter().enumerate().skip(1) {
            let turn: Vec3<S> = self.get(node.parent, at::RESPONSE);
            let mut push: Vec3<S> = self.get(node.parent, at::RESPONSE + 3);
            if !node.concentric {
                push = add_cross(push, turn, self.get(i, at::ARM));
            }
            let parent = [turn, push];
            let [turn, push] = match node.kind {
                ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => {
                    self.along(i, node, parent, x)
                }
                ElementaryJoint::Ball => self.about(i, node, parent, x),
                ElementaryJoint::Free => self.freely(i, node, parent, x),
            };
            self.set(i, at::RESPONSE, turn);
            self.set(i, at::RESPONSE + 3, push);
        }
    }

    /// A joint of one axis.
    #[inline(always)]
    fn along(&self, i: usize, node: &Node, parent: Spatial<S>, x: Rates<'_, S>) -> Spatial<S> {
        let [turn, push] = parent;
        let axis: Vec3<S> = self.get(i, at::AXIS);
        let [rest] = self.get(i, at::RATE);
        let from_turn = dot(self.get(i, at::GAIN), turn);
        let rate = rest - (from_turn + dot(self.get(i, at::GAIN + 3), push));
        x[node.v_at] = rate.1;
        match node.kind {
            ElementaryJoint::Slide => [turn, add_scaled(push, axis, rate)],
            ElementaryJoint::Screw(pitch) => [
                add_scaled(turn, axis, rate),
                add_scaled(push, axis, rate * rate.like(pitch)),
            ],
            _ => [add_scaled(turn, axis, rate), push],
        }
    }

    /// A ball.
    #[inline(always)]
    fn about(&self, i: usize, node: &Node, parent: Spatial<S>, x: Rates<'_, S>) -> Spatial<S> {
        let [turn, push] = parent;
        let inverse = self.get(i, at::INVERSE_A);
        let rest = sym_mul(inverse, self.get(i, at::REST));
        let coupling = self.matrix(i, at::COUPLING);
        let mut rate = difference(difference(rest, mul(coupling, push)), turn);
        if node.armature != 0.0 {
            let armature = rate[0].like(node.armature);
            rate = add_scaled(rate, sym_mul(inverse, turn), armature);
        }
        put(
            x,
            node.v_at,
            mul_transposed(self.matrix(i, at::TURNED), rate),
        );
        [sum(turn, rate), push]
    }

    /// A free joint.
    #[inline(always)]
    fn freely(&self, i: usize, node: &Node, parent: Spatial<S>, x: Rates<'_, S>) -> Spatial<S> {
        let [turn, push] = parent;
        let (t, f): (Vec3<S>, Vec3<S>) = (self.get(i, at::REST), self.get(i, at::REST + 3));
        let coupling = self.matrix(i, at::COUPLING);
        let angular = sym_mul(self.get(i, at::INVERSE_A), difference(t, mul(coupling, f)));
        let linear = sym_mul(self.get(i, at::INVERSE_C), f);
        let linear = difference(linear, mul_transposed(coupling, angular));
        let rotation = self.matrix(i, at::TURNED);
        let (turns, slides) = (difference(angular, turn), difference(linear, push));
        put(x, node.v_at, mul_transposed(rotation, turns));
        put(x, node.v_at + 3, mul_transposed(rotation, slides));
        [angular, linear]
    }
}

#[inline(always)]
fn put<S: Simd>(x: Rates<'_, S>, at: usize, values: Vec3<S>) {
    for i in 0..3 {
        x[at + i] = values[i].1;
    }
}
