//! What was chosen: solvers of the views and the way the worlds are stepped.

use std::error::Error;

use delassus::solver::{Description, Record, catalogue, from_spec};
use delassus::world::{FrictionModel, RunDefaults, Surface};
use delassus::{Solver, Stop, World};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::message::{FrictionLaw, Parameters};
use crate::refused::Refused;

/// Longest solve: a page must answer, whatever solver it was asked for.
const PATIENCE: Duration = Duration::from_secs(2);

/// A solver with when it stops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Solver with its keys.
    pub spec: String,
    /// Largest acceptable law residual \[m/s\].
    pub tolerance: f64,
    /// Most sweeps.
    pub iterations: usize,
}

/// Makes a solver from its name with keys, or says what is wrong with it.
pub type MakeSolver =
    fn(&str, Stop, u64) -> Result<Box<dyn Solver + Send>, Box<dyn Error + Send + Sync>>;

/// The solvers that the page offers: those of the library, unless a program brings more.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// Their names and keys.
    pub entries: Vec<&'static Description>,
    /// Makes any of them.
    pub make: MakeSolver,
}

impl Default for Catalogue {
    fn default() -> Catalogue {
        Catalogue {
            entries: catalogue().iter().collect(),
            make: |spec, stop, seed| Ok(from_spec(spec, stop, seed)?),
        }
    }
}

/// How a show begins, where the scene's own way is not wanted.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Solvers, at most two: two are shown side by side.
    pub solvers: Vec<String>,
    /// Largest acceptable law residual \[m/s\].
    pub tolerance: Option<f64>,
    /// Most sweeps.
    pub iterations: Option<usize>,
    /// Step \[s\].
    pub dt: Option<f64>,
    /// Begin at rest.
    pub paused: bool,
    /// What solvers there are.
    pub catalogue: Catalogue,
    /// A state that the page saved, to begin from: the text of its file.
    pub state: Option<String>,
}

impl Choice {
    /// A solver with the tolerance and limit of a scene.
    pub(crate) fn of(spec: &str, run: &RunDefaults) -> Choice {
        Choice {
            spec: spec.to_owned(),
            tolerance: run.tolerance,
            iterations: run.iterations,
        }
    }

    /// Makes the solver; `history` asks for the law residual after every sweep.
    pub(crate) fn solver(
        &self,
        make: MakeSolver,
        history: bool,
    ) -> Result<Box<dyn Solver + Send>, Refused> {
        let stop = Stop {
            tolerance: self.tolerance,
            sweeps: self.iterations,
            time: Some(PATIENCE),
            record: if history {
                Record::Residuals
            } else {
                Record::Sweeps
            },
            ..Stop::default()
        };
        make(&self.spec, stop, 0).map_err(Refused::Solver)
    }
}

impl Parameters {
    /// Those of a world and its run.
    pub(crate) fn of(world: &World, dt: f64) -> Parameters {
        Parameters {
            dt,
            substeps: world.settings.substeps.max(1),
            gravity: world.gravity.to_array(),
            friction: None,
            law: match world.settings.friction {
                FrictionModel::Cone => FrictionLaw::Cone,
                FrictionModel::Box => FrictionLaw::Box,
                FrictionModel::Ellipsoid => FrictionLaw::Ellipsoid,
                FrictionModel::Facets(directions) => FrictionLaw::Facets(directions),
            },
        }
    }

    /// Makes them those of a world; `surfaces` are the scene's own.
    pub(crate) fn apply(&self, world: &mut World, surfaces: &[Surface]) {
        world.gravity = DVec3::from(self.gravity);
        world.settings.substeps = self.substeps;
        world.settings.friction = match self.law {
            FrictionLaw::Cone => FrictionModel::Cone,
            FrictionLaw::Box => FrictionModel::Box,
            FrictionLaw::Ellipsoid => FrictionModel::Ellipsoid,
            FrictionLaw::Facets(directions) => FrictionModel::Facets(directions),
        };
        for (surface, own) in world.surfaces_mut().iter_mut().zip(surfaces) {
            surface.friction = self.friction.unwrap_or(own.friction);
        }
    }
}
