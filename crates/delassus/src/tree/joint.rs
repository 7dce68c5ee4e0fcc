//! Joints: how a link may move against its parent, as one or more elementary joints.
//!
//! Every joint is made of elementary ones: a turn, a slide or a screw along one axis, a ball, a free frame.
//! A universal joint is two turns with a massless cross between them, a planar joint two slides and a turn.
//! So the recursions know five kinds, and a fixed joint disappears into its parent.
//!
//! | joint | configuration | velocity |
//! |---|---|---|
//! | fixed | | |
//! | revolute, continuous | angle \[rad\] | rate |
//! | prismatic | displacement \[m\] | rate |
//! | helical | angle; the link advances `pitch` per radian | rate |
//! | universal | angle about the first axis, then about the second, carried one | rates |
//! | planar | two displacements along t₁, t₂ (t₁ × t₂ = normal), then the angle about the normal | rates |
//! | ball | quaternion (w, x, y, z) | ω in link axes |
//! | floating | position in the joint frame, quaternion (w, x, y, z) | ω, velocity of the origin, both in link axes |

use glam::{DQuat, DVec3};

use crate::math::tangents;

/// How a link moves against its parent. Axes are in the joint frame and need not be unit vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum TreeJoint {
    /// Not at all.
    Fixed,
    /// In every way.
    Floating,
    /// Turns about an axis.
    Revolute {
        /// The axis.
        axis: DVec3,
    },
    /// Turns about an axis without end; as a revolute joint that has no limits.
    Continuous {
        /// The axis.
        axis: DVec3,
    },
    /// Slides along an axis.
    Prismatic {
        /// The axis.
        axis: DVec3,
    },
    /// Turns about a point.
    Ball,
    /// Turns about a first axis and, carried by it, a second.
    Universal {
        /// The axis fixed to the parent.
        first: DVec3,
        /// The axis fixed to the link.
        second: DVec3,
    },
    /// Slides in a plane and turns about its normal.
    Planar {
        /// The normal of the plane.
        normal: DVec3,
    },
    /// Turns about an axis and advances along it.
    Helical {
        /// The axis.
        axis: DVec3,
        /// Advance per angle \[m/rad\].
        pitch: f64,
    },
}

/// An elementary joint; single-axis ones act along z of their node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ElementaryJoint {
    Turn,
    Slide,
    Screw(f64),
    Ball,
    Free,
}

impl ElementaryJoint {
    pub(super) fn dofs(self) -> usize {
        match self {
            ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => 1,
            ElementaryJoint::Ball => 3,
            ElementaryJoint::Free => 6,
        }
    }

    pub(super) fn coordinates(self) -> usize {
        match self {
            ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => 1,
            ElementaryJoint::Ball => 4,
            ElementaryJoint::Free => 7,
        }
    }
}

impl TreeJoint {
    /// Its name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            TreeJoint::Fixed => "fixed",
            TreeJoint::Floating => "floating",
            TreeJoint::Revolute { .. } => "revolute",
            TreeJoint::Continuous { .. } => "continuous",
            TreeJoint::Prismatic { .. } => "prismatic",
            TreeJoint::Ball => "ball",
            TreeJoint::Universal { .. } => "universal",
            TreeJoint::Planar { .. } => "planar",
            TreeJoint::Helical { .. } => "helical",
        }
    }

    /// Number of velocities.
    pub fn dofs(&self) -> usize {
        match self {
            TreeJoint::Fixed => 0,
            TreeJoint::Revolute { .. } | TreeJoint::Continuous { .. } => 1,
            TreeJoint::Prismatic { .. } | TreeJoint::Helical { .. } => 1,
            TreeJoint::Universal { .. } => 2,
            TreeJoint::Planar { .. } | TreeJoint::Ball => 3,
            TreeJoint::Floating => 6,
        }
    }

    /// Number of coordinates.
    pub fn coordinates(&self) -> usize {
        match self {
            TreeJoint::Ball => 4,
            TreeJoint::Floating => 7,
            _ => self.dofs(),
        }
    }

    /// The elementary joints from parent to link, each with its axis; `None` where an axis is not a direction.
    pub(super) fn parts(&self) -> Option<Vec<(ElementaryJoint, DVec3)>> {
        let unit = |axis: DVec3| axis.try_normalize();
        Some(match *self {
            TreeJoint::Fixed => vec![],
            TreeJoint::Floating => vec![(ElementaryJoint::Free, DVec3::Z)],
            TreeJoint::Ball => vec![(ElementaryJoint::Ball, DVec3::Z)],
            TreeJoint::Revolute { axis } | TreeJoint::Continuous { axis } => {
                vec![(ElementaryJoint::Turn, unit(axis)?)]
            }
            TreeJoint::Prismatic { axis } => vec![(ElementaryJoint::Slide, unit(axis)?)],
            TreeJoint::Helical { axis, pitch } => {
                let kind = pitch.is_finite().then_some(ElementaryJoint::Screw(pitch))?;
                vec![(kind, unit(axis)?)]
            }
            TreeJoint::Universal { first, second } => {
                vec![
                    (ElementaryJoint::Turn, unit(first)?),
                    (ElementaryJoint::Turn, unit(second)?),
                ]
            }
            TreeJoint::Planar { normal } => {
                let normal = unit(normal)?;
                let (t1, t2) = tangents(normal);
                vec![
                    (ElementaryJoint::Slide, t1),
                    (ElementaryJoint::Slide, t2),
                    (ElementaryJoint::Turn, normal),
                ]
            }
        })
    }
}

/// The unit quaternion along (w, x, y, z) of a configuration; that it has a direction was checked before.
pub(super) fn quaternion(q: &[f64]) -> DQuat {
    let quat = DQuat::from_xyzw(q[1], q[2], q[3], q[0]);
    quat * (1.0 / quat.length())
}

pub(super) fn store(quat: DQuat, q: &mut [f64]) {
    let quat = quat.normalize();
    q[..4].copy_from_slice(&[quat.w, quat.x, quat.y, quat.z]);
}

/// Moves the configuration of an elementary joint for the time h at constant velocity, exactly: angles and
/// displacements add up, orientations follow the exponential of the turn, a free frame that of the screw.
pub(super) fn advance(kind: ElementaryJoint, q: &mut [f64], v: &[f64], h: f64) {
    match kind {
        ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => {
            q[0] += h * v[0]
        }
        ElementaryJoint::Ball => {
            let turn = h * DVec3::from_slice(v);
            store(quaternion(q) * DQuat::from_scaled_axis(turn), q);
        }
        ElementaryJoint::Free => {
            let turn = h * DVec3::from_slice(v);
            let step = h * DVec3::from_slice(&v[3..]);
            let old = quaternion(&q[3..]);
            let moved = DVec3::from_slice(q) + old * along_screw(turn, step);
            q[..3].copy_from_slice(&moved.to_array());
            store(old * DQuat::from_scaled_axis(turn), &mut q[3..]);
        }
    }
}

/// ∫₀¹ exp(s [θ]×) d ds: the way of the origin of a frame that turns by θ while it moves along d in its own axes.
fn along_screw(theta: DVec3, d: DVec3) -> DVec3 {
    let angle2 = theta.length_squared();
    let angle = angle2.sqrt();
    // (1 − cos)/θ² and (θ − sin)/θ³, by their series where the difference cancels.
    let (b, c) = if angle < 1e-2 {
        (
            0.5 - angle2 / 24.0 + angle2 * angle2 / 720.0,
            1.0 / 6.0 - angle2 / 120.0 + angle2 * angle2 / 5040.0,
        )
    } else {
        let (sin, cos) = angle.sin_cos();
        ((1.0 - cos) / angle2, (angle - sin) / (angle2 * angle))
    };
    let first = theta.cross(d);
    d + b * first + c * theta.cross(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screw_motion_in_one_step_equals_many_small_ones() {
        let v = [0.3, -0.8, 0.5, 1.0, 0.2, -0.4];
        let mut once = [0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0];
        let mut often = once;
        advance(ElementaryJoint::Free, &mut once, &v, 2.0);
        let count = 5000;
        for _ in 0..count {
            advance(
                ElementaryJoint::Free,
                &mut often,
                &v,
                2.0 / f64::from(count),
            );
        }
        for (a, b) in once.iter().zip(&often) {
            assert!((a - b).abs() < 1e-11, "{once:?} {often:?}");
        }
    }

    #[test]
    fn orientations_keep_unit_length_over_many_steps() {
        let mut q = [0.5, 0.5, 0.5, 0.5];
        for _ in 0..100_000 {
            advance(ElementaryJoint::Ball, &mut q, &[3.0, -2.0, 1.0], 1e-3);
        }
        let length: f64 = q.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-15, "{length}");
    }
}
