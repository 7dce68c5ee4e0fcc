//! Questions about where colliders are, without a step: what does a ray meet, what overlaps a shape.

use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy, TraversalAction};
use parry3d_f64::query::RayCast;

use crate::math::{DQuat, DVec3};

use super::clip::Scratch;
use super::narrow::{self, Ball, PlacedSolid, Solid};
use super::ray::{Beam, Meeting};
use super::ready::{check_pose, extent, prepare};
use super::solid::PoseMatrix;
use super::{CollideError, Collider, Collisions, MAX_SIZE, Shape};

/// What a box may be farther than the best meeting so far, as a share of it, and still be looked into.
const SLACK: f64 = 1e-12;
/// Beyond this distance there is no box \[m\].
const FAR: f64 = 8.0 * MAX_SIZE;

/// Where a ray meets a collider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ColliderMeeting {
    pub(crate) collider: usize,
    pub(crate) met: Meeting,
}

/// How deep a collider overlaps a shape, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ColliderOverlap {
    pub(crate) collider: usize,
    /// Greatest depth \[m\].
    pub(crate) depth: f64,
    /// The deepest point of the shape.
    pub(crate) point: DVec3,
    /// The way out for the shape.
    pub(crate) normal: DVec3,
}

/// Colliders at given poses, ready to be asked.
pub(crate) struct Placed<'a> {
    of: &'a Collisions,
    frames: Vec<PoseMatrix>,
    boxes: Vec<Option<Aabb>>,
    /// Over the colliders that have a box, with the collider of each leaf.
    tree: Option<(Bvh, Vec<u32>)>,
}

impl Collisions {
    /// Colliders at these poses of their bodies. A tree over them pays where much is asked.
    pub(crate) fn placed(
        &self,
        poses: impl Fn(usize) -> (DVec3, DQuat),
        with_tree: bool,
    ) -> Result<Placed<'_>, CollideError> {
        let (mut frames, mut boxes) = (Vec::new(), Vec::new());
        for c in &self.colliders {
            let (at, turn) = poses(c.body);
            let turn = check_pose((at, turn), || format!("body {}", c.body))?;
            let (offset, rotation) = c.place.unwrap_or((DVec3::ZERO, DQuat::IDENTITY));
            let frame = PoseMatrix::new(at + turn * offset, (turn * rotation).normalize());
            let bounds = extent(&c.solid, &frame);
            boxes.push(bounds.map(|(x, half)| Aabb::new(x - half, x + half)));
            frames.push(frame);
        }
        let tree = with_tree.then(|| {
            let listed = boxes.iter().enumerate();
            let (keys, leaves): (Vec<u32>, Vec<Aabb>) =
                listed.filter_map(|(i, b)| Some((i as u32, (*b)?))).unzip();
            (Bvh::from_leaves(BvhBuildStrategy::Binned, &leaves), keys)
        });
        Ok(Placed {
            of: self,
            frames,
            boxes,
            tree,
        })
    }
}

impl Placed<'_> {
    /// Calls for every collider whose box a ray may meet; the call gives the distance beyond which none matters any more.
    fn along(&self, ray: &Beam, most: f64, mut visit: impl FnMut(usize, f64) -> f64) {
        let mut best = most;
        let line = parry3d_f64::query::Ray::new(ray.origin, ray.direction);
        let near = |bounds: &Aabb, best: f64| {
            // No box is farther away than this from where a ray may begin.
            let far = best.min(FAR) * (1.0 + SLACK) + f64::MIN_POSITIVE;
            bounds
                .loosened(SLACK * bounds.half_extents().max_element())
                .cast_local_ray(&line, far, true)
                .is_some()
        };
        // Half-spaces have no box.
        for (i, bounds) in self.boxes.iter().enumerate() {
            let asked = match (bounds, &self.tree) {
                (None, _) => true,
                (Some(bounds), None) => near(bounds, best),
                (Some(_), Some(_)) => false,
            };
            if asked {
                best = visit(i, best);
            }
        }
        if let Some((tree, keys)) = &self.tree {
            tree.traverse(|node| {
                if !near(&node.aabb(), best) {
                    return TraversalAction::Prune;
                }
                if let Some(leaf) = node.leaf_data() {
                    best = visit(keys[leaf as usize] as usize, best);
                }
                TraversalAction::Continue
            });
        }
    }

    /// The first collider that a ray meets, of those asked for; of two at the same distance the one that comes first.
    pub(crate) fn first(
        &self,
        ray: &Beam,
        most: f64,
        keep: &dyn Fn(usize) -> bool,
    ) -> Option<ColliderMeeting> {
        let mut found: Option<ColliderMeeting> = None;
        self.along(ray, most, |collider, best| {
            let met = self.meet(collider, ray, best, keep);
            let Some(met) = met else { return best };
            let closer =
                found.is_none_or(|old| (met.distance, collider) < (old.met.distance, old.collider));
            if closer {
                found = Some(ColliderMeeting { collider, met });
            }
            met.distance.min(best)
        });
        found
    }

    /// All colliders that a ray meets, each where it meets it first, from near to far.
    pub(crate) fn all(
        &self,
        ray: &Beam,
        most: f64,
        keep: &dyn Fn(usize) -> bool,
    ) -> Vec<ColliderMeeting> {
        let mut found = Vec::new();
        self.along(ray, most, |collider, best| {
            let met = self.meet(collider, ray, most, keep);
            found.extend(met.map(|met| ColliderMeeting { collider, met }));
            best
        });
        found.sort_by(|a, b| {
            let distances = a.met.distance.total_cmp(&b.met.distance);
            distances.then(a.collider.cmp(&b.collider))
        });
        found
    }

    fn meet(
        &self,
        collider: usize,
        ray: &Beam,
        most: f64,
        keep: &dyn Fn(usize) -> bool,
    ) -> Option<Meeting> {
        let solid = &self.of.colliders[collider].solid;
        let met = solid.cast(&self.frames[collider], ray, most);
        met.filter(|_| keep(collider))
    }

    /// All colliders that overlap a convex shape at a pose, in their order.
    pub(crate) fn overlaps(
        &self,
        shape: Shape,
        pose: (DVec3, DQuat),
        keep: &dyn Fn(usize) -> bool,
    ) -> Result<Vec<ColliderOverlap>, CollideError> {
        let turn = check_pose(pose, || "the shape asked for".to_owned())?;
        let asked = prepare(0, Collider::new(shape, 0))?;
        let frame = PoseMatrix::new(pose.0, turn);
        let own = PlacedSolid {
            solid: &asked.solid,
            frame: &frame,
        };
        let bounds = extent(&asked.solid, &frame);
        let bounds = bounds.map(|(x, half)| Aabb::new(x - half, x + half));
        let meets = |other: &Option<Aabb>| match (&bounds, other) {
            (Some(own), Some(other)) => own.intersects(other),
            _ => true,
        };
        let mut candidates: Vec<usize> = match (&self.tree, &bounds) {
            (Some((tree, keys)), Some(bounds)) => {
                let boxed = tree
                    .intersect_aabb(bounds)
                    .map(|leaf| keys[leaf as usize] as usize);
                let endless = (0..self.boxes.len()).filter(|i| self.boxes[*i].is_none());
                boxed.chain(endless).collect()
            }
            _ => (0..self.boxes.len())
                .filter(|i| meets(&self.boxes[*i]))
                .collect(),
        };
        candidates.sort_unstable();
        let (mut scratch, mut raw) = (Scratch::default(), Vec::new());
        let mut found = Vec::new();
        for collider in candidates.into_iter().filter(|i| keep(*i)) {
            let other = PlacedSolid {
                solid: &self.of.colliders[collider].solid,
                frame: &self.frames[collider],
            };
            raw.clear();
            match (ball(own), ball(other)) {
                (Some(a), Some(b)) => raw.extend(narrow::balls(a, b, 0.0)),
                _ => narrow::contacts(own, other, 0.0, &mut scratch, &mut raw),
            }
            let deepest = raw.iter().reduce(|a, b| if b.gap < a.gap { b } else { a });
            found.extend(deepest.filter(|r| r.gap <= 0.0).map(|r| ColliderOverlap {
                collider,
                depth: -r.gap,
                point: r.a,
                normal: r.normal,
            }));
        }
        Ok(found)
    }
}

/// The ball that a solid is, if it is one.
pub(super) fn ball(placed: PlacedSolid<'_>) -> Option<Ball> {
    match placed.solid {
        Solid::Convex(convex) if placed.solid.is_ball() => Some(Ball {
            centre: placed.frame.at(),
            radius: convex.radius,
        }),
        _ => None,
    }
}
