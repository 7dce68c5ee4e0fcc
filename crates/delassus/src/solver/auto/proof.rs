//! Proof that no velocity obeys the rows of a problem with friction, whatever the impulses.

use crate::index::BlockId;
use crate::law::Law;
use crate::problem::place::At;
use crate::problem::{Form, Problem, Solution};
use crate::solver::{Certificate, Status, Stop, from_spec};

/// y over all rows with Gᵀy = 0, Σy = 0 and qᵀy > 0, y ≥ 0 where velocities are bounded on one side: then
/// yᵀw = −qᵀy < 0 for every v and λ, while the laws want yᵀw ≥ 0. Friction adds no such row, so the normals are asked
/// alone, with the joints; as a problem without friction they end with an answer or with y.
pub(super) fn contradiction(problem: &Problem, stop: Stop) -> Option<Certificate> {
    let (bare, rows) = without_friction(problem)?;
    let mut lemke = from_spec("lemke", stop, 0).ok()?;
    let report = lemke.solve(&bare, &mut Solution::zeros(&bare));
    let proof = report
        .certificate
        .filter(|_| report.status == Status::Ray)?;
    let spread = |own: Vec<f64>| {
        let mut whole = vec![0.0; problem.n_rows()];
        for (&row, own) in rows.iter().zip(own) {
            whole[row] = own;
        }
        whole
    };
    Some(Certificate {
        ray: spread(proof.ray),
        farkas: Some(spread(proof.farkas?)),
    })
}

/// Equalities, one-sided rows and the normals of contacts in dual form, and where their rows stand in the whole.
fn without_friction(problem: &Problem) -> Option<(Problem, Vec<usize>)> {
    let Form::Primal(primal) = problem.form() else {
        return None;
    };
    let mut builder = Problem::builder();
    let mut masses = Vec::new();
    for (b, mass) in primal.mass().iter().enumerate() {
        let p = &primal.p()[primal.columns(b)];
        masses.push(builder.add_mass(mass.clone(), p).ok()?);
    }
    let mut kept = Vec::new();
    for (block, id) in problem.blocks().iter().zip((0..).map(BlockId)) {
        let (law, rows) = match block.law {
            Law::Interval { .. } => continue,
            law if law.is_contact() => {
                (Law::Unilateral, block.rows().start..block.rows().start + 1)
            }
            law => (law, block.rows()),
        };
        let on: Vec<At<'_>> = primal
            .places(id)
            .map(|at| At {
                mass: masses[at.mass.index()],
                rows: &at.rows[..at.rows.len() / block.n_rows * rows.len()],
                ..at
            })
            .collect();
        let (sigma, q) = (&primal.sigma()[rows.clone()], &primal.q()[rows.clone()]);
        builder.add_block_at(law, &on, sigma, q).ok()?;
        kept.extend(rows);
    }
    Some((builder.build().ok()?.to_dual(), kept))
}
