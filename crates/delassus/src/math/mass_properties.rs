//! What dynamics knows of a solid: its mass, where its centre is, and its inertia.

use super::{DMat3, DQuat, DVec3};

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

    /// The same solid at a place and a turn of another frame.
    pub fn placed(self, position: DVec3, rotation: DQuat) -> MassProperties {
        MassProperties {
            mass: self.mass,
            com: position + rotation * self.com,
            inertia: turned(self.inertia, rotation),
        }
    }

    /// Several solids as one, by parallel axes; `None` where they have no mass together.
    pub fn joined(parts: &[MassProperties]) -> Option<MassProperties> {
        let mass: f64 = parts.iter().map(|part| part.mass).sum();
        if !(0.0 < mass && mass.is_finite()) {
            return None;
        }
        if let [part] = parts {
            return Some(*part);
        }
        // c = Σ mᵢ cᵢ / m;   I = Σ Iᵢ + mᵢ (|d|² 1 − d dᵀ),  d = cᵢ − c
        let moment: DVec3 = parts.iter().map(|part| part.mass * part.com).sum();
        let com = moment / mass;
        let mut inertia = DMat3::ZERO;
        for part in parts {
            let d = part.com - com;
            let outer = DMat3::from_cols(d * d.x, d * d.y, d * d.z);
            let square = DMat3::from_diagonal(DVec3::splat(d.length_squared()));
            inertia += part.inertia + (square - outer) * part.mass;
        }
        Some(MassProperties { mass, com, inertia })
    }
}

/// R I Rᵀ, symmetric to the bit.
fn turned(inertia: DMat3, rotation: DQuat) -> DMat3 {
    if rotation == DQuat::IDENTITY {
        return inertia;
    }
    let turn = DMat3::from_quat(rotation);
    let turned = turn * inertia * turn.transpose();
    (turned + turned.transpose()) * 0.5
}
