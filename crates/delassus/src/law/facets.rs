//! The polyhedral cone with d directions d_j = cos(2πj/d) t₁ + sin(2πj/d) t₂.   [Lemke05 (4), (5)]
//!
//! Law: ν = w_n ≥ 0 ⟂ λ_n ≥ 0; σ_j = d_j·w_t + s ≥ 0 ⟂ φ_j ≥ 0; γ = μλ_n − Σφ_j ≥ 0 ⟂ s ≥ 0, with
//! λ_t = Σφ_j d_j. From (λ, w) alone: φ is the decomposition of λ_t on its two neighbouring directions (the
//! one of least Σφ) and s = max(0, −min_j d_j·w_t). The cone is inscribed in the circular one, so friction
//! lies between cos(π/d)·μ and μ.

use std::f64::consts::TAU;
use std::sync::OnceLock;

use super::Fault;

/// Cones of up to this many directions look theirs up: sines and cosines cost more than everything done with them.
const TABULATED: usize = 32;
static TABLES: [OnceLock<Box<[[f64; 2]]>>; TABULATED + 1] =
    [const { OnceLock::new() }; TABULATED + 1];

/// Directions 0 to d of d, or none where there are too many for a table.
pub(crate) fn tabulated(d: u32) -> Option<&'static [[f64; 2]]> {
    let table = TABLES.get(d as usize)?;
    Some(table.get_or_init(|| (0..=d).map(|j| computed(j, d)).collect()))
}

/// Direction j of d in the (t₁, t₂) plane.
pub fn direction(j: u32, d: u32) -> [f64; 2] {
    let known = tabulated(d).and_then(|table| table.get(j as usize));
    known.copied().unwrap_or_else(|| computed(j, d))
}

fn computed(j: u32, d: u32) -> [f64; 2] {
    let (sin, cos) = (TAU * f64::from(j) / f64::from(d)).sin_cos();
    [cos, sin]
}

/// An impulse as a sum of its two neighbouring directions: λ_t = φ_j d_j + φ_{j+1} d_{j+1}.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// The first of the two directions, j.
    pub sector: u32,
    /// Its share φ_j.
    pub first: f64,
    /// The share φ_{j+1} of the next one.
    pub second: f64,
}

/// λ_t as a sum of its two neighbouring directions.
pub fn decompose(t: [f64; 2], d: u32) -> Shares {
    let angle = t[1].atan2(t[0]).rem_euclid(TAU);
    let j = ((angle * f64::from(d) / TAU) as u32).min(d - 1);
    let (a, b) = (direction(j, d), direction(j + 1, d));
    let det = a[0] * b[1] - a[1] * b[0];
    let first = (t[0] * b[1] - t[1] * b[0]) / det;
    let second = (a[0] * t[1] - a[1] * t[0]) / det;
    // Rounding at a sector's edge may leave a tiny negative share.
    Shares {
        sector: j,
        first: first.max(0.0),
        second: second.max(0.0),
    }
}

/// Natural map of the polyhedral law with impulses divided by ρ = 3 / trace.
pub(super) fn fault(lambda: &[f64], w: &[f64], diagonal: &[f64], (mu, d): (f64, u32)) -> Fault {
    if lambda == [0.0; 3] {
        // Without load s takes up every slip: the normal alone can be at fault.
        let normal = w[0].min(0.0);
        return Fault {
            natural: (normal * normal).sqrt(),
            feasibility: -normal,
            complementarity: 0.0,
        };
    }
    let rho = 3.0 / diagonal.iter().sum::<f64>();
    let normal = (lambda[0] / rho).min(w[0]);
    let mut sum = normal * normal;
    let mut fault = Fault {
        natural: 0.0,
        feasibility: (-lambda[0] / rho).max(-w[0]).max(0.0),
        complementarity: (lambda[0] * w[0]).abs(),
    };
    let Shares {
        sector,
        first,
        second,
    } = decompose([lambda[1], lambda[2]], d);
    let along = |[a, b]: [f64; 2]| a * w[1] + b * w[2];
    let deepest = |s: f64, x: f64| s.max(-x);
    let slip = match tabulated(d) {
        Some(table) => table.iter().map(|&d| along(d)).fold(0.0, deepest),
        None => (0..d)
            .map(|j| along(direction(j, d)))
            .fold(0.0_f64, deepest),
    };
    // Where φ_j = 0 there is nothing to see: σ_j ≥ 0 by the choice of s.
    for (j, phi) in [(sector, first), (sector + 1, second)] {
        let sigma = along(direction(j, d)) + slip;
        let row = (phi / rho).min(sigma);
        sum += row * row;
        fault.complementarity = fault.complementarity.max((phi * sigma).abs());
    }
    let gamma = mu * lambda[0] - first - second;
    let row = (gamma / rho).min(slip);
    sum += row * row;
    fault.complementarity = fault.complementarity.max((gamma * slip).abs());
    fault.feasibility = fault.feasibility.max(-gamma / rho);
    Fault {
        natural: sum.sqrt(),
        ..fault
    }
}

#[cfg(test)]
mod tests {
    use super::super::Law;
    use super::*;
    use crate::math::Random;

    #[test]
    fn decomposition_reproduces_the_impulse_with_nonnegative_shares() {
        let mut random = Random::new(11);
        for _ in 0..2000 {
            let d = 3 + random.below(14) as u32;
            let t = [random.range(-1.0, 1.0), random.range(-1.0, 1.0)];
            let shares = decompose(t, d);
            let Shares { first, second, .. } = shares;
            let a = direction(shares.sector, d);
            let b = direction(shares.sector + 1, d);
            assert!(0.0 <= first && 0.0 <= second);
            for i in 0..2 {
                assert!((a[i] * first + b[i] * second - t[i]).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn polyhedral_stick_slip_and_separation_have_no_residual() {
        let law = Law::FrictionFacets {
            mu: 0.5,
            directions: 8,
        };
        let d = [1.0; 3];
        assert!(law.fault(&[0.0; 3], &[0.3, 1.0, 2.0], &d).natural < 1e-15);
        assert!(law.fault(&[1.0, 0.1, 0.2], &[0.0; 3], &d).natural < 1e-15);
        // Sliding along −t₁: the whole friction on direction 0.
        assert!(law.fault(&[1.0, 0.5, 0.0], &[0.0, -0.7, 0.1], &d).natural < 1e-15);
        // The same friction is wrong for a slip that faces direction 1.
        assert!(1e-2 < law.fault(&[1.0, 0.5, 0.0], &[0.0, -0.7, -0.7], &d).natural);
        // Outside the inscribed polygon, although inside the disk.
        let t = 0.5_f64 * (TAU / 16.0).cos();
        let u = 0.5_f64 * (TAU / 16.0).sin();
        assert!(1e-2 < law.fault(&[1.0, t, u], &[0.0; 3], &d).natural);
    }
}
