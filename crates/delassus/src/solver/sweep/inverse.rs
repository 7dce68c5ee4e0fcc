//! M⁻¹ as a sweep needs it: of a free body by its few numbers, of any other mass by the columns M_b⁻¹G_kbᵀ of all
//! entries on it, stored beside their rows.
//!
//! A free body is cheaper to solve on the fly than to read from memory. A tree or a dense block is not: its rows are
//! written out over its velocities and solved once, and a sweep then only multiplies.

use glam::DVec3;

use crate::problem::Primal;
use crate::problem::mass::Rigid;

/// 1/m and the six numbers of the symmetric I⁻¹ (xx, xy, xz, yy, yz, zz).
pub(super) fn of_body(body: &Rigid) -> [f64; 7] {
    let i = body.inverse_inertia();
    [
        1.0 / body.mass(),
        i.x_axis.x,
        i.y_axis.x,
        i.z_axis.x,
        i.y_axis.y,
        i.z_axis.y,
        i.z_axis.z,
    ]
}

/// v ← v + (f/m, I⁻¹t) for an impulse (f, t) on a free body.
#[inline(always)]
pub(super) fn push(inverse: &[f64; 7], impulse: &[f64; 6], v: &mut [f64]) {
    let [m, xx, xy, xz, yy, yz, zz] = *inverse;
    let [fx, fy, fz, tx, ty, tz] = *impulse;
    let change = [
        m * fx,
        m * fy,
        m * fz,
        xx * tx + xy * ty + xz * tz,
        xy * tx + yy * ty + yz * tz,
        xz * tx + yz * ty + zz * tz,
    ];
    for (v, change) in v.iter_mut().zip(change) {
        *v += change;
    }
}

/// The same for an impulse f at the end of an arm: (f, arm × f).
#[inline(always)]
pub(super) fn push_at(inverse: &[f64; 7], f: DVec3, arm: DVec3, v: &mut [f64]) {
    let t = arm.cross(f);
    push(inverse, &[f.x, f.y, f.z, t.x, t.y, t.z], v);
}

/// Rows of entries on masses that are not free bodies, written out, and the columns M_b⁻¹G_kbᵀ in the same places.
#[derive(Clone, Debug, Default)]
pub(super) struct Wide {
    rows: Vec<f64>,
    columns: Vec<f64>,
    solved: Vec<f64>,
}

impl Wide {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.columns.clear();
    }

    /// Numbers of all rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds entry `e`; gives the place of its first number.
    pub(super) fn add(&mut self, primal: &Primal, e: usize) -> usize {
        let start = self.rows.len();
        primal.write_rows(e, &mut self.rows);
        primal.solve_rows(e, &mut self.solved);
        self.columns.extend_from_slice(&self.solved);
        start
    }

    /// So many numbers of the rows from a place on.
    #[inline]
    pub(super) fn rows(&self, start: usize, length: usize) -> &[f64] {
        &self.rows[start..start + length]
    }

    /// So many numbers of the columns, row by row of the entry.
    #[inline]
    pub(super) fn columns(&self, start: usize, length: usize) -> &[f64] {
        &self.columns[start..start + length]
    }
}
