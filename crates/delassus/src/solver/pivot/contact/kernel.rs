//! Solving in a basis: the kernel is built and factored, and its solution spread to the table of all pairs.
//!
//! ```text
//! [ LᵀR + Σ     c + Lᵀc* ] [y ]       [ constants + Lᵀv⁰ ]        L, R, c*: see `basis.rs`      [Lemke05 (31), (42)–(47)]
//! [ last row             ] [z₀]  =  − [ the same, of r   ]
//!
//! v = v⁰ + R y + c* z₀
//! ν = nᵀv + c z₀ + ν⁰        σ = dᵀv + c z₀ + σ⁰ + s        s = −(d_xᵀv + c_x z₀ + σ⁰_x)      [Lemke05 (36), (38), (41)]
//! φ_x, or γ where the group does not slip  =  μθ − Σφ_κ + c_γ z₀ + γ⁰                          [Lemke05 (39), (40)]
//! ```
//!
//! How this differs from the source: (1) several bodies, of which only unknowns that share one couple, so that a tower
//! costs a band; (2) joints and compliance; (3) three products with v give all rows of a contact, however many
//! directions it has; (4) rows of the kernel and steps of its elimination that have not changed since the last pivot are
//! kept, see `linalg/kept_lu.rs`. Cost: O(n³) at most for the n unknowns of the kernel, and one pass over the contacts. A
//! single free body has a kernel of its own, in `one_body.rs`.

use super::basis::{ContactBasis, LastRow, Member, Unknown, What, bound_share, refill};
use super::one_body::OneBody;
use super::{ContactLcp, NONE};
use crate::linalg::kept_lu::KeptLu;
use crate::linalg::lu::SMALL;
use crate::math::dot;

/// The basic variable of every pair, z₀ at index 0, with the velocity and the free multipliers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) pairs: Vec<f64>,
    pub(crate) v: Vec<f64>,
    pub(crate) free: Vec<f64>,
}

impl Table {
    /// Zeros for so many pairs.
    pub(crate) fn reset(&mut self, lcp: &ContactLcp, pairs: usize) {
        refill(&mut self.pairs, pairs, 0.0);
        refill(&mut self.v, lcp.columns.dofs, 0.0);
        refill(&mut self.free, lcp.frees.len(), 0.0);
    }
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

/// The factored kernel of a basis: that of one body where it is small enough, else that of several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    pub(crate) several: SeveralBodies,
    pub(crate) one: OneBody,
    /// Whether the basis factored last is in `one`.
    is_one: bool,
    pub(crate) arch: pulp::Arch,
}

impl Kernel {
    /// Builds and factors the kernel with the row of pair `r`, or that of the complementary basis. Returns the
    /// smallest pivot; zero means that there is no such basis.
    pub(crate) fn factor(
        &mut self,
        basis: &mut ContactBasis,
        lcp: &ContactLcp,
        r: Option<usize>,
    ) -> f64 {
        if !basis.list(lcp, r) {
            return 0.0;
        }
        self.is_one = lcp.columns.single && basis.size() <= SMALL;
        match self.is_one {
            true => self.one.factor(self.arch, basis, lcp),
            false => self.several.factor(basis, lcp),
        }
    }

    /// [`Kernel::factor`] with the row of pair `r`, and [`Kernel::solve`] where there is such a basis.
    pub(crate) fn factor_and_solve(
        &mut self,
        basis: &mut ContactBasis,
        lcp: &ContactLcp,
        r: usize,
        constants: Constants,
        out: &mut Table,
    ) -> f64 {
        if !basis.list(lcp, Some(r)) {
            return 0.0;
        }
        out.pairs.resize(basis.slots.len(), 0.0);
        self.is_one = lcp.columns.single && basis.size() <= SMALL;
        if self.is_one {
            return self
                .one
                .factor_and_solve(self.arch, basis, lcp, constants, out);
        }
        let weakest = self.several.factor(basis, lcp);
        if weakest != 0.0 {
            self.several.solve(basis, lcp, constants, out);
        }
        weakest
    }

    /// Solves with the constants set in the basis; they are left as they are. The pair r is zero in the table.
    pub(crate) fn solve(
        &mut self,
        basis: &ContactBasis,
        lcp: &ContactLcp,
        constants: Constants,
        out: &mut Table,
    ) {
        out.pairs.resize(basis.slots.len(), 0.0);
        match self.is_one {
            true => self.one.solve(self.arch, basis, lcp, constants, out),
            false => self.several.solve(basis, lcp, constants, out),
        }
    }
}

/// The kernel of bodies of any number and kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeveralBodies {
    /// The unknowns that the arrays below were filled for; none where another problem has begun.
    unknowns: Vec<Unknown>,
    /// Entries of L and R, unknown after unknown.
    left: Vec<f64>,
    right: Vec<f64>,
    /// Where unknowns act, in their order, and body by body.
    places: Vec<ActsOn>,
    sorted: Vec<ActsOn>,
    /// Where the next place of a body goes, by the offset of the body.
    next: Vec<usize>,
    /// c*.
    star: Vec<f64>,
    lu: KeptLu,
    /// Right-hand side, then solution.
    pub(crate) y: Vec<f64>,
    /// Σφ_κ of every group; zero between calls.
    sums: Vec<f64>,
}

/// Where unknown k acts: on the body at `offset`, with entries of L and R from `start`.
#[derive(Clone, Copy, Debug)]
struct ActsOn {
    offset: usize,
    k: usize,
    start: usize,
    width: usize,
}

impl SeveralBodies {
    /// Another problem begins: nothing is known of the last kernel.
    pub(crate) fn reset(&mut self) {
        self.unknowns.clear();
    }

    /// Builds and factors. Returns the smallest pivot; zero means singular.
    fn factor(&mut self, basis: &ContactBasis, lcp: &ContactLcp) -> f64 {
        self.find_star(basis, lcp);
        self.fill(basis, lcp);
        self.fill_last(basis, lcp);
        self.lu.factor()
    }

    /// c* = D_x c_γ.
    fn find_star(&mut self, basis: &ContactBasis, lcp: &ContactLcp) {
        refill(&mut self.star, lcp.columns.dofs, 0.0);
        for &g in &basis.slips {
            let c = basis.cover[basis.at[g] + lcp.groups[g].count];
            add_slip(basis, lcp, g, c, &mut self.star);
        }
    }

    /// LᵀR + Σ, body by body: only unknowns that share one couple. Rows of the last kernel whose unknowns are all there
    /// as before are left as they are.
    fn fill(&mut self, basis: &ContactBasis, lcp: &ContactLcp) {
        let (count, n) = (basis.unknowns.len(), basis.size());
        let pairs = self.unknowns.iter().zip(&basis.unknowns);
        let alike = pairs.take_while(|(a, b)| a == b).count();
        self.unknowns.truncate(alike);
        self.unknowns.extend_from_slice(&basis.unknowns[alike..]);
        self.place(basis, lcp, alike);
        self.sort_by_body(lcp.columns.dofs);
        // Rows before this one couple with none of the unknowns that are gone or new.
        let mut same = self.lu.rows_before(alike);
        for body in self.sorted.chunk_by(|a, b| a.offset == b.offset) {
            if body.iter().any(|place| alike <= place.k && place.k < count) {
                same = same.min(body[0].k);
            }
        }
        let same = self.lu.reset(count, count < n, same);
        for body in self.sorted.chunk_by(|a, b| a.offset == b.offset) {
            // The last row has no column here: that of z₀ is the border.
            let columns = &body[..body.partition_point(|b| b.k < count)];
            let (Some(first), Some(last)) = (columns.first(), columns.last()) else {
                continue;
            };
            for a in &body[body.partition_point(|a| a.k < same)..] {
                let left = &self.left[a.start..a.start + a.width];
                let row = self.lu.open(a.k, first.k..last.k + 1);
                for b in columns {
                    let right = &self.right[b.start..b.start + b.width];
                    row[b.k - first.k] += dot_of_body(left, right);
                }
            }
        }
        for (k, unknown) in basis.unknowns.iter().enumerate().skip(same) {
            self.lu.add(k, k, unknown.sigma);
        }
    }

    /// Where the unknowns from `first` on and the last row act, with their entries of L and R.
    fn place(&mut self, basis: &ContactBasis, lcp: &ContactLcp, first: usize) {
        let kept = self.places.partition_point(|place| place.k < first);
        let entries = self.places[..kept].last();
        let end = entries.map_or(0, |place| place.start + place.width);
        self.places.truncate(kept);
        self.left.truncate(end);
        self.right.truncate(end);
        let last = match basis.last {
            LastRow::Velocity { unit, share, .. } => Some((unit, share, share)),
            _ => None,
        };
        let shares = basis.unknowns.iter().map(|u| (u.unit, u.left, u.right));
        for (k, (unit, left, right)) in shares.chain(last).enumerate().skip(first) {
            for part in lcp.columns.parts(unit) {
                let start = self.left.len();
                lcp.columns.combine(unit, part, left, &mut self.left);
                lcp.columns.combine(unit, part, right, &mut self.right);
                self.places.push(ActsOn {
                    offset: part.offset,
                    k,
                    start,
                    width: part.width,
                });
            }
        }
    }

    /// Places body by body, those of one body in the order of unknowns: counted, then put where they belong.
    fn sort_by_body(&mut self, dofs: usize) {
        refill(&mut self.next, dofs + 1, 0);
        for place in &self.places {
            self.next[place.offset + 1] += 1;
        }
        for offset in 0..dofs {
            self.next[offset + 1] += self.next[offset];
        }
        self.sorted.clone_from(&self.places);
        for place in &self.places {
            let at = &mut self.next[place.offset];
            self.sorted[*at] = *place;
            *at += 1;
        }
    }

    /// Lᵀc* and the covering vector in the column of z₀, and what the last row has beside products of columns.
    fn fill_last(&mut self, basis: &ContactBasis, lcp: &ContactLcp) {
        let count = basis.unknowns.len();
        if basis.last == LastRow::Absent {
            return;
        }
        for place in &self.places {
            let star = &self.star[place.offset..place.offset + place.width];
            let left = &self.left[place.start..place.start + place.width];
            *self.lu.border_mut(place.k) += dot_of_body(left, star);
        }
        for (k, unknown) in basis.unknowns.iter().enumerate() {
            *self.lu.border_mut(k) += basis.cover_of(unknown);
        }
        if let LastRow::Bound(r) = basis.last {
            for (k, unknown) in basis.unknowns.iter().enumerate() {
                let share = bound_share(lcp, r, unknown.what);
                if share != 0.0 {
                    self.lu.add(count, k, share);
                }
            }
        }
        *self.lu.border_mut(count) += basis.cover_of_last(lcp);
    }

    fn solve(
        &mut self,
        basis: &ContactBasis,
        lcp: &ContactLcp,
        constants: Constants,
        out: &mut Table,
    ) {
        self.right_side(basis, lcp, &mut out.v);
        let mut y = std::mem::take(&mut self.y);
        self.lu.solve(&mut y);
        self.spread(basis, lcp, constants, &y, out);
        self.y = y;
    }

    /// −(constants + Lᵀv⁰) into `y`, the same for the last row, and v⁰ into `v`.
    pub(crate) fn right_side(&mut self, basis: &ContactBasis, lcp: &ContactLcp, v: &mut [f64]) {
        v.copy_from_slice(&basis.base);
        for &g in &basis.slips {
            let constant = basis.constant[basis.at[g] + lcp.groups[g].count];
            if constant != 0.0 {
                add_slip(basis, lcp, g, constant, v);
            }
        }
        self.y.clear();
        for unknown in &basis.unknowns {
            let constant = basis.constant_of(unknown);
            self.y
                .push(-constant - lcp.columns.along(unknown.unit, unknown.left, v));
        }
        let constant = basis.constant_of_last(lcp);
        match basis.last {
            LastRow::Absent => {}
            LastRow::Velocity { unit, share, .. } => {
                self.y
                    .push(0.0 - constant - lcp.columns.along(unit, share, v));
            }
            LastRow::Bound(_) => self.y.push(-constant),
        }
    }

    /// The table of a solution of the kernel, with the constants set; `v` is their part of the velocity before.
    pub(crate) fn spread(
        &mut self,
        basis: &ContactBasis,
        lcp: &ContactLcp,
        constants: Constants,
        y: &[f64],
        out: &mut Table,
    ) {
        let z0 = match basis.last {
            LastRow::Absent => 0.0,
            _ => y[basis.unknowns.len()],
        };
        if z0 != 0.0 {
            for (v, c) in out.v.iter_mut().zip(&self.star) {
                *v += c * z0;
            }
        }
        self.sums.resize(lcp.groups.len(), 0.0);
        for (unknown, &y) in basis.unknowns.iter().zip(y) {
            let share = unknown.right.map(|share| share * y);
            lcp.columns.add(unknown.unit, share, &mut out.v);
            match unknown.what {
                What::Phi(g, _) => self.sums[g] += y,
                What::Free(f) => out.free[f] = y,
                What::Theta(_) => {}
            }
        }
        let Table { pairs, v, .. } = out;
        pairs[0] = z0;
        for (i, normal) in lcp.normals.iter().enumerate() {
            let nu = lcp.columns.dot(normal.unit, v);
            pairs[1 + i] = nu + basis.cover[1 + i] * z0 + basis.constant[1 + i];
        }
        for (unknown, &y) in basis.unknowns.iter().zip(y) {
            if let What::Theta(i) = unknown.what {
                pairs[1 + i] = y;
            }
        }
        for member in &basis.members {
            let [_, v1, v2] = lcp.columns.dots(member.unit, v);
            let (at, start) = (member.at, member.start);
            let (bound, end) = (at + member.count, start + member.count);
            let covered = member.slip * z0;
            let shares = lcp.first[start..end].iter().zip(&lcp.second[start..end]);
            for (row, (a, b)) in pairs[at..bound].iter_mut().zip(shares) {
                *row = a * v1 + b * v2 + covered;
            }
        }
        self.close_groups(basis, constants, z0, pairs);
        basis.overwrite(lcp, y, pairs);
    }

    /// Groups whose rows hold d_jᵀv + c z₀ so far: constants, the slip s that φ_x asks for, what is left of the bound.
    fn close_groups(
        &mut self,
        basis: &ContactBasis,
        constants: Constants,
        z0: f64,
        out: &mut [f64],
    ) {
        let (basic, constant) = (&basis.basic[..], &basis.constant[..]);
        for member in &basis.members {
            let Member {
                group: g,
                at,
                count,
                theta,
                ..
            } = *member;
            let bound = at + count;
            if constants.has(g) {
                for (row, constant) in out[at..bound].iter_mut().zip(&constant[at..bound]) {
                    *row += constant;
                }
            }
            let load = if basic[theta] { out[theta] } else { 0.0 };
            let used = std::mem::take(&mut self.sums[g]);
            let left = constant[bound] + member.bound * z0 + member.mu * load - used;
            let x = basis.x[g];
            if x == NONE {
                out[bound] = left;
                continue;
            }
            let s = -out[at + x];
            match out[at..bound].as_mut_array::<8>() {
                Some(rows) => rows.iter_mut().for_each(|row| *row += s),
                None => out[at..bound].iter_mut().for_each(|row| *row += s),
            }
            out[bound] = s;
            out[at + x] = left;
        }
    }
}

/// Inner product of columns on one body, most of which have six velocities.
#[inline(always)]
fn dot_of_body(left: &[f64], right: &[f64]) -> f64 {
    match (left.as_array::<6>(), right.as_array::<6>()) {
        (Some(left), Some(right)) => dot(left, right),
        _ => dot(left, right),
    }
}

/// v += d_x c of a group that slips.
fn add_slip(basis: &ContactBasis, lcp: &ContactLcp, g: usize, c: f64, v: &mut [f64]) {
    let group = &lcp.groups[g];
    let [a, b] = lcp.directions[group.start + basis.x[g]];
    lcp.columns.add(group.unit, [0.0, c * a, c * b], v);
}
