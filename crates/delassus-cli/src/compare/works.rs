//! What there is to compare: words of the command line opened into single problems and scenes.

use std::fs;
use std::path::{Path, PathBuf};

use delassus::gallery::experiments::{self, Experiment};
use delassus::problem::file::{FileContent, Format, Loaded};
use delassus::{BuildError, Problem, Solution};

use crate::console::Outcome;
use crate::folder::DiskError;
use crate::input::{self, InputError};
use crate::refusal::Refusal;
use crate::scene::is_scene;

/// Put in front of the name of an experiment of the Lemke paper.
const EXPERIMENT: &str = "experiment:";
/// All of them, in the sizes of the paper.
const EXPERIMENTS: &str = "experiments";
/// Pegs of the paper, in contacts.
const PEGS: [usize; 4] = [8, 16, 24, 32];
/// Most contacts of a peg.
const LARGEST_PEG: usize = 4096;

/// What cannot be compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompareError {
    #[error(
        "{EXPERIMENT}{name}: there is no such experiment; known: peg:N with an even N from 4 to {LARGEST_PEG}, {known}; `{EXPERIMENTS}` means all"
    )]
    NoExperiment { name: String, known: String },
    #[error("{name}: {cause}")]
    NotBuilt { name: String, cause: BuildError },
    #[error("{name}: has no problem")]
    NoProblem { name: String },
    #[error("there is no problem to compare in what was named")]
    Nothing,
    #[error("interrupted: {left} of {all} runs are missing; what was done is kept")]
    Interrupted { left: usize, all: usize },
}

/// One thing to compare solvers on.
pub(super) enum Subject {
    /// A scene, to be stepped through time.
    Scene(PathBuf),
    /// A problem file or a built-in problem; one found in a folder may turn out to be something else.
    Problem { path: PathBuf, named: bool },
    /// One problem of an experiment.
    Experiment(Box<Experiment>),
}

impl Subject {
    /// How it is called in tables.
    pub(super) fn name(&self) -> String {
        match self {
            Subject::Scene(path) | Subject::Problem { path, .. } => input::name(path),
            Subject::Experiment(experiment) => format!("{EXPERIMENT}{}", experiment.name),
        }
    }
}

/// A problem with the impulses solvers start from.
pub(super) struct Start {
    pub(super) kind: &'static str,
    pub(super) problem: Problem,
    /// None for a start from zero.
    pub(super) guess: Option<Vec<f64>>,
}

impl Start {
    /// Where every solver starts.
    pub(super) fn solution(&self) -> Solution {
        match &self.guess {
            Some(guess) => Solution {
                v: Vec::new(),
                lambda: guess.clone(),
            },
            None => Solution::zeros(&self.problem),
        }
    }
}

/// The works behind the words: folders are opened, one level deep, in the order of names.
pub(super) fn find(words: &[PathBuf], outcome: &mut Outcome) -> Vec<Subject> {
    let mut works = Vec::new();
    for word in words {
        let name = input::name(word);
        let found = match name.strip_prefix(EXPERIMENT) {
            Some(rest) => experiment(rest)
                .map(|found| vec![Subject::Experiment(Box::new(found))])
                .map_err(Refusal::from),
            None if name == EXPERIMENTS && !word.exists() => Ok(all_experiments()),
            None if is_scene(word) => Ok(vec![Subject::Scene(word.clone())]),
            None if word.is_dir() => files_of(word).map_err(Refusal::from),
            None => Ok(vec![Subject::Problem {
                path: word.clone(),
                named: true,
            }]),
        };
        match found {
            Ok(found) => works.extend(found),
            Err(refusal) => outcome.blame(Err(refusal)),
        }
    }
    works
}

/// Reads or makes a problem.
pub(super) fn load(
    work: &Subject,
    (format, seed, cold): (Option<Format>, u64, bool),
) -> Result<Start, Refusal> {
    let name = work.name();
    match work {
        Subject::Experiment(experiment) => {
            let problems = experiment.problems(1, seed);
            let problems = problems.map_err(|cause| CompareError::NotBuilt {
                name: name.clone(),
                cause,
            })?;
            let problem = problems.into_iter().next();
            Ok(Start {
                kind: "problem",
                problem: problem.ok_or(CompareError::NoProblem { name })?,
                guess: None,
            })
        }
        Subject::Scene(path) | Subject::Problem { path, .. } => {
            let mut start = problem_of(&name, input::load(path, format)?)?;
            start.guess = start.guess.filter(|_| !cold);
            Ok(start)
        }
    }
}

fn problem_of(name: &str, loaded: Loaded) -> Result<Start, InputError> {
    let problem = match loaded.content {
        FileContent::Problem { problem, .. } => *problem,
        FileContent::Tree(work) => work.problem,
        FileContent::Stabilisation(_) => {
            return Err(InputError::NothingToCompare {
                name: name.to_owned(),
                kind: loaded.kind,
            });
        }
    };
    Ok(Start {
        kind: loaded.kind,
        problem,
        guess: loaded.guess,
    })
}

fn files_of(folder: &Path) -> Result<Vec<Subject>, DiskError> {
    let failed = DiskError::denied(folder, "read the folder");
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let path = entry.map_err(&failed)?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    let work = |path| Subject::Problem { path, named: false };
    Ok(paths.into_iter().map(work).collect())
}

fn all_experiments() -> Vec<Subject> {
    let pegs = PEGS.into_iter().map(experiments::peg);
    let all = pegs
        .chain(experiments::singles())
        .chain(experiments::stacks());
    all.map(|experiment| Subject::Experiment(Box::new(experiment)))
        .collect()
}

fn experiment(name: &str) -> Result<Experiment, CompareError> {
    let pegs = name.strip_prefix("peg:").map(str::parse::<usize>);
    if let Some(Ok(contacts)) = pegs
        && (4..=LARGEST_PEG).contains(&contacts)
        && contacts.is_multiple_of(2)
    {
        return Ok(experiments::peg(contacts));
    }
    let mut rest = experiments::singles();
    rest.extend(experiments::stacks());
    if let Some(found) = rest.iter().position(|other| other.name == name) {
        return Ok(rest.swap_remove(found));
    }
    let known: Vec<&str> = rest.iter().map(|other| other.name.as_str()).collect();
    Err(CompareError::NoExperiment {
        name: name.to_owned(),
        known: known.join(", "),
    })
}
