//! One walk along eight chains, compiled for every kind of processor and chosen at run time.

use pulp::{Arch, Simd, WithSimd};

use super::lanes::{BeadMass, BeadWork, Lane3, State};
use crate::math::simd::{LANES, Lane, LanePart};

/// Eight chains and what is known about them.
pub(super) struct Arena<'a> {
    pub(super) links: &'a [BeadMass],
    pub(super) anchor: &'a Lane3,
    pub(super) gravity: [f64; 3],
    pub(super) beads: &'a mut [State],
    pub(super) work: &'a mut [BeadWork],
}

/// What a walk does with as many chains as the processor has lanes.
pub(super) trait Walk {
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>);
}

struct Run<'a, 'b, W> {
    arena: &'a mut Arena<'b>,
    walk: &'a mut W,
}

impl<W: Walk> WithSimd for Run<'_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for index in 0..LANES / S::F64_LANES {
            self.walk.walk(LanePart { simd, index }, self.arena);
        }
    }
}

impl Arena<'_> {
    /// Walks along all eight chains.
    pub(super) fn run<W: Walk>(&mut self, arch: Arch, mut walk: W) -> W {
        arch.dispatch(Run {
            arena: self,
            walk: &mut walk,
        });
        walk
    }
}

/// The largest of eight numbers, or infinity if one of them is none.
pub(super) fn largest(lane: &Lane) -> f64 {
    let worse = |a: f64, b: f64| if b <= a { a } else { b };
    let top = lane.iter().copied().fold(0.0, worse);
    let sum: f64 = lane.iter().sum();
    if sum.is_finite() { top } else { f64::INFINITY }
}
