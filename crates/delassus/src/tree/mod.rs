//! Kinematic trees in joint coordinates: links, joints, and the recursions over them.
//!
#![doc = include_str!("../../docs/tree.md")]

mod aba;
mod batch;
mod build;
mod crba;
mod data;
mod efpa;
pub mod joint;
mod joint_sums;
mod kinematics;
mod lanes;
mod links;
mod midpoint;
mod propagate;
mod rigid;
mod rnea;
mod rows;
pub mod spatial;
mod squares;
mod stepping;
mod turns;

pub use batch::Batch;
pub(crate) use build::inertia_fault;
use data::Body;
pub use data::Data;
pub(crate) use data::Passes;
pub use efpa::Propagation;
use joint::ElementaryJoint;
pub use joint::TreeJoint;
pub use midpoint::{Midpoint, MidpointStep};
pub use propagate::{Elimination, KktGiven, KktUnknowns};
pub(crate) use rows::LinkRows;
pub use rows::{LinkPoint, TreeRows};
use spatial::{Inertia, Pose};
pub(crate) use squares::LinkSquare;

pub use crate::error::{LinkName, TreeError};
use crate::index::LinkId;
pub use crate::math::MassProperties;

/// One link, the joint that carries it, and where that joint sits on the parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name, for people; need not be unique.
    pub name: String,
    /// The link that carries it, anywhere in the list; `None` is the ground.
    pub parent: Option<LinkId>,
    /// How it moves against its parent.
    pub joint: TreeJoint,
    /// The joint frame in the frame of the parent link; the link's own frame at zero displacement.
    pub place: Pose,
    /// Its mass.
    pub body: MassProperties,
    /// Added to the diagonal of M for each of its velocities: the inertia of a rotor \[kg m²\] or \[kg\].
    pub armature: f64,
    /// Force against each of its velocities, per velocity \[N m s\] or \[N s/m\].
    pub damping: f64,
}

impl Link {
    /// A link without armature or damping.
    pub fn new(
        parent: Option<LinkId>,
        joint: TreeJoint,
        place: Pose,
        body: MassProperties,
    ) -> Link {
        Link {
            name: String::new(),
            parent,
            joint,
            place,
            body,
            armature: 0.0,
            damping: 0.0,
        }
    }

    /// The same link with a name.
    pub fn named(mut self, name: impl Into<String>) -> Link {
        self.name = name.into();
        self
    }
}

/// Where the numbers of a link's joint begin in a configuration and in a velocity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Offsets {
    /// First coordinate.
    pub q: usize,
    /// First velocity.
    pub v: usize,
}

/// Where a link sits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seat {
    /// The node that carries it; 0 is the ground.
    node: usize,
    /// Its frame in that of the node.
    frame: Pose,
}

impl Seat {
    const GROUND: Seat = Seat {
        node: 0,
        frame: Pose::IDENTITY,
    };
}

/// Armature κ of a floating joint on the ground. It adds κ1 to the joint's block of M, and κ ω × v to the bias where the
/// velocity is told in axes that turn: what a mass κ at the origin with moments κ1 adds, but it weighs nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Burden {
    node: usize,
    armature: f64,
}

/// A kinematic tree: checked, numbered depth-first inside, ready for the recursions.
///
/// Configurations and velocities are arrays in the order in which the links were given, whatever the order of
/// the recursions is.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    links: Vec<Link>,
    /// Where each link sits.
    seats: Vec<Seat>,
    /// First coordinate and first velocity of each link.
    offsets: Vec<Offsets>,
    /// Elementary joints, parents before children, every subtree contiguous. The first is the ground.
    nodes: Vec<Node>,
    /// The rigid bodies behind them, in their axes; and the same eight by eight.
    inertias: Vec<Inertia>,
    own: Vec<rigid::Own>,
    /// Armature of floating joints, which is part of the inertias above.
    burdens: Vec<Burden>,
    n_coordinates: usize,
    n_dofs: usize,
    /// Nodes of several dofs.
    n_multi: usize,
    /// Where the angles of the nodes that turn about an axis are.
    turning: Vec<usize>,
    /// The velocity that each dof, counted depth-first, is.
    dof_of: Vec<usize>,
    /// Whether links were given depth-first, so that the two counts are one.
    ordered: bool,
}

/// An elementary joint, in a frame whose z is the joint's axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    parent: usize,
    kind: ElementaryJoint,
    q_at: usize,
    v_at: usize,
    /// The node's frame at zero displacement, in the parent node's frame.
    place: Pose,
    /// Where its axes are those of the parent up to order and sign, which robots are full of: which.
    swap: Option<Swap>,
    /// Whether its origin is always the parent's: nothing need be moved between the two.
    concentric: bool,
    armature: f64,
    damping: f64,
    /// The link it belongs to, for messages.
    link: usize,
    /// Position among the nodes of several dofs.
    multi: usize,
    /// Position among the nodes that turn about an axis.
    turn: usize,
    /// Nodes between it and the ground, itself included.
    depth: usize,
    /// Its dofs counted depth-first: its own first one, and one past the last of its subtree.
    columns: (usize, usize),
}

/// A rotation with one entry ±1 in each column: where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Swap([u8; 3]);

impl Tree {
    /// The links as given.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Length of a configuration.
    pub fn n_coordinates(&self) -> usize {
        self.n_coordinates
    }

    /// Length of a velocity.
    pub fn n_dofs(&self) -> usize {
        self.n_dofs
    }

    /// First coordinate and first velocity of a link's joint.
    pub fn offsets(&self, link: LinkId) -> Option<Offsets> {
        self.offsets.get(link.index()).copied()
    }

    /// Sum of all masses \[kg\].
    pub fn mass(&self) -> f64 {
        self.links.iter().map(|link| link.body.mass).sum()
    }

    /// The configuration with no displacement anywhere.
    pub fn neutral(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.n_coordinates];
        for node in &self.nodes[1..] {
            match node.kind {
                ElementaryJoint::Ball => q[node.q_at] = 1.0,
                ElementaryJoint::Free => q[node.q_at + 3] = 1.0,
                _ => {}
            }
        }
        q
    }

    /// Moves a configuration for the time h at constant velocity, on the manifold: quaternions stay unit.
    pub fn integrate(&self, q: &mut [f64], v: &[f64], h: f64) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.check("velocity", v, self.n_dofs)?;
        for node in &self.nodes[1..] {
            let coordinates = node.q_at..node.q_at + node.kind.coordinates();
            let dofs = node.v_at..node.v_at + node.kind.dofs();
            joint::advance(node.kind, &mut q[coordinates], &v[dofs], h);
        }
        Ok(())
    }

    /// The velocity that moves a configuration to another in one second: `integrate` with it leads there.
    pub fn difference(&self, from: &[f64], to: &[f64]) -> Result<Vec<f64>, TreeError> {
        self.check_configuration(from)?;
        self.check_configuration(to)?;
        let mut v = vec![0.0; self.n_dofs];
        for node in &self.nodes[1..] {
            let own = node.q_at..node.q_at + node.kind.coordinates();
            let dofs = node.v_at..node.v_at + node.kind.dofs();
            joint::difference(node.kind, &from[own.clone()], &to[own], &mut v[dofs]);
        }
        Ok(v)
    }

    /// How coordinates change along each velocity of [`Tree::integrate`] from here: the entries that are not zero. Columns
    /// are normal to each other.
    pub(crate) fn tangents(&self, q: &[f64]) -> Vec<Vec<(usize, f64)>> {
        let mut columns = vec![Vec::new(); self.n_dofs];
        for node in &self.nodes[1..] {
            let own = &q[node.q_at..node.q_at + node.kind.coordinates()];
            joint::slopes(node.kind, own, |dof, at, x| {
                columns[node.v_at + dof].push((node.q_at + at, x));
            });
        }
        columns
    }

    /// Work arrays for this tree, in its neutral configuration.
    pub fn data(&self) -> Data {
        Data::new(self)
    }

    fn check(&self, what: &'static str, values: &[f64], expected: usize) -> Result<(), TreeError> {
        let found = values.len();
        if found != expected {
            return Err(TreeError::WrongLength {
                what,
                expected,
                found,
            });
        }
        // A sum is finite unless a term is not, or it overflows; eight of them need not wait for each other.
        let (eights, rest) = values.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for eight in eights {
            for k in 0..8 {
                sums[k] += eight[k];
            }
        }
        if sums.iter().chain(rest).sum::<f64>().is_finite() {
            return Ok(());
        }
        match values.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(index) => Err(TreeError::NotFinite {
                what,
                index,
                value: values[index],
            }),
        }
    }

    fn name_of(&self, link: usize) -> LinkName {
        LinkName {
            id: LinkId(link as u32),
            name: self.links[link].name.clone(),
        }
    }

    fn seat(&self, link: LinkId) -> Result<&Seat, TreeError> {
        self.seats.get(link.index()).ok_or(TreeError::UnknownLink {
            link,
            count: self.links.len(),
        })
    }
}
