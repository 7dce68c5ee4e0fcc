//! Vectors and row-major matrices of any size, and the tangents of a normal.

use glam::DVec3;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

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
}
