//! What both solvers share: the device they run on, and the run itself, with sweeps on the device and impulses and
//! judgement in double precision on the host.

use delassus::problem::delassus::DiagonalBlocks;
use delassus::solver::{Monitor, Record, Rule, Stop};
use delassus::{Fit, Law, Problem, Solution, Solver, Status};

use crate::device::{Gpu, GpuError};
use crate::layout::confine;
use crate::resident::{Batch, Method, Resident};

/// A device, the problem that lives there, and how the last run on it went.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The device; none is the one that the process shares.
    pub(crate) gpu: Option<Gpu>,
    /// Why the last run was left to the CPU.
    pub(crate) trouble: Option<GpuError>,
    /// The law residual as the device measured it \[m/s\].
    pub(crate) law: Option<f64>,
    resident: Option<Resident>,
}

/// How to sweep and when to stop.
pub(crate) struct Plan {
    pub(crate) method: Method,
    pub(crate) rule: Rule,
    pub(crate) stop: Stop,
    /// Whether a sweep, counted from zero, goes backward.
    pub(crate) backward: fn(usize) -> bool,
    /// The diagonal blocks that a step divides by.
    pub(crate) diagonals: Box<dyn Fn(&Problem) -> DiagonalBlocks>,
}

impl Session {
    pub(crate) fn on(gpu: Gpu) -> Session {
        Session {
            gpu: Some(gpu),
            ..Session::default()
        }
    }

    pub(crate) fn without(trouble: GpuError) -> Session {
        Session {
            trouble: Some(trouble),
            ..Session::default()
        }
    }

    /// Runs a plan on the device. On trouble the solution is that of the last read-back, and the same method on the
    /// CPU goes on from there.
    pub(crate) fn run(
        &mut self,
        plan: Result<Plan, GpuError>,
        cpu: &mut dyn Solver,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        self.law = None;
        let ran = plan.and_then(|plan| {
            let resident = self.resident(&plan)?;
            resident.load(problem, &(plan.diagonals)(problem))?;
            sweep(resident, &plan, problem, solution, monitor)
        });
        match ran {
            Ok((status, law)) => {
                (self.law, self.trouble) = (Some(law), None);
                status
            }
            Err(trouble) => {
                (self.resident, self.trouble) = (None, Some(trouble));
                monitor.hand_over(cpu.name(), "the device could not take the problem");
                cpu.run(problem, solution, monitor)
            }
        }
    }

    /// What lives on the device, where it is there for this plan.
    fn resident(&mut self, plan: &Plan) -> Result<&mut Resident, GpuError> {
        // A machine does not grow an adapter while it runs.
        if let Some(trouble @ GpuError::NoAdapter { .. }) = &self.trouble {
            return Err(trouble.clone());
        }
        self.resident
            .take_if(|resident| !resident.fits(plan.method, plan.rule));
        match &mut self.resident {
            Some(resident) => Ok(resident),
            none => {
                let gpu = match &self.gpu {
                    Some(gpu) => gpu.clone(),
                    None => Gpu::shared()?,
                };
                Ok(none.insert(Resident::new(&gpu, plan.method, plan.rule)))
            }
        }
    }

    /// What to tell the user where the CPU did the work, or where single precision ends above the tolerance; else what
    /// the same method on the CPU has to say.
    pub(crate) fn advice(&self, status: Status, same: &dyn Solver) -> Option<String> {
        let cpu = same.name();
        match (&self.trouble, status) {
            (Some(trouble), _) => Some(format!("{cpu} solved it on the CPU: {trouble}")),
            (None, Status::Stalled) => Some(format!(
                "the residual stopped falling: rows may conflict, or the tolerance lies below what single precision \
                 tells of sliding contacts, about 1e-7 of their speed; relax it, or use {cpu}"
            )),
            _ => same.advice(status),
        }
    }
}

/// How a method fits a law on the device, which knows contacts of up to three rows.
pub(crate) fn fit(cpu: &dyn Solver, law: &Law) -> Fit {
    match law.has_spin_rows() {
        true => Fit::No,
        false => cpu.fit(law),
    }
}

/// Sweeps on a problem that is loaded, until the monitor says stop; gives the device's law residual too. Every
/// read-back is the point that the next sweeps count from, so that single precision is relative to what is still
/// missing.
fn sweep(
    resident: &mut Resident,
    plan: &Plan,
    problem: &Problem,
    solution: &mut Solution,
    monitor: &mut Monitor<'_>,
) -> Result<(Status, f64), GpuError> {
    if plan.stop.sweeps == 0 {
        return Ok((Status::IterationLimit, f64::INFINITY));
    }
    let mut w = vec![0.0; problem.n_rows()];
    let mut batch = Batch {
        old: vec![0.0; problem.n_rows()],
        ..Batch::default()
    };
    let mut directions = Vec::new();
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
        let count = match plan.stop.record {
            Record::Residuals => 1,
            Record::Sweeps => resident.most_sweeps().min((done / 2).max(8)),
        };
        let count = count.min(plan.stop.sweeps - done);
        directions.clear();
        directions.extend((done..done + count).map(plan.backward));
        resident.sweep(&directions, &mut batch)?;
        for (i, lambda) in lambda.iter_mut().enumerate() {
            *lambda += f64::from(batch.x[i]);
            batch.old[i] -= batch.x[i];
        }
        confine(problem, plan.rule, lambda);
        problem.velocity(lambda, v);
        if let Some(status) = monitor.after_sweeps(&batch.stats, lambda) {
            return Ok((status, batch.law));
        }
    }
}
