//! Lemke's path from a guess: the guess answers a neighbouring problem exactly, and the path leads from there to ours.
//!
//! ```text
//! w = Mz + q + c z₀        c such that the guess is the answer for z₀ = 1;  every basis gives z, w as a + b z₀
//! from z₀ = 1 downwards: the first variable to vanish leaves, its complement enters and grows
//! z₀ = 0: the answer
//! ```
//!
//! That is Lemke's method with a covering vector of any sign and a start in the middle of the path. The better
//! the guess, the smaller c and the fewer the pivots. z₀ may rise on the way; where it rises for ever the path is lost.
//!
//! Contacts are followed as what they do, not as pairs: one that sticks meets the nearest side of its polygon,
//! without passing from sector to sector of it.   [Lemke05 §4]

use super::bodies::OverBodies;
use super::guess::{Guess, State};
use crate::solver::pivot::contact::kernel::{Constants, Table};
use crate::solver::pivot::contact::{ContactLcp, Group, NONE};

/// Where z₀ rises this far the path leads away.
const HIGHEST: f64 = 10.0;
/// Most corrections of a solution, and by how much one must shrink what is left over for another to be worth it.
const CORRECTIONS: usize = 6;
const WORTH: f64 = 0.5;
/// A point is lost if this much of max|q| is left over.
const LOST: f64 = 1e-7;
/// Rates below this much of the largest do not block.
const STILL: f64 = 1e-11;
/// What has to be positive at the start is at least this much of max|q|.
const MARGIN: f64 = 1e-5;

/// How a path from a guess ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    pub(super) pivots: usize,
    /// Whether z₀ has come to zero.
    pub(super) arrived: bool,
}

/// Follows the path from a guess, which is left at its end. `scale` is max|q|, `most` the pivots allowed.
pub(super) fn follow(
    over: &mut OverBodies<'_>,
    guess: &mut Guess,
    scale: f64,
    most: usize,
) -> Followed {
    let lost = |pivots| Followed {
        pivots,
        arrived: false,
    };
    let mut path = GuessPath::new(over, guess, MARGIN * scale);
    let mut entered = None;
    for pivots in 0..most {
        if path.over.charge() || !path.solve(guess, entered, scale) {
            return lost(pivots);
        }
        let (step, event) = path.first_event();
        if path.rate < 0.0 && path.z0 <= -path.rate * step {
            // z₀ leaves.
            path.read(path.z0 / -path.rate, guess);
            return Followed {
                pivots,
                arrived: true,
            };
        }
        let Some(event) = event.filter(|_| path.z0 + path.rate * step <= HIGHEST) else {
            return lost(pivots);
        };
        path.read(step, guess);
        path.z0 += path.rate * step;
        path.exchange(event, step);
        entered = Some(event);
    }
    lost(most)
}

struct GuessPath<'a, 'b> {
    over: &'a mut OverBodies<'b>,
    lcp: &'b ContactLcp,
    states: Vec<State>,
    /// c.
    cover: Table,
    /// The point at which the last variable entered, and z₀ there.
    a: Table,
    z0: f64,
    /// Rates along the variable that entered.
    b: Table,
    rate: f64,
}

/// A solution of the kernel, with its z₀.
#[derive(Clone, Debug, Default)]
struct Solved {
    y: Vec<f64>,
    z0: f64,
}

impl Solved {
    fn scale(&mut self, by: f64) {
        self.y.iter_mut().for_each(|y| *y *= by);
        self.z0 *= by;
    }
}

impl<'a, 'b> GuessPath<'a, 'b> {
    fn new(over: &'a mut OverBodies<'b>, guess: &Guess, margin: f64) -> GuessPath<'a, 'b> {
        let lcp = over.lcp;
        let mut zeros = Table::default();
        zeros.reset(lcp, over.work.basis.slots.len());
        let mut cover = zeros.clone();
        for (i, normal) in lcp.normals.iter().enumerate() {
            let theta = guess.theta[i];
            let nu = guess.approach(lcp, normal, theta);
            let closed = 0.0 < theta;
            over.put(1 + i, closed);
            cover.pairs[1 + i] = if closed { -nu } else { (margin - nu).max(0.0) };
        }
        let mut states = Vec::with_capacity(lcp.groups.len());
        for (g, group) in lcp.groups.iter().enumerate() {
            let state = guess.state(lcp, g);
            over.set_state(g, state);
            states.push(state);
            let idle = state == State::Idle && group.normal != NONE;
            let slip = guess.slip(lcp, g);
            let wanted = if idle {
                slip
            } else {
                lawful(lcp, group, state, slip, margin)
            };
            let c = [wanted[0] - slip[0], wanted[1] - slip[1]];
            let at = over.work.basis.at[g];
            for (j, [a, b]) in lcp.directions[group.range()].iter().enumerate() {
                cover.pairs[at + j] = a * c[0] + b * c[1];
            }
        }
        for (f, c) in cover.free.iter_mut().enumerate() {
            *c = -guess.gap(lcp, f);
        }
        GuessPath {
            over,
            lcp,
            states,
            cover,
            a: zeros.clone(),
            z0: 1.0,
            b: zeros,
            rate: -1.0,
        }
    }

    /// Point and rates in the basis at hand, in which this event has happened. The basis alone may be singular: then
    /// z₀ stands still while the variable grows. So both are corrected together with z₀.
    ///
    /// ```text
    /// A y + c z₀ = b,   e(y, z₀) = 0                A y′ + c z₀′ = 0,   e(y′, z₀′) = 1
    /// ```
    fn solve(&mut self, guess: &Guess, entered: Option<Event>, scale: f64) -> bool {
        if !self.over.factor() {
            return false;
        }
        self.over.start_near(guess);
        let (q, c) = (self.right_side(0.0, 1.0), self.right_side(1.0, 0.0));
        let Some(rates) = self.rates(&c, entered) else {
            return false;
        };
        let mut point = Solved {
            y: Vec::new(),
            z0: self.z0,
        };
        self.over.begin(&mut point.y);
        let mut least = f64::INFINITY;
        for _ in 0..CORRECTIONS {
            let b: Vec<f64> = q.iter().zip(&c).map(|(q, c)| q + point.z0 * c).collect();
            let (y, left) = self.step(&b, &point.y);
            if !(left < WORTH * least) {
                break;
            }
            least = left;
            add(&mut point.y, &y, 1.0);
            let off = self.entering(entered, &point, false);
            add(&mut point.y, &rates.y, -off);
            point.z0 -= off * rates.z0;
        }
        if !(least <= LOST * scale) {
            return false;
        }
        (self.z0, self.rate) = (point.z0, rates.z0);
        let (a, b) = (std::mem::take(&mut self.a), std::mem::take(&mut self.b));
        self.a = self.table(&point, 1.0, a);
        self.b = self.table(&rates, 0.0, b);
        let mut all = self.a.pairs.iter().chain(&self.b.pairs);
        all.all(|x| x.is_finite())
    }

    /// Rates along the variable that entered; none where it does not move.
    fn rates(&mut self, c: &[f64], entered: Option<Event>) -> Option<Solved> {
        // The response to c, made to let the variable grow at unit rate.
        let mut rates = Solved {
            y: self.step(c, &vec![0.0; c.len()]).0,
            z0: 1.0,
        };
        let unit = self.entering(entered, &rates, true);
        if !(unit != 0.0 && unit.is_finite()) {
            return None;
        }
        rates.scale(1.0 / unit);
        let mut least = f64::INFINITY;
        for _ in 0..CORRECTIONS {
            let b: Vec<f64> = c.iter().map(|c| rates.z0 * c).collect();
            let (y, left) = self.step(&b, &rates.y);
            if !(left < WORTH * least) {
                break;
            }
            least = left;
            add(&mut rates.y, &y, 1.0);
            let off = self.entering(entered, &Solved { y, z0: 0.0 }, true);
            rates.scale(1.0 / (1.0 + off));
        }
        Some(rates)
    }

    /// Sets the constants to q × `q` + c × `z0`.
    fn set_constants(&mut self, z0: f64, q: f64) {
        let basis = &mut self.over.work.basis;
        for (k, constant) in basis.constant.iter_mut().enumerate() {
            *constant = q * basis.q[k] + z0 * self.cover.pairs[k];
        }
        for (f, constant) in basis.free_constant.iter_mut().enumerate() {
            *constant = q * basis.free_q[f] + z0 * self.cover.free[f];
        }
    }

    /// Right-hand side of the kernel.
    fn right_side(&mut self, z0: f64, q: f64) -> Vec<f64> {
        self.set_constants(z0, q);
        let work = &mut *self.over.work;
        let (several, v) = (&mut work.kernel.several, &mut work.values.v);
        several.right_side(&work.basis, self.lcp, v);
        work.basis.clear_constants();
        work.kernel.several.y.clone()
    }

    /// A correction of y, and how much was left over.
    fn step(&mut self, b: &[f64], y: &[f64]) -> (Vec<f64>, f64) {
        let unknowns = &self.over.work.basis.unknowns;
        let left = self.over.system.left_over(self.lcp, unknowns, b, y);
        self.over.system.step(self.lcp, unknowns);
        (self.over.system.left.clone(), left)
    }

    /// The table of a solution, written over another.
    fn table(&mut self, solved: &Solved, q: f64, mut table: Table) -> Table {
        self.set_constants(solved.z0, q);
        let work = &mut *self.over.work;
        let several = &mut work.kernel.several;
        several.right_side(&work.basis, self.lcp, &mut table.v);
        let everywhere = Constants::Everywhere;
        several.spread(&work.basis, self.lcp, everywhere, &solved.y, &mut table);
        work.basis.clear_constants();
        table
    }

    /// The variable that entered, of a solution or of rates. At the start it is 1 − z₀.
    fn entering(&mut self, entered: Option<Event>, solved: &Solved, rates: bool) -> f64 {
        let q = f64::from(u8::from(!rates));
        let Some(event) = entered else {
            return q - solved.z0;
        };
        let b = std::mem::take(&mut self.b);
        self.b = self.table(solved, q, b);
        match event {
            Event::Close(i) | Event::Open(i) => self.b.pairs[1 + i],
            Event::Turn(g, _, Entering::Pair(k)) => self.b.pairs[self.over.work.basis.at[g] + k],
            Event::Turn(g, _, Entering::Room(normal)) => {
                let group = &self.lcp.groups[g];
                q * group.room + self.room(g, group, normal).rate
            }
        }
    }

    /// The impulses a step away.
    fn read(&self, step: f64, guess: &mut Guess) {
        let ahead = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| a + step * b).collect()
        };
        let pairs = ahead(&self.a.pairs, &self.b.pairs);
        let free = ahead(&self.a.free, &self.b.free);
        self.over.read(&pairs, &free, guess);
    }

    fn set_state(&mut self, g: usize, state: State) {
        self.over.set_state(g, state);
        self.states[g] = state;
    }

    /// Goes over to the basis beyond an event.
    fn exchange(&mut self, event: Event, step: f64) {
        let lcp = self.lcp;
        match event {
            Event::Turn(g, state, _) => self.set_state(g, state),
            Event::Open(i) => {
                self.over.put(1 + i, false);
                for g in lcp.normals[i].groups() {
                    self.set_state(g, State::Idle);
                }
            }
            Event::Close(i) => {
                self.over.put(1 + i, true);
                for g in lcp.normals[i].groups() {
                    // It slips as it did before; friction opposes that most along one direction.
                    let slip = |j: usize| {
                        let k = self.over.work.basis.at[g] + j;
                        self.a.pairs[k] + step * self.b.pairs[k]
                    };
                    let directions = 0..lcp.groups[g].count;
                    let least = directions.min_by(|&i, &j| slip(i).total_cmp(&slip(j)));
                    let least = least.expect("a friction group has a direction");
                    self.set_state(g, State::Corner(least));
                }
            }
        }
    }
}

fn add(x: &mut [f64], y: &[f64], scale: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += scale * y;
    }
}

/// A variable along the path: where it is, and its rate.
#[derive(Clone, Copy, Debug)]
struct Line {
    at: f64,
    rate: f64,
}

/// What happens where a variable vanishes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    /// ν = 0: the contact closes; θ = 0: it opens.
    Close(usize),
    Open(usize),
    /// The state a group goes over to, and how the variable that enters is read: see [`Entering`].
    Turn(usize, State, Entering),
}

/// The variable of a group that enters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entering {
    /// The basic variable of this index of the group: σ or φ of a direction, or the slip s.
    Pair(usize),
    /// What is left to the side with this normal.
    Room([f64; 2]),
}

impl GuessPath<'_, '_> {
    /// The first variable to vanish: how far away that is, and what happens there.
    fn first_event(&self) -> (f64, Option<Event>) {
        let largest = self.b.pairs.iter().fold(0.0_f64, |m, b| m.max(b.abs()));
        let mut best = (f64::INFINITY, 0.0, None);
        self.visit(|Line { at, rate }, event| {
            if rate < -STILL * largest {
                let step = at.max(0.0) / -rate;
                if step < best.0 || step == best.0 && rate < best.1 {
                    best = (step, rate, Some(event));
                }
            }
        });
        (best.0, best.2)
    }

    /// Shows every variable that must not become negative, as a and b, with what happens where it vanishes.
    fn visit(&self, mut see: impl FnMut(Line, Event)) {
        for i in 0..self.lcp.normals.len() {
            let closed = self.over.work.basis.basic[1 + i];
            let event = if closed {
                Event::Open(i)
            } else {
                Event::Close(i)
            };
            see(self.line(1 + i), event);
        }
        for (g, group) in self.lcp.groups.iter().enumerate() {
            let at = self.over.work.basis.at[g];
            let pair = |k: usize| self.line(at + k);
            let turn = |state, entering| Event::Turn(g, state, entering);
            match self.states[g] {
                State::Idle if group.normal == NONE => {
                    see(pair(0), turn(State::Stick, Entering::Pair(0)));
                }
                State::Idle => {}
                State::Stick => self.visit_stick(g, group, &mut see),
                State::Side(i, j) => {
                    let normal = side(self.lcp, group, i, j);
                    let slip = pair(group.count);
                    see(slip, turn(State::Stick, Entering::Room(normal)));
                    see(pair(i), turn(State::Corner(j), Entering::Pair(i)));
                    see(pair(j), turn(State::Corner(i), Entering::Pair(j)));
                }
                State::Corner(i) if group.count < 3 => {
                    let room = Entering::Room(end(self.lcp, group, i));
                    see(pair(group.count), turn(State::Stick, room));
                }
                State::Corner(i) => {
                    for j in [(i + 1) % group.count, (i + group.count - 1) % group.count] {
                        let state = State::Side(i, j);
                        see(pair(j), turn(state, Entering::Pair(j)));
                    }
                }
            }
        }
    }

    /// The sides of the polygon around friction that sticks.
    fn visit_stick(&self, g: usize, group: &Group, see: &mut impl FnMut(Line, Event)) {
        let slips = Entering::Pair(group.count);
        if group.count == 1 {
            let at = self.over.work.basis.at[g];
            let drop = Event::Turn(g, State::Idle, Entering::Pair(0));
            see(self.line(at), drop);
        }
        for i in 0..group.count {
            let (normal, state) = if group.count < 3 {
                (end(self.lcp, group, i), State::Corner(i))
            } else {
                let j = (i + 1) % group.count;
                (side(self.lcp, group, i, j), State::Side(i, j))
            };
            let mut room = self.room(g, group, normal);
            room.at += group.room;
            see(room, Event::Turn(g, state, slips));
        }
    }

    /// What is left to a side of the polygon, without its constant part.
    fn room(&self, g: usize, group: &Group, normal: [f64; 2]) -> Line {
        let at = self.over.work.basis.at[g];
        let mut room = Line { at: 0.0, rate: 0.0 };
        if group.normal != NONE {
            let load = self.line(1 + group.normal);
            room.at = group.mu * load.at;
            room.rate = group.mu * load.rate;
        }
        for k in 0..group.count {
            if self.over.work.basis.basic[at + k] {
                let [x, y] = self.lcp.directions[group.start + k];
                let share = normal[0] * x + normal[1] * y;
                let phi = self.line(at + k);
                room.at -= share * phi.at;
                room.rate -= share * phi.rate;
            }
        }
        room
    }

    /// The basic variable of a pair.
    fn line(&self, slot: usize) -> Line {
        Line {
            at: self.a.pairs[slot],
            rate: self.b.pairs[slot],
        }
    }
}

/// n with nᵀd = 1 for two directions: friction t is within their side of the polygon if nᵀt ≤ μθ.
fn side(lcp: &ContactLcp, group: &Group, i: usize, j: usize) -> [f64; 2] {
    let (a, b) = (
        lcp.directions[group.start + i],
        lcp.directions[group.start + j],
    );
    let det = a[0] * b[1] - a[1] * b[0];
    [(b[1] - a[1]) / det, (a[0] - b[0]) / det]
}

/// The same for the ends of friction along one line, and its only direction.
fn end(lcp: &ContactLcp, group: &Group, i: usize) -> [f64; 2] {
    let [a, b] = lcp.directions[group.start + i];
    let square = a * a + b * b;
    [a / square, b / square]
}

/// The slip nearest to the one given that goes with a state.
fn lawful(lcp: &ContactLcp, group: &Group, state: State, slip: [f64; 2], margin: f64) -> [f64; 2] {
    let d = |k: usize| lcp.directions[group.start + k];
    match state {
        State::Stick if group.count < 3 => along(d(0), slip, |_| 0.0),
        State::Stick => [0.0; 2],
        State::Idle => along(d(0), slip, |x| x.max(margin)),
        State::Corner(i) if group.count < 3 => along(d(i), slip, |x| x.min(-margin)),
        State::Side(i, j) => {
            let [x, y] = side(lcp, group, i, j);
            let opposed = -(slip[0] * x + slip[1] * y) / (x * x + y * y);
            let s = opposed.max(margin);
            [-s * x, -s * y]
        }
        State::Corner(i) => {
            let before = (i + group.count - 1) % group.count;
            let (m, n) = (
                side(lcp, group, before, i),
                side(lcp, group, i, (i + 1) % group.count),
            );
            // −slip as a sum of the normals of both sides, none of them negative.
            let det = m[0] * n[1] - m[1] * n[0];
            let a = ((slip[1] * n[0] - slip[0] * n[1]) / det).max(margin);
            let b = ((m[1] * slip[0] - m[0] * slip[1]) / det).max(margin);
            [-a * m[0] - b * n[0], -a * m[1] - b * n[1]]
        }
    }
}

/// A slip whose part along d is changed.
fn along(d: [f64; 2], slip: [f64; 2], change: impl Fn(f64) -> f64) -> [f64; 2] {
    let square = d[0] * d[0] + d[1] * d[1];
    let x = d[0] * slip[0] + d[1] * slip[1];
    let add = (change(x) - x) / square;
    [slip[0] + add * d[0], slip[1] + add * d[1]]
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
