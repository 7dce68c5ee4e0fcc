//! Built-in problems by name, shared by tests, benches and the command line.
//!
//! Each is one step of a small scene, built from bodies at rest under gravity (or given velocities) with
//! h = 10 ms. The same name gives the same bits everywhere.

pub mod experiments;

use glam::{DMat3, DVec3};

use crate::error::BuildError;
use crate::index::MassId;
use crate::law::Law;
use crate::math::{Random, tangents};
use crate::problem::jacobian::{point_row, point_rows};
use crate::problem::mass::MassBlock;
use crate::problem::{Problem, ProblemBuilder};

/// One built-in problem.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// Its name; a size may follow as `name:12`.
    pub name: &'static str,
    /// The size taken when none is given, or zero where it has none.
    pub size: usize,
    /// The largest size.
    pub limit: usize,
    /// What it is, in one line.
    pub about: &'static str,
    make: fn(usize) -> Result<Problem, BuildError>,
}

const GRAVITY: f64 = 9.81;
const STEP: f64 = 0.01;

/// All built-in problems.
pub fn exhibits() -> &'static [Exhibit] {
    const fn exhibit(
        name: &'static str,
        (size, limit): (usize, usize),
        about: &'static str,
        make: fn(usize) -> Result<Problem, BuildError>,
    ) -> Exhibit {
        Exhibit {
            name,
            size,
            limit,
            about,
            make,
        }
    }
    const ALL: [Exhibit; 9] = [
        exhibit(
            "slide",
            (0, 0),
            "a ball thrown along the ground: one sliding contact",
            slide,
        ),
        exhibit(
            "rod",
            (0, 0),
            "a tilted rod hits the ground: normal and tangent coupled",
            rod,
        ),
        exhibit(
            "corner",
            (0, 0),
            "a block pushed into a corner: 12 redundant contacts",
            corner,
        ),
        exhibit(
            "peg",
            (16, 4096),
            "a peg in a square hole, N contacts on its walls",
            peg,
        ),
        exhibit(
            "stack",
            (5, 100_000),
            "N boxes on each other, four contacts each",
            stack,
        ),
        exhibit(
            "heavy-stack",
            (5, 100_000),
            "the same with a top 100 times as heavy",
            heavy_stack,
        ),
        exhibit(
            "pile",
            (1000, 4_000_000),
            "spheres in a sheared lattice, N contacts",
            pile,
        ),
        exhibit(
            "chain",
            (40, 1_000_000),
            "N beads on ball joints, swinging",
            chain,
        ),
        exhibit(
            "machine",
            (0, 0),
            "motor, gear, limit, rolling wheel: every other law",
            machine,
        ),
    ];
    &ALL
}

/// Why a built-in problem cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GalleryError {
    /// No such problem.
    #[error("there is no built-in problem \"{name}\"; known: {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A size that is no number, zero or too large.
    #[error("\"{text}\" is not a size of {name}; give a whole number from 1 to {limit}")]
    BadSize {
        /// The problem.
        name: &'static str,
        /// What was given as size.
        text: String,
        /// The largest size.
        limit: usize,
    },
    /// A size given to a problem that has none.
    #[error("{name} has no size; leave out \":{text}\"")]
    NoSize {
        /// The problem.
        name: &'static str,
        /// What was given as size.
        text: String,
    },
    /// The problem itself is refused; none of these should be.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Makes a built-in problem from `name` or `name:size`. The same name gives the same bits.
pub fn build(spec: &str) -> Result<Problem, GalleryError> {
    let (name, text) = match spec.split_once(':') {
        Some((name, text)) => (name, Some(text)),
        None => (spec, None),
    };
    let Some(exhibit) = exhibits().iter().find(|exhibit| exhibit.name == name) else {
        let known: Vec<&str> = exhibits().iter().map(|exhibit| exhibit.name).collect();
        let name = name.chars().take(80).collect();
        return Err(GalleryError::Unknown {
            name,
            known: known.join(", "),
        });
    };
    let size = match text {
        None => exhibit.size,
        Some(text) if exhibit.limit == 0 => {
            return Err(GalleryError::NoSize {
                name: exhibit.name,
                text: text.to_owned(),
            });
        }
        Some(text) => match text.parse() {
            Ok(size) if 1 <= size && size <= exhibit.limit => size,
            _ => {
                let (name, limit) = (exhibit.name, exhibit.limit);
                return Err(GalleryError::BadSize {
                    name,
                    text: text.to_owned(),
                    limit,
                });
            }
        },
    };
    Ok((exhibit.make)(size)?)
}

/// A builder that knows where its bodies are.
#[derive(Default)]
struct Scene {
    builder: ProblemBuilder,
    centres: Vec<DVec3>,
}

impl Scene {
    /// Adds a body whose inertia is diagonal in world axes, with velocity and force besides gravity.
    fn body(
        &mut self,
        (mass, inertia): (f64, DVec3),
        centre: DVec3,
        (velocity, spin): (DVec3, DVec3),
        (force, torque): (DVec3, DVec3),
    ) -> Result<MassId, BuildError> {
        let inertia = DMat3::from_diagonal(inertia);
        let linear = mass * velocity + STEP * (force - DVec3::Z * (mass * GRAVITY));
        let angular = inertia * spin + STEP * (torque - spin.cross(inertia * spin));
        let p = [
            linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
        ];
        self.centres.push(centre);
        self.builder.add_mass(MassBlock::rigid(mass, inertia)?, &p)
    }

    /// A contact at `point`, normal from b to a.
    fn contact(
        &mut self,
        (a, b): (MassId, Option<MassId>),
        point: DVec3,
        normal: DVec3,
        mu: f64,
    ) -> Result<(), BuildError> {
        let (t1, t2) = tangents(normal);
        self.rows(
            Law::FrictionCone { mu },
            (a, b),
            (point, [normal, t1, t2]),
            [0.0; 3],
        )
    }

    fn rows(
        &mut self,
        law: Law,
        (a, b): (MassId, Option<MassId>),
        (point, directions): (DVec3, [DVec3; 3]),
        q: [f64; 3],
    ) -> Result<(), BuildError> {
        let first = point_rows(directions, point - self.centres[a.index()], 1.0);
        let mut rows: Vec<(MassId, &[f64])> = vec![(a, &first)];
        let second;
        if let Some(b) = b {
            second = point_rows(directions, point - self.centres[b.index()], -1.0);
            rows.push((b, &second));
        }
        self.builder
            .add_block(law, &rows, &[0.0; 3], &q)
            .map(|_| ())
    }

    fn scalar(
        &mut self,
        law: Law,
        rows: &[(MassId, [f64; 6])],
        sigma: f64,
        q: f64,
    ) -> Result<(), BuildError> {
        let rows: Vec<(MassId, &[f64])> = rows.iter().map(|(id, g)| (*id, &g[..])).collect();
        self.builder
            .add_block(law, &rows, &[sigma], &[q])
            .map(|_| ())
    }
}

const REST: (DVec3, DVec3) = (DVec3::ZERO, DVec3::ZERO);

fn ball(mass: f64, radius: f64) -> (f64, DVec3) {
    (mass, DVec3::splat(0.4 * mass * radius * radius))
}

fn cuboid(mass: f64, half: DVec3) -> (f64, DVec3) {
    let s = half * half * (mass / 3.0);
    (mass, DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y))
}

fn slide(_: usize) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let start = (DVec3::new(2.0, 0.5, 0.0), DVec3::new(0.0, 0.0, 3.0));
    let body = scene.body(ball(1.0, 0.5), DVec3::Z * 0.5, start, REST)?;
    scene.contact((body, None), DVec3::ZERO, DVec3::Z, 0.4)?;
    scene.builder.build()
}

fn rod(_: usize) -> Result<Problem, BuildError> {
    // A thin rod of length 1 leaning by 40 degrees in a plane turned by 25: its end slides as it hits.
    let (sin, cos) = 40f64.to_radians().sin_cos();
    let (yaw_sin, yaw_cos) = 25f64.to_radians().sin_cos();
    let axis = DVec3::new(cos * yaw_cos, cos * yaw_sin, sin);
    let outer = DMat3::from_cols(axis * axis.x, axis * axis.y, axis * axis.z);
    let inertia = (DMat3::IDENTITY - outer) * (1.0 / 12.0) + outer * 1e-4;
    let mut builder = Problem::builder();
    let p = [1.0, 0.3, -1.2, 0.0, 0.02, 0.0];
    let body = builder.add_mass(MassBlock::rigid(1.0, inertia)?, &p)?;
    let (t1, t2) = tangents(DVec3::Z);
    let rows = point_rows([DVec3::Z, t1, t2], axis * -0.5, 1.0);
    let law = Law::FrictionCone { mu: 0.4 };
    builder.add_block(law, &[(body, &rows)], &[0.0; 3], &[0.0; 3])?;
    builder.build()
}

fn corner(_: usize) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let push = (DVec3::new(-30.0, -20.0, 5.0), DVec3::new(1.5, -1.0, 2.0));
    let half = DVec3::splat(0.5);
    let body = scene.body(cuboid(1.0, half), half, REST, push)?;
    for axis in 0..3 {
        for (i, j) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)] {
            let mut point = [0.0; 3];
            point[(axis + 1) % 3] = i;
            point[(axis + 2) % 3] = j;
            scene.contact((body, None), DVec3::from(point), DVec3::AXES[axis], 0.3)?;
        }
    }
    scene.builder.build()
}

fn peg(contacts: usize) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let half = DVec3::new(0.1, 0.1, 0.5);
    let push = (DVec3::new(8.0, -5.0, -20.0), DVec3::new(2.0, 1.0, 0.5));
    let body = scene.body(cuboid(1.0, half), DVec3::ZERO, REST, push)?;
    for i in 0..contacts {
        let normal = [DVec3::NEG_X, DVec3::X, DVec3::NEG_Y, DVec3::Y][i % 4];
        let (layer, layers) = (i / 4, contacts.div_ceil(4));
        let height = if layers == 1 {
            0.0
        } else {
            layer as f64 / (layers - 1) as f64 - 0.5
        };
        let side = if layer % 2 == 0 { 0.1 } else { -0.1 };
        let along = normal.cross(DVec3::Z) * side;
        let point = normal * -0.1 + along + DVec3::Z * height;
        scene.contact((body, None), point, normal, 0.25)?;
    }
    scene.builder.build()
}

fn stack(boxes: usize) -> Result<Problem, BuildError> {
    boxes_on_boxes(boxes, 1.0)
}

fn heavy_stack(boxes: usize) -> Result<Problem, BuildError> {
    boxes_on_boxes(boxes, 100.0)
}

fn boxes_on_boxes(boxes: usize, top: f64) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let half = DVec3::splat(0.5);
    let mut below = None;
    for i in 0..boxes {
        let mass = if i + 1 == boxes { top } else { 1.0 };
        let centre = DVec3::Z * (i as f64 + 0.5);
        let push = (DVec3::X * 0.2 * mass, DVec3::ZERO);
        let body = scene.body(cuboid(mass, half), centre, REST, push)?;
        for (x, y) in [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)] {
            scene.contact((body, below), DVec3::new(x, y, i as f64), DVec3::Z, 0.5)?;
        }
        below = Some(body);
    }
    scene.builder.build()
}

fn pile(contacts: usize) -> Result<Problem, BuildError> {
    // Spheres on a sheared cubic lattice: each touches the one below (or the ground) and, in x and y, its
    // predecessor; about three contacts a sphere. Masses and speeds vary by a fixed seed.
    let side = ((contacts as f64 / 3.0).cbrt().ceil() as usize).max(1);
    let mut random = Random::new(2013);
    let mut scene = Scene::default();
    let mut made = 0;
    let radius = 0.1;
    let tilt = [
        DVec3::new(1.0, 0.0, 0.0),
        DVec3::new(0.2, 1.0, 0.0),
        DVec3::new(0.1, 0.2, 1.0),
    ];
    let axes = tilt.map(|axis| axis.normalize() * 2.0 * radius);
    'all: for k in 0.. {
        for (i, j) in (0..side).flat_map(|j| (0..side).map(move |i| (i, j))) {
            if contacts <= made {
                break 'all;
            }
            let centre = axes[0] * i as f64 + axes[1] * j as f64 + axes[2] * k as f64;
            let speed = (random.vector() * 0.05, random.vector());
            let body = scene.body(ball(random.range(0.5, 2.0), radius), centre, speed, REST)?;
            for (axis, (at, stride)) in [(k, side * side), (i, 1), (j, side)].iter().enumerate() {
                let n = [axes[2], axes[0], axes[1]][axis].normalize();
                if contacts <= made || (*at == 0 && axis != 0) {
                    continue;
                }
                let neighbour = (*at != 0).then(|| MassId(body.0 - *stride as u32));
                let normal = if neighbour.is_some() { n } else { DVec3::Z };
                scene.contact((body, neighbour), centre - normal * radius, normal, 0.3)?;
                made += 1;
            }
        }
    }
    scene.builder.build()
}

fn chain(beads: usize) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let mut random = Random::new(40);
    let radius = 0.05;
    let (mut joint, mut previous) = (DVec3::ZERO, None);
    for _ in 0..beads {
        let axis = (DVec3::X + 0.5 * random.vector()).normalize();
        let speed = (random.vector() * 0.2, random.vector());
        let body = scene.body(ball(1.0, radius), joint + axis * radius, speed, REST)?;
        scene.rows(
            Law::Equality,
            (body, previous),
            (joint, DVec3::AXES),
            [0.0; 3],
        )?;
        joint += axis * (2.0 * radius);
        previous = Some(body);
    }
    scene.builder.build()
}

fn machine(_: usize) -> Result<Problem, BuildError> {
    let mut scene = Scene::default();
    let wheel = ball(1.0, 0.3);
    let mut wheels = Vec::new();
    for i in 0..3 {
        let centre = DVec3::new(i as f64, 0.0, 1.0);
        let spin = (DVec3::ZERO, DVec3::Y * (1.0 + i as f64));
        let id = scene.body(wheel, centre, spin, REST)?;
        // Each wheel turns about a pin along y: three rows for the point, two for the axis.
        scene.rows(Law::Equality, (id, None), (centre, DVec3::AXES), [0.0; 3])?;
        for axis in [DVec3::X, DVec3::Z] {
            scene.scalar(Law::Equality, &[(id, angular(axis, 1.0))], 0.0, 0.0)?;
        }
        wheels.push(id);
    }
    // A differential: ω₀ + ω₁ − 2ω₂ = 0, one row on three bodies.
    let gear = [(wheels[0], 1.0), (wheels[1], 1.0), (wheels[2], -2.0)];
    let gear = gear.map(|(id, ratio)| (id, angular(DVec3::Y, ratio)));
    scene.scalar(Law::Equality, &gear, 0.0, 0.0)?;
    // A velocity motor with limited torque, dry friction in a bearing, and a limit about to be hit.
    let motor = Law::Interval {
        lo: -0.02,
        hi: 0.02,
    };
    scene.scalar(motor, &[(wheels[0], angular(DVec3::Y, 1.0))], 0.0, 4.0)?;
    let bearing = Law::Interval {
        lo: -0.001,
        hi: 0.001,
    };
    scene.scalar(bearing, &[(wheels[1], angular(DVec3::Y, 1.0))], 0.0, 0.0)?;
    scene.scalar(
        Law::Unilateral,
        &[(wheels[2], angular(DVec3::Y, -1.0))],
        1e-4,
        -1.0,
    )?;
    // A ball that rolls on a belt moving at 0.5 m/s: nonholonomic rows with a prescribed velocity.
    let start = (DVec3::X, DVec3::ZERO);
    let roller = scene.body(ball(2.0, 0.2), DVec3::new(0.0, 3.0, 0.2), start, REST)?;
    let arm = DVec3::Z * -0.2;
    scene.scalar(
        Law::Unilateral,
        &[(roller, point_row(DVec3::Z, arm, 1.0))],
        0.0,
        0.0,
    )?;
    for (axis, belt) in [(DVec3::X, 0.5), (DVec3::Y, 0.0)] {
        scene.scalar(
            Law::Equality,
            &[(roller, point_row(axis, arm, 1.0))],
            0.0,
            belt,
        )?;
    }
    // A skate: friction across its blade, hardly any along it; and a box law for comparison.
    let skate = scene.body(
        cuboid(3.0, DVec3::new(0.2, 0.05, 0.05)),
        DVec3::Y * 5.0,
        start,
        REST,
    )?;
    let foot = DVec3::new(0.0, 5.0, -0.05);
    let frame = (foot, [DVec3::Z, DVec3::X, DVec3::Y]);
    scene.rows(
        Law::EllipticCone { mu: [0.02, 0.8] },
        (skate, None),
        frame,
        [0.0; 3],
    )?;
    let brick = scene.body(cuboid(3.0, DVec3::splat(0.1)), DVec3::Y * 7.0, start, REST)?;
    let frame = (DVec3::new(0.0, 7.0, -0.1), [DVec3::Z, DVec3::X, DVec3::Y]);
    scene.rows(Law::FrictionBox { mu: 0.5 }, (brick, None), frame, [0.0; 3])?;
    scene.builder.build()
}

/// The row "angular velocity about an axis".
fn angular(axis: DVec3, ratio: f64) -> [f64; 6] {
    let a = axis * ratio;
    [0.0, 0.0, 0.0, a.x, a.y, a.z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GaussSeidel, Solution, Solver, Status, Stop};

    #[test]
    fn every_exhibit_is_solved_by_the_default_solver() {
        for exhibit in exhibits() {
            let problem = build(exhibit.name).unwrap();
            let stop = Stop {
                tolerance: 1e-6,
                iterations: 200_000,
                ..Stop::default()
            };
            let mut solution = Solution::zeros(&problem);
            let report = GaussSeidel {
                stop,
                ..Default::default()
            }
            .solve(&problem, &mut solution);
            assert_eq!(report.status, Status::Solved, "{}: {report}", exhibit.name);
            assert!(
                report.residual.momentum < 1e-9,
                "{}: {report}",
                exhibit.name
            );
        }
    }

    #[test]
    fn piles_have_the_number_of_contacts_asked_for() {
        for n in [1, 2, 7, 100, 1001] {
            assert_eq!(build(&format!("pile:{n}")).unwrap().blocks().len(), n);
        }
        assert_eq!(build("peg:8").unwrap().blocks().len(), 8);
    }

    #[test]
    fn wrong_names_and_sizes_are_refused_with_what_is_known() {
        assert!(build("pil").unwrap_err().to_string().contains("pile"));
        for bad in [
            "stack:0",
            "stack:-1",
            "stack:x",
            "stack:99999999999999999999",
            "stack:",
        ] {
            assert!(
                build(bad).unwrap_err().to_string().contains("whole number"),
                "{bad}"
            );
        }
        assert!(
            build("slide:3")
                .unwrap_err()
                .to_string()
                .contains("no size")
        );
    }
}
