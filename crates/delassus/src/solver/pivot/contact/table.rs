//! From the kernel of a basis to the table of all pairs: solve, then one pass over the contacts.

use crate::solver::pivot::contact::basis::{Constants, Last, Member, Partition, What};
use crate::solver::pivot::contact::one_body::Solve;
use crate::solver::pivot::contact::point::Point;
use crate::solver::pivot::contact::{ContactLcp, NONE};

impl Partition {
    /// Solves with the constants set; they are left as they are. `out` gets the basic variable of every pair
    /// (zero for the pair r), z₀ at index 0; `v` and `free` the velocity and the free multipliers.
    pub(crate) fn solve(
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
        self.right_side(lcp, v);
        let mut y = std::mem::take(&mut self.y);
        if self.by_bodies {
            let b = std::mem::replace(&mut self.rhs, y);
            y = b;
            self.begin(&mut y);
            self.bodies.solve(lcp, &self.unknowns, &self.rhs, &mut y);
        } else {
            self.kernel.solve(&mut y);
        }
        self.spread(lcp, constants, &y, (out, v, free));
        self.y = y;
    }

    /// The table of a solution of the kernel, with the constants set; `v` is their part of the velocity before.
    pub(crate) fn spread(
        &mut self,
        lcp: &ContactLcp,
        constants: Constants,
        y: &[f64],
        (out, v, free): (&mut [f64], &mut [f64], &mut [f64]),
    ) {
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
        for (unknown, &y) in self.unknowns.iter().zip(y) {
            let share = unknown.right.map(|share| share * y);
            lcp.columns.add(unknown.unit, share, v);
            match unknown.what {
                What::Phi(g, _) => self.sums[g] += y,
                What::Free(f) => free[f] = y,
                What::Theta(_) => {}
            }
        }
        self.rows(lcp, constants, z0, (y, v), out);
    }

    /// Where corrections start: at the table of another point, or at zero.
    pub(crate) fn begin(&self, y: &mut Vec<f64>) {
        let start = |what| match what {
            What::Theta(i) => self.start.get(1 + i),
            What::Phi(g, j) => self.start.get(self.at[g] + j),
            What::Free(f) => self.free_start.get(f),
        };
        let values = self.unknowns.iter().map(|unknown| start(unknown.what));
        y.clear();
        y.extend(values.map(|value| value.copied().unwrap_or(0.0)));
    }

    /// Constant part of the row of an unknown.
    #[inline]
    pub(crate) fn constant_of(&self, lcp: &ContactLcp, what: What) -> f64 {
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

    /// −(constants + Lᵀv⁰) into `y`, the same for the last row, and v⁰ into `v`.
    pub(crate) fn right_side(&mut self, lcp: &ContactLcp, v: &mut [f64]) {
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
    pub(crate) fn close_groups(&mut self, constants: Constants, z0: f64, out: &mut [f64]) {
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
            if constants.has(g) {
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
    pub(crate) fn overwrite(&self, lcp: &ContactLcp, y: &[f64], out: &mut [f64]) {
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

/// (Σ share_i row_i)ᵀ v.
#[inline]
pub(crate) fn along(lcp: &ContactLcp, unit: usize, share: [f64; 3], v: &[f64]) -> f64 {
    let dots = lcp.columns.dots(unit, v);
    share[0] * dots[0] + share[1] * dots[1] + share[2] * dots[2]
}
