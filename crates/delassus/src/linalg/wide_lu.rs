//! LU factors with partial pivoting of a dense matrix of some dozens of unknowns, four columns side by side.
//!
//! Rows are filled up with zeros to a multiple of four numbers, so that every loop over a row is one over whole lanes.
//! How many fours a row has is known when a kernel is compiled: a row stays in registers while others are added to it.
//! Each lane computes what a single number would, products fused with sums: bits do not depend on the processor.

/// Numbers side by side.
pub(crate) const WIDTH: usize = 4;
pub(crate) type Four = [f64; WIDTH];
/// Most fours of a row: as many as registers hold.
pub(crate) const MOST_FOURS: usize = 12;

/// How many fours hold a row of n numbers: a count that kernels are compiled for, where there are no more than the most.
pub(crate) fn fours(n: usize) -> usize {
    let least = n.div_ceil(WIDTH);
    match least <= 8 {
        true => least,
        false => least.next_multiple_of(2),
    }
}

/// Calls a kernel compiled for this many fours; `other` where there are none, or more than the most.
macro_rules! by_fours {
    ($fours:expr, $kernel:ident($($argument:expr),* $(,)?), $other:expr) => {
        match $fours {
            1 => $kernel::<1>($($argument),*),
            2 => $kernel::<2>($($argument),*),
            3 => $kernel::<3>($($argument),*),
            4 => $kernel::<4>($($argument),*),
            5 => $kernel::<5>($($argument),*),
            6 => $kernel::<6>($($argument),*),
            7 => $kernel::<7>($($argument),*),
            8 => $kernel::<8>($($argument),*),
            10 => $kernel::<10>($($argument),*),
            $crate::linalg::wide_lu::MOST_FOURS => {
                $kernel::<{ $crate::linalg::wide_lu::MOST_FOURS }>($($argument),*)
            }
            _ => $other,
        }
    };
}
pub(crate) use by_fours;

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
}

impl WideLu {
    /// A matrix of n unknowns that is yet to be set, with rows as long as `fours` says.
    pub(crate) fn reset(&mut self, n: usize) {
        (self.n, self.fours) = (n, fours(n));
        self.a.resize(n * self.fours, [0.0; WIDTH]);
        self.order.clear();
        self.order.extend(0..n as u32);
        self.inverse.resize(n, 0.0);
    }

    /// A ← 1 + Gᵀ B for two lists of rows in fours; zero where there are more fours than the most.
    #[inline(always)]
    pub(crate) fn set_product(&mut self, g: &[Four], b: &[Four]) {
        let a = &mut self.a;
        by_fours!(self.fours, sum_rows(a, g, b), a.fill([0.0; WIDTH]));
    }

    /// Factors in place; false where a pivot is zero or no number.
    pub(crate) fn factor(&mut self) -> bool {
        pulp::Arch::new().dispatch(Factor(self))
    }

    /// x ← A⁻¹x.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        pulp::Arch::new().dispatch(Solve(self, x));
    }
}

/// Factors in place, rows of F fours each: column by column within four columns, then the rest by all four at once.
#[inline(always)]
fn eliminate<const F: usize>(lu: &mut WideLu) -> bool {
    let a = &mut lu.a.as_chunks_mut::<F>().0[..lu.n];
    for at in 0..F {
        for j in at * WIDTH..lu.n.min((at + 1) * WIDTH) {
            let lane = j % WIDTH;
            let (mut p, mut best) = (j, -1.0);
            for (i, row) in a.iter().enumerate().skip(j) {
                let x = row[at][lane].abs();
                if best < x {
                    (p, best) = (i, x);
                }
            }
            if !(0.0 < best && best.is_finite()) {
                return false;
            }
            if p != j {
                a.swap(j, p);
                lu.order.swap(j, p);
            }
            let (above, below) = a.split_at_mut(j + 1);
            let mut pivot = above[j][at];
            let inverse = 1.0 / pivot[lane];
            lu.inverse[j] = inverse;
            // l_ij stands where a_ij was: what stands before it is of columns that are done.
            pivot[..=lane].fill(0.0);
            for row in below {
                let l = row[at][lane] * inverse;
                row[at] = minus(row[at], l, pivot);
                row[at][lane] = l;
            }
        }
        if (at + 1) * WIDTH < lu.n {
            follow::<F>(a, at);
        }
    }
    true
}

/// The columns behind four that were eliminated follow: a_ik ← a_ik − Σ_j l_ij u_jk.
#[inline(always)]
fn follow<const F: usize>(a: &mut [[Four; F]], at: usize) {
    let (above, below) = a.split_at_mut((at + 1) * WIDTH);
    let [first, second, third, fourth] = &mut above[at * WIDTH..] else {
        return;
    };
    let (l1, l2, l3) = (second[at], third[at], fourth[at]);
    // u is zero in the columns that are done, so that whole rows can be taken.
    let mut u = [[[0.0; WIDTH]; F]; 4];
    for k in 0..F {
        if at < k {
            u[0][k] = first[k];
            u[1][k] = minus(second[k], l1[0], u[0][k]);
            u[2][k] = minus(minus(third[k], l2[0], u[0][k]), l2[1], u[1][k]);
            let fourth = minus(minus(fourth[k], l3[0], u[0][k]), l3[1], u[1][k]);
            u[3][k] = minus(fourth, l3[2], u[2][k]);
        }
    }
    for k in 0..F {
        if at < k {
            (second[k], third[k], fourth[k]) = (u[1][k], u[2][k], u[3][k]);
        }
    }
    for row in below {
        let l = row[at];
        for k in 0..F {
            let mut rest = row[k];
            for j in 0..4 {
                rest = minus(rest, l[j], u[j][k]);
            }
            row[k] = rest;
        }
    }
}

/// x ← A⁻¹x, four unknowns at a time: what is not known yet is zero, so that whole rows can be summed.
#[inline(always)]
fn substitute<const F: usize>(lu: &WideLu, b: &mut [f64]) {
    let a = &lu.a.as_chunks::<F>().0[..lu.n];
    let mut given = [[0.0; WIDTH]; F];
    for (to, row) in given.as_flattened_mut().iter_mut().zip(&lu.order) {
        *to = b[*row as usize];
    }
    // L y = P b
    let mut y = [[0.0; WIDTH]; F];
    for (at, rows) in a.chunks(WIDTH).enumerate() {
        let mut own = given[at];
        for (r, row) in rows.iter().enumerate() {
            own[r] -= dot(row, &y);
        }
        for (r, row) in rows.iter().enumerate() {
            for k in 0..r {
                own[r] = (-row[at][k]).mul_add(own[k], own[r]);
            }
        }
        y[at] = own;
    }
    // U x = y
    let mut x = [[0.0; WIDTH]; F];
    for (at, rows) in a.chunks(WIDTH).enumerate().rev() {
        let mut own = y[at];
        for (r, row) in rows.iter().enumerate() {
            own[r] -= dot(row, &x);
        }
        for (r, row) in rows.iter().enumerate().rev() {
            for k in r + 1..rows.len() {
                own[r] = (-row[at][k]).mul_add(own[k], own[r]);
            }
            own[r] *= lu.inverse[at * WIDTH + r];
        }
        x[at] = own;
    }
    b[..lu.n].copy_from_slice(&x.as_flattened()[..lu.n]);
}

/// A ← 1 + Gᵀ B, rows of F fours each: a row of A stays in registers while all rows of B are added to it.
#[inline(always)]
fn sum_rows<const F: usize>(a: &mut [Four], g: &[Four], b: &[Four]) {
    let (b, g) = (b.as_chunks::<F>().0, g.as_chunks::<F>().0);
    // Rows of a contact are zero in the same places: three are asked together.
    let ((g, last_g), (b, last_b)) = (g.as_chunks::<3>(), b.as_chunks::<3>());
    for (i, to) in a.as_chunks_mut::<F>().0.iter_mut().enumerate() {
        let mut sum = [[0.0; WIDTH]; F];
        for (g, b) in g.iter().zip(b) {
            let [first, second, third] = g;
            let (first, second, third) = (
                first.as_flattened()[i],
                second.as_flattened()[i],
                third.as_flattened()[i],
            );
            if first != 0.0 || second != 0.0 || third != 0.0 {
                add_any_row(&mut sum, first, &b[0]);
                add_any_row(&mut sum, second, &b[1]);
                add_any_row(&mut sum, third, &b[2]);
            }
        }
        for (g, b) in last_g.iter().zip(last_b) {
            add_row(&mut sum, g.as_flattened()[i], b);
        }
        *to = sum;
        // A place that is not known when this is compiled would keep the sum out of registers.
        to.as_flattened_mut()[i] += 1.0;
    }
}

/// sum ← sum + factor · row, unless that is nothing.
#[inline(always)]
pub(crate) fn add_row<const F: usize>(sum: &mut [Four; F], factor: f64, row: &[Four; F]) {
    if factor != 0.0 {
        add_any_row(sum, factor, row);
    }
}

/// sum ← sum + factor · row.
#[inline(always)]
fn add_any_row<const F: usize>(sum: &mut [Four; F], factor: f64, row: &[Four; F]) {
    for k in 0..F {
        for l in 0..WIDTH {
            sum[k][l] = factor.mul_add(row[k][l], sum[k][l]);
        }
    }
}

/// x − factor · y.
#[inline(always)]
pub(crate) fn minus(x: Four, factor: f64, y: Four) -> Four {
    let mut rest = x;
    for l in 0..WIDTH {
        rest[l] = (-factor).mul_add(y[l], x[l]);
    }
    rest
}

/// Inner product of two rows.
#[inline(always)]
pub(crate) fn dot<const F: usize>(a: &[Four; F], b: &[Four; F]) -> f64 {
    let mut sum = [0.0; WIDTH];
    for k in 0..F {
        for l in 0..WIDTH {
            sum[l] = a[k][l].mul_add(b[k][l], sum[l]);
        }
    }
    halved(sum)
}

/// The sum of four sums, as registers are halved. They go through memory: if the compiler saw how they are used, it would
/// compute each by itself.
#[inline(always)]
fn halved(sum: Four) -> f64 {
    let sum = std::hint::black_box(sum);
    (sum[0] + sum[2]) + (sum[1] + sum[3])
}

/// w ← w + X v, rows of X in fours.
pub(crate) fn add_products(x: &[Four], v: &[f64], w: &mut [f64]) {
    pulp::Arch::new().dispatch(Products { x, v, w });
}

/// v ← v + Xᵀλ, rows of X in fours.
pub(crate) fn add_impulses(x: &[Four], lambda: &[f64], v: &mut [f64]) {
    pulp::Arch::new().dispatch(Impulses { x, lambda, v });
}

/// w ← w + |X||v|, rows of X in fours.
pub(crate) fn add_sizes(x: &[Four], v: &[f64], w: &mut [f64]) {
    pulp::Arch::new().dispatch(Sizes(Products { x, v, w }));
}

/// The sum of all squares.
pub(crate) fn sum_squares(x: &[Four]) -> f64 {
    pulp::Arch::new().dispatch(Squares(x))
}

struct Squares<'a>(&'a [Four]);

impl pulp::WithSimd for Squares<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> f64 {
        let mut sum = [0.0; WIDTH];
        for x in self.0 {
            for l in 0..WIDTH {
                sum[l] = x[l].mul_add(x[l], sum[l]);
            }
        }
        halved(sum)
    }
}

struct Products<'a> {
    x: &'a [Four],
    v: &'a [f64],
    w: &'a mut [f64],
}

impl pulp::WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        by_fours!(fours(self.v.len()), products(self.x, self.v, self.w), ());
    }
}

#[inline(always)]
fn products<const F: usize>(x: &[Four], v: &[f64], w: &mut [f64]) {
    let v = filled::<F>(v);
    // A closure would not be compiled for the instructions of the machine.
    for (w, x) in w.iter_mut().zip(x.as_chunks::<F>().0) {
        *w += dot(x, &v);
    }
}

struct Sizes<'a>(Products<'a>);

impl pulp::WithSimd for Sizes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Products { x, v, w } = self.0;
        by_fours!(fours(v.len()), sizes(x, v, w), ());
    }
}

#[inline(always)]
fn sizes<const F: usize>(x: &[Four], v: &[f64], w: &mut [f64]) {
    let v = absolute(&filled::<F>(v));
    for (w, x) in w.iter_mut().zip(x.as_chunks::<F>().0) {
        *w += dot(&absolute(x), &v);
    }
}

/// The size of every number.
#[inline(always)]
pub(super) fn absolute<const F: usize>(row: &[Four; F]) -> [Four; F] {
    let mut out = *row;
    for k in 0..F {
        for l in 0..WIDTH {
            out[k][l] = row[k][l].abs();
        }
    }
    out
}

struct Impulses<'a> {
    x: &'a [Four],
    lambda: &'a [f64],
    v: &'a mut [f64],
}

impl pulp::WithSimd for Impulses<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        by_fours!(
            fours(self.v.len()),
            impulses(self.x, self.lambda, self.v),
            ()
        );
    }
}

#[inline(always)]
fn impulses<const F: usize>(x: &[Four], lambda: &[f64], v: &mut [f64]) {
    let mut sum = filled::<F>(v);
    for (lambda, x) in lambda.iter().zip(x.as_chunks::<F>().0) {
        add_row(&mut sum, *lambda, x);
    }
    v.copy_from_slice(&sum.as_flattened()[..v.len()]);
}

/// Numbers in fours, filled up with zeros.
#[inline(always)]
pub(crate) fn filled<const F: usize>(numbers: &[f64]) -> [Four; F] {
    let mut row = [[0.0; WIDTH]; F];
    row.as_flattened_mut()[..numbers.len()].copy_from_slice(numbers);
    row
}

/// Compiled for the instructions of the machine.
struct Factor<'a>(&'a mut WideLu);

impl pulp::WithSimd for Factor<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        by_fours!(self.0.fours, eliminate(self.0), self.0.n == 0)
    }
}

struct Solve<'a>(&'a WideLu, &'a mut [f64]);

impl pulp::WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        by_fours!(self.0.fours, substitute(self.0, self.1), ());
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
        for n in 1..48 {
            lu.reset(n);
            let mut draw = |rows: usize| {
                let mut given = vec![[0.0; WIDTH]; rows * fours(n)];
                for row in given.chunks_exact_mut(fours(n)) {
                    for x in &mut row.as_flattened_mut()[..n] {
                        *x = random.range(-1.0, 1.0);
                    }
                }
                given
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
