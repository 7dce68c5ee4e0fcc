//! Linear algebra in one place: every factorisation, elimination order and disjoint set, each once.

pub(crate) mod degree;
pub(crate) mod fronts;
pub(crate) mod qr_update;
