//! Interior point on De Saxcé's path: finds which contacts are open, stick or slide, from no start at all.
//!
//! ```text
//! rows scaled by friction, λ = D r, w̃ = D w, D = diag(1, μ₁, μ₂): cones are self-dual Lorentz cones
//! u = w̃ + e|u_t| ∈ K,   r ∈ K,   u∘r = σ·gap·e                            x∘y = (x·y, x₀y_t + y₀x_t)
//! Nesterov-Todd scaling W:  W r = W⁻¹u = ℓ ;  dr = W⁻¹(ℓ\d_c) − W⁻²du ,  du = T(dw̃ − r_p) ,  T = 1 + κ e (u_t/|u_t|)ᵀ
//! as a relation (1):  dλ + D W⁻²T D dw = D(W⁻¹(ℓ\d_c) + W⁻²T r_p)
//! ```
//!
//! Each iteration factors once and solves twice: the affine step says how far the gap may fall, the combined one takes
//! Mehrotra's correction with it. The derivative of |u_t| stays inside Newton's matrix; left out, as usual, two thirds
//! of the hard problems do not converge. The method is a poor finisher, so that at residuals of 1e-3, 1e-5, … of the
//! velocity scale the other two try to finish.
//!
//! Rows with bounds have a slack for each finite one, equalities are softened rows of the kernel.

use super::continuation::{Course, move_by};
use super::kernel::{Change, Kernel};
use super::stage::{End, Iterate, Stage};
use super::system::System;
use crate::law::Law;

/// Share of the derivative of |u_t| kept in the matrix.
const KEPT: f64 = 0.95;
/// Relative residuals at which the finishing methods are tried, each once.
const LEVELS: [f64; 4] = [1e-3, 1e-5, 1e-7, 1e-9];
/// Steps of less than a tenth that leave the gap where it is, after which it gives up.
const JAMS: usize = 8;
/// Most iterations.
const MOST: usize = 60;

/// One cone or slack: dual u, primal r, first row, dimension.
#[derive(Clone, Debug)]
struct Pair {
    row: usize,
    kind: Kind,
    /// Diagonal D.
    d: [f64; 3],
    u: [f64; 3],
    r: [f64; 3],
    du: [f64; 3],
    dr: [f64; 3],
    scaling: Scaling,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A cone of so many rows.
    Cone(usize),
    /// λ − lo ≥ 0 and hi − λ ≥ 0: r are the slacks, u their multipliers.
    Lower,
    Upper,
}

/// Nesterov-Todd scaling of one cone.
#[derive(Clone, Copy, Debug, Default)]
struct Scaling {
    /// W, W⁻¹, ℓ, W⁻² and W⁻²T.
    w: [f64; 9],
    inverse: [f64; 9],
    point: [f64; 3],
    square: [f64; 9],
    turned: [f64; 9],
    /// κ u_t/|u_t|.
    slip: [f64; 2],
}

impl Pair {
    fn dim(&self) -> usize {
        match self.kind {
            Kind::Cone(n) => n,
            _ => 1,
        }
    }

    /// Σ u_i r_i.
    fn gap(&self) -> f64 {
        dot3(&self.u, &self.r)
    }

    /// Scaling at the point.
    fn scale(&mut self) {
        let n = self.dim();
        let (u, r) = (&self.u, &self.r);
        let (du, dr) = (determinant(u).sqrt(), determinant(r).sqrt());
        let (ub, rb) = (u.map(|x| x / du), r.map(|x| x / dr));
        let g = (0.5 * (1.0 + dot3(&ub, &rb))).sqrt();
        let b = [
            (ub[0] + rb[0]) / (2.0 * g),
            (ub[1] - rb[1]) / (2.0 * g),
            (ub[2] - rb[2]) / (2.0 * g),
        ];
        let eta = (du / dr).sqrt();
        let f = 1.0 / (1.0 + b[0]);
        let w = [
            b[0],
            b[1],
            b[2],
            b[1],
            1.0 + b[1] * b[1] * f,
            b[1] * b[2] * f,
            b[2],
            b[1] * b[2] * f,
            1.0 + b[2] * b[2] * f,
        ];
        let mut inverse = w;
        for e in [1, 2, 3, 6] {
            inverse[e] = -w[e];
        }
        let scaling = &mut self.scaling;
        scaling.w = w.map(|x| eta * x);
        scaling.inverse = inverse.map(|x| x / eta);
        scaling.point = times(&scaling.w, r);
        // W⁻² = η⁻²(2 Jb bᵀJ − J)
        let jb = [b[0], -b[1], -b[2]];
        for i in 0..3 {
            for j in 0..3 {
                let diagonal = match (i == j, i) {
                    (false, _) => 0.0,
                    (true, 0) => 1.0,
                    (true, _) => -1.0,
                };
                scaling.square[3 * i + j] = (2.0 * jb[i] * jb[j] - diagonal) / (eta * eta);
            }
        }
        let slip = length(u);
        scaling.slip = match 0.0 < slip && 1 < n {
            true => [KEPT * u[1] / slip, KEPT * u[2] / slip],
            false => [0.0; 2],
        };
        scaling.turned = scaling.square;
        for i in 0..3 {
            scaling.turned[3 * i + 1] += scaling.square[3 * i] * scaling.slip[0];
            scaling.turned[3 * i + 2] += scaling.square[3 * i] * scaling.slip[1];
        }
    }

    /// du ← T(dw̃ − r_p).
    fn turn(&self, x: [f64; 3]) -> [f64; 3] {
        let s = &self.scaling.slip;
        [x[0] + s[0] * x[1] + s[1] * x[2], x[1], x[2]]
    }
}

impl Stage<'_> {
    /// Whether every law has a cone here: boxes, facets and laws with rows of spin have none.
    pub(super) fn has_interior(&self) -> bool {
        self.system.blocks().iter().all(|block| match block.law {
            Law::FrictionBox { .. } | Law::FrictionFacets { .. } => block.law.is_convex(),
            law => !law.has_spin_rows(),
        })
    }

    /// Interior point from the given loads; impulses near the answer are finished by the other methods.
    pub(super) fn interior(&mut self, loads: &[f64]) -> Result<(), End> {
        let (mut pairs, mut at) = self.inside(loads);
        if pairs.is_empty() {
            return Err(End::Stuck);
        }
        let mean = self.system.mobility.iter().sum::<f64>() / self.system.mobility.len() as f64;
        let scale = self.system.scale;
        let (mut level, mut alpha) = (0, 1.0);
        let (mut marked, mut mark) = (f64::INFINITY, 0);
        let (mut last_gap, mut before, mut jams) = (f64::INFINITY, 0.0, 0);
        for iteration in 0..=MOST {
            let residual = self.judge(&at.lambda)?;
            let relative = residual / scale;
            let gap = pairs.iter().map(Pair::gap).sum::<f64>() / pairs.len() as f64;
            if relative < 0.7 * marked {
                (marked, mark) = (relative, iteration);
            }
            jams += usize::from(alpha < 0.1 && (gap - before).abs() < 0.1 * before);
            before = gap;
            if iteration == MOST || !gap.is_finite() || alpha < 1e-9 || JAMS < jams {
                break;
            }
            let near = LEVELS[level..]
                .first()
                .is_some_and(|limit| relative <= *limit);
            // Under heavy loads the residual stays where it is while the gap falls.
            let flat = 8 <= iteration && mark + 3 <= iteration && gap < 1e-2 * last_gap;
            if near || alpha < 1e-3 || flat {
                last_gap = gap;
                while LEVELS[level..]
                    .first()
                    .is_some_and(|limit| relative <= *limit)
                {
                    level += 1;
                }
                self.finish(&at.lambda, relative)?;
            }
            self.look_for_contradiction(&at.lambda)?;
            if 10 < iteration && mark + 8 <= iteration && gap < 1e-6 * scale * scale / mean {
                break;
            }
            self.state(&at);
            pairs.iter_mut().for_each(Pair::scale);
            self.interior_relation(&pairs);
            if !self.kernel.factor(&self.system, &self.relation) {
                break;
            }
            self.counted(residual)?;
            alpha = self.aim(&mut pairs, &at, gap);
            for pair in &mut pairs {
                for i in 0..3 {
                    pair.u[i] += alpha * pair.du[i];
                    pair.r[i] += alpha * pair.dr[i];
                }
            }
            move_by(
                &at.lambda,
                alpha,
                &self.change.lambda,
                &mut self.trial.lambda,
            );
            move_by(&at.v, alpha, &self.change.v, &mut self.trial.v);
            std::mem::swap(&mut at, &mut self.trial);
        }
        Err(End::Stuck)
    }

    /// The direction of one iteration, by an affine step and a corrected one; gives the length to go along it.
    fn aim(&mut self, pairs: &mut [Pair], at: &Iterate, gap: f64) -> f64 {
        // Affine step: d_c = −ℓ∘ℓ. It is measured, not taken.
        self.direct(pairs, at, Kernel::rough_step, |pair| {
            let l = pair.scaling.point;
            let square = product(&l, &l);
            square.map(|x| -x)
        });
        let affine = (0.999 * longest(pairs)).min(1.0);
        let after: f64 = pairs
            .iter()
            .map(|pair| {
                let u = std::array::from_fn(|i| pair.u[i] + affine * pair.du[i]);
                let r = std::array::from_fn(|i| pair.r[i] + affine * pair.dr[i]);
                dot3(&u, &r)
            })
            .sum();
        let ratio = (after / pairs.len() as f64 / gap).max(1e-12);
        let sigma = 0.5 * ratio.powf((3.0 * affine * affine).max(1.0)).min(1.0);
        let sigma = if 0.9 < affine { sigma.max(1e-3) } else { sigma };
        // Combined step: d_c = −ℓ∘ℓ − (W⁻¹du)∘(W dr) + σ·gap·e.
        self.direct(pairs, at, Kernel::step, |pair| {
            let l = pair.scaling.point;
            let (square, du) = (product(&l, &l), times(&pair.scaling.inverse, &pair.du));
            let second = product(&du, &times(&pair.scaling.w, &pair.dr));
            let mut d: [f64; 3] = std::array::from_fn(|i| -square[i] - second[i]);
            d[0] += sigma * gap;
            d
        });
        ((0.9 + 0.09 * affine) * longest(pairs)).min(1.0)
    }

    /// Near the answer: semismooth steps, then a short continuation.
    pub(super) fn finish(&mut self, lambda: &[f64], relative: f64) -> Result<(), End> {
        let goes_on = |end: Result<(), End>| match end {
            Err(End::Run(status)) => Err(End::Run(status)),
            _ => Ok(()),
        };
        goes_on(self.semismooth(lambda, 4))?;
        let rho = self.load_aware(&self.loads(lambda), 1e-3);
        let course = Course {
            tau: relative.clamp(1e-12, 0.1),
            tau_most: 100.0,
            most: 25,
            patience: 1,
            accept: 1.0,
            fastest: 0.01,
            growth: 3.0,
        };
        goes_on(self.continuation(self.iterate(lambda), &rho, course))
    }

    /// A point inside all cones: u = eV, r = e·max(load, a tenth of the largest), and the impulses that belong to it.
    fn inside(&self, loads: &[f64]) -> (Vec<Pair>, Iterate) {
        let (scale, floor) = (
            self.system.scale,
            0.1 * loads.iter().copied().fold(0.0, f64::max),
        );
        let mut lambda = vec![0.0; self.system.n_rows()];
        let mut pairs = Vec::new();
        for (k, block) in self.system.blocks().iter().enumerate() {
            let load = loads[k].max(floor);
            let load = if 0.0 < load {
                load
            } else {
                scale / self.system.mobility[k]
            };
            // Rows that open fast start open, with as little impulse as keeps u·r what it is elsewhere.
            let c = |row: usize| self.system.problem.c()[row];
            let mut push = |row: usize, kind, d: [f64; 3], r: f64| {
                let apart = if kind == Kind::Upper { -c(row) } else { c(row) };
                pairs.push(Pair {
                    row,
                    kind,
                    d,
                    u: [scale.max(apart), 0.0, 0.0],
                    r: [r, 0.0, 0.0],
                    du: [0.0; 3],
                    dr: [0.0; 3],
                    scaling: Scaling::default(),
                });
            };
            let mut bounded = |lo: f64, hi: f64| {
                for row in block.rows() {
                    let value = match (lo.is_finite(), hi.is_finite()) {
                        (true, true) => 0.5 * (lo + hi),
                        (true, false) => lo + load * scale / scale.max(c(row)),
                        (false, true) => hi - load * scale / scale.max(-c(row)),
                        (false, false) => 0.0,
                    };
                    lambda[row] = value;
                    if lo == hi {
                        continue;
                    }
                    if lo.is_finite() {
                        push(row, Kind::Lower, [1.0; 3], value - lo);
                    }
                    if hi.is_finite() {
                        push(row, Kind::Upper, [1.0; 3], hi - value);
                    }
                }
            };
            match block.law {
                Law::Equality => {}
                Law::Unilateral => bounded(0.0, f64::INFINITY),
                Law::Interval { lo, hi } => bounded(lo, hi),
                Law::FrictionCone { mu }
                | Law::FrictionBox { mu }
                | Law::FrictionFacets { mu, .. } => {
                    let load = load * scale / scale.max(c(block.start));
                    lambda[block.start] = load;
                    push(block.start, Kind::Cone(block.n_rows), [1.0, mu, mu], load);
                }
                Law::EllipticCone { mu } => {
                    let load = load * scale / scale.max(c(block.start));
                    lambda[block.start] = load;
                    push(block.start, Kind::Cone(3), [1.0, mu[0], mu[1]], load);
                }
                // No interior point is made where one of these is.
                Law::RollingCone { .. }
                | Law::RollingSpinning { .. }
                | Law::TorsionalCone { .. }
                | Law::EllipsoidCone { .. } => {}
            }
        }
        let iterate = self.iterate(&lambda);
        (pairs, iterate)
    }

    /// C and B of every block at the scaled point.
    fn interior_relation(&mut self, pairs: &[Pair]) {
        self.relation.c.fill(0.0);
        self.relation.b.fill(0.0);
        let mut pairs = pairs.iter().peekable();
        for (k, block) in self.system.blocks().iter().enumerate() {
            let (n, square) = (block.n_rows, self.system.square(k));
            let (c, b) = (
                &mut self.relation.c[square.clone()],
                &mut self.relation.b[square],
            );
            for i in 0..n {
                let row = block.start + i;
                if block.law == Law::Equality {
                    c[i * n + i] = self.system.hold;
                    b[i * n + i] = 1.0;
                    continue;
                }
                let (mut slacks, mut any) = (0.0, false);
                while let Some(pair) = pairs.next_if(|pair| pair.row == row) {
                    any = true;
                    match pair.kind {
                        Kind::Cone(n) => {
                            // dλ + D W⁻²T D dw = …
                            for i in 0..n {
                                c[i * n + i] = 1.0;
                                for j in 0..n {
                                    b[i * n + j] =
                                        pair.d[i] * pair.scaling.turned[3 * i + j] * pair.d[j];
                                }
                            }
                        }
                        // Σ z/s dλ + dw = …
                        _ => slacks += pair.u[0] / pair.r[0],
                    }
                }
                if block.law.is_contact() {
                    break;
                }
                // A row without finite bounds must hold, one with equal bounds cannot move.
                (c[i * n + i], b[i * n + i]) = match (any, block.law) {
                    (true, _) => (slacks, 1.0),
                    (false, Law::Interval { lo, hi }) if lo == hi => (1.0, 0.0),
                    _ => (self.system.hold, 1.0),
                };
            }
        }
    }

    /// Solves for the direction with d_c of every pair, and takes it apart into du and dr.
    fn direct(
        &mut self,
        pairs: &mut [Pair],
        at: &Iterate,
        step: impl Fn(&mut Kernel, &System<'_>, &[f64], &[f64], &mut Change),
        aim: impl Fn(&Pair) -> [f64; 3],
    ) {
        // Right-hand sides: −w for equalities, 0 for rows that cannot move, and what the pairs say.
        for block in self.system.blocks() {
            for row in block.rows() {
                self.b[row] = match block.law {
                    Law::Interval { lo, hi } if lo == hi => lo - at.lambda[row],
                    _ => -self.w[row],
                };
            }
        }
        for pair in pairs.iter() {
            let (row, d) = (pair.row, &pair.d);
            match pair.kind {
                Kind::Cone(n) => {
                    let quotient = divide(&pair.scaling.point, &aim(pair));
                    let g = times(&pair.scaling.inverse, &quotient);
                    let turned = times(&pair.scaling.turned, &self.defect(pair));
                    for i in 0..n {
                        self.b[row + i] = d[i] * (g[i] + turned[i]);
                    }
                }
                // dw = z₁ − z₂ − w + c₁/s₁ − c₂/s₂ − (z₁/s₁ + z₂/s₂) dλ, where c = aim, a product of slack and multiplier.
                Kind::Lower => self.b[row] += pair.u[0] + aim(pair)[0] / pair.r[0],
                Kind::Upper => self.b[row] -= pair.u[0] + aim(pair)[0] / pair.r[0],
            }
        }
        step(
            &mut self.kernel,
            &self.system,
            &self.b,
            &self.imbalance,
            &mut self.change,
        );
        // dw = G dv + Σ dλ
        let mut dw = std::mem::take(&mut self.trial_w);
        self.row_velocity_change(&mut dw);
        for pair in pairs.iter_mut() {
            let row = pair.row;
            match pair.kind {
                Kind::Cone(n) => {
                    let defect = self.defect(pair);
                    let mut x = [0.0; 3];
                    for i in 0..n {
                        x[i] = pair.d[i] * dw[row + i] - defect[i];
                    }
                    let quotient = divide(&pair.scaling.point, &aim(pair));
                    let g = times(&pair.scaling.inverse, &quotient);
                    pair.du = pair.turn(x);
                    let back = times(&pair.scaling.square, &pair.du);
                    for i in 0..n {
                        pair.dr[i] = g[i] - back[i];
                    }
                }
                Kind::Lower | Kind::Upper => {
                    let target = aim(pair)[0];
                    let sign = if matches!(pair.kind, Kind::Lower) {
                        1.0
                    } else {
                        -1.0
                    };
                    pair.dr[0] = sign * self.change.lambda[row];
                    pair.du[0] = (target - pair.u[0] * pair.dr[0]) / pair.r[0];
                }
            }
        }
        self.trial_w = dw;
    }

    /// r_p = u − w̃ − e|u_t|.
    fn defect(&self, pair: &Pair) -> [f64; 3] {
        let mut out = pair.u;
        for i in 0..pair.dim() {
            out[i] -= pair.d[i] * self.w[pair.row + i];
        }
        out[0] -= length(&pair.u);
        out
    }

    /// dw ← G dv + Σ dλ, or S dλ.
    fn row_velocity_change(&self, dw: &mut [f64]) {
        match self.system.problem.form() {
            crate::problem::Form::Primal(primal) => {
                self.system.row_change(&self.change.v, dw);
                for ((dw, sigma), lambda) in
                    dw.iter_mut().zip(primal.sigma()).zip(&self.change.lambda)
                {
                    *dw += sigma * lambda;
                }
            }
            crate::problem::Form::Dual(matrix) => {
                dw.fill(0.0);
                matrix.mul_add(&self.change.lambda, dw);
            }
        }
    }
}

fn dot3(x: &[f64; 3], y: &[f64; 3]) -> f64 {
    x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
}

/// x∘y.
fn product(x: &[f64; 3], y: &[f64; 3]) -> [f64; 3] {
    [
        dot3(x, y),
        x[0] * y[1] + y[0] * x[1],
        x[0] * y[2] + y[0] * x[2],
    ]
}

/// z with x∘z = y.
fn divide(x: &[f64; 3], y: &[f64; 3]) -> [f64; 3] {
    let first = (x[0] * y[0] - x[1] * y[1] - x[2] * y[2]) / determinant(x);
    [
        first,
        (y[1] - x[1] * first) / x[0],
        (y[2] - x[2] * first) / x[0],
    ]
}

/// |x_t|.
fn length(x: &[f64; 3]) -> f64 {
    (x[1] * x[1] + x[2] * x[2]).sqrt()
}

/// x₀² − |x_t|², as a product that loses nothing.
fn determinant(x: &[f64; 3]) -> f64 {
    let t = length(x);
    (x[0] - t) * (x[0] + t)
}

fn times(m: &[f64; 9], x: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| m[3 * i] * x[0] + m[3 * i + 1] * x[1] + m[3 * i + 2] * x[2])
}

/// The longest step that keeps every pair in its cones.
fn longest(pairs: &[Pair]) -> f64 {
    let each = pairs
        .iter()
        .map(|pair| boundary(&pair.u, &pair.du).min(boundary(&pair.r, &pair.dr)));
    each.fold(
        f64::INFINITY,
        |a, b| if b < a || b.is_nan() { b } else { a },
    )
    .max(0.0)
}

/// Largest α with x + α d in the cone. The discriminant is clipped, not tested: for d inside −K it is never negative.
fn boundary(x: &[f64; 3], d: &[f64; 3]) -> f64 {
    let a = determinant(d);
    let b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2];
    let c = determinant(x);
    let root = (b * b - a * c).max(0.0).sqrt();
    match a < 0.0 || b < 0.0 {
        true if 0.0 < b => -(b + root) / a,
        true => c / (root - b),
        false => f64::INFINITY,
    }
}
