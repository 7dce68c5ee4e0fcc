//! What every layer computes with: vectors, lanes of the processor, a seeded generator, and work shared between threads
//! in a fixed order. Factorisations are in [`crate::linalg`].

mod few;
mod mass_properties;
pub(crate) mod parallel;
mod random;
#[cfg(not(feature = "parallel"))]
mod sequential;
pub(crate) mod simd;
mod vectors;

pub use glam::{DMat3, DQuat, DVec3};

pub use self::few::Few;
pub use self::mass_properties::MassProperties;
pub use self::random::Random;
pub use self::vectors::tangents;
pub(crate) use self::vectors::{
    dot, dot_6, dot_unrolled, max_abs, mul_add, mul_transposed_add, norm,
};
