//! Lemke's algorithm on contacts through the structure of the problem: nothing of its size is ever stored.
//!
#![doc = include_str!("../../../../docs/lemke-contact.md")]

use crate::math::max_abs;
use crate::solver::Status;
use crate::solver::pivot::budget::Meter;
use crate::solver::pivot::contact::basis::Partition;
use crate::solver::pivot::contact::expansion;
use crate::solver::pivot::contact::point::Point;
use crate::solver::pivot::contact::{ContactLcp, NONE};
use crate::solver::pivot::crowd::guess::Guess;
use crate::solver::pivot::lcp::ratio::{self, Basis, Guard, Pivot, RatioTest};
use crate::solver::pivot::lcp::ratio::{Advance, Search};
use std::time::Instant;

/// A point is called solved up to this much of max|q|.
pub(crate) const SOLVED: f64 = 1e-9;
/// z₀ may leave with a weak rate if the point it leaves at is good to this much of max|q|.
const VERIFIED: f64 = 1e-8;
/// A point this good needs no polish.
pub(crate) const SHARP: f64 = 1e-11;
/// z₀ below this much of max|q| may be gone: it is worth a look.
const SPENT: f64 = 1e-11;
/// A free row of which this much or less is left when the rows before it are taken out depends on them: it is
/// dropped, and the point is judged with it. Rows have unit length, squared here.
const DEPENDENT: f64 = 1e-13;
/// Values are updated from pivot to pivot and computed anew after so many, or when steps have added up.
const FRESH_PIVOTS: usize = 16;
const FRESH_TRAVEL: f64 = 30.0;

/// What a run did. The point it ended at stays in [`Work`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Pivots, the first one of z₀ counted.
    pub pivots: usize,
    /// Natural residual of the point, scaled, relative to max|q|; infinite if none was reached.
    pub residual: f64,
    /// The reduced method stopped because the covering vector would have grown beyond its limit.
    pub cover_limit: bool,
    /// Largest kernel met.
    pub kernel: usize,
}

/// Arrays of a run, to be used again.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub(crate) basis: Partition,
    test: RatioTest,
    pub(crate) values: Vec<f64>,
    pub(crate) rates: Vec<f64>,
    /// Velocity of the values and of the rates.
    pub(crate) v: Vec<f64>,
    pub(crate) dv: Vec<f64>,
    pub(crate) free: Vec<f64>,
    pub(crate) dfree: Vec<f64>,
    pub(crate) point: Point,
    /// Table of the point at which z₀ leaves.
    pub(crate) landing: Vec<f64>,
    pub(crate) guess: Guess,
    /// What runs may cost and have cost.
    pub(crate) meter: Meter,
}

/// How to pivot.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// How ties are broken.
    pub pivot: Pivot,
    /// Covering vector: one positive number for every normal, then two for every friction group, for all its
    /// directions and for its bound; see [`ContactLcp::n_cover`]. Ones if it is of another length.
    pub cover: &'a [f64],
    /// Most pivots.
    pub pivots: usize,
    /// The moment to stop at.
    pub deadline: Option<Instant>,
}

/// Solves with all pairs present from the start.   [Lemke05 §5.1, App. A]
pub fn structural(lcp: &ContactLcp, options: &Options<'_>, work: &mut Work) -> Outcome {
    run(lcp, options, work, false)
}

impl Work {
    /// Writes the impulses of the point the last run ended at into the rows of its blocks.
    pub fn impulses(&self, lcp: &ContactLcp, lambda: &mut [f64]) {
        lcp.impulses(&self.point, lambda);
    }
}

/// The pivots of both methods.
pub(crate) fn run(
    lcp: &ContactLcp,
    options: &Options<'_>,
    work: &mut Work,
    reduced: bool,
) -> Outcome {
    let mut run = Run::new(lcp, options, work, reduced);
    let end = run.start().unwrap_or_else(|| run.pivot());
    run.outcome.status = end;
    if end == Status::Solved && !(run.outcome.residual <= SOLVED) {
        run.outcome.status = Status::Breakdown;
    }
    if run.outcome.residual == f64::INFINITY {
        // No point was reached; what verification left behind is none.
        run.work.point.reset(lcp);
    }
    run.outcome
}

pub(crate) struct Run<'a> {
    lcp: &'a ContactLcp,
    options: &'a Options<'a>,
    pub(crate) work: &'a mut Work,
    reduced: bool,
    /// max|q|.
    pub(crate) scale: f64,
    /// The driving variable: z or w of this pair.
    pair: usize,
    z_drives: bool,
    pub(crate) outcome: Outcome,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        lcp: &'a ContactLcp,
        options: &'a Options<'a>,
        work: &'a mut Work,
        reduced: bool,
    ) -> Self {
        work.test = RatioTest::new(options.pivot);
        let cover = if options.cover.len() == lcp.n_cover() {
            options.cover
        } else {
            &[]
        };
        work.basis.reset(lcp, cover);
        for g in 0..lcp.groups.len() {
            if !reduced || lcp.groups[g].normal == NONE {
                work.basis.join(lcp, g, 0.0);
            }
        }
        for (v, size) in [
            (&mut work.v, lcp.columns.dofs),
            (&mut work.dv, lcp.columns.dofs),
            (&mut work.free, lcp.frees.len()),
            (&mut work.dfree, lcp.frees.len()),
        ] {
            v.clear();
            v.resize(size, 0.0);
        }
        let outcome = Outcome {
            status: Status::Solved,
            pivots: 0,
            residual: f64::INFINITY,
            cover_limit: false,
            kernel: 0,
        };
        Run {
            lcp,
            options,
            work,
            reduced,
            scale: 0.0,
            pair: 0,
            z_drives: true,
            outcome,
        }
    }

    /// The basis of all w and the scale of the problem. An end if there is no such basis.
    pub(crate) fn prepare(&mut self) -> Option<Status> {
        let (lcp, work) = (self.lcp, &mut *self.work);
        let mut pivot = work.basis.assemble(lcp, None);
        if pivot < DEPENDENT && !lcp.frees.is_empty() {
            work.basis.frees = lcp.independent_frees(DEPENDENT);
            pivot = work.basis.assemble(lcp, None);
        }
        if pivot == 0.0 {
            return Some(Status::Breakdown);
        }
        work.values.clear();
        work.values.resize(work.basis.slots.len(), 0.0);
        work.refresh(lcp);
        self.scale = max_abs(&work.values[..=lcp.normals.len()]).max(max_abs(&lcp.slip));
        let room = lcp.groups.iter().map(|g| g.room).fold(0.0, f64::max);
        if self.scale == 0.0 {
            self.scale = if 0.0 < room { room } else { 1.0 };
        }
        None
    }

    /// The first pivot: z₀ enters for the worst pair. An end if there is nothing to do.
    fn start(&mut self) -> Option<Status> {
        if let Some(end) = self.prepare() {
            return Some(end);
        }
        let (lcp, work) = (self.lcp, &mut *self.work);
        let Some(first) = ratio::first(&work.values[1..], &work.basis.cover[1..]) else {
            work.read_point(lcp);
            self.outcome.residual = work.point.residual(lcp) / self.scale;
            return Some(Status::Solved);
        };
        let r = first + 1;
        let z0 = -work.values[r] / work.basis.cover[r];
        for (value, c) in work.values.iter_mut().zip(&work.basis.cover) {
            *value += c * z0;
        }
        work.values[0] = z0;
        work.values[r] = 0.0;
        self.pair = r;
        self.outcome.pivots = 1;
        None
    }

    fn pivot(&mut self) -> Status {
        let lcp = self.lcp;
        let (mut age, mut travel) = (0, 0.0);
        let mut guard = Guard::new(self.options.pivot, lcp.n_pairs());
        loop {
            if self.reduced
                && self.z_drives
                && !expansion::expand(lcp, self.work, self.pair, self.scale)
            {
                self.outcome.cover_limit = true;
                return Status::Breakdown;
            }
            let work = &mut *self.work;
            if work.basis.assemble(lcp, Some(self.pair)) == 0.0 {
                return Status::Breakdown;
            }
            self.outcome.kernel = self.outcome.kernel.max(work.basis.size());
            if FRESH_PIVOTS <= age || FRESH_TRAVEL * self.scale < travel {
                work.refresh(lcp);
                (age, travel) = (0, 0.0);
            }
            work.drive(lcp, self.pair, self.z_drives);
            let Some((out, largest)) = self.leaving() else {
                if age == 0 {
                    return Status::Ray;
                }
                age = FRESH_PIVOTS;
                continue;
            };
            self.outcome.pivots += 1;
            let step = self.work.values[out].max(0.0) / -self.work.rates[out];
            if out == 0 || self.is_spent(step) {
                self.finish();
                return Status::Solved;
            }
            let work = &mut *self.work;
            if guard.cycles(work.values[out], self.scale) {
                return Status::PivotLimit;
            }
            work.basis.arch.dispatch(Advance {
                values: &mut work.values,
                rates: &work.rates,
                step,
            });
            for (v, rate) in work.v.iter_mut().zip(&work.dv) {
                *v += step * rate;
            }
            if !step.is_finite() {
                return Status::Breakdown;
            }
            (age, travel) = (age + 1, travel + step * largest);
            work.values[self.pair] = step;
            work.values[out] = 0.0;
            if self.z_drives {
                work.basis.set(self.pair, true);
            }
            self.z_drives = !work.basis.basic[out];
            work.basis.set(out, false);
            self.pair = out;
            let over = work
                .meter
                .spend_system(work.basis.size(), work.basis.slots.len());
            if over || self.options.pivots <= self.outcome.pivots {
                return Status::PivotLimit;
            }
            if self
                .options
                .deadline
                .is_some_and(|end| end <= Instant::now())
            {
                return Status::TimeLimit;
            }
        }
    }

    /// The pair that leaves, and the largest rate.
    fn leaving(&mut self) -> Option<(usize, f64)> {
        let work = &mut *self.work;
        let choice = work.basis.arch.dispatch(Search {
            values: &work.values,
            rates: &work.rates,
            scale: self.scale,
            pivot: self.options.pivot,
        });
        if let Some(out) = choice.leaving {
            return Some((out, choice.largest));
        }
        let mut test = std::mem::take(&mut work.test);
        let values = std::mem::take(&mut work.values);
        let rates = std::mem::take(&mut work.rates);
        let mut ask = Ask {
            lcp: self.lcp,
            work,
            values: &values,
            rates: &rates,
            pair: self.pair,
            z_drives: self.z_drives,
            scale: self.scale,
        };
        let out = test.leaving(&values, &rates, 0, self.scale, &mut ask);
        work.test = test;
        work.values = values;
        work.rates = rates;
        Some((out?, choice.largest))
    }

    /// Whether z₀ is gone for all purposes when another variable leaves after this step: it shrinks to rounding,
    /// and letting it leave instead gives a point that solves.
    fn is_spent(&mut self, step: f64) -> bool {
        let work = &mut *self.work;
        let (z0, rate) = (work.values[0], work.rates[0]);
        if SPENT * self.scale < z0 + step * rate || 0.0 <= rate {
            return false;
        }
        work.land(self.lcp, self.pair, self.z_drives);
        let good = work.point.residual(self.lcp) <= SHARP * self.scale;
        if self.z_drives {
            work.basis.set(self.pair, false);
        }
        good
    }

    /// z₀ has left: values anew, one step along the rates, the point judged, and made better if it is poor.
    fn finish(&mut self) {
        let (lcp, work) = (self.lcp, &mut *self.work);
        work.land(lcp, self.pair, self.z_drives);
        let mut residual = work.point.residual(lcp);
        if !(residual <= SHARP * self.scale) {
            residual = work.polish(lcp, residual);
        }
        self.outcome.residual = residual / self.scale;
    }
}

/// Answers the questions of the ratio test.
struct Ask<'a> {
    lcp: &'a ContactLcp,
    work: &'a mut Work,
    values: &'a [f64],
    rates: &'a [f64],
    pair: usize,
    z_drives: bool,
    scale: f64,
}

impl Basis for Ask<'_> {
    fn columns(&self) -> usize {
        self.values.len() - 1
    }

    /// B⁻¹e_j: a unit entry if w_j is basic, else one solve.
    fn column(&mut self, j: usize, pairs: &[usize], entries: &mut [f64]) {
        let j = j + 1;
        if j != self.pair && !self.work.basis.basic[j] {
            for (entry, &pair) in entries.iter_mut().zip(pairs) {
                *entry = f64::from(u8::from(pair == j));
            }
            return;
        }
        let (n, slots) = (self.work.basis.size() as u64, self.rates.len() as u64);
        self.work.meter.spend(2 * n * n + 4 * slots);
        let (dv, dfree) = (self.work.dv.clone(), self.work.dfree.clone());
        self.work.rates.resize(self.rates.len(), 0.0);
        self.work.unit_column(self.lcp, j, 1.0);
        for (entry, &pair) in entries.iter_mut().zip(pairs) {
            *entry = self.work.rates[pair];
        }
        (self.work.dv, self.work.dfree) = (dv, dfree);
    }

    fn verify(&mut self, _step: f64) -> bool {
        let (lcp, work) = (self.lcp, &mut *self.work);
        // The tables are lent to the test; the landing needs its own.
        let (v, free) = (work.v.clone(), work.free.clone());
        work.values = self.values.to_vec();
        work.rates = self.rates.to_vec();
        work.land(lcp, self.pair, self.z_drives);
        if self.z_drives {
            work.basis.set(self.pair, false);
        }
        (work.v, work.free) = (v, free);
        work.point.residual(lcp) <= VERIFIED * self.scale
    }
}
