//! The largest natural residual over all blocks, contacts side by side.

use pulp::Simd;

use super::system::System;
use crate::law::Law;
use crate::law::lanes::{Cones, FEWEST};
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
        let (blocks, mut worst) = (self.system.blocks(), 0.0_f64);
        let mut k = 0;
        while let Some(block) = blocks.get(k) {
            let (count, own) = match self.cones(k) {
                Some((count, cones)) => (count, cones.natural(simd)),
                None => (1, self.alone(k, block)),
            };
            if own.is_nan() {
                return f64::INFINITY;
            }
            worst = worst.max(own);
            k += count;
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

    /// Up to eight contacts from block k on in lanes, and how many they are; `None` where there are few.
    #[inline(always)]
    fn cones(&self, k: usize) -> Option<(usize, Cones)> {
        let blocks = &self.system.blocks()[k..];
        let first = blocks.iter().take(LANES);
        let count = first.take_while(|block| block.is_round()).count();
        if count < FEWEST {
            return None;
        }
        let mut cones = Cones::default();
        for (l, block) in blocks[..count].iter().enumerate() {
            let Law::FrictionCone { mu } = block.law else {
                return None;
            };
            let (at, instead) = (block.start, self.system.mobility[k + l]);
            let square = self.system.problem.diagonal_blocks().block(k + l);
            let square = square.as_array::<9>()?;
            let w = self.w[at..].first_chunk::<3>()?;
            for i in 0..3 {
                let d = square[4 * i];
                cones.diagonal[i][l] = if 0.0 < d { d } else { instead };
                cones.w[i][l] = w[i];
            }
            if let Some(lambda) = self.lambda {
                let lambda = lambda[at..].first_chunk::<3>()?;
                for i in 0..3 {
                    cones.lambda[i][l] = lambda[i];
                }
            }
            cones.mu[l] = mu;
        }
        Some((count, cones))
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
