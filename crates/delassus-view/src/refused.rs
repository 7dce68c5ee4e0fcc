//! Why something that the page asked for was not done.

use std::error::Error;

use delassus::scenes::ExhibitError;
use delassus::world::{StateError, StepError, WorldError};

use crate::message::{BadMessage, MOST_BODIES};
use crate::recording::RecordingError;

/// Why something that the page asked for was not done; the page shows it in words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// There is no such built-in scene.
    #[error(transparent)]
    Exhibit(#[from] ExhibitError),
    /// A scene too large for a page.
    #[error(
        "{name}: it has {bodies} bodies, and the page takes at most {MOST_BODIES}; choose a smaller size"
    )]
    TooLarge {
        /// The scene.
        name: String,
        /// Bodies it has, or about.
        bodies: usize,
    },
    /// The scene of the command line cannot be made.
    #[error(transparent)]
    Scene(Box<dyn Error + Send + Sync>),
    /// There is no such solver.
    #[error(transparent)]
    Solver(Box<dyn Error + Send + Sync>),
    /// A body cannot be held, or a robot cannot stand so.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The problem of the next step cannot be made.
    #[error("this step has no problem to save: {0}")]
    Problem(StepError),
    /// A file with a state is none.
    #[error("the file with the state cannot be read: {0}; it is one that \"Save state\" wrote")]
    StateFile(#[source] serde_json::Error),
    /// A file with a state says to step in a way that nobody may ask for.
    #[error("the file with the state cannot be taken up: {}", .0.0)]
    StateParameters(#[source] BadMessage),
    /// A file with a state is of another scene.
    #[error("the state is one of {of}, and {shown} is shown; name {of} to begin from it")]
    StateOfOther {
        /// The scene of the file.
        of: String,
        /// The scene that is shown.
        shown: String,
    },
    /// The scene is no longer the one that is shown.
    #[error("{0}; the scene has changed: reset first")]
    OtherScene(#[from] StateError),
    /// A step was refused.
    #[error("step {step} at {time:.4} s under {solver}: {error}")]
    Step {
        /// Which step.
        step: u64,
        /// Time simulated before it \[s\].
        time: f64,
        /// The solver with its keys.
        solver: String,
        /// What was wrong.
        #[source]
        error: Box<StepError>,
    },
    /// Some of the steps asked for.
    #[error("{done} of {count} steps took too long; the rest is left out")]
    TooLong {
        /// Steps done.
        done: u32,
        /// Steps asked for.
        count: u32,
    },
    /// A recording cannot be read any more.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// Something that cannot be done now.
    #[error("{0}")]
    NotNow(&'static str),
}
