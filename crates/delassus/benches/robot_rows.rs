//! How a sweep can answer rows on robots, measured on steps of scenes: by stored columns, by passes over the tree, or by
//! the dense Delassus matrix.
//!
//! `cargo bench --bench robot_rows`, or with names of scenes and robot files behind `--`. Times in µs, the least of many.
//! `columns`: rows written out and M⁻¹Gᵀ stored, what sweeps do. `passes`: one pass over the tree for each block, which
//! is the least that a sweep without columns costs. `matrix`: S by force propagators, and sweeps over it.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench prints"
)]

use std::hint::black_box;
use std::time::Instant;

use delassus::model::scene::of_robot;
use delassus::problem::Form;
use delassus::problem::mass::MassBlock;
use delassus::scenes::build;
use delassus::solver::Observed;
use delassus::solver::exact::kkt::tree_delassus;
use delassus::world::Scene;
use delassus::{Auto, GaussSeidel, Problem, Solution, Solver, Stop};

/// Steps before the problem is taken: feet are on the ground by then.
const STEPS: usize = 200;
const SWEEPS: usize = 20;

fn main() {
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut names: Vec<String> = words.collect();
    if names.is_empty() {
        names = ["quadruped", "humanoid", "snake:20"]
            .map(str::to_owned)
            .into();
    }
    println!(
        "| robot | rows | blocks | velocities | columns: set-up | a sweep | passes: a sweep | matrix: set-up | a sweep |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for name in names {
        row(&name);
    }
}

fn scene(name: &str) -> Scene {
    if !name.contains('.') {
        return build(name).unwrap();
    }
    let text = std::fs::read_to_string(name).unwrap();
    of_robot(
        &text,
        name,
        None,
        delassus::model::robot::Options::default(),
    )
    .unwrap()
}

/// The problem of a step with the most rows.
fn problem(name: &str) -> Problem {
    let mut scene = scene(name);
    let mut kept: Option<Problem> = None;
    for _ in 0..STEPS {
        let mut auto = Auto::default();
        let mut watched = Observed::new(&mut auto, |seen| {
            let rows = kept.as_ref().map_or(0, Problem::n_rows);
            if rows < seen.problem.n_rows() {
                kept = Some(seen.problem.clone());
            }
        });
        scene.world.step(scene.run.dt, &mut watched).unwrap();
    }
    kept.unwrap()
}

/// Least time of one call \[µs\].
fn least(mut call: impl FnMut()) -> f64 {
    let time = |_| {
        let begin = Instant::now();
        call();
        begin.elapsed().as_secs_f64() * 1e6
    };
    (0..300).map(time).fold(f64::INFINITY, f64::min)
}

/// Time of so many sweeps.
fn swept(problem: &Problem, sweeps: usize) -> f64 {
    let mut solver = GaussSeidel {
        stop: Stop {
            tolerance: 0.0,
            sweeps,
            ..Stop::default()
        },
        ..GaussSeidel::default()
    };
    least(|| {
        let mut solution = Solution::zeros(problem);
        black_box(solver.solve(problem, &mut solution));
    })
}

fn row(name: &str) {
    let problem = problem(name);
    let Form::Primal(primal) = problem.form() else {
        panic!("a world has masses");
    };
    let trees: Vec<&MassBlock> = primal
        .mass()
        .iter()
        .filter(|m| matches!(m, MassBlock::Tree(_)))
        .collect();
    let (one, many) = (swept(&problem, 1), swept(&problem, 1 + SWEEPS));
    let sweep = (many - one) / SWEEPS as f64;
    let mut x = vec![1.0; trees[0].dim()];
    let pass = least(|| trees[0].solve(black_box(&mut x)));
    let matrix = least(|| drop(black_box(tree_delassus(&problem))));
    let dual = problem.to_dual();
    let over = (swept(&dual, 1 + SWEEPS) - swept(&dual, 1)) / SWEEPS as f64;
    println!(
        "| `{name}` | {} | {} | {} | {:.1} | {sweep:.2} | {:.1} | {matrix:.1} | {over:.2} |",
        problem.n_rows(),
        problem.blocks().len(),
        trees[0].dim(),
        one - sweep,
        pass * problem.blocks().len() as f64,
    );
}
