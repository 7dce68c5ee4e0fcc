//! What a run adds up while it goes: the worst of everything, energy, and where the time went.

use std::collections::BTreeMap;

use super::ending::Gained;
use delassus::world::{Clock, Step};
use delassus::{BlockId, Status, World};
use serde::Serialize;

/// Points kept for pictures; when full, neighbours are merged.
const MOST_POINTS: usize = 4096;

/// Share of the energy that could have become motion by which a run may exceed it unsupplied.
const ENERGY_BOUND: f64 = 0.1;
/// Speed at which overlapping bodies are parted \[m/s\].
const PARTING: f64 = 1.0;

/// Mass of all bodies that impulses move \[kg\].
fn free_mass(world: &World) -> f64 {
    let bodies = world.bodies();
    let free = bodies.ids().filter(|id| bodies.is_free(*id));
    free.map(|id| bodies.mass[id.index()]).sum()
}

/// The largest value of something, and the step it was met in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Worst {
    pub(crate) value: f64,
    /// None where it was never above zero.
    pub(crate) step: Option<u64>,
}

impl Worst {
    fn add(&mut self, step: u64, value: f64) {
        // Not-a-number is the worst of all.
        if !(value <= self.value) {
            (self.value, self.step) = (value, Some(step));
        }
    }
}

/// The block with the largest residual of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WorstBlock {
    pub(crate) step: u64,
    /// Its number in the problem of that step.
    pub(crate) block: BlockId,
    /// Whose it is, in words.
    pub(crate) name: String,
}

/// A point of the pictures: one step, or the worst of some neighbouring steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) time: f64,
    pub(super) kinetic: f64,
    pub(super) potential: f64,
    pub(super) law: f64,
    pub(super) penetration: f64,
    pub(super) iterations: f64,
}

impl Point {
    fn merged(self, later: Point) -> Point {
        Point {
            law: self.law.max(later.law),
            penetration: self.penetration.max(later.penetration),
            iterations: self.iterations.max(later.iterations),
            ..later
        }
    }
}

/// Sums and worst values of a run so far.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) steps: u64,
    /// Steps in which some solve did not end as solved.
    pub(crate) unsolved: u64,
    /// Those of them that rounding keeps from being better.
    pub(crate) floor: u64,
    /// Steps in which some solve did the sweeps asked for, and no tolerance was.
    pub(crate) swept: u64,
    /// Steps whose answer came from another solver than the first one tried.
    pub(crate) fallbacks: u64,
    /// The same by what the report said about it.
    pub(crate) reasons: BTreeMap<String, u64>,
    /// Steps by the solver that `auto` chose; empty for every other solver.
    pub(crate) chosen: BTreeMap<&'static str, u64>,
    /// Substeps taken at first order where second was asked for.
    pub(crate) coarse: u64,
    /// Energy taken from joints that turned faster than a step can follow \[J\], and the steps that did.
    pub(crate) braked: f64,
    pub(crate) braked_steps: u64,
    pub(crate) law: Worst,
    pub(crate) worst_block: Option<WorstBlock>,
    pub(crate) penetration: Worst,
    pub(crate) violation: Worst,
    /// Energy at the start \[J\].
    pub(crate) energy_start: f64,
    pub(crate) energy_end: f64,
    energy_least: f64,
    /// Largest rise above any earlier energy \[J\].
    pub(crate) energy_rise: f64,
    /// Kinetic and potential energy at the start \[J\].
    begin: [f64; 2],
    /// The first step whose energy nothing supplied; never where something may supply it.
    pub(crate) gained: Option<Gained>,
    /// Energy that parting overlaps may bring \[J\].
    parting: f64,
    pub(crate) iterations: u64,
    pub(crate) most_iterations: u64,
    pub(crate) contacts: u64,
    pub(crate) most_contacts: u64,
    pub(crate) clock: Clock,
    points: Vec<Point>,
    /// Steps in each point.
    stride: u64,
}

impl Tally {
    pub(crate) fn new(world: &World) -> Tally {
        let probe = world.probe();
        let energy = probe.kinetic + probe.potential;
        Tally {
            steps: 0,
            unsolved: 0,
            floor: 0,
            swept: 0,
            fallbacks: 0,
            reasons: BTreeMap::new(),
            chosen: BTreeMap::new(),
            coarse: 0,
            braked: 0.0,
            braked_steps: 0,
            law: Worst::default(),
            worst_block: None,
            penetration: Worst::default(),
            violation: Worst::default(),
            energy_start: energy,
            energy_end: energy,
            energy_least: energy,
            energy_rise: 0.0,
            begin: [probe.kinetic, probe.potential],
            gained: None,
            parting: 0.5 * free_mass(world) * PARTING * PARTING,
            iterations: 0,
            most_iterations: 0,
            contacts: 0,
            most_contacts: 0,
            clock: Clock::default(),
            points: Vec::new(),
            stride: 1,
        }
    }

    /// Adds a step that the world has just done.
    pub(crate) fn add(&mut self, number: u64, world: &World, step: &Step) {
        let law = step.report.residual.law;
        self.steps += 1;
        if self.steps == 1 {
            // Whatever stands in the ground at the start is lifted out of it: m g d.
            self.parting += free_mass(world) * world.gravity.length() * step.penetration;
        }
        self.unsolved += u64::from(0 < step.unsolved);
        let at_floor = step.report.status == Status::RoundingFloor;
        self.floor += u64::from(0 < step.unsolved && at_floor);
        self.swept += u64::from(0 < step.swept);
        self.fallbacks += u64::from(0 < step.fallbacks);
        if let (Some(_), Some(reason)) = (step.report.fallback, &step.report.message) {
            *self.reasons.entry(reason.clone()).or_default() += 1;
        }
        for part in &step.report.chosen {
            *self.chosen.entry(part.choice.first.solver).or_default() += 1;
        }
        self.coarse += u64::from(step.coarse);
        self.braked += step.braked;
        self.braked_steps += u64::from(0.0 < step.braked);
        self.law.add(number, law);
        if self.law.step == Some(number) {
            let worst = step.report.residual.worst_block.zip(step.worst);
            self.worst_block = worst.map(|(block, key)| WorstBlock {
                step: number,
                block,
                name: world.describe(key),
            });
        }
        self.penetration.add(number, step.penetration);
        self.violation.add(number, step.violation);
        let energy = step.probe.kinetic + step.probe.potential;
        self.energy_end = energy;
        self.energy_least = self.energy_least.min(energy);
        self.energy_rise = self.energy_rise.max(energy - self.energy_least);
        self.watch_energy(number, world, step);
        let (iterations, contacts) = (step.report.iterations as u64, step.contacts as u64);
        self.iterations += iterations;
        self.most_iterations = self.most_iterations.max(iterations);
        self.contacts += contacts;
        self.most_contacts = self.most_contacts.max(contacts);
        self.clock.collide += step.clock.collide;
        self.clock.assemble += step.clock.assemble;
        self.clock.solve += step.clock.solve;
        self.clock.integrate += step.clock.integrate;
        self.push(Point {
            time: world.time(),
            kinetic: step.probe.kinetic,
            potential: step.probe.potential,
            law,
            penetration: step.penetration,
            iterations: iterations as f64,
        });
    }

    /// Notes the first step that ends with more energy than there was: T + V may exceed that of the start by no more than
    /// a share of what could have become motion by now, and by what parting overlaps bring.
    fn watch_energy(&mut self, number: u64, world: &World, step: &Step) {
        let [kinetic, potential] = self.begin;
        let excess = self.energy_end - (kinetic + potential);
        let available = kinetic + (potential - step.probe.potential).max(0.0);
        let allowed = ENERGY_BOUND * available + self.parting;
        if excess <= allowed || self.gained.is_some() || world.is_supplied() {
            return;
        }
        self.gained = Some(Gained {
            number,
            time: world.time(),
            excess,
            allowed,
        });
    }

    fn push(&mut self, point: Point) {
        if self.stride == 1 || (self.steps - 1).is_multiple_of(self.stride) {
            self.points.push(point);
        } else if let Some(last) = self.points.last_mut() {
            *last = last.merged(point);
        }
        if MOST_POINTS <= self.points.len() && self.steps.is_multiple_of(self.stride) {
            let pairs = self.points.chunks(2);
            let merge = |pair: &[Point]| match pair {
                [first, second] => first.merged(*second),
                _ => pair[0],
            };
            self.points = pairs.map(merge).collect();
            self.stride *= 2;
        }
    }

    /// Energy, residuals and the rest against time, in at most 4096 points.
    pub(super) fn series(&self) -> &[Point] {
        &self.points
    }

    /// Mean of a sum over the steps; zero before the first.
    pub(crate) fn mean(&self, sum: f64) -> f64 {
        sum / self.steps.max(1) as f64
    }

    /// Seconds spent in all phases.
    pub(crate) fn seconds(&self) -> f64 {
        self.clock.collide + self.clock.assemble + self.clock.solve + self.clock.integrate
    }
}
