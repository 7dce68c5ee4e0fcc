//! Interior point on De Saxcé's path: finds which contacts are open, stick or slide, from no start at all.
//!
//! A contact is one normal and some disks, and each disk is a Lorentz cone (`interior/cone.rs`). The cones of a contact
//! share its normal impulse, and its normal velocity is the sum of their heights a_j:
//!
//! ```text
//! r_j = (λ_n, λ_j/μ_j) ∈ K ,   u_j = (a_j, μ_j w_j) ∈ K ,   Σ_j a_j = w_n + Σ_j |u_j,t| ,   u_j∘r_j = σ·gap·e
//! dr_j + W_j⁻²du_j = g_j = W_j⁻¹(ℓ_j\d_c) ,   du_j,t = μ_j dw_j − r_p,j ,   Σ_j da_j = dw_n + Σ_j κ(u_t/|u_t|)·du_j,t − r_p,n
//! ```
//!
//! With s, h and H the height, the side and the tangents of W⁻² the heights are eliminated, da_j = (g₀ − dλ_n − hᵀdu_t)/s,
//! which leaves a relation (1) of the contact's own rows:
//!
//! ```text
//! Σ_j dλ_n/s_j + dw_n + Σ_j (κu_t/|u_t| + h/s)·du_j,t = Σ_j g₀/s_j + r_p,n
//! dλ_j/μ_j − (h/s)dλ_n + (H − hhᵀ/s)du_j,t = g_t − (h/s)g₀
//! ```
//!
//! One disk is Coulomb's cone or an ellipsoid, two are a box or rolling friction, three have spinning friction too.
//!
//! Each iteration factors once and solves twice: the affine step says how far the gap may fall, the combined one takes
//! Mehrotra's correction with it. The derivative of |u_t| stays inside Newton's matrix; left out, as usual, two thirds
//! of the hard problems do not converge. The method is a poor finisher, so that at residuals of 1e-3, 1e-5, … of the
//! velocity scale the other two try to finish.
//!
//! Rows with bounds have a slack for each finite one, equalities are softened rows of the kernel.

mod cone;

use super::continuation::{Course, move_by};
use super::kernel::{Change, Kernel};
use super::stage::{End, Iterate, Stage};
use super::system::System;
use crate::law::Law;
use crate::law::disks::MOST_ROWS;
use cone::{Cone, Point};

/// Relative residuals at which the finishing methods are tried, each once.
const LEVELS: [f64; 4] = [1e-3, 1e-5, 1e-7, 1e-9];
/// Steps of less than a tenth that leave the gap where it is, after which it gives up.
const JAMS: usize = 8;
/// Share of a residual by which another one must differ to be that of another point.
const SAME: f64 = 1e-2;
/// Most iterations.
const MOST: usize = 60;

/// A point inside all laws.
#[derive(Debug, Default)]
struct Inside {
    /// Cones of all contacts, in the order of blocks.
    cones: Vec<Cone>,
    /// Slacks of all bounds, in the order of rows.
    slacks: Vec<Slack>,
}

/// λ − lo ≥ 0 or hi − λ ≥ 0: r is the slack, u its multiplier.
#[derive(Clone, Debug)]
struct Slack {
    row: usize,
    /// 1 for lower bounds, −1 for upper ones.
    sign: f64,
    u: f64,
    r: f64,
    du: f64,
    dr: f64,
}

impl Slack {
    fn new(row: usize, sign: f64, u: f64, r: f64) -> Slack {
        Slack {
            row,
            sign,
            u,
            r,
            du: 0.0,
            dr: 0.0,
        }
    }

    /// du of a step with this change of impulse, where u·r is to change by d.
    fn take_apart(&mut self, d: f64, lambda: f64) {
        self.dr = self.sign * lambda;
        self.du = (d - self.u * self.dr) / self.r;
    }

    /// The longest step that keeps both positive.
    fn longest(&self) -> f64 {
        let way = |x: f64, d: f64| if d < 0.0 { -x / d } else { f64::INFINITY };
        let (u, r) = (way(self.u, self.du), way(self.r, self.dr));
        if self.du.is_nan() || self.dr.is_nan() {
            return f64::NAN;
        }
        u.min(r)
    }
}

impl Inside {
    /// Mean of u·r.
    fn gap(&self) -> f64 {
        let cones = self.cones.iter().map(Cone::gap);
        let slacks = self.slacks.iter().map(|slack| slack.u * slack.r);
        cones.chain(slacks).sum::<f64>() / self.len() as f64
    }

    /// The same after a step.
    fn gap_after(&self, alpha: f64) -> f64 {
        let cones = self.cones.iter().map(|cone| cone.gap_after(alpha));
        let after = |s: &Slack| (s.u + alpha * s.du) * (s.r + alpha * s.dr);
        cones.chain(self.slacks.iter().map(after)).sum::<f64>() / self.len() as f64
    }

    fn len(&self) -> usize {
        self.cones.len() + self.slacks.len()
    }

    /// The longest step that stays inside.
    fn longest(&self) -> f64 {
        let cones = self.cones.iter().map(Cone::longest);
        let each = cones.chain(self.slacks.iter().map(Slack::longest));
        each.fold(
            f64::INFINITY,
            |a, b| if b < a || b.is_nan() { b } else { a },
        )
        .max(0.0)
    }

    fn advance(&mut self, alpha: f64) {
        self.cones.iter_mut().for_each(|cone| cone.advance(alpha));
        for slack in &mut self.slacks {
            slack.u += alpha * slack.du;
            slack.r += alpha * slack.dr;
        }
    }
}

/// What u∘r is to become.
#[derive(Clone, Copy, Debug)]
enum Aim {
    /// Nothing: the step that is measured, not taken.
    Affine,
    /// Its second order taken back, and this much left for all.
    Corrected { centre: f64 },
}

impl Aim {
    fn cone(self, cone: &Cone) -> Point {
        match self {
            Aim::Affine => cone.affine(),
            Aim::Corrected { centre } => cone.corrected(centre),
        }
    }

    fn slack(self, slack: &Slack) -> f64 {
        match self {
            Aim::Affine => -slack.u * slack.r,
            Aim::Corrected { centre } => centre - slack.u * slack.r - slack.du * slack.dr,
        }
    }
}

impl Stage<'_> {
    /// Whether every law has cones here: facets have none.
    pub(super) fn has_interior(&self) -> bool {
        self.system.blocks().iter().all(|block| match block.law {
            Law::FrictionFacets { .. } => block.law.is_convex(),
            _ => true,
        })
    }

    /// Interior point from the given loads; impulses near the answer are finished by the other methods.
    pub(super) fn interior(&mut self, loads: &[f64]) -> Result<(), End> {
        let (mut inside, mut at) = self.inside(loads);
        if inside.len() == 0 {
            return Err(End::Stuck);
        }
        let mean = self.system.mobility.iter().sum::<f64>() / self.system.mobility.len() as f64;
        let scale = self.system.scale;
        let (mut level, mut alpha) = (0, 1.0);
        let (mut marked, mut mark) = (f64::INFINITY, 0);
        let (mut last_gap, mut before, mut jams) = (f64::INFINITY, 0.0, 0);
        let mut finished = 0.0;
        for iteration in 0..=MOST {
            let residual = self.judge(&at.lambda)?;
            let relative = residual / scale;
            let gap = inside.gap();
            if relative < 0.7 * marked {
                (marked, mark) = (relative, iteration);
            }
            jams += usize::from(alpha < 0.1 && (gap - before).abs() < 0.1 * before);
            before = gap;
            if iteration == MOST || !gap.is_finite() || alpha < 1e-9 || JAMS < jams {
                break;
            }
            let near = LEVELS[level..]
                .first()
                .is_some_and(|limit| relative <= *limit);
            // Under heavy loads the residual stays where it is while the gap falls.
            let flat = 8 <= iteration && mark + 3 <= iteration && gap < 1e-2 * last_gap;
            // Where it is jammed, once is enough: the finishing methods would start from the same point again.
            let jammed = alpha < 1e-3 && SAME * finished < (relative - finished).abs();
            if near || jammed || flat {
                (last_gap, finished) = (gap, relative);
                while LEVELS[level..]
                    .first()
                    .is_some_and(|limit| relative <= *limit)
                {
                    level += 1;
                }
                self.finish(&at.lambda, relative)?;
            }
            self.look_for_contradiction(&at.lambda)?;
            if 10 < iteration && mark + 8 <= iteration && gap < 1e-6 * scale * scale / mean {
                break;
            }
            self.state(&at);
            inside.cones.iter_mut().for_each(Cone::scale);
            self.interior_relation(&inside);
            if !self.kernel.factor(&self.system, &self.relation) {
                break;
            }
            self.counted(residual)?;
            alpha = self.aim(&mut inside, &at, gap);
            inside.advance(alpha);
            move_by(
                &at.lambda,
                alpha,
                &self.change.lambda,
                &mut self.trial.lambda,
            );
            move_by(&at.v, alpha, &self.change.v, &mut self.trial.v);
            std::mem::swap(&mut at, &mut self.trial);
        }
        Err(End::Stuck)
    }

    /// The direction of one iteration, by an affine step and a corrected one; gives the length to go along it.
    fn aim(&mut self, inside: &mut Inside, at: &Iterate, gap: f64) -> f64 {
        self.direct(inside, at, Kernel::rough_step, Aim::Affine);
        let affine = (0.999 * inside.longest()).min(1.0);
        let ratio = (inside.gap_after(affine) / gap).max(1e-12);
        let sigma = 0.5 * ratio.powf((3.0 * affine * affine).max(1.0)).min(1.0);
        let sigma = if 0.9 < affine { sigma.max(1e-3) } else { sigma };
        let centre = sigma * gap;
        self.direct(inside, at, Kernel::step, Aim::Corrected { centre });
        ((0.9 + 0.09 * affine) * inside.longest()).min(1.0)
    }

    /// Near the answer: semismooth steps, then a short continuation.
    pub(super) fn finish(&mut self, lambda: &[f64], relative: f64) -> Result<(), End> {
        let goes_on = |end: Result<(), End>| match end {
            Err(End::Run(status)) => Err(End::Run(status)),
            _ => Ok(()),
        };
        goes_on(self.semismooth(lambda, 4))?;
        let rho = self.load_aware(&self.loads(lambda), 1e-3);
        let course = Course {
            tau: relative.clamp(1e-12, 0.1),
            tau_most: 100.0,
            most: 25,
            patience: 1,
            accept: 1.0,
            fastest: 0.01,
            growth: 3.0,
        };
        goes_on(self.continuation(self.iterate(lambda), &rho, course))
    }

    /// A point inside all cones: u = eV, r = e·max(load, a tenth of the largest), and the impulses that belong to it.
    fn inside(&self, loads: &[f64]) -> (Inside, Iterate) {
        let (scale, floor) = (
            self.system.scale,
            0.1 * loads.iter().copied().fold(0.0, f64::max),
        );
        let mut lambda = vec![0.0; self.system.n_rows()];
        let mut inside = Inside::default();
        let c = |row: usize| self.system.problem.c()[row];
        for (k, block) in self.system.blocks().iter().enumerate() {
            let load = match loads[k].max(floor) {
                load if 0.0 < load => load,
                _ => scale / self.system.mobility[k],
            };
            // Rows that open fast start open, with as little impulse as keeps u·r what it is elsewhere.
            if block.law.is_contact() {
                let apart = scale.max(c(block.start));
                let load = load * scale / apart;
                lambda[block.start] = load;
                let disks = block.law.disks(block.n_rows);
                let height = apart / disks.clone().count() as f64;
                let cones = disks.map(|disk| Cone::new(&disk, height, load));
                inside.cones.extend(cones);
                continue;
            }
            let (lo, hi) = match block.law {
                Law::Unilateral => (0.0, f64::INFINITY),
                Law::Interval { lo, hi } => (lo, hi),
                _ => (f64::NEG_INFINITY, f64::INFINITY),
            };
            for row in block.rows() {
                let (below, above) = (scale.max(c(row)), scale.max(-c(row)));
                let value = match (lo.is_finite(), hi.is_finite()) {
                    (true, true) => 0.5 * (lo + hi),
                    (true, false) => lo + load * scale / below,
                    (false, true) => hi - load * scale / above,
                    (false, false) => 0.0,
                };
                lambda[row] = value;
                if lo.is_finite() && lo != hi {
                    let slack = Slack::new(row, 1.0, below, value - lo);
                    inside.slacks.push(slack);
                }
                if hi.is_finite() && lo != hi {
                    let slack = Slack::new(row, -1.0, above, hi - value);
                    inside.slacks.push(slack);
                }
            }
        }
        let iterate = self.iterate(&lambda);
        (inside, iterate)
    }

    /// C and B of every block at the scaled point.
    fn interior_relation(&mut self, inside: &Inside) {
        self.relation.c.fill(0.0);
        self.relation.b.fill(0.0);
        let mut cones = inside.cones.iter();
        let mut slacks = inside.slacks.iter().peekable();
        for (k, block) in self.system.blocks().iter().enumerate() {
            let (n, square) = (block.n_rows, self.system.square(k));
            let (c, b) = (
                &mut self.relation.c[square.clone()],
                &mut self.relation.b[square],
            );
            if block.law.is_contact() {
                let disks = block.law.disks(n).count();
                contact_relation(cones.by_ref().take(disks), n, c, b);
                continue;
            }
            for i in 0..n {
                let row = block.start + i;
                let (mut sum, mut any) = (0.0, false);
                while let Some(slack) = slacks.next_if(|slack| slack.row == row) {
                    (sum, any) = (sum + slack.u / slack.r, true);
                }
                // Σ u/r dλ + dw = …; a row without finite bounds must hold, one with equal bounds cannot move.
                (c[i * n + i], b[i * n + i]) = match (any, block.law) {
                    (true, _) => (sum, 1.0),
                    (false, Law::Interval { lo, hi }) if lo == hi => (1.0, 0.0),
                    _ => (self.system.hold, 1.0),
                };
            }
        }
    }

    /// Solves for the direction with d_c of every pair, and takes it apart into du and dr.
    fn direct(
        &mut self,
        inside: &mut Inside,
        at: &Iterate,
        step: impl Fn(&mut Kernel, &System<'_>, &[f64], &[f64], &mut Change),
        aim: Aim,
    ) {
        // Right-hand sides: −w for equalities, 0 for rows that cannot move, and what cones and slacks say.
        let mut cones = inside.cones.iter();
        for block in self.system.blocks() {
            if block.law.is_contact() {
                let disks = block.law.disks(block.n_rows).count();
                let (w, b) = (&self.w[block.rows()], &mut self.b[block.rows()]);
                contact_right(cones.by_ref().take(disks), aim, w, b);
                continue;
            }
            for row in block.rows() {
                self.b[row] = match block.law {
                    Law::Interval { lo, hi } if lo == hi => lo - at.lambda[row],
                    _ => -self.w[row],
                };
            }
        }
        // dw = u₁ − u₂ − w + d₁/r₁ − d₂/r₂ − (u₁/r₁ + u₂/r₂) dλ
        for slack in &inside.slacks {
            self.b[slack.row] += slack.sign * (slack.u + aim.slack(slack) / slack.r);
        }
        step(
            &mut self.kernel,
            &self.system,
            &self.b,
            &self.imbalance,
            &mut self.change,
        );
        // dw = G dv + Σ dλ
        let mut dw = std::mem::take(&mut self.trial_w);
        self.row_velocity_change(&mut dw);
        let mut cones = inside.cones.iter_mut();
        for block in self.system.blocks() {
            if !block.law.is_contact() {
                continue;
            }
            let normal = self.change.lambda[block.start];
            let disks = block.law.disks(block.n_rows).count();
            for cone in cones.by_ref().take(disks) {
                let g = cone.goal(&aim.cone(cone));
                // du_t = μ(w + dw) − u_t
                let mut du = [0.0; MOST_ROWS];
                for (i, row) in cone.tangents() {
                    let row = block.start + row;
                    du[i] = cone.mu[i] * (self.w[row] + dw[row]) - cone.u[i];
                }
                cone.take_apart(&g, normal, du);
            }
        }
        for slack in &mut inside.slacks {
            slack.take_apart(aim.slack(slack), self.change.lambda[slack.row]);
        }
        self.trial_w = dw;
    }

    /// dw ← G dv + Σ dλ, or S dλ.
    fn row_velocity_change(&self, dw: &mut [f64]) {
        match self.system.problem.form() {
            crate::problem::Form::Primal(primal) => {
                self.system.row_change(&self.change.v, dw);
                for ((dw, sigma), lambda) in
                    dw.iter_mut().zip(primal.sigma()).zip(&self.change.lambda)
                {
                    *dw += sigma * lambda;
                }
            }
            crate::problem::Form::Dual(matrix) => {
                dw.fill(0.0);
                matrix.mul_add(&self.change.lambda, dw);
            }
        }
    }
}

/// C and B of one contact, from its cones.
fn contact_relation<'a>(
    cones: impl Iterator<Item = &'a Cone>,
    n: usize,
    c: &mut [f64],
    b: &mut [f64],
) {
    // Σ_j dλ_n/s_j + dw_n + Σ_j (κu_t/|u_t| + h/s)·μ_j dw_j
    b[0] = 1.0;
    for cone in cones {
        c[0] += cone.softness;
        let (slip, lean) = (&cone.slip, &cone.lean);
        for (i, row) in cone.tangents() {
            b[row] = (slip[i] - lean[i]) * cone.mu[i];
            // dλ_j − μ_j(h/s)dλ_n + μ_j(H − hhᵀ/s)μ_j dw_j
            c[row * n + row] = 1.0;
            c[row * n] = cone.mu[i] * lean[i];
            for (j, column) in cone.tangents() {
                b[row * n + column] = cone.mu[i] * cone.across(i, j) * cone.mu[j];
            }
        }
    }
}

/// Right-hand sides of one contact whose row velocities are w.
fn contact_right<'a>(
    cones: impl Iterator<Item = &'a Cone>,
    aim: Aim,
    w: &[f64],
    right: &mut [f64],
) {
    // Σ_j g₀/s_j + r_p,n + Σ_j (κu_t/|u_t| + h/s)·r_p,j ,   r_p,n = Σ_j (a_j − |u_j,t|) − w_n
    right[0] = -w[0];
    for cone in cones {
        let g = cone.goal(&aim.cone(cone));
        let (slip, lean) = (&cone.slip, &cone.lean);
        right[0] += g[0] * cone.softness + cone.u[0] - cone::length(&cone.u);
        // r_p,j = u_t − μ_j w_j
        let mut defect = [0.0; MOST_ROWS];
        for (i, row) in cone.tangents() {
            defect[i] = cone.u[i] - cone.mu[i] * w[row];
            right[0] += (slip[i] - lean[i]) * defect[i];
        }
        // μ_j(g_t − (h/s)g₀ + (H − hhᵀ/s)r_p,j)
        for (i, row) in cone.tangents() {
            let across: f64 = (1..cone.n).map(|j| cone.across(i, j) * defect[j]).sum();
            right[row] = cone.mu[i] * (g[i] + lean[i] * g[0] + across);
        }
    }
}
