//! Restitution that brings no energy.
//!
//! Newton's rule, w_n⁺ = −e w_n⁻ at every contact that closes, is a law of one impact. In a pile the impulse of one
//! contact drives others apart faster than they came, and e of every approach at once can add up to more energy than
//! there was: six per cent in one step of twenty bodies at e = 0.86. So the work of all contacts is looked at,
//!
//! ```text
//! T(v⁺) − T(v¹) = ½ λᵀ(G v⁺ + G v¹)
//! ```
//!
//! and where it is positive, beyond what parting overlaps does, the step is solved again with half the restitution, and
//! at the fourth time without. Where a body moves by itself contacts may do work, and nothing is looked at.

use super::assemble::Assembly;
use super::{MovedBy, World};
use crate::collide::ContactPoint;
use crate::problem::stabilise::Stabilise;
use crate::problem::{Form, Solution};

/// Times the restitution is halved before it is left out.
pub(super) const HALVINGS: u32 = 3;
/// Share of all terms that rounding and the tolerance of a solve may bring.
const NOISE: f64 = 1e-6;

impl World {
    /// The share of its restitution that a contact has after so many halvings.
    pub(super) fn bounce(&self) -> f64 {
        match self.spare.halvings {
            count if count <= HALVINGS => 0.5_f64.powi(count as i32),
            _ => 0.0,
        }
    }

    /// Whether the contacts of a step bring energy that they should not.
    pub(super) fn contacts_gain(
        &self,
        (assembly, solution): (&Assembly, &Solution),
        contacts: &[ContactPoint],
        h: f64,
    ) -> bool {
        let pairs = self.pairs.iter().map(|(_, surface)| surface);
        let bounces = self
            .surfaces
            .iter()
            .chain(pairs)
            .any(|s| 0.0 < s.restitution);
        if !bounces || assembly.contacts.is_empty() || self.has_driven_body() {
            return false;
        }
        let problem = &assembly.problem;
        let Form::Primal(primal) = problem.form() else {
            return false;
        };
        let hold = Stabilise::Spook {
            compliance: self.settings.contact_compliance,
            damping: self.settings.contact_damping * h,
        };
        let part = hold.coefficients(h).e / h;
        let (mut work, mut sizes) = (0.0, 0.0);
        let mut w = vec![0.0; problem.n_rows()];
        problem.row_velocity(&solution.v, &solution.lambda, &mut w);
        let blocks = &problem.blocks()[assembly.first_contact..];
        for (block, contact) in blocks.iter().zip(&assembly.contacts) {
            for i in block.rows() {
                let (lambda, q) = (solution.lambda[i], primal.q()[i]);
                // G v⁺ = w − Σλ + q and G v¹ = c + q.
                let after = w[i] - primal.sigma()[i] * lambda + q;
                let before = problem.c()[i] + q;
                work += 0.5 * lambda * (after + before);
                sizes += 0.5 * lambda.abs() * (after.abs() + before.abs());
            }
            // An overlap parts at e/h of its depth.
            let depth = (-contacts[*contact].gap).max(0.0);
            work -= solution.lambda[block.start].max(0.0) * part * depth;
        }
        NOISE * sizes < work
    }

    /// Whether a body that impulses do not move moves.
    fn has_driven_body(&self) -> bool {
        let bodies = &self.bodies;
        (0..bodies.len()).any(|i| {
            let moves = 0.0 < bodies.velocity[i].length() + bodies.spin[i].length();
            bodies.motion[i] == MovedBy::Kinematic && moves
        })
    }
}
