//! What every joint is made of: a direction at a point and an axis of rotation, and several of them in one block.

use glam::DVec3;

use super::warm::JointPart;
use crate::index::BodyId;
use crate::law::Law;
use crate::problem::jacobian::point_row;
use crate::problem::place::Side;

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
    /// Along a direction at a point as above, and about an axis on top.
    Screw(DVec3, [DVec3; 2], DVec3),
    /// Of each body along a direction of its own, at a point with this arm from its centre; both are added.
    Each([DVec3; 2], [DVec3; 2]),
}

impl Row {
    /// The row on the velocity (ẋ, ω) of the first body or the second.
    pub(super) fn on(&self, side: Side) -> [f64; 6] {
        match self.way {
            Way::Along(direction, arms) => point_row(direction, arms[side as usize], side.sign()),
            Way::About(axis) => spin(axis * side.sign()),
            Way::Screw(direction, arms, axis) => {
                let mut row = point_row(direction, arms[side as usize], side.sign());
                let turn = axis * side.sign();
                row[3] += turn.x;
                row[4] += turn.y;
                row[5] += turn.z;
                row
            }
            Way::Each(directions, arms) => {
                point_row(directions[side as usize], arms[side as usize], 1.0)
            }
        }
    }

    /// The direction of a row at a point; zero for a row about an axis.
    pub(super) fn direction(&self) -> DVec3 {
        match self.way {
            Way::Along(direction, _) => direction,
            Way::About(_) | Way::Screw(..) | Way::Each(..) => DVec3::ZERO,
        }
    }

    /// The row that measures the other way.
    pub(super) fn turned(self) -> Row {
        let way = match self.way {
            Way::Along(direction, arms) => Way::Along(-direction, arms),
            Way::About(axis) => Way::About(-axis),
            Way::Screw(direction, arms, axis) => Way::Screw(-direction, arms, -axis),
            Way::Each([a, b], arms) => Way::Each([-a, -b], arms),
        };
        Row { way, ..self }
    }
}

/// Most rows of a block between two bodies.
const MOST: usize = 6;

/// The rows of a block between two bodies, by value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    list: [Row; MOST],
    count: usize,
}

impl FromIterator<Row> for Rows {
    /// At most six: two bodies have no more to hold.
    fn from_iter<I: IntoIterator<Item = Row>>(rows: I) -> Rows {
        let mut all = Rows {
            list: [about(DVec3::ZERO, None); MOST],
            count: 0,
        };
        for (place, row) in all.list.iter_mut().zip(rows) {
            *place = row;
            all.count += 1;
        }
        all
    }
}

impl std::ops::Deref for Rows {
    type Target = [Row];

    fn deref(&self) -> &[Row] {
        &self.list[..self.count]
    }
}

/// Rows that share a law.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowBlock<'a> {
    pub(super) ends: Ends<'a>,
    pub(super) law: Law,
    /// Which part of the joint this is: its impulse is found again by it.
    pub(super) part: JointPart,
    pub(super) target: Target,
}

/// What the rows of a block act on; reactions are told of the first body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ends<'a> {
    /// Two bodies, first minus second.
    Pair([JointBody; 2], &'a [Row]),
    /// One row on the spins of all wheels of a gear: each about its axis in the world times its ratio; and what their
    /// turns add up to.
    Wheels(&'a [(BodyId, DVec3)], f64),
}

impl RowBlock<'_> {
    /// Violations g \[m or rad\]; `None` for rows that prescribe a velocity alone.
    pub(super) fn gaps(&self) -> impl Iterator<Item = Option<f64>> {
        let (rows, turns) = match self.ends {
            Ends::Pair(_, rows) => (rows, None),
            Ends::Wheels(_, turns) => (&[][..], Some(Some(turns))),
        };
        rows.iter().map(|row| row.gap).chain(turns)
    }

    /// Row i on the velocity of its first body.
    pub(super) fn on_first(&self, i: usize) -> [f64; 6] {
        match self.ends {
            Ends::Pair(_, rows) => rows[i].on(Side::First),
            Ends::Wheels(wheels, _) => wheels.first().map_or([0.0; 6], |wheel| spin(wheel.1)),
        }
    }
}

/// The row of an angular velocity about an axis.
pub(super) fn spin(axis: DVec3) -> [f64; 6] {
    [0.0, 0.0, 0.0, axis.x, axis.y, axis.z]
}

/// Where a row stands at the beginning of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowState {
    /// Violation g \[m\].
    pub(super) gap: f64,
    /// Row velocity G v_k \[m/s\].
    pub(super) velocity: f64,
}

/// The arms to the point of all rows, if they measure motion at one.
pub(super) fn common_point(rows: &[Row]) -> Option<[DVec3; 2]> {
    let Way::Along(_, point) = rows.first()?.way else {
        return None;
    };
    let there = |row: &Row| matches!(row.way, Way::Along(_, arms) if arms == point);
    rows.iter().all(there).then_some(point)
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

/// Velocity along `direction` of a point seen from both bodies, and angular velocity about `axis`, added.
pub(super) fn screw(direction: DVec3, arms: [DVec3; 2], axis: DVec3, gap: Option<f64>) -> Row {
    let way = Way::Screw(direction, arms, axis);
    Row { way, gap }
}

/// Velocities of a point of each body along a direction of its own, added.
pub(super) fn each(directions: [DVec3; 2], arms: [DVec3; 2], gap: Option<f64>) -> Row {
    let way = Way::Each(directions, arms);
    Row { way, gap }
}

/// The three rows that keep two points together, in world axes.   [Chain, ball joint]
pub(super) fn pin(offset: DVec3, arms: [DVec3; 2]) -> impl Iterator<Item = Row> {
    DVec3::AXES
        .into_iter()
        .map(move |axis| along(axis, arms, Some(offset.dot(axis))))
}
