//! The contact problem without its matrix: columns over the bodies, one linear complementarity problem.
//!
//! ```text
//! ν_i  = n_iᵀ(Nθ + Dφ + Bλ) + Σ_i θ_i + q_i                normal velocity       ⟂ θ_i ≥ 0
//! σ_gj = d_gjᵀ(Nθ + Dφ + Bλ) + s_g    + q_gj               slip along d_gj       ⟂ φ_gj ≥ 0
//! γ_g  = μ_g θ_i(g) − Σ_j φ_gj + r_g                       friction left         ⟂ s_g ≥ 0
//! 0    = b_fᵀ(Nθ + Dφ + Bλ) + Σ_f λ_f + q_f                joints, λ free
//! ```
//!
//! Columns are rows of G times F with FᵀF = M⁻¹, so that every product of two of them is an entry of G M⁻¹Gᵀ.
//! A *unit* is what comes from one contact or one row: at most three rows (n, t₁, t₂) on the same bodies, from
//! which every direction is a combination. Friction comes in *groups* of directions that share one bound: a
//! faceted cone is one group with r = 0, a friction box is two groups of two, and a row with lo ≤ λ ≤ hi is a
//! group of a single direction with no normal, μ = 0 and r = hi − lo. Compliance of a normal or free row stands
//! on the diagonal; that of a tangent is a velocity of its own that only this tangent feels.
//!
//! Every unit is scaled by a = (|n|² + Σ)^(−1/2), after which all quantities are square roots of energy and one
//! tolerance fits all.   [Lemke05 (6)–(8)]

use std::ops::Range;

use super::columns::{Columns, Gather};
use crate::index::BlockId;
use crate::law::{Law, facets};
use crate::problem::{Form, Primal, Problem};

/// No normal: the bound of the group does not depend on a load.
pub(super) const NONE: usize = usize::MAX;

/// A contact problem in the form Lemke's algorithm pivots on, never assembled.
#[derive(Clone, Debug, Default)]
pub struct ContactLcp {
    pub(super) columns: Columns,
    pub(super) normals: Vec<Normal>,
    pub(super) groups: Vec<Group>,
    /// Shares of (t₁, t₂) in every direction, group after group.
    pub(super) directions: Vec<[f64; 2]>,
    /// The two shares of every direction apart, for loops over many.
    pub(super) first: Vec<f64>,
    pub(super) second: Vec<f64>,
    /// Constant part of σ of every direction.
    pub(super) slip: Vec<f64>,
    pub(super) frees: Vec<Free>,
    /// How impulses are read off, unit by unit.
    pub(super) backs: Vec<Back>,
    /// Constant parts of the three rows of every unit: its row velocities without impulses.
    pub(super) constants: Vec<[f64; 3]>,
}

/// A pair (ν, θ).
#[derive(Clone, Copy, Debug)]
pub(super) struct Normal {
    pub(super) unit: usize,
    pub(super) q: f64,
    pub(super) sigma: f64,
    /// First friction group of this normal, and their number.
    pub(super) groups: (usize, usize),
}

impl Normal {
    pub(super) fn groups(&self) -> Range<usize> {
        self.groups.0..self.groups.0 + self.groups.1
    }
}

/// Directions with one common bound: pairs (σ_j, φ_j) and one pair (γ, s).
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) unit: usize,
    /// The normal whose load bounds the friction, or [`NONE`].
    pub(super) normal: usize,
    pub(super) mu: f64,
    /// Constant part of γ.
    pub(super) room: f64,
    /// First direction.
    pub(super) start: usize,
    pub(super) count: usize,
}

impl Group {
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.count
    }
}

/// A row without law: an equality.
#[derive(Clone, Copy, Debug)]
pub(super) struct Free {
    pub(super) unit: usize,
    pub(super) q: f64,
    pub(super) sigma: f64,
}

/// λ = shift + scale × (scaled impulse), at the rows that start at `row`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Back {
    pub(super) row: usize,
    pub(super) tangents: usize,
    pub(super) scale: f64,
    pub(super) shift: f64,
}

/// What the rows of the whole problem are like.
#[derive(Clone, Copy)]
struct Rows<'a> {
    primal: &'a Primal,
    /// Row velocities without impulses.
    c: &'a [f64],
    sigma: &'a [f64],
}

impl ContactLcp {
    /// The whole problem, round and elliptic cones replaced by `directions` facets. None for a problem given by
    /// its Delassus matrix, which has no columns.
    pub fn new(problem: &Problem, directions: u32) -> Option<ContactLcp> {
        let blocks: Vec<BlockId> = (0..problem.blocks().len() as u32).map(BlockId).collect();
        ContactLcp::of_blocks(problem, &blocks, directions)
    }

    /// The part of a problem that consists of the given blocks. The others must share no body with them, or they
    /// count as absent.
    pub fn of_blocks(problem: &Problem, blocks: &[BlockId], directions: u32) -> Option<ContactLcp> {
        let mut lcp = ContactLcp::default();
        lcp.refill(problem, blocks, directions).then_some(lcp)
    }

    /// [`ContactLcp::of_blocks`] in the arrays of an earlier problem. False where there are no columns.
    pub(super) fn refill(
        &mut self,
        problem: &Problem,
        blocks: &[BlockId],
        directions: u32,
    ) -> bool {
        let Form::Primal(primal) = problem.form() else {
            return false;
        };
        let rows = Rows {
            primal,
            c: problem.c(),
            sigma: primal.sigma(),
        };
        self.refill_rows(problem, rows, blocks, directions)
    }

    /// The same with compliance added to every row, so that none depends on others, but for what it does to the
    /// impulses given: where they are the answer they stay it.
    ///
    /// ```text
    /// w = Gv + Σλ − q + δ d (λ − λ⁰)          d the diagonal of G M⁻¹Gᵀ
    /// ```
    pub(super) fn refill_soft(
        &mut self,
        problem: &Problem,
        blocks: &[BlockId],
        directions: u32,
        (delta, around): (f64, &[f64]),
    ) -> bool {
        let Form::Primal(primal) = problem.form() else {
            return false;
        };
        let (mut c, mut sigma) = (problem.c().to_vec(), primal.sigma().to_vec());
        for id in blocks {
            let block = &problem.blocks()[id.index()];
            let d = problem.diagonal_blocks().block(id.index());
            for i in 0..block.n_rows {
                let row = block.start + i;
                let soft = delta * d[i * block.n_rows + i].abs();
                sigma[row] += soft;
                c[row] -= soft * around[row];
            }
        }
        let rows = Rows {
            primal,
            c: &c,
            sigma: &sigma,
        };
        self.refill_rows(problem, rows, blocks, directions)
    }

    fn refill_rows(
        &mut self,
        problem: &Problem,
        rows: Rows<'_>,
        blocks: &[BlockId],
        directions: u32,
    ) -> bool {
        let primal = rows.primal;
        let columns = std::mem::take(&mut self.columns);
        let Some(mut gather) = Gather::new(primal, blocks, columns) else {
            return false;
        };
        self.normals.clear();
        self.groups.clear();
        self.directions.clear();
        self.frees.clear();
        self.backs.clear();
        self.constants.clear();
        for &id in blocks {
            self.add_block(problem, rows, &mut gather, id, directions.max(3));
        }
        self.columns = gather.finish();
        self.add_given_impulses(rows.sigma);
        self.spread_constants();
        true
    }

    /// Number of pairs: (ν, θ), (σ, φ) and (γ, s).
    pub fn n_pairs(&self) -> usize {
        self.normals.len() + self.directions.len() + self.groups.len()
    }

    /// Length of a covering vector: one for every normal, two for every friction group.
    pub fn n_cover(&self) -> usize {
        self.normals.len() + 2 * self.groups.len()
    }

    /// Number of rows that are always free.
    pub fn n_free(&self) -> usize {
        self.frees.len()
    }

    /// Number of velocities that the columns act on.
    pub fn n_velocities(&self) -> usize {
        self.columns.dofs
    }

    fn add_block(
        &mut self,
        problem: &Problem,
        rows: Rows<'_>,
        gather: &mut Gather,
        id: BlockId,
        facets: u32,
    ) {
        let block = problem.blocks()[id.index()];
        gather.read(rows.primal, id, block.n_rows);
        if block.law.is_contact() {
            return self.add_contact(rows, gather, &block, facets);
        }
        for i in 0..block.n_rows {
            let row = block.start + i;
            let (c, sigma) = (rows.c[row], rows.sigma[row]);
            let (lo, hi) = match block.law {
                Law::Equality => (f64::NEG_INFINITY, f64::INFINITY),
                Law::Interval { lo, hi } => (lo, hi),
                _ => (0.0, f64::INFINITY),
            };
            let mut add = |lcp: &mut ContactLcp, sign: f64, shift: f64, diagonal: bool| {
                let (unit, scale) = gather.add_row(i, sign, sigma, !diagonal);
                lcp.backs.push(Back {
                    row,
                    tangents: 0,
                    scale: sign * scale,
                    shift,
                });
                let c = sign * scale * c;
                lcp.constants.push(if diagonal {
                    [c, 0.0, 0.0]
                } else {
                    [0.0, c, 0.0]
                });
                (unit, scale, sigma * scale * scale)
            };
            if lo == hi {
                // The unit carries no variable: its impulse is the shift.
                add(self, 1.0, lo, true);
            } else if lo == f64::NEG_INFINITY && hi == f64::INFINITY {
                let (unit, _, sigma) = add(self, 1.0, 0.0, true);
                self.frees.push(Free {
                    unit,
                    q: 0.0,
                    sigma,
                });
            } else if hi == f64::INFINITY || lo == f64::NEG_INFINITY {
                let (sign, shift) = if hi == f64::INFINITY {
                    (1.0, lo)
                } else {
                    (-1.0, hi)
                };
                let (unit, _, sigma) = add(self, sign, shift, true);
                let groups = (self.groups.len(), 0);
                self.normals.push(Normal {
                    unit,
                    q: 0.0,
                    sigma,
                    groups,
                });
            } else {
                let (unit, scale, _) = add(self, 1.0, lo, false);
                self.push_group(unit, NONE, 0.0, (hi - lo) / scale, [[1.0, 0.0]]);
            }
        }
    }

    fn add_contact(
        &mut self,
        rows: Rows<'_>,
        gather: &mut Gather,
        block: &crate::problem::Block,
        facets: u32,
    ) {
        let (row, tangents) = (block.start, block.n_rows - 1);
        let frictionless = block.law.is_convex();
        let sigma = &rows.sigma[block.rows()];
        let (unit, scale) = if frictionless {
            gather.add_row(0, 1.0, sigma[0], false)
        } else {
            gather.add_contact(sigma)
        };
        self.backs.push(Back {
            row,
            tangents,
            scale,
            shift: 0.0,
        });
        let mut constants = [0.0; 3];
        let shown = if frictionless { 1 } else { block.n_rows };
        for (constant, c) in constants.iter_mut().zip(&rows.c[row..row + shown]) {
            *constant = scale * c;
        }
        self.constants.push(constants);
        let normal = self.normals.len();
        let first = self.groups.len();
        let oval = |mu: [f64; 2]| {
            (0..facets).map(move |j| {
                let [cos, sin] = facets::direction(j, facets);
                [mu[0] * cos, mu[1] * sin]
            })
        };
        let along = |a: f64, b: f64| [[a, b], [-a, -b]];
        match block.law {
            _ if frictionless => {}
            Law::FrictionBox { mu } => {
                self.push_group(unit, normal, mu, 0.0, along(1.0, 0.0));
                if tangents == 2 {
                    self.push_group(unit, normal, mu, 0.0, along(0.0, 1.0));
                }
            }
            Law::FrictionCone { mu } if tangents == 1 => {
                self.push_group(unit, normal, mu, 0.0, along(1.0, 0.0));
            }
            Law::FrictionCone { mu } => self.push_round(unit, normal, mu, facets),
            Law::FrictionFacets { mu, directions } => {
                self.push_round(unit, normal, mu, directions);
            }
            // Along a tangent with μ_i = 0 there is no impulse.
            Law::EllipticCone { mu } if mu[0] == 0.0 || mu[1] == 0.0 => {
                self.push_group(unit, normal, 1.0, 0.0, along(mu[0], mu[1]));
            }
            Law::EllipticCone { mu } => {
                self.push_group(unit, normal, 1.0, 0.0, oval(mu));
            }
            Law::Equality | Law::Unilateral | Law::Interval { .. } => {}
        }
        self.normals.push(Normal {
            unit,
            q: 0.0,
            sigma: sigma[0] * scale * scale,
            groups: (first, self.groups.len() - first),
        });
    }

    fn push_round(&mut self, unit: usize, normal: usize, mu: f64, d: u32) {
        match facets::tabulated(d) {
            Some(table) => {
                let directions = table[..d as usize].iter().copied();
                self.push_group(unit, normal, mu, 0.0, directions);
            }
            None => {
                let directions = (0..d).map(|j| facets::direction(j, d));
                self.push_group(unit, normal, mu, 0.0, directions);
            }
        }
    }

    fn push_group(
        &mut self,
        unit: usize,
        normal: usize,
        mu: f64,
        room: f64,
        directions: impl IntoIterator<Item = [f64; 2]>,
    ) {
        let start = self.directions.len();
        self.directions.extend(directions);
        let count = self.directions.len() - start;
        self.groups.push(Group {
            unit,
            normal,
            mu,
            room,
            start,
            count,
        });
    }

    /// Bounds that are not zero shift the origin: every row feels the impulse at which its unit starts.
    fn add_given_impulses(&mut self, sigma: &[f64]) {
        if self.backs.iter().all(|back| back.shift == 0.0) {
            return;
        }
        let mut v = vec![0.0; self.columns.dofs];
        for (unit, back) in self.backs.iter().enumerate() {
            // Only one of the three rows of a shifted unit is not zero.
            let share = back.shift / back.scale;
            self.columns.add(unit, [share; 3], &mut v);
        }
        for (unit, constant) in self.constants.iter_mut().enumerate() {
            let back = &self.backs[unit];
            for (c, dot) in constant.iter_mut().zip(self.columns.dots(unit, &v)) {
                *c += dot;
            }
            if self.columns.units[unit].rows == 1 {
                constant[0] += sigma[back.row] * back.scale * back.shift;
            }
        }
    }

    /// Constant parts of the rows, from those of the units.
    fn spread_constants(&mut self) {
        for normal in &mut self.normals {
            normal.q = self.constants[normal.unit][0];
        }
        for free in &mut self.frees {
            free.q = self.constants[free.unit][0];
        }
        self.first.clear();
        self.first.extend(self.directions.iter().map(|d| d[0]));
        self.second.clear();
        self.second.extend(self.directions.iter().map(|d| d[1]));
        self.slip.clear();
        for group in &self.groups {
            let [_, v1, v2] = self.constants[group.unit];
            let (a, b) = (&self.first[group.range()], &self.second[group.range()]);
            let shares = a.iter().zip(b);
            self.slip.extend(shares.map(|(a, b)| a * v1 + b * v2));
        }
    }

    /// Free rows without those that depend on rows before them, by a Cholesky factor that skips small pivots.
    pub(super) fn independent_frees(&self, least: f64) -> Vec<usize> {
        let mut kept: Vec<usize> = Vec::new();
        let mut factor: Vec<Vec<f64>> = Vec::new();
        let mut column = vec![0.0; self.columns.dofs];
        for (f, free) in self.frees.iter().enumerate() {
            column.fill(0.0);
            self.columns.add(free.unit, [1.0, 0.0, 0.0], &mut column);
            let mut row: Vec<f64> = Vec::with_capacity(kept.len() + 1);
            for (&k, other) in kept.iter().zip(&factor) {
                let product = self.columns.dot(self.frees[k].unit, &column);
                let done = crate::math::dot(&row, &other[..row.len()]);
                row.push((product - done) / other[row.len()]);
            }
            let own = self.columns.dot(free.unit, &column) + free.sigma;
            let rest = own - crate::math::dot(&row, &row);
            if least < rest {
                row.push(rest.sqrt());
                factor.push(row);
                kept.push(f);
            }
        }
        kept
    }
}
