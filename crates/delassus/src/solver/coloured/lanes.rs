//! Contacts at a point laid out in lanes: eight that share no mass, number by number.

use super::super::point::Point;
use crate::math::largest_eigenvalue_2;
pub(super) use crate::math::simd::{LANES, Lane};

/// Marks a lane without a contact.
pub(super) const EMPTY: u32 = u32::MAX;

/// One rigid body as the sweep needs it: velocity (6), 1/m and I⁻¹ as (xx, xy, xz, yy, yz, zz). A dense mass has
/// its velocities in as many rows as they fill.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(super) struct Row(pub(super) [f64; Row::WIDTH]);

impl Row {
    /// Numbers in a row.
    pub(super) const WIDTH: usize = 16;
    /// Of these a rigid body uses so many.
    pub(super) const USED: usize = 13;
}

/// Contacts that share no mass, in lanes.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Group {
    /// Directions (n, t₁, t₂), three numbers each.
    pub(super) frame: [[Lane; 3]; 3],
    /// From the centres of mass of both bodies to the contact.
    pub(super) arms: [[Lane; 3]; 2],
    pub(super) q: [Lane; 3],
    pub(super) sigma: [Lane; 3],
    /// D as (nn, nt₁, nt₂, t₁t₁, t₁t₂, t₂t₂).
    pub(super) d: [Lane; 6],
    /// 1/d_nn.
    pub(super) normal_step: Lane,
    /// 1/λ_max(D_tt).
    pub(super) step: Lane,
    pub(super) mu: Lane,
    pub(super) lambda: [Lane; 3],
    /// Rows of the bodies in the state; the first row stands for ground.
    pub(super) bodies: [[u32; LANES]; 2],
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

    /// Leaves a lane without a contact.
    pub(super) fn clear(&mut self, l: usize) {
        let Group {
            frame,
            arms,
            q,
            sigma,
            d,
            lambda,
            ..
        } = self;
        let vectors = frame.iter_mut().chain(arms).chain([q, sigma, lambda]);
        let numbers = vectors.flatten().chain(d);
        let steps = [&mut self.normal_step, &mut self.step, &mut self.mu];
        numbers.chain(steps).for_each(|lane| lane[l] = 0.0);
        self.bodies.iter_mut().for_each(|bodies| bodies[l] = 0);
        self.blocks[l] = (EMPTY, 0);
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
