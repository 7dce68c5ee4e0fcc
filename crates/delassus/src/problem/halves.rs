//! M⁻¹ in two halves, for whoever asks for G M⁻¹x and for M⁻¹(x + Gᵀλ) of the same x.
//!
//! ```text
//! M⁻¹ = T Tᵀ ,   X = G T :        a = Tᵀx ,   G M⁻¹x = X a ,   M⁻¹(x + Gᵀλ) = T (a + Xᵀλ)
//! ```
//!
//! Short trees have T and X at hand: both answers then cost one solve by the mass, and S = X Xᵀ none. Other masses have
//! a = M⁻¹x for their half, and are solved with once more for Gᵀλ.

use super::{Form, Primal, Problem};
use crate::index::BlockId;
use crate::linalg::inverse_root::InverseRoot;
use crate::linalg::wide_lu::{Four, add_impulses, add_products, fours};
use crate::math::{mul_add, mul_transposed_add};

impl Problem {
    /// S over the rows of the given blocks, dense, row by row: from the diagonal blocks and X where all of X is at hand.
    pub(crate) fn coupled(&self, blocks: &[BlockId]) -> Vec<f64> {
        let diagonal = |id: BlockId| self.diagonal_blocks().block(id.index());
        if let [one] = blocks {
            return diagonal(*one).to_vec();
        }
        let Form::Primal(primal) = self.form() else {
            return self.delassus_of(blocks);
        };
        let known = |id: &BlockId| {
            let mut entries = primal.jacobian().entry_range(id.index());
            entries.all(|e| primal.halves(e).is_some())
        };
        if !blocks.iter().all(known) {
            return self.delassus_of(blocks);
        }
        let rows = |id: BlockId| self.blocks()[id.index()].n_rows;
        let n: usize = blocks.iter().map(|id| rows(*id)).sum();
        let mut s = vec![0.0; n * n];
        let (mut start, mut column) = (0, Vec::new());
        for (at, &k) in blocks.iter().enumerate() {
            let m = rows(k);
            for (i, row) in diagonal(k).chunks_exact(m).enumerate() {
                let to = (start + i) * n + start;
                s[to..to + m].copy_from_slice(row);
            }
            let mut first = 0;
            for &j in &blocks[..at] {
                for l in 0..rows(j) {
                    column.clear();
                    column.resize(m, 0.0);
                    primal.add_coupling(k.index(), (j.index(), l), &mut column);
                    for (i, x) in column.iter().enumerate() {
                        s[(start + i) * n + first + l] = *x;
                        s[(first + l) * n + start + i] = *x;
                    }
                }
                first += rows(j);
            }
            start += m;
        }
        s
    }
}

impl Primal {
    /// X of an entry, where it is at hand.
    fn halves(&self, e: usize) -> Option<&[Four]> {
        let dim = self.mass()[self.jacobian().entry_mass(e)].dim();
        Some(self.jacobian().written(e, dim)?.halves)
    }

    /// out ← out + X_k x_jl, for row l of block j.
    fn add_coupling(&self, k: usize, (j, l): (usize, usize), out: &mut [f64]) {
        for e in self.jacobian().entry_range(k) {
            let mass = self.jacobian().entry_mass(e);
            let dim = self.mass()[mass].dim();
            for other in self.jacobian().entry_range(j) {
                if self.jacobian().entry_mass(other) == mass
                    && let (Some(own), Some(other)) = (self.halves(e), self.halves(other))
                {
                    let row = &other[l * fours(dim)..(l + 1) * fours(dim)];
                    add_products(own, &row.as_flattened()[..dim], out);
                }
            }
        }
    }

    /// x ← a, half of M⁻¹x.
    pub(crate) fn halve(&self, x: &mut [f64]) {
        for (b, mass) in self.mass().iter().enumerate() {
            let x = &mut x[self.columns(b)];
            match mass.root() {
                Some(root) => root.halve(x),
                None => mass.solve(x),
            }
        }
    }

    /// w ← w + G_k M⁻¹x from half of M⁻¹x.
    pub(crate) fn add_half_velocity(&self, k: usize, half: &[f64], w: &mut [f64]) {
        for e in self.jacobian().entry_range(k) {
            let b = self.jacobian().entry_mass(e);
            let half = &half[self.columns(b)];
            match (self.halves(e), self.mass()[b].root()) {
                (Some(rows), _) => add_products(rows, half, w),
                (None, Some(root)) => mul_add(&self.halved(e, root), half, w),
                (None, None) => self.add_velocity(e, half, w),
            }
        }
    }

    /// X of rows that are given over all velocities of a mass with T: nobody keeps it.
    fn halved(&self, e: usize, root: &InverseRoot) -> Vec<f64> {
        let mut rows = Vec::new();
        self.write_rows(e, &mut rows);
        let dim = self.mass()[self.jacobian().entry_mass(e)].dim();
        rows.chunks_exact_mut(dim).for_each(|row| root.halve(row));
        rows
    }

    /// From half of M⁻¹x to M⁻¹(x + Gᵀλ), with the impulses of these blocks in order.
    pub(crate) fn complete<'a>(
        &self,
        half: &mut [f64],
        impulses: impl Iterator<Item = (usize, &'a [f64])>,
    ) {
        // Gᵀλ of masses without T.
        let mut push = Vec::new();
        for (k, lambda) in impulses {
            for e in self.jacobian().entry_range(k) {
                let b = self.jacobian().entry_mass(e);
                let columns = self.columns(b);
                match (self.halves(e), self.mass()[b].root()) {
                    (Some(rows), _) => add_impulses(rows, lambda, &mut half[columns]),
                    (None, Some(root)) => {
                        mul_transposed_add(&self.halved(e, root), lambda, &mut half[columns]);
                    }
                    (None, None) => {
                        push.resize(half.len(), 0.0);
                        self.add_impulse(e, lambda, &mut push[columns]);
                    }
                }
            }
        }
        for (b, mass) in self.mass().iter().enumerate() {
            let columns = self.columns(b);
            if let Some(root) = mass.root() {
                root.complete(&mut half[columns]);
            } else if !push.is_empty() {
                mass.solve(&mut push[columns.clone()]);
                for (x, more) in half[columns.clone()].iter_mut().zip(&push[columns]) {
                    *x += more;
                }
            }
        }
    }
}
