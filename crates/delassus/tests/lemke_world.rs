//! Lemke in the world: towers that stand, joints with contacts, and the basis of the last step as a start.

#![cfg(feature = "world")]
#![allow(
    clippy::unwrap_used,
    reason = "a scene that cannot be built must stop the test there"
)]

use std::sync::atomic::{AtomicBool, Ordering};

use delassus::math::DVec3;
use delassus::scenes::build;
use delassus::solver::{Cancel, from_spec};
use delassus::world::Scene;
use delassus::world::{Step, StepError};
use delassus::{Solution, Status, Stop, World};

/// Steps a scene with Lemke's method and hands every step to `see`.
fn run(scene: &mut Scene, steps: usize, see: impl FnMut(usize, &Step, &World)) {
    run_by("lemke", scene, steps, see);
}

/// The same with keys.
fn run_by(spec: &str, scene: &mut Scene, steps: usize, mut see: impl FnMut(usize, &Step, &World)) {
    let stop = Stop {
        tolerance: 1e-8,
        sweeps: scene.run.iterations.max(100_000),
        ..Stop::default()
    };
    let mut solver = from_spec(spec, stop, 0).unwrap();
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
        assert_eq!(step.unsolved, 0, "step {i}");
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
fn a_path_that_ends_on_a_ray_at_an_answer_is_solved() {
    // Twenty contacts under five boxes depend on each other: z₀ ends at rounding, not at zero.
    let mut scene = build("stack:5").unwrap();
    run_by("lemke-standard,pivot=lex", &mut scene, 30, |i, step, _| {
        assert_eq!(step.unsolved, 0, "step {i}: {}", step.report);
    });
}

#[test]
fn a_chain_of_joints_works_with_contacts() {
    let mut scene = build("bridge:8").unwrap();
    let (mut contacts, mut pivots) = (0, 0);
    run(&mut scene, 60, |i, step, _| {
        assert_eq!(step.unsolved, 0, "step {i}");
        contacts = contacts.max(step.contacts);
        pivots += step.report.iterations;
    });
    assert!(0 < contacts && 0 < pivots);
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

/// Links on the ground: 40 contacts on one tree of 25 velocities, most of which depend on each other.
#[test]
fn a_snake_whose_contacts_depend_on_each_other_is_solved_without_help() {
    let mut scene = build("snake:20").unwrap();
    let mut contacts = 0;
    run(&mut scene, 40, |i, step, _| {
        assert_eq!(step.unsolved, 0, "step {i}");
        contacts = contacts.max(step.contacts);
    });
    assert!(24 < contacts, "{contacts} contacts");
}

#[test]
fn a_budget_that_is_too_small_ends_at_its_limit_in_the_same_way_every_time() {
    let hashes = [(), ()].map(|()| {
        let mut scene = build("pile:120").unwrap();
        let mut short = 0;
        run_by("lemke,budget=1", &mut scene, 50, |i, step, _| {
            let report = &step.report;
            assert_eq!(report.fallback, None, "step {i}");
            if report.status != Status::Solved {
                assert_eq!(report.status, Status::PivotLimit, "step {i}");
                let message = report.message.as_ref().unwrap();
                assert!(message.contains("budget=1"), "{message}");
                // The best impulses met come with it.
                assert!(report.residual.law.is_finite(), "step {i}");
                short += 1;
            }
        });
        assert!(0 < short);
        scene.world.state_hash()
    });
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn a_path_alone_that_may_not_cost_so_much_ends_at_its_limit() {
    let problem = delassus::gallery::build("stack:20").unwrap();
    let mut solution = Solution::zeros(&problem);
    let mut solver = from_spec("lemke-structural,budget=1", Stop::default(), 0).unwrap();
    let report = solver.solve(&problem, &mut solution);
    assert_eq!((report.status, report.fallback), (Status::PivotLimit, None));
    assert!(report.message.unwrap().contains("budget=1"));
}

#[test]
fn a_request_to_end_comes_through_and_the_step_is_taken_back() {
    static RAISED: AtomicBool = AtomicBool::new(false);
    let mut scene = build("stack:8").unwrap();
    let stop = Stop {
        cancel: Some(Cancel::new(&RAISED)),
        ..Stop::default()
    };
    let mut solver = from_spec("lemke", stop, 0).unwrap();
    let before = scene.world.state_hash();
    RAISED.store(true, Ordering::Relaxed);
    let refused = scene.world.step(scene.run.dt, solver.as_mut());
    assert!(matches!(refused, Err(StepError::Interrupted)));
    assert_eq!(scene.world.state_hash(), before);
    RAISED.store(false, Ordering::Relaxed);
    let step = scene.world.step(scene.run.dt, solver.as_mut()).unwrap();
    assert_eq!(step.unsolved, 0);
}
