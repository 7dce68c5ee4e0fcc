//! The polygon of a friction group: its sides, and the slip that each of them opposes.

use crate::solver::pivot::contact::{ContactLcp, Group};
use crate::solver::pivot::guess::State;

/// n with nᵀd = 1 for two directions: friction t is within their side of the polygon if nᵀt ≤ μθ.
pub(super) fn side(lcp: &ContactLcp, group: &Group, i: usize, j: usize) -> [f64; 2] {
    let (a, b) = (
        lcp.directions[group.start + i],
        lcp.directions[group.start + j],
    );
    let det = a[0] * b[1] - a[1] * b[0];
    [(b[1] - a[1]) / det, (a[0] - b[0]) / det]
}

/// The same for the ends of friction along one line, and its only direction.
pub(super) fn end(lcp: &ContactLcp, group: &Group, i: usize) -> [f64; 2] {
    let [a, b] = lcp.directions[group.start + i];
    let square = a * a + b * b;
    [a / square, b / square]
}

/// The slip nearest to the one given that goes with a state.
pub(super) fn lawful(
    lcp: &ContactLcp,
    group: &Group,
    state: State,
    slip: [f64; 2],
    margin: f64,
) -> [f64; 2] {
    let d = |k: usize| lcp.directions[group.start + k];
    match state {
        State::Stick if group.count < 3 => along(d(0), slip, |_| 0.0),
        State::Stick => [0.0; 2],
        State::Idle => along(d(0), slip, |x| x.max(margin)),
        State::Corner(i) if group.count < 3 => along(d(i), slip, |x| x.min(-margin)),
        State::Side(i, j) => {
            let [x, y] = side(lcp, group, i, j);
            let opposed = -(slip[0] * x + slip[1] * y) / (x * x + y * y);
            let s = opposed.max(margin);
            [-s * x, -s * y]
        }
        State::Corner(i) => {
            let before = (i + group.count - 1) % group.count;
            let (m, n) = (
                side(lcp, group, before, i),
                side(lcp, group, i, (i + 1) % group.count),
            );
            // −slip as a sum of the normals of both sides, none of them negative.
            let det = m[0] * n[1] - m[1] * n[0];
            let a = ((slip[1] * n[0] - slip[0] * n[1]) / det).max(margin);
            let b = ((m[1] * slip[0] - m[0] * slip[1]) / det).max(margin);
            [-a * m[0] - b * n[0], -a * m[1] - b * n[1]]
        }
    }
}

/// A slip whose part along d is changed.
fn along(d: [f64; 2], slip: [f64; 2], change: impl Fn(f64) -> f64) -> [f64; 2] {
    let square = d[0] * d[0] + d[1] * d[1];
    let x = d[0] * slip[0] + d[1] * slip[1];
    let add = (change(x) - x) / square;
    [slip[0] + add * d[0], slip[1] + add * d[1]]
}
