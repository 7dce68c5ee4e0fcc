//! Contacts of a world: which bodies may touch within a step, how rough their surfaces are, and what force they exert.

use glam::{DQuat, DVec3};

use super::{MovedBy, Reaction, StepError, Surface, World};
use crate::collide::{Collisions, ContactPoint, Course, Poses};
use crate::index::BodyId;
use crate::math::parallel::{self, CHUNK};
use crate::solver::Solver;

/// Gap of a contact, as a share of the smaller body, from which it is asked whether the bodies will meet at all.
const WELL_APART: f64 = 0.05;

/// Bodies that a thread looks at in one go.
const MANY: usize = 8 * CHUNK;

/// Of each body: its pose, whether it can move, and how far in a step.
#[derive(Debug, Default)]
pub(super) struct Near {
    poses: Vec<(DVec3, DQuat)>,
    movable: Vec<bool>,
    reach: Vec<f64>,
}

/// Pairs of bodies that do not collide: of each body those behind it, few as a rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    starts: Vec<u32>,
    others: Vec<u32>,
}

impl Joined {
    /// From sorted pairs, the first body of each before the second.
    pub(super) fn new(pairs: &[(u32, u32)]) -> Joined {
        let Some((last, _)) = pairs.last() else {
            return Joined::default();
        };
        let start = |a: u32| pairs.partition_point(|pair| pair.0 < a) as u32;
        Joined {
            starts: (0..=last + 1).map(start).collect(),
            others: pairs.iter().map(|pair| pair.1).collect(),
        }
    }

    fn has(&self, a: usize, b: u32) -> bool {
        let Some(&[from, to]) = self.starts.get(a..a + 2) else {
            return false;
        };
        self.others[from as usize..to as usize].contains(&b)
    }
}

/// How contacts are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Find {
    /// At the present poses.
    Anew,
    /// At the references of their bodies, and carried along.
    Kept,
}

impl Find {
    /// For a step by this solver. Who asks for sweeps and no tolerance does not notice gaps that are off by a millionth of
    /// a body's size.
    pub(super) fn by(solver: &dyn Solver) -> Find {
        match solver.stop().tolerance <= 0.0 && solver.takes_small_steps() {
            true => Find::Kept,
            false => Find::Anew,
        }
    }
}

impl World {
    /// Force between two bodies in the last substep of a step of h seconds, on the first \[N\]. Torques of rolling and
    /// spinning friction are in [`World::touches`].
    pub fn contact_force(&self, (a, b): (BodyId, BodyId), h: f64) -> DVec3 {
        let part = h / f64::from(self.settings.substeps.max(1));
        let mut force = DVec3::ZERO;
        for touch in self.touches() {
            let (first, second) = touch.point.bodies;
            let sign = match (first as u32, second as u32) {
                pair if pair == (a.0, b.0) => 1.0,
                pair if pair == (b.0, a.0) => -1.0,
                _ => continue,
            };
            force += touch.world_impulse() * (sign / part);
        }
        force
    }

    /// Mean force and torque of all contacts on a body over the last substep, about its centre of mass and along the
    /// world's axes; zero before the first step.
    pub fn contacts_on(&self, body: BodyId) -> Reaction {
        let mut sum = Reaction::default();
        let h = self.last_substep();
        if !(0.0 < h) || !self.has_body(body) {
            return sum;
        }
        let centre = self.bodies.position[body.index()];
        for touch in self.touches() {
            let (first, second) = touch.bodies();
            let (sign, point) = if first == body {
                (1.0, touch.point.point_a)
            } else if second == body {
                (-1.0, touch.point.point_b)
            } else {
                continue;
            };
            // f = p/h and τ = (x − c) × f, with the torques of rolling and spinning.
            let force = touch.world_impulse() * (sign / h);
            sum.force += force;
            sum.torque += (point - centre).cross(force) + touch.world_torque() * (sign / h);
        }
        sum
    }

    /// Finds contacts and wakes what is hit, until no other body wakes: a blow is then shared instead of being stopped
    /// by a sleeper, whose own neighbours are only looked for once it is awake.
    pub(super) fn collide_awake(
        &mut self,
        h: f64,
        find: Find,
    ) -> Result<Vec<ContactPoint>, StepError> {
        loop {
            let contacts = self.collide(h, find)?;
            if !self.rouse(&contacts) {
                return Ok(contacts);
            }
        }
    }

    /// Finds the contacts that may matter within h seconds.
    pub(super) fn collide(&mut self, h: f64, find: Find) -> Result<Vec<ContactPoint>, StepError> {
        if !self.may_meet {
            return Ok(Vec::new());
        }
        let mut near = std::mem::take(&mut self.spare.near);
        self.fill_near(h, &mut near);
        let in_the_way = self.in_the_way(&near.reach);
        in_the_way.iter().for_each(|i| near.movable[*i] = true);
        let idle = !near.movable.contains(&true);
        self.spare.near = near;
        if idle {
            // All that could move is asleep: nothing is looked at, and nothing is found.
            return Ok(Vec::new());
        }
        let (near, bodies) = (&self.spare.near, &self.bodies);
        let (joined, link_of, robots) = (&self.joined, &self.link_of, &self.robots);
        let excluded = |a: usize, b: usize| {
            if !robots.is_empty()
                && let (Some(first), Some(second)) = (link_of[a], link_of[b])
                && first.robot == second.robot
                && !robots[first.robot.index()].self_collides()
            {
                return true;
            }
            joined.has(a.min(b), a.max(b) as u32)
        };
        let collisions = &mut self.collisions;
        let (poses, movable, reach) = (&near.poses, &near.movable, &near.reach);
        if find == Find::Kept && collisions.is_worth_keeping() {
            let motion = Poses {
                poses,
                movable,
                reach,
            };
            // What each free body and link may gain of its weight is in its reach.
            let fall = h * h * self.gravity.length();
            let references = self.reference.follow(bodies, &self.radius, fall);
            collisions.update_kept(motion, references, &excluded)?;
        } else {
            collisions.update(poses, movable, reach, &excluded)?;
        }
        let mut contacts = collisions.take_contacts();
        self.drop_passing(&mut contacts, h);
        Ok(contacts)
    }

    /// Where bodies stand, whether they move, and how far within h seconds.
    fn fill_near(&self, h: f64, near: &mut Near) {
        let bodies = &self.bodies;
        let weight = self.gravity.length();
        let reach = |i: usize| {
            if matches!(bodies.motion[i], MovedBy::Static | MovedBy::Gone) || bodies.asleep[i] {
                return 0.0;
            }
            // A body may gain speed on top of its present one within the step.
            let gain = match bodies.motion[i] {
                MovedBy::Dynamic => (weight + bodies.force[i].length() / bodies.mass[i]) * h,
                // Motors accelerate links far beyond their weight.
                MovedBy::Link => 10.0 * weight * h,
                _ => 0.0,
            };
            let speed = bodies.velocity[i].length() + gain;
            h * (speed + bodies.spin[i].length() * self.radius[i])
        };
        near.poses.resize(bodies.len(), Default::default());
        near.movable.resize(bodies.len(), false);
        near.reach.resize(bodies.len(), 0.0);
        let parts = near
            .poses
            .chunks_mut(MANY)
            .zip(near.movable.chunks_mut(MANY));
        let parts = parts.zip(near.reach.chunks_mut(MANY)).enumerate();
        parallel::each(parts, |(part, ((poses, movable), reaches))| {
            for (j, i) in (part * MANY..part * MANY + poses.len()).enumerate() {
                poses[j] = (bodies.position[i], bodies.orientation[i]);
                movable[j] = bodies.is_free(BodyId(i as u32));
                reaches[j] = reach(i);
            }
        });
    }

    /// Drops contacts between convex bodies that are well apart and close by their nearest points alone: bodies that
    /// move on undisturbed and pass each other do not touch.
    fn drop_passing(&self, contacts: &mut Vec<ContactPoint>, h: f64) {
        let collisions = &self.collisions;
        // Most contacts are too close for any pair, whatever its size.
        let least = WELL_APART * collisions.least_size();
        let apart = |point: &ContactPoint| {
            least < point.gap
                && collisions
                    .smaller_size(point.colliders)
                    .is_some_and(|size| WELL_APART * size < point.gap)
        };
        let close = |part: &[ContactPoint]| !part.iter().any(apart);
        if parallel::all(contacts.chunks(MANY), close) {
            return;
        }
        let (mut start, mut kept) = (0, 0);
        while let Some(rest) = contacts.get(start..).filter(|rest| !rest.is_empty()) {
            let own = |point: &&ContactPoint| point.colliders == rest[0].colliders;
            let pair = &rest[..rest.iter().take_while(own).count()];
            let (end, passes) = (
                start + pair.len(),
                pair.iter().all(apart) && self.passes(collisions, pair, h),
            );
            if !passes {
                contacts.copy_within(start..end, kept);
                kept += end - start;
            }
            start = end;
        }
        contacts.truncate(kept);
    }

    /// Whether two colliders with these contacts would close one of them, and yet do not touch.
    fn passes(&self, collisions: &Collisions, pair: &[ContactPoint], h: f64) -> bool {
        let first = &pair[0];
        let [a, b] = [first.bodies.0, first.bodies.1];
        // What motors do to a link is not known yet.
        if [a, b]
            .iter()
            .any(|i| self.bodies.motion[*i] == MovedBy::Link)
        {
            return false;
        }
        let courses = [a, b].map(|i| self.course(i, h));
        let velocity = |side: usize, point: DVec3| {
            let course: &Course = &courses[side];
            course.velocity + course.spin.cross(point - course.position)
        };
        let closes = |point: &ContactPoint| {
            let relative = velocity(0, point.point_a) - velocity(1, point.point_b);
            point.gap + h * relative.dot(point.normal) < 0.0
        };
        let nearest = pair.iter().fold(f64::INFINITY, |d, point| d.min(point.gap));
        pair.iter().any(closes) && !collisions.will_touch(first.colliders, courses, nearest, h)
    }

    /// How a body moves on if nothing touches it.
    fn course(&self, i: usize, h: f64) -> Course {
        let bodies = &self.bodies;
        let awake = |v: DVec3| if bodies.asleep[i] { DVec3::ZERO } else { v };
        let pull = match bodies.motion[i] {
            MovedBy::Dynamic => h * (self.gravity + bodies.force[i] / bodies.mass[i]),
            _ => DVec3::ZERO,
        };
        let (velocity, spin) = match bodies.motion[i] {
            MovedBy::Static | MovedBy::Gone => (DVec3::ZERO, DVec3::ZERO),
            _ => (awake(bodies.velocity[i] + pull), awake(bodies.spin[i])),
        };
        Course {
            position: bodies.position[i],
            orientation: bodies.orientation[i],
            velocity,
            spin,
            radius: self.radius[i],
        }
    }

    /// Takes contacts that are not needed any more back, for the memory they stand in.
    pub(super) fn give_back(&mut self, contacts: Vec<ContactPoint>) {
        self.collisions.give_back(contacts);
    }

    /// The surface between two colliders, by position in [`World::colliders`]; `None` where one is not
    /// there.
    pub fn surface(&self, a: usize, b: usize) -> Option<Surface> {
        let (a, b) = (self.materials.get(a)?, self.materials.get(b)?);
        Some(self.surface_of(*a, *b))
    }

    /// The surface between two materials.
    pub(super) fn surface_of(&self, a: u32, b: u32) -> Surface {
        let pair = (a.min(b), a.max(b));
        if let Ok(found) = self.pairs.binary_search_by_key(&pair, |entry| entry.0) {
            return self.pairs[found].1;
        }
        let (a, b) = (self.surfaces[a as usize], self.surfaces[b as usize]);
        Surface::mixed(a, b)
    }
}
