//! Lemke in the world: towers that stand, joints with contacts, and the basis of the last step as a start.
#![allow(
    clippy::unwrap_used,
    reason = "a scene that cannot be built must stop the test there"
)]

use delassus::math::DVec3;
use delassus::scenes::build;
use delassus::solver::from_spec;
use delassus::world::Step;
use delassus::world::scene::Scene;
use delassus::{Stop, World};

/// Steps a scene with Lemke's method and hands every step to `see`.
fn run(scene: &mut Scene, steps: usize, mut see: impl FnMut(usize, &Step, &World)) {
    let stop = Stop {
        tolerance: 1e-8,
        iterations: scene.run.iterations.max(100_000),
        ..Stop::default()
    };
    let mut solver = from_spec("lemke", stop, 0).unwrap();
    for i in 0..steps {
        let step = scene.world.step(scene.run.dt, solver.as_mut()).unwrap();
        see(i, &step, &scene.world);
    }
}

fn creep(before: &[DVec3], after: &World) -> f64 {
    let pairs = before.iter().zip(&after.bodies().position);
    pairs.map(|(a, b)| (*b - *a).length()).fold(0.0, f64::max)
}

#[test]
fn a_tower_under_a_top_a_hundred_times_as_heavy_stands() {
    let mut scene = build("heavy-stack:30").unwrap();
    let before = scene.world.bodies().position.clone();
    run(&mut scene, 50, |i, step, _| {
        assert_eq!((step.unsolved, step.fallbacks), (0, 0), "step {i}");
        assert!(
            step.penetration < 1e-10,
            "step {i}: {:e} m",
            step.penetration
        );
    });
    let creep = creep(&before, &scene.world);
    assert!(creep < 1e-10, "{creep:e} m");
}

#[test]
fn a_stack_at_rest_needs_no_pivots_after_its_first_step() {
    let mut scene = build("stack:10").unwrap();
    let mut cold = 0;
    run(&mut scene, 30, |i, step, _| {
        assert_eq!(step.unsolved, 0, "step {i}");
        match i {
            0 => cold = step.report.iterations,
            _ => assert_eq!(step.report.iterations, 0, "step {i}"),
        }
    });
    assert!(10 <= cold, "{cold} pivots");
}

#[test]
fn a_chain_of_joints_works_with_contacts() {
    let mut scene = build("bridge:8").unwrap();
    let (mut contacts, mut pivots) = (0, 0);
    run(&mut scene, 60, |i, step, _| {
        assert_eq!((step.unsolved, step.fallbacks), (0, 0), "step {i}");
        contacts = contacts.max(step.contacts);
        pivots += step.report.iterations;
    });
    assert!(0 < contacts && 0 < pivots);
}

/// More bodies in one island than a path from nothing is followed for: sweeps, solutions over the bodies, and a path
/// from there.
#[test]
fn a_pile_is_solved_from_the_basis_its_sweeps_show() {
    let mut scene = build("pile:120").unwrap();
    let (mut contacts, mut pivots) = (0, 0);
    run(&mut scene, 60, |i, step, _| {
        assert_eq!((step.unsolved, step.fallbacks), (0, 0), "step {i}");
        contacts = contacts.max(step.contacts);
        pivots += step.report.iterations;
    });
    assert!(150 < contacts && 0 < pivots);
}

#[test]
fn scenes_of_all_kinds_take_a_second_with_every_step_solved() {
    for name in [
        "necklace",
        "stack",
        "pile:60",
        "incline",
        "card-house",
        "dominoes:8",
        "newton-cradle",
        "slider-crank",
        "rolling-ball",
        "spinning-top",
        "double-pendulum",
        "four-bar",
        "delta-robot",
        "gripper",
    ] {
        let mut scene = build(name).unwrap();
        let steps = (1.0 / scene.run.dt).ceil() as usize;
        run(&mut scene, steps, |i, step, _| {
            assert_eq!(step.unsolved, 0, "{name}, step {i}");
        });
    }
}
