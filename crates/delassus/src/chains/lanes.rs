//! How chains lie in memory: eight equal ones side by side, bead after bead, number by number.

use glam::{DQuat, DVec3};
use pulp::Simd;

use super::algebra::Seen;
use super::{Bead, Chain};
use crate::math::simd::{LANES, Lane, LanePart, X};

/// Three numbers of eight chains.
pub(super) type Lane3 = [Lane; 3];

/// What a bead is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BeadMass {
    pub(super) mass: f64,
    pub(super) inertia: f64,
    /// Distances from the centre to the joints before and behind it \[m\].
    pub(super) arms: [f64; 2],
    pub(super) mass_inverse: f64,
    pub(super) inertia_inverse: f64,
}

impl BeadMass {
    pub(super) fn new(bead: &Bead) -> BeadMass {
        BeadMass {
            mass: bead.mass,
            inertia: bead.inertia,
            arms: bead.arms,
            mass_inverse: 1.0 / bead.mass,
            inertia_inverse: 1.0 / bead.inertia,
        }
    }

    /// What its joints see of it.
    #[inline(always)]
    pub(super) fn seen<S: Simd>(&self, part: LanePart<S>) -> Seen<S> {
        Seen::new(part, self, part.all(self.inertia_inverse))
    }
}

/// The state of one bead of eight chains: what is kept between steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(super) struct State {
    pub(super) x: Lane3,
    /// Orientation (x, y, z, w).
    pub(super) q: [Lane; 4],
    pub(super) v: Lane3,
    pub(super) w: Lane3,
    /// Force of the joint before the bead, as the next step is to expect it \[N\].
    pub(super) pull: Lane3,
}

impl State {
    #[inline(always)]
    pub(super) fn store<S: Simd>(
        &mut self,
        part: LanePart<S>,
        (x, q): ([X<S>; 3], [X<S>; 4]),
        (v, w): ([X<S>; 3], [X<S>; 3]),
        pull: [X<S>; 3],
    ) {
        part.store(&mut self.x, x);
        part.store(&mut self.q, q);
        part.store(&mut self.v, v);
        part.store(&mut self.w, w);
        part.store(&mut self.pull, pull);
    }
}

/// What a step needs of a bead besides.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct BeadWork {
    /// Unit vector from the joint before the bead to the one behind it.
    pub(super) u: Lane3,
    /// Pose and velocity that a step is trying.
    pub(super) next_x: Lane3,
    pub(super) next_u: Lane3,
    pub(super) v: Lane3,
    pub(super) w: Lane3,
    /// Inverse pivot of the joint before it, or the inverse of its diagonal block.
    pub(super) p: [Lane; 6],
    /// Its right-hand side and unknown.
    pub(super) t: Lane3,
    /// Its impulse, where that is found sweep by sweep.
    pub(super) lambda: Lane3,
    /// One over the inertia that a step of first order sees across u.
    pub(super) inertia_inverse: [Lane; 1],
}

/// Up to eight chains of one make.
#[derive(Clone, Debug)]
pub(super) struct Team {
    /// Which make.
    pub(super) make: usize,
    /// Number of each chain; places that are left over repeat the last.
    pub(super) chains: [usize; LANES],
    pub(super) anchor: Lane3,
    pub(super) beads: Vec<State>,
}

impl Team {
    pub(super) fn new(make: usize, numbers: &[usize], chains: &[Chain]) -> Team {
        let last = numbers.len() - 1;
        let numbers: [usize; LANES] = std::array::from_fn(|l| numbers[l.min(last)]);
        let first = &chains[numbers[0]];
        let mut team = Team {
            make,
            chains: numbers,
            anchor: Lane3::default(),
            beads: vec![State::default(); first.beads.len()],
        };
        for (l, &number) in numbers.iter().enumerate() {
            let chain = &chains[number];
            put(&mut team.anchor, l, chain.anchor);
            for (state, bead) in team.beads.iter_mut().zip(&chain.beads) {
                put(&mut state.x, l, bead.position);
                put(&mut state.v, l, bead.velocity);
                put(&mut state.w, l, bead.spin);
                let q = bead.orientation.to_array();
                for i in 0..4 {
                    state.q[i][l] = q[i];
                }
            }
        }
        team
    }

    /// Lanes that hold a chain of their own.
    pub(super) fn used(&self) -> usize {
        let repeated = |l: &usize| self.chains[*l] == self.chains[*l - 1];
        (1..LANES).find(repeated).unwrap_or(LANES)
    }
}

/// Writes one lane of a vector.
pub(super) fn put(lanes: &mut Lane3, l: usize, v: DVec3) {
    for i in 0..3 {
        lanes[i][l] = v[i];
    }
}

/// Reads one lane of a vector.
pub(super) fn get(lanes: &Lane3, l: usize) -> DVec3 {
    DVec3::new(lanes[0][l], lanes[1][l], lanes[2][l])
}

/// Reads one lane of an orientation.
pub(super) fn get_turn(q: &[Lane; 4], l: usize) -> DQuat {
    DQuat::from_xyzw(q[0][l], q[1][l], q[2][l], q[3][l])
}
