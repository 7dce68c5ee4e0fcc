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
//! Every unit is scaled by a = (|n|² + Σ)^(−1/2), after which all quantities are square roots of energy and one
//! tolerance fits all.   [Lemke05 (6)–(8)]

mod build;

use std::ops::Range;

use super::columns::{Columns, Gather};
use crate::index::BlockId;
use crate::problem::{Form, Primal, Problem};

/// No normal: the bound of the group does not depend on a load.
pub(super) const NONE: usize = usize::MAX;

/// A contact problem in the form Lemke's algorithm pivots on, never assembled.
#[derive(Clone, Debug, Default)]
pub struct ContactLcp {
    pub(super) columns: Columns,
    pub(super) normals: Vec<Normal>,
    pub(super) groups: Vec<Group>,
    /// Shares of (t₁, t₂) in every direction, group after group.
    pub(super) directions: Vec<[f64; 2]>,
    /// The two shares of every direction apart, for loops over many.
    pub(super) first: Vec<f64>,
    pub(super) second: Vec<f64>,
    /// Constant part of σ of every direction.
    pub(super) slip: Vec<f64>,
    pub(super) frees: Vec<Free>,
    /// How impulses are read off, unit by unit.
    pub(super) backs: Vec<Back>,
    /// Constant parts of the three rows of every unit: its row velocities without impulses.
    pub(super) constants: Vec<[f64; 3]>,
}

/// A pair (ν, θ).
#[derive(Clone, Copy, Debug)]
pub(super) struct Normal {
    pub(super) unit: usize,
    pub(super) q: f64,
    pub(super) sigma: f64,
    /// First friction group of this normal, and their number.
    pub(super) groups: (usize, usize),
}

impl Normal {
    pub(super) fn groups(&self) -> Range<usize> {
        self.groups.0..self.groups.0 + self.groups.1
    }
}

/// Directions with one common bound: pairs (σ_j, φ_j) and one pair (γ, s).
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) unit: usize,
    /// The normal whose load bounds the friction, or [`NONE`].
    pub(super) normal: usize,
    pub(super) mu: f64,
    /// Constant part of γ.
    pub(super) room: f64,
    /// First direction.
    pub(super) start: usize,
    pub(super) count: usize,
}

impl Group {
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.count
    }
}

/// A row without law: an equality.
#[derive(Clone, Copy, Debug)]
pub(super) struct Free {
    pub(super) unit: usize,
    pub(super) q: f64,
    pub(super) sigma: f64,
}

/// λ = shift + scale × (scaled impulse), at the rows that start at `row`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Back {
    pub(super) row: usize,
    pub(super) tangents: usize,
    pub(super) scale: f64,
    pub(super) shift: f64,
}

/// What the rows of the whole problem are like.
#[derive(Clone, Copy)]
struct Rows<'a> {
    primal: &'a Primal,
    /// Row velocities without impulses.
    c: &'a [f64],
    sigma: &'a [f64],
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
    pub(super) fn refill(
        &mut self,
        problem: &Problem,
        blocks: &[BlockId],
        directions: u32,
    ) -> bool {
        let Form::Primal(primal) = problem.form() else {
            return false;
        };
        let rows = Rows {
            primal,
            c: problem.c(),
            sigma: primal.sigma(),
        };
        self.refill_rows(problem, rows, blocks, directions)
    }

    /// The same with compliance δ added to every row, so that none depends on others, but for what it does to the
    /// impulses given: where they are the answer they stay it.
    ///
    /// ```text
    /// w = Gv + Σλ − q + δ d (λ − λ⁰)          d the diagonal of G M⁻¹Gᵀ
    /// ```
    pub(super) fn refill_soft(
        &mut self,
        problem: &Problem,
        blocks: &[BlockId],
        directions: u32,
        delta: f64,
        around: &[f64],
    ) -> bool {
        let Form::Primal(primal) = problem.form() else {
            return false;
        };
        let (mut c, mut sigma) = (problem.c().to_vec(), primal.sigma().to_vec());
        for id in blocks {
            let block = &problem.blocks()[id.index()];
            let d = problem.diagonal_blocks().block(id.index());
            for i in 0..block.n_rows {
                let row = block.start + i;
                let soft = delta * d[i * block.n_rows + i].abs();
                sigma[row] += soft;
                c[row] -= soft * around[row];
            }
        }
        let rows = Rows {
            primal,
            c: &c,
            sigma: &sigma,
        };
        self.refill_rows(problem, rows, blocks, directions)
    }

    fn refill_rows(
        &mut self,
        problem: &Problem,
        rows: Rows<'_>,
        blocks: &[BlockId],
        directions: u32,
    ) -> bool {
        let primal = rows.primal;
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
            self.add_block(problem, rows, &mut gather, id, directions.max(3));
        }
        self.columns = gather.finish();
        self.add_given_impulses(rows.sigma);
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

    /// Number of velocities that the columns act on.
    pub fn n_velocities(&self) -> usize {
        self.columns.dofs
    }

    /// Free rows without those that depend on rows before them, by a Cholesky factor that skips small pivots.
    pub(super) fn independent_frees(&self, least: f64) -> Vec<usize> {
        let mut kept: Vec<usize> = Vec::new();
        let mut factor: Vec<Vec<f64>> = Vec::new();
        let mut column = vec![0.0; self.columns.dofs];
        for (f, free) in self.frees.iter().enumerate() {
            column.fill(0.0);
            self.columns.add(free.unit, [1.0, 0.0, 0.0], &mut column);
            let mut row: Vec<f64> = Vec::with_capacity(kept.len() + 1);
            for (&k, other) in kept.iter().zip(&factor) {
                let product = self.columns.dot(self.frees[k].unit, &column);
                let done = crate::math::dot(&row, &other[..row.len()]);
                row.push((product - done) / other[row.len()]);
            }
            let own = self.columns.dot(free.unit, &column) + free.sigma;
            let rest = own - crate::math::dot(&row, &row);
            if least < rest {
                row.push(rest.sqrt());
                factor.push(row);
                kept.push(f);
            }
        }
        kept
    }
}
