//! S = G M⁻¹Gᵀ + Σ and c = G v¹ − q in twice the digits of a double: for thin bodies, whose S holds numbers of 1e9 that
//! cancel.
//!
//! M⁻¹ of a free body is the one that answers are judged by. Trees and dense masses are factored.

use super::mass::{MassBlock, Rigid};
use super::{Form, Primal, Problem};
use crate::index::BlockId;
use crate::linalg::{Twofold, TwofoldLu};

/// Rows of one block on one mass.
struct Entry {
    mass: usize,
    /// First of the rows among those of all blocks.
    first: usize,
    rows: Vec<f64>,
}

impl Problem {
    /// S of some blocks, row-major in their order; `None` where a mass is singular.
    pub(crate) fn delassus_wide(&self, blocks: &[BlockId]) -> Option<Vec<Twofold>> {
        let Form::Primal(primal) = &self.form else {
            let dense = self.delassus_of(blocks);
            return Some(dense.into_iter().map(Twofold::from).collect());
        };
        let (mut entries, mut n) = (Vec::new(), 0);
        for id in blocks {
            for e in primal.jacobian().entry_range(id.index()) {
                let mut rows = Vec::new();
                primal.write_rows(e, &mut rows);
                let mass = primal.jacobian().entry_mass(e);
                let first = n;
                entries.push(Entry { mass, first, rows });
            }
            n += self.blocks[id.index()].n_rows;
        }
        let mut s = vec![Twofold::default(); n * n];
        entries.sort_by_key(|entry| entry.mass);
        for own in entries.chunk_by(|a, b| a.mass == b.mass) {
            add_mass(primal, own, (&mut s, n))?;
        }
        let rows = blocks.iter().flat_map(|id| self.blocks[id.index()].rows());
        for (i, row) in rows.enumerate() {
            s[i * n + i] = s[i * n + i] + Twofold::from(primal.sigma[row]);
        }
        Some(s)
    }

    /// c = G v¹ − q of all rows in twice the digits, as far as it is known.
    pub(crate) fn c_wide(&self) -> Vec<Twofold> {
        let Form::Primal(primal) = &self.form else {
            return self.c.iter().map(|c| Twofold::from(*c)).collect();
        };
        let mut c: Vec<Twofold> = primal.q.iter().map(|q| -Twofold::from(*q)).collect();
        let mut rows = Vec::new();
        for (k, block) in self.blocks.iter().enumerate() {
            for e in primal.jacobian.entry_range(k) {
                let free = &primal.free_velocity[primal.columns(primal.jacobian.entry_mass(e))];
                rows.clear();
                primal.write_rows(e, &mut rows);
                for (row, c) in rows.chunks_exact(free.len()).zip(&mut c[block.rows()]) {
                    let terms = row.iter().zip(free);
                    *c = terms.fold(*c, |sum, (g, v)| {
                        sum + Twofold::from(*g) * Twofold::from(*v)
                    });
                }
            }
        }
        c
    }
}

/// S ← S + G_b M_b⁻¹G_bᵀ over the entries of one mass.
fn add_mass(primal: &Primal, entries: &[Entry], (s, n): (&mut [Twofold], usize)) -> Option<()> {
    let mass = &primal.mass()[entries.first()?.mass];
    let dim = mass.dim();
    let mut inverse = Inverse::of(mass)?;
    let each = || {
        let rows = |entry: &'_ Entry| entry.first..entry.first + entry.rows.len() / dim;
        entries
            .iter()
            .flat_map(move |entry| rows(entry).zip(entry.rows.chunks_exact(dim)))
    };
    for (j, g) in each() {
        let mut moved: Vec<Twofold> = g.iter().map(|g| Twofold::from(*g)).collect();
        inverse.apply(&mut moved);
        for (i, g) in each() {
            let terms = g.iter().zip(&moved).filter(|(g, _)| **g != 0.0);
            let sum = terms.fold(s[i * n + j], |sum, (g, v)| sum + Twofold::from(*g) * *v);
            s[i * n + j] = sum;
        }
    }
    Some(())
}

/// M⁻¹ of one mass, as it is known best.
enum Inverse<'a> {
    Rigid(&'a Rigid),
    /// Row-major, as it was given.
    Given(&'a [f64]),
    Factored(TwofoldLu),
}

impl Inverse<'_> {
    /// `None` where the mass is singular.
    fn of(mass: &MassBlock) -> Option<Inverse<'_>> {
        match mass {
            MassBlock::Rigid(body) => Some(Inverse::Rigid(body)),
            MassBlock::Dense(dense) => match dense.given_inverse() {
                Some(inverse) => Some(Inverse::Given(inverse)),
                None => factored(dense.matrix(), mass.dim()),
            },
            MassBlock::Tree(tree) => factored(&tree.matrix(), mass.dim()),
        }
    }

    /// x ← M⁻¹x
    fn apply(&mut self, x: &mut [Twofold]) {
        match self {
            Inverse::Rigid(body) => {
                let light = Twofold::from(body.inverse_mass());
                x[..3].iter_mut().for_each(|x| *x = *x * light);
                let (turning, torque) = (body.inverse_inertia(), [x[3], x[4], x[5]]);
                for (i, x) in x[3..].iter_mut().enumerate() {
                    let row = turning.row(i).to_array().map(Twofold::from);
                    *x = row[0] * torque[0] + row[1] * torque[1] + row[2] * torque[2];
                }
            }
            Inverse::Given(inverse) => {
                let given = x.to_vec();
                for (x, row) in x.iter_mut().zip(inverse.chunks_exact(given.len())) {
                    let terms = row.iter().zip(&given);
                    let zero = Twofold::default();
                    *x = terms.fold(zero, |sum, (m, g)| sum + Twofold::from(*m) * *g);
                }
            }
            Inverse::Factored(factors) => factors.solve(x),
        }
    }
}

fn factored<'a>(matrix: &[f64], dim: usize) -> Option<Inverse<'a>> {
    let mut factors = TwofoldLu::default();
    let regular = factors.factor(dim, |out| {
        for (out, m) in out.iter_mut().zip(matrix) {
            *out = Twofold::from(*m);
        }
    });
    regular.then_some(Inverse::Factored(factors))
}
