//! `--capture`: the problems of steps that went badly, kept as problem files that any solver can be tried on.
//!
//! An observer of the solver sees every problem with the impulses it started from and the report it ended with. A captured file holds all three, so that the same solver comes to the same bits again.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use delassus::problem::file::json;
use delassus::solver::Seen;
use delassus::{Problem, Report, Status};
use serde_json::{Value, json};

use super::plan::Plan;
use crate::args::RunArgs;
use crate::folder::{self, DiskError};
use crate::solvers::{Chosen, Options};

/// Which problems are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum When {
    /// Those that did not end as solved, but for those swept as often as asked.
    NotSolved,
    /// Those whose law residual is above this [m/s].
    Above(f64),
    /// Those of every so many steps.
    Every(u64),
}

/// A condition that is none of [`When`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "give \"status!=solved\", \"residual>X\" with X in m/s, or \"every N\" with a number of steps"
)]
pub(crate) struct BadCondition;

impl FromStr for When {
    type Err = BadCondition;

    fn from_str(text: &str) -> Result<When, BadCondition> {
        let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let number = |prefix: &str| bare.strip_prefix(prefix);
        if bare == "status!=solved" {
            return Ok(When::NotSolved);
        }
        if let Some(Ok(bound)) = number("residual>").map(str::parse::<f64>)
            && bound.is_finite()
            && 0.0 <= bound
        {
            return Ok(When::Above(bound));
        }
        match number("every").map(str::parse::<u64>) {
            Some(Ok(steps)) if 0 < steps => Ok(When::Every(steps)),
            _ => Err(BadCondition),
        }
    }
}

/// What is kept of a run.
#[derive(Debug)]
pub(super) struct Capture<'a> {
    plan: &'a Plan,
    /// Where to, and which; none where nothing is to be kept but what is refused.
    into: Option<(PathBuf, When)>,
    limit: u64,
    /// Files written.
    pub(super) kept: u64,
    /// Problems that met the condition when the limit was reached already.
    pub(super) left_out: u64,
    /// Step under way, time before it \[s\], and its substep.
    step: u64,
    time: f64,
    substep: u32,
    /// Start and end of the last solve.
    guess: Vec<f64>,
    report: Option<Report>,
    /// What went wrong while writing.
    fault: Option<DiskError>,
}

impl<'a> Capture<'a> {
    /// Makes the folder of `--capture`, if any.
    pub(super) fn prepare(args: &RunArgs, plan: &'a Plan) -> Result<Capture<'a>, DiskError> {
        if let Some(path) = &args.capture {
            folder::make("--capture", path, args.force)?;
        }
        let into = args.capture.clone();
        Ok(Capture {
            plan,
            into: into.map(|path| (path, args.capture_when)),
            limit: args.capture_limit,
            kept: 0,
            left_out: 0,
            step: plan.first,
            time: 0.0,
            substep: 0,
            guess: Vec::new(),
            report: None,
            fault: None,
        })
    }

    /// The folder of `--capture`.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.into.as_ref().map(|(path, _)| path.as_path())
    }

    /// A step begins at this time.
    pub(super) fn begin(&mut self, step: u64, time: f64) {
        (self.step, self.time, self.substep) = (step, time, 0);
    }

    /// What went wrong while writing, if anything did.
    pub(super) fn check(&mut self) -> Result<(), DiskError> {
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Looks at one solve of the step, and keeps it where it is wanted.
    pub(super) fn see(&mut self, seen: Seen<'_>) {
        let (problem, report) = (seen.problem, seen.report);
        self.substep += 1;
        self.guess.clear();
        self.guess.extend_from_slice(seen.start);
        self.report = Some(report.clone());
        let Some((path, when)) = &self.into else {
            return;
        };
        let wanted = match when {
            // What nobody waited for says nothing about the problem.
            _ if report.status == Status::Interrupted => false,
            When::NotSolved => {
                let asked = self.plan.stop().is_swept_as_asked(report.status);
                report.status != Status::Solved && !asked
            }
            // Not-a-number is above everything.
            When::Above(bound) => !(report.residual.law <= *bound),
            When::Every(steps) => self.step.is_multiple_of(*steps),
        };
        if !wanted {
            return;
        }
        if self.limit <= self.kept {
            self.left_out += 1;
            return;
        }
        let path = path.join(self.name(""));
        match self.write(&path, problem) {
            Ok(()) => self.kept += 1,
            Err(error) => self.fault = Some(error),
        }
    }

    /// Keeps the problem of a step that was refused, whatever the condition and the limit; gives the file.
    pub(super) fn refused(
        &self,
        problem: &Problem,
        out: Option<&Path>,
    ) -> Result<PathBuf, DiskError> {
        let path = match (self.folder(), out) {
            (Some(folder), _) => folder.join(self.name("-refused")),
            (None, Some(out)) => out.join(format!("refused-step-{}.json", self.step)),
            (None, None) => PathBuf::from(format!("delassus-refused-step-{}.json", self.step)),
        };
        self.write(&path, problem)?;
        Ok(path)
    }

    /// Where the state before a refused step goes, if there is a folder of `--capture`.
    pub(super) fn refused_state(&self) -> Option<PathBuf> {
        let folder = self.folder()?;
        Some(folder.join(self.name("-refused-state")))
    }

    /// Where in the saved problem the worst residual of the refused step stands.
    pub(super) fn worst(&self, problem: &Problem) -> Option<String> {
        let block = self.report.as_ref()?.residual.worst_block?;
        let rows = problem.blocks().get(block.index())?.rows();
        Some(match rows.len() {
            1 => format!("{block}, row {}", rows.start),
            _ => format!("{block}, rows {} to {}", rows.start, rows.end - 1),
        })
    }

    fn name(&self, ending: &str) -> String {
        let scene = folder::tame(&self.plan.source.name);
        let substep = match self.plan.options.substeps {
            0 | 1 => String::new(),
            _ => format!("-{}", self.substep),
        };
        format!("{scene}-step-{:06}{substep}{ending}.json", self.step)
    }

    fn write(&self, path: &Path, problem: &Problem) -> Result<(), DiskError> {
        let title = format!("{}, step {}", self.plan.source.name, self.step);
        // Solvers take impulses of the wrong length or size for none at all; so does whoever replays.
        let usable = self.guess.len() == problem.n_rows();
        let guess = usable.then_some(&self.guess[..]);
        let text = json::save_with(problem, &title, guess, Some(&self.notes(path)));
        folder::write_whole(path, &text)
    }

    /// Where the problem comes from, how it went, and how to try again.
    fn notes(&self, path: &Path) -> Value {
        let options = &self.plan.options;
        let replay = format!(
            "delassus solve {} --solver {} --tolerance {:e} --iterations {} --pivots {} --seed {}",
            path.file_name().unwrap_or_default().to_string_lossy(),
            options.solver,
            options.tolerance,
            options.iterations,
            options.pivots,
            options.seed
        );
        json!({
            "scene": self.plan.source.name,
            "step": self.step,
            "substep": self.substep,
            "time": self.time,
            "dt": options.dt,
            "substeps": options.substeps,
            "seed": options.seed,
            "tolerance": options.tolerance,
            "iterations": options.iterations,
            "pivots": options.pivots,
            "replay": replay,
            "report": self.report.as_ref().map(report_json),
        })
    }
}

fn report_json(report: &Report) -> Value {
    json!({
        "solver": report.solver,
        "options": Options(report.options.clone()),
        "chosen": Chosen::of(report),
        "fallback": report.fallback,
        "status": report.status.name(),
        "fit": report.fit.name(),
        "iterations": report.iterations,
        "residual": report.residual,
        "elapsed_s": report.elapsed.as_secs_f64(),
        "message": report.message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_they_are_documented() {
        let read = |text: &str| text.parse::<When>();
        assert_eq!(read("status!=solved"), Ok(When::NotSolved));
        assert_eq!(read(" residual > 1e-6"), Ok(When::Above(1e-6)));
        assert_eq!(read("every 10"), Ok(When::Every(10)));
        for text in [
            "",
            "every 0",
            "residual>x",
            "residual>-1",
            "residual>NaN",
            "status=solved",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
