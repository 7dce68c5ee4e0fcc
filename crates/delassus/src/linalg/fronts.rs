//! Sparse LU over bodies, front by front: bodies with fewest neighbours go first, and each leaves a dense block of
//! what it did to the bodies around it.
//!
//! The pattern is symmetric, the numbers are not. Rows are exchanged within a front only, so that the plan holds for
//! any numbers.

mod eliminate;

use self::eliminate::Eliminate;
use super::degree::Graph;
use crate::math::dot_unrolled;

/// An order of elimination and the factors along it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fronts {
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
pub(crate) struct FrontBlock<'a> {
    values: &'a mut [f64],
    width: usize,
    local: &'a [usize],
}

impl FrontBlock<'_> {
    /// A += scale × column rowᵀ, for velocities that begin at the two offsets.
    pub(crate) fn add(
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

    /// A += what a child leaves for these velocities.
    fn add_rest(&mut self, velocities: &[usize], rest: &[f64]) {
        for (row, &i) in rest.chunks_exact(velocities.len().max(1)).zip(velocities) {
            let start = self.local[i] * self.width;
            let values = &mut self.values[start..start + self.width];
            for (x, &j) in row.iter().zip(velocities) {
                values[self.local[j]] += x;
            }
        }
    }
}

impl Fronts {
    /// Plans for bodies given by their first velocity and their number of velocities, ascending, and for elements
    /// that couple the bodies listed.
    pub(crate) fn plan(&mut self, bodies: &[(usize, usize)], elements: &[Vec<usize>]) {
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

#[cfg(test)]
mod tests;
