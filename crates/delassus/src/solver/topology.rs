//! Which rows touch which masses, without any number: what may be kept from one solve to the next.

use crate::problem::{Block, Primal};

/// The shape of a primal problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Velocities of every mass.
    velocities: Vec<u32>,
    /// Rows of every block.
    rows: Vec<u32>,
    /// Whether the block is an equality.
    equality: Vec<bool>,
    /// Masses of every block one after the other, and where each list ends.
    masses: Vec<u32>,
    ends: Vec<usize>,
}

impl Topology {
    /// Takes the shape of this problem; true if it differs from the one before.
    pub fn update(&mut self, primal: &Primal, blocks: &[Block]) -> bool {
        let jacobian = primal.jacobian();
        // Masses are large; where their velocities stand says as much and is read faster.
        let velocities = (0..primal.mass().len()).map(|b| primal.columns(b).len() as u32);
        let rows = blocks.iter().map(|block| block.n_rows as u32);
        let equality = blocks.iter().map(is_equality);
        let masses = (0..jacobian.n_entries()).map(|e| jacobian.entry_mass(e) as u32);
        let ends = (0..blocks.len()).map(|k| jacobian.entry_range(k).end);
        let mut changed = replace(&mut self.velocities, velocities);
        changed |= replace(&mut self.rows, rows);
        changed |= replace(&mut self.equality, equality);
        changed |= replace(&mut self.masses, masses);
        changed | replace(&mut self.ends, ends)
    }
}

/// Whether the block is a joint: all its rows are equalities.
pub(super) fn is_equality(block: &Block) -> bool {
    block.law == crate::law::Law::Equality
}

/// Writes the list over the old one; true if they differ.
fn replace<T: PartialEq>(old: &mut Vec<T>, new: impl Iterator<Item = T>) -> bool {
    let (mut count, mut changed) = (0, false);
    for item in new {
        match old.get_mut(count) {
            Some(slot) if *slot == item => {}
            Some(slot) => {
                *slot = item;
                changed = true;
            }
            None => {
                old.push(item);
                changed = true;
            }
        }
        count += 1;
    }
    changed |= count < old.len();
    old.truncate(count);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_differs_anywhere_is_a_change() {
        let mut list = Vec::new();
        assert!(replace(&mut list, [1, 2, 3].into_iter()));
        assert!(!replace(&mut list, [1, 2, 3].into_iter()));
        assert!(replace(&mut list, [1, 2].into_iter()));
        assert!(replace(&mut list, [1, 2, 3].into_iter()));
        assert!(replace(&mut list, [1, 4, 3].into_iter()));
        assert_eq!(list, [1, 4, 3]);
    }
}
