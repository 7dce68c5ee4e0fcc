//! Drives of joints act within their bounds: limits, motors, servos, friction.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "common/world.rs"]
mod kit;

use delassus::math::DVec3;
use delassus::world::{Body, Drive, JointKind, Motor, Servo};
use delassus::{JointId, World, WorldBuilder};
use kit::{GRAVITY, join, run, solver, space};

/// Step of these runs \[s\].
const H: f64 = 1e-3;
/// Law residual of each solve [m/s].
const TIGHT: f64 = 1e-10;
/// Sizes of a steady state that is known exactly, relative: the solver's tolerance and what is left of transients.
const STEADY: f64 = 1e-6;

/// A carriage of 2 kg on a vertical slider.
fn lift(drive: Drive) -> (World, JointId) {
    let mut builder = WorldBuilder::default();
    let carriage = builder
        .add_body(Body {
            mass: 2.0,
            ..Body::default()
        })
        .unwrap();
    let kind = JointKind::Slider(drive);
    let id = join(&mut builder, [Some(carriage), None], DVec3::Z, kind);
    (builder.build().unwrap(), id)
}

const WEIGHT: f64 = 2.0 * GRAVITY;

#[test]
fn slider_stops_at_its_limit() {
    let limits = Some([-0.3, 0.4]);
    let (mut world, _) = lift(Drive {
        limits,
        ..Drive::default()
    });
    run(&mut world, H, 1000, &mut solver(TIGHT));
    let z = world.bodies().position[0].z;
    assert!((z + 0.3).abs() < 1e-9, "{z}");
    world.gravity = DVec3::new(0.0, 0.0, 20.0);
    run(&mut world, H, 1000, &mut solver(TIGHT));
    let z = world.bodies().position[0].z;
    assert!((z - 0.4).abs() < 1e-9, "{z}");
}

/// Without a load a carriage that meets its limit between two steps must come to rest on it, not short of it.
#[test]
fn slider_that_flies_into_its_limit_stops_exactly_there() {
    let limits = Some([-0.3, 0.4005]);
    let (mut world, _) = lift(Drive {
        limits,
        ..Drive::default()
    });
    world.gravity = DVec3::ZERO;
    world.bodies_mut().velocity[0] = DVec3::new(0.0, 0.0, 100.0);
    run(&mut world, H, 20, &mut solver(TIGHT));
    let z = world.bodies().position[0].z;
    assert!((z - 0.4005).abs() < 1e-9, "{z}");
}

/// A wheel about z, so many steps under a torque.
fn wheel(drive: Drive, torque: f64, steps: usize) -> (World, JointId) {
    let mut builder = space();
    let body = builder.add_body(Body::default()).unwrap();
    let id = join(
        &mut builder,
        [Some(body), None],
        DVec3::Z,
        JointKind::Hinge(drive),
    );
    let mut world = builder.build().unwrap();
    for _ in 0..steps {
        world.bodies_mut().torque[0] = DVec3::new(0.0, 0.0, torque);
        run(&mut world, H, 1, &mut solver(TIGHT));
    }
    (world, id)
}

#[test]
fn hinge_stops_at_its_limits_beyond_a_full_turn() {
    let limits = Some([-7.0, 8.0]);
    let drive = Drive {
        limits,
        ..Drive::default()
    };
    for (torque, bound) in [(4.0, 8.0), (-4.0, -7.0)] {
        let (world, _) = wheel(drive, torque, 4000);
        let angle = world.joints()[0].coordinate;
        assert!((angle - bound).abs() < 1e-8, "{angle}");
        assert!(world.bodies().spin[0].length() < 1e-8);
    }
}

#[test]
fn motor_reaches_its_speed_and_gives_no_more_than_its_force() {
    let motor = Some(Motor {
        speed: 0.5,
        max_force: 1.5 * WEIGHT,
    });
    let drive = Drive {
        motor,
        ..Drive::default()
    };
    let (mut world, _) = lift(drive);
    // Half a weight is left for lifting: a = g/2 until the speed is there.
    run(&mut world, H, 50, &mut solver(TIGHT));
    let speed = world.bodies().velocity[0].z;
    assert!((speed - 0.5 * GRAVITY * 0.05).abs() < STEADY, "{speed}");
    run(&mut world, H, 200, &mut solver(TIGHT));
    let speed = world.bodies().velocity[0].z;
    assert!((speed - 0.5).abs() < 1e-9, "{speed}");
    // Too weak for the load, it is dragged down with a = −g/2.
    let motor = Some(Motor {
        speed: 0.5,
        max_force: 0.5 * WEIGHT,
    });
    let (mut world, _) = lift(Drive {
        motor,
        ..Drive::default()
    });
    run(&mut world, H, 100, &mut solver(TIGHT));
    let speed = world.bodies().velocity[0].z;
    assert!((speed + 0.05 * GRAVITY).abs() < STEADY, "{speed}");
}

#[test]
fn servo_holds_a_load_with_the_sag_of_its_spring_and_yields_above_its_force() {
    let servo = |max_force: f64| Drive {
        servo: Some(Servo {
            position: 0.1,
            stiffness: 400.0,
            damping: 60.0,
            max_force,
            min_force: None,
        }),
        ..Drive::default()
    };
    let (mut world, _) = lift(servo(10.0 * WEIGHT));
    run(&mut world, H, 4000, &mut solver(TIGHT));
    let z = world.bodies().position[0].z;
    let expected = 0.1 - WEIGHT / 400.0;
    assert!((z - expected).abs() < STEADY, "{z} {expected}");
    let (mut world, _) = lift(servo(0.25 * WEIGHT));
    run(&mut world, H, 100, &mut solver(TIGHT));
    let speed = world.bodies().velocity[0].z;
    assert!((speed + 0.075 * GRAVITY).abs() < STEADY, "{speed}");
}

#[test]
fn joint_friction_holds_below_its_bound_and_slips_above() {
    let rubbing = |friction: f64| Drive {
        friction,
        ..Drive::default()
    };
    let (mut world, _) = lift(rubbing(1.01 * WEIGHT));
    run(&mut world, H, 500, &mut solver(TIGHT));
    let v = world.bodies().velocity[0].length();
    assert!(v < 1e-9, "{v}");
    let (mut world, _) = lift(rubbing(0.9 * WEIGHT));
    run(&mut world, H, 500, &mut solver(TIGHT));
    let v = world.bodies().velocity[0].z;
    assert!((v + 0.1 * GRAVITY * 0.5).abs() < STEADY, "{v}");
    // A hinge the same, and friction alone brings it to rest.
    let (world, _) = wheel(rubbing(2.0), 1.9, 300);
    assert!(world.bodies().spin[0].length() < 1e-9);
    let (mut world, _) = wheel(rubbing(2.0), 3.0, 300);
    let spin = world.bodies().spin[0].z;
    assert!((spin - 0.3).abs() < STEADY, "{spin}");
    run(&mut world, H, 200, &mut solver(TIGHT));
    assert!(world.bodies().spin[0].length() < 1e-9);
}
