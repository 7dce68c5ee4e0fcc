//! Products of rows in fours with vectors, and sums of squares.

use super::{Four, WIDTH, add_row, add_three_rows, by_fours, dot, fours, halved};

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

/// y ← y + A x of a symmetric matrix, row-major.
pub(crate) fn add_symmetric(a: &[f64], x: &[f64], y: &mut [f64]) {
    pulp::Arch::new().dispatch(Symmetric { a, x, y });
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
        // One sum would wait for itself.
        let mut sums = [[0.0; WIDTH]; SUMS];
        let (whole, rest) = self.0.as_chunks::<SUMS>();
        for x in whole {
            for k in 0..SUMS {
                add_square(&mut sums[k], x[k]);
            }
        }
        for (sum, x) in sums.iter_mut().zip(rest) {
            add_square(sum, *x);
        }
        let mut all = [0.0; WIDTH];
        for sum in sums {
            for l in 0..WIDTH {
                all[l] += sum[l];
            }
        }
        halved(all)
    }
}

struct Symmetric<'a> {
    a: &'a [f64],
    x: &'a [f64],
    y: &'a mut [f64],
}

impl pulp::WithSimd for Symmetric<'_> {
    type Output = ();

    /// By rows no sum waits for the one before; four are taken together.
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let n = self.x.len();
        let (fours, rest) = self.x.as_chunks::<WIDTH>();
        let (whole, last) = self.a.split_at((WIDTH * n * fours.len()).min(self.a.len()));
        let rows = whole.chunks_exact((WIDTH * n).max(1));
        for (rows, x) in rows.zip(fours) {
            let (a, rows) = rows.split_at(n);
            let (b, rows) = rows.split_at(n);
            let (c, d) = rows.split_at(n);
            let each = a.iter().zip(b).zip(c.iter().zip(d));
            for (y, ((a, b), (c, d))) in self.y.iter_mut().zip(each) {
                *y = *y + a * x[0] + b * x[1] + c * x[2] + d * x[3];
            }
        }
        for (row, x) in last.chunks_exact(n.max(1)).zip(rest) {
            for (y, a) in self.y.iter_mut().zip(row) {
                *y += a * x;
            }
        }
    }
}

/// Sums of squares side by side.
const SUMS: usize = 8;

/// sum ← sum + x².
#[inline(always)]
fn add_square(sum: &mut Four, x: Four) {
    for l in 0..WIDTH {
        sum[l] = x[l].mul_add(x[l], sum[l]);
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
pub(crate) fn absolute<const F: usize>(row: &[Four; F]) -> [Four; F] {
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
    let (threes, rest) = x.as_chunks::<F>().0.as_chunks::<3>();
    let (by_three, by_one) = lambda.as_chunks::<3>();
    // Through memory: from one row to the next the compiler would keep the numbers of a four apart.
    for (lambda, x) in by_three.iter().zip(threes) {
        add_three_rows(&mut sum, lambda, x);
        std::hint::black_box(&mut sum);
    }
    for (lambda, x) in by_one.iter().zip(rest) {
        add_row(&mut sum, *lambda, x);
        std::hint::black_box(&mut sum);
    }
    let (whole, rest) = v.as_chunks_mut::<WIDTH>();
    let last = sum.get(whole.len()).copied().unwrap_or_default();
    for (to, four) in whole.iter_mut().zip(&sum) {
        *to = *four;
    }
    for (to, x) in rest.iter_mut().zip(last) {
        *to = x;
    }
}

/// Numbers in fours, filled up with zeros.
#[inline(always)]
pub(crate) fn filled<const F: usize>(numbers: &[f64]) -> [Four; F] {
    // Four by four: a copy of any length is a call.
    let (whole, rest) = numbers.as_chunks::<WIDTH>();
    if let Some(row) = whole.first_chunk::<F>() {
        return *row;
    }
    let mut row = [[0.0; WIDTH]; F];
    for (to, four) in row.iter_mut().zip(whole) {
        *to = *four;
    }
    if let Some(last) = row.get_mut(whole.len()) {
        for (to, x) in last.iter_mut().zip(rest) {
            *to = *x;
        }
    }
    row
}
