//! Jacobi: every block is solved for its own impulse at once, then every body gathers what its blocks gave it.
//!
#![doc = include_str!("../../../../docs/jacobi.md")]

mod accelerate;
mod effect;
mod majorant;
mod passes;

use accelerate::{Chebyshev, Nesterov};
use effect::{BodyEffect, Effect, RowEffect};

pub use passes::Work;

use super::name_of;
use super::rule::Rule;
use super::{Fit, Monitor, Solver, Status, Stop, SweepStats};
use crate::law::Law;
use crate::problem::delassus::DiagonalBlocks;
use crate::problem::{Block, Form, Problem, Solution};

/// How large the blocks D̃ are that a step divides by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Every mass is split among the blocks on it: S ≼ D̃, always safe for convex laws.
    #[default]
    Split,
    /// D times the largest number of blocks on one mass: the step of ω = 1/n_max, always safe, usually slower.
    Damped,
    /// D itself: safe on chains, may diverge where a mass carries three blocks or more.   [Chain, (37)]
    Plain,
}

/// What is done with the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accelerate {
    /// Nothing.
    #[default]
    None,
    /// Three-term recurrence, for equalities only.
    Chebyshev,
    /// Momentum with restart, for all laws.
    Nesterov,
}

/// Jacobi iteration in two passes.
#[derive(Clone, Debug, Default)]
pub struct Jacobi {
    /// When to stop.
    pub stop: Stop,
    /// What a step divides by.
    pub scheme: Scheme,
    /// What is done with the steps.
    pub accelerate: Accelerate,
    /// How contacts are solved.
    pub rule: Rule,
    /// Arrays kept between solves; start from the default.
    pub work: Work,
}

impl Solver for Jacobi {
    fn name(&self) -> &'static str {
        "jacobi"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("scheme", self.scheme.name().to_owned()),
            ("accelerate", self.accelerate.name().to_owned()),
            ("rule", self.rule.name().to_owned()),
        ]
    }

    fn fit(&self, law: &Law) -> Fit {
        match (self.accelerate, law) {
            (Accelerate::Chebyshev, Law::Equality) => Fit::Exact,
            // The recurrence combines iterates with negative weights: nothing keeps them within a law.
            (Accelerate::Chebyshev, _) => Fit::No,
            _ => self.rule.fit(law),
        }
    }

    stops_by_its_field!();

    fn advice(&self, status: Status) -> Option<String> {
        let grows = status == Status::Diverged && self.scheme == Scheme::Plain;
        grows.then(|| "the iterates grew without bound, as plain steps may where a body carries three blocks or more; the best iterate is returned: use scheme=split".to_owned())
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        let blocks = problem.blocks();
        // The lists leave the work space for the run, so that the rest of it can be written to.
        let mut lists = std::mem::take(&mut self.work.lists);
        let status = match problem.form() {
            Form::Primal(primal) => {
                let incidence = lists.of(primal, blocks);
                self.work.majorant = majorant::of_bodies(problem, primal, incidence, self.scheme);
                let effect = BodyEffect {
                    primal,
                    blocks,
                    incidence,
                };
                self.iterate(blocks, solution, &effect, monitor)
            }
            Form::Dual(matrix) => {
                self.work.majorant = majorant::of_matrix(problem, matrix, self.scheme);
                let c = problem.c();
                self.iterate(blocks, solution, &RowEffect { matrix, c }, monitor)
            }
        };
        self.work.lists = lists;
        if matches!(problem.form(), Form::Primal(_)) {
            solution.v.copy_from_slice(&self.work.state);
        }
        status
    }
}

impl Jacobi {
    /// Sweeps until the monitor says stop.
    fn iterate<E: Effect>(
        &mut self,
        blocks: &[Block],
        solution: &mut Solution,
        effect: &E,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        let work = &mut self.work;
        work.begin(blocks, effect, &solution.lambda, self.rule);
        if self.stop.sweeps == 0 {
            return Status::IterationLimit;
        }
        let mut nesterov = Nesterov::new();
        let mut chebyshev = Chebyshev::new(self.scheme == Scheme::Plain);
        loop {
            let sums = work.lambda_pass(blocks, effect, &solution.lambda);
            let (mut momentum, mut linear) = (0.0, sums.linear);
            match self.accelerate {
                Accelerate::None => {}
                Accelerate::Nesterov => momentum = nesterov.momentum(sums.uphill),
                Accelerate::Chebyshev => {
                    linear = work.combine(effect, chebyshev.step(sums.squared.sqrt()));
                }
            }
            let energy = work.velocity_pass(effect, momentum);
            work.accept(&mut solution.lambda, momentum);
            let stats = SweepStats {
                eta_squared: sums.squared,
                eta_max: sums.largest.sqrt(),
                dual_decrease: -(linear + energy),
            };
            if let Some(status) = monitor.after_sweep(stats, &solution.lambda) {
                return status;
            }
        }
    }
}

/// The blocks D̃ that a scheme divides by, for whoever takes the same steps elsewhere.
pub fn majorant(problem: &Problem, scheme: Scheme) -> DiagonalBlocks {
    match problem.form() {
        Form::Primal(primal) => {
            let incidence = primal.jacobian().incidence(primal.mass().len());
            majorant::of_bodies(problem, primal, &incidence, scheme)
        }
        Form::Dual(matrix) => majorant::of_matrix(problem, matrix, scheme),
    }
}

impl Scheme {
    /// All schemes, with the names used on the command line.
    pub const NAMES: [(&'static str, Scheme); 3] = [
        ("split", Scheme::Split),
        ("damped", Scheme::Damped),
        ("plain", Scheme::Plain),
    ];

    /// The scheme's name on the command line.
    pub fn name(self) -> &'static str {
        name_of(&Scheme::NAMES, self)
    }
}

impl Accelerate {
    /// All of them, with the names used on the command line.
    pub const NAMES: [(&'static str, Accelerate); 3] = [
        ("none", Accelerate::None),
        ("chebyshev", Accelerate::Chebyshev),
        ("nesterov", Accelerate::Nesterov),
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        name_of(&Accelerate::NAMES, self)
    }
}
