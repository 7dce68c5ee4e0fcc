//! The ratio test: which basic variable leaves when the driving variable grows.   [Lemke05 §4]
//!
//! ```text
//! t̂ = min (q′_i + δ)/(−m′_i)          over pairs with m′_i < −ε max(1, |m′|); none: a ray
//! blocking: q′_i + t̂ m′_i ≤ 0          of these z₀ leaves if it is one; else
//! big: the largest −m′_i               lex: the lexicographic minimum of the rows of B⁻¹/(−m′)
//! ```
//!
//! Every method calls it with two slices indexed by pair: the value q′ of the pair's basic variable and its rate m′
//! along the driving variable. A pair that must not leave (the one with no basic variable, free columns) has the rate
//! zero. z₀ has an index of its own.
//!
//! How this differs from the source: (1) two passes after Harris, so that the largest of nearly equal pivots is taken;
//! (2) z₀ wins every tie; (3) z₀ alone may leave with a rate that counts as rounding, which small compliance leads to,
//! if the point it leaves at is verified: on a ray such a rate is rounding (errata Lemke05-4-ties); (4) columns of B⁻¹
//! are asked for only where the lexicographic rule has ties to break; (5) [`Search`] makes the same choice in lanes where
//! values and rates are enough. Cost: two passes over the pairs, and one solve for each column of B⁻¹ asked for.

use crate::solver::catalogue::name_of;
use pulp::Simd;

/// A basic value may fall below zero by this much of the scale of q.
const SLACK: f64 = 1e-12;
/// Rates below this much of the largest are taken for rounding.
const WEAKEST: f64 = 1e-10;
/// The lexicographic rule does not look at pivots this much smaller than the best.
const WEAK: f64 = 1e-4;
/// A variable that leaves at this much of the scale of q or less does not move the others.
const STILL: f64 = 1e-10;
/// z₀ may leave with a rate below [`WEAKEST`] if the natural residual of the point it leaves at is at most this much
/// of the scale of q.
pub(crate) const VERIFIED: f64 = 1e-8;
/// Entries of the lexicographic comparison closer than this are equal.
const SAME: f64 = 1e-10;

/// How ties of the ratio test are broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pivot {
    /// By the largest rate: fewest pivots and largest ones.
    #[default]
    Big,
    /// By the lexicographic minimum: never cycles.
    Lex,
}

impl Pivot {
    /// All rules, with the names used on the command line.
    pub const NAMES: [(&'static str, Pivot); 2] = [("big", Pivot::Big), ("lex", Pivot::Lex)];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        name_of(&Pivot::NAMES, self)
    }
}

/// Tells a cycle from a long way: pivots that leave at zero move nothing, and only such pivots can repeat a basis. The
/// lexicographic rule never does and needs no guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CycleGuard {
    still: usize,
    most: usize,
}

impl CycleGuard {
    /// A guard for so many pairs.
    pub(crate) fn new(pivot: Pivot, pairs: usize) -> CycleGuard {
        let most = match pivot {
            Pivot::Big => 100 + 2 * pairs,
            Pivot::Lex => usize::MAX,
        };
        CycleGuard { still: 0, most }
    }

    /// Call after every pivot with the value its variable left at; true if this looks like a cycle.
    pub(crate) fn cycles(&mut self, value: f64, scale: f64) -> bool {
        let moves = STILL * scale < value;
        self.still = if moves { 0 } else { self.still + 1 };
        self.most < self.still
    }
}

/// What the ratio test asks the method that keeps the basis.
pub(crate) trait BasisColumns {
    /// Number of columns the lexicographic rule compares, in one fixed order over the whole run.
    fn columns(&self) -> usize;

    /// Entries of B⁻¹e_j at the given pairs. Called for ties under [`Pivot::Lex`] only.
    fn column(&mut self, j: usize, pairs: &[usize], entries: &mut [f64]);

    /// Whether the point at which z₀ leaves, `step` along the driving variable, solves the problem.
    fn verify(&mut self, step: f64) -> bool;
}

/// The ratio test with its work arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct RatioTest {
    pivot: Pivot,
    ties: Vec<usize>,
    entries: Vec<f64>,
}

impl RatioTest {
    pub(crate) fn new(pivot: Pivot) -> RatioTest {
        RatioTest {
            pivot,
            ..RatioTest::default()
        }
    }

    pub(crate) fn pivot(&self) -> Pivot {
        self.pivot
    }

    /// The pair whose basic variable leaves, or none: a ray. `z0` is the index of z₀ and `scale` is max|q|.
    pub(crate) fn leaving(
        &mut self,
        values: &[f64],
        rates: &[f64],
        z0: usize,
        scale: f64,
        basis: &mut impl BasisColumns,
    ) -> Option<usize> {
        let largest = rates.iter().fold(1.0_f64, |m, rate| m.max(rate.abs()));
        let least = -WEAKEST * largest;
        let slack = SLACK * scale;
        let mut limit = f64::INFINITY;
        for (&value, &rate) in values.iter().zip(rates) {
            // t̂ ≤ (q′ + δ)/(−m′), without dividing where the pair does not bind.
            if rate < least && value.max(0.0) + slack < -rate * limit {
                limit = (value.max(0.0) + slack) / -rate;
            }
        }
        if least <= rates[z0] && rates[z0] < 0.0 {
            let step = values[z0].max(0.0) / -rates[z0];
            if step <= limit && basis.verify(step) {
                return Some(z0);
            }
        }
        if limit == f64::INFINITY {
            return None;
        }
        // The slack may drown in a large value: the pair that set the limit must still be among those it stops.
        limit *= 1.0 + 4.0 * f64::EPSILON;
        let blocks = |i: usize| rates[i] < least && values[i].max(0.0) <= -rates[i] * limit;
        if blocks(z0) {
            return Some(z0);
        }
        self.ties.clear();
        self.ties.extend((0..values.len()).filter(|&i| blocks(i)));
        let steepest = |a: &usize, b: &usize| rates[*a].total_cmp(&rates[*b]);
        let biggest = self.ties.iter().copied().min_by(steepest)?;
        if self.pivot == Pivot::Lex && 1 < self.ties.len() {
            self.ties.retain(|&i| rates[i] <= WEAK * rates[biggest]);
            self.lexicographic(rates, basis);
            return self.ties.first().copied();
        }
        Some(biggest)
    }

    /// Keeps, column by column, the ties with the smallest (B⁻¹)_ij/(−m_i).
    fn lexicographic(&mut self, rates: &[f64], basis: &mut impl BasisColumns) {
        for j in 0..basis.columns() {
            if self.ties.len() <= 1 {
                return;
            }
            self.entries.clear();
            self.entries.resize(self.ties.len(), 0.0);
            basis.column(j, &self.ties, &mut self.entries);
            let (mut least, mut largest) = (f64::INFINITY, 1.0_f64);
            for (entry, &i) in self.entries.iter_mut().zip(&self.ties) {
                *entry /= -rates[i];
                least = least.min(*entry);
                largest = largest.max(entry.abs());
            }
            let mut k = 0;
            self.ties.retain(|_| {
                k += 1;
                self.entries[k - 1] <= least + SAME * largest
            });
        }
    }
}

/// The pair that z₀ replaces first: the smallest q_i/c_i over pairs with c_i > 0, the last of equal ones, where
/// the lexicographic perturbation is smallest. None where every q_i ≥ 0.
pub(crate) fn first(q: &[f64], cover: &[f64]) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    for (i, (&q, &c)) in q.iter().zip(cover).enumerate() {
        if q < 0.0 && 0.0 < c && best.is_none_or(|(least, _)| q / c <= least) {
            best = Some((q / c, i));
        }
    }
    best.map(|(_, i)| i)
}

/// Registers that are worked on together, so that none waits for the one before.
const WIDE: usize = 4;

/// The ratio test where it needs nothing but values and rates, for tables that are searched at every pivot: the same
/// choice as [`RatioTest::leaving`] with z₀ at index 0. It is compiled once for every kind of processor and chosen at
/// run time.
pub(crate) struct Search<'a> {
    pub(crate) values: &'a [f64],
    pub(crate) rates: &'a [f64],
    pub(crate) scale: f64,
    pub(crate) pivot: Pivot,
}

/// What the search found.
pub(crate) struct Choice {
    /// The pair that leaves. None where the test must look closer: at a weak rate of z₀, at ties under the
    /// lexicographic rule, at a ray.
    pub(crate) leaving: Option<usize>,
    /// max(1, |m′|).
    pub(crate) largest: f64,
}

impl pulp::WithSimd for Search<'_> {
    type Output = Choice;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Choice {
        let (values, rates) = (self.values, self.rates);
        let largest = largest_rate(simd, rates);
        let least = -WEAKEST * largest;
        let mut choice = Choice {
            leaving: None,
            largest,
        };
        if values.is_empty() || least <= rates[0] && rates[0] < 0.0 || !largest.is_finite() {
            return choice;
        }
        let limit = self.largest_step(simd, least);
        if limit == f64::INFINITY {
            return choice;
        }
        if rates[0] < least && left(values[0], rates[0], limit) <= 0.0 {
            choice.leaving = Some(0);
            return choice;
        }
        let mut block = Blocking {
            least,
            limit,
            ties: 0,
            best: 0,
            steepest: 0.0,
        };
        block.search(simd, values, rates);
        let clear = block.ties == 1 || block.ties != 0 && self.pivot == Pivot::Big;
        choice.leaving = clear.then_some(block.best);
        choice
    }
}

impl Search<'_> {
    /// The largest step that keeps every value above the slack: the smallest (q′ + δ)/(−m′), found without a division
    /// for every pair.
    #[inline(always)]
    fn largest_step<S: Simd>(&self, simd: S, least: f64) -> f64 {
        let slack = SLACK * self.scale;
        let zero = simd.splat_f64s(0.0);
        let (leasts, slacks) = (simd.splat_f64s(least), simd.splat_f64s(slack));
        let (values, rest_values) = S::as_simd_f64s(self.values);
        let (rates, rest_rates) = S::as_simd_f64s(self.rates);
        let (wide_values, narrow_values) = values.as_chunks::<WIDE>();
        let (wide_rates, narrow_rates) = rates.as_chunks::<WIDE>();
        // −(q′ + δ)/m′ of the pair that binds most in each lane; 1/0 is no limit.
        let mut up = [simd.splat_f64s(1.0); WIDE];
        let mut down = [simd.splat_f64s(-0.0); WIDE];
        macro_rules! look {
            ($k:expr, $value:expr, $rate:expr) => {
                let value = simd.add_f64s(simd.max_f64s($value, zero), slacks);
                let (mine, best) = (simd.mul_f64s(value, down[$k]), simd.mul_f64s(up[$k], $rate));
                let binds = simd.and_m64s(
                    simd.less_than_f64s($rate, leasts),
                    simd.less_than_f64s(best, mine),
                );
                up[$k] = simd.select_f64s(binds, value, up[$k]);
                down[$k] = simd.select_f64s(binds, $rate, down[$k]);
            };
        }
        for (values, rates) in wide_values.iter().zip(wide_rates) {
            for k in 0..WIDE {
                look!(k, values[k], rates[k]);
            }
        }
        for (k, (value, rate)) in narrow_values.iter().zip(narrow_rates).enumerate() {
            look!(k, *value, *rate);
        }
        for (k, other) in [(0, 1), (2, 3), (0, 2)] {
            let mine = simd.mul_f64s(up[k], down[other]);
            let binds = simd.less_than_f64s(mine, simd.mul_f64s(up[other], down[k]));
            up[k] = simd.select_f64s(binds, up[other], up[k]);
            down[k] = simd.select_f64s(binds, down[other], down[k]);
        }
        let mut limit = -simd.reduce_max_f64s(simd.div_f64s(up[0], down[0]));
        for (value, rate) in rest_values.iter().zip(rest_rates) {
            if *rate < least {
                limit = smaller(limit, (positive(*value) + slack) / -rate);
            }
        }
        limit
    }
}

/// max(1, |m′|).
#[inline(always)]
fn largest_rate<S: Simd>(simd: S, rates: &[f64]) -> f64 {
    let (rates, rest) = S::as_simd_f64s(rates);
    let (wide, narrow) = rates.as_chunks::<WIDE>();
    let mut top = [simd.splat_f64s(1.0); WIDE];
    for rates in wide {
        for k in 0..WIDE {
            top[k] = simd.max_f64s(simd.abs_f64s(rates[k]), top[k]);
        }
    }
    for (k, rate) in narrow.iter().enumerate() {
        top[k] = simd.max_f64s(simd.abs_f64s(*rate), top[k]);
    }
    let (a, b) = (simd.max_f64s(top[0], top[1]), simd.max_f64s(top[2], top[3]));
    let mut largest = simd.reduce_max_f64s(simd.max_f64s(a, b));
    for rate in rest {
        largest = if largest < rate.abs() {
            rate.abs()
        } else {
            largest
        };
    }
    largest
}

/// Pairs that reach zero at or before the limit, and the one with the largest rate among them.
struct Blocking {
    /// Rates below this block, up to this step.
    least: f64,
    limit: f64,
    ties: usize,
    best: usize,
    steepest: f64,
}

impl Blocking {
    #[inline(always)]
    fn search<S: Simd>(&mut self, simd: S, values: &[f64], rates: &[f64]) {
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let (leasts, limits) = (simd.splat_f64s(self.least), simd.splat_f64s(self.limit));
        let two = 2 * S::F64_LANES;
        let (wide_values, _) = S::as_simd_f64s(values).0.as_chunks::<2>();
        let (wide_rates, _) = S::as_simd_f64s(rates).0.as_chunks::<2>();
        for (block, (v, r)) in wide_values.iter().zip(wide_rates).enumerate() {
            // Those that block are few: two registers are asked together.
            let mut rest = [one; 2];
            for k in 0..2 {
                let left = simd.add_f64s(simd.max_f64s(v[k], zero), simd.mul_f64s(r[k], limits));
                rest[k] = simd.select_f64s(simd.less_than_f64s(r[k], leasts), left, one);
            }
            if simd.reduce_min_f64s(simd.min_f64s(rest[0], rest[1])) <= 0.0 {
                let first = block * two;
                self.look(first, &values[first..first + two], &rates[first..]);
            }
        }
        let first = wide_values.len() * two;
        self.look(first, &values[first..], &rates[first..]);
    }

    #[inline(always)]
    fn look(&mut self, first: usize, values: &[f64], rates: &[f64]) {
        for (i, (&value, &rate)) in values.iter().zip(rates).enumerate() {
            if rate < self.least && left(value, rate, self.limit) <= 0.0 {
                self.ties += 1;
                if rate < self.steepest {
                    (self.best, self.steepest) = (first + i, rate);
                }
            }
        }
    }
}

/// What is left of a value after a step.
#[inline(always)]
fn left(value: f64, rate: f64, step: f64) -> f64 {
    positive(value) + rate * step
}

#[inline(always)]
fn positive(x: f64) -> f64 {
    if 0.0 < x { x } else { 0.0 }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A basis whose inverse is given.
    struct Given(Vec<[f64; 3]>, bool);

    impl BasisColumns for Given {
        fn columns(&self) -> usize {
            3
        }
        fn column(&mut self, j: usize, pairs: &[usize], entries: &mut [f64]) {
            for (entry, &i) in entries.iter_mut().zip(pairs) {
                *entry = self.0[i][j];
            }
        }
        fn verify(&mut self, _step: f64) -> bool {
            self.1
        }
    }

    fn identity(answer: bool) -> Given {
        let rows = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3]];
        Given(rows, answer)
    }

    #[test]
    fn ties_go_to_the_largest_rate_or_to_the_lexicographic_minimum() {
        let (values, rates) = ([1.0, 2.0, 3.0, 9.0], [-1.0, -2.0, -3.0, -1.0]);
        let choose =
            |pivot| RatioTest::new(pivot).leaving(&values, &rates, 3, 1.0, &mut identity(false));
        assert_eq!(choose(Pivot::Big), Some(2));
        // Column 0 throws pair 0 out, column 1 pair 1.
        assert_eq!(choose(Pivot::Lex), Some(2));
        let mut test = RatioTest::new(Pivot::Lex);
        let mut basis = Given(
            vec![[1.0, 0.0, 0.0], [0.0; 3], [3.0, 0.0, 0.0], [0.0; 3]],
            false,
        );
        assert_eq!(test.leaving(&values, &rates, 3, 1.0, &mut basis), Some(1));
    }

    #[test]
    fn the_artificial_variable_wins_every_tie() {
        let (values, rates) = ([1.0, 5.0, 5.0, 1.0], [-1.0, -1.0, 0.0, -1.0]);
        for pivot in [Pivot::Big, Pivot::Lex] {
            let mut test = RatioTest::new(pivot);
            let found = test.leaving(&values, &rates, 3, 1.0, &mut identity(false));
            assert_eq!(found, Some(3));
        }
    }

    #[test]
    fn the_artificial_variable_may_leave_with_a_tiny_rate_but_only_verified() {
        let (values, rates) = ([1.0, 1.0, 1.0, 1e-13], [0.0, 1.0, 0.5, -1e-12]);
        let mut test = RatioTest::new(Pivot::Big);
        let mut leave = |answer| test.leaving(&values, &rates, 3, 1.0, &mut identity(answer));
        assert_eq!(leave(true), Some(3));
        assert_eq!(leave(false), None);
    }

    #[test]
    fn growing_values_mean_a_ray_and_rounding_is_no_pivot() {
        let (values, rates) = ([0.0, 1.0, 1.0, 1.0], [-1e-12, 1.0, 0.0, 0.0]);
        let mut test = RatioTest::new(Pivot::Big);
        assert_eq!(
            test.leaving(&values, &rates, 3, 1.0, &mut identity(true)),
            None
        );
    }

    #[test]
    fn values_slightly_below_zero_block_at_once() {
        let (values, rates) = ([-1e-14, 1e-13, 1.0, 1.0], [-1.0, -5.0, -1.0, 1.0]);
        let mut test = RatioTest::new(Pivot::Big);
        // Both block within the slack; the larger pivot is taken.
        assert_eq!(
            test.leaving(&values, &rates, 3, 1.0, &mut identity(false)),
            Some(1)
        );
    }

    #[test]
    fn a_value_in_which_the_slack_drowns_still_blocks() {
        let mut random = crate::math::Random::new(4);
        for _ in 0..10_000 {
            let value = random.range(1.0, 1e6);
            let rate = -random.range(1e-3, 1e6);
            let mut test = RatioTest::new(Pivot::Big);
            let (values, rates) = ([value, 1.0], [rate, 0.0]);
            assert_eq!(
                test.leaving(&values, &rates, 1, 1e-3, &mut identity(false)),
                Some(0)
            );
        }
    }

    #[test]
    fn a_cycle_is_a_long_run_of_pivots_that_move_nothing() {
        let (mut big, mut lex) = (
            CycleGuard::new(Pivot::Big, 3),
            CycleGuard::new(Pivot::Lex, 3),
        );
        assert!((0..1000).all(|_| !lex.cycles(0.0, 1.0)));
        assert!((0..106).all(|_| !big.cycles(0.0, 1.0)));
        assert!(!big.cycles(0.5, 1.0));
        assert!((0..106).all(|_| !big.cycles(0.0, 1.0)));
        assert!(big.cycles(0.0, 1.0));
    }

    #[test]
    fn the_first_pair_is_the_last_of_equal_ones() {
        assert_eq!(first(&[-1.0, -2.0, -1.0], &[1.0; 3]), Some(1));
        assert_eq!(first(&[-1.0, -1.0, -1.0], &[1.0; 3]), Some(2));
        assert_eq!(first(&[-1.0, -9.0, -1.0], &[1.0, 0.0, 2.0]), Some(0));
        assert_eq!(first(&[0.0, 1.0], &[1.0; 2]), None);
    }
}
