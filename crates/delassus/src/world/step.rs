//! One time step: find contacts, assemble, start from the last step's impulses, solve, move the bodies.

use std::time::Instant;

use glam::DVec3;

use super::assemble::{self, Assembly};
use super::bounce::HALVINGS;
use super::calm::Halves;
use super::contacts::Find;
use super::integrate::are_finite;
use super::lanes::Order;
use super::warm::Found;
use super::{Integrator, Key, Probe, World};
use crate::collide::{CollideError, ContactPoint};
use crate::error::BuildError;
use crate::index::RobotId;
use crate::math::parallel::{self, CHUNK};
use crate::problem::{Problem, Solution};
use crate::solver::{Report, Solver};

/// Why a step was refused. The world is as it was before, forces and torques of the caller included: a bad one stays
/// in [`Bodies::force`](super::Bodies::force) until it is replaced, and the next step is refused for it too.
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
    #[error("collision detection: {0}")]
    Collide(#[from] CollideError),
    /// The solver was asked to end early, before it had an answer.
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
    /// Substeps whose solve did not end as solved, those swept as often as asked excepted.
    pub unsolved: u32,
    /// Substeps swept as often as asked, where no tolerance was.
    pub swept: u32,
    /// Substeps whose answer came from another solver than the first one tried.
    pub fallbacks: u32,
    /// Substeps taken at first order where second was asked for.
    pub coarse: u32,
    /// Contacts in the last substep.
    pub contacts: usize,
    /// Deepest penetration met while stepping \[m\].
    pub penetration: f64,
    /// Largest joint violation after the step \[m or rad\].
    pub violation: f64,
    /// Energy taken from joints of robots that turn faster than the step can follow \[J\].
    pub braked: f64,
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

impl World {
    /// Advances the world by h seconds. Where there are many bodies and contacts the threads of the current rayon pool
    /// share the work; their number changes no bit of the result. It is fastest when called from within the pool.
    pub fn step(&mut self, h: f64, solver: &mut dyn Solver) -> Result<Step, StepError> {
        let substeps = self.settings.substeps.max(1);
        let part = h / f64::from(substeps);
        if !(part.is_finite() && 0.0 < part) {
            return Err(StepError::BadStep { h });
        }
        self.pushes.begin();
        self.sensors_begin();
        let given = self.put_loads(h);
        let step = match self.whole_step_in_lanes(part, substeps, solver) {
            Some(step) => Ok(step),
            None => self.whole_step(part, substeps, solver),
        };
        if step.is_err() {
            self.take_loads(given);
        }
        let step = step?;
        self.pushes.finish(&self.bodies);
        self.sensors_read(h);
        Ok(step)
    }

    /// All substeps, or none.
    fn whole_step(
        &mut self,
        part: f64,
        substeps: u32,
        solver: &mut dyn Solver,
    ) -> Result<Step, StepError> {
        self.check_finite()?;
        let mut before = std::mem::take(&mut self.spare.before);
        self.snapshot(&mut before);
        self.spare.before = before;
        self.reactions.clear();
        let step = match self.substeps(part, substeps, solver) {
            Ok(step) => step,
            Err(error) => {
                let before = std::mem::take(&mut self.spare.before);
                self.rewind(before);
                self.lanes.step_failed();
                return Err(error);
            }
        };
        self.bodies.force.fill(DVec3::ZERO);
        self.bodies.torque.fill(DVec3::ZERO);
        self.lanes.forces_are_spent();
        for robot in &mut self.robots {
            robot.force.fill(0.0);
        }
        Ok(step)
    }

    /// All substeps at once, where nothing can touch and joints alone are there.
    fn whole_step_in_lanes(&mut self, h: f64, count: u32, solver: &dyn Solver) -> Option<Step> {
        if self.may_meet {
            return None;
        }
        std::mem::swap(&mut self.reactions, &mut self.spare.reactions);
        self.reactions.clear();
        let order = match self.settings.integrator {
            Integrator::Spook | Integrator::Midpoint => Order::First,
            Integrator::Rattle => Order::Second,
        };
        let step = self.step_in_lanes((h, count), order, solver);
        if step.is_none() {
            std::mem::swap(&mut self.reactions, &mut self.spare.reactions);
        } else if self.lanes.is_pushed() {
            self.bodies.force.fill(DVec3::ZERO);
            self.bodies.torque.fill(DVec3::ZERO);
            self.lanes.forces_are_spent();
        }
        step
    }

    fn substeps(&mut self, h: f64, count: u32, solver: &mut dyn Solver) -> Result<Step, StepError> {
        let mut step = self.substep(h, solver)?;
        for _ in 1..count {
            step.join(self.substep(h, solver)?);
        }
        Ok(step)
    }

    /// The problem the next step of h seconds would solve, with its warm start. Limits of robots that are out of reach are
    /// not in it; a step that turns out to reach one is solved again with it.
    pub fn problem(&mut self, h: f64) -> Result<(Problem, Solution), StepError> {
        self.check_finite()?;
        let given = self.put_loads(h);
        let assembly = self.assemble_next(h);
        self.take_loads(given);
        let assembly = assembly?;
        let mut solution = Solution::default();
        self.warm.predict(&assembly, h, &mut solution.lambda);
        let solution = Solution::from_lambda(&assembly.problem, solution.lambda);
        Ok((assembly.problem, solution))
    }

    /// The problem of the next step with the keys of its blocks.
    fn assemble_next(&mut self, h: f64) -> Result<Assembly, StepError> {
        self.prepare_robots(h);
        let contacts = self.collide_awake(h, Find::Anew)?;
        Ok(assemble::assemble(
            self,
            h,
            &contacts,
            assemble::Room::default(),
        )?)
    }

    fn substep(&mut self, h: f64, solver: &mut dyn Solver) -> Result<Step, StepError> {
        match self.settings.integrator {
            Integrator::Spook | Integrator::Midpoint => self.first_order(h, solver),
            Integrator::Rattle => self.second_order(h, solver),
        }
    }

    /// Collide, assemble, warm-start, solve, integrate.
    pub(super) fn first_order(
        &mut self,
        h: f64,
        solver: &mut dyn Solver,
    ) -> Result<Step, StepError> {
        let mut clock = Clock::default();
        let mut start = Instant::now();
        let mut lap = |at: &mut f64| {
            let now = Instant::now();
            *at = now.duration_since(start).as_secs_f64();
            start = now;
        };
        self.prepare_robots(h);
        let before = self.energy_before();
        let contacts = self.collide_awake(h, Find::by(solver))?;
        lap(&mut clock.collide);
        if contacts.is_empty()
            && let Some(mut step) = self.step_in_lanes((h, 1), Order::First, solver)
        {
            self.give_back(contacts);
            step.clock.collide = clock.collide;
            return Ok(step);
        }
        let aside = self.set_aside(h, Order::First, &contacts, solver);
        let room = std::mem::take(&mut self.spare.room);
        let mut assembly = assemble::assemble(self, h, &contacts, room)?;
        let mut solution = std::mem::take(&mut self.spare.solution);
        let foreseen = self.warm.predict(&assembly, h, &mut solution.lambda);
        lap(&mut clock.assemble);
        let solved = self.solve(h, &contacts, (&mut assembly, &mut solution), solver);
        self.spare.halvings = 0;
        self.forget_reached_limits();
        let (report, pushed) = solved?;
        lap(&mut clock.solve);
        if report.status != crate::Status::Solved && solver.stop().is_cancelled() {
            return Err(StepError::Interrupted);
        }
        self.add_reactions(&assembly, &solution.lambda, h);
        let worst = assembly.key(report.residual.worst_block);
        let moves = pushed.as_deref().unwrap_or(&solution.v);
        self.commit(h, &assembly, (moves, &solution.v), worst)?;
        let found = Some(Found::of(&report, foreseen));
        self.warm.save(&assembly, &solution.lambda, (h, found));
        let violation = match aside {
            Some(_) => self.bring_back(),
            None => self.violation(),
        };
        self.rest(h, &contacts);
        let (probe, braked) = self.brake(h, before);
        let (count, penetration) = (contacts.len(), deepest(&contacts));
        let touches = &mut self.touches;
        let old = touches.replace(contacts, &mut assembly, &solution.lambda);
        self.pushes.note(touches);
        self.give_back(old);
        self.spare.room = assembly.recycle();
        self.spare.solution = solution;
        if let Some(pushed) = pushed {
            self.spare.small.mean = pushed;
        }
        lap(&mut clock.integrate);
        let swept = solver.stop().is_swept_as_asked(report.status);
        let mut step = Step {
            worst,
            unsolved: u32::from(report.status != crate::Status::Solved && !swept),
            swept: u32::from(swept),
            fallbacks: u32::from(report.fallback.is_some()),
            coarse: 0,
            braked,
            report,
            contacts: count,
            penetration,
            violation,
            probe,
            clock,
        };
        if let Some(aside) = aside {
            step.count(aside);
        }
        Ok(step)
    }

    /// Solves the step, again with less restitution where contacts bring energy, and again with the limits of robots
    /// that it turned out to reach. Returns also the velocity that bodies move with, where it is not the one they keep.
    pub(super) fn solve(
        &mut self,
        h: f64,
        contacts: &[ContactPoint],
        (assembly, solution): (&mut Assembly, &mut Solution),
        solver: &mut dyn Solver,
    ) -> Result<(Report, Option<Vec<f64>>), StepError> {
        let parts = (&mut *assembly, contacts);
        if let Some((report, mean)) = self.in_small_steps(solver, parts, solution, h) {
            return Ok((report, Some(mean)));
        }
        let halves = Halves::begin(self, solver, assembly);
        let mut report = solver.solve(&assembly.problem, solution);
        loop {
            let bounces = self.spare.halvings <= HALVINGS
                && self.contacts_gain((assembly, solution), contacts, h);
            let passes = self.note_reached_limits(&solution.v[6 * assembly.bodies.len()..], h);
            if !bounces && !passes {
                break;
            }
            self.spare.halvings += u32::from(bounces);
            let room = assembly.vacate();
            let again = room.and_then(|room| assemble::assemble(self, h, contacts, room));
            match again {
                Ok(again) => *assembly = again,
                Err(error) => {
                    if let Some(halves) = halves {
                        halves.end(solver);
                    }
                    return Err(error.into());
                }
            }
            if passes {
                self.warm.predict(assembly, h, &mut solution.lambda);
            }
            let again = solver.solve(&assembly.problem, solution);
            report = Report {
                iterations: report.iterations + again.iterations,
                elapsed: report.elapsed + again.elapsed,
                fallback: again.fallback.or(report.fallback),
                ..again
            };
        }
        if halves.is_none() {
            self.let_joints_agree(h, (assembly, solution), solver, &mut report);
            let stop = solver.stop();
            self.refuse_gain(h, (assembly, solution), (&mut report, stop));
        }
        let pushed = halves.and_then(|halves| {
            let found = (&mut *solution, &mut report);
            let pushed = self.calm(&halves, solver, (&mut *assembly, contacts), found, h);
            halves.end(solver);
            pushed
        });
        Ok((report, pushed))
    }

    /// Moves the bodies with one velocity and gives them another one to keep, unless a number would stop being finite.
    pub(super) fn commit(
        &mut self,
        h: f64,
        assembly: &Assembly,
        (moves, keeps): (&[f64], &[f64]),
        worst: Option<Key>,
    ) -> Result<(), StepError> {
        self.write_velocities(assembly, moves);
        let mut before = Vec::new();
        if self.joints.iter().any(|joint| joint.counts_turns()) {
            before.clone_from(&self.bodies.orientation);
        }
        self.bodies.advance(h);
        let moved = self.move_robots(h, assembly, moves);
        // Gears count the turns that were made.
        for i in 0..self.joints.len() {
            self.joints[i].coordinate = self.joints[i].follow(&self.bodies, &before, h);
        }
        self.write_velocities(assembly, keeps);
        let lost = self.bodies.not_finite();
        let lost = lost.map(|id| self.bodies.name[id.index()].clone());
        let robot = |id: RobotId| self.robots[id.index()].name().to_owned();
        if let Some(body) = moved.err().map(robot).or(lost) {
            let row = worst.map_or_else(|| "none".to_owned(), |key| self.describe(key));
            let problem = Box::new(assembly.problem.clone());
            return Err(StepError::NotFinite { body, row, problem });
        }
        self.time.add(h);
        Ok(())
    }

    fn write_velocities(&mut self, assembly: &Assembly, v: &[f64]) {
        for (id, v) in assembly.bodies.iter().zip(v.chunks_exact(6)) {
            self.bodies.velocity[id.index()] = DVec3::from_slice(&v[..3]);
            self.bodies.spin[id.index()] = DVec3::from_slice(&v[3..]);
        }
    }

    /// Refuses numbers that a caller put into the bodies and that no step can start from.
    pub(super) fn check_finite(&self) -> Result<(), StepError> {
        let bodies = &self.bodies;
        self.check_joint_forces()?;
        let lists = [
            &bodies.position,
            &bodies.velocity,
            &bodies.spin,
            &bodies.force,
            &bodies.torque,
        ];
        if lists.iter().all(|list| are_finite(list)) {
            return Ok(());
        }
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
                let worst = numbers.into_iter().find(|x| !x.is_finite());
                return Err(StepError::Assemble(BuildError::NotFinite {
                    place: format!("{what} of body \"{}\"", bodies.name[i]),
                    value: worst.expect("the vector is not finite"),
                }));
            }
        }
        Ok(())
    }
}

/// The deepest overlap \[m\].
fn deepest(contacts: &[ContactPoint]) -> f64 {
    let of = |part: &[ContactPoint]| part.iter().fold(0.0_f64, |m, c| m.max(-c.gap));
    let length = parallel::share(contacts.len()).max(8 * CHUNK);
    if contacts.len() <= length {
        return of(contacts);
    }
    let parts = contacts.chunks(length).collect();
    parallel::map(parts, of).into_iter().fold(0.0, f64::max)
}

impl Step {
    /// Adds a later substep to this step.
    pub(super) fn join(&mut self, next: Step) {
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
        self.swept += next.swept;
        self.fallbacks += next.fallbacks;
        self.coarse += next.coarse;
        self.braked += next.braked;
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
