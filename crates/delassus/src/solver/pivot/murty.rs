//! Murty's least-index principal pivoting: a second opinion that shares nothing with Lemke but the factorisation.
//!
//! From the empty set, the first pair whose basic variable is negative changes sides, until none is. For a P-matrix
//! (every principal minor positive) this ends at the one solution; for others it may cycle, and the pivot limit ends it.

use super::basis::Factor;
use super::lcp::Lcp;
use super::solve::LcpAnswer;
use crate::math::max_abs;
use crate::solver::Status;

/// A value below zero by more than this much of max|q| counts as negative.
const NEGATIVE: f64 = 1e-12;

/// Solves by least-index principal pivoting with at most `pivots` exchanges.
pub fn murty(lcp: &Lcp, pivots: usize) -> LcpAnswer {
    let n = lcp.len();
    let mut set: Vec<usize> = (0..n).filter(|&i| lcp.free()[i]).collect();
    let mut factor = Factor::default();
    let mut answer = LcpAnswer::new(n);
    let below = -NEGATIVE * max_abs(lcp.q());
    loop {
        if !basic(lcp, &set, &mut factor, &mut answer.z) {
            answer.status = Status::Breakdown;
            return answer;
        }
        let w = lcp.w(&answer.z);
        let negative = |i: usize| {
            let value = if set.contains(&i) { answer.z[i] } else { w[i] };
            !lcp.free()[i] && value < below
        };
        let Some(i) = (0..n).find(|&i| negative(i)) else {
            answer.conclude(lcp, Status::Solved);
            return answer;
        };
        if pivots <= answer.pivots {
            answer.status = Status::PivotLimit;
            return answer;
        }
        match set.iter().position(|&j| j == i) {
            Some(at) => drop(set.remove(at)),
            None => set.push(i),
        }
        answer.pivots += 1;
    }
}

/// z with w = 0 in the rows of a set and z = 0 in all others; false where these have no single answer.
pub(super) fn basic(lcp: &Lcp, set: &[usize], factor: &mut Factor, z: &mut [f64]) -> bool {
    factor.refactor(set.len(), |i, j| lcp.column(set[j])[set[i]]);
    let mut x: Vec<f64> = set.iter().map(|&i| -lcp.q()[i]).collect();
    z.fill(0.0);
    let single = factor.solve(&mut x);
    for (&j, x) in set.iter().zip(&x).filter(|_| single) {
        z[j] = *x;
    }
    single
}
