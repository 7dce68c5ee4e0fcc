//! Many copies of one world: each as if it were alone.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use delassus::world::Batch;
use delassus::{Auto, RobotId, Stop, World, scenes};

const H: f64 = 0.005;

fn pushed(i: usize, world: &mut World) {
    if let Some(robot) = world.robot_mut(RobotId(0)) {
        for (k, force) in robot.force.iter_mut().enumerate().skip(6) {
            *force = ((i + 1) as f64 * 0.1 + k as f64).sin();
        }
    }
}

#[test]
fn copies_have_the_bits_they_would_have_alone() {
    let scene = scenes::build("quadruped").unwrap();
    let stop = Stop {
        tolerance: scene.run.tolerance,
        ..Stop::default()
    };
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let mut batch = Batch::new(&scene.world, 5, "auto", stop).unwrap();
        pool.build().unwrap().install(|| {
            for _ in 0..40 {
                for step in batch.step(H, pushed) {
                    assert_eq!(step.unwrap().unsolved, 0);
                }
            }
        });
        let mut at_once = Batch::new(&scene.world, 5, "auto", stop).unwrap();
        let count = 40.try_into().unwrap();
        for steps in at_once.steps(H, count, |i, _, world| pushed(i, world)) {
            assert_eq!(steps.unwrap().unsolved, 0);
        }
        for i in [0, 4] {
            assert_eq!(
                at_once.worlds()[i].state_hash(),
                batch.worlds()[i].state_hash()
            );
            let mut alone = scene.world.clone();
            let mut solver = Auto::default();
            solver.stop = stop;
            for _ in 0..40 {
                pushed(i, &mut alone);
                alone.step(H, &mut solver).unwrap();
            }
            assert_eq!(alone.state_hash(), batch.worlds()[i].state_hash(), "{i}");
        }
    }
}

#[test]
fn some_are_put_back_and_the_others_stay() {
    let world = scenes::build("stack:2").unwrap().world;
    let mut batch = Batch::new(&world, 3, "auto", Stop::default()).unwrap();
    for _ in 0..5 {
        batch.step(0.01, |_, _| {});
    }
    batch.reset(&[1, 99]);
    let times: Vec<f64> = batch.worlds().iter().map(|world| world.time()).collect();
    assert!((times[0] - 0.05).abs() < 1e-12 && times[1] == 0.0 && times[2] == times[0]);
    assert_eq!(batch.worlds()[1].state_hash(), world.state_hash());
}

#[test]
fn a_copy_that_cannot_be_stepped_holds_up_nobody() {
    let world = scenes::build("stack:2").unwrap().world;
    let mut batch = Batch::new(&world, 2, "auto", Stop::default()).unwrap();
    let steps = batch.step(0.01, |i, world| {
        if i == 0 {
            world.bodies_mut().force[1].x = f64::NAN;
        }
    });
    assert!(steps[0].is_err() && steps[1].is_ok());
    let steps = batch.steps(0.01, 4.try_into().unwrap(), |i, k, world| {
        world.bodies_mut().force[1].x = if i == 1 && k == 2 { f64::NAN } else { 0.0 };
    });
    assert!(steps[0].is_ok() && steps[1].is_err());
    let times = [0, 1].map(|i: usize| batch.worlds()[i].time());
    assert!((times[0] - 0.04).abs() < 1e-12 && (times[1] - 0.03).abs() < 1e-12);
    assert!(Batch::new(&world, 1, "no-such-solver", Stop::default()).is_err());
}
