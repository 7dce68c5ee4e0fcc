//! How the state after a step changes with the state before it, with forces, drives and parameters.
//!
#![doc = include_str!("../../../docs/differentiate.md")]

mod columns;
mod coordinates;
mod motion;
mod vary;

pub use vary::Input;

use super::assemble::{self, Assembly};
use super::contacts::Find;
use super::warm::Found;
use super::{Integrator, Key, MovedBy, StepError, World};
use crate::collide::ContactPoint;
use crate::derivative::{Change, Derivative, DerivativeError, Mode, Sensitivity};
use crate::index::{BodyId, RobotId};
use crate::law::MOST_NUMBERS;
use crate::problem::Solution;
use crate::solver::{Solver, Status};
use columns::Column;
use motion::Motion;

/// Why a step cannot be differentiated.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DifferentiateError {
    /// The step itself was refused.
    #[error(transparent)]
    Step(#[from] StepError),
    /// Its problem has no derivative.
    #[error(transparent)]
    Problem(#[from] DerivativeError),
    /// Its problem was not solved.
    #[error(
        "the step was not solved ({status:?}), so that it has no derivative; give a solver that ends as solved"
    )]
    NotSolved {
        /// How the solve ended.
        status: Status,
    },
    /// The solver was to sweep and not to solve.
    #[error(
        "the solver has no tolerance, and what some sweeps leave has no derivative; give it one, such as 1e-10"
    )]
    NoTolerance,
    /// Something that is not differentiated.
    #[error("{what} cannot be differentiated yet")]
    Unsupported {
        /// What.
        what: &'static str,
    },
    /// An input that the world does not have.
    #[error("there is no {input} in this world")]
    NoInput {
        /// In words.
        input: String,
    },
}

/// What to differentiate by besides the state and forces, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differentiate {
    /// Numbers besides the state and forces.
    pub inputs: Vec<Input>,
    /// Smooths every law by this share of the step's velocities: a derivative that means something on an edge too.
    pub smoothing: Option<f64>,
}

/// Where each body and robot stands in arrays of poses, of velocities and of forces. A body has six numbers: position and
/// turn about the world's axes \[m, rad\], velocity and spin \[m/s, rad/s\], force and torque \[N, N m\]. A robot has one
/// for each of its velocities: a pose changes along [`Tree::integrate`](crate::Tree::integrate).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    bodies: Vec<BodyId>,
    /// Where each robot begins, and the end of the last.
    robots: Vec<usize>,
}

impl Layout {
    /// Of all bodies that can move and all robots of a world.
    pub fn new(world: &World) -> Layout {
        let bodies = world.bodies();
        let moves = |id: &BodyId| {
            let motion = bodies.motion[id.index()];
            matches!(motion, MovedBy::Dynamic | MovedBy::Kinematic)
        };
        let bodies: Vec<BodyId> = bodies.ids().filter(moves).collect();
        let mut robots = vec![6 * bodies.len()];
        for robot in world.robots() {
            robots.push(robots[robots.len() - 1] + robot.tree().n_dofs());
        }
        Layout { bodies, robots }
    }

    /// Numbers of a pose; as many are velocities, and as many forces.
    pub fn len(&self) -> usize {
        self.robots[self.robots.len() - 1]
    }

    /// Whether nothing can move.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bodies that can move, in the order of their numbers.
    pub fn bodies(&self) -> &[BodyId] {
        &self.bodies
    }

    /// The first of a body's six numbers; `None` where it cannot move or is a link.
    pub fn body(&self, id: BodyId) -> Option<usize> {
        let place = self.bodies.binary_search_by_key(&id.0, |id| id.0);
        place.ok().map(|place| 6 * place)
    }

    /// The numbers of a robot.
    pub fn robot(&self, id: RobotId) -> Option<std::ops::Range<usize>> {
        let pair = self.robots.get(id.index()..id.index() + 2)?;
        Some(pair[0]..pair[1])
    }
}

/// A change of what goes into a step, or the sensitivity of a number to it. An array that is empty is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepChange {
    /// Poses, then velocities, both as [`Layout`] has them.
    pub state: Vec<f64>,
    /// Forces during the step.
    pub force: Vec<f64>,
    /// One for each of [`Differentiate::inputs`].
    pub inputs: Vec<f64>,
}

/// The derivative of one step, all its substeps included.
#[derive(Clone, Debug)]
pub struct StepDerivative {
    layout: Layout,
    n_inputs: usize,
    parts: Vec<Part>,
}

/// One substep.
#[derive(Clone, Debug)]
struct Part {
    inner: Derivative<'static>,
    keys: Vec<Key>,
    /// One for each pose, velocity, force and input.
    columns: Vec<Column>,
    motion: Motion,
}

/// A substep that was solved and not yet taken.
struct Solved {
    assembly: Assembly,
    solution: Solution,
    contacts: Vec<ContactPoint>,
    h: f64,
    found: Found,
}

impl World {
    /// Differentiates the next step of h seconds; the world stays as it is. The solver should be tight: modes are read off
    /// its answer.
    pub fn differentiate(
        &self,
        h: f64,
        solver: &mut dyn Solver,
        by: &Differentiate,
    ) -> Result<StepDerivative, DifferentiateError> {
        let substeps = self.settings.substeps.max(1);
        let part = h / f64::from(substeps);
        if !(part.is_finite() && 0.0 < part) {
            return Err(StepError::BadStep { h }.into());
        }
        self.check_finite()?;
        self.check_differentiable(substeps)?;
        for input in &by.inputs {
            let missing = || DifferentiateError::NoInput {
                input: input.to_string(),
            };
            input.get(self).ok_or_else(missing)?;
        }
        let mut world = self.clone();
        let layout = Layout::new(self);
        let loads = std::mem::take(&mut world.loads);
        let mut parts = Vec::new();
        for k in 0..substeps {
            // Loads are put on once; those that turn with their body follow its pose.
            world.loads = if k == 0 { loads.clone() } else { Vec::new() };
            let given = world.put_loads(h);
            let solved = world.solved(part, solver)?;
            world.take_loads(given);
            let inner = match by.smoothing {
                None => Derivative::new(&solved.assembly.problem, &solved.solution),
                Some(tau) => Derivative::smoothed(&solved.assembly.problem, &solved.solution, tau),
            }?;
            let columns = columns::all(&mut world, (&layout, &by.inputs), &solved, (&inner, h))?;
            let motion = Motion::new(&world, &layout, &solved)?;
            parts.push(Part {
                keys: solved.assembly.keys.clone(),
                inner: inner.into_owned(),
                columns,
                motion,
            });
            if k + 1 < substeps {
                if k == 0 {
                    world.put_loads(h);
                }
                world.take(solved)?;
            }
        }
        Ok(StepDerivative {
            layout,
            n_inputs: by.inputs.len(),
            parts,
        })
    }

    fn check_differentiable(&self, substeps: u32) -> Result<(), DifferentiateError> {
        let unsupported = |what| Err(DifferentiateError::Unsupported { what });
        match self.settings.integrator {
            Integrator::Spook => {}
            Integrator::Midpoint if self.robots.is_empty() => {}
            _ => return unsupported("a step of second order"),
        }
        if self.joints.iter().any(|joint| joint.counts_turns()) {
            return unsupported("a gear, whose turns are a state of their own,");
        }
        if 1 < substeps && self.loads.iter().any(|load| load.turns) {
            return unsupported("a load that turns with its body, over several substeps,");
        }
        Ok(())
    }

    /// Finds contacts and solves a substep.
    fn solved(&mut self, h: f64, solver: &mut dyn Solver) -> Result<Solved, DifferentiateError> {
        self.spare.halvings = 0;
        self.forget_reached_limits();
        self.prepare_robots(h);
        let contacts = self.collide_awake(h, Find::by(solver))?;
        let assembly = assemble::assemble(self, h, &contacts, assemble::Room::default());
        let mut assembly = assembly.map_err(StepError::from)?;
        let mut solution = Solution::default();
        let foreseen = self.warm.predict(&assembly, h, &mut solution.lambda);
        let (report, pushed) = self.solve(h, &contacts, (&mut assembly, &mut solution), solver)?;
        if pushed.is_some() || solver.stop().is_swept_as_asked(report.status) {
            return Err(DifferentiateError::NoTolerance);
        }
        match report.status {
            Status::Solved | Status::RoundingFloor => Ok(Solved {
                assembly,
                solution,
                contacts,
                h,
                found: Found::of(&report, foreseen),
            }),
            status => Err(DifferentiateError::NotSolved { status }),
        }
    }

    /// Takes a substep.
    fn take(&mut self, solved: Solved) -> Result<(), DifferentiateError> {
        let Solved {
            assembly,
            solution,
            contacts,
            h,
            found,
        } = solved;
        self.commit(h, &assembly, (&solution.v, &solution.v), None)?;
        self.warm
            .save(&assembly, &solution.lambda, (h, Some(found)));
        self.rest(h, &contacts);
        Ok(())
    }
}

impl StepDerivative {
    /// Where bodies and robots stand in arrays.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Blocks on the edge between two modes, of any substep: the derivative is that of one side.
    /// [`World::describe`] puts them into words.
    pub fn degenerate(&self) -> impl Iterator<Item = Key> {
        self.parts.iter().flat_map(|part| {
            let blocks = part.inner.degenerate();
            blocks.map(|block| part.keys[block.index()])
        })
    }

    /// What is changed by a number along which the rows themselves have a kink: a contact that appears, vanishes or goes
    /// to another feature. Counted through poses, velocities, forces and inputs.
    pub fn kinks(&self) -> impl Iterator<Item = usize> {
        let columns = self
            .parts
            .iter()
            .flat_map(|part| part.columns.iter().enumerate());
        columns.filter(|(_, column)| column.kink).map(|(i, _)| i)
    }

    /// Whether it is the derivative of both sides: nothing is on an edge and no row has a kink.
    pub fn is_smooth(&self) -> bool {
        self.degenerate().next().is_none() && self.kinks().next().is_none()
    }

    /// Whether impulses change in one way only.
    pub fn is_unique(&self) -> bool {
        self.parts.iter().all(|part| part.inner.is_unique())
    }

    /// The mode of every block of the last substep, with its key.
    pub fn modes(&self) -> impl Iterator<Item = (Key, Mode)> {
        let last = self.parts.last().into_iter();
        last.flat_map(|part| part.keys.iter().copied().zip(part.inner.modes()))
    }

    /// How the state after the step changes: poses, then velocities.
    pub fn forward(&self, change: &StepChange) -> Result<Vec<f64>, DifferentiateError> {
        let n = self.layout.len();
        let mut state = sized("state", &change.state, 2 * n)?;
        let force = sized("force", &change.force, n)?;
        let inputs = sized("inputs", &change.inputs, self.n_inputs)?;
        for part in &self.parts {
            let (mut p, mut q) = part.zeros();
            let mut law = vec![[0.0; MOST_NUMBERS]; part.keys.len()];
            let given = state.iter().chain(&force).chain(&inputs);
            for (column, by) in part.columns.iter().zip(given).filter(|(_, by)| **by != 0.0) {
                add(&mut p, &column.p, *by);
                add(&mut q, &column.q, *by);
                for (k, numbers) in &column.law {
                    for (sum, x) in law[*k].iter_mut().zip(numbers) {
                        *sum += by * x;
                    }
                }
            }
            let change = Change {
                p,
                q,
                law,
                ..Change::default()
            };
            let dv = part.inner.forward(&change)?.v;
            state = part.motion.forward(&state, &dv);
        }
        Ok(state)
    }

    /// ∂L/∂ of everything that goes into the step from ∂L/∂ of the state after it, poses then velocities.
    pub fn backward(&self, state: &[f64]) -> Result<StepChange, DifferentiateError> {
        let n = self.layout.len();
        let mut found = StepChange {
            state: sized("state", state, 2 * n)?,
            force: vec![0.0; n],
            inputs: vec![0.0; self.n_inputs],
        };
        for part in self.parts.iter().rev() {
            let (before, dv) = part.motion.backward(&found.state, part.zeros().0.len());
            let back = part.inner.backward(&dv, &[])?;
            found.state = before;
            let StepChange {
                state,
                force,
                inputs,
            } = &mut found;
            let places = state.iter_mut().chain(force).chain(inputs);
            for (column, place) in part.columns.iter().zip(places) {
                *place += column.dot(&back);
            }
        }
        Ok(found)
    }

    /// The derivative of the state after the step by the state before it, row by row: 2n × 2n numbers.
    pub fn state_matrix(&self) -> Result<Vec<f64>, DifferentiateError> {
        let n = 2 * self.layout.len();
        let mut matrix = Vec::with_capacity(n * n);
        for i in 0..n {
            let mut row = vec![0.0; n];
            row[i] = 1.0;
            matrix.extend(self.backward(&row)?.state);
        }
        Ok(matrix)
    }
}

impl Part {
    /// Room for changes of p and q.
    fn zeros(&self) -> (Vec<f64>, Vec<f64>) {
        let (v, rows) = self.inner.sizes();
        (vec![0.0; v], vec![0.0; rows])
    }
}

impl Column {
    /// Its product with the sensitivities of p, q and the laws.
    fn dot(&self, back: &Sensitivity) -> f64 {
        let along = |entries: &[(usize, f64)], by: &[f64]| -> f64 {
            entries.iter().map(|(i, x)| x * by[*i]).sum()
        };
        let law = self.law.iter().map(|(k, numbers)| {
            let pairs = numbers.iter().zip(&back.law[*k]);
            pairs.map(|(x, by)| x * by).sum::<f64>()
        });
        along(&self.p, &back.p) + along(&self.q, &back.q) + law.sum::<f64>()
    }
}

fn add(sum: &mut [f64], entries: &[(usize, f64)], by: f64) {
    for (i, x) in entries {
        sum[*i] += by * x;
    }
}

/// The array, or zeros where it is empty; refuses one of another length and numbers that are not finite.
fn sized(what: &'static str, array: &[f64], expected: usize) -> Result<Vec<f64>, DerivativeError> {
    if array.is_empty() {
        return Ok(vec![0.0; expected]);
    }
    crate::derivative::check(what, array, expected)?;
    Ok(array.to_vec())
}
