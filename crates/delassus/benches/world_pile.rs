//! Piles of spheres, settled and then timed: milliseconds per step and where they go, beside the penetration
//! that was reached with them.
//!
//! `cargo bench -p delassus --bench world_pile [-- LARGEST [SWEEPS]]`

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

use delassus::solver::from_spec;
use delassus::world::{Clock, World};
use delassus::{Stop, scenes};

/// Step [s], as the peers are measured.
const STEP: f64 = 1.0 / 60.0;
/// Steps that are timed, after settling.
const TIMED: usize = 60;

fn main() {
    let mut numbers = std::env::args().filter_map(|a| a.parse::<usize>().ok());
    let largest = numbers.next().unwrap_or(10_000);
    let given = numbers.next();
    println!(
        "scene         sweeps  settle s  contacts  ms/step (best)  collide  assemble  solve  rest  worst mm  mean mm  vmax m/s  law m/s  state"
    );
    let mut size = 1000;
    while size <= largest {
        for sweeps in given.map_or(vec![4, 8, 16], |sweeps| vec![sweeps]) {
            measure(size, sweeps);
        }
        size *= 10;
    }
}

fn measure(size: usize, sweeps: usize) {
    let mut world = scenes::build(&format!("pile:{size}"))
        .expect("the scene exists")
        .world;
    let stop = Stop {
        tolerance: 0.0,
        iterations: sweeps,
        ..Stop::default()
    };
    let mut solver = from_spec("gauss-seidel", stop, 0).expect("the solver exists");
    // Large piles are timed while they still settle: the time per contact is what grows or does not.
    let settle = if size <= 10_000 { 600 } else { 60 };
    for _ in 0..settle {
        world
            .step(STEP, solver.as_mut())
            .expect("a pile can be stepped");
    }
    let (mut best, mut clock, mut law) = (f64::INFINITY, Clock::default(), 0.0);
    for _ in 0..TIMED {
        let step = world
            .step(STEP, solver.as_mut())
            .expect("a pile can be stepped");
        let c = step.clock;
        best = f64::min(best, c.collide + c.assemble + c.solve + c.integrate);
        clock.collide += c.collide;
        clock.assemble += c.assemble;
        clock.solve += c.solve;
        clock.integrate += c.integrate;
        law = f64::max(law, step.report.residual.law);
    }
    let mean = |seconds: f64| 1e3 * seconds / TIMED as f64;
    let total = mean(clock.collide + clock.assemble + clock.solve + clock.integrate);
    let (worst, average) = penetration(&world);
    let vmax = world
        .bodies()
        .velocity
        .iter()
        .fold(0.0, |m, v| v.length().max(m));
    println!(
        "pile:{size:<8} {sweeps:>6} {:>9.1} {:>9} {total:>8.2} ({:>6.2}) {:>8.2} {:>9.2} {:>6.2} {:>5.2} {:>9.3} {:>8.4} {vmax:>9.4} {law:>8.1e}  {:016x}",
        settle as f64 * STEP,
        world.touches().len(),
        1e3 * best,
        mean(clock.collide),
        mean(clock.assemble),
        mean(clock.solve),
        mean(clock.integrate),
        1e3 * worst,
        1e3 * average,
        world.state_hash()
    );
}

/// Worst and mean overlap over the contacts that overlap [m].
fn penetration(world: &World) -> (f64, f64) {
    let depths = world
        .touches()
        .iter()
        .map(|touch| -touch.point.gap)
        .filter(|depth| 0.0 < *depth);
    let (mut worst, mut sum, mut count) = (0.0, 0.0, 0);
    for depth in depths {
        worst = f64::max(worst, depth);
        sum += depth;
        count += 1;
    }
    (worst, sum / f64::from(count.max(1)))
}
