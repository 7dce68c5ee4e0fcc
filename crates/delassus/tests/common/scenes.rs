//! Small mechanical scenes, one step each: what the sources argue about.

use delassus::math::{DMat3, DVec3, Random, tangents};
use delassus::problem::jacobian::point_rows;
use delassus::{Law, MassBlock, MassId, Problem, ProblemBuilder};

use super::planted::{rotation, unit};

/// Length of the step \[s\].
pub(crate) const H: f64 = 0.01;
/// Standard gravity [m/s²].
pub(crate) const GRAVITY: f64 = 9.81;

/// A load on a body besides gravity: force \[N\] and torque [N m].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wrench {
    pub(crate) force: DVec3,
    pub(crate) torque: DVec3,
}

impl Wrench {
    /// A load of up to 35 N and 5 N m in any direction.
    pub(crate) fn draw(random: &mut Random) -> Wrench {
        Wrench {
            force: random.vector() * 35.0,
            torque: random.vector() * 5.0,
        }
    }
}

/// A contact of body `a` with body `b` or the ground at a point, the normal pointing to `a`.
pub(crate) struct Contact {
    pub(crate) a: usize,
    pub(crate) b: Option<usize>,
    pub(crate) point: DVec3,
    pub(crate) normal: DVec3,
}

/// Bodies at rest with their contacts.
pub(crate) struct Scene {
    pub(crate) bodies: Vec<(MassBlock, DVec3, Wrench)>,
    pub(crate) contacts: Vec<Contact>,
}

impl Scene {
    /// One step of the scene: gravity and loads for H seconds, every contact under `law`.
    pub(crate) fn problem(&self, law: Law, sigma: f64) -> Problem {
        let mut builder = Problem::builder();
        for (mass, _, wrench) in &self.bodies {
            let MassBlock::Rigid(body) = mass else {
                panic!("scenes have rigid bodies");
            };
            let weight = DVec3::NEG_Z * GRAVITY * body.mass();
            let p = six((wrench.force + weight) * H, wrench.torque * H);
            builder.add_mass(mass.clone(), &p).unwrap();
        }
        for contact in &self.contacts {
            self.add(&mut builder, contact, law, sigma);
        }
        builder.build().unwrap()
    }

    fn add(&self, builder: &mut ProblemBuilder, contact: &Contact, law: Law, sigma: f64) {
        let (t1, t2) = tangents(contact.normal);
        let frame = [contact.normal, t1, t2];
        let rows = |body: usize, sign: f64| {
            let arm = contact.point - self.bodies[body].1;
            (MassId(body as u32), point_rows(frame, arm, sign))
        };
        let mut entries = vec![rows(contact.a, 1.0)];
        entries.extend(contact.b.map(|b| rows(b, -1.0)));
        let entries: Vec<(MassId, &[f64])> =
            entries.iter().map(|(b, g)| (*b, g.as_slice())).collect();
        builder
            .add_block(law, &entries, &[sigma; 3], &[0.0; 3])
            .unwrap();
    }
}

pub(crate) fn six(a: DVec3, b: DVec3) -> [f64; 6] {
    [a.x, a.y, a.z, b.x, b.y, b.z]
}

/// A solid box of mass m and edges s.
pub(crate) fn cuboid(m: f64, s: DVec3) -> MassBlock {
    let square = s * s;
    let moments = DVec3::new(
        square.y + square.z,
        square.x + square.z,
        square.x + square.y,
    );
    MassBlock::rigid(m, DMat3::from_diagonal(moments * (m / 12.0))).unwrap()
}

/// A solid ball of mass m and radius r.
pub(crate) fn ball(m: f64, r: f64) -> MassBlock {
    MassBlock::rigid(m, DMat3::from_diagonal(DVec3::splat(0.4 * m * r * r))).unwrap()
}

/// A unit cube in the corner of three planes, four contacts on each: the scene on which projecting the stick
/// impulse diverges.
pub(crate) fn block_in_corner(load: Wrench) -> Scene {
    let mut contacts = Vec::new();
    for axis in 0..3 {
        for corner in 0..4 {
            let mut point = [0.0; 3];
            point[(axis + 1) % 3] = f64::from(corner & 1);
            point[(axis + 2) % 3] = f64::from(corner >> 1);
            contacts.push(Contact {
                a: 0,
                b: None,
                point: DVec3::from_array(point),
                normal: DVec3::AXES[axis],
            });
        }
    }
    Scene {
        bodies: vec![(cuboid(1.0, DVec3::ONE), DVec3::splat(0.5), load)],
        contacts,
    }
}

/// A peg in a hole: contacts around two rims, normals towards the axis.
pub(crate) fn peg(per_rim: usize, load: Wrench) -> Scene {
    let (r, length, m) = (0.1, 0.4, 1.0);
    let across = m * (3.0 * r * r + length * length) / 12.0;
    let inertia = DMat3::from_diagonal(DVec3::new(across, across, m * r * r / 2.0));
    let mut contacts = Vec::new();
    for z in [length / 4.0, -length / 4.0] {
        for i in 0..per_rim {
            let angle = std::f64::consts::TAU * i as f64 / per_rim as f64;
            let normal = -DVec3::new(angle.cos(), angle.sin(), 0.0);
            contacts.push(Contact {
                a: 0,
                b: None,
                point: -normal * r + DVec3::Z * z,
                normal,
            });
        }
    }
    Scene {
        bodies: vec![(MassBlock::rigid(m, inertia).unwrap(), DVec3::ZERO, load)],
        contacts,
    }
}

/// Boxes on top of each other, four contacts between neighbours, the load on the top one.
pub(crate) fn stack(count: usize, load: Wrench) -> Scene {
    let size = DVec3::new(1.0, 1.0, 0.5);
    let mut scene = Scene {
        bodies: Vec::new(),
        contacts: Vec::new(),
    };
    for i in 0..count {
        let level = size.z * i as f64;
        let load = if i + 1 == count {
            load
        } else {
            Wrench::default()
        };
        scene
            .bodies
            .push((cuboid(1.0, size), DVec3::Z * (level + size.z / 2.0), load));
        for corner in 0..4 {
            let side = |bit: i32| if bit == 0 { -0.5 } else { 0.5 };
            scene.contacts.push(Contact {
                a: i,
                b: i.checked_sub(1),
                point: DVec3::new(side(corner & 1), side(corner >> 1), level),
                normal: DVec3::Z,
            });
        }
    }
    scene
}

/// One contact of a thin rod, tilted anyhow, that meets the ground at velocity g: normal and tangents are
/// coupled strongly. Its Delassus block and g.
pub(crate) fn tilted_rod(random: &mut Random) -> (MassBlock, [f64; 18], [f64; 3]) {
    let turn = rotation(random);
    let moments = DVec3::new(0.02, 0.3, 0.3) * random.range(0.5, 2.0);
    let inertia = turn * DMat3::from_diagonal(moments) * turn.transpose();
    let inertia = (inertia + inertia.transpose()) * 0.5;
    let arm = unit(random) * random.range(0.2, 1.5);
    let (t1, t2) = tangents(DVec3::Z);
    let rows = point_rows([DVec3::Z, t1, t2], arm, 1.0);
    let mut g = (random.vector() * 2.0).to_array();
    g[0] = -g[0].abs();
    (MassBlock::rigid(1.0, inertia).unwrap(), rows, g)
}

/// A problem of one contact: w = D λ + g.
pub(crate) fn one_contact(law: Law, mass: MassBlock, rows: &[f64], g: [f64; 3]) -> Problem {
    let mut builder = Problem::builder();
    let body = builder.add_mass(mass, &[0.0; 6]).unwrap();
    // The body rests and the row asks for −g, which makes c = g.
    builder
        .add_block(law, &[(body, rows)], &[0.0; 3], &g.map(|g| -g))
        .unwrap();
    builder.build().unwrap()
}

/// A chain of balls joined where they touch, the first to the ground, moving anyhow under gravity.
pub(crate) fn chain(count: usize, sigma: f64, seed: u64) -> Problem {
    let mut random = Random::new(seed);
    let (m, r) = (1.0, 0.1);
    let mut builder = Problem::builder();
    let mut along = DVec3::X;
    let mut directions = Vec::new();
    for _ in 0..count {
        along = (along + random.vector() * 0.5).normalize();
        directions.push(along);
        let v = random.vector() * 1.5 - DVec3::Z * GRAVITY * H;
        let spin = random.vector() * 1.5 * (0.4 * m * r * r);
        builder.add_mass(ball(m, r), &six(v * m, spin)).unwrap();
    }
    let axes = DVec3::AXES;
    for i in 0..count {
        let own = point_rows(axes, -directions[i] * r, 1.0);
        let mut entries = vec![(MassId(i as u32), own)];
        if 0 < i {
            let other = point_rows(axes, directions[i - 1] * r, -1.0);
            entries.push((MassId(i as u32 - 1), other));
        }
        let entries: Vec<(MassId, &[f64])> =
            entries.iter().map(|(b, g)| (*b, g.as_slice())).collect();
        builder
            .add_block(Law::Equality, &entries, &[sigma; 3], &[0.0; 3])
            .unwrap();
    }
    builder.build().unwrap()
}

/// Two rows on one body that want different velocities along the same line: nothing can obey both.
pub(crate) fn conflict(law: Law) -> Problem {
    let mut builder = Problem::builder();
    let body = builder.add_mass(ball(1.0, 0.5), &[0.0; 6]).unwrap();
    let row = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    for wanted in [1.0, -1.0] {
        builder
            .add_block(law, &[(body, &row)], &[0.0], &[wanted])
            .unwrap();
    }
    builder.build().unwrap()
}

/// Bodies at given places with ball joints half-way between those listed, each with a push of its own.
pub(crate) fn joined(bodies: &[(f64, DVec3)], joints: &[(usize, Option<usize>)]) -> Problem {
    let mut random = Random::new(17);
    let mut builder = Problem::builder();
    for (mass, _) in bodies {
        let inertia = DMat3::from_diagonal(DVec3::splat(0.1 * mass));
        let (push, turn) = (random.vector() * *mass, random.vector() * (0.1 * mass));
        let p = [push.x, push.y, push.z, turn.x, turn.y, turn.z];
        let mass = MassBlock::rigid(*mass, inertia).unwrap();
        builder.add_mass(mass, &p).unwrap();
    }
    for &(a, b) in joints {
        let at = b.map_or(bodies[a].1 + DVec3::Z, |b| {
            0.5 * (bodies[a].1 + bodies[b].1)
        });
        let first = point_rows(DVec3::AXES, at - bodies[a].1, 1.0);
        let second = b.map(|b| (b, point_rows(DVec3::AXES, at - bodies[b].1, -1.0)));
        let mut rows: Vec<(MassId, &[f64])> = vec![(MassId(a as u32), &first)];
        if let Some((b, second)) = &second {
            rows.push((MassId(*b as u32), second));
        }
        builder
            .add_block(Law::Equality, &rows, &[0.0; 3], &[0.0; 3])
            .unwrap();
    }
    builder.build().unwrap()
}

/// One body with satellites around it, each tied to it alone.
pub(crate) fn star(satellites: usize, mass: f64) -> Problem {
    let mut bodies = vec![(1.0, DVec3::ZERO)];
    for i in 0..satellites {
        let angle = std::f64::consts::TAU * i as f64 / satellites as f64;
        bodies.push((mass, DVec3::new(angle.cos(), angle.sin(), 0.3 * i as f64)));
    }
    let joints: Vec<_> = (1..=satellites).map(|i| (i, Some(0))).collect();
    joined(&bodies, &joints)
}

/// A net of n × n bodies, each tied to its neighbours, one corner to the ground.
pub(crate) fn grid(n: usize) -> Problem {
    let mut bodies = Vec::new();
    let mut joints = vec![(0, None)];
    for i in 0..n {
        for j in 0..n {
            bodies.push((1.0, DVec3::new(i as f64, j as f64, 0.2 * (i * j) as f64)));
            let here = i * n + j;
            if 0 < i {
                joints.push((here, Some(here - n)));
            }
            if 0 < j {
                joints.push((here, Some(here - 1)));
            }
        }
    }
    joined(&bodies, &joints)
}
