//! A part of the lanes, read and written as a whole.

use pulp::Simd;

use super::{Lane, X, sum};

/// One part of the lanes, as wide as the processor.
#[derive(Clone, Copy)]
pub(crate) struct LanePart<S: Simd> {
    pub(crate) simd: S,
    pub(crate) index: usize,
}

impl<S: Simd> LanePart<S> {
    #[inline(always)]
    pub(crate) fn all(self, x: f64) -> X<S> {
        X::splat(self.simd, x)
    }

    #[inline(always)]
    pub(crate) fn load<const N: usize>(self, lanes: &[Lane; N]) -> [X<S>; N] {
        X::load_all(self.simd, lanes, self.index)
    }

    #[inline(always)]
    pub(crate) fn store<const N: usize>(self, lanes: &mut [Lane; N], x: [X<S>; N]) {
        for i in 0..N {
            x[i].store(&mut lanes[i], self.index);
        }
    }

    /// lanes ← lanes + x.
    #[inline(always)]
    pub(crate) fn add<const N: usize>(self, lanes: &mut [Lane; N], x: [X<S>; N]) {
        let old = self.load(lanes);
        self.store(lanes, sum(old, x));
    }

    /// lanes ← the larger of lanes and x.
    #[inline(always)]
    pub(crate) fn raise(self, lane: &mut Lane, x: X<S>) {
        let old = X::load(self.simd, lane, self.index);
        old.max(x).store(lane, self.index);
    }
}
