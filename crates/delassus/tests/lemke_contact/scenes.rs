//! Situations with many contacts, one step each, drawn from seeds.

use delassus::math::{DMat3, DVec3, Random, tangents};
use delassus::problem::jacobian::{point_row, point_rows};
use delassus::{Law, MassBlock, MassId, Problem};

const H: f64 = 0.01;

#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) mass: f64,
    pub(crate) inertia: DVec3,
    pub(crate) x: DVec3,
    pub(crate) v: [DVec3; 2],
    pub(crate) load: [DVec3; 2],
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Contact {
    pub(crate) a: usize,
    pub(crate) b: Option<usize>,
    pub(crate) point: DVec3,
    pub(crate) normal: DVec3,
}

#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) bodies: Vec<Body>,
    pub(crate) contacts: Vec<Contact>,
    /// Ball joints: two bodies and a point.
    pub(crate) joints: Vec<(usize, Option<usize>, DVec3)>,
    /// Motors about z with a largest impulse and a speed.
    pub(crate) motors: Vec<(usize, f64, f64)>,
}

pub(crate) fn facets(mu: f64, directions: u32) -> Law {
    Law::FrictionFacets { mu, directions }
}

impl Scene {
    fn new(bodies: Vec<Body>, contacts: Vec<Contact>) -> Scene {
        Scene {
            bodies,
            contacts,
            joints: Vec::new(),
            motors: Vec::new(),
        }
    }

    /// The problem of one step; `row` gives q_n and Σ of contact k.
    pub(crate) fn problem(&self, law: Law, row: impl Fn(usize) -> (f64, [f64; 3])) -> Problem {
        let mut builder = Problem::builder();
        for body in &self.bodies {
            let inertia = DMat3::from_diagonal(body.inertia);
            let p = body.v[0] * body.mass + (body.load[0] - DVec3::Z * 9.81 * body.mass) * H;
            let l = body.inertia * body.v[1] + body.load[1] * H;
            let momentum = [p.x, p.y, p.z, l.x, l.y, l.z];
            builder
                .add_mass(MassBlock::rigid(body.mass, inertia).unwrap(), &momentum)
                .unwrap();
        }
        for (k, contact) in self.contacts.iter().enumerate() {
            let (t1, t2) = tangents(contact.normal);
            let rows = [Some(contact.a), contact.b].map(|body| {
                let arm = body.map_or(DVec3::ZERO, |b| contact.point - self.bodies[b].x);
                let sign = if body == Some(contact.a) { 1.0 } else { -1.0 };
                point_rows([contact.normal, t1, t2], arm, sign)
            });
            let mut parts = vec![(MassId(contact.a as u32), &rows[0][..])];
            parts.extend(contact.b.map(|b| (MassId(b as u32), &rows[1][..])));
            let (q, sigma) = row(k);
            builder
                .add_block(law, &parts, &sigma, &[q, 0.0, 0.0])
                .unwrap();
        }
        for (a, b, point) in &self.joints {
            let axes = [DVec3::X, DVec3::Y, DVec3::Z];
            let first = point_rows(axes, *point - self.bodies[*a].x, 1.0);
            let second = b.map(|b| point_rows(axes, *point - self.bodies[b].x, -1.0));
            let mut parts = vec![(MassId(*a as u32), &first[..])];
            if let (Some(b), Some(rows)) = (b, &second) {
                parts.push((MassId(*b as u32), &rows[..]));
            }
            builder
                .add_block(Law::Equality, &parts, &[0.0; 3], &[0.0; 3])
                .unwrap();
        }
        for &(body, most, speed) in &self.motors {
            let mut row = point_row(DVec3::ZERO, DVec3::ZERO, 1.0);
            row[5] = 1.0;
            let law = Law::Interval {
                lo: -most,
                hi: most,
            };
            builder
                .add_block(law, &[(MassId(body as u32), &row)], &[0.0], &[speed])
                .unwrap();
        }
        builder.build().unwrap()
    }

    pub(crate) fn rigid(&self, law: Law) -> Problem {
        self.problem(law, |_| (0.0, [0.0; 3]))
    }

    pub(crate) fn compliant(&self, law: Law, sigma: f64) -> Problem {
        self.problem(law, |_| (0.0, [sigma, 0.0, 0.0]))
    }
}

fn cuboid(mass: f64, s: DVec3) -> DVec3 {
    mass / 12.0
        * DVec3::new(
            s.y * s.y + s.z * s.z,
            s.x * s.x + s.z * s.z,
            s.x * s.x + s.y * s.y,
        )
}

fn body(mass: f64, inertia: DVec3, x: DVec3, load: [DVec3; 2]) -> Body {
    Body {
        mass,
        inertia,
        x,
        v: [DVec3::ZERO; 2],
        load,
    }
}

fn ground(point: DVec3, normal: DVec3) -> Contact {
    Contact {
        a: 0,
        b: None,
        point,
        normal,
    }
}

pub(crate) fn wrench(random: &mut Random) -> [DVec3; 2] {
    [random.vector() * 35.0, random.vector() * 5.0]
}

pub(crate) fn corner(load: [DVec3; 2]) -> Scene {
    let mut contacts = Vec::new();
    for (n, a, b) in [
        (DVec3::X, DVec3::Y, DVec3::Z),
        (DVec3::Y, DVec3::X, DVec3::Z),
        (DVec3::Z, DVec3::X, DVec3::Y),
    ] {
        for (i, j) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)] {
            contacts.push(ground(i * a + j * b, n));
        }
    }
    Scene::new(
        vec![body(1.0, cuboid(1.0, DVec3::ONE), DVec3::splat(0.5), load)],
        contacts,
    )
}

pub(crate) fn face(count: usize, load: [DVec3; 2]) -> Scene {
    let angle = |k: usize| std::f64::consts::TAU * k as f64 / count as f64 + 0.1;
    let point = |k| DVec3::new(0.5 * angle(k).cos(), 0.4 * angle(k).sin(), 0.0);
    let contacts = (0..count).map(|k| ground(point(k), DVec3::Z)).collect();
    Scene::new(
        vec![body(
            1.0,
            cuboid(1.0, DVec3::new(1.0, 1.0, 0.5)),
            DVec3::Z * 0.25,
            load,
        )],
        contacts,
    )
}

pub(crate) fn peg(count: usize, load: [DVec3; 2]) -> Scene {
    let (r, l, half) = (0.1, 0.4, count / 2);
    let mut contacts = Vec::new();
    for z in [l / 4.0, -l / 4.0] {
        for k in 0..half {
            let angle = std::f64::consts::TAU * k as f64 / half as f64;
            let n = -DVec3::new(angle.cos(), angle.sin(), 0.0);
            contacts.push(ground(-r * n + DVec3::Z * z, n));
        }
    }
    let side = (3.0 * r * r + l * l) / 12.0;
    Scene::new(
        vec![body(
            1.0,
            DVec3::new(side, side, r * r / 2.0),
            DVec3::ZERO,
            load,
        )],
        contacts,
    )
}

pub(crate) fn rim(count: usize, load: [DVec3; 2]) -> Scene {
    let (radius, rim): (f64, f64) = (0.5, 0.3);
    let x = DVec3::Z * (radius * radius - rim * rim).sqrt();
    let contact = |k: usize| {
        let angle = std::f64::consts::TAU * k as f64 / count as f64;
        let point = DVec3::new(rim * angle.cos(), rim * angle.sin(), 0.0);
        ground(point, (x - point) / radius)
    };
    let inertia = DVec3::splat(0.4 * radius * radius);
    Scene::new(
        vec![body(1.0, inertia, x, load)],
        (0..count).map(contact).collect(),
    )
}

/// A body with contacts anywhere on it, in motion.
pub(crate) fn irregular(count: usize, random: &mut Random) -> Scene {
    let inertia = DVec3::new(
        random.range(0.1, 0.2),
        random.range(0.1, 0.2),
        random.range(0.1, 0.2),
    );
    let mut one = body(random.range(0.5, 2.0), inertia, DVec3::ZERO, wrench(random));
    one.v = [random.vector(), random.vector()];
    let mut contacts = Vec::new();
    for _ in 0..count {
        let normal = (DVec3::Z + 0.5 * random.vector()).normalize();
        contacts.push(ground(0.4 * random.vector() - 0.3 * DVec3::Z, normal));
    }
    Scene::new(vec![one], contacts)
}

/// Boxes on each other, each shifted by up to `offset`, the load on the top one.
pub(crate) fn stack(count: usize, offset: f64, load: [DVec3; 2], random: &mut Random) -> Scene {
    let size = DVec3::new(1.0, 1.0, 0.5);
    let mut bodies = Vec::new();
    let mut at = DVec3::ZERO;
    for k in 0..count {
        if 0 < k {
            at += offset * DVec3::new(random.range(-1.0, 1.0), random.range(-1.0, 1.0), 0.0);
        }
        let load = if k + 1 == count {
            load
        } else {
            [DVec3::ZERO; 2]
        };
        let x = at + DVec3::Z * size.z * (k as f64 + 0.5);
        bodies.push(body(1.0, cuboid(1.0, size), x, load));
    }
    let mut contacts = Vec::new();
    for k in 0..count {
        let (mut lo, mut hi) = (bodies[k].x - size / 2.0, bodies[k].x + size / 2.0);
        if 0 < k {
            lo = lo.max(bodies[k - 1].x - size / 2.0);
            hi = hi.min(bodies[k - 1].x + size / 2.0);
        }
        for (x, y) in [(lo.x, lo.y), (lo.x, hi.y), (hi.x, lo.y), (hi.x, hi.y)] {
            let point = DVec3::new(x, y, size.z * k as f64);
            contacts.push(Contact {
                a: k,
                b: k.checked_sub(1),
                point,
                normal: DVec3::Z,
            });
        }
    }
    Scene::new(bodies, contacts)
}

/// A broad mixture, number by number; every third without load.
pub(crate) fn ordinary(seed: u64) -> (Scene, Law) {
    let mut random = Random::new(seed);
    let mu = [0.05, 0.3, 0.8, 2.0][random.below(4)];
    let d = [3, 4, 6, 8, 16][random.below(5)];
    let load = if seed.is_multiple_of(3) {
        [DVec3::ZERO; 2]
    } else {
        wrench(&mut random)
    };
    let mut scene = match seed % 8 {
        0 => corner(load),
        1 => face([3, 4, 8, 20][random.below(4)], load),
        2 => peg([8, 16, 32][random.below(3)], load),
        3 => rim([3, 8, 20][random.below(3)], load),
        4 => stack(
            2 + random.below(4),
            0.2 * random.below(2) as f64,
            load,
            &mut random,
        ),
        5 => {
            // Every contact twice.
            let mut scene = face(5, load);
            scene.contacts.extend(scene.contacts.clone());
            scene
        }
        6 => stack(3, 0.1, load, &mut random),
        _ => stack(4, 0.0, load, &mut random),
    };
    if seed.is_multiple_of(7) {
        for body in &mut scene.bodies {
            body.v = [random.vector(), random.vector()];
        }
    }
    (scene, facets(mu, d))
}

/// Mass ratios up to 1e5, compliance down to 1e-10, tall shifted stacks.
pub(crate) fn hard(seed: u64) -> Problem {
    let mut random = Random::new(seed);
    let load = wrench(&mut random);
    match seed % 4 {
        kind @ (0 | 1) => {
            let mut scene = stack(4, 0.1, [load[0] * 0.2, load[1]], &mut random);
            let ratio = 10.0_f64.powi(random.below(6) as i32);
            let heavy = if kind == 0 { 0 } else { 3 };
            scene.bodies[heavy].mass *= ratio;
            scene.bodies[heavy].inertia *= ratio;
            scene.rigid(facets(0.4, 8))
        }
        2 => {
            let sigma = 10.0_f64.powi(-1 - random.below(10) as i32);
            let d = [3, 8, 16][random.below(3)];
            peg(16, load).compliant(facets(0.25, d), sigma)
        }
        _ => stack(6, 0.3, load, &mut random).rigid(facets(0.8, 4)),
    }
}

/// One random problem, half of them degenerate by construction.
pub(crate) fn fuzz(seed: u64) -> Problem {
    let mut random = Random::new(seed ^ 0x5eed);
    let (mut scene, mut law) = ordinary(seed);
    if 12 < scene.contacts.len() {
        random.shuffle(&mut scene.contacts);
        scene.contacts.truncate(12);
    }
    let degenerate = seed.is_multiple_of(2);
    if degenerate {
        let copy = scene.contacts[random.below(scene.contacts.len())];
        scene.contacts.push(copy);
        if random.below(4) == 0 {
            scene.contacts.extend(scene.contacts.clone());
        }
    }
    if random.below(4) == 0 {
        law = [
            Law::FrictionBox { mu: 0.5 },
            Law::Unilateral,
            facets(0.0, 4),
        ][random.below(3)];
    }
    if random.below(3) == 0 {
        let point = scene.bodies[0].x + random.vector();
        scene.joints.push((0, None, point));
        if degenerate {
            scene.joints.push((0, None, point));
        }
    }
    if random.below(3) == 0 {
        scene
            .motors
            .push((0, random.range(0.0, 0.2), random.range(-1.0, 1.0)));
    }
    for body in &mut scene.bodies {
        body.mass *= 10.0_f64.powi(random.below(5) as i32 - 2);
    }
    let q = if random.below(3) == 0 { 0.2 } else { 0.0 };
    let sigma = if random.below(3) == 0 {
        10.0_f64.powi(-(random.below(11) as i32))
    } else {
        0.0
    };
    let tangent = if random.below(4) == 0 { sigma } else { 0.0 };
    let shift: Vec<f64> = scene.contacts.iter().map(|_| random.range(-q, q)).collect();
    scene.problem(law, |k| (shift[k], [sigma, tangent, tangent]))
}
