//! Laws that bound each impulse separately: equality, unilateral, interval and the friction box.
//!
//! Sources: [GS13 (29), Alg 2.1, (36)], [GS11 Alg 3.1]. With ρ = 1/d, d the row's diagonal of S, each law is the
//! fixed point λ = clamp(λ − ρw, lo, hi), and its residual is that map's defect over ρ, a velocity.
//!
//! How this differs from the sources: the friction box of [GS13 (19)] as printed never mentions μ; the form
//! used here is (36), whose bounds move with the normal impulse (errata GS13-19).

use super::Fault;
use crate::math::{dot, norm};

/// w = 0.
pub(super) fn equality(lambda: &[f64], w: &[f64]) -> Fault {
    let natural = norm(w);
    Fault {
        natural,
        feasibility: natural,
        complementarity: dot(lambda, w).abs(),
    }
}

/// lo ≤ λ ≤ hi against w, row by row with ρ = 1/d.
pub(super) fn interval(lambda: &[f64], w: &[f64], diagonal: &[f64], bounds: (f64, f64)) -> Fault {
    together((0..w.len()).map(|i| scalar(lambda[i], w[i], diagonal[i], bounds)))
}

/// The natural residual of the same alone.
pub(super) fn interval_natural(
    lambda: &[f64],
    w: &[f64],
    diagonal: &[f64],
    bounds: (f64, f64),
) -> f64 {
    let row = |i: usize| natural(lambda[i], w[i], diagonal[i], bounds);
    match w.len() {
        1 => row(0),
        n => (0..n).map(|i| row(i) * row(i)).sum::<f64>().sqrt(),
    }
}

/// d·|λ − clamp(λ − w/d)| without subtracting λ from itself, which would hide w behind a large λ.
#[inline(always)]
fn natural(lambda: f64, w: f64, d: f64, (lo, hi): (f64, f64)) -> f64 {
    let target = lambda - w / d;
    match target {
        _ if target < lo => d * (lambda - lo).abs(),
        _ if hi < target => d * (lambda - hi).abs(),
        _ => w.abs(),
    }
}

/// Rows of one block: the length of their natural residuals, and the worst of the rest.
fn together(rows: impl Iterator<Item = Fault>) -> Fault {
    let mut fault = Fault::default();
    let mut sum = 0.0;
    for row in rows {
        sum += row.natural * row.natural;
        fault.feasibility = fault.feasibility.max(row.feasibility);
        fault.complementarity = fault.complementarity.max(row.complementarity);
    }
    Fault {
        natural: sum.sqrt(),
        ..fault
    }
}

/// One bounded row: natural residual d·|λ − clamp(λ − w/d, lo, hi)|.
pub(super) fn scalar(lambda: f64, w: f64, d: f64, (lo, hi): (f64, f64)) -> Fault {
    let natural = natural(lambda, w, d, (lo, hi));
    let outside = d * (lo - lambda).max(lambda - hi).max(0.0);
    // An infinite bound cannot be reached, so w must not point towards it.
    let towards = match (lo == f64::NEG_INFINITY, hi == f64::INFINITY) {
        (true, true) => w.abs(),
        (true, false) => w.max(0.0),
        (false, true) => (-w).max(0.0),
        (false, false) => 0.0,
    };
    let distance = if 0.0 < w { lambda - lo } else { hi - lambda };
    let distance = if distance.is_finite() {
        distance
    } else {
        lambda
    };
    Fault {
        natural,
        feasibility: outside.max(towards),
        complementarity: (distance * w).abs(),
    }
}

/// Unilateral normal, then each tangent within ±B, B = μλ_n.   [GS13 (36)]
pub(super) fn friction_box(lambda: &[f64], w: &[f64], diagonal: &[f64], mu: f64) -> Fault {
    let bound = mu * lambda[0].max(0.0);
    together((0..w.len()).map(|i| {
        let bounds = match i {
            0 => (0.0, f64::INFINITY),
            _ => (-bound, bound),
        };
        scalar(lambda[i], w[i], diagonal[i], bounds)
    }))
}

macro_rules! infinite_as_null {
    ($(#[$doc:meta])* $name:ident, $infinity:expr) => {
        $(#[$doc])*
        pub(super) mod $name {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            pub(in super::super) fn serialize<S: Serializer>(x: &f64, s: S) -> Result<S::Ok, S::Error> {
                (*x != $infinity).then_some(*x).serialize(s)
            }

            pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
                Ok(Option::deserialize(d)?.unwrap_or($infinity))
            }
        }
    };
}
infinite_as_null! {
    /// JSON has no infinity: −∞ is written as null.
    minus_infinity, f64::NEG_INFINITY
}
infinite_as_null! {
    /// JSON has no infinity: +∞ is written as null.
    plus_infinity, f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::super::Law;

    #[test]
    fn unilateral_residual_is_the_smaller_of_impulse_velocity_and_row_velocity() {
        // |min(λ/ρ, w)| with 1/ρ = d = 2.
        for (lambda, w, expected) in [
            (0.0, 3.0, 0.0),
            (1.5, 0.0, 0.0),
            (1.0, 0.5, 0.5),
            (0.1, 5.0, 0.2),
            (0.0, -0.25, 0.25),
        ] {
            let fault = Law::Unilateral.fault(&[lambda], &[w], &[2.0]);
            assert!(
                (fault.natural - expected).abs() < 1e-15,
                "{lambda} {w}: {fault:?}"
            );
        }
    }

    /// A self-stress of 1e20 N s swallows w/d in λ − w/d; the row still moves at 1 m/s.
    #[test]
    fn a_huge_impulse_does_not_hide_a_moving_row() {
        let law = Law::Interval {
            lo: f64::NEG_INFINITY,
            hi: f64::INFINITY,
        };
        assert_eq!(law.fault(&[1e20], &[1.0], &[1.0]).natural, 1.0);
        assert_eq!(Law::Unilateral.fault(&[1e20], &[1.0], &[1.0]).natural, 1.0);
    }

    #[test]
    fn interval_is_met_inside_with_zero_velocity_and_at_either_end() {
        let law = Law::Interval { lo: -1.0, hi: 2.0 };
        for (lambda, w) in [(0.3, 0.0), (-1.0, 0.7), (2.0, -0.7)] {
            assert_eq!(law.fault(&[lambda], &[w], &[4.0]).natural, 0.0);
        }
        for (lambda, w) in [(0.3, 0.1), (-1.0, -0.7), (2.0, 0.7), (2.5, -0.7)] {
            assert!(1e-3 < law.fault(&[lambda], &[w], &[4.0]).natural);
        }
    }

    #[test]
    fn friction_box_is_met_on_its_diagonal_where_the_cone_is_not() {
        let (lambda, w) = ([1.0, 0.5, 0.5], [0.0, -0.2, -0.1]);
        let d = [1.0; 3];
        assert_eq!(
            Law::FrictionBox { mu: 0.5 }.fault(&lambda, &w, &d).natural,
            0.0
        );
        assert!(0.01 < Law::FrictionCone { mu: 0.5 }.fault(&lambda, &w, &d).natural);
    }
}
