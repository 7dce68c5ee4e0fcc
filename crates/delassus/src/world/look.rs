//! How a world is shown: colours and cameras. Nothing of it acts.

use std::collections::BTreeMap;

use glam::DVec3;

use crate::index::BodyId;

/// What a viewer may show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Colours of bodies: red, green and blue as screens have them, from 0 to 1. Those without one get their own.
    pub colours: BTreeMap<BodyId, [f64; 3]>,
    /// Where to look from.
    pub cameras: Vec<Camera>,
}

/// A place to look from.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// Its name.
    pub name: String,
    /// Where it stands \[m\].
    pub position: DVec3,
    /// What it looks at \[m\].
    pub target: DVec3,
    /// What is up in its picture.
    pub up: DVec3,
    /// Height of its picture as an angle \[rad\].
    pub field: f64,
}
