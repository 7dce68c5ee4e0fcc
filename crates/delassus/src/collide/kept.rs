//! Contacts that are kept while their bodies hardly move.
//!
//! Whoever asks keeps for every body the pose it was last looked at closely, its reference, and moves it on once the body
//! has left it by more than a small bound. A pair's contacts are found where its two references stand, and are then
//! carried along:
//!
//! ```text
//! x_a = X_a X̂_a⁻¹ x̂_a      x_b = X_b X̂_b⁻¹ x̂_b      n ∝ R_a R̂_aᵀ n̂ + R_b R̂_bᵀ n̂      g = n·(x_a − x_b)
//! ```
//!
//! with X the present poses and a hat for what belongs to the references. Where points of the solids have moved by at
//! most s, the gap of a corner over a face is off by s²/L and that of round surfaces by s²/r, with the size L and the
//! radius r; where an edge that is not parallel to a face crosses its border, by s times the slope, since the crossing
//! moves along the edge. Normals are off by s/L. Pairs of bodies of which one is much smaller than its partner's bound
//! are looked at anew where s is beyond a share of the smaller size: [`FARTHEST`].
//!
//! So contacts are a pure function of poses and references. What is stored here is only an answer that need not be
//! computed again: it is used where the references are, to the bit, those it was found for.

use crate::math::{DQuat, DVec3};

use super::broad::unpack;
use super::narrow::Solid;
use super::ready::Ready;
use super::reduce::Raw;
use super::solid::{Core, PoseMatrix};

/// How far points of a pair may have moved, as a share of the smaller solid, before it is looked at anew.
pub(super) const FARTHEST: f64 = 2e-3;

/// Where bodies were last looked at closely, and by how much their points have moved since \[m\].
#[derive(Clone, Copy)]
pub(crate) struct References<'a> {
    /// Poses, one per body.
    pub(crate) poses: &'a [(DVec3, DQuat)],
    /// The farthest that a point of the body has moved from there \[m\].
    pub(crate) moved: &'a [f64],
    /// What all bodies that move fall within the step, which is part of the reach of each \[m\].
    pub(crate) fall: f64,
}

/// A contact in the frames of its two colliders, in the order of their numbers.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: [DVec3; 2],
    normal: [DVec3; 2],
    id: u64,
}

/// Where the contacts of a pair stand in the list.
#[derive(Clone, Copy, Debug)]
struct Entry {
    pair: u64,
    /// The largest gap that was worth a contact.
    prediction: f64,
    first: u32,
    count: u32,
}

/// Contacts of pairs, sorted by pair.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    entries: Vec<Entry>,
    points: Vec<Point>,
}

/// Colliders at the references of their bodies, and the contacts found there.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    poses: Vec<(DVec3, DQuat)>,
    frames: Vec<PoseMatrix>,
    /// Colliders whose reference is another one than that of the list.
    changed: Vec<bool>,
    list: List,
}

impl Kept {
    /// Places colliders at their references, and notes which of these are new.
    pub(super) fn place(&mut self, colliders: &[Ready], references: &[(DVec3, DQuat)]) {
        let nowhere = (DVec3::NAN, DQuat::IDENTITY);
        let frame = PoseMatrix::new(DVec3::ZERO, DQuat::IDENTITY);
        self.poses.resize(colliders.len(), nowhere);
        self.frames.resize(colliders.len(), frame);
        self.changed.resize(colliders.len(), true);
        for (i, collider) in colliders.iter().enumerate() {
            let pose = references[collider.body];
            self.changed[i] = pose != self.poses[i];
            if self.changed[i] {
                self.poses[i] = pose;
                self.frames[i] = collider.frame(pose.0, pose.1.normalize());
            }
        }
    }

    /// Takes the lists of all lanes over, in their order.
    pub(super) fn replace<'a>(&mut self, mut lists: impl Iterator<Item = &'a mut List>) {
        self.list.clear();
        if let Some(first) = lists.next() {
            std::mem::swap(&mut self.list, first);
        }
        for list in lists {
            let before = self.list.points.len() as u32;
            self.list.points.append(&mut list.points);
            let moved = list.entries.drain(..).map(|entry| Entry {
                first: before + entry.first,
                ..entry
            });
            self.list.entries.extend(moved);
        }
    }

    /// A walk along the list for pairs that come sorted.
    pub(super) fn from(&self, pair: u64) -> Walk<'_> {
        let at = self.list.entries.partition_point(|entry| entry.pair < pair);
        Walk { kept: self, at }
    }
}

/// Looks pairs up one after the other.
pub(super) struct Walk<'a> {
    kept: &'a Kept,
    at: usize,
}

impl Walk<'_> {
    /// The collider where its reference stands.
    pub(super) fn frame(&self, collider: u32) -> &PoseMatrix {
        &self.kept.frames[collider as usize]
    }

    /// Writes what was found for a pair, with this prediction, to another list; false where it has to be found anew.
    pub(super) fn copy(&mut self, pair: u64, prediction: f64, into: &mut List) -> bool {
        let Kept { changed, list, .. } = self.kept;
        while list.entries.get(self.at).is_some_and(|e| e.pair < pair) {
            self.at += 1;
        }
        let (a, b) = unpack(pair);
        let known = list.entries.get(self.at).filter(|entry| {
            let same = entry.pair == pair && entry.prediction == prediction;
            same && !changed[a as usize] && !changed[b as usize]
        });
        let Some(entry) = known else { return false };
        let first = entry.first as usize;
        into.begin(pair, prediction);
        into.points
            .extend_from_slice(&list.points[first..first + entry.count as usize]);
        into.end();
        true
    }
}

impl List {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.points.clear();
    }

    fn begin(&mut self, pair: u64, prediction: f64) {
        let first = self.points.len() as u32;
        self.entries.push(Entry {
            pair,
            prediction,
            first,
            count: 0,
        });
    }

    fn end(&mut self) {
        if let Some(entry) = self.entries.last_mut() {
            entry.count = self.points.len() as u32 - entry.first;
        }
    }

    /// Adds the contacts of a pair that were found where these frames stand.
    pub(super) fn add(
        &mut self,
        pair: u64,
        prediction: f64,
        frames: [&PoseMatrix; 2],
        found: &[Raw],
    ) {
        self.begin(pair, prediction);
        self.points.extend(found.iter().map(|raw| Point {
            at: [frames[0].point_in(raw.a), frames[1].point_in(raw.b)],
            normal: frames.map(|frame| frame.turn_in(raw.normal)),
            id: raw.id,
        }));
        self.end();
    }

    /// The contacts of the last pair, carried along with its colliders.
    pub(super) fn last_at(&self, frames: [&PoseMatrix; 2], out: &mut Vec<Raw>) {
        out.clear();
        let first = self.entries.last().map_or(0, |entry| entry.first as usize);
        out.extend(self.points[first..].iter().map(|point| {
            let [a, b] = [0, 1].map(|k| frames[k].out(point.at[k]));
            let [p, q] = [0, 1].map(|k| frames[k].axes * point.normal[k]);
            let normal = (p + q).normalize();
            Raw {
                a,
                b,
                normal,
                gap: (a - b).dot(normal),
                id: point.id,
            }
        }));
    }
}

/// Whether contacts with a solid may take long to find; those with balls and half-spaces do not.
pub(super) fn is_costly(solid: &Solid) -> bool {
    !(matches!(solid, Solid::Plane | Solid::Gone) || solid.is_ball())
}

/// Whether contacts of two solids take long enough to find. Those of two capsules do not.
pub(super) fn is_worth_it(a: &Solid, b: &Solid) -> bool {
    let is_segment =
        |solid: &Solid| matches!(solid, Solid::Convex(c) if matches!(c.core, Core::Segment(_)));
    is_costly(a) && is_costly(b) && !(is_segment(a) && is_segment(b))
}

/// The least number not below `x` whose mantissa has two bits: predictions change a little in every step, and contacts that
/// were found for a larger one serve as well.
pub(super) fn round_up(x: f64) -> f64 {
    const LOW: u64 = (1 << 50) - 1;
    f64::from_bits((x.to_bits() + LOW) & !LOW)
}

#[cfg(test)]
mod tests {
    use super::round_up;

    #[test]
    fn rounding_up_is_a_quarter_at_most_and_never_down() {
        for x in [1e-9, 0.003, 0.24, 0.25, 0.2500001, 1.0, 7.9, 123.0] {
            let up = round_up(x);
            assert!(x <= up && up <= 1.25 * x, "{x} {up}");
            assert_eq!(round_up(up), up);
        }
    }
}
