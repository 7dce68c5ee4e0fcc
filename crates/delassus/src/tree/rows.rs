//! Constraint rows on a tree: each row is a sum of ends, and an end is a force on one link.
//!
//! The row velocity is the power of the ends, Σ φ·v_link, and a multiplier λ acts as the forces λφ: the same
//! numbers give J and Jᵀ. A contact or a loop has ends on two links, with opposite signs; ground needs none.
//! A row on a joint's own velocity (a limit, a motor) is a force on its link and the opposite on the parent.

use glam::DVec3;

use super::data::Data;
use super::joint::ElementaryJoint;
use super::kinematics::subspace;
use super::spatial::Force;
use super::{Tree, TreeError};
use crate::index::LinkId;

/// Rows of a Jacobian J on one tree, for the poses they were made at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeRows {
    n_rows: usize,
    /// Row, node and force, in the order given.
    pub(super) ends: Vec<RowEnd>,
}

/// One end of a row: the force, in world axes about the node's origin, that a unit multiplier exerts there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RowEnd {
    pub(super) row: usize,
    pub(super) node: usize,
    pub(super) force: Force,
}

impl TreeRows {
    /// No rows; memory is kept.
    pub fn clear(&mut self) {
        self.n_rows = 0;
        self.ends.clear();
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.n_rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// Starts a row, which ends are then added to.
    pub fn start(&mut self) {
        self.n_rows += 1;
    }

    fn end(&mut self, node: usize, force: Force) {
        if self.n_rows != 0 && node != 0 {
            let row = self.n_rows - 1;
            self.ends.push(RowEnd { row, node, force });
        }
    }
}

/// Rows on links, as many on each.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkRows {
    links: Vec<LinkId>,
    /// Six numbers a row, link by link.
    numbers: Vec<f64>,
}

impl LinkRows {
    fn clear(&mut self) {
        self.links.clear();
        self.numbers.clear();
    }

    /// Every link with its rows.
    pub(crate) fn each(&self) -> impl Iterator<Item = (LinkId, &[f64])> {
        let width = self.numbers.len() / self.links.len().max(1);
        let rows = self.numbers.chunks_exact(width.max(1));
        self.links.iter().copied().zip(rows)
    }
}

/// A point of the world that moves with a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkPoint {
    /// The link.
    pub link: LinkId,
    /// Where the point is now, in the world \[m\].
    pub point: DVec3,
}

impl LinkPoint {
    /// This point on this link.
    pub const fn new(link: LinkId, point: DVec3) -> LinkPoint {
        LinkPoint { link, point }
    }
}

impl Tree {
    /// Adds direction · (velocity of a point of a link) to the row started last; both in the world.
    pub fn add_linear(
        &self,
        data: &Data,
        rows: &mut TreeRows,
        at: LinkPoint,
        direction: DVec3,
    ) -> Result<(), TreeError> {
        let node = self.seat(at.link)?.node;
        let force = Force {
            torque: DVec3::ZERO,
            force: direction,
        };
        rows.end(node, force.from(at.point - data.bodies[node].origin));
        Ok(())
    }

    /// Adds three rows: the velocity of a point of one link against that of a point of another, along the axes of the world.
    pub(crate) fn add_meeting(
        &self,
        data: &Data,
        rows: &mut TreeRows,
        ends: [(Option<LinkId>, DVec3); 2],
    ) -> Result<(), TreeError> {
        let mut arms = [(0, DVec3::ZERO); 2];
        for ((link, point), arm) in ends.into_iter().zip(&mut arms) {
            if let Some(link) = link {
                let node = self.seat(link)?.node;
                *arm = (node, point - data.bodies[node].origin);
            }
        }
        for axis in DVec3::AXES {
            rows.start();
            for ((node, arm), force) in arms.into_iter().zip([axis, -axis]) {
                let torque = arm.cross(force);
                rows.end(node, Force { torque, force });
            }
        }
        Ok(())
    }

    /// Adds direction · (angular velocity of a link) to the row started last.
    pub fn add_angular(
        &self,
        rows: &mut TreeRows,
        link: LinkId,
        direction: DVec3,
    ) -> Result<(), TreeError> {
        let force = Force {
            torque: direction,
            force: DVec3::ZERO,
        };
        rows.end(self.seat(link)?.node, force);
        Ok(())
    }

    /// Adds the power of a force about the centre of mass of a link of this tree to the row started last.
    pub(crate) fn add_at_centre(
        &self,
        data: &Data,
        rows: &mut TreeRows,
        link: LinkId,
        force: Force,
    ) {
        let node = self.seats[link.index()].node;
        let arm = self.centre(data, link) - data.bodies[node].origin;
        rows.end(node, force.from(arm));
    }

    /// Adds factor · v\[dof\] to the row started last.
    pub fn add_dof(
        &self,
        data: &Data,
        rows: &mut TreeRows,
        dof: usize,
        factor: f64,
    ) -> Result<(), TreeError> {
        let owner = (1..self.nodes.len()).find(|&i| {
            let node = &self.nodes[i];
            (node.v_at..node.v_at + node.kind.dofs()).contains(&dof)
        });
        let Some(i) = owner else {
            return Err(TreeError::WrongLength {
                what: "velocity of the row",
                expected: self.n_dofs,
                found: dof,
            });
        };
        let (node, body) = (&self.nodes[i], &data.bodies[i]);
        // Columns of S are orthonormal but for the screw's, whose turn alone measures the rate.
        let along = subspace(node.kind, body, dof - node.v_at);
        let force = match node.kind {
            ElementaryJoint::Screw(_) => Force {
                torque: along.angular * factor,
                force: DVec3::ZERO,
            },
            _ => Force {
                torque: along.angular * factor,
                force: along.linear * factor,
            },
        };
        rows.end(i, force);
        rows.end(node.parent, force.from(body.arm) * -1.0);
        Ok(())
    }

    /// J, row-major: one row of [`Tree::n_dofs`] numbers for each row.
    pub fn rows_matrix(&self, data: &Data, rows: &TreeRows) -> Vec<f64> {
        let mut j = Vec::new();
        self.write_rows(data, rows, &mut j);
        j
    }

    /// The same over older numbers.
    pub(crate) fn write_rows(&self, data: &Data, rows: &TreeRows, j: &mut Vec<f64>) {
        let n = self.n_dofs;
        j.clear();
        j.resize(rows.n_rows * n, 0.0);
        for end in &rows.ends {
            let (mut i, mut force) = (end.node, end.force);
            while i != 0 {
                let (node, body) = (&self.nodes[i], &data.bodies[i]);
                for k in 0..node.kind.dofs() {
                    let entry = force.power(subspace(node.kind, body, k));
                    j[end.row * n + node.v_at + k] += entry;
                }
                force = force.from(body.arm);
                i = node.parent;
            }
        }
    }

    /// The given rows as rows on the links they act on, six numbers each: force and torque about the link's centre of
    /// mass, in world axes. Links come in the order in which the rows name them.
    pub(crate) fn rows_on_links(
        &self,
        data: &Data,
        rows: &TreeRows,
        keep: &[usize],
    ) -> Vec<(LinkId, Vec<f64>)> {
        let mut on = LinkRows::default();
        self.write_link_rows(data, rows, keep, &mut on);
        let each = on.each();
        each.map(|(link, rows)| (link, rows.to_vec())).collect()
    }

    /// The same over older numbers.
    pub(crate) fn write_link_rows(
        &self,
        data: &Data,
        rows: &TreeRows,
        keep: &[usize],
        on: &mut LinkRows,
    ) {
        on.clear();
        let width = 6 * keep.len();
        for end in &rows.ends {
            let Ok(row) = keep.binary_search(&end.row) else {
                continue;
            };
            let link = LinkId(self.nodes[end.node].link as u32);
            let known = on.links.iter().position(|other| *other == link);
            let at = known.unwrap_or_else(|| {
                on.links.push(link);
                on.numbers.resize(on.links.len() * width, 0.0);
                on.links.len() - 1
            });
            // From the node's origin to the centre of the link that it carries.
            let arm = data.bodies[end.node].origin - self.centre(data, link);
            let Force { torque, force } = end.force.from(arm);
            let numbers = force.to_array().into_iter().chain(torque.to_array());
            let sums = on.numbers[at * width + 6 * row..].iter_mut();
            sums.zip(numbers).for_each(|(sum, x)| *sum += x);
        }
    }

    /// J v for the velocities of the last recursion that took one.
    pub fn row_velocities(&self, data: &Data, rows: &TreeRows, out: &mut [f64]) {
        out.fill(0.0);
        for end in &rows.ends {
            if let Some(out) = out.get_mut(end.row) {
                *out += end.force.power(data.bodies[end.node].velocity);
            }
        }
    }

    /// x = M⁻¹(τ + Jᵀf), and w = J x.   [KKT ①②④], with f acting on the links
    pub fn respond_to_rows(
        &self,
        data: &mut Data,
        rows: &TreeRows,
        (tau, f): (&[f64], &[f64]),
        (x, w): (&mut [f64], &mut [f64]),
    ) -> Result<(), TreeError> {
        self.check_length("force", tau, self.n_dofs)?;
        self.check_length("solution", x, self.n_dofs)?;
        self.check_length("multipliers", f, rows.n_rows)?;
        self.check_length("row velocities", w, rows.n_rows)?;
        if !data.factored {
            self.factor_placed(data)?;
        }
        for pass in &mut data.passes {
            pass.force = Force::ZERO;
        }
        for end in &rows.ends {
            data.passes[end.node].force += end.force * -f[end.row];
        }
        self.pass_forces(data, tau);
        self.respond(data, x);
        self.row_responses(data, rows, w);
        Ok(())
    }

    fn row_responses(&self, data: &Data, rows: &TreeRows, w: &mut [f64]) {
        w.fill(0.0);
        for end in &rows.ends {
            w[end.row] += end.force.power(data.passes[end.node].response);
        }
    }

    /// w = J M⁻¹τ, with x as work space. Forces stay at the joints, for [`Tree::respond_with_rows`].   [KKT ①]
    pub(crate) fn respond_at_rows(
        &self,
        data: &mut Data,
        rows: &TreeRows,
        tau: &[f64],
        (x, w): (&mut [f64], &mut [f64]),
    ) -> Result<(), TreeError> {
        self.check_length("force", tau, self.n_dofs)?;
        self.check_length("solution", x, self.n_dofs)?;
        self.check_length("row velocities", w, rows.n_rows)?;
        if !data.factored {
            self.factor_placed(data)?;
        }
        // Only links that rows act through need to be asked for their motion.
        data.marked.fill(false);
        for end in &rows.ends {
            data.marked[end.node] = true;
        }
        for i in (1..self.nodes.len()).rev() {
            if data.marked[i] {
                data.marked[self.nodes[i].parent] = true;
            }
        }
        for pass in &mut data.passes {
            pass.force = Force::ZERO;
        }
        self.pass_forces(data, tau);
        self.respond_marked(data, x);
        self.row_responses(data, rows, w);
        Ok(())
    }

    /// x = M⁻¹(τ + Jᵀf) with τ and rows as of [`Tree::respond_at_rows`].   [KKT ④]
    pub(crate) fn respond_with_rows(
        &self,
        data: &mut Data,
        rows: &TreeRows,
        f: &[f64],
        x: &mut [f64],
    ) {
        // What is passed on is linear: only what the rows add has to climb, and only from their links.
        data.extra.fill(Force::ZERO);
        for end in &rows.ends {
            data.extra[end.node] += end.force * -f[end.row];
        }
        self.pass_extra(data);
        self.respond(data, x);
    }
}
