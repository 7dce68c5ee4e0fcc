//! Files of kind `tree`: the system of a constrained tree, by articulated-body passes or by any other solver.

use std::time::Instant;

use delassus::math::DVec3;
use delassus::problem::file::TreeWork;
use delassus::solver::exact::kkt::{Kkt, Rank, TreeKkt};
use delassus::tree::{Propagation, TreeError};
use delassus::{Fit, Report, Residual, Solution, Solver, Status};

use super::Job;
use crate::answer::Matrices;
use crate::console::Refusal;

/// What the bias force is computed with [m/s²].
const GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.81);

/// A solved system.
pub(super) struct Solved {
    pub(super) run: (Solution, Report),
    pub(super) rank: Rank,
    pub(super) matrices: Option<Matrices>,
}

/// Solves the system by its own four steps, and by another solver where one is asked for.
pub(super) fn solve(work: &TreeWork, job: &Job<'_>, spec: &str) -> Result<Solved, Refusal> {
    let refuse = |error: TreeError| Refusal(error.to_string());
    let mut kkt = TreeKkt::default();
    let own = four_steps(work, job, &mut kkt).map_err(refuse)?;
    let asked = !job.args.common.solvers.is_empty() && spec != "kkt";
    Ok(Solved {
        run: if asked {
            job.solve_problem((&work.problem, None), spec)?
        } else {
            own
        },
        rank: kkt.rank(),
        matrices: if job.args.matrices {
            Some(matrices(work).map_err(refuse)?)
        } else {
            None
        },
    })
}

fn four_steps(
    work: &TreeWork,
    job: &Job<'_>,
    kkt: &mut TreeKkt,
) -> Result<(Solution, Report), TreeError> {
    let stop = job.stop(&work.problem);
    let start = Instant::now();
    let mut data = work.tree.data();
    work.tree.factor(&mut data, &work.q)?;
    let mut x1 = vec![0.0; work.tree.n_dofs()];
    let mut x2 = vec![0.0; work.rows.len()];
    kkt.solve(
        (&work.tree, &mut data, &work.rows),
        (&work.y1, &work.y2, &work.sigma),
        (&mut x1, &mut x2),
    )?;
    let elapsed = start.elapsed();
    let solution = Solution {
        v: x1,
        lambda: x2.iter().map(|x| -x).collect(),
    };
    let residual = Residual::of(&work.problem, &solution);
    let solved = residual.law <= stop.tolerance;
    let message =
        "rows that depend on each other ask for different velocities; the independent ones are met";
    let report = Report {
        solver: "kkt",
        options: Kkt::new(stop).options(),
        fit: Fit::Exact,
        status: if solved {
            Status::Solved
        } else {
            Status::Stalled
        },
        iterations: 1,
        residual,
        history: Vec::new(),
        elapsed,
        message: (!solved).then(|| message.to_owned()),
        fallback: None,
        chosen: Vec::new(),
        certificate: None,
    };
    Ok((solution, report))
}

/// M, J, J M⁻¹Jᵀ and the bias force under gravity.
fn matrices(work: &TreeWork) -> Result<Matrices, TreeError> {
    let (n, m) = (work.tree.n_dofs(), work.rows.len());
    let mut data = work.tree.data();
    let mut bias = vec![0.0; n];
    work.tree
        .bias(&mut data, (&work.q, &work.v), GRAVITY, &mut bias)?;
    let (mut mass, mut delassus) = (vec![0.0; n * n], vec![0.0; m * m]);
    work.tree.mass_matrix(&mut data, &work.q, &mut mass)?;
    let mut propagation = Propagation::default();
    work.tree
        .delassus(&mut data, &work.rows, &mut propagation, &mut delassus)?;
    let nested = |values: &[f64], width: usize| -> Vec<Vec<f64>> {
        values
            .chunks_exact(width.max(1))
            .map(<[f64]>::to_vec)
            .collect()
    };
    Ok(Matrices {
        mass: nested(&mass, n),
        jacobian: nested(&work.tree.rows_matrix(&data, &work.rows), n),
        delassus: nested(&delassus, m),
        bias,
    })
}
