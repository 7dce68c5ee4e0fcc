//! How far one body falls straight before it touches another: where to put what rests on something.

use crate::math::{DQuat, DVec3};

use super::clip::Scratch;
use super::narrow::{self, PlacedSolid, Solid};
use super::query::ball;
use super::ready::{Ready, extent, prepare};
use super::reduce::Raw;
use super::solid::PoseMatrix;
use super::{CollideError, Collider};

/// Most looks of a fall.
const LOOKS: usize = 200;
/// Most doublings of the height it starts from.
const LIFTS: usize = 60;
/// What counts as touching, as a share of the size of the smaller body.
const TOUCH: f64 = 1e-12;
/// Share of the size by which a body that rests is lowered to see what it rests on.
const BELOW: f64 = 1e-4;

/// The shapes of one body where it stands.
pub(crate) struct Standing {
    ready: Vec<Ready>,
    at: DVec3,
    turn: DQuat,
}

impl Standing {
    /// Shapes of a body at a pose.
    pub(crate) fn new(
        colliders: &[Collider],
        (at, turn): (DVec3, DQuat),
    ) -> Result<Standing, CollideError> {
        let ready = colliders.iter().cloned().enumerate();
        let ready = ready.map(|(i, collider)| prepare(i, collider));
        let ready = ready.collect::<Result<_, _>>()?;
        Ok(Standing { ready, at, turn })
    }

    /// Where they are once the body was moved.
    fn frames(&self, by: DVec3) -> Vec<PoseMatrix> {
        let frame = |c: &Ready| {
            let (offset, rotation) = c.place.unwrap_or((DVec3::ZERO, DQuat::IDENTITY));
            PoseMatrix::new(self.at + by + self.turn * offset, self.turn * rotation)
        };
        self.ready.iter().map(frame).collect()
    }

    /// Largest distance of a point from the origin of the body; zero for what has no end.
    fn size(&self) -> f64 {
        let frames = self.frames(DVec3::ZERO);
        let reach = |(c, frame): (&Ready, &PoseMatrix)| {
            let (centre, half) = extent(&c.solid, frame)?;
            Some((centre - self.at).length() + half.length())
        };
        let all = self.ready.iter().zip(&frames).filter_map(reach);
        all.fold(0.0, f64::max)
    }
}

/// A body that falls towards another.
struct Fall<'a> {
    falling: &'a Standing,
    resting: &'a Standing,
    down: DVec3,
}

impl Fall<'_> {
    /// How far it may go on at least, having been moved, until some contact closes; infinite where none does. And how deep
    /// it is.
    fn ahead(&self, by: DVec3, most: f64) -> (f64, f64) {
        let (mut bound, mut depth) = (f64::INFINITY, 0.0_f64);
        let (mut scratch, mut raw) = (Scratch::default(), Vec::new());
        let (own, others) = (self.falling.frames(by), self.resting.frames(DVec3::ZERO));
        for (a, frame) in self.falling.ready.iter().zip(&own) {
            for (b, other) in self.resting.ready.iter().zip(&others) {
                if !a.group.meet(b.group) {
                    continue;
                }
                let x = placed(&a.solid, frame);
                let y = placed(&b.solid, other);
                raw.clear();
                match (ball(x), ball(y)) {
                    (Some(x), Some(y)) => raw.extend(narrow::balls(x, y, most)),
                    _ => narrow::contacts(x, y, most, &mut scratch, &mut raw),
                }
                for Raw { normal, gap, .. } in &raw {
                    // A plane with this normal lies between: it is reached after gap/c at the rate c = −n · d.
                    let rate = -normal.dot(self.down);
                    if 0.0 < rate {
                        bound = bound.min(gap / rate);
                    }
                    depth = depth.max(-gap);
                }
            }
        }
        (bound, depth)
    }

    /// Height above its place from which it touches nothing on the way up.
    fn start(&self, size: f64) -> Option<f64> {
        let apart = (self.falling.at - self.resting.at).length();
        let mut lift = 2.0 * (size + apart) + 1.0;
        for _ in 0..LIFTS {
            let (bound, depth) = self.ahead(-self.down * lift, 4.0 * lift);
            if depth == 0.0 && bound.is_finite() && 0.0 < bound {
                return Some(lift);
            }
            lift *= 2.0;
        }
        None
    }

    /// How far it is moved along `down`, less than zero upwards, to touch from above.
    fn land(&self) -> Option<f64> {
        let sizes = [self.falling.size(), self.resting.size()];
        let size = sizes.into_iter().fold(0.0, f64::max);
        let mut at = -self.start(size)?;
        let mut clear = at;
        for _ in 0..LOOKS {
            let (bound, depth) = self.ahead(self.down * at, 8.0 * (size + at.abs()) + 1.0);
            if TOUCH * size < depth {
                clear = self.between(clear, at);
                break;
            }
            if !bound.is_finite() {
                return None;
            }
            clear = at;
            if bound <= TOUCH * size {
                break;
            }
            at += bound;
        }
        self.rests_at(clear, size).then_some(clear)
    }

    /// Whether it touches nothing here, and something just below.
    fn rests_at(&self, at: f64, size: f64) -> bool {
        let depth = |by: f64| self.ahead(self.down * by, 0.0).1;
        depth(at) <= 1e3 * TOUCH * size && 0.0 < depth(at + BELOW * size)
    }

    /// Where it begins to overlap, between a place where it does not and one where it does.
    fn between(&self, mut clear: f64, mut deep: f64) -> f64 {
        for _ in 0..LOOKS {
            let middle = 0.5 * (clear + deep);
            if middle <= clear || deep <= middle {
                break;
            }
            if 0.0 < self.ahead(self.down * middle, 0.0).1 {
                deep = middle;
            } else {
                clear = middle;
            }
        }
        clear
    }
}

fn placed<'a>(solid: &'a Solid, frame: &'a PoseMatrix) -> PlacedSolid<'a> {
    PlacedSolid { solid, frame }
}

/// How far a body of convex shapes is moved along a direction of length one, so that it touches another one coming from far
/// against that direction; `None` where it never does.
pub(crate) fn land(falling: &Standing, resting: &Standing, down: DVec3) -> Option<f64> {
    let fall = Fall {
        falling,
        resting,
        down,
    };
    fall.land()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collide::Shape;

    /// Rounding of a few operations at heights of some metres.
    const ROUNDING: f64 = 1e-9;

    fn dropped(falling: Shape, at: DVec3, resting: Shape, turn: DQuat) -> Option<f64> {
        let standing = |shape, pose| Standing::new(&[Collider::new(shape, 0)], pose).unwrap();
        let falling = standing(falling, (at, DQuat::IDENTITY));
        let resting = standing(resting, (DVec3::ZERO, turn));
        land(&falling, &resting, -DVec3::Z).map(|by| at.z - by)
    }

    #[test]
    fn balls_and_boxes_land_where_geometry_says() {
        let ball = || Shape::Sphere { radius: 0.5 };
        let cube = || Shape::Box { half: [0.5; 3] };
        let level = DQuat::IDENTITY;
        let close = |z: Option<f64>, expected: f64| {
            let z = z.unwrap();
            assert!((z - expected).abs() < ROUNDING, "{z} {expected}");
        };
        close(dropped(cube(), DVec3::ZERO, Shape::HalfSpace, level), 0.5);
        close(dropped(cube(), DVec3::Z * -7.0, cube(), level), 1.0);
        // Centres 0.6 apart sideways: √(1 − 0.36) above.
        close(dropped(ball(), DVec3::X * 0.6, ball(), level), 0.8);
        // On a slope of 30°: r/cos 30° above it.
        let tilt = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_6);
        let slope = 0.5 / tilt.mul_vec3(DVec3::Z).z;
        close(dropped(ball(), DVec3::ZERO, Shape::HalfSpace, tilt), slope);
        // A ball on the edge of a box that stands on its edge.
        let edge = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_4);
        close(
            dropped(ball(), DVec3::ZERO, cube(), edge),
            0.5 + 0.5_f64.sqrt(),
        );
        assert_eq!(dropped(ball(), DVec3::X * 3.0, cube(), level), None);
        let mesh = Shape::Mesh {
            vertices: vec![[-9.0, -9.0, 1.0], [9.0, -9.0, 1.0], [0.0, 9.0, 1.0]],
            triangles: vec![[0, 1, 2]],
        };
        close(dropped(cube(), DVec3::ZERO, mesh, level), 1.5);
    }
}
