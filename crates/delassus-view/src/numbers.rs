//! The numbers of a step as the page shows them: fields of the step and of its report, nothing computed anew.

use std::collections::{BTreeMap, VecDeque};

use delassus::solver::Sweep;
use delassus::world::{Clock, Probe, Step};
use delassus::{Fit, Residual, World};
use serde::Serialize;

/// Steps of which the line for the plots is kept, and how many of them a frame carries: a page that misses more asks.
const KEPT: usize = 4000;
const CARRIED: usize = 48;
/// Points of the residual's history that are sent.
const POINTS: usize = 300;

/// What one step did.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Numbers {
    solver: &'static str,
    options: BTreeMap<&'static str, String>,
    fit: Fit,
    status: &'static str,
    iterations: usize,
    residual: Residual,
    /// Whose block has the worst residual, in words.
    worst: Option<String>,
    /// Substeps that were not solved, and those whose answer is not that of the first solver tried.
    unsolved: u32,
    fallbacks: u32,
    contacts: usize,
    penetration: f64,
    violation: f64,
    energy: Probe,
    clock: Clock,
    solver_s: f64,
    message: Option<String>,
    /// Sweep, law residual where it was computed, η.
    history: Vec<(usize, Option<f64>, f64)>,
}

/// One step in the plots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Sample {
    pub(crate) step: u64,
    pub(crate) time: f64,
    pub(crate) law: f64,
    pub(crate) penetration: f64,
    pub(crate) kinetic: f64,
    pub(crate) potential: f64,
    pub(crate) ms: f64,
    pub(crate) iterations: u64,
}

impl Numbers {
    pub(crate) fn of(step: Step, world: &World) -> Numbers {
        let worst = step.worst.map(|key| world.describe(key));
        let report = step.report;
        // The report is that of the last substep; an earlier one may have failed.
        let status = match (report.status.name(), step.unsolved) {
            ("solved", 1..) => "partly-solved",
            (name, _) => name,
        };
        Numbers {
            solver: report.solver,
            options: report.options.into_iter().collect(),
            fit: report.fit,
            status,
            iterations: report.iterations,
            residual: report.residual,
            worst,
            unsolved: step.unsolved,
            fallbacks: step.fallbacks,
            contacts: step.contacts,
            penetration: step.penetration,
            violation: step.violation,
            energy: step.probe,
            clock: step.clock,
            solver_s: report.elapsed.as_secs_f64(),
            message: report.message,
            history: thinned(&report.history),
        }
    }

    pub(crate) fn sample(&self, step: u64, time: f64) -> Sample {
        let clock = &self.clock;
        Sample {
            step,
            time,
            law: self.residual.law,
            penetration: self.penetration,
            kinetic: self.energy.kinetic,
            potential: self.energy.potential,
            ms: 1e3 * (clock.collide + clock.assemble + clock.solve + clock.integrate),
            iterations: self.iterations as u64,
        }
    }
}

/// At most so many points, the first and the last among them.
fn thinned(history: &[Sweep]) -> Vec<(usize, Option<f64>, f64)> {
    let stride = history.len().div_ceil(POINTS).max(1);
    let last = history.len().saturating_sub(1);
    let kept = history.iter().enumerate();
    kept.filter(|(i, _)| i.is_multiple_of(stride) || *i == last)
        .map(|(_, sweep)| (sweep.sweep, sweep.law, sweep.eta))
        .collect()
}

/// The samples of the last steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(VecDeque<Sample>);

impl Samples {
    pub(crate) fn push(&mut self, sample: Sample) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(sample);
    }

    /// Those that a frame carries.
    pub(crate) fn newest(&self) -> Vec<Sample> {
        let skipped = self.0.len().saturating_sub(CARRIED);
        self.0.iter().skip(skipped).copied().collect()
    }

    /// Those of the steps after one.
    pub(crate) fn after(&self, step: u64) -> Vec<Sample> {
        let known = self.0.partition_point(|sample| sample.step <= step);
        self.0.iter().skip(known).copied().collect()
    }

    /// Leaves out what is after a step.
    pub(crate) fn forget_after(&mut self, step: u64) {
        let known = self.0.partition_point(|sample| sample.step <= step);
        self.0.truncate(known);
    }
}
