//! The blocks D̃ that a step divides by: large enough that all blocks may step at once.

use super::Scheme;
use crate::index::MassId;
use crate::math::{dot, norm};
use crate::problem::delassus::{BlockMatrix, DiagonalBlocks};
use crate::problem::jacobian::Incidence;
use crate::problem::{Block, Primal, Problem};

/// D̃ of a primal problem. S ≼ D̃ for `split` and `damped`, because a body is a Gram block over its n_b rows.
pub(super) fn of_bodies(
    problem: &Problem,
    primal: &Primal,
    incidence: &Incidence,
    scheme: Scheme,
) -> DiagonalBlocks {
    let mut blocks = problem.diagonal_blocks().clone();
    let on = |b: usize| incidence.of(MassId(b as u32)).len();
    match scheme {
        Scheme::Plain => {}
        Scheme::Damped => {
            let most = (0..primal.mass().len()).map(on).max().unwrap_or(1).max(1);
            scale(&mut blocks, problem.blocks(), most as f64);
        }
        Scheme::Split => {
            let (mut solved, mut g) = (Vec::new(), Vec::new());
            for (k, block) in problem.blocks().iter().enumerate() {
                // D̃_k = Σ_b n_b G_kb M_b⁻¹ G_kbᵀ + Σ_kk: what D_kk has already, and n_b − 1 times more.
                let d = blocks.block_mut(k);
                for e in primal.jacobian().entry_range(k) {
                    let more = on(primal.jacobian().entry_mass(e)) as f64 - 1.0;
                    if 0.0 < more {
                        primal.solve_rows(e, &mut solved);
                        g.clear();
                        primal.write_rows(e, &mut g);
                        add_scaled(&g, &solved, block.n_rows, more, d);
                    }
                }
            }
        }
    }
    blocks
}

/// D̃ of a dual problem, which has no bodies: D_kk + Σ_{j≠k} ‖S_kj‖ for `split`; for `damped` D_kk times the
/// largest number of blocks in a block row, because a semidefinite S has |x_jᵀS_jk x_k| ≤ ½(x_jᵀS_jj x_j + x_kᵀS_kk x_k).
pub(super) fn of_matrix(problem: &Problem, matrix: &BlockMatrix, scheme: Scheme) -> DiagonalBlocks {
    let mut blocks = problem.diagonal_blocks().clone();
    let n = matrix.n_blocks();
    match scheme {
        Scheme::Plain => {}
        Scheme::Damped => {
            let most = (0..n).map(|k| matrix.block_row(k).count()).max();
            scale(&mut blocks, problem.blocks(), most.unwrap_or(1) as f64);
        }
        Scheme::Split => {
            for k in 0..n {
                let rows = matrix.rows(k).len();
                let others = matrix.block_row(k).filter(|(j, _)| *j != k);
                let sum: f64 = others.map(|(_, values)| norm(values)).sum();
                let d = blocks.block_mut(k);
                for i in 0..rows {
                    d[i * rows + i] += sum;
                }
            }
        }
    }
    blocks
}

fn scale(diagonals: &mut DiagonalBlocks, blocks: &[Block], factor: f64) {
    for k in 0..blocks.len() {
        diagonals.block_mut(k).iter_mut().for_each(|d| *d *= factor);
    }
}

/// D += s G (M⁻¹Gᵀ), rows of both given.
fn add_scaled(g: &[f64], solved: &[f64], rows: usize, s: f64, d: &mut [f64]) {
    let width = g.len() / rows;
    for (i, g) in g.chunks_exact(width).enumerate() {
        for (j, solved) in solved.chunks_exact(width).enumerate() {
            d[i * rows + j] += s * dot(g, solved);
        }
    }
}
