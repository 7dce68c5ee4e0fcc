//! Names for the blocks of a world's problem, and the bodies they act on.

use super::contacts::Find;
use super::{Key, StepError, World, assemble};
use crate::index::BodyId;

impl World {
    /// What a block belongs to, in words.
    pub fn describe(&self, key: Key) -> String {
        key.describe(self)
    }

    /// The bodies that a block acts on; for a joint of a robot, the link that it carries.
    pub fn bodies_of(&self, key: Key) -> Vec<BodyId> {
        key.bodies(self)
    }

    /// What each block of the last substep belonged to, in the order of its problem.
    pub fn last_blocks(&self) -> Vec<Key> {
        self.warm.in_order()
    }

    /// What each block of [`World::problem`] belongs to, in words and in the order of its blocks.
    pub fn block_names(&mut self, h: f64) -> Result<Vec<String>, StepError> {
        self.check_finite()?;
        let contacts = self.collide_awake(h, Find::Anew)?;
        let assembly = assemble::assemble(self, h, &contacts, assemble::Room::default())?;
        Ok(assembly.keys.iter().map(|key| key.describe(self)).collect())
    }
}
