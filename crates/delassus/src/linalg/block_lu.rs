//! LU of a matrix of dense blocks with a symmetric pattern, along an order of elimination that fills little.
//!
//! ```text
//! for k in order:   D_k ← D_k⁻¹,   L_ik ← L_ik D_k,   A_ij ← A_ij − L_ik U_kj   for all later neighbours i, j of k
//! ```
//!
//! Rows are exchanged inside a diagonal block only. That is stable where every diagonal block is a mass plus positive
//! parts, and is checked by whoever uses it, by one refinement. The order (least neighbours first, ties by number) and
//! the pattern depend on the graph alone and are kept while it stays.
//! Cost: O(n) on chains and trees of n blocks, about n^1.5 on planar graphs.

use super::minimum_degree::{Graph, Open};

/// A factorisation with its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockLu {
    /// Size of every block and its first row in a vector, in the numbers of the caller.
    sizes: Vec<usize>,
    offsets: Vec<usize>,
    /// Blocks in order of elimination, and the place of each in it.
    order: Vec<u32>,
    place: Vec<u32>,
    /// `later[starts\[s\]..starts[s + 1]]`: places that step s changes, ascending.
    starts: Vec<usize>,
    later: Vec<u32>,
    /// First value of every diagonal block (by place) and of every block right of or below it (by entry).
    diagonal_at: Vec<usize>,
    beside_at: Vec<usize>,
    diagonal: Vec<f64>,
    /// U_kj row-major, and L_jk row-major, of the same entry.
    upper: Vec<f64>,
    lower: Vec<f64>,
    /// Work of one step.
    inverse: Vec<f64>,
    row: Vec<f64>,
    y: Vec<f64>,
}

impl BlockLu {
    /// Takes the pattern: sizes of the blocks, and pairs of blocks that are not zero in any order and number.
    pub(crate) fn analyse(&mut self, sizes: &[usize], pairs: impl Iterator<Item = (u32, u32)>) {
        let n = sizes.len();
        let mut neighbours = vec![Vec::new(); n];
        for (a, b) in pairs.filter(|(a, b)| a != b) {
            neighbours[a as usize].push(b as usize);
        }
        self.sizes = sizes.to_vec();
        self.offsets.clear();
        self.offsets.push(0);
        for size in sizes {
            self.offsets
                .push(self.offsets[self.offsets.len() - 1] + size);
        }
        let steps = Graph::new(sizes.to_vec(), neighbours).eliminate(&mut Open);
        self.order.clear();
        self.order.extend(steps.iter().map(|step| step.node as u32));
        self.place = vec![0; n];
        for (s, x) in self.order.iter().enumerate() {
            self.place[*x as usize] = s as u32;
        }
        self.starts.clear();
        self.later.clear();
        self.diagonal_at.clear();
        self.beside_at.clear();
        let (mut diagonal, mut beside) = (0, 0);
        self.starts.push(0);
        for step in steps {
            let mut places: Vec<u32> = step.later.iter().map(|y| self.place[*y]).collect();
            places.sort_unstable();
            let size = sizes[step.node];
            self.diagonal_at.push(diagonal);
            diagonal += size * size;
            for s in places {
                self.later.push(s);
                self.beside_at.push(beside);
                beside += size * sizes[self.order[s as usize] as usize];
            }
            self.starts.push(self.later.len());
        }
        self.diagonal = vec![0.0; diagonal];
        self.upper = vec![0.0; beside];
        self.lower = vec![0.0; beside];
        let widest = sizes.iter().copied().max().unwrap_or(0);
        self.inverse = vec![0.0; 2 * widest * widest];
        self.row = vec![0.0; widest * widest];
        self.y = vec![0.0; self.offsets[n]];
    }

    /// Blocks beside the diagonal after filling in, of one triangle.
    #[cfg(test)]
    pub(crate) fn fill(&self) -> usize {
        self.later.len()
    }

    /// Sets every number to zero.
    pub(crate) fn clear(&mut self) {
        self.diagonal.fill(0.0);
        self.upper.fill(0.0);
        self.lower.fill(0.0);
    }

    /// The block (a, b), to be added to: row-major, of the sizes of a and b. The pattern has it.
    pub(crate) fn block_mut(&mut self, a: usize, b: usize) -> &mut [f64] {
        let (s, t) = (self.place[a] as usize, self.place[b] as usize);
        let area = self.sizes[a] * self.sizes[b];
        if s == t {
            let at = self.diagonal_at[s];
            return &mut self.diagonal[at..at + area];
        }
        let (first, second) = (s.min(t), s.max(t));
        let row = &self.later[self.starts[first]..self.starts[first + 1]];
        let e = self.starts[first] + row.partition_point(|x| (*x as usize) < second);
        let at = self.beside_at[e];
        match s < t {
            true => &mut self.upper[at..at + area],
            false => &mut self.lower[at..at + area],
        }
    }

    fn size_at(&self, place: usize) -> usize {
        self.sizes[self.order[place] as usize]
    }

    /// Factors; false where a diagonal block is singular or no number.
    pub(crate) fn factor(&mut self) -> bool {
        // Compiled for the instructions of the machine; no sum depends on these.
        pulp::Arch::new().dispatch(|| self.eliminate())
    }

    /// x ← A⁻¹x.
    pub(crate) fn solve(&mut self, x: &mut [f64]) {
        let mut y = std::mem::take(&mut self.y);
        let lu = &*self;
        pulp::Arch::new().dispatch(|| lu.substitute(x, &mut y));
        self.y = y;
    }

    #[inline(always)]
    fn substitute(&self, x: &mut [f64], y: &mut [f64]) {
        y.copy_from_slice(x);
        // L y = b, block by block.
        for (k, &node) in self.order.iter().enumerate() {
            let (n, at) = (self.sizes[node as usize], self.offsets[node as usize]);
            for e in self.starts[k]..self.starts[k + 1] {
                let other = self.order[self.later[e] as usize] as usize;
                let (m, to) = (self.sizes[other], self.offsets[other]);
                let l = &self.lower[self.beside_at[e]..self.beside_at[e] + m * n];
                for (r, row) in l.chunks_exact(n).enumerate() {
                    let sum: f64 = row.iter().zip(&y[at..at + n]).map(|(l, y)| l * y).sum();
                    y[to + r] -= sum;
                }
            }
        }
        // U x = y with the inverses of the diagonal blocks.
        for (k, &node) in self.order.iter().enumerate().rev() {
            let (n, at) = (self.sizes[node as usize], self.offsets[node as usize]);
            for e in self.starts[k]..self.starts[k + 1] {
                let other = self.order[self.later[e] as usize] as usize;
                let (m, from) = (self.sizes[other], self.offsets[other]);
                let u = &self.upper[self.beside_at[e]..self.beside_at[e] + n * m];
                for (r, row) in u.chunks_exact(m).enumerate() {
                    let sum: f64 = row.iter().zip(&x[from..from + m]).map(|(u, x)| u * x).sum();
                    y[at + r] -= sum;
                }
            }
            let d = &self.diagonal[self.diagonal_at[k]..self.diagonal_at[k] + n * n];
            for (r, row) in d.chunks_exact(n).enumerate() {
                x[at + r] = row.iter().zip(&y[at..at + n]).map(|(d, y)| d * y).sum();
            }
        }
    }
}

impl BlockLu {
    /// Eliminates block after block; false where a pivot is singular or no number.
    #[inline(always)]
    fn eliminate(&mut self) -> bool {
        (0..self.order.len()).all(|k| self.eliminate_one(k))
    }

    /// One step of elimination.
    #[inline(always)]
    fn eliminate_one(&mut self, k: usize) -> bool {
        let (n, at) = (self.size_at(k), self.diagonal_at[k]);
        if !invert(&mut self.diagonal[at..at + n * n], n, &mut self.inverse) {
            return false;
        }
        let range = self.starts[k]..self.starts[k + 1];
        // L_ik ← L_ik D_k
        for e in range.clone() {
            let m = self.size_at(self.later[e] as usize);
            let d = &self.diagonal[at..at + n * n];
            let l = &mut self.lower[self.beside_at[e]..self.beside_at[e] + m * n];
            for row in l.chunks_exact_mut(n) {
                let new = &mut self.row[..n];
                new.fill(0.0);
                for (x, d) in row.iter().zip(d.chunks_exact(n)) {
                    new.iter_mut().zip(d).for_each(|(new, d)| *new += x * d);
                }
                row.copy_from_slice(new);
            }
        }
        // A_ij ← A_ij − L_ik U_kj, both triangles in one walk: entry (i, j) with i < j holds U_ij and L_ji.
        for e in range.clone() {
            let i = self.later[e] as usize;
            let m = self.size_at(i);
            let (e_at, i_at) = (self.beside_at[e], self.diagonal_at[i]);
            let (lower, upper) = (&self.lower[e_at..], &self.upper[e_at..]);
            let target = &mut self.diagonal[i_at..i_at + m * m];
            subtract(&lower[..m * n], &upper[..n * m], (n, m), target);
            let mut target = self.starts[i];
            for f in e + 1..range.end {
                let j = self.later[f];
                while self.later[target] != j {
                    target += 1;
                }
                let p = self.size_at(j as usize);
                let (f_at, to) = (self.beside_at[f], self.beside_at[target]);
                // Entries of i lie behind those of k, which come first in the order.
                let (upper, below) = self.upper.split_at_mut(to);
                let (lower, beside) = self.lower.split_at_mut(to);
                let (li, ui) = (&lower[e_at..e_at + m * n], &upper[e_at..e_at + n * m]);
                let (lj, uj) = (&lower[f_at..f_at + p * n], &upper[f_at..f_at + n * p]);
                subtract(li, uj, (n, p), &mut below[..m * p]);
                subtract(lj, ui, (n, m), &mut beside[..p * m]);
            }
        }
        true
    }
}

/// C ← C − L U: L is n wide, U and C are `width` wide. Free bodies are six wide, and kept in registers.
#[inline(always)]
fn subtract(l: &[f64], u: &[f64], (n, width): (usize, usize), c: &mut [f64]) {
    if (n, width) == (6, 6) {
        let u = u.as_chunks::<6>().0;
        for (l, c) in l.as_chunks::<6>().0.iter().zip(c.as_chunks_mut::<6>().0) {
            let mut new = *c;
            for (l, u) in l.iter().zip(u) {
                for j in 0..6 {
                    new[j] -= l * u[j];
                }
            }
            *c = new;
        }
        return;
    }
    for (l, c) in l.chunks_exact(n).zip(c.chunks_exact_mut(width)) {
        for (l, u) in l.iter().zip(u.chunks_exact(width)) {
            c.iter_mut().zip(u).for_each(|(c, u)| *c -= l * u);
        }
    }
}

/// A ← A⁻¹ by Gauss and Jordan with exchange of rows; false where it is singular or no number.
#[inline(always)]
pub(crate) fn invert(a: &mut [f64], n: usize, work: &mut [f64]) -> bool {
    let width = 2 * n;
    let work = &mut work[..n * width];
    for (row, (work, a)) in work
        .chunks_exact_mut(width)
        .zip(a.chunks_exact(n))
        .enumerate()
    {
        work[..n].copy_from_slice(a);
        work[n..].fill(0.0);
        work[n + row] = 1.0;
    }
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if work[pivot * width + k].abs() < work[i * width + k].abs() {
                pivot = i;
            }
        }
        let value = work[pivot * width + k];
        if value == 0.0 || !value.is_finite() {
            return false;
        }
        if pivot != k {
            let (above, below) = work.split_at_mut(pivot * width);
            above[k * width..(k + 1) * width].swap_with_slice(&mut below[..width]);
        }
        let scale = 1.0 / value;
        work[k * width..(k + 1) * width]
            .iter_mut()
            .for_each(|x| *x *= scale);
        for i in 0..n {
            let factor = work[i * width + k];
            if i == k || factor == 0.0 {
                continue;
            }
            let (one, other) = match i < k {
                true => {
                    let (above, below) = work.split_at_mut(k * width);
                    (&mut above[i * width..(i + 1) * width], &below[..width])
                }
                false => {
                    let (above, below) = work.split_at_mut(i * width);
                    (&mut below[..width], &above[k * width..(k + 1) * width])
                }
            };
            for j in k..width {
                one[j] -= factor * other[j];
            }
        }
    }
    for (work, a) in work.chunks_exact(width).zip(a.chunks_exact_mut(n)) {
        a.copy_from_slice(&work[n..]);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// A matrix with blocks of mixed sizes on a random graph, and its dense form.
    fn example(seed: u64, sizes: &[usize]) -> (BlockLu, Vec<f64>) {
        let mut random = Random::new(seed);
        let n = sizes.len();
        let mut pairs = Vec::new();
        for a in 0..n {
            for b in 0..a {
                if random.range(0.0, 1.0) < 0.3 || b + 1 == a {
                    pairs.push((a as u32, b as u32));
                }
            }
        }
        let mut lu = BlockLu::default();
        lu.analyse(sizes, pairs.iter().copied());
        lu.clear();
        let total: usize = sizes.iter().sum();
        let starts: Vec<usize> = (0..n).map(|i| sizes[..i].iter().sum()).collect();
        let mut dense = vec![0.0; total * total];
        let all = pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        for (a, b) in all.chain((0..n as u32).map(|a| (a, a))) {
            let (a, b) = (a as usize, b as usize);
            let width = sizes[b];
            for (e, x) in lu.block_mut(a, b).iter_mut().enumerate() {
                let value = random.range(-1.0, 1.0)
                    + if a == b && e % (width + 1) == 0 {
                        9.0
                    } else {
                        0.0
                    };
                *x += value;
                dense[(starts[a] + e / width) * total + starts[b] + e % width] = value;
            }
        }
        (lu, dense)
    }

    #[test]
    fn solutions_satisfy_the_matrix_whatever_the_sizes_of_blocks() {
        for (seed, sizes) in [
            vec![6; 12],
            vec![3, 6, 1, 6, 8, 2, 6, 6, 3],
            vec![1; 30],
            vec![7],
        ]
        .into_iter()
        .enumerate()
        {
            let (mut lu, dense) = example(seed as u64, &sizes);
            let n: usize = sizes.iter().sum();
            let mut random = Random::new(99);
            let b: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
            assert!(lu.factor());
            let mut x = b.clone();
            lu.solve(&mut x);
            for (row, b) in dense.chunks_exact(n).zip(&b) {
                let sum: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
                assert!((sum - b).abs() < 1e-12, "{sizes:?}: {sum} {b}");
            }
        }
    }

    #[test]
    fn chains_do_not_fill_and_singular_blocks_are_said() {
        let mut lu = BlockLu::default();
        lu.analyse(&[6; 50], (1..50).map(|i| (i, i - 1)));
        assert_eq!(lu.fill(), 49);
        lu.clear();
        assert!(!lu.factor());
    }
}
