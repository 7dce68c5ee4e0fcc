//! LU of a dense matrix in twice the digits of a double, for small systems whose condition eats sixteen of them.
//!
//! Rows are exchanged by the largest entry over the largest of its row as given. Cost: n³/3 products of some twenty
//! operations each; prefer [`super::lu`] where doubles do.

use super::twofold::Twofold;

/// The factors.
#[derive(Clone, Debug, Default)]
pub(crate) struct TwofoldLu {
    n: usize,
    /// L below the diagonal, U on it and above, row-major, rows where they came to stand.
    values: Vec<Twofold>,
    /// Which row of the matrix stands here.
    rows: Vec<usize>,
    work: Vec<Twofold>,
}

impl TwofoldLu {
    /// Factors an n × n matrix, row-major, which `fill` adds to zeros; false where it is singular or no number.
    pub(crate) fn factor(&mut self, n: usize, fill: impl FnOnce(&mut [Twofold])) -> bool {
        self.n = n;
        self.values.clear();
        self.values.resize(n * n, Twofold::default());
        fill(&mut self.values);
        self.rows.clear();
        self.rows.extend(0..n);
        let size = |row: &[Twofold]| {
            row.iter()
                .fold(0.0, |most: f64, x| most.max(x.rounded().abs()))
        };
        let mut sizes: Vec<f64> = self.values.chunks_exact(n.max(1)).map(size).collect();
        for k in 0..n {
            let share = |i: usize| self.values[i * n + k].rounded().abs() / sizes[i];
            let mut best = k;
            for i in k + 1..n {
                if share(best) < share(i) {
                    best = i;
                }
            }
            let pivot = self.values[best * n + k];
            if pivot.rounded() == 0.0 || !pivot.rounded().is_finite() {
                return false;
            }
            if best != k {
                (0..n).for_each(|j| self.values.swap(k * n + j, best * n + j));
                sizes.swap(k, best);
                self.rows.swap(k, best);
            }
            let (above, below) = self.values.split_at_mut((k + 1) * n);
            let top = &above[k * n + k + 1..];
            for row in below.chunks_exact_mut(n) {
                if row[k].rounded() == 0.0 {
                    continue;
                }
                let factor = row[k] / pivot;
                row[k] = factor;
                for (x, top) in row[k + 1..].iter_mut().zip(top) {
                    *x = *x - factor * *top;
                }
            }
        }
        true
    }

    /// x ← A⁻¹x.
    pub(crate) fn solve(&mut self, x: &mut [Twofold]) {
        let n = self.n;
        self.work.clear();
        self.work.extend(self.rows.iter().map(|row| x[*row]));
        for i in 0..n {
            let (done, rest) = self.work.split_at_mut(i);
            for (l, y) in self.values[i * n..].iter().zip(done) {
                rest[0] = rest[0] - *l * *y;
            }
        }
        for i in (0..n).rev() {
            let (left, done) = self.work.split_at_mut(i + 1);
            let row = &self.values[i * n..(i + 1) * n];
            for (u, y) in row[i + 1..].iter().zip(done) {
                left[i] = left[i] - *u * *y;
            }
            left[i] = left[i] / row[i];
        }
        x.copy_from_slice(&self.work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hilbert's matrix of ten rows has a condition of 1.6e13: doubles keep three digits, two of them keep all.
    #[test]
    fn a_matrix_of_large_condition_is_solved_to_all_digits() {
        let n = 10;
        let entry = |i: usize, j: usize| Twofold::from(1.0) / Twofold::from((i + j + 1) as f64);
        let mut lu = TwofoldLu::default();
        assert!(lu.factor(n, |values| {
            (0..n * n).for_each(|e| values[e] = entry(e / n, e % n));
        }));
        let mut x: Vec<Twofold> = (0..n)
            .map(|i| (0..n).fold(Twofold::default(), |sum, j| sum + entry(i, j)))
            .collect();
        lu.solve(&mut x);
        let off = x.iter().map(|x| (x.rounded() - 1.0).abs());
        assert!(off.fold(0.0, f64::max) < 1e-15, "{x:?}");
    }

    #[test]
    fn a_singular_matrix_is_refused() {
        let mut lu = TwofoldLu::default();
        assert!(!lu.factor(2, |values| values.fill(Twofold::from(3.0))));
    }
}
