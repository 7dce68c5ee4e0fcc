//! Bodies at rest may be left out of the step: whole islands fall asleep together and wake together.

use super::{MovedBy, World};
use crate::collide::ContactPoint;
use crate::index::BodyId;
use crate::linalg::disjoint::DisjointSets;

/// When an island falls asleep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sleep {
    /// Speed below which a body counts as resting \[m/s\]; spins count by the body's size.
    pub speed: f64,
    /// How long all bodies of an island must rest \[s\].
    pub after: f64,
}

impl Default for Sleep {
    fn default() -> Sleep {
        Sleep {
            speed: 0.01,
            after: 0.5,
        }
    }
}

impl World {
    /// Wakes a body; its island follows within the next step.
    pub fn wake(&mut self, id: BodyId) {
        if let Some(asleep) = self.bodies.asleep.get_mut(id.index()) {
            *asleep = false;
            self.bodies.rest[id.index()] = 0.0;
        }
    }

    /// Wakes sleepers that were given a force or velocity, and those that something awake and moving touches or is
    /// joined to. True where one woke.
    pub(super) fn rouse(&mut self, contacts: &[ContactPoint]) -> bool {
        let bodies = &self.bodies;
        let n = bodies.len();
        if !bodies.asleep.contains(&true) || self.lanes.is_aside() {
            return false;
        }
        let given = |i: usize| {
            let vectors = [
                bodies.force[i],
                bodies.torque[i],
                bodies.velocity[i],
                bodies.spin[i],
            ];
            vectors.iter().any(|v| *v != glam::DVec3::ZERO)
        };
        let disturbs = |i: usize| match bodies.motion[i] {
            MovedBy::Static | MovedBy::Gone => false,
            MovedBy::Kinematic => 0.0 < bodies.velocity[i].length() + bodies.spin[i].length(),
            // Rest is counted after each step: none means that it moves or has just been woken.
            MovedBy::Dynamic | MovedBy::Link => !bodies.asleep[i] && bodies.rest[i] == 0.0,
        };
        let mut wake: Vec<bool> = (0..n)
            .map(|i| self.settings.sleep.is_none() || given(i))
            .collect();
        for point in contacts {
            let (a, b) = point.bodies;
            wake[a] |= disturbs(b);
            wake[b] |= disturbs(a);
        }
        for joint in &self.joints {
            let links = joint.links();
            let disturbed = links.iter().any(|id| disturbs(id.index()));
            if disturbed || joint.kind.is_driven() {
                links.iter().for_each(|id| wake[id.index()] = true);
            }
        }
        let mut woke = false;
        for i in (0..n).filter(|&i| wake[i]) {
            if self.bodies.asleep[i] {
                self.wake(BodyId(i as u32));
                woke = true;
            }
        }
        woke
    }

    /// Sleepers that a body which moves by itself may meet within the step, given how far each may move: they are looked
    /// at as if they were awake, since two bodies that impulses do not move have no contacts else.
    pub(super) fn in_the_way(&self, reach: &[f64]) -> Vec<usize> {
        let bodies = &self.bodies;
        let driven = |i: &usize| {
            let moves = 0.0 < bodies.velocity[*i].length() + bodies.spin[*i].length();
            bodies.motion[*i] == MovedBy::Kinematic && moves
        };
        let driven: Vec<usize> = (0..bodies.len()).filter(driven).collect();
        let near = |i: usize, j: usize| {
            let far = self.radius[i] + self.radius[j] + reach[i];
            // Half-spaces and meshes reach everywhere.
            !(far * far < bodies.position[i].distance_squared(bodies.position[j]))
        };
        let met = |j: &usize| bodies.asleep[*j] && driven.iter().any(|i| near(*i, *j));
        match driven.is_empty() {
            true => Vec::new(),
            false => (0..bodies.len()).filter(met).collect(),
        }
    }

    /// Counts rest, puts islands to sleep and wakes those that something awake and moving touches.
    pub(super) fn rest(&mut self, h: f64, contacts: &[ContactPoint]) {
        let Some(sleep) = self.settings.sleep else {
            return;
        };
        let n = self.bodies.len();
        for i in 0..n {
            // No point of the body is faster than |v| + |ω| r.
            let speed =
                self.bodies.velocity[i].length() + self.bodies.spin[i].length() * self.radius[i];
            let rest = &mut self.bodies.rest[i];
            *rest = if speed < sleep.speed { *rest + h } else { 0.0 };
        }
        let islands = self.islands(contacts);
        let mut rested = vec![f64::INFINITY; n];
        for i in 0..n {
            // What moves by itself keeps its neighbours awake; what never moves does not matter.
            let rest = match self.bodies.motion[i] {
                MovedBy::Dynamic => self.bodies.rest[i],
                _ => f64::INFINITY,
            };
            let island = islands[i];
            rested[island] = f64::min(rested[island], rest);
        }
        for point in contacts {
            let (a, b) = point.bodies;
            for (body, other) in [(a, b), (b, a)] {
                let moving =
                    self.bodies.velocity[other].length() + self.bodies.spin[other].length();
                let keeps_awake = match self.bodies.motion[other] {
                    MovedBy::Kinematic => 0.0 < moving,
                    // Robots never sleep themselves.
                    MovedBy::Link => self.bodies.rest[other] == 0.0,
                    _ => false,
                };
                if keeps_awake {
                    rested[islands[body]] = 0.0;
                }
            }
        }
        // A motor that is to turn, however slowly, does not rest.
        for joint in self.joints.iter().filter(|joint| joint.kind.is_driven()) {
            for id in joint.links() {
                rested[islands[id.index()]] = 0.0;
            }
        }
        for i in 0..n {
            let asleep =
                self.bodies.motion[i] == MovedBy::Dynamic && sleep.after <= rested[islands[i]];
            if asleep && !self.bodies.asleep[i] {
                self.bodies.velocity[i] = glam::DVec3::ZERO;
                self.bodies.spin[i] = glam::DVec3::ZERO;
            }
            self.bodies.asleep[i] = asleep;
        }
    }

    /// The island of every body: the smallest body connected to it through joints and contacts of dynamic bodies.
    pub(super) fn islands(&self, contacts: &[ContactPoint]) -> Vec<usize> {
        let mut sets = DisjointSets::new(self.bodies.len());
        let dynamic = |i: usize| self.bodies.motion[i] == MovedBy::Dynamic;
        let mut unite = |a: usize, b: usize| {
            if dynamic(a) && dynamic(b) {
                sets.join(a, b);
            }
        };
        for point in contacts {
            unite(point.bodies.0, point.bodies.1);
        }
        for joint in &self.joints {
            let links = joint.links();
            for pair in links.windows(2) {
                unite(pair[0].index(), pair[1].index());
            }
        }
        (0..self.bodies.len()).map(|i| sets.find(i)).collect()
    }
}
