//! Sparse LU front by front: nodes with fewest neighbours go first, and each leaves a dense block of what it did to the
//! nodes around it.
//!
//! ```text
//! [A₁₁ A₁₂]   [L₁₁    ] [U₁₁ U₁₂]
//! [A₂₁ A₂₂] = [L₂₁  1 ] [     S ]        1: nodes of the front, 2: nodes beside them;  S is added to a later front
//! ```
//!
//! The pattern is symmetric, the numbers are not. Rows are exchanged within a front only, so that the plan holds for any
//! numbers; fronts none of whose elements have changed are kept. Cost: Σ own × width² over the fronts.

use super::minimum_degree::{Graph, Open};
use crate::math::dot_unrolled;

/// Columns of a front eliminated together.
const PANEL: usize = 6;

/// Unknowns of a node: the first, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) first: usize,
    pub(crate) width: usize,
}

/// Entries of a vector from an unknown on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) first: usize,
    pub(crate) values: &'a [f64],
}

/// An order of elimination and the factors along it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fronts {
    fronts: Vec<Front>,
    /// Whether there are factors, and which fronts have changed since.
    factored: bool,
    changed: Vec<bool>,
    /// Where the unknowns of the front at hand stand in it.
    local: Vec<usize>,
    dense: Vec<f64>,
    arch: pulp::Arch,
}

/// Nodes that are eliminated together.
#[derive(Clone, Debug, Default)]
struct Front {
    /// Unknowns: the `own` first of them are eliminated here, the others are what they couple to.
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

/// Nodes that go together, as all of them see the same others, and those others.
struct Group {
    own: Vec<usize>,
    others: Vec<usize>,
}

impl Group {
    /// All nodes in order of elimination: one that couples nothing its predecessor did not couple joins its group.
    fn order(n: usize, elements: &[Vec<usize>]) -> Vec<Group> {
        let mut order: Vec<Group> = Vec::new();
        for gone in Graph::of_elements(n, elements).eliminate(&mut Open) {
            match order.last_mut() {
                Some(group)
                    if group.others.contains(&gone.node)
                        && group.others.len() == gone.later.len() + 1 =>
                {
                    group.own.push(gone.node);
                    group.others = gone.later;
                }
                _ => order.push(Group {
                    own: vec![gone.node],
                    others: gone.later,
                }),
            }
        }
        order
    }
}

/// The dense block of a front while elements are added to it.
pub(crate) struct FrontBlock<'a> {
    values: &'a mut [f64],
    width: usize,
    local: &'a [usize],
}

impl FrontBlock<'_> {
    /// A += scale × column rowᵀ.
    pub(crate) fn add(&mut self, column: Piece<'_>, row: Piece<'_>, scale: f64) {
        let (i, j) = (self.local[column.first], self.local[row.first]);
        for (k, x) in column.values.iter().enumerate() {
            let start = (i + k) * self.width + j;
            let values = &mut self.values[start..start + row.values.len()];
            for (value, y) in values.iter_mut().zip(row.values) {
                *value += scale * x * y;
            }
        }
    }

    /// A += what a child leaves for these unknowns.
    fn add_rest(&mut self, unknowns: &[usize], rest: &[f64]) {
        for (row, &i) in rest.chunks_exact(unknowns.len().max(1)).zip(unknowns) {
            let start = self.local[i] * self.width;
            let values = &mut self.values[start..start + self.width];
            for (x, &j) in row.iter().zip(unknowns) {
                values[self.local[j]] += x;
            }
        }
    }
}

impl Fronts {
    /// Plans for nodes in ascending order of their unknowns, and for elements that couple the nodes listed.
    pub(crate) fn plan(&mut self, nodes: &[Node], elements: &[Vec<usize>]) {
        let order = Group::order(nodes.len(), elements);
        let mut home = vec![0; nodes.len()];
        for (f, group) in order.iter().enumerate() {
            group.own.iter().for_each(|&x| home[x] = f);
        }
        let spread = |list: &[usize]| -> Vec<usize> {
            let nodes = list.iter().map(|&x| nodes[x]);
            nodes.flat_map(|n| n.first..n.first + n.width).collect()
        };
        self.factored = false;
        self.fronts.clear();
        self.fronts.resize_with(order.len(), Front::default);
        for (f, group) in order.iter().enumerate() {
            let front = &mut self.fronts[f];
            front.rows = spread(&group.own);
            front.own = front.rows.len();
            front.rows.extend(spread(&group.others));
            if let Some(parent) = group.others.iter().map(|&x| home[x]).min() {
                self.fronts[parent].children.push(f);
            }
        }
        for (e, touched) in elements.iter().enumerate() {
            if let Some(front) = touched.iter().map(|&x| home[x]).min() {
                self.fronts[front].elements.push(e);
            }
        }
        let unknowns = nodes.last().map_or(0, |node| node.first + node.width);
        self.local.clear();
        self.local.resize(unknowns, 0);
    }

    /// Factors 1 + what `add` adds for every element; what it adds for those that are not new is what it was. Returns
    /// the multiplications that took, or none where a pivot vanishes.
    pub(crate) fn factor(
        &mut self,
        is_new: impl Fn(usize) -> bool,
        mut add: impl FnMut(usize, &mut FrontBlock<'_>),
    ) -> Option<u64> {
        let fresh = !std::mem::take(&mut self.factored);
        self.changed.clear();
        let mut cost = 0;
        for f in 0..self.fronts.len() {
            let front = &self.fronts[f];
            let below = front.children.iter().any(|&child| self.changed[child]);
            let changed = fresh || below || front.elements.iter().any(|&e| is_new(e));
            self.changed.push(changed);
            if !changed {
                continue;
            }
            self.assemble(f, &mut add);
            let front = &mut self.fronts[f];
            front.swaps.resize(front.own, 0);
            let regular = self.arch.dispatch(Eliminate {
                a: &mut self.dense,
                width: front.rows.len(),
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

    /// The dense block of a front: ones, what its elements add, and what its children leave.
    fn assemble(&mut self, f: usize, add: &mut impl FnMut(usize, &mut FrontBlock<'_>)) {
        let front = &self.fronts[f];
        let width = front.rows.len();
        self.dense.clear();
        self.dense.resize(width * width, 0.0);
        for (i, &row) in front.rows.iter().enumerate() {
            self.local[row] = i;
        }
        for i in 0..front.own {
            self.dense[i * width + i] = 1.0;
        }
        let mut block = FrontBlock {
            values: &mut self.dense,
            width,
            local: &self.local,
        };
        for &e in &front.elements {
            add(e, &mut block);
        }
        for &child in &front.children {
            let child = &self.fronts[child];
            block.add_rest(&child.rows[child.own..], &child.rest);
        }
    }

    /// Multiplications of one solution.
    pub(crate) fn cost(&self) -> u64 {
        let fronts = self.fronts.iter();
        fronts
            .map(|front| (2 * front.own * front.rows.len()) as u64)
            .sum()
    }

    /// x ← A⁻¹x.
    pub(crate) fn solve(&self, x: &mut [f64]) {
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
            own[i] -= dot_unrolled(&self.factors[i * width..i * width + i], &own[..i]);
        }
        let below = self.factors[self.own * width..].chunks_exact(self.own.max(1));
        for (y, row) in others.iter_mut().zip(below) {
            *y -= dot_unrolled(row, own);
        }
    }

    fn backward(&self, y: &mut [f64]) {
        let width = self.rows.len();
        for i in (0..self.own).rev() {
            let row = &self.factors[i * width..(i + 1) * width];
            let sum = dot_unrolled(&row[i + 1..], &y[i + 1..]);
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
                subtract_all(values, pivots, width, to, &factors[from..]);
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
fn subtract_all(row: &mut [f64], pivots: &[f64], width: usize, to: usize, factors: &[f64]) {
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
mod tests;
