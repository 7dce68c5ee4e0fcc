//! `delassus compare SCENE`: the same scene from the same start under every fitting solver.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use delassus::world::Step;
use delassus::{Fit, Stop};
use serde::Serialize;

use super::measure::fit_name;
use super::report::ranked;
use crate::args::CompareArgs;
use crate::refusal::Refusal;
use crate::run::{NamedStepError, Tally, WorstBlock, steps_of};
use crate::scene::{Source, joints};
use crate::solvers::{self, Options};
use crate::table;

/// All solvers on one scene, the fastest whose every step kept the tolerance first.
#[derive(Debug, Serialize)]
pub(super) struct SceneRanking {
    pub(super) scene: String,
    title: String,
    pub(super) bodies: usize,
    joints: usize,
    steps: u64,
    dt: f64,
    tolerance: f64,
    pub(super) runs: Vec<SceneRun>,
    /// Variants that cannot treat one of the scene's laws.
    misfits: Vec<String>,
}

/// Tolerance where the scene asks for a number of sweeps instead [m/s].
const TOLERANCE: f64 = 1e-3;
/// Most time of a solver nobody asked for by name: the slowest must not keep the others waiting.
const PATIENCE: Duration = Duration::from_secs(4);

/// One solver on one scene.
#[derive(Debug, Serialize)]
pub(super) struct SceneRun {
    /// The solver with the keys that differ from its defaults.
    pub(super) label: String,
    solver: &'static str,
    options: Options,
    /// Steps by the solver that `auto` chose.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    chosen: BTreeMap<&'static str, u64>,
    #[serde(serialize_with = "fit_name")]
    pub(super) fit: Fit,
    /// Whether every step kept the tolerance and none was refused.
    pub(super) reached: bool,
    /// Steps done; fewer than asked for where one was refused or time ran out.
    steps: u64,
    unsolved_steps: u64,
    /// Worst law residual [m/s].
    law: f64,
    /// Where and when it was met; none where all residuals are zero.
    worst_block: Option<WorstBlock>,
    /// Worst penetration \[m\].
    penetration: f64,
    /// Worst joint violation [m or rad].
    violation: f64,
    /// Energy at the end less that at the start \[J\].
    energy_change: f64,
    pub(super) ms_per_step: f64,
    iterations_per_step: f64,
    state_hash: String,
    /// Why there are fewer steps than asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// (simulated time \[s\], worst law residual since the last point [m/s], mean time of its steps \[ms\]).
    history: Vec<(f64, f64, f64)>,
}

/// Points kept of a history: when there are twice as many, neighbours are merged.
const MOST_POINTS: usize = 200;

/// A scene and how far it is stepped: the same for every solver.
pub(super) struct Course {
    source: Source,
    title: String,
    bodies: usize,
    joints: usize,
    steps: u64,
    dt: f64,
    stop: Stop,
    seed: u64,
    /// Most time of a solver that nobody asked for.
    patience: Option<Duration>,
}

impl Course {
    /// The scene at this path or of this name.
    pub(super) fn of(path: &Path, args: &CompareArgs) -> Result<Course, Refusal> {
        let common = &args.common;
        let source = Source::find(path)?;
        let scene = source.build()?;
        let patience = common.solvers.is_empty().then_some(PATIENCE);
        let dt = scene.run.dt;
        let stop = Stop {
            tolerance: common.tolerance.unwrap_or(match scene.run.tolerance {
                0.0 => TOLERANCE,
                own => own,
            }),
            time: common.time_limit.or(patience),
            ..Stop::default()
        };
        let sweeps = scene.run.sweeps_to(stop.tolerance);
        Ok(Course {
            bodies: scene.world.bodies().len(),
            joints: joints(&scene.world),
            steps: steps_of(args.time.unwrap_or(scene.run.time), dt)?,
            dt,
            title: scene.title,
            stop: solvers::limited(stop, common.iterations, sweeps),
            seed: common.seed,
            patience,
            source,
        })
    }

    /// What the solvers did, the best first; none where none had its turn.
    pub(super) fn ranking(
        &self,
        mut runs: Vec<SceneRun>,
        misfits: Vec<String>,
    ) -> Option<SceneRanking> {
        let tried = !runs.is_empty() || !misfits.is_empty();
        runs.sort_by(by_merit);
        tried.then(|| SceneRanking {
            scene: self.source.name.clone(),
            title: self.title.clone(),
            bodies: self.bodies,
            joints: self.joints,
            steps: self.steps,
            dt: self.dt,
            tolerance: self.stop.tolerance,
            runs,
            misfits,
        })
    }

    /// Runs the scene under one solver. `None` where the solver cannot treat a law that came up.
    pub(super) fn step_through(&self, spec: &str) -> Result<Option<SceneRun>, Refusal> {
        // Built anew, so that all start from the same bits.
        let mut world = self.source.build()?.world;
        let mut solver = solvers::make(spec, self.stop, self.seed)?;
        let mut tally = Tally::new(&world);
        let (mut fit, mut message) = (Fit::Exact, None);
        let mut history = History::default();
        let begin = Instant::now();
        for number in 1..=self.steps {
            if let Some(patience) = self.patience.filter(|patience| *patience < begin.elapsed()) {
                let (done, steps) = (number - 1, self.steps);
                message = Some(format!(
                    "stopped after {done} of {steps} steps, past {patience:?}"
                ));
                break;
            }
            match world.step(self.dt, solver.as_mut()) {
                Ok(step) if step.report.fit == Fit::No => return Ok(None),
                Ok(step) => {
                    // Contacts may come up late, so the worst fit of all steps is the run's.
                    fit = fit.max(step.report.fit);
                    tally.add(number, &world, &step);
                    history.add(world.time(), &step);
                }
                Err(error) => {
                    let said = NamedStepError::new(&world, error);
                    message = Some(format!("step {number}: {said}"));
                    break;
                }
            }
        }
        Ok(Some(SceneRun {
            label: solvers::label(solver.name(), &solver.options()),
            solver: solver.name(),
            options: Options(solver.options()),
            fit,
            // The scene's own laws decide, whatever law the solver obeys.
            reached: message.is_none() && tally.law.value <= self.stop.tolerance,
            steps: tally.steps,
            unsolved_steps: tally.unsolved,
            law: tally.law.value,
            penetration: tally.penetration.value,
            violation: tally.violation.value,
            energy_change: tally.energy_end - tally.energy_start,
            ms_per_step: 1e3 * tally.mean(tally.seconds()),
            iterations_per_step: tally.mean(tally.iterations as f64),
            state_hash: format!("{:016x}", world.state_hash()),
            message,
            history: history.points(),
            worst_block: tally.worst_block,
            chosen: tally.chosen,
        }))
    }
}

/// Residual and cost through time, in a few hundred points.
#[derive(Default)]
struct History {
    /// Time, worst residual, and the sum of milliseconds, over `stride` steps each but for the last.
    points: Vec<(f64, f64, f64)>,
    stride: usize,
    /// Steps in the last point.
    filled: usize,
}

impl History {
    fn add(&mut self, time: f64, step: &Step) {
        let clock = &step.clock;
        let seconds = clock.collide + clock.assemble + clock.solve + clock.integrate;
        let point = (time, step.report.residual.law, 1e3 * seconds);
        self.stride = self.stride.max(1);
        match self.points.last_mut() {
            Some(last) if self.filled < self.stride => {
                *last = merged(*last, point);
                self.filled += 1;
            }
            _ => {
                if 2 * MOST_POINTS <= self.points.len() {
                    let pairs = self.points.chunks_exact(2);
                    self.points = pairs.map(|pair| merged(pair[0], pair[1])).collect();
                    self.stride *= 2;
                }
                self.points.push(point);
                self.filled = 1;
            }
        }
    }

    /// The points with mean times.
    fn points(self) -> Vec<(f64, f64, f64)> {
        let (last, stride) = (self.points.len(), self.stride.max(1));
        let mean = |(i, (time, law, ms)): (usize, (f64, f64, f64))| {
            let steps = if i + 1 == last { self.filled } else { stride };
            (time, law, ms / steps.max(1) as f64)
        };
        self.points.into_iter().enumerate().map(mean).collect()
    }
}

fn merged(a: (f64, f64, f64), b: (f64, f64, f64)) -> (f64, f64, f64) {
    (b.0, a.1.max(b.1), a.2 + b.2)
}

/// Those that kept the tolerance first, by time; then the others, by what they did keep.
fn by_merit(a: &SceneRun, b: &SceneRun) -> Ordering {
    let reached = b.reached.cmp(&a.reached);
    reached.then_with(|| {
        if a.reached {
            a.ms_per_step.total_cmp(&b.ms_per_step)
        } else {
            let whole = a.message.is_some().cmp(&b.message.is_some());
            whole.then(a.law.total_cmp(&b.law))
        }
    })
}

impl SceneRanking {
    /// The table for people.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{} (scene; bodies: {}, joints: {}), {} steps of {} s, to a law residual of {:e} m/s in every step\n",
            self.scene, self.bodies, self.joints, self.steps, self.dt, self.tolerance
        );
        text.push_str(&self.table());
        if !self.misfits.is_empty() {
            let misfits = self.misfits.join("; ");
            text.push_str(&format!("  no rule for a law of this scene: {misfits}\n"));
        }
        for run in &self.runs {
            if let Some(message) = &run.message {
                text.push_str(&format!("  {}: {message}\n", run.label));
            }
        }
        text.push('\n');
        text
    }

    fn table(&self) -> String {
        let columns = [
            ">not solved",
            ">worst law [m/s]",
            ">penetration [m]",
            ">energy change [J]",
            ">iterations/step",
            ">ms/step",
            "worst block",
        ];
        ranked(&self.runs, &columns, |run| {
            let worst = run.worst_block.as_ref();
            let cells = vec![
                run.unsolved_steps.to_string(),
                table::number(run.law),
                table::number(run.penetration),
                table::number(run.energy_change),
                format!("{:.1}", run.iterations_per_step),
                format!("{:.4}", run.ms_per_step),
                worst.map_or_else(String::new, |worst| {
                    format!("step {}, {}", worst.step, worst.name)
                }),
            ];
            ((run.reached, run.fit), run.label.clone(), cells)
        })
    }
}
