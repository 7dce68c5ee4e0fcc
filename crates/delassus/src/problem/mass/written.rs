//! M of a short kinematic tree, written out: products with it cost less than passes over the links.
//!
//! Its factor is that of the velocities in reverse: leaves are eliminated before what carries them, so that nothing fills
//! in between branches, and half a solution reaches from a link to the ground alone.
//!
//! Forming M loses the digits that cancel between links, which passes over them keep. So it is written out only where
//! no pivot of its factor is much smaller than the entry that it is left of.

use crate::linalg::cholesky::{sparse_cholesky, sparse_solve, sparse_solve_fours};
use crate::tree::{Data, Tree};

/// Velocities of a tree up to which M is written out.
pub(crate) const SHORT: usize = 40;
/// Least share of a diagonal entry that must be left of it as a pivot: so many digits may cancel.
const LEFT: f64 = 1e-4;

/// M, and the Cholesky factor of M with its rows and columns in reverse, row-major.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Written {
    pub(super) matrix: Vec<f64>,
    pub(super) lower: Vec<f64>,
}

impl Written {
    /// That of the tree's present poses, in old memory where there is some; none where the tree is long, or where digits
    /// cancel.
    pub(super) fn over(
        old: Option<Box<Written>>,
        tree: &Tree,
        data: &mut Data,
    ) -> Option<Box<Written>> {
        let n = tree.n_dofs();
        if SHORT < n {
            return None;
        }
        let mut written = old.unwrap_or_default();
        let Written { matrix, lower } = &mut *written;
        matrix.resize(n * n, 0.0);
        tree.fill_mass_matrix(data, matrix);
        lower.clear();
        lower.extend(matrix.iter().rev());
        sparse_cholesky(lower, n).ok()?;
        // l_ii² is what is left of m_ii.
        let given = matrix.iter().rev().step_by(n + 1);
        let mut left = given.zip(lower.iter().step_by(n + 1));
        let kept = left.all(|(m, l)| LEFT * m <= l * l);
        kept.then_some(written)
    }

    /// x ← M⁻¹x.
    pub(super) fn solve(&self, x: &mut [f64]) {
        x.reverse();
        sparse_solve(&self.lower, x.len(), x);
        x.reverse();
    }

    /// The same for three x side by side.
    pub(super) fn solve_three(&self, x: [&mut [f64]; 3]) {
        let n = self.lower.len().isqrt();
        let mut room = [[0.0; 4]; SHORT];
        let Some(fours) = room.get_mut(..n) else {
            return x.into_iter().for_each(|x| self.solve(x));
        };
        for (lane, x) in x.iter().enumerate() {
            for (four, x) in fours.iter_mut().rev().zip(x.iter()) {
                four[lane] = *x;
            }
        }
        sparse_solve_fours(&self.lower, fours);
        for (lane, x) in x.into_iter().enumerate() {
            for (four, x) in fours.iter().rev().zip(x) {
                *x = four[lane];
            }
        }
    }
}
