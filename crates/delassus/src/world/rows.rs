//! Four row-builders from which every joint and contact is made: a direction at a point, an axis of rotation,
//! both as rows [dᵀ, (arm × d)ᵀ] of G, and the assembly of several into one block.

use glam::DVec3;

use super::warm::JointPart;
use crate::index::BodyId;
use crate::law::Law;

/// A body of the world, or the world itself.
pub type Link = Option<BodyId>;

/// One row of G on two bodies, first minus second: six numbers each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) first: [f64; 6],
    pub(super) second: [f64; 6],
    /// Violation g \[m or rad\]; `None` for rows that prescribe a velocity alone.
    pub(super) gap: Option<f64>,
}

/// Rows that share a law, on any number of bodies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RowBlock {
    /// The bodies with their columns of G; reactions are told of the first.
    pub(super) sides: Vec<Side>,
    /// Violation g of each row \[m or rad\]; `None` for rows that prescribe a velocity alone.
    pub(super) gaps: Vec<Option<f64>>,
    pub(super) law: Law,
    /// Which part of the joint this is: its impulse is found again by it.
    pub(super) part: JointPart,
    pub(super) target: Target,
}

/// What a block is to one of its bodies: six numbers a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Side {
    pub(super) link: Link,
    pub(super) rows: Vec<[f64; 6]>,
}

impl RowBlock {
    /// Rows between two bodies.
    pub(super) fn between(
        bodies: [Link; 2],
        rows: &[Row],
        law: Law,
        part: JointPart,
        target: Target,
    ) -> RowBlock {
        let [a, b] = bodies;
        let first = Side {
            link: a,
            rows: rows.iter().map(|row| row.first).collect(),
        };
        let second = Side {
            link: b,
            rows: rows.iter().map(|row| row.second).collect(),
        };
        RowBlock {
            sides: vec![first, second],
            gaps: rows.iter().map(|row| row.gap).collect(),
            law,
            part,
            target,
        }
    }
}

/// Where the wanted velocity and compliance of a block come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    /// Stabilised by SPOOK with the joint's compliance and damping.
    Hold,
    /// One-sided limit: closes exactly its gap.
    Limit,
    /// A prescribed velocity [m/s or rad/s].
    Velocity(f64),
    /// An implicit spring towards a position: stiffness and damping.
    Spring(f64, f64),
}

/// Velocity along `direction` of a point seen from both bodies; arms reach from their centres to it.
pub(super) fn along(direction: DVec3, arms: [DVec3; 2], gap: Option<f64>) -> Row {
    Row {
        first: spatial(direction, arms[0].cross(direction)),
        second: spatial(-direction, -arms[1].cross(direction)),
        gap,
    }
}

/// Angular velocity of the first body relative to the second about `axis`.
pub(super) fn about(axis: DVec3, gap: Option<f64>) -> Row {
    Row {
        first: spatial(DVec3::ZERO, axis),
        second: spatial(DVec3::ZERO, -axis),
        gap,
    }
}

/// Linear part first.
pub(super) fn spatial(linear: DVec3, angular: DVec3) -> [f64; 6] {
    [
        linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
    ]
}

/// The three rows that keep two points together, in world axes.   [Chain, ball joint]
pub(super) fn pin(offset: DVec3, arms: [DVec3; 2]) -> Vec<Row> {
    DVec3::AXES
        .iter()
        .map(|&axis| along(axis, arms, Some(offset.dot(axis))))
        .collect()
}
