//! What impulses do, as Jacobi needs it: the velocity of every body, or the row velocity of every block where only
//! the Delassus matrix is known. Either is affine in λ and every part of it is gathered on its own.

use std::ops::Range;

use super::super::topology::Topology;
use crate::index::MassId;
use crate::math::{dot, mul_add};
use crate::problem::delassus::BlockMatrix;
use crate::problem::jacobian::Incidence;
use crate::problem::{Block, Primal};

/// Where a state stands, part by part.
pub(super) trait Layout: Sync {
    /// Number of parts.
    fn parts(&self) -> usize;

    /// Length of the state.
    fn length(&self) -> usize;

    /// Where a part stands in the state.
    fn range(&self, part: usize) -> Range<usize>;

    /// Σ of every row, where it is not part of the state already.
    fn compliance(&self) -> Option<&[f64]>;
}

/// The state that belongs to impulses.
pub(super) trait Effect: Sync {
    /// What the state is made of.
    type Layout: Layout;

    /// Where it stands.
    fn layout(&self) -> &Self::Layout;

    /// w ← row velocity of block k, from the state and its own impulse.
    fn row_velocity(&self, k: usize, state: &[f64], lambda: &[f64], w: &mut [f64]);

    /// Recomputes one part from impulses alone: nothing can drift.
    fn gather(&self, part: usize, lambda: &[f64], out: &mut [f64]);

    /// This part's share of ½ΔᵀSΔ, where its state changed by `change` and the impulses from the first to the
    /// second. `product` is work space of the part's size.
    fn energy(
        &self,
        part: usize,
        change: &[f64],
        impulses: (&[f64], &[f64]),
        product: &mut [f64],
    ) -> f64;
}

/// The velocities of the bodies.
impl Layout for Primal {
    fn parts(&self) -> usize {
        self.mass().len()
    }

    fn length(&self) -> usize {
        self.p().len()
    }

    fn range(&self, part: usize) -> Range<usize> {
        self.columns(part)
    }

    fn compliance(&self) -> Option<&[f64]> {
        Some(self.sigma())
    }
}

/// v_b = v¹_b + M_b⁻¹ Σ_{k∋b} G_kbᵀ λ_k.   [Chain, (34)]
pub(super) struct BodyEffect<'a> {
    pub(super) primal: &'a Primal,
    pub(super) blocks: &'a [Block],
    pub(super) incidence: &'a Incidence,
}

impl Effect for BodyEffect<'_> {
    type Layout = Primal;

    fn layout(&self) -> &Primal {
        self.primal
    }

    #[inline]
    fn row_velocity(&self, k: usize, state: &[f64], lambda: &[f64], w: &mut [f64]) {
        self.primal
            .row_velocity(&self.blocks[k], k, state, lambda, w);
    }

    #[inline]
    fn gather(&self, part: usize, lambda: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for &(k, e) in self.incidence.of(MassId(part as u32)) {
            let lambda = &lambda[self.blocks[k.index()].rows()];
            self.primal.add_impulse(e, lambda, out);
        }
        self.primal.mass()[part].solve(out);
        let free = &self.primal.free_velocity()[self.primal.columns(part)];
        for (v, free) in out.iter_mut().zip(free) {
            *v += free;
        }
    }

    /// ½ δvᵀM δv; the share of Σ belongs to the rows.
    #[inline]
    fn energy(
        &self,
        part: usize,
        change: &[f64],
        _impulses: (&[f64], &[f64]),
        product: &mut [f64],
    ) -> f64 {
        self.primal.mass()[part].mul(change, product);
        0.5 * dot(change, product)
    }
}

/// w_k = c_k + Σ_j S_kj λ_j: in dual form the row velocities themselves are the state.
pub(super) struct RowEffect<'a> {
    pub(super) matrix: &'a BlockMatrix,
    pub(super) c: &'a [f64],
}

impl Layout for RowEffect<'_> {
    fn parts(&self) -> usize {
        self.matrix.n_blocks()
    }

    fn length(&self) -> usize {
        self.c.len()
    }

    fn range(&self, part: usize) -> Range<usize> {
        self.matrix.rows(part)
    }

    fn compliance(&self) -> Option<&[f64]> {
        None
    }
}

impl Effect for RowEffect<'_> {
    type Layout = Self;

    fn layout(&self) -> &Self {
        self
    }

    fn row_velocity(&self, k: usize, state: &[f64], _lambda: &[f64], w: &mut [f64]) {
        w.copy_from_slice(&state[self.matrix.rows(k)]);
    }

    fn gather(&self, part: usize, lambda: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.c[self.matrix.rows(part)]);
        for (j, values) in self.matrix.block_row(part) {
            mul_add(values, &lambda[self.matrix.rows(j)], out);
        }
    }

    fn energy(
        &self,
        part: usize,
        change: &[f64],
        (from, to): (&[f64], &[f64]),
        _product: &mut [f64],
    ) -> f64 {
        let rows = self.matrix.rows(part);
        let step = to[rows.clone()].iter().zip(&from[rows]);
        0.5 * step
            .zip(change)
            .map(|((to, from), change)| (to - from) * change)
            .sum::<f64>()
    }
}

/// The lists of rows on every body, built again only when the topology changes.   [Chain, Connectivity]
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    topology: Topology,
    incidence: Option<Incidence>,
}

impl Lists {
    pub(super) fn of(&mut self, primal: &Primal, blocks: &[Block]) -> &Incidence {
        if self.topology.update(primal, blocks) {
            self.incidence = None;
        }
        self.incidence
            .get_or_insert_with(|| primal.jacobian().incidence(primal.mass().len()))
    }
}
