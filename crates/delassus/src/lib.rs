//! delassus: one constraint problem for multibody dynamics, every solver that matters, one judge.

pub mod collide;
pub mod error;
pub mod gallery;
pub mod index;
pub mod law;
pub mod math;
pub mod problem;
pub mod solver;

pub use error::BuildError;
pub use index::{BlockId, MassId};
pub use law::Law;
pub use problem::mass::MassBlock;
pub use problem::residual::Residual;
pub use problem::{Problem, ProblemBuilder, Solution};
pub use solver::gauss_seidel::GaussSeidel;
pub use solver::{Fit, Report, Solver, Status, Stop};
