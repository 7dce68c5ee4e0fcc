//! The path of pivots on contacts, through the structure of the problem: nothing of its size is ever stored.
//!
//! ```text
//! z₀ enters for the worst pair;  its z drives
//! repeat
//!     the kernel of the basis is built and factored                          kernel.rs
//!     m′ ← rates of the basic variables along the driving one                values.rs       [Lemke05 §5.1, App. A]
//!     ratio test: none leaves: a ray;  z₀ leaves: the answer                 lcp/ratio.rs    [Lemke05 §4]
//!     q′ ← q′ + t m′;  what left is no longer basic, and its complement drives
//! ```
//!
//! How this differs from the source: (1) no factors are updated: a basis is factored anew, from the first row on that has
//! changed, which keeps all digits; (2) values are carried along and computed anew after 16 pivots or a long way, and always
//! before a ray is declared; (3) z₀ may leave with a weak rate, or be taken for gone, only where the point is verified
//! (errata Lemke05-4-ties); (4) free rows that depend on others are dropped, and the point is judged with them; (5)
//! friction may join late, see `expansion.rs`. Cost of a pivot: the kernel, and one pass over the contacts.

use std::time::Instant;

use super::expansion;
use super::kernel::Table;
use super::{ContactLcp, NONE, PivotWork};
use crate::math::max_abs;
use crate::solver::Status;
use crate::solver::pivot::ACCEPTED;
use crate::solver::pivot::lcp::ratio::{
    self, BasisColumns, Choice, CycleGuard, Pivot, RatioTest, Search, VERIFIED,
};

/// A point this good needs no polish.
pub(super) const SHARP: f64 = 1e-11;
/// z₀ below this much of max|q| may be gone: it is worth a look.
const SPENT: f64 = 1e-11;
/// A free row of which this much or less is left when the rows before it are taken out depends on them: it is
/// dropped, and the point is judged with it. Rows have unit length, squared here.
const DEPENDENT: f64 = 1e-13;
/// Values are updated from pivot to pivot and computed anew after so many, or when steps have added up.
const FRESH_PIVOTS: usize = 16;
const FRESH_TRAVEL: f64 = 30.0;

/// What a run did. The point it ended at stays in [`PivotWork`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PivotOutcome {
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

/// How to pivot.
#[derive(Clone, Copy, Debug)]
pub struct PivotOptions<'a> {
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

/// When the friction of a contact becomes part of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Friction {
    FromStart,
    WhereLoaded,
}

/// Solves with all pairs present from the start.   [Lemke05 §5.1, App. A]
pub fn structural(
    lcp: &ContactLcp,
    options: &PivotOptions<'_>,
    work: &mut PivotWork,
) -> PivotOutcome {
    run(lcp, options, work, Friction::FromStart)
}

/// The pivots of both methods.
pub(super) fn run(
    lcp: &ContactLcp,
    options: &PivotOptions<'_>,
    work: &mut PivotWork,
    friction: Friction,
) -> PivotOutcome {
    let mut run = Pivoting::new(lcp, options, work, friction);
    let end = run.start().unwrap_or_else(|| run.pivots());
    run.outcome.status = end;
    if end == Status::Solved && !(run.outcome.residual <= ACCEPTED) {
        run.outcome.status = Status::Breakdown;
    }
    if run.outcome.residual == f64::INFINITY {
        // No point was reached; what verification left behind is none.
        run.work.point.reset(lcp);
    }
    run.outcome
}

/// A run on its way.
pub(crate) struct Pivoting<'a> {
    pub(crate) lcp: &'a ContactLcp,
    pub(crate) options: &'a PivotOptions<'a>,
    pub(crate) work: &'a mut PivotWork,
    friction: Friction,
    /// max|q|.
    pub(crate) scale: f64,
    /// The driving variable: z or w of this pair.
    pub(super) pair: usize,
    pub(super) z_drives: bool,
    /// Pivots since values were computed anew, and how far they have moved.
    age: usize,
    travel: f64,
    guard: CycleGuard,
    pub(crate) outcome: PivotOutcome,
}

impl<'a> Pivoting<'a> {
    pub(crate) fn new(
        lcp: &'a ContactLcp,
        options: &'a PivotOptions<'a>,
        work: &'a mut PivotWork,
        friction: Friction,
    ) -> Self {
        work.test = RatioTest::new(options.pivot);
        work.reset(lcp, options.cover);
        for g in 0..lcp.groups.len() {
            if friction == Friction::FromStart || lcp.groups[g].normal == NONE {
                work.join(lcp, g, 0.0);
            }
        }
        let outcome = PivotOutcome {
            status: Status::Solved,
            pivots: 0,
            residual: f64::INFINITY,
            cover_limit: false,
            kernel: 0,
        };
        Pivoting {
            lcp,
            options,
            work,
            friction,
            scale: 0.0,
            pair: 0,
            z_drives: true,
            age: 0,
            travel: 0.0,
            guard: CycleGuard::new(options.pivot, lcp.n_pairs()),
            outcome,
        }
    }

    /// The basis of all w and the scale of the problem. An end if there is no such basis.
    pub(crate) fn prepare(&mut self) -> Option<Status> {
        let (lcp, work) = (self.lcp, &mut *self.work);
        let mut pivot = work.factor(lcp, None);
        if pivot < DEPENDENT && !lcp.frees.is_empty() {
            work.basis.frees = lcp.independent_frees(DEPENDENT);
            pivot = work.factor(lcp, None);
        }
        if pivot == 0.0 {
            return Some(Status::Breakdown);
        }
        work.refresh(lcp);
        self.scale = max_abs(&work.values.pairs[..=lcp.normals.len()]).max(max_abs(&lcp.slip));
        let room = lcp.groups.iter().map(|g| g.room).fold(0.0, f64::max);
        if self.scale == 0.0 {
            self.scale = if 0.0 < room { room } else { 1.0 };
        }
        None
    }

    /// The first pivot: z₀ enters for the worst pair. An end if there is nothing to do.
    pub(super) fn start(&mut self) -> Option<Status> {
        if let Some(end) = self.prepare() {
            return Some(end);
        }
        let (lcp, work) = (self.lcp, &mut *self.work);
        // The smallest q_i/c_i.
        let values = &mut work.values.pairs;
        let Some(first) = ratio::first(&values[1..], &work.basis.cover[1..]) else {
            work.read_point(lcp);
            self.outcome.residual = work.point.residual(lcp) / self.scale;
            return Some(Status::Solved);
        };
        let r = first + 1;
        // w = q + c z₀ with the least z₀ that makes it positive: that of pair r is zero.
        let z0 = -values[r] / work.basis.cover[r];
        for (value, c) in values.iter_mut().zip(&work.basis.cover) {
            *value += c * z0;
        }
        values[0] = z0;
        values[r] = 0.0;
        self.pair = r;
        self.outcome.pivots = 1;
        None
    }

    fn pivots(&mut self) -> Status {
        loop {
            if let Some(end) = self.pivot() {
                return end;
            }
        }
    }

    /// Friction joins where it is about to matter. False if the covering vector would be too large.
    pub(super) fn expand(&mut self) -> bool {
        let late = self.friction == Friction::WhereLoaded && self.z_drives;
        !late || expansion::expand(self.lcp, self.work, self.pair, self.scale)
    }

    /// One pivot, or a look at fresh values before a ray is believed. An end if that was the last.
    pub(super) fn pivot(&mut self) -> Option<Status> {
        if !self.expand() {
            self.outcome.cover_limit = true;
            return Some(Status::Breakdown);
        }
        let (lcp, work) = (self.lcp, &mut *self.work);
        if work.drive(lcp, self.pair, self.z_drives) == 0.0 {
            return Some(Status::Breakdown);
        }
        self.outcome.kernel = self.outcome.kernel.max(work.basis.size());
        if FRESH_PIVOTS <= self.age || FRESH_TRAVEL * self.scale < self.travel {
            work.refresh(lcp);
            (self.age, self.travel) = (0, 0.0);
        }
        let Choice {
            leaving: Some(out),
            largest,
        } = self.leaving()
        else {
            if self.age == 0 {
                return Some(Status::Ray);
            }
            // Never from values that were carried along.
            self.age = FRESH_PIVOTS;
            return None;
        };
        self.outcome.pivots += 1;
        // t = q′/(−m′) of the pair that leaves.
        let step = self.work.values.pairs[out].max(0.0) / -self.work.rates.pairs[out];
        if out == 0 || self.is_spent(step) {
            self.finish();
            return Some(Status::Solved);
        }
        if self.guard.cycles(self.work.values.pairs[out], self.scale) {
            return Some(Status::PivotLimit);
        }
        if !step.is_finite() {
            return Some(Status::Breakdown);
        }
        self.exchange(out, step);
        self.age += 1;
        self.travel += step * largest;
        self.limit()
    }

    /// The driving variable enters at its value t, the basic variable of pair `out` leaves, and its complement drives.
    fn exchange(&mut self, out: usize, step: f64) {
        let work = &mut *self.work;
        let Table { pairs, v, .. } = &mut work.values;
        // q′ ← q′ + t m′, and v with it.
        let advance = |values: &mut [f64], rates: &[f64]| {
            for (value, rate) in values.iter_mut().zip(rates) {
                *value += step * rate;
            }
        };
        let rates = &work.rates;
        work.kernel.arch.dispatch(|| {
            advance(pairs, &rates.pairs);
            advance(v, &rates.v);
        });
        pairs[self.pair] = step;
        pairs[out] = 0.0;
        if self.z_drives {
            work.basis.set(self.pair, true);
        }
        self.z_drives = !work.basis.basic[out];
        work.basis.set(out, false);
        self.pair = out;
    }

    /// The end of a run that has spent what it may.
    fn limit(&mut self) -> Option<Status> {
        let work = &mut *self.work;
        let (kernel, slots) = (work.basis.size(), work.basis.slots.len());
        let over = work.meter.spend_system(kernel, slots);
        if over || self.options.pivots <= self.outcome.pivots {
            return Some(Status::PivotLimit);
        }
        let deadline = self.options.deadline;
        let late = deadline.is_some_and(|end| end <= Instant::now());
        late.then_some(Status::TimeLimit)
    }

    /// The pair that leaves; none means a ray.
    fn leaving(&mut self) -> Choice {
        let work = &mut *self.work;
        let mut choice = work.kernel.arch.dispatch(Search {
            values: &work.values.pairs,
            rates: &work.rates.pairs,
            scale: self.scale,
            pivot: self.options.pivot,
        });
        if choice.leaving.is_some() {
            return choice;
        }
        // The tables are lent to the test, which may ask for solutions in the basis.
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
        choice.leaving = test.leaving(&values.pairs, &rates.pairs, 0, self.scale, &mut ask);
        work.test = test;
        work.values = values;
        work.rates = rates;
        choice
    }

    /// Whether z₀ is gone for all purposes when another variable leaves after this step: it shrinks to rounding,
    /// and letting it leave instead gives a point that solves.
    fn is_spent(&mut self, step: f64) -> bool {
        let work = &mut *self.work;
        let (z0, rate) = (work.values.pairs[0], work.rates.pairs[0]);
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
    work: &'a mut PivotWork,
    values: &'a Table,
    rates: &'a Table,
    pair: usize,
    z_drives: bool,
    scale: f64,
}

impl BasisColumns for Ask<'_> {
    fn columns(&self) -> usize {
        self.values.pairs.len() - 1
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
        let (n, slots) = (self.work.basis.size(), self.rates.pairs.len());
        let (size, others) = (n as u64, slots as u64);
        self.work.meter.spend(2 * size * size + 4 * others);
        self.work.rates.reset(self.lcp, slots);
        self.work.unit_column(self.lcp, j, 1.0);
        for (entry, &pair) in entries.iter_mut().zip(pairs) {
            *entry = self.work.rates.pairs[pair];
        }
    }

    fn verify(&mut self, _step: f64) -> bool {
        let (lcp, work) = (self.lcp, &mut *self.work);
        work.values = self.values.clone();
        work.rates = self.rates.clone();
        work.land(lcp, self.pair, self.z_drives);
        if self.z_drives {
            work.basis.set(self.pair, false);
        }
        work.point.residual(lcp) <= VERIFIED * self.scale
    }
}
