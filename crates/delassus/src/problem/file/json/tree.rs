//! Kinds `tree` and `treecontact`: a kinematic tree with equality rows, or with contacts over one step.

use std::sync::Arc;

use glam::{DMat3, DQuat, DVec3};
use serde::Deserialize;

use super::super::{FileContent, FileError, Loaded, TreeProblem, Unfit};
use super::keyed::Keyed;
use super::physical::{Cone, Friction, UNIT_TOLERANCE, contact_frame, contact_law, eight};
use crate::error::BuildError;
use crate::index::{LinkId, MassId};
use crate::law::Law;
use crate::problem::mass::MassBlock;
use crate::problem::place::{At, Place};
use crate::problem::{Problem, ProblemBuilder};
use crate::tree::spatial::Pose;
use crate::tree::{Data, Link, LinkPoint, MassProperties, Tree, TreeError, TreeJoint, TreeRows};

problem_file! {
    /// [M Jᵀ; J −σ1][x₁; x₂] = [y₁; y₂].
    TreeFile {
        joints: Vec<Keyed<JointEntry>>,
        q: Vec<f64>,
        #[serde(default)]
        qd: Option<Vec<f64>>,
        constraints: Vec<Keyed<Constraint>>,
        y1: Vec<f64>,
        y2: Vec<f64>,
        #[serde(default)]
        sigma: f64,
    }
}

problem_file! {
    /// One step of a tree with contacts.
    TreeContactFile {
        h: f64,
        #[serde(default = "eight")]
        d: u32,
        #[serde(default = "polyhedral")]
        cone: Cone,
        joints: Vec<Keyed<JointEntry>>,
        q: Vec<f64>,
        v: Vec<f64>,
        tau: Vec<f64>,
        gravity: [f64; 3],
        contacts: Vec<Keyed<Contact>>,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JointEntry {
    parent: i64,
    #[serde(rename = "type")]
    kind: JointKind,
    #[serde(default)]
    axis: [f64; 3],
    p: [f64; 3],
    quat: [f64; 4],
    m: f64,
    com: [f64; 3],
    #[serde(rename = "I")]
    inertia: [[f64; 3]; 3],
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum JointKind {
    Revolute,
    Prismatic,
    Spherical,
    Free,
    Fixed,
}

/// Rows d·(velocity of pa on a − velocity of pb on b); a weld adds three angular rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Constraint {
    a: i64,
    pa: [f64; 3],
    b: i64,
    #[serde(default)]
    pb: [f64; 3],
    #[serde(default)]
    dirs: Option<Vec<[f64; 3]>>,
    #[serde(default)]
    weld: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contact {
    a: i64,
    pa: [f64; 3],
    b: i64,
    #[serde(default)]
    pb: [f64; 3],
    n: [f64; 3],
    t1: [f64; 3],
    t2: [f64; 3],
    mu: Friction,
    #[serde(default)]
    q_n: f64,
    #[serde(default)]
    sigma_n: f64,
}

fn polyhedral() -> Cone {
    Cone::Polyhedral
}

pub(super) fn tree(file: TreeFile) -> Result<Loaded, FileError> {
    let (tree, data) = build(&file.joints, &file.q)?;
    let mut rows = TreeRows::default();
    for (i, constraint) in file.constraints.iter().enumerate() {
        add_constraint(&tree, &data, &mut rows, constraint)
            .map_err(|what| FileError::invalid(format!("constraints[{i}]"), what))?;
    }
    let v = file.qd.unwrap_or_else(|| vec![0.0; tree.n_dofs()]);
    for (name, found, expected) in [
        ("y1", file.y1.len(), tree.n_dofs()),
        ("qd", v.len(), tree.n_dofs()),
        ("y2", file.y2.len(), rows.len()),
    ] {
        check_length(name, found, expected)?;
    }
    let sigma = vec![file.sigma; rows.len()];
    let mut builder = Problem::builder();
    let id = add_tree(&mut builder, &tree, &file.q, &file.y1)?;
    if !rows.is_empty() {
        add_rows(
            &mut builder,
            (id, &tree, &data),
            &rows,
            (Law::Equality, &sigma, &file.y2),
        )
        .map_err(|error| FileError::invalid("constraints", error))?;
    }
    let problem = builder
        .build()
        .map_err(|error| FileError::invalid("tree", error))?;
    Ok(Loaded {
        kind: "tree",
        title: file.title,
        guess: None,
        content: FileContent::Tree(Box::new(TreeProblem { problem, v })),
    })
}

pub(super) fn contact(file: TreeContactFile) -> Result<Loaded, FileError> {
    if !(0.0 < file.h) {
        let what = format!("the time step is {}; it must be positive", file.h);
        return Err(FileError::invalid("h", what));
    }
    let (tree, mut data) = build(&file.joints, &file.q)?;
    let n = tree.n_dofs();
    check_length("v", file.v.len(), n)?;
    check_length("tau", file.tau.len(), n)?;
    // p = M v + h (τ − bias)
    let fail = |error: TreeError| FileError::invalid("tree", error);
    let (mut bias, mut p) = (vec![0.0; n], vec![0.0; n]);
    let gravity = DVec3::from(file.gravity);
    tree.bias(&mut data, (&file.q, &file.v), gravity, &mut bias)
        .map_err(fail)?;
    tree.mul_mass(&mut data, &file.v, &mut p).map_err(fail)?;
    for i in 0..n {
        p[i] += file.h * (file.tau[i] - bias[i]);
    }
    let mut builder = Problem::builder();
    let id = add_tree(&mut builder, &tree, &file.q, &p)?;
    for (i, contact) in file.contacts.iter().enumerate() {
        let place = format!("contacts[{i}]");
        let fail = |why: Unfit| FileError::invalid(&place, why);
        let frame = contact_frame(contact.n, contact.t1, contact.t2).map_err(fail)?;
        let law = contact_law(file.cone, contact.mu, file.d).map_err(fail)?;
        let mut rows = TreeRows::default();
        let ends = Ends::of(
            &tree,
            &data,
            (contact.a, contact.pa),
            (contact.b, contact.pb),
        );
        let ends = ends.map_err(fail)?;
        for direction in frame {
            ends.linear(&mut rows, direction).map_err(fail)?;
        }
        let (sigma, q) = ([contact.sigma_n, 0.0, 0.0], [contact.q_n, 0.0, 0.0]);
        add_rows(&mut builder, (id, &tree, &data), &rows, (law, &sigma, &q))
            .map_err(|error| fail(error.into()))?;
    }
    let problem = builder
        .build()
        .map_err(|error| FileError::invalid("treecontact", error))?;
    Ok(Loaded::problem("treecontact", file.title, problem))
}

fn check_length(name: &str, found: usize, expected: usize) -> Result<(), FileError> {
    if found == expected {
        return Ok(());
    }
    let what = format!("has {found} numbers where {expected} are needed");
    Err(FileError::invalid(name, what))
}

fn add_tree(
    builder: &mut ProblemBuilder,
    tree: &Arc<Tree>,
    q: &[f64],
    p: &[f64],
) -> Result<MassId, FileError> {
    let mass = MassBlock::tree(Arc::clone(tree), q)
        .map_err(|error| FileError::invalid("joints", error))?;
    builder
        .add_mass(mass, p)
        .map_err(|error| FileError::invalid("joints", error))
}

/// Adds a block on the links that its rows name.
fn add_rows(
    builder: &mut ProblemBuilder,
    (mass, tree, data): (MassId, &Tree, &Data),
    rows: &TreeRows,
    (law, sigma, q): (Law, &[f64], &[f64]),
) -> Result<(), BuildError> {
    let all: Vec<usize> = (0..rows.len()).collect();
    let links = tree.rows_on_links(data, rows, &all);
    let on = links.iter().map(|(link, rows)| At {
        mass,
        place: Place::Link { link: *link },
        rows,
    });
    let on: Vec<At<'_>> = on.collect();
    builder.add_block_at(law, &on, sigma, q).map(|_| ())
}

/// The tree, placed in its configuration.
fn build(joints: &[Keyed<JointEntry>], q: &[f64]) -> Result<(Arc<Tree>, Data), FileError> {
    let mut links = Vec::with_capacity(joints.len());
    for (i, joint) in joints.iter().enumerate() {
        links.push(link(joint).map_err(|what| FileError::invalid(format!("joints[{i}]"), what))?);
    }
    let tree = Tree::new(links).map_err(|error| FileError::invalid("joints", error))?;
    let mut data = tree.data();
    tree.kinematics(q, &mut data)
        .map_err(|error| FileError::invalid("q", error))?;
    Ok((Arc::new(tree), data))
}

fn link(entry: &JointEntry) -> Result<Link, Unfit> {
    let parent = match entry.parent {
        -1 => None,
        parent => Some(u32::try_from(parent).map(LinkId).map_err(|_| {
            format!("parent is {parent}; joints are counted from 0, and -1 is the ground")
        })?),
    };
    let axis = DVec3::from(entry.axis);
    let joint = match entry.kind {
        JointKind::Revolute => TreeJoint::Revolute { axis },
        JointKind::Prismatic => TreeJoint::Prismatic { axis },
        JointKind::Spherical => TreeJoint::Ball,
        JointKind::Free => TreeJoint::Floating,
        JointKind::Fixed => TreeJoint::Fixed,
    };
    let [w, x, y, z] = entry.quat;
    let orientation = DQuat::from_xyzw(x, y, z, w);
    if !((orientation.length() - 1.0).abs() <= UNIT_TOLERANCE) {
        let length = orientation.length();
        let what = format!("quat has length {length}; give a unit quaternion (w, x, y, z)");
        return Err(what.into());
    }
    let inertia = DMat3::from_cols_array_2d(&entry.inertia);
    let body = MassProperties {
        mass: entry.m,
        com: DVec3::from(entry.com),
        inertia,
    };
    let place = Pose::new(DVec3::from(entry.p), orientation);
    Ok(Link::new(parent, joint, place, body))
}

/// The two ends of a constraint, in the world; `None` is the ground.
struct Ends<'a> {
    tree: &'a Tree,
    data: &'a Data,
    ends: [(Option<LinkPoint>, f64); 2],
}

impl<'a> Ends<'a> {
    fn of(
        tree: &'a Tree,
        data: &'a Data,
        a: (i64, [f64; 3]),
        b: (i64, [f64; 3]),
    ) -> Result<Ends<'a>, Unfit> {
        if a.0 == b.0 {
            let what = format!(
                "a and b are both {}; a constraint needs two different links",
                a.0
            );
            return Err(what.into());
        }
        let end = |(link, point): (i64, [f64; 3])| {
            if link == -1 {
                return Ok(None);
            }
            let count = tree.links().len();
            let Some(id) = u32::try_from(link).ok().filter(|id| (*id as usize) < count) else {
                return Err(Unfit::Value(format!(
                    "link {link} does not exist; there are {count}, counted from 0, and -1 is ground"
                )));
            };
            let pose = tree.pose(data, LinkId(id))?;
            let point = pose.point(DVec3::from(point));
            Ok(Some(LinkPoint::new(LinkId(id), point)))
        };
        Ok(Ends {
            tree,
            data,
            ends: [(end(a)?, 1.0), (end(b)?, -1.0)],
        })
    }

    fn linear(&self, rows: &mut TreeRows, direction: DVec3) -> Result<(), Unfit> {
        rows.start();
        for (end, sign) in self.ends {
            if let Some(end) = end {
                self.tree
                    .add_linear(self.data, rows, end, sign * direction)?;
            }
        }
        Ok(())
    }

    fn angular(&self, rows: &mut TreeRows, direction: DVec3) -> Result<(), Unfit> {
        rows.start();
        for (end, sign) in self.ends {
            if let Some(LinkPoint { link, .. }) = end {
                self.tree.add_angular(rows, link, sign * direction)?;
            }
        }
        Ok(())
    }
}

fn add_constraint(
    tree: &Tree,
    data: &Data,
    rows: &mut TreeRows,
    constraint: &Constraint,
) -> Result<(), Unfit> {
    let ends = Ends::of(
        tree,
        data,
        (constraint.a, constraint.pa),
        (constraint.b, constraint.pb),
    )?;
    match (&constraint.dirs, constraint.weld) {
        (Some(directions), false) => {
            for &direction in directions {
                ends.linear(rows, DVec3::from(direction))?;
            }
        }
        (None, true) => {
            for axis in DVec3::AXES {
                ends.linear(rows, axis)?;
            }
            for axis in DVec3::AXES {
                ends.angular(rows, axis)?;
            }
        }
        _ => {
            return Err("give either \"dirs\" or \"weld\": true".into());
        }
    }
    Ok(())
}
