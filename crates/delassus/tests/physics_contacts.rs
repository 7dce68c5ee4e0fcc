//! Contacts as a user meets them: no tunnelling, belts, forces per pair, sleep, refused steps, repeatable runs.

#![cfg(feature = "world")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail loudly"
)]

#[path = "common/world.rs"]
mod kit;

use delassus::BuildError;
use delassus::collide::{Collider, Collisions, Shape};
use delassus::math::{DQuat, DVec3, Random};
use delassus::world::{Body, Drive, Joint, JointAxis, JointKind, MovedBy, Sleep, State, StepError};
use delassus::{BodyId, World, WorldBuilder};
use kit::{GRAVITY, at, ball, cuboid, ground, material, of, run, solver, space};

/// Step of these runs \[s\].
const H: f64 = 0.01;
/// Law residual of each solve [m/s].
const TIGHT: f64 = 1e-10;

/// Ground of friction 0.5 with boxes of 1 m on top of each other.
fn stack(boxes: usize) -> WorldBuilder {
    let mut builder = WorldBuilder::default();
    let surface = material(&mut builder, 0.5, 0.0);
    ground(&mut builder, DQuat::IDENTITY, surface);
    for i in 0..boxes {
        let place = at(DVec3::new(0.0, 0.0, 0.5 + i as f64));
        cuboid(&mut builder, DVec3::splat(0.5), place, surface);
    }
    builder
}

#[test]
fn fast_ball_neither_tunnels_nor_stops_above_the_ground() {
    /// Where it may stop \[m\]: rounding of the fall of one step, 300 m for the fastest.
    const STOP: f64 = 1e-12;
    for (speed, height) in [(1.0, 0.123), (100.0, 0.777), (1000.0, 2.5), (30_000.0, 7.3)] {
        let mut builder = WorldBuilder::default();
        let surface = material(&mut builder, 0.5, 0.0);
        ground(&mut builder, DQuat::IDENTITY, surface);
        let start = Body {
            velocity: DVec3::new(0.0, 0.0, -speed),
            ..at(DVec3::new(0.0, 0.0, 0.1 + height))
        };
        let id = ball(&mut builder, 0.1, start, surface);
        let mut world = builder.build().unwrap();
        let steps = (height / speed / H).ceil() as usize;
        // A contact 7 m ahead turns the ball 3500 times as easily as it moves it: the residual is known to ε λ D.
        let mut solver = solver(TIGHT.max(1e-12 * speed));
        run(&mut world, H, steps, &mut solver);
        // Gravity only makes it faster: it is on the ground when a body without it would be.
        for _ in 0..20 {
            let gap = world.bodies().position[id.index()].z - 0.1;
            assert!(gap.abs() < STOP, "{speed}: {gap}");
            run(&mut world, H, 1, &mut solver);
        }
    }
}

/// The wall is thinner than the way of one step, and the ball starts from rest: what drives it through is a force,
/// so that the reach of a body must count the force of the step besides its speed.
#[test]
fn ball_kicked_by_a_force_does_not_pass_a_thin_wall() {
    let mut builder = space();
    let surface = material(&mut builder, 0.5, 0.0);
    let id = ball(&mut builder, 0.1, Body::default(), surface);
    let wall = Body {
        motion: MovedBy::Static,
        ..at(DVec3::new(0.5, 0.0, 0.0))
    };
    let wall = builder.add_body(wall).unwrap();
    let half = [0.01, 1.0, 1.0];
    let shape = Shape::Box { half };
    builder.add_collider(wall, shape, of(surface)).unwrap();
    let mut world = builder.build().unwrap();
    world.bodies_mut().force[id.index()] = DVec3::new(1e4, 0.0, 0.0);
    run(&mut world, H, 10, &mut solver(TIGHT));
    let x = world.bodies().position[id.index()].x;
    assert!((x - 0.39).abs() < 1e-9, "{x}");
}

/// Stabilisation removes 4/9 of an overlap per step, which for a box half in the ground meant 22 m/s and a jump of
/// 25 m; it is pushed out slowly instead.
#[test]
fn box_that_starts_in_the_ground_is_pushed_out_without_a_jump() {
    for (depth, h) in [(0.5, 0.01), (0.1, 1.0 / 60.0), (0.4, 0.001)] {
        let mut world = stack(1).build().unwrap();
        world.bodies_mut().position[1].z -= depth;
        let mut highest: f64 = 0.0;
        for _ in 0..(1.5 / h) as usize {
            run(&mut world, h, 1, &mut solver(TIGHT));
            highest = highest.max(world.bodies().position[1].z - 0.5);
        }
        // At 1 m/s it may hop by v²/2g and the way of a step.
        assert!(highest < 0.5 / GRAVITY + h, "{depth}: {highest}");
        let height = world.bodies().position[1].z - 0.5;
        assert!(height.abs() < 1e-6, "{depth}: {height}");
    }
}

/// Whatever the poses, solids within reach of each other have a contact. Balls next to hulls had none where GJK was a
/// little off, and corners that approach each other had none at all, so that piles sank into themselves by 15 cm.
#[test]
fn solids_within_reach_always_have_a_contact() {
    let point = |x, y, z| [x, y, z];
    let corners = [
        point(0.2, 0.0, -0.1),
        point(-0.1, 0.15, -0.1),
        point(-0.1, -0.15, -0.1),
        point(0.0, 0.0, 0.2),
    ];
    let (half_length, radius) = (0.15, 0.1);
    let shapes = [
        Shape::Sphere { radius },
        Shape::Box {
            half: [0.2, 0.12, 0.1],
        },
        Shape::Capsule {
            half_length,
            radius,
        },
        Shape::Cylinder {
            half_length,
            radius,
        },
        Shape::Hull {
            points: corners.to_vec(),
        },
    ];
    let mut random = Random::new(5);
    for a in &shapes {
        for b in &shapes {
            let pair = vec![Collider::new(a.clone(), 0), Collider::new(b.clone(), 1)];
            let mut collisions = Collisions::new(pair).unwrap();
            for _ in 0..100 {
                let mut turn = || DQuat::from_scaled_axis(random.vector() * 3.0);
                let turns = [turn(), turn()];
                let away = random.vector().normalize_or(DVec3::X) * random.range(0.1, 0.9);
                let poses = [(DVec3::ZERO, turns[0]), (away, turns[1])];
                // The origin of each lies inside it, so that the gap is less than their distance.
                collisions
                    .update(&poses, &[true; 2], &[0.5; 2], &|_, _| false)
                    .unwrap();
                let gaps = collisions.contacts().iter().map(|c| c.gap);
                let gap = gaps.fold(f64::INFINITY, f64::min);
                assert!(gap < away.length(), "{a:?} {b:?} {poses:?}: {gap}");
            }
        }
    }
}

#[test]
fn conveyor_drags_a_box_with_friction_until_it_rides() {
    let mut builder = WorldBuilder::default();
    let surface = material(&mut builder, 0.2, 0.0);
    let belt = Body {
        motion: MovedBy::Kinematic,
        velocity: DVec3::new(1.5, 0.0, 0.0),
        ..at(DVec3::new(0.0, 0.0, -0.1))
    };
    let belt = builder.add_body(belt).unwrap();
    let half = [20.0, 1.0, 0.1];
    let shape = Shape::Box { half };
    builder.add_collider(belt, shape, of(surface)).unwrap();
    let load = at(DVec3::new(0.0, 0.0, 0.1));
    let load = cuboid(&mut builder, DVec3::new(0.3, 0.2, 0.1), load, surface);
    let mut world = builder.build().unwrap();
    run(&mut world, H, 50, &mut solver(TIGHT));
    let speed = world.bodies().velocity[load.index()].x;
    assert!(
        (speed / (0.2 * GRAVITY * 0.5) - 1.0).abs() < 1e-6,
        "{speed}"
    );
    run(&mut world, H, 100, &mut solver(TIGHT));
    let speed = world.bodies().velocity[load.index()].x;
    assert!((speed - 1.5).abs() < 1e-8, "{speed}");
    // A belt goes where its velocity takes it.
    let x = world.bodies().position[belt.index()].x;
    assert!((x - 1.5 * 1.5).abs() < 1e-9, "{x}");
}

#[test]
fn contact_force_of_a_pair_is_the_weight_above_it() {
    /// Relative: residual over the speed that gravity gives in a step.
    const FORCE: f64 = 1e-6;
    for substeps in [1, 4] {
        let mut builder = stack(3);
        builder.settings.substeps = substeps;
        let mut world = builder.build().unwrap();
        run(&mut world, H, 50, &mut solver(TIGHT));
        let weight = 1000.0 * GRAVITY;
        for (i, above) in [(0, 3.0), (1, 2.0), (2, 1.0)] {
            let pair = (BodyId(i + 1), BodyId(i));
            let force = world.contact_force(pair, H);
            let expected = DVec3::new(0.0, 0.0, above * weight);
            let error = (force - expected).length() / expected.length();
            assert!(error < FORCE, "{substeps} substeps: {force}");
            let back = world.contact_force((pair.1, pair.0), H);
            assert!((force + back).length() < 1e-9 * weight);
        }
        assert_eq!(world.contact_force((BodyId(3), BodyId(0)), H), DVec3::ZERO);
    }
}

#[test]
fn bodies_do_not_sleep_unless_asked() {
    let mut world = stack(2).build().unwrap();
    run(&mut world, H, 200, &mut solver(TIGHT));
    assert!(!world.bodies().asleep.contains(&true));
}

/// A stack that has been at rest for long enough.
fn sleeping(boxes: usize) -> WorldBuilder {
    let mut builder = stack(boxes);
    builder.settings.sleep = Some(Sleep::default());
    builder
}

fn asleep(world: &World) -> Vec<bool> {
    world.bodies().asleep.clone()
}

#[test]
fn resting_stack_falls_asleep_and_a_sleeper_given_a_force_or_a_velocity_wakes() {
    let mut world = sleeping(2).build().unwrap();
    run(&mut world, H, 100, &mut solver(TIGHT));
    assert_eq!(asleep(&world), [false, true, true]);
    let still = world.state_hash();
    run(&mut world, H, 10, &mut solver(TIGHT));
    assert_eq!(world.state_hash(), still);
    // 1000 kg, μ = 0.5: 6 kN slide the upper box off at 6 − 4.905 m/s².
    world.bodies_mut().force[2] = DVec3::new(6e3, 0.0, 0.0);
    run(&mut world, H, 1, &mut solver(TIGHT));
    let speed = world.bodies().velocity[2].x;
    assert!((speed - (6.0 - 0.5 * GRAVITY) * H).abs() < 1e-8, "{speed}");
    run(&mut world, H, 100, &mut solver(TIGHT));
    assert_eq!(asleep(&world), [false, true, true]);
    world.bodies_mut().velocity[2] = DVec3::new(0.0, 0.0, 2.0);
    run(&mut world, H, 1, &mut solver(TIGHT));
    let speed = world.bodies().velocity[2].z;
    assert!((speed - (2.0 - GRAVITY * H)).abs() < 1e-8, "{speed}");
}

/// A ball hits a sleeping box from the side. Were the box woken only after the step of the impact, it would have
/// stopped the ball like a wall and the momentum would be gone.
#[test]
fn blow_wakes_a_sleeper_and_no_momentum_is_lost() {
    let mut builder = sleeping(0);
    let smooth = material(&mut builder, 0.0, 0.0);
    let half = DVec3::splat(0.1);
    let target = cuboid(&mut builder, half, at(DVec3::new(0.0, 0.0, 0.1)), smooth);
    let flying = Body {
        velocity: DVec3::new(-4.0, 0.0, 0.0),
        ..at(DVec3::new(5.0, 0.0, 0.1))
    };
    let hammer = ball(&mut builder, 0.05, flying, smooth);
    let mut world = builder.build().unwrap();
    world.gravity = DVec3::ZERO;
    run(&mut world, H, 100, &mut solver(TIGHT));
    assert!(world.bodies().asleep[target.index()]);
    run(&mut world, H, 50, &mut solver(TIGHT));
    assert!(!world.bodies().asleep[target.index()]);
    let common = -4.0 / 9.0;
    for id in [target, hammer] {
        let v = world.bodies().velocity[id.index()];
        assert!((v.x - common).abs() < 1e-9, "{v}");
    }
}

#[test]
fn blow_on_top_wakes_the_whole_stack() {
    let mut builder = sleeping(3);
    let surface = material(&mut builder, 0.5, 0.0);
    let flying = Body {
        velocity: DVec3::new(0.0, 0.0, -1.0),
        ..at(DVec3::new(0.1, 0.0, 12.0))
    };
    ball(&mut builder, 0.2, flying, surface);
    let mut world = builder.build().unwrap();
    let mut sleepers = Vec::new();
    for _ in 0..160 {
        run(&mut world, H, 1, &mut solver(TIGHT));
        let count = asleep(&world).iter().filter(|a| **a).count();
        if sleepers.last() != Some(&count) {
            sleepers.push(count);
        }
    }
    // All asleep together, and woken by one step.
    assert_eq!(sleepers, [0, 3, 0], "{sleepers:?}");
}

#[test]
fn step_sizes_that_are_no_steps_are_refused() {
    let mut world = stack(1).build().unwrap();
    let before = world.state_hash();
    for h in [0.0, -0.01, f64::NAN, f64::INFINITY] {
        let refused = world.step(h, &mut solver(TIGHT));
        assert!(matches!(refused, Err(StepError::BadStep { .. })), "{h}");
    }
    assert_eq!(world.state_hash(), before);
    assert!(world.step(H, &mut solver(TIGHT)).is_ok());
}

#[test]
fn force_that_is_no_number_is_refused_by_name_and_the_world_goes_on() {
    for substeps in [1, 3] {
        let mut world = stack(2).build().unwrap();
        world.settings.substeps = substeps;
        run(&mut world, H, 10, &mut solver(TIGHT));
        let before = world.state();
        world.bodies_mut().force[2] = DVec3::new(0.0, f64::NAN, 0.0);
        let refused = world.step(H, &mut solver(TIGHT)).unwrap_err();
        let StepError::Assemble(BuildError::NotFinite { place, .. }) = &refused else {
            panic!("{refused}");
        };
        assert_eq!(place, "force of body \"body-000002\"");
        assert_eq!(world.state(), before);
        world.bodies_mut().force[2] = DVec3::ZERO;
        run(&mut world, H, 10, &mut solver(TIGHT));
    }
}

/// A body in space at the edge of what a number holds; without colliders nothing else refuses it.
fn far(position: f64, velocity: f64) -> World {
    let mut builder = space();
    let body = Body {
        name: "far".to_owned(),
        position: DVec3::new(position, 0.0, 0.0),
        velocity: DVec3::new(velocity, 0.0, 0.0),
        ..Body::default()
    };
    builder.add_body(body).unwrap();
    builder.build().unwrap()
}

#[test]
fn step_that_overflows_leaves_the_state_as_it_was() {
    // With three substeps the second overflows, when the first has already moved the body.
    for (substeps, position, h) in [(1, 1.5e308, 1.0), (3, 0.0, 3.0)] {
        let mut world = far(position, 1e308);
        world.settings.substeps = substeps;
        let before = world.state();
        let refused = world.step(h, &mut solver(TIGHT)).unwrap_err();
        let StepError::NotFinite { body, problem, .. } = &refused else {
            panic!("{substeps} substeps: {refused}");
        };
        assert_eq!(body, "far");
        assert_eq!(problem.blocks().len(), 0);
        assert_eq!(world.state(), before, "{substeps} substeps");
        world.bodies_mut().velocity[0] = DVec3::ZERO;
        run(&mut world, H, 1, &mut solver(TIGHT));
    }
}

#[test]
fn force_that_overflows_is_refused_by_name() {
    let mut world = far(0.0, 0.0);
    world.bodies_mut().mass[0] = 1e-3;
    let before = world.state();
    world.bodies_mut().force[0] = DVec3::new(1e308, 0.0, 0.0);
    let refused = world.step(H, &mut solver(TIGHT)).unwrap_err().to_string();
    assert!(refused.contains("\"far\""), "{refused}");
    assert_eq!(world.state(), before);
}

/// Boxes, balls and a driven arm that hits them: contacts come and go, warm start and joint coordinate matter.
fn busy(sleep: Option<Sleep>) -> World {
    let mut builder = stack(3);
    builder.settings.sleep = sleep;
    let surface = material(&mut builder, 0.3, 0.4);
    for i in 0..4 {
        let i = f64::from(i);
        let place = at(DVec3::new(0.3 * i - 0.4, 0.1 * i, 3.5 + 0.4 * i));
        ball(&mut builder, 0.15, place, surface);
    }
    let arm = at(DVec3::new(1.6, 0.0, 1.5));
    let arm = cuboid(&mut builder, DVec3::new(0.5, 0.1, 0.1), arm, surface);
    let motor = delassus::world::Motor {
        speed: -3.0,
        max_force: 2e3,
    };
    let drive = Drive {
        motor: Some(motor),
        ..Drive::default()
    };
    let place = JointAxis::new(DVec3::new(2.1, 0.0, 1.5), DVec3::Z);
    let kind = JointKind::Hinge(drive);
    let joint = Joint::at(builder.bodies(), [Some(arm), None], place, kind);
    builder.add_joint(joint).unwrap();
    builder.build().unwrap()
}

/// Many steps with a loose tolerance, as users run it: warm starts decide the last digits.
fn advance(world: &mut World, steps: usize) {
    for _ in 0..steps {
        world.step(H, &mut solver(1e-5)).unwrap();
    }
}

#[test]
fn same_world_ends_in_the_same_bits() {
    let (mut first, mut second) = (busy(None), busy(None));
    let start = first.state_hash();
    advance(&mut first, 150);
    advance(&mut second, 150);
    assert_ne!(first.state_hash(), start);
    assert_eq!(first.state_hash(), second.state_hash());
}

#[test]
fn restored_run_goes_on_bit_for_bit_also_through_text() {
    for sleep in [None, Some(Sleep::default())] {
        let mut whole = busy(sleep);
        advance(&mut whole, 70);
        let state = whole.state();
        let text = serde_json::to_string(&state).unwrap();
        advance(&mut whole, 80);
        for source in [state, serde_json::from_str::<State>(&text).unwrap()] {
            let mut resumed = busy(sleep);
            resumed.restore(&source).unwrap();
            advance(&mut resumed, 80);
            assert_eq!(resumed.state_hash(), whole.state_hash());
            assert_eq!(resumed.state(), whole.state());
        }
    }
}
