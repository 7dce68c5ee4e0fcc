//! M of a short kinematic tree, written out: products with it cost less than passes over the links.
//!
//! Forming M loses the digits that cancel between links, which passes over them keep. So it is written out only where
//! no pivot of its factor is much smaller than the entry that it is left of.

use crate::linalg::cholesky::cholesky;
use crate::tree::{Data, Tree};

/// Velocities of a tree up to which M is written out.
pub(crate) const SHORT: usize = 40;
/// Least share of a diagonal entry that must be left of it as a pivot: so many digits may cancel.
const LEFT: f64 = 1e-4;

/// M and its Cholesky factor, row-major.
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
        let mut lower = matrix.clone();
        cholesky(&mut lower, n).ok()?;
        let diagonal = (0..n).map(|i| i * (n + 1));
        // l_ii² is what is left of m_ii.
        let keeps = |i: usize| LEFT * matrix[i] <= lower[i] * lower[i];
        let kept = diagonal.into_iter().all(keeps);
        kept.then(|| Box::new(Written { matrix, lower }))
    }
}
