//! Contacts and ball joints at a point, recognised in their rows: G = [dᵢᵀ, (r × dᵢ)ᵀ] on one body and the negative on the other.
//!
//! A problem holds G alone. For orthonormal dᵢ the arm comes back from Σ dᵢ × (r × dᵢ) = 2r, and whether it
//! explains the rows is checked: fifteen numbers then say what thirty-six did, and a sweep that waits for memory
//! takes that much less.

use crate::problem::Primal;
use crate::problem::mass::MassBlock;

/// Share of the largest number of a row block by which a rebuilt one may differ: a few roundings.
pub(super) const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Where a contact acts and on what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// n, t₁, t₂.
    pub(crate) frame: [[f64; 3]; 3],
    /// From each body's centre of mass to the contact; zero for ground.
    pub(crate) arms: [[f64; 3]; 2],
    /// The bodies; `None` is ground.
    pub(crate) masses: [Option<usize>; 2],
}

impl Point {
    /// The contact that the three rows of block k describe, if it acts on one or two rigid bodies at a point.
    pub(crate) fn of(primal: &Primal, k: usize) -> Option<Point> {
        let entries = primal.jacobian().entry_range(k);
        if entries.is_empty() || 2 < entries.len() {
            return None;
        }
        let mut point = Point {
            frame: [[0.0; 3]; 3],
            arms: [[0.0; 3]; 2],
            masses: [None; 2],
        };
        for (side, e) in entries.enumerate() {
            let b = primal.jacobian().entry_mass(e);
            let ([n, t1, t2], []) = primal.jacobian().entry_values(e).as_chunks::<6>() else {
                return None;
            };
            if !matches!(primal.mass()[b], MassBlock::Rigid(_)) {
                return None;
            }
            let rows = [n, t1, t2];
            if side == 0 {
                point.frame = rows.map(|&[x, y, z, ..]| [x, y, z]);
            } else if !opposite(&point.frame, rows) {
                return None;
            }
            // Both signs of the rows have the same arm.
            point.arms[side] = arm(rows)?;
            point.masses[side] = Some(b);
        }
        Some(point)
    }
}

/// Whether the directions of the rows are those of the frame turned round.
#[inline]
fn opposite(frame: &[[f64; 3]; 3], rows: [&[f64; 6]; 3]) -> bool {
    let mut alike = true;
    for (d, row) in frame.iter().zip(rows) {
        // Without branches: nearly all are alike.
        alike &= (d[0] == -row[0]) & (d[1] == -row[1]) & (d[2] == -row[2]);
    }
    alike
}

/// r with r × dᵢ equal to the rotational part of every row.
#[inline]
fn arm(rows: [&[f64; 6]; 3]) -> Option<[f64; 3]> {
    let mut twice = [0.0; 3];
    let mut largest: f64 = 0.0;
    for &[x, y, z, a, b, c] in rows {
        twice[0] += y * c - z * b;
        twice[1] += z * a - x * c;
        twice[2] += x * b - y * a;
        largest = largest.max(a.abs()).max(b.abs()).max(c.abs());
    }
    let r = twice.map(|x| 0.5 * x);
    let limit = ROUNDING * largest;
    let mut explained = true;
    for &[x, y, z, a, b, c] in rows {
        explained &= ((r[1] * z - r[2] * y - a).abs() <= limit)
            & ((r[2] * x - r[0] * z - b).abs() <= limit)
            & ((r[0] * y - r[1] * x - c).abs() <= limit);
    }
    explained.then_some(r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{DMat3, Random, tangents};
    use crate::problem::jacobian::point_rows;
    use crate::{Law, Problem};

    /// A contact between two bodies whose second rows are changed by `spoil`.
    fn recognised(seed: u64, spoil: impl Fn(&mut [f64; 18])) -> Option<Point> {
        let mut random = Random::new(seed);
        let mut builder = Problem::builder();
        let mass = MassBlock::rigid(1.0, DMat3::IDENTITY).unwrap();
        let a = builder.add_mass(mass.clone(), &[0.0; 6]).unwrap();
        let b = builder.add_mass(mass, &[0.0; 6]).unwrap();
        let n = random.vector().normalize();
        let (t1, t2) = tangents(n);
        let first = point_rows([n, t1, t2], random.vector(), 1.0);
        let mut second = point_rows([n, t1, t2], random.vector(), -1.0);
        spoil(&mut second);
        let law = Law::FrictionCone { mu: 0.5 };
        let rows: [(_, &[f64]); 2] = [(a, &first), (b, &second)];
        builder.add_block(law, &rows, &[0.0; 3], &[0.0; 3]).unwrap();
        let problem = builder.build().unwrap();
        let crate::problem::Form::Primal(primal) = problem.form() else {
            return None;
        };
        Point::of(primal, 0)
    }

    #[test]
    fn points_are_recognised_and_anything_else_is_not() {
        for seed in 0..1000 {
            assert!(recognised(seed, |_| {}).is_some(), "{seed}");
            for i in 0..18 {
                assert!(
                    recognised(seed, |rows| rows[i] += 1e-12).is_none(),
                    "{seed} {i}"
                );
            }
        }
    }
}
