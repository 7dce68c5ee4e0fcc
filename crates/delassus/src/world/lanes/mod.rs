//! Whole steps of trees of bodies on ball joints, eight equal ones side by side while they are in the cache.
//!
//! A problem that is written out goes through memory several times a substep, and most of a large world's time with it.
//! Where joints alone are there, and the solver would solve them exactly anyway, all substeps of eight trees are
//! taken one after the other without writing one: see `kernel.rs`. The general step is the judge of this one. Rows,
//! stabilisation, stiffness and residual are the same, so both agree to rounding; and whatever is in doubt, a residual
//! above the tolerance, numbers that rounding may hide, a state that is not finite, is left to it: then nothing has
//! been written and the step is taken as if this one had not been tried. At second order (`rattle.rs`) that is so too
//! where joints cannot be closed.
//!
//! Where trees are but a part of the world (`aside.rs`), those that nothing touches are set aside for a substep, and the
//! general step takes what is left.

mod algebra;
mod aside;
mod judge;
mod kernel;
mod layout;
mod measure;
mod rattle;

use std::time::Instant;

use glam::{DQuat, DVec3};

use super::{Clock, Probe, Step, World};
use crate::index::BodyId;
use crate::math::parallel::{self, prelude::*};
use crate::math::simd::LANES;
use crate::problem::mass::MassBlock;
use crate::problem::stabilise::Stabilise;
use crate::solver::auto::Choices;
use crate::solver::exact::direct::Direct;
use crate::solver::{Fit, History, Record, Report, Solver, Status};
use kernel::{BodyState, BodyWork, Found, Pushed, Substep, SubstepRule};
use layout::{Layout, Parent, Place, Team, TreeBody};
use measure::{Measure, Stock};
use rattle::{BodyDrift, Rattle, Trees};

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
    work: TeamWork,
    /// Impulses of the last substep, by joint.
    pulls: Vec<[f64; 3]>,
    /// Whether forces or torques are given.
    is_pushed: bool,
    /// Whether trees are set aside.
    is_aside: bool,
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

/// Of which order substeps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    First,
    Second,
}

/// What the substeps of any team need, one after the other.
#[derive(Debug, Default)]
struct TeamWork {
    bodies: Vec<BodyWork>,
    drift: Vec<BodyDrift>,
}

/// The state of a team while it is stepped, and what was found.
#[derive(Debug, Default)]
struct TeamRoom {
    state: Vec<BodyState>,
    pushed: Vec<Pushed>,
    /// Lanes whose trees the general step takes.
    out: [bool; LANES],
    /// One for each substep.
    found: Vec<Found>,
    /// Kicks and corrections of the poses.
    iterations: usize,
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

    /// The step was taken back, and what was set aside with it.
    pub(super) fn step_failed(&mut self) {
        self.is_aside = false;
    }

    /// Whether trees are set aside, which look as if they were asleep.
    pub(super) fn is_aside(&self) -> bool {
        self.is_aside
    }

    /// Whether a step in lanes found forces or torques.
    pub(super) fn is_pushed(&self) -> bool {
        self.is_pushed
    }

    /// The state at a place and its lane, if that tree is stepped here.
    fn state_at(&self, place: Option<Place>) -> Option<(&BodyState, usize)> {
        let place = place?;
        let (room, l) = (&self.rooms[place.team as usize], place.lane as usize);
        (!room.out[l]).then(|| (&room.state[place.link as usize], l))
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
    order: Order,
    /// Whether forces or torques are given.
    is_pushed: bool,
    /// Empty at second order, which starts from none.
    pulls: &'a [[f64; 3]],
}

impl World {
    /// So many substeps of h seconds, if all of the world goes into lanes and nothing speaks against the answer.
    /// Nothing has changed where it is `None`.
    pub(super) fn step_in_lanes(
        &mut self,
        (h, substeps): (f64, u32),
        order: Order,
        solver: &dyn Solver,
    ) -> Option<Step> {
        let chosen = self.goes_into_lanes(solver)?;
        if !self.robots.is_empty() {
            return None;
        }
        let (begin, stop) = (Instant::now(), solver.stop());
        let mut lanes = std::mem::take(&mut self.lanes);
        let whole = self.lay_out(&mut lanes).filter(|()| lanes.take_all());
        let residual = whole.and_then(|()| {
            self.run_lanes(&mut lanes, (h, substeps), order);
            lanes.judge(stop)
        });
        let step = residual.map(|(residual, worst)| {
            let (violation, probe) = self.put_back(&mut lanes, (h, substeps));
            let elapsed = begin.elapsed();
            // At second order joints are solved by `direct`, whatever the solver.
            let direct = Direct {
                stop,
                ..Direct::default()
            };
            let (solver, chosen): (&dyn Solver, _) = match order {
                Order::First => (solver, chosen),
                Order::Second => (&direct, Choices::default()),
            };
            let iterations = lanes.rooms.iter().map(|room| room.iterations).max();
            Step {
                report: Report {
                    solver: solver.name(),
                    options: solver.options(),
                    fit: Fit::Exact,
                    status: Status::Solved,
                    iterations: iterations.unwrap_or(0),
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
                braked: 0.0,
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

    /// Whether lanes may do what the solver is asked for, and then what its report says was chosen.
    fn goes_into_lanes(&self, solver: &dyn Solver) -> Option<Choices> {
        let stop = solver.stop();
        let plain = stop.record == Record::Sweeps && stop.time.is_none() && 0.0 < stop.tolerance;
        let awake = self.settings.sleep.is_none() && !self.bodies.asleep.contains(&true);
        let chosen = solver.solves_joints_at_once()?;
        (plain && awake).then_some(chosen)
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

    /// Impulses of the last substep by joint, written into the room where they do not stand so already.
    fn pulls<'a>(&'a self, room: &'a mut Vec<[f64; 3]>) -> &'a [[f64; 3]] {
        if let Some(pulls) = self.warm.by_joint(self.joints.len()) {
            return pulls;
        }
        room.clear();
        room.resize(self.joints.len(), [0.0; 3]);
        for (joint, impulse) in self.warm.held() {
            let place = room.get_mut(joint.index());
            if let (Some(place), Some(impulse)) = (place, impulse.first_chunk::<3>()) {
                *place = *impulse;
            }
        }
        room
    }

    /// All substeps of all teams.
    fn run_lanes(&self, lanes: &mut Lanes, (h, substeps): (f64, u32), order: Order) {
        let Some(layout) = &lanes.layout else {
            return;
        };
        let pulls = match order {
            Order::First => self.pulls(&mut lanes.pulls),
            Order::Second => &[],
        };
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
            order,
            is_pushed: lanes.is_pushed,
            pulls,
        };
        let arch = pulp::Arch::new();
        let shapes = &layout.shapes;
        if !self.shares_lanes() {
            for (team, room) in layout.teams.iter().zip(&mut lanes.rooms) {
                plan.run(arch, (&shapes[team.shape], team), room, &mut lanes.work);
            }
            return;
        }
        let rooms = lanes.rooms.par_iter_mut().zip(layout.teams.par_iter());
        rooms.for_each_init(TeamWork::default, |work, (room, team)| {
            plan.run(arch, (&shapes[team.shape], team), room, work);
        });
    }

    /// Writes states, impulses and reactions back; gives violation and energy.
    fn put_back(&mut self, lanes: &mut Lanes, (h, substeps): (f64, u32)) -> (f64, Probe) {
        let joints = self.joints.len();
        let mut warm = std::mem::take(&mut self.warm);
        let mut reactions = std::mem::take(&mut self.reactions);
        let sums = reactions.more(joints, f64::from(substeps) * h);
        self.write_lanes(lanes, (warm.hold_all(joints, h), sums));
        (self.warm, self.reactions) = (warm, reactions);
        (0..substeps).for_each(|_| self.time.add(h));
        self.touches.clear();
        let (mut violation, mut probe) = (0.0_f64, Probe::default());
        let teams = lanes.layout.iter().flat_map(|layout| &layout.teams);
        for (team, room) in teams.zip(&lanes.rooms) {
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

    /// Writes the states of bodies, and impulses and what they add to reactions by joint. Each part of the arrays is
    /// written by one thread, in the order of the world, in which the bodies of a tree mostly stand together.
    fn write_lanes(
        &mut self,
        lanes: &Lanes,
        (lambda, sums): (&mut [[f64; 3]], &mut [super::Reaction]),
    ) {
        let Some(layout) = &lanes.layout else {
            return;
        };
        let part = if self.shares_lanes() {
            WORTHWHILE
        } else {
            usize::MAX
        };
        let bodies = &mut self.bodies;
        let poses = bodies.position.chunks_mut(part);
        let poses = poses.zip(bodies.orientation.chunks_mut(part));
        let motions = bodies.velocity.chunks_mut(part);
        let motions = motions.zip(bodies.spin.chunks_mut(part));
        let states = layout.bodies.chunks(part).zip(poses.zip(motions));
        parallel::each(states, |(places, ((x, q), (v, w)))| {
            for (i, place) in places.iter().enumerate() {
                let Some((state, l)) = lanes.state_at(*place) else {
                    continue;
                };
                x[i] = vector(&state.x, l);
                q[i] = DQuat::from_array(state.q.map(|lane| lane[l]));
                v[i] = vector(&state.v, l);
                w[i] = vector(&state.w, l);
            }
        });
        let impulses = lambda.chunks_mut(part).zip(sums.chunks_mut(part));
        let impulses = layout.joints.chunks(part).zip(impulses);
        parallel::each(impulses, |(places, (lambda, sums))| {
            for (i, place) in places.iter().enumerate() {
                let Some((state, l)) = lanes.state_at(*place) else {
                    lambda[i] = [0.0; 3];
                    continue;
                };
                let first = place.is_some_and(|place| layout.link(place).first);
                let sign = if first { 1.0 } else { -1.0 };
                lambda[i] = (sign * vector(&state.lambda, l)).to_array();
                sums[i].force += sign * vector(&state.pull, l);
            }
        });
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
        work: &mut TeamWork,
    ) {
        room.found.clear();
        room.iterations = 0;
        room.is_sound = true;
        if room.is_idle(team) {
            return;
        }
        room.load(self, links, team);
        work.bodies.resize(links.len(), BodyWork::default());
        match self.order {
            Order::First => self.first_order(arch, (links, team), room, work),
            Order::Second => self.second_order(arch, (links, team), room, work),
        }
        room.stock = arch.dispatch(Measure {
            links,
            made: &team.made,
            gravity: self.rule.gravity,
            state: &room.state,
        });
        room.is_sound &= room.state.iter().all(BodyState::is_finite);
    }

    fn first_order(
        &self,
        arch: pulp::Arch,
        (links, team): (&[TreeBody], &Team),
        room: &mut TeamRoom,
        work: &mut TeamWork,
    ) {
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
                work: &mut work.bodies,
                pushed: &room.pushed,
                found: &mut found,
            });
            room.found.push(found);
        }
        room.iterations = self.substeps as usize;
    }

    fn second_order(
        &self,
        arch: pulp::Arch,
        (links, team): (&[TreeBody], &Team),
        room: &mut TeamRoom,
        work: &mut TeamWork,
    ) {
        work.drift.resize(links.len(), BodyDrift::default());
        let mut rattle = Rattle::new(
            Trees {
                links,
                made: &team.made,
                rule: self.rule,
                state: &mut room.state,
                work: &mut work.bodies,
                drift: &mut work.drift,
                pushed: &room.pushed,
            },
            arch,
        );
        for _ in 0..self.substeps {
            let found = rattle.substep(self.rule.h);
            room.is_sound &= found.is_some();
            room.found.push(found.unwrap_or_default());
        }
        room.iterations = rattle.finish();
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
    /// Lanes whose trees are stepped here.
    fn taken(&self, team: &Team) -> impl Iterator<Item = usize> {
        (0..team.used).filter(|l| !self.out[*l])
    }

    fn is_idle(&self, team: &Team) -> bool {
        self.taken(team).next().is_none()
    }

    /// Takes states, impulses and forces of a team's bodies out of the world.
    fn load(&mut self, plan: &WholeStep<'_>, links: &[TreeBody], team: &Team) {
        let bodies = &plan.world.bodies;
        self.state.resize(links.len(), BodyState::default());
        for (i, state) in self.state.iter_mut().enumerate() {
            let sign = if links[i].first { 1.0 } else { -1.0 };
            let pulled = links[i].parent != Parent::None && plan.order == Order::First;
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
                let pull = match pulled {
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
