//! Columns of the contact problem: rows of G times F with FᵀF = M⁻¹, stored body by body.
//!
//! ```text
//! column = a F Gᵀe      F = L⁻¹ with L Lᵀ = M      a = (|n|² + Σ)^(−1/2), one for each unit           [Lemke05 (6)]
//! ```
//!
//! A product of two columns is an entry of the scaled Delassus matrix. How this differs from the source: (1) any number
//! of bodies and any mass block, so that links of a tree are one wide body; (2) compliance of a tangent is a velocity of
//! its own behind those of the bodies.

use crate::index::BlockId;
use crate::linalg::cholesky::{cholesky, cholesky_forward};
use crate::math::{DVec3, dot, dot_6};
use crate::problem::Primal;
use crate::problem::jacobian::point_row;
use crate::problem::mass::MassBlock;

/// Rows of one unit on one body: `rows × width` numbers from `start`, at `offset` of the velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BodyRows {
    pub(crate) offset: usize,
    pub(crate) width: usize,
    pub(crate) start: usize,
}

/// One row, or the three rows (n, t₁, t₂) of a contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    /// First part, and their number.
    first_part: usize,
    n_parts: usize,
    pub(crate) rows: usize,
    /// First value of the first part.
    start: usize,
}

/// All columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub(crate) dofs: usize,
    pub(crate) units: Vec<Unit>,
    parts: Vec<BodyRows>,
    pub(crate) values: Vec<f64>,
    /// True if every unit acts on one and the same free body and on nothing else.
    pub(crate) single: bool,
}

impl Columns {
    /// No columns, the arrays kept.
    fn clear(&mut self) {
        self.dofs = 0;
        self.units.clear();
        self.parts.clear();
        self.values.clear();
    }

    /// Room for the rows of a unit on one body, zero so far.
    fn open(&mut self, offset: usize, width: usize, rows: usize) -> usize {
        let start = self.values.len();
        self.values.resize(start + rows * width, 0.0);
        self.parts.push(BodyRows {
            offset,
            width,
            start,
        });
        start
    }

    /// A contact's rows on one body, times a scale; rows that it does not have are zero.
    #[inline]
    fn put(&mut self, offset: usize, width: usize, rows: &[f64], scale: f64) {
        let start = self.values.len();
        match rows.as_array::<18>() {
            // Of a length the compiler knows.
            Some(rows) => self.values.extend_from_slice(&rows.map(|x| scale * x)),
            None => {
                self.values.extend(rows.iter().map(|x| scale * x));
                self.values.resize(start + 3 * width, 0.0);
            }
        }
        self.parts.push(BodyRows {
            offset,
            width,
            start,
        });
    }

    /// A unit of the parts from `first` on.
    fn close(&mut self, first: usize, rows: usize) -> usize {
        let start = self.parts.get(first).map_or(0, |part| part.start);
        self.units.push(Unit {
            first_part: first,
            n_parts: self.parts.len() - first,
            rows,
            start,
        });
        self.units.len() - 1
    }

    pub(crate) fn parts(&self, unit: usize) -> &[BodyRows] {
        let unit = &self.units[unit];
        &self.parts[unit.first_part..unit.first_part + unit.n_parts]
    }

    /// Rows of a unit of a single body.
    #[inline]
    pub(crate) fn six(&self, unit: usize) -> &[[f64; 6]] {
        let Unit { rows, start, .. } = self.units[unit];
        let values = &self.values[start..];
        // Lengths the compiler knows.
        match (rows, values.first_chunk::<18>(), values.first_chunk::<6>()) {
            (3, Some(three), _) => three.as_chunks::<6>().0,
            (1, _, Some(one)) => one.as_chunks::<6>().0,
            _ => &[],
        }
    }

    /// Product of the first row of a unit with v.
    #[inline]
    pub(crate) fn dot(&self, unit: usize, v: &[f64]) -> f64 {
        if self.single
            && let (Some(v), Some(row)) = (v.as_array::<6>(), self.six(unit).first())
        {
            return dot_6(row, v);
        }
        let mut sum = 0.0;
        for part in self.parts(unit) {
            let row = &self.values[part.start..part.start + part.width];
            sum += product(row, &v[part.offset..part.offset + part.width]);
        }
        sum
    }

    /// Products of all rows of a unit with v; zero for rows that it does not have.
    #[inline]
    pub(crate) fn dots(&self, unit: usize, v: &[f64]) -> [f64; 3] {
        if self.single
            && let (Some(v), [n, t1, t2]) = (v.as_array::<6>(), self.six(unit))
        {
            return [dot_6(n, v), dot_6(t1, v), dot_6(t2, v)];
        }
        let mut sums = [0.0; 3];
        let rows = self.units[unit].rows;
        for part in self.parts(unit) {
            let v = &v[part.offset..part.offset + part.width];
            let values = &self.values[part.start..part.start + rows * part.width];
            for (sum, row) in sums.iter_mut().zip(values.chunks_exact(part.width)) {
                *sum += product(row, v);
            }
        }
        sums
    }

    /// (Σ share_i row_i)ᵀ v.
    #[inline]
    pub(crate) fn along(&self, unit: usize, share: [f64; 3], v: &[f64]) -> f64 {
        let dots = self.dots(unit, v);
        share[0] * dots[0] + share[1] * dots[1] + share[2] * dots[2]
    }

    /// Σ share_i row_i on one body, behind what is in `out`.
    pub(crate) fn combine(
        &self,
        unit: usize,
        part: &BodyRows,
        share: [f64; 3],
        out: &mut Vec<f64>,
    ) {
        let rows = self.units[unit].rows;
        let values = &self.values[part.start..part.start + rows * part.width];
        if let (6, [n, t1, t2]) = (part.width, values.as_chunks::<6>().0) {
            let sum = |w: usize| 0.0 + share[0] * n[w] + share[1] * t1[w] + share[2] * t2[w];
            return out.extend_from_slice(&std::array::from_fn::<f64, 6, _>(sum));
        }
        for w in 0..part.width {
            let mut sum = 0.0;
            for (row, share) in values.chunks_exact(part.width).zip(share) {
                sum += share * row[w];
            }
            out.push(sum);
        }
    }

    /// v += rowsᵀ share.
    #[inline]
    pub(crate) fn add(&self, unit: usize, share: [f64; 3], v: &mut [f64]) {
        let rows = self.units[unit].rows;
        for part in self.parts(unit) {
            let v = &mut v[part.offset..part.offset + part.width];
            let values = &self.values[part.start..part.start + rows * part.width];
            match (v.as_mut_array::<6>(), values.as_chunks::<6>().0) {
                (Some(v), [n, t1, t2]) => {
                    for i in 0..6 {
                        v[i] += n[i] * share[0] + t1[i] * share[1] + t2[i] * share[2];
                    }
                }
                (Some(v), [n]) => {
                    for i in 0..6 {
                        v[i] += n[i] * share[0];
                    }
                }
                _ => {
                    let v = &mut v[..part.width];
                    for (row, share) in values.chunks_exact(part.width).zip(share) {
                        for (v, x) in v.iter_mut().zip(row) {
                            *v += x * share;
                        }
                    }
                }
            }
        }
    }
}

#[inline]
fn product(a: &[f64], b: &[f64]) -> f64 {
    match (a.as_array::<6>(), b.as_array::<6>()) {
        (Some(a), Some(b)) => dot_6(a, b),
        _ => dot(a, b),
    }
}

/// F = L⁻¹ with L Lᵀ = M for one mass block. Of a rigid body it is so small that its inverse is kept.
enum Half {
    Rigid(RigidHalf),
    Dense { n: usize, lower: Vec<f64> },
}

/// 1/√m, and the lower triangle of the inverse factor of the inertia, row by row.
struct RigidHalf {
    root: f64,
    inverse: [f64; 6],
}

impl RigidHalf {
    /// L⁻¹x.
    #[inline(always)]
    fn times(&self, [a, b, c, x, y, z]: [f64; 6]) -> [f64; 6] {
        let RigidHalf { root, inverse } = self;
        let [xx, yx, yy, zx, zy, zz] = inverse;
        let (y2, z2) = (yx * x + yy * y, zx * x + zy * y + zz * z);
        [root * a, root * b, root * c, xx * x, y2, z2]
    }
}

impl Half {
    fn of(mass: &MassBlock) -> Option<Half> {
        if let MassBlock::Rigid(body) = mass {
            let mut l = crate::problem::mass::row_major(&body.inertia());
            cholesky(&mut l, 3).ok()?;
            let (a, b, c) = (1.0 / l[0], 1.0 / l[4], 1.0 / l[8]);
            let ba = -l[3] * a * b;
            let inverse = [a, ba, b, -(l[6] * a + l[7] * ba) * c, -l[7] * b * c, c];
            let root = 1.0 / body.mass().sqrt();
            return Some(Half::Rigid(RigidHalf { root, inverse }));
        }
        let n = mass.dim();
        let mut lower = vec![0.0; n * n];
        let mut unit = vec![0.0; n];
        for (j, row) in lower.chunks_exact_mut(n).enumerate() {
            unit.fill(0.0);
            unit[j] = 1.0;
            mass.mul(&unit, row);
        }
        cholesky(&mut lower, n).ok()?;
        Some(Half::Dense { n, lower })
    }

    fn width(&self) -> usize {
        match self {
            Half::Rigid(_) => 6,
            Half::Dense { n, .. } => *n,
        }
    }

    /// x ← L⁻¹x for every row of a row-major matrix.
    fn apply(&self, rows: &mut [f64]) {
        match self {
            Half::Rigid(half) => {
                for row in rows.as_chunks_mut::<6>().0 {
                    *row = half.times(*row);
                }
            }
            Half::Dense { n, lower } => {
                for row in rows.chunks_exact_mut(*n) {
                    cholesky_forward(lower, *n, row);
                }
            }
        }
    }
}

/// A mass that blocks act on: its index, its factor, and its first velocity.
struct HeldMass {
    index: usize,
    half: Half,
    offset: usize,
}

/// A unit that has been added, and its scale a.
pub(super) struct NewUnit {
    pub(super) unit: usize,
    pub(super) scale: f64,
}

/// Collects columns while a problem is read.
pub(super) struct Gather {
    /// Masses touched, sorted.
    masses: Vec<HeldMass>,
    columns: Columns,
    /// The block read last: its rows times F, body after body, and where those of each body are.
    rows: Vec<f64>,
    bodies: Vec<BodyRows>,
}

impl Gather {
    /// Starts with the masses of the given blocks, in the arrays of earlier columns.
    pub(crate) fn new(primal: &Primal, blocks: &[BlockId], mut columns: Columns) -> Option<Gather> {
        let jacobian = primal.jacobian();
        let entries = blocks
            .iter()
            .flat_map(|id| jacobian.entry_range(id.index()));
        let mut touched: Vec<usize> = Vec::with_capacity(2 * blocks.len());
        touched.extend(entries.map(|e| jacobian.entry_mass(e)));
        touched.sort_unstable();
        touched.dedup();
        let mut masses = Vec::with_capacity(touched.len());
        columns.clear();
        for b in touched {
            let half = Half::of(&primal.mass()[b])?;
            let (width, offset) = (half.width(), columns.dofs);
            masses.push(HeldMass {
                index: b,
                half,
                offset,
            });
            columns.dofs += width;
        }
        Some(Gather {
            masses,
            columns,
            rows: Vec::new(),
            bodies: Vec::new(),
        })
    }

    /// Reads the rows of a block and multiplies them by F.
    pub(crate) fn read(&mut self, primal: &Primal, id: BlockId, n_rows: usize) {
        let jacobian = primal.jacobian();
        self.bodies.clear();
        self.rows.clear();
        for e in jacobian.entry_range(id.index()) {
            let mass = jacobian.entry_mass(e);
            let at = self.masses.binary_search_by_key(&mass, |held| held.index);
            let at = at.expect("the masses held are those of these blocks");
            let HeldMass { half, offset, .. } = &self.masses[at];
            let (start, width) = (self.rows.len(), half.width());
            match (half, jacobian.point_entry(e)) {
                (Half::Rigid(half), Some((directions, arm, side))) => {
                    let row =
                        |d: [f64; 3]| half.times(point_row(DVec3::from_array(d), arm, side.sign()));
                    match directions.as_array::<3>() {
                        // The three of a contact together.
                        Some(three) if n_rows == 3 => {
                            self.rows.extend_from_slice(three.map(row).as_flattened());
                        }
                        _ => {
                            let rows = directions.iter().take(n_rows);
                            self.rows.extend(rows.flat_map(|d| row(*d)));
                        }
                    }
                }
                _ => {
                    primal.write_rows(e, &mut self.rows);
                    self.rows.truncate(start + n_rows * width);
                    half.apply(&mut self.rows[start..]);
                }
            }
            self.bodies.push(BodyRows {
                offset: *offset,
                width,
                start,
            });
        }
    }

    /// |row i|² of the block read last.
    fn square(&self, i: usize) -> f64 {
        let square = |part: &BodyRows| {
            let at = part.start + i * part.width;
            let row = &self.rows[at..at + part.width];
            product(row, row)
        };
        self.bodies.iter().map(square).sum()
    }

    /// Adds row `i` of the block just read as a unit of one row, or as the first tangent of a unit of three.
    /// The compliance of a tangent becomes a velocity of its own. Returns the unit and its scale.
    pub(crate) fn add_row(&mut self, i: usize, sign: f64, sigma: f64, tangent: bool) -> NewUnit {
        let scale = scale_of(self.square(i) + sigma);
        let first = self.columns.parts.len();
        let shown = if tangent { 3 } else { 1 };
        for body in &self.bodies {
            let width = body.width;
            let at = self.columns.open(body.offset, width, shown) + usize::from(tangent) * width;
            let row = &self.rows[body.start + i * width..body.start + (i + 1) * width];
            for (value, x) in self.columns.values[at..at + width].iter_mut().zip(row) {
                *value = sign * scale * x;
            }
        }
        if tangent && 0.0 < sigma {
            let start = self.columns.open(self.columns.dofs, 1, shown);
            self.columns.values[start + usize::from(tangent)] = scale * sigma.sqrt();
            self.columns.dofs += 1;
        }
        let unit = self.columns.close(first, shown);
        NewUnit { unit, scale }
    }

    /// Adds the block just read as one contact; tangents that are compliant get velocities of their own.
    pub(crate) fn add_contact(&mut self, sigma: &[f64]) -> NewUnit {
        let count = sigma.len();
        // A normal that nothing feels borrows the scale of its tangents.
        let normal = self.square(0) + sigma[0];
        let scale = scale_of(if 0.0 < normal {
            normal
        } else {
            (1..count).map(|i| self.square(i) + sigma[i]).sum()
        });
        let first = self.columns.parts.len();
        for body in &self.bodies {
            let rows = &self.rows[body.start..body.start + count * body.width];
            self.columns.put(body.offset, body.width, rows, scale);
        }
        if sigma[1..].iter().any(|&s| 0.0 < s) {
            let start = self.columns.open(self.columns.dofs, 2, 3);
            for (t, s) in sigma[1..].iter().enumerate() {
                self.columns.values[start + 2 * (t + 1) + t] = scale * s.sqrt();
            }
            self.columns.dofs += 2;
        }
        let unit = self.columns.close(first, 3);
        NewUnit { unit, scale }
    }

    pub(crate) fn finish(mut self) -> Columns {
        let body = |part: &BodyRows| part.offset == 0 && part.width == 6;
        let one = self.columns.parts.len() == self.columns.units.len();
        self.columns.single = one && self.columns.dofs == 6 && self.columns.parts.iter().all(body);
        self.columns
    }
}

fn scale_of(square: f64) -> f64 {
    let scale = 1.0 / square.sqrt();
    if scale.is_finite() && 0.0 < scale {
        scale
    } else {
        1.0
    }
}
