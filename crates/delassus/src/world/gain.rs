//! Answers that bring energy.
//!
//! An answer that obeys its laws does no work with them, λᵀw ≤ 0: normals push only where w_n = 0, and friction only
//! brakes. So the impulses of a step bring no more than the wanted velocities q ask for,
//!
//! ```text
//! T(v⁺) − T(v¹) = λᵀw + λᵀq − λᵀΣλ − ½ (v⁺ − v¹)ᵀM(v⁺ − v¹)
//! ```
//!
//! A robot that is jammed between the ground and its limits has answers with impulses of any size, and with a million
//! newton-seconds a residual of a micrometre a second is a joule from nothing. Such an answer is within the tolerance and
//! useless. Where `auto` gives one, the step is solved again by sweeps from the last step's impulses, which stay about as
//! small as those, or from none. Where these fail too, and it brings more than all there would be without it, the step is
//! not solved.

use super::World;
use super::assemble::Assembly;
use crate::GaussSeidel;
use crate::law::Law;
use crate::problem::{Form, Problem, Solution};
use crate::solver::{Report, Solver, Status, Stop};

/// Share of the energy without impulses, ½ v¹ᵀM v¹, that an answer may bring: what the tolerance of a step brings at rest
/// is a thousandth of it.
const SHARE: f64 = 0.01;
/// Everything at this speed has an energy that nobody misses: a robot that hangs still has none without impulses \[m/s\].
const STILL: f64 = 1e-3;

impl World {
    /// Solves a step again whose answer brings energy.
    pub(super) fn refuse_gain(
        &self,
        h: f64,
        (assembly, solution): (&Assembly, &mut Solution),
        (report, stop): (&mut Report, Stop),
    ) {
        let problem = &assembly.problem;
        let (false, Form::Primal(primal)) = (report.chosen.is_empty(), problem.form()) else {
            return;
        };
        let blocks = problem.blocks().len() as f64;
        let free = 0.5 * crate::math::dot(primal.free_velocity(), primal.p());
        let still = 0.5 * self.bodies.mass.iter().sum::<f64>() * STILL * STILL;
        let most = SHARE * free + still;
        // The work of a block is no more than what the judge found it to miss.
        if blocks * report.residual.complementarity <= most {
            return;
        }
        let gain = work(problem, solution);
        if gain <= most || report.status == Status::Interrupted {
            return;
        }
        let mut swept = Solution::default();
        self.warm.guess(assembly, h, &mut swept.lambda);
        for _ in 0..2 {
            let mut sweeps = GaussSeidel {
                stop,
                ..GaussSeidel::default()
            };
            let again = sweeps.solve(problem, &mut swept);
            report.iterations += again.iterations;
            report.elapsed += again.elapsed;
            if again.status == Status::Solved && work(problem, &swept) <= most {
                *solution = swept;
                report.status = again.status;
                report.residual = again.residual;
                report.fallback = Some(again.solver);
                report.message = Some(format!(
                    "the answer of {} brought {gain:.1e} J that nothing supplies; swept again, from smaller impulses",
                    report.solver
                ));
                return;
            }
            // The last step may have been jammed too.
            swept.lambda.fill(0.0);
        }
        if report.status == Status::Solved && free + still < gain {
            report.status = Status::Stalled;
            report.message = Some(format!(
                "the answer is within the tolerance and brings {gain:.1e} J that nothing supplies: its impulses are too large for it"
            ));
        }
    }
}

/// λᵀw over the blocks whose law does no work.
fn work(problem: &Problem, solution: &Solution) -> f64 {
    let mut w = vec![0.0; problem.n_rows()];
    problem.row_velocity(&solution.v, &solution.lambda, &mut w);
    let idle = |law: &Law| !matches!(law, Law::Interval { lo, hi } if 0.0 < *lo || *hi < 0.0);
    let blocks = problem.blocks().iter().filter(|block| idle(&block.law));
    let of =
        |rows: std::ops::Range<usize>| crate::math::dot(&solution.lambda[rows.clone()], &w[rows]);
    blocks.map(|block| of(block.rows())).sum()
}
