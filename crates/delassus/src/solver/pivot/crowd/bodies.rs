//! The kernel of many bodies, solved through the bodies: n contacts on m bodies cost a sparse system of 6m velocities.
//!
//! ```text
//! (LᵀR + S) y = b      ⇔      (1 + R S⁻¹Lᵀ) u = R S⁻¹b,   y = S⁻¹(b − Lᵀu)           S = Σ + ε
//! ```
//!
//! Whatever the contacts do, u couples the same bodies: the order of elimination is found once, and each basis is
//! factored along it. ε makes every basis regular, those included whose rows depend on each other; what it changes is
//! taken back by corrections of y, which end at the answer nearest to the start.

use super::guess::{Guess, State};
use crate::linalg::fronts::{FrontBlock, Fronts, Node, Piece};
use crate::solver::pivot::contact::basis::{Slot, Unknown, What};
use crate::solver::pivot::contact::columns::BodyRows;
use crate::solver::pivot::contact::kernel::Constants;
use crate::solver::pivot::contact::{ContactLcp, NONE, PivotWork};

/// ε. Rows have unit length.
const SOFT: f64 = 1e-9;
/// Most corrections, and by how much one must shrink what is left over for another to be worth it.
const CORRECTIONS: usize = 20;
const WORTH: f64 = 0.8;

/// Factors over the bodies of one problem.
#[derive(Clone, Debug, Default)]
pub(super) struct BodySystem {
    fronts: Fronts,
    /// First unknown of every unit, and one more; the unknowns that are factored, and theirs.
    first: Vec<usize>,
    factored: Vec<Unknown>,
    factored_first: Vec<usize>,
    /// Multiplications so far.
    pub(super) done: u64,
    u: Vec<f64>,
    pub(super) left: Vec<f64>,
    best: Vec<f64>,
    /// Impulses from which solutions start: a table of pairs, and free multipliers.
    start: Vec<f64>,
    free_start: Vec<f64>,
}

impl BodySystem {
    /// Finds the order of elimination for the bodies of a problem.
    pub(super) fn plan(&mut self, lcp: &ContactLcp) {
        let columns = &lcp.columns;
        let units = 0..columns.units.len();
        let parts = units.clone().flat_map(|unit| columns.parts(unit));
        let node = |part: &BodyRows| Node {
            first: part.offset,
            width: part.width,
        };
        let mut bodies: Vec<Node> = parts.map(node).collect();
        bodies.sort_unstable();
        bodies.dedup();
        let number = |offset: usize| bodies.partition_point(|body| body.first < offset);
        let elements: Vec<Vec<usize>> = units
            .map(|unit| {
                let parts = columns.parts(unit).iter();
                parts.map(|part| number(part.offset)).collect()
            })
            .collect();
        self.fronts.plan(&bodies, &elements);
        self.factored.clear();
        self.factored_first.clear();
        self.factored_first.resize(columns.units.len() + 1, 0);
        self.u.clear();
        self.u.resize(columns.dofs, 0.0);
    }

    /// Factors the kernel of these unknowns, listed unit by unit. False where a pivot vanishes.
    pub(super) fn factor(&mut self, lcp: &ContactLcp, unknowns: &[Unknown]) -> bool {
        let units = lcp.columns.units.len();
        self.first.clear();
        self.first.resize(units + 1, 0);
        for unknown in unknowns {
            self.first[unknown.unit + 1] += 1;
        }
        for unit in 0..units {
            self.first[unit + 1] += self.first[unit];
        }
        let (first, before) = (&self.first, &self.factored_first);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let is_new = |unit: usize| {
            let now = &unknowns[first[unit]..first[unit + 1]];
            let then = &self.factored[before[unit]..before[unit + 1]];
            let same = |(a, b): (&Unknown, &Unknown)| {
                (a.left, a.right, a.sigma) == (b.left, b.right, b.sigma)
            };
            now.len() != then.len() || !now.iter().zip(then).all(same)
        };
        let cost = self.fronts.factor(is_new, |unit, block| {
            for unknown in &unknowns[first[unit]..first[unit + 1]] {
                add(lcp, unknown, &mut left, &mut right, block);
            }
        });
        self.done += cost.unwrap_or(0);
        self.factored.clear();
        self.factored.extend_from_slice(unknowns);
        self.factored_first.clone_from(&self.first);
        cost.is_some()
    }

    /// Improves `y` until (LᵀR + Σ) y = b is met as well as it can be.
    pub(super) fn solve(
        &mut self,
        lcp: &ContactLcp,
        unknowns: &[Unknown],
        b: &[f64],
        y: &mut [f64],
    ) {
        let mut least = f64::INFINITY;
        for _ in 0..=CORRECTIONS {
            let size = self.left_over(lcp, unknowns, b, y);
            if size < least {
                self.best.clear();
                self.best.extend_from_slice(y);
            }
            if size == 0.0 || !(size < WORTH * least) {
                break;
            }
            least = size;
            self.step(lcp, unknowns);
            y.iter_mut()
                .zip(&self.left)
                .for_each(|(y, step)| *y += step);
        }
        y.copy_from_slice(&self.best);
    }

    /// b − (LᵀR + Σ) y into `left`, and its largest entry.
    pub(super) fn left_over(
        &mut self,
        lcp: &ContactLcp,
        unknowns: &[Unknown],
        b: &[f64],
        y: &[f64],
    ) -> f64 {
        self.u.fill(0.0);
        for (unknown, y) in unknowns.iter().zip(y) {
            let share = unknown.right.map(|share| share * y);
            lcp.columns.add(unknown.unit, share, &mut self.u);
        }
        self.left.clear();
        let mut size: f64 = 0.0;
        for ((unknown, y), b) in unknowns.iter().zip(y).zip(b) {
            let row = lcp.columns.along(unknown.unit, unknown.left, &self.u) + unknown.sigma * y;
            self.left.push(b - row);
            size = size.max((b - row).abs());
        }
        size
    }

    /// left ← (LᵀR + S)⁻¹ left.
    pub(super) fn step(&mut self, lcp: &ContactLcp, unknowns: &[Unknown]) {
        self.done += self.fronts.cost() + 4 * lcp.columns.values.len() as u64;
        self.u.fill(0.0);
        for (unknown, b) in unknowns.iter().zip(&self.left) {
            let share = unknown
                .right
                .map(|share| share * b / (unknown.sigma + SOFT));
            lcp.columns.add(unknown.unit, share, &mut self.u);
        }
        self.fronts.solve(&mut self.u);
        for (unknown, b) in unknowns.iter().zip(&mut self.left) {
            let row = lcp.columns.along(unknown.unit, unknown.left, &self.u);
            *b = (*b - row) / (unknown.sigma + SOFT);
        }
    }
}

/// Adds R S⁻¹Lᵀ of one unknown.
fn add(
    lcp: &ContactLcp,
    unknown: &Unknown,
    left: &mut Vec<f64>,
    right: &mut Vec<f64>,
    block: &mut FrontBlock<'_>,
) {
    left.clear();
    right.clear();
    let parts = lcp.columns.parts(unknown.unit);
    for part in parts {
        lcp.columns.combine(unknown.unit, part, unknown.left, left);
        lcp.columns
            .combine(unknown.unit, part, unknown.right, right);
    }
    let scale = 1.0 / (unknown.sigma + SOFT);
    let mut i = 0;
    for a in parts {
        let column = Piece {
            first: a.offset,
            values: &right[i..i + a.width],
        };
        let mut j = 0;
        for b in parts {
            let row = Piece {
                first: b.offset,
                values: &left[j..j + b.width],
            };
            block.add(column, row, scale);
            j += b.width;
        }
        i += a.width;
    }
}

/// A complementary basis of many contacts, solved over the bodies.
pub(super) struct OverBodies<'a> {
    pub(super) lcp: &'a ContactLcp,
    pub(super) work: &'a mut PivotWork,
    pub(super) system: &'a mut BodySystem,
}

impl OverBodies<'_> {
    /// Makes basic what the impulses show to be positive. Returns how many pairs that exchanges.
    pub(super) fn show(&mut self, guess: &Guess) -> usize {
        let mut changes = 0;
        for (i, &theta) in guess.theta.iter().enumerate() {
            changes += self.put(1 + i, 0.0 < theta);
        }
        for g in 0..self.lcp.groups.len() {
            changes += self.set_state(g, guess.state(self.lcp, g));
        }
        changes
    }

    /// Puts z of a pair into the basis or takes it out. Returns 1 if that is a change.
    pub(super) fn put(&mut self, slot: usize, basic: bool) -> usize {
        if self.work.basis.basic[slot] == basic {
            return 0;
        }
        self.work.basis.set(slot, basic);
        1
    }

    /// The basic variables of a group in this state. Returns how many pairs that exchanges.
    pub(super) fn set_state(&mut self, g: usize, state: State) -> usize {
        let (at, count) = (self.work.basis.at[g], self.lcp.groups[g].count);
        let [i, j] = directions_of(count, state);
        let mut changes = 0;
        for k in 0..count {
            changes += self.put(at + k, k == i || k == j);
        }
        let slips = matches!(state, State::Side(..) | State::Corner(_));
        changes + self.put(at + count, slips)
    }

    /// Counts what systems over the bodies have cost. True where the attempt has to end.
    pub(super) fn charge(&mut self) -> bool {
        let done = std::mem::take(&mut self.system.done);
        self.work.meter.spend(done)
    }

    /// Factors the basis at hand. False where there is no such basis.
    pub(super) fn factor(&mut self) -> bool {
        let basis = &mut self.work.basis;
        basis.list(self.lcp, None) && self.system.factor(self.lcp, &basis.unknowns)
    }

    /// Values in the basis at hand, near the impulses given. False where there is no solution.
    pub(super) fn solve_near(&mut self, guess: &Guess) -> bool {
        if !self.factor() {
            return false;
        }
        self.start_near(guess);
        let lcp = self.lcp;
        let PivotWork {
            basis,
            kernel,
            values,
            ..
        } = &mut *self.work;
        values.pairs.resize(basis.slots.len(), 0.0);
        basis.swap_constants();
        kernel.several.right_side(basis, lcp, &mut values.v);
        let b = std::mem::take(&mut kernel.several.y);
        let mut y = Vec::new();
        self.begin(&mut y);
        let PivotWork {
            basis,
            kernel,
            values,
            ..
        } = &mut *self.work;
        self.system.solve(lcp, &basis.unknowns, &b, &mut y);
        let everywhere = Constants::Everywhere;
        kernel.several.spread(basis, lcp, everywhere, &y, values);
        kernel.several.y = y;
        basis.swap_constants();
        true
    }

    /// The unknowns of the kernel at the impulses from which solutions start.
    pub(super) fn begin(&self, y: &mut Vec<f64>) {
        let (basis, system) = (&self.work.basis, &self.system);
        let start = |what| match what {
            What::Theta(i) => system.start[1 + i],
            What::Phi(g, j) => system.start[basis.at[g] + j],
            What::Free(f) => system.free_start[f],
        };
        y.clear();
        y.extend(basis.unknowns.iter().map(|unknown| start(unknown.what)));
    }

    /// Solutions start from the impulses given.
    pub(super) fn start_near(&mut self, guess: &Guess) {
        let (lcp, basis) = (self.lcp, &self.work.basis);
        let start = &mut self.system.start;
        start.clear();
        start.resize(basis.slots.len(), 0.0);
        start[1..=guess.theta.len()].copy_from_slice(&guess.theta);
        for (g, group) in lcp.groups.iter().enumerate() {
            let at = basis.at[g];
            let mut basic = (0..group.count).filter(|k| basis.basic[at + k]);
            let d = |k: usize| lcp.directions[group.start + k];
            let [x, y] = guess.friction[g];
            match (basic.next(), basic.next()) {
                (Some(i), Some(j)) => {
                    // φ_i d_i + φ_j d_j = τ
                    let (a, b) = (d(i), d(j));
                    let det = a[0] * b[1] - a[1] * b[0];
                    start[at + i] = (x * b[1] - y * b[0]) / det;
                    start[at + j] = (a[0] * y - a[1] * x) / det;
                }
                (Some(i), None) => {
                    let [a, b] = d(i);
                    start[at + i] = (a * x + b * y) / (a * a + b * b);
                }
                _ => {}
            }
        }
        self.system.free_start.clear();
        self.system.free_start.extend_from_slice(&guess.free);
    }

    /// The impulses of a table and of free multipliers.
    pub(super) fn read(&self, pairs: &[f64], free: &[f64], guess: &mut Guess) {
        let (lcp, basis) = (self.lcp, &self.work.basis);
        guess.theta.fill(0.0);
        guess.friction.fill([0.0; 2]);
        for (slot, &value) in pairs.iter().enumerate() {
            match basis.slots[slot] {
                _ if !basis.basic[slot] => {}
                Slot::Normal(i) => guess.theta[i] = value,
                Slot::Direction(g, j) => {
                    let [a, b] = lcp.directions[lcp.groups[g].start + j];
                    let [x, y] = guess.friction[g];
                    guess.friction[g] = [x + a * value, y + b * value];
                }
                Slot::Bound(_) | Slot::Cover => {}
            }
        }
        guess.free.copy_from_slice(free);
        guess.find_velocity(lcp);
    }

    /// The residual of the impulses once they obey their bounds; the point they are is left in the work.
    pub(super) fn judge(&mut self, guess: &Guess) -> f64 {
        let mut lawful = guess.clone();
        lawful.settle(self.lcp);
        lawful.point(self.lcp, &mut self.work.point);
        self.work.point.residual(self.lcp)
    }
}

/// Basic directions of a group of so many in this state; [`NONE`] where there are fewer. What sticks is written in two
/// that are nearly at right angles, whatever its friction is, or in the only one there is.
fn directions_of(count: usize, state: State) -> [usize; 2] {
    match state {
        State::Idle => [NONE; 2],
        State::Stick if count < 3 => [0, NONE],
        State::Stick => [0, (count / 4).max(1)],
        State::Side(i, j) => [i, j],
        State::Corner(i) => [i, NONE],
    }
}
