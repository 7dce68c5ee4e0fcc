//! Colliders made ready: checked once, so that steps may trust them.

use super::ground::Ground;
use super::hull::Hull;
use super::narrow::Solid;
use super::shape::{MAX_SIZE, Shape, ShapeError};
use super::solid::{Convex, Core, PoseMatrix, bounds};
use super::{Bounds, CollideError, Collider, Groups, MARGIN, Poses, Tag};
use crate::math::{DQuat, DVec3};

/// Error of the square of a length that is one to its last digits.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A collider made ready.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    pub(super) solid: Solid,
    pub(super) body: usize,
    pub(super) place: Option<(DVec3, DQuat)>,
    pub(super) group: Groups,
    pub(super) ground: bool,
    /// Largest distance of a point from the origin; infinite for ground \[m\].
    pub(super) size: f64,
}

impl Ready {
    /// Where it stands in the world, and what the choice of pairs needs of it.
    #[inline(always)]
    pub(super) fn placed(
        &self,
        collider: usize,
        motion: Poses<'_>,
    ) -> Result<(PoseMatrix, Tag), CollideError> {
        let body = self.body;
        let missing = |what, found| CollideError::MissingBody {
            what,
            found,
            collider,
            body,
        };
        let Poses {
            poses,
            movable,
            reach,
        } = motion;
        let &(at, turn) = poses.get(body).ok_or(missing("poses", poses.len()))?;
        let found = reach.get(body);
        let reach = *found.ok_or(missing("reach", reach.len()))?;
        let found = movable.get(body);
        let movable = *found.ok_or(missing("movable", movable.len()))?;
        if !(0.0..=MAX_SIZE).contains(&reach) {
            return Err(CollideError::BadReach { body, reach });
        }
        let turn = check_pose((at, turn), || format!("body {body}"))?;
        let frame = self.frame(at, turn);
        let tag = Tag {
            centre: frame.at(),
            size: self.size,
            reach,
            body: body as u32,
            group: self.group,
            ball: self.solid.is_ball(),
            ground: self.ground,
            movable,
        };
        Ok((frame, tag))
    }

    /// Where it stands in the world with its body there.
    pub(super) fn frame(&self, at: DVec3, turn: DQuat) -> PoseMatrix {
        match self.place {
            None => PoseMatrix::new(at, turn),
            Some((offset, rotation)) => {
                // Both are of length one, and so is their product.
                PoseMatrix::new(at + turn * offset, turn * rotation)
            }
        }
    }

    /// Its box in the world with all it may move in the step.
    pub(super) fn bounds(&self, frame: &PoseMatrix, reach: f64) -> Bounds {
        let (centre, half) = extent(&self.solid, frame)?;
        let margin = if self.size.is_finite() {
            MARGIN * self.size
        } else {
            0.0
        };
        Some((centre, half + DVec3::splat(reach + margin)))
    }
}

/// Centre and half extents of a solid's box in the world; a half-space has none.
pub(super) fn extent(solid: &Solid, frame: &PoseMatrix) -> Option<(DVec3, DVec3)> {
    match solid {
        Solid::Plane | Solid::Gone => None,
        Solid::Convex(convex) => Some(bounds(convex, frame)),
        Solid::Ground(ground) => {
            let half = 0.5 * (ground.high - ground.low);
            let rows = [0, 1, 2].map(|k| frame.axes.row(k).abs().dot(half));
            Some((
                frame.out(0.5 * (ground.high + ground.low)),
                DVec3::from(rows),
            ))
        }
    }
}

/// The rotation of a sound pose, of length one to rounding.
pub(super) fn check_pose(
    (at, turn): (DVec3, DQuat),
    place: impl Fn() -> String,
) -> Result<DQuat, CollideError> {
    let sound = at.abs().max_element() <= MAX_SIZE && at.is_finite();
    // A quaternion drifts in integration; beyond a part in a thousand it is a mistake.
    let drift = (turn.length_squared() - 1.0).abs();
    if !(sound && drift <= 1e-3) {
        return Err(CollideError::BadPose {
            place: place(),
            position: at,
            rotation: turn,
        });
    }
    // Most are of length one to their last digit.
    Ok(match drift <= ROUNDING {
        true => turn,
        false => turn.normalize(),
    })
}

pub(super) fn prepare(index: usize, collider: Collider) -> Result<Ready, CollideError> {
    let Collider {
        shape,
        body,
        pose,
        group,
    } = collider;
    let bad = |reason| CollideError::BadShape {
        collider: index,
        body,
        reason,
    };
    shape.check().map_err(bad)?;
    let turn = check_pose(pose, || format!("collider {index} on body {body}"))?;
    let ground = shape.is_static_only();
    let solid = build(shape).map_err(bad)?;
    let size = if let Solid::Convex(convex) = &solid {
        convex.size
    } else {
        f64::INFINITY
    };
    let place = (pose.0 != DVec3::ZERO || turn != DQuat::IDENTITY).then_some((pose.0, turn));
    Ok(Ready {
        solid,
        body,
        place,
        group,
        ground,
        size,
    })
}

/// A checked shape made ready.
fn build(shape: Shape) -> Result<Solid, ShapeError> {
    let convex = |core, radius, size| Solid::Convex(Convex { core, radius, size });
    Ok(match shape {
        Shape::Sphere { radius } => convex(Core::Point, radius, radius),
        Shape::Box { half } => convex(Core::Block(half.into()), 0.0, DVec3::from(half).length()),
        Shape::Capsule {
            half_length,
            radius,
        } => convex(Core::Segment(half_length), radius, half_length + radius),
        Shape::Cylinder {
            half_length: half,
            radius,
        } => convex(Core::Cylinder { half, radius }, 0.0, half.hypot(radius)),
        Shape::Hull { points } => {
            let hull = Hull::new(&points)?;
            let size = hull.corners.iter().fold(0.0, |m: f64, c| m.max(c.length()));
            convex(Core::Hull(hull), 0.0, size)
        }
        Shape::HalfSpace => Solid::Plane,
        Shape::Mesh {
            vertices,
            triangles,
        } => Solid::Ground(Ground::mesh(&vertices, &triangles)),
        Shape::HeightField {
            rows,
            columns,
            heights,
            size,
        } => Solid::Ground(Ground::grid(rows, columns, &heights, size)),
    })
}
