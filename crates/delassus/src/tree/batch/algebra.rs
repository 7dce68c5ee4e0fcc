//! Spatial algebra on lanes: vectors, matrices by columns, symmetric matrices as (xx, xy, xz, yy, yz, zz).

use pulp::Simd;

use crate::math::simd::X;

pub(super) type V<S> = [X<S>; 3];
/// Columns.
pub(super) type M<S> = [V<S>; 3];
pub(super) type Sym<S> = [X<S>; 6];

/// A matrix of an articulated body: force = [[a, b], [bᵀ, c]] (angular, linear).
#[derive(Clone, Copy)]
pub(super) struct Art<S: Simd> {
    pub(super) a: Sym<S>,
    pub(super) b: M<S>,
    pub(super) c: Sym<S>,
}

#[inline(always)]
pub(super) fn add<S: Simd>(a: V<S>, b: V<S>) -> V<S> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
pub(super) fn sub<S: Simd>(a: V<S>, b: V<S>) -> V<S> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// a + s b.
#[inline(always)]
pub(super) fn add_scaled<S: Simd>(a: V<S>, s: X<S>, b: V<S>) -> V<S> {
    [
        s.mul_add(b[0], a[0]),
        s.mul_add(b[1], a[1]),
        s.mul_add(b[2], a[2]),
    ]
}

#[inline(always)]
pub(super) fn scale<S: Simd>(s: X<S>, a: V<S>) -> V<S> {
    [s * a[0], s * a[1], s * a[2]]
}

#[inline(always)]
pub(super) fn dot<S: Simd>(a: V<S>, b: V<S>) -> X<S> {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

#[inline(always)]
pub(super) fn cross<S: Simd>(a: V<S>, b: V<S>) -> V<S> {
    [
        a[2].neg_mul_add(b[1], a[1] * b[2]),
        a[0].neg_mul_add(b[2], a[2] * b[0]),
        a[1].neg_mul_add(b[0], a[0] * b[1]),
    ]
}

/// A x.
#[inline(always)]
pub(super) fn mul<S: Simd>(m: &M<S>, x: V<S>) -> V<S> {
    add_scaled(add_scaled(scale(x[0], m[0]), x[1], m[1]), x[2], m[2])
}

/// Aᵀx.
#[inline(always)]
pub(super) fn mul_transposed<S: Simd>(m: &M<S>, x: V<S>) -> V<S> {
    [dot(m[0], x), dot(m[1], x), dot(m[2], x)]
}

#[inline(always)]
pub(super) fn columns<S: Simd>(s: &Sym<S>) -> M<S> {
    [[s[0], s[1], s[2]], [s[1], s[3], s[4]], [s[2], s[4], s[5]]]
}

#[inline(always)]
pub(super) fn sym_mul<S: Simd>(s: &Sym<S>, x: V<S>) -> V<S> {
    mul(&columns(s), x)
}

/// The symmetric part of a product that is symmetric up to rounding.
#[inline(always)]
pub(super) fn sym_of<S: Simd>(m: &M<S>) -> Sym<S> {
    [m[0][0], m[1][0], m[2][0], m[1][1], m[2][1], m[2][2]]
}

#[inline(always)]
pub(super) fn sym_sub<S: Simd>(a: &mut Sym<S>, b: &Sym<S>) {
    for i in 0..6 {
        a[i] = a[i] - b[i];
    }
}

/// R A Rᵀ.
#[inline(always)]
pub(super) fn turned<S: Simd>(s: &Sym<S>, r: &M<S>) -> Sym<S> {
    let half = columns(s).map(|column| mul(r, column));
    // Entry (i, j) of (R A) Rᵀ.
    let entry = |i: usize, j: usize| {
        let last = half[2][i].mul_add(r[2][j], half[1][i] * r[1][j]);
        half[0][i].mul_add(r[0][j], last)
    };
    [
        entry(0, 0),
        entry(0, 1),
        entry(0, 2),
        entry(1, 1),
        entry(1, 2),
        entry(2, 2),
    ]
}

/// A − s u uᵀ.
#[inline(always)]
fn sub_outer<S: Simd>(a: &mut Sym<S>, s: X<S>, u: V<S>) {
    let t = scale(s, u);
    a[0] = t[0].neg_mul_add(u[0], a[0]);
    a[1] = t[0].neg_mul_add(u[1], a[1]);
    a[2] = t[0].neg_mul_add(u[2], a[2]);
    a[3] = t[1].neg_mul_add(u[1], a[3]);
    a[4] = t[1].neg_mul_add(u[2], a[4]);
    a[5] = t[2].neg_mul_add(u[2], a[5]);
}

/// The inverse by LDLᵀ.
#[inline(always)]
pub(super) fn inverse<S: Simd>(s: &Sym<S>) -> Sym<S> {
    let [xx, xy, xz, yy, yz, zz] = *s;
    let d1 = xx.recip();
    let (l21, l31) = (xy * d1, xz * d1);
    let d2 = l21.neg_mul_add(xy, yy).recip();
    let off = l31.neg_mul_add(xy, yz);
    let l32 = off * d2;
    let d3 = l32.neg_mul_add(off, l31.neg_mul_add(xz, zz)).recip();
    let (m21, m31, m32) = (-l21, l21 * l32 - l31, -l32);
    [
        d1 + d2 * m21 * m21 + d3 * m31 * m31,
        d2 * m21 + d3 * m31 * m32,
        d3 * m31,
        d2 + d3 * m32 * m32,
        d3 * m32,
        d3,
    ]
}

impl<S: Simd> Art<S> {
    /// I − s u uᵀ, u = (torque, force).
    #[inline(always)]
    pub(super) fn subtract_outer(&mut self, s: X<S>, torque: V<S>, force: V<S>) {
        sub_outer(&mut self.a, s, torque);
        sub_outer(&mut self.c, s, force);
        let t = scale(-s, torque);
        for j in 0..3 {
            self.b[j] = add_scaled(self.b[j], force[j], t);
        }
    }

    /// Adds `other`, moved to a point from which its origin lies at `r`: b' = b + [r]c, a' = a + [r]bᵀ + ([r]b'ᵀ)ᵀ.
    #[inline(always)]
    pub(super) fn add_shifted(&mut self, other: &Art<S>, r: V<S>) {
        let c = columns(&other.c);
        let mut moved = other.b;
        for j in 0..3 {
            moved[j] = add(moved[j], cross(r, c[j]));
        }
        let row = |m: &M<S>, i: usize| [m[0][i], m[1][i], m[2][i]];
        let p = [0, 1, 2].map(|i| cross(r, row(&other.b, i)));
        let q = [0, 1, 2].map(|i| cross(r, row(&moved, i)));
        let terms = [
            p[0][0] + q[0][0],
            p[1][0] + q[0][1],
            p[2][0] + q[0][2],
            p[1][1] + q[1][1],
            p[2][1] + q[1][2],
            p[2][2] + q[2][2],
        ];
        for i in 0..6 {
            self.a[i] = self.a[i] + (other.a[i] + terms[i]);
            self.c[i] = self.c[i] + other.c[i];
        }
        for j in 0..3 {
            self.b[j] = add(self.b[j], moved[j]);
        }
    }
}

/// Largest angle whose quadrant is found below [rad].
pub(super) const FAR: f64 = 1e5;

/// Sine and cosine of angles up to `FAR`: the angle less the nearest multiple of π/2 in two parts, then the two
/// polynomials of least error on a quarter turn.
#[inline(always)]
pub(super) fn sin_cos<S: Simd>(simd: S, x: X<S>) -> (X<S>, X<S>) {
    let k = |value: f64| X::splat(simd, value);
    // Adding and taking off 1.5 · 2⁵² rounds to a whole number.
    let round = |x: X<S>| (x + k(6_755_399_441_055_744.0)) - k(6_755_399_441_055_744.0);
    let quarters = round(x * k(std::f64::consts::FRAC_2_PI));
    let r = quarters.neg_mul_add(k(std::f64::consts::FRAC_PI_2), x);
    // What π/2 in double precision leaves out.
    let r = quarters.neg_mul_add(k(6.123_233_995_736_766e-17), r);
    let z = r * r;
    let chain = |coefficients: &[f64]| {
        let mut sum = k(coefficients[0]);
        for &c in &coefficients[1..] {
            sum = sum.mul_add(z, k(c));
        }
        sum
    };
    let odd = chain(&[
        1.589_690_995_211_55e-10,
        -2.505_076_025_340_686_3e-8,
        2.755_731_370_707_006_8e-6,
        -1.984_126_982_985_795e-4,
        8.333_333_333_322_49e-3,
        -1.666_666_666_666_663_2e-1,
    ]);
    let sine = (z * r).mul_add(odd, r);
    let even = chain(&[
        -1.135_964_755_778_819_5e-11,
        2.087_572_321_298_175e-9,
        -2.755_731_435_139_066_3e-7,
        2.480_158_728_947_673e-5,
        -1.388_888_888_887_411e-3,
        4.166_666_666_666_66e-2,
    ]);
    let cosine = (z * z).mul_add(even, k(-0.5).mul_add(z, k(1.0)));
    // The quadrant: what is left of the quarters by fours.
    let fours = round(quarters * k(0.25) - k(0.375));
    let quadrant = fours.neg_mul_add(k(4.0), quarters);
    // Quadrants 1 and 3 exchange the two; 2 and 3 negate the sine, 1 and 2 the cosine.
    let odd_quadrant = {
        let halves = round(quadrant * k(0.5) - k(0.25));
        halves.neg_mul_add(k(2.0), quadrant)
    };
    let swap = |a: X<S>, b: X<S>| odd_quadrant.if_below(k(0.5), a, b);
    let (s, c) = (swap(sine, cosine), swap(cosine, sine));
    let s = quadrant.if_below(k(1.5), s, -s);
    let middle = (quadrant - k(1.5)) * (quadrant - k(1.5));
    let c = middle.if_below(k(1.0), -c, c);
    (s, c)
}
