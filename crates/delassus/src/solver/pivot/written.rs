//! A contact problem written out, for methods that need the matrix and to check those that do not.

use super::contact::{ContactLcp, NONE};
use super::point::Point;

impl ContactLcp {
    /// The same problem written out: M (row-major) and q of w = Mz + q, and the number of free rows, which come
    /// last. Pairs stand in the order normals, then directions and bound of every group. For methods that need
    /// the matrix, and to check those that do not.
    pub fn dense(&self) -> (Vec<f64>, Vec<f64>, usize) {
        let pairs = self.n_pairs();
        let n = pairs + self.frees.len();
        let mut columns = vec![vec![0.0; self.columns.dofs]; n];
        let (mut m, mut q) = (vec![0.0; n * n], vec![0.0; n]);
        for (i, normal) in self.normals.iter().enumerate() {
            self.columns
                .add(normal.unit, [1.0, 0.0, 0.0], &mut columns[i]);
            m[i * n + i] = normal.sigma;
            q[i] = normal.q;
        }
        let mut at = self.normals.len();
        for group in &self.groups {
            let bound = at + group.count;
            for j in group.range() {
                let [a, b] = self.directions[j];
                self.columns.add(group.unit, [0.0, a, b], &mut columns[at]);
                m[at * n + bound] = 1.0;
                m[bound * n + at] = -1.0;
                q[at] = self.slip[j];
                at += 1;
            }
            if group.normal != NONE {
                m[bound * n + group.normal] = group.mu;
            }
            q[bound] = group.room;
            at = bound + 1;
        }
        for (f, free) in self.frees.iter().enumerate() {
            let f = pairs + f;
            self.columns
                .add(free.unit, [1.0, 0.0, 0.0], &mut columns[f]);
            m[f * n + f] = free.sigma;
            q[f] = free.q;
        }
        for (i, left) in columns.iter().enumerate() {
            for (j, right) in columns.iter().enumerate() {
                m[i * n + j] += crate::math::dot(left, right);
            }
        }
        (m, q, self.frees.len())
    }

    /// Impulses from the z-part of the problem that [`ContactLcp::dense`] writes out, into the rows of the blocks.
    pub fn impulses_of(&self, z: &[f64], lambda: &mut [f64]) {
        let mut point = Point::default();
        point.reset(self);
        let mut z = z.iter().copied();
        for theta in &mut point.theta {
            *theta = z.next().unwrap_or(0.0);
        }
        for (g, group) in self.groups.iter().enumerate() {
            for phi in &mut point.phi[group.range()] {
                *phi = z.next().unwrap_or(0.0);
            }
            point.bound[g] = z.next().unwrap_or(0.0);
        }
        for free in &mut point.free {
            *free = z.next().unwrap_or(0.0);
        }
        self.impulses(&point, lambda);
    }
}
