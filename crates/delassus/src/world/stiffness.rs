//! How the pull of joints resists the turning of bodies: geometric stiffness.
//!
//! A joint that pulls with a force f at the arm r of a body turns it back as soon as it turns: the torque r × f falls
//! by K δθ with K = (rᵀf) 1 − f rᵀ. A first-order step takes the torque at the old pose, and is stable only while
//! h² K stays below the inertia: ten tonnes on beads of a kilogram exceed it by far, however exactly joints are solved.
//! Taking the torque at the new pose, f + h ∂f/∂x v, adds h² K to the inertia that the step sees, and nothing else.
//! Of K the part for f along r is kept, (rᵀf)(1 − r̂r̂ᵀ) where it pulls: symmetric and never negative.
//!
//! What is stable without it is left alone: the term costs nothing, but it damps the swinging that it slows down.

use glam::{DMat3, DVec3};

use super::World;

/// Which bodies see the pull of their joints at the new pose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GeometricStiffness {
    /// None.
    Never,
    /// Those that the pull would swing by more than two radians in a step: without it they are unstable.
    #[default]
    Needed,
    /// All.
    Always,
}

/// Largest sum of h²ω² over the axes of a body that is left alone: beyond two radians about each of two axes a step
/// that takes the pull at the old pose is unstable.
pub(super) const LIMIT: f64 = 8.0;

/// h²K of every body from the impulses of the last substep \[kg m²\], written over `added`; empty where there is none.
pub(super) fn of_joints(world: &World, h: f64, added: &mut Vec<DMat3>) {
    let mode = world.settings.geometric_stiffness;
    let before = world.warm.step();
    added.clear();
    if mode == GeometricStiffness::Never || world.joints().is_empty() || !(0.0 < before) {
        return;
    }
    added.resize(world.bodies().len(), DMat3::ZERO);
    pulls(world, before, added);
    let bodies = world.bodies();
    for (i, k) in added.iter_mut().enumerate() {
        // No joint pulls at it.
        if *k == DMat3::ZERO {
            continue;
        }
        // tr(I⁻¹ h²K), in body axes: the sum of (hω)² over the swings that the pull alone makes.
        *k *= h * h;
        let turn = DMat3::from_quat(bodies.orientation[i]);
        let own = turn.transpose() * *k * turn;
        let swing = bodies.inertia[i].inverse() * own;
        let sum = swing.x_axis.x + swing.y_axis.y + swing.z_axis.z;
        // Also where the inertia has no inverse.
        if mode == GeometricStiffness::Needed && !(LIMIT < sum) {
            *k = DMat3::ZERO;
        }
    }
}

/// K of every body \[N m\], from impulses over so many seconds.
fn pulls(world: &World, h: f64, stiffness: &mut [DMat3]) {
    let bodies = world.bodies();
    for (id, impulse) in world.warm.held() {
        let joint = world.joints().get(id.index());
        let Some(joint) = joint.filter(|joint| joint.kind.is_pin()) else {
            continue;
        };
        let Some(impulse) = impulse.first_chunk::<3>() else {
            continue;
        };
        let force = DVec3::from(*impulse) / h;
        for (side, sign) in [(0, 1.0), (1, -1.0)] {
            // Only bodies with a mass of their own feel it.
            let Some(id) = joint.bodies[side].filter(|id| bodies.is_single(*id)) else {
                continue;
            };
            let arm = bodies.orientation[id.index()] * joint.frames[side].origin;
            // K += (rᵀf)(1 − r̂r̂ᵀ) where rᵀf > 0.
            let pull = sign * force.dot(arm);
            if let Some(n) = arm.try_normalize().filter(|_| 0.0 < pull) {
                let along = DMat3::from_cols(n * n.x, n * n.y, n * n.z);
                stiffness[id.index()] += (DMat3::IDENTITY - along) * pull;
            }
        }
    }
}
