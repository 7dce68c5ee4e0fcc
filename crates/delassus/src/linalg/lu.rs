//! Dense LU factors with partial pivoting: of rows that know where their nonzeros begin and end, and of at most eight
//! unknowns in columns of fixed length.
//!
//! [`ProfileLu`] costs a band and not a square where unknowns couple neighbours only: nothing outside the nonzeros is
//! ever written, read or cleared. The last column counts as dense in every row: that of a border. [`SmallLu`] leaves
//! rows where they are, so that every loop has eight steps and no branch.

use std::ops::Range;

/// A square system, its factors and its right-hand side.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProfileLu {
    n: usize,
    /// Rows of `stride` numbers, all zero beyond the nonzeros told below.
    a: Vec<f64>,
    stride: usize,
    /// Nonzeros of row i, the last column apart: `first[i]..reach[i]`.
    first: Vec<usize>,
    reach: Vec<usize>,
    /// Behind the last row that has a nonzero in column j or before, the last row of all apart.
    ends: Vec<usize>,
    swaps: Vec<usize>,
    inverse: Vec<f64>,
}

impl ProfileLu {
    /// An empty system of the given size.
    pub(crate) fn reset(&mut self, n: usize) {
        if self.stride < n {
            // Room to grow for a system that has grown before.
            self.stride = if self.stride == 0 { n } else { n + n / 4 };
            self.a.clear();
            self.a.resize(self.stride * self.stride, 0.0);
        } else {
            self.erase();
        }
        self.n = n;
        self.first.clear();
        self.first.resize(n, n.saturating_sub(1));
        self.reach.clear();
        self.reach.resize(n, 0);
        self.swaps.resize(n, 0);
        self.inverse.resize(n, 0.0);
    }

    /// Zeros where the last system had numbers.
    fn erase(&mut self) {
        let rows = self.a.chunks_exact_mut(self.stride.max(1));
        for (row, (&first, &reach)) in rows.zip(self.first.iter().zip(&self.reach)) {
            row[first.min(reach)..reach].fill(0.0);
            row[self.n - 1] = 0.0;
        }
    }

    /// A_ij += x.
    pub(crate) fn add(&mut self, i: usize, j: usize, x: f64) {
        self.a[i * self.stride + j] += x;
        self.first[i] = self.first[i].min(j);
        if j + 1 < self.n {
            self.reach[i] = self.reach[i].max(j + 1);
        }
    }

    /// Columns of row i that are about to get numbers.
    pub(crate) fn open(&mut self, i: usize, columns: Range<usize>) -> &mut [f64] {
        self.first[i] = self.first[i].min(columns.start);
        self.reach[i] = self.reach[i].max(columns.end.min(self.n - 1));
        let start = i * self.stride;
        &mut self.a[start + columns.start..start + columns.end]
    }

    /// Factors in place. Returns the smallest pivot; zero means singular.
    pub(crate) fn factor(&mut self) -> f64 {
        let (n, stride) = (self.n, self.stride);
        self.find_ends();
        let mut weakest = f64::INFINITY;
        for j in 0..n {
            let end = self.ends[j].max(j + 1);
            // Rows change places among these alone, so that no other ever has a nonzero here.
            let rows = |first: usize| (first..end).chain((end < n).then_some(n - 1));
            let (mut p, mut best) = (j, -1.0);
            for i in rows(j) {
                if self.first[i] <= j || j + 1 == n {
                    let x = self.a[i * stride + j].abs();
                    if best < x {
                        (p, best) = (i, x);
                    }
                }
            }
            if !(0.0 < best && best.is_finite()) {
                return 0.0;
            }
            weakest = weakest.min(best);
            self.swaps[j] = p;
            if p != j {
                self.swap(j, p);
            }
            let reach = self.reach[j].max(j + 1);
            self.reach[j] = reach;
            let (above, below) = self.a.split_at_mut((j + 1) * stride);
            let pivot_row = &above[j * stride..];
            let inverse = 1.0 / pivot_row[j];
            self.inverse[j] = inverse;
            for i in rows(j + 1) {
                let row = &mut below[(i - j - 1) * stride..(i - j) * stride];
                if j < self.first[i] || row[j] == 0.0 {
                    continue;
                }
                let factor = row[j] * inverse;
                row[j] = factor;
                for (x, y) in row[j + 1..reach].iter_mut().zip(&pivot_row[j + 1..reach]) {
                    *x -= factor * y;
                }
                if reach < n {
                    row[n - 1] -= factor * pivot_row[n - 1];
                }
                self.reach[i] = self.reach[i].max(reach);
            }
        }
        weakest
    }

    /// Rows j and p > j change places.
    fn swap(&mut self, j: usize, p: usize) {
        let (above, below) = self.a.split_at_mut(p * self.stride);
        let (upper, last) = (&mut above[j * self.stride..], self.n - 1);
        let first = self.first[j].min(self.first[p]);
        let reach = self.reach[j].max(self.reach[p]).max(first);
        upper[first..reach].swap_with_slice(&mut below[first..reach]);
        if reach <= last {
            std::mem::swap(&mut upper[last], &mut below[last]);
        }
        self.first.swap(j, p);
        self.reach.swap(j, p);
    }

    fn find_ends(&mut self) {
        self.ends.clear();
        self.ends.resize(self.n, 0);
        for i in 0..self.n.saturating_sub(1) {
            self.ends[self.first[i]] = i + 1;
        }
        for j in 1..self.n {
            self.ends[j] = self.ends[j].max(self.ends[j - 1]);
        }
    }

    /// x ← A⁻¹x.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let (n, stride) = (self.n, self.stride);
        for j in 0..n {
            x.swap(j, self.swaps[j]);
        }
        for i in 1..n {
            let first = self.first[i].min(i);
            let row = &self.a[i * stride + first..i * stride + i];
            let sum: f64 = row.iter().zip(&x[first..i]).map(|(a, x)| a * x).sum();
            x[i] -= sum;
        }
        for i in (0..n).rev() {
            let row = &self.a[i * stride..i * stride + n];
            let reach = self.reach[i].max(i + 1);
            let mut sum = x[i];
            for (a, x) in row[i + 1..reach].iter().zip(&x[i + 1..reach]) {
                sum -= a * x;
            }
            if reach < n {
                sum -= row[n - 1] * x[n - 1];
            }
            x[i] = sum * self.inverse[i];
        }
    }
}

impl ProfileLu {
    /// x ← A⁻ᵀx: with P A = L U it is Uᵀy = x, Lᵀz = y, x = Pᵀz.
    pub(crate) fn solve_transposed(&self, x: &mut [f64]) {
        let (n, stride) = (self.n, self.stride);
        for i in 0..n {
            x[i] *= self.inverse[i];
            let reach = self.reach[i].max(i + 1);
            let (row, own) = (&self.a[i * stride..i * stride + n], x[i]);
            for (x, a) in x[i + 1..reach].iter_mut().zip(&row[i + 1..reach]) {
                *x -= a * own;
            }
            if reach < n {
                x[n - 1] -= row[n - 1] * own;
            }
        }
        for i in (1..n).rev() {
            let first = self.first[i].min(i);
            let own = x[i];
            let row = &self.a[i * stride + first..i * stride + i];
            for (x, a) in x[first..i].iter_mut().zip(row) {
                *x -= a * own;
            }
        }
        for j in (0..n).rev() {
            x.swap(j, self.swaps[j]);
        }
    }
}

/// Most unknowns of a [`SmallLu`] system.
pub(crate) const SMALL: usize = 8;

/// A system of at most eight unknowns, stored by columns of eight. Rows stay where they are, and lanes of rows that
/// are used up are passed over, so that every loop has eight steps and no branch.
#[derive(Clone, Debug, Default)]
pub(crate) struct SmallLu {
    n: usize,
    /// The matrix; once factored, U in the lanes of rows used before the column's own.
    columns: [[f64; SMALL]; SMALL],
    /// Columns of L, zero in the lanes of rows used before.
    lower: [[f64; SMALL]; SMALL],
    /// Row of every pivot.
    rows: [usize; SMALL],
    inverse: [f64; SMALL],
}

impl SmallLu {
    /// A system of the given size; all its columns are to be written.
    #[inline(always)]
    pub(crate) fn resize(&mut self, n: usize) {
        self.n = n.min(SMALL);
    }

    #[inline(always)]
    pub(crate) fn column_mut(&mut self, j: usize) -> &mut [f64; SMALL] {
        &mut self.columns[j]
    }

    /// Factors in place, and takes b through the first half of its solution on the way: neither waits for the other.
    /// Returns the smallest pivot; zero means singular.
    #[inline(always)]
    pub(crate) fn factor(&mut self, b: &mut [f64; SMALL]) -> f64 {
        let n = self.n;
        let mut weakest = f64::INFINITY;
        let (mut free, mut y) = ([0.0; SMALL], *b);
        free[..n].fill(1.0);
        let mut column = self.columns[0];
        for j in 0..n {
            // All of them at once, so that no division waits for the choice.
            let mut inverses = [0.0; SMALL];
            for i in 0..SMALL {
                inverses[i] = 1.0 / column[i];
            }
            let (p, best) = largest(&column, &free);
            if !(0.0 < best && best.is_finite()) {
                return 0.0;
            }
            weakest = if best < weakest { best } else { weakest };
            let inverse = inverses[p];
            self.rows[j] = p;
            self.inverse[j] = inverse;
            let mut lower = [0.0; SMALL];
            for i in 0..SMALL {
                free[i] = if i == p { 0.0 } else { free[i] };
                lower[i] = column[i] * inverse * free[i];
            }
            self.lower[j] = lower;
            let x = y[p];
            for i in 0..SMALL {
                y[i] -= lower[i] * x;
            }
            let rest = &mut self.columns[j + 1..n.max(j + 1)];
            // The next pivot waits for the first of these alone, which stays in registers.
            if let Some(next) = rest.first() {
                let x = next[p];
                column = *next;
                for i in 0..SMALL {
                    column[i] -= lower[i] * x;
                }
            }
            for column in rest {
                let x = column[p];
                for i in 0..SMALL {
                    column[i] -= lower[i] * x;
                }
            }
        }
        *b = y;
        weakest
    }

    /// The first half of a solution, for a b that was not there when the system was factored.
    #[inline(always)]
    pub(crate) fn begin(&self, b: &mut [f64; SMALL]) {
        let mut y = *b;
        for j in 0..self.n {
            let x = y[self.rows[j] % SMALL];
            for i in 0..SMALL {
                y[i] -= self.lower[j][i] * x;
            }
        }
        *b = y;
    }

    /// The second half: x of a b that went through the first.
    #[inline(always)]
    pub(crate) fn finish(&self, mut b: [f64; SMALL], x: &mut [f64; SMALL]) {
        for j in (0..self.n).rev() {
            // Lanes of rows that are done take what no one reads.
            x[j] = b[self.rows[j] % SMALL] * self.inverse[j];
            for i in 0..SMALL {
                b[i] -= self.columns[j][i] * x[j];
            }
        }
    }
}

/// The largest |x| among free lanes, and where it is.
#[inline(always)]
fn largest(x: &[f64; SMALL], free: &[f64; SMALL]) -> (usize, f64) {
    let (mut top, mut at) = ([0.0; SMALL], [0, 1, 2, 3, 4, 5, 6, 7_usize]);
    for i in 0..SMALL {
        top[i] = x[i].abs() * free[i];
    }
    let mut width = SMALL / 2;
    while 0 < width {
        for i in 0..width {
            if top[i] < top[i + width] {
                (top[i], at[i]) = (top[i + width], at[i + width]);
            }
        }
        width /= 2;
    }
    (at[0] % SMALL, top[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, max_abs};

    fn check(
        lu: &mut ProfileLu,
        n: usize,
        entry: impl Fn(usize, usize, &mut Random) -> f64,
        random: &mut Random,
    ) {
        lu.reset(n);
        let mut dense = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let x = entry(i, j, random);
                dense[i * n + j] = x;
                if x != 0.0 {
                    lu.add(i, j, x);
                }
            }
        }
        let wanted: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
        let mut x: Vec<f64> = dense
            .chunks_exact(n)
            .map(|row| row.iter().zip(&wanted).map(|(a, b)| a * b).sum())
            .collect();
        assert!(0.0 < lu.factor());
        if n <= SMALL {
            let mut small = SmallLu::default();
            small.resize(n);
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                small.column_mut(j)[i] = dense[i * n + j];
            }
            let mut y = [0.0; SMALL];
            y[..n].copy_from_slice(&x);
            let mut half = y;
            assert!(0.0 < small.factor(&mut half));
            small.begin(&mut y);
            assert_eq!(y, half);
            small.finish(half, &mut y);
            let y = &y[..n];
            let error: Vec<f64> = y.iter().zip(&wanted).map(|(a, b)| a - b).collect();
            assert!(max_abs(&error) < 1e-9, "{n}: {error:?}");
        }
        lu.solve(&mut x);
        let error: Vec<f64> = x.iter().zip(&wanted).map(|(a, b)| a - b).collect();
        assert!(max_abs(&error) < 1e-9, "{n}: {error:?}");
    }

    #[test]
    fn full_and_banded_systems_with_a_dense_last_column_are_solved() {
        let mut random = Random::new(3);
        // One system after the other in the same arrays: nothing is left behind by larger, smaller or denser ones.
        let mut lu = ProfileLu::default();
        for n in (1..30).chain((1..40).rev()) {
            let full = |_: usize, _: usize, random: &mut Random| random.range(-1.0, 1.0);
            check(&mut lu, n, full, &mut random);
            let band = |i: usize, j: usize, random: &mut Random| {
                let near = i.abs_diff(j) <= 2 || j + 1 == n || i + 1 == n && j.is_multiple_of(3);
                if near { random.range(-1.0, 1.0) } else { 0.0 }
            };
            check(&mut lu, n, band, &mut random);
        }
    }

    #[test]
    fn singular_systems_have_no_pivot() {
        let mut lu = ProfileLu::default();
        lu.reset(2);
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            lu.add(i, j, 2.0);
        }
        assert!(lu.factor() <= 0.0);
    }
}
