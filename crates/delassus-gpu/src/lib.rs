//! Solvers of `delassus` on the graphics processor: kernels in WGSL beside the Rust that drives them.
//!
#![doc = include_str!("../docs/gpu.md")]

mod catalogue;
mod chains;
mod colour;
mod coloured;
mod device;
mod jacobi;
mod layout;
mod resident;
mod scene;
mod session;

pub use catalogue::{catalogue, from_spec};
pub use chains::{ChainOptions, ChainReport, ChainState, GpuChains};
pub use coloured::ColouredGpu;
pub use device::{Gpu, GpuError, Search};
pub use jacobi::JacobiGpu;
pub use scene::{BallJoint, Bead, ChainScene};
