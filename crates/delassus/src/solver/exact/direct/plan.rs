//! What elimination does to one kind of island, worked out once: where every block stands and what touches it.

use std::collections::HashSet;

use super::order::{Vertex, eliminate};
use crate::linalg::ldl::Pattern;
use crate::linalg::minimum_degree::{Graph, Open};

/// Masses and joints of an island, numbered from zero: islands with equal shapes are solved side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// Velocities of each mass.
    pub(super) masses: Vec<u32>,
    /// Rows of each joint.
    pub(super) joints: Vec<u32>,
    /// Masses of each joint in the order of its entries: those of joint k are `entries[starts[k]..starts[k + 1]]`.
    pub(super) starts: Vec<u32>,
    /// See `starts`.
    pub(super) entries: Vec<u32>,
}

impl Shape {
    pub(super) fn entries_of(&self, joint: usize) -> &[u32] {
        &self.entries[self.starts[joint] as usize..self.starts[joint + 1] as usize]
    }
}

/// What an unknown is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Node {
    /// The impulse of this joint of the shape.
    Joint(usize),
    /// The velocity change of this mass of the shape, kept because many rows press on it.
    Mass(usize),
}

/// A joint's entry on a mass.
#[derive(Clone, Copy, Debug)]
pub(super) struct MassEntry {
    pub(super) joint: usize,
    /// Position among the joint's entries.
    pub(super) entry: usize,
}

/// Where a number of the problem goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Load {
    /// D_kk, all of whose masses are condensed, to the diagonal.
    Diagonal { joint: usize, at: usize },
    /// Σ_kk of a joint with a mass that was kept.
    Compliance { joint: usize, at: usize },
    /// G_k M⁻¹ G_jᵀ through a condensed mass.
    Through {
        mass: usize,
        row: MassEntry,
        column: MassEntry,
        at: usize,
        /// Whether nothing was written there before.
        fresh: bool,
    },
    /// −M of a mass that was kept.
    Mass { mass: usize, at: usize },
    /// G_k on a mass that was kept, transposed where the joint goes first.
    Entry {
        touch: MassEntry,
        at: usize,
        transposed: bool,
    },
}

/// The elimination of one shape: the matrix [[A, G], [Gᵀ, −M]] of joints and kept masses.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// In order of elimination.
    pub(super) nodes: Vec<Node>,
    /// Where the blocks of the nodes stand.
    pub(super) pattern: Pattern,
    /// Whether the node is a joint with a mass that was kept, so that its block does not hold all of D.
    pub(super) beside_mass: Vec<bool>,
    pub(super) loads: Vec<Load>,
    /// Values that no load writes, or only adds to.
    pub(super) clear: Vec<std::ops::Range<usize>>,
}

impl Plan {
    /// Plans a shape; `late[k]` are joints whose pivot was singular where a mass was left beside them.
    pub(super) fn new(shape: &Shape, late: &[bool]) -> Plan {
        let touches = touches(shape);
        let kept = kept_masses(shape, &touches);
        let (graph, nodes) = graph(shape, &touches, &kept, late);
        let sizes: Vec<usize> = shape.masses.iter().map(|&n| n as usize).collect();
        let order = eliminate(graph, &sizes);
        let pattern = Pattern::new(&order, |x| match nodes[x] {
            Node::Joint(k) => (shape.joints[k] as usize, false),
            Node::Mass(b) => (sizes[b], true),
        });
        let nodes: Vec<Node> = order.iter().map(|step| nodes[step.node]).collect();
        let partly = |node: &Node| match *node {
            Node::Joint(joint) => shape.entries_of(joint).iter().any(|&b| kept[b as usize]),
            Node::Mass(_) => false,
        };
        let mut plan = Plan {
            beside_mass: nodes.iter().map(partly).collect(),
            nodes,
            pattern,
            ..Plan::default()
        };
        plan.load_list(shape, &touches, &kept);
        plan
    }

    /// A plan for a matrix that is given block by block.
    pub(super) fn of_pattern(sizes: &[usize], neighbours: Vec<Vec<usize>>) -> Plan {
        let order = Graph::new(sizes.to_vec(), neighbours).eliminate(&mut Open);
        Plan {
            nodes: order.iter().map(|step| Node::Joint(step.node)).collect(),
            pattern: Pattern::new(&order, |k| (sizes[k], false)),
            beside_mass: vec![false; sizes.len()],
            ..Plan::default()
        }
    }

    fn load_list(&mut self, shape: &Shape, touches: &[Vec<MassEntry>], kept: &[bool]) {
        let mut joint_place = vec![0; shape.joints.len()];
        let mut mass_place = vec![0; shape.masses.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            match *node {
                Node::Joint(k) => joint_place[k] = i,
                Node::Mass(b) => mass_place[b] = i,
            }
        }
        let mut loads = Vec::new();
        let mut written = HashSet::new();
        for joint in 0..shape.joints.len() {
            let at = self.pattern.diagonal(joint_place[joint]);
            let partly = shape.entries_of(joint).iter().any(|&b| kept[b as usize]);
            loads.push(if partly {
                Load::Compliance { joint, at }
            } else {
                Load::Diagonal { joint, at }
            });
        }
        for (mass, list) in touches.iter().enumerate() {
            if kept[mass] {
                let place = mass_place[mass];
                loads.push(Load::Mass {
                    mass,
                    at: self.pattern.diagonal(place),
                });
                for &touch in list {
                    let joint = joint_place[touch.joint];
                    let at = self.pattern.block(joint.max(place), joint.min(place));
                    written.insert(at);
                    loads.push(Load::Entry {
                        touch,
                        at,
                        transposed: joint < place,
                    });
                }
                continue;
            }
            for (i, &a) in list.iter().enumerate() {
                let partly = shape.entries_of(a.joint).iter().any(|&b| kept[b as usize]);
                for &b in &list[..i + usize::from(partly)] {
                    let (pa, pb) = (joint_place[a.joint], joint_place[b.joint]);
                    let (row, column) = if pa < pb { (b, a) } else { (a, b) };
                    let at = self.pattern.block(pa.max(pb), pa.min(pb));
                    loads.push(Load::Through {
                        mass,
                        row,
                        column,
                        at,
                        fresh: pa != pb && written.insert(at),
                    });
                }
            }
        }
        self.loads = loads;
        for i in 0..self.nodes.len() {
            let (n, at) = (self.pattern.size(i), self.pattern.diagonal(i));
            if self.beside_mass[i] {
                self.clear.push(at..at + n * n);
            }
            for edge in self.pattern.edges(i) {
                if !written.contains(&edge.at) {
                    let length = n * self.pattern.size(edge.to);
                    self.clear.push(edge.at..edge.at + length);
                }
            }
        }
    }
}

/// The joints on every mass.
fn touches(shape: &Shape) -> Vec<Vec<MassEntry>> {
    let mut touches = vec![Vec::new(); shape.masses.len()];
    for joint in 0..shape.joints.len() {
        for (entry, &mass) in shape.entries_of(joint).iter().enumerate() {
            touches[mass as usize].push(MassEntry { joint, entry });
        }
    }
    touches
}

/// A mass is worth an unknown of its own where more than two joints meet with more rows than it has velocities;
/// any other is condensed: its joints feel each other through G M⁻¹ Gᵀ.
fn kept_masses(shape: &Shape, touches: &[Vec<MassEntry>]) -> Vec<bool> {
    let rows = |list: &Vec<MassEntry>| list.iter().map(|t| shape.joints[t.joint]).sum::<u32>();
    let masses = touches.iter().zip(&shape.masses);
    masses
        .map(|(list, &size)| 2 < list.len() && size < rows(list))
        .collect()
}

/// Joints and kept masses with who touches whom.
fn graph(
    shape: &Shape,
    touches: &[Vec<MassEntry>],
    kept: &[bool],
    late: &[bool],
) -> (Vec<Vertex>, Vec<Node>) {
    let mut nodes: Vec<Node> = (0..shape.joints.len()).map(Node::Joint).collect();
    let mut number = vec![0; shape.masses.len()];
    for (mass, &kept) in kept.iter().enumerate() {
        if kept {
            number[mass] = nodes.len();
            nodes.push(Node::Mass(mass));
        }
    }
    let vertex = |node: &Node| match *node {
        Node::Joint(joint) => {
            let (mut neighbours, mut condensed) = (Vec::new(), Vec::new());
            for mass in shape.entries_of(joint).iter().map(|&mass| mass as usize) {
                if kept[mass] {
                    neighbours.push(number[mass]);
                } else {
                    condensed.push(mass);
                    let others = touches[mass].iter().map(|touch| touch.joint);
                    neighbours.extend(others.filter(|&k| k != joint));
                }
            }
            Vertex {
                size: shape.joints[joint] as usize,
                is_mass: false,
                late: late[joint],
                neighbours,
                condensed,
            }
        }
        Node::Mass(mass) => Vertex {
            size: shape.masses[mass] as usize,
            is_mass: true,
            late: false,
            neighbours: touches[mass].iter().map(|touch| touch.joint).collect(),
            condensed: Vec::new(),
        },
    };
    (nodes.iter().map(vertex).collect(), nodes)
}
