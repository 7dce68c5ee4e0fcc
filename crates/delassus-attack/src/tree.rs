//! Kinematic trees in 32 digits: poses, Jacobians of links, the mass matrix as the sum over links of JᵀMJ, and the bias
//! force. Plain sums over the links, none of the recursions of the library.

use serde_json::Value;

use crate::judge::Mass;
use crate::read::{Unread, at, fixed, fixed_or_zero, matrix3, number, whole};
use crate::wide::{
    Matrix3, Wide, apply, cross, dot, inverse, plus, rotation, scaled, times, transposed,
};

/// Velocity of a point, or spin of a link, per joint velocity.
type Columns = Vec<[Wide; 3]>;

/// How a joint moves its link.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Motion {
    Revolute,
    Prismatic,
    Spherical,
    Free,
    Fixed,
}

/// A link, placed.
struct Link {
    motion: Motion,
    parent: Option<usize>,
    /// First velocity of its joint.
    first: usize,
    /// Axis of its joint in the world.
    axis: [Wide; 3],
    turn: Matrix3,
    origin: [Wide; 3],
    mass: Wide,
    centre: [Wide; 3],
    inertia: Matrix3,
    /// Spin and velocity of the centre of mass per joint velocity.
    spin: Columns,
    move_centre: Columns,
}

/// A tree in one configuration.
pub(crate) struct Chain {
    links: Vec<Link>,
    n: usize,
}

/// A point of a link in its own axes; `None` is the ground.
pub(crate) struct Point(Option<usize>, [Wide; 3]);

impl Point {
    /// The two ends of a constraint or a contact.
    pub(crate) fn ends(entry: &Value) -> Result<[Point; 2], Unread> {
        let end = |link: &str, point: &str| {
            let id = usize::try_from(whole(entry, link)?).ok();
            Ok(Point(id, fixed_or_zero(entry, point)?))
        };
        Ok([end("a", "pa")?, end("b", "pb")?])
    }
}

fn minus(a: [Wide; 3], b: [Wide; 3]) -> [Wide; 3] {
    plus(a, scaled(b, -Wide::ONE))
}

fn wrong(key: &str, expected: &'static str) -> Unread {
    Unread::Key {
        key: key.to_owned(),
        expected,
    }
}

impl Chain {
    /// Reads joints, parents before their children, and places them.
    pub(crate) fn read(joints: &[Value], q: &[Wide]) -> Result<Chain, Unread> {
        let mut chain = Chain {
            links: Vec::new(),
            n: 0,
        };
        let mut rest = q;
        for entry in joints {
            let motion = match at(entry, "type")?.as_str() {
                Some("revolute") => Motion::Revolute,
                Some("prismatic") => Motion::Prismatic,
                Some("spherical") => Motion::Spherical,
                Some("free") => Motion::Free,
                Some("fixed") => Motion::Fixed,
                _ => return Err(wrong("type", "a joint")),
            };
            let (count, dofs) = match motion {
                Motion::Revolute | Motion::Prismatic => (1, 1),
                Motion::Spherical => (4, 3),
                Motion::Free => (7, 6),
                Motion::Fixed => (0, 0),
            };
            let own = rest.get(..count).ok_or_else(|| wrong("q", "long enough"))?;
            rest = &rest[count..];
            chain.place(entry, motion, own)?;
            chain.n += dofs;
        }
        for i in 0..chain.links.len() {
            chain.links[i].spin = chain.spin(i);
            chain.links[i].move_centre = chain.point(i, chain.links[i].centre);
        }
        Ok(chain)
    }

    /// Places one link behind its parent.
    fn place(&mut self, entry: &Value, motion: Motion, q: &[Wide]) -> Result<(), Unread> {
        let unit = [0, 1, 2].map(|i| [0, 1, 2].map(|j| Wide::from(f64::from(i == j))));
        let parent = usize::try_from(whole(entry, "parent")?).ok();
        let (base, from) = match parent {
            None => (unit, [Wide::ZERO; 3]),
            Some(id) => {
                let link = self
                    .links
                    .get(id)
                    .ok_or_else(|| wrong("parent", "before its child"))?;
                (link.turn, link.origin)
            }
        };
        let frame =
            rotation(fixed::<4>(entry, "quat")?).ok_or_else(|| wrong("quat", "a quaternion"))?;
        let frame = times(&base, &frame);
        let mut origin = plus(from, apply(&base, fixed(entry, "p")?));
        let local: [Wide; 3] = fixed_or_zero(entry, "axis")?;
        let long = dot(&local, &local).sqrt();
        let local = if Wide::ZERO < long {
            local.map(|x| x / long)
        } else {
            local
        };
        let axis = apply(&frame, local);
        let quaternion = |q: &[Wide]| {
            let q: [Wide; 4] = q.try_into().ok()?;
            rotation(q)
        };
        let turn = match motion {
            Motion::Fixed => frame,
            Motion::Prismatic => {
                origin = plus(origin, scaled(axis, q[0]));
                frame
            }
            Motion::Revolute => times(&frame, &about(local, q[0])),
            Motion::Spherical => times(
                &frame,
                &quaternion(q).ok_or_else(|| wrong("q", "a quaternion"))?,
            ),
            Motion::Free => {
                origin = plus(origin, apply(&frame, [q[0], q[1], q[2]]));
                times(
                    &frame,
                    &quaternion(&q[3..]).ok_or_else(|| wrong("q", "a quaternion"))?,
                )
            }
        };
        let own = matrix3(entry, "I")?;
        self.links.push(Link {
            motion,
            parent,
            first: self.n,
            axis,
            turn,
            origin,
            mass: Wide::from(number(entry, "m")?),
            centre: plus(origin, apply(&turn, fixed(entry, "com")?)),
            inertia: times(&times(&turn, &own), &transposed(&turn)),
            spin: Vec::new(),
            move_centre: Vec::new(),
        });
        Ok(())
    }

    /// A link and those that carry it.
    fn carriers(&self, link: usize) -> impl Iterator<Item = &Link> {
        let mut next = Some(link);
        std::iter::from_fn(move || {
            let link = &self.links[next?];
            next = link.parent;
            Some(link)
        })
    }

    /// Column c of a rotation: an axis of the link in the world.
    fn column(turn: &Matrix3, c: usize) -> [Wide; 3] {
        [turn[0][c], turn[1][c], turn[2][c]]
    }

    /// Spin of a link per joint velocity.
    fn spin(&self, link: usize) -> Columns {
        let mut columns = vec![[Wide::ZERO; 3]; self.n];
        for link in self.carriers(link) {
            match link.motion {
                Motion::Revolute => columns[link.first] = link.axis,
                Motion::Spherical | Motion::Free => {
                    for c in 0..3 {
                        columns[link.first + c] = Chain::column(&link.turn, c);
                    }
                }
                Motion::Prismatic | Motion::Fixed => {}
            }
        }
        columns
    }

    /// Velocity of a world point that moves with a link, per joint velocity.
    fn point(&self, link: usize, point: [Wide; 3]) -> Columns {
        let mut columns = vec![[Wide::ZERO; 3]; self.n];
        for link in self.carriers(link) {
            let arm = minus(point, link.origin);
            match link.motion {
                Motion::Revolute => columns[link.first] = cross(link.axis, arm),
                Motion::Prismatic => columns[link.first] = link.axis,
                Motion::Spherical | Motion::Free => {
                    for c in 0..3 {
                        let axis = Chain::column(&link.turn, c);
                        columns[link.first + c] = cross(axis, arm);
                        if link.motion == Motion::Free {
                            columns[link.first + 3 + c] = axis;
                        }
                    }
                }
                Motion::Fixed => {}
            }
        }
        columns
    }

    /// d·(velocity of the first point − velocity of the second).
    pub(crate) fn along(&self, ends: &[Point; 2], direction: [Wide; 3]) -> Vec<Wide> {
        self.difference(ends, direction, |link, point| {
            let owner = &self.links[link];
            self.point(link, plus(owner.origin, apply(&owner.turn, point)))
        })
    }

    /// d·(spin of the first link − spin of the second).
    pub(crate) fn about(&self, ends: &[Point; 2], direction: [Wide; 3]) -> Vec<Wide> {
        self.difference(ends, direction, |link, _| self.spin(link))
    }

    fn difference(
        &self,
        ends: &[Point; 2],
        direction: [Wide; 3],
        columns: impl Fn(usize, [Wide; 3]) -> Columns,
    ) -> Vec<Wide> {
        let mut row = vec![Wide::ZERO; self.n];
        for (Point(link, point), sign) in ends.iter().zip([Wide::ONE, -Wide::ONE]) {
            if let Some(link) = link {
                for (row, column) in row.iter_mut().zip(columns(*link, *point)) {
                    *row += sign * dot(&direction, &column);
                }
            }
        }
        row
    }

    /// M = Σ m JᵥᵀJᵥ + J_ωᵀ I J_ω, inverted, with v¹ = M⁻¹p.
    pub(crate) fn mass(&self, p: &[Wide]) -> Result<Mass, Unread> {
        let n = self.n;
        let mut matrix = vec![Wide::ZERO; n * n];
        for link in &self.links {
            let turned: Columns = link.spin.iter().map(|c| apply(&link.inertia, *c)).collect();
            for i in 0..n {
                for j in 0..n {
                    matrix[i * n + j] += link.mass
                        * dot(&link.move_centre[i], &link.move_centre[j])
                        + dot(&link.spin[i], &turned[j]);
                }
            }
        }
        let inverse = inverse(&matrix, n).ok_or(Unread::Indefinite {
            what: "the tree's mass",
        })?;
        let free = inverse
            .chunks_exact(n.max(1))
            .map(|row| dot(row, p))
            .collect();
        Ok(Mass { inverse, free })
    }

    /// C(q, v) v + g(q): what the joints must hold so that no joint velocity changes.
    pub(crate) fn bias(&self, v: &[Wide], gravity: [Wide; 3]) -> Vec<Wide> {
        let zero = [Wide::ZERO; 3];
        let mut bias = vec![Wide::ZERO; self.n];
        // Spin ω, its change α and the acceleration a of the origin of each link, with the joint velocities held.
        let mut states: Vec<([Wide; 3], [Wide; 3], [Wide; 3])> = Vec::new();
        for link in &self.links {
            let (spin, turn, pull, from) = match link.parent {
                None => (zero, zero, zero, zero),
                Some(id) => (
                    states[id].0,
                    states[id].1,
                    states[id].2,
                    self.links[id].origin,
                ),
            };
            let own = |first: usize| apply(&link.turn, [v[first], v[first + 1], v[first + 2]]);
            let (own_spin, own_move) = match link.motion {
                Motion::Revolute => (scaled(link.axis, v[link.first]), zero),
                Motion::Prismatic => (zero, scaled(link.axis, v[link.first])),
                Motion::Spherical => (own(link.first), zero),
                Motion::Free => (own(link.first), own(link.first + 3)),
                Motion::Fixed => (zero, zero),
            };
            let here = plus(spin, own_spin);
            let arm = minus(link.origin, from);
            // a = a_p + α_p × r + ω_p × (ω_p × r) + ω_p × u + ω × u, with u the joint's own velocity in the link's axes.
            let swing = plus(cross(turn, arm), cross(spin, cross(spin, arm)));
            let slide = plus(cross(spin, own_move), cross(here, own_move));
            let origin = plus(pull, plus(swing, slide));
            let change = plus(turn, cross(spin, own_spin));
            states.push((here, change, origin));
            let arm = minus(link.centre, link.origin);
            let centre = plus(
                origin,
                plus(cross(change, arm), cross(here, cross(here, arm))),
            );
            let force = scaled(minus(centre, gravity), link.mass);
            let momentum = apply(&link.inertia, here);
            let torque = plus(apply(&link.inertia, change), cross(here, momentum));
            for i in 0..self.n {
                bias[i] += dot(&link.move_centre[i], &force) + dot(&link.spin[i], &torque);
            }
        }
        bias
    }
}

/// The rotation about a unit axis.
fn about(axis: [Wide; 3], angle: Wide) -> Matrix3 {
    let (sin, cos) = angle.sin_cos();
    // R = c 1 + s [a]× + (1 − c) a aᵀ
    let mut turn = [[Wide::ZERO; 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            turn[i][j] = (Wide::ONE - cos) * axis[i] * axis[j];
        }
        turn[i][i] += cos;
    }
    let s = scaled(axis, sin);
    turn[0][1] -= s[2];
    turn[0][2] += s[1];
    turn[1][0] += s[2];
    turn[1][2] -= s[0];
    turn[2][0] -= s[1];
    turn[2][1] += s[0];
    turn
}
