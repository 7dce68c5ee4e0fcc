//! Random hard friction problems by the thousand, solved by any solver and judged by arithmetic of their own.
//!
//! `cargo bench -p delassus --bench newton_hard -- COUNT [SOLVER] [SEED]` draws COUNT problems of every family and prints
//! how many are solved to 1e-10 of the velocity scale, the worst residual of those called solved, and the slowest.

#![allow(clippy::print_stdout, missing_docs)]

use std::time::Instant;

use delassus::math::{DQuat, DVec3, Random};
use delassus::solver::from_spec;
use delassus::{Problem, Solution, Status, Stop};

mod drawn;
use drawn::{Body, Drawn, residual};

/// Relative residual asked for.
const TOLERANCE: f64 = 1e-10;
fn log(random: &mut Random, lo: f64, hi: f64) -> f64 {
    random.range(lo.ln(), hi.ln()).exp()
}

fn whole(random: &mut Random, lo: usize, hi: usize) -> usize {
    lo + (random.range(0.0, (hi - lo + 1) as f64) as usize).min(hi - lo)
}

/// Some bodies are pushed or turned.
fn push(drawn: &mut Drawn, random: &mut Random) {
    for _ in 0..whole(random, 0, 2) {
        let b = whole(random, 0, drawn.bodies.len() - 1);
        drawn.bodies[b].v += random.vector() * log(random, 0.01, 5.0);
        drawn.bodies[b].spin += random.vector() * log(random, 0.01, 5.0);
    }
}

fn boxes(drawn: &mut Drawn, random: &mut Random, ratio: f64) {
    let count = drawn.bodies.len();
    for (i, body) in drawn.bodies.iter_mut().enumerate() {
        if i + 1 == count {
            body.mass *= ratio;
        } else if random.range(0.0, 1.0) < 0.2 {
            body.mass *= log(random, 0.1, 10.0);
        }
    }
}

fn stack(random: &mut Random) -> Drawn {
    let mut drawn = Drawn::default();
    let half = DVec3::new(
        log(random, 0.1, 1.0),
        log(random, 0.1, 1.0),
        log(random, 0.05, 1.0),
    );
    let points = (whole(random, 2, 4), whole(random, 2, 4));
    for i in 0..whole(random, 2, 14) {
        let at = DVec3::new(0.0, 0.0, half.z * (2 * i + 1) as f64);
        drawn.bodies.push(Body::new(1.0, half, at));
        let below = i.checked_sub(1);
        drawn.face(
            (i, below),
            at - DVec3::Z * half.z,
            [DVec3::X * half.x, DVec3::Y * half.y],
            points,
        );
    }
    let ratio = log(random, 1e-3, 1e6);
    boxes(&mut drawn, random, ratio);
    drawn
}

fn wall(random: &mut Random) -> Drawn {
    let mut drawn = Drawn::default();
    let (rows, columns) = (whole(random, 2, 6), whole(random, 2, 6));
    let pyramid = random.range(0.0, 1.0) < 0.4;
    let half = DVec3::new(0.5, 0.25, 0.2);
    let mut below: Vec<(usize, f64)> = Vec::new();
    for r in 0..rows {
        let count = if pyramid {
            columns.saturating_sub(r)
        } else {
            columns
        };
        let shift = if pyramid {
            0.5 * r as f64
        } else {
            0.5 * (r % 2) as f64
        };
        let z = half.z * (2 * r + 1) as f64;
        let mut here: Vec<(usize, f64)> = Vec::new();
        for c in 0..count {
            let x = c as f64 + shift;
            let id = drawn.bodies.len();
            drawn
                .bodies
                .push(Body::new(1.0, half, DVec3::new(x, 0.0, z)));
            let foot = z - half.z;
            if r == 0 {
                drawn.face(
                    (id, None),
                    DVec3::new(x, 0.0, foot),
                    [DVec3::X * half.x, DVec3::Y * half.y],
                    (2, 2),
                );
            }
            for &(other, at) in &below {
                let (lo, hi) = ((x - half.x).max(at - half.x), (x + half.x).min(at + half.x));
                if 1e-9 < hi - lo {
                    let centre = DVec3::new(0.5 * (lo + hi), 0.0, foot);
                    drawn.face(
                        (id, Some(other)),
                        centre,
                        [DVec3::X * (0.5 * (hi - lo)), DVec3::Y * half.y],
                        (2, 2),
                    );
                }
            }
            if let Some(&(other, at)) = here.last().filter(|_| !pyramid) {
                let centre = DVec3::new(0.5 * (at + x), 0.0, z);
                drawn.face(
                    (id, Some(other)),
                    centre,
                    [DVec3::Y * half.y, DVec3::Z * half.z],
                    (2, 2),
                );
            }
            here.push((id, x));
        }
        below = here;
    }
    let ratio = log(random, 1.0, 1e4);
    boxes(&mut drawn, random, ratio);
    drawn
}

fn arch(random: &mut Random) -> Drawn {
    let mut drawn = Drawn::default();
    let (count, radius) = (whole(random, 3, 15), 2.0);
    let step = std::f64::consts::PI / count as f64;
    for i in 0..count {
        let angle = step * (i as f64 + 0.5);
        let at = DVec3::new(-radius * angle.cos(), 0.0, radius * angle.sin());
        let mut body = Body::new(1.0, DVec3::new(0.5 * step * radius, 0.3, 0.2), at);
        body.turn = DQuat::from_rotation_y(angle - 0.5 * std::f64::consts::PI);
        drawn.bodies.push(body);
    }
    for i in 0..=count {
        let angle = step * i as f64;
        let out = DVec3::new(-angle.cos(), 0.0, angle.sin());
        let along = DVec3::new(angle.sin(), 0.0, angle.cos());
        let pair = match i {
            0 => (0, None),
            i if i == count => (count - 1, None),
            i => (i, Some(i - 1)),
        };
        // The normal points to the first body.
        let normal = if i == count { -along } else { along };
        let (s, t) = (out * 0.2, DVec3::Y * 0.3);
        let spread = if 0.0 < s.cross(t).dot(normal) {
            [s, t]
        } else {
            [t, s]
        };
        drawn.face(pair, out * radius, spread, (2, 2));
    }
    let keystone = drawn.bodies.len() / 2;
    drawn.bodies[keystone].mass *= log(random, 1e-2, 1e4);
    drawn
}

fn spheres(random: &mut Random) -> Drawn {
    let mut drawn = Drawn::default();
    let side = whole(random, 2, 4);
    for i in 0..side * side * side {
        let place = DVec3::new(
            (i % side) as f64,
            (i / side % side) as f64,
            (i / side / side) as f64,
        );
        let at = place + random.vector() * 0.15;
        let r = 0.5 * random.range(0.8, 1.1);
        drawn
            .bodies
            .push(Body::new(log(random, 0.1, 10.0), DVec3::splat(r), at));
    }
    for a in 0..drawn.bodies.len() {
        let (at, r) = (drawn.bodies[a].at, drawn.bodies[a].half.x);
        if at.z < 0.3 {
            drawn.contacts.push((a, None, at - DVec3::Z * r, DVec3::Z));
        }
        for b in 0..a {
            let gap = at - drawn.bodies[b].at;
            if gap.length() < 1.05 * (r + drawn.bodies[b].half.x) {
                let n = gap.normalize();
                drawn.contacts.push((a, Some(b), at - n * r, n));
            }
        }
    }
    drawn
}

fn chain(random: &mut Random) -> Drawn {
    let mut drawn = Drawn::default();
    let count = whole(random, 2, 15);
    let lift = random.range(-0.3, 0.3);
    let direction = DVec3::new(1.0, 0.0, lift).normalize();
    let start = DVec3::new(0.0, 0.0, 0.1 + count as f64 * lift.abs());
    for i in 0..count {
        let at = start + direction * (i as f64 + 0.5);
        drawn.bodies.push(Body::new(
            log(random, 0.3, 3.0),
            DVec3::new(0.5, 0.1, 0.1),
            at,
        ));
        let hinge = start + direction * i as f64;
        if 0 < i || random.range(0.0, 1.0) < 0.5 {
            drawn.joints.push((i, i.checked_sub(1), hinge));
        }
        if random.range(0.0, 1.0) < 0.6 {
            drawn.contacts.push((
                i,
                None,
                at - DVec3::Z * 0.1 + direction * random.range(-0.5, 0.5),
                DVec3::Z,
            ));
        }
    }
    let last = drawn.bodies.len() - 1;
    drawn.bodies[last].mass *= log(random, 1.0, 1e5);
    drawn
}

fn rods(random: &mut Random) -> Drawn {
    let mut drawn = Drawn::default();
    for i in 0..whole(random, 1, 4) {
        let length = log(random, 0.3, 3.0);
        let lean = random.range(0.05, 1.5);
        let along = DVec3::new(lean.cos(), 0.0, lean.sin());
        let thin = log(random, 1e-3, 0.05);
        let mut body = Body::new(
            log(random, 0.1, 10.0),
            DVec3::new(length, thin, thin),
            along * length,
        );
        body.turn = DQuat::from_rotation_y(-lean);
        body.v = random.vector() * 2.0 - DVec3::Z * 2.0;
        body.spin = random.vector() * 2.0;
        drawn.bodies.push(body);
        drawn.contacts.push((i, None, DVec3::ZERO, DVec3::Z));
        if 0 < i {
            let n = random.vector().normalize();
            drawn
                .contacts
                .push((i, Some(i - 1), along * length * random.range(0.2, 1.0), n));
        }
    }
    drawn
}

fn grip(random: &mut Random) -> Drawn {
    // A box between two planes that lean towards or away from each other: a wedge, a vice, a peg.
    let mut drawn = Drawn::default();
    let half = DVec3::splat(0.5);
    drawn
        .bodies
        .push(Body::new(log(random, 0.1, 10.0), half, DVec3::ZERO));
    let lean = random.range(-0.2, 0.6);
    let points = (whole(random, 2, 4), whole(random, 2, 4));
    for side in [-1.0, 1.0] {
        let n = DVec3::new(-side * lean.cos(), 0.0, lean.sin());
        let t = DVec3::Y.cross(n);
        drawn.face(
            (0, None),
            DVec3::X * (side * 0.5),
            [DVec3::ZERO + t * 0.5, DVec3::Y * 0.5],
            points,
        );
        let last = drawn.contacts.len();
        for contact in &mut drawn.contacts[last - points.0 * points.1..] {
            contact.3 = n;
        }
    }
    drawn.bodies[0].v = random.vector() * log(random, 0.01, 3.0);
    drawn.bodies[0].spin = random.vector() * log(random, 0.01, 3.0);
    drawn
}

type Family = (&'static str, fn(&mut Random) -> Drawn);
const FAMILIES: [Family; 7] = [
    ("stack", stack),
    ("wall", wall),
    ("arch", arch),
    ("spheres", spheres),
    ("chain", chain),
    ("rods", rods),
    ("grip", grip),
];

fn draw(family: Family, seed: u64) -> Problem {
    let mut random = Random::new(seed);
    let mut drawn = family.1(&mut random);
    push(&mut drawn, &mut random);
    let lo = log(&mut random, 0.02, 1.5);
    let hi = if random.range(0.0, 1.0) < 0.5 {
        lo
    } else {
        lo * random.range(1.0, 2.0)
    };
    let tilt = if random.range(0.0, 1.0) < 0.5 {
        0.0
    } else {
        random.range(0.0, 0.6)
    };
    drawn.problem(&mut random, (lo, hi), tilt)
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let count: u64 = words
        .first()
        .and_then(|word| word.parse().ok())
        .unwrap_or(50);
    let spec = words.get(1).map_or("newton", String::as_str);
    let first: u64 = words.get(2).and_then(|word| word.parse().ok()).unwrap_or(0);
    println!(
        "family    solved  of     false  worst      mean it  most it  slowest ms  not solved (seed: status, residual)"
    );
    for family in FAMILIES {
        let (mut solved, mut lies, mut worst, mut sum, mut most, mut slowest) =
            (0, 0, 0.0_f64, 0, 0, 0.0_f64);
        let mut failed = Vec::new();
        if words.get(3).is_some_and(|only| only != family.0) {
            continue;
        }
        let mut counts = Vec::new();
        for seed in first..first + count {
            let problem = draw(family, seed);
            if problem.n_rows() == 0 {
                continue;
            }
            let scale = problem.c().iter().fold(1e-6, |a: f64, c| a.max(c.abs()));
            let stop = Stop {
                tolerance: TOLERANCE * scale,
                sweeps: 2000,
                ..Stop::default()
            };
            let mut solver = from_spec(spec, stop, 0).expect("a solver");
            let mut solution = Solution::zeros(&problem);
            let begin = Instant::now();
            let report = solver.solve(&problem, &mut solution);
            slowest = slowest.max(1e3 * begin.elapsed().as_secs_f64());
            let own = residual(&problem, &solution.lambda);
            sum += report.iterations;
            counts.push(report.iterations);
            most = most.max(report.iterations);
            if report.status == Status::Solved {
                solved += 1;
                worst = worst.max(own);
                lies += usize::from(100.0 * TOLERANCE < own);
            } else {
                failed.push(format!("{seed}: {} {own:.0e}", report.status.name()));
            }
        }
        let mean = sum as f64 / count as f64;
        counts.sort_unstable();
        print!(
            "{:?} ",
            [
                counts[counts.len() / 2],
                counts[counts.len() * 95 / 100],
                counts[counts.len() * 99 / 100]
            ]
        );
        println!(
            "{:9} {solved:6}  {count:5}  {lies:5}  {worst:.1e}  {mean:7.1}  {most:7}  {slowest:10.2}  {}",
            family.0,
            failed.join(", ")
        );
    }
}
