//! Forces over time: what pushes a body by a plan that is known beforehand.

use glam::DVec3;

use super::{World, WorldError};
use crate::index::BodyId;

/// A force and a torque on a body that change with time.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The body.
    pub body: BodyId,
    /// Where the force acts, in the body's axes from its centre of mass \[m\].
    pub point: DVec3,
    /// Whether force and torque are given in the body's axes and turn with it, else in those of the world.
    pub turns: bool,
    /// Force and torque at some times, in order; linear between them, zero before the first and after the last.
    pub course: Vec<LoadPoint>,
}

/// Force and torque at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadPoint {
    /// When \[s\].
    pub time: f64,
    /// Force \[N\].
    pub force: DVec3,
    /// Torque \[N m\].
    pub torque: DVec3,
}

impl Load {
    /// A force at the centre of mass, the same from one time to another \[s\].
    pub fn constant(body: BodyId, force: DVec3, from: f64, until: f64) -> Load {
        let at = |time: f64| LoadPoint {
            time,
            force,
            torque: DVec3::ZERO,
        };
        Load {
            body,
            point: DVec3::ZERO,
            turns: false,
            course: vec![at(from), at(until)],
        }
    }

    /// Mean force and torque from one time to a later one: their integrals are met exactly, however long the step.
    pub fn mean(&self, from: f64, until: f64) -> LoadPoint {
        let (mut force, mut torque) = (DVec3::ZERO, DVec3::ZERO);
        for pair in self.course.windows(2) {
            let [a, b] = [&pair[0], &pair[1]];
            let (start, end) = (a.time.max(from), b.time.min(until));
            if !(start < end) {
                continue;
            }
            // ∫ f dt over a part of a linear piece: its length times f in the middle.
            let share = (0.5 * start + 0.5 * end - a.time) / (b.time - a.time);
            let weight = (end - start) / (until - from);
            force += weight * (a.force + share * (b.force - a.force));
            torque += weight * (a.torque + share * (b.torque - a.torque));
        }
        LoadPoint {
            time: 0.5 * (from + until),
            force,
            torque,
        }
    }

    /// What is wrong with it, if anything.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let finite =
            |p: &LoadPoint| p.time.is_finite() && p.force.is_finite() && p.torque.is_finite();
        if !(self.point.is_finite() && self.course.iter().all(finite)) {
            return Some("its load has a number that is not finite");
        }
        if self.course.len() < 2 {
            return Some("its load needs two times or more: where it begins and where it ends");
        }
        let rises = self.course.windows(2).all(|w| w[0].time < w[1].time);
        (!rises).then_some("the times of its load do not rise; sort them, each once")
    }
}

/// Forces and torques that were there before loads came on top.
pub(super) type Given = Vec<(usize, DVec3, DVec3)>;

impl World {
    /// Adds a load. It acts from the next step on, by its mean over each step.
    pub fn add_load(&mut self, load: Load) -> Result<(), WorldError> {
        self.check_body(load.body)?;
        if let Some(what) = load.fault() {
            let name = self.bodies.name[load.body.index()].clone();
            let what = what.to_owned();
            return Err(WorldError::Body { name, what });
        }
        self.loads.push(load);
        Ok(())
    }

    /// Loads; those on bodies that were taken away do nothing.
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// Adds what loads do in the next h seconds to the forces on bodies.
    pub(super) fn put_loads(&mut self, h: f64) -> Given {
        let mut given = Given::new();
        if self.loads.is_empty() {
            return given;
        }
        let now = self.time();
        let bodies = &mut self.bodies;
        for load in &self.loads {
            let LoadPoint { force, torque, .. } = load.mean(now, now + h);
            if !bodies.has(load.body) || (force == DVec3::ZERO && torque == DVec3::ZERO) {
                continue;
            }
            let i = load.body.index();
            given.push((i, bodies.force[i], bodies.torque[i]));
            let turn = bodies.orientation[i];
            let [force, torque] = match load.turns {
                true => [turn * force, turn * torque],
                false => [force, torque],
            };
            bodies.force[i] += force;
            // τ = r × f about the centre of mass.
            bodies.torque[i] += torque + (turn * load.point).cross(force);
        }
        if !given.is_empty() {
            self.lanes.touch_bodies();
        }
        given
    }

    /// Takes loads off again.
    pub(super) fn take_loads(&mut self, given: Given) {
        for (i, force, torque) in given.into_iter().rev() {
            self.bodies.force[i] = force;
            self.bodies.torque[i] = torque;
            self.lanes.touch_bodies();
        }
    }
}
