//! Whole steps of trees of bodies on ball joints, eight equal ones side by side while they are in the cache.
//!
//! A problem that is written out goes through memory several times a substep, and most of a large world's time with it.
//! Where joints alone are there, and the solver would solve them exactly anyway, all substeps of eight trees are
//! taken one after the other without writing one: see `kernel.rs`. The general step is the judge of this one. Rows,
//! stabilisation, stiffness and residual are the same, so both agree to rounding; and whatever is in doubt, a residual
//! above the tolerance, numbers that rounding may hide, a state that is not finite, is left to it: then nothing has
//! been written and the step is taken as if this one had not been tried.

mod algebra;
mod kernel;
mod layout;
mod measure;

use std::time::Instant;

use glam::{DQuat, DVec3};

use super::{Clock, Integrator, Key, Probe, Step, World};
use crate::index::{BlockId, BodyId, JointId};
use crate::math::parallel::{self, prelude::*};
use crate::math::simd::LANES;
use crate::problem::floor::Hidden;
use crate::problem::mass::MassBlock;
use crate::problem::residual::Residual;
use crate::problem::stabilise::Stabilise;
use crate::solver::{Fit, History, Record, Report, Solver, Status, Stop};
use kernel::{BodyState, BodyWork, Found, Pushed, Substep, SubstepRule};
use layout::{Layout, Parent, Team, TreeBody};
use measure::{Measure, Stock};

/// Fewer bodies than this are not worth waking another thread for.
const WORTHWHILE: usize = 1024;
/// Squares of the lengths of orientations may be off by so much.
const UNIT: f64 = 1e-6;

/// What is kept between steps: who stands where, and room.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// The world in lanes; `None` where it does not go into them.
    layout: Option<Layout>,
    known: Known,
    rooms: Vec<TeamRoom>,
    work: Vec<BodyWork>,
    /// Impulses of the last substep, by joint.
    pulls: Vec<[f64; 3]>,
    /// Whether forces or torques are given.
    is_pushed: bool,
}

impl Clone for Lanes {
    /// A copy is laid out anew, at its first step.
    fn clone(&self) -> Lanes {
        Lanes::default()
    }
}

/// What may have changed since the world was laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// Joints or everything.
    #[default]
    Nothing,
    /// Numbers of bodies: the caller had them in hand.
    Joints,
    /// Nothing.
    All,
}

/// The state of a team while it is stepped, and what was found.
#[derive(Debug, Default)]
struct TeamRoom {
    state: Vec<BodyState>,
    pushed: Vec<Pushed>,
    /// One for each substep.
    found: Vec<Found>,
    stock: Stock,
    /// Whether its numbers are such as a step may start from and end with.
    is_sound: bool,
}

impl Lanes {
    /// Bodies may have been changed.
    pub(super) fn touch_bodies(&mut self) {
        if self.known == Known::All {
            self.known = Known::Joints;
        }
    }

    /// The step is done, and so are its forces.
    pub(super) fn forces_are_spent(&mut self) {
        self.is_pushed = false;
    }

    /// Whether a step in lanes found forces or torques.
    pub(super) fn is_pushed(&self) -> bool {
        self.is_pushed
    }

    /// Joints may have been changed.
    pub(super) fn touch_joints(&mut self) {
        self.known = Known::Nothing;
    }
}

/// What a whole step is told.
struct WholeStep<'a> {
    world: &'a World,
    rule: SubstepRule,
    /// Length of the last substep \[s\].
    last: f64,
    substeps: u32,
    /// Whether forces or torques are given.
    is_pushed: bool,
    pulls: &'a [[f64; 3]],
}

impl World {
    /// So many substeps of h seconds, if all of the world goes into lanes and nothing speaks against the answer.
    /// Nothing has changed where it is `None`.
    pub(super) fn step_in_lanes(
        &mut self,
        h: f64,
        substeps: u32,
        solver: &dyn Solver,
    ) -> Option<Step> {
        let stop = solver.stop();
        let first_order = self.settings.integrator != Integrator::Rattle;
        let plain = stop.record == Record::Sweeps && stop.time.is_none() && 0.0 < stop.tolerance;
        if !(first_order && plain && self.robots.is_empty() && self.settings.sleep.is_none()) {
            return None;
        }
        let chosen = solver.solves_joints_at_once()?;
        if self.bodies.asleep.contains(&true) {
            return None;
        }
        let begin = Instant::now();
        let mut lanes = std::mem::take(&mut self.lanes);
        let residual = self.lay_out(&mut lanes).and_then(|()| {
            self.run_lanes(&mut lanes, (h, substeps));
            lanes.judge(self, stop)
        });
        let step = residual.map(|(residual, worst)| {
            let (violation, probe) = self.put_back(&lanes, (h, substeps));
            let elapsed = begin.elapsed();
            Step {
                report: Report {
                    solver: solver.name(),
                    options: solver.options(),
                    fit: Fit::Exact,
                    status: Status::Solved,
                    iterations: substeps as usize,
                    residual,
                    history: History::new(),
                    elapsed,
                    message: None,
                    fallback: None,
                    chosen,
                    certificate: None,
                    rank: None,
                },
                worst,
                unsolved: 0,
                swept: 0,
                fallbacks: 0,
                coarse: 0,
                contacts: 0,
                penetration: 0.0,
                violation,
                probe,
                clock: Clock {
                    solve: elapsed.as_secs_f64(),
                    ..Clock::default()
                },
            }
        });
        self.lanes = lanes;
        step
    }

    /// Sees to it that the lanes fit the world; `None` where it does not go into them.
    fn lay_out(&self, lanes: &mut Lanes) -> Option<()> {
        if lanes.known != Known::All && !self.has_sound_numbers() {
            return None;
        }
        let known = std::mem::replace(&mut lanes.known, Known::All);
        let fits = match (known, &mut lanes.layout) {
            (Known::All, _) => true,
            (Known::Joints, Some(layout)) => layout.still_fits(self),
            _ => false,
        };
        if !fits {
            lanes.layout = Layout::new(self);
        }
        if known != Known::All {
            let given = |v: &DVec3| *v != DVec3::ZERO;
            let mut forces = self.bodies.force.iter().chain(&self.bodies.torque);
            lanes.is_pushed = forces.any(given);
        }
        lanes.layout.as_ref().map(|_| ())
    }

    /// Whether the general step would take the numbers that a caller may have written; else it is to say why not.
    fn has_sound_numbers(&self) -> bool {
        let bodies = &self.bodies;
        let has_mass = |id: BodyId| {
            let (mass, inertia) = (bodies.mass[id.index()], bodies.inertia[id.index()]);
            !bodies.is_single(id) || MassBlock::rigid(mass, inertia).is_ok()
        };
        self.check_finite().is_ok() && bodies.ids().all(has_mass)
    }

    /// Whether threads share the work.
    fn shares_lanes(&self) -> bool {
        WORTHWHILE <= self.bodies.len() && 1 < parallel::current_num_threads()
    }

    /// All substeps of all teams.
    fn run_lanes(&self, lanes: &mut Lanes, (h, substeps): (f64, u32)) {
        let Some(layout) = &lanes.layout else {
            return;
        };
        lanes.pulls.clear();
        lanes.pulls.resize(self.joints.len(), [0.0; 3]);
        for (joint, impulse) in self.warm.held() {
            let place = lanes.pulls.get_mut(joint.index());
            if let (Some(place), Some(impulse)) = (place, impulse.first_chunk::<3>()) {
                *place = *impulse;
            }
        }
        let hold = Stabilise::Spook {
            compliance: 0.0,
            damping: 2.0 * h,
        };
        let c = hold.coefficients(h);
        let plan = WholeStep {
            world: self,
            rule: SubstepRule {
                h,
                per_last: 0.0,
                closing: c.e / h,
                upsilon: c.upsilon,
                gravity: self.gravity.to_array(),
                gyroscopic: self.settings.gyroscopic,
                stiffness: self.settings.geometric_stiffness,
            },
            last: self.warm.step(),
            substeps,
            is_pushed: lanes.is_pushed,
            pulls: &lanes.pulls,
        };
        lanes
            .rooms
            .resize_with(layout.teams.len(), TeamRoom::default);
        let arch = pulp::Arch::new();
        let shapes = &layout.shapes;
        if !self.shares_lanes() {
            for (team, room) in layout.teams.iter().zip(&mut lanes.rooms) {
                plan.run(arch, (&shapes[team.shape], team), room, &mut lanes.work);
            }
            return;
        }
        let rooms = lanes.rooms.par_iter_mut().zip(layout.teams.par_iter());
        rooms.for_each_init(Vec::new, |work, (room, team)| {
            plan.run(arch, (&shapes[team.shape], team), room, work);
        });
    }

    /// Writes states, impulses and reactions back; gives violation and energy.
    fn put_back(&mut self, lanes: &Lanes, (h, substeps): (f64, u32)) -> (f64, Probe) {
        let Some(layout) = &lanes.layout else {
            return (0.0, Probe::default());
        };
        let are_shared = self.shares_lanes();
        let bodies = &mut self.bodies;
        let (position, orientation) = (&mut bodies.position, &mut bodies.orientation);
        let (velocity, spin) = (&mut bodies.velocity, &mut bodies.spin);
        let (warm, reactions) = (&mut self.warm, &mut self.reactions);
        let joints = self.joints.len();
        let mut poses = || {
            each_body(layout, lanes, |body, state, l| {
                position[body] = vector(&state.x, l);
                let q = &state.q;
                orientation[body] = DQuat::from_xyzw(q[0][l], q[1][l], q[2][l], q[3][l]);
            });
        };
        let mut motions = || {
            each_body(layout, lanes, |body, state, l| {
                velocity[body] = vector(&state.v, l);
                spin[body] = vector(&state.w, l);
            });
            let lambda = warm.hold_all(joints, h);
            let sums = reactions.more(joints, f64::from(substeps) * h);
            each_joint(layout, lanes, |joint, first, state, l| {
                let sign = if first { 1.0 } else { -1.0 };
                lambda[joint] = (sign * vector(&state.lambda, l)).to_array();
                sums[joint].force += sign * vector(&state.pull, l);
            });
        };
        // Each array is written by one thread.
        if are_shared {
            parallel::join(poses, motions);
        } else {
            poses();
            motions();
        }
        (0..substeps).for_each(|_| self.time.add(h));
        self.touches.clear();
        let (mut violation, mut probe) = (0.0_f64, Probe::default());
        for (team, room) in layout.teams.iter().zip(&lanes.rooms) {
            let stock = &room.stock;
            for l in 0..team.used {
                violation = violation.max(stock.gap[l].sqrt());
                probe.kinetic += stock.kinetic[l];
                probe.potential += stock.potential[l];
                probe.momentum += vector(&stock.momentum, l);
                probe.angular_momentum += vector(&stock.angular, l);
            }
        }
        (violation, probe)
    }
}

/// Shows every body with the state of its lane.
fn each_body(layout: &Layout, lanes: &Lanes, mut show: impl FnMut(usize, &BodyState, usize)) {
    for (team, room) in layout.teams.iter().zip(&lanes.rooms) {
        for (bodies, state) in team.bodies.iter().zip(&room.state) {
            for (l, body) in bodies[..team.used].iter().enumerate() {
                show(*body as usize, state, l);
            }
        }
    }
}

/// Shows every joint, whether its first body hangs by it, and the state of that body's lane.
fn each_joint(
    layout: &Layout,
    lanes: &Lanes,
    mut show: impl FnMut(usize, bool, &BodyState, usize),
) {
    for (team, room) in layout.teams.iter().zip(&lanes.rooms) {
        let links = layout.shapes[team.shape].iter();
        for ((link, joints), state) in links.zip(&team.joints).zip(&room.state) {
            if link.parent == Parent::None {
                continue;
            }
            for (l, joint) in joints[..team.used].iter().enumerate() {
                show(*joint as usize, link.first, state, l);
            }
        }
    }
}

/// A vector of one lane.
fn vector(lanes: &kernel::Lane3, l: usize) -> DVec3 {
    DVec3::new(lanes[0][l], lanes[1][l], lanes[2][l])
}

impl WholeStep<'_> {
    /// All substeps of one team.
    fn run(
        &self,
        arch: pulp::Arch,
        (links, team): (&[TreeBody], &Team),
        room: &mut TeamRoom,
        work: &mut Vec<BodyWork>,
    ) {
        room.load(self, links, team);
        work.resize(links.len(), BodyWork::default());
        room.found.clear();
        let mut rule = self.rule;
        for k in 0..self.substeps {
            let last = if k == 0 { self.last } else { rule.h };
            rule.per_last = if 0.0 < last { 1.0 / last } else { 0.0 };
            let mut found = Found::default();
            arch.dispatch(Substep {
                links,
                made: &team.made,
                rule,
                state: &mut room.state,
                work,
                pushed: &room.pushed,
                found: &mut found,
            });
            room.found.push(found);
        }
        room.stock = arch.dispatch(Measure {
            links,
            made: &team.made,
            gravity: rule.gravity,
            state: &room.state,
        });
        room.is_sound &= room.state.iter().all(BodyState::is_finite);
    }
}

impl BodyState {
    fn is_finite(&self) -> bool {
        let numbers = self.x.iter().chain(&self.q).chain(&self.v).chain(&self.w);
        // A product with zero is zero for every finite number and not-a-number for all others.
        let sum: f64 = numbers.chain(&self.lambda).flatten().map(|x| 0.0 * x).sum();
        sum == 0.0
    }
}

impl TeamRoom {
    /// Takes states, impulses and forces of a team's bodies out of the world.
    fn load(&mut self, plan: &WholeStep<'_>, links: &[TreeBody], team: &Team) {
        let bodies = &plan.world.bodies;
        self.state.resize(links.len(), BodyState::default());
        self.is_sound = true;
        for (i, state) in self.state.iter_mut().enumerate() {
            let sign = if links[i].first { 1.0 } else { -1.0 };
            let hangs = links[i].parent != Parent::None;
            state.pull = kernel::Lane3::default();
            for l in 0..LANES {
                let body = team.bodies[i][l] as usize;
                put(&mut state.x, l, bodies.position[body]);
                put(&mut state.v, l, bodies.velocity[body]);
                put(&mut state.w, l, bodies.spin[body]);
                let q = bodies.orientation[body];
                self.is_sound &= (q.length_squared() - 1.0).abs() < UNIT;
                let q = q.to_array();
                (0..4).for_each(|k| state.q[k][l] = q[k]);
                let pull = match hangs {
                    true => plan.pulls[team.joints[i][l] as usize],
                    false => [0.0; 3],
                };
                put(&mut state.lambda, l, sign * DVec3::from(pull));
            }
        }
        self.pushed.clear();
        if plan.is_pushed {
            self.pushed.extend(team.bodies.iter().map(|lanes| {
                let mut pushed = Pushed::default();
                for (l, body) in lanes.iter().enumerate() {
                    put(&mut pushed[0], l, bodies.force[*body as usize]);
                    put(&mut pushed[1], l, bodies.torque[*body as usize]);
                }
                pushed
            }));
        }
    }
}

/// Writes one lane of a vector.
fn put(lanes: &mut kernel::Lane3, l: usize, v: DVec3) {
    (0..3).for_each(|k| lanes[k][l] = v[k]);
}

impl Lanes {
    /// The worst residual over the substeps and whose it is, as the judge of a written problem would find it; `None`
    /// where a joint is not solved to the tolerance, or rounding might hide that.
    fn judge(&self, world: &World, stop: Stop) -> Option<(Residual, Option<Key>)> {
        let layout = self.layout.as_ref()?;
        let first = self.rooms.first()?;
        let mut worst: Option<(Residual, Option<Key>)> = None;
        for k in 0..first.found.len() {
            let mut total = AllFound::default();
            for (team, room) in layout.teams.iter().zip(&self.rooms) {
                if !room.is_sound {
                    return None;
                }
                total.add(&room.found[k], team);
            }
            if total.hidden.may_hide(stop.tolerance) || !(total.law() <= stop.tolerance) {
                return None;
            }
            let found = total.residual(world.joints.len());
            if worst.is_none_or(|(worst, _)| worst.law < found.0.law) {
                worst = Some(found);
            }
        }
        worst
    }
}

/// What the judge found in all lanes.
#[derive(Default)]
struct AllFound {
    worst: f64,
    joint: Option<u32>,
    sum: f64,
    complementarity: f64,
    c: f64,
    hidden: Hidden,
}

impl AllFound {
    fn add(&mut self, found: &Found, team: &Team) {
        for l in 0..team.used {
            if self.worst < found.worst[l] {
                self.worst = found.worst[l];
                self.joint = team.joints.get(found.at[l] as usize).map(|lanes| lanes[l]);
            }
            self.sum += found.sum[l];
            let raise = |most: &mut f64, square: f64| *most = most.max(square.sqrt());
            raise(&mut self.complementarity, found.complementarity[l]);
            raise(&mut self.c, found.c[l]);
            raise(&mut self.hidden.cancelling, found.cancelling[l]);
            raise(&mut self.hidden.free, found.free[l]);
            raise(&mut self.hidden.speed, found.speed[l]);
            self.hidden.thinness = self.hidden.thinness.max(found.thinness[l]);
        }
    }

    fn law(&self) -> f64 {
        self.worst.sqrt()
    }

    /// The residual of so many joints. Velocities follow from the impulses, so that the momentum is exact.
    fn residual(&self, joints: usize) -> (Residual, Option<Key>) {
        let law = self.law();
        let residual = Residual {
            law,
            law_rms: (self.sum / joints.max(1) as f64).sqrt(),
            relative: law / self.c.max(1e-12),
            momentum: 0.0,
            feasibility: law,
            complementarity: self.complementarity,
            worst_block: self.joint.map(BlockId),
        };
        let part = super::JointPart::Held;
        let key = |joint: u32| Key::Joint {
            joint: JointId(joint),
            part,
        };
        (residual, self.joint.map(key))
    }
}
