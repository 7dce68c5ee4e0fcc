//! Small dense algebra shared by all layers: the glam types of the interface, row-major kernels for
//! matrices of run-time size, and the closed-form eigenvalues the contact laws need.

pub(crate) mod parallel;
#[cfg(not(feature = "parallel"))]
mod sequential;
pub(crate) mod simd;

pub use glam::{DMat3, DQuat, DVec3};

/// Two unit tangents of a unit normal, right-handed: `t1 × t2 = n`.
///
/// Branch-free but for one sign, and continuous except at n = −z.
pub fn tangents(n: DVec3) -> (DVec3, DVec3) {
    let s = 1.0_f64.copysign(n.z);
    let a = -1.0 / (s + n.z);
    let b = n.x * n.y * a;
    (
        DVec3::new(1.0 + s * n.x * n.x * a, s * b, -s * n.x),
        DVec3::new(b, s + n.y * n.y * a, -n.y),
    )
}

/// y += A x for a row-major A with `y.len()` rows and `x.len()` columns.
#[inline(always)]
pub(crate) fn mul_add(a: &[f64], x: &[f64], y: &mut [f64]) {
    if let Some(x) = x.as_array::<6>() {
        for (row, yi) in a.as_chunks::<6>().0.iter().zip(y) {
            *yi += dot_6(row, x);
        }
        return;
    }
    for (row, yi) in a.chunks_exact(x.len()).zip(y) {
        *yi += dot(row, x);
    }
}

/// y += Aᵀ x for a row-major A with `x.len()` rows and `y.len()` columns.
#[inline(always)]
pub(crate) fn mul_transposed_add(a: &[f64], x: &[f64], y: &mut [f64]) {
    if let Some(y) = y.as_mut_array::<6>() {
        // Three rows, the contact, are gathered before memory is touched.
        if let ([r0, r1, r2], &[x0, x1, x2]) = (a.as_chunks::<6>().0, x) {
            for j in 0..6 {
                y[j] += r0[j] * x0 + r1[j] * x1 + r2[j] * x2;
            }
            return;
        }
        for (row, xi) in a.as_chunks::<6>().0.iter().zip(x) {
            for j in 0..6 {
                y[j] += row[j] * xi;
            }
        }
        return;
    }
    for (row, xi) in a.chunks_exact(y.len()).zip(x) {
        for (yj, aij) in y.iter_mut().zip(row) {
            *yj += aij * xi;
        }
    }
}

/// Inner product of six, in two halves that do not wait for each other.
#[inline(always)]
pub(crate) fn dot_6(a: &[f64; 6], b: &[f64; 6]) -> f64 {
    (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
}

/// Inner product, summed from the first entry to the last.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Inner product of long vectors, in four sums that do not wait for each other; the longer one is cut.
#[inline]
pub(crate) fn dot_unrolled(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a4, a_rest) = a[..n].as_chunks::<4>();
    let (b4, b_rest) = b[..n].as_chunks::<4>();
    let mut sum = [0.0; 4];
    for (x, y) in a4.iter().zip(b4) {
        for i in 0..4 {
            sum[i] += x[i] * y[i];
        }
    }
    (sum[0] + sum[1]) + (sum[2] + sum[3]) + dot(a_rest, b_rest)
}

/// Euclidean norm.
pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Largest absolute entry; not-a-number counts as infinite so that no comparison hides it.
pub(crate) fn max_abs(a: &[f64]) -> f64 {
    // Four at a time, which the processor compares together. 0·x is zero unless x is infinite or not a number.
    let (fours, rest) = a.as_chunks::<4>();
    let (mut top, mut flaw) = ([0.0_f64; 4], [0.0_f64; 4]);
    for four in fours {
        for i in 0..4 {
            let x = four[i].abs();
            top[i] = if top[i] < x { x } else { top[i] };
            flaw[i] += 0.0 * x;
        }
    }
    for x in rest {
        top[0] = if top[0] < x.abs() { x.abs() } else { top[0] };
        flaw[0] += 0.0 * x;
    }
    if flaw.iter().any(|x| x.is_nan()) {
        return f64::INFINITY;
    }
    top.iter().fold(0.0, |m, x| x.max(m))
}

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

/// Solves L Lᵀ x = b in place.
pub(crate) fn cholesky_solve(l: &[f64], n: usize, x: &mut [f64]) {
    for i in 0..n {
        x[i] = (x[i] - dot(&l[i * n..i * n + i], &x[..i])) / l[i * n + i];
    }
    for i in (0..n).rev() {
        x[i] /= l[i * n + i];
        let xi = x[i];
        for j in 0..i {
            x[j] -= l[i * n + j] * xi;
        }
    }
}

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

/// SplitMix64: the seeded generator behind shuffled orders and built-in problems, the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that always gives the same numbers for the same seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [lo, hi).
    pub fn range(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform among 0..n (n > 0).
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A vector with components uniform in [−1, 1).
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(
            self.range(-1.0, 1.0),
            self.range(-1.0, 1.0),
            self.range(-1.0, 1.0),
        )
    }

    /// A uniformly random order of the entries.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tangents_are_right_handed_everywhere() {
        let mut random = Random::new(1);
        let poles = [DVec3::Z, -DVec3::Z, DVec3::X, -DVec3::Y];
        for n in (0..1000).map(|_| random.vector().normalize()).chain(poles) {
            let (t1, t2) = tangents(n);
            assert!((t1.cross(t2) - n).length() < 1e-12, "{n}");
            assert!(t1.dot(t2).abs() < 1e-12 && (t1.length() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn largest_entry_is_found_wherever_it_stands_and_no_flaw_is_hidden() {
        for n in 1..12 {
            for at in 0..n {
                let mut a = vec![-0.5; n];
                a[at] = -3.0;
                assert_eq!(max_abs(&a), 3.0);
                for flaw in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    a[at] = flaw;
                    assert_eq!(max_abs(&a), f64::INFINITY);
                }
            }
        }
        assert_eq!(max_abs(&[]), 0.0);
    }

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
}
