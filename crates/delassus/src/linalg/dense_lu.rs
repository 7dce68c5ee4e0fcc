//! Dense LU with exchange of rows, P A = L U.
//!
//! Cost: 2n³/3 multiplications and additions; n² for each right-hand side.

/// A factored square matrix with its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct DenseLu {
    n: usize,
    values: Vec<f64>,
    pivots: Vec<usize>,
}

impl DenseLu {
    /// Room for an n × n matrix, all zero, row-major.
    pub(crate) fn clear(&mut self, n: usize) -> &mut [f64] {
        self.n = n;
        self.values.clear();
        self.values.resize(n * n, 0.0);
        &mut self.values
    }

    /// Factors what was written into the room; false where it is singular or no number.
    pub(crate) fn factor(&mut self) -> bool {
        pulp::Arch::new().dispatch(|| self.eliminate())
    }

    #[inline(always)]
    fn eliminate(&mut self) -> bool {
        let n = self.n;
        self.pivots.clear();
        for k in 0..n {
            let mut pivot = k;
            for i in k + 1..n {
                if self.values[pivot * n + k].abs() < self.values[i * n + k].abs() {
                    pivot = i;
                }
            }
            self.pivots.push(pivot);
            let value = self.values[pivot * n + k];
            if value == 0.0 || !value.is_finite() {
                return false;
            }
            if pivot != k {
                let (above, below) = self.values.split_at_mut(pivot * n);
                above[k * n..(k + 1) * n].swap_with_slice(&mut below[..n]);
            }
            // a_ij ← a_ij − (a_ik/a_kk) a_kj
            let (above, below) = self.values.split_at_mut((k + 1) * n);
            let upper = &above[k * n + k + 1..(k + 1) * n];
            for row in below.chunks_exact_mut(n) {
                let factor = row[k] / value;
                row[k] = factor;
                if factor != 0.0 {
                    row[k + 1..]
                        .iter_mut()
                        .zip(upper)
                        .for_each(|(a, u)| *a -= factor * u);
                }
            }
        }
        true
    }

    /// x ← A⁻¹x.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let n = self.n;
        for (k, &pivot) in self.pivots.iter().enumerate() {
            x.swap(k, pivot);
        }
        for i in 0..n {
            let row = &self.values[i * n..i * n + i];
            let sum: f64 = row.iter().zip(&*x).map(|(l, x)| l * x).sum();
            x[i] -= sum;
        }
        for i in (0..n).rev() {
            let row = &self.values[i * n + i + 1..(i + 1) * n];
            let sum: f64 = row.iter().zip(&x[i + 1..]).map(|(u, x)| u * x).sum();
            x[i] = (x[i] - sum) / self.values[i * n + i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn solutions_satisfy_the_matrix_and_singular_ones_are_said() {
        let n = 17;
        let mut random = Random::new(3);
        let a: Vec<f64> = (0..n * n).map(|_| random.range(-1.0, 1.0)).collect();
        let b: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
        let mut lu = DenseLu::default();
        lu.clear(n).copy_from_slice(&a);
        assert!(lu.factor());
        let mut x = b.clone();
        lu.solve(&mut x);
        for (row, b) in a.chunks_exact(n).zip(&b) {
            let sum: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            assert!((sum - b).abs() < 1e-12);
        }
        lu.clear(3);
        assert!(!lu.factor());
    }
}
