//! Which bodies and joints a world has: a recording is of the same ones from its first frame to its last.

use delassus::World;
use delassus::world::{JointKind, MovedBy};

use crate::DiskError;

/// What was there when a recording began.
#[derive(Clone, Debug)]
pub(crate) struct Census {
    bodies: Vec<bool>,
    joints: Vec<bool>,
}

impl Census {
    pub(crate) fn of(world: &World) -> Census {
        Census {
            bodies: bodies(world).collect(),
            joints: joints(world).collect(),
        }
    }

    /// Refuses a world in which something came or went.
    pub(crate) fn check(&self, world: &World) -> Result<(), DiskError> {
        let bodies = self.bodies.iter().copied().eq(bodies(world));
        let joints = self.joints.iter().copied().eq(joints(world));
        match bodies && joints {
            true => Ok(()),
            false => Err(DiskError::WorldChanged),
        }
    }
}

/// Whether each body is there.
fn bodies(world: &World) -> impl Iterator<Item = bool> {
    let motion = world.bodies().motion.iter();
    motion.map(|motion| *motion != MovedBy::Gone)
}

/// Whether each joint is there.
fn joints(world: &World) -> impl Iterator<Item = bool> {
    let joints = world.joints().iter();
    joints.map(|joint| joint.kind != JointKind::Gone)
}

/// Bodies that can move.
pub(crate) fn moving(world: &World) -> Vec<usize> {
    let motion = &world.bodies().motion;
    let moves = |i: &usize| !matches!(motion[*i], MovedBy::Static | MovedBy::Gone);
    (0..motion.len()).filter(moves).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delassus::BodyId;

    #[test]
    fn what_comes_or_goes_is_noticed() {
        let mut world = delassus::scenes::build("stack:3")
            .expect("the scene exists")
            .world;
        let census = Census::of(&world);
        let before = moving(&world);
        assert!(census.check(&world).is_ok());
        let top = BodyId(*before.last().expect("boxes move") as u32);
        world.remove_body(top).expect("it is there");
        assert!(matches!(census.check(&world), Err(DiskError::WorldChanged)));
        assert_eq!(moving(&world).len() + 1, before.len());
    }
}
