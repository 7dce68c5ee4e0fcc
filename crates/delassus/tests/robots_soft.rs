//! Springs, tendons, ball limits, relieved weight and loops that start open, from MJCF into worlds.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use delassus::model::robot::Base;
use delassus::model::scene::of_robot;
use delassus::solver::from_spec;
use delassus::world::Scene;
use delassus::{RobotId, Status, Stop};

fn scene(body: &str) -> Scene {
    let text = format!("<mujoco>{body}</mujoco>");
    of_robot(&text, "soft.xml", None, Base::Fixed).unwrap()
}

fn step(scene: &mut Scene, h: f64, count: usize) {
    let stop = Stop {
        tolerance: 1e-10,
        ..Stop::default()
    };
    let mut solver = from_spec("auto", stop, 0).unwrap();
    for _ in 0..count {
        let step = scene.world.step(h, solver.as_mut()).unwrap();
        assert_eq!(step.report.status, Status::Solved, "{}", step.report);
    }
}

fn q(scene: &Scene) -> Vec<f64> {
    scene.world.robots()[0].configuration().to_vec()
}

/// (m + h d + h²k) v = m v₀ − h k (q − rest): implicit Euler, stable however long the step.
#[test]
fn a_spring_takes_the_implicit_step() {
    let (m, k, d, h) = (2.0, 50.0, 0.3, 0.02);
    let mut scene = scene(&format!(
        r#"<option gravity="0 0 0"/><worldbody><body><joint type="slide" axis="1 0 0" stiffness="{k}" damping="{d}"
        springref="0.4"/><inertial pos="0 0 0" mass="{m}" diaginertia="1 1 1"/></body></worldbody>"#
    ));
    let (mut x, mut v) = (0.0, 0.0);
    for _ in 0..50 {
        v = (m * v - h * k * (x - 0.4)) / (m + h * d + h * h * k);
        x += h * v;
        step(&mut scene, h, 1);
        assert!((q(&scene)[0] - x).abs() < 1e-12, "{} {x}", q(&scene)[0]);
    }
    let stored = scene.world.probe().potential;
    assert!(
        (stored - 0.5 * k * (x - 0.4_f64).powi(2)).abs() < 1e-12,
        "{stored}"
    );
    step(&mut scene, 10.0, 20);
    assert!((q(&scene)[0] - 0.4).abs() < 1e-6, "long steps rest too");
}

/// Two weights over a pulley: the tendon of both slides cannot get longer than it is, so the heavier one sinks with
/// g (m₁ − m₂)/(m₁ + m₂) and the other rises.
#[test]
fn a_fixed_tendon_ties_two_slides() {
    let body = |name: &str, x: f64, mass: f64| {
        format!(
            r#"<body name="{name}" pos="{x} 0 5"><joint name="{name}" type="slide" axis="0 0 -1"/>
            <inertial pos="0 0 0" mass="{mass}" diaginertia="1 1 1"/></body>"#
        )
    };
    let mut scene = scene(&format!(
        r#"<worldbody>{}{}</worldbody><tendon><fixed limited="true" range="-1 0"><joint joint="a" coef="1"/>
        <joint joint="b" coef="1"/></fixed></tendon>"#,
        body("a", 0.0, 3.0),
        body("b", 1.0, 1.0)
    ));
    let (h, count) = (0.01, 50);
    step(&mut scene, h, count);
    let q = q(&scene);
    let a = 9.81 * 2.0 / 4.0;
    let wanted = 0.5 * a * h * h * (count * (count + 1)) as f64;
    assert!(
        (q[0] - wanted).abs() < 1e-6 && (q[0] + q[1]).abs() < 1e-6,
        "{q:?} {wanted}"
    );
}

/// At the beginning of the step the tendon is a radian from its limit and at rest, and no row of the step. Left to the
/// forces both hinges would turn by one radian, and the tendon by two.
#[test]
fn a_tendon_is_stopped_at_a_limit_that_was_far_when_the_step_began() {
    let hinge = |name: &str| {
        format!(
            r#"<body><joint name="{name}" type="hinge" axis="0 1 0"/>
            <inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/></body>"#
        )
    };
    let mut scene = scene(&format!(
        r#"<option gravity="0 0 0"/><worldbody>{}{}</worldbody><tendon><fixed limited="true" range="-1 1">
        <joint joint="a" coef="1"/><joint joint="b" coef="1"/></fixed></tendon>"#,
        hinge("a"),
        hinge("b")
    ));
    let h = 0.01;
    let robot = scene.world.robot_mut(RobotId(0)).unwrap();
    // h τ/I = 1/h
    robot.force.fill(0.01 / (h * h));
    step(&mut scene, h, 1);
    let sum: f64 = q(&scene).iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

/// A ball on a string of one metre falls, is caught, and hangs there.
#[test]
fn a_spatial_tendon_holds_what_hangs_on_it() {
    let mut scene = scene(
        r#"<worldbody><site name="top" pos="0 0 3"/><body name="ball" pos="0 0 2.9"><freejoint/>
        <geom size=".05"/><site name="eye"/></body></worldbody>
        <tendon><spatial limited="true" range="0 1"><site site="top"/><site site="eye"/></spatial></tendon>"#,
    );
    step(&mut scene, 0.005, 400);
    let ball = scene
        .world
        .bodies()
        .name
        .iter()
        .position(|n| n == "robot/ball")
        .unwrap();
    let z = scene.world.bodies().position[ball].z;
    assert!((z - 2.0).abs() < 1e-4, "{z}");
}

/// A ball joint turns no further than its range, and a link without weight stays where it is.
#[test]
fn a_ball_joint_stops_at_its_angle_and_a_relieved_link_floats() {
    let mut scene = scene(
        r#"<worldbody><body pos="0 0 3"><joint type="ball" range="0 30"/><geom size=".05" pos="1 0 0"/></body>
        <body pos="9 0 3" gravcomp="1"><joint axis="0 1 0"/><geom size=".05" pos="1 0 0"/></body></worldbody>"#,
    );
    step(&mut scene, 0.005, 400);
    let q = q(&scene);
    let angle = 2.0 * q[0].abs().min(1.0).acos();
    assert!(
        (angle.to_degrees() - 30.0).abs() < 0.1,
        "{}",
        angle.to_degrees()
    );
    assert!(q[4].abs() < 1e-12, "{}", q[4]);
}

/// Sites that are 0.2 m apart at the start come together over some steps, not in the first one.
#[test]
fn a_loop_that_starts_open_closes_over_time() {
    let mut scene = scene(
        r#"<option gravity="0 0 0"/><worldbody><site name="here" pos="0.2 0 1"/><body pos="0 0 1"><freejoint/>
        <geom size=".1"/><site name="there"/></body></worldbody>
        <equality><connect site1="here" site2="there"/></equality>"#,
    );
    step(&mut scene, 0.005, 1);
    let open = |scene: &Scene| (q(scene)[0] - 0.2).abs();
    assert!(0.1 < open(&scene), "{}", open(&scene));
    step(&mut scene, 0.005, 200);
    assert!(open(&scene) < 1e-9, "{}", open(&scene));
}

/// A gram on a free joint with a damper of 1 N s/m: v = v₀/(1 + h d/m), however large h d/m is.
#[test]
fn a_light_free_body_with_a_strong_damper_comes_to_rest() {
    let mut scene = scene(
        r#"<worldbody><body pos="0 0 9"><joint type="free" damping="1"/>
        <inertial pos="0 0 0" mass="0.001" diaginertia="1e-6 1e-6 1e-6"/></body></worldbody>"#,
    );
    step(&mut scene, 0.01, 100);
    // It sinks with g m/d.
    let v = scene.world.robots()[0].velocity()[5];
    assert!((v + 9.81e-3).abs() < 1e-6, "{v}");
}
