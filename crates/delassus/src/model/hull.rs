//! Convex hulls that stand for meshes and ellipsoids, and where the files of meshes lie.

use std::path::{Path, PathBuf};

use glam::{DMat3, DQuat, DVec3};

use super::mesh::{self, Mesh};
use crate::collide::Shape;
use crate::linalg::sym3::Sym3;

/// Points on the surface of the hull that stands for an ellipsoid.
const ROUND: usize = 128;

/// The hull of points on an ellipsoid with these half axes.
pub(super) fn ellipsoid(half: [f64; 3]) -> Shape {
    let points = directions(ROUND).map(|d| (d * DVec3::from(half)).to_array());
    Shape::Hull {
        points: points.collect(),
    }
}

/// Directions spread over the sphere by the golden angle, the same ones every time.
fn directions(count: usize) -> impl Iterator<Item = DVec3> {
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

/// The surface of the hull of points as a mesh.
pub(super) fn surface(points: &[DVec3]) -> Result<Mesh, String> {
    let mut given = points.to_vec();
    given.sort_by(order);
    given.dedup();
    let (points, faces) = parry3d_f64::transformation::try_convex_hull(&given)
        .map_err(|error| format!("the hull of its corners cannot be made: {error}"))?;
    Ok(Mesh {
        points,
        faces,
        ..Mesh::default()
    })
}

/// An order of points.
fn order(a: &DVec3, b: &DVec3) -> std::cmp::Ordering {
    let pairs = a.to_array().into_iter().zip(b.to_array());
    pairs
        .map(|(a, b)| a.total_cmp(&b))
        .fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
}

/// The hull of a mesh file, with a remark where it keeps only some of the corners.
pub(super) fn of_file(path: &Path, scale: DVec3) -> Result<(Shape, Option<String>), String> {
    let mesh = mesh::read(path)?;
    Ok(of_points(mesh.points.into_iter().map(|p| p * scale)))
}

/// The hull of points that lie nearly in one plane, made thicker by a hundredth of its size.
pub(super) fn thickened(points: &[DVec3]) -> (Shape, Option<String>) {
    let count = points.len().max(1) as f64;
    let middle = points.iter().sum::<DVec3>() / count;
    let mut spread = DMat3::ZERO;
    for point in points {
        let d = *point - middle;
        spread += DMat3::from_cols(d * d.x, d * d.y, d * d.z);
    }
    let (_, axes) = Sym3::of(&spread).principal();
    let size = points
        .iter()
        .fold(0.0, |m: f64, p| m.max((*p - middle).length()));
    let out = axes.x_axis * (0.01 * size);
    let (shape, _) = of_points(points.iter().flat_map(|p| [*p + out, *p - out]));
    let text = format!("it is flat, and made {} m thick", 0.02 * size);
    (shape, Some(text))
}

/// The hull of points, of which only those furthest along some directions are kept where there are many.
pub(super) fn of_points(points: impl Iterator<Item = DVec3>) -> (Shape, Option<String>) {
    const MOST: usize = 256;
    let mut points: Vec<DVec3> = points.collect();
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
    (Shape::Hull { points }, remark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_of_many_corners_keeps_the_far_ones() {
        let (_, remark) = of_points(directions(100));
        assert!(remark.is_none());
        let (hull, remark) = of_points(directions(5000));
        let Shape::Hull { points } = hull else {
            panic!("a hull")
        };
        assert!(points.len() <= 256 && remark.unwrap().contains("5000"));
    }
}
