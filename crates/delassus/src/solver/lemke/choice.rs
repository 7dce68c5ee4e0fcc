//! The ratio test of the common case, for tables that are searched at every pivot.

use super::ratio::{self, Pivot};

/// Pairs looked at together: those that block are few, and a branch for each would be guessed wrong.
const WIDE: usize = 16;

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
    /// Work array: pairs that may block.
    pub(super) near: &'a mut Vec<usize>,
}

impl pulp::WithSimd for Search<'_> {
    type Output = Choice;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> Choice {
        let (values, rates) = (self.values, self.rates);
        let largest = largest_rate(rates);
        let (least, slack) = (-ratio::PIVOT * largest, ratio::SLACK * self.scale);
        let none = Choice {
            leaving: None,
            largest,
        };
        if values.is_empty() || least <= rates[0] && rates[0] < 0.0 || !largest.is_finite() {
            return none;
        }
        self.near.clear();
        let limit = first_pass(values, rates, (least, slack), self.near);
        if limit == f64::MAX {
            return none;
        }
        let (mut best, mut steepest, mut ties) = (0, 0.0, 0);
        for &i in self.near.iter() {
            if positive(values[i]) + rates[i] * limit <= 0.0 {
                if i == 0 {
                    return Choice {
                        leaving: Some(0),
                        largest,
                    };
                }
                ties += 1;
                if rates[i] < steepest {
                    (best, steepest) = (i, rates[i]);
                }
            }
        }
        let clear = ties == 1 || ties != 0 && self.pivot == Pivot::Big;
        Choice {
            leaving: clear.then_some(best),
            largest,
        }
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
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        for (value, rate) in self.values.iter_mut().zip(self.rates) {
            *value += self.step * rate;
        }
    }
}

/// The largest step that keeps every value above the slack. `near` gets all pairs that reach zero at or before it,
/// among others.
#[inline(always)]
fn first_pass(
    values: &[f64],
    rates: &[f64],
    (least, slack): (f64, f64),
    near: &mut Vec<usize>,
) -> f64 {
    let mut limit = f64::MAX;
    let mut look = |i: usize, value: f64, rate: f64, limit: &mut f64| {
        let value = positive(value);
        if rate < least && value + rate * *limit <= 0.0 {
            near.push(i);
            if value + slack + rate * *limit <= 0.0 {
                *limit = (value + slack) / -rate;
            }
        }
    };
    let (wide_values, rest_values) = values.as_chunks::<WIDE>();
    let (wide_rates, rest_rates) = rates.as_chunks::<WIDE>();
    for (k, (values, rates)) in wide_values.iter().zip(wide_rates).enumerate() {
        let mut left = [0.0; WIDE];
        for i in 0..WIDE {
            left[i] = positive(values[i]) + rates[i] * limit;
        }
        if smallest(&left) <= 0.0 {
            for i in 0..WIDE {
                look(WIDE * k + i, values[i], rates[i], &mut limit);
            }
        }
    }
    let first = WIDE * wide_values.len();
    for (i, (&value, &rate)) in rest_values.iter().zip(rest_rates).enumerate() {
        look(first + i, value, rate, &mut limit);
    }
    limit
}

#[inline(always)]
fn positive(x: f64) -> f64 {
    if 0.0 < x { x } else { 0.0 }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a < b { b } else { a }
}

#[inline(always)]
fn smallest(x: &[f64; WIDE]) -> f64 {
    let mut eight = [0.0; 8];
    for i in 0..8 {
        eight[i] = smaller(x[i], x[i + 8]);
    }
    let mut four = [0.0; 4];
    for i in 0..4 {
        four[i] = smaller(eight[i], eight[i + 4]);
    }
    smaller(smaller(four[0], four[2]), smaller(four[1], four[3]))
}

/// max(1, |m′|).
#[inline(always)]
fn largest_rate(rates: &[f64]) -> f64 {
    let mut lanes = [1.0_f64; 8];
    let (chunks, rest) = rates.as_chunks::<8>();
    for chunk in chunks {
        for i in 0..8 {
            lanes[i] = larger(lanes[i], chunk[i].abs());
        }
    }
    let rest = rest.iter().fold(1.0, |m, rate| larger(m, rate.abs()));
    lanes.into_iter().fold(rest, larger)
}
