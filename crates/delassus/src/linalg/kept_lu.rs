//! LU factors of a band with a border, of which only what has changed since the last time is computed anew.
//!
//! ```text
//! [ B   b ]        B: rows that know where their nonzeros begin and end
//! [ lᵀ  d ]        b, l, d: the last column and the last row; a system may be without them
//! ```
//!
//! Rows change places where that gives the larger pivot; the last row only where it is much larger, so that the factors
//! of B do not depend on it. Step j of the elimination reads the rows whose nonzeros begin at j or before: if none of them
//! has changed, its row of U is the same to the bit. So the steps before the first changed row stay as they are, the few
//! rows that they had begun are begun again, and the result is that of a system factored from nothing.
//! Cost: the band behind the first change, and one pass over the rest for the last row.

use std::ops::Range;

/// The last row becomes a pivot where its entry is so many times the largest of the others.
const MUCH: f64 = 10.0;

/// Rows of `stride` numbers, all zero beyond the nonzeros told.
#[derive(Clone, Debug, Default)]
struct Rows {
    stride: usize,
    a: Vec<f64>,
    /// Nonzeros of row i: `first[i]..reach[i]`; none where both are zero.
    first: Vec<usize>,
    reach: Vec<usize>,
    /// The last column.
    border: Vec<f64>,
}

impl Rows {
    fn resize(&mut self, stride: usize) {
        *self = Rows {
            stride,
            a: vec![0.0; stride * stride],
            first: vec![0; stride],
            reach: vec![0; stride],
            border: vec![0.0; stride],
        };
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.a[i * self.stride..(i + 1) * self.stride]
    }

    /// Zeros where row i had numbers.
    fn erase(&mut self, i: usize) {
        let start = i * self.stride;
        self.a[start + self.first[i]..start + self.reach[i]].fill(0.0);
        (self.first[i], self.reach[i], self.border[i]) = (0, 0, 0.0);
    }

    /// Columns of row i that are about to get numbers.
    fn open(&mut self, i: usize, columns: Range<usize>) -> &mut [f64] {
        let empty = self.reach[i] == 0;
        self.first[i] = match empty {
            true => columns.start,
            false => self.first[i].min(columns.start),
        };
        self.reach[i] = self.reach[i].max(columns.end);
        let start = i * self.stride;
        &mut self.a[start + columns.start..start + columns.end]
    }

    fn copy(&mut self, i: usize, other: &Rows, k: usize) {
        self.erase(i);
        let nonzeros = other.first[k]..other.reach[k];
        self.open(i, nonzeros.clone())
            .copy_from_slice(&other.row(k)[nonzeros]);
        self.border[i] = other.border[k];
    }

    /// Rows j and p > j change places.
    fn swap(&mut self, j: usize, p: usize) {
        let (above, below) = self.a.split_at_mut(p * self.stride);
        let first = self.first[j].min(self.first[p]);
        let reach = self.reach[j].max(self.reach[p]);
        let upper = &mut above[j * self.stride..];
        upper[first..reach].swap_with_slice(&mut below[first..reach]);
        self.first.swap(j, p);
        self.reach.swap(j, p);
        self.border.swap(j, p);
    }

    /// Row i minus the multiple of row j < i that makes its entry in column j zero; the multiple takes its place.
    #[inline(always)]
    fn eliminate(&mut self, i: usize, j: usize, inverse: f64) {
        let (above, below) = self.a.split_at_mut(i * self.stride);
        let (pivot_row, row) = (&above[j * self.stride..], &mut below[..self.stride]);
        if j < self.first[i] || row[j] == 0.0 {
            return;
        }
        let (factor, reach) = (row[j] * inverse, self.reach[j]);
        row[j] = factor;
        for (x, y) in row[j + 1..reach].iter_mut().zip(&pivot_row[j + 1..reach]) {
            *x -= factor * y;
        }
        self.border[i] -= factor * self.border[j];
        self.reach[i] = self.reach[i].max(reach);
    }
}

/// A square system, its factors, and what is known of the system before.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptLu {
    /// Rows of B, and whether there is a border.
    m: usize,
    bordered: bool,
    system: Rows,
    factors: Rows,
    /// The border of the system factored last.
    border: Vec<f64>,
    /// Rows of the system that are those of the one before, the border apart; steps that its factors are known for.
    same: usize,
    known: usize,
    /// Behind the last row of B that has a nonzero in column j or before.
    ends: Vec<usize>,
    /// Row that became pivot j, 1/pivot, and the smallest pivot up to this one.
    swaps: Vec<usize>,
    inverse: Vec<f64>,
    weakest: Vec<f64>,
    /// Which row of the system stands where.
    order: Vec<usize>,
}

impl KeptLu {
    /// A system of m rows and a border, or without one. The first `same` rows of B are those of the system before, and
    /// must not be written; the others and the border are empty.
    pub(crate) fn reset(&mut self, m: usize, bordered: bool, same: usize) -> usize {
        let size = m + usize::from(bordered);
        let mut same = same.min(self.m).min(m);
        if self.system.stride < size {
            // Room to grow for a system that has grown before.
            let stride = if self.system.stride == 0 {
                size
            } else {
                size + size / 4
            };
            self.system.resize(stride);
            self.factors.resize(stride);
            (same, self.known) = (0, 0);
        }
        let before = self.m + usize::from(self.bordered);
        self.border.clear();
        self.border
            .extend_from_slice(&self.system.border[..before.min(self.system.stride)]);
        (same..before.max(size).min(self.system.stride)).for_each(|i| self.system.erase(i));
        self.system.border[..same].fill(0.0);
        (self.m, self.bordered, self.same) = (m, bordered, same);
        same
    }

    /// Rows of the system before of which all nonzeros are in columns before `column`, up to the first that has others.
    pub(crate) fn rows_before(&self, column: usize) -> usize {
        let within = |reach: &usize| *reach <= column;
        let rows = &self.system.reach[..self.m.min(column)];
        rows.iter()
            .position(|reach| !within(reach))
            .unwrap_or(rows.len())
    }

    /// The number of row i in the last column.
    pub(crate) fn border_mut(&mut self, i: usize) -> &mut f64 {
        &mut self.system.border[i]
    }

    /// A_ij += x.
    pub(crate) fn add(&mut self, i: usize, j: usize, x: f64) {
        self.system.open(i, j..j + 1)[0] += x;
    }

    /// Columns of row i that are about to get numbers.
    pub(crate) fn open(&mut self, i: usize, columns: Range<usize>) -> &mut [f64] {
        self.system.open(i, columns)
    }

    /// Factors in place. Returns the smallest pivot; zero means singular.
    pub(crate) fn factor(&mut self) -> f64 {
        let (m, last) = (self.m, self.m);
        let size = m + usize::from(self.bordered);
        let mut j = self.unchanged();
        self.find_ends();
        for list in [&mut self.inverse, &mut self.weakest] {
            list.resize(size, 0.0);
        }
        self.swaps.resize(size, 0);
        if self.bordered {
            self.factors.copy(last, &self.system, last);
            j = self.begin_last(j);
        }
        self.begin(j);
        // Where a pivot is missing, nothing behind these steps is known.
        self.known = j;
        for j in j..size {
            let end = if j < m { self.ends[j].max(j + 1) } else { size };
            let column = if j < m {
                self.pivot_of(j, end)
            } else {
                self.corner()
            };
            let Some((p, pivot)) = column else {
                return 0.0;
            };
            self.swaps[j] = p;
            if p != j {
                self.factors.swap(j, p);
            }
            self.inverse[j] = 1.0 / pivot;
            let before = if j == 0 {
                f64::INFINITY
            } else {
                self.weakest[j - 1]
            };
            self.weakest[j] = before.min(pivot.abs());
            let others = (self.bordered && j < m).then_some(last);
            for i in (j + 1..end).chain(others) {
                self.factors.eliminate(i, j, self.inverse[j]);
            }
        }
        // Steps after the first that used the last row depend on it.
        let own = |&p: &usize| p != last || !self.bordered;
        self.known = self.swaps[..m].iter().position(|p| !own(p)).unwrap_or(m);
        if size == 0 {
            f64::INFINITY
        } else {
            self.weakest[size - 1]
        }
    }

    /// Steps of the last factors that read nothing that has changed.
    fn unchanged(&self) -> usize {
        let rows = self.border.iter().zip(&self.system.border).take(self.same);
        let changed = rows
            .into_iter()
            .position(|(a, b)| a.to_bits() != b.to_bits());
        let row = changed.unwrap_or(self.same);
        let known = &self.ends[..self.known.min(row)];
        let before = known.partition_point(|end| *end <= row);
        // The same of the new rows: none of those behind begins in such a column.
        let firsts = self.system.first[row..self.m].iter();
        firsts.fold(before, |least, first| least.min(*first))
    }

    /// Rows that no step before j has touched, and those that some have: up to there they are done again.
    fn begin(&mut self, j: usize) {
        let (m, end) = (self.m, j.checked_sub(1).map_or(0, |j| self.ends[j]));
        self.order.clear();
        self.order.extend(0..m);
        for step in 0..j {
            self.order.swap(step, self.swaps[step]);
        }
        for i in j..m {
            self.factors.copy(i, &self.system, self.order[i]);
            if i < end {
                for step in self.factors.first[i]..j {
                    self.factors.eliminate(i, step, self.inverse[step]);
                }
            }
        }
    }

    /// The last row through the steps before j. Returns the step at which it becomes a pivot, or j.
    fn begin_last(&mut self, j: usize) -> usize {
        let last = self.m;
        for step in self.factors.first[last]..j {
            let x = self.factors.row(last)[step].abs();
            // |pivot| × much < |x|
            if !(x * self.inverse[step].abs() <= MUCH) {
                return step;
            }
            self.factors.eliminate(last, step, self.inverse[step]);
        }
        j
    }

    /// The row and the pivot of step j: the largest of the rows before `end`, or the last row where it is much larger.
    fn pivot_of(&self, j: usize, end: usize) -> Option<(usize, f64)> {
        let entry = |i: usize| match self.factors.first[i] <= j {
            true => self.factors.a[i * self.factors.stride + j],
            false => 0.0,
        };
        let (mut p, mut best) = (j, 0.0_f64);
        for i in j..end {
            let x = entry(i);
            if best.abs() < x.abs() {
                (p, best) = (i, x);
            }
        }
        if self.bordered {
            let x = entry(self.m);
            if !(x.abs() * (1.0 / best).abs() <= MUCH) {
                (p, best) = (self.m, x);
            }
        }
        (0.0 < best.abs() && best.is_finite()).then_some((p, best))
    }

    /// What is left in the corner.
    fn corner(&self) -> Option<(usize, f64)> {
        let pivot = self.factors.border[self.m];
        (0.0 < pivot.abs() && pivot.is_finite()).then_some((self.m, pivot))
    }

    fn find_ends(&mut self) {
        self.ends.clear();
        self.ends.resize(self.m, 0);
        for i in 0..self.m {
            // A row of zeros is behind all columns.
            if 0 < self.system.reach[i] {
                let first = self.system.first[i];
                self.ends[first] = self.ends[first].max(i + 1);
            }
        }
        for j in 1..self.m {
            self.ends[j] = self.ends[j].max(self.ends[j - 1]);
        }
    }

    /// x ← A⁻¹x.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let (m, f) = (self.m, &self.factors);
        let size = m + usize::from(self.bordered);
        for j in 0..size {
            x.swap(j, self.swaps[j]);
        }
        for i in 1..size {
            let first = f.first[i].min(i);
            let end = i.min(f.reach[i]).max(first);
            let row = f.row(i)[first..end].iter();
            let sum: f64 = row.zip(&x[first..end]).map(|(a, x)| a * x).sum();
            x[i] -= sum;
        }
        if self.bordered {
            x[m] *= self.inverse[m];
        }
        for i in (0..m).rev() {
            let mut sum = x[i];
            let reach = f.reach[i].max(i + 1);
            for (a, x) in f.row(i)[i + 1..reach].iter().zip(&x[i + 1..reach]) {
                sum -= a * x;
            }
            if self.bordered {
                sum -= f.border[i] * x[m];
            }
            x[i] = sum * self.inverse[i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, max_abs};

    /// Rows of a band with a border, and the system before as far as they are alike.
    struct Band {
        rows: Vec<(usize, Vec<f64>)>,
        border: Vec<f64>,
        last: Vec<f64>,
    }

    impl Band {
        fn put(&self, lu: &mut KeptLu, same: usize) {
            let m = self.rows.len();
            let same = lu.reset(m, true, same);
            for (i, (first, row)) in self.rows.iter().enumerate() {
                *lu.border_mut(i) += self.border[i];
                if same <= i {
                    lu.open(i, *first..first + row.len()).copy_from_slice(row);
                }
            }
            for (j, x) in self.last[..m].iter().enumerate() {
                if *x != 0.0 {
                    lu.add(m, j, *x);
                }
            }
            *lu.border_mut(m) += self.last[m];
        }

        fn times(&self, x: &[f64]) -> Vec<f64> {
            let m = self.rows.len();
            let product = |a: &[f64], x: &[f64]| a.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
            let rows = self.rows.iter().zip(&self.border);
            let own = |((first, row), border): (&(usize, Vec<f64>), &f64)| {
                product(row, &x[*first..]) + border * x[m]
            };
            rows.map(own).chain([product(&self.last, x)]).collect()
        }

        /// Other rows from row `from` on, for m unknowns; a row may be a copy of the one before.
        fn change(&mut self, from: usize, m: usize, random: &mut Random) {
            self.rows.truncate(from);
            self.border.resize(m, 0.0);
            for i in from..m {
                let (first, end) = (
                    i.saturating_sub(3).max(from.saturating_sub(2)),
                    (i + 4).min(m),
                );
                let mut row: Vec<f64> = (first..end).map(|_| random.range(-1.0, 1.0)).collect();
                if let (Some(before), true) = (self.rows.last(), random.range(0.0, 1.0) < 0.05)
                    && before.0 == first
                    && before.1.len() <= row.len()
                {
                    row.fill(0.0);
                    row[..before.1.len()].copy_from_slice(&before.1);
                }
                self.rows.push((first, row));
                self.border[i] = random.range(-1.0, 1.0);
            }
            let start = (random.range(0.0, 0.99) * m as f64) as usize;
            self.last = (0..=m)
                .map(|j| {
                    if j < start {
                        0.0
                    } else {
                        random.range(-1.0, 1.0)
                    }
                })
                .collect();
        }
    }

    #[test]
    fn what_is_kept_is_what_factoring_from_nothing_gives_to_the_bit() {
        let mut random = Random::new(5);
        let mut band = Band {
            rows: Vec::new(),
            border: Vec::new(),
            last: Vec::new(),
        };
        let (mut kept, mut steps) = (KeptLu::default(), 0);
        for round in 0..400 {
            let m = 20 + round % 17;
            let alike = (random.range(0.0, 1.2) * m as f64) as usize;
            // Rows that reach behind the change are others too.
            let from = alike.min(band.rows.len()).min(m).saturating_sub(4);
            band.change(from, m, &mut random);
            band.put(&mut kept, from);
            let mut fresh = KeptLu::default();
            band.put(&mut fresh, 0);
            let (a, b) = (kept.factor(), fresh.factor());
            assert_eq!(a.to_bits(), b.to_bits(), "round {round}");
            steps += kept.known;
            if a < 1e-6 {
                continue;
            }
            let wanted: Vec<f64> = (0..=m).map(|_| random.range(-1.0, 1.0)).collect();
            let (mut x, mut y) = (band.times(&wanted), band.times(&wanted));
            kept.solve(&mut x);
            fresh.solve(&mut y);
            assert_eq!(x, y);
            let error: Vec<f64> = x.iter().zip(&wanted).map(|(a, b)| a - b).collect();
            assert!(max_abs(&error) < 1e-7, "round {round}: {error:?}");
        }
        assert!(400 < steps);
    }

    #[test]
    fn systems_without_a_border_are_solved_and_singular_ones_have_no_pivot() {
        let mut lu = KeptLu::default();
        for (corner, regular) in [(3.0, true), (4.0, false), (5.0, true)] {
            lu.reset(2, false, 0);
            for (i, j, x) in [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, corner)] {
                lu.add(i, j, x);
            }
            assert_eq!(0.0 < lu.factor(), regular);
            let mut x = [3.0, 2.0 + corner];
            if regular {
                lu.solve(&mut x);
                assert!((x[0] - 1.0).abs() + (x[1] - 1.0).abs() < 1e-12);
            }
        }
    }
}
