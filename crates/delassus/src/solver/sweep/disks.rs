//! One contact with rolling or spinning friction at a time: the normal first, then one disk after the other.
//!
//! ```text
//! z_n = max(0, λ_n − w_n/d_nn)
//! z_j = P_disk(λ_j − w_j/δ_j),   δ_j ≥ λ_max(D_jj),   w_j refreshed by what changed before it
//! ```
//!
//! This is the rule `iso` with more disks: a fixed point obeys Signorini on the normal and maximal dissipation on every
//! disk. An ellipsoid is projected in rows scaled by its coefficients, λ_i/μ_i and μ_i w_i.

use super::rule::{Change, immobile};
use crate::law::Law;
use crate::law::disks::{Disk, MOST_ROWS};
use crate::linalg::largest_eigenvalue_2;
use crate::math::{dot, norm};

/// Most disks of such a law.
const MOST_DISKS: usize = 3;

/// The diagonal block of one contact with what its disks need.
#[derive(Clone, Debug)]
pub(crate) struct DiskContact {
    law: Law,
    rows: usize,
    /// D, row-major.
    d: [f64; MOST_ROWS * MOST_ROWS],
    /// 1/δ_j in rows scaled by the coefficients; zero where nothing moves or nothing may push.
    steps: [f64; MOST_DISKS],
}

impl DiskContact {
    pub(super) fn new(law: &Law, block: &[f64], rows: usize) -> DiskContact {
        let mut d = [0.0; MOST_ROWS * MOST_ROWS];
        d[..rows * rows].copy_from_slice(block);
        let mut steps = [0.0; MOST_DISKS];
        for (step, disk) in steps.iter_mut().zip(law.disks(rows)) {
            let top = top(&disk, block, rows);
            *step = if 0.0 < top { 1.0 / top } else { 0.0 };
        }
        DiskContact {
            law: *law,
            rows,
            d,
            steps,
        }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.d[i * self.rows..(i + 1) * self.rows]
    }

    /// `z` gets the new impulse for row velocity `w` and present impulse `lambda`.
    pub(super) fn solve(&self, w: &[f64], lambda: &[f64], z: &mut [f64]) {
        z.copy_from_slice(lambda);
        z[0] = match self.d[0] {
            d if 0.0 < d => (lambda[0] - w[0] / d).max(0.0),
            _ => immobile(lambda[0].max(0.0), w[0], (0.0, f64::INFINITY)),
        };
        for (disk, step) in self.law.disks(self.rows).zip(self.steps) {
            let start = disk.rows().start;
            let mut scaled = [0.0; MOST_ROWS - 1];
            for ((i, mu), x) in disk.rows().zip(disk.mu()).zip(&mut scaled) {
                if 0.0 < *mu {
                    let row = self.row(i);
                    let moved: f64 = (0..start).map(|j| row[j] * (z[j] - lambda[j])).sum();
                    *x = lambda[i] / mu - step * mu * (w[i] + moved);
                }
            }
            let length = norm(&scaled);
            let cut = if length <= z[0] { 1.0 } else { z[0] / length };
            for ((i, mu), x) in disk.rows().zip(disk.mu()).zip(scaled) {
                z[i] = mu * cut * x;
            }
        }
    }

    /// |DΔ|² and wᵀΔ + ½ΔᵀDΔ.
    pub(super) fn change(&self, w: &[f64], delta: &[f64]) -> Change {
        let (mut squared, mut change) = (0.0, 0.0);
        for i in 0..self.rows {
            let moved = dot(self.row(i), delta);
            squared += moved * moved;
            change += delta[i] * (w[i] + 0.5 * moved);
        }
        (squared, change)
    }
}

/// At least the largest eigenvalue of D_jj in scaled rows: exact for two rows, the smaller of two norms for more.
fn top(disk: &Disk, block: &[f64], rows: usize) -> f64 {
    let entry = |i: usize, j: usize| {
        let (row, column) = (disk.rows().start + i, disk.rows().start + j);
        disk.mu()[i] * block[row * rows + column] * disk.mu()[j]
    };
    let n = disk.mu().len();
    match n {
        1 => entry(0, 0),
        2 => largest_eigenvalue_2(entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)),
        _ => {
            let (mut squares, mut widest) = (0.0, 0.0_f64);
            for i in 0..n {
                let row = || (0..n).map(|j| entry(i, j));
                squares += row().map(|x| x * x).sum::<f64>();
                widest = widest.max(row().map(f64::abs).sum());
            }
            widest.min(squares.sqrt())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// One contact, visited again and again, comes to obey its law.
    #[test]
    fn a_contact_visited_again_and_again_obeys_its_law() {
        let laws = [
            (
                Law::RollingCone {
                    mu: 0.5,
                    rolling: 0.1,
                },
                5,
            ),
            (
                Law::RollingCone {
                    mu: 0.5,
                    rolling: 0.1,
                },
                3,
            ),
            (
                Law::RollingSpinning {
                    mu: 0.5,
                    rolling: 0.1,
                    spinning: 0.2,
                },
                6,
            ),
            (
                Law::TorsionalCone {
                    mu: 0.5,
                    spinning: 0.2,
                },
                4,
            ),
            (
                Law::EllipsoidCone {
                    mu: 0.5,
                    rolling: 0.0,
                    spinning: 0.2,
                },
                6,
            ),
        ];
        let mut random = Random::new(12);
        for (law, n) in laws {
            for _ in 0..50 {
                // D = 1 + A Aᵀ/4
                let a: Vec<f64> = (0..n * n).map(|_| random.range(-0.5, 0.5)).collect();
                let mut d = vec![0.0; n * n];
                for i in 0..n {
                    for j in 0..n {
                        let one = if i == j { 1.0 } else { 0.0 };
                        d[i * n + j] = one + dot(&a[i * n..][..n], &a[j * n..][..n]);
                    }
                }
                let c: Vec<f64> = (0..n).map(|_| random.range(-1.0, 0.5)).collect();
                let contact = DiskContact::new(&law, &d, n);
                let mut lambda = vec![0.0; n];
                let mut z = lambda.clone();
                let w = |lambda: &[f64]| -> Vec<f64> {
                    let row = |i: usize| c[i] + dot(&d[i * n..][..n], lambda);
                    (0..n).map(row).collect()
                };
                for _ in 0..400 {
                    contact.solve(&w(&lambda), &lambda, &mut z);
                    lambda.copy_from_slice(&z);
                }
                let diagonal: Vec<f64> = d.iter().step_by(n + 1).copied().collect();
                let fault = law.fault(&lambda, &w(&lambda), &diagonal);
                assert!(fault.natural < 1e-10, "{law:?} {fault:?}");
            }
        }
    }
}
