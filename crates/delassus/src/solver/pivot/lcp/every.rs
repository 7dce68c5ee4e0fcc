//! Every complementary basis of a small problem: where all paths end on rays, an answer may still stand beside them.
//!
//! A basis costs a fresh factorisation, O(n³); Lemke's path is cheaper wherever it ends.

use super::Lcp;
use super::solve::LcpAnswer;
use crate::linalg::qr_update::QrFactor;
use crate::solver::Status;

/// z with w = 0 in the rows of a set and z = 0 in all others; false where these have no single answer.
fn basic(lcp: &Lcp, set: &[usize], factor: &mut QrFactor, z: &mut [f64]) -> bool {
    factor.refactor(set.len(), |i, j| lcp.column(set[j])[set[i]]);
    let mut x: Vec<f64> = set.iter().map(|&i| -lcp.q()[i]).collect();
    z.fill(0.0);
    let single = factor.solve(&mut x);
    for (&j, x) in set.iter().zip(&x).filter(|_| single) {
        z[j] = *x;
    }
    single
}

/// Most pairs whose bases are all tried, which are 4096 of them.
const PAIRS: usize = 12;
/// Most unknowns with those of free rows, which are in every basis.
const UNKNOWNS: usize = 24;

/// The answer of the first basis that gives one. None where none does, or where there are too many to try.
pub(crate) fn solve_every(lcp: &Lcp) -> Option<LcpAnswer> {
    let free = lcp.free();
    let (always, pairs): (Vec<usize>, Vec<usize>) = (0..lcp.len()).partition(|&i| free[i]);
    if PAIRS < pairs.len() || UNKNOWNS < lcp.len() {
        return None;
    }
    let mut factor = QrFactor::default();
    let mut answer = LcpAnswer::new(lcp.len());
    (0..1_usize << pairs.len()).find_map(|bits| {
        let chosen = (0..pairs.len()).filter(|k| bits >> k & 1 == 1);
        let set: Vec<usize> = always
            .iter()
            .copied()
            .chain(chosen.map(|k| pairs[k]))
            .collect();
        if !basic(lcp, &set, &mut factor, &mut answer.z) {
            return None;
        }
        answer.conclude(lcp, Status::Solved);
        (answer.status == Status::Solved).then(|| answer.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_beside_all_paths_is_found() {
        // w₁ = −z₁ + 1, w₂ = z₁ − z₂ + 1: neither matrix nor sign is kind.
        let lcp = Lcp::new(&[-1.0, 0.0, 1.0, -1.0], vec![1.0, 1.0]).unwrap();
        let answer = solve_every(&lcp).unwrap();
        assert_eq!((answer.status, answer.z), (Status::Solved, vec![0.0, 0.0]));
        let lcp = Lcp::new(&[-1.0, 0.0, 1.0, -1.0], vec![1.0, -2.0]).unwrap();
        assert!(solve_every(&lcp).is_none());
        let mut lcp = Lcp::new(&[0.0, 2.0, 1.0, -1.0], vec![-4.0, 1.0]).unwrap();
        lcp.set_free(0);
        // The free row makes z₂ = 2; then w₂ = 0 makes z₁ = 1.
        assert_eq!(solve_every(&lcp).unwrap().z, [1.0, 2.0]);
    }

    #[test]
    fn large_problems_are_left_alone() {
        let n = PAIRS + 1;
        let lcp = Lcp::new(&vec![0.0; n * n], vec![1.0; n]).unwrap();
        assert!(solve_every(&lcp).is_none());
    }
}
