//! Work arrays of the recursions: made once for a tree, then nothing is allocated.

use glam::{DMat3, DVec3};

use super::crba::Columns;
use super::rigid::Eight;
use super::spatial::{Articulated, Force, Inertia, Motion, Sym3};
use super::turns::Turns;
use super::{Node, Tree};

/// What the recursions know about a tree in its present state. Made by [`Tree::data`].
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// One per node, the ground first.
    pub(super) bodies: Vec<Body>,
    /// Factors of the nodes of several dofs.
    pub(super) multi: Vec<Multi>,
    /// What links have to carry while inertias are gathered.
    pub(super) waiting: Waiting,
    /// Room for the mass matrix.
    pub(super) columns: Columns,
    pub(super) turns: Turns,
    /// What passes through each node, down and up.
    pub(super) passes: Vec<Pass>,
    /// Eight nodes, for what each does for itself.
    pub(super) eight: Box<Eight>,
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
    pub(super) velocity: Motion,
    /// Acceleration of the origin and angular acceleration; of the ground −g.
    pub(super) acceleration: Motion,
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

/// Articulated inertias on their way to the ground. What the last node leaves goes straight to the next where that is
/// its parent; where it is not, it waits on a stack, because subtrees are contiguous. There is one for every fork on the
/// way to the ground, so that a chain of any length does not run through memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Waiting(Vec<(usize, Articulated)>);

impl Waiting {
    /// All that a node carries: its own inertia and what its children left, the last of them `carried`.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        i: usize,
        own: &Inertia,
        carried: Option<Articulated>,
    ) -> Articulated {
        let mut inertia = carried.unwrap_or_default();
        inertia.add_rigid(own);
        if let Some((_, others)) = self.0.pop_if(|(waiting, _)| *waiting == i) {
            inertia.add(&others);
        }
        inertia
    }

    /// What is left of a node's inertia, on to its parent.
    #[inline(always)]
    pub(super) fn leave(
        &mut self,
        (i, node, body): (usize, &Node, &Body),
        mut inertia: Articulated,
    ) -> Option<Articulated> {
        if node.parent == 0 {
            return None;
        }
        if !node.concentric {
            inertia.shift(body.arm);
        }
        if node.parent + 1 == i {
            return Some(inertia);
        }
        match self.0.last_mut() {
            Some((waiting, sum)) if *waiting == node.parent => sum.add(&inertia),
            _ => self.0.push((node.parent, inertia)),
        }
        None
    }

    /// Forgets what an elimination that failed has left behind.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
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
            velocity: Motion::ZERO,
            acceleration: Motion::ZERO,
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
            waiting: Waiting::default(),
            columns: Columns::new(tree),
            turns: Turns::default(),
            passes: vec![Pass::default(); tree.nodes.len()],
            marked: vec![false; tree.nodes.len()],
            extra: vec![Force::ZERO; tree.nodes.len()],
            eight: Box::new(Eight::ZERO),
            factored: false,
        };
        for (body, inertia) in data.bodies.iter_mut().zip(&tree.inertias).skip(1) {
            body.inertia.mass = inertia.mass;
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
