//! Outsides of links, as a file gives them: a scene turns them into colliders.

use std::path::{Path, PathBuf};

use glam::{DQuat, DVec3};

use super::mesh;
use crate::index::LinkId;
use crate::tree::spatial::Pose;

/// A shape on a link, or on the ground.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeEntry {
    /// The link that carries it; `None` is the ground.
    pub link: Option<LinkId>,
    /// Its frame in that of the link.
    pub pose: Pose,
    /// What it is.
    pub geometry: Geometry,
    /// Coefficient of friction, where the file gives one.
    pub friction: Option<f64>,
}

/// A convex shape about the origin of its frame; lengths in metres.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Geometry {
    /// A ball.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// A box.
    Box {
        /// Half of each edge.
        half: [f64; 3],
    },
    /// A cylinder along z.
    Cylinder {
        /// Half of the height.
        half_length: f64,
        /// Radius.
        radius: f64,
    },
    /// A cylinder along z with round ends on top.
    Capsule {
        /// Half of the segment.
        half_length: f64,
        /// Radius.
        radius: f64,
    },
    /// The convex hull of points.
    Hull {
        /// The points.
        points: Vec<[f64; 3]>,
    },
    /// Everything below z = 0.
    Plane,
}

/// Points of a ball along each of its 6 great half circles that stand for an ellipsoid.
const ROUND: usize = 8;

impl Geometry {
    /// The hull of points on an ellipsoid with these half axes.
    pub(super) fn ellipsoid(half: [f64; 3]) -> Geometry {
        let points = directions(ROUND * ROUND * 2);
        let points = points.map(|d| (d * DVec3::from(half)).to_array());
        Geometry::Hull {
            points: points.collect(),
        }
    }

    /// The smallest z of the shape in a frame of the world; `None` for a plane, which has none.
    pub fn lowest(&self, pose: &Pose) -> Option<f64> {
        // The support in direction −z, in the frame of the shape.
        let down = -(pose.rotation.transpose() * DVec3::Z);
        let reach = match self {
            Geometry::Sphere { radius } => *radius,
            Geometry::Box { half } => DVec3::from(*half).dot(down.abs()),
            Geometry::Cylinder {
                half_length,
                radius,
            } => half_length * down.z.abs() + radius * down.x.hypot(down.y),
            Geometry::Capsule {
                half_length,
                radius,
            } => half_length * down.z.abs() + radius,
            Geometry::Hull { points } => points
                .iter()
                .map(|p| DVec3::from(*p).dot(down))
                .fold(f64::NEG_INFINITY, f64::max),
            Geometry::Plane => return None,
        };
        Some(pose.position.z - reach)
    }
}

/// Directions spread over the sphere by the golden angle, the same ones every time.
pub(super) fn directions(count: usize) -> impl Iterator<Item = DVec3> {
    let golden = std::f64::consts::PI * (3.0 - 5_f64.sqrt());
    (0..count).map(move |i| {
        let z = 1.0 - (2.0 * i as f64 + 1.0) / count as f64;
        let around = DQuat::from_rotation_z(golden * i as f64) * DVec3::X;
        around * (1.0 - z * z).sqrt() + DVec3::Z * z
    })
}

/// Where a mesh that a file names lies: packages are looked for in the folder and in those above it.
pub(super) fn locate(name: &str, folder: &Path) -> Option<PathBuf> {
    let plain = name.strip_prefix("file://").unwrap_or(name);
    let Some(inside) = plain.strip_prefix("package://") else {
        let path = folder.join(plain);
        return path.is_file().then_some(path);
    };
    let within = inside.split_once('/').map_or(inside, |(_, rest)| rest);
    // A relative folder has parents only once it is made absolute.
    let folder = std::path::absolute(folder).ok()?;
    let mut places = folder
        .ancestors()
        .take(4)
        .flat_map(|up| [up.join(inside), up.join(within)]);
    places.find(|path| path.is_file())
}

/// The hull of a mesh file, with a remark where it keeps only some of the corners.
pub(super) fn hull_of_file(
    path: &Path,
    scale: DVec3,
) -> Result<(Geometry, Option<String>), String> {
    let points = mesh::read(path)?;
    Ok(hull_of_points(points.into_iter().map(|p| p * scale)))
}

/// The hull of points, of which only those furthest along some directions are kept where there are many.
pub(super) fn hull_of_points(points: impl Iterator<Item = DVec3>) -> (Geometry, Option<String>) {
    const MOST: usize = 256;
    let mut points: Vec<DVec3> = points.collect();
    let order = |a: &DVec3, b: &DVec3| {
        let pairs = a.to_array().into_iter().zip(b.to_array());
        pairs
            .map(|(a, b)| a.total_cmp(&b))
            .fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    };
    points.sort_by(order);
    points.dedup();
    let mut remark = None;
    if MOST < points.len() {
        let all = points.len();
        let furthest = |d: DVec3| {
            let far = |a: &&DVec3, b: &&DVec3| a.dot(d).total_cmp(&b.dot(d));
            points.iter().max_by(far).copied()
        };
        let mut kept: Vec<DVec3> = directions(MOST).filter_map(furthest).collect();
        kept.sort_by(order);
        kept.dedup();
        remark = Some(format!(
            "{} of its {all} corners, the furthest along {MOST} directions, stand for the mesh",
            kept.len()
        ));
        points = kept;
    }
    let points = points.into_iter().map(|p| p.to_array()).collect();
    (Geometry::Hull { points }, remark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_point_of_a_turned_shape_is_found() {
        let turn = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_4);
        let pose = Pose::new(DVec3::Z, turn);
        let half = [1.0, 1.0, 1.0];
        let found = Geometry::Box { half }.lowest(&pose).unwrap();
        assert!((found - (1.0 - 2_f64.sqrt())).abs() < 1e-12);
        let corners = directions(100).map(|d| d * 0.5);
        let (ball, remark) = hull_of_points(corners);
        assert!(remark.is_none());
        let found = ball.lowest(&pose).unwrap();
        assert!((0.49..0.52).contains(&found), "{found}");
    }

    #[test]
    fn a_mesh_of_many_corners_keeps_the_far_ones() {
        let (hull, remark) = hull_of_points(directions(5000));
        let Geometry::Hull { points } = hull else {
            panic!("a hull")
        };
        assert!(points.len() <= 256 && remark.unwrap().contains("5000"));
    }
}
