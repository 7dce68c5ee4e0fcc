//! Many copies of one world stepped from one call: steps a second on one thread and on two, beside the worst residual and
//! a hash of all states, which is the same for any number of threads.
//!
//! `cargo bench -p delassus --bench world_batch [-- [COPIES] SCENE…]`; a scene is built in, or a robot file. Copies first
//! settle together, then make rounds of 100 steps each; the best round counts. `benches/peers/mujoco-batch` does the same
//! work beside MuJoCo.

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

mod named;

use std::num::NonZeroUsize;
use std::time::Instant;

use delassus::Stop;
use delassus::solver::from_spec;
use delassus::world::{Batch, Scene};
use named::{scene, short};

/// Scenes where none are named.
const USUAL: [&str; 3] = ["humanoid", "quadruped", "gripper"];
/// Time that the world is stepped before it is copied \[s\].
const SETTLE: f64 = 2.0;
/// Steps of a copy in a round, and rounds.
const STEPS: usize = 100;
const ROUNDS: usize = 6;

fn main() {
    let (copies, names) = named::asked(64, &USUAL);
    println!("scene              copies  threads   steps/s  us/step  unsolved  law m/s  state");
    for name in names {
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().expect("threads can be started");
            pool.install(|| measure(&name, copies, threads));
        }
    }
}

fn measure(name: &str, copies: usize, threads: usize) {
    let Scene { mut world, run, .. } = scene(name);
    let stop = Stop {
        tolerance: run.tolerance,
        sweeps: run.iterations,
        ..Stop::default()
    };
    let mut solver = from_spec(&run.solver, stop, 0).expect("the solver exists");
    for _ in 0..(SETTLE / run.dt) as usize {
        let step = world.step(run.dt, solver.as_mut());
        step.expect("the scene can be stepped");
    }
    let batch = Batch::new(&world, copies, &run.solver, stop);
    let mut batch = batch.expect("the solver exists");
    let count = NonZeroUsize::new(STEPS).expect("a round has steps");
    let (mut least, mut unsolved, mut law) = (f64::INFINITY, 0, 0.0_f64);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let steps = batch.steps(run.dt, count, |_, _, _| {});
        least = least.min(begin.elapsed().as_secs_f64());
        for step in steps {
            let step = step.expect("the scene can be stepped");
            unsolved += step.unsolved;
            law = law.max(step.report.residual.law);
        }
    }
    let hashes = batch.worlds().iter().map(|world| world.state_hash());
    let all = (copies * STEPS) as f64;
    println!(
        "{:<18} {:6}  {:7}  {:8.0}  {:7.1}  {:8}  {:7.1e}  {:016x}",
        short(name),
        copies,
        threads,
        all / least,
        1e6 * least / all,
        unsolved,
        law,
        hashes.fold(0, |sum: u64, hash| sum.wrapping_mul(31).wrapping_add(hash)),
    );
}
