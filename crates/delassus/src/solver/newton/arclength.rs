//! Pseudo-arclength continuation of the smoothed laws in s = log τ, for paths that turn back.
//!
//! ```text
//! F(z, s) = 0, z = λ/(ρV), ⟨a, b⟩ = a·b/rows       tangent t = ±(b, 1)/√(⟨b,b⟩ + 1), b = −J⁻¹F_s
//! predictor  (z, s) += h t;   corrector  a = −J⁻¹F, ds = −(N + ⟨t_z, a⟩)/(t_s + ⟨t_z, b⟩), (z, s) += (a + b ds, ds)
//! ```
//!
//! N is the defect of the arclength. One factorisation serves both right-hand sides. The sign keeps the direction.

use super::continuation::move_by;
use super::kernel::Change;
use super::smoothed_law::{Point, Want};
use super::stage::{End, Iterate, Stage};
use crate::law::Law;

/// Smallest and largest step along the path.
const STEPS: (f64, f64) = (1e-6, 6.0);
/// Corrections of one step.
const CORRECTIONS: usize = 6;
/// Smoothing at the start.
const START: f64 = 10.0;

/// A direction along the path.
struct Tangent {
    change: Change,
    s: f64,
}

impl Stage<'_> {
    /// Follows the path from no impulses; a point is accepted where the merit is below `accept` times τ.
    pub(super) fn arclength(&mut self, rho: &[f64], accept: f64, most: usize) -> Result<(), End> {
        let start = self.kernel.count;
        let mut at = self.iterate(&vec![0.0; self.system.n_rows()]);
        let mut s = START.ln();
        self.approach(&mut at, rho, s)?;
        let (_, by_s) = self.two(&at, rho, s)?;
        let mut tangent = self.tangent(by_s, None);
        let mut h: f64 = 1.0;
        while self.kernel.count < start + most {
            match self.advance((&at, s), (&tangent, h), rho, accept)? {
                Some((next, next_s, by_s, corrections)) => {
                    tangent = self.tangent(by_s, Some(&tangent));
                    (at, s) = (next, next_s);
                    self.judge(&at.lambda)?;
                    if corrections <= 2 {
                        h = (1.7 * h).min(STEPS.1);
                    } else if 4 <= corrections {
                        h *= 0.6;
                    }
                }
                None => h *= 0.4,
            }
            if h < STEPS.0 || !(-32.0..14.0).contains(&s) {
                break;
            }
        }
        Err(End::Stuck)
    }

    /// Newton at fixed τ until the start of the path is reached.
    fn approach(&mut self, at: &mut Iterate, rho: &[f64], s: f64) -> Result<(), End> {
        let tau = s.exp();
        for _ in 0..30 {
            self.state(at);
            let merit = self.linearise(at, rho, tau);
            if merit < 1e-2 * tau {
                break;
            }
            if !self.kernel.factor(&self.system, &self.relation) {
                return Err(End::Stuck);
            }
            self.counted(self.best.0)?;
            self.kernel
                .step(&self.system, &self.b, &self.imbalance, &mut self.change);
            let mut alpha = 1.0;
            for _ in 0..8 {
                move_by(
                    &at.lambda,
                    alpha,
                    &self.change.lambda,
                    &mut self.trial.lambda,
                );
                move_by(&at.v, alpha, &self.change.v, &mut self.trial.v);
                if self.trial_merit(rho, tau) < merit {
                    break;
                }
                alpha *= 0.5;
            }
            std::mem::swap(at, &mut self.trial);
        }
        Ok(())
    }

    /// Newton's step at fixed s, and the derivative of the path by s.
    fn two(&mut self, at: &Iterate, rho: &[f64], s: f64) -> Result<(Change, Change), End> {
        let tau = s.exp();
        self.state(at);
        self.linearise(at, rho, tau);
        if !self.kernel.factor(&self.system, &self.relation) {
            return Err(End::Stuck);
        }
        self.counted(self.best.0)?;
        let mut first = Change::default();
        self.kernel
            .step(&self.system, &self.b, &self.imbalance, &mut first);
        for k in 0..self.system.blocks().len() {
            let block = self.system.blocks()[k];
            let rows = block.rows();
            if block.law == Law::Equality {
                self.b[rows].fill(0.0);
                continue;
            }
            let delta = rho[k] * self.system.scale * tau;
            let point = Point {
                lambda: &at.lambda[rows.clone()],
                w: &self.w[rows.clone()],
                rho: rho[k],
                delta,
            };
            self.smoothed.evaluate(&block.law, point, Want::Derivative);
            for (b, f) in self.b[rows].iter_mut().zip(&self.smoothed.by_log_delta) {
                *b = -f;
            }
        }
        self.trial_imbalance.fill(0.0);
        let mut second = Change::default();
        self.kernel
            .step(&self.system, &self.b, &self.trial_imbalance, &mut second);
        let finite = |change: &Change| change.lambda.iter().all(|x| x.is_finite());
        match finite(&first) && finite(&second) {
            true => Ok((first, second)),
            false => Err(End::Stuck),
        }
    }

    /// ⟨a, b⟩ of two changes of impulses.
    fn inner(&self, a: &[f64], b: &[f64], rho: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (block, rho) in self.system.blocks().iter().zip(rho) {
            let unit = rho * self.system.scale;
            let rows = block.rows();
            let part: f64 = a[rows.clone()]
                .iter()
                .zip(&b[rows])
                .map(|(a, b)| a * b)
                .sum();
            sum += part / (unit * unit);
        }
        sum / self.system.n_rows() as f64
    }

    /// The unit tangent along which τ falls at first, and the direction stays afterwards.
    fn tangent(&self, mut by_s: Change, before: Option<&Tangent>) -> Tangent {
        let rho = &self.path_rho;
        let sign = match before {
            None => -1.0,
            Some(old) if 0.0 <= self.inner(&old.change.lambda, &by_s.lambda, rho) + old.s => 1.0,
            Some(_) => -1.0,
        };
        let length = sign / (self.inner(&by_s.lambda, &by_s.lambda, rho) + 1.0).sqrt();
        by_s.lambda.iter_mut().for_each(|x| *x *= length);
        by_s.v.iter_mut().for_each(|x| *x *= length);
        Tangent {
            change: by_s,
            s: length,
        }
    }

    /// One step of the path: the new point, its derivative by s and how many corrections it took, or nothing.
    #[allow(clippy::type_complexity)]
    fn advance(
        &mut self,
        (at, s): (&Iterate, f64),
        (tangent, h): (&Tangent, f64),
        rho: &[f64],
        accept: f64,
    ) -> Result<Option<(Iterate, f64, Change, usize)>, End> {
        let mut next = at.clone();
        move_by(&at.lambda, h, &tangent.change.lambda, &mut next.lambda);
        move_by(&at.v, h, &tangent.change.v, &mut next.v);
        let predicted = next.lambda.clone();
        let predicted_s = s + h * tangent.s;
        let mut next_s = predicted_s;
        for correction in 1..=CORRECTIONS {
            let (newton, by_s) = match self.two(&next, rho, next_s) {
                Ok(two) => two,
                Err(End::Stuck) => return Ok(None),
                Err(end) => return Err(end),
            };
            let moved: Vec<f64> = next
                .lambda
                .iter()
                .zip(&predicted)
                .map(|(a, b)| a - b)
                .collect();
            let t = &tangent.change.lambda;
            let defect = self.inner(t, &moved, rho) + tangent.s * (next_s - predicted_s);
            let below = tangent.s + self.inner(t, &by_s.lambda, rho);
            let ds = -(defect + self.inner(t, &newton.lambda, rho)) / below;
            let ds = if ds.is_finite() {
                ds.clamp(-3.0, 3.0)
            } else {
                return Ok(None);
            };
            for ((x, a), b) in next.lambda.iter_mut().zip(&newton.lambda).zip(&by_s.lambda) {
                *x += a + b * ds;
            }
            for ((x, a), b) in next.v.iter_mut().zip(&newton.v).zip(&by_s.v) {
                *x += a + b * ds;
            }
            next_s += ds;
            self.trial.clone_from(&next);
            let tau = next_s.exp();
            let merit = self.trial_merit(rho, tau);
            if merit <= accept * tau {
                return Ok(Some((next, next_s, by_s, correction)));
            }
            if !merit.is_finite() || (1 < correction && 20.0 * tau < merit) {
                return Ok(None);
            }
        }
        Ok(None)
    }
}
