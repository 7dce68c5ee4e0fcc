//! Building a [`Problem`] row block by row block: every input is checked here, so that solvers may trust it.

use super::delassus::{DiagonalBlocks, add_entry};
use super::jacobian::{Entry, Jacobian};
use super::mass::MassBlock;
use super::{Block, Form, Primal, Problem};
use crate::error::BuildError;
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::math::mul_add;
use crate::math::parallel::{self, CHUNK};

/// Collects masses and constraint blocks; [`ProblemBuilder::build`] gives the problem.
///
/// What follows from a mass or a block (v¹, c, D) is computed when it is added, while its numbers are at hand.
#[derive(Clone, Debug, Default)]
pub struct ProblemBuilder {
    mass: Vec<MassBlock>,
    offsets: Vec<usize>,
    jacobian: Jacobian,
    /// Values of the Jacobian that are in use; what stands behind them is of a recycled problem.
    n_values: usize,
    blocks: Vec<Block>,
    sigma: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
    free_velocity: Vec<f64>,
    c: Vec<f64>,
    diagonal: DiagonalBlocks,
}

/// Law, Σ and q of one contact.
pub(crate) type Contact = (Law, [f64; 3], [f64; 3]);

impl ProblemBuilder {
    /// An empty builder that uses the memory of a problem nobody needs any more.
    pub fn recycle(problem: Problem) -> ProblemBuilder {
        let Form::Primal(mut primal) = problem.form else {
            return ProblemBuilder::default();
        };
        primal.mass.clear();
        primal.offsets.clear();
        primal.jacobian.starts.clear();
        primal.jacobian.entries.clear();
        let mut blocks = problem.blocks;
        blocks.clear();
        let emptied = |mut array: Vec<f64>| {
            array.clear();
            array
        };
        ProblemBuilder {
            mass: primal.mass,
            offsets: primal.offsets,
            jacobian: primal.jacobian,
            n_values: 0,
            blocks,
            sigma: emptied(primal.sigma),
            p: emptied(primal.p),
            q: emptied(primal.q),
            free_velocity: emptied(primal.free_velocity),
            c: emptied(problem.c),
            diagonal: problem.diagonal.emptied(),
        }
    }

    /// Room for so many more values of the Jacobian, in the order they are asked for.
    fn values(&mut self, count: usize) -> &mut [f64] {
        let start = self.n_values;
        self.n_values += count;
        if self.jacobian.values.len() < self.n_values {
            self.jacobian.values.resize(self.n_values, 0.0);
        }
        &mut self.jacobian.values[start..self.n_values]
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
        self.diagonal.reserve(blocks);
        self.jacobian.starts.reserve(blocks + 1);
        self.jacobian.entries.reserve(2 * blocks);
        let missing = 36 * blocks + self.n_values;
        let missing = missing.saturating_sub(self.jacobian.values.len());
        self.jacobian.values.reserve(missing);
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
        self.mass.resize(first + count, MassBlock::UNIT);
        self.p.resize(start + 6 * count, 0.0);
        self.free_velocity.resize(start + 6 * count, 0.0);
        let masses = self.mass[first..].chunks_mut(CHUNK);
        let p = self.p[start..].as_chunks_mut::<6>().0.chunks_mut(CHUNK);
        let free = self.free_velocity[start..].as_chunks_mut::<6>().0;
        let parts = masses.zip(p).zip(free.chunks_mut(CHUNK)).enumerate();
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
        self.c.extend(q.iter().map(|q| -q));
        for &(mass, values) in rows {
            let at = self.offsets[mass.index()];
            let v = &self.free_velocity[at..at + self.mass[mass.index()].dim()];
            mul_add(values, v, &mut self.c[start..]);
        }
        if let Err(error) = BuildError::check_finite(|| place_of_c(id), &self.c[start..]) {
            self.c.truncate(start);
            return Err(error);
        }
        self.jacobian.starts.push(self.jacobian.entries.len());
        for &(mass, values) in rows {
            let start = self.n_values;
            self.jacobian.entries.push(Entry { mass, start });
            self.values(values.len()).copy_from_slice(values);
        }
        let d = self.diagonal.push(n_rows);
        for &(mass, values) in rows {
            add_entry(&self.mass[mass.index()], values, d);
        }
        for (i, sigma) in sigma.iter().enumerate() {
            d[i * n_rows + i] += sigma;
        }
        self.diagonal.note(id.index(), n_rows);
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

    /// Finishes the problem.
    pub fn build(mut self) -> Result<Problem, BuildError> {
        self.offsets.push(self.p.len());
        self.jacobian.starts.push(self.jacobian.entries.len());
        self.jacobian.values.truncate(self.n_values);
        Ok(Problem {
            n_rows: self.q.len(),
            form: Form::Primal(Primal {
                mass: self.mass,
                offsets: self.offsets,
                jacobian: self.jacobian,
                sigma: self.sigma,
                p: self.p,
                q: self.q,
                free_velocity: self.free_velocity,
            }),
            blocks: self.blocks,
            c: self.c,
            diagonal: self.diagonal.finish(),
        })
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
mod tests {
    use super::*;
    use glam::DMat3;

    type Case<'a> = (Law, Vec<(MassId, &'a [f64])>, Vec<f64>, Vec<f64>, &'a str);

    fn ball(builder: &mut ProblemBuilder) -> MassId {
        builder
            .add_mass(MassBlock::rigid(1.0, DMat3::IDENTITY).unwrap(), &[0.0; 6])
            .unwrap()
    }

    #[test]
    fn every_bad_block_is_refused_with_its_place() {
        let mut builder = Problem::builder();
        let body = ball(&mut builder);
        let row = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let cone = Law::FrictionCone { mu: 0.5 };
        let cases: [Case<'_>; 9] = [
            (
                Law::Equality,
                vec![(MassId(7), &row)],
                vec![0.0],
                vec![0.0],
                "mass 7",
            ),
            (
                Law::Equality,
                vec![(body, &row), (body, &row)],
                vec![0.0],
                vec![0.0],
                "twice",
            ),
            (
                Law::Equality,
                vec![(body, &row[..5])],
                vec![0.0],
                vec![0.0],
                "5 numbers where 6",
            ),
            (
                Law::Equality,
                vec![(body, &row)],
                vec![-1.0],
                vec![0.0],
                "negative",
            ),
            (
                Law::Equality,
                vec![(body, &row)],
                vec![0.0],
                vec![f64::NAN],
                "finite",
            ),
            (Law::Equality, vec![], vec![], vec![], "at least one row"),
            (
                cone,
                vec![(body, &row)],
                vec![0.0],
                vec![0.0],
                "three (n, t1, t2)",
            ),
            (
                Law::FrictionCone { mu: -0.1 },
                vec![],
                vec![0.0; 3],
                vec![0.0; 3],
                "mu",
            ),
            (
                Law::Interval { lo: 1.0, hi: 0.0 },
                vec![],
                vec![0.0],
                vec![0.0],
                "at least lo",
            ),
        ];
        for (law, rows, sigma, q, expected) in cases {
            let error = builder
                .add_block(law, &rows, &sigma, &q)
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(builder.build().unwrap().n_rows(), 0);
    }
    /// Rows, Σ and q of contact i, and the bodies of three it acts on: two, the first or the second.
    fn contact(i: usize) -> ([Option<MassId>; 2], [[f64; 18]; 2], [f64; 3]) {
        let mut random = crate::math::Random::new(i as u64);
        let mut number = || random.range(-1.0, 1.0);
        let masses = [
            (!i.is_multiple_of(5)).then_some(MassId(0)),
            (i % 7 != 1 || i.is_multiple_of(5)).then_some(MassId(1 + i as u32 % 2)),
        ];
        let rows = std::array::from_fn(|_| std::array::from_fn(|_| number()));
        (masses, rows, std::array::from_fn(|_| number()))
    }

    /// Three balls, a joint, and so many contacts, added together or one by one.
    fn contacts(mut builder: ProblemBuilder, count: usize, together: bool) -> Problem {
        let bodies: Vec<MassId> = (0..3).map(|_| ball(&mut builder)).collect();
        let joint = [0.5, 0.0, 0.0, 0.0, 0.2, 0.0];
        builder
            .add_block(Law::Equality, &[(bodies[2], &joint)], &[0.1], &[0.3])
            .unwrap();
        let (law, sigma) = (Law::FrictionCone { mu: 0.3 }, [0.1, 0.0, 0.0]);
        let moved = |i: usize| {
            let (masses, rows, _) = contact(i);
            let moved = masses.into_iter().zip(rows);
            moved.filter_map(|(mass, rows)| Some((mass?, rows)))
        };
        if together {
            let masses: Vec<_> = (0..count).map(|i| contact(i).0).collect();
            let filled = builder.add_contacts(&masses, |i, out| {
                for (out, (_, rows)) in out.iter_mut().zip(moved(i)) {
                    *out = rows;
                }
                (law, sigma, contact(i).2)
            });
            filled.unwrap();
        } else {
            for i in 0..count {
                let rows: Vec<(MassId, [f64; 18])> = moved(i).collect();
                let rows: Vec<(MassId, &[f64])> =
                    rows.iter().map(|(mass, rows)| (*mass, &rows[..])).collect();
                builder
                    .add_block(law, &rows, &sigma, &contact(i).2)
                    .unwrap();
            }
        }
        builder.build().unwrap()
    }

    #[test]
    fn contacts_added_together_or_into_old_memory_make_the_same_problem() {
        let one_by_one = contacts(Problem::builder(), 700, false);
        let together = contacts(Problem::builder(), 700, true);
        assert!(one_by_one == together);
        for count in [10, 900] {
            let recycled = ProblemBuilder::recycle(together.clone());
            let again = contacts(recycled, count, true);
            assert!(again == contacts(Problem::builder(), count, false));
        }
    }

    #[test]
    fn first_bad_contact_is_named() {
        let mut builder = Problem::builder();
        let masses = vec![[Some(ball(&mut builder)), None]; 600];
        let refused = builder.add_contacts(&masses, |i, out| {
            out[0] = [if i % 290 == 289 { f64::NAN } else { 1.0 }; 18];
            (Law::FrictionCone { mu: 0.3 }, [0.0; 3], [0.0; 3])
        });
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("of block 289"), "{error}");
    }
}
