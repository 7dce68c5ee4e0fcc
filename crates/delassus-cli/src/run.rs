//! `delassus run`: a scene stepped through time, watched, recorded, and resumable.

mod capture;
mod checkpoint;
mod ending;
mod frames;
mod outline;
mod plan;
mod plot;
mod summary;
mod tally;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use delassus::solver::{Cancel, Observed, Seen};
use delassus::world::StepError;
use delassus::{Solver, Stop, World};
pub(crate) use delassus_record::ExportError;
use delassus_record::{Export, Recorder, Written, check_exports};
use indicatif::ProgressBar;

use crate::args::RunArgs;
use crate::console::{Outcome, Printed, complain, note};
use crate::folder;
use crate::interrupt;
use crate::progress;
use crate::refusal::Refusal;
use crate::solve::pool;
use crate::solvers;
use capture::Capture;
use checkpoint::Checkpoint;
use ending::{Ending, Interrupted, Kept, RefusedStep};
use frames::Sheet;
use plan::Plan;
use summary::Summary;

pub(crate) use capture::When;
pub(crate) use plan::steps_of;
pub(crate) use tally::{Tally, WorstBlock};

pub(crate) use checkpoint::CheckpointError;
pub(crate) use ending::NamedStepError;

/// The scene of a run, in the folder of its recordings.
pub(crate) const SCENE: &str = "scene.json";

/// How often the progress bar says something new.
const REFRESH: Duration = Duration::from_millis(100);

/// Runs what the command line names, on as many threads.
pub(crate) fn run(args: &RunArgs) -> Result<Printed, Refusal> {
    let (plan, mut world) = Plan::make(args)?;
    let interrupted = interrupt::watch(args.quiet);
    let stop = Stop {
        cancel: Some(Cancel::new(interrupted)),
        ..plan.stop()
    };
    let mut solver = solvers::make(&plan.options.solver, stop, plan.options.seed)?;
    solvers::check_laws(&plan.options.solver, solver.as_ref(), &world.laws())?;
    check_exports(&args.export, args.force)?;
    let mut claimed = None;
    if let Some(out) = &args.out {
        folder::make("--out", out, args.force)?;
        claimed = folder::claim(out)?;
        // What was run, complete, so that the recording can be shown without any other file.
        folder::write_whole(&out.join(SCENE), &plan.source.json())?;
    }
    let pool = pool(args.threads)?;
    let mut run = Run::start(args, &plan, &world, interrupted)?;
    let begin = Instant::now();
    let ending = pool.install(|| run.steps(&mut world, solver.as_mut()))?;
    let elapsed = begin.elapsed();
    run.bar.finish_and_clear();
    let summary = Summary::new(&run, &world, solver.as_ref(), (&ending, elapsed));
    let recorded = run.finish(&world, &summary);
    let exported = run.close_exports(&world);
    if 0 < run.capture.left_out {
        let (limit, more) = (args.capture_limit, run.capture.left_out);
        note(&format!(
            "{more} more problems met the condition of --capture, which keeps {limit}; raise --capture-limit to have them"
        ));
    }
    let mut outcome = match &ending {
        Ending::Completed if run.tally.unsolved == 0 => Outcome::Solved,
        Ending::Completed => Outcome::NotSolved,
        Ending::Interrupted(why) => {
            complain(why);
            Outcome::NotSolved
        }
        Ending::Gained(why) => {
            complain(why);
            Outcome::NotSolved
        }
        Ending::Refused(why) => {
            complain(why.as_ref());
            Outcome::NotSolved
        }
    };
    // The run is worth having whatever became of the files for others.
    exported.into_iter().for_each(|done| outcome.blame(done));
    recorded?;
    // The folder is free for others once everything is in it.
    drop(claimed);
    let text = if args.json {
        summary.json()
    } else {
        summary.text()
    };
    Ok(Printed { text, outcome })
}

/// A run under way.
struct Run<'a> {
    args: &'a RunArgs,
    plan: &'a Plan,
    bar: ProgressBar,
    interrupted: &'static AtomicBool,
    tally: Tally,
    capture: Capture<'a>,
    recorder: Option<Recorder>,
    exports: Vec<Export>,
    sheet: Sheet,
    /// Steps done since time zero.
    step: u64,
}

impl<'a> Run<'a> {
    fn start(
        args: &'a RunArgs,
        plan: &'a Plan,
        world: &World,
        interrupted: &'static AtomicBool,
    ) -> Result<Run<'a>, Refusal> {
        let recorder = match &args.out {
            Some(out) => Some(Recorder::create(out, world, plan.options.dt)?),
            None => None,
        };
        let exports = args.export.iter();
        let exports = exports.map(|path| Export::create(path, world));
        let exports: Vec<Export> = exports.collect::<Result<_, _>>()?;
        let mut run = Run {
            args,
            plan,
            bar: progress::steps(plan.first, plan.steps, args.quiet),
            interrupted,
            tally: Tally::new(world),
            capture: Capture::prepare(args, plan)?,
            recorder,
            exports,
            sheet: Sheet::new(plan.first, plan.steps),
            step: plan.first,
        };
        run.keep_frame(world)?;
        Ok(run)
    }

    /// Steps to the end, or until somebody or something objects.
    fn steps(&mut self, world: &mut World, solver: &mut dyn Solver) -> Result<Ending, Refusal> {
        let begin = Instant::now();
        let mut shown = begin;
        while self.step < self.plan.steps {
            if self.interrupted.load(Ordering::Relaxed) {
                return self.interrupt(world);
            }
            let capture = &mut self.capture;
            capture.begin(self.step + 1, world.time());
            let all = capture.folder().is_some();
            let see = |seen: Seen<'_>| capture.see(seen);
            let mut watched = match all {
                true => Observed::new(solver, see),
                false => Observed::lightly(solver, see),
            };
            let step = match world.step(self.plan.options.dt, &mut watched) {
                Ok(step) => step,
                // The state is that before the step, so that whoever resumes takes it as if nothing had been.
                Err(StepError::Interrupted) => return self.interrupt(world),
                Err(error) => return self.refuse(world, error),
            };
            self.capture.check()?;
            self.step += 1;
            self.tally.add(self.step, world, &step);
            if let Some(recorder) = &mut self.recorder {
                recorder.step(self.step, world.time(), &step)?;
                recorder.acted(world)?;
            }
            self.keep_frame(world)?;
            if self.plan.checkpoint_is_due(self.step) {
                // Whoever resumes after a crash finds the recordings up to the checkpoint.
                self.recorder.as_mut().map_or(Ok(()), Recorder::flush)?;
                self.checkpoint(world)?;
            }
            if let (Some(gained), false) = (self.tally.gained, self.args.keep_going) {
                return Ok(Ending::Gained(gained));
            }
            if REFRESH <= shown.elapsed() {
                shown = Instant::now();
                self.report(world.time(), begin.elapsed().as_secs_f64());
            }
        }
        Ok(match self.tally.gained {
            Some(gained) => Ending::Gained(gained),
            None => Ending::Completed,
        })
    }

    fn report(&self, time: f64, elapsed: f64) {
        let speed = (self.step - self.plan.first) as f64 / elapsed;
        let dt = self.plan.options.dt;
        let end = dt * self.plan.steps as f64;
        let factor = speed * dt;
        self.bar.set_message(format!(
            "{time:.2} of {end:.2} s  {speed:.0} steps/s  {factor:.2} × real time"
        ));
        self.bar.set_position(self.step);
    }

    /// Puts the state into the trajectory and the contact sheet where its turn has come.
    fn keep_frame(&mut self, world: &World) -> Result<(), Refusal> {
        let end = self.step == self.plan.first || self.step == self.plan.steps;
        if end || self.step.is_multiple_of(self.plan.every) {
            if let Some(recorder) = &mut self.recorder {
                recorder.frame(world)?;
            }
            for export in &mut self.exports {
                export.frame(world)?;
            }
        }
        if self.recorder.is_some() {
            self.sheet.offer(self.step, world);
        }
        Ok(())
    }

    fn checkpoint(&self, world: &World) -> Result<Option<PathBuf>, Refusal> {
        let Some(out) = &self.args.out else {
            return Ok(None);
        };
        let path = out.join(format!("checkpoint-{}.json", self.step));
        Checkpoint::new(self.plan, self.step, world).write(&path)?;
        Ok(Some(path))
    }

    fn interrupt(&self, world: &World) -> Result<Ending, Refusal> {
        Ok(Ending::Interrupted(Interrupted {
            step: self.step,
            steps: self.plan.steps,
            checkpoint: self.checkpoint(world)?,
        }))
    }

    /// Keeps the problem that led out of the finite numbers, so that it can be looked at and solved elsewhere; where
    /// there was no problem yet, the last good state.
    fn refuse(&self, world: &World, error: StepError) -> Result<Ending, Refusal> {
        let kept = match &error {
            StepError::NotFinite { problem, .. } => Kept::Problem {
                path: self.capture.refused(problem, self.args.out.as_deref())?,
                worst: self.capture.worst(problem),
            },
            _ => self
                .last_good_state(world)?
                .map_or(Kept::Nothing, Kept::State),
        };
        Ok(Ending::Refused(Box::new(RefusedStep {
            number: self.step + 1,
            time: world.time(),
            cause: NamedStepError::new(world, error),
            kept,
        })))
    }

    /// Writes the state before a refused step, where there is a folder for it.
    fn last_good_state(&self, world: &World) -> Result<Option<PathBuf>, Refusal> {
        let Some(path) = self.capture.refused_state() else {
            return self.checkpoint(world);
        };
        Checkpoint::new(self.plan, self.step, world).write(&path)?;
        Ok(Some(path))
    }

    /// Closes the recordings and writes what can only be written at the end.
    fn finish(&mut self, world: &World, summary: &Summary) -> Result<(), Refusal> {
        let Some(out) = &self.args.out else {
            return Ok(());
        };
        if let Some(mut recorder) = self.recorder.take() {
            // A run that ended early has its last state in the trajectory all the same.
            recorder.frame(world)?;
            recorder.close()?;
        }
        self.sheet.close(world);
        folder::write_whole(&out.join("summary.json"), &summary.json())?;
        let title = &self.plan.title;
        let plot = plot::svg(title, self.plan.options.tolerance, self.tally.series())?;
        folder::write_whole(&out.join("plot.svg"), &plot)?;
        let sheet = self.sheet.svg(title, world);
        folder::write_whole(&out.join("frames.svg"), &sheet)?;
        let out = out.display();
        self.tell(&format!(
            "{out} holds the run: summary.json, tables (.csv), trajectory.bin, plot.svg and frames.svg; `delassus view \
             {out}` shows it"
        ));
        Ok(())
    }

    /// Ends every export, whatever becomes of the others.
    fn close_exports(&mut self, world: &World) -> Vec<Result<(), ExportError>> {
        let exports = std::mem::take(&mut self.exports).into_iter();
        exports
            .map(|export| self.close_export(export, world))
            .collect()
    }

    fn close_export(&self, export: Export, world: &World) -> Result<(), ExportError> {
        let Written { path, left_out } = export.close(world)?;
        let path = path.display();
        self.tell(&format!("{path} is written"));
        if 0 < left_out {
            note(&format!(
                "{path}: {left_out} frames are left out: the file's times have too few digits to tell them apart; raise \
                 --every"
            ));
        }
        Ok(())
    }

    /// Says something that is no error, unless nobody wants to hear it.
    fn tell(&self, text: &str) {
        if !self.args.quiet {
            note(text);
        }
    }
}

#[cfg(test)]
mod tests;
