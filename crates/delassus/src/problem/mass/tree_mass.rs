//! A kinematic tree as a mass block: placed in a configuration and factored, in memory that may be used again.

use std::sync::Arc;

use glam::{DMat3, DVec3};

use super::written::Written;
use super::{MassBlock, TreeMass};
use crate::linalg::inverse_root::InverseRoot;
use crate::tree::{Data, Tree, TreeError};

impl TreeMass {
    /// A tree whose poses are yet to be found.
    pub(crate) fn unplaced(tree: Arc<Tree>) -> TreeMass {
        TreeMass {
            data: tree.data(),
            tree,
            q: Vec::new(),
            written: None,
        }
    }

    /// Whether this is that very tree, so that its memory can be used again.
    pub(crate) fn is_of(&self, tree: &Arc<Tree>) -> bool {
        Arc::ptr_eq(&self.tree, tree)
    }

    /// The tree, and what is to hold its poses.
    pub(crate) fn unplaced_mut(&mut self) -> (&Tree, &mut Data) {
        (&self.tree, &mut self.data)
    }

    /// The mass of the tree as its data has it now, whose poses are those of q.
    pub(crate) fn placed(mut self, q: &[f64]) -> Result<MassBlock, TreeError> {
        self.written = Written::over(self.written.take(), &self.tree, &mut self.data);
        // Where M is written out nobody asks for articulated inertias; whoever does finds them missing and makes them.
        if self.written.is_none() {
            self.tree.factor_placed(&mut self.data)?;
        }
        self.q.clear();
        self.q.extend_from_slice(q);
        Ok(MassBlock::Tree(self))
    }

    /// The largest tr I tr I⁻¹ of a link; nothing is said of one without inertia.
    pub(crate) fn thinness(&self) -> f64 {
        let trace = |m: DMat3| m.x_axis.x + m.y_axis.y + m.z_axis.z;
        let links = self.tree.links().iter();
        let each = links.map(|link| trace(link.body.inertia) * trace(link.body.inertia.inverse()));
        each.fold(0.0, f64::max)
    }

    /// The tree with δ tr(I) more of every link to resist turning about any axis.
    pub(crate) fn thickened(&self, share: f64) -> Option<MassBlock> {
        let mut links = self.tree.links().to_vec();
        for link in &mut links {
            let inertia = &mut link.body.inertia;
            let trace = inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z;
            *inertia += DMat3::from_diagonal(DVec3::splat(share * trace));
        }
        MassBlock::tree(Arc::new(Tree::new(links).ok()?), &self.q).ok()
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Its configuration.
    pub fn configuration(&self) -> &[f64] {
        &self.q
    }

    /// Its poses; its articulated inertias too, where M is not written out.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// T of M⁻¹ = T Tᵀ, where the tree is short.
    #[inline(always)]
    pub(crate) fn root(&self) -> Option<&InverseRoot> {
        Some(&self.written.as_ref()?.root)
    }

    /// The block as a matrix, row-major, where the tree is short.
    pub(crate) fn written(&self) -> Option<&[f64]> {
        self.written.as_ref().map(|written| &written.matrix[..])
    }

    /// The block as a matrix, row-major.
    pub fn matrix(&self) -> Vec<f64> {
        if let Some(matrix) = self.written() {
            return matrix.to_vec();
        }
        let n = self.tree.n_dofs();
        let mut matrix = vec![0.0; n * n];
        self.tree
            .fill_mass_matrix(&mut self.data.clone(), &mut matrix);
        matrix
    }
}
