//! From a list of links in any order to a checked tree, numbered depth-first.

use glam::{DMat3, DVec3};

use super::joint::ElementaryJoint;
use super::rigid::Own;
use super::spatial::{Inertia, Pose};
use super::{Burden, Link, LinkName, Node, Offsets, Seat, Swap, Tree, TreeError, TreeJoint};
use crate::index::LinkId;
use crate::linalg::sym3::Sym3;
use crate::math::simd::LANES;
use crate::math::tangents;

/// Inertias are rounded when they are written down: conditions on principal moments hold to this share of the
/// largest one.
const INERTIA_TOLERANCE: f64 = 1e-6;
/// Moments below the mass times this are rounding: a micrometre squared \[m²\].
const NEGLIGIBLE: f64 = 1e-12;
/// Frames are accepted within this distance of being orthonormal.
const FRAME_TOLERANCE: f64 = 1e-6;

impl Tree {
    /// Checks the links and arranges them. Links may come in any order.
    pub fn new(links: Vec<Link>) -> Result<Tree, TreeError> {
        for (i, link) in links.iter().enumerate() {
            check_link(i, link, links.len())?;
        }
        let order = depth_first(&links)?;
        let mut tree = Tree {
            seats: vec![Seat::GROUND; links.len()],
            offsets: Vec::with_capacity(links.len()),
            nodes: vec![Node::new(0, ElementaryJoint::Free, Pose::IDENTITY)],
            inertias: vec![Inertia::default()],
            own: Vec::new(),
            burdens: Vec::new(),
            n_coordinates: 0,
            n_dofs: 0,
            n_multi: 0,
            turning: Vec::new(),
            dof_of: Vec::new(),
            ordered: false,
            links,
        };
        for link in &tree.links {
            tree.offsets.push(Offsets {
                q: tree.n_coordinates,
                v: tree.n_dofs,
            });
            tree.n_coordinates += link.joint.coordinates();
            tree.n_dofs += link.joint.dofs();
        }
        for i in order {
            tree.add_nodes(i)?;
        }
        tree.close_columns();
        tree.ordered = tree.dof_of.is_sorted();
        tree.own = vec![Own::ZERO; tree.nodes.len().div_ceil(LANES)];
        for (i, inertia) in tree.inertias.iter().enumerate().skip(1) {
            tree.own[i / LANES].set(i % LANES, inertia);
        }
        Ok(tree)
    }

    /// Adds the elementary joints of a link and lays its body on the last of them.
    fn add_nodes(&mut self, i: usize) -> Result<(), TreeError> {
        let link = &self.links[i];
        let seat = match link.parent {
            Some(parent) => self.seats[parent.index()],
            None => Seat::GROUND,
        };
        let mut parent = seat.node;
        let parts = link.joint.parts().ok_or_else(|| TreeError::BadAxis {
            link: self.name_of(i),
            joint: link.joint.name(),
        })?;
        let Offsets {
            q: mut q_at,
            v: mut v_at,
        } = self.offsets[i];
        // What is left between the last node and the frame that comes next.
        let mut gap = seat.frame.then(&link.place);
        for (kind, axis) in parts {
            let (t1, t2) = tangents(axis);
            let turn = Pose {
                rotation: DMat3::from_cols(t1, t2, axis),
                position: DVec3::ZERO,
            };
            let mut node = Node::new(parent, kind, gap.then(&turn));
            (node.q_at, node.v_at, node.link) = (q_at, v_at, i);
            node.depth = self.nodes[parent].depth + 1;
            node.damping = link.damping;
            if kind != ElementaryJoint::Free {
                node.armature = link.armature;
            }
            if matches!(kind, ElementaryJoint::Ball | ElementaryJoint::Free) {
                node.multi = self.n_multi;
                self.n_multi += 1;
            }
            if matches!(kind, ElementaryJoint::Turn | ElementaryJoint::Screw(_)) {
                node.turn = self.turning.len();
                self.turning.push(q_at);
            }
            q_at += kind.coordinates();
            v_at += kind.dofs();
            let first = self.dof_of.len();
            self.dof_of.extend(node.v_at..node.v_at + kind.dofs());
            node.columns = (first, self.dof_of.len());
            parent = self.nodes.len();
            self.nodes.push(node);
            self.inertias.push(Inertia::default());
            gap = turn.inverse();
        }
        let body = &link.body;
        let inertia = Inertia::new(body.mass, body.com, &body.inertia);
        let moved = inertia.turned(&gap.rotation).shifted(gap.position);
        self.inertias[parent].add(&moved);
        if link.joint == TreeJoint::Floating && link.armature != 0.0 {
            let armature = link.armature;
            let round = DMat3::from_diagonal(DVec3::splat(armature));
            self.inertias[parent].add(&Inertia::new(armature, DVec3::ZERO, &round));
            self.burdens.push(Burden {
                node: parent,
                armature,
            });
        }
        let sum = &self.inertias[parent];
        if !(sum.mass.is_finite() && sum.first.is_finite() && sum.second.matrix().is_finite()) {
            return Err(TreeError::BadInertia {
                link: self.name_of(i),
                reason: "about its joint it overflows".to_owned(),
            });
        }
        self.seats[i] = Seat {
            node: parent,
            frame: gap,
        };
        Ok(())
    }

    /// Every node's columns reach to the end of its subtree.
    fn close_columns(&mut self) {
        for i in (1..self.nodes.len()).rev() {
            let (parent, end) = (self.nodes[i].parent, self.nodes[i].columns.1);
            let columns = &mut self.nodes[parent].columns;
            columns.1 = columns.1.max(end);
        }
    }
}

impl Node {
    fn new(parent: usize, kind: ElementaryJoint, place: Pose) -> Node {
        let fixed = matches!(kind, ElementaryJoint::Turn | ElementaryJoint::Ball);
        Node {
            parent,
            kind,
            q_at: 0,
            v_at: 0,
            swap: Swap::of(&place.rotation),
            concentric: fixed && place.position == DVec3::ZERO,
            place,
            armature: 0.0,
            damping: 0.0,
            link: 0,
            multi: 0,
            turn: 0,
            depth: 0,
            columns: (0, 0),
        }
    }
}

impl Swap {
    /// A rotation that only swaps axes and turns them round, exactly.
    fn of(rotation: &DMat3) -> Option<Swap> {
        let mut entries = [0; 3];
        for k in 0..3 {
            let column = rotation.col(k).to_array();
            entries[k] = column.iter().position(|x| x.abs() == 1.0)? as u8;
            if column.iter().filter(|x| **x == 0.0).count() != 2 {
                return None;
            }
        }
        Some(Swap(entries))
    }

    /// Which column of the other frame column k is, and its sign.
    #[inline]
    pub(super) fn entry(&self, rotation: &DMat3, k: usize) -> (usize, f64) {
        let at = usize::from(self.0[k]);
        (at, rotation.col(k)[at])
    }

    /// The axes, given the rotation and those of the other frame.
    #[inline]
    pub(super) fn axes(&self, rotation: &DMat3, other: &DMat3) -> DMat3 {
        let columns = [other.x_axis, other.y_axis, other.z_axis];
        let axis = |k: usize| {
            let (at, sign) = self.entry(rotation, k);
            columns[at] * sign
        };
        DMat3::from_cols(axis(0), axis(1), axis(2))
    }
}

/// Links so that parents come before children and every subtree is contiguous.
fn depth_first(links: &[Link]) -> Result<Vec<usize>, TreeError> {
    let mut children = vec![Vec::new(); links.len()];
    let mut open = Vec::new();
    for (i, link) in links.iter().enumerate().rev() {
        match link.parent {
            Some(parent) => children[parent.index()].push(i),
            None => open.push(i),
        }
    }
    let mut order = Vec::with_capacity(links.len());
    let mut reached = vec![false; links.len()];
    while let Some(i) = open.pop() {
        reached[i] = true;
        order.push(i);
        open.extend(&children[i]);
    }
    // Every link has one parent, so what the ground does not reach hangs on a cycle.
    let Some(mut i) = reached.iter().position(|reached| !reached) else {
        return Ok(order);
    };
    for _ in 0..links.len() {
        i = links[i].parent.map_or(i, LinkId::index);
    }
    Err(TreeError::Cycle {
        link: name(i, &links[i]),
    })
}

fn name(i: usize, link: &Link) -> LinkName {
    LinkName {
        id: LinkId(i as u32),
        name: link.name.clone(),
    }
}

fn check_link(i: usize, link: &Link, count: usize) -> Result<(), TreeError> {
    let name = || name(i, link);
    if let Some(parent) = link.parent.filter(|parent| count <= parent.index()) {
        return Err(TreeError::MissingParent {
            link: name(),
            parent,
            count,
        });
    }
    let body = &link.body;
    for (what, value) in [
        ("mass", body.mass),
        ("armature", link.armature),
        ("damping", link.damping),
    ] {
        if !(0.0 <= value && value.is_finite()) {
            return Err(TreeError::BadValue {
                link: name(),
                what,
                value,
                needs: "finite and not negative",
            });
        }
    }
    let hangs = link.parent.is_some();
    if link.joint == TreeJoint::Floating && hangs && link.armature != 0.0 {
        return Err(TreeError::BadValue {
            link: name(),
            what: "armature",
            value: link.armature,
            needs: "zero on a floating joint between two links",
        });
    }
    if !body.com.is_finite() {
        let value = body.com.to_array().into_iter().find(|x| !x.is_finite());
        return Err(TreeError::BadValue {
            link: name(),
            what: "centre of mass",
            value: value.unwrap_or(f64::NAN),
            needs: "finite",
        });
    }
    let rotation = &link.place.rotation;
    let skew = *rotation * rotation.transpose() - DMat3::IDENTITY;
    let largest = skew
        .to_cols_array()
        .iter()
        .fold(0.0, |m: f64, x| m.max(x.abs()));
    let frame = largest <= FRAME_TOLERANCE && 0.0 < rotation.determinant();
    if !(frame && link.place.position.is_finite() && rotation.is_finite()) {
        return Err(TreeError::BadPlace { link: name() });
    }
    inertia_fault(body.mass, &body.inertia).map_or(Ok(()), |reason| {
        Err(TreeError::BadInertia {
            link: name(),
            reason,
        })
    })
}

/// Why an inertia about the centre of mass belongs to no body, if so.
pub(crate) fn inertia_fault(mass: f64, inertia: &DMat3) -> Option<String> {
    if !inertia.is_finite() {
        return Some("an entry is not finite".to_owned());
    }
    let entries = inertia.to_cols_array();
    let largest = entries.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let skew = (*inertia - inertia.transpose()).to_cols_array();
    if skew.iter().any(|x| INERTIA_TOLERANCE * largest < x.abs()) {
        return Some("it is not symmetric".to_owned());
    }
    if mass == 0.0 && largest != 0.0 {
        return Some("the mass is zero but the inertia is not".to_owned());
    }
    let moments = Sym3::of(inertia).eigenvalues();
    let slack = INERTIA_TOLERANCE * largest + NEGLIGIBLE * mass;
    if moments[0] < -slack {
        return Some(format!("a principal moment is {:.6e}", moments[0]));
    }
    // No body has a principal moment above the sum of the other two: ∫x² ≥ 0 along every axis.
    if moments[0] + moments[1] + slack < moments[2] {
        return Some(format!(
            "the principal moments {:.6e}, {:.6e}, {:.6e} break the triangle inequality",
            moments[0], moments[1], moments[2]
        ));
    }
    None
}
