//! Linear complementarity problems with a dense matrix: 0 ≤ z ⟂ w = Mz + q ≥ 0, free rows allowed.   [Lemke05 §4]
//!
//! | file | what is there |
//! |---|---|
//! | this file | the problem, how well z solves it, and what proves that nothing does |
//! | `laws.rs` | the laws of a constraint problem as complementary pairs |
//! | `scaled.rs` | rows and columns brought to the size of one |
//! | `ratio.rs` | the ratio test: which variable leaves; contacts without matrix use it too |
//! | `standard.rs` | one path of pivots |
//! | `solve.rs` | from the door to a verified answer or a proof that there is none |
//! | `free.rs` | free rows that depend on each other |
//! | `wide.rs` | one path of pivots in twice the digits, for small problems of thin bodies |
//! | `game.rs` | games, where that path ends on a ray: the path of Lemke and Howson |
//!
//! A problem takes 8 n² bytes; contacts with columns are better pivoted without it.

mod free;
pub(super) mod game;
pub(super) mod laws;
pub(super) mod ratio;
mod scaled;
pub(super) mod solve;
mod standard;
mod wide;

use crate::error::BuildError;
use crate::math::{dot, max_abs};

/// |yᵀq| above this share of its terms is no rounding, and neither is an entry of Mᵀy above that of its column.
const PROVEN: f64 = 1e-9;
const ZERO: f64 = 1e-11;

/// 0 ≤ z ⟂ w = Mz + q ≥ 0, except for free rows, where w = 0 and z has any sign.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lcp {
    /// M by columns, one after the other.
    columns: Vec<f64>,
    q: Vec<f64>,
    free: Vec<bool>,
}

impl Lcp {
    /// A problem from M, row by row, and q. Numbers that are not finite are refused.
    pub fn new(m: &[f64], q: Vec<f64>) -> Result<Lcp, BuildError> {
        let n = q.len();
        BuildError::check_length(|| "M".to_owned(), n * n, m.len())?;
        BuildError::check_finite(|| "M".to_owned(), m)?;
        BuildError::check_finite(|| "q".to_owned(), &q)?;
        let mut columns = vec![0.0; n * n];
        for (i, row) in m.chunks_exact(n.max(1)).enumerate() {
            for (j, entry) in row.iter().enumerate() {
                columns[j * n + i] = *entry;
            }
        }
        Ok(Lcp {
            columns,
            free: vec![false; n],
            q,
        })
    }

    /// From columns that are known to be finite.
    pub(super) fn from_columns(columns: Vec<f64>, q: Vec<f64>, free: Vec<bool>) -> Lcp {
        Lcp { columns, q, free }
    }

    /// Makes row i an equality with a free unknown: w_i = 0. An index out of range is ignored.
    pub fn set_free(&mut self, i: usize) {
        if let Some(free) = self.free.get_mut(i) {
            *free = true;
        }
    }

    /// Number of unknowns.
    pub fn len(&self) -> usize {
        self.q.len()
    }

    /// True where there is nothing to solve.
    pub fn is_empty(&self) -> bool {
        self.q.is_empty()
    }

    /// q.
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// Which rows are equalities.
    pub fn free(&self) -> &[bool] {
        &self.free
    }

    /// Column j of M.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.columns[j * self.len()..(j + 1) * self.len()]
    }

    /// All columns of M, one after the other.
    pub(super) fn columns(&self) -> &[f64] {
        &self.columns
    }

    /// w = Mz + q.
    pub fn w(&self, z: &[f64]) -> Vec<f64> {
        let mut w = self.q.clone();
        for (j, z) in z.iter().enumerate() {
            if *z != 0.0 {
                add_column(&mut w, *z, self.column(j));
            }
        }
        w
    }

    /// The natural residual max_i |min(z_i, w_i)|, or |w_i| in free rows; infinite for numbers that are not finite.
    pub fn residual(&self, z: &[f64]) -> f64 {
        if z.len() != self.len() || !max_abs(z).is_finite() {
            return f64::INFINITY;
        }
        let w = self.w(z);
        let mut worst = 0.0_f64;
        for i in 0..w.len() {
            let row = if self.free[i] { w[i] } else { z[i].min(w[i]) };
            if !row.is_finite() {
                return f64::INFINITY;
            }
            worst = worst.max(row.abs());
        }
        worst
    }

    /// Whether y proves that no z at all gives w ≥ 0 (w = 0 in free rows): y ≥ 0 outside free rows, Mᵀy ≤ 0
    /// (= 0 for free unknowns) and qᵀy < 0. A rounding-size violation is allowed for; one that could be real is not.
    pub fn is_farkas(&self, y: &[f64]) -> bool {
        let n = self.len();
        if y.len() != n || !max_abs(y).is_finite() {
            return false;
        }
        let size: f64 = y.iter().map(|y| y.abs()).sum();
        let signs = (0..n).all(|i| self.free[i] || 0.0 <= y[i]);
        let work = dot(y, &self.q);
        let terms: f64 = y.iter().zip(&self.q).map(|(y, q)| (y * q).abs()).sum();
        if !signs || !(work < -PROVEN * terms) {
            return false;
        }
        (0..n).all(|j| {
            let column = self.column(j);
            let sum = dot(column, y);
            let slack = ZERO * max_abs(column) * size;
            sum <= slack && (!self.free[j] || -slack <= sum)
        })
    }
}

/// y += x·a.
#[inline]
fn add_column(y: &mut [f64], x: f64, a: &[f64]) {
    for (y, a) in y.iter_mut().zip(a) {
        *y += x * a;
    }
}
