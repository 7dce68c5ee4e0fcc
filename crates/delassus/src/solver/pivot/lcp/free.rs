//! Free rows that depend on each other: their block has no inverse, so that they cannot be basic from the start.
//!
//! [`Unfolded`] writes them as pairs of inequalities, and free unknowns as differences. Which equality is written beside
//! which unknown is not given by the problem: equalities may be combined with each other at will, and the path of pivots
//! depends on how they are. [`opposed`] combines them so that a circuit becomes semidefinite. The source has no free rows.

use super::Lcp;
use crate::linalg::gauss_jordan::{Reduced, reduce};
use crate::math::dot;

/// A problem without free rows: each is written as a pair of inequalities, its unknown as a difference.
pub(super) struct Unfolded {
    pub(super) lcp: Lcp,
    /// For each row the row and the sign it stands for.
    source: Vec<(usize, f64)>,
    /// Rows of the problem itself.
    n: usize,
}

impl Unfolded {
    pub(super) fn of(lcp: &Lcp) -> Unfolded {
        let mut source: Vec<(usize, f64)> = (0..lcp.len()).map(|i| (i, 1.0)).collect();
        source.extend((0..lcp.len()).filter(|&i| lcp.free()[i]).map(|i| (i, -1.0)));
        let mut columns = Vec::with_capacity(source.len() * source.len());
        for &(j, column_sign) in &source {
            let column = lcp.column(j);
            let rows = source.iter();
            columns.extend(rows.map(|&(i, sign)| sign * column_sign * column[i]));
        }
        let q = source.iter().map(|&(i, sign)| sign * lcp.q()[i]).collect();
        let free = vec![false; source.len()];
        Unfolded {
            lcp: Lcp::from_columns(columns, q, free),
            source,
            n: lcp.len(),
        }
    }

    /// What belongs to rows of this problem as what belongs to rows of the problem itself.
    pub(super) fn fold(&self, x: &[f64]) -> Vec<f64> {
        let mut folded = vec![0.0; self.n];
        for (x, &(i, sign)) in x.iter().zip(&self.source) {
            folded[i] += sign * x;
        }
        folded
    }
}

/// A form of the problem with fewer equalities, and the way back to all unknowns.
pub(super) struct Opposed {
    pub(super) lcp: Lcp,
    /// Which unknowns are left.
    kept: Vec<usize>,
    /// The others.
    gone: Vec<Gone>,
}

/// z_j = constant + coefficients · z of what is left.
struct Gone {
    j: usize,
    constant: f64,
    coefficients: Vec<f64>,
}

impl Opposed {
    /// All unknowns from those that are left.
    pub(super) fn restore(&self, kept: &[f64]) -> Vec<f64> {
        let mut z = vec![0.0; self.kept.len() + self.gone.len()];
        for (&j, value) in self.kept.iter().zip(kept) {
            z[j] = *value;
        }
        for gone in &self.gone {
            z[gone.j] = gone.constant + dot(&gone.coefficients, kept);
        }
        z
    }
}

/// The problem with its equalities combined so that they oppose the free unknowns: T M_EN = −M_NEᵀ for pairs N and
/// free rows E. Currents and voltages of a circuit become a semidefinite problem in this way, whatever the order and
/// sign in which its equations were written. Equalities without pairs are used up for free unknowns before. The
/// problem must be in its own units: rows and columns scaled apart would not oppose each other. None where no
/// regular T does it.
pub(super) fn opposed(lcp: &Lcp) -> Option<Opposed> {
    let (free, pairs): (Vec<usize>, Vec<usize>) = (0..lcp.len()).partition(|&i| lcp.free()[i]);
    // P M_EN has unit columns at the pivots, and its other rows vanish: equalities without pairs.
    let block = |i: usize, j: usize| lcp.column(pairs[j])[free[i]];
    let Reduced { p, pivots } = reduce(&matrix(free.len(), pairs.len(), block));
    let with_pairs = |row: usize| pivots.iter().any(|pivot| pivot.row == row);
    let combined = combine(lcp, &free, &p);
    let lone: Vec<usize> = (0..free.len()).filter(|&row| !with_pairs(row)).collect();
    let fewer = substitute(&combined, &free, &lone);
    let lcp = oppose(&fewer.lcp)?;
    Some(Opposed { lcp, ..fewer })
}

/// The free rows become T times the free rows.
fn combine(lcp: &Lcp, free: &[usize], t: &[Vec<f64>]) -> Lcp {
    let combined = |values: &mut [f64]| {
        let old: Vec<f64> = free.iter().map(|&i| values[i]).collect();
        for (&i, t) in free.iter().zip(t) {
            values[i] = dot(t, &old);
        }
    };
    let mut columns = lcp.columns().to_vec();
    columns
        .chunks_exact_mut(lcp.len().max(1))
        .for_each(combined);
    let mut q = lcp.q().to_vec();
    combined(&mut q);
    Lcp::from_columns(columns, q, lcp.free().to_vec())
}

/// Free unknowns that the `lone` of the free rows determine are put into the other rows.
fn substitute(lcp: &Lcp, free: &[usize], lone: &[usize]) -> Opposed {
    let block = |i: usize, j: usize| lcp.column(free[j])[free[lone[i]]];
    let Reduced { p, pivots } = reduce(&matrix(lone.len(), free.len(), block));
    let used: Vec<usize> = pivots.iter().map(|pivot| free[lone[pivot.row]]).collect();
    let known: Vec<usize> = pivots.iter().map(|pivot| free[pivot.column]).collect();
    let left =
        |taken: &[usize]| -> Vec<usize> { (0..lcp.len()).filter(|i| !taken.contains(i)).collect() };
    // Rows and unknowns that are left; the free among them are as many, and stand beside each other in order.
    let (rows, kept) = (left(&used), left(&known));
    let solved = |i: usize, values: &[f64]| -> f64 {
        let sum = p[i].iter().zip(lone).map(|(p, &row)| p * values[free[row]]);
        -sum.sum::<f64>()
    };
    let pairs_first = |order: &[usize]| -> Vec<usize> {
        let (free, pairs): (Vec<usize>, Vec<usize>) = order.iter().partition(|&&i| lcp.free()[i]);
        pairs.into_iter().chain(free).collect()
    };
    let (rows, kept) = (pairs_first(&rows), pairs_first(&kept));
    let gone: Vec<Gone> = pivots
        .iter()
        .map(|pivot| {
            let (i, j) = (pivot.row, pivot.column);
            let coefficient = |&k: &usize| match lcp.free()[k] {
                true => solved(i, lcp.column(k)),
                false => 0.0,
            };
            Gone {
                j: free[j],
                constant: solved(i, lcp.q()),
                coefficients: kept.iter().map(coefficient).collect(),
            }
        })
        .collect();
    let mut columns = Vec::with_capacity(rows.len() * rows.len());
    for (at, &k) in kept.iter().enumerate() {
        columns.extend(rows.iter().map(|&i| {
            let through = gone.iter().map(|g| lcp.column(g.j)[i] * g.coefficients[at]);
            lcp.column(k)[i] + through.sum::<f64>()
        }));
    }
    let constant = |&i: &usize| {
        let through = gone.iter().map(|g| lcp.column(g.j)[i] * g.constant);
        lcp.q()[i] + through.sum::<f64>()
    };
    let q = rows.iter().map(constant).collect();
    let is_free = kept.iter().map(|&k| lcp.free()[k]).collect();
    Opposed {
        lcp: Lcp::from_columns(columns, q, is_free),
        kept,
        gone,
    }
}

/// T M_EN = −M_NEᵀ at as many columns as M_EN has rank, with unit columns for what those do not span.
fn oppose(lcp: &Lcp) -> Option<Lcp> {
    let (free, pairs): (Vec<usize>, Vec<usize>) = (0..lcp.len()).partition(|&i| lcp.free()[i]);
    let block = |i: usize, j: usize| lcp.column(pairs[j])[free[i]];
    let Reduced { p, pivots } = reduce(&matrix(free.len(), pairs.len(), block));
    let target = |i: usize, k: usize| -lcp.column(free[i])[pairs[pivots[k].column]];
    let wanted = matrix(free.len(), pivots.len(), target);
    let spanned = reduce(&wanted).pivots;
    if spanned.len() < pivots.len() {
        return None;
    }
    // T = Σ_rows x pᵀ, where x is a column of −M_NEᵀ for a pivot's row and a missing unit for any other.
    let mut missing = (0..free.len()).filter(|&i| spanned.iter().all(|pivot| pivot.row != i));
    let mut t = vec![vec![0.0; free.len()]; free.len()];
    for (row, p) in p.iter().enumerate() {
        let column = pivots.iter().position(|pivot| pivot.row == row);
        let unit = match column {
            Some(_) => None,
            None => Some(missing.next()?),
        };
        for (i, t) in t.iter_mut().enumerate() {
            let x = column.map_or(f64::from(unit == Some(i)), |k| wanted[i][k]);
            t.iter_mut().zip(p).for_each(|(t, p)| *t += x * p);
        }
    }
    let lcp = combine(lcp, &free, &t);
    let finite = lcp.columns().iter().chain(lcp.q()).all(|x| x.is_finite());
    finite.then_some(lcp)
}

fn matrix(rows: usize, cols: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
    (0..rows)
        .map(|i| (0..cols).map(|j| entry(i, j)).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a problem with the first `free` rows free.
    fn mixed(rows: &[&[f64]], q: &[f64], free: usize) -> Lcp {
        let mut lcp = Lcp::new(&rows.concat(), q.to_vec()).unwrap();
        (0..free).for_each(|i| lcp.set_free(i));
        lcp
    }

    #[test]
    fn equalities_in_any_order_and_sign_are_set_against_their_unknowns() {
        // Two free unknowns, two pairs: M_EN = [[0, 2], [−4, 0]], M_NE = [[1, 0], [0, 1]].
        let lcp = mixed(
            &[
                &[0.0, 6.0, 0.0, 2.0],
                &[8.0, 0.0, -4.0, 0.0],
                &[1.0, 0.0, 0.0, 0.0],
                &[0.0, 1.0, 0.0, 0.0],
            ],
            &[2.0, 4.0, 0.0, 0.0],
            2,
        );
        let found = opposed(&lcp).unwrap();
        // Pairs first: unknowns 2, 3, then 0, 1.
        assert_eq!(found.kept, [2, 3, 0, 1]);
        assert_eq!(found.lcp.column(0), [0.0, 0.0, -1.0, 0.0]);
        assert_eq!(found.lcp.column(1), [0.0, 0.0, 0.0, -1.0]);
        assert_eq!(found.lcp.column(2), [1.0, 0.0, 2.0, 0.0]);
        assert_eq!(found.lcp.column(3), [0.0, 1.0, 0.0, -3.0]);
        assert_eq!(found.lcp.q(), [0.0, 0.0, 1.0, -1.0]);
        assert_eq!(found.restore(&[1.0, 2.0, 3.0, 4.0]), [3.0, 4.0, 1.0, 2.0]);
    }

    #[test]
    fn equalities_without_pairs_are_used_up_and_a_lost_unknown_is_refused() {
        // 5 z₀ + z₁ + 1 = 0 has no pair in it; what is left is 2 z₂ + 2 = 0 beside z₁, with w₂ = 3 z₀ + z₁.
        let lcp = mixed(
            &[&[5.0, 1.0, 0.0], &[0.0, 0.0, 2.0], &[3.0, 1.0, 0.0]],
            &[1.0, 2.0, 0.0],
            2,
        );
        let found = opposed(&lcp).unwrap();
        assert_eq!(found.kept, [2, 1]);
        assert!((found.restore(&[7.0, 4.0])[0] + 1.0).abs() < 1e-15);
        // w₂ = 3(−1/5 − z₁/5) + z₁ = −3/5 + 2/5 z₁, opposed by −2/5 z₂ − 2/5 = 0.
        let near = |a: &[f64], b: [f64; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-15);
        assert!(near(found.lcp.column(0), [0.0, -0.4]));
        assert!(near(found.lcp.column(1), [0.4, 0.0]));
        assert!(near(found.lcp.q(), [-0.6, -0.4]));
        // The pair answers to no unknown that could carry its equality.
        let lcp = mixed(
            &[&[1.0, 0.0, 0.0], &[0.0, 0.0, 2.0], &[0.0, 0.0, 0.0]],
            &[0.0; 3],
            2,
        );
        assert!(opposed(&lcp).is_none());
        assert!(opposed(&Lcp::default()).is_some());
    }
}
