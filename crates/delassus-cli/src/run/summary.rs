//! The end of a run in words and as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use delassus::world::Integrator;
use delassus::{Solver, World};
use serde::Serialize;

use super::Run;
use super::checkpoint::hash;
use super::ending::Ending;
use super::tally::{Tally, Worst, WorstBlock};
use crate::scene::joints;
use crate::solvers::{self, Options};
use crate::table;

/// The document of `--json` and `summary.json`.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    schema: &'static str,
    scene: String,
    title: String,
    /// `completed`, `interrupted` or `refused`.
    ending: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What acts in robot files and is left out, as `--lossy` allows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lost: Vec<String>,
    bodies: usize,
    joints: usize,
    /// Steps done before this run: those of the checkpoint it went on from.
    first_step: u64,
    /// Steps done since time zero.
    steps: u64,
    steps_planned: u64,
    dt: f64,
    substeps: u32,
    integrator: Integrator,
    /// Substeps taken at first order where second was asked for.
    coarse_substeps: u64,
    /// Simulated time \[s\].
    time: f64,
    solver: &'static str,
    options: Options,
    /// Steps by the solver that `auto` chose.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    chosen: BTreeMap<&'static str, u64>,
    tolerance: f64,
    most_iterations: usize,
    seed: u64,
    threads: u16,
    law: Worst,
    /// The block with the worst law residual; none where all residuals are zero.
    worst_block: Option<WorstBlock>,
    penetration: Worst,
    violation: Worst,
    energy: Energy,
    /// Steps that took energy from joints too fast for them.
    braked_steps: u64,
    unsolved_steps: u64,
    /// Those of them that rounding keeps from being better.
    #[serde(skip_serializing_if = "none")]
    floor_steps: u64,
    /// Steps that did the sweeps asked for, where no tolerance was.
    swept_as_asked_steps: u64,
    /// Steps whose answer came from another solver than the first one tried.
    fallback_steps: u64,
    /// The same by what was tried.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fallback_reasons: BTreeMap<String, u64>,
    /// Problems kept by `--capture`, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    captured: Option<u64>,
    iterations_per_step: Spread,
    contacts_per_step: Spread,
    ms_per_step: Milliseconds,
    elapsed_s: f64,
    real_time_factor: f64,
    state_hash: String,
}

/// Energy of the dynamic bodies \[J\].
#[derive(Debug, Serialize)]
struct Energy {
    start: f64,
    end: f64,
    largest_rise: f64,
    /// What was taken from joints too fast for a step.
    braked: f64,
}

impl Energy {
    fn of(tally: &Tally) -> Energy {
        Energy {
            start: tally.energy_start,
            end: tally.energy_end,
            largest_rise: tally.energy_rise,
            braked: tally.braked,
        }
    }
}

#[derive(Debug, Serialize)]
struct Spread {
    mean: f64,
    most: u64,
}

impl Spread {
    fn of(tally: &Tally, (sum, most): (u64, u64)) -> Spread {
        let mean = tally.mean(sum as f64);
        Spread { mean, most }
    }
}

/// Mean time of a step and of its phases \[ms\].
#[derive(Debug, Serialize)]
struct Milliseconds {
    total: f64,
    collide: f64,
    assemble: f64,
    solve: f64,
    integrate: f64,
}

impl Milliseconds {
    fn of(tally: &Tally) -> Milliseconds {
        let mean = |seconds: f64| 1e3 * tally.mean(seconds);
        Milliseconds {
            total: mean(tally.seconds()),
            collide: mean(tally.clock.collide),
            assemble: mean(tally.clock.assemble),
            solve: mean(tally.clock.solve),
            integrate: mean(tally.clock.integrate),
        }
    }
}

impl Summary {
    pub(super) fn new(
        run: &Run<'_>,
        world: &World,
        solver: &dyn Solver,
        (ending, elapsed): (&Ending, Duration),
    ) -> Summary {
        let (plan, tally) = (run.plan, &run.tally);
        let (ending, message) = match ending {
            Ending::Completed => ("completed", None),
            Ending::Interrupted(why) => ("interrupted", Some(why.to_string())),
            Ending::Refused(why) => ("refused", Some(why.to_string())),
            Ending::Gained(why) => ("gained", Some(why.to_string())),
        };
        let elapsed_s = elapsed.as_secs_f64();
        let simulated = plan.options.dt * tally.steps as f64;
        Summary {
            schema: "delassus-run-1",
            scene: plan.source.name.clone(),
            title: plan.title.clone(),
            ending,
            message,
            lost: plan.lost.clone(),
            bodies: world.bodies().len(),
            joints: joints(world),
            first_step: plan.first,
            steps: run.step,
            steps_planned: plan.steps,
            dt: plan.options.dt,
            substeps: plan.options.substeps,
            integrator: plan.options.integrator,
            coarse_substeps: tally.coarse,
            time: world.time(),
            solver: solver.name(),
            options: Options(solver.options()),
            chosen: tally.chosen.clone(),
            tolerance: plan.options.tolerance,
            most_iterations: plan.options.iterations,
            seed: plan.options.seed,
            threads: run.args.threads,
            law: tally.law,
            worst_block: tally.worst_block.clone(),
            penetration: tally.penetration,
            violation: tally.violation,
            energy: Energy::of(tally),
            braked_steps: tally.braked_steps,
            unsolved_steps: tally.unsolved,
            floor_steps: tally.floor,
            swept_as_asked_steps: tally.swept,
            fallback_steps: tally.fallbacks,
            fallback_reasons: tally.reasons.clone(),
            captured: run.capture.folder().map(|_| run.capture.kept),
            iterations_per_step: Spread::of(tally, (tally.iterations, tally.most_iterations)),
            contacts_per_step: Spread::of(tally, (tally.contacts, tally.most_contacts)),
            ms_per_step: Milliseconds::of(tally),
            elapsed_s,
            real_time_factor: simulated / elapsed_s.max(1e-9),
            state_hash: hash(world),
        }
    }

    pub(super) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data has a JSON form") + "\n"
    }

    /// What a person wants to know, one thing per line.
    pub(super) fn text(&self) -> String {
        let mut lines = self.head();
        lines.extend(self.quality());
        lines.extend(self.cost());
        if let Some(kept) = self.captured {
            lines.push(("captured", format!("{kept} problems")));
        }
        for lost in &self.lost {
            lines.push(("not simulated", lost.clone()));
        }
        lines.push(("state hash", self.state_hash.clone()));
        let width = lines.iter().map(|(label, _)| label.len()).max();
        let width = width.unwrap_or(0);
        let line = |(label, value): &(&str, String)| format!("{label:<width$}  {value}\n");
        lines.iter().map(line).collect()
    }

    fn head(&self) -> Vec<(&'static str, String)> {
        let solver = solvers::label(self.solver, &self.options.0);
        let scene = match &self.title {
            title if title.is_empty() => self.scene.clone(),
            // Titles of built-in scenes begin with their name.
            title if title.starts_with(&self.scene) => title.clone(),
            title => format!("{}: {title}", self.scene),
        };
        let mut steps = format!("{} of {} s", self.steps, self.dt);
        if self.substeps != 1 {
            steps.push_str(&format!(", {} substeps each", self.substeps));
        }
        steps.push_str(&format!(", {:.4} s simulated", self.time));
        if self.integrator == Integrator::Rattle {
            let coarse = self.coarse_substeps;
            steps.push_str(&format!(", by rattle but for {coarse} substeps"));
        }
        if self.first_step != 0 {
            steps.push_str(&format!("; resumed at step {}", self.first_step));
        }
        if self.ending == "gained" {
            steps.push_str("; energy from nothing");
        } else if self.ending != "completed" {
            steps.push_str(&format!("; {} before step {}", self.ending, self.steps + 1));
        }
        let mut lines = vec![
            ("scene", scene),
            (
                "world",
                format!("{} bodies, {} joints", self.bodies, self.joints),
            ),
            ("steps", steps),
            (
                "solver",
                match self.tolerance {
                    0.0 => format!("{solver}, {} sweeps", self.most_iterations),
                    to => format!(
                        "{solver}, to {to:e} m/s or {} iterations",
                        self.most_iterations
                    ),
                },
            ),
        ];
        if !self.chosen.is_empty() {
            let chosen = self.chosen.iter();
            let chosen: Vec<String> = chosen
                .map(|(solver, steps)| format!("{solver} in {steps} steps"))
                .collect();
            lines.push(("chosen", chosen.join(", ")));
        }
        lines
    }

    fn quality(&self) -> Vec<(&'static str, String)> {
        let worst = |worst: &Worst, unit: &str| match worst.step {
            Some(step) => format!("{} {unit} in step {step}", table::number(worst.value)),
            None => format!("0 {unit}"),
        };
        let energy = &self.energy;
        let done = self.steps - self.first_step;
        let name = self.worst_block.as_ref().map(|worst| &worst.name);
        let at = name.map_or_else(String::new, |name| format!(", {name}"));
        let mut lines = vec![
            ("worst law residual", worst(&self.law, "m/s") + &at),
            ("worst penetration", worst(&self.penetration, "m")),
            ("worst joint violation", worst(&self.violation, "m or rad")),
            (
                "energy",
                format!(
                    "{:.6e} J at the start, {:.6e} J at the end, largest rise {} J",
                    energy.start,
                    energy.end,
                    table::number(energy.largest_rise)
                ),
            ),
            (
                "steps not solved",
                format!("{} of {done}", self.unsolved_steps),
            ),
        ];
        if self.floor_steps != 0 {
            let floor = format!(
                "{} of these: impulses so large cannot cancel any better, ask for a coarser tolerance",
                self.floor_steps
            );
            lines.push(("  at the floor of rounding", floor));
        }
        if self.braked_steps != 0 {
            let braked = format!(
                "{} J in {} steps, from joints that turn faster than a step can follow",
                table::number(energy.braked),
                self.braked_steps
            );
            lines.push(("energy taken off", braked));
        }
        if self.swept_as_asked_steps != 0 {
            let swept = format!("{} of {done}", self.swept_as_asked_steps);
            lines.push(("sweeps as asked", swept));
        }
        if self.fallback_steps != 0 {
            let steps = self.fallback_steps;
            let taken = format!("{steps} of {done} steps");
            lines.push(("not by the first tried", taken));
        }
        lines
    }

    fn cost(&self) -> Vec<(&'static str, String)> {
        let ms = &self.ms_per_step;
        let share = |name: &str, part: f64| {
            let percent = 100.0 * part / ms.total.max(1e-12);
            format!("{name} {part:.4} ms ({percent:.0} %)")
        };
        let phases = [
            share("collide", ms.collide),
            share("assemble", ms.assemble),
            share("solve", ms.solve),
            share("integrate", ms.integrate),
        ];
        let spread = |spread: &Spread| format!("{:.1}, at most {}", spread.mean, spread.most);
        vec![
            ("iterations per step", spread(&self.iterations_per_step)),
            ("contacts per step", spread(&self.contacts_per_step)),
            (
                "time per step",
                format!(
                    "{:.4} ms, {:.2} × real time",
                    ms.total, self.real_time_factor
                ),
            ),
            ("  of which", phases.join(", ")),
        ]
    }
}

fn none(count: &u64) -> bool {
    *count == 0
}
