//! Springs and dampers of MJCF files that are not those of a joint at rest: refused by name, or left out and listed.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use delassus::model::robot::{Base, ImportError, RobotFile, parse};

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
