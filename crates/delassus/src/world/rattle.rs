//! The second-order step for rigid joints: RATTLE, with the exact solve of `solver/direct`.
//!
//! ```text
//! v½ ← v + ½h M⁻¹f + M⁻¹G(x)ᵀλ  with λ such that  g(x ⊕ h v½) = 0
//! x  ← x ⊕ h v½
//! v  ← v½ + ½h M⁻¹f + M⁻¹G(x)ᵀμ  with μ such that  G(x) v = 0
//! ```
//!
//! λ is found with the factors of the old pose. Bodies drift from x to x' as free bodies do, at constant angular
//! momentum; so the gyroscopic torque is in the drift. Where the loop does not end, or an arm swings too far, the
//! step is halved. Contacts, limits, drives, gears, rolling, compliant joints and robots have no such step: a substep
//! that meets
//! them is taken at first order and counted.

use std::time::Instant;

use glam::{DMat3, DQuat, DVec3};

use super::assemble::{self, Assembly};
use super::contacts::Find;
use super::lanes::Order;
use super::state::Snapshot;
use super::{Clock, Gyroscopic, Step, StepError, World, integrate};
use crate::problem::Solution;
use crate::solver::exact::direct::{Direct, Joints, Work};
use crate::solver::{Solver, Status};

/// How a world is taken through time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Integrator {
    /// First order: everything is stabilised by SPOOK and solved at the old pose.
    #[default]
    Spook,
    /// Second order for rigid joints alone; substeps that meet anything else are taken at first order.
    Rattle,
    /// Second order for robots that nothing holds or touches: implicit midpoint; all else is as under SPOOK.
    Midpoint,
}

impl Integrator {
    /// All of them, with the names used in files and on the command line.
    pub const NAMES: [(&'static str, Integrator); 3] = [
        ("spook", Integrator::Spook),
        ("rattle", Integrator::Rattle),
        ("midpoint", Integrator::Midpoint),
    ];
}

/// Largest violation that a pose may keep \[m or rad\].
pub(super) const CLOSED: f64 = 1e-10;
/// Most corrections of a pose.
pub(super) const CORRECTIONS: usize = 12;
/// Rounds towards the midpoint of a free turn: each gains a factor of h|ω|.
pub(super) const MIDPOINT: usize = 6;
/// Most halvings of a substep.
pub(super) const HALVINGS: u32 = 10;
/// Most that the arm of a joint may swing in a step \[rad\]: beyond it steps of changing length gain energy.
pub(super) const SWING: f64 = 0.15;

impl World {
    /// One substep of second order where there are rigid joints alone, else of first.
    pub(super) fn second_order(
        &mut self,
        h: f64,
        solver: &mut dyn Solver,
    ) -> Result<Step, StepError> {
        let start = Instant::now();
        let contacts = self.collide_awake(h, Find::Anew)?;
        let collide = start.elapsed().as_secs_f64();
        let alone = contacts.is_empty() && self.robots.is_empty() && self.joints_are_rigid();
        if alone && let Some(mut step) = self.step_in_lanes((h, 1), Order::Second, solver) {
            step.clock.collide += collide;
            return Ok(step);
        }
        let aside = self.set_aside(h, Order::Second, &contacts, solver);
        let mut step = if alone {
            self.close_joints(h, solver, HALVINGS)?
        } else {
            self.coarse(h, solver)?
        };
        if let Some(aside) = aside {
            (step.violation, step.probe) = (self.bring_back(), self.probe());
            step.count(aside);
        }
        step.clock.collide += collide;
        Ok(step)
    }

    /// A substep of first order in place of one of second.
    fn coarse(&mut self, h: f64, solver: &mut dyn Solver) -> Result<Step, StepError> {
        let mut step = self.first_order(h, solver)?;
        step.coarse = 1;
        Ok(step)
    }

    /// Whether all rows are equalities of poses without compliance.
    fn joints_are_rigid(&self) -> bool {
        let mut joints = self.joints.iter();
        joints.all(|joint| joint.is_rigid(&self.bodies))
    }

    /// Halves the step until the joints can be closed.
    fn close_joints(
        &mut self,
        h: f64,
        solver: &mut dyn Solver,
        halvings: u32,
    ) -> Result<Step, StepError> {
        let mut before = Snapshot::default();
        self.snapshot(&mut before);
        let swing = if halvings == 0 { f64::INFINITY } else { SWING };
        if let Some(step) = self.rattle((h, swing), solver)? {
            return Ok(step);
        }
        self.rewind(before);
        if halvings == 0 {
            return self.coarse(h, solver);
        }
        let mut step = self.close_joints(0.5 * h, solver, halvings - 1)?;
        step.join(self.close_joints(0.5 * h, solver, halvings - 1)?);
        Ok(step)
    }

    /// One step, or `None` where the joints were not closed; then poses and velocities are spoilt.
    fn rattle(
        &mut self,
        (h, swing): (f64, f64),
        solver: &dyn Solver,
    ) -> Result<Option<Step>, StepError> {
        if swing < h * self.fastest_arm() {
            return Ok(None);
        }
        let mut clock = Clock::default();
        let mut start = Instant::now();
        let mut lap = |at: &mut f64| {
            *at += start.elapsed().as_secs_f64();
            start = Instant::now();
        };
        let first = self.half(h)?;
        lap(&mut clock.assemble);
        let Some((mut impulse, corrections)) = self.close(h, &first) else {
            return Ok(None);
        };
        self.spare.room = first.recycle();
        lap(&mut clock.integrate);
        let second = self.half(h)?;
        lap(&mut clock.assemble);
        let mut solution = Solution::zeros(&second.problem);
        let mut direct = Direct {
            stop: solver.stop(),
            ..Direct::default()
        };
        std::mem::swap(&mut direct.work, &mut self.factors.velocity);
        let mut report = direct.solve(&second.problem, &mut solution);
        self.factors.velocity = direct.work;
        report.iterations += corrections;
        lap(&mut clock.solve);
        self.put_velocities(&second, &solution.v);
        if self.bodies.not_finite().is_some() {
            return Ok(None);
        }
        for i in 0..self.joints.len() {
            self.joints[i].coordinate = self.joints[i].measure(&self.bodies);
        }
        self.time.add(h);
        self.touches.clear();
        for (sum, last) in impulse.iter_mut().zip(&solution.lambda) {
            *sum += last;
        }
        self.warm.save(&second, &impulse, (h, None));
        let worst = second.key(report.residual.worst_block);
        self.add_reactions(&second, &solution.lambda, 0.5 * h);
        self.rest(h, &[]);
        self.spare.room = second.recycle();
        lap(&mut clock.integrate);
        Ok(Some(Step {
            worst,
            unsolved: u32::from(report.status != Status::Solved),
            swept: 0,
            fallbacks: 0,
            coarse: 0,
            braked: 0.0,
            report,
            contacts: 0,
            penetration: 0.0,
            violation: self.violation(),
            probe: self.bodies.probe(self.gravity),
            clock,
        }))
    }

    /// The problem of half a kick at the present pose whose rows ask for no velocity.
    fn half(&mut self, h: f64) -> Result<Assembly, StepError> {
        let kept = std::mem::replace(&mut self.settings.gyroscopic, Gyroscopic::Off);
        let room = std::mem::take(&mut self.spare.room);
        let assembly = assemble::velocities(self, 0.5 * h, room);
        self.settings.gyroscopic = kept;
        Ok(assembly?)
    }

    /// Fastest swing of an arm, from the centre of a body to one of its joints \[rad/s\]. Spin about the arm itself
    /// does not count.
    fn fastest_arm(&self) -> f64 {
        let mut fastest = 0.0_f64;
        for joint in &self.joints {
            for (link, frame) in joint.bodies.iter().zip(&joint.frames) {
                let Some(id) = link.filter(|id| self.bodies.is_free(*id)) else {
                    continue;
                };
                let arm = self.bodies.orientation[id.index()] * frame.origin;
                if let Some(arm) = arm.try_normalize() {
                    fastest = fastest.max(self.bodies.spin[id.index()].cross(arm).length());
                }
            }
        }
        fastest
    }

    /// Moves all bodies for h seconds as if nothing acted on them.
    fn drift(&mut self, h: f64, before: &[DQuat]) {
        self.bodies.advance(h);
        if self.settings.gyroscopic == Gyroscopic::Off {
            return;
        }
        for id in self.bodies.ids() {
            let i = id.index();
            let inertia = self.bodies.inertia[i];
            let alike = inertia == DMat3::from_diagonal(DVec3::splat(inertia.x_axis.x));
            if self.bodies.is_free(id) && !alike {
                let (turn, spin) = free_turn(inertia, before[i], self.bodies.spin[i], h);
                self.bodies.orientation[i] = turn;
                self.bodies.spin[i] = spin;
            }
        }
    }

    /// Moves to the pose at which the joints are closed; gives the impulses that lead there and how often they were
    /// corrected, or `None` where they were not found.
    fn close(&mut self, h: f64, half: &Assembly) -> Option<(Vec<f64>, usize)> {
        let problem = &half.problem;
        let mut joints = std::mem::take(&mut self.factors.pose);
        // The first guess holds the velocities at the old pose.
        joints.factor_and_solve(problem);
        let mut lambda = vec![0.0; problem.n_rows()];
        joints.add_to(&mut lambda);
        let position = self.bodies.position.clone();
        let orientation = self.bodies.orientation.clone();
        let (mut v, mut gaps) = (vec![0.0; problem.n_velocities()], Vec::new());
        let mut found = None;
        for correction in 0..=CORRECTIONS {
            problem.velocity(&lambda, &mut v);
            self.put_velocities(half, &v);
            self.bodies.position.copy_from_slice(&position);
            self.bodies.orientation.copy_from_slice(&orientation);
            self.drift(h, &orientation);
            let open = self.gaps(h, &mut gaps);
            if gaps.len() != lambda.len() || !open.is_finite() {
                break;
            }
            if open <= CLOSED {
                found = Some(correction);
                break;
            }
            // A Newton step with the factors of the old pose: S Δλ = −g/h.
            joints.solve(&gaps);
            joints.add_to(&mut lambda);
        }
        self.factors.pose = joints;
        let corrections = found?;
        // The impulses act at the old pose.
        let moved = (
            std::mem::replace(&mut self.bodies.position, position),
            std::mem::replace(&mut self.bodies.orientation, orientation),
        );
        self.add_reactions(half, &lambda, 0.5 * h);
        (self.bodies.position, self.bodies.orientation) = moved;
        Some((lambda, corrections))
    }

    /// g/h of all rows in the order of the problem, and the largest |g|.
    fn gaps(&self, h: f64, gaps: &mut Vec<f64>) -> f64 {
        gaps.clear();
        let mut open = 0.0_f64;
        for joint in &self.joints {
            if !joint.each_link().any(|id| self.bodies.is_free(id)) {
                continue;
            }
            joint.visit(&self.bodies, |block| {
                for gap in block.gaps().flatten() {
                    open = if gap.is_nan() {
                        f64::INFINITY
                    } else {
                        open.max(gap.abs())
                    };
                    gaps.push(gap / h);
                }
            });
        }
        open
    }

    fn put_velocities(&mut self, assembly: &Assembly, v: &[f64]) {
        for (id, v) in assembly.bodies.iter().zip(v.chunks_exact(6)) {
            self.bodies.velocity[id.index()] = DVec3::from_slice(&v[..3]);
            self.bodies.spin[id.index()] = DVec3::from_slice(&v[3..]);
        }
    }
}

/// Orientation and angular velocity of a free body after h seconds, by the implicit midpoint rule: the angular
/// momentum stays, and running backwards leads back.
fn free_turn(inertia: DMat3, start: DQuat, spin: DVec3, h: f64) -> (DQuat, DVec3) {
    let at = |turn: DQuat| DMat3::from_quat(turn);
    // L = R I Rᵀω stays; ω(R) = R I⁻¹RᵀL at any orientation R.
    let momentum = at(start) * (inertia * (at(start).transpose() * spin));
    let inverse = inertia.inverse();
    let spin_at = |turn: DQuat| at(turn) * (inverse * (at(turn).transpose() * momentum));
    // ω½ = ω(exp(½h ω½) R₀) by fixed-point rounds, then R₁ = exp(h ω½) R₀.
    let mut middle = spin;
    for _ in 0..MIDPOINT {
        middle = spin_at(integrate::turn(start, middle, 0.5 * h));
    }
    let end = integrate::turn(start, middle, h);
    (end, spin_at(end))
}

/// What a second-order step keeps for the next: the analyses of both solves.
#[derive(Clone, Debug, Default)]
pub(super) struct Factors {
    pose: Joints,
    velocity: Work,
}
