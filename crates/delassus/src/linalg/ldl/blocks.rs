//! Small dense blocks of lanes: entry (i, j) is `[f64; L]`, one number for each of L matrices.

use super::Lane;

#[inline(always)]
fn sub_product<const L: usize>(acc: &mut Lane<L>, a: &Lane<L>, b: &Lane<L>) {
    for l in 0..L {
        acc[l] -= a[l] * b[l];
    }
}

#[inline(always)]
fn add_product<const L: usize>(acc: &mut Lane<L>, a: &Lane<L>, b: &Lane<L>) {
    for l in 0..L {
        acc[l] += a[l] * b[l];
    }
}

/// `A ← sign (sign A)⁻¹` for a symmetric block of which the lower triangle is given; rows whose pivot is not above
/// `floor` get zeros, which leaves their unknown at zero. True if there were any in any lane.
#[inline(always)]
pub(super) fn invert<const L: usize>(
    a: &mut [Lane<L>],
    n: usize,
    sign: f64,
    floor: &[Lane<L>],
) -> bool {
    match (n, a.as_mut_array::<9>(), floor.as_array::<3>()) {
        (3, Some(a), Some(floor)) => invert_any(a, 3, sign, floor),
        _ => invert_any(a, n, sign, floor),
    }
}

#[inline(always)]
fn invert_any<const L: usize>(a: &mut [Lane<L>], n: usize, sign: f64, floor: &[Lane<L>]) -> bool {
    let mut dropped = 0.0;
    // L D Lᵀ: the lower triangle becomes L, the diagonal 1/D.
    for j in 0..n {
        let mut pivot = a[j * n + j].map(|x| sign * x);
        for k in 0..j {
            // d_k l_jk² with l_jk d_k kept above the diagonal.
            let (l, ld) = (a[j * n + k], a[k * n + j]);
            sub_product(&mut pivot, &l, &ld);
        }
        let mut inverse = [0.0; L];
        for l in 0..L {
            let good = floor[j][l] < pivot[l];
            inverse[l] = if good { 1.0 / pivot[l] } else { 0.0 };
            dropped += f64::from(!good);
        }
        a[j * n + j] = inverse;
        for i in j + 1..n {
            let mut entry = a[i * n + j].map(|x| sign * x);
            for k in 0..j {
                let (l, ld) = (a[i * n + k], a[k * n + j]);
                sub_product(&mut entry, &l, &ld);
            }
            // A dropped column takes no part in what follows.
            for l in 0..L {
                let kept = if inverse[l] == 0.0 { 0.0 } else { entry[l] };
                a[j * n + i][l] = kept;
                a[i * n + j][l] = kept * inverse[l];
            }
        }
    }
    // L⁻¹ below the diagonal.
    for j in 0..n {
        for i in j + 1..n {
            let mut entry = a[i * n + j].map(|x| -x);
            for k in j + 1..i {
                let (l, inverse) = (a[i * n + k], a[k * n + j]);
                sub_product(&mut entry, &l, &inverse);
            }
            a[i * n + j] = entry;
        }
    }
    // L⁻ᵀ D⁻¹ L⁻¹, upper triangle first, then mirrored.
    for i in 0..n {
        for j in i..n {
            let mut sum = if i == j {
                a[j * n + j]
            } else {
                let (d, l) = (a[j * n + j], a[j * n + i]);
                std::array::from_fn(|lane| d[lane] * l[lane])
            };
            for k in j + 1..n {
                let (d, left, right) = (a[k * n + k], a[k * n + i], a[k * n + j]);
                let scaled: Lane<L> = std::array::from_fn(|lane| d[lane] * left[lane]);
                add_product(&mut sum, &scaled, &right);
            }
            // Later rows read neither this diagonal nor anything above theirs.
            a[i * n + j] = sum.map(|x| sign * x);
        }
    }
    for i in 0..n {
        for j in 0..i {
            a[i * n + j] = a[j * n + i];
        }
    }
    0.0 < dropped
}

/// A block of lanes, row by row.
#[derive(Clone, Copy)]
pub(super) struct Block<'a, const L: usize> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: &'a [Lane<L>],
}

impl<const L: usize> Block<'_, L> {
    /// W = K P for a symmetric P.
    #[inline(always)]
    pub(super) fn times_symmetric(self, p: &[Lane<L>], w: &mut [Lane<L>]) {
        if let ((3, 3), Some(values), Some(p), Some(w)) = (
            (self.rows, self.columns),
            self.values.as_array::<9>(),
            p.as_array::<9>(),
            w.as_mut_array::<9>(),
        ) {
            return times_any(values, p, (3, 3), w);
        }
        times_any(self.values, p, (self.rows, self.columns), w);
    }

    /// A −= W Kᵀ, where K has as many columns; of a diagonal block the lower triangle alone.
    #[inline(always)]
    pub(super) fn subtract_from(self, a: &mut [Lane<L>], k: Block<'_, L>, lower: bool) {
        let sizes = (self.rows, k.rows, self.columns);
        if let ((3, 3, 3), Some(a), Some(w), Some(k)) = (
            sizes,
            a.as_mut_array::<9>(),
            self.values.as_array::<9>(),
            k.values.as_array::<9>(),
        ) {
            return update_any(a, w, k, (3, 3, 3), lower);
        }
        update_any(a, self.values, k.values, sizes, lower);
    }

    /// y −= W x.
    #[inline(always)]
    pub(super) fn subtract_product(self, x: &[Lane<L>], y: &mut [Lane<L>]) {
        for i in 0..self.rows {
            for j in 0..self.columns {
                sub_product(&mut y[i], &self.values[i * self.columns + j], &x[j]);
            }
        }
    }

    /// y −= Wᵀx.
    #[inline(always)]
    pub(super) fn subtract_transposed_product(self, x: &[Lane<L>], y: &mut [Lane<L>]) {
        for i in 0..self.rows {
            for j in 0..self.columns {
                sub_product(&mut y[j], &self.values[i * self.columns + j], &x[i]);
            }
        }
    }
}

#[inline(always)]
fn times_any<const L: usize>(
    k: &[Lane<L>],
    p: &[Lane<L>],
    (m, n): (usize, usize),
    w: &mut [Lane<L>],
) {
    for i in 0..m {
        for j in 0..n {
            let mut sum = [0.0; L];
            for t in 0..n {
                add_product(&mut sum, &k[i * n + t], &p[j * n + t]);
            }
            w[i * n + j] = sum;
        }
    }
}

#[inline(always)]
fn update_any<const L: usize>(
    a: &mut [Lane<L>],
    w: &[Lane<L>],
    k: &[Lane<L>],
    (m, n, r): (usize, usize, usize),
    lower: bool,
) {
    for i in 0..m {
        for j in 0..if lower { i + 1 } else { n } {
            let mut sum = a[i * n + j];
            for t in 0..r {
                sub_product(&mut sum, &w[i * r + t], &k[j * r + t]);
            }
            a[i * n + j] = sum;
        }
    }
}

/// x ← P x for a symmetric P; `y` is work space of n lanes.
#[inline(always)]
pub(super) fn mul_symmetric<const L: usize>(p: &[Lane<L>], x: &mut [Lane<L>], y: &mut [Lane<L>]) {
    let n = x.len();
    for i in 0..n {
        let mut sum = [0.0; L];
        for j in 0..n {
            add_product(&mut sum, &p[i * n + j], &x[j]);
        }
        y[i] = sum;
    }
    x.copy_from_slice(&y[..n]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    fn product(a: &[Lane<2>], b: &[Lane<2>], n: usize, lane: usize) -> Vec<f64> {
        let entry = |e: usize| (0..n).map(move |t| a[e / n * n + t][lane] * b[t * n + e % n][lane]);
        (0..n * n).map(|e| entry(e).sum()).collect()
    }

    #[test]
    fn inverse_times_block_is_one_in_every_lane() {
        let mut random = Random::new(1);
        for n in 1..8 {
            for sign in [1.0, -1.0] {
                let b: Vec<Lane<2>> = (0..n * n)
                    .map(|_| std::array::from_fn(|_| random.range(-1.0, 1.0)))
                    .collect();
                let a: Vec<Lane<2>> = (0..n * n)
                    .map(|e| {
                        std::array::from_fn(|l| {
                            let dot: f64 = (0..n)
                                .map(|t| b[e / n * n + t][l] * b[e % n * n + t][l])
                                .sum();
                            sign * (dot + f64::from(e / n == e % n))
                        })
                    })
                    .collect();
                let mut p = a.clone();
                assert!(!invert(&mut p, n, sign, &vec![[1e-12; 2]; n]));
                for lane in 0..2 {
                    for (e, x) in product(&a, &p, n, lane).into_iter().enumerate() {
                        assert!((x - f64::from(e / n == e % n)).abs() < 1e-12, "{n} {e} {x}");
                    }
                }
            }
        }
    }

    #[test]
    fn dependent_row_gets_zeros_and_the_rest_is_inverted() {
        // Rows 0 and 2 are the same.
        let a = [4.0, 1.0, 4.0, 1.0, 3.0, 1.0, 4.0, 1.0, 4.0];
        let mut p: Vec<Lane<1>> = a.iter().map(|x| [*x]).collect();
        assert!(invert(&mut p, 3, 1.0, &[[1e-10]; 3]));
        let expected = [3.0, -1.0, 0.0, -1.0, 4.0, 0.0, 0.0, 0.0, 0.0];
        for (p, e) in p.iter().zip(expected) {
            assert!((p[0] - e / 11.0).abs() < 1e-15, "{p:?} {e}");
        }
    }
}
