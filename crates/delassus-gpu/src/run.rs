//! The run that both solvers share: sweeps on the device, impulses and judgement in double precision on the host.

use delassus::solver::{Monitor, Record, Rule, Stop};
use delassus::{Problem, Solution, Status};

use crate::device::GpuError;
use crate::layout::confine;
use crate::resident::{Batch, MOST_SWEEPS, Resident};

/// Sweeps on a problem that is loaded, until the monitor says stop. Every read-back is the point that the next sweeps
/// count from, so that single precision is relative to what is still missing.
pub(crate) fn run(
    resident: &mut Resident,
    problem: &Problem,
    (stop, rule): (Stop, Rule),
    backward: impl Fn(usize) -> bool,
    solution: &mut Solution,
    monitor: &mut Monitor<'_>,
) -> Result<(Status, f64), GpuError> {
    let mut w = vec![0.0; problem.n_rows()];
    let mut batch = Batch {
        old: vec![0.0; problem.n_rows()],
        ..Batch::default()
    };
    let mut directions = Vec::with_capacity(MOST_SWEEPS);
    if stop.iterations == 0 {
        return Ok((Status::IterationLimit, f64::INFINITY));
    }
    loop {
        let done = monitor.sweeps();
        let Solution { v, lambda } = &mut *solution;
        problem.row_velocity(v, lambda, &mut w);
        match resident.start_from(problem, lambda, &w, &batch.old) {
            // What was loaded before has grown out of range.
            Err(GpuError::Range { .. }) if 0 < done => {
                return Ok((Status::Diverged, f64::INFINITY));
            }
            other => other?,
        }
        let count = match stop.record {
            Record::Residuals => 1,
            Record::Sweeps => MOST_SWEEPS.min((done / 2).max(8)),
        };
        let count = count.min(stop.iterations - done);
        directions.clear();
        directions.extend((done..done + count).map(&backward));
        resident.sweep(&directions, &mut batch)?;
        for (i, lambda) in lambda.iter_mut().enumerate() {
            *lambda += f64::from(batch.x[i]);
            batch.old[i] -= batch.x[i];
        }
        confine(problem, rule, lambda);
        problem.velocity(lambda, v);
        if let Some(status) = monitor.after_sweeps(&batch.stats, lambda) {
            return Ok((status, batch.law));
        }
    }
}
