//! The inverse of a 3×3 matrix in twice the digits of a double: for inertias so thin that cofactors cancel.
//!
//! A number is a sum of two doubles. Products are split exactly by one fused multiplication and sums by Knuth's two-sum,
//! so that of a condition of 1e12 no digit of the result is lost. Cost: about 200 additions and multiplications; prefer
//! `inverse_3` where the matrix is well conditioned.

/// hi + lo, |lo| at most half a unit in the last place of hi.
type Twofold = (f64, f64);

/// a + b with its error.
fn sum(a: f64, b: f64) -> Twofold {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

fn add(a: Twofold, b: Twofold) -> Twofold {
    let (s, e) = sum(a.0, b.0);
    let (t, f) = sum(a.1, b.1);
    let (s, e) = sum(s, e + t);
    sum(s, e + f)
}

/// a b with its error.
fn product(a: f64, b: f64) -> Twofold {
    let p = a * b;
    (p, a.mul_add(b, -p))
}

fn times(a: Twofold, b: f64) -> Twofold {
    let (p, e) = product(a.0, b);
    sum(p, e + a.1 * b)
}

/// a / b, rounded: one correction of the quotient of the leading parts.
fn quotient(a: Twofold, b: Twofold) -> f64 {
    let first = a.0 / b.0;
    let rest = add(a, times(b, -first));
    first + rest.0 / b.0
}

/// The inverse of a row-major 3×3 matrix, every entry right to its last digits; `None` where it is singular or beyond
/// the range of a double.
pub(crate) fn accurate_inverse_3(m: &[f64; 9]) -> Option<[f64; 9]> {
    // a d − b c
    let minor =
        |a: usize, d: usize, b: usize, c: usize| add(product(m[a], m[d]), product(-m[b], m[c]));
    let cofactors = [
        minor(4, 8, 5, 7),
        minor(2, 7, 1, 8),
        minor(1, 5, 2, 4),
        minor(5, 6, 3, 8),
        minor(0, 8, 2, 6),
        minor(2, 3, 0, 5),
        minor(3, 7, 4, 6),
        minor(1, 6, 0, 7),
        minor(0, 4, 1, 3),
    ];
    let det = add(
        add(times(cofactors[0], m[0]), times(cofactors[3], m[1])),
        times(cofactors[6], m[2]),
    );
    let inverse = cofactors.map(|c| quotient(c, det));
    (det.0 != 0.0 && inverse.iter().all(|x| x.is_finite())).then_some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{DMat3, DQuat, DVec3, Random};

    /// The inverse of a rod seen from anywhere, times the matrix, is 1 to the digits that its own rounding leaves.
    #[test]
    fn thin_inertias_are_inverted_to_their_last_digits() {
        let mut random = Random::new(3);
        for thin in [1.0, 1e-4, 1e-8, 1e-12] {
            for _ in 0..50 {
                let turn = DQuat::from_scaled_axis(random.vector() * 3.0);
                let turn = DMat3::from_quat(turn);
                let own = DMat3::from_diagonal(DVec3::new(thin, 1.0, 1.0));
                let world = turn * own * turn.transpose();
                let m = ((world + world.transpose()) * 0.5).to_cols_array();
                let x = accurate_inverse_3(&m).expect("it is regular");
                for (i, j) in (0..9).map(|e| (e / 3, e % 3)) {
                    // Σ m_ik x_kj in twice the digits, so that only the rounding of x is left: ε|m||x|.
                    let terms = (0..3).map(|k| product(m[3 * i + k], x[3 * k + j]));
                    let found = terms.fold((0.0, 0.0), add).0;
                    let scale: f64 = (0..3).map(|k| (m[3 * i + k] * x[3 * k + j]).abs()).sum();
                    let off = (found - f64::from(i == j)).abs();
                    assert!(off <= f64::EPSILON * scale, "{thin} {off:e} {scale:e}");
                }
            }
        }
    }

    #[test]
    fn singular_matrices_have_no_inverse() {
        let singular = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(accurate_inverse_3(&singular), None);
        assert_eq!(accurate_inverse_3(&[0.0; 9]), None);
        assert_eq!(accurate_inverse_3(&[f64::NAN; 9]), None);
    }
}
