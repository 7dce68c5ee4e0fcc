//! Which pairs of colliders are near: parry's bounding-volume tree over boxes enlarged by what may happen in the
//! step, and every half-space against everything. Pairs come out sorted, whatever the tree looks like.

use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};

use crate::math::DVec3;

/// Updates after which the tree is built anew.
const REBUILD_AFTER: u32 = 64;

/// The tree, kept between steps.
#[derive(Clone, Default)]
pub(crate) struct Broad {
    tree: Bvh,
    work: BvhWorkspace,
    age: u32,
    /// Collider of each leaf.
    keys: Vec<u32>,
    boxes: Vec<Aabb>,
    /// First collider in the high half, second in the low: one comparison sorts a pair.
    pairs: Vec<u64>,
}

impl std::fmt::Debug for Broad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Broad")
            .field("leaves", &self.tree.leaf_count())
            .finish_non_exhaustive()
    }
}

impl Broad {
    /// Boxes of this step, one per collider; `None` for half-spaces, which have none.
    pub(crate) fn set(&mut self, boxes: impl Iterator<Item = Option<(DVec3, DVec3)>>) {
        let Broad {
            tree,
            work,
            age,
            keys,
            boxes: leaves,
            ..
        } = self;
        keys.clear();
        leaves.clear();
        for (i, bounds) in boxes.enumerate() {
            if let Some((centre, half)) = bounds {
                keys.push(i as u32);
                leaves.push(Aabb::new(centre - half, centre + half));
            }
        }
        // A tree that only follows its leaves loosens; an old one is built anew. Leaves are numbered without holes:
        // parry's builder panics on a lone leaf with any other number than zero.
        if *age == 0 {
            *tree = Bvh::from_leaves(BvhBuildStrategy::Binned, leaves);
        } else {
            for (i, leaf) in leaves.iter().enumerate() {
                tree.insert_or_update_partially(*leaf, i as u32, 0.0);
            }
            tree.refit(work);
        }
        *age = (*age + 1) % REBUILD_AFTER;
    }

    /// Pairs of leaves whose boxes overlap and that `admit` lets through, with the order it gives them, sorted.
    pub(crate) fn pairs(
        &mut self,
        extra: &[(u32, u32)],
        mut admit: impl FnMut(u32, u32) -> Option<(u32, u32)>,
    ) -> impl Iterator<Item = (u32, u32)> {
        let Broad {
            tree,
            work,
            pairs,
            keys,
            ..
        } = self;
        pairs.clear();
        pairs.extend(extra.iter().map(pack));
        tree.traverse_bvtt_single_tree::<false>(work, &mut |i, j| {
            pairs.extend(admit(keys[i as usize], keys[j as usize]).as_ref().map(pack));
        });
        pairs.sort_unstable();
        pairs.iter().map(|pair| ((pair >> 32) as u32, *pair as u32))
    }
}

fn pack(&(i, j): &(u32, u32)) -> u64 {
    u64::from(i) << 32 | u64::from(j)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn pairs_are_those_of_a_full_search_step_after_step() {
        let mut random = Random::new(3);
        let mut at: Vec<DVec3> = (0..200).map(|_| random.vector() * 3.0).collect();
        let half = DVec3::splat(0.4);
        let mut broad = Broad::default();
        for _ in 0..70 {
            at.iter_mut().for_each(|x| *x += random.vector() * 0.2);
            broad.set(at.iter().map(|&x| Some((x, half))));
            let found = broad
                .pairs(&[], |i, j| Some((i.min(j), i.max(j))))
                .collect::<Vec<_>>();
            let mut expected = Vec::new();
            for i in 0..at.len() {
                for j in i + 1..at.len() {
                    if (at[i] - at[j]).abs().max_element() <= 0.8 {
                        expected.push((i as u32, j as u32));
                    }
                }
            }
            assert_eq!(found, expected);
        }
    }
}
