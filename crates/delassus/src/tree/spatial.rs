//! Spatial algebra, written once: velocities and forces of a frame as pairs of three-vectors, poses, rigid and
//! articulated inertias.
//!
//! Everything is in **world axes about the origin of its own link**. Moving a quantity from one link to its
//! parent is then a shift by the arm between the two origins, without a rotation: a third of the work of
//! link axes, and without the cancellation of a single common origin, which costs a long chain its digits.
//!
//! Six-vectors have the angular part first. Accelerations are those of the material point at the origin, not
//! spatial accelerations: a_point = a_spatial + ω × v.

mod inertia;

pub(super) use self::inertia::Articulated;
pub use self::inertia::Inertia;
pub use crate::linalg::sym3::Sym3;
use glam::{DMat3, DQuat, DVec3};

/// Angular velocity (or acceleration) and the velocity (or acceleration) of the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// Angular part \[rad/s\].
    pub angular: DVec3,
    /// Linear part, of the origin \[m/s\].
    pub linear: DVec3,
}

/// A torque about the origin and a force.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Force {
    /// Torque about the origin \[N m\].
    pub torque: DVec3,
    /// Force \[N\].
    pub force: DVec3,
}

impl Motion {
    /// No motion.
    pub const ZERO: Motion = Motion {
        angular: DVec3::ZERO,
        linear: DVec3::ZERO,
    };

    /// Turning alone, about the origin.
    #[inline]
    pub(crate) fn turning(angular: DVec3) -> Motion {
        Motion {
            angular,
            linear: DVec3::ZERO,
        }
    }

    /// Sliding alone.
    #[inline]
    pub(crate) fn sliding(linear: DVec3) -> Motion {
        Motion {
            angular: DVec3::ZERO,
            linear,
        }
    }

    /// Of the point that lies at `arm` from the origin: v + ω × arm.
    #[inline]
    pub fn at(self, arm: DVec3) -> Motion {
        Motion {
            angular: self.angular,
            linear: self.linear + self.angular.cross(arm),
        }
    }
}

impl Force {
    /// No force.
    pub const ZERO: Force = Force {
        torque: DVec3::ZERO,
        force: DVec3::ZERO,
    };

    /// About a point from which the origin lies at `arm`: torque + arm × force.
    #[inline]
    pub fn from(self, arm: DVec3) -> Force {
        Force {
            torque: self.torque + arm.cross(self.force),
            force: self.force,
        }
    }

    /// Power of the force on a motion.
    #[inline]
    pub fn power(self, motion: Motion) -> f64 {
        self.torque.dot(motion.angular) + self.force.dot(motion.linear)
    }
}

impl std::ops::AddAssign for Force {
    #[inline]
    fn add_assign(&mut self, other: Force) {
        self.torque += other.torque;
        self.force += other.force;
    }
}

impl std::ops::Mul<f64> for Force {
    type Output = Force;
    #[inline]
    fn mul(self, factor: f64) -> Force {
        Force {
            torque: self.torque * factor,
            force: self.force * factor,
        }
    }
}

/// A frame inside another: a point x of the inner frame lies at `rotation x + position` of the outer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// From inner to outer axes; orthonormal.
    pub rotation: DMat3,
    /// Origin of the inner frame in the outer \[m\].
    pub position: DVec3,
}

impl Pose {
    /// The frame itself.
    pub const IDENTITY: Pose = Pose {
        rotation: DMat3::IDENTITY,
        position: DVec3::ZERO,
    };

    /// From a position and a quaternion, which is normalised.
    pub fn new(position: DVec3, orientation: DQuat) -> Pose {
        Pose {
            rotation: DMat3::from_quat(orientation.normalize()),
            position,
        }
    }

    /// A shift without a turn.
    pub fn at(position: DVec3) -> Pose {
        Pose {
            rotation: DMat3::IDENTITY,
            position,
        }
    }

    /// The inner frame of `inner`, in the outer frame of `self`.
    pub fn then(&self, inner: &Pose) -> Pose {
        Pose {
            rotation: self.rotation * inner.rotation,
            position: self.rotation * inner.position + self.position,
        }
    }

    /// A point of the inner frame in the outer.
    pub fn point(&self, x: DVec3) -> DVec3 {
        self.rotation * x + self.position
    }

    /// The outer frame in the inner.
    pub fn inverse(&self) -> Pose {
        let rotation = self.rotation.transpose();
        Pose {
            rotation,
            position: -(rotation * self.position),
        }
    }
}
