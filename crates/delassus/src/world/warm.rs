//! Warm start by identity: the impulse of a joint or contact is found again in the next step by what it belongs
//! to, not by where it stands.

use serde::{Deserialize, Serialize};

use super::World;
use super::assemble::Assembly;
use crate::collide::ContactPoint;
use crate::index::{BodyId, JointId, RobotId};
use crate::math::{max_abs, parallel};
use crate::problem::{Block, Form, Problem};
use crate::solver::{Report, Status};

/// Blocks that another thread looks for at least.
const MANY: usize = 4096;
/// Largest change from one step to the next, as a share of the largest impulse, that the next step is expected to repeat.
const STEADY: f64 = 0.1;
/// Share of the change that it is expected to repeat: with less than all, what no velocity feels cannot grow for ever.
const REPEATED: f64 = 0.98;

/// What a block of a world's problem belongs to, the same in every step. Joints come before contacts, and these before
/// joints and loops of robots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Key {
    /// Part of a joint between bodies.
    Joint {
        /// The joint.
        joint: JointId,
        /// Which of its rows.
        part: JointPart,
    },
    /// A contact point.
    Contact {
        /// The two colliders, by position in [`World::colliders`].
        colliders: (u32, u32),
        /// The features that touch: [`ContactPoint::id`].
        feature: u64,
    },
    /// Part of a joint or loop of a robot.
    Robot {
        /// The robot.
        robot: RobotId,
        /// The joint or loop.
        item: RobotItem,
        /// Which of its rows.
        part: JointPart,
    },
}

/// The rows of a joint that share a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JointPart {
    /// What it holds together.
    Held,
    /// The lower limit of its coordinate; the upper one of a distance.
    FirstLimit,
    /// The other limit.
    SecondLimit,
    /// Its motor.
    Motor,
    /// Its servo.
    Servo,
    /// Dry friction along one of its coordinates, counted from zero.
    Friction(u8),
}

/// A joint or loop of a robot, by position in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RobotItem {
    /// One of [`Robot::joints`](super::Robot::joints).
    Joint(u32),
    /// One of [`Robot::closures`](super::Robot::closures).
    Closure(u32),
    /// One of [`Robot::tendons`](super::Robot::tendons).
    Tendon(u32),
}

impl Key {
    pub(super) fn contact(point: &ContactPoint) -> Key {
        Key::Contact {
            colliders: point.colliders,
            feature: point.id,
        }
    }

    /// What it belongs to, in words.
    pub(super) fn describe(self, world: &World) -> String {
        match self {
            Key::Joint { joint, .. } => {
                let joint = world.joints().get(joint.index());
                format!("joint \"{}\"", joint.map_or("", |joint| &joint.name))
            }
            Key::Contact { colliders, .. } => {
                let body = |collider: u32| {
                    let body = world.colliders().get(collider as usize).map(|c| c.body);
                    body.and_then(|b| world.bodies().name.get(b))
                        .map_or("", |name| name)
                };
                let (a, b) = (body(colliders.0), body(colliders.1));
                format!("contact of \"{a}\" and \"{b}\"")
            }
            Key::Robot { robot, item, .. } => {
                let robot = world.robots().get(robot.index());
                robot.map_or_else(String::new, |robot| robot.describe(item))
            }
        }
    }

    /// The bodies its rows act on.
    pub(super) fn bodies(self, world: &World) -> Vec<BodyId> {
        match self {
            Key::Joint { joint, .. } => {
                let joint = world.joints().get(joint.index());
                joint.map_or_else(Vec::new, |joint| joint.links())
            }
            Key::Contact { colliders, .. } => {
                let collider = |c: u32| world.colliders().get(c as usize);
                let found = [colliders.0, colliders.1].into_iter().filter_map(collider);
                found.map(|collider| BodyId(collider.body as u32)).collect()
            }
            Key::Robot { robot, item, .. } => {
                let robot = world.robots().get(robot.index());
                robot.map_or_else(Vec::new, |robot| robot.acted_on(item))
            }
        }
    }
}

/// Whether all rows act on one mass: a robot.
fn is_of_one(problem: &Problem) -> bool {
    matches!(problem.form(), Form::Primal(primal) if primal.mass().len() == 1)
}

/// Where the impulses of a ball joint stand among those of ball joints alone.
fn ball(joint: usize) -> (Key, usize, usize) {
    let key = Key::Joint {
        joint: JointId(joint as u32),
        part: JointPart::Held,
    };
    (key, 3 * joint, 3)
}

/// Impulses of the last step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Warm {
    /// Sorted keys with their rows in `lambda`.
    keys: Vec<(Key, usize, usize)>,
    lambda: Vec<f64>,
    /// What the last step has changed of them; empty where it is not known, or where they do not change steadily.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    change: Vec<f64>,
    /// Whether they were improved in the last step, and not only found to be good enough.
    #[serde(default)]
    improved: bool,
    h: f64,
}

/// How the impulses of a step were found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Whether they ended as solved.
    pub(super) solved: bool,
    /// Whether they began where [`Warm::predict`] foresaw them.
    pub(super) foreseen: bool,
    /// Whether the start was not good enough.
    pub(super) improved: bool,
}

impl Found {
    pub(super) fn of(report: &Report, foreseen: bool) -> Found {
        Found {
            solved: report.status == Status::Solved,
            foreseen,
            improved: 0 < report.iterations,
        }
    }
}

impl Warm {
    /// The start for a new step: the impulses as they would be if they changed as in the last step, λ + γ (λ − λ⁻), where
    /// they are those of one robot and change steadily; else those of the last step. Says which.
    pub(super) fn predict(&self, assembly: &Assembly, h: f64, lambda: &mut Vec<f64>) -> bool {
        let goes_on = h == self.h && is_of_one(&assembly.problem) && !self.change.is_empty();
        let change = if goes_on { &self.change[..] } else { &[] };
        self.fill(assembly, h, change, lambda);
        goes_on
    }

    /// Known impulses, scaled by the ratio of the step sizes, zero elsewhere.
    pub(super) fn guess(&self, assembly: &Assembly, h: f64, lambda: &mut Vec<f64>) {
        self.fill(assembly, h, &[], lambda);
    }

    fn fill(&self, assembly: &Assembly, h: f64, change: &[f64], lambda: &mut Vec<f64>) {
        let ratio = if 0.0 < self.h { h / self.h } else { 0.0 };
        lambda.clear();
        lambda.resize(assembly.problem.n_rows(), 0.0);
        let (keys, blocks) = (&assembly.keys[..], assembly.problem.blocks());
        let length = parallel::share(keys.len()).max(MANY);
        let mut rest = &mut lambda[..];
        let parts = keys.chunks(length).zip(blocks.chunks(length));
        let parts = parts.map(|(keys, blocks)| {
            let own = rest
                .split_off_mut(..Block::rows_of(blocks).len())
                .expect("there is an impulse for every row of every block");
            (keys, blocks, own)
        });
        // What is found for a key does not depend on the part it stands in.
        parallel::each(parts, |(keys, blocks, lambda)| {
            self.find((keys, blocks), (ratio, change), lambda);
        });
    }

    /// The impulses of consecutive blocks.
    fn find(
        &self,
        (keys, blocks): (&[Key], &[Block]),
        (ratio, change): (f64, &[f64]),
        lambda: &mut [f64],
    ) {
        let (Some(key), Some(block)) = (keys.first(), blocks.first()) else {
            return;
        };
        let start_of = |key: &Key| self.keys.partition_point(|entry| entry.0 < *key);
        let (mut at, first_row) = (start_of(key), block.start);
        let mut last = *key;
        for (key, block) in keys.iter().zip(blocks) {
            // Keys come sorted, so both lists are walked once; a step back looks anew. Mostly the next is the one.
            if self.keys.get(at).is_none_or(|entry| entry.0 != *key) {
                if *key <= last {
                    at = start_of(key);
                }
                while self.keys.get(at).is_some_and(|entry| entry.0 < *key) {
                    at += 1;
                }
            }
            last = *key;
            if let Some(&(found, start, rows)) = self.keys.get(at)
                && found == *key
                && rows == block.n_rows
            {
                let own = block.start - first_row;
                let own = &mut lambda[own..own + rows];
                // λ is an impulse: the same force over another step is λ h/h_old.
                for (new, old) in own.iter_mut().zip(&self.lambda[start..]) {
                    *new = old * ratio;
                }
                let change = change.get(start..).unwrap_or_default();
                for (new, change) in own.iter_mut().zip(change) {
                    *new += REPEATED * change;
                }
                at += 1;
            }
        }
    }

    /// Writes them over older ones.
    pub(super) fn copy_to(&self, into: &mut Warm) {
        into.keys.clone_from(&self.keys);
        into.lambda.clone_from(&self.lambda);
        into.change.clone_from(&self.change);
        into.improved = self.improved;
        into.h = self.h;
    }

    /// The held rows of all joints that were part of the last substep, with their impulses, in order.
    pub(super) fn held(&self) -> impl Iterator<Item = (JointId, &[f64])> {
        let held = |&(key, start, rows): &(Key, usize, usize)| match key {
            Key::Joint {
                joint,
                part: JointPart::Held,
            } => Some((joint, &self.lambda[start..start + rows])),
            _ => None,
        };
        let joints = |entry: &&(Key, usize, usize)| matches!(entry.0, Key::Joint { .. });
        self.keys.iter().take_while(joints).filter_map(held)
    }

    /// What the blocks of the last substep belonged to, in the order of its problem.
    pub(super) fn in_order(&self) -> Vec<Key> {
        let mut keys = self.keys.clone();
        keys.sort_unstable_by_key(|entry| entry.1);
        keys.into_iter().map(|entry| entry.0).collect()
    }

    /// Forgets the impulses of one joint.
    pub(super) fn forget(&mut self, joint: JointId) {
        let its = |key: &Key| matches!(key, Key::Joint { joint: own, .. } if *own == joint);
        self.keys.retain(|entry| !its(&entry.0));
    }

    /// The length of the last substep \[s\]; zero before the first.
    pub(super) fn step(&self) -> f64 {
        self.h
    }

    /// The impulses of one block; empty where it was not part of the last step.
    pub(super) fn impulse(&self, key: Key) -> &[f64] {
        let Ok(at) = self.keys.binary_search_by_key(&key, |entry| entry.0) else {
            return &[];
        };
        let (_, start, rows) = self.keys[at];
        &self.lambda[start..start + rows]
    }

    /// Rows within the impulses, numbers finite: what a file must still show.
    pub(super) fn is_sound(&self) -> bool {
        let inside = |&(_, start, rows): &(Key, usize, usize)| {
            start
                .checked_add(rows)
                .is_some_and(|end| end <= self.lambda.len())
        };
        self.keys.is_sorted()
            && self.keys.iter().all(inside)
            && (self.change.is_empty() || self.change.len() == self.lambda.len())
            && self.lambda.iter().all(|x| x.is_finite())
            && self.change.iter().all(|x| x.is_finite())
    }

    /// Room for the impulses of so many ball joints, by joint, and nothing else.
    pub(super) fn hold_all(&mut self, joints: usize, h: f64) -> &mut [[f64; 3]] {
        // Joints between bodies that never move are not written to, and stay at zero.
        if self.by_joint(joints).is_none() {
            self.keys.clear();
            self.keys.extend((0..joints).map(ball));
            self.lambda.clear();
            self.lambda.resize(3 * joints, 0.0);
        }
        self.change.clear();
        self.h = h;
        self.lambda.as_chunks_mut().0
    }

    /// The impulses of so many ball joints, if there is nothing else and they stand in the order of the joints.
    pub(super) fn by_joint(&self, joints: usize) -> Option<&[[f64; 3]]> {
        let all = (0..joints).map(ball).eq(self.keys.iter().copied());
        let impulses = self.lambda.as_chunks().0;
        (all && impulses.len() == joints).then_some(impulses)
    }

    /// Remembers the impulses of further ball joints, which come in order.
    pub(super) fn hold_more(
        &mut self,
        joints: impl DoubleEndedIterator<Item = (JointId, [f64; 3])> + Clone,
    ) {
        self.change.clear();
        let mut old = self.keys.len();
        let rows = joints.clone().map(|(_, impulse)| impulse);
        rows.for_each(|impulse| self.lambda.extend_from_slice(&impulse));
        let (part, mut row) = (JointPart::Held, self.lambda.len());
        // Both lists are sorted, and merged from their ends.
        let mut at = old + joints.clone().count();
        let any = JointId(0);
        self.keys
            .resize(at, (Key::Joint { joint: any, part }, 0, 3));
        for (joint, _) in joints.rev() {
            let key = Key::Joint { joint, part };
            while 0 < old && key < self.keys[old - 1].0 {
                (at, old) = (at - 1, old - 1);
                self.keys[at] = self.keys[old];
            }
            (at, row) = (at - 1, row - 3);
            self.keys[at] = (key, row, 3);
        }
    }

    /// Remembers the impulses of this step and, where it is known how they were found, how they have changed.
    pub(super) fn save(
        &mut self,
        assembly: &Assembly,
        lambda: &[f64],
        (h, found): (f64, Option<Found>),
    ) {
        let (keys, blocks) = (&assembly.keys[..], assembly.problem.blocks());
        let entry = |(key, block): (&Key, &Block)| (*key, block.start, block.n_rows);
        // Where nothing has come or gone the list stays.
        let same = |(old, (keys, blocks)): (&[_], (&[Key], &[Block]))| {
            let entries = keys.iter().zip(blocks).map(entry);
            entries.eq(old.iter().copied())
        };
        let parts = self.keys.chunks(MANY);
        let parts = parts.zip(keys.chunks(MANY).zip(blocks.chunks(MANY)));
        if keys.len() == self.keys.len() && parallel::all(parts, same) {
            let found = found.filter(|found| found.solved && self.h == h);
            self.note_change(&assembly.problem, lambda, found);
        } else {
            self.change.clear();
            self.keys.clear();
            self.keys.extend(keys.iter().zip(blocks).map(entry));
            if !self.keys.is_sorted() {
                self.keys.sort_unstable();
            }
        }
        self.improved = found.is_some_and(|found| found.solved && found.improved);
        self.lambda.clear();
        self.lambda.extend_from_slice(lambda);
        self.h = h;
    }

    /// Remembers how the impulses have changed. Of more rows than velocities some may change without moving anything. What
    /// was foreseen is therefore not measured once more: such a change would feed itself, and lead out of the cones.
    fn note_change(&mut self, problem: &Problem, lambda: &[f64], found: Option<Found>) {
        let Some(found) = found.filter(|_| is_of_one(problem)) else {
            return self.change.clear();
        };
        if found.foreseen && !found.improved {
            return;
        }
        self.change.clear();
        let measures = !found.foreseen || problem.n_rows() <= problem.n_velocities();
        if measures && found.improved && self.improved && self.lambda.len() == lambda.len() {
            let pairs = lambda.iter().zip(&self.lambda);
            self.change.extend(pairs.map(|(new, old)| new - old));
            if !(max_abs(&self.change) <= STEADY * max_abs(lambda)) {
                self.change.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_by_what_they_belong_to_and_survive_json() {
        let joint = |joint, part| Key::Joint {
            joint: JointId(joint),
            part,
        };
        let contact = |colliders, feature| Key::Contact { colliders, feature };
        let robot = |item, part| Key::Robot {
            robot: RobotId(0),
            item,
            part,
        };
        let sorted = [
            joint(0, JointPart::Held),
            joint(0, JointPart::SecondLimit),
            joint(0, JointPart::Friction(0)),
            joint(1, JointPart::Held),
            contact((0, 1), u64::MAX),
            contact((0, 2), 0),
            robot(RobotItem::Joint(8), JointPart::Friction(5)),
            robot(RobotItem::Closure(0), JointPart::Held),
        ];
        assert!(sorted.is_sorted());
        for key in sorted {
            let text = serde_json::to_string(&key).unwrap();
            assert_eq!(serde_json::from_str::<Key>(&text).unwrap(), key, "{text}");
        }
    }
}
