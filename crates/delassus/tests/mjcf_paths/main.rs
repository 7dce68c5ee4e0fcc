//! Paths of tendons and actuators, against what MuJoCo finds for them.
//!
//! The numbers are those of MuJoCo 4.0.0 by its Python package, on the files below: `ten_length`, `ten_J`,
//! `actuator_length`, `actuator_moment`, `actuator_force` and `qacc` after `mj_forward` in each of [`STATES`].
//! MuJoCo looks for the point where a string touches a surface from the inside to 1e-6 only, which is seen in the eighth
//! digit of `ten_J`; there the numbers are differences of its `ten_length`, over three steps, extrapolated.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod numbers;

use delassus::RobotId;
use delassus::model::robot::{Base, parse};
use delassus::model::scene::of_robot;
use delassus::solver::from_spec;
use delassus::tree::TreeRows;
use delassus::world::{Posed, RobotModel, Tendon};
use delassus::{Status, Stop};

use numbers::*;

/// Tendons with inertia, on one chain of links: MuJoCo leaves out what couples joints of two branches.
const ARMATURES: &str = r#"<tendon><spatial armature="3"><site site="u2"/><site site="l2"/><pulley divisor="2"/><site site="ground"/><site site="u1"/><site site="l1"/></spatial>
<fixed armature=".5"><joint joint="a" coef="2"/><joint joint="c" coef="-.5"/></fixed></tendon>"#;

/// Accelerations at [`VELOCITY`] with the inertia of tendons.
const ARMATURE_ACCELERATIONS: [[f64; 5]; 4] = [
    [
        0.042391636450369835,
        0.04010447069400901,
        -0.23283257705105398,
        -0.46533676022069326,
        0.0,
    ],
    [
        0.22950054054042318,
        0.06259819850994416,
        0.7209866770338331,
        -1.339287918537179,
        0.0,
    ],
    [
        0.3333403607761713,
        0.09299677281772609,
        1.0142337346959045,
        2.823023443330272,
        0.0,
    ],
    [
        0.39301323953454625,
        0.1148404889332462,
        1.4841809612450019,
        -0.17926314922849906,
        0.0,
    ],
];

fn file(sections: &str) -> String {
    format!("<mujoco>{BODIES}{sections}</mujoco>")
}

fn model(sections: &str) -> RobotModel {
    let read = parse(&file(sections), "paths.xml", None, Base::Fixed);
    read.unwrap().robot
}

/// Length and row of a path in a configuration.
fn measured(model: &RobotModel, tendon: &Tendon, q: &[f64]) -> (f64, Vec<f64>) {
    let tree = &model.tree;
    let (mut data, mut rows) = (tree.data(), TreeRows::default());
    tree.kinematics(q, &mut data).unwrap();
    let posed = Posed {
        tree,
        data: &data,
        q,
    };
    let length = tendon.measure(posed, &mut rows).unwrap();
    (length, tree.rows_matrix(&data, &rows))
}

fn compare<const N: usize>(model: &RobotModel, wanted: &[[(f64, [f64; 5]); N]; 4]) {
    assert_eq!(model.tendons.len(), N);
    for (q, paths) in STATES.iter().zip(wanted) {
        for (i, ((length, moments), tendon)) in paths.iter().zip(&model.tendons).enumerate() {
            let (l, row) = measured(model, tendon, q);
            assert!((l - length).abs() < 1e-9, "{i} at {q:?}: {l} {length}");
            for (x, y) in row.iter().zip(moments) {
                assert!((x - y).abs() < 1e-9, "{i} at {q:?}: {row:?} {moments:?}");
            }
        }
    }
}

#[test]
fn tendons_lie_around_spheres_and_cylinders() {
    compare(&model(TENDONS), &TENDON_PATHS);
}

#[test]
fn actuators_push_cranks_and_sites() {
    compare(&model(ACTUATORS), &ACTUATOR_PATHS);
}

/// The row of a path is the gradient of its length, but for a thrust and for sites seen from others that move.
#[test]
fn rows_are_gradients_of_lengths() {
    let (tendons, actuators) = (model(TENDONS), model(ACTUATORS));
    let paths = tendons.tendons.iter().map(|t| (&tendons, t));
    let cranks = actuators.tendons[..3].iter().map(|t| (&actuators, t));
    for (model, tendon) in paths.chain(cranks) {
        for q in STATES {
            let (_, row) = measured(model, tendon, &q);
            for k in 0..5 {
                let moved = |by: f64| {
                    let mut q = q;
                    q[k] += by;
                    measured(model, tendon, &q).0
                };
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((slope - row[k]).abs() < 1e-7, "{k} {slope} {row:?}");
            }
        }
    }
}

/// (v⁺ − v)/h after one short step.
fn accelerations(sections: &str, q: &[f64; 5], v: &[f64; 5]) -> Vec<f64> {
    let mut scene = of_robot(&file(sections), "paths.xml", None, Base::Fixed).unwrap();
    let stop = Stop {
        tolerance: 1e-9,
        ..Stop::default()
    };
    let mut solver = from_spec("auto", stop, 0).unwrap();
    scene.world.place_robot(RobotId(0), q, v).unwrap();
    let h = 1e-5;
    let step = scene.world.step(h, solver.as_mut()).unwrap();
    assert_eq!(step.report.status, Status::Solved, "{}", step.report);
    let velocity = scene.world.robots()[0].velocity();
    velocity.iter().zip(v).map(|(a, b)| (a - b) / h).collect()
}

/// Servos, constant forces, muscles and the inertia of tendons push as they should: a step of 10 µs differs by its length alone.
#[test]
fn forces_reach_the_joints() {
    let still = [0.0; 5];
    let cases = [
        (ACTUATORS, ACCELERATIONS, still),
        (MUSCLES, MUSCLE_ACCELERATIONS, still),
        (ARMATURES, ARMATURE_ACCELERATIONS, VELOCITY),
    ];
    for (sections, all, v) in cases {
        for (q, wanted) in STATES.iter().zip(all) {
            let found = accelerations(sections, q, &v);
            let largest = wanted.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            assert!(0.0 < largest);
            for (x, y) in found.iter().zip(wanted) {
                let near = (x - y).abs() < 1e-4 * largest;
                assert!(near, "{sections} {found:?} {wanted:?}");
            }
        }
    }
}

#[test]
fn muscles_pull_by_their_curves() {
    let model = model(MUSCLES);
    for (activation, wanted) in [0.0, 0.6].into_iter().zip(MUSCLE_FORCES) {
        for (q, wanted) in STATES.iter().zip(wanted) {
            for (tendon, wanted) in model.tendons.iter().zip(wanted) {
                let (length, row) = measured(&model, tendon, q);
                let velocity = row.iter().zip(VELOCITY).map(|(j, v)| j * v).sum();
                let mut muscle = tendon.muscle.unwrap();
                muscle.activation = activation;
                let force = muscle.force(length, velocity);
                let error = (force - wanted).abs();
                assert!(error < 1e-9 * wanted.abs().max(1.0), "{force} {wanted}");
            }
        }
    }
}

#[test]
fn a_ratio_of_damping_is_one_of_the_inertia_that_is_met() {
    let model = model(RATIOS);
    let servos = model.tendons.iter().map(|t| t.servo.unwrap());
    let joint = model.joints.iter().find_map(|joint| joint.servo).unwrap();
    // What acts on tendons and joints is gear² times as much.
    let gears = [2.0, 1.0, 1.0, 3.0];
    let found = servos.chain([joint]).zip(gears);
    for ((servo, gear), wanted) in found.zip(DAMPINGS) {
        let error = (servo.damping - gear * gear * wanted).abs();
        assert!(error < 1e-9 * servo.damping, "{servo:?} {wanted}");
    }
}

/// Two hinges with limits, and muscles that do not say how short and long they get.
const LENGTHS: &str = r#"<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody><site name="s1" pos="0 0 .1"/>
<body><joint name="a" axis="0 1 0" range="-60 90"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/><site name="s2" pos=".2 0 .04"/>
<geom name="knee" type="cylinder" size=".03 .1" pos=".3 0 0" euler="90 0 0"/>
<body pos=".3 0 0"><joint name="b" axis="0 1 0" range="-10 120"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/><site name="s3" pos=".1 0 .03"/></body></body></worldbody>
<tendon><spatial name="t"><site site="s1"/><site site="s2"/><geom geom="knee"/><site site="s3"/></spatial>
<fixed name="f"><joint joint="a" coef=".05"/><joint joint="b" coef="-.03"/></fixed></tendon>
<actuator><muscle tendon="t"/><muscle tendon="f"/><muscle joint="b" gear=".7"/></actuator></mujoco>"#;

/// `actuator_lengthrange` of MuJoCo 4.0.0, whose limits give way a little.
const MUJOCO_LENGTHS: [[f64; 2]; 3] = [
    [0.30719485, 0.52330649],
    [-0.11522656, 0.08379473],
    [-0.12257057, 1.46666662],
];

#[test]
fn muscles_that_do_not_say_how_long_they_get_reach_the_limits_of_their_joints() {
    let read = parse(LENGTHS, "arm.xml", None, Base::Fixed).unwrap();
    let muscles = read.robot.tendons.iter().filter_map(|t| t.muscle.as_ref());
    let found: Vec<[f64; 2]> = muscles.map(|muscle| muscle.lengths).collect();
    assert_eq!(found.len(), 3);
    for ([least, most], [low, high]) in found.iter().zip(MUJOCO_LENGTHS) {
        let allowed = 2e-3 * (high - low);
        assert!(
            (least - low).abs() < allowed && (most - high).abs() < allowed,
            "{found:?}"
        );
    }
    let degree = std::f64::consts::PI / 180.0;
    assert!(
        (found[2][1] - 0.7 * 120.0 * degree).abs() < 1e-9,
        "{found:?}"
    );
    assert!(
        read.warnings
            .iter()
            .any(|w| w.text.contains("no lengthrange"))
    );
}

/// Active and passive force by curves of their own add up as those of two muscles.
#[test]
fn a_muscle_with_passive_curves_of_its_own_is_two() {
    let general = r#"<general joint="c" dyntype="muscle" gaintype="muscle" biastype="muscle" lengthrange="-1 1" ctrlrange="0 1""#;
    let gain = r#"gainprm=".7 1.2 30 200 .5 1.6 1.5 1.3 1.2""#;
    let two = format!(
        r#"<actuator>{general} {gain} biasprm=".8 1.1 20 200 .5 1.6 1.5 1.4 1.2"/></actuator>"#
    );
    let robot = parse(&file(&two), "odd.xml", None, Base::Fixed)
        .unwrap()
        .robot;
    let found: Vec<(f64, f64, f64)> = robot
        .tendons
        .iter()
        .filter_map(|t| t.muscle.as_ref())
        .map(|m| (m.force, m.passive, m.activation))
        .collect();
    assert_eq!(found, [(30.0, 0.0, 0.0), (20.0, 1.4, 0.0)]);
}

/// What cannot be is refused with its element, and what is not simulated by name.
#[test]
fn odd_paths_are_refused() {
    let tendon =
        |path: &str| format!(r#"<tendon><spatial stiffness="1">{path}</spatial></tendon>"#);
    let actuator = |what: &str| format!("<actuator>{what}</actuator>");
    let cases = [
        (
            tendon(r#"<site site="u1"/><geom geom="ball"/>"#),
            "between two sites",
        ),
        (
            tendon(r#"<geom geom="ball"/><site site="u1"/>"#),
            "between two sites",
        ),
        (
            tendon(r#"<site site="u1"/><geom geom="ghost"/><site site="l1"/>"#),
            "ghost",
        ),
        (
            actuator(r#"<position cranksite="l1" slidersite="u2" kp="1"/>"#),
            "cranklength",
        ),
        (
            actuator(r#"<position cranksite="l1" cranklength="1" kp="1"/>"#),
            "slidersite",
        ),
        (actuator(r#"<position site="ghost" kp="1"/>"#), "ghost"),
        (actuator(r#"<muscle joint="c"/>"#), "lengthrange"),
        (
            actuator(r#"<muscle joint="c" lengthrange="1 0"/>"#),
            "in order",
        ),
        (
            actuator(r#"<adhesion body="lower" gain="3" ctrlrange=".5 1"/>"#),
            "adhesion",
        ),
    ];
    for (sections, clue) in cases {
        let error = parse(&file(&sections), "odd.xml", None, Base::Fixed).unwrap_err();
        assert!(error.to_string().contains(clue), "{error}");
    }
}
