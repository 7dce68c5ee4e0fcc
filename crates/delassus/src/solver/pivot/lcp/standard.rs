//! One path of pivots on a dense matrix: revised Lemke, where only the small block A of the basis is factored.
//!
//! Pair i has z_i or w_i in the basis, except one pair r with neither while z₀ is basic. With α the basic z and z₀, α̃
//! the same pairs with r for z₀, β the others, and M̄ = [M c], A = M̄_α̃α gives everything:
//!
//! ```text
//! q′_α = −A⁻¹q_α̃          q′_β = q_β + M̄_βα q′_α             values of the basic variables
//! m′_α = −A⁻¹m_α̃          m′_β = m_β + M̄_βα m′_α             rates along a driving z, whose column is m
//! m′_α = +A⁻¹e_r           m′_β =       M̄_βα m′_α             rates along a driving w_r           [Lemke05 (15)–(21)]
//! ```
//!
//! How this differs from the source: (1) A is kept as Q A = R under plane rotations and factored afresh when its rows,
//! zero but for rounding in every product, show drift, after max(32, rows) exchanges, and before a ray is declared;
//! (2) free columns are basic from the start and never leave; (3) a path may start from a given basis; (4) under the
//! lexicographic rule every solve is refined once. Cost of a pivot: O(n |α|). Contacts with columns are better pivoted
//! without their matrix.

use std::time::Instant;

use super::ratio::{BasisColumns, CycleGuard, Pivot, RatioTest, VERIFIED, first};
use super::{Lcp, add_column};
use crate::linalg::qr_update::QrFactor;
use crate::math::max_abs;
use crate::solver::Status;

/// Rows of α̃ come out as zero but for rounding; beyond this much of the values A is factored afresh.
const DRIFT: f64 = 1e-10;
/// Changes after which A is factored afresh, or as many as it has rows if those are more.
const REFACTOR: usize = 32;

/// Limits of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Most pivots.
    pub(super) pivots: usize,
    /// The moment to stop at.
    pub(super) deadline: Option<Instant>,
}

impl Limits {
    /// The end a path meets that has done so many pivots, if any.
    fn reached(&self, pivots: usize) -> Option<Status> {
        if self.pivots <= pivots {
            return Some(Status::PivotLimit);
        }
        let late = self
            .deadline
            .is_some_and(|deadline| deadline <= Instant::now());
        late.then_some(Status::TimeLimit)
    }
}

/// What a path came to.
#[derive(Clone, Debug)]
pub(super) struct PathEnd {
    /// `Solved` where z₀ left the basis, to be verified; `Breakdown` where the basis became singular.
    pub(super) end: Status,
    /// Exchanges, the first with z₀ included.
    pub(super) pivots: usize,
    /// The solution, or the last basic values of z.
    pub(super) z: Vec<f64>,
    /// Direction along which z can grow for ever, with the growth of z₀ last.
    pub(super) ray: Option<Vec<f64>>,
}

/// Where a path starts.
#[derive(Clone, Debug)]
pub(super) enum Start {
    /// z = 0, and w = 0 in free rows.
    Zero,
    /// The basic z of a solution.
    Solution(Vec<usize>),
    /// A basis with z₀, by the rows and columns of A, and the pair whose z drives.
    Basis {
        rows: Vec<usize>,
        cols: Vec<usize>,
        driving: usize,
    },
}

/// Pivots from the start until z₀ leaves. The covering vector must vanish in free rows.
pub(super) fn follow(
    lcp: &Lcp,
    cover: &[f64],
    start: Start,
    pivot: Pivot,
    limits: Limits,
) -> PathEnd {
    let mut path = DensePath::new(lcp, cover, pivot);
    let mut test = RatioTest::new(pivot);
    let end = match start {
        Start::Zero => path.follow(&mut test, limits),
        Start::Solution(basic) => {
            path.pivots = basic.len();
            (path.rows, path.cols) = (basic.clone(), basic);
            path.finish()
        }
        Start::Basis {
            rows,
            cols,
            driving,
        } => {
            path.pivots = rows.len();
            (path.rows, path.cols) = (rows, cols);
            path.driving = Driving::Z(driving);
            path.refactor();
            path.pursue(&mut test, limits)
        }
    };
    path.concluded(end)
}

/// The variable that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driving {
    Z(usize),
    W(usize),
}

/// A basis on its way.
struct DensePath<'a> {
    lcp: &'a Lcp,
    cover: &'a [f64],
    /// max|q|: what tolerances refer to.
    scale: f64,
    factor: QrFactor,
    /// α̃ and α in the order of A; the index n stands for z₀.
    rows: Vec<usize>,
    cols: Vec<usize>,
    driving: Driving,
    pivots: usize,
    /// Value and rate of the basic variable of each pair, then of z₀.
    values: Vec<f64>,
    rates: Vec<f64>,
    /// Free pairs, and their rates: the ratio test must not see those.
    free: Vec<usize>,
    free_rates: Vec<f64>,
    /// Whether every solve is refined once: ties that the lexicographic rule has to see must not drown in rounding.
    refined: bool,
    work: Vec<f64>,
}

impl<'a> DensePath<'a> {
    fn new(lcp: &'a Lcp, cover: &'a [f64], pivot: Pivot) -> DensePath<'a> {
        let n = lcp.len();
        let free: Vec<usize> = (0..n).filter(|&i| lcp.free()[i]).collect();
        let mut path = DensePath {
            lcp,
            cover,
            scale: max_abs(lcp.q()),
            factor: QrFactor::default(),
            rows: free.clone(),
            cols: free.clone(),
            free_rates: vec![0.0; free.len()],
            free,
            driving: Driving::Z(n),
            pivots: 0,
            values: vec![0.0; n + 1],
            rates: vec![0.0; n + 1],
            refined: pivot == Pivot::Lex,
            work: Vec::new(),
        };
        path.refactor();
        path
    }

    fn n(&self) -> usize {
        self.lcp.len()
    }

    /// M̄: the columns of M, then the covering vector.
    fn column_of(&self, j: usize) -> &'a [f64] {
        if j == self.n() {
            self.cover
        } else {
            self.lcp.column(j)
        }
    }

    fn refactor(&mut self) {
        let mut factor = std::mem::take(&mut self.factor);
        factor.refactor(self.rows.len(), |i, j| {
            self.column_of(self.cols[j])[self.rows[i]]
        });
        self.factor = factor;
    }

    fn follow(&mut self, test: &mut RatioTest, limits: Limits) -> Status {
        let n = self.n();
        if !self.refresh() {
            return Status::Breakdown;
        }
        let Some(r) = first(&self.values[..n], self.cover) else {
            let mut pairs = self.values.iter().zip(self.lcp.free());
            let solved = pairs.all(|(value, free)| *free || 0.0 <= *value);
            return if solved {
                Status::Solved
            } else {
                Status::Breakdown
            };
        };
        self.scale = self.scale.max(max_abs(&self.values[..n]));
        self.enter_z(n, r);
        self.driving = Driving::Z(r);
        self.pivots = 1;
        self.pursue(test, limits)
    }

    /// Pivots from a basis with z₀.
    fn pursue(&mut self, test: &mut RatioTest, limits: Limits) -> Status {
        let n = self.n();
        let mut guard = CycleGuard::new(test.pivot(), n);
        loop {
            if let Some(end) = limits.reached(self.pivots) {
                return end;
            }
            if !self.refresh() {
                return Status::Breakdown;
            }
            let (values, rates) = (
                std::mem::take(&mut self.values),
                std::mem::take(&mut self.rates),
            );
            let found = test.leaving(
                &values,
                &rates,
                n,
                self.scale,
                &mut Asked {
                    path: self,
                    values: &values,
                    rates: &rates,
                },
            );
            (self.values, self.rates) = (values, rates);
            let Some(leaving) = found else {
                if self.factor.changes() == 0 {
                    return Status::Ray;
                }
                // Never from a factor that has been changed.
                self.refactor();
                continue;
            };
            if guard.cycles(self.values[leaving], self.scale) {
                return Status::PivotLimit;
            }
            self.exchange(leaving);
            self.pivots += 1;
            if leaving == n {
                return self.finish();
            }
        }
    }

    fn concluded(self, end: Status) -> PathEnd {
        let ray = (end == Status::Ray).then(|| self.direction());
        PathEnd {
            end,
            pivots: self.pivots,
            z: self.z(),
            ray,
        }
    }

    /// Values and rates of all basic variables; false where the basis is singular.
    fn refresh(&mut self) -> bool {
        for attempt in 0..2 {
            let mut values = std::mem::take(&mut self.values);
            let mut rates = std::mem::take(&mut self.rates);
            values[..self.n()].copy_from_slice(self.lcp.q());
            let mut fine = self.transform(&mut values);
            match self.driving {
                Driving::Z(j) => rates[..self.n()].copy_from_slice(self.column_of(j)),
                Driving::W(i) => {
                    // m′ = +A⁻¹e_r: minus the column of B⁻¹.
                    rates.fill(0.0);
                    rates[i] = -1.0;
                }
            }
            fine &= self.transform(&mut rates);
            for (kept, &i) in self.free_rates.iter_mut().zip(&self.free) {
                *kept = std::mem::take(&mut rates[i]);
            }
            (self.values, self.rates) = (values, rates);
            if fine
                || (attempt == 1
                    && max_abs(&self.values).is_finite()
                    && max_abs(&self.rates).is_finite())
            {
                return true;
            }
            self.refactor();
        }
        false
    }

    /// b over the rows becomes B⁻¹b over the basic variables, by pair; false where rounding has taken over.
    fn transform(&mut self, b: &mut [f64]) -> bool {
        let n = self.n();
        let mut x = std::mem::take(&mut self.work);
        x.clear();
        x.extend(self.rows.iter().map(|&i| -b[i]));
        let mut fine = self.factor.solve(&mut x);
        let size = max_abs(&b[..n]).max(max_abs(&x));
        let (b_rows, b_last) = b.split_at_mut(n);
        self.add_columns(&x, b_rows);
        let left = |b: &[f64], rows: &[usize]| rows.iter().fold(0.0_f64, |m, &i| m.max(b[i].abs()));
        let mut drift = left(b_rows, &self.rows);
        if self.refined && 0.0 < drift && drift <= DRIFT * size {
            let mut step: Vec<f64> = self.rows.iter().map(|&i| -b_rows[i]).collect();
            fine &= self.factor.solve(&mut step);
            self.add_columns(&step, b_rows);
            x.iter_mut().zip(&step).for_each(|(x, step)| *x += step);
            drift = left(b_rows, &self.rows);
        }
        fine &= drift <= DRIFT * size;
        for &i in &self.rows {
            b_rows[i] = 0.0;
        }
        b_last[0] = 0.0;
        for (&j, &x) in self.cols.iter().zip(&x) {
            if j == n {
                b_last[0] = x;
            } else {
                b_rows[j] = x;
            }
        }
        self.work = x;
        fine
    }

    /// y += M̄_·α x, four columns at a time: memory is what this costs.
    fn add_columns(&self, x: &[f64], y: &mut [f64]) {
        let (fours, rest) = self.cols.as_chunks::<4>();
        let (x_fours, x_rest) = x.as_chunks::<4>();
        for (&[a, b, c, d], x) in fours.iter().zip(x_fours) {
            let (a, b) = (self.column_of(a), self.column_of(b));
            let (c, d) = (self.column_of(c), self.column_of(d));
            for ((((y, a), b), c), d) in y.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *y += (x[0] * a + x[1] * b) + (x[2] * c + x[3] * d);
            }
        }
        for (&j, &x) in rest.iter().zip(x_rest) {
            add_column(y, x, self.column_of(j));
        }
    }

    /// A fresh solve in the final basis, with one step of refinement.
    fn finish(&mut self) -> Status {
        let n = self.n();
        self.refactor();
        let mut values = std::mem::take(&mut self.values);
        values[..n].copy_from_slice(self.lcp.q());
        let mut fine = self.transform(&mut values);
        let mut z = vec![0.0; n];
        for &j in &self.cols {
            z[j] = values[j];
        }
        let w = self.lcp.w(&z);
        let mut x: Vec<f64> = self.rows.iter().map(|&i| -w[i]).collect();
        if self.factor.solve(&mut x) {
            for (&j, x) in self.cols.iter().zip(&x) {
                values[j] += x;
            }
        }
        fine |= max_abs(&values).is_finite();
        self.values = values;
        if fine {
            Status::Solved
        } else {
            Status::Breakdown
        }
    }

    /// z of the current basis, without what rounding leaves below zero.
    fn z(&self) -> Vec<f64> {
        let n = self.n();
        let mut z = vec![0.0; n];
        for &j in self.cols.iter().filter(|&&j| j < n) {
            let value = self.values[j];
            z[j] = if self.lcp.free()[j] {
                value
            } else {
                value.max(0.0)
            };
        }
        z
    }

    /// How z, and last z₀, grow along the driving variable.
    fn direction(&self) -> Vec<f64> {
        let n = self.n();
        let mut ray = vec![0.0; n + 1];
        for &j in &self.cols {
            ray[j] = self.rates[j];
        }
        for (&j, rate) in self.free.iter().zip(&self.free_rates) {
            ray[j] = *rate;
        }
        if let Driving::Z(j) = self.driving {
            ray[j] = 1.0;
        }
        ray
    }
}

impl DensePath<'_> {
    /// The driving variable enters for the basic variable of pair `leaving` (n: z₀).
    fn exchange(&mut self, leaving: usize) {
        let leaves_z = leaving == self.n() || self.cols.contains(&leaving);
        match (self.driving, leaves_z) {
            (Driving::Z(j), false) => self.enter_z(j, leaving),
            (Driving::Z(j), true) => self.exchange_column(leaving, j),
            (Driving::W(i), false) => self.exchange_row(i, leaving),
            (Driving::W(i), true) => self.drop_pair(i, leaving),
        }
        self.driving = if leaves_z {
            Driving::W(leaving)
        } else {
            Driving::Z(leaving)
        };
        if REFACTOR.max(self.rows.len()) <= self.factor.changes() / 2 {
            self.refactor();
        }
    }

    /// z_j enters, w_i leaves.
    fn enter_z(&mut self, j: usize, i: usize) {
        self.rows.push(i);
        self.cols.push(j);
        let (row, column) = (self.row(i), self.part(j));
        self.factor.grow(&row, &column);
    }

    /// z_new enters, z_old leaves.
    fn exchange_column(&mut self, old: usize, new: usize) {
        let at = place(&self.cols, old);
        self.cols.remove(at);
        self.cols.push(new);
        let column = self.part(new);
        self.factor.exchange_column(at, &column);
    }

    /// w_old enters, w_new leaves.
    fn exchange_row(&mut self, old: usize, new: usize) {
        let at = place(&self.rows, old);
        self.rows.remove(at);
        self.rows.push(new);
        let row = self.row(new);
        self.factor.exchange_row(at, &row);
    }

    /// w_i enters, z_j leaves.
    fn drop_pair(&mut self, i: usize, j: usize) {
        let (row, column) = (place(&self.rows, i), place(&self.cols, j));
        self.rows.remove(row);
        self.cols.remove(column);
        self.factor.shrink(row, column);
    }

    /// Row i of M̄ at α.
    fn row(&self, i: usize) -> Vec<f64> {
        self.cols.iter().map(|&j| self.column_of(j)[i]).collect()
    }

    /// Column j of M̄ at α̃.
    fn part(&self, j: usize) -> Vec<f64> {
        let column = self.column_of(j);
        self.rows.iter().map(|&i| column[i]).collect()
    }
}

/// Where a pair stands in A.
fn place(list: &[usize], pair: usize) -> usize {
    let at = list.iter().position(|&other| other == pair);
    at.expect("what leaves is basic, and the row of a driving w is one of A")
}

/// A basis that answers the ratio test.
struct Asked<'a, 'b> {
    path: &'b mut DensePath<'a>,
    values: &'b [f64],
    rates: &'b [f64],
}

impl BasisColumns for Asked<'_, '_> {
    fn columns(&self) -> usize {
        self.path.n()
    }

    fn column(&mut self, j: usize, pairs: &[usize], entries: &mut [f64]) {
        if !self.path.rows.contains(&j) {
            // w_j is basic: a unit column.
            for (entry, &i) in entries.iter_mut().zip(pairs) {
                *entry = if i == j { 1.0 } else { 0.0 };
            }
            return;
        }
        let mut column = vec![0.0; self.path.n() + 1];
        column[j] = 1.0;
        self.path.transform(&mut column);
        for (entry, &i) in entries.iter_mut().zip(pairs) {
            *entry = column[i];
        }
    }

    fn verify(&mut self, step: f64) -> bool {
        let n = self.path.n();
        let mut z = vec![0.0; n];
        for &j in self.path.cols.iter().filter(|&&j| j < n) {
            z[j] = self.values[j] + step * self.rates[j];
        }
        for (&j, rate) in self.path.free.iter().zip(&self.path.free_rates) {
            z[j] += step * rate;
        }
        if let Driving::Z(j) = self.path.driving {
            z[j] = step;
        }
        self.path.lcp.residual(&z) <= VERIFIED * self.path.scale
    }
}
