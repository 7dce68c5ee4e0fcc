//! Many contacts at once: their places are handed out first, and filled side by side.

use super::super::delassus::add_entry;
use super::super::jacobian::Entry;
use super::super::mass::MassBlock;
use super::{Block, ProblemBuilder, check_compliance, next_id, place_of_c};
use crate::error::BuildError;
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::math::mul_add;
use crate::math::parallel::{self, CHUNK};

/// Law, Σ and q of one contact.
pub(crate) type Contact = (Law, [f64; 3], [f64; 3]);

impl ProblemBuilder {
    /// Adds many contacts of three rows, each on one or two free rigid bodies added before. `fill` writes the rows
    /// of G of contact i, 18 numbers per body, and may be called from several threads. After an error the builder
    /// is of no further use.
    pub(crate) fn add_contacts(
        &mut self,
        masses: &[[Option<MassId>; 2]],
        fill: impl Fn(usize, &mut [[f64; 18]]) -> Contact + Send + Sync,
    ) -> Result<(), BuildError> {
        let (first, count) = (self.blocks.len(), masses.len());
        next_id(first + count, "constraint blocks")?;
        let (row, entry, d) = (self.c.len(), self.entries.len(), self.d.len());
        for mass in masses {
            self.starts.push(self.entries.len());
            for &mass in mass.iter().flatten() {
                let start = self.values.len() + 18 * (self.entries.len() - entry);
                self.entries.push(Entry { mass, start });
            }
        }
        self.d_starts.extend((0..count).map(|i| d + 9 * i));
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
        let values = self.values.more(18 * (self.entries.len() - entry), 0.0);
        let mut values = values.as_chunks_mut::<18>().0;
        let mut parts = Vec::with_capacity(count.div_ceil(CHUNK));
        for ((((blocks, sigma), q), c), d) in blocks.zip(sigma).zip(q).zip(c).zip(d) {
            let start = parts.len() * CHUNK;
            let masses = &masses[start..start + blocks.len()];
            let count = masses.iter().flatten().flatten().count();
            parts.push(Part {
                first,
                row,
                start,
                masses,
                blocks,
                values: values.split_off_mut(..count).unwrap_or_default(),
                sigma,
                q,
                c,
                d,
            });
        }
        let bodies = (&self.mass[..], &self.free_velocity[..], &self.offsets[..]);
        let zeros = parallel::map(parts, |part| part.fill(bodies, &fill));
        let zeros: Vec<bool> = zeros.into_iter().collect::<Result<_, _>>()?;
        self.has_zero |= zeros.contains(&true);
        Ok(())
    }
}

/// Numbers of contacts, N of each, in chunks of contacts.
fn chunks<const N: usize>(numbers: &mut [f64]) -> std::slice::ChunksMut<'_, [f64; N]> {
    numbers.as_chunks_mut::<N>().0.chunks_mut(CHUNK)
}

/// Consecutive contacts with their places in the arrays of the problem.
struct Part<'a> {
    /// First contact block of the problem and its first row, and first contact of this part.
    first: usize,
    row: usize,
    start: usize,
    masses: &'a [[Option<MassId>; 2]],
    blocks: &'a mut [Block],
    values: &'a mut [[f64; 18]],
    sigma: &'a mut [[f64; 3]],
    q: &'a mut [[f64; 3]],
    c: &'a mut [[f64; 3]],
    d: &'a mut [[f64; 9]],
}

impl Part<'_> {
    /// Fills the rows and computes what follows from them: c = G v¹ − q and D. Says whether nothing moves some row.
    #[inline(always)]
    fn fill(
        self,
        (bodies, free, offsets): (&[MassBlock], &[f64], &[usize]),
        fill: impl Fn(usize, &mut [[f64; 18]]) -> Contact,
    ) -> Result<bool, BuildError> {
        let mut values = self.values;
        let mut has_zero = false;
        for (i, block) in self.blocks.iter_mut().enumerate() {
            let id = BlockId((self.first + self.start + i) as u32);
            let masses = self.masses[i].iter().flatten();
            let g = values.split_off_mut(..masses.clone().count());
            let g = g.unwrap_or_default();
            let (law, sigma, q) = fill(self.start + i, g);
            law.check(id, 3)?;
            check_compliance(id, &sigma)?;
            let (mut c, mut d) = (q.map(|q| -q), [0.0; 9]);
            for (mass, g) in masses.zip(&*g) {
                let at = offsets[mass.index()];
                mul_add(g, &free[at..at + 6], &mut c);
                add_entry(&bodies[mass.index()], g, &mut d);
            }
            // Every number of G and q enters c, which is finite only if they are.
            BuildError::check_finite(|| place_of_c(id), &c)?;
            (0..3).for_each(|i| d[4 * i] += sigma[i]);
            has_zero |= (0..3).any(|i| d[4 * i] == 0.0);
            let start = self.row + 3 * (self.start + i);
            let n_rows = 3;
            *block = Block { law, start, n_rows };
            (self.sigma[i], self.q[i], self.c[i]) = (sigma, q, c);
            self.d[i] = d;
        }
        Ok(has_zero)
    }
}
