//! A long kinematic tree taken apart: one node for each joint, and what a joint holds follows from the parent.
//!
//! ```text
//! y_i = B_iᵀV_i                     motion of link i in the basis of its joint: what is free first
//! v_i = (S-part of y_i − S-part of y_parent carried to i)/|S|
//! ```

use crate::linalg::block_lu::{BlockLu, Node};
use crate::problem::mass::TreeMass;
use crate::tree::spatial::{Force, Motion};

/// A tree that is taken apart.
#[derive(Clone, Debug)]
pub(super) struct LongTree {
    pub(super) mass: usize,
    pub(super) joints: Vec<Joint>,
}

#[derive(Clone, Debug)]
pub(super) struct Joint {
    pub(super) before: Option<usize>,
    dofs: std::ops::Range<usize>,
    pub(super) basis: [Motion; 6],
    /// Length of the columns of S.
    length: f64,
    /// Sᵀ of the basis of the joint before, carried here: six numbers for each velocity.
    steer: Vec<[f64; 6]>,
}

/// Scalar product of two motions in a common basis.
pub(super) fn dot(x: &Motion, y: &Motion) -> f64 {
    x.angular.dot(y.angular) + x.linear.dot(y.linear)
}

impl Joint {
    /// B y.
    pub(super) fn force(&self, y: &[f64]) -> Force {
        let mut force = Force::ZERO;
        for (along, y) in self.basis.iter().zip(y) {
            force.torque += along.angular * *y;
            force.force += along.linear * *y;
        }
        force
    }
}

impl LongTree {
    pub(super) fn new(mass: usize, of: &TreeMass) -> LongTree {
        let (tree, data) = (of.tree(), of.data());
        let mut joints: Vec<Joint> = Vec::with_capacity(tree.n_joints());
        for i in 0..tree.n_joints() {
            let (before, dofs) = (tree.joint_before(i), tree.joint_dofs(i));
            let (basis, length) = tree.joint_basis(data, i);
            let steer = basis[..dofs.len()].iter().map(|along| match before {
                Some(p) => joints[p]
                    .basis
                    .map(|motion| dot(along, &tree.carried(data, i, motion))),
                None => [0.0; 6],
            });
            let steer = steer.collect();
            joints.push(Joint {
                before,
                dofs,
                basis,
                length,
                steer,
            });
        }
        LongTree { mass, joints }
    }

    /// Nodes of its joints, `first` being that of joint 0.
    pub(super) fn nodes(&self, first: usize) -> impl Iterator<Item = Node> {
        self.joints.iter().map(move |joint| {
            let pivots = joint.dofs.len();
            let before = joint.before.filter(|_| pivots < 6);
            Node {
                size: 6,
                pivots,
                leader: before.map(|before| (first + before) as u32),
            }
        })
    }

    /// A velocity as a row on the unknowns of its joint and of the one before.
    pub(super) fn on_velocity(&self, dof: usize, mut add: impl FnMut(usize, [f64; 6])) {
        let owner = self.joints.iter().position(|j| j.dofs.contains(&dof));
        let Some(i) = owner else { return };
        let joint = &self.joints[i];
        let k = dof - joint.dofs.start;
        let scale = 1.0 / joint.length;
        add(i, std::array::from_fn(|a| if a == k { scale } else { 0.0 }));
        if let Some(before) = joint.before {
            add(before, joint.steer[k].map(|s| -scale * s));
        }
    }

    pub(super) fn gather_velocities(&self, y: &[f64], v: &mut [f64]) {
        for (i, joint) in self.joints.iter().enumerate() {
            for (k, dof) in joint.dofs.clone().enumerate() {
                let mut free = y[6 * i + k];
                if let Some(p) = joint.before {
                    let carried = joint.steer[k].iter().zip(&y[6 * p..6 * p + 6]);
                    free -= carried.map(|(s, y)| s * y).sum::<f64>();
                }
                v[dof] = free / joint.length;
            }
        }
    }

    pub(super) fn spread_forces(&self, f: &[f64], out: &mut [f64]) {
        for (i, joint) in self.joints.iter().enumerate() {
            for (k, dof) in joint.dofs.clone().enumerate() {
                let force = f[dof] / joint.length;
                out[6 * i + k] += force;
                if let Some(p) = joint.before {
                    let out = &mut out[6 * p..6 * p + 6];
                    for (out, s) in out.iter_mut().zip(&joint.steer[k]) {
                        *out -= s * force;
                    }
                }
            }
        }
    }

    pub(super) fn add(&self, of: &TreeMass, first: usize, lu: &mut BlockLu) {
        let (tree, data) = (of.tree(), of.data());
        for (i, joint) in self.joints.iter().enumerate() {
            let (inertia, armature) = tree.joint_inertia(data, i);
            let slot = lu.slot(first + i, first + i);
            let out = lu.values_mut(&slot).0;
            for (c, along) in joint.basis.iter().enumerate() {
                let force = inertia.mul(*along);
                for (r, row) in joint.basis.iter().enumerate() {
                    out[r * slot.stride + c] += force.power(*row);
                }
            }
            if let Some(p) = joint.before {
                // What is held moves as the joint before does: z = Tᵀy.
                let held = &joint.basis[joint.dofs.len()..];
                if !held.is_empty() {
                    let map = lu.map_mut(first + i).chunks_exact_mut(held.len());
                    for (row, motion) in map.zip(self.joints[p].basis) {
                        let carried = tree.carried(data, i, motion);
                        for (t, along) in row.iter_mut().zip(held) {
                            *t = dot(along, &carried);
                        }
                    }
                }
            }
            if armature != 0.0 {
                for dof in joint.dofs.clone() {
                    self.add_armature(dof, armature, first, lu);
                }
            }
        }
    }

    /// K ← K + κ g gᵀ with the row g of a velocity.
    fn add_armature(&self, dof: usize, armature: f64, first: usize, lu: &mut BlockLu) {
        let (mut ends, mut count) = ([(0, [0.0; 6]); 2], 0);
        self.on_velocity(dof, |joint, g| {
            ends[count] = (joint, g);
            count += 1;
        });
        for (x, (a, one)) in ends[..count].iter().enumerate() {
            for (b, other) in &ends[..=x] {
                let slot = lu.slot(first + a, first + b);
                let (upper, lower) = lu.values_mut(&slot);
                for r in 0..6 {
                    for c in 0..6 {
                        let (value, turned) = (one[r] * other[c], one[c] * other[r]);
                        let at = r * slot.stride + c;
                        let value = armature * if slot.swapped { turned } else { value };
                        upper[at] += value;
                        if a != b {
                            lower[at] += value;
                        }
                    }
                }
            }
        }
    }
}
