//! The page in a real browser: opens, moves, switches, splits, drags, and survives what happens to pages.
//!
//! Needs node, the page's tools (`crates/delassus-view/build-page`) and Chromium; says what is missing and skips where
//! one is. `DELASSUS_SCREENSHOTS=DIR` keeps pictures, `CHROMIUM=PATH` names another browser.

#![allow(clippy::unwrap_used)]

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use delassus::solver::from_spec;
use delassus::{Stop, scenes};
use delassus_view::{Options, Server, Show, Start, page_is_built};

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

fn start(port: u16) -> Server {
    let show = Show::Live {
        name: SCENE.to_owned(),
        loader: None,
        start: Start::default(),
    };
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
    let server = start(0);
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
        match line.as_str() {
            "server stop" => server = None,
            "server start" => server = Some(start(port)),
            _ => {
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
