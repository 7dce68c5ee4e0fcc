//! Actuators of ball and free joints, against what MuJoCo finds for them.
//!
//! The numbers are `actuator_length` and `actuator_moment` of MuJoCo 4.0.0 by its Python package in the two keyframes,
//! the velocities of the free joint turned into its own axes.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use delassus::model::robot::{Base, ImportFault, RobotFile, parse};
use delassus::tree::TreeRows;
use delassus::world::Posed;

const ACTUATORS: &str = r#"<position joint="b" kp="50" gear="1 2 -3"/>
<position jointinparent="b" kp="50" gear=".3 -.5 1"/>
<damper joint="x" kv="1" ctrlrange="1 2" gear="3 4 5"/>
<damper joint="x" kv="1" ctrlrange="1 2" gear="0 0 0 1 -2 3"/>
<damper jointinparent="x" kv="1" ctrlrange="1 2" gear="1 2 3 4 5 -1"/>"#;

/// Lengths of the actuators of the ball joint.
const LENGTHS: [[f64; 2]; 2] = [
    [-6.771517626474413, 2.128191254034816],
    [0.0, -0.4353118474162122],
];

/// One velocity of the hinge, three of the ball, turning and moving of the free joint.
const MOMENTS: [[[f64; 10]; 5]; 2] = [
    [
        [0.0, 1.0, 2.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.476, -1.032, 0.22, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, -3.0, -4.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, -2.0, 3.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, -1.0, -4.0, -5.0, 3.0, -1.0, -2.0],
    ],
    [
        [0.0, 1.0, 2.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.836, 0.552, -0.58, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -3.96, 4.0, 4.28],
        [0.0, 0.0, 0.0, 0.0, 1.0, -2.0, 3.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 2.08, 5.0, 3.56, -2.6, 2.0, 1.8],
    ],
];

fn read(actuators: &str) -> Result<RobotFile, delassus::model::robot::ImportError> {
    let text = format!(
        r#"<mujoco><worldbody>
<body euler="20 30 40"><joint name="h" axis="0 1 0"/><geom type="box" size=".1 .2 .3"/>
<body pos=".3 0 .2" euler="-30 10 70"><joint name="b" type="ball" pos=".01 .02 .03"/><geom type="box" size=".05 .2 .1" pos=".1 .05 .07"/></body></body>
<body pos="2 0 1" euler="10 20 30"><joint name="x" type="free"/><geom type="box" size=".1 .2 .3"/></body></worldbody>
<actuator>{actuators}</actuator><keyframe>
<key qpos=".4 .5 .1 -.7 .5 1 2 3 .5 .5 -.5 .5"/><key qpos="-1 -.5 .1 .7 .5 1 2 3 .8 0 .6 0"/></keyframe></mujoco>"#
    );
    parse(&text, "turns.xml", None, Base::Fixed)
}

/// They were refused by name.
#[test]
fn actuators_turn_ball_joints_and_push_free_ones() {
    let robot = read(ACTUATORS).unwrap().robot;
    let (tree, tendons) = (&robot.tree, &robot.tendons);
    assert_eq!((tendons.len(), robot.keyframes.len()), (5, 2));
    for (k, state) in robot.keyframes.iter().enumerate() {
        let q = &state.q[..];
        let mut data = tree.data();
        tree.kinematics(q, &mut data).unwrap();
        for (i, tendon) in tendons.iter().enumerate() {
            let (data, mut rows) = (&data, TreeRows::default());
            let length = tendon.measure(Posed { tree, data, q }, &mut rows).unwrap();
            // Free joints have no length in MuJoCo: nothing draws them to a place.
            match LENGTHS[k].get(i) {
                Some(wanted) => assert!((length - wanted).abs() < 1e-12, "{i}: {length}"),
                None => assert_eq!(tendon.servo.unwrap().stiffness, 0.0),
            }
            let row = tree.rows_matrix(data, &rows);
            let pairs = row.iter().zip(MOMENTS[k][i]);
            let error = pairs.fold(0.0_f64, |most, (x, y)| most.max((x - y).abs()));
            assert!(error < 1e-12, "{i} of keyframe {k}: {row:?}");
        }
    }
}

#[test]
fn a_free_joint_pushed_and_turned_in_axes_of_two_bodies_is_refused_by_name() {
    let both = r#"<damper joint="x" kv="1" ctrlrange="1 2" gear="1 0 0 0 0 1"/>"#;
    let error = read(both).unwrap_err();
    assert!(matches!(error.what, ImportFault::NotSimulated { .. }));
    assert!(error.to_string().contains("pushes and turns"), "{error}");
}

/// Its input was taken to the range of the joint, and it pushed with it: robosuite's `spot` was different.
#[test]
fn a_motor_takes_no_range_from_the_servos_of_its_class() {
    let text = r#"<mujoco><default><position kp="500" kv="40" inheritrange="1"/><motor ctrlrange="-70 70"/></default>
<worldbody><body><joint name="j" range="20 90" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
<actuator><motor joint="j"/></actuator></mujoco>"#;
    let robot = parse(text, "motor.xml", None, Base::Fixed).unwrap().robot;
    let joint = &robot.joints[0];
    assert_eq!((joint.push, joint.effort), (0.0, Some(70.0)));
    assert!(joint.servo.is_none());
}
