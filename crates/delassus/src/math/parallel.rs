//! Work shared between threads so that results never depend on how many there are: it is cut into chunks of a
//! fixed size, and what they give is collected in their order.

use rayon::prelude::*;

/// Constraint blocks, pairs or bodies that one thread takes at a time: some twenty microseconds of work, several times what it
/// costs to wake a thread.
pub(crate) const CHUNK: usize = 256;

/// Items per part where a part may have any size: one part for a lone thread, else a few for each.
pub(crate) fn share(items: usize) -> usize {
    match rayon::current_num_threads() {
        1 => items,
        threads => items.div_ceil(4 * threads),
    }
}

/// What `work` makes of each part, in order; side by side where there is more than one part and thread.
pub(crate) fn map<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    if parts.len() < 2 || rayon::current_num_threads() < 2 {
        return parts.into_iter().map(work).collect();
    }
    parts.into_par_iter().map(work).collect()
}
