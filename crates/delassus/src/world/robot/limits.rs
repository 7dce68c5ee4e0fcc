//! Which limits of joints are rows of a step.
//!
//! Most joints are far from their limits, and a row that does nothing costs as much as one that holds. A limit that the
//! step will not reach is left out. Whether it was reached is looked at afterwards,
//!
//! ```text
//! lo ≤ q + h v⁺ ≤ hi
//! ```
//!
//! which is what its row would have asked for, and where it does not hold the step is solved again with the row. So the
//! answer is that of all rows.

use super::{Robot, Tendon};
use crate::world::World;

/// Limits nearer than this are always rows \[rad or m\].
const NEAR: f64 = 0.02;

/// Which of the two limits are no further than a step of h seconds may go: twice as far as it goes at the speed of its
/// beginning.
fn near([lo, hi]: [f64; 2], at: f64, speed: f64, h: f64) -> [bool; 2] {
    let way = NEAR + 2.0 * h * speed.abs();
    [at - lo, hi - at].map(|left| !(way < left))
}

/// Joints and tendons, by their numbers, whose limits a step was found to reach.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    joints: Vec<usize>,
    tendons: Vec<usize>,
}

impl Reached {
    fn len(&self) -> usize {
        self.joints.len() + self.tendons.len()
    }
}

impl Robot {
    /// Which limits of a joint with one velocity are rows of a step of h seconds: the lower one, the upper one.
    pub(super) fn takes_in(&self, item: usize, limits: [f64; 2], h: f64) -> [bool; 2] {
        if self.reached.joints.contains(&item) {
            return [true; 2];
        }
        let at = self.joints[item].at;
        near(limits, self.q[at.q], self.v[at.v], h)
    }

    /// Length and rate of a tendon that is a sum of displacements, at these velocities; none of another.
    fn stretch(&self, tendon: &Tendon, v: &[f64]) -> Option<(f64, f64)> {
        if !(tendon.strings.is_empty() && tendon.transmission.is_none()) {
            return None;
        }
        let (mut length, mut rate) = (tendon.offset, 0.0);
        for (link, factor) in &tendon.terms {
            let (q, dof) = self.posed().displacement(*link).ok()?;
            length += factor * q;
            rate += factor * v[dof];
        }
        Some((length, rate))
    }

    /// Whether the limits of this tendon are left out of a step of h seconds.
    pub(super) fn leaves_out_tendon(&self, number: usize, h: f64) -> bool {
        let tendon = &self.tendons[number];
        let (Some(range), false) = (tendon.range, self.reached.tendons.contains(&number)) else {
            return false;
        };
        let stretch = self.stretch(tendon, &self.v);
        stretch.is_some_and(|(length, rate)| near(range, length, rate, h) == [false; 2])
    }

    /// Notes the limits that were left out and that the step would pass with these velocities. True where there are any.
    fn note_reached(&mut self, v: &[f64], h: f64) -> bool {
        let known = self.reached.len();
        for (number, tendon) in self.tendons.iter().enumerate() {
            let Some([lo, hi]) = tendon.range else {
                continue;
            };
            if self.leaves_out_tendon(number, h)
                && let Some((length, rate)) = self.stretch(tendon, v)
            {
                let end = length + h * rate;
                if !(lo <= end && end <= hi) {
                    self.reached.tendons.push(number);
                }
            }
        }
        for (item, joint) in self.joints.iter().enumerate() {
            let Some([lo, hi]) = joint.control.drive.limits.filter(|_| joint.dofs == 1) else {
                continue;
            };
            let [lower, upper] = self.takes_in(item, [lo, hi], h);
            let end = self.q[joint.at.q] + h * v[joint.at.v];
            if !((lower || lo <= end) && (upper || end <= hi)) {
                self.reached.joints.push(item);
            }
        }
        known < self.reached.len()
    }
}

impl World {
    /// Notes the limits of robots that a step with these velocities, one robot after the other, would pass although it
    /// left them out. True where there are any: the step is to be solved again.
    pub(in crate::world) fn note_reached_limits(&mut self, mut v: &[f64], h: f64) -> bool {
        let mut any = false;
        for robot in &mut self.robots {
            let own = v.split_off(..robot.tree.n_dofs());
            any |= own.is_some_and(|own| robot.note_reached(own, h));
        }
        any
    }

    /// Forgets them, at the end of a step.
    pub(in crate::world) fn forget_reached_limits(&mut self) {
        for robot in &mut self.robots {
            robot.reached.joints.clear();
            robot.reached.tendons.clear();
        }
    }
}
