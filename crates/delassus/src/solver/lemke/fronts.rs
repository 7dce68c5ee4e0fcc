//! Sparse LU over bodies, front by front: bodies with fewest neighbours go first, and each leaves a dense block of
//! what it did to the bodies around it.
//!
//! The pattern is symmetric, the numbers are not. Rows are exchanged within a front only, so that the plan holds for
//! any numbers.

use super::degree::Graph;

/// Columns eliminated together.
const PANEL: usize = 6;

/// An order of elimination and the factors along it.
#[derive(Clone, Debug, Default)]
pub(super) struct Fronts {
    fronts: Vec<Front>,
    /// Whether there are factors, and which fronts have changed since.
    factored: bool,
    changed: Vec<bool>,
    /// Where the velocities of the front at hand stand in it.
    local: Vec<usize>,
    dense: Vec<f64>,
    arch: pulp::Arch,
}

/// Bodies that are eliminated together.
#[derive(Clone, Debug, Default)]
struct Front {
    /// Velocities: the `own` first of them are eliminated here, the others are what they couple to.
    rows: Vec<usize>,
    own: usize,
    /// Elements added here, and fronts that leave their rest here.
    elements: Vec<usize>,
    children: Vec<usize>,
    swaps: Vec<usize>,
    /// Own rows of the factors with all their columns, then own columns of the other rows.
    factors: Vec<f64>,
    /// What elimination leaves.
    rest: Vec<f64>,
}

/// The dense block of a front while elements are added to it.
pub(super) struct Block<'a> {
    values: &'a mut [f64],
    width: usize,
    local: &'a [usize],
}

impl Block<'_> {
    /// A += scale × column rowᵀ, for velocities that begin at the two offsets.
    pub(super) fn add(
        &mut self,
        (at, column): (usize, &[f64]),
        (to, row): (usize, &[f64]),
        scale: f64,
    ) {
        let (i, j) = (self.local[at], self.local[to]);
        for (k, x) in column.iter().enumerate() {
            let start = (i + k) * self.width + j;
            let values = &mut self.values[start..start + row.len()];
            for (value, y) in values.iter_mut().zip(row) {
                *value += scale * x * y;
            }
        }
    }
}

impl Fronts {
    /// Plans for bodies given by their first velocity and their number of velocities, ascending, and for elements
    /// that couple the bodies listed.
    pub(super) fn plan(&mut self, bodies: &[(usize, usize)], elements: &[Vec<usize>]) {
        let order = Graph::new(bodies.len(), elements).eliminate();
        let mut home = vec![0; bodies.len()];
        for (f, (own, _)) in order.iter().enumerate() {
            own.iter().for_each(|&x| home[x] = f);
        }
        let spread = |list: &[usize]| -> Vec<usize> {
            let ranges = list.iter().map(|&x| bodies[x].0..bodies[x].0 + bodies[x].1);
            ranges.flatten().collect()
        };
        self.factored = false;
        self.fronts.clear();
        self.fronts.resize_with(order.len(), Front::default);
        for (f, (own, others)) in order.iter().enumerate() {
            let front = &mut self.fronts[f];
            front.rows = spread(own);
            front.own = front.rows.len();
            front.rows.extend(spread(others));
            if let Some(parent) = others.iter().map(|&x| home[x]).min() {
                self.fronts[parent].children.push(f);
            }
        }
        for (e, touched) in elements.iter().enumerate() {
            if let Some(front) = touched.iter().map(|&x| home[x]).min() {
                self.fronts[front].elements.push(e);
            }
        }
        let dofs = bodies.last().map_or(0, |(offset, width)| offset + width);
        self.local.clear();
        self.local.resize(dofs, 0);
    }

    /// Factors 1 + what `add` adds for every element; what it adds for those that are not new is what it was. Returns
    /// the multiplications that took, or none where a pivot vanishes.
    pub(super) fn factor(
        &mut self,
        is_new: impl Fn(usize) -> bool,
        mut add: impl FnMut(usize, &mut Block<'_>),
    ) -> Option<u64> {
        let fresh = !std::mem::take(&mut self.factored);
        self.changed.clear();
        let mut cost = 0;
        for f in 0..self.fronts.len() {
            let (before, rest) = self.fronts.split_at_mut(f);
            let (front, _) = rest.split_first_mut()?;
            let below = front.children.iter().any(|&child| self.changed[child]);
            let changed = fresh || below || front.elements.iter().any(|&e| is_new(e));
            self.changed.push(changed);
            if !changed {
                continue;
            }
            let width = front.rows.len();
            self.dense.clear();
            self.dense.resize(width * width, 0.0);
            for (i, &row) in front.rows.iter().enumerate() {
                self.local[row] = i;
            }
            for i in 0..front.own {
                self.dense[i * width + i] = 1.0;
            }
            let mut block = Block {
                values: &mut self.dense,
                width,
                local: &self.local,
            };
            for &e in &front.elements {
                add(e, &mut block);
            }
            for &child in &front.children {
                let child = &before[child];
                let rows = &child.rows[child.own..];
                for (row, &i) in child.rest.chunks_exact(rows.len().max(1)).zip(rows) {
                    let start = self.local[i] * width;
                    let values = &mut self.dense[start..start + width];
                    for (x, &j) in row.iter().zip(rows) {
                        values[self.local[j]] += x;
                    }
                }
            }
            front.swaps.resize(front.own, 0);
            let regular = self.arch.dispatch(Eliminate {
                a: &mut self.dense,
                width,
                own: front.own,
                swaps: &mut front.swaps,
            });
            if !regular {
                return None;
            }
            front.keep(&self.dense);
            cost += front.cost();
        }
        self.factored = true;
        Some(cost)
    }

    /// Multiplications of one solution.
    pub(super) fn cost(&self) -> u64 {
        let fronts = self.fronts.iter();
        fronts
            .map(|front| (2 * front.own * front.rows.len()) as u64)
            .sum()
    }

    /// x ← A⁻¹x.
    pub(super) fn solve(&self, x: &mut [f64]) {
        let mut y: Vec<f64> = Vec::new();
        for front in &self.fronts {
            front.gather(x, &mut y);
            front.forward(&mut y);
            front.scatter(&y, x);
        }
        for front in self.fronts.iter().rev() {
            front.gather(x, &mut y);
            front.backward(&mut y);
            front.scatter(&y[..front.own], x);
        }
    }
}

impl Front {
    fn keep(&mut self, dense: &[f64]) {
        let width = self.rows.len();
        self.factors.clear();
        self.factors.extend_from_slice(&dense[..self.own * width]);
        self.rest.clear();
        for row in dense[self.own * width..].chunks_exact(width.max(1)) {
            self.factors.extend_from_slice(&row[..self.own]);
            self.rest.extend_from_slice(&row[self.own..]);
        }
    }

    /// Multiplications of its elimination; what is added from children costs about as much as the width squared each.
    fn cost(&self) -> u64 {
        let (own, width) = (self.own as u64, self.rows.len() as u64);
        let added = (self.children.len() + self.elements.len()) as u64;
        (own + added + 1) * width * width
    }

    fn gather(&self, x: &[f64], y: &mut Vec<f64>) {
        y.clear();
        y.extend(self.rows.iter().map(|&row| x[row]));
    }

    fn scatter(&self, y: &[f64], x: &mut [f64]) {
        for (y, &row) in y.iter().zip(&self.rows) {
            x[row] = *y;
        }
    }

    fn forward(&self, y: &mut [f64]) {
        let width = self.rows.len();
        for (i, &p) in self.swaps.iter().enumerate() {
            y.swap(i, p);
        }
        let (own, others) = y.split_at_mut(self.own);
        for i in 1..self.own {
            own[i] -= crate::math::dot_unrolled(&self.factors[i * width..i * width + i], &own[..i]);
        }
        let below = self.factors[self.own * width..].chunks_exact(self.own.max(1));
        for (y, row) in others.iter_mut().zip(below) {
            *y -= crate::math::dot_unrolled(row, own);
        }
    }

    fn backward(&self, y: &mut [f64]) {
        let width = self.rows.len();
        for i in (0..self.own).rev() {
            let row = &self.factors[i * width..(i + 1) * width];
            let sum = crate::math::dot_unrolled(&row[i + 1..], &y[i + 1..]);
            y[i] = (y[i] - sum) / row[i];
        }
    }
}

/// Elimination of the first `own` columns of a dense block, rows exchanged among the first `own`. Compiled once for
/// every kind of processor and chosen at run time.
struct Eliminate<'a> {
    a: &'a mut [f64],
    width: usize,
    own: usize,
    swaps: &'a mut [usize],
}

impl pulp::WithSimd for Eliminate<'_> {
    /// Whether every pivot is regular.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> bool {
        let Eliminate {
            a,
            width,
            own,
            swaps,
        } = self;
        let mut from = 0;
        while from < own {
            let to = (from + PANEL).min(own);
            if !panel(a, width, own, from..to, swaps) {
                return false;
            }
            let (above, below) = a.split_at_mut(to * width);
            let pivots = &mut above[from * width..];
            for p in 1..to - from {
                let (done, rest) = pivots.split_at_mut(p * width);
                for (k, row) in done.chunks_exact(width).enumerate() {
                    let factor = rest[from + k];
                    subtract(&mut rest[to..width], &row[to..], factor);
                }
            }
            for (i, row) in below.chunks_exact_mut(width).enumerate() {
                if own <= to + i {
                    // The multipliers of rows that are not exchanged.
                    for (k, pivot) in pivots.chunks_exact(width).enumerate() {
                        let factor = row[from + k] / pivot[from + k];
                        row[from + k] = factor;
                        subtract(&mut row[from + k + 1..to], &pivot[from + k + 1..to], factor);
                    }
                }
                let (factors, values) = row.split_at_mut(to);
                subtract_all(values, pivots, (width, to), &factors[from..]);
            }
            from = to;
        }
        true
    }
}

/// LU of a few columns of the rows that may be exchanged.
#[inline(always)]
fn panel(
    a: &mut [f64],
    width: usize,
    own: usize,
    columns: std::ops::Range<usize>,
    swaps: &mut [usize],
) -> bool {
    for p in columns.clone() {
        let (mut q, mut best) = (p, -1.0);
        for i in p..own {
            let x = a[i * width + p].abs();
            if best < x {
                (q, best) = (i, x);
            }
        }
        if !(0.0 < best && best.is_finite()) {
            return false;
        }
        swaps[p] = q;
        if p != q {
            let (above, below) = a.split_at_mut(q * width);
            above[p * width..(p + 1) * width].swap_with_slice(&mut below[..width]);
        }
        let (above, below) = a.split_at_mut((p + 1) * width);
        let pivot = &above[p * width..];
        for row in below.chunks_exact_mut(width).take(own - p - 1) {
            let factor = row[p] / pivot[p];
            row[p] = factor;
            subtract(
                &mut row[p + 1..columns.end],
                &pivot[p + 1..columns.end],
                factor,
            );
        }
    }
    true
}

#[inline(always)]
fn subtract(x: &mut [f64], y: &[f64], factor: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        *x -= factor * y;
    }
}

/// row −= Σ factor_k pivot_k from column `to` on, all pivots of a panel in one pass.
#[inline(always)]
fn subtract_all(row: &mut [f64], pivots: &[f64], (width, to): (usize, usize), factors: &[f64]) {
    if let Some(f) = factors.as_array::<PANEL>() {
        let n = row.len();
        let [a, b, c, d, e, g]: [&[f64]; PANEL] =
            std::array::from_fn(|k| &pivots[k * width + to..k * width + to + n]);
        for j in 0..n {
            let first = f[0] * a[j] + f[1] * b[j] + f[2] * c[j];
            row[j] -= first + (f[3] * d[j] + f[4] * e[j] + f[5] * g[j]);
        }
        return;
    }
    for (factor, pivot) in factors.iter().zip(pivots.chunks_exact(width)) {
        subtract(row, &pivot[to..], *factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// 1 + Σ r lᵀ over elements between bodies of several widths, some of them beside each other and some far apart.
    #[test]
    fn solutions_meet_the_equations_of_a_sparse_unsymmetric_matrix() {
        let mut random = Random::new(5);
        for n in [1, 2, 7, 30, 90] {
            let mut bodies: Vec<(usize, usize)> = Vec::new();
            let mut dofs = 0;
            for x in 0..n {
                let width = [6, 1, 6, 3][x % 4];
                bodies.push((dofs, width));
                dofs += width;
            }
            let elements: Vec<Vec<usize>> = (0..3 * n)
                .map(|e| {
                    let (x, y) = (e % n, (e % n + 1 + random.below(9)) % n);
                    if x == y { vec![x] } else { vec![x, y] }
                })
                .collect();
            let mut fronts = Fronts::default();
            fronts.plan(&bodies, &elements);
            let mut dense = vec![0.0; dofs * dofs];
            (0..dofs).for_each(|i| dense[i * dofs + i] = 1.0);
            let regular = fronts.factor(
                |_| true,
                |e, block| {
                    for &x in &elements[e] {
                        for &y in &elements[e] {
                            let ((at, height), (to, width)) = (bodies[x], bodies[y]);
                            let mut list = |n| -> Vec<f64> {
                                (0..n).map(|_| random.range(-1.0, 1.0)).collect()
                            };
                            let (column, row) = (list(height), list(width));
                            block.add((at, &column), (to, &row), 0.7);
                            for (i, a) in column.iter().enumerate() {
                                for (j, b) in row.iter().enumerate() {
                                    dense[(at + i) * dofs + to + j] += 0.7 * a * b;
                                }
                            }
                        }
                    }
                },
            );
            assert!(regular.is_some());
            let b: Vec<f64> = (0..dofs).map(|_| random.range(-1.0, 1.0)).collect();
            let mut x = b.clone();
            fronts.solve(&mut x);
            let scale = 1.0 + crate::math::max_abs(&x);
            for (row, b) in dense.chunks_exact(dofs).zip(&b) {
                let left = crate::math::dot(row, &x) - b;
                assert!(left.abs() < 1e-9 * scale, "{n} bodies: {left:e}");
            }
        }
    }

    #[test]
    fn singular_matrices_are_refused() {
        let mut fronts = Fronts::default();
        fronts.plan(&[(0, 1)], &[vec![0]]);
        let singular = |_, block: &mut Block<'_>| block.add((0, &[1.0]), (0, &[1.0]), -1.0);
        assert_eq!(fronts.factor(|_| true, singular), None);
        // Nothing is kept of it.
        let regular = |_, block: &mut Block<'_>| block.add((0, &[1.0]), (0, &[1.0]), 1.0);
        assert!(fronts.factor(|_| false, regular).is_some());
        let mut x = [3.0];
        fronts.solve(&mut x);
        assert_eq!(x, [1.5]);
    }

    /// Bodies in a row with springs between them, one of which changes: the same bits as from nothing, with less work.
    #[test]
    fn what_has_not_changed_is_kept() {
        let n = 40;
        let bodies: Vec<(usize, usize)> = (0..n).map(|x| (2 * x, 2)).collect();
        let elements: Vec<Vec<usize>> = (0..n - 1).map(|x| vec![x, x + 1]).collect();
        let add = |stiff: usize| {
            move |e: usize, block: &mut Block<'_>| {
                let scale = if e == stiff { 9.0 } else { 1.0 };
                block.add((2 * e, &[1.0, 0.5]), (2 * e, &[1.0, 0.2]), scale);
                block.add((2 * e + 2, &[0.3, 0.4]), (2 * e, &[1.0, 0.1]), scale);
            }
        };
        let plan = || {
            let mut fronts = Fronts::default();
            fronts.plan(&bodies, &elements);
            fronts
        };
        let (mut kept, mut fresh) = (plan(), plan());
        let all = kept.factor(|_| true, add(3)).unwrap();
        let few = kept.factor(|e| e == 3 || e == 20, add(20)).unwrap();
        assert_eq!(fresh.factor(|_| true, add(20)), Some(all));
        assert!(few < all, "{few} of {all}");
        let mut x: Vec<f64> = (0..2 * n).map(|i| (i as f64).sin()).collect();
        let mut y = x.clone();
        kept.solve(&mut x);
        fresh.solve(&mut y);
        assert_eq!(x, y);
    }
}
