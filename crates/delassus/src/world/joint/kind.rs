//! The kinds of joint and what acts along their coordinate.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::index::BodyId;
use crate::law::Law;

/// The kinds of joint.
#[derive(Clone, Debug, PartialEq)]
pub enum JointKind {
    /// Two points together.
    Ball,
    /// Rotation about one axis.
    Hinge(Drive),
    /// Translation along one axis.
    Slider(Drive),
    /// Two crossed axes: x of the first frame stays normal to y of the second.
    Universal,
    /// Nothing moves.
    Fixed,
    /// Distance of two points within bounds; equal bounds make a rod.
    Distance {
        /// Least distance \[m\].
        least: f64,
        /// Greatest distance \[m\].
        greatest: f64,
    },
    /// Σ ratio · (axis · ω) = 0 over any number of bodies.
    Gear(Vec<GearTerm>),
    /// A ball of the first body, of this radius about its frame's origin, rolls without slipping on the plane
    /// through the second frame's origin normal to its z. Nonholonomic.
    Rolling {
        /// Radius \[m\].
        radius: f64,
    },
    /// Turning about an axis and sliding along it are free; the drive acts along the axis.
    Cylindrical(Drive),
    /// Sliding in a plane, normal to the second frame's z, and turning about its normal are free.
    Planar,
    /// A spring and a damper between two points: f = −k (l − l₀) − c l̇ along their line.
    Spring {
        /// Length l₀ without force \[m\].
        length: f64,
        /// Stiffness k \[N/m\].
        stiffness: f64,
        /// Damping c \[N s/m\].
        damping: f64,
    },
    /// Turning about an axis moves along it; the drive acts on the turn.
    Screw {
        /// Way along the axis for a full turn \[m\]; negative for a left-handed screw.
        pitch: f64,
        /// What acts on the turn.
        drive: Drive,
    },
    /// Rack and pinion: turning the first body about z moves it along the second frame's x by the radius times the turn, or
    /// the rack the other way. Bearing and guide are joints of their own.
    Rack {
        /// Radius of the pinion \[m\]; negative turns the sense.
        radius: f64,
    },
    /// A rope from the first body over two points of the world to the second: l₁ + ratio · l₂ ≤ length.
    Pulley {
        /// Where it runs over, in the world \[m\].
        anchors: [DVec3; 2],
        /// How often the second length counts: the number of strands of a block and tackle.
        ratio: f64,
        /// Length of the rope \[m\].
        length: f64,
    },
    /// Nothing any more: it was taken away by [`World::remove_joint`](crate::World::remove_joint). Its place stays, so that the
    /// ids of all others do.
    Gone,
}

/// One wheel of a gear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GearTerm {
    /// The body that turns.
    pub body: BodyId,
    /// The axis, in the body's axes.
    pub axis: DVec3,
    /// How much its turns count.
    pub ratio: f64,
}

impl JointKind {
    /// Its name, as scene files have it.
    pub fn name(&self) -> &'static str {
        match self {
            JointKind::Ball => "ball",
            JointKind::Hinge(_) => "hinge",
            JointKind::Slider(_) => "slider",
            JointKind::Universal => "universal",
            JointKind::Fixed => "fixed",
            JointKind::Distance { .. } => "distance",
            JointKind::Gear(_) => "gear",
            JointKind::Rolling { .. } => "rolling",
            JointKind::Cylindrical(_) => "cylindrical",
            JointKind::Planar => "planar",
            JointKind::Spring { .. } => "spring",
            JointKind::Screw { .. } => "screw",
            JointKind::Rack { .. } => "rack-and-pinion",
            JointKind::Pulley { .. } => "pulley",
            JointKind::Gone => "gone",
        }
    }

    /// Whether its first three rows hold two points together, along the axes of the world.
    pub(in crate::world) fn is_pin(&self) -> bool {
        matches!(
            self,
            JointKind::Ball | JointKind::Hinge(_) | JointKind::Universal | JointKind::Fixed
        )
    }

    /// What acts along its free coordinate, where it has one.
    pub fn drive(&self) -> Option<&Drive> {
        match self {
            JointKind::Hinge(drive)
            | JointKind::Slider(drive)
            | JointKind::Cylindrical(drive)
            | JointKind::Screw { drive, .. } => Some(drive),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn drive_mut(&mut self) -> Option<&mut Drive> {
        match self {
            JointKind::Hinge(drive)
            | JointKind::Slider(drive)
            | JointKind::Cylindrical(drive)
            | JointKind::Screw { drive, .. } => Some(drive),
            _ => None,
        }
    }

    /// Whether a motor is to move it.
    pub(in crate::world) fn is_driven(&self) -> bool {
        let motor = self.drive().and_then(|drive| drive.motor);
        motor.is_some_and(|motor| motor.speed != 0.0 && 0.0 < motor.max_force)
    }

    /// Whether its numbers are in range: limits in order, forces not negative, a gear of two wheels or more.
    pub(in crate::world) fn is_legal(&self) -> bool {
        match self {
            JointKind::Distance { least, greatest } => 0.0 <= *least && least <= greatest,
            JointKind::Gear(terms) => {
                let finite = |t: &GearTerm| t.axis.is_finite() && t.ratio.is_finite();
                1 < terms.len() && terms.iter().all(finite)
            }
            JointKind::Rolling { radius } => radius.is_finite() && 0.0 < *radius,
            JointKind::Hinge(drive) | JointKind::Slider(drive) | JointKind::Cylindrical(drive) => {
                drive.is_legal()
            }
            JointKind::Spring {
                length,
                stiffness,
                damping,
            } => {
                let numbers = [*length, *stiffness, *damping];
                let legal = numbers.iter().all(|x| x.is_finite() && 0.0 <= *x);
                legal && 0.0 < stiffness + damping
            }
            JointKind::Screw { pitch, drive } => {
                pitch.is_finite() && *pitch != 0.0 && drive.is_legal()
            }
            JointKind::Rack { radius } => radius.is_finite() && *radius != 0.0,
            JointKind::Pulley {
                anchors,
                ratio,
                length,
            } => {
                let positive = |x: f64| x.is_finite() && 0.0 < x;
                anchors.iter().all(|a| a.is_finite()) && positive(*ratio) && positive(*length)
            }
            JointKind::Ball | JointKind::Universal | JointKind::Fixed | JointKind::Planar => true,
            // It is not added, only left behind.
            JointKind::Gone => false,
        }
    }
}

/// What acts along the one free coordinate of a hinge or slider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Drive {
    /// Bounds of the coordinate \[rad or m\].
    pub limits: Option<[f64; 2]>,
    /// Motor: wanted speed, bounded force.
    pub motor: Option<Motor>,
    /// Servo: wanted position, bounded force.
    pub servo: Option<Servo>,
    /// Dry friction: force or torque that resists motion \[N or N m\].
    pub friction: f64,
}

impl Drive {
    /// Limits in order, forces and stiffness not negative, everything a number.
    pub(in crate::world) fn is_legal(&self) -> bool {
        let at_least_zero = |x: f64| x.is_finite() && 0.0 <= x;
        self.limits.is_none_or(|[lo, hi]| lo <= hi)
            && self
                .motor
                .is_none_or(|m| m.speed.is_finite() && at_least_zero(m.max_force))
            && self.servo.is_none_or(|s| {
                s.position.is_finite()
                    && at_least_zero(s.stiffness)
                    && at_least_zero(s.damping)
                    && s.max_force.is_finite()
                    && s.bounds()[0].is_finite()
                    && s.bounds()[0] <= s.max_force
                    && 0.0 < s.stiffness + s.damping
            })
            && at_least_zero(self.friction)
    }
}

/// A velocity motor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Motor {
    /// Wanted speed \[rad/s or m/s\].
    pub speed: f64,
    /// Greatest force or torque \[N or N m\].
    pub max_force: f64,
}

/// A position servo: an implicit spring with bounded force.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Servo {
    /// Wanted angle or displacement \[rad or m\].
    pub position: f64,
    /// Stiffness [N m/rad or N/m].
    pub stiffness: f64,
    /// Damping [N m s/rad or N s/m].
    pub damping: f64,
    /// Greatest force or torque \[N or N m\].
    pub max_force: f64,
    /// Least force or torque, where it is not −`max_force` \[N or N m\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_force: Option<f64>,
}

impl Servo {
    /// Least and greatest force or torque \[N or N m\].
    pub fn bounds(&self) -> [f64; 2] {
        [self.min_force.unwrap_or(-self.max_force), self.max_force]
    }

    /// The law of its row. Bounds are forces here; assembly turns them into impulses.
    pub(in crate::world) fn law(&self) -> Law {
        let [lo, hi] = self.bounds();
        Law::Interval { lo, hi }
    }
}
