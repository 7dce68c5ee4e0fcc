//! Rays and overlaps against every shape, by formulas and by brute force.
#![cfg(feature = "world")]

use delassus::collide::{Groups, Shape};
use delassus::math::{DQuat, DVec3, Random};
use delassus::world::{Attach, Body, Filter, QueryError, Ray, RayHit};
use delassus::{BodyId, World, WorldBuilder};

/// Rounding of a few operations at distances of some metres.
const ROUNDING: f64 = 1e-9;

fn cube_points(h: f64) -> Vec<[f64; 3]> {
    let sign = |i: u32, k: u32| if i >> k & 1 == 1 { h } else { -h };
    (0..8).map(|i| [0, 1, 2].map(|k| sign(i, k))).collect()
}

/// Two triangles over [−1, 1]² at z = 0, as a mesh.
fn square() -> Shape {
    Shape::Mesh {
        vertices: vec![
            [-1.0, -1.0, 0.0],
            [1.0, -1.0, 0.0],
            [1.0, 1.0, 0.0],
            [-1.0, 1.0, 0.0],
        ],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
    }
}

/// A slope z = x/4 over [−2, 2]², as a height field of many cells.
fn slope() -> Shape {
    let (rows, columns) = (9, 17);
    let heights = (0..rows * columns).map(|i| ((i % columns) as f64 / 4.0 - 2.0) / 4.0);
    Shape::HeightField {
        rows,
        columns,
        heights: heights.collect(),
        size: [4.0, 4.0, 1.0],
    }
}

fn one(shape: Shape, at: DVec3, turn: DQuat) -> World {
    let mut builder = WorldBuilder::default();
    let mut body = Body::fixed("one", at);
    body.orientation = turn;
    let body = builder.add_body(body).expect("a body");
    let added = builder.add_collider(body, shape, Attach::default());
    added.expect("a shape");
    builder.build().expect("a world")
}

fn cast(world: &World, origin: DVec3, direction: DVec3) -> Option<RayHit> {
    let ray = Ray::new(origin, direction);
    world.cast_ray(ray, Filter::default()).expect("a ray")
}

fn solids() -> Vec<Shape> {
    vec![
        Shape::Sphere { radius: 0.7 },
        Shape::Box {
            half: [0.3, 0.5, 0.8],
        },
        Shape::Capsule {
            half_length: 0.6,
            radius: 0.3,
        },
        Shape::Cylinder {
            half_length: 0.6,
            radius: 0.4,
        },
        Shape::Hull {
            points: cube_points(0.5),
        },
    ]
}

#[test]
fn rays_down_the_axes_meet_every_shape_where_its_surface_is() {
    // (shape, distance along −z from 5 m, distance along −x from 5 m)
    let expected = [(0.7, 0.7), (0.8, 0.3), (0.9, 0.3), (0.6, 0.4), (0.5, 0.5)];
    for (shape, (top, side)) in solids().into_iter().zip(expected) {
        let world = one(shape, DVec3::ZERO, DQuat::IDENTITY);
        let down = cast(&world, DVec3::Z * 5.0, -DVec3::Z * 3.0).expect("a hit");
        assert!((down.distance - (5.0 - top)).abs() < ROUNDING);
        assert!((down.normal - DVec3::Z).length() < ROUNDING);
        let across = cast(&world, DVec3::X * 5.0, -DVec3::X).expect("a hit");
        assert!((across.distance - (5.0 - side)).abs() < ROUNDING);
        assert!((across.normal - DVec3::X).length() < ROUNDING);
        assert_eq!(cast(&world, DVec3::Z * 5.0, DVec3::Z), None, "away");
        assert_eq!(cast(&world, DVec3::new(3.0, 0.0, 5.0), -DVec3::Z), None);
        let inside = cast(&world, DVec3::splat(0.01), DVec3::Y).expect("inside");
        assert_eq!((inside.distance, inside.normal), (0.0, -DVec3::Y));
    }
    let plane = one(Shape::HalfSpace, DVec3::ZERO, DQuat::IDENTITY);
    let hit = cast(
        &plane,
        DVec3::new(0.0, 0.0, 3.0),
        DVec3::new(4.0, 0.0, -3.0),
    );
    let hit = hit.expect("a plane goes on for ever");
    assert!((hit.point - DVec3::X * 4.0).length() < ROUNDING);
    assert!((hit.distance - 5.0).abs() < ROUNDING);
}

#[test]
fn surfaces_are_met_from_both_sides_also_along_their_edges() {
    let mesh = one(square(), DVec3::Z, DQuat::IDENTITY);
    for x in [-0.9, 0.0, 0.3] {
        // On the common edge of the two triangles where x = y.
        for y in [x, -0.4] {
            let down = cast(&mesh, DVec3::new(x, y, 4.0), -DVec3::Z).expect("from above");
            assert!((down.distance - 3.0).abs() < ROUNDING);
            assert_eq!(down.normal, DVec3::Z);
            let up = cast(&mesh, DVec3::new(x, y, -4.0), DVec3::Z).expect("from below");
            assert!((up.distance - 5.0).abs() < ROUNDING);
            assert_eq!(up.normal, -DVec3::Z);
        }
    }
    assert_eq!(cast(&mesh, DVec3::new(1.1, 0.0, 4.0), -DVec3::Z), None);
    let field = one(slope(), DVec3::ZERO, DQuat::IDENTITY);
    let mut random = Random::new(7);
    for _ in 0..500 {
        let (x, y) = (random.range(-1.99, 1.99), random.range(-1.99, 1.99));
        let target = DVec3::new(x, y, x / 4.0);
        let mut origin = target + 4.0 * random.vector();
        origin.z = 3.0 + random.range(0.0, 2.0);
        let hit = cast(&field, origin, target - origin).expect("the slope");
        assert!(
            (hit.point - target).length() < 1e-8,
            "{} {target}",
            hit.point
        );
        let back = cast(&field, 2.0 * target - origin, origin - target);
        let back = back.expect("from below");
        assert!((back.point - target).length() < 1e-8);
    }
}

/// Signed distance bound: whether a point is inside a solid, by its definition.
fn contains(shape: &Shape, p: DVec3) -> bool {
    match shape {
        Shape::Sphere { radius } => p.length() <= *radius,
        Shape::Box { half } => p.abs().cmple(DVec3::from(*half)).all(),
        Shape::Capsule {
            half_length,
            radius,
        } => {
            let z = p.z.clamp(-half_length, *half_length);
            (p - DVec3::Z * z).length() <= *radius
        }
        Shape::Cylinder {
            half_length,
            radius,
        } => p.z.abs() <= *half_length && p.x.hypot(p.y) <= *radius,
        Shape::Hull { .. } => p.abs().max_element() <= 0.5,
        _ => false,
    }
}

#[test]
fn random_rays_at_turned_solids_agree_with_a_march_along_them() {
    let mut random = Random::new(11);
    for shape in solids() {
        for _ in 0..60 {
            let v = random.vector();
            let turn = DQuat::from_xyzw(v.x, v.y, v.z, random.range(-1.0, 1.0)).normalize();
            let at = random.vector();
            let world = one(shape.clone(), at, turn);
            let origin = at + 3.0 * random.vector().normalize();
            let direction = (at + 0.6 * random.vector() - origin).normalize();
            let hit = cast(&world, origin, direction);
            let inside = |t: f64| {
                let p = turn.conjugate() * (origin + direction * t - at);
                contains(&shape, p)
            };
            const MARCH: f64 = 1e-3;
            let first = (0..6000).map(|i| f64::from(i) * MARCH).find(|t| inside(*t));
            match (hit, first) {
                (Some(hit), Some(first)) => {
                    let behind = first - hit.distance;
                    assert!(
                        (-1e-9..=MARCH + 1e-9).contains(&behind),
                        "{shape:?}: {behind}"
                    );
                    assert!(inside(hit.distance + 1e-9) && !inside(hit.distance - 1e-6));
                    assert!(hit.normal.dot(direction) <= 0.0);
                    assert!((hit.normal.length() - 1.0).abs() < ROUNDING);
                }
                // A march may miss a corner that is cut by less than its stride.
                (Some(hit), None) => assert!(!inside(hit.distance + MARCH)),
                (None, Some(_)) => panic!("{shape:?} was missed"),
                (None, None) => {}
            }
        }
    }
}

/// Balls and boxes all over a room.
fn room() -> World {
    let mut builder = WorldBuilder::default();
    builder.add_ground().expect("ground");
    let mut random = Random::new(5);
    for i in 0..200 {
        let at = 4.0 * random.vector() + DVec3::Z * 5.0;
        let shape = if i % 2 == 0 {
            Shape::Sphere { radius: 0.3 }
        } else {
            Shape::Box { half: [0.3; 3] }
        };
        let body = Body::at(&format!("b{i}"), at);
        let added = builder.add_solid(shape, 1.0, body, Attach::default());
        added.expect("a solid");
    }
    builder.build().expect("a room")
}

#[test]
fn a_tree_finds_what_a_search_through_all_finds() {
    let world = room();
    let queries = world.queries().expect("poses are sound");
    let mut random = Random::new(2);
    let mut hits = 0;
    for _ in 0..300 {
        let ray = Ray::new(6.0 * random.vector() + DVec3::Z * 8.0, random.vector());
        let filter = Filter::default();
        let first = world.cast_ray(ray, filter).expect("a ray");
        assert_eq!(first, queries.cast(ray, filter).expect("a ray"));
        let all = queries.cast_all(ray, filter).expect("a ray");
        assert_eq!(all.first().copied(), first);
        assert!(all.is_sorted_by_key(|hit| hit.distance));
        hits += all.len();
        if let Some(first) = first {
            let short = ray.within(0.5 * first.distance);
            let none = queries.cast(short, filter).expect("a ray");
            assert!(first.distance == 0.0 || none.is_none());
            let without = [first.body];
            let filter = Filter {
                without: &without,
                ..Filter::default()
            };
            let next = queries.cast(ray, filter).expect("a ray");
            let expected = all.iter().find(|hit| hit.body != first.body);
            assert_eq!(next, expected.copied());
        }
        let at = (3.0 * random.vector() + DVec3::Z * 5.0, DQuat::IDENTITY);
        let ball = Shape::Sphere { radius: 0.8 };
        let found = queries.overlaps(ball.clone(), at, Filter::default());
        let found = found.expect("a ball");
        assert_eq!(
            world.overlaps(ball, at, Filter::default()),
            Ok(found.clone())
        );
        // Every ball nearer than both radii, and no other.
        for id in world.bodies().ids().skip(1).step_by(2) {
            let near = world.bodies().position[id.index()].distance(at.0) <= 1.1;
            assert_eq!(found.iter().any(|o| o.body == id), near, "{id}");
        }
    }
    assert!(200 < hits, "rays meet things: {hits}");
}

#[test]
fn overlaps_tell_depth_and_way_out_for_every_shape() {
    let ball = Shape::Sphere { radius: 0.5 };
    let mut shapes: Vec<(Shape, f64)> = solids()
        .into_iter()
        .zip([0.7, 0.8, 0.9, 0.6, 0.5])
        .collect();
    shapes.extend([(Shape::HalfSpace, 0.0), (square(), 0.0), (slope(), 0.0)]);
    for (shape, top) in shapes {
        let world = one(shape.clone(), DVec3::ZERO, DQuat::IDENTITY);
        let over = |gap: f64| {
            let at = DVec3::new(0.0, 0.0, top + 0.5 + gap);
            world.overlaps(ball.clone(), (at, DQuat::IDENTITY), Filter::default())
        };
        assert_eq!(over(0.3), Ok(Vec::new()), "{shape:?}");
        let deep = over(-0.1).expect("a ball");
        let [found] = deep[..] else {
            panic!("{shape:?}: {deep:?}");
        };
        assert_eq!(found.body, BodyId(0));
        // On a slope of 1 : 4 the way out is shorter than straight up.
        assert!(
            (0.09..=0.1 + 1e-6).contains(&found.depth) || top == 0.0,
            "{found:?}"
        );
        assert!(0.9 < found.normal.z, "{found:?}");
    }
}

#[test]
fn groups_are_heeded_and_nonsense_is_refused() {
    let mut builder = WorldBuilder::default();
    for (i, bit) in [1, 2].into_iter().enumerate() {
        let attach = Attach {
            groups: Groups {
                member: bit,
                with: u32::MAX,
            },
            ..Attach::default()
        };
        let body = Body::fixed(&format!("g{bit}"), DVec3::X * i as f64);
        let body = builder.add_body(body).expect("a body");
        let shape = Shape::Sphere { radius: 0.2 };
        builder.add_collider(body, shape, attach).expect("a ball");
    }
    let world = builder.build().expect("a world");
    let ray = Ray::new(-DVec3::X, DVec3::X);
    let second = Filter {
        groups: Groups {
            member: u32::MAX,
            with: 2,
        },
        ..Filter::default()
    };
    let hit = world.cast_ray(ray, second).expect("a ray").expect("a ball");
    assert_eq!(hit.body, BodyId(1));
    let bad = [
        Ray::new(DVec3::NAN, DVec3::X),
        Ray::new(DVec3::ZERO, DVec3::ZERO),
        Ray::new(DVec3::ZERO, DVec3::X).within(-1.0),
        Ray::new(DVec3::ZERO, DVec3::X).within(f64::NAN),
    ];
    for ray in bad {
        let refused = world.cast_ray(ray, Filter::default());
        assert!(matches!(refused, Err(QueryError::BadRay { .. })));
    }
    let pose = (DVec3::ZERO, DQuat::IDENTITY);
    let ground = world.overlaps(Shape::HalfSpace, pose, Filter::default());
    assert_eq!(ground, Err(QueryError::GroundAsked));
    let bad = world.overlaps(Shape::Sphere { radius: 0.0 }, pose, Filter::default());
    assert!(matches!(bad, Err(QueryError::Collide(_))));
}
