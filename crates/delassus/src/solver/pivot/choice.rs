//! The ratio test of the common case, for tables that are searched at every pivot.

use super::ratio::{self, Pivot};
use pulp::Simd;

/// Registers that are worked on together, so that none waits for the one before.
const WIDE: usize = 4;

/// The outcome of the ratio test where it needs nothing but values and rates: the same choice as
/// [`ratio::RatioTest::leaving`]. `leaving` is none where the test must look closer: at a weak rate of z₀, at ties
/// under the lexicographic rule, at a ray. `largest` is max(1, |m′|).
pub(super) struct Choice {
    pub(super) leaving: Option<usize>,
    pub(super) largest: f64,
}

/// Arguments of the test, which is compiled once for every kind of processor and chosen at run time.
pub(super) struct Search<'a> {
    pub(super) values: &'a [f64],
    pub(super) rates: &'a [f64],
    pub(super) scale: f64,
    pub(super) pivot: Pivot,
}

impl pulp::WithSimd for Search<'_> {
    type Output = Choice;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Choice {
        let (values, rates) = (self.values, self.rates);
        let largest = largest_rate(simd, rates);
        let (least, slack) = (-ratio::PIVOT * largest, ratio::SLACK * self.scale);
        let mut choice = Choice {
            leaving: None,
            largest,
        };
        if values.is_empty() || least <= rates[0] && rates[0] < 0.0 || !largest.is_finite() {
            return choice;
        }
        let limit = largest_step(simd, (values, rates), (least, slack));
        if limit == f64::INFINITY {
            return choice;
        }
        if rates[0] < least && left(values[0], rates[0], limit) <= 0.0 {
            choice.leaving = Some(0);
            return choice;
        }
        let mut block = Blocking {
            ties: 0,
            best: 0,
            steepest: 0.0,
        };
        block.search(simd, (values, rates), (least, limit));
        let clear = block.ties == 1 || block.ties != 0 && self.pivot == Pivot::Big;
        choice.leaving = clear.then_some(block.best);
        choice
    }
}

/// values += step × rates.
pub(super) struct Advance<'a> {
    pub(super) values: &'a mut [f64],
    pub(super) rates: &'a [f64],
    pub(super) step: f64,
}

impl pulp::WithSimd for Advance<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (values, rest_values) = S::as_mut_simd_f64s(self.values);
        let (rates, rest_rates) = S::as_simd_f64s(self.rates);
        let step = simd.splat_f64s(self.step);
        for (value, rate) in values.iter_mut().zip(rates) {
            *value = simd.add_f64s(*value, simd.mul_f64s(step, *rate));
        }
        for (value, rate) in rest_values.iter_mut().zip(rest_rates) {
            *value += self.step * rate;
        }
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

/// The largest step that keeps every value above the slack: the smallest (q′ + δ)/(−m′), found without a division
/// for every pair.
#[inline(always)]
fn largest_step<S: Simd>(
    simd: S,
    (values, rates): (&[f64], &[f64]),
    (least, slack): (f64, f64),
) -> f64 {
    let zero = simd.splat_f64s(0.0);
    let (leasts, slacks) = (simd.splat_f64s(least), simd.splat_f64s(slack));
    let (values, rest_values) = S::as_simd_f64s(values);
    let (rates, rest_rates) = S::as_simd_f64s(rates);
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

/// Pairs that reach zero at or before the limit, and the one with the largest rate among them.
struct Blocking {
    ties: usize,
    best: usize,
    steepest: f64,
}

impl Blocking {
    #[inline(always)]
    fn search<S: Simd>(
        &mut self,
        simd: S,
        (values, rates): (&[f64], &[f64]),
        (least, limit): (f64, f64),
    ) {
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let (leasts, limits) = (simd.splat_f64s(least), simd.splat_f64s(limit));
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
                self.look(
                    first,
                    &values[first..first + two],
                    &rates[first..],
                    least,
                    limit,
                );
            }
        }
        let first = wide_values.len() * two;
        self.look(first, &values[first..], &rates[first..], least, limit);
    }

    #[inline(always)]
    fn look(&mut self, first: usize, values: &[f64], rates: &[f64], least: f64, limit: f64) {
        for (i, (&value, &rate)) in values.iter().zip(rates).enumerate() {
            if rate < least && left(value, rate, limit) <= 0.0 {
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
