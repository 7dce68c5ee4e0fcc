//! What a block does at an answer, and its law differentiated there: P dw + Q dλ = e dμ.

use crate::law::Law;

/// A block nearer than this share of the problem's velocities to another mode counts as on the edge.
const EDGE: f64 = 1e-6;

/// What a block does at an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Carries nothing and parts: dλ = 0.
    Open,
    /// Is held: dw = 0.
    Held,
    /// Slides, or pushes as hard as it may.
    Slips,
    /// Rows of its own, not all in one mode.
    Mixed,
}

/// The differentiated law of one block, in units of velocity.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) mode: Mode,
    pub(super) degenerate: bool,
    /// Row by row.
    pub(super) p: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) e: Vec<f64>,
    /// The mean diagonal of the block, which turns impulses into velocities.
    pub(super) d: f64,
}

impl Linear {
    /// Differentiates a law at (λ, w); `None` for one that is not. `diagonal` is D_kk, `scale` the size of velocities.
    pub(super) fn new(
        law: &Law,
        lambda: &[f64],
        w: &[f64],
        (diagonal, scale): (&[f64], f64),
    ) -> Option<Linear> {
        let n = lambda.len();
        let d = diagonal.iter().step_by(n + 1).sum::<f64>() / n as f64;
        let mut linear = Linear {
            mode: Mode::Held,
            degenerate: false,
            p: vec![0.0; n * n],
            q: vec![0.0; n * n],
            e: vec![0.0; n],
            d: if 0.0 < d && d.is_finite() { d } else { 1.0 },
        };
        match *law {
            Law::Equality => (0..n).for_each(|i| linear.hold(i)),
            Law::Unilateral => linear.bounds((0.0, f64::INFINITY), lambda, w, scale),
            Law::Interval { lo, hi } => linear.bounds((lo, hi), lambda, w, scale),
            Law::FrictionBox { mu } => linear.friction_box(mu, lambda, w, scale),
            Law::FrictionCone { mu } => linear.cone(mu, lambda, w, scale),
            _ => return None,
        }
        Some(linear)
    }

    /// dw_i = 0.
    fn hold(&mut self, i: usize) {
        self.p[i * self.e.len() + i] = 1.0;
    }

    /// dλ_i = 0.
    fn let_go(&mut self, i: usize) {
        self.q[i * self.e.len() + i] = self.d;
    }

    /// Every row within its own bounds: y = λ − w/d lies below, between or above them.
    fn bounds(&mut self, (lo, hi): (f64, f64), lambda: &[f64], w: &[f64], scale: f64) {
        let mut let_go = 0;
        for i in 0..lambda.len() {
            let y = lambda[i] - w[i] / self.d;
            self.degenerate |= self.d * (y - lo).abs().min((hi - y).abs()) <= EDGE * scale;
            if lo < y && y < hi {
                self.hold(i);
            } else {
                self.let_go(i);
                let_go += 1;
            }
        }
        self.mode = match let_go {
            0 => Mode::Held,
            all if all == lambda.len() && lo == 0.0 && hi == f64::INFINITY => Mode::Open,
            all if all == lambda.len() => Mode::Slips,
            _ => Mode::Mixed,
        };
    }

    /// The normal, and whether it is open; then all rows are.
    fn opens(&mut self, lambda: &[f64], w: &[f64], scale: f64) -> bool {
        let y = lambda[0] - w[0] / self.d;
        self.degenerate |= self.d * y.abs() <= EDGE * scale;
        if 0.0 < y {
            self.hold(0);
            return false;
        }
        (0..lambda.len()).for_each(|i| self.let_go(i));
        self.mode = Mode::Open;
        true
    }

    /// Each tangent within ±μλ_n.
    fn friction_box(&mut self, mu: f64, lambda: &[f64], w: &[f64], scale: f64) {
        if self.opens(lambda, w, scale) {
            return;
        }
        let n = lambda.len();
        let (limit, mut slipping) = (mu * lambda[0], 0);
        for i in 1..n {
            let y = lambda[i] - w[i] / self.d;
            self.degenerate |= self.d * (y.abs() - limit).abs() <= EDGE * scale;
            if y.abs() < limit {
                self.hold(i);
                continue;
            }
            // dλ_i − s μ dλ_n = s λ_n dμ with s the side it is on.
            let side = y.signum();
            self.q[i * n + i] = self.d;
            self.q[i * n] = -self.d * side * mu;
            self.e[i] = self.d * side * lambda[0];
            slipping += 1;
        }
        self.mode = match slipping {
            0 => Mode::Held,
            all if all == n - 1 => Mode::Slips,
            _ => Mode::Mixed,
        };
    }

    /// Tangents together within the disk |λ_t| ≤ μλ_n.
    fn cone(&mut self, mu: f64, lambda: &[f64], w: &[f64], scale: f64) {
        if self.opens(lambda, w, scale) {
            return;
        }
        let n = lambda.len();
        let y: Vec<f64> = (1..n).map(|i| lambda[i] - w[i] / self.d).collect();
        let (limit, size) = (mu * lambda[0], crate::math::dot(&y, &y).sqrt());
        self.degenerate |= self.d * (size - limit).abs() <= EDGE * scale;
        if size < limit || size == 0.0 {
            (1..n).for_each(|i| self.hold(i));
            return;
        }
        self.mode = Mode::Slips;
        // dᵀdλ_t − μ dλ_n = λ_n dμ with d = y_t/|y_t|, the way friction pushes.
        let push: Vec<f64> = y.iter().map(|y| y / size).collect();
        self.q[n] = -self.d * mu;
        for (i, push) in push.iter().enumerate() {
            self.q[n + 1 + i] = self.d * push;
        }
        self.e[1] = self.d * lambda[0];
        if n == 3 {
            // |w_t| eᵀdλ_t + μλ_n eᵀdw_t = 0 with e across d: friction turns with the sliding. Over |w_t| + μλ_n d.
            let across = [-push[1], push[0]];
            let speed = w[1].hypot(w[2]);
            let whole = speed + limit * self.d;
            for (i, across) in across.into_iter().enumerate() {
                self.q[2 * n + 1 + i] = self.d * across * speed / whole;
                self.p[2 * n + 1 + i] = self.d * across * limit / whole;
            }
        }
    }
}
