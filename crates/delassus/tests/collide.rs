//! Contacts of every pair of shapes and their reduction.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "common/shapes.rs"]
mod shapes;

use delassus::collide::{ContactPoint, Shape};
use delassus::math::{DQuat, DVec3, Random};
use shapes::*;

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

/// A flat triangular plate on the slope z = x + y: the middle of its box lies half a metre below the slope, and the
/// plate itself above it. It was held from below, and fell through.
#[test]
fn a_plate_lies_above_the_mesh_that_the_middle_of_its_box_is_below() {
    let slope = Shape::Mesh {
        vertices: vec![
            [-4.0, -4.0, -8.0],
            [4.0, -4.0, 0.0],
            [4.0, 4.0, 8.0],
            [-4.0, 4.0, 0.0],
        ],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
    };
    let up = DVec3::new(-1.0, -1.0, 1.0).normalize();
    let corners = [
        DVec3::ZERO,
        DVec3::new(1.0, 0.0, 1.0),
        DVec3::new(0.0, 1.0, 1.0),
    ];
    let points = corners.iter().flat_map(|c| [*c, *c + 0.05 * up]);
    let plate = Shape::Hull {
        points: points.map(|p| p.to_array()).collect(),
    };
    let sunk = -1e-3 * up;
    let found = touch(
        [&plate, &slope],
        [at(sunk.x, sunk.y, sunk.z), at(0.0, 0.0, 0.0)],
    );
    assert!((least_gap(&found) + 1e-3).abs() < 1e-9, "{found:?}");
    assert!(
        found.iter().all(|c| (c.normal - up).length() < 1e-9),
        "{found:?}"
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
