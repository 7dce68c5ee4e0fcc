//! One disk of a contact as a Lorentz cone, with its Nesterov-Todd scaling.
//!
//! ```text
//! r = (λ_n, λ_j/μ_j) ,   u = (a_j, μ_j w_j)                             primal and dual, both inside |x_t| ≤ x₀
//! W r = W⁻¹u = ℓ ,   W = η [b₀ bᵀ; b 1 + bbᵀ/(1 + b₀)] ,   b₀² − |b|² = 1
//! W⁻² = η⁻² [1 + 2β² −2b₀bᵀ; −2b₀b 1 + 2bbᵀ] ,   β = |b|
//! ```

use crate::law::disks::{Disk, MOST_ROWS};
use crate::math::dot;

/// A vector of a cone: its height, then its tangents.
pub(super) type Point = [f64; MOST_ROWS];

/// Share of the derivative of |u_t| kept in the matrix.
const KEPT: f64 = 0.95;

/// A cone of one contact. All cones of a contact share its normal impulse.
#[derive(Clone, Debug)]
pub(super) struct Cone {
    /// First of its tangents among the rows of the block, and how many rows with the normal.
    pub(super) start: usize,
    pub(super) n: usize,
    /// Coefficients of its tangents, from entry 1 on.
    pub(super) mu: Point,
    pub(super) u: Point,
    pub(super) r: Point,
    pub(super) du: Point,
    pub(super) dr: Point,
    /// η, b, ℓ.
    eta: f64,
    b: Point,
    point: Point,
    /// 1/s, s the height of W⁻².
    pub(super) softness: f64,
    /// −h/s of every tangent, h the side of W⁻².
    pub(super) lean: Point,
    /// κ u_t/|u_t|, the derivative of |u_t|.
    pub(super) slip: Point,
    /// η⁻²/(1 + 2β²).
    flat: f64,
}

impl Cone {
    /// On the axes: heights u and r.
    pub(super) fn new(disk: &Disk, u: f64, r: f64) -> Cone {
        let zero = [0.0; MOST_ROWS];
        let (mut mu, n) = (zero, 1 + disk.rows().len());
        mu[1..n].copy_from_slice(disk.mu());
        let height = |x| {
            let mut point = zero;
            point[0] = x;
            point
        };
        Cone {
            start: disk.rows().start,
            n,
            mu,
            u: height(u),
            r: height(r),
            du: zero,
            dr: zero,
            eta: 1.0,
            b: height(1.0),
            point: zero,
            softness: 1.0,
            lean: zero,
            slip: zero,
            flat: 1.0,
        }
    }

    /// Tangents among the rows of the block, with their entries here.
    pub(super) fn tangents(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let start = self.start;
        (1..self.n).map(move |i| (i, start + i - 1))
    }

    /// Σ u_i r_i.
    pub(super) fn gap(&self) -> f64 {
        dot(&self.u, &self.r)
    }

    /// The same after a step.
    pub(super) fn gap_after(&self, alpha: f64) -> f64 {
        let each = 0..self.n;
        each.map(|i| (self.u[i] + alpha * self.du[i]) * (self.r[i] + alpha * self.dr[i]))
            .sum()
    }

    /// W and ℓ at the point.
    pub(super) fn scale(&mut self) {
        let (du, dr) = (determinant(&self.u).sqrt(), determinant(&self.r).sqrt());
        let cosine = dot(&self.u, &self.r) / (du * dr);
        let twice = 2.0 * (0.5 * (1.0 + cosine)).sqrt();
        self.b[0] = (self.u[0] / du + self.r[0] / dr) / twice;
        for i in 1..self.n {
            self.b[i] = (self.u[i] / du - self.r[i] / dr) / twice;
        }
        self.eta = (du / dr).sqrt();
        self.point = self.scaled(&self.r);
        // 1 + 2β², the height of η²W⁻²
        let b = &self.b[1..self.n];
        let top = 1.0 + 2.0 * dot(b, b);
        let square = self.eta * self.eta;
        (self.softness, self.flat) = (square / top, 1.0 / (square * top));
        let (lean, slip) = (2.0 * self.b[0] / top, length(&self.u));
        let kept = if 0.0 < slip { KEPT / slip } else { 0.0 };
        for i in 1..self.n {
            self.lean[i] = lean * self.b[i];
            self.slip[i] = kept * self.u[i];
        }
    }

    /// W x.
    fn scaled(&self, x: &Point) -> Point {
        self.turned(x, 1.0, self.eta)
    }

    /// W⁻¹x, which is W with −b and 1/η.
    fn unscaled(&self, x: &Point) -> Point {
        self.turned(x, -1.0, 1.0 / self.eta)
    }

    fn turned(&self, x: &Point, sign: f64, factor: f64) -> Point {
        let (b, n) = (&self.b, self.n);
        let along = sign * dot(&b[1..n], &x[1..n]);
        let lift = sign * (x[0] + along / (1.0 + b[0]));
        let mut out = [0.0; MOST_ROWS];
        out[0] = factor * (b[0] * x[0] + along);
        for i in 1..n {
            out[i] = factor * (x[i] + b[i] * lift);
        }
        out
    }

    /// H − hhᵀ/s, the tangents of W⁻² where the height is free: η⁻²(1 − êêᵀ + êêᵀ/(1 + 2β²)), ê = b/β.
    pub(super) fn across(&self, i: usize, j: usize) -> f64 {
        let b = &self.b;
        if i != j {
            return -2.0 * b[i] * b[j] * self.flat;
        }
        // 1 + 2β² − 2b_i², without the difference
        let others = (1..self.n).filter(|k| *k != i);
        (1.0 + 2.0 * others.map(|k| b[k] * b[k]).sum::<f64>()) * self.flat
    }

    /// g = W⁻¹(ℓ\d), what dr + W⁻²du has to be.
    pub(super) fn goal(&self, d: &Point) -> Point {
        self.unscaled(&divide(&self.point, d))
    }

    /// d_c of the affine step: −ℓ∘ℓ.
    pub(super) fn affine(&self) -> Point {
        product(&self.point, &self.point).map(|x| -x)
    }

    /// d_c of the combined one: −ℓ∘ℓ − (W⁻¹du)∘(W dr) + σ·gap·e.
    pub(super) fn corrected(&self, centre: f64) -> Point {
        let second = product(&self.unscaled(&self.du), &self.scaled(&self.dr));
        let mut d = self.affine();
        for (d, second) in d.iter_mut().zip(second) {
            *d -= second;
        }
        d[0] += centre;
        d
    }

    /// Takes a step apart. Given are g, the change of the normal impulse and du_t:
    /// da = (g₀ − dλ_n − hᵀdu_t)/s ,  dr = g − W⁻²du.
    pub(super) fn take_apart(&mut self, g: &Point, normal: f64, du: Point) {
        let (b, n) = (&self.b, self.n);
        self.du = du;
        self.du[0] = self.softness * (g[0] - normal) + dot(&self.lean[1..n], &du[1..n]);
        let along = 2.0 * dot(&b[1..n], &du[1..n]) - 2.0 * b[0] * self.du[0];
        let inverse = 1.0 / (self.eta * self.eta);
        self.dr[0] = normal;
        for i in 1..n {
            self.dr[i] = g[i] - (du[i] + b[i] * along) * inverse;
        }
    }

    /// The longest step that keeps both in the cone.
    pub(super) fn longest(&self) -> f64 {
        let (u, r) = (boundary(&self.u, &self.du), boundary(&self.r, &self.dr));
        if u < r || u.is_nan() { u } else { r }
    }

    /// Takes a step.
    pub(super) fn advance(&mut self, alpha: f64) {
        for i in 0..self.n {
            self.u[i] += alpha * self.du[i];
            self.r[i] += alpha * self.dr[i];
        }
    }
}

/// x∘y = (x·y, x₀y_t + y₀x_t).
fn product(x: &Point, y: &Point) -> Point {
    let mut out: Point = std::array::from_fn(|i| x[0] * y[i] + y[0] * x[i]);
    out[0] = dot(x, y);
    out
}

/// z with x∘z = y.
fn divide(x: &Point, y: &Point) -> Point {
    let first = (x[0] * y[0] - dot(&x[1..], &y[1..])) / determinant(x);
    let inverse = 1.0 / x[0];
    let mut out: Point = std::array::from_fn(|i| (y[i] - x[i] * first) * inverse);
    out[0] = first;
    out
}

/// |x_t|.
pub(super) fn length(x: &Point) -> f64 {
    dot(&x[1..], &x[1..]).sqrt()
}

/// x₀² − |x_t|², as a product that loses nothing.
fn determinant(x: &Point) -> f64 {
    let t = length(x);
    (x[0] - t) * (x[0] + t)
}

/// Largest α with x + α d in the cone. The discriminant is clipped, not tested: for d inside −K it is never negative.
fn boundary(x: &Point, d: &Point) -> f64 {
    let a = determinant(d);
    let b = x[0] * d[0] - dot(&x[1..], &d[1..]);
    let c = determinant(x);
    let root = (b * b - a * c).max(0.0).sqrt();
    match a < 0.0 || b < 0.0 {
        true if 0.0 < b => -(b + root) / a,
        true => c / (root - b),
        false => f64::INFINITY,
    }
}
