//! Block L D Lᵀ of sparse symmetric matrices along an elimination tree, L matrices of one pattern side by side.
//!
//! ```text
//! node i goes      P = D_i⁻¹,   W_a = K_a P  for every later neighbour a,   A_ab −= W_a K_bᵀ  for every two of them
//! then             x_a −= W_a x_i   forwards,     x_i ← P x_i − Σ_a W_aᵀ x_a   backwards
//! ```
//!
//! Pivots are positive definite blocks, or negative definite ones where the pattern says so; a row whose pivot is not
//! above its floor depends on those before it and gets a zero unknown. The tree comes from [`super::minimum_degree`].
//!
//! Every lane sees the same operations in the same order whatever L is, and products are never fused with sums, so that
//! the bits of a matrix do not depend on how many others are factored beside it, nor on the processor.
//! Cost: linear in the number of blocks for chains and trees. Prefer [`super::ranked`] for one full matrix.
//!
//! It stands apart from the dense factors because lanes run across matrices and not along rows: blocks of three are too
//! small to fill a vector, eight islands are not.

mod blocks;

use self::blocks::{Block, invert, mul_symmetric};
use super::minimum_degree::Eliminated;

/// One number of each of L matrices.
pub(crate) type Lane<const L: usize> = [f64; L];

/// A pivot below this share of its row's own diagonal is a row that depends on those before it: what floors are for.
pub(crate) const REDUNDANT: f64 = 1e-11;

/// A later neighbour of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) to: usize,
    /// First value of the block, rows of `to` by columns of the node.
    pub(crate) at: usize,
}

/// Where every block of a matrix and of its factors stands, nodes in order of elimination.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pattern {
    /// Rows of each node, and whether its pivot is negative definite.
    sizes: Vec<usize>,
    negative: Vec<bool>,
    /// First unknown of each node, and one more.
    unknowns: Vec<usize>,
    /// First value of each diagonal block.
    diagonals: Vec<usize>,
    /// `edges[starts[i]..starts[i + 1]]` are the later neighbours of node i, ascending.
    starts: Vec<usize>,
    edges: Vec<Edge>,
    /// Blocks updated when node i goes: for its edges a, and b up to a, the block (a, b).
    updates: Vec<usize>,
    update_starts: Vec<usize>,
    n_values: usize,
    /// Most values of the blocks beside one node, or of its unknowns.
    widest: usize,
}

impl Pattern {
    /// Lays out the nodes of an order, given the size of each before it was ordered, and whether its pivot is negative.
    pub(crate) fn new(order: &[Eliminated], node: impl Fn(usize) -> (usize, bool)) -> Pattern {
        let mut place = vec![0; order.len()];
        for (i, step) in order.iter().enumerate() {
            place[step.node] = i;
        }
        let mut pattern = Pattern::default();
        pattern.unknowns.push(0);
        for (i, step) in order.iter().enumerate() {
            let (size, negative) = node(step.node);
            pattern.sizes.push(size);
            pattern.negative.push(negative);
            pattern.unknowns.push(pattern.unknowns[i] + size);
        }
        for (i, step) in order.iter().enumerate() {
            let size = pattern.sizes[i];
            pattern.diagonals.push(pattern.n_values);
            pattern.n_values += size * size;
            pattern.starts.push(pattern.edges.len());
            let mut to: Vec<usize> = step.later.iter().map(|&y| place[y]).collect();
            to.sort_unstable();
            let first = pattern.n_values;
            for to in to {
                let at = pattern.n_values;
                pattern.edges.push(Edge { to, at });
                pattern.n_values += pattern.sizes[to] * size;
            }
            pattern.widest = pattern.widest.max(pattern.n_values - first).max(size);
        }
        pattern.starts.push(pattern.edges.len());
        pattern.list_updates();
        pattern
    }

    fn list_updates(&mut self) {
        for i in 0..self.sizes.len() {
            self.update_starts.push(self.updates.len());
            let edges = self.starts[i]..self.starts[i + 1];
            for a in edges.clone() {
                for b in edges.start..=a {
                    let at = self.block(self.edges[a].to, self.edges[b].to);
                    self.updates.push(at);
                }
            }
        }
        self.update_starts.push(self.updates.len());
    }

    /// First value of the block (row, column), row not before column, of two nodes that are coupled or become so.
    pub(crate) fn block(&self, row: usize, column: usize) -> usize {
        if row == column {
            return self.diagonals[row];
        }
        let edges = self.edges(column);
        let at = edges.binary_search_by_key(&row, |edge| edge.to);
        edges[at.expect("eliminating a node couples every two of its neighbours")].at
    }

    /// Rows of node i.
    pub(crate) fn size(&self, i: usize) -> usize {
        self.sizes[i]
    }

    /// First value of the diagonal block of node i.
    pub(crate) fn diagonal(&self, i: usize) -> usize {
        self.diagonals[i]
    }

    /// Later neighbours of node i, ascending.
    #[inline(always)]
    pub(crate) fn edges(&self, i: usize) -> &[Edge] {
        &self.edges[self.starts[i]..self.starts[i + 1]]
    }

    /// Unknowns of node i.
    pub(crate) fn unknowns(&self, i: usize) -> std::ops::Range<usize> {
        self.unknowns[i]..self.unknowns[i + 1]
    }

    /// Unknowns of all nodes.
    pub(crate) fn n_unknowns(&self) -> usize {
        self.unknowns.last().copied().unwrap_or(0)
    }

    /// Values of one matrix, which its factors replace.
    pub(crate) fn n_values(&self) -> usize {
        self.n_values
    }

    /// Blocks that are changed while others go: what the time is spent on.
    pub(crate) fn n_updates(&self) -> usize {
        self.updates.len()
    }

    /// Work space for [`factorise`] and [`substitute`].
    pub(crate) fn work<const L: usize>(&self) -> Vec<Lane<L>> {
        vec![[0.0; L]; self.widest]
    }
}

/// Factors in place: every diagonal block, of which the lower triangle is read, becomes P = D⁻¹ and every block below it
/// W = K P. `floor` has the least pivot of every unknown. True if a row was dropped in any lane: its row of P is zero.
#[inline(always)]
pub(crate) fn factorise<const L: usize>(
    pattern: &Pattern,
    values: &mut [Lane<L>],
    floor: &[Lane<L>],
    work: &mut [Lane<L>],
) -> bool {
    let mut dropped = false;
    for i in 0..pattern.sizes.len() {
        let (n, start) = (pattern.sizes[i], pattern.diagonals[i]);
        let edges = pattern.edges(i);
        let length: usize = edges.iter().map(|edge| pattern.sizes[edge.to] * n).sum();
        let behind = start + n * n + length;
        let (own, rest) = values[start..].split_at_mut(behind - start);
        let (p, w) = own.split_at_mut(n * n);
        let sign = if pattern.negative[i] { -1.0 } else { 1.0 };
        let floor = &floor[pattern.unknowns[i]..pattern.unknowns[i + 1]];
        dropped |= invert(p, n, sign, floor);
        let k = &mut work[..length];
        k.copy_from_slice(w);
        let place = |edge: &Edge| edge.at - start - n * n;
        let block = |edge: &Edge, values| {
            let (rows, at) = (pattern.sizes[edge.to], place(edge));
            slice(values, at, (rows, n))
        };
        for edge in edges {
            let to = place(edge)..place(edge) + pattern.sizes[edge.to] * n;
            block(edge, k).times_symmetric(p, &mut w[to]);
        }
        let updates = &pattern.updates[pattern.update_starts[i]..pattern.update_starts[i + 1]];
        let mut updates = updates.iter();
        for (a, to_a) in edges.iter().enumerate() {
            for (b, to_b) in edges[..=a].iter().enumerate() {
                let Some(at) = updates.next() else {
                    continue;
                };
                let (m, r) = (pattern.sizes[to_a.to], pattern.sizes[to_b.to]);
                let target = &mut rest[at - behind..at - behind + m * r];
                block(to_a, w).subtract_from(target, block(to_b, k), a == b);
            }
        }
    }
    dropped
}

/// The block of m × n lanes that begins at a place.
#[inline(always)]
fn slice<const L: usize>(
    values: &[Lane<L>],
    at: usize,
    (rows, columns): (usize, usize),
) -> Block<'_, L> {
    Block {
        rows,
        columns,
        values: &values[at..at + rows * columns],
    }
}

/// x ← A⁻¹x with the factors of A: forward over the nodes, then back.
#[inline(always)]
pub(crate) fn substitute<const L: usize>(
    pattern: &Pattern,
    values: &[Lane<L>],
    x: &mut [Lane<L>],
    work: &mut [Lane<L>],
) {
    for i in 0..pattern.sizes.len() {
        let (head, tail) = x.split_at_mut(pattern.unknowns[i + 1]);
        let own = &head[pattern.unknowns[i]..];
        for edge in pattern.edges(i) {
            let m = pattern.sizes[edge.to];
            let at = pattern.unknowns[edge.to] - pattern.unknowns[i + 1];
            let w = slice(values, edge.at, (m, pattern.sizes[i]));
            w.subtract_product(own, &mut tail[at..at + m]);
        }
    }
    for i in (0..pattern.sizes.len()).rev() {
        let (n, start) = (pattern.sizes[i], pattern.diagonals[i]);
        let (head, tail) = x.split_at_mut(pattern.unknowns[i + 1]);
        let own = &mut head[pattern.unknowns[i]..];
        mul_symmetric(&values[start..start + n * n], own, work);
        for edge in pattern.edges(i) {
            let m = pattern.sizes[edge.to];
            let at = pattern.unknowns[edge.to] - pattern.unknowns[i + 1];
            let w = slice(values, edge.at, (m, n));
            w.subtract_transposed_product(&tail[at..at + m], own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::minimum_degree::{Graph, Open};
    use crate::math::Random;

    /// Two symmetric quasi-definite matrices of one random pattern, dense, with the sizes of their nodes.
    struct Sample {
        near: Vec<Vec<usize>>,
        nodes: Vec<(usize, bool)>,
        first: Vec<usize>,
        dense: Vec<Lane<2>>,
    }

    impl Sample {
        fn new(random: &mut Random) -> Sample {
            let count = 1 + random.below(7);
            let node = |random: &mut Random| (1 + random.below(4), random.below(3) == 0);
            let nodes: Vec<(usize, bool)> = (0..count).map(|_| node(random)).collect();
            let mut first = vec![0];
            for (size, _) in &nodes {
                first.push(first[first.len() - 1] + size);
            }
            let n = first[count];
            let mut near = vec![Vec::new(); count];
            let mut dense = vec![[0.0; 2]; n * n];
            for a in 0..count {
                for b in 0..a {
                    if random.below(2) == 0 {
                        continue;
                    }
                    near[a].push(b);
                    for i in first[a]..first[a + 1] {
                        for j in first[b]..first[b + 1] {
                            let x = [0; 2].map(|_| random.range(-1.0, 1.0));
                            (dense[i * n + j], dense[j * n + i]) = (x, x);
                        }
                    }
                }
                // Large enough for every pivot to have the sign of its node.
                let sign = if nodes[a].1 { -1.0 } else { 1.0 };
                for i in first[a]..first[a + 1] {
                    dense[i * n + i] = [0; 2].map(|_| sign * random.range(30.0, 60.0));
                    for j in first[a]..i {
                        let x = [0; 2].map(|_| random.range(-1.0, 1.0));
                        (dense[i * n + j], dense[j * n + i]) = (x, x);
                    }
                }
            }
            Sample {
                near,
                nodes,
                first,
                dense,
            }
        }

        /// The values of lanes that stand at these places of the matrices.
        fn laid_out<const L: usize>(
            &self,
            (pattern, order): (&Pattern, &[Eliminated]),
            lanes: [usize; L],
        ) -> Vec<Lane<L>> {
            let n = self.first[self.nodes.len()];
            let mut values = vec![[0.0; L]; pattern.n_values()];
            let mut put = |row: usize, column: usize, at: usize| {
                let (i, j) = (self.first[order[row].node], self.first[order[column].node]);
                let (rows, columns) = (pattern.size(row), pattern.size(column));
                for e in 0..rows * columns {
                    let x = self.dense[(i + e / columns) * n + j + e % columns];
                    values[at + e] = lanes.map(|l| x[l]);
                }
            };
            for i in 0..order.len() {
                put(i, i, pattern.diagonal(i));
                for edge in pattern.edges(i) {
                    put(edge.to, i, edge.at);
                }
            }
            values
        }

        /// A⁻¹b for the given lanes, b of all ones and twos, in the order of the nodes.
        fn solved<const L: usize>(&self, lanes: [usize; L]) -> Vec<Lane<L>> {
            let sizes = self.nodes.iter().map(|node| node.0).collect();
            let order = Graph::new(sizes, self.near.clone()).eliminate(&mut Open);
            let pattern = Pattern::new(&order, |x| self.nodes[x]);
            let mut values = self.laid_out((&pattern, &order), lanes);
            let (floor, mut work) = (vec![[1e-9; L]; pattern.n_unknowns()], pattern.work());
            assert!(!factorise(&pattern, &mut values, &floor, &mut work));
            let mut x = vec![[0.0; L]; pattern.n_unknowns()];
            for (i, step) in order.iter().enumerate() {
                let rows = self.first[step.node]..self.first[step.node + 1];
                for (at, row) in pattern.unknowns(i).zip(rows) {
                    x[at] = [1.0 + (row % 2) as f64; L];
                }
            }
            substitute(&pattern, &values, &mut x, &mut work);
            let mut out = x.clone();
            for (i, step) in order.iter().enumerate() {
                let rows = self.first[step.node]..self.first[step.node + 1];
                for (at, row) in pattern.unknowns(i).zip(rows) {
                    out[row] = x[at];
                }
            }
            out
        }
    }

    #[test]
    fn matrices_of_any_pattern_are_solved_in_lanes_and_alone_to_the_same_bits() {
        let mut random = Random::new(31);
        for _ in 0..200 {
            let sample = Sample::new(&mut random);
            let x = sample.solved([0, 1]);
            let n = x.len();
            for l in 0..2 {
                for i in 0..n {
                    let row = &sample.dense[i * n..(i + 1) * n];
                    let sum: f64 = row.iter().zip(&x).map(|(a, x)| a[l] * x[l]).sum();
                    let error = sum - (1.0 + (i % 2) as f64);
                    assert!(error.abs() < 1e-12, "{n} {i} {error:e}");
                }
                let alone: Vec<f64> = sample.solved([l]).iter().map(|x| x[0]).collect();
                let beside: Vec<f64> = x.iter().map(|x| x[l]).collect();
                assert_eq!(alone, beside);
            }
        }
    }
}
