//! `delassus compare`: every fitting solver on the same work, to the same tolerance, ranked by time.

mod measure;
mod page;
mod profile;
mod report;
mod scene;
mod works;

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use delassus::solver::Record;
use delassus::{Fit, Stop};

use crate::args::{Common, CompareArgs};
use crate::console::{Outcome, Printed, complain, note};
use crate::folder::{self, Folder};
use crate::input;
use crate::interrupt::{self, Worker};
use crate::plot::{self, Curve, MOST_PANELS, Panel};
use crate::progress::{self, Forecast, SimilarRuns};
use crate::refusal::{Refusal, Usage};
use crate::solve::pool;
use crate::solvers;
use measure::{Run, measure};
use report::{Comparison, Missing, Ranking};
use scene::{Course, SceneRanking};
use works::Subject;

pub(crate) use works::CompareError;

/// Law residual to reach where none is asked for [m/s].
const TOLERANCE: f64 = 1e-6;
/// Most sweeps of a run where none are asked for.
const ITERATIONS: usize = 10_000;
/// Most time of a run where none is asked for.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Runs on problems and on scenes, as the forecast counts them, and how long one may take before any was seen \[s\].
const PROBLEMS: usize = 0;
const SCENES: usize = 1;
const PROBLEM_GUESS: f64 = 0.1;
const SCENE_GUESS: f64 = 2.0;

/// Compares what the command line names.
pub(crate) fn run(args: &CompareArgs) -> Result<Printed, Refusal> {
    let common = &args.common;
    input::check_standard_input(&args.works)?;
    let stop = stop(common)?;
    let specs = solvers::expand(&common.solvers, "all")?;
    let mut out = Folder::prepare(common)?;
    let mut outcome = Outcome::Solved;
    let works = works::find(&args.works, &mut outcome);
    let is_scene = |work: &&Subject| matches!(work, Subject::Scene(_));
    let scenes = works.iter().filter(is_scene).count();
    let kinds = [
        SimilarRuns::new((works.len() - scenes) * specs.len(), PROBLEM_GUESS),
        SimilarRuns::new(scenes * specs.len(), SCENE_GUESS),
    ];
    let mut contest = Contest {
        args,
        stop,
        specs: &specs,
        progress: progress::forecast(kinds, common.quiet),
        worker: Worker::new(pool(common.threads)?, interrupt::watch(common.quiet)),
        missing: Vec::new(),
    };
    let ranked = contest.rank_all(&works, &mut outcome);
    contest.progress.bar.finish_and_clear();
    let labels = specs.iter().map(|spec| solvers::label_of(spec)).collect();
    let missing = std::mem::take(&mut contest.missing);
    if !missing.is_empty() {
        let (left, all) = (missing.len(), works.len() * specs.len());
        complain(&CompareError::Interrupted { left, all });
    }
    let comparison = Comparison::new(stop.tolerance, labels, ranked, missing);
    if comparison.is_empty() && outcome != Outcome::BadInput {
        outcome.blame(Err(CompareError::Nothing));
    }
    if !comparison.is_reached() {
        outcome = outcome.max(Outcome::NotSolved);
    }
    let json = comparison.json();
    if let Some(path) = &args.svg {
        outcome.blame(draw(path, &comparison, common.quiet));
    }
    if let Some(path) = &args.html {
        outcome.blame(folder::write_whole(path, &page::html(&json)));
    }
    if let Some(out) = &mut out {
        outcome.blame(out.write(&["compare"], &json));
    }
    let text = match common.json {
        true => json,
        false => comparison.text(),
    };
    Ok(Printed { text, outcome })
}

fn stop(common: &Common) -> Result<Stop, Usage> {
    let tolerance = common.tolerance.unwrap_or(TOLERANCE);
    if tolerance == 0.0 {
        return Err(Usage::NeverReached);
    }
    let stop = Stop {
        tolerance,
        time: Some(common.time_limit.unwrap_or(TIME_LIMIT)),
        record: Record::Sweeps,
        ..Stop::default()
    };
    Ok(solvers::limited(stop, common.iterations, ITERATIONS))
}

/// What is the same for all works, and what was not done.
struct Contest<'a> {
    args: &'a CompareArgs,
    stop: Stop,
    specs: &'a [String],
    progress: Forecast,
    worker: Worker,
    missing: Vec<Missing>,
}

impl Contest<'_> {
    /// Ranks the works one after the other; what is refused is told at once and the rest goes on.
    fn rank_all(
        &mut self,
        works: &[Subject],
        outcome: &mut Outcome,
    ) -> (Vec<Ranking>, Vec<SceneRanking>) {
        let (mut problems, mut scenes) = (Vec::new(), Vec::new());
        for work in works {
            if self.worker.is_interrupted() {
                self.miss(&work.name(), 0);
                continue;
            }
            let ranked = match work {
                Subject::Scene(path) => self.rank_scene(path).map(|ranked| scenes.extend(ranked)),
                _ => self.rank(work).map(|ranked| problems.extend(ranked)),
            };
            if let Err(refusal) = ranked {
                let bar = &self.progress.bar;
                bar.suspend(|| outcome.blame(Err(refusal)));
            }
        }
        (problems, scenes)
    }

    /// Notes the solvers from `first` on as not done.
    fn miss(&mut self, work: &str, first: usize) {
        let missing = self.specs[first..].iter().map(|spec| Missing {
            work: work.to_owned(),
            solver: solvers::label_of(spec),
        });
        self.missing.extend(missing);
    }

    /// Gives every solver its turn on one work: what they did, and who has no rule for a law of it. A run that somebody
    /// stops is missing, because half a run says nothing beside whole ones.
    fn try_all<R: Send + 'static, J>(
        &mut self,
        (work, kind): (&str, usize),
        job: impl Fn(String) -> J,
    ) -> Result<(Vec<R>, Vec<String>), Refusal>
    where
        J: FnOnce() -> Result<Option<R>, Refusal> + Send + 'static,
    {
        let (mut runs, mut misfits) = (Vec::new(), Vec::new());
        for (i, spec) in self.specs.iter().enumerate() {
            let begin = Instant::now();
            self.progress.bar.set_message(format!("{work}  {spec}"));
            let Some(run) = self.worker.run(job(spec.clone())) else {
                self.miss(work, i);
                break;
            };
            match run? {
                Some(run) => runs.push(run),
                None => misfits.push(spec.clone()),
            }
            self.progress.done(kind, begin.elapsed());
        }
        Ok((runs, misfits))
    }

    /// Steps one scene under every solver.
    fn rank_scene(&mut self, path: &Path) -> Result<Option<SceneRanking>, Refusal> {
        let course = Arc::new(Course::of(path, self.args)?);
        let (runs, misfits) = self.try_all((&input::name(path), SCENES), |spec| {
            let course = Arc::clone(&course);
            move || course.step_through(&spec)
        })?;
        Ok(course.ranking(runs, misfits))
    }

    /// Reads one work and runs every solver on it, one after the other. A file of a folder that is no problem
    /// is skipped with a note; a named one is an error.
    fn rank(&mut self, work: &Subject) -> Result<Option<Ranking>, Refusal> {
        let name = work.name();
        let common = &self.args.common;
        let start = match works::load(work, (common.format, common.seed, common.cold)) {
            Ok(start) => Arc::new(start),
            Err(refusal) => {
                self.progress.skip(PROBLEMS, self.specs.len());
                return match work {
                    Subject::Problem { named: false, .. } => {
                        let bar = &self.progress.bar;
                        bar.suspend(|| note(&format!("skipped {refusal}")));
                        Ok(None)
                    }
                    _ => Err(refusal),
                };
            }
        };
        let limits = (self.stop, common.seed);
        let traced = common.json || common.out.is_some() || self.args.html.is_some();
        let traced = traced || self.args.svg.is_some();
        let (mut runs, misfits) = self.try_all((&name, PROBLEMS), |spec| {
            let start = Arc::clone(&start);
            move || Ok(measure(&spec, limits, &start, traced)?)
        })?;
        runs.sort_by(by_merit);
        let tried = !runs.is_empty() || !misfits.is_empty();
        Ok(tried.then(|| Ranking {
            work: name,
            kind: start.kind,
            n_blocks: start.problem.blocks().len(),
            n_rows: start.problem.n_rows(),
            warm: start.guess.is_some(),
            runs,
            misfits,
        }))
    }
}

/// Those that reached the tolerance first, by time; then the others, by what they did reach.
fn by_merit(a: &Run, b: &Run) -> Ordering {
    let reached = b.reached.cmp(&a.reached);
    reached.then_with(|| {
        if a.reached {
            a.elapsed.cmp(&b.elapsed)
        } else {
            a.residual.law.total_cmp(&b.residual.law)
        }
    })
}

/// Writes the picture, if there is something to see.
fn draw(path: &Path, comparison: &Comparison, quiet: bool) -> Result<(), Refusal> {
    let drawable: Vec<&Ranking> = comparison.drawable().collect();
    if drawable.is_empty() {
        note("there is no run to draw, so no picture is written");
        return Ok(());
    }
    let shown = drawable.len().min(MOST_PANELS);
    if shown < drawable.len() && !quiet {
        let all = drawable.len();
        note(&format!("the picture shows {shown} of {all} works"));
    }
    let solvers = comparison.solvers();
    let panels: Vec<Panel> = drawable[..shown]
        .iter()
        .map(|work| panel(work, solvers, comparison.tolerance()))
        .collect();
    Ok(folder::write_whole(path, &plot::svg(solvers, &panels)?)?)
}

/// Residual against time on one work. A solver that does not iterate is one point.
fn panel(work: &Ranking, solvers: &[String], tolerance: f64) -> Panel {
    let curve = |run: &Run| Curve {
        solver: solvers
            .iter()
            .position(|label| *label == run.label)
            .expect("every run is one of a solver of the comparison"),
        approximate: run.fit == Fit::Approximate,
        points: match run.history.is_empty() {
            true => vec![(run.elapsed.as_secs_f64(), run.residual.law)],
            false => run.history.iter().map(|point| (point.1, point.2)).collect(),
        },
    };
    Panel {
        title: work.work.clone(),
        tolerance,
        curves: work.runs.iter().map(curve).collect(),
    }
}
