//! What is promised to people and programs that call the binary: exit codes, shapes, refusals.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

mod common;

use common::{delassus, delassus_reading, folder, rows, write};
use serde_json::Value;

/// An answer without what differs from run to run.
fn without_times(mut value: Value) -> Value {
    match &mut value {
        Value::Array(list) => list.iter_mut().for_each(|v| *v = without_times(v.take())),
        Value::Object(map) => {
            map.remove("elapsed_s");
            map.values_mut().for_each(|v| *v = without_times(v.take()));
        }
        _ => {}
    }
    value
}

#[test]
fn one_file_and_one_solver_give_an_object_with_the_promised_fields() {
    let ran = delassus_reading(&["solve", "-", "--json"], rows("5").as_bytes());
    let answer = ran.json();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let promised = [
        "schema",
        "file",
        "kind",
        "solver",
        "options",
        "chosen",
        "status",
        "fit",
        "iterations",
        "residual",
        "elapsed_s",
        "v",
        "lambda",
    ];
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), promised.len(), "{keys:?}");
    assert!(
        promised.iter().all(|key| !answer[key].is_null()),
        "{answer}"
    );
    assert_eq!(answer["schema"], "delassus-answer-1");
    assert_eq!(answer["solver"], "auto");
    let residual = answer["residual"].as_object().unwrap();
    let promised = [
        "law",
        "law_rms",
        "relative",
        "momentum",
        "feasibility",
        "complementarity",
        "worst_block",
    ];
    assert!(residual.len() == promised.len() && promised.iter().all(|k| residual.contains_key(*k)));
    assert!(residual["worst_block"].is_u64());
    // The bounded row asks for more than it may push.
    assert_eq!(answer["lambda"][0], 1.5);
}

#[test]
fn several_files_or_solvers_give_an_array_files_outside_solvers_inside() {
    let folder = folder("array");
    let (a, b) = (
        write(&folder, "a.json", &rows("3")),
        write(&folder, "b.json", &rows("1")),
    );
    let solvers = [
        "--solver",
        "gauss-seidel,relax=1.2",
        "--solver",
        "gauss-seidel",
    ];
    let ran = delassus(&[&["solve", &a, &b, "--json"], &solvers[..]].concat());
    let answers = ran.json();
    let order: Vec<(&str, f64)> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|x| {
            (
                x["file"].as_str().unwrap(),
                x["options"]["relax"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(order, [(&*a, 1.2), (&*a, 1.0), (&*b, 1.2), (&*b, 1.0)]);
}

#[test]
fn a_bad_file_is_reported_and_the_others_are_still_solved() {
    let folder = folder("bad-among-good");
    let good = write(&folder, "good.json", &rows("3"));
    let ran = delassus(&["solve", "missing.json", &good, "--json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("missing.json"), "{}", ran.stderr);
    let answers = ran.json();
    assert_eq!(answers.as_array().unwrap().len(), 1);
    assert_eq!(answers[0]["file"], good);
}

#[test]
fn exit_code_tells_solved_from_not_solved() {
    let tight = [
        "solve",
        "-",
        "--json",
        "--tolerance",
        "1e-12",
        "--iterations",
        "1",
        "--solver",
        "gauss-seidel",
    ];
    let ran = delassus_reading(&tight, rows("1").as_bytes());
    assert_eq!(ran.code, 1);
    let answer = ran.json();
    assert_eq!(answer["status"], "iteration-limit");
    assert!(answer["message"].is_string());
    let ran = delassus_reading(&["solve", "-"], rows("1").as_bytes());
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("auto") && ran.stdout.contains("solved"));
}

#[test]
fn wrong_usage_is_refused_with_what_is_known() {
    let refused: [(&[&str], &str); 10] = [
        (&["--solver", "gauss"], "gauss-seidel"),
        (&["--solver", "gauss-seidel,speed=9"], "rule, sweep"),
        (&["--solver", "gauss-seidel,rule=is"], "iso, exact"),
        (&["--tolerance", "NaN"], "finite"),
        (&["--tolerance", "-1"], "at least 0"),
        (&["--tolerance", "0"], "--iterations"),
        (&["--time-limit", "never"], "seconds"),
        (&["--threads", "0"], "threads"),
        (&["--format", "xml"], "json, fclib"),
        (&["--history"], "--json"),
    ];
    for (arguments, clue) in refused {
        let ran = delassus_reading(&[&["solve", "-"], arguments].concat(), rows("1").as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(clue), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(delassus(&["solve"]).code, 2);
    assert_eq!(delassus(&["solve", "-", "-"]).code, 2);
}

#[test]
fn damaged_input_is_refused_with_its_place() {
    let whole = rows("1");
    let damaged = [
        whole[..whole.len() / 2].to_owned(),
        rows("NaN"),
        rows("1e999"),
        whole.replace("sigma", "sigmas"),
        whole.replace("[0, 0.01]", "[0]"),
        String::new(),
    ];
    for text in damaged {
        let ran = delassus_reading(&["solve", "-", "--json"], text.as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{text}");
        assert!(ran.stderr.contains("standard input: "), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let folder = folder("threads");
    let files: Vec<String> = (0..6)
        .map(|i| write(&folder, &format!("{i}.json"), &rows(&format!("1.{i}"))))
        .collect();
    let answers = |threads: &str| {
        let mut arguments = vec!["solve", "--json", "--solver", "all", "--threads", threads];
        arguments.extend(files.iter().map(String::as_str));
        without_times(delassus(&arguments).json())
    };
    let one = answers("1");
    assert_eq!(one, answers("2"));
    assert_eq!(one, answers("5"));
}

#[test]
fn answers_do_not_overwrite_those_of_an_earlier_run() {
    let out = folder("out");
    let name = out.to_str().unwrap();
    let solve = |more: &[&str]| {
        let arguments = [
            &["solve", "-", "--json", "--out", name][..],
            &["--solver", "gauss-seidel", "--solver", "jacobi"],
            more,
        ]
        .concat();
        delassus_reading(&arguments, rows("3").as_bytes())
    };
    let ran = solve(&[]);
    // Not every solver has a rule for bounded rows, and then it says so.
    assert!(ran.code < 2, "{}", ran.stderr);
    for answer in ran.json().as_array().unwrap() {
        let status = answer["status"].as_str().unwrap();
        assert!(["solved", "unsupported"].contains(&status), "{answer}");
    }
    let written = || std::fs::read_dir(&out).unwrap().count();
    let count = ran.json().as_array().unwrap().len();
    assert_eq!(written(), count);
    let ran = solve(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    assert!(solve(&["--force"]).code < 2);
    assert_eq!(written(), count);
}

#[test]
fn a_saved_problem_has_the_same_answer() {
    let folder = folder("save");
    let original = write(&folder, "a.json", &rows("1.1"));
    let saved = folder.join("saved.json");
    let saved = saved.to_str().unwrap();
    let first = delassus(&["solve", &original, "--json", "--save-problem", saved]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let again = delassus(&["solve", saved, "--json"]).json();
    assert_eq!(first.json()["lambda"], again["lambda"]);
    let ran = delassus(&["solve", &original, "--save-problem", saved]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
}

#[test]
fn every_built_in_problem_is_solved_by_name() {
    let listed = delassus(&["list", "problems", "--json"]).json();
    for problem in listed["problems"].as_array().unwrap() {
        let name = problem["name"].as_str().unwrap();
        let ran = delassus(&["solve", name, "--json", "--tolerance", "1e-4", "--quiet"]);
        assert_eq!(ran.code, 0, "{name}: {}{}", ran.stdout, ran.stderr);
    }
    assert_eq!(delassus(&["solve", "no-such-thing"]).code, 2);
}

#[test]
fn list_shows_solvers_with_keys_and_fits() {
    let listed = delassus(&["list", "--json"]).json();
    let scenes = listed["scenes"].as_array().unwrap();
    let named = |name: &str| scenes.iter().any(|scene| scene["name"] == name);
    assert!(["stack", "pile", "incline"].into_iter().all(named));
    let solver = &listed["solvers"][0];
    assert_eq!(solver["keys"][0]["default"], "iso");
    assert_eq!(solver["laws"]["friction-cone"], "exact");
    let ran = delassus(&["list"]);
    assert!(ran.code == 0 && ran.stdout.contains("Scenes ("));
    assert_eq!(delassus(&["list", "everything"]).code, 2);
}

#[test]
fn version_names_the_features() {
    let ran = delassus(&["--version"]);
    assert!(
        ran.code == 0 && ran.stdout.contains("features:"),
        "{}",
        ran.stdout
    );
}

#[cfg(not(feature = "gpu"))]
#[test]
fn solvers_of_the_graphics_processor_say_how_to_get_them() {
    let ran = delassus(&["solve", "stack:2", "--solver", "jacobi-gpu"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--features gpu"), "{}", ran.stderr);
}

/// With a device or without one, which the message then says.
#[cfg(feature = "gpu")]
#[test]
fn solvers_of_the_graphics_processor_solve_or_say_who_did() {
    assert!(delassus(&["--version"]).stdout.contains(" gpu"));
    for spec in ["jacobi-gpu,accelerate=nesterov", "coloured-gpu,relax=1.1"] {
        let asked = ["--solver", spec, "--tolerance", "1e-5", "--json"];
        let ran = delassus(&[&["solve", "stack:2"], &asked[..]].concat());
        let answer = ran.json();
        assert_eq!(answer["status"], "solved", "{answer}");
        let name = spec.split(',').next().unwrap();
        assert_eq!(answer["solver"], name);
        assert!(answer["note"].is_null() || answer["note"].to_string().contains("on the CPU"));
    }
    let ran = delassus(&[
        "solve",
        "stack:2",
        "--solver",
        "jacobi-gpu,accelerate=chebyshev",
    ]);
    assert!(
        ran.code == 2 && ran.stderr.contains("none, nesterov"),
        "{}",
        ran.stderr
    );
}

/// A chain in free fall whose joints already agree: c is rounding alone, and a tolerance relative to it would be
/// below anything a sweep can reach.
#[test]
fn joints_that_already_agree_are_solved_at_once() {
    let body = |x: f64| {
        format!(
            r#"{{"m":1,"I_body":[[0.1,0,0],[0,0.1,0],[0,0,0.1]],"x":[{x},0.3,0.7],"q":[1,0,0,0],"v":[0.3,0.1,0.7],"f":[0,0,-9.81]}}"#
        )
    };
    let text = format!(
        r#"{{"schema":"delassus-oracle-1","kind":"joints","h":0.01,"bodies":[{},{},{}],
        "joints":[{{"a":0,"b":1,"p":[0.05,0.3,0.7]}},{{"a":1,"b":2,"p":[0.15,0.3,0.7]}}]}}"#,
        body(0.0),
        body(0.1),
        body(0.2)
    );
    let ran = delassus_reading(&["solve", "-", "--json"], text.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stdout);
}

#[test]
fn info_shows_a_robot_and_refuses_a_broken_one_with_its_line() {
    let folder = folder("info");
    let robot = |mass: &str| {
        format!(
            "<robot name=\"arm\"><link name=\"base\"/>\n<link name=\"hand\"><inertial><mass value=\"{mass}\"/>\n\
             <inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial><visual/></link>\n<joint name=\"j\" type=\"continuous\">\
             <parent link=\"base\"/><child link=\"hand\"/></joint></robot>"
        )
    };
    let good = write(&folder, "good.urdf", &robot("2"));
    let info = delassus(&["info", &good, "--json"]).json();
    assert_eq!((&info["n_dofs"], &info["mass"]), (&1.into(), &2.0.into()));
    assert_eq!(info["links"][1]["joint"], "continuous");
    assert_eq!(info["warnings"].as_array().unwrap().len(), 1);
    let floating = delassus(&["info", &good, "--json", "--base", "floating"]).json();
    assert_eq!(floating["n_dofs"], 7);
    let table = delassus(&["info", &good]);
    assert!(
        table.stdout.contains("hand") && table.stdout.contains("note: "),
        "{}",
        table.stdout
    );
    let bad = write(&folder, "bad.urdf", &robot("-2"));
    let ran = delassus(&["info", &bad]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("bad.urdf:2: <mass>"), "{}", ran.stderr);
}

#[test]
fn a_scene_that_is_nearly_named_is_asked_after() {
    let ran = delassus(&["run", "stak:3"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("did you mean stack:3?"),
        "{}",
        ran.stderr
    );
    for command in ["compare", "doctor"] {
        let ran = delassus(&[command, "arhc"]);
        assert!(ran.stderr.contains("did you mean arch?"), "{}", ran.stderr);
    }
    let ran = delassus(&["solve", "heavy-stak:4"]);
    let meant = "did you mean heavy-stack:4?";
    assert!(ran.stderr.contains(meant), "{}", ran.stderr);
    let ran = delassus(&["solve", "arch"]);
    let instead = "is a scene, not a single problem";
    assert!(ran.stderr.contains(instead), "{}", ran.stderr);
}

#[test]
fn shells_are_told_what_can_be_completed() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = delassus(&["completions", shell]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let known = ["compare", "doctor", "checkpoint-every"];
        assert!(
            known.iter().all(|word| ran.stdout.contains(word)),
            "{shell}"
        );
    }
}

#[test]
fn lists_are_no_wider_than_they_may_be() {
    let listed = |columns: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_delassus"));
        let output = command
            .args(["list", "scenes"])
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let narrow = listed("60");
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 60),
        "{narrow}"
    );
    assert!(
        narrow.contains("stack:N") && narrow.contains("N = 10"),
        "{narrow}"
    );
    assert!(narrow.split_whitespace().count() == listed("500").split_whitespace().count());
}

#[test]
fn a_run_says_what_it_wrote_and_how_to_look_at_it() {
    let out = folder("cli-said");
    let place = out.to_str().unwrap();
    let ran = delassus(&["run", "stack:2", "-n", "3", "-o", place]);
    assert!(
        ran.stderr.contains(&format!("delassus view {place}")),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("2 boxes of 1 m"), "{}", ran.stdout);
    let ran = delassus(&["run", "stack:2", "-n", "3", "-f", "-q", "-o", place]);
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_sweep_without_python_or_without_the_package_says_what_to_install() {
    let sweep = |python: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_delassus"));
        let command = command.args(["sweep", "plan.toml"]);
        command.env("DELASSUS_PYTHON", python).output().unwrap()
    };
    // An interpreter that has no package answers as `false` does.
    for (python, remedy) in [
        ("/nowhere/python3", "Python 3.10"),
        ("false", "pip install"),
    ] {
        let ran = sweep(python);
        let told = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{told}");
        assert!(told.contains(python) && told.contains(remedy), "{told}");
    }
}
