//! The problem every solver solves, as one immutable value.
//!
#![doc = include_str!("../../docs/problem.md")]

mod builder;
pub mod delassus;
mod delassus_wide;
pub mod file;
pub(crate) mod floor;
mod halves;
mod islands;
pub mod jacobian;
pub mod mass;
pub mod place;
pub mod residual;
pub mod stabilise;
mod written_rows;

use std::ops::Range;

pub(crate) use builder::Contact;
pub use builder::ProblemBuilder;
use delassus::{BlockMatrix, DiagonalBlocks, add_entry};
use jacobian::Jacobian;
use mass::MassBlock;

use crate::error::BuildError;
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::linalg::wide_lu::{Four, add_impulses, add_sizes};
use crate::math::mul_add;
use crate::math::parallel;

/// Blocks so many that several threads add up what they push.
const MANY: usize = 4096;

/// One constraint problem: masses, constraint rows and the law of each block.
///
/// Built by [`Problem::builder`] from bodies and rows, or by [`Problem::dual`] from a Delassus matrix. Either
/// way it is complete: it can be saved, loaded and solved by any solver.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    form: Form,
    blocks: Vec<Block>,
    n_rows: usize,
    /// c = G v¹ − q, so that w = S λ + c.
    c: Vec<f64>,
    /// D_kk, which the judge and most solvers need.
    diagonal: DiagonalBlocks,
}

/// How S is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Masses and rows: M v = p + Gᵀλ, w = G v + Σλ − q.
    Primal(Primal),
    /// The Delassus matrix itself: w = S λ + c. It need be neither symmetric nor regular.
    Dual(BlockMatrix),
}

/// Masses, rows and right-hand sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Primal {
    mass: Vec<MassBlock>,
    /// First velocity of each mass block; one more entry than blocks.
    offsets: Vec<usize>,
    jacobian: Jacobian,
    sigma: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
    /// v¹ = M⁻¹p, the velocity without constraints.
    free_velocity: Vec<f64>,
}

/// Consecutive rows that share one law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// The law of these rows.
    pub law: Law,
    /// First row.
    pub start: usize,
    /// Number of rows.
    pub n_rows: usize,
}

impl Block {
    /// The block's rows.
    pub fn rows(&self) -> Range<usize> {
        self.start..self.start + self.n_rows
    }

    /// The rows of consecutive blocks, which stand one behind the other.
    pub(crate) fn rows_of(blocks: &[Block]) -> Range<usize> {
        match blocks {
            [] => 0..0,
            [first, ..] => first.start..blocks[blocks.len() - 1].rows().end,
        }
    }

    /// Whether it is a contact of three rows with a round cone.
    #[inline(always)]
    pub(crate) fn is_round(&self) -> bool {
        matches!(self.law, Law::FrictionCone { .. }) && self.n_rows == 3
    }
}

/// Velocity and impulse: on entry to a solve the warm start, on exit the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// Velocities of all mass blocks, one after the other; empty for a dual problem.
    pub v: Vec<f64>,
    /// Impulses of all rows.
    pub lambda: Vec<f64>,
}

impl Solution {
    /// No impulses: v is the free velocity.
    pub fn zeros(problem: &Problem) -> Solution {
        Solution::from_lambda(problem, vec![0.0; problem.n_rows()])
    }

    /// The state that belongs to given impulses: v = v¹ + M⁻¹Gᵀλ. Missing impulses count as zero.
    pub fn from_lambda(problem: &Problem, mut lambda: Vec<f64>) -> Solution {
        lambda.resize(problem.n_rows(), 0.0);
        let mut v = vec![0.0; problem.n_velocities()];
        problem.velocity(&lambda, &mut v);
        Solution { v, lambda }
    }
}

impl Problem {
    /// Starts a problem given by masses and rows.
    pub fn builder() -> ProblemBuilder {
        ProblemBuilder::default()
    }

    /// A problem given by its Delassus matrix: w = S λ + c with one law for each diagonal block of `matrix`.
    pub fn dual(matrix: BlockMatrix, c: Vec<f64>, laws: &[Law]) -> Result<Problem, BuildError> {
        BuildError::check_length(|| "laws".to_owned(), matrix.n_blocks(), laws.len())?;
        BuildError::check_length(|| "c".to_owned(), matrix.n_rows(), c.len())?;
        BuildError::check_finite(|| "c".to_owned(), &c)?;
        let mut blocks = Vec::with_capacity(laws.len());
        for (k, &law) in laws.iter().enumerate() {
            let rows = matrix.rows(k);
            law.check(BlockId(k as u32), rows.len())?;
            blocks.push(Block {
                law,
                start: rows.start,
                n_rows: rows.len(),
            });
        }
        Ok(Problem {
            n_rows: c.len(),
            diagonal: DiagonalBlocks::of_matrix(&matrix),
            form: Form::Dual(matrix),
            blocks,
            c,
        })
    }

    /// How S is given.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// The constraint blocks in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Number of rows of G.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of velocities; zero for a dual problem.
    pub fn n_velocities(&self) -> usize {
        match &self.form {
            Form::Primal(primal) => primal.p.len(),
            Form::Dual(_) => 0,
        }
    }

    /// D_kk = Σ_b G_kb M_b⁻¹ G_kbᵀ + Σ_kk for every block.
    pub fn diagonal_blocks(&self) -> &DiagonalBlocks {
        &self.diagonal
    }

    /// c = G v¹ − q: the row velocities without impulses.
    pub fn c(&self) -> &[f64] {
        &self.c
    }

    /// The size of the terms that c is the sum of, max_i(Σ_j |G_ij v¹_j| + |q_i|): rounding of a row velocity is
    /// a few ε of this, however small c itself is \[m/s\].
    pub fn velocity_scale(&self) -> f64 {
        let Form::Primal(primal) = &self.form else {
            return crate::math::max_abs(&self.c);
        };
        let (mut scale, mut sums, mut room): (f64, Vec<f64>, _) = (0.0, Vec::new(), Vec::new());
        for (k, block) in self.blocks.iter().enumerate() {
            sums.clear();
            sums.extend(primal.q[block.rows()].iter().map(|q| q.abs()));
            for e in primal.jacobian.entry_range(k) {
                let v = &primal.free_velocity[primal.columns(primal.jacobian.entry_mass(e))];
                if let Some(written) = primal.jacobian.written(e, v.len()) {
                    add_sizes(written.rows, v, &mut sums);
                    continue;
                }
                room.clear();
                primal.write_rows(e, &mut room);
                for (row, sum) in room.chunks_exact(v.len()).zip(&mut sums) {
                    *sum += row.iter().zip(v).map(|(g, v)| (g * v).abs()).sum::<f64>();
                }
            }
            scale = sums.iter().copied().fold(scale, f64::max);
        }
        scale
    }

    /// The wanted velocity of one row; zero where only S is given.
    pub(crate) fn wanted(&self, row: usize) -> f64 {
        match &self.form {
            Form::Primal(primal) => primal.q[row],
            Form::Dual(_) => 0.0,
        }
    }

    /// Other wanted velocities for the normals of contacts, where every block is one of three rows: c = G v¹ − q follows.
    pub(crate) fn want_normals(&mut self, wanted: impl Fn(usize) -> f64 + Send + Sync) {
        let Form::Primal(primal) = &mut self.form else {
            return;
        };
        let q = primal.q.as_chunks_mut::<3>().0.chunks_mut(MANY);
        let c = self.c.as_chunks_mut::<3>().0.chunks_mut(MANY);
        parallel::each(q.zip(c).enumerate(), |(part, (q, c))| {
            for (k, (q, c)) in (part * MANY..).zip(q.iter_mut().zip(c)) {
                let new = wanted(k);
                c[0] += q[0] - new;
                q[0] = new;
            }
        });
    }

    /// Another wanted velocity for one row of bodies: c = G v¹ − q follows.
    pub(crate) fn want(&mut self, row: usize, q: f64) {
        if let Form::Primal(primal) = &mut self.form {
            self.c[row] += primal.q[row] - q;
            primal.q[row] = q;
        }
    }

    /// The problem with springs between its impulses and given ones: w + R(λ − λ_c).
    pub(crate) fn softened(&self, spring: &[f64], centre: &[f64]) -> Problem {
        let mut problem = self.clone();
        for (i, (spring, centre)) in spring.iter().zip(centre).enumerate() {
            problem.c[i] -= spring * centre;
            if let Form::Primal(primal) = &mut problem.form {
                primal.sigma[i] += spring;
                primal.q[i] += spring * centre;
            }
        }
        if let Form::Dual(matrix) = &mut problem.form {
            matrix.add_diagonal(spring);
        }
        problem.diagonal.add_diagonal(&self.blocks, spring);
        problem
    }

    /// The problem with bodies that resist turning more, I + δ tr(I) 1, and move as before without impulses; `None` where
    /// there are no bodies to change.
    pub(crate) fn thickened(&self, share: f64) -> Option<Problem> {
        let mut problem = self.clone();
        let Form::Primal(primal) = &mut problem.form else {
            return None;
        };
        for (b, mass) in primal.mass.iter_mut().enumerate() {
            let thicker = match mass {
                MassBlock::Rigid(body) => Some(body.thickened(share)?),
                MassBlock::Tree(tree) => Some(tree.thickened(share)?),
                MassBlock::Dense(_) => None,
            };
            if let Some(thicker) = thicker {
                *mass = thicker;
                let columns = primal.offsets[b]..primal.offsets[b + 1];
                mass.mul(
                    &primal.free_velocity[columns.clone()],
                    &mut primal.p[columns],
                );
            }
        }
        let mut rows = Vec::new();
        for (k, block) in self.blocks.iter().enumerate() {
            let d = problem.diagonal.block_mut(k);
            d.fill(0.0);
            for (i, row) in block.rows().enumerate() {
                d[i * (block.n_rows + 1)] = primal.sigma[row];
            }
            for e in primal.jacobian.entry_range(k) {
                rows.clear();
                primal.write_rows(e, &mut rows);
                add_entry(&primal.mass[primal.jacobian.entry_mass(e)], &rows, d);
            }
        }
        Some(problem)
    }

    /// The largest number that is known to cancel in a row velocity under these impulses \[m/s\]: what is smaller than
    /// its last digit says nothing about the answer.
    pub(crate) fn cancelling(&self, lambda: &[f64]) -> f64 {
        let larger = |a: f64, b: f64| if a < b { b } else { a };
        let mut largest = 0.0_f64;
        let Form::Dual(matrix) = &self.form else {
            for (k, block) in self.blocks.iter().enumerate() {
                let lambda = &lambda[block.rows()];
                // Most contacts of a tight place carry nothing.
                if lambda.iter().all(|x| *x == 0.0) {
                    continue;
                }
                let d = self.diagonal.block(k);
                for (i, lambda) in lambda.iter().enumerate() {
                    largest = larger(largest, (d[i * (block.n_rows + 1)] * lambda).abs());
                }
            }
            return largest;
        };
        for (k, block) in self.blocks.iter().enumerate() {
            for i in 0..block.n_rows {
                largest = larger(largest, matrix.row_size((k, i), lambda));
            }
        }
        largest
    }

    /// v ← v¹ + M⁻¹Gᵀλ. Does nothing for a dual problem.
    pub fn velocity(&self, lambda: &[f64], v: &mut [f64]) {
        let Form::Primal(primal) = &self.form else {
            return;
        };
        // Start from the impulse Gᵀλ, solve each mass block, add v¹.
        if let Some(rows) = primal.on_one_tree() {
            v.fill(0.0);
            add_impulses(rows, lambda, v);
            return primal.settle(0..primal.mass.len(), v);
        }
        let count = primal.mass.len();
        let length = match self.blocks.len() < MANY {
            true => count.max(1),
            false => count.div_ceil(parallel::current_num_threads()).max(1),
        };
        // Every part of the masses takes its own from all blocks, in their order: the sums do not depend on the parts.
        let mut rest = v;
        let parts = (0..count).step_by(length).map(|start| {
            let masses = start..count.min(start + length);
            let own = primal.offsets[masses.end] - primal.offsets[masses.start];
            let own = rest.split_off_mut(..own);
            (masses, own.expect("v has room for all masses"))
        });
        parallel::each(parts, |(masses, v)| {
            v.fill(0.0);
            self.add_impulses(primal, lambda, (masses.clone(), &mut *v));
            primal.settle(masses, v);
        });
    }

    /// f ← f + Gᵀλ on consecutive masses, block by block.
    fn add_impulses(
        &self,
        primal: &Primal,
        lambda: &[f64],
        (masses, f): (Range<usize>, &mut [f64]),
    ) {
        for (k, block) in self.blocks.iter().enumerate() {
            let lambda = &lambda[block.rows()];
            // Most contacts of a tight place carry nothing.
            if lambda.iter().all(|x| *x == 0.0) {
                continue;
            }
            primal.add_block_impulse_on(k, lambda, (&masses, &mut *f));
        }
    }

    /// w ← G v + Σλ − q, or S λ + c for a dual problem (which ignores `v`).
    pub fn row_velocity(&self, v: &[f64], lambda: &[f64], w: &mut [f64]) {
        for (k, block) in self.blocks.iter().enumerate() {
            self.block_velocity(k, v, lambda, &mut w[block.rows()]);
        }
    }

    /// The rows of [`Problem::row_velocity`] that belong to block k.
    #[inline(always)]
    pub(crate) fn block_velocity(&self, k: usize, v: &[f64], lambda: &[f64], w: &mut [f64]) {
        match &self.form {
            Form::Primal(primal) => primal.row_velocity(&self.blocks[k], k, v, lambda, w),
            Form::Dual(matrix) => {
                w.copy_from_slice(&self.c[self.blocks[k].rows()]);
                for (j, values) in matrix.block_row(k) {
                    mul_add(values, &lambda[matrix.rows(j)], w);
                }
            }
        }
    }
}

impl Primal {
    /// v ← M⁻¹v + v¹ on consecutive masses.
    fn settle(&self, masses: Range<usize>, v: &mut [f64]) {
        let first = self.offsets[masses.start];
        let end = self.offsets[masses.end];
        for b in masses {
            let columns = self.columns(b);
            self.mass[b].solve(&mut v[columns.start - first..columns.end - first]);
        }
        for (v, free) in v.iter_mut().zip(&self.free_velocity[first..end]) {
            *v += free;
        }
    }

    /// Diagonal blocks of M.
    pub fn mass(&self) -> &[MassBlock] {
        &self.mass
    }

    /// The Jacobian.
    pub fn jacobian(&self) -> &Jacobian {
        &self.jacobian
    }

    /// Compliance of each row \[1/kg\].
    pub fn sigma(&self) -> &[f64] {
        &self.sigma
    }

    /// Momentum before constraints \[N s\].
    pub fn p(&self) -> &[f64] {
        &self.p
    }

    /// Wanted row velocities \[m/s\].
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// v¹ = M⁻¹p.
    pub fn free_velocity(&self) -> &[f64] {
        &self.free_velocity
    }

    /// Velocities of mass `b` inside v.
    pub fn slice<'a>(&self, v: &'a [f64], b: MassId) -> &'a [f64] {
        &v[self.columns(b.index())]
    }

    /// G in fours, where there is nothing but one short tree: its products need no look at the blocks.
    pub(crate) fn on_one_tree(&self) -> Option<&[Four]> {
        match self.mass.len() {
            1 => self.jacobian.all_written(self.q.len(), self.p.len()),
            _ => None,
        }
    }

    pub(crate) fn columns(&self, b: usize) -> std::ops::Range<usize> {
        self.offsets[b]..self.offsets[b + 1]
    }
}
