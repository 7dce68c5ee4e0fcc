//! Built-in scenes by name, shared by tests, benches and the command line.

use crate::world::scene::{Scene, SceneError};

/// One built-in scene.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// Its name; a size may follow as `name:12`.
    pub name: &'static str,
    /// The size taken when none is given, or zero where it has none.
    pub size: usize,
    /// The largest size.
    pub limit: usize,
    /// What it is, in one line.
    pub about: &'static str,
}

/// All built-in scenes.
pub fn exhibits() -> &'static [Exhibit] {
    &[]
}

/// Makes a built-in scene from `name` or `name:size`. The same name gives the same bits.
pub fn build(spec: &str) -> Result<Scene, SceneError> {
    let place = spec.to_owned();
    Err(SceneError::Invalid {
        place,
        what: "there is no such scene".to_owned(),
    })
}
