//! Rows on short kinematic trees, written out once: over the velocities of the tree, and as half an answer by its mass.
//!
//! ```text
//! M⁻¹ = T Tᵀ ,   X = G T        so that   G M⁻¹Gᵀ = X Xᵀ
//! ```
//!
//! X has the velocities of the tree in reverse. Both are in fours, filled up with zeros.
//!
//! A row on a link would otherwise climb from the link to the ground whenever somebody asks for it.

use crate::linalg::inverse_root::{Answers, InverseRoot};
use crate::linalg::wide_lu::{Four, WIDTH};

/// Where the rows of an entry stand that is not written out.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Rows of all entries on short trees, one entry after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WrittenRows {
    rows: Vec<Four>,
    halves: Vec<Four>,
}

/// The rows of one entry, in fours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    /// G.
    pub(crate) rows: &'a [Four],
    /// X = G T, velocities in reverse.
    pub(crate) halves: &'a [Four],
}

impl WrittenRows {
    /// The same memory without content.
    pub(super) fn emptied(mut self) -> WrittenRows {
        self.truncate(0);
        self
    }

    /// Fours so far, of rows and of halves each.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.rows.truncate(length);
        self.halves.truncate(length);
    }

    /// So many more rows on a mass with the root T, zero until they are written, each as wide as its fours.
    pub(super) fn more(&mut self, count: usize, root: &InverseRoot) -> &mut [f64] {
        let start = self.rows.len();
        let length = start + count * root.fours();
        self.rows.resize(length, [0.0; WIDTH]);
        self.rows[start..].as_flattened_mut()
    }

    /// Answers the rows that have none yet, on a mass with the root T that would move at v; c ← c + G v, D ← D + X Xᵀ.
    pub(super) fn answer(
        &mut self,
        (root, v): (&InverseRoot, &[f64]),
        (c, d): (&mut [f64], &mut [f64]),
    ) {
        let WrittenRows { rows, halves } = self;
        let new = &rows[halves.len()..];
        root.answer(new, v, Answers { halves, c, d });
    }

    /// Adds g times one velocity on a mass with the root T; gives X Xᵀ.
    pub(super) fn add_coordinate(&mut self, dof: usize, g: f64, root: &InverseRoot) -> f64 {
        let start = self.rows.len();
        self.rows.resize(start + root.fours(), [0.0; WIDTH]);
        self.rows[start..].as_flattened_mut()[dof] = g;
        let mut sum = [0.0; WIDTH];
        for t in root.row(dof) {
            let x = t.map(|t| g * t);
            for l in 0..WIDTH {
                sum[l] += x[l] * x[l];
            }
            self.halves.push(x);
        }
        (sum[0] + sum[1]) + (sum[2] + sum[3])
    }

    /// All rows, where they are so many in fours.
    pub(super) fn all(&self, length: usize) -> Option<&[Four]> {
        (self.rows.len() == length).then_some(&self.rows[..])
    }

    /// Those of another list from `start` on, so many fours; gives where they are here.
    pub(super) fn copy(&mut self, other: &WrittenRows, start: usize, length: usize) -> u32 {
        let at = self.rows.len() as u32;
        self.rows
            .extend_from_slice(&other.rows[start..start + length]);
        self.halves
            .extend_from_slice(&other.halves[start..start + length]);
        at
    }

    /// So many fours from `start` on.
    #[inline(always)]
    pub(super) fn get(&self, start: usize, length: usize) -> Written<'_> {
        Written {
            rows: &self.rows[start..start + length],
            halves: &self.halves[start..start + length],
        }
    }

    /// Bytes that they take.
    pub(super) fn n_bytes(&self) -> usize {
        size_of_val(&self.rows[..]) + size_of_val(&self.halves[..])
    }
}
