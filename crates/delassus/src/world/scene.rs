//! A world with what a run of it needs by default.

use super::World;
use crate::solver::{Stop, auto};

/// A world with what a run of it needs by default.
#[derive(Debug)]
pub struct Scene {
    /// Its title.
    pub title: String,
    /// The world at time zero.
    pub world: World,
    /// How it is run unless asked otherwise.
    pub run: RunDefaults,
    /// What robot files hold that is not used, with its place.
    pub warnings: Vec<String>,
    /// Those of them that act and are left out.
    pub lost: Vec<String>,
}

/// How a scene is run unless asked otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct RunDefaults {
    /// Step \[s\].
    pub dt: f64,
    /// Time to simulate \[s\].
    pub time: f64,
    /// Solver with its keys.
    pub solver: String,
    /// Largest acceptable law residual of a step \[m/s\].
    pub tolerance: f64,
    /// Most sweeps of a step.
    pub iterations: usize,
}

impl RunDefaults {
    /// Most sweeps of a step that is solved to this tolerance. Without one a scene says how often it is swept, which is
    /// no limit where an answer is asked for.
    pub fn sweeps_to(&self, tolerance: f64) -> usize {
        match self.tolerance == 0.0 && 0.0 < tolerance {
            true => Stop::default().sweeps,
            false => self.iterations,
        }
    }
}

impl Default for RunDefaults {
    fn default() -> RunDefaults {
        RunDefaults {
            dt: 0.01,
            time: 5.0,
            solver: auto::NAME.to_owned(),
            tolerance: 1e-6,
            // Newton steps come by the hundred now and then, and may be no more than half of these.
            iterations: Stop::default().sweeps,
        }
    }
}
