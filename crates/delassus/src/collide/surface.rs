//! The outside of a shape as triangles, to draw it or to hand it to another program.

use std::f64::consts::{PI, TAU};

use glam::DVec3;
use parry3d_f64::transformation::try_convex_hull;

use super::Shape;

/// Sides of what is round, and rings from the middle of a ball to its pole.
const SIDES: u32 = 32;
const RINGS: u32 = 8;

/// Points, and three of them for each triangle, seen counter-clockwise from outside.
pub type Triangles = (Vec<[f64; 3]>, Vec<[u32; 3]>);

impl Shape {
    /// Its outside as triangles in its frame; round ones have 32 sides. `None` for half-spaces, which have no end, and
    /// for hulls that are flat.
    pub fn triangles(&self) -> Option<Triangles> {
        Some(match self {
            Shape::Sphere { radius } => revolved(&rounded(*radius, 0.0)),
            Shape::Capsule {
                half_length,
                radius,
            } => revolved(&rounded(*radius, *half_length)),
            Shape::Cylinder {
                half_length,
                radius,
            } => revolved(&[
                (0.0, -half_length),
                (*radius, -half_length),
                (*radius, *half_length),
                (0.0, *half_length),
            ]),
            Shape::Box { half } => cuboid(*half),
            Shape::Hull { points } => hull(points)?,
            Shape::Mesh {
                vertices,
                triangles,
            } => (vertices.clone(), triangles.clone()),
            Shape::HeightField {
                rows,
                columns,
                heights,
                size,
            } => relief((*rows, *columns), heights, *size)?,
            Shape::HalfSpace => return None,
        })
    }
}

/// Radius and height from the lower to the upper pole of a ball whose halves are 2 l apart.
fn rounded(radius: f64, half_length: f64) -> Vec<(f64, f64)> {
    let arc = |ring: u32, from: f64| {
        let angle = from + 0.5 * PI * f64::from(ring) / f64::from(RINGS);
        (radius * angle.cos().max(0.0), radius * angle.sin())
    };
    let lower = (0..=RINGS).map(|ring| arc(ring, -0.5 * PI));
    let upper = (0..=RINGS).map(|ring| arc(ring, 0.0));
    let lower = lower.map(|(r, z)| (r, z - half_length));
    let upper = upper.map(|(r, z)| (r, z + half_length));
    // The two middle rings of a ball are one.
    let skipped = usize::from(half_length == 0.0);
    lower.chain(upper.skip(skipped)).collect()
}

/// A line of radii and heights turned about z; its first and last point lie on the axis.
fn revolved(profile: &[(f64, f64)]) -> Triangles {
    let (Some(first), Some(last)) = (profile.first(), profile.last()) else {
        return Triangles::default();
    };
    let rings = &profile[1..profile.len() - 1];
    let mut points = vec![[0.0, 0.0, first.1]];
    for (radius, height) in rings {
        points.extend((0..SIDES).map(|side| {
            let (y, x) = (TAU * f64::from(side) / f64::from(SIDES)).sin_cos();
            [radius * x, radius * y, *height]
        }));
    }
    let top = points.len() as u32;
    points.push([0.0, 0.0, last.1]);
    let mut triangles = Vec::new();
    for side in 0..SIDES {
        let next = (side + 1) % SIDES;
        let at = |ring: u32, side: u32| 1 + ring * SIDES + side;
        triangles.push([0, at(0, next), at(0, side)]);
        for ring in 1..rings.len() as u32 {
            let (a, b) = (at(ring - 1, side), at(ring - 1, next));
            let (c, d) = (at(ring, next), at(ring, side));
            triangles.extend([[a, b, c], [a, c, d]]);
        }
        let ring = rings.len() as u32 - 1;
        triangles.push([top, at(ring, side), at(ring, next)]);
    }
    (points, triangles)
}

fn cuboid(half: [f64; 3]) -> Triangles {
    let sign = |i: usize, bit: usize| if i & bit == 0 { -1.0 } else { 1.0 };
    let corner = |i: usize| {
        [
            sign(i, 1) * half[0],
            sign(i, 2) * half[1],
            sign(i, 4) * half[2],
        ]
    };
    // Faces −x, +x, −y, +y, −z, +z.
    let faces: [[u32; 4]; 6] = [
        [0, 4, 6, 2],
        [1, 3, 7, 5],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 2, 3, 1],
        [4, 5, 7, 6],
    ];
    let halves = |[a, b, c, d]: [u32; 4]| [[a, b, c], [a, c, d]];
    let triangles = faces.into_iter().flat_map(halves).collect();
    ((0..8).map(corner).collect(), triangles)
}

fn hull(points: &[[f64; 3]]) -> Option<Triangles> {
    let given: Vec<DVec3> = points.iter().map(|p| DVec3::from(*p)).collect();
    let (points, triangles) = try_convex_hull(&given).ok()?;
    Some((points.iter().map(|p| p.to_array()).collect(), triangles))
}

fn relief((rows, columns): (usize, usize), heights: &[f64], size: [f64; 3]) -> Option<Triangles> {
    let part = |i: usize, n: usize| i as f64 / (n - 1) as f64 - 0.5;
    if rows < 2 || columns < 2 || heights.len() < rows * columns {
        return None;
    }
    let point = |i: usize| {
        let (row, column) = (i / columns, i % columns);
        let (x, y) = (part(column, columns), part(row, rows));
        [x * size[0], y * size[1], heights[i] * size[2]]
    };
    let mut triangles = Vec::new();
    for row in 0..rows - 1 {
        for column in 0..columns - 1 {
            let a = (row * columns + column) as u32;
            let (b, d) = (a + 1, a + columns as u32);
            triangles.extend([[a, b, d + 1], [a, d + 1, d]]);
        }
    }
    Some(((0..rows * columns).map(point).collect(), triangles))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Volume within triangles by the divergence theorem: Σ a · (b × c)/6, positive where all look outwards.
    fn volume((points, triangles): &Triangles) -> f64 {
        let corner = |i: u32| DVec3::from(points[i as usize]);
        let part = |t: &[u32; 3]| corner(t[0]).dot(corner(t[1]).cross(corner(t[2]))) / 6.0;
        triangles.iter().map(part).sum()
    }

    #[test]
    fn triangles_enclose_the_volume_of_the_shape() {
        let (half_length, radius) = (0.7, 0.4);
        let tube = PI * radius * radius * 2.0 * half_length;
        let ball = 4.0 / 3.0 * PI * radius.powi(3);
        let corners: Vec<[f64; 3]> = cuboid([1.0, 2.0, 3.0]).0;
        let shapes = [
            (Shape::Sphere { radius }, ball),
            (
                Shape::Capsule {
                    half_length,
                    radius,
                },
                ball + tube,
            ),
            (
                Shape::Cylinder {
                    half_length,
                    radius,
                },
                tube,
            ),
            (
                Shape::Box {
                    half: [1.0, 2.0, 3.0],
                },
                48.0,
            ),
            (Shape::Hull { points: corners }, 48.0),
        ];
        for (shape, exact) in shapes {
            let found = volume(&shape.triangles().unwrap());
            // With an angle θ between corners a circle loses θ²/6 of its area and a meridian θ²/4 of what it encloses: 1.6 % of
            // a ball at θ = π/16.
            assert!(
                (0.983 * exact..=exact + 1e-9).contains(&found),
                "{shape:?}: {found} of {exact}"
            );
        }
        assert!(Shape::HalfSpace.triangles().is_none());
    }

    #[test]
    fn a_height_field_looks_up() {
        let heights = vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        let field = Shape::HeightField {
            rows: 2,
            columns: 3,
            heights,
            size: [2.0, 4.0, 0.5],
        };
        let (points, triangles) = field.triangles().unwrap();
        assert_eq!((points.len(), triangles.len()), (6, 4));
        for [a, b, c] in triangles {
            let [a, b, c] = [a, b, c].map(|i| DVec3::from(points[i as usize]));
            assert!(0.0 < (b - a).cross(c - a).z);
        }
    }
}
