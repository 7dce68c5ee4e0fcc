//! The ratio test of a path from a guess: which variable vanishes first, and what a contact does there.

use super::Path;
use super::polygon::{end, side};
use crate::solver::pivot::contact::{Group, NONE};
use crate::solver::pivot::guess::State;

/// Rates below this much of the largest do not block.
const STILL: f64 = 1e-11;

/// What happens where a variable vanishes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    /// ν = 0: the contact closes; θ = 0: it opens.
    Close(usize),
    Open(usize),
    /// The state a group goes over to, and how the variable that enters is read: see [`Entering`].
    Turn(usize, State, Entering),
}

/// The variable of a group that enters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Entering {
    /// The basic variable of this index of the group: σ or φ of a direction, or the slip s.
    Pair(usize),
    /// What is left to the side with this normal.
    Room([f64; 2]),
}

impl Path<'_> {
    /// The first variable to vanish: how far away that is, and what happens there.
    pub(super) fn first_event(&self) -> (f64, Option<Event>) {
        let largest = self.b.pairs.iter().fold(0.0_f64, |m, b| m.max(b.abs()));
        let mut best = (f64::INFINITY, 0.0, None);
        self.visit(|(a, rate), event| {
            if rate < -STILL * largest {
                let step = a.max(0.0) / -rate;
                if step < best.0 || step == best.0 && rate < best.1 {
                    best = (step, rate, Some(event));
                }
            }
        });
        (best.0, best.2)
    }

    /// Shows every variable that must not become negative, as a and b, with what happens where it vanishes.
    fn visit(&self, mut see: impl FnMut((f64, f64), Event)) {
        for i in 0..self.lcp.normals.len() {
            let closed = self.work.basis.basic[1 + i];
            let event = if closed {
                Event::Open(i)
            } else {
                Event::Close(i)
            };
            see((self.a.pairs[1 + i], self.b.pairs[1 + i]), event);
        }
        for (g, group) in self.lcp.groups.iter().enumerate() {
            let at = self.work.basis.at[g];
            let pair = |k: usize| (self.a.pairs[at + k], self.b.pairs[at + k]);
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
    fn visit_stick(&self, g: usize, group: &Group, see: &mut impl FnMut((f64, f64), Event)) {
        let slips = Entering::Pair(group.count);
        if group.count == 1 {
            let at = self.work.basis.at[g];
            let drop = Event::Turn(g, State::Idle, Entering::Pair(0));
            see((self.a.pairs[at], self.b.pairs[at]), drop);
        }
        for i in 0..group.count {
            let (normal, state) = if group.count < 3 {
                (end(self.lcp, group, i), State::Corner(i))
            } else {
                let j = (i + 1) % group.count;
                (side(self.lcp, group, i, j), State::Side(i, j))
            };
            let (mut a, b) = self.room(g, group, normal);
            a += group.room;
            see((a, b), Event::Turn(g, state, slips));
        }
    }

    /// What is left to a side of the polygon, without its constant part.
    pub(super) fn room(&self, g: usize, group: &Group, normal: [f64; 2]) -> (f64, f64) {
        let at = self.work.basis.at[g];
        let (mut a, mut b) = (0.0, 0.0);
        if group.normal != NONE {
            a = group.mu * self.a.pairs[1 + group.normal];
            b = group.mu * self.b.pairs[1 + group.normal];
        }
        for k in 0..group.count {
            if self.work.basis.basic[at + k] {
                let [x, y] = self.lcp.directions[group.start + k];
                let share = normal[0] * x + normal[1] * y;
                a -= share * self.a.pairs[at + k];
                b -= share * self.b.pairs[at + k];
            }
        }
        (a, b)
    }
}
