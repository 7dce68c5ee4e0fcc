//! The experiments of [Lemke05 §5.4]: rigid bodies at rest, touching at many points, pushed by random wrenches.
//!
//! Three families: a peg in a round hole, ten situations of one body, and stacked blocks. Each contact is a
//! faceted cone of eight directions with μ between 0.2 and 0.3, and a problem is one step of 10 ms from rest. The
//! same name and seed give the same bits everywhere.

use std::f64::consts::TAU;

use glam::{DMat3, DVec3};

use crate::error::BuildError;
use crate::law::Law;
use crate::math::{Random, tangents};
use crate::problem::Problem;
use crate::problem::mass::MassBlock;
use crate::problem::place::Point;

/// Friction directions of every contact.
pub const DIRECTIONS: u32 = 8;
/// Step \[s\].
const STEP: f64 = 0.01;
const GRAVITY: f64 = 9.81;
/// Standard sizes: mass \[kg\], half an edge or a radius \[m\], half the distance of the peg's two rings \[m\].
const MASS: f64 = 1.0;
const HALF: f64 = 0.1;
const RING: f64 = 0.15;
/// Size of the random force \[N\] and torque \[N m\].
const PUSH: (f64, f64) = (20.0, 1.0);

/// Which of the paper's tests an experiment belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// A peg in a hole; figures 5 and 6.
    Peg,
    /// One body in ten situations; figures 7 and 8.
    Single,
    /// Stacked blocks; figure 10.
    Stack,
}

/// One geometry, to be pushed by any number of wrenches.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name, with the number of contacts.
    pub name: String,
    /// The test it belongs to.
    pub family: Family,
    bodies: Vec<Body>,
    contacts: Vec<ContactSpec>,
    gravity: f64,
}

#[derive(Clone, Debug)]
struct Body {
    inertia: DVec3,
    centre: DVec3,
}

/// A contact of body `a` on `b`, or on the ground.
#[derive(Clone, Debug)]
struct ContactSpec {
    a: usize,
    b: Option<usize>,
    point: DVec3,
    normal: DVec3,
}

impl Experiment {
    /// Number of bodies m.
    pub fn bodies(&self) -> usize {
        self.bodies.len()
    }

    /// Number of contacts n.
    pub fn contacts(&self) -> usize {
        self.contacts.len()
    }

    /// One problem per wrench; the wrench acts on the last body. Coefficients of friction and wrenches come from
    /// the seed and the experiment's size.
    pub fn problems(&self, wrenches: usize, seed: u64) -> Result<Vec<Problem>, BuildError> {
        let salt =
            (self.family as u64) << 32 | (self.bodies() as u64) << 16 | self.contacts() as u64;
        let mut random = Random::new(seed ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mu: Vec<f64> = self
            .contacts
            .iter()
            .map(|_| random.range(0.2, 0.3))
            .collect();
        let mut problems = Vec::with_capacity(wrenches);
        for _ in 0..wrenches {
            let wrench = (random.vector() * PUSH.0, random.vector() * PUSH.1);
            problems.push(self.problem(&mu, wrench)?);
        }
        Ok(problems)
    }

    fn problem(&self, mu: &[f64], (force, torque): (DVec3, DVec3)) -> Result<Problem, BuildError> {
        let mut builder = Problem::builder();
        builder.reserve(self.bodies(), self.contacts());
        let mut masses = Vec::with_capacity(self.bodies());
        for (i, body) in self.bodies.iter().enumerate() {
            let mut linear = DVec3::NEG_Z * (MASS * self.gravity);
            let mut angular = DVec3::ZERO;
            if i + 1 == self.bodies() {
                linear += force;
                angular += torque;
            }
            let p = [
                linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
            ];
            let inertia = DMat3::from_diagonal(body.inertia);
            masses.push(builder.add_mass(MassBlock::rigid(MASS, inertia)?, &p.map(|x| x * STEP))?);
        }
        for (contact, &mu) in self.contacts.iter().zip(mu) {
            let (t1, t2) = tangents(contact.normal);
            let end = |b: usize| (masses[b], contact.point - self.bodies[b].centre);
            let point = Point {
                directions: &[contact.normal, t1, t2],
                first: Some(end(contact.a)),
                second: contact.b.map(end),
            };
            let directions = DIRECTIONS;
            let law = Law::FrictionFacets { mu, directions };
            builder.add_point(law, &point, &[0.0; 3], &[0.0; 3])?;
        }
        builder.build()
    }

    fn of_one_body(name: &str, inertia: DVec3, points: Vec<(DVec3, DVec3)>) -> Experiment {
        let touch = |(point, normal)| ContactSpec {
            a: 0,
            b: None,
            point,
            normal,
        };
        Experiment {
            name: format!("{name}:{}", points.len()),
            family: Family::Single,
            bodies: vec![Body {
                inertia,
                centre: DVec3::ZERO,
            }],
            contacts: points.into_iter().map(touch).collect(),
            gravity: GRAVITY,
        }
    }
}

/// A peg through a hole: rings of contacts around its top and its bottom, `contacts` in all (an even number).
pub fn peg(contacts: usize) -> Experiment {
    let around = contacts / 2;
    let mut points = Vec::with_capacity(2 * around);
    for height in [RING, -RING] {
        for i in 0..around {
            let outward = on_circle(i, around, 0.0);
            points.push((outward * HALF + DVec3::Z * height, -outward));
        }
    }
    let across = MASS * (HALF * HALF / 4.0 + RING * RING * 4.0 / 3.0);
    let inertia = DVec3::new(across, across, 0.5 * MASS * HALF * HALF);
    Experiment {
        family: Family::Peg,
        gravity: 0.0,
        ..Experiment::of_one_body("peg", inertia, points)
    }
}

/// Ten situations of one body, from one to sixteen contacts.
pub fn singles() -> Vec<Experiment> {
    let (ball, cube) = (DVec3::splat(0.4 * MASS * HALF * HALF), cube_inertia());
    let below = |points: Vec<DVec3>| points.into_iter().map(|p| (p, DVec3::Z)).collect();
    let floor = DVec3::NEG_Z * HALF;
    let ring = |count, radius, turn: f64| -> Vec<DVec3> {
        (0..count)
            .map(|i| floor + on_circle(i, count, turn) * radius)
            .collect()
    };
    // The cube's corners on its face with outward normal −e, seen from the middle.
    let face = |inward: DVec3| -> Vec<(DVec3, DVec3)> {
        let (u, v) = (
            inward.any_orthonormal_vector(),
            inward.cross(inward.any_orthonormal_vector()),
        );
        let corners = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)];
        corners
            .map(|(x, y)| ((u * x + v * y - inward) * HALF, inward))
            .to_vec()
    };
    let ends = [DVec3::X * HALF, DVec3::NEG_X * HALF];
    let edge = ends.map(|end| end + floor).to_vec();
    let (up, left) = (
        DVec3::new(0.0, 1.0, 1.0).normalize(),
        DVec3::new(0.0, -1.0, 1.0).normalize(),
    );
    let mut groove = Vec::new();
    for normal in [up, left] {
        // Two points along each wall at each end of a cube standing on its edge.
        let along = normal.cross(DVec3::X);
        let inward = if along.z < 0.0 { -along } else { along };
        for end in ends {
            for height in [0.2, 1.2] {
                let bottom = DVec3::NEG_Z * (HALF * std::f64::consts::SQRT_2);
                groove.push((end + bottom + inward * (HALF * height), normal));
            }
        }
    }
    let depth = 0.565;
    let rim = |count: usize| {
        let radius = f64::sqrt(1.0 - depth * depth);
        let point = |i| on_circle(i, count, 0.0) * radius - DVec3::Z * depth;
        (0..count).map(|i| (point(i) * HALF, -point(i))).collect()
    };
    let walls = |normals: &[DVec3]| normals.iter().flat_map(|n| face(*n)).collect::<Vec<_>>();
    let mut wedge = walls(&DVec3::AXES);
    wedge.extend(ring(4, 0.7 * HALF, 0.3).into_iter().map(|p| (p, DVec3::Z)));
    vec![
        Experiment::of_one_body("ball-on-plane", ball, vec![(floor, DVec3::Z)]),
        Experiment::of_one_body("edge-on-plane", cube, below(edge)),
        Experiment::of_one_body("stool", cube, below(ring(3, HALF, 0.0))),
        Experiment::of_one_body("block-on-face", cube, face(DVec3::Z)),
        Experiment::of_one_body("face-on-face", cube, below(ring(6, HALF, 0.24))),
        Experiment::of_one_body("block-in-groove", cube, groove),
        Experiment::of_one_body("ball-in-rim", ball, rim(8)),
        Experiment::of_one_body("block-in-corner", cube, walls(&DVec3::AXES)),
        Experiment::of_one_body(
            "block-in-slot",
            cube,
            walls(&[DVec3::Z, DVec3::Y, DVec3::NEG_Y]),
        ),
        Experiment::of_one_body("wedge-in-corner", cube, wedge),
    ]
}

/// Blocks on each other, the lowest on the ground. Face i carries `faces[i]` contacts: four where the blocks are
/// aligned, eight where they are turned by 45° and meet in an octagon.
pub fn stack(faces: &[usize]) -> Experiment {
    let mut contacts = Vec::new();
    let mut bodies = Vec::new();
    for (i, &count) in faces.iter().enumerate() {
        let height = DVec3::Z * (2.0 * HALF * i as f64);
        // Corners of the square, or of the octagon two squares share.
        let (radius, turn) = if count <= 4 {
            (HALF * std::f64::consts::SQRT_2, TAU / 8.0)
        } else {
            (HALF / f64::cos(TAU / 16.0), TAU / 16.0)
        };
        for k in 0..count {
            contacts.push(ContactSpec {
                a: i,
                b: i.checked_sub(1),
                point: height + on_circle(k, count, turn) * radius,
                normal: DVec3::Z,
            });
        }
        bodies.push(Body {
            inertia: cube_inertia(),
            centre: height + DVec3::Z * HALF,
        });
    }
    Experiment {
        name: format!("stack:{}x{}", faces.len(), contacts.len()),
        family: Family::Stack,
        bodies,
        contacts,
        gravity: GRAVITY,
    }
}

/// The ten stacks of the paper's size: one to five blocks, four to thirty-two contacts.
pub fn stacks() -> Vec<Experiment> {
    const FACES: [&[usize]; 10] = [
        &[4],
        &[8],
        &[4, 4],
        &[4, 8],
        &[4, 4, 4],
        &[4, 8, 8],
        &[4, 4, 4, 4],
        &[4, 8, 8, 8],
        &[4, 4, 4, 4, 4],
        &[4, 8, 4, 8, 8],
    ];
    FACES.iter().map(|faces| stack(faces)).collect()
}

fn cube_inertia() -> DVec3 {
    DVec3::splat(MASS * 4.0 * HALF * HALF / 6.0)
}

fn on_circle(i: usize, count: usize, turn: f64) -> DVec3 {
    let (sin, cos) = (TAU * i as f64 / count as f64 + turn).sin_cos();
    DVec3::new(cos, sin, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_paper() {
        let singles: Vec<usize> = singles().iter().map(Experiment::contacts).collect();
        assert_eq!(singles, [1, 2, 3, 4, 6, 8, 8, 12, 12, 16]);
        let stacks: Vec<(usize, usize)> = stacks()
            .iter()
            .map(|s| (s.bodies(), s.contacts()))
            .collect();
        assert_eq!(stacks[0], (1, 4));
        assert_eq!(stacks[9], (5, 32));
        assert_eq!(peg(32).contacts(), 32);
    }

    #[test]
    fn points_lie_on_the_bodies_and_normals_point_into_them() {
        let all = singles().into_iter().chain(stacks()).chain([peg(16)]);
        for experiment in all {
            for contact in &experiment.contacts {
                let arm = contact.point - experiment.bodies[contact.a].centre;
                assert!(
                    (contact.normal.length() - 1.0).abs() < 1e-12,
                    "{}",
                    experiment.name
                );
                assert!(
                    contact.normal.dot(arm) < 0.0,
                    "{}: {contact:?}",
                    experiment.name
                );
                assert!(arm.length() < 0.2, "{}: {contact:?}", experiment.name);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_problems() {
        let make = |seed| stack(&[4, 8]).problems(3, seed).unwrap();
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }
}
