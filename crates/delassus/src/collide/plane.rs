//! Convex solids over a half-space: every corner within reach of the plane is a contact.

use crate::math::DVec3;

use super::clip::corner_id;
use super::reduce::Raw;
use super::solid::{Core, Placed, PoseMatrix};

/// Sine of the tilt below which a cylinder lies on its side, and only its lowest line counts.
const LYING: f64 = 0.1;

/// All contacts of a solid with the half-space below the plane z = 0 of `plane`.
pub(crate) fn contacts(a: Placed, plane: &PoseMatrix, prediction: f64, out: &mut Vec<Raw>) {
    let normal = plane.axes.z_axis;
    let radius = a.solid.radius;
    let mut offer = |local: DVec3, label: u32| {
        let core = a.frame.out(local);
        // g = n · (x − x_plane) − r for a core point x with the rounding radius r.
        let gap = normal.dot(core - plane.at()) - radius;
        if gap <= prediction {
            let on_a = core - normal * radius;
            out.push(Raw {
                a: on_a,
                b: on_a - normal * gap,
                normal,
                gap,
                id: corner_id(label),
            });
        }
    };
    match a.core() {
        Core::Point => offer(DVec3::ZERO, 0),
        Core::Segment(half) => {
            offer(DVec3::new(0.0, 0.0, -half), 0);
            offer(DVec3::new(0.0, 0.0, *half), 1);
        }
        Core::Block(half) => {
            for label in 0..8_u32 {
                let sign = |k: u32| if label >> k & 1 == 1 { 1.0 } else { -1.0 };
                offer(DVec3::new(sign(0), sign(1), sign(2)) * *half, label);
            }
        }
        Core::Hull(hull) => {
            for (label, &corner) in hull.corners.iter().enumerate() {
                offer(corner, label as u32);
            }
        }
        Core::Cylinder { half, radius } => {
            cylinder((*half, *radius), a.frame.turn_in(normal), &mut offer);
        }
        Core::Triangle(..) => {}
    }
}

/// Rim points of a cylinder over a plane whose normal is `up` in its frame: the lowest point of each end, and four
/// fixed ones of the lower end, which hold it when it stands.
fn cylinder((half, radius): (f64, f64), up: DVec3, offer: &mut impl FnMut(DVec3, u32)) {
    let low = -1.0_f64.copysign(up.z);
    let across = DVec3::new(-up.x, -up.y, 0.0).try_normalize();
    if let Some(across) = across {
        for (label, end) in [(4, low), (5, -low)] {
            offer(
                across * radius + DVec3::Z * (half * end),
                label + if end < 0.0 { 8 } else { 0 },
            );
        }
    }
    if up.z.abs() < LYING {
        return;
    }
    for (label, side) in [DVec3::X, DVec3::Y, -DVec3::X, -DVec3::Y]
        .into_iter()
        .enumerate()
    {
        let end = if low < 0.0 { 8 } else { 0 };
        offer(side * radius + DVec3::Z * (half * low), label as u32 + end);
    }
}
