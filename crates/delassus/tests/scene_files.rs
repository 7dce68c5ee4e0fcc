//! Scene files: meshes by path, rows and grids, resting bodies, forces, colours, cameras, and the schema for editors.
#![cfg(feature = "robots")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use delassus::collide::Shape;
use delassus::math::DVec3;
use delassus::model::scene::{SCHEMA, parse, parse_in};
use delassus::problem::Form;
use delassus::world::{JointKind, Scene};
use delassus::{Auto, World};
use serde_json::Value;

/// Rounding of a few operations at lengths of metres.
const ROUNDING: f64 = 1e-9;

fn at(world: &World, name: &str) -> DVec3 {
    let id = world.find_body(name);
    world.bodies().position[id.unwrap_or_else(|| panic!("there is no {name}")).index()]
}

fn fault(text: &str) -> String {
    parse(text).expect_err("it is broken").to_string()
}

const GROUND: &str = r#"
[[bodies]]
name = "ground"
motion = "static"
[[bodies.shapes]]
half-space = {}
"#;

/// A body of one box of 1 m with more keys.
fn cube(name: &str, keys: &str) -> String {
    format!(
        "[[bodies]]\nname = \"{name}\"\ndensity = 100\n{keys}\n[[bodies.shapes]]\nbox = {{ half = [0.5, 0.5, 0.5] }}\n"
    )
}

/// A folder of its own with a cube of 2 m as OBJ and as STL.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("delassus-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let corner = |i: usize| [0, 1, 2].map(|k| if i >> k & 1 == 1 { 1.0 } else { -1.0 });
    let quads = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let mut obj = String::new();
    for i in 0..8 {
        let [x, y, z] = corner(i);
        obj += &format!("v {x} {y} {z}\n");
    }
    let mut stl = String::from("solid cube\n");
    for quad in quads {
        let [a, b, c, d] = quad.map(|i| i + 1);
        obj += &format!("f {a} {b} {c} {d}\n");
        for triangle in [[quad[0], quad[1], quad[2]], [quad[0], quad[2], quad[3]]] {
            stl += "facet normal 0 0 0\nouter loop\n";
            for i in triangle {
                let [x, y, z] = corner(i);
                stl += &format!("vertex {x} {y} {z}\n");
            }
            stl += "endloop\nendfacet\n";
        }
    }
    std::fs::write(folder.join("cube.obj"), obj).expect("a file");
    std::fs::write(folder.join("cube.stl"), stl + "endsolid\n").expect("a file");
    folder
}

#[test]
fn meshes_are_read_from_files_as_ground_and_as_hulls() {
    let folder = folder("meshes");
    let text = r#"
[[bodies]]
name = "table"
motion = "static"
[[bodies.shapes]]
mesh = { file = "cube.stl" }

[[bodies]]
name = "rock"
position = [0, 0, 3]
density = 10
[[bodies.shapes]]
hull = { file = "cube.obj", scale = 0.5 }

[[bodies]]
name = "slab"
position = [0, 0, 9]
density = 10
[[bodies.shapes]]
hull = { file = "cube.stl", scale = [2, 1, 0.1] }
"#;
    let mut scene = parse_in(text, Some(&folder)).expect("both files are there");
    let rock = scene.world.find_body("rock").expect("it is there");
    // A cube of 1 m, 10 kg/m³.
    assert!((scene.world.bodies().mass[rock.index()] - 10.0).abs() < ROUNDING);
    let slab = scene.world.find_body("slab").expect("it is there");
    assert!((scene.world.bodies().mass[slab.index()] - 4.0 * 2.0 * 0.2 * 10.0).abs() < ROUNDING);
    let table = &scene.world.colliders()[2].shape;
    let Shape::Mesh {
        vertices,
        triangles,
    } = table
    else {
        panic!("a mesh: {table:?}");
    };
    assert_eq!(
        (vertices.len(), triangles.len()),
        (8, 12),
        "corners are one"
    );
    let mut solver = Auto::default();
    for _ in 0..200 {
        scene.world.step(0.01, &mut solver).expect("a step");
    }
    let z = at(&scene.world, "rock").z;
    assert!((z - 1.5).abs() < 1e-2, "it rests on the mesh: {z}");
    let with = |shape: &str| {
        let text =
            format!("[[bodies]]\nname = \"m\"\nmotion = \"static\"\n[[bodies.shapes]]\n{shape}\n");
        parse_in(&text, Some(&folder))
            .expect_err("broken")
            .to_string()
    };
    let broken = [
        (r#"mesh = { file = "none.stl" }"#, "none.stl"),
        (r#"mesh = { file = "cube.ply" }"#, ".stl, .obj"),
        (
            r#"mesh = { file = "cube.stl", vertices = [[0, 0, 0]] }"#,
            "either its file",
        ),
        (
            r#"mesh = { file = "cube.stl", scale = 0 }"#,
            "scale of zero",
        ),
        (
            r#"hull = { points = [[0, 0, 0]], scale = 2 }"#,
            "only a mesh from a file",
        ),
        (r#"hull = { file = 3 }"#, "found 3"),
    ];
    for (shape, said) in broken {
        let error = with(shape);
        assert!(error.contains(said) && error.starts_with("5:"), "{error}");
    }
    let nowhere = parse(text).expect_err("no folder").to_string();
    assert!(nowhere.contains("no folder to look in"), "{nowhere}");
    std::fs::remove_dir_all(&folder).expect("it was made");
}

#[test]
fn rows_and_grids_have_a_body_at_every_place() {
    let row = cube("row", "array = { count = 12, step = [0, 0, 1.5] }");
    let grid = cube(
        "brick",
        "position = [9, 0, 0]\ngrid = { count = [3, 2, 2], step = [2, 3, 4] }",
    );
    let world = parse(&(row + &grid)).expect("a scene").world;
    assert_eq!(world.bodies().len(), 24);
    assert_eq!(at(&world, "row-00"), DVec3::ZERO);
    assert_eq!(at(&world, "row-11"), DVec3::Z * 16.5);
    assert_eq!(at(&world, "brick-2-1-1"), DVec3::new(13.0, 3.0, 4.0));
    let twice = cube("row", "array = { count = 2, step = [1, 0, 0] }") + &cube("row-1", "");
    assert!(fault(&twice).contains("name of another body"));
    let both = cube(
        "b",
        "array = { count = 2, step = [1, 0, 0] }\ngrid = { count = [1, 1, 1], step = [1, 1, 1] }",
    );
    assert!(fault(&both).contains("either array or grid"));
    let many = cube(
        "b",
        "grid = { count = [1000, 1000, 1000], step = [1, 1, 1] }",
    );
    assert!(
        fault(&many).contains("more than 1000000"),
        "{}",
        fault(&many)
    );
    let none = cube("b", "array = { count = 0, step = [1, 0, 0] }");
    assert!(fault(&none).contains("found 0"), "{}", fault(&none));
}

#[test]
fn bodies_rest_on_what_is_below_whatever_the_order_of_names() {
    let text = GROUND.to_owned()
        + &cube("a-top", "position = [0.2, 0, -7]\nrest-on = \"b-middle\"")
        + &cube("b-middle", "position = [0, 0, 3]\nrest-on = \"ground\"")
        + &cube(
            "row",
            "position = [5, 0, 0]\nrest-on = \"ground\"\narray = { count = 3, step = [2, 0, 0] }",
        )
        + "[[bodies]]\nname = \"ball\"\ndensity = 1\nposition = [5, 0, 0]\nrest-on = \"row-0\"\n[[bodies.shapes]]\nsphere = { radius = 0.25 }\n";
    let mut scene = parse(&text).expect("a scene");
    let close = |world: &World, name: &str, place: DVec3| {
        let found = at(world, name);
        assert!((found - place).length() < ROUNDING, "{name} at {found}");
    };
    close(&scene.world, "b-middle", DVec3::new(0.0, 0.0, 0.5));
    close(&scene.world, "a-top", DVec3::new(0.2, 0.0, 1.5));
    close(&scene.world, "row-2", DVec3::new(9.0, 0.0, 0.5));
    close(&scene.world, "ball", DVec3::new(5.0, 0.0, 1.25));
    let mut solver = Auto::default();
    for _ in 0..50 {
        let step = scene.world.step(0.01, &mut solver).expect("a step");
        assert!(step.penetration < 1e-6, "{}", step.penetration);
    }
    assert!((at(&scene.world, "a-top").z - 1.5).abs() < 1e-6);
    // Up is against gravity.
    let sideways = format!(
        "gravity = [-9.81, 0, 0]\n{}{}",
        cube("a", ""),
        cube("b", "rest-on = \"a\"")
    );
    close(&parse(&sideways).expect("a scene").world, "b", DVec3::X);
    let circle = cube("a", "rest-on = \"b\"") + &cube("b", "rest-on = \"a\"");
    assert!(fault(&circle).contains("rests on what rests on it"));
    let itself = cube("a", "rest-on = \"a\"");
    assert!(fault(&itself).contains("rests on what rests on it"));
    let past = cube("a", "") + &cube("b", "position = [3, 0, 0]\nrest-on = \"a\"");
    assert!(fault(&past).contains("fall past"));
    let nothing = cube("a", "rest-on = \"grund\"") + GROUND;
    assert!(fault(&nothing).contains("did you mean \"ground\""));
}

#[test]
fn forces_over_time_give_their_whole_impulse_however_long_the_step() {
    let forces = r#"
gravity = [0, 0, 0]
[[forces]]
body = "a"
force = [200, 0, 0]
from = 0.105
until = 0.275

[[forces]]
body = "a"
times = [0, 0.5, 1]
forces = [[0, 0, 0], [0, 100, 0], [0, 0, 0]]
torques = [[0, 0, 0], [0, 0, 3], [0, 0, 0]]
"#;
    for h in [0.1, 0.01] {
        let text = format!("{forces}\n{}", cube("a", ""));
        let mut scene = parse(&text).expect("a scene");
        let mut solver = Auto::default();
        while scene.world.time() < 1.2 {
            scene.world.step(h, &mut solver).expect("a step");
        }
        let bodies = scene.world.bodies();
        // ∫ f dt / m: 200 · 0.17, and half of 100 · 1; torque half of 3 over I = m/6.
        let v = DVec3::new(34.0, 50.0, 0.0) / 100.0;
        assert!(
            (bodies.velocity[0] - v).length() < 1e-12,
            "{}",
            bodies.velocity[0]
        );
        let spin = 1.5 / (100.0 / 6.0);
        assert!((bodies.spin[0].z - spin).abs() < 1e-9, "{}", bodies.spin[0]);
    }
}

#[test]
fn a_force_at_a_point_twists_and_one_of_the_body_turns_with_it() {
    let text = format!(
        "gravity = [0, 0, 0]\n[[forces]]\nbody = \"a\"\nforce = [0, 10, 0]\npoint = [0.5, 0, 0]\naxes = \"body\"\nuntil = 0.001\n{}",
        cube("a", "rotation = { axis = [0, 0, 1], degrees = 90 }")
    );
    let mut scene = parse(&text).expect("a scene");
    let step = scene.world.step(0.001, &mut Auto::default());
    step.expect("a step");
    let bodies = scene.world.bodies();
    // y of the body is −x of the world; at (½, 0, 0) it has no arm about z but that of the world's y, which is none.
    assert!((bodies.velocity[0] - DVec3::X * -1e-4).length() < 1e-12);
    assert!(bodies.spin[0].length() < 1e-9, "{}", bodies.spin[0]);
    assert!(scene.world.is_supplied());
    let mut fresh = parse(&text).expect("a scene").world;
    let (problem, _) = fresh.problem(0.001).expect("a problem");
    let Form::Primal(primal) = problem.form() else {
        panic!("a world's problem has masses");
    };
    assert!(
        (primal.p()[0] + 0.01).abs() < 1e-12,
        "the next problem has it too"
    );
}

#[test]
fn colours_and_cameras_are_kept() {
    let text = cube("a", "colour = \"#ff8000\"")
        + &cube(
            "b",
            "position = [3, 0, 0]\ncolour = [0, 0.25, 1]\narray = { count = 2, step = [2, 0, 0] }",
        )
        + "[[cameras]]\nname = \"front\"\nposition = [0, -5, 1]\ntarget = [0, 0, 1]\nfield-degrees = 30\n";
    let scene: Scene = parse(&text).expect("a scene");
    let look = &scene.world.look;
    let colour = |name: &str| look.colours[&scene.world.find_body(name).expect("there")];
    assert_eq!(colour("a"), [1.0, 128.0 / 255.0, 0.0]);
    assert_eq!([colour("b-0"), colour("b-1")], [[0.0, 0.25, 1.0]; 2]);
    let [camera] = &look.cameras[..] else {
        panic!("one camera");
    };
    assert_eq!((camera.name.as_str(), camera.up), ("front", DVec3::Z));
    assert!((camera.field - 30_f64.to_radians()).abs() < 1e-15);
    for bad in ["\"red\"", "\"#12345\"", "[2, 0, 0]", "[1, 1]", "7"] {
        let error = fault(&cube("a", &format!("colour = {bad}")));
        assert!(
            error.starts_with("4:") && error.contains("colour"),
            "{error}"
        );
    }
    let camera = |keys: &str| fault(&format!("[[cameras]]\nname = \"c\"\n{keys}\n"));
    assert!(camera("").contains("position is missing"));
    assert!(camera("position = [0, 0, 0]").contains("stands on its target"));
    assert!(camera("position = [0, 0, 5]").contains("looks along its up"));
    assert!(camera("position = [1, 0, 5]\nfield-degrees = 0").contains("field-degrees"));
}

/// A scene with every kind of joint that was added last, and what each is.
const JOINTS: &str = r#"
gravity = [0, 0, 0]
[[joints]]
type = "cylindrical"
bodies = ["a-0", "world"]
axis = [0, 0, 1]
limits = [-1, 1]
[[joints]]
type = "planar"
bodies = ["a-1", "world"]
normal = [0, 0, 1]
[[joints]]
type = "spring"
bodies = ["a-2", "a-3"]
anchors = [[4, 0, 0], [6, 0, 0]]
stiffness = 100
damping = 2
[[joints]]
type = "screw"
bodies = ["a-4", "world"]
point = [8, 0, 0]
axis = [0, 0, 1]
pitch = 0.01
motor = { speed = 1, max-force = 5 }
[[joints]]
type = "rack-and-pinion"
bodies = ["a-5", "a-6"]
point = [10, 0, 0]
axis = [0, 0, 1]
direction = [1, 0, 0]
radius = 0.2
[[joints]]
type = "pulley"
bodies = ["a-7", "a-8"]
points = [[14, 0, 0], [16, 0, 0]]
anchors = [[14, 0, 5], [16, 0, 3]]
ratio = 2
"#;

#[test]
fn every_joint_is_read_and_starts_closed() {
    let text = format!(
        "{JOINTS}{}",
        cube("a", "array = { count = 9, step = [2, 0, 0] }")
    );
    let mut scene = parse(&text).expect("a scene");
    let joints = scene.world.joints();
    let kinds: BTreeSet<&str> = joints.iter().map(|joint| joint.kind.name()).collect();
    let expected = [
        "cylindrical",
        "planar",
        "pulley",
        "rack-and-pinion",
        "screw",
        "spring",
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    for joint in joints {
        assert!(
            joint.violation(scene.world.bodies()) < 1e-12,
            "{}",
            joint.name
        );
        if let JointKind::Pulley { length, .. } = joint.kind {
            assert_eq!(length, 5.0 + 2.0 * 3.0);
        }
        if let JointKind::Spring { length, .. } = joint.kind {
            assert_eq!(length, 2.0);
        }
    }
    let mut solver = Auto::default();
    for _ in 0..20 {
        let step = scene.world.step(0.01, &mut solver).expect("a step");
        assert_eq!(step.unsolved, 0);
    }
    let two = cube("a", "array = { count = 2, step = [2, 0, 0] }");
    let joint = |keys: &str| {
        fault(&format!(
            "[[joints]]\nbodies = [\"a-0\", \"a-1\"]\n{keys}\n{two}"
        ))
    };
    let broken = [
        (
            "type = \"screw\"\npoint = [0, 0, 0]\naxis = [0, 0, 1]\npitch = 0",
            "nothing follows",
        ),
        (
            "type = \"screw\"\npoint = [0, 0, 0]\naxis = [0, 0, 1]",
            "pitch is missing",
        ),
        (
            "type = \"spring\"\nanchors = [[0, 0, 0], [1, 0, 0]]\nstiffness = 0",
            "does nothing",
        ),
        (
            "type = \"spring\"\nanchors = [[0, 0, 0], [1, 0, 0]]\nstiffness = 1\ncompliance = 1",
            "no key \"compliance\"",
        ),
        (
            "type = \"rack-and-pinion\"\npoint = [0, 0, 0]\naxis = [0, 0, 1]\ndirection = [1, 0, 1]\nradius = 1",
            "normal to the axle",
        ),
        (
            "type = \"pulley\"\npoints = [[0, 0, 0], [2, 0, 0]]\nanchors = [[0, 0, 0], [2, 0, 0]]",
            "lie on its anchors",
        ),
        (
            "type = \"pulley\"\npoints = [[0, 0, 0], [2, 0, 0]]\nanchors = [[0, 0, 1], [2, 0, 1]]\nratio = -1",
            "ratio",
        ),
        ("type = \"planar\"\naxis = [0, 0, 1]", "no key \"axis\""),
        ("type = \"cylindric\"\naxis = [0, 0, 1]", "cylindrical"),
    ];
    for (keys, said) in broken {
        let error = joint(keys);
        assert!(error.contains(said), "{keys}: {error}");
    }
}

/// TOML as the JSON that a schema is about.
fn json(text: &str) -> Value {
    let table: toml::Table = text.parse().expect("it is TOML");
    serde_json::to_value(table).expect("TOML has a JSON form")
}

/// Scene files in the chapter and those that attacks start from.
fn shipped() -> Vec<String> {
    let chapter = include_str!("../docs/scenes.md");
    let blocks = chapter.split("```toml\n").skip(1);
    let mut all: Vec<String> = blocks
        .filter_map(|rest| rest.split("```").next())
        .map(str::to_owned)
        .collect();
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../delassus-attack/seeds/scene_toml");
    // Outside the repository the seeds are not there.
    if let Ok(files) = std::fs::read_dir(seeds) {
        for file in files.flatten() {
            all.push(std::fs::read_to_string(file.path()).expect("a file"));
        }
    }
    all
}

#[test]
fn the_schema_takes_every_shipped_scene_and_refuses_broken_ones() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let shipped = shipped();
    assert!(4 <= shipped.len());
    let nine = cube("a", "array = { count = 9, step = [2, 0, 0] }");
    for text in shipped.iter().chain([&format!("{JOINTS}{nine}")]) {
        let errors: Vec<String> = validator
            .iter_errors(&json(text))
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:?}\n{text}");
    }
    let broken = [
        "titel = \"a\"".to_owned(),
        "gravity = [0, 0]".to_owned(),
        "[run]\ndt = -3".to_owned(),
        "[settings]\nfriction = \"cube\"".to_owned(),
        cube("world", ""),
        cube("a", "colour = \"red\""),
        cube("a", "mass = -1"),
        cube("a", "array = { count = 2 }"),
        cube("a", "array = { count = 1, step = [1, 0, 0] }\ngrid = { count = [1, 1, 1], step = [1, 1, 1] }"),
        cube("a", "rotation = { axis = [0, 0, 1] }"),
        "[[bodies]]\nname = \"a\"\n[[bodies.shapes]]\nsphere = { radius = 1 }\nbox = { half = [1, 1, 1] }".to_owned(),
        "[[joints]]\ntype = \"screw\"\nbodies = [\"a\", \"b\"]\npoint = [0, 0, 0]\naxis = [0, 0, 1]".to_owned(),
        "[[joints]]\ntype = \"bolt\"\nbodies = [\"a\", \"b\"]".to_owned(),
        "[[joints]]\ntype = \"ball\"\nbodies = [\"a\", \"b\"]\npoint = [0, 0, 0]\naxis = [0, 0, 1]".to_owned(),
        "[[forces]]\nbody = \"a\"".to_owned(),
        "[[cameras]]\nname = \"a\"".to_owned(),
        "[[robots]]\nname = \"a\"".to_owned(),
    ];
    for text in broken {
        assert!(!validator.is_valid(&json(&text)), "the schema takes {text}");
        assert!(parse(&text).is_err(), "the reader takes {text}");
    }
}

/// Keys of a schema's objects, by the name of what they are keys of.
fn keys(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (key, inner) in properties {
            found.insert(format!("{path}/{key}"));
            keys(inner, &format!("{path}/{key}"), found);
        }
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(inner) {
            keys(inner, path, found);
        }
    }
    if let Some(list) = schema.get("oneOf").and_then(Value::as_array) {
        list.iter().for_each(|inner| keys(inner, path, found));
    }
    if let Some(name) = schema.get("$defs").and_then(Value::as_object) {
        for (name, inner) in name {
            keys(inner, name, found);
        }
    }
}

#[test]
fn every_key_of_the_schema_is_in_the_chapter() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("it is JSON");
    let mut found = BTreeSet::new();
    keys(&schema, "", &mut found);
    assert!(100 < found.len());
    let chapter = include_str!("../docs/scenes.md");
    let missing: Vec<&String> = found
        .iter()
        .filter(|path| {
            let key = path.rsplit('/').next().unwrap_or_default();
            !chapter.contains(&format!("`{key}`"))
                && !chapter.contains(&format!("{key} = "))
                && !chapter.contains(&format!("[{key}]"))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
