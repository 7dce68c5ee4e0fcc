//! Attacks the promise that `solved` is never said of an answer that is not one.
//!
//! `delassus-attack problems COUNT SEED` draws COUNT problems of every class, solves each with several solvers and judges
//! every answer by a reader and an arithmetic of its own (32 digits). `delassus-attack files FILE…` does the same with
//! given files.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]

mod draw;
mod judge;
mod read;
mod table;
mod tree;
mod wide;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use delassus::math::Random;
use delassus::problem::file::{FileContent, Format, parse};
use delassus::solver::from_spec;
use delassus::{Problem, Solution, Status, Stop};
use serde_json::Value;

use draw::Class;
use judge::{System, Verdict};
use table::{Ending, Line, Table};

const USAGE: &str =
    "delassus-attack problems COUNT SEED [--class NAME] [--solvers A;B] [--keep FOLDER]
delassus-attack files FILE… [--solvers A;B]

COUNT problems of every class (or of one) are drawn from SEED, solved and judged in 32 digits.
Problems whose answer is called solved and is not, and those without an answer, are kept in FOLDER.
Exits with 1 where anything was called solved that is not, or anything panicked.";

/// Solvers that are tried where nobody asks for others.
const SOLVERS: &str = "auto;newton;gauss-seidel;lemke";
/// What `solved` promises \[m/s\].
const TOLERANCE: f64 = 1e-8;
/// How far beyond the tolerance a verified residual may lie: the library measures in 16 digits, and says no more of a
/// residual than its first.
const ALLOWANCE: f64 = 1.1;
/// Longest time for one problem.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was asked for.
struct Asked {
    words: Vec<String>,
    class: Option<Class>,
    solvers: String,
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    match asked().and_then(|asked| attack(&asked)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn asked() -> Result<Asked, String> {
    let mut asked = Asked {
        words: Vec::new(),
        class: None,
        solvers: SOLVERS.to_owned(),
        keep: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--class" => {
                let name = next()?;
                let found = Class::ALL.iter().find(|(known, _)| *known == name);
                let known = Class::ALL.map(|(name, _)| name).join(", ");
                let (_, class) = found.ok_or(format!("no class \"{name}\"; there are {known}"))?;
                asked.class = Some(*class);
            }
            "--solvers" => asked.solvers = next()?,
            "--keep" => asked.keep = Some(PathBuf::from(next()?)),
            _ => asked.words.push(word),
        }
    }
    Ok(asked)
}

/// True where nothing false was found.
fn attack(asked: &Asked) -> Result<bool, String> {
    let words: Vec<&str> = asked.words.iter().map(String::as_str).collect();
    let mut table = Table::default();
    match words[..] {
        ["problems", count, seed] => {
            let count: usize = count.parse().map_err(|_| "COUNT is not a number")?;
            let seed: u64 = seed.parse().map_err(|_| "SEED is not a number")?;
            for (number, (name, class)) in (0_u64..).zip(Class::ALL) {
                if asked.class.is_some_and(|one| one != class) {
                    continue;
                }
                // Every problem has a seed of its own, so that one can be drawn again alone.
                for i in 0..count as u64 {
                    let own = seed ^ (number << 56) ^ i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    let (variant, problem) = class.draw(&mut Random::new(own));
                    let title = format!("{name}-{}-{i}", variant.name());
                    each_solver(asked, &mut table, (name, &title), &problem)?;
                }
            }
        }
        ["files", ref files @ ..] if !files.is_empty() => {
            for file in files {
                let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
                let problem = serde_json::from_str(&text).map_err(|e| format!("{file}: {e}"))?;
                let name = file.rsplit('/').next().unwrap_or(file);
                each_solver(asked, &mut table, (name, name), &problem)?;
            }
        }
        _ => return Err("say what to attack".to_owned()),
    }
    println!("{table}");
    Ok(table.is_clean())
}

fn each_solver(
    asked: &Asked,
    table: &mut Table,
    (class, title): (&str, &str),
    problem: &Value,
) -> Result<(), String> {
    let system = read::system(problem).map_err(|why| format!("{title}: {why}"))?;
    let text = problem.to_string();
    for spec in asked.solvers.split(';') {
        let line = match catch_unwind(AssertUnwindSafe(|| solve(&text, spec, &system))) {
            Ok(line) => line.map_err(|why| format!("{title}: {why}"))?,
            Err(_) => Line::panicked(),
        };
        if line.is_odd() {
            let found = format!("{title} {spec}: {line}");
            eprintln!("{found}");
            if let Some(folder) = &asked.keep {
                let save = || {
                    std::fs::create_dir_all(folder)?;
                    std::fs::write(folder.join(format!("{title}.json")), &text)
                };
                save().map_err(|e| format!("{}: {e}", folder.display()))?;
            }
        }
        table.add(class, spec, line);
    }
    Ok(())
}

/// One answer, judged.
fn solve(text: &str, spec: &str, system: &System) -> Result<Line, String> {
    let loaded = match parse(text.as_bytes(), Format::Json) {
        Ok(loaded) => loaded,
        Err(_) => return Ok(Line::of(Ending::Refused, Duration::ZERO, None)),
    };
    let problem: Problem = match loaded.content {
        FileContent::Problem { problem, .. } => *problem,
        FileContent::Tree(work) => work.problem,
        FileContent::Stabilisation(_) => return Err("there is nothing to solve".to_owned()),
    };
    let stop = Stop {
        tolerance: TOLERANCE,
        time: Some(PATIENCE),
        ..Stop::default()
    };
    let mut solver = from_spec(spec, stop, 0).map_err(|e| e.to_string())?;
    let mut solution = Solution::zeros(&problem);
    let begin = Instant::now();
    let report = solver.solve(&problem, &mut solution);
    let elapsed = begin.elapsed();
    let verdict = system.judge(&solution.lambda, &solution.v);
    let exact = report.fit == delassus::Fit::Exact;
    let ending = match report.status {
        Status::Unsupported => Ending::Unsupported,
        Status::Solved if !exact => Ending::Approximate,
        Status::Solved if verdict.as_ref().is_some_and(holds) => Ending::Solved,
        Status::Solved => Ending::False,
        Status::RoundingFloor => Ending::Floor,
        status => Ending::Unsolved(status.name()),
    };
    let said = report.residual.law;
    Ok(Line::of(
        ending,
        elapsed,
        verdict.map(|verdict| (verdict, said)),
    ))
}

/// Whether an answer is what `solved` says it is: the law within the tolerance, and the velocities those that follow
/// from the impulses.
fn holds(verdict: &Verdict) -> bool {
    let law = verdict.law <= ALLOWANCE * TOLERANCE;
    law && verdict.momentum <= TOLERANCE * verdict.speed.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Variant;

    /// Thin bodies and matrices of large condition are where sixteen digits run out: what cannot be known must not be
    /// called solved.
    #[test]
    fn nothing_thin_is_called_solved_that_is_not() {
        let mut tried = 0;
        for (number, (name, class)) in (0_u64..).zip(Class::ALL) {
            for i in 0..160 {
                let (variant, problem) =
                    class.draw(&mut Random::new(1 ^ (number << 56) ^ (i << 8)));
                if variant != Variant::Thin {
                    continue;
                }
                tried += 1;
                let system = read::system(&problem).unwrap_or_else(|e| panic!("{name} {i}: {e}"));
                for spec in ["auto", "gauss-seidel"] {
                    let line = solve(&problem.to_string(), spec, &system)
                        .unwrap_or_else(|e| panic!("{name} {i} {spec}: {e}"));
                    assert!(!line.is_false(), "{name} {i} {spec}: {line}");
                }
            }
        }
        assert!(100 < tried);
    }
}
