//! A point of the contact problem and how far it is from a solution.

use super::contact::{ContactLcp, NONE};

/// The z-part of the complementarity problem, scaled, and the velocity it makes.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    pub(super) theta: Vec<f64>,
    pub(super) phi: Vec<f64>,
    pub(super) bound: Vec<f64>,
    pub(super) free: Vec<f64>,
    v: Vec<f64>,
}

impl Point {
    /// No impulses.
    pub(super) fn reset(&mut self, lcp: &ContactLcp) {
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
    pub(super) fn residual(&mut self, lcp: &ContactLcp) -> f64 {
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
            let used: f64 = phi.iter().sum();
            if used == 0.0 && theta == 0.0 && group.normal != NONE {
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
            see(s.min(group.mu * theta - used + group.room));
        }
        worst
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
            let mut share = [0.0; 3];
            for (&phi, [a, b]) in self.phi[group.range()]
                .iter()
                .zip(&lcp.directions[group.range()])
            {
                share[1] += a * phi;
                share[2] += b * phi;
            }
            if share[1] != 0.0 || share[2] != 0.0 {
                lcp.columns.add(group.unit, share, &mut self.v);
            }
        }
    }
}
