//! What impulses that grow without bound show: a contradiction, or a self-stress with friction.
//!
//! ```text
//! y = λ/|λ| in normals, unilateral rows and equalities, y_n ≥ 0, zero elsewhere
//! Gᵀy = 0, Σy = 0 and cᵀy < 0   ⇒   yᵀw = cᵀy < 0 for every λ, though y_n ≥ 0, w_n ≥ 0 and w_e = 0 ask for yᵀw ≥ 0
//! ```
//!
//! This is Farkas' lemma; friction does not enter, and the run ends: there is no answer. With friction in y,
//!
//! ```text
//! y ∈ K, Gᵀy = 0, Σy = 0 and cᵀy < 0
//! ```
//!
//! is a self-stress that the motion asked for feeds: λ + αy obeys the friction cones for every α ≥ 0 and moves nothing.
//! An answer may exist or not, for the theorem that promises one does not hold; Σ > 0 brings it back. Other stages are
//! tried, and where none solves, y is handed over as the ray.
//!
//! In numbers S y is never quite zero, and yᵀw = cᵀy + (S y)ᵀλ. What is claimed is that there is no answer whose
//! impulses are at most ten million times those that stop the fastest row, λ_k ≤ 1e7 |c|/D_kk:
//!
//! ```text
//! Σ |(S y)_i| · 1e7 |c|/D_ii  <  −cᵀy
//! ```
//!
//! A mass that hardly resists one motion makes S y small though Gᵀy is not. But yᵀw = (Gᵀy)ᵀv + yᵀΣλ − qᵀy, so that no
//! velocity up to a thousand times the fastest may make up for qᵀy either:
//!
//! ```text
//! Σ |(Gᵀy)_j| · 1000 max(|v¹|, |c|)  <  qᵀy
//! ```

use super::stage::{End, Stage};
use crate::law::Law;
use crate::math::{max_abs, norm};
use crate::problem::{Block, Form, Primal};
use crate::solver::Status;

/// Impulses so many times what stops the fastest row are suspect.
const HUGE: f64 = 1e6;
/// Share of its size that y may be outside the cones.
const ZERO: f64 = 1e-8;
/// Share of its terms that cᵀy must be below zero.
const BELOW: f64 = 1e-6;
/// Impulses up to so many times what stops the fastest row are ruled out by a proof.
const RULED_OUT: f64 = 1e7;
/// Velocities up to so many times the fastest are ruled out too.
const FAST: f64 = 1e3;

impl Stage<'_> {
    /// Ends the run with a proof where the impulses show one, and keeps a self-stress.
    pub(super) fn look_for_contradiction(&mut self, lambda: &[f64]) -> Result<(), End> {
        let scale = self.system.scale;
        let blocks = self.system.blocks().iter().zip(&self.system.mobility);
        let suspect = blocks.map(|(block, d)| norm(&lambda[block.rows()]) * d);
        if suspect.fold(0.0, f64::max) < HUGE * scale {
            return Ok(());
        }
        let (mut normal, mut whole) = (vec![0.0; lambda.len()], vec![0.0; lambda.len()]);
        for block in self.system.blocks() {
            let rows = block.rows();
            match block.law {
                Law::Unilateral => rows.for_each(|row| normal[row] = lambda[row].max(0.0)),
                Law::Interval { .. } => continue,
                Law::Equality => normal[rows.clone()].copy_from_slice(&lambda[rows]),
                _ => normal[block.start] = lambda[block.start].max(0.0),
            }
            whole[block.rows()].copy_from_slice(&lambda[block.rows()]);
        }
        if let Some(y) = unit(normal).filter(|y| self.contradicts(y)) {
            self.proof = Some(y);
            return Err(End::Run(Status::Ray));
        }
        if let Some(y) = unit(whole).filter(|y| self.may_grow(y) && self.contradicts(y)) {
            self.self_stress = Some(y);
        }
        Ok(())
    }

    /// y ∈ K: with w = 0 the natural map is the distance from it.
    fn may_grow(&self, y: &[f64]) -> bool {
        let admits = |block: &Block| {
            let (still, ones) = (vec![0.0; block.n_rows], vec![1.0; block.n_rows]);
            let law = match block.law {
                Law::Interval { .. } => return true,
                law => law,
            };
            law.fault(&y[block.rows()], &still, &ones).natural <= ZERO
        };
        self.system.blocks().iter().all(admits)
    }

    /// cᵀy < 0, beyond rounding and beyond what S y could make up for.
    fn contradicts(&mut self, y: &[f64]) -> bool {
        let problem = self.system.problem;
        // S y = w(y) − w(0)
        let mut v = vec![0.0; problem.n_velocities()];
        let mut w = vec![0.0; y.len()];
        problem.velocity(y, &mut v);
        problem.row_velocity(&v, y, &mut w);
        let mut made_up = 0.0;
        for (block, d) in self.system.blocks().iter().zip(&self.system.mobility) {
            let impulse = RULED_OUT * self.system.scale / d;
            for row in block.rows() {
                made_up += (w[row] - problem.c()[row]).abs() * impulse;
            }
        }
        if let Form::Primal(primal) = problem.form()
            && !self.fed(primal, y)
        {
            return false;
        }
        let terms = problem.c().iter().zip(y).map(|(c, y)| c * y);
        let size: f64 = terms.clone().map(f64::abs).sum();
        terms.sum::<f64>() < -(BELOW * size).max(made_up)
    }

    /// Whether qᵀy is more than (Gᵀy)ᵀv of any velocity that counts.
    fn fed(&self, primal: &Primal, y: &[f64]) -> bool {
        let mut impulse = vec![0.0; self.system.problem.n_velocities()];
        for (k, block) in self.system.blocks().iter().enumerate() {
            primal.add_block_impulse(k, &y[block.rows()], &mut impulse);
        }
        let left: f64 = impulse.iter().map(|f| f.abs()).sum();
        let fastest = FAST * max_abs(primal.free_velocity()).max(self.system.scale);
        let asked = primal.q().iter().zip(y).map(|(q, y)| q * y);
        left * fastest < asked.sum()
    }
}

/// y with its largest entry of size one, where it has a size.
fn unit(mut y: Vec<f64>) -> Option<Vec<f64>> {
    let largest = max_abs(&y);
    y.iter_mut().for_each(|y| *y /= largest);
    (0.0 < largest && largest.is_finite()).then_some(y)
}
