//! Details of MJCF that MuJoCo 4.0.0 was asked about: the numbers are what it finds for the same files.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use delassus::model::robot::{Base, ImportError, RobotFile, parse};
use delassus::world::WrapSurface;

fn read(inside: &str) -> Result<RobotFile, ImportError> {
    let text = format!("<mujoco>{inside}</mujoco>");
    parse(&text, "details.xml", None, Base::Fixed)
}

/// A link on a hinge at the origin, and what stands beside it.
fn arm(beside: &str) -> String {
    format!(
        r#"<worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos="1 0 0"/></body></worldbody>{beside}"#
    )
}

/// A least mass that nothing has a place for is at the body's `pos`, counted in its own frame.
#[test]
fn a_least_mass_without_a_place_is_at_the_position_of_its_body() {
    let inside = r#"<compiler boundmass=".01" boundinertia=".001"/><worldbody><body pos=".3 .2 .1" euler="10 20 30">
        <joint axis="0 1 0"/><body pos="1 0 0"><joint axis="0 0 1"/><geom size=".1"/></body></body></worldbody>"#;
    let file = read(inside).unwrap();
    let body = file.robot.tree.links()[0].body;
    assert_eq!(body.mass, 0.01);
    assert_eq!(body.com.to_array(), [0.3, 0.2, 0.1]);
    let given = inside.replace(
        "<joint axis=\"0 1 0\"/>",
        r#"<joint axis="0 1 0"/><inertial pos=".5 0 0" mass="0"/>"#,
    );
    let body = read(&given).unwrap().robot.tree.links()[0].body;
    assert_eq!(body.com.to_array(), [0.5, 0.0, 0.0]);
}

#[test]
fn what_acts_and_is_not_simulated_is_refused_by_name() {
    let tendon = |what: &str| {
        format!(r#"<tendon><fixed name="t" {what}><joint joint="j" coef="1"/></fixed></tendon>"#)
    };
    let cases = [
        (arm(&tendon(r#"stiffness="3" springyield=".1""#)), "springyield of a fixed"),
        (
            r#"<worldbody><geom name="a" size=".1"/><body><joint/><geom name="b" size=".1"/></body></worldbody>
            <contact><pair geom1="a" geom2="b" adhesion="2"/></contact>"#
                .to_owned(),
            "adhesion of a pair",
        ),
        (
            r#"<worldbody><frame scale="2"><body><joint/><geom size=".1"/></body></frame></worldbody>"#.to_owned(),
            "scale of a frame",
        ),
        (
            r#"<worldbody><frame massscale="2"><body><joint/><geom size=".1"/></body></frame></worldbody>"#.to_owned(),
            "massscale of a frame",
        ),
    ];
    for (inside, clue) in cases {
        let said = read(&inside).unwrap_err().to_string();
        assert!(said.contains(clue), "{said}");
    }
    assert!(read(&arm(&tendon(r#"stiffness="3""#))).is_ok());
}

#[test]
fn actuators_of_disabled_groups_do_nothing() {
    let servo = r#"<actuator><position joint="j" kp="2" group="2"/></actuator>"#;
    for (groups, acts) in [("0 1", true), ("2", false), ("1 2", false)] {
        let inside = format!(r#"<option actuatorgroupdisable="{groups}"/>{}"#, arm(servo));
        let file = read(&inside).unwrap();
        assert_eq!(file.robot.joints[0].servo.is_some(), acts, "{groups}");
        let listed = file
            .warnings
            .iter()
            .any(|w| w.text.contains("group is disabled"));
        assert_eq!(listed, !acts);
    }
}

#[test]
fn without_constraints_there_are_no_limits_friction_contacts_or_equalities() {
    let inside = |flag: &str| {
        format!(
            r#"<option><flag {flag}/></option><worldbody><geom size="1"/><body><joint name="a" range="0 1" frictionloss="1"/><geom size=".1"/></body>
            <body><joint name="b"/><geom size=".1"/></body></worldbody><equality><joint joint1="a" joint2="b"/></equality>"#
        )
    };
    let with = read(&inside(r#"energy="enable""#)).unwrap();
    let without = read(&inside(r#"constraint="disable""#)).unwrap();
    let facts = |file: &RobotFile| {
        let joint = &file.robot.joints[0];
        let shapes = file.robot.shapes.is_empty();
        (
            joint.range.is_none(),
            joint.friction == 0.0,
            shapes,
            file.robot.closures.is_empty(),
        )
    };
    assert_eq!(facts(&with), (false, false, false, false));
    assert_eq!(facts(&without), (true, true, true, true));
    assert!(
        with.warnings
            .iter()
            .any(|w| w.text.contains("<flag energy>"))
    );
}

/// A constant pull of 5 within −1 to 2, before the gear.
#[test]
fn tendons_bound_what_their_actuators_pull() {
    for (gear, wanted) in [(1.0, 2.0), (2.0, 4.0), (-1.0, -2.0)] {
        let beside = format!(
            r#"<tendon><fixed name="t" actuatorfrcrange="-1 2"><joint joint="j" coef="1"/></fixed></tendon>
            <actuator><general tendon="t" biastype="affine" biasprm="5" gear="{gear}"/></actuator>"#
        );
        let file = read(&arm(&beside)).unwrap();
        assert_eq!(file.robot.tendons[0].push, wanted);
    }
}

/// Both models have a class `thin` and a main class; the attached one is called by the name in its file.
#[test]
fn an_attached_model_keeps_its_own_classes() {
    let folder = std::env::temp_dir().join("delassus-own-classes");
    std::fs::create_dir_all(&folder).unwrap();
    let other = r#"<mujoco model="Arm"><default><geom density="500"/><default class="thin"><geom size=".02"/></default></default>
        <worldbody><body name="arm"><joint name="j"/><geom class="thin" pos=".3 0 0"/><geom size=".05" pos=".1 0 0"/></body></worldbody></mujoco>"#;
    std::fs::write(folder.join("arm.xml"), other).unwrap();
    let text = r#"<mujoco><default><geom density="1000"/><default class="thin"><geom size=".5"/></default></default>
        <asset><model file="arm.xml"/></asset><worldbody><body name="base"><joint/><geom class="thin"/>
        <attach model="Arm" body="arm" prefix=""/></body></worldbody></mujoco>"#;
    let file = parse(text, "base.xml", Some(&folder), Base::Fixed).unwrap();
    let masses: Vec<f64> = file
        .robot
        .tree
        .links()
        .iter()
        .map(|link| link.body.mass)
        .collect();
    for (mass, wanted) in masses.iter().zip([523.5987755982989, 0.27855454861829504]) {
        assert!((mass - wanted).abs() < 1e-12 * wanted, "{masses:?}");
    }
    assert_eq!(masses.len(), 2);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_short_keyframe_leaves_the_rest_as_it_is() {
    let inside = |qpos: &str| {
        format!(
            r#"<worldbody><body><joint name="a" ref="10"/><geom size=".1"/><body pos="1 2 3"><joint name="b" type="ball"/>
            <geom size=".1"/></body></body></worldbody><keyframe><key qpos="{qpos}"/></keyframe>"#
        )
    };
    let file = read(&inside(".5")).unwrap();
    let reference = 10.0_f64.to_radians();
    assert_eq!(
        file.robot.keyframes[0].q,
        [0.5 - reference, 1.0, 0.0, 0.0, 0.0]
    );
    assert_eq!(read(&inside("")).unwrap().robot.keyframes[0].q[0], 0.0);
    assert!(read(&inside("1 1 0 0 0 7")).is_err());
}

#[test]
fn what_is_empty_or_infinite_says_nothing() {
    let inside = |range: &str, density: &str| {
        format!(
            r#"<worldbody><body><joint range="{range}" limited="true"/><geom size=".1" density="{density}"/></body></worldbody>"#
        )
    };
    let file = read(&inside("-inf inf", "")).unwrap();
    assert!(file.robot.joints[0].range.is_none());
    assert!((file.robot.tree.mass() - 4.1887902047863905).abs() < 1e-12);
    let file = read(&inside("0 inf", "1000")).unwrap();
    assert_eq!(file.robot.joints[0].range.unwrap()[0], 0.0);
    assert!(read(&inside("inf -inf", "1000")).is_err());
    assert!(read(&inside("nan 1", "1000")).is_err());
}

/// Sizes and place of shapes that are fitted to the box around a mesh.
#[test]
fn shapes_are_fitted_to_boxes_where_the_compiler_says_so() {
    let across = (1.27344891, 1.69205352);
    let cases = [
        ("box", 8.0 * 0.49588531 * 1.27344891 * 1.69205352),
        (
            "sphere",
            4.0 / 3.0 * std::f64::consts::PI * across.1 * across.1 * across.1,
        ),
        (
            "cylinder",
            2.0 * std::f64::consts::PI * across.0 * across.0 * across.1,
        ),
    ];
    for (kind, volume) in cases {
        let inside = format!(
            r#"<compiler fitaabb="true"/><asset><mesh name="a" vertex="0 0 0 3 0 0 0 2 0 0 0 1 3 2 .2" inertia="exact"/></asset>
            <worldbody><body><freejoint/><geom type="{kind}" mesh="a" density="1"/></body></worldbody>"#
        );
        let body = read(&inside).unwrap().robot.tree.links()[0].body;
        assert!(
            (body.mass - volume).abs() < 1e-6 * volume,
            "{kind} {}",
            body.mass
        );
        let place = [1.46829896, 1.02151304, 0.2889898];
        let off = body.com - glam::DVec3::from(place);
        assert!(off.length() < 1e-6, "{kind} {}", body.com);
    }
}

/// As a box as high as its base and half its heights.
#[test]
fn height_fields_have_mass() {
    let inside = r#"<asset><hfield name="h" nrow="3" ncol="4" size="2 3 4 5" elevation="0 1 2 3 4 5 6 7 8 9 1 1"/></asset>
        <worldbody><body><geom type="hfield" hfield="h" pos="1 2 3"/></body></worldbody>"#;
    assert_eq!(read(inside).unwrap().robot.tree.mass(), 168000.0);
}

#[test]
fn an_inherited_range_needs_no_other() {
    let inside = r#"<worldbody><body><joint name="j" range="30 90"/><geom size=".1" pos="1 0 0"/></body></worldbody>
        <actuator><position joint="j" kp="2" inheritrange="1" ctrllimited="true"/></actuator>"#;
    let servo = read(inside).unwrap().robot.joints[0].servo.unwrap();
    assert!((servo.position - 30.0_f64.to_radians()).abs() < 1e-12);
}

/// Over 180 degrees around a cylinder: the way of its side site, not the half plane that it is in.
#[test]
fn a_string_goes_around_as_by_way_of_its_side_site() {
    let inside = r#"<worldbody><geom name="g" type="cylinder" size=".1 .2"/><site name="s" pos="0 -.2 0"/><site name="a" pos=".3 .2 0"/>
        <body><joint name="j"/><geom size=".05"/><site name="b" pos="-.3 .2 0"/></body></worldbody>
        <tendon><spatial stiffness="1"><site site="a"/><geom geom="g" sidesite="s"/><site site="b"/></spatial></tendon>"#;
    let file = read(inside).unwrap();
    let (model, tendon) = (&file.robot, &file.robot.tendons[0]);
    let (mut data, mut rows) = (model.tree.data(), delassus::tree::TreeRows::default());
    let q = model.tree.neutral();
    model.tree.kinematics(&q, &mut data).unwrap();
    let posed = delassus::world::Posed {
        tree: &model.tree,
        data: &data,
        q: &q,
    };
    let length = tendon.measure(posed, &mut rows).unwrap();
    assert!((length - LENGTH).abs() < 1e-12, "{length}");
    let around = |stop: &delassus::world::Waypoint| matches!(stop, delassus::world::Waypoint::Around(wrap) if wrap.surface == WrapSurface::Cylinder);
    assert!(tendon.strings[0].stops.iter().any(around));
}

/// `ten_length`.
const LENGTH: f64 = 0.8666278240376271;

/// A polygon of many corners that is not flat: which way it is cut is seen in the volume.
#[test]
fn polygons_of_mesh_files_are_cut_as_other_readers_cut_them() {
    let folder = std::env::temp_dir().join("delassus-polygons");
    std::fs::create_dir_all(&folder).unwrap();
    let cases = [(7, 0.0, 1.1956952136107375), (9, 3.0, 1.5737488121420742)];
    for (n, shift, wanted) in cases {
        let mut lines = Vec::new();
        for k in 0..n {
            let (y, x) = (std::f64::consts::TAU * f64::from(k) / f64::from(n)).sin_cos();
            let z = 0.2 * (3.0 * f64::from(k)).cos();
            lines.push(format!("v {:.3} {y:.3} {z:.3}", x + shift));
        }
        lines.push(format!("v {shift:.3} 0 1.5"));
        let back: Vec<String> = (1..=n).rev().map(|k| k.to_string()).collect();
        lines.push(format!("f {}", back.join(" ")));
        lines.extend((0..n).map(|k| format!("f {} {} {}", k + 1, (k + 1) % n + 1, n + 1)));
        std::fs::write(folder.join("ring.obj"), lines.join("\n")).unwrap();
        let text = r#"<mujoco><asset><mesh name="m" file="ring.obj" inertia="exact"/></asset><worldbody><body><freejoint/>
            <geom type="mesh" mesh="m" density="1"/></body></worldbody></mujoco>"#;
        let mass = parse(text, "ring.xml", Some(&folder), Base::Fixed)
            .unwrap()
            .robot
            .tree
            .mass();
        assert!((mass - wanted).abs() < 1e-9, "{n}: {mass}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
