//! Linear algebra in one place: every factorisation, elimination order and disjoint set, each once.
//!
#![doc = include_str!("../../docs/linalg.md")]

pub(crate) mod block_lu;
pub(crate) mod cholesky;
pub(crate) mod disjoint;
pub(crate) mod equilibrate;
pub(crate) mod gauss_jordan;
mod generalised;
pub(crate) mod independent;
pub(crate) mod inverse_root;
pub(crate) mod kept_lu;
pub(crate) mod ldl;
pub(crate) mod lu;
mod mat3;
pub(crate) mod minimum_degree;
pub(crate) mod qr_update;
pub(crate) mod ranked;
pub(crate) mod sym3;
mod twofold;
mod twofold_lu;
pub(crate) mod wide_lu;

pub use self::generalised::generalised_inverse;
pub(crate) use self::mat3::{inverse_3, mul_3};
pub use self::mat3::{largest_eigenvalue_2, largest_eigenvalue_3, regular_inverse_3};
pub(crate) use self::twofold::{Twofold, TwofoldMatrix, twofold_cross};
pub(crate) use self::twofold_lu::TwofoldLu;

/// Which rows of a system are independent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// Number of independent rows.
    pub rank: usize,
    /// Rows that depend on the others, in ascending order; their multipliers are zero.
    pub redundant: Vec<usize>,
}
