//! Robot files as scenes and inside scene files: shapes, meshes, drives, and what is said about mistakes.

#![cfg(feature = "robots")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot build its scene must stop there"
)]

use std::fs;
use std::path::Path;

use delassus::collide::Shape;
use delassus::math::DVec3;
use delassus::model::robot::{Base, Loss, Options, RobotFile, parse as import};
use delassus::model::scene::{of_robot, parse, parse_in};
use delassus::solver::{Stop, from_spec};
use delassus::world::{MovedBy, Scene};

const TABLE: &str = r#"<robot name="table">
  <link name="top">
    <inertial><origin xyz="0 0 0.5"/><mass value="5"/><inertia ixx="0.2" iyy="0.2" izz="0.3"/></inertial>
    <collision><origin xyz="0 0 0.5"/><geometry><box size="1 1 0.1"/></geometry></collision>
    <collision><origin xyz="0 0 0.25"/><geometry><cylinder radius="0.2" length="0.5"/></geometry></collision>
    <visual><geometry><sphere radius="1"/></geometry></visual>
  </link>
  <joint name="flap" type="revolute">
    <parent link="top"/><child link="leaf"/>
    <origin xyz="0.5 0 0.5"/><axis xyz="0 1 0"/>
    <limit lower="0.2" upper="1.2" effort="10" velocity="2"/>
  </joint>
  <link name="leaf">
    <inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.02"/></inertial>
    <collision><origin xyz="0.2 0 0"/><geometry><capsule radius="0.03" length="0.2"/></geometry></collision>
  </link>
</robot>"#;

fn play(scene: &mut Scene, seconds: f64) -> f64 {
    let stop = Stop {
        tolerance: 1e-8,
        sweeps: 5000,
        ..Stop::default()
    };
    let mut solver = from_spec("gauss-seidel", stop, 0).unwrap();
    let mut deepest: f64 = 0.0;
    for _ in 0..(seconds / scene.run.dt).round() as usize {
        let step = scene.world.step(scene.run.dt, solver.as_mut()).unwrap();
        deepest = deepest.max(step.penetration);
    }
    deepest
}

#[test]
fn collision_shapes_are_read_with_their_places() {
    let RobotFile {
        robot, warnings, ..
    } = import(TABLE, "table.urdf", None, Base::Fixed).unwrap();
    assert_eq!(robot.shapes.len(), 3);
    assert_eq!(
        robot.shapes[0].shape,
        Shape::Box {
            half: [0.5, 0.5, 0.05]
        }
    );
    assert_eq!(robot.shapes[1].pose.position, DVec3::Z * 0.25);
    let texts: Vec<_> = warnings.iter().map(|w| &w.text).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    for (from, to, clue) in [
        ("radius=\"0.2\"", "radius=\"-0.2\"", "negative"),
        ("size=\"1 1 0.1\"", "size=\"1 1\"", "3 finite numbers"),
        ("length=\"0.5\"", "", "length is missing"),
        (
            "<geometry><box size=\"1 1 0.1\"/></geometry>",
            "",
            "<geometry> is missing",
        ),
    ] {
        let text = TABLE.replace(from, to);
        let error = import(&text, "t.urdf", None, Base::Fixed).unwrap_err();
        assert!(
            error.line >= 4 && error.to_string().contains(clue),
            "{error}"
        );
    }
}

#[test]
fn a_floating_robot_file_stands_on_the_ground_and_its_flap_hangs_at_its_limit() {
    let mut scene = of_robot(TABLE, "table.urdf", None, Base::Floating).unwrap();
    assert_eq!((scene.title.as_str(), scene.warnings.len()), ("table", 1));
    let deepest = play(&mut scene, 2.0);
    assert!(deepest < 1e-3, "{deepest}");
    let robot = &scene.world.robots()[0];
    let flap = robot.position("flap").unwrap();
    assert!((flap - 1.2).abs() < 1e-3, "{flap}");
    let top = scene.world.bodies().position[robot.body(delassus::LinkId(0)).unwrap().index()];
    assert!((top.z - 0.5).abs() < 0.01, "{top}");
}

#[test]
fn a_fixed_robot_file_has_a_static_base_and_ground_below_it() {
    let text = TABLE.replace("xyz=\"0 0 0.25\"", "xyz=\"0 0 -0.25\"");
    let mut scene = of_robot(&text, "table.urdf", None, Base::Fixed).unwrap();
    let bodies = scene.world.bodies();
    let find = |name: &str| bodies.name.iter().position(|n| n == name).unwrap();
    assert_eq!(bodies.motion[find("robot/top")], MovedBy::Static);
    assert_eq!(bodies.motion[find("robot/leaf")], MovedBy::Link);
    assert!((bodies.position[find("ground")].z + 0.5).abs() < 1e-12);
    play(&mut scene, 1.0);
    assert!((scene.world.robots()[0].position("flap").unwrap() - 1.2).abs() < 1e-3);
}

#[test]
fn meshes_collide_as_hulls_and_missing_ones_are_named() {
    let folder = folder("robots-mesh");
    let mut obj = String::new();
    for corner in 0..8 {
        let at = |bit: i32| f64::from((corner >> bit & 1) * 2 - 1) * 0.5;
        obj += &format!("v {} {} {}\n", at(0), at(1), at(2));
    }
    fs::write(folder.join("cube.obj"), obj).unwrap();
    fs::write(folder.join("bad.stl"), "solid\nvertex 1 2\n").unwrap();
    let text = |file: &str| {
        format!(
            "<robot name=\"cube\">\n<link name=\"c\"><inertial><mass value=\"1\"/><inertia ixx=\"0.1\" iyy=\"0.1\" izz=\"0.1\"/></inertial>\n<collision><geometry><mesh filename=\"{file}\" scale=\"0.4 0.4 0.4\"/></geometry></collision></link></robot>"
        )
    };
    let mut scene = of_robot(&text("cube.obj"), "c", Some(&folder), Base::Floating).unwrap();
    play(&mut scene, 0.5);
    let body = scene.world.robots()[0].body(delassus::LinkId(0)).unwrap();
    let height = scene.world.bodies().position[body.index()].z;
    assert!((height - 0.2).abs() < 1e-4, "{height}");
    let place = |file: &str| import(&text(file), "c.urdf", Some(&folder), Base::Fixed);
    for left_out in ["bad.stl", "gone.obj", "package://nowhere/x.stl"] {
        let RobotFile {
            robot, warnings, ..
        } = place(left_out).unwrap();
        assert!(robot.shapes.is_empty() && warnings.len() == 1);
        assert_eq!(warnings[0].line, 3);
    }
    let text = "<mujoco>\n<asset><mesh name=\"m\" file=\"gone.obj\"/></asset>\n<worldbody><body name=\"b\"><freejoint/>\n<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/><geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>";
    let error = import(text, "c.xml", Some(&folder), Base::Fixed).unwrap_err();
    assert!(
        error.line == 2
            && error.what.to_string().contains("gone.obj")
            && error.element.contains("mesh"),
        "{error}"
    );
}

const SCENE: &str = r#"title = "two arms"
[run]
dt = 0.005
[materials.rubber]
friction = 0.9

[[robots]]
name = "left"
file = "table.urdf"
position = [0, -2, 0]
material = "rubber"
joints = { flap = 0.4 }
[robots.drives.flap]
servo = { position = 0.8, stiffness = 500, damping = 20, max-force = 100 }

[[robots]]
name = "right"
file = "table.urdf"
base = "floating"
position = [0, 2, 0]
[robots.drives.flap]
motor = { speed = 9, max-force = 1000 }
until = 0.1

[[bodies]]
name = "lamp"
position = [0.9, -2, 0.2]
mass = 0.2
[[bodies.shapes]]
sphere = { radius = 0.05 }

[[joints]]
type = "ball"
bodies = ["lamp", "left/leaf"]
point = [0.9, -2, 0.4]
"#;

/// A folder of this name that holds the file of the table.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("table.urdf"), TABLE).unwrap();
    folder
}

#[test]
fn robots_of_a_scene_are_placed_driven_and_joined() {
    let folder = folder("robots-placed");
    let mut scene = parse_in(SCENE, Some(&folder)).unwrap();
    assert_eq!(scene.warnings.len(), 2);
    let world = &scene.world;
    assert_eq!(world.robot("left").unwrap().position("flap"), Some(0.4));
    let drive = |name: &str| {
        world
            .robot(name)
            .unwrap()
            .joints()
            .iter()
            .find(|j| j.name == "flap")
    };
    // Effort 10 and velocity 2 of the file bound what the scene asks for.
    let servo = drive("left").unwrap().control.drive.servo.unwrap();
    assert_eq!(servo.bounds(), [-10.0, 10.0]);
    let pulls = SCENE.replace("max-force = 100 }", "max-force = 100, min-force = -3 }");
    let pulls = parse_in(&pulls, Some(&folder)).unwrap().world;
    let own = pulls.robot("left").unwrap().joints().iter();
    let own = own.filter_map(|j| j.control.drive.servo).next().unwrap();
    assert_eq!(own.bounds(), [-3.0, 10.0]);
    let positive = SCENE.replace("max-force = 100 }", "max-force = 100, min-force = 3 }");
    let refused = parse_in(&positive, Some(&folder)).err().unwrap();
    assert!(refused.to_string().contains("min-force"), "{refused}");
    let motor = drive("right").unwrap().control.drive.motor.unwrap();
    assert_eq!((motor.speed, motor.max_force), (2.0, 10.0));
    play(&mut scene, 1.0);
    let left = scene.world.robot("left").unwrap().position("flap").unwrap();
    assert!((0.75..0.9).contains(&left), "{left}");
    assert!(parse(SCENE).unwrap_err().to_string().contains("no folder"));
}

#[test]
fn mistakes_about_robots_are_named_with_their_place() {
    let folder = folder("robots-mistakes");
    for (from, to, place, clue) in [
        ("table.urdf\"\npos", "gone.urdf\"\npos", "9:8", "gone.urdf"),
        ("flap = 0.4", "flop = 0.4", "12:19", "did you mean \"flap\""),
        (
            "drives.flap]\nservo",
            "drives.flop]\nservo",
            "13:1",
            "did you mean \"flap\"",
        ),
        (
            "until = 0.1",
            "swing = { amplitude = 1, rate = 1 }",
            "",
            "add a servo",
        ),
        ("until = 0.1", "untill = 0.1", "", "did you mean \"until\""),
        (
            "material = \"rubber\"",
            "material = \"ruber\"",
            "11:12",
            "rubber",
        ),
        (
            "name = \"right\"",
            "name = \"left\"",
            "17:8",
            "name of its own",
        ),
        (
            "base = \"floating\"",
            "base = \"flying\"",
            "19:8",
            "floating",
        ),
        ("left/leaf", "left/loaf", "", "left/leaf"),
        ("file = \"table.urdf\"\nbase", "base", "", "either its file"),
    ] {
        let text = SCENE.replacen(from, to, 1);
        assert_ne!(text, SCENE, "{from}");
        let error = parse_in(&text, Some(&folder)).unwrap_err().to_string();
        assert!(
            error.starts_with(place) && error.contains(clue),
            "{error} ({place}, {clue})"
        );
    }
}

#[test]
fn published_models_fall_on_the_ground_and_stay_finite() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/models");
    let Ok(files) = fs::read_dir(&models) else {
        eprintln!("skipped: {} is not there", models.display());
        return;
    };
    for file in files.map(|file| file.unwrap().path()) {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.display().to_string();
        // One of them has an actuator that is not simulated.
        let options = Options {
            base: Base::Floating,
            loss: Loss::Allow,
        };
        let scene = of_robot(&text, &name, file.parent(), options);
        let mut scene = scene.unwrap_or_else(|error| panic!("{error}"));
        let stop = Stop {
            tolerance: 1e-4,
            sweeps: 200,
            ..Stop::default()
        };
        let mut solver = from_spec("gauss-seidel", stop, 0).unwrap();
        for i in 0..100 {
            let step = scene.world.step(scene.run.dt, solver.as_mut());
            let step = step.unwrap_or_else(|error| panic!("{name}, step {i}: {error}"));
            assert!(step.probe.kinetic.is_finite());
        }
    }
}
