//! Contacts at a point laid out in lanes: eight that share no mass, number by number.

pub(super) use crate::math::simd::{LANES, Lane};
use crate::solver::sweep::inverse::push;

/// The block in a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) block: u32,
    /// Its first row in the problem.
    pub(super) start: u32,
}

impl Member {
    /// A lane without a contact.
    pub(super) const NONE: Member = Member {
        block: u32::MAX,
        start: 0,
    };
}

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

    /// Row of a free body with this inverse mass, at rest.
    pub(super) fn of_body(inverse: &[f64; 7]) -> Row {
        let mut row = Row::default();
        row.0[6..Row::USED].copy_from_slice(inverse);
        row
    }

    /// v ← v + M⁻¹f of a free body.
    pub(super) fn push(&mut self, impulse: &[f64; 6]) {
        let (v, rest) = self.0.split_at_mut(6);
        if let Some(inverse) = rest.first_chunk::<7>() {
            push(inverse, impulse, v);
        }
    }
}

/// Contacts that share no mass, in lanes: a sweep waits for 216 bytes of each. What a sweep does not name it does not
/// wait for: a number of eight contacts fills a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Group {
    /// Directions n and t₁; t₂ = n × t₁.
    pub(super) normal: [Lane; 3],
    pub(super) tangent: [Lane; 3],
    /// From the centres of mass of both bodies to the contact.
    pub(super) arms: [[Lane; 3]; 2],
    pub(super) q: [Lane; 3],
    pub(super) sigma: [Lane; 3],
    /// D_nt₁ and D_nt₂.
    pub(super) coupling: [Lane; 2],
    /// 1/d_nn.
    pub(super) normal_step: Lane,
    /// 1/λ_max(D_tt).
    pub(super) step: Lane,
    pub(super) mu: Lane,
    pub(super) lambda: [Lane; 3],
    /// Rows of the bodies in the state; the first row stands for ground.
    pub(super) bodies: [[u32; LANES]; 2],
    /// Of a step that is divided into small ones: the gap at the beginning, the one now \[m\], and the impulses so far.
    pub(super) gap: Lane,
    pub(super) gap_now: Lane,
    pub(super) total: [Lane; 3],
}

impl Group {
    /// Lanes without contacts: what they compute is zero and lands on ground.
    pub(super) const NONE: Group = Group {
        normal: [[0.0; LANES]; 3],
        tangent: [[0.0; LANES]; 3],
        arms: [[[0.0; LANES]; 3]; 2],
        q: [[0.0; LANES]; 3],
        sigma: [[0.0; LANES]; 3],
        coupling: [[0.0; LANES]; 2],
        normal_step: [0.0; LANES],
        step: [0.0; LANES],
        mu: [0.0; LANES],
        lambda: [[0.0; LANES]; 3],
        bodies: [[0; LANES]; 2],
        gap: [0.0; LANES],
        gap_now: [0.0; LANES],
        total: [[0.0; LANES]; 3],
    };

    /// A lane without a contact.
    pub(super) fn empty(&mut self, l: usize) {
        let lanes = [
            &mut self.normal,
            &mut self.tangent,
            &mut self.q,
            &mut self.sigma,
        ];
        let [first, second] = &mut self.arms;
        for lane in lanes.into_iter().chain([first, second, &mut self.lambda]) {
            lane.iter_mut().for_each(|x| x[l] = 0.0);
        }
        self.coupling.iter_mut().for_each(|x| x[l] = 0.0);
        for lane in [&mut self.normal_step, &mut self.step, &mut self.mu] {
            lane[l] = 0.0;
        }
        self.bodies.iter_mut().for_each(|rows| rows[l] = 0);
    }

    /// Takes the impulses of these blocks from the problem's rows.
    pub(super) fn load(&mut self, members: &[Member; LANES], lambda: &[f64]) {
        for (l, member) in members.iter().enumerate() {
            if *member != Member::NONE {
                for i in 0..3 {
                    self.lambda[i][l] = lambda[member.start as usize + i];
                }
            }
        }
    }

    /// Takes gaps and a share of the impulses of these blocks, for small steps.
    pub(super) fn begin(
        &mut self,
        members: &[Member; LANES],
        (lambda, gaps): (&[f64], &[f64]),
        share: f64,
    ) {
        self.total = [[0.0; LANES]; 3];
        self.gap = [0.0; LANES];
        for (l, member) in members.iter().enumerate() {
            if *member != Member::NONE {
                self.gap[l] = gaps[member.block as usize];
                for i in 0..3 {
                    self.lambda[i][l] = share * lambda[member.start as usize + i];
                }
            }
        }
    }

    /// Writes the impulses of all small steps, and the gaps, of those of its blocks that stand in a part of the problem
    /// which begins with block `first`.
    pub(super) fn end(
        &self,
        members: &[Member; LANES],
        first: usize,
        (lambda, gaps): (&mut [[f64; 3]], &mut [f64]),
    ) {
        for (l, member) in members.iter().enumerate() {
            // A lane without a contact has a number beyond every part.
            let place = (member.block as usize).wrapping_sub(first);
            if let (Some(lambda), Some(gap)) = (lambda.get_mut(place), gaps.get_mut(place)) {
                *gap = self.gap_now[l];
                *lambda = self.total.map(|total| total[l]);
            }
        }
    }

    /// Writes the impulses to the problem's rows.
    pub(super) fn store(&self, members: &[Member; LANES], lambda: &mut [f64]) {
        for (l, member) in members.iter().enumerate() {
            if *member != Member::NONE {
                for i in 0..3 {
                    lambda[member.start as usize + i] = self.lambda[i][l];
                }
            }
        }
    }
}
