//! Which pairs of colliders are near: parry's bounding-volume tree over boxes enlarged by what may happen in the
//! step, and every half-space against everything. Pairs come out sorted, whatever the tree looks like.

use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};

use crate::math::DVec3;

/// Share of the leaves' boxes that may be re-sorted into the tree by growth before it is rebuilt.
const REBUILD_AFTER: u32 = 64;

/// The tree, kept between steps.
#[derive(Clone, Default)]
pub(crate) struct Broad {
    tree: Bvh,
    work: BvhWorkspace,
    age: u32,
    boxes: Vec<Aabb>,
    pairs: Vec<(u32, u32)>,
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
        // A tree that only follows its leaves loosens; an old one is built anew.
        let fresh = self.age == 0;
        self.age = (self.age + 1) % REBUILD_AFTER;
        self.boxes.clear();
        let to_box = |(centre, half): (DVec3, DVec3)| Aabb::new(centre - half, centre + half);
        if fresh {
            let leaves = boxes.enumerate().filter_map(|(i, b)| Some((i, to_box(b?))));
            self.tree = Bvh::from_iter(BvhBuildStrategy::Binned, leaves);
            return;
        }
        for (i, b) in boxes.enumerate() {
            if let Some(b) = b {
                self.tree
                    .insert_or_update_partially(to_box(b), i as u32, 0.0);
            }
        }
        self.tree.refit(&mut self.work);
    }

    /// Pairs of leaves whose boxes overlap and that `admit` lets through, with the order it gives them, sorted.
    pub(crate) fn pairs(
        &mut self,
        extra: &[(u32, u32)],
        mut admit: impl FnMut(u32, u32) -> Option<(u32, u32)>,
    ) -> &[(u32, u32)] {
        let Broad {
            tree, work, pairs, ..
        } = self;
        pairs.clear();
        pairs.extend_from_slice(extra);
        tree.traverse_bvtt_single_tree::<false>(work, &mut |i, j| pairs.extend(admit(i, j)));
        pairs.sort_unstable();
        pairs
    }
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
            let found = broad.pairs(&[], |i, j| Some((i.min(j), i.max(j)))).to_vec();
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
