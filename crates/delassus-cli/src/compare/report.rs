//! The one report behind the table, the JSON and the page.

use delassus::Fit;
use serde::Serialize;

use super::measure::Run;
use super::profile::{self, Entry, Growth, Profile};
use super::scene::SceneRanking;
use crate::table::{self, Table};

/// The document printed by `--json` and carried by the page.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    schema: &'static str,
    version: &'static str,
    /// Law residual to reach on problems [m/s]; scenes have their own.
    tolerance: f64,
    /// Every solver asked for, with the keys that differ from its defaults.
    solvers: Vec<String>,
    works: Vec<Ranking>,
    scenes: Vec<SceneRanking>,
    profiles: Vec<Profile>,
    growth: Vec<Growth>,
    /// Runs that were not done because somebody asked to stop.
    missing: Vec<Missing>,
}

/// A run that was not done.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Missing {
    pub(super) work: String,
    pub(super) solver: String,
}

/// All solvers on one work, the fastest that reached the tolerance first.
#[derive(Debug, Serialize)]
pub(super) struct Ranking {
    pub(super) work: String,
    pub(super) kind: &'static str,
    pub(super) n_blocks: usize,
    pub(super) n_rows: usize,
    /// Whether solvers started from the impulses in the file rather than from zero.
    pub(super) warm: bool,
    pub(super) runs: Vec<Run>,
    /// Variants that cannot treat one of the work's laws.
    pub(super) misfits: Vec<String>,
}

impl Comparison {
    /// The report of what was done.
    pub(super) fn new(
        tolerance: f64,
        solvers: Vec<String>,
        (works, scenes): (Vec<Ranking>, Vec<SceneRanking>),
        missing: Vec<Missing>,
    ) -> Comparison {
        let (mut entries, mut sized) = (Vec::new(), Vec::new());
        for (i, work) in works.iter().enumerate() {
            for run in &work.runs {
                let time = run.reached.then_some(run.elapsed.as_secs_f64());
                entries.push(Entry {
                    work: i,
                    solver: run.label.clone(),
                    time,
                });
                let family = profile::family(&work.work);
                let size = work.n_rows as f64;
                sized.extend(time.map(|time| (family, run.label.clone(), "rows", size, time)));
            }
        }
        for (i, scene) in scenes.iter().enumerate() {
            for run in &scene.runs {
                let time = run.reached.then_some(1e-3 * run.ms_per_step);
                entries.push(Entry {
                    work: works.len() + i,
                    solver: run.label.clone(),
                    time,
                });
                let family = profile::family(&scene.scene);
                let size = scene.bodies as f64;
                sized.extend(time.map(|time| (family, run.label.clone(), "bodies", size, time)));
            }
        }
        Comparison {
            schema: "delassus-compare-1",
            version: env!("CARGO_PKG_VERSION"),
            tolerance,
            solvers,
            profiles: profile::profiles(works.len() + scenes.len(), &entries),
            growth: profile::growth(&sized),
            works,
            scenes,
            missing,
        }
    }

    /// Whether each work and each scene has a solver that brought it to the tolerance, and nothing is missing.
    pub(super) fn is_reached(&self) -> bool {
        let work = |work: &Ranking| work.runs.iter().any(|run| run.reached);
        let scene = |scene: &SceneRanking| scene.runs.iter().any(|run| run.reached);
        self.missing.is_empty() && self.works.iter().all(work) && self.scenes.iter().all(scene)
    }

    pub(super) fn tolerance(&self) -> f64 {
        self.tolerance
    }

    pub(super) fn solvers(&self) -> &[String] {
        &self.solvers
    }

    /// Works with a run to draw.
    pub(super) fn drawable(&self) -> impl Iterator<Item = &Ranking> {
        self.works.iter().filter(|work| !work.runs.is_empty())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.works.is_empty() && self.scenes.is_empty()
    }

    /// The document as one line.
    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).expect("plain data has a JSON form") + "\n"
    }

    /// One table per work, profiles over all of them, and a legend where something needs explaining.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for work in &self.works {
            text.push_str(&work.text(self.tolerance));
        }
        for scene in &self.scenes {
            text.push_str(&scene.text());
        }
        text.push_str(&self.profile_text());
        let runs = self.works.iter().flat_map(|work| &work.runs);
        let runs = runs.map(|run| (run.fit, run.reached));
        let scene_runs = self.scenes.iter().flat_map(|scene| &scene.runs);
        let scene_runs = scene_runs.map(|run| (run.fit, run.reached));
        let all: Vec<(Fit, bool)> = runs.chain(scene_runs).collect();
        if all.iter().any(|(fit, _)| *fit == Fit::Approximate) {
            text.push_str("≈ obeys an approximation of the law (a box for a cone, a convex relaxation); its law residual is that of the work's own law\n");
        }
        if all.iter().any(|(_, reached)| !reached) {
            text.push_str("– did not reach the tolerance; sorted by law residual\n");
        }
        text
    }

    /// Who did best over several works.
    fn profile_text(&self) -> String {
        let works = self.works.len() + self.scenes.len();
        if works < 2 {
            return String::new();
        }
        let mut table = Table::new(&[
            "  solver",
            ">reached",
            ">fastest",
            ">within 2×",
            ">within 10×",
        ]);
        for profile in &self.profiles {
            let count = |share: f64| format!("{:.0}", share * works as f64);
            let within = |factor: f64| {
                let points = profile.points.iter().take_while(|point| point.0 <= factor);
                count(points.last().map_or(0.0, |point| point.1))
            };
            table.push(vec![
                format!("  {}", profile.solver),
                count(profile.solved),
                count(profile.fastest),
                within(2.0),
                within(10.0),
            ]);
        }
        format!(
            "all {works} works: brought to the tolerance, as the fastest, within a factor of the fastest\n{}\n",
            table.text()
        )
    }
}

impl Ranking {
    fn text(&self, tolerance: f64) -> String {
        let start = match self.warm {
            true => ", from the impulses in the file",
            false => "",
        };
        let mut text = format!(
            "{} ({}; blocks: {}, rows: {}), to a law residual of {tolerance:e} m/s{start}\n{}",
            self.work,
            self.kind,
            self.n_blocks,
            self.n_rows,
            self.table()
        );
        if !self.misfits.is_empty() {
            let misfits = self.misfits.join("; ");
            text.push_str(&format!("  no rule for a law of this work: {misfits}\n"));
        }
        text.push('\n');
        text
    }

    fn table(&self) -> String {
        let columns = [
            "status",
            ">iterations",
            ">law [m/s]",
            ">relative",
            ">worst block",
            ">time",
        ];
        ranked(&self.runs, &columns, |run| {
            let worst = run.residual.worst_block;
            let cells = vec![
                run.status.to_owned(),
                run.iterations.to_string(),
                table::number(run.residual.law),
                table::number(run.residual.relative),
                worst.map_or_else(|| "-".to_owned(), |block| block.0.to_string()),
                table::time(run.elapsed),
            ];
            ((run.reached, run.fit), run.named(), cells)
        })
    }
}

/// A table of runs in the order of merit: their places, fits and solvers, and what else there is to say of each.
pub(super) fn ranked<R>(
    runs: &[R],
    columns: &[&str],
    line: impl Fn(&R) -> ((bool, Fit), String, Vec<String>),
) -> String {
    if runs.is_empty() {
        return "  no solver fits\n".to_owned();
    }
    let mut table = Table::new(&[&[">  ", "", "solver"], columns].concat());
    for (i, run) in runs.iter().enumerate() {
        let ((reached, fit), solver, cells) = line(run);
        let place = match reached {
            true => (i + 1).to_string(),
            false => "–".to_owned(),
        };
        let mut row = vec![format!("  {place}"), mark(fit).to_owned(), solver];
        row.extend(cells);
        table.push(row);
    }
    table.text()
}

/// How a fit is shown beside a solver.
fn mark(fit: Fit) -> &'static str {
    match fit {
        Fit::Approximate => "≈",
        _ => "",
    }
}
