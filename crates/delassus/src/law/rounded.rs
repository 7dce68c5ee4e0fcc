//! How far rounding may put the residual of a law off.
//!
//! Projections do not expand, so that |λ − P_K(λ − ρŵ)|/ρ moves by no more than ŵ does; the rounding of λ − ρŵ and of
//! its projection adds ε|λ|/ρ. Where a body turns easily about one axis, or an ellipse is long, 1/ρ is much larger than
//! the mobility along the normal that carries the load, and the second part is the larger one.

use super::Law;
use crate::math::norm;

impl Law {
    /// How far off [`Fault::natural`](super::Fault::natural) may be where each row velocity is off by at most `off`.
    pub(crate) fn natural_off(&self, lambda: &[f64], off: &[f64], diagonal: &[f64]) -> f64 {
        match self {
            // Row by row; ε d_i|λ_i| is part of what a row velocity is off by.
            Law::Equality | Law::Unilateral | Law::Interval { .. } | Law::FrictionBox { .. } => {
                norm(off)
            }
            // Both d_j·w_t + s move by twice |w_t|, and s by once.
            Law::FrictionFacets { .. } => {
                let tangents = norm(&off[1..]);
                let mean = diagonal.iter().sum::<f64>() / diagonal.len() as f64;
                off[0].hypot(3.0 * tangents) + f64::EPSILON * norm(lambda) * mean
            }
            _ => self.cone_off(lambda, off, diagonal),
        }
    }

    /// The same of one or several disks; rows that share an ellipsoid count as λ_i/μ_i, μ_i w_i and μ_i² d_i.
    fn cone_off(&self, lambda: &[f64], off: &[f64], diagonal: &[f64]) -> f64 {
        let (mut normal, mut tangents) = (off[0], 0.0);
        let (mut impulse, mut trace, mut rows) = (lambda[0] * lambda[0], diagonal[0], 1.0);
        for disk in self.disks(off.len()) {
            let mut moved = 0.0;
            for (i, mu) in disk.rows().zip(disk.mu()) {
                let scale = if self.shares_ellipsoid() { *mu } else { 1.0 };
                if scale == 0.0 {
                    continue;
                }
                moved += (scale * off[i]).powi(2);
                impulse += (lambda[i] / scale).powi(2);
                trace += scale * scale * diagonal[i];
                rows += 1.0;
            }
            // ŵ_n = w_n + Σ_j μ_j|w_j|
            let mu = if self.shares_ellipsoid() {
                1.0
            } else {
                disk.mu()[0]
            };
            normal += mu * moved.sqrt();
            tangents += moved;
        }
        normal.hypot(tangents.sqrt()) + f64::EPSILON * impulse.sqrt() * trace / rows
    }

    /// Largest share of its own size by which a row of an ellipsoid counts: max μ_i², and 1 for all other laws.
    pub(crate) fn steepness(&self) -> f64 {
        match self.shares_ellipsoid() {
            true => (self.numbers().iter()).fold(1.0, |most, mu| mu.powi(2).max(most)),
            false => 1.0,
        }
    }

    fn shares_ellipsoid(&self) -> bool {
        matches!(
            self,
            Law::EllipticCone { .. } | Law::TorsionalCone { .. } | Law::EllipsoidCone { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// Row velocities moved by any amount within bounds never move a residual by more than is said.
    #[test]
    fn no_residual_moves_further_than_its_bound() {
        let laws = [
            (Law::Equality, 3),
            (Law::Unilateral, 2),
            (Law::Interval { lo: -1.0, hi: 0.5 }, 2),
            (Law::FrictionBox { mu: 0.7 }, 3),
            (Law::FrictionCone { mu: 2.0 }, 3),
            (Law::EllipticCone { mu: [0.1, 14.0] }, 3),
            (Law::EllipticCone { mu: [0.0, 3.0] }, 3),
            (
                Law::FrictionFacets {
                    mu: 1.5,
                    directions: 8,
                },
                3,
            ),
            (
                Law::RollingCone {
                    mu: 0.8,
                    rolling: 2.0,
                },
                5,
            ),
            (
                Law::EllipsoidCone {
                    mu: 3.0,
                    rolling: 0.1,
                    spinning: 7.0,
                },
                6,
            ),
        ];
        let mut random = Random::new(3);
        for (law, n) in laws {
            let mut nearest = 0.0_f64;
            for _ in 0..2000 {
                let mut draw = |lo: f64, hi: f64| -> Vec<f64> {
                    (0..n).map(|_| random.range(lo, hi)).collect()
                };
                let (lambda, w, diagonal) = (draw(-1.0, 2.0), draw(-1.0, 1.0), draw(0.1, 3.0));
                let off: Vec<f64> = draw(-12.0, -1.0).iter().map(|x| x.exp()).collect();
                let signs = draw(-1.0, 1.0);
                let each = w.iter().zip(&off).zip(&signs);
                let moved: Vec<f64> = each.map(|((w, off), sign)| w + sign * off).collect();
                let change =
                    law.natural(&lambda, &moved, &diagonal) - law.natural(&lambda, &w, &diagonal);
                let share = change.abs() / law.natural_off(&lambda, &off, &diagonal);
                assert!(share <= 1.0, "{law:?} {share}");
                nearest = nearest.max(share);
            }
            // A bound that is never nearly met would say nothing.
            assert!(0.2 < nearest, "{law:?} {nearest}");
        }
    }
}
