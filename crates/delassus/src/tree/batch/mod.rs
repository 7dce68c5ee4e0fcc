//! Forward dynamics of many states of one tree at once: eight states side by side, as many in one instruction as the
//! processor has lanes.
//!
//! The recursion is that of one state, with sums in the same order but products fused into them; so answers agree
//! with [`Tree::forward_dynamics`] to rounding, and do not depend on the width of the processor, on how many states
//! there are, or on which stand beside each other. A state that the recursion cannot treat is given to that one,
//! which says why.

mod algebra;
mod kernel;

use glam::DVec3;
use pulp::{Arch, Simd, WithSimd};

use super::{Data, Tree, TreeError};
use crate::math::simd::{LANES, Lane};
use kernel::{Down, Factor, Kernel, Up};

/// Work arrays of [`Tree::forward_dynamics_batch`].
#[derive(Clone, Debug, Default)]
pub struct Batch {
    down: Vec<Down>,
    up: Vec<Up>,
    factors: Vec<Factor>,
    q: Vec<Lane>,
    v: Vec<Lane>,
    tau: Vec<Lane>,
    x: Vec<Lane>,
    /// Smallest pivot margin of each state; below zero the recursion failed.
    margin: Lane,
    single: Option<Data>,
}

/// One group of eight states.
struct Group<'a> {
    tree: &'a Tree,
    batch: &'a mut Batch,
    gravity: DVec3,
}

impl WithSimd for Group<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = S::F64_LANES.min(LANES);
        for part in 0..LANES / width {
            let mut kernel = Kernel {
                simd,
                part,
                tree: self.tree,
                batch: self.batch,
            };
            kernel.down(self.gravity);
            kernel.up();
            kernel.respond();
        }
    }
}

impl Tree {
    /// q̈ of many states under joint forces τ, damping included: all arrays hold one state after the other.
    pub fn forward_dynamics_batch(
        &self,
        batch: &mut Batch,
        (q, v, tau): (&[f64], &[f64], &[f64]),
        gravity: DVec3,
        acceleration: &mut [f64],
    ) -> Result<(), TreeError> {
        let (nq, nv) = (self.n_coordinates, self.n_dofs);
        if nv == 0 {
            return Ok(());
        }
        let count = acceleration.len() / nv;
        self.check_length("acceleration", acceleration, count * nv)?;
        self.check("velocity", v, count * nv)?;
        self.check("force", tau, count * nv)?;
        self.check("configuration", q, count * nq)?;
        for q in q.chunks_exact(nq) {
            self.check_configuration(q)?;
        }
        batch.prepare(self);
        let arch = Arch::new();
        for first in (0..count).step_by(LANES) {
            let last = count - 1;
            let state = |lane: usize| (first + lane).min(last);
            spread(q, nq, state, &mut batch.q);
            spread(v, nv, state, &mut batch.v);
            spread(tau, nv, state, &mut batch.tau);
            arch.dispatch(Group {
                tree: self,
                batch,
                gravity,
            });
            for lane in 0..LANES.min(count - first) {
                let i = first + lane;
                let out = &mut acceleration[i * nv..(i + 1) * nv];
                for (out, x) in out.iter_mut().zip(&batch.x) {
                    *out = x[lane];
                }
                let far = batch.q.iter().any(|q| algebra::FAR < q[lane].abs());
                let sound = 0.0 < batch.margin[lane] && out.iter().all(|x| x.is_finite());
                if far || !sound {
                    let data = batch.single.get_or_insert_with(|| self.data());
                    let (q, v) = (&q[i * nq..(i + 1) * nq], &v[i * nv..(i + 1) * nv]);
                    let state = (q, v, &tau[i * nv..(i + 1) * nv]);
                    self.forward_dynamics(data, state, gravity, out)?;
                }
            }
        }
        Ok(())
    }
}

impl Batch {
    fn prepare(&mut self, tree: &Tree) {
        let zero = [0.0; LANES];
        self.down.resize(tree.nodes.len(), Down::default());
        self.up.resize(tree.nodes.len(), Up::default());
        self.factors.resize(tree.n_multi, Factor::default());
        self.q.resize(tree.n_coordinates, zero);
        for array in [&mut self.v, &mut self.tau, &mut self.x] {
            array.resize(tree.n_dofs, zero);
        }
        // Arrays of another tree do not fit this one.
        self.single = None;
    }
}

/// Number k of eight states into lane array k.
fn spread(from: &[f64], n: usize, state: impl Fn(usize) -> usize, to: &mut [Lane]) {
    for lane in 0..LANES {
        let start = state(lane) * n;
        for (to, x) in to.iter_mut().zip(&from[start..start + n]) {
            to[lane] = *x;
        }
    }
}
