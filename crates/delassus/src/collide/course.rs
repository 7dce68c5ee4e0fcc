//! Whether two convex colliders that move on undisturbed come to touch within a step.
//!
//! A contact between bodies that are still apart is a plane between them, through the nearest points: what passes beside a
//! corner would be stopped by a wall that is not there. So a fast pair is followed: conservative advancement takes
//! both along for as long as their distance allows at their greatest speed, looks again, and ends at a touch or at the
//! end of the step. It never steps over a touch. Cost: one narrow phase a stop, and a pass at arm's length takes a few.

use glam::{DQuat, DVec3};

use super::Collisions;
use super::clip::Scratch;
use super::narrow::{self, PlacedSolid, Solid};
use super::solid::PoseMatrix;

/// Pairs nearer than this share of the smaller of them are taken to touch.
const TOUCH: f64 = 1e-3;
/// Looks before a pair is taken to touch: what is this close for this long is as good as met.
const LOOKS: usize = 100;

/// How a body moves on: its pose now, and the velocities it keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) position: DVec3,
    pub(crate) orientation: DQuat,
    pub(crate) velocity: DVec3,
    pub(crate) spin: DVec3,
    /// Largest distance of a point of the body from its centre \[m\].
    pub(crate) radius: f64,
}

impl Course {
    /// Its pose after so many seconds.
    fn after(&self, t: f64) -> (DVec3, DQuat) {
        let turn = DQuat::from_scaled_axis(self.spin * t) * self.orientation;
        (self.position + self.velocity * t, turn.normalize())
    }
}

impl Collisions {
    /// Size of the smaller of two convex colliders \[m\]; `None` where one is ground.
    pub(crate) fn smaller_size(&self, (a, b): (u32, u32)) -> Option<f64> {
        let size = |i: u32| match &self.colliders[i as usize].solid {
            Solid::Convex(_) => Some(self.colliders[i as usize].size),
            Solid::Plane | Solid::Ground(_) | Solid::Gone => None,
        };
        Some(size(a)?.min(size(b)?))
    }

    /// No solid is smaller \[m\].
    pub(crate) fn least_size(&self) -> f64 {
        self.least_size
    }

    /// Whether two convex colliders at a distance come to touch within h seconds.
    pub(crate) fn will_touch(
        &self,
        (a, b): (u32, u32),
        courses: [Course; 2],
        distance: f64,
        h: f64,
    ) -> bool {
        let Some(size) = self.smaller_size((a, b)) else {
            return true;
        };
        let [first, second] = &courses;
        // No two points approach faster than this.
        let speed = (first.velocity - second.velocity).length()
            + first.spin.length() * first.radius
            + second.spin.length() * second.radius;
        let (mut t, mut distance) = (0.0, distance);
        let (mut scratch, mut raw) = (Scratch::default(), Vec::new());
        for _ in 0..LOOKS {
            if distance <= TOUCH * size {
                return true;
            }
            let ahead = distance / speed;
            t += ahead;
            // Also where nothing moves.
            if !(t < h) {
                return false;
            }
            let frames = [(a, first), (b, second)].map(|(i, course)| {
                let (at, turn) = course.after(t);
                match self.colliders[i as usize].place {
                    None => PoseMatrix::new(at, turn),
                    Some((offset, rotation)) => {
                        PoseMatrix::new(at + turn * offset, (turn * rotation).normalize())
                    }
                }
            });
            // It cannot be farther than before and what was gone since.
            let farthest = distance + speed * ahead + size;
            let [x, y] = [(a, &frames[0]), (b, &frames[1])].map(|(i, frame)| PlacedSolid {
                solid: &self.colliders[i as usize].solid,
                frame,
            });
            narrow::contacts(x, y, farthest, &mut scratch, &mut raw);
            distance = raw.iter().fold(farthest, |least, r| least.min(r.gap));
        }
        true
    }
}
