//! The ratio test of the common case, for tables that are searched at every pivot.

use super::ratio::{self, Pivot};

/// The outcome of the ratio test where it needs nothing but values and rates: the same choice as
/// [`ratio::RatioTest::leaving`], without a branch that depends on every pair. None where the test must look closer: at a
/// weak rate of z₀, at ties under the lexicographic rule, at a ray. With it the largest rate.
pub(super) fn clear_choice(
    values: &[f64],
    rates: &[f64],
    scale: f64,
    pivot: Pivot,
) -> (Option<usize>, f64) {
    let largest = largest_rate(rates);
    let (least, slack) = (-ratio::PIVOT * largest, ratio::SLACK * scale);
    let mut limit = f64::MAX;
    each_below(values, rates, slack, &mut limit, |i, limit| {
        if rates[i] < least {
            *limit = (values[i].max(0.0) + slack) / -rates[i];
        }
    });
    let weak = least <= rates[0] && rates[0] < 0.0;
    if weak || limit == f64::MAX || !largest.is_finite() {
        return (None, largest);
    }
    let (mut best, mut steepest, mut ties, mut z0) = (0, 0.0, 0, false);
    each_below(values, rates, 0.0, &mut limit, |i, _| {
        if rates[i] < least {
            ties += 1;
            z0 |= i == 0;
            if rates[i] < steepest {
                (best, steepest) = (i, rates[i]);
            }
        }
    });
    let clear = z0 || ties == 1 || ties != 0 && pivot == Pivot::Big;
    (clear.then_some(if z0 { 0 } else { best }), largest)
}

/// Calls `found` for every pair whose value, slack added, is at or below zero after the step `limit`, which it may
/// make shorter. Four pairs are looked at together: such pairs are few, and a branch for each would be guessed wrong.
fn each_below(
    values: &[f64],
    rates: &[f64],
    slack: f64,
    limit: &mut f64,
    mut found: impl FnMut(usize, &mut f64),
) {
    let after = |value: f64, rate: f64, limit: f64| {
        let value = if 0.0 < value { value } else { 0.0 };
        value + slack + rate * limit
    };
    let smaller = |a: f64, b: f64| if b < a { b } else { a };
    let (values4, values1) = values.as_chunks::<4>();
    let (rates4, rates1) = rates.as_chunks::<4>();
    for (k, (values, rates)) in values4.iter().zip(rates4).enumerate() {
        let mut left = [0.0; 4];
        for i in 0..4 {
            left[i] = after(values[i], rates[i], *limit);
        }
        let least = smaller(smaller(left[0], left[1]), smaller(left[2], left[3]));
        if least <= 0.0 {
            for i in 0..4 {
                if after(values[i], rates[i], *limit) <= 0.0 {
                    found(4 * k + i, limit);
                }
            }
        }
    }
    let rest = 4 * values4.len();
    for (i, (&value, &rate)) in values1.iter().zip(rates1).enumerate() {
        if after(value, rate, *limit) <= 0.0 {
            found(rest + i, limit);
        }
    }
}

/// max(1, |m′|), four at a time.
fn largest_rate(rates: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if a < b { b } else { a };
    let mut lanes = [1.0_f64; 4];
    let (chunks, rest) = rates.as_chunks::<4>();
    for chunk in chunks {
        for (lane, rate) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, rate.abs());
        }
    }
    let rest = rest.iter().fold(1.0, |m, rate| larger(m, rate.abs()));
    lanes.into_iter().fold(rest, larger)
}
