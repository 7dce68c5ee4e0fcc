//! The page in a real browser: opens, moves, switches, splits, drags, and survives what happens to pages.
//!
//! Needs node, the page's tools (`crates/delassus-view/build-page`) and Chromium; says what is missing and skips where
//! one is. `DELASSUS_SCREENSHOTS=DIR` keeps pictures, `CHROMIUM=PATH` names another browser.

#![allow(clippy::unwrap_used)]

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod tape;

use delassus::model::robot::Base;
use delassus::model::scene::of_robot;
use delassus::solver::from_spec;
use delassus::world::Scene;
use delassus::{Stop, scenes};
use delassus_view::{Options, Recording, Server, Show, Start, page_is_built};

const SCENE: &str = "stack:3";
/// Steps after which the numbers on the page are compared.
const STEPS: usize = 5;

fn browser() -> Option<PathBuf> {
    let named = env::var_os("CHROMIUM").map(PathBuf::from);
    let usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].map(PathBuf::from);
    let starts = |path: &PathBuf| {
        let version = Command::new(path).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    named.into_iter().chain(usual).find(starts)
}

/// What is missing, in words.
fn missing(page: &Path) -> Option<&'static str> {
    let node = Command::new("node")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !node.is_ok_and(|status| status.success()) {
        return Some("node is not installed (scripts/setup-page installs it where it may)");
    }
    if !page.join("node_modules/playwright-core").is_dir() || !page_is_built() {
        return Some("the page is not built (crates/delassus-view/build-page builds it)");
    }
    if browser().is_none() {
        return Some("there is no Chromium (scripts/setup-page installs it where it may)");
    }
    None
}

/// A robot file: an arm on a post with a servo, a motor and two keyframes, and a ball on the ground.
const ROBOT: &str = r#"<mujoco model="arm"><worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body name="post" pos="0 0 .5"><geom type="cylinder" size=".12" fromto="0 0 -.5 0 0 -.1"/>
        <body name="upper"><joint name="shoulder" axis="0 1 0" range="-90 90" damping="2"/>
            <geom type="capsule" size=".07" fromto="0 0 0 0 0 .5"/>
            <body name="lower" pos="0 0 .5"><joint name="elbow" axis="0 1 0" range="-150 150" damping="2"/>
                <geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/></body></body></body>
    <body name="ball" pos="1 0 .15"><freejoint/><geom type="sphere" size=".15"/></body></worldbody>
    <contact><exclude body1="post" body2="upper"/></contact>
    <actuator><position joint="shoulder" kp="400" kv="40"/><motor joint="elbow" gear="30" ctrlrange="-1 1"/></actuator>
    <keyframe><key name="home" qpos="0 0 1 0 .15 1 0 0 0"/><key name="bent" qpos=".5 -1 1 0 .15 1 0 0 0"/></keyframe>
    </mujoco>"#;
const ROBOT_FILE: &str = "arm.xml";

fn robot() -> Scene {
    of_robot(ROBOT, ROBOT_FILE, None, Base::Fixed).unwrap()
}

/// What the script asks to be served: the scene, a robot file, or a recorded run of that.
fn show(what: &str) -> Show {
    match what {
        "robot" => Show::Live {
            name: ROBOT_FILE.to_owned(),
            loader: Some(Box::new(|| Ok(robot()))),
            start: Start::default(),
        },
        "recording" => {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser-recording");
            tape::record(&folder, robot(), 60);
            let recording = Recording::open(&folder, ROBOT_FILE, robot());
            Show::Recording(Box::new(recording.unwrap()))
        }
        _ => Show::Live {
            name: SCENE.to_owned(),
            loader: None,
            start: Start::default(),
        },
    }
}

fn start(port: u16, what: &str) -> Server {
    let show = show(what);
    let options = Options {
        port,
        ..Options::default()
    };
    Server::start(show, &options).unwrap()
}

/// The library's own numbers of the step that the page will show.
fn expected() -> String {
    let mut scene = scenes::build(SCENE).unwrap();
    let stop = Stop {
        tolerance: scene.run.tolerance,
        sweeps: scene.run.iterations,
        ..Stop::default()
    };
    let mut solver = from_spec(&scene.run.solver, stop, 0).unwrap();
    let mut last = None;
    for _ in 0..STEPS {
        last = Some(scene.world.step(scene.run.dt, solver.as_mut()).unwrap());
    }
    let step = last.unwrap();
    serde_json::json!({
        "status": step.report.status.name(),
        "iterations": step.report.iterations,
        "contacts": step.contacts,
        "law": step.report.residual.law,
        "penetration": step.penetration,
        "kinetic": step.probe.kinetic,
        "potential": step.probe.potential,
    })
    .to_string()
}

#[test]
fn the_page_works_in_a_real_browser() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    if let Some(reason) = missing(&page) {
        eprintln!("skipped: {reason}");
        return;
    }
    let server = start(0, "start");
    let port = server.address().port();
    let url = server.url();
    let mut server = Some(server);
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser-profile");
    let _ = std::fs::remove_dir_all(&profile);
    let mut script = Command::new("node")
        .arg(page.join("test/browser.mjs"))
        .arg(&url)
        .arg(browser().unwrap())
        .arg(&profile)
        .args(env::var_os("DELASSUS_SCREENSHOTS"))
        .env("EXPECTED", expected())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = script.stdin.take().unwrap();
    let output = BufReader::new(script.stdout.take().unwrap());
    let mut passed = false;
    for line in output.lines() {
        let line = line.unwrap();
        match line.strip_prefix("server ") {
            Some("stop") => server = None,
            Some(what) => {
                // The port must be free first.
                drop(server.take());
                server = Some(start(port, what));
            }
            None => {
                passed |= line.starts_with("passed");
                eprintln!("{line}");
                continue;
            }
        }
        writeln!(input, "done").unwrap();
    }
    let status = script.wait().unwrap();
    drop(server);
    let _ = std::fs::remove_dir_all(&profile);
    assert!(status.success() && passed, "the script ended with {status}");
}
