//! Rows and columns of a square matrix brought to the size of one: R A C with R and C diagonal.
//!
//! Each pass divides rows and columns by the square roots of their largest entries, which halves the exponents that are
//! left. R and C are powers of two, so that scaling rounds nothing. Cost: n² multiplications for each of a few passes.

/// Most passes; each halves the exponents that are left.
const PASSES: usize = 12;
/// Largest entries of rows and columns within these bounds need no further pass.
const EVEN: std::ops::RangeInclusive<f64> = 0.25..=4.0;

/// R and C.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scales {
    pub(crate) row: Vec<f64>,
    pub(crate) col: Vec<f64>,
}

/// Scales of the matrix whose columns stand one after the other.
pub(crate) fn equilibrate(columns: &[f64], n: usize) -> Scales {
    let (mut row, mut col) = (vec![1.0_f64; n], vec![1.0_f64; n]);
    for _ in 0..PASSES {
        let (mut row_max, mut col_max) = (vec![0.0_f64; n], vec![0.0_f64; n]);
        for (j, column) in columns.chunks_exact(n.max(1)).enumerate() {
            for (i, entry) in column.iter().enumerate() {
                let size = entry.abs() * row[i] * col[j];
                row_max[i] = row_max[i].max(size);
                col_max[j] = col_max[j].max(size);
            }
        }
        let mut sizes = row_max.iter().chain(&col_max).filter(|size| 0.0 < **size);
        if sizes.all(|size| EVEN.contains(size)) {
            break;
        }
        for i in 0..n {
            row[i] *= step(row_max[i]);
            col[i] *= step(col_max[i]);
        }
    }
    let all = row.iter_mut().chain(&mut col);
    all.for_each(|x| *x = power_of_two(*x));
    Scales { row, col }
}

/// Half the way, in powers, from `size` to one.
fn step(size: f64) -> f64 {
    if 0.0 < size && size.is_finite() {
        size.sqrt().recip()
    } else {
        1.0
    }
}

fn power_of_two(x: f64) -> f64 {
    if 0.0 < x && x.is_finite() {
        x.log2().round().clamp(-500.0, 500.0).exp2()
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn rows_and_columns_of_any_size_become_even_by_powers_of_two() {
        let mut random = Random::new(1);
        let n = 7;
        let mut sizes = || -> Vec<f64> { (0..n).map(|_| random.range(-9.0, 9.0).exp2()).collect() };
        let (rows, cols) = (sizes(), sizes());
        let mut columns: Vec<f64> = (0..n * n)
            .map(|k| rows[k % n] * cols[k / n] * random.range(0.5, 1.0))
            .collect();
        // A row of zeros has no size.
        (0..n).for_each(|j| columns[j * n + 3] = 0.0);
        let Scales { row, col } = equilibrate(&columns, n);
        assert!(row.iter().chain(&col).all(|x| x.log2().fract() == 0.0));
        for j in 0..n {
            let largest = (0..n).fold(0.0_f64, |m, i| m.max(columns[j * n + i] * row[i] * col[j]));
            assert!((0.1..10.0).contains(&largest), "{largest}");
        }
        assert!(equilibrate(&[], 0).row.is_empty());
    }
}
