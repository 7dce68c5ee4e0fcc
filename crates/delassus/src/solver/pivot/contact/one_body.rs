//! The kernel of a single free body: columns of six numbers, at most eight unknowns, everything in registers.

use crate::solver::pivot::contact::basis::{Constants, Last, Partition, What, bound_share};
use crate::linalg::lu::SMALL;
use crate::solver::pivot::contact::{ContactLcp, NONE};
use pulp::Simd;

/// Columns of L and R, those of the last row and of z₀ at the end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Six {
    /// L with its components apart, so that products with all its columns run side by side.
    left: [[f64; SMALL]; 6],
    right: [[f64; 6]; SMALL],
}

/// Rows of all pairs with their components apart, eight together: products with v run over pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    /// z₀ and the normals, their covering vector at the end.
    normals: Vec<[[f64; 8]; 7]>,
    /// t₁ and t₂ of the groups in the order in which they joined; every direction is a combination of them.
    tangents: Vec<[[[f64; 8]; 6]; 2]>,
}

impl Pairs {
    /// z₀, normals and groups taken out.
    pub(crate) fn clear(&mut self) {
        self.normals.clear();
        self.tangents.clear();
    }
}

/// Builds and factors the kernel. Like [`Solve`], it is compiled once for every kind of processor and chosen at run
/// time.
pub(crate) struct Fill<'a> {
    pub(crate) basis: &'a mut Partition,
    pub(crate) lcp: &'a ContactLcp,
}

impl pulp::WithSimd for Fill<'_> {
    /// The smallest pivot.
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        self.basis.star_single(self.lcp);
        self.basis.fill_single(simd, self.lcp);
        self.basis.small.factor()
    }
}

/// [`Partition::solve`] for a single body.
pub(crate) struct Solve<'a> {
    pub(crate) basis: &'a mut Partition,
    pub(crate) lcp: &'a ContactLcp,
    pub(crate) constants: Constants,
    pub(crate) out: &'a mut [f64],
    pub(crate) v: &'a mut [f64],
    pub(crate) free: &'a mut [f64],
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
        let (y, by, z0) = basis.solve_kernel(simd, lcp, constants);
        v.copy_from_slice(&by);
        let (normals, groups) = out.split_at_mut(1 + lcp.normals.len());
        basis.normal_rows(simd, constants, (by, z0), normals);
        basis.group_rows(simd, lcp, constants, (by, z0), groups);
        basis.close(lcp, &y, out, free);
    }
}

impl Partition {
    /// Rows of the normals, behind an empty one for z₀.
    pub(crate) fn pair_normals(&mut self, lcp: &ContactLcp) {
        let size = (1 + lcp.normals.len()).div_ceil(8);
        self.pairs.normals.resize(size, [[0.0; 8]; 7]);
        for (i, normal) in lcp.normals.iter().enumerate() {
            let (eight, lane) = (&mut self.pairs.normals[(1 + i) / 8], (1 + i) % 8);
            if let Some(row) = lcp.columns.six(normal.unit).first() {
                for (lanes, x) in eight.iter_mut().zip(row) {
                    lanes[lane] = *x;
                }
            }
            eight[6][lane] = self.cover[1 + i];
        }
    }

    /// Tangents of the group that has joined last.
    pub(crate) fn pair_group(&mut self, lcp: &ContactLcp, g: usize) {
        let place = self.members.len() - 1;
        if place.is_multiple_of(8) {
            self.pairs.tangents.push([[[0.0; 8]; 6]; 2]);
        }
        let rows = lcp.columns.six(lcp.groups[g].unit);
        if let ([_, t1, t2], Some([first, second])) = (rows, self.pairs.tangents.last_mut()) {
            for i in 0..6 {
                first[i][place % 8] = t1[i];
                second[i][place % 8] = t2[i];
            }
        }
    }

    /// Lists the unknowns; on one body everything couples and no order is better than another. φ and slips are
    /// sorted by group, and the first φ of a group that slips is φ_x.
    pub(crate) fn list_single(&mut self, lcp: &ContactLcp) -> bool {
        let mut found = 0;
        for k in 0..self.phis.len() {
            let (g, j) = self.phis[k];
            match self.slips.get(found) {
                Some(&next) if next == g => {
                    self.x[g] = j;
                    found += 1;
                }
                // That group slips and has no φ.
                Some(&next) if next < g => return false,
                _ => self.push_phi(lcp, g, j),
            }
        }
        if found != self.slips.len() {
            return false;
        }
        for k in 0..self.thetas.len() {
            self.push_theta(lcp, self.thetas[k]);
        }
        for k in 0..self.frees.len() {
            let (f, share) = (self.frees[k], [1.0, 0.0, 0.0]);
            let free = &lcp.frees[f];
            self.push(What::Free(f), free.unit, share, share, free.sigma);
        }
        true
    }

    /// c* = D_x c_γ.
    #[inline(always)]
    fn star_single(&mut self, lcp: &ContactLcp) {
        let mut star = [0.0; 6];
        for &g in &self.slips {
            let group = &lcp.groups[g];
            let [a, b] = lcp.directions[group.start + self.x[g]];
            let c = self.cover[self.at[g] + group.count];
            add_tangents(lcp, group.unit, [c * a, c * b], &mut star);
        }
        self.star.copy_from_slice(&star);
    }

    /// LᵀR + Σ, six numbers for each row and column; then the column of z₀, c + Lᵀc*, and the last row.
    #[inline(always)]
    fn fill_single<S: Simd>(&mut self, simd: S, lcp: &ContactLcp) {
        let (count, n) = (self.unknowns.len().min(SMALL), self.n.min(SMALL));
        let Six { left, right } = &mut self.six;
        // Lanes beyond n hold what an earlier basis left there; no one reads their products.
        macro_rules! put {
            ($k:expr, $row:expr) => {
                for i in 0..6 {
                    left[i][$k] = $row[i];
                }
            };
        }
        for (k, unknown) in self.unknowns.iter().take(SMALL).enumerate() {
            let row = combine(lcp, unknown.unit, unknown.left);
            put!(k, row);
            right[k] = if unknown.left == unknown.right {
                row
            } else {
                combine(lcp, unknown.unit, unknown.right)
            };
        }
        if count < n {
            let row = match self.last {
                Some(Last::Row(unit, share, ..)) => combine(lcp, unit, share),
                _ => [0.0; 6],
            };
            put!(count, row);
            right[count].copy_from_slice(&self.star);
        }
        self.small.resize(n);
        for (k, right) in right[..n].iter().enumerate() {
            combine_rows(simd, left, *right, self.small.column_mut(k));
        }
        for (k, unknown) in self.unknowns.iter().take(SMALL).enumerate() {
            if unknown.sigma != 0.0 {
                self.small.column_mut(k)[k] += unknown.sigma;
            }
        }
        if count < n {
            for k in 0..count {
                let c = self.cover_of(lcp, self.unknowns[k].what);
                self.small.column_mut(count)[k] += c;
            }
            self.fill_last_single(lcp, count);
        }
    }

    /// What the row of the pair r has beside products of columns.
    #[inline(always)]
    fn fill_last_single(&mut self, lcp: &ContactLcp, count: usize) {
        match self.last {
            Some(Last::Row(_, _, r, x)) => {
                let other = if x == NONE { 0.0 } else { self.cover[x] };
                self.small.column_mut(count)[count] += self.cover[r] - other;
            }
            Some(Last::Bound(r)) => {
                for k in 0..count {
                    let share = bound_share(lcp, r, self.unknowns[k].what);
                    self.small.column_mut(k)[count] = share;
                }
                let bound = self.at[r] + lcp.groups[r].count;
                self.small.column_mut(count)[count] = self.cover[bound];
            }
            Some(Last::Absent) | None => {}
        }
    }

    /// The kernel's unknowns, the velocity they make, and z₀.
    #[inline(always)]
    fn solve_kernel<S: Simd>(
        &mut self,
        simd: S,
        lcp: &ContactLcp,
        constants: Constants,
    ) -> ([f64; SMALL], [f64; 6], f64) {
        let mut v: [f64; 6] = self.base.as_array::<6>().copied().unwrap_or_default();
        match constants {
            Constants::Everywhere => {
                for &g in &self.slips {
                    self.add_given(lcp, g, &mut v);
                }
            }
            Constants::In(first, number) => {
                for g in first..first + number {
                    if self.at[g] != NONE && self.basic[self.at[g] + lcp.groups[g].count] {
                        self.add_given(lcp, g, &mut v);
                    }
                }
            }
            Constants::Nowhere => {}
        }
        let (count, n) = (self.unknowns.len().min(SMALL), self.n.min(SMALL));
        // −(constants + Lᵀv⁰)
        let (mut y, mut given) = ([0.0; SMALL], [0.0; SMALL]);
        combine_rows(simd, &self.six.left, v, &mut y);
        for (k, unknown) in self.unknowns.iter().take(SMALL).enumerate() {
            given[k] = self.constant_of(lcp, unknown.what);
        }
        if count < n {
            given[count] = match self.last {
                Some(Last::Row(_, _, r, x)) => {
                    let other = if x == NONE { 0.0 } else { self.constant[x] };
                    self.constant[r] - other
                }
                Some(Last::Bound(g)) => self.constant[self.at[g] + lcp.groups[g].count],
                _ => 0.0,
            };
        }
        for k in 0..SMALL {
            y[k] = -given[k] - y[k];
        }
        self.small.solve(&mut y);
        for (right, y) in self.six.right[..n].iter().zip(&y) {
            for i in 0..6 {
                v[i] += right[i] * y;
            }
        }
        let z0 = if count < n { y[count] } else { 0.0 };
        (y, v, z0)
    }

    /// v += d_x γ⁰ of a group that slips.
    #[inline(always)]
    fn add_given(&self, lcp: &ContactLcp, g: usize, v: &mut [f64; 6]) {
        let group = &lcp.groups[g];
        let constant = self.constant[self.at[g] + group.count];
        if constant != 0.0 {
            let [a, b] = lcp.directions[group.start + self.x[g]];
            add_tangents(lcp, group.unit, [constant * a, constant * b], v);
        }
    }

    /// z₀, and ν = nᵀv + c z₀ + ν⁰ of every normal.
    #[inline(always)]
    fn normal_rows<S: Simd>(
        &self,
        simd: S,
        constants: Constants,
        (v, z0): ([f64; 6], f64),
        out: &mut [f64],
    ) {
        let [a, b, c, d, e, f] = v;
        let by = [a, b, c, d, e, f, z0];
        let (whole, rest) = out.as_chunks_mut::<8>();
        for (out, eight) in whole.iter_mut().zip(&self.pairs.normals) {
            combine_rows(simd, eight, by, out);
        }
        if let (Some(eight), false) = (self.pairs.normals.get(whole.len()), rest.is_empty()) {
            let mut rows = [0.0; 8];
            combine_rows(simd, eight, by, &mut rows);
            rest.copy_from_slice(&rows[..rest.len()]);
        }
        if constants == Constants::Everywhere {
            for (out, constant) in out.iter_mut().zip(&self.constant) {
                *out += constant;
            }
        }
        out[0] = z0;
    }

    /// σ = dᵀv + c z₀ + σ⁰ + s of every group, with the s that φ_x asks for, and what z₀ leaves of the bound; the
    /// kernel's unknowns are still to be counted.
    #[inline(always)]
    fn group_rows<S: Simd>(
        &self,
        simd: S,
        lcp: &ContactLcp,
        constants: Constants,
        (v, z0): ([f64; 6], f64),
        mut out: &mut [f64],
    ) {
        for (members, [first, second]) in self.members.chunks(8).zip(&self.pairs.tangents) {
            let (mut v1, mut v2) = ([0.0; 8], [0.0; 8]);
            combine_rows(simd, first, v, &mut v1);
            combine_rows(simd, second, v, &mut v2);
            for (k, member) in members.iter().enumerate() {
                let (rows, after) = out.split_at_mut(member.count + 1);
                out = after;
                let (v1, v2, bound) = (v1[k], v2[k], member.at + member.count);
                let x = self.x[member.group];
                let mut covered = member.slip * z0;
                let mut left = member.bound * z0;
                let (mut s, range) = (0.0, member.start..member.start + member.count);
                let (a, b) = (&lcp.first[range.clone()], &lcp.second[range]);
                if constants.has(member.group) {
                    left += self.constant[bound];
                    if x != NONE {
                        s = -(a[x] * v1 + b[x] * v2 + covered + self.constant[member.at + x]);
                    }
                    directions(simd, (a, b), (v1, v2, covered + s), rows);
                    let constants = &self.constant[member.at..bound];
                    for (row, constant) in rows.iter_mut().zip(constants) {
                        *row += constant;
                    }
                } else {
                    if x != NONE {
                        s = -(a[x] * v1 + b[x] * v2 + covered);
                        covered += s;
                    }
                    directions(simd, (a, b), (v1, v2, covered), rows);
                }
                if x == NONE {
                    rows[member.count] = left;
                } else {
                    rows[member.count] = s;
                    rows[x] = left;
                }
            }
        }
    }

    /// The kernel's unknowns: their own rows, the free multipliers, and what they leave of the bounds.
    #[inline(always)]
    fn close(&self, lcp: &ContactLcp, y: &[f64; SMALL], out: &mut [f64], free: &mut [f64]) {
        // What is left of a bound is γ, or φ_x where that is zero.
        let left = |g: usize| {
            let bound = self.at[g] + lcp.groups[g].count;
            let slips = self.basic[bound];
            if slips { self.at[g] + self.x[g] } else { bound }
        };
        for (unknown, &y) in self.unknowns.iter().zip(y) {
            match unknown.what {
                What::Theta(i) => {
                    out[1 + i] = y;
                    for g in lcp.normals[i].groups() {
                        if self.at[g] != NONE {
                            out[left(g)] += lcp.groups[g].mu * y;
                        }
                    }
                }
                What::Phi(g, _) => out[left(g)] -= y,
                What::Free(f) => free[f] = y,
            }
        }
        self.overwrite(lcp, y, out);
    }
}

/// a v₁ + b v₂ + c of the directions of a group.
#[inline(always)]
fn directions<S: Simd>(
    simd: S,
    (a, b): (&[f64], &[f64]),
    (v1, v2, c): (f64, f64, f64),
    out: &mut [f64],
) {
    if let (Some(a), Some(b), Some(out)) = (
        a.as_array::<8>(),
        b.as_array::<8>(),
        out.first_chunk_mut::<8>(),
    ) {
        let (first, second) = (simd.splat_f64s(v1), simd.splat_f64s(v2));
        let c = simd.splat_f64s(c);
        let shares = S::as_simd_f64s(a).0.iter().zip(S::as_simd_f64s(b).0);
        for (out, (a, b)) in S::as_mut_simd_f64s(out).0.iter_mut().zip(shares) {
            let sum = simd.add_f64s(simd.mul_f64s(*a, first), simd.mul_f64s(*b, second));
            *out = simd.add_f64s(sum, c);
        }
        return;
    }
    for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
        *out = a * v1 + b * v2 + c;
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

/// v += t₁ a + t₂ b.
#[inline(always)]
fn add_tangents(lcp: &ContactLcp, unit: usize, [a, b]: [f64; 2], v: &mut [f64; 6]) {
    if let [_, t1, t2] = lcp.columns.six(unit) {
        for i in 0..6 {
            v[i] += t1[i] * a + t2[i] * b;
        }
    }
}

/// Rows of a unit, combined.
#[inline(always)]
fn combine(lcp: &ContactLcp, unit: usize, share: [f64; 3]) -> [f64; 6] {
    let mut sum = [0.0; 6];
    match lcp.columns.six(unit) {
        [n, ..] if share == [1.0, 0.0, 0.0] => return *n,
        [n, t1, t2] => {
            for i in 0..6 {
                sum[i] = n[i] * share[0] + t1[i] * share[1] + t2[i] * share[2];
            }
        }
        _ => {}
    }
    sum
}
