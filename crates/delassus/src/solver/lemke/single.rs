//! The kernel of a single free body: columns of six numbers, at most eight unknowns, everything in registers.

use super::contact::{ContactLcp, NONE};
use super::kernel::SMALL;
use super::partition::{Constants, Last, Partition, What};
use crate::math::dot_6;
use pulp::Simd;

/// Columns of L and R, those of the last row and of z₀ at the end. R has its components apart, so that products
/// with all its columns run side by side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Six {
    left: [[f64; 6]; SMALL],
    right: [[f64; SMALL]; 6],
}

/// Columns of eight pairs with their components apart, and their covering vector: products with v run over pairs.
pub(super) type Eight = [[f64; 8]; 7];

/// Builds and factors the kernel. Like [`Solve`], it is compiled once for every kind of processor and chosen at run
/// time.
pub(super) struct Fill<'a> {
    pub(super) basis: &'a mut Partition,
    pub(super) lcp: &'a ContactLcp,
}

impl pulp::WithSimd for Fill<'_> {
    /// The smallest pivot.
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        self.basis.fill_single(simd, self.lcp);
        self.basis.fill_last(self.lcp);
        self.basis.small.factor()
    }
}

/// [`Partition::solve`] for a single body.
pub(super) struct Solve<'a> {
    pub(super) basis: &'a mut Partition,
    pub(super) lcp: &'a ContactLcp,
    pub(super) constants: Constants,
    pub(super) out: &'a mut [f64],
    pub(super) v: &'a mut [f64],
    pub(super) free: &'a mut [f64],
}

impl pulp::WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Solve {
            basis,
            lcp,
            constants,
            out,
            v,
            free,
        } = self;
        let z0 = basis.solve_kernel(lcp, v, free);
        let by: [f64; 7] = std::array::from_fn(|k| v.get(k).copied().unwrap_or(z0));
        let (whole, rest) = out.as_chunks_mut::<8>();
        for (out, eight) in whole.iter_mut().zip(&basis.pairs) {
            combine_rows(simd, eight, by, out);
        }
        if let (Some(eight), false) = (basis.pairs.get(whole.len()), rest.is_empty()) {
            let mut rows = [0.0; 8];
            combine_rows(simd, eight, by, &mut rows);
            rest.copy_from_slice(&rows[..rest.len()]);
        }
        basis.close(lcp, constants, z0, out);
    }
}

impl Partition {
    fn pair(&mut self, at: usize, column: [f64; 6], cover: f64) {
        if self.pairs.len() <= at / 8 {
            self.pairs.resize(at / 8 + 1, [[0.0; 8]; 7]);
        }
        let eight = &mut self.pairs[at / 8];
        for (row, x) in eight.iter_mut().zip(column) {
            row[at % 8] = x;
        }
        eight[6][at % 8] = cover;
    }

    /// Columns of the normals.
    pub(super) fn pair_normals(&mut self, lcp: &ContactLcp) {
        self.pair(0, [0.0; 6], 0.0);
        for (i, normal) in lcp.normals.iter().enumerate() {
            if let Some(row) = lcp.columns.six(normal.unit).first() {
                self.pair(1 + i, *row, self.cover[1 + i]);
            }
        }
    }

    /// Columns of the directions of a group that has joined; its bound has none.
    pub(super) fn pair_group(&mut self, lcp: &ContactLcp, g: usize) {
        let group = &lcp.groups[g];
        let at = self.at[g];
        if let [_, t1, t2] = lcp.columns.six(group.unit) {
            for (j, [a, b]) in lcp.directions[group.range()].iter().enumerate() {
                let column = std::array::from_fn(|k| a * t1[k] + b * t2[k]);
                self.pair(at + j, column, self.cover[at + j]);
            }
        }
        self.pair(at + group.count, [0.0; 6], 0.0);
    }

    /// Lists the unknowns; on one body everything couples and no order is better than another. φ is sorted by
    /// group, so that the first of a group that slips is φ_x.
    pub(super) fn list_single(&mut self, lcp: &ContactLcp) -> bool {
        let mut found = 0;
        for k in 0..self.phis.len() {
            let (g, j) = self.phis[k];
            let slips = self.basic[self.at[g] + lcp.groups[g].count];
            if slips && self.x[g] == NONE {
                self.x[g] = j;
                found += 1;
            } else {
                self.push_phi(lcp, g, j);
            }
        }
        if found != self.slips.len() {
            return false;
        }
        for k in 0..self.thetas.len() {
            self.push_theta(lcp, self.thetas[k]);
        }
        for k in 0..self.frees.len() {
            let free = &lcp.frees[self.frees[k]];
            let share = [1.0, 0.0, 0.0];
            self.push(
                What::Free(self.frees[k]),
                free.unit,
                share,
                share,
                free.sigma,
            );
        }
        true
    }

    /// LᵀR + Σ: six numbers for each row and column.
    #[inline(always)]
    fn fill_single<S: Simd>(&mut self, simd: S, lcp: &ContactLcp) {
        let (count, n) = (self.unknowns.len(), self.n.min(SMALL));
        let Six { left, right } = &mut self.six;
        for (k, unknown) in self.unknowns.iter().take(SMALL).enumerate() {
            left[k] = combine(lcp, unknown.unit, unknown.left);
            let column = if unknown.left == unknown.right {
                left[k]
            } else {
                combine(lcp, unknown.unit, unknown.right)
            };
            for (right, x) in right.iter_mut().zip(column) {
                right[k] = x;
            }
        }
        if count < n {
            left[count] = match self.last {
                Some(Last::Row(unit, share, ..)) => combine(lcp, unit, share),
                _ => [0.0; 6],
            };
            for (right, x) in right.iter_mut().zip(&self.star) {
                right[count] = *x;
            }
        }
        self.small.resize(n);
        for (k, left) in left[..n].iter().enumerate() {
            // Columns beyond n hold what an earlier basis left there; no one reads their products.
            let row = self.small.row_mut(k);
            combine_rows(simd, right, *left, row);
            row[n..].fill(0.0);
        }
        for (k, unknown) in self.unknowns.iter().take(SMALL).enumerate() {
            self.small.row_mut(k)[k] += unknown.sigma;
        }
    }

    /// c* = D_x c_γ.
    pub(super) fn star_single(&mut self, lcp: &ContactLcp) {
        let mut star = [0.0; 6];
        for &g in &self.slips {
            let (x, bound) = (self.at[g] + self.x[g], self.at[g] + lcp.groups[g].count);
            let (eight, c) = (&self.pairs[x / 8], self.cover[bound]);
            for (star, row) in star.iter_mut().zip(eight) {
                *star += c * row[x % 8];
            }
        }
        self.star.copy_from_slice(&star);
    }

    /// The kernel's unknowns, the velocity and the free multipliers they make. Returns z₀.
    #[inline(always)]
    fn solve_kernel(&mut self, lcp: &ContactLcp, v_out: &mut [f64], free: &mut [f64]) -> f64 {
        let mut v: [f64; 6] = self.base.as_array::<6>().copied().unwrap_or_default();
        for &g in &self.slips {
            let group = &lcp.groups[g];
            let constant = self.constant[self.at[g] + group.count];
            if constant != 0.0 {
                let [a, b] = lcp.directions[group.start + self.x[g]];
                lcp.columns
                    .add(group.unit, [0.0, constant * a, constant * b], &mut v);
            }
        }
        let count = self.unknowns.len().min(SMALL);
        let mut y = [0.0; SMALL];
        for (k, unknown) in self.unknowns.iter().take(SMALL).enumerate() {
            y[k] = -self.constant_of(lcp, unknown.what) - dot_6(&self.six.left[k], &v);
        }
        let mut z0 = 0.0;
        let n = self.n.min(SMALL);
        if count < n {
            y[count] = match self.last {
                Some(Last::Row(_, _, r, x)) => {
                    let other = if x == NONE { 0.0 } else { self.constant[x] };
                    other - self.constant[r] - dot_6(&self.six.left[count], &v)
                }
                Some(Last::Bound(g)) => -self.constant[self.at[g] + lcp.groups[g].count],
                _ => 0.0,
            };
        }
        self.small.solve(&mut y);
        if count < n {
            z0 = y[count];
        }
        for (v, right) in v.iter_mut().zip(&self.six.right) {
            for (right, y) in right[..n].iter().zip(&y) {
                *v += right * y;
            }
        }
        v_out.copy_from_slice(&v);
        for (unknown, &y) in self.unknowns.iter().zip(&y) {
            match unknown.what {
                What::Theta(_) => {}
                What::Phi(g, _) => self.sums[g] += y,
                What::Free(f) => free[f] = y,
            }
        }
        self.solved = y;
        z0
    }

    /// The rest of a table that holds columnᵀv + c z₀ so far.
    #[inline(always)]
    fn close(&mut self, lcp: &ContactLcp, constants: Constants, z0: f64, out: &mut [f64]) {
        out[0] = z0;
        if constants == Constants::Everywhere {
            let n = lcp.normals.len();
            for (out, constant) in out[1..=n].iter_mut().zip(&self.constant[1..=n]) {
                *out += constant;
            }
        }
        let y = self.solved;
        for (unknown, &y) in self.unknowns.iter().zip(&y) {
            if let What::Theta(i) = unknown.what {
                out[1 + i] = y;
            }
        }
        self.close_groups(constants, z0, out);
        self.overwrite(lcp, &y, out);
    }
}

/// Σ_k by_k row_k, for eight columns at once.
#[inline(always)]
fn combine_rows<S: Simd, const N: usize>(
    simd: S,
    rows: &[[f64; 8]; N],
    by: [f64; N],
    out: &mut [f64; 8],
) {
    for (i, out) in S::as_mut_simd_f64s(out).0.iter_mut().enumerate() {
        let mut sum = simd.splat_f64s(0.0);
        for (row, by) in rows.iter().zip(by) {
            let row = S::as_simd_f64s(row).0[i];
            sum = simd.add_f64s(sum, simd.mul_f64s(row, simd.splat_f64s(by)));
        }
        *out = sum;
    }
}

/// Rows of a unit, combined.
#[inline(always)]
fn combine(lcp: &ContactLcp, unit: usize, share: [f64; 3]) -> [f64; 6] {
    match lcp.columns.six(unit) {
        [n, t1, t2] => {
            std::array::from_fn(|i| n[i] * share[0] + t1[i] * share[1] + t2[i] * share[2])
        }
        [n] => n.map(|x| x * share[0]),
        _ => [0.0; 6],
    }
}
