//! Springs and dampers of MJCF files that are not those of a joint at rest: refused by name, or left out and listed.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use delassus::WorldBuilder;
use delassus::model::robot::{Base, ImportError, RobotFile, parse};
use delassus::solver::{Stop, from_spec};
use delassus::world::Placement;

/// A body with a mass on a joint with these attributes.
fn read(joint: &str) -> Result<RobotFile, ImportError> {
    let inertial = r#"<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>"#;
    let body = format!("<body><joint {joint}/>{inertial}</body>");
    let text = format!("<mujoco><worldbody>{body}</worldbody></mujoco>");
    parse(&text, "odd.xml", None, Base::Fixed)
}

/// What is not simulated is not left out without a word.
#[test]
fn springs_of_free_joints_and_curved_ones_are_refused_by_name() {
    let error = read(r#"stiffness="5 1""#).unwrap_err();
    assert!(error.to_string().contains("stiffness of more"), "{error}");
    let error = read(r#"type="free" stiffness="5""#).unwrap_err();
    assert!(
        error.to_string().contains("stiffness 5 of a free joint"),
        "{error}"
    );
}

#[test]
fn damping_that_drives_a_joint_on_is_left_out_and_listed() {
    let fitted = read(r#"damping="-0.01""#).unwrap();
    let text = &fitted.warnings[0].text;
    assert!(text.contains("damping of -0.01"), "{text}");
    assert_eq!(fitted.robot.tree.links()[0].damping, 0.0);
}

/// A link on a hinge along y, a metre out, which is relieved of twice its weight.
fn carried(joint: &str, rest: &str) -> RobotFile {
    let body = r#"<inertial pos="1 0 0" mass="2" diaginertia=".01 .01 .01"/>"#;
    let text = format!(
        r#"<mujoco><worldbody><body gravcomp="2"><joint name="j" axis="0 1 0" {joint}/>{body}</body></worldbody>{rest}</mujoco>"#
    );
    parse(&text, "carried.xml", None, Base::Fixed).unwrap()
}

/// Angular acceleration of the link of [`carried`] at the start, by a short step.
fn pace(file: &RobotFile) -> f64 {
    const H: f64 = 1e-6;
    let mut builder = WorldBuilder::default();
    builder
        .add_robot(&file.robot, &Placement::default())
        .unwrap();
    let mut world = builder.build().unwrap();
    let mut solver = from_spec("gauss-seidel", Stop::default(), 0).unwrap();
    world.step(H, solver.as_mut()).unwrap();
    world.robots()[0].velocity()[0] / H
}

/// g m l / (I + m l²) down where nothing carries it, as much up where all is carried; a bound of 1 N m takes off so much.
/// The numbers are those of MuJoCo 4.0.
#[test]
fn weight_that_actuators_carry_is_carried_only_where_they_act_and_within_their_bounds() {
    const INERTIA: f64 = 2.01;
    let (fall, motor) = (
        9.81 * 2.0 / INERTIA,
        r#"<actuator><motor joint="j"/></actuator>"#,
    );
    let off = r#"<option><flag actuation="disable"/></option>"#;
    let soft = r#"<option><flag spring="disable" damper="disable"/></option>"#;
    let carries = r#"actuatorgravcomp="true""#;
    let bounded = r#"actuatorgravcomp="true" actuatorfrcrange="-1 1""#;
    for (joint, rest, wanted) in [
        ("", String::new(), -fall),
        ("", off.to_owned(), -fall),
        ("", soft.to_owned(), fall),
        (carries, String::new(), fall),
        (carries, motor.to_owned(), -fall),
        (carries, format!("{motor}{off}"), fall),
        (bounded, motor.to_owned(), fall - 1.0 / INERTIA),
    ] {
        let found = pace(&carried(joint, &rest));
        assert!(
            (found - wanted).abs() < 1e-6 * fall,
            "{joint} {rest}: {found}, wanted {wanted}"
        );
    }
}

/// A push is held to its bounds on either side, those of the joint too.
#[test]
fn bounds_of_actuators_may_differ_in_either_direction() {
    let push = |joint: &str, range: &str| {
        let actuator = format!(
            r#"<actuator><general joint="j" biastype="affine" biasprm="-9 0 0" forcelimited="true" forcerange="{range}"/></actuator>"#
        );
        carried(joint, &actuator).robot.joints[0].push
    };
    assert_eq!(push("", "-2 5"), -2.0);
    assert_eq!(push("", "3 5"), 3.0);
    assert_eq!(push(r#"actuatorfrcrange="-1 5""#, "-2 5"), -1.0);
}

/// Torque of actuators at the start, on the link of [`carried`], whose weight pushes it by −2 g.
fn torque(joint: &str, actuators: &str) -> f64 {
    let file = carried(joint, &format!("<actuator>{actuators}</actuator>"));
    2.01 * pace(&file) + 2.0 * 9.81
}

/// Servos that want far more than they may: each side has its own bound, whichever way the gear turns, within the joint's
/// bounds for all of its actuators together. The numbers are those of MuJoCo 4.0.
#[test]
fn servos_push_within_bounds_that_differ() {
    let servo = |more: &str| format!(r#"<position joint="j" kp="100" forcerange="-1 5" {more}/>"#);
    let (up, down) = (servo(r#"ctrlrange="1 2""#), servo(r#"ctrlrange="-2 -1""#));
    let turned = servo(r#"ctrlrange="1 2" gear="-2""#);
    let push = r#"<general joint="j" biastype="affine" biasprm="3 0 0"/>"#;
    let speed = r#"<velocity joint="j" kv="10" ctrlrange="1 2" forcerange="-1 4"/>"#;
    let cases = [
        ("", up.clone(), 5.0),
        ("", down.clone(), -1.0),
        ("", turned, -10.0),
        (r#"actuatorfrcrange="-.5 2""#, up.clone(), 2.0),
        (r#"actuatorfrcrange="-.5 2""#, down.clone(), -0.5),
        (r#"actuatorfrcrange="-9 7""#, format!("{up}{push}"), 7.0),
        (r#"actuatorfrcrange="2.5 7""#, format!("{down}{push}"), 2.5),
        (r#"actuatorfrcrange="9 11""#, format!("{up}{push}"), 9.0),
        (r#"actuatorfrcrange="-9 1""#, format!("{down}{push}"), 1.0),
        ("", speed.to_owned(), 4.0),
        ("", format!("{speed}{down}"), 3.0),
        ("", format!("{up}{up}"), 10.0),
        ("", format!("{up}{down}"), 4.0),
    ];
    for (joint, actuators, wanted) in cases {
        let found = torque(joint, &actuators);
        assert!(
            (found - wanted).abs() < 1e-3,
            "{joint} {actuators}: {found}, wanted {wanted}"
        );
    }
}

/// Two servos with bounds along one tendon, each held to its own, and a joint's bounds that do not reach them, which is said.
/// The first two numbers are those of MuJoCo 4.0; it holds the third to 2.
#[test]
fn servos_along_a_tendon_push_within_bounds_that_differ() {
    let tendon = r#"<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>"#;
    let up = r#"<position tendon="t" kp="100" forcerange="-1 5" ctrlrange="1 2"/>"#;
    let down = r#"<position tendon="t" kp="100" forcerange="-1 5" ctrlrange="-2 -1" gear="1.5"/>"#;
    let found = |joint: &str, actuators: &str| {
        let file = carried(joint, &format!("{tendon}<actuator>{actuators}</actuator>"));
        (2.01 * pace(&file) + 2.0 * 9.81, file.warnings)
    };
    for (joint, actuators, wanted, said) in [
        ("", up.to_owned(), 10.0, 0),
        ("", format!("{up}{down}"), 7.0, 0),
        (r#"actuatorfrcrange="-2 2""#, up.to_owned(), 10.0, 1),
    ] {
        let (force, warnings) = found(joint, &actuators);
        assert!((force - wanted).abs() < 1e-3, "{actuators}: {force}");
        let bounds = |w: &&delassus::model::robot::Warning| w.text.contains("actuatorfrcrange");
        assert_eq!(warnings.iter().filter(bounds).count(), said, "{warnings:?}");
    }
}
