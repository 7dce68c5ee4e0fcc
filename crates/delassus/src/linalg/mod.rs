//! Linear algebra in one place: every factorisation, elimination order and disjoint set, each once.

pub(crate) mod cholesky;
pub(crate) mod degree;
pub(crate) mod disjoint;
pub(crate) mod fronts;
pub(crate) mod lu;
pub(crate) mod qr_update;
pub(crate) mod ranked;

/// Which rows of a system are independent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// Number of independent rows.
    pub rank: usize,
    /// Rows that depend on the others, in ascending order; their multipliers are zero.
    pub redundant: Vec<usize>,
}
