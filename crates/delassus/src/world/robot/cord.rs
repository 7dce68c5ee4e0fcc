//! Strings through points of links and around spheres and cylinders.
//!
//! Between two points a string is straight, or it lies on a circle of radius r for an arc s and is straight before and
//! behind it, along the tangents:
//!
//! ```text
//! l = |a − t| + s + |u − b|
//! ```
//!
//! A string is as short as it can be, so that to first order its length does not change as t and u move on the surface:
//! l̇ is that of the two straight pieces with t and u fixed to the link that carries the surface.

use glam::{DVec2, DVec3};

use super::{Anchor, Posed};
use crate::index::LinkId;
use crate::tree::spatial::Pose;
use crate::tree::{LinkPoint, TreeError, TreeRows};

/// Lengths and products of lengths below this are nothing \[m\].
const NOTHING: f64 = 1e-15;

/// A frame on a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mount {
    /// The link; `None` is the ground.
    pub link: Option<LinkId>,
    /// The frame in that of the link.
    pub frame: Pose,
}

impl Mount {
    /// The frame in the world.
    pub(super) fn pose(&self, posed: Posed<'_>) -> Result<Pose, TreeError> {
        Ok(posed.frame(self.link)?.then(&self.frame))
    }

    /// The same where the ground has moved.
    pub(super) fn moved(self, base: &Pose) -> Mount {
        match self.link {
            Some(_) => self,
            None => Mount {
                frame: base.then(&self.frame),
                ..self
            },
        }
    }
}

/// A piece of a tendon from one pulley to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Cord {
    /// The number that divides its length: that of its pulley.
    pub divisor: f64,
    /// What it passes, in order.
    pub stops: Vec<Waypoint>,
}

/// What a string passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Waypoint {
    /// A point that it goes through.
    Eye(Anchor),
    /// A surface that may be in its way from the point before to the point behind.
    Around(Wrap),
}

/// A surface that a string lies on where it is in the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wrap {
    /// Centre and axes; the axis of a cylinder is the third.
    pub on: Mount,
    /// Its radius \[m\].
    pub radius: f64,
    /// What it is.
    pub surface: WrapSurface,
    /// A point on the side that the string must pass; a point inside makes it pass through the surface.
    pub side: Option<Anchor>,
}

/// Surfaces for strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrapSurface {
    /// A sphere.
    Sphere,
    /// A cylinder, as long as it must be.
    Cylinder,
}

/// Where a string meets and leaves a surface, and how long it lies on it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Arc<P> {
    ends: [P; 2],
    length: f64,
}

impl Cord {
    /// The links that it pulls at.
    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> {
        self.stops.iter().filter_map(|stop| match stop {
            Waypoint::Eye(eye) => eye.link,
            Waypoint::Around(wrap) => wrap.on.link,
        })
    }

    /// The same where the ground has moved.
    pub(super) fn moved(&self, base: &Pose) -> Cord {
        let stops = self.stops.iter().map(|stop| match *stop {
            Waypoint::Eye(eye) => Waypoint::Eye(eye.moved(base)),
            Waypoint::Around(wrap) => Waypoint::Around(Wrap {
                on: wrap.on.moved(base),
                side: wrap.side.map(|side| side.moved(base)),
                ..wrap
            }),
        });
        Cord {
            divisor: self.divisor,
            stops: stops.collect(),
        }
    }

    /// Its length over its divisor; adds its velocity to the row started last.
    pub(super) fn measure(&self, posed: Posed<'_>, rows: &mut TreeRows) -> Result<f64, TreeError> {
        let (mut length, mut before, mut around) = (0.0, None, None);
        for stop in &self.stops {
            let eye = match stop {
                Waypoint::Around(wrap) => {
                    around = Some(wrap);
                    continue;
                }
                Waypoint::Eye(eye) => (eye.link, posed.point(*eye)?),
            };
            let wrap = around.take();
            let Some(last) = before.replace(eye) else {
                continue;
            };
            let arc = wrap.map(|wrap: &Wrap| Ok((wrap, wrap.arc(posed, last.1, eye.1)?)));
            match arc.transpose()? {
                Some((wrap, Some(arc))) => {
                    let [on, off] = arc.ends.map(|point| (wrap.on.link, point));
                    length += self.straight(posed, rows, [last, on])?;
                    length += arc.length;
                    length += self.straight(posed, rows, [off, eye])?;
                }
                _ => length += self.straight(posed, rows, [last, eye])?,
            }
        }
        Ok(length / self.divisor)
    }

    /// The length of a straight piece; its velocity is added to the row.
    fn straight(
        &self,
        Posed { tree, data, .. }: Posed<'_>,
        rows: &mut TreeRows,
        [(from, y), (to, x)]: [(Option<LinkId>, DVec3); 2],
    ) -> Result<f64, TreeError> {
        // l̇ = u·(ẋ − ẏ) along the unit vector u from y to x.
        let along = (x - y).try_normalize().unwrap_or(DVec3::ZERO) / self.divisor;
        for (link, point, u) in [(to, x, along), (from, y, -along)] {
            if let Some(link) = link.filter(|_| from != to) {
                tree.add_linear(data, rows, LinkPoint::new(link, point), u)?;
            }
        }
        Ok((x - y).length())
    }
}

impl Wrap {
    /// Where a string from a to b lies on it; none where it is not in the way.
    fn arc(&self, posed: Posed<'_>, a: DVec3, b: DVec3) -> Result<Option<Arc<DVec3>>, TreeError> {
        let pose = self.on.pose(posed)?;
        let side = self.side.map(|side| posed.point(side)).transpose()?;
        let inner = pose.inverse();
        let (a, b, side) = (inner.point(a), inner.point(b), side.map(|x| inner.point(x)));
        let Some(axes) = self.plane(a, b) else {
            return Ok(None);
        };
        let flat = |x: DVec3| DVec2::new(x.dot(axes[0]), x.dot(axes[1]));
        let circle = Circle {
            ends: [flat(a), flat(b)],
            radius: self.radius,
        };
        let found = match side {
            Some(side) if side.length() < self.radius => circle.through(),
            side => circle.around(side.map(flat)),
        };
        let Some(flat_arc) = found else {
            return Ok(None);
        };
        let lift = |x: DVec2| x.x * axes[0] + x.y * axes[1];
        let mut arc = Arc {
            ends: flat_arc.ends.map(lift),
            length: flat_arc.length,
        };
        if self.surface == WrapSurface::Cylinder {
            // Unrolled, the string is a straight line: it climbs evenly along its flat length.
            let [on, off] = flat_arc.ends;
            let (first, last) = ((flat(a) - on).length(), (flat(b) - off).length());
            let whole = first + arc.length + last;
            let climb = |share: f64| a.z + (b.z - a.z) * share / whole;
            arc.ends[0].z = climb(first);
            arc.ends[1].z = climb(first + arc.length);
            arc.length = arc.length.hypot(arc.ends[1].z - arc.ends[0].z);
        }
        arc.ends = arc.ends.map(|x| pose.point(x));
        Ok(Some(arc))
    }

    /// Two axes of the plane in which the surface is a circle to the string: through both ends and the centre of a
    /// sphere, across a cylinder. None where an end is at the centre.
    fn plane(&self, a: DVec3, b: DVec3) -> Option<[DVec3; 2]> {
        if a.length() < NOTHING || b.length() < NOTHING {
            return None;
        }
        if self.surface == WrapSurface::Cylinder {
            return Some([DVec3::X, DVec3::Y]);
        }
        let first = a.try_normalize()?;
        let normal = a.cross(b);
        let normal = if normal.length() < NOTHING {
            // Any plane does; that of the axis without the largest component of a.
            let size = first.abs();
            let largest = if size.x < size.y && size.z < size.y {
                DVec3::Y
            } else if size.x < size.z && size.y < size.z {
                DVec3::Z
            } else {
                DVec3::X
            };
            first.cross(DVec3::ONE - largest)
        } else {
            normal
        };
        Some([first, normal.try_normalize()?.cross(first)])
    }
}

/// A circle about the origin, and a string from one point to another.
struct Circle {
    ends: [DVec2; 2],
    radius: f64,
}

impl Circle {
    /// The point of the straight string that is nearest to the centre, and its share of the way.
    fn nearest(&self) -> Option<(DVec2, f64)> {
        let [a, b] = self.ends;
        let way = b - a;
        let square = way.length_squared();
        (NOTHING <= square).then(|| {
            let share = (-way.dot(a) / square).clamp(0.0, 1.0);
            (a + share * way, share)
        })
    }

    /// Around the outside: the way past the side that is given, or the shorter way.
    fn around(&self, side: Option<DVec2>) -> Option<Arc<DVec2>> {
        let ([a, b], r) = (self.ends, self.radius);
        let inside = a.length_squared() < r * r || b.length_squared() < r * r;
        let (nearest, _) = self.nearest()?;
        if inside || r < NOTHING {
            return None;
        }
        if let Some(side) = side {
            return self.past(side.try_normalize().unwrap_or(DVec2::X));
        }
        if r * r < nearest.length_squared() {
            return None;
        }
        let ways = [1.0, -1.0].map(|turn| {
            let [t, u] = self.touched(turn);
            let crosses = intersect([a, t], [b, u]);
            let far = (t - u).length_squared();
            (turn, [t, u], if crosses { f64::INFINITY } else { far })
        });
        let [right, left] = ways;
        let (turn, [t, u], far) = if right.2 < left.2 { right } else { left };
        if far == f64::INFINITY {
            return None;
        }
        // The angle from t to u in the direction of the turn, between nothing and a whole one.
        let angle = (-turn * t.perp_dot(u)).atan2(t.dot(u));
        let angle = angle.rem_euclid(std::f64::consts::TAU);
        Some(Arc {
            ends: [t, u],
            length: r * angle,
        })
    }

    /// The shortest string that turns about the centre by as much as one by way of a point in the direction given.
    ///
    /// Of that angle φ the straight pieces take acos(r/|a|) and acos(r/|b|), and the circle what is left; where nothing
    /// is, the string is straight.
    fn past(&self, side: DVec2) -> Option<Arc<DVec2>> {
        let from_side = self.ends.map(|x| side.angle_to(x));
        let whole = from_side[1] - from_side[0];
        let straight = self.ends.map(|x| (self.radius / x.length()).acos());
        let angle = whole.abs() - straight[0] - straight[1];
        (0.0 < angle).then(|| Arc {
            ends: self.touched(if whole < 0.0 { 1.0 } else { -1.0 }),
            length: self.radius * angle,
        })
    }

    /// Where a string that turns to the right (+1) or to the left (−1) touches:
    /// t = (r²x ± r √(x² − r²) x⊥)/x² from x = a, and ∓ from b.
    fn touched(&self, turn: f64) -> [DVec2; 2] {
        let ([a, b], r) = (self.ends, self.radius);
        let touch = |x: DVec2, turn: f64| {
            let square = x.length_squared();
            let reach = (square - r * r).max(0.0).sqrt();
            (r * r * x - turn * r * reach * x.perp()) / square
        };
        [touch(a, turn), touch(b, -turn)]
    }

    /// From the inside: a string that must pass through the circle touches it in one point, where it makes equal angles
    /// with the radius on both sides.
    ///
    /// With z the sine of that angle, and A = r/|a|, B = r/|b| and G the angle between a and b at the centre,
    /// asin Az + asin Bz − 2 asin z + G = 0.
    fn through(&self) -> Option<Arc<DVec2>> {
        let ([a, b], r) = (self.ends, self.radius);
        let (far_a, far_b) = (a.length(), b.length());
        if far_a <= r || far_b <= r || r < NOTHING {
            return None;
        }
        if let Some((nearest, share)) = self.nearest()
            && 0.0 < share
            && share < 1.0
            && nearest.length() <= r
        {
            return None;
        }
        let at = |point: DVec2| Arc {
            ends: [point; 2],
            length: 0.0,
        };
        let middle = r * (a + b).try_normalize().unwrap_or(DVec2::X);
        let cosine = a.dot(b) / (far_a * far_b);
        if cosine < -1.0 + NOTHING {
            return None;
        }
        if 1.0 - NOTHING < cosine {
            return Some(at(middle));
        }
        let (ratio_a, ratio_b, angle) = (r / far_a, r / far_b, cosine.acos());
        let Some(z) = sine(ratio_a, ratio_b, angle) else {
            return Some(at(middle));
        };
        let (from, ratio) = if 0.0 < a.perp_dot(b) {
            (a / far_a, ratio_a)
        } else {
            (b / far_b, ratio_b)
        };
        let turn = z.asin() - (ratio * z).asin();
        Some(at(r * DVec2::from_angle(turn).rotate(from)))
    }
}

/// The root of f(z) = asin Az + asin Bz − 2 asin z + G by Newton's method from the right, where f is concave and falls:
/// no step passes the root but by rounding, which ends them.
fn sine(a: f64, b: f64, angle: f64) -> Option<f64> {
    let f = |z: f64| (a * z).asin() + (b * z).asin() - 2.0 * z.asin() + angle;
    let slope = |c: f64, z: f64| c / (1.0 - c * c * z * z).sqrt().max(NOTHING);
    let mut z = 1.0 - 1e-7;
    if 0.0 < f(z) {
        return None;
    }
    for _ in 0..30 {
        let step = f(z) / (slope(a, z) + slope(b, z) - 2.0 * slope(1.0, z));
        if !(0.0 < step) {
            break;
        }
        z -= step;
    }
    (0.0..1.0).contains(&z).then_some(z)
}

/// Whether two stretches meet.
fn intersect([a, b]: [DVec2; 2], [c, d]: [DVec2; 2]) -> bool {
    let (first, second, apart) = (b - a, d - c, a - c);
    let det = first.perp_dot(second);
    if det.abs() < NOTHING {
        return false;
    }
    let shares = [second.perp_dot(apart) / det, first.perp_dot(apart) / det];
    shares.iter().all(|share| (0.0..=1.0).contains(share))
}
