//! Joints that contradict each other.
//!
//! Joints of a closed chain may hold more than its bodies can move. A step moves them apart by what is of second order in
//! h, each joint asks for its own part of that back, and where their rows depend on each other no velocity does it all:
//!
//! ```text
//! G v = q has no answer   ⇔   r = q − G v̂ ≠ 0 ,   v̂ = argmin |q − G v|        Gᵀr = 0 and qᵀr = |r|² > 0 prove it
//! ```
//!
//! Then they ask for q − r, which is what bodies can follow nearest to it, and the step is solved again. What they ask for
//! is the correction of a drift, and what is taken from it is asked for again in the next step. Joints whose bodies are
//! driven apart contradict each other by more, and the step stays unsolved with that proof.

use super::World;
use super::assemble::Assembly;
use crate::law::Law;
use crate::linalg::cholesky::{cholesky, cholesky_solve};
use crate::math::{dot, max_abs};
use crate::problem::{Form, Primal, Problem, Solution};
use crate::solver::{Report, Solver, Status};

/// Largest contradiction that is drift \[m/s or rad/s\].
const DRIFT: f64 = 1e-3;
/// Velocities up to which rows are compared with each other: 25 bodies take a millisecond or two.
const MOST: usize = 150;
/// δ over the largest diagonal entry of GᵀG, and passes that take from r what bodies can follow.
const SOFT: f64 = 1e-12;
const PASSES: usize = 8;
/// No velocity up to so many times the fastest may make up for a contradiction.
const FAST: f64 = 1e3;

impl World {
    /// Solves a step again that was not solved, where its joints contradict each other by what they have drifted.
    pub(super) fn let_joints_agree(
        &self,
        h: f64,
        (assembly, solution): (&mut Assembly, &mut Solution),
        solver: &mut dyn Solver,
        report: &mut Report,
    ) {
        let failed = matches!(
            report.status,
            Status::Ray
                | Status::Stalled
                | Status::IterationLimit
                | Status::Breakdown
                | Status::RoundingFloor
        );
        if !failed || solver.stop().tolerance <= 0.0 {
            return;
        }
        let Some(excess) = contradiction(&assembly.problem) else {
            return;
        };
        let most = max_abs(&excess);
        if DRIFT < most {
            return;
        }
        for (row, r) in excess.iter().enumerate() {
            let q = assembly.problem.wanted(row);
            assembly.problem.want(row, q - r);
        }
        self.warm.guess(assembly, h, &mut solution.lambda);
        let again = solver.solve(&assembly.problem, solution);
        let agreed = format!(
            "joints contradicted each other by {most:.1e} m/s, and ask for what bodies can follow"
        );
        *report = Report {
            iterations: report.iterations + again.iterations,
            elapsed: report.elapsed + again.elapsed,
            message: match again.status {
                Status::Solved => Some(agreed),
                _ => again.message,
            },
            ..again
        };
    }
}

/// r in the rows of rigid joints, zero elsewhere; `None` where bodies can follow them all, or where rounding or great
/// velocities may make up for r.
fn contradiction(problem: &Problem) -> Option<Vec<f64>> {
    let Form::Primal(primal) = problem.form() else {
        return None;
    };
    let (g, rows) = rigid_rows(problem, primal);
    let n = problem.n_velocities();
    if rows.is_empty() || MOST < n {
        return None;
    }
    let q: Vec<f64> = rows.iter().map(|row| primal.q()[*row]).collect();
    let r = left_over(&g, n, &q)?;
    // Gᵀr = 0:   Σ |(Gᵀr)_j| · 1000 max(|v¹|, |q|)  <  qᵀr
    let moved: f64 = transposed(&g, n, &r).iter().map(|f| f.abs()).sum();
    let fastest = FAST * max_abs(primal.free_velocity()).max(max_abs(&q));
    if dot(&q, &r) <= moved * fastest {
        return None;
    }
    let mut whole = vec![0.0; problem.n_rows()];
    for (row, r) in rows.into_iter().zip(r) {
        whole[row] = r;
    }
    Some(whole)
}

/// G of all equalities without compliance, dense, and where their rows stand in the problem.
fn rigid_rows(problem: &Problem, primal: &Primal) -> (Vec<f64>, Vec<usize>) {
    let n = problem.n_velocities();
    let (mut g, mut rows) = (Vec::new(), Vec::new());
    for (k, block) in problem.blocks().iter().enumerate() {
        for (i, row) in block.rows().enumerate() {
            if block.law != Law::Equality || primal.sigma()[row] != 0.0 {
                continue;
            }
            let (mut unit, mut own) = (vec![0.0; block.n_rows], vec![0.0; n]);
            unit[i] = 1.0;
            primal.add_block_impulse(k, &unit, &mut own);
            g.extend(own);
            rows.push(row);
        }
    }
    (g, rows)
}

/// What no velocity makes of q: r ← r − G (GᵀG + δ)⁻¹Gᵀr, again and again.
fn left_over(g: &[f64], n: usize, q: &[f64]) -> Option<Vec<f64>> {
    let mut h = vec![0.0; n * n];
    for row in g.chunks_exact(n) {
        for (h, a) in h.chunks_exact_mut(n).zip(row) {
            h.iter_mut().zip(row).for_each(|(h, b)| *h += a * b);
        }
    }
    let largest = (0..n).fold(0.0_f64, |most, i| most.max(h[i * n + i]));
    (0..n).for_each(|i| h[i * n + i] += SOFT * largest);
    cholesky(&mut h, n).ok()?;
    let mut r = q.to_vec();
    for _ in 0..PASSES {
        let mut v = transposed(g, n, &r);
        cholesky_solve(&h, n, &mut v);
        for (r, row) in r.iter_mut().zip(g.chunks_exact(n)) {
            *r -= dot(row, &v);
        }
    }
    Some(r)
}

/// Gᵀr.
fn transposed(g: &[f64], n: usize, r: &[f64]) -> Vec<f64> {
    let mut f = vec![0.0; n];
    for (row, r) in g.chunks_exact(n).zip(r) {
        f.iter_mut().zip(row).for_each(|(f, g)| *f += g * r);
    }
    f
}
