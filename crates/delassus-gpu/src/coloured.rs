//! Coloured Gauss-Seidel on the device: one dispatch for each colour, the blocks of a colour side by side.

use delassus::problem::Form;
use delassus::solver::Monitor;
use delassus::solver::sweep::coloured::Coloured;
use delassus::solver::sweep::gauss_seidel::Order;
use delassus::{BlockId, Fit, Law, Problem, Solution, Solver, Status, Stop};

use crate::colour::colours;
use crate::device::{Gpu, GpuError};
use crate::resident::Method;
use crate::session::{Plan, Session, fit};

/// `coloured-gpu`: sweeps of Gauss-Seidel on the device, colour after colour.
#[derive(Debug, Default)]
pub struct ColouredGpu {
    /// The options, and the solver that is used where there is no device. Dual problems, which name no bodies to colour by, always
    /// stay on the CPU, and so does a shuffled order.
    pub coloured: Coloured,
    session: Session,
}

impl ColouredGpu {
    /// With these options, on the device that the process shares.
    pub fn new(coloured: Coloured) -> ColouredGpu {
        let session = Session::default();
        ColouredGpu { coloured, session }
    }

    /// With these options, on a device of one's own.
    pub fn on(gpu: Gpu, coloured: Coloured) -> ColouredGpu {
        let session = Session::on(gpu);
        ColouredGpu { coloured, session }
    }

    /// As where no adapter was found, for this reason: everything is left to the CPU.
    pub fn without(trouble: GpuError, coloured: Coloured) -> ColouredGpu {
        let session = Session::without(trouble);
        ColouredGpu { coloured, session }
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
        self.session.trouble.as_ref()
    }

    /// The law residual of the last run as the device measured it \[m/s\].
    pub fn device_law(&self) -> Option<f64> {
        self.session.law
    }

    fn plan(&self, problem: &Problem) -> Result<Plan, GpuError> {
        if !matches!(problem.form(), Form::Primal(_)) {
            let what = "a dual problem by colours";
            return Err(GpuError::Unsupported { what });
        }
        let backward = match self.coloured.order {
            Order::Forward => |_| false,
            Order::Backward => |_| true,
            Order::Symmetric => |sweep: usize| !sweep.is_multiple_of(2),
            Order::Shuffle => {
                let what = "order=shuffle";
                return Err(GpuError::Unsupported { what });
            }
        };
        Ok(Plan {
            method: Method::Coloured {
                relax: self.coloured.relax,
            },
            rule: self.coloured.rule,
            stop: self.coloured.stop,
            backward,
            diagonals: Box::new(|problem| problem.diagonal_blocks().clone()),
        })
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
        fit(&self.coloured, law)
    }

    fn stop(&self) -> Stop {
        self.coloured.stop
    }

    fn advice(&self, status: Status) -> Option<String> {
        self.session.advice(status, &self.coloured)
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        if !(0.0 < self.coloured.relax && self.coloured.relax < 2.0) {
            return Status::Breakdown;
        }
        let plan = self.plan(problem);
        self.session
            .run(plan, &mut self.coloured, problem, solution, monitor)
    }
}
