//! Chains as their user sees them, and how they are sorted into teams.

use glam::{DQuat, DVec3};

use super::lanes::{BeadMass, Team, get, get_turn};
use super::{Chains, Measure};
use crate::math::simd::LANES;

/// A body whose inertia is the same about every axis, held at two opposite points of its own x axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bead {
    /// Mass \[kg\].
    pub mass: f64,
    /// Moment of inertia about any axis through the centre \[kg m²\].
    pub inertia: f64,
    /// Distances of the joints before and behind it from its centre: at −x and at +x \[m\].
    pub arms: [f64; 2],
    /// Centre \[m\].
    pub position: DVec3,
    /// Orientation.
    pub orientation: DQuat,
    /// Velocity of the centre \[m/s\].
    pub velocity: DVec3,
    /// Angular velocity in world axes \[rad/s\].
    pub spin: DVec3,
}

impl Bead {
    /// A solid sphere of uniform density at rest, joints at its poles.
    pub fn sphere(mass: f64, radius: f64, position: DVec3, orientation: DQuat) -> Bead {
        Bead {
            mass,
            inertia: 0.4 * mass * radius * radius,
            arms: [radius; 2],
            position,
            orientation,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
        }
    }
}

/// Beads in a row; the first hangs from a fixed point.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The fixed point \[m\].
    pub anchor: DVec3,
    /// Beads from the fixed point on.
    pub beads: Vec<Bead>,
}

impl Chain {
    /// Equal touching spheres at rest in a straight line from a point.
    pub fn straight(
        anchor: DVec3,
        direction: DVec3,
        beads: usize,
        mass: f64,
        radius: f64,
    ) -> Chain {
        let direction = direction.normalize_or(DVec3::X);
        let turn = DQuat::from_rotation_arc(DVec3::X, direction);
        let at = |i: usize| anchor + direction * (radius * (2 * i + 1) as f64);
        let beads = (0..beads).map(|i| Bead::sphere(mass, radius, at(i), turn));
        Chain {
            anchor,
            beads: beads.collect(),
        }
    }
}

/// Why chains cannot be stepped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// A chain of nothing.
    #[error("chain {chain} has no beads")]
    Empty {
        /// Which chain.
        chain: usize,
    },
    /// A bead that cannot be.
    #[error("bead {bead} of chain {chain}: {what}")]
    Bead {
        /// Which chain.
        chain: usize,
        /// Which of its beads.
        bead: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl Chains {
    /// Sorts chains into teams of equal make; their order is kept for all questions and answers.
    pub fn new(gravity: DVec3, chains: &[Chain]) -> Result<Chains, ChainError> {
        let mut makes: Vec<Vec<BeadMass>> = Vec::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        for (number, chain) in chains.iter().enumerate() {
            check(number, chain)?;
            let links: Vec<BeadMass> = chain.beads.iter().map(BeadMass::new).collect();
            // Few makes are usual, and the last one is the likeliest.
            let make = makes.iter().rposition(|make| *make == links);
            match make {
                Some(make) => members[make].push(number),
                None => {
                    makes.push(links);
                    members.push(vec![number]);
                }
            }
        }
        let mut teams = Vec::new();
        let mut places = vec![(0, 0); chains.len()];
        for (make, members) in members.iter().enumerate() {
            for numbers in members.chunks(LANES) {
                for (lane, &number) in numbers.iter().enumerate() {
                    places[number] = (teams.len() as u32, lane as u32);
                }
                teams.push(Team::new(make, numbers, chains));
            }
        }
        Ok(Chains {
            gravity,
            makes,
            teams,
            places,
        })
    }

    /// A bead as it is now, or `None` beyond the last.
    pub fn bead(&self, chain: usize, bead: usize) -> Option<Bead> {
        let &(team, lane) = self.places.get(chain)?;
        let (team, lane) = (&self.teams[team as usize], lane as usize);
        let (state, link) = (team.beads.get(bead)?, self.makes[team.make].get(bead)?);
        Some(Bead {
            mass: link.mass,
            inertia: link.inertia,
            arms: link.arms,
            position: get(&state.x, lane),
            orientation: get_turn(&state.q, lane),
            velocity: get(&state.v, lane),
            spin: get(&state.w, lane),
        })
    }

    /// A chain as it is now, or `None` beyond the last.
    pub fn chain(&self, chain: usize) -> Option<Chain> {
        let &(team, lane) = self.places.get(chain)?;
        let team = &self.teams[team as usize];
        let beads = (0..team.beads.len()).filter_map(|bead| self.bead(chain, bead));
        Some(Chain {
            anchor: get(&team.anchor, lane as usize),
            beads: beads.collect(),
        })
    }

    /// Energy and the widest joint of all chains.
    pub fn measure(&self) -> Measure {
        let mut measure = Measure::default();
        for chain in (0..self.len()).filter_map(|number| self.chain(number)) {
            let mut end = chain.anchor;
            for bead in &chain.beads {
                let axis = bead.orientation * DVec3::X;
                let opening = (bead.position - axis * bead.arms[0] - end).length();
                end = bead.position + axis * bead.arms[1];
                measure.opening = measure.opening.max(opening);
                let kinetic = bead.mass * bead.velocity.length_squared()
                    + bead.inertia * bead.spin.length_squared();
                measure.energy += 0.5 * kinetic - bead.mass * self.gravity.dot(bead.position);
            }
        }
        measure
    }
}

fn check(chain: usize, given: &Chain) -> Result<(), ChainError> {
    if given.beads.is_empty() {
        return Err(ChainError::Empty { chain });
    }
    for (number, bead) in given.beads.iter().enumerate() {
        let refuse = |what| {
            Err(ChainError::Bead {
                chain,
                bead: number,
                what,
            })
        };
        let positive = |x: f64| x.is_finite() && 0.0 < x && (1.0 / x).is_finite();
        if !(positive(bead.mass) && positive(bead.inertia)) {
            return refuse("mass and inertia must be positive and finite");
        }
        if !bead.arms.iter().all(|arm| arm.is_finite() && 0.0 <= *arm) {
            return refuse("distances of joints must be finite and at least zero");
        }
        let finite =
            bead.position.is_finite() && bead.velocity.is_finite() && bead.spin.is_finite();
        if !(finite && given.anchor.is_finite()) {
            return refuse("position, velocity, spin and the fixed point must be finite");
        }
        if !(bead.orientation.is_finite() && bead.orientation.is_normalized()) {
            return refuse("the orientation must have length one");
        }
    }
    Ok(())
}
