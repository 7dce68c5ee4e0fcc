//! What the steps of a world may ask for before the first is taken: which laws, and whether anything supplies energy.

use std::collections::BTreeMap;

use super::assemble::contact_law;
use super::{Drive, JointKind, MovedBy, World};
use crate::collide::Groups;
use crate::law::Law;

impl World {
    /// The laws that blocks of its steps may have, each once: those of its joints and robots, and of surfaces that may
    /// meet. Coefficients and bounds are some of those that occur.
    pub fn laws(&self) -> Vec<Law> {
        let mut laws: Vec<Law> = Vec::new();
        let mut add = |law: Law| {
            let same = |known: &Law| known.name() == law.name();
            if !laws.iter().any(same) {
                laws.push(law);
            }
        };
        for joint in &self.joints {
            joint.visit(&self.bodies, |block| add(block.law));
        }
        for robot in &self.robots {
            for joint in robot.joints() {
                joint.control.drive.laws().for_each(&mut add);
            }
            if !robot.closures().is_empty() {
                add(Law::Equality);
            }
        }
        for (a, b) in self.meeting_materials() {
            let surface = self.surface_of(a, b);
            add(contact_law(self.settings.friction, &surface));
        }
        laws
    }

    /// Pairs of materials of colliders on different bodies that may meet by their groups.
    fn meeting_materials(&self) -> Vec<(u32, u32)> {
        // Colliders alike in material and groups, with their first body and whether there is another.
        let mut alike: BTreeMap<(u32, u32, u32), (usize, bool)> = BTreeMap::new();
        for (collider, &material) in self.colliders.iter().zip(&self.materials) {
            let Groups { member, with } = collider.group;
            let known = alike.entry((material, member, with));
            let (first, more) = known.or_insert((collider.body, false));
            *more |= *first != collider.body;
        }
        let alike: Vec<_> = alike.into_iter().collect();
        let mut pairs = Vec::new();
        for (i, &((a, member, with), (body, several))) in alike.iter().enumerate() {
            let group = Groups { member, with };
            for &((b, member, with), (other, more)) in &alike[..=i] {
                let two = several || more || body != other;
                if two && group.meet(Groups { member, with }) {
                    pairs.push((a, b));
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Whether something may do work on its bodies: motors, servos, springs, given velocities, joint forces,
    /// loads. Restitution,
    /// gravity and friction do not.
    pub fn is_supplied(&self) -> bool {
        let bodies = &self.bodies;
        let moved = |i: usize| {
            let given = bodies.force[i].length() + bodies.torque[i].length();
            let moves = bodies.velocity[i].length() + bodies.spin[i].length();
            0.0 < given || bodies.motion[i] == MovedBy::Kinematic && 0.0 < moves
        };
        let drives = |drive: &Drive| drive.motor.is_some() || drive.servo.is_some();
        let joint = |kind: &JointKind| {
            let sprung = matches!(kind, JointKind::Spring { .. });
            sprung || kind.drive().is_some_and(drives)
        };
        let soft = self
            .joints
            .iter()
            .any(|j| 0.0 < j.compliance || joint(&j.kind));
        let robots = self.robots.iter().any(|robot| {
            let held = robot.joints().iter().any(|j| drives(&j.control.drive));
            let given = robot.force.iter().any(|force| *force != 0.0);
            held || given || robot.is_sprung()
        });
        soft || robots || !self.loads.is_empty() || (0..bodies.len()).any(moved)
    }
}

impl Drive {
    /// The laws of its rows, wherever the coordinate is.
    fn laws(&self) -> impl Iterator<Item = Law> {
        let acts = self.motor.is_some() || self.servo.is_some() || 0.0 < self.friction;
        let limits = self.limits.map(|_| Law::Unilateral);
        limits
            .into_iter()
            .chain(acts.then_some(Law::Interval { lo: -1.0, hi: 1.0 }))
    }
}
