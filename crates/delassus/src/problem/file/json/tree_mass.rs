//! A tree as a mass of a `problem`: its links and its configuration, number for number, so that a problem comes back
//! with the same bits.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};

use super::super::Unfit;
use crate::index::LinkId;
use crate::problem::mass::{MassBlock, TreeMass};
use crate::tree::spatial::Pose;
use crate::tree::{Link, MassProperties, Tree, TreeJoint};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeEntry {
    links: Vec<LinkEntry>,
    q: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkEntry {
    parent: i64,
    joint: JointEntry,
    p: [f64; 3],
    /// By rows.
    #[serde(rename = "R")]
    rotation: [[f64; 3]; 3],
    m: f64,
    com: [f64; 3],
    #[serde(rename = "I")]
    inertia: [[f64; 3]; 3],
    #[serde(default)]
    armature: f64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    rename_all = "lowercase",
    tag = "type",
    rename_all_fields = "lowercase"
)]
enum JointEntry {
    Fixed,
    Floating,
    Revolute { axis: [f64; 3] },
    Continuous { axis: [f64; 3] },
    Prismatic { axis: [f64; 3] },
    Ball,
    Universal { first: [f64; 3], second: [f64; 3] },
    Planar { normal: [f64; 3] },
    Helical { axis: [f64; 3], pitch: f64 },
}

impl TreeEntry {
    pub(super) fn of(mass: &TreeMass) -> TreeEntry {
        TreeEntry {
            links: mass.tree().links().iter().map(LinkEntry::of).collect(),
            q: mass.configuration().to_vec(),
        }
    }

    pub(super) fn mass(&self) -> Result<MassBlock, Unfit> {
        let mut links = Vec::with_capacity(self.links.len());
        for (i, entry) in self.links.iter().enumerate() {
            links.push(entry.link().map_err(|why| Unfit::Entry {
                list: "links",
                index: i,
                why: Box::new(why),
            })?);
        }
        let tree = Tree::new(links)?;
        Ok(MassBlock::tree(Arc::new(tree), &self.q)?)
    }
}

impl LinkEntry {
    fn of(link: &Link) -> LinkEntry {
        let rows = |m: &DMat3| m.transpose().to_cols_array_2d();
        LinkEntry {
            parent: link.parent.map_or(-1, |parent| i64::from(parent.0)),
            joint: JointEntry::of(link.joint),
            p: link.place.position.to_array(),
            rotation: rows(&link.place.rotation),
            m: link.body.mass,
            com: link.body.com.to_array(),
            inertia: rows(&link.body.inertia),
            armature: link.armature,
        }
    }

    fn link(&self) -> Result<Link, Unfit> {
        let parent = match self.parent {
            -1 => None,
            parent => Some(u32::try_from(parent).map(LinkId).map_err(|_| {
                format!("parent is {parent}; links are counted from 0, and -1 is the ground")
            })?),
        };
        let matrix = |rows: &[[f64; 3]; 3]| DMat3::from_cols_array_2d(rows).transpose();
        let place = Pose {
            rotation: matrix(&self.rotation),
            position: DVec3::from(self.p),
        };
        let body = MassProperties {
            mass: self.m,
            com: DVec3::from(self.com),
            inertia: matrix(&self.inertia),
        };
        let mut link = Link::new(parent, self.joint.joint(), place, body);
        link.armature = self.armature;
        Ok(link)
    }
}

impl JointEntry {
    fn of(joint: TreeJoint) -> JointEntry {
        let a = |axis: DVec3| axis.to_array();
        match joint {
            TreeJoint::Fixed => JointEntry::Fixed,
            TreeJoint::Floating => JointEntry::Floating,
            TreeJoint::Revolute { axis } => JointEntry::Revolute { axis: a(axis) },
            TreeJoint::Continuous { axis } => JointEntry::Continuous { axis: a(axis) },
            TreeJoint::Prismatic { axis } => JointEntry::Prismatic { axis: a(axis) },
            TreeJoint::Ball => JointEntry::Ball,
            TreeJoint::Universal { first, second } => JointEntry::Universal {
                first: a(first),
                second: a(second),
            },
            TreeJoint::Planar { normal } => JointEntry::Planar { normal: a(normal) },
            TreeJoint::Helical { axis, pitch } => JointEntry::Helical {
                axis: a(axis),
                pitch,
            },
        }
    }

    fn joint(self) -> TreeJoint {
        let v = DVec3::from_array;
        match self {
            JointEntry::Fixed => TreeJoint::Fixed,
            JointEntry::Floating => TreeJoint::Floating,
            JointEntry::Revolute { axis } => TreeJoint::Revolute { axis: v(axis) },
            JointEntry::Continuous { axis } => TreeJoint::Continuous { axis: v(axis) },
            JointEntry::Prismatic { axis } => TreeJoint::Prismatic { axis: v(axis) },
            JointEntry::Ball => TreeJoint::Ball,
            JointEntry::Universal { first, second } => TreeJoint::Universal {
                first: v(first),
                second: v(second),
            },
            JointEntry::Planar { normal } => TreeJoint::Planar { normal: v(normal) },
            JointEntry::Helical { axis, pitch } => TreeJoint::Helical {
                axis: v(axis),
                pitch,
            },
        }
    }
}
