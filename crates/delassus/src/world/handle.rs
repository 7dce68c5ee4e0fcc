//! Joints that come and go while a world runs: a handle that is pulled, a rope that is cut.

use super::builder::{check_joint, joined};
use super::{Joint, JointKind, World, WorldError};
use crate::index::JointId;

impl World {
    /// Adds a joint between steps, behind all others; its bodies wake. A joint with an empty name gets a number.
    ///
    /// A [`super::State`] belongs to the joints it was taken with: take the joint away before restoring an older one.
    pub fn add_joint(&mut self, mut joint: Joint) -> Result<JointId, WorldError> {
        if joint.name.is_empty() {
            joint.name = format!("joint-{:06}", self.joints.len());
        }
        if self.find_joint(&joint.name).is_some() {
            return Err(WorldError::Joint {
                name: joint.name,
                what: "two joints have this name; give each its own".to_owned(),
            });
        }
        check_joint(&joint, &self.bodies)?;
        joint.coordinate = joint.measure(&self.bodies);
        for link in joint.links() {
            self.wake(link);
        }
        self.joints.push(joint);
        self.lanes.touch_joints();
        self.joined = joined(&self.joints, &self.apart);
        Ok(JointId(self.joints.len() as u32 - 1))
    }

    /// Takes the last joint away with its id, which the next joint gets; its bodies wake, and the ids of the others stay.
    /// Nothing where there is none, or where [`World::remove_joint`], which gives no id twice, took the last one.
    pub fn pop_joint(&mut self) -> Option<Joint> {
        let joint = self.joints.pop_if(|last| last.kind != JointKind::Gone)?;
        let id = JointId(self.joints.len() as u32);
        self.warm.forget(id);
        self.reactions.forget(id);
        self.lanes.touch_joints();
        for link in joint.links() {
            self.wake(link);
        }
        self.joined = joined(&self.joints, &self.apart);
        Some(joint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::BodyId;
    use crate::world::JointAxis;
    use crate::{GaussSeidel, scenes};
    use glam::DVec3;

    /// Angular frequency of the handle below \[rad/s\].
    const PULL: f64 = 20.0;

    #[test]
    fn a_handle_holds_a_box_and_lets_it_go() {
        let mut world = scenes::build("stack:1").unwrap().world;
        let id = BodyId(world.bodies().len() as u32 - 1);
        let (start, mass) = (world.bodies().position[1], world.bodies().mass[1]);
        let mut handle = Joint::at(
            world.bodies(),
            [Some(id), None],
            JointAxis::new(start, DVec3::Z),
            JointKind::Ball,
        );
        handle.name = "hand".to_owned();
        handle.compliance = 1.0 / (mass * PULL * PULL);
        handle.damping = Some(2.0 / PULL);
        handle.frames[1].origin = start + DVec3::Z;
        let joint = world.add_joint(handle.clone()).unwrap();
        assert!(world.add_joint(handle).is_err(), "the name is taken");
        for _ in 0..300 {
            world.step(0.01, &mut GaussSeidel::default()).unwrap();
        }
        // A spring of m ω² sags by g/ω² under the weight of m.
        let sag = 9.81 / (PULL * PULL);
        let height = world.bodies().position[1].z - start.z;
        assert!((height - (1.0 - sag)).abs() < 1e-3, "{height}");
        assert_eq!(world.joint_impulse(joint).len(), 3);
        assert_eq!(
            world.pop_joint().map(|joint| joint.name),
            Some("hand".to_owned())
        );
        assert!(world.pop_joint().is_none());
        for _ in 0..300 {
            world.step(0.01, &mut GaussSeidel::default()).unwrap();
        }
        assert!((world.bodies().position[1].z - start.z).abs() < 1e-3);
    }
}
