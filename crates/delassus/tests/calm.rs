//! Sweeps that are cut short: what parts overlaps does not stay as motion.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use delassus::collide::Shape;
use delassus::math::DVec3;
use delassus::solver::from_spec;
use delassus::world::{Attach, Body};
use delassus::{GaussSeidel, Solver, Stop, WorldBuilder, scenes};

/// Eight sweeps a step, whatever they reach.
fn eight() -> Stop {
    Stop {
        tolerance: 0.0,
        sweeps: 8,
        ..Stop::default()
    }
}

#[test]
fn a_deep_pile_swept_a_few_times_comes_to_rest() {
    let mut world = scenes::build("pile:1000").unwrap().world;
    let mut solver = from_spec("coloured", eight(), 0).unwrap();
    let mut penetration = 0.0;
    for _ in 0..600 {
        let step = world.step(1.0 / 60.0, solver.as_mut()).unwrap();
        assert_eq!((step.unsolved, step.swept), (0, 1));
        penetration = step.penetration;
    }
    assert_eq!(solver.stop().sweeps, 8);
    let velocities = world.bodies().velocity.iter();
    let fastest = velocities.fold(0.0, |m: f64, v| v.length().max(m));
    assert!(fastest < 0.01, "{fastest}");
    assert!(penetration < 2e-3, "{penetration}");
}

#[test]
fn a_push_leaves_no_velocity_behind() {
    // A ball 2 cm deep in the ground comes out of it and then lies there.
    let mut builder = WorldBuilder::default();
    builder.add_ground().unwrap();
    let body = Body::at("ball", DVec3::Z * 0.08);
    let sphere = Shape::Sphere { radius: 0.1 };
    let ball = builder
        .add_solid(sphere, 1000.0, body, Attach::default())
        .unwrap();
    let mut world = builder.build().unwrap();
    let mut solver = GaussSeidel {
        stop: eight(),
        ..GaussSeidel::default()
    };
    for _ in 0..200 {
        let before = world.bodies().position[ball.index()].z;
        world.step(0.01, &mut solver).unwrap();
        assert!(before <= world.bodies().position[ball.index()].z + 1e-12);
        let left = world.bodies().velocity[ball.index()].length();
        assert!(left < 1e-9, "{left}");
    }
    let height = world.bodies().position[ball.index()].z;
    assert!((height - 0.1).abs() < 1e-6, "{height}");
}
