//! Many contacts at once: their places are handed out first, and filled side by side, eight at a time.

use glam::DVec3;
use pulp::Simd;

use super::super::jacobian::{Entry, point_rows};
use super::lanes::Eight;
use super::{Block, ProblemBuilder, check_compliance, next_id, place_of_c};
use crate::error::BuildError;
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::math::parallel::{self, CHUNK};
use crate::math::simd::LANES;
use crate::math::tangents;
use crate::problem::mass::MassBlock;

/// A contact at a point: its three rows are those of the normal and its [`tangents`], on two free rigid bodies or one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointContact {
    pub(crate) law: Law,
    /// Unit normal, from the second body to the first.
    pub(crate) normal: DVec3,
    /// From the centres of mass of both bodies to the point \[m\].
    pub(crate) arms: [DVec3; 2],
    pub(crate) sigma: [f64; 3],
    pub(crate) q: [f64; 3],
}

/// The first body feels the rows as they are, the second turned round.
pub(super) const SIGNS: [f64; 2] = [1.0, -1.0];

impl PointContact {
    /// Rows of G on the first or second body.
    pub(crate) fn rows(&self, side: usize) -> [f64; 18] {
        let (t1, t2) = tangents(self.normal);
        point_rows([self.normal, t1, t2], self.arms[side], SIGNS[side])
    }
}

impl ProblemBuilder {
    /// Adds many contacts, each on one or two free rigid bodies added before. `contact` gives contact i and may be
    /// called from several threads. After an error the builder is of no further use.
    pub(crate) fn add_contacts(
        &mut self,
        masses: &[[Option<MassId>; 2]],
        contact: impl Fn(usize) -> PointContact + Send + Sync,
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
        let bodies = (&self.mass[..], &self.free_velocity[..], &self.offsets[..]);
        let mut parts = Vec::with_capacity(count.div_ceil(CHUNK));
        for ((((blocks, sigma), q), c), d) in blocks.zip(sigma).zip(q).zip(c).zip(d) {
            let start = parts.len() * CHUNK;
            let masses = &masses[start..start + blocks.len()];
            let count = masses.iter().flatten().flatten().count();
            parts.push(Part {
                place: Place { first, row, start },
                masses,
                blocks,
                values: values.split_off_mut(..count).unwrap_or_default(),
                sigma,
                q,
                c,
                d,
                bodies,
                contact: &contact,
            });
        }
        let arch = pulp::Arch::new();
        let zeros = parallel::map(parts, |part| arch.dispatch(part));
        let zeros: Vec<bool> = zeros.into_iter().collect::<Result<_, _>>()?;
        self.has_zero |= zeros.contains(&true);
        Ok(())
    }
}

/// Numbers of contacts, N of each, in chunks of contacts.
fn chunks<const N: usize>(numbers: &mut [f64]) -> std::slice::ChunksMut<'_, [f64; N]> {
    numbers.as_chunks_mut::<N>().0.chunks_mut(CHUNK)
}

/// First contact block of the problem and its first row, and first contact of a part.
#[derive(Clone, Copy)]
struct Place {
    first: usize,
    row: usize,
    start: usize,
}

/// Consecutive contacts with their places in the arrays of the problem.
struct Part<'a, F> {
    place: Place,
    masses: &'a [[Option<MassId>; 2]],
    blocks: &'a mut [Block],
    values: &'a mut [[f64; 18]],
    sigma: &'a mut [[f64; 3]],
    q: &'a mut [[f64; 3]],
    c: &'a mut [[f64; 3]],
    d: &'a mut [[f64; 9]],
    /// Masses, velocities without constraints, and where those of each mass start.
    bodies: (&'a [MassBlock], &'a [f64], &'a [usize]),
    contact: &'a F,
}

impl<F: Fn(usize) -> PointContact> pulp::WithSimd for Part<'_, F> {
    type Output = Result<bool, BuildError>;

    /// Fills the rows and computes what follows from them: c = G v¹ − q and D. Says whether nothing moves some row.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Result<bool, BuildError> {
        let mut eight = Eight::NONE;
        let mut has_zero = false;
        for first in (0..self.blocks.len()).step_by(LANES) {
            let contacts = first..self.blocks.len().min(first + LANES);
            for (l, i) in contacts.clone().enumerate() {
                self.load(i, &mut eight, l)?;
            }
            for part in 0..LANES / S::F64_LANES {
                eight.compute(simd, part);
            }
            for (l, i) in contacts.enumerate() {
                self.store(i, &eight, l)?;
                has_zero |= (0..3).any(|j| self.d[i][4 * j] == 0.0);
            }
        }
        Ok(has_zero)
    }
}

impl<F: Fn(usize) -> PointContact> Part<'_, F> {
    fn id(&self, i: usize) -> BlockId {
        BlockId((self.place.first + self.place.start + i) as u32)
    }

    /// Contact i of the part into lane l.
    #[inline(always)]
    fn load(&mut self, i: usize, eight: &mut Eight, l: usize) -> Result<(), BuildError> {
        let contact = (self.contact)(self.place.start + i);
        let law = contact.law;
        law.check(self.id(i), 3)?;
        check_compliance(self.id(i), &contact.sigma)?;
        let start = self.place.row + 3 * (self.place.start + i);
        let n_rows = 3;
        self.blocks[i] = Block { law, start, n_rows };
        (self.sigma[i], self.q[i]) = (contact.sigma, contact.q);
        eight.put(l, &contact);
        let (bodies, free, offsets) = self.bodies;
        for (side, mass) in self.masses[i].iter().enumerate() {
            let body = mass.and_then(|mass| {
                let v = free[offsets[mass.index()]..].first_chunk::<6>()?;
                match &bodies[mass.index()] {
                    MassBlock::Rigid(body) => Some((body, v)),
                    _ => None,
                }
            });
            eight.put_body(l, side, body);
        }
        Ok(())
    }

    /// Lane l to the place of contact i.
    #[inline(always)]
    fn store(&mut self, i: usize, eight: &Eight, l: usize) -> Result<(), BuildError> {
        let c = eight.c.map(|lane| lane[l]);
        // Every number of G and q enters c, which is finite only if they are.
        BuildError::check_finite(|| place_of_c(self.id(i)), &c)?;
        let mut values = std::mem::take(&mut self.values);
        for (side, mass) in self.masses[i].iter().enumerate() {
            if mass.is_some()
                && let Some(rows) = values.split_off_first_mut()
            {
                for (value, lane) in rows.iter_mut().zip(&eight.rows[side]) {
                    *value = lane[l];
                }
            }
        }
        self.values = values;
        let [nn, n1, n2, d11, d12, d22] = eight.d.map(|lane| lane[l]);
        let [s, s1, s2] = self.sigma[i];
        self.d[i] = [nn + s, n1, n2, n1, d11 + s1, d12, n2, d12, d22 + s2];
        self.c[i] = c;
        Ok(())
    }
}
