//! Tendons: weighted sums of joint displacements, and strings through points of links, with limits, springs and friction
//! of their own.

use glam::DVec3;

use super::rows::{JointRowList, JointRows, UNBOUNDED, coordinates};
use super::{Anchor, Posed, Robot, RobotItem};
use crate::error::BuildError;
use crate::index::LinkId;
use crate::law::Law;
use crate::problem::place::Place;
use crate::tree::spatial::Pose;
use crate::tree::{LinkPoint, TreeError, TreeRows};
use crate::world::rows::{RowState, Target};
use crate::world::{JointPart, Servo};

/// A length l = l₀ + Σ cᵢ qᵢ + Σ |xⱼ₊₁ − xⱼ|/dⱼ, over displacements of joints of one dof, and over the straight pieces
/// of a string.
#[derive(Clone, Debug, PartialEq)]
pub struct Tendon {
    /// Its name, or empty.
    pub name: String,
    /// Links whose joints it measures, with their factors.
    pub terms: Vec<(LinkId, f64)>,
    /// Strings through points of links, each with the number that divides its length: that of a pulley.
    pub strings: Vec<(f64, Vec<Anchor>)>,
    /// What is added to the sum.
    pub offset: f64,
    /// Least and largest length.
    pub range: Option<[f64; 2]>,
    /// Of its spring, per length.
    pub stiffness: f64,
    /// Force against its velocity, per velocity.
    pub damping: f64,
    /// Lengths between which the spring is slack.
    pub rest: [f64; 2],
    /// Dry friction along it.
    pub friction: f64,
    /// What pulls it until it is driven otherwise.
    pub servo: Option<Servo>,
}

impl Tendon {
    /// Whether it does anything to its joints.
    pub fn acts(&self) -> bool {
        let numbers = [self.stiffness, self.damping, self.friction];
        self.range.is_some() || self.servo.is_some() || numbers.iter().any(|x| *x != 0.0)
    }

    /// The links that it pulls at.
    pub(super) fn links(&self) -> Vec<LinkId> {
        let ends = self.strings.iter().flat_map(|(_, points)| points);
        let ends = ends.filter_map(|end| end.link);
        self.terms
            .iter()
            .map(|(link, _)| *link)
            .chain(ends)
            .collect()
    }

    /// Its length, and the row that its velocity is.
    pub fn measure(&self, posed: Posed<'_>, rows: &mut TreeRows) -> Result<f64, TreeError> {
        let Posed { tree, data, .. } = posed;
        let (sum, factors) = posed.sum(&self.terms)?;
        let mut length = self.offset + sum;
        rows.start();
        for (dof, factor) in factors {
            tree.add_dof(data, rows, dof, factor)?;
        }
        for (divisor, points) in &self.strings {
            let mut before: Option<(Anchor, DVec3)> = None;
            for &anchor in points {
                let frame = match anchor.link {
                    Some(link) => tree.pose(data, link)?,
                    None => Pose::IDENTITY,
                };
                let x = frame.point(anchor.point);
                if let Some((other, y)) = before.replace((anchor, x)) {
                    length += (x - y).length() / divisor;
                    // l̇ = u·(ẋ − ẏ) along the unit vector u from y to x.
                    let along = (x - y).try_normalize().unwrap_or(DVec3::ZERO) / *divisor;
                    for (link, point, u) in [(anchor.link, x, along), (other.link, y, -along)] {
                        if let Some(link) = link {
                            tree.add_linear(data, rows, LinkPoint::new(link, point), u)?;
                        }
                    }
                }
            }
        }
        Ok(length)
    }

    /// How far its spring is strained at a length.
    fn strain(&self, length: f64) -> f64 {
        let [lo, hi] = self.rest;
        length - length.clamp(lo.min(hi), hi.max(lo))
    }

    /// What its spring holds at a length \[J\].
    pub(super) fn energy(&self, length: f64) -> f64 {
        0.5 * self.stiffness * self.strain(length).powi(2)
    }
}

impl Robot {
    /// Limits, springs, servos and friction of its tendons.
    pub(super) fn tendon_rows(&self, all: &mut JointRowList) -> Result<(), BuildError> {
        for (i, tendon) in self.tendons.iter().enumerate() {
            let mut rows = TreeRows::default();
            let measured = tendon.measure(self.posed(), &mut rows);
            let length = measured.map_err(|error| self.fault(error))?;
            let matrix = self.tree.rows_matrix(&self.data, &rows);
            let velocity = crate::math::dot(&matrix, &self.v);
            if crate::math::max_abs(&matrix) == 0.0 {
                continue;
            }
            let on = if tendon.strings.is_empty() {
                coordinates(&matrix)
            } else {
                let links = self.tree.rows_on_links(&self.data, &rows, &[0]);
                let place = |(link, row)| (Place::Link { link }, row);
                links.into_iter().map(place).collect()
            };
            let mut push = |sign: f64, part: JointPart, law: Law, (target, gap): (Target, f64)| {
                let signed = |row: &Vec<f64>| row.iter().map(|x| sign * x).collect();
                let on: Vec<(Place, Vec<f64>)> = on
                    .iter()
                    .map(|(place, row)| (*place, signed(row)))
                    .collect();
                let rows = JointRows {
                    item: RobotItem::Tendon(i as u32),
                    part,
                    law,
                    target,
                };
                let velocity = sign * velocity;
                let on = on.iter().map(|(place, row)| (*place, &row[..]));
                all.push(rows, on, [RowState { gap, velocity }]);
            };
            let within = |force: f64| Law::Interval {
                lo: -force,
                hi: force,
            };
            if 0.0 < tendon.friction {
                let still = (Target::Velocity(0.0), 0.0);
                push(1.0, JointPart::Friction(0), within(tendon.friction), still);
            }
            if let Some([lo, hi]) = tendon.range {
                let limit = |gap: f64| (Target::Limit, gap);
                push(
                    1.0,
                    JointPart::FirstLimit,
                    Law::Unilateral,
                    limit(length - lo),
                );
                push(
                    -1.0,
                    JointPart::SecondLimit,
                    Law::Unilateral,
                    limit(hi - length),
                );
            }
            let strain = tendon.strain(length);
            let stiffness = if strain == 0.0 { 0.0 } else { tendon.stiffness };
            if 0.0 < stiffness + tendon.damping {
                let spring = (Target::Spring(stiffness, tendon.damping), strain);
                push(1.0, JointPart::Motor, within(UNBOUNDED), spring);
            }
            if let Some(servo) = tendon.servo {
                let spring = Target::Spring(servo.stiffness, servo.damping);
                let gap = length - servo.position;
                push(
                    1.0,
                    JointPart::Servo,
                    within(servo.max_force),
                    (spring, gap),
                );
            }
        }
        Ok(())
    }
}
