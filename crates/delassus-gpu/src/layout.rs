//! A problem as flat arrays: who touches whom as words, everything else as single-precision numbers.

use delassus::linalg::{
    generalised_inverse, largest_eigenvalue_2, largest_eigenvalue_3, regular_inverse_3,
};
use delassus::problem::delassus::{BlockMatrix, DiagonalBlocks};
use delassus::problem::{Block, Form, Primal};
use delassus::solver::Rule;
use delassus::{BlockId, MassId};
use delassus::{Law, Problem};

use crate::colour::colours;
use crate::device::{GpuError, single};

/// Words of one Jacobian entry and of one item in `index`.
const ENTRY: usize = 3;
const ITEM: usize = 3;
/// Words of one block, numbers of one row.
pub(crate) const BLOCK: usize = 12;
pub(crate) const ROW: usize = 8;

/// Kinds of blocks, by the numbers the kernels know them by.
const EQUALITY: u32 = 0;
const BOUNDED: u32 = 1;
const ISO: u32 = 2;
const EXACT: u32 = 3;
const BOX: u32 = 4;
const PROJECT: u32 = 5;
const NONLINEAR: u32 = 6;
const CCP: u32 = 7;

/// Who touches whom: built again only when the topology changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Entries of every block; bodies with their items; the body of every velocity; blocks in the order of colours.
    pub(crate) index: Vec<u32>,
    /// Where the parts of `index` begin; entries are at 0.
    pub(crate) bodies: usize,
    pub(crate) owners: usize,
    pub(crate) items: usize,
    pub(crate) order: usize,
    /// For every block its first entry, in words of `index`, and their number.
    entries: Vec<(usize, usize)>,
    pub(crate) velocities: usize,
    /// Values of G; those of M⁻¹Gᵀ follow in the same places.
    pub(crate) lift: usize,
    /// Where D̃ of each block begins.
    matrices: Vec<usize>,
    /// Values in all.
    pub(crate) values: usize,
    /// Sizes of the colours, in order.
    pub(crate) colours: Vec<usize>,
}

impl Layout {
    /// The arrays of a problem; with colours only where a sweep goes by them.
    pub(crate) fn of(problem: &Problem, coloured: bool) -> Layout {
        let mut layout = match problem.form() {
            Form::Primal(primal) => Layout::of_bodies(problem, primal),
            Form::Dual(matrix) => Layout::of_matrix(matrix),
        };
        for block in problem.blocks() {
            layout.matrices.push(layout.values);
            layout.values += 2 * block.n_rows * block.n_rows;
        }
        layout.order = layout.index.len();
        if let (Form::Primal(primal), true) = (problem.form(), coloured) {
            for colour in colours(primal, problem.blocks().len()) {
                layout.colours.push(colour.len());
                layout.index.extend(colour);
            }
        }
        layout
    }

    fn of_bodies(problem: &Problem, primal: &Primal) -> Layout {
        let mut layout = Layout::default();
        let mut firsts = vec![0];
        for mass in primal.mass() {
            firsts.push(firsts[firsts.len() - 1] + mass.dim());
        }
        layout.velocities = firsts[primal.mass().len()];
        let jacobian = primal.jacobian();
        // Where the values of every entry begin; the same number places M⁻¹Gᵀ behind all of G.
        let mut places = Vec::with_capacity(jacobian.n_entries());
        let mut values = 0;
        for k in 0..problem.blocks().len() {
            let begin = layout.index.len();
            for mass in jacobian.masses(BlockId(k as u32)) {
                let b = mass.index();
                let width = primal.mass()[b].dim();
                layout.push(&[firsts[b], width, values]);
                places.push(values);
                values += problem.blocks()[k].n_rows * width;
            }
            let count = (layout.index.len() - begin) / ENTRY;
            layout.entries.push((begin, count));
        }
        layout.lift = values;
        layout.values = 2 * values;
        let incidence = jacobian.incidence(primal.mass().len());
        let bodies = 0..primal.mass().len();
        layout.bodies = layout.index.len();
        let mut items = Vec::with_capacity(ITEM * places.len());
        for b in bodies.clone() {
            let begin = items.len() / ITEM;
            for &(k, e) in incidence.of(MassId(b as u32)) {
                let block = problem.blocks()[k.index()];
                items.extend([block.start, block.n_rows, values + places[e]]);
            }
            let end = items.len() / ITEM;
            layout.push(&[begin, end, firsts[b], firsts[b + 1] - firsts[b]]);
        }
        layout.owners = layout.index.len();
        for b in bodies {
            for _ in firsts[b]..firsts[b + 1] {
                layout.push(&[b]);
            }
        }
        layout.items = layout.index.len();
        layout.push(&items);
        layout
    }

    /// In dual form the row velocities themselves are the state: every block is its own body, G is the identity
    /// there, and S stands where M⁻¹Gᵀ does.
    fn of_matrix(matrix: &BlockMatrix) -> Layout {
        let mut layout = Layout {
            velocities: matrix.n_rows(),
            ..Layout::default()
        };
        let blocks = 0..matrix.n_blocks();
        for k in blocks.clone() {
            let rows = matrix.rows(k);
            layout.entries.push((layout.index.len(), 1));
            layout.push(&[rows.start, rows.len(), layout.values]);
            layout.values += rows.len() * rows.len();
        }
        layout.lift = layout.values;
        layout.bodies = layout.index.len();
        let mut items = Vec::new();
        for k in blocks.clone() {
            let begin = items.len() / ITEM;
            for (j, values) in matrix.block_row(k) {
                items.extend([matrix.rows(j).start, matrix.rows(j).len(), layout.values]);
                layout.values += values.len();
            }
            let rows = matrix.rows(k);
            layout.push(&[begin, items.len() / ITEM, rows.start, rows.len()]);
        }
        layout.owners = layout.index.len();
        for k in blocks {
            for _ in matrix.rows(k) {
                layout.push(&[k]);
            }
        }
        layout.items = layout.index.len();
        layout.push(&items);
        layout
    }

    fn push(&mut self, words: &[usize]) {
        self.index.extend(words.iter().map(|&word| word as u32));
    }

    /// G, then M⁻¹Gᵀ, then D̃ and its inverse of every block.
    pub(crate) fn fill_values(
        &self,
        problem: &Problem,
        diagonals: &DiagonalBlocks,
        rule: Rule,
        out: &mut Vec<f32>,
    ) -> Result<(), GpuError> {
        out.clear();
        out.reserve(self.values);
        match problem.form() {
            Form::Primal(primal) => fill_bodies(problem, primal, out)?,
            Form::Dual(matrix) => fill_matrix(matrix, out)?,
        }
        for (k, block) in problem.blocks().iter().enumerate() {
            let d = diagonals.block(k);
            extend(out, "the diagonal blocks", d.iter().copied())?;
            let inverse = match kind(block, d, rule) {
                (EQUALITY, ..) => generalised_inverse(d, block.n_rows),
                (.., Some(inverse)) => unpadded(&inverse, block.n_rows),
                _ => vec![0.0; d.len()],
            };
            extend(
                out,
                "an inverse of a diagonal block",
                inverse.iter().copied(),
            )?;
        }
        Ok(())
    }

    /// The records of all blocks.
    pub(crate) fn fill_blocks(
        &self,
        problem: &Problem,
        diagonals: &DiagonalBlocks,
        rule: Rule,
        out: &mut Vec<u32>,
    ) -> Result<(), GpuError> {
        out.clear();
        for (k, block) in problem.blocks().iter().enumerate() {
            let d = diagonals.block(k);
            let (kind, _) = kind(block, d, rule);
            let (law, mu) = match block.law {
                Law::Equality => (0, [0.0; 2]),
                Law::FrictionBox { mu } => (2, [mu; 2]),
                Law::FrictionCone { mu } => (3, [mu; 2]),
                Law::EllipticCone { mu } => (4, mu),
                _ => (1, [0.0; 2]),
            };
            let (step, normal_step) = steps(block, d, kind);
            let (entry, entries) = self.entries[k];
            let words = [
                block.start,
                block.n_rows,
                entry,
                entries,
                self.matrices[k],
                kind as usize,
                law,
                0,
            ];
            out.extend(words.map(|word| word as u32));
            for x in [mu[0], mu[1], step, normal_step] {
                out.push(single("the step of a contact", x)?.to_bits());
            }
        }
        Ok(())
    }
}

/// w₀, Σ, λ₀, d and the bounds of every row, all counted from λ₀.
pub(crate) fn fill_rows(
    problem: &Problem,
    rule: Rule,
    lambda: &[f64],
    w: &[f64],
    out: &mut Vec<f32>,
) -> Result<(), GpuError> {
    out.clear();
    let sigma = match problem.form() {
        Form::Primal(primal) => primal.sigma(),
        Form::Dual(_) => &[],
    };
    for (k, block) in problem.blocks().iter().enumerate() {
        let rows = block.rows();
        let d = problem.diagonal_blocks().block(k);
        let bounds = bounds(block, rule, &lambda[rows.clone()]);
        for (i, row) in rows.enumerate() {
            // A row that no mass feels has no scale of its own; one will do for the device's own measure.
            let scale = d[i * block.n_rows + i].abs();
            let scale = if 0.0 < scale { scale } else { 1.0 };
            let (lo, hi) = bounds(i);
            let sigma = sigma.get(row).copied().unwrap_or(0.0);
            let numbers = [w[row], sigma, lambda[row], scale, lo, hi, 0.0, 0.0];
            extend(out, "the rows", numbers.into_iter())?;
        }
    }
    Ok(())
}

/// What row i of a block may add to its impulse; the first tangent of a round cone keeps |λ_t|² − μ²λ_n² instead.
fn bounds<'a>(
    block: &'a Block,
    rule: Rule,
    lambda: &'a [f64],
) -> impl Fn(usize) -> (f64, f64) + 'a {
    let free = (f64::NEG_INFINITY, f64::INFINITY);
    let is_box = rule == Rule::Box || matches!(block.law, Law::FrictionBox { .. });
    let (mu, scale) = match block.law {
        Law::EllipticCone { mu } => (1.0, mu),
        Law::FrictionBox { mu } | Law::FrictionCone { mu } => (mu, [1.0; 2]),
        _ => (0.0, [1.0; 2]),
    };
    let over = move |i: usize| {
        let s = scale[i - 1];
        if 0.0 < s { lambda[i] / s } else { 0.0 }
    };
    move |i| match block.law {
        Law::Equality => free,
        Law::Unilateral => (-lambda[i], f64::INFINITY),
        Law::Interval { lo, hi } => (lo - lambda[i], hi - lambda[i]),
        _ if i == 0 => (-lambda[0], f64::INFINITY),
        _ if is_box => (-mu * lambda[0] - over(i), mu * lambda[0] - over(i)),
        _ if i == 1 => {
            let squares: f64 = (1..block.n_rows).map(|i| over(i) * over(i)).sum();
            (squares - mu * mu * lambda[0] * lambda[0], 0.0)
        }
        _ => free,
    }
}

/// Puts impulses back on what their law allows, in double precision: rounding on the device leaves them a last
/// place outside.
pub(crate) fn confine(problem: &Problem, rule: Rule, lambda: &mut [f64]) {
    for block in problem.blocks() {
        let lambda = &mut lambda[block.rows()];
        match block.law {
            Law::Equality => {}
            Law::Unilateral => lambda.iter_mut().for_each(|x| *x = x.max(0.0)),
            Law::Interval { lo, hi } => {
                lambda.iter_mut().for_each(|x| *x = x.max(lo).min(hi));
            }
            _ => confine_contact(&block.law, rule, lambda),
        }
    }
}

fn confine_contact(law: &Law, rule: Rule, lambda: &mut [f64]) {
    let (mu, scale) = match *law {
        Law::EllipticCone { mu } => (1.0, mu),
        Law::FrictionBox { mu } | Law::FrictionCone { mu } => (mu, [1.0; 2]),
        _ => return,
    };
    lambda[0] = lambda[0].max(0.0);
    let reach = mu * lambda[0];
    let is_box = rule == Rule::Box || matches!(law, Law::FrictionBox { .. });
    let mut t = [0.0; 2];
    for i in 1..lambda.len() {
        let s = scale[i - 1];
        t[i - 1] = if 0.0 < s { lambda[i] / s } else { 0.0 };
    }
    if is_box {
        t = t.map(|t| t.max(-reach).min(reach));
    } else {
        t = delassus::law::cone::project_disk(t, reach);
    }
    for i in 1..lambda.len() {
        lambda[i] = t[i - 1] * scale[i - 1];
    }
}

fn extend(
    out: &mut Vec<f32>,
    what: &'static str,
    numbers: impl Iterator<Item = f64>,
) -> Result<(), GpuError> {
    for x in numbers {
        out.push(single(what, x)?);
    }
    Ok(())
}

fn fill_bodies(problem: &Problem, primal: &Primal, out: &mut Vec<f32>) -> Result<(), GpuError> {
    let mut columns = Vec::new();
    for k in (0..problem.blocks().len() as u32).map(BlockId) {
        for (mass, mut rows) in primal.written_rows(k) {
            extend(out, "the Jacobian", rows.iter().copied())?;
            let mass = &primal.mass()[mass.index()];
            rows.chunks_exact_mut(mass.dim())
                .for_each(|row| mass.solve(row));
            extend(&mut columns, "the inverse masses", rows.into_iter())?;
        }
    }
    out.append(&mut columns);
    Ok(())
}

fn fill_matrix(matrix: &BlockMatrix, out: &mut Vec<f32>) -> Result<(), GpuError> {
    for k in 0..matrix.n_blocks() {
        let rows = matrix.rows(k).len();
        out.extend((0..rows * rows).map(|e| if e / rows == e % rows { 1.0 } else { 0.0 }));
    }
    for k in 0..matrix.n_blocks() {
        let rows = matrix.rows(k).len();
        for (j, values) in matrix.block_row(k) {
            // Transposed: a row of items for every row of block j.
            let columns = matrix.rows(j).len();
            let places = (0..columns).flat_map(|i| (0..rows).map(move |c| c * columns + i));
            extend(
                out,
                "the Delassus matrix",
                places.map(|place| values[place]),
            )?;
        }
    }
    Ok(())
}

/// The number a block's rule is known by, and the inverse of its rows where the rule solves for stick; a rule whose
/// inverse does not exist becomes `iso`, as on the CPU.
fn kind(block: &Block, d: &[f64], rule: Rule) -> (u32, Option<[f64; 9]>) {
    match block.law {
        Law::Equality => return (EQUALITY, None),
        Law::Unilateral | Law::Interval { .. } => return (BOUNDED, None),
        Law::FrictionBox { .. } => return (BOX, None),
        _ => {}
    }
    let solves = match rule {
        Rule::Box => return (BOX, None),
        Rule::Ccp => return (CCP, None),
        Rule::Iso => return (ISO, None),
        Rule::Exact => EXACT,
        Rule::Project => PROJECT,
        Rule::Nonlinear => NONLINEAR,
    };
    match regular_inverse_3(&scaled(block, d)) {
        Some(inverse) => (solves, Some(inverse)),
        None => (ISO, None),
    }
}

/// D padded to three rows, in the rows in which the cone is round.
fn scaled(block: &Block, d: &[f64]) -> [f64; 9] {
    let rows = block.n_rows;
    let scale = match block.law {
        Law::EllipticCone { mu } => [1.0, mu[0], mu[1]],
        _ => [1.0; 3],
    };
    let mut out = [0.0; 9];
    for i in 0..rows {
        for j in 0..rows {
            out[3 * i + j] = d[rows * i + j] * scale[i] * scale[j];
        }
    }
    if rows == 2 {
        out[8] = out[4];
    }
    out
}

fn unpadded(a: &[f64; 9], rows: usize) -> Vec<f64> {
    (0..rows * rows)
        .map(|e| a[3 * (e / rows) + e % rows])
        .collect()
}

/// 1/λ_max of the tangential rows (of all rows for the convex relaxation) and 1/d_nn; zero where nothing moves.
fn steps(block: &Block, d: &[f64], kind: u32) -> (f64, f64) {
    if kind == EQUALITY || kind == BOUNDED {
        return (0.0, 0.0);
    }
    let d = scaled(block, d);
    let top = match kind {
        CCP => largest_eigenvalue_3(&d),
        _ => largest_eigenvalue_2(d[4], d[5], d[7], d[8]),
    };
    let inverse = |x: f64| if 0.0 < x { 1.0 / x } else { 0.0 };
    (inverse(top), inverse(d[0]))
}
