//! Contact laws as data: one normal and a list of disks, whose radii follow the normal impulse.
//!
//! ```text
//! K  = {λ: Σ_i (λ_i/μ_i)² ≤ λ_n² over the rows i of each disk}
//! ŵ  = w + Σ_j μ_j|w_j| e_n                          De Saxcé's shift, one term for each round disk j
//! law: Signorini on n, maximal dissipation on each disk by itself  ⇔  λ = P_K(λ − ρŵ) for any ρ > 0
//! ```
//!
//! The circular cone is one disk, the box one disk for each tangent, rolling friction a second disk over the rows of
//! relative spin. An ellipsoid is a disk in rows scaled by their coefficients.

use std::ops::Range;

use super::{Fault, Law};
use crate::math::{dot, norm};

/// Most rows of a contact.
pub const MOST_ROWS: usize = 6;
/// Most disks of a law: sliding, rolling, spinning.
const MOST_DISKS: usize = 3;

/// Consecutive rows of a contact with one bound together: Σ(λ_i/μ_i)² ≤ λ_n².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    start: usize,
    end: usize,
    mu: [f64; MOST_ROWS - 1],
}

impl Disk {
    /// Its rows within the block.
    #[inline]
    pub fn rows(&self) -> Range<usize> {
        self.start..self.end
    }

    /// A coefficient for each of its rows: without unit where rows are velocities, in metres where they are spins.
    #[inline]
    pub fn mu(&self) -> &[f64] {
        &self.mu[..self.end - self.start]
    }
}

impl Law {
    /// The disks of a contact law of so many rows, in the order of their rows; none for other laws. Facets give the
    /// disk they are inscribed in.
    #[inline]
    pub fn disks(&self, n_rows: usize) -> impl Iterator<Item = Disk> + Clone + use<> {
        let law = *self;
        std::iter::successors(law.disk_at(1, n_rows), move |disk| {
            law.disk_at(disk.end, n_rows)
        })
    }

    /// The disk whose first row is `start`.
    #[inline]
    fn disk_at(&self, start: usize, n_rows: usize) -> Option<Disk> {
        if n_rows <= start {
            return None;
        }
        let disk = |end, mu| Some(Disk { start, end, mu });
        let round = |end, mu| disk(end, [mu; MOST_ROWS - 1]);
        match *self {
            Law::Equality | Law::Unilateral | Law::Interval { .. } => None,
            Law::FrictionCone { mu } | Law::FrictionFacets { mu, .. } => round(n_rows, mu),
            Law::EllipticCone { mu: [a, b] } => disk(3, [a, b, 0.0, 0.0, 0.0]),
            Law::FrictionBox { mu } => round(start + 1, mu),
            Law::RollingCone { mu, .. } if start == 1 => round(1 + n_rows / 2, mu),
            Law::RollingCone { rolling, .. } => round(n_rows, rolling),
            Law::RollingSpinning { mu, .. } if start == 1 => round(3, mu),
            Law::RollingSpinning { rolling, .. } if start == 3 => round(5, rolling),
            Law::RollingSpinning { spinning, .. } => round(6, spinning),
            Law::TorsionalCone { mu, spinning } => disk(4, [mu, mu, spinning, 0.0, 0.0]),
            Law::EllipsoidCone {
                mu,
                rolling,
                spinning,
            } => disk(6, [mu, mu, rolling, rolling, spinning]),
        }
    }

    /// The law in rows of spin that a length ℓ has made velocities: coefficients of rolling and spinning over ℓ.
    pub(crate) fn with_spin_over(mut self, length: f64) -> Law {
        match &mut self {
            Law::RollingCone { rolling, .. } => *rolling /= length,
            Law::TorsionalCone { spinning, .. } => *spinning /= length,
            Law::RollingSpinning {
                rolling, spinning, ..
            }
            | Law::EllipsoidCone {
                rolling, spinning, ..
            } => {
                *rolling /= length;
                *spinning /= length;
            }
            _ => {}
        }
        self
    }

    /// Rows that are relative spins instead of velocities, of a contact of so many rows.
    pub fn spin_rows(&self, n_rows: usize) -> Range<usize> {
        match self {
            Law::RollingCone { .. } => 1 + n_rows / 2..n_rows,
            Law::RollingSpinning { .. } | Law::TorsionalCone { .. } | Law::EllipsoidCone { .. } => {
                3..n_rows
            }
            _ => n_rows..n_rows,
        }
    }
}

/// Round disks of one contact: rows and coefficient of each.
#[derive(Clone, Debug, Default)]
struct Round {
    disks: [(usize, usize, f64); MOST_DISKS],
    count: usize,
}

impl Round {
    fn of(law: &Law, n_rows: usize) -> Round {
        let mut round = Round::default();
        for disk in law.disks(n_rows).take(MOST_DISKS) {
            round.disks[round.count] = (disk.start, disk.end, disk.mu[0]);
            round.count += 1;
        }
        round
    }

    fn each(&self) -> impl Iterator<Item = (Range<usize>, f64)> + '_ {
        let disks = self.disks[..self.count].iter();
        disks.map(|&(start, end, mu)| (start..end, mu))
    }

    /// Euclidean projection on K, in place. With T_j = |x_j| the new normal is the root a ≥ 0 of
    /// g(a) = a − x_n − Σ_j μ_j max(0, T_j − μ_j a); a part outside its disk is cut to the radius μ_j a.
    fn project(&self, x: &mut [f64]) {
        let normal = x[0];
        let lengths: [f64; MOST_DISKS] = std::array::from_fn(|j| {
            let (start, end, _) = self.disks[j];
            norm(&x[start..end])
        });
        // g is concave and grows: Newton from a = 0 stays left of the root, and parts leave the sum one by one.
        let mut a = 0.0;
        for step in 0..=MOST_DISKS {
            let (mut sum, mut slope) = (normal, 1.0);
            for (j, (_, mu)) in self.each().enumerate() {
                if mu * a < lengths[j] {
                    sum += mu * lengths[j];
                    slope += mu * mu;
                }
            }
            let next = sum / slope;
            if step == 0 && !(0.0 < next) {
                x.fill(0.0);
                return;
            }
            if !(a < next) {
                break;
            }
            a = next;
        }
        x[0] = a;
        for (j, (rows, mu)) in self.each().enumerate() {
            if mu * a < lengths[j] {
                let scale = mu * a / lengths[j];
                x[rows].iter_mut().for_each(|x| *x *= scale);
            }
        }
    }

    /// |λ − P_K(λ − ρŵ)|/ρ with ρ = rows/trace.
    fn fault(&self, lambda: &[f64], w: &[f64], diagonal: &[f64]) -> Fault {
        let n = w.len();
        let rho = n as f64 / diagonal.iter().sum::<f64>();
        // ŵ = w + Σ μ_j|w_j| e_n
        let shift: f64 = self.each().map(|(rows, mu)| mu * norm(&w[rows])).sum();
        let shifted = |i: usize| if i == 0 { w[0] + shift } else { w[i] };
        let distance = |x: &[f64; MOST_ROWS]| {
            let squares = x.iter().zip(lambda).map(|(x, l)| (x - l) * (x - l));
            squares.sum::<f64>().sqrt()
        };
        let (mut target, mut nearest) = ([0.0; MOST_ROWS], [0.0; MOST_ROWS]);
        for i in 0..n {
            target[i] = lambda[i] - rho * shifted(i);
            nearest[i] = lambda[i];
        }
        self.project(&mut target[..n]);
        self.project(&mut nearest[..n]);
        let natural = distance(&target) / rho;
        // Speeds whose squares overflow cannot be measured, so they cannot pass.
        if !(natural.is_finite() && (rho * shifted(0)).is_finite()) {
            return Fault::INFINITE;
        }
        Fault {
            natural,
            feasibility: (distance(&nearest) / rho).max(-w[0]),
            complementarity: (dot(lambda, w) + lambda[0] * shift).abs(),
        }
    }
}

/// Laws whose disks are round, in the rows as they are.
pub(super) fn fault(law: &Law, lambda: &[f64], w: &[f64], diagonal: &[f64]) -> Fault {
    Round::of(law, w.len()).fault(lambda, w, diagonal)
}

/// One ellipsoid, in rows scaled by its coefficients: λ_i/μ_i, μ_i w_i, μ_i² d_i, where it is a disk with μ = 1.
/// A row whose coefficient is zero may carry no impulse and is measured by that alone.
pub(super) fn ellipsoid_fault(law: &Law, lambda: &[f64], w: &[f64], diagonal: &[f64]) -> Fault {
    let mut scaled = [[0.0; MOST_ROWS]; 3];
    for (to, from) in scaled.iter_mut().zip([lambda, w, diagonal]) {
        to[0] = from[0];
    }
    let (mut n, mut forbidden) = (1, 0.0_f64);
    for disk in law.disks(w.len()) {
        for (i, &mu) in disk.rows().zip(disk.mu()) {
            if 0.0 < mu {
                scaled[0][n] = lambda[i] / mu;
                scaled[1][n] = w[i] * mu;
                scaled[2][n] = diagonal[i] * mu * mu;
                n += 1;
            } else {
                forbidden = forbidden.hypot(diagonal[i] * lambda[i]);
            }
        }
    }
    let one = Round {
        disks: [(1, n, 1.0), (0, 0, 0.0), (0, 0, 0.0)],
        count: 1,
    };
    let inner = one.fault(&scaled[0][..n], &scaled[1][..n], &scaled[2][..n]);
    Fault {
        natural: inner.natural.hypot(forbidden),
        feasibility: inner.feasibility.max(forbidden),
        ..inner
    }
}

#[cfg(test)]
mod tests;
