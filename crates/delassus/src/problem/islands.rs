//! Islands: parts of a problem that share no mass, so that each can be solved by itself.

use std::cell::RefCell;

use super::delassus::DiagonalBlocks;
use super::jacobian::Jacobian;
use super::{Block, Form, Primal, Problem};
use crate::index::{BlockId, MassId};
use crate::linalg::disjoint::DisjointSets;

thread_local! {
    /// What a look for islands writes: a step looks for them every time. It is no state: every look overwrites it.
    static ROOM: RefCell<(DisjointSets, Vec<usize>)> = RefCell::default();
}

impl Problem {
    /// The blocks of each island, islands in the order of their first block. Blocks belong together if they share a
    /// mass, or if S has an entry that is not zero between them.
    pub fn islands(&self) -> Vec<Vec<BlockId>> {
        let n = self.blocks.len();
        let mut sets = DisjointSets::default();
        self.join_blocks(&mut sets, &mut Vec::new());
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

    /// Whether there is no more than one.
    pub(crate) fn is_one_island(&self) -> bool {
        ROOM.with_borrow_mut(|(sets, owner)| {
            self.join_blocks(sets, owner);
            (1..self.blocks.len()).all(|k| sets.find(k) == 0)
        })
    }

    /// Sets of blocks that belong together. `owner` is room for the first block on each mass.
    fn join_blocks(&self, sets: &mut DisjointSets, owner: &mut Vec<usize>) {
        let n = self.blocks.len();
        sets.reset(n);
        match &self.form {
            Form::Primal(primal) => {
                owner.clear();
                owner.resize(primal.mass.len(), usize::MAX);
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
    }

    /// The problem of some blocks alone, with the masses they act on, in the order they have here. None for one that is
    /// given by its matrix. What was derived from masses and rows is taken over, not derived again.
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
        let mut part = Primal {
            mass: Vec::new(),
            offsets: vec![0],
            jacobian: Jacobian::default(),
            sigma: Vec::new(),
            p: Vec::new(),
            q: Vec::new(),
            free_velocity: Vec::new(),
        };
        let taken = place.iter_mut().enumerate();
        for (b, place) in taken.filter(|(_, place)| place.is_some()) {
            let columns = primal.columns(b);
            *place = Some(MassId(part.mass.len() as u32));
            part.mass.push(primal.mass[b].clone());
            part.p.extend_from_slice(&primal.p[columns.clone()]);
            part.free_velocity
                .extend_from_slice(&primal.free_velocity[columns]);
            part.offsets.push(part.p.len());
        }
        let (mut own, mut c, mut d) = (Vec::new(), Vec::new(), Vec::new());
        let (mut starts, mut has_zero) = (vec![0], false);
        for id in blocks {
            let block = self.blocks[id.index()];
            own.push(Block {
                start: part.q.len(),
                ..block
            });
            part.sigma.extend_from_slice(&primal.sigma[block.rows()]);
            part.q.extend_from_slice(&primal.q[block.rows()]);
            c.extend_from_slice(&self.c[block.rows()]);
            let square = self.diagonal.block(id.index());
            has_zero |= square.iter().step_by(block.n_rows + 1).any(|d| *d == 0.0);
            d.extend_from_slice(square);
            starts.push(d.len());
        }
        part.jacobian = primal
            .jacobian
            .part(blocks, &place, |b| primal.mass[b.index()].dim());
        Some(Problem {
            n_rows: part.q.len(),
            form: Form::Primal(part),
            blocks: own,
            c,
            diagonal: DiagonalBlocks::new(starts, d, has_zero),
        })
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
    fn a_part_is_the_problem_that_would_be_built_of_it() {
        for problem in [two_islands(), crate::gallery::build("machine").unwrap()] {
            for island in problem.islands() {
                let part = problem.part(&island).unwrap();
                let Form::Primal(primal) = &part.form else {
                    panic!("a part of masses has masses");
                };
                let mut builder = Problem::builder();
                for (b, mass) in primal.mass.iter().enumerate() {
                    let p = &primal.p[primal.columns(b)];
                    builder.add_mass(mass.clone(), p).unwrap();
                }
                for (k, block) in part.blocks.iter().enumerate() {
                    let on: Vec<_> = primal.places(BlockId(k as u32)).collect();
                    let (sigma, q) = (&primal.sigma[block.rows()], &primal.q[block.rows()]);
                    builder.add_block_at(block.law, &on, sigma, q).unwrap();
                }
                assert_eq!(part, builder.build().unwrap());
            }
        }
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
