//! What is promised about runs: the summary, the recordings, resuming, interruption, refusals.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{delassus, delassus_reading, folder, write};
use serde_json::Value;

/// A run that lasts long enough to be stopped in its middle.
const LONG: [&str; 4] = ["run", "pile:50", "--time", "1000"];
/// Longest wait for something that takes a fraction of it.
const PATIENCE: Duration = Duration::from_secs(60);

fn hash(arguments: &[&str]) -> String {
    let ran = delassus(&[arguments, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.json()["state_hash"].as_str().unwrap().to_owned()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The steps of the checkpoints in a folder, sorted.
fn checkpoints(folder: &Path) -> Vec<u64> {
    let names = std::fs::read_dir(folder).into_iter().flatten();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let step = |name: String| {
        let name = name.strip_prefix("checkpoint-")?.strip_suffix(".json")?;
        name.parse().ok()
    };
    let mut steps: Vec<u64> = names.filter_map(step).collect();
    steps.sort_unstable();
    steps
}

/// Starts a long run that writes a checkpoint every 20 steps, and waits for some of them.
fn start(out: &Path, count: usize) -> Child {
    let child = Command::new(env!("CARGO_BIN_EXE_delassus"))
        .args(LONG)
        .args(["--dt", "0.01", "--checkpoint-every", "0.2", "--force"])
        .arg("--out")
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while checkpoints(out).len() < count {
        assert!(begin.elapsed() < PATIENCE, "no checkpoint was written");
        sleep(Duration::from_millis(5));
    }
    child
}

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
    for key in ["start", "end", "largest_rise"] {
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
fn steps_that_miss_the_tolerance_are_counted_and_do_not_fail_the_run() {
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
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(0 < ran.json()["unsolved_steps"].as_u64().unwrap());
}

#[test]
fn a_run_resumed_at_any_step_ends_with_the_same_bits() {
    let out = folder("run-resume");
    let dir = out.to_str().unwrap();
    let whole = ["run", "stack:3", "--steps", "30", "--dt", "0.01"];
    let every = ["--checkpoint-every", "0.01", "--out", dir];
    let end = hash(&[&whole[..], &every].concat());
    assert_eq!(end, hash(&whole));
    let steps = checkpoints(&out);
    assert_eq!(steps, (1..=30).collect::<Vec<u64>>());
    for step in steps {
        let file = out.join(format!("checkpoint-{step}.json"));
        assert_eq!(
            end,
            hash(&["run", "--resume", file.to_str().unwrap()]),
            "step {step}"
        );
    }
}

#[test]
fn resuming_keeps_solver_keys_substeps_and_seed() {
    let out = folder("run-resume-options");
    let dir = out.to_str().unwrap();
    let solver = "gauss-seidel,order=shuffle";
    let end = hash(&[
        "run",
        "pile:50",
        "--steps",
        "40",
        "--dt",
        "0.01",
        "--substeps",
        "2",
        "--seed",
        "7",
        "--solver",
        solver,
        "--checkpoint-every",
        "0.25",
        "--out",
        dir,
    ]);
    let file = out.join("checkpoint-25.json");
    assert_eq!(end, hash(&["run", "--resume", file.to_str().unwrap()]));
    let ran = delassus(&["run", "--resume", file.to_str().unwrap(), "--steps", "10"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("beyond"),
        "{}",
        ran.stderr
    );
}

#[test]
fn joints_and_spin_resume_with_the_same_bits() {
    for scene in ["newton-cradle", "spinning-top", "incline"] {
        let out = folder(&format!("run-resume-{scene}"));
        let dir = out.to_str().unwrap();
        let options = [
            "--steps",
            "40",
            "--dt",
            "0.005",
            "--checkpoint-every",
            "0.085",
        ];
        let end = hash(&[&["run", scene, "--out", dir], &options[..]].concat());
        let file = out.join("checkpoint-17.json");
        assert_eq!(
            end,
            hash(&["run", "--resume", file.to_str().unwrap()]),
            "{scene}"
        );
    }
}

#[test]
fn threads_do_not_change_a_bit_of_a_run() {
    let run = ["run", "pile:50", "--steps", "30", "--threads"];
    assert_eq!(
        hash(&[&run[..], &["1"]].concat()),
        hash(&[&run[..], &["2"]].concat())
    );
}

#[test]
fn damaged_checkpoints_are_refused_with_their_name() {
    let out = folder("run-damaged");
    let dir = out.to_str().unwrap();
    let options = ["--steps", "10", "--dt", "0.01", "--checkpoint-every", "0.1"];
    hash(&[&["run", "stack:3", "--out", dir], &options[..]].concat());
    let whole = text(&out.join("checkpoint-10.json"));
    let mut moved: Value = serde_json::from_str(&whole).unwrap();
    moved["state"]["position"][1][0] = 123.0.into();
    let mut elsewhere: Value = serde_json::from_str(&whole).unwrap();
    elsewhere["scene"]["name"] = "stack:4".into();
    let changed = "its checksum is another";
    let damaged = [
        (whole[..whole.len() / 2].to_owned(), "not a whole"),
        (whole.replace("checkpoint-2\"", "checkpoint-1\""), "reads"),
        (whole.replace("\"step\"", "\"stop\""), "stop"),
        (whole.replace("\"step\":10", "\"step\":7"), changed),
        (whole.replace("\"dt\":0.01", "\"dt\":0.02"), changed),
        (whole.replace("\"seed\":0", "\"seed\":1"), changed),
        (moved.to_string(), changed),
        (elsewhere.to_string(), changed),
        (String::new(), "not a whole"),
    ];
    for (i, (damaged, why)) in damaged.iter().enumerate() {
        assert_ne!(damaged, &whole, "{i}");
        let file = write(&out, "damaged.json", damaged);
        let ran = delassus(&["run", "--resume", &file, "--steps", "20"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{i}");
        assert!(ran.stderr.contains("damaged.json"), "{i}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{i}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{i}: {}", ran.stderr);
    }
    // Another layout of the same content is none of these.
    let whole: Value = serde_json::from_str(&whole).unwrap();
    let file = write(&out, "pretty.json", &format!("{whole:#}"));
    hash(&["run", "--resume", &file, "--steps", "20"]);
}

#[test]
fn a_killed_run_goes_on_from_its_last_checkpoint_to_the_same_bits() {
    for round in 1..=4 {
        let out = folder(&format!("run-killed-{round}"));
        let mut child = start(&out, round);
        sleep(Duration::from_millis(3 * round as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let last = *checkpoints(&out).last().unwrap();
        let file = out.join(format!("checkpoint-{last}.json"));
        let steps = (last + 30).to_string();
        let resumed = hash(&["run", "--resume", file.to_str().unwrap(), "--steps", &steps]);
        let whole = hash(&["run", "pile:50", "--dt", "0.01", "--steps", &steps]);
        assert_eq!(resumed, whole, "killed after step {last}");
        // The diagnostics reach at least to the checkpoint before the last.
        let lines = text(&out.join("steps.csv")).lines().count() as u64;
        assert!(last <= lines + 20, "{lines} lines at step {last}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_there_is_and_can_go_on() {
    let out = folder("run-interrupted");
    let child = start(&out, 2);
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("interrupted at step"), "{stderr}");
    let summary: Value = serde_json::from_str(&text(&out.join("summary.json"))).unwrap();
    assert_eq!(summary["ending"], "interrupted");
    let step = summary["steps"].as_u64().unwrap();
    assert_eq!(checkpoints(&out).last(), Some(&step));
    let lines = text(&out.join("steps.csv")).lines().count() as u64;
    assert_eq!(lines, step + 1);
    assert!(text(&out.join("frames.svg")).ends_with("</svg>\n"));
    let file = out.join(format!("checkpoint-{step}.json"));
    let (file, step) = (file.to_str().unwrap(), step.to_string());
    let resumed = hash(&["run", "--resume", file, "--steps", &step]);
    assert_eq!(summary["state_hash"], resumed);
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
        assert_eq!(reached, law <= tolerance);
        let key = if reached {
            run["ms_per_step"].as_f64().unwrap()
        } else {
            law
        };
        assert!((last.0 || !reached) && (last.0 != reached || last.1 <= key));
        last = (reached, key);
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

const ARM: &str = r#"<robot name="arm">
  <link name="post"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <joint name="hinge" type="continuous">
    <parent link="post"/><child link="bar"/><axis xyz="0 1 0"/>
  </joint>
  <link name="bar">
    <inertial><origin xyz="0.5 0 0"/><mass value="1"/><inertia ixx="0.01" iyy="0.1" izz="0.1"/></inertial>
    <collision><origin xyz="0.5 0 0"/><geometry><box size="1 0.1 0.1"/></geometry></collision>
    <visual><geometry><box size="1 0.1 0.1"/></geometry></visual>
  </link>
</robot>"#;

#[test]
fn a_robot_file_runs_resumes_and_says_what_it_does_not_use() {
    let folder = folder("run-robot");
    let file = write(&folder, "arm.urdf", ARM);
    let file = file.as_str();
    let ran = delassus(&["run", file, "--time", "0.2", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("arm.urdf:9: <visual>"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.json()["title"], "arm");
    let out = folder.join("out");
    let out = out.to_str().unwrap();
    let time = ["--time", "0.2", "--checkpoint-every", "0.1"];
    let whole = hash(&[&["run", file, "--out", out][..], &time].concat());
    let half = format!("{out}/checkpoint-20.json");
    assert_eq!(hash(&["run", "--resume", &half]), whole);
    let free = hash(&["run", file, "--base", "floating", "--time", "0.2"]);
    assert_ne!(free, whole);
    let broken = write(
        &folder,
        "broken.urdf",
        &ARM.replace("value=\"1\"", "value=\"-1\""),
    );
    let ran = delassus(&["run", &broken]);
    assert!(
        ran.code == 2 && ran.stderr.contains("broken.urdf:7"),
        "{}",
        ran.stderr
    );
}

#[test]
fn robot_scenes_resume_with_the_same_bits_and_take_the_midpoint_rule() {
    let folder = folder("run-robot-scene");
    let out = folder.join("out");
    let out = out.to_str().unwrap();
    let run = [
        "run",
        "quadruped",
        "--steps",
        "40",
        "--checkpoint-every",
        "0.05",
    ];
    let whole = hash(&[&run[..], &["--out", out]].concat());
    let half = format!("{out}/checkpoint-20.json");
    assert_eq!(hash(&["run", "--resume", &half]), whole);
    let drift = |integrator: &str| {
        let ran = delassus(&[
            "run",
            "double-pendulum",
            "--time",
            "0.5",
            "--integrator",
            integrator,
            "--json",
        ]);
        let energy = &ran.json()["energy"];
        let number = |key: &str| energy[key].as_f64().unwrap();
        (number("end") - number("start")).abs()
    };
    assert!(drift("midpoint") < 0.05 * drift("spook"));
}
