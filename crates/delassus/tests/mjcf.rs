//! MJCF files that are odd but plausible: read as they mean, or refused with line and element; never silently changed.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use delassus::math::DVec3;
use delassus::model::robot::{Base, RobotFile, parse};

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
            "<body>",
            "excludes",
        ),
        (
            "",
            format!(r#"<joint limited="true"/>{BODY}"#),
            3,
            "<body>",
            "no range",
        ),
        (
            r#"<compiler autolimits="false"/>"#,
            format!(r#"<joint range="-30 60"/>{BODY}"#),
            3,
            "<body>",
            "autolimits",
        ),
        (
            "",
            format!("<freejoint/>{hinge}{BODY}"),
            3,
            "<body>",
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
            "<body>",
            "positive",
        ),
        (
            "",
            with(r#"type="sphere" fromto="1 0 0 2 0 0" size=".1""#),
            3,
            "<body>",
            "fromto",
        ),
        ("", with(r#"type="box" size=".1""#), 3, "<body>", "positive"),
        (
            "",
            with(r#"type="mesh" mesh="ghost""#),
            3,
            "<body>",
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
        r#"<joint name="x" axis="0 0 1" stiffness="3" margin="0" dampign="1"/><site/>{BODY}
        <body gravcomp="1"><joint axis="0 0 1" stiffness="4" range="0 0"/></body>"#
    );
    let sections = r#"<keyframe><key qpos="1"/></keyframe>
        <tendon><fixed><joint joint="x" coef="1"/></fixed><spatial/></tendon>"#;
    let RobotFile {
        robot, warnings, ..
    } = read(&file(sections, &body));
    let texts: Vec<&str> = warnings.iter().map(|w| w.text.as_str()).collect();
    let clues = [
        "<keyframe>",
        "<tendon>",
        "<site>",
        "<joint stiffness>",
        "<joint dampign>",
        "<body gravcomp>",
        "no mass",
    ];
    for clue in clues {
        let times = texts.iter().filter(|text| text.contains(clue)).count();
        assert_eq!(times, 1, "{clue}: {texts:?}");
    }
    assert_eq!(texts.len(), clues.len(), "{texts:?}");
    // Equal ends are no range.
    assert_eq!(robot.joints[1].range, None);
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
fn an_equality_of_sites_is_listed() {
    let equality = r#"<equality><connect site1="s" site2="t"/></equality>"#;
    let RobotFile { warnings, .. } = read(&file(equality, &format!("<joint/>{BODY}")));
    assert!(warnings.iter().any(|w| w.text.contains("sites")));
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
    assert!(error.contains("condim 2; it is 1, 3, 4 or 6"), "{error}");
}
