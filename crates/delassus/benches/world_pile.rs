//! Piles of spheres, settled and then timed: milliseconds per step and where they go, beside the penetration
//! that was reached with them, and the most memory used so far.
//!
//! `cargo bench -p delassus --bench world_pile [-- LARGEST [SWEEPS]]`, 1000 to 100000 bodies, on one and two threads.
//! The first two times are the mean and the least of the timed steps; each phase is given by its least, which other
//! work on the machine disturbs least. `asleep` is the least time of a step once bodies may sleep and all do, where that
//! comes within ten seconds.

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

use std::time::Instant;

use delassus::solver::from_spec;
use delassus::world::{Clock, Sleep, World};
use delassus::{Solver, Stop, scenes};

/// Step \[s\], as the peers are measured.
const STEP: f64 = 1.0 / 60.0;
/// Steps that are timed, after settling.
const TIMED: usize = 60;

fn main() {
    let mut numbers = std::env::args().filter_map(|a| a.parse::<usize>().ok());
    let largest = numbers.next().unwrap_or(100_000);
    let given = numbers.next();
    println!(
        "scene         solver        threads  sweeps  settle s  contacts  ms/step (best)  collide  assemble  solve  rest  worst mm  mean mm  vmax m/s  law m/s  MB  asleep ms  state"
    );
    // Larger piles need more sweeps to carry their weight; the largest shows growth alone.
    for (size, usual) in [
        (1000, vec![4, 8]),
        (10_000, vec![8, 16]),
        (100_000, vec![8]),
    ] {
        if largest < size {
            break;
        }
        for sweeps in given.map_or(usual, |sweeps| vec![sweeps]) {
            let specs = [("gauss-seidel", 1), ("coloured", 1), ("coloured", 2)];
            let skipped = usize::from(10_000 < size);
            for (spec, threads) in specs.into_iter().skip(skipped) {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                // Inside the pool, whose threads then need not be woken from outside for each part of a step.
                let pool = pool.build().expect("threads can be started");
                pool.install(|| measure(size, sweeps, spec));
            }
        }
    }
}

fn measure(size: usize, sweeps: usize, spec: &str) {
    let mut world = scenes::build(&format!("pile:{size}"))
        .expect("the scene exists")
        .world;
    let stop = Stop {
        tolerance: 0.0,
        sweeps,
        ..Stop::default()
    };
    let mut solver = from_spec(spec, stop, 0).expect("the solver exists");
    // Large piles are timed while they still settle: the time per contact is what grows or does not.
    let settle = if size <= 10_000 { 600 } else { 60 };
    for _ in 0..settle {
        world
            .step(STEP, solver.as_mut())
            .expect("a pile can be stepped");
    }
    let (mut sum, mut best, mut law) = (0.0, f64::INFINITY, 0.0);
    let mut least = Clock {
        collide: f64::INFINITY,
        assemble: f64::INFINITY,
        solve: f64::INFINITY,
        integrate: f64::INFINITY,
    };
    for _ in 0..TIMED {
        let step = world
            .step(STEP, solver.as_mut())
            .expect("a pile can be stepped");
        let c = step.clock;
        let total = c.collide + c.assemble + c.solve + c.integrate;
        sum += total;
        best = f64::min(best, total);
        least.collide = least.collide.min(c.collide);
        least.assemble = least.assemble.min(c.assemble);
        least.solve = least.solve.min(c.solve);
        least.integrate = least.integrate.min(c.integrate);
        law = f64::max(law, step.report.residual.law);
    }
    let total = 1e3 * sum / TIMED as f64;
    let (worst, average) = penetration(&world);
    let vmax = world
        .bodies()
        .velocity
        .iter()
        .fold(0.0, |m, v| v.length().max(m));
    println!(
        "pile:{size:<8} {spec:<12} {:>8} {sweeps:>7} {:>9.1} {:>9} {total:>8.2} ({:>6.2}) {:>8.2} {:>9.2} {:>6.2} {:>5.2} {:>9.3} {:>8.4} {vmax:>9.4} {law:>8.1e} {:>4} {:>10}  {:016x}",
        rayon::current_num_threads(),
        settle as f64 * STEP,
        world.touches().len(),
        1e3 * best,
        1e3 * least.collide,
        1e3 * least.assemble,
        1e3 * least.solve,
        1e3 * least.integrate,
        1e3 * worst,
        1e3 * average,
        peak_memory().map_or("?".to_owned(), |mb| mb.to_string()),
        asleep(world.clone(), solver.as_mut()).map_or("–".to_owned(), |ms| format!("{ms:.3}")),
        world.state_hash()
    );
}

/// The least time of a step once all bodies sleep \[ms\]; none where some are still awake after ten seconds.
fn asleep(mut world: World, solver: &mut dyn Solver) -> Option<f64> {
    // Balls that nothing keeps from spinning in their place do so for ever.
    world.settings.sleep = Some(Sleep {
        speed: 0.5,
        ..Sleep::default()
    });
    let sleeps = |world: &World| {
        let mut ids = world.bodies().ids();
        !ids.any(|id| world.bodies().is_free(id))
    };
    for _ in 0..600 {
        if sleeps(&world) {
            break;
        }
        world.step(STEP, solver).expect("a pile can be stepped");
    }
    let mut least = f64::INFINITY;
    for _ in 0..TIMED {
        let start = Instant::now();
        world.step(STEP, solver).expect("a pile can be stepped");
        least = least.min(1e3 * start.elapsed().as_secs_f64());
    }
    sleeps(&world).then_some(least)
}

/// Worst and mean overlap over the contacts that overlap \[m\].
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

/// The most memory this process has held \[MB\], where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1000)
}
