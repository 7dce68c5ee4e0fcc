//! The three passes of the articulated-body algorithm over one part of the lanes.

use glam::{DMat3, DVec3};
use pulp::Simd;

use super::Batch;
use super::algebra::{
    Art, M, Sym, V, add, add_scaled, columns, cross, dot, inverse, mul, mul_transposed, scale,
    sin_cos, sub, sym_mul, sym_of, sym_sub, turned,
};
use crate::math::simd::{LANES, Lane, X};
use crate::tree::joint::Kind;
use crate::tree::{Node, Tree};

/// A pivot below this share of the inertia it is taken from is rounding.
const PIVOT: f64 = 1e-14;

/// What a node gives to its children.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Down {
    rotation: [Lane; 9],
    /// Angular, then linear.
    velocity: [Lane; 6],
    acceleration: [Lane; 6],
    response: [Lane; 6],
}

/// What a node gives to its parent, and keeps for the way back.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Up {
    arm: [Lane; 3],
    axis: [Lane; 3],
    /// Torque, then force; behind a joint of several dofs, once passed, τ − Sᵀp.
    force: [Lane; 6],
    /// a (6), b by columns (9), c (6).
    inertia: [Lane; 21],
    u: [Lane; 6],
    /// 1/D and τ − Sᵀp of a node with one dof.
    axial: [Lane; 2],
}

/// Factor of a node of several dofs: inverse of a (6), coupling (9), inverse of c (6).
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Factor([Lane; 21]);

impl Default for Down {
    fn default() -> Down {
        Down {
            rotation: [[0.0; LANES]; 9],
            velocity: [[0.0; LANES]; 6],
            acceleration: [[0.0; LANES]; 6],
            response: [[0.0; LANES]; 6],
        }
    }
}

impl Default for Up {
    fn default() -> Up {
        Up {
            arm: [[0.0; LANES]; 3],
            axis: [[0.0; LANES]; 3],
            force: [[0.0; LANES]; 6],
            inertia: [[0.0; LANES]; 21],
            u: [[0.0; LANES]; 6],
            axial: [[0.0; LANES]; 2],
        }
    }
}

impl Default for Factor {
    fn default() -> Factor {
        Factor([[0.0; LANES]; 21])
    }
}

/// One part of the lanes of a batch.
pub(super) struct Kernel<'a, S: Simd> {
    pub(super) simd: S,
    pub(super) part: usize,
    pub(super) tree: &'a Tree,
    pub(super) batch: &'a mut Batch,
}

#[inline(always)]
fn pair<S: Simd>(x: [X<S>; 6]) -> (V<S>, V<S>) {
    ([x[0], x[1], x[2]], [x[3], x[4], x[5]])
}

#[inline(always)]
fn join<S: Simd>(a: V<S>, b: V<S>) -> [X<S>; 6] {
    [a[0], a[1], a[2], b[0], b[1], b[2]]
}

impl<S: Simd> Kernel<'_, S> {
    #[inline(always)]
    fn splat(&self, x: f64) -> X<S> {
        X::splat(self.simd, x)
    }

    #[inline(always)]
    fn vector(&self, v: DVec3) -> V<S> {
        [self.splat(v.x), self.splat(v.y), self.splat(v.z)]
    }

    #[inline(always)]
    fn matrix(&self, m: &DMat3) -> M<S> {
        [m.x_axis, m.y_axis, m.z_axis].map(|column| self.vector(column))
    }

    #[inline(always)]
    fn load<const N: usize>(&self, lanes: &[Lane; N]) -> [X<S>; N] {
        X::load_all(self.simd, lanes, self.part)
    }

    #[inline(always)]
    fn three(&self, lanes: &[Lane], at: usize) -> V<S> {
        [0, 1, 2].map(|i| X::load(self.simd, &lanes[at + i], self.part))
    }

    #[inline(always)]
    fn rotation(&self, i: usize) -> M<S> {
        let r = self.load(&self.batch.down[i].rotation);
        [[r[0], r[1], r[2]], [r[3], r[4], r[5]], [r[6], r[7], r[8]]]
    }

    #[inline(always)]
    fn inertia(&self, i: usize) -> Art<S> {
        let x = self.load(&self.batch.up[i].inertia);
        Art {
            a: [x[0], x[1], x[2], x[3], x[4], x[5]],
            b: [
                [x[6], x[7], x[8]],
                [x[9], x[10], x[11]],
                [x[12], x[13], x[14]],
            ],
            c: [x[15], x[16], x[17], x[18], x[19], x[20]],
        }
    }

    #[inline(always)]
    fn put_inertia(&mut self, i: usize, art: &Art<S>) {
        let part = self.part;
        let lanes = &mut self.batch.up[i].inertia;
        for k in 0..6 {
            art.a[k].store(&mut lanes[k], part);
            art.c[k].store(&mut lanes[15 + k], part);
        }
        for k in 0..9 {
            art.b[k / 3][k % 3].store(&mut lanes[6 + k], part);
        }
    }

    #[inline(always)]
    fn factor(&self, node: &Node) -> (Sym<S>, M<S>, Sym<S>) {
        let x = self.load(&self.batch.factors[node.multi].0);
        (
            [x[0], x[1], x[2], x[3], x[4], x[5]],
            [
                [x[6], x[7], x[8]],
                [x[9], x[10], x[11]],
                [x[12], x[13], x[14]],
            ],
            [x[15], x[16], x[17], x[18], x[19], x[20]],
        )
    }

    /// Poses, velocities, bias forces and rigid inertias, from the ground to the leaves.
    #[inline(always)]
    pub(super) fn down(&mut self, gravity: DVec3) {
        let part = self.part;
        let ground = self.matrix(&DMat3::IDENTITY);
        let (zero, up) = (self.vector(DVec3::ZERO), self.vector(-gravity));
        store(&mut self.batch.down[0].rotation, flat(ground), part);
        store(&mut self.batch.down[0].velocity, join(zero, zero), part);
        store(&mut self.batch.down[0].acceleration, join(zero, up), part);
        store(&mut self.batch.down[0].response, join(zero, zero), part);
        for i in 1..self.tree.nodes.len() {
            let node = &self.tree.nodes[i];
            let (rotation, arm) = self.place(node);
            let (velocity, acceleration) = self.moves(node, &rotation, arm);
            let inertia = &node.inertia;
            let (mass, first) = (self.splat(inertia.mass), self.vector(inertia.first));
            let first = mul(&rotation, first);
            let second = inertia.second.entries().map(|x| self.splat(x));
            let second = turned(&second, &rotation);
            // Newton and Euler.
            let (spin, _) = velocity;
            let (alpha, a) = acceleration;
            let torque = add(sym_mul(&second, alpha), cross(first, a));
            let torque = add(torque, cross(spin, sym_mul(&second, spin)));
            let force = add_scaled(cross(alpha, first), mass, a);
            let force = add(force, cross(spin, cross(spin, first)));
            let nil = self.splat(0.0);
            let rigid = Art {
                a: second,
                b: [
                    [nil, first[2], -first[1]],
                    [-first[2], nil, first[0]],
                    [first[1], -first[0], nil],
                ],
                c: [mass, nil, nil, mass, nil, mass],
            };
            self.put_inertia(i, &rigid);
            let down = &mut self.batch.down[i];
            store(&mut down.rotation, flat(rotation), part);
            store(&mut down.velocity, join(velocity.0, velocity.1), part);
            store(&mut down.acceleration, join(alpha, a), part);
            let up = &mut self.batch.up[i];
            store(&mut up.arm, arm, part);
            store(&mut up.axis, rotation[2], part);
            store(&mut up.force, join(torque, force), part);
        }
    }

    /// Rotation of a node and the way to it from its parent.
    #[inline(always)]
    fn place(&self, node: &Node) -> (M<S>, V<S>) {
        let parent = self.rotation(node.parent);
        let base = self.matrix(&node.place.rotation).map(|c| mul(&parent, c));
        let mut arm = mul(&parent, self.vector(node.place.position));
        let q = &self.batch.q;
        let angle = || X::load(self.simd, &q[node.q_at], self.part);
        let turned = |angle: X<S>| {
            let (s, c) = sin_cos(self.simd, angle);
            let [x, y, z] = base;
            [
                add_scaled(scale(c, x), s, y),
                add_scaled(scale(c, y), -s, x),
                z,
            ]
        };
        let rotation = match node.kind {
            Kind::Turn => turned(angle()),
            Kind::Slide => {
                arm = add_scaled(arm, angle(), base[2]);
                base
            }
            Kind::Screw(pitch) => {
                arm = add_scaled(arm, angle() * self.splat(pitch), base[2]);
                turned(angle())
            }
            Kind::Ball => self.orientation(node.q_at).map(|c| mul(&base, c)),
            Kind::Free => {
                arm = add(arm, mul(&base, self.three(q, node.q_at)));
                self.orientation(node.q_at + 3).map(|c| mul(&base, c))
            }
        };
        (rotation, arm)
    }

    /// The matrix of a quaternion of any length: 1 + 2(w[u]× + [u]×²)/|q|².
    #[inline(always)]
    fn orientation(&self, at: usize) -> M<S> {
        let w = X::load(self.simd, &self.batch.q[at], self.part);
        let [x, y, z] = self.three(&self.batch.q, at + 1);
        let length = w * w + x * x + y * y + z * z;
        let s = length.recip() * self.splat(2.0);
        let one = self.splat(1.0);
        [
            [
                one - s * (y * y + z * z),
                s * (x * y + w * z),
                s * (x * z - w * y),
            ],
            [
                s * (x * y - w * z),
                one - s * (x * x + z * z),
                s * (y * z + w * x),
            ],
            [
                s * (x * z + w * y),
                s * (y * z - w * x),
                one - s * (x * x + y * y),
            ],
        ]
    }

    /// Velocity of a node and its acceleration at q̈ = 0, each angular and linear.
    #[inline(always)]
    fn moves(&self, node: &Node, rotation: &M<S>, arm: V<S>) -> ((V<S>, V<S>), (V<S>, V<S>)) {
        let parent = &self.batch.down[node.parent];
        let (spin, linear) = pair(self.load(&parent.velocity));
        let (alpha, a) = pair(self.load(&parent.acceleration));
        let carried = cross(spin, arm);
        let (mut omega, mut u) = (spin, add(linear, carried));
        let mut rate_of_omega = alpha;
        let mut rate_of_u = add(add(a, cross(alpha, arm)), cross(spin, carried));
        let two = self.splat(2.0);
        let v = &self.batch.v;
        let along = || scale(X::load(self.simd, &v[node.v_at], self.part), rotation[2]);
        match node.kind {
            Kind::Turn => {
                let rate = along();
                omega = add(omega, rate);
                rate_of_omega = add(rate_of_omega, cross(spin, rate));
            }
            Kind::Slide => {
                let rate = along();
                u = add(u, rate);
                rate_of_u = add_scaled(rate_of_u, two, cross(spin, rate));
            }
            Kind::Screw(pitch) => {
                let rate = along();
                let coriolis = cross(spin, rate);
                omega = add(omega, rate);
                u = add_scaled(u, self.splat(pitch), rate);
                rate_of_omega = add(rate_of_omega, coriolis);
                rate_of_u = add_scaled(rate_of_u, self.splat(2.0 * pitch), coriolis);
            }
            Kind::Ball => {
                let rate = mul(rotation, self.three(v, node.v_at));
                omega = add(omega, rate);
                rate_of_omega = add(rate_of_omega, cross(spin, rate));
            }
            Kind::Free => {
                let rate = mul(rotation, self.three(v, node.v_at));
                let slide = mul(rotation, self.three(v, node.v_at + 3));
                omega = add(omega, rate);
                u = add(u, slide);
                rate_of_omega = add(rate_of_omega, cross(spin, rate));
                let turning = add_scaled(cross(rate, slide), two, cross(spin, slide));
                rate_of_u = add(rate_of_u, turning);
            }
        }
        ((omega, u), (rate_of_omega, rate_of_u))
    }

    /// Joints taken out of the articulated inertias, from the leaves to the ground.
    #[inline(always)]
    pub(super) fn up(&mut self) {
        let part = self.part;
        let mut margin = self.splat(f64::INFINITY);
        for i in (1..self.tree.nodes.len()).rev() {
            let node = &self.tree.nodes[i];
            let mut art = self.inertia(i);
            let p = pair(self.load(&self.batch.up[i].force));
            let (torque, force) = match node.kind {
                Kind::Ball => self.eliminate_ball(i, &mut art, p, &mut margin),
                Kind::Free => self.eliminate_free(i, &mut art, p, &mut margin),
                _ => self.eliminate_axis(i, &mut art, p, &mut margin),
            };
            if node.parent == 0 {
                continue;
            }
            let arm = self.load(&self.batch.up[i].arm);
            if node.kind != Kind::Free {
                let mut parent = self.inertia(node.parent);
                parent.add_shifted(&art, arm);
                self.put_inertia(node.parent, &parent);
            }
            let (sum_torque, sum_force) = pair(self.load(&self.batch.up[node.parent].force));
            let torque = add(torque, cross(arm, force));
            let sum = join(add(sum_torque, torque), add(sum_force, force));
            store(&mut self.batch.up[node.parent].force, sum, part);
        }
        margin.store(&mut self.batch.margin, part);
    }

    /// τ less damping.
    #[inline(always)]
    fn damped(&self, node: &Node, k: usize) -> X<S> {
        let tau = X::load(self.simd, &self.batch.tau[k], self.part);
        let v = X::load(self.simd, &self.batch.v[k], self.part);
        self.splat(node.damping).neg_mul_add(v, tau)
    }

    #[inline(always)]
    fn eliminate_axis(
        &mut self,
        i: usize,
        art: &mut Art<S>,
        (torque, force): (V<S>, V<S>),
        margin: &mut X<S>,
    ) -> (V<S>, V<S>) {
        let node = &self.tree.nodes[i];
        let axis = self.load(&self.batch.up[i].axis);
        let (u_torque, u_force, d, size, along) = match node.kind {
            Kind::Slide => {
                let (t, f) = (mul(&art.b, axis), sym_mul(&art.c, axis));
                let size = art.c[0] + art.c[3] + art.c[5];
                (t, f, dot(axis, f), size, dot(axis, force))
            }
            kind => {
                let pitch = match kind {
                    Kind::Screw(pitch) => pitch,
                    _ => 0.0,
                };
                let mut t = sym_mul(&art.a, axis);
                let mut f = mul_transposed(&art.b, axis);
                let mut along = dot(axis, torque);
                let mut d = dot(axis, t);
                if pitch != 0.0 {
                    let pitch = self.splat(pitch);
                    t = add_scaled(t, pitch, mul(&art.b, axis));
                    f = add_scaled(f, pitch, sym_mul(&art.c, axis));
                    d = dot(axis, t) + pitch * dot(axis, f);
                    along = pitch.mul_add(dot(axis, force), along);
                }
                (t, f, d, art.a[0] + art.a[3] + art.a[5], along)
            }
        };
        let d = d + self.splat(node.armature);
        let safe = self.splat(PIVOT).neg_mul_add(size, d);
        *margin = safe.if_below(*margin, safe, *margin);
        let inverse_d = d.recip();
        art.subtract_outer(inverse_d, u_torque, u_force);
        let rest = self.damped(node, node.v_at) - along;
        let step = inverse_d * rest;
        let part = self.part;
        let up = &mut self.batch.up[i];
        store(&mut up.u, join(u_torque, u_force), part);
        store(&mut up.axial, [inverse_d, rest], part);
        (
            add_scaled(torque, step, u_torque),
            add_scaled(force, step, u_force),
        )
    }

    #[inline(always)]
    fn local(&self, i: usize, at: usize) -> V<S> {
        let node = &self.tree.nodes[i];
        let tau = [0, 1, 2].map(|k| self.damped(node, at + k));
        mul(&self.rotation(i), tau)
    }

    #[inline(always)]
    fn eliminate_ball(
        &mut self,
        i: usize,
        art: &mut Art<S>,
        (torque, force): (V<S>, V<S>),
        margin: &mut X<S>,
    ) -> (V<S>, V<S>) {
        let node = &self.tree.nodes[i];
        let armature = self.splat(node.armature);
        let mut d = art.a;
        for k in [0, 3, 5] {
            d[k] = d[k] + armature;
        }
        let inverse = inverse(&d);
        for k in [0, 3, 5] {
            *margin = inverse[k].if_below(*margin, inverse[k], *margin);
        }
        let coupling = art.b.map(|column| sym_mul(&inverse, column));
        let taken = coupling.map(|column| mul_transposed(&art.b, column));
        sym_sub(&mut art.c, &sym_of(&taken));
        // I^a = [[κD⁻¹a, κD⁻¹b], [·, c − bᵀD⁻¹b]]
        let a = columns(&art.a).map(|column| scale(armature, sym_mul(&inverse, column)));
        art.a = sym_of(&a);
        art.b = coupling.map(|column| scale(armature, column));
        let applied = self.local(i, node.v_at);
        let rest = sub(applied, torque);
        let part = self.part;
        store(&mut self.batch.up[i].force, join(rest, force), part);
        self.put_factor(node, (inverse, coupling, inverse));
        (
            sub(applied, scale(armature, sym_mul(&inverse, rest))),
            add(force, mul_transposed(&coupling, rest)),
        )
    }

    #[inline(always)]
    fn eliminate_free(
        &mut self,
        i: usize,
        art: &mut Art<S>,
        (torque, force): (V<S>, V<S>),
        margin: &mut X<S>,
    ) -> (V<S>, V<S>) {
        let node = &self.tree.nodes[i];
        let inverse_c = inverse(&art.c);
        let row = |k: usize| [art.b[0][k], art.b[1][k], art.b[2][k]];
        let rows = [0, 1, 2].map(|k| sym_mul(&inverse_c, row(k)));
        let coupling = [0, 1, 2].map(|j| [rows[0][j], rows[1][j], rows[2][j]]);
        // a − b c⁻¹bᵀ, whose entry (i, k) is that of a less rows(i) · row(k).
        let taken = [0, 1, 2].map(|k| [0, 1, 2].map(|i| dot(rows[i], row(k))));
        let mut schur = art.a;
        sym_sub(&mut schur, &sym_of(&taken));
        let inverse_a = inverse(&schur);
        for k in [0, 3, 5] {
            for entry in [inverse_a[k], inverse_c[k]] {
                *margin = entry.if_below(*margin, entry, *margin);
            }
        }
        let applied = (self.local(i, node.v_at), self.local(i, node.v_at + 3));
        let rest = join(sub(applied.0, torque), sub(applied.1, force));
        let part = self.part;
        store(&mut self.batch.up[i].force, rest, part);
        self.put_factor(node, (inverse_a, coupling, inverse_c));
        applied
    }

    #[inline(always)]
    fn put_factor(&mut self, node: &Node, (a, coupling, c): (Sym<S>, M<S>, Sym<S>)) {
        let part = self.part;
        let lanes = &mut self.batch.factors[node.multi].0;
        for k in 0..6 {
            a[k].store(&mut lanes[k], part);
            c[k].store(&mut lanes[15 + k], part);
        }
        for k in 0..9 {
            coupling[k / 3][k % 3].store(&mut lanes[6 + k], part);
        }
    }

    /// Joint accelerations, from the ground to the leaves.
    #[inline(always)]
    pub(super) fn respond(&mut self) {
        let part = self.part;
        for i in 1..self.tree.nodes.len() {
            let node = &self.tree.nodes[i];
            let arm = self.load(&self.batch.up[i].arm);
            let (angular, linear) = pair(self.load(&self.batch.down[node.parent].response));
            let carried = (angular, add(linear, cross(angular, arm)));
            let response = match node.kind {
                Kind::Ball => self.respond_ball(i, carried),
                Kind::Free => self.respond_free(i, carried),
                _ => self.respond_axis(i, carried),
            };
            let response = join(response.0, response.1);
            store(&mut self.batch.down[i].response, response, part);
        }
    }

    #[inline(always)]
    fn respond_axis(&mut self, i: usize, (angular, linear): (V<S>, V<S>)) -> (V<S>, V<S>) {
        let node = &self.tree.nodes[i];
        let up = &self.batch.up[i];
        let (u_torque, u_force) = pair(self.load(&up.u));
        let [inverse_d, rest] = self.load(&up.axial);
        let axis = self.load(&up.axis);
        let rate = inverse_d * (rest - (dot(u_torque, angular) + dot(u_force, linear)));
        rate.store(&mut self.batch.x[node.v_at], self.part);
        match node.kind {
            Kind::Slide => (angular, add_scaled(linear, rate, axis)),
            Kind::Screw(pitch) => (
                add_scaled(angular, rate, axis),
                add_scaled(linear, rate * self.splat(pitch), axis),
            ),
            _ => (add_scaled(angular, rate, axis), linear),
        }
    }

    #[inline(always)]
    fn respond_ball(&mut self, i: usize, (angular, linear): (V<S>, V<S>)) -> (V<S>, V<S>) {
        let node = &self.tree.nodes[i];
        let (inverse, coupling, _) = self.factor(node);
        let (rest, _) = pair(self.load(&self.batch.up[i].force));
        let rate = sub(sym_mul(&inverse, rest), mul(&coupling, linear));
        let held = scale(self.splat(node.armature), sym_mul(&inverse, angular));
        let rate = add(sub(rate, angular), held);
        let local = mul_transposed(&self.rotation(i), rate);
        for k in 0..3 {
            local[k].store(&mut self.batch.x[node.v_at + k], self.part);
        }
        (add(angular, rate), linear)
    }

    #[inline(always)]
    fn respond_free(&mut self, i: usize, carried: (V<S>, V<S>)) -> (V<S>, V<S>) {
        let node = &self.tree.nodes[i];
        let (inverse_a, coupling, inverse_c) = self.factor(node);
        let (torque, force) = pair(self.load(&self.batch.up[i].force));
        let angular = sym_mul(&inverse_a, sub(torque, mul(&coupling, force)));
        let linear = sub(
            sym_mul(&inverse_c, force),
            mul_transposed(&coupling, angular),
        );
        let rotation = self.rotation(i);
        let turn = mul_transposed(&rotation, sub(angular, carried.0));
        let slide = mul_transposed(&rotation, sub(linear, carried.1));
        for k in 0..3 {
            turn[k].store(&mut self.batch.x[node.v_at + k], self.part);
            slide[k].store(&mut self.batch.x[node.v_at + 3 + k], self.part);
        }
        (angular, linear)
    }
}

#[inline(always)]
fn flat<S: Simd>(m: M<S>) -> [X<S>; 9] {
    let [x, y, z] = m;
    [x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]]
}

#[inline(always)]
fn store<S: Simd, const N: usize>(lanes: &mut [Lane; N], values: [X<S>; N], part: usize) {
    for i in 0..N {
        values[i].store(&mut lanes[i], part);
    }
}
