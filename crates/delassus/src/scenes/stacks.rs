//! Stacks and piles: load carried through many contacts.

use std::f64::consts::TAU;

use glam::{DQuat, DVec3};

use super::{Made, Stage, at, run, swept};
use crate::collide::Shape;
use crate::math::Random;
use crate::world::{Body, WorldError};

/// Density of everything here \[kg/m³\].
const DENSITY: f64 = 1000.0;

/// Boxes of 1 m on each other. With a few sweeps a step they drift apart slowly; solved to this tolerance they stand
/// still.
pub(super) fn stack(n: usize) -> Result<Made, WorldError> {
    tower(n, 1.0)
}

/// The same with a top 100 times as heavy: the hard case for sweeps, which need tens of thousands.
pub(super) fn heavy_stack(n: usize) -> Result<Made, WorldError> {
    tower(n, 100.0)
}

fn tower(n: usize, top: f64) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.5, 0.0)?;
    stage.ground()?;
    for i in 0..n {
        let density = if i + 1 == n { DENSITY * top } else { DENSITY };
        let centre = DVec3::Z * (0.5 + i as f64);
        let shape = Shape::Box { half: [0.5; 3] };
        stage.solid(shape, density, at(format!("box-{i:06}"), centre))?;
    }
    Ok((stage, run((0.01, 10.0), 1e-7, 20_000)))
}

/// Radius of a ball of the pile \[m\].
const RADIUS: f64 = 0.1;
/// Distance of grid points and the largest move away from one \[m\]: no two balls touch at the start.
const SPACING: f64 = 0.22;
const JITTER: f64 = 0.009;

/// Balls above a square container of five planes, on a jittered grid. To solve every step of a pile takes hundreds of
/// sweeps; a few that are spent on small steps bring it to rest.
pub(super) fn pile(n: usize) -> Result<Made, WorldError> {
    let half = container(n, 1.0, 2.0);
    let mut random = Random::new(7);
    let shape = Shape::Sphere { radius: RADIUS };
    let mut stage = open_box(half)?;
    for (i, centre) in (0..n).zip(grid(half, RADIUS, SPACING)) {
        let centre = centre + JITTER * random.vector();
        stage.solid(shape.clone(), DENSITY, at(format!("ball-{i:06}"), centre))?;
    }
    Ok((stage, swept((0.01, 3.0), 8)))
}

/// Largest distance of a corner of the rubble from its centre \[m\], and distance of its grid points.
const REACH: f64 = 0.15;
const APART: f64 = 0.32;

/// Boxes, capsules, cylinders and hulls, turned every way, above the same container.
pub(super) fn rubble(n: usize) -> Result<Made, WorldError> {
    let half = container(n, 1.5, 3.0);
    let mut random = Random::new(11);
    let mut stage = open_box(half)?;
    let shapes = [
        Shape::Box {
            half: [0.11, 0.08, 0.06],
        },
        Shape::Capsule {
            half_length: 0.07,
            radius: 0.07,
        },
        Shape::Cylinder {
            half_length: 0.08,
            radius: 0.09,
        },
        stone(),
    ];
    for (i, centre) in (0..n).zip(grid(half, REACH, APART)) {
        let body = at(format!("stone-{i:06}"), centre + JITTER * random.vector());
        let orientation = turned(&mut random);
        let shape = shapes[i % shapes.len()].clone();
        stage.solid(
            shape,
            DENSITY,
            Body {
                orientation,
                ..body
            },
        )?;
    }
    Ok((stage, swept((0.01, 3.0), 8)))
}

/// A broken stone: a box that has lost two corners.
fn stone() -> Shape {
    let points = vec![
        [-0.09, -0.07, -0.06],
        [0.09, -0.07, -0.06],
        [0.09, 0.07, -0.06],
        [-0.09, 0.07, -0.06],
        [-0.09, -0.07, 0.06],
        [0.04, -0.07, 0.06],
        [0.09, -0.02, 0.02],
        [0.09, 0.07, 0.03],
        [-0.03, 0.07, 0.06],
        [-0.09, 0.02, 0.06],
    ];
    Shape::Hull { points }
}

/// Half of the width of a container: the first up to 2000 bodies, and beyond so that 10 000 fill the second as high.
fn container(n: usize, few: f64, many: f64) -> f64 {
    match n <= 2000 {
        true => few,
        false => many * (n as f64 / 10_000.0).sqrt(),
    }
}

/// The ground and four walls.
fn open_box(half: f64) -> Result<Stage, WorldError> {
    let mut stage = Stage::new(0.3, 0.0)?;
    stage.ground()?;
    let walls = [
        ("wall-east", DVec3::X),
        ("wall-north", DVec3::Y),
        ("wall-south", DVec3::NEG_Y),
        ("wall-west", DVec3::NEG_X),
    ];
    for (name, outward) in walls {
        stage.plane(name, outward * half, -outward)?;
    }
    Ok(stage)
}

/// Points between the walls, layer upon layer, for bodies that reach so far.
fn grid(half: f64, reach: f64, spacing: f64) -> impl Iterator<Item = DVec3> {
    let gaps = ((2.0 * (half - reach - JITTER)) / spacing).floor();
    let side = gaps as usize + 1;
    (0..).map(move |i| {
        let cell = DVec3::new(
            (i % side) as f64 - 0.5 * gaps,
            (i / side % side) as f64 - 0.5 * gaps,
            (i / (side * side)) as f64,
        );
        spacing * cell + DVec3::Z * (0.5 * spacing)
    })
}

/// A random orientation.
fn turned(random: &mut Random) -> DQuat {
    let (axis, angle) = (random.vector(), random.range(0.0, TAU));
    match axis.try_normalize() {
        Some(axis) => DQuat::from_axis_angle(axis, angle),
        None => DQuat::IDENTITY,
    }
}
