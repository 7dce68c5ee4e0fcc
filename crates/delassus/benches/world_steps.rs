//! Steps of small worlds, robots above all: microseconds per step and where they go, beside the residual reached with
//! them and how many steps were not solved.
//!
//! `cargo bench -p delassus --bench world_steps [-- [STEPS] SCENE…]`; a scene is built in, or a robot file. The times are
//! the median of all steps and the least of each phase, one thread.

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

mod named;

use std::time::Instant;

use delassus::Stop;
use delassus::solver::from_spec;
use delassus::world::{Clock, Scene};
use named::{scene, short};

/// Scenes where none are named.
const USUAL: [&str; 10] = [
    "humanoid",
    "quadruped",
    "gripper",
    "delta-robot",
    "four-bar",
    "arch",
    "stack",
    "card-house",
    "snake:20",
    "bridge",
];

fn main() {
    let (steps, names) = named::asked(600, &USUAL);
    println!(
        "scene              us/step  collide  assemble   solve    rest  contacts  iterations  unsolved  law m/s  penetration m  state"
    );
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.expect("a thread can be started");
    for name in names {
        pool.install(|| measure(&name, steps));
    }
}

fn measure(name: &str, steps: usize) {
    let Scene { mut world, run, .. } = scene(name);
    let stop = Stop {
        tolerance: run.tolerance,
        sweeps: run.iterations,
        ..Stop::default()
    };
    let mut solver = from_spec(&run.solver, stop, 0).expect("the solver exists");
    let mut least = Clock {
        collide: f64::INFINITY,
        assemble: f64::INFINITY,
        solve: f64::INFINITY,
        integrate: f64::INFINITY,
    };
    let (mut unsolved, mut contacts, mut iterations) = (0, 0, 0);
    let (mut law, mut penetration) = (0.0_f64, 0.0_f64);
    let mut times = Vec::with_capacity(steps);
    for _ in 0..steps {
        let begin = Instant::now();
        let step = world
            .step(run.dt, solver.as_mut())
            .expect("the scene can be stepped");
        times.push(begin.elapsed().as_secs_f64());
        unsolved += step.unsolved;
        contacts = step.contacts;
        iterations += step.report.iterations;
        law = law.max(step.report.residual.law);
        penetration = penetration.max(step.penetration);
        let (all, now) = (&mut least, step.clock);
        all.collide = all.collide.min(now.collide);
        all.assemble = all.assemble.min(now.assemble);
        all.solve = all.solve.min(now.solve);
        all.integrate = all.integrate.min(now.integrate);
    }
    times.sort_unstable_by(f64::total_cmp);
    let median = times.get(steps / 2).copied().unwrap_or(0.0);
    let us = |seconds: f64| 1e6 * seconds;
    println!(
        "{:<18} {:7.1}  {:7.1}  {:8.1}  {:6.1}  {:6.1}  {:8}  {:10.2}  {:8}  {:7.1e}  {:13.1e}  {:016x}",
        short(name),
        us(median),
        us(least.collide),
        us(least.assemble),
        us(least.solve),
        us(least.integrate),
        contacts,
        iterations as f64 / steps.max(1) as f64,
        unsolved,
        law,
        penetration,
        world.state_hash(),
    );
}
