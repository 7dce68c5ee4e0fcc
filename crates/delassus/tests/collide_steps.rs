//! What stays the same from step to step, who may touch whom, and what is refused.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "common/shapes.rs"]
mod shapes;

use delassus::collide::{CollideError, Collider, Collisions, ContactPoint, Groups, Shape};
use delassus::math::{DQuat, DVec3, Random};
use shapes::*;

#[test]
fn ids_last_while_a_box_slides() {
    for floor in floors().into_iter().chain([Shape::Box {
        half: [4.0, 4.0, 1.0],
    }]) {
        let base = if matches!(floor, Shape::Box { .. }) {
            -1.0
        } else {
            0.0
        };
        let colliders = vec![Collider::new(cube(0.5), 0), Collider::new(floor.clone(), 1)];
        let mut collisions = Collisions::new(colliders).unwrap();
        let mut first = Vec::new();
        for step in 0..100 {
            let x = -0.7 + 0.013 * f64::from(step);
            let turn =
                DQuat::from_rotation_z(0.01 * f64::from(step)) * DQuat::from_rotation_x(1e-6);
            let poses = [(DVec3::new(x, 0.3 * x, 0.4999), turn), at(0.0, 0.0, base)];
            collisions
                .update(&poses, &[true, false], &[0.01; 2], &|_, _| false)
                .unwrap();
            let ids: Vec<u64> = collisions.contacts().iter().map(|c| c.id).collect();
            if step == 0 {
                first = ids.clone();
            }
            assert_eq!(ids, first, "{floor:?} step {step}");
        }
        assert_eq!(first.len(), 4);
    }
}

#[test]
fn history_does_not_change_the_contacts() {
    let mut random = Random::new(12);
    let mut colliders = vec![Collider::new(flat_field(20, 5.0), 60)];
    let shapes = solids();
    for body in 0..60 {
        colliders.push(Collider::new(shapes[body % 5].clone(), body));
    }
    let mut poses: Vec<Pose> = (0..60)
        .map(|_| {
            let v = random.vector();
            let x = random.vector() * 2.0;
            (
                DVec3::new(x.x, x.y, x.z.abs()),
                DQuat::from_xyzw(v.x, v.y, v.z, 0.5).normalize(),
            )
        })
        .collect();
    poses.push(at(0.0, 0.0, 0.0));
    let mut movable = vec![true; 60];
    movable.push(false);
    let reach = vec![0.01; 61];
    let mut old = Collisions::new(colliders.clone()).unwrap();
    for _ in 0..80 {
        for pose in &mut poses[..60] {
            pose.0 += random.vector() * 0.02;
            pose.1 = (pose.1 * DQuat::from_scaled_axis(random.vector() * 0.02)).normalize();
        }
        old.update(&poses, &movable, &reach, &|_, _| false).unwrap();
    }
    let mut fresh = Collisions::new(colliders).unwrap();
    fresh
        .update(&poses, &movable, &reach, &|_, _| false)
        .unwrap();
    assert!(100 < fresh.contacts().len());
    assert_eq!(old.contacts(), fresh.contacts());
    let key = |c: &ContactPoint| (c.colliders, c.id);
    assert!(
        fresh.contacts().windows(2).all(|w| key(&w[0]) < key(&w[1])),
        "sorted, ids unique"
    );
}

#[test]
fn groups_exclusions_and_rest_are_respected() {
    let pair = |a: Groups, b: Groups| {
        let ball = Collider::new(Shape::Sphere { radius: 0.6 }, 0);
        let colliders = vec![
            Collider {
                group: a,
                ..ball.clone()
            },
            Collider {
                group: b,
                body: 1,
                ..ball
            },
        ];
        Collisions::new(colliders).unwrap()
    };
    let poses = [at(0.0, 0.0, 0.0), at(1.0, 0.0, 0.0)];
    let mut open = pair(Groups::default(), Groups::default());
    let mut count = |movable: [bool; 2], excluded: bool| {
        open.update(&poses, &movable, &[0.0; 2], &|_, _| excluded)
            .unwrap();
        open.contacts().len()
    };
    assert_eq!(count([true; 2], false), 1);
    assert_eq!(count([true; 2], true), 0);
    assert_eq!(count([false, true], false), 1);
    assert_eq!(count([false; 2], false), 0);
    let mut closed = pair(Groups { member: 1, with: 2 }, Groups { member: 1, with: 3 });
    closed
        .update(&poses, &[true; 2], &[0.0; 2], &|_, _| false)
        .unwrap();
    assert!(closed.contacts().is_empty());
}

#[test]
fn bad_poses_are_refused_by_name() {
    for shape in solids().into_iter().chain(floors()) {
        let colliders = vec![Collider::new(shape, 0), Collider::new(cube(0.5), 1)];
        let mut collisions = Collisions::new(colliders).unwrap();
        let bad = [
            (DVec3::NAN, DQuat::IDENTITY),
            (DVec3::INFINITY, DQuat::IDENTITY),
            (DVec3::splat(1e300), DQuat::IDENTITY),
            (DVec3::ZERO, DQuat::NAN),
            (DVec3::ZERO, DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0)),
        ];
        for pose in bad {
            let answer = collisions.update(
                &[at(0.0, 0.0, 0.0), pose],
                &[true; 2],
                &[0.0; 2],
                &|_, _| false,
            );
            assert!(
                matches!(&answer, Err(CollideError::BadPose { place, .. }) if place == "body 1")
            );
            assert!(collisions.contacts().is_empty());
        }
        let here = [at(0.0, 0.0, 0.0); 2];
        assert!(
            collisions
                .update(&here, &[true; 2], &[0.0, f64::NAN], &|_, _| false)
                .is_err()
        );
        assert!(
            collisions
                .update(&here[..1], &[true; 2], &[0.0; 2], &|_, _| false)
                .is_err()
        );
    }
    let empty = Collider::new(Shape::Sphere { radius: 0.0 }, 3);
    assert!(matches!(
        Collisions::new(vec![empty]),
        Err(CollideError::BadShape { body: 3, .. })
    ));
}

/// Deep overlaps, coincident centres, extreme ratios of size: whatever comes, no panic and finite numbers.
#[test]
fn absurd_arrangements_never_panic() {
    let mut random = Random::new(77);
    let sizes = [1e-6, 1e-3, 1.0, 1e3];
    for round in 0..4000 {
        let mut shape = || {
            let s = sizes[random.below(4)];
            match random.below(7) {
                0 => Shape::Sphere { radius: s },
                1 => Shape::Box {
                    half: [s, s * random.range(1e-3, 1.0), s],
                },
                2 => Shape::Capsule {
                    half_length: s,
                    radius: s * random.range(1e-3, 1.0),
                },
                3 => Shape::Cylinder {
                    half_length: s * random.range(1e-3, 1.0),
                    radius: s,
                },
                4 => cube_hull(s),
                5 => flat_mesh(3, s),
                _ => flat_field(3, s),
            }
        };
        let (p, q) = (shape(), shape());
        let near = if round % 3 == 0 { 0.0 } else { 1.0 };
        let v = random.vector();
        let turn = if round % 2 == 0 {
            DQuat::IDENTITY
        } else {
            DQuat::from_xyzw(v.x, v.y, v.z, 0.1).normalize()
        };
        for c in touch_within(
            [&p, &q],
            [(random.vector() * near, turn), at(0.0, 0.0, 0.0)],
            0.1,
        ) {
            assert!(c.gap.is_finite() && c.point_a.is_finite() && c.point_b.is_finite());
        }
    }
}

#[test]
fn a_hundred_thousand_bodies_finish_quickly() {
    let n = 100_000;
    let ball = Shape::Sphere { radius: 0.5 };
    let colliders = (0..n).map(|i| Collider::new(ball.clone(), i)).collect();
    let poses: Vec<Pose> = (0..n)
        .map(|i| at((i % 50) as f64, (i / 50 % 50) as f64, (i / 2500) as f64))
        .collect();
    let mut collisions = Collisions::new(colliders).unwrap();
    for _ in 0..2 {
        collisions
            .update(&poses, &vec![true; n], &vec![1e-3; n], &|_, _| false)
            .unwrap();
    }
    assert_eq!(collisions.contacts().len(), 2 * 49 * 50 * 40 + 50 * 50 * 39);
}

/// A block of triangles has walls below its top: a body on top must not be pushed sideways by them.
#[test]
fn bodies_on_a_block_of_triangles_feel_only_its_top() {
    let vertices = (0..8)
        .map(|i| [0, 1, 2].map(|k| if i >> k & 1 == 1 { 1.0 } else { -1.0 }))
        .collect();
    let sides = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let triangles = sides
        .iter()
        .flat_map(|s| [[s[0], s[1], s[2]], [s[0], s[2], s[3]]])
        .collect();
    let block = Shape::Mesh {
        vertices,
        triangles,
    };
    let mut random = Random::new(31);
    for solid in solids() {
        for _ in 0..200 {
            let x = random.vector() * 1.2;
            let gap = random.range(-2e-3, 2e-3);
            let turn = DQuat::from_rotation_z(random.range(0.0, 6.0));
            let pose = (DVec3::new(x.x, x.y, 1.0 + HALF + gap), turn);
            let round = matches!(solid, Shape::Sphere { .. } | Shape::Capsule { .. });
            if round && 1.0 < x.x.abs().max(x.y.abs()) {
                // Over the edge a round body has a tilted normal, rightly.
                continue;
            }
            let found = touch([&solid, &block], [pose, at(0.0, 0.0, 0.0)]);
            assert!(
                !found.is_empty() && found.len() <= 4,
                "{solid:?} {pose:?} {found:?}"
            );
            for c in found {
                assert!(
                    (c.normal - DVec3::Z).length() < 1e-6,
                    "{solid:?} {pose:?} {c:?}"
                );
                assert!((c.gap - gap).abs() < ITERATED, "{solid:?} {pose:?} {c:?}");
            }
        }
    }
}
