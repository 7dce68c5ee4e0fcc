//! Sines and cosines of all joint angles of a tree, computed in lanes before a recursion asks for them one by one.

use pulp::Simd;

use crate::math::simd::X;

/// From this angle on \[rad\] sines are left to the system's library.
const FAR: f64 = 1e5;
/// Lanes come in multiples of this, on every processor.
const WIDEST: usize = 8;

/// The angles of a configuration with their sines and cosines.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    angles: Vec<f64>,
    sines: Vec<f64>,
    cosines: Vec<f64>,
    pub(super) arch: pulp::Arch,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns {
            angles: Vec::new(),
            sines: Vec::new(),
            cosines: Vec::new(),
            arch: pulp::Arch::new(),
        }
    }
}

impl PartialEq for Turns {
    fn eq(&self, other: &Turns) -> bool {
        self.angles == other.angles
    }
}

impl Turns {
    /// Takes the angles that stand at `places` of q.
    pub(super) fn prepare(&mut self, places: &[usize], q: &[f64]) {
        let room = places.len().next_multiple_of(WIDEST);
        for array in [&mut self.angles, &mut self.sines, &mut self.cosines] {
            array.resize(room, 0.0);
        }
        for (angle, &at) in self.angles.iter_mut().zip(places) {
            *angle = q[at];
        }
        self.arch.dispatch(Sines {
            angles: &self.angles,
            sines: &mut self.sines,
            cosines: &mut self.cosines,
        });
    }

    /// Sine and cosine of one of them.
    #[inline]
    pub(super) fn of(&self, turn: usize) -> (f64, f64) {
        (self.sines[turn], self.cosines[turn])
    }
}

struct Sines<'a> {
    angles: &'a [f64],
    sines: &'a mut [f64],
    cosines: &'a mut [f64],
}

impl pulp::WithSimd for Sines<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let angles = S::as_simd_f64s(self.angles).0.iter();
        let sines = S::as_mut_simd_f64s(self.sines).0.iter_mut();
        let cosines = S::as_mut_simd_f64s(self.cosines).0.iter_mut();
        for ((angle, sine), cosine) in angles.zip(sines).zip(cosines) {
            let (s, c) = sin_cos(X(simd, *angle));
            (*sine, *cosine) = (s.1, c.1);
        }
    }
}

/// Sine and cosine; lanes with far angles ask the system's library, whatever the others do.
#[inline(always)]
pub(super) fn sin_cos<S: Simd>(angle: X<S>) -> (X<S>, X<S>) {
    let (sin, cos) = angle.sin_cos();
    let limit = angle.like(FAR);
    if angle.abs().all_below(limit) {
        return (sin, cos);
    }
    let (mut far_sin, mut far_cos) = ([0.0; 2 * WIDEST], [0.0; 2 * WIDEST]);
    S::as_mut_simd_f64s(&mut far_sin).0[0] = angle.1;
    for l in 0..S::F64_LANES {
        (far_sin[l], far_cos[l]) = far_sin[l].sin_cos();
    }
    let load = |lanes: &[f64]| X(angle.0, S::as_simd_f64s(lanes).0[0]);
    let choose = |near: X<S>, far: X<S>| angle.abs().if_below(limit, near, far);
    (choose(sin, load(&far_sin)), choose(cos, load(&far_cos)))
}
