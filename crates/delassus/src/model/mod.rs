//! Worlds from files: robots in URDF and MJCF, scenes in TOML.
//!
//! [`robot::parse`] gives the plain description that [`WorldBuilder::add_robot`](crate::world::WorldBuilder::add_robot)
//! takes; [`scene::parse`] gives a [`Scene`](crate::world::Scene), ready to run.

mod hull;
mod mesh;
#[cfg(feature = "robots")]
pub mod robot;
pub mod scene;
