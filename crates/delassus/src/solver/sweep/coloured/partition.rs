//! Who sweeps what: masses are cut into consecutive ranges of equal work, the leaves of a binary tree, and every
//! block belongs to the smallest subtree that holds all its masses.
//!
//! Two halves of a subtree share nothing, so they are swept side by side; blocks that cross the cut follow. The
//! cuts depend on the problem alone, never on the number of threads.

use std::ops::Range;

use super::lanes::Row;
use crate::math::parallel::CHUNK;
use crate::problem::Primal;
use crate::problem::mass::MassBlock;

/// A leaf has at least so many blocks: less is not worth handing to another thread.
const LEAF_BLOCKS: usize = 500;
/// More leaves than this only move blocks to the cuts.
const MOST_LEAVES: usize = 16;

/// Masses that a thread takes at a time.
const PART: usize = 8 * CHUNK;

/// Where each mass lives.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    /// Leaf of each mass, ascending.
    leaf: Vec<u32>,
    /// First row of each mass in the state.
    row: Vec<u32>,
    /// First row of each leaf, which stands for ground; one more entry than leaves.
    starts: Vec<usize>,
    /// Blocks on each mass.
    weight: Vec<u32>,
    /// Every mass is a free rigid body.
    rigid: bool,
}

impl Partition {
    /// Cuts the masses of a problem with so many blocks.
    pub(super) fn prepare(&mut self, primal: &Primal, blocks: usize) {
        let mut leaves = 1;
        while leaves < MOST_LEAVES && 2 * leaves * LEAF_BLOCKS <= blocks {
            leaves *= 2;
        }
        let masses = primal.mass();
        self.weight.clear();
        self.weight.resize(masses.len(), 1);
        for e in 0..primal.jacobian().n_entries() {
            self.weight[primal.jacobian().entry_mass(e)] += 1;
        }
        let total = masses.len() + primal.jacobian().n_entries();
        self.leaf.clear();
        self.row.clear();
        self.starts.clear();
        self.rigid = true;
        let (mut row, mut before) = (0, 0);
        for (b, mass) in masses.iter().enumerate() {
            let leaf = before * leaves / total;
            self.open(leaf, &mut row);
            self.rigid &= matches!(mass, MassBlock::Rigid(_));
            self.leaf.push(leaf as u32);
            self.row.push(row as u32);
            row += rows_of(mass);
            before += self.weight[b] as usize;
        }
        self.open(leaves - 1, &mut row);
        self.starts.push(row);
    }

    /// Begins every leaf up to this one with its row for ground.
    fn open(&mut self, leaf: usize, row: &mut usize) {
        while self.starts.len() <= leaf {
            self.starts.push(*row);
            *row += 1;
        }
    }

    /// Number of leaves, a power of two.
    pub(super) fn leaves(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether every mass is a free rigid body.
    pub(super) fn is_rigid(&self) -> bool {
        self.rigid
    }

    /// Number of rows of the state.
    pub(super) fn n_rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// First row of mass b.
    pub(super) fn row(&self, b: usize) -> usize {
        self.row[b] as usize
    }

    /// Consecutive masses, the number of their first row, and what an array with an entry for each row holds of theirs.
    pub(super) fn parts<'a, T>(
        &'a self,
        mut array: &'a mut [T],
    ) -> impl Iterator<Item = (Range<usize>, usize, &'a mut [T])> {
        let count = self.row.len();
        // Rows for ground stand before those of their leaf.
        let start = move |b: usize| match b {
            0 => 0,
            b if b < count => self.row(b),
            _ => self.n_rows(),
        };
        (0..count).step_by(PART).map(move |b| {
            let end = count.min(b + PART);
            let own = array.split_off_mut(..start(end) - start(b));
            let own = own.expect("there is an entry for every row");
            (b..end, start(b), own)
        })
    }

    /// Rows of the leaves below node i, and the row at which its right half begins. Nodes are numbered in order:
    /// all of the left half, the node, all of the right half.
    pub(super) fn rows(&self, node: usize) -> (Range<usize>, usize) {
        let height = (node + 1).trailing_zeros();
        let half = (1 << height) / 2;
        let middle = node.div_ceil(2);
        let (first, end) = (middle - half, middle + half.max(1));
        (self.starts[first]..self.starts[end], self.starts[middle])
    }

    /// The smallest subtree that holds all of the masses.
    pub(super) fn node(&self, masses: impl Iterator<Item = usize>) -> usize {
        let (lo, hi) = masses.fold((u32::MAX, 0), |(lo, hi), b| {
            (lo.min(self.leaf[b]), hi.max(self.leaf[b]))
        });
        if hi < lo {
            return 0;
        }
        let height = u32::BITS - (lo ^ hi).leading_zeros();
        (((lo >> height) << (height + 1)) + (1 << height) - 1) as usize
    }
}

/// Rows of the state that a mass fills.
pub(super) fn rows_of(mass: &MassBlock) -> usize {
    mass.dim().div_ceil(Row::WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_belongs_to_the_smallest_subtree_with_all_its_masses() {
        for leaves in [1, 2, 4, 16] {
            let partition = Partition {
                leaf: (0..leaves as u32).collect(),
                row: Vec::new(),
                starts: (0..=leaves).collect(),
                weight: Vec::new(),
                rigid: true,
            };
            for a in 0..leaves {
                for b in 0..leaves {
                    let node = partition.node([a, b].into_iter());
                    let (rows, split) = partition.rows(node);
                    assert!(rows.contains(&a) && rows.contains(&b), "{a} {b} {node}");
                    if a == b {
                        assert_eq!((node, rows.len()), (2 * a, 1));
                    } else {
                        assert!(a.min(b) < split && split <= a.max(b), "{a} {b} {node}");
                    }
                }
            }
        }
    }
}
