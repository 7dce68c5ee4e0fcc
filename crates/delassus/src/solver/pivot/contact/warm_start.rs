//! A start from impulses that are nearly right, those of the last step: its basis first, pivots only if that fails.
//!
//! Impulses say which contacts are loaded, stick or slip: that is a complementary basis, and solving in it gives the
//! answer at once where nothing has changed since. Where something has, pairs are exchanged, many together, and the
//! basis is solved again: a few rounds follow a contact that opens, closes, or starts to slip.
//!
//! ```text
//! θ < 0   the contact opens, its friction with it          ν < 0   the contact closes, without friction at first
//! φ < 0   the direction is left                            σ < 0   the direction that opposes the slip most is taken
//! γ < 0   the contact slips                                s < 0   the contact sticks
//! ```
//!
//! The source starts from nothing always. Nothing promises that these rounds end, so they are few, and an answer counts
//! only if its residual says so; else a path from nothing follows. Cost: one kernel for each round.

use super::basis::Slot;
use super::pivots::{Friction, Pivoting, SHARP};
use super::{CLOSE, ContactLcp, NONE, PivotOptions, PivotOutcome, PivotWork};
use crate::solver::Status;
use crate::solver::pivot::ACCEPTED;

/// Most rounds of exchanges.
const ROUNDS: usize = 16;
/// Variables below this much of max|q| under zero are exchanged; a basis that leaves no more than that is right.
const WRONG: f64 = 1e-10;

/// Solves in the basis of the given impulses, one for every row of the whole problem. The status is `breakdown` where
/// that leads nowhere.
pub(crate) fn solve(
    lcp: &ContactLcp,
    guess: &[f64],
    options: &PivotOptions<'_>,
    work: &mut PivotWork,
) -> PivotOutcome {
    let mut run = Pivoting::new(lcp, options, work, Friction::WhereLoaded);
    if let Some(end) = run.prepare() {
        run.outcome.status = end;
        return run.outcome;
    }
    let (mut outcome, scale) = (run.outcome, run.scale);
    let mut mending = Mending { lcp, work };
    mending.adopt(guess);
    for _ in 0..ROUNDS {
        let basis = &mending.work.basis;
        let n = basis.thetas.len() + basis.phis.len() + lcp.frees.len();
        let slots = basis.slots.len();
        if mending.work.meter.spend_system(n, slots) {
            break;
        }
        let mut residual = mending.solve();
        let wrong = WRONG * scale;
        let changes = match residual.is_finite() && wrong < residual {
            true => mending.mend(wrong),
            false => 0,
        };
        if changes == 0 && SHARP * scale < residual && residual.is_finite() {
            // What is left is rounding.
            residual = mending.work.polish(lcp, residual);
        }
        outcome.residual = residual / scale;
        outcome.pivots += changes;
        if changes == 0 {
            break;
        }
    }
    outcome.status = if outcome.residual <= ACCEPTED {
        Status::Solved
    } else {
        Status::Breakdown
    };
    outcome
}

/// A complementary basis that is mended by exchanges.
struct Mending<'a> {
    lcp: &'a ContactLcp,
    work: &'a mut PivotWork,
}

impl Mending<'_> {
    /// Makes basic what the impulses show to be positive.
    fn adopt(&mut self, guess: &[f64]) {
        let lcp = self.lcp;
        for i in 0..lcp.normals.len() {
            if 0.0 < lcp.given_load(i, guess) {
                self.close_contact(i);
            }
        }
        for (g, group) in lcp.groups.iter().enumerate() {
            let load = match group.normal {
                NONE => 0.0,
                i => lcp.given_load(i, guess).max(0.0),
            };
            let at = self.work.basis.at[g];
            let bound = group.mu * load + group.room;
            if at == NONE || !(0.0 < bound) {
                continue;
            }
            let shares = lcp.shares(g, lcp.given_friction(g, guess));
            let mut used = 0.0;
            for (j, phi) in shares.into_iter().flatten() {
                if CLOSE * bound < phi {
                    self.work.basis.set(at + j, true);
                    used += phi;
                }
            }
            if (1.0 - CLOSE) * bound <= used {
                self.work.basis.set(at + group.count, true);
            }
        }
    }

    /// Load on a contact, whose friction joins with none.
    fn close_contact(&mut self, i: usize) {
        let lcp = self.lcp;
        self.work.basis.set(1 + i, true);
        for g in lcp.normals[i].groups() {
            if self.work.basis.at[g] == NONE {
                self.work.join(lcp, g, 0.0);
            }
        }
    }

    /// Solves in the complementary basis as it is. Returns the residual; infinite where there is no such basis.
    fn solve(&mut self) -> f64 {
        let (lcp, work) = (self.lcp, &mut *self.work);
        if work.factor(lcp, None) == 0.0 {
            return f64::INFINITY;
        }
        work.refresh(lcp);
        work.read_point(lcp);
        work.point.residual(lcp)
    }

    /// Exchanges pairs whose basic variable is below −`limit`. Returns their number. Of the rows that have to be
    /// added only the worst of each body is: those of one face depend on each other.
    fn mend(&mut self, limit: f64) -> usize {
        let lcp = self.lcp;
        let mut changes = 0;
        for i in 0..lcp.normals.len() {
            if self.work.basis.basic[1 + i] && self.work.values.pairs[1 + i] < -limit {
                self.work.basis.set(1 + i, false);
                for g in lcp.normals[i].groups() {
                    self.release(g);
                }
                changes += 1;
            }
        }
        let mut wanted = Wanted::new(lcp.columns.dofs, limit);
        for (i, normal) in lcp.normals.iter().enumerate() {
            if !self.work.basis.basic[1 + i] {
                wanted.see(lcp, normal.unit, self.work.values.pairs[1 + i], 1 + i);
            }
        }
        for (g, group) in lcp.groups.iter().enumerate() {
            let known = self.work.basis.at[g] != NONE;
            if known && (group.normal == NONE || self.work.basis.basic[1 + group.normal]) {
                changes += self.mend_group(g, limit, &mut wanted);
            }
        }
        for (_, slot) in wanted.worst.into_iter().filter(|entry| entry.1 != NONE) {
            match self.work.basis.slots[slot] {
                Slot::Normal(i) => self.close_contact(i),
                _ => self.work.basis.set(slot, true),
            }
            changes += 1;
        }
        changes
    }

    /// No friction in a group.
    fn release(&mut self, g: usize) {
        let at = self.work.basis.at[g];
        for slot in at..=at + self.lcp.groups[g].count {
            if self.work.basis.basic[slot] {
                self.work.basis.set(slot, false);
            }
        }
    }

    /// A loaded group: it sticks or slips, along the direction that opposes it most.
    fn mend_group(&mut self, g: usize, limit: f64, wanted: &mut Wanted) -> usize {
        let lcp = self.lcp;
        let (at, count) = (self.work.basis.at[g], lcp.groups[g].count);
        let bound = at + count;
        let mut changes = 0;
        let slips = self.work.basis.basic[bound];
        let (mut worst, mut least) = (NONE, -limit);
        let mut basic = 0;
        for slot in at..bound {
            if !self.work.basis.basic[slot] {
                if self.work.values.pairs[slot] < least {
                    (worst, least) = (slot, self.work.values.pairs[slot]);
                }
            } else if self.work.values.pairs[slot] < -limit {
                self.work.basis.set(slot, false);
                changes += 1;
            } else {
                basic += 1;
            }
        }
        if worst != NONE && slips {
            self.release(g);
            self.work.basis.set(worst, true);
            self.work.basis.set(bound, true);
            return changes + 1;
        }
        if worst != NONE && basic < 2 {
            wanted.see(lcp, lcp.groups[g].unit, least, worst);
        }
        let wrong = self.work.values.pairs[bound] < -limit;
        let slips = slips != wrong && basic != 0;
        if slips != self.work.basis.basic[bound] {
            self.work.basis.set(bound, slips);
            changes += 1;
        }
        changes
    }
}

/// For each body the pair that is most wrong and not yet basic.
struct Wanted {
    worst: Vec<(f64, usize)>,
}

impl Wanted {
    fn new(dofs: usize, limit: f64) -> Wanted {
        Wanted {
            worst: vec![(-limit, NONE); dofs.max(1)],
        }
    }

    fn see(&mut self, lcp: &ContactLcp, unit: usize, value: f64, slot: usize) {
        let body = lcp
            .columns
            .parts(unit)
            .first()
            .map_or(0, |part| part.offset);
        if value < self.worst[body].0 {
            self.worst[body] = (value, slot);
        }
    }
}
