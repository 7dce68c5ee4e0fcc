//! The only judge: how good an answer is, measured the same way whoever computed it.
//!
#![doc = include_str!("../../docs/residual.md")]

use std::cell::RefCell;

use pulp::Simd;
use serde::Serialize;

use super::{Block, Form, Problem, Solution};
use crate::index::BlockId;
use crate::law::lanes::{Cones, FEWEST};
use crate::law::{Fault, Law};
use crate::linalg::wide_lu::{add_products, fours};
use crate::math::max_abs;
use crate::math::parallel::{self, CHUNK};
use crate::math::simd::LANES;

/// Quality of a [`Solution`]. Solvers never fill this in themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Residual {
    /// Largest natural-map residual over the blocks \[m/s\].
    pub law: f64,
    /// Root mean square of the same over the blocks \[m/s\].
    pub law_rms: f64,
    /// `law` divided by max(‖c‖∞, 1e-12 m/s).
    pub relative: f64,
    /// ‖v − v¹ − M⁻¹Gᵀλ‖∞: how far the given v is from the one its impulses imply \[m/s\].
    pub momentum: f64,
    /// Largest distance of an impulse to its set (over ρ) and of a row velocity below its bound \[m/s\].
    pub feasibility: f64,
    /// Largest |λᵀŵ| \[J\].
    pub complementarity: f64,
    /// The block with the largest natural-map residual.
    pub worst_block: Option<BlockId>,
}

impl Residual {
    /// Judges an answer. v is recomputed from λ; the given v only enters `momentum`. An answer of the wrong
    /// size or with numbers that are not finite has infinite residuals.
    pub fn of(problem: &Problem, solution: &Solution) -> Residual {
        Judge::new(problem).judge_solution(problem, solution)
    }

    /// The natural-map residual of each block \[m/s\]; the largest is [`Residual::law`]. Empty for impulses of the
    /// wrong number.
    pub fn by_block(problem: &Problem, lambda: &[f64]) -> Vec<f64> {
        if lambda.len() != problem.n_rows() {
            return Vec::new();
        }
        let mut judge = Judge::new(problem);
        judge.judge(problem, lambda);
        judge.faults(problem, lambda).collect()
    }

    fn infinite() -> Residual {
        Residual {
            law: f64::INFINITY,
            law_rms: f64::INFINITY,
            relative: f64::INFINITY,
            momentum: 0.0,
            feasibility: f64::INFINITY,
            complementarity: f64::INFINITY,
            worst_block: None,
        }
    }
}

thread_local! {
    /// Velocities and row velocities of the last judge of this thread: as long as the problem, and a step of a world
    /// asks for them anew. It is no state: a judge overwrites both before it reads them. Nobody who could hand it in
    /// lives longer than a solve.
    static ROOM: RefCell<[Vec<f64>; 2]> = RefCell::default();
}

/// The judge with its work arrays, for those who ask many times.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    /// Scale of every row, where nothing moves some of them and they borrow one; else empty.
    lent: Vec<f64>,
    /// ‖c‖∞.
    c_norm: f64,
    v: Vec<f64>,
    w: Vec<f64>,
}

impl Drop for Judge {
    fn drop(&mut self) {
        let room = [std::mem::take(&mut self.v), std::mem::take(&mut self.w)];
        // A thread that ends has no room any more.
        ROOM.try_with(|kept| kept.replace(room)).ok();
    }
}

impl Judge {
    pub(crate) fn new(problem: &Problem) -> Judge {
        let [mut v, mut w] = ROOM.with(RefCell::take);
        // What stands in them is overwritten.
        v.resize(problem.n_velocities(), 0.0);
        w.resize(problem.n_rows(), 0.0);
        Judge {
            lent: lend_scale(problem),
            c_norm: max_abs(problem.c()),
            v,
            w,
        }
    }

    /// ‖c‖∞ of the problem.
    pub(crate) fn c_norm(&self) -> f64 {
        self.c_norm
    }

    /// All metrics of impulses whose v was left out; it is put in, so that the momentum is exact.
    pub(crate) fn complete(&mut self, problem: &Problem, solution: &mut Solution) -> Residual {
        let residual = self.judge(problem, &solution.lambda);
        self.complete_judged(problem, residual, solution)
    }

    /// The same for impulses that were judged last, with this residual.
    pub(crate) fn complete_judged(
        &mut self,
        problem: &Problem,
        mut residual: Residual,
        solution: &mut Solution,
    ) -> Residual {
        if residual.law.is_finite() {
            std::mem::swap(&mut self.v, &mut solution.v);
            self.v.resize(problem.n_velocities(), 0.0);
            residual.momentum = 0.0;
        } else {
            solution.v.resize(problem.n_velocities(), 0.0);
            problem.velocity(&solution.lambda, &mut solution.v);
        }
        residual
    }

    /// All metrics.
    pub(crate) fn judge_solution(&mut self, problem: &Problem, solution: &Solution) -> Residual {
        let mut residual = self.judge(problem, &solution.lambda);
        residual.momentum = if solution.v.len() == self.v.len() {
            let defect = solution.v.iter().zip(&self.v);
            defect.fold(0.0, |m, (given, implied)| {
                let d = (given - implied).abs();
                if d.is_nan() { f64::INFINITY } else { d.max(m) }
            })
        } else {
            f64::INFINITY
        };
        residual
    }

    /// The largest residual over the blocks that `obeyed` marks, of the impulses judged last.
    pub(crate) fn law_over(&self, problem: &Problem, lambda: &[f64], obeyed: &[bool]) -> f64 {
        let faults = self.faults(problem, lambda).zip(obeyed);
        faults
            .filter(|(_, obeyed)| **obeyed)
            .fold(0.0, |most: f64, (fault, _)| most.max(fault))
    }

    /// The residual of each block, of the impulses judged last.
    fn faults<'a>(
        &'a self,
        problem: &'a Problem,
        lambda: &'a [f64],
    ) -> impl Iterator<Item = f64> + 'a {
        let mut scales = Scales::new(problem, &self.lent);
        let blocks = problem.blocks().iter().enumerate();
        blocks.map(move |(k, block)| {
            let rows = block.rows();
            let (lambda, w) = (&lambda[rows.clone()], &self.w[rows]);
            block.law.fault(lambda, w, scales.of(k, block)).natural
        })
    }

    /// All metrics but `momentum`, which needs the solver's own v.
    pub(crate) fn judge(&mut self, problem: &Problem, lambda: &[f64]) -> Residual {
        if lambda.len() != problem.n_rows() || !max_abs(lambda).is_finite() {
            return Residual::infinite();
        }
        problem.velocity(lambda, &mut self.v);
        let total = self.tally(problem, lambda);
        if total.broken.is_some() {
            return Residual {
                worst_block: total.broken.map(|k| BlockId(k as u32)),
                ..Residual::infinite()
            };
        }
        Residual {
            law: total.natural,
            law_rms: (total.sum / problem.blocks().len().max(1) as f64).sqrt(),
            relative: total.natural / self.c_norm.max(1e-12),
            feasibility: total.feasibility,
            complementarity: total.complementarity,
            worst_block: total.worst.map(|k| BlockId(k as u32)),
            ..Residual::infinite()
        }
    }

    /// Row velocities of the judged impulses, and how far all blocks are from their laws.
    fn tally(&mut self, problem: &Problem, lambda: &[f64]) -> Tally {
        let (v, lent) = (&self.v, &self.lent);
        let arch = pulp::Arch::new();
        if problem.blocks().len() <= CHUNK {
            let mut total = Tally::default();
            total.add(arch.dispatch(Measure {
                first: 0,
                blocks: problem.blocks(),
                v,
                lambda,
                w: &mut self.w,
                scales: Scales::new(problem, lent),
            }));
            return total;
        }
        let mut rest = &mut self.w[..];
        let mut parts = Vec::with_capacity(problem.blocks().len().div_ceil(CHUNK));
        for (part, blocks) in problem.blocks().chunks(CHUNK).enumerate() {
            let count = Block::rows_of(blocks).len();
            parts.push((
                part * CHUNK,
                blocks,
                rest.split_off_mut(..count)
                    .expect("w has as many rows as all blocks"),
            ));
        }
        let tallies = parallel::map(parts, |(first, blocks, w)| {
            let scales = Scales::new(problem, lent);
            arch.dispatch(Measure {
                first,
                blocks,
                v,
                lambda,
                w,
                scales,
            })
        });
        let mut total = Tally::default();
        tallies.into_iter().for_each(|tally| total.add(tally));
        total
    }
}

/// Row velocities of consecutive blocks, and how far these are from their laws.
struct Measure<'a> {
    first: usize,
    blocks: &'a [Block],
    v: &'a [f64],
    lambda: &'a [f64],
    w: &'a mut [f64],
    scales: Scales<'a>,
}

impl pulp::WithSimd for Measure<'_> {
    type Output = Tally;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Tally {
        let mut tally = Tally::default();
        let known = self.known();
        for (k, blocks) in (self.first..).step_by(LANES).zip(self.blocks.chunks(LANES)) {
            for (k, block) in (k..).zip(blocks).filter(|_| !known) {
                let (problem, rows) = (self.scales.problem, self.rows(block));
                problem.block_velocity(k, self.v, self.lambda, &mut self.w[rows]);
            }
            let faults = match self.cones(k, blocks) {
                Some((count, cones)) => {
                    let mut faults = cones.faults(simd);
                    self.one_by_one((k, count), blocks, &mut faults);
                    faults
                }
                None => {
                    let mut faults = [Fault::default(); LANES];
                    self.one_by_one((k, 0), blocks, &mut faults);
                    faults
                }
            };
            for (k, fault) in (k..).zip(faults).take(blocks.len()) {
                let finite = fault.natural.is_finite() && fault.feasibility.is_finite();
                tally.add(Tally {
                    natural: fault.natural,
                    feasibility: fault.feasibility,
                    complementarity: fault.complementarity,
                    sum: fault.natural * fault.natural,
                    worst: Some(k),
                    broken: (!finite).then_some(k),
                });
            }
        }
        tally
    }
}

impl Measure<'_> {
    /// Finds the velocities of all rows, where these are on one short tree.
    fn known(&mut self) -> bool {
        let Form::Primal(primal) = self.scales.problem.form() else {
            return false;
        };
        let (Some(g), Some(block)) = (primal.on_one_tree(), self.blocks.first()) else {
            return false;
        };
        let rows = block.start..block.start + self.w.len();
        let given = primal.sigma()[rows.clone()]
            .iter()
            .zip(&self.lambda[rows.clone()]);
        let given = given.zip(&primal.q()[rows.clone()]);
        for (w, ((sigma, lambda), q)) in self.w.iter_mut().zip(given) {
            *w = sigma * lambda - q;
        }
        let fours = fours(self.v.len());
        add_products(&g[fours * rows.start..fours * rows.end], self.v, self.w);
        true
    }

    /// Rows of a block within `w`.
    #[inline(always)]
    fn rows(&self, block: &Block) -> std::ops::Range<usize> {
        let start = block.start - self.blocks[0].start;
        start..start + block.n_rows
    }

    /// The contacts that stand first among up to eight blocks from block k on, in lanes, and how many they are; `None`
    /// where there are few.
    #[inline(always)]
    fn cones(&mut self, k: usize, blocks: &[Block]) -> Option<(usize, Cones)> {
        let count = blocks.iter().take_while(|block| block.is_round()).count();
        if count < FEWEST {
            return None;
        }
        let mut cones = Cones::default();
        for (l, block) in blocks[..count].iter().enumerate() {
            let Law::FrictionCone { mu } = block.law else {
                return None;
            };
            let w = self.w[self.rows(block)].as_array::<3>()?;
            let lambda = self.lambda[block.rows()].as_array::<3>()?;
            let scale = self.scales.of(k + l, block).as_array::<3>()?;
            for i in 0..3 {
                cones.w[i][l] = w[i];
                cones.lambda[i][l] = lambda[i];
                cones.diagonal[i][l] = scale[i];
            }
            cones.mu[l] = mu;
        }
        Some((count, cones))
    }

    /// Up to eight blocks of any kind, but so many of the first.
    fn one_by_one(
        &mut self,
        (k, done): (usize, usize),
        blocks: &[Block],
        faults: &mut [Fault; LANES],
    ) {
        for (l, block) in blocks.iter().enumerate().skip(done) {
            let (lambda, w) = (&self.lambda[block.rows()], &self.w[self.rows(block)]);
            faults[l] = block.law.fault(lambda, w, self.scales.of(k + l, block));
        }
    }
}

/// The scale of the rows of a block: the diagonal of S, or what was lent instead.
pub(super) struct Scales<'a> {
    problem: &'a Problem,
    lent: &'a [f64],
    few: [f64; FEW],
    many: Vec<f64>,
}

/// Rows of a block whose scales need no memory of their own.
const FEW: usize = 6;

impl<'a> Scales<'a> {
    pub(super) fn new(problem: &'a Problem, lent: &'a [f64]) -> Scales<'a> {
        Scales {
            problem,
            lent,
            few: [0.0; FEW],
            many: Vec::new(),
        }
    }

    #[inline(always)]
    pub(super) fn of(&mut self, k: usize, block: &Block) -> &[f64] {
        if !self.lent.is_empty() {
            return &self.lent[block.rows()];
        }
        let d = self.problem.diagonal_blocks().block(k);
        let n = block.n_rows;
        let room = match self.few.get_mut(..n) {
            Some(few) => few,
            None => {
                self.many.resize(n, 0.0);
                &mut self.many[..n]
            }
        };
        for (i, scale) in room.iter_mut().enumerate() {
            *scale = d[i * n + i].abs();
        }
        room
    }
}

/// The diagonal of S with every entry positive: rows that no mass feels borrow the scale of the most mobile block.
/// Empty where there are none.
pub(super) fn lend_scale(problem: &Problem) -> Vec<f64> {
    let blocks = problem.diagonal_blocks();
    if !blocks.has_zero() {
        return Vec::new();
    }
    let mut diagonal = vec![0.0; problem.n_rows()];
    for (k, block) in problem.blocks().iter().enumerate() {
        for i in 0..block.n_rows {
            diagonal[block.start + i] = blocks.block(k)[i * block.n_rows + i].abs();
        }
    }
    let trace = |block: &Block| diagonal[block.rows()].iter().sum::<f64>();
    let top = problem.blocks().iter().map(trace).fold(0.0, f64::max);
    let substitute = if 0.0 < top { top } else { 1.0 };
    let empty: Vec<bool> = problem
        .blocks()
        .iter()
        .map(|block| trace(block) == 0.0)
        .collect();
    for (block, empty) in problem.blocks().iter().zip(empty) {
        // Round and faceted cones have one scale, the trace; all other laws look at each row's own.
        let one_scale = matches!(
            block.law,
            Law::FrictionCone { .. }
                | Law::FrictionFacets { .. }
                | Law::RollingCone { .. }
                | Law::RollingSpinning { .. }
        );
        for d in &mut diagonal[block.rows()] {
            if *d == 0.0 && (empty || !one_scale) {
                *d = substitute;
            }
        }
    }
    diagonal
}

/// What some consecutive blocks have in common: their worst, and the sum of squares.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    natural: f64,
    feasibility: f64,
    complementarity: f64,
    sum: f64,
    worst: Option<usize>,
    /// The first block that cannot be measured.
    broken: Option<usize>,
}

impl Tally {
    fn add(&mut self, next: Tally) {
        if self.natural < next.natural || self.worst.is_none() {
            (self.natural, self.worst) = (next.natural, next.worst);
        }
        self.sum += next.sum;
        self.feasibility = self.feasibility.max(next.feasibility);
        self.complementarity = self.complementarity.max(next.complementarity);
        self.broken = self.broken.or(next.broken);
    }
}
