//! Cholesky's factor of a dense symmetric positive definite matrix, A = L Lᵀ, row by row and in place.
//!
//! For matrices that must be definite, such as masses and inertias: anything else is an error that names the pivot.
//! Cost: n³/6 multiplications and as many additions; sums go in four lanes, the same on every machine.
//! Prefer [`super::ranked`] for the matrices of constraints, whose rows may depend on each other.

use std::cell::RefCell;

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

thread_local! {
    /// Rows of [`sparse_cholesky`] in fours: a step of a robot factors one matrix. It is no state: every factor overwrites
    /// it.
    static FOURS: RefCell<Vec<[f64; 4]>> = const { RefCell::new(Vec::new()) };
}

/// The same for a matrix of which many entries of L are zero, as that of a tree whose leaves come first: what has no
/// part in a row is left out, and the rest is taken from whole rows at once. The upper part becomes Lᵀ.
pub(crate) fn sparse_cholesky(a: &mut [f64], n: usize) -> Result<(), (usize, f64)> {
    FOURS.with_borrow_mut(|room| pulp::Arch::new().dispatch(Sparse { a, n, room }))
}

struct Sparse<'a> {
    a: &'a mut [f64],
    n: usize,
    room: &'a mut Vec<[f64; 4]>,
}

impl pulp::WithSimd for Sparse<'_> {
    type Output = Result<(), (usize, f64)>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Result<(), (usize, f64)> {
        let (a, n, room) = (self.a, self.n, self.room);
        if n == 0 {
            return Ok(());
        }
        let fours = n.div_ceil(4);
        room.clear();
        room.resize(n * fours, [0.0; 4]);
        for (row, given) in room.chunks_exact_mut(fours).zip(a.chunks_exact(n)) {
            row.as_flattened_mut()[..n].copy_from_slice(given);
        }
        // Row j of Lᵀ is (a_jk − Σ_i l_ji l_ki)/l_jj: each row is taken from all after it. What stands before the
        // diagonal is changed with its four and read by nobody.
        for j in 0..n {
            let (until, after) = room.split_at_mut((j + 1) * fours);
            let own = &mut until[j * fours..];
            let (pivot, given) = (own[j / 4][j % 4], a[j * n + j]);
            if !(pivot > 1e-15 * given.abs() && pivot >= f64::MIN_POSITIVE) {
                return Err((j, pivot));
            }
            let root = pivot.sqrt();
            let inverse = 1.0 / root;
            for four in &mut own[j / 4..] {
                four.iter_mut().for_each(|x| *x *= inverse);
            }
            own[j / 4][j % 4] = root;
            for (i, row) in (j + 1..n).zip(after.chunks_exact_mut(fours)) {
                let factor = own[i / 4][i % 4];
                if factor == 0.0 {
                    continue;
                }
                for (x, l) in row[i / 4..].iter_mut().zip(&own[i / 4..]) {
                    let (mut rest, l) = (*x, *l);
                    for lane in 0..4 {
                        rest[lane] -= factor * l[lane];
                    }
                    *x = rest;
                }
            }
        }
        for (i, row) in room.chunks_exact(fours).enumerate() {
            let row = row.as_flattened();
            for j in i..n {
                a[i * n + j] = row[j];
                a[j * n + i] = row[j];
            }
        }
        Ok(())
    }
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

/// Solves L Lᵀ x = b in place with the factor of [`sparse_cholesky`]: products with each unknown are taken from all others
/// at once, and no sum waits for the one before.
pub(crate) fn sparse_solve(l: &[f64], n: usize, x: &mut [f64]) {
    pulp::Arch::new().dispatch(SparseSolve { l, n, x });
}

struct SparseSolve<'a> {
    l: &'a [f64],
    n: usize,
    x: &'a mut [f64],
}

impl pulp::WithSimd for SparseSolve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let (l, n, x) = (self.l, self.n, self.x);
        forward(l, 0, x);
        for j in (0..n).rev() {
            let row = &l[j * n..(j + 1) * n];
            x[j] /= row[j];
            let own = x[j];
            for (x, l) in x[..j].iter_mut().zip(&row[..j]) {
                *x -= l * own;
            }
        }
    }
}

/// Solves L x = b in place, where b is zero before its `first` number, with the factor of [`sparse_cholesky`].
pub(crate) fn cholesky_forward_from(l: &[f64], first: usize, x: &mut [f64]) {
    pulp::Arch::new().dispatch(ForwardFrom { l, first, x });
}

struct ForwardFrom<'a> {
    l: &'a [f64],
    first: usize,
    x: &'a mut [f64],
}

impl pulp::WithSimd for ForwardFrom<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        forward(self.l, self.first, self.x);
    }
}

/// L x = b in place, b zero before its first number, with L and Lᵀ in one square.
#[inline(always)]
fn forward(l: &[f64], first: usize, x: &mut [f64]) {
    let n = x.len();
    for j in first..n {
        if x[j] == 0.0 {
            continue;
        }
        let row = &l[j * n..(j + 1) * n];
        x[j] /= row[j];
        let own = x[j];
        for (x, l) in x[j + 1..].iter_mut().zip(&row[j + 1..]) {
            *x -= l * own;
        }
    }
}

/// Solves L x = b in place for several b, one after the other in `rows`, four side by side, with the factor of
/// [`sparse_cholesky`].
pub(crate) fn cholesky_forward_rows(l: &[f64], n: usize, rows: &mut [f64]) {
    pulp::Arch::new().dispatch(ForwardRows { l, n, rows });
}

struct ForwardRows<'a> {
    l: &'a [f64],
    n: usize,
    rows: &'a mut [f64],
}

/// Unknowns of the four right-hand sides that stand side by side.
const SIDE_BY_SIDE: usize = 64;

impl pulp::WithSimd for ForwardRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let n = self.n;
        let mut fours = [[0.0; 4]; SIDE_BY_SIDE];
        let Some(x) = fours.get_mut(..n) else {
            for row in self.rows.chunks_exact_mut(n) {
                cholesky_forward(self.l, n, row);
            }
            return;
        };
        // One alone, as a limit has it, goes without company.
        if self.rows.len() == n {
            return forward(self.l, 0, self.rows);
        }
        for rows in self.rows.chunks_mut(4 * n) {
            for (lane, row) in rows.chunks_exact(n).enumerate() {
                for (x, b) in x.iter_mut().zip(row) {
                    x[lane] = *b;
                }
            }
            for lane in rows.len() / n..4 {
                x.iter_mut().for_each(|x| x[lane] = 0.0);
            }
            forward_fours(self.l, n, x);
            for (lane, row) in rows.chunks_exact_mut(n).enumerate() {
                for (b, x) in row.iter_mut().zip(&*x) {
                    *b = x[lane];
                }
            }
        }
    }
}

/// L x = b in place for four b side by side, with L and Lᵀ in one square.
#[inline(always)]
fn forward_fours(l: &[f64], n: usize, x: &mut [[f64; 4]]) {
    // Zeros at the start stay zeros.
    let first = x.iter().position(|x| *x != [0.0; 4]).unwrap_or(n);
    for j in first..n {
        let (until, after) = x.split_at_mut(j + 1);
        let own = &mut until[j];
        if *own == [0.0; 4] {
            continue;
        }
        let inverse = 1.0 / l[j * n + j];
        own.iter_mut().for_each(|x| *x *= inverse);
        take_out(after, &l[j * n + j + 1..(j + 1) * n], *own);
    }
}

/// x ← x − factors own. Fours are taken out of memory whole: the compiler cannot know that they are apart.
#[inline(always)]
fn take_out(x: &mut [[f64; 4]], factors: &[f64], own: [f64; 4]) {
    for (x, factor) in x.iter_mut().zip(factors) {
        let mut rest = *x;
        for lane in 0..4 {
            rest[lane] -= factor * own[lane];
        }
        *x = rest;
    }
}

/// Solves L Lᵀ x = b in place for four b side by side, with the factor of [`sparse_cholesky`].
pub(crate) fn sparse_solve_fours(l: &[f64], x: &mut [[f64; 4]]) {
    pulp::Arch::new().dispatch(SolveFours { l, x });
}

struct SolveFours<'a> {
    l: &'a [f64],
    x: &'a mut [[f64; 4]],
}

impl pulp::WithSimd for SolveFours<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let (l, n, x) = (self.l, self.x.len(), self.x);
        forward_fours(l, n, x);
        for j in (0..n).rev() {
            let row = &l[j * n..(j + 1) * n];
            let inverse = 1.0 / row[j];
            x[j].iter_mut().for_each(|x| *x *= inverse);
            let own = x[j];
            take_out(&mut x[..j], &row[..j], own);
        }
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
    fn zeros_change_nothing_of_a_factor() {
        let mut random = Random::new(9);
        for n in 1..12 {
            // Row i is coupled with some before it only.
            let mut a = vec![0.0; n * n];
            for i in 0..n {
                a[i * n + i] = 4.0 + i as f64;
                for j in (0..i).filter(|j| (i + j) % 3 == 0) {
                    a[i * n + j] = random.range(-1.0, 1.0);
                    a[j * n + i] = a[i * n + j];
                }
            }
            let (mut one, mut other) = (a.clone(), a);
            assert_eq!(cholesky(&mut one, n), Ok(()));
            assert_eq!(sparse_cholesky(&mut other, n), Ok(()));
            for i in 0..n {
                for j in 0..=i {
                    assert!((one[i * n + j] - other[i * n + j]).abs() < 1e-14);
                    assert_eq!(other[i * n + j], other[j * n + i]);
                }
            }
            let mut all = vec![1.0; n];
            let mut some = all.clone();
            cholesky_solve(&one, n, &mut all);
            sparse_solve(&other, n, &mut some);
            let error: Vec<f64> = all.iter().zip(&some).map(|(x, y)| x - y).collect();
            assert!(max_abs(&error) < 1e-14, "{n}: {error:?}");
            let mut fours = vec![[1.0, 0.0, 2.0, -1.0]; n];
            sparse_solve_fours(&other, &mut fours);
            for (four, x) in fours.iter().zip(&all) {
                let wanted = [*x, 0.0, 2.0 * x, -x];
                for (found, wanted) in four.iter().zip(wanted) {
                    assert!((found - wanted).abs() < 1e-14, "{n}: {found} {wanted}");
                }
            }
            let b: Vec<f64> = (0..5 * n).map(|_| random.range(-1.0, 1.0)).collect();
            let mut rows = b.clone();
            cholesky_forward_rows(&other, n, &mut rows);
            for (b, row) in b.chunks_exact(n).zip(rows.chunks_exact(n)) {
                let mut x = b.to_vec();
                cholesky_forward(&one, n, &mut x);
                let error: Vec<f64> = x.iter().zip(row).map(|(x, y)| x - y).collect();
                assert!(max_abs(&error) < 1e-13, "{n}: {error:?}");
            }
        }
        assert_eq!(
            sparse_cholesky(&mut [1.0, 2.0, 2.0, 1.0], 2),
            Err((1, -3.0))
        );
    }

    /// l₂₁ = 1 − 1·1 cancels to zero exactly. The entry it came from stayed in the column, and a robot whose inertia had
    /// such an entry moved by a wrong one.
    #[test]
    fn an_entry_that_cancels_to_zero_is_zero_in_its_column_too() {
        let a = [
            4.0, 2.0, 2.0, 0.0, 2.0, 2.0, 1.0, 1.0, 2.0, 1.0, 3.0, 0.0, 0.0, 1.0, 0.0, 5.0,
        ];
        let (mut one, mut other) = (a, a);
        assert_eq!(cholesky(&mut one, 4), Ok(()));
        assert_eq!(sparse_cholesky(&mut other, 4), Ok(()));
        for i in 0..4 {
            for j in 0..=i {
                assert_eq!(one[i * 4 + j], other[i * 4 + j], "({i}, {j})");
            }
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
