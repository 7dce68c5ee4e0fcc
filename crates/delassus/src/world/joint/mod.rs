//! Joints: what they hold, and how each becomes rows of G with violations.
//!
//! A joint is given by two frames, one on each body (or in the world), whose z axis is the joint's axis. With
//! p_a, p_b the frame origins in the world and d = p_a − p_b:
//! ball d = 0; hinge: ball and z_a ∥ z_b; universal: ball and x_a ⟂ y_b; fixed: ball and equal axes; slider:
//! equal axes and d ∥ z_b; distance |d| within bounds; cylindrical: z_a ∥ z_b and d ∥ z_b; planar: z_a ∥ z_b and
//! d ⟂ z_b; screw: cylindrical, and d·z_b follows the turn; rack and pinion: d·x_b follows the turn; pulley: two
//! lengths to points of the world and their sum. Rows whose direction turns with body b take the arm from b's centre to
//! p_a, because ḋ·t includes d·(ω_b × t).

mod kind;

use std::f64::consts::{PI, TAU};

use glam::{DQuat, DVec3};

pub use kind::{Drive, GearTerm, JointKind, Motor, Servo};

use super::bodies::Bodies;
use super::rows::{Ends, JointBody, Row, RowBlock, Rows, Target, about, along, each, pin, screw};
use super::warm::JointPart;
use crate::index::BodyId;
use crate::law::Law;
use crate::problem::place::Side;

/// A frame fixed to a body (in its axes, from its centre of mass) or to the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Origin.
    pub origin: DVec3,
    /// Axes; z is the joint's axis.
    pub axes: DQuat,
}

/// A joint between two bodies, or a body and the world.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// Name, unique in its world.
    pub name: String,
    /// First and second body; `None` is the world.
    pub bodies: [JointBody; 2],
    /// Its frame on each.
    pub frames: [Frame; 2],
    /// What it holds.
    pub kind: JointKind,
    /// Compliance ε of the held rows [m/N or rad/(N m)].
    pub compliance: f64,
    /// Damping time τ of the held rows \[s\]; `None`: twice the step, which is critical.
    pub damping: Option<f64>,
    /// Bodies it joins may still touch.
    pub collide: bool,
    /// Angle or displacement along the axis, counted through full turns.
    pub coordinate: f64,
}

/// Where in the world a joint is put: z of its frames lies along the direction. What turns or slides does so about or
/// along it; to a ball it means nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointAxis {
    /// The joint's point in the world \[m\].
    pub point: DVec3,
    /// Direction of the axis; need not be a unit vector.
    pub direction: DVec3,
}

impl JointAxis {
    /// Through this point, along this direction.
    pub const fn new(point: DVec3, direction: DVec3) -> JointAxis {
        JointAxis { point, direction }
    }
}

/// Where a joint's frames are in the world right now.
struct PlacedFrames {
    origin: [DVec3; 2],
    axes: [DQuat; 2],
    arms: [DVec3; 2],
    /// From the second body's centre to the first frame's origin.
    reach: DVec3,
    offset: DVec3,
}

impl Joint {
    /// A joint at an axis of the world, with both frames placed there as the bodies are now.
    pub fn at(bodies: &Bodies, links: [JointBody; 2], axis: JointAxis, kind: JointKind) -> Joint {
        let JointAxis { point, direction } = axis;
        let axes = frame_of(direction);
        let frames = links.map(|link| match link {
            None => Frame {
                origin: point,
                axes,
            },
            Some(id) => {
                let turn = bodies.orientation[id.index()].conjugate();
                let origin = turn * (point - bodies.position[id.index()]);
                Frame {
                    origin,
                    axes: (turn * axes).normalize(),
                }
            }
        });
        Joint {
            name: String::new(),
            bodies: links,
            frames,
            kind,
            compliance: 0.0,
            damping: None,
            collide: false,
            coordinate: 0.0,
        }
    }

    /// Bodies the joint acts on.
    pub fn links(&self) -> Vec<BodyId> {
        self.each_link().collect()
    }

    /// The same, one after the other.
    pub(super) fn each_link(&self) -> impl Iterator<Item = BodyId> {
        let (terms, pair) = match &self.kind {
            JointKind::Gear(terms) => (&terms[..], [None; 2]),
            JointKind::Gone => (&[][..], [None; 2]),
            _ => (&[][..], self.bodies),
        };
        let wheels = terms.iter().map(|term| term.body);
        wheels.chain(pair.into_iter().flatten())
    }

    fn place(&self, bodies: &Bodies) -> PlacedFrames {
        let at = |side: usize| match self.bodies[side] {
            None => (
                self.frames[side].origin,
                self.frames[side].axes,
                self.frames[side].origin,
            ),
            Some(id) => {
                let turn = bodies.orientation[id.index()];
                let arm = turn * self.frames[side].origin;
                (
                    bodies.position[id.index()] + arm,
                    turn * self.frames[side].axes,
                    arm,
                )
            }
        };
        let (a, b) = (at(0), at(1));
        PlacedFrames {
            origin: [a.0, b.0],
            axes: [a.1, b.1],
            arms: [a.2, b.2],
            reach: b.2 + (a.0 - b.0),
            offset: a.0 - b.0,
        }
    }

    /// From the first body's centre to the joint's point on it; from the origin where that is the world.
    pub(super) fn arm(&self, bodies: &Bodies) -> DVec3 {
        self.place(bodies).arms[0]
    }

    /// Angle or displacement now, continued from the last one through full turns.
    pub(super) fn measure(&self, bodies: &Bodies) -> f64 {
        let placed = self.place(bodies);
        match self.kind {
            JointKind::Hinge(_) | JointKind::Screw { .. } | JointKind::Rack { .. } => {
                let (z, x) = (placed.axes[1] * DVec3::Z, placed.axes[1] * DVec3::X);
                let turned = placed.axes[0] * DVec3::X;
                let angle = x.cross(turned).dot(z).atan2(x.dot(turned));
                let turns = ((self.coordinate - angle) / TAU).round();
                angle + turns * TAU
            }
            JointKind::Slider(_) | JointKind::Cylindrical(_) => {
                placed.offset.dot(placed.axes[1] * DVec3::Z)
            }
            _ => self.coordinate,
        }
    }

    /// How fast its coordinate changes \[rad/s or m/s\]; `None` where it has none.
    pub fn rate(&self, bodies: &Bodies) -> Option<f64> {
        let placed = self.place(bodies);
        let axis = placed.axes[1] * DVec3::Z;
        let row = match &self.kind {
            JointKind::Hinge(_) | JointKind::Screw { .. } | JointKind::Rack { .. } => {
                about(axis, None)
            }
            JointKind::Slider(_) | JointKind::Cylindrical(_) => {
                along(axis, [placed.arms[0], placed.reach], None)
            }
            _ => return None,
        };
        // ẋ = G v over both bodies.
        let on = |side: Side| {
            let Some(id) = self.bodies[side as usize] else {
                return 0.0;
            };
            let (row, i) = (row.on(side), id.index());
            let (linear, angular) = (DVec3::from_slice(&row[..3]), DVec3::from_slice(&row[3..]));
            linear.dot(bodies.velocity[i]) + angular.dot(bodies.spin[i])
        };
        Some(on(Side::First) + on(Side::Second))
    }

    /// Whether the coordinate is summed up over the steps: a gear's turns cannot be read off the poses.
    pub(super) fn counts_turns(&self) -> bool {
        matches!(self.kind, JointKind::Gear(_))
    }

    /// The coordinate after the bodies have moved for h seconds from the orientations `before`, which only joints that
    /// count turns need.
    pub(super) fn follow(&self, bodies: &Bodies, before: &[DQuat], h: f64) -> f64 {
        match &self.kind {
            JointKind::Gear(terms) => {
                // x ← x + h Σ ratio · (axis · ω): the row of the step, at its old orientation and its new velocity.
                let rate = |term: &GearTerm| {
                    let axis = before[term.body.index()] * term.axis;
                    term.ratio * axis.dot(bodies.spin[term.body.index()])
                };
                self.coordinate + h * terms.iter().map(rate).sum::<f64>()
            }
            _ => self.measure(bodies),
        }
    }

    /// Whether all its rows are equalities of the poses alone, without compliance.
    pub(super) fn is_rigid(&self, bodies: &Bodies) -> bool {
        let mut rigid = self.compliance == 0.0 && !self.counts_turns();
        if rigid && self.kind != JointKind::Ball {
            self.visit(bodies, |block| {
                rigid &= matches!(block.target, Target::Hold);
            });
        }
        rigid
    }

    /// Shows the joint's blocks of rows, one after the other.
    pub(super) fn visit(&self, bodies: &Bodies, mut visit: impl FnMut(&RowBlock<'_>)) {
        let placed = self.place(bodies);
        let mut hold = |rows: Rows| {
            visit(&self.block(&rows, Law::Equality, JointPart::Held, Target::Hold));
        };
        match &self.kind {
            JointKind::Ball => hold(pin(placed.offset, placed.arms).collect()),
            JointKind::Hinge(drive) => {
                let rows = pin(placed.offset, placed.arms).chain(parallel(&placed));
                hold(rows.collect());
                let axis = placed.axes[1] * DVec3::Z;
                self.drive(drive, |gap| about(axis, gap), visit);
            }
            JointKind::Universal => {
                let (x, y) = (placed.axes[0] * DVec3::X, placed.axes[1] * DVec3::Y);
                let across = about(x.cross(y), Some(x.dot(y)));
                let rows = pin(placed.offset, placed.arms).chain([across]);
                hold(rows.collect());
            }
            JointKind::Fixed => {
                let rows = pin(placed.offset, placed.arms).chain(aligned(&placed));
                hold(rows.collect());
            }
            JointKind::Slider(drive) => {
                hold(aligned(&placed).chain(on_axis(&placed)).collect());
                let (axis, arms) = (placed.axes[1] * DVec3::Z, [placed.arms[0], placed.reach]);
                self.drive(drive, |gap| along(axis, arms, gap), visit);
            }
            JointKind::Cylindrical(drive) => {
                let rows = parallel(&placed).into_iter().chain(on_axis(&placed));
                hold(rows.collect());
                let (axis, arms) = (placed.axes[1] * DVec3::Z, [placed.arms[0], placed.reach]);
                self.drive(drive, |gap| along(axis, arms, gap), visit);
            }
            JointKind::Planar => {
                let normal = placed.axes[1] * DVec3::Z;
                let arms = [placed.arms[0], placed.reach];
                let on_plane = along(normal, arms, Some(placed.offset.dot(normal)));
                hold(parallel(&placed).into_iter().chain([on_plane]).collect());
            }
            JointKind::Distance { least, greatest } => {
                self.distance(&placed, (*least, *greatest), visit);
            }
            JointKind::Gear(terms) => self.gear(terms, bodies, visit),
            JointKind::Rolling { radius } => {
                let normal = placed.axes[1] * DVec3::Z;
                let contact = placed.origin[0] - normal * *radius;
                let centre_b = placed.origin[1] - placed.arms[1];
                let arms = [placed.arms[0] - normal * *radius, contact - centre_b];
                let rows = [DVec3::X, DVec3::Y];
                let rows = rows.map(|axis| along(placed.axes[1] * axis, arms, None));
                let still = Target::Velocity(0.0);
                visit(&self.block(&rows, Law::Equality, JointPart::Held, still));
            }
            _ => self.visit_coupled(&placed, bodies, visit),
        }
    }

    /// The same for joints in which one motion follows another, and for springs.
    fn visit_coupled(
        &self,
        placed: &PlacedFrames,
        bodies: &Bodies,
        mut visit: impl FnMut(&RowBlock<'_>),
    ) {
        match &self.kind {
            JointKind::Screw { pitch, drive } => {
                let follow = self.follows(bodies, placed, DVec3::Z, pitch / TAU);
                let rows = parallel(placed).into_iter().chain(on_axis(placed));
                let rows: Rows = rows.chain([follow]).collect();
                visit(&self.block(&rows, Law::Equality, JointPart::Held, Target::Hold));
                let axis = placed.axes[1] * DVec3::Z;
                self.drive(drive, |gap| about(axis, gap), visit);
            }
            JointKind::Rack { radius } => {
                let row = self.follows(bodies, placed, DVec3::X, *radius);
                visit(&self.block(&[row], Law::Equality, JointPart::Held, Target::Hold));
            }
            JointKind::Spring {
                length,
                stiffness,
                damping,
            } => {
                let (n, now) = direction(placed);
                let row = along(n, placed.arms, Some(now - length));
                let spring = Target::Spring(*stiffness, *damping);
                visit(&self.block(&[row], Law::Equality, JointPart::Servo, spring));
            }
            JointKind::Pulley {
                anchors,
                ratio,
                length,
            } => {
                let row = rope(placed, *anchors, *ratio, *length);
                let (law, part) = (Law::Unilateral, JointPart::FirstLimit);
                visit(&self.block(&[row], law, part, Target::Limit));
            }
            _ => {}
        }
    }

    /// Rows between the joint's two bodies.
    fn block<'a>(
        &self,
        rows: &'a [Row],
        law: Law,
        part: JointPart,
        target: Target,
    ) -> RowBlock<'a> {
        RowBlock {
            ends: Ends::Pair(self.bodies, rows),
            law,
            part,
            target,
        }
    }

    /// w = Σ ratio · (axis · ω), one row on as many bodies as it has wheels; g is what their turns add up to.
    fn gear(&self, terms: &[GearTerm], bodies: &Bodies, mut visit: impl FnMut(&RowBlock<'_>)) {
        let wheel = |term: &GearTerm| {
            let axis = bodies.orientation[term.body.index()] * term.axis * term.ratio;
            (term.body, axis)
        };
        let wheels: Vec<(BodyId, DVec3)> = terms.iter().map(wheel).collect();
        visit(&RowBlock {
            ends: Ends::Wheels(&wheels, self.coordinate),
            law: Law::Equality,
            part: JointPart::Held,
            target: Target::Hold,
        });
    }

    fn distance(
        &self,
        placed: &PlacedFrames,
        (least, greatest): (f64, f64),
        mut visit: impl FnMut(&RowBlock<'_>),
    ) {
        let (n, length) = direction(placed);
        let low = along(n, placed.arms, Some(length - least));
        let mut show = |row, law, part, target| visit(&self.block(&[row], law, part, target));
        if least == greatest {
            return show(low, Law::Equality, JointPart::Held, Target::Hold);
        }
        let high = along(-n, placed.arms, Some(greatest - length));
        let (law, limit) = (Law::Unilateral, Target::Limit);
        show(high, law, JointPart::FirstLimit, limit);
        if 0.0 < least {
            show(low, law, JointPart::SecondLimit, limit);
        }
    }

    /// The row of a displacement along an axis of b that follows the turn about z: g = d·t − r θ.
    fn follows(&self, bodies: &Bodies, placed: &PlacedFrames, along: DVec3, r: f64) -> Row {
        let (t, z) = (placed.axes[1] * along, placed.axes[1] * DVec3::Z);
        // The turn at this pose, whatever it was when it was last counted.
        let gap = placed.offset.dot(t) - r * self.measure(bodies);
        screw(t, [placed.arms[0], placed.reach], z * -r, Some(gap))
    }

    /// Limits, motor, servo and friction along the free coordinate.
    fn drive(
        &self,
        drive: &Drive,
        row: impl Fn(Option<f64>) -> Row,
        mut visit: impl FnMut(&RowBlock<'_>),
    ) {
        let mut show = |row, law, part, target| visit(&self.block(&[row], law, part, target));
        if let Some([lo, hi]) = drive.limits {
            let low = row(Some(self.coordinate - lo));
            let high = row(Some(hi - self.coordinate)).turned();
            show(low, Law::Unilateral, JointPart::FirstLimit, Target::Limit);
            show(high, Law::Unilateral, JointPart::SecondLimit, Target::Limit);
        }
        // Bounds are forces here; assembly turns them into impulses.
        let within = |force: f64| Law::Interval {
            lo: -force,
            hi: force,
        };
        if let Some(motor) = drive.motor {
            let speed = Target::Velocity(motor.speed);
            show(row(None), within(motor.max_force), JointPart::Motor, speed);
        }
        if let Some(servo) = drive.servo {
            let spring = Target::Spring(servo.stiffness, servo.damping);
            let off = row(Some(self.coordinate - servo.position));
            show(off, servo.law(), JointPart::Servo, spring);
        }
        if 0.0 < drive.friction {
            let (part, still) = (JointPart::Friction(0), Target::Velocity(0.0));
            show(row(None), within(drive.friction), part, still);
        }
    }

    /// Largest violation of the held rows and passed limits \[m or rad\].
    pub fn violation(&self, bodies: &Bodies) -> f64 {
        let mut worst: f64 = 0.0;
        self.visit(bodies, |block| {
            for gap in block.gaps().flatten() {
                worst = match block.target {
                    Target::Hold => worst.max(gap.abs()),
                    Target::Limit => worst.max(-gap),
                    _ => worst,
                };
            }
        });
        worst
    }

    /// Offset and arms of a ball joint, whose rows follow from them.
    pub(super) fn pinned(&self, bodies: &Bodies) -> (DVec3, [DVec3; 2]) {
        let placed = self.place(bodies);
        (placed.offset, placed.arms)
    }
}

/// z_a ∥ z_b: g_i = z_a · t_i with t fixed to b, ġ_i = (ω_a − ω_b)·(z_a × t_i).
fn parallel(placed: &PlacedFrames) -> [Row; 2] {
    let z = placed.axes[0] * DVec3::Z;
    [DVec3::X, DVec3::Y].map(|axis| {
        let t = placed.axes[1] * axis;
        about(z.cross(t), Some(z.dot(t)))
    })
}

/// d ∥ z_b: g_i = d · t_i with t fixed to b.
fn on_axis(placed: &PlacedFrames) -> [Row; 2] {
    let arms = [placed.arms[0], placed.reach];
    [DVec3::X, DVec3::Y].map(|axis| {
        let t = placed.axes[1] * axis;
        along(t, arms, Some(placed.offset.dot(t)))
    })
}

/// The direction from the second point to the first, and their distance.
fn direction(placed: &PlacedFrames) -> (DVec3, f64) {
    // Coinciding points have no direction; any will separate them.
    let n = placed.offset.try_normalize().unwrap_or(DVec3::Z);
    (n, placed.offset.length())
}

/// A rope over two fixed points: g = L − (l_a + ρ l_b), with l the lengths from the points of the bodies to them.
fn rope(placed: &PlacedFrames, anchors: [DVec3; 2], ratio: f64, length: f64) -> Row {
    let spans = [0, 1].map(|side| placed.origin[side] - anchors[side]);
    let [a, b] = spans.map(|span| span.try_normalize().unwrap_or(DVec3::Z));
    let gap = length - (spans[0].length() + ratio * spans[1].length());
    each([-a, -b * ratio], placed.arms, Some(gap))
}

/// Equal axes: g is twice the vector part of the rotation from b's frame to a's, in world axes.
fn aligned(placed: &PlacedFrames) -> impl Iterator<Item = Row> {
    let mut turn = placed.axes[0] * placed.axes[1].conjugate();
    if turn.w < 0.0 {
        turn = -turn;
    }
    let error = 2.0 * turn.xyz();
    let axes = DVec3::AXES.into_iter();
    axes.map(move |axis| about(axis, Some(error.dot(axis))))
}

/// Axes whose z is `axis`; unit z where it has no length.
fn frame_of(axis: DVec3) -> DQuat {
    let z = axis.try_normalize().unwrap_or(DVec3::Z);
    if (z + DVec3::Z).length() < 1e-9 {
        return DQuat::from_rotation_x(PI);
    }
    DQuat::from_rotation_arc(DVec3::Z, z)
}
