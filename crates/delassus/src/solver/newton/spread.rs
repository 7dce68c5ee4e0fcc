//! Unknowns of K: one node for each mass, or one for each joint of a long kinematic tree.
//!
//! ```text
//! y_i = B_iᵀV_i                     motion of link i in the basis of its joint: what is free first
//! v_i = (S-part of y_i − S-part of y_parent carried to i)/|S|
//! ```
//!
//! A short tree is one dense block of joint velocities. Of a long one every row would then touch every velocity, so
//! that it is taken apart: its rows act on links, each link is a node, and what a joint holds follows from the parent.

use std::cell::RefCell;

use crate::linalg::block_lu::{BlockLu, Node};
use crate::problem::mass::{MassBlock, TreeMass};
use crate::problem::place::Place;
use crate::problem::{Primal, Problem};
use crate::tree::spatial::{Force, Motion};
use glam::DVec3;

use super::pairs;

/// Velocities from which a tree is taken apart.
pub(super) const LONG: usize = 14;

/// Nodes of K, and the rows of all blocks that are no pairs of points.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    pub(super) nodes: Vec<Node>,
    /// First unknown of every node.
    pub(super) offsets: Vec<usize>,
    /// First node of every mass.
    first: Vec<usize>,
    pub(super) trees: Vec<LongTree>,
    /// Motions and forces of the joints of a tree, for a moment.
    motions: RefCell<Vec<Motion>>,
    forces: RefCell<Vec<Force>>,
    /// Blocks of three rows at points of bodies, and all others.
    pub(super) pairs: Vec<u32>,
    pub(super) others: Vec<Other>,
}

/// A block that is no pair of points.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub(super) block: usize,
    pub(super) ends: Vec<End>,
}

/// Rows of a block over the unknowns of one node.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) node: usize,
    pub(super) rows: Vec<f64>,
}

/// A tree that is taken apart.
#[derive(Clone, Debug)]
pub(super) struct LongTree {
    mass: usize,
    joints: Vec<Joint>,
}

#[derive(Clone, Debug)]
struct Joint {
    before: Option<usize>,
    dofs: std::ops::Range<usize>,
    basis: [Motion; 6],
    /// Length of the columns of S.
    length: f64,
    /// Sᵀ of the basis of the joint before, carried here: six numbers for each velocity.
    steer: Vec<[f64; 6]>,
}

impl Spread {
    /// Trees of more than `long` velocities are taken apart.
    pub(super) fn new(problem: &Problem, primal: &Primal, long: usize) -> Spread {
        let mut spread = Spread::default();
        let mut plain = vec![false; primal.mass().len()];
        let jacobian = primal.jacobian();
        for e in 0..jacobian.n_entries() {
            let all = jacobian.places(e).any(|(place, _)| place == Place::Plain);
            plain[jacobian.entry_mass(e)] |= all;
        }
        for (b, mass) in primal.mass().iter().enumerate() {
            spread.first.push(spread.nodes.len());
            match mass {
                MassBlock::Tree(tree) if long < mass.dim() && !plain[b] => {
                    let first = spread.nodes.len();
                    let long = LongTree::new(b, tree);
                    spread.nodes.extend(long.nodes(first));
                    spread.trees.push(long);
                }
                _ => spread.nodes.push(Node::free(mass.dim())),
            }
        }
        let mut offset = 0;
        for node in &spread.nodes {
            spread.offsets.push(offset);
            offset += node.size;
        }
        spread.offsets.push(offset);
        for block in 0..problem.blocks().len() {
            if pairs::is_pair(primal, block) {
                spread.pairs.push(block as u32);
                continue;
            }
            let n = problem.blocks()[block].n_rows;
            let ends = spread.ends(primal, block, n);
            spread.others.push(Other { block, ends });
        }
        spread
    }

    /// Node of a mass that is not taken apart.
    pub(super) fn node(&self, mass: usize) -> usize {
        self.first[mass]
    }

    /// Whether a mass is a tree that is taken apart.
    pub(super) fn is_apart(&self, mass: usize) -> bool {
        self.tree(mass).is_some()
    }

    fn tree(&self, mass: usize) -> Option<&LongTree> {
        self.trees.iter().find(|tree| tree.mass == mass)
    }

    fn ends(&self, primal: &Primal, block: usize, n: usize) -> Vec<End> {
        let mut ends: Vec<End> = Vec::new();
        for e in primal.jacobian().entry_range(block) {
            let mass = primal.jacobian().entry_mass(e);
            let (MassBlock::Tree(of), Some(long)) = (&primal.mass()[mass], self.tree(mass)) else {
                let mut rows = Vec::new();
                primal.write_rows(e, &mut rows);
                let node = self.first[mass];
                ends.push(End { node, rows });
                continue;
            };
            let mut add = |joint: usize, i: usize, by: [f64; 6]| {
                let node = self.first[mass] + joint;
                let known = ends.iter().position(|end| end.node == node);
                let at = known.unwrap_or_else(|| {
                    let rows = vec![0.0; 6 * n];
                    ends.push(End { node, rows });
                    ends.len() - 1
                });
                let row = &mut ends[at].rows[6 * i..6 * i + 6];
                row.iter_mut().zip(by).for_each(|(row, x)| *row += x);
            };
            for (place, rows) in primal.jacobian().places(e) {
                match place {
                    Place::Link { link } => {
                        let Some(joint) = of.tree().joint_of(link) else {
                            continue;
                        };
                        for (i, row) in rows.as_chunks::<6>().0.iter().enumerate() {
                            let force = Force {
                                force: DVec3::from_slice(&row[..3]),
                                torque: DVec3::from_slice(&row[3..]),
                            };
                            let force = of.tree().at_joint(of.data(), link, force);
                            let basis = &long.joints[joint].basis;
                            add(joint, i, basis.map(|motion| force.power(motion)));
                        }
                    }
                    Place::Coordinate { dof } => {
                        for (i, factor) in rows.iter().enumerate() {
                            long.on_velocity(dof, |joint, g| {
                                add(joint, i, g.map(|g| factor * g));
                            });
                        }
                    }
                    Place::Point { .. } | Place::Plain => {}
                }
            }
        }
        ends
    }

    /// Unknowns of all nodes from velocities.
    pub(super) fn spread_velocities(&self, primal: &Primal, v: &[f64], y: &mut [f64]) {
        let motions = &mut *self.motions.borrow_mut();
        for (b, mass) in primal.mass().iter().enumerate() {
            let (node, v) = (self.first[b], &v[primal.columns(b)]);
            match (mass, self.tree(b)) {
                (MassBlock::Tree(of), Some(long)) => {
                    of.tree().motions(of.data(), v, motions);
                    for (i, (joint, motion)) in long.joints.iter().zip(&*motions).enumerate() {
                        let y = &mut y[self.offsets[node + i]..][..6];
                        for (y, along) in y.iter_mut().zip(&joint.basis) {
                            *y = dot(along, motion);
                        }
                    }
                }
                _ => y[self.offsets[node]..][..v.len()].copy_from_slice(v),
            }
        }
    }

    /// Velocities from the unknowns of all nodes.
    pub(super) fn gather_velocities(&self, primal: &Primal, y: &[f64], v: &mut [f64]) {
        for b in 0..primal.mass().len() {
            let (node, v) = (self.first[b], &mut v[primal.columns(b)]);
            match self.tree(b) {
                Some(long) => long.gather_velocities(&y[self.offsets[node]..], v),
                None => v.copy_from_slice(&y[self.offsets[node]..][..v.len()]),
            }
        }
    }

    /// What forces on the velocities are on the unknowns of all nodes.
    pub(super) fn spread_forces(&self, primal: &Primal, f: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for b in 0..primal.mass().len() {
            let (node, f) = (self.first[b], &f[primal.columns(b)]);
            match self.tree(b) {
                Some(long) => long.spread_forces(f, &mut out[self.offsets[node]..]),
                None => out[self.offsets[node]..][..f.len()].copy_from_slice(f),
            }
        }
    }

    /// f ← f + what forces on the unknowns of all nodes are on the velocities.
    pub(super) fn gather_forces(&self, primal: &Primal, y: &[f64], f: &mut [f64]) {
        let forces = &mut *self.forces.borrow_mut();
        for (b, mass) in primal.mass().iter().enumerate() {
            let (node, f) = (self.first[b], &mut f[primal.columns(b)]);
            match (mass, self.tree(b)) {
                (MassBlock::Tree(of), Some(long)) => {
                    forces.clear();
                    forces.extend(long.joints.iter().enumerate().map(|(i, joint)| {
                        let y = &y[self.offsets[node + i]..][..6];
                        joint.force(y)
                    }));
                    of.tree().add_forces(of.data(), forces, f);
                }
                _ => {
                    let y = &y[self.offsets[node]..][..f.len()];
                    f.iter_mut().zip(y).for_each(|(f, y)| *f += y);
                }
            }
        }
    }

    /// K ← M of all trees that are taken apart, and how their links follow each other.
    pub(super) fn add_trees(&self, primal: &Primal, lu: &mut BlockLu) {
        for long in &self.trees {
            if let MassBlock::Tree(of) = &primal.mass()[long.mass] {
                long.add(of, self.first[long.mass], lu);
            }
        }
    }

    /// Pairs of nodes that blocks and joints couple.
    pub(super) fn couplings(&self) -> impl Iterator<Item = (u32, u32)> {
        let blocks = self.others.iter().flat_map(|other| {
            let nodes = other.ends.iter().map(|end| end.node as u32);
            nodes
                .clone()
                .flat_map(move |a| nodes.clone().map(move |b| (a, b)))
        });
        let joints = self.trees.iter().flat_map(|long| {
            let first = self.first[long.mass] as u32;
            let joints = long.joints.iter().enumerate();
            joints.filter_map(move |(i, joint)| {
                let before = joint.before? as u32;
                Some((first + i as u32, first + before))
            })
        });
        blocks.chain(joints)
    }
}

fn dot(x: &Motion, y: &Motion) -> f64 {
    x.angular.dot(y.angular) + x.linear.dot(y.linear)
}

impl Joint {
    /// B y.
    fn force(&self, y: &[f64]) -> Force {
        let mut force = Force::ZERO;
        for (along, y) in self.basis.iter().zip(y) {
            force.torque += along.angular * *y;
            force.force += along.linear * *y;
        }
        force
    }
}

impl LongTree {
    fn new(mass: usize, of: &TreeMass) -> LongTree {
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
    fn nodes(&self, first: usize) -> impl Iterator<Item = Node> {
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
    fn on_velocity(&self, dof: usize, mut add: impl FnMut(usize, [f64; 6])) {
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

    fn gather_velocities(&self, y: &[f64], v: &mut [f64]) {
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

    fn spread_forces(&self, f: &[f64], out: &mut [f64]) {
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

    fn add(&self, of: &TreeMass, first: usize, lu: &mut BlockLu) {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::kernel::{Change, Kernel, Relation};
    use super::super::system::System;
    use crate::math::{DMat3, DVec3, Random};
    use crate::problem::place::{At, Place};
    use crate::tree::spatial::Pose;
    use crate::tree::{Link, MassProperties, Tree, TreeJoint};
    use crate::{Law, LinkId, MassBlock, MassId, Problem};

    /// A tree with a joint of every kind that forks, on the ground or floating.
    fn tree(random: &mut Random, floats: bool) -> Tree {
        let links = (0..14_u32).map(|i| {
            let axis = random.vector();
            let joint = match i % 7 {
                0 if i == 0 && floats => TreeJoint::Floating,
                1 => TreeJoint::Ball,
                2 => TreeJoint::Prismatic { axis },
                3 => TreeJoint::Helical { axis, pitch: 0.3 },
                4 => TreeJoint::Universal {
                    first: DVec3::X,
                    second: DVec3::Y,
                },
                5 if i == 5 => TreeJoint::Fixed,
                _ => TreeJoint::Revolute { axis },
            };
            let body = MassProperties {
                mass: random.range(0.5, 2.0),
                com: random.vector() * 0.2,
                inertia: DMat3::from_diagonal(DVec3::new(0.1, 0.12, 0.15)),
            };
            let parent = match i {
                0 => None,
                6 => Some(LinkId(2)),
                _ => Some(LinkId(i - 1)),
            };
            let mut link = Link::new(parent, joint, Pose::at(random.vector() * 0.5), body);
            link.armature = if i % 3 == 1 { 0.05 } else { 0.0 };
            link
        });
        Tree::new(links.collect()).unwrap()
    }

    fn problem(random: &mut Random, floats: bool) -> Problem {
        let tree = Arc::new(tree(random, floats));
        let n = tree.n_dofs();
        let mut q = tree.neutral();
        let v: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
        tree.integrate(&mut q, &v, 1.0).unwrap();
        let mut builder = Problem::builder();
        let mass = MassBlock::tree(tree, &q).unwrap();
        let tree = builder.add_mass(mass, &v).unwrap();
        let body = MassBlock::rigid(2.0, DMat3::IDENTITY).unwrap();
        let body = builder.add_mass(body, &[1.0; 6]).unwrap();
        let numbers: Vec<f64> = (0..18).map(|_| random.range(-1.0, 1.0)).collect();
        let on = |link: u32, from: usize| At {
            mass: tree,
            place: Place::Link { link: LinkId(link) },
            rows: &numbers[from..],
        };
        let law = Law::FrictionCone { mu: 0.5 };
        let free = |mass: MassId| At {
            mass,
            place: Place::Plain,
            rows: &numbers,
        };
        let mut add = |law: Law, ends: &[At<'_>], n: usize| {
            builder
                .add_block_at(law, ends, &vec![0.1; n], &vec![0.0; n])
                .unwrap();
        };
        // On one link, on two, on a link and a free body; on velocities of joints, alone and in a gear.
        add(law, &[on(13, 0)], 3);
        add(law, &[on(8, 0), on(5, 0)], 3);
        add(law, &[on(4, 0), free(body)], 3);
        for dof in 0..n {
            let place = Place::Coordinate { dof };
            let rows = &[1.0];
            add(
                Law::Unilateral,
                &[At {
                    mass: tree,
                    place,
                    rows,
                }],
                1,
            );
        }
        let gear = [(3, 1.0), (n - 1, -2.0)].map(|(dof, factor)| (dof, [factor]));
        let gear = [&gear[0], &gear[1]].map(|(dof, rows)| At {
            mass: tree,
            place: Place::Coordinate { dof: *dof },
            rows,
        });
        add(Law::Equality, &gear, 1);
        builder.build().unwrap()
    }

    #[test]
    fn a_tree_taken_apart_gives_the_steps_of_the_whole_one() {
        let mut random = Random::new(12);
        for floats in [true, false] {
            let problem = problem(&mut random, floats);
            let (m, n) = (problem.n_rows(), problem.n_velocities());
            let mut draw =
                |n: usize| -> Vec<f64> { (0..n).map(|_| random.range(-1.0, 1.0)).collect() };
            let (b, imbalance, lambda, v) = (draw(m), draw(n), draw(m), draw(n));
            let mut answers = Vec::new();
            for long in [usize::MAX, 0] {
                let system = System::with(&problem, long);
                let mut relation = Relation::sized(&system);
                for (k, block) in problem.blocks().iter().enumerate() {
                    for i in 0..block.n_rows {
                        for j in 0..block.n_rows {
                            let at = system.square(k).start + i * block.n_rows + j;
                            relation.c[at] = f64::from(i == j);
                            relation.b[at] = 0.1 * (i + 2 * j) as f64 + 3.0 * f64::from(i == j);
                        }
                    }
                }
                let (mut kernel, mut change) = (Kernel::default(), Change::default());
                assert!(kernel.factor(&system, &relation));
                kernel.step(&system, &b, &imbalance, &mut change);
                let (mut w, mut free) = (vec![0.0; m], vec![0.0; n]);
                system.row_velocity(&v, &lambda, &mut w);
                system.velocity(&lambda, &mut free);
                answers.push([change.lambda, change.v, w, free].concat());
            }
            for (x, y) in answers[0].iter().zip(&answers[1]) {
                assert!((x - y).abs() < 1e-9 * (1.0 + x.abs()), "{x} {y}");
            }
        }
    }
}
