//! The order of elimination: least neighbours first, and no joint before its pivot can be regular.
//!
//! On chains and trees nothing fills in. A joint's pivot is what the masses eliminated before it let it move; it
//! would be singular too early, so that a joint next to a mass that is still there waits until the motions behind it,
//! counted as velocities less rows, are as many as its rows.

use crate::linalg::disjoint::DisjointSets;
use crate::linalg::minimum_degree::{Eliminated, Gate, Graph};

/// What is known of a node before ordering.
#[derive(Clone, Debug)]
pub(super) struct Vertex {
    /// Rows of a joint, velocities of a mass.
    pub(super) size: usize,
    /// Whether it is a mass.
    pub(super) is_mass: bool,
    /// A joint that must wait until no mass is left beside it: its pivot was seen to be singular.
    pub(super) late: bool,
    pub(super) neighbours: Vec<usize>,
    /// Masses condensed into this joint, by number.
    pub(super) condensed: Vec<usize>,
}

/// Each node in order of elimination, with those of its neighbours that are eliminated later.
pub(super) fn eliminate(mut vertices: Vec<Vertex>, mass_sizes: &[usize]) -> Vec<Eliminated> {
    let sizes = vertices.iter().map(|vertex| vertex.size).collect();
    let near = vertices.iter_mut();
    let near = near.map(|vertex| std::mem::take(&mut vertex.neighbours));
    let mut graph = Graph::new(sizes, near.collect());
    graph.mark((0..vertices.len()).filter(|&x| vertices[x].is_mass));
    graph.eliminate(&mut Regular {
        motions: Motions::new(mass_sizes),
        vertices,
    })
}

/// Holds joints back until their pivots can be regular.
struct Regular {
    vertices: Vec<Vertex>,
    motions: Motions,
}

impl Gate for Regular {
    fn may_go(&mut self, x: usize, masses: usize) -> bool {
        let vertex = &mut self.vertices[x];
        if vertex.is_mass || masses == 0 {
            return true;
        }
        !vertex.late && vertex.size <= self.motions.behind(&mut vertex.condensed)
    }

    fn gone(&mut self, x: usize, later: &[usize]) {
        let vertex = &mut self.vertices[x];
        let behind = std::mem::take(&mut vertex.condensed);
        let island = self.motions.join(behind, vertex.size, vertex.is_mass);
        for &y in later {
            self.vertices[y].condensed.push(island);
        }
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
    fn behind(&mut self, islands: &mut Vec<usize>) -> usize {
        islands.iter_mut().for_each(|x| *x = self.sets.find(*x));
        islands.sort_unstable();
        islands.dedup();
        islands.iter().map(|&x| self.free[x]).sum()
    }

    /// One island of those in the list and the node that has just gone: a mass adds its velocities, a joint
    /// takes its rows.
    fn join(&mut self, mut islands: Vec<usize>, size: usize, is_mass: bool) -> usize {
        let free = self.behind(&mut islands);
        let mut name = self.sets.push();
        self.free.push(0);
        for island in islands {
            name = self.sets.join(name, island);
        }
        self.free[name] = if is_mass {
            free + size
        } else {
            free.saturating_sub(size)
        };
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joint(neighbours: &[usize], condensed: &[usize]) -> Vertex {
        Vertex {
            size: 3,
            is_mass: false,
            late: false,
            neighbours: neighbours.to_vec(),
            condensed: condensed.to_vec(),
        }
    }

    #[test]
    fn joint_waits_for_a_mass_that_gives_it_room() {
        // A mass between two ground joints of three rows each, and a third joint: the mass has to go first,
        // because no joint has anything behind it.
        let mut mass = joint(&[0, 1, 2], &[]);
        (mass.size, mass.is_mass) = (6, true);
        let joints = |behind: [&[usize]; 3]| behind.map(|list| joint(&[3], list)).to_vec();
        let mut graph = joints([&[], &[], &[]]);
        graph.push(mass.clone());
        let order = eliminate(graph, &[]);
        assert_eq!(order[0].node, 3);
        // With leaves behind them the joints go first, and nothing fills in.
        let mut graph = joints([&[0], &[1], &[2]]);
        graph.push(mass);
        let order = eliminate(graph, &[6, 6, 6]);
        assert!(order[..2].iter().all(|step| step.node < 3));
        assert!(order.iter().all(|step| step.later.len() <= 1));
    }
}
