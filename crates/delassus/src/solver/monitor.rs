//! The monitor all iterative solvers share: one stopping test, one history, one best iterate.
//!
//! A sweep gives two exact quantities for free: η = (Σ|D_kkΔ_k|²)^½, zero iff nothing moves, and the
//! decrease of the dual objective −Σ(w_kᵀΔ_k + ½Δ_kᵀD_kkΔ_k). They gate the real test, which is the judge's
//! law residual. The bookkeeping printed in [GS11 Alg 2.2] is not used: it misses what neighbours change and can
//! become negative (errata GS11-2.2).

use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Certificate, Fit, History, Rank, Record, Status, Stop, Substitute};
use crate::law::Law;
use crate::problem::residual::{Judge, Residual};
use crate::problem::{Problem, Solution};

/// First sweep at which the law residual is looked at unasked; later ones are half as far again.
const FIRST_CHECK: usize = 8;
/// A run may have stalled if neither its residual nor η fell by this factor over the last two thirds of its sweeps …
const STALL_FACTOR: f64 = 0.99;
/// … and over at least this many. It has if the sweeps allowed do not suffice at the rate that is left, and if none of
/// the impulses, drifting on as they do, meets the end of its set within them.
const STALL_WINDOW: usize = 3000;
/// An impulse drifts if it gets further between two checks than so many sweeps of the size of the last.
const DRIFT: f64 = 20.0;
/// A run has diverged if its residual exceeds its scale by this factor.
const DIVERGED: f64 = 1e4;
/// A forecast must miss the sweeps allowed by this factor …
const HOPELESS: f64 = 2.0;
/// … at this many checks in a row …
const HOPELESS_CHECKS: usize = 2;
/// … and after this share of them before it ends a run.
const HOPELESS_AFTER: usize = 10;
/// Share of a number that its rounding may hide without a doubt: a tenth of its last digit.
const HIDDEN: f64 = 0.1 * f64::EPSILON;
/// Error of a velocity that is no matter, as a share of the fastest beyond 1 m/s: a tolerance is one of rows.
const VELOCITY: f64 = 1e-8;
/// Share of the velocity scale that rounding may hide of an answer.
const TOLERABLE: f64 = 1e-6;

/// What one sweep knows about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SweepStats {
    /// Σ|D_kkΔ_k|² \[m²/s²\].
    pub eta_squared: f64,
    /// max_k |D_kk(z_k − λ_k)|, the step before it is shortened by under-relaxation \[m/s\].
    pub eta_max: f64,
    /// Exact decrease of ½λᵀSλ + cᵀλ \[J\].
    pub dual_decrease: f64,
}

/// One line of the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sweep {
    /// Number of the sweep, from 1.
    pub sweep: usize,
    /// Law residual after it \[m/s\], where it was computed.
    pub law: Option<f64>,
    /// (Σ|D_kkΔ_k|²)^½ \[m/s\].
    pub eta: f64,
    /// Exact decrease of the dual objective \[J\].
    pub dual_decrease: f64,
    /// Time since the start of the run, recording excluded \[s\].
    pub elapsed_s: f64,
}

/// Watches a run: decides when it ends and remembers its best iterate.
#[derive(Debug)]
pub struct Monitor<'a> {
    problem: &'a Problem,
    stop: Stop,
    fit: Fit,
    /// Blocks whose law the solver obeys exactly: an approximate solver must still meet these. Empty for an exact one.
    obeyed: Vec<bool>,
    pub(super) judge: Judge,
    start: Instant,
    recording: Duration,
    history: History,
    best: Option<(f64, Vec<f64>)>,
    scale: f64,
    first_eta: f64,
    /// Law residual per eta_max at the last check: turns the cheap monitor into a forecast.
    ratio: f64,
    next_check: usize,
    /// Least η of all sweeps since the last check by schedule: momentum makes η swing, and one sweep alone tells little.
    least_eta: f64,
    /// Where progress was last seen.
    mark: Look,
    /// Impulses at the checks since then, the last three: where they drift to.
    trail: Vec<(usize, Vec<f64>)>,
    /// The last two checks by schedule, the later one first.
    last: [Look; 2],
    /// Checks in a row whose forecast was that the sweeps allowed will not do.
    hopeless: usize,
    /// Pivots of a solver that does not sweep.
    pivots: usize,
    certificate: Option<Certificate>,
    /// Independent rows, where the run found them.
    rank: Option<Rank>,
    /// Residual of the answer, where it is known already: of the impulses that the run began with, or pivots ended at.
    held: Option<Residual>,
    /// The solver of the answer, where it is another one.
    substitute: Option<Substitute>,
}

impl<'a> Monitor<'a> {
    /// A monitor for one run.
    pub fn new(problem: &'a Problem, stop: Stop, fit: impl Fn(&Law) -> Fit) -> Monitor<'a> {
        let fits = problem.blocks().iter().map(|block| fit(&block.law));
        let worst = fits.max().unwrap_or(Fit::Exact);
        let obeyed = match worst {
            Fit::Exact => Vec::new(),
            _ => obeyed(problem, fit),
        };
        let judge = Judge::new(problem);
        Monitor {
            problem,
            stop,
            fit: worst,
            obeyed,
            start: Instant::now(),
            recording: Duration::ZERO,
            history: History::new(),
            best: None,
            scale: judge.c_norm().max(stop.tolerance),
            judge,
            first_eta: 0.0,
            ratio: 1.0,
            next_check: FIRST_CHECK,
            least_eta: f64::INFINITY,
            mark: Look::NOTHING,
            trail: Vec::new(),
            last: [Look::NOTHING; 2],
            hopeless: 0,
            pivots: 0,
            certificate: None,
            rank: None,
            held: None,
            substitute: None,
        }
    }

    /// Whether the impulses that a run begins with are its answer already. Where they are it ends as solved without
    /// touching them, and they are not judged a second time.
    pub(super) fn holds(&mut self, lambda: &[f64]) -> bool {
        let judged = self.judge.judge(self.problem, lambda);
        let holds = judged.law <= self.stop.tolerance;
        self.held = holds.then_some(judged);
        holds
    }

    /// One more line of the history, whose memory is asked for at once where it takes any.
    fn note(&mut self, sweep: Sweep) {
        let expected = self.stop.sweeps.min(1024);
        self.history.push_of(sweep, expected);
    }

    /// Whether [`Monitor::after_sweep`] will look at the impulses; a solver that keeps them elsewhere need not copy
    /// them otherwise.
    pub(super) fn looks(&self, stats: &SweepStats) -> bool {
        let sweep = self.history.len() + 1;
        self.stop.record == Record::Residuals || self.is_due(sweep, stats.eta_max)
    }

    /// When the run began, which is when its monitor was made: one clock for its history and its report, so that no sweep
    /// ends after the run.
    pub(super) fn start(&self) -> Instant {
        self.start
    }

    /// Call after every sweep with the current impulses; `Some` ends the run.
    pub fn after_sweep(&mut self, stats: SweepStats, lambda: &[f64]) -> Option<Status> {
        let sweep = self.history.len() + 1;
        let finite = stats.eta_squared.is_finite() && stats.dual_decrease.is_finite();
        self.see_eta(stats.eta_max);
        let due = finite && self.is_due(sweep, stats.eta_max);
        let law = (due || self.stop.record == Record::Residuals).then(|| {
            let begin = Instant::now();
            let law = self.judge.judge(self.problem, lambda).law;
            if !due {
                self.recording += begin.elapsed();
            }
            law
        });
        self.note(Sweep {
            sweep,
            law,
            eta: stats.eta_squared.sqrt(),
            dual_decrease: stats.dual_decrease,
            elapsed_s: self
                .start
                .elapsed()
                .saturating_sub(self.recording)
                .as_secs_f64(),
        });
        if !finite {
            return Some(Status::Diverged);
        }
        if let (Some(law), true) = (law, due)
            && let Some(status) = self.check(sweep, law, stats.eta_max, lambda)
        {
            return Some(status);
        }
        if self.stop.sweeps <= sweep {
            return Some(Status::IterationLimit);
        }
        let timed_out = self
            .stop
            .time
            .is_some_and(|limit| limit <= self.start.elapsed());
        if self.stop.is_cancelled() {
            return Some(Status::Interrupted);
        }
        timed_out.then_some(Status::TimeLimit)
    }

    /// One line of history for an iteration of a method that measures its law residual and stops by itself.
    pub(super) fn stepped(&mut self, law: f64, elapsed_s: f64) {
        self.note(Sweep {
            sweep: self.history.len() + 1,
            law: Some(law),
            eta: law,
            dual_decrease: 0.0,
            elapsed_s,
        });
    }

    /// Call after several sweeps at once, as a device does them, with the impulses of the last: one line of history
    /// for each, and the test on the last.
    pub fn after_sweeps(&mut self, stats: &[SweepStats], lambda: &[f64]) -> Option<Status> {
        let (last, before) = stats.split_last()?;
        let elapsed = self.start.elapsed().saturating_sub(self.recording);
        for stats in before {
            self.see_eta(stats.eta_max);
            self.note(Sweep {
                sweep: self.history.len() + 1,
                law: None,
                eta: stats.eta_squared.sqrt(),
                dual_decrease: stats.dual_decrease,
                elapsed_s: elapsed.as_secs_f64(),
            });
            if !(stats.eta_squared.is_finite() && stats.dual_decrease.is_finite()) {
                return Some(Status::Diverged);
            }
        }
        self.after_sweep(*last, lambda)
    }

    /// Call at the end of a run of pivots with its answer: the status as far as the judge agrees. An answer that obeys
    /// the laws exactly but not well enough is a breakdown; one for an approximation of them must obey those that it
    /// does not approximate.
    pub fn pivoted(&mut self, pivots: usize, lambda: &[f64], status: Status) -> Status {
        self.pivots += pivots;
        if status != Status::Solved || self.stop.tolerance <= 0.0 {
            return status;
        }
        self.held = self.accepts(lambda);
        self.held.map_or(Status::Breakdown, |_| status)
    }

    /// The residual of these impulses, if they keep the laws that the solver obeys, within the tolerance asked for.
    pub fn accepts(&mut self, lambda: &[f64]) -> Option<Residual> {
        self.held = None;
        let judged = self.judge.judge(self.problem, lambda);
        let merit = match self.fit {
            Fit::Exact => judged.law,
            _ => self.judge.law_over(self.problem, lambda, &self.obeyed),
        };
        (merit <= self.stop.tolerance && !self.is_hidden(lambda)).then_some(judged)
    }

    /// Whether so much cancels under these impulses that a residual within the tolerance proves nothing.
    fn is_hidden(&self, lambda: &[f64]) -> bool {
        self.stop.tolerance < HIDDEN * self.problem.cancelling(lambda)
    }

    /// Whether the tolerance lies below what the judge's own arithmetic may be off by, of the rows or of the
    /// velocities, which count as shares of the fastest beyond 1 m/s.
    fn is_below_the_floor(&self, solution: &Solution) -> bool {
        let (tolerance, lambda) = (self.stop.tolerance, &solution.lambda);
        // Without rows there is nothing to solve.
        if lambda.is_empty() {
            return false;
        }
        // What is known of a velocity is a first-order bound, so that it is taken twice, here and below.
        if self
            .problem
            .trees_lose(0.5 * tolerance, lambda, &solution.v)
        {
            return true;
        }
        if !self.problem.may_hide(tolerance, lambda, &solution.v) {
            return false;
        }
        let floor = self.problem.floor(lambda);
        let speed = crate::math::max_abs(&solution.v).max(1.0);
        tolerance < floor.row || tolerance.max(VELOCITY) * speed < 2.0 * floor.velocity
    }

    /// Keeps what a run found instead of an answer.
    pub fn certify(&mut self, certificate: Option<Certificate>) {
        self.certificate = certificate;
    }

    /// The same method by another solver does the work, for the reason given: on the processor, where a device is
    /// missing.
    ///
    /// This is no policy of who is tried next, which is [`Auto`](super::auto::Auto)'s alone. Method and options stay the
    /// same and nothing has failed: only the place where the sweeps are computed is another one. A solver
    /// that would go on by another method returns its status instead.
    pub fn hand_over(&mut self, solver: &'static str, why: &'static str) {
        self.substitute = Some(Substitute { solver, why });
    }

    pub(super) fn substitute(&self) -> Option<Substitute> {
        self.substitute
    }

    /// Keeps which rows a run found to be independent.
    pub fn rank(&mut self, rank: Rank) {
        self.rank = Some(rank);
    }

    pub(super) fn take_rank(&mut self) -> Option<Rank> {
        self.rank.take()
    }

    pub(super) fn take_certificate(&mut self) -> Option<Certificate> {
        self.certificate.take()
    }

    /// The last word on a run: one that is not solved hands back its best iterate, and `solved` must hold for
    /// the iterate handed back, whose residual is returned.
    pub(super) fn conclude(
        &mut self,
        status: Status,
        solution: &mut Solution,
    ) -> (Status, Residual) {
        let left_out = solution.v.is_empty() && 0 < self.problem.n_velocities();
        let residual = match self.held.take() {
            Some(judged) if left_out => self.judge.complete_judged(self.problem, judged, solution),
            _ if left_out => self.judge.complete(self.problem, solution),
            _ => self.judge.judge_solution(self.problem, solution),
        };
        let within = residual.law <= self.stop.tolerance;
        let fixed = self.stop.tolerance <= 0.0;
        let claimed = !fixed && (status == Status::Solved || within);
        let exact = self.fit == Fit::Exact;
        let near = |law| within || self.problem.nearly_explains(&solution.lambda, law);
        match (status, self.fit) {
            // Whoever asked for an early end must not be told that there was none.
            (Status::Interrupted, _) => return (status, residual),
            (Status::Unsupported, _) | (_, Fit::No) => return (Status::Unsupported, residual),
            // What rounding hides is said; where it hides all, the answer is worth nothing.
            _ if claimed && self.is_hidden(&solution.lambda) && (!exact || near(residual.law)) => {
                if !hides_all(self.problem, &solution.lambda, self.stop.tolerance) {
                    return (Status::RoundingFloor, residual);
                }
                *solution = Solution::zeros(self.problem);
                let residual = self.judge.judge_solution(self.problem, solution);
                return (Status::Breakdown, residual);
            }
            _ if claimed && exact && within && self.is_below_the_floor(solution) => {
                return (Status::RoundingFloor, residual);
            }
            (Status::Solved, Fit::Exact) if !within => return (Status::Stalled, residual),
            (Status::Solved, _) => return (Status::Solved, residual),
            (_, Fit::Exact) if within && !fixed => return (Status::Solved, residual),
            _ => {}
        }
        let finite = residual.law.is_finite();
        match self.best.take() {
            Some((best, lambda)) if !((fixed && finite) || residual.law <= best) => {
                *solution = Solution::from_lambda(self.problem, lambda);
            }
            _ if !finite => *solution = Solution::zeros(self.problem),
            _ => {
                let lost = matches!(status, Status::Ray | Status::Breakdown | Status::PivotLimit);
                return match lost && !fixed {
                    true => (status, self.better_than_nothing(residual, solution)),
                    false => (status, residual),
                };
            }
        }
        (status, self.judge.judge_solution(self.problem, solution))
    }

    /// The residual of the solution, or of no impulses at all where these do better: where a path of pivots ends it
    /// may be far from everything.
    fn better_than_nothing(&mut self, residual: Residual, solution: &mut Solution) -> Residual {
        let none = Solution::zeros(self.problem);
        let without = self.judge.judge_solution(self.problem, &none);
        if without.law < residual.law {
            *solution = none;
            return without;
        }
        residual
    }

    /// Sweeps or pivots so far.
    pub fn sweeps(&self) -> usize {
        self.history.len() + self.pivots
    }

    /// Time spent on records nobody needed to decide.
    pub(super) fn recording(&self) -> Duration {
        self.recording
    }

    pub(super) fn into_history(self) -> History {
        self.history
    }

    /// Keeps the first η, and the least since the last check. Called before a sweep joins the history.
    fn see_eta(&mut self, eta_max: f64) {
        if self.history.is_empty() {
            self.first_eta = eta_max;
        }
        self.least_eta = self.least_eta.min(eta_max);
    }

    /// The law residual costs about a sweep, so it is looked at only when the forecast says "solved", when
    /// something grows, and at ever rarer intervals. An exact number of sweeps is never looked at.
    fn is_due(&self, sweep: usize, eta_max: f64) -> bool {
        if self.stop.tolerance <= 0.0 {
            return false;
        }
        let forecast = eta_max * self.ratio <= self.stop.tolerance;
        let grows = 1 < sweep && DIVERGED * self.first_eta.max(self.scale) < eta_max;
        forecast || grows || self.next_check <= sweep || self.stop.sweeps <= sweep
    }

    /// Judges an iterate: solved, stalled, diverged, or go on.
    fn check(&mut self, sweep: usize, law: f64, eta_max: f64, lambda: &[f64]) -> Option<Status> {
        if self.best.as_ref().is_none_or(|(best, _)| law < *best) {
            match &mut self.best {
                Some((best, kept)) => {
                    *best = law;
                    kept.copy_from_slice(lambda);
                }
                None => self.best = Some((law, lambda.to_vec())),
            }
        }
        if !law.is_finite() || DIVERGED * self.first_eta.max(self.scale) < law {
            return Some(Status::Diverged);
        }
        // An approximate solver is measured by its own fixed point, which is what η vanishes at, and by the
        // law itself where it obeys it.
        let merit = if self.fit == Fit::Exact {
            law
        } else {
            let obeyed = self.judge.law_over(self.problem, lambda, &self.obeyed);
            eta_max.max(obeyed)
        };
        if merit <= self.stop.tolerance {
            return Some(Status::Solved);
        }
        self.ratio = if self.fit == Fit::Exact && 0.0 < eta_max {
            law / eta_max
        } else {
            1.0
        };
        if self.next_check <= sweep {
            self.next_check = sweep + sweep / 2;
            let eta = std::mem::replace(&mut self.least_eta, f64::INFINITY);
            let now = Look { sweep, merit, eta };
            if self.is_stalled(now, (eta_max, lambda)) {
                return Some(Status::Stalled);
            }
            if self.stop.forecast && self.is_hopeless(now) {
                return Some(Status::IterationLimit);
            }
        }
        None
    }

    /// Whether nothing has moved for long, and what still moves will not do within the sweeps allowed. The largest
    /// residual may rest while the sweeps as a whole still settle: η tells.
    fn is_stalled(&mut self, now: Look, (eta, lambda): (f64, &[f64])) -> bool {
        let mark = self.mark;
        if now.merit < STALL_FACTOR * mark.merit || now.eta < STALL_FACTOR * mark.eta {
            self.mark = Look {
                sweep: now.sweep,
                merit: now.merit.min(mark.merit),
                eta: now.eta.min(mark.eta),
            };
            self.trail.clear();
            return false;
        }
        if self.trail.len() == 3 {
            self.trail.remove(0);
        }
        self.trail.push((now.sweep, lambda.to_vec()));
        let long = STALL_WINDOW.max(now.sweep - now.sweep / 3) <= now.sweep - mark.sweep;
        let needed = self.still_needed(mark, now);
        let short = (self.stop.sweeps as f64) < now.sweep as f64 + needed;
        long && short && !self.drifts_to_an_end(eta)
    }

    /// Whether an impulse that drifts at an even pace leaves the set of its law within the sweeps allowed. On a plateau
    /// the residual rests while impulses move along directions that no velocity feels; it falls on when one of them
    /// meets a bound. Of the paces between the last three checks the smaller counts, and only where it leads further than
    /// a few sweeps do, whose size is η: what swings or runs in circles does not drift.
    fn drifts_to_an_end(&self, eta: f64) -> bool {
        let [(s0, x0), (s1, x1), (s2, x2)] = &self.trail[..] else {
            return true;
        };
        let left = self.stop.sweeps.saturating_sub(*s2) as f64;
        let pace = |i: usize| {
            let early = (x1[i] - x0[i]) / (s1 - s0) as f64;
            let late = (x2[i] - x1[i]) / (s2 - s1) as f64;
            match early * late {
                same if 0.0 < same => late.signum() * late.abs().min(early.abs()),
                _ => 0.0,
            }
        };
        let blocks = self.problem.blocks().iter().enumerate();
        blocks.into_iter().any(|(k, block)| {
            let ahead: Vec<f64> = block.rows().map(|i| x2[i] + left * pace(i)).collect();
            let d = self.problem.diagonal_blocks().block(k);
            let diagonal: Vec<f64> = (0..block.n_rows)
                .map(|i| d[i * (block.n_rows + 1)])
                .collect();
            let far = |(i, d): (usize, &f64)| DRIFT * eta < d * pace(i).abs() * (s2 - s1) as f64;
            if !block.rows().zip(&diagonal).any(far) || diagonal.iter().any(|d| *d <= 0.0) {
                return false;
            }
            let fault = block.law.fault(&ahead, &vec![0.0; block.n_rows], &diagonal);
            self.stop.tolerance < fault.feasibility
        })
    }

    /// Whether the sweeps allowed will not do, by the rate since the last check but one.
    fn is_hopeless(&mut self, now: Look) -> bool {
        let before = self.last[1];
        self.last = [now, self.last[0]];
        let needed = self.still_needed(before, now);
        let hopeless = HOPELESS * (self.stop.sweeps as f64) < now.sweep as f64 + needed;
        self.hopeless = match hopeless && self.stop.sweeps <= HOPELESS_AFTER * now.sweep {
            true => self.hopeless + 1,
            false => 0,
        };
        HOPELESS_CHECKS <= self.hopeless
    }

    /// Sweeps to the tolerance if the better of merit and η keeps its rate: with x falling from x₀ to x₁ in k sweeps,
    /// n = k ln(x₁/tolerance) / ln(x₀/x₁). None are forecast before there are two checks to compare.
    fn still_needed(&self, before: Look, now: Look) -> f64 {
        if before.sweep == 0 {
            return 0.0;
        }
        let sweeps = (now.sweep - before.sweep) as f64;
        let left = (now.merit / self.stop.tolerance).ln().max(0.0);
        let needed = |x0: f64, x1: f64| match (x0 / x1).ln() {
            fall if 0.0 < fall => sweeps * left / fall,
            _ => f64::INFINITY,
        };
        needed(before.merit, now.merit).min(needed(before.eta, now.eta))
    }
}

/// What a check by schedule saw.
#[derive(Clone, Copy, Debug)]
struct Look {
    sweep: usize,
    /// What is compared with the tolerance \[m/s\].
    merit: f64,
    /// The least max_k |D_kk(z_k − λ_k)| of the sweeps up to here \[m/s\].
    eta: f64,
}

impl Look {
    const NOTHING: Look = Look {
        sweep: 0,
        merit: f64::INFINITY,
        eta: f64::INFINITY,
    };
}

/// Which blocks an approximate solver must meet to the letter.
fn obeyed(problem: &Problem, fit: impl Fn(&Law) -> Fit) -> Vec<bool> {
    let blocks = problem.blocks().iter().enumerate();
    blocks
        .map(|(k, block)| {
            // Rows that nothing moves are out of the solver's hands: there the law holds or it does not.
            let d = problem.diagonal_blocks().block(k);
            let immobile = (0..block.n_rows).any(|i| d[i * block.n_rows + i] == 0.0);
            fit(&block.law) == Fit::Exact || immobile
        })
        .collect()
}

/// Whether so much cancels under these impulses that a residual within the tolerance says nothing at all.
pub(super) fn hides_all(problem: &Problem, lambda: &[f64], tolerance: f64) -> bool {
    let hidden = HIDDEN * problem.cancelling(lambda);
    tolerance < hidden && TOLERABLE * problem.velocity_scale() < hidden
}
