//! Linear algebra in one place: every factorisation, elimination order and disjoint set, each once.

pub(crate) mod block_lu;
pub(crate) mod dense_lu;
