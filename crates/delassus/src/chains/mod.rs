//! Very many chains of beads on ball joints, side by side: a closed system that only has to be fast and right.
//!
#![doc = include_str!("../../docs/chains.md")]

mod algebra;
mod build;
mod lanes;
mod pass;
mod rattle;
mod spook;
mod team;

pub use build::{Bead, Chain, ChainError};

use glam::DVec3;

use lanes::{BeadMass, Team};

use crate::math::parallel::prelude::*;

/// How the joints of a first-order step are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solve {
    /// Exactly, by block elimination along the chain.
    Exact,
    /// By so many sweeps in which all joints move at once, from the impulses of the last step.   [Chain, (37)]
    Jacobi {
        /// Sweeps of a substep.
        sweeps: u32,
    },
    /// By so many sweeps in which joints move one after the other.
    GaussSeidel {
        /// Sweeps of a substep.
        sweeps: u32,
    },
}

/// How a step is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Integrator {
    /// First order: joints held by SPOOK with a damping time of two substeps.
    Spook(Solve),
    /// Second order: joints closed exactly.
    Rattle(Rattle),
}

/// When a substep of second order is good enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rattle {
    /// Largest opening of the joints of a chain, taken together \[m\].
    pub tolerance: f64,
    /// Most corrections of a pose.
    pub corrections: u32,
    /// Whether substeps are halved where they fail, or where beads turn too far.
    pub adapt: Option<Adapt>,
}

impl Default for Rattle {
    fn default() -> Rattle {
        Rattle {
            tolerance: 5e-7,
            corrections: 8,
            adapt: None,
        }
    }
}

/// How substeps are halved, for eight chains at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adapt {
    /// Most a bead may turn in a substep \[rad\].
    pub angle: f64,
    /// Most halvings of a substep.
    pub halvings: u32,
}

impl Default for Adapt {
    fn default() -> Adapt {
        Adapt {
            angle: 0.1,
            halvings: 12,
        }
    }
}

/// What a step did, over all chains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    /// Substeps taken by a chain, on average.
    pub substeps: f64,
    /// Substeps tried by a chain, on average.
    pub tried: f64,
    /// Corrections or sweeps of a chain, on average.
    pub iterations: f64,
    /// Substeps of single chains that were taken at first order, because the joints could not be closed.
    pub coarse: usize,
    /// Chains that would have left the finite numbers and stay as they were before the step.
    pub refused: usize,
}

/// Energy and joints, over all chains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    /// Kinetic and potential energy \[J\].
    pub energy: f64,
    /// Largest opening of a joint \[m\].
    pub opening: f64,
}

/// Chains of beads, each hanging by its first joint from a fixed point; beads do not collide.
#[derive(Clone, Debug)]
pub struct Chains {
    /// Gravity \[m/s²\].
    pub gravity: DVec3,
    /// What the beads of equal chains are made of.
    makes: Vec<Vec<BeadMass>>,
    teams: Vec<Team>,
    /// Team and lane of every chain.
    places: Vec<(u32, u32)>,
}

impl Chains {
    /// Number of chains.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Bytes held between steps.
    pub fn bytes(&self) -> usize {
        let states = self.teams.iter().map(|team| size_of_val(&team.beads[..]));
        let links = self.makes.iter().map(|make| size_of_val(&make[..]));
        states.chain(links).sum::<usize>()
            + size_of_val(&self.teams[..])
            + size_of_val(&self.places[..])
    }

    /// Advances all chains by h seconds in so many substeps, or more where the integrator asks for them. The threads
    /// of the current rayon pool share the work; their number changes no bit. A step that is no positive number does
    /// nothing.
    pub fn step(&mut self, h: f64, substeps: u32, integrator: Integrator) -> Taken {
        self.step_on(pulp::Arch::new(), h, substeps, integrator)
    }

    /// The same with the instructions of one kind of processor.
    fn step_on(
        &mut self,
        arch: pulp::Arch,
        h: f64,
        substeps: u32,
        integrator: Integrator,
    ) -> Taken {
        if !(h.is_finite() && 0.0 < h) || self.is_empty() {
            return Taken::default();
        }
        let plan = team::Plan {
            h: h / f64::from(substeps.max(1)),
            substeps: substeps.max(1),
            integrator,
            gravity: self.gravity.to_array(),
            arch,
        };
        let makes = &self.makes;
        let taken: Vec<team::Count> = self
            .teams
            .par_iter_mut()
            .map_init(team::Space::default, |space, team| {
                let links = &makes[team.make];
                plan.step(links, team, space)
            })
            .collect();
        self.sum(&taken)
    }

    /// Adds up what teams did, in their order.
    fn sum(&self, counts: &[team::Count]) -> Taken {
        let mut taken = Taken::default();
        let share = 1.0 / self.len() as f64;
        for (team, count) in self.teams.iter().zip(counts) {
            let used = team.used();
            let weight = share * used as f64;
            taken.substeps += weight * f64::from(count.substeps);
            taken.tried += weight * f64::from(count.tried);
            taken.iterations += weight * f64::from(count.iterations);
            taken.coarse += used * count.coarse as usize;
            taken.refused += if count.refused { used } else { 0 };
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_do_not_depend_on_the_processor() {
        let all: Vec<Chain> = (0..11)
            .map(|i| {
                let direction = DVec3::new(f64::from(i).cos(), f64::from(i).sin(), 0.1);
                Chain::straight(DVec3::ZERO, direction, 6, 1.0, 0.05)
            })
            .collect();
        let adapt = Some(Adapt::default());
        let rattle = Integrator::Rattle(Rattle {
            adapt,
            ..Rattle::default()
        });
        let sweeps = 5;
        for integrator in [
            rattle,
            Integrator::Spook(Solve::Exact),
            Integrator::Spook(Solve::Jacobi { sweeps }),
            Integrator::Spook(Solve::GaussSeidel { sweeps }),
        ] {
            let run = |arch: pulp::Arch| {
                let mut chains = Chains::new(DVec3::new(0.0, 0.0, -9.81), &all).unwrap();
                for _ in 0..40 {
                    chains.step_on(arch, 1.0 / 60.0, 3, integrator);
                }
                (0..11).map(|i| chains.chain(i)).collect::<Vec<_>>()
            };
            assert!(run(pulp::Arch::Scalar) == run(pulp::Arch::new()));
        }
    }
}
