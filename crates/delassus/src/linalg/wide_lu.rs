//! LU factors with partial pivoting of a dense matrix of some dozens of unknowns, four columns side by side.
//!
//! Rows are filled up with zeros to a multiple of four numbers, so that every loop over a row is one over whole lanes.
//! Each lane computes what a single number would: bits do not depend on the processor.

/// Numbers side by side.
pub(crate) const WIDTH: usize = 4;
type Four = [f64; WIDTH];

/// A square matrix, then its factors.
#[derive(Clone, Debug, Default)]
pub(crate) struct WideLu {
    n: usize,
    /// Fours of a row.
    fours: usize,
    a: Vec<Four>,
    /// The row that came to each place.
    order: Vec<u32>,
    /// 1/u_ii.
    inverse: Vec<f64>,
    x: Vec<Four>,
}

/// How many fours hold a row of n numbers.
pub(crate) fn fours(n: usize) -> usize {
    n.div_ceil(WIDTH)
}

impl WideLu {
    /// The unit matrix of n unknowns, with rows as long as `fours` says.
    pub(crate) fn reset(&mut self, n: usize) {
        (self.n, self.fours) = (n, fours(n));
        self.a.clear();
        self.a.resize(n * self.fours, [0.0; WIDTH]);
        self.order.clear();
        self.order.extend(0..n as u32);
        self.inverse.resize(n, 0.0);
        self.x.resize(self.fours, [0.0; WIDTH]);
        for i in 0..n {
            self.a[i * self.fours + i / WIDTH][i % WIDTH] = 1.0;
        }
    }

    /// A ← A + Gᵀ B for two lists of rows in fours.
    #[inline(always)]
    pub(crate) fn add_product(&mut self, g: &[Four], b: &[Four]) {
        let fours = self.fours;
        let (threes, rest) = g.split_at(g.len() / (3 * fours) * 3 * fours);
        let (b_threes, b_rest) = b.split_at(threes.len());
        // Three rows, the contact, go to a row of A together.
        let threes = threes.chunks_exact(3 * fours);
        for (g, b) in threes.zip(b_threes.chunks_exact(3 * fours)) {
            let (g, g2) = g.as_flattened().split_at(2 * WIDTH * fours);
            let (g0, g1) = g.split_at(WIDTH * fours);
            let (b, b2) = b.split_at(2 * fours);
            let (b0, b1) = b.split_at(fours);
            for (i, to) in self.a.chunks_exact_mut(fours).enumerate() {
                let (x, y, z) = (g0[i], g1[i], g2[i]);
                if x == 0.0 && y == 0.0 && z == 0.0 {
                    continue;
                }
                let rows = b0.iter().zip(b1).zip(b2);
                for (to, ((b0, b1), b2)) in to.iter_mut().zip(rows) {
                    let (mut sum, b0, b1, b2) = (*to, *b0, *b1, *b2);
                    for l in 0..WIDTH {
                        sum[l] += x * b0[l] + y * b1[l] + z * b2[l];
                    }
                    *to = sum;
                }
            }
        }
        for (g, b) in rest.chunks_exact(fours).zip(b_rest.chunks_exact(fours)) {
            for (to, factor) in self.a.chunks_exact_mut(fours).zip(g.as_flattened()) {
                if *factor == 0.0 {
                    continue;
                }
                add_scaled(to, b, *factor);
            }
        }
    }

    /// Factors in place; false where a pivot is zero or no number.
    pub(crate) fn factor(&mut self) -> bool {
        pulp::Arch::new().dispatch(Factor(self))
    }

    #[inline(always)]
    fn eliminate(&mut self) -> bool {
        let (n, fours) = (self.n, self.fours);
        for j in 0..n {
            let (at, lane) = (j / WIDTH, j % WIDTH);
            let (mut p, mut best) = (j, -1.0);
            for i in j..n {
                let x = self.a[i * fours + at][lane].abs();
                if best < x {
                    (p, best) = (i, x);
                }
            }
            if !(0.0 < best && best.is_finite()) {
                return false;
            }
            if p != j {
                let (above, below) = self.a.split_at_mut(p * fours);
                above[j * fours..(j + 1) * fours].swap_with_slice(&mut below[..fours]);
                self.order.swap(j, p);
            }
            let (above, below) = self.a.split_at_mut((j + 1) * fours);
            let pivot = &above[j * fours + at..];
            let inverse = 1.0 / pivot[0][lane];
            self.inverse[j] = inverse;
            for row in below.chunks_exact_mut(fours) {
                let row = &mut row[at..];
                let x = row[0][lane];
                if x == 0.0 {
                    continue;
                }
                // l_ij stands where a_ij was; what is left of it in the same four is kept from the product.
                let l = x * inverse;
                let before = row[0];
                add_scaled(row, pivot, -l);
                row[0][..lane].copy_from_slice(&before[..lane]);
                row[0][lane] = l;
            }
        }
        true
    }

    /// x ← A⁻¹x.
    pub(crate) fn solve(&mut self, x: &mut [f64]) {
        pulp::Arch::new().dispatch(Solve(self, x));
    }

    #[inline(always)]
    fn substitute(&mut self, b: &mut [f64]) {
        let (n, fours) = (self.n, self.fours);
        // L y = P b: what is not known yet is zero, so that whole fours can be summed.
        self.x.fill([0.0; WIDTH]);
        for i in 0..n {
            let row = &self.a[i * fours..i * fours + i.div_ceil(WIDTH)];
            let sum = dot(row, &self.x);
            self.x[i / WIDTH][i % WIDTH] = b[self.order[i] as usize] - sum;
        }
        b[..n].copy_from_slice(&self.x.as_flattened()[..n]);
        // U x = y
        self.x.fill([0.0; WIDTH]);
        for i in (0..n).rev() {
            let at = i / WIDTH;
            let row = &self.a[i * fours + at..(i + 1) * fours];
            let sum = dot(row, &self.x[at..]);
            self.x[at][i % WIDTH] = (b[i] - sum) * self.inverse[i];
        }
        b[..n].copy_from_slice(&self.x.as_flattened()[..n]);
    }
}

/// to ← to + factor · row. Fours are taken out of memory whole: the compiler cannot know that the lists are apart.
#[inline(always)]
pub(crate) fn add_scaled(to: &mut [Four], row: &[Four], factor: f64) {
    for (to, row) in to.iter_mut().zip(row) {
        let (mut sum, row) = (*to, *row);
        for l in 0..WIDTH {
            sum[l] += factor * row[l];
        }
        *to = sum;
    }
}

/// Inner product of two lists of fours, the longer one cut.
#[inline(always)]
pub(crate) fn dot(a: &[Four], b: &[Four]) -> f64 {
    let mut sum = [0.0; WIDTH];
    for (a, b) in a.iter().zip(b) {
        for l in 0..WIDTH {
            sum[l] += a[l] * b[l];
        }
    }
    (sum[0] + sum[1]) + (sum[2] + sum[3])
}

/// Compiled for the instructions of the machine.
struct Factor<'a>(&'a mut WideLu);

impl pulp::WithSimd for Factor<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        self.0.eliminate()
    }
}

struct Solve<'a>(&'a mut WideLu, &'a mut [f64]);

impl pulp::WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.0.substitute(self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn factors_solve_what_was_added_up() {
        let mut random = Random::new(3);
        let mut lu = WideLu::default();
        for n in 1..20 {
            lu.reset(n);
            let mut draw = |rows: usize| {
                let mut fours = vec![[0.0; WIDTH]; rows * fours(n)];
                for row in fours.chunks_exact_mut(n.div_ceil(WIDTH)) {
                    for x in &mut row.as_flattened_mut()[..n] {
                        *x = random.range(-1.0, 1.0);
                    }
                }
                fours
            };
            let (g, b) = (draw(n + 2), draw(n + 2));
            lu.add_product(&g, &b);
            let dense: Vec<f64> = (0..n)
                .flat_map(|i| lu.a[i * fours(n)..(i + 1) * fours(n)].as_flattened()[..n].to_vec())
                .collect();
            let wanted: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
            let mut x: Vec<f64> = dense
                .chunks_exact(n)
                .map(|row| row.iter().zip(&wanted).map(|(a, x)| a * x).sum())
                .collect();
            assert!(lu.factor());
            lu.solve(&mut x);
            for (x, wanted) in x.iter().zip(&wanted) {
                assert!((x - wanted).abs() < 1e-8, "{n}: {x} {wanted}");
            }
        }
    }

    #[test]
    fn a_singular_matrix_is_refused() {
        let mut lu = WideLu::default();
        lu.reset(2);
        // 1 − e₂e₂ᵀ
        lu.add_product(&[[0.0, 1.0, 0.0, 0.0]], &[[0.0, -1.0, 0.0, 0.0]]);
        assert!(!lu.factor());
        lu.reset(1);
        lu.add_product(&[[f64::NAN, 0.0, 0.0, 0.0]], &[[1.0, 0.0, 0.0, 0.0]]);
        assert!(!lu.factor());
    }
}
