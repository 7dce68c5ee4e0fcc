//! Eight contacts in lanes: rows of G, c = G v¹ − q and D without Σ, to the bits that one contact alone would have.

use glam::DVec3;
use pulp::Simd;

use super::contacts::{PointContact, SIGNS};
use crate::math::simd::{LANES, Lane, Vec3, X, cross, dot, scaled};
use crate::math::tangents;
use crate::problem::mass::Rigid;

/// Rows and columns of the six different entries of D.
const ENTRIES: [(usize, usize); 6] = [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2)];

/// Eight contacts, number by number.
pub(super) struct Eight {
    /// n, t₁, t₂.
    frame: [[Lane; 3]; 3],
    arms: [[Lane; 3]; 2],
    /// v¹ of both bodies.
    free: [[Lane; 6]; 2],
    /// 1/m and the columns of I⁻¹, zero for ground.
    inverse_mass: [Lane; 2],
    inverse_inertia: [[[Lane; 3]; 3]; 2],
    q: [Lane; 3],
    /// What is computed: rows of G on both bodies, c, and D as (nn, t₁n, t₂n, t₁t₁, t₂t₁, t₂t₂).
    pub(super) rows: [[Lane; 18]; 2],
    pub(super) c: [Lane; 3],
    pub(super) d: [Lane; 6],
}

impl Eight {
    pub(super) const NONE: Eight = Eight {
        frame: [[[0.0; LANES]; 3]; 3],
        arms: [[[0.0; LANES]; 3]; 2],
        free: [[[0.0; LANES]; 6]; 2],
        inverse_mass: [[0.0; LANES]; 2],
        inverse_inertia: [[[[0.0; LANES]; 3]; 3]; 2],
        q: [[0.0; LANES]; 3],
        rows: [[[0.0; LANES]; 18]; 2],
        c: [[0.0; LANES]; 3],
        d: [[0.0; LANES]; 6],
    };

    /// A contact into lane l.
    #[inline(always)]
    pub(super) fn put(&mut self, l: usize, contact: &PointContact) {
        let (t1, t2) = tangents(contact.normal);
        for (lanes, d) in self.frame.iter_mut().zip([contact.normal, t1, t2]) {
            put(lanes, l, d);
        }
        for (lanes, arm) in self.arms.iter_mut().zip(contact.arms) {
            put(lanes, l, arm);
        }
        for (lane, q) in self.q.iter_mut().zip(contact.q) {
            lane[l] = q;
        }
    }

    /// Its first or second body with v¹, or ground.
    #[inline(always)]
    pub(super) fn put_body(&mut self, l: usize, side: usize, body: Option<(&Rigid, &[f64; 6])>) {
        let Some((body, free)) = body else {
            self.free[side].iter_mut().for_each(|lane| lane[l] = 0.0);
            self.inverse_mass[side][l] = 0.0;
            let columns = self.inverse_inertia[side].iter_mut();
            columns.for_each(|lanes| put(lanes, l, DVec3::ZERO));
            return;
        };
        for (lane, v) in self.free[side].iter_mut().zip(free) {
            lane[l] = *v;
        }
        self.inverse_mass[side][l] = body.inverse_mass();
        let inertia = body.inverse_inertia();
        let columns = [inertia.x_axis, inertia.y_axis, inertia.z_axis];
        for (lanes, column) in self.inverse_inertia[side].iter_mut().zip(columns) {
            put(lanes, l, column);
        }
    }

    /// Rows, c and D of as many contacts as there are lanes.
    #[inline(always)]
    pub(super) fn compute<S: Simd>(&mut self, simd: S, part: usize) {
        let q = X::load_all(simd, &self.q, part);
        let mut c = [-q[0], -q[1], -q[2]];
        let mut d = [X::splat(simd, 0.0); 6];
        for side in 0..2 {
            let (force, torque) = self.directions(simd, part, side);
            let [vx, vy, vz, wx, wy, wz] = X::load_all(simd, &self.free[side], part);
            let (v, spin) = ([vx, vy, vz], [wx, wy, wz]);
            let inverse_mass = X::load(simd, &self.inverse_mass[side], part);
            let columns = &self.inverse_inertia[side];
            let x = X::load_all(simd, &columns[0], part);
            let y = X::load_all(simd, &columns[1], part);
            let z = X::load_all(simd, &columns[2], part);
            let (mut linear, mut angular) = (force, torque);
            for i in 0..3 {
                c[i] = c[i] + (dot(force[i], v) + dot(torque[i], spin));
                linear[i] = scaled(force[i], inverse_mass);
                for j in 0..3 {
                    angular[i][j] = dot([x[j], y[j], z[j]], torque[i]);
                }
            }
            for e in 0..6 {
                let (i, j) = ENTRIES[e];
                d[e] = d[e] + (dot(linear[i], force[j]) + dot(angular[i], torque[j]));
            }
        }
        for i in 0..3 {
            c[i].store(&mut self.c[i], part);
        }
        for e in 0..6 {
            d[e].store(&mut self.d[e], part);
        }
    }

    /// Linear and rotational part of the three rows on one side, [dᵀ, (r × d)ᵀ] with its sign; they are stored too.
    #[inline(always)]
    fn directions<S: Simd>(
        &mut self,
        simd: S,
        part: usize,
        side: usize,
    ) -> ([Vec3<S>; 3], [Vec3<S>; 3]) {
        let arm = X::load_all(simd, &self.arms[side], part);
        let sign = X::splat(simd, SIGNS[side]);
        let (mut force, mut torque) = ([arm; 3], [arm; 3]);
        for i in 0..3 {
            let direction = X::load_all(simd, &self.frame[i], part);
            force[i] = scaled(direction, sign);
            torque[i] = scaled(cross(arm, direction), sign);
            for j in 0..3 {
                force[i][j].store(&mut self.rows[side][6 * i + j], part);
                torque[i][j].store(&mut self.rows[side][6 * i + 3 + j], part);
            }
        }
        (force, torque)
    }
}

/// A vector into lane l.
#[inline(always)]
fn put(lanes: &mut [Lane; 3], l: usize, x: DVec3) {
    lanes[0][l] = x.x;
    lanes[1][l] = x.y;
    lanes[2][l] = x.z;
}
