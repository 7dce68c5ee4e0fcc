//! Shapes for tests of contacts, and the contacts of one pair of them.
#![allow(
    dead_code,
    reason = "every test file compiles its own copy and none uses all of it"
)]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use delassus::collide::{Collider, Collisions, ContactPoint, Shape};
use delassus::math::{DQuat, DVec3};

pub(crate) type Pose = (DVec3, DQuat);

/// Gaps of pairs with a closed form.
pub(crate) const EXACT: f64 = 1e-9;
/// Gaps that pass through GJK or EPA, relative to bodies of about a metre.
pub(crate) const ITERATED: f64 = 1e-6;

pub(crate) fn at(x: f64, y: f64, z: f64) -> Pose {
    (DVec3::new(x, y, z), DQuat::IDENTITY)
}

pub(crate) fn cube(h: f64) -> Shape {
    Shape::Box { half: [h; 3] }
}

pub(crate) fn cube_hull(h: f64) -> Shape {
    let points = (0..8).map(|i| [0, 1, 2].map(|k| if i >> k & 1 == 1 { h } else { -h }));
    Shape::Hull {
        points: points.collect(),
    }
}

/// A flat square of 2·cells² triangles about the origin.
pub(crate) fn flat_mesh(cells: usize, half: f64) -> Shape {
    let line = |i: usize| (2.0 * i as f64 / cells as f64 - 1.0) * half;
    let n = cells + 1;
    let vertices = (0..n * n)
        .map(|i| [line(i % n), line(i / n), 0.0])
        .collect();
    let mut triangles = Vec::new();
    for r in 0..cells {
        for c in 0..cells {
            let v = |i: usize, j: usize| ((r + i) * n + c + j) as u32;
            triangles.push([v(0, 0), v(0, 1), v(1, 1)]);
            triangles.push([v(0, 0), v(1, 1), v(1, 0)]);
        }
    }
    Shape::Mesh {
        vertices,
        triangles,
    }
}

pub(crate) fn flat_field(cells: usize, half: f64) -> Shape {
    let n = cells + 1;
    Shape::HeightField {
        rows: n,
        columns: n,
        heights: vec![0.0; n * n],
        size: [2.0 * half, 2.0 * half, 1.0],
    }
}

/// All grounds whose surface is z = 0.
pub(crate) fn floors() -> Vec<Shape> {
    vec![
        Shape::HalfSpace,
        flat_mesh(8, 4.0),
        flat_field(8, 4.0),
        flat_mesh(1, 4.0),
    ]
}

pub(crate) fn solids() -> Vec<Shape> {
    vec![
        Shape::Sphere { radius: 0.5 },
        cube(0.5),
        Shape::Capsule {
            half_length: 0.3,
            radius: 0.2,
        },
        Shape::Cylinder {
            half_length: 0.5,
            radius: 0.5,
        },
        cube_hull(0.5),
    ]
}

/// Half the height of the solids above when they stand.
pub(crate) const HALF: f64 = 0.5;

pub(crate) fn touch_within(shapes: [&Shape; 2], poses: [Pose; 2], reach: f64) -> Vec<ContactPoint> {
    let colliders = vec![
        Collider::new(shapes[0].clone(), 0),
        Collider::new(shapes[1].clone(), 1),
    ];
    let mut collisions = Collisions::new(colliders).expect("the shapes are sound");
    let movable = shapes.map(|s| !s.is_static_only());
    collisions
        .update(&poses, &movable, &[reach; 2], &|_, _| false)
        .expect("the poses are sound");
    for c in collisions.contacts() {
        assert!((c.normal.length() - 1.0).abs() < 1e-12);
        assert!(
            ((c.point_a - c.point_b).dot(c.normal) - c.gap).abs() < 1e-9,
            "{c:?}"
        );
    }
    collisions.contacts().to_vec()
}

pub(crate) fn touch(shapes: [&Shape; 2], poses: [Pose; 2]) -> Vec<ContactPoint> {
    touch_within(shapes, poses, 0.01)
}

pub(crate) fn least_gap(contacts: &[ContactPoint]) -> f64 {
    contacts.iter().fold(f64::INFINITY, |m, c| m.min(c.gap))
}
