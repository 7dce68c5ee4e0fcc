//! Coloured Gauss-Seidel on the device: one dispatch for each colour, the blocks of a colour side by side.

use delassus::problem::Form;
use delassus::solver::Monitor;
use delassus::solver::coloured::Coloured;
use delassus::solver::gauss_seidel::Order;
use delassus::{BlockId, Fit, Law, Problem, Solution, Solver, Status, Stop};

use crate::colour::colours;
use crate::device::{Gpu, GpuError};
use crate::jacobi::single_precision;
use crate::resident::{Method, Resident};
use crate::run::run;

/// `coloured-gpu`: sweeps of Gauss-Seidel on the device, colour after colour.
#[derive(Debug, Default)]
pub struct ColouredGpu {
    /// The options, and who goes on where there is no device. Dual problems, which name no bodies to colour by, always
    /// stay on the CPU, and so does a shuffled order.
    pub coloured: Coloured,
    gpu: Option<Gpu>,
    resident: Option<Resident>,
    trouble: Option<GpuError>,
    law: Option<f64>,
}

impl ColouredGpu {
    /// With these options, on the device that the process shares.
    pub fn new(coloured: Coloured) -> ColouredGpu {
        ColouredGpu {
            coloured,
            ..ColouredGpu::default()
        }
    }

    /// With these options, on a device of one's own.
    pub fn on(gpu: Gpu, coloured: Coloured) -> ColouredGpu {
        ColouredGpu {
            coloured,
            gpu: Some(gpu),
            ..ColouredGpu::default()
        }
    }

    /// As on a machine whose device could not be opened for this reason: everything is left to the CPU.
    pub fn without(trouble: GpuError, coloured: Coloured) -> ColouredGpu {
        ColouredGpu {
            coloured,
            trouble: Some(trouble),
            ..ColouredGpu::default()
        }
    }

    /// The blocks of every colour, in the order in which colours are swept: no two of a colour share a mass. Empty for
    /// a dual problem.
    pub fn sets(problem: &Problem) -> Vec<Vec<BlockId>> {
        let Form::Primal(primal) = problem.form() else {
            return Vec::new();
        };
        let sets = colours(primal, problem.blocks().len());
        sets.into_iter()
            .map(|set| set.into_iter().map(BlockId).collect())
            .collect()
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
        let Coloured {
            rule,
            relax,
            order,
            stop,
            ..
        } = self.coloured;
        if !matches!(problem.form(), Form::Primal(_)) {
            let what = "a dual problem by colours";
            return Err(GpuError::Unsupported { what });
        }
        if order == Order::Shuffle {
            let what = "order=shuffle";
            return Err(GpuError::Unsupported { what });
        }
        let method = Method::Coloured { relax };
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
        resident.load(problem, problem.diagonal_blocks())?;
        let backward = |sweep: usize| match order {
            Order::Backward => true,
            Order::Symmetric => sweep % 2 == 1,
            _ => false,
        };
        let (status, law) = run(resident, problem, (stop, rule), backward, solution, monitor)?;
        self.law = Some(law);
        Ok(status)
    }
}

impl Solver for ColouredGpu {
    fn name(&self) -> &'static str {
        "coloured-gpu"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.coloured.options()
    }

    fn fit(&self, law: &Law) -> Fit {
        self.coloured.fit(law)
    }

    fn stop(&self) -> Stop {
        self.coloured.stop
    }

    fn advice(&self, status: Status) -> Option<String> {
        match (&self.trouble, status) {
            (Some(trouble), _) => Some(format!("coloured went on on the CPU: {trouble}")),
            (None, Status::Stalled) => Some(single_precision("coloured")),
            _ => self.coloured.advice(status),
        }
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        self.law = None;
        if !(0.0 < self.coloured.relax && self.coloured.relax < 2.0) {
            return Status::Breakdown;
        }
        match self.sweep(problem, solution, monitor) {
            Ok(status) => {
                self.trouble = None;
                status
            }
            Err(trouble) => {
                self.trouble = Some(trouble);
                self.resident = None;
                monitor.hand_over("coloured", self.coloured.stop.iterations);
                self.coloured.run(problem, solution, monitor)
            }
        }
    }
}
