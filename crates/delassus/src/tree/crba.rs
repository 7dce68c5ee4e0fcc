//! The mass matrix by the composite-rigid-body algorithm, O(n d) for trees of depth d.
//!
//! Source: [Featherstone08 §6.2]. How this differs: world axes about each link's origin, so that a composite
//! inertia moves to its parent by a shift and a column climbs the tree by one cross product per joint.

use super::data::pair;
use super::kinematics::subspace;
use super::{Data, Tree, TreeError};

impl Tree {
    /// M(q), row-major.
    pub fn mass_matrix(&self, data: &mut Data, q: &[f64], m: &mut [f64]) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.check_length("mass matrix", m, self.n_dofs * self.n_dofs)?;
        self.place_nodes(q, data);
        self.fill_mass_matrix(data, m);
        Ok(())
    }

    /// M for the present poses.
    pub(super) fn fill_mass_matrix(&self, data: &mut Data, m: &mut [f64]) {
        let n = self.n_dofs;
        m.fill(0.0);
        for i in (1..self.nodes.len()).rev() {
            let node = &self.nodes[i];
            for k in 0..node.kind.dofs() {
                let body = &data.bodies[i];
                let row = node.v_at + k;
                // The force that accelerates the whole subtree along S alone, carried towards the ground.
                let mut force = body.inertia.mul(subspace(node.kind, body, k));
                m[row * n + row] = force.power(subspace(node.kind, body, k)) + node.armature;
                for j in 0..k {
                    let entry = force.power(subspace(node.kind, body, j));
                    m[row * n + node.v_at + j] = entry;
                    m[(node.v_at + j) * n + row] = entry;
                }
                let mut at = i;
                loop {
                    force = force.from(data.bodies[at].arm);
                    at = self.nodes[at].parent;
                    if at == 0 {
                        break;
                    }
                    let (above, body) = (&self.nodes[at], &data.bodies[at]);
                    for j in 0..above.kind.dofs() {
                        let entry = force.power(subspace(above.kind, body, j));
                        m[row * n + above.v_at + j] = entry;
                        m[(above.v_at + j) * n + row] = entry;
                    }
                }
            }
            let (body, parent) = pair(&mut data.bodies, i, node.parent);
            parent.inertia.add(&body.inertia.shifted(body.arm));
        }
        self.restore_inertias(data);
    }

    /// Composite inertias are built in place; this takes the children out again.
    fn restore_inertias(&self, data: &mut Data) {
        for (node, body) in self.nodes.iter().zip(&mut data.bodies) {
            body.inertia = node.inertia.turned(&body.rotation);
        }
    }
}
