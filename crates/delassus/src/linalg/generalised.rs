//! A generalised inverse of any small square matrix, by elimination with complete pivoting.
//!
//! For the diagonal block of a joint, which may be singular and, in a problem given by its matrix, not symmetric.
//! Cost: n³ multiplications for the inverse and n³/3 comparisons for the pivots; meant for a handful of rows.
//! Prefer [`super::ranked`] for large symmetric matrices.

use crate::math::max_abs;

/// A generalised inverse of a row-major matrix by Gauss-Jordan with complete pivoting: directions whose
/// pivot is below `1e-12` of the largest are given zero rows and columns, so that redundant rows stay put.
pub fn generalised_inverse(a: &[f64], n: usize) -> Vec<f64> {
    let mut m = a.to_vec();
    let (mut rows, mut columns): (Vec<usize>, Vec<usize>) = ((0..n).collect(), (0..n).collect());
    let cut = 1e-12 * max_abs(a);
    let mut inverse = vec![0.0; n * n];
    for i in 0..n {
        inverse[i * n + i] = 1.0;
    }
    let mut rank = n;
    for step in 0..n {
        let (mut best, mut at) = (0.0, (step, step));
        for i in step..n {
            for j in step..n {
                if best < m[rows[i] * n + columns[j]].abs() {
                    best = m[rows[i] * n + columns[j]].abs();
                    at = (i, j);
                }
            }
        }
        if !(cut < best) {
            rank = step;
            break;
        }
        rows.swap(step, at.0);
        columns.swap(step, at.1);
        eliminate(&mut m, &mut inverse, n, (rows[step], columns[step]));
    }
    // Row rows[s] of the work array now solves for unknown columns[s].
    let mut out = vec![0.0; n * n];
    for s in 0..rank {
        for t in 0..rank {
            out[columns[s] * n + rows[t]] = inverse[rows[s] * n + rows[t]];
        }
    }
    out
}

/// One Gauss-Jordan step: scales the pivot row to one and clears the pivot column elsewhere.
fn eliminate(m: &mut [f64], inverse: &mut [f64], n: usize, (row, column): (usize, usize)) {
    let pivot = m[row * n + column];
    for j in 0..n {
        m[row * n + j] /= pivot;
        inverse[row * n + j] /= pivot;
    }
    for i in (0..n).filter(|&i| i != row) {
        let factor = m[i * n + column];
        if factor != 0.0 {
            for j in 0..n {
                m[i * n + j] -= factor * m[row * n + j];
                inverse[i * n + j] -= factor * inverse[row * n + j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, dot};

    #[test]
    fn generalised_inverse_inverts_what_has_full_rank() {
        let mut random = Random::new(2);
        for n in 1..7 {
            let a: Vec<f64> = (0..n * n).map(|_| random.range(-1.0, 1.0)).collect();
            let inverse = generalised_inverse(&a, n);
            for i in 0..n {
                for j in 0..n {
                    let entry: f64 = (0..n).map(|k| a[i * n + k] * inverse[k * n + j]).sum();
                    assert!(
                        (entry - f64::from(i == j)).abs() < 1e-9,
                        "n={n} ({i},{j}) {entry}"
                    );
                }
            }
        }
    }

    #[test]
    fn generalised_inverse_solves_consistent_redundant_rows() {
        // Rows 0 and 1 are the same constraint written twice.
        let a = [2.0, 2.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 3.0];
        let inverse = generalised_inverse(&a, 3);
        let b = [4.0, 4.0, 9.0];
        let x: Vec<f64> = inverse.chunks(3).map(|row| dot(row, &b)).collect();
        let back: Vec<f64> = a.chunks(3).map(|row| dot(row, &x)).collect();
        assert_eq!(back, b);
    }
}
