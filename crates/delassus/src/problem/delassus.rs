//! The Delassus operator S = G M⁻¹ Gᵀ + Σ: its diagonal blocks, and S as an explicit block-sparse matrix,
//! which is the dual form of a problem.
//!
//! Sources: [GS11 (3)], [GS13 (31)-(35)]. How this differs from the sources: (1) every diagonal block contains
//! Σ, without which the iteration diverges for Σ > S (errata GS13-2.1); (2) M⁻¹, not M, stands in (31); the
//! rotational part of (35) carries the arm squared; (3) G M⁻¹ Gᵀ is only semidefinite where rows depend on
//! each other, and nothing here assumes more.

use glam::DVec3;

use super::mass::{MassBlock, Rigid};
use super::{Form, Primal, Problem};
use crate::error::BuildError;
use crate::index::BlockId;
use crate::math::{dot, mul_add};

/// A square block-sparse matrix stored by block rows, blocks row-major, columns in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockMatrix {
    /// First row of each block; one more entry than blocks.
    starts: Vec<usize>,
    /// `entries[entry_starts[k]..entry_starts[k + 1]]` is block row k: (block column, first value).
    entry_starts: Vec<usize>,
    entries: Vec<(u32, usize)>,
    values: Vec<f64>,
}

impl BlockMatrix {
    /// S ← S + diag(x), where the diagonal block is there.
    pub(crate) fn add_diagonal(&mut self, x: &[f64]) {
        for k in 0..self.n_blocks() {
            let rows = self.rows(k);
            let entries = &self.entries[self.entry_starts[k]..self.entry_starts[k + 1]];
            if let Some((_, at)) = entries.iter().find(|(column, _)| *column as usize == k) {
                for (i, row) in rows.clone().enumerate() {
                    self.values[at + i * (rows.len() + 1)] += x[row];
                }
            }
        }
    }

    /// A matrix partitioned into blocks of the given sizes, from (row, column, value) in any order; what is
    /// given twice is added.
    pub fn from_entries(
        sizes: &[usize],
        entries: &[(usize, usize, f64)],
    ) -> Result<BlockMatrix, BuildError> {
        let mut block_of = Vec::new();
        for (k, &size) in sizes.iter().enumerate() {
            block_of.resize(block_of.len() + size, k as u32);
        }
        let size = block_of.len();
        let mut pattern = Vec::with_capacity(entries.len());
        for &(row, column, value) in entries {
            if size <= row || size <= column {
                return Err(BuildError::EntryOutOfRange { row, column, size });
            }
            if !value.is_finite() {
                let place = format!("entry ({row},{column}) of the Delassus matrix");
                return Err(BuildError::NotFinite { place, value });
            }
            pattern.push((block_of[row], block_of[column]));
        }
        let mut matrix = BlockMatrix::with_pattern(sizes, pattern);
        for &(row, column, value) in entries {
            let (k, j) = (block_of[row] as usize, block_of[column] as usize);
            let (i, l) = (row - matrix.starts[k], column - matrix.starts[j]);
            let width = sizes[j];
            if let Some(block) = matrix.block_mut(k, j) {
                block[i * width + l] += value;
            }
        }
        Ok(matrix)
    }

    /// A zero matrix with the given block pattern; diagonal blocks are always stored.
    fn with_pattern(sizes: &[usize], mut pattern: Vec<(u32, u32)>) -> BlockMatrix {
        let n = sizes.len();
        pattern.extend((0..n as u32).map(|k| (k, k)));
        pattern.sort_unstable();
        pattern.dedup();
        let mut starts = vec![0];
        for size in sizes {
            starts.push(starts[starts.len() - 1] + size);
        }
        let mut entry_starts = vec![0; n + 1];
        let mut entries = Vec::with_capacity(pattern.len());
        let mut length = 0;
        for (k, j) in pattern {
            entries.push((j, length));
            length += sizes[k as usize] * sizes[j as usize];
            entry_starts[k as usize + 1] = entries.len();
        }
        BlockMatrix {
            starts,
            entry_starts,
            entries,
            values: vec![0.0; length],
        }
    }

    /// Number of diagonal blocks.
    pub fn n_blocks(&self) -> usize {
        self.entry_starts.len().saturating_sub(1)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Number of stored values.
    pub fn n_values(&self) -> usize {
        self.values.len()
    }

    /// Rows of block `k`.
    pub fn rows(&self, k: usize) -> std::ops::Range<usize> {
        self.starts[k]..self.starts[k + 1]
    }

    /// Stored blocks of block row `k`: (block column, values row-major).
    pub fn block_row(&self, k: usize) -> impl Iterator<Item = (usize, &[f64])> {
        let rows = self.rows(k).len();
        self.entries[self.entry_starts[k]..self.entry_starts[k + 1]]
            .iter()
            .map(move |&(j, at)| {
                let j = j as usize;
                (j, &self.values[at..at + rows * self.rows(j).len()])
            })
    }

    /// The stored block (k, j).
    pub fn block(&self, k: usize, j: usize) -> Option<&[f64]> {
        self.find(k, j).map(|range| &self.values[range])
    }

    fn block_mut(&mut self, k: usize, j: usize) -> Option<&mut [f64]> {
        self.find(k, j).map(|range| &mut self.values[range])
    }

    fn find(&self, k: usize, j: usize) -> Option<std::ops::Range<usize>> {
        let row = &self.entries[self.entry_starts[k]..self.entry_starts[k + 1]];
        let at = row
            .binary_search_by_key(&(j as u32), |entry| entry.0)
            .ok()?;
        Some(row[at].1..row[at].1 + self.rows(k).len() * self.rows(j).len())
    }

    /// y += S x.
    pub fn mul_add(&self, x: &[f64], y: &mut [f64]) {
        for k in 0..self.n_blocks() {
            let rows = self.rows(k);
            for (j, values) in self.block_row(k) {
                mul_add(values, &x[self.rows(j)], &mut y[rows.clone()]);
            }
        }
    }

    /// Σ_j |S_ij x_j| of row `i` of block `k`.
    pub(crate) fn row_size(&self, (k, i): (usize, usize), x: &[f64]) -> f64 {
        let parts = self.block_row(k).map(|(j, values)| {
            let x = &x[self.rows(j)];
            let row = &values[i * x.len()..(i + 1) * x.len()];
            row.iter().zip(x).map(|(s, x)| (s * x).abs()).sum::<f64>()
        });
        parts.sum()
    }

    /// The transposed matrix.
    pub fn transposed(&self) -> BlockMatrix {
        let sizes: Vec<usize> = (0..self.n_blocks()).map(|k| self.rows(k).len()).collect();
        let mut pattern = Vec::with_capacity(self.entries.len());
        for k in 0..self.n_blocks() {
            pattern.extend(self.block_row(k).map(|(j, _)| (j as u32, k as u32)));
        }
        let mut out = BlockMatrix::with_pattern(&sizes, pattern);
        for k in 0..self.n_blocks() {
            for (j, values) in self.block_row(k) {
                if let Some(block) = out.block_mut(j, k) {
                    for (e, value) in values.iter().enumerate() {
                        block[e % sizes[j] * sizes[k] + e / sizes[j]] = *value;
                    }
                }
            }
        }
        out
    }
}

/// The diagonal blocks D_kk of S, Σ included, row-major one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiagonalBlocks {
    starts: Vec<usize>,
    values: Vec<f64>,
    /// Some diagonal entry is zero: nothing moves its row.
    has_zero: bool,
}

impl DiagonalBlocks {
    /// D ← D + diag(x).
    pub(crate) fn add_diagonal(&mut self, blocks: &[super::Block], x: &[f64]) {
        for (k, block) in blocks.iter().enumerate() {
            let (start, n) = (self.starts[k], block.n_rows);
            for i in 0..n {
                self.values[start + i * (n + 1)] += x[block.start + i];
            }
        }
    }

    /// Block k, row-major.
    pub fn block(&self, k: usize) -> &[f64] {
        &self.values[self.starts[k]..self.starts[k + 1]]
    }

    /// Block k, to be enlarged by a solver that steps more carefully than D allows.
    pub(crate) fn block_mut(&mut self, k: usize) -> &mut [f64] {
        &mut self.values[self.starts[k]..self.starts[k + 1]]
    }

    fn zeros(sizes: impl Iterator<Item = usize>) -> DiagonalBlocks {
        let mut starts = vec![0];
        for size in sizes {
            starts.push(starts[starts.len() - 1] + size * size);
        }
        let values = vec![0.0; starts[starts.len() - 1]];
        DiagonalBlocks {
            starts,
            values,
            has_zero: false,
        }
    }

    pub(super) fn of_matrix(matrix: &BlockMatrix) -> DiagonalBlocks {
        let mut blocks =
            DiagonalBlocks::zeros((0..matrix.n_blocks()).map(|k| matrix.rows(k).len()));
        for k in 0..matrix.n_blocks() {
            if let Some(block) = matrix.block(k, k) {
                blocks.values[blocks.starts[k]..blocks.starts[k + 1]].copy_from_slice(block);
            }
            let d = blocks.block(k).iter().step_by(matrix.rows(k).len() + 1);
            blocks.has_zero |= d.clone().any(|d| *d == 0.0);
        }
        blocks
    }

    /// Blocks that stand one behind the other; `starts` has one more entry than there are.
    pub(super) fn new(starts: Vec<usize>, values: Vec<f64>, has_zero: bool) -> DiagonalBlocks {
        DiagonalBlocks {
            starts,
            values,
            has_zero,
        }
    }

    /// Where each block starts, and the values.
    pub(super) fn into_parts(self) -> (Vec<usize>, Vec<f64>) {
        (self.starts, self.values)
    }

    /// Whether nothing moves some row.
    pub(super) fn has_zero(&self) -> bool {
        self.has_zero
    }
}

/// D_kk += G_kb M_b⁻¹ G_kbᵀ: only the bodies of a block enter.   [GS13 (31)-(35)]
#[inline(always)]
pub(super) fn add_entry(mass: &MassBlock, g: &[f64], d: &mut [f64]) {
    match (mass, g.as_chunks::<6>(), d.as_mut_array::<9>()) {
        (MassBlock::Rigid(body), ([n, t1, t2], []), Some(d)) => {
            add_rigid_product(body, [n, t1, t2], d);
        }
        _ => {
            let mut solved = g.to_vec();
            let rows = solved.chunks_exact_mut(mass.dim());
            let n_rows = rows.len();
            rows.for_each(|row| mass.solve(row));
            add_product(g, &solved, n_rows, d);
        }
    }
}

/// D += G M⁻¹ Gᵀ for three rows on a free body, by symmetry.
#[inline(always)]
fn add_rigid_product(body: &Rigid, g: [&[f64; 6]; 3], d: &mut [f64; 9]) {
    let inertia = body.inverse_inertia();
    let force = g.map(|g| DVec3::new(g[0], g[1], g[2]));
    let torque = g.map(|g| DVec3::new(g[3], g[4], g[5]));
    let linear = force.map(|force| force * body.inverse_mass());
    let angular = torque.map(|torque| inertia * torque);
    let entry = |i: usize, j: usize| linear[i].dot(force[j]) + angular[i].dot(torque[j]);
    let (first, second, across) = (entry(1, 0), entry(2, 0), entry(2, 1));
    let product = [
        entry(0, 0),
        first,
        second,
        first,
        entry(1, 1),
        across,
        second,
        across,
        entry(2, 2),
    ];
    // All at once: numbers written one by one and read back by pairs would wait for each other.
    for (d, product) in d.iter_mut().zip(product) {
        *d += product;
    }
}

impl Problem {
    /// The same problem in dual form: S and c explicitly. Blocks that share a body are coupled.
    pub fn to_dual(&self) -> Problem {
        let Form::Primal(primal) = &self.form else {
            return self.clone();
        };
        let on = primal.entries_on(0..self.blocks.len());
        let mut pattern = Vec::new();
        for list in &on {
            for &(k, _) in list {
                pattern.extend(list.iter().map(|&(j, _)| (k as u32, j as u32)));
            }
        }
        let sizes: Vec<usize> = self.blocks.iter().map(|block| block.n_rows).collect();
        let mut matrix = BlockMatrix::with_pattern(&sizes, pattern);
        primal.each_coupling(&on, |k, j, product| {
            let block = matrix
                .block_mut(k, j)
                .expect("blocks on one mass are coupled");
            block.iter_mut().zip(product).for_each(|(s, x)| *s += x);
        });
        for (k, block) in self.blocks.iter().enumerate() {
            if let Some(d) = matrix.block_mut(k, k) {
                for i in 0..block.n_rows {
                    d[i * block.n_rows + i] += primal.sigma[block.start + i];
                }
            }
        }
        Problem {
            diagonal: DiagonalBlocks::of_matrix(&matrix),
            form: Form::Dual(matrix),
            blocks: self.blocks.clone(),
            n_rows: self.n_rows,
            c: self.c.clone(),
        }
    }

    /// S as a dense row-major matrix; for small problems and tests.
    pub fn delassus_dense(&self) -> Vec<f64> {
        let blocks: Vec<BlockId> = (0..self.blocks.len() as u32).map(BlockId).collect();
        self.delassus_of(&blocks)
    }

    /// S over the rows of the given blocks alone, dense, row by row.
    pub(crate) fn delassus_of(&self, blocks: &[BlockId]) -> Vec<f64> {
        let mut starts = vec![0];
        for id in blocks {
            let rows = self.blocks[id.index()].n_rows;
            starts.push(starts[starts.len() - 1] + rows);
        }
        let n = starts[blocks.len()];
        let mut dense = vec![0.0; n * n];
        let mut add = |k: usize, j: usize, values: &[f64]| {
            let width = starts[j + 1] - starts[j];
            for (i, row) in values.chunks_exact(width).enumerate() {
                let at = (starts[k] + i) * n + starts[j];
                for (entry, value) in dense[at..at + width].iter_mut().zip(row) {
                    *entry += value;
                }
            }
        };
        match &self.form {
            Form::Primal(primal) => {
                let on = primal.entries_on(blocks.iter().map(|id| id.index()));
                primal.each_coupling(&on, add);
                for (k, id) in blocks.iter().enumerate() {
                    for (i, row) in self.blocks[id.index()].rows().enumerate() {
                        dense[(starts[k] + i) * (n + 1)] += primal.sigma[row];
                    }
                }
            }
            Form::Dual(matrix) => {
                let mut local = vec![usize::MAX; self.blocks.len()];
                for (k, id) in blocks.iter().enumerate() {
                    local[id.index()] = k;
                }
                for (k, id) in blocks.iter().enumerate() {
                    for (j, values) in matrix.block_row(id.index()) {
                        if local[j] != usize::MAX {
                            add(k, local[j], values);
                        }
                    }
                }
            }
        }
        dense
    }
}

impl Primal {
    /// The entries on every mass: the place of its block among the given ones, and the entry.
    fn entries_on(&self, blocks: impl Iterator<Item = usize>) -> Vec<Vec<(usize, usize)>> {
        let mut on = vec![Vec::new(); self.mass.len()];
        for (k, block) in blocks.enumerate() {
            for e in self.jacobian.entry_range(block) {
                on[self.jacobian.entry_mass(e)].push((k, e));
            }
        }
        on
    }

    /// Calls with k, j and G_kb M_b⁻¹G_jbᵀ, row-major, for every mass b and every two entries on it.   [GS11 (3)]
    fn each_coupling(
        &self,
        on: &[Vec<(usize, usize)>],
        mut with: impl FnMut(usize, usize, &[f64]),
    ) {
        let (mut solved, mut product, mut rows) = (Vec::new(), Vec::new(), Written::default());
        for (mass, list) in self.mass.iter().zip(on) {
            rows.of(self, list.iter().map(|&(_, e)| e));
            for &(j, e) in list {
                self.solve_rows(e, &mut solved);
                let width = solved.len() / mass.dim();
                for (at, &(k, _)) in list.iter().enumerate() {
                    let g = rows.entry(at);
                    product.clear();
                    product.resize(g.len() / mass.dim() * width, 0.0);
                    add_product(g, &solved, width, &mut product);
                    with(k, j, &product);
                }
            }
        }
    }
}

/// The rows of several entries written out, one entry after the other.
#[derive(Default)]
struct Written {
    starts: Vec<usize>,
    values: Vec<f64>,
}

impl Written {
    /// Writes these entries over the ones before.
    fn of(&mut self, primal: &Primal, entries: impl Iterator<Item = usize>) {
        self.starts.clear();
        self.values.clear();
        self.starts.push(0);
        for e in entries {
            primal.write_rows(e, &mut self.values);
            self.starts.push(self.values.len());
        }
    }

    /// The rows of the entry at a place of the list.
    fn entry(&self, at: usize) -> &[f64] {
        &self.values[self.starts[at]..self.starts[at + 1]]
    }
}

/// out[i][l] += (row i of g) · (row l of solved), `width` rows in `solved`.
fn add_product(g: &[f64], solved: &[f64], width: usize, out: &mut [f64]) {
    let columns = solved.len() / width;
    for (g, out) in g.chunks_exact(columns).zip(out.chunks_exact_mut(width)) {
        for (s, out) in solved.chunks_exact(columns).zip(out) {
            *out += dot(g, s);
        }
    }
}
