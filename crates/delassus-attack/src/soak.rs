//! Every built-in scene for a long simulated time: what creeps, heats up, leaks or goes out of tolerance shows as a curve.

mod plot;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use delassus::math::DVec3;
use delassus::solver::from_spec;
use delassus::world::Scene;
use delassus::{Stop, scenes};

use serde::{Deserialize, Serialize};

use crate::asked::Asked;
use crate::process::Stopwatch;
use crate::tally::{Row, Tally};
use plot::Curves;

/// Simulated time where nobody asks for another \[s\].
const TIME: f64 = 600.0;
/// Longest processor time of one scene where nobody asks for another \[s\].
const PATIENCE: f64 = 600.0;
/// Points of a curve.
const POINTS: u64 = 300;
/// Creep counts from this share of the time on: what falls has fallen by then.
const SETTLED: f64 = 0.1;

/// A point of the curves.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Point {
    /// Time \[s\].
    pub(super) time: f64,
    /// Kinetic and potential energy \[J\].
    pub(super) energy: f64,
    /// Farthest that a body's centre is from where it had settled \[m\].
    pub(super) creep: f64,
    /// Worst law residual since the point before [m/s].
    pub(super) law: f64,
    /// Deepest penetration since then \[m\].
    pub(super) depth: f64,
    /// Memory of the process \[MB\].
    pub(super) memory: f64,
}

/// What one scene showed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Soaked {
    points: Vec<Point>,
    steps: u64,
    unsolved: u64,
    refused: Option<String>,
    cut: bool,
    panicked: bool,
}

/// Runs the scenes named, or all; curves as CSV and one picture of all go into the folder of `--out`. With `--resume`
/// scenes that are done there are not run again.
pub(crate) fn attack(asked: &Asked, named: &[&str]) -> Result<Tally, String> {
    let out = asked.out.as_deref().ok_or("soak needs --out FOLDER")?;
    let disk = |e: std::io::Error| format!("{}: {e}", out.display());
    std::fs::create_dir_all(out).map_err(disk)?;
    let all: Vec<&str> = scenes::exhibits()
        .iter()
        .map(|exhibit| exhibit.name)
        .collect();
    let chosen = if named.is_empty() { &all[..] } else { named };
    let mut tally = Tally::default();
    let mut curves = Curves::default();
    for name in chosen {
        let file = |kind: &str| out.join(format!("soak-{}.{kind}", name.replace(':', "-")));
        let done = asked
            .resume
            .then(|| std::fs::read_to_string(file("json")).ok());
        let soaked = match done.flatten() {
            Some(text) => serde_json::from_str(&text).map_err(|e| format!("{name}: {e}"))?,
            None => one(asked, name)?,
        };
        let text = serde_json::to_string(&soaked).map_err(|e| e.to_string())?;
        std::fs::write(file("json"), text).map_err(disk)?;
        soaked.count(tally.row("soak", name));
        if let Some(why) = &soaked.refused {
            asked.note(&format!("{name}: {why}"));
        }
        std::fs::write(file("csv"), csv(&soaked.points)).map_err(disk)?;
        curves.add(name, soaked.points);
        std::fs::write(out.join("soak.svg"), curves.svg()).map_err(disk)?;
    }
    Ok(tally)
}

/// One scene; a panic is a finding.
fn one(asked: &Asked, name: &str) -> Result<Soaked, String> {
    let scene = scenes::build(name).map_err(|e| e.to_string())?;
    let soaked = catch_unwind(AssertUnwindSafe(|| soak(asked, scene)));
    Ok(soaked.unwrap_or_else(|_| Soaked {
        panicked: true,
        ..Soaked::default()
    }))
}

impl Soaked {
    fn count(&self, row: &mut Row) {
        row.tried();
        row.failed("panics", u64::from(self.panicked));
        row.failed("refused", u64::from(self.refused.is_some()));
        row.seen("steps", self.steps);
        row.seen("unsolved", self.unsolved);
        row.seen("cut short", u64::from(self.cut));
        let worst = |of: fn(&Point) -> f64| self.points.iter().map(of).fold(0.0, f64::max);
        row.worst("time s", worst(|point| point.time));
        row.worst("creep m", worst(|point| point.creep));
        row.worst("law m/s", worst(|point| point.law));
        row.worst("depth m", worst(|point| point.depth));
        // Memory may grow while a scene is new; what grows later leaks.
        let at = |k: usize| self.points.get(k).map_or(0.0, |point| point.memory);
        let last = at(self.points.len().saturating_sub(1));
        row.worst("memory grown MB", last - at(self.points.len() / 4));
        let energies = || self.points.iter().map(|point| point.energy);
        let (mut least, mut rise) = (f64::INFINITY, 0.0_f64);
        for energy in energies() {
            least = least.min(energy);
            rise = rise.max(energy - least);
        }
        row.worst("energy rise J", rise);
    }
}

fn soak(asked: &Asked, mut scene: Scene) -> Soaked {
    let mut soaked = Soaked::default();
    let stop = Stop {
        tolerance: scene.run.tolerance,
        sweeps: scene.run.iterations,
        ..Stop::default()
    };
    let Ok(mut solver) = from_spec(&scene.run.solver, stop, 0) else {
        soaked.refused = Some(format!("there is no solver {}", scene.run.solver));
        return soaked;
    };
    let (world, dt) = (&mut scene.world, scene.run.dt);
    let steps = (asked.time.unwrap_or(TIME) / dt).round() as u64;
    let stride = steps.div_ceil(POINTS).max(1);
    let patience = Duration::from_secs_f64(asked.patience.unwrap_or(PATIENCE));
    let begin = Stopwatch::start();
    let mut settled: Option<Vec<DVec3>> = None;
    let mut point = Point::default();
    while soaked.steps < steps {
        let step = match world.step(dt, solver.as_mut()) {
            Ok(step) => step,
            Err(why) => {
                soaked.refused = Some(why.to_string());
                break;
            }
        };
        soaked.steps += 1;
        soaked.unsolved += u64::from(0 < step.unsolved);
        point.law = point.law.max(step.report.residual.law);
        point.depth = point.depth.max(step.penetration);
        soaked.cut = patience < begin.elapsed() && soaked.steps < steps;
        if !soaked.steps.is_multiple_of(stride) && soaked.steps != steps && !soaked.cut {
            continue;
        }
        let places = &world.bodies().position;
        if SETTLED * steps as f64 <= soaked.steps as f64 {
            let start = settled.get_or_insert_with(|| places.clone());
            let moved = places
                .iter()
                .zip(start.iter())
                .map(|(a, b)| (*a - *b).length());
            point.creep = moved.fold(0.0, f64::max);
        }
        point.time = world.time();
        point.energy = step.probe.kinetic + step.probe.potential;
        point.memory = memory().unwrap_or(0.0);
        soaked.points.push(std::mem::take(&mut point));
        if soaked.cut {
            break;
        }
    }
    soaked
}

/// Memory of this process now \[MB\].
fn memory() -> Option<f64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let resident: f64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    Some(resident * 4096.0 / 1e6)
}

fn csv(points: &[Point]) -> String {
    let mut text = "time,energy,creep,law,penetration,memory_mb\n".to_owned();
    for p in points {
        let Point {
            time,
            energy,
            creep,
            law,
            depth,
            memory,
        } = p;
        text += &format!("{time:.4},{energy:.9e},{creep:.3e},{law:.3e},{depth:.3e},{memory:.1}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Scratch;

    #[test]
    fn a_stack_neither_creeps_nor_heats_up() {
        let scratch = Scratch::new("soak").unwrap();
        let asked = Asked {
            out: Some(scratch.path().to_owned()),
            time: Some(5.0),
            ..Asked::default()
        };
        let tally = attack(&asked, &["stack:3"]).unwrap();
        assert!(tally.is_clean(), "{tally}");
        let text = std::fs::read_to_string(scratch.path().join("soak-stack-3.csv")).unwrap();
        let last: Vec<f64> = text
            .lines()
            .last()
            .unwrap()
            .split(',')
            .map(|x| x.parse().unwrap())
            .collect();
        // Half of the time, half a millimetre.
        assert!((last[0] - 5.0).abs() < 1e-9 && last[2] < 5e-4, "{last:?}");
        let picture = std::fs::read_to_string(scratch.path().join("soak.svg")).unwrap();
        assert!(picture.contains("stack:3") && picture.ends_with("</svg>\n"));
    }
}
