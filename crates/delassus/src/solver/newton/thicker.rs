//! Needles made thicker, and thin again little by little.
//!
//! ```text
//! I_δ = I + δ tr(I) 1 ,   δ = δ₀, δ₀/10, …, 0
//! ```
//!
//! A rod that resists turning about its own axis 10¹² times less than about the others rolls away under the least push: a
//! contact beside that axis moves 10¹² times as far in one direction as in the others, and no path of smoothed laws tells
//! sticking from sliding in all of them. With δ₀ of its moments in the way it is a problem like others. Once the rod
//! rolls, its velocities hardly depend on δ, and the answer for one δ is where the next begins.
//!
//! Where the way is lost, it begins again from a δ₀ nearer to the end. Cost: a solve for each δ₀, and some ten steps in
//! twice the digits for each δ.

use super::stage::{End, Stage};
use super::system::System;
use super::wide::MOST;
use crate::problem::mass::MassBlock;
use crate::solver::{Status, Stop};

/// tr I tr I⁻¹ from which on a body or a link is made thicker.
const NEEDLE: f64 = 1e7;
/// δ₀, one after the other.
const FIRST: [f64; 3] = [1e-4, 1e-6, 1e-8];
/// Factorisations for one of them: a quarter of what is left, but no fewer and no more than so many.
const EACH: (usize, usize) = (400, 1000);

impl Stage<'_> {
    /// From the answers of thicker bodies; nothing where none is a needle, or where there are more than twice the digits are
    /// spent on.
    pub(super) fn by_thicker(&mut self) -> Result<(), End> {
        let is_needle = |mass: &MassBlock| match mass {
            MassBlock::Rigid(body) => NEEDLE < body.thinness(),
            MassBlock::Tree(tree) => NEEDLE < tree.thinness(),
            MassBlock::Dense(_) => false,
        };
        let primal = self.system.primal();
        let large = MOST < self.system.problem.n_velocities();
        if large
            || self.is_thicker
            || !primal.is_some_and(|primal| primal.mass().iter().any(is_needle))
        {
            return Err(End::Stuck);
        }
        for delta in FIRST {
            let Some(problem) = self.system.problem.thickened(delta) else {
                break;
            };
            let most = (self.left() / 4).clamp(EACH.0, EACH.1);
            let stop = Stop {
                tolerance: self.tolerance(),
                ..self.stop_inside(self.system.scale, most)
            };
            let mut inner = Stage::new(System::new(&problem), Box::default(), stop, self.begin);
            inner.is_thicker = true;
            let end = super::stages(&mut inner, &vec![0.0; problem.n_rows()]);
            for _ in 0..inner.history.len() {
                self.counted(self.best.0)?;
            }
            if let Err(End::Run(Status::Solved | Status::RoundingFloor)) = end {
                let at = inner.iterate(&inner.best.1);
                super::next(self.thin_again(&at, delta))?;
            }
        }
        Err(End::Stuck)
    }
}
