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

use crate::linalg::lu::{Kernel, SMALL, Small};
use crate::solver::pivot::contact::one_body::{Fill, Pairs, Six};
use crate::solver::pivot::contact::sparse::Touch;
use crate::solver::pivot::contact::{ContactLcp, NONE};
use crate::solver::pivot::crowd::bodies::Bodies;

/// What an index of the pivot tables stands for. Index 0 is z₀; then come the normals and, group after group in
/// the order in which they joined, the directions and the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Cover,
    Normal(usize),
    /// Group, and direction within it.
    Direction(usize, usize),
    Bound(usize),
}

/// One unknown of the kernel: a row of Lᵀ and a column of R, as shares of the rows of its unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unknown {
    pub(crate) what: What,
    pub(crate) unit: usize,
    pub(crate) left: [f64; 3],
    pub(crate) right: [f64; 3],
    pub(crate) sigma: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Theta(usize),
    Phi(usize, usize),
    Free(usize),
}

/// The row of the pair r.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Last {
    /// A complementary basis: z₀ = 0 and no such row.
    Absent,
    /// ν_r or σ_r: a row of the unit, the index and that of φ_x in its group if it slips.
    Row(usize, [f64; 3], usize, usize),
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

/// Which groups have constants that are not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constants {
    Everywhere,
    /// From this group on, so many at most.
    In(usize, usize),
    Nowhere,
}

impl Constants {
    /// Whether this group may have some.
    #[inline(always)]
    pub(crate) fn has(self, g: usize) -> bool {
        match self {
            Constants::Everywhere => true,
            Constants::In(first, number) => first <= g && g < first + number,
            Constants::Nowhere => false,
        }
    }
}

/// A basis with everything needed to solve in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partition {
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
    pub(crate) thetas: Vec<usize>,
    pub(crate) phis: Vec<(usize, usize)>,
    pub(crate) slips: Vec<usize>,
    /// φ_x of every group that slips, and [`NONE`] for others.
    pub(crate) x: Vec<usize>,
    pub(crate) unknowns: Vec<Unknown>,
    /// Entries of L and R, unknown after unknown, for bodies of any number and kind.
    pub(crate) left: Vec<f64>,
    pub(crate) right: Vec<f64>,
    pub(crate) touches: Vec<Touch>,
    pub(crate) last: Option<Last>,
    pub(crate) star: Vec<f64>,
    pub(crate) kernel: Kernel,
    pub(crate) bodies: Bodies,
    /// Whether complementary bases are solved through the bodies, and whether this one is.
    pub(crate) many: bool,
    pub(crate) by_bodies: bool,
    pub(crate) rhs: Vec<f64>,
    /// A table and free multipliers from which solutions through the bodies start; zero where they are too short.
    pub(crate) start: Vec<f64>,
    pub(crate) free_start: Vec<f64>,
    pub(crate) small: Small,
    pub(crate) six: Six,
    /// Rows of all pairs of a single body.
    pub(crate) pairs: Pairs,
    /// Groups that take part, in the order in which they joined.
    pub(crate) members: Vec<Member>,
    /// Whether the system of this basis is in `small`.
    pub(crate) is_small: bool,
    pub(crate) n: usize,
    pub(crate) y: Vec<f64>,
    /// Σφ_κ of every group.
    pub(crate) sums: Vec<f64>,
    pub(crate) arch: pulp::Arch,
}

impl Partition {
    /// The basis of all w, with the normals alone. `cover` is as long as it should be, or empty.
    pub(crate) fn reset(&mut self, lcp: &ContactLcp, cover: &[f64]) {
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
        self.many = false;
        self.start.clear();
        self.free_start.clear();
        self.pairs.clear();
        if lcp.columns.single {
            self.pair_normals(lcp);
        }
    }

    /// Makes a group part of the problem, its w basic. The covering vector of its directions is at least `need`.
    /// Returns that of its directions and of its bound.
    pub(crate) fn join(&mut self, lcp: &ContactLcp, g: usize, need: f64) -> (f64, f64) {
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

    /// Number of unknowns of the kernel, z₀ counted.
    pub(crate) fn size(&self) -> usize {
        self.n
    }

    /// Builds and factors the kernel with the row of pair `r`, or that of the complementary basis. Returns the
    /// smallest pivot; zero means that there is no such basis.
    pub(crate) fn assemble(&mut self, lcp: &ContactLcp, r: Option<usize>) -> f64 {
        if !self.list(lcp) {
            return 0.0;
        }
        self.last = Some(r.map_or(Last::Absent, |r| self.last_row(lcp, r)));
        self.n = self.unknowns.len() + usize::from(self.last != Some(Last::Absent));
        self.by_bodies = self.many && self.last == Some(Last::Absent);
        if self.by_bodies {
            self.is_small = false;
            let regular = self.bodies.factor(lcp, &self.unknowns);
            return f64::from(u8::from(regular));
        }
        self.is_small = lcp.columns.single && self.n <= SMALL;
        if self.is_small {
            let arch = self.arch;
            arch.dispatch(Fill { basis: self, lcp })
        } else {
            self.star_sparse(lcp);
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

    pub(crate) fn push(
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

    pub(crate) fn push_theta(&mut self, lcp: &ContactLcp, i: usize) {
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

    pub(crate) fn push_phi(&mut self, lcp: &ContactLcp, g: usize, j: usize) {
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

    /// The column of z₀, which holds Lᵀc* already, and the last row.
    fn fill_last(&mut self, lcp: &ContactLcp) {
        let count = self.unknowns.len();
        let Some(last) = self.last.filter(|last| *last != Last::Absent) else {
            return;
        };
        for k in 0..count {
            let c = self.cover_of(lcp, self.unknowns[k].what);
            self.kernel.row_mut(k)[count] += c;
        }
        match last {
            Last::Absent => {}
            Last::Row(_, _, r, x) => {
                let other = if x == NONE { 0.0 } else { self.cover[x] };
                self.kernel.row_mut(count)[count] += self.cover[r] - other;
            }
            Last::Bound(r) => {
                for k in 0..count {
                    let share = bound_share(lcp, r, self.unknowns[k].what);
                    if share != 0.0 {
                        self.kernel.add(count, k, share);
                    }
                }
                let c = self.cover[self.at[r] + lcp.groups[r].count];
                self.kernel.row_mut(count)[count] = c;
            }
        }
    }

    /// Covering vector in the row of an unknown.
    #[inline]
    pub(crate) fn cover_of(&self, lcp: &ContactLcp, what: What) -> f64 {
        match what {
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
        }
    }
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

fn toggle<T: Ord + Copy>(list: &mut Vec<T>, item: T, present: bool) {
    match (list.binary_search(&item), present) {
        (Err(at), true) => list.insert(at, item),
        (Ok(at), false) => {
            list.remove(at);
        }
        _ => {}
    }
}
