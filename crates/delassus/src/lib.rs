//! delassus

pub mod problem;
