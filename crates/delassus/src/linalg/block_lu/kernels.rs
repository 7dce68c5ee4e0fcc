//! Dense products and inverses of the fronts: every number is the same whatever the lanes of the processor.

/// C ← C − Lᵀ U for `depth` rows of L and U: C has `rows` × `columns` numbers.
///
/// Numbers of C are changed one pivot row after the other, in tiles that stay in registers.
#[inline(always)]
pub(super) fn subtract_product(
    (c, stride): (&mut [f64], usize),
    (l, u, ld): (&[f64], &[f64], usize),
    (rows, depth, columns): (usize, usize, usize),
) {
    let mut i = 0;
    while i + 6 <= rows {
        strip::<6>(
            (&mut c[i * stride..], stride),
            (&l[i..], u, ld),
            (depth, columns),
        );
        i += 6;
    }
    while i + 2 <= rows {
        strip::<2>(
            (&mut c[i * stride..], stride),
            (&l[i..], u, ld),
            (depth, columns),
        );
        i += 2;
    }
    if i < rows {
        strip::<1>(
            (&mut c[i * stride..], stride),
            (&l[i..], u, ld),
            (depth, columns),
        );
    }
}

/// R rows of the product.
#[inline(always)]
fn strip<const R: usize>(
    (c, stride): (&mut [f64], usize),
    (l, u, ld): (&[f64], &[f64], usize),
    (depth, columns): (usize, usize),
) {
    let mut j = 0;
    while j + 8 <= columns {
        tile::<R, 8>((&mut c[j..], stride), (l, &u[j..], ld), depth);
        j += 8;
    }
    if j + 4 <= columns {
        tile::<R, 4>((&mut c[j..], stride), (l, &u[j..], ld), depth);
        j += 4;
    }
    if j + 2 <= columns {
        tile::<R, 2>((&mut c[j..], stride), (l, &u[j..], ld), depth);
        j += 2;
    }
    if j < columns {
        tile::<R, 1>((&mut c[j..], stride), (l, &u[j..], ld), depth);
    }
}

/// R × C numbers of the product.
#[inline(always)]
fn tile<const R: usize, const C: usize>(
    (c, stride): (&mut [f64], usize),
    (l, u, ld): (&[f64], &[f64], usize),
    depth: usize,
) {
    let mut sum = [[0.0; C]; R];
    for (r, sum) in sum.iter_mut().enumerate() {
        sum.copy_from_slice(&c[r * stride..r * stride + C]);
    }
    for (l, u) in l.chunks(ld).zip(u.chunks(ld)).take(depth) {
        let (Some(l), Some(u)) = (l.first_chunk::<R>(), u.first_chunk::<C>()) else {
            return;
        };
        for r in 0..R {
            for j in 0..C {
                sum[r][j] -= l[r] * u[j];
            }
        }
    }
    for (r, sum) in sum.iter().enumerate() {
        c[r * stride..r * stride + C].copy_from_slice(sum);
    }
}

/// Lᵀ ← D⁻ᵀLᵀ for the n rows of a node, from column `from` on. Work is n numbers.
#[inline(always)]
pub(super) fn turn(
    (d, n): (&[f64], usize),
    (l, width): (&mut [f64], usize),
    from: usize,
    work: &mut [f64],
) {
    if n == 6 {
        turn_by::<6>(d, l, width, from);
    } else if n == 3 {
        turn_by::<3>(d, l, width, from);
    } else if n == 1 {
        turn_by::<1>(d, l, width, from);
    } else {
        let new = &mut work[..n];
        for j in from..width {
            for (i, new) in new.iter_mut().enumerate() {
                *new = (0..n).map(|k| d[k * n + i] * l[k * width + j]).sum();
            }
            for (i, new) in new.iter().enumerate() {
                l[i * width + j] = *new;
            }
        }
    }
}

#[inline(always)]
fn turn_by<const N: usize>(d: &[f64], l: &mut [f64], width: usize, from: usize) {
    let mut j = from;
    while j + 8 <= width {
        turn_tile::<N, 8>(d, &mut l[j..], width);
        j += 8;
    }
    while j + 2 <= width {
        turn_tile::<N, 2>(d, &mut l[j..], width);
        j += 2;
    }
    if j < width {
        turn_tile::<N, 1>(d, &mut l[j..], width);
    }
}

#[inline(always)]
fn turn_tile<const N: usize, const C: usize>(d: &[f64], l: &mut [f64], width: usize) {
    let mut new = [[0.0; C]; N];
    for k in 0..N {
        let old = &l[k * width..k * width + C];
        for i in 0..N {
            for j in 0..C {
                new[i][j] += d[k * N + i] * old[j];
            }
        }
    }
    for (i, new) in new.iter().enumerate() {
        l[i * width..i * width + C].copy_from_slice(new);
    }
}

/// t ← t + Σ y_k row_k from column `from` on.
#[inline(always)]
pub(super) fn add_rows(rows: &[f64], width: usize, y: &[f64], from: usize, t: &mut [f64]) {
    if let Some(y) = y.as_array::<6>() {
        let t = &mut t[from..];
        let n = t.len();
        let [a, b, c, d, e, f]: [&[f64]; 6] =
            std::array::from_fn(|k| &rows[k * width + from..k * width + from + n]);
        for j in 0..n {
            let first = y[0] * a[j] + y[1] * b[j] + y[2] * c[j];
            t[j] += first + (y[3] * d[j] + y[4] * e[j] + y[5] * f[j]);
        }
        return;
    }
    for (y, row) in y.iter().zip(rows.chunks_exact(width)) {
        for (t, x) in t[from..].iter_mut().zip(&row[from..]) {
            *t += y * x;
        }
    }
}

/// A ← A⁻¹ by Gauss and Jordan with exchange of rows; false where it is singular or no number. Work is 2n² numbers.
#[inline(always)]
pub(crate) fn invert(a: &mut [f64], n: usize, work: &mut [f64]) -> bool {
    match n {
        1 => {
            let value = a[0];
            a[0] = 1.0 / value;
            value != 0.0 && value.is_finite()
        }
        3 => invert_by::<3, 4>(a),
        6 => invert_by::<6, 8>(a),
        _ => invert_any(a, n, work),
    }
}

/// The same in place for a size known beforehand, in rows of P ≥ N lanes: column k of the inverse takes the place of
/// column k of A.
#[inline(always)]
fn invert_by<const N: usize, const P: usize>(a: &mut [f64]) -> bool {
    let mut m = [[0.0; P]; N];
    for (m, a) in m.iter_mut().zip(a.as_chunks::<N>().0) {
        m[..N].copy_from_slice(a);
    }
    let mut swaps = [0; N];
    for k in 0..N {
        let (mut pivot, mut best) = (k, m[k][k].abs());
        for i in k + 1..N {
            let x = m[i][k].abs();
            if best < x {
                (pivot, best) = (i, x);
            }
        }
        if !(0.0 < best && best.is_finite()) {
            return false;
        }
        swaps[k] = pivot;
        let mut row = m[pivot];
        m[pivot] = m[k];
        let scale = 1.0 / row[k];
        // Whole rows are chosen and written: a single number written would hold up the lanes.
        for j in 0..P {
            row[j] = if j == k { scale } else { row[j] * scale };
        }
        for i in 0..N {
            let (factor, mut new) = (m[i][k], m[i]);
            for j in 0..P {
                let old = if j == k { 0.0 } else { new[j] };
                new[j] = old - factor * row[j];
            }
            m[i] = new;
        }
        m[k] = row;
    }
    // Rows were exchanged before, columns are exchanged back behind.
    for k in (0..N).rev() {
        if swaps[k] != k {
            for row in &mut m {
                row.swap(k, swaps[k]);
            }
        }
    }
    for (m, a) in m.iter().zip(a.as_chunks_mut::<N>().0) {
        a.copy_from_slice(&m[..N]);
    }
    true
}

/// The same for any size.
#[inline(always)]
fn invert_any(a: &mut [f64], n: usize, work: &mut [f64]) -> bool {
    let width = 2 * n;
    let work = &mut work[..n * width];
    for (row, (work, a)) in work
        .chunks_exact_mut(width)
        .zip(a.chunks_exact(n))
        .enumerate()
    {
        work[..n].copy_from_slice(a);
        work[n..].fill(0.0);
        work[n + row] = 1.0;
    }
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if work[pivot * width + k].abs() < work[i * width + k].abs() {
                pivot = i;
            }
        }
        let value = work[pivot * width + k];
        if value == 0.0 || !value.is_finite() {
            return false;
        }
        if pivot != k {
            let (above, below) = work.split_at_mut(pivot * width);
            above[k * width..(k + 1) * width].swap_with_slice(&mut below[..width]);
        }
        let scale = 1.0 / value;
        work[k * width..(k + 1) * width]
            .iter_mut()
            .for_each(|x| *x *= scale);
        for i in 0..n {
            let factor = work[i * width + k];
            if i == k || factor == 0.0 {
                continue;
            }
            let (one, other) = match i < k {
                true => {
                    let (above, below) = work.split_at_mut(k * width);
                    (&mut above[i * width..(i + 1) * width], &below[..width])
                }
                false => {
                    let (above, below) = work.split_at_mut(i * width);
                    (&mut below[..width], &above[k * width..(k + 1) * width])
                }
            };
            for j in k..width {
                one[j] -= factor * other[j];
            }
        }
    }
    for (work, a) in work.chunks_exact(width).zip(a.chunks_exact_mut(n)) {
        a.copy_from_slice(&work[n..]);
    }
    true
}
