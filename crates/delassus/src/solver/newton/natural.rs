//! The largest natural residual over all blocks, contacts side by side.

use pulp::Simd;

use super::system::System;
use crate::law::Law;
use crate::law::lanes::Cones;
use crate::math::simd::LANES;
use crate::problem::Block;

/// Rows of a block that need no memory of their own.
const FEW: usize = 8;

impl System<'_> {
    /// The largest natural residual of given impulses, or of none, and row velocities [m/s].
    pub(super) fn natural(&self, lambda: Option<&[f64]>, w: &[f64]) -> f64 {
        let system = self;
        pulp::Arch::new().dispatch(Natural { system, lambda, w })
    }
}

struct Natural<'a> {
    system: &'a System<'a>,
    lambda: Option<&'a [f64]>,
    w: &'a [f64],
}

impl pulp::WithSimd for Natural<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let mut worst: f64 = 0.0;
        let blocks = self.system.blocks().chunks(LANES);
        for (first, blocks) in (0..).step_by(LANES).zip(blocks) {
            if let Some(cones) = self.cones(first, blocks) {
                for fault in cones.faults(simd) {
                    if fault.natural.is_nan() {
                        return f64::INFINITY;
                    }
                    worst = worst.max(fault.natural);
                }
                continue;
            }
            for (k, block) in (first..).zip(blocks) {
                let natural = self.alone(k, block);
                if natural.is_nan() {
                    return f64::INFINITY;
                }
                worst = worst.max(natural);
            }
        }
        worst
    }
}

impl Natural<'_> {
    /// The diagonal of D_kk, positive.
    #[inline(always)]
    fn diagonal(&self, k: usize, n: usize) -> impl Iterator<Item = f64> {
        let square = self.system.problem.diagonal_blocks().block(k);
        let instead = self.system.mobility[k];
        let diagonal = square.iter().step_by(n + 1);
        diagonal.map(move |d| if 0.0 < *d { *d } else { instead })
    }

    /// Eight contacts from block k on in lanes; `None` where something else is among them.
    #[inline(always)]
    fn cones(&self, k: usize, blocks: &[Block]) -> Option<Cones> {
        let mut cones = Cones::default();
        for (l, block) in blocks.as_array::<LANES>()?.iter().enumerate() {
            let (Law::FrictionCone { mu }, 3) = (block.law, block.n_rows) else {
                return None;
            };
            for (i, d) in self.diagonal(k + l, 3).enumerate().take(3) {
                let row = block.start + i;
                cones.w[i][l] = self.w[row];
                cones.lambda[i][l] = self.lambda.map_or(0.0, |lambda| lambda[row]);
                cones.diagonal[i][l] = d;
            }
            cones.mu[l] = mu;
        }
        Some(cones)
    }

    /// One block of any kind.
    fn alone(&self, k: usize, block: &Block) -> f64 {
        let (n, none) = (block.n_rows, [0.0; FEW]);
        let (w, own) = (
            &self.w[block.rows()],
            self.lambda.map(|lambda| &lambda[block.rows()]),
        );
        let mut few = [0.0; FEW];
        match (own.or(none.get(..n)), few.get_mut(..n)) {
            (Some(lambda), Some(diagonal)) => {
                let each = diagonal.iter_mut().zip(self.diagonal(k, n));
                each.for_each(|(to, d)| *to = d);
                block.law.natural(lambda, w, diagonal)
            }
            _ => {
                let diagonal: Vec<f64> = self.diagonal(k, n).collect();
                let lambda = own.map_or_else(|| vec![0.0; n], <[f64]>::to_vec);
                block.law.natural(&lambda, w, &diagonal)
            }
        }
    }
}
