//! One body or mechanism each, whose motion can be written down.

use std::f64::consts::TAU;

use glam::{DQuat, DVec3};

use super::{Made, Stage, at, run};
use crate::collide::Shape;
use crate::math::MassProperties;
use crate::world::{Body, Drive, JointAxis, JointKind, Motor, WorldError};

/// A block on a slope of 20°, μ = 0.5: it sticks, since tan 20° = 0.364.
pub(super) fn incline(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.5, 0.0)?;
    let turn = DQuat::from_rotation_y(20_f64.to_radians());
    stage.plane("slope", DVec3::ZERO, turn * DVec3::Z)?;
    let half = [0.5, 0.3, 0.2];
    let block = Body {
        orientation: turn,
        ..at("block".to_owned(), turn * DVec3::new(0.0, 0.0, half[2]))
    };
    stage.solid(Shape::Box { half }, 1000.0, block)?;
    Ok((stage, run((0.01, 3.0), 1e-9, 5000)))
}

/// A ball thrown without spin, μ = 0.2: it slides for 2v/(7μg) = 0.44 s and then rolls at 5/7 of its speed.
pub(super) fn rolling_ball(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.2, 0.0)?;
    stage.ground()?;
    let radius = 0.1;
    let ball = Body {
        velocity: DVec3::X * 3.0,
        ..at("ball".to_owned(), DVec3::Z * radius)
    };
    stage.solid(Shape::Sphere { radius }, 1000.0, ball)?;
    Ok((stage, run((0.005, 2.0), 1e-10, 1000)))
}

/// A disc 5 cm above its tip, tilted by 20°, at 200 rad/s, started in the slow steady precession Ω of
/// I₁Ω² cos θ − I₃ω₃Ω + mgl = 0, with I₁ about the tip.
pub(super) fn spinning_top(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.5, 0.0)?;
    let (tilt, spin, height) = (20_f64.to_radians(), 200.0, 0.05);
    let shape = Shape::Cylinder {
        half_length: 0.01,
        radius: 0.05,
    };
    let density = 2000.0;
    let turn = DQuat::from_rotation_y(tilt);
    let axis = turn * DVec3::Z;
    let MassProperties { mass, inertia, .. } = shape
        .mass_properties(density)
        .expect("a cylinder has a mass");
    let across = inertia.x_axis.x + mass * height * height;
    let (a, b) = (across * tilt.cos(), inertia.z_axis.z * spin);
    let weight = mass * 9.81 * height;
    let precession = 2.0 * weight / (b + (b * b - 4.0 * a * weight).sqrt());
    let omega = axis * (spin - precession * tilt.cos()) + DVec3::Z * precession;
    let top = Body {
        orientation: turn,
        spin: omega,
        velocity: omega.cross(axis * height),
        ..at("top".to_owned(), axis * height)
    };
    let top = stage.solid(shape, density, top)?;
    let tip = JointAxis::new(DVec3::ZERO, DVec3::Z);
    stage.joint("tip".to_owned(), [Some(top), None], tip, JointKind::Ball)?;
    Ok((stage, run((0.0005, 3.0), 1e-10, 1000)))
}

/// A crank of 0.2 m turns once a second and drives a piston along x through a rod of 0.6 m.
pub(super) fn slider_crank(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.3, 0.0)?;
    let (crank, rod) = (0.2, 0.6);
    let bar = |length: f64| Shape::Box {
        half: [0.5 * length, 0.02, 0.02],
    };
    // The crank points up at the start, so that no joint is in a dead centre.
    let pin = DVec3::Z * crank;
    let wrist = DVec3::X * f64::sqrt(rod * rod - crank * crank);
    let up = DQuat::from_rotation_y(-0.25 * TAU);
    let lean = DQuat::from_rotation_arc(DVec3::X, (wrist - pin) / rod);
    let turned = |name: &str, position: DVec3, orientation: DQuat| Body {
        orientation,
        ..at(name.to_owned(), position)
    };
    let density = 2000.0;
    let crank_id = stage.solid(bar(crank), density, turned("crank", 0.5 * pin, up))?;
    let rod_id = stage.solid(bar(rod), density, turned("rod", 0.5 * (pin + wrist), lean))?;
    let piston = Shape::Box {
        half: [0.08, 0.06, 0.06],
    };
    let piston_id = stage.solid(piston, density, at("piston".to_owned(), wrist))?;
    let motor = Drive {
        motor: Some(Motor {
            speed: TAU,
            max_force: 100.0,
        }),
        ..Drive::default()
    };
    let free = Drive::default();
    let (a, b, c) = (Some(crank_id), Some(rod_id), Some(piston_id));
    let joints = [
        (
            "bearing",
            [a, None],
            DVec3::ZERO,
            DVec3::Y,
            JointKind::Hinge(motor),
        ),
        ("crank-pin", [b, a], pin, DVec3::Y, JointKind::Hinge(free)),
        ("wrist-pin", [b, c], wrist, DVec3::Y, JointKind::Hinge(free)),
        ("guide", [c, None], wrist, DVec3::X, JointKind::Slider(free)),
    ];
    for (name, links, point, axis, kind) in joints {
        stage.joint(name.to_owned(), links, JointAxis::new(point, axis), kind)?;
    }
    Ok((stage, run((0.005, 3.0), 1e-8, 5000)))
}
