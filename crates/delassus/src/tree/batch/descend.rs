//! Root to leaves: axes, arms, spins, and accelerations at q̈ = 0, in lanes.

use glam::DVec3;
use pulp::Simd;

use super::{Pass, at};
use crate::math::simd::fused::{Mat3, add_cross, add_mul, add_scaled, cross, mul, product};
use crate::math::simd::{Vec3, X, scaled, sum, three};
use crate::tree::Node;
use crate::tree::joint::ElementaryJoint;
use crate::tree::lanes::{orientation, turned};

impl<S: Simd> Pass<'_, S> {
    /// The ground, which falls upwards.
    #[inline(always)]
    pub(super) fn ground(&mut self, gravity: DVec3) {
        let zero = X::splat(self.simd, 0.0);
        let identity = three!(i => self.constant(DVec3::AXES[i]));
        self.set_matrix(0, at::ROTATION, identity);
        self.set(0, at::SPIN, [zero; 3]);
        self.set(0, at::TURN, [zero; 3]);
        self.set(0, at::PUSH, self.constant(-gravity));
    }

    /// Places a node and says how it moves at q̈ = 0.
    #[inline(always)]
    pub(super) fn descend(&mut self, i: usize, node: &Node, q: &[S::f64s], v: &[S::f64s]) {
        let (rotation, arm) = self.place(node, q);
        self.set_matrix(i, at::ROTATION, rotation);
        self.set(i, at::AXIS, rotation[2]);
        if !node.concentric {
            self.set(i, at::ARM, arm);
        }
        if matches!(node.kind, ElementaryJoint::Ball | ElementaryJoint::Free) {
            self.set_matrix(i, at::TURNED, rotation);
        }
        self.moves(i, node, v, (rotation, arm));
    }

    /// Axes of a node and the arm from its parent.
    #[inline(always)]
    fn place(&self, node: &Node, q: &[S::f64s]) -> (Mat3<S>, Vec3<S>) {
        let r = &node.place.rotation;
        let base = match &node.swap {
            Some(swap) => three!(i => {
                let (at, sign) = swap.entry(r, i);
                let axis = self.get(node.parent, at::ROTATION + 3 * at);
                scaled(axis, X::splat(self.simd, sign))
            }),
            None => {
                let parent = self.matrix(node.parent, at::ROTATION);
                three!(i => mul(parent, self.constant(r.col(i))))
            }
        };
        let mut arm = self.constant(DVec3::ZERO);
        if !node.concentric {
            let parent = self.matrix(node.parent, at::ROTATION);
            arm = mul(parent, self.constant(node.place.position));
        }
        match node.kind {
            ElementaryJoint::Turn => (turned(base, self.load(q, node.q_at)), arm),
            ElementaryJoint::Slide => {
                let [x] = self.load(q, node.q_at);
                (base, add_scaled(arm, base[2], x))
            }
            ElementaryJoint::Screw(pitch) => {
                let [x] = self.load(q, node.q_at);
                let arm = add_scaled(arm, base[2], x * x.like(pitch));
                (turned(base, [x]), arm)
            }
            ElementaryJoint::Ball => (product(base, orientation(self.load(q, node.q_at))), arm),
            ElementaryJoint::Free => {
                let arm = add_mul(arm, base, self.load(q, node.q_at));
                let rotation = product(base, orientation(self.load(q, node.q_at + 3)));
                (rotation, arm)
            }
        }
    }

    /// Spin of a node and its acceleration at q̈ = 0.
    #[inline(always)]
    fn moves(&mut self, i: usize, node: &Node, v: &[S::f64s], (rotation, arm): (Mat3<S>, Vec3<S>)) {
        let spin: Vec3<S> = self.get(node.parent, at::SPIN);
        let mut turn: Vec3<S> = self.get(node.parent, at::TURN);
        let mut push: Vec3<S> = self.get(node.parent, at::PUSH);
        if !node.concentric {
            push = add_cross(add_cross(push, turn, arm), spin, cross(spin, arm));
        }
        let mut own = spin;
        match node.kind {
            ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => {
                let [x] = self.load(v, node.v_at);
                let rate = scaled(rotation[2], x);
                let coriolis = cross(spin, rate);
                let (turns, slides) = match node.kind {
                    ElementaryJoint::Turn => (true, None),
                    ElementaryJoint::Screw(pitch) => (true, Some(pitch)),
                    _ => (false, Some(1.0)),
                };
                if turns {
                    own = sum(own, rate);
                    turn = sum(turn, coriolis);
                }
                if let Some(pitch) = slides {
                    push = add_scaled(push, coriolis, x.like(2.0 * pitch));
                }
            }
            ElementaryJoint::Ball | ElementaryJoint::Free => {
                let rate = mul(rotation, self.load(v, node.v_at));
                own = sum(own, rate);
                turn = add_cross(turn, spin, rate);
                if node.kind == ElementaryJoint::Free {
                    let slide = mul(rotation, self.load(v, node.v_at + 3));
                    // Velocities in link axes turn with the link, hence ω_rel × u beside Coriolis: 2ω + ω_rel.
                    push = add_cross(push, sum(spin, own), slide);
                }
            }
        }
        self.set(i, at::SPIN, own);
        self.set(i, at::TURN, turn);
        self.set(i, at::PUSH, push);
    }
}
