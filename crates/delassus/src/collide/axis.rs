//! The direction in which two convex cores are farthest apart, or least deep in each other.
//!
//! Closed forms for points, segments and boxes; parry's GJK and EPA for the rest. Their normal is poor when the
//! cores just touch, and EPA may give up: so their answer is always compared with the faces that look at each other,
//! and a face that separates as well replaces it, exactly.

use parry3d_f64::math::Pose;
use parry3d_f64::query::details::contact_support_map_support_map_with_params;
use parry3d_f64::query::gjk::{GJKResult, VoronoiSimplex};

use crate::math::{DVec3, tangents};

use super::hull::Hull;
use super::sat::{self, PlacedBox};
use super::solid::{Core, Feature, Placed};

/// Distances below this share of the size give no direction.
const TOUCH: f64 = 1e-9;
/// A face wins over GJK when it separates as well up to this share of the size.
const FACE: f64 = 1e-7;

/// Turns tried where GJK and EPA give no answer; a quarter of them shrink the step to 1e-9.
const TURNS: usize = 60;

/// A contact direction of two cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    /// Unit, from the second core to the first.
    pub(crate) normal: DVec3,
    /// Distance of the cores along the normal; negative when they overlap \[m\].
    pub(crate) separation: f64,
    /// The nearest points of the cores, where the method finds them.
    pub(crate) nearest: Option<(DVec3, DVec3)>,
}

impl Axis {
    fn between(a: DVec3, b: DVec3, normal: DVec3) -> Axis {
        Axis {
            normal,
            separation: (a - b).dot(normal),
            nearest: Some((a, b)),
        }
    }

    fn flipped(self) -> Axis {
        Axis {
            normal: -self.normal,
            nearest: self.nearest.map(|(a, b)| (b, a)),
            ..self
        }
    }
}

/// The contact axis of two placed cores; `None` when they are farther apart than `reach`.
pub(crate) fn axis(a: Placed, b: Placed, reach: f64) -> Option<Axis> {
    let found = match (a.core(), b.core()) {
        (Core::Point, _) => point(a.frame.at(), b, reach)?,
        (_, Core::Point) => point(b.frame.at(), a, reach)?.flipped(),
        (Core::Segment(_), Core::Segment(_)) => segments(a, b),
        (Core::Block(p), Core::Block(q)) => {
            let placed = |half, frame| PlacedBox { half, frame };
            sat::blocks(placed(*p, a.frame), placed(*q, b.frame))
        }
        (Core::Block(half), Core::Triangle(corners, _)) => {
            let block = PlacedBox {
                half: *half,
                frame: a.frame,
            };
            sat::block_triangle(block, corners)
        }
        _ => general(a, b, reach)?,
    };
    (found.separation <= reach).then_some(found)
}

/// A point against a core.
pub(crate) fn point(p: DVec3, b: Placed, reach: f64) -> Option<Axis> {
    let local = b.frame.point_in(p);
    let size = b.solid.size;
    let (nearest, outward) = match b.core() {
        Core::Point => (DVec3::ZERO, DVec3::Z),
        Core::Segment(half) => (DVec3::new(0.0, 0.0, local.z.clamp(-half, *half)), DVec3::X),
        Core::Block(half) => point_block(local, *half, TOUCH * size),
        Core::Cylinder { half, radius } => point_cylinder(local, *half, *radius),
        Core::Triangle(corners, _) => {
            let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
            (
                nearest_on_triangle(local, corners),
                normal.normalize_or_zero(),
            )
        }
        Core::Hull(hull) => match inside_hull(local, hull, TOUCH * size) {
            Some(answer) => answer,
            None => {
                let reference = Placed {
                    solid: &POINT,
                    frame: &super::solid::PoseMatrix::new(p, glam::DQuat::IDENTITY),
                };
                return general(reference, b, reach);
            }
        },
    };
    let arm = local - nearest;
    let distance = arm.length();
    // Outside and clear of the surface the direction is the arm's; else it is the surface's.
    let normal = if distance <= TOUCH * size || arm.dot(outward) < 0.0 && is_solid(b.core()) {
        outward
    } else {
        arm / distance
    };
    Some(Axis::between(
        p,
        b.frame.out(nearest),
        b.frame.axes * normal,
    ))
}

static POINT: super::solid::Convex = super::solid::Convex {
    core: Core::Point,
    radius: 0.0,
    size: 0.0,
};

/// Whether the core has an inside.
fn is_solid(core: &Core) -> bool {
    matches!(core, Core::Block(_) | Core::Cylinder { .. } | Core::Hull(_))
}

/// The nearest point of a block and the direction outwards there: p clamped to ±half from outside, the nearest face
/// from inside.
fn point_block(p: DVec3, half: DVec3, touch: f64) -> (DVec3, DVec3) {
    let clamped = p.clamp(-half, half);
    if touch < (p - clamped).length() {
        return (clamped, p - clamped);
    }
    let depth = p.abs() - half;
    let k = depth.max_position();
    let mut nearest = p;
    nearest[k] = half[k].copysign(p[k]);
    (nearest, DVec3::AXES[k] * 1.0_f64.copysign(p[k]))
}

/// The same for a cylinder: over the rim √(x² + y²) − r and over the ends |z| − l say which face is nearest.
fn point_cylinder(p: DVec3, half: f64, radius: f64) -> (DVec3, DVec3) {
    let across = DVec3::new(p.x, p.y, 0.0);
    let out = across.try_normalize().unwrap_or(DVec3::X);
    let (side, end) = (across.length() - radius, p.z.abs() - half);
    let top = half.copysign(p.z);
    if side <= 0.0 && end <= 0.0 {
        return if side < end {
            (
                DVec3::new(p.x, p.y, top),
                DVec3::Z.copysign(DVec3::splat(p.z)).project_onto(DVec3::Z),
            )
        } else {
            (out * radius + DVec3::Z * p.z, out)
        };
    }
    let nearest = if side <= 0.0 { across } else { out * radius };
    let nearest = nearest + DVec3::Z * p.z.clamp(-half, half);
    (
        nearest,
        if side < end {
            DVec3::Z * 1.0_f64.copysign(p.z)
        } else {
            out
        },
    )
}

/// The nearest face of a hull to a point inside it (or on it).
fn inside_hull(p: DVec3, hull: &Hull, touch: f64) -> Option<(DVec3, DVec3)> {
    let mut best = (f64::NEG_INFINITY, DVec3::Z);
    for face in &hull.faces {
        let height = face.normal.dot(p - hull.corners[face.corners[0] as usize]);
        if touch < height {
            return None;
        }
        if best.0 < height {
            best = (height, face.normal);
        }
    }
    Some((p - best.1 * best.0, best.1))
}

/// The point of a triangle nearest to `p`, by regions (Ericson, Real-Time Collision Detection, §5.1.5).
pub(crate) fn nearest_on_triangle(p: DVec3, [a, b, c]: &[DVec3; 3]) -> DVec3 {
    let (ab, ac, ap) = (*b - *a, *c - *a, p - *a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return *a;
    }
    let (d3, d4) = (ab.dot(p - *b), ac.dot(p - *b));
    if 0.0 <= d3 && d4 <= d3 {
        return *b;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && 0.0 <= d1 && d3 <= 0.0 {
        return *a + ab * (d1 / (d1 - d3));
    }
    let (d5, d6) = (ab.dot(p - *c), ac.dot(p - *c));
    if 0.0 <= d6 && d5 <= d6 {
        return *c;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && 0.0 <= d2 && d6 <= 0.0 {
        return *a + ac * (d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && 0.0 <= d4 - d3 && 0.0 <= d5 - d6 {
        return *b + (*c - *b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)));
    }
    let sum = va + vb + vc;
    *a + ab * (vb / sum) + ac * (vc / sum)
}

/// Ends of a placed segment.
pub(crate) fn ends(a: Placed) -> (DVec3, DVec3) {
    (
        a.support(-a.frame.axes.z_axis),
        a.support(a.frame.axes.z_axis),
    )
}

/// Nearest points of two segments. Of parallel ones the middle of the overlap.
fn segments(a: Placed, b: Placed) -> Axis {
    let ((p0, p1), (q0, q1)) = (ends(a), ends(b));
    let (u, v, w) = (p1 - p0, q1 - q0, p0 - q0);
    let (uu, vv, uv) = (u.dot(u), v.dot(v), u.dot(v));
    let (uw, vw) = (u.dot(w), v.dot(w));
    let det = uu * vv - uv * uv;
    let mut s = if 1e-12 * uu * vv < det {
        ((uv * vw - vv * uw) / det).clamp(0.0, 1.0)
    } else {
        // Where q's ends fall on p, cut to p.
        let (x, y) = (-uw / uu, (uv - uw) / uu);
        0.5 * (x.min(y).clamp(0.0, 1.0) + x.max(y).clamp(0.0, 1.0))
    };
    let t = ((uv * s + vw) / vv).clamp(0.0, 1.0);
    s = ((uv * t - uw) / uu).clamp(0.0, 1.0);
    let (near_p, near_q) = (p0 + u * s, q0 + v * t);
    let arm = near_p - near_q;
    let size = a.solid.size.min(b.solid.size);
    // Crossing segments: any common perpendicular will do; the centres choose its sign.
    let normal = if TOUCH * size < arm.length() {
        arm.normalize()
    } else {
        let across = u
            .cross(v)
            .try_normalize()
            .unwrap_or_else(|| tangents(u.normalize_or(DVec3::Z)).0);
        if across.dot(a.frame.at() - b.frame.at()) < 0.0 {
            -across
        } else {
            across
        }
    };
    Axis::between(near_p, near_q, normal)
}

/// Separation of two cores along a direction from the second to the first.
pub(crate) fn separation(a: Placed, b: Placed, normal: DVec3) -> f64 {
    normal.dot(a.support(-normal) - b.support(normal))
}

/// The nearest points of two cores that do not overlap, by GJK alone.
pub(crate) fn closest(a: Placed, b: Placed) -> Option<Axis> {
    let to_a: Pose = a.frame.pose.inv_mul(&b.frame.pose);
    let mut simplex = VoronoiSimplex::new();
    let answer = contact_support_map_support_map_with_params(
        &to_a,
        a.core(),
        b.core(),
        f64::MAX,
        &mut simplex,
        None,
    );
    let GJKResult::ClosestPoints(p, q, _) = answer else {
        return None;
    };
    let (p, q) = (a.frame.out(p), a.frame.out(q));
    let normal = (p - q).try_normalize()?;
    Some(Axis::between(p, q, normal))
}

/// Any two cores, by GJK and EPA, corrected by the faces.
fn general(a: Placed, b: Placed, reach: f64) -> Option<Axis> {
    let to_a: Pose = a.frame.pose.inv_mul(&b.frame.pose);
    let mut simplex = VoronoiSimplex::new();
    let reach_parry = reach.max(0.0) + 1e-12;
    let answer = contact_support_map_support_map_with_params(
        &to_a,
        a.core(),
        b.core(),
        reach_parry,
        &mut simplex,
        None,
    );
    let start = match answer {
        GJKResult::ClosestPoints(p, q, normal) if p.is_finite() && q.is_finite() => {
            let (p, q) = (a.frame.out(p), a.frame.out(q));
            let normal = (a.frame.axes * -normal).try_normalize()?;
            let found = Axis::between(p, q, normal);
            let truth = separation(a, b, normal);
            // EPA may stop far from the least deep direction: its word counts only if the supports agree.
            if (truth - found.separation).abs() <= FACE * a.solid.size.min(b.solid.size) {
                found
            } else {
                search(a, b, normal)
            }
        }
        GJKResult::NoIntersection(direction) => {
            let direction = (a.frame.axes * direction).try_normalize()?;
            let apart = separation(a, b, direction).max(separation(a, b, -direction));
            if reach < apart {
                return None;
            }
            search(a, b, direction)
        }
        _ => search(a, b, DVec3::Z),
    };
    Some(with_faces(a, b, start))
}

/// Where EPA gave up: the best of all faces, axes and their common perpendiculars, improved by small turns.
fn search(a: Placed, b: Placed, hint: DVec3) -> Axis {
    let mut best = (f64::NEG_INFINITY, DVec3::Z);
    let mut offer = |direction: DVec3| {
        if let Some(n) = direction.try_normalize() {
            for n in [n, -n] {
                let apart = separation(a, b, n);
                if best.0 < apart {
                    best = (apart, n);
                }
            }
        }
    };
    let line = a.frame.at() - b.frame.at();
    offer(hint);
    offer(line);
    for placed in [a, b] {
        let axes = placed.frame.axes;
        match placed.core() {
            Core::Hull(hull) => hull.faces.iter().for_each(|f| offer(axes * f.normal)),
            Core::Triangle([p, q, r], _) => offer((*q - *p).cross(*r - *p)),
            _ => [axes.x_axis, axes.y_axis, axes.z_axis]
                .into_iter()
                .for_each(&mut offer),
        }
        offer(line.reject_from_normalized(axes.z_axis));
    }
    offer(a.frame.axes.z_axis.cross(b.frame.axes.z_axis));
    // Pattern search on the sphere: the separation is concave near its maximum.
    let mut step = 0.1;
    for _ in 0..TURNS {
        let (t1, t2) = tangents(best.1);
        let before = best.0;
        for turn in [t1, -t1, t2, -t2] {
            let n = (best.1 + turn * step).normalize();
            let apart = separation(a, b, n);
            if best.0 < apart {
                best = (apart, n);
            }
        }
        if best.0 <= before {
            step *= 0.25;
        }
    }
    Axis {
        normal: best.1,
        separation: best.0,
        nearest: None,
    }
}

/// Replaces the axis by a face normal that separates the cores as well.
fn with_faces(a: Placed, b: Placed, start: Axis) -> Axis {
    let size = a
        .solid
        .size
        .max(1e-3 * b.solid.size)
        .min(b.solid.size.max(1e-3 * a.solid.size));
    let mut feature = Feature::default();
    let mut best: Option<Axis> = None;
    for (placed, sign) in [(a, -1.0), (b, 1.0)] {
        placed.feature(start.normal * sign, &mut feature);
        if feature.corners.len() < 3 {
            continue;
        }
        let normal = feature.normal * sign;
        let separation = separation(a, b, normal);
        let needed = best.map_or(start.separation - FACE * size, |x| {
            x.separation + FACE * size
        });
        if needed <= separation {
            best = Some(Axis {
                normal,
                separation,
                nearest: start.nearest,
            });
        }
    }
    best.unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::super::solid::{Convex, PoseMatrix};
    use super::*;
    use crate::math::{DQuat, Random};

    /// Sampled directions cannot separate more than the true axis; this much is allowed for iterations.
    const TOLERANCE: f64 = 1e-6;

    #[test]
    fn no_direction_separates_more_than_the_axis() {
        let mut random = Random::new(21);
        let points: Vec<[f64; 3]> = (0..20)
            .map(|_| (random.vector() * 0.6).to_array())
            .collect();
        let cores = [
            Core::Segment(0.5),
            Core::Block(DVec3::new(0.3, 0.4, 0.5)),
            Core::Cylinder {
                half: 0.5,
                radius: 0.3,
            },
            Core::Hull(Hull::new(&points).unwrap()),
            Core::Point,
        ];
        let solids = cores.map(|core| Convex {
            core,
            radius: 0.0,
            size: 0.7,
        });
        for round in 0..3000 {
            let (p, q) = (&solids[round % 5], &solids[round / 5 % 4]);
            let v = random.vector();
            let turn = DQuat::from_xyzw(v.x, v.y, v.z, 0.3).normalize();
            let upright = round % 7 == 0;
            let f = PoseMatrix::new(
                random.vector() * 0.7,
                if upright { DQuat::IDENTITY } else { turn },
            );
            let g = PoseMatrix::new(DVec3::ZERO, DQuat::IDENTITY);
            let (a, b) = (
                Placed {
                    solid: p,
                    frame: &f,
                },
                Placed {
                    solid: q,
                    frame: &g,
                },
            );
            let found = axis(a, b, 10.0).unwrap();
            // Boxes apart answer with a separating face, not with the distance of their corners.
            if matches!((&p.core, &q.core), (Core::Block(_), Core::Block(_))) {
                continue;
            }
            assert!(
                (separation(a, b, found.normal) - found.separation).abs() < TOLERANCE,
                "{round} {p:?} {q:?}"
            );
            for _ in 0..200 {
                let n = (found.normal + random.vector() * random.range(0.0, 2.0)).normalize();
                let other = separation(a, b, n);
                assert!(
                    other <= found.separation + TOLERANCE,
                    "{round} {p:?} {q:?} {found:?} {n} {other}"
                );
            }
        }
    }
}
