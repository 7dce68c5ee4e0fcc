//! Contacts of one pair of solids: a pure function of the two poses, so that pairs may be taken in any order.
//!
//! How this differs from parry's manifolds: nothing is carried over from the step before. Parry reuses a manifold
//! while it turned less than one degree and slid less than a millimetre, whatever the size of the bodies; that is fast, but
//! the contacts then depend on history. Boxes are cheap enough here without it (see `benches/collide_pile.rs`).

use crate::math::DVec3;

use super::axis::{axis, closest};
use super::clip::{Pairing, Scratch, corner_id};
use super::ground::{self, Ground};
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
}

impl Solid {
    pub(crate) fn is_ball(&self) -> bool {
        let core = |solid: &Convex| matches!(solid.core, Core::Point);
        matches!(self, Solid::Convex(solid) if core(solid))
    }
}

/// All contacts of two solids, but two balls, whose gap is at most `prediction`; normals point from the second to the first.
pub(crate) fn contacts(
    (first, at_first): (&Solid, &PoseMatrix),
    (second, at_second): (&Solid, &PoseMatrix),
    prediction: f64,
    scratch: &mut Scratch,
    out: &mut Vec<Raw>,
) {
    out.clear();
    let size = match (first, second) {
        (Solid::Convex(a), Solid::Convex(b)) => {
            let a = Placed {
                solid: a,
                frame: at_first,
            };
            let b = Placed {
                solid: b,
                frame: at_second,
            };
            convex(a, b, prediction, scratch, out);
            a.solid.size.min(b.solid.size)
        }
        (Solid::Convex(a), other) => {
            one_sided(
                Placed {
                    solid: a,
                    frame: at_first,
                },
                (other, at_second),
                prediction,
                scratch,
                out,
            );
            a.size
        }
        (other, Solid::Convex(b)) => {
            one_sided(
                Placed {
                    solid: b,
                    frame: at_second,
                },
                (other, at_first),
                prediction,
                scratch,
                out,
            );
            out.iter_mut().for_each(flip);
            b.size
        }
        _ => return,
    };
    reduce(out, size);
}

/// The same contact seen from the other side.
pub(crate) fn flip(raw: &mut Raw) {
    std::mem::swap(&mut raw.a, &mut raw.b);
    raw.normal = -raw.normal;
}

fn one_sided(
    a: Placed,
    (other, place): (&Solid, &PoseMatrix),
    prediction: f64,
    scratch: &mut Scratch,
    out: &mut Vec<Raw>,
) {
    match other {
        Solid::Plane => plane::contacts(a, place, prediction, out),
        Solid::Ground(ground) => ground::contacts(a, (ground, place), prediction, scratch, out),
        Solid::Convex(_) => {}
    }
}

/// Two balls, given by centre and radius, without any of the machinery.
pub(crate) fn balls(a: (DVec3, f64), b: (DVec3, f64), prediction: f64) -> Option<Raw> {
    let arm = a.0 - b.0;
    let reach = prediction + a.1 + b.1;
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
        a: a.0 - normal * a.1,
        b: b.0 + normal * b.1,
        normal,
        gap: distance - a.1 - b.1,
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
