//! Constraint problems.

pub mod file;
