//! Projection on a regular polygon, smoothed by a barrier on its sides: friction by facets.
//!
//! ```text
//! corners N d_j, sides n_i·x ≤ r, r = N cos(π/d), n_i half-way between two corners
//! x(δ) :  x − y + Σ_i (δ²/g_i) n_i = 0 ,   g_i = r − n_i·x > 0        the barrier of P_δ, which is x − y − δ²/x = 0
//! H = 1 + Σ_i (δ²/g_i²) n_i n_iᵀ :   ∂x/∂y = H⁻¹ ,  ∂x/∂r = H⁻¹Σ (δ²/g_i²) n_i ,  ∂x/∂(log δ) = −H⁻¹Σ (2δ²/g_i) n_i
//! ```
//!
//! Where rounding would hide the slacks g_i, and without smoothing, the projection itself is taken: the point, the foot on
//! a side, or a corner.

use glam::{DMat2, DVec2};

use super::facets::direction;

/// Smoothing over the size of things below which slacks drown in rounding.
const FINE: f64 = 1e-6;
/// Factor by which the smoothing falls on the way to the one asked for, and Newton's steps for each.
const FALL: f64 = 0.1;
const STEPS: usize = 12;

/// A projected point and how it changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Projected {
    pub(crate) x: DVec2,
    pub(crate) by_y: DMat2,
    pub(crate) by_normal: DVec2,
    pub(crate) by_log_delta: DVec2,
}

/// Projects y on the polygon with `corners` corners at distance `normal`, smoothed by δ.
pub(crate) fn project(y: DVec2, normal: f64, corners: u32, delta: f64) -> Projected {
    let size = normal.max(y.length());
    if !(0.0 < normal && FINE * size < delta) {
        return exact(y, normal, corners);
    }
    let r = normal * half_angle(corners).cos();
    let (mut x, mut level) = (DVec2::ZERO, delta.max(size));
    loop {
        for _ in 0..STEPS {
            let sums = Sums::at(x, y, r, level, corners);
            let step = -(sums.h.inverse() * sums.f);
            if !step.is_finite() || step.length() <= 1e-15 * size {
                break;
            }
            x += sums.room(x, step, r, corners) * step;
        }
        if level <= delta {
            break;
        }
        level = (FALL * level).max(delta);
    }
    let sums = Sums::at(x, y, r, delta, corners);
    let inverse = sums.h.inverse();
    Projected {
        x,
        by_y: inverse,
        by_normal: inverse * sums.by_r * half_angle(corners).cos(),
        by_log_delta: inverse * sums.by_log_delta,
    }
}

/// π/d.
fn half_angle(corners: u32) -> f64 {
    std::f64::consts::PI / f64::from(corners)
}

/// n_i, half-way between corners i and i + 1.
fn side(i: u32, corners: u32) -> DVec2 {
    DVec2::from(direction(2 * i + 1, 2 * corners))
}

/// The barrier's equation and its derivatives at a point inside.
struct Sums {
    f: DVec2,
    h: DMat2,
    by_r: DVec2,
    by_log_delta: DVec2,
}

impl Sums {
    fn at(x: DVec2, y: DVec2, r: f64, delta: f64, corners: u32) -> Sums {
        let mut sums = Sums {
            f: x - y,
            h: DMat2::IDENTITY,
            by_r: DVec2::ZERO,
            by_log_delta: DVec2::ZERO,
        };
        for i in 0..corners {
            let n = side(i, corners);
            let g = r - n.dot(x);
            let (push, stiff) = (delta * delta / g, delta * delta / (g * g));
            sums.f += push * n;
            sums.h += DMat2::from_cols(n * (stiff * n.x), n * (stiff * n.y));
            sums.by_r += stiff * n;
            sums.by_log_delta -= 2.0 * push * n;
        }
        sums
    }

    /// How much of a step stays inside.
    fn room(&self, x: DVec2, step: DVec2, r: f64, corners: u32) -> f64 {
        (0..corners).fold(1.0, |most: f64, i| {
            let n = side(i, corners);
            let (gap, closing) = (r - n.dot(x), n.dot(step));
            if most * closing < 0.95 * gap {
                most
            } else {
                0.95 * gap / closing
            }
        })
    }
}

/// The projection itself.
fn exact(y: DVec2, normal: f64, corners: u32) -> Projected {
    let still = Projected {
        x: DVec2::ZERO,
        by_y: DMat2::ZERO,
        by_normal: DVec2::ZERO,
        by_log_delta: DVec2::ZERO,
    };
    let angle = y.y.atan2(y.x).rem_euclid(std::f64::consts::TAU);
    let i = (angle / (2.0 * half_angle(corners))) as u32 % corners;
    let n = side(i, corners);
    let (t, (sin, cos)) = (DVec2::new(-n.y, n.x), half_angle(corners).sin_cos());
    let (out, along) = (n.dot(y), t.dot(y));
    if out <= normal * cos {
        return Projected {
            x: y,
            by_y: DMat2::IDENTITY,
            ..still
        };
    }
    if along.abs() < normal * sin {
        return Projected {
            x: normal * cos * n + along * t,
            by_y: DMat2::from_cols(t * t.x, t * t.y),
            by_normal: cos * n,
            ..still
        };
    }
    let corner = DVec2::from(direction(i + u32::from(0.0 < along), corners));
    Projected {
        x: normal * corner,
        by_normal: corner,
        ..still
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn the_projection_is_the_nearest_point_of_the_polygon() {
        let mut random = Random::new(8);
        for corners in [3, 4, 8, 13] {
            for _ in 0..200 {
                let y = DVec2::new(random.range(-2.0, 2.0), random.range(-2.0, 2.0));
                let x = project(y, 1.0, corners, 0.0).x;
                let r = half_angle(corners).cos();
                assert!((0..corners).all(|i| side(i, corners).dot(x) <= r + 1e-12));
                // (y − x)·(z − x) ≤ 0 for every corner z.
                for j in 0..corners {
                    let z = DVec2::from(direction(j, corners));
                    assert!((y - x).dot(z - x) < 1e-12, "{corners} {y} {x} {z}");
                }
            }
        }
    }

    #[test]
    fn smoothing_fades_into_the_projection() {
        let mut random = Random::new(9);
        for _ in 0..100 {
            let y = DVec2::new(random.range(-2.0, 2.0), random.range(-2.0, 2.0));
            let far = (project(y, 1.0, 8, 1e-2).x - project(y, 1.0, 8, 0.0).x).length();
            let near = (project(y, 1.0, 8, 1e-5).x - project(y, 1.0, 8, 0.0).x).length();
            assert!(far < 0.1 && near < 1e-4, "{y}: {far} {near}");
        }
    }
}
