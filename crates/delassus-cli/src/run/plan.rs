//! What a run will do: the scene's defaults, overruled by the command line or settled by a checkpoint.

use delassus::world::Integrator;
use delassus::{Stop, World};
use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use crate::args::{BaseChoice, RunArgs};
use crate::console::note;
use crate::refusal::{Refusal, Usage};
use crate::scene::Source;
use crate::solvers;

/// Most steps of a run: beyond it step counts are no longer exact in double precision.
const MOST_STEPS: f64 = 9e15;
/// Frames kept of each simulated second unless asked otherwise.
const FRAME_RATE: f64 = 60.0;

/// What decides the bits of a run, besides the scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// Step \[s\].
    pub(super) dt: f64,
    pub(super) solver: String,
    /// Largest acceptable law residual [m/s].
    pub(super) tolerance: f64,
    /// Most sweeps of a substep.
    pub(super) iterations: usize,
    /// Most pivots of a substep.
    #[serde(default = "most_pivots")]
    pub(super) pivots: usize,
    pub(super) substeps: u32,
    #[serde(default)]
    pub(super) integrator: Integrator,
    pub(super) seed: u64,
}

/// The limit of checkpoints that do not name one.
fn most_pivots() -> usize {
    Stop::default().pivots
}

/// Everything known before the first step.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) source: Source,
    pub(super) title: String,
    pub(super) options: Options,
    /// Steps already done.
    pub(super) first: u64,
    /// Steps from time zero to the end.
    pub(super) steps: u64,
    /// Every so many steps a frame is recorded.
    pub(super) every: u64,
    /// Every so many steps a checkpoint is written.
    pub(super) checkpoint_every: Option<u64>,
    /// What acts in robot files and is left out.
    pub(super) lost: Vec<String>,
}

impl Plan {
    /// The plan and the world it starts from.
    pub(super) fn make(args: &RunArgs) -> Result<(Plan, World), Refusal> {
        let (mut plan, world) = match (&args.resume, &args.scene) {
            (Some(file), _) => Checkpoint::read(file)?.resume(file)?,
            (None, Some(scene)) => {
                let source = Source {
                    floating: args.base == BaseChoice::Floating,
                    lossy: args.lossy,
                    ..Source::find(scene)?
                };
                Plan::fresh(source, args)?
            }
            (None, None) => return Err(Usage::NoScene.into()),
        };
        let dt = plan.options.dt;
        if let Some(steps) = args.steps {
            plan.steps = steps;
        }
        if let Some(time) = args.time {
            plan.steps = steps_of(time, dt)?;
        }
        if plan.steps < plan.first {
            let (first, steps) = (plan.first, plan.steps);
            return Err(Usage::BeyondTheEnd { first, steps }.into());
        }
        plan.every = args.every.unwrap_or_else(|| period(1.0 / FRAME_RATE, dt));
        plan.checkpoint_every = args.checkpoint_every.map(|time| period(time, dt));
        Ok((plan, world))
    }

    fn fresh(source: Source, args: &RunArgs) -> Result<(Plan, World), Refusal> {
        let scene = source.build()?;
        if !args.quiet {
            for warning in &scene.warnings {
                note(warning);
            }
        }
        let defaults = scene.run;
        let mut world = scene.world;
        if let Some(substeps) = args.substeps {
            world.settings.substeps = substeps;
        }
        if let Some(integrator) = args.integrator {
            world.settings.integrator = integrator;
        }
        let tolerance = args.tolerance.unwrap_or(defaults.tolerance);
        // A scene with a tolerance of zero says itself how many sweeps it means.
        if args.tolerance == Some(0.0) && args.iterations.is_none() {
            return Err(Usage::SweepsNotSaid.into());
        }
        let sweeps = defaults.sweeps_to(tolerance);
        let limits = solvers::limited(Stop::default(), args.iterations, sweeps);
        let solver = args.solver.clone().unwrap_or(defaults.solver);
        let options = Options {
            dt: args.dt.unwrap_or(defaults.dt),
            solver,
            tolerance,
            iterations: limits.sweeps,
            pivots: limits.pivots,
            substeps: world.settings.substeps.max(1),
            integrator: world.settings.integrator,
            seed: args.seed.unwrap_or(0),
        };
        let plan = Plan {
            // The scene's own time matters only where nothing else says how long.
            steps: match (args.steps, args.time) {
                (None, None) => steps_of(defaults.time, options.dt)?,
                _ => 0,
            },
            source,
            title: scene.title,
            options,
            first: 0,
            every: 1,
            checkpoint_every: None,
            lost: scene.lost,
        };
        Ok((plan, world))
    }

    pub(super) fn stop(&self) -> Stop {
        Stop {
            tolerance: self.options.tolerance,
            sweeps: self.options.iterations,
            pivots: self.options.pivots,
            ..Stop::default()
        }
    }

    pub(super) fn checkpoint_is_due(&self, step: u64) -> bool {
        self.checkpoint_every
            .is_some_and(|every| step.is_multiple_of(every))
    }
}

/// Steps that cover a time; a hair of rounding does not cost another one.
pub(crate) fn steps_of(time: f64, dt: f64) -> Result<u64, Usage> {
    let steps = (time / dt - 1e-9).ceil().max(0.0);
    if !(steps < MOST_STEPS) {
        return Err(Usage::TooManySteps { time, dt });
    }
    Ok(steps as u64)
}

/// Whole steps nearest to a time, at least one.
fn period(time: f64, dt: f64) -> u64 {
    ((time / dt).round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_takes_the_steps_that_cover_it() {
        assert_eq!(steps_of(5.0, 0.01).unwrap(), 500);
        assert_eq!(steps_of(0.3, 0.1).unwrap(), 3);
        assert_eq!(steps_of(0.31, 0.1).unwrap(), 4);
        assert!(steps_of(1.0, 1e-300).is_err());
        assert_eq!((period(1.0 / 60.0, 0.01), period(0.5, 0.01)), (2, 50));
    }
}
