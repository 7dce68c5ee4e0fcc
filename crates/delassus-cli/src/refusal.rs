//! Why something asked for is not done: place, value and remedy in one line.
//!
//! Each subject has an error type of its own beside the code that meets it. [`Refusal`] brings them to the terminal,
//! which is the first to turn them into text.

use std::io;

use delassus::model::robot::ImportError;
use delassus::tree::TreeError;
use plotters::drawing::DrawingAreaErrorKind;
use rayon::ThreadPoolBuildError;

use crate::bench::BenchError;
use crate::compare::CompareError;
use crate::folder::DiskError;
use crate::input::InputError;
use crate::run::{CheckpointError, ExportError};
use crate::solve::MatricesError;
use crate::solvers::{MisfitError, SolverError};
use crate::sweep::SweepError;
use crate::view::ShowError;

/// What a picture can fail with.
pub(crate) type PictureError = DrawingAreaErrorKind<io::Error>;

/// Why a command, or a part of its work, is not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The command line contradicts itself.
    #[error(transparent)]
    Usage(#[from] Usage),
    /// A file or folder cannot be read or written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A word that means no problem and no scene.
    #[error(transparent)]
    Input(#[from] InputError),
    /// There is no such solver.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// A solver has no rule for a law.
    #[error(transparent)]
    Misfit(#[from] MisfitError),
    /// There is nothing to compare.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// A checkpoint cannot be written or resumed.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A file for another program cannot be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A measurement failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A scene or recording cannot be shown.
    #[error(transparent)]
    Show(#[from] ShowError),
    /// A sweep needs Python and the package.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A robot file is refused.
    #[error(transparent)]
    Robot(#[from] ImportError),
    /// A robot does not move.
    #[error("{name}: {cause}")]
    Dynamics { name: String, cause: TreeError },
    /// The parts of a tree's system cannot be given.
    #[error("{name}: {cause}")]
    Matrices { name: String, cause: MatricesError },
    /// A picture cannot be drawn.
    #[error("the picture cannot be drawn: {0}")]
    Picture(#[from] PictureError),
    /// Standard output takes nothing.
    #[error("cannot write the answer to standard output: {0}")]
    Output(io::Error),
}

/// Options that mean nothing together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Usage {
    #[error("--tolerance 0 means an exact number of sweeps, but not how many; add --iterations")]
    SweepsNotSaid,
    #[error("--tolerance 0 is never reached, so there is no time to compare; give a positive one")]
    NeverReached,
    #[error("--history goes into the JSON answer; add --json or --out")]
    HistoryWithoutJson,
    #[error("--matrices go into the JSON answer; add --json or --out")]
    MatricesWithoutJson,
    #[error("--save-problem writes one problem; give exactly one FILE")]
    SaveNeedsOneFile,
    #[error("`-` is given twice, but standard input can be read only once")]
    StandardInputTwice,
    #[error("name a scene, or --resume a file")]
    NoScene,
    #[error("{time} s in steps of {dt} s are too many steps; take a longer step or a shorter time")]
    TooManySteps { time: f64, dt: f64 },
    #[error(
        "the checkpoint is at step {first}, beyond the end at step {steps}; --steps and --time count from time zero"
    )]
    BeyondTheEnd { first: u64, steps: u64 },
    #[error("--threads {threads}: cannot be started: {cause}; ask for fewer")]
    Threads {
        threads: u16,
        cause: ThreadPoolBuildError,
    },
}
