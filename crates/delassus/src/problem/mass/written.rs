//! M of a short kinematic tree, written out: products with it cost less than passes over the links.
//!
//! Its inverse is written out as a root of it, T of M⁻¹ = T Tᵀ ([`InverseRoot`]).
//!
//! Forming M loses the digits that cancel between links, which passes over them keep. So it is written out only where
//! no pivot of its factor is much smaller than the entry that it is left of.

use crate::linalg::inverse_root::InverseRoot;
use crate::tree::{Data, Tree};

/// Velocities of a tree up to which M is written out.
pub(crate) const SHORT: usize = 40;
/// Least share of a diagonal entry that must be left of it as a pivot: so many digits may cancel.
const LEFT: f64 = 1e-4;

/// M, row-major, and the root of its inverse.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Written {
    pub(super) matrix: Vec<f64>,
    pub(super) root: InverseRoot,
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
        let Written { matrix, root } = &mut *written;
        matrix.resize(n * n, 0.0);
        tree.fill_mass_matrix(data, matrix);
        root.make(matrix, n, LEFT).then_some(written)
    }
}
