//! Why something that the page asked for was not done.

use std::error::Error;

use delassus::scenes::ExhibitError;
use delassus::solver::SpecError;
use delassus::world::{StateError, StepError, WorldError};

use crate::message::MOST_BODIES;
use crate::recording::RecordingError;

/// Why something that the page asked for was not done; the page shows it in words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// There is no such built-in scene.
    #[error(transparent)]
    Exhibit(#[from] ExhibitError),
    /// A scene too large for a page.
    #[error("{name}: the page takes at most {MOST_BODIES}")]
    TooLarge {
        /// The scene.
        name: String,
    },
    /// The scene of the command line cannot be made.
    #[error(transparent)]
    Scene(Box<dyn Error + Send + Sync>),
    /// There is no such solver.
    #[error(transparent)]
    Solver(#[from] SpecError),
    /// A body cannot be held.
    #[error(transparent)]
    Grab(#[from] WorldError),
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
