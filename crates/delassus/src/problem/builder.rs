//! Building a [`Problem`] row block by row block: every input is checked here, so that solvers may trust it.

use super::delassus::DiagonalBlocks;
use super::jacobian::{Entry, Jacobian};
use super::mass::MassBlock;
use super::{Block, Form, Primal, Problem};
use crate::error::BuildError;
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::math::mul_add;

/// Collects masses and constraint blocks; [`ProblemBuilder::build`] gives the problem.
#[derive(Clone, Debug, Default)]
pub struct ProblemBuilder {
    mass: Vec<MassBlock>,
    offsets: Vec<usize>,
    jacobian: Jacobian,
    blocks: Vec<Block>,
    sigma: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

impl ProblemBuilder {
    /// Makes room for so many mass blocks of six velocities, and constraint blocks of three rows on two of them.
    pub fn reserve(&mut self, masses: usize, blocks: usize) {
        self.mass.reserve(masses);
        self.offsets.reserve(masses + 1);
        self.p.reserve(6 * masses);
        self.blocks.reserve(blocks);
        self.sigma.reserve(3 * blocks);
        self.q.reserve(3 * blocks);
        self.jacobian.starts.reserve(blocks + 1);
        self.jacobian.entries.reserve(2 * blocks);
        self.jacobian.values.reserve(36 * blocks);
    }

    /// Adds a mass block with its momentum before constraints, p = M v₀ + h f.
    pub fn add_mass(&mut self, mass: MassBlock, p: &[f64]) -> Result<MassId, BuildError> {
        let id = next_id(self.mass.len(), "mass blocks").map(MassId)?;
        BuildError::check_length(|| format!("p of {id}"), mass.dim(), p.len())?;
        BuildError::check_finite(|| format!("p of {id}"), p)?;
        self.offsets.push(self.p.len());
        self.p.extend_from_slice(p);
        self.mass.push(mass);
        Ok(id)
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
        BuildError::check_finite(|| format!("sigma of {id}"), sigma)?;
        BuildError::check_finite(|| format!("q of {id}"), q)?;
        if let Some(row) = sigma.iter().position(|&s| s < 0.0) {
            return Err(BuildError::NegativeCompliance {
                block: id,
                row,
                value: sigma[row],
            });
        }
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
        self.jacobian.starts.push(self.jacobian.entries.len());
        for &(mass, values) in rows {
            self.jacobian.entries.push(Entry {
                mass,
                start: self.jacobian.values.len(),
            });
            self.jacobian.values.extend_from_slice(values);
        }
        self.blocks.push(Block {
            law,
            start: self.q.len(),
            n_rows,
        });
        self.sigma.extend_from_slice(sigma);
        self.q.extend_from_slice(q);
        Ok(id)
    }

    /// Finishes the problem: v¹ and c are computed once, and refused if they overflow.
    pub fn build(mut self) -> Result<Problem, BuildError> {
        self.offsets.push(self.p.len());
        self.jacobian.starts.push(self.jacobian.entries.len());
        let mut free_velocity = self.p.clone();
        for (b, mass) in self.mass.iter().enumerate() {
            mass.solve(&mut free_velocity[self.offsets[b]..self.offsets[b + 1]]);
        }
        BuildError::check_finite(|| "free velocity".to_owned(), &free_velocity)?;
        let n_rows = self.q.len();
        let primal = Primal {
            mass: self.mass,
            offsets: self.offsets,
            jacobian: self.jacobian,
            sigma: self.sigma,
            p: self.p,
            q: self.q,
            free_velocity,
        };
        let mut c: Vec<f64> = primal.q.iter().map(|q| -q).collect();
        for (k, block) in self.blocks.iter().enumerate() {
            for e in primal.jacobian.entry_range(k) {
                let columns = primal.columns(primal.jacobian.entry_mass(e));
                let values = primal.jacobian.entry_values(e);
                mul_add(values, &primal.free_velocity[columns], &mut c[block.rows()]);
            }
        }
        BuildError::check_finite(|| "c = G v¹ − q".to_owned(), &c)?;
        Ok(Problem {
            diagonal: DiagonalBlocks::of_primal(&primal, &self.blocks),
            form: Form::Primal(primal),
            blocks: self.blocks,
            n_rows,
            c,
        })
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
}
