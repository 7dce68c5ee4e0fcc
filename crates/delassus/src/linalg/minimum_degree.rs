//! Minimum degree: an order of elimination that keeps a sparse factor sparse, found without any number of the matrix.
//!
//! Eliminating a node couples all its neighbours. The node whose neighbours are fewest, counted by their sizes, goes
//! first; of equals the one with the smallest number. Chains and trees are eliminated from their ends, and nothing
//! fills in. A [`Gate`] may hold nodes back until their pivot can be regular.
//!
//! The graph is kept as a quotient graph [George89]: a node that is gone stays as the list of those it coupled, so that
//! edges that fill in are never written out. Degrees are exact, not bounds: for equal graphs the order is the same as
//! that of the plain method, whatever the data structure. Cost: about the number of entries of the factor, times the
//! few cliques that meet at a node; no dense array anywhere.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A node that has been eliminated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Eliminated {
    pub(crate) node: usize,
    /// Those of its neighbours that are eliminated later, ascending.
    pub(crate) later: Vec<usize>,
}

/// Says which nodes may be eliminated when. It is asked again whenever something beside a node is gone; some node must
/// always be allowed.
pub(crate) trait Gate {
    /// Whether x may go now.
    fn may_go(&mut self, x: usize) -> bool;
    /// x was eliminated and has coupled these.
    fn gone(&mut self, x: usize, later: &[usize]);
    /// What is left beside x, in no particular order.
    fn beside(&mut self, x: usize, near: &[usize]);
}

/// A gate that lets everything go.
pub(crate) struct Open;

impl Gate for Open {
    fn may_go(&mut self, _: usize) -> bool {
        true
    }
    fn gone(&mut self, _: usize, _: &[usize]) {}
    fn beside(&mut self, _: usize, _: &[usize]) {}
}

/// What is left to eliminate.
pub(crate) struct Graph {
    /// What a node counts as a neighbour of others.
    sizes: Vec<usize>,
    /// Neighbours that share no clique with the node.
    near: Vec<Vec<usize>>,
    /// The cliques a node belongs to, named by the node that left them.
    cliques: Vec<Vec<usize>>,
    /// The clique that a node left; empty before, and again once a later one has taken it up.
    members: Vec<Vec<usize>>,
    gone: Vec<bool>,
    /// Sizes of all neighbours, summed.
    degrees: Vec<usize>,
    /// Marks of the search at hand.
    seen: Vec<usize>,
    search: usize,
    found: Vec<usize>,
}

impl Graph {
    /// Nodes of these sizes, with neighbours of each; whoever is listed on one side only is one on both.
    pub(crate) fn new(sizes: Vec<usize>, mut near: Vec<Vec<usize>>) -> Graph {
        let n = sizes.len();
        let lengths: Vec<usize> = near.iter().map(Vec::len).collect();
        for (x, &length) in lengths.iter().enumerate() {
            for i in 0..length {
                let y = near[x][i];
                near[y].push(x);
            }
        }
        for (x, list) in near.iter_mut().enumerate() {
            list.sort_unstable();
            list.dedup();
            list.retain(|&y| y != x);
        }
        Graph {
            sizes,
            near,
            cliques: vec![Vec::new(); n],
            members: vec![Vec::new(); n],
            gone: vec![false; n],
            degrees: vec![0; n],
            seen: vec![0; n],
            search: 0,
            found: Vec::new(),
        }
    }

    /// n nodes of size one; those that an element lists are neighbours of each other.
    #[allow(
        dead_code,
        reason = "for fronts, whose unknowns are coupled by elements"
    )]
    pub(crate) fn of_elements(n: usize, elements: &[Vec<usize>]) -> Graph {
        let mut near = vec![Vec::new(); n];
        for touched in elements {
            for &x in touched {
                near[x].extend(touched.iter().filter(|&&y| y != x));
            }
        }
        Graph::new(vec![1; n], near)
    }

    /// All nodes in order of elimination.
    pub(crate) fn eliminate(mut self, gate: &mut impl Gate) -> Vec<Eliminated> {
        let n = self.sizes.len();
        // Entries whose degree has changed since are passed over when they come up.
        let mut heap = BinaryHeap::new();
        let mut order = Vec::with_capacity(n);
        for x in 0..n {
            self.measure(x, gate);
            if gate.may_go(x) {
                heap.push(Reverse((self.degrees[x], x)));
            }
        }
        while let Some(Reverse((degree, x))) = heap.pop() {
            if self.gone[x] || degree != self.degrees[x] || !gate.may_go(x) {
                continue;
            }
            let later = self.remove(x);
            gate.gone(x, &later);
            for &y in &later {
                self.measure(y, gate);
                if gate.may_go(y) {
                    heap.push(Reverse((self.degrees[y], y)));
                }
            }
            order.push(Eliminated { node: x, later });
        }
        debug_assert!(order.len() == n, "a gate held nodes back for ever");
        order
    }

    /// Takes x out: its neighbours become a clique, which takes up all cliques it was in. Returns them.
    fn remove(&mut self, x: usize) -> Vec<usize> {
        self.gone[x] = true;
        self.gather(x);
        let mut later = std::mem::take(&mut self.found);
        later.sort_unstable();
        for e in std::mem::take(&mut self.cliques[x]) {
            self.members[e] = Vec::new();
        }
        self.near[x] = Vec::new();
        for &y in &later {
            // `gather` has marked x and the clique, which stands for every edge inside it.
            let (seen, search, members) = (&self.seen, self.search, &self.members);
            self.near[y].retain(|&z| seen[z] != search);
            self.cliques[y].retain(|&e| !members[e].is_empty());
            self.cliques[y].push(x);
        }
        self.members[x].clone_from(&later);
        later
    }

    /// The neighbours of x into `found`, each once; marks them and x.
    fn gather(&mut self, x: usize) {
        self.search += 1;
        self.found.clear();
        self.seen[x] = self.search;
        let cliques = self.cliques[x].iter().map(|&e| &self.members[e]);
        for &y in cliques.chain([&self.near[x]]).flatten() {
            if self.seen[y] != self.search {
                self.seen[y] = self.search;
                self.found.push(y);
            }
        }
    }

    /// Counts what is left beside x.
    fn measure(&mut self, x: usize, gate: &mut impl Gate) {
        self.gather(x);
        self.degrees[x] = self.found.iter().map(|&y| self.sizes[y]).sum();
        gate.beside(x, &self.found);
    }
}

/// Nodes that are eliminated one after the other and see the same others, together: the own nodes of each front, and
/// those it leaves to later ones, ascending.
#[allow(dead_code, reason = "for fronts, which eliminate such nodes at once")]
pub(crate) fn together(order: Vec<Eliminated>) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut fronts: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for Eliminated { node, later } in order {
        if let Some((own, left)) = fronts.last_mut()
            && left.len() == later.len() + 1
            && left.binary_search(&node).is_ok()
        {
            // What a node of a clique sees besides itself contains the clique: equal counts are equal lists.
            own.push(node);
            *left = later;
        } else {
            fronts.push((vec![node], later));
        }
    }
    fronts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::math::Random;

    fn grid(width: usize, height: usize) -> Vec<Vec<usize>> {
        let near = |x: usize| {
            let (i, j) = (x % width, x / width);
            let mut list = Vec::new();
            list.extend((0 < i).then(|| x - 1));
            list.extend((i + 1 < width).then(|| x + 1));
            list.extend((0 < j).then(|| x.wrapping_sub(width)));
            list.extend((j + 1 < height).then(|| x + width));
            list
        };
        (0..width * height).map(near).collect()
    }

    /// The plain method: every edge that fills in is written out.
    fn plainly(sizes: &[usize], near: &[Vec<usize>]) -> Vec<Eliminated> {
        let mut sets: Vec<BTreeSet<usize>> =
            near.iter().map(|l| l.iter().copied().collect()).collect();
        let mut left: BTreeSet<usize> = (0..sizes.len()).collect();
        let mut order = Vec::new();
        let degree = |set: &BTreeSet<usize>| set.iter().map(|&y| sizes[y]).sum::<usize>();
        while let Some(&node) = left.iter().min_by_key(|&&x| (degree(&sets[x]), x)) {
            left.remove(&node);
            let later: Vec<usize> = std::mem::take(&mut sets[node]).into_iter().collect();
            for &y in &later {
                sets[y].extend(later.iter().filter(|&&z| z != y));
                sets[y].remove(&node);
            }
            order.push(Eliminated { node, later });
        }
        order
    }

    #[test]
    fn order_is_that_of_the_plain_method() {
        let mut random = Random::new(21);
        for round in 0..60 {
            let n = 1 + random.below(40);
            let mut near = if round % 3 == 0 {
                grid(1 + n / 6, 6)
            } else {
                vec![Vec::new(); n]
            };
            let n = near.len();
            for _ in 0..random.below(3 * n) {
                let (a, b) = (random.below(n), random.below(n));
                if a != b {
                    near[a].push(b);
                    near[b].push(a);
                }
            }
            let sizes: Vec<usize> = (0..n).map(|_| 1 + random.below(6)).collect();
            let found = Graph::new(sizes.clone(), near.clone()).eliminate(&mut Open);
            assert_eq!(found, plainly(&sizes, &near));
            // One side of every pair is enough.
            let larger = near.iter().enumerate().map(|(x, list)| {
                let larger = list.iter().copied().filter(|&y| x < y);
                larger.collect()
            });
            let found_again = Graph::new(sizes.clone(), larger.collect()).eliminate(&mut Open);
            assert_eq!(found_again, found);
        }
    }

    #[test]
    fn chain_is_eliminated_from_its_end_without_fill() {
        let order = Graph::new(vec![3; 9], grid(9, 1)).eliminate(&mut Open);
        assert_eq!(order.len(), 9);
        for (i, step) in order.iter().enumerate() {
            assert_eq!(step.node, i);
            assert!(step.later.len() <= 1);
        }
    }

    #[test]
    fn nodes_that_see_the_same_others_go_together() {
        // Two tetrahedra that share the edge between 3 and 4.
        let elements = [vec![0, 1, 3, 4], vec![2, 5, 3, 4]];
        let order = Graph::of_elements(6, &elements).eliminate(&mut Open);
        let fronts = together(order);
        assert_eq!(
            fronts,
            [(vec![0, 1], vec![3, 4]), (vec![2, 3, 4, 5], vec![])]
        );
    }

    /// Holds a node back until another is gone.
    struct After(usize, usize, bool);

    impl Gate for After {
        fn may_go(&mut self, x: usize) -> bool {
            x != self.1 || self.2
        }
        fn gone(&mut self, x: usize, _: &[usize]) {
            self.2 |= x == self.0;
        }
        fn beside(&mut self, _: usize, near: &[usize]) {
            assert!(near.len() <= 2);
        }
    }

    #[test]
    fn a_node_waits_for_its_gate() {
        let order = Graph::new(vec![1; 4], grid(4, 1)).eliminate(&mut After(1, 0, false));
        let nodes: Vec<usize> = order.iter().map(|step| step.node).collect();
        assert_eq!(nodes, [3, 2, 1, 0]);
        assert!(order[3].later.is_empty());
    }
}
