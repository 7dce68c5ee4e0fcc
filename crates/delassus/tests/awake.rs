//! What wakes a sleeper, and what a body that passes another does not feel.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "common/world.rs"]
mod kit;

use delassus::collide::Shape;
use delassus::math::{DQuat, DVec3};
use delassus::world::{Attach, Body, Drive, Frame, Joint, JointKind, Motor, MovedBy, Sleep};
use delassus::{Law, WorldBuilder};
use kit::{at, ball, cuboid, ground, material, run, solver, space};

/// Step of these runs \[s\].
const H: f64 = 0.01;
/// Law residual of each solve [m/s].
const TIGHT: f64 = 1e-6;

/// A box has fallen asleep when a slow plunger reaches it. Neither is moved by impulses, so that no contact between
/// them was looked for, and the plunger went through.
#[test]
fn a_body_that_moves_by_itself_pushes_a_sleeper_along() {
    let mut builder = WorldBuilder::default();
    builder.settings.sleep = Some(Sleep::default());
    let surface = material(&mut builder, 0.5, 0.0);
    ground(&mut builder, DQuat::IDENTITY, surface);
    let half = DVec3::splat(0.5);
    let sleeper = cuboid(&mut builder, half, at(DVec3::new(0.0, 0.0, 0.5)), surface);
    let plunger = Body {
        motion: MovedBy::Kinematic,
        velocity: DVec3::new(0.02, 0.0, 0.0),
        ..at(DVec3::new(-1.1, 0.0, 0.6))
    };
    let plunger = cuboid(&mut builder, half, plunger, surface);
    let mut world = builder.build().unwrap();
    run(&mut world, H, 200, &mut solver(TIGHT));
    assert!(world.bodies().asleep[sleeper.index()]);
    run(&mut world, H, 800, &mut solver(TIGHT));
    let distance =
        world.bodies().position[sleeper.index()].x - world.bodies().position[plunger.index()].x;
    assert!((distance - 1.0).abs() < 1e-3, "{distance}");
}

/// A motor that turns an arm at a thousandth of a radian per second is slower than the speed of sleep. Once asleep it
/// stood still for ever.
#[test]
fn a_slow_motor_does_not_fall_asleep() {
    let mut builder = space();
    builder.settings.sleep = Some(Sleep::default());
    let surface = material(&mut builder, 0.5, 0.0);
    let arm = cuboid(
        &mut builder,
        DVec3::new(0.5, 0.1, 0.1),
        at(DVec3::ZERO),
        surface,
    );
    let speed = 1e-3;
    let motor = Some(Motor {
        speed,
        max_force: 1e3,
    });
    let frame = Frame {
        origin: DVec3::ZERO,
        axes: DQuat::IDENTITY,
    };
    builder
        .add_joint(Joint {
            name: "hinge".to_owned(),
            bodies: [Some(arm), None],
            frames: [frame; 2],
            kind: JointKind::Hinge(Drive {
                motor,
                ..Drive::default()
            }),
            compliance: 0.0,
            damping: None,
            collide: false,
            coordinate: 0.0,
        })
        .unwrap();
    let mut world = builder.build().unwrap();
    run(&mut world, H, 500, &mut solver(TIGHT));
    assert!(!world.bodies().asleep[arm.index()]);
    let turned = world.joints()[0].coordinate;
    assert!((turned - 500.0 * H * speed).abs() < 1e-6, "{turned}");
}

/// A ball flies past a box, five centimetres beside it, at 30 m/s. At the start of one step its nearest point of the box
/// is an edge ahead; the plane through that edge is no wall, and yet it took half of the ball's energy.
#[test]
fn a_ball_that_passes_beside_a_box_feels_nothing() {
    for (aside, hits) in [(0.6, false), (0.54, true)] {
        let mut builder = space();
        let smooth = material(&mut builder, 0.0, 0.0);
        let wall = Body {
            motion: MovedBy::Static,
            ..at(DVec3::ZERO)
        };
        cuboid(&mut builder, DVec3::splat(0.5), wall, smooth);
        let velocity = DVec3::new(30.0, 0.0, 0.0);
        let flying = Body {
            velocity,
            ..at(DVec3::new(-1.0, aside, 0.0))
        };
        let ball = ball(&mut builder, 0.05, flying, smooth);
        let mut world = builder.build().unwrap();
        run(&mut world, H, 20, &mut solver(TIGHT));
        let found = world.bodies().velocity[ball.index()];
        assert_eq!(found != velocity, hits, "{aside}: {found}");
    }
}

#[test]
fn the_laws_of_a_world_are_known_before_its_first_step() {
    let mut builder = WorldBuilder::default();
    let surface = material(&mut builder, 0.5, 0.0);
    let names = |builder: WorldBuilder| {
        let world = builder.build().unwrap();
        let laws: Vec<&str> = world.laws().iter().map(Law::name).collect();
        (laws, world.is_supplied())
    };
    assert_eq!(names(builder.clone()), (vec![], false));
    ground(&mut builder, DQuat::IDENTITY, surface);
    let half = DVec3::splat(0.5);
    cuboid(&mut builder, half, at(DVec3::new(0.0, 0.0, 0.5)), surface);
    assert_eq!(names(builder.clone()), (vec!["friction-cone"], false));
    let moving = Body {
        motion: MovedBy::Kinematic,
        velocity: DVec3::X,
        ..at(DVec3::new(0.0, 0.0, 5.0))
    };
    cuboid(&mut builder, half, moving, surface);
    assert_eq!(names(builder), (vec!["friction-cone"], true));
}

#[test]
fn surfaces_that_never_meet_have_no_law() {
    let names = |scene: &str| {
        let world = delassus::scenes::build(scene).unwrap().world;
        let laws = world.laws();
        laws.iter().map(Law::name).collect::<Vec<_>>()
    };
    assert_eq!(names("necklaces:3x2"), ["equality"]);
    assert_eq!(names("necklace:3"), ["equality", "friction-cone"]);
    // A lone body with two colliders does not meet itself; a second one like it meets it.
    let mut builder = WorldBuilder::default();
    let surface = material(&mut builder, 0.5, 0.0);
    let dumbbell = |builder: &mut WorldBuilder, place: DVec3| {
        let id = ball(builder, 0.1, at(place), surface);
        let attach = Attach {
            material: surface,
            position: DVec3::X,
            ..Attach::default()
        };
        let shape = Shape::Sphere { radius: 0.1 };
        builder.add_collider(id, shape, attach).unwrap();
    };
    dumbbell(&mut builder, DVec3::ZERO);
    assert!(builder.clone().build().unwrap().laws().is_empty());
    dumbbell(&mut builder, DVec3::Z);
    assert_eq!(builder.build().unwrap().laws().len(), 1);
}
