//! The names of rayon that this library uses, for one thread: the same calls, one after the other.

/// One: there are no others.
pub(crate) fn current_num_threads() -> usize {
    1
}

/// Both, the first one first.
pub(crate) fn join<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
    let a = first();
    (a, second())
}

/// Calls `work`, on this thread.
pub(crate) fn scope<R>(work: impl FnOnce(&()) -> R) -> R {
    work(&())
}

/// Iterators of rayon as those of the standard library.
pub(crate) mod prelude {
    use std::slice::{ChunksMut, Iter, IterMut};

    /// A vector that gives its items away.
    pub(crate) trait IntoParallelIterator: IntoIterator + Sized {
        fn into_par_iter(self) -> Self::IntoIter {
            self.into_iter()
        }
    }

    impl<T> IntoParallelIterator for Vec<T> {}

    /// A slice whose items are visited in order.
    pub(crate) trait ParallelSlice<T> {
        fn par_iter(&self) -> Iter<'_, T>;
        fn par_iter_mut(&mut self) -> IterMut<'_, T>;
        fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
    }

    impl<T> ParallelSlice<T> for [T] {
        fn par_iter(&self) -> Iter<'_, T> {
            self.iter()
        }

        fn par_iter_mut(&mut self) -> IterMut<'_, T> {
            self.iter_mut()
        }

        fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
            self.chunks_mut(size)
        }
    }

    /// What rayon's iterators have and those of the standard library have not.
    pub(crate) trait ParallelIterator: Iterator + Sized {
        fn with_min_len(self, _: usize) -> Self {
            self
        }

        fn with_max_len(self, _: usize) -> Self {
            self
        }

        fn map_init<S, R>(
            self,
            init: impl Fn() -> S,
            mut work: impl FnMut(&mut S, Self::Item) -> R,
        ) -> impl Iterator<Item = R> {
            let mut state = init();
            self.map(move |item| work(&mut state, item))
        }

        fn for_each_init<S>(self, init: impl Fn() -> S, mut work: impl FnMut(&mut S, Self::Item)) {
            let mut state = init();
            self.for_each(|item| work(&mut state, item));
        }
    }

    impl<I: Iterator> ParallelIterator for I {}
}
