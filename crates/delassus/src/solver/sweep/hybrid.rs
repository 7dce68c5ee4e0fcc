//! Joints exactly, contacts and limits by sweeps: what a contact moves, it moves through the joints.
//!
#![doc = include_str!("../../../docs/hybrid.md")]

mod lumps;

use lumps::Lumps;

use super::exact::direct::{Joints, redundancy_message};
use super::rule::{Locals, Rule};
use super::topology::is_equality;
use super::{Fit, Monitor, Solver, Status, Stop, SweepStats};
use crate::index::BlockId;
use crate::law::Law;
use crate::problem::{Form, Primal, Problem, Solution};

/// Sweeps between two exact recomputations of what is carried along: rounding must not pile up.
const REFRESH: usize = 256;

/// Joints by the direct solver, everything else by Gauss-Seidel on what is left.
#[derive(Clone, Debug, Default)]
pub struct Hybrid {
    /// When to stop.
    pub stop: Stop,
    /// How contacts are solved.
    pub rule: Rule,
    /// What is kept between solves; start from the default.
    pub work: Work,
}

/// What is kept between solves: the analysis and factors of the joints, the response of the contacts, arrays.
#[derive(Clone, Debug, Default)]
pub struct Work {
    joints: Joints,
    redundant: Vec<BlockId>,
    lumps: Lumps,
    locals: Locals,
    /// Row velocities without any impulse but those of the joints.
    free: Vec<f64>,
    w: Vec<f64>,
    z: Vec<f64>,
    step: Vec<f64>,
}

impl Solver for Hybrid {
    fn name(&self) -> &'static str {
        "hybrid"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![("rule", self.rule.name().to_owned())]
    }

    fn fit(&self, law: &Law) -> Fit {
        self.rule.fit(law)
    }

    stops_by_its_field!();

    fn advice(&self, status: Status) -> Option<String> {
        if self.work.lumps.too_large() {
            return Some("so many contacts touch bodies that joints hold together that their matrix would not fit; use gauss-seidel".to_owned());
        }
        redundancy_message(&self.work.redundant, status)
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        let Form::Primal(primal) = problem.form() else {
            return Status::Unsupported;
        };
        self.work.prepare(problem, primal, solution, self.rule);
        if self.work.lumps.too_large() {
            return Status::Unsupported;
        }
        if self.stop.sweeps == 0 {
            return Status::IterationLimit;
        }
        loop {
            let stats = self.work.sweep(problem, primal, &mut solution.lambda);
            let near = stats.eta_max <= 1e3 * self.stop.tolerance;
            self.work.recover(problem, solution, near);
            if let Some(status) = monitor.after_sweep(stats, &solution.lambda) {
                return status;
            }
            if monitor.sweeps().is_multiple_of(REFRESH) {
                self.work.lumps.refresh(&solution.lambda, problem.blocks());
            }
        }
    }
}

impl Work {
    /// Factors the joints, finds how contacts respond through them, and starts from the warm start's contacts.
    fn prepare(&mut self, problem: &Problem, primal: &Primal, solution: &mut Solution, rule: Rule) {
        let n = problem.n_rows();
        let Solution { v, lambda } = solution;
        self.redundant = self.joints.factor_and_solve(problem);
        // The state without contacts: w of their rows is what they have to deal with.
        self.step.clear();
        self.step.resize(n, 0.0);
        self.joints.add_to(&mut self.step);
        problem.velocity(&self.step, v);
        for array in [&mut self.free, &mut self.w, &mut self.z] {
            array.resize(n, 0.0);
        }
        problem.row_velocity(v, &self.step, &mut self.free);
        let diagonals = self.lumps.respond(problem, primal, &mut self.joints);
        self.locals.prepare(problem.blocks(), &diagonals, rule);
        self.lumps.refresh(lambda, problem.blocks());
    }

    /// One pass over everything but the joints.
    fn sweep(&mut self, problem: &Problem, primal: &Primal, lambda: &mut [f64]) -> SweepStats {
        let mut stats = SweepStats::default();
        for (k, block) in problem.blocks().iter().enumerate() {
            if is_equality(block) {
                continue;
            }
            let rows = block.rows();
            let (w, z) = (&mut self.w[..rows.len()], &mut self.z[..rows.len()]);
            w.copy_from_slice(&self.free[rows.clone()]);
            self.lumps.add_velocity(k, w);
            let sigma = &primal.sigma()[rows.clone()];
            let lambda = &mut lambda[rows];
            for i in 0..w.len() {
                w[i] += sigma[i] * lambda[i];
            }
            self.locals.solve(k, w, lambda, z);
            for (z, lambda) in z.iter_mut().zip(lambda) {
                *z -= *lambda;
                *lambda += *z;
            }
            self.lumps.pass_on(k, z);
            let (squared, change) = self.locals.change(k, w, z);
            stats.eta_squared += squared;
            stats.eta_max = stats.eta_max.max(squared);
            stats.dual_decrease -= change;
        }
        stats.eta_max = stats.eta_max.sqrt();
        stats
    }

    /// The joints' impulses and all velocities for the contacts' impulses as they are; near the end once more, for
    /// the last digits.
    fn recover(&mut self, problem: &Problem, solution: &mut Solution, refine: bool) {
        let Solution { v, lambda } = solution;
        for block in problem.blocks().iter().filter(|block| is_equality(block)) {
            lambda[block.rows()].fill(0.0);
        }
        for _ in 0..1 + usize::from(refine) {
            problem.velocity(lambda, v);
            problem.row_velocity(v, lambda, &mut self.w);
            self.joints.solve(&self.w);
            self.joints.add_to(lambda);
        }
        problem.velocity(lambda, v);
    }
}
