//! Islands of bodies that joints hold together, sorted by shape, so that equal ones are solved side by side.

use std::collections::HashMap;

use super::super::topology::is_equality;
use super::plan::{Plan, Shape};
use crate::linalg::disjoint::DisjointSets;
use crate::problem::delassus::BlockMatrix;
use crate::problem::{Block, Primal};

/// All islands of one shape.
#[derive(Clone, Debug, Default)]
pub(crate) struct IslandKind {
    pub(super) shape: Shape,
    /// Joints that must wait for all masses beside them.
    late: Vec<bool>,
    pub(super) plan: Plan,
    /// Blocks of the problem, and masses, of every island one after the other.
    blocks: Vec<u32>,
    masses: Vec<u32>,
    /// First row of each of these blocks.
    rows: Vec<u32>,
    pub(super) count: usize,
}

impl IslandKind {
    fn new(shape: Shape) -> IslandKind {
        let late = vec![false; shape.joints.len()];
        IslandKind {
            plan: Plan::new(&shape, &late),
            late,
            shape,
            ..IslandKind::default()
        }
    }

    /// Block of the problem that is this joint of an island.
    #[inline(always)]
    pub(crate) fn block(&self, island: usize, joint: usize) -> usize {
        self.blocks[island * self.shape.joints.len() + joint] as usize
    }

    /// First row of the problem of this joint of an island.
    #[inline(always)]
    pub(super) fn row(&self, island: usize, joint: usize) -> usize {
        self.rows[island * self.shape.joints.len() + joint] as usize
    }

    /// Mass of the problem that is this mass of an island.
    #[inline(always)]
    pub(crate) fn mass(&self, island: usize, mass: usize) -> usize {
        self.masses[island * self.shape.masses.len() + mass] as usize
    }

    /// Masses of the problem in an island.
    pub(crate) fn masses(&self, island: usize) -> &[u32] {
        let n = self.shape.masses.len();
        &self.masses[island * n..(island + 1) * n]
    }

    /// Joints that went too early; true if any of them may still be put off.
    pub(super) fn put_off(&mut self, joints: &[usize]) -> bool {
        let mut more = false;
        for &joint in joints {
            more |= !std::mem::replace(&mut self.late[joint], true);
        }
        if more {
            self.plan = Plan::new(&self.shape, &self.late);
        }
        more
    }
}

/// The islands of a primal problem's equalities.
pub(super) fn of_bodies(primal: &Primal, blocks: &[Block]) -> Vec<IslandKind> {
    let jacobian = primal.jacobian();
    let joints = || (0..blocks.len()).filter(|&k| is_equality(&blocks[k]));
    let mut sets = DisjointSets::new(primal.mass().len());
    for k in joints() {
        let mut masses = jacobian.entry_range(k).map(|e| jacobian.entry_mass(e));
        if let Some(first) = masses.next() {
            masses.for_each(|mass| {
                sets.join(first, mass);
            });
        }
    }
    // Number the islands in the order of their first joint and list their joints.
    let mut number = vec![u32::MAX; primal.mass().len()];
    let mut islands: Vec<Vec<u32>> = Vec::new();
    for k in joints() {
        let slot = match jacobian.entry_range(k).next() {
            Some(e) => {
                let root = sets.find(jacobian.entry_mass(e));
                if number[root] == u32::MAX {
                    number[root] = islands.len() as u32;
                    islands.push(Vec::new());
                }
                number[root] as usize
            }
            None => {
                islands.push(Vec::new());
                islands.len() - 1
            }
        };
        islands[slot].push(k as u32);
    }
    let mut kinds: Vec<IslandKind> = Vec::new();
    let mut known: HashMap<Shape, usize> = HashMap::new();
    let mut local = vec![u32::MAX; primal.mass().len()];
    for list in islands {
        let (shape, masses) = shape(primal, blocks, &list, &mut local);
        let at = *known.entry(shape).or_insert_with_key(|shape| {
            kinds.push(IslandKind::new(shape.clone()));
            kinds.len() - 1
        });
        kinds[at].blocks.extend_from_slice(&list);
        let rows = list.iter().map(|&k| blocks[k as usize].start as u32);
        kinds[at].rows.extend(rows);
        kinds[at].masses.extend_from_slice(&masses);
        kinds[at].count += 1;
    }
    kinds
}

/// The shape of one island, its masses numbered as its joints name them.
fn shape(
    primal: &Primal,
    blocks: &[Block],
    joints: &[u32],
    local: &mut [u32],
) -> (Shape, Vec<u32>) {
    let (mut shape, mut masses) = (Shape::default(), Vec::new());
    for &k in joints {
        shape.joints.push(blocks[k as usize].n_rows as u32);
        shape.starts.push(shape.entries.len() as u32);
        for e in primal.jacobian().entry_range(k as usize) {
            let mass = primal.jacobian().entry_mass(e);
            if local[mass] == u32::MAX {
                local[mass] = masses.len() as u32;
                masses.push(mass as u32);
                shape.masses.push(primal.mass()[mass].dim() as u32);
            }
            shape.entries.push(local[mass]);
        }
    }
    shape.starts.push(shape.entries.len() as u32);
    (shape, masses)
}

/// A dual problem is one island without masses, whose joints touch where the matrix has a block.
pub(super) fn of_matrix(matrix: &BlockMatrix) -> Vec<IslandKind> {
    let n = matrix.n_blocks();
    let sizes: Vec<usize> = (0..n).map(|k| matrix.rows(k).len()).collect();
    let near = |k: usize| {
        let others = matrix.block_row(k).map(|(j, _)| j);
        others.filter(|&j| j != k).collect()
    };
    let plan = Plan::of_pattern(&sizes, (0..n).map(near).collect());
    vec![IslandKind {
        shape: Shape {
            joints: sizes.iter().map(|&n| n as u32).collect(),
            ..Shape::default()
        },
        late: vec![false; n],
        plan,
        blocks: (0..n as u32).collect(),
        masses: Vec::new(),
        rows: (0..n).map(|k| matrix.rows(k).start as u32).collect(),
        count: 1,
    }]
}
