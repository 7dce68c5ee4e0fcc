//! How a run ended, and what there is to say about one that ended early.

use std::fmt;
use std::path::PathBuf;

use delassus::World;
use delassus::world::StepError;

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ending {
    Completed,
    /// Somebody asked to stop.
    Interrupted(Interrupted),
    /// A step would have spoilt the state.
    Refused(Box<RefusedStep>),
    /// Bodies have energy that nothing supplied.
    Gained(Gained),
}

/// Energy that nothing supplied.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "the bodies have {excess:.3e} J more than at the start after step {number} at {time} s, and nothing supplies \
     energy; at most {allowed:.3e} J are put down to the step: take a shorter step or substeps, or go on with \
     --keep-going"
)]
pub(crate) struct Gained {
    /// The first step that had it, from 1.
    pub(super) number: u64,
    /// Time after it \[s\].
    pub(super) time: f64,
    /// What there is more than at the start \[J\].
    pub(super) excess: f64,
    /// What is put down to the step \[J\].
    pub(super) allowed: f64,
}

/// A run that somebody stopped.
#[derive(Debug, thiserror::Error)]
pub(super) struct Interrupted {
    /// Steps done.
    pub(super) step: u64,
    /// Steps planned.
    pub(super) steps: u64,
    /// Where to go on from, where there is a folder for it.
    pub(super) checkpoint: Option<PathBuf>,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted at step {} of {}", self.step, self.steps)?;
        match &self.checkpoint {
            Some(path) => write!(f, "; go on with --resume {}", path.display()),
            None => Ok(()),
        }
    }
}

/// A step that was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) struct RefusedStep {
    /// Number of the step, from 1.
    pub(super) number: u64,
    /// Time before it \[s\].
    pub(super) time: f64,
    pub(super) cause: NamedStepError,
    pub(super) kept: Kept,
}

/// What is kept of a step that was not taken.
#[derive(Debug)]
pub(super) enum Kept {
    /// Its problem, and where in it the worst residual stands.
    Problem {
        path: PathBuf,
        worst: Option<String>,
    },
    /// The state before it.
    State(PathBuf),
    /// There is no folder for anything.
    Nothing,
}

impl fmt::Display for RefusedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} at {} s: {}", self.number, self.time, self.cause)?;
        match &self.kept {
            Kept::Problem { path, worst } => {
                if let Some(worst) = worst {
                    write!(f, "; the worst is {worst}")?;
                }
                write!(f, "; its problem is in {}", path.display())
            }
            Kept::State(path) => write!(f, "; the last good state is in {}", path.display()),
            Kept::Nothing => Ok(()),
        }
    }
}

/// Why a step was refused, with a name for a body that collision detection knows by number.
#[derive(Debug, thiserror::Error)]
pub(crate) struct NamedStepError {
    cause: StepError,
    body: Option<String>,
}

impl NamedStepError {
    pub(crate) fn new(world: &World, cause: StepError) -> NamedStepError {
        let text = cause.to_string();
        let number = split(&text).and_then(|(_, digits, _)| digits.parse::<usize>().ok());
        let body = number.and_then(|i| world.bodies().name.get(i).cloned());
        NamedStepError { cause, body }
    }
}

impl fmt::Display for NamedStepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.cause.to_string();
        match (&self.body, split(&text)) {
            (Some(name), Some((before, _, after))) => write!(f, "{before}body \"{name}\"{after}"),
            _ => f.write_str(&text),
        }
    }
}

/// The text before the first body, its number and the text behind.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("body ")?;
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    let (number, after) = rest.split_at(digits);
    Some((before, number, after))
}
