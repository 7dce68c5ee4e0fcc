//! Laws as pairs: what each block of a problem adds to the columns, the pairs and the free rows.
//!
//! | law | variables |
//! |---|---|
//! | equality, or no finite bound | a free row |
//! | unilateral, or one finite bound | a normal without friction, θ = ±(λ − bound) |
//! | interval | a group of one direction, φ = λ − lo, r = hi − lo |
//! | friction box | a normal, and a group of two directions for each tangent |
//! | facets, cone, ellipse | a normal, and a group of inscribed directions; two in the plane |
//!
//! The source has contacts alone; what it gives up for a cone it gives up here, the rest is exact.

use super::columns::{Gather, NewUnit};
use super::{ContactLcp, FreeRow, Group, NONE, Normal, WayBack};
use crate::index::BlockId;
use crate::law::{Law, facets};
use crate::problem::{Block, Primal, Problem};

/// Row velocities without impulses, and compliance, of all rows.
#[derive(Clone, Copy)]
struct RowData<'a> {
    c: &'a [f64],
    sigma: &'a [f64],
}

/// Bounds of an impulse.
#[derive(Clone, Copy, PartialEq)]
struct Bounds {
    lo: f64,
    hi: f64,
}

/// Bounds that are none.
const FREE: Bounds = Bounds {
    lo: f64::NEG_INFINITY,
    hi: f64::INFINITY,
};
/// Bounds of an impulse that pushes.
const PUSH: Bounds = Bounds { lo: 0.0, ..FREE };

impl ContactLcp {
    /// The pairs and free rows of one block.
    pub(super) fn add_block(
        &mut self,
        problem: &Problem,
        primal: &Primal,
        gather: &mut Gather,
        id: BlockId,
        facets: u32,
    ) {
        let block = problem.blocks()[id.index()];
        gather.read(primal, id, block.n_rows);
        let rows = RowData {
            c: problem.c(),
            sigma: primal.sigma(),
        };
        if block.law.is_contact() {
            return self.add_contact(rows, gather, &block, facets);
        }
        let bounds = match block.law {
            Law::Equality => FREE,
            Law::Interval { lo, hi } => Bounds { lo, hi },
            _ => PUSH,
        };
        for i in 0..block.n_rows {
            self.add_row(rows, gather, &block, i, bounds);
        }
    }

    /// Row i of a block, whose impulse has these bounds.
    fn add_row(
        &mut self,
        rows: RowData<'_>,
        gather: &mut Gather,
        block: &Block,
        i: usize,
        bounds: Bounds,
    ) {
        let row = block.start + i;
        let Bounds { lo, hi } = bounds;
        let (c, sigma) = (rows.c[row], rows.sigma[row]);
        let mut add = |lcp: &mut ContactLcp, sign: f64, shift: f64, diagonal: bool| {
            let NewUnit { unit, scale } = gather.add_row(i, sign, sigma, !diagonal);
            lcp.backs.push(WayBack {
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
        } else if bounds == FREE {
            let (unit, _, sigma) = add(self, 1.0, 0.0, true);
            self.frees.push(FreeRow {
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
            self.normals.push(Normal {
                unit,
                q: 0.0,
                sigma,
                first_group: self.groups.len(),
                n_groups: 0,
            });
        } else {
            let (unit, scale, _) = add(self, 1.0, lo, false);
            self.push_group(unit, NONE, 0.0, (hi - lo) / scale, [[1.0, 0.0]]);
        }
    }

    /// A contact: its normal, and its friction as groups of directions.
    fn add_contact(&mut self, rows: RowData<'_>, gather: &mut Gather, block: &Block, facets: u32) {
        let (row, tangents) = (block.start, block.n_rows - 1);
        let frictionless = block.law.is_convex();
        let sigma = &rows.sigma[block.rows()];
        let NewUnit { unit, scale } = if frictionless {
            gather.add_row(0, 1.0, sigma[0], false)
        } else {
            gather.add_contact(sigma)
        };
        self.backs.push(WayBack {
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
            // Without friction there is the normal alone.
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
            // Others are no contacts, or refused before.
            _ => {}
        }
        self.normals.push(Normal {
            unit,
            q: 0.0,
            sigma: sigma[0] * scale * scale,
            first_group: first,
            n_groups: self.groups.len() - first,
        });
    }

    fn push_round(&mut self, unit: usize, normal: usize, mu: f64, d: u32) {
        let start = self.directions.len();
        match facets::tabulated(d) {
            Some(table) => self.directions.extend_from_slice(&table[..d as usize]),
            None => {
                let directions = (0..d).map(|j| facets::direction(j, d));
                self.directions.extend(directions);
            }
        }
        self.close_group(unit, normal, mu, 0.0, start);
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
        self.close_group(unit, normal, mu, room, start);
    }

    /// A group of the directions from `start` on.
    fn close_group(&mut self, unit: usize, normal: usize, mu: f64, room: f64, start: usize) {
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
    pub(crate) fn add_given_impulses(&mut self, sigma: &[f64]) {
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
    pub(crate) fn spread_constants(&mut self) {
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
            let directions = self.directions[group.range()].iter();
            self.slip.extend(directions.map(|[a, b]| a * v1 + b * v2));
        }
    }
}
