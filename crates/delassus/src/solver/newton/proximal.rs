//! Proximal points: the problem with springs between its impulses and where they were, solved again and again.
//!
//! ```text
//! w_R(λ) = w(λ) + R(λ − λ_c) ,   R_k = s/ρ_k        λ_c ← the λ that obeys the laws with w_R
//! s falls while answers come and grows where none does
//! near the end:   λ_c ← λ_c + t (λ − λ_c) ,   the largest t ≥ 1 at which the residual is no larger than at λ
//! ```
//!
//! The springs let redundant contacts share their load and bring loads that are far apart closer together, so that the
//! other methods find the answer of the softened problem where they lose that of the hard one. At λ = λ_c the springs
//! are without force: what the centres converge to is an answer of the problem itself.

use super::continuation::{Course, move_by};
use super::stage::{End, Stage};
use super::system::System;
use crate::law::Law;
use crate::solver::{Status, Stop};

/// Softness s at the start and at least.
const SOFT: f64 = 0.1;
const LEAST: f64 = 1e-13;
/// Most springs tried, and how many of them may fail.
const MOST: usize = 40;
const FAILURES: usize = 5;
/// Factorisations for one set of springs.
const EACH: usize = 80;
/// The same near an answer: softness at the start, failures, factorisations, and the share of the residual to which a
/// softened problem is answered.
const NEARBY: f64 = 1e-4;
const FAILURES_NEARBY: usize = 8;
const EACH_NEARBY: usize = 40;
const DIGITS: f64 = 1e-2;
/// Points tried in the direction of an answer, and the residual there over that of the answer.
const FOLLOWED: usize = 24;
const SAME: f64 = 1.01;
/// Whole steps on the laws themselves from the centre, and the share of its residual that each may leave.
const WHOLE: usize = 12;
const FALLS: f64 = 0.95;
/// Relative residual from which on the finishing methods are tried.
const NEAR: f64 = 1e-2;

impl Stage<'_> {
    /// Follows softened problems from no impulses, ρ being that of the loads; `most` factorisations.
    pub(super) fn proximal(&mut self, loads: &[f64], share: f64, most: usize) -> Result<(), End> {
        let rho = self.load_aware(loads, share);
        let mut centre = vec![0.0; self.system.n_rows()];
        let (mut soft, mut outer, mut failures) = (SOFT, self.system.scale, 0);
        let limit = self.history.len() + most;
        for _ in 0..MOST {
            if limit < self.history.len() || FAILURES < failures {
                break;
            }
            let before = self.history.len();
            let stop = self.stop_inside(outer, EACH);
            match self.with_springs(soft, &rho, &centre, stop)? {
                Some(found) => {
                    centre = found;
                    outer = self.judge(&centre)?;
                    let spent = self.history.len() - before;
                    let relative = outer / self.system.scale;
                    if relative < NEAR {
                        self.finish(&centre, relative)?;
                    }
                    // Springs that were answered at once were too strong.
                    let factor = if spent < 6 { 0.1 } else { 0.3 };
                    soft = (factor * soft).max(LEAST);
                }
                None => {
                    soft *= 5.0;
                    failures += 1;
                }
            }
        }
        Err(End::Stuck)
    }

    /// The same from the best impulses so far, with springs just strong enough that each answer takes a few factorisations:
    /// where hundreds of contacts depend on each other and their w cannot all vanish at once, loads have to move a long
    /// way, contact after contact, before any residual falls, and no method that asks for a smaller one at each step gets
    /// there.
    pub(super) fn recentre(&mut self, most: usize) -> Result<(), End> {
        let mut centre = self.best.1.clone();
        let (mut soft, mut outer, mut failures) = (NEARBY, self.best.0, 0);
        let limit = self.history.len() + most;
        // A residual that is no number is no measure: any impulses would answer, none of them at the cost of a factorisation.
        if !outer.is_finite() {
            return Err(End::Stuck);
        }
        // An answer may cost no factorisation, so that rounds are counted too.
        for _ in 0..most {
            if limit <= self.history.len() || FAILURES_NEARBY <= failures {
                break;
            }
            let rho = self.load_aware(&self.loads(&centre), 1e-3);
            let before = self.history.len();
            let stop = Stop {
                tolerance: (DIGITS * outer).max(1e-3 * self.tolerance()),
                ..self.stop_inside(outer, EACH_NEARBY)
            };
            let found = self.with_springs(soft, &rho, &centre, stop)?;
            let spent = self.history.len() - before;
            let Some(found) = found else {
                (soft, failures) = (5.0 * soft, failures + 1);
                continue;
            };
            outer = self.follow(&mut centre, found)?;
            soft *= match spent {
                0..6 => 0.5,
                6..16 => 1.0,
                _ => 2.0,
            };
        }
        Err(End::Stuck)
    }

    /// Moves the centre to an answer and on in the same direction, as far as the residual does not grow; gives it.
    fn follow(&mut self, centre: &mut Vec<f64>, found: Vec<f64>) -> Result<f64, End> {
        let direction: Vec<f64> = found.iter().zip(&*centre).map(|(a, b)| a - b).collect();
        let first = self.judge(&found)?;
        let (mut at, mut residual, mut point) = (found, first, vec![0.0; centre.len()]);
        let (mut reached, mut beyond, mut t) = (1.0, f64::INFINITY, 2.0);
        for _ in 0..FOLLOWED {
            move_by(centre, t, &direction, &mut point);
            let own = self.judge(&point)?;
            if own <= SAME * first {
                (reached, residual) = (t, own);
                std::mem::swap(&mut at, &mut point);
            } else {
                beyond = t;
            }
            if beyond < 1.1 * reached {
                break;
            }
            t = match beyond.is_finite() {
                true => 0.5 * (reached + beyond),
                false => 4.0 * t,
            };
        }
        *centre = at;
        Ok(residual)
    }

    /// The answer with springs R = s/ρ about the centre, or nothing where none is found.
    fn with_springs(
        &mut self,
        soft: f64,
        rho: &[f64],
        centre: &[f64],
        stop: Stop,
    ) -> Result<Option<Vec<f64>>, End> {
        let mut springs = vec![0.0; centre.len()];
        for (block, rho) in self.system.blocks().iter().zip(rho) {
            if block.law != Law::Equality {
                for row in block.rows() {
                    springs[row] = soft / (rho * self.system.length(row).powi(2));
                }
            }
        }
        let problem = self.system.problem.softened(&springs, centre);
        let kernel = std::mem::take(&mut self.kernel);
        let mut inner = Stage::new(System::new(&problem), kernel, stop, self.begin);
        // ε less than the springs: more would answer a softer problem than this one, step by step.
        inner.softness = inner.softness.min(1e-2 * soft);
        let end = inner.answer(centre);
        self.kernel = std::mem::take(&mut inner.kernel);
        let (spent, found) = (inner.history.len(), std::mem::take(&mut inner.best.1));
        for _ in 0..spent {
            self.counted(self.best.0)?;
        }
        Ok(matches!(end, Err(End::Run(Status::Solved))).then_some(found))
    }

    /// Answers a softened problem: from the centre by continuation, then from inside.
    fn answer(&mut self, centre: &[f64]) -> Result<(), End> {
        if centre.iter().any(|x| *x != 0.0) {
            let end = self.semismooth_while(centre, WHOLE, FALLS);
            if let Err(End::Run(_)) = end {
                return end;
            }
            let course = Course {
                most: 20,
                ..Course::WARM
            };
            let end = self.resume(centre, course);
            if let Err(End::Run(_)) = end {
                return end;
            }
        } else {
            self.judge(centre)?;
        }
        let loads = self.soft_loads()?;
        if self.has_interior() {
            return self.interior(&loads);
        }
        let rho = self.load_aware(&loads, 0.1);
        let none = self.iterate(&vec![0.0; centre.len()]);
        self.continuation(none, &rho, Course::COLD)
    }
}
