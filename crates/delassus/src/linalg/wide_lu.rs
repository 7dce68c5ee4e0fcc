//! LU factors with partial pivoting of a dense matrix of some dozens of unknowns, four columns side by side.
//!
//! Rows are filled up with zeros to a multiple of four numbers, so that every loop over a row is one over whole lanes.
//! How many fours a row has is known when a kernel is compiled: a row stays in registers while others are added to it.
//! Each lane computes what a single number would, products fused with sums: bits do not depend on the processor.

mod products;

pub(crate) use products::{
    absolute, add_impulses, add_products, add_sizes, add_symmetric, filled, sum_squares,
};

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
        let filled = WIDTH * self.fours;
        self.a.resize(filled * self.fours, [0.0; WIDTH]);
        self.order.clear();
        self.order.extend(0..n as u32);
        // Rows that fill it up are those of the identity.
        self.inverse.clear();
        self.inverse.resize(filled, 1.0);
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
    let n = lu.n;
    for at in 0..F {
        let mut found = largest::<F>(lu, at);
        for lane in 0..WIDTH.min(n - at * WIDTH) {
            // Where in a four the column stands is known when its loop is compiled.
            let next = match lane {
                0 => column::<F, 0>(lu, at, found),
                1 => column::<F, 1>(lu, at, found),
                2 => column::<F, 2>(lu, at, found),
                _ => column::<F, 3>(lu, at, found),
            };
            match next {
                Some(next) => found = next,
                None => return false,
            }
        }
        if (at + 1) * WIDTH < n {
            pulp::Arch::new().dispatch(Follow { lu, at });
        } else {
            break;
        }
    }
    true
}

/// The first of the largest entries in the first of four columns, below what is done.
#[inline(always)]
fn largest<const F: usize>(lu: &WideLu, at: usize) -> (usize, f64) {
    let (mut p, mut best) = (at * WIDTH, -1.0);
    let a = &lu.a.as_chunks::<F>().0[..lu.n];
    for (i, row) in a.iter().enumerate().skip(at * WIDTH) {
        let x = row[at][0].abs();
        if best < x {
            (p, best) = (i, x);
        }
    }
    (p, best)
}

/// Eliminates column L of four, whose pivot was found, and finds that of the next; none where there is no pivot.
#[inline(always)]
fn column<const F: usize, const L: usize>(
    lu: &mut WideLu,
    at: usize,
    (p, best): (usize, f64),
) -> Option<(usize, f64)> {
    if !(0.0 < best && best.is_finite()) {
        return None;
    }
    let a = &mut lu.a.as_chunks_mut::<F>().0[..lu.n];
    let j = at * WIDTH + L;
    if p != j {
        a.swap(j, p);
        lu.order.swap(j, p);
    }
    let (above, below) = a.split_at_mut(j + 1);
    let mut pivot = above[j][at];
    let inverse = 1.0 / pivot[L];
    lu.inverse[j] = inverse;
    // l_ij stands where a_ij was: what stands before it is of columns that are done.
    for l in 0..=L {
        pivot[l] = 0.0;
    }
    let mut next = (j + 1, -1.0);
    for (i, row) in below.iter_mut().enumerate() {
        let l = row[at][L] * inverse;
        let mut four = minus(row[at], l, pivot);
        four[L] = l;
        row[at] = four;
        if L + 1 < WIDTH {
            let x = four[(L + 1) % WIDTH].abs();
            if next.1 < x {
                next = (j + 1 + i, x);
            }
        }
    }
    Some(next)
}

/// The columns behind four that were eliminated follow: a_ik ← a_ik − Σ_j l_ij u_jk.
struct Follow<'a> {
    lu: &'a mut WideLu,
    at: usize,
}

impl pulp::WithSimd for Follow<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let (stride, at) = (self.lu.fours, self.at);
        // As many fours as a kernel is compiled for.
        let last = fours(WIDTH * (stride - 1 - at));
        let a = &mut self.lu.a[..self.lu.n * stride];
        by_fours!(last, follow(a, stride, at), ());
    }
}

/// The same for the last R fours of every row.
#[inline(always)]
fn follow<const R: usize>(a: &mut [Four], stride: usize, at: usize) {
    let (above, below) = a.split_at_mut((at + 1) * WIDTH * stride);
    let mut l = [[0.0; WIDTH]; WIDTH];
    let mut u = [[[0.0; WIDTH]; R]; WIDTH];
    let pivots = above[at * WIDTH * stride..].chunks_exact_mut(stride);
    for (r, row) in pivots.enumerate() {
        l[r] = row[at];
        let Some(rest) = row.last_chunk_mut::<R>() else {
            return;
        };
        let mut own = *rest;
        for j in 0..r {
            for k in 0..R {
                own[k] = minus(own[k], l[r][j], u[j][k]);
            }
        }
        // Columns that are done, where the last fours begin before those that are left.
        for k in 0..R {
            if stride - R + k <= at {
                own[k] = [0.0; WIDTH];
            } else {
                rest[k] = own[k];
            }
        }
        u[r] = own;
    }
    for row in below.chunks_exact_mut(stride) {
        let l = row[at];
        let Some(rest) = row.last_chunk_mut::<R>() else {
            return;
        };
        for k in 0..R {
            for j in 0..WIDTH {
                rest[k] = minus(rest[k], l[j], u[j][k]);
            }
        }
    }
}

/// x ← A⁻¹x, four unknowns at a time: what is not known yet is zero, so that whole rows can be summed.
#[inline(always)]
fn substitute<const F: usize>(lu: &WideLu, b: &mut [f64]) {
    let a = lu.a.as_chunks::<F>().0.as_chunks::<WIDTH>().0;
    let inverse = lu.inverse.as_chunks::<WIDTH>().0;
    let mut given = [[0.0; WIDTH]; F];
    for (to, row) in given.as_flattened_mut().iter_mut().zip(&lu.order) {
        *to = b[*row as usize];
    }
    // L y = P b
    let mut y = [[0.0; WIDTH]; F];
    for (at, rows) in a.iter().enumerate().take(F) {
        let mut own = less_products(given[at], rows, &y);
        for r in 1..WIDTH {
            for k in 0..r {
                own[r] = (-rows[r][at][k]).mul_add(own[k], own[r]);
            }
        }
        y[at] = own;
    }
    // U x = y
    let mut x = [[0.0; WIDTH]; F];
    for (at, rows) in a.iter().enumerate().take(F).rev() {
        let mut own = less_products(y[at], rows, &x);
        for i in 0..WIDTH {
            let r = WIDTH - 1 - i;
            for k in r + 1..WIDTH {
                own[r] = (-rows[r][at][k]).mul_add(own[k], own[r]);
            }
            own[r] *= inverse[at][r];
        }
        x[at] = own;
    }
    b[..lu.n].copy_from_slice(&x.as_flattened()[..lu.n]);
}

/// own − A y of four rows.
#[inline(always)]
fn less_products<const F: usize>(own: Four, rows: &[[Four; F]; WIDTH], y: &[Four; F]) -> Four {
    let mut rest = own;
    for r in 0..WIDTH {
        rest[r] -= dot(&rows[r], y);
    }
    rest
}

/// A ← 1 + Gᵀ B, rows of F fours each.
#[inline(always)]
fn sum_rows<const F: usize>(a: &mut [Four], g: &[Four], b: &[Four]) {
    a.fill([0.0; WIDTH]);
    let (a, b, g) = (
        a.as_chunks_mut::<F>().0,
        b.as_chunks::<F>().0,
        g.as_chunks::<F>().0,
    );
    // Rows of a contact are zero in the same places: three are asked together.
    let ((g, last_g), (b, last_b)) = (g.as_chunks::<3>(), b.as_chunks::<3>());
    for (g, b) in g.iter().zip(b) {
        add_products_of(a, g, b);
    }
    for (g, b) in last_g.iter().zip(last_b) {
        add_products_of(a, std::array::from_ref(g), std::array::from_ref(b));
    }
    for (i, row) in a.iter_mut().enumerate() {
        row.as_flattened_mut()[i] += 1.0;
    }
}

/// A ← A + Gᵀ B for some rows: only rows of A are touched that one of G has a number for.
#[inline(always)]
fn add_products_of<const F: usize, const R: usize>(
    a: &mut [[Four; F]],
    g: &[[Four; F]; R],
    b: &[[Four; F]; R],
) {
    let mut places = places_of(g, a.len());
    while let Some(place) = take_place(&mut places) {
        let mut sum = a[place];
        for r in 0..R {
            add_any_row(&mut sum, g[r].as_flattened()[place], &b[r]);
        }
        a[place] = sum;
    }
}

/// The places below n where some of these rows is not zero: a bit for each.
#[inline(always)]
pub(super) fn places_of<const F: usize, const R: usize>(rows: &[[Four; F]; R], n: usize) -> u64 {
    let mut lanes = [0_u64; WIDTH];
    for k in 0..F {
        for l in 0..WIDTH {
            let mut some = 0_u64;
            for r in 0..R {
                // Without the sign: of all numbers zero alone has no other bit.
                some |= rows[r][k][l].to_bits() << 1;
            }
            // The highest bit of x | −x is set unless x is zero.
            lanes[l] |= ((some | some.wrapping_neg()) >> 63) << (WIDTH * k);
        }
    }
    let [a, b, c, d] = std::hint::black_box(lanes);
    let below = u64::MAX >> (64 - n.clamp(1, 64));
    (a | b << 1 | c << 2 | d << 3) & below
}

/// Takes the first place out of those that are left.
#[inline(always)]
pub(super) fn take_place(places: &mut u64) -> Option<usize> {
    if *places == 0 {
        return None;
    }
    let place = places.trailing_zeros() as usize;
    *places &= *places - 1;
    Some(place)
}

/// sum ← sum + Σ factor · row of three rows, unless that is nothing.
#[inline(always)]
pub(crate) fn add_three_rows<const F: usize>(
    sum: &mut [Four; F],
    factors: &[f64; 3],
    rows: &[[Four; F]; 3],
) {
    if *factors == [0.0; 3] {
        return;
    }
    for k in 0..F {
        let mut own = sum[k];
        for r in 0..3 {
            for l in 0..WIDTH {
                own[l] = factors[r].mul_add(rows[r][k][l], own[l]);
            }
        }
        sum[k] = own;
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
pub(super) fn add_any_row<const F: usize>(sum: &mut [Four; F], factor: f64, row: &[Four; F]) {
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
