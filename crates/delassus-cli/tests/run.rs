//! What is promised about runs: the summary, the recordings, refusals, scenes compared.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use std::path::Path;

use common::{delassus, delassus_reading, folder, hash, text, write};
use serde_json::Value;

#[test]
fn the_summary_has_the_promised_fields() {
    let ran = delassus(&["run", "stack:3", "--steps", "20", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let summary = ran.json();
    assert_eq!(summary["schema"], "delassus-run-1");
    assert_eq!(
        (&summary["steps"], &summary["ending"]),
        (&20.into(), &"completed".into())
    );
    for key in ["law", "penetration", "violation"] {
        assert!(summary[key]["value"].is_number(), "{key}");
    }
    for key in ["total", "collide", "assemble", "solve", "integrate"] {
        assert!(summary["ms_per_step"][key].is_number(), "{key}");
    }
    for key in ["start", "end", "largest_rise", "braked"] {
        assert!(summary["energy"][key].is_number(), "{key}");
    }
    let promised = [
        "scene",
        "bodies",
        "joints",
        "dt",
        "solver",
        "unsolved_steps",
        "iterations_per_step",
        "state_hash",
    ];
    assert!(
        promised.iter().all(|key| !summary[key].is_null()),
        "{summary}"
    );
    let ran = delassus(&["run", "stack:3", "--steps", "20"]);
    for label in [
        "worst law residual",
        "energy",
        "steps not solved",
        "collide",
        "state hash",
    ] {
        assert!(ran.stdout.contains(label), "{label}: {}", ran.stdout);
    }
}

#[test]
fn steps_that_miss_the_tolerance_are_counted_and_told_by_the_exit_code() {
    let hasty = [
        "--steps",
        "10",
        "--iterations",
        "1",
        "--tolerance",
        "1e-14",
        "--json",
    ];
    let ran = delassus(&[&["run", "stack:3"], &hasty[..]].concat());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(0 < ran.json()["unsolved_steps"].as_u64().unwrap());
    assert_eq!(ran.json()["swept_as_asked_steps"], 0);
}

/// A tower whose boxes grow a hundredfold each: the lowest, of 0.1 g, carries 1000 t. What it is pushed by from both sides
/// cancels to 1e-6 m/s at best, and a summary that said `not solved` beside a residual within the tolerance was not
/// understood.
#[test]
fn steps_at_the_floor_of_rounding_are_told_apart_from_failures() {
    let mut text =
        "[run]\ndt = 0.01\ntime = 0.1\n[[bodies]]\nname = \"ground\"\nmotion = \"static\"\n\
                    [[bodies.shapes]]\nhalf-space = {}\n"
            .to_owned();
    for i in 0..6 {
        let (mass, z) = (10_f64.powi(2 * i - 4), f64::from(i) + 0.5);
        text += &format!(
            "[[bodies]]\nname = \"b{i}\"\nposition = [0, 0, {z}]\nmass = {mass}\n[[bodies.shapes]]\n\
             box = {{ half = [0.5, 0.5, 0.5] }}\n"
        );
    }
    let place = folder("floor");
    let file = write(&place, "tower.toml", &text);
    let ran = delassus(&["run", &file]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("at the floor of rounding"),
        "{}",
        ran.stdout
    );
    let summary = delassus(&["run", &file, "--json"]).json();
    assert_eq!(summary["floor_steps"], summary["unsolved_steps"]);
}

/// A scene where a problem is asked for, and the reverse: the parsers said `expected key` and `expected a sequence`.
#[test]
fn a_scene_and_a_problem_in_each_others_place_are_called_by_their_names() {
    let place = folder("places");
    let scene = write(&place, "scene.toml", "[run]\ndt = 0.01\n");
    let problem = write(
        &place,
        "problem.json",
        "{\"schema\": \"delassus-problem-1\"}",
    );
    for (arguments, said) in [
        (["solve", &scene], "is a scene"),
        (["run", &problem], "is a single problem"),
        (["info", &problem], "does not begin with"),
    ] {
        let ran = delassus(&arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_number_of_sweeps_that_is_asked_for_is_no_failure() {
    let asked = ["--tolerance", "0", "--iterations", "3"];
    for arguments in [
        &[&["run", "stack:3"], &asked[..]].concat()[..],
        &["run", "pile:20"],
    ] {
        let run = [arguments, &["--steps", "4"]].concat();
        let ran = delassus(&[&run[..], &["--json"]].concat());
        let summary = ran.json();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(
            (&summary["unsolved_steps"], &summary["swept_as_asked_steps"]),
            (&0.into(), &4.into())
        );
        let ran = delassus(&run);
        let line = ran
            .stdout
            .lines()
            .find(|l| l.starts_with("sweeps as asked"));
        assert!(line.unwrap().ends_with("4 of 4"), "{}", ran.stdout);
    }
}

/// Eight sweeps are what a pile does without a tolerance, and no limit of those that reach one.
#[test]
fn a_scene_without_a_tolerance_reaches_the_one_that_is_asked_for() {
    let asked = ["--tolerance", "1e-6", "--steps", "30", "--json"];
    let ran = delassus(&[&["run", "pile:20"], &asked[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.json()["unsolved_steps"], 0);
    let compared = ["--solver", "auto", "--time", "0.3", "--json"];
    let compared = delassus(&[&["compare", "scene:pile:20"], &compared[..]].concat());
    assert_eq!(compared.code, 0, "{}", compared.stderr);
}

#[test]
fn a_stack_and_a_necklace_make_a_good_first_impression() {
    for scene in ["stack", "heavy-stack", "necklace", "arch"] {
        let ran = delassus(&["run", scene, "--steps", "30", "--json"]);
        let summary = ran.json();
        assert_eq!((ran.code, &summary["solver"]), (0, &"auto".into()));
        let mean = summary["iterations_per_step"]["mean"].as_f64().unwrap();
        assert!(mean < 50.0, "{scene}: {mean}");
    }
}

#[test]
fn the_binary_trajectory_is_laid_out_as_documented_and_agrees_with_the_table() {
    let out = folder("run-trajectory");
    let options = ["--steps", "10", "--dt", "0.01", "--every", "4", "--out"];
    hash(&[&["run", "stack:3"], &options[..], &[out.to_str().unwrap()]].concat());
    let bytes = std::fs::read(out.join("trajectory.bin")).unwrap();
    assert_eq!(&bytes[..8], b"DELASSUS");
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let number = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (version, count) = (word(8), word(12));
    assert_eq!((version, number(16)), (1, 0.01));
    let (mut names, mut at) = (Vec::new(), 24);
    for _ in 0..count {
        let length = word(at);
        names.push(std::str::from_utf8(&bytes[at + 4..at + 4 + length]).unwrap());
        at += 4 + length;
    }
    let frame = 8 + 56 * count;
    // Steps 0, 4, 8 and the last.
    assert_eq!(bytes.len() - at, 4 * frame);
    let table = text(&out.join("trajectory.csv"));
    let mut lines = table.lines();
    assert_eq!(
        lines.next(),
        Some("time,body,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz")
    );
    for (i, line) in lines.enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!((fields.len(), fields[1]), (15, names[i % count]));
        let start = at + i / count * frame;
        assert_eq!(fields[0].parse(), Ok(number(start)));
        for k in 0..7 {
            let value = number(start + 8 + 56 * (i % count) + 8 * k);
            assert_eq!(fields[2 + k].parse(), Ok(value), "{line}");
        }
    }
}

/// The numbers of a table behind time and name, line by line.
fn numbers(path: &Path) -> Vec<Vec<f64>> {
    let table = text(path);
    let lines = table.lines().skip(1);
    lines
        .map(|line| {
            let fields = line.split(',').enumerate();
            let fields = fields.filter(|(i, _)| *i != 1);
            fields.map(|(_, field)| field.parse().unwrap()).collect()
        })
        .collect()
}

#[test]
fn joint_forces_are_what_the_recorded_accelerations_ask_for() {
    const PENDULUM: &str = r#"
gravity = [0, 0, -10]
[[bodies]]
name = "bar"
position = [0, 2, 0]
rotation = { axis = [1, 0, 0], degrees = 90 }
mass = 3
inertia = [0.1, 0.1, 0.04]
[[joints]]
name = "cross"
JOINT
"#;
    // Held at the origin, and by a string from there to the middle of the bar: one force, on the first body named.
    let joints = [
        (
            "type = \"universal\"\nbodies = [\"world\", \"bar\"]\npoint = [0, 0, 0]\naxes = [[1, 0, 0], [0, 0, 1]]",
            -1.0,
        ),
        (
            "type = \"distance\"\nbodies = [\"bar\", \"world\"]\nanchors = [[0, 2, 0], [0, 0, 0]]",
            1.0,
        ),
    ];
    for (joint, side) in joints {
        for integrator in ["spook", "rattle"] {
            let out = folder("run-joints");
            let text = PENDULUM.replace("JOINT", joint);
            let scene = write(&folder("run-joints-scene"), "scene.toml", &text);
            let place = out.to_str().unwrap();
            let options = ["--dt", "1e-3", "--steps", "1000", "--every", "10"];
            let more = [
                "--integrator",
                integrator,
                "--tolerance",
                "1e-10",
                "--out",
                place,
            ];
            hash(&[&["run", &scene], &options[..], &more[..]].concat());
            let frames = numbers(&out.join("trajectory.csv"));
            let accelerations = numbers(&out.join("accelerations.csv"));
            let reactions = numbers(&out.join("joints.csv"));
            assert_eq!(
                (frames.len(), accelerations.len(), reactions.len()),
                (101, 101, 101)
            );
            for i in 0..101 {
                let (a, r) = (&accelerations[i], &reactions[i]);
                assert_eq!((a[0], r[0]), (frames[i][0], frames[i][0]));
                let force = [3.0 * a[1], 3.0 * a[2], 3.0 * (a[3] + 10.0)];
                for k in 0..3 {
                    assert!(
                        (side * r[1 + k] - force[k]).abs() < 1e-6,
                        "{joint}: {a:?} {r:?}"
                    );
                }
                // Neither can twist this way, and both hold.
                assert!(r[4].abs() < 1e-6 && r[7] < 1e-4, "{joint}: {r:?}");
            }
            // It swings, and is faster below: the force at the lowest point is far above the weight.
            let most = reactions.iter().fold(0.0_f64, |m, r| m.max(r[3].abs()));
            assert!(60.0 < most, "{most}");
        }
    }
}

#[test]
fn out_holds_everything_and_is_not_overwritten_unasked() {
    let out = folder("run-out");
    let arguments = [
        "run",
        "stack:3",
        "--steps",
        "20",
        "--out",
        out.to_str().unwrap(),
    ];
    assert_eq!(delassus(&arguments).code, 0);
    let lines = text(&out.join("steps.csv"));
    assert_eq!(lines.lines().count(), 21);
    let summary: Value = serde_json::from_str(&text(&out.join("summary.json"))).unwrap();
    assert_eq!(summary["steps"], 20);
    let plot = text(&out.join("plot.svg"));
    for label in [
        "energy [J]",
        "penetration [",
        "law residual [m/s]",
        "iterations per step",
    ] {
        assert!(plot.contains(label), "{label}");
    }
    let frames = text(&out.join("frames.svg"));
    assert_eq!(frames.matches("t = ").count(), 8);
    assert!(frames.contains("<polygon") && !frames.contains("NaN"));
    let ran = delassus(&arguments);
    assert!(
        ran.code == 2 && ran.stderr.contains("--force"),
        "{}",
        ran.stderr
    );
    assert_eq!(delassus(&[&arguments[..], &["--force"]].concat()).code, 0);
}

#[test]
fn a_step_out_of_the_finite_numbers_is_refused() {
    let out = folder("run-refused");
    let dir = out.to_str().unwrap();
    let ran = delassus(&[
        "run", "stack:3", "--dt", "1e160", "--steps", "2", "--json", "--out", dir,
    ]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("step 1 at 0 s"), "{}", ran.stderr);
    let summary = ran.json();
    assert_eq!(
        (&summary["ending"], &summary["steps"]),
        (&"refused".into(), &0.into())
    );
}

/// Boxes fell through the ground for a hundred steps, each of which said that it was not solved.
#[test]
fn a_solver_without_a_rule_for_the_scene_is_refused_before_the_first_step() {
    let ran = delassus(&["run", "stack:5", "--solver", "direct", "--quiet"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    let told = &ran.stderr;
    assert!(
        told.contains("direct has no rule for friction-cone"),
        "{told}"
    );
    assert!(
        told.contains("newton") && told.contains("gauss-seidel"),
        "{told}"
    );
    assert!(!told.contains("kkt"), "{told}");
}

#[test]
fn wrong_usage_of_run_is_refused_with_what_is_known() {
    let refused: [(&[&str], &str); 12] = [
        (&[], "SCENE"),
        (&["no-such-scene"], "list scenes"),
        (&["missing.toml"], "missing.toml"),
        (&["problem:stack"], "delassus solve"),
        (&["stack:3", "--solver", "gauss"], "gauss-seidel"),
        (&["stack:3", "--dt", "0"], "greater than 0"),
        (&["stack:3", "--dt", "NaN"], "finite"),
        (&["stack:3", "--steps", "1", "--time", "1"], "--time"),
        (
            &["stack:3", "--time", "1", "--dt", "1e-300"],
            "too many steps",
        ),
        (&["stack:3", "--checkpoint-every", "1"], "--out"),
        (&["stack:3", "--tolerance", "0"], "--iterations"),
        (&["stack:3", "--resume", "a.json"], "--resume"),
    ];
    for (arguments, clue) in refused {
        let ran = delassus(&[&["run"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(clue), "{arguments:?}: {}", ran.stderr);
    }
    let ran = delassus_reading(&["run", "-"], b"this is = = no scene");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("standard input: "), "{}", ran.stderr);
}

#[test]
fn a_scene_is_compared_under_every_fitting_solver_from_the_same_start() {
    let ran = delassus(&["compare", "stack:3", "--time", "0.2", "--json"]);
    assert!(ran.code != 2, "{}", ran.stderr);
    let comparison = ran.json();
    assert_eq!(comparison["works"].as_array().unwrap().len(), 0);
    let scene = &comparison["scenes"][0];
    assert_eq!(scene["scene"], "stack:3");
    let tolerance = scene["tolerance"].as_f64().unwrap();
    let runs = scene["runs"].as_array().unwrap();
    assert!(2 < runs.len());
    let mut last = (true, 0.0);
    for run in runs {
        let law = run["law"].as_f64().unwrap();
        let reached = run["reached"].as_bool().unwrap();
        // A solver that runs out of patience on a slow machine has not reached it either.
        assert_eq!(reached, law <= tolerance && run["message"].is_null());
        let key = if reached {
            run["ms_per_step"].as_f64().unwrap()
        } else {
            law
        };
        assert!(last.0 || !reached);
        if run["message"].is_null() {
            assert!(last.0 != reached || last.1 <= key);
            last = (reached, key);
        }
    }
    let ran = delassus(&["compare", "stack:3", "--time", "0.2"]);
    for heading in [
        "not solved",
        "worst law [m/s]",
        "penetration [m]",
        "ms/step",
    ] {
        assert!(ran.stdout.contains(heading), "{heading}: {}", ran.stdout);
    }
}

#[test]
fn prefixes_tell_problems_from_scenes_of_the_same_name() {
    let quick = ["--solver", "gauss-seidel", "--json"];
    let ran = delassus(
        &[
            &[
                "compare",
                "problem:stack:3",
                "scene:stack:3",
                "--time",
                "0.1",
            ],
            &quick[..],
        ]
        .concat(),
    );
    let comparison = ran.json();
    assert_eq!(comparison["works"][0]["work"], "problem:stack:3");
    assert_eq!(comparison["scenes"][0]["scene"], "stack:3");
    let answer = delassus(&["solve", "problem:stack:3", "--json"]).json();
    assert_eq!(
        answer["lambda"],
        delassus(&["solve", "stack:3", "--json"]).json()["lambda"]
    );
}

#[test]
fn what_lossy_leaves_out_is_in_the_summary() {
    let folder = folder("lossy");
    let body = r#"<body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>"#;
    let text = format!(r#"<mujoco><option density="1000"/><worldbody>{body}</worldbody></mujoco>"#);
    let file = write(&folder, "wet.xml", &text);
    let asked = ["run", &file, "--steps", "2", "--quiet"];
    assert_eq!(delassus(&asked).code, 2);
    let ran = delassus(&[&asked[..], &["--lossy", "--json"]].concat());
    let lost = ran.json()["lost"][0].to_string();
    assert!(lost.contains("a fluid around the bodies"), "{}", ran.stdout);
    let ran = delassus(&[&asked[..], &["--lossy"]].concat());
    assert!(ran.stdout.contains("not simulated"), "{}", ran.stdout);
}
