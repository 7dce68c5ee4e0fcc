//! What one thread does: the contacts of some consecutive pairs.

use super::broad::unpack;
use super::clip::Scratch;
use super::kept::{self, FARTHEST, Kept, References, Walk};
use super::narrow::{self, Ball, PlacedSolid};
use super::ready::Ready;
use super::reduce::{Raw, mix};
use super::solid::PoseMatrix;
use super::{ContactPoint, MARGIN, Tag};

/// Memory of a thread, and what it has found.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    scratch: Scratch,
    raw: Vec<Raw>,
    pub(super) contacts: Vec<ContactPoint>,
    pub(super) kept: kept::List,
}

/// All colliders where they stand.
#[derive(Clone, Copy)]
pub(super) struct Stage<'a> {
    pub(super) colliders: &'a [Ready],
    pub(super) frames: &'a [PoseMatrix],
    pub(super) tags: &'a [Tag],
    /// Contacts of the step before, and where bodies stood when they were found; none where all are found anew.
    pub(super) kept: Option<(&'a Kept, References<'a>)>,
}

impl Lane {
    /// Contacts of consecutive pairs, in their order.
    pub(super) fn narrow(&mut self, pairs: &[u64], stage: Stage<'_>) {
        self.contacts.clear();
        self.contacts.reserve(pairs.len());
        self.kept.clear();
        let start = pairs.first().copied().unwrap_or_default();
        let mut walk = stage.kept.map(|(kept, _)| kept.from(start));
        for &pair in pairs {
            let (a, b) = unpack(pair);
            let [i, j] = [a.min(b), a.max(b)].map(|c| c as usize);
            let (first, second) = (&stage.tags[i], &stage.tags[j]);
            let prediction = stage.prediction(first, second);
            if first.ball && second.ball {
                let [x, y] = [first, second].map(|tag| Ball {
                    centre: tag.centre,
                    radius: tag.size,
                });
                self.raw.clear();
                self.raw.extend(narrow::balls(x, y, prediction));
                name(&mut self.raw, [i, j]);
            } else if let (Some(walk), true) = (&mut walk, stage.keeps([i, j])) {
                self.carry(pair, prediction, walk, stage);
            } else {
                let frames = [i, j].map(|k| &stage.frames[k]);
                self.find(stage, [i, j], frames, prediction);
            }
            self.write((a, b), stage.tags);
        }
    }

    /// Contacts of two colliders that stand there, by name.
    fn find(
        &mut self,
        stage: Stage<'_>,
        pair: [usize; 2],
        frames: [&PoseMatrix; 2],
        prediction: f64,
    ) {
        let [x, y] = [0, 1].map(|k| PlacedSolid {
            solid: &stage.colliders[pair[k]].solid,
            frame: frames[k],
        });
        narrow::contacts(x, y, prediction, &mut self.scratch, &mut self.raw);
        name(&mut self.raw, pair);
    }

    /// Contacts that were found where the references of the pair stand, carried along.
    fn carry(&mut self, pair: u64, prediction: f64, walk: &mut Walk<'_>, stage: Stage<'_>) {
        let (a, b) = unpack(pair);
        let (i, j) = (a.min(b), a.max(b));
        let [first, second] = [i, j].map(|c| &stage.tags[c as usize]);
        // What may come near by what bodies have moved since is found too.
        let far = kept::round_up(prediction + FARTHEST * first.size.min(second.size));
        if !walk.copy(pair, far, &mut self.kept) {
            let frames = [walk.frame(i), walk.frame(j)];
            self.find(stage, [i as usize, j as usize], frames, far);
            self.kept.add(pair, far, frames, &self.raw);
        }
        let frames = [i, j].map(|c| &stage.frames[c as usize]);
        self.kept.last_at(frames, &mut self.raw);
        self.raw.retain(|raw| raw.gap <= prediction);
    }

    /// Writes the contacts of one pair to the list.
    fn write(&mut self, (a, b): (u32, u32), tags: &[Tag]) {
        if b < a {
            self.raw.iter_mut().for_each(narrow::flip);
        }
        let bodies = [a, b].map(|c| tags[c as usize].body as usize).into();
        self.contacts.extend(self.raw.iter().map(|r| ContactPoint {
            bodies,
            colliders: (a, b),
            point_a: r.a,
            point_b: r.b,
            normal: r.normal,
            gap: r.gap,
            id: r.id,
        }));
    }
}

impl Stage<'_> {
    /// Whether the contacts of two colliders are kept from step to step.
    fn keeps(&self, pair: [usize; 2]) -> bool {
        let Some((_, References { moved, .. })) = self.kept else {
            return false;
        };
        let [first, second] = pair.map(|c| &self.tags[c]);
        let way = moved[first.body as usize] + moved[second.body as usize];
        let [a, b] = pair.map(|c| &self.colliders[c].solid);
        // Where both stand at their references there is nothing to carry along.
        let hardly = 0.0 < way && way <= FARTHEST * first.size.min(second.size);
        hardly && kept::is_worth_it(a, b)
    }

    /// Largest gap of a pair that is worth a contact.
    fn prediction(&self, a: &Tag, b: &Tag) -> f64 {
        let reach = a.reach + b.reach + MARGIN * a.size.min(b.size);
        match self.kept {
            // Of two bodies that fall, one may be held up while the other comes nearer, but they do not fall towards
            // each other.
            Some((_, References { fall, .. })) if a.movable && b.movable => {
                reach - fall.min(a.reach).min(b.reach)
            }
            _ => reach,
        }
    }
}

/// Names the contacts of a pair after its colliders, and sorts them by name.
fn name(raw: &mut [Raw], [i, j]: [usize; 2]) {
    if raw.is_empty() {
        return;
    }
    // By their numbers, whichever of them is a: names stay when a body becomes movable or fixed.
    let pair = mix(i as u64, j as u64);
    raw.iter_mut().for_each(|r| r.id = mix(pair, r.id));
    raw.sort_unstable_by_key(|r| r.id);
}
