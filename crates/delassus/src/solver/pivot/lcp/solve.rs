//! A dense problem from the door to the answer: scaled, pivoted, verified, and again where that fails.
//!
//! ```text
//! the covering vector asked for, by `big` and by `lex`;  ones after scaling, by both;  free rows unfolded;
//! where all end on rays or break down: a linear program that proves the rows contradict each other, or not
//! ```
//!
//! How this differs from the source: (1) an answer counts only after its natural residual is verified on the scaled
//! problem; (2) a ray is an answer, but not if scaling has torn the covering vector apart; (3) y ≥ 0 with Mᵀy ≤ 0 and
//! qᵀy < 0 proves that nothing solves the rows, and is looked for where no path says so. Cost: that of its paths.

use std::time::{Duration, Instant};

use super::Lcp;
use super::free::{Unfolded, opposed};
use super::ratio::Pivot;
use super::scaled::Scaled;
use super::standard::{self, Limits, PathEnd, Start};
use crate::math::max_abs;
use crate::solver::Status;
use crate::solver::pivot::ACCEPTED;
use crate::solver::pivot::budget::deadline;

/// A residual below this is as good as it gets: no other attempt is made.
const GOOD: f64 = 1e-11;
/// Largest problem for which a proof of infeasibility is looked for by a linear program.
const LARGEST_PROOF: usize = 400;

/// The covering vector c of w = Mz + c z₀ + q: it decides where the path of pivots starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Cover {
    /// Ones, in the problem's own units.
    #[default]
    Ones,
    /// Ones after scaling.
    Scaled,
    /// Between ½ and 2 after scaling, by chance from the seed.
    Random(u64),
    /// Given; every entry must be positive.
    Given(Vec<f64>),
}

/// How a dense problem is solved.
#[derive(Clone, Debug, PartialEq)]
pub struct LcpOptions {
    /// How ties are broken. After [`Pivot::Big`] has failed [`Pivot::Lex`] is tried.
    pub pivot: Pivot,
    /// The covering vector.
    pub cover: Cover,
    /// Most pivots in all.
    pub pivots: usize,
    /// Most time.
    pub time: Option<Duration>,
}

impl Default for LcpOptions {
    fn default() -> LcpOptions {
        LcpOptions {
            pivot: Pivot::Big,
            cover: Cover::Ones,
            pivots: 100_000,
            time: None,
        }
    }
}

/// Answer to a dense problem.
#[derive(Clone, Debug, PartialEq)]
pub struct LcpAnswer {
    /// `Solved` (verified), `Ray`, `PivotLimit`, `TimeLimit` or `Breakdown`.
    pub status: Status,
    /// The solution, or the best that was met.
    pub z: Vec<f64>,
    /// Exchanges in all attempts, the first with z₀ included.
    pub pivots: usize,
    /// Natural residual max|min(z, w)| of z.
    pub residual: f64,
    /// Where the status is `Ray`: how z grows along it, largest entry 1.
    pub ray: Option<Vec<f64>>,
    /// Where it could be proved that no z ≥ 0 gives Mz + q ≥ 0: y ≥ 0 with Mᵀy ≤ 0 and qᵀy < 0.
    pub farkas: Option<Vec<f64>>,
}

impl LcpAnswer {
    pub(super) fn new(n: usize) -> LcpAnswer {
        LcpAnswer {
            status: Status::Breakdown,
            z: vec![0.0; n],
            pivots: 0,
            residual: f64::INFINITY,
            ray: None,
            farkas: None,
        }
    }

    /// Sets status and residual; what is not verified is not solved.
    pub(super) fn conclude(&mut self, lcp: &Lcp, status: Status) {
        let solved = Scaled::of(lcp).accepts(&self.z);
        self.residual = lcp.residual(&self.z);
        self.status = match status {
            Status::Solved if !solved => Status::Breakdown,
            status => status,
        };
    }
}

/// Solves a linear complementarity problem by Lemke's method; where the path ends on a ray, looks for a proof that there
/// is no answer.
pub fn solve(lcp: &Lcp, options: &LcpOptions) -> LcpAnswer {
    let deadline = deadline(options.time);
    let mut answer = solve_without_proof(lcp, options);
    if matches!(answer.status, Status::Ray | Status::Breakdown) && answer.farkas.is_none() {
        answer.farkas = prove_infeasible(lcp, options.pivots, deadline);
    }
    if answer.status == Status::Breakdown && answer.farkas.is_some() {
        // What broke down has no direction to tell; the proof stands without.
        (answer.status, answer.ray) = (Status::Ray, Some(vec![0.0; lcp.len()]));
    }
    answer
}

/// The same, but with no other proof than the ray itself may be.
pub(crate) fn solve_without_proof(lcp: &Lcp, options: &LcpOptions) -> LcpAnswer {
    let mut answer = LcpAnswer::new(lcp.len());
    let deadline = deadline(options.time);
    let has_free = lcp.free().contains(&true);
    let scaled = Scaled::of(lcp);
    let mut best = f64::INFINITY;
    let own = &options.cover;
    let mut end = Status::Breakdown;
    let mut last = None;
    let plan = |pivot, cover| PathPlan { pivot, cover };
    for plan in [
        plan(options.pivot, own),
        plan(Pivot::Lex, own),
        plan(Pivot::Big, &Cover::Scaled),
        plan(Pivot::Lex, &Cover::Scaled),
    ] {
        let left = options.pivots.saturating_sub(answer.pivots);
        if last == Some(plan) || (last.is_some() && left == 0) {
            continue;
        }
        last = Some(plan);
        // Large pivots may cycle on degenerate problems: leave pivots for the rule that cannot.
        let pivots = if plan.pivot == Pivot::Big {
            left.div_ceil(2)
        } else {
            left
        };
        let limits = Limits { pivots, deadline };
        end = attempt(&scaled, plan, limits, &mut answer, &mut best);
        // A covering vector that scaling has torn apart cannot be trusted with a ray.
        let doubtful = end == Status::Ray && answer.farkas.is_none() && scaled.is_torn();
        if matches!(end, Status::Solved | Status::Ray | Status::TimeLimit) && !doubtful {
            break;
        }
    }
    if has_free && end != Status::Solved && answer.farkas.is_none() {
        end = unfolded(lcp, options, deadline, &mut answer).unwrap_or(end);
    }
    if end != Status::Ray {
        (answer.ray, answer.farkas) = (None, None);
    }
    answer.status = end;
    answer.residual = lcp.residual(&answer.z);
    answer
}

/// One path: how ties are broken, and from which covering vector.
#[derive(Clone, Copy, PartialEq)]
struct PathPlan<'a> {
    pivot: Pivot,
    cover: &'a Cover,
}

/// One path on the scaled problem; the best z by its residual is kept.
fn attempt(
    scaled: &Scaled<'_>,
    plan: PathPlan<'_>,
    limits: Limits,
    answer: &mut LcpAnswer,
    best: &mut f64,
) -> Status {
    let cover = scaled.cover(plan.cover);
    let PathEnd {
        mut end,
        pivots,
        z,
        ray,
    } = standard::follow(&scaled.lcp, &cover, Start::Zero, plan.pivot, limits);
    answer.pivots += pivots;
    let merit = scaled.lcp.residual(&z);
    if merit < *best {
        *best = merit;
        answer.z = scaled.unscaled(&z);
    }
    match end {
        Status::Solved if !(merit <= ACCEPTED * scaled.scale()) => end = Status::Breakdown,
        Status::Ray if merit <= GOOD * scaled.scale() => end = Status::Solved,
        _ => {}
    }
    if let (Status::Ray, Some(ray)) = (end, ray) {
        let n = z.len();
        let y: Vec<f64> = (0..n).map(|i| ray[i].max(0.0) * scaled.row[i]).collect();
        answer.farkas = scaled.original.is_farkas(&y).then_some(y);
        answer.ray = Some(normalised(scaled.unscaled(&ray[..n])));
    }
    end
}

/// Free rows written as pairs of inequalities, as they are or, where that does not help, opposed to their unknowns.
/// None where neither helps.
fn unfolded(
    lcp: &Lcp,
    options: &LcpOptions,
    deadline: Option<Instant>,
    answer: &mut LcpAnswer,
) -> Option<Status> {
    let mut inner = LcpAnswer::new(lcp.len());
    let end = folded_back(lcp, options, deadline, answer.pivots, &mut inner);
    answer.pivots += inner.pivots;
    match end {
        Status::Solved if accepted(lcp, &inner.z) => {
            answer.z = inner.z;
            return Some(Status::Solved);
        }
        Status::Ray => {
            (answer.ray, answer.farkas) = (inner.ray, inner.farkas);
            if answer.farkas.is_some() {
                return Some(Status::Ray);
            }
        }
        _ => {}
    }
    if let Some(opposed) = opposed(lcp) {
        let mut inner = LcpAnswer::new(opposed.lcp.len());
        let opposed_end = folded_back(&opposed.lcp, options, deadline, answer.pivots, &mut inner);
        answer.pivots += inner.pivots;
        let z = opposed.restore(&inner.z);
        if opposed_end == Status::Solved && accepted(lcp, &z) {
            answer.z = z;
            return Some(Status::Solved);
        }
    }
    (end == Status::Ray).then_some(Status::Ray)
}

fn accepted(lcp: &Lcp, z: &[f64]) -> bool {
    Scaled::of(lcp).accepts(z)
}

/// One run on the problem with its free rows written as pairs of inequalities.
fn folded_back(
    lcp: &Lcp,
    options: &LcpOptions,
    deadline: Option<Instant>,
    spent: usize,
    answer: &mut LcpAnswer,
) -> Status {
    let plain = Unfolded::of(lcp);
    let scaled = Scaled::of(&plain.lcp);
    let (mut inner, mut best) = (LcpAnswer::new(plain.lcp.len()), f64::INFINITY);
    let limits = Limits {
        pivots: options.pivots.saturating_sub(spent),
        deadline,
    };
    let cover = match &options.cover {
        chance @ Cover::Random(_) => chance,
        _ => &Cover::Scaled,
    };
    let pivot = Pivot::Lex;
    let end = attempt(
        &scaled,
        PathPlan { pivot, cover },
        limits,
        &mut inner,
        &mut best,
    );
    answer.pivots = inner.pivots;
    answer.z = plain.fold(&inner.z);
    answer.ray = inner.ray.as_deref().map(|x| plain.fold(x));
    answer.farkas = inner.farkas.as_deref().map(|x| plain.fold(x));
    end
}

/// The linear program min t, Mz + t ≥ −q, z ≥ 0, t ≥ 0 as a complementarity problem with a skew matrix, which Lemke
/// always solves; where t > 0 its multipliers prove that t = 0 is out of reach.
fn prove_infeasible(lcp: &Lcp, pivots: usize, deadline: Option<Instant>) -> Option<Vec<f64>> {
    let plain = Unfolded::of(lcp);
    let n = plain.lcp.len();
    if LARGEST_PROOF < n {
        return None;
    }
    // Unknowns (z, t, y): w = (−Mᵀy, 1 − Σy, Mz + t + q).
    let size = 2 * n + 1;
    let mut columns = vec![0.0; size * size];
    let mut q = vec![0.0; size];
    for j in 0..n {
        for (i, entry) in plain.lcp.column(j).iter().enumerate() {
            columns[j * size + n + 1 + i] = *entry;
            columns[(n + 1 + i) * size + j] = -entry;
        }
        columns[n * size + n + 1 + j] = 1.0;
        columns[(n + 1 + j) * size + n] = -1.0;
        q[n + 1 + j] = plain.lcp.q()[j];
    }
    q[n] = 1.0;
    let program = Lcp::from_columns(columns, q, vec![false; size]);
    let scaled = Scaled::of(&program);
    let (mut answer, mut best) = (LcpAnswer::new(size), f64::INFINITY);
    let limits = Limits {
        pivots: pivots.min(100 * size),
        deadline,
    };
    let plan = PathPlan {
        pivot: Pivot::Lex,
        cover: &Cover::Scaled,
    };
    let end = attempt(&scaled, plan, limits, &mut answer, &mut best);
    if end != Status::Solved {
        return None;
    }
    let y = normalised(plain.fold(&answer.z[n + 1..]));
    lcp.is_farkas(&y).then_some(y)
}

/// Divided by its largest entry.
fn normalised(mut x: Vec<f64>) -> Vec<f64> {
    let largest = max_abs(&x);
    if 0.0 < largest && largest.is_finite() {
        x.iter_mut().for_each(|x| *x /= largest);
    }
    x
}
