//! Which pairs of colliders are near: parry's bounding-volume tree over boxes enlarged by what may happen in the
//! step, and every half-space against everything. Pairs come out sorted, whatever the tree looks like.
//!
//! The tree holds boxes with a skin, and a list of those that overlap. A collider is looked up again only when it
//! has left its skin, so that a pile at rest costs one pass over the list; the boxes of the step itself decide, so
//! that nothing of this history is left in the pairs.

use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};

use super::Bounds;
use crate::math::DVec3;
use crate::math::parallel::{self, CHUNK};

/// The tree is built anew once its leaves have been replaced so many times on average.
const REBUILD_AFTER: usize = 16;
/// Leaves so few that looking at all pairs takes less than following a tree.
const FEW: usize = 32;
/// Skin around a box as a share of its smallest half extent.
const SKIN: f64 = 0.1;

/// The tree, kept between steps.
#[derive(Clone, Default)]
pub(crate) struct Broad {
    tree: Bvh,
    work: BvhWorkspace,
    /// Leaves replaced since the tree was built.
    replaced: usize,
    /// Collider of each leaf.
    keys: Vec<u32>,
    boxes: Vec<Aabb>,
    /// Boxes with their skins, as the tree has them.
    skins: Vec<Aabb>,
    /// Leaves that left their skin in this step.
    left: Vec<u32>,
    /// The same as a mark on every leaf, where they are few.
    has_left: Vec<bool>,
    /// Leaves whose skins overlap, sorted. First leaf in the high half, second in the low: one comparison sorts.
    near: Vec<u64>,
    pairs: Vec<u64>,
    /// The same out of order, and where the pairs of each first leaf begin.
    found: Vec<u64>,
    starts: Vec<usize>,
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
    pub(crate) fn set(&mut self, bounds: &[Bounds]) {
        self.keys.clear();
        let keys = (0..).zip(bounds).filter(|(_, bounds)| bounds.is_some());
        self.keys.extend(keys.map(|(i, _)| i));
        let count = self.keys.len();
        self.place(bounds);
        // A tree that only follows its leaves loosens. Leaves are numbered without holes: parry's builder panics
        // on a lone leaf with any other number than zero.
        if self.skins.len() != count || REBUILD_AFTER * count < self.replaced {
            self.replaced = 0;
            self.skins.clear();
            self.skins.extend(self.boxes.iter().map(with_skin));
            if count <= FEW {
                return self.find_few();
            }
            self.tree = Bvh::from_leaves(BvhBuildStrategy::Binned, &self.skins);
            self.find_all();
            return;
        }
        if self.left.is_empty() {
            return;
        }
        for &i in &self.left {
            self.skins[i as usize] = with_skin(&self.boxes[i as usize]);
        }
        if count <= FEW {
            return self.find_few();
        }
        self.replaced += self.left.len();
        for &i in &self.left {
            self.tree
                .insert_or_update_partially(self.skins[i as usize], i, 0.0);
        }
        self.tree.refit(&mut self.work);
        if count < 8 * self.left.len() {
            self.find_all();
        } else {
            self.find_left();
        }
    }

    /// The boxes of all leaves, and which of them are outside their skins.
    fn place(&mut self, bounds: &[Bounds]) {
        let Broad {
            keys,
            boxes,
            skins,
            left,
            ..
        } = self;
        boxes.resize(keys.len(), Aabb::new(DVec3::ZERO, DVec3::ZERO));
        left.clear();
        let skins = &skins[..];
        let place = |start: usize, boxes: &mut [Aabb], left: &mut Vec<u32>| {
            for (i, own) in (start..).zip(boxes) {
                if let Some((centre, half)) = bounds[keys[i] as usize] {
                    *own = Aabb::new(centre - half, centre + half);
                }
                if skins.get(i).is_some_and(|skin| !skin.contains(own)) {
                    left.push(i as u32);
                }
            }
        };
        let length = parallel::share(boxes.len()).max(8 * CHUNK);
        if boxes.len() <= length {
            return place(0, boxes, left);
        }
        let parts = boxes.chunks_mut(length).enumerate().collect();
        let found = parallel::map(parts, |(part, boxes): (usize, &mut [Aabb])| {
            let mut left = Vec::new();
            place(part * length, boxes, &mut left);
            left
        });
        left.extend(found.into_iter().flatten());
    }

    /// Finds all near pairs without the tree.
    fn find_few(&mut self) {
        self.near.clear();
        for (i, skin) in (0..).zip(&self.skins) {
            let later = (i + 1..).zip(&self.skins[i as usize + 1..]);
            let meet = later.filter(|(_, other)| skin.intersects(other));
            self.near.extend(meet.map(|(j, _)| pack((i, j))));
        }
    }

    /// Finds all near pairs.
    fn find_all(&mut self) {
        let Broad {
            tree,
            work,
            near,
            found,
            starts,
            ..
        } = self;
        found.clear();
        starts.clear();
        starts.resize(self.boxes.len() + 1, 0);
        tree.traverse_bvtt_single_tree::<false>(work, &mut |i, j| {
            found.push(pack((i.min(j), i.max(j))));
            starts[i.min(j) as usize + 1] += 1;
        });
        // By their first leaf in one pass, then the few of each.
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        near.resize(found.len(), 0);
        for &pair in &*found {
            let next = &mut starts[unpack(pair).0 as usize];
            near[*next] = pair;
            *next += 1;
        }
        near.chunk_by_mut(|a, b| unpack(*a).0 == unpack(*b).0)
            .for_each(<[u64]>::sort_unstable);
    }

    /// Replaces the near pairs of the leaves that left their skins.
    fn find_left(&mut self) {
        self.has_left.clear();
        self.has_left.resize(self.boxes.len(), false);
        for &i in &self.left {
            self.has_left[i as usize] = true;
        }
        let left = |i: u32| self.has_left[i as usize];
        self.near.retain(|&pair| {
            let (i, j) = unpack(pair);
            !left(i) && !left(j)
        });
        for &i in &self.left {
            let found = self.tree.intersect_aabb(&self.skins[i as usize]);
            // Two that both left are found twice; the smaller one counts.
            let found = found.filter(|&j| j != i && !(j < i && left(j)));
            self.near.extend(found.map(|j| pack((i.min(j), i.max(j)))));
        }
        // What was kept is sorted already, which this sort makes use of.
        self.near.sort();
    }

    /// Pairs of colliders whose boxes overlap and that `admit` lets through, with the order it gives them, and those
    /// of `extra`, sorted.
    pub(crate) fn pairs(
        &mut self,
        extra: &[(u32, u32)],
        admit: impl Fn(u32, u32) -> Option<(u32, u32)> + Sync,
    ) -> &[u64] {
        self.pairs.clear();
        let (keys, boxes) = (&self.keys, &self.boxes);
        let choose = |&pair: &u64| {
            let (i, j) = unpack(pair);
            let (i, j) = (i as usize, j as usize);
            let pair = admit(keys[i], keys[j])?;
            let meet = boxes[i].intersects(&boxes[j]);
            meet.then(|| pack(pair))
        };
        let length = parallel::share(self.near.len()).max(8 * CHUNK);
        if self.near.len() <= length {
            self.pairs.extend(self.near.iter().filter_map(choose));
        } else {
            let parts = self.near.chunks(length).collect();
            let chosen = parallel::map(parts, |near: &[u64]| -> Vec<u64> {
                near.iter().filter_map(choose).collect()
            });
            self.pairs.extend(chosen.into_iter().flatten());
        }
        let (chosen, extra) = (self.pairs.len(), extra.iter().copied().map(pack));
        self.pairs.extend(extra.clone());
        if !self.pairs[..chosen].is_sorted() || !extra.clone().is_sorted() {
            self.pairs.sort();
            return &self.pairs;
        }
        // Both are sorted: the larger one of their last goes last, and so on.
        let (mut from, mut to) = (chosen, self.pairs.len());
        for pair in extra.rev() {
            while 0 < from && pair < self.pairs[from - 1] {
                (from, to) = (from - 1, to - 1);
                self.pairs[to] = self.pairs[from];
            }
            to -= 1;
            self.pairs[to] = pair;
        }
        &self.pairs
    }
}

/// The box a leaf may move in before its pairs are looked for again.
fn with_skin(bounds: &Aabb) -> Aabb {
    // Grown on every side by a share of its least half-width.
    bounds.loosened(SKIN * bounds.half_extents().min_element())
}

/// i 2³² + j: as numbers, pairs sort by their first leaf, then by their second.
fn pack((i, j): (u32, u32)) -> u64 {
    u64::from(i) << 32 | u64::from(j)
}

/// The two numbers of a pair.
pub(crate) fn unpack(pair: u64) -> (u32, u32) {
    ((pair >> 32) as u32, pair as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn pairs_are_those_of_a_full_search_step_after_step() {
        for count in [200, FEW, 2] {
            find_step_after_step(count);
        }
    }

    fn find_step_after_step(count: usize) {
        let mut random = Random::new(3);
        let wide = 3.0 * (count as f64 / 200.0).cbrt();
        let mut at: Vec<DVec3> = (0..count).map(|_| random.vector() * wide).collect();
        let half = DVec3::splat(0.4);
        let mut broad = Broad::default();
        for step in 0..300 {
            // Steps in which all, a few or none leave their skins.
            let moved = [count, count, 10, 0, 1][step % 5].min(count);
            at[..moved]
                .iter_mut()
                .for_each(|x| *x += random.vector() * 0.2);
            let bounds: Vec<Bounds> = at.iter().map(|&x| Some((x, half))).collect();
            broad.set(&bounds);
            let found = broad
                .pairs(&[], |i, j| Some((i.min(j), i.max(j))))
                .iter()
                .map(|&pair| unpack(pair))
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
