//! The first-order step: joints held by SPOOK at the old pose, solved exactly or by sweeps, then the pose moved.
//!
//! S λ = −(G v¹ − q), v ← v¹ + M⁻¹Gᵀλ, x ← x ⊕ h v, with q = −(e/h) g + Υ G v and no compliance.   [GS11 (2)]

use pulp::{Arch, Simd};

use super::Solve;
use super::algebra::{
    SMALL_TURN, V, add_product, add_scaled, axis, behind, cross, dot, inverse, pivot, product,
    pushed, sub, through, turned_frame,
};
use super::lanes::{Part, State};
use super::pass::{Arena, Walk, largest};
use crate::math::simd::{Lane, X};
use crate::problem::stabilise::Coefficients;

/// Row velocities without impulses, −c, of all joints of a chain in turn.
struct Rows<S: Simd> {
    part: Part<S>,
    kick: V<S>,
    /// 1 − Υ and e/h.
    keep: X<S>,
    pull: X<S>,
    /// Where the last bead ends, and how fast, before the step; and what the step adds.
    end: V<S>,
    end_velocity: V<S>,
    end_kick: V<S>,
}

impl<S: Simd> Rows<S> {
    #[inline(always)]
    fn new(part: Part<S>, arena: &Arena<'_>, (h, c): (f64, Coefficients)) -> Rows<S> {
        let zero = [part.all(0.0); 3];
        Rows {
            part,
            kick: arena.gravity.map(|g| part.all(h * g)),
            keep: part.all(1.0 - c.upsilon),
            pull: part.all(c.e / h),
            end: part.load(arena.anchor),
            end_velocity: zero,
            end_kick: zero,
        }
    }

    /// (1 − Υ) G v + G h f + (e/h) g of the joint before a bead.
    #[inline(always)]
    fn next(&mut self, arms: [f64; 2], state: &State, u: V<S>) -> V<S> {
        let part = self.part;
        let [before, after] = arms.map(|arm| part.all(arm));
        let (x, v) = (part.load(&state.x), part.load(&state.v));
        let swing = cross(part.load(&state.w), u);
        let gap = sub(add_scaled(x, -before, u), self.end);
        let rate = sub(add_scaled(v, -before, swing), self.end_velocity);
        let kick = sub(self.kick, self.end_kick);
        self.end = add_scaled(x, after, u);
        self.end_velocity = add_scaled(v, after, swing);
        self.end_kick = self.kick;
        add_scaled(add_scaled(kick, self.keep, rate), self.pull, gap)
    }
}

/// Factors at the old pose with the forward half of the exact solve.
struct Factor {
    step: (f64, Coefficients),
}

impl Walk for Factor {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: Part<S>, arena: &mut Arena<'_>) {
        let mut rows = Rows::new(part, arena, self.step);
        let (mut left, mut rhs) = ([part.all(0.0); 6], [part.all(0.0); 3]);
        let both = arena.beads.iter().zip(&mut *arena.work);
        for (link, (state, work)) in arena.links.iter().zip(both) {
            let u = axis(part, part.load(&state.q));
            let b = sub(rhs, rows.next(link.arms, state, u));
            let p = inverse(pivot(part, link, left, u));
            let t = product(p, b);
            rhs = through(part, link, u, t);
            left = behind(part, link, p, u);
            part.store(&mut work.u, u);
            part.store(&mut work.p, p);
            part.store(&mut work.t, t);
        }
    }
}

/// The backward half: impulses and the new velocities.
struct Back {
    h: f64,
}

impl Walk for Back {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: Part<S>, arena: &mut Arena<'_>) {
        let kick = arena.gravity.map(|g| part.all(self.h * g));
        let mut next = [part.all(0.0); 3];
        let both = arena.beads.iter().zip(&mut *arena.work);
        for (link, (state, work)) in arena.links.iter().zip(both).rev() {
            let (u, p) = (part.load(&work.u), part.load(&work.p));
            let lambda = add_product(part.load(&work.t), p, through(part, link, u, next));
            let v = part.load(&state.v);
            let v = [0, 1, 2].map(|i| v[i] + kick[i]);
            let (v, w) = pushed(part, link, u, (v, part.load(&state.w)), (lambda, next));
            part.store(&mut work.v, v);
            part.store(&mut work.w, w);
            part.store(&mut work.lambda, lambda);
            next = lambda;
        }
    }
}

/// Row velocities, inverse diagonal blocks, and the velocities that belong to the impulses of the last step.
struct Load {
    step: (f64, Coefficients),
}

impl Walk for Load {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: Part<S>, arena: &mut Arena<'_>) {
        let h = part.all(self.step.0);
        let mut rows = Rows::new(part, arena, self.step);
        let zero = [part.all(0.0); 3];
        let mut left = [zero[0]; 6];
        let beads = &*arena.beads;
        let mut pull = beads.first().map_or(zero, |first| part.load(&first.pull));
        for (k, (link, work)) in arena.links.iter().zip(&mut *arena.work).enumerate() {
            let state = &beads[k];
            let u = axis(part, part.load(&state.q));
            let c = rows.next(link.arms, state, u);
            part.store(&mut work.p, inverse(pivot(part, link, left, u)));
            // D of the next joint: far 1 − far_turn uuᵀ, as a pivot with nothing before it.
            left = alone(part, (link.far, link.far_turn), u);
            let next = beads.get(k + 1).map_or(zero, |next| part.load(&next.pull));
            let impulses = (pull.map(|x| h * x), next.map(|x| h * x));
            // Changes of velocity alone: the rows hold everything else.
            let (v, w) = pushed(part, link, u, (zero, zero), impulses);
            pull = next;
            part.store(&mut work.u, u);
            part.store(&mut work.t, c);
            part.store(&mut work.lambda, impulses.0);
            part.store(&mut work.v, v);
            part.store(&mut work.w, w);
        }
    }
}

/// a 1 − b uuᵀ.
#[inline(always)]
fn alone<S: Simd>(part: Part<S>, (a, b): (f64, f64), u: V<S>) -> [X<S>; 6] {
    let (a, b) = (part.all(a), part.all(-b));
    let s = u.map(|u| b * u);
    [
        s[0].mul_add(u[0], a),
        s[0] * u[1],
        s[0] * u[2],
        s[1].mul_add(u[1], a),
        s[1] * u[2],
        s[2].mul_add(u[2], a),
    ]
}

/// One sweep over all joints: from the velocities of the last sweep (Jacobi), or from the newest (Gauss-Seidel).
struct Sweep<const NEWEST: bool>;

impl<const NEWEST: bool> Walk for Sweep<NEWEST> {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: Part<S>, arena: &mut Arena<'_>) {
        let zero = [part.all(0.0); 3];
        // The bead before the joint: what it is to become, and how fast its end moves in this sweep's eyes.
        let (mut v, mut w) = (zero, zero);
        let mut end = zero;
        let none = zero;
        for k in 0..arena.links.len() {
            let (done, rest) = arena.work.split_at_mut(k);
            let (link, work) = (&arena.links[k], &mut rest[0]);
            let u = part.load(&work.u);
            let old = (part.load(&work.v), part.load(&work.w));
            let swing = cross(old.1, u);
            let near = add_scaled(old.0, part.all(-link.arms[0]), swing);
            let c = part.load(&work.t);
            let residual = [0, 1, 2].map(|i| (end[i] - near[i]) - c[i]);
            let step = product(part.load(&work.p), residual);
            let lambda = part.load(&work.lambda);
            part.store(&mut work.lambda, [0, 1, 2].map(|i| lambda[i] + step[i]));
            if let (Some(last), Some(before)) = (done.last_mut(), arena.links[..k].last()) {
                let u = part.load(&last.u);
                let (v, w) = pushed(part, before, u, (v, w), (none, step));
                part.store(&mut last.v, v);
                part.store(&mut last.w, w);
            }
            (v, w) = pushed(part, link, u, old, (step, none));
            let after = part.all(link.arms[1]);
            end = if NEWEST {
                add_scaled(v, after, cross(w, u))
            } else {
                add_scaled(old.0, after, swing)
            };
        }
        if let Some(last) = arena.work.last_mut() {
            part.store(&mut last.v, v);
            part.store(&mut last.w, w);
        }
    }
}

/// From changes of velocity to velocities.
struct Sum {
    h: f64,
}

impl Walk for Sum {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: Part<S>, arena: &mut Arena<'_>) {
        let kick = arena.gravity.map(|g| part.all(self.h * g));
        for (state, work) in arena.beads.iter().zip(&mut *arena.work) {
            let (v, w) = (part.load(&state.v), part.load(&state.w));
            let (dv, dw) = (part.load(&work.v), part.load(&work.w));
            part.store(&mut work.v, [0, 1, 2].map(|i| (v[i] + kick[i]) + dv[i]));
            part.store(&mut work.w, [0, 1, 2].map(|i| w[i] + dw[i]));
        }
    }
}

/// The fastest spin of each chain, squared.
struct Fastest {
    spin: Lane,
}

impl Walk for Fastest {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: Part<S>, arena: &mut Arena<'_>) {
        let mut spin = part.all(0.0);
        for work in &*arena.work {
            let w = part.load(&work.w);
            spin = spin.max(dot(w, w));
        }
        spin.store(&mut self.spin, part.index);
    }
}

/// Moves the beads with their new velocities.
struct Move<const WIDE: bool> {
    h: f64,
}

impl<const WIDE: bool> Walk for Move<WIDE> {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: Part<S>, arena: &mut Arena<'_>) {
        let (h, per_second) = (part.all(self.h), part.all(1.0 / self.h));
        for (state, work) in arena.beads.iter_mut().zip(&*arena.work) {
            let (v, w) = (part.load(&work.v), part.load(&work.w));
            let x = add_scaled(part.load(&state.x), h, v);
            let q = turned_frame::<S, WIDE>(part, part.load(&state.q), w, self.h);
            let lambda = part.load(&work.lambda);
            state.store(part, (x, q), (v, w), lambda.map(|x| per_second * x));
        }
    }
}

/// One step of h seconds. Returns the largest squared spin behind it.
pub(super) fn step(
    arena: &mut Arena<'_>,
    arch: Arch,
    (h, coefficients): (f64, Coefficients),
    solve: Solve,
) -> f64 {
    let step = (h, coefficients);
    match solve {
        Solve::Exact => {
            arena.run(arch, Factor { step });
            arena.run(arch, Back { h });
        }
        Solve::Jacobi { sweeps } | Solve::GaussSeidel { sweeps } => {
            arena.run(arch, Load { step });
            for _ in 0..sweeps {
                if let Solve::Jacobi { .. } = solve {
                    arena.run(arch, Sweep::<false>);
                } else {
                    arena.run(arch, Sweep::<true>);
                }
            }
            arena.run(arch, Sum { h });
        }
    }
    let spin = largest(&arena.run(arch, Fastest { spin: [0.0; 8] }).spin);
    // The frame turns by half the angle.
    if 0.25 * spin * h * h <= SMALL_TURN {
        arena.run(arch, Move::<false> { h });
    } else {
        arena.run(arch, Move::<true> { h });
    }
    spin
}
