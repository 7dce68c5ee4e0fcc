//! The mass matrix by the composite-rigid-body algorithm, O(n d) for trees of depth d.
//!
//! Source: [Featherstone08 §6.2]. How this differs: world axes about each link's origin, so that a composite
//! inertia moves to its parent by a shift, and all columns of a subtree climb one joint together, by one cross
//! product each: subtrees are contiguous.

use glam::DVec3;

use super::data::{Body, pair};
use super::joint::Kind;
use super::spatial::{Force, Inertia, Motion};
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
            own_columns(node, body, columns);
            // All columns of the subtree are about this origin now: their components along S are entries of M.
            self.fill_rows(node, body, columns, m);
            if node.parent != 0 {
                if !node.concentric {
                    for column in columns {
                        column.torque += body.arm.cross(column.force);
                    }
                }
                let (body, parent) = pair(&mut data.bodies, i, node.parent);
                if node.concentric {
                    parent.composite.add(&body.composite);
                } else {
                    parent.composite.add(&body.composite.shifted(body.arm));
                }
            }
        }
    }

    /// Entries of M between the dofs of a node and the columns of its subtree.
    #[inline]
    fn fill_rows(&self, node: &Node, body: &Body, columns: &[Force], m: &mut [f64]) {
        let (n, row) = (self.n_dofs, node.v_at);
        let entries = columns.iter().zip(&self.dof_of[node.columns.0..]);
        let mut write = |row: usize, dof: usize, value: f64| {
            m[row * n + dof] = value;
            m[dof * n + row] = value;
        };
        let axis = body.rotation.z_axis;
        match node.kind {
            Kind::Turn => {
                entries.for_each(|(column, &dof)| write(row, dof, axis.dot(column.torque)));
            }
            Kind::Slide => {
                entries.for_each(|(column, &dof)| write(row, dof, axis.dot(column.force)));
            }
            Kind::Screw(pitch) => entries.for_each(|(column, &dof)| {
                let along = column.torque + column.force * pitch;
                write(row, dof, axis.dot(along));
            }),
            Kind::Ball | Kind::Free => {
                let back = body.rotation.transpose();
                for (column, &dof) in entries {
                    let torque = back * column.torque;
                    (0..3).for_each(|k| write(row + k, dof, torque[k]));
                    if node.kind == Kind::Free {
                        let force = back * column.force;
                        (0..3).for_each(|k| write(row + 3 + k, dof, force[k]));
                    }
                }
            }
        }
        for k in row..row + node.kind.dofs() {
            m[k * n + k] += node.armature;
        }
    }
}

/// Composite inertia times each column of S.
#[inline]
fn own_columns(node: &Node, body: &Body, columns: &mut [Force]) {
    let Inertia {
        mass,
        first,
        second,
    } = body.composite;
    let turn = |axis: DVec3| Force {
        torque: second.mul(axis),
        force: axis.cross(first),
    };
    let slide = |axis: DVec3| Force {
        torque: first.cross(axis),
        force: axis * mass,
    };
    let r = &body.rotation;
    match node.kind {
        Kind::Turn => columns[0] = turn(r.z_axis),
        Kind::Slide => columns[0] = slide(r.z_axis),
        Kind::Screw(pitch) => {
            columns[0] = body.composite.mul(Motion {
                angular: r.z_axis,
                linear: r.z_axis * pitch,
            });
        }
        Kind::Ball | Kind::Free => {
            for (column, axis) in columns.iter_mut().zip([r.x_axis, r.y_axis, r.z_axis]) {
                *column = turn(axis);
            }
            if node.kind == Kind::Free {
                let slides = columns[3..].iter_mut();
                for (column, axis) in slides.zip([r.x_axis, r.y_axis, r.z_axis]) {
                    *column = slide(axis);
                }
            }
        }
    }
}
