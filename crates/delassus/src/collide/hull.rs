//! A convex polyhedron by its corners and its whole faces.
//!
//! Only the triangulation comes from parry. Its own `ConvexPolyhedron` hands out at most four corners of a face,
//! asserts on hulls it cannot stitch, and is therefore not used.

use parry3d_f64::transformation::try_convex_hull;

use crate::math::{DMat3, DVec3};

use super::shape::ShapeError;

/// A convex polyhedron, checked on construction.
#[derive(Clone, Debug)]
pub(crate) struct Hull {
    pub(crate) corners: Vec<DVec3>,
    pub(crate) faces: Vec<Face>,
    /// The centre of its volume.
    pub(crate) centre: DVec3,
    triangles: Vec<[u32; 3]>,
}

/// One flat face: outward unit normal and its corners in order around it.
#[derive(Clone, Debug)]
pub(crate) struct Face {
    pub(crate) normal: DVec3,
    pub(crate) corners: Vec<u32>,
}

/// Moments of the space a solid fills.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// Volume \[m³\].
    pub(crate) volume: f64,
    /// Centre \[m\].
    pub(crate) centre: DVec3,
    /// ∫ (x − c)(x − c)ᵀ about the centre c \[m⁵\].
    pub(crate) second: DMat3,
}

impl Hull {
    /// The hull of finite points.
    pub(crate) fn new(points: &[[f64; 3]]) -> Result<Hull, ShapeError> {
        let flat = |reason| ShapeError::FlatHull {
            points: points.len(),
            reason,
        };
        let mut given: Vec<DVec3> = points.iter().map(|&p| DVec3::from(p)).collect();
        let size = thickness(&given).ok_or(flat("all points lie in one plane"))?;
        // Duplicates make the triangulation fail; sorting also makes the answer independent of their order.
        given.sort_by(|a, b| {
            a.to_array()
                .partial_cmp(&b.to_array())
                .expect("coordinates of hulls are finite")
        });
        given.dedup_by(|a, b| (*a - *b).length() <= 1e-9 * size);
        let (corners, triangles) =
            try_convex_hull(&given).map_err(|_| flat("the triangulation failed"))?;
        let tolerance = 1e-9 * size;
        let faces = faces(&corners, &triangles, tolerance);
        let mut hull = Hull {
            corners,
            faces,
            centre: DVec3::ZERO,
            triangles,
        };
        // Trust, but look: every given point must be inside every face.
        let outside = hull.faces.iter().any(|face| {
            let level = face.normal.dot(hull.corners[face.corners[0] as usize]);
            given
                .iter()
                .any(|p| 1e-6 * size < face.normal.dot(*p) - level)
        });
        let moments = hull.moments();
        if hull.faces.len() < 4 || outside || moments.volume <= 0.0 {
            return Err(flat("the triangulation is not convex"));
        }
        hull.centre = moments.centre;
        Ok(hull)
    }

    /// Its moments, summed over tetrahedra from the first corner.
    pub(crate) fn moments(&self) -> Moments {
        let origin = self.corners[0];
        let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
        for t in &self.triangles {
            let [a, b, c] = t.map(|i| self.corners[i as usize] - origin);
            // v = a · (b × c)/6, and ∫ x = v (a + b + c)/4.
            let v = a.dot(b.cross(c)) / 6.0;
            let sum = a + b + c;
            volume += v;
            first += v / 4.0 * sum;
            // ∫ x xᵀ = v/20 (Σ pᵢpᵢᵀ + (Σ pᵢ)(Σ pᵢ)ᵀ) for a tetrahedron with one corner at the origin.
            second += (outer(a) + outer(b) + outer(c) + outer(sum)) * (v / 20.0);
        }
        // About the centre: ∫ (x − c)(x − c)ᵀ = ∫ x xᵀ − V c cᵀ.
        let centre = first / volume;
        Moments {
            volume,
            centre: origin + centre,
            second: second - outer(centre) * volume,
        }
    }
}

fn outer(a: DVec3) -> DMat3 {
    DMat3::from_cols(a * a.x, a * a.y, a * a.z)
}

/// Largest extent of the points; `None` when they lie within 1e-6 of it from a common plane.
fn thickness(points: &[DVec3]) -> Option<f64> {
    let origin = *points.first()?;
    let far = |f: &dyn Fn(DVec3) -> f64| {
        points
            .iter()
            .map(|&p| (f(p - origin), p - origin))
            .max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let (size, along) = far(&|p| p.length())?;
    let axis = along.try_normalize()?;
    let (width, across) = far(&|p| p.reject_from_normalized(axis).length())?;
    let normal = axis.cross(across).try_normalize()?;
    let (depth, _) = far(&|p| p.dot(normal).abs())?;
    (1e-6 * size < width && 1e-6 * size < depth).then_some(size)
}

/// Whole faces: the triangles of one plane become one polygon.
fn faces(corners: &[DVec3], triangles: &[[u32; 3]], tolerance: f64) -> Vec<Face> {
    let mut faces: Vec<(Face, f64)> = Vec::new();
    let mut largest_first: Vec<(f64, DVec3, DVec3)> = triangles
        .iter()
        .filter_map(|t| {
            let [a, b, c] = t.map(|i| corners[i as usize]);
            let area = (b - a).cross(c - a);
            Some((area.length(), area.try_normalize()?, a))
        })
        .collect();
    // The largest triangle of a plane has its best normal.
    largest_first.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (_, normal, on) in largest_first {
        let level = normal.dot(on);
        let known = |(face, other): &(Face, f64)| {
            1.0 - 1e-10 < face.normal.dot(normal) && (level - other).abs() <= 10.0 * tolerance
        };
        if faces.iter().any(known) {
            continue;
        }
        let mut around: Vec<u32> = (0..corners.len() as u32)
            .filter(|&i| (normal.dot(corners[i as usize]) - level).abs() <= tolerance)
            .collect();
        let centre =
            around.iter().map(|&i| corners[i as usize]).sum::<DVec3>() / around.len() as f64;
        let (t1, t2) = crate::math::tangents(normal);
        let angle = |i: &u32| {
            let arm = corners[*i as usize] - centre;
            arm.dot(t2).atan2(arm.dot(t1))
        };
        around.sort_by(|i, j| angle(i).total_cmp(&angle(j)));
        if 3 <= around.len() {
            faces.push((
                Face {
                    normal,
                    corners: around,
                },
                level,
            ));
        }
    }
    faces.into_iter().map(|(face, _)| face).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn a_cube_has_six_square_faces() {
        let mut points: Vec<[f64; 3]> = (0..8)
            .map(|i| [0, 1, 2].map(|k| f64::from(i >> k & 1)))
            .collect();
        points.push([0.5; 3]);
        points.push([1.0; 3]);
        let hull = Hull::new(&points).unwrap();
        assert_eq!(hull.faces.len(), 6);
        assert!(hull.faces.iter().all(|f| f.corners.len() == 4));
        assert!((hull.moments().volume - 1.0).abs() < 1e-14);
    }

    #[test]
    fn random_clouds_never_panic() {
        let mut random = Random::new(7);
        for round in 0..300 {
            let n = 4 + random.below(60);
            // Coarse grids force coplanar and repeated points; flat ones force thin hulls.
            let grid = [0.0, 4.0, 2.0][round % 3];
            let flat = [1.0, 1e-3, 1e-7][round / 100];
            let points: Vec<[f64; 3]> = (0..n)
                .map(|_| {
                    let p = random.vector();
                    let p = if grid == 0.0 { p } else { (p * grid).round() };
                    [p.x, p.y, p.z * flat]
                })
                .collect();
            if let Ok(hull) = Hull::new(&points) {
                assert!(0.0 < hull.moments().volume);
            }
        }
    }
}
