//! LU of one front, a panel of columns at a time.

/// Columns eliminated together.
const PANEL: usize = 6;

/// Elimination of the first `own` columns of a dense block, rows exchanged among the first `own`. Compiled once for
/// every kind of processor and chosen at run time.
pub(crate) struct Eliminate<'a> {
    pub(crate) a: &'a mut [f64],
    pub(crate) width: usize,
    pub(crate) own: usize,
    pub(crate) swaps: &'a mut [usize],
}

impl pulp::WithSimd for Eliminate<'_> {
    /// Whether every pivot is regular.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> bool {
        let Eliminate {
            a,
            width,
            own,
            swaps,
        } = self;
        let mut from = 0;
        while from < own {
            let to = (from + PANEL).min(own);
            if !panel(a, width, own, from..to, swaps) {
                return false;
            }
            let (above, below) = a.split_at_mut(to * width);
            let pivots = &mut above[from * width..];
            for p in 1..to - from {
                let (done, rest) = pivots.split_at_mut(p * width);
                for (k, row) in done.chunks_exact(width).enumerate() {
                    let factor = rest[from + k];
                    subtract(&mut rest[to..width], &row[to..], factor);
                }
            }
            for (i, row) in below.chunks_exact_mut(width).enumerate() {
                if own <= to + i {
                    // The multipliers of rows that are not exchanged.
                    for (k, pivot) in pivots.chunks_exact(width).enumerate() {
                        let factor = row[from + k] / pivot[from + k];
                        row[from + k] = factor;
                        subtract(&mut row[from + k + 1..to], &pivot[from + k + 1..to], factor);
                    }
                }
                let (factors, values) = row.split_at_mut(to);
                subtract_all(values, pivots, width, to, &factors[from..]);
            }
            from = to;
        }
        true
    }
}

/// LU of a few columns of the rows that may be exchanged.
#[inline(always)]
fn panel(
    a: &mut [f64],
    width: usize,
    own: usize,
    columns: std::ops::Range<usize>,
    swaps: &mut [usize],
) -> bool {
    for p in columns.clone() {
        let (mut q, mut best) = (p, -1.0);
        for i in p..own {
            let x = a[i * width + p].abs();
            if best < x {
                (q, best) = (i, x);
            }
        }
        if !(0.0 < best && best.is_finite()) {
            return false;
        }
        swaps[p] = q;
        if p != q {
            let (above, below) = a.split_at_mut(q * width);
            above[p * width..(p + 1) * width].swap_with_slice(&mut below[..width]);
        }
        let (above, below) = a.split_at_mut((p + 1) * width);
        let pivot = &above[p * width..];
        for row in below.chunks_exact_mut(width).take(own - p - 1) {
            let factor = row[p] / pivot[p];
            row[p] = factor;
            subtract(
                &mut row[p + 1..columns.end],
                &pivot[p + 1..columns.end],
                factor,
            );
        }
    }
    true
}

#[inline(always)]
fn subtract(x: &mut [f64], y: &[f64], factor: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        *x -= factor * y;
    }
}

/// row −= Σ factor_k pivot_k from column `to` on, all pivots of a panel in one pass.
#[inline(always)]
fn subtract_all(row: &mut [f64], pivots: &[f64], width: usize, to: usize, factors: &[f64]) {
    if let Some(f) = factors.as_array::<PANEL>() {
        let n = row.len();
        let [a, b, c, d, e, g]: [&[f64]; PANEL] =
            std::array::from_fn(|k| &pivots[k * width + to..k * width + to + n]);
        for j in 0..n {
            let first = f[0] * a[j] + f[1] * b[j] + f[2] * c[j];
            row[j] -= first + (f[3] * d[j] + f[4] * e[j] + f[5] * g[j]);
        }
        return;
    }
    for (factor, pivot) in factors.iter().zip(pivots.chunks_exact(width)) {
        subtract(row, &pivot[to..], *factor);
    }
}
