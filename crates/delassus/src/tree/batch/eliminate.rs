//! Leaves to root: articulated inertias and the forces behind them, in lanes.

use pulp::Simd;

use super::{Pass, at};
use crate::linalg::sym3::lanes::{
    Sym, add_sym_mul, congruent, positive, subtract_outer, sym_column, sym_inverse, sym_mul, sym_of,
};
use crate::math::simd::fused::{
    Mat3, add_cross, add_cross_at, add_mul, add_scaled, dot, mul, mul_transposed, subtract_scaled,
    transposed, transposed_product,
};
use crate::math::simd::{Vec3, X, difference, scaled, sum, three};
use crate::tree::Node;
use crate::tree::aba::PIVOT;
use crate::tree::joint::ElementaryJoint;
use crate::tree::lanes::{Moments, Spatial, newton_euler};

/// An articulated inertia [[a, b], [bᵀ, c]].
type Inertia<S> = (Sym<S>, Mat3<S>, Sym<S>);
/// Torque and force.
type Force<S> = Spatial<S>;

impl<S: Simd> Pass<'_, S> {
    /// Takes a joint out and passes on what is left of inertia and force; or its pivot, where there is no inertia.
    #[inline(always)]
    pub(super) fn eliminate(
        &mut self,
        i: usize,
        node: &Node,
        v: &[S::f64s],
        tau: &[S::f64s],
    ) -> Result<(), f64> {
        let mut gathered = self.gather(i, node);
        let (inertia, force) = match node.kind {
            ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => {
                let [x] = self.load(tau, node.v_at);
                let [rate] = self.load(v, node.v_at);
                let tau = x.like(node.damping).neg_mul_add(rate, x);
                self.eliminate_axis(i, node, gathered, tau)?
            }
            ElementaryJoint::Ball => {
                let tau: Vec3<S> = self.load(tau, node.v_at);
                let damping = tau[0].like(node.damping);
                let tau = subtract_scaled(tau, self.load(v, node.v_at), damping);
                self.eliminate_ball(i, node, gathered, tau)?
            }
            ElementaryJoint::Free => {
                let damping = X::splat(self.simd, node.damping);
                let (t, f) = (self.load(tau, node.v_at), self.load(tau, node.v_at + 3));
                let applied = (
                    subtract_scaled(t, self.load(v, node.v_at), damping),
                    subtract_scaled(f, self.load(v, node.v_at + 3), damping),
                );
                if let Some(burden) = self.tree.burdens.iter().find(|b| b.node == i) {
                    // It weighs nothing, and the ground falls upwards.
                    let (force, up) = (&mut gathered.1[1], self.get(0, at::PUSH));
                    *force = subtract_scaled(*force, up, up[0].like(burden.armature));
                }
                self.eliminate_free(i, gathered, applied)?
            }
        };
        if node.parent != 0 {
            self.pass(i, node, inertia, force);
        }
        Ok(())
    }

    /// A link's own inertia and need, with what its children left.
    #[inline(always)]
    fn gather(&mut self, i: usize, node: &Node) -> (Inertia<S>, Force<S>) {
        let (mass, first, mut a) = self.turned(i);
        let mut force = self.need(i, (mass, first, a));
        let ([x, y, z], zero) = (first, mass.like(0.0));
        let mut b = [[zero, z, -y], [-z, zero, x], [y, -x, zero]];
        let mut c = [mass, zero, zero, mass, zero, mass];
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

    /// A node's rigid inertia in world axes.
    #[inline(always)]
    fn turned(&self, i: usize) -> Moments<S> {
        let r = self.matrix(i, at::ROTATION);
        let inertia = &self.tree.inertias[i];
        let first = mul(r, self.constant(inertia.first));
        let s = &inertia.second;
        let columns = [s.x(), s.y(), s.z()];
        let second = congruent(r, three!(j => self.constant(columns[j])));
        (X::splat(self.simd, inertia.mass), first, second)
    }

    /// The force it needs at q̈ = 0.
    #[inline(always)]
    fn need(&self, i: usize, moments: Moments<S>) -> Force<S> {
        let acceleration = [self.get(i, at::TURN), self.get(i, at::PUSH)];
        newton_euler(moments, self.get(i, at::SPIN), acceleration)
    }

    /// Leaves inertia and force to the parent, moved by the arm r: b' = b + [r]c, a' = a + [r]bᵀ + ([r]b'ᵀ)ᵀ.
    #[inline(always)]
    fn pass(&mut self, i: usize, node: &Node, (mut a, b, mut c): Inertia<S>, force: Force<S>) {
        let (mut moved, mut force) = (b, force);
        if !node.concentric {
            let r: Vec3<S> = self.get(i, at::ARM);
            moved = three!(j => add_cross(b[j], r, sym_column(c, j)));
            a = shifted(a, r, transposed(b), transposed(moved));
            force[0] = add_cross(force[0], r, force[1]);
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
        let axis: Vec3<S> = self.get(i, at::ROTATION + 6);
        let (u, d, along, scale) = match node.kind {
            ElementaryJoint::Slide => {
                let u = [mul(b, axis), sym_mul(c, axis)];
                (u, dot(axis, u[1]), dot(axis, force), c)
            }
            ElementaryJoint::Screw(pitch) => {
                let pitch = tau.like(pitch);
                let along = scaled(axis, pitch);
                let u = [
                    add_mul(sym_mul(a, axis), b, along),
                    add_sym_mul(mul_transposed(b, axis), c, along),
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
        let rate = (tau - along) * inverse;
        let (t, f) = (scaled(u[0], inverse), scaled(u[1], inverse));
        self.set(i, at::GAIN, t);
        self.set(i, at::GAIN + 3, f);
        self.set(i, at::RATE, [rate]);
        let a = subtract_outer(a, t, u[0]);
        let c = subtract_outer(c, f, u[1]);
        let b = three!(j => subtract_scaled(b[j], t, u[1][j]));
        let torque = add_scaled(torque, u[0], rate);
        Ok(((a, b, c), [torque, add_scaled(force, u[1], rate)]))
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
            passed = subtract_scaled(passed, sym_mul(inverse, rest), armature);
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

/// a + [r]bᵀ + ([r]b'ᵀ)ᵀ, with b and b' given by rows.
#[inline(always)]
fn shifted<S: Simd>(a: Sym<S>, r: Vec3<S>, b: Mat3<S>, moved: Mat3<S>) -> Sym<S> {
    let [xx, xy, xz] = add_cross([a[0], a[1], a[2]], r, moved[0]);
    [
        add_cross_at(xx, r, b[0], 0),
        add_cross_at(xy, r, b[1], 0),
        add_cross_at(xz, r, b[2], 0),
        add_cross_at(add_cross_at(a[3], r, b[1], 1), r, moved[1], 1),
        add_cross_at(add_cross_at(a[4], r, b[2], 1), r, moved[1], 2),
        add_cross_at(add_cross_at(a[5], r, b[2], 2), r, moved[2], 2),
    ]
}
