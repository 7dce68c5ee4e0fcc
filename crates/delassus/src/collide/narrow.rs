//! Contacts of one pair of solids: a pure function of the two poses, so that pairs may be taken in any order.
//!
//! How this differs from parry's manifolds: nothing is carried over from the step before. Parry reuses a manifold
//! while it turned less than one degree and slid less than a millimetre, whatever the size of the bodies; that is fast, but
//! the contacts then depend on history. What is kept here (`kept`) depends on poses alone.

use crate::math::DVec3;

use super::axis::{axis, closest};
use super::clip::{Pairing, Scratch, corner_id};
use super::ground::{self, Ground, PlacedGround};
use super::plane;
use super::reduce::{Raw, reduce};
use super::solid::{Convex, Core, Placed, PoseMatrix};

/// A shape made ready for contact.
#[derive(Clone, Debug)]
pub(crate) enum Solid {
    Convex(Convex),
    /// The half-space below z = 0.
    Plane,
    Ground(Ground),
    /// Nothing any more.
    Gone,
}

impl Solid {
    pub(crate) fn is_ball(&self) -> bool {
        let core = |solid: &Convex| matches!(solid.core, Core::Point);
        matches!(self, Solid::Convex(solid) if core(solid))
    }
}

/// A solid where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedSolid<'a> {
    pub(crate) solid: &'a Solid,
    pub(crate) frame: &'a PoseMatrix,
}

/// A ball where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball {
    pub(crate) centre: DVec3,
    pub(crate) radius: f64,
}

/// All contacts of two solids, but two balls, whose gap is at most `prediction`; normals point from the second to the first.
pub(crate) fn contacts(
    first: PlacedSolid<'_>,
    second: PlacedSolid<'_>,
    prediction: f64,
    scratch: &mut Scratch,
    out: &mut Vec<Raw>,
) {
    out.clear();
    let size = match (first.convex(), second.convex()) {
        (Some(a), Some(b)) => {
            convex(a, b, prediction, scratch, out);
            a.solid.size.min(b.solid.size)
        }
        (Some(a), None) => {
            one_sided(a, second, prediction, scratch, out);
            a.solid.size
        }
        (None, Some(b)) => {
            one_sided(b, first, prediction, scratch, out);
            out.iter_mut().for_each(flip);
            b.solid.size
        }
        (None, None) => return,
    };
    reduce(out, size);
}

/// The same contact seen from the other side.
pub(crate) fn flip(raw: &mut Raw) {
    std::mem::swap(&mut raw.a, &mut raw.b);
    raw.normal = -raw.normal;
}

impl<'a> PlacedSolid<'a> {
    /// The solid, where it is convex.
    fn convex(self) -> Option<Placed<'a>> {
        match self.solid {
            Solid::Convex(solid) => Some(Placed {
                solid,
                frame: self.frame,
            }),
            Solid::Plane | Solid::Ground(_) | Solid::Gone => None,
        }
    }
}

/// Contacts with a solid that is not convex.
fn one_sided(
    a: Placed,
    other: PlacedSolid<'_>,
    prediction: f64,
    scratch: &mut Scratch,
    out: &mut Vec<Raw>,
) {
    let frame = other.frame;
    match other.solid {
        Solid::Plane => plane::contacts(a, frame, prediction, out),
        Solid::Ground(ground) => {
            let ground = PlacedGround { ground, frame };
            ground::contacts(a, ground, prediction, scratch, out);
        }
        Solid::Convex(_) | Solid::Gone => {}
    }
}

/// Two balls, without any of the machinery.
pub(crate) fn balls(a: Ball, b: Ball, prediction: f64) -> Option<Raw> {
    let arm = a.centre - b.centre;
    let reach = prediction + a.radius + b.radius;
    let square = arm.length_squared();
    if reach * reach < square {
        return None;
    }
    let distance = square.sqrt();
    // Concentric balls leave no way out that is better than up.
    let normal = if f64::MIN_POSITIVE < distance {
        arm / distance
    } else {
        DVec3::Z
    };
    Some(Raw {
        a: a.centre - normal * a.radius,
        b: b.centre + normal * b.radius,
        normal,
        gap: distance - a.radius - b.radius,
        id: corner_id(0),
    })
}

fn convex(a: Placed, b: Placed, prediction: f64, scratch: &mut Scratch, out: &mut Vec<Raw>) {
    let reach = prediction + a.solid.radius + b.solid.radius;
    if let Some(axis) = axis(a, b, reach) {
        Pairing {
            a,
            b,
            axis,
            prediction,
        }
        .manifold(scratch, out);
        // Solids that approach corner to corner have no faces over each other; their nearest points still meet.
        if out.is_empty()
            && 0.0 < axis.separation
            && let Some(axis) = closest(a, b).filter(|found| found.separation <= reach)
        {
            let touch = Pairing {
                a,
                b,
                axis,
                prediction,
            };
            out.extend(touch.nearest(true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{DQuat, Random};

    /// Share of the size by which contacts may be shallower than the axis of their pair.
    const SHALLOW: f64 = 2e-6;

    #[test]
    fn contacts_are_as_deep_as_the_solids_overlap() {
        let mut random = Random::new(8);
        let solid = |core, radius| Convex {
            core,
            radius,
            size: 0.7,
        };
        let (mut scratch, mut out, mut overlaps) = (Scratch::default(), Vec::new(), 0);
        for round in 0..20_000 {
            let mut any = || random.range(0.05, 0.6);
            let block = DVec3::new(any(), any(), any());
            let solids = [
                solid(Core::Segment(any()), any()),
                solid(
                    Core::Cylinder {
                        half: any(),
                        radius: any(),
                    },
                    0.0,
                ),
                solid(Core::Block(block), 0.0),
                solid(Core::Point, any()),
            ];
            let (p, q) = (&solids[round % 4], &solids[round / 4 % 3]);
            let v = random.vector();
            let turn = DQuat::from_xyzw(v.x, v.y, v.z, 0.3).normalize();
            let frames = [
                PoseMatrix::new(random.vector() * 0.5, turn),
                PoseMatrix::new(DVec3::ZERO, DQuat::IDENTITY),
            ];
            let placed = |solid, frame| Placed { solid, frame };
            let (a, b) = (placed(p, &frames[0]), placed(q, &frames[1]));
            out.clear();
            convex(a, b, 0.01, &mut scratch, &mut out);
            let Some(axis) = axis(a, b, 0.0) else {
                continue;
            };
            overlaps += 1;
            let gap = axis.separation - p.radius - q.radius;
            let deepest = out.iter().fold(f64::INFINITY, |m, raw| m.min(raw.gap));
            assert!(
                deepest <= gap + SHALLOW * 0.7,
                "{round} {p:?} {q:?}: {deepest} {gap}"
            );
        }
        assert!(5000 < overlaps, "{overlaps}");
    }
}
