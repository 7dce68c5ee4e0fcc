//! Semismooth Newton on the laws themselves: a few steps finish what another method has brought near.
//!
//! ```text
//! y = λ − w/D      open  y_n ≤ 0 :            dλ = −λ
//!                  stick |y_t| ≤ μ y_n :      dw + ε dλ = −w
//!                  slip, d = y_t/|y_t|, e ⟂ d, κ = μ y_n/|y_t| :
//!                        dw_n + ε dλ_n = −w_n ;   dᵀdλ_t − μ dλ_n = μ λ_n − dᵀλ_t ;
//!                        (1 − κ + κ ε/D) eᵀdλ_t + (κ/D) eᵀdw_t = −eᵀλ_t
//! ```
//!
//! This is Newton on λ = P(λ − ρw) without smoothing, with hard rows softened by ε; it is written as the derivative of
//! the smoothed law at δ = 0, whose hard rows are divided by ρ. Steps are taken whole; in coordinates in which the mass is
//! one (`white.rs`), where another look costs little, one that leaves more than there was is halved, and once more.

use super::stage::{End, Iterate, Stage};

/// Least part of a step that is tried: contacts that change in turns need half of it, and shorter ones get nowhere.
const LEAST_PART: f64 = 0.25;

impl Stage<'_> {
    /// At most so many whole steps from given impulses, while each leaves no more than this share of the residual.
    pub(super) fn semismooth_while(
        &mut self,
        lambda: &[f64],
        most: usize,
        share: f64,
    ) -> Result<(), End> {
        let residual = self.judge(lambda)?;
        self.semismooth_judged(lambda, residual, (most, share))
    }

    /// The same from impulses that were judged last.
    pub(super) fn semismooth_judged(
        &mut self,
        lambda: &[f64],
        residual: f64,
        (most, share): (usize, f64),
    ) -> Result<(), End> {
        let (rho, mut at) = self.start_at(lambda);
        let end = self.step_whole(&mut at, &rho, residual, (most, share));
        self.end_at(rho, at);
        end
    }

    /// The loop of it.
    fn step_whole(
        &mut self,
        at: &mut Iterate,
        rho: &[f64],
        first: f64,
        (most, share): (usize, f64),
    ) -> Result<(), End> {
        let mut least = f64::INFINITY;
        for step in 0..=most {
            let (mut residual, mut alpha) = match step {
                0 => (first, 1.0),
                _ => (self.judge(&at.lambda)?, 1.0),
            };
            // Contacts that open or slip in turns meet half-way. Impulses alone go back: z follows from them.
            let halves = 0 < step && self.system.white.is_some();
            while halves && least <= residual && LEAST_PART < alpha {
                alpha *= 0.5;
                let back = at.lambda.iter_mut().zip(&self.change.lambda);
                back.for_each(|(x, d)| *x -= alpha * d);
                residual = self.judge(&at.lambda)?;
            }
            if step == most || (1.0 - alpha * (1.0 - share)) * least < residual {
                break;
            }
            least = least.min(residual);
            self.state_judged(at);
            self.linearise(at, rho, 0.0);
            if !self.kernel.factor(&self.system, &self.relation) {
                break;
            }
            self.counted(residual)?;
            let (b, imbalance) = (&self.b, &self.imbalance);
            match self.system.white.is_some() {
                // z follows from the impulses that are judged.
                true => self
                    .kernel
                    .rough_step(&self.system, b, imbalance, &mut self.change),
                false => self
                    .kernel
                    .step(&self.system, b, imbalance, &mut self.change),
            }
            add(at, &self.change);
        }
        Err(End::Stuck)
    }

    /// At most so many whole steps from given impulses, which may lead away from the answer for a while.
    pub(super) fn semismooth(&mut self, lambda: &[f64], most: usize) -> Result<(), End> {
        self.semismooth_while(lambda, most, 1e3)
    }
}

fn add(at: &mut Iterate, change: &super::kernel::Change) {
    at.lambda
        .iter_mut()
        .zip(&change.lambda)
        .for_each(|(x, d)| *x += d);
    at.v.iter_mut().zip(&change.v).for_each(|(x, d)| *x += d);
}
