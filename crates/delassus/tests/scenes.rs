//! Built-in scenes and scene files: what they promise, and what they say about mistakes.

#![cfg(feature = "world")]

use std::fs;
use std::path::Path;

use delassus::model::scene::parse;
use delassus::scenes::{Exhibit, build, exhibits};
use delassus::solver::{Stop, from_spec};
use delassus::world::Scene;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Steps a scene with its own defaults.
fn step(scene: &mut Scene, steps: usize) {
    let stop = Stop {
        tolerance: scene.run.tolerance,
        sweeps: scene.run.iterations,
        ..Stop::default()
    };
    let mut solver = from_spec(&scene.run.solver, stop, 0).expect("defaults name a solver");
    for i in 0..steps {
        let stepped = scene.world.step(scene.run.dt, solver.as_mut());
        let step = stepped.unwrap_or_else(|error| panic!("{}, step {i}: {error}", scene.title));
        assert!(step.report.residual.law.is_finite(), "{}", scene.title);
    }
}

/// Largest distance of a body from where it was.
fn moved(before: &Scene, after: &Scene) -> f64 {
    let (a, b) = (before.world.bodies(), after.world.bodies());
    let pairs = a.position.iter().zip(&b.position);
    pairs.map(|(a, b)| (*b - *a).length()).fold(0.0, f64::max)
}

/// The name of a scene, with a smaller size where a hundred thousand bodies would have to be waited for.
fn spec(exhibit: &Exhibit) -> String {
    match exhibit.second {
        0 => exhibit.name.to_owned(),
        _ => format!("{}:20x10", exhibit.name),
    }
}

#[test]
fn every_built_in_scene_steps_with_its_defaults_and_stays_finite() {
    for exhibit in exhibits() {
        let mut scene = build(&spec(exhibit)).unwrap();
        step(&mut scene, 10);
        let bodies = scene.world.bodies();
        let mut numbers = bodies.position.iter().chain(&bodies.velocity);
        assert!(numbers.all(|v| v.is_finite()), "{}", exhibit.name);
        let probe = bodies.probe(scene.world.gravity);
        assert!((probe.kinetic + probe.potential).is_finite());
    }
}

#[test]
fn every_built_in_scene_starts_without_overlap() {
    // Rounding of a corner that is shared by two bodies a few metres from the origin.
    const ROUNDING: f64 = 1e-12;
    for exhibit in exhibits() {
        let mut scene = build(&spec(exhibit)).unwrap();
        let mut solver = from_spec("gauss-seidel", Stop::default(), 0).unwrap();
        let step = scene.world.step(1e-6, solver.as_mut()).unwrap();
        let depth = step.penetration;
        assert!(depth < ROUNDING, "{}: {depth:e} m deep", exhibit.name);
        assert!(
            step.violation < 1e-9,
            "{}: {}",
            exhibit.name,
            step.violation
        );
    }
}

#[test]
fn the_same_name_gives_the_same_bits() {
    for exhibit in exhibits() {
        let hash = || {
            let mut scene = build(&spec(exhibit)).unwrap();
            step(&mut scene, 3);
            scene.world.state_hash()
        };
        assert_eq!(hash(), hash(), "{}", exhibit.name);
    }
}

#[test]
fn sizes_are_taken_and_checked() {
    assert_eq!(build("stack:3").unwrap().world.bodies().len(), 4);
    assert_eq!(build("necklaces:3x5").unwrap().world.bodies().len(), 15);
    assert_eq!(build("necklaces:2").unwrap().world.joints().len(), 80);
    for spec in [
        "necklaces:0x5",
        "necklaces:3x",
        "necklaces:9999999x99",
        "necklaces:-1x2",
    ] {
        assert!(build(spec).is_err(), "{spec}");
    }
    assert_eq!(build("pile:2500").unwrap().world.bodies().len(), 2505);
    assert_eq!(build("arch:21").unwrap().world.bodies().len(), 24);
    for spec in [
        "stack:0",
        "stack:",
        "stack:x",
        "stack:-1",
        "stack:999999999999",
        "arch:2",
        "incline:3",
        "",
        ":",
        ":5",
    ] {
        let error = build(spec).unwrap_err().to_string();
        assert!(
            error.contains("whole number") || error.contains("size") || error.contains("known"),
            "{spec}: {error}"
        );
    }
    for (spec, meant) in [
        ("stak:5", "did you mean stack:5?"),
        ("Arch", "did you mean arch?"),
        ("an-elephant", "known: necklace"),
    ] {
        let error = build(spec).unwrap_err().to_string();
        assert!(error.contains(meant), "{spec}: {error}");
    }
    let title = build("necklaces:3x4").unwrap().title;
    assert!(title.contains("3 such necklaces of 4 beads"), "{title}");
}

#[test]
fn arch_card_house_and_block_stand_still() {
    // A tenth of a micrometre: the solver stops at 1e-7 m/s, so that creep stays below it.
    const CREEP: f64 = 1e-7;
    for spec in [
        "arch",
        "arch:5",
        "card-house",
        "card-house:1",
        "incline",
        "stack:4",
    ] {
        let (before, mut after) = (build(spec).unwrap(), build(spec).unwrap());
        step(&mut after, 100);
        let moved = moved(&before, &after);
        assert!(moved < CREEP, "{spec} moved by {moved:e} m");
    }
}

#[test]
fn arch_and_card_house_fall_when_friction_is_too_small() {
    for (spec, friction) in [("arch", 0.1), ("card-house", 0.1)] {
        let (before, mut after) = (build(spec).unwrap(), build(spec).unwrap());
        for surface in after.world.surfaces_mut() {
            surface.friction = friction;
        }
        after.run.tolerance = 1e-4;
        after.run.iterations = 200;
        step(&mut after, 100);
        let moved = moved(&before, &after);
        assert!(0.01 < moved, "{spec} moved by {moved:e} m only");
    }
}

#[test]
fn a_sliding_ball_rolls_at_five_sevenths_of_its_speed() {
    let mut scene = build("rolling-ball").unwrap();
    step(&mut scene, 200);
    let bodies = scene.world.bodies();
    let ball = bodies.name.iter().position(|name| name == "ball").unwrap();
    assert!((bodies.velocity[ball].x - 15.0 / 7.0).abs() < 1e-9);
}

/// The TOML examples of the chapter.
fn examples() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scenes.md");
    let text = fs::read_to_string(path).expect("the chapter on scenes is there");
    let blocks = text.split("```toml\n").skip(1);
    let examples: Vec<String> = blocks
        .map(|block| block.split("```").next().unwrap_or_default().to_owned())
        .collect();
    assert!(3 <= examples.len());
    examples
}

#[test]
fn every_documented_scene_is_read_and_runs() {
    for example in examples() {
        let mut scene = parse(&example).unwrap_or_else(|error| panic!("{error}\n{example}"));
        let steps = (scene.run.time / scene.run.dt).round() as usize;
        step(&mut scene, steps);
        assert!((scene.world.time() - scene.run.time).abs() < 1e-9);
    }
}

#[test]
fn the_documented_block_slides_as_coulomb_says() {
    let mut scene = parse(&examples()[0]).unwrap();
    step(&mut scene, 100);
    let angle = 30_f64.to_radians();
    let wanted = 9.81 * (angle.sin() - 0.3 * angle.cos());
    let speed = scene.world.bodies().velocity[0].length();
    assert!((speed - wanted).abs() < 1e-6, "{speed} {wanted}");
}

#[test]
fn the_documented_pendulum_stops_at_its_limit() {
    let mut scene = parse(&examples()[1]).unwrap();
    step(&mut scene, 600);
    let angle = scene.world.joints()[0].coordinate.to_degrees();
    assert!((angle - 60.0).abs() < 0.01, "{angle}");
}

#[test]
fn every_builtin_is_in_the_chapter() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scenes.md");
    let text = fs::read_to_string(path).unwrap();
    for exhibit in exhibits() {
        assert!(text.contains(&format!("| `{}` |", exhibit.name)));
    }
}

/// Chains of bodies, joints of every kind, listed in an order that a seed decides.
fn shuffled(seed: u64) -> String {
    let mut parts = vec![
        "[materials.ice]\nfriction = 0.1\n".to_owned(),
        "[materials.wood]\nfriction = 0.7\nrestitution = 0.2\n".to_owned(),
        "[[pairs]]\nmaterials = [\"wood\", \"ice\"]\nfriction = 0.2\n".to_owned(),
        "[[bodies]]\nname = \"ground\"\nmotion = \"static\"\nshapes = [{ half-space = {}, material = \"ice\" }]\n".to_owned(),
    ];
    for i in 0..6 {
        let shape = [
            "sphere = { radius = 0.2 }",
            "box = { half = [0.2, 0.15, 0.1] }",
        ][i % 2];
        parts.push(format!(
            "[[bodies]]\nname = \"b{i}\"\nposition = [{x}, 0.0{i}, 0.{i}5]\ndensity = 500\n[[bodies.shapes]]\n{shape}\nmaterial = \"wood\"\n",
            x = 0.3 * i as f64,
        ));
    }
    for (i, body) in [
        "type = \"ball\"\npoint = [0.15, 0, 0.1]\nbodies = [\"b0\", \"b1\"]",
        "type = \"hinge\"\npoint = [0.45, 0, 0.2]\naxis = [0, 1, 0]\nbodies = [\"b1\", \"b2\"]\nlimits = [-1, 1]",
        "type = \"distance\"\nanchors = [[0.6, 0.02, 0.25], [0.9, 0.03, 0.35]]\nbodies = [\"b2\", \"b3\"]",
        "type = \"universal\"\npoint = [1.05, 0, 0.4]\naxes = [[1, 0, 0], [0, 1, 0]]\nbodies = [\"b3\", \"b4\"]",
        "type = \"gear\"\nterms = [{ body = \"b4\", axis = [1, 0, 0], ratio = 1 }, { body = \"b5\", axis = [1, 0, 0], ratio = -2 }]",
    ]
    .iter()
    .enumerate()
    {
        parts.push(format!("[[joints]]\nname = \"j{i}\"\n{body}\n"));
    }
    delassus::math::Random::new(seed).shuffle(&mut parts);
    parts.concat()
}

#[test]
fn the_order_in_the_file_does_not_matter() {
    let hash = |seed| {
        let text = shuffled(seed);
        let mut scene = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        step(&mut scene, 100);
        scene.world.state_hash()
    };
    let first = hash(1);
    for seed in 2..6 {
        assert_eq!(hash(seed), first);
    }
}

#[test]
fn a_body_of_two_shapes_weighs_what_its_parts_do() {
    let whole = "[[bodies]]\nname = \"a\"\nposition = [1, 2, 3]\nrotation = { axis = [0, 0, 1], degrees = 90 }\ndensity = 10\n[[bodies.shapes]]\nbox = { half = [1, 0.5, 0.25] }\nposition = [1, 0, 0]\n";
    let halves = "[[bodies]]\nname = \"a\"\nposition = [1, 2, 3]\nrotation = { axis = [0, 0, 1], radians = 1.5707963267948966 }\ndensity = 10\n[[bodies.shapes]]\nbox = { half = [0.5, 0.5, 0.25] }\nposition = [0.5, 0, 0]\n[[bodies.shapes]]\nbox = { half = [0.5, 0.5, 0.25] }\nposition = [1.5, 0, 0]\nrotation = { quaternion = [0, 0, 0, 1] }\n";
    let (a, b) = (parse(whole).unwrap(), parse(halves).unwrap());
    let (a, b) = (a.world.bodies(), b.world.bodies());
    assert!((a.mass[0] - b.mass[0]).abs() < 1e-12);
    assert!((a.position[0] - b.position[0]).length() < 1e-12);
    assert!((a.position[0] - delassus::math::DVec3::new(1.0, 3.0, 3.0)).length() < 1e-12);
    assert!(a.inertia[0].abs_diff_eq(b.inertia[0], 1e-12));
}

/// A scene with one fault, the line at which it stands and what the message must say.
const BAD: [(&str, &str, &str); 39] = [
    ("title = 3", "1:9", "a text in quotes"),
    ("titel = \"x\"", "1:1", "did you mean \"title\""),
    ("title = \"x", "1:", ""),
    ("\n\ngravity = [0, 0]", "3:11", "3 values"),
    ("gravity = [0, 0, nan]", "1:18", "finite"),
    ("gravity = [0, -inf, 0]", "1:15", "finite"),
    ("[run]\ndt = 0", "2:6", "0.000000001 to 1000"),
    ("[run]\nsolver = \"gauss\"", "2:10", "gauss-seidel"),
    ("[run]\niterations = 1.5", "2:14", "whole number"),
    ("[settings]\nfriction = \"facets:2\"", "2:12", "3 to 1024"),
    (
        "[settings]\nfriction = \"cones\"",
        "2:12",
        "did you mean \"cone\"",
    ),
    ("[settings]\ngyroscopic = \"on\"", "2:14", "off"),
    ("[materials.a]\nfriction = -1", "2:12", "from 0"),
    ("[materials.a]\nrestitution = 2", "2:15", "from 0 to 1"),
    (
        "[materials.wood]\n[[pairs]]\nmaterials = [\"wod\", \"wood\"]",
        "3:14",
        "did you mean \"wood\"",
    ),
    ("[[bodies]]\nmass = 1", "1:1", "name is missing"),
    ("[[bodies]]\nname = \"world\"", "2:8", "no name for a body"),
    (
        "[[bodies]]\nname = \"a\"\nmotion = \"static\"\n[[bodies]]\nname = \"a\"",
        "5:8",
        "another body",
    ),
    ("[[bodies]]\nname = \"a\"", "1:1", "give mass and inertia"),
    ("[[bodies]]\nname = \"a\"\nmass = 1", "1:1", "no shapes"),
    (
        "[[bodies]]\nname = \"a\"\nmass = 0\ninertia = [1, 1, 1]",
        "3:8",
        "above zero",
    ),
    (
        "[[bodies]]\nname = \"a\"\nmass = 1\ninertia = [1, -1, 1]",
        "1:1",
        "inertia",
    ),
    ("gravity = [0, 0, -1e308]", "1:18", "at most 1e300"),
    (
        "[[bodies]]\nname = \"a\"\nmass = 1\ninertia = [1, 1, 3]",
        "4:11",
        "no body has these principal moments",
    ),
    (
        "[[bodies]]\nname = \"a\"\nmass = 1\ninertia = [[2, 1, 0], [1, 2, 0], [0, 0, 1]]",
        "4:11",
        "no body has these principal moments",
    ),
    (
        "[[bodies]]\nname = \"a\"\nmass = 1\ninertia = [[1, 1, 0], [0, 1, 0], [0, 0, 1]]",
        "4:11",
        "symmetric",
    ),
    (
        "[[bodies]]\nname = \"a\"\npostion = [0, 0, 0]",
        "3:1",
        "did you mean \"position\"",
    ),
    (
        "[[bodies]]\nname = \"a\"\nrotation = { axis = [0, 0, 0], degrees = 3 }",
        "3:21",
        "not zero",
    ),
    (
        "[[bodies]]\nname = \"a\"\nrotation = { quaternion = [2, 0, 0, 0] }",
        "3:27",
        "length 1",
    ),
    (
        "[[bodies]]\nname = \"a\"\ndensity = 1\n[[bodies.shapes]]\nsphere = { radius = 0 }",
        "5:10",
        "radius is 0",
    ),
    (
        "[[bodies]]\nname = \"a\"\ndensity = 1\n[[bodies.shapes]]\nhalf-space = {}",
        "4:1",
        "static",
    ),
    (
        "[[bodies]]\nname = \"a\"\ndensity = 1\n[[bodies.shapes]]\nmaterial = \"x\"",
        "4:1",
        "exactly one of",
    ),
    (
        "[[bodies]]\nname = \"a\"\nmotion = \"static\"\n[[bodies.shapes]]\nmesh = { vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], triangles = [[0, 1, 3]] }",
        "5:8",
        "vertex 3",
    ),
    (
        "[[bodies]]\nname = \"a\"\nmotion = \"static\"\n[[bodies.shapes]]\nbox = { half = [1, 1, 1] }\nmember = [32]",
        "6:11",
        "0 to 31",
    ),
    (
        "[[bodies]]\nname = \"crate\"\nmass = 1\ninertia = [1, 1, 1]\n[[joints]]\ntype = \"ball\"\npoint = [0, 0, 0]\nbodies = [\"world\", \"crat\"]",
        "8:20",
        "did you mean \"crate\"",
    ),
    (
        "[[bodies]]\nname = \"a\"\nmass = 1\ninertia = [1, 1, 1]\n[[joints]]\ntype = \"ball\"\npoint = [0, 0, 0]\nbodies = [\"a\", \"a\"]",
        "8:10",
        "to itself",
    ),
    (
        "[[bodies]]\nname = \"a\"\nmass = 1\ninertia = [1, 1, 1]\n[[joints]]\ntype = \"hinge\"\npoint = [0, 0, 0]\naxis = [0, 0, 1]\nbodies = [\"a\", \"world\"]\nlimits = [1, -1]",
        "10:10",
        "exchange",
    ),
    (
        "[[bodies]]\nname = \"a\"\nmass = 1\ninertia = [1, 1, 1]\n[[joints]]\ntype = \"ball\"\npoint = [0, 0, 0]\naxis = [0, 0, 1]\nbodies = [\"a\", \"world\"]",
        "8:1",
        "no key \"axis\"",
    ),
    (
        "[[bodies]]\nname = \"a\"\nmotion = \"static\"\n[[joints]]\ntype = \"ball\"\npoint = [0, 0, 0]\nbodies = [\"a\", \"world\"]",
        "4:1",
        "dynamic",
    ),
];

#[test]
fn every_mistake_is_named_with_its_line_and_remedy() {
    for (text, place, fragment) in BAD {
        let error = match parse(text) {
            Ok(_) => panic!("accepted:\n{text}"),
            Err(error) => error.to_string(),
        };
        assert!(
            error.starts_with(place) && error.contains(fragment),
            "{text}\n\n  wanted {place} … {fragment}\n  got    {error}"
        );
    }
}

#[test]
fn a_file_that_is_too_long_is_not_read() {
    let text = " ".repeat((64 << 20) + 1);
    assert!(parse(&text).unwrap_err().to_string().contains("bytes"));
}

/// A body fast enough to pass the largest place there is within the second of two substeps: the refusal of the
/// second must take back the first.
#[test]
fn a_step_refused_half_way_leaves_the_world_as_it_was() {
    let text = "[settings]\nsubsteps = 2\n[[bodies]]\nname = \"a\"\nposition = [9e8, 0, 0]\nvelocity = [2e8, 0, 0]\ndensity = 1\n[[bodies.shapes]]\nsphere = { radius = 1 }\n";
    let mut scene = parse(text).unwrap();
    let mut solver = from_spec("gauss-seidel", Stop::default(), 0).unwrap();
    let before = scene.world.state();
    assert!(scene.world.step(2.0, solver.as_mut()).is_err());
    assert!(scene.world.state() == before);
    assert_eq!(scene.world.time(), 0.0);
}

#[test]
fn a_solid_that_is_turned_in_its_body_turns_its_inertia() {
    use delassus::collide::Shape;
    use delassus::math::DQuat;
    use delassus::world::{Attach, Body, WorldBuilder};
    let mut builder = WorldBuilder::default();
    let rotation = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
    let attach = Attach {
        rotation,
        ..Attach::default()
    };
    let shape = Shape::Cylinder {
        half_length: 1.0,
        radius: 0.1,
    };
    let axial = shape.mass_properties(1.0).unwrap().inertia.z_axis.z;
    builder
        .add_solid(shape, 1.0, Body::default(), attach)
        .unwrap();
    let inertia = builder.bodies().inertia[0];
    assert!((inertia.x_axis.x - axial).abs() < 1e-15);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    /// Cutting, repeating and replacing parts of good scenes.
    #[test]
    fn no_mangled_scene_makes_the_reader_panic(
        which in 0_usize..4,
        cuts in prop::collection::vec((0.0_f64..1.0, 0.0_f64..0.1, 0_usize..10), 1..4),
    ) {
        let mut all = examples();
        all.push(shuffled(3));
        let mut text: Vec<char> = all[which % all.len()].chars().collect();
        let words = ["", "nan", "inf", "-1", "1e308", "[]", "\"", "{}", "0", "]]\n"];
        for (start, length, word) in cuts {
            let at = (start * text.len() as f64) as usize;
            let end = (at + (length * 100.0) as usize).min(text.len());
            text.splice(at..end, words[word].chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(mut scene) = parse(&text) {
            let stop = Stop { sweeps: 20, ..Stop::default() };
            let mut solver = from_spec("gauss-seidel", stop, 0).unwrap();
            for _ in 0..3 {
                let _ = scene.world.step(scene.run.dt, solver.as_mut());
            }
        }
    }
}
