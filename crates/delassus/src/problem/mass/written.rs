//! M of a short kinematic tree, written out: products with it cost less than passes over the links.
//!
//! Its factor is that of the velocities in reverse: leaves are eliminated before what carries them, so that nothing fills
//! in between branches, and half a solution reaches from a link to the ground alone.
//!
//! Forming M loses the digits that cancel between links, which passes over them keep. So it is written out only where
//! no pivot of its factor is much smaller than the entry that it is left of.

use crate::linalg::cholesky::{sparse_cholesky, sparse_solve};
use crate::tree::{Data, Tree};

/// Velocities of a tree up to which M is written out.
pub(crate) const SHORT: usize = 40;
/// Least share of a diagonal entry that must be left of it as a pivot: so many digits may cancel.
const LEFT: f64 = 1e-4;

/// M, and the Cholesky factor of M with its rows and columns in reverse, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Written {
    pub(super) matrix: Vec<f64>,
    pub(super) lower: Vec<f64>,
}

impl Written {
    /// None where the tree is long, or where digits cancel.
    pub(super) fn of(tree: &Tree, data: &mut Data) -> Option<Box<Written>> {
        let n = tree.n_dofs();
        if SHORT < n {
            return None;
        }
        let mut matrix = vec![0.0; n * n];
        tree.fill_mass_matrix(data, &mut matrix);
        let mut lower: Vec<f64> = matrix.iter().rev().copied().collect();
        sparse_cholesky(&mut lower, n).ok()?;
        // l_ii² is what is left of m_ii.
        let given = matrix.iter().rev().step_by(n + 1);
        let mut left = given.zip(lower.iter().step_by(n + 1));
        let kept = left.all(|(m, l)| LEFT * m <= l * l);
        kept.then(|| Box::new(Written { matrix, lower }))
    }

    /// x ← M⁻¹x.
    pub(super) fn solve(&self, x: &mut [f64]) {
        x.reverse();
        sparse_solve(&self.lower, x.len(), x);
        x.reverse();
    }
}
