//! What `--export` and the recordings of robots promise, read back by readers of their own.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Started, delassus, folder, interrupt, text, write};
use serde_json::Value;

/// Lines of a table as fields, the heading left out.
fn lines(path: &Path) -> Vec<Vec<String>> {
    let table = text(path);
    let fields = |line: &str| line.split(',').map(str::to_owned).collect();
    table.lines().skip(1).map(fields).collect()
}

fn number(field: &str) -> f64 {
    field.parse().unwrap()
}

#[test]
fn an_animation_has_a_node_for_each_body_and_moves_as_the_trajectory_says() {
    let out = folder("export-glb");
    let file = out.join("fall.glb");
    let records = out.join("run");
    let ran = delassus(&[
        "run",
        "stack:3",
        "--steps",
        "40",
        "--every",
        "10",
        "--out",
        records.to_str().unwrap(),
        "-e",
        file.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("fall.glb is written"), "{}", ran.stderr);
    let bytes = fs::read(&file).unwrap();
    // The reader checks accessors, views and indices against each other.
    let read = gltf::Gltf::from_slice(&bytes).unwrap();
    let blob = read.blob.as_deref().unwrap();
    let node = |name: &str| read.nodes().find(|node| node.name() == Some(name)).unwrap();
    assert!(
        node("box-000002")
            .children()
            .next()
            .unwrap()
            .mesh()
            .is_some()
    );
    let animation = read.animations().next().unwrap();
    let recorded = lines(&records.join("trajectory.csv"));
    let mut seen = 0;
    for channel in animation.channels() {
        let name = channel.target().node().name().unwrap();
        let reader = channel.reader(|_| Some(blob));
        let times: Vec<f32> = reader.read_inputs().unwrap().collect();
        let own: Vec<&Vec<String>> = recorded.iter().filter(|line| line[1] == name).collect();
        assert_eq!((times.len(), own.len()), (5, 5));
        if let gltf::animation::util::ReadOutputs::Translations(places) =
            reader.read_outputs().unwrap()
        {
            seen += 1;
            for ((time, place), line) in times.iter().zip(places).zip(own) {
                assert_eq!(*time, number(&line[0]) as f32);
                for k in 0..3 {
                    assert_eq!(place[k], number(&line[2 + k]) as f32, "{name}");
                }
            }
        }
    }
    assert_eq!(seen, 3);
    // Boxes are boxes: the mesh of one has the size of the scene's.
    let mesh = node("box-000001")
        .children()
        .next()
        .unwrap()
        .mesh()
        .unwrap();
    let bounds = mesh.primitives().next().unwrap().bounding_box();
    assert_eq!((bounds.min, bounds.max), ([-0.5; 3], [0.5; 3]));
}

#[test]
fn every_built_in_scene_makes_a_sound_animation() {
    let out = folder("export-all");
    let scenes = [
        "arch",
        "quadruped",
        "necklace:5",
        "wrecking-ball",
        "gripper",
    ];
    for scene in scenes {
        let file = out.join(format!("{}.glb", scene.replace(':', "-")));
        let ran = delassus(&["run", scene, "-n", "3", "-q", "-e", file.to_str().unwrap()]);
        assert!(ran.code < 2, "{scene}: {}", ran.stderr);
        let read = gltf::Gltf::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert!(
            read.animations().next().is_some() && read.meshes().next().is_some(),
            "{scene}"
        );
    }
}

#[test]
fn a_run_as_mcap_has_poses_joint_states_and_contacts() {
    let out = folder("export-mcap");
    let file = out.join("walk.mcap");
    let records = out.join("run");
    let ran = delassus(&[
        "run",
        "quadruped",
        "--steps",
        "60",
        "--every",
        "20",
        "--out",
        records.to_str().unwrap(),
        "--export",
        file.to_str().unwrap(),
    ]);
    assert!(ran.code < 2, "{}", ran.stderr);
    let bytes = fs::read(&file).unwrap();
    let mut topics: BTreeMap<String, Vec<(u64, Value)>> = BTreeMap::new();
    for message in mcap::MessageStream::new(&bytes).unwrap() {
        let message = message.unwrap();
        let schema = message.channel.schema.clone().unwrap();
        assert_eq!(
            (
                schema.encoding.as_str(),
                message.channel.message_encoding.as_str()
            ),
            ("jsonschema", "json")
        );
        serde_json::from_slice::<Value>(&schema.data).unwrap();
        let value = serde_json::from_slice(&message.data).unwrap();
        topics
            .entry(message.channel.topic.clone())
            .or_default()
            .push((message.log_time, value));
    }
    assert_eq!(topics["/tf"].len(), 4);
    assert_eq!(topics["/scene"].len(), 1);
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    assert_eq!(summary.stats.unwrap().channel_count, 5);
    // The last joint states are those of the table, and so are the contacts.
    let (time, states) = topics["/joint_states"].last().unwrap();
    let robots = lines(&records.join("robots.csv"));
    let stamp = robots.last().unwrap()[0].clone();
    assert!((*time as f64 - 1e9 * number(&stamp)).abs() < 1.0);
    let joints = states["joints"].as_array().unwrap();
    assert_eq!(joints.len(), 8);
    for joint in joints {
        let name = joint["name"].as_str().unwrap();
        let line = robots
            .iter()
            .find(|line| line[0] == stamp && line[2] == name)
            .unwrap();
        assert_eq!(joint["position"].as_f64().unwrap(), number(&line[4]));
        assert_eq!(joint["velocity"].as_f64().unwrap(), number(&line[5]));
        assert_eq!(joint["effort"].as_f64().unwrap(), number(&line[6]));
    }
    let contacts = lines(&records.join("contacts.csv"));
    let last: Vec<&Vec<String>> = contacts.iter().filter(|line| line[0] == stamp).collect();
    let told = topics["/contacts"].last().unwrap().1["contacts"]
        .as_array()
        .unwrap();
    assert_eq!(told.len(), last.len());
    assert!(!last.is_empty());
    for (contact, line) in told.iter().zip(last) {
        assert_eq!(contact["first"], line[1].as_str());
        assert_eq!(contact["force"]["z"].as_f64().unwrap(), number(&line[11]));
    }
}

/// A pendulum that hangs still: its joint carries nothing but what the table says of drives, and the ground under a box
/// carries its weight.
#[test]
fn forces_in_the_tables_are_those_of_statics() {
    let out = folder("export-forces");
    let records = out.join("run");
    let ran = delassus(&[
        "run",
        "stack:2",
        "--steps",
        "200",
        "--out",
        records.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let contacts = lines(&records.join("contacts.csv"));
    let stamp = contacts.last().unwrap()[0].clone();
    let mut carried: BTreeMap<String, f64> = BTreeMap::new();
    for line in contacts.iter().filter(|line| line[0] == stamp) {
        let (force, gap) = (number(&line[11]), number(&line[12]));
        *carried.entry(line[1].clone()).or_default() += force;
        *carried.entry(line[2].clone()).or_default() -= force;
        assert!(gap.abs() < 1e-3 && (number(&line[8]).abs() - 1.0).abs() < 1e-9);
    }
    let summary: Value = serde_json::from_str(&text(&records.join("summary.json"))).unwrap();
    assert_eq!(summary["bodies"], 3);
    let boxes: Vec<f64> = carried
        .iter()
        .filter(|(name, _)| name.starts_with("box"))
        .map(|(_, f)| *f)
        .collect();
    assert_eq!(boxes.len(), 2);
    let (first, second) = (boxes[0], boxes[1]);
    assert!(
        (first - second).abs() < 1e-3 * first && 0.0 < first,
        "{carried:?}"
    );
    let ground = carried["ground"];
    assert!(
        (ground + first + second).abs() < 1e-6 * first,
        "{carried:?}"
    );
}

#[test]
fn what_cannot_be_exported_is_refused_before_the_first_step() {
    let out = folder("export-refused");
    let there = out.join("there.glb");
    fs::create_dir_all(&out).unwrap();
    fs::write(&there, "x").unwrap();
    for (file, clue) in [
        (out.join("run.fbx"), "known: .glb"),
        (out.join("no/such/folder/run.mcap"), "run.mcap"),
        (there.clone(), "--force"),
    ] {
        let ran = delassus(&["run", "stack:2", "-n", "2", "-e", file.to_str().unwrap()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{file:?}");
        assert!(ran.stderr.contains(clue), "{}", ran.stderr);
    }
    assert_eq!(
        delassus(&[
            "run",
            "stack:2",
            "-n",
            "2",
            "-f",
            "-e",
            there.to_str().unwrap()
        ])
        .code,
        0
    );
}

/// Names of what is in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_bad_export_is_refused_before_anything_is_made() {
    let out = folder("export-untouched");
    fs::write(out.join("there.glb"), "old").unwrap();
    fs::create_dir(out.join("folder.mcap")).unwrap();
    let path = |name: &str| out.join(name).to_str().unwrap().to_owned();
    let records = path("run");
    for (files, force, clue) in [
        (&["good.glb", "run.txt"][..], "-f", "known: .glb"),
        (&["good.mcap", "there.glb"], "-q", "--force"),
        (&["same.glb", "./same.glb"], "-f", "twice"),
        (&["folder.mcap"], "-f", "folder.mcap"),
    ] {
        let mut words = vec!["run", "stack:2", "-n", "2", "-o", &records, force];
        let files: Vec<String> = files.iter().map(|file| path(file)).collect();
        files.iter().for_each(|file| words.extend(["-e", file]));
        let ran = delassus(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{files:?}");
        assert!(ran.stderr.contains(clue), "{}", ran.stderr);
        assert_eq!(names(&out), ["folder.mcap", "there.glb"], "{files:?}");
    }
}

#[test]
fn an_old_file_survives_a_run_that_fails() {
    let out = folder("export-old");
    let old = [
        write(&out, "old.glb", "old glb"),
        write(&out, "old.mcap", "old mcap"),
    ];
    let nowhere = out.join("no/such/folder/run.glb");
    let nowhere = nowhere.to_str().unwrap();
    let words = ["run", "stack:2", "-n", "2", "-f", "-e", &old[0], "-e"];
    let ran = delassus(&[&words[..], &[&old[1], "-e", nowhere]].concat());
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert_eq!(names(&out), ["old.glb", "old.mcap"]);
    assert_eq!(text(Path::new(&old[0])), "old glb");
    assert_eq!(text(Path::new(&old[1])), "old mcap");
    let ran = delassus(&[&words[..], &[&old[1]]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(names(&out), ["old.glb", "old.mcap"]);
    assert!(gltf::Gltf::from_slice(&fs::read(&old[0]).unwrap()).is_ok());
}

#[test]
fn an_export_that_fails_at_the_end_costs_nothing_else() {
    let out = folder("export-fails-late");
    let (bad, good, records) = (out.join("bad.glb"), out.join("good.mcap"), out.join("run"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_delassus"));
    command
        .args(["run", "stack:2", "--time", "100000", "--every", "100000"])
        .arg("--out")
        .arg(&records)
        .arg("-e")
        .arg(&bad)
        .arg("-e")
        .arg(&good)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = Started::new(&mut command);
    let begin = Instant::now();
    // The second export is opened after the first; then a folder takes the name of the first.
    while !out.join(".good.mcap.tmp").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing began");
        sleep(Duration::from_millis(5));
    }
    fs::create_dir(&bad).unwrap();
    interrupt(child.id());
    let output = child.output();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let last = stderr.trim_end().lines().last().unwrap();
    assert!(
        last.contains("error") && last.contains("bad.glb"),
        "{stderr}"
    );
    // What the run found is said all the same.
    assert!(!output.stdout.is_empty());
    assert_eq!(names(&out), ["bad.glb", "good.mcap", "run"]);
    for file in ["summary.json", "trajectory.bin", "plot.svg", "frames.svg"] {
        assert!(records.join(file).is_file(), "{file}");
    }
    let bytes = fs::read(&good).unwrap();
    assert!(mcap::Summary::read(&bytes).unwrap().is_some());
}

#[test]
fn times_of_an_animation_begin_with_its_first_frame() {
    let out = folder("export-times");
    let (records, file) = (out.join("run"), out.join("late.glb"));
    let (dir, file) = (records.to_str().unwrap(), file.to_str().unwrap());
    let words = ["run", "stack:2", "--dt", "0.01", "--steps", "10", "-o", dir];
    let ran = delassus(&[&words[..], &["--checkpoint-every", "0.05"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let checkpoint = records.join("checkpoint-5.json");
    let ran = delassus(&["run", "--resume", checkpoint.to_str().unwrap(), "-e", file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("left out"), "{}", ran.stderr);
    let read = gltf::Gltf::from_slice(&fs::read(file).unwrap()).unwrap();
    let blob = read.blob.as_deref().unwrap();
    let channel = read.animations().next().unwrap().channels().next().unwrap();
    let times = channel.reader(|_| Some(blob)).read_inputs().unwrap();
    assert_eq!(times.collect::<Vec<f32>>().first(), Some(&0.0));
}
