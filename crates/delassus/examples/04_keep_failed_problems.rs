//! Keep the problems that a solver did not solve, and try other solvers on them.
//!
//! `cargo run -p delassus --example 04_keep_failed_problems`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use delassus::problem::file::{FileContent, json};
use delassus::solver::{Observed, from_spec};
use delassus::{GaussSeidel, Solution, Status, Stop, scenes};

fn main() -> Result<(), Box<dyn Error>> {
    let mut scene = scenes::build("arch")?;
    let mut weak = GaussSeidel::default();
    weak.stop.sweeps = 20; // too few, on purpose
    let mut kept = Vec::new();
    for _ in 0..20 {
        let mut solver = Observed::new(&mut weak, |seen| {
            if seen.report.status != Status::Solved {
                let text = json::save_with(seen.problem, "arch", Some(seen.start), None);
                kept.push(text);
            }
        });
        scene.world.step(scene.run.dt, &mut solver)?;
    }
    println!("not solved: {} of 20 steps; the last one:", kept.len());
    let loaded = json::parse(kept.last().ok_or("all were solved")?.as_bytes())?;
    let (FileContent::Problem { problem, .. }, Some(start)) = (loaded.content, loaded.guess) else {
        return Err("a captured step is a problem with the impulses it started from".into());
    };
    for spec in ["auto", "gauss-seidel", "coloured,rule=exact", "lemke"] {
        let mut solution = Solution::from_lambda(&problem, start.clone());
        let report = from_spec(spec, Stop::default(), 0)?.solve(&problem, &mut solution);
        println!("{report}");
    }
    Ok(())
}
