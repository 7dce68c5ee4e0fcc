//! From scaled variables back to the impulses of the problem, and from impulses of a guess to variables.

use super::contact::{Back, ContactLcp, NONE};
use super::point::{Point, are_zero};

impl ContactLcp {
    /// Writes the impulses of a point into the rows of its blocks; other rows stay as they are.
    pub(super) fn impulses(&self, point: &Point, lambda: &mut [f64]) {
        for back in &self.backs {
            for row in &mut lambda[back.row..=back.row + back.tangents] {
                *row = back.shift;
            }
        }
        for (i, normal) in self.normals.iter().enumerate() {
            let back = &self.backs[normal.unit];
            lambda[back.row] += back.scale * point.theta[i];
        }
        for (f, free) in self.frees.iter().enumerate() {
            let back = &self.backs[free.unit];
            lambda[back.row] += back.scale * point.free[f];
        }
        for group in &self.groups {
            let back = &self.backs[group.unit];
            // A group without a normal is the row itself, else the rows after the normal.
            let first = back.row + usize::from(group.normal != NONE);
            if are_zero(&point.phi[group.range()]) {
                continue;
            }
            for j in group.range().filter(|&j| point.phi[j] != 0.0) {
                for t in 0..back.tangents.max(1) {
                    lambda[first + t] += back.scale * point.phi[j] * self.directions[j][t];
                }
            }
        }
    }

    /// Whether impulses of the whole problem touch a row of this one.
    pub(super) fn is_loaded(&self, guess: &[f64]) -> bool {
        let loaded = |back: &Back| {
            let rows = back.row..=back.row + back.tangents;
            guess[rows].iter().any(|x| *x != 0.0)
        };
        self.backs.iter().any(loaded)
    }

    /// θ of normal i, read off impulses of the whole problem.
    pub(super) fn given_load(&self, i: usize, guess: &[f64]) -> f64 {
        let back = &self.backs[self.normals[i].unit];
        (guess[back.row] - back.shift) / back.scale
    }

    /// λ of free row f, read off impulses of the whole problem.
    pub(super) fn given_free(&self, f: usize, guess: &[f64]) -> f64 {
        let back = &self.backs[self.frees[f].unit];
        (guess[back.row] - back.shift) / back.scale
    }

    /// Friction of group g along (t₁, t₂), read off impulses of the whole problem.
    pub(super) fn given_friction(&self, g: usize, guess: &[f64]) -> [f64; 2] {
        let group = &self.groups[g];
        let back = &self.backs[group.unit];
        let first = back.row + usize::from(group.normal != NONE);
        let mut t = [0.0; 2];
        for (t, row) in t.iter_mut().zip(first..first + back.tangents.max(1)) {
            *t = (guess[row] - back.shift) / back.scale;
        }
        t
    }

    /// Friction t of group g on the two directions next to it, or on one of a pair.
    pub(super) fn shares(&self, g: usize, t: [f64; 2]) -> [Option<(usize, f64)>; 2] {
        let directions = &self.directions[self.groups[g].range()];
        if directions.len() < 3 {
            let along = |(j, [a, b]): (usize, &[f64; 2])| {
                let share = (a * t[0] + b * t[1]) / (a * a + b * b);
                (0.0 < share).then_some((j, share))
            };
            return [directions.iter().enumerate().find_map(along), None];
        }
        let mut best = (f64::NEG_INFINITY, [None; 2]);
        for (j, a) in directions.iter().enumerate() {
            let next = (j + 1) % directions.len();
            let b = &directions[next];
            let det = a[0] * b[1] - a[1] * b[0];
            let shares = [
                (t[0] * b[1] - t[1] * b[0]) / det,
                (a[0] * t[1] - a[1] * t[0]) / det,
            ];
            let least = shares[0].min(shares[1]);
            if best.0 < least {
                best = (least, [Some((j, shares[0])), Some((next, shares[1]))]);
            }
        }
        best.1
    }
}
