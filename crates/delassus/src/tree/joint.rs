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

use glam::{DMat3, DQuat, DVec3};

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

/// Shows ∂q_i/∂v_j of [`advance`] at h = 1 and v = 0, as (j, i, value).
pub(super) fn slopes(kind: ElementaryJoint, q: &[f64], mut show: impl FnMut(usize, usize, f64)) {
    let mut turn = |q: &[f64], first: usize| {
        for (j, axis) in DVec3::AXES.into_iter().enumerate() {
            // ½ q ⊗ (0, e)
            let half = DQuat::from_xyzw(0.5 * axis.x, 0.5 * axis.y, 0.5 * axis.z, 0.0);
            let along = quaternion(q).mul_quat(half);
            for (i, x) in [along.w, along.x, along.y, along.z].into_iter().enumerate() {
                show(j, first + i, x);
            }
        }
    };
    match kind {
        ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => {
            show(0, 0, 1.0);
        }
        ElementaryJoint::Ball => turn(q, 0),
        ElementaryJoint::Free => {
            turn(&q[3..], 3);
            let turn = quaternion(&q[3..]);
            for (j, axis) in DVec3::AXES.into_iter().enumerate() {
                let moved = turn * axis;
                for (i, x) in moved.to_array().into_iter().enumerate() {
                    show(3 + j, i, x);
                }
            }
        }
    }
}

/// The velocity that moves an elementary joint from one configuration to another in the time 1: what [`advance`] undoes.
pub(super) fn difference(kind: ElementaryJoint, from: &[f64], to: &[f64], v: &mut [f64]) {
    let turned = |from: &[f64], to: &[f64]| {
        let turn = quaternion(from).conjugate() * quaternion(to);
        let turn = if turn.w < 0.0 { -turn } else { turn };
        // θ = 2 atan2(|v|, w) v/|v|, also for turns of 1e-9.
        let (vector, sine) = (turn.xyz(), turn.xyz().length());
        match 1e-8 < sine {
            true => vector * (2.0 * sine.atan2(turn.w) / sine),
            false => 2.0 * vector,
        }
    };
    match kind {
        ElementaryJoint::Turn | ElementaryJoint::Slide | ElementaryJoint::Screw(_) => {
            v[0] = to[0] - from[0];
        }
        ElementaryJoint::Ball => v[..3].copy_from_slice(&turned(from, to).to_array()),
        ElementaryJoint::Free => {
            let turn = turned(&from[3..], &to[3..]);
            let moved = DVec3::from_slice(to) - DVec3::from_slice(from);
            let moved = quaternion(&from[3..]).conjugate() * moved;
            let [x, y, z] = DVec3::AXES.map(|axis| along_screw(turn, axis));
            let step = DMat3::from_cols(x, y, z).inverse() * moved;
            v[..3].copy_from_slice(&turn.to_array());
            v[3..6].copy_from_slice(&step.to_array());
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
    fn the_difference_of_two_configurations_leads_from_one_to_the_other() {
        let from = [0.1, 0.2, 0.3, 0.5, -0.5, 0.5, 0.5];
        let v = [0.3, -0.8, 0.5, 1.0, 0.2, -0.4];
        let mut to = from;
        advance(ElementaryJoint::Free, &mut to, &v, 1.0);
        let mut found = [0.0; 6];
        difference(ElementaryJoint::Free, &from, &to, &mut found);
        for (a, b) in found.iter().zip(&v) {
            assert!((a - b).abs() < 1e-14, "{found:?}");
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
