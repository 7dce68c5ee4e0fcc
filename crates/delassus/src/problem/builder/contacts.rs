//! Many contacts at once, on several threads.

use super::{ProblemBuilder, check_compliance, next_id, place_of_c};
use crate::error::BuildError;
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::math::mul_add;
use crate::math::parallel::{self, CHUNK};
use crate::problem::Block;
use crate::problem::delassus::add_entry;
use crate::problem::jacobian::Entry;
use crate::problem::mass::MassBlock;

/// Law, Σ and q of one contact.
type Contact = (Law, [f64; 3], [f64; 3]);

impl ProblemBuilder {
    /// Adds many contacts of three rows, each on one or two free rigid bodies added before. `fill` writes the rows
    /// of G of contact i, 18 numbers per body, and may be called from several threads. After an error the builder
    /// is of no further use.
    pub(crate) fn add_contacts(
        &mut self,
        masses: &[[Option<MassId>; 2]],
        fill: impl Fn(usize, &mut [[f64; 18]]) -> Contact + Send + Sync,
    ) -> Result<(), BuildError> {
        next_id(self.blocks.len() + masses.len(), "constraint blocks")?;
        let (first, row) = (self.blocks.len(), self.c.len());
        let (entry, value) = (self.jacobian.entries.len(), self.n_values);
        for mass in masses {
            self.jacobian.starts.push(self.jacobian.entries.len());
            for &mass in mass.iter().flatten() {
                let start = value + 18 * (self.jacobian.entries.len() - entry);
                self.jacobian.entries.push(Entry { mass, start });
            }
        }
        self.values(18 * (self.jacobian.entries.len() - entry));
        let rows = row + 3 * masses.len();
        self.blocks.extend((0..masses.len()).map(|i| Block {
            law: Law::Equality,
            start: row + 3 * i,
            n_rows: 3,
        }));
        for array in [&mut self.sigma, &mut self.q, &mut self.c] {
            array.resize(rows, 0.0);
        }
        let mut values = self.jacobian.values[value..self.n_values]
            .as_chunks_mut::<18>()
            .0;
        let mut parts = Vec::with_capacity(masses.len().div_ceil(CHUNK));
        let lists = self.blocks[first..].chunks_mut(CHUNK);
        let lists = lists.zip(chunks(&mut self.sigma[row..]));
        let lists = lists.zip(chunks(&mut self.q[row..]));
        let lists = lists.zip(chunks(&mut self.c[row..]));
        let lists = lists.zip(self.diagonal.push_contacts(masses.len()).chunks_mut(CHUNK));
        for ((((blocks, sigma), q), c), d) in lists {
            let start = parts.len() * CHUNK;
            let masses = &masses[start..start + blocks.len()];
            let count = masses.iter().flatten().flatten().count();
            parts.push(Part {
                first,
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
        self.diagonal.note_zero(zeros.contains(&true));
        Ok(())
    }
}

/// Rows of contacts by three, in chunks.
fn chunks(rows: &mut [f64]) -> std::slice::ChunksMut<'_, [f64; 3]> {
    rows.as_chunks_mut::<3>().0.chunks_mut(CHUNK)
}

/// Consecutive contacts with their places in the arrays of the problem.
struct Part<'a> {
    /// First contact block of the problem, and first contact of this part.
    first: usize,
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
            (block.law, self.d[i]) = (law, d);
            (self.sigma[i], self.q[i], self.c[i]) = (sigma, q, c);
        }
        Ok(has_zero)
    }
}
