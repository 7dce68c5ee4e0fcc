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

use super::{Robot, RobotJoint};
use crate::world::World;

/// Limits nearer than this are always rows \[rad or m\].
const NEAR: f64 = 0.1;

impl RobotJoint {
    /// Whether both limits of a joint with one velocity are further than the step will go: twice as far as it goes at
    /// the speed of its beginning.
    fn is_far(&self, q: &[f64], v: &[f64], h: f64) -> bool {
        let Some([lo, hi]) = self.control.drive.limits.filter(|_| self.dofs == 1) else {
            return false;
        };
        let (q, v) = (q[self.at.q], v[self.at.v]);
        NEAR + 2.0 * h * v.abs() < (q - lo).min(hi - q)
    }
}

impl Robot {
    /// Whether the limits of this joint are left out of a step of h seconds.
    pub(super) fn leaves_out(&self, item: usize, h: f64) -> bool {
        !self.reached.contains(&item) && self.joints[item].is_far(&self.q, &self.v, h)
    }

    /// Notes the limits that were left out and that the step would pass with these velocities. True where there are any.
    fn note_reached(&mut self, v: &[f64], h: f64) -> bool {
        let known = self.reached.len();
        for (item, joint) in self.joints.iter().enumerate() {
            let Some([lo, hi]) = joint.control.drive.limits else {
                continue;
            };
            if self.leaves_out(item, h) {
                let end = self.q[joint.at.q] + h * v[joint.at.v];
                if !(lo <= end && end <= hi) {
                    self.reached.push(item);
                }
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
            robot.reached.clear();
        }
    }
}
