//! Where bodies were last looked at closely: contacts found there are carried along while bodies hardly move.
//!
//! The references are part of the state. With the poses they decide which contacts a step has, so that a run that is
//! resumed goes on with the same bits.

use glam::{DQuat, DVec3};

use super::Bodies;
use crate::collide::References;

/// How far points of a body may move, as a share of its size, before it is looked at anew.
const BOUND: f64 = 1e-3;

/// Poses of the bodies when they were last looked at closely; none before the first step that keeps contacts.
#[derive(Clone, Debug, Default)]
pub(super) struct Reference {
    pub(super) poses: Vec<(DVec3, DQuat)>,
    moved: Vec<f64>,
}

impl Reference {
    /// Moves the references of bodies that have left them; `radius` is the size of each body.
    /// `fall` is what bodies fall in a step.
    pub(super) fn follow(&mut self, bodies: &Bodies, radius: &[f64], fall: f64) -> References<'_> {
        let now = bodies.position.iter().zip(&bodies.orientation);
        self.poses.truncate(bodies.len());
        self.moved.clear();
        for (i, (&at, &turn)) in now.enumerate() {
            let Some(known) = self.poses.get_mut(i) else {
                self.poses.push((at, turn));
                self.moved.push(0.0);
                continue;
            };
            // s = |x − x̂| + 2 r |Im q̂* q|: a turn by θ moves points at the distance r by 2 r sin(θ/2).
            let turned = (known.1.conjugate() * turn).xyz().length();
            let moved = at.distance(known.0) + 2.0 * radius[i] * turned;
            if moved <= BOUND * radius[i] {
                self.moved.push(moved);
            } else {
                *known = (at, turn);
                self.moved.push(0.0);
            }
        }
        References {
            poses: &self.poses,
            moved: &self.moved,
            fall,
        }
    }
}
