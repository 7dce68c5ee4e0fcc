//! Numbers of twice the digits of a double, and 3×3 algebra with them: for inertias so thin that cofactors cancel.
//!
//! A number is a sum of two doubles. Products are split exactly by one fused multiplication and sums by Knuth's two-sum,
//! so that a condition of 1e12 costs a result none of its sixteen digits. Cost: some twenty operations for each of a
//! double; prefer `inverse_3` where a matrix is well conditioned.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// hi + lo, |lo| at most half a unit in the last place of hi.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Twofold {
    hi: f64,
    lo: f64,
}

/// a + b with its error.
fn sum(a: f64, b: f64) -> Twofold {
    let s = a + b;
    let t = s - a;
    Twofold {
        hi: s,
        lo: (a - (s - t)) + (b - t),
    }
}

impl Twofold {
    /// The nearest double.
    pub(crate) fn rounded(self) -> f64 {
        self.hi
    }

    /// √x, by one step of Newton's from the root in doubles; zero where x is not positive.
    pub(crate) fn sqrt(self) -> Twofold {
        if !(0.0 < self.hi) {
            return Twofold::default();
        }
        let root = Twofold::from(self.hi.sqrt());
        root + (self - root * root) / (root + root)
    }
}

impl From<f64> for Twofold {
    fn from(x: f64) -> Twofold {
        Twofold { hi: x, lo: 0.0 }
    }
}

impl Add for Twofold {
    type Output = Twofold;
    fn add(self, b: Twofold) -> Twofold {
        let s = sum(self.hi, b.hi);
        let t = sum(self.lo, b.lo);
        let near = sum(s.hi, s.lo + t.hi);
        sum(near.hi, near.lo + t.lo)
    }
}

impl Neg for Twofold {
    type Output = Twofold;
    fn neg(self) -> Twofold {
        Twofold {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}

impl Sub for Twofold {
    type Output = Twofold;
    fn sub(self, b: Twofold) -> Twofold {
        self + -b
    }
}

impl Mul for Twofold {
    type Output = Twofold;
    fn mul(self, b: Twofold) -> Twofold {
        let p = self.hi * b.hi;
        let error = self.hi.mul_add(b.hi, -p);
        sum(p, error + (self.hi * b.lo + self.lo * b.hi))
    }
}

impl Div for Twofold {
    type Output = Twofold;
    fn div(self, b: Twofold) -> Twofold {
        let first = Twofold::from(self.hi / b.hi);
        let rest = self - first * b;
        let second = Twofold::from(rest.hi / b.hi);
        let rest = rest - second * b;
        first + second + Twofold::from(rest.hi / b.hi)
    }
}

/// A vector.
pub(crate) type Twofold3 = [Twofold; 3];

/// The rows of a matrix, and what a thin body needs of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TwofoldMatrix(pub(crate) [Twofold3; 3]);

/// a·b.
fn dot(a: Twofold3, b: Twofold3) -> Twofold {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// a × b.
pub(crate) fn twofold_cross(a: Twofold3, b: Twofold3) -> Twofold3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

impl TwofoldMatrix {
    /// From row-major doubles.
    pub(crate) fn of_rows(m: &[f64; 9]) -> TwofoldMatrix {
        TwofoldMatrix([0, 3, 6].map(|i| [m[i], m[i + 1], m[i + 2]].map(Twofold::from)))
    }

    /// The rotation of a quaternion (w, x, y, z) that is not zero, brought to unit length.
    pub(crate) fn rotation(q: [f64; 4]) -> TwofoldMatrix {
        let [w, x, y, z] = q.map(Twofold::from);
        let length = (w * w + x * x + y * y + z * z).sqrt();
        let [w, x, y, z] = [w, x, y, z].map(|c| c / length);
        let (one, two) = (Twofold::from(1.0), Twofold::from(2.0));
        TwofoldMatrix([
            [
                one - two * (y * y + z * z),
                two * (x * y - w * z),
                two * (x * z + w * y),
            ],
            [
                two * (x * y + w * z),
                one - two * (x * x + z * z),
                two * (y * z - w * x),
            ],
            [
                two * (x * z - w * y),
                two * (y * z + w * x),
                one - two * (x * x + y * y),
            ],
        ])
    }

    /// Aᵀ.
    pub(crate) fn transpose(&self) -> TwofoldMatrix {
        TwofoldMatrix([0, 1, 2].map(|j| [0, 1, 2].map(|i| self.0[i][j])))
    }

    /// A x.
    pub(crate) fn apply(&self, x: Twofold3) -> Twofold3 {
        self.0.map(|row| dot(row, x))
    }

    /// A B Aᵀ.
    pub(crate) fn around(&self, b: &TwofoldMatrix) -> TwofoldMatrix {
        let half = self.0.map(|row| b.transpose().apply(row));
        TwofoldMatrix(half.map(|row| self.apply(row)))
    }

    /// Row-major doubles.
    pub(crate) fn rounded(&self) -> [f64; 9] {
        std::array::from_fn(|e| self.0[e / 3][e % 3].rounded())
    }

    /// The inverse by cofactors; `None` where it is singular or beyond the range of a double.
    pub(crate) fn inverse(&self) -> Option<TwofoldMatrix> {
        let [a, b, c] = self.0;
        let columns = [
            twofold_cross(b, c),
            twofold_cross(c, a),
            twofold_cross(a, b),
        ];
        let det = dot(a, columns[0]);
        let inverse = TwofoldMatrix(columns.map(|column| column.map(|x| x / det))).transpose();
        let finite = inverse.rounded().iter().all(|x| x.is_finite());
        (det.rounded() != 0.0 && finite).then_some(inverse)
    }
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
                let x = TwofoldMatrix::of_rows(&m).inverse().expect("regular");
                let x = TwofoldMatrix::of_rows(&x.rounded());
                let product = TwofoldMatrix::of_rows(&m)
                    .0
                    .map(|row| x.transpose().apply(row));
                for (i, j) in (0..9).map(|e| (e / 3, e % 3)) {
                    // Only the rounding of x is left: ε|m||x|.
                    let sizes = (0..3).map(|k| (m[3 * i + k] * x.0[k][j].rounded()).abs());
                    let (off, size) = (
                        product[i][j].rounded() - f64::from(i == j),
                        sizes.sum::<f64>(),
                    );
                    assert!(off.abs() <= f64::EPSILON * size, "{thin} {off:e} {size:e}");
                }
            }
        }
    }

    #[test]
    fn rotations_of_quaternions_are_orthonormal_to_twice_the_digits() {
        let turn = TwofoldMatrix::rotation([0.3, -0.7, 0.2, 0.61]);
        let one = turn.around(&TwofoldMatrix::of_rows(&[
            1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0,
        ]));
        for (i, j) in (0..9).map(|e| (e / 3, e % 3)) {
            let off = one.0[i][j] - Twofold::from(f64::from(i == j));
            assert!(off.rounded().abs() < 1e-30, "{off:?}");
        }
    }

    #[test]
    fn singular_matrices_have_no_inverse() {
        for singular in [
            [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            [0.0; 9],
            [f64::NAN; 9],
        ] {
            assert_eq!(TwofoldMatrix::of_rows(&singular).inverse(), None);
        }
    }
}
