//! The laws a constraint block may obey: a closed set, each a condition between the impulse λ and the row
//! velocity w of one block.
//!
#![doc = include_str!("../../docs/laws.md")]

pub mod bounds;
pub mod cone;
pub mod disks;
pub mod facets;
pub(crate) mod lanes;
mod numbers;
mod polygon;
mod rounded;
pub(crate) mod smoothed;

use serde::{Deserialize, Serialize};

pub use numbers::MOST_NUMBERS;

use crate::error::BuildError;
use crate::index::BlockId;

/// The condition between impulse λ and row velocity w of one constraint block.
///
/// Contact laws order their rows (n, t₁, t₂); the two-row form (n, t) is friction in a plane. Laws with rolling or
/// spinning friction have more: r₁ and r₂ are relative spins about t₁ and t₂, s that about n, each times an impulse of
/// torque \[N m s\].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "name",
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "a law with its name"
)]
#[non_exhaustive]
pub enum Law {
    /// w = 0, λ free. Joints; nonholonomic rows with a prescribed velocity in q.
    Equality,
    /// 0 ≤ λ ⟂ w ≥ 0, row by row. Frictionless contact, joint limits.
    Unilateral,
    /// lo ≤ λ ≤ hi; w = 0 inside, w ≥ 0 at lo, w ≤ 0 at hi. Motors, joint friction, limits of force.
    Interval {
        /// Smallest impulse, −∞ allowed \[N s\].
        #[serde(with = "bounds::minus_infinity")]
        lo: f64,
        /// Largest impulse, +∞ allowed \[N s\].
        #[serde(with = "bounds::plus_infinity")]
        hi: f64,
    },
    /// Unilateral normal; each tangent separately within ±μλ_n.   [GS13 (36)]
    FrictionBox {
        /// Coefficient of friction.
        mu: f64,
    },
    /// Coulomb's law with the circular cone |λ_t| ≤ μλ_n: the reference law.
    FrictionCone {
        /// Coefficient of friction.
        mu: f64,
    },
    /// Coulomb's law with an elliptic cone (λ₁/μ₁)² + (λ₂/μ₂)² ≤ λ_n² and maximal dissipation.
    EllipticCone {
        /// Coefficients along t₁ and t₂.
        mu: [f64; 2],
    },
    /// Coulomb's law with a cone of d equally spaced directions, the first along t₁.   [Lemke05 (5)]
    FrictionFacets {
        /// Coefficient of friction.
        mu: f64,
        /// Number of directions, at least 3.
        directions: u32,
    },
    /// Coulomb's law with rolling friction, two disks: |λ_t| ≤ μλ_n and |λ_r| ≤ μ_r λ_n, each with maximal dissipation.
    /// Rows (n, t₁, t₂, r₁, r₂), or (n, t, r) in a plane.
    RollingCone {
        /// Coefficient of friction.
        mu: f64,
        /// Coefficient of rolling friction μ_r \[m\].
        rolling: f64,
    },
    /// The same with spinning friction besides, |λ_s| ≤ μ_s λ_n. Rows (n, t₁, t₂, r₁, r₂, s).
    RollingSpinning {
        /// Coefficient of friction.
        mu: f64,
        /// Coefficient of rolling friction μ_r \[m\].
        rolling: f64,
        /// Coefficient of spinning friction μ_s \[m\].
        spinning: f64,
    },
    /// Sliding and spinning share one ellipsoid: |λ_t|²/μ² + λ_s²/μ_s² ≤ λ_n². Rows (n, t₁, t₂, s).
    TorsionalCone {
        /// Coefficient of friction.
        mu: f64,
        /// Coefficient of spinning friction μ_s \[m\].
        spinning: f64,
    },
    /// Sliding, rolling and spinning share one ellipsoid: |λ_t|²/μ² + |λ_r|²/μ_r² + λ_s²/μ_s² ≤ λ_n². Rows
    /// (n, t₁, t₂, r₁, r₂, s).
    EllipsoidCone {
        /// Coefficient of friction.
        mu: f64,
        /// Coefficient of rolling friction μ_r \[m\].
        rolling: f64,
        /// Coefficient of spinning friction μ_s \[m\].
        spinning: f64,
    },
}

/// How far one block is from its law. All velocities in m/s, energy in joule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fault {
    /// Euclidean norm of the natural map: zero exactly where the law holds \[m/s\].
    pub natural: f64,
    /// Distance of λ to its set (over ρ) and of w below its bound, the larger \[m/s\].
    pub feasibility: f64,
    /// |λᵀŵ| \[J\].
    pub complementarity: f64,
}

impl Fault {
    /// What cannot be measured is as wrong as can be.
    pub(crate) const INFINITE: Fault = Fault {
        natural: f64::INFINITY,
        feasibility: f64::INFINITY,
        complementarity: f64::INFINITY,
    };
}

impl Law {
    /// The law's name in files and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Law::Equality => "equality",
            Law::Unilateral => "unilateral",
            Law::Interval { .. } => "interval",
            Law::FrictionBox { .. } => "friction-box",
            Law::FrictionCone { .. } => "friction-cone",
            Law::EllipticCone { .. } => "elliptic-cone",
            Law::FrictionFacets { .. } => "friction-facets",
            Law::RollingCone { .. } => "rolling-cone",
            Law::RollingSpinning { .. } => "rolling-spinning",
            Law::TorsionalCone { .. } => "torsional-cone",
            Law::EllipsoidCone { .. } => "ellipsoid-cone",
        }
    }

    /// True for contact laws, whose first rows are (n, t₁, t₂).
    pub fn is_contact(&self) -> bool {
        !matches!(self, Law::Equality | Law::Unilateral | Law::Interval { .. })
    }

    /// True where the first row opens without impulse once it moves apart: w_n > 0 and λ = 0 obey the law.
    pub(crate) fn opens(&self) -> bool {
        self.is_contact() || *self == Law::Unilateral
    }

    /// True where the law is the optimality condition of a convex set of impulses, so that the dual
    /// objective ½λᵀSλ + cᵀλ decreases along every descent method.
    pub fn is_convex(&self) -> bool {
        !self.is_contact() || self.numbers().iter().all(|mu| *mu == 0.0)
    }

    /// True for laws with rolling or spinning friction, which have rows of relative spin.
    pub fn has_spin_rows(&self) -> bool {
        matches!(
            self,
            Law::RollingCone { .. }
                | Law::RollingSpinning { .. }
                | Law::TorsionalCone { .. }
                | Law::EllipsoidCone { .. }
        )
    }

    /// Measures (λ, w) of one block against the law. `diagonal` holds the block's diagonal of S, with every
    /// entry positive; it sets the scale ρ that turns impulses into velocities.
    pub fn fault(&self, lambda: &[f64], w: &[f64], diagonal: &[f64]) -> Fault {
        match *self {
            Law::Equality => bounds::equality(lambda, w),
            Law::Unilateral => bounds::interval(lambda, w, diagonal, (0.0, f64::INFINITY)),
            Law::Interval { lo, hi } => bounds::interval(lambda, w, diagonal, (lo, hi)),
            Law::FrictionBox { mu } => bounds::friction_box(lambda, w, diagonal, mu),
            Law::FrictionCone { mu } => cone::fault(lambda, w, diagonal, mu),
            Law::EllipticCone { mu } => cone::elliptic_fault(lambda, w, diagonal, mu),
            Law::FrictionFacets { mu, directions } => {
                facets::fault(lambda, w, diagonal, (mu, directions))
            }
            Law::RollingCone { .. } | Law::RollingSpinning { .. } => {
                disks::fault(self, lambda, w, diagonal)
            }
            Law::TorsionalCone { .. } | Law::EllipsoidCone { .. } => {
                disks::ellipsoid_fault(self, lambda, w, diagonal)
            }
        }
    }

    /// [`Fault::natural`] alone.
    pub(crate) fn natural(&self, lambda: &[f64], w: &[f64], diagonal: &[f64]) -> f64 {
        match *self {
            Law::Equality => crate::math::norm(w),
            Law::Unilateral => bounds::interval_natural(lambda, w, diagonal, (0.0, f64::INFINITY)),
            Law::Interval { lo, hi } => bounds::interval_natural(lambda, w, diagonal, (lo, hi)),
            Law::FrictionCone { mu } => cone::natural(lambda, w, diagonal, mu),
            _ => self.fault(lambda, w, diagonal).natural,
        }
    }

    /// Refuses parameters out of range and row counts the law is not defined for.
    pub(crate) fn check(&self, block: BlockId, rows: usize) -> Result<(), BuildError> {
        let (fits, needs) = self.needs(rows);
        if !fits {
            return Err(BuildError::RowsOfLaw {
                block,
                rows,
                law: self.name(),
                needs,
            });
        }
        let bad = |parameter, value, needs| BuildError::BadLaw {
            block,
            parameter,
            value,
            needs,
        };
        let coefficient = |parameter, value: f64| match value.is_finite() && 0.0 <= value {
            true => Ok(()),
            false => Err(bad(parameter, value, "finite and not negative")),
        };
        match *self {
            Law::Equality | Law::Unilateral => Ok(()),
            Law::Interval { lo, .. } if lo.is_nan() || lo == f64::INFINITY => {
                Err(bad("lo", lo, "a number below +infinity"))
            }
            Law::Interval { lo, hi } if hi.is_nan() || hi == f64::NEG_INFINITY || hi < lo => {
                Err(bad("hi", hi, "a number, at least lo"))
            }
            Law::Interval { .. } => Ok(()),
            Law::FrictionFacets { directions, .. } if !(3..=1024).contains(&directions) => Err(
                bad("directions", f64::from(directions), "between 3 and 1024"),
            ),
            Law::FrictionBox { mu } | Law::FrictionCone { mu } | Law::FrictionFacets { mu, .. } => {
                coefficient("mu", mu)
            }
            Law::EllipticCone { mu: [a, b] } => {
                coefficient("mu", a).and_then(|()| coefficient("mu", b))
            }
            Law::RollingCone { mu, rolling } => {
                coefficient("mu", mu).and_then(|()| coefficient("rolling", rolling))
            }
            Law::TorsionalCone { mu, spinning } => {
                coefficient("mu", mu).and_then(|()| coefficient("spinning", spinning))
            }
            Law::RollingSpinning {
                mu,
                rolling,
                spinning,
            }
            | Law::EllipsoidCone {
                mu,
                rolling,
                spinning,
            } => coefficient("mu", mu)
                .and_then(|()| coefficient("rolling", rolling))
                .and_then(|()| coefficient("spinning", spinning)),
        }
    }

    /// Whether the law is defined for so many rows, and what it needs in words.
    fn needs(&self, rows: usize) -> (bool, &'static str) {
        match self {
            Law::Equality | Law::Unilateral | Law::Interval { .. } => {
                (1 <= rows, "at least one row")
            }
            Law::FrictionBox { .. } | Law::FrictionCone { .. } => (
                rows == 2 || rows == 3,
                "two rows (n, t) or three (n, t1, t2)",
            ),
            Law::EllipticCone { .. } | Law::FrictionFacets { .. } => {
                (rows == 3, "three rows (n, t1, t2)")
            }
            Law::RollingCone { .. } => (
                rows == 3 || rows == 5,
                "three rows (n, t, r) or five (n, t1, t2, r1, r2)",
            ),
            Law::TorsionalCone { .. } => (rows == 4, "four rows (n, t1, t2, s)"),
            Law::RollingSpinning { .. } | Law::EllipsoidCone { .. } => {
                (rows == 6, "six rows (n, t1, t2, r1, r2, s)")
            }
        }
    }
}
