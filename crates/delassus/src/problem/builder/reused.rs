//! Lists that are written over those of a problem nobody needs any more.

/// A list in old memory. What stands behind its end is of the old list, and is neither cleared nor copied before it is
/// overwritten: the problem of a large world is megabytes, and each step makes one.
#[derive(Clone, Debug)]
pub(super) struct Reused<T> {
    items: Vec<T>,
    len: usize,
}

impl<T> Default for Reused<T> {
    fn default() -> Reused<T> {
        Reused::over(Vec::new())
    }
}

impl<T> Reused<T> {
    /// An empty list over an old one.
    pub(super) fn over(items: Vec<T>) -> Reused<T> {
        Reused { items, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Makes room for so many more.
    pub(super) fn reserve(&mut self, count: usize) {
        let missing = (self.len + count).saturating_sub(self.items.len());
        self.items.reserve(missing);
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    #[inline(always)]
    pub(super) fn push(&mut self, item: T) {
        match self.items.get_mut(self.len) {
            Some(old) => *old = item,
            None => self.items.push(item),
        }
        self.len += 1;
    }

    /// What the old list has at the next place, for the memory it stands in; `instead` is left there.
    #[inline(always)]
    pub(super) fn take_old(&mut self, instead: T) -> Option<T> {
        let old = self.items.get_mut(self.len)?;
        Some(std::mem::replace(old, instead))
    }

    /// The list as it is.
    pub(super) fn finish(mut self) -> Vec<T> {
        self.items.truncate(self.len);
        self.items
    }
}

impl<T: Clone> Reused<T> {
    /// So many more, to be overwritten: they hold anything, `new` where there was nothing.
    pub(super) fn more(&mut self, count: usize, new: T) -> &mut [T] {
        let start = self.len;
        self.len += count;
        if self.items.len() < self.len {
            self.items.resize(self.len, new);
        }
        &mut self.items[start..self.len]
    }

    #[inline(always)]
    pub(super) fn extend_from_slice(&mut self, items: &[T]) {
        let Some(first) = items.first() else {
            return;
        };
        self.more(items.len(), first.clone())
            .clone_from_slice(items);
    }
}

impl<T> std::ops::Deref for Reused<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items[..self.len]
    }
}

impl<T> std::ops::DerefMut for Reused<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.len]
    }
}
