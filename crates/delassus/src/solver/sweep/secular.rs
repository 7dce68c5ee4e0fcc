//! The slip of one contact under Coulomb's law, by a scalar equation.
//!
//! With W = D_tt − D_tn D_nt/d_nn and h = g_t − D_tn g_n/d_nn, slip means z_t(κ) = −(W + κ)⁻¹h,
//! z_n(κ) = −(g_n + D_nt z_t)/d_nn and |z_t| = μz_n for some κ > 0, the ratio of slip speed to friction.

use crate::law::cone;

/// The slip equation F(κ) = |z_t(κ)| − μz_n(κ) in the eigenbasis of W.
pub(super) struct Secular {
    mu: f64,
    /// Eigenvalues of W and the unit eigenvector of the first.
    e: [f64; 2],
    axis: [f64; 2],
    /// h and D_nt/d_nn in that basis; g_n/d_nn.
    h: [f64; 2],
    coupling: [f64; 2],
    lift: f64,
}

impl Secular {
    pub(super) fn new(d: &[f64; 9], g: &[f64; 3], mu: f64) -> Secular {
        let n = 1.0 / d[0];
        let (a, c) = (d[4] - d[3] * d[1] * n, d[8] - d[6] * d[2] * n);
        let b = d[5] - d[3] * d[2] * n;
        let mean = 0.5 * (a + c);
        let radius = (0.5 * (a - c)).hypot(b);
        // The eigenvector of the larger eigenvalue makes half the angle of (a − c, 2b) with t₁.
        let (sin, cos) = (0.5 * (2.0 * b).atan2(a - c)).sin_cos();
        let turn = |x: f64, y: f64| [cos * x + sin * y, cos * y - sin * x];
        Secular {
            mu,
            e: [mean + radius, (mean - radius).max(0.0)],
            axis: [cos, sin],
            h: turn(g[1] - d[3] * g[0] * n, g[2] - d[6] * g[0] * n),
            coupling: turn(d[1] * n, d[2] * n),
            lift: g[0] * n,
        }
    }

    /// (z_n, z_t) in the eigenbasis.
    fn slip(&self, kappa: f64) -> (f64, [f64; 2]) {
        let over = |h: f64, e: f64| if h == 0.0 { 0.0 } else { -h / (e + kappa) };
        let t = [over(self.h[0], self.e[0]), over(self.h[1], self.e[1])];
        (
            -(self.lift + self.coupling[0] * t[0] + self.coupling[1] * t[1]),
            t,
        )
    }

    fn value(&self, kappa: f64) -> f64 {
        let (n, t) = self.slip(kappa);
        (t[0] * t[0] + t[1] * t[1]).sqrt() - self.mu * n
    }

    /// Walks up from stick until F changes sign, then closes the bracket by the Illinois rule. F(0) > 0
    /// because stick failed and F(∞) = μg_n/d_nn < 0, so a root exists. Walking finds
    /// the least one unless two lie within a factor of four of each other.
    pub(super) fn root(&self) -> f64 {
        let (mut lo, mut f_lo) = (0.0, self.value(0.0));
        let mut hi = self.e[0] * 1e-6;
        let mut f_hi = self.value(hi);
        for _ in 0..600 {
            if f_hi <= 0.0 {
                break;
            }
            (lo, f_lo) = (hi, f_hi);
            hi *= 4.0;
            f_hi = self.value(hi);
        }
        let mut side = 0;
        for _ in 0..100 {
            if hi - lo <= 4.0 * f64::EPSILON * hi || f_hi == 0.0 {
                break;
            }
            let mut next = lo + (hi - lo) * f_lo / (f_lo - f_hi);
            if !(lo < next && next < hi) {
                next = 0.5 * (lo + hi);
            }
            let f = self.value(next);
            if 0.0 < f {
                (lo, f_lo) = (next, f);
                if side == 1 {
                    f_hi *= 0.5;
                }
                side = 1;
            } else {
                (hi, f_hi) = (next, f);
                if side == -1 {
                    f_lo *= 0.5;
                }
                side = -1;
            }
        }
        hi
    }

    /// The impulse at κ, back in (n, t₁, t₂), exactly on the cone.
    pub(super) fn at(&self, kappa: f64) -> [f64; 3] {
        let (n, t) = self.slip(kappa);
        let n = n.max(0.0);
        let [cos, sin] = self.axis;
        let t = cone::project_disk(
            [cos * t[0] - sin * t[1], sin * t[0] + cos * t[1]],
            self.mu * n,
        );
        [n, t[0], t[1]]
    }
}
