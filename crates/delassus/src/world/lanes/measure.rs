//! Taking stock of eight trees: energy, momentum, and how far their joints are open.

use pulp::{Simd, WithSimd};

use super::algebra::{largest_square, matrix, turned};
use super::kernel::{BodyState, Lane3};
use super::layout::{BodyMake, Parent, TreeBody};
use crate::linalg::sym3::lanes::{congruent, sym_column, sym_mul};
use crate::math::simd::fused::{add_scaled, cross, dot};
use crate::math::simd::{LANES, Lane, LanePart, difference, scaled, sum, three};

/// Energy, momentum and the largest gap of eight trees, lane by lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stock {
    pub(super) kinetic: Lane,
    pub(super) potential: Lane,
    pub(super) momentum: Lane3,
    pub(super) angular: Lane3,
    /// Largest component of a gap, squared.
    pub(super) gap: Lane,
}

/// Taking stock of eight trees.
pub(super) struct Measure<'a> {
    pub(super) links: &'a [TreeBody],
    pub(super) made: &'a [BodyMake],
    pub(super) gravity: [f64; 3],
    pub(super) state: &'a [BodyState],
}

impl WithSimd for Measure<'_> {
    type Output = Stock;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Stock {
        let mut stock = Stock::default();
        for index in 0..LANES / S::F64_LANES {
            self.measure(LanePart { simd, index }, &mut stock);
        }
        stock
    }
}

impl Measure<'_> {
    #[inline(always)]
    fn measure<S: Simd>(&self, part: LanePart<S>, stock: &mut Stock) {
        let zero = part.all(0.0);
        let half = part.all(0.5);
        let gravity = three!(k => part.all(self.gravity[k]));
        let (mut kinetic, mut potential, mut open) = (zero, zero, zero);
        let (mut momentum, mut angular) = ([zero; 3], [zero; 3]);
        for (i, state) in self.state.iter().enumerate() {
            let (link, made) = (self.links[i], &self.made[i]);
            let [m] = part.load(&[made.mass]);
            let (x, v) = (part.load(&state.x), part.load(&state.v));
            let (q, w) = (part.load(&state.q), part.load(&state.w));
            let own = part.load(&made.inertia);
            let spun = if link.round {
                scaled(w, own[0])
            } else {
                sym_mul(congruent(matrix(q), three!(j => sym_column(own, j))), w)
            };
            // T = ½ m v² + ½ ωᵀIω, V = −m g · x, p = m v, L = Iω + x × m v.
            kinetic = half.mul_add(m.mul_add(dot(v, v), dot(w, spun)), kinetic);
            potential = m.neg_mul_add(dot(gravity, x), potential);
            momentum = add_scaled(momentum, v, m);
            angular = add_scaled(sum(angular, spun), cross(x, v), m);
            let point = sum(x, turned(q, part.load(&made.arm)));
            let above = part.load(&made.above);
            let gap = match link.parent {
                Parent::None => continue,
                Parent::Ground => difference(point, above),
                Parent::Link(parent) => {
                    let parent = &self.state[parent as usize];
                    let end = turned(part.load(&parent.q), above);
                    difference(point, sum(part.load(&parent.x), end))
                }
            };
            open = open.max(largest_square(gap));
        }
        kinetic.store(&mut stock.kinetic, part.index);
        potential.store(&mut stock.potential, part.index);
        part.store(&mut stock.momentum, momentum);
        part.store(&mut stock.angular, angular);
        open.store(&mut stock.gap, part.index);
    }
}
