//! The experiments of [Lemke05 §5.4] by all three methods: pivots, time, residual, success, growth.

use std::time::{Duration, Instant};

use delassus::gallery::experiments::{self, Experiment, Family};
use delassus::{Problem, Solution, Status, Stop};
use serde::Serialize;

use super::BenchError;
use super::figure::{self, Figure, Series};
use super::growth::exponent;
use crate::args::BenchArgs;
use crate::console::{Outcome, Printed};
use crate::refusal::Refusal;
use crate::table::{self, Table};
use crate::{folder, progress, solvers};

/// The methods with the most contacts each is given: a dense matrix of eighty thousand entries per contact squared
/// is not what the others are to wait for.
const METHODS: [(&str, usize); 3] = [
    ("lemke-standard", 64),
    ("lemke-structural", usize::MAX),
    ("lemke-reduced", usize::MAX),
];
/// What counts as solved: the law residual relative to the largest velocity without impulses.
const ACCEPTED: f64 = 1e-9;
/// A solve is repeated until this many are done or this much time is spent; the shortest counts.
const REPEATS: usize = 20;
const ENOUGH: Duration = Duration::from_millis(4);
/// The paper's own means at its smallest and largest number of contacts \[ms\]: pegs of 8 and 32.
const PAPER: [(&str, f64, f64); 3] = [
    ("lemke-standard", 6.18, 400.75),
    ("lemke-structural", 2.55, 26.63),
    ("lemke-reduced", 1.08, 4.58),
];

/// All wrenches of one experiment by one method.
#[derive(Clone, Debug, Serialize)]
struct Row {
    experiment: String,
    family: Family,
    bodies: usize,
    contacts: usize,
    method: &'static str,
    wrenches: usize,
    solved: usize,
    mean_pivots: f64,
    mean_time_s: f64,
    worst_relative_residual: f64,
}

/// How the time of a method grows over a family.
#[derive(Clone, Debug, Serialize)]
struct Growth {
    family: Family,
    method: &'static str,
    over: &'static str,
    from: usize,
    to: usize,
    exponent: f64,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    seed: u64,
    directions: u32,
    accepted_relative_residual: f64,
    rows: &'a [Row],
    growth: &'a [Growth],
}

/// Runs the experiments.
pub(crate) fn run(args: &BenchArgs) -> Result<Printed, Refusal> {
    if let Some(out) = &args.out {
        folder::make("--out", out, args.force)?;
    }
    let experiments = experiments(args);
    let bar = progress::bar(experiments.len() * METHODS.len(), args.quiet);
    let mut rows = Vec::new();
    for experiment in &experiments {
        let problems = experiment
            .problems(args.wrenches, args.seed)
            .map_err(|cause| BenchError::Experiment {
                name: experiment.name.clone(),
                cause,
            })?;
        for (method, most) in METHODS {
            bar.set_message(format!("{}  {method}", experiment.name));
            if experiment.contacts() <= most {
                rows.push(measure(experiment, &problems, method, args.seed)?);
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let growth = growth(&rows);
    let document = Document {
        schema: "delassus-bench-lemke-1",
        seed: args.seed,
        directions: experiments::DIRECTIONS,
        accepted_relative_residual: ACCEPTED,
        rows: &rows,
        growth: &growth,
    };
    let json = serde_json::to_string_pretty(&document).expect("plain data has a JSON form") + "\n";
    if let Some(out) = &args.out {
        folder::write_whole(&out.join("lemke.json"), &json)?;
        for (name, figure) in figures(&rows) {
            folder::write_whole(&out.join(name), &figure::svg(&figure)?)?;
        }
    }
    let all = rows.iter().all(|row| row.solved == row.wrenches);
    Ok(Printed {
        text: if args.json {
            json
        } else {
            text(&rows, &growth)
        },
        outcome: if all {
            Outcome::Solved
        } else {
            Outcome::NotSolved
        },
    })
}

/// The paper's sizes and, beyond them, pegs and stacks as large as asked for.
fn experiments(args: &BenchArgs) -> Vec<Experiment> {
    let mut all: Vec<Experiment> = Vec::new();
    let sizes = [8, 12, 16, 20, 24, 28, 32, 48, 64, 96, 128, 192, 256];
    let sizes = sizes.into_iter().filter(|n| *n <= args.largest_peg);
    all.extend(sizes.map(experiments::peg));
    all.extend(experiments::singles());
    all.extend(experiments::stacks());
    for blocks in [10, 20, 30, 40, 50] {
        if blocks <= args.largest_stack {
            // Aligned on the ground, then turned and aligned in turns: six contacts a face on average.
            let faces: Vec<usize> = (0..blocks)
                .map(|i| if i % 2 == 0 { 4 } else { 8 })
                .collect();
            all.push(experiments::stack(&faces));
        }
    }
    all
}

fn measure(
    experiment: &Experiment,
    problems: &[Problem],
    method: &'static str,
    seed: u64,
) -> Result<Row, Refusal> {
    let mut row = Row {
        experiment: experiment.name.clone(),
        family: experiment.family,
        bodies: experiment.bodies(),
        contacts: experiment.contacts(),
        method,
        wrenches: problems.len(),
        solved: 0,
        mean_pivots: 0.0,
        mean_time_s: 0.0,
        worst_relative_residual: 0.0,
    };
    // One solver for all wrenches: its arrays are kept, as they are from step to step of a world.
    let mut solver = solvers::make(
        method,
        Stop {
            tolerance: 1e-9,
            ..Stop::default()
        },
        seed,
    )?;
    for problem in problems {
        let begin = Instant::now();
        let mut best = f64::INFINITY;
        for i in 0..REPEATS {
            if 0 < i && ENOUGH < begin.elapsed() {
                break;
            }
            let report = solver.solve(problem, &mut Solution::zeros(problem));
            best = best.min(report.elapsed.as_secs_f64());
            if i == 0 {
                let relative = report.residual.relative;
                row.solved += usize::from(report.status == Status::Solved && relative <= ACCEPTED);
                row.worst_relative_residual = row.worst_relative_residual.max(relative);
                row.mean_pivots += report.iterations as f64 / problems.len() as f64;
            }
        }
        row.mean_time_s += best / problems.len() as f64;
    }
    Ok(row)
}

/// Exponents over the paper's range of pegs, over all pegs, and over the bodies of long stacks.
fn growth(rows: &[Row]) -> Vec<Growth> {
    let mut found = Vec::new();
    for (method, _) in METHODS {
        let mut fit = |family, over, range: (usize, usize), size: fn(&Row) -> usize| {
            let inside = |row: &&Row| {
                row.family == family
                    && row.method == method
                    && range.0 <= size(row)
                    && size(row) <= range.1
            };
            let points: Vec<(f64, f64)> = rows
                .iter()
                .filter(inside)
                .map(|row| (size(row) as f64, row.mean_time_s))
                .collect();
            let ends = points.iter().map(|p| p.0 as usize);
            let (from, to) = (ends.clone().min(), ends.max());
            if let (Some(exponent), Some(from), Some(to)) = (exponent(&points), from, to)
                && 2 < points.len()
            {
                found.push(Growth {
                    family,
                    method,
                    over,
                    from,
                    to,
                    exponent,
                });
            }
        };
        fit(Family::Peg, "contacts", (8, 32), |row| row.contacts);
        fit(Family::Peg, "contacts", (8, 256), |row| row.contacts);
        fit(Family::Single, "contacts", (1, 16), |row| row.contacts);
        fit(Family::Stack, "blocks", (10, 50), |row| row.bodies);
    }
    found
}

fn text(rows: &[Row], growth: &[Growth]) -> String {
    let mut table = Table::new(&[
        "experiment",
        ">bodies",
        ">contacts",
        "method",
        ">solved",
        ">pivots",
        ">time",
        ">worst relative residual",
    ]);
    for row in rows {
        table.push(vec![
            row.experiment.clone(),
            row.bodies.to_string(),
            row.contacts.to_string(),
            row.method.to_owned(),
            format!("{}/{}", row.solved, row.wrenches),
            format!("{:.1}", row.mean_pivots),
            table::time(Duration::from_secs_f64(row.mean_time_s)),
            table::number(row.worst_relative_residual),
        ]);
    }
    let mut text = table.text();
    let mut table = Table::new(&["method", "family", "over", ">from", ">to", ">exponent"]);
    for fit in growth {
        table.push(vec![
            fit.method.to_owned(),
            format!("{:?}", fit.family).to_lowercase(),
            fit.over.to_owned(),
            fit.from.to_string(),
            fit.to.to_string(),
            format!("{:.2}", fit.exponent),
        ]);
    }
    text.push('\n');
    text.push_str(&table.text());
    text.push_str(&ratios(rows));
    text
}

/// How many times faster than the standard method, beside the paper's own ratio.
fn ratios(rows: &[Row]) -> String {
    let time = |method: &str| {
        let found = rows
            .iter()
            .find(|row| row.family == Family::Peg && row.contacts == 32 && row.method == method);
        found.map(|row| row.mean_time_s)
    };
    let Some(standard) = time(PAPER[0].0) else {
        return String::new();
    };
    let mut text = String::new();
    for (method, _, slow) in &PAPER[1..] {
        if let Some(mine) = time(method) {
            let (here, paper) = (standard / mine, PAPER[0].2 / slow);
            text.push_str(&format!(
                "\npeg of 32: lemke-standard / {method} = {here:.0} (the paper: {paper:.0})"
            ));
        }
    }
    text.push('\n');
    text
}

/// Places of all methods in the table of methods.
const ALL: [usize; 3] = [0, 1, 2];

/// The paper's figures 5 to 8 and 10, with our numbers.
fn figures(rows: &[Row]) -> Vec<(&'static str, Figure<'static>)> {
    let pick = |family: Family, methods: &[usize], most: usize, joined: bool| {
        methods
            .iter()
            .map(|&index| {
                let mine = |row: &&Row| {
                    row.family == family && row.method == METHODS[index].0 && row.contacts <= most
                };
                let mut points: Vec<(f64, f64)> = rows
                    .iter()
                    .filter(mine)
                    .map(|row| (row.contacts as f64, row.mean_time_s))
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                Series {
                    name: METHODS[index].0,
                    index: index + 1,
                    points,
                    joined,
                }
            })
            .collect::<Vec<_>>()
    };
    let figure = Figure::of_solves;
    vec![
        (
            "figure-5.svg",
            figure("Peg in hole", pick(Family::Peg, &ALL, 32, true), false),
        ),
        (
            "figure-6.svg",
            figure(
                "Peg in hole, close-up",
                pick(Family::Peg, &[1, 2], 32, true),
                false,
            ),
        ),
        (
            "figure-7.svg",
            figure(
                "Ten situations of one body",
                pick(Family::Single, &ALL, 32, false),
                false,
            ),
        ),
        (
            "figure-8.svg",
            figure(
                "Ten situations of one body, reduced",
                pick(Family::Single, &[2], 32, false),
                false,
            ),
        ),
        (
            "figure-10.svg",
            figure("Stacked blocks", pick(Family::Stack, &ALL, 32, false), true),
        ),
        (
            "beyond-pegs.svg",
            figure(
                "Peg in hole, beyond the paper",
                pick(Family::Peg, &ALL, usize::MAX, true),
                true,
            ),
        ),
        (
            "beyond-stacks.svg",
            figure(
                "Stacks, beyond the paper",
                pick(Family::Stack, &ALL, usize::MAX, true),
                true,
            ),
        ),
    ]
}
