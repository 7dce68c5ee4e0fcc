//! What carries a change from one block to the next: velocities of bodies, residuals of rows, or the impulses
//! themselves where only the Delassus matrix is known.

use crate::index::{BlockId, MassId};
use crate::math::{dot, dot_6, mul_add, mul_transposed_add};
use crate::problem::delassus::BlockMatrix;
use crate::problem::jacobian::Incidence;
use crate::problem::mass::MassBlock;
use crate::problem::{Block, Primal, Problem};

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

    /// [`Carrier::row_velocity`] of a block of three rows.
    #[inline]
    fn contact_velocity(&self, k: usize, lambda: &[f64]) -> [f64; 3] {
        let mut w = [0.0; 3];
        self.row_velocity(k, lambda, &mut w);
        w
    }

    /// [`Carrier::pass_on`] of a block of three rows.
    #[inline]
    fn contact_pass_on(&mut self, k: usize, delta: &[f64; 3]) {
        self.pass_on(k, delta);
    }
}

/// M_b⁻¹ as the sweep needs it.
#[derive(Clone, Copy, Debug)]
enum Inverse {
    /// 1/m and the six numbers of the symmetric I⁻¹ (xx, xy, xz, yy, yz, zz).
    Rigid(f64, [f64; 6]),
    /// Use the stored columns M_b⁻¹G_kbᵀ.
    Columns,
}

/// The local-residual sweep: v of all bodies is carried, w is computed from it.   [GS11 (16), Alg 2.2]
pub(super) struct Velocities<'a> {
    problem: &'a Problem,
    primal: &'a Primal,
    v: &'a mut [f64],
    inverse: Vec<Inverse>,
    /// Rows (M_b⁻¹G_kbᵀ)ᵀ of entries whose mass is not rigid; a rigid body is cheaper to solve on the fly
    /// than to read from memory.
    columns: Vec<f64>,
    column_starts: Vec<usize>,
}

impl<'a> Velocities<'a> {
    pub(super) fn new(problem: &'a Problem, primal: &'a Primal, v: &'a mut [f64]) -> Self {
        let inverse: Vec<Inverse> = primal.mass().iter().map(Inverse::of).collect();
        let (mut columns, mut column_starts, mut solved) = (Vec::new(), Vec::new(), Vec::new());
        if inverse
            .iter()
            .any(|inverse| matches!(inverse, Inverse::Columns))
        {
            for e in 0..primal.jacobian().n_entries() {
                column_starts.push(columns.len());
                if let Inverse::Columns = inverse[primal.jacobian().entry_mass(e)] {
                    primal.solve_rows(e, &mut solved);
                    columns.extend_from_slice(&solved);
                }
            }
        }
        Velocities {
            problem,
            primal,
            v,
            inverse,
            columns,
            column_starts,
        }
    }

    fn blocks(&self) -> &'a [Block] {
        self.problem.blocks()
    }

    /// d_b = M_b⁻¹G_kbᵀΔ for one Jacobian entry, added to `out`.
    fn body_change(&self, e: usize, delta: &[f64], out: &mut [f64]) {
        let jacobian = self.primal.jacobian();
        match &self.inverse[jacobian.entry_mass(e)] {
            Inverse::Rigid(mass, inertia) => {
                let mut impulse = [0.0; 6];
                mul_transposed_add(jacobian.entry_values(e), delta, &mut impulse);
                add_rigid(*mass, inertia, &impulse, out);
            }
            Inverse::Columns => {
                let start = self.column_starts[e];
                let length = delta.len() * out.len();
                mul_transposed_add(&self.columns[start..start + length], delta, out);
            }
        }
    }
}

impl Carrier for Velocities<'_> {
    #[inline]
    fn row_velocity(&self, k: usize, lambda: &[f64], w: &mut [f64]) {
        self.primal
            .row_velocity(&self.blocks()[k], k, self.v, lambda, w);
    }

    #[inline]
    fn pass_on(&mut self, k: usize, delta: &[f64]) {
        let jacobian = self.primal.jacobian();
        for e in jacobian.entry_range(k) {
            let b = jacobian.entry_mass(e);
            let columns = self.primal.columns(b);
            if let Inverse::Rigid(mass, inertia) = &self.inverse[b] {
                let mut impulse = [0.0; 6];
                mul_transposed_add(jacobian.entry_values(e), delta, &mut impulse);
                add_rigid(*mass, inertia, &impulse, &mut self.v[columns]);
            } else {
                let start = self.column_starts[e];
                let stored = &self.columns[start..start + delta.len() * columns.len()];
                mul_transposed_add(stored, delta, &mut self.v[columns]);
            }
        }
    }

    fn refresh(&mut self, lambda: &[f64]) {
        self.problem.velocity(lambda, self.v);
    }

    fn begin(&mut self, _lambda: &[f64]) {}

    #[inline]
    fn contact_velocity(&self, k: usize, lambda: &[f64]) -> [f64; 3] {
        let rows = self.blocks()[k].rows();
        let (sigma, q) = (
            &self.primal.sigma()[rows.clone()],
            &self.primal.q()[rows.clone()],
        );
        let lambda = &lambda[rows];
        let mut w: [f64; 3] = std::array::from_fn(|i| sigma[i] * lambda[i] - q[i]);
        let jacobian = self.primal.jacobian();
        for e in jacobian.entry_range(k) {
            let v = &self.v[self.primal.columns(jacobian.entry_mass(e))];
            match (jacobian.entry_values(e).as_chunks::<6>(), v.as_array::<6>()) {
                ((&[n, t1, t2], []), Some(v)) => {
                    w[0] += dot_6(&n, v);
                    w[1] += dot_6(&t1, v);
                    w[2] += dot_6(&t2, v);
                }
                _ => mul_add(jacobian.entry_values(e), v, &mut w),
            }
        }
        w
    }

    #[inline]
    fn contact_pass_on(&mut self, k: usize, delta: &[f64; 3]) {
        let jacobian = self.primal.jacobian();
        for e in jacobian.entry_range(k) {
            let b = jacobian.entry_mass(e);
            let v = &mut self.v[self.primal.columns(b)];
            match (
                &self.inverse[b],
                jacobian.entry_values(e).as_chunks::<6>(),
                v.as_mut_array::<6>(),
            ) {
                (Inverse::Rigid(mass, inertia), (&[n, t1, t2], []), Some(v)) => {
                    let impulse: [f64; 6] = std::array::from_fn(|j| {
                        n[j] * delta[0] + t1[j] * delta[1] + t2[j] * delta[2]
                    });
                    add_rigid(*mass, inertia, &impulse, v);
                }
                _ => {
                    let start = self.column_starts[e];
                    let length = 3 * v.len();
                    mul_transposed_add(&self.columns[start..start + length], delta, v);
                }
            }
        }
    }
}

impl Inverse {
    fn of(mass: &MassBlock) -> Inverse {
        match mass {
            MassBlock::Rigid(body) => {
                let i = body.inverse_inertia();
                let symmetric = [
                    i.x_axis.x, i.y_axis.x, i.z_axis.x, i.y_axis.y, i.z_axis.y, i.z_axis.z,
                ];
                Inverse::Rigid(1.0 / body.mass(), symmetric)
            }
            MassBlock::Dense(_) | MassBlock::Tree(_) => Inverse::Columns,
        }
    }
}

/// out += (impulse/m, I⁻¹ torque).
#[inline]
fn add_rigid(mass: f64, i: &[f64; 6], impulse: &[f64; 6], out: &mut [f64]) {
    let [fx, fy, fz, tx, ty, tz] = *impulse;
    let change = [
        mass * fx,
        mass * fy,
        mass * fz,
        i[0] * tx + i[1] * ty + i[2] * tz,
        i[1] * tx + i[3] * ty + i[4] * tz,
        i[2] * tx + i[4] * ty + i[5] * tz,
    ];
    for (out, change) in out.iter_mut().zip(change) {
        *out += change;
    }
}

/// The residual-updating sweep: r of all rows is carried and updated through the bodies a block touches.
/// [GS11 Alg 2.1]
pub(super) struct ResidualUpdating<'a> {
    inner: Velocities<'a>,
    incidence: Incidence,
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
        let r = vec![0.0; inner.problem.n_rows()];
        ResidualUpdating {
            inner,
            incidence,
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
            self.inner.body_change(e, delta, change);
            // r_c ← r_c + G_cb d_b for every row on the body, k included   [GS11 Alg 2.1, lines 10-11]
            for &(BlockId(c), f) in self.incidence.of(MassId(b as u32)) {
                let r = &mut self.r[blocks[c as usize].rows()];
                mul_add(primal.jacobian().entry_values(f), change, r);
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
