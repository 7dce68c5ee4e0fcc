//! Numbers: block L D Lᵀ of every island along its plan, eight equal islands at a time.

use super::islands::{self, IslandKind};
use super::load::{Team, load, load_rhs};
use super::plan::{Node, Plan};
use crate::index::BlockId;
use crate::linalg::ldl::{Edge, Lane, factorise, substitute};
use crate::math::parallel::prelude::*;
use crate::problem::{Form, Problem};
use crate::solver::topology::Topology;

/// Islands solved side by side.
const WIDE: usize = 8;
/// A last team of fewer islands than this is solved one by one.
const WORTH_FILLING: usize = 4;
/// Fewer numbers than this are not worth waking another thread for.
const WORTHWHILE: usize = 200_000;
/// Rounds of putting joints off before all of a kind are.
const ROUNDS: usize = 4;

/// What the factors of a problem took: where the time of a solve goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FactorSize {
    /// Numbers in the factors.
    pub numbers: usize,
    /// Blocks changed while they were made.
    pub updates: usize,
}

/// The joints of a problem: analysed when the topology changes, factored when the numbers do.
#[derive(Clone, Debug, Default)]
pub struct Joints {
    topology: Topology,
    /// Rows of the problem.
    rows: usize,
    kinds: Vec<IslandKind>,
    factors: Vec<Factor>,
}

/// The factors of all islands of one kind, and space for their unknowns.
#[derive(Clone, Debug, Default)]
struct Factor {
    wide: Teams<WIDE>,
    narrow: Teams<1>,
}

/// Teams of L islands.
#[derive(Clone, Debug, Default)]
struct Teams<const L: usize> {
    /// First island of each team, and the number of islands.
    first: Vec<usize>,
    end: usize,
    values: Vec<Lane<L>>,
    x: Vec<Lane<L>>,
    /// Whether a row of the team was found redundant.
    dropped: Vec<bool>,
}

impl Joints {
    /// Analyses the equalities of a problem, unless its topology is that of the last one.
    fn analyse(&mut self, problem: &Problem) {
        self.rows = problem.n_rows();
        match problem.form() {
            Form::Primal(primal) => {
                if self.topology.update(primal, problem.blocks()) || self.kinds.is_empty() {
                    self.kinds = islands::of_bodies(primal, problem.blocks());
                }
            }
            Form::Dual(matrix) => {
                self.topology = Topology::default();
                self.kinds = islands::of_matrix(matrix);
            }
        }
        self.factors.resize_with(self.kinds.len(), Factor::default);
        for (kind, factor) in self.kinds.iter().zip(&mut self.factors) {
            let full = kind.count / WIDE * WIDE;
            let rest = kind.count - full;
            let wide = if WORTH_FILLING <= rest {
                kind.count
            } else {
                full
            };
            factor.wide.prepare(&kind.plan, 0..wide);
            factor.narrow.prepare(&kind.plan, wide..kind.count);
        }
    }

    /// Factors the equalities of a problem and solves S λ = −c for their impulses, as if nothing else were there.
    /// Returns the blocks with redundant rows, whose impulses are zero.
    pub fn factor_and_solve(&mut self, problem: &Problem) -> Vec<BlockId> {
        self.analyse(problem);
        let (mut redundant, r) = (Vec::new(), problem.c());
        for (kind, factor) in self.kinds.iter_mut().zip(&mut self.factors) {
            for round in 0.. {
                factor.wide.run(Some(problem), kind, r);
                factor.narrow.run(Some(problem), kind, r);
                let mut found = Found::default();
                factor.wide.find_dropped(kind, &mut found);
                factor.narrow.find_dropped(kind, &mut found);
                if ROUNDS <= round && !found.early.is_empty() {
                    found.early = (0..kind.shape.joints.len()).collect();
                }
                if !kind.put_off(&found.early) {
                    redundant.extend(found.redundant);
                    break;
                }
                factor.wide.fit(&kind.plan);
                factor.narrow.fit(&kind.plan);
            }
        }
        redundant.sort_unstable();
        redundant.dedup();
        redundant.into_iter().map(BlockId).collect()
    }

    /// What the factors of the last problem took.
    pub fn size(&self) -> FactorSize {
        let mut size = FactorSize::default();
        for kind in &self.kinds {
            size.numbers += kind.count * kind.plan.pattern.n_values();
            size.updates += kind.count * kind.plan.pattern.n_updates();
        }
        size
    }

    /// Solves S λ = −r with the factors of the last problem; `r` has a number for each of its rows, or nothing is
    /// done.
    pub fn solve(&mut self, r: &[f64]) {
        if r.len() != self.rows {
            return;
        }
        for (kind, factor) in self.kinds.iter().zip(&mut self.factors) {
            factor.wide.run(None, kind, r);
            factor.narrow.run(None, kind, r);
        }
    }

    /// λ += the impulses solved for last; `lambda` has a number for each row of the problem, or nothing is done.
    pub fn add_to(&self, lambda: &mut [f64]) {
        if lambda.len() != self.rows {
            return;
        }
        for (kind, factor) in self.kinds.iter().zip(&self.factors) {
            factor.wide.add_to(kind, lambda);
            factor.narrow.add_to(kind, lambda);
        }
    }

    /// Masses of every island, in the order in which islands are numbered.
    pub(crate) fn islands(&self) -> impl Iterator<Item = &[u32]> {
        let numbers = self.kinds.iter();
        numbers.flat_map(|kind| (0..kind.count).map(move |island| kind.masses(island)))
    }
}

/// What the zeros in the factors mean.
#[derive(Default)]
struct Found {
    /// Joints of the shape that went while a mass was left beside them: they may only have gone too early.
    early: Vec<usize>,
    /// Blocks of the problem with rows that depend on others.
    redundant: Vec<u32>,
}

impl<const L: usize> Teams<L> {
    fn prepare(&mut self, plan: &Plan, islands: std::ops::Range<usize>) {
        self.end = islands.end;
        self.first.clear();
        self.first.extend(islands.step_by(L));
        self.fit(plan);
    }

    /// Makes room for a plan.
    fn fit(&mut self, plan: &Plan) {
        let teams = self.first.len();
        self.values
            .resize(teams * plan.pattern.n_values(), [0.0; L]);
        self.x.resize(teams * plan.pattern.n_unknowns(), [0.0; L]);
        self.dropped.resize(teams, false);
    }

    /// The islands of a team, the last repeated where there are too few.
    fn team(first: usize, end: usize) -> Team<L> {
        std::array::from_fn(|l| (first + l).min(end - 1))
    }

    /// Factors if a problem is given, then solves, team by team.
    fn run(&mut self, problem: Option<&Problem>, kind: &IslandKind, r: &[f64]) {
        let plan = &kind.plan;
        let values = plan.pattern.n_values().max(1);
        let n = plan.pattern.n_unknowns().max(1);
        let end = self.end;
        let parallel = WORTHWHILE <= L * self.values.len() && 1 < self.first.len();
        let teams = self
            .values
            .par_chunks_mut(values)
            .zip(self.x.par_chunks_mut(n));
        let teams = teams.zip(self.dropped.par_iter_mut().zip(self.first.par_iter()));
        let arch = pulp::Arch::new();
        // One piece means one thread.
        let least = if parallel { 1 } else { usize::MAX };
        teams.with_min_len(least).for_each_init(
            || Scratch::new(plan),
            |scratch, ((values, x), (dropped, &first))| {
                let found = arch.dispatch(Task {
                    problem,
                    kind,
                    team: Self::team(first, end),
                    r,
                    values,
                    x,
                    scratch,
                });
                *dropped = found || (problem.is_none() && *dropped);
            },
        );
    }

    fn find_dropped(&self, kind: &IslandKind, found: &mut Found) {
        let (nodes, pattern) = (&kind.plan.nodes, &kind.plan.pattern);
        for (t, _) in self.dropped.iter().enumerate().filter(|(_, d)| **d) {
            let values = &self.values[t * pattern.n_values()..(t + 1) * pattern.n_values()];
            let team = Self::team(self.first[t], self.end);
            for (i, node) in nodes.iter().enumerate() {
                let Node::Joint(joint) = *node else {
                    continue;
                };
                let n = pattern.size(i);
                let zero = |l: usize| {
                    let at = |row: usize| pattern.diagonal(i) + row * (n + 1);
                    (0..n).any(|row| values[at(row)][l] == 0.0)
                };
                let lanes = (0..L).filter(|&l| zero(l));
                let blocks: Vec<u32> = lanes.map(|l| kind.block(team[l], joint) as u32).collect();
                let beside = |edge: &Edge| matches!(nodes[edge.to], Node::Mass(_));
                if !blocks.is_empty() && pattern.edges(i).iter().any(beside) {
                    found.early.push(joint);
                }
                found.redundant.extend(blocks);
            }
        }
    }

    fn add_to(&self, kind: &IslandKind, lambda: &mut [f64]) {
        let (nodes, pattern) = (&kind.plan.nodes, &kind.plan.pattern);
        let n = pattern.n_unknowns().max(1);
        for (x, &first) in self.x.chunks_exact(n).zip(&self.first) {
            for (i, node) in nodes.iter().enumerate() {
                let Node::Joint(joint) = *node else {
                    continue;
                };
                let x = &x[pattern.unknowns(i)];
                for l in 0..L.min(self.end - first) {
                    let start = kind.row(first + l, joint);
                    for (lambda, x) in lambda[start..].iter_mut().zip(x) {
                        *lambda += x[l];
                    }
                }
            }
        }
    }
}

/// The work of one team, compiled once for every kind of processor and chosen at run time.
struct Task<'a, const L: usize> {
    /// The problem to factor, if it is not factored yet.
    problem: Option<&'a Problem>,
    kind: &'a IslandKind,
    team: Team<L>,
    r: &'a [f64],
    values: &'a mut [Lane<L>],
    x: &'a mut [Lane<L>],
    scratch: &'a mut Scratch<L>,
}

impl<const L: usize> pulp::WithSimd for Task<'_, L> {
    /// Whether a row was dropped.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> bool {
        let (kind, team, scratch) = (self.kind, &self.team, self.scratch);
        let mut dropped = false;
        if let Some(problem) = self.problem {
            load(problem, kind, team, self.values, &mut scratch.floor);
            let Scratch { floor, beside } = scratch;
            dropped = factorise(&kind.plan.pattern, self.values, floor, beside);
        }
        load_rhs(kind, team, self.r, self.x);
        substitute(&kind.plan.pattern, self.values, self.x, &mut scratch.beside);
        dropped
    }
}

/// Work space of one team.
struct Scratch<const L: usize> {
    floor: Vec<Lane<L>>,
    /// Blocks beside a node before they are multiplied by its inverse.
    beside: Vec<Lane<L>>,
}

impl<const L: usize> Scratch<L> {
    fn new(plan: &Plan) -> Self {
        Scratch {
            floor: vec![[0.0; L]; plan.pattern.n_unknowns()],
            beside: plan.pattern.work(),
        }
    }
}
