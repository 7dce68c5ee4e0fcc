//! Building a [`Problem`] row block by row block: every input is checked here, so that solvers may trust it.

mod checks;
mod contacts;
mod reused;

use std::cell::RefCell;

use glam::DVec3;

use super::delassus::{DiagonalBlocks, add_entry};
use super::jacobian::{Entry, EntryKind, Jacobian, On, PlacedRows, point_row, spin_axes, spin_row};
use super::mass::{MassBlock, TreeMass};
use super::place::{At, Place, Point, Side};
use super::written_rows::{NOWHERE, WrittenRows};
use super::{Block, Form, Primal, Problem};
use crate::error::BuildError;
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::math::mul_add;
use crate::math::parallel::{self, CHUNK};
use checks::check_compliance;
pub(crate) use contacts::Contact;
use reused::Reused;

thread_local! {
    /// Rows written out, from one problem to the next: a step of a world makes one. It is no state: nobody reads what
    /// stands in it.
    static ROWS: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Collects masses and constraint blocks; [`ProblemBuilder::build`] gives the problem.
///
/// What follows from a mass or a block (v¹, c, D) is computed when it is added, while its numbers are at hand.
#[derive(Clone, Debug, Default)]
pub struct ProblemBuilder {
    mass: Reused<MassBlock>,
    offsets: Vec<usize>,
    /// First entry of each block, entries, their parts, and their values.
    starts: Reused<u32>,
    entries: Reused<Entry>,
    parts: Vec<PlacedRows>,
    values: Reused<f64>,
    /// Rows on short trees, and how many fours of them entries know of.
    written: WrittenRows,
    stored: usize,
    blocks: Reused<Block>,
    sigma: Reused<f64>,
    p: Reused<f64>,
    q: Reused<f64>,
    free_velocity: Reused<f64>,
    c: Reused<f64>,
    /// First value of each D_kk, their values, and whether nothing moves some row.
    d_starts: Reused<usize>,
    d: Reused<f64>,
    has_zero: bool,
    /// Room for rows written out.
    rows: Vec<f64>,
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
            starts: Reused::over(primal.jacobian.starts),
            entries: Reused::over(primal.jacobian.entries),
            parts: emptied(primal.jacobian.parts),
            values: Reused::over(primal.jacobian.values),
            written: primal.jacobian.written.emptied(),
            stored: 0,
            blocks: Reused::over(problem.blocks),
            sigma: Reused::over(primal.sigma),
            p: Reused::over(primal.p),
            q: Reused::over(primal.q),
            free_velocity: Reused::over(primal.free_velocity),
            c: Reused::over(problem.c),
            d_starts: Reused::over(d_starts),
            d: Reused::over(d),
            has_zero: false,
            rows: ROWS.take(),
        }
    }

    /// Makes room for so many mass blocks of six velocities, and constraint blocks of three rows at a point of two.
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
        self.values.reserve(15 * blocks);
    }

    /// The tree that the old problem had at the next place, for the memory it stands in.
    pub(crate) fn take_old_tree(&mut self) -> Option<TreeMass> {
        match self.mass.take_old(MassBlock::UNIT)? {
            MassBlock::Tree(tree) => Some(tree),
            MassBlock::Rigid(_) | MassBlock::Dense(_) => None,
        }
    }

    /// Adds a mass block with its momentum before constraints, p = M v₀ + h f.
    pub fn add_mass(&mut self, mass: MassBlock, p: &[f64]) -> Result<MassId, BuildError> {
        let id = next_id(self.mass.len(), "mass blocks").map(MassId)?;
        BuildError::check_length(|| format!("p of {id}"), mass.dim(), p.len())?;
        let mut free = std::mem::take(&mut self.rows);
        free.clear();
        free.extend_from_slice(p);
        mass.solve(&mut free);
        let added = self.add_moving_mass(mass, p, &free);
        self.rows = free;
        added
    }

    /// Adds a mass block with its momentum p and its velocity v¹ without constraints, where that is known better than
    /// p can say: M⁻¹(M v) of an ill-conditioned M is not v. The velocity is what counts.
    pub fn add_moving_mass(
        &mut self,
        mass: MassBlock,
        p: &[f64],
        free: &[f64],
    ) -> Result<MassId, BuildError> {
        let id = next_id(self.mass.len(), "mass blocks").map(MassId)?;
        BuildError::check_length(|| format!("p of {id}"), mass.dim(), p.len())?;
        BuildError::check_finite(|| format!("p of {id}"), p)?;
        BuildError::check_length(|| format!("free velocity of {id}"), mass.dim(), free.len())?;
        BuildError::check_finite(|| format!("free velocity of {id}"), free)?;
        self.free_velocity.extend_from_slice(free);
        let start = self.p.len();
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
        let mut parts = masses.zip(p.chunks_mut(CHUNK)).zip(free).enumerate();
        let fill = |(part, ((masses, p), free)): (usize, BodyPart<'_>)| {
            for (i, mass) in masses.iter_mut().enumerate() {
                (*mass, p[i]) = make(part * CHUNK + i)?;
                free[i] = p[i];
                mass.solve(&mut free[i]);
                // What is not finite in p is not finite in v¹.
                BuildError::check_finite(|| place(part * CHUNK + i), &free[i])?;
            }
            Ok(())
        };
        if count <= CHUNK {
            return parts.try_for_each(fill);
        }
        let done = parallel::map(parts.collect(), fill);
        done.into_iter().collect()
    }

    /// v¹ = M⁻¹p of the mass blocks so far.
    pub(crate) fn free_velocity(&self) -> &[f64] {
        &self.free_velocity
    }

    /// Adds a constraint block of plain rows. `rows` lists the mass blocks it acts on, each with its rows of G
    /// (row-major); `sigma` is the compliance and `q` the wanted velocity of each row.
    pub fn add_block(
        &mut self,
        law: Law,
        rows: &[(MassId, &[f64])],
        sigma: &[f64],
        q: &[f64],
    ) -> Result<BlockId, BuildError> {
        let place = Place::Plain;
        let plain = |&(mass, rows)| At { mass, place, rows };
        let on: Vec<At<'_>> = rows.iter().map(plain).collect();
        self.add_block_at(law, &on, sigma, q)
    }

    /// Adds a constraint block at one point of free bodies; `sigma` is the compliance and `q` the wanted velocity of
    /// each row. A law with rolling or spinning friction has rows of relative spin after the directions (n, t₁, t₂):
    /// about t₁ and t₂, and about n; with (n, t) alone, in a plane, one about n × t.
    pub fn add_point(
        &mut self,
        law: Law,
        point: &Point<'_>,
        sigma: &[f64],
        q: &[f64],
    ) -> Result<BlockId, BuildError> {
        let ends = [(point.first, Side::First), (point.second, Side::Second)];
        let axes = spin_axes(&law, point.directions);
        if !axes.is_empty() {
            let written = |(end, side): (Option<(MassId, DVec3)>, Side)| {
                let (mass, arm) = end?;
                let along = point.directions.iter();
                let along = along.flat_map(|d| point_row(*d, arm, side.sign()));
                let about = axes.iter().flat_map(|axis| spin_row(*axis, side.sign()));
                Some((mass, along.chain(about).collect()))
            };
            let rows: Vec<(MassId, Vec<f64>)> = ends.into_iter().filter_map(written).collect();
            let on: Vec<(MassId, &[f64])> = rows.iter().map(|(m, rows)| (*m, &rows[..])).collect();
            return self.add_block(law, &on, sigma, q);
        }
        let rows: Vec<f64> = point.directions.iter().flat_map(|d| d.to_array()).collect();
        let place = |(end, side): (Option<(MassId, DVec3)>, Side)| {
            end.map(|(mass, arm)| At {
                mass,
                place: Place::Point { arm, side },
                rows: &rows,
            })
        };
        let on: Vec<At<'_>> = ends.into_iter().filter_map(place).collect();
        self.add_block_at(law, &on, sigma, q)
    }

    /// Adds a constraint block with the places where it acts; `sigma` is the compliance and `q` the wanted velocity of
    /// each row. Rows on several links and coordinates of one mass add up. A point beside other places is kept as the
    /// plain rows that follow from it.
    pub fn add_block_at(
        &mut self,
        law: Law,
        on: &[At<'_>],
        sigma: &[f64],
        q: &[f64],
    ) -> Result<BlockId, BuildError> {
        let id = next_id(self.blocks.len(), "constraint blocks").map(BlockId)?;
        let n_rows = q.len();
        law.check(id, n_rows)?;
        BuildError::check_length(|| format!("sigma of {id}"), n_rows, sigma.len())?;
        check_compliance(id, sigma)?;
        BuildError::check_finite(|| format!("q of {id}"), q)?;
        self.check_places(id, on, n_rows)?;
        let (start, d_start) = (self.c.len(), self.d.len());
        self.derive(on, sigma, q);
        if let Err(error) = BuildError::check_finite(|| place_of_c(id), &self.c[start..]) {
            self.c.truncate(start);
            self.d.truncate(d_start);
            self.written.truncate(self.stored);
            return Err(error);
        }
        self.starts.push(self.entries.len() as u32);
        self.store(on, n_rows);
        self.d_starts.push(d_start);
        let mut diagonal = self.d[d_start..].iter().step_by(n_rows + 1);
        self.has_zero |= diagonal.any(|d| *d == 0.0);
        self.blocks.push(Block { law, start, n_rows });
        self.sigma.extend_from_slice(sigma);
        self.q.extend_from_slice(q);
        Ok(id)
    }

    /// The same of one row on one velocity of a short tree, as limits and motors have it; false where it is not one.
    fn derive_coordinate(&mut self, on: &[At<'_>], sigma: &[f64], q: &[f64]) -> bool {
        let ([at], [sigma], [q]) = (on, sigma, q) else {
            return false;
        };
        let (Place::Coordinate { dof }, [g]) = (at.place, at.rows) else {
            return false;
        };
        let Some(root) = self.mass[at.mass.index()].root() else {
            return false;
        };
        let free = self.free_velocity[self.offsets[at.mass.index()] + dof];
        self.c.more(1, 0.0).fill(g * free - q);
        let d = self.written.add_coordinate(dof, *g, root);
        self.d.more(1, 0.0).fill(d + sigma);
        true
    }

    /// Adds c = G v¹ − q and D = Σ_b G_b M_b⁻¹G_bᵀ + Σ of a block, from its rows written out.
    fn derive(&mut self, on: &[At<'_>], sigma: &[f64], q: &[f64]) {
        if self.derive_coordinate(on, sigma, q) {
            return;
        }
        let n_rows = q.len();
        let c = self.c.more(n_rows, 0.0);
        c.iter_mut().zip(q).for_each(|(c, q)| *c = -q);
        let d = self.d.more(n_rows * n_rows, 0.0);
        d.fill(0.0);
        for (i, first) in on.iter().enumerate() {
            if on[..i].iter().any(|at| at.mass == first.mass) {
                continue;
            }
            let mass = &self.mass[first.mass.index()];
            let write = |rows: &mut [f64]| {
                for at in on[i..].iter().filter(|at| at.mass == first.mass) {
                    at.place.write(mass, at.rows, (rows, n_rows));
                }
            };
            let at = self.offsets[first.mass.index()];
            let free = &self.free_velocity[at..at + mass.dim()];
            match mass.root() {
                Some(root) => {
                    let before = self.written.len();
                    write(self.written.more(n_rows, root));
                    self.written.answer((root, free), (&mut *c, &mut *d));
                    // Rows that are given written out need not be kept twice.
                    if first.place == Place::Plain {
                        self.written.truncate(before);
                    }
                }
                None => {
                    let rows = &mut self.rows;
                    rows.clear();
                    rows.resize(n_rows * mass.dim(), 0.0);
                    write(rows);
                    mul_add(rows, free, c);
                    add_entry(mass, rows, d);
                }
            }
        }
        for (i, sigma) in sigma.iter().enumerate() {
            d[i * n_rows + i] += sigma;
        }
    }

    /// Writes the entries of a block that has been checked.
    fn store(&mut self, on: &[At<'_>], n_rows: usize) {
        let points = on.iter().all(|at| matches!(at.place, Place::Point { .. }));
        if let (Some(first), true, Ok(n)) = (on.first(), points, u16::try_from(n_rows)) {
            self.values.extend_from_slice(first.rows);
            for (at, arms_before) in on.iter().zip(0..) {
                if let Place::Point { arm, side } = at.place {
                    let kind = EntryKind::Point {
                        n_rows: n,
                        side,
                        arms_before,
                    };
                    self.push_entry(at.mass, kind, &arm.to_array());
                }
            }
            return;
        }
        for (i, at) in on.iter().enumerate() {
            let mass = &self.mass[at.mass.index()];
            match at.place {
                Place::Point { .. } => {
                    let mut rows = std::mem::take(&mut self.rows);
                    rows.clear();
                    rows.resize(n_rows * mass.dim(), 0.0);
                    at.place.write(mass, at.rows, (&mut rows, n_rows));
                    let length = rows.len() as u32;
                    self.push_entry(at.mass, EntryKind::Plain { length }, &rows);
                    self.rows = rows;
                }
                Place::Plain => {
                    let length = at.rows.len() as u32;
                    self.push_entry(at.mass, EntryKind::Plain { length }, at.rows);
                }
                Place::Link { .. } | Place::Coordinate { .. } => {
                    // All parts on one mass stand together, where the first of them is named.
                    if on[..i].iter().all(|other| other.mass != at.mass) {
                        let parts = on[i..].iter().filter(|other| other.mass == at.mass);
                        self.push_parts(at.mass, parts, n_rows as u32);
                    }
                }
            }
        }
    }

    fn push_entry(&mut self, mass: MassId, kind: EntryKind, numbers: &[f64]) {
        let start = self.values.len() as u32;
        self.entries.push(Entry { mass, start, kind });
        self.values.extend_from_slice(numbers);
    }

    fn push_parts<'a>(
        &mut self,
        mass: MassId,
        parts: impl Iterator<Item = &'a At<'a>>,
        n_rows: u32,
    ) {
        let (first, start) = (self.parts.len() as u32, self.values.len() as u32);
        let mut written = NOWHERE;
        let on_mass = &self.mass[mass.index()];
        if let Some(root) = on_mass.root() {
            // The rows were written out in this order.
            written = self.stored as u32;
            self.stored += n_rows as usize * root.fours();
        }
        for at in parts {
            let on = match at.place {
                Place::Link { link } => On::Link(link),
                Place::Coordinate { dof } => On::Coordinate(dof as u32),
                // A mass that is named twice has no other places: `check_places` has seen to it.
                Place::Point { .. } | Place::Plain => continue,
            };
            let start = self.values.len() as u32;
            self.parts.push(PlacedRows {
                on,
                start,
                n_rows,
                written,
            });
            written = NOWHERE;
            self.values.extend_from_slice(at.rows);
        }
        // No more than the places of a block, which are counted when they are checked.
        let count = (self.parts.len() as u32 - first) as u16;
        let kind = EntryKind::Parts { first, count };
        self.entries.push(Entry { mass, start, kind });
    }

    /// Finishes the problem.
    pub fn build(mut self) -> Result<Problem, BuildError> {
        ROWS.set(std::mem::take(&mut self.rows));
        self.offsets.push(self.p.len());
        self.starts.push(self.entries.len() as u32);
        self.d_starts.push(self.d.len());
        Ok(Problem {
            n_rows: self.q.len(),
            form: Form::Primal(Primal {
                mass: self.mass.finish(),
                offsets: self.offsets,
                jacobian: Jacobian {
                    starts: self.starts.finish(),
                    entries: self.entries.finish(),
                    parts: self.parts,
                    values: self.values.finish(),
                    written: self.written,
                },
                sigma: self.sigma.finish(),
                p: self.p.finish(),
                q: self.q.finish(),
                free_velocity: self.free_velocity.finish(),
            }),
            blocks: self.blocks.finish(),
            c: self.c.finish(),
            diagonal: DiagonalBlocks::new(self.d_starts.finish(), self.d.finish(), self.has_zero),
        })
    }
}

/// Masses, momenta and velocities of some bodies.
type BodyPart<'a> = (
    (&'a mut [MassBlock], &'a mut [[f64; 6]]),
    &'a mut [[f64; 6]],
);

/// The same memory without content.
fn emptied<T>(mut array: Vec<T>) -> Vec<T> {
    array.clear();
    array
}

fn place_of_c(id: BlockId) -> String {
    format!("c = G v¹ − q of {id}")
}

fn next_id(count: usize, what: &'static str) -> Result<u32, BuildError> {
    let limit = u32::MAX as usize;
    u32::try_from(count).map_err(|_| BuildError::TooLarge { what, count, limit })
}

#[cfg(test)]
mod tests;
