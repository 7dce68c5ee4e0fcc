//! Rows on short kinematic trees, written out once: over the velocities of the tree, and as half a solution by its mass.
//!
//! ```text
//! M = L Lᵀ ,   X = G L⁻ᵀ        so that   G M⁻¹Gᵀ = X Xᵀ
//! ```
//!
//! M and X have the velocities of the tree in reverse: leaves come first, and X is zero where G is.
//!
//! A row on a link would otherwise climb from the link to the ground whenever somebody asks for it.

use crate::linalg::cholesky::{cholesky_forward_from, cholesky_forward_rows};
use crate::math::dot_unrolled;

/// Where the rows of an entry stand that is not written out.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Rows of all entries on short trees, one entry after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WrittenRows {
    rows: Vec<f64>,
    halves: Vec<f64>,
}

/// The rows of one entry, row-major.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    /// G.
    pub(crate) rows: &'a [f64],
    /// X = G L⁻ᵀ, velocities in reverse.
    pub(crate) halves: &'a [f64],
}

impl WrittenRows {
    /// The same memory without content.
    pub(super) fn emptied(mut self) -> WrittenRows {
        self.truncate(0);
        self
    }

    /// Numbers so far, of rows and of halves each.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.rows.truncate(length);
        self.halves.truncate(length);
    }

    /// Adds the rows of an entry on a mass with the factor L, and D ← D + X Xᵀ.
    pub(super) fn add(&mut self, rows: &[f64], lower: &[f64], d: &mut [f64]) {
        let (start, n) = (self.rows.len(), lower.len().isqrt());
        self.rows.extend_from_slice(rows);
        for row in rows.chunks_exact(n) {
            self.halves.extend(row.iter().rev());
        }
        let halves = &mut self.halves[start..];
        cholesky_forward_rows(lower, n, halves);
        // D = X Xᵀ by symmetry.
        let m = rows.len() / n;
        for i in 0..m {
            for j in 0..=i {
                let sum = dot_unrolled(&halves[i * n..(i + 1) * n], &halves[j * n..(j + 1) * n]);
                d[i * m + j] += sum;
                if i != j {
                    d[j * m + i] += sum;
                }
            }
        }
    }

    /// Adds g times one velocity on a mass with the factor L; gives X Xᵀ.
    pub(super) fn add_coordinate(&mut self, dof: usize, g: f64, lower: &[f64]) -> f64 {
        let (start, n) = (self.rows.len(), lower.len().isqrt());
        self.rows.resize(start + n, 0.0);
        self.rows[start + dof] = g;
        self.halves.resize(start + n, 0.0);
        // Velocities stand in reverse.
        let first = n - 1 - dof;
        let half = &mut self.halves[start..];
        half[first] = g;
        cholesky_forward_from(lower, first, half);
        dot_unrolled(half, half)
    }

    /// Those of another list from `start` on, so many numbers; gives where they are here.
    pub(super) fn copy(&mut self, other: &WrittenRows, start: usize, length: usize) -> u32 {
        let at = self.rows.len() as u32;
        self.rows
            .extend_from_slice(&other.rows[start..start + length]);
        self.halves
            .extend_from_slice(&other.halves[start..start + length]);
        at
    }

    /// So many numbers from `start` on.
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
