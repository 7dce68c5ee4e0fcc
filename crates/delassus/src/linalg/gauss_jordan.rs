//! Gauss-Jordan elimination with complete pivoting: which rows and columns of a small matrix are independent, and the
//! combinations of rows that show it.
//!
//! ```text
//! P A has unit columns at the pivots; rows of P A without a pivot vanish but for rounding
//! ```
//!
//! Cost: r² c multiplications for r rows and c columns. For a few equations, where the combinations themselves are asked.

/// Pivots below this much of the largest entry are taken for rounding.
const RANK: f64 = 1e-10;

/// Where a pivot stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PivotAt {
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// What elimination leaves.
pub(crate) struct Reduced {
    /// P by rows.
    pub(crate) p: Vec<Vec<f64>>,
    /// As many as A has rank.
    pub(crate) pivots: Vec<PivotAt>,
}

/// Reduces A, given by rows.
pub(crate) fn reduce(a: &[Vec<f64>]) -> Reduced {
    let rows = a.len();
    let cols = a.first().map_or(0, Vec::len);
    let mut a = a.to_vec();
    for (i, row) in a.iter_mut().enumerate() {
        row.extend((0..rows).map(|k| f64::from(k == i)));
    }
    let mut pivots: Vec<PivotAt> = Vec::new();
    let mut largest = 0.0;
    while pivots.len() < rows.min(cols) {
        let (mut best, mut at) = (0.0, (0, 0));
        for (i, row) in a.iter().enumerate() {
            if pivots.iter().any(|pivot| pivot.row == i) {
                continue;
            }
            for (j, entry) in row[..cols].iter().enumerate() {
                if best < entry.abs() {
                    (best, at) = (entry.abs(), (i, j));
                }
            }
        }
        if pivots.is_empty() {
            largest = best;
        }
        if best <= RANK * largest {
            break;
        }
        let pivot = a[at.0][at.1];
        a[at.0].iter_mut().for_each(|x| *x /= pivot);
        let row = a[at.0].clone();
        for (i, other) in a.iter_mut().enumerate() {
            let factor = other[at.1];
            if i != at.0 && factor != 0.0 {
                other
                    .iter_mut()
                    .zip(&row)
                    .for_each(|(x, y)| *x -= factor * y);
                other[at.1] = 0.0;
            }
        }
        pivots.push(PivotAt {
            row: at.0,
            column: at.1,
        });
    }
    let p = a.into_iter().map(|row| row[cols..].to_vec()).collect();
    Reduced { p, pivots }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, dot};

    #[test]
    fn combinations_of_rows_have_unit_columns_at_the_pivots_and_vanish_elsewhere() {
        let mut random = Random::new(2);
        let mut row = || -> Vec<f64> { (0..6).map(|_| random.range(-1.0, 1.0)).collect() };
        let (first, second, third) = (row(), row(), row());
        let sum: Vec<f64> = first
            .iter()
            .zip(&second)
            .map(|(a, b)| 2.0 * a - b)
            .collect();
        let a = [first, second, sum, vec![0.0; 6], third];
        let Reduced { p, pivots } = reduce(&a);
        assert_eq!(pivots.len(), 3);
        for (i, p) in p.iter().enumerate() {
            let combined: Vec<f64> = (0..6)
                .map(|j| dot(p, &a.iter().map(|row| row[j]).collect::<Vec<_>>()))
                .collect();
            for pivot in &pivots {
                let wanted = f64::from(u8::from(pivot.row == i));
                assert!((combined[pivot.column] - wanted).abs() < 1e-12);
            }
            let own = pivots.iter().any(|pivot| pivot.row == i);
            assert!(own || combined.iter().all(|x| x.abs() < 1e-12));
        }
    }
}
