//! delassus beside Rapier, and with `--features jolt` beside Jolt, on the same work, in turn, in one process: milliseconds a step and the accuracy reached.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml -- [SCENE…] [--settle STEPS] [--rounds N]
//! [--sweeps N] [--csv FILE]`
//!
//! All step the same bodies by 1/60 s. After settling, rounds of ten steps are timed in turn, and each engine is given by
//! the least mean of a round: what other work on the machine disturbs least. Penetration and joints are measured by the
//! same program for all, from positions alone. With `--features parallel` all use two threads.

#[cfg(feature = "jolt")]
mod jolt;
mod rapier;

use std::io::Write;
use std::time::Instant;

use delassus::collide::Collisions;
use delassus::math::{DQuat, DVec3};
use delassus::solver::from_spec;
use delassus::world::World;
use delassus::{Solver, Stop, scenes};

/// Step \[s\].
const STEP: f64 = 1.0 / 60.0;
/// Steps of a round.
const ROUND: usize = 10;
/// The work that is done without a word: scene, solver of delassus, sweeps and substeps of delassus.
const USUAL: [(&str, &str, usize, usize); 5] = [
    ("pile:1000", "coloured", 8, 1),
    ("pile:10000", "coloured", 16, 1),
    ("rubble:1000", "coloured", 16, 1),
    ("rubble:4000", "coloured", 16, 1),
    ("necklaces:500x40", "direct", 0, 4),
];

/// An engine at work.
trait Engine {
    fn name(&self) -> String;
    fn step(&mut self);
    /// Position and orientation of every body, in the order of the scene.
    fn poses(&self) -> Vec<(DVec3, DQuat)>;
    /// Speed of the fastest body \[m/s\].
    fn fastest(&self) -> f64;
}

/// delassus with a solver.
struct Ours {
    world: World,
    solver: Box<dyn Solver>,
    setting: String,
}

impl Engine for Ours {
    fn name(&self) -> String {
        format!("delassus {}", self.setting)
    }

    fn step(&mut self) {
        let stepped = self.world.step(STEP, self.solver.as_mut());
        stepped.expect("a built-in scene can be stepped");
    }

    fn poses(&self) -> Vec<(DVec3, DQuat)> {
        let bodies = self.world.bodies();
        let both = bodies.position.iter().zip(&bodies.orientation);
        both.map(|(x, q)| (*x, *q)).collect()
    }

    fn fastest(&self) -> f64 {
        let speeds = self.world.bodies().velocity.iter();
        speeds.fold(0.0, |most, v| v.length().max(most))
    }
}

/// What was found of one engine.
struct Row {
    scene: String,
    engine: String,
    ms: f64,
    /// Of the thread that steps alone: with several threads it says nothing.
    cpu_ms: f64,
    fastest: f64,
    deepest_mm: f64,
    mean_mm: f64,
    joint_mm: f64,
}

fn main() {
    let mut given = Given::read();
    let threads = if cfg!(feature = "parallel") { 2 } else { 1 };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = pool.build().expect("threads can be started");
    println!(
        "{:<18} {:<34} {:>9} {:>9} {:>9} {:>11} {:>8} {:>9}  {threads} thread(s)",
        "scene", "engine", "ms/step", "cpu ms", "vmax m/s", "deepest mm", "mean mm", "joint mm"
    );
    let mut rows = Vec::new();
    for (scene, spec, sweeps, substeps) in USUAL {
        if !given.scenes.is_empty() && !given.scenes.iter().any(|name| name == scene) {
            continue;
        }
        let sweeps = given.sweeps.filter(|_| 0 < sweeps).unwrap_or(sweeps);
        rows.extend(pool.install(|| compare(scene, spec, (sweeps, substeps), &given)));
    }
    if let Some(file) = &mut given.csv {
        writeln!(
            file,
            "scene,engine,threads,ms_per_step,cpu_ms_per_step,vmax_m_s,deepest_mm,mean_mm,joint_mm"
        )
        .expect("the table can be written");
        for row in &rows {
            writeln!(
                file,
                "{},\"{}\",{threads},{:.4},{:.4},{:.2e},{:.3},{:.4},{:.3}",
                row.scene, row.engine, row.ms, row.cpu_ms, row.fastest, row.deepest_mm, row.mean_mm, row.joint_mm
            )
            .expect("the table can be written");
        }
    }
}

/// All engines on one scene, in turn.
fn compare(scene: &str, spec: &str, (sweeps, substeps): (usize, usize), given: &Given) -> Vec<Row> {
    let made = scenes::build(scene).expect("the scene exists");
    let mut world = made.world;
    world.settings.substeps = substeps as u32;
    let peer = rapier::Rapier::of(&world);
    let stop = match sweeps {
        0 => Stop::default(),
        sweeps => Stop {
            tolerance: 0.0,
            sweeps,
            ..Stop::default()
        },
    };
    let solver = from_spec(spec, stop, 0).expect("the solver exists");
    let reference = world.clone();
    let setting = match sweeps {
        0 => format!("{spec}, {substeps} substeps"),
        sweeps => format!("{spec}, {sweeps} sweeps"),
    };
    let mut engines: Vec<Box<dyn Engine>> = vec![
        Box::new(Ours {
            world,
            solver,
            setting,
        }),
        Box::new(peer),
    ];
    #[cfg(feature = "jolt")]
    match jolt::Jolt::of(&reference, rayon::current_num_threads()) {
        Some(jolt) => engines.push(Box::new(jolt)),
        None => println!("{scene:<18} jolt: left out, only single shapes without joints are compared"),
    }
    for engine in &mut engines {
        (0..given.settle).for_each(|_| engine.step());
    }
    let mut least = vec![[f64::INFINITY; 2]; engines.len()];
    for _ in 0..given.rounds {
        for (engine, least) in engines.iter_mut().zip(&mut least) {
            let (start, worked) = (Instant::now(), processor_ms());
            (0..ROUND).for_each(|_| engine.step());
            let passed = [1e3 * start.elapsed().as_secs_f64(), processor_ms() - worked];
            for (least, passed) in least.iter_mut().zip(passed) {
                *least = least.min(passed / ROUND as f64);
            }
        }
    }
    let rows = engines.iter().zip(least).map(|(engine, [ms, cpu_ms])| {
        let poses = engine.poses();
        let (deepest_mm, mean_mm) = penetration(&reference, &poses);
        let row = Row {
            scene: scene.to_owned(),
            engine: engine.name(),
            ms,
            cpu_ms,
            fastest: engine.fastest(),
            deepest_mm,
            mean_mm,
            joint_mm: opening(&reference, &poses),
        };
        println!(
            "{:<18} {:<34} {:>9.3} {:>9.3} {:>9.1e} {:>11.3} {:>8.4} {:>9.3}",
            row.scene, row.engine, row.ms, row.cpu_ms, row.fastest, row.deepest_mm, row.mean_mm, row.joint_mm
        );
        row
    });
    rows.collect()
}

/// Processor time of this thread so far \[ms\]; not a number where the system does not tell.
fn processor_ms() -> f64 {
    let Ok(told) = std::fs::read_to_string("/proc/thread-self/schedstat") else {
        return f64::NAN;
    };
    let nanoseconds = told.split_whitespace().next().and_then(|word| word.parse().ok());
    nanoseconds.map_or(f64::NAN, |ns: f64| 1e-6 * ns)
}

/// Deepest and mean overlap of the contacts that overlap \[mm\].
fn penetration(world: &World, poses: &[(DVec3, DQuat)]) -> (f64, f64) {
    let mut collisions =
        Collisions::new(world.colliders().to_vec()).expect("the colliders were accepted before");
    let movable: Vec<bool> = world.bodies().ids().map(|id| world.bodies().is_free(id)).collect();
    let joined: std::collections::HashSet<(usize, usize)> = world
        .joints()
        .iter()
        .filter_map(|joint| match joint.bodies {
            [Some(a), Some(b)] => Some((a.index().min(b.index()), a.index().max(b.index()))),
            _ => None,
        })
        .collect();
    let excluded = |a: usize, b: usize| joined.contains(&(a.min(b), a.max(b)));
    let reach = vec![0.0; poses.len()];
    collisions
        .update(poses, &movable, &reach, &excluded)
        .expect("poses are numbers");
    let depths = collisions.contacts().iter().map(|point| -point.gap);
    let (mut deepest, mut sum, mut count) = (0.0_f64, 0.0, 0.0_f64);
    for depth in depths.filter(|depth| 0.0 < *depth) {
        deepest = deepest.max(depth);
        sum += depth;
        count += 1.0;
    }
    (1e3 * deepest, 1e3 * sum / count.max(1.0))
}

/// Largest distance of two points that a joint holds together \[mm\].
fn opening(world: &World, poses: &[(DVec3, DQuat)]) -> f64 {
    let mut most = 0.0_f64;
    for joint in world.joints() {
        let ends = [0, 1].map(|side| {
            let origin = joint.frames[side].origin;
            match joint.bodies[side] {
                Some(body) => {
                    let (x, q) = poses[body.index()];
                    x + q * origin
                }
                None => origin,
            }
        });
        most = most.max(ends[0].distance(ends[1]));
    }
    1e3 * most
}

/// What was asked for.
struct Given {
    scenes: Vec<String>,
    settle: usize,
    rounds: usize,
    /// Sweeps of delassus instead of the usual ones.
    sweeps: Option<usize>,
    csv: Option<std::fs::File>,
}

impl Given {
    fn read() -> Given {
        let mut given = Given {
            scenes: Vec::new(),
            settle: 600,
            rounds: 6,
            sweeps: None,
            csv: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|w| w.parse().ok()).expect("a number");
            match word.as_str() {
                "--settle" => given.settle = number(),
                "--rounds" => given.rounds = number(),
                "--sweeps" => given.sweeps = Some(number()),
                "--csv" => {
                    let path = words.next().expect("a file");
                    given.csv = Some(std::fs::File::create(path).expect("the file can be made"));
                }
                _ => given.scenes.push(word),
            }
        }
        given
    }
}
