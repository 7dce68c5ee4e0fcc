//! Contacts of every pair of shapes, their reduction, and what stays the same from step to step.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use delassus::collide::{CollideError, Collider, Collisions, ContactPoint, Groups, Shape};
use delassus::math::{DQuat, DVec3, Random};

type Pose = (DVec3, DQuat);

/// Gaps of pairs with a closed form.
const EXACT: f64 = 1e-9;
/// Gaps that pass through GJK or EPA, relative to bodies of about a metre.
const ITERATED: f64 = 1e-6;

fn at(x: f64, y: f64, z: f64) -> Pose {
    (DVec3::new(x, y, z), DQuat::IDENTITY)
}

fn cube(h: f64) -> Shape {
    Shape::Box { half: [h; 3] }
}

fn cube_hull(h: f64) -> Shape {
    let points = (0..8).map(|i| [0, 1, 2].map(|k| if i >> k & 1 == 1 { h } else { -h }));
    Shape::Hull {
        points: points.collect(),
    }
}

/// A flat square of 2·cells² triangles about the origin.
fn flat_mesh(cells: usize, half: f64) -> Shape {
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

fn flat_field(cells: usize, half: f64) -> Shape {
    let n = cells + 1;
    Shape::HeightField {
        rows: n,
        columns: n,
        heights: vec![0.0; n * n],
        size: [2.0 * half, 2.0 * half, 1.0],
    }
}

/// All grounds whose surface is z = 0.
fn floors() -> Vec<Shape> {
    vec![
        Shape::HalfSpace,
        flat_mesh(8, 4.0),
        flat_field(8, 4.0),
        flat_mesh(1, 4.0),
    ]
}

fn solids() -> Vec<Shape> {
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
const HALF: f64 = 0.5;

fn touch_within(shapes: [&Shape; 2], poses: [Pose; 2], reach: f64) -> Vec<ContactPoint> {
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

fn touch(shapes: [&Shape; 2], poses: [Pose; 2]) -> Vec<ContactPoint> {
    touch_within(shapes, poses, 0.01)
}

fn least_gap(contacts: &[ContactPoint]) -> f64 {
    contacts.iter().fold(f64::INFINITY, |m, c| m.min(c.gap))
}

#[test]
fn every_pair_standing_on_another_has_the_right_gap_and_normal() {
    for low in &solids() {
        for high in &solids() {
            for gap in [5e-3, 1e-4, 0.0, -1e-4, -1e-2] {
                let z = 2.0 * HALF + gap;
                let found = touch([low, high], [at(0.1, 0.2, 0.3), at(0.1, 0.2, 0.3 + z)]);
                assert!(!found.is_empty(), "{low:?} {high:?} {gap}");
                assert!(
                    (least_gap(&found) - gap).abs() < ITERATED,
                    "{low:?} {high:?} {gap} {found:?}"
                );
                for c in &found {
                    assert_eq!(c.bodies, (0, 1));
                    assert!(
                        (c.normal + DVec3::Z).length() < 1e-5,
                        "{low:?} {high:?} {gap} {c:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_solid_stands_on_every_floor() {
    for floor in &floors() {
        for solid in &solids() {
            for gap in [5e-3, 1e-9, 0.0, -1e-4, -1e-2] {
                let pose = at(0.123, 0.456, HALF + gap);
                let found = touch([solid, floor], [pose, at(0.0, 0.0, 0.0)]);
                assert!(
                    (least_gap(&found) - gap).abs() < EXACT,
                    "{solid:?} {floor:?} {gap} {found:?}"
                );
                for c in &found {
                    assert_eq!(c.bodies, (0, 1));
                    assert!((c.normal - DVec3::Z).length() < 1e-15, "{solid:?} {c:?}");
                }
            }
        }
    }
}

#[test]
fn ground_is_the_second_body_whatever_the_order() {
    for floor in &floors() {
        let found = touch([floor, &cube(0.5)], [at(0.0, 0.0, 0.0), at(0.0, 0.0, 0.5)]);
        assert_eq!(found.len(), 4);
        assert!(
            found
                .iter()
                .all(|c| c.bodies == (1, 0) && c.colliders == (1, 0) && c.normal == DVec3::Z)
        );
    }
}

#[test]
fn swapping_the_bodies_swaps_the_contacts() {
    let mut random = Random::new(5);
    let shapes = solids();
    for _ in 0..2000 {
        let (p, q) = (&shapes[random.below(5)], &shapes[random.below(5)]);
        let mut pose = || {
            let v = random.vector();
            (
                random.vector() * 0.7,
                DQuat::from_xyzw(v.x, v.y, v.z, 0.3).normalize(),
            )
        };
        let (x, y) = (pose(), pose());
        let (there, back) = (touch([p, q], [x, y]), touch([q, p], [y, x]));
        assert_eq!(there.is_empty(), back.is_empty(), "{p:?} {q:?} {x:?} {y:?}");
        if !there.is_empty() {
            let (g, h) = (least_gap(&there), least_gap(&back));
            assert!(
                (g - h).abs() < 2e-3 * g.abs().max(1e-3),
                "{p:?} {q:?} {x:?} {y:?}: {g} {h}"
            );
            let deepest = |list: &[ContactPoint]| {
                list.iter()
                    .min_by(|c, d| c.gap.total_cmp(&d.gap))
                    .unwrap()
                    .normal
            };
            // Equal depths may have two directions; a direction must never come back with the same sign.
            assert!(
                deepest(&there).dot(deepest(&back)) < 0.99,
                "{p:?} {q:?} {x:?} {y:?}"
            );
        }
    }
}

#[test]
fn spheres_and_boxes_have_closed_form_gaps() {
    let ball = Shape::Sphere { radius: 0.5 };
    let found = touch([&ball, &ball], [at(0.3, 0.0, 0.4), at(-0.3, 0.0, -0.4)]);
    assert!(found.len() == 1 && found[0].gap.abs() < EXACT);
    assert!((found[0].normal - DVec3::new(0.6, 0.0, 0.8)).length() < 1e-15);
    // A ball off the corner of a box: the nearest point is the corner.
    let away = DVec3::new(1.0, 1.0, 1.0).normalize() * 0.502;
    let found = touch(
        [&ball, &cube(0.5)],
        [
            (DVec3::splat(0.5) + away, DQuat::IDENTITY),
            at(0.0, 0.0, 0.0),
        ],
    );
    assert!(found.len() == 1 && (found[0].gap - 0.002).abs() < EXACT);
    // Its centre inside: out by the nearest face.
    let found = touch([&ball, &cube(0.5)], [at(0.1, 0.45, 0.0), at(0.0, 0.0, 0.0)]);
    assert!((found[0].gap + 0.55).abs() < EXACT && found[0].normal == DVec3::Y);
}

fn area(points: &[ContactPoint]) -> f64 {
    let centre = points.iter().map(|c| c.point_a).sum::<DVec3>() / points.len() as f64;
    let mut around: Vec<DVec3> = points.iter().map(|c| c.point_a - centre).collect();
    around.sort_by(|p, q| p.y.atan2(p.x).total_cmp(&q.y.atan2(q.x)));
    (0..around.len())
        .map(|i| 0.5 * around[i].cross(around[(i + 1) % around.len()]).z)
        .sum()
}

#[test]
fn boxes_on_boxes_keep_four_points_of_largest_area() {
    let low = at(0.0, 0.0, 0.0);
    for other in [cube(0.5), cube_hull(0.5)] {
        let found = touch([&cube(0.5), &other], [at(0.0, 0.0, 0.999), low]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!((area(&found) - 1.0).abs() < 1e-3);
        let turn = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_4);
        let found = touch([&cube(0.5), &other], [(DVec3::Z * 0.999, turn), low]);
        assert_eq!(found.len(), 4, "{found:?}");
        // The overlap is a regular octagon of inner radius ½; its largest quadrangle is a square over diagonals.
        let radius = 0.5 / (std::f64::consts::PI / 8.0).cos();
        let square = 2.0 * radius * radius;
        assert!(
            0.95 * square <= area(&found) && area(&found) <= 1.0001 * square,
            "{}",
            area(&found)
        );
        assert!(found.iter().all(|c| (c.gap + 1e-3).abs() < EXACT));
    }
}

#[test]
fn boxes_on_flat_ground_keep_their_four_corners() {
    let mut random = Random::new(9);
    for floor in &floors() {
        for solid in [cube(0.5), cube_hull(0.5)] {
            for _ in 0..50 {
                let turn = DQuat::from_rotation_z(random.range(0.0, 6.0));
                let x = random.vector() * 2.0;
                let gap = random.range(-0.05, 0.005);
                let found = touch(
                    [&solid, floor],
                    [(DVec3::new(x.x, x.y, 0.5 + gap), turn), at(0.0, 0.0, 0.0)],
                );
                assert_eq!(found.len(), 4, "{solid:?} {floor:?} {x} {gap} {found:?}");
                assert!(
                    found
                        .iter()
                        .all(|c| c.normal == DVec3::Z && (c.gap - gap).abs() < EXACT)
                );
                assert!((area(&found) - 1.0).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn a_ball_on_flat_ground_touches_once() {
    let mut random = Random::new(10);
    let ball = Shape::Sphere { radius: 0.5 };
    for floor in &floors() {
        for round in 0..200 {
            let x = random.vector() * 3.0;
            // Half of them over edges and corners of the triangles.
            let x = if round % 2 == 0 { x.round() } else { x };
            let found = touch_within(
                [&ball, floor],
                [at(x.x, x.y, 0.499), at(0.0, 0.0, 0.0)],
                0.3,
            );
            assert_eq!(found.len(), 1, "{x} {floor:?} {found:?}");
            assert!(found[0].normal == DVec3::Z && (found[0].gap + 1e-3).abs() < EXACT);
        }
    }
}

#[test]
fn the_rim_of_a_mesh_is_an_edge_like_any_other() {
    let ball = Shape::Sphere { radius: 0.5 };
    let found = touch(
        [&ball, &flat_mesh(4, 1.0)],
        [at(1.3, 0.1, 0.4), at(0.0, 0.0, 0.0)],
    );
    assert!(found.len() == 1 && found[0].gap.abs() < EXACT, "{found:?}");
    assert!((found[0].normal - DVec3::new(0.6, 0.0, 0.8)).length() < 1e-12);
    // A large box balanced on a ridge touches the ridge, straight up.
    let heights = vec![0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0];
    let ridge = Shape::HeightField {
        rows: 3,
        columns: 3,
        heights,
        size: [2.0, 2.0, 0.5],
    };
    let found = touch(
        [
            &Shape::Box {
                half: [0.5, 0.3, 0.2],
            },
            &ridge,
        ],
        [at(0.1, 0.2, 0.699), at(0.0, 0.0, 0.0)],
    );
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found
            .iter()
            .all(|c| (c.normal - DVec3::Z).length() < 1e-9 && (c.gap + 1e-3).abs() < EXACT)
    );
}

#[test]
fn a_box_in_a_corner_of_a_mesh_meets_floor_and_wall() {
    let vertices = vec![
        [0.0, -2.0, 0.0],
        [2.0, -2.0, 0.0],
        [2.0, 2.0, 0.0],
        [0.0, 2.0, 0.0],
        [0.0, -2.0, 2.0],
        [0.0, 2.0, 2.0],
    ];
    let triangles = vec![[0, 1, 2], [0, 2, 3], [0, 3, 5], [0, 5, 4]];
    let corner = Shape::Mesh {
        vertices,
        triangles,
    };
    let found = touch(
        [&cube(0.5), &corner],
        [at(0.499, 0.1, 0.499), at(0.0, 0.0, 0.0)],
    );
    let on = |n: DVec3| {
        found
            .iter()
            .filter(|c| (c.normal - n).length() < 1e-12)
            .count()
    };
    assert_eq!(
        (on(DVec3::Z), on(DVec3::X), found.len()),
        (4, 4, 8),
        "{found:?}"
    );
}

#[test]
fn parallel_capsules_touch_at_both_ends_of_the_overlap() {
    let capsule = Shape::Capsule {
        half_length: 0.5,
        radius: 0.1,
    };
    for tilt in [0.0, 1e-6, 1e-3] {
        let turn = DQuat::from_rotation_y(tilt);
        let found = touch(
            [&capsule, &capsule],
            [(DVec3::new(0.2, 0.0, 0.3), turn), at(0.0, 0.0, 0.0)],
        );
        assert_eq!(found.len(), 2, "{tilt} {found:?}");
        let apart = (found[0].point_a - found[1].point_a).length();
        assert!((apart - 0.7).abs() < 0.01);
    }
    let crossed = DQuat::from_rotation_x(1.0);
    let found = touch(
        [&capsule, &capsule],
        [(DVec3::X * 0.2, crossed), at(0.0, 0.0, 0.0)],
    );
    assert!(found.len() == 1 && found[0].gap.abs() < EXACT);
}

#[test]
fn cylinders_stand_on_three_points_or_more_and_lie_on_two() {
    let cylinder = Shape::Cylinder {
        half_length: 0.5,
        radius: 0.3,
    };
    let lying = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
    for floor in floors().into_iter().chain([Shape::Box {
        half: [3.0, 3.0, 1.0],
    }]) {
        let base = if matches!(floor, Shape::Box { .. }) {
            -1.0
        } else {
            0.0
        };
        let ground = at(0.0, 0.0, base);
        let found = touch([&cylinder, &floor], [at(0.1, 0.2, 0.5), ground]);
        assert!(3 <= found.len() && found.len() <= 4, "{found:?}");
        assert!(found.iter().all(|c| c.gap.abs() < ITERATED));
        let found = touch(
            [&cylinder, &floor],
            [(DVec3::new(0.1, 0.2, 0.3), lying), ground],
        );
        assert_eq!(found.len(), 2, "{floor:?} {found:?}");
        assert!(found.iter().all(|c| c.gap.abs() < ITERATED));
    }
    let tilted = DQuat::from_rotation_y(0.3) * DQuat::from_rotation_z(0.2);
    let height = 0.5 * 0.3_f64.cos() + 0.3 * 0.3_f64.sin();
    let found = touch(
        [&cylinder, &Shape::HalfSpace],
        [(DVec3::Z * height, tilted), at(0.0, 0.0, 0.0)],
    );
    assert!(least_gap(&found).abs() < EXACT);
}

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
    let start = std::time::Instant::now();
    for _ in 0..2 {
        collisions
            .update(&poses, &vec![true; n], &vec![1e-3; n], &|_, _| false)
            .unwrap();
    }
    assert_eq!(collisions.contacts().len(), 2 * 49 * 50 * 40 + 50 * 50 * 39);
    // Generous: an unoptimised build on a shared machine.
    assert!(start.elapsed().as_secs() < 20);
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
