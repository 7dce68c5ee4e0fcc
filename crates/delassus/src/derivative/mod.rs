//! How the answer of a solved problem changes with its data: one linear system for all directions, forward or backward.
//!
#![doc = include_str!("../../docs/derivative.md")]

mod mode;

use std::borrow::Cow;

pub use mode::Mode;

use crate::index::BlockId;
use crate::law::MOST_NUMBERS;
use crate::linalg::lu::ProfileLu;
use crate::math::{dot, mul_transposed_add};
use crate::problem::{Block, Form, Primal, Problem, Solution};
use mode::{AtBlock, Differentiated, Linear};

/// A pivot below this share of the largest entry means rows that depend on others.
const REDUNDANT: f64 = 1e-10;
/// Share of a row's own diagonal that is added to S where rows depend on others.
const SOFT: f64 = 1e-9;
/// A pivot below this share of the largest entry leaves nothing to divide by.
const NOTHING: f64 = 1e-14;

/// Why a derivative was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DerivativeError {
    /// The answer has another size than the problem.
    #[error("{what} has {found} numbers, the problem needs {expected}")]
    Length {
        /// Which array.
        what: &'static str,
        /// Numbers it needs.
        expected: usize,
        /// Numbers it has.
        found: usize,
    },
    /// A law that is not differentiated yet.
    #[error("block {block} obeys {law}, which has no derivative here; its smoothed one has")]
    Law {
        /// The first such block.
        block: BlockId,
        /// Its law.
        law: &'static str,
    },
    /// A number that is not finite.
    #[error("{what} holds a number that is not finite")]
    NotFinite {
        /// Which array.
        what: &'static str,
    },
    /// A smoothing that is none.
    #[error(
        "the smoothing is {tau}; give a positive share of the problem's velocities, such as 1e-3"
    )]
    Smoothing {
        /// The one given.
        tau: f64,
    },
    /// The system has no answer: the modes contradict each other.
    #[error(
        "the differentiated laws are singular: the modes of this answer do not determine how it changes"
    )]
    Singular,
}

/// A change of the data. An array that is empty changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Of the momentum p, one number a velocity \[N s\].
    pub p: Vec<f64>,
    /// Of the wanted velocities q, one number a row \[m/s\]; for a problem given by S that of −c.
    pub q: Vec<f64>,
    /// Of the compliance Σ, one number a row \[1/kg\].
    pub sigma: Vec<f64>,
    /// Of the coefficient of sliding friction, one number a block, both for an ellipse; those without friction ignore it.
    pub mu: Vec<f64>,
    /// Of the numbers of each block's law in the order of [`Law::numbers`](crate::Law::numbers); on top of `mu`.
    pub law: Vec<[f64; MOST_NUMBERS]>,
    /// Of G, row by row, each over all velocities.
    pub g: Vec<f64>,
    /// Of M, row by row over all velocities.
    pub m: Vec<f64>,
}

/// How the answer changes: dv and dλ.
pub type Changed = Solution;

/// How a number L that depends on the answer changes with the data: ∂L/∂ of each array of [`Change`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sensitivity {
    /// ∂L/∂p.
    pub p: Vec<f64>,
    /// ∂L/∂q.
    pub q: Vec<f64>,
    /// ∂L/∂Σ.
    pub sigma: Vec<f64>,
    /// ∂L/∂μ of each block; zero for those without friction.
    pub mu: Vec<f64>,
    /// ∂L/∂ of the numbers of each block's law.
    pub law: Vec<[f64; MOST_NUMBERS]>,
    /// s of ∂L/∂G = s vᵀ + λ pᵀ with p = ∂L/∂p; ∂L/∂M = −½(p vᵀ + v pᵀ).
    pub rows: Vec<f64>,
}

impl Sensitivity {
    /// ∂L/∂G_ij = s_i v_j + λ_i p_j.
    pub fn g(&self, answer: &Solution, row: usize, column: usize) -> f64 {
        self.rows[row] * answer.v[column] + answer.lambda[row] * self.p[column]
    }

    /// ∂L/∂M_ij = −½(p_i v_j + v_i p_j), for changes that keep M symmetric.
    pub fn m(&self, answer: &Solution, i: usize, j: usize) -> f64 {
        -0.5 * (self.p[i] * answer.v[j] + answer.v[i] * self.p[j])
    }
}

/// The differentiated laws at an answer.
#[derive(Clone, Debug)]
pub struct Derivative<'p> {
    problem: Cow<'p, Problem>,
    answer: Solution,
    blocks: Vec<Differentiated>,
    islands: Vec<Island>,
}

/// Blocks whose changes depend on each other, and the factors of their system.
#[derive(Clone, Debug)]
struct Island {
    /// In the order of the rows.
    blocks: Vec<BlockId>,
    /// Its rows in the problem.
    rows: Vec<usize>,
    /// T of each row, with T² = 1/d.
    scale: Vec<f64>,
    /// T A T with A = P S + Q: its entries have no unit.
    lu: ProfileLu,
    unique: bool,
}

impl<'p> Derivative<'p> {
    /// Finds the modes of an answer and factors the system of its changes.
    pub fn new(problem: &'p Problem, answer: &Solution) -> Result<Derivative<'p>, DerivativeError> {
        Derivative::of(problem, answer, None)
    }

    /// The same with every law smoothed by τ, a share of the problem's velocities: what is on an edge, or within about τ
    /// of one, then changes a little of both ways. For any law, facets included.
    pub fn smoothed(
        problem: &'p Problem,
        answer: &Solution,
        tau: f64,
    ) -> Result<Derivative<'p>, DerivativeError> {
        match tau.is_finite() && 0.0 < tau {
            true => Derivative::of(problem, answer, Some(tau)),
            false => Err(DerivativeError::Smoothing { tau }),
        }
    }

    /// The same with a problem of its own, which costs a copy of it.
    pub fn into_owned(self) -> Derivative<'static> {
        Derivative {
            problem: Cow::Owned(self.problem.into_owned()),
            answer: self.answer,
            blocks: self.blocks,
            islands: self.islands,
        }
    }

    fn of(
        problem: &'p Problem,
        answer: &Solution,
        tau: Option<f64>,
    ) -> Result<Derivative<'p>, DerivativeError> {
        check("v", &answer.v, problem.n_velocities())?;
        check("lambda", &answer.lambda, problem.n_rows())?;
        // w = c + S λ, and c is known.
        let mut w = Cow::Borrowed(problem.c());
        if answer.lambda.iter().any(|x| *x != 0.0) {
            problem.row_velocity(&answer.v, &answer.lambda, w.to_mut());
        }
        let scale = problem.velocity_scale().max(f64::MIN_POSITIVE);
        let mut blocks = Vec::with_capacity(problem.blocks().len());
        for (k, block) in problem.blocks().iter().enumerate() {
            let at = AtBlock {
                lambda: &answer.lambda[block.rows()],
                w: &w[block.rows()],
                diagonal: problem.diagonal_blocks().block(k),
                scale,
            };
            let found = match tau {
                None => Differentiated::new(&block.law, at),
                Some(tau) => Some(Differentiated::smoothed(&block.law, at, tau)),
            };
            let Some(found) = found else {
                let (block, law) = (BlockId(k as u32), block.law.name());
                return Err(DerivativeError::Law { block, law });
            };
            blocks.push(found);
        }
        let mut found = Derivative {
            problem: Cow::Borrowed(problem),
            answer: answer.clone(),
            blocks,
            islands: Vec::new(),
        };
        let takes_part = |block: &Differentiated| block.linear.is_some();
        if !found.blocks.iter().any(takes_part) {
            return Ok(found);
        }
        let islands = match problem.is_one_island() {
            true => vec![(0..found.blocks.len() as u32).map(BlockId).collect()],
            false => problem.islands(),
        };
        for mut island in islands {
            // dλ = 0 of what is open: it is in no equation.
            island.retain(|id| takes_part(&found.blocks[id.index()]));
            if !island.is_empty() {
                let island = Island::new(&found, island)?;
                found.islands.push(island);
            }
        }
        Ok(found)
    }

    /// The blocks in equations, with their differentiated laws.
    fn equations(&self) -> impl Iterator<Item = (usize, &Linear, &Block)> {
        let blocks = self.islands.iter().flat_map(|island| &island.blocks);
        blocks.filter_map(|id| {
            let k = id.index();
            Some((
                k,
                self.blocks[k].linear.as_ref()?,
                &self.problem.blocks()[k],
            ))
        })
    }

    /// Numbers of velocities and of rows.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.answer.v.len(), self.answer.lambda.len())
    }

    /// The mode of every block.
    pub fn modes(&self) -> impl Iterator<Item = Mode> {
        self.blocks.iter().map(|block| block.mode)
    }

    /// Blocks on the edge between two modes: the answer has a kink there, and the derivative is that of one side.
    pub fn degenerate(&self) -> impl Iterator<Item = BlockId> {
        let blocks = self.blocks.iter().enumerate();
        blocks
            .filter(|(_, block)| block.degenerate)
            .map(|(k, _)| BlockId(k as u32))
    }

    /// Whether impulses change in one way only. Where rows depend on others they do not; velocities still do unless
    /// such rows slip.
    pub fn is_unique(&self) -> bool {
        self.islands.iter().all(|island| island.unique)
    }

    /// dv and dλ for a change of the data.
    pub fn forward(&self, change: &Change) -> Result<Changed, DerivativeError> {
        let (n, nv) = (self.problem.n_rows(), self.problem.n_velocities());
        let sizes = [
            ("p", &change.p, nv),
            ("q", &change.q, n),
            ("sigma", &change.sigma, n),
            ("mu", &change.mu, self.blocks.len()),
            ("g", &change.g, n * nv),
            ("m", &change.m, nv * nv),
        ];
        for (what, array, size) in sizes {
            if !array.is_empty() {
                check(what, array, size)?;
            }
        }
        if !change.law.is_empty() {
            let numbers = change.law.as_flattened();
            check("law", numbers, MOST_NUMBERS * self.blocks.len())?;
        }
        let Solution { v, lambda } = &self.answer;
        // f = dp − dM v + dGᵀλ: what velocities feel directly.
        let mut f = filled(&change.p, nv);
        for (f, row) in f.iter_mut().zip(change.m.chunks_exact(nv.max(1))) {
            *f -= dot(row, v);
        }
        for (row, lambda) in change.g.chunks_exact(nv.max(1)).zip(lambda) {
            for (f, g) in f.iter_mut().zip(row) {
                *f += g * lambda;
            }
        }
        self.halve(&mut f);
        // r = G M⁻¹f + dG v − dq + dΣ λ: what rows feel directly.
        let mut r = self.rows_of(&f);
        for (r, row) in r.iter_mut().zip(change.g.chunks_exact(nv.max(1))) {
            *r += dot(row, v);
        }
        for (r, q) in r.iter_mut().zip(&change.q) {
            *r -= q;
        }
        for ((r, sigma), lambda) in r.iter_mut().zip(&change.sigma).zip(lambda) {
            *r += sigma * lambda;
        }
        // (P S + Q) dλ = E dn − P r
        let mut x = zeros(n);
        for (k, linear, block) in self.equations() {
            let mut numbers = change.law.get(k).copied().unwrap_or_default();
            if let Some(mu) = change.mu.get(k) {
                let sliding = &mut numbers[block.law.sliding_numbers()];
                sliding.iter_mut().for_each(|x| *x += mu);
            }
            let (m, r) = (block.n_rows, &r[block.rows()]);
            let rows = linear
                .p
                .chunks_exact(m)
                .zip(linear.e.chunks_exact(MOST_NUMBERS));
            for (x, (p, e)) in x[block.rows()].iter_mut().zip(rows) {
                *x = dot(e, &numbers) - dot(p, r);
            }
        }
        self.each_island(&mut x, |lu, x| lu.solve(x));
        // dv = M⁻¹(f + Gᵀdλ)
        self.complete(&mut f, &x);
        Ok(Solution { v: f, lambda: x })
    }

    /// ∂L/∂data from ∂L/∂v and ∂L/∂λ; an empty one is zero. One solve, however many numbers the data are.
    pub fn backward(&self, v: &[f64], lambda: &[f64]) -> Result<Sensitivity, DerivativeError> {
        let (n, nv) = (self.problem.n_rows(), self.problem.n_velocities());
        for (what, array, size) in [("v", v, nv), ("lambda", lambda, n)] {
            if !array.is_empty() {
                check(what, array, size)?;
            }
        }
        // z = G M⁻¹ ∂L/∂v + ∂L/∂λ, and (P S + Q)ᵀ x = z.
        let mut p = filled(v, nv);
        self.halve(&mut p);
        let mut x = self.rows_of(&p);
        if !lambda.is_empty() {
            for (_, _, block) in self.equations() {
                let by = x[block.rows()].iter_mut().zip(&lambda[block.rows()]);
                by.for_each(|(x, lambda)| *x += lambda);
            }
        }
        self.each_island(&mut x, |lu, x| lu.solve_transposed(x));
        // q = Pᵀx = −s goes with −r, and Eᵀx with the numbers of a law.
        let (mut rows, mut q) = (zeros(n), zeros(n));
        let mut mu = zeros(self.blocks.len());
        let mut law = Vec::with_capacity(self.blocks.len());
        law.resize(self.blocks.len(), [0.0; MOST_NUMBERS]);
        for (k, linear, block) in self.equations() {
            let (x, numbers) = (&x[block.rows()], &mut law[k]);
            for (x, e) in x.iter().zip(linear.e.as_chunks::<MOST_NUMBERS>().0) {
                for (sum, e) in numbers.iter_mut().zip(e) {
                    *sum += e * x;
                }
            }
            mu[k] = numbers[block.law.sliding_numbers()].iter().sum();
            mul_transposed_add(&linear.p, x, &mut q[block.rows()]);
            for (s, q) in rows[block.rows()].iter_mut().zip(&q[block.rows()]) {
                *s = -q;
            }
        }
        // ∂L/∂p = M⁻¹(∂L/∂v + Gᵀs)
        self.complete(&mut p, &rows);
        let mut sigma = x;
        for (sigma, (s, lambda)) in sigma.iter_mut().zip(rows.iter().zip(&self.answer.lambda)) {
            *sigma = s * lambda;
        }
        Ok(Sensitivity {
            p,
            q,
            sigma,
            mu,
            law,
            rows,
        })
    }

    /// x ← A⁻¹x or A⁻ᵀx, island by island, of an x that is zero in blocks of no island.
    fn each_island(&self, x: &mut [f64], solve: impl Fn(&ProfileLu, &mut [f64])) {
        let mut part = Vec::new();
        for island in &self.islands {
            let rows = island.rows.iter().zip(&island.scale);
            part.clear();
            part.extend(rows.clone().map(|(i, t)| t * x[*i]));
            solve(&island.lu, &mut part);
            for ((i, t), found) in rows.zip(&part) {
                x[*i] = t * found;
            }
        }
    }

    fn primal(&self) -> Option<&Primal> {
        match self.problem.form() {
            Form::Primal(primal) => Some(primal),
            Form::Dual(_) => None,
        }
    }

    /// Half of x ← M⁻¹x.
    fn halve(&self, x: &mut [f64]) {
        if let Some(primal) = self.primal() {
            primal.halve(x);
        }
    }

    /// G M⁻¹x from half of M⁻¹x, in the rows of blocks in equations.
    fn rows_of(&self, half: &[f64]) -> Vec<f64> {
        let mut y = zeros(self.problem.n_rows());
        if let Some(primal) = self.primal() {
            for (k, _, block) in self.equations() {
                primal.add_half_velocity(k, half, &mut y[block.rows()]);
            }
        }
        y
    }

    /// M⁻¹(x + Gᵀλ) from half of M⁻¹x, with impulses of blocks in equations.
    fn complete(&self, half: &mut [f64], lambda: &[f64]) {
        if let Some(primal) = self.primal() {
            let impulses = self.equations().map(|(k, _, b)| (k, &lambda[b.rows()]));
            primal.complete(half, impulses);
        }
    }
}

impl Island {
    /// Of blocks with a differentiated law.
    fn new(of: &Derivative<'_>, blocks: Vec<BlockId>) -> Result<Island, DerivativeError> {
        let mut s = of.problem.coupled(&blocks);
        let (mut rows, mut scale) = (Vec::new(), Vec::new());
        for id in &blocks {
            rows.extend(of.problem.blocks()[id.index()].rows());
            let d = of.blocks[id.index()]
                .linear
                .iter()
                .flat_map(|linear| linear.d.iter());
            scale.extend(d.map(|d| 1.0 / d.sqrt()));
        }
        let mut island = Island {
            blocks,
            rows,
            scale,
            lu: ProfileLu::default(),
            unique: true,
        };
        if !island.factor(&of.blocks, &s, REDUNDANT) {
            // Redundant rows share impulses in many ways. A little compliance picks one; velocities feel none of it.
            island.unique = false;
            let n = island.rows.len();
            for i in 0..n {
                s[i * n + i] += SOFT * s[i * n + i].abs().max(f64::MIN_POSITIVE);
            }
            if !island.factor(&of.blocks, &s, NOTHING) {
                return Err(DerivativeError::Singular);
            }
        }
        Ok(island)
    }

    /// Factors T (P S + Q) T; false where a pivot is below this share of the largest entry.
    fn factor(&mut self, blocks: &[Differentiated], s: &[f64], least: f64) -> bool {
        let n = self.rows.len();
        self.lu.reset(n);
        let (mut start, mut largest, mut row) = (0, 0.0_f64, vec![0.0; n]);
        let linears = self
            .blocks
            .iter()
            .filter_map(|id| blocks[id.index()].linear.as_ref());
        for linear in linears {
            let m = linear.d.len();
            for i in 0..m {
                row.fill(0.0);
                let (p, q) = (&linear.p[i * m..][..m], &linear.q[i * m..][..m]);
                row[start..start + m].copy_from_slice(q);
                for (p, s) in p.iter().zip(s[start * n..].chunks_exact(n)) {
                    if *p != 0.0 {
                        row.iter_mut().zip(s).for_each(|(a, s)| *a += p * s);
                    }
                }
                let own = self.scale[start + i];
                for (a, scale) in row.iter_mut().zip(&self.scale) {
                    *a *= own * scale;
                    largest = largest.max(a.abs());
                }
                let first = row.iter().position(|a| *a != 0.0).unwrap_or(n - 1);
                let end = row
                    .iter()
                    .rposition(|a| *a != 0.0)
                    .map_or(n, |last| last + 1);
                let to = self.lu.open(start + i, first..end);
                to.copy_from_slice(&row[first..end]);
            }
            start += m;
        }
        least * largest < self.lu.factor()
    }
}

/// The array, or as many zeros where it is empty.
fn filled(array: &[f64], n: usize) -> Vec<f64> {
    let mut all = Vec::with_capacity(n);
    all.extend_from_slice(array);
    all.resize(n, 0.0);
    all
}

/// So many zeros. Memory that is asked for as zero comes from the heap at large, which takes longer than to fill a few.
fn zeros(n: usize) -> Vec<f64> {
    filled(&[], n)
}

pub(crate) fn check(
    what: &'static str,
    array: &[f64],
    expected: usize,
) -> Result<(), DerivativeError> {
    if array.len() != expected {
        return Err(DerivativeError::Length {
            what,
            expected,
            found: array.len(),
        });
    }
    match array.iter().all(|x| x.is_finite()) {
        true => Ok(()),
        false => Err(DerivativeError::NotFinite { what }),
    }
}
