//! Robots through time: energy and loops over many steps, and trees against the same bodies on joints.
//!
//! `cargo test --release -p delassus --test robots_integrate -- --nocapture` prints the table of convergence;
//! `cargo test --release -p delassus --test robots_integrate -- --ignored --nocapture` runs the four-bar linkage for a
//! million steps.

#![cfg(feature = "world")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot build its world must stop there"
)]

use delassus::collide::Groups;
use delassus::math::DVec3;
use delassus::scenes::build;
use delassus::solver::{Stop, from_spec};
use delassus::tree::TreeJoint;
use delassus::world::{
    Attach, Body, Drive, Integrator, Joint, JointAxis, JointKind, MovedBy, Servo,
};
use delassus::{BodyId, LinkId, RobotId, Solver, World, WorldBuilder};

fn solver(spec: &str, tolerance: f64) -> Box<dyn Solver> {
    let stop = Stop {
        tolerance,
        sweeps: 5000,
        ..Stop::default()
    };
    from_spec(spec, stop, 0).unwrap()
}

fn energy(world: &World) -> f64 {
    let probe = world.probe();
    probe.kinetic + probe.potential
}

/// Largest energy error of the double pendulum within some seconds, released from this configuration \[J\].
fn energy_error(integrator: Integrator, start: [f64; 2], h: f64, seconds: f64) -> f64 {
    let mut world = build("double-pendulum").unwrap().world;
    world.settings.integrator = integrator;
    world.place_robot(RobotId(0), &start, &[0.0, 0.0]).unwrap();
    let start = energy(&world);
    let mut solver = solver("gauss-seidel", 1e-12);
    let mut worst: f64 = 0.0;
    for _ in 0..(seconds / h).round() as usize {
        world.step(h, solver.as_mut()).unwrap();
        worst = worst.max((energy(&world) - start).abs());
    }
    worst
}

#[test]
fn the_midpoint_rule_keeps_the_energy_of_the_double_pendulum_at_second_order() {
    let errors =
        [0.008, 0.004, 0.002].map(|h| energy_error(Integrator::Midpoint, [0.0; 2], h, 1.0));
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((order - 2.0).abs() < 0.3, "{errors:?}");
    }
    let first = [0.004, 0.002].map(|h| energy_error(Integrator::Spook, [0.0; 2], h, 1.0));
    let order = (first[0] / first[1]).log2();
    assert!((order - 1.0).abs() < 0.3, "{first:?}");
    assert!(errors[2] < 0.05 * first[1], "{errors:?} {first:?}");
}

#[test]
fn the_energy_error_of_the_midpoint_rule_does_not_pile_up() {
    // Level is zero, so that the upper bar starts 60 degrees from hanging.
    let start = [0.52, 0.4];
    let [short, long] = [4.0, 40.0].map(|t| energy_error(Integrator::Midpoint, start, 0.01, t));
    eprintln!("energy error {short:.2e} J within 4 s, {long:.2e} J within 40 s");
    assert!(long < 3.0 * short, "{short} {long}");
}

/// Steps the four-bar linkage and gives the widest its loop was open \[m\].
fn four_bar(steps: usize) -> f64 {
    let mut scene = build("four-bar").unwrap();
    let mut solver = solver("gauss-seidel", 1e-9);
    let mut worst: f64 = 0.0;
    for _ in 0..steps {
        let step = scene.world.step(0.001, solver.as_mut()).unwrap();
        worst = worst.max(step.violation);
    }
    worst
}

#[test]
fn the_four_bar_stays_closed_over_many_steps() {
    let open = four_bar(20_000);
    assert!(open < 1e-8, "{open}");
}

#[test]
#[ignore = "a million steps: half a minute with --release, many without"]
fn the_four_bar_stays_closed_over_a_million_steps() {
    let open = four_bar(1_000_000);
    eprintln!("the loop was open by {open:.1e} m at most");
    assert!(open < 1e-8, "{open}");
}

/// Bent knees, hips and arms as targets of the humanoid's servos.
fn targets(name: &str) -> f64 {
    match name.rsplit('-').next() {
        Some("thigh") => -0.5,
        Some("shin") => 1.0,
        Some("foot") => -0.5,
        Some("arm") => -1.0,
        Some("forearm") => -0.8,
        _ => 0.0,
    }
}

/// The humanoid with a share of these targets, on the ground or in free fall.
fn tree(ground: bool, bend: f64) -> World {
    let mut world = build("humanoid").unwrap().world;
    let robot = world.robot_mut(RobotId(0)).unwrap();
    for joint in robot.joints_mut() {
        let servo = joint.control.drive.servo;
        joint.control.drive = Drive {
            servo: servo.map(|servo| Servo {
                position: bend * targets(&joint.name),
                stiffness: 0.2 * servo.stiffness,
                damping: 0.2 * servo.damping,
                ..servo
            }),
            ..Drive::default()
        };
    }
    if !ground {
        let mut q = world.robots()[0].configuration().to_vec();
        let v = world.robots()[0].velocity().to_vec();
        q[2] += 10.0;
        world.place_robot(RobotId(0), &q, &v).unwrap();
    }
    world
}

/// The same links as free bodies on hinges with the same servos.
fn loose(world: &World) -> World {
    let mut builder = WorldBuilder::default();
    let (bodies, robot) = (world.bodies(), &world.robots()[0]);
    for id in bodies.ids() {
        let mut body = bodies.get(id);
        if body.motion == MovedBy::Link {
            body.motion = MovedBy::Dynamic;
        }
        assert_eq!(builder.add_body(Body { ..body }).unwrap(), id);
    }
    // Links of one robot do not touch each other; the ground is in a group of its own.
    for collider in world.colliders() {
        let moves = bodies.motion[collider.body] == MovedBy::Link;
        let groups = Groups {
            member: if moves { 1 } else { 2 },
            with: if moves { 2 } else { 1 },
        };
        let attach = Attach {
            position: collider.pose.0,
            rotation: collider.pose.1,
            groups,
            ..Attach::default()
        };
        let body = BodyId(collider.body as u32);
        let shape = collider.shape.clone();
        builder.add_collider(body, shape, attach).unwrap();
    }
    for joint in robot.joints() {
        let link = &robot.tree().links()[joint.link.index()];
        let (TreeJoint::Revolute { axis }, Some(parent)) = (link.joint, link.parent) else {
            continue;
        };
        let child = robot.body(joint.link).unwrap();
        let turn = bodies.orientation[child.index()];
        let point = bodies.position[child.index()] - turn * link.body.com;
        let links = [Some(child), robot.body(parent)];
        let kind = JointKind::Hinge(joint.control.drive);
        let hinge = Joint::at(
            builder.bodies(),
            links,
            JointAxis::new(point, turn * axis),
            kind,
        );
        builder.add_joint(hinge).unwrap();
    }
    let mut built = builder.build().unwrap();
    for surface in built.surfaces_mut() {
        surface.friction = 0.8;
    }
    built
}

/// Largest distance between the links of both humanoids after some seconds in steps of h \[m\]; and the time in which one
/// had contacts that the other had not \[s\].
fn apart((ground, bend): (bool, f64), h: f64, seconds: f64) -> (f64, f64) {
    let mut tree = tree(ground, bend);
    let mut loose = loose(&tree);
    let start = tree.bodies().position.clone();
    // Joints exactly, the rest by sweeps: both worlds are solved to far below their distance.
    let mut solver = solver("hybrid", 1e-8);
    let mut differ = 0.0;
    for _ in 0..(seconds / h).round() as usize {
        let one = tree.step(h, solver.as_mut()).unwrap();
        let other = loose.step(h, solver.as_mut()).unwrap();
        if one.contacts != other.contacts {
            differ += h;
        }
    }
    let (a, b) = (&tree.bodies().position, &loose.bodies().position);
    let largest = |a: &[DVec3], b: &[DVec3]| {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max)
    };
    assert!(0.05 * bend < largest(a, &start), "it moves");
    (largest(a, b), differ)
}

#[test]
fn a_humanoid_as_a_tree_and_as_bodies_on_hinges_move_alike_as_steps_shrink() {
    let body = tree(true, 1.0).robots()[0].body(LinkId(0));
    assert_eq!(body, Some(BodyId(1)));
    for (case, what) in [
        ((false, 1.0), "free fall"),
        ((true, 0.2), "feet on the ground"),
        ((true, 1.0), "feet lift"),
    ] {
        // The finest step takes minutes where nothing is optimised.
        let halvings = if cfg!(debug_assertions) { 2 } else { 3 };
        let steps = (0..=halvings).map(|k| 0.004 / f64::from(1 << k));
        let (gaps, differ): (Vec<f64>, Vec<f64>) = steps.map(|h| apart(case, h, 0.2)).unzip();
        for (k, (gap, differ)) in gaps.iter().zip(&differ).enumerate() {
            let (h, differ) = (4.0 / f64::from(1 << k), 1e3 * differ);
            eprintln!(
                "{what}: h = {h} ms, links apart by {gap:.2e} m, other contacts for {differ} ms"
            );
        }
        // First order: the slope in a doubly logarithmic plot.
        let last = gaps[gaps.len() - 1];
        let order = (gaps[0] / last).log2() / f64::from(halvings);
        assert!(0.75 < order, "{what}: order {order}, {gaps:?}");
        assert!(last < 5e-3, "{what}: {gaps:?}");
    }
}
