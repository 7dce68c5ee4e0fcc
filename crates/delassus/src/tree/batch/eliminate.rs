//! Leaves to root: articulated inertias, in lanes.

use pulp::Simd;

use super::algebra::{
    Mat3, Sym, mul, mul_transposed, outer, positive, sym_column, sym_inverse, sym_mul, sym_of,
    transposed, transposed_product,
};
use super::{Pass, at};
use crate::math::lanes::{Vec3, X, cross, difference, dot, scaled, sum, three};
use crate::tree::Node;
use crate::tree::joint::Kind;

/// A pivot below this share of the inertia it is taken from is rounding.
const PIVOT: f64 = 1e-14;

impl<S: Simd> Pass<'_, S> {
    /// Leaves to root: joints are taken out one after the other and forces passed on.
    #[inline(always)]
    pub(super) fn eliminate(&mut self, v: &[S::f64s], tau: &[S::f64s]) -> Option<(usize, f64)> {
        let tree = self.tree;
        for (i, node) in tree.nodes.iter().enumerate().skip(1).rev() {
            let (torque, force) = (self.get(i, at::FORCE), self.get(i, at::FORCE + 3));
            let passed = match node.kind {
                Kind::Turn | Kind::Slide | Kind::Screw(_) => {
                    let [x] = self.load(tau, node.v_at);
                    let [rate] = self.load(v, node.v_at);
                    let tau = x - x.like(node.damping) * rate;
                    self.eliminate_axis(i, node, tau, (torque, force))
                }
                Kind::Ball => {
                    let tau: Vec3<S> = self.load(tau, node.v_at);
                    let rate: Vec3<S> = self.load(v, node.v_at);
                    let tau = difference(tau, scaled(rate, tau[0].like(node.damping)));
                    self.eliminate_ball(i, node, tau, (torque, force))
                }
                Kind::Free => {
                    let damping = X::splat(self.simd, node.damping);
                    let (t, f): (Vec3<S>, Vec3<S>) =
                        (self.load(tau, node.v_at), self.load(tau, node.v_at + 3));
                    let (spin, rate): (Vec3<S>, Vec3<S>) =
                        (self.load(v, node.v_at), self.load(v, node.v_at + 3));
                    let applied = (
                        difference(t, scaled(spin, damping)),
                        difference(f, scaled(rate, damping)),
                    );
                    self.eliminate_free(i, applied, (torque, force))
                }
            };
            match passed {
                Ok((torque, force)) => {
                    let arm: Vec3<S> = self.get(i, at::ARM);
                    let torque = sum(torque, cross(arm, force));
                    let (a, b) = (
                        self.get(node.parent, at::FORCE),
                        self.get(node.parent, at::FORCE + 3),
                    );
                    self.set(node.parent, at::FORCE, sum(a, torque));
                    self.set(node.parent, at::FORCE + 3, sum(b, force));
                }
                Err(pivot) => return Some((node.link, pivot)),
            }
        }
        None
    }

    /// U = I^A S, D = SᵀU + armature, I^a = I^A − U D⁻¹Uᵀ to the parent; the force that is passed on.
    #[inline(always)]
    fn eliminate_axis(
        &mut self,
        i: usize,
        node: &Node,
        tau: X<S>,
        (torque, force): (Vec3<S>, Vec3<S>),
    ) -> Result<(Vec3<S>, Vec3<S>), f64> {
        let axis: Vec3<S> = self.get(i, at::ROTATION + 6);
        let (a, b, c) = (
            self.get(i, at::A),
            self.matrix(i, at::B),
            self.get(i, at::C),
        );
        let (u, d, along, scale) = match node.kind {
            Kind::Slide => {
                let u = [mul(b, axis), sym_mul(c, axis)];
                (u, dot(axis, u[1]), dot(axis, force), c)
            }
            Kind::Screw(pitch) => {
                let pitch = tau.like(pitch);
                let along = scaled(axis, pitch);
                let u = [
                    sum(sym_mul(a, axis), mul(b, along)),
                    sum(mul_transposed(b, axis), sym_mul(c, along)),
                ];
                let d = dot(axis, u[0]) + dot(along, u[1]);
                (u, d, dot(axis, torque) + dot(along, force), a)
            }
            _ => {
                let u = [sym_mul(a, axis), mul_transposed(b, axis)];
                (u, dot(axis, u[0]), dot(axis, torque), a)
            }
        };
        let d = d + tau.like(node.armature);
        positive(d, (scale[0] + scale[3] + scale[5]) * tau.like(PIVOT))?;
        let inverse = tau.like(1.0) / d;
        let rest = tau - along;
        self.set(i, at::U, u[0]);
        self.set(i, at::U + 3, u[1]);
        self.set(i, at::INVERSE_D, [inverse]);
        self.set(i, at::TAU, [rest]);
        if node.parent != 0 {
            let (t, f) = (scaled(u[0], inverse), scaled(u[1], inverse));
            let a = difference(a, outer(t, u[0]));
            let c = difference(c, outer(f, u[1]));
            let b = three!(j => difference(b[j], scaled(t, u[1][j])));
            self.pass_inertia(i, node.parent, (a, b, c));
        }
        let step = inverse * rest;
        Ok((
            sum(torque, scaled(u[0], step)),
            sum(force, scaled(u[1], step)),
        ))
    }

    /// S = (1, 0): I^a = [[κD⁻¹a, κD⁻¹b], [·, c − bᵀD⁻¹b]], D = a + κ1, in closed form as for a single state.
    #[inline(always)]
    fn eliminate_ball(
        &mut self,
        i: usize,
        node: &Node,
        tau: Vec3<S>,
        (torque, force): (Vec3<S>, Vec3<S>),
    ) -> Result<(Vec3<S>, Vec3<S>), f64> {
        let (a, b, c): (Sym<S>, _, Sym<S>) = (
            self.get(i, at::A),
            self.matrix(i, at::B),
            self.get(i, at::C),
        );
        let armature = tau[0].like(node.armature);
        let mut d = a;
        for j in [0, 3, 5] {
            d[j] = d[j] + armature;
        }
        let inverse = sym_inverse(d)?;
        let coupling = three!(j => sym_mul(inverse, b[j]));
        if node.parent != 0 {
            let zero = tau[0].like(0.0);
            let left = difference(c, sym_of(transposed_product(b, coupling)));
            let (above, beside) = if node.armature == 0.0 {
                ([zero; 6], [[zero; 3]; 3])
            } else {
                let product = three!(j => sym_mul(inverse, sym_column(a, j)));
                let beside = three!(j => scaled(coupling[j], armature));
                (scaled(sym_of(product), armature), beside)
            };
            self.pass_inertia(i, node.parent, (above, beside, left));
        }
        self.set(i, at::A, inverse);
        self.set_matrix(i, at::B, coupling);
        let applied = mul(self.matrix(i, at::ROTATION), tau);
        let rest = difference(applied, torque);
        self.set(i, at::U, rest);
        let mut passed = applied;
        if node.armature != 0.0 {
            passed = difference(passed, scaled(sym_mul(inverse, rest), armature));
        }
        Ok((passed, sum(force, mul_transposed(coupling, rest))))
    }

    /// S = 1: nothing of the inertia is left. D⁻¹ is kept as that of c and of a − b c⁻¹bᵀ.
    #[inline(always)]
    fn eliminate_free(
        &mut self,
        i: usize,
        applied: (Vec3<S>, Vec3<S>),
        (torque, force): (Vec3<S>, Vec3<S>),
    ) -> Result<(Vec3<S>, Vec3<S>), f64> {
        let (a, b, c): (Sym<S>, _, _) = (
            self.get(i, at::A),
            self.matrix(i, at::B),
            self.get(i, at::C),
        );
        let (rows, inverse_c) = (transposed(b), sym_inverse(c)?);
        let coupling = transposed(three!(j => sym_mul(inverse_c, rows[j])));
        let taken = transposed_product(transposed(coupling), rows);
        let inverse_a = sym_inverse(difference(a, sym_of(taken)))?;
        self.set(i, at::A, inverse_a);
        self.set_matrix(i, at::B, coupling);
        self.set(i, at::C, inverse_c);
        let rotation = self.matrix(i, at::ROTATION);
        let (turn, push) = (mul(rotation, applied.0), mul(rotation, applied.1));
        self.set(i, at::U, difference(turn, torque));
        self.set(i, at::U + 3, difference(push, force));
        Ok((turn, push))
    }

    /// Adds an articulated inertia to the parent's: b' = b + [r]c, a' = a + [r]bᵀ + ([r]b'ᵀ)ᵀ.
    #[inline(always)]
    fn pass_inertia(&mut self, i: usize, parent: usize, (a, b, c): (Sym<S>, Mat3<S>, Sym<S>)) {
        let r: Vec3<S> = self.get(i, at::ARM);
        let moved = three!(j => sum(b[j], cross(r, sym_column(c, j))));
        let (b_rows, moved_rows) = (transposed(b), transposed(moved));
        let p = three!(j => cross(r, b_rows[j]));
        let q = three!(j => cross(r, moved_rows[j]));
        let shift = [
            p[0][0] + q[0][0],
            p[1][0] + q[0][1],
            p[2][0] + q[0][2],
            p[1][1] + q[1][1],
            p[2][1] + q[1][2],
            p[2][2] + q[2][2],
        ];
        let own = self.get(parent, at::A);
        self.set(parent, at::A, sum(own, sum(a, shift)));
        let own = self.matrix(parent, at::B);
        self.set_matrix(parent, at::B, three!(j => sum(own[j], moved[j])));
        let own = self.get(parent, at::C);
        self.set(parent, at::C, sum(own, c));
    }
}
