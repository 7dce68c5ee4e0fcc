#![doc = include_str!("../README.md")]

mod census;
pub mod disk;
mod dynamics;
mod export;
mod record;

pub use disk::DiskError;
pub use export::{Export, ExportError, Written, check_exports};
pub use record::Recorder;
