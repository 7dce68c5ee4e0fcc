//! Where a ray meets a solid: closed forms, in the solid's own frame.
//!
//! Convex solids are what the ray enters last and leaves first of several parts; a capsule is the first entered of three.
//! Meshes and height fields are surfaces, met from both sides. parry casts rays too, but at cylinders and hulls by
//! iteration to a tolerance; these are exact to rounding.

use crate::math::DVec3;

use super::hull::Hull;
use super::narrow::Solid;
use super::solid::{Convex, Core, PoseMatrix};

/// A ray with a direction of length one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beam {
    pub(crate) origin: DVec3,
    pub(crate) direction: DVec3,
}

impl Beam {
    /// The point at a distance along it.
    pub(crate) fn at(&self, distance: f64) -> DVec3 {
        self.origin + self.direction * distance
    }
}

/// Where a ray meets something: how far, and the outward normal there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Meeting {
    pub(crate) distance: f64,
    pub(crate) normal: DVec3,
}

/// The part of a ray that is inside: from where to where, and the normal at which it enters.
#[derive(Clone, Copy, Debug)]
struct Inside {
    enter: f64,
    exit: f64,
    normal: DVec3,
}

const EVERYWHERE: Inside = Inside {
    enter: f64::NEG_INFINITY,
    exit: f64::INFINITY,
    normal: DVec3::ZERO,
};

impl Inside {
    /// What is inside both.
    fn and(self, other: Inside) -> Inside {
        let last = if self.enter < other.enter {
            other
        } else {
            self
        };
        Inside {
            exit: self.exit.min(other.exit),
            ..last
        }
    }

    /// Where the ray meets it within a distance: at once where it begins inside, against its own direction.
    fn met(self, ray: &Beam, most: f64) -> Option<Meeting> {
        if self.exit < self.enter || self.exit <= 0.0 || most < self.enter {
            return None;
        }
        let begins_outside = 0.0 < self.enter;
        Some(Meeting {
            distance: self.enter.max(0.0),
            normal: if begins_outside {
                self.normal
            } else {
                -ray.direction
            },
        })
    }
}

impl Solid {
    /// Where a ray of the world meets the solid within a distance.
    pub(crate) fn cast(&self, frame: &PoseMatrix, ray: &Beam, most: f64) -> Option<Meeting> {
        let local = Beam {
            origin: frame.point_in(ray.origin),
            direction: frame.turn_in(ray.direction),
        };
        let met = match self {
            Solid::Convex(convex) => convex.cast(&local, most),
            Solid::Plane => below(DVec3::Z, 0.0, &local).and_then(|part| part.met(&local, most)),
            Solid::Ground(ground) => ground.cast(&local, most),
            Solid::Gone => None,
        }?;
        let normal = frame.axes * met.normal;
        Some(Meeting { normal, ..met })
    }
}

impl Convex {
    fn cast(&self, ray: &Beam, most: f64) -> Option<Meeting> {
        let part = match &self.core {
            Core::Point => ball(DVec3::ZERO, self.radius, ray),
            Core::Segment(half) => return capsule(*half, self.radius, ray, most),
            Core::Block(half) => DVec3::AXES.iter().zip(half.to_array()).try_fold(
                EVERYWHERE,
                |inside, (axis, half)| {
                    let slab = below(*axis, half, ray)?.and(below(-*axis, half, ray)?);
                    Some(inside.and(slab))
                },
            ),
            Core::Cylinder { half, radius } => cylinder(*half, *radius, ray),
            Core::Hull(hull) => polyhedron(hull, ray),
            Core::Triangle(..) => None,
        }?;
        part.met(ray, most)
    }
}

/// The part of a ray in n · x ≤ level: t = (level − n·o)/(n·d).
fn below(n: DVec3, level: f64, ray: &Beam) -> Option<Inside> {
    let (gap, rate) = (level - n.dot(ray.origin), n.dot(ray.direction));
    if rate == 0.0 {
        return (0.0 <= gap).then_some(EVERYWHERE);
    }
    let t = gap / rate;
    Some(if rate < 0.0 {
        Inside {
            enter: t,
            normal: n,
            ..EVERYWHERE
        }
    } else {
        Inside {
            exit: t,
            ..EVERYWHERE
        }
    })
}

/// The part of a ray in a ball: with p the nearest point of its line to the centre, t = −o·d ± √(r² − |p|²).
fn ball(centre: DVec3, radius: f64, ray: &Beam) -> Option<Inside> {
    let arm = ray.origin - centre;
    let along = arm.dot(ray.direction);
    let off = arm - ray.direction * along;
    let square = radius * radius - off.length_squared();
    if square < 0.0 {
        return None;
    }
    let half = square.sqrt();
    let enter = -along - half;
    Some(Inside {
        enter,
        exit: -along + half,
        normal: (arm + ray.direction * enter) / radius,
    })
}

/// The part of a ray in the endless cylinder about z: the same in the plane across it.
fn tube(radius: f64, ray: &Beam) -> Option<Inside> {
    let flat = |v: DVec3| DVec3::new(v.x, v.y, 0.0);
    let (arm, across) = (flat(ray.origin), flat(ray.direction));
    let speed = across.length();
    if speed == 0.0 {
        return (arm.length() <= radius).then_some(EVERYWHERE);
    }
    let way = Beam {
        origin: arm,
        direction: across / speed,
    };
    let part = ball(DVec3::ZERO, radius, &way)?;
    Some(Inside {
        enter: part.enter / speed,
        exit: part.exit / speed,
        normal: part.normal,
    })
}

fn cylinder(half: f64, radius: f64, ray: &Beam) -> Option<Inside> {
    let slab = below(DVec3::Z, half, ray)?.and(below(-DVec3::Z, half, ray)?);
    Some(slab.and(tube(radius, ray)?))
}

/// A cylinder with two balls: whichever is met first.
fn capsule(half: f64, radius: f64, ray: &Beam, most: f64) -> Option<Meeting> {
    let end = |z: f64| ball(DVec3::new(0.0, 0.0, z), radius, ray);
    let parts = [cylinder(half, radius, ray), end(half), end(-half)];
    let met = parts.into_iter().flatten();
    let met = met.filter_map(|part| part.met(ray, most));
    met.reduce(|a, b| if b.distance < a.distance { b } else { a })
}

fn polyhedron(hull: &Hull, ray: &Beam) -> Option<Inside> {
    hull.faces.iter().try_fold(EVERYWHERE, |inside, face| {
        let level = face.normal.dot(hull.corners[face.corners[0] as usize]);
        Some(inside.and(below(face.normal, level, ray)?))
    })
}

/// Where a ray meets a triangle, from either side: o + t d = (1 − u − v) a + u b + v c.   [Möller and Trumbore]
pub(crate) fn triangle(corners: [DVec3; 3], ray: &Beam, most: f64) -> Option<Meeting> {
    /// How far outside an edge a ray still meets it, as a share of the edge: no ray slips between two triangles.
    const EDGE: f64 = 1e-12;
    let [a, b, c] = corners;
    let (first, second) = (b - a, c - a);
    let normal = first.cross(second);
    let across = ray.direction.cross(second);
    let det = first.dot(across);
    // A ray in the plane of a triangle meets only its edges, which others have too.
    if det.abs() <= f64::EPSILON * normal.length() {
        return None;
    }
    let arm = ray.origin - a;
    let u = arm.dot(across) / det;
    let turned = arm.cross(first);
    let v = ray.direction.dot(turned) / det;
    let distance = second.dot(turned) / det;
    let inside = -EDGE <= u && -EDGE <= v && u + v <= 1.0 + EDGE;
    if !(inside && 0.0 <= distance && distance <= most) {
        return None;
    }
    let normal = normal.normalize_or_zero();
    let normal = if normal.dot(ray.direction) <= 0.0 {
        normal
    } else {
        -normal
    };
    Some(Meeting { distance, normal })
}
