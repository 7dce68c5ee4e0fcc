//! Every kind of joint: holds what it must, frees what it must.

#![cfg(feature = "world")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail loudly"
)]

#[path = "common/world.rs"]
mod kit;

use delassus::math::{DMat3, DQuat, DVec3};
use delassus::world::{Body, Drive, GearTerm, Joint, JointAxis, JointKind, MovedBy};
use delassus::{BodyId, JointId, World, WorldBuilder};
use kit::{GRAVITY, at, ball, ground, join, material, run, solver, space};

/// Step of these runs \[s\].
const H: f64 = 1e-3;
/// Law residual of each solve [m/s].
const TIGHT: f64 = 1e-10;
/// Violation of joints of 1 m that turn at less than 6 rad/s [m or rad]: (ωh)², linearised once a step.
const HELD: f64 = 3.6e-5;
/// Sizes of a steady state that is known exactly, relative: the solver's tolerance and what is left of transients.
const STEADY: f64 = 1e-6;

/// Two bodies in space, joined at a point between them along z.
fn pair(kind: JointKind) -> (World, JointId) {
    let mut builder = space();
    let mut body = |x: f64| {
        let inertia = DMat3::from_diagonal(DVec3::new(0.3, 0.2, 0.4));
        let body = Body {
            inertia,
            ..at(DVec3::new(x, 0.1 * x, 0.0))
        };
        builder.add_body(body).unwrap()
    };
    let links = [Some(body(-0.5)), Some(body(0.5))];
    let mut joint = Joint::at(
        builder.bodies(),
        links,
        JointAxis::new(DVec3::ZERO, DVec3::Z),
        kind,
    );
    joint.name = "joint".to_owned();
    let id = builder.add_joint(joint).unwrap();
    (builder.build().unwrap(), id)
}

/// How many independent relative motions the joint lets pass, found by pushing the first body in each of the six
/// directions, and the worst violation one second after a hard push.
fn freedoms(kind: &JointKind) -> (usize, f64) {
    /// So gentle that axes do not turn while the share Υ of a held velocity that SPOOK keeps dies out.
    const GENTLE: f64 = 1e-4;
    let pushed = |direction: usize, speed: f64, steps: usize| {
        let (mut world, _) = pair(kind.clone());
        let mut push = [DVec3::ZERO; 2];
        push[direction / 3][direction % 3] = speed;
        world.bodies_mut().velocity[0] = push[0];
        world.bodies_mut().spin[0] = push[1];
        let last = run(&mut world, H, steps, &mut solver(1e-13));
        (world, last)
    };
    let mut rows: Vec<[f64; 6]> = Vec::new();
    let mut worst: f64 = 0.0;
    for direction in 0..6 {
        let (world, _) = pushed(direction, GENTLE, 30);
        let bodies = world.bodies();
        let (first, second) = (BodyId(0), BodyId(1));
        let point = bodies.to_world(second, DVec3::new(-0.5, -0.05, 0.0));
        let v = bodies.velocity_at(first, point) - bodies.velocity_at(second, point);
        let (v, spin) = (v / GENTLE, (bodies.spin[0] - bodies.spin[1]) / GENTLE);
        rows.push([v.x, v.y, v.z, spin.x, spin.y, spin.z]);
        worst = worst.max(pushed(direction, 1.0, 1000).1.violation);
    }
    (rank(rows), worst)
}

/// Rank by elimination with full pivots.
fn rank(mut rows: Vec<[f64; 6]>) -> usize {
    /// A pivot below this is the solver's tolerance, what Υ³⁰ leaves, or the small turn of the axes.
    const PIVOT: f64 = 1e-3;
    let mut rank = 0;
    while rank < rows.len() {
        let places = (rank..rows.len()).flat_map(|i| (0..6).map(move |j| (i, j)));
        let size = |&(i, j): &(usize, usize)| rows[i][j].abs();
        let (i, j) = places.max_by(|a, b| size(a).total_cmp(&size(b))).unwrap();
        if rows[i][j].abs() < PIVOT {
            break;
        }
        rows.swap(rank, i);
        let pivot = rows[rank];
        for row in &mut rows[rank + 1..] {
            let factor = row[j] / pivot[j];
            for (x, p) in row.iter_mut().zip(pivot) {
                *x -= factor * p;
            }
        }
        rank += 1;
    }
    rank
}

#[test]
fn every_joint_frees_exactly_its_motions_and_holds_the_others() {
    for (kind, free) in [
        (JointKind::Ball, 3),
        (JointKind::Hinge(Drive::default()), 1),
        (JointKind::Slider(Drive::default()), 1),
        (JointKind::Universal, 2),
        (JointKind::Fixed, 0),
    ] {
        let (found, violation) = freedoms(&kind);
        eprintln!("{kind:?}: {found} freedoms, violation {violation:.1e} after 1 s");
        assert_eq!(found, free, "{kind:?}");
        assert!(violation < HELD, "{kind:?}: {violation}");
    }
}

/// Ends that coincide have no direction to be held along; the joint must not blow up over it.
#[test]
fn rod_of_no_length_stays_finite_and_short() {
    let (mut world, _) = pair(JointKind::Distance {
        least: 0.0,
        greatest: 0.0,
    });
    world.bodies_mut().velocity[0] = DVec3::new(0.1, 0.0, 0.0);
    let last = run(&mut world, H, 200, &mut solver(TIGHT));
    eprintln!("rod of no length: {:.1e} m", last.violation);
    assert!(last.violation < 1e-3, "{}", last.violation);
}

/// A bob on a line of 1 m from the origin, pulled by gravity.
fn hung(least: f64, start: DVec3, velocity: DVec3) -> (World, JointId) {
    let mut builder = WorldBuilder::default();
    let bob = builder
        .add_body(Body {
            velocity,
            ..at(start)
        })
        .unwrap();
    let kind = JointKind::Distance {
        least,
        greatest: 1.0,
    };
    let mut joint = Joint::at(
        builder.bodies(),
        [Some(bob), None],
        JointAxis::new(start, DVec3::Z),
        kind,
    );
    joint.frames[1].origin = DVec3::ZERO;
    let id = builder.add_joint(joint).unwrap();
    (builder.build().unwrap(), id)
}

#[test]
fn rod_keeps_its_length_and_frees_five_motions() {
    let (mut world, _) = hung(1.0, DVec3::X, DVec3::new(0.0, 1.0, 0.0));
    world.bodies_mut().spin[0] = DVec3::new(1.0, 2.0, 3.0);
    let mut worst: f64 = 0.0;
    for _ in 0..2000 {
        let step = run(&mut world, H, 1, &mut solver(TIGHT));
        worst = worst.max(step.violation);
    }
    eprintln!("rod: violation {worst:.1e}");
    assert!(worst < HELD, "{worst}");
    // A line through the centre of mass leaves the spin alone.
    let spin = world.bodies().spin[0] - DVec3::new(1.0, 2.0, 3.0);
    assert!(spin.length() < 1e-9, "{spin}");
}

#[test]
fn rope_lets_fall_until_it_is_taut_and_then_holds() {
    let (mut world, _) = hung(0.0, DVec3::new(0.0, 0.0, -0.5), DVec3::ZERO);
    run(&mut world, H, 300, &mut solver(TIGHT));
    let fallen = world.bodies().velocity[0].z;
    assert!((fallen + 0.3 * GRAVITY).abs() < 1e-9, "{fallen}");
    let last = run(&mut world, H, 1000, &mut solver(TIGHT));
    let height = world.bodies().position[0].z;
    assert!((height + 1.0).abs() < 1e-9, "{height}");
    assert!(last.violation < HELD);
}

/// Three wheels about z; Σ ratio ω = 0 and nothing else.
#[test]
fn gear_of_three_bodies_keeps_its_sum_and_shares_torque_by_ratio() {
    let mut builder = space();
    let ratios = [1.0, -2.0, 0.5];
    let mut terms = Vec::new();
    for (i, ratio) in ratios.into_iter().enumerate() {
        let wheel = builder
            .add_body(at(DVec3::new(3.0 * i as f64, 0.0, 0.0)))
            .unwrap();
        let kind = JointKind::Hinge(Drive::default());
        let place = JointAxis::new(builder.bodies().position[i], DVec3::Z);
        let hinge = Joint::at(builder.bodies(), [Some(wheel), None], place, kind);
        builder.add_joint(hinge).unwrap();
        terms.push(GearTerm {
            body: wheel,
            axis: DVec3::Z,
            ratio,
        });
    }
    let gear = JointKind::Gear(terms);
    let id = join(&mut builder, [None, None], DVec3::Z, gear);
    let mut world = builder.build().unwrap();
    let mut worst: f64 = 0.0;
    for _ in 0..1000 {
        world.bodies_mut().torque[0] = DVec3::new(0.0, 0.0, 1.0);
        worst = worst.max(run(&mut world, H, 1, &mut solver(TIGHT)).violation);
    }
    let spin: Vec<f64> = world.bodies().spin.iter().map(|s| s.z).collect();
    let sum: f64 = ratios.iter().zip(&spin).map(|(r, s)| r * s).sum();
    assert!(sum.abs() < 1e-9, "{sum}");
    assert!(worst < 1e-9, "{worst}");
    // Unit inertias: ω̇ = (1, 0, 0) + ratio λ with λ = −1/Σ ratio².
    let lambda = -1.0 / 5.25;
    for (i, ratio) in ratios.into_iter().enumerate() {
        let expected = if i == 0 { 1.0 } else { 0.0 } + ratio * lambda;
        assert!((spin[i] - expected).abs() < STEADY, "{spin:?}");
    }
    let torque = world.joint_impulse(id)[0] / H;
    assert!((torque - lambda).abs() < STEADY, "{torque}");
}

#[test]
fn rolling_joint_keeps_speed_equal_to_spin_times_radius() {
    let mut builder = WorldBuilder::default();
    builder.gravity = DVec3::new(1.0, 0.5, -GRAVITY);
    let smooth = material(&mut builder, 0.0, 0.0);
    ground(&mut builder, DQuat::IDENTITY, smooth);
    let id = ball(&mut builder, 0.2, at(DVec3::new(0.0, 0.0, 0.2)), smooth);
    let kind = JointKind::Rolling { radius: 0.2 };
    let place = JointAxis::new(DVec3::new(0.0, 0.0, 0.2), DVec3::Z);
    let mut joint = Joint::at(builder.bodies(), [Some(id), None], place, kind);
    joint.frames[1].origin = DVec3::ZERO;
    builder.add_joint(joint).unwrap();
    let mut world = builder.build().unwrap();
    run(&mut world, H, 1000, &mut solver(TIGHT));
    let (v, spin) = (
        world.bodies().velocity[id.index()],
        world.bodies().spin[id.index()],
    );
    let slip = v + spin.cross(DVec3::new(0.0, 0.0, -0.2));
    assert!(slip.length() < 1e-8, "{slip}");
    // A rolling ball feels 5/7 of the pull.
    let expected = DVec3::new(1.0, 0.5, 0.0) * (5.0 / 7.0);
    assert!((v - expected).length() < STEADY, "{v}");
}

#[test]
fn compliant_joint_sags_by_compliance_times_force() {
    for (compliance, h) in [(1e-3, 1e-3), (1e-3, 1e-2), (1e-4, 1e-2)] {
        let mut builder = WorldBuilder::default();
        let body = builder.add_body(Body::default()).unwrap();
        let place = JointAxis::new(DVec3::ZERO, DVec3::Z);
        let mut joint = Joint::at(
            builder.bodies(),
            [Some(body), None],
            place,
            JointKind::Fixed,
        );
        joint.compliance = compliance;
        joint.damping = Some(0.05);
        let id = builder.add_joint(joint).unwrap();
        let mut world = builder.build().unwrap();
        run(&mut world, h, (4.0 / h) as usize, &mut solver(TIGHT));
        let sag = -world.bodies().position[0].z / (compliance * GRAVITY);
        assert!((sag - 1.0).abs() < 1e-5, "{sag}");
        let force = world.joint_impulse(id)[2] / h;
        assert!((force / GRAVITY - 1.0).abs() < 1e-5, "{force}");
    }
}

/// A bob on a ball joint to an anchor that is the world, a static body, or one that moves by itself.
fn anchored(anchor: Option<(MovedBy, DVec3)>) -> World {
    let mut builder = WorldBuilder::default();
    let (bob, link) = {
        let bob = builder.add_body(at(DVec3::new(0.0, 0.0, -1.0))).unwrap();
        let link = anchor.map(|(motion, velocity)| {
            let body = Body {
                motion,
                velocity,
                ..Body::default()
            };
            builder.add_body(body).unwrap()
        });
        (bob, link)
    };
    builder.gravity = DVec3::new(3.0, 0.0, -GRAVITY);
    join(&mut builder, [Some(bob), link], DVec3::Z, JointKind::Ball);
    let mut world = builder.build().unwrap();
    let velocity = anchor.filter(|(motion, _)| *motion == MovedBy::Kinematic);
    world.bodies_mut().velocity[0] = velocity.map_or(DVec3::ZERO, |(_, v)| v);
    let last = run(&mut world, H, 500, &mut solver(1e-12));
    assert!(last.violation < HELD, "{}", last.violation);
    world
}

#[test]
fn anchor_that_moves_by_itself_is_followed_and_a_static_one_is_the_world() {
    let free = anchored(None).bodies().position[0];
    // A velocity given to a static body means nothing.
    let fixed = anchored(Some((MovedBy::Static, DVec3::new(5.0, 0.0, 0.0))));
    assert!((fixed.bodies().position[0] - free).length() < 1e-12);
    // Galileo: on an anchor in steady motion the bob swings the same.
    let drift = DVec3::new(2.0, -1.0, 0.5);
    let moving = anchored(Some((MovedBy::Kinematic, drift)));
    let found = moving.bodies().position[0] - drift * 0.5;
    assert!((found - free).length() < 1e-9, "{found} {free}");
}

#[test]
fn geared_wheels_may_overlap_without_touching() {
    let mut builder = space();
    let surface = material(&mut builder, 0.5, 0.0);
    let wheels = [0.0, 0.15].map(|x| {
        let body = at(DVec3::new(x, 0.0, 0.0));
        ball(&mut builder, 0.1, body, surface)
    });
    let terms = wheels
        .map(|body| GearTerm {
            body,
            axis: DVec3::Z,
            ratio: 1.0,
        })
        .to_vec();
    let gear = JointKind::Gear(terms);
    join(&mut builder, [None, None], DVec3::Z, gear);
    let mut world = builder.build().unwrap();
    let last = run(&mut world, H, 10, &mut solver(TIGHT));
    assert_eq!(last.contacts, 0);
}

/// At τ = 0 and ε = 0 the stabilisation has a double eigenvalue −1 and violations grow.
#[test]
fn rigid_joint_without_damping_is_refused() {
    let mut builder = space();
    let body = builder.add_body(Body::default()).unwrap();
    let place = JointAxis::new(DVec3::ZERO, DVec3::Z);
    let mut joint = Joint::at(builder.bodies(), [Some(body), None], place, JointKind::Ball);
    joint.damping = Some(0.0);
    assert!(builder.add_joint(joint.clone()).is_err());
    joint.compliance = 1e-6;
    assert!(builder.add_joint(joint).is_ok());
}

/// A universal joint is a cross with a hinge about x to the first body and one about y to the second. With a cross
/// that weighs next to nothing both must swing alike.
#[test]
fn universal_joint_swings_like_a_light_cross_on_two_hinges() {
    /// What the cross adds to the inertia about the joint, relative, times the way of the bob \[m\].
    const LIGHT: f64 = 2e-4;
    let swing = |cross: bool| {
        let mut builder = WorldBuilder::default();
        builder.gravity = DVec3::new(3.0, -4.0, -GRAVITY);
        let bob = Body {
            inertia: DMat3::from_diagonal(DVec3::new(0.1, 0.2, 0.05)),
            spin: DVec3::new(0.5, 0.0, 0.0),
            ..at(DVec3::new(0.3, 0.0, -0.4))
        };
        let bob = builder.add_body(bob).unwrap();
        if cross {
            let light = Body {
                mass: 1e-3,
                inertia: DMat3::IDENTITY * 1e-4,
                ..Body::default()
            };
            let light = builder.add_body(light).unwrap();
            let hinge = || JointKind::Hinge(Drive::default());
            join(&mut builder, [Some(bob), Some(light)], DVec3::X, hinge());
            join(&mut builder, [Some(light), None], DVec3::Y, hinge());
        } else {
            let kind = JointKind::Universal;
            join(&mut builder, [Some(bob), None], DVec3::Z, kind);
        }
        let mut world = builder.build().unwrap();
        run(&mut world, H, 500, &mut solver(1e-9));
        (world.bodies().position[0], world.bodies().orientation[0])
    };
    let (one, two) = (swing(false), swing(true));
    let turned = one.1.angle_between(two.1);
    eprintln!(
        "universal: {:.1e} m, {turned:.1e} rad",
        one.0.distance(two.0)
    );
    assert!(one.0.distance(two.0) < LIGHT, "{one:?} {two:?}");
    assert!(turned < 2.0 * LIGHT, "{one:?} {two:?}");
    // It did swing.
    assert!(0.1 < one.0.distance(DVec3::new(0.3, 0.0, -0.4)));
}
