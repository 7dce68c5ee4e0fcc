//! Shapes as plain values: what a scene file says about the outside of a body.

use serde::{Deserialize, Serialize};

use crate::math::{DMat3, DVec3, MassProperties};

use super::hull::{Hull, Moments};

/// Most points a hull may be given.
pub const MAX_HULL_POINTS: usize = 4096;
/// Most triangles of a mesh, and most heights of a height field.
pub const MAX_TRIANGLES: usize = 1 << 24;
/// Largest length a shape may have \[m\]: beyond it double precision cannot hold a gap of a micrometre.
pub const MAX_SIZE: f64 = 1e9;
/// Smallest length of a shape \[m\].
pub const MIN_SIZE: f64 = 1e-9;

/// The outside of a body, in its own frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Shape {
    /// A ball about the origin.
    Sphere {
        /// Radius \[m\].
        radius: f64,
    },
    /// A box about the origin.
    Box {
        /// Half of each edge \[m\].
        half: [f64; 3],
    },
    /// All points within `radius` of a segment along z.
    Capsule {
        /// Half of the segment \[m\]; the round ends come on top.
        half_length: f64,
        /// Radius \[m\].
        radius: f64,
    },
    /// A circular cylinder along z.
    Cylinder {
        /// Half of the height \[m\].
        half_length: f64,
        /// Radius \[m\].
        radius: f64,
    },
    /// The convex hull of points.
    Hull {
        /// At least four points, not all in one plane \[m\].
        points: Vec<[f64; 3]>,
    },
    /// Everything below z = 0; the outward normal is +z.
    HalfSpace,
    /// A two-sided surface of triangles: bodies are pushed to the side on which their centre lies, of the whole
    /// surface where its triangles wind consistently, else of each triangle. Triangles without area are dropped (see [`Shape::degenerate_triangles`]); holes are fine.
    Mesh {
        /// Corners \[m\].
        vertices: Vec<[f64; 3]>,
        /// Three corners each, by index.
        triangles: Vec<[u32; 3]>,
    },
    /// Ground over a rectangle centred on the origin, z up and solid below: `heights[row * columns + column]`
    /// stands at x = (column/(columns − 1) − ½) size₀, y = (row/(rows − 1) − ½) size₁, z = height · size₂.
    HeightField {
        /// Grid lines along y, at least two.
        rows: usize,
        /// Grid lines along x, at least two.
        columns: usize,
        /// One height per crossing.
        heights: Vec<f64>,
        /// Lengths along x and y \[m\] and the factor of the heights.
        size: [f64; 3],
    },
}

/// Why a shape cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A length out of range.
    #[error("{what} is {value}; it must lie between {MIN_SIZE:e} and {MAX_SIZE:e} m")]
    BadSize {
        /// Which length.
        what: &'static str,
        /// The value given.
        value: f64,
    },
    /// A coordinate that is not a number of sensible size.
    #[error(
        "{what} {index} has the coordinate {value}; it must be finite and at most {MAX_SIZE:e} m"
    )]
    BadCoordinate {
        /// Which list.
        what: &'static str,
        /// Entry of the list.
        index: usize,
        /// The value given.
        value: f64,
    },
    /// Too few or too many entries.
    #[error("{count} {what}; there must be at least {least} and at most {most}")]
    BadCount {
        /// What is counted.
        what: &'static str,
        /// How many.
        count: usize,
        /// Fewest allowed.
        least: usize,
        /// Most allowed.
        most: usize,
    },
    /// A hull without volume.
    #[error(
        "the hull of {points} points has no volume ({reason}); give four points that are not in one plane"
    )]
    FlatHull {
        /// How many points were given.
        points: usize,
        /// What failed.
        reason: &'static str,
    },
    /// A triangle that names a vertex that does not exist.
    #[error("triangle {triangle} names vertex {vertex} but there are only {vertices}")]
    BadIndex {
        /// The triangle.
        triangle: usize,
        /// The vertex it names.
        vertex: u32,
        /// How many there are.
        vertices: usize,
    },
    /// A height field whose list of heights does not fill its grid.
    #[error("{found} heights where {rows} rows of {columns} need {}", rows.saturating_mul(*columns))]
    WrongHeights {
        /// Grid lines along y.
        rows: usize,
        /// Grid lines along x.
        columns: usize,
        /// Heights given.
        found: usize,
    },
}

impl Shape {
    /// A ball of this radius \[m\].
    pub const fn ball(radius: f64) -> Shape {
        Shape::Sphere { radius }
    }

    /// A box with these half edges \[m\].
    pub const fn cuboid(x: f64, y: f64, z: f64) -> Shape {
        Shape::Box { half: [x, y, z] }
    }

    /// A capsule along z: half of its segment, and its radius \[m\].
    pub const fn capsule(half_length: f64, radius: f64) -> Shape {
        Shape::Capsule {
            half_length,
            radius,
        }
    }

    /// A cylinder along z: half of its height, and its radius \[m\].
    pub const fn cylinder(half_length: f64, radius: f64) -> Shape {
        Shape::Cylinder {
            half_length,
            radius,
        }
    }

    /// Whether every number is usable; the first that is not is named.
    pub fn check(&self) -> Result<(), ShapeError> {
        match self {
            Shape::Sphere { radius } => length("radius", *radius),
            Shape::Box { half } => half.iter().try_for_each(|&x| length("half edge", x)),
            Shape::Capsule {
                half_length,
                radius,
            }
            | Shape::Cylinder {
                half_length,
                radius,
            } => {
                length("half length", *half_length)?;
                length("radius", *radius)
            }
            Shape::Hull { points } => {
                count("hull points", points.len(), 4, MAX_HULL_POINTS)?;
                coordinates("hull point", points)?;
                Hull::new(points).map(|_| ())
            }
            Shape::HalfSpace => Ok(()),
            Shape::Mesh {
                vertices,
                triangles,
            } => check_mesh(vertices, triangles),
            Shape::HeightField {
                rows,
                columns,
                heights,
                size,
            } => check_heights((*rows, *columns), heights, size),
        }
    }

    /// How far the shape reaches along a unit direction d of its frame: the largest x · d over its points x. `None` for
    /// half-spaces and height fields, which reach without end.
    pub fn reach(&self, direction: DVec3) -> Option<f64> {
        let d = direction;
        let furthest = |points: &[[f64; 3]]| {
            let along = points.iter().map(|p| DVec3::from(*p).dot(d));
            along.fold(f64::NEG_INFINITY, f64::max)
        };
        Some(match self {
            Shape::Sphere { radius } => *radius,
            Shape::Box { half } => DVec3::from(*half).dot(d.abs()),
            Shape::Cylinder {
                half_length,
                radius,
            } => half_length * d.z.abs() + radius * d.x.hypot(d.y),
            Shape::Capsule {
                half_length,
                radius,
            } => half_length * d.z.abs() + radius,
            Shape::Hull { points } => furthest(points),
            Shape::Mesh { vertices, .. } => furthest(vertices),
            Shape::HalfSpace | Shape::HeightField { .. } => return None,
        })
    }

    /// Whether the shape is ground: it has no mass of its own and never meets other ground.
    pub fn is_static_only(&self) -> bool {
        matches!(
            self,
            Shape::HalfSpace | Shape::Mesh { .. } | Shape::HeightField { .. }
        )
    }

    /// Triangles of a mesh that have no area, by index: they are left out of every contact.
    pub fn degenerate_triangles(&self) -> Vec<usize> {
        let Shape::Mesh {
            vertices,
            triangles,
        } = self
        else {
            return Vec::new();
        };
        let corner = |i: u32| vertices.get(i as usize).map(|&p| DVec3::from(p));
        let flat = |t: &[u32; 3]| match (corner(t[0]), corner(t[1]), corner(t[2])) {
            (Some(a), Some(b), Some(c)) => is_degenerate(a, b, c),
            _ => true,
        };
        (0..triangles.len())
            .filter(|&i| flat(&triangles[i]))
            .collect()
    }

    /// Mass, centre and inertia of the solid of that density \[kg/m³\];
    /// `None` for ground, for a shape that does not pass [`Shape::check`] and for a density that is not positive.
    pub fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        if self.check().is_err() || !(0.0 < density && density.is_finite()) {
            return None;
        }
        let moments = match self {
            Shape::Sphere { radius: r } => {
                let volume = 4.0 / 3.0 * std::f64::consts::PI * r.powi(3);
                centred(volume, DVec3::splat(volume * r * r / 5.0))
            }
            Shape::Box { half } => {
                let h = DVec3::from(*half);
                let volume = 8.0 * h.x * h.y * h.z;
                centred(volume, volume * h * h / 3.0)
            }
            Shape::Cylinder {
                half_length: l,
                radius: r,
            } => {
                let volume = std::f64::consts::TAU * l * r * r;
                let side = r * r / 4.0;
                centred(volume, volume * DVec3::new(side, side, l * l / 3.0))
            }
            Shape::Capsule {
                half_length,
                radius,
            } => capsule_moments(*half_length, *radius),
            Shape::Hull { points } => Hull::new(points).ok()?.moments(),
            Shape::HalfSpace | Shape::Mesh { .. } | Shape::HeightField { .. } => return None,
        };
        // J = tr(C) 1 − C for the second moments C = ∫ x xᵀ about the centre.
        let second = moments.second;
        let trace = second.x_axis.x + second.y_axis.y + second.z_axis.z;
        let inertia = DMat3::from_diagonal(DVec3::splat(trace)) - second;
        Some(MassProperties {
            mass: density * moments.volume,
            com: moments.centre,
            inertia: inertia * density,
        })
    }
}

/// Moments of a solid about the origin whose second ones are those along the axes.
fn centred(volume: f64, second: DVec3) -> Moments {
    Moments {
        volume,
        centre: DVec3::ZERO,
        second: DMat3::from_diagonal(second),
    }
}

/// Moments of a capsule: a cylinder and two half balls moved out by l + 3r/8.
fn capsule_moments(l: f64, r: f64) -> Moments {
    let tube = std::f64::consts::TAU * l * r * r;
    let ball = 4.0 / 3.0 * std::f64::consts::PI * r.powi(3);
    let side = tube * r * r / 4.0 + ball * r * r / 5.0;
    // ∫ (l + u)² over a half ball, twice: ball (l² + 2 l · 3r/8 + r²/5).
    let along = tube * l * l / 3.0 + ball * (l * l + 0.75 * l * r + r * r / 5.0);
    centred(tube + ball, DVec3::new(side, side, along))
}

/// Whether a triangle has no area worth a normal: its height is below 1e-7 of its longest edge.
pub(crate) fn is_degenerate(a: DVec3, b: DVec3, c: DVec3) -> bool {
    let longest = (b - a)
        .length_squared()
        .max((c - b).length_squared())
        .max((a - c).length_squared());
    (b - a).cross(c - a).length() <= 1e-7 * longest
}

fn length(what: &'static str, value: f64) -> Result<(), ShapeError> {
    if (MIN_SIZE..=MAX_SIZE).contains(&value) {
        return Ok(());
    }
    Err(ShapeError::BadSize { what, value })
}

/// Finite and of sensible size.
fn is_sound(x: f64) -> bool {
    x.abs() <= MAX_SIZE
}

fn count(what: &'static str, count: usize, least: usize, most: usize) -> Result<(), ShapeError> {
    if least <= count && count <= most {
        return Ok(());
    }
    Err(ShapeError::BadCount {
        what,
        count,
        least,
        most,
    })
}

fn coordinates(what: &'static str, points: &[[f64; 3]]) -> Result<(), ShapeError> {
    for (index, point) in points.iter().enumerate() {
        if let Some(&value) = point.iter().find(|x| !is_sound(**x)) {
            return Err(ShapeError::BadCoordinate { what, index, value });
        }
    }
    Ok(())
}

fn check_mesh(vertices: &[[f64; 3]], triangles: &[[u32; 3]]) -> Result<(), ShapeError> {
    count("mesh vertices", vertices.len(), 3, MAX_TRIANGLES)?;
    count("mesh triangles", triangles.len(), 1, MAX_TRIANGLES)?;
    coordinates("mesh vertex", vertices)?;
    for (triangle, corners) in triangles.iter().enumerate() {
        if let Some(&vertex) = corners.iter().find(|&&v| vertices.len() <= v as usize) {
            return Err(ShapeError::BadIndex {
                triangle,
                vertex,
                vertices: vertices.len(),
            });
        }
    }
    Ok(())
}

fn check_heights(
    (rows, columns): (usize, usize),
    heights: &[f64],
    size: &[f64; 3],
) -> Result<(), ShapeError> {
    count("rows of a height field", rows, 2, MAX_TRIANGLES)?;
    count("columns of a height field", columns, 2, MAX_TRIANGLES)?;
    if rows.checked_mul(columns) != Some(heights.len()) {
        return Err(ShapeError::WrongHeights {
            rows,
            columns,
            found: heights.len(),
        });
    }
    count("heights", heights.len(), 4, MAX_TRIANGLES)?;
    size.iter()
        .try_for_each(|&x| length("size of a height field", x))?;
    match heights.iter().position(|h| !is_sound(*h * size[2])) {
        None => Ok(()),
        Some(index) => Err(ShapeError::BadCoordinate {
            what: "height",
            index,
            value: heights[index],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube_points(h: f64) -> Vec<[f64; 3]> {
        (0..8)
            .map(|i| [0, 1, 2].map(|k| if i >> k & 1 == 1 { h } else { -h }))
            .collect()
    }

    #[test]
    fn useless_sizes_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(Shape::Sphere { radius: bad }.check().is_err());
            assert!(
                Shape::Box {
                    half: [1.0, bad, 1.0]
                }
                .check()
                .is_err()
            );
            assert!(
                Shape::Capsule {
                    half_length: bad,
                    radius: 1.0
                }
                .check()
                .is_err()
            );
            assert!(
                Shape::Cylinder {
                    half_length: 1.0,
                    radius: bad
                }
                .check()
                .is_err()
            );
        }
        let flat = (0..9)
            .map(|i| [f64::from(i % 3), f64::from(i / 3), 0.0])
            .collect();
        assert!(matches!(
            Shape::Hull { points: flat }.check(),
            Err(ShapeError::FlatHull { .. })
        ));
        assert!(
            Shape::Hull {
                points: vec![[0.5; 3]; 12]
            }
            .check()
            .is_err()
        );
        let mesh = Shape::Mesh {
            vertices: vec![[0.0; 3]; 3],
            triangles: vec![[0, 1, 3]],
        };
        assert!(matches!(
            mesh.check(),
            Err(ShapeError::BadIndex { vertex: 3, .. })
        ));
        let field = Shape::HeightField {
            rows: 2,
            columns: 3,
            heights: vec![0.0; 5],
            size: [1.0; 3],
        };
        assert!(matches!(
            field.check(),
            Err(ShapeError::WrongHeights { found: 5, .. })
        ));
    }

    #[test]
    fn a_tilted_box_and_the_hull_of_its_corners_reach_equally_far() {
        let down = DVec3::new(1.0, 0.0, 1.0).normalize();
        let cube = Shape::Box { half: [1.0; 3] }.reach(down).unwrap();
        assert!((cube - 2_f64.sqrt()).abs() < 1e-12);
        let points = cube_points(1.0);
        let hull = Shape::Hull { points }.reach(down).unwrap();
        assert!((cube - hull).abs() < 1e-12);
        assert_eq!(Shape::HalfSpace.reach(down), None);
    }

    #[test]
    fn a_hull_of_box_corners_weighs_what_the_box_does() {
        let cube = Shape::Box { half: [0.5; 3] }.mass_properties(3.0).unwrap();
        let hull = Shape::Hull {
            points: cube_points(0.5),
        }
        .mass_properties(3.0)
        .unwrap();
        assert!((cube.mass - 3.0).abs() < 1e-14 && (cube.mass - hull.mass).abs() < 1e-13);
        assert!((cube.com - hull.com).length() < 1e-14);
        let apart = cube.inertia - hull.inertia;
        assert!(apart.abs_diff_eq(DMat3::ZERO, 1e-13), "{cube:?} {hull:?}");
        assert!((cube.inertia.x_axis.x - 3.0 / 6.0).abs() < 1e-14);
    }

    #[test]
    fn a_long_capsule_weighs_a_cylinder_and_a_ball() {
        let capsule = Shape::Capsule {
            half_length: 1.0,
            radius: 0.5,
        }
        .mass_properties(1.0)
        .unwrap();
        let pi = std::f64::consts::PI;
        assert!((capsule.mass - (0.5 * pi + pi / 6.0)).abs() < 1e-14);
        // About the axis: m r²/2 of the tube and 2 m r²/5 of the ball.
        let axial = 0.5 * pi * 0.125 + pi / 6.0 * 0.1;
        assert!((capsule.inertia.z_axis.z - axial).abs() < 1e-14);
    }

    #[test]
    fn shapes_survive_json() {
        for shape in [
            Shape::HalfSpace,
            Shape::Cylinder {
                half_length: 0.25,
                radius: 2.0,
            },
            Shape::Hull {
                points: cube_points(1.0),
            },
        ] {
            let text = serde_json::to_string(&shape).unwrap();
            assert_eq!(
                serde_json::from_str::<Shape>(&text).unwrap(),
                shape,
                "{text}"
            );
        }
    }

    #[test]
    fn triangles_without_area_are_named() {
        let mesh = Shape::Mesh {
            vertices: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0]],
            triangles: vec![[0, 1, 2], [0, 1, 3], [1, 1, 2]],
        };
        assert!(mesh.check().is_ok());
        assert_eq!(mesh.degenerate_triangles(), [1, 2]);
    }
}
