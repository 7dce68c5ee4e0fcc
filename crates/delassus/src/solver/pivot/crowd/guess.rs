//! Impulses that are nearly right: read off the last step, made better by sweeps, and turned into a basis.
//!
//! A sweep visits every row once and projects it on its law, friction on the polygon of its directions:
//!
//! ```text
//! θ ← max(0, θ − ν)          τ ← the point of {Σφ_j d_j : φ ≥ 0, Σφ_j ≤ μθ + r} nearest to τ − σ/ρ,   ρ ≥ |D_ττ|
//! ```
//!
//! Its fixed points are the answers. On the way there it tells which contacts carry load and which of them slip, long
//! before its numbers are worth anything.

use crate::linalg::largest_eigenvalue_2;
use crate::solver::pivot::contact::point::Point;
use crate::solver::pivot::contact::{CLOSE, ContactLcp, Group, NONE, Normal};

/// What a friction group does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// No friction: nothing presses, or a row is at its lower limit.
    #[default]
    Idle,
    /// It sticks.
    Stick,
    /// It slips, its friction on the side between two directions.
    Side(usize, usize),
    /// It slips, its friction along one direction.
    Corner(usize),
}

/// Friction of one group in its directions.
struct Projected {
    /// Directions and what each carries.
    on: [Option<(usize, f64)>; 2],
    /// Whether that is all that the bound allows.
    slips: bool,
}

/// Scaled impulses and the velocity they make.
#[derive(Clone, Debug, Default)]
pub(super) struct Guess {
    pub(super) theta: Vec<f64>,
    /// Friction of every group along (t₁, t₂).
    pub(super) friction: Vec<[f64; 2]>,
    pub(super) free: Vec<f64>,
    v: Vec<f64>,
    /// 1/ρ of every group.
    steps: Vec<f64>,
}

impl Guess {
    /// Reads impulses of the whole problem, or starts with none.
    pub(super) fn read(&mut self, lcp: &ContactLcp, lambda: Option<&[f64]>) {
        let value = |read: &dyn Fn(&[f64]) -> f64| lambda.map_or(0.0, read);
        self.theta.clear();
        let normals = 0..lcp.normals.len();
        self.theta
            .extend(normals.map(|i| value(&|lambda| lcp.given_load(i, lambda))));
        self.free.clear();
        let frees = 0..lcp.frees.len();
        self.free
            .extend(frees.map(|f| value(&|lambda| lcp.given_free(f, lambda))));
        self.friction.clear();
        let groups = 0..lcp.groups.len();
        self.friction.extend(
            groups.map(|g| lambda.map_or([0.0; 2], |lambda| lcp.given_friction(g, lambda))),
        );
        self.find_steps(lcp);
        self.settle(lcp);
    }

    /// Loads that push and friction within its bounds, with the velocity they make.
    pub(super) fn settle(&mut self, lcp: &ContactLcp) {
        self.theta
            .iter_mut()
            .for_each(|theta| *theta = theta.max(0.0));
        for (g, group) in lcp.groups.iter().enumerate() {
            self.friction[g] = spread(lcp, group, self.shares(lcp, g, self.friction[g]).on);
        }
        self.find_velocity(lcp);
    }

    /// v = Nθ + Dφ + Bλ.
    pub(super) fn find_velocity(&mut self, lcp: &ContactLcp) {
        self.v.clear();
        self.v.resize(lcp.columns.dofs, 0.0);
        for (normal, &theta) in lcp.normals.iter().zip(&self.theta) {
            lcp.columns.add(normal.unit, [theta, 0.0, 0.0], &mut self.v);
        }
        for (free, &lambda) in lcp.frees.iter().zip(&self.free) {
            lcp.columns.add(free.unit, [lambda, 0.0, 0.0], &mut self.v);
        }
        for (group, &[a, b]) in lcp.groups.iter().zip(&self.friction) {
            lcp.columns.add(group.unit, [0.0, a, b], &mut self.v);
        }
    }

    /// Where every row would go if the others stayed: θ − ν and τ − σ/ρ, not yet within bounds.
    pub(super) fn aim(&mut self, lcp: &ContactLcp) {
        for (i, normal) in lcp.normals.iter().enumerate() {
            self.theta[i] -= self.approach(lcp, normal, self.theta[i]);
        }
        for g in 0..lcp.groups.len() {
            self.friction[g] = self.pull(lcp, g);
        }
    }

    /// ν.
    pub(super) fn approach(&self, lcp: &ContactLcp, normal: &Normal, theta: f64) -> f64 {
        lcp.columns.dot(normal.unit, &self.v) + normal.sigma * theta + normal.q
    }

    /// τ − σ/ρ.
    fn pull(&self, lcp: &ContactLcp, g: usize) -> [f64; 2] {
        let ([v1, v2], step) = (self.slip(lcp, g), self.steps[g]);
        let [a, b] = self.friction[g];
        [a - step * v1, b - step * v2]
    }

    /// Velocity of a group along (t₁, t₂).
    pub(super) fn slip(&self, lcp: &ContactLcp, g: usize) -> [f64; 2] {
        let unit = lcp.groups[g].unit;
        let [_, v1, v2] = lcp.columns.dots(unit, &self.v);
        let [_, c1, c2] = lcp.constants[unit];
        [v1 + c1, v2 + c2]
    }

    /// What is left of a free row.
    pub(super) fn gap(&self, lcp: &ContactLcp, f: usize) -> f64 {
        let free = &lcp.frees[f];
        lcp.columns.dot(free.unit, &self.v) + free.sigma * self.free[f] + free.q
    }

    fn find_steps(&mut self, lcp: &ContactLcp) {
        self.v.clear();
        self.v.resize(lcp.columns.dofs, 0.0);
        self.steps.clear();
        for group in &lcp.groups {
            // The vector is zero again after each row.
            let mut dots = |share: [f64; 3]| {
                lcp.columns.add(group.unit, share, &mut self.v);
                let dots = lcp.columns.dots(group.unit, &self.v);
                lcp.columns
                    .add(group.unit, share.map(|share| -share), &mut self.v);
                dots
            };
            let [_, a, b] = dots([0.0, 1.0, 0.0]);
            let [_, c, d] = dots([0.0, 0.0, 1.0]);
            let rho = largest_eigenvalue_2(a, b, c, d);
            self.steps.push(if 0.0 < rho { 1.0 / rho } else { 0.0 });
        }
    }

    /// Visits every row once, in one order and then in the other.
    pub(super) fn sweep(&mut self, lcp: &ContactLcp) {
        for f in 0..lcp.frees.len() {
            self.visit_free(lcp, f);
        }
        for i in 0..lcp.normals.len() {
            self.visit(lcp, i);
        }
        for g in 0..lcp.groups.len() {
            if lcp.groups[g].normal == NONE {
                self.visit_group(lcp, g);
            }
        }
        for i in (0..lcp.normals.len()).rev() {
            self.visit(lcp, i);
        }
        for f in (0..lcp.frees.len()).rev() {
            self.visit_free(lcp, f);
        }
    }

    fn visit(&mut self, lcp: &ContactLcp, i: usize) {
        let normal = &lcp.normals[i];
        let theta = self.theta[i];
        // |n|² + Σ = 1.
        let next = (theta - self.approach(lcp, normal, theta)).max(0.0);
        if next != theta {
            self.theta[i] = next;
            lcp.columns
                .add(normal.unit, [next - theta, 0.0, 0.0], &mut self.v);
        }
        for g in normal.groups() {
            self.visit_group(lcp, g);
        }
    }

    fn visit_group(&mut self, lcp: &ContactLcp, g: usize) {
        let group = &lcp.groups[g];
        let [a, b] = self.friction[g];
        if (a, b) == (0.0, 0.0) && self.bound(lcp, g) == 0.0 {
            return;
        }
        let aim = self.pull(lcp, g);
        let next = spread(lcp, group, self.shares(lcp, g, aim).on);
        self.friction[g] = next;
        lcp.columns
            .add(group.unit, [0.0, next[0] - a, next[1] - b], &mut self.v);
    }

    fn visit_free(&mut self, lcp: &ContactLcp, f: usize) {
        let row = self.gap(lcp, f);
        self.free[f] -= row;
        lcp.columns
            .add(lcp.frees[f].unit, [-row, 0.0, 0.0], &mut self.v);
    }

    fn bound(&self, lcp: &ContactLcp, g: usize) -> f64 {
        let group = &lcp.groups[g];
        let load = match group.normal {
            NONE => 0.0,
            i => self.theta[i].max(0.0),
        };
        group.mu * load + group.room
    }

    /// The friction within the bound that is nearest to the one given.
    fn shares(&self, lcp: &ContactLcp, g: usize, aim: [f64; 2]) -> Projected {
        let bound = self.bound(lcp, g);
        let mut on = lcp.shares(g, aim);
        let used: f64 = on.iter().flatten().map(|(_, phi)| phi).sum();
        let slips = (1.0 - CLOSE) * bound <= used;
        if bound < used {
            if let [Some((i, _)), Some((j, _))] = on {
                let start = lcp.groups[g].start;
                let (p, q) = (lcp.directions[start + i], lcp.directions[start + j]);
                let edge = [q[0] - p[0], q[1] - p[1]];
                let along = (aim[0] - bound * p[0]) * edge[0] + (aim[1] - bound * p[1]) * edge[1];
                let length = edge[0] * edge[0] + edge[1] * edge[1];
                let second = (along / length).clamp(0.0, bound);
                on = [Some((i, bound - second)), Some((j, second))];
            } else {
                on = on.map(|share| share.map(|(j, _)| (j, bound)));
            }
        }
        Projected { on, slips }
    }

    /// What the impulses show a group to do.
    pub(super) fn state(&self, lcp: &ContactLcp, g: usize) -> State {
        let group = &lcp.groups[g];
        if group.normal != NONE && self.theta[group.normal] <= 0.0 {
            return State::Idle;
        }
        let Projected { on, slips } = self.shares(lcp, g, self.friction[g]);
        let used: f64 = on.iter().flatten().map(|(_, phi)| phi).sum();
        match on {
            [None, None] if group.count == 1 => State::Idle,
            _ if !slips || used == 0.0 => State::Stick,
            [Some((i, a)), Some((j, b))] if CLOSE * used < a.min(b) => State::Side(i, j),
            [Some((_, a)), Some((j, b))] if a < b => State::Corner(j),
            [Some((i, _)), _] => State::Corner(i),
            _ => State::Stick,
        }
    }

    /// The point of these impulses, with the slip that fits.
    pub(super) fn point(&self, lcp: &ContactLcp, point: &mut Point) {
        point.reset(lcp);
        point.theta.copy_from_slice(&self.theta);
        point.free.copy_from_slice(&self.free);
        for (g, group) in lcp.groups.iter().enumerate() {
            for (j, phi) in self
                .shares(lcp, g, self.friction[g])
                .on
                .into_iter()
                .flatten()
            {
                point.phi[group.start + j] = phi.max(0.0);
            }
            let [v1, v2] = self.slip(lcp, g);
            let slips = lcp.directions[group.range()].iter();
            let least = slips.map(|[a, b]| a * v1 + b * v2).fold(0.0, f64::min);
            point.bound[g] = -least;
        }
    }
}

/// Σφ_j d_j.
fn spread(lcp: &ContactLcp, group: &Group, shares: [Option<(usize, f64)>; 2]) -> [f64; 2] {
    let mut sum = [0.0; 2];
    for (j, phi) in shares.into_iter().flatten() {
        let [a, b] = lcp.directions[group.start + j];
        sum = [sum[0] + a * phi, sum[1] + b * phi];
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::math::Random;

    fn lcp(name: &str) -> ContactLcp {
        ContactLcp::new(&gallery::build(name).unwrap(), 8).unwrap()
    }

    /// Residual of the impulses as they are.
    fn residual(guess: &Guess, lcp: &ContactLcp) -> f64 {
        let mut point = Point::default();
        guess.point(lcp, &mut point);
        point.residual(lcp)
    }

    #[test]
    fn sweeps_come_to_rest_at_an_answer() {
        for name in ["slide", "rod", "corner", "pile:20", "machine"] {
            let lcp = lcp(name);
            let mut guess = Guess::default();
            guess.read(&lcp, None);
            let start = residual(&guess, &lcp);
            (0..4000).for_each(|_| guess.sweep(&lcp));
            let end = residual(&guess, &lcp);
            assert!(end <= 1e-8 * start.max(1.0), "{name}: {start:e}, {end:e}");
            // Nothing moves any more, and where rows aim at is where they are.
            let mut aimed = guess.clone();
            aimed.aim(&lcp);
            aimed.settle(&lcp);
            for (a, b) in guess.theta.iter().zip(&aimed.theta) {
                assert!((a - b).abs() < 1e-7, "{name}");
            }
        }
    }

    #[test]
    fn impulses_of_the_whole_problem_are_read_back_as_they_were_written() {
        let lcp = lcp("machine");
        let mut guess = Guess::default();
        guess.read(&lcp, None);
        (0..50).for_each(|_| guess.sweep(&lcp));
        let mut point = Point::default();
        guess.point(&lcp, &mut point);
        let mut lambda = vec![0.0; gallery::build("machine").unwrap().n_rows()];
        lcp.impulses(&point, &mut lambda);
        let mut again = Guess::default();
        again.read(&lcp, Some(&lambda));
        for (a, b) in guess.v.iter().zip(&again.v) {
            assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        }
    }

    /// The nearest point of the polygon, against many points of it.
    #[test]
    fn friction_is_projected_on_the_polygon_of_its_directions() {
        let lcp = lcp("slide");
        let mut guess = Guess::default();
        guess.read(&lcp, None);
        guess.theta[0] = 2.0;
        let (group, bound) = (&lcp.groups[0], guess.bound(&lcp, 0));
        assert!(0.0 < bound);
        let mut random = Random::new(3);
        for _ in 0..200 {
            let aim = [random.range(-3.0, 3.0), random.range(-3.0, 3.0)];
            let Projected { on, slips } = guess.shares(&lcp, 0, aim);
            let found = spread(&lcp, group, on);
            let used: f64 = on.iter().flatten().map(|(_, phi)| phi).sum();
            assert!(on.iter().flatten().all(|(_, phi)| 0.0 <= *phi));
            assert!(used <= bound * (1.0 + 1e-12));
            assert_eq!(slips, (1.0 - CLOSE) * bound <= used);
            let far = |t: [f64; 2]| (t[0] - aim[0]).hypot(t[1] - aim[1]);
            for i in 0..group.count {
                for share in 0..=20 {
                    let share = bound * f64::from(share) / 20.0;
                    let pair = [
                        Some((i, share)),
                        Some(((i + 1) % group.count, bound - share)),
                    ];
                    let other = far(spread(&lcp, group, pair));
                    assert!(!slips || far(found) <= other + 1e-12);
                }
            }
        }
    }

    #[test]
    fn impulses_show_what_a_contact_does() {
        let lcp = lcp("slide");
        let mut guess = Guess::default();
        guess.read(&lcp, None);
        assert_eq!(guess.state(&lcp, 0), State::Idle);
        guess.theta[0] = 2.0;
        let bound = guess.bound(&lcp, 0);
        let [[a, b], [c, d]] = [lcp.directions[0], lcp.directions[1]];
        let mut state = |i: f64, j: f64| {
            guess.friction[0] = [bound * (i * a + j * c), bound * (i * b + j * d)];
            guess.state(&lcp, 0)
        };
        assert_eq!(state(0.0, 0.0), State::Stick);
        assert_eq!(state(0.6, 0.3), State::Stick);
        assert_eq!(state(0.6, 0.4), State::Side(0, 1));
        assert_eq!(state(1.0, 0.0), State::Corner(0));
        assert_eq!(state(0.0, 1.0), State::Corner(1));
    }
}
