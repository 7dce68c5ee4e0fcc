//! The kernel of many bodies, solved through the bodies: n contacts on m bodies cost a sparse system of 6m velocities.
//!
//! ```text
//! (LᵀR + S) y = b      ⇔      (1 + R S⁻¹Lᵀ) u = R S⁻¹b,   y = S⁻¹(b − Lᵀu)           S = Σ + ε
//! ```
//!
//! Whatever the contacts do, u couples the same bodies: the order of elimination is found once, and each basis is
//! factored along it. ε makes every basis regular, those included whose rows depend on each other; what it changes is
//! taken back by corrections of y, which end at the answer nearest to the start.

use crate::linalg::fronts::{Block, Fronts};
use crate::solver::pivot::contact::ContactLcp;
use crate::solver::pivot::contact::basis::Unknown;
use crate::solver::pivot::contact::table::along;

/// ε. Rows have unit length.
const SOFT: f64 = 1e-9;
/// Most corrections, and by how much one must shrink what is left over for another to be worth it.
const CORRECTIONS: usize = 20;
const WORTH: f64 = 0.8;

/// Factors over the bodies of one problem.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bodies {
    fronts: Fronts,
    /// First unknown of every unit, and one more; the unknowns that are factored, and theirs.
    first: Vec<usize>,
    factored: Vec<Unknown>,
    factored_first: Vec<usize>,
    /// Multiplications so far.
    pub(crate) done: u64,
    u: Vec<f64>,
    pub(crate) left: Vec<f64>,
    best: Vec<f64>,
}

impl Bodies {
    /// Finds the order of elimination for the bodies of a problem.
    pub(crate) fn plan(&mut self, lcp: &ContactLcp) {
        let columns = &lcp.columns;
        let units = 0..columns.units.len();
        let parts = units.clone().flat_map(|unit| columns.parts(unit));
        let mut bodies: Vec<(usize, usize)> = parts.map(|p| (p.offset, p.width)).collect();
        bodies.sort_unstable();
        bodies.dedup();
        let number = |offset: usize| bodies.partition_point(|body| body.0 < offset);
        let elements: Vec<Vec<usize>> = units
            .map(|unit| {
                let parts = columns.parts(unit).iter();
                parts.map(|part| number(part.offset)).collect()
            })
            .collect();
        self.fronts.plan(&bodies, &elements);
        self.factored.clear();
        self.factored_first.clear();
        self.factored_first.resize(columns.units.len() + 1, 0);
        self.u.clear();
        self.u.resize(columns.dofs, 0.0);
    }

    /// Factors the kernel of these unknowns, listed unit by unit. False where a pivot vanishes.
    pub(crate) fn factor(&mut self, lcp: &ContactLcp, unknowns: &[Unknown]) -> bool {
        let units = lcp.columns.units.len();
        self.first.clear();
        self.first.resize(units + 1, 0);
        for unknown in unknowns {
            self.first[unknown.unit + 1] += 1;
        }
        for unit in 0..units {
            self.first[unit + 1] += self.first[unit];
        }
        let (first, before) = (&self.first, &self.factored_first);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let is_new = |unit: usize| {
            let now = &unknowns[first[unit]..first[unit + 1]];
            let then = &self.factored[before[unit]..before[unit + 1]];
            let same = |(a, b): (&Unknown, &Unknown)| {
                (a.left, a.right, a.sigma) == (b.left, b.right, b.sigma)
            };
            now.len() != then.len() || !now.iter().zip(then).all(same)
        };
        let cost = self.fronts.factor(is_new, |unit, block| {
            for unknown in &unknowns[first[unit]..first[unit + 1]] {
                add(lcp, unknown, (&mut left, &mut right), block);
            }
        });
        self.done += cost.unwrap_or(0);
        self.factored.clear();
        self.factored.extend_from_slice(unknowns);
        self.factored_first.clone_from(&self.first);
        cost.is_some()
    }

    /// Improves `y` until (LᵀR + Σ) y = b is met as well as it can be.
    pub(crate) fn solve(
        &mut self,
        lcp: &ContactLcp,
        unknowns: &[Unknown],
        b: &[f64],
        y: &mut [f64],
    ) {
        let mut least = f64::INFINITY;
        for _ in 0..=CORRECTIONS {
            let size = self.left_over(lcp, unknowns, b, y);
            if size < least {
                self.best.clear();
                self.best.extend_from_slice(y);
            }
            if size == 0.0 || !(size < WORTH * least) {
                break;
            }
            least = size;
            self.step(lcp, unknowns);
            y.iter_mut()
                .zip(&self.left)
                .for_each(|(y, step)| *y += step);
        }
        y.copy_from_slice(&self.best);
    }

    /// b − (LᵀR + Σ) y into `left`, and its largest entry.
    pub(crate) fn left_over(
        &mut self,
        lcp: &ContactLcp,
        unknowns: &[Unknown],
        b: &[f64],
        y: &[f64],
    ) -> f64 {
        self.u.fill(0.0);
        for (unknown, y) in unknowns.iter().zip(y) {
            let share = unknown.right.map(|share| share * y);
            lcp.columns.add(unknown.unit, share, &mut self.u);
        }
        self.left.clear();
        let mut size: f64 = 0.0;
        for ((unknown, y), b) in unknowns.iter().zip(y).zip(b) {
            let row = along(lcp, unknown.unit, unknown.left, &self.u) + unknown.sigma * y;
            self.left.push(b - row);
            size = size.max((b - row).abs());
        }
        size
    }

    /// left ← (LᵀR + S)⁻¹ left.
    pub(crate) fn step(&mut self, lcp: &ContactLcp, unknowns: &[Unknown]) {
        self.done += self.fronts.cost() + 4 * lcp.columns.values.len() as u64;
        self.u.fill(0.0);
        for (unknown, b) in unknowns.iter().zip(&self.left) {
            let share = unknown
                .right
                .map(|share| share * b / (unknown.sigma + SOFT));
            lcp.columns.add(unknown.unit, share, &mut self.u);
        }
        self.fronts.solve(&mut self.u);
        for (unknown, b) in unknowns.iter().zip(&mut self.left) {
            let row = along(lcp, unknown.unit, unknown.left, &self.u);
            *b = (*b - row) / (unknown.sigma + SOFT);
        }
    }
}

/// Adds R S⁻¹Lᵀ of one unknown.
fn add(
    lcp: &ContactLcp,
    unknown: &Unknown,
    (left, right): (&mut Vec<f64>, &mut Vec<f64>),
    block: &mut Block<'_>,
) {
    left.clear();
    right.clear();
    let parts = lcp.columns.parts(unknown.unit);
    let rows = lcp.columns.units[unknown.unit].rows;
    for part in parts {
        let values = &lcp.columns.values[part.start..part.start + rows * part.width];
        for w in 0..part.width {
            let (mut l, mut r) = (0.0, 0.0);
            for (i, row) in values.chunks_exact(part.width).enumerate() {
                l += unknown.left[i] * row[w];
                r += unknown.right[i] * row[w];
            }
            left.push(l);
            right.push(r);
        }
    }
    let scale = 1.0 / (unknown.sigma + SOFT);
    let mut i = 0;
    for a in parts {
        let column = &right[i..i + a.width];
        let mut j = 0;
        for b in parts {
            block.add((a.offset, column), (b.offset, &left[j..j + b.width]), scale);
            j += b.width;
        }
        i += a.width;
    }
}
