//! Checkpoints: the scene, the options and the state in one file, written whole or not at all.

use std::path::{Path, PathBuf};

use delassus::World;
use delassus::world::{State, StateError};
use serde::{Deserialize, Serialize};

use super::plan::{Options, Plan};
use crate::folder;
use crate::input;
use crate::refusal::Refusal;
use crate::scene::Source;

const SCHEMA: &str = "delassus-checkpoint-3";

/// A checkpoint that cannot be written or resumed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub(crate) struct CheckpointError {
    path: PathBuf,
    cause: CheckpointCause,
}

/// Why a checkpoint cannot be written or resumed.
#[derive(Debug, thiserror::Error)]
enum CheckpointCause {
    #[error(transparent)]
    NoText(serde_json::Error),
    #[error(
        "is not a whole checkpoint: line {line}, column {column} is not what this version writes; resume from another one"
    )]
    NotWhole { line: usize, column: usize },
    #[error(
        "its schema is \"{schema}\"; this version reads \"{SCHEMA}\": resume with the version that wrote it, or run the scene anew"
    )]
    OtherSchema { schema: String },
    #[error("was changed since it was written: its checksum is another; resume from another one")]
    Changed,
    #[error("its step, tolerance or substeps are not possible; resume from another one")]
    BadOptions,
    #[error(transparent)]
    State(StateError),
    #[error("its state does not have the hash it had when it was written; resume from another one")]
    OtherHash,
}

impl CheckpointCause {
    /// Makes the error of a file.
    fn of(path: &Path) -> impl Fn(CheckpointCause) -> CheckpointError {
        move |cause| CheckpointError {
            path: path.to_owned(),
            cause,
        }
    }
}

/// Everything needed to go on as if the run had never stopped.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Checkpoint {
    schema: String,
    scene: Source,
    options: Options,
    /// Steps done.
    step: u64,
    /// Steps to be done in all.
    steps: u64,
    /// Hash of the poses and velocities in `state`.
    state_hash: String,
    state: State,
    /// Of everything above; another one means that something was changed since.
    checksum: String,
}

/// What every version of the file has.
#[derive(Deserialize)]
struct Header {
    schema: String,
}

impl Checkpoint {
    pub(super) fn new(plan: &Plan, step: u64, world: &World) -> Checkpoint {
        let mut checkpoint = Checkpoint {
            schema: SCHEMA.to_owned(),
            scene: plan.source.clone(),
            options: plan.options.clone(),
            step,
            steps: plan.steps,
            state_hash: hash(world),
            state: world.state(),
            checksum: String::new(),
        };
        checkpoint.checksum = checkpoint.sum();
        checkpoint
    }

    /// FNV-1a of the text without the checksum; numbers come back from text bit for bit, so the layout of the file does not matter.
    fn sum(&mut self) -> String {
        let kept = std::mem::take(&mut self.checksum);
        let text = serde_json::to_string(self).expect("plain data has a JSON form");
        self.checksum = kept;
        let sum = text.bytes().fold(0xCBF2_9CE4_8422_2325, |sum: u64, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        format!("{sum:016x}")
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), Refusal> {
        let text = serde_json::to_string(self).map_err(CheckpointCause::NoText);
        let text = text.map_err(CheckpointCause::of(path))?;
        Ok(folder::write_whole(path, &(text + "\n"))?)
    }

    pub(super) fn read(path: &Path) -> Result<Checkpoint, Refusal> {
        let text = input::read_text(path)?;
        let refuse = CheckpointCause::of(path);
        // Nobody writes these by hand: the place is of use, names of the program's own types are not.
        let cut = |error: serde_json::Error| {
            refuse(CheckpointCause::NotWhole {
                line: error.line(),
                column: error.column(),
            })
        };
        let Header { schema } = serde_json::from_str(&text).map_err(cut)?;
        if schema != SCHEMA {
            return Err(refuse(CheckpointCause::OtherSchema { schema }).into());
        }
        let mut checkpoint: Checkpoint = serde_json::from_str(&text).map_err(cut)?;
        if checkpoint.sum() != checkpoint.checksum {
            return Err(refuse(CheckpointCause::Changed).into());
        }
        Ok(checkpoint)
    }

    /// The plan and the world as they were.
    pub(super) fn resume(self, path: &Path) -> Result<(Plan, World), Refusal> {
        let refuse = CheckpointCause::of(path);
        let legal = self.options.dt.is_finite()
            && 0.0 < self.options.dt
            && 0.0 <= self.options.tolerance
            && 0 < self.options.substeps;
        if !legal {
            return Err(refuse(CheckpointCause::BadOptions).into());
        }
        let scene = self.scene.build()?;
        let mut world = scene.world;
        world.settings.substeps = self.options.substeps;
        world.settings.integrator = self.options.integrator;
        world
            .restore(&self.state)
            .map_err(|error| refuse(CheckpointCause::State(error)))?;
        if hash(&world) != self.state_hash {
            return Err(refuse(CheckpointCause::OtherHash).into());
        }
        let plan = Plan {
            source: self.scene,
            title: scene.title,
            options: self.options,
            first: self.step,
            steps: self.steps,
            every: 1,
            checkpoint_every: None,
            lost: scene.lost,
        };
        Ok((plan, world))
    }
}

/// The state's hash as people and files read it.
pub(super) fn hash(world: &World) -> String {
    format!("{:016x}", world.state_hash())
}
