//! Row-major 3×3 matrices: the diagonal blocks of contacts, in closed form.
//!
//! They are symmetric but for rounding where masses and rows are given, and need not be where S itself is. Inverses are
//! by cofactors, with a test of the determinant, or of Cholesky's pivots where the block must be definite.

use super::cholesky::cholesky;

/// Largest eigenvalue of the symmetric part of [[a, b], [c, d]].
pub fn largest_eigenvalue_2(a: f64, b: f64, c: f64, d: f64) -> f64 {
    let off = 0.5 * (b + c);
    let half = 0.5 * (a - d);
    0.5 * (a + d) + (half * half + off * off).sqrt()
}

/// An upper bound on the largest eigenvalue of the symmetric part of a row-major 3×3 matrix, tight to
/// rounding: the closed form by the cosine of a third of an angle.
pub fn largest_eigenvalue_3(m: &[f64; 9]) -> f64 {
    let (a, b, c) = (m[0], m[4], m[8]);
    let (d, e, f) = (
        0.5 * (m[1] + m[3]),
        0.5 * (m[2] + m[6]),
        0.5 * (m[5] + m[7]),
    );
    let off = d * d + e * e + f * f;
    let mean = (a + b + c) / 3.0;
    let (x, y, z) = (a - mean, b - mean, c - mean);
    let p = ((x * x + y * y + z * z + 2.0 * off) / 6.0).sqrt();
    if p <= f64::EPSILON * mean.abs() {
        return mean + p;
    }
    let det = x * (y * z - f * f) - d * (d * z - f * e) + e * (d * f - y * e);
    let r = (det / (2.0 * p * p * p)).clamp(-1.0, 1.0);
    mean + 2.0 * p * (r.acos() / 3.0).cos()
}

/// D⁻¹ where D is symmetric to rounding and safely positive definite: what a 3×3 solve may rely on.
pub fn regular_inverse_3(d: &[f64; 9]) -> Option<[f64; 9]> {
    let skew = (d[1] - d[3])
        .abs()
        .max((d[2] - d[6]).abs())
        .max((d[5] - d[7]).abs());
    let mut factor = *d;
    let regular = skew <= 1e-9 * (d[0] + d[4] + d[8]).abs() && cholesky(&mut factor, 3).is_ok();
    regular.then(|| inverse_3(d)).flatten()
}

/// Inverse of a row-major 3×3 matrix by cofactors; `None` where the determinant is of rounding size.
pub(crate) fn inverse_3(m: &[f64; 9]) -> Option<[f64; 9]> {
    let c = [
        m[4] * m[8] - m[5] * m[7],
        m[2] * m[7] - m[1] * m[8],
        m[1] * m[5] - m[2] * m[4],
        m[5] * m[6] - m[3] * m[8],
        m[0] * m[8] - m[2] * m[6],
        m[2] * m[3] - m[0] * m[5],
        m[3] * m[7] - m[4] * m[6],
        m[1] * m[6] - m[0] * m[7],
        m[0] * m[4] - m[1] * m[3],
    ];
    let det = m[0] * c[0] + m[1] * c[3] + m[2] * c[6];
    let scale = (m[0] * m[4] * m[8]).abs();
    (1e-14 * scale < det.abs()).then(|| c.map(|x| x / det))
}

/// y = A x for a row-major 3×3 matrix.
pub(crate) fn mul_3(a: &[f64; 9], x: &[f64; 3]) -> [f64; 3] {
    [
        a[0] * x[0] + a[1] * x[1] + a[2] * x[2],
        a[3] * x[0] + a[4] * x[1] + a[5] * x[2],
        a[6] * x[0] + a[7] * x[1] + a[8] * x[2],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{DVec3, Random, dot, norm};

    #[test]
    fn largest_eigenvalue_bounds_every_rayleigh_quotient() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let f: Vec<DVec3> = (0..3).map(|_| random.vector()).collect();
            let m: [f64; 9] = std::array::from_fn(|i| f[i / 3].dot(f[i % 3]));
            let top = largest_eigenvalue_3(&m);
            let mut x = random.vector().normalize().to_array();
            let mut reached: f64 = 0.0;
            for _ in 0..3000 {
                let y = mul_3(&m, &x);
                let length = norm(&y);
                reached = dot(&x, &y);
                x = y.map(|c| c / length);
            }
            assert!(
                reached <= top * (1.0 + 1e-12) && top <= reached * (1.0 + 1e-5),
                "{reached} {top}"
            );
        }
    }

    #[test]
    fn inverse_is_given_for_what_is_regular_alone() {
        let mut random = Random::new(4);
        for _ in 0..100 {
            let f: Vec<DVec3> = (0..3).map(|_| random.vector()).collect();
            let mut m: [f64; 9] = std::array::from_fn(|i| f[i / 3].dot(f[i % 3]));
            (0..3).for_each(|i| m[4 * i] += 0.1);
            let inverse = regular_inverse_3(&m).unwrap();
            assert_eq!(inverse_3(&m), Some(inverse));
            let x = random.vector().to_array();
            let y = mul_3(&inverse, &mul_3(&m, &x));
            assert!((0..3).all(|i| (x[i] - y[i]).abs() < 1e-12), "{x:?} {y:?}");
            // Skew or indefinite blocks have an inverse, but not one to rely on.
            let mut skew = m;
            skew[1] += 0.01;
            assert!(inverse_3(&skew).is_some() && regular_inverse_3(&skew).is_none());
            let negative = m.map(|x| -x);
            assert!(inverse_3(&negative).is_some() && regular_inverse_3(&negative).is_none());
        }
        let singular = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert!(inverse_3(&singular).is_none() && regular_inverse_3(&singular).is_none());
    }
}
