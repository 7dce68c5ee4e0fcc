//! Warm start by identity: the impulse of a joint or contact is found again in the next step by who it belongs
//! to, not by where it stands.

use serde::{Deserialize, Serialize};

use super::World;
use super::assemble::Assembly;
use crate::collide::ContactPoint;
use crate::index::{BodyId, JointId};

/// Who a block of a world's problem belongs to, the same in every step. Joints come before contacts, and these before joints and loops of robots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key(u32, u32, u32, u64);

impl Key {
    pub(super) fn joint(id: JointId, part: u32) -> Key {
        Key(0, id.0, part, 0)
    }

    pub(super) fn contact(point: &ContactPoint) -> Key {
        Key(1, point.colliders.0, point.colliders.1, point.id)
    }

    /// A joint or loop of a robot, and which part of it.
    pub(super) fn robot(robot: usize, (item, part): (u32, u64)) -> Key {
        Key(2, robot as u32, item, part)
    }
}

impl Key {
    /// Whose block it is, in words.
    pub(super) fn describe(self, world: &World) -> String {
        let Key(kind, first, second, _) = self;
        if kind == 0 {
            let name = world
                .joints()
                .get(first as usize)
                .map_or("", |joint| &joint.name);
            return format!("joint \"{name}\"");
        }
        if kind == 2 {
            let robot = world.robots().get(first as usize);
            return robot.map_or_else(String::new, |robot| robot.describe(second as usize));
        }
        let body = |collider: u32| {
            let body = world.colliders().get(collider as usize).map(|c| c.body);
            body.and_then(|b| world.bodies().name.get(b))
                .map_or("", |name| name)
        };
        format!("contact of \"{}\" and \"{}\"", body(first), body(second))
    }

    /// The bodies its rows act on.
    pub(super) fn bodies(self, world: &World) -> Vec<BodyId> {
        let Key(kind, first, second, _) = self;
        match kind {
            0 => {
                let joint = world.joints().get(first as usize);
                joint.map_or_else(Vec::new, |joint| joint.links())
            }
            1 => {
                let collider = |c: u32| world.colliders().get(c as usize);
                let colliders = [first, second].into_iter().filter_map(collider);
                colliders
                    .map(|collider| BodyId(collider.body as u32))
                    .collect()
            }
            _ => {
                let robot = world.robots().get(first as usize);
                robot.map_or_else(Vec::new, |robot| robot.acted_on(second as usize))
            }
        }
    }
}

/// Impulses of the last step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Warm {
    /// Sorted keys with their rows in `lambda`.
    keys: Vec<(Key, usize, usize)>,
    lambda: Vec<f64>,
    h: f64,
}

impl Warm {
    /// The start for a new step: known impulses, scaled by the ratio of the step sizes, zero elsewhere.
    pub(super) fn guess(&self, assembly: &Assembly, h: f64, lambda: &mut Vec<f64>) {
        let ratio = if 0.0 < self.h { h / self.h } else { 0.0 };
        lambda.clear();
        lambda.resize(assembly.problem.n_rows(), 0.0);
        let mut old = self.keys.iter().peekable();
        let mut last = None;
        for (key, block) in assembly.keys.iter().zip(assembly.problem.blocks()) {
            // Keys come sorted, so both lists are walked once; a step back starts over.
            if last.is_some_and(|last| *key < last) {
                old = self.keys.iter().peekable();
            }
            last = Some(*key);
            while old.next_if(|entry| entry.0 < *key).is_some() {}
            if let Some(&&(found, start, rows)) = old.peek()
                && found == *key
                && rows == block.n_rows
            {
                for (new, old) in lambda[block.rows()].iter_mut().zip(&self.lambda[start..]) {
                    *new = old * ratio;
                }
            }
        }
    }

    /// Who the blocks of the last substep belonged to, in the order of its problem.
    pub(super) fn in_order(&self) -> Vec<Key> {
        let mut keys = self.keys.clone();
        keys.sort_unstable_by_key(|entry| entry.1);
        keys.into_iter().map(|entry| entry.0).collect()
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
            && self.lambda.iter().all(|x| x.is_finite())
    }

    /// Remembers the impulses of this step.
    pub(super) fn save(&mut self, assembly: &Assembly, lambda: &[f64], h: f64) {
        self.keys.clear();
        let blocks = assembly.keys.iter().zip(assembly.problem.blocks());
        self.keys
            .extend(blocks.map(|(key, block)| (*key, block.start, block.n_rows)));
        if !self.keys.is_sorted() {
            self.keys.sort_unstable();
        }
        self.lambda.clear();
        self.lambda.extend_from_slice(lambda);
        self.h = h;
    }
}
