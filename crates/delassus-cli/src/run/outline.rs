//! Side views of shapes: what is seen looking along +y, x to the right and z up.

use std::f64::consts::TAU;

use delassus::World;
use delassus::collide::{Collider, Shape};
use delassus::world::{Joint, JointKind};
use glam::{DQuat, DVec2, DVec3};

/// Points on a circle that looks round in a small picture.
const ROUND: usize = 24;
/// Most triangles of a mesh drawn one by one.
const MOST_TRIANGLES: usize = 4000;

/// Position and orientation.
pub(super) type Pose = (DVec3, DQuat);

/// A shape as seen from the side.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outline {
    /// A ball, with the point of its rim that shows how it is turned.
    Circle {
        centre: DVec2,
        radius: f64,
        mark: DVec2,
    },
    /// A closed line, filled.
    Polygon(Vec<DVec2>),
    /// An open line.
    Line(Vec<DVec2>),
    /// A joint: from body to anchor to anchor to body.
    Link(Vec<DVec2>),
    /// Everything on the side of the point that the normal does not show to.
    Ground { point: DVec2, normal: DVec2 },
}

impl Outline {
    /// The corners of a box around it; none for ground without end.
    pub(super) fn bounds(&self) -> Option<(DVec2, DVec2)> {
        match self {
            Outline::Circle { centre, radius, .. } => {
                let reach = DVec2::splat(*radius);
                Some((*centre - reach, *centre + reach))
            }
            Outline::Polygon(points) | Outline::Line(points) | Outline::Link(points) => {
                let first = *points.first()?;
                let grow = |(low, high): (DVec2, DVec2), p: &DVec2| (low.min(*p), high.max(*p));
                Some(points.iter().fold((first, first), grow))
            }
            Outline::Ground { .. } => None,
        }
    }
}

/// All outlines of a collider whose body stands at `body`.
pub(super) fn outlines(collider: &Collider, body: Pose) -> Vec<Outline> {
    let (position, turn) = collider.pose;
    let pose = (body.0 + body.1 * position, body.1 * turn);
    let place = |local: DVec3| side(pose.0 + pose.1 * local);
    let hull = |points: Vec<DVec3>| {
        vec![Outline::Polygon(convex_hull(
            points.into_iter().map(place).collect(),
        ))]
    };
    match &collider.shape {
        Shape::Sphere { radius } => vec![Outline::Circle {
            centre: side(pose.0),
            radius: *radius,
            mark: place(DVec3::X * *radius),
        }],
        Shape::Box { half } => hull(corners(DVec3::from_array(*half))),
        Shape::Capsule {
            half_length,
            radius,
        } => {
            // Seen from the side, the round ends are circles of full size whatever the tilt.
            let ends = [-half_length, *half_length].map(|z| place(DVec3::Z * z));
            let rim = ends.iter().flat_map(|end| circle(*end, *radius));
            vec![Outline::Polygon(convex_hull(rim.collect()))]
        }
        Shape::Cylinder {
            half_length,
            radius,
        } => hull(rings(*half_length, *radius)),
        Shape::Hull { points } => hull(points.iter().copied().map(DVec3::from_array).collect()),
        Shape::HalfSpace => ground(pose),
        Shape::Mesh {
            vertices,
            triangles,
        } => {
            let corner = |&i: &u32| place(DVec3::from_array(vertices[i as usize]));
            let triangle = |t: &[u32; 3]| Outline::Polygon(t.iter().map(corner).collect());
            let step = triangles.len().div_ceil(MOST_TRIANGLES).max(1);
            triangles.iter().step_by(step).map(triangle).collect()
        }
        Shape::HeightField {
            rows,
            columns,
            heights,
            size,
        } => relief((*rows, *columns), heights, *size, place),
    }
}

/// Every outline of the world's colliders and joints with the body it belongs to.
pub(super) fn of_world<'a>(
    world: &'a World,
    poses: &'a [Pose],
) -> impl Iterator<Item = (usize, Outline)> + 'a {
    let joints = world.joints().iter().filter_map(|joint| link(joint, poses));
    let colliders = world.colliders().iter().flat_map(move |collider| {
        let drawn = outlines(collider, poses[collider.body]);
        drawn
            .into_iter()
            .map(move |outline| (collider.body, outline))
    });
    colliders.chain(joints)
}

/// The line of a joint, for the kinds that have points to be joined.
fn link(joint: &Joint, poses: &[Pose]) -> Option<(usize, Outline)> {
    if matches!(
        joint.kind,
        JointKind::Gear(_) | JointKind::Rolling { .. } | JointKind::Gone
    ) {
        return None;
    }
    let ends: Vec<Vec<DVec2>> = joint
        .bodies
        .iter()
        .zip(&joint.frames)
        .map(|(body, frame)| match body {
            Some(id) => {
                let (position, turn) = poses[id.index()];
                vec![side(position), side(position + turn * frame.origin)]
            }
            None => vec![side(frame.origin)],
        })
        .collect();
    let owner = joint.bodies.iter().flatten().next()?.index();
    let [first, second] = ends.try_into().ok()?;
    let points = first.into_iter().chain(second.into_iter().rev()).collect();
    Some((owner, Outline::Link(points)))
}

/// x and z of a point.
pub(super) fn side(point: DVec3) -> DVec2 {
    DVec2::new(point.x, point.z)
}

/// A half-space, unless its surface is seen from the front.
fn ground((position, turn): Pose) -> Vec<Outline> {
    let normal = turn * DVec3::Z;
    let flat = side(normal);
    if flat.length() < 1e-6 {
        return Vec::new();
    }
    // Where the surface cuts the plane y = 0: n·(x − position) = 0.
    let point = side(position) + flat * (normal.y * position.y / flat.length_squared());
    vec![Outline::Ground {
        point,
        normal: flat.normalize(),
    }]
}

fn relief(
    (rows, columns): (usize, usize),
    heights: &[f64],
    size: [f64; 3],
    place: impl Fn(DVec3) -> DVec2,
) -> Vec<Outline> {
    let part = |i: usize, n: usize| i as f64 / (n - 1) as f64 - 0.5;
    let line = |row: usize| {
        let point = |column: usize| {
            place(DVec3::new(
                part(column, columns) * size[0],
                part(row, rows) * size[1],
                heights[row * columns + column] * size[2],
            ))
        };
        Outline::Line((0..columns).map(point).collect())
    };
    let step = (rows * columns).div_ceil(MOST_TRIANGLES).max(1);
    (0..rows).step_by(step).map(line).collect()
}

fn corners(half: DVec3) -> Vec<DVec3> {
    let sign = |bit: usize| if bit == 0 { -1.0 } else { 1.0 };
    let corner = |i: usize| half * DVec3::new(sign(i & 1), sign(i & 2), sign(i & 4));
    (0..8).map(corner).collect()
}

/// Both ends of a cylinder.
fn rings(half_length: f64, radius: f64) -> Vec<DVec3> {
    let ring = |z: f64| {
        let rim = circle(DVec2::ZERO, radius).into_iter();
        rim.map(move |p| DVec3::new(p.x, p.y, z))
    };
    ring(-half_length).chain(ring(half_length)).collect()
}

fn circle(centre: DVec2, radius: f64) -> Vec<DVec2> {
    let point = |i: usize| centre + radius * DVec2::from_angle(TAU * i as f64 / ROUND as f64);
    (0..ROUND).map(point).collect()
}

/// The convex hull, counter-clockwise, by Andrew's monotone chain.
fn convex_hull(mut points: Vec<DVec2>) -> Vec<DVec2> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let mut hull: Vec<DVec2> = Vec::new();
    let mut chain = |points: &mut dyn Iterator<Item = DVec2>| {
        let start = hull.len();
        for p in points {
            while start + 2 <= hull.len() {
                let (a, b) = (hull[hull.len() - 2], hull[hull.len() - 1]);
                if 0.0 < (b - a).perp_dot(p - a) {
                    break;
                }
                hull.pop();
            }
            hull.push(p);
        }
        // The last point is the first of the other chain.
        hull.pop();
    };
    chain(&mut points.iter().copied());
    chain(&mut points.iter().rev().copied());
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polygon(shape: Shape, turn: DQuat) -> Vec<DVec2> {
        let drawn = outlines(&Collider::new(shape, 0), (DVec3::ZERO, turn));
        match drawn.into_iter().next() {
            Some(Outline::Polygon(points)) => points,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_box_is_a_rectangle_from_the_side_and_a_hexagon_from_a_corner() {
        let half = [1.0, 2.0, 3.0];
        assert_eq!(polygon(Shape::Box { half }, DQuat::IDENTITY).len(), 4);
        let turn = DQuat::from_rotation_z(0.5) * DQuat::from_rotation_x(0.4);
        assert_eq!(polygon(Shape::Box { half }, turn).len(), 6);
    }

    #[test]
    fn capsules_and_cylinders_have_their_size() {
        let size = |points: &[DVec2]| {
            let (low, high) = Outline::Polygon(points.to_vec()).bounds().unwrap();
            high - low
        };
        let (half_length, radius) = (1.0, 0.5);
        let capsule = Shape::Capsule {
            half_length,
            radius,
        };
        assert!((size(&polygon(capsule, DQuat::IDENTITY)) - DVec2::new(1.0, 3.0)).length() < 1e-9);
        let cylinder = Shape::Cylinder {
            half_length,
            radius,
        };
        let lying = DQuat::from_rotation_y(TAU / 4.0);
        assert!((size(&polygon(cylinder, lying)) - DVec2::new(2.0, 1.0)).length() < 1e-9);
    }

    #[test]
    fn the_hull_of_points_on_a_line_is_no_area_and_no_panic() {
        let line: Vec<DVec2> = (0..5).map(|i| DVec2::new(f64::from(i), 0.0)).collect();
        assert_eq!(convex_hull(line).len(), 2);
        assert_eq!(convex_hull(vec![DVec2::ZERO; 4]).len(), 1);
    }
}
