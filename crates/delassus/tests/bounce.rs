//! Restitution in a pile brings no energy.

#![cfg(feature = "world")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail loudly, and says what it skips"
)]

use delassus::model::scene;
use delassus::{Auto, Solver, Stop};

/// Twenty bodies of restitution 0.86 driven into each other: Newton's rule at every contact at once made six per cent of
/// energy in one step. Reads the scene beside the checkout, and says so where it is not there.
#[test]
fn a_pile_that_bounces_gains_no_energy() {
    /// What a step may bring, as a share of the energy there was: the tolerance of its solve.
    const SHARE: f64 = 1e-6;
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/attack/s62.toml"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: the scene of the attack is not here");
        return;
    };
    let scene = scene::parse(&text).unwrap();
    let (mut world, dt) = (scene.world, scene.run.dt);
    let stop = Stop {
        tolerance: scene.run.tolerance,
        ..Stop::default()
    };
    let mut solver = Auto::new(stop, 0);
    let energy = |probe: delassus::world::Probe| probe.kinetic + probe.potential;
    let mut before = energy(world.probe());
    for step in 0..30 {
        let solver: &mut dyn Solver = &mut solver;
        let after = energy(world.step(dt, solver).unwrap().probe);
        assert!(
            after <= before + SHARE * before.abs(),
            "{step}: {before:e} → {after:e}"
        );
        before = after;
    }
}
