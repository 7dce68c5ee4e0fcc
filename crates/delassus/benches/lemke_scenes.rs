//! Every built-in scene stepped by `lemke`, as a table: steps not solved, pivots, and time.
//!
//! `cargo bench --bench lemke_scenes`, or with a number of steps of each scene behind `--`; names of scenes after it
//! take the place of all of them.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::time::Instant;

use delassus::Stop;
use delassus::scenes::{build, exhibits};
use delassus::solver::from_spec;

fn main() {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let most: usize = words.next().map_or(usize::MAX, |n| n.parse().unwrap());
    let mut names: Vec<String> = words.collect();
    if names.is_empty() {
        names = exhibits().iter().map(|e| e.name.to_owned()).collect();
    }
    println!("| scene | contacts | steps | not solved | pivots | ms per step | slowest |");
    println!("|---|---|---|---|---|---|---|");
    for name in names {
        row(&name, most);
    }
}

/// Steps one scene and prints its line.
fn row(name: &str, most: usize) {
    let mut scene = build(name).unwrap();
    let run = &scene.run;
    let stop = Stop {
        tolerance: run.tolerance,
        ..Stop::default()
    };
    let steps = most.min((run.time / run.dt).round() as usize);
    let mut solver = from_spec("lemke", stop, 0).unwrap();
    let (mut unsolved, mut pivots, mut contacts) = (0, 0, 0);
    let (mut total, mut slowest) = (0.0, 0.0_f64);
    for _ in 0..steps {
        let begin = Instant::now();
        let step = scene.world.step(scene.run.dt, solver.as_mut()).unwrap();
        let ms = 1e3 * begin.elapsed().as_secs_f64();
        unsolved += usize::from(0 < step.unsolved);
        pivots += step.report.iterations;
        contacts = contacts.max(step.contacts);
        total += ms;
        slowest = slowest.max(ms);
    }
    let mean = |sum: f64| sum / steps.max(1) as f64;
    println!(
        "| `{name}` | {contacts} | {steps} | {unsolved} | {:.1} | {:.3} | {slowest:.1} |",
        mean(pivots as f64),
        mean(total)
    );
}
