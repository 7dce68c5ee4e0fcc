//! What carries a change from one block to the next: velocities of bodies, residuals of rows, or the impulses
//! themselves where only the Delassus matrix is known.

use crate::index::{BlockId, MassId};
use crate::math::{dot, mul_add, mul_transposed_add};
use crate::problem::delassus::BlockMatrix;
use crate::problem::jacobian::Incidence;
use crate::problem::mass::MassBlock;
use crate::problem::place::force;
use crate::problem::{Block, Primal, Problem};
use crate::solver::sweep::inverse::{Wide, of_body, push, push_at};

/// Knows the row velocity of any block at any moment of a sweep.
pub(in crate::solver) trait Carrier {
    /// w ← row velocity of block k for the impulses as they are now.
    fn row_velocity(&self, k: usize, lambda: &[f64], w: &mut [f64]);

    /// Block k has just changed its impulse by Δ.
    fn pass_on(&mut self, k: usize, delta: &[f64]);

    /// Recomputes everything carried from the impulses alone.
    fn refresh(&mut self, lambda: &[f64]);

    /// Starts from impulses whose velocities are already right.
    fn begin(&mut self, lambda: &[f64]) {
        self.refresh(lambda);
    }
}

/// M_b⁻¹ as the sweep needs it.
#[derive(Clone, Copy, Debug)]
enum Inverse {
    /// Of a free body.
    Free([f64; 7]),
    /// Use the stored columns M_b⁻¹G_kbᵀ.
    Columns,
}

/// How masses answer to impulses of their blocks.
struct Answers<'a> {
    primal: &'a Primal,
    inverse: Vec<Inverse>,
    /// Rows and columns of entries whose mass is no free body, and where those of each entry begin; empty where all
    /// masses are free bodies.
    wide: Wide,
    starts: Vec<usize>,
}

impl<'a> Answers<'a> {
    fn new(primal: &'a Primal) -> Answers<'a> {
        let inverse: Vec<Inverse> = primal.mass().iter().map(Inverse::of).collect();
        let (mut wide, mut starts) = (Wide::default(), Vec::new());
        let columns = |inverse: &Inverse| matches!(inverse, Inverse::Columns);
        if inverse.iter().any(columns) {
            starts.resize(primal.jacobian().n_entries(), 0);
            for (e, start) in starts.iter_mut().enumerate() {
                if columns(&inverse[primal.jacobian().entry_mass(e)]) {
                    *start = wide.add(primal, e);
                }
            }
        }
        Answers {
            primal,
            inverse,
            wide,
            starts,
        }
    }

    /// w ← w + G_kb v_b of one entry.
    #[inline]
    fn add_velocity(&self, e: usize, v: &[f64], w: &mut [f64]) {
        match self.inverse[self.primal.jacobian().entry_mass(e)] {
            Inverse::Free(_) => self.primal.add_velocity(e, v, w),
            Inverse::Columns => mul_add(self.wide.rows(self.starts[e], v.len() * w.len()), v, w),
        }
    }

    /// v ← v + M_b⁻¹G_kbᵀΔ of one entry.
    #[inline]
    fn add_change(&self, e: usize, delta: &[f64], v: &mut [f64]) {
        match &self.inverse[self.primal.jacobian().entry_mass(e)] {
            Inverse::Free(inverse) => {
                let mut impulse = [0.0; 6];
                self.primal.add_impulse(e, delta, &mut impulse);
                push(inverse, &impulse, v);
            }
            Inverse::Columns => {
                let columns = self.wide.columns(self.starts[e], delta.len() * v.len());
                mul_transposed_add(columns, delta, v);
            }
        }
    }
}

/// The local-residual sweep: v of all bodies is carried, w is computed from it.   [GS11 (16), Alg 2.2]
pub(super) struct Velocities<'a> {
    problem: &'a Problem,
    primal: &'a Primal,
    v: &'a mut [f64],
    answers: Answers<'a>,
}

impl<'a> Velocities<'a> {
    pub(super) fn new(problem: &'a Problem, primal: &'a Primal, v: &'a mut [f64]) -> Self {
        Velocities {
            problem,
            primal,
            v,
            answers: Answers::new(primal),
        }
    }

    fn blocks(&self) -> &'a [Block] {
        self.problem.blocks()
    }
}

impl Carrier for Velocities<'_> {
    #[inline(always)]
    fn row_velocity(&self, k: usize, lambda: &[f64], w: &mut [f64]) {
        let (primal, start) = (self.primal, self.blocks()[k].start);
        let velocity = |b: usize| &self.v[primal.columns(b)];
        let add = |e: usize, w: &mut [f64]| {
            let v = velocity(primal.jacobian().entry_mass(e));
            self.answers.add_velocity(e, v, w);
        };
        let lambda = &lambda[start..start + w.len()];
        primal.row_velocity_from((k, start), lambda, w, velocity, add);
    }

    #[inline(always)]
    fn pass_on(&mut self, k: usize, delta: &[f64]) {
        let (primal, jacobian) = (self.primal, self.primal.jacobian());
        if let Some(point) = jacobian.point(k) {
            // f = Σ dᵢΔᵢ pushes the first body and pulls the second.
            let f = force(point.directions, delta);
            for (b, arm, side) in point.ends() {
                if let Inverse::Free(inverse) = &self.answers.inverse[b] {
                    let v = &mut self.v[primal.columns(b)];
                    push_at(inverse, f * side.sign(), arm, v);
                }
            }
            return;
        }
        for e in jacobian.entry_range(k) {
            let v = &mut self.v[primal.columns(jacobian.entry_mass(e))];
            self.answers.add_change(e, delta, v);
        }
    }

    fn refresh(&mut self, lambda: &[f64]) {
        self.problem.velocity(lambda, self.v);
    }

    fn begin(&mut self, _lambda: &[f64]) {}
}

impl Inverse {
    fn of(mass: &MassBlock) -> Inverse {
        match mass {
            MassBlock::Rigid(body) => Inverse::Free(of_body(body)),
            MassBlock::Dense(_) | MassBlock::Tree(_) => Inverse::Columns,
        }
    }
}

/// The residual-updating sweep: r of all rows is carried and updated through the bodies a block touches.
/// [GS11 Alg 2.1]
pub(super) struct ResidualUpdating<'a> {
    inner: Velocities<'a>,
    incidence: Incidence,
    /// Rows of G written out, and where those of each entry begin: each is read as often as its body has blocks, and
    /// six numbers a row are multiplied faster than a place is looked at (132 against 201 ns a contact, 1000 contacts).
    rows: Vec<f64>,
    starts: Vec<usize>,
    r: Vec<f64>,
    change: Vec<f64>,
}

impl<'a> ResidualUpdating<'a> {
    pub(super) fn new(inner: Velocities<'a>) -> Self {
        let incidence = inner.primal.jacobian().incidence(inner.primal.mass().len());
        let widest = inner
            .primal
            .mass()
            .iter()
            .map(MassBlock::dim)
            .max()
            .unwrap_or(0);
        let (mut rows, mut starts) = (Vec::new(), vec![0]);
        for e in 0..inner.primal.jacobian().n_entries() {
            inner.primal.write_rows(e, &mut rows);
            starts.push(rows.len());
        }
        let r = vec![0.0; inner.problem.n_rows()];
        ResidualUpdating {
            inner,
            incidence,
            rows,
            starts,
            r,
            change: vec![0.0; widest],
        }
    }
}

impl Carrier for ResidualUpdating<'_> {
    fn row_velocity(&self, k: usize, _lambda: &[f64], w: &mut [f64]) {
        w.copy_from_slice(&self.r[self.inner.blocks()[k].rows()]);
    }

    fn pass_on(&mut self, k: usize, delta: &[f64]) {
        let (primal, blocks) = (self.inner.primal, self.inner.blocks());
        let rows = blocks[k].rows();
        // r_k ← r_k + Σ_kk Δ   [GS11 Alg 2.1, line 7]
        for (i, row) in rows.enumerate() {
            self.r[row] += primal.sigma()[row] * delta[i];
        }
        for e in primal.jacobian().entry_range(k) {
            let b = primal.jacobian().entry_mass(e);
            let columns = primal.columns(b);
            let change = &mut self.change[..columns.len()];
            change.fill(0.0);
            // d_b = M_b⁻¹G_kbᵀΔ
            match &self.inner.answers.inverse[b] {
                Inverse::Free(inverse) => {
                    let mut impulse = [0.0; 6];
                    let rows = &self.rows[self.starts[e]..self.starts[e + 1]];
                    mul_transposed_add(rows, delta, &mut impulse);
                    push(inverse, &impulse, change);
                }
                Inverse::Columns => self.inner.answers.add_change(e, delta, change),
            }
            // r_c ← r_c + G_cb d_b for every row on the body, k included   [GS11 Alg 2.1, lines 10-11]
            for &(BlockId(c), f) in self.incidence.of(MassId(b as u32)) {
                let r = &mut self.r[blocks[c as usize].rows()];
                mul_add(&self.rows[self.starts[f]..self.starts[f + 1]], change, r);
            }
            for (v, d) in self.inner.v[columns].iter_mut().zip(change) {
                *v += *d;
            }
        }
    }

    fn refresh(&mut self, lambda: &[f64]) {
        self.inner.refresh(lambda);
        self.inner
            .problem
            .row_velocity(self.inner.v, lambda, &mut self.r);
    }
}

/// Local residuals of a dual problem: block row k of S times all impulses.
pub(super) struct DualRows<'a> {
    pub(super) matrix: &'a BlockMatrix,
    pub(super) c: &'a [f64],
}

impl Carrier for DualRows<'_> {
    fn row_velocity(&self, k: usize, lambda: &[f64], w: &mut [f64]) {
        w.copy_from_slice(&self.c[self.matrix.rows(k)]);
        for (j, values) in self.matrix.block_row(k) {
            let lambda = &lambda[self.matrix.rows(j)];
            for (row, w) in values.chunks_exact(lambda.len()).zip(w.iter_mut()) {
                *w += dot(row, lambda);
            }
        }
    }

    fn pass_on(&mut self, _k: usize, _delta: &[f64]) {}

    fn refresh(&mut self, _lambda: &[f64]) {}
}

/// Residuals of a dual problem, updated by block column k of S. The columns are the rows of Sᵀ, which need
/// not be those of S.
pub(super) struct DualResidual<'a> {
    matrix: &'a BlockMatrix,
    transposed: BlockMatrix,
    c: &'a [f64],
    r: Vec<f64>,
}

impl<'a> DualResidual<'a> {
    pub(super) fn new(matrix: &'a BlockMatrix, c: &'a [f64]) -> Self {
        DualResidual {
            matrix,
            transposed: matrix.transposed(),
            c,
            r: vec![0.0; c.len()],
        }
    }
}

impl Carrier for DualResidual<'_> {
    fn row_velocity(&self, k: usize, _lambda: &[f64], w: &mut [f64]) {
        w.copy_from_slice(&self.r[self.matrix.rows(k)]);
    }

    fn pass_on(&mut self, k: usize, delta: &[f64]) {
        for (j, values) in self.transposed.block_row(k) {
            mul_transposed_add(values, delta, &mut self.r[self.matrix.rows(j)]);
        }
    }

    fn refresh(&mut self, lambda: &[f64]) {
        self.r.copy_from_slice(self.c);
        self.matrix.mul_add(lambda, &mut self.r);
    }
}
