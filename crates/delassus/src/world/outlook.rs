//! What the steps of a world may ask for before the first is taken: which laws, and whether anything supplies energy.

use super::assemble::contact_law;
use super::{Drive, JointKind, MovedBy, World};
use crate::law::Law;

impl World {
    /// The laws that blocks of its steps may have, each once: those of its joints, robots and surfaces. Coefficients and
    /// bounds are some of those that occur.
    pub fn laws(&self) -> Vec<Law> {
        let mut laws: Vec<Law> = Vec::new();
        let mut add = |law: Law| {
            let same = |known: &Law| known.name() == law.name();
            if !laws.iter().any(same) {
                laws.push(law);
            }
        };
        for joint in &self.joints {
            let blocks = joint.rows(&self.bodies);
            blocks.iter().for_each(|block| add(block.law));
        }
        for robot in &self.robots {
            for joint in robot.joints() {
                joint.control.drive.laws().for_each(&mut add);
            }
            if !robot.closures().is_empty() {
                add(Law::Equality);
            }
        }
        if 1 < self.materials.len() {
            let mut used = self.materials.clone();
            used.sort_unstable();
            used.dedup();
            for (i, a) in used.iter().enumerate() {
                for b in &used[..=i] {
                    let surface = self.surface_of(*a, *b);
                    add(contact_law(self.settings.friction, &surface));
                }
            }
        }
        laws
    }

    /// Whether something may do work on its bodies: motors, servos, springs, given velocities, joint forces. Restitution,
    /// gravity and friction do not.
    pub fn is_supplied(&self) -> bool {
        let bodies = &self.bodies;
        let moved = |i: usize| {
            let given = bodies.force[i].length() + bodies.torque[i].length();
            let moves = bodies.velocity[i].length() + bodies.spin[i].length();
            0.0 < given || bodies.motion[i] == MovedBy::Kinematic && 0.0 < moves
        };
        let drives = |drive: &Drive| drive.motor.is_some() || drive.servo.is_some();
        let joint = |kind: &JointKind| match kind {
            JointKind::Hinge(drive) | JointKind::Slider(drive) => drives(drive),
            _ => false,
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
        soft || robots || (0..bodies.len()).any(moved)
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
