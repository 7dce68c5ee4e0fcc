//! What dynamics knows of a solid: its mass, where its centre is, and its inertia.

use super::{DMat3, DVec3};

/// Mass, centre of mass and inertia of a solid or of a link; all zero for a frame without mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Mass \[kg\].
    pub mass: f64,
    /// Centre of mass in its own frame \[m\].
    pub com: DVec3,
    /// Inertia about the centre of mass, in axes of that frame \[kg m²\].
    pub inertia: DMat3,
}

impl MassProperties {
    /// A frame without mass.
    pub const NONE: MassProperties = MassProperties {
        mass: 0.0,
        com: DVec3::ZERO,
        inertia: DMat3::ZERO,
    };

    /// A mass in one point.
    pub fn point(mass: f64, com: DVec3) -> MassProperties {
        MassProperties {
            mass,
            com,
            inertia: DMat3::ZERO,
        }
    }
}
