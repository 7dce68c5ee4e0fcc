//! Minimum degree: an order of elimination that keeps a sparse factor sparse, found without any number of the matrix.
//!
//! Eliminating a node couples all its neighbours. The node whose neighbours are fewest, counted by their sizes, goes
//! first; of equals the one with the smallest number. Chains and trees are eliminated from their ends, and nothing
//! fills in. A [`Gate`] may hold nodes back until their pivot can be regular.
//!
//! While there are many nodes the graph is a quotient graph [George89]: a node that is gone stays as the list of those
//! it coupled, so that edges that fill in are not written out. Once few are left, and most of them coupled, every node
//! has a bit for each of the others. Degrees are exact, not bounds: the order depends on the graph alone.
//! Cost: about the number of entries of the factor; a pile of a thousand bodies takes some two milliseconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// From so many nodes on bits are used: at most two megabytes of them.
const FEW: usize = 4096;

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
    /// Whether x may go now that so many marked nodes are left beside it.
    fn may_go(&mut self, x: usize, marked: usize) -> bool;
    /// x was eliminated and has coupled these.
    fn gone(&mut self, x: usize, later: &[usize]);
}

/// A gate that lets everything go.
pub(crate) struct Open;

impl Gate for Open {
    fn may_go(&mut self, _: usize, _: usize) -> bool {
        true
    }
    fn gone(&mut self, _: usize, _: &[usize]) {}
}

/// What a node is, and what is left beside it.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// What it counts as a neighbour of others.
    size: usize,
    marked: bool,
    gone: bool,
    /// Whether something beside it is gone since it was last in its place in the queue.
    changed: bool,
    /// Sizes of all neighbours, summed, and how many of them are marked.
    degree: usize,
    marked_near: usize,
}

impl Node {
    /// Counts one more neighbour.
    fn meet(&mut self, other: Node) {
        self.degree += other.size;
        self.marked_near += usize::from(other.marked);
    }

    /// Counts one neighbour less.
    fn leave(&mut self, other: Node) {
        self.degree -= other.size;
        self.marked_near -= usize::from(other.marked);
    }
}

/// What is left to eliminate.
pub(crate) struct Graph {
    nodes: Vec<Node>,
    left: usize,
    lists: Lists,
    bits: Option<Bits>,
}

impl Graph {
    /// Nodes of these sizes, with neighbours of each; whoever is listed on one side only is one on both.
    pub(crate) fn new(sizes: Vec<usize>, mut near: Vec<Vec<usize>>) -> Graph {
        let lengths: Vec<usize> = near.iter().map(Vec::len).collect();
        for (x, &length) in lengths.iter().enumerate() {
            for i in 0..length {
                let y = near[x][i];
                near[y].push(x);
            }
        }
        Graph::of_both_sides(sizes, near)
    }

    /// The same for lists that name every pair on both sides.
    fn of_both_sides(sizes: Vec<usize>, mut near: Vec<Vec<usize>>) -> Graph {
        let n = sizes.len();
        for (x, list) in near.iter_mut().enumerate() {
            list.sort_unstable();
            list.dedup();
            list.retain(|&y| y != x);
        }
        let node = |size: usize| Node {
            size,
            ..Node::default()
        };
        Graph {
            nodes: sizes.into_iter().map(node).collect(),
            left: n,
            lists: Lists {
                near,
                cliques: vec![Vec::new(); n],
                members: vec![Vec::new(); n],
                seen: vec![0; n],
                ..Lists::default()
            },
            bits: None,
        }
    }

    /// Marks nodes, which are counted for the gate.
    pub(crate) fn mark(&mut self, nodes: impl Iterator<Item = usize>) {
        nodes.for_each(|x| self.nodes[x].marked = true);
    }

    /// All nodes in order of elimination.
    pub(crate) fn eliminate(self, gate: &mut impl Gate) -> Vec<Eliminated> {
        self.eliminate_with(gate, FEW)
    }

    /// The same with bits for so many nodes.
    fn eliminate_with(mut self, gate: &mut impl Gate, few: usize) -> Vec<Eliminated> {
        let n = self.nodes.len();
        let mut order = Vec::with_capacity(n);
        // Entries whose degree has changed since are passed over when they come up.
        let mut heap = BinaryHeap::new();
        // Nodes whose entries in the heap are not up to date, the least degree of all others, and the node to go next
        // where it is below that. All changed nodes lie beside the node that went last.
        let mut changed: Vec<usize> = (0..n).collect();
        let (mut least, mut next) = (0, None);
        // Sizes of the neighbours that went on from the last node to the next, if no others are beside that.
        let mut same = None;
        (0..n).for_each(|x| self.lists.measure(x, &mut self.nodes));
        loop {
            let x = if let Some(x) = next.take() {
                x
            } else {
                same = None;
                for y in changed.drain(..) {
                    let node = &mut self.nodes[y];
                    node.changed = false;
                    if !node.gone && gate.may_go(y, node.marked_near) {
                        heap.push(Reverse((node.degree, y)));
                    }
                }
                let Some(Reverse((degree, x))) = heap.pop() else {
                    break;
                };
                let node = self.nodes[x];
                if node.gone || degree != node.degree || !gate.may_go(x, node.marked_near) {
                    continue;
                }
                least = degree;
                x
            };
            let degree = self.nodes[x].degree;
            let later = self.remove(x, same == Some(degree), few);
            gate.gone(x, &later);
            let mut best = (least, 0);
            for &y in &later {
                let node = &mut self.nodes[y];
                if !std::mem::replace(&mut node.changed, true) {
                    changed.push(y);
                }
                if (node.degree, y) < best && gate.may_go(y, node.marked_near) {
                    best = (node.degree, y);
                    next = Some(y);
                    same = Some(degree - node.size);
                }
            }
            order.push(Eliminated { node: x, later });
        }
        debug_assert!(order.len() == n, "a gate held nodes back for ever");
        order
    }

    /// Takes x out and couples its neighbours, unless they are known to be; returns them.
    fn remove(&mut self, x: usize, coupled: bool, few: usize) -> Vec<usize> {
        if self.bits.is_none() && self.left <= few {
            self.bits = Some(Bits::new(&mut self.lists, &self.nodes));
        }
        self.left -= 1;
        self.nodes[x].gone = true;
        match &mut self.bits {
            Some(bits) => bits.remove(x, coupled, &mut self.nodes),
            None => self.lists.remove(x, &mut self.nodes),
        }
    }
}

/// The quotient graph.
#[derive(Default)]
struct Lists {
    /// Neighbours that share no clique with the node.
    near: Vec<Vec<usize>>,
    /// The cliques a node belongs to, named by the node that left them.
    cliques: Vec<Vec<usize>>,
    /// The clique that a node left; empty before, and again once a later one has taken it up.
    members: Vec<Vec<usize>>,
    /// Marks of the search at hand.
    seen: Vec<usize>,
    search: usize,
    found: Vec<usize>,
}

impl Lists {
    /// Takes x out: its neighbours become a clique, which takes up all cliques it was in. Returns them.
    fn remove(&mut self, x: usize, nodes: &mut [Node]) -> Vec<usize> {
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
        later.iter().for_each(|&y| self.measure(y, nodes));
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
    fn measure(&mut self, x: usize, nodes: &mut [Node]) {
        self.gather(x);
        let mut node = Node {
            degree: 0,
            marked_near: 0,
            ..nodes[x]
        };
        self.found.iter().for_each(|&y| node.meet(nodes[y]));
        nodes[x] = node;
    }
}

/// Nodes that are left, a bit for each pair.
struct Bits {
    /// Those that were left at first, ascending, and the place of each of them.
    names: Vec<usize>,
    place: Vec<usize>,
    words: usize,
    rows: Vec<u64>,
    clique: Vec<u64>,
}

impl Bits {
    fn new(lists: &mut Lists, nodes: &[Node]) -> Bits {
        let names: Vec<usize> = (0..nodes.len()).filter(|&x| !nodes[x].gone).collect();
        let mut place = vec![0; nodes.len()];
        for (at, &x) in names.iter().enumerate() {
            place[x] = at;
        }
        let words = names.len().div_ceil(64);
        let mut rows = vec![0; names.len() * words];
        for (row, &x) in rows.chunks_exact_mut(words.max(1)).zip(&names) {
            lists.gather(x);
            for &y in &lists.found {
                row[place[y] / 64] |= 1 << (place[y] % 64);
            }
        }
        Bits {
            names,
            place,
            words,
            rows,
            clique: Vec::new(),
        }
    }

    /// Takes x out and couples its neighbours, unless they are known to be; returns them.
    fn remove(&mut self, x: usize, coupled: bool, nodes: &mut [Node]) -> Vec<usize> {
        let row = |at: usize| at * self.words..(at + 1) * self.words;
        let at = self.place[x];
        self.clique.clear();
        self.clique.extend_from_slice(&self.rows[row(at)]);
        let mut later = Vec::new();
        each_bit(&self.clique, 0, |bit| later.push(self.names[bit]));
        let gone = nodes[x];
        for &y in &later {
            let own = self.place[y];
            let near = &mut self.rows[row(own)];
            near[at / 64] &= !(1 << (at % 64));
            nodes[y].leave(gone);
            if coupled {
                continue;
            }
            let mut node = nodes[y];
            near[own / 64] |= 1 << (own % 64);
            for (k, (word, clique)) in near.iter_mut().zip(&self.clique).enumerate() {
                let new = clique & !*word;
                *word |= new;
                each_bit(&[new], 64 * k, |bit| node.meet(nodes[self.names[bit]]));
            }
            near[own / 64] &= !(1 << (own % 64));
            nodes[y] = node;
        }
        later
    }
}

/// Calls with the number of every bit that is set, the first being `from`.
#[inline(always)]
fn each_bit(words: &[u64], from: usize, mut with: impl FnMut(usize)) {
    for (k, &word) in words.iter().enumerate() {
        let mut word = word;
        while word != 0 {
            with(from + 64 * k + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }
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
            let wanted = plainly(&sizes, &near);
            for few in [0, n / 2, n] {
                let graph = Graph::new(sizes.clone(), near.clone());
                assert_eq!(graph.eliminate_with(&mut Open, few), wanted);
            }
            // One side of every pair is enough.
            let larger = near.iter().enumerate().map(|(x, list)| {
                let larger = list.iter().copied().filter(|&y| x < y);
                larger.collect()
            });
            let graph = Graph::new(sizes.clone(), larger.collect());
            assert_eq!(graph.eliminate(&mut Open), wanted);
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

    /// Holds the first node back until a certain one is gone, and counts the ends of a chain beside each.
    struct After(usize, bool);

    impl Gate for After {
        fn may_go(&mut self, x: usize, marked: usize) -> bool {
            assert!(marked <= 1 + usize::from(x == 2));
            x != 0 || self.1
        }
        fn gone(&mut self, x: usize, _: &[usize]) {
            self.1 |= x == self.0;
        }
    }

    #[test]
    fn a_node_waits_for_its_gate_which_knows_of_marks_beside_it() {
        for few in [0, 2, 4] {
            let mut graph = Graph::new(vec![1; 4], grid(4, 1));
            graph.mark([1, 3].into_iter());
            let order = graph.eliminate_with(&mut After(1, false), few);
            let nodes: Vec<usize> = order.iter().map(|step| step.node).collect();
            assert_eq!(nodes, [3, 2, 1, 0]);
            assert!(order[3].later.is_empty());
        }
    }
}
