//! Games of two players, where Lemke's own start ends on a ray at once although answers always exist.
//!
//! M = (0 A; B 0) with A, B > 0 and q < 0: no column has an entry in its own row, so that nothing stops the first
//! driving variable, whatever the covering vector. The path of Lemke and Howson starts elsewhere: z_k, large enough
//! to lift the other player's rows, then that player's best reply z_s; the surplus of row k is what z₀ stands for,
//! with the covering vector −e_k, and pivots follow as ever, by the lexicographic rule: games are full of ties.

use super::Lcp;
use super::ratio::Pivot;
use super::scaled::Scaled;
use super::solve::{LcpAnswer, LcpOptions};
use super::standard::{self, Limits, Start};
use crate::solver::Status;
use crate::solver::pivot::budget::deadline;

/// Most strategies whose path is followed.
const STARTS: usize = 8;

/// Solves a game; None where the problem is no game, or no path that was followed ends.
pub(crate) fn solve_game(lcp: &Lcp, options: &LcpOptions) -> Option<LcpAnswer> {
    let side = sides(lcp)?;
    let scaled = Scaled::of(lcp);
    let deadline = deadline(options.time);
    let mut answer = LcpAnswer::new(lcp.len());
    for k in 0..lcp.len().min(STARTS) {
        let Some((cover, start)) = opening(&scaled.lcp, &side, k) else {
            continue;
        };
        let limits = Limits {
            pivots: options.pivots.saturating_sub(answer.pivots),
            deadline,
        };
        let run = standard::follow(&scaled.lcp, &cover, start, Pivot::Lex, limits);
        answer.pivots += run.pivots;
        answer.z = scaled.unscaled(&run.z);
        answer.conclude(lcp, run.end);
        match answer.status {
            Status::Solved => return Some(answer),
            Status::TimeLimit | Status::PivotLimit => return None,
            _ => {}
        }
    }
    None
}

/// For each row whether it is the second player's; None where M is not of this kind.
fn sides(lcp: &Lcp) -> Option<Vec<bool>> {
    let n = lcp.len();
    let negative = n != 0 && lcp.q().iter().all(|q| *q < 0.0);
    if !negative || lcp.free().contains(&true) || lcp.columns().iter().any(|x| *x < 0.0) {
        return None;
    }
    // Row 0 is the first player's, and rows with an entry in column 0 are the second's.
    let side: Vec<bool> = (0..n).map(|i| 0.0 < lcp.column(0)[i]).collect();
    let apart = (0..n).all(|j| {
        let rows = lcp.column(j).iter().zip(&side);
        rows.into_iter()
            .all(|(x, s)| (*s == side[j]) == (*x == 0.0))
    });
    apart.then_some(side)
}

/// Covering vector and first basis of the path that starts with strategy k.
fn opening(lcp: &Lcp, side: &[bool], k: usize) -> Option<(Vec<f64>, Start)> {
    let n = lcp.len();
    let best_reply = |j: usize| -> Option<usize> {
        let rows = (0..n).filter(|&i| side[i] != side[j]);
        rows.max_by(|&a, &b| {
            let ratio = |i: usize| -lcp.q()[i] / lcp.column(j)[i];
            ratio(a).total_cmp(&ratio(b))
        })
    };
    let s = best_reply(k)?;
    let r = best_reply(s)?;
    let mut cover = vec![0.0; n];
    cover[k] = -1.0;
    let start = if r == k {
        Start::Solution(vec![k, s])
    } else {
        Start::Basis {
            rows: vec![k, s, r],
            cols: vec![k, s, n],
            driving: r,
        }
    };
    Some((cover, start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use crate::solver::pivot::solve;

    fn game(a: usize, b: usize, mut entry: impl FnMut() -> f64) -> Lcp {
        let n = a + b;
        let mut m = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                if (i < a) != (j < a) {
                    m[i * n + j] = entry();
                }
            }
        }
        Lcp::new(&m, vec![-1.0; n]).unwrap()
    }

    #[test]
    fn games_are_solved_that_end_on_a_ray_from_the_usual_start() {
        let mut random = Random::new(6);
        for round in 0..300 {
            let (a, b) = (1 + random.below(12), 1 + random.below(12));
            // Every other game has payoffs from {1, 2, 3}: full of ties.
            let lcp = game(a, b, || match round % 2 {
                0 => random.range(0.1, 1.0),
                _ => 1.0 + random.below(3) as f64,
            });
            assert_eq!(solve(&lcp, &LcpOptions::default()).status, Status::Ray);
            let answer = solve_game(&lcp, &LcpOptions::default()).unwrap();
            assert!(answer.residual <= 1e-12, "{round} {answer:?}");
        }
    }

    #[test]
    fn other_problems_are_left_alone() {
        let options = LcpOptions::default();
        for (m, q) in [
            ([1.0, 1.0, 1.0, 0.0], [-1.0, -1.0]),
            ([0.0, -1.0, 1.0, 0.0], [-1.0, -1.0]),
            ([0.0, 1.0, 1.0, 0.0], [-1.0, 1.0]),
            ([0.0, 0.0, 0.0, 0.0], [-1.0, -1.0]),
        ] {
            let lcp = Lcp::new(&m, q.to_vec()).unwrap();
            assert!(solve_game(&lcp, &options).is_none(), "{m:?}");
        }
        assert!(solve_game(&Lcp::default(), &options).is_none());
    }
}
