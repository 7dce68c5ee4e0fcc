//! Many contacts at once: their places are handed out first, and filled side by side.

use glam::DVec3;
use pulp::Simd;

use super::super::delassus::add_entry;
use super::super::jacobian::{Entry, EntryKind, point_rows};
use super::super::mass::MassBlock;
use super::super::place::Side;
use super::{Block, ProblemBuilder, check_compliance, next_id, place_of_c};
use crate::error::BuildError;
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::math::mul_add;
use crate::math::parallel::{self, CHUNK};

/// One contact of free bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contact {
    pub(crate) law: Law,
    /// n, t₁, t₂.
    pub(crate) frame: [DVec3; 3],
    /// From both centres of mass to the contact; that of a body that is not in the problem is not read.
    pub(crate) arms: [DVec3; 2],
    pub(crate) sigma: [f64; 3],
    pub(crate) q: [f64; 3],
}

impl Contact {
    /// Its rows on the velocity of one body.
    pub(crate) fn rows(&self, side: Side) -> [f64; 18] {
        point_rows(self.frame, self.arms[side as usize], side.sign())
    }
}

/// The masses that a contact acts on.
type Pair = [Option<MassId>; 2];

/// No entry, to be overwritten.
const NOTHING: Entry = Entry {
    mass: MassId(0),
    start: 0,
    kind: EntryKind::Plain { length: 0 },
};

const SIDES: [Side; 2] = [Side::First, Side::Second];

/// Numbers of a frame.
const FRAME: usize = 9;

impl ProblemBuilder {
    /// Adds many contacts of three rows, each at a point of one or two free rigid bodies added before. `make` gives
    /// contact i, and may be called from several threads. After an error the builder is of no further use.
    pub(crate) fn add_contacts(
        &mut self,
        masses: &[Pair],
        make: impl Fn(usize) -> Contact + Send + Sync,
    ) -> Result<(), BuildError> {
        let (first, count) = (self.blocks.len(), masses.len());
        next_id(first + count, "constraint blocks")?;
        let (row, d_of, before) = (self.c.len(), self.d.len(), self.values.len());
        next_id(before + (FRAME + 6) * count, "numbers of G")?;
        // Contacts of a run have as many numbers as arms, and an entry for each.
        let arms = |pairs: &[Pair]| pairs.iter().flatten().flatten().count();
        let arms = parallel::map(masses.chunks(CHUNK).collect(), arms);
        let (all, first_entry) = (arms.iter().sum::<usize>(), self.entries.len());
        let end = before + FRAME * count + 3 * all;
        let starts = self.starts.more(count, 0).chunks_mut(CHUNK);
        let d_starts = self.d_starts.more(count, 0).chunks_mut(CHUNK);
        let mut entries = self.entries.more(all, NOTHING);
        let new = Block {
            law: Law::Equality,
            start: row,
            n_rows: 3,
        };
        let blocks = self.blocks.more(count, new).chunks_mut(CHUNK);
        let [sigma, q, c] = [&mut self.sigma, &mut self.q, &mut self.c];
        let sigma = chunks::<3>(sigma.more(3 * count, 0.0));
        let q = chunks::<3>(q.more(3 * count, 0.0));
        let c = chunks::<3>(c.more(3 * count, 0.0));
        let d = chunks::<9>(self.d.more(9 * count, 0.0));
        let mut values = self.values.more(end - before, 0.0);
        let mut parts = Vec::with_capacity(count.div_ceil(CHUNK));
        let (mut value, mut entry) = (before, first_entry);
        let lists = blocks.zip(starts).zip(d_starts);
        let numbers = sigma.zip(q).zip(c).zip(d);
        for (((blocks, starts), d_starts), (((sigma, q), c), d)) in lists.zip(numbers) {
            let start = parts.len() * CHUNK;
            let masses = &masses[start..start + blocks.len()];
            let arms = arms[parts.len()];
            let numbers = FRAME * masses.len() + 3 * arms;
            let first_of = FirstOf {
                block: first + start,
                row: row + 3 * start,
                value,
                entry,
                d: d_of + 9 * start,
            };
            (value, entry) = (value + numbers, entry + arms);
            parts.push(ContactRun {
                first_of,
                start,
                masses,
                blocks,
                starts,
                d_starts,
                entries: entries
                    .split_off_mut(..arms)
                    .expect("room was made for an entry of every arm"),
                values: values
                    .split_off_mut(..numbers)
                    .expect("room was made for the numbers of all contacts"),
                sigma,
                q,
                c,
                d,
            });
        }
        let bodies = (&self.mass[..], &self.free_velocity[..], &self.offsets[..]);
        let arch = pulp::Arch::new();
        let zeros = parallel::map(parts, |run| {
            arch.dispatch(Fill {
                run,
                bodies,
                make: &make,
            })
        });
        let zeros: Vec<bool> = zeros.into_iter().collect::<Result<_, _>>()?;
        self.has_zero |= zeros.contains(&true);
        Ok(())
    }
}

/// Numbers of contacts, N of each, in chunks of contacts.
fn chunks<const N: usize>(numbers: &mut [f64]) -> std::slice::ChunksMut<'_, [f64; N]> {
    numbers.as_chunks_mut::<N>().0.chunks_mut(CHUNK)
}

/// Where the lists of the problem go on with the contacts of a part.
#[derive(Clone, Copy)]
struct FirstOf {
    block: usize,
    row: usize,
    value: usize,
    entry: usize,
    d: usize,
}

/// Consecutive contacts with their places in the arrays of the problem.
struct ContactRun<'a> {
    first_of: FirstOf,
    /// First contact of this part.
    start: usize,
    masses: &'a [Pair],
    blocks: &'a mut [Block],
    starts: &'a mut [u32],
    d_starts: &'a mut [usize],
    entries: &'a mut [Entry],
    values: &'a mut [f64],
    sigma: &'a mut [[f64; 3]],
    q: &'a mut [[f64; 3]],
    c: &'a mut [[f64; 3]],
    d: &'a mut [[f64; 9]],
}

/// [`ContactRun::fill`] with the widest instructions there are: products and sums stay apart, so that the bits are the
/// same everywhere.
struct Fill<'a, F> {
    run: ContactRun<'a>,
    bodies: (&'a [MassBlock], &'a [f64], &'a [usize]),
    make: &'a F,
}

impl<F: Fn(usize) -> Contact> pulp::WithSimd for Fill<'_, F> {
    type Output = Result<bool, BuildError>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Result<bool, BuildError> {
        self.run.fill(self.bodies, self.make)
    }
}

impl ContactRun<'_> {
    /// Fills in frames and arms and computes what follows from them: c = G v¹ − q and D. Says whether nothing moves
    /// some row.
    #[inline(always)]
    fn fill(
        self,
        (bodies, free, offsets): (&[MassBlock], &[f64], &[usize]),
        make: impl Fn(usize) -> Contact,
    ) -> Result<bool, BuildError> {
        let mut values = self.values.as_chunks_mut::<3>().0.iter_mut();
        let mut write = |x: DVec3| {
            if let Some(place) = values.next() {
                *place = x.to_array();
            }
        };
        let mut has_zero = false;
        list_entries(self.first_of, self.masses, self.starts, self.entries);
        for (i, d_start) in self.d_starts.iter_mut().enumerate() {
            *d_start = self.first_of.d + 9 * i;
        }
        for (i, block) in self.blocks.iter_mut().enumerate() {
            let id = BlockId((self.first_of.block + i) as u32);
            let contact = make(self.start + i);
            let Contact {
                law,
                frame,
                arms,
                sigma,
                q,
            } = contact;
            law.check(id, 3)?;
            check_compliance(id, &sigma)?;
            frame.into_iter().for_each(&mut write);
            let (mut c, mut d) = (q.map(|q| -q), [0.0; 9]);
            for (side, mass) in SIDES.into_iter().zip(&self.masses[i]) {
                let Some(mass) = mass else {
                    continue;
                };
                write(arms[side as usize]);
                let g = contact.rows(side);
                let at = offsets[mass.index()];
                mul_add(&g, &free[at..at + 6], &mut c);
                add_entry(&bodies[mass.index()], &g, &mut d);
            }
            // Every number of G and q enters c, which is finite only if they are.
            BuildError::check_finite(|| place_of_c(id), &c)?;
            (0..3).for_each(|i| d[4 * i] += sigma[i]);
            has_zero |= (0..3).any(|i| d[4 * i] == 0.0);
            let start = self.first_of.row + 3 * i;
            let n_rows = 3;
            *block = Block { law, start, n_rows };
            (self.sigma[i], self.q[i], self.c[i]) = (sigma, q, c);
            self.d[i] = d;
        }
        Ok(has_zero)
    }
}

/// Lists where the entries of consecutive contacts begin, and the entries: an arm for each body, behind the frame.
fn list_entries(first_of: FirstOf, masses: &[Pair], starts: &mut [u32], entries: &mut [Entry]) {
    let (mut end, mut count) = (first_of.value, 0);
    for (pair, first) in masses.iter().zip(starts) {
        *first = (first_of.entry + count) as u32;
        end += FRAME;
        let sides = pair.iter().zip(SIDES);
        let present = sides.filter_map(|(mass, side)| Some(((*mass)?, side)));
        for ((mass, side), arms_before) in present.zip(0..) {
            let kind = EntryKind::Point {
                n_rows: 3,
                side,
                arms_before,
            };
            let start = end as u32;
            entries[count] = Entry { mass, start, kind };
            count += 1;
            end += 3;
        }
    }
}
