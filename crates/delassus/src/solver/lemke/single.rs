//! The kernel of a single free body: columns of six numbers, at most eight unknowns, everything in registers.

use super::contact::{ContactLcp, NONE};
use super::kernel::SMALL;
use super::partition::{Constants, Last, Partition, What};
use crate::math::dot_6;

/// Columns of L and R, those of the last row and of z₀ at the end. R has its components apart, so that products
/// with all its columns run side by side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Six {
    left: [[f64; 6]; SMALL],
    right: [[f64; SMALL]; 6],
}

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
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> f64 {
        self.basis.fill_single(self.lcp);
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
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        let Solve {
            basis,
            lcp,
            constants,
            out,
            v,
            free,
        } = self;
        basis.solve_single(lcp, constants, out, v, free);
    }
}

impl Partition {
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
    fn fill_single(&mut self, lcp: &ContactLcp) {
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
            for j in 0..SMALL {
                let linear = left[0] * right[0][j] + left[1] * right[1][j] + left[2] * right[2][j];
                let angular = left[3] * right[3][j] + left[4] * right[4][j] + left[5] * right[5][j];
                row[j] = linear + angular;
            }
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
            let group = &lcp.groups[g];
            let c = self.cover[self.at[g] + group.count];
            let [a, b] = lcp.directions[group.start + self.x[g]].map(|x| c * x);
            if let [_, t1, t2] = lcp.columns.six(group.unit) {
                for i in 0..6 {
                    star[i] += a * t1[i] + b * t2[i];
                }
            }
        }
        self.star.copy_from_slice(&star);
    }

    #[inline(always)]
    fn solve_single(
        &mut self,
        lcp: &ContactLcp,
        constants: Constants,
        out: &mut [f64],
        v_out: &mut [f64],
        free: &mut [f64],
    ) {
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
        out[0] = z0;
        self.normal_rows(lcp, z0, &v, out);
        for (unknown, &y) in self.unknowns.iter().zip(&y) {
            match unknown.what {
                What::Theta(i) => out[1 + i] = y,
                What::Phi(g, _) => self.sums[g] += y,
                What::Free(f) => free[f] = y,
            }
        }
        for k in 0..self.members.len() {
            let member = self.members[k];
            if let [_, t1, t2] = lcp.columns.six(member.unit) {
                let (v1, v2) = (dot_6(t1, &v), dot_6(t2, &v));
                self.group_rows(lcp, member, constants, (z0, v1, v2), out);
            }
        }
        self.overwrite(lcp, &y, out);
    }

    /// ν of all normals, components apart so that the loop runs over contacts.
    #[inline(always)]
    fn normal_rows(&self, lcp: &ContactLcp, z0: f64, v: &[f64; 6], out: &mut [f64]) {
        let n = lcp.normals.len();
        let part = |i: usize| &lcp.across[i * n..(i + 1) * n];
        let (c0, c1, c2, c3, c4, c5) = (part(0), part(1), part(2), part(3), part(4), part(5));
        let (cover, constant) = (&self.cover[1..1 + n], &self.constant[1..1 + n]);
        let out = &mut out[1..1 + n];
        for i in 0..n {
            let linear = c0[i] * v[0] + c1[i] * v[1] + c2[i] * v[2];
            let angular = c3[i] * v[3] + c4[i] * v[4] + c5[i] * v[5];
            out[i] = (linear + angular) + (cover[i] * z0 + constant[i]);
        }
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
