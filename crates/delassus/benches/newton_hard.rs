//! Random hard friction problems by the thousand, solved by any solver and judged by arithmetic of their own.
//!
//! `cargo bench -p delassus --bench newton_hard -- COUNT [SOLVER] [SEED] [TOLERANCE] [FAMILY] [FOLDER]` draws COUNT
//! problems of every family, or of one, and prints how many are solved to 1e-10 of the velocity scale or the tolerance
//! given, how many end at the floor of rounding, the worst residual of those called solved, quantiles of the
//! factorisations or sweeps, and the slowest. A folder keeps those that are neither solved nor at the floor, as problem
//! files.

#![allow(clippy::print_stdout, missing_docs)]

use std::fs;
use std::path::Path;
use std::time::Instant;

use delassus::math::{DQuat, DVec3, Random};
use delassus::problem::file::json::save;
use delassus::solver::from_spec;
use delassus::{Problem, Solution, Status, Stop};

mod drawn;
use drawn::robots::robot;
use drawn::{Body, Drawn, residual, scale};

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

/// How a family is drawn.
#[derive(Clone, Copy)]
enum Make {
    Bodies(fn(&mut Random) -> Drawn),
    Robot(fn(&mut Random) -> Problem),
}

const FAMILIES: [(&str, Make); 8] = [
    ("stack", Make::Bodies(stack)),
    ("wall", Make::Bodies(wall)),
    ("arch", Make::Bodies(arch)),
    ("spheres", Make::Bodies(spheres)),
    ("chain", Make::Bodies(chain)),
    ("rods", Make::Bodies(rods)),
    ("grip", Make::Bodies(grip)),
    ("robots", Make::Robot(robot)),
];

fn draw(make: Make, seed: u64) -> Problem {
    let mut random = Random::new(seed);
    let mut drawn = match make {
        Make::Bodies(make) => make(&mut random),
        Make::Robot(make) => return make(&mut random),
    };
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

/// What became of the problems of a family.
#[derive(Default)]
struct Tally {
    solved: usize,
    floors: usize,
    lies: usize,
    worst: f64,
    slowest: f64,
    counts: Vec<usize>,
    failed: Vec<String>,
    /// Seed and text of those neither solved nor at the floor.
    kept: Vec<(u64, String)>,
}

impl Tally {
    fn add(&mut self, problem: &Problem, spec: &str, tolerance: f64, seed: u64) {
        let stop = Stop {
            tolerance: tolerance * scale(problem),
            ..Stop::default()
        };
        let mut solver = from_spec(spec, stop, 0).expect("a solver");
        let mut solution = Solution::zeros(problem);
        let begin = Instant::now();
        let report = solver.solve(problem, &mut solution);
        let elapsed = 1e3 * begin.elapsed().as_secs_f64();
        self.slowest = self.slowest.max(elapsed);
        let own = residual(problem, &solution.lambda);
        self.counts.push(report.iterations);
        match report.status {
            Status::Solved => {
                self.solved += 1;
                self.worst = self.worst.max(own);
                self.lies += usize::from(100.0 * tolerance < own);
            }
            status => {
                self.floors += usize::from(status == Status::RoundingFloor);
                let name = status.name();
                self.failed
                    .push(format!("{seed}: {name} {own:.0e} {elapsed:.0} ms"));
                if status != Status::RoundingFloor {
                    self.kept
                        .push((seed, save(problem, &format!("hard {seed}"))));
                }
            }
        }
    }

    fn quantile(&self, percent: usize) -> usize {
        let at = self.counts.len() * percent / 100;
        self.counts.get(at).copied().unwrap_or(0)
    }
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let number = |i: usize| words.get(i).and_then(|word| word.parse().ok());
    let count = number(0).unwrap_or(50.0) as u64;
    let spec = words.get(1).map_or("newton", String::as_str);
    let first = number(2).unwrap_or(0.0) as u64;
    let tolerance = number(3).unwrap_or(1e-10);
    println!(
        "family   solved  floor  of    false  worst    iterations 50%  95%  99%  slowest ms  not solved (seed: status, residual)"
    );
    for (name, make) in FAMILIES {
        if words
            .get(4)
            .is_some_and(|only| only != name && only != "all")
        {
            continue;
        }
        let mut tally = Tally::default();
        for seed in first..first + count {
            let problem = draw(make, seed);
            if 0 < problem.n_rows() {
                tally.add(&problem, spec, tolerance, seed);
            }
        }
        tally.counts.sort_unstable();
        println!(
            "{name:8} {:6}  {:5}  {:4}  {:5}  {:.1e}  {:14}  {:3}  {:3}  {:10.2}  {}",
            tally.solved,
            tally.floors,
            tally.counts.len(),
            tally.lies,
            tally.worst,
            tally.quantile(50),
            tally.quantile(95),
            tally.quantile(99),
            tally.slowest,
            tally.failed.join(", ")
        );
        let Some(folder) = words.get(5).map(Path::new) else {
            continue;
        };
        fs::create_dir_all(folder).expect("a folder that can be made");
        for (seed, text) in &tally.kept {
            fs::write(folder.join(format!("{name}-{seed}.json")), text)
                .expect("a file that can be written");
        }
    }
}
