//! The mass matrix by the composite-rigid-body algorithm, O(n d) for trees of depth d.
//!
//! Source: [Featherstone08 §6.2]. How this differs: world axes about each link's origin, so that a composite
//! inertia moves to its parent by a shift, and all columns of a subtree climb one joint together, by one cross
//! product each: subtrees are contiguous.

use glam::DVec3;

use super::data::{Body, pair};
use super::kinematics::subspace;
use super::spatial::Force;
use super::{Data, Node, Tree, TreeError};

impl Tree {
    /// M(q), row-major.
    pub fn mass_matrix(&self, data: &mut Data, q: &[f64], m: &mut [f64]) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.check_length("mass matrix", m, self.n_dofs * self.n_dofs)?;
        self.place_nodes(q, data);
        self.fill_mass_matrix(data, m);
        Ok(())
    }

    /// M for the present poses; `m` has room for it.
    pub(crate) fn fill_mass_matrix(&self, data: &mut Data, m: &mut [f64]) {
        m.fill(0.0);
        for body in &mut data.bodies {
            body.composite = body.inertia;
        }
        for i in (1..self.nodes.len()).rev() {
            let node = &self.nodes[i];
            let body = &data.bodies[i];
            let columns = &mut data.columns[node.columns.0..node.columns.1];
            // Forces that accelerate the whole subtree along each column of S.
            for k in 0..node.kind.dofs() {
                columns[k] = body.composite.mul(subspace(node.kind, body, k));
            }
            // All columns of the subtree are about this origin now: their components along S are entries of M.
            self.fill_rows(node, body, columns, m);
            if node.parent != 0 {
                for column in columns {
                    *column = column.from(body.arm);
                }
                let (body, parent) = pair(&mut data.bodies, i, node.parent);
                parent.composite.add(&body.composite.shifted(body.arm));
            }
        }
    }

    /// Entries of M between the dofs of a node and the columns of its subtree.
    #[inline]
    fn fill_rows(&self, node: &Node, body: &Body, columns: &[Force], m: &mut [f64]) {
        let n = self.n_dofs;
        let dofs = &self.dof_of[node.columns.0..node.columns.1];
        for k in 0..node.kind.dofs() {
            let row = node.v_at + k;
            let mut write = |dof: usize, value: f64| {
                m[row * n + dof] = value;
                m[dof * n + row] = value;
            };
            let along = subspace(node.kind, body, k);
            if along.linear == DVec3::ZERO {
                for (column, &dof) in columns.iter().zip(dofs) {
                    write(dof, column.torque.dot(along.angular));
                }
            } else {
                for (column, &dof) in columns.iter().zip(dofs) {
                    write(dof, column.power(along));
                }
            }
            m[row * n + row] += node.armature;
        }
    }
}
