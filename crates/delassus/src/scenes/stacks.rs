//! Stacks and piles: load carried through many contacts.

use glam::DVec3;

use super::{Made, Stage, at, run};
use crate::collide::Shape;
use crate::math::Random;
use crate::world::WorldError;

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

/// Balls above a square container of five planes, on a jittered grid. A pile needs hundreds of sweeps a step to settle
/// to the last millimetre per second, and looks the same with this many.
pub(super) fn pile(n: usize) -> Result<Made, WorldError> {
    let half = if n <= 2000 {
        1.0
    } else {
        2.0 * (n as f64 / 10_000.0).sqrt()
    };
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
    let gaps = ((2.0 * (half - RADIUS - JITTER)) / SPACING).floor();
    let side = gaps as usize + 1;
    let mut random = Random::new(7);
    for i in 0..n {
        let cell = DVec3::new(
            (i % side) as f64 - 0.5 * gaps,
            (i / side % side) as f64 - 0.5 * gaps,
            (i / (side * side)) as f64,
        );
        let centre = SPACING * cell + DVec3::Z * (0.5 * SPACING) + JITTER * random.vector();
        let shape = Shape::Sphere { radius: RADIUS };
        stage.solid(shape, DENSITY, at(format!("ball-{i:06}"), centre))?;
    }
    Ok((stage, run((0.01, 3.0), 0.0, 20)))
}
