//! Second-order solver: exact for Signorini and Coulomb.
//!
#![doc = include_str!("../../../docs/newton.md")]

mod arclength;
mod by_matrix;
mod certificate;
mod continuation;
mod interior;
mod kernel;
mod long_tree;
mod matrix;
mod natural;
mod pairs;
mod proximal;
mod semismooth;
mod spread;
mod stage;
mod sweeps;
mod system;
mod thicker;
mod white;
mod wide;

use crate::law::Law;
use std::time::Instant;

use crate::index::BlockId;
use crate::math::parallel;
use crate::problem::{Block, Form, Primal, Problem, Solution};
use crate::solver::{Certificate, Fit, Monitor, Solver, Status, Stop};
use continuation::Course;
use kernel::Kernel;
use stage::{End, Stage};
use system::System;
use white::White;

/// The second-order solver.
#[derive(Clone, Debug, Default)]
pub struct Newton {
    /// When to stop; `sweeps` counts factorisations, those of islands side by side.
    pub stop: Stop,
    /// What is kept from solve to solve, island by island.
    #[allow(
        clippy::vec_box,
        reason = "a solve takes its kernel out and puts it back: 2 KB that stay where they are"
    )]
    kernels: Vec<Box<Kernel>>,
}

impl Newton {
    /// A solver with this stopping rule.
    pub fn new(stop: Stop) -> Newton {
        Newton {
            stop,
            kernels: Vec::new(),
        }
    }
}

impl Solver for Newton {
    fn name(&self) -> &'static str {
        "newton"
    }

    fn fit(&self, _law: &Law) -> Fit {
        Fit::Exact
    }

    stops_by_its_field!();

    fn reads_velocity(&self) -> bool {
        false
    }

    /// Solves islands apart, side by side: a step of one need not wait for another.
    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        let begin = monitor.start();
        let small = White::is_small(problem);
        let one = match problem.form() {
            Form::Primal(primal) if is_one_island(problem, primal) => true,
            Form::Primal(_) => small && problem.is_one_island(),
            Form::Dual(_) => true,
        };
        // At rest the impulses of the step before still do; small islands see that as soon themselves.
        let looks = 0.0 < self.stop.tolerance && !(one && small);
        if looks && monitor.holds(&solution.lambda) {
            return Status::Solved;
        }
        let islands = match one || problem.is_one_island() {
            true => Vec::new(),
            false => problem.islands(),
        };
        let mut kernels = std::mem::take(&mut self.kernels);
        kernels.resize_with(islands.len().max(1), Box::default);
        let at = (self.stop, begin);
        if islands.len() < 2 {
            let kernel = kernels.pop().unwrap_or_default();
            let end = solve_island(problem, &solution.lambda, kernel, at);
            let ends = std::slice::from_ref(&end);
            record(ends, monitor);
            let status = gather(problem, (&[], ends), &mut solution.lambda, monitor);
            kernels.push(end.kernel);
            self.kernels = kernels;
            return status;
        }
        let ends = {
            let lambda = &solution.lambda;
            let tasks: Vec<_> = islands.iter().zip(kernels.drain(..)).collect();
            parallel::map(tasks, |(island, kernel)| {
                let own: Vec<f64> = rows_of(problem, island).map(|row| lambda[row]).collect();
                let part = problem
                    .part(island)
                    .expect("the blocks of an island are a problem of their own");
                solve_island(&part, &own, kernel, at)
            })
        };
        record(&ends, monitor);
        let status = gather(problem, (&islands, &ends), &mut solution.lambda, monitor);
        kernels.extend(ends.into_iter().map(|end| end.kernel));
        self.kernels = kernels;
        status
    }
}

/// Whether all blocks act on the only mass there is.
fn is_one_island(problem: &Problem, primal: &Primal) -> bool {
    let acts = |k: usize| !primal.jacobian().entry_range(k).is_empty();
    primal.mass().len() == 1 && (0..problem.blocks().len()).all(acts)
}

/// Rows of some blocks, one after the other.
fn rows_of(problem: &Problem, blocks: &[BlockId]) -> impl Iterator<Item = usize> + Clone {
    let rows = |id: &BlockId| problem.blocks()[id.index()].rows();
    blocks.iter().flat_map(rows)
}

/// Puts the impulses of all islands together, and how they ended. Where none are named, one is the whole.
fn gather(
    problem: &Problem,
    (islands, ends): (&[Vec<BlockId>], &[Ended]),
    lambda: &mut [f64],
    monitor: &mut Monitor<'_>,
) -> Status {
    let (mut status, mut proven) = (Status::Solved, false);
    let put = |i: usize, own: &[f64], all: &mut [f64]| match islands.get(i) {
        Some(island) => {
            let rows = rows_of(problem, island);
            rows.zip(own).for_each(|(row, own)| all[row] = *own);
        }
        None => all.copy_from_slice(own),
    };
    for (i, end) in ends.iter().enumerate() {
        put(i, end.kernel.room.lambda(), lambda);
        if end.status != Status::Solved && status != Status::Ray {
            status = end.status;
        }
        // A contradiction inside one island is one of the whole.
        if let Some((own, proves)) = end.ray.as_ref().filter(|(_, proves)| *proves || !proven) {
            let mut y = vec![0.0; problem.n_rows()];
            put(i, own, &mut y);
            proven = *proves;
            let farkas = proves.then(|| y.clone());
            monitor.certify(Some(Certificate { ray: y, farkas }));
            status = Status::Ray;
        }
    }
    status
}

/// What became of one island; its impulses and its history, residual after every factorisation and its time, are in the
/// memory of its kernel.
struct Ended {
    status: Status,
    residual: f64,
    /// y along which impulses can grow for ever, and whether it proves that normals and joints contradict each other.
    ray: Option<(Vec<f64>, bool)>,
    kernel: Box<Kernel>,
}

/// Islands go side by side: line i of the history has the worst residual after their i-th factorisation.
fn record(ends: &[Ended], monitor: &mut Monitor<'_>) {
    let history = |end: &Ended| end.kernel.room.history.len();
    let most = ends.iter().map(history).max().unwrap_or(0);
    for i in 0..most {
        let (mut law, mut elapsed) = (0.0_f64, 0.0_f64);
        for end in ends {
            let last = (end.residual, 0.0);
            let &(own, at) = end.kernel.room.history.get(i).unwrap_or(&last);
            (law, elapsed) = (law.max(own), elapsed.max(at));
        }
        monitor.stepped(law, elapsed);
    }
}

/// Solves one island from given impulses.
fn solve_island(
    problem: &Problem,
    start: &[f64],
    mut kernel: Box<Kernel>,
    (stop, begin): (Stop, Instant),
) -> Ended {
    let warm = start.iter().any(|x| *x != 0.0);
    let white = match warm {
        true => System::white(problem, &mut kernel.island),
        false => None,
    };
    let system = white.unwrap_or_else(|| System::new(problem));
    let mut stage = Stage::new(system, kernel, stop, begin);
    // Where contacts stay what they are, the laws themselves are linear enough.
    let mut end = match stage.system.white.is_some() {
        true => next(stage.start_near(start)),
        false => Ok(()),
    };
    if warm {
        end = end.and_then(|()| next(stage.resume(start, Course::WARM)));
    }
    let end = end.and_then(|()| {
        if stage.system.white.is_some() {
            stage.put_into(System::new(problem));
        }
        stages(&mut stage, start)
    });
    let status = match end {
        Err(End::Run(status)) => status,
        _ => Status::Stalled,
    };
    let ray = match status {
        Status::Ray => stage.proof.take().map(|y| (y, true)),
        Status::Stalled => stage.self_stress.take().map(|y| (y, false)),
        _ => None,
    };
    let residual = stage.best.0;
    // The stage writes down what a factorisation starts from; what it led to is what the next one starts from.
    for i in 0..stage.history.len() {
        stage.history[i].0 = stage.history.get(i + 1).map_or(residual, |next| next.0);
    }
    Ended {
        status,
        residual,
        ray,
        kernel: stage.into_kernel(),
    }
}

/// Factorisations for softened problems near the best impulses, when all other paths are at their end.
const MANY: usize = 2000;
/// Velocities up to which steps in twice the digits cost hardly more than those in doubles.
const FEW: usize = 60;
/// Share of the velocity scale below which more digits are tried before other paths.
const NEAR: f64 = 1e-4;

/// Every stage ends with an error; one that ends the run is handed on.
fn next(end: Result<(), End>) -> Result<(), End> {
    match end {
        Err(End::Run(status)) => Err(End::Run(status)),
        _ => Ok(()),
    }
}

/// What is tried, one after the other, where the impulses of the start have not led on.
fn stages(stage: &mut Stage<'_>, start: &[f64]) -> Result<(), End> {
    stage.judge(&vec![0.0; start.len()])?;
    let loads = stage.soft_loads()?;
    if stage.has_interior() {
        next(stage.interior(&loads))?;
    }
    stage.stop_at_the_floor()?;
    // Where only digits are missing, or nothing but digits can be.
    let near = stage.best.0 <= NEAR * stage.system.scale;
    let is_equality = |block: &Block| block.law == Law::Equality;
    let linear = stage.system.blocks().iter().all(is_equality);
    if linear {
        next(stage.semismooth(&vec![0.0; start.len()], 4))?;
    }
    if near || linear {
        next(stage.polish_wide())?;
    }
    let best = stage.best.1.clone();
    next(stage.resume(&best, Course::PATIENT))?;
    stage.stop_at_the_floor()?;
    next(stage.by_thicker())?;
    next(stage.by_matrix())?;
    if best != stage.best.1 {
        next(stage.polish_wide())?;
    }
    other_paths(stage, &loads)
}

/// What is tried where the interior point has not led near an answer: few problems get this far.
fn other_paths(stage: &mut Stage<'_>, loads: &[f64]) -> Result<(), End> {
    next(stage.settle())?;
    let zero = vec![0.0; stage.system.n_rows()];
    let careful = Course {
        tau: 1.0,
        tau_most: 10.0,
        most: 60,
        patience: 8,
        accept: 1.0,
        fastest: 0.1,
        growth: 3.0,
    };
    let plain: Vec<f64> = stage.system.mobility.iter().map(|d| 1.0 / d).collect();
    for (rho, course) in [
        (stage.load_aware(loads, 0.1), Course::COLD),
        (stage.load_aware(loads, 1.0), Course::COLD),
        (plain, careful),
    ] {
        next(stage.continuation(stage.iterate(&zero), &rho, course))?;
    }
    stage.stop_at_the_floor()?;
    next(stage.settle())?;
    next(stage.polish_wide())?;
    wide_paths(stage, loads)?;
    for (share, accept) in [(0.1, 1e-2), (1e-3, 1e-3), (1.0, 1e-3)] {
        let rho = stage.load_aware(loads, share);
        next(stage.arclength(&rho, accept, 400))?;
        next(stage.settle())?;
        if share == 0.1 {
            next(stage.proximal(loads, share, 200))?;
            next(stage.settle())?;
        }
    }
    let found = stage.loads(&stage.best.1);
    next(stage.proximal(&found, 1e-3, 500))?;
    next(stage.proximal(loads, 1e-3, 500))?;
    next(stage.recentre(MANY))?;
    next(stage.settle())?;
    stage.stop_at_the_floor()?;
    Err(End::Stuck)
}

/// From no impulses in twice the digits. Joints a micrometre apart hold by 10⁷ times the usual impulses, which grow where
/// smoothing falls: of few velocities there are more points on the way, and more ways.
fn wide_paths(stage: &mut Stage<'_>, loads: &[f64]) -> Result<(), End> {
    let few = stage.system.n_velocities() <= FEW;
    let (shares, course): (&[f64], Course) = match few {
        true => (
            &[0.1, 1e-3, 1.0],
            Course {
                most: 120,
                patience: 40,
                fastest: 0.1,
                ..Course::COLD
            },
        ),
        false => (&[0.1], Course::COLD),
    };
    let zero = vec![0.0; stage.system.n_rows()];
    for share in shares {
        let rho = stage.load_aware(loads, *share);
        next(stage.in_twice_the_digits(&zero, &rho, course))?;
        next(stage.polish_wide())?;
    }
    Ok(())
}

impl Stage<'_> {
    /// Loads of all blocks if every row were stuck and soft: K with A = 1/R, R = D/100.
    pub(super) fn soft_loads(&mut self) -> Result<Vec<f64>, End> {
        let mut right = vec![0.0; self.system.n_rows()];
        self.relation.c.fill(0.0);
        self.relation.b.fill(0.0);
        let zero = self.iterate(&vec![0.0; self.system.n_rows()]);
        self.state(&zero);
        for (k, block) in self.system.blocks().iter().enumerate() {
            let (n, square) = (block.n_rows, self.system.square(k));
            // What stays open without impulses by more than the scale carries nothing.
            if block.law.opens() && self.system.scale < self.w[block.start] {
                for i in 0..n {
                    self.relation.c[square.start + i * n + i] = 1.0;
                }
                continue;
            }
            let soft = match block.law {
                Law::Equality => 1e-3 * self.system.stiffest,
                _ => 1e-2 * self.system.mobility[k],
            };
            for i in 0..n {
                let length = self.system.length(block.start + i);
                self.relation.c[square.start + i * n + i] = soft / (length * length);
                self.relation.b[square.start + i * n + i] = 1.0;
                right[block.start + i] = -self.w[block.start + i];
            }
        }
        if !self.kernel.factor(&self.system, &self.relation) {
            return Err(End::Stuck);
        }
        self.counted(self.best.0)?;
        self.kernel
            .step(&self.system, &right, &self.imbalance, &mut self.change);
        Ok(self.loads(&self.change.lambda))
    }
}
