//! One almost complementary basis of a contact problem, solved through its small kernel.
//!
//! Basic are some θ, φ and s, the free λ, and z₀; the pair r has no basic variable. Where s_g is basic γ_g = 0
//! gives one friction variable φ_x of the group, and its σ_x = 0 gives s_g. What is left is a system for θ, the
//! other φ (called κ), λ and z₀, with one row for each and the row of the pair r:
//!
//! ```text
//! N* = N + μ D_x,   D* = D_κ − D_x,   c* = D_x c_γ,   L = [N D* B],   R = [N* D* B]
//! [ LᵀR + Σ     c + Lᵀc* ] [θ φ_κ λ]
//! [ last row             ] [z₀     ]                           [Lemke05 (31), (42), (44), (47)]
//! ```
//!
//! With y its solution, φ_x = μθ − Σφ_κ + c_γ z₀ + γ⁰, v = v⁰ + R y + c* z₀ and s = −(d_xᵀv + c_x z₀ + σ⁰_x), where
//! the constants ν⁰, σ⁰, γ⁰ and v⁰ are q for values, the driving column for rates.   [Lemke05 (38)–(41)]
//! Signs and labels are those of errata Lemke05-23, Lemke05-26 and Lemke05-35.

use super::contact::{ContactLcp, NONE};
use super::kernel::{Kernel, SMALL, Small};
use super::point::Point;
use super::single::{Eight, Fill, Six, Solve};
use super::sparse::Touch;

/// What an index of the pivot tables stands for. Index 0 is z₀; then come the normals and, group after group in
/// the order in which they joined, the directions and the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Cover,
    Normal(usize),
    /// Group, and direction within it.
    Direction(usize, usize),
    Bound(usize),
}

/// One unknown of the kernel: a row of Lᵀ and a column of R, as shares of the rows of its unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unknown {
    pub(super) what: What,
    pub(super) unit: usize,
    pub(super) left: [f64; 3],
    pub(super) right: [f64; 3],
    pub(super) sigma: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Theta(usize),
    Phi(usize, usize),
    Free(usize),
}

/// The row of the pair r.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Last {
    /// A complementary basis: z₀ = 0 and no such row.
    Absent,
    /// ν_r or σ_r: a row of the unit, the index and that of φ_x in its group if it slips.
    Row(usize, [f64; 3], usize, usize),
    Bound(usize),
}

/// A group that takes part, with what its rows need side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) group: usize,
    pub(super) unit: usize,
    /// First index of its directions in the pivot tables, and in the problem.
    pub(super) at: usize,
    start: usize,
    count: usize,
    /// Index of its normal in the pivot tables; 0, where nothing is ever basic, if there is none.
    theta: usize,
    mu: f64,
    /// Covering vector of its directions and of its bound.
    slip: f64,
    bound: f64,
}

/// Which constants of directions are not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Constants {
    Everywhere,
    /// Those of this group at most.
    In(usize),
    Nowhere,
}

/// A basis with everything needed to solve in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    pub(super) slots: Vec<Slot>,
    pub(super) cover: Vec<f64>,
    /// The covering vector asked for.
    given: Vec<f64>,
    /// Constant parts of all rows; zero between calls.
    pub(super) constant: Vec<f64>,
    /// The same for values: q.
    pub(super) q: Vec<f64>,
    /// Whether the z of a pair is basic.
    pub(super) basic: Vec<bool>,
    /// First index of a group, or [`NONE`] while it is not part of the problem.
    pub(super) at: Vec<usize>,
    /// Free rows that take part; rows that depend on others do not.
    pub(super) frees: Vec<usize>,
    pub(super) free_constant: Vec<f64>,
    pub(super) free_q: Vec<f64>,
    /// Constant part of v, zero between calls.
    pub(super) base: Vec<f64>,
    pub(super) thetas: Vec<usize>,
    pub(super) phis: Vec<(usize, usize)>,
    pub(super) slips: Vec<usize>,
    /// φ_x of every group that slips.
    pub(super) x: Vec<usize>,
    pub(super) unknowns: Vec<Unknown>,
    /// Entries of L and R, unknown after unknown, for bodies of any number and kind.
    pub(super) left: Vec<f64>,
    pub(super) right: Vec<f64>,
    pub(super) touches: Vec<Touch>,
    pub(super) last: Option<Last>,
    pub(super) star: Vec<f64>,
    pub(super) kernel: Kernel,
    pub(super) small: Small,
    pub(super) six: Six,
    /// Solution of the small system.
    pub(super) solved: [f64; SMALL],
    /// Columns of all pairs of a single body, and their covering vector, eight pairs together.
    pub(super) pairs: Vec<Eight>,
    /// Groups that take part, in the order in which they joined.
    pub(super) members: Vec<Member>,
    /// Whether the system of this basis is in `small`.
    is_small: bool,
    pub(super) n: usize,
    y: Vec<f64>,
    /// Σφ_κ of every group.
    pub(super) sums: Vec<f64>,
    pub(super) arch: pulp::Arch,
}

impl Partition {
    /// The basis of all w, with the normals alone. `cover` is as long as it should be, or empty.
    pub(super) fn reset(&mut self, lcp: &ContactLcp, cover: &[f64]) {
        let n = lcp.normals.len();
        self.given.clear();
        self.given.extend_from_slice(cover);
        self.given.resize(lcp.n_cover(), 1.0);
        self.slots.clear();
        self.slots.push(Slot::Cover);
        self.slots.extend((0..n).map(Slot::Normal));
        self.cover.clear();
        self.cover.push(0.0);
        self.cover.extend_from_slice(&self.given[..n]);
        self.constant.clear();
        self.constant.resize(self.slots.len(), 0.0);
        self.q.clear();
        self.q.push(0.0);
        self.q.extend(lcp.normals.iter().map(|normal| normal.q));
        self.basic.clear();
        self.basic.resize(self.slots.len(), false);
        self.at.clear();
        self.at.resize(lcp.groups.len(), NONE);
        self.x.clear();
        self.x.resize(lcp.groups.len(), NONE);
        self.sums.clear();
        self.sums.resize(lcp.groups.len(), 0.0);
        self.frees.clear();
        self.frees.extend(0..lcp.frees.len());
        self.free_constant.clear();
        self.free_constant.resize(lcp.frees.len(), 0.0);
        self.free_q.clear();
        self.free_q.extend(lcp.frees.iter().map(|free| free.q));
        for v in [&mut self.base, &mut self.star] {
            v.clear();
            v.resize(lcp.columns.dofs, 0.0);
        }
        self.thetas.clear();
        self.phis.clear();
        self.slips.clear();
        self.members.clear();
        self.last = None;
        self.pairs.clear();
        if lcp.columns.single {
            self.pair_normals(lcp);
        }
    }

    /// Makes a group part of the problem, its w basic. The covering vector of its directions is at least `need`.
    /// Returns that of its directions and of its bound.
    pub(super) fn join(&mut self, lcp: &ContactLcp, g: usize, need: f64) -> (f64, f64) {
        let n = lcp.normals.len();
        let (slip_cover, bound_cover) =
            (self.given[n + 2 * g].max(need), self.given[n + 2 * g + 1]);
        let group = &lcp.groups[g];
        let count = group.count;
        self.at[g] = self.slots.len();
        self.members.push(Member {
            group: g,
            unit: group.unit,
            at: self.at[g],
            start: group.start,
            count,
            theta: if group.normal == NONE {
                0
            } else {
                1 + group.normal
            },
            mu: group.mu,
            slip: slip_cover,
            bound: bound_cover,
        });
        self.q.extend_from_slice(&lcp.slip[group.range()]);
        self.q.push(group.room);
        self.slots.extend((0..count).map(|j| Slot::Direction(g, j)));
        self.slots.push(Slot::Bound(g));
        let size = self.slots.len();
        self.cover.resize(size - 1, slip_cover);
        self.cover.push(bound_cover);
        self.constant.resize(size, 0.0);
        self.basic.resize(size, false);
        if lcp.columns.single {
            self.pair_group(lcp, g);
        }
        (slip_cover, bound_cover)
    }

    /// Puts z of a pair into the basis or takes it out.
    pub(super) fn set(&mut self, slot: usize, basic: bool) {
        self.basic[slot] = basic;
        match self.slots[slot] {
            Slot::Cover => {}
            Slot::Normal(i) => toggle(&mut self.thetas, i, basic),
            Slot::Direction(g, j) => toggle(&mut self.phis, (g, j), basic),
            Slot::Bound(g) => toggle(&mut self.slips, g, basic),
        }
    }

    /// Number of unknowns of the kernel, z₀ counted.
    pub(super) fn size(&self) -> usize {
        self.n
    }

    /// Builds and factors the kernel with the row of pair `r`, or that of the complementary basis. Returns the
    /// smallest pivot; zero means that there is no such basis.
    pub(super) fn assemble(&mut self, lcp: &ContactLcp, r: Option<usize>) -> f64 {
        if !self.list(lcp) {
            return 0.0;
        }
        self.last = Some(r.map_or(Last::Absent, |r| self.last_row(lcp, r)));
        if lcp.columns.single {
            self.star_single(lcp);
        } else {
            self.star_sparse(lcp);
        }
        self.n = self.unknowns.len() + usize::from(self.last != Some(Last::Absent));
        self.is_small = lcp.columns.single && self.n <= SMALL;
        if self.is_small {
            let arch = self.arch;
            arch.dispatch(Fill { basis: self, lcp })
        } else {
            self.fill_sparse(lcp);
            self.fill_last(lcp);
            self.kernel.factor()
        }
    }

    /// Lists the unknowns, units in order. False where a group slips and has no friction to give, which only
    /// lost digits lead to.
    fn list(&mut self, lcp: &ContactLcp) -> bool {
        for &g in &self.slips {
            self.x[g] = NONE;
        }
        self.unknowns.clear();
        if lcp.columns.single {
            return self.list_single(lcp);
        }
        let mut found = 0;
        for &(g, j) in &self.phis {
            let bound = self.at[g] + lcp.groups[g].count;
            if self.basic[bound] && self.x[g] == NONE {
                self.x[g] = j;
                found += 1;
            }
        }
        if found != self.slips.len() {
            return false;
        }
        let (mut i, mut j, mut f) = (0, 0, 0);
        loop {
            // Three sorted lists, merged by unit.
            let theta = self.thetas.get(i).map_or(NONE, |&t| lcp.normals[t].unit);
            let phi = self.phis.get(j).map_or(NONE, |&(g, _)| lcp.groups[g].unit);
            let free = self.frees.get(f).map_or(NONE, |&f| lcp.frees[f].unit);
            let unit = theta.min(phi).min(free);
            if unit == NONE {
                return true;
            }
            if theta == unit {
                let theta = self.thetas[i];
                self.push_theta(lcp, theta);
                i += 1;
            } else if phi == unit {
                let (g, direction) = self.phis[j];
                self.push_phi(lcp, g, direction);
                j += 1;
            } else {
                let row = self.frees[f];
                let share = [1.0, 0.0, 0.0];
                self.push(What::Free(row), unit, share, share, lcp.frees[row].sigma);
                f += 1;
            }
        }
    }

    pub(super) fn push(
        &mut self,
        what: What,
        unit: usize,
        left: [f64; 3],
        right: [f64; 3],
        sigma: f64,
    ) {
        self.unknowns.push(Unknown {
            what,
            unit,
            left,
            right,
            sigma,
        });
    }

    pub(super) fn push_theta(&mut self, lcp: &ContactLcp, i: usize) {
        let normal = &lcp.normals[i];
        let mut right = [1.0, 0.0, 0.0];
        for g in normal.groups() {
            let group = &lcp.groups[g];
            let at = self.at[g];
            if at != NONE && self.basic[at + group.count] {
                let [a, b] = lcp.directions[group.start + self.x[g]];
                right[1] += group.mu * a;
                right[2] += group.mu * b;
            }
        }
        self.push(
            What::Theta(i),
            normal.unit,
            [1.0, 0.0, 0.0],
            right,
            normal.sigma,
        );
    }

    pub(super) fn push_phi(&mut self, lcp: &ContactLcp, g: usize, j: usize) {
        let group = &lcp.groups[g];
        let [mut a, mut b] = lcp.directions[group.start + j];
        if self.basic[self.at[g] + group.count] {
            if self.x[g] == j {
                return;
            }
            let [c, d] = lcp.directions[group.start + self.x[g]];
            (a, b) = (a - c, b - d);
        }
        let share = [0.0, a, b];
        self.push(What::Phi(g, j), group.unit, share, share, 0.0);
    }

    fn last_row(&self, lcp: &ContactLcp, r: usize) -> Last {
        match self.slots[r] {
            Slot::Cover => Last::Absent,
            Slot::Normal(i) => Last::Row(lcp.normals[i].unit, [1.0, 0.0, 0.0], r, NONE),
            Slot::Direction(g, j) => {
                let group = &lcp.groups[g];
                let [mut a, mut b] = lcp.directions[group.start + j];
                let mut x = NONE;
                if self.basic[self.at[g] + group.count] {
                    let [c, d] = lcp.directions[group.start + self.x[g]];
                    (a, b) = (a - c, b - d);
                    x = self.at[g] + self.x[g];
                }
                Last::Row(group.unit, [0.0, a, b], r, x)
            }
            Slot::Bound(g) => Last::Bound(g),
        }
    }

    #[inline(always)]
    fn row_mut(&mut self, k: usize) -> &mut [f64] {
        if self.is_small {
            self.small.row_mut(k)
        } else {
            self.kernel.row_mut(k)
        }
    }

    /// The column of z₀, which holds Lᵀc* already, and the last row.
    pub(super) fn fill_last(&mut self, lcp: &ContactLcp) {
        let count = self.unknowns.len();
        let Some(last) = self.last.filter(|last| *last != Last::Absent) else {
            return;
        };
        for k in 0..count {
            let c = match self.unknowns[k].what {
                What::Theta(i) => self.cover[1 + i],
                What::Phi(g, j) => {
                    let at = self.at[g];
                    let x = if self.basic[at + lcp.groups[g].count] {
                        self.cover[at + self.x[g]]
                    } else {
                        0.0
                    };
                    self.cover[at + j] - x
                }
                What::Free(_) => 0.0,
            };
            self.row_mut(k)[count] += c;
        }
        match last {
            Last::Absent => {}
            Last::Row(_, _, r, x) => {
                let other = if x == NONE { 0.0 } else { self.cover[x] };
                let c = self.cover[r] - other;
                self.row_mut(count)[count] += c;
            }
            Last::Bound(r) => {
                for k in 0..count {
                    let x = match self.unknowns[k].what {
                        What::Theta(i) if i == lcp.groups[r].normal => lcp.groups[r].mu,
                        What::Phi(g, _) if g == r => -1.0,
                        _ => continue,
                    };
                    if self.is_small {
                        self.small.row_mut(count)[k] = x;
                    } else {
                        self.kernel.add(count, k, x);
                    }
                }
                let c = self.cover[self.at[r] + lcp.groups[r].count];
                self.row_mut(count)[count] = c;
            }
        }
    }

    /// Solves with the constants set; they are left as they are. `out` gets the basic variable of every pair
    /// (zero for the pair r), z₀ at index 0; `v` and `free` the velocity and the free multipliers.
    pub(super) fn solve(
        &mut self,
        lcp: &ContactLcp,
        constants: Constants,
        out: &mut [f64],
        v: &mut [f64],
        free: &mut [f64],
    ) {
        if self.is_small {
            let arch = self.arch;
            return arch.dispatch(Solve {
                basis: self,
                lcp,
                constants,
                out,
                v,
                free,
            });
        }
        v.copy_from_slice(&self.base);
        for &g in &self.slips {
            let group = &lcp.groups[g];
            let constant = self.constant[self.at[g] + group.count];
            if constant != 0.0 {
                let [a, b] = lcp.directions[group.start + self.x[g]];
                let share = [0.0, constant * a, constant * b];
                lcp.columns.add(group.unit, share, v);
            }
        }
        self.right_side(lcp, v);
        let mut y = std::mem::take(&mut self.y);
        self.kernel.solve(&mut y);
        let z0 = if self.last == Some(Last::Absent) {
            0.0
        } else {
            y[self.unknowns.len()]
        };
        if z0 != 0.0 {
            for (v, c) in v.iter_mut().zip(&self.star) {
                *v += c * z0;
            }
        }
        for (unknown, &y) in self.unknowns.iter().zip(&y) {
            let share = unknown.right.map(|share| share * y);
            lcp.columns.add(unknown.unit, share, v);
            match unknown.what {
                What::Phi(g, _) => self.sums[g] += y,
                What::Free(f) => free[f] = y,
                What::Theta(_) => {}
            }
        }
        self.rows(lcp, constants, z0, (&y, v), out);
        self.y = y;
    }

    /// Constant part of the row of an unknown.
    #[inline]
    pub(super) fn constant_of(&self, lcp: &ContactLcp, what: What) -> f64 {
        match what {
            What::Theta(i) => self.constant[1 + i],
            What::Phi(g, j) => {
                let at = self.at[g];
                let slips = self.basic[at + lcp.groups[g].count];
                let x = if slips {
                    self.constant[at + self.x[g]]
                } else {
                    0.0
                };
                self.constant[at + j] - x
            }
            What::Free(f) => self.free_constant[f],
        }
    }

    /// −(constants + Lᵀv⁰) and the same for the last row.
    fn right_side(&mut self, lcp: &ContactLcp, v: &[f64]) {
        let mut y = std::mem::take(&mut self.y);
        y.clear();
        for unknown in &self.unknowns {
            y.push(
                -self.constant_of(lcp, unknown.what) - along(lcp, unknown.unit, unknown.left, v),
            );
        }
        match self.last {
            Some(Last::Row(unit, share, r, x)) => {
                let other = if x == NONE { 0.0 } else { self.constant[x] };
                y.push(other - self.constant[r] - along(lcp, unit, share, v));
            }
            Some(Last::Bound(g)) => y.push(-self.constant[self.at[g] + lcp.groups[g].count]),
            Some(Last::Absent) | None => {}
        }
        self.y = y;
    }

    /// Every pair's basic variable from v, z₀ and the kernel's solution.   [Lemke05 (36), (38), (41)]
    fn rows(
        &mut self,
        lcp: &ContactLcp,
        constants: Constants,
        z0: f64,
        (y, v): (&[f64], &[f64]),
        out: &mut [f64],
    ) {
        out[0] = z0;
        for (i, normal) in lcp.normals.iter().enumerate() {
            let dot = lcp.columns.dot(normal.unit, v);
            out[1 + i] = dot + self.cover[1 + i] * z0 + self.constant[1 + i];
        }
        for (unknown, &y) in self.unknowns.iter().zip(y) {
            if let What::Theta(i) = unknown.what {
                out[1 + i] = y;
            }
        }
        for k in 0..self.members.len() {
            let member = self.members[k];
            let [_, v1, v2] = lcp.columns.dots(member.unit, v);
            let (at, start) = (member.at, member.start);
            let (bound, end) = (at + member.count, start + member.count);
            let covered = member.slip * z0;
            let shares = lcp.first[start..end].iter().zip(&lcp.second[start..end]);
            for (row, (a, b)) in out[at..bound].iter_mut().zip(shares) {
                *row = a * v1 + b * v2 + covered;
            }
        }
        self.close_groups(constants, z0, out);
        self.overwrite(lcp, y, out);
    }

    /// Groups whose tables hold d_jᵀv + c z₀ so far: constants, the slip s that φ_x asks for, what is left of the bound.
    #[inline(always)]
    pub(super) fn close_groups(&mut self, constants: Constants, z0: f64, out: &mut [f64]) {
        // Slices of their own: nothing written here moves them.
        let (basic, constant) = (&self.basic[..], &self.constant[..]);
        let (x, sums) = (&self.x[..], &mut self.sums[..]);
        for member in &self.members {
            let Member {
                group: g,
                at,
                count,
                theta,
                ..
            } = *member;
            let bound = at + count;
            if constants == Constants::Everywhere || constants == Constants::In(g) {
                for (row, constant) in out[at..bound].iter_mut().zip(&constant[at..bound]) {
                    *row += constant;
                }
            }
            let load = if basic[theta] { out[theta] } else { 0.0 };
            let left = constant[bound] + member.bound * z0 + member.mu * load - sums[g];
            sums[g] = 0.0;
            if !basic[bound] {
                out[bound] = left;
                continue;
            }
            let s = -out[at + x[g]];
            match out[at..bound].as_mut_array::<8>() {
                Some(rows) => rows.iter_mut().for_each(|row| *row += s),
                None => out[at..bound].iter_mut().for_each(|row| *row += s),
            }
            out[bound] = s;
            out[at + x[g]] = left;
        }
    }

    /// Basic φ_κ, and nothing for the pair r.
    #[inline(always)]
    pub(super) fn overwrite(&self, lcp: &ContactLcp, y: &[f64], out: &mut [f64]) {
        for (unknown, &y) in self.unknowns.iter().zip(y) {
            if let What::Phi(g, j) = unknown.what {
                out[self.at[g] + j] = y;
            }
        }
        match self.last {
            Some(Last::Row(_, _, r, _)) => out[r] = 0.0,
            Some(Last::Bound(g)) => out[self.at[g] + lcp.groups[g].count] = 0.0,
            Some(Last::Absent) | None => {}
        }
    }

    /// Writes the z-part of a table of basic variables into a point.
    pub(super) fn read(&self, lcp: &ContactLcp, table: &[f64], point: &mut Point) {
        point.reset(lcp);
        for &i in &self.thetas {
            point.theta[i] = table[1 + i].max(0.0);
        }
        for &(g, j) in &self.phis {
            point.phi[lcp.groups[g].start + j] = table[self.at[g] + j].max(0.0);
        }
        for &g in &self.slips {
            point.bound[g] = table[self.at[g] + lcp.groups[g].count].max(0.0);
        }
    }
}

fn toggle<T: Ord + Copy>(list: &mut Vec<T>, item: T, present: bool) {
    match (list.binary_search(&item), present) {
        (Err(at), true) => list.insert(at, item),
        (Ok(at), false) => {
            list.remove(at);
        }
        _ => {}
    }
}

/// (Σ share_i row_i)ᵀ v.
#[inline]
fn along(lcp: &ContactLcp, unit: usize, share: [f64; 3], v: &[f64]) -> f64 {
    let dots = lcp.columns.dots(unit, v);
    share[0] * dots[0] + share[1] * dots[1] + share[2] * dots[2]
}
