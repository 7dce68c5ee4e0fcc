//! From a contact direction to contact points: the two faces that look at each other, projected along the normal,
//! overlap in a convex polygon; each of its corners is a contact with its own gap.
//!
//! A point's id names the corners and edges it comes from, never the order in which they were met, so that it
//! lasts as long as the geometry does.

use crate::math::DVec3;

use super::axis::{Axis, ends, point};
use super::reduce::{Raw, mix};
use super::solid::{Core, Corner, Feature, Placed};

/// A corner this share of the size outside the other face still counts as inside: flush stacks keep their ids.
const EDGE: f64 = 1e-4;
/// The nearest points are added when the overlap misses them by this share of the size.
const MISSED: f64 = 1e-6;
/// Sine below which two segments are parallel.
const PARALLEL: f64 = 0.05;

/// Work arrays, reused from pair to pair.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    first: Feature,
    second: Feature,
    polygon: Vec<Vertex>,
    next: Vec<Vertex>,
}

#[derive(Clone, Copy, Debug)]
struct Vertex {
    at: DVec3,
    id: u64,
    /// The edge that leaves this corner.
    edge: Edge,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Edge {
    /// Of the polygon that is cut, by the labels of its ends.
    Subject(u32, u32),
    /// Of the polygon that cuts, by its number.
    Clipper(usize),
}

/// Which of the two solids a name belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    First,
    Second,
}

impl Owner {
    fn other(self) -> Owner {
        if self == Owner::First {
            Owner::Second
        } else {
            Owner::First
        }
    }
}

/// The name of a corner of the first solid.
pub(crate) fn corner_id(label: u32) -> u64 {
    corner_name(Owner::First, label)
}

fn corner_name(side: Owner, label: u32) -> u64 {
    mix(side as u64 + 1, u64::from(label))
}

fn edge_name(side: Owner, a: u32, b: u32) -> u64 {
    mix(
        mix(side as u64 + 3, u64::from(a.min(b))),
        u64::from(a.max(b)),
    )
}

/// What a manifold is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairing<'a> {
    pub(crate) a: Placed<'a>,
    pub(crate) b: Placed<'a>,
    pub(crate) axis: Axis,
    /// Largest gap worth a contact \[m\].
    pub(crate) prediction: f64,
}

impl Pairing<'_> {
    fn size(&self) -> f64 {
        // A triangle of the ground may be far larger than the body on it.
        self.a.solid.size.min(self.b.solid.size)
    }

    /// A contact of core points; rounding radii are added here and nowhere else.
    fn raw(&self, a: DVec3, b: DVec3, normal: DVec3, id: u64) -> Raw {
        let (ra, rb) = (self.a.solid.radius, self.b.solid.radius);
        // gap = (a − b)·n − r_a − r_b
        let gap = (a - b).dot(normal) - ra - rb;
        Raw {
            a: a - normal * ra,
            b: b + normal * rb,
            normal,
            gap,
            id,
        }
    }

    /// All contacts of the pair within the prediction, not yet reduced.
    pub(crate) fn manifold(&self, scratch: &mut Scratch, out: &mut Vec<Raw>) {
        let start = out.len();
        let round = matches!(self.a.core(), Core::Point) || matches!(self.b.core(), Core::Point);
        if !round {
            self.overlap(scratch, out);
        }
        let tolerance = MISSED * self.size();
        let (ra, rb) = (self.a.solid.radius, self.b.solid.radius);
        let gap = self.axis.separation - ra - rb;
        let reached = out[start..].iter().fold(f64::INFINITY, |m, p| m.min(p.gap));
        if gap + tolerance < reached && gap <= self.prediction {
            // Cores that overlap are as deep as their axis says, whatever the corners of the overlap show.
            let found = start < out.len() && 0.0 <= self.axis.separation;
            out.extend(self.nearest(found || round));
        }
    }

    /// The nearest points as a contact; invented from a support point where a penetrating pair has none.
    pub(crate) fn nearest(&self, only_known: bool) -> Option<Raw> {
        let n = self.axis.normal;
        let (a, b) = match self.axis.nearest {
            // Replaced normals leave the nearest points a little off the axis.
            Some((a, _)) => (a, a - n * self.axis.separation),
            // A ball touches along the line of its centre, whatever found the axis.
            None if matches!(self.a.core(), Core::Point) => {
                let a = self.a.frame.at();
                (a, a - n * self.axis.separation)
            }
            None if matches!(self.b.core(), Core::Point) => {
                let b = self.b.frame.at();
                (b + n * self.axis.separation, b)
            }
            None if only_known || 0.0 < self.axis.separation => return None,
            // Of the two farthest points the one that is deeper in the other core.
            None => {
                let (a, b) = (self.a.support(-n), self.b.support(n));
                let depth = |p, core| point(p, core, f64::INFINITY).map(|axis| axis.separation);
                match (depth(a, self.b), depth(b, self.a)) {
                    (Some(first), Some(second)) if second < first => {
                        (b + n * self.axis.separation, b)
                    }
                    _ => (a, a - n * self.axis.separation),
                }
            }
        };
        let label = if matches!(self.a.core(), Core::Point) {
            0
        } else {
            u32::MAX
        };
        Some(self.raw(a, b, n, corner_id(label)))
    }

    /// Corners of the overlap of the two features.
    fn overlap(&self, scratch: &mut Scratch, out: &mut Vec<Raw>) {
        let n = self.axis.normal;
        self.a.feature(-n, &mut scratch.first);
        self.b.feature(n, &mut scratch.second);
        match (scratch.first.corners.len(), scratch.second.corners.len()) {
            (2, 2) => {
                if matches!(
                    (self.a.core(), self.b.core()),
                    (Core::Segment(_), Core::Segment(_))
                ) {
                    self.parallel(ends(self.a), ends(self.b), out);
                } else {
                    let pair = |f: &Feature| (f.corners[0].at, f.corners[1].at);
                    self.parallel(pair(&scratch.first), pair(&scratch.second), out);
                }
            }
            (_, 3..) => self.cut(Owner::First, scratch, out),
            (3.., _) => self.cut(Owner::Second, scratch, out),
            _ => {}
        }
    }

    /// The face of the first solid over the face of the second, by a normal the caller insists on.
    pub(crate) fn face(&self, scratch: &mut Scratch, out: &mut Vec<Raw>) {
        self.a.feature(-self.axis.normal, &mut scratch.first);
        self.b.feature(self.axis.normal, &mut scratch.second);
        if 3 <= scratch.second.corners.len() {
            self.cut(Owner::First, scratch, out);
        }
    }

    /// The two ends of the overlap of nearly parallel segments, each with the normal of its own nearest points.
    fn parallel(&self, (p0, p1): (DVec3, DVec3), (q0, q1): (DVec3, DVec3), out: &mut Vec<Raw>) {
        let (u, v) = (p1 - p0, q1 - q0);
        let (uu, vv) = (u.length_squared(), v.length_squared());
        // sin²(u, v) = |u × v|² / (|u|²|v|²)
        let crossed = PARALLEL * PARALLEL * uu * vv < u.cross(v).length_squared();
        if crossed || uu == 0.0 || vv == 0.0 {
            return;
        }
        // Where q₀ and q₁ stand along p₀ + s u: s = u·(q − p₀)/|u|², cut to [0, 1].
        let (x, y) = (u.dot(q0 - p0) / uu, u.dot(q1 - p0) / uu);
        let (lo, hi) = (x.min(y).max(0.0), x.max(y).min(1.0));
        let shortest = 1e-3 * self.size() / uu.sqrt();
        if hi <= lo + shortest {
            return;
        }
        for (i, s) in [lo, hi].into_iter().enumerate() {
            let a = p0 + u * s;
            // b = q₀ + t v, nearest to a: t = v·(a − q₀)/|v|²
            let b = q0 + v * (v.dot(a - q0) / vv).clamp(0.0, 1.0);
            let arm = a - b;
            // Cores that cross give no direction of their own.
            let clear = 1e-3 * self.size() < arm.dot(self.axis.normal);
            let normal = if clear {
                arm.normalize()
            } else {
                self.axis.normal
            };
            let raw = self.raw(a, b, normal, edge_name(Owner::First, 0, 1 + i as u32));
            if raw.gap <= self.prediction {
                out.push(raw);
            }
        }
    }

    /// Cuts the feature of one side by the prism over the face of the other (Sutherland and Hodgman).
    fn cut(&self, side: Owner, scratch: &mut Scratch, out: &mut Vec<Raw>) {
        let n = self.axis.normal;
        let Scratch {
            first,
            second,
            polygon,
            next,
        } = scratch;
        let (subject, clipper) = if side == Owner::First {
            (first, second)
        } else {
            (second, first)
        };
        begin(side, &subject.corners, polygon);
        let up = if turn(&clipper.corners).dot(n) < 0.0 {
            -n
        } else {
            n
        };
        let knife = Knife {
            corners: &clipper.corners,
            up,
            side,
            slack: EDGE * self.size(),
        };
        for k in 0..clipper.corners.len() {
            knife.trim(k, polygon, next);
            std::mem::swap(polygon, next);
        }
        let level = clipper.corners[0].at;
        let along = clipper.normal.dot(n);
        for vertex in polygon.iter() {
            // Height over the clipper's plane, measured along the contact normal: m·(x − x₀)/(m·n).
            let height = clipper.normal.dot(vertex.at - level) / along;
            let other = vertex.at - n * height;
            let (a, b) = if side == Owner::First {
                (vertex.at, other)
            } else {
                (other, vertex.at)
            };
            let raw = self.raw(a, b, n, vertex.id);
            if raw.gap <= self.prediction {
                out.push(raw);
            }
        }
    }
}

/// Twice the area of a polygon, along the normal about which its corners run anticlockwise.
fn turn(corners: &[Corner]) -> DVec3 {
    let origin = corners[0].at;
    // Σ (x_i − x₀) × (x_{i+1} − x₀)
    corners
        .windows(2)
        .map(|w| (w[0].at - origin).cross(w[1].at - origin))
        .sum()
}

/// The subject as a polygon with named corners and edges.
fn begin(side: Owner, corners: &[Corner], polygon: &mut Vec<Vertex>) {
    polygon.clear();
    for (i, corner) in corners.iter().enumerate() {
        let following = corners[(i + 1) % corners.len()].label;
        polygon.push(Vertex {
            at: corner.at,
            id: corner_name(side, corner.label),
            edge: Edge::Subject(corner.label, following),
        });
    }
}

/// The cutting polygon, anticlockwise about `up`.
struct Knife<'a> {
    corners: &'a [Corner],
    up: DVec3,
    /// Whose polygon is cut.
    side: Owner,
    slack: f64,
}

impl Knife<'_> {
    /// Keeps what lies to the left of edge `k`.
    fn trim(&self, k: usize, polygon: &[Vertex], out: &mut Vec<Vertex>) {
        out.clear();
        let from = self.corners[k].at;
        let edge = self.corners[(k + 1) % self.corners.len()].at - from;
        let Some(inward) = self.up.cross(edge).try_normalize() else {
            out.extend_from_slice(polygon);
            return;
        };
        for (i, p) in polygon.iter().enumerate() {
            let q = &polygon[(i + 1) % polygon.len()];
            let (dp, dq) = (inward.dot(p.at - from), inward.dot(q.at - from));
            let (p_in, q_in) = (-self.slack <= dp, -self.slack <= dq);
            if p_in {
                out.push(*p);
            }
            if p_in != q_in {
                // A corner inside by the slack alone has no crossing beyond it.
                let t = (dp / (dp - dq)).clamp(0.0, 1.0);
                let id = self.crossing(p.edge, k);
                let leaving = if p_in { Edge::Clipper(k) } else { p.edge };
                if p_in && dp <= 0.0 || q_in && dq <= 0.0 {
                    if let (true, Some(last)) = (p_in, out.last_mut()) {
                        last.edge = leaving;
                    }
                    continue;
                }
                out.push(Vertex {
                    at: p.at.lerp(q.at, t),
                    id,
                    edge: leaving,
                });
            }
        }
    }

    /// The name of the crossing of an edge with edge `k`: a corner of the knife, or two edges.
    fn crossing(&self, edge: Edge, k: usize) -> u64 {
        let n = self.corners.len();
        let label = |i: usize| self.corners[i % n].label;
        let knife = self.side.other();
        let own = edge_name(knife, label(k), label(k + 1));
        match edge {
            Edge::Clipper(j) if (j + 1) % n == k => corner_name(knife, label(k)),
            Edge::Clipper(j) if (k + 1) % n == j => corner_name(knife, label(j)),
            Edge::Clipper(j) => mix(edge_name(knife, label(j), label(j + 1)), own),
            Edge::Subject(p, q) => {
                // The order of the two names must not depend on which polygon was cut.
                let cut = edge_name(self.side, p, q);
                mix(cut.min(own), cut.max(own))
            }
        }
    }
}
