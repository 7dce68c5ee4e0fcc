//! Islands: parts of a problem that share no mass, so that each can be solved by itself.

use super::place::At;
use super::{Form, Problem};
use crate::index::{BlockId, MassId};
use crate::linalg::disjoint::DisjointSets;

impl Problem {
    /// The blocks of each island, islands in the order of their first block. Blocks belong together if they share a
    /// mass, or if S has an entry that is not zero between them.
    pub fn islands(&self) -> Vec<Vec<BlockId>> {
        let n = self.blocks.len();
        let mut sets = DisjointSets::new(n);
        match &self.form {
            Form::Primal(primal) => {
                let mut owner = vec![usize::MAX; primal.mass.len()];
                for k in 0..n {
                    for e in primal.jacobian.entry_range(k) {
                        let b = primal.jacobian.entry_mass(e);
                        if owner[b] == usize::MAX {
                            owner[b] = k;
                        }
                        sets.join(owner[b], k);
                    }
                }
            }
            Form::Dual(matrix) => {
                for k in 0..n {
                    for (j, values) in matrix.block_row(k) {
                        if values.iter().any(|x| *x != 0.0) {
                            sets.join(j, k);
                        }
                    }
                }
            }
        }
        let (number, count) = sets.numbered();
        let mut islands = vec![Vec::new(); count];
        if let Some(first) = islands.first_mut() {
            // Often the first is the only one.
            first.reserve(n);
        }
        for (k, &island) in number.iter().enumerate() {
            islands[island].push(BlockId(k as u32));
        }
        islands
    }

    /// The problem of some blocks alone, with the masses they act on, in the order they have here. None for one that is
    /// given by its matrix.
    pub(crate) fn part(&self, blocks: &[BlockId]) -> Option<Problem> {
        let Form::Primal(primal) = &self.form else {
            return None;
        };
        let mut place = vec![None; primal.mass.len()];
        for id in blocks {
            for e in primal.jacobian.entry_range(id.index()) {
                place[primal.jacobian.entry_mass(e)] = Some(MassId(0));
            }
        }
        let mut builder = Problem::builder();
        for (b, place) in place
            .iter_mut()
            .enumerate()
            .filter(|(_, place)| place.is_some())
        {
            let p = &primal.p[primal.columns(b)];
            *place = Some(builder.add_mass(primal.mass[b].clone(), p).ok()?);
        }
        for id in blocks {
            let block = &self.blocks[id.index()];
            let on = primal.places(*id).map(|at| {
                let mass = place[at.mass.index()]?;
                Some(At { mass, ..at })
            });
            let on: Option<Vec<At<'_>>> = on.collect();
            let (sigma, q) = (&primal.sigma[block.rows()], &primal.q[block.rows()]);
            builder.add_block_at(block.law, &on?, sigma, q).ok()?;
        }
        builder.build().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;
    use crate::problem::mass::MassBlock;

    /// Two bodies with two blocks each, interleaved, and a block on nothing.
    fn two_islands() -> Problem {
        let mut builder = Problem::builder();
        let mass = |m: f64| MassBlock::dense(vec![m, 0.3, 0.3, 2.0]).unwrap();
        let a = builder.add_mass(mass(1.0), &[1.0, -2.0]).unwrap();
        let b = builder.add_mass(mass(5.0), &[0.5, 0.7]).unwrap();
        let rows: [[f64; 2]; 4] = [[1.0, 0.0], [0.2, 1.0], [0.0, 1.0], [1.0, -1.0]];
        for (i, mass) in [a, b, a, b].into_iter().enumerate() {
            let on: &[(_, &[f64])] = &[(mass, &rows[i])];
            builder
                .add_block(Law::Unilateral, on, &[0.01], &[0.1])
                .unwrap();
        }
        builder
            .add_block(Law::Equality, &[], &[0.5], &[0.0])
            .unwrap();
        builder.build().unwrap()
    }

    #[test]
    fn blocks_that_share_no_mass_fall_apart_in_both_forms() {
        let problem = two_islands();
        let expected = [
            vec![BlockId(0), BlockId(2)],
            vec![BlockId(1), BlockId(3)],
            vec![BlockId(4)],
        ];
        assert_eq!(problem.islands(), expected);
        assert_eq!(problem.to_dual().islands(), expected);
    }

    #[test]
    fn the_matrix_of_an_island_is_that_part_of_the_whole() {
        let problem = two_islands();
        let whole = problem.delassus_dense();
        for form in [problem.clone(), problem.to_dual()] {
            for island in form.islands() {
                let part = form.delassus_of(&island);
                for (i, k) in island.iter().enumerate() {
                    for (l, j) in island.iter().enumerate() {
                        let gap = part[i * island.len() + l] - whole[k.index() * 5 + j.index()];
                        assert!(gap.abs() < 1e-15);
                    }
                }
            }
        }
    }
}
