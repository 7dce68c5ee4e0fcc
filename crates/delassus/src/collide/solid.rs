//! Convex solids as a sharp core and a rounding radius, placed in the world.
//!
//! A sphere is a rounded point and a capsule a rounded segment: their gaps are distances of cores less the radii,
//! which stays exact as long as the cores do not overlap.

use parry3d_f64::math::Pose;
use parry3d_f64::shape::SupportMap;

use crate::math::{DMat3, DQuat, DVec3};

use super::hull::Hull;

/// Corners of the polygon that stands for the round rim of a cylinder.
const RIM: u32 = 8;

/// The sharp part of a convex solid, in its own frame.
#[derive(Clone, Debug)]
pub(crate) enum Core {
    Point,
    /// Along z, by half its length.
    Segment(f64),
    /// By its half edges.
    Block(DVec3),
    /// Along z.
    Cylinder {
        half: f64,
        radius: f64,
    },
    Hull(Hull),
    /// One triangle of the ground, with the labels of its corners.
    Triangle([DVec3; 3], [u32; 3]),
}

/// A convex solid: all points within `radius` of its core.
#[derive(Clone, Debug)]
pub(crate) struct Convex {
    pub(crate) core: Core,
    pub(crate) radius: f64,
    /// Largest distance of a point of the solid from its origin \[m\].
    pub(crate) size: f64,
}

impl Convex {
    /// A point inside, in its own frame.
    pub(crate) fn inside(&self) -> DVec3 {
        match &self.core {
            Core::Point | Core::Segment(_) | Core::Block(_) | Core::Cylinder { .. } => DVec3::ZERO,
            Core::Hull(hull) => hull.centre,
            Core::Triangle(corners, _) => corners.iter().sum::<DVec3>() / 3.0,
        }
    }
}

/// A pose with its rotation as a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoseMatrix {
    pub(crate) pose: Pose,
    pub(crate) axes: DMat3,
}

impl PoseMatrix {
    pub(crate) fn new(at: DVec3, turn: DQuat) -> PoseMatrix {
        PoseMatrix {
            pose: Pose::from_parts(at, turn),
            axes: DMat3::from_quat(turn),
        }
    }

    pub(crate) fn at(&self) -> DVec3 {
        self.pose.translation
    }

    /// A local point in world coordinates.
    pub(crate) fn out(&self, p: DVec3) -> DVec3 {
        self.at() + self.axes * p
    }

    /// A world direction in local coordinates.
    pub(crate) fn turn_in(&self, d: DVec3) -> DVec3 {
        self.axes.mul_transpose_vec3(d)
    }

    /// A world point in local coordinates.
    pub(crate) fn point_in(&self, p: DVec3) -> DVec3 {
        self.turn_in(p - self.at())
    }
}

/// A convex solid where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) solid: &'a Convex,
    pub(crate) frame: &'a PoseMatrix,
}

/// A corner of a face, in the world, with a label that names it for as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Corner {
    pub(crate) at: DVec3,
    pub(crate) label: u32,
}

/// The part of a core that looks in a direction: a corner, an edge or a flat face.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feature {
    pub(crate) corners: Vec<Corner>,
    /// Unit normal of a face of three or more corners.
    pub(crate) normal: DVec3,
}

impl Feature {
    fn push(&mut self, at: DVec3, label: u32) {
        self.corners.push(Corner { at, label });
    }
}

impl SupportMap for Core {
    fn local_support_point(&self, d: DVec3) -> DVec3 {
        match self {
            Core::Point => DVec3::ZERO,
            Core::Segment(half) => DVec3::new(0.0, 0.0, half.copysign(d.z)),
            Core::Block(half) => half.copysign(d),
            Core::Cylinder { half, radius } => {
                let across = DVec3::new(d.x, d.y, 0.0)
                    .try_normalize()
                    .unwrap_or(DVec3::ZERO);
                across * *radius + DVec3::new(0.0, 0.0, half.copysign(d.z))
            }
            Core::Hull(hull) => hull.corners[farthest(&hull.corners, d)],
            Core::Triangle(corners, _) => corners[farthest(corners, d)],
        }
    }
}

/// The first of the points that reach farthest along a direction.
fn farthest(points: &[DVec3], d: DVec3) -> usize {
    let mut best = (f64::NEG_INFINITY, 0);
    for (i, p) in points.iter().enumerate() {
        let reach = d.dot(*p);
        if best.0 < reach {
            best = (reach, i);
        }
    }
    best.1
}

impl Placed<'_> {
    pub(crate) fn core(&self) -> &Core {
        &self.solid.core
    }

    /// The farthest point of the core in a world direction.
    pub(crate) fn support(&self, direction: DVec3) -> DVec3 {
        self.frame.out(
            self.core()
                .local_support_point(self.frame.turn_in(direction)),
        )
    }

    /// The face, edge or corner of the core that looks in a world direction.
    pub(crate) fn feature(&self, direction: DVec3, out: &mut Feature) {
        out.corners.clear();
        let d = self.frame.turn_in(direction);
        match self.core() {
            Core::Point => out.push(DVec3::ZERO, 0),
            Core::Segment(half) => {
                // Nearly end-on, one end is all there is to see.
                if d.z < 0.95 {
                    out.push(DVec3::new(0.0, 0.0, -half), 0);
                }
                if -0.95 < d.z {
                    out.push(DVec3::new(0.0, 0.0, *half), 1);
                }
            }
            Core::Block(half) => block_face(*half, d, out),
            Core::Cylinder { half, radius } => cylinder_face(*half, *radius, d, out),
            Core::Hull(hull) => hull_face(hull, d, out),
            Core::Triangle(corners, labels) => triangle_face(corners, labels, d, out),
        }
        for corner in &mut out.corners {
            corner.at = self.frame.out(corner.at);
        }
        out.normal = self.frame.axes * out.normal;
    }
}

fn block_face(half: DVec3, d: DVec3, out: &mut Feature) {
    let k = d.abs().max_position();
    let (i, j) = ((k + 1) % 3, (k + 2) % 3);
    out.normal = DVec3::AXES[k] * 1.0_f64.copysign(d[k]);
    for (si, sj) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
        let mut sign = DVec3::ZERO;
        (sign[i], sign[j], sign[k]) = (si, sj, out.normal[k]);
        let label = (0..3).filter(|&a| 0.0 < sign[a]).map(|a| 1 << a).sum();
        out.push(sign * half, label);
    }
}

fn cylinder_face(half: f64, radius: f64, d: DVec3, out: &mut Feature) {
    let end = 1.0_f64.copysign(d.z);
    if 0.7 < d.z.abs() {
        out.normal = DVec3::Z * end;
        let first = if 0.0 < end { 0 } else { RIM };
        for i in 0..RIM {
            let (s, c) = (f64::from(i) * std::f64::consts::TAU / f64::from(RIM)).sin_cos();
            out.push(DVec3::new(radius * c, radius * s, half * end), first + i);
        }
        return;
    }
    let across = DVec3::new(d.x, d.y, 0.0).normalize_or_zero() * radius;
    out.push(across - DVec3::Z * half, 2 * RIM);
    out.push(across + DVec3::Z * half, 2 * RIM + 1);
}

fn hull_face(hull: &Hull, d: DVec3, out: &mut Feature) {
    let mut best = (f64::NEG_INFINITY, 0);
    for (i, face) in hull.faces.iter().enumerate() {
        let along = d.dot(face.normal);
        if best.0 < along {
            best = (along, i);
        }
    }
    let face = &hull.faces[best.1];
    if best.0 < 0.3 {
        // A needle seen from its tip: the tip alone.
        let tip = farthest(&hull.corners, d);
        out.push(hull.corners[tip], tip as u32);
        return;
    }
    out.normal = face.normal;
    for &i in &face.corners {
        out.push(hull.corners[i as usize], i);
    }
}

fn triangle_face(corners: &[DVec3; 3], labels: &[u32; 3], d: DVec3, out: &mut Feature) {
    let normal = (corners[1] - corners[0])
        .cross(corners[2] - corners[0])
        .normalize_or_zero();
    let along = normal.dot(d);
    if 0.3 < along.abs() {
        out.normal = normal * 1.0_f64.copysign(along);
        for i in 0..3 {
            out.push(corners[i], labels[i]);
        }
        return;
    }
    // Seen edge-on: the edge without the corner that is farthest back.
    let height = corners.map(|c| c.dot(d));
    let back = (0..3).fold(0, |b, i| if height[i] < height[b] { i } else { b });
    for i in [(back + 1) % 3, (back + 2) % 3] {
        out.push(corners[i], labels[i]);
    }
}

/// Half extents and centre of a solid's bounding box, in the world.
pub(crate) fn bounds(solid: &Convex, frame: &PoseMatrix) -> (DVec3, DVec3) {
    let rows = [frame.axes.row(0), frame.axes.row(1), frame.axes.row(2)];
    let half = match &solid.core {
        Core::Point => DVec3::ZERO,
        Core::Segment(half) => frame.axes.z_axis.abs() * *half,
        Core::Block(half) => DVec3::from(rows.map(|r| r.abs().dot(*half))),
        Core::Cylinder { half, radius } => {
            let axis = frame.axes.z_axis;
            axis.abs() * *half
                + (DVec3::ONE - axis * axis).max(DVec3::ZERO).map(f64::sqrt) * *radius
        }
        Core::Hull(_) | Core::Triangle(..) => {
            let corner = |d: DVec3| Placed { solid, frame }.support(d);
            let high = DVec3::new(corner(DVec3::X).x, corner(DVec3::Y).y, corner(DVec3::Z).z);
            let low = DVec3::new(
                corner(-DVec3::X).x,
                corner(-DVec3::Y).y,
                corner(-DVec3::Z).z,
            );
            return (
                0.5 * (high + low),
                0.5 * (high - low) + DVec3::splat(solid.radius),
            );
        }
    };
    (frame.at(), half + DVec3::splat(solid.radius))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn bounds_touch_the_support_points() {
        let mut random = Random::new(4);
        let cores = [
            Core::Segment(0.7),
            Core::Block(DVec3::new(0.1, 0.2, 0.3)),
            Core::Cylinder {
                half: 0.4,
                radius: 0.2,
            },
        ];
        for core in cores {
            let solid = Convex {
                core,
                radius: 0.05,
                size: 1.0,
            };
            let v = random.vector();
            let turn = DQuat::from_xyzw(v.x, v.y, v.z, random.range(-1.0, 1.0)).normalize();
            let frame = PoseMatrix::new(random.vector(), turn);
            let (centre, half) = bounds(&solid, &frame);
            for k in 0..3 {
                let top = Placed {
                    solid: &solid,
                    frame: &frame,
                }
                .support(DVec3::AXES[k])[k]
                    + 0.05;
                assert!((centre[k] + half[k] - top).abs() < 1e-12);
            }
        }
    }
}
