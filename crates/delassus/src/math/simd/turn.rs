//! How frames turn, in lanes.

use pulp::Simd;

use super::fused::{cross, dot};
use super::{LANES, Vec3, X, scaled, three};

/// Squared angle up to which the polynomials are exact to rounding.
pub(crate) const SMALL_TURN: f64 = 0.25;

/// sin θ/θ and (1 − cos θ)/θ² of θ², the latter at most [`SMALL_TURN`].
#[inline(always)]
fn small_turn<S: Simd>(s: X<S>) -> (X<S>, X<S>) {
    const SINE: [f64; 7] = series(1);
    const COSINE: [f64; 7] = series(2);
    let horner = |c: &[f64; 7]| {
        let mut sum = s.like(c[6]);
        for i in (0..6).rev() {
            sum = sum.mul_add(s, s.like(c[i]));
        }
        sum
    };
    (horner(&SINE), horner(&COSINE))
}

/// (−1)ⁿ/(2n + first)!
const fn series(first: u32) -> [f64; 7] {
    let mut out = [0.0; 7];
    let (mut n, mut value, mut k) = (0, 1.0, 1);
    while k <= first {
        value /= k as f64;
        k += 1;
    }
    while n < 7 {
        out[n] = value;
        value /= -((k * (k + 1)) as f64);
        k += 2;
        n += 1;
    }
    out
}

/// The same for any angle, lane by lane.
#[inline(always)]
fn any_turn<S: Simd>(s: X<S>) -> (X<S>, X<S>) {
    let (small_sine, small_cosine) = small_turn(s);
    let mut squares = [0.0; LANES];
    let (mut sine, mut cosine) = (squares, squares);
    s.store(&mut squares, 0);
    small_sine.store(&mut sine, 0);
    small_cosine.store(&mut cosine, 0);
    for l in 0..S::F64_LANES {
        if SMALL_TURN < squares[l] {
            let angle = squares[l].sqrt();
            let half = (0.5 * angle).sin() / angle;
            sine[l] = angle.sin() / angle;
            cosine[l] = 2.0 * half * half;
        }
    }
    (X::load(s.0, &sine, 0), X::load(s.0, &cosine, 0))
}

/// The same; with `WIDE` for any angle, else exact up to [`SMALL_TURN`] only.
#[inline(always)]
pub(crate) fn sine_cosine<S: Simd, const WIDE: bool>(s: X<S>) -> (X<S>, X<S>) {
    if WIDE { any_turn(s) } else { small_turn(s) }
}

/// exp(h w) ⊗ q, normalised.
#[inline(always)]
pub(crate) fn turned_frame<S: Simd, const WIDE: bool>(
    q: [X<S>; 4],
    w: Vec3<S>,
    h: f64,
) -> [X<S>; 4] {
    let half = q[0].like(0.5 * h);
    let a = scaled(w, half);
    let s = dot(a, a);
    let (sine, cosine) = sine_cosine::<S, WIDE>(s);
    let (b, c) = (scaled(a, sine), cosine.neg_mul_add(s, s.like(1.0)));
    let v = [q[0], q[1], q[2]];
    let turn = cross(b, v);
    let v = three!(i => c.mul_add(v[i], b[i].mul_add(q[3], turn[i])));
    let real = c.mul_add(q[3], -dot(b, [q[0], q[1], q[2]]));
    // One Newton step towards unit length: it can only have been lost to rounding.
    let square = real.mul_add(real, dot(v, v));
    let scale = s.like(-0.5).mul_add(square, s.like(1.5));
    [v[0] * scale, v[1] * scale, v[2] * scale, real * scale]
}
