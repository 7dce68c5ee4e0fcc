//! Trees that are but a part of a world: those that nothing touches are set aside, and the general step takes the rest.

use super::super::{Key, Step, World};
use super::{Lanes, Order, TeamRoom};
use crate::collide::ContactPoint;
use crate::index::JointId;
use crate::math::simd::LANES;
use crate::problem::residual::Residual;
use crate::solver::Solver;
use crate::solver::auto::{Choices, Chosen};

/// Fewer bodies than this are left to the general step.
const MANY: usize = 64;

/// What was found about trees that were set aside.
pub(in super::super) struct Aside {
    residual: Residual,
    worst: Option<Key>,
    chosen: Choices,
}

impl Lanes {
    /// Every tree is stepped here. False where there is more than these.
    pub(super) fn take_all(&mut self) -> bool {
        let Some(layout) = &self.layout else {
            return false;
        };
        self.rooms
            .resize_with(layout.teams.len(), TeamRoom::default);
        for room in &mut self.rooms {
            room.out = [false; LANES];
        }
        layout.is_whole
    }

    /// All lanes whose trees are stepped here.
    fn each_taken(&self) -> impl Iterator<Item = (&TeamRoom, usize)> {
        let teams = self.layout.iter().flat_map(|layout| &layout.teams);
        let rooms = teams.zip(&self.rooms);
        rooms.flat_map(|(team, room)| room.taken(team).map(move |l| (room, l)))
    }

    /// Leaves out what contacts touch, and bodies without joints. False where few are left.
    fn leave_out(&mut self, contacts: &[ContactPoint]) -> bool {
        self.take_all();
        let Some(layout) = &self.layout else {
            return false;
        };
        for (team, room) in layout.teams.iter().zip(&mut self.rooms) {
            room.out = [layout.is_lone(team); LANES];
        }
        for point in contacts {
            let (a, b) = point.bodies;
            for place in [a, b].into_iter().filter_map(|body| layout.bodies[body]) {
                self.rooms[place.team as usize].out[place.lane as usize] = true;
            }
        }
        let teams = layout.teams.iter().zip(&self.rooms);
        let taken = teams.map(|(team, room)| room.taken(team).count() * team.bodies.len());
        MANY <= taken.sum()
    }
}

impl World {
    /// A substep of the trees that nothing touches, where these are many. They stay where they are, as if asleep, until
    /// [`World::bring_back`]; `None` where nothing was set aside.
    pub(in super::super) fn set_aside(
        &mut self,
        h: f64,
        order: Order,
        contacts: &[ContactPoint],
        solver: &dyn Solver,
    ) -> Option<Aside> {
        let chosen = self.goes_into_lanes(solver)?;
        let mut lanes = std::mem::take(&mut self.lanes);
        let part = self.lay_out(&mut lanes);
        let part = part.filter(|()| lanes.leave_out(contacts));
        let found = part.and_then(|()| {
            self.run_lanes(&mut lanes, (h, 1), order);
            lanes.judge(solver.stop())
        });
        if let (Some(_), Some(layout)) = (&found, &lanes.layout) {
            for (asleep, place) in self.bodies.asleep.iter_mut().zip(&layout.bodies) {
                *asleep = lanes.state_at(*place).is_some();
            }
        }
        lanes.is_aside = found.is_some();
        let islands = lanes.each_taken().count();
        self.lanes = lanes;
        // At second order a world solves joints by itself.
        let chosen = match order {
            Order::First => Choices::from_iter(chosen.iter().map(|of| Chosen { islands, ..*of })),
            Order::Second => Choices::default(),
        };
        found.map(|(residual, worst)| Aside {
            residual,
            worst,
            chosen,
        })
    }

    /// Writes the trees that were set aside back, once the general step has taken the rest. Gives the violation of all.
    pub(in super::super) fn bring_back(&mut self) -> f64 {
        // What is asleep keeps every tree out of the lanes, so that all these are awake.
        self.bodies.asleep.fill(false);
        let mut lanes = std::mem::take(&mut self.lanes);
        let mut pulls = std::mem::take(&mut lanes.pulls);
        pulls.resize(self.joints.len(), [0.0; 3]);
        let mut reactions = std::mem::take(&mut self.reactions);
        // The general step has counted the time.
        let sums = reactions.more(self.joints.len(), 0.0);
        self.write_lanes(&lanes, (&mut pulls, sums));
        self.reactions = reactions;
        let places = lanes
            .layout
            .as_ref()
            .map_or(&[][..], |layout| &layout.joints);
        let taken = places.iter().enumerate().filter_map(|(joint, place)| {
            lanes.state_at(*place)?;
            Some((JointId(joint as u32), pulls[joint]))
        });
        self.warm.hold_more(taken);
        let others = self.joints.iter().zip(places);
        let others = others.filter(|(_, place)| lanes.state_at(**place).is_none());
        let others = others.map(|(joint, _)| joint.violation(&self.bodies));
        let robots = self.robots.iter().map(super::super::Robot::violation);
        let trees = lanes.each_taken().map(|(room, l)| room.stock.gap[l].sqrt());
        let violation = others.chain(robots).chain(trees).fold(0.0, f64::max);
        lanes.pulls = pulls;
        lanes.is_aside = false;
        self.lanes = lanes;
        violation
    }
}

impl Step {
    /// Counts trees that were set aside in.
    pub(in super::super) fn count(&mut self, aside: Aside) {
        if self.report.residual.law < aside.residual.law {
            (self.report.residual, self.worst) = (aside.residual, aside.worst);
        }
        aside
            .chosen
            .iter()
            .for_each(|chosen| self.report.chosen.push(*chosen));
    }
}
