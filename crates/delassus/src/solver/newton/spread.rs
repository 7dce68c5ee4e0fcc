//! Unknowns of K: nodes of at most six for each mass, or one for each joint of a long kinematic tree.
//!
//! Nodes of a short tree are its joint velocities, six after six, all coupled. Of a long one every row would then touch
//! very many, so that it is taken apart: its rows act on links, each link is a node, and what a joint holds follows from
//! the parent.

use std::cell::RefCell;
use std::ops::Range;

use crate::index::{BlockId, LinkId};
use crate::linalg::block_lu::{BlockLu, Node};
use crate::problem::mass::{MassBlock, TreeMass};
use crate::problem::place::Place;
use crate::problem::{Primal, Problem};
use crate::tree::spatial::{Force, Motion};
use glam::DVec3;

use super::long_tree::{LongTree, dot};
use super::pairs;

/// Unknowns of a node.
const WIDE: usize = 6;

/// Nodes of K, and the rows of all blocks that are no pairs of points.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    pub(super) nodes: Vec<Node>,
    /// First unknown of every node.
    pub(super) offsets: Vec<usize>,
    /// First node of every mass, and the end of the last.
    first: Vec<usize>,
    pub(super) trees: Vec<LongTree>,
    /// Motions and forces of the joints of a tree, for a moment.
    motions: RefCell<Vec<Motion>>,
    forces: RefCell<Vec<Force>>,
    /// Blocks of three rows at points of bodies, and all others.
    pub(super) pairs: Vec<u32>,
    pub(super) others: Vec<Other>,
    /// Where these act, block after block, and all their numbers.
    ends: Vec<End>,
    values: Vec<f64>,
    row_forces: Vec<Force>,
    /// Rows of one entry, for a moment.
    written: Vec<f64>,
}

/// A block that is no pair of points.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub(super) block: usize,
    ends: Range<usize>,
    pub(super) on_link: Option<OnLink>,
}

/// Rows of a block that acts on one link of a tree and on nothing else, as a contact with the ground does.
#[derive(Clone, Debug)]
pub(super) struct OnLink {
    pub(super) mass: usize,
    pub(super) joint: usize,
    /// Forces of a unit impulse of each row, about the origin of the joint that carries the link.
    forces: Range<usize>,
}

/// Rows of a block over the unknowns of one node.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) node: usize,
    rows: Range<usize>,
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
                _ => {
                    let starts = (0..mass.dim()).step_by(WIDE);
                    let size = |start: usize| WIDE.min(mass.dim() - start);
                    spread.nodes.extend(starts.map(|at| Node::free(size(at))));
                }
            }
        }
        spread.first.push(spread.nodes.len());
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
            let first = spread.ends.len();
            spread.add_ends(primal, block, n);
            let other = Other {
                block,
                ends: first..spread.ends.len(),
                on_link: spread.on_link(primal, block),
            };
            spread.others.push(other);
        }
        spread
    }

    /// First node of a mass.
    pub(super) fn node(&self, mass: usize) -> usize {
        self.first[mass]
    }

    /// Nodes of a mass.
    pub(super) fn nodes_of(&self, mass: usize) -> Range<usize> {
        self.first[mass]..self.first[mass + 1]
    }

    /// Pairs of nodes (a, b), b ≤ a, of a mass that is not taken apart, each with its first velocity in the mass.
    pub(super) fn inside(&self, mass: usize) -> impl Iterator<Item = [(usize, usize); 2]> {
        let nodes = self.nodes_of(mass);
        let at = move |i: usize| (nodes.start + i, WIDE * i);
        let count = self.nodes_of(mass).len();
        (0..count).flat_map(move |a| (0..=a).map(move |b| [at(a), at(b)]))
    }

    /// Whether a mass is a tree that is taken apart.
    pub(super) fn is_apart(&self, mass: usize) -> bool {
        self.tree(mass).is_some()
    }

    fn tree(&self, mass: usize) -> Option<&LongTree> {
        self.trees.iter().find(|tree| tree.mass == mass)
    }

    /// Nodes that a block acts on.
    pub(super) fn ends(&self, other: &Other) -> &[End] {
        &self.ends[other.ends.clone()]
    }

    /// Rows of a block over the unknowns of a node, row-major.
    pub(super) fn rows(&self, end: &End) -> &[f64] {
        &self.values[end.rows.clone()]
    }

    /// Forces of a unit impulse of each row of a block on a link, about the origin of its joint.
    pub(super) fn forces(&self, on: &OnLink) -> &[Force] {
        &self.row_forces[on.forces.clone()]
    }

    /// The one link that a block acts on, where its tree is not taken apart.
    fn on_link(&mut self, primal: &Primal, block: usize) -> Option<OnLink> {
        let mut places = primal.places(BlockId(block as u32));
        let (at, None) = (places.next()?, places.next()) else {
            return None;
        };
        let (Place::Link { link }, MassBlock::Tree(of)) =
            (at.place, &primal.mass()[at.mass.index()])
        else {
            return None;
        };
        let mass = at.mass.index();
        let joint = of.tree().joint_of(link).filter(|_| !self.is_apart(mass))?;
        let rows = at.rows.as_chunks::<6>().0.iter();
        let first = self.row_forces.len();
        self.row_forces
            .extend(rows.map(|row| about_joint(of, link, row)));
        Some(OnLink {
            mass,
            joint,
            forces: first..self.row_forces.len(),
        })
    }

    /// Writes down where a block acts and its rows there.
    fn add_ends(&mut self, primal: &Primal, block: usize, n: usize) {
        let begin = self.ends.len();
        for e in primal.jacobian().entry_range(block) {
            let mass = primal.jacobian().entry_mass(e);
            let long = self.trees.iter().find(|tree| tree.mass == mass);
            let (MassBlock::Tree(of), Some(long)) = (&primal.mass()[mass], long) else {
                self.add_dense_ends(primal, (e, mass), n);
                continue;
            };
            let (first, ends, values) = (self.first[mass], &mut self.ends, &mut self.values);
            let mut add = |joint: usize, i: usize, by: [f64; 6]| {
                let known = ends[begin..]
                    .iter()
                    .find(|end| end.node == first + joint)
                    .map(|end| end.rows.start);
                let start = known.unwrap_or_else(|| {
                    let rows = values.len()..values.len() + 6 * n;
                    values.resize(rows.end, 0.0);
                    let start = rows.start;
                    let node = first + joint;
                    ends.push(End { node, rows });
                    start
                });
                let row = &mut values[start + 6 * i..start + 6 * i + 6];
                row.iter_mut().zip(by).for_each(|(row, x)| *row += x);
            };
            for (place, rows) in primal.jacobian().places(e) {
                match place {
                    Place::Link { link } => {
                        let Some(joint) = of.tree().joint_of(link) else {
                            continue;
                        };
                        for (i, row) in rows.as_chunks::<6>().0.iter().enumerate() {
                            let force = about_joint(of, link, row);
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
    }

    /// The same for an entry on a mass that is not taken apart: a row touches the joints between its link and the base
    /// alone, so that nodes on which it is zero are left out.
    fn add_dense_ends(&mut self, primal: &Primal, (e, mass): (usize, usize), n: usize) {
        self.written.clear();
        primal.write_rows(e, &mut self.written);
        let width = self.written.len() / n;
        for (i, node) in self.nodes_of(mass).enumerate() {
            let own = WIDE * i..(WIDE * i + WIDE).min(width);
            let rows = || {
                self.written
                    .chunks_exact(width)
                    .map(|row| &row[own.clone()])
            };
            if rows().flatten().any(|x| *x != 0.0) {
                let first = self.values.len();
                self.values.extend(rows().flatten());
                let rows = first..self.values.len();
                self.ends.push(End { node, rows });
            }
        }
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
            let nodes = self.ends(other).iter().map(|end| end.node as u32);
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
        let dense = (0..self.first.len().saturating_sub(1)).filter(|b| !self.is_apart(*b));
        let masses = dense.flat_map(|b| self.inside(b).map(|[a, b]| (a.0 as u32, b.0 as u32)));
        blocks.chain(joints).chain(masses)
    }
}

/// A row on a link, about the origin of the joint that carries it.
fn about_joint(of: &TreeMass, link: LinkId, row: &[f64; 6]) -> Force {
    let force = Force {
        force: DVec3::from_slice(&row[..3]),
        torque: DVec3::from_slice(&row[3..]),
    };
    of.tree().at_joint(of.data(), link, force)
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
                let mut relation = Relation::default().sized(&system);
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
