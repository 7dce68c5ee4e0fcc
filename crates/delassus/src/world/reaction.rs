//! What joints pull and twist with: the impulses of a step as a force and a torque in world axes.

use glam::DVec3;

use super::assemble::Assembly;
use super::warm::Key;
use super::{JointKind, World};
use crate::index::JointId;
use crate::problem::place::Side;

/// Force and torque of a joint on its first body, at the joint's point there, in world axes. The second body feels the
/// opposite; a gear's torque is the one on the first body it names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reaction {
    /// Force \[N\].
    pub force: DVec3,
    /// Torque about the joint's point on the first body [N m].
    pub torque: DVec3,
}

/// Impulses of all joints since a step began.
#[derive(Clone, Debug, Default)]
pub(super) struct Reactions {
    /// Sums of impulses [N s and N m s], by joint.
    sums: Vec<Reaction>,
    /// Time they acted in \[s\].
    time: f64,
}

impl Reactions {
    pub(super) fn clear(&mut self) {
        self.sums.clear();
        self.time = 0.0;
    }
}

impl World {
    /// Mean force and torque of a joint over the last step, with its limits, motor, servo and friction. It belongs to
    /// the middle of the step: the mean of two neighbouring steps is that at the time between them, to second order.
    /// Zero before the first step.
    pub fn reaction(&self, id: JointId) -> Reaction {
        let sum = self.reactions.sums.get(id.index());
        let sum = sum.copied().unwrap_or_default();
        let per_time = if 0.0 < self.reactions.time {
            1.0 / self.reactions.time
        } else {
            0.0
        };
        Reaction {
            force: sum.force * per_time,
            torque: sum.torque * per_time,
        }
    }

    /// Adds what impulses of the joints did in h seconds, at the pose their rows were made at.
    pub(super) fn add_reactions(&mut self, assembly: &Assembly, lambda: &[f64], h: f64) {
        self.reactions.time += h;
        let zero = Reaction::default();
        self.reactions.sums.resize(self.joints.len(), zero);
        let blocks = assembly.keys.iter().zip(assembly.problem.blocks());
        let mut blocks = blocks.take(assembly.first_contact).peekable();
        for (j, joint) in self.joints.iter().enumerate() {
            let mut impulse = |part: u32| {
                let key = Key::joint(JointId(j as u32), part);
                let found = blocks.next_if(|(owner, _)| **owner == key);
                found.map_or(&[][..], |(_, block)| &lambda[block.rows()])
            };
            let sum = &mut self.reactions.sums[j];
            if let JointKind::Gear(terms) = &joint.kind {
                if let (Some((body, axis, ratio)), [twist]) = (terms.first(), impulse(0)) {
                    sum.torque += self.bodies.orientation[body.index()] * *axis * (ratio * twist);
                }
                continue;
            }
            let (mut force, mut torque) = (DVec3::ZERO, DVec3::ZERO);
            for block in joint.rows(&self.bodies) {
                for (row, &push) in block.rows.iter().zip(impulse(block.part)) {
                    let row = row.on(Side::First);
                    force += push * DVec3::from_slice(&row[..3]);
                    torque += push * DVec3::from_slice(&row[3..]);
                }
            }
            sum.force += force;
            sum.torque += torque - joint.arm(&self.bodies).cross(force);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GaussSeidel;
    use crate::world::{Integrator, scene};

    /// A bar of 2 kg and 1 m held at one end by a joint to a post that cannot move.
    fn held(joint: &str) -> World {
        let text = format!(
            "[[bodies]]\nname = \"post\"\nmotion = \"static\"\n\
             [[bodies]]\nname = \"bar\"\nposition = [0.5, 0, 1]\nmass = 2\ninertia = [0.01, 0.2, 0.2]\n\
             [[joints]]\nname = \"hold\"\n{joint}\n"
        );
        scene::parse(&text).unwrap().world
    }

    /// The tolerance is a velocity: over a step of 1 ms it is a force a few thousand times as large.
    fn after_a_step(world: &mut World) -> Reaction {
        let mut solver = GaussSeidel::default();
        solver.stop.tolerance = 1e-12;
        let done = world.step(1e-3, &mut solver).unwrap();
        assert_eq!(done.unsolved, 0);
        world.reaction(JointId(0))
    }

    #[test]
    fn a_fixed_joint_carries_weight_and_moment_of_a_bar() {
        let fixed = "type = \"fixed\"\nbodies = [\"bar\", \"post\"]\npoint = [0, 0, 1]";
        for integrator in [Integrator::Spook, Integrator::Rattle] {
            for substeps in [1, 3] {
                let mut world = held(fixed);
                world.settings.integrator = integrator;
                world.settings.substeps = substeps;
                assert_eq!(world.reaction(JointId(0)), Reaction::default());
                let found = after_a_step(&mut world);
                // m g upwards, and m g l/2 about −y, which lifts a bar along x.
                let (force, torque) = (found.force, found.torque);
                assert!((force - DVec3::Z * 19.62).length() < 1e-6, "{force}");
                assert!((torque + DVec3::Y * 9.81).length() < 1e-6, "{torque}");
            }
        }
    }

    #[test]
    fn the_first_body_may_be_the_one_that_stands() {
        let fixed = "type = \"fixed\"\nbodies = [\"post\", \"bar\"]\npoint = [0, 0, 1]";
        let found = after_a_step(&mut held(fixed));
        assert!((found.force + DVec3::Z * 19.62).length() < 1e-6);
        assert!((found.torque - DVec3::Y * 9.81).length() < 1e-6);
    }

    #[test]
    fn a_motor_that_holds_a_bar_is_part_of_its_hinge() {
        let hinge = "type = \"hinge\"\nbodies = [\"bar\", \"world\"]\npoint = [0, 0, 1]\naxis = [0, 1, 0]\n\
                     motor = { speed = 0, max-force = 100 }";
        let found = after_a_step(&mut held(hinge));
        assert!((found.force - DVec3::Z * 19.62).length() < 1e-5);
        assert!((found.torque + DVec3::Y * 9.81).length() < 1e-5);
    }

    #[test]
    fn a_rod_pulls_along_itself_without_a_torque() {
        let rod = "type = \"distance\"\nbodies = [\"bar\", \"world\"]\nanchors = [[0.5, 0, 1], [0.5, 0, 3]]";
        let found = after_a_step(&mut held(rod));
        assert!((found.force - DVec3::Z * 19.62).length() < 1e-6);
        assert!(found.torque.length() < 1e-12);
    }
}
