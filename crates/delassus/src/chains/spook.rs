//! The first-order step: joints held by SPOOK at the old pose, solved exactly or by sweeps, then the pose moved.
//!
//! S λ = −(G v¹ − q), v ← v¹ + M⁻¹Gᵀλ, x ← x ⊕ h v, with q = −(e/h) g + Υ G v and no compliance.   [GS11 (2)]
//!
//! Beads between a fixed point and a heavy end swing in its pull faster than such a step can follow, however exactly
//! joints are solved. They are given the inertia I + h²k, where k is the pull of their joints times its arms: that is
//! the pull at the new pose instead of the old one.

use pulp::{Arch, Simd};

use super::Solve;
use super::algebra::{Seen, axis};
use super::lanes::{BeadMass, BeadWork, State};
use super::pass::{Arena, Walk, largest};
use crate::linalg::sym3::lanes::{inverse_by_cofactors, sym_mul};
use crate::math::simd::fused::{add_scaled, cross, dot};
use crate::math::simd::turn::{SMALL_TURN, turned_frame};
use crate::math::simd::{Lane, LanePart, Vec3, X, difference, scaled, sum, three};
use crate::problem::stabilise::Coefficients;

/// Largest h²ω² that is left alone: beyond it a step that takes the pull at the old pose is unstable.
const LIMIT: f64 = 4.0;

/// A step of first order.
#[derive(Clone, Copy)]
pub(super) struct SpookStep {
    pub(super) h: f64,
    pub(super) coefficients: Coefficients,
    /// The forces kept with the beads times this are those of their joints.
    pub(super) pull: f64,
}

/// A bead as this step sees it.
#[derive(Clone, Copy)]
struct Stiff<S: Simd> {
    inertia_inverse: X<S>,
    /// How much is left of a spin across u: I/(I + h²k).
    keep: X<S>,
}

impl<S: Simd> Stiff<S> {
    /// From the forces of the joints before and behind it.
    #[inline(always)]
    fn new(
        part: LanePart<S>,
        link: &BeadMass,
        step: SpookStep,
        u: Vec3<S>,
        forces: (Vec3<S>, Vec3<S>),
    ) -> Stiff<S> {
        let zero = part.all(0.0);
        let [before, behind] = link.arms.map(|arm| part.all(-arm));
        let k = zero.max(before * dot(u, forces.0)) + zero.max(behind * dot(u, forces.1));
        let added = part.all(step.pull * step.h * step.h) * k;
        let inertia = part.all(link.inertia);
        let limit = part.all(LIMIT * link.inertia);
        let whole = limit.if_below(added, inertia + added, inertia);
        Stiff::from(whole.recip(), inertia)
    }

    /// As it was found before.
    #[inline(always)]
    fn again(part: LanePart<S>, link: &BeadMass, work: &BeadWork) -> Stiff<S> {
        let [inverse] = part.load(&work.inertia_inverse);
        Stiff::from(inverse, part.all(link.inertia))
    }

    #[inline(always)]
    fn from(inertia_inverse: X<S>, inertia: X<S>) -> Stiff<S> {
        Stiff {
            inertia_inverse,
            keep: inertia * inertia_inverse,
        }
    }

    /// The spin without impulses: what is along u stays as it is.
    #[inline(always)]
    fn spin(self, u: Vec3<S>, w: Vec3<S>) -> Vec3<S> {
        let along = (self.keep.like(1.0) - self.keep) * dot(u, w);
        three!(i => along.mul_add(u[i], self.keep * w[i]))
    }
}

/// A bead and the joint before it, as a pass along a chain meets them.
struct Met<S: Simd> {
    u: Vec3<S>,
    seen: Seen<S>,
    inertia_inverse: X<S>,
    /// Row velocity without impulses, c.
    c: Vec3<S>,
    /// Forces of the joints before and behind it.
    forces: (Vec3<S>, Vec3<S>),
}

/// All joints of a chain in turn.
struct JointPass<S: Simd> {
    part: LanePart<S>,
    step: SpookStep,
    kick: Vec3<S>,
    /// Υ and e/h.
    lose: X<S>,
    pull: X<S>,
    /// Force of the joint that comes next.
    force: Vec3<S>,
    /// Where the last bead ends, and how fast: G v¹ − Υ G v without what the step adds; and that.
    end: Vec3<S>,
    end_velocity: Vec3<S>,
    end_kick: Vec3<S>,
}

impl<S: Simd> JointPass<S> {
    #[inline(always)]
    fn new(part: LanePart<S>, arena: &Arena<'_>, step: SpookStep) -> JointPass<S> {
        let zero = [part.all(0.0); 3];
        JointPass {
            part,
            step,
            kick: three!(i => part.all(step.h * arena.gravity[i])),
            lose: part.all(step.coefficients.upsilon),
            pull: part.all(step.coefficients.e / step.h),
            force: force(part, arena.beads, 0),
            end: part.load(arena.anchor),
            end_velocity: zero,
            end_kick: zero,
        }
    }

    /// Bead k and the joint before it.
    #[inline(always)]
    fn next(&mut self, beads: &[State], k: usize, link: &BeadMass) -> Met<S> {
        let (part, state) = (self.part, &beads[k]);
        let u = axis(part, part.load(&state.q));
        let forces = (self.force, force(part, beads, k + 1));
        self.force = forces.1;
        let stiff = Stiff::new(part, link, self.step, u, forces);
        Met {
            u,
            seen: Seen::new(part, link, stiff.inertia_inverse),
            inertia_inverse: stiff.inertia_inverse,
            c: self.velocity(link.arms, state, u, stiff),
            forces,
        }
    }

    /// G v¹ − Υ G v + (e/h) g of the joint before a bead.
    #[inline(always)]
    fn velocity(&mut self, arms: [f64; 2], state: &State, u: Vec3<S>, stiff: Stiff<S>) -> Vec3<S> {
        let part = self.part;
        let [before, after] = arms.map(|arm| part.all(arm));
        let (x, v) = (part.load(&state.x), part.load(&state.v));
        let swing = cross(part.load(&state.w), u);
        let (straight, across) = (part.all(1.0) - self.lose, stiff.keep - self.lose);
        let v = scaled(v, straight);
        let swing = scaled(swing, across);
        let gap = difference(add_scaled(x, u, -before), self.end);
        let rate = difference(add_scaled(v, swing, -before), self.end_velocity);
        let kick = difference(self.kick, self.end_kick);
        self.end = add_scaled(x, u, after);
        self.end_velocity = add_scaled(v, swing, after);
        self.end_kick = self.kick;
        add_scaled(sum(kick, rate), gap, self.pull)
    }
}

/// The force of the joint before a bead; none beyond the last.
#[inline(always)]
fn force<S: Simd>(part: LanePart<S>, beads: &[State], k: usize) -> Vec3<S> {
    match beads.get(k) {
        Some(bead) => part.load(&bead.pull),
        None => [part.all(0.0); 3],
    }
}

/// Factors at the old pose with the forward half of the exact solve.
struct Factor {
    step: SpookStep,
}

impl Walk for Factor {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
        let mut rows = JointPass::new(part, arena, self.step);
        let (mut left, mut rhs) = ([part.all(0.0); 6], [part.all(0.0); 3]);
        for (k, (link, work)) in arena.links.iter().zip(&mut *arena.work).enumerate() {
            let met = rows.next(arena.beads, k, link);
            let p;
            (p, left) = met.seen.eliminate(left, met.u);
            let t = sym_mul(p, difference(rhs, met.c));
            rhs = met.seen.through(met.u, t);
            part.store(&mut work.u, met.u);
            part.store(&mut work.p, p);
            part.store(&mut work.t, t);
            part.store(&mut work.inertia_inverse, [met.inertia_inverse]);
        }
    }
}

/// The backward half: impulses and the new velocities.
struct Back {
    h: f64,
}

impl Walk for Back {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
        let kick = three!(i => part.all(self.h * arena.gravity[i]));
        let mut next = [part.all(0.0); 3];
        let both = arena.beads.iter().zip(&mut *arena.work);
        for (link, (state, work)) in arena.links.iter().zip(both).rev() {
            let u = part.load(&work.u);
            let stiff = Stiff::again(part, link, work);
            let seen = Seen::new(part, link, stiff.inertia_inverse);
            let lambda = seen.impulse(u, (part.load(&work.p), part.load(&work.t)), next);
            let v = sum(part.load(&state.v), kick);
            let w = stiff.spin(u, part.load(&state.w));
            let (v, w) = seen.pushed(u, (v, w), (lambda, next));
            part.store(&mut work.v, v);
            part.store(&mut work.w, w);
            part.store(&mut work.lambda, lambda);
            next = lambda;
        }
    }
}

/// Row velocities, inverse diagonal blocks, and the velocities that belong to the impulses of the last step.
struct Load {
    step: SpookStep,
}

impl Walk for Load {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
        let h = part.all(self.step.h);
        let mut rows = JointPass::new(part, arena, self.step);
        let zero = [part.all(0.0); 3];
        let mut left = [zero[0]; 6];
        for (k, (link, work)) in arena.links.iter().zip(&mut *arena.work).enumerate() {
            let Met {
                u,
                seen,
                c,
                forces,
                inertia_inverse,
            } = rows.next(arena.beads, k, link);
            part.store(&mut work.p, inverse_by_cofactors(seen.pivot(left, u)));
            left = seen.alone(u);
            let impulses = (scaled(forces.0, h), scaled(forces.1, h));
            // Changes of velocity alone: the rows hold everything else.
            let (v, w) = seen.pushed(u, (zero, zero), impulses);
            part.store(&mut work.u, u);
            part.store(&mut work.t, c);
            part.store(&mut work.lambda, impulses.0);
            part.store(&mut work.v, v);
            part.store(&mut work.w, w);
            part.store(&mut work.inertia_inverse, [inertia_inverse]);
        }
    }
}

/// One sweep over all joints: from the velocities of the last sweep (Jacobi), or from the newest (Gauss-Seidel).
struct Sweep<const NEWEST: bool>;

impl<const NEWEST: bool> Walk for Sweep<NEWEST> {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
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
            let near = add_scaled(old.0, swing, part.all(-link.arms[0]));
            let c = part.load(&work.t);
            let residual = difference(difference(end, near), c);
            let step = sym_mul(part.load(&work.p), residual);
            let lambda = part.load(&work.lambda);
            part.store(&mut work.lambda, sum(lambda, step));
            if let (Some(last), Some(before)) = (done.last_mut(), arena.links[..k].last()) {
                let u = part.load(&last.u);
                let [inverse] = part.load(&last.inertia_inverse);
                let seen = Seen::new(part, before, inverse);
                let (v, w) = seen.pushed(u, (v, w), (none, step));
                part.store(&mut last.v, v);
                part.store(&mut last.w, w);
            }
            let [inverse] = part.load(&work.inertia_inverse);
            (v, w) = Seen::new(part, link, inverse).pushed(u, old, (step, none));
            let after = part.all(link.arms[1]);
            end = if NEWEST {
                add_scaled(v, cross(w, u), after)
            } else {
                add_scaled(old.0, swing, after)
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
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
        let kick = three!(i => part.all(self.h * arena.gravity[i]));
        let both = arena.beads.iter().zip(&mut *arena.work);
        for (link, (state, work)) in arena.links.iter().zip(both) {
            let stiff = Stiff::again(part, link, work);
            let v = part.load(&state.v);
            let w = stiff.spin(part.load(&work.u), part.load(&state.w));
            let (dv, dw) = (part.load(&work.v), part.load(&work.w));
            part.store(&mut work.v, sum(sum(v, kick), dv));
            part.store(&mut work.w, sum(w, dw));
        }
    }
}

/// The fastest spin of each chain, squared.
struct Fastest {
    spin: Lane,
}

impl Walk for Fastest {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
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
    step: SpookStep,
}

impl<const WIDE: bool> Walk for Move<WIDE> {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, arena: &mut Arena<'_>) {
        let SpookStep { h, pull, .. } = self.step;
        let (time, per_second) = (part.all(h), part.all(1.0 / (pull * h)));
        for (state, work) in arena.beads.iter_mut().zip(&*arena.work) {
            let (v, w) = (part.load(&work.v), part.load(&work.w));
            let x = add_scaled(part.load(&state.x), v, time);
            let q = turned_frame::<S, WIDE>(part.load(&state.q), w, h);
            let lambda = part.load(&work.lambda);
            state.store(part, (x, q), (v, w), scaled(lambda, per_second));
        }
    }
}

/// One step. Returns the largest squared spin behind it.
pub(super) fn step(arena: &mut Arena<'_>, arch: Arch, step: SpookStep, solve: Solve) -> f64 {
    let h = step.h;
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
        arena.run(arch, Move::<false> { step });
    } else {
        arena.run(arch, Move::<true> { step });
    }
    spin
}
