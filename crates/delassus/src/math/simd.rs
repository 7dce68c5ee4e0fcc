//! Vectors of the width that the processor turns out to have, with the arithmetic one expects.
//!
//! Every lane computes what a single number would, so that bits do not depend on the width. Products are fused with
//! sums only where `mul_add` says so; it rounds once on every processor, by software where it must. Kernels made of
//! these must be inlined whole, or their lanes go through memory at every call: hence loops and [`three`] instead of
//! closures.

pub(crate) mod fused;
mod part;
pub(crate) mod turn;
pub(crate) mod turned;

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};
use std::ops::{Add, Div, Mul, Neg, Sub};

use pulp::Simd;

pub(crate) use part::LanePart;

/// Numbers stored side by side: as many as the widest processor takes.
pub(crate) const LANES: usize = 8;
/// One number of each of eight things.
pub(crate) type Lane = [f64; LANES];

/// An expression for each of three places.
macro_rules! three {
    ($i:ident => $value:expr) => {
        [
            {
                let $i = 0_usize;
                $value
            },
            {
                let $i = 1_usize;
                $value
            },
            {
                let $i = 2_usize;
                $value
            },
        ]
    };
}
pub(crate) use three;

/// An expression for each place of an array as long as another.
macro_rules! each {
    ($like:expr, $i:ident => $value:expr) => {{
        let mut out = $like;
        for $i in 0..out.len() {
            out[$i] = $value;
        }
        out
    }};
}
pub(crate) use each;

/// As many numbers as the processor has lanes, with the arithmetic one expects.
pub(crate) struct X<S: Simd>(pub(crate) S, pub(crate) S::f64s);

/// A vector in each lane.
pub(crate) type Vec3<S> = [X<S>; 3];

impl<S: Simd> Clone for X<S> {
    #[inline(always)]
    fn clone(&self) -> X<S> {
        *self
    }
}

impl<S: Simd> Copy for X<S> {}

impl<S: Simd> X<S> {
    #[inline(always)]
    pub(crate) fn splat(simd: S, x: f64) -> X<S> {
        X(simd, simd.splat_f64s(x))
    }

    /// The same number everywhere, as this has.
    #[inline(always)]
    pub(crate) fn like(self, x: f64) -> X<S> {
        X::splat(self.0, x)
    }

    /// One part of a lane.
    #[inline(always)]
    pub(crate) fn load(simd: S, lane: &Lane, part: usize) -> X<S> {
        X(simd, S::as_simd_f64s(lane).0[part])
    }

    #[inline(always)]
    pub(crate) fn load_all<const N: usize>(simd: S, lanes: &[Lane; N], part: usize) -> [X<S>; N] {
        each!([X::splat(simd, 0.0); N], i => X::load(simd, &lanes[i], part))
    }

    #[inline(always)]
    pub(crate) fn store(self, lane: &mut Lane, part: usize) {
        S::as_mut_simd_f64s(lane).0[part] = self.1;
    }

    /// `yes` where self < bound, else `no`.
    #[inline(always)]
    pub(crate) fn if_below(self, bound: X<S>, yes: X<S>, no: X<S>) -> X<S> {
        let mask = self.0.less_than_f64s(self.1, bound.1);
        X(self.0, self.0.select_f64s(mask, yes.1, no.1))
    }

    /// Whether self < bound in every lane.
    #[inline(always)]
    pub(crate) fn all_below(self, bound: X<S>) -> bool {
        let not = self.if_below(bound, self.like(0.0), self.like(1.0));
        self.0.reduce_max_f64s(not.1) < 0.5
    }

    /// self · b + c, rounded once.
    #[inline(always)]
    pub(crate) fn mul_add(self, b: X<S>, c: X<S>) -> X<S> {
        X(self.0, self.0.mul_add_f64s(self.1, b.1, c.1))
    }

    /// c − self · b, rounded once.
    #[inline(always)]
    pub(crate) fn neg_mul_add(self, b: X<S>, c: X<S>) -> X<S> {
        X(self.0, self.0.negate_mul_add_f64s(self.1, b.1, c.1))
    }

    #[inline(always)]
    pub(crate) fn recip(self) -> X<S> {
        X(self.0, self.0.div_f64s(self.0.splat_f64s(1.0), self.1))
    }

    /// The larger of two; not-a-number in `other` is passed over.
    #[inline(always)]
    pub(crate) fn max(self, other: X<S>) -> X<S> {
        self.if_below(other, other, self)
    }

    #[inline(always)]
    pub(crate) fn over_root(self, x: X<S>) -> X<S> {
        X(self.0, self.0.div_f64s(self.1, self.0.sqrt_f64s(x.1)))
    }

    #[inline(always)]
    pub(crate) fn sqrt(self) -> X<S> {
        X(self.0, self.0.sqrt_f64s(self.1))
    }

    #[inline(always)]
    pub(crate) fn abs(self) -> X<S> {
        X(self.0, self.0.abs_f64s(self.1))
    }

    /// The nearest whole number, for |x| < 2⁵¹.
    #[inline(always)]
    fn round(self) -> X<S> {
        // Numbers near 1.5·2⁵² have no fraction.
        let shift = self.like(6_755_399_441_055_744.0);
        (self + shift) - shift
    }

    /// Sine and cosine for |x| ≤ 10⁵, good to about the last digit.
    #[inline(always)]
    pub(crate) fn sin_cos(self) -> (X<S>, X<S>) {
        // x = kπ/2 + r with |r| ≤ π/4. π/2 comes in three parts; the products of k with the first two are exact.
        let high = f64::from_bits(FRAC_PI_2.to_bits() & !((1 << 20) - 1));
        let (middle, low) = (FRAC_PI_2 - high, 6.123_233_995_736_766e-17);
        let k = (self * self.like(FRAC_2_PI)).round();
        let r = k.neg_mul_add(self.like(high), self);
        let r = k.neg_mul_add(self.like(low), k.neg_mul_add(self.like(middle), r));
        let square = r * r;
        let sin = (r * square).mul_add(square.polynomial(&SINE), r);
        let cos = square.mul_add(square.polynomial(&COSINE), self.like(1.0));
        // k mod 4 as one of −2, −1, 0, 1, 2.
        let quarter = (k * self.like(0.25)).round();
        let quarter = quarter.neg_mul_add(self.like(4.0), k);
        let odd = (quarter.abs() - self.like(1.0)).abs();
        let half = self.like(0.5);
        let (s, c) = (odd.if_below(half, cos, sin), odd.if_below(half, sin, cos));
        // The sine changes sign for −1 and ±2, the cosine for 1 and ±2.
        let twice = (self.like(1.5)).if_below(quarter.abs(), self.like(4.0), self.like(0.0));
        let sin = half.if_below(twice - quarter, -s, s);
        let cos = half.if_below(twice + quarter, -c, c);
        (sin, cos)
    }

    /// A polynomial, highest power first.
    #[inline(always)]
    fn polynomial<const N: usize>(self, coefficients: &[f64; N]) -> X<S> {
        let mut sum = self.like(coefficients[0]);
        for i in 1..N {
            sum = sum.mul_add(self, self.like(coefficients[i]));
        }
        sum
    }
}

/// (sin x − x)/x³ as a polynomial in x², highest power first: (−1)ⁿ/(2n + 1)!.
const SINE: [f64; 7] = [
    -1.0 / 1_307_674_368_000.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 39_916_800.0,
    1.0 / 362_880.0,
    -1.0 / 5040.0,
    1.0 / 120.0,
    -1.0 / 6.0,
];

/// (cos x − 1)/x² as a polynomial in x², highest power first: (−1)ⁿ/(2n)!.
const COSINE: [f64; 8] = [
    1.0 / 20_922_789_888_000.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 479_001_600.0,
    -1.0 / 3_628_800.0,
    1.0 / 40_320.0,
    -1.0 / 720.0,
    1.0 / 24.0,
    -1.0 / 2.0,
];

impl<S: Simd> Add for X<S> {
    type Output = X<S>;
    #[inline(always)]
    fn add(self, other: X<S>) -> X<S> {
        X(self.0, self.0.add_f64s(self.1, other.1))
    }
}

impl<S: Simd> Sub for X<S> {
    type Output = X<S>;
    #[inline(always)]
    fn sub(self, other: X<S>) -> X<S> {
        X(self.0, self.0.sub_f64s(self.1, other.1))
    }
}

impl<S: Simd> Mul for X<S> {
    type Output = X<S>;
    #[inline(always)]
    fn mul(self, other: X<S>) -> X<S> {
        X(self.0, self.0.mul_f64s(self.1, other.1))
    }
}

impl<S: Simd> Div for X<S> {
    type Output = X<S>;
    #[inline(always)]
    fn div(self, other: X<S>) -> X<S> {
        X(self.0, self.0.div_f64s(self.1, other.1))
    }
}

impl<S: Simd> Neg for X<S> {
    type Output = X<S>;
    #[inline(always)]
    fn neg(self) -> X<S> {
        X(self.0, self.0.neg_f64s(self.1))
    }
}

#[inline(always)]
pub(crate) fn dot<S: Simd>(a: Vec3<S>, b: Vec3<S>) -> X<S> {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(crate) fn cross<S: Simd>(a: Vec3<S>, b: Vec3<S>) -> Vec3<S> {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// a + b.
#[inline(always)]
pub(crate) fn sum<S: Simd, const N: usize>(a: [X<S>; N], b: [X<S>; N]) -> [X<S>; N] {
    each!(a, i => a[i] + b[i])
}

/// a − b.
#[inline(always)]
pub(crate) fn difference<S: Simd, const N: usize>(a: [X<S>; N], b: [X<S>; N]) -> [X<S>; N] {
    each!(a, i => a[i] - b[i])
}

/// s a.
#[inline(always)]
pub(crate) fn scaled<S: Simd, const N: usize>(a: [X<S>; N], s: X<S>) -> [X<S>; N] {
    each!(a, i => a[i] * s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    struct Turns<'a>(&'a [f64], Vec<(f64, f64)>);

    impl pulp::WithSimd for Turns<'_> {
        type Output = Vec<(f64, f64)>;
        #[inline(always)]
        fn with_simd<S: Simd>(mut self, simd: S) -> Vec<(f64, f64)> {
            for x in self.0 {
                let (sin, cos) = X::splat(simd, *x).sin_cos();
                self.1.push((first(sin), first(cos)));
            }
            self.1
        }
    }

    fn first<S: Simd>(x: X<S>) -> f64 {
        let mut out = [0.0; 8];
        S::as_mut_simd_f64s(&mut out).0[0] = x.1;
        out[0]
    }

    #[test]
    fn sine_and_cosine_are_those_of_the_library() {
        let mut random = Random::new(4);
        let mut angles: Vec<f64> = (0..20_000).map(|_| random.range(-10.0, 10.0)).collect();
        angles.extend((0..20_000).map(|_| random.range(-1e5, 1e5)));
        angles.extend((-40..=40).map(|k| f64::from(k) * FRAC_PI_2));
        angles.extend((-40..=40).map(|k| f64::from(k) * 0.5 * FRAC_PI_2));
        for arch in [pulp::Arch::new(), pulp::Arch::Scalar] {
            let found = arch.dispatch(Turns(&angles, Vec::new()));
            for (x, (sin, cos)) in angles.iter().zip(found) {
                let close = |a: f64, b: f64| (a - b).abs() <= 3e-16 * b.abs() + 1e-30;
                let (s, c) = x.sin_cos();
                assert!(close(sin, s) && close(cos, c), "{x}: {sin} {s}, {cos} {c}");
            }
        }
    }
}
