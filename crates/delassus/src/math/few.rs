//! Short lists that need no memory of their own.

use std::ops::{Deref, DerefMut};

/// A list whose first N items stand in it: memory is asked for where there are more.
#[derive(Clone, Debug)]
pub struct Few<T, const N: usize> {
    few: [T; N],
    len: usize,
    /// All items, where they are more than N.
    many: Vec<T>,
}

impl<T: Copy + Default, const N: usize> Few<T, N> {
    /// An empty list.
    pub fn new() -> Few<T, N> {
        Few {
            few: [T::default(); N],
            len: 0,
            many: Vec::new(),
        }
    }

    /// So many times the same item.
    pub fn of(item: T, len: usize) -> Few<T, N> {
        let many = if len <= N {
            Vec::new()
        } else {
            vec![item; len]
        };
        Few {
            few: [item; N],
            len,
            many,
        }
    }

    /// Adds an item.
    pub fn push(&mut self, item: T) {
        self.push_of(item, 0);
    }

    /// Adds an item of a list that is expected to have so many.
    pub(crate) fn push_of(&mut self, item: T, expected: usize) {
        match self.few.get_mut(self.len) {
            Some(place) => *place = item,
            None => {
                if self.len == N {
                    self.many.reserve(expected.max(N + 1));
                    self.many.extend_from_slice(&self.few);
                }
                self.many.push(item);
            }
        }
        self.len += 1;
    }
}

impl<T, const N: usize> Few<T, N> {
    /// Its items.
    pub fn as_slice(&self) -> &[T] {
        match self.few.get(..self.len) {
            Some(few) => few,
            None => &self.many,
        }
    }
}

impl<T: Copy + Default, const N: usize> Default for Few<T, N> {
    fn default() -> Few<T, N> {
        Few::new()
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T, const N: usize> DerefMut for Few<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self.few.get_mut(..self.len) {
            Some(few) => few,
            None => &mut self.many,
        }
    }
}

impl<T: Copy + Default, const N: usize> Extend<T> for Few<T, N> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: Copy + Default, const N: usize> FromIterator<T> for Few<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Few<T, N> {
        let mut list = Few::new();
        list.extend(items);
        list
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a Few<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a mut Few<T, N> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stand_in_order_whether_they_are_few_or_many() {
        let mut list = Few::<usize, 3>::new();
        for i in 0..10 {
            assert_eq!(list.len(), i);
            assert_eq!(list.many.is_empty(), i <= 3);
            list.push(i);
            assert!(list.iter().copied().eq(0..=i), "{list:?}");
        }
        list.iter_mut().for_each(|x| *x *= 2);
        let doubled: Few<usize, 3> = (0..10).map(|x| 2 * x).collect();
        assert_eq!(list.as_slice(), doubled.as_slice());
        for n in 0..6 {
            let mut list = Few::<usize, 3>::of(7, n);
            assert_eq!(list.as_slice(), vec![7; n]);
            list.push(8);
            assert_eq!(list.as_slice(), [vec![7; n], vec![8]].concat());
        }
    }
}
