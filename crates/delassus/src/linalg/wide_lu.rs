//! LU factors with partial pivoting of a dense matrix of some dozens of unknowns, four columns side by side.
//!
//! Rows are filled up with zeros to a multiple of four numbers, so that every loop over a row is one over whole lanes.
//! Each lane computes what a single number would: bits do not depend on the processor.

/// Numbers side by side.
pub(crate) const WIDTH: usize = 4;
type Four = [f64; WIDTH];
/// Most fours of a row: as many as registers hold.
pub(crate) const MOST_FOURS: usize = 12;

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
    /// A matrix of n unknowns that is yet to be set, with rows as long as `fours` says.
    pub(crate) fn reset(&mut self, n: usize) {
        (self.n, self.fours) = (n, fours(n));
        self.a.resize(n * self.fours, [0.0; WIDTH]);
        self.order.clear();
        self.order.extend(0..n as u32);
        self.inverse.resize(n, 0.0);
        self.x.resize(self.fours, [0.0; WIDTH]);
    }

    /// A ← 1 + Gᵀ B for two lists of rows in fours; zero where there are more than twelve.
    #[inline(always)]
    pub(crate) fn set_product(&mut self, g: &[Four], b: &[Four]) {
        let a = &mut self.a;
        match self.fours {
            1 => sum_rows::<1>(a, g, b),
            2 => sum_rows::<2>(a, g, b),
            3 => sum_rows::<3>(a, g, b),
            4 => sum_rows::<4>(a, g, b),
            5 => sum_rows::<5>(a, g, b),
            6 => sum_rows::<6>(a, g, b),
            7 => sum_rows::<7>(a, g, b),
            8 => sum_rows::<8>(a, g, b),
            9 => sum_rows::<9>(a, g, b),
            10 => sum_rows::<10>(a, g, b),
            11 => sum_rows::<11>(a, g, b),
            MOST_FOURS => sum_rows::<MOST_FOURS>(a, g, b),
            _ => a.fill([0.0; WIDTH]),
        }
    }

    /// Factors in place; false where a pivot is zero or no number.
    pub(crate) fn factor(&mut self) -> bool {
        pulp::Arch::new().dispatch(Factor(self))
    }

    #[inline(always)]
    fn eliminate(&mut self) -> bool {
        for at in 0..self.fours {
            if !self.eliminate_four(at) {
                return false;
            }
            self.follow_four(at);
        }
        true
    }

    /// Eliminates up to four columns, in these columns alone.
    #[inline(always)]
    fn eliminate_four(&mut self, at: usize) -> bool {
        let (n, fours) = (self.n, self.fours);
        for j in at * WIDTH..n.min((at + 1) * WIDTH) {
            let lane = j % WIDTH;
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
            let mut pivot = self.a[j * fours + at];
            let inverse = 1.0 / pivot[lane];
            self.inverse[j] = inverse;
            // l_ij stands where a_ij was: what stands before it is of columns that are done.
            pivot[..=lane].fill(0.0);
            for row in self.a[(j + 1) * fours..].chunks_exact_mut(fours) {
                let mut own = row[at];
                let l = own[lane] * inverse;
                for k in 0..WIDTH {
                    own[k] -= l * pivot[k];
                }
                own[lane] = l;
                row[at] = own;
            }
        }
        true
    }

    /// The columns behind four that were eliminated follow: a_ik ← a_ik − Σ_j l_ij u_jk.
    #[inline(always)]
    fn follow_four(&mut self, at: usize) {
        let fours = self.fours;
        if at + 1 == fours {
            return;
        }
        let (above, below) = self.a.split_at_mut((at + 1) * WIDTH * fours);
        let (first, rest) = above[at * WIDTH * fours..].split_at_mut(fours);
        let (second, rest) = rest.split_at_mut(fours);
        let (third, fourth) = rest.split_at_mut(fours);
        let (l1, l2, l3) = (second[at], third[at], fourth[at]);
        for k in at + 1..fours {
            let u0 = first[k];
            let (mut u1, mut u2, mut u3) = (second[k], third[k], fourth[k]);
            for l in 0..WIDTH {
                u1[l] -= l1[0] * u0[l];
            }
            for l in 0..WIDTH {
                u2[l] = (u2[l] - l2[0] * u0[l]) - l2[1] * u1[l];
            }
            for l in 0..WIDTH {
                u3[l] = ((u3[l] - l3[0] * u0[l]) - l3[1] * u1[l]) - l3[2] * u2[l];
            }
            (second[k], third[k], fourth[k]) = (u1, u2, u3);
        }
        let (first, second) = (&first[at + 1..], &second[at + 1..]);
        let (third, fourth) = (&third[at + 1..], &fourth[at + 1..]);
        for row in below.chunks_exact_mut(fours) {
            let l = row[at];
            let pivots = first.iter().zip(second).zip(third.iter().zip(fourth));
            for (to, ((u0, u1), (u2, u3))) in row[at + 1..].iter_mut().zip(pivots) {
                let (mut sum, u0, u1, u2, u3) = (*to, *u0, *u1, *u2, *u3);
                for k in 0..WIDTH {
                    sum[k] =
                        (((sum[k] - l[0] * u0[k]) - l[1] * u1[k]) - l[2] * u2[k]) - l[3] * u3[k];
                }
                *to = sum;
            }
        }
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

/// A ← 1 + Gᵀ B, rows of F fours each: a row of A stays in registers while all rows of B are added to it.
#[inline(always)]
fn sum_rows<const F: usize>(a: &mut [Four], g: &[Four], b: &[Four]) {
    let (b, g) = (b.as_chunks::<F>().0, g.as_flattened());
    for (i, to) in a.as_chunks_mut::<F>().0.iter_mut().enumerate() {
        let mut sum = [[0.0; WIDTH]; F];
        sum[i / WIDTH][i % WIDTH] = 1.0;
        for (row, b) in b.iter().enumerate() {
            let factor = g[row * WIDTH * F + i];
            if factor == 0.0 {
                continue;
            }
            for k in 0..F {
                for l in 0..WIDTH {
                    sum[k][l] += factor * b[k][l];
                }
            }
        }
        *to = sum;
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
            lu.set_product(&g, &b);
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
        lu.set_product(&[[0.0, 1.0, 0.0, 0.0]], &[[0.0, -1.0, 0.0, 0.0]]);
        assert!(!lu.factor());
        lu.reset(1);
        lu.set_product(&[[f64::NAN, 0.0, 0.0, 0.0]], &[[1.0, 0.0, 0.0, 0.0]]);
        assert!(!lu.factor());
    }
}
