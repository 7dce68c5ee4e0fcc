//! Stabilisation of constraints as a choice of compliance Σ and wanted velocity q for each row.
//!
//! One family: q = −(e/h) g + υ G v_k + w⁰, Σ as given. Sources: [GS11 (2)], [GS13 (17), (21)], \[Chain\].
//!
//! How this differs from the sources: (1) the factor of G v_k is Υ, not 4Υ/h, which would amplify the velocity
//! at every step (errata GS13-17); (2) damping τ must be positive when the compliance is zero: at τ = 0 the
//! drift has a defective double eigenvalue −1 and grows; (3) contacts use the rules of [`contact`], because
//! Υ G v_k would let an approaching contact keep Υ of its speed.

/// How one holonomic row is kept from drifting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stabilise {
    /// SPOOK: compliance ε \[m/N\] and damping time τ \[s\]; critically damped at τ = 2h.   [GS11 (2)]
    Spook {
        /// Compliance ε ≥ 0 \[m/N\].
        compliance: f64,
        /// Damping time τ \[s\].
        damping: f64,
    },
    /// Baumgarte's correction at rate β; monotone for βh ≤ 1, stable below 2.   \[Chain\]
    Baumgarte {
        /// Rate β \[1/s\].
        rate: f64,
    },
    /// An implicit spring and damper.
    Spring {
        /// Stiffness k \[N/m\].
        stiffness: f64,
        /// Damping c \[N s/m\].
        damping: f64,
    },
    /// The velocity alone: nonholonomic rows, Υ = 0.
    Velocity,
}

/// Coefficients of one row for one step size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// Share e of the violation removed per step.
    pub e: f64,
    /// Share υ of the old row velocity kept.
    pub upsilon: f64,
    /// Compliance Σ \[1/kg\].
    pub sigma: f64,
}

/// What a row asks for in one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowTerms {
    /// Compliance Σ \[1/kg\].
    pub sigma: f64,
    /// Wanted velocity q \[m/s\].
    pub q: f64,
}

impl Stabilise {
    /// The row's coefficients for a step of h seconds.
    pub fn coefficients(&self, h: f64) -> Coefficients {
        match *self {
            Stabilise::Spook {
                compliance,
                damping,
            } => {
                // Υ = 1/(1 + 4τ/h), Σ = (4ε/h²)Υ, e = 4Υ   [GS11 (2)]
                let upsilon = 1.0 / (1.0 + 4.0 * damping / h);
                let sigma = 4.0 * compliance / (h * h) * upsilon;
                Coefficients {
                    e: 4.0 * upsilon,
                    upsilon,
                    sigma,
                }
            }
            Stabilise::Baumgarte { rate } => Coefficients {
                e: rate * h,
                upsilon: 0.0,
                sigma: 0.0,
            },
            Stabilise::Spring { stiffness, damping } => {
                let reach = h * stiffness + damping;
                Coefficients {
                    e: h * stiffness / reach,
                    upsilon: 0.0,
                    sigma: 1.0 / (h * reach),
                }
            }
            Stabilise::Velocity => Coefficients {
                e: 0.0,
                upsilon: 0.0,
                sigma: 0.0,
            },
        }
    }

    /// Σ and q of an equality row with violation `gap` \[m\] and row velocity `velocity` = G v_k \[m/s\].
    pub fn row(&self, h: f64, gap: f64, velocity: f64) -> RowTerms {
        let c = self.coefficients(h);
        // q = −(e/h) g + υ G v_k
        RowTerms {
            sigma: c.sigma,
            q: -c.e / h * gap + c.upsilon * velocity,
        }
    }
}

impl Coefficients {
    /// [`contact`] where the coefficients are known: they are the same for all contacts of a step.
    pub(crate) fn contact(&self, h: f64, approach: Approach, restitution: Restitution) -> RowTerms {
        let rest = if approach.gap < 0.0 {
            -self.e / h * approach.gap
        } else {
            -approach.gap / h
        };
        let closes = approach.gap <= 0.0 || approach.gap + h * approach.free_velocity < 0.0;
        // Without bounce the gap is closed: max(−g/h, 0) would stop the body where the step began, above the ground.
        let bounces = 0.0 < restitution.coefficient && approach.velocity < -restitution.threshold;
        let q = if closes && bounces {
            rest.max(-restitution.coefficient * approach.velocity)
        } else {
            rest
        };
        RowTerms {
            sigma: self.sigma,
            q,
        }
    }

    /// Spectral radius of the drift map [[1−e, υ], [−e, υ]] in (g, h G v) without compliance: the violation
    /// dies out iff it is below one.
    pub fn drift_radius(&self) -> f64 {
        // x² − (1 − e + υ)x + υ = 0
        let half = 0.5 * (1.0 - self.e + self.upsilon);
        let disc = half * half - self.upsilon;
        if disc < 0.0 {
            self.upsilon.abs().sqrt()
        } else {
            half.abs() + disc.sqrt()
        }
    }
}

/// What a contact knows about itself at the beginning of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approach {
    /// Signed gap, negative in penetration \[m\].
    pub gap: f64,
    /// Normal row velocity before the step, G v_k \[m/s\].
    pub velocity: f64,
    /// Normal row velocity without constraints, G v¹ \[m/s\].
    pub free_velocity: f64,
}

/// Restitution of a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Restitution {
    /// Coefficient e_r in [0, 1].
    pub coefficient: f64,
    /// Approach speed below which the contact does not bounce \[m/s\].
    pub threshold: f64,
}

/// Σ and q of a contact's normal row.
///
/// In penetration q = −(e/h) g; with a gap q = −g/h, which lets the contact close exactly the linearised gap.
/// A contact that is closed, or closes within the step, and approaches faster than the threshold leaves with
/// at least e_r of its approach speed.
pub fn contact(
    stabilise: &Stabilise,
    h: f64,
    approach: Approach,
    restitution: Restitution,
) -> RowTerms {
    stabilise.coefficients(h).contact(h, approach, restitution)
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: f64 = 0.01;

    #[test]
    fn spook_is_critically_damped_at_twice_the_step() {
        let spook = |tau: f64| {
            Stabilise::Spook {
                compliance: 0.0,
                damping: tau,
            }
            .coefficients(H)
        };
        // Both eigenvalues are 1/3; a double root is only known to the square root of rounding.
        assert!((spook(2.0 * H).drift_radius() - 1.0 / 3.0).abs() < 1e-7);
        // Oscillating below: modulus √Υ. Slow above: 0.745 at τ = 4h.
        let below = spook(1.0 * H);
        assert!((below.drift_radius() - below.upsilon.sqrt()).abs() < 1e-15);
        assert!((spook(4.0 * H).drift_radius() - 0.745).abs() < 1e-3);
        assert!((spook(0.0).drift_radius() - 1.0).abs() < 1e-7);
    }

    #[test]
    fn drift_dies_out_iff_the_radius_is_below_one() {
        let mut random = crate::math::Random::new(17);
        for _ in 0..2000 {
            let c = Coefficients {
                e: random.range(-0.5, 4.0),
                upsilon: random.range(-1.5, 1.5),
                sigma: 0.0,
            };
            if (c.drift_radius() - 1.0).abs() < 0.02 {
                continue;
            }
            let (mut g, mut hv) = (1.0, 0.3);
            for _ in 0..4000 {
                let next = -c.e * g + c.upsilon * hv;
                (g, hv) = (g + next, next);
                if 1e12 < f64::hypot(g, hv) {
                    break;
                }
            }
            assert_eq!(c.drift_radius() < 1.0, f64::hypot(g, hv) < 1.0, "{c:?}");
            // The same in closed form: |υ| < 1 and 0 < e < 2 + 2υ.
            let stable = c.upsilon.abs() < 1.0 && 0.0 < c.e && c.e < 2.0 + 2.0 * c.upsilon;
            assert_eq!(c.drift_radius() < 1.0, stable);
        }
    }

    #[test]
    fn compliance_sags_by_compliance_times_force_whatever_the_step() {
        // A hanging mass on one compliant row, stepped to rest: g = −ε m g₀.
        for (h, tau) in [(0.01, 0.02), (0.003, 0.02), (0.02, 0.1)] {
            let (mass, gravity, compliance) = (2.0, 9.81, 1e-3);
            let spook = Stabilise::Spook {
                compliance,
                damping: tau,
            };
            let (mut gap, mut v) = (0.0, 0.0);
            for _ in 0..20_000 {
                let RowTerms { sigma, q } = spook.row(h, gap, v);
                let free = v - h * gravity;
                let lambda = (q - free) / (1.0 / mass + sigma);
                v = free + lambda / mass;
                gap += h * v;
            }
            assert!((gap + compliance * mass * gravity).abs() < 1e-9, "{gap}");
        }
    }

    #[test]
    fn contact_closes_its_gap_exactly_and_bounces_only_when_it_closes() {
        let stabilise = Stabilise::Spook {
            compliance: 0.0,
            damping: 2.0 * H,
        };
        let bounce = Restitution {
            coefficient: 0.5,
            threshold: 0.1,
        };
        let at = |gap, velocity| Approach {
            gap,
            velocity,
            free_velocity: velocity,
        };
        let q = |gap, velocity| contact(&stabilise, H, at(gap, velocity), bounce).q;
        assert_eq!(q(0.004, -0.05), -0.4);
        assert_eq!(q(0.5, -3.0), -50.0);
        assert_eq!(q(0.004, -3.0), 1.5);
        assert_eq!(q(0.0, -0.05), 0.0);
        assert!(0.0 < q(-0.001, 0.0));
    }
}
