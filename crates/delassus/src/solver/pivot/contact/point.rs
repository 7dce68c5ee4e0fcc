//! A point of the contact problem and how far it is from a solution.
//!
//! ```text
//! residual = max |min(z, w)|      over the pairs (θ, ν), (φ, σ), (s, γ), and |w| of free rows           [Lemke05 (8)]
//! ```
//!
//! w is computed from the columns and not from the kernel, so that an answer is judged by other sums than those that
//! found it.

use super::basis::{ContactBasis, refill};
use super::{ContactLcp, Group, NONE};

/// The z-part of the complementarity problem, scaled, and the velocity it makes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Point {
    pub(crate) theta: Vec<f64>,
    pub(crate) phi: Vec<f64>,
    pub(crate) bound: Vec<f64>,
    pub(crate) free: Vec<f64>,
    v: Vec<f64>,
}

impl Point {
    /// No impulses.
    pub(crate) fn reset(&mut self, lcp: &ContactLcp) {
        refill(&mut self.theta, lcp.normals.len(), 0.0);
        refill(&mut self.phi, lcp.directions.len(), 0.0);
        refill(&mut self.bound, lcp.groups.len(), 0.0);
        refill(&mut self.free, lcp.frees.len(), 0.0);
        refill(&mut self.v, lcp.columns.dofs, 0.0);
    }

    /// The largest entry of min(z, w) in scaled units; infinite if a number is not finite. Contacts without load
    /// get the slip bound that fits them first: it acts on nothing, and a method that never looked at their
    /// friction does not know it.
    pub(crate) fn residual(&mut self, lcp: &ContactLcp) -> f64 {
        self.velocity(lcp);
        let mut worst: f64 = 0.0;
        let mut see = |x: f64| {
            worst = if x.is_nan() {
                f64::INFINITY
            } else {
                worst.max(x.abs())
            }
        };
        for (normal, &theta) in lcp.normals.iter().zip(&self.theta) {
            let nu = lcp.columns.dot(normal.unit, &self.v) + normal.sigma * theta + normal.q;
            see(theta.min(nu));
        }
        for (free, &lambda) in lcp.frees.iter().zip(&self.free) {
            see(lcp.columns.dot(free.unit, &self.v) + free.sigma * lambda + free.q);
        }
        for (g, group) in lcp.groups.iter().enumerate() {
            let theta = self.load(group);
            let phi = &self.phi[group.range()];
            if theta == 0.0 && group.normal != NONE && are_zero(phi) {
                // s = max(0, −min d_jᵀv) solves the rows of a contact without load.
                continue;
            }
            let [_, v1, v2] = lcp.columns.dots(group.unit, &self.v);
            let s = self.bound[g];
            for (j, &phi) in phi.iter().enumerate() {
                let [a, b] = lcp.directions[group.start + j];
                let sigma = a * v1 + b * v2 + s + lcp.slip[group.start + j];
                see(phi.min(sigma));
            }
            see(s.min(self.friction_left(group)));
        }
        worst
    }

    /// w of the normals and of the groups that take part, and the rows of the free multipliers, as constants of a
    /// basis.
    pub(crate) fn rows(&mut self, lcp: &ContactLcp, basis: &mut ContactBasis) {
        self.velocity(lcp);
        for (i, normal) in lcp.normals.iter().enumerate() {
            let nu = lcp.columns.dot(normal.unit, &self.v);
            basis.constant[1 + i] = nu + normal.sigma * self.theta[i] + normal.q;
        }
        for (f, free) in lcp.frees.iter().enumerate() {
            let row = lcp.columns.dot(free.unit, &self.v);
            basis.free_constant[f] = row + free.sigma * self.free[f] + free.q;
        }
        for member in &basis.members {
            let (at, group) = (member.at, &lcp.groups[member.group]);
            let s = self.bound[member.group];
            let [_, v1, v2] = lcp.columns.dots(group.unit, &self.v);
            for (j, k) in group.range().enumerate() {
                let [a, b] = lcp.directions[k];
                basis.constant[at + j] = a * v1 + b * v2 + s + lcp.slip[k];
            }
            basis.constant[at + group.count] = self.friction_left(group);
        }
    }

    /// γ = μθ − Σφ + r of a group.
    fn friction_left(&self, group: &Group) -> f64 {
        let used: f64 = self.phi[group.range()].iter().sum();
        group.mu * self.load(group) - used + group.room
    }

    /// θ of the normal that bounds a group.
    fn load(&self, group: &Group) -> f64 {
        match group.normal {
            NONE => 0.0,
            i => self.theta[i],
        }
    }

    /// v = Nθ + Dφ + Bλ.
    fn velocity(&mut self, lcp: &ContactLcp) {
        self.v.fill(0.0);
        for (normal, &theta) in lcp.normals.iter().zip(&self.theta) {
            if theta != 0.0 {
                lcp.columns.add(normal.unit, [theta, 0.0, 0.0], &mut self.v);
            }
        }
        for (free, &lambda) in lcp.frees.iter().zip(&self.free) {
            lcp.columns.add(free.unit, [lambda, 0.0, 0.0], &mut self.v);
        }
        for group in &lcp.groups {
            let phi = &self.phi[group.range()];
            if are_zero(phi) {
                continue;
            }
            let mut share = [0.0; 3];
            for (&phi, [a, b]) in phi.iter().zip(&lcp.directions[group.range()]) {
                share[1] += a * phi;
                share[2] += b * phi;
            }
            if share[1] != 0.0 || share[2] != 0.0 {
                lcp.columns.add(group.unit, share, &mut self.v);
            }
        }
    }
}

/// Whether all are zero, looked at together: in most groups they are.
pub(crate) fn are_zero(list: &[f64]) -> bool {
    list.iter().fold(0, |bits, x| bits | x.to_bits()) == 0
}
