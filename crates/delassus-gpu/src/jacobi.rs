//! Jacobi on the device: λ of every block in one pass, velocities by the lists of their bodies in another.

use delassus::solver::Monitor;
use delassus::solver::jacobi::{Accelerate, majorant};
use delassus::{Fit, Jacobi, Law, Problem, Solution, Solver, Status, Stop};

use crate::device::{Gpu, GpuError};
use crate::resident::{Method, Resident};
use crate::run::run;

/// `jacobi-gpu`: the sweeps of [`Jacobi`] on the device.
#[derive(Debug, Default)]
pub struct JacobiGpu {
    /// The options, and who goes on where there is no device. `Accelerate::Chebyshev` always stays on the CPU.
    pub jacobi: Jacobi,
    gpu: Option<Gpu>,
    resident: Option<Resident>,
    trouble: Option<GpuError>,
    law: Option<f64>,
}

impl JacobiGpu {
    /// With these options, on the device that the process shares.
    pub fn new(jacobi: Jacobi) -> JacobiGpu {
        JacobiGpu {
            jacobi,
            ..JacobiGpu::default()
        }
    }

    /// With these options, on a device of one's own.
    pub fn on(gpu: Gpu, jacobi: Jacobi) -> JacobiGpu {
        JacobiGpu {
            jacobi,
            gpu: Some(gpu),
            ..JacobiGpu::default()
        }
    }

    /// As on a machine whose device could not be opened for this reason: everything is left to the CPU.
    pub fn without(trouble: GpuError, jacobi: Jacobi) -> JacobiGpu {
        JacobiGpu {
            jacobi,
            trouble: Some(trouble),
            ..JacobiGpu::default()
        }
    }

    /// Why the last run, or part of it, was left to the CPU.
    pub fn trouble(&self) -> Option<&GpuError> {
        self.trouble.as_ref()
    }

    /// The law residual of the last run as the device measured it \[m/s\].
    pub fn device_law(&self) -> Option<f64> {
        self.law
    }

    fn sweep(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Result<Status, GpuError> {
        if let Some(trouble @ GpuError::NoAdapter { .. }) = &self.trouble {
            return Err(trouble.clone());
        }
        let method = match self.jacobi.accelerate {
            Accelerate::None => Method::Jacobi { accelerate: false },
            Accelerate::Nesterov => Method::Jacobi { accelerate: true },
            Accelerate::Chebyshev => {
                let what = "accelerate=chebyshev";
                return Err(GpuError::Unsupported { what });
            }
        };
        let rule = self.jacobi.rule;
        self.resident
            .take_if(|resident| !resident.fits(method, rule));
        let resident = match &mut self.resident {
            Some(resident) => resident,
            none => {
                let gpu = match &self.gpu {
                    Some(gpu) => gpu.clone(),
                    None => Gpu::shared()?,
                };
                none.insert(Resident::new(&gpu, method, rule))
            }
        };
        resident.load(problem, &majorant(problem, self.jacobi.scheme))?;
        let stop = (self.jacobi.stop, rule);
        let (status, law) = run(resident, problem, stop, |_| false, solution, monitor)?;
        self.law = Some(law);
        Ok(status)
    }
}

impl Solver for JacobiGpu {
    fn name(&self) -> &'static str {
        "jacobi-gpu"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.jacobi.options()
    }

    fn fit(&self, law: &Law) -> Fit {
        self.jacobi.fit(law)
    }

    fn stop(&self) -> Stop {
        self.jacobi.stop
    }

    fn advice(&self, status: Status) -> Option<String> {
        match (&self.trouble, status) {
            (Some(trouble), _) => Some(format!("jacobi went on on the CPU: {trouble}")),
            (None, Status::Stalled) => Some(single_precision("jacobi")),
            _ => self.jacobi.advice(status),
        }
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        self.law = None;
        match self.sweep(problem, solution, monitor) {
            Ok(status) => {
                self.trouble = None;
                status
            }
            Err(trouble) => {
                self.trouble = Some(trouble);
                self.resident = None;
                monitor.hand_over("jacobi", self.jacobi.stop.iterations);
                self.jacobi.run(problem, solution, monitor)
            }
        }
    }
}

/// What to tell where sweeps in single precision end above the tolerance.
pub(crate) fn single_precision(cpu: &str) -> String {
    format!(
        "the residual stopped falling: rows may conflict, or the tolerance lies below what single precision tells of \
         sliding contacts, about 1e-7 of their speed; relax it, or use {cpu} on the CPU"
    )
}
