//! The constraint Jacobian G, block-sparse: each constraint block touches one or more mass blocks, and what is stored
//! is where it acts on them ([`Place`]), not the rows that follow from it.
//!
//! The numbers of a block stand one after the other, so that a sweep reads memory in order. A block at a point of free
//! bodies has its directions once and then one arm for each body: 15 numbers for a contact of two bodies, whose rows
//! would be 36. Nothing here assumes two bodies: gears and pulleys have as many entries as they need.

use glam::DVec3;

use super::place::{Place, Side};
use super::written_rows::{NOWHERE, Written, WrittenRows};
use crate::index::{BlockId, LinkId, MassId};
use crate::law::Law;
use crate::linalg::wide_lu::{Four, fours};

/// Block-sparse G.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jacobian {
    /// `entries[starts[k]..starts[k + 1]]` belong to block k.
    pub(super) starts: Vec<u32>,
    pub(super) entries: Vec<Entry>,
    /// Parts of entries on links and coordinates.
    pub(super) parts: Vec<PlacedRows>,
    pub(super) values: Vec<f64>,
    /// Rows of those that act on short trees.
    pub(super) written: WrittenRows,
}

/// Where the rows G_kb of block k on mass b are stored. A block has one entry for each mass it acts on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) mass: MassId,
    /// First number of the entry's own: the arm of a point, the rows of plain ones.
    pub(super) start: u32,
    pub(super) kind: EntryKind,
}

/// What stands there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum EntryKind {
    /// An arm. Before the arms of the block, of which so many come before this one, stand its directions.
    Point {
        n_rows: u16,
        side: Side,
        arms_before: u8,
    },
    /// Parts of the list: rows on links or coordinates of one mass, which add up.
    Parts { first: u32, count: u16 },
    /// Rows as they are, so many numbers.
    Plain { length: u32 },
}

/// Rows on one link or coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlacedRows {
    pub(super) on: On,
    pub(super) start: u32,
    pub(super) n_rows: u32,
    /// Where the rows of the entry are written out, in its first part.
    pub(super) written: u32,
}

/// Places whose rows may add up on one mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum On {
    Link(LinkId),
    Coordinate(u32),
}

/// A block at a point of free bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointBlock<'a> {
    /// One direction a row.
    pub(crate) directions: &'a [[f64; 3]],
    entries: &'a [Entry],
    arms: &'a [[f64; 3]],
}

impl<'a> PointBlock<'a> {
    /// Its bodies with arms and sides, the first before the second.
    #[inline(always)]
    pub(crate) fn ends(self) -> impl Iterator<Item = (usize, DVec3, Side)> + 'a {
        let ends = self.entries.iter().zip(self.arms);
        ends.map(|(entry, arm)| {
            let side = match entry.kind {
                EntryKind::Point { side, .. } => side,
                // All entries of such a block are points.
                EntryKind::Parts { .. } | EntryKind::Plain { .. } => Side::First,
            };
            (entry.mass.index(), DVec3::from_array(*arm), side)
        })
    }
}

impl Jacobian {
    /// The mass blocks that constraint block `k` acts on, each once.
    pub fn masses(&self, k: BlockId) -> impl Iterator<Item = MassId> + '_ {
        self.entries[self.entry_range(k.index())]
            .iter()
            .map(|entry| entry.mass)
    }

    /// Positions in the entry list that belong to block `k`.
    #[inline(always)]
    pub(crate) fn entry_range(&self, k: usize) -> std::ops::Range<usize> {
        self.starts[k] as usize..self.starts[k + 1] as usize
    }

    #[inline(always)]
    pub(crate) fn entry_mass(&self, e: usize) -> usize {
        self.entries[e].mass.index()
    }

    /// The block's directions and arms, if all it acts on are points of free bodies.
    #[inline(always)]
    pub(crate) fn point(&self, k: usize) -> Option<PointBlock<'_>> {
        let entries = &self.entries[self.entry_range(k)];
        let first = entries.first()?;
        let EntryKind::Point { n_rows, .. } = first.kind else {
            return None;
        };
        let (n_rows, arms) = (usize::from(n_rows), first.start as usize);
        let numbers = &self.values[arms - 3 * n_rows..arms + 3 * entries.len()];
        let (directions, arms) = numbers.as_chunks::<3>().0.split_at(n_rows);
        Some(PointBlock {
            directions,
            entries,
            arms,
        })
    }

    /// Directions, arm and side of entry `e`, if it is a point of a free body.
    #[inline(always)]
    pub(crate) fn point_entry(&self, e: usize) -> Option<(&[[f64; 3]], DVec3, Side)> {
        let Entry { start, kind, .. } = self.entries[e];
        let EntryKind::Point {
            n_rows,
            side,
            arms_before,
        } = kind
        else {
            return None;
        };
        let (start, n_rows) = (start as usize, usize::from(n_rows));
        let arm = DVec3::from_slice(&self.values[start..start + 3]);
        let first = start - 3 * (n_rows + usize::from(arms_before));
        let directions = &self.values[first..first + 3 * n_rows];
        Some((directions.as_chunks::<3>().0, arm, side))
    }

    /// The places of entry `e` with their rows: one, or as many as add up on a mass.
    #[inline(always)]
    pub(crate) fn places(&self, e: usize) -> impl Iterator<Item = (Place, &[f64])> {
        let entry = self.entries[e];
        let count = match entry.kind {
            EntryKind::Parts { count, .. } => count,
            EntryKind::Point { .. } | EntryKind::Plain { .. } => 1,
        };
        (0..u32::from(count)).map(move |part| self.place(entry, part))
    }

    fn place(&self, entry: Entry, part: u32) -> (Place, &[f64]) {
        let start = entry.start as usize;
        match entry.kind {
            EntryKind::Point {
                n_rows,
                side,
                arms_before,
            } => {
                let arm = DVec3::from_slice(&self.values[start..start + 3]);
                let n = usize::from(n_rows);
                let first = start - 3 * (n + usize::from(arms_before));
                let directions = &self.values[first..first + 3 * n];
                (Place::Point { arm, side }, directions)
            }
            EntryKind::Plain { length } => {
                let rows = &self.values[start..start + length as usize];
                (Place::Plain, rows)
            }
            EntryKind::Parts { first, .. } => {
                let part = self.parts[(first + part) as usize];
                let (place, width) = match part.on {
                    On::Link(link) => (Place::Link { link }, 6),
                    On::Coordinate(dof) => (Place::Coordinate { dof: dof as usize }, 1),
                };
                let start = part.start as usize;
                let rows = &self.values[start..start + part.n_rows as usize * width];
                (place, rows)
            }
        }
    }

    /// The rows of entry `e` written out over the velocities of its mass, so many, in fours, where they are at hand: those
    /// of links and coordinates of short trees.
    #[inline(always)]
    pub(crate) fn written(&self, e: usize, dim: usize) -> Option<Written<'_>> {
        let EntryKind::Parts { first, .. } = self.entries[e].kind else {
            return None;
        };
        let part = &self.parts[first as usize];
        (part.written != NOWHERE).then(|| {
            let length = part.n_rows as usize * fours(dim);
            self.written.get(part.written as usize, length)
        })
    }

    /// The rows of all blocks in order, so many, where every one is written out over the velocities of one mass.
    pub(super) fn all_written(&self, n_rows: usize, dim: usize) -> Option<&[Four]> {
        self.written.all(n_rows * fours(dim))
    }

    /// The same where the entry acts on links: on coordinates places say it in fewer numbers.
    #[inline(always)]
    pub(super) fn written_links(&self, e: usize, dim: usize) -> Option<&[Four]> {
        let EntryKind::Parts { first, .. } = self.entries[e].kind else {
            return None;
        };
        match self.parts[first as usize].on {
            On::Link(_) => Some(self.written(e, dim)?.rows),
            On::Coordinate(_) => None,
        }
    }

    /// The rows of some blocks alone, on masses of new numbers and the sizes they have here.
    pub(super) fn part(
        &self,
        blocks: &[BlockId],
        place: &[Option<MassId>],
        dim: impl Fn(MassId) -> usize,
    ) -> Jacobian {
        let mut part = Jacobian::default();
        part.starts.push(0);
        for id in blocks {
            let entries = &self.entries[self.entry_range(id.index())];
            // Numbers of a block stand one after the other.
            let (mut from, mut to) = (usize::MAX, 0);
            for entry in entries {
                for (first, length) in self.numbers(entry) {
                    (from, to) = (from.min(first), to.max(first + length));
                }
            }
            let base = part.values.len();
            let moved = |start: u32| (start as usize - from + base) as u32;
            for entry in entries {
                let mut new = *entry;
                new.mass = place[entry.mass.index()].unwrap_or(entry.mass);
                new.start = moved(entry.start);
                if let EntryKind::Parts { first, count } = &mut new.kind {
                    let old = *first as usize..*first as usize + usize::from(*count);
                    *first = part.parts.len() as u32;
                    for old in &self.parts[old] {
                        let mut new = *old;
                        new.start = moved(old.start);
                        if old.written != NOWHERE {
                            let length = old.n_rows as usize * fours(dim(entry.mass));
                            let start = old.written as usize;
                            new.written = part.written.copy(&self.written, start, length);
                        }
                        part.parts.push(new);
                    }
                }
                part.entries.push(new);
            }
            part.starts.push(part.entries.len() as u32);
            if from < to {
                part.values.extend_from_slice(&self.values[from..to]);
            }
        }
        part
    }

    /// First number and count of numbers, of all that belongs to an entry.
    fn numbers(&self, entry: &Entry) -> impl Iterator<Item = (usize, usize)> {
        let start = entry.start as usize;
        let (own, parts) = match entry.kind {
            EntryKind::Point {
                n_rows,
                arms_before,
                ..
            } => {
                let before = 3 * (usize::from(n_rows) + usize::from(arms_before));
                (Some((start - before, before + 3)), 0..0)
            }
            EntryKind::Plain { length } => (Some((start, length as usize)), 0..0),
            EntryKind::Parts { first, count } => {
                let first = first as usize;
                (None, first..first + usize::from(count))
            }
        };
        let parts = self.parts[parts].iter().map(|part| {
            let width = match part.on {
                On::Link(_) => 6,
                On::Coordinate(_) => 1,
            };
            (part.start as usize, part.n_rows as usize * width)
        });
        own.into_iter().chain(parts)
    }

    /// Number of (block, mass) pairs.
    pub fn n_entries(&self) -> usize {
        self.entries.len()
    }

    /// Number of stored values.
    pub fn n_values(&self) -> usize {
        self.values.len()
    }

    /// Bytes that G takes.
    pub fn n_bytes(&self) -> usize {
        size_of_val(&self.starts[..])
            + size_of_val(&self.entries[..])
            + size_of_val(&self.parts[..])
            + size_of_val(&self.values[..])
            + self.written.n_bytes()
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
#[inline(always)]
pub fn point_row(direction: DVec3, arm: DVec3, sign: f64) -> [f64; 6] {
    let (d, r) = (direction * sign, arm.cross(direction) * sign);
    [d.x, d.y, d.z, r.x, r.y, r.z]
}

/// The row "spin about an axis" for a free body: [0, axisᵀ], with `sign` −1 for the second body of a constraint.
#[inline(always)]
pub fn spin_row(axis: DVec3, sign: f64) -> [f64; 6] {
    let a = axis * sign;
    [0.0, 0.0, 0.0, a.x, a.y, a.z]
}

/// Axes of the rows of relative spin that a law has besides those of velocity, for a contact with these directions:
/// rolling about t₁ and t₂, spinning about n, and rolling about n × t in a plane.
pub fn spin_axes(law: &Law, directions: &[DVec3]) -> Vec<DVec3> {
    match (directions, law) {
        ([n, t], Law::RollingCone { .. }) => vec![n.cross(*t)],
        ([_, t1, t2], Law::RollingCone { .. }) => vec![*t1, *t2],
        ([n, _, _], Law::TorsionalCone { .. }) => vec![*n],
        ([n, t1, t2], Law::RollingSpinning { .. } | Law::EllipsoidCone { .. }) => {
            vec![*t1, *t2, *n]
        }
        _ => Vec::new(),
    }
}

/// Rows of three directions at one point: a contact (n, t₁, t₂) or a ball joint (x, y, z).
#[inline(always)]
pub fn point_rows(directions: [DVec3; 3], arm: DVec3, sign: f64) -> [f64; 18] {
    let rows = directions.map(|d| point_row(d, arm, sign));
    std::array::from_fn(|i| rows[i / 6][i % 6])
}
