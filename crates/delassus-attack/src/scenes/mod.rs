//! Random scenes, stepped by default settings and watched from outside: energy from nothing, depth, tunnelling.

mod draw;
mod ground;
mod judge;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use delassus::math::Random;
use delassus::model::scene::parse;
use delassus::problem::file::json;
use delassus::solver::{Observed, Seen, from_spec};
use delassus::{Status, Stop};

use crate::asked::{Asked, own_seed};
use crate::process::Stopwatch;
use crate::tally::{Row, Tally};
use draw::{Class, Drawn, draw};
use judge::{ENERGY_BOUND, Watch};

/// Simulated time where nobody asks for another \[s\].
const TIME: f64 = 10.0;
/// Longest processor time spent on one scene.
const PATIENCE: Duration = Duration::from_secs(60);
/// Problems of unsolved steps that are kept of a scene.
const KEPT: usize = 20;
/// A body that moves by less than so many of its radii in a step goes through nothing.
const TUNNEL_BOUND: f64 = 0.5;

/// What happened in one scene.
#[derive(Clone, Debug, Default)]
struct Found {
    steps: u64,
    /// Steps that ended at a stated floor of rounding, and those that ended without an answer.
    floor: u64,
    unsolved: u64,
    /// Why the scene or a step was refused.
    refused: Option<String>,
    not_finite: bool,
    panicked: bool,
    cut: bool,
    /// Largest energy from nothing, over what the bound is taken of.
    energy: f64,
    depth: f64,
    said_depth: f64,
    /// Bodies that went through something: radii in the step, and speed.
    through: Vec<(f64, f64)>,
    slowest: f64,
    /// Problems of unsolved steps with the impulses they began with: which step, and the text of a problem file.
    problems: Vec<(u64, String)>,
}

impl Found {
    /// What is worth a look, in words: broken promises, and what the summary of a run would say.
    fn odd(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.panicked {
            words.push("panic".to_owned());
        }
        if self.not_finite {
            words.push("a number that is not finite".to_owned());
        }
        if !(self.energy <= ENERGY_BOUND) {
            words.push(format!("energy from nothing: {:.2e}", self.energy));
        }
        for (radii, speed) in &self.through {
            let slow = *radii < TUNNEL_BOUND;
            let which = if slow { "slow" } else { "fast" };
            words.push(format!(
                "{which} body went through at {speed:.1} m/s, {radii:.2} radii a step"
            ));
        }
        if 0 < self.floor {
            words.push(format!("{} of {} steps at a floor", self.floor, self.steps));
        }
        if 0 < self.unsolved {
            words.push(format!(
                "{} of {} steps unsolved",
                self.unsolved, self.steps
            ));
        }
        if let Some(why) = &self.refused {
            words.push(format!("refused: {why}"));
        }
        words
    }

    fn count(&self, row: &mut Row) {
        row.tried();
        let slow = self
            .through
            .iter()
            .filter(|(radii, _)| *radii < TUNNEL_BOUND);
        let slow = slow.count() as u64;
        row.failed("panics", u64::from(self.panicked));
        row.failed("not finite", u64::from(self.not_finite));
        row.failed("energy", u64::from(!(self.energy <= ENERGY_BOUND)));
        row.failed("tunnelled slow", slow);
        row.seen("tunnelled fast", self.through.len() as u64 - slow);
        row.seen("steps", self.steps);
        row.seen("floor", self.floor);
        row.seen("unsolved", self.unsolved);
        row.seen("refused", u64::from(self.refused.is_some()));
        row.seen("cut short", u64::from(self.cut));
        row.worst("energy", self.energy);
        row.worst("depth m", self.depth);
        row.worst("said depth m", self.said_depth);
        row.worst("slowest step ms", 1e3 * self.slowest);
    }
}

/// Draws so many scenes of every class, or of the one asked for, and runs them.
pub(crate) fn attack(asked: &Asked, count: u64, seed: u64) -> Result<Tally, String> {
    asked.check_class(&Class::ALL.map(|(name, _)| name))?;
    let mut tally = Tally::default();
    let time = asked.time.unwrap_or(TIME);
    for (number, (name, class)) in (0_u64..).zip(Class::ALL) {
        if asked.skips(name) {
            continue;
        }
        for i in asked.first..asked.first + count {
            let drawn = draw(class, &mut Random::new(own_seed(seed, number, i)), time);
            let found = match catch_unwind(AssertUnwindSafe(|| run(&drawn, time))) {
                Ok(found) => found,
                Err(_) => Found {
                    panicked: true,
                    ..Found::default()
                },
            };
            let title = format!("{name}-{i}");
            let odd = found.odd();
            if !odd.is_empty() {
                asked.note(&format!("{title}, dt {:.1e}: {}", drawn.dt, odd.join("; ")));
                asked.keep(&format!("{title}.toml"), drawn.text.as_bytes())?;
                for (step, text) in &found.problems {
                    asked.keep(&format!("{title}-step-{step}.json"), text.as_bytes())?;
                }
            }
            found.count(tally.row("scenes", name));
        }
    }
    Ok(tally)
}

/// Runs one scene to its end, or until something ends it.
fn run(drawn: &Drawn, time: f64) -> Found {
    let mut found = Found::default();
    let refuse = |why: String| Found {
        refused: Some(why),
        ..Found::default()
    };
    let mut scene = match parse(&drawn.text) {
        Ok(scene) => scene,
        Err(why) => return refuse(why.to_string()),
    };
    let stop = Stop {
        tolerance: scene.run.tolerance,
        sweeps: scene.run.iterations,
        ..Stop::default()
    };
    let mut solver = match from_spec(&scene.run.solver, stop, 0) {
        Ok(solver) => solver,
        Err(why) => return refuse(why.to_string()),
    };
    let world = &mut scene.world;
    let mut watch = Watch::new(world, drawn);
    let begin = Stopwatch::start();
    let steps = (time / drawn.dt).round() as u64;
    while found.steps < steps {
        if PATIENCE < begin.elapsed() {
            found.cut = true;
            break;
        }
        let (number, kept) = (found.steps + 1, found.problems.len());
        let problems = &mut found.problems;
        let mut watched = Observed::lightly(solver.as_mut(), |seen| keep(seen, number, problems));
        let step = match world.step(drawn.dt, &mut watched) {
            Ok(step) => step,
            Err(why) => {
                found.refused = Some(why.to_string());
                break;
            }
        };
        found.steps += 1;
        // What was solved at a second attempt is solved.
        if step.unsolved == 0 {
            found.problems.truncate(kept);
        }
        match step.report.status {
            Status::RoundingFloor => found.floor += 1,
            _ => found.unsolved += u64::from(0 < step.unsolved),
        }
        found.said_depth = found.said_depth.max(step.penetration);
        let clock = &step.clock;
        let elapsed = clock.collide + clock.assemble + clock.solve + clock.integrate;
        found.slowest = found.slowest.max(elapsed);
        let bodies = world.bodies();
        let mut numbers = bodies
            .position
            .iter()
            .chain(&bodies.velocity)
            .chain(&bodies.spin);
        found.not_finite |= !numbers.all(|v| v.is_finite());
        let sight = watch.see(world);
        found.energy = found.energy.max(sight.energy);
        found.depth = found.depth.max(sight.depth);
        let through = sight.through.iter().map(|t| (t.radii, t.speed));
        found.through.extend(through);
    }
    found
}

/// Keeps the problem of a step that was not solved; the first ones of a scene show what is wrong with it.
fn keep(seen: Seen<'_>, step: u64, problems: &mut Vec<(u64, String)>) {
    let report = seen.report;
    if report.status == Status::Solved || KEPT <= problems.len() {
        return;
    }
    let (status, law) = (report.status.name(), report.residual.law);
    let title = format!("step {step}: {status}, {law:.2e} m/s");
    let usable = seen.start.len() == seen.problem.n_rows();
    let guess = usable.then_some(seen.start);
    problems.push((step, json::save_with(seen.problem, &title, guess, None)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first steps of a scene, by class and number of seed 2026.
    fn first_steps(class: &str, i: u64, steps: u64) -> Found {
        let found = (0_u64..)
            .zip(Class::ALL)
            .find(|(_, (name, _))| *name == class);
        let (number, (_, class)) = found.expect("a class has a name");
        let drawn = draw(class, &mut Random::new(own_seed(2026, number, i)), TIME);
        run(&drawn, steps as f64 * drawn.dt)
    }

    /// Rings of hinges and fixed joints hold more than their bodies can move. Bodies that spin at the start drift apart in
    /// the first step, and then every joint asked for its own part of that back, though no velocity does it all: steps 2 to 4
    /// ended as `ray`, 1e-6 to 1e-4 m/s off.
    #[test]
    fn rings_whose_drifts_contradict_each_other_are_solved_in_every_step() {
        for (class, i) in [
            ("machines", 27),
            ("machines", 31),
            ("loops", 29),
            ("loops", 36),
        ] {
            let found = first_steps(class, i, 8);
            assert_eq!((found.steps, found.unsolved), (8, 0), "{class} {i}");
        }
    }
}
