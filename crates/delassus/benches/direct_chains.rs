//! Joints exactly: 2 500 chains of 40 ball joints side by side, and single chains of 10³ to 10⁶ rows.
//!
//! `cargo bench -p delassus --bench direct_chains`

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use delassus::math::{DMat3, DVec3, Random};
use delassus::problem::place::Point;
use delassus::solver::exact::direct::Joints;
use delassus::{
    BuildError, Direct, Jacobi, Law, MassBlock, MassId, Problem, Residual, Solution, Solver, Stop,
};

/// Beads that touch, solid spheres of 5 cm and 1 kg, each tied to the last, the first to the ground.
fn chains(count: usize, beads: usize) -> Result<Problem, BuildError> {
    let (m, r) = (1.0, 0.05);
    let mut random = Random::new(40);
    let mut builder = Problem::builder();
    builder.reserve(count * beads, count * beads);
    for _ in 0..count {
        let mut last: Option<(MassId, DVec3)> = None;
        for _ in 0..beads {
            let axis = (DVec3::X + 0.5 * random.vector()).normalize();
            let inertia = DMat3::from_diagonal(DVec3::splat(0.4 * m * r * r));
            let push = random.vector() * 0.2 * m;
            let p = [push.x, push.y, push.z - 0.1 * m, 0.0, 0.0, 0.0];
            let body = builder.add_mass(MassBlock::rigid(m, inertia)?, &p)?;
            let point = Point {
                directions: &DVec3::AXES,
                first: Some((body, -axis * r)),
                second: last,
            };
            builder.add_point(Law::Equality, &point, &[0.0; 3], &[0.0; 3])?;
            last = Some((body, axis * r));
        }
    }
    builder.build()
}

/// The fastest of several runs \[ms\].
fn best(runs: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    1e3 * best
}

fn hash(x: &[f64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    x.iter().for_each(|x| x.to_bits().hash(&mut hasher));
    hasher.finish()
}

fn main() -> Result<(), BuildError> {
    println!(
        "chains  joints     first ms  factor+solve ms  solve again ms  velocity ms  whole solve ms  law m/s  state"
    );
    for (count, beads) in [
        (8, 40),
        (80, 40),
        (2500, 40),
        (1, 334),
        (1, 3_334),
        (1, 33_334),
        (1, 333_334),
    ] {
        let problem = chains(count, beads)?;
        let runs = (2_000_000 / (count * beads)).clamp(3, 100);
        let first = best(runs.min(5), || {
            Joints::default().factor_and_solve(&problem);
        });
        let mut joints = Joints::default();
        joints.factor_and_solve(&problem);
        let factor = best(runs, || {
            joints.factor_and_solve(&problem);
        });
        let again = best(runs, || joints.solve(problem.c()));
        let mut solution = Solution::zeros(&problem);
        let velocity = best(runs, || {
            solution.lambda.fill(0.0);
            joints.add_to(&mut solution.lambda);
            problem.velocity(&solution.lambda, &mut solution.v);
        });
        let law = Residual::of(&problem, &solution).law;
        let mut solver = Direct::default();
        let whole = best(runs, || {
            solver.solve(&problem, &mut solution);
        });
        println!(
            "{count:6}  {:6}  {first:11.3}  {factor:15.3}  {again:14.3}  {velocity:11.3}  {whole:14.3}  {law:7.0e}  {:016x}",
            count * beads,
            hash(&solution.lambda),
        );
    }
    let problem = chains(2500, 40)?;
    let sweeps = 20;
    let mut solver = Jacobi {
        stop: Stop {
            tolerance: 0.0,
            sweeps,
            ..Stop::default()
        },
        ..Jacobi::default()
    };
    let mut solution = Solution::zeros(&problem);
    let time = best(5, || {
        solver.solve(&problem, &mut solution);
    });
    println!(
        "jacobi, 100000 joints: {:.3} ms per sweep, setup and judging included",
        time / sweeps as f64
    );
    Ok(())
}
