//! What a block does at an answer, and its law differentiated there: P dw + Q dλ = E dn, with n the numbers of the law.

use crate::law::disks::Disk;
use crate::law::smoothed::{Point, Smoothed, Want};
use crate::law::{Law, MOST_NUMBERS};
use crate::math::Few;

/// A block nearer than this share of the problem's velocities to another mode counts as on the edge.
const EDGE: f64 = 1e-6;
/// Step of the central difference of a smoothed law by one of its numbers, as a share of the largest.
const NUDGE: f64 = 1e-6;

/// What a block does at an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Carries nothing and parts: dλ = 0.
    Open,
    /// Is held: dw = 0.
    Held,
    /// Slides, or pushes as hard as it may.
    Slips,
    /// Rows of its own, or disks, not all in one mode.
    Mixed,
}

/// Impulse and velocity of a block, the diagonal of its rows, and the size of the problem's velocities.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtBlock<'a> {
    pub(super) lambda: &'a [f64],
    pub(super) w: &'a [f64],
    /// D_kk, row by row.
    pub(super) diagonal: &'a [f64],
    pub(super) scale: f64,
}

/// What one block does, whether it is on an edge, and its differentiated law; none where dλ = 0 whatever changes.
#[derive(Clone, Debug)]
pub(super) struct Differentiated {
    pub(super) mode: Mode,
    pub(super) degenerate: bool,
    pub(super) linear: Option<Linear>,
}

impl Differentiated {
    /// Differentiates a law at an answer; `None` for one that is not.
    pub(super) fn new(law: &Law, at: AtBlock<'_>) -> Option<Differentiated> {
        if has_corners(law) {
            return None;
        }
        if law.is_contact() {
            // d y ≤ 0 of the normal: a contact that parts needs no more than this.
            let d = at.mean(0..law.spin_rows(at.lambda.len()).start);
            let y = d * at.lambda[0] - at.w[0];
            if y <= 0.0 {
                return Some(Differentiated {
                    mode: Mode::Open,
                    degenerate: -y <= EDGE * at.scale,
                    linear: None,
                });
            }
        }
        let linear = Linear::new(law, at);
        Some(Differentiated {
            mode: linear.mode,
            degenerate: linear.degenerate,
            linear: (linear.mode != Mode::Open).then_some(linear),
        })
    }

    /// The same of the smoothed law, of which every block feels something.
    pub(super) fn smoothed(law: &Law, at: AtBlock<'_>, tau: f64) -> Differentiated {
        let linear = Linear::smoothed(law, at, tau);
        Differentiated {
            mode: linear.mode,
            degenerate: linear.degenerate,
            linear: Some(linear),
        }
    }
}

/// Whether friction has facets, which are not differentiated.
fn has_corners(law: &Law) -> bool {
    matches!(law, Law::FrictionFacets { mu, .. } if 0.0 < *mu)
}

impl AtBlock<'_> {
    /// The mean diagonal of some rows, which turns an impulse into a velocity.
    fn mean(&self, rows: std::ops::Range<usize>) -> f64 {
        let (n, count) = (self.lambda.len(), rows.len().max(1) as f64);
        let d = rows.map(|i| self.diagonal[i * (n + 1)]).sum::<f64>() / count;
        if 0.0 < d && d.is_finite() { d } else { 1.0 }
    }
}

/// The differentiated law of one block, in units of velocity.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    mode: Mode,
    degenerate: bool,
    /// Row by row.
    pub(super) p: Square,
    pub(super) q: Square,
    /// Row by row, one column for each number of the law.
    pub(super) e: Numbers,
    /// What turns the impulse of each row into a velocity: the mean diagonal of rows of one unit.
    pub(super) d: Few<f64, 3>,
}

/// A matrix of the rows of a block; that of a contact needs no memory of its own.
type Square = Few<f64, 9>;
/// A row of numbers for each row of a block.
type Numbers = Few<f64, { 3 * MOST_NUMBERS }>;

impl Linear {
    /// Differentiates a law without corners at an answer.
    fn new(law: &Law, at: AtBlock<'_>) -> Linear {
        let mut linear = Linear::empty(law, at);
        match *law {
            Law::Equality => (0..at.lambda.len()).for_each(|i| linear.hold(i)),
            Law::Unilateral => linear.bounds((0.0, f64::INFINITY), at),
            Law::Interval { lo, hi } => linear.bounds((lo, hi), at),
            law => linear.contact(&law, at),
        }
        linear
    }

    /// The law smoothed by δ = V τ/d, differentiated: f(λ, w, n) = 0 gives ∂f/∂w dw + ∂f/∂λ dλ = −∂f/∂n dn.
    fn smoothed(law: &Law, at: AtBlock<'_>, tau: f64) -> Linear {
        let mut linear = match has_corners(law) {
            true => Linear::empty(law, at),
            false => Linear::new(law, at),
        };
        let n = at.lambda.len();
        let spins = law.spin_rows(n);
        let d = linear.d[0];
        let length = linear.d.get(spins.start).map_or(1.0, |s| (d / s).sqrt());
        let point = Point {
            lambda: at.lambda,
            w: at.w,
            rho: 1.0 / d,
            delta: at.scale * tau / d,
            length,
        };
        let mut smoothed = Smoothed::default();
        smoothed.evaluate(law, point, Want::Derivative);
        let velocity = |x: &f64| d * x;
        linear.p = smoothed.by_w.iter().map(velocity).collect();
        linear.q = smoothed.by_lambda.iter().map(velocity).collect();
        linear.e.fill(0.0);
        let numbers = law.numbers();
        // Numbers are nudged by a share of the largest; where all are zero, by one of 1, or of δ for bounds.
        let finite = numbers.iter().filter(|x| x.is_finite());
        let size = match finite.fold(0.0, |m: f64, x| m.max(x.abs())) {
            0.0 if law.is_contact() => 1.0,
            0.0 => point.delta,
            largest => largest,
        };
        let nudge = NUDGE * size;
        for (k, number) in numbers.into_iter().enumerate() {
            if !number.is_finite() {
                continue;
            }
            let mut f = |by: f64| {
                let mut moved = numbers;
                moved[k] += by;
                smoothed.evaluate(&law.with_numbers(moved), point, Want::Value);
                smoothed.f.clone()
            };
            // Coefficients of friction are not negative.
            let below = if law.is_contact() {
                nudge.min(number)
            } else {
                nudge
            };
            let (plus, minus) = (f(nudge), f(-below));
            for i in 0..n {
                linear.e[i * MOST_NUMBERS + k] = -d * (plus[i] - minus[i]) / (nudge + below);
            }
        }
        linear
    }

    fn empty(law: &Law, at: AtBlock<'_>) -> Linear {
        let n = at.lambda.len();
        let spins = law.spin_rows(n);
        let mut d = Few::of(at.mean(0..spins.start), n);
        if !spins.is_empty() {
            d[spins.clone()].fill(at.mean(spins));
        }
        Linear {
            mode: Mode::Held,
            degenerate: false,
            p: Few::of(0.0, n * n),
            q: Few::of(0.0, n * n),
            e: Few::of(0.0, n * MOST_NUMBERS),
            d,
        }
    }

    /// dw_i = 0.
    fn hold(&mut self, i: usize) {
        self.p[i * self.d.len() + i] = 1.0;
    }

    /// dλ_i = 0.
    fn let_go(&mut self, i: usize) {
        self.q[i * self.d.len() + i] = self.d[i];
    }

    /// Every row within its own bounds: y = λ − w/d lies below, between or above them.
    fn bounds(&mut self, (lo, hi): (f64, f64), at: AtBlock<'_>) {
        let n = at.lambda.len();
        let mut let_go = 0;
        for i in 0..n {
            let y = at.lambda[i] - at.w[i] / self.d[i];
            let margin = self.d[i] * (y - lo).abs().min((hi - y).abs());
            self.degenerate |= margin <= EDGE * at.scale;
            if lo < y && y < hi {
                self.hold(i);
            } else {
                // dλ = d(bound)
                self.let_go(i);
                self.e[i * MOST_NUMBERS + usize::from(hi <= y)] = self.d[i];
                let_go += 1;
            }
        }
        self.mode = match let_go {
            0 => Mode::Held,
            all if all == n && lo == 0.0 && hi == f64::INFINITY => Mode::Open,
            all if all == n => Mode::Slips,
            _ => Mode::Mixed,
        };
    }

    /// A normal and its disks.
    fn contact(&mut self, law: &Law, at: AtBlock<'_>) {
        let n = at.lambda.len();
        let y = at.lambda[0] - at.w[0] / self.d[0];
        self.degenerate |= self.d[0] * y.abs() <= EDGE * at.scale;
        if y <= 0.0 {
            (0..n).for_each(|i| self.let_go(i));
            self.mode = Mode::Open;
            return;
        }
        self.hold(0);
        let (mut slipping, mut count) = (0, 0);
        for disk in law.disks(n) {
            slipping += usize::from(self.disk(law, &disk, at));
            count += 1;
        }
        self.mode = match slipping {
            0 => Mode::Held,
            all if all == count => Mode::Slips,
            _ => Mode::Mixed,
        };
    }

    /// Rows together within Σ(λ_i/μ_i)² ≤ λ_n². Returns whether they slip.
    ///
    /// In scaled rows λ̃ = λ/μ, w̃ = μw the disk is round and of radius λ_n. With u = ỹ/|ỹ| the way friction pushes it
    /// slips by
    ///
    /// ```text
    /// along u :   uᵀdλ̃ − dλ_n = 0
    /// across u:   |w̃| dλ̃ + λ_n dw̃ = 0        over |w̃| + λ_n d̃
    /// ```
    fn disk(&mut self, law: &Law, disk: &Disk, at: AtBlock<'_>) -> bool {
        let (n, mu, start) = (at.lambda.len(), disk.mu(), disk.rows().start);
        let largest = mu.iter().copied().fold(0.0, f64::max);
        // Rows without friction carry nothing.
        let mut rows = Few::<(usize, f64), 2>::new();
        for (j, mu) in mu.iter().enumerate() {
            match 0.0 < *mu {
                true => rows.push((start + j, *mu)),
                false => self.let_go(start + j),
            }
        }
        if rows.is_empty() {
            self.begins_to_rub(law, disk, at);
            return true;
        }
        let normal = at.lambda[0];
        // What turns a scaled impulse into a scaled velocity.
        let d = rows.iter().map(|(i, mu)| mu * mu * self.d[*i]);
        let d = d.fold(0.0, f64::max);
        // ỹ = λ/μ − μ w/d̃
        let y: Few<f64, 2> = rows
            .iter()
            .map(|(i, mu)| at.lambda[*i] / mu - mu * at.w[*i] / d)
            .collect();
        let size = crate::math::dot(&y, &y).sqrt();
        let is_spin = law.spin_rows(n).contains(&start);
        let share = if is_spin { 1.0 } else { largest };
        self.degenerate |= self.d[0] * share * (size - normal).abs() <= EDGE * at.scale;
        if size < normal || size == 0.0 {
            rows.iter().for_each(|(i, _)| self.hold(*i));
            return false;
        }
        let speed = rows.iter().map(|(i, mu)| (mu * at.w[*i]).powi(2));
        let speed = speed.sum::<f64>().sqrt();
        let whole = speed + normal * d;
        // Shares of dλ̃ and dw̃ across.
        let (by_impulse, by_velocity) = (speed / whole, normal * d / whole);
        for (a, (i, mu_i)) in rows.iter().enumerate() {
            let u_i = y[a] / size;
            self.q[i * n] = -d * u_i / mu_i;
            for (b, (j, mu_j)) in rows.iter().enumerate() {
                let along = u_i * y[b] / size;
                let across = f64::from(u8::from(a == b)) - along;
                let impulse = d * (along + across * by_impulse);
                let velocity = across * by_velocity;
                self.q[i * n + j] = impulse / (mu_j * mu_i);
                self.p[i * n + j] = velocity * mu_j / mu_i;
                // dλ̃ = dλ/μ − λ dμ/μ², dw̃ = μ dw + w dμ.
                let by_mu = impulse * at.lambda[*j] / (mu_j * mu_j) - velocity * at.w[*j];
                self.e[i * MOST_NUMBERS + law.number_of_row(*j, n)] += by_mu / mu_i;
            }
        }
        true
    }

    /// Without friction λ_t = 0, and dλ_t = −λ_n w_t/|w_t| dμ. Where a disk has several numbers, this is right for all of
    /// them together: one of them alone has another slope, so that the block is on an edge.
    fn begins_to_rub(&mut self, law: &Law, disk: &Disk, at: AtBlock<'_>) {
        let speed = crate::math::norm(&at.w[disk.rows()]);
        let number = |row| law.number_of_row(row, at.w.len());
        let several = number(disk.rows().start) != number(disk.rows().end - 1);
        self.degenerate |= several;
        if 0.0 < speed {
            for i in disk.rows() {
                self.e[i * MOST_NUMBERS + number(i)] = -self.d[i] * at.lambda[0] * at.w[i] / speed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::derivative::{Change, Derivative};
    use crate::problem::{Problem, Solution};
    use crate::{Law, MassBlock};

    /// One mass of 1 kg along each row, free at these velocities.
    fn problem(law: Law, v: &[f64]) -> Problem {
        let n = v.len();
        let one: Vec<f64> = (0..n * n)
            .map(|e| f64::from(u8::from(e % (n + 1) == 0)))
            .collect();
        let mut builder = Problem::builder();
        let id = builder
            .add_mass(MassBlock::dense(one.clone()).unwrap(), v)
            .unwrap();
        builder
            .add_block(law, &[(id, &one)], &vec![0.0; n], &vec![0.0; n])
            .unwrap();
        builder.build().unwrap()
    }

    fn by_first_number(problem: &Problem, lambda: Vec<f64>) -> Vec<f64> {
        let answer = Solution::from_lambda(problem, lambda);
        let smoothed = Derivative::smoothed(problem, &answer, 1e-6).unwrap();
        let change = Change {
            law: vec![[1.0, 0.0, 0.0]],
            ..Change::default()
        };
        smoothed.forward(&change).unwrap().lambda
    }

    #[test]
    fn numbers_that_are_zero_have_smoothed_derivatives() {
        // At its lower bound an impulse follows the bound.
        let bound = problem(
            Law::Interval {
                lo: 0.0,
                hi: f64::INFINITY,
            },
            &[1.0],
        );
        let found = by_first_number(&bound, vec![0.0]);
        assert!((found[0] - 1.0).abs() < 1e-3, "{found:?}");
        // Without friction, some of it pulls against the motion: dλ_t = −λ_n w_t/|w_t| dμ.
        let smooth = problem(Law::FrictionCone { mu: 0.0 }, &[-0.5, 0.6, 0.8]);
        let found = by_first_number(&smooth, vec![0.5, 0.0, 0.0]);
        assert!(
            (found[1] + 0.3).abs() < 1e-3 && (found[2] + 0.4).abs() < 1e-3,
            "{found:?}"
        );
    }
}
