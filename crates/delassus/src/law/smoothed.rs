//! Every law as a smoothed projection: λ = P_δ(λ − ρw), with its derivative.
//!
//! ```text
//! P_δ(x) = ½(x + √(x² + 4δ²))                      a smooth max(x, 0), for x < 0 as 2δ²/(√(x² + 4δ²) − x)
//! normal :  N = P_δ(y_n)                           y = λ − ρw
//! disk   :  Y = |y_t|,  m = ½(N + Y + √((N − Y)² + 4δ²)),   λ_t = (N/m) y_t      in rows scaled to radius N
//! bounds :  λ = lo + P_δ(y − lo) − P_δ(y − hi)
//! ```
//!
//! Facets project on a polygon instead of a disk (`polygon.rs`).
//!
//! m is a smooth max(N, Y), so that at δ = 0 the tangent is projected on the disk of radius μλ_n: Signorini and Coulomb
//! themselves, no associated relaxation. Tangent rows are scaled by their coefficients of friction, λ̃_i = λ_i/μ_i,
//! w̃_i = μ_i w_i, which makes an ellipse a disk; a box is one disk of a single component for each tangent, and rolling and
//! spinning friction are further disks, or further components of one.

use glam::DVec2;

use super::Law;
use super::cone::length;
use super::disks::{Disk, MOST_ROWS};
use super::polygon::project;
use crate::math::norm;

/// One block at one point: what the smoothed law gives and how it changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Smoothed {
    /// λ − P_δ(λ − ρw).
    pub(crate) f: Vec<f64>,
    /// ∂f/∂λ and ∂f/∂w, row-major.
    pub(crate) by_lambda: Vec<f64>,
    pub(crate) by_w: Vec<f64>,
    /// ∂f/∂(log δ).
    pub(crate) by_log_delta: Vec<f64>,
}

/// Whether derivatives are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Value,
    Derivative,
}

/// P_δ(x), its derivative, and its derivative by log δ.
#[inline]
fn plus(x: f64, delta: f64) -> (f64, f64, f64) {
    let root = (x * x + 4.0 * delta * delta).sqrt();
    if root == 0.0 {
        return (0.0, 1.0, 0.0);
    }
    let value = if 0.0 < x {
        0.5 * (x + root)
    } else {
        2.0 * delta * delta / (root - x)
    };
    (value, 0.5 * (1.0 + x / root), 2.0 * delta * delta / root)
}

impl Smoothed {
    /// Evaluates the law of a block; equalities have none.
    pub(crate) fn evaluate(&mut self, law: &Law, point: Point<'_>, want: Want) {
        if let (Law::FrictionCone { mu }, 3) = (*law, point.lambda.len())
            && f64::MIN_POSITIVE <= mu
        {
            return self.cone(mu, point, want);
        }
        let n = point.lambda.len();
        self.f.clear();
        self.f.resize(n, 0.0);
        if want == Want::Derivative {
            for square in [&mut self.by_lambda, &mut self.by_w] {
                square.clear();
                square.resize(n * n, 0.0);
            }
            self.by_log_delta.clear();
            self.by_log_delta.resize(n, 0.0);
        }
        match *law {
            Law::Equality => self.bounds((f64::NEG_INFINITY, f64::INFINITY), point, want),
            Law::Unilateral => self.bounds((0.0, f64::INFINITY), point, want),
            Law::Interval { lo, hi } => self.bounds((lo, hi), point, want),
            Law::FrictionFacets { mu, directions } if 0.0 < mu => {
                let normal = self.normal(point, want);
                self.facets((mu, directions), (point, normal), want);
            }
            law if point.length == 1.0 => self.contact(&law, point, want),
            law => self.scaled_contact(&law, point, want),
        }
    }

    /// A contact with Coulomb's cone, nearly all there are.
    fn cone(&mut self, mu: f64, point: Point<'_>, want: Want) {
        let on = ConeAt::of(mu, point);
        put(&mut self.f, on.f);
        if want == Want::Derivative {
            put(&mut self.by_w, on.by_w);
            put(&mut self.by_lambda, on.by_lambda);
            put(&mut self.by_log_delta, on.by_log_delta);
        }
    }

    /// A normal and its disks.
    fn contact(&mut self, law: &Law, point: Point<'_>, want: Want) {
        let normal = self.normal(point, want);
        for disk in law.disks(point.lambda.len()) {
            self.disk(&disk, (point, normal), want);
        }
    }

    /// The same in rows of spin that a length ℓ has made velocities: λ/ℓ, ℓw, μ/ℓ. f is that of the scaled rows, an
    /// impulse throughout; its derivatives are by λ and w as they are.
    fn scaled_contact(&mut self, law: &Law, point: Point<'_>, want: Want) {
        let (n, length) = (point.lambda.len(), point.length);
        let spins = law.spin_rows(n);
        let (mut lambda, mut w) = ([0.0; MOST_ROWS], [0.0; MOST_ROWS]);
        lambda[..n].copy_from_slice(point.lambda);
        w[..n].copy_from_slice(point.w);
        for i in spins.clone() {
            lambda[i] /= length;
            w[i] *= length;
        }
        let scaled = Point {
            lambda: &lambda[..n],
            w: &w[..n],
            ..point
        };
        self.contact(&law.with_spin_over(length), scaled, want);
        if want == Want::Derivative {
            for row in 0..n {
                for column in spins.clone() {
                    self.by_lambda[row * n + column] /= length;
                    self.by_w[row * n + column] *= length;
                }
            }
        }
    }

    /// lo ≤ λ ≤ hi, row by row.
    fn bounds(&mut self, (lo, hi): (f64, f64), point: Point<'_>, want: Want) {
        let n = point.lambda.len();
        for i in 0..n {
            let (lambda, rho, delta) = (point.lambda[i], point.rho, point.delta);
            let y = lambda - rho * point.w[i];
            let (value, slope, drift) = match (lo.is_finite(), hi.is_finite()) {
                (true, true) if lo == hi => (lo, 0.0, 0.0),
                (true, true) => {
                    let (below, above) = (plus(y - lo, delta), plus(y - hi, delta));
                    (lo + below.0 - above.0, below.1 - above.1, below.2 - above.2)
                }
                (true, false) => {
                    let (value, slope, drift) = plus(y - lo, delta);
                    (lo + value, slope, drift)
                }
                (false, true) => {
                    let (value, slope, drift) = plus(hi - y, delta);
                    (hi - value, slope, -drift)
                }
                (false, false) => (y, 1.0, 0.0),
            };
            self.f[i] = lambda - value;
            if want == Want::Derivative {
                self.by_lambda[i * n + i] = 1.0 - slope;
                self.by_w[i * n + i] = rho * slope;
                self.by_log_delta[i] = -drift;
            }
        }
    }

    /// The normal row; gives N with its derivatives by y_n and log δ.
    fn normal(&mut self, point: Point<'_>, want: Want) -> (f64, f64, f64) {
        let normal = plus(point.lambda[0] - point.rho * point.w[0], point.delta);
        self.f[0] = point.lambda[0] - normal.0;
        if want == Want::Derivative {
            self.by_lambda[0] = 1.0 - normal.1;
            self.by_w[0] = point.rho * normal.1;
            self.by_log_delta[0] = -normal.2;
        }
        normal
    }

    /// The polygon of a faceted cone, in rows scaled to corners at distance N.
    fn facets(
        &mut self,
        (mu, directions): (f64, u32),
        (point, (normal, slope, drift)): (Point<'_>, (f64, f64, f64)),
        want: Want,
    ) {
        let n = point.lambda.len();
        // ỹ = (λ − ρw)/μ
        let y = |i: usize| (point.lambda[i] - point.rho * point.w[i]) / mu;
        let on = project(DVec2::new(y(1), y(2)), normal, directions, point.delta);
        for i in 0..2 {
            self.f[1 + i] = point.lambda[1 + i] - mu * on.x[i];
            if want == Want::Value {
                continue;
            }
            let row = (1 + i) * n;
            // Through y_n and N.
            let column = mu * on.by_normal[i] * slope;
            self.by_lambda[row] = -column;
            self.by_w[row] = point.rho * column;
            self.by_log_delta[1 + i] = -mu * (on.by_log_delta[i] + on.by_normal[i] * drift);
            for j in 0..2 {
                let inner = on.by_y.col(j)[i];
                self.by_lambda[row + 1 + j] = f64::from(u8::from(i == j)) - inner;
                self.by_w[row + 1 + j] = point.rho * inner;
            }
        }
    }

    /// One disk of the law.
    fn disk(
        &mut self,
        disk: &Disk,
        (point, (normal, slope, drift)): (Point<'_>, (f64, f64, f64)),
        want: Want,
    ) {
        let n = point.lambda.len();
        let (rows, mu) = (disk.rows(), disk.mu());
        let largest = mu.iter().copied().fold(0.0, f64::max);
        let (mut y, mut scale) = ([0.0; MOST_ROWS - 1], [0.0; MOST_ROWS - 1]);
        for (j, i) in rows.clone().enumerate() {
            self.f[i] = point.lambda[i];
            if want == Want::Derivative {
                self.by_lambda[i * n + i] = 1.0;
            }
            if 0.0 < mu[j] {
                scale[j] = mu[j];
                // ỹ = λ/μ − (ρ/μ̄²) μ w
                y[j] =
                    point.lambda[i] / mu[j] - point.rho / (largest * largest) * mu[j] * point.w[i];
            }
        }
        let length = match mu.len() {
            0..=2 => length(y[0], y[1]),
            _ => norm(&y),
        };
        let Shares {
            part,
            by_normal,
            along,
            drift,
        } = Shares::of(length, (normal, drift), point.delta);
        for (j, i) in rows.clone().enumerate() {
            self.f[i] -= scale[j] * part * y[j];
        }
        if want == Want::Value {
            return;
        }
        for (j, i) in rows.clone().enumerate() {
            // ∂/∂N, through y_n.
            let column = scale[j] * y[j] * by_normal * slope;
            self.by_lambda[i * n] -= column;
            self.by_w[i * n] += point.rho * column;
            self.by_log_delta[i] -= scale[j] * y[j] * drift;
            for (k, l) in rows.clone().enumerate() {
                if scale[k] == 0.0 {
                    continue;
                }
                let diagonal = if j == k { part } else { 0.0 };
                let inner = scale[j] * (diagonal - along * y[j] * y[k]);
                self.by_lambda[i * n + l] -= inner / scale[k];
                self.by_w[i * n + l] += inner * scale[k] * point.rho / (largest * largest);
            }
        }
    }
}

/// What [`Smoothed`] is of a contact with Coulomb's cone: a normal and one disk whose rows have the same scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConeAt {
    pub(crate) f: [f64; 3],
    pub(crate) by_lambda: [f64; 9],
    pub(crate) by_w: [f64; 9],
    by_log_delta: [f64; 3],
}

impl ConeAt {
    /// At a point of three rows, μ positive.
    #[inline(always)]
    pub(crate) fn of(mu: f64, point: Point<'_>) -> ConeAt {
        let (lambda, rho) = (point.lambda, point.rho);
        let y: [f64; 3] = std::array::from_fn(|i| lambda[i] - rho * point.w[i]);
        let (normal, slope, drift) = plus(y[0], point.delta);
        let scaled = 1.0 / mu;
        let y = [y[1] * scaled, y[2] * scaled];
        let shares = Shares::of(length(y[0], y[1]), (normal, drift), point.delta);
        let on = y.map(|y| mu * shares.part * y);
        // ∂/∂N, through y_n, and ∂/∂y of the tangent.
        let column = y.map(|y| mu * y * shares.by_normal * slope);
        let inner = |j: usize, k: usize| -shares.along * y[j] * y[k];
        let (a, b, c) = (
            shares.part + inner(0, 0),
            inner(0, 1),
            shares.part + inner(1, 1),
        );
        let by = [slope, 0.0, 0.0, column[0], a, b, column[1], b, c];
        let [n, _, _, x, a, b, y1, _, c] = by.map(|x| -x);
        let drifts = y.map(|y| -mu * y * shares.drift);
        ConeAt {
            f: [lambda[0] - normal, lambda[1] - on[0], lambda[2] - on[1]],
            by_lambda: [1.0 + n, 0.0, 0.0, x, 1.0 + a, b, y1, b, 1.0 + c],
            by_w: by.map(|x| rho * x),
            by_log_delta: [-drift, drifts[0], drifts[1]],
        }
    }
}

/// How the point (N/m) y of a disk of radius N changes, Y = |y| long; all zero where there is nothing but its centre.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    /// N/m.
    part: f64,
    /// Its derivatives by N, and by Y over −Y.
    by_normal: f64,
    along: f64,
    /// Its derivative by log δ.
    drift: f64,
}

impl Shares {
    /// With N and its derivative by log δ.
    fn of(length: f64, (normal, drift): (f64, f64), delta: f64) -> Shares {
        let root = ((normal - length).powi(2) + 4.0 * delta * delta).sqrt();
        let most = 0.5 * (normal + length + root);
        if !(0.0 < most) {
            return Shares::default();
        }
        // Share of m that follows N, the rest follows Y; and what m follows of δ itself.
        let (share, own) = match 0.0 < root {
            true => (
                0.5 * (1.0 + (normal - length) / root),
                2.0 * delta * delta / root,
            ),
            false => (1.0, 0.0),
        };
        let part = normal / most;
        Shares {
            part,
            by_normal: (1.0 - part * share) / most,
            along: match 0.0 < length {
                true => part * (1.0 - share) / (most * length),
                false => 0.0,
            },
            drift: (drift - part * (share * drift + own)) / most,
        }
    }
}

/// Writes numbers over a list.
fn put<const N: usize>(list: &mut Vec<f64>, numbers: [f64; N]) {
    list.clear();
    list.extend_from_slice(&numbers);
}

/// Impulse and row velocity of one block with ρ and δ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point<'a> {
    pub(crate) lambda: &'a [f64],
    pub(crate) w: &'a [f64],
    pub(crate) rho: f64,
    pub(crate) delta: f64,
    /// What makes rows of spin velocities; 1 where there are none [m].
    pub(crate) length: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    const FACETS: Law = Law::FrictionFacets {
        mu: 0.7,
        directions: 8,
    };

    const LAWS: [(Law, usize); 16] = [
        (FACETS, 3),
        (
            Law::FrictionFacets {
                mu: 0.5,
                directions: 5,
            },
            3,
        ),
        (Law::Unilateral, 2),
        (Law::Interval { lo: -0.4, hi: 0.7 }, 2),
        (
            Law::Interval {
                lo: f64::NEG_INFINITY,
                hi: 0.7,
            },
            1,
        ),
        (Law::FrictionCone { mu: 0.6 }, 3),
        (Law::FrictionCone { mu: 0.6 }, 2),
        (Law::FrictionCone { mu: 0.0 }, 3),
        (Law::EllipticCone { mu: [0.3, 1.1] }, 3),
        (Law::FrictionBox { mu: 0.5 }, 3),
        (ROLLING, 5),
        (ROLLING, 3),
        (
            Law::RollingCone {
                mu: 0.0,
                rolling: 0.2,
            },
            5,
        ),
        (
            Law::RollingSpinning {
                mu: 0.6,
                rolling: 0.2,
                spinning: 0.4,
            },
            6,
        ),
        (
            Law::TorsionalCone {
                mu: 0.6,
                spinning: 0.3,
            },
            4,
        ),
        (
            Law::EllipsoidCone {
                mu: 0.6,
                rolling: 0.0,
                spinning: 0.3,
            },
            6,
        ),
    ];
    const ROLLING: Law = Law::RollingCone {
        mu: 0.6,
        rolling: 0.2,
    };

    /// Length of rows of spin in these tests [m].
    const LENGTH: f64 = 0.3;

    fn value(law: &Law, lambda: &[f64], w: &[f64], rho: f64, delta: f64) -> Vec<f64> {
        let mut smoothed = Smoothed::default();
        smoothed.evaluate(
            law,
            Point {
                lambda,
                w,
                rho,
                delta,
                length: length(law),
            },
            Want::Value,
        );
        smoothed.f
    }

    fn length(law: &Law) -> f64 {
        if law.has_spin_rows() { LENGTH } else { 1.0 }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let mut random = Random::new(4);
        let h = 1e-6;
        for (law, n) in LAWS {
            for _ in 0..50 {
                let lambda: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
                let w: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
                let (rho, delta) = (random.range(0.5, 2.0), random.range(0.05, 0.5));
                let mut exact = Smoothed::default();
                let point = Point {
                    lambda: &lambda,
                    w: &w,
                    rho,
                    delta,
                    length: length(&law),
                };
                exact.evaluate(&law, point, Want::Derivative);
                let close = |column: usize, of: &[f64], plus: Vec<f64>, minus: Vec<f64>| {
                    for i in 0..n {
                        let difference = (plus[i] - minus[i]) / (2.0 * h);
                        let exact = if of.len() == n {
                            of[i]
                        } else {
                            of[i * n + column]
                        };
                        assert!(
                            (difference - exact).abs() < 1e-6,
                            "{law:?} {i} {column}: {difference} {exact}"
                        );
                    }
                };
                for j in 0..n {
                    let moved = |x: &[f64], by: f64| -> Vec<f64> {
                        let mut x = x.to_vec();
                        x[j] += by;
                        x
                    };
                    let f = |by| value(&law, &moved(&lambda, by), &w, rho, delta);
                    close(j, &exact.by_lambda, f(h), f(-h));
                    let f = |by| value(&law, &lambda, &moved(&w, by), rho, delta);
                    close(j, &exact.by_w, f(h), f(-h));
                }
                let f = |by: f64| value(&law, &lambda, &w, rho, delta * by.exp());
                close(0, &exact.by_log_delta, f(h), f(-h));
            }
        }
    }

    #[test]
    fn without_smoothing_the_zeros_are_those_of_the_law() {
        let mut random = Random::new(5);
        for (law, n) in LAWS {
            for _ in 0..200 {
                // z = λ − w of the law's own projection, friction by the disk of the normal impulse found first.
                let z: Vec<f64> = (0..n).map(|_| random.range(-1.0, 1.0)).collect();
                let lambda: Vec<f64> = value(&law, &z, &vec![0.0; n], 1.0, 0.0);
                let mut lambda: Vec<f64> = z.iter().zip(lambda).map(|(z, f)| z - f).collect();
                let spins = law.spin_rows(n);
                spins.for_each(|i| lambda[i] = z[i] + LENGTH * (lambda[i] - z[i]));
                let mut w: Vec<f64> = lambda.iter().zip(&z).map(|(x, z)| x - z).collect();
                // Disks are projected in scaled rows, where λ̃ − w̃ is not λ − w.
                let scaled = law.with_spin_over(length(&law));
                for (disk, scaled) in law.disks(n).zip(scaled.disks(n)) {
                    let largest = scaled.mu().iter().copied().fold(0.0, f64::max);
                    for (i, mu) in disk.rows().zip(disk.mu()).filter(|(_, mu)| 0.0 < **mu) {
                        w[i] *= (largest / mu).powi(2);
                    }
                }
                let fault = law.fault(&lambda, &w, &vec![1.0; n]);
                assert!(fault.natural < 1e-12, "{law:?} {lambda:?} {w:?} {fault:?}");
                assert!(
                    value(&law, &lambda, &w, 1.0, 0.0)
                        .iter()
                        .all(|f| f.abs() < 1e-12)
                );
            }
        }
    }
}
