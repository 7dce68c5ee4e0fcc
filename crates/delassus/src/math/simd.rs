//! Vectors of the width that the processor turns out to have, with the arithmetic one expects.
//!
//! Every lane computes what a single number would, so that bits do not depend on the width. Products are fused with
//! sums only where `mul_add` says so; it rounds once on every processor, by software where it must.

use std::ops::{Add, Mul, Neg, Sub};

use pulp::Simd;

/// Numbers stored side by side: as many as the widest processor takes.
pub(crate) const LANES: usize = 8;
/// One number of each of eight things.
pub(crate) type Lane = [f64; LANES];

/// As many numbers as the processor has lanes, with the arithmetic one expects.
pub(crate) struct X<S: Simd>(S, S::f64s);

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

    /// One part of a lane.
    #[inline(always)]
    pub(crate) fn load(simd: S, lane: &Lane, part: usize) -> X<S> {
        X(simd, S::as_simd_f64s(lane).0[part])
    }

    #[inline(always)]
    pub(crate) fn load_all<const N: usize>(simd: S, lanes: &[Lane; N], part: usize) -> [X<S>; N] {
        let mut out = [X::splat(simd, 0.0); N];
        for i in 0..N {
            out[i] = X::load(simd, &lanes[i], part);
        }
        out
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

    /// self · b + c, rounded once.
    #[inline(always)]
    pub(crate) fn mul_add(self, b: X<S>, c: X<S>) -> X<S> {
        X(self.0, self.0.mul_add_f64s(self.1, b.1, c.1))
    }

    /// c − self · b, rounded once.
    #[inline(always)]
    pub(crate) fn neg_mul_add(self, b: X<S>, c: X<S>) -> X<S> {
        (-self).mul_add(b, c)
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
}

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

impl<S: Simd> Neg for X<S> {
    type Output = X<S>;
    #[inline(always)]
    fn neg(self) -> X<S> {
        X(self.0, self.0.neg_f64s(self.1))
    }
}
