//! The circular cone measured for eight contacts at once, to the bits of [`super::cone`].

use pulp::Simd;

use super::Fault;
use crate::math::simd::{LANES, Lane, Vec3, X, difference, dot, scaled};

/// Squares of sliding speeds below this may have lost digits to underflow \[m²/s²\] …
const SMALL: f64 = 1e-280;
/// … and numbers beyond this could overflow: both are the business of the measure of a single contact.
const LARGE: f64 = 1e50;

/// Up to eight contacts of three rows under [`super::Law::FrictionCone`], number by number.
#[derive(Clone, Debug)]
pub(crate) struct Cones {
    pub(crate) lambda: [Lane; 3],
    pub(crate) w: [Lane; 3],
    /// Diagonal of S, every entry positive.
    pub(crate) diagonal: [Lane; 3],
    pub(crate) mu: Lane,
}

impl Default for Cones {
    /// Contacts that carry nothing and do not move: what lanes are filled up with.
    fn default() -> Cones {
        Cones {
            lambda: Default::default(),
            w: Default::default(),
            diagonal: [[1.0; LANES]; 3],
            mu: Default::default(),
        }
    }
}

/// Contacts from which on lanes that are filled up cost less than one after the other.
pub(crate) const FEWEST: usize = 3;

/// What the lanes gave: natural map, distance of λ to its cone over ρ, |λᵀŵ|, and how many numbers were out of range.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    natural: Lane,
    outside: Lane,
    complementarity: Lane,
    beyond: Lane,
}

impl Cones {
    /// How far each contact is from its law.
    #[inline(always)]
    pub(crate) fn faults<S: Simd>(&self, simd: S) -> [Fault; LANES] {
        let mut measured = Measured::default();
        for part in 0..LANES / S::F64_LANES {
            self.measure(simd, part, &mut measured);
        }
        let mut faults = [Fault::default(); LANES];
        for (l, fault) in faults.iter_mut().enumerate() {
            *fault = if measured.beyond[l] == 0.0 && measured.natural[l].is_finite() {
                Fault {
                    natural: measured.natural[l],
                    feasibility: measured.outside[l].max(-self.w[0][l]),
                    complementarity: measured.complementarity[l],
                }
            } else {
                self.alone(l)
            };
        }
        faults
    }

    /// The largest natural residual of all; infinite where one is no number.
    #[inline(always)]
    pub(crate) fn natural<S: Simd>(&self, simd: S) -> f64 {
        let mut measured = Measured::default();
        for part in 0..LANES / S::F64_LANES {
            self.measure(simd, part, &mut measured);
        }
        let mut worst: f64 = 0.0;
        for l in 0..LANES {
            let mut own = measured.natural[l];
            if !(measured.beyond[l] == 0.0 && own.is_finite()) {
                own = self.alone(l).natural;
            }
            if own.is_nan() {
                return f64::INFINITY;
            }
            worst = worst.max(own);
        }
        worst
    }

    /// The contact in lane l, by itself.
    #[cold]
    fn alone(&self, l: usize) -> Fault {
        let [lambda, w, diagonal] =
            [&self.lambda, &self.w, &self.diagonal].map(|lanes| lanes.map(|lane| lane[l]));
        super::cone::fault(&lambda, &w, &diagonal, self.mu[l])
    }

    /// |λ − P_K(λ − ρŵ)|/ρ with ρ = 3/trace and ŵ = w + μ|w_t|e_n.
    #[inline(always)]
    fn measure<S: Simd>(&self, simd: S, part: usize, out: &mut Measured) {
        let [d0, d1, d2] = X::load_all(simd, &self.diagonal, part);
        let lambda = X::load_all(simd, &self.lambda, part);
        let w = X::load_all(simd, &self.w, part);
        let mu = X::load(simd, &self.mu, part);
        let rho = X::splat(simd, 3.0) / (d0 + d1 + d2);
        let squared = w[1] * w[1] + w[2] * w[2];
        let shifted = [w[0] + mu * squared.sqrt(), w[1], w[2]];
        let target = project(difference(lambda, scaled(shifted, rho)), mu);
        let nearest = project(lambda, mu);
        (distance(target, lambda) / rho).store(&mut out.natural, part);
        (distance(nearest, lambda) / rho).store(&mut out.outside, part);
        dot(lambda, shifted)
            .abs()
            .store(&mut out.complementarity, part);
        let (zero, one) = (X::splat(simd, 0.0), X::splat(simd, 1.0));
        // The square of nothing loses no digits: contacts at rest stay in their lanes.
        let moves = zero.if_below(w[1].abs() + w[2].abs(), one, zero);
        let mut beyond = squared.if_below(X::splat(simd, SMALL), moves, zero);
        for x in [lambda[0], lambda[1], lambda[2], w[0], squared, rho, mu] {
            beyond = beyond + x.abs().if_below(X::splat(simd, LARGE), zero, one);
        }
        beyond.store(&mut out.beyond, part);
    }
}

/// [`super::cone::project`] in every lane.
#[inline(always)]
fn project<S: Simd>(x: Vec3<S>, mu: X<S>) -> Vec3<S> {
    let [n, t1, t2] = x;
    let (zero, one) = (n.like(0.0), n.like(1.0));
    let t = (t1 * t1 + t2 * t2).sqrt();
    let a = (n + mu * t) / (one + mu * mu);
    let scale = zero.if_below(t, mu * a / t, zero);
    // Outside where μn < t; of these, and of all others too, nothing is left where μt ≤ −n.
    let outside = mu * n;
    let on_cone = [a, t1 * scale, t2 * scale];
    let mut out = x;
    for i in 0..3 {
        let kept = outside.if_below(t, on_cone[i], x[i]);
        out[i] = (-n).if_below(mu * t, kept, zero);
    }
    out
}

#[inline(always)]
fn distance<S: Simd>(a: Vec3<S>, b: Vec3<S>) -> X<S> {
    let d = difference(a, b);
    dot(d, d).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;
    use crate::math::Random;

    struct Faults<'a>(&'a Cones);

    impl pulp::WithSimd for Faults<'_> {
        type Output = [Fault; LANES];
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> [Fault; LANES] {
            self.0.faults(simd)
        }
    }

    /// A number of any kind: usual, zero, tiny, huge, or none at all.
    fn number(random: &mut Random) -> f64 {
        let x = random.range(-1.0, 1.0);
        let strange = [
            0.0,
            -0.0,
            1e-160 * x,
            1e-320 * x,
            1e60 * x,
            1e200 * x,
            f64::NAN,
        ];
        let pick = random.below(60);
        *strange.get(pick).unwrap_or(&x)
    }

    #[test]
    fn eight_at_once_are_measured_to_the_bits_of_each() {
        let mut random = Random::new(8);
        for _ in 0..5000 {
            let mut cones = Cones::default();
            for l in 0..LANES {
                let kind = random.below(4);
                for i in 0..3 {
                    cones.lambda[i][l] = if kind == 0 { 0.0 } else { number(&mut random) };
                    cones.w[i][l] = if kind == 1 { 0.0 } else { number(&mut random) };
                    cones.diagonal[i][l] = number(&mut random).abs().max(1e-300);
                }
                cones.mu[l] = [0.0, 0.5, 1e20, 1e-200][random.below(4)];
                if kind == 2 {
                    cones.lambda[0][l] = cones.lambda[0][l].abs() * 3.0;
                }
            }
            for arch in [pulp::Arch::new(), pulp::Arch::Scalar] {
                let found = arch.dispatch(Faults(&cones));
                for l in 0..LANES {
                    let of = |lanes: &[Lane; 3]| lanes.map(|lane| lane[l]);
                    let law = Law::FrictionCone { mu: cones.mu[l] };
                    let alone = law.fault(&of(&cones.lambda), &of(&cones.w), &of(&cones.diagonal));
                    let bits =
                        |f: Fault| [f.natural, f.feasibility, f.complementarity].map(f64::to_bits);
                    assert_eq!(bits(found[l]), bits(alone), "{l} of {cones:?}");
                }
            }
        }
    }
}
