//! The factorisation of a small square matrix that gains, loses and exchanges rows and columns.
//!
//! Lemke's method needs only the block A of the basis whose size is the number of basic z, and every pivot changes
//! one row, one column or both. Q A = R is kept with Q orthogonal and R upper triangular; each change is a chain of
//! plane rotations, O(k²) and backward stable whatever the order of changes.

use crate::math::dot_unrolled;

/// Q A = R for the rows and columns a method has chosen from a larger matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct QrFactor {
    /// Number of rows and columns.
    n_rows: usize,
    n_cols: usize,
    /// Rows of Q and R are `stride` apart; both are stored by rows, which is what rotations act on.
    stride: usize,
    q: Vec<f64>,
    r: Vec<f64>,
    /// Changes since the last fresh factorisation.
    changes: usize,
    work: Vec<f64>,
}

impl QrFactor {
    /// Changes since the last fresh factorisation.
    pub(crate) fn changes(&self) -> usize {
        self.changes
    }

    /// Factors afresh the matrix of size k whose entries are given by row and column.
    pub(crate) fn refactor(&mut self, k: usize, entry: impl Fn(usize, usize) -> f64) {
        self.reserve(k);
        (self.n_rows, self.n_cols, self.changes) = (k, k, 0);
        let stride = self.stride;
        for i in 0..k {
            self.q[i * stride..i * stride + k].fill(0.0);
            self.q[i * stride + i] = 1.0;
            for j in 0..k {
                self.r[i * stride + j] = entry(i, j);
            }
        }
        for j in 0..k.saturating_sub(1) {
            self.reflect(j);
        }
    }

    /// One Householder reflection: the entries of column j below the diagonal become zero.
    fn reflect(&mut self, j: usize) {
        let (k, stride) = (self.n_rows, self.stride);
        let column = |r: &[f64], i: usize| r[i * stride + j];
        let largest = (j..k).fold(0.0_f64, |m, i| m.max(column(&self.r, i).abs()));
        if !(0.0 < largest && largest.is_finite()) {
            return;
        }
        let mut vector = std::mem::take(&mut self.work);
        vector.clear();
        vector.extend((j..k).map(|i| column(&self.r, i) / largest));
        let length = crate::math::norm(&vector).copysign(vector[0]);
        vector[0] += length;
        // H = 1 − v vᵀ/(length·v₀) maps the column onto −length·e₀.
        let scale = 1.0 / (length * vector[0]);
        for (matrix, from) in [(&mut self.r, j), (&mut self.q, 0)] {
            let mut sums = vec![0.0; k - from];
            for (v, i) in vector.iter().zip(j..k) {
                let row = &matrix[i * stride + from..i * stride + k];
                sums.iter_mut().zip(row).for_each(|(s, x)| *s += v * x);
            }
            for (v, i) in vector.iter().zip(j..k) {
                let row = &mut matrix[i * stride + from..i * stride + k];
                let v = v * scale;
                row.iter_mut().zip(&sums).for_each(|(x, s)| *x -= v * s);
            }
        }
        for i in j + 1..k {
            self.r[i * stride + j] = 0.0;
        }
        self.work = vector;
    }

    /// Adds a row at the end and a column at the end. Both contain the corner.
    pub(crate) fn grow(&mut self, row: &[f64], column: &[f64]) {
        let k = self.n_rows;
        self.push_column(&column[..k]);
        self.push_row(row);
    }

    /// Takes away row i and column j.
    pub(crate) fn shrink(&mut self, i: usize, j: usize) {
        self.remove_row(i);
        self.remove_column(j);
    }

    /// Takes away row i and adds another at the end.
    pub(crate) fn exchange_row(&mut self, i: usize, row: &[f64]) {
        self.remove_row(i);
        self.push_row(row);
    }

    /// Takes away column j and adds another at the end.
    pub(crate) fn exchange_column(&mut self, j: usize, column: &[f64]) {
        self.remove_column(j);
        self.push_column(column);
    }

    /// x ← A⁻¹ b, in place; false where A is singular.
    pub(crate) fn solve(&mut self, b: &mut [f64]) -> bool {
        let (k, stride) = (self.n_rows, self.stride);
        self.work.clear();
        self.work.extend_from_slice(&b[..k]);
        for i in 0..k {
            b[i] = dot_unrolled(&self.q[i * stride..i * stride + k], &self.work);
        }
        for i in (0..k).rev() {
            let row = &self.r[i * stride..i * stride + k];
            let sum = b[i] - dot_unrolled(&row[i + 1..], &b[i + 1..k]);
            if row[i] == 0.0 {
                return false;
            }
            b[i] = sum / row[i];
            if !b[i].is_finite() {
                return false;
            }
        }
        true
    }

    fn push_column(&mut self, column: &[f64]) {
        let (k, stride) = (self.n_rows, self.stride);
        debug_assert!(column.len() == k);
        if stride <= self.n_cols {
            self.reserve(self.n_cols + 1);
        }
        let stride = self.stride;
        for i in 0..k {
            self.r[i * stride + self.n_cols] =
                dot_unrolled(&self.q[i * stride..i * stride + k], column);
        }
        self.n_cols += 1;
        self.changes += 1;
    }

    /// The new row is rotated into the triangle, entry by entry.
    fn push_row(&mut self, row: &[f64]) {
        let k = self.n_rows;
        if self.stride <= k {
            self.reserve(k + 1);
        }
        let stride = self.stride;
        self.r[k * stride..k * stride + self.n_cols].copy_from_slice(&row[..self.n_cols]);
        self.q[k * stride..k * stride + k].fill(0.0);
        for i in 0..k {
            self.q[i * stride + k] = 0.0;
        }
        self.q[k * stride + k] = 1.0;
        self.n_rows += 1;
        for i in 0..k.min(self.n_cols) {
            self.rotate(i, k, i);
        }
        self.changes += 1;
    }

    /// Rotations from the bottom turn column i of Q into a unit vector; row 0 then stands for row i of A alone.
    fn remove_row(&mut self, i: usize) {
        let (k, stride) = (self.n_rows, self.stride);
        for l in (0..k - 1).rev() {
            let (a, b) = (self.q[l * stride + i], self.q[(l + 1) * stride + i]);
            let (c, s) = rotation(a, b);
            let from = l.min(self.n_cols);
            self.turn((l, l + 1), (c, s), from);
        }
        for l in 1..k {
            let (upper, lower) = ((l - 1) * stride, l * stride);
            self.r.copy_within(lower..lower + self.n_cols, upper);
            self.q.copy_within(lower..lower + i, upper);
            self.q.copy_within(lower + i + 1..lower + k, upper + i);
        }
        self.n_rows -= 1;
        self.changes += 1;
    }

    /// The columns after j move up by one and leave one entry below the diagonal each, which is rotated away.
    fn remove_column(&mut self, j: usize) {
        let stride = self.stride;
        for i in 0..self.n_rows {
            let row = &mut self.r[i * stride..i * stride + self.n_cols];
            row.copy_within(j + 1.., j);
        }
        self.n_cols -= 1;
        for i in j..self.n_cols.min(self.n_rows.saturating_sub(1)) {
            self.rotate(i, i + 1, i);
        }
        self.changes += 1;
    }

    /// Rotates rows a and b so that entry (b, column) of R vanishes.
    fn rotate(&mut self, a: usize, b: usize, column: usize) {
        let stride = self.stride;
        let (upper, lower) = (self.r[a * stride + column], self.r[b * stride + column]);
        if lower == 0.0 {
            return;
        }
        self.turn((a, b), rotation(upper, lower), column);
        self.r[b * stride + column] = 0.0;
    }

    fn turn(&mut self, (a, b): (usize, usize), (c, s): (f64, f64), from: usize) {
        let (stride, k) = (self.stride, self.n_rows);
        for (matrix, from, to) in [(&mut self.r, from, self.n_cols), (&mut self.q, 0, k)] {
            let (upper, lower) = matrix.split_at_mut(b * stride);
            let upper = &mut upper[a * stride + from..a * stride + to];
            for (x, y) in upper.iter_mut().zip(&mut lower[from..to]) {
                (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
            }
        }
    }

    /// Makes room for matrices of size k.
    fn reserve(&mut self, k: usize) {
        if k <= self.stride {
            return;
        }
        let stride = (2 * self.stride).max(k).max(8);
        for matrix in [&mut self.q, &mut self.r] {
            let mut wider = vec![0.0; stride * stride];
            for i in 0..self.n_rows {
                let row = &matrix[i * self.stride..(i + 1) * self.stride];
                wider[i * stride..i * stride + self.stride].copy_from_slice(row);
            }
            *matrix = wider;
        }
        self.stride = stride;
    }
}

/// (c, s) with c·a + s·b = √(a² + b²) and c·b − s·a = 0.
fn rotation(a: f64, b: f64) -> (f64, f64) {
    if b == 0.0 {
        return (1.0, 0.0);
    }
    let r = a.hypot(b);
    (a / r, b / r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// A mirror of the matrix that the factor should stand for.
    struct Mirror {
        factor: QrFactor,
        rows: Vec<Vec<f64>>,
    }

    impl Mirror {
        fn defect(&mut self, random: &mut Random) -> f64 {
            let k = self.rows.len();
            let x: Vec<f64> = (0..k).map(|_| random.range(-1.0, 1.0)).collect();
            let mut b: Vec<f64> = self.rows.iter().map(|row| dot_unrolled(row, &x)).collect();
            assert!(self.factor.solve(&mut b));
            let product = |b: &[f64]| -> Vec<f64> {
                self.rows.iter().map(|row| dot_unrolled(row, b)).collect()
            };
            let (got, wanted) = (product(&b), product(&x));
            let size = b.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
            got.iter()
                .zip(&wanted)
                .fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
                / size
        }
    }

    #[test]
    fn thousands_of_changes_leave_a_factor_that_solves() {
        let mut random = Random::new(5);
        let mut mirror = Mirror {
            factor: QrFactor::default(),
            rows: Vec::new(),
        };
        let vector = |k: usize, random: &mut Random| -> Vec<f64> {
            (0..k).map(|_| random.range(-1.0, 1.0)).collect()
        };
        for step in 0..4000 {
            let k = mirror.rows.len();
            match random.below(5) {
                0 | 1 if k < 30 => {
                    let row = vector(k + 1, &mut random);
                    let mut column = vector(k + 1, &mut random);
                    column[k] = row[k];
                    mirror.factor.grow(&row, &column);
                    for (old, new) in mirror.rows.iter_mut().zip(&column) {
                        old.push(*new);
                    }
                    mirror.rows.push(row);
                }
                2 if 1 < k => {
                    let (i, j) = (random.below(k), random.below(k));
                    mirror.factor.shrink(i, j);
                    mirror.rows.remove(i);
                    for row in &mut mirror.rows {
                        row.remove(j);
                    }
                }
                3 if 0 < k => {
                    let (i, row) = (random.below(k), vector(k, &mut random));
                    mirror.factor.exchange_row(i, &row);
                    mirror.rows.remove(i);
                    mirror.rows.push(row);
                }
                4 if 0 < k => {
                    let (j, column) = (random.below(k), vector(k, &mut random));
                    mirror.factor.exchange_column(j, &column);
                    for (row, new) in mirror.rows.iter_mut().zip(&column) {
                        row.remove(j);
                        row.push(*new);
                    }
                }
                _ => continue,
            }
            let defect = mirror.defect(&mut random);
            assert!(defect < 1e-11, "step {step}, size {k}: {defect:e}");
        }
    }

    #[test]
    fn a_fresh_factor_solves_and_a_singular_one_says_so() {
        let matrix = [[2.0, -1.0, 0.5], [0.0, 1e-8, 3.0], [4.0, 1.0, 1.0]];
        let mut factor = QrFactor::default();
        factor.refactor(3, |i, j| matrix[i][j]);
        let mut b = [1.5, 3.0 + 1e-8, 6.0];
        assert!(factor.solve(&mut b));
        assert!(b.iter().all(|x| (x - 1.0).abs() < 1e-14), "{b:?}");
        factor.refactor(2, |i, _| i as f64);
        assert!(!factor.solve(&mut [1.0, 1.0]));
        factor.refactor(0, |_, _| 0.0);
        assert!(factor.solve(&mut []));
    }
}
