//! A tree seen from its links: what each joint leaves free and what it holds, as an orthonormal basis of motions.
//!
//! ```text
//! V_i = V_parent carried to i + S v_i        y_i = B_iᵀV_i ,   B_i = [S normed, what is left]
//! ```
//!
//! The first numbers of y_i are free, the others are those of the parent. Whoever eliminates links from the leaves to
//! the root needs no more than that. Joints are counted from 0, the ground is none of them.

use std::ops::Range;

use super::data::Data;
use super::joint::ElementaryJoint;
use super::kinematics::{add_subspace, subspace};
use super::spatial::{Force, Inertia, Motion};
use super::{Body, Tree};
use crate::index::LinkId;

impl Tree {
    /// Elementary joints.
    pub(crate) fn n_joints(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The joint that carries a link of this tree; none where that is the ground.
    pub(crate) fn joint_of(&self, link: LinkId) -> Option<usize> {
        self.seats[link.index()].node.checked_sub(1)
    }

    /// The joint before a joint.
    pub(crate) fn joint_before(&self, joint: usize) -> Option<usize> {
        self.nodes[joint + 1].parent.checked_sub(1)
    }

    /// Velocities of a joint.
    pub(crate) fn joint_dofs(&self, joint: usize) -> Range<usize> {
        let node = &self.nodes[joint + 1];
        node.v_at..node.v_at + node.kind.dofs()
    }

    /// Inertia behind a joint about its origin, and what is added to M for each of its velocities.
    pub(crate) fn joint_inertia<'a>(&self, data: &'a Data, joint: usize) -> (&'a Inertia, f64) {
        (
            &data.bodies[joint + 1].inertia,
            self.nodes[joint + 1].armature,
        )
    }

    /// A force about the centre of mass of a link, about the origin of the joint that carries it.
    pub(crate) fn at_joint(&self, data: &Data, link: LinkId, force: Force) -> Force {
        let node = self.seats[link.index()].node;
        force.from(self.centre(data, link) - data.bodies[node].origin)
    }

    /// A motion of the joint before, carried to the origin of a joint.
    pub(crate) fn carried(&self, data: &Data, joint: usize, motion: Motion) -> Motion {
        self.nodes[joint + 1].carried(&data.bodies[joint + 1], motion)
    }

    /// Orthonormal motions of a joint, those that it leaves free first, and the length of its columns of S.
    pub(crate) fn joint_basis(&self, data: &Data, joint: usize) -> ([Motion; 6], f64) {
        let (kind, body) = (self.nodes[joint + 1].kind, &data.bodies[joint + 1]);
        basis(kind, body)
    }

    /// Motions of all joints under the velocities v.
    pub(crate) fn motions(&self, data: &Data, v: &[f64], out: &mut Vec<Motion>) {
        out.clear();
        for (node, body) in self.nodes.iter().zip(&data.bodies).skip(1) {
            let before = node.parent.checked_sub(1).map_or(Motion::ZERO, |p| out[p]);
            let mut motion = node.carried(body, before);
            add_subspace(node, body, v, &mut motion);
            out.push(motion);
        }
    }

    /// f ← f + Jᵀφ for forces φ on all joints about their origins, which are added up on the way to the ground.
    pub(crate) fn add_forces(&self, data: &Data, forces: &mut [Force], f: &mut [f64]) {
        for joint in (0..forces.len()).rev() {
            let (node, body) = (&self.nodes[joint + 1], &data.bodies[joint + 1]);
            for k in 0..node.kind.dofs() {
                f[node.v_at + k] += forces[joint].power(subspace(node.kind, body, k));
            }
            if let Some(before) = node.parent.checked_sub(1) {
                let handed = node.handed(body, forces[joint]);
                forces[before] += handed;
            }
        }
    }
}

fn basis(kind: ElementaryJoint, body: &Body) -> ([Motion; 6], f64) {
    let (turn, slide) = (Motion::turning, Motion::sliding);
    let r = &body.rotation;
    let (x, y, z) = (r.x_axis, r.y_axis, r.z_axis);
    let turns = [turn(z), turn(x), turn(y), slide(x), slide(y), slide(z)];
    match kind {
        ElementaryJoint::Turn => (turns, 1.0),
        ElementaryJoint::Slide => {
            let slides = [slide(z), slide(x), slide(y), turn(x), turn(y), turn(z)];
            (slides, 1.0)
        }
        ElementaryJoint::Screw(pitch) => {
            let length = pitch.hypot(1.0);
            let mut screw = turns;
            screw[0] = Motion {
                angular: z / length,
                linear: z * (pitch / length),
            };
            screw[5] = Motion {
                angular: z * (pitch / length),
                linear: -z / length,
            };
            (screw, length)
        }
        ElementaryJoint::Ball | ElementaryJoint::Free => {
            let axes = [turn(x), turn(y), turn(z), slide(x), slide(y), slide(z)];
            (axes, 1.0)
        }
    }
}
