//! Smoothed Alart-Curnier continuation: Newton on the smoothed laws while the smoothing τ falls.
//!
//! ```text
//! Φ(λ, w; δ) = λ − P_δ(λ − ρw) ,   δ_k = ρ_k V τ                          smoothed laws, V the velocity scale
//! merit m = max( |Φ_k|/ρ_k , |M⁻¹r_d|_∞ , |w_e|_∞ ) / V
//! loop:  Newton step at fixed τ, halved until m falls;   m ≤ τ: τ falls;
//!        step short: ε grows;   still very short: τ grows, at most so often
//! ```
//!
//! The error of smoothing is O(τ²), so the last steps are quadratic. ρ is taken from the loads: ρ = 1/D alone loses
//! where masses are far apart. Hard rows carry ε = 1e-7·D, whose effect vanishes at the answer because it multiplies a
//! change. From the impulses of the step before, 4 to 6 factorisations are usual.

use super::stage::{End, Iterate, Stage};
use crate::law::Law;
use crate::law::smoothed::{ConeAt, Point, Want};
use crate::problem::Block;

/// ε of a row over its mobility: less loses digits of K, more slows the last steps.
pub(super) const SOFTNESS: f64 = 1e-7;
/// The same for equalities, over the largest mobility.
pub(super) const JOINT_SOFTNESS: f64 = 1e-8;
/// Share of the residual they began with last time below which steps without smoothing are tried again.
const BETTER: f64 = 0.5;
/// ε of rows among hundreds that depend on each other.
const SOFT: f64 = 1e-5;
/// Factors by which ε grows after a short step and falls after a whole one, and its most.
const SOFTER: f64 = 100.0;
const HARDER: f64 = 0.3;
const SOFTEST: f64 = 1e-4;
/// Smallest smoothing.
pub(super) const LEAST: f64 = 1e-14;
/// Halvings of a step.
const HALVINGS: usize = 10;

/// How a continuation goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    /// Smoothing at the start and at most.
    pub(super) tau: f64,
    pub(super) tau_most: f64,
    /// Most factorisations.
    pub(super) most: usize,
    /// Very short steps after which it gives up.
    pub(super) patience: usize,
    /// Share of τ that the merit must be below before τ falls: small keeps near the path.
    pub(super) accept: f64,
    /// Least factor by which τ falls.
    pub(super) fastest: f64,
    /// Factor by which it grows after a very short step.
    pub(super) growth: f64,
}

impl Course {
    /// From the impulses of the step before; `tau` is the least smoothing to start with.
    pub(super) const WARM: Course = Course {
        tau: 1e-10,
        tau_most: 1.0,
        most: 12,
        patience: 2,
        accept: 1.0,
        fastest: 0.01,
        growth: 30.0,
    };

    /// From the best impulses so far, near the path.
    pub(super) const PATIENT: Course = Course {
        tau: 1e-10,
        tau_most: 10.0,
        most: 150,
        patience: 20,
        accept: 0.1,
        fastest: 0.1,
        growth: 3.0,
    };

    /// Without smoothing: modes change as steps, halved until the laws themselves are met better, lead across them.
    pub(super) const BARE: Course = Course {
        tau: LEAST,
        tau_most: LEAST,
        most: 60,
        patience: 10,
        accept: 0.0,
        fastest: 0.1,
        growth: 1.0,
    };

    /// From no impulses.
    pub(super) const COLD: Course = Course {
        tau: 10.0,
        tau_most: 100.0,
        most: 35,
        patience: 2,
        accept: 1.0,
        fastest: 0.01,
        growth: 3.0,
    };
}

impl Stage<'_> {
    /// ρ_k = max(1/D_k, max(load_k, share · largest load)/V).
    pub(super) fn load_aware(&self, loads: &[f64], share: f64) -> Vec<f64> {
        let mut rho = loads.to_vec();
        self.make_load_aware(&mut rho, share);
        rho
    }

    /// The same in place of the loads.
    pub(super) fn make_load_aware(&self, loads: &mut [f64], share: f64) {
        let floor = share * loads.iter().copied().fold(0.0, f64::max);
        for (load, d) in loads.iter_mut().zip(&self.system.mobility) {
            *load = (1.0 / d).max(load.max(floor) / self.system.scale);
        }
    }

    /// |λ_k| of every block, impulses of spin over their length.
    pub(super) fn loads(&self, lambda: &[f64]) -> Vec<f64> {
        let mut loads = Vec::new();
        self.fill_loads(lambda, &mut loads);
        loads
    }

    /// The same over what was there.
    pub(super) fn fill_loads(&self, lambda: &[f64], loads: &mut Vec<f64>) {
        let row = |row: usize| lambda[row] / self.system.length(row);
        let load = |block: &Block| match self.system.length_of(block) {
            1.0 => crate::math::norm(&lambda[block.rows()]),
            _ => block.rows().map(|i| row(i) * row(i)).sum::<f64>().sqrt(),
        };
        loads.clear();
        loads.extend(self.system.blocks().iter().map(load));
    }

    /// Continuation from given impulses, at τ = √(r/V)/20 and no less than the course's. With as little smoothing as is
    /// left to correct, τ = r/V, contacts keep the modes they have, and steps get short where one has to change.
    pub(super) fn resume(&mut self, from: &[f64], course: Course) -> Result<(), End> {
        let residual = self.judge(from)?;
        let tau = 0.05 * (residual / self.system.scale).sqrt();
        let tau = tau.clamp(course.tau, course.tau_most.min(0.1));
        let (rho, mut at) = self.start_at(from);
        let end = self.continue_from(&mut at, &rho, Course { tau, ..course });
        self.end_at(rho, at);
        end
    }

    /// The laws themselves from the best impulses so far, with rows softer than usual and then as hard: where hundreds of
    /// contacts depend on each other, the path of smoothed laws ends among modes that are nearly alike, and steps along
    /// changes that move nothing must stay short. Nothing where the best is hardly better than at the last time.
    pub(super) fn settle(&mut self) -> Result<(), End> {
        if BETTER * self.settled < self.best.0 {
            return Err(End::Stuck);
        }
        self.settled = self.best.0;
        let base = self.softness;
        for softness in [SOFT, base] {
            let best = self.best.1.clone();
            self.softness = softness;
            let end = self.resume(&best, Course::BARE);
            self.softness = base;
            if let Err(End::Run(status)) = end {
                return Err(End::Run(status));
            }
        }
        Err(End::Stuck)
    }

    /// Newton on the smoothed laws from an iterate, while τ falls.
    pub(super) fn continuation(
        &mut self,
        mut at: Iterate,
        rho: &[f64],
        course: Course,
    ) -> Result<(), End> {
        self.continue_from(&mut at, rho, course)
    }

    /// The same from an iterate that is kept.
    fn continue_from(&mut self, at: &mut Iterate, rho: &[f64], course: Course) -> Result<(), End> {
        let base = self.softness;
        let end = self.continue_softly(at, rho, course);
        self.softness = base;
        end?;
        self.judge(&at.lambda)?;
        Err(End::Stuck)
    }

    /// The loop of it; ε is left as soft as it has become.
    fn continue_softly(
        &mut self,
        at: &mut Iterate,
        rho: &[f64],
        course: Course,
    ) -> Result<(), End> {
        let (mut tau, mut short) = (course.tau, 0);
        let base = self.softness;
        for _ in 0..course.most {
            let residual = self.judge(&at.lambda)?;
            self.state(at);
            let before = self.linearise(at, rho, tau);
            if !self.kernel.factor(&self.system, &self.relation) {
                return Err(End::Stuck);
            }
            self.counted(residual)?;
            self.kernel
                .step(&self.system, &self.b, &self.imbalance, &mut self.change);
            let (alpha, merit) = self.search(at, rho, (tau, before));
            if !merit.is_finite() {
                return Err(End::Stuck);
            }
            std::mem::swap(at, &mut self.trial);
            // Where redundant rows make a step much too long, softer rows make it shorter and turn it.
            let before = self.softness;
            if alpha < 0.1 {
                self.softness = (SOFTER * before).min(SOFTEST);
            } else if 0.9 < alpha {
                self.softness = (HARDER * before).max(base);
            }
            if merit <= course.accept * tau {
                tau *= if 0.9 < alpha {
                    (merit / tau).clamp(course.fastest, 0.1)
                } else {
                    0.5
                };
            } else if alpha < 0.05 && self.softness <= before {
                tau = (course.growth * tau).min(course.tau_most);
                short += 1;
                if course.patience <= short {
                    break;
                }
            }
            tau = tau.max(LEAST);
        }
        Ok(())
    }

    /// The relation and right-hand side of Newton's step at `at`, whose w and r_d are in the arrays; gives the merit.
    ///
    /// C = ∂Φ/∂λ + ε ∂Φ/∂w, B = ∂Φ/∂w, b = −Φ; an equality is C = ε, B = 1, b = −w.
    pub(super) fn linearise(&mut self, at: &Iterate, rho: &[f64], tau: f64) -> f64 {
        let scale = self.system.scale;
        let mut merit: f64 = 0.0;
        for k in 0..self.system.blocks().len() {
            let block = self.system.blocks()[k];
            let (rows, n, square) = (block.rows(), block.n_rows, self.system.square(k));
            let (c, b) = (
                &mut self.relation.c[square.clone()],
                &mut self.relation.b[square],
            );
            let w = &self.w[rows.clone()];
            let right = &mut self.b[rows.clone()];
            if block.law == Law::Equality {
                c.fill(0.0);
                b.fill(0.0);
                for i in 0..n {
                    c[i * n + i] = self.system.hold;
                    b[i * n + i] = 1.0;
                    right[i] = -w[i];
                    merit = merit.max(w[i].abs());
                }
                continue;
            }
            let point = Point {
                lambda: &at.lambda[rows],
                w,
                rho: rho[k],
                delta: rho[k] * scale * tau,
                length: self.system.length_of(&block),
            };
            // ε = 1e-7·min(D, V/|λ|): what a heavy load leaves of the mobility.
            let load = crate::math::norm(&point.lambda[..block.law.spin_rows(n).start]);
            let epsilon = self.softness * self.system.mobility[k].min(scale / load);
            if let (Law::FrictionCone { mu }, Some(c), Some(b), Some(right)) = (
                block.law,
                c.as_mut_array::<9>(),
                b.as_mut_array::<9>(),
                right.as_mut_array::<3>(),
            ) && f64::MIN_POSITIVE <= mu
            {
                let on = ConeAt::of(mu, point);
                for i in 0..9 {
                    b[i] = on.by_w[i];
                    c[i] = on.by_lambda[i] + epsilon * on.by_w[i];
                }
                *right = on.f.map(|f| -f);
                merit = merit.max(crate::math::norm(&on.f) / rho[k]);
                continue;
            }
            self.smoothed.evaluate(&block.law, point, Want::Derivative);
            let (by_lambda, by_w) = (&self.smoothed.by_lambda, &self.smoothed.by_w);
            if point.length == 1.0 {
                let each = c.iter_mut().zip(b).zip(by_lambda.iter().zip(by_w));
                for ((c, b), (by_lambda, by_w)) in each {
                    *b = *by_w;
                    *c = by_lambda + epsilon * by_w;
                }
            } else {
                b.copy_from_slice(by_w);
                c.copy_from_slice(by_lambda);
                for (c, b) in c.chunks_exact_mut(n).zip(b.chunks_exact(n)) {
                    for i in 0..n {
                        let length = self.system.length(block.start + i);
                        c[i] += epsilon / (length * length) * b[i];
                    }
                }
            }
            for (right, f) in right.iter_mut().zip(&self.smoothed.f) {
                *right = -f;
            }
            merit = merit.max(crate::math::norm(&self.smoothed.f) / rho[k]);
        }
        self.rows_free_merit(merit) / scale
    }

    /// The merit of the rows with that of the momentum in `imbalance`.
    fn rows_free_merit(&mut self, merit: f64) -> f64 {
        self.trial_imbalance.copy_from_slice(&self.imbalance);
        self.system.solve_mass(&mut self.trial_imbalance);
        merit.max(crate::math::max_abs(&self.trial_imbalance))
    }

    /// The trial point a share of the step away, halved until the merit falls; the last one is taken all the same.
    fn search(&mut self, at: &Iterate, rho: &[f64], (tau, before): (f64, f64)) -> (f64, f64) {
        let mut alpha = 1.0;
        let mut merit = f64::INFINITY;
        for halving in 0..HALVINGS {
            if 0 < halving {
                alpha *= 0.5;
            }
            move_by(
                &at.lambda,
                alpha,
                &self.change.lambda,
                &mut self.trial.lambda,
            );
            move_by(&at.v, alpha, &self.change.v, &mut self.trial.v);
            merit = self.trial_merit(rho, tau);
            if merit <= (1.0 - 1e-3 * alpha) * before {
                break;
            }
        }
        (alpha, merit)
    }

    /// The merit of the trial point.
    pub(super) fn trial_merit(&mut self, rho: &[f64], tau: f64) -> f64 {
        let trial = &self.trial;
        self.system
            .row_velocity(&trial.v, &trial.lambda, &mut self.trial_w);
        self.system.imbalance(
            &trial.v,
            &trial.lambda,
            &mut self.rows,
            &mut self.trial_imbalance,
        );
        self.merit_of_trial(rho, tau)
    }

    /// The same where its w and r_d are in the arrays.
    pub(super) fn merit_of_trial(&mut self, rho: &[f64], tau: f64) -> f64 {
        let scale = self.system.scale;
        self.system.solve_mass(&mut self.trial_imbalance);
        let mut merit = crate::math::max_abs(&self.trial_imbalance);
        for k in 0..self.system.blocks().len() {
            let block = self.system.blocks()[k];
            let rows = block.rows();
            let w = &self.trial_w[rows.clone()];
            if block.law == Law::Equality {
                merit = merit.max(crate::math::max_abs(w));
                continue;
            }
            let point = Point {
                lambda: &self.trial.lambda[rows],
                w,
                rho: rho[k],
                delta: rho[k] * scale * tau,
                length: self.system.length_of(&block),
            };
            self.smoothed.evaluate(&block.law, point, Want::Value);
            let f = crate::math::norm(&self.smoothed.f) / rho[k];
            merit = if f.is_nan() { f64::NAN } else { merit.max(f) };
            if merit.is_nan() {
                return merit;
            }
        }
        merit / scale
    }
}

/// out ← x + α d.
pub(super) fn move_by(x: &[f64], alpha: f64, d: &[f64], out: &mut [f64]) {
    for ((out, x), d) in out.iter_mut().zip(x).zip(d) {
        *out = x + alpha * d;
    }
}
