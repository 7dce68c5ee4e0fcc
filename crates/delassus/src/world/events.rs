//! Which colliders push each other, and when that began or ended.

use serde::{Deserialize, Serialize};

use super::touches::Touches;
use super::{Bodies, World};
use crate::index::BodyId;

/// Whether a contact began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactChange {
    /// They push each other and did not in the step before.
    Began,
    /// They pushed each other in the step before and do not any more.
    Ended,
}

/// A contact of two colliders that began or ended in the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactEvent {
    /// Which of the two.
    pub change: ContactChange,
    /// The bodies. Where one was taken away, the contact has ended and the id names nothing any more.
    pub bodies: (BodyId, BodyId),
    /// Their colliders, by position in [`World::colliders`], the smaller first.
    pub colliders: (u32, u32),
}

/// Two colliders that push each other, the smaller first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Pushing {
    colliders: (u32, u32),
    bodies: (u32, u32),
}

/// Who pushes whom, step by step.
#[derive(Clone, Debug, Default)]
pub(super) struct Pushes {
    /// After the last step, sorted.
    last: Vec<Pushing>,
    /// In the step under way, as found: those whose first body has the smaller collider, and the others.
    under_way: Vec<Pushing>,
    turned: Vec<Pushing>,
    events: Vec<ContactEvent>,
}

impl Pushes {
    /// A step begins.
    pub(super) fn begin(&mut self) {
        self.under_way.clear();
        self.turned.clear();
    }

    /// Adds those of a substep.
    pub(super) fn note(&mut self, touches: &Touches) {
        for (point, impulse) in touches.pushing() {
            if !(0.0 < impulse[0]) {
                continue;
            }
            let ((a, b), (first, second)) = (point.colliders, point.bodies);
            let bodies = (first as u32, second as u32);
            let (pair, list) = if a <= b {
                let colliders = (a, b);
                (Pushing { colliders, bodies }, &mut self.under_way)
            } else {
                let (colliders, bodies) = ((b, a), (bodies.1, bodies.0));
                (Pushing { colliders, bodies }, &mut self.turned)
            };
            // Points of one pair stand together.
            if list.last() != Some(&pair) {
                list.push(pair);
            }
        }
    }

    /// The step was taken: what began, what ended. Two bodies that rest on each other asleep still do.
    pub(super) fn finish(&mut self, bodies: &Bodies) {
        self.events.clear();
        if self.last.is_empty() && self.under_way.is_empty() && self.turned.is_empty() {
            return;
        }
        let rests = |body: u32| bodies.has(BodyId(body)) && !bodies.is_free(BodyId(body));
        let asleep = |pair: &&Pushing| rests(pair.bodies.0) && rests(pair.bodies.1);
        self.turned.extend(self.last.iter().filter(asleep));
        merge(&mut self.under_way, &mut self.turned);
        let ended = missing(&self.last, &self.under_way);
        let ended = ended.map(|pair| (ContactChange::Ended, pair));
        let began = missing(&self.under_way, &self.last);
        let began = began.map(|pair| (ContactChange::Began, pair));
        let event = |(change, pair): (ContactChange, &Pushing)| ContactEvent {
            change,
            bodies: (BodyId(pair.bodies.0), BodyId(pair.bodies.1)),
            colliders: pair.colliders,
        };
        self.events.extend(ended.chain(began).map(event));
        std::mem::swap(&mut self.last, &mut self.under_way);
    }

    /// Those after the last step.
    pub(super) fn last(&self) -> &[Pushing] {
        &self.last
    }

    /// Puts those of an older step back.
    pub(super) fn restore(&mut self, last: &[Pushing]) {
        self.last = last.to_vec();
        self.last.sort_unstable();
        self.events.clear();
    }
}

/// Moves the second list into the first, which is then sorted and has each pair once. The first is mostly sorted, and the
/// second short.
fn merge(list: &mut Vec<Pushing>, more: &mut Vec<Pushing>) {
    if !list.is_sorted() {
        list.sort_unstable();
    }
    more.sort_unstable();
    // From behind, into the room at the end: what is not yet placed is never written over.
    let (mut rest, mut place) = (list.len(), list.len() + more.len());
    list.extend_from_slice(more);
    while let Some(last) = more.pop() {
        while 0 < rest && last < list[rest - 1] {
            (rest, place) = (rest - 1, place - 1);
            list[place] = list[rest];
        }
        place -= 1;
        list[place] = last;
    }
    list.dedup();
}

/// Those of one sorted list that another one lacks, in order: both are walked once.
fn missing<'a>(list: &'a [Pushing], from: &'a [Pushing]) -> impl Iterator<Item = &'a Pushing> {
    let mut others = from.iter().peekable();
    list.iter().filter(move |pair| {
        while others.next_if(|other| other < pair).is_some() {}
        others.peek() != Some(pair)
    })
}

impl World {
    /// Contacts that began or ended in the last step: those that ended first, each in the order of their colliders. A
    /// contact is one where an impulse pushes, in any substep; bodies that fall asleep on each other stay in contact.
    pub fn contact_events(&self) -> &[ContactEvent] {
        &self.pushes.events
    }

    /// Whether two bodies pushed each other in the last step, or rest on each other asleep.
    pub fn in_contact(&self, a: BodyId, b: BodyId) -> bool {
        let pair = (a.0, b.0);
        let turned = (b.0, a.0);
        let pushes = |p: &Pushing| p.bodies == pair || p.bodies == turned;
        self.pushes.last.iter().any(pushes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn merged_lists_are_sorted_and_hold_every_pair_once() {
        let mut random = Random::new(5);
        for round in 0..200 {
            let mut draw = |n: usize| -> Vec<Pushing> {
                let number = |random: &mut Random| random.range(0.0, 9.0) as u32;
                let pair = |_| Pushing {
                    colliders: (number(&mut random), number(&mut random)),
                    bodies: (0, 0),
                };
                (0..n).map(pair).collect()
            };
            let (mut list, mut more) = (draw(round % 23), draw(round % 7));
            if round % 3 != 0 {
                list.sort_unstable();
            }
            let mut expected = [&list[..], &more[..]].concat();
            expected.sort_unstable();
            expected.dedup();
            merge(&mut list, &mut more);
            assert_eq!(list, expected);
            assert!(more.is_empty());
        }
    }
}
