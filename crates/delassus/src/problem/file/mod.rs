//! Problems that other programs wrote: Siconos text files and FCLIB HDF5 files.
//!
//! Reading never panics and never reserves more memory than a small multiple of the input:
//! a size that a file declares is believed only after the input is seen to be long enough for it.

mod error;
pub mod fclib;
mod friction;
pub mod siconos;

pub use error::{FileError, Place};
pub use friction::{FrictionFile, FrictionForm, Triplets};
