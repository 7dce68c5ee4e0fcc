//! The live page: a scene stepped under one or two solvers, or a recorded run, in a browser on this machine.
//!
#![doc = include_str!("../docs/view.md")]
//!
//! One thread owns the worlds and steps them ([`Show`]); another serves the page and its messages. They share nothing
//! but channels: commands one way, layouts, settings, notices and frames the other way. A page that is slow loses
//! frames, never order.

mod choice;
mod dials;
mod files;
mod frame;
mod geometry;
pub mod message;
mod mirror;
mod numbers;
mod pane;
mod past;
mod recording;
mod refused;
mod server;
mod simulation;
mod stage;

pub use choice::{Catalogue, Choice, MakeSolver, Start};
pub use mirror::{Mirror, Reflection};
pub use recording::{Recording, RecordingError};
pub use refused::Refused;
pub use server::{Framing, Options, Server, ViewError, page_is_built};

use delassus::world::Scene;

/// What to say where the program was built without the page.
pub const NO_PAGE: &str = "this program was built without its page; run crates/delassus-view/build-page (it needs \
    node and npm), then build again";

/// Makes the scene of the command line, again at every reset, or says what is wrong with it.
pub type Loader =
    Box<dyn FnMut() -> Result<Scene, Box<dyn std::error::Error + Send + Sync>> + Send>;

/// What the page shows.
pub enum Show {
    /// A scene, stepped while one looks.
    Live {
        /// Its name on the page: a built-in scene with its size, or the name of a file.
        name: String,
        /// Makes it; `None` where the name is that of a built-in scene.
        loader: Option<Loader>,
        /// How to begin.
        start: Start,
    },
    /// A run that was recorded.
    Recording(Box<Recording>),
    /// A world that the program steps itself; see [`Mirror::start`].
    Mirror(Box<Reflection>),
}
