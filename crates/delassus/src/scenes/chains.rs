//! Chains: many joints in a row, with and without contacts.

use glam::{DQuat, DVec3};

use super::{Made, Stage, at, run};
use crate::collide::{Groups, Shape};
use crate::index::BodyId;
use crate::world::{Body, Drive, Joint, JointAxis, JointKind, WorldError};

/// Radius of a bead \[m\].
const BEAD: f64 = 0.05;

/// Beads of 5 cm and 1 kg that touch, held half-way between their centres; the first hangs by its outer pole.
pub(super) fn necklace(beads: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.3, 0.0)?;
    string(&mut stage, "", (DVec3::ZERO, DVec3::X), beads)?;
    Ok((stage, run((0.002, 3.0), 1e-6, 4000)))
}

/// Many of them, 25 cm apart, each turned by the golden ratio of a circle against the last. They pass through each
/// other and themselves: joints are all there is.
pub(super) fn necklaces(chains: usize, beads: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.3, 0.0)?;
    stage.attach.groups = Groups { member: 0, with: 0 };
    let side = (chains as f64).sqrt().ceil() as usize;
    let middle = 0.5 * (side as f64 - 1.0);
    for i in 0..chains {
        let angle = i as f64 * 0.618_034 * std::f64::consts::TAU;
        let direction = DVec3::new(angle.cos(), angle.sin(), 0.0);
        let place = |n: usize| 0.25 * (n as f64 - middle);
        let anchor = DVec3::new(place(i % side), place(i / side), 0.0);
        string(
            &mut stage,
            &format!("chain-{i:06}-"),
            (anchor, direction),
            beads,
        )?;
    }
    stage.builder.settings.substeps = 4;
    Ok((stage, run((1.0 / 60.0, 2.0), 1e-6, 10)))
}

/// Touching beads in a line from a fixed point.
fn string(
    stage: &mut Stage,
    prefix: &str,
    (anchor, direction): (DVec3, DVec3),
    beads: usize,
) -> Result<(), WorldError> {
    let mut last: Option<BodyId> = None;
    for i in 0..beads {
        let centre = anchor + direction * (BEAD * (2 * i + 1) as f64);
        let shape = Shape::Sphere { radius: BEAD };
        let density = 1.0 / (4.0 / 3.0 * std::f64::consts::PI * BEAD.powi(3));
        let bead = at(format!("{prefix}bead-{i:06}"), centre);
        let bead = stage.solid(shape, density, bead)?;
        let pole = centre - direction * BEAD;
        let name = format!("{prefix}joint-{i:06}");
        let axis = JointAxis::new(pole, DVec3::Z);
        stage.joint(name, [Some(bead), last], axis, JointKind::Ball)?;
        last = Some(bead);
    }
    Ok(())
}

/// Balls on two rods each, the first one lifted by 40°. They hang 2 mm apart, more than a ball moves in a step, so
/// that blows run through the row one after the other.
pub(super) fn newton_cradle(balls: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.0, 1.0)?;
    stage.builder.settings.restitution_threshold = 0.01;
    let (radius, gap, height, width) = (0.05, 0.002, 0.5, 0.2);
    for i in 0..balls {
        let x = i as f64 * (2.0 * radius + gap);
        let hook = DVec3::new(x, 0.0, height);
        let lift = if i == 0 { 40_f64.to_radians() } else { 0.0 };
        let centre = hook + DQuat::from_rotation_y(lift) * (DVec3::NEG_Z * height);
        let shape = Shape::Sphere { radius };
        let ball = stage.solid(shape, 7800.0, at(format!("ball-{i:06}"), centre))?;
        for (side, y) in [("left", -width), ("right", width)] {
            let end = hook + DVec3::Y * y;
            let name = format!("rod-{i:06}-{side}");
            rod(&mut stage, name, ball, end)?;
        }
    }
    Ok((stage, run((0.001, 5.0), 1e-9, 1000)))
}

/// Keeps the centre of a body at its distance from a point of the world.
fn rod(stage: &mut Stage, name: String, body: BodyId, end: DVec3) -> Result<(), WorldError> {
    let bodies = stage.builder.bodies();
    let centre = bodies.position[body.index()];
    let length = (centre - end).length();
    let kind = JointKind::Distance {
        least: length,
        greatest: length,
    };
    let along = |point| JointAxis::new(point, DVec3::Z);
    let place = |point| Joint::at(bodies, [Some(body), None], along(point), kind.clone());
    let (near, far) = (place(centre), place(end));
    let frames = [near.frames[0], far.frames[1]];
    let joint = Joint {
        name,
        frames,
        ..near
    };
    stage.builder.add_joint(joint)?;
    Ok(())
}

/// A ball of a tonne on eight links swings down into a wall of boxes.
pub(super) fn wrecking_ball(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.5, 0.0)?;
    stage.ground()?;
    let hook = DVec3::new(0.0, 0.0, 7.0);
    // Lifted by 60° away from the wall, which stands where the ball passes its lowest point.
    let turn = DQuat::from_rotation_y(60_f64.to_radians());
    let down = turn * DVec3::NEG_Z;
    let (links, half, thick) = (8, 0.3, 0.08);
    let mut last: Option<BodyId> = None;
    for i in 0..links {
        let start = hook + down * (2.0 * half * f64::from(i));
        let shape = Shape::Capsule {
            half_length: half - thick,
            radius: thick,
        };
        let link = Body {
            orientation: turn,
            ..at(format!("link-{i:03}"), start + down * half)
        };
        let link = stage.solid(shape, 3000.0, link)?;
        let name = format!("chain-{i:03}");
        let axis = JointAxis::new(start, DVec3::Z);
        stage.joint(name, [Some(link), last], axis, JointKind::Ball)?;
        last = Some(link);
    }
    let (radius, end) = (0.5, hook + down * (2.0 * half * f64::from(links)));
    let ball = at("ball".to_owned(), end + down * radius);
    let ball = stage.solid(Shape::Sphere { radius }, 2000.0, ball)?;
    let name = format!("chain-{links:03}");
    let axis = JointAxis::new(end, DVec3::Z);
    stage.joint(name, [Some(ball), last], axis, JointKind::Ball)?;
    wall(&mut stage, 0.5 + radius)?;
    // The blow and some pairs of falling bricks take thousands of sweeps, the other steps hundreds.
    Ok((stage, run((0.005, 4.0), 1e-3, 5000)))
}

/// Boxes in a running bond across y, in front of a given x.
fn wall(stage: &mut Stage, front: f64) -> Result<(), WorldError> {
    let half = DVec3::new(0.25, 0.5, 0.25);
    for row in 0..8 {
        let shift = if row % 2 == 0 { 0.0 } else { half.y };
        for column in 0..5 {
            let y = 2.0 * half.y * (f64::from(column) - 2.25) + shift;
            let centre = DVec3::new(front + half.x, y, half.z * f64::from(2 * row + 1));
            let shape = Shape::Box {
                half: half.to_array(),
            };
            let name = format!("brick-{row:02}-{column:02}");
            stage.solid(shape, 1000.0, at(name, centre))?;
        }
    }
    Ok(())
}

/// Planks on hinges along an arc between two fixed ends; a crate of 100 kg lands in the middle.
pub(super) fn bridge(planks: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.6, 0.0)?;
    let length = 0.5;
    // Joints lie on a circle that the bridge covers by 60°: a sag of about an eighth of the span.
    let angle = 60_f64.to_radians();
    let step = angle / planks as f64;
    let circle = 0.5 * length / (0.5 * step).sin();
    let knot = |i: usize| {
        let at = step * i as f64 - 0.5 * angle;
        circle * DVec3::new(at.sin(), 0.0, (0.5 * angle).cos() - at.cos())
    };
    let half = DVec3::new(0.45 * length, 0.6, 0.03);
    // Ropes rub: without it the bridge would swing for ever.
    let stiff = JointKind::Hinge(Drive {
        friction: 10.0,
        ..Drive::default()
    });
    let mut last: Option<BodyId> = None;
    for i in 0..planks {
        let (start, end) = (knot(i), knot(i + 1));
        let plank = Body {
            orientation: DQuat::from_rotation_arc(DVec3::X, (end - start) / length),
            ..at(format!("plank-{i:06}"), 0.5 * (start + end))
        };
        let shape = Shape::Box {
            half: half.to_array(),
        };
        let plank = stage.solid(shape, 600.0, plank)?;
        let name = format!("hinge-{i:06}");
        let axis = JointAxis::new(start, DVec3::Y);
        stage.joint(name, [Some(plank), last], axis, stiff.clone())?;
        last = Some(plank);
    }
    let name = format!("hinge-{planks:06}");
    let axis = JointAxis::new(knot(planks), DVec3::Y);
    stage.joint(name, [last, None], axis, stiff)?;
    let lowest = circle * ((0.5 * angle).cos() - 1.0);
    let edge = 0.25;
    let load = at("load".to_owned(), DVec3::Z * (lowest + half.z + edge + 0.1));
    stage.solid(Shape::Box { half: [edge; 3] }, 800.0, load)?;
    Ok((stage, run((0.005, 5.0), 1e-5, 3000)))
}
