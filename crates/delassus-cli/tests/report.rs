//! What is promised about reports: one set of numbers in table, JSON and page, kept when interrupted.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may stop anywhere and say what it skips"
)]

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::{Started, delassus, folder, interrupt, rows, write};
use serde_json::Value;

/// The report that a page carries.
fn embedded(page: &Path) -> Value {
    let page = std::fs::read_to_string(page).unwrap();
    let start = r#"<script type="application/json" id="report">"#;
    let (_, rest) = page.split_once(start).unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_page_carries_the_same_report_as_the_json() {
    let folder = folder("page");
    let file = write(&folder, "a <b>.json", &rows("1"));
    let page = folder.join("page.html");
    let arguments = [
        "compare",
        &file,
        "problem:chain:3",
        "problem:chain:6",
        "stack:2",
    ];
    let ran = delassus(
        &[
            &arguments[..],
            &["--time", "0.05", "--json", "--html", page.to_str().unwrap()],
        ]
        .concat(),
    );
    assert!(ran.code < 2, "{}", ran.stderr);
    let report = ran.json();
    assert_eq!(report, embedded(&page));
    assert_eq!(report["works"].as_array().unwrap().len(), 3);
    assert_eq!(report["scenes"].as_array().unwrap().len(), 1);
    assert_eq!(report["missing"], Value::Array(Vec::new()));
    for work in report["works"].as_array().unwrap() {
        for run in work["runs"].as_array().unwrap() {
            // Histories go forward in iterations and time.
            let history = run["history"].as_array().unwrap();
            for pair in history.windows(2) {
                assert!(pair[0][0].as_u64() < pair[1][0].as_u64(), "{run}");
                assert!(pair[0][1].as_f64() <= pair[1][1].as_f64(), "{run}");
            }
        }
    }
    for run in report["scenes"][0]["runs"].as_array().unwrap() {
        assert!(!run["history"].as_array().unwrap().is_empty());
        let worst = &run["worst_block"];
        assert!(worst["name"].as_str().unwrap().starts_with("contact of"));
        assert!(worst["step"].as_u64() <= run["steps"].as_u64(), "{run}");
    }
}

/// The page as a browser leaves it after its script has run; none where there is no browser that starts.
fn rendered(page: &Path) -> Option<String> {
    let profile = page.with_extension("profile");
    let starts = |browser: &&str| {
        let version = Command::new(browser).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    let browser = ["chromium", "chromium-browser", "google-chrome"];
    let browser = browser.into_iter().find(starts)?;
    let output = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--virtual-time-budget=5000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_browser_draws_every_plot_of_the_page() {
    let folder = folder("browser");
    let page = folder.join("page.html");
    let arguments = [
        "compare",
        "problem:chain:3",
        "problem:chain:6",
        "problem:rod",
        "--html",
    ];
    let ran = delassus(&[&arguments[..], &[page.to_str().unwrap()]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let Some(drawn) = rendered(&page) else {
        eprintln!("skipped: no browser was found to open the page with");
        return;
    };
    let (_, body) = drawn.split_once("<body>").unwrap();
    for text in [
        "Work and precision: residual against time",
        "Residual against iterations",
        "Performance profile over 3 works",
        "Growth with size: problem:chain",
        "law residual [m/s]",
        "time to the tolerance [s]",
        "gauss-seidel,rule=exact",
    ] {
        assert!(body.contains(text), "{text}");
    }
    assert!(4 <= body.matches("role=\"img\"").count());
    assert!(!body.contains("NaN") && !body.contains("undefined"));
}

#[test]
fn the_table_says_what_the_json_says() {
    let folder = folder("table-json");
    let file = write(&folder, "a.json", &rows("1"));
    let out = folder.join("out");
    let out = out.to_str().unwrap();
    let ran = delassus(&["compare", &file, "problem:rod", "--out", out]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json = std::fs::read_to_string(Path::new(out).join("compare.json")).unwrap();
    let report: Value = serde_json::from_str(&json).unwrap();
    for work in report["works"].as_array().unwrap() {
        for run in work["runs"].as_array().unwrap() {
            let law = run["residual"]["law"].as_f64().unwrap();
            let law = if law == 0.0 {
                "0".to_owned()
            } else {
                format!("{law:.2e}")
            };
            let label = run["label"].as_str().unwrap();
            let iterations = run["iterations"].to_string();
            let status = run["status"].as_str().unwrap();
            let says = |line: &&str| {
                let words: Vec<&str> = line.split_whitespace().collect();
                [label, &law, &iterations, status]
                    .iter()
                    .all(|word| words.contains(word))
            };
            assert!(
                ran.stdout.lines().any(|line| says(&line)),
                "{label}\n{}",
                ran.stdout
            );
        }
    }
}

#[test]
fn profiles_and_growth_are_those_of_the_runs() {
    let ran = delassus(&[
        "compare",
        "problem:chain:4",
        "problem:chain:16",
        "--json",
        "--solver",
        "direct",
        "--solver",
        "gauss-seidel",
        "--solver",
        "kkt",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report = ran.json();
    for profile in report["profiles"].as_array().unwrap() {
        let solver = profile["solver"].as_str().unwrap();
        let mut ratios: Vec<f64> = Vec::new();
        for work in report["works"].as_array().unwrap() {
            let times = |run: &Value| run["elapsed_s"].as_f64().unwrap();
            let runs = work["runs"].as_array().unwrap();
            let best = runs.iter().map(times).fold(f64::INFINITY, f64::min);
            let own = runs.iter().find(|run| run["label"] == solver).unwrap();
            ratios.push(times(own) / best);
        }
        ratios.sort_by(f64::total_cmp);
        let points = profile["points"].as_array().unwrap();
        let last = points.last().unwrap();
        assert_eq!(
            (last[0].as_f64(), last[1].as_f64()),
            (Some(ratios[1]), Some(1.0))
        );
    }
    let growth = report["growth"].as_array().unwrap();
    assert_eq!(growth.len(), 3);
    assert!(
        growth
            .iter()
            .all(|g| g["family"] == "problem:chain" && g["unit"] == "rows")
    );
}

#[test]
fn the_experiments_of_the_lemke_paper_can_be_compared() {
    let arguments = [
        "compare",
        "experiment:peg:8",
        "experiment:stool:3",
        "experiment:stack:2x8",
    ];
    let ran = delassus(&[&arguments[..], &["--solver", "lemke", "--json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.json()["works"].as_array().unwrap().len(), 3);
    let ran = delassus(&["compare", "experiment:pge"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("block-in-groove"),
        "{}",
        ran.stderr
    );
}

/// Interrupts a comparison after so long, of which the first work takes no time and the second far too much.
#[cfg(unix)]
fn interrupted(page: &Path, after: Duration) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_delassus"));
    command
        .args(["compare", "problem:chain:2", "scene:pile:200"])
        .args(["--solver", "direct", "--solver", "gauss-seidel"])
        .args(["--time", "1000", "--json", "--html"])
        .arg(page)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = Started::new(&mut command);
    std::thread::sleep(after);
    interrupt(child.id());
    child.output()
}

#[cfg(unix)]
#[test]
fn an_interrupted_comparison_keeps_what_it_has_and_says_what_is_missing() {
    let folder = folder("interrupted-comparison");
    let page = folder.join("page.html");
    let works = |output: &Output| {
        let report: Value = serde_json::from_slice(&output.stdout).ok()?;
        report["works"].as_array().map(Vec::len)
    };
    // A machine may be too busy to begin within a moment.
    let mut output = interrupted(&page, Duration::from_millis(1500));
    for seconds in [10, 40] {
        if works(&output) != Some(1) {
            output = interrupted(&page, Duration::from_secs(seconds));
        }
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("interrupted") && stderr.contains("missing"),
        "{stderr}"
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["works"].as_array().unwrap().len(), 1);
    let missing = report["missing"].as_array().unwrap();
    assert!(
        missing.iter().any(|run| run["work"] == "scene:pile:200"),
        "{missing:?}"
    );
    assert_eq!(report, embedded(&page));
}

#[test]
fn auto_says_what_it_chose_and_what_gave_the_answer() {
    let ran = delassus(&["solve", "chain:5", "--solver", "auto", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let answer = ran.json();
    assert_eq!(
        (&answer["solver"], &answer["chosen"][0]["solver"]),
        (&"auto".into(), &"direct".into())
    );
    assert!(
        answer["chosen"][0]["why"]
            .as_str()
            .unwrap()
            .contains("linear system")
    );
    assert!(answer.get("fallback").is_none());
    let ran = delassus(&["solve", "heavy-stack:4", "--solver", "auto"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("auto → newton"), "{}", ran.stdout);
}
