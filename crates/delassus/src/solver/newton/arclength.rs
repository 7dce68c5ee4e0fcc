//! Pseudo-arclength continuation of the smoothed laws in s = log τ, for paths that turn back.
//!
//! ```text
//! F(z, s) = 0, z = λ/(ρV), ⟨a, b⟩ = a·b/(rows min(1, τ)²)       tangent t = ±(b, 1)/√(⟨b,b⟩ + 1), b = −J⁻¹F_s
//! predictor  (z, s) += h t;   corrector  a = −J⁻¹F, ds = −(N + ⟨t_z, a⟩)/(t_s + ⟨t_z, b⟩), (z, s) += (a + b ds, ds)
//! ```
//!
//! N is the defect of the arclength. One factorisation serves both right-hand sides. The sign keeps the direction.
//!
//! The path bends where impulses change by about δ = ρVτ. Measured by τ a bend is as long at the end of the path as at its
//! start; measured by ρV it would be too short to be seen, s alone would lead, and the path be lost where s turns back.

use super::continuation::move_by;
use super::kernel::Change;
use super::stage::{End, Iterate, Stage};
use crate::law::Law;
use crate::law::smoothed::{Point, Want};

/// Smallest and largest step along the path.
const STEPS: (f64, f64) = (1e-6, 1e4);
/// Impulses are measured by the smoothing τ, between these.
const MEASURE: (f64, f64) = (1e-9, 1.0);
/// ε of hard rows over their mobility: more makes steps creep along the path, less loses digits.
const HARD: f64 = 1e-11;
/// Corrections of one step.
const CORRECTIONS: usize = 6;
/// Smoothing at the start.
const START: f64 = 10.0;
/// Logarithm of the smoothing at which the end of the path is near.
const LATE: f64 = -11.5;
/// Logarithms of the smoothing between which the path is followed.
const RANGE: std::ops::Range<f64> = -32.0..14.0;

/// A point of the path: impulses and velocities, and the logarithm of the smoothing.
#[derive(Clone, Debug)]
struct Spot {
    at: Iterate,
    s: f64,
}

/// A direction along the path.
struct Tangent {
    change: Change,
    s: f64,
    /// What ⟨a, b⟩ is multiplied by.
    weight: f64,
}

/// A spot that the corrector accepted, the derivative of the path by s there, and how many corrections it took.
struct Corrected {
    spot: Spot,
    by_s: Change,
    corrections: usize,
}

/// What one factorisation gives: Newton's step at fixed s, and the derivative of the path by s.
struct Pair {
    newton: Change,
    by_s: Change,
}

impl Stage<'_> {
    /// Follows the path from no impulses; a point is accepted where the merit is below `accept` times τ.
    pub(super) fn arclength(&mut self, rho: &[f64], accept: f64, most: usize) -> Result<(), End> {
        let base = self.softness;
        self.softness = HARD;
        self.kernel.be_careful();
        let end = self.follow_path(rho, accept, most);
        self.softness = base;
        end
    }

    /// The same, with ε and factors as they are.
    fn follow_path(&mut self, rho: &[f64], accept: f64, most: usize) -> Result<(), End> {
        let start = self.kernel.count;
        let mut spot = Spot {
            at: self.iterate(&vec![0.0; self.system.n_rows()]),
            s: START.ln(),
        };
        self.approach(&mut spot, rho)?;
        let by_s = self.two(&spot, rho)?.by_s;
        let mut tangent = self.tangent(by_s, spot.s, None, rho);
        let mut h: f64 = 1.0;
        // A path that has come near its end may take twice as long: many contacts that creep change one after the other.
        let left = |count: usize, s: f64| count < start + if s < LATE { 2 * most } else { most };
        while left(self.kernel.count, spot.s) {
            match self.advance(&spot, (&tangent, h), rho, accept)? {
                Some(next) => {
                    tangent = self.tangent(next.by_s, next.spot.s, Some(&tangent), rho);
                    spot = next.spot;
                    self.judge(&spot.at.lambda)?;
                    if next.corrections <= 2 {
                        h = (1.7 * h).min(STEPS.1);
                    } else if 4 <= next.corrections {
                        h *= 0.6;
                    }
                }
                None => h *= 0.4,
            }
            if h < STEPS.0 || !RANGE.contains(&spot.s) {
                break;
            }
        }
        Err(End::Stuck)
    }

    /// Newton at fixed τ until the start of the path is reached.
    fn approach(&mut self, spot: &mut Spot, rho: &[f64]) -> Result<(), End> {
        let tau = spot.s.exp();
        for _ in 0..30 {
            self.state(&spot.at);
            let merit = self.linearise(&spot.at, rho, tau);
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
                let (at, to) = (&spot.at, &mut self.trial);
                move_by(&at.lambda, alpha, &self.change.lambda, &mut to.lambda);
                move_by(&at.v, alpha, &self.change.v, &mut to.v);
                if self.trial_merit(rho, tau) < merit {
                    break;
                }
                alpha *= 0.5;
            }
            std::mem::swap(&mut spot.at, &mut self.trial);
        }
        Ok(())
    }

    /// Both right-hand sides at a spot: −Φ with the imbalance, and −∂Φ/∂s.
    fn two(&mut self, spot: &Spot, rho: &[f64]) -> Result<Pair, End> {
        let tau = spot.s.exp();
        self.state(&spot.at);
        self.linearise(&spot.at, rho, tau);
        if !self.kernel.factor(&self.system, &self.relation) {
            return Err(End::Stuck);
        }
        self.counted(self.best.0)?;
        let (mut newton, mut by_s) = (Change::default(), Change::default());
        self.kernel
            .step(&self.system, &self.b, &self.imbalance, &mut newton);
        for k in 0..self.system.blocks().len() {
            let block = self.system.blocks()[k];
            let rows = block.rows();
            if block.law == Law::Equality {
                self.b[rows].fill(0.0);
                continue;
            }
            let point = Point {
                lambda: &spot.at.lambda[rows.clone()],
                w: &self.w[rows.clone()],
                rho: rho[k],
                delta: rho[k] * self.system.scale * tau,
                length: self.system.length_of(&block),
            };
            self.smoothed.evaluate(&block.law, point, Want::Derivative);
            for (b, f) in self.b[rows].iter_mut().zip(&self.smoothed.by_log_delta) {
                *b = -f;
            }
        }
        self.trial_imbalance.fill(0.0);
        self.kernel
            .step(&self.system, &self.b, &self.trial_imbalance, &mut by_s);
        let finite = |change: &Change| change.lambda.iter().all(|x| x.is_finite());
        match finite(&newton) && finite(&by_s) {
            true => Ok(Pair { newton, by_s }),
            false => Err(End::Stuck),
        }
    }

    /// a·b/rows of two changes of impulses.
    fn inner(&self, a: &[f64], b: &[f64], rho: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (block, rho) in self.system.blocks().iter().zip(rho) {
            let unit = rho * self.system.scale;
            let terms = a[block.rows()].iter().zip(&b[block.rows()]);
            sum += terms.map(|(a, b)| a * b).sum::<f64>() / (unit * unit);
        }
        sum / self.system.n_rows() as f64
    }

    /// The unit tangent: τ falls at first, and the direction stays afterwards.
    fn tangent(&self, mut by_s: Change, s: f64, before: Option<&Tangent>, rho: &[f64]) -> Tangent {
        let inner = |a: &Change| self.inner(&a.lambda, &by_s.lambda, rho);
        let sign = match before {
            Some(old) if 0.0 <= old.weight * inner(&old.change) + old.s => 1.0,
            _ => -1.0,
        };
        let weight = s.exp().clamp(MEASURE.0, MEASURE.1).powi(-2);
        let length = sign / (weight * inner(&by_s) + 1.0).sqrt();
        by_s.lambda.iter_mut().for_each(|x| *x *= length);
        by_s.v.iter_mut().for_each(|x| *x *= length);
        Tangent {
            change: by_s,
            s: length,
            weight,
        }
    }

    /// One step of length h along the path, or nothing where the corrector does not get there.
    fn advance(
        &mut self,
        from: &Spot,
        (tangent, h): (&Tangent, f64),
        rho: &[f64],
        accept: f64,
    ) -> Result<Option<Corrected>, End> {
        let mut next = from.clone();
        let (at, t) = (&from.at, &tangent.change);
        move_by(&at.lambda, h, &t.lambda, &mut next.at.lambda);
        move_by(&at.v, h, &t.v, &mut next.at.v);
        next.s += h * tangent.s;
        let predicted = next.clone();
        for corrections in 1..=CORRECTIONS {
            let Pair { newton, by_s } = match self.two(&next, rho) {
                Ok(two) => two,
                Err(End::Stuck) => return Ok(None),
                Err(end) => return Err(end),
            };
            // ds = −(N + ⟨t_z, a⟩)/(t_s + ⟨t_z, b⟩)
            let moved = next.at.lambda.iter().zip(&predicted.at.lambda);
            let moved: Vec<f64> = moved.map(|(a, b)| a - b).collect();
            let inner = |a: &[f64]| tangent.weight * self.inner(&t.lambda, a, rho);
            let defect = inner(&moved) + tangent.s * (next.s - predicted.s);
            let ds = -(defect + inner(&newton.lambda)) / (tangent.s + inner(&by_s.lambda));
            if !ds.is_finite() {
                return Ok(None);
            }
            let ds = ds.clamp(-3.0, 3.0);
            add(&mut next.at.lambda, &newton.lambda, ds, &by_s.lambda);
            add(&mut next.at.v, &newton.v, ds, &by_s.v);
            next.s += ds;
            self.trial.clone_from(&next.at);
            let tau = next.s.exp();
            let merit = self.trial_merit(rho, tau);
            if merit <= accept * tau {
                return Ok(Some(Corrected {
                    spot: next,
                    by_s,
                    corrections,
                }));
            }
            if !merit.is_finite() || (1 < corrections && 20.0 * tau < merit) {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

/// x ← x + a + b·ds.
fn add(x: &mut [f64], a: &[f64], ds: f64, b: &[f64]) {
    for ((x, a), b) in x.iter_mut().zip(a).zip(b) {
        *x += a + b * ds;
    }
}
