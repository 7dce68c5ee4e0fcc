//! A dense Cholesky factor that says which rows are independent: S = P L Lᵀ Pᵀ for a symmetric positive semidefinite S.
//!
//! S is scaled to a unit diagonal first, so that pivots compare whatever the units of their rows. Rows are taken in the
//! given order, in lanes, as long as every pivot is large; where one is not, all is done again with pivoting, and rows
//! whose pivot is rounding are left out. Where the smallest pivot is small an answer is refined once by its residual.
//!
//! Bits do not depend on the processor: every lane computes what a single number would, and nothing is fused.
//! Cost: m³/6 multiplications and as many additions, in lanes; with pivoting m²·rank/2, without lanes.
//! Prefer [`super::cholesky`] where a matrix that is not safely positive definite is an error, [`super::ldl`] where most
//! blocks are zero.

use pulp::Simd;

use super::Rank;
use crate::math::simd::{LANES, X};
use crate::math::{dot, dot_unrolled};

/// A row whose pivot, relative to its own diagonal entry, is below this depends on the rows before it.
const RANK: f64 = 1e-10;
/// Earlier rows are taken first unless a later pivot is this many times larger.
const PREFER: f64 = 0.1;
/// Pivots above this need no reordering.
const SAFE: f64 = 1e-4;
/// Below this smallest pivot an answer is refined by its residual.
const REFINE: f64 = 1e-3;

/// A symmetric positive semidefinite matrix and its factor.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankedCholesky {
    /// S, row-major: to be filled before it is factored, and left as it is.
    pub(crate) matrix: Vec<f64>,
    /// Columns of L, rows in the order of the pivots, with the diagonal inverted; whole vectors.
    columns: Vec<f64>,
    stride: usize,
    /// Rows of L as given, while pivots are sought.
    lower: Vec<f64>,
    /// 1/√ of the diagonal of the matrix; zero for a row that moves nothing.
    scale: Vec<f64>,
    /// Rows taken, in order.
    order: Vec<usize>,
    pivot: Vec<f64>,
    /// Smallest pivot taken.
    least: f64,
    work: Vec<f64>,
    arch: pulp::Arch,
}

impl RankedCholesky {
    /// Factors the matrix of m rows: S = P L Lᵀ Pᵀ on the independent ones, in the given order where that is safe.
    pub(crate) fn factorise(&mut self, m: usize) {
        let a = &self.matrix;
        self.stride = m.next_multiple_of(LANES);
        self.columns.clear();
        self.columns.resize(m * self.stride, 0.0);
        self.order.clear();
        self.scale.clear();
        let unit = |i: usize| {
            let d = a[i * m + i];
            let sound = 0.0 < d && d.is_finite();
            if sound { 1.0 / d.sqrt() } else { 0.0 }
        };
        self.scale.extend((0..m).map(unit));
        if self.in_order(m).is_some() {
            self.order.extend(0..m);
        } else {
            self.with_pivots(m);
        }
    }

    /// Cholesky without pivoting, column by column; `None` as soon as a pivot is small.
    fn in_order(&mut self, m: usize) -> Option<()> {
        for j in 0..m {
            let column = &mut self.columns[j * self.stride..j * self.stride + m];
            let given = &self.matrix[j * m..(j + 1) * m];
            for ((c, a), s) in column.iter_mut().zip(given).zip(&self.scale) {
                *c = a * s * self.scale[j];
            }
        }
        self.least = self.arch.dispatch(Cholesky {
            columns: &mut self.columns,
            stride: self.stride,
            rows: m,
        })?;
        Some(())
    }

    /// Cholesky with pivoting, as far as there are independent rows.
    fn with_pivots(&mut self, m: usize) {
        let a = &self.matrix;
        self.lower.resize(m * m, 0.0);
        self.pivot.clear();
        let one = |s: &f64| if *s == 0.0 { 0.0 } else { 1.0 };
        self.pivot.extend(self.scale.iter().map(one));
        self.least = 1.0;
        for step in 0..m {
            let largest = self.pivot.iter().fold(0.0, |m: f64, p| m.max(*p));
            if !(RANK < largest) {
                break;
            }
            let Some(k) = self.pivot.iter().position(|p| PREFER * largest <= *p) else {
                break;
            };
            self.least = self.least.min(self.pivot[k]);
            let root = self.pivot[k].sqrt();
            self.pivot[k] = f64::NEG_INFINITY;
            self.order.push(k);
            let inverse = 1.0 / root;
            for i in 0..m {
                if self.pivot[i] <= RANK {
                    continue;
                }
                let known = dot(
                    &self.lower[i * m..i * m + step],
                    &self.lower[k * m..k * m + step],
                );
                let entry = a[i * m + k] * self.scale[i] * self.scale[k];
                let l = (entry - known) * inverse;
                self.lower[i * m + step] = l;
                self.pivot[i] -= l * l;
            }
            self.lower[k * m + step] = inverse;
        }
        for s in 0..self.order.len() {
            for (t, &i) in self.order.iter().enumerate().skip(s) {
                self.columns[s * self.stride + t] = self.lower[i * m + s];
            }
        }
    }

    /// x = S⁻¹b on the independent rows, zero on the others; refined where pivots are small.
    pub(crate) fn solve(&mut self, b: &[f64], x: &mut [f64]) {
        x.fill(0.0);
        let m = b.len();
        let mut rest = std::mem::take(&mut self.work);
        let rounds = if self.least < REFINE { 2 } else { 1 };
        for round in 0..rounds {
            rest.clear();
            for &i in &self.order {
                let known = if round == 0 {
                    0.0
                } else {
                    dot_unrolled(&self.matrix[i * m..(i + 1) * m], x)
                };
                rest.push((b[i] - known) * self.scale[i]);
            }
            self.substitute(&mut rest);
            for (&i, value) in self.order.iter().zip(&rest) {
                x[i] += value * self.scale[i];
            }
        }
        self.work = rest;
    }

    /// rest ← (L Lᵀ)⁻¹ rest, in the order of the pivots.
    fn substitute(&self, rest: &mut [f64]) {
        let rank = rest.len();
        for j in 0..rank {
            let column = &self.columns[j * self.stride + j..j * self.stride + rank];
            let value = rest[j] * column[0];
            rest[j] = value;
            for (r, l) in rest[j + 1..].iter_mut().zip(&column[1..]) {
                *r -= l * value;
            }
        }
        for j in (0..rank).rev() {
            let column = &self.columns[j * self.stride + j..j * self.stride + rank];
            rest[j] = (rest[j] - dot_unrolled(&column[1..], &rest[j + 1..])) * column[0];
        }
    }

    /// Which rows were taken.
    pub(crate) fn rank(&self) -> Rank {
        let mut taken = vec![false; self.scale.len()];
        self.order.iter().for_each(|&i| taken[i] = true);
        Rank {
            rank: self.order.len(),
            redundant: (0..taken.len()).filter(|&i| !taken[i]).collect(),
        }
    }
}

/// Cholesky in place of a symmetric matrix with a unit diagonal, whose columns are whole vectors; the smallest pivot,
/// or `None` as soon as one is too small. The diagonal ends up inverted: that is what everything divides by.
struct Cholesky<'a> {
    columns: &'a mut [f64],
    stride: usize,
    rows: usize,
}

impl pulp::WithSimd for Cholesky<'_> {
    type Output = Option<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<f64> {
        let Cholesky {
            columns, stride, ..
        } = self;
        let mut least: f64 = 1.0;
        for j in 0..self.rows {
            let (before, column) = columns.split_at_mut(j * stride);
            for p in j / S::F64_LANES..stride / S::F64_LANES {
                subtract(simd, before, (j, stride), column, p);
            }
            let pivot = column[j];
            if !(SAFE < pivot) {
                return None;
            }
            least = least.min(pivot);
            let inverse = 1.0 / pivot.sqrt();
            let (parts, _) = S::as_mut_simd_f64s(&mut column[..stride]);
            let factor = X::splat(simd, inverse);
            for p in j / S::F64_LANES..parts.len() {
                parts[p] = (X(simd, parts[p]) * factor).1;
            }
            column[j] = inverse;
        }
        Some(least)
    }
}

/// Vector p of column j − Σ_k L_jk L_k over the columns k before it, four at a time: short chains of additions.
#[inline(always)]
fn subtract<S: Simd>(
    simd: S,
    before: &[f64],
    (j, stride): (usize, usize),
    column: &mut [f64],
    p: usize,
) {
    let (parts, _) = S::as_mut_simd_f64s(&mut column[..stride]);
    let mut rest = X(simd, parts[p]);
    let mut k = 0;
    while k + 4 <= j {
        let a = product(simd, before, (j, k, p), stride);
        let b = product(simd, before, (j, k + 1, p), stride);
        let c = product(simd, before, (j, k + 2, p), stride);
        let d = product(simd, before, (j, k + 3, p), stride);
        rest = rest - ((a + b) + (c + d));
        k += 4;
    }
    while k < j {
        rest = rest - product(simd, before, (j, k, p), stride);
        k += 1;
    }
    parts[p] = rest.1;
}

/// L_jk times vector p of column k.
#[inline(always)]
fn product<S: Simd>(
    simd: S,
    columns: &[f64],
    (j, k, p): (usize, usize, usize),
    stride: usize,
) -> X<S> {
    let column = &columns[k * stride..(k + 1) * stride];
    let (parts, _) = S::as_simd_f64s(column);
    X::splat(simd, column[j]) * X(simd, parts[p])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Random, max_abs};

    /// A Aᵀ of m rows of k numbers, whose rows have units of their own.
    fn gram(m: usize, k: usize, random: &mut Random) -> Vec<f64> {
        let unit: Vec<f64> = (0..m).map(|_| random.range(-3.0, 3.0).exp()).collect();
        let a: Vec<f64> = (0..m * k)
            .map(|e| unit[e / k] * random.range(-1.0, 1.0))
            .collect();
        let row = |i: usize| &a[i * k..(i + 1) * k];
        (0..m * m).map(|e| dot(row(e / m), row(e % m))).collect()
    }

    fn solved(matrix: &[f64], b: &[f64], arch: pulp::Arch) -> (Vec<f64>, Rank) {
        let mut factor = RankedCholesky {
            matrix: matrix.to_vec(),
            arch,
            ..RankedCholesky::default()
        };
        let mut x = vec![f64::NAN; b.len()];
        factor.factorise(b.len());
        factor.solve(b, &mut x);
        (x, factor.rank())
    }

    /// Largest |S x − b| over the size of its terms.
    fn error(matrix: &[f64], x: &[f64], b: &[f64]) -> f64 {
        let rows = matrix.chunks_exact(b.len()).zip(b);
        let errors = rows.map(|(row, b)| {
            let terms: Vec<f64> = row.iter().zip(x).map(|(a, x)| a * x).collect();
            (terms.iter().sum::<f64>() - b).abs() / max_abs(&terms).max(b.abs())
        });
        errors.fold(0.0, f64::max)
    }

    #[test]
    fn rows_that_depend_on_others_are_named_and_every_consistent_system_is_solved() {
        let mut random = Random::new(11);
        for (m, k) in [(1, 1), (5, 9), (24, 40), (12, 5), (30, 29), (40, 8)] {
            for _ in 0..20 {
                let matrix = gram(m, k, &mut random);
                let y: Vec<f64> = (0..m).map(|_| random.range(-1.0, 1.0)).collect();
                let b: Vec<f64> = matrix.chunks_exact(m).map(|row| dot(row, &y)).collect();
                let (x, rank) = solved(&matrix, &b, pulp::Arch::new());
                assert_eq!(rank.rank, m.min(k));
                assert_eq!(rank.redundant.len(), m - m.min(k));
                assert!(rank.redundant.iter().all(|&i| x[i] == 0.0));
                let error = error(&matrix, &x, &b);
                assert!(error < 1e-9, "{m} rows of {k}: {error:.1e}");
            }
        }
    }

    #[test]
    fn a_row_that_moves_nothing_is_redundant() {
        let matrix = [2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0];
        let (x, rank) = solved(&matrix, &[3.0, 5.0, 2.0], pulp::Arch::new());
        assert_eq!(rank.redundant, [1]);
        assert!((x[0] - 1.0).abs() < 1e-15 && x[1] == 0.0 && (x[2] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn bits_do_not_depend_on_the_width_of_the_processor() {
        let mut random = Random::new(12);
        for m in [3, 17, 50] {
            let matrix = gram(m, 2 * m, &mut random);
            let b: Vec<f64> = (0..m).map(|_| random.range(-1.0, 1.0)).collect();
            let wide = solved(&matrix, &b, pulp::Arch::new());
            assert_eq!(wide, solved(&matrix, &b, pulp::Arch::Scalar));
        }
    }
}
