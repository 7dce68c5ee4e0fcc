//! Four row-builders from which every joint and contact is made: a direction at a point, an axis of rotation,
//! both as rows [dᵀ, (arm × d)ᵀ] of G, and the assembly of several into one block.

use glam::DVec3;

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

/// Rows that share a law, between two bodies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RowBlock {
    pub(super) bodies: [Link; 2],
    pub(super) rows: Vec<Row>,
    pub(super) law: Law,
    /// Which part of the joint this is: its impulse is found again by it.
    pub(super) part: u32,
    pub(super) target: Target,
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

fn spatial(linear: DVec3, angular: DVec3) -> [f64; 6] {
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
