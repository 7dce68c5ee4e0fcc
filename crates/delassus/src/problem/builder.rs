//! Building a [`Problem`] row block by row block: every input is checked here, so that solvers may trust it.

mod contacts;
mod reused;

use super::delassus::{DiagonalBlocks, add_entry};
use super::jacobian::{Entry, Jacobian};
use super::mass::MassBlock;
use super::{Block, Form, Primal, Problem};
use crate::error::BuildError;
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::math::mul_add;
use crate::math::parallel::{self, CHUNK};
use reused::Reused;

/// Collects masses and constraint blocks; [`ProblemBuilder::build`] gives the problem.
///
/// What follows from a mass or a block (v¹, c, D) is computed when it is added, while its numbers are at hand.
#[derive(Clone, Debug, Default)]
pub struct ProblemBuilder {
    mass: Reused<MassBlock>,
    offsets: Vec<usize>,
    /// First entry of each block, entries, and their values.
    starts: Vec<usize>,
    entries: Vec<Entry>,
    values: Reused<f64>,
    blocks: Reused<Block>,
    sigma: Reused<f64>,
    p: Reused<f64>,
    q: Reused<f64>,
    free_velocity: Reused<f64>,
    c: Reused<f64>,
    /// First value of each D_kk, their values, and whether nothing moves some row.
    d_starts: Vec<usize>,
    d: Reused<f64>,
    has_zero: bool,
}

impl ProblemBuilder {
    /// An empty builder that uses the memory of a problem nobody needs any more.
    pub fn recycle(problem: Problem) -> ProblemBuilder {
        let Form::Primal(primal) = problem.form else {
            return ProblemBuilder::default();
        };
        let (d_starts, d) = problem.diagonal.into_parts();
        ProblemBuilder {
            mass: Reused::over(primal.mass),
            offsets: emptied(primal.offsets),
            starts: emptied(primal.jacobian.starts),
            entries: emptied(primal.jacobian.entries),
            values: Reused::over(primal.jacobian.values),
            blocks: Reused::over(problem.blocks),
            sigma: Reused::over(primal.sigma),
            p: Reused::over(primal.p),
            q: Reused::over(primal.q),
            free_velocity: Reused::over(primal.free_velocity),
            c: Reused::over(problem.c),
            d_starts: emptied(d_starts),
            d: Reused::over(d),
            has_zero: false,
        }
    }

    /// Makes room for so many mass blocks of six velocities, and constraint blocks of three rows on two of them.
    pub fn reserve(&mut self, masses: usize, blocks: usize) {
        self.mass.reserve(masses);
        self.offsets.reserve(masses + 1);
        self.p.reserve(6 * masses);
        self.free_velocity.reserve(6 * masses);
        self.blocks.reserve(blocks);
        self.sigma.reserve(3 * blocks);
        self.q.reserve(3 * blocks);
        self.c.reserve(3 * blocks);
        self.d_starts.reserve(blocks + 1);
        self.d.reserve(9 * blocks);
        self.starts.reserve(blocks + 1);
        self.entries.reserve(2 * blocks);
        self.values.reserve(36 * blocks);
    }

    /// Adds a mass block with its momentum before constraints, p = M v₀ + h f.
    pub fn add_mass(&mut self, mass: MassBlock, p: &[f64]) -> Result<MassId, BuildError> {
        let id = next_id(self.mass.len(), "mass blocks").map(MassId)?;
        BuildError::check_length(|| format!("p of {id}"), mass.dim(), p.len())?;
        BuildError::check_finite(|| format!("p of {id}"), p)?;
        let start = self.p.len();
        self.free_velocity.extend_from_slice(p);
        let v = &mut self.free_velocity[start..];
        mass.solve(v);
        if let Err(error) = BuildError::check_finite(|| format!("free velocity of {id}"), v) {
            self.free_velocity.truncate(start);
            return Err(error);
        }
        self.offsets.push(start);
        self.p.extend_from_slice(p);
        self.mass.push(mass);
        Ok(id)
    }

    /// Adds many free rigid bodies. `make` gives mass and momentum of body i and `place` its name for an error; both may
    /// be called from several threads. After an error the builder is of no further use.
    pub(crate) fn add_bodies(
        &mut self,
        count: usize,
        make: impl Fn(usize) -> Result<(MassBlock, [f64; 6]), BuildError> + Send + Sync,
        place: impl Fn(usize) -> String + Send + Sync,
    ) -> Result<(), BuildError> {
        let (first, start) = (self.mass.len(), self.p.len());
        next_id(first + count, "mass blocks")?;
        self.offsets.extend((0..count).map(|i| start + 6 * i));
        let masses = self.mass.more(count, MassBlock::UNIT).chunks_mut(CHUNK);
        let p = self.p.more(6 * count, 0.0).as_chunks_mut::<6>().0;
        let free = self.free_velocity.more(6 * count, 0.0);
        let free = free.as_chunks_mut::<6>().0.chunks_mut(CHUNK);
        let parts = masses.zip(p.chunks_mut(CHUNK)).zip(free).enumerate();
        let done = parallel::map(parts.collect(), |(part, ((masses, p), free))| {
            for (i, mass) in masses.iter_mut().enumerate() {
                (*mass, p[i]) = make(part * CHUNK + i)?;
                free[i] = p[i];
                mass.solve(&mut free[i]);
                // What is not finite in p is not finite in v¹.
                BuildError::check_finite(|| place(part * CHUNK + i), &free[i])?;
            }
            Ok(())
        });
        done.into_iter().collect()
    }

    /// v¹ = M⁻¹p of the mass blocks so far.
    pub(crate) fn free_velocity(&self) -> &[f64] {
        &self.free_velocity
    }

    /// Adds a constraint block. `rows` lists the mass blocks it acts on, each with its rows of G (row-major);
    /// `sigma` is the compliance and `q` the wanted velocity of each row.
    pub fn add_block(
        &mut self,
        law: Law,
        rows: &[(MassId, &[f64])],
        sigma: &[f64],
        q: &[f64],
    ) -> Result<BlockId, BuildError> {
        let id = next_id(self.blocks.len(), "constraint blocks").map(BlockId)?;
        let n_rows = q.len();
        law.check(id, n_rows)?;
        BuildError::check_length(|| format!("sigma of {id}"), n_rows, sigma.len())?;
        check_compliance(id, sigma)?;
        BuildError::check_finite(|| format!("q of {id}"), q)?;
        self.check_rows(id, rows, n_rows)?;
        let start = self.c.len();
        let c = self.c.more(n_rows, 0.0);
        c.iter_mut().zip(q).for_each(|(c, q)| *c = -q);
        for &(mass, values) in rows {
            let at = self.offsets[mass.index()];
            let v = &self.free_velocity[at..at + self.mass[mass.index()].dim()];
            mul_add(values, v, c);
        }
        if let Err(error) = BuildError::check_finite(|| place_of_c(id), &self.c[start..]) {
            self.c.truncate(start);
            return Err(error);
        }
        self.starts.push(self.entries.len());
        for &(mass, values) in rows {
            let start = self.values.len();
            self.entries.push(Entry { mass, start });
            self.values.extend_from_slice(values);
        }
        self.d_starts.push(self.d.len());
        let d = self.d.more(n_rows * n_rows, 0.0);
        d.fill(0.0);
        for &(mass, values) in rows {
            add_entry(&self.mass[mass.index()], values, d);
        }
        for (i, sigma) in sigma.iter().enumerate() {
            d[i * n_rows + i] += sigma;
        }
        self.has_zero |= d.iter().step_by(n_rows + 1).any(|d| *d == 0.0);
        self.blocks.push(Block { law, start, n_rows });
        self.sigma.extend_from_slice(sigma);
        self.q.extend_from_slice(q);
        Ok(id)
    }

    /// Known masses, each named once, with rows of the right size and finite numbers.
    fn check_rows(
        &self,
        id: BlockId,
        rows: &[(MassId, &[f64])],
        n_rows: usize,
    ) -> Result<(), BuildError> {
        for (i, &(mass, values)) in rows.iter().enumerate() {
            let masses = self.mass.len();
            let Some(block) = self.mass.get(mass.index()) else {
                return Err(BuildError::UnknownMass {
                    block: id,
                    mass,
                    masses,
                });
            };
            if rows[..i].iter().any(|&(other, _)| other == mass) {
                return Err(BuildError::RepeatedMass { block: id, mass });
            }
            let place = || format!("G of {id} on {mass}");
            BuildError::check_length(place, n_rows * block.dim(), values.len())?;
            BuildError::check_finite(place, values)?;
        }
        Ok(())
    }

    /// Finishes the problem.
    pub fn build(mut self) -> Result<Problem, BuildError> {
        self.offsets.push(self.p.len());
        self.starts.push(self.entries.len());
        self.d_starts.push(self.d.len());
        Ok(Problem {
            n_rows: self.q.len(),
            form: Form::Primal(Primal {
                mass: self.mass.finish(),
                offsets: self.offsets,
                jacobian: Jacobian {
                    starts: self.starts,
                    entries: self.entries,
                    values: self.values.finish(),
                },
                sigma: self.sigma.finish(),
                p: self.p.finish(),
                q: self.q.finish(),
                free_velocity: self.free_velocity.finish(),
            }),
            blocks: self.blocks.finish(),
            c: self.c.finish(),
            diagonal: DiagonalBlocks::new(self.d_starts, self.d.finish(), self.has_zero),
        })
    }
}

/// The same memory without content.
fn emptied<T>(mut array: Vec<T>) -> Vec<T> {
    array.clear();
    array
}

fn place_of_c(id: BlockId) -> String {
    format!("c = G v¹ − q of {id}")
}

fn check_compliance(block: BlockId, sigma: &[f64]) -> Result<(), BuildError> {
    BuildError::check_finite(|| format!("sigma of {block}"), sigma)?;
    match sigma.iter().position(|&s| s < 0.0) {
        None => Ok(()),
        Some(row) => Err(BuildError::NegativeCompliance {
            block,
            row,
            value: sigma[row],
        }),
    }
}

fn next_id(count: usize, what: &'static str) -> Result<u32, BuildError> {
    let limit = u32::MAX as usize;
    u32::try_from(count).map_err(|_| BuildError::TooLarge { what, count, limit })
}

#[cfg(test)]
mod tests;
