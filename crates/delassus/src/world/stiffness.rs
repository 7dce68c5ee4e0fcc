//! How the pull of joints resists the turning of bodies: geometric stiffness.
//!
//! A joint that pulls with a force f at the arm r of a body turns it back as soon as it turns: the torque r × f falls
//! by K δθ with K = (rᵀf) 1 − f rᵀ. A first-order step takes the torque at the old pose, and is stable only while
//! h² K stays below the inertia: ten tonnes on beads of a kilogram exceed it by far, however exactly joints are solved.
//! Taking the torque at the new pose, f + h ∂f/∂x v, adds h² K to the inertia that the step sees, and nothing else.
//! Of K the part for f along r is kept, (rᵀf)(1 − r̂r̂ᵀ) where it pulls: symmetric and never negative.

use glam::{DMat3, DVec3};

use super::{JointKind, World};
use crate::index::JointId;

/// K of every body from the impulses of the last substep \[N m\]; empty where it is not asked for.
pub(super) fn of_joints(world: &World) -> Vec<DMat3> {
    let h = world.warm.step();
    if !world.settings.geometric_stiffness || !(0.0 < h) {
        return Vec::new();
    }
    let bodies = world.bodies();
    let mut stiffness = vec![DMat3::ZERO; bodies.len()];
    for (j, joint) in world.joints().iter().enumerate() {
        let pinned = matches!(
            joint.kind,
            JointKind::Ball | JointKind::Hinge(_) | JointKind::Universal | JointKind::Fixed
        );
        let impulse = world.joint_impulse(JointId(j as u32));
        let Some(impulse) = impulse.first_chunk::<3>().filter(|_| pinned) else {
            continue;
        };
        let force = DVec3::from(*impulse) / h;
        for (side, sign) in [(0, 1.0), (1, -1.0)] {
            let Some(id) = joint.bodies[side] else {
                continue;
            };
            let arm = bodies.orientation[id.index()] * joint.frames[side].origin;
            let pull = sign * force.dot(arm);
            if let Some(n) = arm.try_normalize().filter(|_| 0.0 < pull) {
                let along = DMat3::from_cols(n * n.x, n * n.y, n * n.z);
                stiffness[id.index()] += (DMat3::IDENTITY - along) * pull;
            }
        }
    }
    stiffness
}
