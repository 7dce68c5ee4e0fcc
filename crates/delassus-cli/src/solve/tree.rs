//! What an answer to a file of kind `tree` says beside it: which rows are independent, and the parts of the system.

use delassus::math::DVec3;
use delassus::problem::file::TreeProblem;
use delassus::problem::{Form, Primal};
use delassus::solver::Rank;
use delassus::solver::exact::kkt::{Kkt, tree_delassus};
use delassus::tree::TreeError;
use delassus::{BlockId, MassBlock, Problem, Report, Solution, Solver};

use crate::answer::Matrices;

/// Why the parts of a tree's system cannot be given.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MatricesError {
    #[error("a tree file was read as something other than one tree with its rows")]
    NotATree,
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// What the bias force is computed with [m/s²].
const GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.81);

/// Independent rows, as the solver found them; one that does not say leaves the question to `kkt`. None where that
/// broke down too.
pub(super) fn rank(problem: &Problem, report: &Report) -> Option<Rank> {
    let asked = || {
        let report = Kkt::default().solve(problem, &mut Solution::zeros(problem));
        report.rank
    };
    report.rank.clone().or_else(asked)
}

/// M, J, J M⁻¹Jᵀ and the bias force under gravity.
pub(super) fn matrices(work: &TreeProblem) -> Result<Matrices, MatricesError> {
    let Form::Primal(primal) = work.problem.form() else {
        return Err(MatricesError::NotATree);
    };
    let [MassBlock::Tree(mass)] = primal.mass() else {
        return Err(MatricesError::NotATree);
    };
    let tree = mass.tree();
    let (n, m) = (tree.n_dofs(), work.problem.n_rows());
    let mut bias = vec![0.0; n];
    let state = (mass.configuration(), work.v.as_slice());
    tree.bias(&mut tree.data(), state, GRAVITY, &mut bias)?;
    let delassus = tree_delassus(&work.problem).ok_or(MatricesError::NotATree)?;
    Ok(Matrices {
        mass: nested(&mass.matrix(), n),
        jacobian: nested(&jacobian(&work.problem, primal), n),
        delassus: nested(&delassus, m),
        bias,
    })
}

/// J, row-major.
fn jacobian(problem: &Problem, primal: &Primal) -> Vec<f64> {
    let blocks = (0..problem.blocks().len()).map(|k| BlockId(k as u32));
    let rows = blocks.flat_map(|k| primal.written_rows(k));
    rows.flat_map(|(_, rows)| rows).collect()
}

fn nested(values: &[f64], width: usize) -> Vec<Vec<f64>> {
    let rows = values.chunks_exact(width.max(1));
    rows.map(<[f64]>::to_vec).collect()
}
