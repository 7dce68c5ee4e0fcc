//! The second-order step: RATTLE, with the exact solve of the joints that makes it affordable.
//!
//! ```text
//! v½ ← v + ½h M⁻¹f ;  x' ← x ⊕ h v½
//! until |g(x')| ≤ tolerance:   λ ← −S(x)⁻¹ g(x')/h ;  v½ ← v½ + M⁻¹G(x)ᵀλ ;  x' ← x ⊕ h v½
//! x ← x' ;  factor S(x) ;  v ← v½ + ½h M⁻¹f ;  v ← v + M⁻¹G(x)ᵀ S(x)⁻¹(−G(x)v)
//! ```
//!
//! The factors of the old pose serve the loop, those of the new one the velocity and the next loop. The impulse
//! that ended the last step is the first guess of the next: half of the same force, at the same pose.

use pulp::{Arch, Simd};

use super::algebra::{axis, turned};
use super::pass::{Arena, Walk, largest};
use crate::linalg::sym3::lanes::{Sym, sym_mul};
use crate::math::simd::fused::{add_scaled, cross, dot};
use crate::math::simd::turn::{SMALL_TURN, turned_frame};
use crate::math::simd::{Lane, LanePart, Vec3, difference, scaled, sum, three};

/// Directions of all beads, and the factors of the joints.
pub(super) struct Begin {
    /// Largest squared spin \[rad²/s²\].
    pub(super) spin: Lane,
}

impl Walk for Begin {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
        let mut left = [part.all(0.0); 6];
        let mut spin = part.all(0.0);
        for (link, (state, work)) in arena
            .links
            .iter()
            .zip(arena.beads.iter().zip(&mut *arena.work))
        {
            let (u, seen) = (axis(part, part.load(&state.q)), link.seen(part));
            let p;
            (p, left) = seen.eliminate(left, u);
            part.store(&mut work.u, u);
            part.store(&mut work.p, p);
            let w = part.load(&state.w);
            spin = spin.max(dot(w, w));
        }
        spin.store(&mut self.spin, part.index);
    }
}

/// Tries a pose: x' = x ⊕ h v½, its violation, and the forward half of S λ = −g/h.
struct Try<const FIRST: bool, const WIDE: bool> {
    h: f64,
    /// |g|² of each chain.
    open: Lane,
    /// Largest squared angle.
    angle: Lane,
}

impl<const FIRST: bool, const WIDE: bool> Walk for Try<FIRST, WIDE> {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
        let h = part.all(self.h);
        let wanted = part.all(-1.0 / self.h);
        let kick = three!(i => part.all(0.5 * self.h * arena.gravity[i]));
        let mut end: Vec3<S> = part.load(arena.anchor);
        let zero = [part.all(0.0); 3];
        let (mut rhs, mut open, mut angle) = (zero, zero[0], zero[0]);
        let mut pull = arena
            .beads
            .first()
            .map_or(zero, |first| part.load(&first.pull));
        let beads = &*arena.beads;
        for (k, (link, work)) in arena.links.iter().zip(&mut *arena.work).enumerate() {
            let (state, seen) = (&beads[k], link.seen(part));
            let u = part.load(&work.u);
            let (v, w);
            if FIRST {
                // ½h of gravity and of what the joints pulled with last.
                let next = beads.get(k + 1).map_or(zero, |next| part.load(&next.pull));
                let before = sum(part.load(&state.v), kick);
                let impulses = (scaled(pull, h), scaled(next, h));
                (v, w) = seen.pushed(u, (before, part.load(&state.w)), impulses);
                pull = next;
                part.store(&mut work.v, v);
                part.store(&mut work.w, w);
            } else {
                (v, w) = (part.load(&work.v), part.load(&work.w));
            }
            let x = add_scaled(part.load(&state.x), v, h);
            let (direction, s) = turned::<S, WIDE>(u, w, h);
            angle = angle.max(s);
            let near = add_scaled(x, direction, part.all(-link.arms[0]));
            let gap = difference(near, end);
            end = add_scaled(x, direction, part.all(link.arms[1]));
            open = open + dot(gap, gap);
            let t = sym_mul(part.load(&work.p), add_scaled(rhs, gap, wanted));
            rhs = seen.through(u, t);
            part.store(&mut work.next_x, x);
            part.store(&mut work.next_u, direction);
            part.store(&mut work.t, t);
        }
        open.store(&mut self.open, part.index);
        angle.store(&mut self.angle, part.index);
    }
}

/// The backward half: v½ ← v½ + M⁻¹Gᵀλ.
struct Correct;

impl Walk for Correct {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
        let mut next = [part.all(0.0); 3];
        for (link, work) in arena.links.iter().zip(&mut *arena.work).rev() {
            let (u, seen) = (part.load(&work.u), link.seen(part));
            let lambda = seen.impulse(u, (part.load(&work.p), part.load(&work.t)), next);
            let velocity = (part.load(&work.v), part.load(&work.w));
            let (v, w) = seen.pushed(u, velocity, (lambda, next));
            part.store(&mut work.v, v);
            part.store(&mut work.w, w);
            next = lambda;
        }
    }
}

/// Factors at the new pose, with the forward half of S λ = −G v.
struct Settle {
    h: f64,
}

impl Walk for Settle {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
        let kick = three!(i => part.all(0.5 * self.h * arena.gravity[i]));
        let mut left: Sym<S> = [part.all(0.0); 6];
        let (mut end, mut rhs) = ([part.all(0.0); 3], [part.all(0.0); 3]);
        for (link, work) in arena.links.iter().zip(&mut *arena.work) {
            let (u, seen) = (part.load(&work.next_u), link.seen(part));
            let [before, after] = link.arms.map(|arm| part.all(arm));
            let v = sum(part.load(&work.v), kick);
            let swing = cross(part.load(&work.w), u);
            // b = F t − (v − before ω×u − the other end's velocity)
            let near = add_scaled(v, swing, -before);
            let b = difference(sum(rhs, end), near);
            end = add_scaled(v, swing, after);
            let p;
            (p, left) = seen.eliminate(left, u);
            let t = sym_mul(p, b);
            rhs = seen.through(u, t);
            part.store(&mut work.p, p);
            part.store(&mut work.t, t);
        }
    }
}

/// The new state: the backward half for the velocity, and the pose that was found.
struct Arrive<const WIDE: bool> {
    h: f64,
    /// Largest squared spin.
    spin: Lane,
}

impl<const WIDE: bool> Walk for Arrive<WIDE> {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
        let kick = three!(i => part.all(0.5 * self.h * arena.gravity[i]));
        let per_second = part.all(1.0 / self.h);
        let mut next = [part.all(0.0); 3];
        let mut spin = part.all(0.0);
        let both = arena.beads.iter_mut().zip(&mut *arena.work);
        for (link, (state, work)) in arena.links.iter().zip(both).rev() {
            let (u, seen) = (part.load(&work.next_u), link.seen(part));
            let lambda = seen.impulse(u, (part.load(&work.p), part.load(&work.t)), next);
            let (v, w) = (part.load(&work.v), part.load(&work.w));
            let q = turned_frame::<S, WIDE>(part.load(&state.q), w, self.h);
            let v = sum(v, kick);
            let (v, w) = seen.pushed(u, (v, w), (lambda, next));
            spin = spin.max(dot(w, w));
            state.store(
                part,
                (part.load(&work.next_x), q),
                (v, w),
                scaled(lambda, per_second),
            );
            part.store(&mut work.u, u);
            next = lambda;
        }
        spin.store(&mut self.spin, part.index);
    }
}

/// What became of a step.
pub(super) struct Taken {
    /// Corrections of the pose.
    pub(super) corrections: u32,
    /// Largest squared spin behind it, or nothing where the loop did not end: then the state is as before.
    pub(super) spin: Option<f64>,
}

/// One step of h seconds, if at most `most` corrections close the joints to `tolerance` and no bead turns by more
/// than `angle` radians.
pub(super) fn step(
    arena: &mut Arena<'_>,
    arch: Arch,
    h: f64,
    (tolerance, most, angle): (f64, u32, f64),
) -> Taken {
    let mut corrections = 0;
    let mut wide = false;
    let mut tried = attempt::<true>(arena, arch, h, &mut wide);
    loop {
        let (open, turn) = tried;
        if !open.is_finite() || angle * angle < turn {
            return Taken {
                corrections,
                spin: None,
            };
        }
        if open <= tolerance * tolerance {
            break;
        }
        if corrections == most {
            return Taken {
                corrections,
                spin: None,
            };
        }
        corrections += 1;
        arena.run(arch, Correct);
        tried = attempt::<false>(arena, arch, h, &mut wide);
    }
    arena.run(arch, Settle { h });
    let spin = [0.0; 8];
    let spin = if wide {
        arena.run(arch, Arrive::<true> { h, spin }).spin
    } else {
        arena.run(arch, Arrive::<false> { h, spin }).spin
    };
    Taken {
        corrections,
        spin: Some(largest(&spin)),
    }
}

/// Largest |g|² and squared angle of the pose that v½ leads to.
fn attempt<const FIRST: bool>(
    arena: &mut Arena<'_>,
    arch: Arch,
    h: f64,
    wide: &mut bool,
) -> (f64, f64) {
    let (open, angle) = ([0.0; 8], [0.0; 8]);
    if !*wide {
        let tried = arena.run(arch, Try::<FIRST, false> { h, open, angle });
        let turn = largest(&tried.angle);
        if turn <= SMALL_TURN {
            return (largest(&tried.open), turn);
        }
        *wide = true;
    }
    let tried = arena.run(arch, Try::<FIRST, true> { h, open, angle });
    (largest(&tried.open), largest(&tried.angle))
}
