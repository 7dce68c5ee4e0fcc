//! A root of the inverse of a small definite matrix: M⁻¹ = T Tᵀ.
//!
//! ```text
//! M = L Lᵀ ,   T = L⁻ᵀ        so that   M⁻¹x = T (Tᵀx) ,   G M⁻¹Gᵀ = X Xᵀ with X = G T
//! ```
//!
//! Unknowns are taken in reverse. Of a tree leaves then come before what carries them, nothing fills in between its
//! branches, and row i of T reaches from unknown i to the ground alone.
//!
//! With T at hand no product waits for the number before it, as substitution does, and a row of G that measures one
//! unknown is answered by a row of T as it stands. Rows are in fours, filled up with zeros ([`super::wide_lu`]).
//!
//! Cost: 2·n³/6 multiplications at most, less what is zero. Forming T loses as many digits as L is ill-conditioned: for
//! matrices of which no pivot is much smaller than the entry that it is left of. For others see [`super::cholesky`].

use super::wide_lu::{
    Four, WIDTH, absolute, add_any_row, add_row, by_fours, dot, filled, fours, places_of,
    sum_squares, take_place,
};

/// T, and room for Lᵀ.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct InverseRoot {
    n: usize,
    fours: usize,
    rows: Vec<Four>,
    lower: Vec<Four>,
}

impl InverseRoot {
    /// T of a row-major matrix. False where some pivot is less than this share of the entry that it is left of, and where
    /// there are too many unknowns.
    pub(crate) fn make(&mut self, matrix: &[f64], n: usize, share: f64) -> bool {
        (self.n, self.fours) = (n, fours(n));
        self.rows.resize(n * self.fours, [0.0; WIDTH]);
        self.lower.resize(n * self.fours, [0.0; WIDTH]);
        pulp::Arch::new().dispatch(Make {
            root: self,
            matrix,
            share,
        })
    }

    /// Fours of a row.
    pub(crate) fn fours(&self) -> usize {
        self.fours
    }

    /// The row of T that belongs to an unknown.
    pub(crate) fn row(&self, unknown: usize) -> &[Four] {
        let i = self.n - 1 - unknown;
        &self.rows[i * self.fours..(i + 1) * self.fours]
    }

    /// x ← M⁻¹x.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        pulp::Arch::new().dispatch(Solve { root: self, x });
    }

    /// x ← Tᵀx, unknowns in reverse: half of M⁻¹x.
    pub(crate) fn halve(&self, x: &mut [f64]) {
        pulp::Arch::new().dispatch(Halve { root: self, x });
    }

    /// x ← T x of unknowns in reverse: the other half.
    pub(crate) fn complete(&self, x: &mut [f64]) {
        pulp::Arch::new().dispatch(Complete { root: self, x });
    }

    /// x ← |T||Tᵀ|x for x ≥ 0, which is no less than |M⁻¹|x.
    pub(crate) fn solve_sizes(&self, x: &mut [f64]) {
        pulp::Arch::new().dispatch(Sizes { root: self, x });
    }

    /// tr M⁻¹, the sum of all squares in T.
    pub(crate) fn trace_of_inverse(&self) -> f64 {
        sum_squares(&self.rows)
    }

    /// X = G T of rows in fours over the unknowns, one after the other, D ← D + X Xᵀ and c ← c + G v.
    pub(crate) fn answer(&self, rows: &[Four], v: &[f64], answers: Answers<'_>) {
        pulp::Arch::new().dispatch(Answer {
            root: self,
            rows,
            v,
            answers,
        });
    }
}

/// Where [`InverseRoot::answer`] puts what it finds. Answers go behind those that are there; c may be empty where nobody
/// asks for it.
pub(crate) struct Answers<'a> {
    pub(crate) halves: &'a mut Vec<Four>,
    pub(crate) c: &'a mut [f64],
    pub(crate) d: &'a mut [f64],
}

struct Make<'a> {
    root: &'a mut InverseRoot,
    matrix: &'a [f64],
    share: f64,
}

impl pulp::WithSimd for Make<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        let (root, matrix, share) = (self.root, self.matrix, self.share);
        by_fours!(root.fours, factor(root, matrix, share), return root.n == 0)
            && by_fours!(root.fours, invert(root), false)
    }
}

/// M = Uᵀ D⁻¹U with d_i = u_ii: row i of U is m_i − Σ_j (u_ji/d_j) u_j, and Lᵀ = D^-½ U. No row waits for a root.
#[inline(always)]
fn factor<const F: usize>(root: &mut InverseRoot, matrix: &[f64], share: f64) -> bool {
    let lower = &mut root.lower.as_chunks_mut::<F>().0[..root.n];
    let mut inverse = [[0.0; WIDTH]; F];
    let inverse = inverse.as_flattened_mut();
    for (i, given) in matrix.rchunks_exact(root.n).enumerate() {
        let (before, own) = lower.split_at_mut(i);
        let own = &mut own[0];
        for (to, x) in own.as_flattened_mut().iter_mut().zip(given.iter().rev()) {
            *to = *x;
        }
        let (entry, mut sum) = (own.as_flattened()[i], *own);
        for (row, inverse) in before.iter().zip(&*inverse) {
            // What stands before the diagonal is changed with its four and read by nobody.
            let u = row.as_flattened()[i];
            if u != 0.0 {
                add_any_row(&mut sum, -u * inverse, row);
            }
        }
        *own = sum;
        let pivot = own.as_flattened()[i];
        if !(share * entry <= pivot && f64::MIN_POSITIVE <= pivot && pivot.is_finite()) {
            return false;
        }
        inverse[i] = 1.0 / pivot;
    }
    for (row, inverse) in lower.iter_mut().zip(inverse) {
        scale(row, inverse.sqrt());
    }
    true
}

/// Row i of T is (e_i − Σ_j l_ji T_j)/l_ii, from the last to the first; what was found last is added last, so that nothing
/// waits for it but that one sum.
#[inline(always)]
fn invert<const F: usize>(root: &mut InverseRoot) -> bool {
    let lower = &root.lower.as_chunks::<F>().0[..root.n];
    let rows = &mut root.rows.as_chunks_mut::<F>().0[..root.n];
    for (i, lower) in lower.iter().enumerate().rev() {
        let (until, after) = rows.split_at_mut(i + 1);
        let factors = lower.as_flattened();
        let mut sum = [[0.0; WIDTH]; F];
        for (factor, row) in factors[i + 1..root.n].iter().zip(after.iter()).rev() {
            add_row(&mut sum, -factor, row);
        }
        until[i] = sum;
        until[i].as_flattened_mut()[i] = 1.0;
        scale(&mut until[i], 1.0 / factors[i]);
    }
    true
}

#[inline(always)]
fn scale<const F: usize>(row: &mut [Four; F], factor: f64) {
    for k in 0..F {
        for l in 0..WIDTH {
            row[k][l] *= factor;
        }
    }
}

struct Solve<'a> {
    root: &'a InverseRoot,
    x: &'a mut [f64],
}

impl pulp::WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        by_fours!(self.root.fours, solve(self.root, self.x), ());
    }
}

#[inline(always)]
fn solve<const F: usize>(root: &InverseRoot, x: &mut [f64]) {
    let y = half::<F>(root, x);
    answer_half(root, &y, x);
}

/// Tᵀx.
#[inline(always)]
fn half<const F: usize>(root: &InverseRoot, x: &[f64]) -> [Four; F] {
    let rows = &root.rows.as_chunks::<F>().0[..root.n];
    let mut y = [[0.0; WIDTH]; F];
    for (x, row) in x.iter().rev().zip(rows) {
        add_row(&mut y, *x, row);
    }
    y
}

/// x ← T y.
#[inline(always)]
fn answer_half<const F: usize>(root: &InverseRoot, y: &[Four; F], x: &mut [f64]) {
    let rows = &root.rows.as_chunks::<F>().0[..root.n];
    for (x, row) in x.iter_mut().rev().zip(rows) {
        *x = dot(row, y);
    }
}

struct Halve<'a> {
    root: &'a InverseRoot,
    x: &'a mut [f64],
}

impl pulp::WithSimd for Halve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        by_fours!(self.root.fours, halve(self.root, self.x), ());
    }
}

#[inline(always)]
fn halve<const F: usize>(root: &InverseRoot, x: &mut [f64]) {
    let y = half::<F>(root, x);
    let n = x.len();
    x.copy_from_slice(&y.as_flattened()[..n]);
}

struct Complete<'a> {
    root: &'a InverseRoot,
    x: &'a mut [f64],
}

impl pulp::WithSimd for Complete<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        by_fours!(self.root.fours, complete(self.root, self.x), ());
    }
}

#[inline(always)]
fn complete<const F: usize>(root: &InverseRoot, x: &mut [f64]) {
    let y = filled::<F>(x);
    answer_half(root, &y, x);
}

struct Sizes<'a> {
    root: &'a InverseRoot,
    x: &'a mut [f64],
}

impl pulp::WithSimd for Sizes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        by_fours!(self.root.fours, solve_sizes(self.root, self.x), ());
    }
}

#[inline(always)]
fn solve_sizes<const F: usize>(root: &InverseRoot, x: &mut [f64]) {
    let rows = &root.rows.as_chunks::<F>().0[..root.n];
    let mut y = [[0.0; WIDTH]; F];
    for (x, row) in x.iter().rev().zip(rows) {
        add_row(&mut y, *x, &absolute(row));
    }
    for (x, row) in x.iter_mut().rev().zip(rows) {
        *x = dot(&absolute(row), &y);
    }
}

struct Answer<'a> {
    root: &'a InverseRoot,
    rows: &'a [Four],
    v: &'a [f64],
    answers: Answers<'a>,
}

impl pulp::WithSimd for Answer<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        by_fours!(self.root.fours, answer(self), ());
    }
}

#[inline(always)]
fn answer<const F: usize>(given: Answer<'_>) {
    let t = &given.root.rows.as_chunks::<F>().0[..given.root.n];
    let g = given.rows.as_chunks::<F>().0;
    let Answers { halves, c, d } = given.answers;
    let start = halves.len();
    halves.resize(start + given.rows.len(), [0.0; WIDTH]);
    let x = halves[start..].as_chunks_mut::<F>().0;
    // Rows of a contact are zero in the same places: three are asked together.
    let ((threes, rest), (x_threes, x_rest)) = (g.as_chunks::<3>(), x.as_chunks_mut::<3>());
    for (g, x) in threes.iter().zip(x_threes) {
        answer_rows(t, g, x);
    }
    for (g, x) in rest.iter().zip(x_rest) {
        answer_rows(t, std::array::from_ref(g), std::array::from_mut(x));
    }
    let x = halves[start..].as_chunks::<F>().0;
    // D = X Xᵀ by symmetry.
    let m = x.len();
    for i in 0..m {
        for j in 0..=i {
            let sum = dot(&x[i], &x[j]);
            d[i * m + j] += sum;
            if i != j {
                d[j * m + i] += sum;
            }
        }
    }
    if c.is_empty() {
        return;
    }
    let v = filled::<F>(given.v);
    for (c, row) in c.iter_mut().zip(g) {
        *c += dot(row, &v);
    }
}

/// Rows of X that belong to some rows of G: only rows of T are added up that one of them has a number for.
#[inline(always)]
fn answer_rows<const F: usize, const R: usize>(
    t: &[[Four; F]],
    g: &[[Four; F]; R],
    x: &mut [[Four; F]; R],
) {
    let places = places_of(g, t.len());
    for r in 0..R {
        let (mut sum, mut left) = ([[0.0; WIDTH]; F], places);
        while let Some(place) = take_place(&mut left) {
            // T has unknowns in reverse.
            let t = &t[t.len() - 1 - place];
            add_any_row(&mut sum, g[r].as_flattened()[place], t);
        }
        x[r] = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::cholesky::{cholesky, cholesky_solve};
    use crate::math::{Random, max_abs};

    /// A few roundings of numbers about one.
    const ROUNDING: f64 = 1e-14;

    /// A definite matrix in which row i is coupled with some before it only.
    fn matrix(random: &mut Random, n: usize) -> Vec<f64> {
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            a[i * n + i] = 4.0 + i as f64;
            for j in (0..i).filter(|j| (i + j) % 3 == 0) {
                a[i * n + j] = random.range(-1.0, 1.0);
                a[j * n + i] = a[i * n + j];
            }
        }
        a
    }

    #[test]
    fn a_root_solves_as_the_factor_does_and_bounds_what_it_solves() {
        let mut random = Random::new(9);
        let mut root = InverseRoot::default();
        for n in 1..44 {
            let a = matrix(&mut random, n);
            let mut lower = a.clone();
            assert_eq!(cholesky(&mut lower, n), Ok(()));
            assert!(root.make(&a, n, 1e-4));
            let b: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
            let (mut x, mut y) = (b.clone(), b.clone());
            cholesky_solve(&lower, n, &mut x);
            root.solve(&mut y);
            let mut halves = b.clone();
            root.halve(&mut halves);
            root.complete(&mut halves);
            assert_eq!(halves, y, "{n}: two halves are one solve");
            let error: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
            assert!(max_abs(&error) < ROUNDING, "{n}: {error:?}");
            let column = |i: usize| {
                let mut x = vec![0.0; n];
                x[i] = 1.0;
                cholesky_solve(&lower, n, &mut x);
                x[i]
            };
            let trace: f64 = (0..n).map(column).sum();
            assert!((root.trace_of_inverse() - trace).abs() < ROUNDING * trace.max(1.0));
            let mut most: Vec<f64> = b.iter().map(|b| b.abs()).collect();
            root.solve_sizes(&mut most);
            // Of one unknown both are the same but for rounding.
            let within = |(x, most): (&f64, &f64)| x.abs() <= (1.0 + ROUNDING) * most;
            assert!(x.iter().zip(&most).all(within));
        }
    }

    #[test]
    fn answers_to_rows_are_those_of_the_inverse() {
        let mut random = Random::new(10);
        let mut root = InverseRoot::default();
        for n in 3..12 {
            let a = matrix(&mut random, n);
            assert!(root.make(&a, n, 1e-4));
            let rows: Vec<f64> = (0..3 * n).map(|_| random.range(-1.0, 1.0)).collect();
            let v: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
            let mut given = vec![[0.0; WIDTH]; 3 * root.fours()];
            let to = given.chunks_exact_mut(root.fours());
            for (to, row) in to.zip(rows.chunks_exact(n)) {
                to.as_flattened_mut()[..n].copy_from_slice(row);
            }
            let mut halves = Vec::new();
            let (mut c, mut d) = ([1.0; 3], [0.0; 9]);
            let answers = Answers {
                halves: &mut halves,
                c: &mut c,
                d: &mut d,
            };
            root.answer(&given, &v, answers);
            let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            for i in 0..3 {
                let row = &rows[i * n..(i + 1) * n];
                assert!((c[i] - 1.0 - product(row, &v)).abs() < ROUNDING);
                let mut answer = row.to_vec();
                root.solve(&mut answer);
                for j in 0..3 {
                    let wanted = product(&rows[j * n..(j + 1) * n], &answer);
                    assert!((d[3 * j + i] - wanted).abs() < ROUNDING, "{n}");
                }
            }
        }
    }

    #[test]
    fn a_pivot_that_is_not_safely_positive_is_refused() {
        let mut root = InverseRoot::default();
        assert!(!root.make(&[1.0, 2.0, 2.0, 1.0], 2, 1e-4));
        assert!(!root.make(&[1.0, 0.999_999, 0.999_999, 1.0], 2, 1e-4));
        assert!(!root.make(&[f64::NAN], 1, 1e-4));
        assert!(root.make(&[], 0, 1e-4));
        // Units far apart are no sign of it.
        assert!(root.make(&[1e-12, 0.0, 0.0, 1e12], 2, 1e-4));
        let many = 60;
        let identity = |e: usize| f64::from(e.is_multiple_of(many + 1));
        let identity: Vec<f64> = (0..many * many).map(identity).collect();
        assert!(!root.make(&identity, many, 1e-4));
    }
}
