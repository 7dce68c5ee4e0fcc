//! Projected Gauss-Seidel: visit the blocks one after the other, solve each for its own impulse under its law,
//! and let the bodies feel the change at once.
//!
#![doc = include_str!("../../../../docs/gauss-seidel.md")]

mod carrier;

use std::ops::Range;

pub(super) use carrier::Carrier;
use carrier::{DualResidual, DualRows, ResidualUpdating, Velocities};

use super::name_of;
use super::rule::{Change, LocalContact, Locals, Rule};
use super::{Fit, Monitor, Solver, Status, Stop, SweepStats};
use crate::law::Law;
use crate::math::Random;
use crate::problem::{Block, Form, Problem, Solution};

/// How the row velocity of the next block is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SweepKind {
    /// Computed from the velocities of the block's own bodies.   [GS11 Alg 2.2, 3.1], [GS13 Alg 2.1, 2.2]
    #[default]
    Local,
    /// Kept for all rows and updated after every change; needs the lists of rows on each body.   [GS11 Alg 2.1]
    Residual,
}

/// The order in which blocks are visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// First to last.
    #[default]
    Forward,
    /// Last to first.
    Backward,
    /// Forward and backward in turn, one sweep each.
    Symmetric,
    /// A new random order each sweep, from the seed.
    Shuffle,
}

/// Projected Gauss-Seidel, scalar and block.
#[derive(Clone, Debug)]
pub struct GaussSeidel {
    /// When to stop.
    pub stop: Stop,
    /// How contacts are solved.
    pub rule: Rule,
    /// How row velocities are known.
    pub sweep: SweepKind,
    /// Order of visits.
    pub order: Order,
    /// Relaxation ω in (0, 2), outside of which the run is a breakdown: below one the step is shortened, above one the law sees ωw.
    pub relax: f64,
    /// Seed of the shuffled order.
    pub seed: u64,
    /// Arrays kept between solves; start from the default.
    pub work: Work,
}

/// Arrays kept between solves, so that a sweep allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Work {
    locals: Locals,
    order: Vec<u32>,
    w: Vec<f64>,
    z: Vec<f64>,
}

/// Sweeps between two exact recomputations of what is carried along: rounding must not pile up.
pub(super) const REFRESH: usize = 256;

impl Default for GaussSeidel {
    fn default() -> GaussSeidel {
        GaussSeidel {
            stop: Stop::default(),
            rule: Rule::default(),
            sweep: SweepKind::default(),
            order: Order::default(),
            relax: 1.0,
            seed: 0,
            work: Work::default(),
        }
    }
}

impl Solver for GaussSeidel {
    fn name(&self) -> &'static str {
        "gauss-seidel"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("rule", self.rule.name().to_owned()),
            ("sweep", self.sweep.name().to_owned()),
            ("order", self.order.name().to_owned()),
            ("relax", self.relax.to_string()),
        ]
    }

    fn fit(&self, law: &Law) -> Fit {
        self.rule.fit(law)
    }

    stops_by_its_field!();

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        if !(0.0 < self.relax && self.relax < 2.0) {
            return Status::Breakdown;
        }
        self.work
            .locals
            .prepare(problem.blocks(), problem.diagonal_blocks(), self.rule);
        let widest = problem
            .blocks()
            .iter()
            .map(|block| block.n_rows)
            .max()
            .unwrap_or(0);
        self.work.w.resize(widest, 0.0);
        self.work.z.resize(widest, 0.0);
        let Solution { v, lambda } = solution;
        match (problem.form(), self.sweep) {
            (Form::Primal(primal), SweepKind::Local) => self.iterate(
                problem,
                lambda,
                Velocities::new(problem, primal, v),
                monitor,
            ),
            (Form::Primal(primal), SweepKind::Residual) => {
                let inner = Velocities::new(problem, primal, v);
                self.iterate(problem, lambda, ResidualUpdating::new(inner), monitor)
            }
            (Form::Dual(matrix), SweepKind::Local) => self.iterate(
                problem,
                lambda,
                DualRows {
                    matrix,
                    c: problem.c(),
                },
                monitor,
            ),
            (Form::Dual(matrix), SweepKind::Residual) => self.iterate(
                problem,
                lambda,
                DualResidual::new(matrix, problem.c()),
                monitor,
            ),
        }
    }
}

impl GaussSeidel {
    /// Sweeps until the monitor says stop.
    fn iterate<C: Carrier>(
        &mut self,
        problem: &Problem,
        lambda: &mut [f64],
        mut carrier: C,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        let blocks = problem.blocks();
        let mut random = Random::new(self.seed);
        self.work.order.clear();
        self.work.order.extend(0..blocks.len() as u32);
        if self.order == Order::Backward {
            self.work.order.reverse();
        }
        if self.stop.sweeps == 0 {
            return Status::IterationLimit;
        }
        // The warm start's impulses are already in v; a carrier of residuals starts from them too.
        carrier.begin(lambda);
        loop {
            if self.order == Order::Shuffle {
                random.shuffle(&mut self.work.order);
            }
            let stats = self.sweep(blocks, lambda, &mut carrier);
            if self.order == Order::Symmetric {
                self.work.order.reverse();
            }
            if let Some(status) = monitor.after_sweep(stats, lambda) {
                return status;
            }
            if monitor.sweeps().is_multiple_of(REFRESH) {
                carrier.refresh(lambda);
            }
        }
    }

    /// One pass over all blocks.   [GS11 Alg 3.1, lines 6-17]
    fn sweep<C: Carrier>(
        &mut self,
        blocks: &[Block],
        lambda: &mut [f64],
        carrier: &mut C,
    ) -> SweepStats {
        let Work {
            locals,
            order,
            w,
            z,
        } = &mut self.work;
        // Over-relaxation enters the law, so that λ stays feasible; under-relaxation shortens the step.
        let relax = (self.relax.max(1.0), self.relax.min(1.0));
        let mut stats = SweepStats::default();
        for &k in order.iter() {
            let k = k as usize;
            let rows = blocks[k].rows();
            let work = (&mut w[..rows.len()], &mut z[..rows.len()]);
            let (squared, change) = visit(k, locals, relax, (lambda, rows), carrier, work);
            stats.eta_squared += squared;
            stats.eta_max = stats.eta_max.max(squared);
            stats.dual_decrease -= change;
        }
        stats.eta_max = stats.eta_max.sqrt() / relax.1;
        stats
    }
}

/// Solves one block: its impulses are `lambda[rows]`.
#[inline]
pub(super) fn visit<C: Carrier>(
    k: usize,
    locals: &Locals,
    relax: (f64, f64),
    (lambda, rows): (&mut [f64], Range<usize>),
    carrier: &mut C,
    work: (&mut [f64], &mut [f64]),
) -> Change {
    match locals.contact(k, rows.len()) {
        Some(contact) => visit_contact(k, contact, relax, (lambda, rows.start), carrier),
        None => visit_rows(k, locals, relax, (lambda, rows), carrier, work),
    }
}

/// Solves one block of any law and size.
fn visit_rows<C: Carrier>(
    k: usize,
    locals: &Locals,
    (before, after): (f64, f64),
    (lambda, rows): (&mut [f64], Range<usize>),
    carrier: &mut C,
    (w, z): (&mut [f64], &mut [f64]),
) -> Change {
    // w = G_k v + Σ_kk λ_k − q_k
    carrier.row_velocity(k, lambda, w);
    let lambda = &mut lambda[rows];
    w.iter_mut().for_each(|w| *w *= before);
    locals.solve(k, w, lambda, z);
    w.iter_mut().for_each(|w| *w /= before);
    // Δ = ω(z − λ_k), kept in z
    for (z, lambda) in z.iter_mut().zip(lambda) {
        *z = after * (*z - *lambda);
        *lambda += *z;
    }
    // v_b ← v_b + M_b⁻¹G_kbᵀΔ
    carrier.pass_on(k, z);
    locals.change(k, w, z)
}

/// The same for a contact of three rows, all in registers: this is where the time goes.
#[inline]
fn visit_contact<C: Carrier>(
    k: usize,
    contact: &LocalContact,
    (before, after): (f64, f64),
    (lambda, start): (&mut [f64], usize),
    carrier: &mut C,
) -> Change {
    let mut w = [0.0; 3];
    carrier.row_velocity(k, lambda, &mut w);
    let lambda = &mut lambda[start..start + 3];
    let old: [f64; 3] = std::array::from_fn(|i| lambda[i]);
    let z = contact.solve(&w.map(|w| w * before), &old);
    let delta: [f64; 3] = std::array::from_fn(|i| after * (z[i] - old[i]));
    for i in 0..3 {
        lambda[i] = old[i] + delta[i];
    }
    carrier.pass_on(k, &delta);
    contact.change(&w, &delta)
}

impl Rule {
    /// All rules, with the names used on the command line.
    pub const NAMES: [(&'static str, Rule); 6] = [
        ("iso", Rule::Iso),
        ("exact", Rule::Exact),
        ("box", Rule::Box),
        ("project", Rule::Project),
        ("nonlinear", Rule::Nonlinear),
        ("ccp", Rule::Ccp),
    ];

    /// Whether sweeps with this rule obey a law.
    pub(crate) fn fit(self, law: &Law) -> Fit {
        match law {
            Law::FrictionCone { .. } | Law::EllipticCone { .. } => match self {
                Rule::Iso | Rule::Exact => Fit::Exact,
                // The stick impulse mixes the tangents into the normal even where they carry nothing.
                Rule::Project => Fit::Approximate,
                _ if law.is_convex() => Fit::Exact,
                _ => Fit::Approximate,
            },
            Law::FrictionFacets { .. } => Fit::No,
            law if law.has_spin_rows() => match self {
                // `exact` steps them as `iso` does: the secular equation has one disk of two rows.
                Rule::Iso | Rule::Exact => Fit::Exact,
                _ => Fit::No,
            },
            _ => Fit::Exact,
        }
    }

    /// The rule's name on the command line.
    pub fn name(self) -> &'static str {
        name_of(&Rule::NAMES, self)
    }
}

impl SweepKind {
    /// All kinds, with the names used on the command line.
    pub const NAMES: [(&'static str, SweepKind); 2] = [
        ("local", SweepKind::Local),
        ("residual", SweepKind::Residual),
    ];

    /// The kind's name on the command line.
    pub fn name(self) -> &'static str {
        name_of(&SweepKind::NAMES, self)
    }
}

impl Order {
    /// All orders, with the names used on the command line.
    pub const NAMES: [(&'static str, Order); 4] = [
        ("forward", Order::Forward),
        ("backward", Order::Backward),
        ("symmetric", Order::Symmetric),
        ("shuffle", Order::Shuffle),
    ];

    /// The order's name on the command line.
    pub fn name(self) -> &'static str {
        name_of(&Order::NAMES, self)
    }
}
