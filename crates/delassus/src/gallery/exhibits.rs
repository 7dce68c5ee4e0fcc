//! The built-in problems themselves.

use glam::{DMat3, DVec3};

use super::scene::{REST, Scene, angular, ball, cuboid};
use crate::error::BuildError;
use crate::index::MassId;
use crate::law::Law;
use crate::math::{Random, tangents};
use crate::problem::Problem;
use crate::problem::mass::MassBlock;
use crate::problem::place::Point;

pub(super) fn slide(_: usize) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let start = (DVec3::new(2.0, 0.5, 0.0), DVec3::new(0.0, 0.0, 3.0));
    let body = scene.body(ball(1.0, 0.5), DVec3::Z * 0.5, start, REST)?;
    scene.contact((body, None), DVec3::ZERO, DVec3::Z, 0.4)?;
    scene.builder.build()
}

pub(super) fn rod(_: usize) -> Result<Problem, BuildError> {
    // A thin rod of length 1 leaning by 40 degrees in a plane turned by 25: its end slides as it hits.
    let (sin, cos) = 40f64.to_radians().sin_cos();
    let (yaw_sin, yaw_cos) = 25f64.to_radians().sin_cos();
    let axis = DVec3::new(cos * yaw_cos, cos * yaw_sin, sin);
    let outer = DMat3::from_cols(axis * axis.x, axis * axis.y, axis * axis.z);
    let inertia = (DMat3::IDENTITY - outer) * (1.0 / 12.0) + outer * 1e-4;
    let mut builder = Problem::builder();
    let p = [1.0, 0.3, -1.2, 0.0, 0.02, 0.0];
    let body = builder.add_mass(MassBlock::rigid(1.0, inertia)?, &p)?;
    let (t1, t2) = tangents(DVec3::Z);
    let point = Point {
        directions: &[DVec3::Z, t1, t2],
        first: Some((body, axis * -0.5)),
        second: None,
    };
    let law = Law::FrictionCone { mu: 0.4 };
    builder.add_point(law, &point, &[0.0; 3], &[0.0; 3])?;
    builder.build()
}

pub(super) fn corner(_: usize) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let push = (DVec3::new(-30.0, -20.0, 5.0), DVec3::new(1.5, -1.0, 2.0));
    let half = DVec3::splat(0.5);
    let body = scene.body(cuboid(1.0, half), half, REST, push)?;
    for axis in 0..3 {
        for (i, j) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)] {
            let mut point = [0.0; 3];
            point[(axis + 1) % 3] = i;
            point[(axis + 2) % 3] = j;
            scene.contact((body, None), DVec3::from(point), DVec3::AXES[axis], 0.3)?;
        }
    }
    scene.builder.build()
}

pub(super) fn peg(contacts: usize) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let half = DVec3::new(0.1, 0.1, 0.5);
    let push = (DVec3::new(8.0, -5.0, -20.0), DVec3::new(2.0, 1.0, 0.5));
    let body = scene.body(cuboid(1.0, half), DVec3::ZERO, REST, push)?;
    for i in 0..contacts {
        let normal = [DVec3::NEG_X, DVec3::X, DVec3::NEG_Y, DVec3::Y][i % 4];
        let (layer, layers) = (i / 4, contacts.div_ceil(4));
        let height = if layers == 1 {
            0.0
        } else {
            layer as f64 / (layers - 1) as f64 - 0.5
        };
        let side = if layer % 2 == 0 { 0.1 } else { -0.1 };
        let along = normal.cross(DVec3::Z) * side;
        let point = normal * -0.1 + along + DVec3::Z * height;
        scene.contact((body, None), point, normal, 0.25)?;
    }
    scene.builder.build()
}

pub(super) fn stack(boxes: usize) -> Result<Problem, BuildError> {
    boxes_on_boxes(boxes, 1.0)
}

pub(super) fn heavy_stack(boxes: usize) -> Result<Problem, BuildError> {
    boxes_on_boxes(boxes, 100.0)
}

fn boxes_on_boxes(boxes: usize, top: f64) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let half = DVec3::splat(0.5);
    let mut below = None;
    for i in 0..boxes {
        let mass = if i + 1 == boxes { top } else { 1.0 };
        let centre = DVec3::Z * (i as f64 + 0.5);
        let push = (DVec3::X * 0.2 * mass, DVec3::ZERO);
        let body = scene.body(cuboid(mass, half), centre, REST, push)?;
        for (x, y) in [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)] {
            scene.contact((body, below), DVec3::new(x, y, i as f64), DVec3::Z, 0.5)?;
        }
        below = Some(body);
    }
    scene.builder.build()
}

pub(super) fn pile(contacts: usize) -> Result<Problem, BuildError> {
    // Spheres on a sheared cubic lattice: each touches the one below (or the ground) and, in x and y, its
    // predecessor; about three contacts a sphere. Masses and speeds vary by a fixed seed.
    let side = ((contacts as f64 / 3.0).cbrt().ceil() as usize).max(1);
    let mut random = Random::new(2013);
    let mut scene = Scene::default();
    let mut made = 0;
    let radius = 0.1;
    let tilt = [
        DVec3::new(1.0, 0.0, 0.0),
        DVec3::new(0.2, 1.0, 0.0),
        DVec3::new(0.1, 0.2, 1.0),
    ];
    let axes = tilt.map(|axis| axis.normalize() * 2.0 * radius);
    'all: for k in 0.. {
        for (i, j) in (0..side).flat_map(|j| (0..side).map(move |i| (i, j))) {
            if contacts <= made {
                break 'all;
            }
            let centre = axes[0] * i as f64 + axes[1] * j as f64 + axes[2] * k as f64;
            let speed = (random.vector() * 0.05, random.vector());
            let body = scene.body(ball(random.range(0.5, 2.0), radius), centre, speed, REST)?;
            for (axis, (at, stride)) in [(k, side * side), (i, 1), (j, side)].iter().enumerate() {
                let n = [axes[2], axes[0], axes[1]][axis].normalize();
                if contacts <= made || (*at == 0 && axis != 0) {
                    continue;
                }
                let neighbour = (*at != 0).then(|| MassId(body.0 - *stride as u32));
                let normal = if neighbour.is_some() { n } else { DVec3::Z };
                scene.contact((body, neighbour), centre - normal * radius, normal, 0.3)?;
                made += 1;
            }
        }
    }
    scene.builder.build()
}

pub(super) fn chain(beads: usize) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let mut random = Random::new(40);
    let radius = 0.05;
    let (mut joint, mut previous) = (DVec3::ZERO, None);
    for _ in 0..beads {
        let axis = (DVec3::X + 0.5 * random.vector()).normalize();
        let speed = (random.vector() * 0.2, random.vector());
        let body = scene.body(ball(1.0, radius), joint + axis * radius, speed, REST)?;
        scene.rows(
            Law::Equality,
            (body, previous),
            (joint, DVec3::AXES),
            [0.0; 3],
        )?;
        joint += axis * (2.0 * radius);
        previous = Some(body);
    }
    scene.builder.build()
}

pub(super) fn machine(_: usize) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    wheels(&mut scene)?;
    roller(&mut scene)?;
    sliders(&mut scene)?;
    scene.builder.build()
}

/// Three wheels on pins: a differential, a motor, dry friction and a limit.
fn wheels(scene: &mut Scene) -> Result<(), BuildError> {
    let mut wheels = Vec::new();
    for i in 0..3 {
        let centre = DVec3::new(i as f64, 0.0, 1.0);
        let spin = (DVec3::ZERO, DVec3::Y * (1.0 + i as f64));
        let id = scene.body(ball(1.0, 0.3), centre, spin, REST)?;
        // Each wheel turns about a pin along y: three rows for the point, two for the axis.
        scene.rows(Law::Equality, (id, None), (centre, DVec3::AXES), [0.0; 3])?;
        for axis in [DVec3::X, DVec3::Z] {
            scene.scalar(Law::Equality, &[(id, angular(axis, 1.0))], 0.0, 0.0)?;
        }
        wheels.push(id);
    }
    // A differential: ω₀ + ω₁ − 2ω₂ = 0, one row on three bodies.
    let gear = [(wheels[0], 1.0), (wheels[1], 1.0), (wheels[2], -2.0)];
    let gear = gear.map(|(id, ratio)| (id, angular(DVec3::Y, ratio)));
    scene.scalar(Law::Equality, &gear, 0.0, 0.0)?;
    // A velocity motor with limited torque, dry friction in a bearing, and a limit about to be hit.
    let motor = Law::Interval {
        lo: -0.02,
        hi: 0.02,
    };
    scene.scalar(motor, &[(wheels[0], angular(DVec3::Y, 1.0))], 0.0, 4.0)?;
    let bearing = Law::Interval {
        lo: -0.001,
        hi: 0.001,
    };
    scene.scalar(bearing, &[(wheels[1], angular(DVec3::Y, 1.0))], 0.0, 0.0)?;
    scene.scalar(
        Law::Unilateral,
        &[(wheels[2], angular(DVec3::Y, -1.0))],
        1e-4,
        -1.0,
    )
}

/// Velocity and spin of what slides or rolls.
const START: (DVec3, DVec3) = (DVec3::X, DVec3::ZERO);

/// A ball that rolls on a belt moving at 0.5 m/s: nonholonomic rows with a prescribed velocity.
fn roller(scene: &mut Scene) -> Result<(), BuildError> {
    let roller = scene.body(ball(2.0, 0.2), DVec3::new(0.0, 3.0, 0.2), START, REST)?;
    let arm = DVec3::Z * -0.2;
    let rows = [
        (Law::Unilateral, DVec3::Z, 0.0),
        (Law::Equality, DVec3::X, 0.5),
        (Law::Equality, DVec3::Y, 0.0),
    ];
    for (law, axis, belt) in rows {
        let point = Point {
            directions: &[axis],
            first: Some((roller, arm)),
            second: None,
        };
        scene.builder.add_point(law, &point, &[0.0], &[belt])?;
    }
    Ok(())
}

/// A skate: friction across its blade, hardly any along it; and a box law for comparison.
fn sliders(scene: &mut Scene) -> Result<(), BuildError> {
    let skate = scene.body(
        cuboid(3.0, DVec3::new(0.2, 0.05, 0.05)),
        DVec3::Y * 5.0,
        START,
        REST,
    )?;
    let foot = DVec3::new(0.0, 5.0, -0.05);
    let frame = (foot, [DVec3::Z, DVec3::X, DVec3::Y]);
    scene.rows(
        Law::EllipticCone { mu: [0.02, 0.8] },
        (skate, None),
        frame,
        [0.0; 3],
    )?;
    let brick = scene.body(cuboid(3.0, DVec3::splat(0.1)), DVec3::Y * 7.0, START, REST)?;
    let frame = (DVec3::new(0.0, 7.0, -0.1), [DVec3::Z, DVec3::X, DVec3::Y]);
    scene.rows(Law::FrictionBox { mu: 0.5 }, (brick, None), frame, [0.0; 3])
}
