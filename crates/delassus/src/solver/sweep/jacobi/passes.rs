//! The two passes of a sweep, each over flat arrays in fixed chunks: λ of every block, then the state of every part.

use super::super::rule::{Locals, Rule};
use super::effect::{Effect, Layout, Lists};
use crate::math::parallel::for_chunks;
use crate::problem::Block;
use crate::problem::delassus::DiagonalBlocks;

/// Arrays kept between solves, so that a sweep allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub(super) lists: Lists,
    /// D̃ of every block.
    pub(super) majorant: DiagonalBlocks,
    /// State that belongs to the impulses: v, or w in dual form.
    pub(super) state: Vec<f64>,
    locals: Locals,
    /// The point that the step starts from, its state and row velocities, and what the step gives.
    y: Vec<f64>,
    state_y: Vec<f64>,
    w: Vec<f64>,
    z: Vec<f64>,
    /// The iterate before the present one.
    old: Vec<f64>,
    /// Scratch of the velocity pass.
    fresh: Vec<f64>,
    product: Vec<f64>,
    rows: Chunks<RowSums>,
    parts: Chunks<f64>,
}

/// Fixed chunks and what each of them sums up: the sums of a sweep do not depend on threads.
#[derive(Clone, Debug, Default)]
struct Chunks<T> {
    bounds: Vec<usize>,
    sums: Vec<T>,
}

/// Blocks, and parts of the state, in one chunk.
const CHUNK: usize = 256;

impl<T: Clone + Default> Chunks<T> {
    /// Chunks of so many items, the first element of each given, `end` elements in all.
    fn prepare(&mut self, items: usize, first: impl Fn(usize) -> usize, end: usize) {
        self.bounds.clear();
        self.bounds.extend((0..items).step_by(CHUNK).map(first));
        self.sums.clear();
        self.sums.resize(self.bounds.len(), T::default());
        self.bounds.push(end);
    }

    /// Items of a chunk.
    fn items(chunk: usize, items: usize) -> std::ops::Range<usize> {
        chunk * CHUNK..items.min((chunk + 1) * CHUNK)
    }
}

/// What the λ-pass sums up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowSums {
    /// Σ|D̃Δ|², Δ = z − y …
    pub(super) squared: f64,
    /// … and the largest term of it.
    pub(super) largest: f64,
    /// wᵀΔ + ½ΔᵀΣΔ.
    pub(super) linear: f64,
    /// (y − z)ᵀD̃(z − λ): positive where the momentum points uphill.
    pub(super) uphill: f64,
}

impl Work {
    /// Prepares a run from the impulses of the warm start.
    pub(super) fn begin<E: Effect>(
        &mut self,
        blocks: &[Block],
        effect: &E,
        lambda: &[f64],
        rule: Rule,
    ) {
        self.locals.prepare(blocks, &self.majorant, rule);
        for array in [&mut self.y, &mut self.z, &mut self.w, &mut self.old] {
            array.clear();
            array.extend_from_slice(lambda);
        }
        // The velocity pass that a warm start needs: without it the first sweep is as bad as a cold one
        // (errata Chain-warm).
        let layout = effect.layout();
        let (items, length) = (layout.parts(), layout.length());
        self.state.resize(length, 0.0);
        for part in 0..items {
            effect.gather(part, lambda, &mut self.state[layout.range(part)]);
        }
        self.state_y.clear();
        self.state_y.extend_from_slice(&self.state);
        self.fresh.resize(length, 0.0);
        self.product.resize(length, 0.0);
        self.rows
            .prepare(blocks.len(), |k| blocks[k].start, lambda.len());
        let first = |part| layout.range(part).start;
        self.parts.prepare(items, first, length);
    }

    /// z_k ← law_k(D̃_k, w_k, y_k) for all blocks at once, from the state of y.   [Chain, (37)]
    pub(super) fn lambda_pass<E: Effect>(
        &mut self,
        blocks: &[Block],
        effect: &E,
        lambda: &[f64],
    ) -> RowSums {
        let Work {
            locals,
            majorant,
            y,
            state_y,
            w,
            z,
            rows,
            ..
        } = self;
        let visit = |chunk: usize, [z, w]: [&mut [f64]; 2], sums: &mut RowSums| {
            *sums = RowSums::default();
            let range = Chunks::<RowSums>::items(chunk, blocks.len());
            let first = blocks[range.start].start;
            for k in range {
                let rows = blocks[k].rows();
                let here = rows.start - first..rows.end - first;
                let (z, w) = (&mut z[here.clone()], &mut w[here]);
                effect.row_velocity(k, state_y, y, w);
                let (y, lambda) = (&y[rows.clone()], &lambda[rows.clone()]);
                locals.solve(k, w, y, z);
                let (mut squared, d) = (0.0, majorant.block(k));
                for (i, d) in d.chunks_exact(z.len()).enumerate() {
                    let moved: f64 = (0..z.len()).map(|j| d[j] * (z[j] - y[j])).sum();
                    squared += moved * moved;
                    sums.uphill -= moved * (z[i] - lambda[i]);
                }
                sums.linear += linear(effect, rows.start, w, y, z);
                sums.squared += squared;
                sums.largest = sums.largest.max(squared);
            }
        };
        for_chunks(&rows.bounds, [z, w], &mut rows.sums, &visit);
        let mut total = RowSums::default();
        for sums in &rows.sums {
            total.squared += sums.squared;
            total.largest = total.largest.max(sums.largest);
            total.linear += sums.linear;
            total.uphill += sums.uphill;
        }
        total
    }

    /// z ← λ⁻ + ω(y + γ(z − y) − λ⁻), Chebyshev's recurrence; returns wᵀΔ + ½ΔᵀΣΔ of the new step.
    pub(super) fn combine<E: Effect>(&mut self, effect: &E, (omega, gamma): (f64, f64)) -> f64 {
        for (i, z) in self.z.iter_mut().enumerate() {
            let (y, old) = (self.y[i], self.old[i]);
            *z = old + omega * (y + gamma * (*z - y) - old);
        }
        linear(effect, 0, &self.w, &self.y, &self.z)
    }

    /// The state of z, gathered part by part from its impulses alone, and that of the next y; returns the
    /// rest of ½ΔᵀSΔ.   [Chain, (34)]
    pub(super) fn velocity_pass<E: Effect>(&mut self, effect: &E, momentum: f64) -> f64 {
        let Work {
            y,
            z,
            state,
            state_y,
            fresh,
            product,
            parts,
            ..
        } = self;
        let (y, z) = (y.as_slice(), z.as_slice());
        let layout = effect.layout();
        let items = layout.parts();
        let visit = |chunk: usize, arrays: [&mut [f64]; 4], energy: &mut f64| {
            *energy = 0.0;
            let [state, state_y, fresh, product] = arrays;
            let range = Chunks::<f64>::items(chunk, items);
            let first = layout.range(range.start).start;
            for part in range {
                let place = layout.range(part);
                let here = place.start - first..place.end - first;
                let (state, state_y) = (&mut state[here.clone()], &mut state_y[here.clone()]);
                let (fresh, product) = (&mut fresh[here.clone()], &mut product[here]);
                effect.gather(part, z, fresh);
                for i in 0..fresh.len() {
                    state_y[i] = fresh[i] - state_y[i];
                }
                *energy += effect.energy(part, state_y, (y, z), product);
                for i in 0..fresh.len() {
                    state_y[i] = fresh[i] + momentum * (fresh[i] - state[i]);
                    state[i] = fresh[i];
                }
            }
        };
        let arrays = [
            state.as_mut_slice(),
            state_y.as_mut_slice(),
            fresh.as_mut_slice(),
            product.as_mut_slice(),
        ];
        for_chunks(&parts.bounds, arrays, &mut parts.sums, &visit);
        parts.sums.iter().sum()
    }

    /// λ ← z, and the next y = z + β(z − λ).
    pub(super) fn accept(&mut self, lambda: &mut [f64], momentum: f64) {
        self.old.copy_from_slice(lambda);
        for (i, lambda) in lambda.iter_mut().enumerate() {
            self.y[i] = self.z[i] + momentum * (self.z[i] - *lambda);
            *lambda = self.z[i];
        }
    }
}

/// wᵀΔ + ½ΔᵀΣΔ over consecutive rows, the first of which is `start`.
#[inline]
fn linear<E: Effect>(effect: &E, start: usize, w: &[f64], y: &[f64], z: &[f64]) -> f64 {
    let step = |i: usize| z[i] - y[i];
    let sum: f64 = (0..z.len()).map(|i| w[i] * step(i)).sum();
    match effect.layout().compliance() {
        Some(sigma) => {
            let sigma = &sigma[start..start + z.len()];
            let squares = sigma.iter().enumerate();
            sum + 0.5 * squares.map(|(i, s)| s * step(i) * step(i)).sum::<f64>()
        }
        None => sum,
    }
}
