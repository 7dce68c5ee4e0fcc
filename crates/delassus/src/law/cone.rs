//! The Coulomb cone K_μ = {(n, t): |t| ≤ μn}: projection, De Saxcé's shift and the residual of the law.
//!
//! With ŵ = w + μ|w_t|e_n Coulomb's law with Signorini's condition is K_μ ∋ λ ⟂ ŵ ∈ K_μ*, that is
//! λ = P_K(λ − ρŵ) for any ρ > 0. Source of the contact block: [GS11 (18)-(21)].
//!
//! How this differs from the source: (1) the printed friction test compares with μz₁² where μ²z₁² is meant
//! (errata GS11-19); (2) the law itself, not a projected stick impulse, is what the residual measures.

use super::Fault;
use crate::math::{dot, norm};

/// Euclidean projection of (n, t) on K_μ, in place; any number of tangents.
pub fn project(x: &mut [f64], mu: f64) {
    let n = x[0];
    let t = norm(&x[1..]);
    // Polar test first: at μ = 0 the cone is a ray and the membership test alone would keep (−n, 0).
    if mu * t <= -n {
        x.fill(0.0);
        return;
    }
    if t <= mu * n {
        return;
    }
    let a = (n + mu * t) / (1.0 + mu * mu);
    x[0] = a;
    let scale = if 0.0 < t { mu * a / t } else { 0.0 };
    x[1..].iter_mut().for_each(|t| *t *= scale);
}

/// Scales a tangential impulse back to the disk of the given radius; it keeps its direction.
#[inline]
pub fn project_disk(t: [f64; 2], radius: f64) -> [f64; 2] {
    // The squares decide without a root for contacts that stick; below this they would underflow.
    let squared = t[0] * t[0] + t[1] * t[1];
    if squared < 1e-280 {
        let length = t[0].hypot(t[1]);
        let scale = if length <= radius {
            1.0
        } else {
            radius / length
        };
        return [t[0] * scale, t[1] * scale];
    }
    if squared <= radius * radius {
        return t;
    }
    let scale = radius / squared.sqrt();
    [t[0] * scale, t[1] * scale]
}

/// |λ − P_K(λ − ρŵ)|/ρ with ρ = rows / trace, for the circular cone. Rows that are missing count as zero:
/// neither projection nor norms see them.
pub(super) fn fault(lambda: &[f64], w: &[f64], diagonal: &[f64], mu: f64) -> Fault {
    let rho = w.len() as f64 / diagonal.iter().sum::<f64>();
    let (lambda, w) = (padded(lambda), padded(w));
    let (natural, shifted) = defect(&lambda, &w, rho, mu);
    if !natural.is_finite() {
        return Fault::INFINITE;
    }
    let mut nearest = lambda;
    project(&mut nearest, mu);
    Fault {
        natural,
        feasibility: (distance(&nearest, &lambda) / rho).max(-w[0]),
        complementarity: dot(&lambda, &shifted).abs(),
    }
}

/// The same residual alone.
pub(super) fn natural(lambda: &[f64], w: &[f64], diagonal: &[f64], mu: f64) -> f64 {
    let rho = w.len() as f64 / diagonal.iter().sum::<f64>();
    defect(&padded(lambda), &padded(w), rho, mu).0
}

/// |λ − P_K(λ − ρŵ)|/ρ and ŵ; infinite where speeds cannot be measured.
#[inline(always)]
fn defect(lambda: &[f64; 3], w: &[f64; 3], rho: f64, mu: f64) -> (f64, [f64; 3]) {
    // De Saxcé's shift: ŵ = w + μ|w_t| e_n.
    let shifted = [w[0] + mu * length(w[1], w[2]), w[1], w[2]];
    let mut target: [f64; 3] = std::array::from_fn(|i| lambda[i] - rho * shifted[i]);
    project(&mut target, mu);
    let natural = distance(&target, lambda) / rho;
    // Speeds whose squares overflow cannot be measured, so they cannot pass.
    match natural.is_finite() && (rho * shifted[0]).is_finite() {
        true => (natural, shifted),
        false => (f64::INFINITY, shifted),
    }
}

#[inline(always)]
fn distance(x: &[f64; 3], y: &[f64; 3]) -> f64 {
    let d: [f64; 3] = std::array::from_fn(|i| x[i] - y[i]);
    dot(&d, &d).sqrt()
}

/// |(x, y)|: a plain root where the squares neither overflow nor underflow, which is several times faster.
pub(super) fn length(x: f64, y: f64) -> f64 {
    let squared = x * x + y * y;
    if (1e-280..1e280).contains(&squared) {
        squared.sqrt()
    } else {
        x.hypot(y)
    }
}

/// One to three rows as three.
fn padded(x: &[f64]) -> [f64; 3] {
    match *x {
        [a, b, c] => [a, b, c],
        [a, b] => [a, b, 0.0],
        [a] => [a, 0.0, 0.0],
        _ => [0.0; 3],
    }
}

/// The elliptic cone on rows scaled by (1, μ₁, μ₂), where it is the circular cone with μ = 1.
/// A row whose coefficient is zero may carry no impulse and is measured by that alone.
pub(super) fn elliptic_fault(lambda: &[f64], w: &[f64], diagonal: &[f64], mu: [f64; 2]) -> Fault {
    let mut scaled = (
        [lambda[0], 0.0, 0.0],
        [w[0], 0.0, 0.0],
        [diagonal[0], 0.0, 0.0],
    );
    let mut rows = 1;
    let mut forbidden: f64 = 0.0;
    for i in 0..2 {
        if 0.0 < mu[i] {
            scaled.0[rows] = lambda[i + 1] / mu[i];
            scaled.1[rows] = w[i + 1] * mu[i];
            scaled.2[rows] = diagonal[i + 1] * mu[i] * mu[i];
            rows += 1;
        } else {
            forbidden = forbidden.hypot(diagonal[i + 1] * lambda[i + 1]);
        }
    }
    let inner = fault(&scaled.0[..rows], &scaled.1[..rows], &scaled.2[..rows], 1.0);
    Fault {
        natural: inner.natural.hypot(forbidden),
        feasibility: inner.feasibility.max(forbidden),
        ..inner
    }
}

#[cfg(test)]
mod tests {
    use super::super::Law;
    use super::*;
    use crate::math::Random;

    fn projected(mut x: [f64; 3], mu: f64) -> [f64; 3] {
        project(&mut x, mu);
        x
    }

    #[test]
    fn speeds_beyond_the_range_of_squares_are_never_a_law_that_holds() {
        let law = Law::FrictionCone { mu: 0.5 };
        let fault = law.fault(&[0.0; 3], &[-1e200, 1e200, 1e200], &[1.0; 3]);
        assert!(fault.natural == f64::INFINITY, "{fault:?}");
        let t = project_disk([3e-200, 4e-200], 1e-200);
        assert!((t[0].hypot(t[1]) / 1e-200 - 1.0).abs() < 1e-12, "{t:?}");
    }

    #[test]
    fn cone_projection_is_idempotent_and_nonexpansive() {
        let mut random = Random::new(7);
        for _ in 0..2000 {
            let mu = [0.0, 0.3, 1.0, 4.0][random.below(4)];
            let (x, y) = (random.vector().to_array(), random.vector().to_array());
            let (px, py) = (projected(x, mu), projected(y, mu));
            assert!(distance(&projected(px, mu), &px) < 1e-15);
            assert!(distance(&px, &py) <= distance(&x, &y) + 1e-15);
            // Moreau: x − P(x) is orthogonal to P(x).
            let r = [x[0] - px[0], x[1] - px[1], x[2] - px[2]];
            assert!(dot(&r, &px).abs() < 1e-14);
        }
    }

    #[test]
    fn cone_without_friction_is_a_ray() {
        assert_eq!(projected([-1.0, 0.0, 0.0], 0.0), [0.0; 3]);
        assert_eq!(projected([2.0, 3.0, -4.0], 0.0), [2.0, 0.0, 0.0]);
        assert_eq!(projected([-2.0, 3.0, -4.0], 0.0), [0.0; 3]);
        let law = Law::FrictionCone { mu: 0.0 };
        assert_eq!(
            law.fault(&[1.0, 0.0, 0.0], &[0.0, 5.0, -7.0], &[1.0; 3])
                .natural,
            0.0
        );
        assert!(
            0.1 < law
                .fault(&[1.0, 0.2, 0.0], &[0.0, 0.0, 0.0], &[1.0; 3])
                .natural
        );
    }

    #[test]
    fn separation_stick_and_slip_have_no_residual_and_wrong_slip_has() {
        let law = Law::FrictionCone { mu: 0.5 };
        let d = [2.0, 3.0, 4.0];
        let met = [
            ([0.0, 0.0, 0.0], [0.4, 3.0, -1.0]),
            ([1.0, 0.2, -0.3], [0.0, 0.0, 0.0]),
            ([2.0, 0.6, 0.8], [0.0, -0.9, -1.2]),
        ];
        for (lambda, w) in met {
            assert!(law.fault(&lambda, &w, &d).natural < 1e-15, "{lambda:?}");
        }
        let broken = [
            ([0.0, 0.0, 0.0], [-0.4, 0.0, 0.0]),
            ([1.0, 0.2, -0.3], [0.0, 0.1, 0.0]),
            ([2.0, 0.6, 0.8], [0.0, 0.9, 1.2]),
            ([2.0, 0.6, 0.8], [0.1, -0.9, -1.2]),
        ];
        for (lambda, w) in broken {
            assert!(
                1e-2 < law.fault(&lambda, &w, &d).natural,
                "{lambda:?} {w:?}"
            );
        }
    }

    #[test]
    fn elliptic_cone_with_equal_coefficients_has_the_zeros_of_the_circular_one() {
        let (lambda, w) = ([2.0, 0.6, 0.8], [0.0, -0.9, -1.2]);
        assert!(
            Law::EllipticCone { mu: [0.5; 2] }
                .fault(&lambda, &w, &[1.0; 3])
                .natural
                < 1e-15
        );
        // Along a frictionless axis no impulse is allowed, sliding is.
        let law = Law::EllipticCone { mu: [0.5, 0.0] };
        assert!(
            law.fault(&[2.0, 1.0, 0.0], &[0.0, -0.3, 9.0], &[1.0; 3])
                .natural
                < 1e-15
        );
        assert!(
            0.1 < law
                .fault(&[2.0, 1.0, 0.2], &[0.0, -0.3, 9.0], &[1.0; 3])
                .natural
        );
    }
}
