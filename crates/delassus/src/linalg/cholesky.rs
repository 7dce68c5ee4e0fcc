//! Cholesky's factor of a dense symmetric positive definite matrix, A = L Lᵀ, row by row and in place.
//!
//! For matrices that must be definite, such as masses and inertias: anything else is an error that names the pivot.
//! Cost: n³/6 multiplications and as many additions; sums go in four lanes, the same on every machine.
//! [`super::inverse_root`] is for small ones that are asked many times.
//! Prefer [`super::ranked`] for the matrices of constraints, whose rows may depend on each other.

use crate::math::dot_unrolled as dot;

/// Lower Cholesky factor of a row-major symmetric matrix, in place (the upper part is left as it was).
/// Fails with the index and value of the first pivot that is not safely positive.
pub(crate) fn cholesky(a: &mut [f64], n: usize) -> Result<(), (usize, f64)> {
    for j in 0..n {
        let (above, below) = a.split_at_mut((j + 1) * n);
        let row_j = &mut above[j * n..];
        let pivot = row_j[j] - dot(&row_j[..j], &row_j[..j]);
        // A pivot of rounding size is a singular matrix, whatever its sign came out as. What cancelled is the entry of
        // its own row, whose unit may be another than that of the others.
        if !(pivot > 1e-15 * row_j[j].abs() && pivot >= f64::MIN_POSITIVE) {
            return Err((j, pivot));
        }
        let l = pivot.sqrt();
        row_j[j] = l;
        for row_i in below.chunks_exact_mut(n) {
            row_i[j] = (row_i[j] - dot(&row_i[..j], &row_j[..j])) / l;
        }
    }
    Ok(())
}

/// Solves L x = b in place.
pub(crate) fn cholesky_forward(l: &[f64], n: usize, x: &mut [f64]) {
    // Zeros at the start stay zeros.
    let first = x.iter().position(|x| *x != 0.0).unwrap_or(n);
    for i in first..n {
        // x_i = (b_i − Σ_{j<i} l_ij x_j) / l_ii
        x[i] = (x[i] - dot(&l[i * n + first..i * n + i], &x[first..i])) / l[i * n + i];
    }
}

/// Solves L Lᵀ x = b in place.
pub(crate) fn cholesky_solve(l: &[f64], n: usize, x: &mut [f64]) {
    cholesky_forward(l, n, x);
    for i in (0..n).rev() {
        x[i] /= l[i * n + i];
        let xi = x[i];
        for j in 0..i {
            x[j] -= l[i * n + j] * xi;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, max_abs};

    #[test]
    fn factor_times_its_transpose_is_the_matrix_and_solves_with_it() {
        let mut random = Random::new(8);
        for n in 1..12 {
            let b: Vec<f64> = (0..n * n).map(|_| random.range(-1.0, 1.0)).collect();
            let row = |i: usize| &b[i * n..(i + 1) * n];
            let entry = |e: usize| dot(row(e / n), row(e % n)) + f64::from(e / n == e % n);
            let a: Vec<f64> = (0..n * n).map(entry).collect();
            let mut l = a.clone();
            assert_eq!(cholesky(&mut l, n), Ok(()));
            for i in 0..n {
                for j in 0..=i {
                    let product = dot(&l[i * n..i * n + j + 1], &l[j * n..j * n + j + 1]);
                    assert!((product - a[i * n + j]).abs() < 1e-14 * n as f64);
                }
            }
            let wanted: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
            let mut x: Vec<f64> = a.chunks_exact(n).map(|row| dot(row, &wanted)).collect();
            cholesky_solve(&l, n, &mut x);
            let error: Vec<f64> = x.iter().zip(&wanted).map(|(x, y)| x - y).collect();
            assert!(max_abs(&error) < 1e-12, "{n}: {error:?}");
        }
    }

    #[test]
    fn the_first_pivot_that_is_not_safely_positive_is_named() {
        let mut indefinite = [1.0, 2.0, 2.0, 1.0];
        assert_eq!(cholesky(&mut indefinite, 2), Err((1, -3.0)));
        let mut singular = [4.0, 2.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(cholesky(&mut singular, 3), Err((1, 0.0)));
        assert!(matches!(cholesky(&mut [f64::NAN], 1), Err((0, _))));
        // Units far apart are no sign of it.
        assert_eq!(cholesky(&mut [1e-12, 0.0, 0.0, 1e12], 2), Ok(()));
    }
}
