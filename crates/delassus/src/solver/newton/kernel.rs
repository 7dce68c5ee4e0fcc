//! One linear system for every second-order method.
//!
//! A method states per block k a linear relation between the changes of impulse and row velocity:
//!
//! ```text
//! C_k dλ_k + B_k dw_k = b_k ,   dw_k = G_k dv + Σ_k dλ_k                                        (1)
//! A_k = (C_k + B_kΣ_k)⁻¹B_k ,  a_k = (C_k + B_kΣ_k)⁻¹b_k ,   dλ_k = a_k − A_k G_k dv              (2)
//! K dv = −r_d + Gᵀa ,   K = M + GᵀAG ,   r_d = M v − p − Gᵀλ                                      (3)
//! ```
//!
//! K has one block for each mass and the pattern of the graph of masses, however many contacts there are between two.
//! A problem given by its matrix solves (C + B S) dλ = b instead. After the solve one refinement corrects the momentum;
//! the relations hold by construction.

use super::system::System;
use crate::linalg::block_lu::{BlockLu, invert};
use crate::linalg::lu::ProfileLu;
use crate::math::max_abs;
use crate::problem::delassus::BlockMatrix;
use crate::problem::{Form, Primal};
use crate::solver::Topology;

/// Most refinements of a step.
const REFINEMENTS: usize = 8;
/// Error of the momentum, over the velocity scale, that is not worth a refinement.
const EXACT: f64 = 1e-14;
/// Error that a single refinement takes away.
const NEARLY: f64 = 1e-8;

/// What a method states: C and B of every block, row-major, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Relation {
    pub(super) c: Vec<f64>,
    pub(super) b: Vec<f64>,
}

impl Relation {
    pub(super) fn sized(system: &System<'_>) -> Relation {
        let length = system.squares.last().copied().unwrap_or(0);
        Relation {
            c: vec![0.0; length],
            b: vec![0.0; length],
        }
    }
}

/// Changes of impulse and velocity.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    pub(super) lambda: Vec<f64>,
    pub(super) v: Vec<f64>,
}

/// The factored system with its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Kernel {
    /// (C + BΣ)⁻¹ and A of every block.
    left: Vec<f64>,
    a: Vec<f64>,
    masses: BlockLu,
    matrix: ProfileLu,
    /// a of (2), G dv, a momentum, and work of small inverses.
    rows: Vec<f64>,
    products: Vec<f64>,
    momentum: Vec<f64>,
    error: Vec<f64>,
    small: Vec<f64>,
    columns: (Vec<f64>, Vec<f64>),
    /// Which rows touch which masses: while it stays, the order of elimination does.
    topology: Topology,
    prepared: bool,
    /// Factorisations so far.
    pub(super) count: usize,
}

impl Kernel {
    /// Another problem comes, perhaps of the same pattern.
    pub(super) fn begin(&mut self) {
        self.prepared = false;
        self.count = 0;
    }

    /// Takes the sizes of a problem, and its pattern where that is new.
    fn prepare(&mut self, system: &System<'_>) {
        self.prepared = true;
        let length = system.squares.last().copied().unwrap_or(0);
        self.left.resize(length, 0.0);
        self.a.resize(length, 0.0);
        self.rows.resize(system.n_rows(), 0.0);
        self.products.resize(system.n_rows(), 0.0);
        self.momentum.resize(system.problem.n_velocities(), 0.0);
        self.error.resize(system.problem.n_velocities(), 0.0);
        let widest = system
            .blocks()
            .iter()
            .map(|block| block.n_rows)
            .max()
            .unwrap_or(0);
        self.small.resize(2 * widest * widest, 0.0);
        let Some(primal) = system.primal() else {
            return;
        };
        if !self.topology.update(primal, system.blocks()) {
            return;
        }
        let sizes: Vec<usize> = primal.mass().iter().map(|mass| mass.dim()).collect();
        let pairs = (0..system.blocks().len()).flat_map(|k| {
            let entries = primal.jacobian().entry_range(k);
            let masses = entries.map(|e| primal.jacobian().entry_mass(e) as u32);
            masses
                .clone()
                .flat_map(move |a| masses.clone().map(move |b| (a, b)))
        });
        let pairs: Vec<(u32, u32)> = pairs.collect();
        self.masses.analyse(&sizes, pairs.into_iter());
    }

    /// Factors the system of a relation; false where it is singular or holds what is no number.
    pub(super) fn factor(&mut self, system: &System<'_>, relation: &Relation) -> bool {
        if !self.prepared {
            self.prepare(system);
        }
        self.count += 1;
        match system.problem.form() {
            Form::Primal(primal) => self.factor_masses(system, primal, relation),
            Form::Dual(matrix) => self.factor_matrix(system, matrix, relation),
        }
    }

    /// K = M + GᵀAG.
    fn factor_masses(&mut self, system: &System<'_>, primal: &Primal, relation: &Relation) -> bool {
        self.masses.clear();
        let (x, y) = &mut self.columns;
        for (b, mass) in primal.mass().iter().enumerate() {
            System::add_mass(mass, self.masses.block_mut(b, b), x, y);
        }
        for (k, block) in system.blocks().iter().enumerate() {
            let (n, square) = (block.n_rows, system.square(k));
            // (C + BΣ)⁻¹ and A = (C + BΣ)⁻¹B   (2)
            let (c, b) = (&relation.c[square.clone()], &relation.b[square.clone()]);
            let left = &mut self.left[square.clone()];
            let sigma = &primal.sigma()[block.rows()];
            for (e, left) in left.iter_mut().enumerate() {
                *left = c[e] + b[e] * sigma[e % n];
            }
            if !invert(left, n, &mut self.small) {
                return false;
            }
            let a = &mut self.a[square];
            multiply(left, b, n, a);
            add_block(&mut self.masses, system, (primal, k), (a, n), x);
        }
        self.masses.factor()
    }

    /// C + B S.
    fn factor_matrix(
        &mut self,
        system: &System<'_>,
        matrix: &BlockMatrix,
        relation: &Relation,
    ) -> bool {
        let matrix_rows = system.n_rows();
        self.matrix.reset(matrix_rows);
        for (k, block) in system.blocks().iter().enumerate() {
            let (m, square) = (block.n_rows, system.square(k));
            let (c, b) = (&relation.c[square.clone()], &relation.b[square]);
            for i in 0..m {
                let row = block.start + i;
                for l in 0..m {
                    self.matrix.add(row, block.start + l, c[i * m + l]);
                    let factor = b[i * m + l];
                    if factor == 0.0 {
                        continue;
                    }
                    for (j, s) in matrix.block_row(k) {
                        let columns = matrix.rows(j);
                        let width = columns.len();
                        for (column, s) in columns.zip(&s[l * width..(l + 1) * width]) {
                            self.matrix.add(row, column, factor * s);
                        }
                    }
                }
            }
        }
        0.0 < self.matrix.factor()
    }

    /// The change that satisfies the relation with right-hand side b and takes the imbalance r_d away.   (2), (3)
    pub(super) fn step(
        &mut self,
        system: &System<'_>,
        b: &[f64],
        imbalance: &[f64],
        change: &mut Change,
    ) {
        let Some(_) = system.primal() else {
            change.lambda.clear();
            change.lambda.extend_from_slice(b);
            self.matrix.solve(&mut change.lambda);
            return;
        };
        for (k, block) in system.blocks().iter().enumerate() {
            let left = &self.left[system.square(k)];
            apply(left, &b[block.rows()], &mut self.rows[block.rows()]);
        }
        // K dv = −r_d + Gᵀa
        change.v.clear();
        change.v.extend(imbalance.iter().map(|r| -r));
        system.add_impulse(&self.rows, &mut change.v);
        self.masses.solve(&mut change.v);
        // dλ = a − A G dv
        change.lambda.clear();
        change.lambda.extend_from_slice(&self.rows);
        self.follow(system, &change.v, &mut change.lambda);
        self.refine(system, imbalance, change);
    }

    /// Takes out of a change what rounding left of the momentum; the relations hold by construction.
    ///
    /// ```text
    /// r = r_d + M dv − Gᵀdλ ,  δ = −K⁻¹r ,  dv += δ ,  dλ −= A G δ           while |M⁻¹r| is worth it and falls
    /// ```
    ///
    /// Once is enough where masses are alike. Where a body carries a million times its weight, K holds entries so far
    /// apart that each round gains two digits only.
    fn refine(&mut self, system: &System<'_>, imbalance: &[f64], change: &mut Change) {
        let mut r = std::mem::take(&mut self.momentum);
        let mut error = std::mem::take(&mut self.error);
        let mut least = f64::INFINITY;
        for _ in 0..REFINEMENTS {
            system.momentum(&change.v, &mut r);
            r.iter_mut()
                .zip(imbalance)
                .for_each(|(r, d)| *r = -(*r + d));
            system.add_impulse(&change.lambda, &mut r);
            error.copy_from_slice(&r);
            system.solve_mass(&mut error);
            let size = max_abs(&error) / system.scale;
            if !(EXACT < size && size < 0.5 * least) {
                break;
            }
            self.masses.solve(&mut r);
            change.v.iter_mut().zip(&r).for_each(|(v, d)| *v += d);
            self.follow(system, &r, &mut change.lambda);
            if size < NEARLY {
                break;
            }
            least = size;
        }
        self.error = error;
        self.momentum = r;
    }

    /// λ ← λ − A G v.
    fn follow(&mut self, system: &System<'_>, v: &[f64], lambda: &mut [f64]) {
        let mut w = std::mem::take(&mut self.products);
        system.row_change(v, &mut w);
        for (k, block) in system.blocks().iter().enumerate() {
            let (n, w) = (block.n_rows, &w[block.rows()]);
            let a = self.a[system.square(k)].chunks_exact(n);
            for (lambda, a) in lambda[block.rows()].iter_mut().zip(a) {
                *lambda -= a.iter().zip(w).map(|(a, w)| a * w).sum::<f64>();
            }
        }
        self.products = w;
    }
}

/// K ← K + G_kᵀA_kG_k.
fn add_block(
    masses: &mut BlockLu,
    system: &System<'_>,
    (primal, k): (&Primal, usize),
    (a, n): (&[f64], usize),
    work: &mut Vec<f64>,
) {
    let entries = primal.jacobian().entry_range(k);
    let rows = |e: usize| system.entry_rows(e);
    for f in entries.clone() {
        let (second, g) = (primal.jacobian().entry_mass(f), rows(f));
        let width = g.len() / n;
        // A G_f
        work.clear();
        work.resize(n * width, 0.0);
        for i in 0..n {
            for l in 0..n {
                let factor = a[i * n + l];
                if factor != 0.0 {
                    let to = &mut work[i * width..(i + 1) * width];
                    to.iter_mut()
                        .zip(&g[l * width..(l + 1) * width])
                        .for_each(|(t, g)| *t += factor * g);
                }
            }
        }
        for e in entries.clone() {
            let (first, g) = (primal.jacobian().entry_mass(e), rows(e));
            let height = g.len() / n;
            let out = masses.block_mut(first, second);
            if height == 6 && width == 6 {
                add_six(g, work, out);
                continue;
            }
            for i in 0..n {
                for r in 0..height {
                    let factor = g[i * height + r];
                    if factor != 0.0 {
                        let to = &mut out[r * width..(r + 1) * width];
                        let from = &work[i * width..(i + 1) * width];
                        to.iter_mut().zip(from).for_each(|(t, x)| *t += factor * x);
                    }
                }
            }
        }
    }
}

/// out ← out + GᵀX for rows of six numbers.
#[inline]
fn add_six(g: &[f64], x: &[f64], out: &mut [f64]) {
    let (g, x) = (g.as_chunks::<6>().0, x.as_chunks::<6>().0);
    for (r, out) in out.as_chunks_mut::<6>().0.iter_mut().enumerate() {
        let mut sum = *out;
        for (g, x) in g.iter().zip(x) {
            for j in 0..6 {
                sum[j] += g[r] * x[j];
            }
        }
        *out = sum;
    }
}

/// out ← X Y, all n × n.
fn multiply(x: &[f64], y: &[f64], n: usize, out: &mut [f64]) {
    out.fill(0.0);
    for i in 0..n {
        for l in 0..n {
            let factor = x[i * n + l];
            if factor != 0.0 {
                (0..n).for_each(|j| out[i * n + j] += factor * y[l * n + j]);
            }
        }
    }
}

/// out ← X y.
pub(super) fn apply(x: &[f64], y: &[f64], out: &mut [f64]) {
    for (row, out) in x.chunks_exact(y.len()).zip(out) {
        *out = row.iter().zip(y).map(|(x, y)| x * y).sum();
    }
}
