//! MJCF files that are odd but plausible: read as they mean, or refused with line and element; never silently changed.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use delassus::collide::Shape;
use delassus::math::{DMat3, DVec3};
use delassus::model::robot::{Base, ImportFault, Loss, Options, RobotFile, parse};
use delassus::tree::TreeJoint;
use delassus::world::ClosureKind;

const BODY: &str = r#"<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>"#;

/// A world of one body with these elements, after these sections; the body is on line 3.
fn file(sections: &str, body: &str) -> String {
    format!("<mujoco>{sections}\n<worldbody>\n<body>{body}</body></worldbody></mujoco>")
}

fn read(text: &str) -> RobotFile {
    parse(text, "odd.xml", None, Base::Fixed).unwrap()
}

#[test]
fn what_means_nothing_is_refused_with_its_line_and_element() {
    let hinge = r#"<joint name="j" axis="0 0 1"/>"#;
    let with = |geom: &str| format!("{hinge}<geom {geom}/>");
    let cases = [
        (
            "",
            format!(r#"<joint class="ghost"/>{BODY}"#),
            3,
            "<joint>",
            "ghost",
        ),
        (
            "",
            format!(r#"{hinge}{BODY}<body childclass="ghost"/>"#),
            3,
            "<body>",
            "ghost",
        ),
        (
            r#"<default><default class="a"/></default>"#,
            with(r#"class="b" size="1""#),
            3,
            "<geom>",
            "class=\"b\"",
        ),
        (
            r#"<default><default class="a"/><default class="a"/></default>"#,
            hinge.to_owned() + BODY,
            1,
            "<default>",
            "twice",
        ),
        (
            r#"<actuator><motor joint="j" class="ghost"/></actuator>"#,
            hinge.to_owned() + BODY,
            1,
            "<motor>",
            "ghost",
        ),
        // Not the asset that has neither name nor file.
        (
            r#"<asset><mesh vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>"#,
            with(r#"type="mesh""#),
            3,
            "<geom>",
            "attribute mesh is missing",
        ),
        (
            "",
            with(r#"type="hfield" mass="1""#),
            3,
            "<geom>",
            "attribute hfield is missing",
        ),
        (
            r#"<compiler eulerseq="abc"/>"#,
            hinge.to_owned() + BODY,
            1,
            "<compiler>",
            "eulerseq",
        ),
        (
            "",
            format!(r#"<joint range="60 -30"/>{BODY}"#),
            3,
            "<joint>",
            "excludes",
        ),
        (
            "",
            format!(r#"<joint limited="true"/>{BODY}"#),
            3,
            "<joint>",
            "no range",
        ),
        (
            r#"<compiler autolimits="false"/>"#,
            format!(r#"<joint range="-30 60"/>{BODY}"#),
            3,
            "<joint>",
            "autolimits",
        ),
        (
            "",
            format!("<freejoint/>{hinge}{BODY}"),
            3,
            "<freejoint>",
            "only joint",
        ),
        (
            "",
            format!("{hinge}{BODY}<body><freejoint/>{BODY}</body>"),
            3,
            "<body>",
            "free joint",
        ),
        (
            "",
            format!("{hinge}{hinge}{BODY}"),
            3,
            "<joint name=\"j\">",
            "\"j\"",
        ),
        (
            "",
            with(r#"type="capsule" fromto="1 0 0 1 0 0" size=".1""#),
            3,
            "<geom>",
            "positive",
        ),
        (
            "",
            with(r#"type="sphere" fromto="1 0 0 2 0 0" size=".1""#),
            3,
            "<geom>",
            "fromto",
        ),
        ("", with(r#"type="box" size=".1""#), 3, "<geom>", "positive"),
        (
            "",
            with(r#"type="mesh" mesh="ghost""#),
            3,
            "<geom>",
            "ghost",
        ),
    ];
    for (sections, body, line, element, clue) in cases {
        let text = file(sections, &body);
        let error = parse(&text, "odd.xml", None, Base::Fixed).unwrap_err();
        assert_eq!(
            (error.line, error.element.as_str()),
            (line, element),
            "{text}: {error}"
        );
        assert!(error.what.to_string().contains(clue), "{text}: {error}");
    }
}

#[test]
fn angles_orders_frames_and_nested_classes_mean_what_they_say() {
    let quarter = std::f64::consts::FRAC_PI_2;
    let text = file(
        r#"<compiler angle="radian" eulerseq="XYZ"/>"#,
        &format!(r#"<joint axis="0 0 1" range="-1 1"/>{BODY}"#),
    );
    let turned = text.replace("<body>", &format!("<body euler=\"{quarter} {quarter} 0\">"));
    let RobotFile { robot, .. } = read(&turned);
    assert_eq!(robot.joints[0].range, Some([-1.0, 1.0]));
    // About the fixed x, then about the fixed y: z goes to −y, and stays there.
    let z = robot.tree.links()[0].place.rotation.z_axis;
    assert!((z - DVec3::NEG_Y).length() < 1e-15, "{z}");
    let frames = format!(
        r#"<mujoco><worldbody><frame pos="1 0 0" euler="0 0 90"><body pos="1 0 0"><joint/>{BODY}
        <frame pos="0 0 2"><geom size=".1" pos="0 1 0"/></frame></body></frame></worldbody></mujoco>"#
    );
    let RobotFile {
        robot, warnings, ..
    } = read(&frames);
    assert_eq!(warnings, []);
    let place = robot.tree.links()[0].place.position;
    assert!(
        (place - DVec3::new(1.0, 1.0, 0.0)).length() < 1e-15,
        "{place}"
    );
    assert_eq!(robot.shapes[0].pose.position, DVec3::new(0.0, 1.0, 2.0));
    let nested = r#"<default><joint damping="1"/><default class="a"><joint armature="2"/>
        <default class="b"><joint frictionloss="3"/></default></default></default>"#;
    let body = format!(r#"<joint axis="0 0 1" class="b"/>{BODY}"#);
    let RobotFile { robot, .. } = read(&file(nested, &body));
    let link = &robot.tree.links()[0];
    let found = (link.damping, link.armature, robot.joints[0].friction);
    assert_eq!(found, (1.0, 2.0, 3.0));
}

#[test]
fn what_is_not_used_is_listed_once_for_each_kind() {
    let body = format!(
        r#"<joint name="x" axis="0 0 1" margin="1" solreflimit="1 2" dampign="1"/><camera/>{BODY}
        <body><joint axis="0 0 1" dampign="2" range="0 0"/></body><camera/>"#
    );
    let sections = r#"<visual/><custom/>"#;
    let RobotFile {
        robot, warnings, ..
    } = read(&file(sections, &body));
    let texts: Vec<&str> = warnings.iter().map(|w| w.text.as_str()).collect();
    let clues = [
        "<visual>",
        "<custom>",
        "<camera> (2 times)",
        "<joint margin>",
        "<joint solreflimit>",
        "<joint dampign>",
        "no mass",
    ];
    for clue in clues {
        let times = texts.iter().filter(|text| text.contains(clue)).count();
        assert_eq!(times, 1, "{clue}: {texts:?}");
    }
    assert_eq!(texts.len(), clues.len(), "{texts:?}");
    assert!(warnings.iter().all(|w| !w.lost && w.file == "odd.xml"));
    // Equal ends are no range.
    assert_eq!(robot.joints[1].range, None);
}

/// What acts and is not simulated is refused by name; with leave it is left out and listed.
#[test]
fn what_acts_and_is_not_simulated_is_refused_by_name_or_listed() {
    let hinge = format!(r#"<joint name="x" axis="0 0 1"/>{BODY}"#);
    let cases = [
        (r#"<option density="1.2"/>"#, "fluid"),
        (
            r#"<deformable><flex name="f" dim="1"/></deformable>"#,
            "soft body",
        ),
        (r#"<extension><plugin plugin="p"/></extension>"#, "plugin"),
        (r#"<actuator><muscle joint="x"/></actuator>"#, "muscle"),
        (
            r#"<actuator><adhesion body="s" gain="3" ctrlrange=".5 1"/></actuator>"#,
            "adhesion",
        ),
        (
            r#"<actuator><position joint="x" kp="3" inheritrange="1"/></actuator>"#,
            "inherits the range",
        ),
        (
            r#"<tendon><fixed damping="1 2"><joint joint="x" coef="1"/></fixed></tendon>"#,
            "<fixed>, damping of more",
        ),
    ];
    for (section, clue) in cases {
        let text = file(section, &hinge);
        let error = parse(&text, "odd.xml", None, Base::Fixed).unwrap_err();
        let message = error.to_string();
        assert!(
            matches!(error.what, ImportFault::NotSimulated { .. }),
            "{message}"
        );
        assert!(message.contains(clue) && error.line == 1, "{message}");
        let options = Options {
            loss: Loss::Allow,
            ..Options::default()
        };
        let read = parse(&text, "odd.xml", None, options).unwrap();
        let lost: Vec<_> = read.warnings.iter().filter(|w| w.lost).collect();
        assert!(lost.len() == 1 && lost[0].text.contains(clue), "{lost:?}");
        assert_eq!(read.robot.tree.n_dofs(), 1);
    }
}

/// A body on a free joint with armature κ falls by m g/(m + κ), as in MuJoCo.
#[test]
fn armature_of_a_free_joint_is_part_of_its_mass_and_not_of_its_weight() {
    let text = file("", &format!(r#"<joint type="free" armature="3"/>{BODY}"#));
    let tree = read(&text).robot.tree;
    assert_eq!(tree.mass(), 1.0);
    let (q, zeros, mut a) = (tree.neutral(), [0.0; 6], [0.0; 6]);
    let gravity = DVec3::new(0.0, 0.0, -9.81);
    tree.forward_dynamics(&mut tree.data(), (&q, &zeros, &zeros), gravity, &mut a)
        .unwrap();
    assert!((a[5] + 9.81 / 4.0).abs() < 1e-12, "{a:?}");
}

/// Feet that are named one by one with the floor are of one kind, however many there are.
#[test]
fn many_pairs_with_the_same_geoms_are_few_groups() {
    let (mut feet, mut pairs) = (String::new(), String::new());
    for i in 0..40 {
        feet += &format!(r#"<geom name="f{i}" size=".1" contype="0" conaffinity="0"/>"#);
        pairs += &format!(r#"<pair geom1="f{i}" geom2="floor"/>"#);
    }
    let text = format!(
        r#"<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body><freejoint/>{feet}<geom size=".1" contype="2"/></body></worldbody><contact>{pairs}</contact></mujoco>"#
    );
    let shapes = read(&text).robot.shapes;
    let meet = |a: usize, b: usize| shapes[a].groups.meet(shapes[b].groups);
    assert_eq!(shapes.len(), 42);
    for foot in 1..41 {
        assert!(meet(0, foot) && !meet(foot, 41) && !meet(foot, 1 + foot % 40));
    }
    assert!(meet(0, 41));
}

/// A quaternion of zeros in a keyframe turns nothing, as in MuJoCo.
#[test]
fn a_keyframe_without_a_direction_is_not_turned() {
    let key = r#"<keyframe><key qpos="1 2 3 0 0 0 0"/></keyframe>"#;
    let robot = read(&file(key, &format!("<freejoint/>{BODY}"))).robot;
    assert_eq!(robot.keyframes[0].q, [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]);
}

/// Where something is left out that others name, it is named, and not those others.
#[test]
fn what_is_not_simulated_is_told_before_what_names_it() {
    let text = file(
        r#"<equality><weld body1="B_last"/></equality>"#,
        &format!(r#"<freejoint/>{BODY}<composite type="cable"/>"#),
    );
    let error = parse(&text, "odd.xml", None, Base::Fixed).unwrap_err();
    assert!(
        matches!(error.what, ImportFault::NotSimulated { .. }),
        "{error}"
    );
}

/// A class gives each attribute that the element does not.
#[test]
fn a_class_keeps_what_the_element_does_not_give() {
    let turned = r#"<default><geom type="box" size=".02 .02 .4" euler="-45 0 0"/></default>"#;
    let read = |sections: &str, geom: &str| {
        let text = file(sections, &format!("<freejoint/>{geom}"));
        parse(&text, "odd.xml", None, Base::Fixed).unwrap().robot
    };
    let robot = read(turned, r#"<geom pos="0.5 0 0"/>"#);
    let inertia = robot.tree.links()[0].body.inertia;
    assert!(
        0.03 < inertia.y_axis.z.abs(),
        "the long axis lies between y and z: {inertia}"
    );
    assert_eq!(robot.shapes[0].pose.position, DVec3::new(0.5, 0.0, 0.0));
    let moved = r#"<default><geom type="box" size=".1 .1 .1" pos="0.5 0 0"/></default>"#;
    let robot = read(moved, r#"<geom euler="0 0 30"/>"#);
    assert_eq!(robot.tree.links()[0].body.com, DVec3::new(0.5, 0.0, 0.0));
    // Of several numbers the first few may be given; another way to write a turn takes its place.
    let robot = read(turned, r#"<geom size=".1" quat="1 0 0 0"/>"#);
    let Shape::Box { half } = robot.shapes[0].shape else {
        panic!("a box")
    };
    assert_eq!(half, [0.1, 0.02, 0.4]);
    assert_eq!(robot.shapes[0].pose.rotation, DMat3::IDENTITY);
}

#[test]
fn frames_carry_joints_and_inertials() {
    let body = r#"<frame pos="1 0 0" euler="90 0 0"><inertial pos="0 1 0" mass="1" diaginertia="1 1.2 1.4"/>
        <joint axis="0 1 0" pos="0 1 0"/></frame>"#;
    let robot = read(&file("", body)).robot;
    let link = &robot.tree.links()[0];
    // y of the frame is z of the body.
    let anchor = DVec3::new(1.0, 0.0, 1.0);
    assert!((link.place.position - anchor).length() < 1e-15);
    assert!(link.body.com.length() < 1e-15, "the mass is at the joint");
    let TreeJoint::Revolute { axis } = link.joint else {
        panic!("a hinge")
    };
    assert!((axis - DVec3::Z).length() < 1e-15);
    assert!((link.body.inertia.z_axis.z - 1.2).abs() < 1e-15);
}

#[test]
fn copies_are_moved_named_and_followed_by_what_refers_to_them() {
    let text = r#"<mujoco><worldbody><replicate count="3" offset="1 0 0" euler="0 0 90" sep="-">
        <body name="x" pos="0 0.5 0"><joint name="j"/><geom size=".1"/></body></replicate></worldbody>
        <actuator><position joint="j" kp="2"/></actuator></mujoco>"#;
    let robot = read(text).robot;
    let names: Vec<&str> = robot.tree.links().iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["x-0", "x-1", "x-2"]);
    let wanted = [[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [1.0, 0.5, 0.0]];
    for (link, wanted) in robot.tree.links().iter().zip(wanted) {
        assert!((link.place.position - DVec3::from(wanted)).length() < 1e-15);
    }
    assert!(
        robot
            .joints
            .iter()
            .all(|j| j.servo.is_some_and(|s| s.stiffness == 2.0))
    );
    let many = text.replace("count=\"3\"", "count=\"1000000000\"");
    let error = parse(&many, "odd.xml", None, Base::Fixed).unwrap_err();
    assert!(error.element.contains("replicate"), "{error}");
}

#[test]
fn a_model_is_attached_with_its_classes_and_units() {
    let folder = std::env::temp_dir().join(format!("delassus-attach-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let child = r#"<mujoco><compiler angle="radian"/><default><geom density="500"/></default>
        <worldbody><body name="root" pos="0 0 1" euler="1.5 0 0"><joint name="j" range="-1 1"/><geom size=".1"/></body>
        <body name="other"><joint name="k"/><geom size=".1"/></body></worldbody>
        <actuator><position joint="j" kp="2"/><position joint="k" kp="3"/></actuator></mujoco>"#;
    std::fs::write(folder.join("child.xml"), child).unwrap();
    let text = r#"<mujoco><asset><model name="c" file="child.xml"/></asset><worldbody><frame pos="2 0 0">
        <attach model="c" body="root" prefix="p_"/></frame><body><joint range="-90 90"/><geom size=".1"/></body>
        </worldbody></mujoco>"#;
    let robot = parse(text, "odd.xml", Some(&folder), Base::Fixed)
        .unwrap()
        .robot;
    std::fs::remove_dir_all(&folder).unwrap();
    let link = &robot.tree.links()[0];
    assert_eq!(
        (link.name.as_str(), robot.tree.links().len()),
        ("p_root", 2)
    );
    assert!((link.place.position - DVec3::new(2.0, 0.0, 1.0)).length() < 1e-15);
    assert!((robot.tree.links()[1].body.mass / link.body.mass - 2.0).abs() < 1e-12);
    assert_eq!(robot.joints[0].range, Some([-1.0, 1.0]));
    assert!(robot.joints[0].servo.is_some() && robot.joints[1].servo.is_none());
}

/// Corners 0, x, y, z of a tetrahedron: volume xyz/6, centre a quarter along each edge; its corners alone will do.
#[test]
fn meshes_have_the_mass_that_they_enclose() {
    let asset = |faces: &str| {
        format!(r#"<asset><mesh name="t" vertex="0 0 0 1 0 0 0 2 0 0 0 3" {faces}/></asset>"#)
    };
    let geom = r#"<freejoint/><geom type="mesh" mesh="t"/>"#;
    for faces in [
        "",
        r#"face="0 2 1 0 1 3 0 3 2 1 2 3""#,
        r#"face="0 2 1 0 1 3 0 3 2 1 2 3" inertia="exact""#,
        r#"inertia="convex""#,
    ] {
        let robot = read(&file(&asset(faces), geom)).robot;
        let body = robot.tree.links()[0].body;
        assert!((body.mass - 1000.0).abs() < 1e-9, "{faces}: {}", body.mass);
        assert!((body.com - DVec3::new(0.25, 0.5, 0.75)).length() < 1e-12);
        // ∫ x² = V a²/10 about the corner, so I_xx = m (3/80)(b² + c²) about the centre.
        let wanted = 1000.0 * 3.0 / 80.0 * 13.0;
        assert!(
            (body.inertia.x_axis.x - wanted).abs() < 1e-9,
            "{}",
            body.inertia
        );
    }
}

#[test]
fn springs_pairs_masks_and_keyframes_are_read() {
    let text = r#"<mujoco><option timestep="0.002"/><default><joint stiffness="7"/></default><worldbody>
        <geom name="floor" type="plane" size="1 1 1" contype="2" conaffinity="0"/>
        <body name="a" pos="0 0 1"><joint name="h" springref="90" ref="30"/><geom name="g" size=".1" contype="0" conaffinity="0"/>
        <body name="b" pos="0 0 1" gravcomp="0.5"><geom name="k" size=".1" conaffinity="2"/></body></body>
        <body pos="1 2 3" euler="0 0 90"><freejoint/><geom size=".1"/></body></worldbody>
        <contact><pair geom1="g" geom2="floor" friction="0.3"/><exclude body1="a" body2="b"/></contact>
        <keyframe><key name="up" qpos="1 1 2 4 1 0 0 0" qvel="5 1 0 0 0 0 6"/></keyframe></mujoco>"#;
    let robot = read(text).robot;
    assert_eq!(robot.timestep, Some(0.002));
    assert_eq!(
        (robot.joints[0].stiffness, robot.joints[1].stiffness),
        (7.0, 0.0)
    );
    assert!((robot.joints[0].rest - std::f64::consts::FRAC_PI_3).abs() < 1e-15);
    let meet = |a: usize, b: usize| robot.shapes[a].groups.meet(robot.shapes[b].groups);
    // Floor, paired ball, masked ball, free ball.
    assert!(meet(0, 1) && meet(0, 2) && !meet(0, 3) && !meet(1, 2) && !meet(1, 3) && meet(2, 3));
    let (a, b, surface) = robot.pairs[0];
    assert_eq!((a.min(b), a.max(b), surface.friction), (0, 1, 0.3));
    assert_eq!((robot.apart.len(), robot.gravcomp.len()), (1, 1));
    let key = &robot.keyframes[0];
    assert_eq!(key.name, "up");
    assert!((key.q[0] - 1.0 + std::f64::consts::FRAC_PI_6).abs() < 1e-15);
    // One metre up, and turned back by a quarter: what was x of the world is −y of the body.
    assert!((DVec3::from_slice(&key.q[1..]) - DVec3::Z).length() < 1e-15);
    let (turn, linear) = (&key.v[1..4], &key.v[4..]);
    assert_eq!(
        (key.v[0], turn, linear),
        (5.0, &[0.0, 0.0, 6.0][..], &[1.0, 0.0, 0.0][..])
    );
}

#[test]
fn included_files_stand_in_place_of_their_element_wherever_it_is() {
    let folder = std::env::temp_dir().join(format!("delassus-include-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let arm = format!(
        "<mujocoinclude>\n<body name=\"arm\">\n<joint name=\"j\"/>{BODY}\n<include file=\"hand.xml\"/>\n</body></mujocoinclude>"
    );
    let hand = format!("<mujoco><body name=\"hand\">{BODY}</body></mujoco>");
    std::fs::write(folder.join("arm.xml"), arm).unwrap();
    std::fs::write(folder.join("hand.xml"), hand).unwrap();
    let read = |text: &str| parse(text, "odd.xml", Some(&folder), Base::Fixed);
    let include = r#"<mujoco><worldbody><include file="arm.xml"/></worldbody>"#;
    let RobotFile {
        robot, warnings, ..
    } = read(&format!("{include}</mujoco>")).unwrap();
    let names: Vec<&str> = robot.tree.links().iter().map(|l| l.name.as_str()).collect();
    assert_eq!((names, warnings), (vec!["arm", "hand"], vec![]));
    // Lines below are those of the file itself, and a file cannot include another twice.
    let wrong = format!("{include}\n<equality><weld body1=\"ghost\"/></equality></mujoco>");
    assert_eq!(read(&wrong).unwrap_err().line, 2);
    let twice = r#"<mujoco><worldbody><include file="hand.xml"/><include file="hand.xml"/></worldbody></mujoco>"#;
    assert!(
        read(twice)
            .unwrap_err()
            .what
            .to_string()
            .contains("second time")
    );
    // The root of an included file may have any name, and its meshes are found beside it.
    std::fs::create_dir_all(folder.join("parts/meshes")).unwrap();
    let part =
        "<mujocoinclue><asset><mesh name=\"m\" file=\"meshes/m.obj\"/></asset></mujocoinclue>";
    std::fs::write(folder.join("parts/part.xml"), part).unwrap();
    let solid = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    std::fs::write(folder.join("parts/meshes/m.obj"), solid).unwrap();
    let body = r#"<include file="parts/part.xml"/><worldbody><body><joint/><geom type="mesh" mesh="m"/></body></worldbody>"#;
    let RobotFile { robot, .. } = read(&format!("<mujoco>{body}</mujoco>")).unwrap();
    assert!((robot.tree.mass() - 1000.0 / 6.0).abs() < 1e-9);
    std::fs::remove_dir_all(&folder).unwrap();
    // A text has no folder in which to look.
    let alone = parse(include, "odd.xml", None, Base::Fixed);
    assert!(alone.is_err());
}

#[test]
fn a_weld_whose_turn_has_no_length_holds_what_the_file_shows() {
    let bodies = format!(
        r#"<worldbody><body name="a" pos="0 0 1"><joint/>{BODY}<body name="b" pos="1 0 0" euler="0 0 90"><joint/>{BODY}</body></body></worldbody>"#
    );
    let weld = |relpose: &str| {
        let RobotFile { robot, .. } = read(&format!(
            r#"<mujoco>{bodies}<equality><weld body1="a" body2="b" {relpose}/></equality></mujoco>"#
        ));
        robot.closures[0].clone()
    };
    assert_eq!(weld(r#"relpose="0 1 0 0 0 0 0""#), weld(""));
    let (unit, long) = (r#"relpose="1 0 0 1 0 0 0""#, r#"relpose="1 0 0 3 0 0 0""#);
    assert_eq!(weld(long), weld(unit));
}

#[test]
fn an_equality_of_sites_holds_the_sites_together() {
    let body = format!(r#"<joint/>{BODY}<site name="s" pos="1 0 0"/>"#);
    let equality = r#"<equality><connect site1="s" site2="t"/></equality>"#;
    let text =
        file(equality, &body).replace("<worldbody>", r#"<worldbody><site name="t" pos="0 1 0"/>"#);
    let robot = read(&text).robot;
    let ClosureKind::Connect { a, b } = robot.closures[0].kind else {
        panic!("two points")
    };
    assert_eq!((a.point, b.point, b.link), (DVec3::X, DVec3::Y, None));
    let ghost = text.replace("site2=\"t\"", "site2=\"u\"");
    assert!(parse(&ghost, "odd.xml", None, Base::Fixed).is_err());
}

/// Sliding, spinning, rolling: condim says how many of them a geom has.
#[test]
fn condim_says_which_frictions_count() {
    let of = |condim: &str| {
        let geom = format!(r#"<geom size="1" {condim} friction="0.7 0.02 0.003"/>"#);
        let read = read(&file("", &format!("<freejoint/>{BODY}{geom}")));
        assert_eq!(read.warnings, [], "{condim}");
        let surface = read.robot.shapes[0].surface.unwrap();
        [surface.friction, surface.spinning, surface.rolling]
    };
    assert_eq!(of(r#"condim="1""#), [0.0, 0.0, 0.0]);
    assert_eq!(of(""), [0.7, 0.0, 0.0]);
    assert_eq!(of(r#"condim="3""#), [0.7, 0.0, 0.0]);
    assert_eq!(of(r#"condim="4""#), [0.7, 0.02, 0.0]);
    assert_eq!(of(r#"condim="6""#), [0.7, 0.02, 0.003]);
    let text = file(
        "",
        &format!(r#"<freejoint/>{BODY}<geom size="1" condim="2"/>"#),
    );
    let error = parse(&text, "odd.xml", None, Base::Fixed)
        .unwrap_err()
        .to_string();
    assert!(error.contains("condim is 2; it is 1, 3, 4 or 6"), "{error}");
}
