//! One almost complementary basis of a contact problem: which variables are basic, and the unknowns of its kernel.
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
//!
//! How this differs from the source: (1) signs and labels are those of errata Lemke05-23, Lemke05-26 and Lemke05-35;
//! (2) any basic φ of a group that slips can be φ_x, and the first in order is taken; c_γ > 0 makes sure that there is
//! one (errata Lemke05-4-cover); (3) joints are unknowns like θ; (4) groups may join late, and those of motors and limits
//! have no load.

use super::point::Point;
use super::{ContactLcp, NONE};

/// What an index of the pivot tables stands for. Index 0 is z₀; then come the normals and, group after group in
/// the order in which they joined, the directions and the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// z₀.
    Cover,
    /// (ν, θ) of this normal.
    Normal(usize),
    /// (σ, φ): group, and direction within it.
    Direction(usize, usize),
    /// (γ, s) of this group.
    Bound(usize),
}

/// One unknown of the kernel: a row of Lᵀ and a column of R, as shares of the rows of its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unknown {
    pub(crate) what: What,
    pub(crate) unit: usize,
    pub(crate) left: [f64; 3],
    pub(crate) right: [f64; 3],
    pub(crate) sigma: f64,
    /// Index of its pair in the pivot tables, 0 for a free row, and that of φ_x if its group slips, else [`NONE`].
    pub(crate) slot: usize,
    pub(crate) x: usize,
}

/// What an unknown is: θ of a normal, φ of a group and direction, λ of a free row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Theta(usize),
    Phi(usize, usize),
    Free(usize),
}

/// The row of the pair r.   [Lemke05 Table 1], errata Lemke05-T1
///
/// ```text
/// ν_r   n_rᵀR y + (c_r + n_rᵀc*) z₀
/// σ_r   d*ᵀR y + (c_r − c_x + d*ᵀc*) z₀          d* = d_r − d_x, c_x = 0 and d* = d_r where the group does not slip
/// γ_r   μθ_r − Σφ_κ + c_r z₀
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum LastRow {
    /// A complementary basis: z₀ = 0 and no such row.
    #[default]
    Absent,
    /// ν_r or σ_r as shares of the rows of a unit.
    Velocity {
        unit: usize,
        share: [f64; 3],
        /// Index of the pair in the pivot tables, and that of φ_x if its group slips, else [`NONE`].
        r: usize,
        x: usize,
    },
    /// γ of this group.
    Bound(usize),
}

/// A group that takes part, with what its rows need side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) group: usize,
    pub(crate) unit: usize,
    /// First index of its directions in the pivot tables, and in the problem.
    pub(crate) at: usize,
    pub(crate) start: usize,
    pub(crate) count: usize,
    /// Index of its normal in the pivot tables; 0, where nothing is ever basic, if there is none.
    pub(crate) theta: usize,
    pub(crate) mu: f64,
    /// Covering vector of its directions and of its bound.
    pub(crate) slip: f64,
    pub(crate) bound: f64,
}

/// Which z are basic, and what the rows of such a basis need.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContactBasis {
    pub(crate) slots: Vec<Slot>,
    pub(crate) cover: Vec<f64>,
    /// The covering vector asked for.
    given: Vec<f64>,
    /// Constant parts of all rows; zero between calls.
    pub(crate) constant: Vec<f64>,
    /// The same for values: q.
    pub(crate) q: Vec<f64>,
    /// Whether the z of a pair is basic.
    pub(crate) basic: Vec<bool>,
    /// First index of a group, or [`NONE`] while it is not part of the problem.
    pub(crate) at: Vec<usize>,
    /// Free rows that take part; rows that depend on others do not.
    pub(crate) frees: Vec<usize>,
    pub(crate) free_constant: Vec<f64>,
    pub(crate) free_q: Vec<f64>,
    /// Constant part of v, zero between calls.
    pub(crate) base: Vec<f64>,
    /// Basic θ, φ by group and direction, and s, each list sorted.
    pub(crate) thetas: Vec<usize>,
    pub(crate) phis: Vec<(usize, usize)>,
    pub(crate) slips: Vec<usize>,
    /// φ_x of every group that slips, and [`NONE`] for others.
    pub(crate) x: Vec<usize>,
    /// Unknowns of the kernel, and its last row.
    pub(crate) unknowns: Vec<Unknown>,
    pub(crate) last: LastRow,
    /// Groups that take part, in the order in which they joined.
    pub(crate) members: Vec<Member>,
}

impl ContactBasis {
    /// The basis of all w, with the normals alone. `cover` is as long as it should be, or empty.
    pub(crate) fn reset(&mut self, lcp: &ContactLcp, cover: &[f64]) {
        let (n, groups) = (lcp.normals.len(), lcp.groups.len());
        self.given.clear();
        self.given.extend_from_slice(cover);
        self.given.resize(lcp.n_cover(), 1.0);
        self.slots.clear();
        self.slots.push(Slot::Cover);
        self.slots.extend((0..n).map(Slot::Normal));
        self.cover.clear();
        self.cover.push(0.0);
        self.cover.extend_from_slice(&self.given[..n]);
        self.q.clear();
        self.q.push(0.0);
        self.q.extend(lcp.normals.iter().map(|normal| normal.q));
        refill(&mut self.constant, self.slots.len(), 0.0);
        refill(&mut self.basic, self.slots.len(), false);
        refill(&mut self.at, groups, NONE);
        refill(&mut self.x, groups, NONE);
        self.frees.clear();
        self.frees.extend(0..lcp.frees.len());
        refill(&mut self.free_constant, lcp.frees.len(), 0.0);
        self.free_q.clear();
        self.free_q.extend(lcp.frees.iter().map(|free| free.q));
        refill(&mut self.base, lcp.columns.dofs, 0.0);
        self.thetas.clear();
        self.phis.clear();
        self.slips.clear();
        self.members.clear();
        self.last = LastRow::Absent;
    }

    /// Makes a group part of the problem, its w basic. The covering vector of its directions is at least `need`.
    pub(crate) fn join(&mut self, lcp: &ContactLcp, g: usize, need: f64) -> Member {
        let (n, group) = (lcp.normals.len(), &lcp.groups[g]);
        let member = Member {
            group: g,
            unit: group.unit,
            at: self.slots.len(),
            start: group.start,
            count: group.count,
            theta: match group.normal {
                NONE => 0,
                i => 1 + i,
            },
            mu: group.mu,
            slip: self.given[n + 2 * g].max(need),
            bound: self.given[n + 2 * g + 1],
        };
        self.at[g] = member.at;
        self.members.push(member);
        self.q.extend_from_slice(&lcp.slip[group.range()]);
        self.q.push(group.room);
        let directions = (0..group.count).map(|j| Slot::Direction(g, j));
        self.slots.extend(directions);
        self.slots.push(Slot::Bound(g));
        let size = self.slots.len();
        self.cover.resize(size - 1, member.slip);
        self.cover.push(member.bound);
        self.constant.resize(size, 0.0);
        self.basic.resize(size, false);
        member
    }

    /// Puts z of a pair into the basis or takes it out.
    pub(crate) fn set(&mut self, slot: usize, basic: bool) {
        self.basic[slot] = basic;
        match self.slots[slot] {
            Slot::Cover => {}
            Slot::Normal(i) => toggle(&mut self.thetas, i, basic),
            Slot::Direction(g, j) => toggle(&mut self.phis, (g, j), basic),
            Slot::Bound(g) => {
                self.x[g] = NONE;
                toggle(&mut self.slips, g, basic);
            }
        }
    }

    /// The constants become q, and q what they were; again, and both are what they were.
    pub(crate) fn swap_constants(&mut self) {
        std::mem::swap(&mut self.constant, &mut self.q);
        std::mem::swap(&mut self.free_constant, &mut self.free_q);
    }

    pub(crate) fn clear_constants(&mut self) {
        self.constant.fill(0.0);
        self.free_constant.fill(0.0);
    }

    /// Number of unknowns of the kernel, z₀ counted.
    pub(crate) fn size(&self) -> usize {
        self.unknowns.len() + usize::from(self.last != LastRow::Absent)
    }

    /// Lists the unknowns of the kernel with the row of pair `r`, or of the complementary basis. False where a group
    /// slips and has no friction to give, which only lost digits lead to.
    pub(crate) fn list(&mut self, lcp: &ContactLcp, r: Option<usize>) -> bool {
        for &g in &self.slips {
            self.x[g] = NONE;
        }
        self.unknowns.clear();
        let found = match lcp.columns.single {
            true => self.list_single(lcp),
            false => self.list_by_unit(lcp),
        };
        if found {
            self.last = r.map_or(LastRow::Absent, |r| self.last_row(lcp, r));
        }
        found
    }

    /// Units in order, so that the kernel of a tower is a band.
    fn list_by_unit(&mut self, lcp: &ContactLcp) -> bool {
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
                self.push_free(lcp, row);
                f += 1;
            }
        }
    }

    /// On one body everything couples and no order is better than another. φ and slips are sorted by group, and the
    /// first φ of a group that slips is φ_x.
    fn list_single(&mut self, lcp: &ContactLcp) -> bool {
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
            self.push_free(lcp, self.frees[k]);
        }
        true
    }

    fn push_free(&mut self, lcp: &ContactLcp, f: usize) {
        let free = &lcp.frees[f];
        self.unknowns.push(Unknown {
            what: What::Free(f),
            unit: free.unit,
            left: [1.0, 0.0, 0.0],
            right: [1.0, 0.0, 0.0],
            sigma: free.sigma,
            slot: 0,
            x: NONE,
        });
    }

    fn push_theta(&mut self, lcp: &ContactLcp, i: usize) {
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
        self.unknowns.push(Unknown {
            what: What::Theta(i),
            unit: normal.unit,
            left: [1.0, 0.0, 0.0],
            right,
            sigma: normal.sigma,
            slot: 1 + i,
            x: NONE,
        });
    }

    fn push_phi(&mut self, lcp: &ContactLcp, g: usize, j: usize) {
        let group = &lcp.groups[g];
        let ([mut a, mut b], at) = (lcp.directions[group.start + j], self.at[g]);
        let mut x = NONE;
        if self.basic[at + group.count] {
            if self.x[g] == j {
                return;
            }
            let [c, d] = lcp.directions[group.start + self.x[g]];
            (a, b) = (a - c, b - d);
            x = at + self.x[g];
        }
        self.unknowns.push(Unknown {
            what: What::Phi(g, j),
            unit: group.unit,
            left: [0.0, a, b],
            right: [0.0, a, b],
            sigma: 0.0,
            slot: at + j,
            x,
        });
    }

    fn last_row(&self, lcp: &ContactLcp, r: usize) -> LastRow {
        match self.slots[r] {
            Slot::Cover => LastRow::Absent,
            Slot::Normal(i) => LastRow::Velocity {
                unit: lcp.normals[i].unit,
                share: [1.0, 0.0, 0.0],
                r,
                x: NONE,
            },
            Slot::Direction(g, j) => {
                let group = &lcp.groups[g];
                let [mut a, mut b] = lcp.directions[group.start + j];
                let mut x = NONE;
                if self.basic[self.at[g] + group.count] {
                    let [c, d] = lcp.directions[group.start + self.x[g]];
                    (a, b) = (a - c, b - d);
                    x = self.at[g] + self.x[g];
                }
                LastRow::Velocity {
                    unit: group.unit,
                    share: [0.0, a, b],
                    r,
                    x,
                }
            }
            Slot::Bound(g) => LastRow::Bound(g),
        }
    }

    /// Covering vector in the row of an unknown.
    #[inline(always)]
    pub(crate) fn cover_of(&self, unknown: &Unknown) -> f64 {
        beside(&self.cover, unknown.slot, unknown.x)
    }

    /// Constant part of the row of an unknown.
    #[inline(always)]
    pub(crate) fn constant_of(&self, unknown: &Unknown) -> f64 {
        match unknown.what {
            What::Free(f) => self.free_constant[f],
            _ => beside(&self.constant, unknown.slot, unknown.x),
        }
    }

    /// Covering vector of the last row beside products of columns, and its constant part.
    #[inline(always)]
    pub(crate) fn cover_of_last(&self, lcp: &ContactLcp) -> f64 {
        self.of_last(lcp, &self.cover)
    }

    #[inline(always)]
    pub(crate) fn constant_of_last(&self, lcp: &ContactLcp) -> f64 {
        self.of_last(lcp, &self.constant)
    }

    #[inline(always)]
    fn of_last(&self, lcp: &ContactLcp, table: &[f64]) -> f64 {
        match self.last {
            LastRow::Absent => 0.0,
            LastRow::Velocity { r, x, .. } => beside(table, r, x),
            LastRow::Bound(g) => table[self.at[g] + lcp.groups[g].count],
        }
    }

    /// Basic φ_κ, and nothing for the pair r.
    #[inline(always)]
    pub(crate) fn overwrite(&self, lcp: &ContactLcp, y: &[f64], out: &mut [f64]) {
        for (unknown, &y) in self.unknowns.iter().zip(y) {
            if let What::Phi(..) = unknown.what {
                out[unknown.slot] = y;
            }
        }
        match self.last {
            LastRow::Velocity { r, .. } => out[r] = 0.0,
            LastRow::Bound(g) => out[self.at[g] + lcp.groups[g].count] = 0.0,
            LastRow::Absent => {}
        }
    }

    /// Writes the z-part of a table of basic variables into a point.
    pub(crate) fn read(&self, lcp: &ContactLcp, table: &[f64], point: &mut Point) {
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

/// Entry of a pair less that of φ_x, where there is one.
#[inline(always)]
fn beside(table: &[f64], slot: usize, x: usize) -> f64 {
    let other = if x == NONE { 0.0 } else { table[x] };
    table[slot] - other
}

/// What an unknown adds to γ of group r: its load gives, its friction takes.
#[inline]
pub(crate) fn bound_share(lcp: &ContactLcp, r: usize, what: What) -> f64 {
    match what {
        What::Theta(i) if i == lcp.groups[r].normal => lcp.groups[r].mu,
        What::Phi(g, _) if g == r => -1.0,
        _ => 0.0,
    }
}

/// So many of one value.
pub(super) fn refill<T: Clone>(list: &mut Vec<T>, size: usize, value: T) {
    list.clear();
    list.resize(size, value);
}

/// Puts an item into a sorted list or takes it out.
fn toggle<T: Ord + Copy>(list: &mut Vec<T>, item: T, present: bool) {
    match (list.binary_search(&item), present) {
        (Err(at), true) => list.insert(at, item),
        (Ok(at), false) => {
            list.remove(at);
        }
        _ => {}
    }
}
