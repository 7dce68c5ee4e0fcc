//! Work shared between threads so that results never depend on how many there are: it is cut into chunks of a
//! fixed size, and what they give is collected in their order. Without the feature `parallel` one thread takes the
//! chunks one after the other, which gives the same bits.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[cfg(feature = "parallel")]
pub(crate) use rayon::{current_num_threads, join, prelude, scope};

#[cfg(not(feature = "parallel"))]
pub(crate) use super::sequential::{current_num_threads, join, prelude, scope};

use prelude::*;

/// Constraint blocks, pairs or bodies that one thread takes at a time: some twenty microseconds of work, several times what it
/// costs to wake a thread.
pub(crate) const CHUNK: usize = 256;

/// Items per part where a part may have any size: one part for a lone thread, else a few for each.
pub(crate) fn share(items: usize) -> usize {
    match current_num_threads() {
        1 => items,
        threads => items.div_ceil(4 * threads),
    }
}

/// Work on every part for its own sake; a single one, or all of a lone thread, are done at once, without a list of them.
pub(crate) fn each<T: Send>(mut parts: impl Iterator<Item = T>, work: impl Fn(T) + Send + Sync) {
    match (parts.next(), parts.next()) {
        (None, _) => {}
        (Some(one), None) => work(one),
        (Some(first), Some(second)) if current_num_threads() < 2 => {
            work(first);
            work(second);
            parts.for_each(work);
        }
        (Some(first), Some(second)) => {
            map([first, second].into_iter().chain(parts).collect(), work);
        }
    }
}

/// Whether something holds of every part.
pub(crate) fn all<T: Send>(
    parts: impl Iterator<Item = T>,
    holds: impl Fn(T) -> bool + Send + Sync,
) -> bool {
    let broken = AtomicBool::new(false);
    each(parts, |part| {
        if !broken.load(Relaxed) && !holds(part) {
            broken.store(true, Relaxed);
        }
    });
    !broken.into_inner()
}

/// What `work` makes of each part, in order; side by side where there is more than one part and thread.
pub(crate) fn map<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    if parts.len() < 2 || current_num_threads() < 2 {
        return parts.into_iter().map(work).collect();
    }
    parts.into_par_iter().map(work).collect()
}

/// Fewer elements than this are not worth waking another thread for.
const WORTHWHILE: usize = 20_000;

/// Calls `work(chunk, its part of each array, its result)` for every chunk. `bounds` are the first elements of the
/// chunks, and one more; chunks never share an element, so their order cannot matter.
pub(crate) fn for_chunks<const N: usize, T: Send>(
    bounds: &[usize],
    arrays: [&mut [f64]; N],
    results: &mut [T],
    work: &(impl Fn(usize, [&mut [f64]; N], &mut T) + Sync),
) {
    let elements = match bounds {
        [first, .., last] => last - first,
        _ => return,
    };
    halve(0, bounds, arrays, results, work, WORTHWHILE <= elements);
}

fn halve<const N: usize, T: Send>(
    first: usize,
    bounds: &[usize],
    arrays: [&mut [f64]; N],
    results: &mut [T],
    work: &(impl Fn(usize, [&mut [f64]; N], &mut T) + Sync),
    threads: bool,
) {
    if let [result] = results {
        return work(first, arrays, result);
    }
    let middle = results.len() / 2;
    let cut = bounds[middle] - bounds[0];
    let mut after: [&mut [f64]; N] = std::array::from_fn(|_| <&mut [f64]>::default());
    let mut i = 0;
    let before = arrays.map(|array| {
        let (left, right) = array.split_at_mut(cut);
        after[i] = right;
        i += 1;
        left
    });
    let (results, more) = results.split_at_mut(middle);
    let left = || halve(first, &bounds[..=middle], before, results, work, threads);
    let right = || {
        halve(
            first + middle,
            &bounds[middle..],
            after,
            more,
            work,
            threads,
        )
    };
    if threads {
        join(left, right);
    } else {
        left();
        right();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_visited_once_with_its_own_part() {
        for n in [0, 1, 2, 7, 50_000] {
            let bounds: Vec<usize> = (0..=n).map(|i| 3 * i).collect();
            let (mut a, mut b) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
            let mut results = vec![0; n];
            let work = |chunk: usize, [a, b]: [&mut [f64]; 2], result: &mut usize| {
                a.fill(chunk as f64);
                b[2] += 1.0;
                *result += chunk + 1;
            };
            for_chunks(&bounds, [&mut a, &mut b], &mut results, &work);
            assert!((0..3 * n).all(|i| a[i] == (i / 3) as f64));
            assert!((0..3 * n).all(|i| b[i] == f64::from(i % 3 == 2)));
            assert!((0..n).all(|i| results[i] == i + 1));
        }
    }
}
