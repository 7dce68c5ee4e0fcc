//! `delassus compare`: every fitting solver on the same work, to the same tolerance, ranked by time.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use delassus::problem::file::{Loaded, Work};
use delassus::solver::Record;
use delassus::{Fit, Problem, Stop};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::{Common, CompareArgs};
use crate::console::{Outcome, Printed, Refusal, note};
use crate::folder::Folder;
use crate::input;
use crate::measure::{Run, measure, trace};
use crate::plot::{self, Curve, MOST_PANELS, Panel};
use crate::progress;
use crate::scene::is_scene;
use crate::scene_compare::{self, SceneRanking};
use crate::solvers;
use crate::table::{self, Table};

/// Law residual to reach where none is asked for [m/s].
const TOLERANCE: f64 = 1e-6;
/// Most sweeps of a run where none are asked for.
const ITERATIONS: usize = 10_000;
/// Most time of a run where none is asked for.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The document printed by `--json`.
#[derive(Debug, Serialize)]
struct Comparison {
    schema: &'static str,
    tolerance: f64,
    works: Vec<Ranking>,
    scenes: Vec<SceneRanking>,
}

impl Comparison {
    /// Whether each work and each scene has a solver that brought it to the tolerance.
    fn is_reached(&self) -> bool {
        let work = |work: &Ranking| work.runs.iter().any(|run| run.reached);
        let scene = |scene: &SceneRanking| scene.runs.iter().any(|run| run.reached);
        self.works.iter().all(work) && self.scenes.iter().all(scene)
    }
}

/// All solvers on one work, the fastest that reached the tolerance first.
#[derive(Debug, Serialize)]
struct Ranking {
    work: String,
    kind: &'static str,
    n_blocks: usize,
    n_rows: usize,
    runs: Vec<Run>,
    /// Variants that cannot treat one of the work's laws.
    #[serde(skip)]
    misfits: Vec<String>,
}

/// A work to be read, and whether it was named or found in a folder.
struct Source {
    path: PathBuf,
    named: bool,
}

/// Compares what the command line names.
pub(crate) fn run(args: &CompareArgs) -> Result<Printed, Refusal> {
    let common = &args.common;
    input::check_standard_input(&args.works)?;
    let stop = stop(common)?;
    let specs = solvers::expand(&common.solvers, "all")?;
    let mut out = Folder::prepare(common)?;
    let mut outcome = Outcome::Solved;
    let (scenes, problems): (Vec<&PathBuf>, Vec<&PathBuf>) =
        args.works.iter().partition(|work| is_scene(work));
    let sources = sources(&problems, &mut outcome);
    let count = sources.len() + scenes.len();
    let bar = progress::bar(count * specs.len(), common.quiet);
    let mut contest = Contest {
        args,
        stop,
        specs: &specs,
        bar: &bar,
        panels: Vec::new(),
    };
    let works = contest.rank_all(&sources, &mut outcome);
    let scenes = contest.rank_scenes(&scenes, &mut outcome);
    bar.finish_and_clear();
    if works.is_empty() && scenes.is_empty() && outcome != Outcome::BadInput {
        let text = "there is no problem to compare in what was named";
        outcome.blame(Err(Refusal(text.to_owned())));
    }
    outcome.blame(contest.draw(&works));
    let comparison = Comparison {
        schema: "delassus-compare-1",
        tolerance: stop.tolerance,
        works,
        scenes,
    };
    if !comparison.is_reached() {
        outcome = outcome.max(Outcome::NotSolved);
    }
    let json = serde_json::to_string(&comparison).unwrap_or_default() + "\n";
    if let Some(out) = &mut out {
        outcome.blame(out.write(&["compare"], &json));
    }
    let text = if common.json {
        json
    } else {
        tables(&comparison)
    };
    Ok(Printed { text, outcome })
}

fn stop(common: &Common) -> Result<Stop, Refusal> {
    let tolerance = common.tolerance.unwrap_or(TOLERANCE);
    if tolerance == 0.0 {
        return Err(Refusal(
            "--tolerance 0 is never reached, so there is no time to compare; give a positive one"
                .to_owned(),
        ));
    }
    Ok(Stop {
        tolerance,
        iterations: common.iterations.unwrap_or(ITERATIONS),
        time: Some(common.time_limit.unwrap_or(TIME_LIMIT)),
        record: Record::Sweeps,
    })
}

/// The files behind the words: folders are opened, one level deep, in the order of names.
fn sources(works: &[&PathBuf], outcome: &mut Outcome) -> Vec<Source> {
    let mut sources = Vec::new();
    for &work in works {
        if !work.is_dir() {
            sources.push(Source {
                path: work.clone(),
                named: true,
            });
            continue;
        }
        match files_of(work) {
            Ok(paths) => {
                sources.extend(paths.into_iter().map(|path| Source { path, named: false }))
            }
            Err(refusal) => outcome.blame(Err(refusal)),
        }
    }
    sources
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let failed = |error| Refusal::io(folder, "read the folder", &error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// What is the same for all works, and the pictures so far.
struct Contest<'a> {
    args: &'a CompareArgs,
    stop: Stop,
    specs: &'a [String],
    bar: &'a ProgressBar,
    panels: Vec<Panel>,
}

impl Contest<'_> {
    /// Ranks the works one after the other; what is refused is told at once and the rest goes on.
    fn rank_all(&mut self, sources: &[Source], outcome: &mut Outcome) -> Vec<Ranking> {
        let mut works = Vec::new();
        for source in sources {
            match self.rank(source) {
                Ok(ranking) => works.extend(ranking),
                Err(refusal) => self.bar.suspend(|| outcome.blame(Err(refusal))),
            }
        }
        works
    }

    /// Steps the scenes one after the other under every solver.
    fn rank_scenes(&self, scenes: &[&PathBuf], outcome: &mut Outcome) -> Vec<SceneRanking> {
        let mut ranked = Vec::new();
        for scene in scenes {
            match scene_compare::rank(scene, self.args, self.specs, self.bar) {
                Ok(ranking) => ranked.push(ranking),
                Err(refusal) => self.bar.suspend(|| outcome.blame(Err(refusal))),
            }
        }
        ranked
    }

    /// Reads one work and runs every solver on it, one after the other. A file of a folder that is no problem
    /// is skipped with a note; a named one is an error.
    fn rank(&mut self, source: &Source) -> Result<Option<Ranking>, Refusal> {
        let name = input::name(&source.path);
        let loaded = input::load(&source.path, self.args.common.format);
        let loaded = loaded.and_then(|loaded| problem_of(&name, loaded));
        let (kind, problem) = match loaded {
            Ok(found) => found,
            Err(refusal) => {
                self.bar.inc(self.specs.len() as u64);
                if source.named {
                    return Err(refusal);
                }
                self.bar.suspend(|| note(&format!("skipped {refusal}")));
                return Ok(None);
            }
        };
        let mut runs = Vec::new();
        let mut misfits = Vec::new();
        for spec in self.specs {
            self.bar.set_message(format!("{name}  {spec}"));
            match measure(spec, self.stop, self.args.common.seed, &problem)? {
                Some(run) => runs.push(run),
                None => misfits.push(spec.clone()),
            }
            self.bar.inc(1);
        }
        runs.sort_by(by_merit);
        if self.args.svg.is_some() && !runs.is_empty() && self.panels.len() < MOST_PANELS {
            let panel = self.panel(&name, &problem, &runs)?;
            self.panels.push(panel);
        }
        Ok(Some(Ranking {
            work: name,
            kind,
            n_blocks: problem.blocks().len(),
            n_rows: problem.n_rows(),
            runs,
            misfits,
        }))
    }

    /// Writes the picture, if one is asked for and there is something to see.
    fn draw(&self, works: &[Ranking]) -> Result<(), Refusal> {
        let Some(path) = &self.args.svg else {
            return Ok(());
        };
        let shown = self.panels.len();
        let drawable = works.iter().filter(|work| !work.runs.is_empty()).count();
        if shown == 0 {
            note("there is no run to draw, so no picture is written");
            return Ok(());
        }
        if shown < drawable && !self.args.common.quiet {
            note(&format!("the picture shows {shown} of {drawable} works"));
        }
        let svg = plot::svg(self.specs, &self.panels)?;
        fs::write(path, svg).map_err(|error| Refusal::io(path, "write", &error))
    }

    fn panel(&self, name: &str, problem: &Problem, runs: &[Run]) -> Result<Panel, Refusal> {
        let mut curves = Vec::new();
        for run in runs {
            curves.push(Curve {
                solver: self
                    .specs
                    .iter()
                    .position(|spec| *spec == run.spec)
                    .unwrap_or(0),
                approximate: run.fit == Fit::Approximate,
                points: trace(&run.spec, self.stop, self.args.common.seed, problem)?,
            });
        }
        Ok(Panel {
            title: name.to_owned(),
            tolerance: self.stop.tolerance,
            curves,
        })
    }
}

fn problem_of(name: &str, loaded: Loaded) -> Result<(&'static str, Problem), Refusal> {
    match loaded.work {
        Work::Problem { problem, .. } => Ok((loaded.kind, *problem)),
        Work::Tree(work) => Ok((loaded.kind, work.problem)),
        Work::Stabilisation(_) => Err(Refusal(format!(
            "{name}: a file of kind {} is computed, not solved, so there is nothing to compare; use `delassus solve`",
            loaded.kind
        ))),
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

/// One table per work, and a legend where something needs explaining.
fn tables(comparison: &Comparison) -> String {
    let tolerance = comparison.tolerance;
    let mut text = String::new();
    for work in &comparison.works {
        text.push_str(&format!(
            "{} ({}; blocks: {}, rows: {}), to a law residual of {tolerance:e} m/s\n",
            work.work, work.kind, work.n_blocks, work.n_rows
        ));
        text.push_str(&table_of(work));
        if !work.misfits.is_empty() {
            let misfits = work.misfits.join("; ");
            text.push_str(&format!("  no rule for a law of this work: {misfits}\n"));
        }
        text.push('\n');
    }
    for scene in &comparison.scenes {
        text.push_str(&scene.text());
    }
    let runs = comparison.works.iter().flat_map(|work| &work.runs);
    let runs = runs.map(|run| (run.fit, run.reached));
    let scene_runs = comparison.scenes.iter().flat_map(|scene| &scene.runs);
    let scene_runs = scene_runs.map(|run| (run.fit, run.reached));
    let all: Vec<(Fit, bool)> = runs.chain(scene_runs).collect();
    if all.iter().any(|(fit, _)| *fit == Fit::Approximate) {
        text.push_str("≈ obeys a neighbour of the law (a box for a cone, a convex relaxation); its law residual is that of the work's own law\n");
    }
    if all.iter().any(|(_, reached)| !reached) {
        text.push_str("– did not reach the tolerance; sorted by law residual\n");
    }
    text
}

fn table_of(work: &Ranking) -> String {
    let mut table = Table::new(&[
        ">  ",
        "",
        "solver",
        "status",
        ">iterations",
        ">law [m/s]",
        ">relative",
        ">time",
    ]);
    for (i, run) in work.runs.iter().enumerate() {
        let place = if run.reached {
            (i + 1).to_string()
        } else {
            "–".to_owned()
        };
        let mark = if run.fit == Fit::Approximate {
            "≈"
        } else {
            ""
        };
        table.push(vec![
            format!("  {place}"),
            mark.to_owned(),
            run.label(),
            run.status.to_owned(),
            run.iterations.to_string(),
            table::number(run.residual.law),
            table::number(run.residual.relative),
            table::time(run.elapsed),
        ]);
    }
    if table.is_empty() {
        return "  no solver fits\n".to_owned();
    }
    table.text()
}
