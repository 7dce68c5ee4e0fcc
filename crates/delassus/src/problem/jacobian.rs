//! The constraint Jacobian G, block-sparse: each constraint block touches one or more mass blocks.
//!
//! Rows of one block are stored row-major per mass block, one after the other, so that a sweep reads memory
//! in order. Nothing here assumes two bodies: gears and pulleys have as many entries as they need.

use glam::DVec3;

use crate::index::{BlockId, MassId};

/// Block-sparse G.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jacobian {
    /// `entries[starts[k]..starts[k + 1]]` belong to block k.
    pub(super) starts: Vec<usize>,
    pub(super) entries: Vec<Entry>,
    pub(super) values: Vec<f64>,
}

/// Where the rows G_kb of block k on mass b are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The mass block acted on.
    pub mass: MassId,
    /// First value in [`Jacobian::values`].
    pub(super) start: usize,
}

impl Jacobian {
    /// Mass blocks that constraint block `k` acts on, with its rows there (row-major).
    pub fn block(&self, k: BlockId) -> impl Iterator<Item = (MassId, &[f64])> {
        let range = self.starts[k.index()]..self.starts[k.index() + 1];
        range.map(|e| (self.entries[e].mass, self.entry_values(e)))
    }

    /// Positions in the entry list that belong to block `k`.
    pub(crate) fn entry_range(&self, k: usize) -> std::ops::Range<usize> {
        self.starts[k]..self.starts[k + 1]
    }

    pub(crate) fn entry_mass(&self, e: usize) -> usize {
        self.entries[e].mass.index()
    }

    /// Values of entry `e`: rows of the block times velocities of the mass.
    pub(crate) fn entry_values(&self, e: usize) -> &[f64] {
        let end = self
            .entries
            .get(e + 1)
            .map_or(self.values.len(), |next| next.start);
        &self.values[self.entries[e].start..end]
    }

    /// Number of (block, mass) pairs.
    pub fn n_entries(&self) -> usize {
        self.entries.len()
    }

    /// Number of stored values.
    pub fn n_values(&self) -> usize {
        self.values.len()
    }

    /// Lists, for every mass block, the constraint blocks on it.   [Chain, Connectivity]
    pub fn incidence(&self, n_masses: usize) -> Incidence {
        let mut starts = vec![0usize; n_masses + 1];
        for entry in &self.entries {
            starts[entry.mass.index() + 1] += 1;
        }
        for b in 0..n_masses {
            starts[b + 1] += starts[b];
        }
        let mut next = starts.clone();
        let mut items = vec![(BlockId(0), 0); self.entries.len()];
        for k in 0..self.starts.len().saturating_sub(1) {
            for e in self.entry_range(k) {
                let slot = &mut next[self.entry_mass(e)];
                items[*slot] = (BlockId(k as u32), e);
                *slot += 1;
            }
        }
        Incidence { starts, items }
    }
}

/// For every mass block the constraint blocks on it, in block order.
#[derive(Clone, Debug)]
pub struct Incidence {
    starts: Vec<usize>,
    items: Vec<(BlockId, usize)>,
}

impl Incidence {
    /// Constraint blocks on mass `b`, each with its position in the Jacobian's entry list.
    pub fn of(&self, b: MassId) -> &[(BlockId, usize)] {
        &self.items[self.starts[b.index()]..self.starts[b.index() + 1]]
    }
}

/// The row "direction d at a point", for a free body: [dᵀ, (arm × d)ᵀ], arm from the centre of mass to the point.
/// The first body of a constraint takes it with `sign` +1, the second with −1.
pub fn point_row(direction: DVec3, arm: DVec3, sign: f64) -> [f64; 6] {
    let (d, r) = (direction * sign, arm.cross(direction) * sign);
    [d.x, d.y, d.z, r.x, r.y, r.z]
}

/// Rows of three directions at one point: a contact (n, t₁, t₂) or a ball joint (x, y, z).
pub fn point_rows(directions: [DVec3; 3], arm: DVec3, sign: f64) -> [f64; 18] {
    let rows = directions.map(|d| point_row(d, arm, sign));
    std::array::from_fn(|i| rows[i / 6][i % 6])
}
