//! A start from impulses that are nearly right, those of the last step: its basis first, pivots only if that fails.
//!
//! Impulses say which contacts are loaded, stick or slip. Solving in that basis gives the answer at once where nothing
//! has changed since. Where something has, pairs whose variable became negative are exchanged, many together, and the
//! basis is solved again: a few rounds follow a contact that opens, closes, or starts to slip. Nothing
//! guarantees that these rounds end, so they are few, and an answer counts only if its residual says so.

use crate::solver::Status;
use crate::solver::pivot::contact::basis::Slot;
use crate::solver::pivot::contact::pivots::{Options, Outcome, Run, SHARP, SOLVED, Work};
use crate::solver::pivot::contact::{ContactLcp, NONE};

/// Most rounds of exchanges.
const ROUNDS: usize = 16;
/// Variables below this much of max|q| under zero are exchanged; a basis that leaves no more than that is right.
const WRONG: f64 = 1e-10;
/// Friction this close to its bound slips, and a share of it this small is none.
const CLOSE: f64 = 1e-9;

/// Solves in the basis of the given impulses, one for every row of the whole problem. The status is `breakdown` where
/// that leads nowhere.
pub(crate) fn solve(
    lcp: &ContactLcp,
    guess: &[f64],
    options: &Options<'_>,
    work: &mut Work,
) -> Outcome {
    let mut run = Run::new(lcp, options, work, true);
    if let Some(end) = run.prepare() {
        run.outcome.status = end;
        return run.outcome;
    }
    run.work.adopt(lcp, guess);
    let (sharp, wrong) = (SHARP * run.scale, WRONG * run.scale);
    for _ in 0..ROUNDS {
        let slots = run.work.basis.slots.len();
        let n = run.work.basis.thetas.len() + run.work.basis.phis.len() + lcp.frees.len();
        if run.work.meter.spend_system(n, slots) {
            break;
        }
        let mut residual = run.work.complementary(lcp);
        let right = residual <= wrong;
        let changes = match residual.is_finite() && !right {
            true => run.work.mend(lcp, wrong),
            false => 0,
        };
        if changes == 0 && sharp < residual && residual.is_finite() {
            // What is left is rounding.
            residual = run.work.polish(lcp, residual);
        }
        run.outcome.residual = residual / run.scale;
        run.outcome.pivots += changes;
        if changes == 0 {
            break;
        }
    }
    run.outcome.status = if run.outcome.residual <= SOLVED {
        Status::Solved
    } else {
        Status::Breakdown
    };
    run.outcome
}

impl Work {
    /// Makes basic what the impulses show to be positive.
    fn adopt(&mut self, lcp: &ContactLcp, guess: &[f64]) {
        for i in 0..lcp.normals.len() {
            if 0.0 < lcp.given_load(i, guess) {
                self.close_contact(lcp, i);
            }
        }
        for (g, group) in lcp.groups.iter().enumerate() {
            let load = match group.normal {
                NONE => 0.0,
                i => lcp.given_load(i, guess).max(0.0),
            };
            let at = self.basis.at[g];
            let bound = group.mu * load + group.room;
            if at == NONE || !(0.0 < bound) {
                continue;
            }
            let shares = lcp.shares(g, lcp.given_friction(g, guess));
            let mut used = 0.0;
            for (j, phi) in shares.into_iter().flatten() {
                if CLOSE * bound < phi {
                    self.basis.set(at + j, true);
                    used += phi;
                }
            }
            if (1.0 - CLOSE) * bound <= used {
                self.basis.set(at + group.count, true);
            }
        }
    }

    fn close_contact(&mut self, lcp: &ContactLcp, i: usize) {
        self.basis.set(1 + i, true);
        for g in lcp.normals[i].groups() {
            if self.basis.at[g] == NONE {
                self.basis.join(lcp, g, 0.0);
            }
        }
    }

    /// Solves in the complementary basis as it is. Returns the residual; infinite where there is no such basis.
    fn complementary(&mut self, lcp: &ContactLcp) -> f64 {
        if self.basis.assemble(lcp, None) == 0.0 {
            return f64::INFINITY;
        }
        self.values.resize(self.basis.slots.len(), 0.0);
        self.refresh(lcp);
        self.read_point(lcp);
        self.point.residual(lcp)
    }

    /// Exchanges pairs whose basic variable is below −`limit`. Returns their number. Of the rows that have to be
    /// added only the worst of each body is: those of one face depend on each other.
    fn mend(&mut self, lcp: &ContactLcp, limit: f64) -> usize {
        let mut changes = 0;
        for i in 0..lcp.normals.len() {
            if self.basis.basic[1 + i] && self.values[1 + i] < -limit {
                self.basis.set(1 + i, false);
                for g in lcp.normals[i].groups() {
                    self.release(lcp, g);
                }
                changes += 1;
            }
        }
        let mut wanted = Wanted::new(lcp.columns.dofs, limit);
        for (i, normal) in lcp.normals.iter().enumerate() {
            if !self.basis.basic[1 + i] {
                wanted.see(lcp, normal.unit, self.values[1 + i], 1 + i);
            }
        }
        for (g, group) in lcp.groups.iter().enumerate() {
            let known = self.basis.at[g] != NONE;
            if known && (group.normal == NONE || self.basis.basic[1 + group.normal]) {
                changes += self.mend_group(lcp, g, limit, &mut wanted);
            }
        }
        for (_, slot) in wanted.worst.into_iter().filter(|entry| entry.1 != NONE) {
            match self.basis.slots[slot] {
                Slot::Normal(i) => self.close_contact(lcp, i),
                _ => self.basis.set(slot, true),
            }
            changes += 1;
        }
        changes
    }

    /// No friction in a group.
    fn release(&mut self, lcp: &ContactLcp, g: usize) {
        let at = self.basis.at[g];
        for slot in at..=at + lcp.groups[g].count {
            if self.basis.basic[slot] {
                self.basis.set(slot, false);
            }
        }
    }

    /// A loaded group: it sticks or slips, along the direction that opposes it most.
    fn mend_group(&mut self, lcp: &ContactLcp, g: usize, limit: f64, wanted: &mut Wanted) -> usize {
        let (at, count) = (self.basis.at[g], lcp.groups[g].count);
        let bound = at + count;
        let mut changes = 0;
        let slips = self.basis.basic[bound];
        let (mut worst, mut least) = (NONE, -limit);
        let mut basic = 0;
        for slot in at..bound {
            if !self.basis.basic[slot] {
                if self.values[slot] < least {
                    (worst, least) = (slot, self.values[slot]);
                }
            } else if self.values[slot] < -limit {
                self.basis.set(slot, false);
                changes += 1;
            } else {
                basic += 1;
            }
        }
        if worst != NONE && slips {
            self.release(lcp, g);
            self.basis.set(worst, true);
            self.basis.set(bound, true);
            return changes + 1;
        }
        if worst != NONE && basic < 2 {
            wanted.see(lcp, lcp.groups[g].unit, least, worst);
        }
        let wrong = self.values[bound] < -limit;
        let slips = slips != wrong && basic != 0;
        if slips != self.basis.basic[bound] {
            self.basis.set(bound, slips);
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
