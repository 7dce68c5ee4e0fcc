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
    steps: &mut Vec<f64>,
) -> (Option<usize>, f64) {
    let largest = largest_rate(rates);
    let least = -ratio::PIVOT * largest;
    steps.resize(rates.len(), 0.0);
    let limit = step_limit(values, rates, least, ratio::SLACK * scale, steps);
    let weak = least <= rates[0] && rates[0] < 0.0;
    if weak || limit == f64::INFINITY || !largest.is_finite() {
        return (None, largest);
    }
    if steps[0] <= limit {
        return (Some(0), largest);
    }
    let (mut best, mut steepest, mut ties) = (0, 0.0, 0);
    for (i, &step) in steps.iter().enumerate() {
        if step <= limit {
            ties += 1;
            if rates[i] < steepest {
                (best, steepest) = (i, rates[i]);
            }
        }
    }
    let clear = ties == 1 || ties != 0 && pivot == Pivot::Big;
    (clear.then_some(best), largest)
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

/// The step after which every pair reaches zero, infinite for pairs that do not fall, and the largest step that
/// keeps all of them above −slack.
fn step_limit(values: &[f64], rates: &[f64], least: f64, slack: f64, steps: &mut [f64]) -> f64 {
    let smaller = |a: f64, b: f64| if b < a { b } else { a };
    // A quotient for every pair, most of them not wanted, is faster than a branch that cannot be foreseen.
    let one = |value: f64, rate: f64| {
        let inverse = if rate < least {
            -1.0 / rate
        } else {
            f64::INFINITY
        };
        let value = if 0.0 < value { value } else { 0.0 };
        (value * inverse, (value + slack) * inverse)
    };
    let mut lanes = [f64::INFINITY; 4];
    let mut rest = f64::INFINITY;
    let (steps4, steps1) = steps.as_chunks_mut::<4>();
    let (values4, values1) = values.as_chunks::<4>();
    let (rates4, rates1) = rates.as_chunks::<4>();
    for ((steps, values), rates) in steps4.iter_mut().zip(values4).zip(rates4) {
        for k in 0..4 {
            let (step, limit) = one(values[k], rates[k]);
            steps[k] = step;
            lanes[k] = smaller(lanes[k], limit);
        }
    }
    for ((step, &value), &rate) in steps1.iter_mut().zip(values1).zip(rates1) {
        let limit;
        (*step, limit) = one(value, rate);
        rest = smaller(rest, limit);
    }
    lanes.into_iter().fold(rest, smaller)
}
