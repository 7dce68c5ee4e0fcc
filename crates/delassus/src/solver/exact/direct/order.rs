//! The order of elimination: least neighbours first, and no joint before its pivot can be regular.
//!
//! On chains and trees nothing fills in. A joint's pivot is what the masses eliminated before it let it move; it
//! would be singular too early, so that a joint next to a mass that is still there waits until the motions behind it,
//! counted as velocities less rows, are as many as its rows.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::linalg::disjoint::DisjointSets;

/// What is known of a node before ordering.
#[derive(Clone, Debug)]
pub(super) struct Vertex {
    /// Rows of a joint, velocities of a mass.
    pub(super) size: usize,
    /// Whether it is a mass.
    pub(super) is_mass: bool,
    /// A joint that must wait until no mass is left beside it: its pivot was seen to be singular.
    pub(super) late: bool,
    pub(super) neighbours: BTreeSet<u32>,
    /// Masses condensed into this joint, by number.
    pub(super) condensed: Vec<u32>,
}

/// Each node in order of elimination, with those of its neighbours that are eliminated later.
pub(super) fn eliminate(graph: Vec<Vertex>, mass_sizes: &[usize]) -> Vec<(u32, Vec<u32>)> {
    let mut graph = Graph::new(graph, mass_sizes);
    let mut heap: BinaryHeap<Reverse<(usize, u32)>> = BinaryHeap::new();
    let mut order = Vec::with_capacity(graph.vertices.len());
    for x in 0..graph.vertices.len() {
        if graph.may_go(x) {
            heap.push(Reverse((graph.weights[x], x as u32)));
        }
    }
    while let Some(Reverse((key, x))) = heap.pop() {
        let at = x as usize;
        if graph.gone[at] || key != graph.weights[at] || !graph.may_go(at) {
            continue;
        }
        let clique = graph.remove(x);
        for &y in &clique {
            if graph.may_go(y as usize) {
                heap.push(Reverse((graph.weights[y as usize], y)));
            }
        }
        order.push((x, clique));
    }
    order
}

/// What is left to eliminate.
struct Graph {
    vertices: Vec<Vertex>,
    motions: Motions,
    gone: Vec<bool>,
    /// Sizes of the neighbours, summed, and how many of them are masses.
    weights: Vec<usize>,
    masses: Vec<usize>,
}

impl Graph {
    fn new(vertices: Vec<Vertex>, mass_sizes: &[usize]) -> Graph {
        let beside = |vertex: &Vertex, value: fn(&Vertex) -> usize| -> usize {
            let near = vertex.neighbours.iter();
            near.map(|&y| value(&vertices[y as usize])).sum()
        };
        let each = vertices.iter();
        Graph {
            weights: each.clone().map(|x| beside(x, |y| y.size)).collect(),
            masses: each
                .map(|x| beside(x, |y| usize::from(y.is_mass)))
                .collect(),
            gone: vec![false; vertices.len()],
            motions: Motions::new(mass_sizes),
            vertices,
        }
    }

    /// Whether the pivot of x can be regular now.
    fn may_go(&mut self, x: usize) -> bool {
        let vertex = &mut self.vertices[x];
        if vertex.is_mass || self.masses[x] == 0 {
            return true;
        }
        !vertex.late && vertex.size <= self.motions.behind(&mut vertex.condensed)
    }

    /// Takes x out and joins its neighbours to each other; returns them.
    fn remove(&mut self, x: u32) -> Vec<u32> {
        let at = x as usize;
        self.gone[at] = true;
        let clique: Vec<u32> = std::mem::take(&mut self.vertices[at].neighbours)
            .into_iter()
            .collect();
        let behind = std::mem::take(&mut self.vertices[at].condensed);
        let (size, is_mass) = (self.vertices[at].size, self.vertices[at].is_mass);
        let island = self.motions.join(behind, size, is_mass);
        for &y in &clique {
            let near = &mut self.vertices[y as usize];
            near.condensed.push(island);
            near.neighbours.remove(&x);
            self.weights[y as usize] -= size;
            self.masses[y as usize] -= usize::from(is_mass);
            for &z in clique.iter().filter(|&&z| z != y) {
                if self.vertices[y as usize].neighbours.insert(z) {
                    self.weights[y as usize] += self.vertices[z as usize].size;
                    self.masses[y as usize] += usize::from(self.vertices[z as usize].is_mass);
                }
            }
        }
        clique
    }
}

/// Islands of what has been eliminated, each with the number of motions left to it.
struct Motions {
    sets: DisjointSets,
    /// Motions of the island, at the member that names it.
    free: Vec<usize>,
}

impl Motions {
    fn new(mass_sizes: &[usize]) -> Motions {
        Motions {
            sets: DisjointSets::new(mass_sizes.len()),
            free: mass_sizes.to_vec(),
        }
    }

    /// Motions of all islands in the list, which is left with each of them once.
    fn behind(&mut self, islands: &mut Vec<u32>) -> usize {
        let named = |x: &mut u32| *x = self.sets.find(*x as usize) as u32;
        islands.iter_mut().for_each(named);
        islands.sort_unstable();
        islands.dedup();
        islands.iter().map(|&x| self.free[x as usize]).sum()
    }

    /// One island of those in the list and the node that has just gone: a mass adds its velocities, a joint
    /// takes its rows.
    fn join(&mut self, mut islands: Vec<u32>, size: usize, is_mass: bool) -> u32 {
        let free = self.behind(&mut islands);
        let mut name = self.sets.push();
        self.free.push(0);
        for island in islands {
            name = self.sets.join(name, island as usize);
        }
        self.free[name] = if is_mass {
            free + size
        } else {
            free.saturating_sub(size)
        };
        name as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joint(neighbours: &[u32], condensed: &[u32]) -> Vertex {
        Vertex {
            size: 3,
            is_mass: false,
            late: false,
            neighbours: neighbours.iter().copied().collect(),
            condensed: condensed.to_vec(),
        }
    }

    #[test]
    fn chain_is_eliminated_from_its_end_without_fill() {
        let n = 9u32;
        let graph = (0..n)
            .map(|i| {
                let near = [i.wrapping_sub(1), i + 1];
                let near: Vec<u32> = near.into_iter().filter(|&j| j < n).collect();
                joint(&near, &[])
            })
            .collect();
        let order = eliminate(graph, &[]);
        assert_eq!(order.len(), n as usize);
        for (i, (x, later)) in order.iter().enumerate() {
            assert_eq!(*x, i as u32);
            assert!(later.len() <= 1);
        }
    }

    #[test]
    fn joint_waits_for_a_mass_that_gives_it_room() {
        // A mass between two ground joints of three rows each, and a third joint: the mass has to go first,
        // because no joint has anything behind it.
        let mass = Vertex {
            size: 6,
            is_mass: true,
            late: false,
            neighbours: BTreeSet::from([0, 1, 2]),
            condensed: vec![],
        };
        let graph = vec![joint(&[3], &[]), joint(&[3], &[]), joint(&[3], &[]), mass];
        let order = eliminate(graph, &[]);
        assert_eq!(order[0].0, 3);
        // With leaves behind them the joints go first, and nothing fills in.
        let mut mass = joint(&[0, 1, 2], &[]);
        (mass.size, mass.is_mass) = (6, true);
        let graph = vec![
            joint(&[3], &[0]),
            joint(&[3], &[1]),
            joint(&[3], &[2]),
            mass,
        ];
        let order = eliminate(graph, &[6, 6, 6]);
        assert!(order[..2].iter().all(|(x, _)| *x < 3));
        assert!(order.iter().all(|(_, later)| later.len() <= 1));
    }
}
