//! What every joint is made of: a direction at a point and an axis of rotation, and several of them in one block.

use glam::DVec3;

use super::warm::JointPart;
use crate::index::BodyId;
use crate::law::Law;
use crate::problem::jacobian::point_row;
use crate::problem::place::{Place, Side};

/// A body of the world, or the world itself.
pub type JointBody = Option<BodyId>;

/// One row of G on two bodies, first minus second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) way: Way,
    /// Violation g \[m or rad\]; `None` for rows that prescribe a velocity alone.
    pub(super) gap: Option<f64>,
}

/// Which motion a row measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// Along a direction, at a point with these arms from both bodies' centres.
    Along(DVec3, [DVec3; 2]),
    /// About an axis.
    About(DVec3),
}

impl Row {
    /// The row on the velocity (ẋ, ω) of the first body or the second.
    pub(super) fn on(&self, side: Side) -> [f64; 6] {
        match self.way {
            Way::Along(direction, arms) => point_row(direction, arms[side as usize], side.sign()),
            Way::About(axis) => {
                let a = axis * side.sign();
                [0.0, 0.0, 0.0, a.x, a.y, a.z]
            }
        }
    }

    /// The row that measures the other way.
    pub(super) fn turned(self) -> Row {
        let way = match self.way {
            Way::Along(direction, arms) => Way::Along(-direction, arms),
            Way::About(axis) => Way::About(-axis),
        };
        Row { way, ..self }
    }
}

/// Rows that share a law, on any number of bodies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RowBlock {
    /// The block on each of its bodies; reactions are told of the first.
    pub(super) ends: Vec<End>,
    /// One direction a row where the block acts at a point, else empty.
    pub(super) directions: Vec<f64>,
    /// Violation g of each row \[m or rad\]; `None` for rows that prescribe a velocity alone.
    pub(super) gaps: Vec<Option<f64>>,
    pub(super) law: Law,
    /// Which part of the joint this is: its impulse is found again by it.
    pub(super) part: JointPart,
    pub(super) target: Target,
}

/// A block on one body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct End {
    pub(super) link: JointBody,
    /// Its rows on the body's velocity, six numbers each.
    pub(super) rows: Vec<f64>,
    /// The point where it acts, if it is one.
    pub(super) point: Option<Place>,
}

impl RowBlock {
    /// Rows between two bodies, first minus second.
    pub(super) fn between(
        bodies: [JointBody; 2],
        rows: &[Row],
        law: Law,
        part: JointPart,
        target: Target,
    ) -> RowBlock {
        let point = common_point(rows);
        let end = |side: Side| End {
            link: bodies[side as usize],
            rows: rows.iter().flat_map(|row| row.on(side)).collect(),
            point: point.as_ref().map(|(_, arms)| Place::Point {
                arm: arms[side as usize],
                side,
            }),
        };
        RowBlock {
            ends: vec![end(Side::First), end(Side::Second)],
            gaps: rows.iter().map(|row| row.gap).collect(),
            directions: point.map_or_else(Vec::new, |(directions, _)| directions),
            law,
            part,
            target,
        }
    }
}

/// The directions of the rows and the arms to their point, if all of them measure motion at one.
fn common_point(rows: &[Row]) -> Option<(Vec<f64>, [DVec3; 2])> {
    let Way::Along(_, point) = rows.first()?.way else {
        return None;
    };
    let mut directions = Vec::with_capacity(3 * rows.len());
    for row in rows {
        match row.way {
            Way::Along(direction, arms) if arms == point => {
                directions.extend(direction.to_array());
            }
            _ => return None,
        }
    }
    Some((directions, point))
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
    let way = Way::Along(direction, arms);
    Row { way, gap }
}

/// Angular velocity of the first body relative to the second about `axis`.
pub(super) fn about(axis: DVec3, gap: Option<f64>) -> Row {
    let way = Way::About(axis);
    Row { way, gap }
}

/// The three rows that keep two points together, in world axes.   [Chain, ball joint]
pub(super) fn pin(offset: DVec3, arms: [DVec3; 2]) -> Vec<Row> {
    DVec3::AXES
        .iter()
        .map(|&axis| along(axis, arms, Some(offset.dot(axis))))
        .collect()
}
