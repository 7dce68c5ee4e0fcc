//! The kernel of a single free body: columns of six numbers, at most eight unknowns, everything in registers.
//!
//! The formulas are those of `kernel.rs`. How this differs: (1) columns of L stand with their components apart, and rows
//! of eight pairs together, so that products run side by side; (2) the system is factored with columns of fixed length,
//! and the right-hand side of a pivot goes through the first half of its solution meanwhile. It is compiled once for
//! every kind of processor and chosen at run time. A kernel of more than eight unknowns, which compliance makes, is
//! solved as that of several bodies.

use super::basis::{ContactBasis, LastRow, Member, What, bound_share};
use super::kernel::{Constants, Table};
use super::{ContactLcp, NONE};
use crate::linalg::lu::{SMALL, SmallLu};
use pulp::{Arch, Simd};

/// Rows and factors of one body.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneBody {
    /// L with its components apart, so that products with all its columns run side by side; its last column is that of
    /// the last row, as the last of R is c*, that of z₀.
    left: [[f64; SMALL]; 6],
    right: [[f64; 6]; SMALL],
    lu: SmallLu,
    /// Rows of z₀ and the normals with their components apart, eight together, their covering vector at the end.
    normals: Vec<[[f64; 8]; 7]>,
    /// t₁ and t₂ of the groups in the order in which they joined; every direction is a combination of them.
    tangents: Vec<[[[f64; 8]; 6]; 2]>,
}

/// v of a solution, and z₀.
#[derive(Clone, Copy)]
struct SolvedMotion {
    v: [f64; 6],
    z0: f64,
}

struct Factor<'a> {
    body: &'a mut OneBody,
    basis: &'a ContactBasis,
    lcp: &'a ContactLcp,
}

impl pulp::WithSimd for Factor<'_> {
    /// The smallest pivot.
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        self.body.fill(simd, self.basis, self.lcp);
        self.body.lu.factor(&mut [0.0; SMALL])
    }
}

/// Both in one go, so that the solution begins while the factors are made.
struct FactorAndSolve<'a> {
    body: &'a mut OneBody,
    basis: &'a ContactBasis,
    lcp: &'a ContactLcp,
    constants: Constants,
    out: &'a mut Table,
}

impl pulp::WithSimd for FactorAndSolve<'_> {
    /// The smallest pivot.
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let FactorAndSolve {
            body,
            basis,
            lcp,
            constants,
            out,
        } = self;
        body.fill(simd, basis, lcp);
        let (mut y, v) = body.within(basis, lcp, constants).right_side(simd);
        let weakest = body.lu.factor(&mut y);
        if weakest != 0.0 {
            body.within(basis, lcp, constants).spread(simd, y, v, out);
        }
        weakest
    }
}

struct Solve<'a> {
    within: Within<'a>,
    out: &'a mut Table,
}

impl pulp::WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (mut y, v) = self.within.right_side(simd);
        self.within.body.lu.begin(&mut y);
        self.within.spread(simd, y, v, self.out);
    }
}

impl OneBody {
    /// Rows of the normals, behind an empty one for z₀; no groups yet.
    pub(crate) fn reset(&mut self, basis: &ContactBasis, lcp: &ContactLcp) {
        self.tangents.clear();
        self.normals.clear();
        let size = (1 + lcp.normals.len()).div_ceil(8);
        self.normals.resize(size, [[0.0; 8]; 7]);
        for (i, normal) in lcp.normals.iter().enumerate() {
            let (eight, lane) = (&mut self.normals[(1 + i) / 8], (1 + i) % 8);
            if let Some(row) = lcp.columns.six(normal.unit).first() {
                for (lanes, x) in eight.iter_mut().zip(row) {
                    lanes[lane] = *x;
                }
            }
            eight[6][lane] = basis.cover[1 + i];
        }
    }

    /// Tangents of the group that has joined last, at this place of all.
    pub(crate) fn join(&mut self, lcp: &ContactLcp, member: &Member, place: usize) {
        if place.is_multiple_of(8) {
            self.tangents.push([[[0.0; 8]; 6]; 2]);
        }
        let rows = lcp.columns.six(member.unit);
        if let ([_, t1, t2], Some([first, second])) = (rows, self.tangents.last_mut()) {
            for i in 0..6 {
                first[i][place % 8] = t1[i];
                second[i][place % 8] = t2[i];
            }
        }
    }

    /// Builds and factors. Returns the smallest pivot; zero means singular.
    pub(crate) fn factor(&mut self, arch: Arch, basis: &ContactBasis, lcp: &ContactLcp) -> f64 {
        arch.dispatch(Factor {
            body: self,
            basis,
            lcp,
        })
    }

    pub(crate) fn solve(
        &self,
        arch: Arch,
        basis: &ContactBasis,
        lcp: &ContactLcp,
        constants: Constants,
        out: &mut Table,
    ) {
        let within = self.within(basis, lcp, constants);
        arch.dispatch(Solve { within, out });
    }

    /// Builds, factors and solves. Returns the smallest pivot; zero means singular, and then nothing is written.
    pub(crate) fn factor_and_solve(
        &mut self,
        arch: Arch,
        basis: &ContactBasis,
        lcp: &ContactLcp,
        constants: Constants,
        out: &mut Table,
    ) -> f64 {
        arch.dispatch(FactorAndSolve {
            body: self,
            basis,
            lcp,
            constants,
            out,
        })
    }

    #[inline(always)]
    fn within<'a>(
        &'a self,
        basis: &'a ContactBasis,
        lcp: &'a ContactLcp,
        constants: Constants,
    ) -> Within<'a> {
        Within {
            body: self,
            basis,
            lcp,
            constants,
        }
    }

    /// LᵀR + Σ, six numbers for each row and column; then the column of z₀, c + Lᵀc*, and the last row.
    #[inline(always)]
    fn fill<S: Simd>(&mut self, simd: S, basis: &ContactBasis, lcp: &ContactLcp) {
        let (count, n) = (basis.unknowns.len().min(SMALL), basis.size().min(SMALL));
        let OneBody {
            left, right, lu, ..
        } = self;
        // Lanes beyond n hold what an earlier basis left there; nothing reads their products.
        macro_rules! put {
            ($k:expr, $row:expr) => {
                for i in 0..6 {
                    left[i][$k] = $row[i];
                }
            };
        }
        for (k, unknown) in basis.unknowns.iter().take(SMALL).enumerate() {
            let row = combine(lcp, unknown.unit, unknown.left);
            put!(k, row);
            right[k] = if unknown.left == unknown.right {
                row
            } else {
                combine(lcp, unknown.unit, unknown.right)
            };
        }
        if count < n {
            let row = match basis.last {
                LastRow::Velocity { unit, share, .. } => combine(lcp, unit, share),
                _ => [0.0; 6],
            };
            put!(count, row);
            right[count] = star(basis, lcp);
        }
        lu.resize(n);
        for (k, right) in right[..n].iter().enumerate() {
            combine_rows(simd, left, *right, lu.column_mut(k));
        }
        for (k, unknown) in basis.unknowns.iter().take(SMALL).enumerate() {
            if unknown.sigma != 0.0 {
                lu.column_mut(k)[k] += unknown.sigma;
            }
        }
        if count < n {
            for (k, unknown) in basis.unknowns.iter().take(SMALL).enumerate() {
                lu.column_mut(count)[k] += basis.cover_of(unknown);
                if let LastRow::Bound(r) = basis.last {
                    lu.column_mut(k)[count] = bound_share(lcp, r, unknown.what);
                }
            }
            lu.column_mut(count)[count] += basis.cover_of_last(lcp);
        }
    }
}

/// A factored basis and the constants to solve for.
#[derive(Clone, Copy)]
struct Within<'a> {
    body: &'a OneBody,
    basis: &'a ContactBasis,
    lcp: &'a ContactLcp,
    constants: Constants,
}

impl Within<'_> {
    /// The right-hand side −(constants + Lᵀv⁰), and v⁰.
    #[inline(always)]
    fn right_side<S: Simd>(&self, simd: S) -> ([f64; SMALL], [f64; 6]) {
        let (body, basis, lcp) = (self.body, self.basis, self.lcp);
        let mut v: [f64; 6] = *basis
            .base
            .as_array::<6>()
            .expect("a single body has six velocities");
        match self.constants {
            Constants::Everywhere => {
                for &g in &basis.slips {
                    self.add_given(g, &mut v);
                }
            }
            Constants::In(first, number) => {
                for g in first..first + number {
                    if basis.at[g] != NONE && basis.basic[basis.at[g] + lcp.groups[g].count] {
                        self.add_given(g, &mut v);
                    }
                }
            }
            Constants::Nowhere => {}
        }
        let (count, n) = (basis.unknowns.len().min(SMALL), basis.size().min(SMALL));
        let (mut y, mut given) = ([0.0; SMALL], [0.0; SMALL]);
        combine_rows(simd, &body.left, v, &mut y);
        for (given, unknown) in given.iter_mut().zip(&basis.unknowns) {
            *given = basis.constant_of(unknown);
        }
        if count < n {
            given[count] = basis.constant_of_last(lcp);
        }
        for k in 0..SMALL {
            y[k] = -given[k] - y[k];
        }
        (y, v)
    }

    /// The table, from the kernel's right-hand side halfway solved and v⁰.
    #[inline(always)]
    fn spread<S: Simd>(&self, simd: S, half: [f64; SMALL], mut v: [f64; 6], out: &mut Table) {
        let (body, basis) = (self.body, self.basis);
        let (count, n) = (basis.unknowns.len().min(SMALL), basis.size().min(SMALL));
        let mut y = half;
        body.lu.finish(half, &mut y);
        // v = v⁰ + R y + c* z₀
        for (right, y) in body.right[..n].iter().zip(&y) {
            for i in 0..6 {
                v[i] += right[i] * y;
            }
        }
        let z0 = if count < n { y[count] } else { 0.0 };
        let motion = SolvedMotion { v, z0 };
        let Table { pairs, v, free } = out;
        v.copy_from_slice(&motion.v);
        let (normals, groups) = pairs.split_at_mut(1 + self.lcp.normals.len());
        self.normal_rows(simd, motion, normals);
        self.group_rows(simd, motion, groups);
        self.close(&y, pairs, free);
    }

    /// v += d_x γ⁰ of a group that slips.
    #[inline(always)]
    fn add_given(&self, g: usize, v: &mut [f64; 6]) {
        let (basis, group) = (self.basis, &self.lcp.groups[g]);
        let constant = basis.constant[basis.at[g] + group.count];
        if constant != 0.0 {
            let [a, b] = self.lcp.directions[group.start + basis.x[g]];
            add_tangents(self.lcp, group.unit, [constant * a, constant * b], v);
        }
    }

    /// z₀, and ν = nᵀv + c z₀ + ν⁰ of every normal.
    #[inline(always)]
    fn normal_rows<S: Simd>(&self, simd: S, motion: SolvedMotion, out: &mut [f64]) {
        let ([a, b, c, d, e, f], z0) = (motion.v, motion.z0);
        let by = [a, b, c, d, e, f, z0];
        let (whole, rest) = out.as_chunks_mut::<8>();
        for (out, eight) in whole.iter_mut().zip(&self.body.normals) {
            combine_rows(simd, eight, by, out);
        }
        if let (Some(eight), false) = (self.body.normals.get(whole.len()), rest.is_empty()) {
            let mut rows = [0.0; 8];
            combine_rows(simd, eight, by, &mut rows);
            rest.copy_from_slice(&rows[..rest.len()]);
        }
        if self.constants == Constants::Everywhere {
            for (out, constant) in out.iter_mut().zip(&self.basis.constant) {
                *out += constant;
            }
        }
        out[0] = z0;
    }

    /// σ = dᵀv + c z₀ + σ⁰ + s of every group, with the s that φ_x asks for, and what z₀ leaves of the bound; the
    /// kernel's unknowns are still to be counted.
    #[inline(always)]
    fn group_rows<S: Simd>(&self, simd: S, motion: SolvedMotion, mut out: &mut [f64]) {
        let (basis, lcp, z0) = (self.basis, self.lcp, motion.z0);
        for (members, [first, second]) in basis.members.chunks(8).zip(&self.body.tangents) {
            let (mut v1, mut v2) = ([0.0; 8], [0.0; 8]);
            combine_rows(simd, first, motion.v, &mut v1);
            combine_rows(simd, second, motion.v, &mut v2);
            for (k, member) in members.iter().enumerate() {
                let (rows, after) = out.split_at_mut(member.count + 1);
                out = after;
                let (v1, v2, bound) = (v1[k], v2[k], member.at + member.count);
                let x = basis.x[member.group];
                let mut covered = member.slip * z0;
                let mut left = member.bound * z0;
                let (mut s, range) = (0.0, member.start..member.start + member.count);
                let (a, b) = (&lcp.first[range.clone()], &lcp.second[range]);
                if self.constants.has(member.group) {
                    left += basis.constant[bound];
                    if x != NONE {
                        s = -(a[x] * v1 + b[x] * v2 + covered + basis.constant[member.at + x]);
                    }
                    directions(simd, [a, b], [v1, v2, covered + s], rows);
                    let constants = &basis.constant[member.at..bound];
                    for (row, constant) in rows.iter_mut().zip(constants) {
                        *row += constant;
                    }
                } else {
                    if x != NONE {
                        s = -(a[x] * v1 + b[x] * v2 + covered);
                        covered += s;
                    }
                    directions(simd, [a, b], [v1, v2, covered], rows);
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
    fn close(&self, y: &[f64; SMALL], out: &mut [f64], free: &mut [f64]) {
        let (basis, lcp) = (self.basis, self.lcp);
        // What is left of a bound is γ, or φ_x where that is zero.
        let left = |g: usize| {
            let bound = basis.at[g] + lcp.groups[g].count;
            let slips = basis.basic[bound];
            if slips {
                basis.at[g] + basis.x[g]
            } else {
                bound
            }
        };
        for (unknown, &y) in basis.unknowns.iter().zip(y) {
            match unknown.what {
                What::Theta(i) => {
                    out[1 + i] = y;
                    for g in lcp.normals[i].groups() {
                        if basis.at[g] != NONE {
                            out[left(g)] += lcp.groups[g].mu * y;
                        }
                    }
                }
                What::Phi(g, _) => out[left(g)] -= y,
                What::Free(f) => free[f] = y,
            }
        }
        basis.overwrite(lcp, y, out);
    }
}

/// c* = D_x c_γ.
#[inline(always)]
fn star(basis: &ContactBasis, lcp: &ContactLcp) -> [f64; 6] {
    let mut star = [0.0; 6];
    for &g in &basis.slips {
        let group = &lcp.groups[g];
        let [a, b] = lcp.directions[group.start + basis.x[g]];
        let c = basis.cover[basis.at[g] + group.count];
        add_tangents(lcp, group.unit, [c * a, c * b], &mut star);
    }
    star
}

/// a v₁ + b v₂ + c of the directions of a group.
#[inline(always)]
fn directions<S: Simd>(simd: S, [a, b]: [&[f64]; 2], [v1, v2, c]: [f64; 3], out: &mut [f64]) {
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
