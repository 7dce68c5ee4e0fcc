//! Problems given by their matrix: (C + B S) dλ = b along the graph of blocks.
//!
//! Two blocks are neighbours where S has a block for them. The factor exchanges rows inside a block only, which is
//! enough for most; a refined solution says where it is not, and then the matrix is factored as a dense one with rows
//! exchanged throughout, until the next problem comes. A small matrix is dense from the start. S need not be symmetric.

use super::kernel::Relation;
use super::system::System;
use crate::linalg::block_lu::{BlockLu, Node, Slot};
use crate::linalg::lu::ProfileLu;
use crate::math::max_abs;
use crate::problem::delassus::BlockMatrix;

/// Rows up to which a dense factor is made at once.
const FEW: usize = 48;
/// Share of the right-hand side that a refined solution may miss; more says that pivots lost digits.
const LOST: f64 = 1e-10;

/// The factored matrix with its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct MatrixLu {
    sparse: BlockLu,
    dense: ProfileLu,
    is_dense: bool,
    /// Where the blocks of S are, row by row, and those of the diagonal.
    slots: Vec<Slot>,
    diagonals: Vec<Slot>,
    /// C and B of every block.
    relation: Relation,
    /// What the pattern was made of.
    pattern: Vec<u32>,
    pattern_now: Vec<u32>,
    /// S x and what is missing.
    product: Vec<f64>,
    missing: Vec<f64>,
}

impl MatrixLu {
    /// Takes the pattern of a matrix where that is new.
    pub(super) fn prepare(&mut self, matrix: &BlockMatrix) {
        self.is_dense = matrix.n_rows() <= FEW;
        if self.is_dense {
            return;
        }
        self.product.resize(matrix.n_rows(), 0.0);
        self.missing.resize(matrix.n_rows(), 0.0);
        let count = matrix.n_blocks();
        let pattern = &mut self.pattern_now;
        pattern.clear();
        pattern.extend((0..count).map(|k| matrix.rows(k).len() as u32));
        for k in 0..count {
            pattern.push(u32::MAX);
            pattern.extend(matrix.block_row(k).map(|(j, _)| j as u32));
        }
        if self.pattern == self.pattern_now {
            return;
        }
        std::mem::swap(&mut self.pattern, &mut self.pattern_now);
        let nodes: Vec<Node> = (0..count)
            .map(|k| Node::free(matrix.rows(k).len()))
            .collect();
        let row = |k: usize| matrix.block_row(k).map(move |(j, _)| (k, j));
        let pairs: Vec<(usize, usize)> = (0..count).flat_map(row).collect();
        let coupled = pairs.iter().map(|&(k, j)| (k as u32, j as u32));
        self.sparse.analyse(&nodes, coupled);
        let lu = &self.sparse;
        self.slots.clear();
        self.slots.extend(pairs.iter().map(|&(k, j)| lu.slot(k, j)));
        self.diagonals.clear();
        self.diagonals.extend((0..count).map(|k| lu.slot(k, k)));
    }

    /// Factors C + B S; false where it is singular or holds what is no number.
    pub(super) fn factor(
        &mut self,
        system: &System<'_>,
        matrix: &BlockMatrix,
        relation: &Relation,
    ) -> bool {
        self.relation.c.clone_from(&relation.c);
        self.relation.b.clone_from(&relation.b);
        if self.is_dense {
            return self.factor_dense(system, matrix);
        }
        self.sparse.clear();
        let mut slots = self.slots.iter();
        for (k, block) in system.blocks().iter().enumerate() {
            let (n, square) = (block.n_rows, system.square(k));
            let (c, b) = (&relation.c[square.clone()], &relation.b[square]);
            for (j, s) in matrix.block_row(k) {
                let width = matrix.rows(j).len();
                let Some(slot) = slots.next() else { break };
                let (upper, lower) = self.sparse.values_mut(slot);
                for i in 0..n {
                    for (l, s) in s.chunks_exact(width).enumerate() {
                        let factor = b[i * n + l];
                        for (column, s) in s.iter().enumerate() {
                            match slot.swapped {
                                false => upper[i * slot.stride + column] += factor * s,
                                true => lower[column * slot.stride + i] += factor * s,
                            }
                        }
                    }
                }
            }
            let slot = &self.diagonals[k];
            let out = self.sparse.values_mut(slot).0;
            for (i, c) in c.chunks_exact(n).enumerate() {
                let out = &mut out[i * slot.stride..i * slot.stride + n];
                out.iter_mut().zip(c).for_each(|(out, c)| *out += c);
            }
        }
        self.sparse.factor() || self.factor_dense(system, matrix)
    }

    /// The same with rows exchanged throughout.
    fn factor_dense(&mut self, system: &System<'_>, matrix: &BlockMatrix) -> bool {
        self.is_dense = true;
        self.dense.reset(system.n_rows());
        for (k, block) in system.blocks().iter().enumerate() {
            let (m, square) = (block.n_rows, system.square(k));
            let c = &self.relation.c[square.clone()];
            let b = &self.relation.b[square];
            for i in 0..m {
                let row = block.start + i;
                for l in 0..m {
                    self.dense.add(row, block.start + l, c[i * m + l]);
                    let factor = b[i * m + l];
                    if factor == 0.0 {
                        continue;
                    }
                    for (j, s) in matrix.block_row(k) {
                        let columns = matrix.rows(j);
                        let width = columns.len();
                        for (column, s) in columns.zip(&s[l * width..(l + 1) * width]) {
                            self.dense.add(row, column, factor * s);
                        }
                    }
                }
            }
        }
        0.0 < self.dense.factor()
    }

    /// x ← (C + B S)⁻¹b with one refinement; where that does not do, rows are exchanged from here on.
    pub(super) fn solve(
        &mut self,
        system: &System<'_>,
        matrix: &BlockMatrix,
        b: &[f64],
        x: &mut [f64],
    ) {
        x.copy_from_slice(b);
        if !self.is_dense {
            self.sparse.solve(x);
            self.miss(system, matrix, (b, x));
            self.sparse.solve(&mut self.missing);
            x.iter_mut().zip(&self.missing).for_each(|(x, r)| *x += r);
            self.miss(system, matrix, (b, x));
            let is_good = max_abs(&self.missing) <= LOST * max_abs(b);
            if is_good || !self.factor_dense(system, matrix) {
                return;
            }
            x.copy_from_slice(b);
        }
        self.dense.solve(x);
    }

    /// r = b − C x − B S x.
    fn miss(&mut self, system: &System<'_>, matrix: &BlockMatrix, (b, x): (&[f64], &[f64])) {
        let w = &mut self.product;
        w.fill(0.0);
        matrix.mul_add(x, w);
        let sum = |g: &[f64], x: &[f64]| -> f64 { g.iter().zip(x).map(|(g, x)| g * x).sum() };
        for (k, block) in system.blocks().iter().enumerate() {
            let (n, square) = (block.n_rows, system.square(k));
            let (x, w) = (&x[block.rows()], &w[block.rows()]);
            for (i, row) in block.rows().enumerate() {
                let line = square.start + i * n..square.start + (i + 1) * n;
                let (c, s) = (&self.relation.c[line.clone()], &self.relation.b[line]);
                self.missing[row] = b[row] - sum(c, x) - sum(s, w);
            }
        }
    }
}
