//! Newton's steps in twice the digits: for small islands in which sixteen digits are not enough.
//!
//! Two joints a micrometre apart, forty contacts that carry one snake, or a needle between heavy bodies make a system
//! whose condition squares beyond 1e16. Impulses, velocities, w, r_d and K are then numbers of two doubles each; the
//! laws are evaluated in doubles, for w has all its digits once its terms have cancelled.
//!
//! ```text
//! r_d = M (v − v¹) − Gᵀλ ,   w = G v + Σλ − q ,   K = M + GᵀAG ,   hard rows with ε = 1e-20·D      as (1) to (3)
//! ```
//!
//! M of a free body is the inverse of the M⁻¹ that answers are judged by. Cost: cubes of the velocities, each operation
//! some twenty of a double, and room that is asked for anew; not for more than 120 velocities.

use super::continuation::{Course, LEAST};
use super::kernel::Relation;
use super::stage::{End, Iterate, Stage};
use super::system::System;
use crate::linalg::{Twofold, TwofoldLu, TwofoldMatrix};
use crate::problem::Primal;
use crate::problem::mass::MassBlock;

/// Most velocities.
pub(super) const MOST: usize = 120;
/// ε of hard rows over their mobility.
const HARD: f64 = 1e-20;
/// Times that the momentum of a step is put into balance, and the share of the merit that may be left of it.
const REFINED: usize = 2;
const BALANCED: f64 = 0.1;
/// Halvings of a step.
const HALVINGS: usize = 6;
/// Smoothing whose error, τ², is no more than what is enough.
const SHARP: f64 = 1e-5;
/// What is left of δ from problem to problem and the smoothing to start with, one after the other where the way is lost;
/// the last δ, the merit that is enough on the way, and the one above which it is lost.
const WAYS: [(f64, f64); 4] = [(0.1, 1e-4), (0.1, 1e-8), (0.6, 1e-4), (0.6, 1e-8)];
const THINNEST: f64 = 1e-15;
const ENOUGH: f64 = 1e-10;
const LOST: f64 = 1e-7;
/// The merit of laws that hold to the last digit that impulses are written down with.
const EXACT: f64 = 1e-14;
/// How the best impulses are made better; `tau` is the most smoothing to start with.
const POLISHING: Course = Course {
    tau: 0.1,
    tau_most: 10.0,
    most: 40,
    patience: 8,
    accept: 1.0,
    fastest: 0.01,
    growth: 3.0,
};

/// The system in twice the digits.
pub(super) struct Wide {
    n: usize,
    /// M, row-major.
    mass: Vec<Twofold>,
    /// Where M grows as bodies become thicker, its entry there, and how much: tr I for every axis of a free body, and
    /// Σ tr(I) J_ωᵀJ_ω over the links of a tree.
    moments: Vec<(usize, Twofold, Twofold)>,
    /// Whether bodies are thicker than they are.
    is_thicker: bool,
    /// The factors of K, and of C + BΣ for a moment.
    factors: TwofoldLu,
    small: TwofoldLu,
    /// (C + BΣ)⁻¹ and A of every block.
    left: Vec<Twofold>,
    a: Vec<Twofold>,
}

/// Impulses and velocities.
#[derive(Clone, Debug)]
struct Point {
    lambda: Vec<Twofold>,
    v: Vec<Twofold>,
}

impl Point {
    fn of(iterate: &Iterate) -> Point {
        Point {
            lambda: widened(&iterate.lambda),
            v: widened(&iterate.v),
        }
    }

    /// Its impulses in doubles.
    fn impulses(&self) -> Vec<f64> {
        self.lambda.iter().map(|x| x.rounded()).collect()
    }
}

fn widened(x: &[f64]) -> Vec<Twofold> {
    x.iter().map(|x| Twofold::from(*x)).collect()
}

fn narrow(x: &[Twofold], out: &mut [f64]) {
    out.iter_mut()
        .zip(x)
        .for_each(|(out, x)| *out = x.rounded());
}

/// Σ a_i b_i.
fn dot(a: &[f64], b: &[Twofold]) -> Twofold {
    let terms = a.iter().zip(b).filter(|(a, _)| **a != 0.0);
    terms.fold(Twofold::default(), |sum, (a, b)| {
        sum + Twofold::from(*a) * *b
    })
}

impl Wide {
    /// The system of an island; nothing where it is large, or given by its matrix.
    pub(super) fn new(system: &System<'_>) -> Option<Wide> {
        let primal = system.primal()?;
        let n = system.problem.n_velocities();
        if MOST < n {
            return None;
        }
        let mut mass = vec![Twofold::default(); n * n];
        let mut moments = Vec::new();
        for (b, block) in primal.mass().iter().enumerate() {
            let columns = primal.columns(b);
            let own = masses(system, (b, block))?;
            for (i, row) in columns.clone().zip(own.chunks_exact(columns.len())) {
                mass[i * n + columns.start..i * n + columns.end].copy_from_slice(row);
            }
            if let MassBlock::Rigid(_) = block {
                let turning = columns.skip(3).map(|i| i * (n + 1));
                let trace = turning
                    .clone()
                    .fold(Twofold::default(), |sum, i| sum + mass[i]);
                moments.extend(turning.map(|i| (i, mass[i], trace)));
            } else if let MassBlock::Tree(tree) = block {
                let Some(MassBlock::Tree(thicker)) = tree.thickened(1.0) else {
                    continue;
                };
                let places = columns
                    .clone()
                    .flat_map(|i| columns.clone().map(move |j| i * n + j));
                let each = places.zip(thicker.matrix());
                moments.extend(each.map(|(at, m)| (at, mass[at], Twofold::from(m) - mass[at])));
            }
        }
        Some(Wide {
            n,
            mass,
            moments,
            is_thicker: false,
            factors: TwofoldLu::default(),
            small: TwofoldLu::default(),
            left: Vec::new(),
            a: Vec::new(),
        })
    }

    /// I ← I + δ tr(I) 1 of every free body and link.
    fn thicken(&mut self, delta: f64) {
        self.is_thicker = delta != 0.0;
        for (i, moment, trace) in &self.moments {
            self.mass[*i] = *moment + Twofold::from(delta) * *trace;
        }
    }

    /// M v.
    fn momentum(&self, v: &[Twofold]) -> Vec<Twofold> {
        let rows = self.mass.chunks_exact(self.n.max(1));
        let each = rows.map(|row| {
            let terms = row.iter().zip(v).filter(|(m, _)| m.rounded() != 0.0);
            terms.fold(Twofold::default(), |sum, (m, v)| sum + *m * *v)
        });
        each.collect()
    }

    /// r_d = M (v − v¹) − Gᵀλ.
    fn imbalance(&self, system: &System<'_>, primal: &Primal, at: &Point) -> Vec<Twofold> {
        let free = primal.free_velocity().iter();
        let off: Vec<Twofold> =
            at.v.iter()
                .zip(free)
                .map(|(v, f)| *v - Twofold::from(*f))
                .collect();
        let mut r = self.momentum(&off);
        let negative: Vec<Twofold> = at.lambda.iter().map(|x| -*x).collect();
        add_impulse(system, primal, &negative, &mut r);
        r
    }

    /// w = G v + Σλ − q.
    fn row_velocity(&self, system: &System<'_>, primal: &Primal, at: &Point) -> Vec<Twofold> {
        let mut w = row_change(system, primal, &at.v);
        for (i, w) in w.iter_mut().enumerate() {
            let soft = Twofold::from(primal.sigma()[i]) * at.lambda[i];
            *w = *w + soft - Twofold::from(primal.q()[i]);
        }
        w
    }

    /// Factors K of a relation; false where it is singular.
    fn factor(&mut self, system: &System<'_>, primal: &Primal, relation: &Relation) -> bool {
        self.left.clear();
        self.a.clear();
        for (k, block) in system.blocks().iter().enumerate() {
            let (m, square) = (block.n_rows, system.square(k));
            let (c, b) = (&relation.c[square.clone()], &relation.b[square]);
            let sigma = &primal.sigma()[block.rows()];
            let regular = self.small.factor(m, |out| {
                for (e, out) in out.iter_mut().enumerate() {
                    *out = Twofold::from(c[e]) + Twofold::from(b[e]) * Twofold::from(sigma[e % m]);
                }
            });
            if !regular {
                return false;
            }
            // (C + BΣ)⁻¹ and A = (C + BΣ)⁻¹B, column by column
            let unit = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
            columns(&mut self.small, m, unit, &mut self.left);
            columns(&mut self.small, m, |i, j| b[i * m + j], &mut self.a);
        }
        let Wide { n, mass, a, .. } = self;
        self.factors.factor(*n, |matrix| {
            matrix.copy_from_slice(mass);
            for k in 0..system.blocks().len() {
                add_block((system, primal), (k, &a[system.square(k)]), (matrix, *n));
            }
        })
    }

    /// K dv = −r_d + Gᵀa ,  dλ = a − A G dv. Where A is 10³² times M, the digits of dv leave momentum out of balance: what
    /// is left of it is taken out of both while it is more than `enough` of a speed, and the relations hold by construction.
    fn step(
        &mut self,
        system: &System<'_>,
        primal: &Primal,
        (b, r, enough): (&[f64], &[Twofold], f64),
    ) -> Point {
        let b = widened(b);
        let mut lambda = vec![Twofold::default(); b.len()];
        for (k, block) in system.blocks().iter().enumerate() {
            apply(
                &self.left[system.square(k)],
                &b[block.rows()],
                &mut lambda[block.rows()],
            );
        }
        let mut change = Point {
            lambda,
            v: vec![Twofold::default(); self.n],
        };
        let right = self.out_of_balance(system, primal, (&change, r));
        self.add_answer(system, primal, (&mut change, right));
        for _ in 0..REFINED {
            let right = self.out_of_balance(system, primal, (&change, r));
            let mut speeds: Vec<f64> = right.iter().map(|p| p.rounded()).collect();
            system.solve_mass(&mut speeds);
            if crate::math::max_abs(&speeds) <= enough {
                break;
            }
            self.add_answer(system, primal, (&mut change, right));
        }
        change
    }

    /// −r_d − M dv + Gᵀdλ.
    fn out_of_balance(
        &self,
        system: &System<'_>,
        primal: &Primal,
        (change, r): (&Point, &[Twofold]),
    ) -> Vec<Twofold> {
        let mut out = self.momentum(&change.v);
        out.iter_mut().zip(r).for_each(|(p, r)| *p = -*p - *r);
        add_impulse(system, primal, &change.lambda, &mut out);
        out
    }

    /// Adds x of K x = p to dv and −A G x to dλ.
    fn add_answer(
        &mut self,
        system: &System<'_>,
        primal: &Primal,
        (change, mut p): (&mut Point, Vec<Twofold>),
    ) {
        self.factors.solve(&mut p);
        let moved = row_change(system, primal, &p);
        let mut by = vec![Twofold::default(); moved.len()];
        for (k, block) in system.blocks().iter().enumerate() {
            let (rows, a) = (block.rows(), &self.a[system.square(k)]);
            apply(a, &moved[rows.clone()], &mut by[rows]);
        }
        let Point { lambda, v } = change;
        lambda.iter_mut().zip(by).for_each(|(x, by)| *x = *x - by);
        v.iter_mut().zip(p).for_each(|(v, p)| *v = *v + p);
    }
}

impl Stage<'_> {
    /// From the best impulses so far, with as little smoothing as they need; ends at the floor of rounding.
    pub(super) fn polish_wide(&mut self) -> Result<(), End> {
        let best = self.best.1.clone();
        let rho = self.load_aware(&self.loads(&best), 1e-3);
        let tau = 0.05 * (self.best.0 / self.system.scale).sqrt();
        let course = Course {
            tau: tau.clamp(1e-12, POLISHING.tau),
            ..POLISHING
        };
        match self.in_twice_the_digits(&best, &rho, course) {
            Err(End::Run(status)) => Err(End::Run(status)),
            _ => self.stop_where_rounding_hides(),
        }
    }

    /// The continuation from given impulses in twice the digits; of a large island nothing. An answer ends the run even
    /// where its doubles leave more than smaller impulses do that are none: joints a micrometre apart hold by 10⁷ times the
    /// usual impulses, and impulses without those miss by 10⁻⁷ m/s only.
    pub(super) fn in_twice_the_digits(
        &mut self,
        from: &[f64],
        rho: &[f64],
        course: Course,
    ) -> Result<(), End> {
        let (Some(primal), Some(mut wide)) = (self.system.primal(), Wide::new(&self.system)) else {
            return Err(End::Stuck);
        };
        let mut at = Point::of(&self.iterate(from));
        let merit = self.wide_continuation((&mut wide, primal), &mut at, (rho, course))?;
        let lambda = at.impulses();
        // w in twice the digits: whether this is an answer but for the rounding of its impulses.
        let w = wide.row_velocity(&self.system, primal, &at);
        narrow(&w, &mut self.trial_w);
        let law = self.system.natural(Some(&lambda), &self.trial_w);
        if merit <= ENOUGH && law <= self.tolerance() {
            return self.take_rounded(lambda, true);
        }
        self.judge(&lambda)?;
        Err(End::Stuck)
    }

    /// From an answer of thicker bodies, δ falling to nothing: velocities stay what they are where δ falls, and no more than
    /// δ tr(I) of momentum is out of balance. λ follows in twice the digits, for v is not to be had from its doubles.
    pub(super) fn thin_again(&mut self, from: &Iterate, mut delta: f64) -> Result<(), End> {
        let (Some(primal), Some(mut wide)) = (self.system.primal(), Wide::new(&self.system)) else {
            return Err(End::Stuck);
        };
        let (mut at, mut merit) = (Point::of(from), f64::INFINITY);
        while 0.0 < delta {
            let rho = self.load_aware(&self.loads(&at.impulses()), 1e-3);
            let mut found = None;
            for (falls, tau) in WAYS {
                let next = if THINNEST < delta { falls * delta } else { 0.0 };
                wide.thicken(next);
                let (mut point, course) = (at.clone(), Course { tau, ..POLISHING });
                merit = self.wide_continuation((&mut wide, primal), &mut point, (&rho, course))?;
                if merit <= LOST {
                    found = Some((next, point));
                    break;
                }
            }
            let Some(next) = found else {
                return Err(End::Stuck);
            };
            (delta, at) = next;
        }
        self.take_rounded(at.impulses(), merit <= EXACT)
    }

    /// Newton on the smoothed laws in twice the digits while τ falls; gives the merit of the point it ends at, the best one.
    fn wide_continuation(
        &mut self,
        system: (&mut Wide, &Primal),
        at: &mut Point,
        path: (&[f64], Course),
    ) -> Result<f64, End> {
        let before = (self.softness, self.system.hold);
        (self.softness, self.system.hold) = (HARD, HARD * self.system.stiffest);
        let end = self.wide_steps(system, at, path);
        (self.softness, self.system.hold) = before;
        end
    }

    fn wide_steps(
        &mut self,
        (wide, primal): (&mut Wide, &Primal),
        at: &mut Point,
        (rho, course): (&[f64], Course),
    ) -> Result<f64, End> {
        let (mut tau, mut short) = (course.tau, 0);
        let mut best = (f64::INFINITY, at.clone());
        let mut near = self.iterate(&at.impulses());
        for _ in 0..course.most {
            narrow(&at.lambda, &mut near.lambda);
            narrow(&at.v, &mut near.v);
            let residual = match wide.is_thicker {
                false => self.judge(&near.lambda)?,
                true => self.best.0,
            };
            let r = wide.imbalance(&self.system, primal, at);
            narrow(&r, &mut self.imbalance);
            narrow(&wide.row_velocity(&self.system, primal, at), &mut self.w);
            let before = self.linearise(&near, rho, tau);
            if !wide.factor(&self.system, primal, &self.relation) {
                break;
            }
            self.counted(residual)?;
            let enough = BALANCED * before * self.system.scale;
            let change = wide.step(&self.system, primal, (&self.b, &r, enough));
            let (mut alpha, mut merit, mut next) = (2.0, f64::INFINITY, at.clone());
            for _ in 0..HALVINGS {
                alpha *= 0.5;
                next = moved(at, alpha, &change);
                merit = self.wide_merit(wide, primal, &next, (rho, tau));
                if merit <= (1.0 - 1e-3 * alpha) * before {
                    break;
                }
            }
            if !merit.is_finite() {
                break;
            }
            *at = next;
            // Near the end rounding of the laws may lead away again.
            if merit < best.0 && tau <= SHARP {
                best = (merit, at.clone());
            }
            if wide.is_thicker && best.0 <= ENOUGH {
                break;
            }
            if merit <= course.accept * tau {
                if tau <= LEAST {
                    break;
                }
                tau *= if 0.9 < alpha {
                    (merit / tau).clamp(course.fastest, 0.1)
                } else {
                    0.5
                };
            } else if alpha < 0.05 {
                tau = (course.growth * tau).min(course.tau_most);
                short += 1;
                if course.patience <= short {
                    break;
                }
            }
            tau = tau.max(LEAST);
        }
        if best.0.is_finite() {
            at.clone_from(&best.1);
        }
        Ok(best.0)
    }
}

impl Stage<'_> {
    /// The merit of a point.
    fn wide_merit(
        &mut self,
        wide: &Wide,
        primal: &Primal,
        at: &Point,
        (rho, tau): (&[f64], f64),
    ) -> f64 {
        narrow(&at.lambda, &mut self.trial.lambda);
        narrow(
            &wide.row_velocity(&self.system, primal, at),
            &mut self.trial_w,
        );
        narrow(
            &wide.imbalance(&self.system, primal, at),
            &mut self.trial_imbalance,
        );
        self.merit_of_trial(rho, tau)
    }
}

/// x + α d.
fn moved(x: &Point, alpha: f64, d: &Point) -> Point {
    let alpha = Twofold::from(alpha);
    let go = |x: &[Twofold], d: &[Twofold]| x.iter().zip(d).map(|(x, d)| *x + alpha * *d).collect();
    Point {
        lambda: go(&x.lambda, &d.lambda),
        v: go(&x.v, &d.v),
    }
}

/// M of one mass block, row-major; of a free body the inverse of the M⁻¹ that answers are judged by.
fn masses(system: &System<'_>, (b, block): (usize, &MassBlock)) -> Option<Vec<Twofold>> {
    let MassBlock::Rigid(body) = block else {
        let matrix = system.matrix(b, block);
        return (!matrix.is_empty()).then(|| widened(matrix));
    };
    let inverse = TwofoldMatrix::of_rows(&body.inverse_inertia().transpose().to_cols_array());
    let inertia = inverse.inverse()?;
    let mut out = vec![Twofold::default(); 36];
    for i in 0..3 {
        out[7 * i] = Twofold::from(1.0) / Twofold::from(body.inverse_mass());
        for j in 0..3 {
            out[6 * (3 + i) + 3 + j] = inertia.0[i][j];
        }
    }
    Some(out)
}

/// Solves for the m columns of a matrix and adds the m × m answer to `out`, row-major.
fn columns(
    factors: &mut TwofoldLu,
    m: usize,
    entry: impl Fn(usize, usize) -> f64,
    out: &mut Vec<Twofold>,
) {
    let start = out.len();
    out.resize(start + m * m, Twofold::default());
    for j in 0..m {
        let mut x: Vec<Twofold> = (0..m).map(|i| Twofold::from(entry(i, j))).collect();
        factors.solve(&mut x);
        (0..m).for_each(|i| out[start + i * m + j] = x[i]);
    }
}

/// out ← X y.
fn apply(x: &[Twofold], y: &[Twofold], out: &mut [Twofold]) {
    for (row, out) in x.chunks_exact(y.len()).zip(out) {
        let terms = row.iter().zip(y);
        *out = terms.fold(Twofold::default(), |sum, (x, y)| sum + *x * *y);
    }
}

/// K ← K + G_kᵀA_kG_k.
fn add_block(
    (system, primal): (&System<'_>, &Primal),
    (k, a): (usize, &[Twofold]),
    (matrix, n): (&mut [Twofold], usize),
) {
    let m = system.blocks()[k].n_rows;
    for second in primal.jacobian().entry_range(k) {
        let columns = primal.columns(primal.jacobian().entry_mass(second));
        let (width, g) = (columns.len(), system.entry_rows(second));
        // A G of this mass
        let mut product = vec![Twofold::default(); m * width];
        for (i, l) in (0..m).flat_map(|i| (0..m).map(move |l| (i, l))) {
            for j in 0..width {
                let to = &mut product[i * width + j];
                *to = *to + a[i * m + l] * Twofold::from(g[l * width + j]);
            }
        }
        for first in primal.jacobian().entry_range(k) {
            let rows = primal.columns(primal.jacobian().entry_mass(first));
            let (height, g) = (rows.len(), system.entry_rows(first));
            for (i, l) in (0..height).flat_map(|i| (0..m).map(move |l| (i, l))) {
                let factor = Twofold::from(g[l * height + i]);
                if factor.rounded() == 0.0 {
                    continue;
                }
                for j in 0..width {
                    let to = &mut matrix[(rows.start + i) * n + columns.start + j];
                    *to = *to + factor * product[l * width + j];
                }
            }
        }
    }
}

/// f ← f + Gᵀx.
fn add_impulse(system: &System<'_>, primal: &Primal, x: &[Twofold], f: &mut [Twofold]) {
    for (k, block) in system.blocks().iter().enumerate() {
        for e in primal.jacobian().entry_range(k) {
            let columns = primal.columns(primal.jacobian().entry_mass(e));
            let rows = system.entry_rows(e).chunks_exact(columns.len());
            for (row, x) in rows.zip(&x[block.rows()]) {
                for (f, g) in f[columns.clone()].iter_mut().zip(row) {
                    *f = *f + Twofold::from(*g) * *x;
                }
            }
        }
    }
}

/// G v.
fn row_change(system: &System<'_>, primal: &Primal, v: &[Twofold]) -> Vec<Twofold> {
    let mut w = vec![Twofold::default(); system.n_rows()];
    for (k, block) in system.blocks().iter().enumerate() {
        for e in primal.jacobian().entry_range(k) {
            let columns = primal.columns(primal.jacobian().entry_mass(e));
            let rows = system.entry_rows(e).chunks_exact(columns.len());
            for (row, w) in rows.zip(&mut w[block.rows()]) {
                *w = *w + dot(row, &v[columns.clone()]);
            }
        }
    }
    w
}
