//! URDF as files in the wild have it: taken as other programs take it, and what is mended is said.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use delassus::model::robot::{Base, RobotFile, parse};

const ARM: &str = r#"<robot name="arm">
<link name="base"/>
<link name="upper"><inertial><mass value="2"/><inertia ixx="0.3" iyy="0.2" izz="0.2"/></inertial></link>
<link name="lower"><inertial><mass value="0.5"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="10" velocity="3"/></joint>
<joint name="elbow" type="fixed"><parent link="upper"/><child link="lower"/></joint>
</robot>"#;

fn read(text: &str) -> RobotFile {
    parse(text, "arm.urdf", Some(&std::env::temp_dir()), Base::Fixed).unwrap()
}

/// What readers of URDF let pass and files therefore have: each is named, and nothing else of the robot changes.
#[test]
fn urdf_as_other_programs_take_it_is_taken_and_says_so() {
    let collision =
        |shape: &str| format!("<collision><geometry>{shape}</geometry></collision></link>");
    let cases = [
        ("<mass value=\"0.5\"/>", String::new(), "no <mass>"),
        (
            "upper=\"2\"",
            "upper=\"-2\"".to_owned(),
            "exclude every position",
        ),
        ("</link>", collision(""), "without a shape"),
        (
            "</link>",
            collision("<box size=\"0 1 1\"/>"),
            "box without extent",
        ),
        (
            "</link>",
            collision("<sphere radius=\"0\"/>"),
            "sphere without extent",
        ),
        (
            "</link>",
            collision("<mesh filename=\"a.stl\" scale=\"1 1 1 1\"/>"),
            "scale",
        ),
        (
            "<robot name=\"arm\">",
            "<robot name=\"arm\"><drake:joint/><!-- a -- b -->".to_owned(),
            "<drake_joint>",
        ),
    ];
    let plain = read(ARM);
    for (from, to, clue) in cases {
        let text = format!("\n<?xml version=\"1.0\"?>{}", ARM.replacen(from, &to, 1));
        let RobotFile {
            robot, warnings, ..
        } = read(&text);
        assert!(
            warnings.iter().any(|w| w.text.contains(clue)),
            "{clue}: {warnings:?}"
        );
        assert_eq!(robot.shapes.len(), plain.robot.shapes.len(), "{clue}");
        let free = clue.contains("exclude");
        assert_eq!(robot.joints[0].range.is_none(), free, "{clue}");
    }
    let endless = ARM.replacen(
        "lower=\"-1\" upper=\"2\" effort=\"10\"",
        "lower=\"-inf\" upper=\"inf\" effort=\"inf\"",
        1,
    );
    let joint = &read(&endless).robot.joints[0];
    assert_eq!((joint.range, joint.effort), (None, None));
}

/// A dummy above a floating joint has nothing that resists it, so it floats no second time.
#[test]
fn a_dummy_root_above_a_floating_joint_stays_in_place() {
    let text = r#"<robot name="r"><link name="dummy"/><joint name="free" type="floating"><parent link="dummy"/><child link="trunk"/></joint>
        <link name="trunk"><inertial><mass value="3"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>"#;
    let file = parse(text, "r.urdf", None, Base::Floating).unwrap();
    assert_eq!(file.robot.tree.n_dofs(), 6);
    assert!(
        file.warnings
            .iter()
            .any(|w| w.text.contains("\"dummy\" has no mass"))
    );
    let mut builder = delassus::WorldBuilder::default();
    let placement = delassus::world::Placement::default();
    builder.add_robot(&file.robot, &placement).unwrap();
}

#[test]
fn a_declaration_without_a_version_is_let_pass() {
    let file = read(&format!("<?xml verison=\"1.0\"?>\n{ARM}"));
    assert_eq!(file.robot.tree.mass(), read(ARM).robot.tree.mass());
}
