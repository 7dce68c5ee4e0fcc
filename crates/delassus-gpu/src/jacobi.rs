//! Jacobi on the device: λ of every block in one pass, velocities by the lists of their bodies in another.

use delassus::solver::Monitor;
use delassus::solver::sweep::jacobi::{Accelerate, majorant};
use delassus::{Fit, Jacobi, Law, Problem, Solution, Solver, Status, Stop};

use crate::device::{Gpu, GpuError};
use crate::resident::Method;
use crate::session::{Plan, Session, fit};

/// `jacobi-gpu`: the sweeps of [`Jacobi`] on the device.
#[derive(Debug, Default)]
pub struct JacobiGpu {
    /// The options, and the solver that is used where there is no device. `Accelerate::Chebyshev` always stays on the CPU.
    pub jacobi: Jacobi,
    session: Session,
}

impl JacobiGpu {
    /// With these options, on the device that the process shares.
    pub fn new(jacobi: Jacobi) -> JacobiGpu {
        let session = Session::default();
        JacobiGpu { jacobi, session }
    }

    /// With these options, on a device of one's own.
    pub fn on(gpu: Gpu, jacobi: Jacobi) -> JacobiGpu {
        let session = Session::on(gpu);
        JacobiGpu { jacobi, session }
    }

    /// As where no adapter was found, for this reason: everything is left to the CPU.
    pub fn without(trouble: GpuError, jacobi: Jacobi) -> JacobiGpu {
        let session = Session::without(trouble);
        JacobiGpu { jacobi, session }
    }

    /// Why the last run, or part of it, was left to the CPU.
    pub fn trouble(&self) -> Option<&GpuError> {
        self.session.trouble.as_ref()
    }

    /// The law residual of the last run as the device measured it \[m/s\].
    pub fn device_law(&self) -> Option<f64> {
        self.session.law
    }

    fn plan(&self) -> Result<Plan, GpuError> {
        let accelerate = match self.jacobi.accelerate {
            Accelerate::None => false,
            Accelerate::Nesterov => true,
            Accelerate::Chebyshev => {
                let what = "accelerate=chebyshev";
                return Err(GpuError::Unsupported { what });
            }
        };
        let scheme = self.jacobi.scheme;
        Ok(Plan {
            method: Method::Jacobi { accelerate },
            rule: self.jacobi.rule,
            stop: self.jacobi.stop,
            backward: |_| false,
            diagonals: Box::new(move |problem| majorant(problem, scheme)),
        })
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
        fit(&self.jacobi, law)
    }

    fn stop(&self) -> Stop {
        self.jacobi.stop
    }

    fn advice(&self, status: Status) -> Option<String> {
        self.session.advice(status, &self.jacobi)
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        let plan = self.plan();
        self.session
            .run(plan, &mut self.jacobi, problem, solution, monitor)
    }
}
