//! Two ways to go faster than one step at a time: Nesterov's momentum, valid with every projection, and Chebyshev's
//! three-term recurrence for equalities.

/// Nesterov's momentum with restart.
///
/// The step from y is λ⁺; then y⁺ = λ⁺ + β(λ⁺ − λ) with β = (θ − 1)/θ⁺, θ⁺ = ½(1 + (1 + 4θ²)^½). In the metric
/// of D̃ the gradient's Lipschitz constant is at most one where S ≼ D̃, so no step length is searched. The momentum
/// is dropped where it points uphill: (y − λ⁺)ᵀD̃(λ⁺ − λ) > 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nesterov {
    theta: f64,
}

impl Nesterov {
    pub(super) fn new() -> Nesterov {
        Nesterov { theta: 1.0 }
    }

    /// β for the next extrapolation, given (y − λ⁺)ᵀD̃(λ⁺ − λ).
    pub(super) fn momentum(&mut self, uphill: f64) -> f64 {
        if 0.0 < uphill {
            self.theta = 1.0;
            return 0.0;
        }
        let next = 0.5 * (1.0 + (1.0 + 4.0 * self.theta * self.theta).sqrt());
        let beta = (self.theta - 1.0) / next;
        self.theta = next;
        beta
    }
}

/// Steps of a plain iteration before the first guess, and fewest steps between two looks.
const FIRST: usize = 8;
/// A run that falls by less than this power of the promised factor has met a larger eigenvalue.
const PATIENCE: f64 = 0.8;
/// No eigenvalue of a convergent iteration is larger than this.
const LARGEST: f64 = 1.0 - 1e-12;

/// Chebyshev's recurrence λ⁺ = λ⁻ + ω(λ + γ(z − λ) − λ⁻) for a linear iteration whose matrix has its eigenvalues in
/// \[lo, hi\], where hi is found on the way: too small a guess converges all the same, only more slowly than it
/// promises, and from what is missing follows a better one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chebyshev {
    /// Whether the spectrum lies about zero, in \[−hi, hi\] (plain), or in \[0, hi\] (S ≼ D̃).
    symmetric: bool,
    hi: f64,
    omega: f64,
    /// Steps since the last restart, η there, and the step of the next look.
    steps: usize,
    start: f64,
    look: usize,
    last: f64,
}

impl Chebyshev {
    pub(super) fn new(symmetric: bool) -> Chebyshev {
        Chebyshev {
            symmetric,
            hi: 0.0,
            omega: 1.0,
            steps: 0,
            start: 0.0,
            look: FIRST,
            last: 0.0,
        }
    }

    fn lo(&self) -> f64 {
        if self.symmetric { -self.hi } else { 0.0 }
    }

    /// Half the width of the spectrum after the shift that centres it.
    fn radius(&self) -> f64 {
        (self.hi - self.lo()) / (2.0 - self.hi - self.lo())
    }

    /// (ω, γ) of the step that begins where the residual is η.
    pub(super) fn step(&mut self, eta: f64) -> (f64, f64) {
        if self.steps == self.look {
            self.look_back(eta);
        }
        if self.steps == 0 {
            self.start = eta;
        }
        let square = self.radius() * self.radius();
        self.omega = match self.steps {
            0 => 1.0,
            1 => 2.0 / (2.0 - square),
            _ => 4.0 / (4.0 - square * self.omega),
        };
        self.steps += 1;
        self.last = eta;
        (self.omega, 2.0 / (2.0 - self.hi - self.lo()))
    }

    /// Compares what was reached with what was promised, T_p(1/ρ)⁻¹ after p steps.
    fn look_back(&mut self, eta: f64) {
        let (p, radius) = (self.steps as f64, self.radius());
        let reached = eta / self.start;
        let promised = if 0.0 < radius {
            1.0 / (p * (1.0 / radius).acosh()).cosh()
        } else {
            0.0
        };
        if promised.powf(PATIENCE) < reached {
            let found = if 0.0 < radius {
                // The mode that dominates has T_p(x)/T_p(1/ρ) = what was reached.
                let x = ((reached / promised).max(1.0).acosh() / p).cosh();
                0.5 * (self.hi + self.lo() + x * (self.hi - self.lo()))
            } else {
                // Plain steps: the last ratio; its root over two steps would be safer but later looks correct it.
                eta / self.last
            };
            if self.hi < found {
                self.hi = found.min(LARGEST);
            }
            self.steps = 0;
            let radius = self.radius();
            let rate = radius / (1.0 + (1.0 - radius * radius).sqrt());
            let wanted = (3.0 / -rate.ln()).ceil();
            self.look = FIRST.max(if wanted < 1e6 {
                wanted as usize
            } else {
                1_000_000
            });
        } else {
            self.look = 2 * self.steps;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn momentum_grows_and_is_dropped_uphill() {
        let mut nesterov = Nesterov::new();
        let first = nesterov.momentum(-1.0);
        let second = nesterov.momentum(-1.0);
        assert_eq!(first, 0.0);
        assert!(0.0 < second && second < 1.0);
        assert_eq!(nesterov.momentum(1.0), 0.0);
        assert_eq!(nesterov.momentum(-1.0), first);
    }

    #[test]
    fn chebyshev_finds_the_largest_eigenvalue_of_a_diagonal_iteration() {
        // x⁺ = μx for a few μ, as one unknown each; the largest is met by the looks.
        for (symmetric, mu) in [(false, [0.2_f64, 0.9, 0.995]), (true, [-0.99, 0.5, 0.99])] {
            let mut x: [f64; 3] = [1.0; 3];
            let mut old = x;
            let mut chebyshev = Chebyshev::new(symmetric);
            let mut steps = 0;
            while 1e-12 < x[0].abs().max(x[1].abs()).max(x[2].abs()) && steps < 2000 {
                let eta = x
                    .iter()
                    .zip(mu)
                    .map(|(x, mu)| (x * (1.0 - mu)).powi(2))
                    .sum::<f64>()
                    .sqrt();
                let (omega, gamma) = chebyshev.step(eta);
                let next: [f64; 3] = std::array::from_fn(|i| {
                    old[i] + omega * (x[i] + gamma * (mu[i] * x[i] - x[i]) - old[i])
                });
                (old, x) = (x, next);
                steps += 1;
            }
            // Plain steps would need ln 1e12/(1 − 0.995) ≈ 5500 and 2750 steps.
            assert!(steps < 700, "{steps}");
            assert!((chebyshev.hi - mu[2]).abs() < 5e-3, "{}", chebyshev.hi);
        }
    }
}
