//! Meshes and height fields: many triangles, one surface.
//!
//! Taken one by one, the triangles of a flat floor push sideways at their common edges (parry's ghost contacts).
//! So a direction is believed only where the *surface* looks that way: at the part of the triangle that is farthest
//! along it, no neighbour may rise above. Otherwise the triangle answers with its face normal, over its own area.

use parry3d_f64::bounding_volume::{Aabb, BoundingVolume};
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy, TraversalAction};
use parry3d_f64::query::{Ray, RayCast};

use crate::math::{DQuat, DVec3};

use super::axis::{Axis, axis, nearest_on_triangle, separation};
use super::clip::{Pairing, Scratch};
use super::ray::{self, Beam, Meeting};
use super::reduce::Raw;
use super::shape::{MAX_SIZE, is_degenerate};
use super::solid::{Convex, Core, Placed, PoseMatrix, bounds};

/// Slope below which two directions of a surface are level.
const LEVEL: f64 = 1e-5;

/// A surface of triangles, in its own frame.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    surface: Surface,
    pub(crate) low: DVec3,
    pub(crate) high: DVec3,
}

#[derive(Clone, Debug)]
enum Surface {
    Mesh {
        vertices: Vec<DVec3>,
        triangles: Vec<[u32; 3]>,
        tree: Box<Bvh>,
        /// Triangles at vertex v: `around[first[v]..first[v + 1]]`.
        first: Vec<u32>,
        around: Vec<u32>,
        /// Whether neighbours wind the same way, so that one side of the whole surface can be told.
        oriented: bool,
    },
    Grid {
        rows: usize,
        columns: usize,
        /// One height per crossing \[m\].
        heights: Vec<f64>,
        /// Distance of grid lines along x and y \[m\].
        step: [f64; 2],
    },
}

impl Ground {
    /// A mesh that passed its check; triangles without area are left out.
    pub(crate) fn mesh(vertices: &[[f64; 3]], triangles: &[[u32; 3]]) -> Ground {
        let vertices: Vec<DVec3> = vertices.iter().map(|&p| DVec3::from(p)).collect();
        let corners = |t: &[u32; 3]| t.map(|i| vertices[i as usize]);
        let sound = |t: &&[u32; 3]| {
            let [a, b, c] = corners(t);
            !is_degenerate(a, b, c)
        };
        let triangles: Vec<[u32; 3]> = triangles.iter().filter(sound).copied().collect();
        let boxes: Vec<Aabb> = triangles
            .iter()
            .map(|t| Aabb::from_points(corners(t)))
            .collect();
        let mut first = vec![0_u32; vertices.len() + 1];
        for &v in triangles.iter().flatten() {
            first[v as usize + 1] += 1;
        }
        for v in 0..vertices.len() {
            first[v + 1] += first[v];
        }
        let mut fill = first.clone();
        let mut around = vec![0; 3 * triangles.len()];
        for (t, corners) in triangles.iter().enumerate() {
            for &v in corners {
                around[fill[v as usize] as usize] = t as u32;
                fill[v as usize] += 1;
            }
        }
        let oriented = is_oriented(&triangles);
        let low = vertices.iter().fold(DVec3::INFINITY, |m, &v| m.min(v));
        let high = vertices.iter().fold(DVec3::NEG_INFINITY, |m, &v| m.max(v));
        let tree = Box::new(Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes));
        Ground {
            surface: Surface::Mesh {
                vertices,
                triangles,
                tree,
                first,
                around,
                oriented,
            },
            low,
            high,
        }
    }

    /// A height field that passed its check.
    pub(crate) fn grid(rows: usize, columns: usize, heights: &[f64], size: [f64; 3]) -> Ground {
        let heights: Vec<f64> = heights.iter().map(|h| h * size[2]).collect();
        let step = [size[0] / (columns - 1) as f64, size[1] / (rows - 1) as f64];
        let (bottom, top) = heights
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &z| {
                (l.min(z), h.max(z))
            });
        // Solid below: a body that sank through the lowest point is still found within one cell's depth.
        let low = DVec3::new(
            -0.5 * size[0],
            -0.5 * size[1],
            bottom - step[0].max(step[1]),
        );
        let high = DVec3::new(0.5 * size[0], 0.5 * size[1], top);
        Ground {
            surface: Surface::Grid {
                rows,
                columns,
                heights,
                step,
            },
            low,
            high,
        }
    }

    fn is_solid_below(&self) -> bool {
        matches!(self.surface, Surface::Grid { .. })
    }

    /// The side of the surface a point is on, against the winding of the triangles near it: that of the nearest
    /// one. `None` where the triangles do not agree on sides. Taken one by one, a body that sank a little into the
    /// top of a table would be held by the inner side of its walls.
    fn side(&self, near: &[u32], p: DVec3) -> Option<f64> {
        if !matches!(self.surface, Surface::Mesh { oriented: true, .. }) {
            return self.is_solid_below().then_some(1.0);
        }
        let mut best = (f64::INFINITY, 0.0_f64);
        for &t in near {
            let corners = self.triangle(t).map(|v| self.corner(v));
            let up = normal(&corners);
            let arm = p - nearest_on_triangle(p, &corners);
            // d = |p − x|, height over the plane n·(p − x), for the nearest point x
            let (distance, height) = (arm.length(), up.dot(arm));
            // Of triangles that meet in the nearest point, the one that faces it most.
            let closer = distance < best.0 * (1.0 - 1e-9);
            if closer || distance <= best.0 * (1.0 + 1e-9) && best.1.abs() < height.abs() {
                best = (distance, height);
            }
        }
        Some(1.0_f64.copysign(best.1))
    }

    fn corner(&self, v: u32) -> DVec3 {
        match &self.surface {
            Surface::Mesh { vertices, .. } => vertices[v as usize],
            Surface::Grid {
                columns,
                heights,
                step,
                ..
            } => {
                let (row, column) = (v as usize / columns, v as usize % columns);
                // (x_low + column Δx, y_low + row Δy, height)
                let x = self.low.x + column as f64 * step[0];
                DVec3::new(x, self.low.y + row as f64 * step[1], heights[v as usize])
            }
        }
    }

    /// Corners of a triangle, anticlockwise seen from above for a grid.
    fn triangle(&self, t: u32) -> [u32; 3] {
        match &self.surface {
            Surface::Mesh { triangles, .. } => triangles[t as usize],
            Surface::Grid { columns, .. } => {
                let (cell, upper) = (t as usize / 2, t % 2 == 1);
                let (row, column) = (cell / (columns - 1), cell % (columns - 1));
                let at = |r: usize, c: usize| ((row + r) * columns + column + c) as u32;
                if upper {
                    [at(0, 0), at(1, 1), at(1, 0)]
                } else {
                    [at(0, 0), at(0, 1), at(1, 1)]
                }
            }
        }
    }

    /// Triangles whose boxes meet a box, in ascending order.
    fn near(&self, low: DVec3, high: DVec3) -> Vec<u32> {
        let mut found: Vec<u32> = match &self.surface {
            Surface::Mesh { tree, .. } => tree.intersect_aabb(&Aabb::new(low, high)).collect(),
            Surface::Grid {
                rows,
                columns,
                step,
                ..
            } => {
                // Cell of x: ⌊(x − x_low)/Δx⌋. `as usize` saturates, so that a box far outside gives an empty range.
                let line =
                    |x: f64, k: usize| ((x - self.low[k]) / step[k]).floor().max(0.0) as usize;
                let across = line(low.x, 0)..line(high.x, 0).saturating_add(1).min(columns - 1);
                let along = line(low.y, 1)..line(high.y, 1).saturating_add(1).min(rows - 1);
                if high.x < self.low.x || high.y < self.low.y {
                    return Vec::new();
                }
                let cells = along.flat_map(|r| across.clone().map(move |c| r * (columns - 1) + c));
                let both = cells.flat_map(|cell| [2 * cell as u32, 2 * cell as u32 + 1]);
                both.filter(|&t| {
                    let z = self.triangle(t).map(|v| self.corner(v).z);
                    low.z <= z[0].max(z[1]).max(z[2])
                })
                .collect()
            }
        };
        found.sort_unstable();
        found
    }

    /// Where a ray meets the surface first, from either side.
    pub(crate) fn cast(&self, ray: &Beam, most: f64) -> Option<Meeting> {
        let mut best: Option<Meeting> = None;
        let mut offer = |t: u32, most: f64| {
            let corners = self.triangle(t).map(|v| self.corner(v));
            if let Some(met) = ray::triangle(corners, ray, most) {
                best = Some(met);
                return met.distance;
            }
            most
        };
        match &self.surface {
            Surface::Mesh { tree, .. } => {
                let line = Ray::new(ray.origin, ray.direction);
                let mut most = most.min(8.0 * MAX_SIZE);
                tree.traverse(|node| {
                    let bounds = node.aabb();
                    let slack = 1e-9 * bounds.half_extents().max_element();
                    let near = bounds.loosened(slack).cast_local_ray(&line, most, true);
                    if near.is_none() {
                        return TraversalAction::Prune;
                    }
                    if let Some(t) = node.leaf_data() {
                        most = offer(t, most);
                    }
                    TraversalAction::Continue
                });
            }
            Surface::Grid { .. } => {
                let mut most = most;
                self.march(ray, most, |cell| {
                    for t in [2 * cell, 2 * cell + 1] {
                        most = offer(t, most);
                    }
                    most
                });
            }
        }
        best
    }

    /// Calls for every cell of a grid under a ray, in its order; the call gives the distance beyond which none matters.
    fn march(&self, ray: &Beam, most: f64, mut visit: impl FnMut(u32) -> f64) {
        let Surface::Grid {
            rows,
            columns,
            step,
            ..
        } = &self.surface
        else {
            return;
        };
        let counts = [columns - 1, rows - 1];
        // The part of the ray over the rectangle: x_low ≤ o + t d ≤ x_high on both axes.
        let (mut t, mut end) = (0.0_f64, most);
        for k in 0..2 {
            let (o, d) = (ray.origin[k], ray.direction[k]);
            let edges = [self.low[k], self.high[k]];
            if d == 0.0 {
                if o < edges[0] || edges[1] < o {
                    return;
                }
                continue;
            }
            let [a, b] = edges.map(|x| (x - o) / d);
            t = t.max(a.min(b));
            end = end.min(a.max(b));
        }
        if end < t {
            return;
        }
        let start = ray.at(t);
        let mut cell = [0, 1].map(|k| {
            let line = ((start[k] - self.low[k]) / step[k]).floor();
            (line.max(0.0) as usize).min(counts[k] - 1)
        });
        loop {
            end = end.min(visit((cell[1] * counts[0] + cell[0]) as u32));
            let crossing = |k: usize| {
                let d = ray.direction[k];
                let line = cell[k] + usize::from(0.0 < d);
                // t where o + t d is on the next grid line.
                if d == 0.0 {
                    f64::INFINITY
                } else {
                    (self.low[k] + line as f64 * step[k] - ray.origin[k]) / d
                }
            };
            let times = [crossing(0), crossing(1)];
            let k = usize::from(times[1] < times[0]);
            let leaves = if 0.0 < ray.direction[k] {
                cell[k] + 1 == counts[k]
            } else {
                cell[k] == 0
            };
            if !(times[k] <= end) || leaves {
                return;
            }
            cell[k] = if 0.0 < ray.direction[k] {
                cell[k] + 1
            } else {
                cell[k] - 1
            };
        }
    }

    /// Calls back for each triangle that has the vertex.
    fn incident(&self, v: u32, mut visit: impl FnMut([u32; 3])) {
        match &self.surface {
            Surface::Mesh {
                triangles,
                first,
                around,
                ..
            } => {
                let range = first[v as usize] as usize..first[v as usize + 1] as usize;
                around[range]
                    .iter()
                    .for_each(|&t| visit(triangles[t as usize]));
            }
            Surface::Grid { rows, columns, .. } => {
                let (row, column) = (v as usize / columns, v as usize % columns);
                for r in row.saturating_sub(1)..(row + 1).min(rows - 1) {
                    for c in column.saturating_sub(1)..(column + 1).min(columns - 1) {
                        let cell = 2 * (r * (columns - 1) + c) as u32;
                        for t in [self.triangle(cell), self.triangle(cell + 1)] {
                            if t.contains(&v) {
                                visit(t);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Whether the surface, and not only this triangle, looks in a direction where the triangle is farthest along it.
    /// Faces say no: they have a better way to answer.
    fn is_ridge(&self, t: u32, n: DVec3) -> bool {
        let labels = self.triangle(t);
        let corners = labels.map(|v| self.corner(v));
        let height = corners.map(|c| c.dot(n));
        let top = (0..3).fold(0, |b, i| if height[b] < height[i] { i } else { b });
        let level = |c: DVec3| {
            let arm = c - corners[top];
            (n.dot(arm), LEVEL * arm.length())
        };
        let on_top: Vec<u32> = (0..3)
            .filter(|&i| i == top || -level(corners[i]).1 <= level(corners[i]).0)
            .map(|i| labels[i])
            .collect();
        if on_top.len() == 3 {
            return false;
        }
        let mut is_ridge = true;
        self.incident(labels[top], |other| {
            // An edge is shared by the triangles with both its ends; a corner by all around it.
            if on_top.iter().all(|v| other.contains(v)) {
                for v in other {
                    let (rise, tolerance) = level(self.corner(v));
                    is_ridge &= rise <= tolerance;
                }
            }
        });
        is_ridge
    }
}

/// The unit normal about which the corners run anticlockwise; zero for a triangle without area.
fn normal(corners: &[DVec3; 3]) -> DVec3 {
    // n = (x₁ − x₀) × (x₂ − x₀), normalised
    let across = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    across.normalize_or_zero()
}

/// Whether no two triangles run along an edge in the same sense.
fn is_oriented(triangles: &[[u32; 3]]) -> bool {
    let sense = |t: &[u32; 3]| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])];
    let mut edges: Vec<(u32, u32)> = triangles.iter().flat_map(sense).collect();
    edges.sort_unstable();
    edges.windows(2).all(|w| w[0] != w[1])
}

/// Ground where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedGround<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) frame: &'a PoseMatrix,
}

/// One triangle of ground, seen from a solid above it.
struct Facet<'a> {
    of: PlacedGround<'a>,
    /// Its number.
    number: u32,
    /// The triangle as a solid.
    solid: Placed<'a>,
    /// Its outward normal.
    up: DVec3,
    /// The middle of the solid above it.
    middle: DVec3,
}

/// All contacts of a solid with ground, not yet reduced; the normal points from the ground to the solid.
pub(crate) fn contacts(
    a: Placed,
    of: PlacedGround<'_>,
    prediction: f64,
    scratch: &mut Scratch,
    out: &mut Vec<Raw>,
) {
    let PlacedGround {
        ground,
        frame: place,
    } = of;
    let local = place.pose.inv_mul(&a.frame.pose);
    let relative = PoseMatrix::new(local.translation, local.rotation);
    let (centre, half) = bounds(a.solid, &relative);
    let half = half + DVec3::splat(prediction);
    let origin = PoseMatrix::new(DVec3::ZERO, DQuat::IDENTITY);
    // The middle of its box may lie outside a hull, on the other side of the ground.
    let inside = relative.out(a.solid.inside());
    let middle = place.out(inside);
    let near = ground.near(centre - half, centre + half);
    let side = ground.side(&near, inside);
    for t in near {
        let labels = ground.triangle(t);
        let corners = labels.map(|v| place.out(ground.corner(v)));
        let core = Core::Triangle(corners, labels);
        // The triangle takes the size of the solid, so that tolerances follow the solid.
        let solid = Convex {
            core,
            radius: 0.0,
            size: a.solid.size,
        };
        let b = Placed {
            solid: &solid,
            frame: &origin,
        };
        let up = normal(&corners);
        let side = side.unwrap_or_else(|| 1.0_f64.copysign(up.dot(middle - corners[0])));
        let facet = Facet {
            of,
            number: t,
            solid: b,
            up: up * side,
            middle,
        };
        facet.contacts(a, prediction, scratch, out);
    }
}

impl Facet<'_> {
    /// Contacts of a solid with this triangle.
    fn contacts(&self, a: Placed, prediction: f64, scratch: &mut Scratch, out: &mut Vec<Raw>) {
        let (ground, b, up) = (self.of.ground, self.solid, self.up);
        let reach = prediction + a.solid.radius;
        let height = separation(a, b, up);
        if reach < height || height < -2.0 * a.solid.size {
            return;
        }
        let Some(found) = axis(a, b, reach) else {
            return;
        };
        // Under ground the nearest way out is up, whatever the triangle alone says.
        let below = ground.is_solid_below() && found.normal.dot(up) <= 0.0;
        if !below && ground.is_ridge(self.number, self.of.frame.turn_in(found.normal)) {
            Pairing {
                a,
                b,
                axis: found,
                prediction,
            }
            .manifold(scratch, out);
        } else if ground.is_solid_below() || 0.0 <= up.dot(self.middle - b.support(up)) {
            // A centre behind the face sees the inner side of a wall whose outer side is meant: no contact of its own.
            let axis = Axis {
                normal: up,
                separation: height,
                nearest: None,
            };
            Pairing {
                a,
                b,
                axis,
                prediction,
            }
            .face(scratch, out);
        }
    }
}
