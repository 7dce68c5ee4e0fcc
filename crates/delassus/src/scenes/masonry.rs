//! What stands, or falls, by weight and friction alone.

use std::f64::consts::PI;

use glam::{DQuat, DVec3};

use super::{Made, Stage, at, run};
use crate::collide::Shape;
use crate::world::{Attach, Body, WorldError};

/// A half circle of wedges between radii 1.8 m and 2.3 m on two fixed blocks; neighbours share their corners.
pub(super) fn arch(voussoirs: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.6, 0.0)?;
    stage.ground()?;
    let (inner, outer, depth, foot) = (1.8, 2.3, 0.3, 0.5);
    let block = Shape::Box {
        half: [0.4, 0.5, 0.5 * foot],
    };
    for (name, x) in [("abutment-east", 1.0), ("abutment-west", -1.0)] {
        let centre = DVec3::new(x * 0.5 * (inner + outer), 0.0, 0.5 * foot);
        stage.fixture(block.clone(), name, centre)?;
    }
    for i in 0..voussoirs {
        let mut points = Vec::with_capacity(8);
        for joint in [i, i + 1] {
            // The feet are level to the last bit; sin π would not be.
            let angle = PI * joint as f64 / voussoirs as f64;
            let up = if joint % voussoirs == 0 {
                0.0
            } else {
                angle.sin()
            };
            for radius in [inner, outer] {
                for y in [-depth, depth] {
                    points.push([radius * angle.cos(), y, foot + radius * up]);
                }
            }
        }
        wedge(&mut stage, format!("voussoir-{i:03}"), points)?;
    }
    Ok((stage, run((0.01, 5.0), 1e-7, 20_000)))
}

/// A hull given in world coordinates, as a body at its centre of mass.
fn wedge(stage: &mut Stage, name: String, points: Vec<[f64; 3]>) -> Result<(), WorldError> {
    let shape = Shape::Hull { points };
    let Some(own) = shape.mass_properties(2000.0) else {
        let what = "its corners span no volume; take fewer wedges".to_owned();
        return Err(WorldError::Body { name, what });
    };
    let body = Body {
        mass: own.mass,
        inertia: own.inertia,
        ..at(name, own.com)
    };
    let id = stage.builder.add_body(body)?;
    let attach = Attach {
        position: -own.com,
        ..stage.attach
    };
    stage.builder.add_collider(id, shape, attach)
}

/// Length, width and thickness of a card \[m\], and its lean from upright.
const CARD: DVec3 = DVec3::new(0.09, 0.06, 0.002);
const LEAN: f64 = 20.0 * PI / 180.0;

/// Pairs of cards lean on each other; each floor is one long card over all the tops below it.
pub(super) fn card_house(storeys: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.6, 0.0)?;
    stage.ground()?;
    let (length, width, thick) = (CARD.x, CARD.y, CARD.z);
    let (sine, cosine) = LEAN.sin_cos();
    // Centre of a card: the lowest corner touches the floor, the upper inner edge the middle of its pair.
    let rise = 0.5 * (length * cosine + thick * sine);
    let aside = 0.5 * (length * sine + thick * cosine);
    let spacing = 4.0 * aside + 0.002;
    let mut floor = 0.0;
    for storey in 0..storeys {
        let pairs = storeys - storey;
        let first = -0.5 * spacing * (pairs - 1) as f64;
        for pair in 0..pairs {
            let middle = first + spacing * pair as f64;
            for (side, sign) in [("left", 1.0), ("right", -1.0)] {
                let card = Body {
                    orientation: DQuat::from_rotation_y(sign * LEAN),
                    ..at(
                        format!("card-{storey:02}-{pair:02}-{side}"),
                        DVec3::new(middle - sign * aside, 0.0, floor + rise),
                    )
                };
                let half = [0.5 * thick, 0.5 * width, 0.5 * length];
                stage.solid(Shape::Box { half }, 800.0, card)?;
            }
        }
        floor += 2.0 * rise;
        if 1 < pairs {
            let half = [
                0.5 * spacing * (pairs - 1) as f64 + 0.01,
                0.5 * width,
                0.5 * thick,
            ];
            let centre = DVec3::Z * (floor + half[2]);
            let name = format!("floor-{storey:02}");
            stage.solid(Shape::Box { half }, 800.0, at(name, centre))?;
            floor += thick;
        }
    }
    Ok((stage, run((0.002, 2.0), 1e-7, 10_000)))
}

/// Dominoes 10 cm high every 5 cm; the first tips about its lower front edge, fast enough to fall.
pub(super) fn dominoes(n: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.4, 0.0)?;
    stage.ground()?;
    let half = DVec3::new(0.0075, 0.025, 0.05);
    for i in 0..n {
        let centre = DVec3::new(0.05 * i as f64, 0.0, half.z);
        let mut domino = at(format!("domino-{i:06}"), centre);
        if i == 0 {
            domino.spin = DVec3::Y * 3.0;
            domino.velocity = domino.spin.cross(DVec3::new(-half.x, 0.0, half.z));
        }
        let shape = Shape::Box {
            half: half.to_array(),
        };
        stage.solid(shape, 1200.0, domino)?;
    }
    let time = 1.0 + 0.06 * n as f64;
    Ok((stage, run((0.002, time), 1e-5, 2000)))
}
