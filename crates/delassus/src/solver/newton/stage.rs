//! What all stages of a solve share: the iterate, its work arrays, the best answer so far, and when to stop.

use super::continuation::SOFTNESS;
use super::kernel::{Change, Kernel, Relation};
use super::system::System;
use crate::law::smoothed::Smoothed;
use std::time::Instant;

use crate::solver::monitor::hides_all;
use crate::solver::{Status, Stop};

/// Share of the velocity scale beyond which a residual that rounding could explain is no answer.
const TOLERABLE: f64 = 1e-3;

/// How a stage ended where it did not solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The monitor ended the run.
    Run(Status),
    /// This method got no further.
    Stuck,
}

/// Work arrays of one solve, sized once.
pub(super) struct Stage<'a> {
    pub(super) system: System<'a>,
    pub(super) kernel: Box<Kernel>,
    pub(super) relation: Relation,
    pub(super) change: Change,
    pub(super) smoothed: Smoothed,
    /// ε of hard rows over their mobility.
    pub(super) softness: f64,
    /// Right-hand sides, row velocities, imbalance of momentum.
    pub(super) b: Vec<f64>,
    pub(super) w: Vec<f64>,
    pub(super) imbalance: Vec<f64>,
    /// The same for a point that is only tried.
    pub(super) trial: Iterate,
    pub(super) trial_w: Vec<f64>,
    pub(super) trial_imbalance: Vec<f64>,
    pub(super) rows: Vec<f64>,
    scratch_v: Vec<f64>,
    scratch_w: Vec<f64>,
    /// Least residual so far and its impulses [m/s].
    pub(super) best: (f64, Vec<f64>),
    /// The least residual when [`Stage::settle`] last began [m/s].
    pub(super) settled: f64,
    /// When to stop, and when the run began.
    stop: Stop,
    pub(super) begin: Instant,
    /// Residual and time of every factorisation [m/s, s].
    pub(super) history: Vec<(f64, f64)>,
    /// Whether its bodies were made thicker.
    pub(super) is_thicker: bool,
    /// y of a proof that normals and joints contradict each other.
    pub(super) proof: Option<Vec<f64>>,
    /// y of a self-stress with friction that the motion asked for feeds.
    pub(super) self_stress: Option<Vec<f64>>,
}

/// Memory of a stage, kept from solve to solve.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    relation: Relation,
    change: Change,
    smoothed: Smoothed,
    rows: [Vec<f64>; 7],
    velocities: [Vec<f64>; 4],
    pub(super) iterate: Iterate,
    pub(super) rho: Vec<f64>,
    /// Residual after every factorisation of the last solve, and its time [m/s, s].
    pub(super) history: Vec<(f64, f64)>,
}

impl Room {
    /// The best impulses of the last solve.
    pub(super) fn lambda(&self) -> &[f64] {
        &self.rows[BEST]
    }
}

/// Where the best impulses stand among the rows of a room.
const BEST: usize = 6;

/// The same memory, so many zeros.
fn zeros(mut array: Vec<f64>, length: usize) -> Vec<f64> {
    array.clear();
    array.resize(length, 0.0);
    array
}

/// Impulses and velocities that need not agree while a method is at work.
#[derive(Clone, Debug, Default)]
pub(super) struct Iterate {
    pub(super) lambda: Vec<f64>,
    pub(super) v: Vec<f64>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(
        system: System<'a>,
        mut kernel: Box<Kernel>,
        stop: Stop,
        begin: Instant,
    ) -> Stage<'a> {
        let (m, n) = (system.n_rows(), system.n_velocities());
        kernel.begin();
        let room = std::mem::take(&mut kernel.room);
        let [b, w, trial, trial_w, rows, scratch_w, best] = room.rows.map(|array| zeros(array, m));
        let [imbalance, trial_v, trial_imbalance, scratch_v] =
            room.velocities.map(|array| zeros(array, n));
        let mut history = room.history;
        history.clear();
        history.reserve(128);
        kernel.room.iterate = room.iterate;
        kernel.room.rho = room.rho;
        Stage {
            kernel,
            relation: room.relation.sized(&system),
            change: room.change,
            smoothed: room.smoothed,
            softness: SOFTNESS,
            b,
            w,
            imbalance,
            trial: Iterate {
                lambda: trial,
                v: trial_v,
            },
            trial_w,
            trial_imbalance,
            rows,
            scratch_v,
            scratch_w,
            best: (f64::INFINITY, best),
            settled: f64::INFINITY,
            stop,
            begin,
            history,
            is_thicker: false,
            proof: None,
            self_stress: None,
            system,
        }
    }

    /// What is left when a solve has ended: the kernel, with the memory of the stage.
    pub(super) fn into_kernel(self) -> Box<Kernel> {
        let mut kernel = self.kernel;
        let room = &mut kernel.room;
        room.relation = self.relation;
        room.change = self.change;
        room.smoothed = self.smoothed;
        room.rows = [
            self.b,
            self.w,
            self.trial.lambda,
            self.trial_w,
            self.rows,
            self.scratch_w,
            self.best.1,
        ];
        room.velocities = [
            self.imbalance,
            self.trial.v,
            self.trial_imbalance,
            self.scratch_v,
        ];
        room.history = self.history;
        self.system.give_back(&mut kernel.island);
        kernel
    }

    /// Goes on in the velocities of another system of the same problem.
    pub(super) fn put_into(&mut self, system: System<'a>) {
        let n = system.n_velocities();
        for array in [
            &mut self.imbalance,
            &mut self.trial.v,
            &mut self.trial_imbalance,
            &mut self.scratch_v,
        ] {
            array.clear();
            array.resize(n, 0.0);
        }
        self.kernel.begin();
        let before = std::mem::replace(&mut self.system, system);
        before.give_back(&mut self.kernel.island);
    }

    /// When a softened problem is answered well enough for the residual of the hard one, and what it may cost.
    pub(super) fn stop_inside(&self, outer: f64, most: usize) -> Stop {
        let wanted = (1e-3 * outer).min(1e-6 * self.system.scale);
        Stop {
            tolerance: wanted.max(0.5 * self.stop.tolerance),
            sweeps: self.left().clamp(1, most),
            ..self.stop
        }
    }

    /// Factorisations that are left.
    pub(super) fn left(&self) -> usize {
        self.stop.sweeps.saturating_sub(self.history.len())
    }

    /// ρ and iterate of impulses to start from, in memory that [`Stage::end_at`] takes back.
    pub(super) fn start_at(&mut self, lambda: &[f64]) -> (Vec<f64>, Iterate) {
        let mut rho = std::mem::take(&mut self.kernel.room.rho);
        let mut at = std::mem::take(&mut self.kernel.room.iterate);
        self.fill_loads(lambda, &mut rho);
        self.make_load_aware(&mut rho, 1e-3);
        at.lambda.clear();
        at.lambda.extend_from_slice(lambda);
        at.v = zeros(at.v, self.system.n_velocities());
        self.system.velocity(lambda, &mut at.v);
        (rho, at)
    }

    /// Takes them back.
    pub(super) fn end_at(&mut self, rho: Vec<f64>, at: Iterate) {
        self.kernel.room.rho = rho;
        self.kernel.room.iterate = at;
    }

    /// Largest acceptable residual \[m/s\].
    pub(super) fn tolerance(&self) -> f64 {
        self.stop.tolerance
    }

    /// Impulses with the velocity that belongs to them.
    pub(super) fn iterate(&self, lambda: &[f64]) -> Iterate {
        let mut v = vec![0.0; self.system.n_velocities()];
        self.system.velocity(lambda, &mut v);
        Iterate {
            lambda: lambda.to_vec(),
            v,
        }
    }

    /// Judges impulses: their residual [m/s], or how the run ends. Keeps them where they are the best so far.
    pub(super) fn judge(&mut self, lambda: &[f64]) -> Result<f64, End> {
        let residual = self
            .system
            .residual(lambda, &mut self.scratch_v, &mut self.scratch_w);
        let within = residual <= self.stop.tolerance;
        // Impulses that grow without bound end where rounding hides what is wrong with them.
        if within && hides_all(self.system.problem, lambda, self.stop.tolerance) {
            self.look_for_contradiction(lambda)?;
            return Err(End::Stuck);
        }
        if residual < self.best.0 {
            self.best.0 = residual;
            self.best.1.copy_from_slice(lambda);
        }
        match within {
            true => Err(End::Run(Status::Solved)),
            false => Ok(residual),
        }
    }

    /// Writes down a factorisation made at this residual; an error where nothing is left to go on with.
    pub(super) fn counted(&mut self, residual: f64) -> Result<(), End> {
        let elapsed = self.begin.elapsed();
        self.history.push((residual, elapsed.as_secs_f64()));
        if self.stop.is_cancelled() {
            return Err(End::Run(Status::Interrupted));
        }
        if self.stop.sweeps <= self.history.len() {
            return Err(End::Run(Status::IterationLimit));
        }
        match self.stop.time.is_some_and(|limit| limit <= elapsed) {
            true => Err(End::Run(Status::TimeLimit)),
            false => Ok(()),
        }
    }

    /// Ends the run where the best residual is all that rounding allows.
    pub(super) fn stop_at_the_floor(&mut self) -> Result<(), End> {
        let floor = self.system.floor(&self.best.1);
        if !(self.best.0 <= floor && self.stop.tolerance < floor) {
            return Ok(());
        }
        // Along a self-stress impulses grow until their rounding hides everything, which shows nothing.
        if TOLERABLE * self.system.scale < self.best.0 {
            let lambda = self.best.1.clone();
            self.look_for_contradiction(&lambda)?;
            if self.self_stress.is_some() {
                return Ok(());
            }
        }
        Err(End::Run(Status::RoundingFloor))
    }

    /// Ends the run where the best residual is no more than the judge's own arithmetic may be off by.
    pub(super) fn stop_where_rounding_hides(&mut self) -> Result<(), End> {
        let sure = self.best.0 <= TOLERABLE * self.system.scale;
        match sure && self.is_hidden(self.best.0, &self.best.1) {
            true => Err(End::Run(Status::RoundingFloor)),
            false => Ok(()),
        }
    }

    /// The same of impulses that are an answer in twice the digits: what their rounding leaves may be more than others have
    /// that are none. Where the laws are met as well as they can be written down, `sure`, it may be as much as it is: the
    /// last digit of an impulse turns a needle by what it does.
    pub(super) fn take_rounded(&mut self, lambda: Vec<f64>, sure: bool) -> Result<(), End> {
        let residual = self.judge(&lambda)?;
        let sure = sure || residual <= TOLERABLE * self.system.scale;
        if !(sure && self.is_hidden(residual, &lambda)) {
            return Err(End::Stuck);
        }
        self.best = (residual, lambda);
        Err(End::Run(Status::RoundingFloor))
    }

    /// Whether rounding may make as much as this residual of these impulses, and more than the tolerance.
    fn is_hidden(&self, residual: f64, lambda: &[f64]) -> bool {
        let row = self.system.problem.floor(lambda).row;
        residual <= row && self.stop.tolerance < row
    }

    /// w and r_d of an iterate whose impulses were judged last: where the mass is one, z follows from them, and the judge
    /// has found w already.
    pub(super) fn state_judged(&mut self, iterate: &Iterate) {
        if self.system.white.is_none() {
            return self.state(iterate);
        }
        self.w.copy_from_slice(&self.scratch_w);
        self.imbalance.fill(0.0);
    }

    /// w and r_d of an iterate, into the arrays of the stage.
    pub(super) fn state(&mut self, iterate: &Iterate) {
        self.system
            .row_velocity(&iterate.v, &iterate.lambda, &mut self.w);
        self.system.imbalance(
            &iterate.v,
            &iterate.lambda,
            &mut self.rows,
            &mut self.imbalance,
        );
    }
}
