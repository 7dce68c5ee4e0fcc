//! Disjoint sets: which of n things belong together, when all that is known are pairs that do.
//!
//! A set is named by its smallest member, so that the name does not depend on the order in which pairs come. Cost:
//! nearly constant for each pair, because every search shortens the path it took.

/// Sets over the numbers 0..n, each a set of its own at first.
#[derive(Clone, Debug, Default)]
pub(crate) struct DisjointSets {
    /// A smaller member of the same set; the smallest names itself.
    above: Vec<usize>,
}

impl DisjointSets {
    /// n sets of one member.
    pub(crate) fn new(n: usize) -> DisjointSets {
        DisjointSets {
            above: (0..n).collect(),
        }
    }

    /// The same in this memory.
    pub(crate) fn reset(&mut self, n: usize) {
        self.above.clear();
        self.above.extend(0..n);
    }

    /// Adds one more member, in a set of its own; returns its number.
    pub(crate) fn push(&mut self) -> usize {
        self.above.push(self.above.len());
        self.above.len() - 1
    }

    /// The smallest member of the set that x is in.
    pub(crate) fn find(&mut self, mut x: usize) -> usize {
        while self.above[x] != x {
            self.above[x] = self.above[self.above[x]];
            x = self.above[x];
        }
        x
    }

    /// Makes one set of those that a and b are in; returns its name.
    pub(crate) fn join(&mut self, a: usize, b: usize) -> usize {
        let (a, b) = (self.find(a), self.find(b));
        self.above[a.max(b)] = a.min(b);
        a.min(b)
    }

    /// The number of each member's set, sets counted in the order of their smallest members, and how many there are.
    pub(crate) fn numbered(mut self) -> (Vec<usize>, usize) {
        let (mut number, mut count) = (Vec::with_capacity(self.above.len()), 0);
        for x in 0..self.above.len() {
            // The smallest member comes first, so that its number is there for all others.
            let first = self.find(x);
            if first == x {
                number.push(count);
                count += 1;
            } else {
                number.push(number[first]);
            }
        }
        (number, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn sets_are_the_components_of_the_pairs_whatever_their_order() {
        let mut random = Random::new(7);
        for n in [1, 2, 9, 40] {
            let mut pairs: Vec<(usize, usize)> = (0..n / 2)
                .map(|_| (random.below(n), random.below(n)))
                .collect();
            // The smallest member that pairs lead to, by spreading it until nothing changes.
            let mut least: Vec<usize> = (0..n).collect();
            for _ in 0..n {
                for &(a, b) in &pairs {
                    let smaller = least[a].min(least[b]);
                    (least[a], least[b]) = (smaller, smaller);
                }
            }
            for _ in 0..3 {
                random.shuffle(&mut pairs);
                let mut sets = DisjointSets::new(n);
                for &(a, b) in &pairs {
                    assert_eq!(sets.join(a, b), sets.find(a));
                }
                let found: Vec<usize> = (0..n).map(|x| sets.find(x)).collect();
                assert_eq!(found, least);
                let (number, count) = sets.numbered();
                let firsts: Vec<usize> = (0..n).filter(|&x| least[x] == x).collect();
                assert_eq!(count, firsts.len());
                assert!((0..n).all(|x| firsts[number[x]] == least[x]));
            }
        }
    }

    #[test]
    fn a_member_added_later_is_alone_until_it_is_joined() {
        let mut sets = DisjointSets::new(2);
        let new = sets.push();
        assert_eq!((new, sets.find(new)), (2, 2));
        assert_eq!(sets.join(new, 1), 1);
        assert_eq!((sets.find(0), sets.find(2)), (0, 1));
    }
}
