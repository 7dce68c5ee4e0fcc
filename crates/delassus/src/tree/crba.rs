//! The mass matrix by the composite-rigid-body algorithm, O(n d) for trees of depth d.
//!
//! Source: [Featherstone08 §6.2]. How this differs: world axes about each link's origin, so that a composite
//! inertia moves to its parent by a shift, and all columns of a subtree climb one joint together, by one cross
//! product each: subtrees are contiguous.

use glam::DVec3;

use super::data::Body;
use super::joint::ElementaryJoint;
use super::spatial::{Force, Inertia, Motion};
use super::{Data, Node, Tree, TreeError};

/// Room for the columns of M on their way to the ground.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns {
    /// What children have left to each node, except the one that comes next to it.
    composites: Vec<Inertia>,
    /// The force of each column; dofs counted depth-first.
    forces: Vec<Force>,
}

impl Columns {
    pub(super) fn new(tree: &Tree) -> Columns {
        Columns {
            composites: vec![Inertia::default(); tree.nodes.len()],
            forces: vec![Force::ZERO; tree.n_dofs],
        }
    }
}

impl Tree {
    /// M(q), row-major.
    pub fn mass_matrix(&self, data: &mut Data, q: &[f64], m: &mut [f64]) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.check_length("mass matrix", m, self.n_dofs * self.n_dofs)?;
        self.place_nodes(q, data);
        m.fill(0.0);
        self.fill_mass_matrix(data, m);
        Ok(())
    }

    /// M for the present poses, over zeros or over the same tree's M of other poses: between two branches it is zero and
    /// not written.
    pub(crate) fn fill_mass_matrix(&self, data: &mut Data, m: &mut [f64]) {
        let Columns { composites, forces } = &mut data.columns;
        // What the last node leaves goes straight to the next where that is its parent, not through memory.
        let mut carried = Inertia::default();
        for (i, node) in self.nodes.iter().enumerate().skip(1).rev() {
            // Whoever takes what is there leaves nothing, as the next call wants it.
            let (body, mut composite) = (&data.bodies[i], std::mem::take(&mut composites[i]));
            composite.add(&body.inertia);
            composite.add(&carried);
            let columns = &mut forces[node.columns.0..node.columns.1];
            // F = I_C S: forces that accelerate the whole subtree along each column of S.
            own_columns(node, body, &composite, columns);
            // M_ij = S_iᵀF_j: all columns of the subtree are about this origin now.
            self.fill_rows(node, body, columns, m);
            carried = Inertia::default();
            if node.parent != 0 {
                if !node.concentric {
                    // I_C of the parent gets X I_C Xᵀ, and F becomes X F: τ + r × f
                    composite = composite.shifted(body.arm);
                    for column in columns {
                        column.torque += body.arm.cross(column.force);
                    }
                }
                if node.parent + 1 == i {
                    carried = composite;
                } else {
                    composites[node.parent].add(&composite);
                }
            }
        }
    }

    /// Entries of M between the dofs of a node and the columns of its subtree.
    #[inline]
    fn fill_rows(&self, node: &Node, body: &Body, columns: &[Force], m: &mut [f64]) {
        let axis = body.rotation.z_axis;
        match node.kind {
            ElementaryJoint::Turn => self.fill_row(node, columns, m, |f| axis.dot(f.torque)),
            ElementaryJoint::Slide => self.fill_row(node, columns, m, |f| axis.dot(f.force)),
            ElementaryJoint::Screw(pitch) => self.fill_row(node, columns, m, |f| {
                axis.dot(f.torque) + pitch * axis.dot(f.force)
            }),
            ElementaryJoint::Ball => self.fill_block(node, columns, m, |f| {
                (body.rotation.transpose() * f.torque).to_array()
            }),
            ElementaryJoint::Free => self.fill_block(node, columns, m, |f| {
                let back = body.rotation.transpose();
                let (torque, force) = (back * f.torque, back * f.force);
                [torque.x, torque.y, torque.z, force.x, force.y, force.z]
            }),
        }
    }

    /// The row of a node with one dof, and the column that mirrors it.
    #[inline(always)]
    fn fill_row(
        &self,
        node: &Node,
        columns: &[Force],
        m: &mut [f64],
        entry: impl Fn(&Force) -> f64,
    ) {
        let (n, row) = (self.n_dofs, node.v_at);
        if self.ordered {
            let (until, below) = m.split_at_mut((row + 1) * n);
            // Rows and columns follow each other as those of the subtree do.
            let mut entries = columns.iter().zip(&mut until[row * (n + 1)..]);
            if let Some((own, to)) = entries.next() {
                *to = entry(own) + node.armature;
            }
            for ((column, to), line) in entries.zip(below.chunks_exact_mut(n)) {
                let value = entry(column);
                *to = value;
                line[row] = value;
            }
            return;
        }
        for (column, &dof) in columns.iter().zip(&self.dof_of[node.columns.0..]) {
            let value = entry(column);
            m[row * n + dof] = value;
            m[dof * n + row] = value;
        }
        m[row * (n + 1)] += node.armature;
    }

    /// The rows of a node with several dofs, and the columns that mirror them.
    #[inline(always)]
    fn fill_block<const N: usize>(
        &self,
        node: &Node,
        columns: &[Force],
        m: &mut [f64],
        entries: impl Fn(&Force) -> [f64; N],
    ) {
        let (n, row) = (self.n_dofs, node.v_at);
        for (column, &dof) in columns.iter().zip(&self.dof_of[node.columns.0..]) {
            let values = entries(column);
            m[dof * n + row..dof * n + row + N].copy_from_slice(&values);
            for (line, value) in m[row * n..].chunks_exact_mut(n).zip(values) {
                line[dof] = value;
            }
        }
        for k in row..row + N {
            m[k * (n + 1)] += node.armature;
        }
    }
}

/// Composite inertia times each column of S.
#[inline(always)]
fn own_columns(node: &Node, body: &Body, composite: &Inertia, columns: &mut [Force]) {
    let turn = |axis: DVec3| Force {
        torque: composite.second.mul(axis),
        force: axis.cross(composite.first),
    };
    let slide = |axis: DVec3| Force {
        torque: composite.first.cross(axis),
        force: axis * composite.mass,
    };
    let r = &body.rotation;
    match node.kind {
        ElementaryJoint::Turn => columns[0] = turn(r.z_axis),
        ElementaryJoint::Slide => columns[0] = slide(r.z_axis),
        ElementaryJoint::Screw(pitch) => {
            columns[0] = composite.mul(Motion {
                angular: r.z_axis,
                linear: r.z_axis * pitch,
            });
        }
        ElementaryJoint::Ball | ElementaryJoint::Free => {
            for (column, axis) in columns.iter_mut().zip([r.x_axis, r.y_axis, r.z_axis]) {
                *column = turn(axis);
            }
            if node.kind == ElementaryJoint::Free {
                let slides = columns[3..].iter_mut();
                for (column, axis) in slides.zip([r.x_axis, r.y_axis, r.z_axis]) {
                    *column = slide(axis);
                }
            }
        }
    }
}
