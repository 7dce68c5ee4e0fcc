//! Leaves to root: articulated inertias, in lanes.

use pulp::Simd;

use super::{Pass, at};
use crate::math::simd::{Vec3, X, cross, difference, dot, scaled, sum, three};
use crate::tree::Node;
use crate::tree::joint::Kind;
use crate::tree::lanes::{
    Mat3, Sym, mul, mul_transposed, outer, positive, sym_column, sym_inverse, sym_mul, sym_of,
    transposed, transposed_product,
};

/// A pivot below this share of the inertia it is taken from is rounding.
const PIVOT: f64 = 1e-14;

/// An articulated inertia [[a, b], [bᵀ, c]].
type Inertia<S> = (Sym<S>, Mat3<S>, Sym<S>);
/// Torque and force.
type Force<S> = [Vec3<S>; 2];

impl<S: Simd> Pass<'_, S> {
    /// Leaves to root: joints are taken out one after the other and forces passed on.
    #[inline(always)]
    pub(super) fn eliminate(&mut self, v: &[S::f64s], tau: &[S::f64s]) -> Option<(usize, f64)> {
        let tree = self.tree;
        for (i, node) in tree.nodes.iter().enumerate().skip(1).rev() {
            let (inertia, force) = self.gather(i, node);
            let passed = match node.kind {
                Kind::Turn | Kind::Slide | Kind::Screw(_) => {
                    let [x] = self.load(tau, node.v_at);
                    let [rate] = self.load(v, node.v_at);
                    let tau = x - x.like(node.damping) * rate;
                    self.eliminate_axis(i, node, (inertia, force), tau)
                }
                Kind::Ball => {
                    let tau: Vec3<S> = self.load(tau, node.v_at);
                    let rate: Vec3<S> = self.load(v, node.v_at);
                    let tau = difference(tau, scaled(rate, tau[0].like(node.damping)));
                    self.eliminate_ball(i, node, (inertia, force), tau)
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
                    self.eliminate_free(i, (inertia, force), applied)
                }
            };
            match passed {
                Ok((inertia, force)) => self.pass(i, node, inertia, force),
                Err(pivot) => return Some((node.link, pivot)),
            }
        }
        None
    }

    /// A link's own inertia and need, with what its children left.
    #[inline(always)]
    fn gather(&mut self, i: usize, node: &Node) -> (Inertia<S>, Force<S>) {
        let [x, y, z] = self.get(i, at::FIRST);
        let (mass, zero) = (x.like(node.inertia.mass), x.like(0.0));
        let mut a: Sym<S> = self.get(i, at::SECOND);
        let mut b = [[zero, z, -y], [-z, zero, x], [y, -x, zero]];
        let mut c = [mass, zero, zero, mass, zero, mass];
        let mut force = [self.get(i, at::NEED), self.get(i, at::NEED + 3)];
        if std::mem::take(&mut self.filled[node.depth]) {
            let children = self.matrix(i, at::B);
            a = sum(a, self.get(i, at::A));
            b = three!(j => sum(b[j], children[j]));
            c = sum(c, self.get(i, at::C));
            force[0] = sum(force[0], self.get(i, at::FORCE));
            force[1] = sum(force[1], self.get(i, at::FORCE + 3));
        }
        ((a, b, c), force)
    }

    /// Leaves inertia and force to the parent, moved by the arm r: b' = b + [r]c, a' = a + [r]bᵀ + ([r]b'ᵀ)ᵀ.
    #[inline(always)]
    fn pass(&mut self, i: usize, node: &Node, (a, b, c): Inertia<S>, force: Force<S>) {
        if node.parent == 0 {
            return;
        }
        let (mut a, mut moved, mut c, mut force) = (a, b, c, force);
        if !node.concentric {
            let r: Vec3<S> = self.get(i, at::ARM);
            moved = three!(j => sum(b[j], cross(r, sym_column(c, j))));
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
            a = sum(a, shift);
            force[0] = sum(force[0], cross(r, force[1]));
        }
        let parent = node.parent;
        if std::mem::replace(&mut self.filled[node.depth - 1], true) {
            let before = self.matrix(parent, at::B);
            a = sum(a, self.get(parent, at::A));
            moved = three!(j => sum(moved[j], before[j]));
            c = sum(c, self.get(parent, at::C));
            force[0] = sum(force[0], self.get(parent, at::FORCE));
            force[1] = sum(force[1], self.get(parent, at::FORCE + 3));
        }
        self.set(parent, at::A, a);
        self.set_matrix(parent, at::B, moved);
        self.set(parent, at::C, c);
        self.set(parent, at::FORCE, force[0]);
        self.set(parent, at::FORCE + 3, force[1]);
    }

    /// U = I^A S, D = SᵀU + armature, I^a = I^A − U D⁻¹Uᵀ to the parent; the force that is passed on.
    #[inline(always)]
    fn eliminate_axis(
        &mut self,
        i: usize,
        node: &Node,
        ((a, b, c), [torque, force]): (Inertia<S>, Force<S>),
        tau: X<S>,
    ) -> Result<(Inertia<S>, Force<S>), f64> {
        let axis: Vec3<S> = self.get(i, at::AXIS);
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
        let (t, f) = (scaled(u[0], inverse), scaled(u[1], inverse));
        let a = difference(a, outer(t, u[0]));
        let c = difference(c, outer(f, u[1]));
        let b = three!(j => difference(b[j], scaled(t, u[1][j])));
        let torque = sum(torque, scaled(t, rest));
        Ok(((a, b, c), [torque, sum(force, scaled(f, rest))]))
    }

    /// S = (1, 0): I^a = [[κD⁻¹a, κD⁻¹b], [·, c − bᵀD⁻¹b]], D = a + κ1, in closed form as for a single state.
    #[inline(always)]
    fn eliminate_ball(
        &mut self,
        i: usize,
        node: &Node,
        ((a, b, c), [torque, force]): (Inertia<S>, Force<S>),
        tau: Vec3<S>,
    ) -> Result<(Inertia<S>, Force<S>), f64> {
        let armature = tau[0].like(node.armature);
        let mut d = a;
        for j in [0, 3, 5] {
            d[j] = d[j] + armature;
        }
        let inverse = sym_inverse(d)?;
        let coupling = three!(j => sym_mul(inverse, b[j]));
        let zero = tau[0].like(0.0);
        let left = difference(c, sym_of(transposed_product(b, coupling)));
        let (above, beside) = if node.armature == 0.0 {
            ([zero; 6], [[zero; 3]; 3])
        } else {
            let product = three!(j => sym_mul(inverse, sym_column(a, j)));
            let beside = three!(j => scaled(coupling[j], armature));
            (scaled(sym_of(product), armature), beside)
        };
        self.set(i, at::INVERSE_A, inverse);
        self.set_matrix(i, at::COUPLING, coupling);
        let applied = mul(self.matrix(i, at::TURNED), tau);
        let rest = difference(applied, torque);
        self.set(i, at::REST, rest);
        let mut passed = applied;
        if node.armature != 0.0 {
            passed = difference(passed, scaled(sym_mul(inverse, rest), armature));
        }
        let force = sum(force, mul_transposed(coupling, rest));
        Ok(((above, beside, left), [passed, force]))
    }

    /// S = 1: nothing of the inertia is left. D⁻¹ is kept as that of c and of a − b c⁻¹bᵀ.
    #[inline(always)]
    fn eliminate_free(
        &mut self,
        i: usize,
        ((a, b, c), [torque, force]): (Inertia<S>, Force<S>),
        applied: (Vec3<S>, Vec3<S>),
    ) -> Result<(Inertia<S>, Force<S>), f64> {
        let (rows, inverse_c) = (transposed(b), sym_inverse(c)?);
        let coupling = transposed(three!(j => sym_mul(inverse_c, rows[j])));
        let taken = transposed_product(transposed(coupling), rows);
        let inverse_a = sym_inverse(difference(a, sym_of(taken)))?;
        self.set(i, at::INVERSE_A, inverse_a);
        self.set_matrix(i, at::COUPLING, coupling);
        self.set(i, at::INVERSE_C, inverse_c);
        let rotation = self.matrix(i, at::TURNED);
        let (turn, push) = (mul(rotation, applied.0), mul(rotation, applied.1));
        self.set(i, at::REST, difference(turn, torque));
        self.set(i, at::REST + 3, difference(push, force));
        let zero = turn[0].like(0.0);
        Ok((([zero; 6], [[zero; 3]; 3], [zero; 6]), [turn, push]))
    }
}
