//! The contact problem without its matrix: columns over the bodies, one linear complementarity problem.
//!
//! ```text
//! ν_i  = n_iᵀ(Nθ + Dφ + Bλ) + Σ_i θ_i + q_i                normal velocity       ⟂ θ_i ≥ 0
//! σ_gj = d_gjᵀ(Nθ + Dφ + Bλ) + s_g    + q_gj               slip along d_gj       ⟂ φ_gj ≥ 0
//! γ_g  = μ_g θ_i(g) − Σ_j φ_gj + r_g                       friction left         ⟂ s_g ≥ 0
//! 0    = b_fᵀ(Nθ + Dφ + Bλ) + Σ_f λ_f + q_f                joints, λ free
//! ```
//!
//! Columns are rows of G times F with FᵀF = M⁻¹, so that every product of two of them is an entry of G M⁻¹Gᵀ.
//! A *unit* is what comes from one contact or one row: at most three rows (n, t₁, t₂) on the same bodies, from
//! which every direction is a combination. Friction comes in *groups* of directions that share one bound: a
//! faceted cone is one group with r = 0, a friction box is two groups of two, and a row with lo ≤ λ ≤ hi is a
//! group of a single direction with no normal, μ = 0 and r = hi − lo. Compliance of a normal or free row stands
//! on the diagonal; that of a tangent is a velocity of its own that only this tangent feels.
//!
//! | file | what is there |
//! |---|---|
//! | this file | the problem; impulses as its variables and back; the problem written out |
//! | `build.rs`, `columns.rs` | laws as pairs, rows of G as columns |
//! | `point.rs` | the natural residual of a point |
//! | `basis.rs`, `kernel.rs`, `one_body.rs` | which variables are basic, and solving in such a basis |
//! | `values.rs`, `pivots.rs` | values and rates, and the path of pivots |
//! | `expansion.rs` | the reduced method: friction joins where load appears |
//! | `warm_start.rs` | from the impulses of the last step |
//!
//! Every unit is scaled by a = (|n|² + Σ)^(−1/2), after which all quantities are square roots of energy and one
//! tolerance fits all.   [Lemke05 (6)–(8)]
//!
#![doc = include_str!("../../../../docs/lemke-contact.md")]

mod basis;
mod build;
mod columns;
mod expansion;
mod kernel;
mod one_body;
mod pivots;
mod point;
mod values;
pub(super) mod warm_start;

pub use expansion::reduced;
pub use pivots::{PivotOptions, PivotOutcome, structural};
pub use values::PivotWork;

use std::ops::Range;

use self::columns::{Columns, Gather};
use self::point::{Point, are_zero};
use crate::index::BlockId;
use crate::linalg::independent::IndependentRows;
use crate::problem::{Form, Problem};

/// No normal: the bound of the group does not depend on a load.
pub(crate) const NONE: usize = usize::MAX;
/// Friction this close to its bound slips, and a share of it this small is none.
pub(crate) const CLOSE: f64 = 1e-9;

/// A contact problem in the form Lemke's algorithm pivots on, never assembled.
#[derive(Clone, Debug, Default)]
pub struct ContactLcp {
    pub(crate) columns: Columns,
    pub(crate) normals: Vec<Normal>,
    pub(crate) groups: Vec<Group>,
    /// Shares of (t₁, t₂) in every direction, group after group.
    pub(crate) directions: Vec<[f64; 2]>,
    /// The two shares of every direction apart, for loops over many.
    pub(crate) first: Vec<f64>,
    pub(crate) second: Vec<f64>,
    /// Constant part of σ of every direction.
    pub(crate) slip: Vec<f64>,
    pub(crate) frees: Vec<FreeRow>,
    /// How impulses are read off, unit by unit.
    pub(crate) backs: Vec<WayBack>,
    /// Constant parts of the three rows of every unit: its row velocities without impulses.
    pub(crate) constants: Vec<[f64; 3]>,
}

/// A pair (ν, θ).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Normal {
    pub(crate) unit: usize,
    pub(crate) q: f64,
    pub(crate) sigma: f64,
    /// First friction group of this normal, and their number.
    pub(crate) first_group: usize,
    pub(crate) n_groups: usize,
}

impl Normal {
    pub(crate) fn groups(&self) -> Range<usize> {
        self.first_group..self.first_group + self.n_groups
    }
}

/// Directions with one common bound: pairs (σ_j, φ_j) and one pair (γ, s).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) unit: usize,
    /// The normal whose load bounds the friction, or [`NONE`].
    pub(crate) normal: usize,
    pub(crate) mu: f64,
    /// Constant part of γ.
    pub(crate) room: f64,
    /// First direction.
    pub(crate) start: usize,
    pub(crate) count: usize,
}

impl Group {
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.start + self.count
    }
}

/// A row without law: an equality.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreeRow {
    pub(crate) unit: usize,
    pub(crate) q: f64,
    pub(crate) sigma: f64,
}

/// λ = shift + scale × (scaled impulse), at the rows that start at `row`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WayBack {
    pub(crate) row: usize,
    pub(crate) tangents: usize,
    pub(crate) scale: f64,
    pub(crate) shift: f64,
}

impl ContactLcp {
    /// The whole problem, round and elliptic cones replaced by `directions` facets. None for a problem given by
    /// its Delassus matrix, which has no columns.
    pub fn new(problem: &Problem, directions: u32) -> Option<ContactLcp> {
        let blocks: Vec<BlockId> = (0..problem.blocks().len() as u32).map(BlockId).collect();
        ContactLcp::of_blocks(problem, &blocks, directions)
    }

    /// The part of a problem that consists of the given blocks. The others must share no body with them, or they
    /// count as absent.
    pub fn of_blocks(problem: &Problem, blocks: &[BlockId], directions: u32) -> Option<ContactLcp> {
        let mut lcp = ContactLcp::default();
        lcp.refill(problem, blocks, directions).then_some(lcp)
    }

    /// [`ContactLcp::of_blocks`] in the arrays of an earlier problem. False where there are no columns.
    pub(crate) fn refill(
        &mut self,
        problem: &Problem,
        blocks: &[BlockId],
        directions: u32,
    ) -> bool {
        let Form::Primal(primal) = problem.form() else {
            return false;
        };
        let columns = std::mem::take(&mut self.columns);
        let Some(mut gather) = Gather::new(primal, blocks, columns) else {
            return false;
        };
        self.normals.clear();
        self.groups.clear();
        self.directions.clear();
        self.frees.clear();
        self.backs.clear();
        self.constants.clear();
        for &id in blocks {
            self.add_block(problem, primal, &mut gather, id, directions.max(3));
        }
        self.columns = gather.finish();
        self.add_given_impulses(primal.sigma());
        self.spread_constants();
        true
    }

    /// Number of pairs: (ν, θ), (σ, φ) and (γ, s).
    pub fn n_pairs(&self) -> usize {
        self.normals.len() + self.directions.len() + self.groups.len()
    }

    /// Length of a covering vector: one for every normal, two for every friction group.
    pub fn n_cover(&self) -> usize {
        self.normals.len() + 2 * self.groups.len()
    }

    /// Number of rows that are always free.
    pub fn n_free(&self) -> usize {
        self.frees.len()
    }

    /// Free rows without those that depend on rows before them: of which `least` or less is left.
    fn independent_frees(&self, least: f64) -> Vec<usize> {
        let mut kept: Vec<usize> = Vec::new();
        let mut rows = IndependentRows::default();
        let mut column = vec![0.0; self.columns.dofs];
        for (f, free) in self.frees.iter().enumerate() {
            column.fill(0.0);
            self.columns.add(free.unit, [1.0, 0.0, 0.0], &mut column);
            let dot = |f: usize| self.columns.dot(self.frees[f].unit, &column);
            if rows.take(kept.iter().map(|&k| dot(k)), dot(f) + free.sigma, least) {
                kept.push(f);
            }
        }
        kept
    }
}

impl ContactLcp {
    /// Writes the impulses of a point into the rows of its blocks; other rows stay as they are.
    pub(crate) fn impulses(&self, point: &Point, lambda: &mut [f64]) {
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
    pub(crate) fn is_loaded(&self, guess: &[f64]) -> bool {
        let loaded = |back: &WayBack| {
            let rows = back.row..=back.row + back.tangents;
            guess[rows].iter().any(|x| *x != 0.0)
        };
        self.backs.iter().any(loaded)
    }

    /// θ of normal i, read off impulses of the whole problem.
    pub(crate) fn given_load(&self, i: usize, guess: &[f64]) -> f64 {
        let back = &self.backs[self.normals[i].unit];
        (guess[back.row] - back.shift) / back.scale
    }

    /// Friction of group g along (t₁, t₂), read off impulses of the whole problem.
    pub(crate) fn given_friction(&self, g: usize, guess: &[f64]) -> [f64; 2] {
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
    pub(crate) fn shares(&self, g: usize, t: [f64; 2]) -> [Option<(usize, f64)>; 2] {
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

#[cfg(test)]
mod tests;
