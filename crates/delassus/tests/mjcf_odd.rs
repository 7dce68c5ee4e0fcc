//! Features of MJCF files that few have: taken as MuJoCo takes them, or left out and listed.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use delassus::model::robot::{Base, Warning, parse};

/// MuJoCo counts from principal axes there, whose order and signs are its own.
#[test]
fn keyframes_of_aligned_free_joints_are_left_out_and_listed() {
    let read = |sections: &str, align: &str| {
        let body = r#"<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>"#;
        let key = r#"<keyframe><key name="k" qpos="0 0 1 1 0 0 0"/></keyframe>"#;
        let world = format!("<worldbody><body><freejoint {align}/>{body}</body></worldbody>");
        let text = format!("<mujoco>{sections}{world}{key}</mujoco>");
        parse(&text, "odd.xml", None, Base::Fixed).unwrap()
    };
    assert_eq!(read("", "").robot.keyframes.len(), 1);
    let free = r#"<compiler alignfree="true"/>"#;
    assert_eq!(read(free, r#"align="false""#).robot.keyframes.len(), 1);
    for (sections, align) in [(free, ""), ("", r#"align="true""#)] {
        let file = read(sections, align);
        assert_eq!(file.robot.keyframes.len(), 0);
        let said = |w: &Warning| w.text.contains("principal axes");
        assert!(file.warnings.iter().any(said));
    }
}

/// MuJoCo takes the faces of the first object and the corners of all.
#[test]
fn of_a_mesh_file_with_several_objects_the_first_has_mass() {
    const ONE: &str =
        "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    const TWO: &str =
        "o b\nv 5 0 0\nv 7 0 0\nv 5 2 0\nv 5 0 2\nf 5 7 6\nf 5 6 8\nf 5 8 7\nf 6 7 8\n";
    let folder = std::env::temp_dir().join("delassus-several-objects");
    std::fs::create_dir_all(&folder).unwrap();
    let text = r#"<mujoco><asset><mesh name="m" file="two.obj" inertia="exact"/></asset><worldbody><body><freejoint/>
        <geom type="mesh" mesh="m" density="6"/></body></worldbody></mujoco>"#;
    for (mesh, notes) in [(ONE.to_owned(), 0), (format!("{ONE}{TWO}"), 1)] {
        std::fs::write(folder.join("two.obj"), mesh).unwrap();
        let read = parse(text, "odd.xml", Some(&folder), Base::Fixed).unwrap();
        assert!((read.robot.tree.mass() - 1.0).abs() < 1e-12);
        let several = |w: &&Warning| w.text.contains("several objects");
        assert_eq!(read.warnings.iter().filter(several).count(), notes);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// An included file names a mesh beside it, below the folder of meshes of the model or not.
#[test]
fn an_included_file_finds_its_meshes() {
    const MESH: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    let folder = std::env::temp_dir().join("delassus-included-meshes");
    let text = r#"<mujoco><include file="sub/assets.xml"/><worldbody><body><freejoint/>
        <geom type="mesh" mesh="m" density="6"/></body></worldbody></mujoco>"#;
    let assets = r#"<mujoco><compiler assetdir="meshes"/><asset><mesh name="m" file="m.obj" inertia="exact"/></asset></mujoco>"#;
    for place in ["meshes", "meshes/sub", "sub"] {
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::create_dir_all(folder.join(place)).unwrap();
        std::fs::write(folder.join("sub/assets.xml"), assets).unwrap();
        std::fs::write(folder.join(place).join("m.obj"), MESH).unwrap();
        let read = parse(text, "odd.xml", Some(&folder), Base::Fixed).unwrap();
        assert!((read.robot.tree.mass() - 1.0).abs() < 1e-12);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// MuJoCo takes polygons of up to 100 corners. The masses are those of MuJoCo 4.0, the second of a cone without its base.
#[test]
fn a_polygon_of_more_than_a_hundred_corners_is_left_out() {
    let folder = std::env::temp_dir().join("delassus-large-polygons");
    std::fs::create_dir_all(&folder).unwrap();
    let text = r#"<mujoco><asset><mesh name="m" file="cone.obj" inertia="exact"/></asset><worldbody><body><freejoint/>
        <geom type="mesh" mesh="m" density="6"/></body></worldbody></mujoco>"#;
    for (corners, notes, mass) in [(100, 0, 6.279052610538763), (101, 1, 4.186089156020202)] {
        let mut mesh = String::new();
        let angle = |k: usize| k as f64 * std::f64::consts::TAU / corners as f64;
        for k in 0..corners {
            mesh += &format!("v {:.6} {:.6} 1\n", angle(k).cos(), angle(k).sin());
        }
        mesh += "v 0 0 2\nf";
        (1..=corners).rev().for_each(|k| mesh += &format!(" {k}"));
        mesh += "\n";
        let (n, apex) = (corners, corners + 1);
        (0..n).for_each(|k| mesh += &format!("f {} {} {apex}\n", k + 1, (k + 1) % n + 1));
        std::fs::write(folder.join("cone.obj"), mesh).unwrap();
        let read = parse(text, "odd.xml", Some(&folder), Base::Fixed).unwrap();
        let said = |w: &&Warning| w.text.contains("more than 100 corners");
        assert_eq!(read.warnings.iter().filter(said).count(), notes);
        assert!((read.robot.tree.mass() - mass).abs() < 1e-9);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A servo of the range of a joint whose limits are switched off: its input is as near to zero as the range is.
#[test]
fn an_actuator_inherits_a_range_that_does_not_hold() {
    let off = r#"<option><flag limit="disable"/></option>"#;
    for (option, limited) in [("", "true"), ("", "false"), (off, "true")] {
        let text = format!(
            r#"<mujoco>{option}<worldbody><body><joint name="j" range="30 90" limited="{limited}"/><geom size=".1" pos="1 0 0"/>
            </body></worldbody><actuator><position joint="j" kp="2" inheritrange="1"/></actuator></mujoco>"#
        );
        let file = parse(&text, "odd.xml", None, Base::Fixed).unwrap();
        let servo = file.robot.joints[0].servo.unwrap();
        assert!((servo.position - 30_f64.to_radians()).abs() < 1e-12);
    }
}

/// Copies turn by multiples of the angles, not by the turn that they make together. The numbers are those of MuJoCo 4.0.
#[test]
fn copies_turn_by_multiples_of_their_angles() {
    let text = r#"<mujoco><worldbody><replicate count="4" offset=".1 0 0" euler="0 10 20"><body pos=".2 0 0"><joint/>
        <geom size=".1"/></body></replicate></worldbody></mujoco>"#;
    let robot = parse(text, "odd.xml", None, Base::Fixed).unwrap().robot;
    let wanted = [
        [0.2, 0.0, 0.0],
        [0.28508332, 0.06840403, -0.03263518],
        [0.33651092, 0.16275954, -0.06871812],
        [0.35112883, 0.27168586, -0.09251785],
    ];
    for (link, wanted) in robot.tree.links().iter().zip(wanted) {
        let off = (link.place.position - glam::DVec3::from(wanted)).length();
        assert!(off < 1e-8, "{}", link.place.position);
    }
    let turn = glam::DQuat::from_mat3(&robot.tree.links()[2].place.rotation);
    assert!((turn.w.abs() - 0.92541658).abs() < 1e-8, "{turn}");
}
