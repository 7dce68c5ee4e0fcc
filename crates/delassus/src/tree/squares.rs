//! Σ JᵀA J over the links of a tree, by composites as in the mass matrix, O(n d) for trees of depth d.
//!
//! ```text
//! A_i about the origin of joint i: motion of its link to force on it, of any kind, not only symmetric
//! A_C = A_i + Σ_children X A_C Xᵀ           X: force about the origin of the child, carried to that of its parent
//! Σ JᵀA J = [S_iᵀ A_C S_j]                  A_C of whichever of i and j is farther from the ground
//! ```
//!
//! With A = I this is the mass matrix; with what contacts of the links do to each other's velocities it is how they
//! appear in the systems of second-order solvers, at a cost that does not grow with the number of contacts.

use glam::DVec3;

use super::kinematics::subspace;
use super::spatial::{Force, Motion};
use super::{Data, Tree};

/// Motion of a link to force on it, about the origin of the joint that carries it: the forces of a unit of angular
/// velocity about x, y and z and of a unit of linear velocity along them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LinkSquare([Force; 6]);

impl Default for LinkSquare {
    fn default() -> LinkSquare {
        LinkSquare([Force::ZERO; 6])
    }
}

impl LinkSquare {
    /// A ← A + Σ f_i a_ij f_jᵀ for forces about the origin of the joint; `a` is row-major.
    pub(crate) fn add_product(&mut self, forces: &[Force], a: &[f64]) {
        let n = forces.len();
        for (j, second) in forces.iter().enumerate() {
            let mut first = Force::ZERO;
            for (i, force) in forces.iter().enumerate() {
                first += *force * a[i * n + j];
            }
            let by = second.torque.to_array().into_iter();
            for (column, by) in self.0.iter_mut().zip(by.chain(second.force.to_array())) {
                *column += first * by;
            }
        }
    }

    /// A s.
    fn mul(&self, s: Motion) -> Force {
        let [a, b, c, d, e, f] = self.0;
        let mut force = a * s.angular.x;
        force += b * s.angular.y;
        force += c * s.angular.z;
        force += d * s.linear.x;
        force += e * s.linear.y;
        force += f * s.linear.z;
        force
    }

    /// Aᵀs.
    fn mul_transposed(&self, s: Motion) -> Force {
        let by = self.0.map(|column| column.power(s));
        Force {
            torque: DVec3::new(by[0], by[1], by[2]),
            force: DVec3::new(by[3], by[4], by[5]),
        }
    }

    /// A ← A + X B Xᵀ, B being about a point at `arm`.
    fn add_carried(&mut self, other: &LinkSquare, arm: DVec3) {
        // Turning about the near origin moves the far one: v = ω × arm.
        for (k, axis) in DVec3::AXES.into_iter().enumerate() {
            let moved = Motion {
                angular: axis,
                linear: axis.cross(arm),
            };
            self.0[k] += other.mul(moved).from(arm);
            self.0[3 + k] += other.0[3 + k].from(arm);
        }
    }
}

impl Tree {
    /// K ← K + Σ JᵀA J over all joints, row-major; `squares`, one for each joint counted from 0, become their
    /// composites.
    pub(crate) fn add_squares(&self, data: &Data, squares: &mut [LinkSquare], k: &mut [f64]) {
        let n = self.n_dofs;
        for i in (1..self.nodes.len()).rev() {
            let (node, body) = (&self.nodes[i], &data.bodies[i]);
            let composite = squares[i - 1];
            if composite == LinkSquare::default() {
                continue;
            }
            for own in 0..node.kind.dofs() {
                let s = subspace(node.kind, body, own);
                let column = node.v_at + own;
                // Forces of this column, and those of this row, on their way to the ground.
                let (mut down, mut across) = (composite.mul(s), composite.mul_transposed(s));
                for other in 0..node.kind.dofs() {
                    let row = node.v_at + other;
                    k[row * n + column] += down.power(subspace(node.kind, body, other));
                }
                let mut at = i;
                while self.nodes[at].parent != 0 {
                    let (node, body) = (&self.nodes[at], &data.bodies[at]);
                    (down, across) = (node.handed(body, down), node.handed(body, across));
                    at = node.parent;
                    let (node, body) = (&self.nodes[at], &data.bodies[at]);
                    for other in 0..node.kind.dofs() {
                        let (row, s) = (node.v_at + other, subspace(node.kind, body, other));
                        k[row * n + column] += down.power(s);
                        k[column * n + row] += across.power(s);
                    }
                }
            }
            if let Some(before) = node.parent.checked_sub(1) {
                let arm = if node.concentric {
                    DVec3::ZERO
                } else {
                    body.arm
                };
                squares[before].add_carried(&composite, arm);
            }
        }
    }
}
