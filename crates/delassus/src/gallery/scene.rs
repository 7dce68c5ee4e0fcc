//! A builder that knows where its bodies are, for one step under gravity.

use glam::{DMat3, DVec3};

use crate::error::BuildError;
use crate::index::MassId;
use crate::law::Law;
use crate::math::tangents;
use crate::problem::ProblemBuilder;
use crate::problem::mass::MassBlock;
use crate::problem::place::Point;

const GRAVITY: f64 = 9.81;
const STEP: f64 = 0.01;

/// A builder that knows where its bodies are.
#[derive(Default)]
pub(super) struct Scene {
    pub(super) builder: ProblemBuilder,
    centres: Vec<DVec3>,
}

impl Scene {
    /// Adds a body whose inertia is diagonal in world axes, with velocity and force besides gravity.
    pub(super) fn body(
        &mut self,
        (mass, inertia): (f64, DVec3),
        centre: DVec3,
        (velocity, spin): (DVec3, DVec3),
        (force, torque): (DVec3, DVec3),
    ) -> Result<MassId, BuildError> {
        let inertia = DMat3::from_diagonal(inertia);
        let linear = mass * velocity + STEP * (force - DVec3::Z * (mass * GRAVITY));
        let angular = inertia * spin + STEP * (torque - spin.cross(inertia * spin));
        let p = [
            linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
        ];
        self.centres.push(centre);
        self.builder.add_mass(MassBlock::rigid(mass, inertia)?, &p)
    }

    /// A contact at `point`, normal from b to a.
    pub(super) fn contact(
        &mut self,
        (a, b): (MassId, Option<MassId>),
        point: DVec3,
        normal: DVec3,
        mu: f64,
    ) -> Result<(), BuildError> {
        let (t1, t2) = tangents(normal);
        self.rows(
            Law::FrictionCone { mu },
            (a, b),
            (point, [normal, t1, t2]),
            [0.0; 3],
        )
    }

    /// Three rows at `point`, along these directions.
    pub(super) fn rows(
        &mut self,
        law: Law,
        (a, b): (MassId, Option<MassId>),
        (point, directions): (DVec3, [DVec3; 3]),
        q: [f64; 3],
    ) -> Result<(), BuildError> {
        let end = |mass: MassId| (mass, point - self.centres[mass.index()]);
        let point = Point {
            directions: &directions,
            first: Some(end(a)),
            second: b.map(end),
        };
        self.builder
            .add_point(law, &point, &[0.0; 3], &q)
            .map(|_| ())
    }

    /// One row.
    pub(super) fn scalar(
        &mut self,
        law: Law,
        rows: &[(MassId, [f64; 6])],
        sigma: f64,
        q: f64,
    ) -> Result<(), BuildError> {
        let rows: Vec<(MassId, &[f64])> = rows.iter().map(|(id, g)| (*id, &g[..])).collect();
        self.builder
            .add_block(law, &rows, &[sigma], &[q])
            .map(|_| ())
    }
}

/// Neither linear nor angular.
pub(super) const REST: (DVec3, DVec3) = (DVec3::ZERO, DVec3::ZERO);

/// Mass and inertia of a solid ball.
pub(super) fn ball(mass: f64, radius: f64) -> (f64, DVec3) {
    (mass, DVec3::splat(0.4 * mass * radius * radius))
}

/// Mass and inertia of a box.
pub(super) fn cuboid(mass: f64, half: DVec3) -> (f64, DVec3) {
    let s = half * half * (mass / 3.0);
    (mass, DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y))
}

/// The row "angular velocity about an axis".
pub(super) fn angular(axis: DVec3, ratio: f64) -> [f64; 6] {
    let a = axis * ratio;
    [0.0, 0.0, 0.0, a.x, a.y, a.z]
}
