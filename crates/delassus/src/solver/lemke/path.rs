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

mod events;

use self::events::{Entering, Event, side};
use super::contact::{ContactLcp, Group, NONE};
use super::guess::{Guess, State};
use super::partition::Constants;
use super::structural::Work;

/// Where z₀ rises this far the path leads away.
const HIGHEST: f64 = 10.0;
/// Most corrections of a solution, and by how much one must shrink what is left over for another to be worth it.
const CORRECTIONS: usize = 6;
const WORTH: f64 = 0.5;
/// A point is lost if this much of max|q| is left over.
const LOST: f64 = 1e-7;
/// What has to be positive at the start is at least this much of max|q|.
const MARGIN: f64 = 1e-5;

/// Follows the path from a guess, which is left at its end. Returns the number of pivots and whether z₀ has come to
/// zero. `scale` is max|q|, `most` the pivots allowed.
pub(super) fn follow(
    lcp: &ContactLcp,
    work: &mut Work,
    guess: &mut Guess,
    (scale, most): (f64, usize),
) -> (usize, bool) {
    let mut path = Path::new(lcp, work, guess, MARGIN * scale);
    let mut entered = None;
    for pivots in 0..most {
        if path.work.charge() || !path.solve(guess, entered, scale) {
            return (pivots, false);
        }
        let (step, event) = path.first_event();
        if path.rate < 0.0 && path.z0 <= -path.rate * step {
            // z₀ leaves.
            path.read(path.z0 / -path.rate, guess);
            return (pivots, true);
        }
        let Some(event) = event.filter(|_| path.z0 + path.rate * step <= HIGHEST) else {
            return (pivots, false);
        };
        path.read(step, guess);
        path.z0 += path.rate * step;
        path.exchange(event, step);
        entered = Some(event);
    }
    (most, false)
}

struct Path<'a> {
    lcp: &'a ContactLcp,
    work: &'a mut Work,
    states: Vec<State>,
    /// c, and that of the free rows.
    cover: Vec<f64>,
    free_cover: Vec<f64>,
    /// The point at which the last variable entered, and z₀ there.
    a: Vec<f64>,
    free_a: Vec<f64>,
    z0: f64,
    /// Rates along the variable that entered.
    b: Vec<f64>,
    free_b: Vec<f64>,
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

impl<'a> Path<'a> {
    fn new(lcp: &'a ContactLcp, work: &'a mut Work, guess: &Guess, margin: f64) -> Path<'a> {
        let n = work.basis.slots.len();
        let mut cover = vec![0.0; n];
        for (i, normal) in lcp.normals.iter().enumerate() {
            let theta = guess.theta[i];
            let nu = guess.approach(lcp, normal, theta);
            let closed = 0.0 < theta;
            work.put(1 + i, closed);
            cover[1 + i] = if closed { -nu } else { (margin - nu).max(0.0) };
        }
        let mut states = Vec::with_capacity(lcp.groups.len());
        for (g, group) in lcp.groups.iter().enumerate() {
            let state = guess.state(lcp, g);
            work.set_state(lcp, g, state);
            states.push(state);
            let idle = state == State::Idle && group.normal != NONE;
            let slip = guess.slip(lcp, g);
            let wanted = if idle {
                slip
            } else {
                lawful(lcp, group, state, slip, margin)
            };
            let c = [wanted[0] - slip[0], wanted[1] - slip[1]];
            let at = work.basis.at[g];
            for (j, [a, b]) in lcp.directions[group.range()].iter().enumerate() {
                cover[at + j] = a * c[0] + b * c[1];
            }
        }
        let frees = 0..lcp.frees.len();
        Path {
            free_cover: frees.map(|f| -guess.gap(lcp, f)).collect(),
            a: vec![0.0; n],
            b: vec![0.0; n],
            free_a: vec![0.0; lcp.frees.len()],
            free_b: vec![0.0; lcp.frees.len()],
            z0: 1.0,
            rate: -1.0,
            lcp,
            work,
            states,
            cover,
        }
    }

    /// Point and rates in the basis at hand, in which this event has happened. The basis alone may be singular: then
    /// z₀ stands still while the variable grows. So both are corrected together with z₀.
    ///
    /// ```text
    /// A y + c z₀ = b,   e(y, z₀) = 0                A y′ + c z₀′ = 0,   e(y′, z₀′) = 1
    /// ```
    fn solve(&mut self, guess: &Guess, entered: Option<Event>, scale: f64) -> bool {
        let lcp = self.lcp;
        if self.work.basis.assemble(lcp, None) == 0.0 {
            return false;
        }
        self.work.start_near(lcp, guess);
        let (q, c) = (self.right_side(0.0, 1.0), self.right_side(1.0, 0.0));
        let Some(rates) = self.rates(&c, entered) else {
            return false;
        };
        let mut point = Solved {
            y: Vec::new(),
            z0: self.z0,
        };
        self.work.basis.begin(&mut point.y);
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
        let mut table = std::mem::take(&mut self.a);
        let mut free = std::mem::take(&mut self.free_a);
        self.table(&point, 1.0, (&mut table, &mut free));
        (self.a, self.free_a) = (table, free);
        let mut table = std::mem::take(&mut self.b);
        let mut free = std::mem::take(&mut self.free_b);
        self.table(&rates, 0.0, (&mut table, &mut free));
        (self.b, self.free_b) = (table, free);
        let mut all = self.a.iter().chain(&self.b);
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
        let basis = &mut self.work.basis;
        for (k, constant) in basis.constant.iter_mut().enumerate() {
            *constant = q * basis.q[k] + z0 * self.cover[k];
        }
        for (f, constant) in basis.free_constant.iter_mut().enumerate() {
            *constant = q * basis.free_q[f] + z0 * self.free_cover[f];
        }
    }

    fn clear_constants(&mut self) {
        self.work.basis.constant.fill(0.0);
        self.work.basis.free_constant.fill(0.0);
    }

    /// Right-hand side of the kernel.
    fn right_side(&mut self, z0: f64, q: f64) -> Vec<f64> {
        self.set_constants(z0, q);
        let mut v = std::mem::take(&mut self.work.v);
        self.work.basis.right_side(self.lcp, &mut v);
        self.work.v = v;
        self.clear_constants();
        self.work.basis.y.clone()
    }

    /// A correction of y, and how much was left over.
    fn step(&mut self, b: &[f64], y: &[f64]) -> (Vec<f64>, f64) {
        let basis = &mut self.work.basis;
        let left = basis.bodies.left_over(self.lcp, &basis.unknowns, b, y);
        basis.bodies.step(self.lcp, &basis.unknowns);
        (basis.bodies.left.clone(), left)
    }

    /// The table of a solution.
    fn table(&mut self, solved: &Solved, q: f64, (out, free): (&mut [f64], &mut [f64])) {
        self.set_constants(solved.z0, q);
        let mut v = std::mem::take(&mut self.work.v);
        self.work.basis.right_side(self.lcp, &mut v);
        let constants = Constants::Everywhere;
        self.work
            .basis
            .spread(self.lcp, constants, &solved.y, (out, &mut v, free));
        self.work.v = v;
        self.clear_constants();
    }

    /// The variable that entered, of a solution or of rates. At the start it is 1 − z₀.
    fn entering(&mut self, entered: Option<Event>, solved: &Solved, rates: bool) -> f64 {
        let q = f64::from(u8::from(!rates));
        let Some(event) = entered else {
            return q - solved.z0;
        };
        let mut table = std::mem::take(&mut self.b);
        let mut free = std::mem::take(&mut self.free_b);
        self.table(solved, q, (&mut table, &mut free));
        (self.b, self.free_b) = (table, free);
        match event {
            Event::Close(i) | Event::Open(i) => self.b[1 + i],
            Event::Turn(g, _, Entering::Pair(k)) => self.b[self.work.basis.at[g] + k],
            Event::Turn(g, _, Entering::Room(normal)) => {
                let group = &self.lcp.groups[g];
                q * group.room + self.room(g, group, normal).1
            }
        }
    }

    /// The impulses a step away.
    fn read(&self, step: f64, guess: &mut Guess) {
        let at = |(a, b): (&f64, &f64)| a + step * b;
        let table: Vec<f64> = self.a.iter().zip(&self.b).map(at).collect();
        let free: Vec<f64> = self.free_a.iter().zip(&self.free_b).map(at).collect();
        self.work.read_guess(self.lcp, (&table, &free), guess);
    }

    /// Goes over to the basis beyond an event.
    fn exchange(&mut self, event: Event, step: f64) {
        let (lcp, work) = (self.lcp, &mut *self.work);
        match event {
            Event::Turn(g, state, _) => {
                work.set_state(lcp, g, state);
                self.states[g] = state;
            }
            Event::Open(i) => {
                work.put(1 + i, false);
                for g in lcp.normals[i].groups() {
                    work.set_state(lcp, g, State::Idle);
                    self.states[g] = State::Idle;
                }
            }
            Event::Close(i) => {
                work.put(1 + i, true);
                for g in lcp.normals[i].groups() {
                    // It slips as it did before; friction opposes that most along one direction.
                    let slip = |j: usize| {
                        let k = work.basis.at[g] + j;
                        self.a[k] + step * self.b[k]
                    };
                    let directions = 0..lcp.groups[g].count;
                    let least = directions.min_by(|&i, &j| slip(i).total_cmp(&slip(j)));
                    let state = State::Corner(least.unwrap_or(0));
                    work.set_state(lcp, g, state);
                    self.states[g] = state;
                }
            }
        }
    }
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

fn add(x: &mut [f64], y: &[f64], scale: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += scale * y;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pivot;
    use super::super::structural::{Options, Run};
    use super::*;
    use crate::gallery;
    use crate::math::Random;

    const OPTIONS: Options<'static> = Options {
        pivot: Pivot::Big,
        cover: &[],
        pivots: 1000,
        deadline: None,
    };

    /// Follows the path from a guess. The pivots and the residual of its end, where it has one.
    fn follow_from(lcp: &ContactLcp, guess: &Guess) -> (usize, Option<f64>) {
        let mut work = Work::default();
        let mut run = Run::new(lcp, &OPTIONS, &mut work, false);
        assert!(run.prepare().is_none());
        let scale = run.scale;
        work.basis.many = true;
        work.basis.bodies.plan(lcp);
        let mut end = guess.clone();
        let (pivots, arrived) = follow(lcp, &mut work, &mut end, (scale, 200));
        end.settle(lcp);
        end.point(lcp, &mut work.point);
        let residual = work.point.residual(lcp) / scale;
        (pivots, arrived.then_some(residual))
    }

    #[test]
    fn the_path_from_rough_impulses_ends_at_an_answer() {
        for name in ["slide", "rod", "pile:30", "pile:200"] {
            let lcp = ContactLcp::new(&gallery::build(name).unwrap(), 8).unwrap();
            let mut guess = Guess::default();
            guess.read(&lcp, None);
            (0..20).for_each(|_| guess.sweep(&lcp));
            let (pivots, residual) = follow_from(&lcp, &guess);
            let residual = residual.unwrap_or(f64::INFINITY);
            assert!(residual < 1e-7, "{name}: {residual:e} after {pivots}");
        }
    }

    #[test]
    fn the_better_the_guess_the_fewer_the_pivots() {
        let lcp = ContactLcp::new(&gallery::build("pile:200").unwrap(), 8).unwrap();
        let mut guess = Guess::default();
        guess.read(&lcp, None);
        (0..3).for_each(|_| guess.sweep(&lcp));
        let (rough, _) = follow_from(&lcp, &guess);
        (0..2000).for_each(|_| guess.sweep(&lcp));
        let (fine, residual) = follow_from(&lcp, &guess);
        assert!(residual.is_some_and(|residual| residual < 1e-8));
        assert!(fine < rough, "{fine} pivots, {rough} from a rough guess");
    }

    /// −slip must be a sum of the normals of the sides that friction lies on, as slipping asks for.
    #[test]
    fn slip_that_goes_with_a_state_is_opposed_by_its_friction() {
        let lcp = ContactLcp::new(&gallery::build("slide").unwrap(), 8).unwrap();
        let group = &lcp.groups[0];
        let mut random = Random::new(7);
        let margin = 1e-3;
        for _ in 0..100 {
            let slip = [random.range(-1.0, 1.0), random.range(-1.0, 1.0)];
            assert_eq!(lawful(&lcp, group, State::Stick, slip, margin), [0.0; 2]);
            for i in 0..group.count {
                let j = (i + 1) % group.count;
                let along = |k: usize, v: [f64; 2]| {
                    let [a, b] = lcp.directions[group.start + k];
                    a * v[0] + b * v[1]
                };
                let on_side = lawful(&lcp, group, State::Side(i, j), slip, margin);
                let on_corner = lawful(&lcp, group, State::Corner(i), slip, margin);
                // Both directions of a side oppose it alike, and no other direction does more.
                assert!((along(i, on_side) - along(j, on_side)).abs() < 1e-12);
                for k in 0..group.count {
                    assert!(along(i, on_side) <= along(k, on_side) + 1e-12);
                    assert!(along(i, on_corner) <= along(k, on_corner) + 1e-12);
                }
                assert!(along(i, on_side) < 0.0 && along(i, on_corner) < 0.0);
            }
        }
    }
}
