//! `delassus solve`: every file by every solver, judged, in the order given.

mod tree;

use std::path::Path;

use delassus::problem::file::{FileContent, Loaded, json};
use delassus::solver::{Cancel, Record, auto};
use delassus::{Problem, Report, Solution, Stop};
use indicatif::ProgressBar;
use rayon::prelude::*;

use crate::answer::{Answer, HEADINGS};
use crate::args::SolveArgs;
use crate::console::{Outcome, Printed};
use crate::folder::{self, Folder};
use crate::input::{self, InputError};
use crate::interrupt;
use crate::progress;
use crate::refusal::{Refusal, Usage};
use crate::solvers::{self, SolverError};
use crate::table::{self, Table};

pub(crate) use tree::MatricesError;

/// Solves what the command line names.
pub(crate) fn run(args: &SolveArgs) -> Result<Printed, Refusal> {
    check(args)?;
    let specs = solvers::expand(&args.common.solvers, auto::NAME)?;
    let mut out = Folder::prepare(&args.common)?;
    let bar = progress::bar(args.files.len() * specs.len(), args.common.quiet);
    let job = Job {
        args,
        specs: &specs,
        bar: &bar,
        cancel: Cancel::new(interrupt::watch(args.common.quiet)),
    };
    let results: Vec<Result<Vec<Answer>, Refusal>> = pool(args.common.threads)?.install(|| {
        args.files
            .par_iter()
            .map(|file| job.solve_file(file))
            .collect()
    });
    bar.finish_and_clear();
    let mut outcome = Outcome::Solved;
    let mut answers = Vec::new();
    for result in results {
        match result {
            Ok(solved) => answers.extend(solved),
            Err(refusal) => outcome.blame(Err(refusal)),
        }
    }
    for answer in &answers {
        outcome = outcome.max(answer.outcome());
        if let Some(out) = &mut out {
            let text = answer.json() + "\n";
            outcome.blame(out.write(&[&answer.file, &answer.label()], &text));
        }
    }
    let single = args.files.len() == 1 && specs.len() == 1;
    let text = match (args.common.json, single) {
        (true, true) => answers
            .first()
            .map_or_else(String::new, |a| a.json() + "\n"),
        (true, false) => array(&answers),
        (false, _) => tables(&answers),
    };
    Ok(Printed { text, outcome })
}

/// Refuses what cannot mean anything, before reading a single file.
fn check(args: &SolveArgs) -> Result<(), Usage> {
    input::check_standard_input(&args.files)?;
    if args.common.tolerance == Some(0.0) && args.common.iterations.is_none() {
        return Err(Usage::SweepsNotSaid);
    }
    if args.history && !args.common.json && args.common.out.is_none() {
        return Err(Usage::HistoryWithoutJson);
    }
    if args.matrices && !args.common.json && args.common.out.is_none() {
        return Err(Usage::MatricesWithoutJson);
    }
    if args.save_problem.is_some() && args.files.len() != 1 {
        return Err(Usage::SaveNeedsOneFile);
    }
    Ok(())
}

/// The threads that files, solvers and parts of problems are shared out to.
pub(crate) fn pool(threads: u16) -> Result<rayon::ThreadPool, Usage> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
    builder
        .build()
        .map_err(|cause| Usage::Threads { threads, cause })
}

/// What every file is solved with.
struct Job<'a> {
    args: &'a SolveArgs,
    specs: &'a [String],
    bar: &'a ProgressBar,
    /// Raised by Ctrl-C: what is running ends, what follows does not begin, and everything is answered.
    cancel: Cancel,
}

impl Job<'_> {
    /// Reads one file and solves it by every solver. The file is forgotten afterwards, so that a long list of
    /// them costs no memory.
    fn solve_file(&self, file: &Path) -> Result<Vec<Answer>, Refusal> {
        let name = input::name(file);
        let loaded = input::load(file, self.args.common.format);
        let loaded = loaded.inspect_err(|_| self.bar.inc(self.specs.len() as u64))?;
        self.save(&name, &loaded)?;
        let solve = |spec: &String| {
            let answer = self.answer(&name, &loaded, spec);
            self.bar.inc(1);
            answer
        };
        self.specs.par_iter().map(solve).collect()
    }

    fn save(&self, name: &str, loaded: &Loaded) -> Result<(), Refusal> {
        let Some(path) = &self.args.save_problem else {
            return Ok(());
        };
        let problem = match &loaded.content {
            FileContent::Problem { problem, .. } => problem,
            FileContent::Tree(work) => &work.problem,
            FileContent::Stabilisation(_) => {
                let kind = loaded.kind;
                let name = name.to_owned();
                return Err(InputError::NothingToSave { name, kind }.into());
            }
        };
        let title = if loaded.title.is_empty() {
            name
        } else {
            &loaded.title
        };
        let text = json::save(problem, title);
        Ok(folder::write_new(path, &text, self.args.common.force)?)
    }

    fn answer(&self, name: &str, loaded: &Loaded, spec: &str) -> Result<Answer, Refusal> {
        let head = (name, loaded.kind);
        let seed = self.args.common.seed;
        match &loaded.content {
            FileContent::Stabilisation(rows) => {
                let solver = solvers::make(spec, Stop::default(), seed)?;
                Ok(Answer::computed(head, solver.as_ref(), rows.clone()))
            }
            FileContent::Problem {
                problem,
                velocity_order,
            } => {
                let guess = loaded.guess.as_deref().filter(|_| !self.args.common.cold);
                let solved = self.solve_problem((problem, guess), spec)?;
                Ok(self.finish(head, problem, velocity_order.as_deref(), solved))
            }
            FileContent::Tree(work) => {
                let solved = self.solve_problem((&work.problem, None), spec)?;
                let rank = tree::rank(&work.problem, &solved.1);
                let matrices = self.args.matrices.then(|| tree::matrices(work));
                let matrices = matrices.transpose().map_err(|cause| Refusal::Matrices {
                    name: name.to_owned(),
                    cause,
                })?;
                let answer = self.finish(head, &work.problem, None, solved);
                Ok(answer.with_system(rank, matrices))
            }
        }
    }

    fn finish(
        &self,
        head: (&str, &'static str),
        problem: &Problem,
        velocity_order: Option<&[usize]>,
        (solution, mut report): (Solution, Report),
    ) -> Answer {
        let history = std::mem::take(&mut report.history);
        let answer = Answer::new(head, problem, velocity_order, solution, report);
        if self.args.history {
            answer.with_history(&history)
        } else {
            answer
        }
    }

    /// Solves from the guess of the file, where it has one and it is wanted.
    fn solve_problem(
        &self,
        (problem, guess): (&Problem, Option<&[f64]>),
        spec: &str,
    ) -> Result<(Solution, Report), SolverError> {
        let mut solution = match guess {
            Some(guess) => Solution::from_lambda(problem, guess.to_vec()),
            None => Solution::zeros(problem),
        };
        let mut solver = solvers::make(spec, self.stop(problem), self.args.common.seed)?;
        let report = solver.solve(problem, &mut solution);
        Ok((solution, report))
    }

    fn stop(&self, problem: &Problem) -> Stop {
        let common = &self.args.common;
        let usual = Stop::for_problem(problem);
        let stop = Stop {
            tolerance: common.tolerance.unwrap_or(usual.tolerance),
            time: common.time_limit,
            record: if self.args.history {
                Record::Residuals
            } else {
                Record::Sweeps
            },
            cancel: Some(self.cancel),
            ..usual
        };
        let stop = solvers::limited(stop, common.iterations, usual.sweeps);
        Stop {
            pivots: self.args.pivots.unwrap_or(stop.pivots),
            ..stop
        }
    }
}

/// An array with one answer per line, so that it can be read with line tools too.
fn array(answers: &[Answer]) -> String {
    let lines: Vec<String> = answers.iter().map(Answer::json).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// The table of answers, what to know about those not solved, and computed coefficients.
fn tables(answers: &[Answer]) -> String {
    let mut table = Table::new(&HEADINGS);
    for answer in answers {
        table.push(answer.row());
    }
    if table.is_empty() {
        return String::new();
    }
    let mut text = table.text();
    for answer in answers {
        if let Some(words) = answer.words() {
            text.push_str(&format!("\n{}, {}: {words}", answer.file, answer.label()));
        }
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut shown = "";
    for answer in answers {
        // The same coefficients stand in the answer of every solver; once is enough for people.
        if let (Some(cases), true) = (&answer.cases, shown != answer.file) {
            shown = &answer.file;
            let mut table = Table::new(&[
                ">case",
                ">sigma [1/kg]",
                ">upsilon",
                ">q [m/s]",
                ">rho_drift",
            ]);
            for (i, case) in cases.iter().enumerate() {
                let numbers = [case.sigma, case.upsilon, case.q, case.rho_drift];
                let mut row = vec![i.to_string()];
                row.extend(numbers.map(table::number));
                table.push(row);
            }
            text.push_str(&format!("\n{}\n{}", answer.file, table.text()));
        }
    }
    text
}
