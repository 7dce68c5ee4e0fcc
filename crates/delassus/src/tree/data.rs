//! Work arrays of the recursions: made once for a tree, then nothing is allocated.

use glam::{DMat3, DVec3};

use super::Tree;
use super::rigid::Eight;
use super::spatial::{Articulated, Force, Inertia, Motion, Sym3};
use super::turns::Turns;

/// What the recursions know about a tree in its present state. Made by [`Tree::data`].
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// One per node, the ground first.
    pub(super) bodies: Vec<Body>,
    /// Factors of the nodes of several dofs.
    pub(super) multi: Vec<Multi>,
    /// The force of every column of M on its way to the ground; dofs counted depth-first.
    pub(super) columns: Vec<Force>,
    pub(super) turns: Turns,
    /// What passes through each node, down and up.
    pub(super) passes: Vec<Pass>,
    /// The nodes eight by eight, for what each does for itself.
    pub(super) eights: Vec<Eight>,
    /// Nodes that rows act through.
    pub(super) marked: Vec<bool>,
    /// What rows add to the forces of the nodes.
    pub(super) extra: Vec<Force>,
    /// Whether the articulated inertias belong to the present poses.
    pub(super) factored: bool,
}

/// State of one node, in world axes about its own origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Body {
    pub(super) rotation: DMat3,
    /// From the parent's origin to this one.
    pub(super) arm: DVec3,
    pub(super) origin: DVec3,
    pub(super) inertia: Inertia,
    /// Of the whole subtree.
    pub(super) composite: Inertia,
    pub(super) velocity: Motion,
    /// Acceleration of the origin and angular acceleration; of the ground −g.
    pub(super) acceleration: Motion,
    pub(super) articulated: Articulated,
    /// U = I^A S of a node with one dof.
    pub(super) u: Force,
    /// 1/D, D = SᵀU + armature.
    pub(super) inverse_d: f64,
}

/// What a pass over the tree leaves at a node: all that [`Tree::solve`] and [`Tree::mul_mass`] write, so that several
/// threads may share the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pass {
    /// What the subtree needs, −(what acts on it); behind a joint of several dofs, once passed, τ − Sᵀp.
    pub(super) force: Force,
    /// Acceleration of the linear problem M x = y.
    pub(super) response: Motion,
    /// τ − Sᵀp of a node with one dof.
    pub(super) tau: f64,
}

/// Room for the passes of one tree after the other.
#[derive(Debug, Default)]
pub(crate) struct Passes(pub(super) Vec<Pass>);

/// Factor of a ball (three dofs) or a free node (six), in world axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Multi {
    /// Ball: (a + κ1)⁻¹. Free: the inverse of a − b c⁻¹bᵀ.
    pub(super) inverse_a: Sym3,
    /// Ball: (a + κ1)⁻¹b. Free: b c⁻¹.
    pub(super) coupling: DMat3,
    /// Free: c⁻¹.
    pub(super) inverse_c: Sym3,
}

impl Default for Body {
    fn default() -> Body {
        Body {
            rotation: DMat3::IDENTITY,
            arm: DVec3::ZERO,
            origin: DVec3::ZERO,
            inertia: Inertia::default(),
            composite: Inertia::default(),
            velocity: Motion::ZERO,
            acceleration: Motion::ZERO,
            articulated: Articulated::default(),
            u: Force::ZERO,
            inverse_d: 0.0,
        }
    }
}

impl Data {
    pub(super) fn new(tree: &Tree) -> Data {
        let mut data = Data {
            bodies: vec![Body::default(); tree.nodes.len()],
            multi: vec![Multi::default(); tree.n_multi],
            columns: vec![Force::ZERO; tree.n_dofs],
            turns: Turns::default(),
            passes: vec![Pass::default(); tree.nodes.len()],
            marked: vec![false; tree.nodes.len()],
            extra: vec![Force::ZERO; tree.nodes.len()],
            eights: vec![Eight::ZERO; tree.own.len()],
            factored: false,
        };
        for (body, node) in data.bodies.iter_mut().zip(&tree.nodes).skip(1) {
            body.inertia.mass = node.inertia.mass;
        }
        // The neutral configuration is finite and its quaternions are unit.
        tree.place_nodes(&tree.neutral(), &mut data);
        data
    }
}

/// A node and its parent, which comes before it.
#[inline]
pub(super) fn pair(bodies: &mut [Body], i: usize, parent: usize) -> (&mut Body, &mut Body) {
    let (before, from) = bodies.split_at_mut(i);
    (&mut from[0], &mut before[parent])
}
