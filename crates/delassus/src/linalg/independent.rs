//! Rows taken one by one as long as they are independent: a Cholesky factor that grows and refuses small pivots.
//!
//! ```text
//! S = (K  s)      l = L⁻¹s for K = L Lᵀ,   pivot = σ − lᵀl: what is left of the new row when the others are taken out
//!     (sᵀ σ)
//! ```
//!
//! Earlier rows win over later ones, whatever the size of their pivots. Prefer [`super::ranked`] where the matrix is at
//! hand and pivots may be chosen. Cost of a row: k² multiplications for k rows taken.

use crate::math::dot;

/// The factor of the rows taken so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndependentRows {
    rows: Vec<Vec<f64>>,
}

impl IndependentRows {
    /// Takes a row, given by its products with the rows taken before and with itself, if more than `least` is left of
    /// it; false where it depends on those.
    pub(crate) fn take(
        &mut self,
        products: impl Iterator<Item = f64>,
        own: f64,
        least: f64,
    ) -> bool {
        let mut row: Vec<f64> = Vec::with_capacity(self.rows.len() + 1);
        for (product, other) in products.zip(&self.rows) {
            let done = dot(&row, &other[..row.len()]);
            row.push((product - done) / other[row.len()]);
        }
        let rest = own - dot(&row, &row);
        let independent = least < rest;
        if independent {
            row.push(rest.sqrt());
            self.rows.push(row);
        }
        independent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_depend_on_rows_before_them_are_refused() {
        let rows = [
            [1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0],
            [3.0, 5.0, 0.0],
            [0.0, 0.0, 0.0],
            [0.0, 1.0, 2.0],
            [7.0, 8.0, 9.0],
        ];
        let (mut factor, mut taken) = (IndependentRows::default(), Vec::new());
        for (i, row) in rows.iter().enumerate() {
            let products = taken.iter().map(|&k: &usize| dot(&rows[k], row));
            if factor.take(
                products.collect::<Vec<_>>().into_iter(),
                dot(row, row),
                1e-12,
            ) {
                taken.push(i);
            }
        }
        assert_eq!(taken, [0, 1, 4]);
    }
}
