//! Eight contacts at once: the visit of `rule=iso` for contacts at a point, one contact per lane.
//!
//! Every lane computes what a single contact would; no sum crosses lanes, and nothing is fused, so that the bits
//! do not depend on how many lanes the processor really has.

use super::point::Point;
use crate::math::largest_eigenvalue_2;

/// Contacts visited at once.
pub(super) const LANES: usize = 8;
/// One number of each contact.
type Lane = [f64; LANES];
/// Marks a lane without a contact.
pub(super) const EMPTY: u32 = u32::MAX;
/// Squares below this would underflow; so small a tangential impulse is none.
const TINY: f64 = 1e-280;

/// One rigid body as the sweep needs it: velocity (6), 1/m and I⁻¹ as (xx, xy, xz, yy, yz, zz). A dense mass has
/// its velocities in as many rows as they fill.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(super) struct Row(pub(super) [f64; Row::WIDTH]);

impl Row {
    /// Numbers in a row.
    pub(super) const WIDTH: usize = 16;
    /// Of these a rigid body uses so many.
    const USED: usize = 13;
}

/// Contacts that share no mass, in lanes.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Group {
    /// Directions (n, t₁, t₂), three numbers each.
    frame: [[Lane; 3]; 3],
    /// From the centres of mass of both bodies to the contact.
    arms: [[Lane; 3]; 2],
    q: [Lane; 3],
    sigma: [Lane; 3],
    /// D as (nn, nt₁, nt₂, t₁t₁, t₁t₂, t₂t₂).
    d: [Lane; 6],
    /// 1/d_nn.
    normal_step: Lane,
    /// 1/λ_max(D_tt).
    step: Lane,
    mu: Lane,
    lambda: [Lane; 3],
    /// Rows of the bodies in the state; the first row stands for ground.
    bodies: [[u32; LANES]; 2],
    /// Block and first row of the problem, or `EMPTY`.
    pub(super) blocks: [(u32, u32); LANES],
}

impl Group {
    /// Lanes without contacts: what they compute is zero and lands on ground.
    pub(super) const NONE: Group = Group {
        frame: [[[0.0; LANES]; 3]; 3],
        arms: [[[0.0; LANES]; 3]; 2],
        q: [[0.0; LANES]; 3],
        sigma: [[0.0; LANES]; 3],
        d: [[0.0; LANES]; 6],
        normal_step: [0.0; LANES],
        step: [0.0; LANES],
        mu: [0.0; LANES],
        lambda: [[0.0; LANES]; 3],
        bodies: [[0; LANES]; 2],
        blocks: [(EMPTY, 0); LANES],
    };

    /// Puts a contact into a lane; its bodies are rows of the domain's state.
    pub(super) fn set(&mut self, l: usize, contact: &Contact<'_>, bodies: [u32; 2]) {
        let Contact { point, d, .. } = contact;
        for i in 0..3 {
            for j in 0..3 {
                self.frame[i][j][l] = point.frame[i][j];
            }
            for (arm, value) in self.arms.iter_mut().zip(&point.arms) {
                arm[i][l] = value[i];
            }
            self.q[i][l] = contact.q[i];
            self.sigma[i][l] = contact.sigma[i];
        }
        for (to, from) in self.d.iter_mut().zip([0, 3, 6, 4, 5, 8]) {
            to[l] = d[from];
        }
        let top = largest_eigenvalue_2(d[4], d[5], d[7], d[8]);
        self.step[l] = if 0.0 < top { 1.0 / top } else { 0.0 };
        self.normal_step[l] = 1.0 / d[0];
        self.mu[l] = contact.mu;
        self.bodies[0][l] = bodies[0];
        self.bodies[1][l] = bodies[1];
        self.blocks[l] = contact.block;
    }

    /// Takes the impulses from the problem's rows.
    pub(super) fn load(&mut self, lambda: &[f64]) {
        for l in 0..LANES {
            let (block, start) = self.blocks[l];
            if block != EMPTY {
                for i in 0..3 {
                    self.lambda[i][l] = lambda[start as usize + i];
                }
            }
        }
    }

    /// Writes the impulses to the problem's rows.
    pub(super) fn store(&self, lambda: &mut [f64]) {
        for l in 0..LANES {
            let (block, start) = self.blocks[l];
            if block != EMPTY {
                for i in 0..3 {
                    lambda[start as usize + i] = self.lambda[i][l];
                }
            }
        }
    }
}

/// What a lane is filled from.
pub(super) struct Contact<'a> {
    pub(super) point: Point,
    pub(super) mu: f64,
    pub(super) d: &'a [f64; 9],
    pub(super) q: &'a [f64],
    pub(super) sigma: &'a [f64],
    /// Block and first row of the problem.
    pub(super) block: (u32, u32),
}

/// Σ|DΔ|², max|DΔ|² and Σ(wᵀΔ + ½ΔᵀDΔ), lane by lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LaneStats {
    pub(super) squared: Lane,
    pub(super) largest: Lane,
    pub(super) change: Lane,
}

/// Visits groups one after the other, chosen at run time for the processor at hand.
pub(super) struct Visit<'a> {
    pub(super) groups: &'a mut [Group],
    pub(super) rows: &'a mut [Row],
    /// Over- and under-relaxation: factor of w inside the law, factor of the step.
    pub(super) relax: (f64, f64),
    pub(super) backward: bool,
}

impl pulp::WithSimd for Visit<'_> {
    type Output = LaneStats;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> LaneStats {
        let mut stats = LaneStats::default();
        if self.backward {
            for group in self.groups.iter_mut().rev() {
                visit(group, self.rows, self.relax, &mut stats);
            }
        } else {
            for group in self.groups.iter_mut() {
                visit(group, self.rows, self.relax, &mut stats);
            }
        }
        stats
    }
}

type Bodies = [Lane; Row::USED];

#[inline(always)]
fn gather(rows: &[Row], bodies: &[u32; LANES]) -> Bodies {
    let mut out = [[0.0; LANES]; Row::USED];
    for l in 0..LANES {
        let row = &rows[bodies[l] as usize].0;
        for i in 0..Row::USED {
            out[i][l] = row[i];
        }
    }
    out
}

#[inline(always)]
fn scatter(rows: &mut [Row], bodies: &[u32; LANES], velocity: &[Lane; 6]) {
    for l in 0..LANES {
        let row = &mut rows[bodies[l] as usize].0;
        for i in 0..6 {
            row[i] = velocity[i][l];
        }
    }
}

#[inline(always)]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

#[inline(always)]
fn at<const N: usize>(lanes: &[Lane; N], first: usize, l: usize) -> [f64; 3] {
    [lanes[first][l], lanes[first + 1][l], lanes[first + 2][l]]
}

/// z_n = max(0, λ_n − w_n/d_nn); z_t = P_disk(λ_t − w_t/δ), w_t refreshed, δ = λ_max(D_tt).
#[inline(always)]
fn iso(group: &Group, l: usize, w: [f64; 3], lambda: [f64; 3]) -> [f64; 3] {
    let n = lambda[0] - w[0] * group.normal_step[l];
    let n = if 0.0 < n { n } else { 0.0 };
    let delta = n - lambda[0];
    let t1 = lambda[1] - group.step[l] * (w[1] + group.d[1][l] * delta);
    let t2 = lambda[2] - group.step[l] * (w[2] + group.d[2][l] * delta);
    let radius = group.mu[l] * n;
    let squared = t1 * t1 + t2 * t2;
    let outside = radius / squared.sqrt();
    let scale = if squared <= radius * radius { 1.0 } else { outside };
    let scale = if squared < TINY { 0.0 } else { scale };
    [n, t1 * scale, t2 * scale]
}

/// v ← v + M⁻¹(f, r × f) of lane l.
#[inline(always)]
fn push(out: &mut [Lane; 6], body: &Bodies, l: usize, f: [f64; 3], arm: [f64; 3]) {
    let t = cross(arm, f);
    for i in 0..3 {
        out[i][l] = body[i][l] + body[6][l] * f[i];
    }
    out[3][l] = body[3][l] + (body[7][l] * t[0] + body[8][l] * t[1] + body[9][l] * t[2]);
    out[4][l] = body[4][l] + (body[8][l] * t[0] + body[10][l] * t[1] + body[11][l] * t[2]);
    out[5][l] = body[5][l] + (body[9][l] * t[0] + body[11][l] * t[1] + body[12][l] * t[2]);
}

#[inline(always)]
fn visit(group: &mut Group, rows: &mut [Row], relax: (f64, f64), stats: &mut LaneStats) {
    let a = gather(rows, &group.bodies[0]);
    let b = gather(rows, &group.bodies[1]);
    let (mut new_a, mut new_b) = ([[0.0; LANES]; 6], [[0.0; LANES]; 6]);
    let mut new_lambda = [[0.0; LANES]; 3];
    for l in 0..LANES {
        let frame = [0, 1, 2].map(|i| at(&group.frame[i], 0, l));
        let (arm_a, arm_b) = (at(&group.arms[0], 0, l), at(&group.arms[1], 0, l));
        let lambda = at(&group.lambda, 0, l);
        // u = v_a + ω_a × r_a − v_b − ω_b × r_b, w = (n, t₁, t₂)·u + Σλ − q
        let (va, vb) = (at(&a, 0, l), at(&b, 0, l));
        let (spin_a, spin_b) = (cross(at(&a, 3, l), arm_a), cross(at(&b, 3, l), arm_b));
        let u = [0, 1, 2].map(|i| (va[i] + spin_a[i]) - (vb[i] + spin_b[i]));
        let w = [0, 1, 2].map(|i| {
            let d = frame[i];
            let rest = group.sigma[i][l] * lambda[i] - group.q[i][l];
            (d[0] * u[0] + d[1] * u[1] + d[2] * u[2]) + rest
        });
        let z = iso(group, l, w.map(|w| w * relax.0), lambda);
        let delta = [0, 1, 2].map(|i| relax.1 * (z[i] - lambda[i]));
        for i in 0..3 {
            new_lambda[i][l] = lambda[i] + delta[i];
        }
        // f = nΔ_n + t₁Δ₁ + t₂Δ₂ pushes the first body and pulls the second
        let f = [0, 1, 2].map(|j| {
            frame[0][j] * delta[0] + frame[1][j] * delta[1] + frame[2][j] * delta[2]
        });
        push(&mut new_a, &a, l, f, arm_a);
        push(&mut new_b, &b, l, f.map(|f| -f), arm_b);
        let d = &group.d;
        let moved = [
            d[0][l] * delta[0] + d[1][l] * delta[1] + d[2][l] * delta[2],
            d[1][l] * delta[0] + d[3][l] * delta[1] + d[4][l] * delta[2],
            d[2][l] * delta[0] + d[4][l] * delta[1] + d[5][l] * delta[2],
        ];
        let squared = moved[0] * moved[0] + moved[1] * moved[1] + moved[2] * moved[2];
        let largest = stats.largest[l];
        stats.squared[l] += squared;
        stats.largest[l] = if largest < squared { squared } else { largest };
        stats.change[l] += delta[0] * (w[0] + 0.5 * moved[0])
            + delta[1] * (w[1] + 0.5 * moved[1])
            + delta[2] * (w[2] + 0.5 * moved[2]);
    }
    group.lambda = new_lambda;
    scatter(rows, &group.bodies[0], &new_a);
    scatter(rows, &group.bodies[1], &new_b);
}
