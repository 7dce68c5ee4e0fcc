//! Joints of a step: their rows, and how fast each shall close.
//!
//! Ball joints that stand next to each other are made side by side; all others one by one.

use glam::DVec3;

use super::super::robot::RobotLink;
use super::super::rows::{Ends, Row, RowBlock, common_point, spin};
use super::super::warm::{JointPart, Key};
use super::super::{Joint, JointBody, JointKind};
use super::{Assembling, RowState, aim, dot, impulses, subtract};
use crate::error::BuildError;
use crate::index::{BodyId, JointId, MassId};
use crate::law::Law;
use crate::problem::Contact;
use crate::problem::jacobian::point_row;
use crate::problem::place::{At, Place, Side};
use crate::problem::stabilise::{RowTerms, Stabilise};

/// Most rows of a joint between two bodies.
pub(super) const MOST: usize = 6;

/// The sides of a joint.
pub(super) const SIDES: [Side; 2] = [Side::First, Side::Second];

/// Rows of a block on one body: six numbers each, or three where they are directions at a point.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) link: JointBody,
    pub(super) rows: &'a [f64],
    /// The point where they act, if it is one, and their directions.
    pub(super) point: Option<(Place, &'a [f64])>,
}

impl Assembling<'_> {
    /// Adds the blocks of all joints.
    pub(super) fn joints(&mut self) -> Result<(), BuildError> {
        let world = self.world;
        let on_link = |body: &JointBody| body.is_some_and(|id| world.link_of(id.index()).is_some());
        let simple =
            |joint: &Joint| joint.kind == JointKind::Ball && !joint.bodies.iter().any(on_link);
        let mut first = 0;
        for run in world.joints().chunk_by(|a, b| simple(a) == simple(b)) {
            if run.first().is_some_and(simple) {
                self.ball_joints(first, run)?;
            } else {
                for (j, joint) in (first..).zip(run) {
                    self.joint(JointId(j as u32), joint)?;
                }
            }
            first += run.len();
        }
        Ok(())
    }

    /// How the held rows of a joint are stabilised.
    fn hold(&self, joint: &Joint) -> Stabilise {
        if self.velocities {
            return Stabilise::Velocity;
        }
        Stabilise::Spook {
            compliance: joint.compliance,
            damping: joint.damping.unwrap_or(2.0 * self.h),
        }
    }

    /// Adds ball joints between free bodies, or between one of them and what moves by itself.
    fn ball_joints(&mut self, first: usize, joints: &[Joint]) -> Result<(), BuildError> {
        self.work.balls.clear();
        self.work.ball_pairs.clear();
        for (j, joint) in (first as u32..).zip(joints) {
            let mass = |body: JointBody| body.and_then(|id| self.work.mass[id.index()]);
            let pair = joint.bodies.map(mass);
            if pair != [None, None] {
                self.work.balls.push(j);
                self.work.ball_pairs.push(pair);
                let (joint, part) = (JointId(j), JointPart::Held);
                self.keys.push(Key::Joint { joint, part });
            }
        }
        let mut builder = std::mem::take(&mut self.builder);
        let (balls, pairs) = (&self.work.balls, &self.work.ball_pairs);
        let done = builder.add_contacts(pairs, |i| {
            self.ball_joint(&self.world.joints()[balls[i] as usize], pairs[i])
        });
        self.builder = builder;
        done
    }

    /// A ball joint as three rows at a point, along the axes of the world.
    fn ball_joint(&self, joint: &Joint, masses: [Option<MassId>; 2]) -> Contact {
        let (offset, arms) = joint.pinned(self.world.bodies());
        let hold = self.hold(joint);
        let (mut sigma, mut q) = ([0.0; 3], [0.0; 3]);
        for (i, axis) in DVec3::AXES.into_iter().enumerate() {
            let on = SIDES.map(|side| point_row(axis, arms[side as usize], side.sign()));
            let ends = || joint.bodies.iter().zip(&on).zip(masses);
            let moving = ends().filter_map(|((body, row), _)| Some((body.as_ref()?, row)));
            // ġ = Σ G_b v_b before the step.
            let velocity: f64 = moving
                .map(|(body, row)| dot(row, &self.work.old[body.index()]))
                .sum();
            let terms = hold.row(self.h, offset.dot(axis), velocity);
            (sigma[i], q[i]) = (terms.sigma, terms.q);
            for ((body, row), mass) in ends() {
                if let (Some(body), None) = (body, mass) {
                    q[i] -= dot(row, &self.work.free[body.index()]);
                }
            }
        }
        Contact {
            law: Law::Equality,
            frame: DVec3::AXES,
            arms,
            sigma,
            q,
        }
    }

    /// Adds the blocks of one joint.
    fn joint(&mut self, id: JointId, joint: &Joint) -> Result<(), BuildError> {
        let hold = self.hold(joint);
        let mut done = Ok(());
        joint.visit(self.world.bodies(), |block| {
            let part = block.part;
            if done.is_ok() {
                done = self.row_block(block, &hold, Key::Joint { joint: id, part });
            }
        });
        done
    }

    fn row_block(
        &mut self,
        block: &RowBlock<'_>,
        hold: &Stabilise,
        key: Key,
    ) -> Result<(), BuildError> {
        let law = impulses(block.law, self.h);
        match block.ends {
            Ends::Pair(bodies, rows) => {
                let (mut sigma, mut q) = ([0.0; MOST], [0.0; MOST]);
                let on = SIDES.map(|side| written(rows, side));
                for (i, row) in rows.iter().enumerate() {
                    let ends = bodies.iter().zip(&on);
                    let moving = ends.filter_map(|(body, rows)| Some((body.as_ref()?, rows)));
                    let velocity: f64 = moving
                        .map(|(body, rows)| {
                            dot(&rows[6 * i..6 * i + 6], &self.work.old[body.index()])
                        })
                        .sum();
                    // Rows that prescribe a velocity have no gap to close.
                    let gap = row.gap.unwrap_or(0.0);
                    let terms = aim(block.target, hold, self.h, RowState { gap, velocity });
                    (sigma[i], q[i]) = (terms.sigma, terms.q);
                }
                let n = rows.len();
                let mut directions = [0.0; 3 * MOST];
                for (place, row) in directions.as_chunks_mut::<3>().0.iter_mut().zip(rows) {
                    *place = row.direction().to_array();
                }
                let point = common_point(rows);
                let ends = SIDES.map(|side| Written {
                    link: bodies[side as usize],
                    rows: &on[side as usize][..6 * n],
                    point: point.map(|arms| {
                        let arm = arms[side as usize];
                        (Place::Point { arm, side }, &directions[..3 * n])
                    }),
                });
                self.add(law, ends, (&sigma[..n], &mut q[..n]), key)
            }
            Ends::Wheels(wheels, turns) => {
                let spun = |(body, axis): &(BodyId, DVec3)| (*body, spin(*axis));
                let rows: Vec<(BodyId, [f64; 6])> = wheels.iter().map(spun).collect();
                let rates = rows.iter();
                let rates = rates.map(|(body, row)| dot(row, &self.work.old[body.index()]));
                let state = RowState {
                    gap: turns,
                    velocity: rates.sum(),
                };
                let RowTerms { sigma, q } = aim(block.target, hold, self.h, state);
                let ends = rows.iter().map(|(body, row)| Written {
                    link: Some(*body),
                    rows: row,
                    point: None,
                });
                self.add(law, ends, (&[sigma], &mut [q]), key)
            }
        }
    }

    /// Adds a block, given by its ends; bodies that impulses do not move enter through q, which is changed. Nothing is
    /// added where none moves.
    pub(super) fn add<'a>(
        &mut self,
        law: Law,
        ends: impl IntoIterator<Item = Written<'a>>,
        (sigma, q): (&[f64], &mut [f64]),
        key: Key,
    ) -> Result<(), BuildError> {
        let mut on = ends.into_iter().filter_map(|end| self.place(end, q));
        let Some(first) = on.next() else {
            return Ok(());
        };
        let (second, third) = (on.next(), on.next());
        match (second, third) {
            (None, _) => {
                drop(on);
                self.builder.add_block_at(law, &[first], sigma, q)?
            }
            (Some(second), None) => {
                drop(on);
                self.builder.add_block_at(law, &[first, second], sigma, q)?
            }
            (Some(second), Some(third)) => {
                let all: Vec<At<'_>> = [first, second, third].into_iter().chain(on).collect();
                self.builder.add_block_at(law, &all, sigma, q)?
            }
        };
        self.keys.push(key);
        Ok(())
    }

    /// Where an end acts on a mass; `None` where its body is the world or moves by itself, which q is told of.
    fn place<'a>(&self, end: Written<'a>, q: &mut [f64]) -> Option<At<'a>> {
        let body = end.link?.index();
        let Some(mass) = self.work.mass[body] else {
            subtract(q, end.rows, &self.work.free[body]);
            return None;
        };
        let (place, rows) = match (self.world.link_of(body), end.point) {
            (Some(RobotLink { link, .. }), _) => (Place::Link { link }, end.rows),
            (None, Some((point, directions))) => (point, directions),
            (None, None) => (Place::Plain, end.rows),
        };
        Some(At { mass, place, rows })
    }
}

/// Rows on the velocity of one body, six numbers each.
fn written(rows: &[Row], side: Side) -> [f64; 6 * MOST] {
    let mut out = [0.0; 6 * MOST];
    for (place, row) in out.as_chunks_mut::<6>().0.iter_mut().zip(rows) {
        *place = row.on(side);
    }
    out
}
