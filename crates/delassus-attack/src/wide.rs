//! Numbers of about 32 digits: a sum of two doubles that do not overlap.
//!
//! Sums and products are exact up to their last digits by the error terms of Knuth and Dekker; the product's error
//! comes from one fused multiplication.

use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A number hi + lo with |lo| at most half a unit in the last place of hi.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wide {
    hi: f64,
    lo: f64,
}

/// a + b = s + e exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// The same where |a| is not below |b|.
fn quick_sum(a: f64, b: f64) -> Wide {
    let s = a + b;
    Wide {
        hi: s,
        lo: b - (s - a),
    }
}

impl Wide {
    /// Zero.
    pub(crate) const ZERO: Wide = Wide { hi: 0.0, lo: 0.0 };
    /// One.
    pub(crate) const ONE: Wide = Wide { hi: 1.0, lo: 0.0 };
    /// 2π to 32 digits.
    const TURN: Wide = Wide {
        hi: std::f64::consts::TAU,
        lo: 2.449_293_598_294_706_4e-16,
    };

    /// The nearest double.
    pub(crate) fn rounded(self) -> f64 {
        self.hi
    }

    /// |x|.
    pub(crate) fn abs(self) -> Wide {
        if self.hi < 0.0 { -self } else { self }
    }

    /// The larger of two.
    pub(crate) fn max(self, other: Wide) -> Wide {
        if self < other { other } else { self }
    }

    /// The smaller of two.
    pub(crate) fn min(self, other: Wide) -> Wide {
        if other < self { other } else { self }
    }

    /// √x by one step of Newton from the double root; zero below zero.
    pub(crate) fn sqrt(self) -> Wide {
        if !(0.0 < self.hi) {
            return Wide::ZERO;
        }
        let root = Wide::from(self.hi.sqrt());
        // r + (x − r²)/(2r)
        root + (self - root * root) / (root + root)
    }

    /// (sin x, cos x) by their series, of an angle reduced to half a turn.
    pub(crate) fn sin_cos(self) -> (Wide, Wide) {
        let turns = (self / Wide::TURN).hi.round();
        let x = self - Wide::TURN * Wide::from(turns);
        let (mut sin, mut cos) = (Wide::ZERO, Wide::ZERO);
        let mut term = Wide::ONE;
        // The sum of xⁿ/n!, with the signs + + − −; π³⁶/36! is below 1e-23 of the last digit.
        for n in 0..44_u32 {
            let part = if n % 4 < 2 { term } else { -term };
            if n % 2 == 0 {
                cos += part;
            } else {
                sin += part;
            }
            term = term * x / Wide::from(f64::from(n + 1));
        }
        (sin, cos)
    }

    /// The angle of step j of n around a turn.
    pub(crate) fn part_of_turn(j: u32, n: u32) -> Wide {
        Wide::TURN * Wide::from(f64::from(j)) / Wide::from(f64::from(n))
    }
}

impl From<f64> for Wide {
    fn from(x: f64) -> Wide {
        Wide { hi: x, lo: 0.0 }
    }
}

impl Add for Wide {
    type Output = Wide;
    fn add(self, b: Wide) -> Wide {
        let (s, e) = two_sum(self.hi, b.hi);
        let (t, f) = two_sum(self.lo, b.lo);
        let near = quick_sum(s, e + t);
        quick_sum(near.hi, near.lo + f)
    }
}

impl Neg for Wide {
    type Output = Wide;
    fn neg(self) -> Wide {
        Wide {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}

impl Sub for Wide {
    type Output = Wide;
    fn sub(self, b: Wide) -> Wide {
        self + -b
    }
}

impl Mul for Wide {
    type Output = Wide;
    fn mul(self, b: Wide) -> Wide {
        let p = self.hi * b.hi;
        let e = self.hi.mul_add(b.hi, -p);
        quick_sum(p, e + (self.hi * b.lo + self.lo * b.hi))
    }
}

impl Div for Wide {
    type Output = Wide;
    fn div(self, b: Wide) -> Wide {
        // Three digits of long division, each a double.
        let first = self.hi / b.hi;
        let rest = self - b * Wide::from(first);
        let second = rest.hi / b.hi;
        let rest = rest - b * Wide::from(second);
        let third = rest.hi / b.hi;
        let sum = quick_sum(first, second);
        sum + Wide::from(third)
    }
}

impl AddAssign for Wide {
    fn add_assign(&mut self, b: Wide) {
        *self = *self + b;
    }
}

impl SubAssign for Wide {
    fn sub_assign(&mut self, b: Wide) {
        *self = *self - b;
    }
}

impl std::iter::Sum for Wide {
    fn sum<I: Iterator<Item = Wide>>(terms: I) -> Wide {
        terms.fold(Wide::ZERO, Add::add)
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Wide) -> Option<Ordering> {
        match self.hi.partial_cmp(&other.hi) {
            Some(Ordering::Equal) => self.lo.partial_cmp(&other.lo),
            order => order,
        }
    }
}

/// Σ a_i b_i.
pub(crate) fn dot(a: &[Wide], b: &[Wide]) -> Wide {
    a.iter().zip(b).map(|(a, b)| *a * *b).sum()
}

/// a × b.
pub(crate) fn cross(a: [Wide; 3], b: [Wide; 3]) -> [Wide; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// a + b.
pub(crate) fn plus(a: [Wide; 3], b: [Wide; 3]) -> [Wide; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// s a.
pub(crate) fn scaled(a: [Wide; 3], s: Wide) -> [Wide; 3] {
    a.map(|x| x * s)
}

/// The rows of a 3 × 3 matrix.
pub(crate) type Matrix3 = [[Wide; 3]; 3];

/// A x.
pub(crate) fn apply(a: &Matrix3, x: [Wide; 3]) -> [Wide; 3] {
    [dot(&a[0], &x), dot(&a[1], &x), dot(&a[2], &x)]
}

/// A B.
pub(crate) fn times(a: &Matrix3, b: &Matrix3) -> Matrix3 {
    let t = transposed(b);
    a.map(|row| [dot(&row, &t[0]), dot(&row, &t[1]), dot(&row, &t[2])])
}

/// Aᵀ.
pub(crate) fn transposed(a: &Matrix3) -> Matrix3 {
    let column = |j: usize| [a[0][j], a[1][j], a[2][j]];
    [column(0), column(1), column(2)]
}

/// The rotation of a quaternion (w, x, y, z), which is brought to unit length first; `None` for one of length zero.
pub(crate) fn rotation(q: [Wide; 4]) -> Option<Matrix3> {
    let square = dot(&q, &q);
    if !(Wide::ZERO < square) {
        return None;
    }
    let length = square.sqrt();
    let [w, x, y, z] = q.map(|c| c / length);
    let two = Wide::from(2.0);
    Some([
        [
            Wide::ONE - two * (y * y + z * z),
            two * (x * y - w * z),
            two * (x * z + w * y),
        ],
        [
            two * (x * y + w * z),
            Wide::ONE - two * (x * x + z * z),
            two * (y * z - w * x),
        ],
        [
            two * (x * z - w * y),
            two * (y * z + w * x),
            Wide::ONE - two * (x * x + y * y),
        ],
    ])
}

/// The inverse of a symmetric positive definite matrix of n rows by Cholesky; `None` where it is not.
pub(crate) fn inverse(a: &[Wide], n: usize) -> Option<Vec<Wide>> {
    // The mean with the transpose: files are symmetric up to rounding.
    let half = Wide::from(0.5);
    let at = |i: usize, j: usize| half * (a[i * n + j] + a[j * n + i]);
    let mut l = vec![Wide::ZERO; n * n];
    for i in 0..n {
        for j in 0..=i {
            let sum = at(i, j) - dot(&l[i * n..i * n + j], &l[j * n..j * n + j]);
            l[i * n + j] = match i == j {
                true if Wide::ZERO < sum => sum.sqrt(),
                true => return None,
                false => sum / l[j * n + j],
            };
        }
    }
    let mut inverse = vec![Wide::ZERO; n * n];
    for column in 0..n {
        let mut x = vec![Wide::ZERO; n];
        x[column] = Wide::ONE;
        for i in 0..n {
            x[i] = (x[i] - dot(&l[i * n..i * n + i], &x[..i])) / l[i * n + i];
        }
        for i in (0..n).rev() {
            for k in i + 1..n {
                let part = l[k * n + i] * x[k];
                x[i] -= part;
            }
            x[i] = x[i] / l[i * n + i];
        }
        for (i, x) in x.into_iter().enumerate() {
            inverse[i * n + column] = x;
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few units in the last of 32 digits.
    const TIGHT: f64 = 1e-30;

    #[test]
    fn sums_keep_what_doubles_lose() {
        let big = Wide::from(1e16);
        let sum = big + Wide::from(1.0) - big;
        assert_eq!(sum.rounded(), 1.0);
        let third = Wide::ONE / Wide::from(3.0);
        assert!((third * Wide::from(3.0) - Wide::ONE).abs().rounded() < TIGHT);
        let root = Wide::from(2.0).sqrt();
        assert!((root * root - Wide::from(2.0)).abs().rounded() < TIGHT);
    }

    #[test]
    fn sine_and_cosine_lie_on_the_circle_and_agree_with_doubles() {
        for x in [-9.0, -3.1, -0.3, 0.0, 1e-9, 1.0, 2.0, 3.13, 7.5] {
            let (s, c) = Wide::from(x).sin_cos();
            assert!((s * s + c * c - Wide::ONE).abs().rounded() < TIGHT);
            assert!((s.rounded() - x.sin()).abs() < 1e-15);
            assert!((c.rounded() - x.cos()).abs() < 1e-15);
        }
    }

    #[test]
    fn an_inverse_undoes_a_matrix_that_doubles_cannot_invert() {
        // The Hilbert matrix of eight rows has a condition of 1.5e10.
        let n = 8;
        let at = |e: usize| Wide::ONE / Wide::from((e / n + e % n + 1) as f64);
        let a: Vec<Wide> = (0..n * n).map(at).collect();
        let inverse = inverse(&a, n).expect("it is positive definite");
        for i in 0..n {
            for j in 0..n {
                let column: Vec<Wide> = (0..n).map(|k| inverse[k * n + j]).collect();
                let found = dot(&a[i * n..(i + 1) * n], &column).rounded();
                assert!((found - f64::from(i == j)).abs() < 1e-18, "{i} {j} {found}");
            }
        }
    }
}
