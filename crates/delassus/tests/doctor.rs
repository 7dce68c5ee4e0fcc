//! What is promised about `doctor`: each trouble is found where it is, and nowhere else.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used)] // A test may stop anywhere.

use delassus::doctor::{Diagnosis, Finding, FindingKind, Severity, of_problem, of_scene};
use delassus::model::scene::parse;
use delassus::problem::delassus::BlockMatrix;
use delassus::solver::from_spec;
use delassus::{Law, Problem, Stop, gallery, scenes};

const GROUND: &str =
    "[[bodies]]\nname = \"ground\"\nmotion = \"static\"\n[[bodies.shapes]]\nhalf-space = {}\n";

fn ball(name: &str, position: &str, rest: &str) -> String {
    format!(
        "[[bodies]]\nname = \"{name}\"\nmass = 1\nposition = {position}\n{rest}\n[[bodies.shapes]]\nsphere = {{ radius = 0.5 }}\n"
    )
}

fn joint(name: &str, kind: &str, (a, b): (&str, &str), rest: &str) -> String {
    format!(
        "[[joints]]\nname = \"{name}\"\ntype = \"{kind}\"\nbodies = [\"{a}\", \"{b}\"]\n{rest}\n"
    )
}

/// A point mass with some extent but no shape.
fn mass(name: &str, mass: f64, rest: &str) -> String {
    let inertia = 0.1 * mass;
    format!(
        "[[bodies]]\nname = \"{name}\"\nmass = {mass}\ninertia = [{inertia}, {inertia}, {inertia}]\n{rest}\n"
    )
}

fn examine(text: &str) -> Diagnosis {
    let mut scene = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let stop = Stop {
        tolerance: scene.run.tolerance,
        sweeps: scene.run.iterations,
        ..Stop::default()
    };
    let mut solver = from_spec(&scene.run.solver, stop, 0).unwrap();
    of_scene(&mut scene.world, &scene.run, solver.as_mut(), 10)
}

/// The one finding of a scene.
fn only(text: &str, kind: FindingKind) -> Finding {
    let mut findings = examine(text).findings;
    let kinds: Vec<FindingKind> = findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [kind], "{findings:?}");
    let finding = findings.remove(0);
    assert!(!finding.remedy.is_empty() && finding.number.is_finite());
    finding
}

#[test]
fn healthy_scenes_have_no_findings() {
    let resting = GROUND.to_owned() + &ball("ball", "[0, 0, 0.5]", "");
    let hanging = mass("bob", 1.0, "position = [1, 0, 0]")
        + &joint("pin", "ball", ("bob", "world"), "point = [0, 0, 0]");
    for text in [resting, hanging] {
        assert_eq!(examine(&text).findings, []);
    }
    for name in [
        "necklace:10",
        "incline",
        "arch",
        "dominoes:5",
        "rolling-ball",
        "spinning-top",
    ] {
        let mut scene = scenes::build(name).unwrap();
        let stop = Stop {
            tolerance: scene.run.tolerance,
            sweeps: scene.run.iterations,
            ..Stop::default()
        };
        let mut solver = from_spec(&scene.run.solver, stop, 0).unwrap();
        let diagnosis = of_scene(&mut scene.world, &scene.run, solver.as_mut(), 10);
        assert_eq!(diagnosis.findings, [], "{name}");
        assert_eq!(diagnosis.looked_at.steps, 10, "{name}");
    }
}

#[test]
fn bodies_that_overlap_at_the_start_are_named() {
    let text = GROUND.to_owned() + &ball("ball", "[0, 0, 0.47]", "");
    let found = only(&text, FindingKind::Overlap);
    assert_eq!(found.severity, Severity::Warning);
    assert!((found.number - 0.03).abs() < 1e-9, "{}", found.number);
    assert!(found.places[0].contains("\"ball\"") && found.places[0].contains("\"ground\""));
}

#[test]
fn a_contact_deeper_than_a_step_can_mend_is_an_error() {
    let text = GROUND.to_owned() + &ball("ball", "[0, 0, 0.2]", "");
    let found = only(&text, FindingKind::Deep);
    assert_eq!(found.severity, Severity::Error);
    assert!((found.number - 0.3).abs() < 1e-9, "{}", found.number);
    assert!(found.what.contains("30 steps"), "{}", found.what);
}

#[test]
fn steps_too_long_for_the_speeds_are_found() {
    let text =
        "gravity = [0, 0, 0]\n".to_owned() + &ball("bullet", "[0, 0, 0]", "velocity = [100, 0, 0]");
    let found = only(&text, FindingKind::Fast);
    assert_eq!(
        (found.places[0].as_str(), found.number),
        ("body \"bullet\"", 2.0)
    );
    let text =
        "gravity = [0, 0, 0]\n".to_owned() + &ball("wheel", "[0, 0, 0]", "spin = [0, 0, 200]");
    assert!((only(&text, FindingKind::Fast).number - 2.0).abs() < 1e-9);
    let shorter = "gravity = [0, 0, 0]\n[run]\ndt = 0.001\n".to_owned()
        + &ball("bullet", "[0, 0, 0]", "velocity = [100, 0, 0]");
    assert_eq!(examine(&shorter).findings, []);
}

#[test]
fn a_heavy_body_on_a_light_one_shows_in_the_delassus_diagonal() {
    let text = mass("light", 1.0, "position = [0, 0, -1]")
        + &mass("heavy", 200.0, "position = [0, 0, -2]")
        + &joint("top", "ball", ("light", "world"), "point = [0, 0, 0]")
        + &joint("hook", "ball", ("heavy", "light"), "point = [0, 0, -1.5]");
    let text = format!("[run]\nsolver = \"direct\"\n{text}");
    let found = only(&text, FindingKind::MassRatio);
    assert_eq!(found.places, ["joint \"hook\""]);
    assert!((found.number - 200.0).abs() < 1e-9, "{}", found.number);
}

#[test]
fn joints_that_say_the_same_twice_are_named() {
    let text = mass("arm", 1.0, "position = [1, 0, 0]")
        + &joint("bolt", "fixed", ("arm", "world"), "point = [0, 0, 0]")
        + &joint("glue", "fixed", ("arm", "world"), "point = [0.5, 0, 0]");
    let found = only(&text, FindingKind::Redundant);
    assert_eq!(found.severity, Severity::Note);
    assert!(["joint \"bolt\"", "joint \"glue\""].contains(&found.places[0].as_str()));
}

#[test]
fn joints_that_pull_apart_are_a_conflict() {
    let side = |name: &str, x: f64, v: f64| {
        format!(
            "[[bodies]]\nname = \"{name}\"\nmotion = \"kinematic\"\nposition = [{x}, 0, 0]\nvelocity = [{v}, 0, 0]\n"
        )
    };
    let text = side("left", -1.0, -1.0)
        + &side("right", 1.0, 1.0)
        + &mass("rope", 1.0, "")
        + &joint(
            "hand-left",
            "ball",
            ("rope", "left"),
            "point = [-0.5, 0, 0]",
        )
        + &joint(
            "hand-right",
            "ball",
            ("rope", "right"),
            "point = [0.5, 0, 0]",
        );
    let found = only(&text, FindingKind::Conflict);
    assert_eq!(found.severity, Severity::Error);
    assert!(
        found.places.iter().all(|place| place.contains("hand-")),
        "{:?}",
        found.places
    );
    assert!(0.5 < found.number, "{}", found.number);
}

#[test]
fn springs_that_no_step_can_follow_are_found() {
    // Σ = 4ε/9h² of about a hundredth of the diagonal.
    let spring = |compliance: f64| {
        mass("bob", 1.0, "")
            + &joint(
                "spring",
                "ball",
                ("bob", "world"),
                &format!("point = [0, 0, 0]\ncompliance = {compliance:e}"),
            )
    };
    let found = only(&spring(2.25e-6), FindingKind::Stiff);
    assert_eq!(
        (found.severity, found.places),
        (Severity::Note, vec!["joint \"spring\"".to_owned()])
    );
    assert!((found.number - 10.0).abs() < 1e-6, "{}", found.number);
    for compliance in [1e-12, 1e-3] {
        assert_eq!(examine(&spring(compliance)).findings, []);
    }
}

#[test]
fn steps_that_miss_the_tolerance_are_counted() {
    let text = "[run]\nsolver = \"gauss-seidel\"\ntolerance = 1e-12\niterations = 1\n".to_owned()
        + GROUND
        + &ball("low", "[0, 0, 0.5]", "")
        + &ball("high", "[0, 0, 1.5]", "");
    let found = only(&text, FindingKind::Unsolved);
    assert!(
        found.places[0].starts_with("step 1: iteration-limit at contact of \""),
        "{:?}",
        found.places
    );
}

#[test]
fn a_step_that_cannot_be_made_is_the_first_finding() {
    let text = "gravity = [0, 0, 0]\n".to_owned() + &mass("comet", 1.0, "velocity = [1e9, 0, 0]");
    let mut scene = parse(&text).unwrap();
    scene.run.dt = 1e300;
    let mut solver = from_spec("gauss-seidel", Stop::default(), 0).unwrap();
    let diagnosis = of_scene(&mut scene.world, &scene.run, solver.as_mut(), 3);
    assert_eq!(diagnosis.findings[0].kind, FindingKind::Refused);
    assert_eq!(diagnosis.findings[0].places[0], "body \"comet\"");
    assert_eq!(diagnosis.looked_at.steps, 0);
}

#[test]
fn problems_alone_are_examined_too() {
    let stop = Stop::default();
    for name in ["slide", "corner", "chain:5"] {
        let diagnosis = of_problem(&gallery::build(name).unwrap(), None, stop);
        assert_eq!(diagnosis.findings, [], "{name}");
    }
    let heavy = of_problem(&gallery::build("heavy-stack:4").unwrap(), None, stop);
    assert_eq!(heavy.findings[0].kind, FindingKind::MassRatio);
    assert!(heavy.findings[0].places[0].starts_with("block "));
    let dual = |entries: &[(usize, usize, f64)], c: Vec<f64>| {
        let matrix = BlockMatrix::from_entries(&vec![1; c.len()], entries).unwrap();
        let laws = vec![Law::Unilateral; c.len()];
        of_problem(&Problem::dual(matrix, c, &laws).unwrap(), None, stop)
    };
    let unequal = dual(&[(0, 0, 1.0), (1, 1, 1e-9)], vec![-1.0, 1.0]);
    assert_eq!(unequal.findings[0].kind, FindingKind::Scaling);
    assert_eq!(unequal.findings[0].places, ["block 0", "block 1"]);
    let impossible = dual(&[(0, 0, -1.0)], vec![-1.0]);
    assert_eq!(impossible.findings[0].kind, FindingKind::Unsolved);
    assert!(impossible.findings[0].what.contains("proven"));
}

#[test]
fn scenes_in_which_nothing_can_happen_are_told() {
    let still = only(GROUND, FindingKind::Empty);
    assert!(
        still.what.contains("none of the 1 bodies"),
        "{}",
        still.what
    );
    let falling = ball("ball", "[0, 0, 3]", "") + &ball("other", "[4, 0, 3]", "");
    let lost = only(&falling, FindingKind::NoGround);
    assert_eq!((lost.number, lost.places.len()), (2.0, 2));
    // Held from above, or without weight, nothing is lost.
    let held = falling.clone()
        + &joint("pin", "ball", ("ball", "world"), "point = [0, 0, 3]")
        + &joint("rod", "fixed", ("ball", "other"), "point = [2, 0, 3]");
    assert_eq!(examine(&held).findings, []);
    assert_eq!(
        examine(&format!("gravity = [0, 0, 0]\n{falling}")).findings,
        []
    );
    let through = GROUND.to_owned() + &mass("ghost", 1.0, "position = [0, 0, 1]");
    let ghost = only(&through, FindingKind::Untouchable);
    assert_eq!(ghost.places, ["body \"ghost\""]);
}

/// A parallelogram whose loop is closed by a pin 2 cm away from where it should be.
#[test]
fn a_loop_that_is_open_at_the_start_is_told() {
    let text = r#"<mujoco><worldbody>
        <body name="a"><joint axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 1"/>
        <body name="b" pos="0 0 1"><joint axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 1 0 0"/></body></body>
        <body name="c" pos="1.02 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 1"/></body>
        </worldbody><equality><connect name="pin" body1="b" body2="c" anchor="1 0 0"/></equality>
        <keyframe><key qpos="0 0 0.02"/></keyframe></mujoco>"#;
    let base = delassus::model::robot::Base::Fixed;
    let mut scene = delassus::model::scene::of_robot(text, "loop.xml", None, base).unwrap();
    let robot = &scene.world.robots()[0];
    // MuJoCo takes the gap of the file's own configuration for closed; another one is open.
    let key = robot.keyframes()[0].clone();
    assert!(robot.openings()[0] < 1e-9);
    scene
        .world
        .place_robot(delassus::RobotId(0), &key.q, &key.v)
        .unwrap();
    let mut solver = from_spec("auto", Stop::default(), 0).unwrap();
    let diagnosis = of_scene(&mut scene.world, &scene.run, solver.as_mut(), 2);
    let open = diagnosis
        .findings
        .iter()
        .find(|f| f.kind == FindingKind::Open);
    let open = open.unwrap_or_else(|| panic!("{:?}", diagnosis.findings));
    assert!((0.01..0.03).contains(&open.number), "{}", open.number);
    assert_eq!(open.places, ["loop \"pin\" of robot \"robot\""]);
}
