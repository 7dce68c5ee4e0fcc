//! LU of a matrix of dense blocks with a symmetric pattern, front by front along an order of elimination that fills
//! little.
//!
//! ```text
//! [A₁₁ A₁₂]   [L₁₁    ] [U₁₁ U₁₂]
//! [A₂₁ A₂₂] = [L₂₁  1 ] [     S ]        1: nodes of the front, 2: nodes beside them;  S is added to a later front
//! node by node:   U_q ← A_q − L_q,before U_before,   D_q ← U_qq⁻¹,   L_iq ← (A_iq − L_i,before U_before,q) D_q
//! ```
//!
//! Nodes that couple the same others share a front, so that most of the work is one dense product, S ← S − L₂₁U₁₂.
//! Rows are exchanged inside a diagonal block only. That is stable where every diagonal block is a mass plus positive
//! parts, and is checked by whoever uses it, by one refinement. Where a diagonal block holds a joint and leaves a turn
//! nearly free, products with D_q lose what tells the two apart; a careful factorisation corrects each of them once:
//!
//! ```text
//! L_iq ← L_iq + (A_iq − L_iq U_qq) D_q ,   x_q ← x_q + D_q (b_q − U_qq x_q)
//! ```
//!
//! Of few unknowns rows are then exchanged throughout, which keeps a digit or two more.
//!
//! The order (least neighbours first, ties by number) and the pattern depend on the graph alone and are kept while it
//! stays.
//!
//! A node may have a leader: then only its first unknowns are pivots, and the others follow from the leader's, z = Tᵀx.
//! This is how links of a kinematic tree are eliminated from the leaves to the root: what a joint leaves free is a
//! pivot, what it holds moves with the parent.
//!
//! Every sum is taken in one order whatever the lanes of the processor. Cost: O(n) on chains and trees of n nodes,
//! about n^1.5 on planar graphs.

mod kernels;
mod plan;

pub(crate) use kernels::invert;
pub(crate) use plan::{Node, Slot};

use crate::linalg::lu::ProfileLu;
use crate::math::dot_unrolled;
use kernels::{add_rows, subtract_product, turn};
use plan::{Plan, Run};

/// Unknowns up to which a careful factorisation exchanges rows throughout.
const FEW: usize = 400;

/// A factorisation with its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockLu {
    plan: Plan,
    /// U and Lᵀ of every front, row by row.
    upper: Vec<f64>,
    lower: Vec<f64>,
    /// T of every node with a leader, one row for each unknown of the leader.
    maps: Vec<f64>,
    /// What fronts leave, the last on top.
    rests: Vec<f64>,
    waiting: Vec<Rest>,
    /// Work of one inverse, of one front, and of one solution.
    inverse: Vec<f64>,
    front: Vec<f64>,
    y: Vec<f64>,
    /// Whether products with inverses of diagonal blocks are corrected, and the panel of A that one of them takes.
    pub(crate) careful: bool,
    kept: Vec<f64>,
    /// The factors of a small matrix that is factored with care: rows are exchanged throughout.
    exchanged: ProfileLu,
    is_exchanged: bool,
}

/// What a front leaves: a square on the stack.
#[derive(Clone, Copy, Debug)]
struct Rest {
    front: usize,
    start: usize,
}

impl BlockLu {
    /// Takes the pattern: the nodes, and pairs of nodes whose blocks are not zero, in any order and number.
    pub(crate) fn analyse(&mut self, nodes: &[Node], pairs: impl Iterator<Item = (u32, u32)>) {
        self.plan = Plan::new(nodes, pairs);
        let plan = &self.plan;
        self.upper = vec![0.0; plan.n_values];
        self.lower = vec![0.0; plan.n_values];
        self.maps = vec![0.0; plan.n_maps];
        self.rests = vec![0.0; plan.highest];
        self.waiting.clear();
        self.inverse = vec![0.0; 3 * plan.widest_node * plan.widest_node];
        self.front = vec![0.0; plan.widest_front];
        self.y = vec![0.0; plan.n_unknowns];
    }

    /// Numbers of U.
    #[cfg(test)]
    pub(crate) fn n_values(&self) -> usize {
        self.plan.n_values
    }

    /// Sets every number to zero.
    pub(crate) fn clear(&mut self) {
        self.upper.fill(0.0);
        self.lower.fill(0.0);
    }

    /// Where the blocks (a, b) and (b, a) are.
    pub(crate) fn slot(&self, a: usize, b: usize) -> Slot {
        self.plan.slot(a, b)
    }

    /// Numbers from the slot's block (first, second) on, rows a stride apart, and those of (second, first) transposed.
    pub(crate) fn values_mut(&mut self, slot: &Slot) -> (&mut [f64], &mut [f64]) {
        (&mut self.upper[slot.at..], &mut self.lower[slot.at..])
    }

    /// T of a node with a leader: as many rows as the leader has unknowns.
    pub(crate) fn map_mut(&mut self, node: usize) -> &mut [f64] {
        let (start, length) = self.plan.maps[node];
        &mut self.maps[start..start + length]
    }

    /// Factors; false where a diagonal block is singular or no number.
    pub(crate) fn factor(&mut self) -> bool {
        let is_whole = || self.plan.fronts.iter().all(|front| front.own == front.rows);
        self.is_exchanged = self.careful && self.plan.n_unknowns <= FEW && is_whole();
        if self.is_exchanged {
            return self.factor_exchanged();
        }
        pulp::Arch::new().dispatch(Eliminate(self))
    }

    /// Factors the whole matrix, in the order of elimination, with rows exchanged.
    fn factor_exchanged(&mut self) -> bool {
        let lu = &mut self.exchanged;
        lu.reset(self.plan.n_unknowns);
        for front in &self.plan.fronts {
            let own = Run {
                from: 0,
                to: front.first,
                length: front.rows,
            };
            let others = &self.plan.runs[front.others.clone()];
            for row in 0..front.rows {
                let values = front.at + row * front.width..front.at + (row + 1) * front.width;
                let (upper, lower) = (&self.upper[values.clone()], &self.lower[values]);
                for run in others.iter().chain([&own]) {
                    for (k, column) in (run.from..run.from + run.length).enumerate() {
                        let (i, j) = (front.first + row, run.to + k);
                        if upper[column] != 0.0 {
                            lu.add(i, j, upper[column]);
                        }
                        if lower[column] != 0.0 {
                            lu.add(j, i, lower[column]);
                        }
                    }
                }
            }
        }
        0.0 < lu.factor()
    }

    /// x ← A⁻¹x.
    pub(crate) fn solve(&mut self, x: &mut [f64]) {
        let (mut y, mut t) = (std::mem::take(&mut self.y), std::mem::take(&mut self.front));
        let lu = &*self;
        for (&(from, to), &size) in lu.plan.moves.iter().zip(&lu.plan.sizes) {
            y[to..to + size].copy_from_slice(&x[from..from + size]);
        }
        if lu.is_exchanged {
            lu.exchanged.solve(&mut y);
        } else {
            pulp::Arch::new().dispatch(Substitute {
                lu,
                y: &mut y,
                t: &mut t,
            });
        }
        for (&(from, to), &size) in lu.plan.moves.iter().zip(&lu.plan.sizes) {
            x[from..from + size].copy_from_slice(&y[to..to + size]);
        }
        (self.y, self.front) = (y, t);
    }

    /// Eliminates front after front.
    #[inline(always)]
    fn eliminate(&mut self) -> bool {
        self.waiting.clear();
        // A loop, and no closure, so that it is compiled for the machine at hand.
        for f in 0..self.plan.fronts.len() {
            if !self.eliminate_front(f) {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn eliminate_front(&mut self, f: usize) -> bool {
        let front = &self.plan.fronts[f];
        let (own, width) = (front.own, front.width);
        let beside = width - own;
        // The rest of this front lies behind those of its children until they are taken up.
        let first_child = self.waiting.len() - front.children;
        let top = self.waiting.last().map_or(0, |last| {
            let left = &self.plan.fronts[last.front];
            last.start + (left.width - left.own).pow(2)
        });
        let base = self.waiting.get(first_child).map_or(top, |rest| rest.start);
        let (below, rest) = self.rests.split_at_mut(top);
        let rest = &mut rest[..beside * beside];
        let values = front.at..front.at + front.rows * width;
        let upper = &mut self.upper[values.clone()];
        let lower = &mut self.lower[values];
        // Rows that are no pivots belong to the rest.
        rest.fill(0.0);
        for i in own..front.rows {
            for p in 0..own {
                lower[p * width + i] += upper[i * width + p];
            }
            let (u, l) = (&upper[i * width + own..], &lower[i * width + own..]);
            for j in 0..beside {
                rest[(i - own) * beside + j] += u[j];
                if front.rows - own <= j {
                    rest[j * beside + i - own] += l[j];
                }
            }
        }
        for child in &self.waiting[first_child..] {
            let left = &self.plan.fronts[child.front];
            let runs = &self.plan.runs[left.to_parent.clone()];
            let stride = left.width - left.own;
            let values = &below[child.start..child.start + stride * stride];
            take_up(
                values,
                stride,
                runs,
                (&mut *upper, &mut *lower, &mut *rest),
                (own, width),
            );
        }
        if !pivots(
            (upper, lower),
            width,
            &self.plan.panels[front.panels.clone()],
            &mut self.inverse,
            self.careful.then_some(&mut self.kept),
        ) {
            return false;
        }
        // S ← S − L₂₁U₁₂
        subtract_product(
            (rest, beside),
            (&lower[own..], &upper[own..], width),
            (beside, own, beside),
        );
        if !front.map.is_empty() {
            let map = &self.maps[front.map.clone()];
            fold(rest, beside, (front.rows - own, front.leader - own), map);
        }
        self.waiting.truncate(first_child);
        if !front.to_parent.is_empty() {
            self.rests.copy_within(top..top + beside * beside, base);
            self.waiting.push(Rest {
                front: f,
                start: base,
            });
        }
        true
    }

    /// L y = b, front by front.
    #[inline(always)]
    fn forward(&self, y: &mut [f64], t: &mut [f64]) {
        for front in &self.plan.fronts {
            let (own, width) = (front.own, front.width);
            let t = &mut t[..width];
            t.fill(0.0);
            let lower = &self.lower[front.at..front.at + front.rows * width];
            for panel in &self.plan.panels[front.panels.clone()] {
                let (from, to) = (panel.start, panel.start + panel.size);
                let b = &mut y[front.first + from..front.first + to];
                for (b, t) in b.iter_mut().zip(&t[from..to]) {
                    *b -= t;
                }
                add_rows(&lower[from * width..to * width], width, b, to, t);
            }
            // What follows from a leader stands behind the pivots.
            let followers = front.rows - own;
            for i in 0..followers {
                y[front.first + own + i] -= t[own + i];
            }
            for run in &self.plan.runs[front.others.clone()] {
                let y = &mut y[run.to..run.to + run.length];
                for (y, t) in y.iter_mut().zip(&t[run.from..]) {
                    *y -= t;
                }
            }
            if !front.map.is_empty() {
                let map = &self.maps[front.map.clone()];
                for (i, row) in map.chunks_exact(followers).enumerate() {
                    let z = &y[front.first + own..front.first + front.rows];
                    let sum: f64 = row.iter().zip(z).map(|(t, z)| t * z).sum();
                    y[front.leader_at + i] += sum;
                }
            }
        }
    }

    /// U x = y, with the inverses of the diagonal blocks.
    #[inline(always)]
    fn backward(&self, y: &mut [f64], t: &mut [f64]) {
        for front in self.plan.fronts.iter().rev() {
            let (own, width) = (front.own, front.width);
            let t = &mut t[..width];
            let followers = front.rows - own;
            if followers != 0 {
                let map = &self.maps[front.map.clone()];
                let z = &mut t[own..front.rows];
                z.fill(0.0);
                for (i, row) in map.chunks_exact(followers.max(1)).enumerate() {
                    let x = y[front.leader_at + i];
                    z.iter_mut().zip(row).for_each(|(z, t)| *z += t * x);
                }
                y[front.first + own..front.first + front.rows].copy_from_slice(z);
            }
            for run in &self.plan.runs[front.others.clone()] {
                t[run.from..run.from + run.length].copy_from_slice(&y[run.to..run.to + run.length]);
            }
            let upper = &self.upper[front.at..front.at + front.rows * width];
            for panel in self.plan.panels[front.panels.clone()].iter().rev() {
                let (from, to) = (panel.start, panel.start + panel.size);
                let rows = &upper[from * width..to * width];
                let b = &mut y[front.first + from..front.first + to];
                for (b, row) in b.iter_mut().zip(rows.chunks_exact(width)) {
                    *b -= dot_unrolled(&row[to..], &t[to..]);
                }
                for (i, row) in rows.chunks_exact(width).enumerate() {
                    let d = row[from..to].iter().zip(&*b);
                    t[from + i] = d.map(|(d, b)| d * b).sum();
                }
                if self.careful {
                    let kept = self.lower[front.at + from * width..].chunks(width);
                    for (b, u) in b.iter_mut().zip(kept) {
                        *b -= dot_unrolled(&u[from..to], &t[from..to]);
                    }
                    for (i, row) in rows.chunks_exact(width).enumerate() {
                        t[from + i] += dot_unrolled(&row[from..to], b);
                    }
                }
                b.copy_from_slice(&t[from..to]);
            }
        }
    }
}

/// Compiled for the instructions of the machine; no sum depends on these.
struct Eliminate<'a>(&'a mut BlockLu);

impl pulp::WithSimd for Eliminate<'_> {
    /// Whether every pivot is regular.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        self.0.eliminate()
    }
}

/// The same for a solution.
struct Substitute<'a> {
    lu: &'a BlockLu,
    y: &'a mut [f64],
    t: &'a mut [f64],
}

impl pulp::WithSimd for Substitute<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.lu.forward(self.y, self.t);
        self.lu.backward(self.y, self.t);
    }
}

/// Adds what a child leaves to the front, by runs of unknowns that stay together.
#[inline(always)]
fn take_up(
    values: &[f64],
    stride: usize,
    runs: &[plan::Run],
    (upper, lower, rest): (&mut [f64], &mut [f64], &mut [f64]),
    (own, width): (usize, usize),
) {
    let beside = width - own;
    for rows in runs {
        for i in 0..rows.length {
            let row = &values[(rows.from + i) * stride..(rows.from + i + 1) * stride];
            let to = rows.to + i;
            for run in runs {
                let row = &row[run.from..run.from + run.length];
                if to < own {
                    if run.to < rows.to {
                        continue;
                    }
                    let out = &mut upper[to * width + run.to..];
                    out.iter_mut().zip(row).for_each(|(out, x)| *out += x);
                } else if run.to < own {
                    continue;
                } else {
                    let out = &mut rest[(to - own) * beside + run.to - own..];
                    out.iter_mut().zip(row).for_each(|(out, x)| *out += x);
                }
            }
        }
    }
    // Lᵀ of the pivots: columns of what is left.
    for columns in runs.iter().filter(|run| run.to < own) {
        for j in 0..columns.length {
            let to = columns.to + j;
            for run in runs.iter().filter(|run| columns.to <= run.to) {
                let out = &mut lower[to * width + run.to..][..run.length];
                for (i, out) in out.iter_mut().enumerate() {
                    *out += values[(run.from + i) * stride + columns.from + j];
                }
            }
        }
    }
}

/// Pivots of a front, node by node; false where one is singular or no number.
#[inline(always)]
fn pivots(
    (upper, lower): (&mut [f64], &mut [f64]),
    width: usize,
    panels: &[plan::Panel],
    work: &mut [f64],
    mut kept: Option<&mut Vec<f64>>,
) -> bool {
    for panel in panels {
        let (from, to, n) = (panel.start, panel.start + panel.size, panel.size);
        let (u_before, u) = upper.split_at_mut(from * width);
        let (l_before, l) = lower.split_at_mut(from * width);
        // U_q ← A_q − L_q,before U_before and Lᵀ_q ← A_·qᵀ − U_before,qᵀ Lᵀ_before
        if from != 0 {
            subtract_product(
                (&mut u[from..], width),
                (&l_before[from..], &u_before[from..], width),
                (n, from, width - from),
            );
            if to != width {
                subtract_product(
                    (&mut l[to..], width),
                    (&u_before[from..], &l_before[to..], width),
                    (n, from, width - to),
                );
            }
        }
        let (d, work) = work.split_at_mut(n * n);
        for (d, u) in d.chunks_exact_mut(n).zip(u.chunks_exact(width)) {
            d.copy_from_slice(&u[from..to]);
        }
        if let Some(kept) = &mut kept {
            keep(kept, (d, n), (l, width, to));
        }
        if !invert(d, n, work) {
            return false;
        }
        for (d, u) in d.chunks_exact(n).zip(u.chunks_exact_mut(width)) {
            u[from..to].copy_from_slice(d);
        }
        // Lᵀ ← D⁻ᵀLᵀ
        turn((d, n), (l, width), to, work);
        if let Some(kept) = &mut kept {
            correct(kept, (d, n), (l, width, to), work);
        }
    }
    true
}

/// Keeps U_qq in the place of Lᵀ that nothing uses, and the panel of Aᵀ beside it, from column `to` on.
fn keep(kept: &mut Vec<f64>, (u, n): (&[f64], usize), (l, width, to): (&mut [f64], usize, usize)) {
    kept.clear();
    for (u, row) in u.chunks_exact(n).zip(l.chunks_mut(width)) {
        row[to - n..to].copy_from_slice(u);
        kept.extend_from_slice(&row[to..width]);
    }
}

/// Lᵀ ← Lᵀ + Dᵀ(Aᵀ − U_qqᵀLᵀ).
fn correct(
    kept: &mut [f64],
    (d, n): (&[f64], usize),
    (l, width, to): (&mut [f64], usize, usize),
    work: &mut [f64],
) {
    let beside = width - to;
    if beside == 0 {
        return;
    }
    for row in l.chunks(width).take(n) {
        for (u, out) in row[to - n..to].iter().zip(kept.chunks_exact_mut(beside)) {
            let known = &row[to..width];
            out.iter_mut().zip(known).for_each(|(r, l)| *r -= u * l);
        }
    }
    turn((d, n), (kept, beside), 0, work);
    for (row, change) in l.chunks_mut(width).zip(kept.chunks_exact(beside)) {
        let known = &mut row[to..width];
        known.iter_mut().zip(change).for_each(|(l, c)| *l += c);
    }
}

/// Takes what follows from a leader into the leader: S_P ← S_P + T S_F, then the same for columns.
#[inline(always)]
fn fold(rest: &mut [f64], stride: usize, (followers, leader): (usize, usize), map: &[f64]) {
    let (follow, others) = rest.split_at_mut(followers * stride);
    for (i, row) in map.chunks_exact(followers).enumerate() {
        let at = (leader + i - followers) * stride;
        let out = &mut others[at..at + stride];
        for (t, from) in row.iter().zip(follow.chunks_exact(stride)) {
            out.iter_mut().zip(from).for_each(|(out, x)| *out += t * x);
        }
    }
    for row in others.chunks_exact_mut(stride) {
        let (z, x) = row.split_at_mut(followers);
        for (i, t) in map.chunks_exact(followers).enumerate() {
            let sum: f64 = t.iter().zip(&*z).map(|(t, z)| t * z).sum();
            x[leader + i - followers] += sum;
        }
    }
}

#[cfg(test)]
mod tests;
