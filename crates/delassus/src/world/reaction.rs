//! What joints pull and twist with: the impulses of a step as a force and a torque in world axes.

use glam::DVec3;

use super::World;
use super::assemble::Assembly;
use super::warm::{JointPart, Key};
use crate::index::JointId;

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
    /// Writes them over older ones.
    pub(super) fn copy_to(&self, into: &mut Reactions) {
        into.sums.clone_from(&self.sums);
        into.time = self.time;
    }

    /// Makes room for so many joints, whose impulses act for h more seconds.
    pub(super) fn more(&mut self, joints: usize, h: f64) -> &mut [Reaction] {
        self.time += h;
        self.sums.resize(joints, Reaction::default());
        &mut self.sums
    }

    /// Forgets what one joint did.
    pub(super) fn forget(&mut self, joint: JointId) {
        if let Some(sum) = self.sums.get_mut(joint.index()) {
            *sum = Reaction::default();
        }
    }

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
        let sums = self.reactions.more(self.joints.len(), h);
        let blocks = assembly.keys.iter().zip(assembly.problem.blocks());
        let mut blocks = blocks.take(assembly.first_contact).peekable();
        for (j, joint) in self.joints.iter().enumerate() {
            // Joints of bodies that never move, or are set aside, have no rows.
            if !joint.each_link().any(|id| self.bodies.is_free(id)) {
                continue;
            }
            let mut impulse = |part: JointPart| {
                let joint = JointId(j as u32);
                let key = Key::Joint { joint, part };
                let found = blocks.next_if(|(owner, _)| **owner == key);
                found.map_or(&[][..], |(_, block)| &lambda[block.rows()])
            };
            let sum = &mut sums[j];
            // (f, τ) = Σ Gᵀλ over its rows, about the centre of its first body; then τ − arm × f about the joint.
            let (mut force, mut torque) = (DVec3::ZERO, DVec3::ZERO);
            joint.visit(&self.bodies, |block| {
                for (i, &push) in impulse(block.part).iter().enumerate() {
                    let row = block.on_first(i);
                    force += push * DVec3::from_slice(&row[..3]);
                    torque += push * DVec3::from_slice(&row[3..]);
                }
            });
            sum.force += force;
            sum.torque += torque - joint.arm(&self.bodies).cross(force);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{
        Body, Drive, Integrator, Joint, JointAxis, JointBody, JointKind, Motor, MovedBy,
    };
    use crate::{GaussSeidel, WorldBuilder};

    /// The end of the bar that is held.
    const END: DVec3 = DVec3::new(0.0, 0.0, 1.0);

    /// A post that cannot move and a bar of 2 kg and 1 m along x, joined as asked: post, bar.
    fn held(join: impl Fn(&WorldBuilder, JointBody, JointBody) -> Joint) -> World {
        let mut builder = WorldBuilder::default();
        let post = Body {
            name: "post".to_owned(),
            motion: MovedBy::Static,
            ..Body::default()
        };
        let bar = Body {
            name: "bar".to_owned(),
            position: DVec3::new(0.5, 0.0, 1.0),
            mass: 2.0,
            inertia: glam::DMat3::from_diagonal(DVec3::new(0.01, 0.2, 0.2)),
            ..Body::default()
        };
        let post = builder.add_body(post).unwrap();
        let bar = builder.add_body(bar).unwrap();
        let joint = join(&builder, Some(post), Some(bar));
        builder.add_joint(joint).unwrap();
        builder.build().unwrap()
    }

    /// A joint at the end of the bar, about y.
    fn at_end(builder: &WorldBuilder, links: [JointBody; 2], kind: JointKind) -> Joint {
        Joint::at(builder.bodies(), links, JointAxis::new(END, DVec3::Y), kind)
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
        let fixed = |b: &WorldBuilder, post: JointBody, bar: JointBody| {
            at_end(b, [bar, post], JointKind::Fixed)
        };
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
        let mut world = held(|b, post, bar| at_end(b, [post, bar], JointKind::Fixed));
        let found = after_a_step(&mut world);
        assert!((found.force + DVec3::Z * 19.62).length() < 1e-6);
        assert!((found.torque - DVec3::Y * 9.81).length() < 1e-6);
    }

    #[test]
    fn a_motor_that_holds_a_bar_is_part_of_its_hinge() {
        let drive = Drive {
            motor: Some(Motor {
                speed: 0.0,
                max_force: 100.0,
            }),
            ..Drive::default()
        };
        let mut world = held(|b, _, bar| at_end(b, [bar, None], JointKind::Hinge(drive)));
        let found = after_a_step(&mut world);
        assert!((found.force - DVec3::Z * 19.62).length() < 1e-5);
        assert!((found.torque + DVec3::Y * 9.81).length() < 1e-5);
    }

    #[test]
    fn a_rod_pulls_along_itself_without_a_torque() {
        let rod = JointKind::Distance {
            least: 2.0,
            greatest: 2.0,
        };
        // From the middle of the bar to a point 2 m above it.
        let mut world = held(|b, _, bar| {
            let middle = END + DVec3::X * 0.5;
            let axis = JointAxis::new(middle, DVec3::Z);
            let mut joint = Joint::at(b.bodies(), [bar, None], axis, rod.clone());
            joint.frames[1].origin += DVec3::Z * 2.0;
            joint
        });
        let found = after_a_step(&mut world);
        assert!((found.force - DVec3::Z * 19.62).length() < 1e-6);
        assert!(found.torque.length() < 1e-12);
    }
}
