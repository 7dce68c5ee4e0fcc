//! One block at a time: given its diagonal block D, its row velocity w and its impulse λ, find the new impulse z
//! so that w' = Dz + g, g = w − Dλ, obeys the block's law.
//!
//! Sources: [GS13 Alg 2.1, (36)], [GS11 Alg 3.1, (18)-(22)]. How this differs from the sources:
//! 1. `project` and `nonlinear` test |z_t| against μz_n, not √μ z_n (errata GS11-19).
//! 2. `nonlinear` decides separation by g_n ≥ 0, not by the sign of the stick impulse (errata GS11-18), takes
//!    the slip direction from (z₂, z₃) (errata GS11-20) and guards a denominator that may vanish.
//! 3. `iso` and `exact` are beyond the sources: their fixed points are Coulomb's law itself.
//!
//! Cost: `iso` about thirty multiplications and one root; `exact` a scalar root search.

use super::disks::DiskContact;
use super::secular::Secular;
use crate::law::{Law, cone};
use crate::linalg::{
    generalised_inverse, inverse_3, largest_eigenvalue_2, largest_eigenvalue_3, mul_3,
    regular_inverse_3,
};
use crate::math::dot;
use crate::problem::Block;
use crate::problem::delassus::DiagonalBlocks;

/// How a contact's cone is treated inside a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// Normal first, then the disk projection with one scalar tangential step. Exact, no 3×3 solve. Contacts with
    /// rolling or spinning friction have a disk more and a step for each.
    #[default]
    Iso,
    /// The one-contact Coulomb problem solved exactly by its secular equation; with rolling or spinning friction as
    /// `iso`.
    Exact,
    /// Two independent tangents clamped to ±μz_n: a square cone.   [GS13 (36)]
    Box,
    /// The stick impulse projected on the cone; for study: it can diverge.   [GS11 (18)-(19)]
    Project,
    /// Stick, or slip along the stick impulse's direction.   [GS11 (20)-(21)]
    Nonlinear,
    /// Anitescu's convex relaxation: a sliding contact lifts with w_n = μ|w_t|.
    Ccp,
}

/// The diagonal block of one contact, padded to three rows, with what its rule needs.
#[derive(Clone, Debug)]
pub(crate) struct LocalContact {
    d: [f64; 9],
    mu: f64,
    /// 1/d_nn; zero where the normal moves nothing.
    normal_step: f64,
    /// 1/λ_max(D_tt), or 1/λ_max(D) for the convex relaxation; zero where D vanishes.
    step: f64,
    /// D⁻¹ for the rules that solve for stick; boxed so that the others do not carry it along.
    inverse: Option<Box<[f64; 9]>>,
    /// (μ₁, μ₂) where rows are scaled so that the elliptic cone becomes the circular one with μ = 1.
    scale: Option<[f64; 2]>,
    rule: Rule,
}

/// What one block needs to be solved.
#[derive(Clone, Copy, Debug)]
enum LocalKind {
    /// Index into the contacts.
    Contact(usize),
    /// Index into those with rolling or spinning friction.
    Disks(usize),
    /// D and its generalised inverse start here.
    Equality(usize),
    /// D starts here; each row within bounds.
    Bounded(usize, f64, f64),
}

/// The local problems of all blocks, prepared once per solve.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locals {
    kinds: Vec<LocalKind>,
    contacts: Vec<LocalContact>,
    disks: Vec<DiskContact>,
    matrices: Vec<f64>,
}

/// What changing one block did: |DΔ|² and wᵀΔ + ½ΔᵀDΔ.
pub(crate) type Change = (f64, f64);

impl Locals {
    /// Prepares every block for the rule; `diagonals` are the blocks D (any majorant of them for Jacobi).
    pub(crate) fn prepare(&mut self, blocks: &[Block], diagonals: &DiagonalBlocks, rule: Rule) {
        self.clear();
        for (k, block) in blocks.iter().enumerate() {
            self.push(block, diagonals.block(k), rule);
        }
    }

    /// Forgets all blocks.
    pub(crate) fn clear(&mut self) {
        self.kinds.clear();
        self.contacts.clear();
        self.disks.clear();
        self.matrices.clear();
    }

    /// Prepares one more block, whose diagonal block is `d`.
    pub(crate) fn push(&mut self, block: &Block, d: &[f64], rule: Rule) {
        let start = self.matrices.len();
        let kind = match block.law {
            Law::Equality => {
                self.matrices.extend_from_slice(d);
                match well_conditioned_inverse(d) {
                    Some(inverse) => self.matrices.extend(inverse),
                    None => self.matrices.extend(generalised_inverse(d, block.n_rows)),
                }
                LocalKind::Equality(start)
            }
            Law::Unilateral => {
                self.matrices.extend_from_slice(d);
                LocalKind::Bounded(start, 0.0, f64::INFINITY)
            }
            Law::Interval { lo, hi } => {
                self.matrices.extend_from_slice(d);
                LocalKind::Bounded(start, lo, hi)
            }
            law if law.has_spin_rows() => {
                self.disks.push(DiskContact::new(&law, d, block.n_rows));
                LocalKind::Disks(self.disks.len() - 1)
            }
            _ => {
                self.contacts
                    .push(LocalContact::new(&block.law, d, block.n_rows, rule));
                LocalKind::Contact(self.contacts.len() - 1)
            }
        };
        self.kinds.push(kind);
    }

    /// The contact of block k, where it has three rows: the case every other cost is small against.
    #[inline]
    pub(crate) fn contact(&self, k: usize, rows: usize) -> Option<&LocalContact> {
        match self.kinds[k] {
            LocalKind::Contact(index) if rows == 3 => Some(&self.contacts[index]),
            _ => None,
        }
    }

    /// Solves block k: `z` gets the new impulse for row velocity `w` and present impulse `lambda`.
    #[inline]
    pub(crate) fn solve(&self, k: usize, w: &[f64], lambda: &[f64], z: &mut [f64]) {
        match self.kinds[k] {
            LocalKind::Contact(index) => {
                let (w, lambda) = (padded(w), padded(lambda));
                let solved = self.contacts[index].solve(&w, &lambda);
                let rows = z.len();
                z.copy_from_slice(&solved[..rows]);
            }
            LocalKind::Disks(index) => self.disks[index].solve(w, lambda, z),
            LocalKind::Equality(start) => {
                // Δ = −D⁻¹w   [GS11 (13)]
                let m = w.len();
                let inverse = &self.matrices[start + m * m..start + 2 * m * m];
                for i in 0..m {
                    z[i] = lambda[i] - dot(&inverse[i * m..(i + 1) * m], w);
                }
            }
            LocalKind::Bounded(start, lo, hi) => {
                let m = w.len();
                bounded(&self.matrices[start..start + m * m], w, lambda, (lo, hi), z);
            }
        }
    }

    /// |DΔ|² and the exact change wᵀΔ + ½ΔᵀDΔ of the dual objective.
    #[inline]
    pub(crate) fn change(&self, k: usize, w: &[f64], delta: &[f64]) -> Change {
        let m = w.len();
        let d = match self.kinds[k] {
            LocalKind::Contact(index) => {
                return self.contacts[index].change(&padded(w), &padded(delta));
            }
            LocalKind::Disks(index) => return self.disks[index].change(w, delta),
            LocalKind::Equality(start) | LocalKind::Bounded(start, ..) => {
                &self.matrices[start..start + m * m]
            }
        };
        let (mut squared, mut change) = (0.0, 0.0);
        for i in 0..m {
            let moved = dot(&d[i * m..(i + 1) * m], delta);
            squared += moved * moved;
            change += delta[i] * (w[i] + 0.5 * moved);
        }
        (squared, change)
    }
}

/// The inverse of three rows that are far from depending on each other, which needs no search for pivots.
fn well_conditioned_inverse(d: &[f64]) -> Option<[f64; 9]> {
    let d = d.as_array::<9>()?;
    let inverse = inverse_3(d)?;
    // Of a semidefinite matrix: (D⁻¹)_ii d_ii is one for rows that share nothing, and grows as they get alike.
    let alike = (0..3)
        .map(|i| inverse[4 * i] * d[4 * i])
        .fold(1.0, f64::max);
    (alike < 1e6).then_some(inverse)
}

/// |DΔ|² in the rows of the problem: scaled rows are scaled back.
fn moved_norm(contact: &LocalContact, moved: &[f64; 3]) -> f64 {
    match contact.scale {
        None => dot(moved, moved),
        Some(scale) => {
            let back = |x: f64, s: f64| if 0.0 < s { x / s } else { 0.0 };
            let (t1, t2) = (back(moved[1], scale[0]), back(moved[2], scale[1]));
            moved[0] * moved[0] + t1 * t1 + t2 * t2
        }
    }
}

#[inline]
fn padded(x: &[f64]) -> [f64; 3] {
    match *x {
        [a, b, c] => [a, b, c],
        [a, b] => [a, b, 0.0],
        _ => [0.0; 3],
    }
}

/// z_i = clamp(λ_i − w_i/d_i) row after row, w refreshed in between.   [GS13 Alg 2.1]
fn bounded(d: &[f64], w: &[f64], lambda: &[f64], (lo, hi): (f64, f64), z: &mut [f64]) {
    if let ([d], [w], [lambda], [z]) = (d, w, lambda, &mut *z) {
        *z = match 0.0 < *d {
            true => (lambda - w / d).max(lo).min(hi),
            false => immobile(lambda.max(lo).min(hi), *w, (lo, hi)),
        };
        return;
    }
    let m = w.len();
    z.copy_from_slice(lambda);
    for i in 0..m {
        let row = &d[i * m..(i + 1) * m];
        let w_i = w[i] + (0..i).map(|j| row[j] * (z[j] - lambda[j])).sum::<f64>();
        z[i] = if 0.0 < row[i] {
            (lambda[i] - w_i / row[i]).max(lo).min(hi)
        } else {
            immobile(lambda[i].max(lo).min(hi), w_i, (lo, hi))
        };
    }
}

/// A row that moves nothing cannot correct w; it only lets go of the bound that the sign of w forbids.
pub(super) fn immobile(lambda: f64, w: f64, (lo, hi): (f64, f64)) -> f64 {
    match w {
        _ if 0.0 < w && lo.is_finite() => lo,
        _ if w < 0.0 && hi.is_finite() => hi,
        _ => lambda,
    }
}

impl LocalContact {
    fn new(law: &Law, block: &[f64], rows: usize, rule: Rule) -> LocalContact {
        let mut d = [0.0; 9];
        for i in 0..rows {
            for j in 0..rows {
                d[3 * i + j] = block[rows * i + j];
            }
        }
        if rows == 2 {
            // A second tangent that nothing drives: its impulse stays zero under every rule.
            d[8] = d[4];
        }
        let (mu, scale) = match *law {
            Law::EllipticCone { mu } => (1.0, Some(mu)),
            Law::FrictionCone { mu } | Law::FrictionBox { mu } | Law::FrictionFacets { mu, .. } => {
                (mu, None)
            }
            _ => (0.0, None),
        };
        if let Some(s) = scale {
            let s = [1.0, s[0], s[1]];
            for i in 0..3 {
                for j in 0..3 {
                    d[3 * i + j] *= s[i] * s[j];
                }
            }
        }
        let rule = if matches!(law, Law::FrictionBox { .. }) {
            Rule::Box
        } else {
            rule
        };
        let needs_inverse = matches!(rule, Rule::Exact | Rule::Project | Rule::Nonlinear);
        let inverse = if needs_inverse {
            regular_inverse_3(&d)
        } else {
            None
        };
        let rule = if needs_inverse && inverse.is_none() {
            Rule::Iso
        } else {
            rule
        };
        let top = match rule {
            Rule::Ccp => largest_eigenvalue_3(&d),
            _ => largest_eigenvalue_2(d[4], d[5], d[7], d[8]),
        };
        let step = if 0.0 < top { 1.0 / top } else { 0.0 };
        let normal_step = if 0.0 < d[0] { 1.0 / d[0] } else { 0.0 };
        LocalContact {
            d,
            mu,
            normal_step,
            inverse: inverse.map(Box::new),
            step,
            scale,
            rule,
        }
    }

    #[inline]
    fn scaled_velocity(&self, w: &[f64; 3]) -> [f64; 3] {
        match self.scale {
            None => *w,
            Some(s) => [w[0], w[1] * s[0], w[2] * s[1]],
        }
    }

    #[inline]
    fn scaled_impulse(&self, lambda: &[f64; 3]) -> [f64; 3] {
        let over = |x: f64, s: f64| if 0.0 < s { x / s } else { 0.0 };
        match self.scale {
            None => *lambda,
            Some(s) => [lambda[0], over(lambda[1], s[0]), over(lambda[2], s[1])],
        }
    }

    /// |DΔ|² and wᵀΔ + ½ΔᵀDΔ.
    #[inline]
    pub(crate) fn change(&self, w: &[f64; 3], delta: &[f64; 3]) -> Change {
        let (w, delta) = (self.scaled_velocity(w), self.scaled_impulse(delta));
        let moved = mul_3(&self.d, &delta);
        let change = (0..3).map(|i| delta[i] * (w[i] + 0.5 * moved[i])).sum();
        (moved_norm(self, &moved), change)
    }

    /// The new impulse under the contact's rule.
    #[inline]
    pub(crate) fn solve(&self, w: &[f64; 3], lambda: &[f64; 3]) -> [f64; 3] {
        let (w, lambda) = (self.scaled_velocity(w), self.scaled_impulse(lambda));
        let z = match self.rule {
            Rule::Iso => self.iso(&w, &lambda),
            Rule::Exact => self.exact(&w, &lambda),
            Rule::Box => self.friction_box(&w, &lambda),
            Rule::Project => self.project(&w, &lambda),
            Rule::Nonlinear => self.nonlinear(&w, &lambda),
            Rule::Ccp => self.ccp(&w, &lambda),
        };
        match self.scale {
            None => z,
            Some(s) => [z[0], z[1] * s[0], z[2] * s[1]],
        }
    }

    /// z_n = max(0, λ_n − w_n/d_nn).   [GS13 Alg 2.1, line 10]
    #[inline]
    fn normal(&self, w: f64, lambda: f64) -> f64 {
        if 0.0 < self.normal_step {
            (lambda - w * self.normal_step).max(0.0)
        } else {
            immobile(lambda.max(0.0), w, (0.0, f64::INFINITY))
        }
    }

    /// z_n first; w_t refreshed; z_t = P_disk(λ_t − w_t/δ), δ = λ_max(D_tt).
    #[inline]
    fn iso(&self, w: &[f64; 3], lambda: &[f64; 3]) -> [f64; 3] {
        let z = self.normal(w[0], lambda[0]);
        let delta = z - lambda[0];
        let t = [
            lambda[1] - self.step * (w[1] + self.d[3] * delta),
            lambda[2] - self.step * (w[2] + self.d[6] * delta),
        ];
        let t = cone::project_disk(t, self.mu * z);
        [z, t[0], t[1]]
    }

    /// z_n first; then each tangent clamped to ±μz_n with w refreshed after each.   [GS13 (36)]
    fn friction_box(&self, w: &[f64; 3], lambda: &[f64; 3]) -> [f64; 3] {
        let d = &self.d;
        let mut z = [self.normal(w[0], lambda[0]), lambda[1], lambda[2]];
        let bound = self.mu * z[0];
        for i in 1..3 {
            let w_i = w[i]
                + (0..i)
                    .map(|j| d[3 * i + j] * (z[j] - lambda[j]))
                    .sum::<f64>();
            let target = if 0.0 < d[4 * i] {
                lambda[i] - w_i / d[4 * i]
            } else {
                lambda[i]
            };
            z[i] = target.max(-bound).min(bound);
        }
        z
    }

    /// z = P_K(λ − ρw), ρ = 1/λ_max(D).
    fn ccp(&self, w: &[f64; 3], lambda: &[f64; 3]) -> [f64; 3] {
        let mut z: [f64; 3] = std::array::from_fn(|i| lambda[i] - self.step * w[i]);
        cone::project(&mut z, self.mu);
        z
    }

    /// z = λ − D⁻¹w; z₁ < 0 → 0; tangent cut to μz₁.   [GS11 (18)-(19)]
    fn project(&self, w: &[f64; 3], lambda: &[f64; 3]) -> [f64; 3] {
        let z = self.stick(w, lambda);
        if z[0] < 0.0 {
            return [0.0; 3];
        }
        let t = cone::project_disk([z[1], z[2]], self.mu * z[0]);
        [z[0], t[0], t[1]]
    }

    /// Stick if it lies in the cone, else slip along the stick impulse: z₁(d₁₁ + μd₁₂u₁ + μd₁₃u₂) = −g₁.
    /// [GS11 (20)-(21)]
    fn nonlinear(&self, w: &[f64; 3], lambda: &[f64; 3]) -> [f64; 3] {
        let d = &self.d;
        let g_n = w[0] - (d[0] * lambda[0] + d[1] * lambda[1] + d[2] * lambda[2]);
        if 0.0 <= g_n {
            return [0.0; 3];
        }
        let z = self.stick(w, lambda);
        let t = z[1].hypot(z[2]);
        if t <= self.mu * z[0] {
            return z;
        }
        let u = [z[1] / t, z[2] / t];
        let denominator = d[0] + self.mu * (d[1] * u[0] + d[2] * u[1]);
        // Friction that would jam the contact: keep the normal alone, the next visit may slip.
        if denominator <= 1e-3 * d[0] {
            return [-g_n / d[0], 0.0, 0.0];
        }
        let z_n = -g_n / denominator;
        [z_n, self.mu * z_n * u[0], self.mu * z_n * u[1]]
    }

    /// The impulse that stops all three rows: λ − D⁻¹w.
    fn stick(&self, w: &[f64; 3], lambda: &[f64; 3]) -> [f64; 3] {
        let inverse = self.inverse.as_deref();
        let moved = inverse.map_or([0.0; 3], |inverse| mul_3(inverse, w));
        std::array::from_fn(|i| lambda[i] - moved[i])
    }

    /// Separation if g_n ≥ 0, stick if the stick impulse lies in the cone, else slip: the least κ > 0 with
    /// |z_t(κ)| = μz_n(κ), z_t = −(W + κ)⁻¹h, in the eigenbasis of W = D_tt − D_tn D_nt/d_nn.
    fn exact(&self, w: &[f64; 3], lambda: &[f64; 3]) -> [f64; 3] {
        let d = &self.d;
        let moved = mul_3(d, lambda);
        let g = [w[0] - moved[0], w[1] - moved[1], w[2] - moved[2]];
        if 0.0 <= g[0] {
            return [0.0; 3];
        }
        let stick = self.stick(w, lambda);
        if stick[1].hypot(stick[2]) <= self.mu * stick[0] {
            return stick;
        }
        if self.mu == 0.0 {
            return [-g[0] / d[0], 0.0, 0.0];
        }
        let secular = Secular::new(d, &g, self.mu);
        secular.at(secular.root())
    }
}
