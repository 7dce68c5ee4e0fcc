//! Names for the blocks of a world's problem.

use super::{StepError, World, assemble};

impl World {
    /// Whose each block of [`World::problem`] is, in words and in the order of its blocks.
    pub fn block_names(&mut self, h: f64) -> Result<Vec<String>, StepError> {
        self.check_finite()?;
        let contacts = self.collide_awake(h)?;
        let assembly = assemble::assemble(self, h, &contacts, assemble::Room::default())?;
        Ok(assembly.keys.iter().map(|key| key.describe(self)).collect())
    }
}
