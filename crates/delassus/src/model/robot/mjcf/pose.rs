//! Where things are: positions, the five ways to write an orientation, and the units of angles.

use glam::{DMat3, DQuat, DVec3};

use super::super::ImportError;
use super::compiler::Compiler;
use super::element::{Element, View};
use crate::tree::spatial::Pose;

/// Attributes that give an orientation.
pub(super) const ORIENTATIONS: [&str; 5] = ["quat", "axisangle", "euler", "xyaxes", "zaxis"];

/// `pos` and the orientation.
pub(super) fn pose(view: &View<'_>, compiler: &Compiler) -> Result<Pose, ImportError> {
    let position = view.vector("pos", DVec3::ZERO)?;
    Ok(Pose::new(position, orientation(view, compiler)?))
}

/// The orientation that the nearest level gives, in whatever way.
pub(super) fn orientation(view: &View<'_>, compiler: &Compiler) -> Result<DQuat, ImportError> {
    for level in view.levels() {
        let mut given = ORIENTATIONS
            .iter()
            .filter(|name| level.attribute(name).is_some());
        let Some(first) = given.next() else {
            continue;
        };
        if let Some(second) = given.next() {
            let what = format!("{first} and {second} both give an orientation; leave one");
            return Err(level.fault(what));
        }
        return turn(level, first, compiler);
    }
    Ok(DQuat::IDENTITY)
}

/// Exactly N numbers, which must be there.
fn given<const N: usize>(element: &Element, name: &str) -> Result<[f64; N], ImportError> {
    let numbers = element.exactly(name)?;
    numbers.ok_or_else(|| element.fault(format!("attribute {name} is missing")))
}

/// One orientation as it is written.
fn turn(element: &Element, name: &str, compiler: &Compiler) -> Result<DQuat, ImportError> {
    let none = || element.fault(format!("{name} has no direction"));
    match name {
        "quat" => {
            let [w, x, y, z] = given(element, name)?;
            unit(DQuat::from_xyzw(x, y, z, w)).ok_or_else(none)
        }
        "axisangle" => {
            let [x, y, z, angle] = given(element, name)?;
            let axis = DVec3::new(x, y, z).try_normalize().ok_or_else(none)?;
            Ok(DQuat::from_axis_angle(axis, compiler.radians(angle)))
        }
        "euler" => {
            let angles: [f64; 3] = given(element, name)?;
            Ok(euler(angles, compiler))
        }
        "xyaxes" => {
            let [a, b, c, d, e, f] = given(element, name)?;
            let x = DVec3::new(a, b, c).try_normalize().ok_or_else(none)?;
            let y = DVec3::new(d, e, f);
            // y is made orthogonal to x, and z = x × y.
            let y = (y - x * x.dot(y)).try_normalize().ok_or_else(none)?;
            let frame = DMat3::from_cols(x, y, x.cross(y));
            Ok(DQuat::from_mat3(&frame).normalize())
        }
        _ => {
            let z: [f64; 3] = given(element, name)?;
            let z = DVec3::from(z).try_normalize().ok_or_else(none)?;
            Ok(from_z(z))
        }
    }
}

/// Three turns, in the units and the order of the compiler.
pub(super) fn euler(angles: [f64; 3], compiler: &Compiler) -> DQuat {
    let mut all = DQuat::IDENTITY;
    for (letter, angle) in compiler.euler.iter().zip(angles) {
        let angle = compiler.radians(angle);
        let one = match letter.to_ascii_lowercase() {
            b'x' => DQuat::from_rotation_x(angle),
            b'y' => DQuat::from_rotation_y(angle),
            _ => DQuat::from_rotation_z(angle),
        };
        // Small letters turn with the frame, capitals about fixed axes.
        all = if letter.is_ascii_lowercase() {
            all * one
        } else {
            one * all
        };
    }
    all
}

/// The least turn that takes z to a direction.
pub(super) fn from_z(z: DVec3) -> DQuat {
    let across = DVec3::Z.cross(z);
    match across.try_normalize() {
        Some(axis) => DQuat::from_axis_angle(axis, across.length().atan2(z.z)),
        None if z.z < 0.0 => DQuat::from_rotation_x(std::f64::consts::PI),
        None => DQuat::IDENTITY,
    }
}

/// A quaternion of length one, if it has a direction.
pub(super) fn unit(quat: DQuat) -> Option<DQuat> {
    let length = quat.length();
    (1e-14 < length && length.is_finite()).then(|| quat * (1.0 / length))
}
