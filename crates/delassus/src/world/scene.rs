//! Scene files: TOML in, a [`World`] with run defaults out.

use super::World;

/// A world with what a run of it needs by default.
#[derive(Debug)]
pub struct Scene {
    /// Its title.
    pub title: String,
    /// The world at time zero.
    pub world: World,
    /// How it is run unless asked otherwise.
    pub run: RunDefaults,
}

/// How a scene is run unless asked otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct RunDefaults {
    /// Step [s].
    pub dt: f64,
    /// Time to simulate [s].
    pub time: f64,
    /// Solver with its keys.
    pub solver: String,
    /// Largest acceptable law residual of a step [m/s].
    pub tolerance: f64,
    /// Most sweeps of a step.
    pub iterations: usize,
}

impl Default for RunDefaults {
    fn default() -> RunDefaults {
        RunDefaults {
            dt: 0.01,
            time: 5.0,
            solver: "gauss-seidel".to_owned(),
            tolerance: 1e-6,
            iterations: 1000,
        }
    }
}

/// Why a scene cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SceneError {
    /// A fault in the file.
    #[error("{place}: {what}")]
    Invalid {
        /// Line and column, or the path of keys.
        place: String,
        /// The fault and its remedy.
        what: String,
    },
}

/// Reads a scene file.
pub fn parse(_text: &str) -> Result<Scene, SceneError> {
    Err(SceneError::Invalid {
        place: "start".to_owned(),
        what: "not built yet".to_owned(),
    })
}
