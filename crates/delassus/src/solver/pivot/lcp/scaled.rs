//! A dense problem brought to the size of one, and its answers back to their own units.
//!
//! ```text
//! M̂ = R M C,   q̂ = R q,   z = C ẑ,   ŵ = R w          R, C > 0, so that signs and complementarity stay
//! ```
//!
//! The source has no scaling; R and C are powers of two, which round nothing.

use super::Lcp;
use super::solve::Cover;
use crate::linalg::equilibrate::{Scales, equilibrate};
use crate::math::{Random, max_abs};
use crate::solver::pivot::ACCEPTED;

/// Ratio of row scales beyond which a ray found with ones is looked for again with a scaled covering vector.
const TORN: f64 = 1e3;

/// A problem whose rows and columns have been brought to the size of one, and the diagonals of R and C.
pub(super) struct Scaled<'a> {
    pub(super) lcp: Lcp,
    pub(super) row: Vec<f64>,
    col: Vec<f64>,
    /// The problem itself, for proofs.
    pub(super) original: &'a Lcp,
}

impl<'a> Scaled<'a> {
    pub(super) fn of(lcp: &'a Lcp) -> Scaled<'a> {
        let n = lcp.len();
        let Scales { row, col } = equilibrate(lcp.columns(), n);
        let mut columns = lcp.columns().to_vec();
        for j in 0..n {
            for (entry, row) in columns[j * n..(j + 1) * n].iter_mut().zip(&row) {
                *entry *= row * col[j];
            }
        }
        let q = lcp.q().iter().zip(&row).map(|(q, row)| q * row).collect();
        Scaled {
            lcp: Lcp::from_columns(columns, q, lcp.free().to_vec()),
            row,
            col,
            original: lcp,
        }
    }

    /// max|q̂|, or one where q = 0.
    pub(super) fn scale(&self) -> f64 {
        let scale = max_abs(self.lcp.q());
        if 0.0 < scale { scale } else { 1.0 }
    }

    /// Whether the scales of rows differ so much that ones are no longer like ones.
    pub(super) fn is_torn(&self) -> bool {
        let least = self.row.iter().fold(f64::INFINITY, |m, x| m.min(*x));
        TORN * least < max_abs(&self.row)
    }

    /// Whether z, in the problem's own units, counts as solved.
    pub(super) fn accepts(&self, z: &[f64]) -> bool {
        let z: Vec<f64> = z.iter().zip(&self.col).map(|(z, col)| z / col).collect();
        self.lcp.residual(&z) <= ACCEPTED * self.scale()
    }

    pub(super) fn unscaled(&self, z: &[f64]) -> Vec<f64> {
        z.iter().zip(&self.col).map(|(z, col)| z * col).collect()
    }

    /// The covering vector in scaled units, zero in free rows.
    pub(super) fn cover(&self, cover: &Cover) -> Vec<f64> {
        let n = self.row.len();
        let mut values = match cover {
            Cover::Ones => self.row.clone(),
            Cover::Scaled => vec![1.0; n],
            Cover::Random(seed) => {
                let mut random = Random::new(*seed);
                (0..n).map(|_| random.range(0.5, 2.0)).collect()
            }
            Cover::Given(given) => {
                let given = |i: usize| given.get(i).copied().filter(|c| c.is_finite() && 0.0 < *c);
                (0..n)
                    .map(|i| given(i).unwrap_or(1.0) * self.row[i])
                    .collect()
            }
        };
        for (value, free) in values.iter_mut().zip(self.lcp.free()) {
            if *free {
                *value = 0.0;
            }
        }
        values
    }
}
