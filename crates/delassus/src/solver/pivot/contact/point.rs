//! A point of the contact problem and how far it is from a solution.

use crate::solver::pivot::contact::{ContactLcp, NONE};

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
        let sizes = [
            (&mut self.theta, lcp.normals.len()),
            (&mut self.phi, lcp.directions.len()),
            (&mut self.bound, lcp.groups.len()),
            (&mut self.free, lcp.frees.len()),
            (&mut self.v, lcp.columns.dofs),
        ];
        for (list, size) in sizes {
            list.clear();
            list.resize(size, 0.0);
        }
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
            let theta = if group.normal == NONE {
                0.0
            } else {
                self.theta[group.normal]
            };
            let phi = &self.phi[group.range()];
            if theta == 0.0 && group.normal != NONE && are_zero(phi) {
                // s = max(0, −min d_jᵀv) solves the rows of a contact without load.
                continue;
            }
            let used: f64 = phi.iter().sum();
            let [_, v1, v2] = lcp.columns.dots(group.unit, &self.v);
            let s = self.bound[g];
            for (j, &phi) in phi.iter().enumerate() {
                let [a, b] = lcp.directions[group.start + j];
                let sigma = a * v1 + b * v2 + s + lcp.slip[group.start + j];
                see(phi.min(sigma));
            }
            see(s.min(group.mu * theta - used + group.room));
        }
        worst
    }

    /// w of the normals and of the groups that begin at `at` of the table, and the rows of the free multipliers.
    pub(crate) fn rows(
        &mut self,
        lcp: &ContactLcp,
        at: &[usize],
        table: &mut [f64],
        frees: &mut [f64],
    ) {
        self.velocity(lcp);
        for (i, normal) in lcp.normals.iter().enumerate() {
            let nu = lcp.columns.dot(normal.unit, &self.v);
            table[1 + i] = nu + normal.sigma * self.theta[i] + normal.q;
        }
        for (f, free) in lcp.frees.iter().enumerate() {
            let row = lcp.columns.dot(free.unit, &self.v);
            frees[f] = row + free.sigma * self.free[f] + free.q;
        }
        for (g, group) in lcp
            .groups
            .iter()
            .enumerate()
            .filter(|(g, _)| at[*g] != NONE)
        {
            let [_, v1, v2] = lcp.columns.dots(group.unit, &self.v);
            for (j, k) in group.range().enumerate() {
                let [a, b] = lcp.directions[k];
                table[at[g] + j] = a * v1 + b * v2 + self.bound[g] + lcp.slip[k];
            }
            let theta = if group.normal == NONE {
                0.0
            } else {
                self.theta[group.normal]
            };
            let used: f64 = self.phi[group.range()].iter().sum();
            table[at[g] + group.count] = group.mu * theta - used + group.room;
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
