//! Dense algebra written out plainly: the oracle that shares no code with the library's kernels.

use delassus::problem::Form;
use delassus::{BlockId, Problem};

/// A dense matrix as a list of rows.
pub(crate) type Matrix = Vec<Vec<f64>>;

/// The matrices of a primal problem, assembled entry by entry.
pub(crate) struct Assembled {
    /// G, rows × velocities.
    pub(crate) g: Matrix,
    /// M.
    pub(crate) mass: Matrix,
    /// S = G M⁻¹ Gᵀ + Σ.
    pub(crate) s: Matrix,
    /// c = G v¹ − q.
    pub(crate) c: Vec<f64>,
    /// v¹ = M⁻¹ p.
    pub(crate) free_velocity: Vec<f64>,
}

/// Assembles a primal problem from its parts; M⁻¹ comes from elimination on the assembled M.
pub(crate) fn assemble(problem: &Problem) -> Assembled {
    let Form::Primal(primal) = problem.form() else {
        panic!("only a primal problem has bodies");
    };
    let (m, n) = (problem.n_rows(), problem.n_velocities());
    let mut offsets = vec![0];
    for mass in primal.mass() {
        offsets.push(offsets[offsets.len() - 1] + mass.dim());
    }
    let mut mass = zeros(n, n);
    for (b, block) in primal.mass().iter().enumerate() {
        for j in 0..block.dim() {
            let mut unit = vec![0.0; block.dim()];
            unit[j] = 1.0;
            let mut column = vec![0.0; block.dim()];
            block.mul(&unit, &mut column);
            for i in 0..block.dim() {
                mass[offsets[b] + i][offsets[b] + j] = column[i];
            }
        }
    }
    let mut g = zeros(m, n);
    for (k, block) in problem.blocks().iter().enumerate() {
        for (b, values) in primal.written_rows(BlockId(k as u32)) {
            let width = primal.mass()[b.index()].dim();
            for (i, row) in values.chunks_exact(width).enumerate() {
                let start = offsets[b.index()];
                g[block.start + i][start..start + width].copy_from_slice(row);
            }
        }
    }
    let inverse = inverse(&mass);
    let mut s = product(&product(&g, &inverse), &transposed(&g));
    for i in 0..m {
        s[i][i] += primal.sigma()[i];
    }
    let free_velocity = apply(&inverse, primal.p());
    let gv = apply(&g, &free_velocity);
    let c = (0..m).map(|i| gv[i] - primal.q()[i]).collect();
    Assembled {
        g,
        mass,
        s,
        c,
        free_velocity,
    }
}

pub(crate) fn zeros(rows: usize, columns: usize) -> Matrix {
    vec![vec![0.0; columns]; rows]
}

pub(crate) fn transposed(a: &Matrix) -> Matrix {
    let columns = a.first().map_or(0, Vec::len);
    (0..columns)
        .map(|j| a.iter().map(|row| row[j]).collect())
        .collect()
}

pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = transposed(b);
    a.iter().map(|row| apply(&columns, row)).collect()
}

/// A x.
pub(crate) fn apply(a: &Matrix, x: &[f64]) -> Vec<f64> {
    a.iter().map(|row| dot(row, x)).collect()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Solves A x = b by elimination with row pivoting.
pub(crate) fn solve(a: &Matrix, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut a = a.clone();
    let mut x = b.to_vec();
    for step in 0..n {
        let pivot = (step..n)
            .max_by(|&i, &j| a[i][step].abs().total_cmp(&a[j][step].abs()))
            .unwrap();
        a.swap(step, pivot);
        x.swap(step, pivot);
        for i in step + 1..n {
            let factor = a[i][step] / a[step][step];
            for j in step..n {
                a[i][j] -= factor * a[step][j];
            }
            x[i] -= factor * x[step];
        }
    }
    for i in (0..n).rev() {
        x[i] = (x[i] - dot(&a[i][i + 1..], &x[i + 1..])) / a[i][i];
    }
    x
}

pub(crate) fn inverse(a: &Matrix) -> Matrix {
    let n = a.len();
    let columns: Matrix = (0..n)
        .map(|j| {
            let mut unit = vec![0.0; n];
            unit[j] = 1.0;
            solve(a, &unit)
        })
        .collect();
    transposed(&columns)
}

/// f(λ) = ½λᵀSλ + cᵀλ, the dual objective.
pub(crate) fn objective(s: &Matrix, c: &[f64], lambda: &[f64]) -> f64 {
    0.5 * dot(lambda, &apply(s, lambda)) + dot(c, lambda)
}

/// Block-diagonal part of S for the blocks of a problem, and its strictly lower block part.
pub(crate) fn split(problem: &Problem, s: &Matrix) -> (Matrix, Matrix) {
    let n = s.len();
    let (mut d, mut l) = (zeros(n, n), zeros(n, n));
    for block in problem.blocks() {
        for i in block.rows() {
            for j in 0..block.start {
                l[i][j] = s[i][j];
            }
            for j in block.rows() {
                d[i][j] = s[i][j];
            }
        }
    }
    (d, l)
}

/// |largest eigenvalue| of a matrix by the power method; good where that eigenvalue dominates.
pub(crate) fn spectral_radius(a: &Matrix, steps: usize) -> f64 {
    let mut x: Vec<f64> = (0..a.len()).map(|i| 1.0 + 0.1 * i as f64).collect();
    let mut radius = 0.0;
    for _ in 0..steps {
        let y = apply(a, &x);
        radius = norm(&y) / norm(&x);
        let length = norm(&y);
        x = y.iter().map(|y| y / length).collect();
    }
    radius
}
