//! What is promised about stopping and going on: checkpoints, interruption, the same bits after a resume and with any
//! number of threads.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Started, delassus, folder, hash, interrupt, text, write};
use serde_json::Value;

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

/// A run that lasts long enough to be stopped in its middle.
const LONG: [&str; 4] = ["run", "pile:50", "--time", "1000"];
/// Longest wait for something that takes a fraction of it.
const PATIENCE: Duration = Duration::from_secs(60);

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
fn start(out: &Path, count: usize) -> Started {
    let mut command = Command::new(env!("CARGO_BIN_EXE_delassus"));
    command
        .args(LONG)
        .args(["--dt", "0.01", "--checkpoint-every", "0.2", "--force"])
        .arg("--out")
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = Started::new(&mut command);
    let begin = Instant::now();
    while checkpoints(out).len() < count {
        assert!(begin.elapsed() < PATIENCE, "no checkpoint was written");
        sleep(Duration::from_millis(5));
    }
    child
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
        (whole.replace("checkpoint-3\"", "checkpoint-2\""), "reads"),
        (whole.replace("\"step\"", "\"stop\""), "line 1, column"),
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
        let child = start(&out, round);
        sleep(Duration::from_millis(3 * round as u64));
        child.kill();
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
    interrupt(child.id());
    let output = child.output();
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
