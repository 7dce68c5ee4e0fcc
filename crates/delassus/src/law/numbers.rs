//! The numbers of a law, as an array: what a derivative counts through.

use super::Law;
use std::ops::Range;

/// Most numbers of a law.
pub const MOST_NUMBERS: usize = 3;

impl Law {
    /// Its numbers in the order they are written, zero beyond: (lo, hi), μ, (μ₁, μ₂), (μ, μ_r), (μ, μ_s) or (μ, μ_r, μ_s).
    pub fn numbers(&self) -> [f64; MOST_NUMBERS] {
        match *self {
            Law::Equality | Law::Unilateral => [0.0; 3],
            Law::Interval { lo, hi } => [lo, hi, 0.0],
            Law::FrictionBox { mu } | Law::FrictionCone { mu } | Law::FrictionFacets { mu, .. } => {
                [mu, 0.0, 0.0]
            }
            Law::EllipticCone { mu: [a, b] } => [a, b, 0.0],
            Law::RollingCone { mu, rolling } => [mu, rolling, 0.0],
            Law::TorsionalCone { mu, spinning } => [mu, spinning, 0.0],
            Law::RollingSpinning {
                mu,
                rolling,
                spinning,
            }
            | Law::EllipsoidCone {
                mu,
                rolling,
                spinning,
            } => [mu, rolling, spinning],
        }
    }

    /// The same law with other numbers.
    pub(crate) fn with_numbers(mut self, [a, b, c]: [f64; MOST_NUMBERS]) -> Law {
        match &mut self {
            Law::Equality | Law::Unilateral => {}
            Law::Interval { lo, hi } => (*lo, *hi) = (a, b),
            Law::FrictionBox { mu } | Law::FrictionCone { mu } | Law::FrictionFacets { mu, .. } => {
                *mu = a
            }
            Law::EllipticCone { mu } => *mu = [a, b],
            Law::RollingCone { mu, rolling } => (*mu, *rolling) = (a, b),
            Law::TorsionalCone { mu, spinning } => (*mu, *spinning) = (a, b),
            Law::RollingSpinning {
                mu,
                rolling,
                spinning,
            }
            | Law::EllipsoidCone {
                mu,
                rolling,
                spinning,
            } => (*mu, *rolling, *spinning) = (a, b, c),
        }
        self
    }

    /// Which number is the coefficient of a tangent row of a contact.
    pub(crate) fn number_of_row(&self, row: usize, n_rows: usize) -> usize {
        match self {
            Law::EllipticCone { .. } => row - 1,
            Law::RollingCone { .. } | Law::TorsionalCone { .. } => {
                usize::from(self.spin_rows(n_rows).contains(&row))
            }
            Law::RollingSpinning { .. } | Law::EllipsoidCone { .. } => (row - 1) / 2,
            _ => 0,
        }
    }

    /// The numbers that are coefficients of sliding friction.
    pub(crate) fn sliding_numbers(&self) -> Range<usize> {
        match self {
            Law::Equality | Law::Unilateral | Law::Interval { .. } => 0..0,
            Law::EllipticCone { .. } => 0..2,
            _ => 0..1,
        }
    }
}
