//! A world of rigid bodies, joints and contacts, stepped by any solver.
//!
//! One step: find contacts, assemble a [`Problem`], start from the last step's impulses, solve, move the bodies.
//! The problem of any step can be taken out, saved and solved elsewhere: [`World::problem`].

mod assemble;
mod bodies;
mod builder;
mod contacts;
mod handle;
mod integrate;
mod joint;
mod names;
mod rattle;
mod reaction;
mod robot;
mod rows;
pub mod scene;
mod sleep;
mod state;
mod stiffness;
mod touches;
mod warm;

use std::time::Instant;

use glam::DVec3;

pub use bodies::{Bodies, Body, Motion};
pub use builder::{Attach, MaterialId, WorldBuilder};
pub use integrate::{Gyroscopic, Probe};
pub use joint::{Drive, Frame, Joint, JointKind, Motor, Servo};
pub use rattle::Integrator;
pub use reaction::Reaction;
pub use robot::{Control, Placement, Robot, RobotJoint, Swing};
pub use rows::Link;
pub use sleep::Sleep;
pub use state::{State, StateError};
pub use stiffness::GeometricStiffness;
pub use touches::Touch;
pub use warm::Key;

use crate::collide::{Collider, Collisions};
use crate::error::BuildError;
use crate::index::{BodyId, JointId};
use crate::problem::{Problem, Solution};
use crate::solver::{Report, Solver};
use assemble::Assembly;
use touches::Touches;
use warm::Warm;

/// Which friction law contacts get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrictionModel {
    /// Coulomb's cone.
    #[default]
    Cone,
    /// Two independent tangents.
    Box,
    /// A cone of so many directions.
    Facets(u32),
}

/// How a world is stepped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Steps a call to [`World::step`] is divided into.
    pub substeps: u32,
    /// How time is taken: at first or second order.
    pub integrator: Integrator,
    /// How spinning bodies are treated.
    pub gyroscopic: Gyroscopic,
    /// Which bodies see the pull of their joints at the new pose, so that taut chains with heavy ends stay stable at
    /// first order.
    pub geometric_stiffness: GeometricStiffness,
    /// Which law contacts obey.
    pub friction: FrictionModel,
    /// Compliance of contacts \[m/N\].
    pub contact_compliance: f64,
    /// Damping time of contacts in steps: penetration is pushed out by 4/(1 + 4·this) per step. Larger values
    /// leave a little more penetration and much less noise when solves are cut short.
    pub contact_damping: f64,
    /// Approach speed below which contacts do not bounce \[m/s\].
    pub restitution_threshold: f64,
    /// Bodies at rest fall asleep; off where `None`.
    pub sleep: Option<Sleep>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            substeps: 1,
            integrator: Integrator::default(),
            gyroscopic: Gyroscopic::default(),
            geometric_stiffness: GeometricStiffness::default(),
            friction: FrictionModel::default(),
            contact_compliance: 0.0,
            contact_damping: 5.0,
            restitution_threshold: 0.1,
            sleep: None,
        }
    }
}

/// Friction and restitution of a pair of surfaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// Coefficient of friction.
    pub friction: f64,
    /// Coefficient of restitution in [0, 1].
    pub restitution: f64,
}

/// Why a world cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A body that cannot be.
    #[error("body \"{name}\": {what}")]
    Body {
        /// Its name.
        name: String,
        /// What is wrong and how to mend it.
        what: String,
    },
    /// A joint that cannot be.
    #[error("joint \"{name}\": {what}")]
    Joint {
        /// Its name.
        name: String,
        /// What is wrong and how to mend it.
        what: String,
    },
    /// A robot that cannot be.
    #[error("robot \"{name}\": {what}")]
    Robot {
        /// Its name.
        name: String,
        /// What is wrong and how to mend it.
        what: String,
    },
    /// A collider that cannot be.
    #[error("collider {index} of body \"{body}\": {what}")]
    Collider {
        /// Which collider.
        index: usize,
        /// Its body.
        body: String,
        /// What is wrong and how to mend it.
        what: String,
    },
}

/// Why a step was refused. The world is as it was before, forces and torques of the caller included: a bad one stays
/// in [`Bodies::force`] until it is replaced, and the next step is refused for it too.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The step size is not a positive number.
    #[error("the step is {h} s; it must be positive and finite")]
    BadStep {
        /// The step given \[s\].
        h: f64,
    },
    /// Collision detection refused the state.
    #[error("collision detection: {what}")]
    Collide {
        /// What it said.
        what: String,
    },
    /// Somebody asked the solver for an early end before it had an answer.
    #[error("the step was interrupted")]
    Interrupted,
    /// The problem could not be assembled.
    #[error("assembly: {0}")]
    Assemble(#[from] BuildError),
    /// The step would have put a number that is not finite into the state.
    #[error(
        "the step was refused: body \"{body}\" would leave the finite numbers (worst constraint: {row}); the last good state is kept"
    )]
    NotFinite {
        /// The first body concerned.
        body: String,
        /// The constraint with the largest residual.
        row: String,
        /// The problem that led there.
        problem: Box<Problem>,
    },
}

/// What one step did.
#[derive(Clone, Debug)]
pub struct Step {
    /// The solver's report (of the last substep; iterations are summed and the residual is the worst).
    pub report: Report,
    /// Whose block has the worst residual; [`World::describe`] puts it into words.
    pub worst: Option<Key>,
    /// Substeps whose solve did not end as solved.
    pub unsolved: u32,
    /// Substeps in which another solver went on where the chosen one failed.
    pub fallbacks: u32,
    /// Substeps taken at first order where second was asked for.
    pub coarse: u32,
    /// Contacts in the last substep.
    pub contacts: usize,
    /// Deepest penetration met while stepping \[m\].
    pub penetration: f64,
    /// Largest joint violation after the step \[m or rad\].
    pub violation: f64,
    /// Energy and momentum after the step.
    pub probe: Probe,
    /// Where the time went.
    pub clock: Clock,
}

/// Seconds spent in each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Clock {
    /// Finding contacts.
    pub collide: f64,
    /// Building the problem.
    pub assemble: f64,
    /// Solving it, judging included.
    pub solve: f64,
    /// Moving bodies and taking stock.
    pub integrate: f64,
}

/// Bodies, joints, colliders and what is remembered between steps.
#[derive(Debug)]
pub struct World {
    /// Gravity \[m/s²\].
    pub gravity: DVec3,
    /// How it is stepped.
    pub settings: Settings,
    bodies: Bodies,
    joints: Vec<Joint>,
    robots: Vec<Robot>,
    /// Robot and link of each body that is one.
    seats: Vec<Option<(u32, u32)>>,
    colliders: Vec<Collider>,
    surfaces: Vec<Surface>,
    pairs: Vec<((u32, u32), Surface)>,
    materials: Vec<u32>,
    /// Largest distance of a body's colliders from its centre \[m\].
    radius: Vec<f64>,
    /// Body pairs that joints keep from colliding, sorted.
    joined: Vec<(u32, u32)>,
    /// Links of robots that do not collide.
    apart: Vec<(u32, u32)>,
    collisions: Option<Collisions>,
    warm: Warm,
    touches: Touches,
    time: Elapsed,
    /// Memory of the last step.
    spare: Spare,
    factors: rattle::Factors,
    reactions: reaction::Reactions,
}

/// What a step needs and gives back: memory for its problem, the bodies that may touch, the answer, the state before.
#[derive(Debug, Default)]
struct Spare {
    room: assemble::Room,
    near: contacts::Near,
    solution: Solution,
    before: state::Snapshot,
}

/// Time simulated, with what each sum loses carried to the next: ten thousand steps of 0.5 ms are 5 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Elapsed {
    seconds: f64,
    lost: f64,
}

impl Elapsed {
    fn add(&mut self, h: f64) {
        let term = h - self.lost;
        let sum = self.seconds + term;
        self.lost = (sum - self.seconds) - term;
        self.seconds = sum;
    }
}

impl World {
    /// Bodies.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Bodies, to set velocities, forces and poses between steps.
    pub fn bodies_mut(&mut self) -> &mut Bodies {
        &mut self.bodies
    }

    /// Joints.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }

    /// A joint's drive and frames, to change between steps. Its bodies wake: a new drive is felt at once.
    pub fn joint_mut(&mut self, id: JointId) -> Option<&mut Joint> {
        for link in self.joints.get(id.index())?.links() {
            self.wake(link);
        }
        self.joints.get_mut(id.index())
    }

    /// Colliders.
    pub fn colliders(&self) -> &[Collider] {
        &self.colliders
    }

    /// Contacts of the last step with their impulses, in a fixed order.
    pub fn touches(&self) -> &[Touch] {
        self.touches.list()
    }

    /// Impulses of a joint's held rows over the last substep, on its first body, in the order of its rows [N s or
    /// N m s]: for a ball, hinge, universal or fixed joint the first three act at its point along the world's axes.
    /// Empty before the first step and where none of its bodies can move.
    pub fn joint_impulse(&self, id: JointId) -> &[f64] {
        self.warm.impulse(warm::Key::joint(id, 0))
    }

    /// Friction and restitution of the materials in the order they were added, behind the default one; they may be
    /// changed between steps. Pairs with their own surface keep it.
    pub fn surfaces_mut(&mut self) -> &mut [Surface] {
        &mut self.surfaces
    }

    /// Time simulated so far \[s\].
    pub fn time(&self) -> f64 {
        self.time.seconds
    }

    /// Advances the world by h seconds. Where there are many bodies and contacts the threads of the current rayon pool
    /// share the work; their number changes no bit of the result. It is fastest when called from within the pool.
    pub fn step(&mut self, h: f64, solver: &mut dyn Solver) -> Result<Step, StepError> {
        let substeps = self.settings.substeps.max(1);
        let part = h / f64::from(substeps);
        if !(part.is_finite() && 0.0 < part) {
            return Err(StepError::BadStep { h });
        }
        self.check_finite()?;
        let mut before = std::mem::take(&mut self.spare.before);
        self.snapshot(&mut before);
        self.reactions.clear();
        let step = match self.substeps(part, substeps, solver) {
            Ok(step) => step,
            Err(error) => {
                self.rewind(before);
                return Err(error);
            }
        };
        self.spare.before = before;
        self.bodies.force.fill(DVec3::ZERO);
        self.bodies.torque.fill(DVec3::ZERO);
        for robot in &mut self.robots {
            robot.force.fill(0.0);
        }
        Ok(step)
    }

    fn substeps(&mut self, h: f64, count: u32, solver: &mut dyn Solver) -> Result<Step, StepError> {
        let mut step = self.substep(h, solver)?;
        for _ in 1..count {
            step.join(self.substep(h, solver)?);
        }
        Ok(step)
    }

    /// The problem the next step of h seconds would solve, with its warm start.
    pub fn problem(&mut self, h: f64) -> Result<(Problem, Solution), StepError> {
        self.check_finite()?;
        self.prepare_robots(h);
        let contacts = self.collide_awake(h)?;
        let assembly = assemble::assemble(self, h, &contacts, assemble::Room::default())?;
        let mut solution = Solution::default();
        self.warm.guess(&assembly, h, &mut solution.lambda);
        let solution = Solution::from_lambda(&assembly.problem, solution.lambda);
        Ok((assembly.problem, solution))
    }

    fn substep(&mut self, h: f64, solver: &mut dyn Solver) -> Result<Step, StepError> {
        match self.settings.integrator {
            Integrator::Spook | Integrator::Midpoint => self.first_order(h, solver),
            Integrator::Rattle => self.second_order(h, solver),
        }
    }

    /// Collide, assemble, warm-start, solve, integrate.
    fn first_order(&mut self, h: f64, solver: &mut dyn Solver) -> Result<Step, StepError> {
        let mut clock = Clock::default();
        let mut start = Instant::now();
        let mut lap = |at: &mut f64| {
            *at = start.elapsed().as_secs_f64();
            start = Instant::now();
        };
        self.prepare_robots(h);
        let contacts = self.collide_awake(h)?;
        lap(&mut clock.collide);
        let room = std::mem::take(&mut self.spare.room);
        let assembly = assemble::assemble(self, h, &contacts, room)?;
        let mut solution = std::mem::take(&mut self.spare.solution);
        self.warm.guess(&assembly, h, &mut solution.lambda);
        lap(&mut clock.assemble);
        let report = solver.solve(&assembly.problem, &mut solution);
        lap(&mut clock.solve);
        if report.status != crate::Status::Solved && solver.stop().is_cancelled() {
            return Err(StepError::Interrupted);
        }
        self.add_reactions(&assembly, &solution.lambda, h);
        let worst = assembly.key(report.residual.worst_block);
        let mut assembly = self.commit(h, assembly, &solution, worst)?;
        self.warm.save(&assembly, &solution.lambda, h);
        self.rest(h, &contacts);
        let violation = self.violation();
        let probe = self.probe();
        let count = contacts.len();
        let penetration = contacts.iter().fold(0.0_f64, |m, c| m.max(-c.gap));
        let touches = &mut self.touches;
        let old = touches.replace(contacts, &mut assembly, &solution.lambda);
        self.give_back(old);
        self.spare.room = assembly.recycle();
        self.spare.solution = solution;
        lap(&mut clock.integrate);
        Ok(Step {
            worst,
            unsolved: u32::from(report.status != crate::Status::Solved),
            fallbacks: u32::from(report.fallback.is_some()),
            coarse: 0,
            report,
            contacts: count,
            penetration,
            violation,
            probe,
            clock,
        })
    }

    /// Writes the new velocities and moves the bodies, unless a number would stop being finite.
    fn commit(
        &mut self,
        h: f64,
        assembly: Assembly,
        solution: &Solution,
        worst: Option<Key>,
    ) -> Result<Assembly, StepError> {
        for (id, v) in assembly.bodies.iter().zip(solution.v.chunks_exact(6)) {
            self.bodies.velocity[id.index()] = DVec3::from_slice(&v[..3]);
            self.bodies.spin[id.index()] = DVec3::from_slice(&v[3..]);
        }
        let gears = self
            .joints
            .iter()
            .any(|joint| matches!(joint.kind, JointKind::Gear(_)));
        let turned = if gears {
            self.bodies.orientation.clone()
        } else {
            Vec::new()
        };
        self.bodies.advance(h);
        let moved = self.move_robots(h, &solution.v[6 * assembly.bodies.len()..]);
        let lost = self.bodies.not_finite();
        let lost = lost.map(|id| self.bodies.name[id.index()].clone());
        if let Some(body) = moved.err().or(lost) {
            let row = worst.map_or_else(|| "none".to_owned(), |key| self.describe(key));
            let problem = Box::new(assembly.problem);
            return Err(StepError::NotFinite { body, row, problem });
        }
        for i in 0..self.joints.len() {
            let joint = &self.joints[i];
            self.joints[i].coordinate = match &joint.kind {
                JointKind::Gear(terms) => {
                    let rate = |&(body, axis, ratio): &(BodyId, DVec3, f64)| {
                        let axis = turned[body.index()] * axis;
                        ratio * axis.dot(self.bodies.spin[body.index()])
                    };
                    joint.coordinate + h * terms.iter().map(rate).sum::<f64>()
                }
                _ => joint.measure(&self.bodies),
            };
        }
        self.time.add(h);
        Ok(assembly)
    }

    /// Refuses numbers that a caller put into the bodies and that no step can start from.
    fn check_finite(&self) -> Result<(), StepError> {
        let bodies = &self.bodies;
        self.check_joint_forces()?;
        for i in 0..bodies.len() {
            let vectors = [
                ("position", bodies.position[i]),
                ("velocity", bodies.velocity[i]),
                ("spin", bodies.spin[i]),
                ("force", bodies.force[i]),
                ("torque", bodies.torque[i]),
            ];
            if let Some((what, vector)) = vectors.iter().find(|(_, v)| !v.is_finite()) {
                let numbers = vector.to_array();
                let worst = numbers.iter().find(|x| !x.is_finite());
                return Err(StepError::Assemble(BuildError::NotFinite {
                    place: format!("{what} of body \"{}\"", bodies.name[i]),
                    value: worst.copied().unwrap_or(f64::NAN),
                }));
            }
        }
        Ok(())
    }
}

impl Step {
    /// Adds a later substep to this step.
    fn join(&mut self, next: Step) {
        let iterations = self.report.iterations + next.report.iterations;
        let residual = if self.report.residual.law < next.report.residual.law {
            self.worst = next.worst;
            next.report.residual
        } else {
            self.report.residual
        };
        self.report = Report {
            iterations,
            residual,
            ..next.report
        };
        self.unsolved += next.unsolved;
        self.fallbacks += next.fallbacks;
        self.coarse += next.coarse;
        self.contacts = next.contacts;
        self.penetration = self.penetration.max(next.penetration);
        self.violation = next.violation;
        self.probe = next.probe;
        self.clock.collide += next.clock.collide;
        self.clock.assemble += next.clock.assemble;
        self.clock.solve += next.clock.solve;
        self.clock.integrate += next.clock.integrate;
    }
}
