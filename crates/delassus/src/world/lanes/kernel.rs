//! One substep of eight equal trees of bodies on ball joints, compiled for every kind of processor.
//!
//! A body c hangs by its joint at the arm r from its centre; u = v + ω × r is the velocity of that point. What hangs
//! below a body presses on it at points of its own, each like a mass P of three rows and columns. Seen from its joint
//! the body with all below it obeys
//!
//! ```text
//! [ A  B ] [u]   [a + λ]        A = m1 + ΣP,  B = A[r]× − ΣP[s]×,  …   at the joint of the body
//! [ Bᵀ C ] [ω] = [  b  ]   ⇒    P u = g + λ,  P = A − B C⁻¹Bᵀ,  g = a − B C⁻¹b
//! ```
//!
//! and the joint asks for u − u' = q of the point u' it hangs from, with q = −(e/h) gap + Υ d(gap)/dt [GS11 (2)]. So
//! λ = P(u' + q) − g, and the body above feels −λ = (g − P q) − P u': another such mass. One walk from the leaves to the
//! root, one back, and a third that takes velocities anew from the impulses, v = M⁻¹(p + Gᵀλ), judges every row by
//! them, and moves the bodies.

use pulp::{Simd, WithSimd};

use super::super::Gyroscopic;
use super::super::stiffness::{GeometricStiffness, LIMIT};
use super::algebra::{
    add_matrices, columns, cross_both, cross_once, flat, frame, gyroscopic, largest_square, matrix,
    plus_diagonal, rows, stiffness, times_cross, turned,
};
use super::layout::{BodyMake, Parent, TreeBody};
use crate::linalg::sym3::lanes::{Sym, congruent, inverse_by_cofactors, sym_column, sym_mul};
use crate::math::simd::fused::{add_cross, add_scaled, cross, dot, mul_transposed};
use crate::math::simd::{LANES, Lane, LanePart, Vec3, X, difference, each, scaled, sum, three};

/// Three numbers of eight bodies.
pub(super) type Lane3 = [Lane; 3];

/// The state of a body of eight trees.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct BodyState {
    pub(super) x: Lane3,
    /// Orientation (x, y, z, w).
    pub(super) q: [Lane; 4],
    pub(super) v: Lane3,
    pub(super) w: Lane3,
    /// Impulse of its joint on it in the last substep.
    pub(super) lambda: Lane3,
    /// Sum of these since the first substep.
    pub(super) pull: Lane3,
}

/// What a substep needs of a body besides.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct BodyWork {
    /// From its centre to its joint, and from the centre of the body above to it.
    pub(super) arm: Lane3,
    pub(super) above: Lane3,
    /// u − u' as the joint asks for it.
    pub(super) wanted: Lane3,
    /// h²K of its joints; then the inertia that the substep sees.
    pub(super) inertia: [Lane; 6],
    /// p, and what impulses add to it.
    pub(super) linear: Lane3,
    pub(super) angular: Lane3,
    /// What hangs below it: masses at its centre, and what presses.
    pub(super) a: [Lane; 6],
    pub(super) b: [Lane; 9],
    pub(super) c: [Lane; 6],
    pub(super) pressed: Lane3,
    pub(super) twisted: Lane3,
    /// C⁻¹, P and g.
    pub(super) turns: [Lane; 6],
    pub(super) p: [Lane; 6],
    pub(super) g: Lane3,
    /// Velocities that elimination finds; then those without constraints.
    pub(super) v: Lane3,
    pub(super) w: Lane3,
    /// 1/m and tr I⁻¹.
    pub(super) ease: [Lane; 2],
}

/// Force and torque of the caller on a body of eight trees.
pub(super) type Pushed = [Lane3; 2];

/// What all bodies have in common in a substep.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubstepRule {
    /// Length of the substep \[s\].
    pub(super) h: f64,
    /// One over the length of the one before; zero where there was none.
    pub(super) per_last: f64,
    /// e/h and Υ.
    pub(super) closing: f64,
    pub(super) upsilon: f64,
    pub(super) gravity: [f64; 3],
    pub(super) gyroscopic: Gyroscopic,
    pub(super) stiffness: GeometricStiffness,
}

/// What the judge finds in each lane, squared where a size is meant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Largest |w|² of a joint and which it is, the sum over all, and the largest (λᵀw)².
    pub(super) worst: Lane,
    pub(super) at: Lane,
    pub(super) sum: Lane,
    pub(super) complementarity: Lane,
    /// Largest c², c = G v¹ − q.
    pub(super) c: Lane,
    /// Largest (|D||λ|)², squared velocity without and with constraints, and tr I tr I⁻¹, which is none: what rounding
    /// may hide follows from them.
    pub(super) cancelling: Lane,
    pub(super) free: Lane,
    pub(super) speed: Lane,
    pub(super) thinness: Lane,
}

/// A substep of eight trees.
pub(super) struct Substep<'a> {
    pub(super) links: &'a [TreeBody],
    pub(super) made: &'a [BodyMake],
    pub(super) rule: SubstepRule,
    pub(super) state: &'a mut [BodyState],
    pub(super) work: &'a mut [BodyWork],
    /// Empty where nothing was given.
    pub(super) pushed: &'a [Pushed],
    pub(super) found: &'a mut Found,
}

impl WithSimd for Substep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for index in 0..LANES / S::F64_LANES {
            let part = LanePart { simd, index };
            self.place(part);
            self.eliminate(part);
            self.substitute(part);
            self.judge::<S, true>(part);
        }
    }
}

/// The kick of a substep alone: velocities, while poses stay.
pub(super) struct Kick<'a>(pub(super) Substep<'a>);

impl WithSimd for Kick<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for index in 0..LANES / S::F64_LANES {
            let part = LanePart { simd, index };
            self.0.place(part);
            self.0.eliminate(part);
            self.0.substitute(part);
            self.0.judge::<S, false>(part);
        }
    }
}

impl Substep<'_> {
    /// Arms, wanted velocities, and how the pulls of the last substep stiffen the bodies.
    #[inline(always)]
    fn place<S: Simd>(&mut self, part: LanePart<S>) {
        let rule = self.rule;
        let zero = part.all(0.0);
        let stiff = rule.stiffness != GeometricStiffness::Never && 0.0 < rule.per_last;
        for i in 0..self.links.len() {
            let (done, rest) = self.work.split_at_mut(i);
            let work = &mut rest[0];
            let (made, state) = (&self.made[i], &self.state[i]);
            for lanes in [&mut work.a, &mut work.c, &mut work.inertia] {
                part.store(lanes, [zero; 6]);
            }
            part.store(&mut work.b, [zero; 9]);
            part.store(&mut work.pressed, [zero; 3]);
            part.store(&mut work.twisted, [zero; 3]);
            if self.links[i].parent == Parent::None {
                part.store(&mut work.arm, [zero; 3]);
                part.store(&mut work.above, [zero; 3]);
                part.store(&mut work.wanted, [zero; 3]);
                continue;
            }
            let (x, q) = (part.load(&state.x), part.load(&state.q));
            let arm = turned(q, part.load(&made.arm));
            part.store(&mut work.arm, arm);
            let (v, w) = (part.load(&state.v), part.load(&state.w));
            let (mut gap, mut rate) = (sum(x, arm), add_cross(v, w, arm));
            let anchor = part.load(&made.above);
            if let Parent::Link(p) = self.links[i].parent {
                let parent = &self.state[p as usize];
                let above = turned(part.load(&parent.q), anchor);
                part.store(&mut work.above, above);
                gap = difference(gap, sum(part.load(&parent.x), above));
                let (v, w) = (part.load(&parent.v), part.load(&parent.w));
                rate = difference(rate, add_cross(v, w, above));
                if stiff {
                    let pull = part.load(&state.lambda);
                    let k = stiffness(scaled(pull, part.all(-rule.per_last)), above);
                    part.add(&mut done[p as usize].inertia, k);
                }
            } else {
                gap = difference(gap, anchor);
            }
            if stiff {
                let pull = part.load(&state.lambda);
                let k = stiffness(scaled(pull, part.all(rule.per_last)), arm);
                part.store(&mut work.inertia, k);
            }
            // q = −(e/h) gap + Υ d(gap)/dt
            let wanted = scaled(rate, part.all(rule.upsilon));
            part.store(
                &mut work.wanted,
                add_scaled(wanted, gap, part.all(-rule.closing)),
            );
        }
    }

    /// From the leaves to the root: what each joint feels of all that hangs by it.
    #[inline(always)]
    fn eliminate<S: Simd>(&mut self, part: LanePart<S>) {
        for i in (0..self.links.len()).rev() {
            let (linear, angular, inertia) = self.momentum(part, i);
            let (before, rest) = self.work.split_at_mut(i);
            let work = &mut rest[0];
            part.store(&mut work.linear, linear);
            part.store(&mut work.angular, angular);
            part.store(&mut work.inertia, inertia);
            let r = part.load(&work.arm);
            let m = part.load(&[self.made[i].mass])[0];
            let a = plus_diagonal(part.load(&work.a), m);
            // At the joint: B ← B + A[r]×, C ← C + [r]×ᵀB + Bᵀ[r]× + [r]×ᵀA[r]×.
            let below = columns(part.load(&work.b));
            let b = add_matrices(below, times_cross(a, r));
            let own = sum(part.load(&work.c), inertia);
            let c = sum(own, cross_both(r, below, b));
            let turns = inverse_by_cofactors(c);
            let pressed = sum(linear, part.load(&work.pressed));
            let twisted = sum(angular, part.load(&work.twisted));
            let twisted = difference(twisted, cross(r, pressed));
            // P = A − B C⁻¹Bᵀ, g = a − B C⁻¹b
            let k = three!(j => sym_mul(turns, rows(b, j)));
            let p = [
                a[0] - dot(k[0], rows(b, 0)),
                a[1] - dot(k[0], rows(b, 1)),
                a[2] - dot(k[0], rows(b, 2)),
                a[3] - dot(k[1], rows(b, 1)),
                a[4] - dot(k[1], rows(b, 2)),
                a[5] - dot(k[2], rows(b, 2)),
            ];
            let g = three!(j => pressed[j] - dot(k[j], twisted));
            part.store(&mut work.turns, turns);
            part.store(&mut work.p, p);
            part.store(&mut work.g, g);
            part.store(&mut work.b, flat(b));
            part.store(&mut work.twisted, twisted);
            if let Parent::Link(parent) = self.links[i].parent {
                let s = part.load(&work.above);
                let above = &mut before[parent as usize];
                // P at the arm s: A += P, B −= P[s]×, C −= [s]×P[s]×.
                let b = times_cross(p, s);
                part.add(&mut above.a, p);
                part.add(&mut above.b, scaled(flat(b), part.all(-1.0)));
                part.add(&mut above.c, cross_once(s, b));
                above.press(part, (p, g), (part.load(&work.wanted), s));
            }
        }
    }

    /// Momentum before constraints and the inertia that the substep sees.
    #[inline(always)]
    fn momentum<S: Simd>(&self, part: LanePart<S>, i: usize) -> (Vec3<S>, Vec3<S>, Sym<S>) {
        let (rule, made, state) = (self.rule, &self.made[i], &self.state[i]);
        let [m] = part.load(&[made.mass]);
        let h = part.all(rule.h);
        let own = part.load(&made.inertia);
        let inertia = if self.links[i].round {
            own
        } else {
            let r = matrix(part.load(&state.q));
            congruent(r, three!(j => sym_column(own, j)))
        };
        let spin = part.load(&state.w);
        let v = part.load(&state.v);
        let kick = three!(k => h * part.all(rule.gravity[k]));
        let mut linear = scaled(sum(v, kick), m);
        let mut angular = if self.links[i].round {
            scaled(spin, inertia[0])
        } else {
            gyroscopic(rule.gyroscopic, inertia, spin, h)
        };
        if let Some([force, torque]) = self.pushed.get(i) {
            linear = add_scaled(linear, part.load(force), h);
            angular = add_scaled(angular, part.load(torque), h);
        }
        if rule.stiffness == GeometricStiffness::Never || !(0.0 < rule.per_last) {
            return (linear, angular, inertia);
        }
        let k = scaled(part.load(&self.work[i].inertia), h * h);
        let stiff = sum(inertia, k);
        if rule.stiffness == GeometricStiffness::Always {
            return (linear, angular, stiff);
        }
        // tr(I⁻¹ h²K): the sum of (hω)² over the swings that the pull alone makes.
        let swings = if self.links[i].round {
            (k[0] + k[3] + k[5]) / inertia[0]
        } else {
            let inverse = inverse_by_cofactors(inertia);
            let two = part.all(2.0);
            let off = inverse[1] * k[1] + inverse[2] * k[2] + inverse[4] * k[4];
            inverse[0] * k[0] + inverse[3] * k[3] + inverse[5] * k[5] + two * off
        };
        let limit = part.all(LIMIT);
        let seen = each!(inertia, j => limit.if_below(swings, stiff[j], inertia[j]));
        (linear, angular, seen)
    }

    /// From the root to the leaves: impulses.
    #[inline(always)]
    fn substitute<S: Simd>(&mut self, part: LanePart<S>) {
        for i in 0..self.links.len() {
            let (done, rest) = self.work.split_at_mut(i);
            let work = &mut rest[0];
            let lambda = work.follow(part, self.links[i].parent, done);
            let (r, s) = (part.load(&work.arm), part.load(&work.above));
            part.store(&mut self.state[i].lambda, lambda);
            part.add(&mut self.state[i].pull, lambda);
            // From here on these two are what impulses add to the momentum.
            part.store(&mut work.pressed, lambda);
            part.store(&mut work.twisted, cross(r, lambda));
            if let Parent::Link(parent) = self.links[i].parent {
                let above = &mut done[parent as usize];
                let back = scaled(lambda, part.all(-1.0));
                part.add(&mut above.pressed, back);
                part.add(&mut above.twisted, cross(s, back));
            }
        }
    }

    /// Velocities from impulses, what they leave of every row, and where asked for the new poses.
    #[inline(always)]
    fn judge<S: Simd, const MOVES: bool>(&mut self, part: LanePart<S>) {
        let h = part.all(self.rule.h);
        for i in 0..self.links.len() {
            let (done, rest) = self.work.split_at_mut(i);
            let work = &mut rest[0];
            let [ease] = part.load(&[self.made[i].mass_inverse]);
            let inertia = part.load(&work.inertia);
            let inverse = inverse_by_cofactors(inertia);
            let (linear, angular) = (part.load(&work.linear), part.load(&work.angular));
            let v = scaled(sum(linear, part.load(&work.pressed)), ease);
            let w = sym_mul(inverse, sum(angular, part.load(&work.twisted)));
            let (free, free_spin) = (scaled(linear, ease), sym_mul(inverse, angular));
            part.store(&mut work.v, free);
            part.store(&mut work.w, free_spin);
            let trace = inverse[0] + inverse[3] + inverse[5];
            part.store(&mut work.ease, [ease, trace]);
            let thinness = trace * (inertia[0] + inertia[3] + inertia[5]);
            part.raise(&mut self.found.thinness, thinness);
            part.raise(
                &mut self.found.free,
                largest_square(free).max(largest_square(free_spin)),
            );
            part.raise(
                &mut self.found.speed,
                largest_square(v).max(largest_square(w)),
            );
            if self.links[i].parent != Parent::None {
                let r = part.load(&work.arm);
                let mut u = add_cross(v, w, r);
                let mut free = add_cross(free, free_spin, r);
                let mut d = trace.mul_add(dot(r, r), ease);
                if let Parent::Link(parent) = self.links[i].parent {
                    let (s, above) = (part.load(&work.above), &done[parent as usize]);
                    let state = &self.state[parent as usize];
                    let (v, w) = (part.load(&state.v), part.load(&state.w));
                    u = difference(u, add_cross(v, w, s));
                    let (v, w) = (part.load(&above.v), part.load(&above.w));
                    free = difference(free, add_cross(v, w, s));
                    let [ease, trace] = part.load(&above.ease);
                    d = d + trace.mul_add(dot(s, s), ease);
                }
                let wanted = part.load(&work.wanted);
                let lambda = part.load(&self.state[i].lambda);
                let rows = (difference(u, wanted), difference(free, wanted));
                self.found.add(part, i, rows, (lambda, d));
            }
            let state = &mut self.state[i];
            part.store(&mut state.v, v);
            part.store(&mut state.w, w);
            if MOVES {
                part.add(&mut state.x, scaled(v, h));
                let q = frame(part.load(&state.q), w, self.rule.h);
                part.store(&mut state.q, q);
            }
        }
    }
}

impl BodyWork {
    /// What a body below presses with, g − P q at the arm s: from the leaves to the root.
    #[inline(always)]
    pub(super) fn press<S: Simd>(
        &mut self,
        part: LanePart<S>,
        (p, g): (Sym<S>, Vec3<S>),
        (wanted, s): (Vec3<S>, Vec3<S>),
    ) {
        let push = difference(g, sym_mul(p, wanted));
        part.add(&mut self.pressed, push);
        part.add(&mut self.twisted, cross(s, push));
    }

    /// Velocities that follow from those of the body above, and the impulse of the joint: from the root to the leaves.
    #[inline(always)]
    pub(super) fn follow<S: Simd>(
        &mut self,
        part: LanePart<S>,
        parent: Parent,
        done: &[BodyWork],
    ) -> Vec3<S> {
        let (p, g) = (part.load(&self.p), part.load(&self.g));
        let wanted = part.load(&self.wanted);
        // u = u' + q, or P u = g where nothing holds it.
        let u = match parent {
            Parent::None => sym_mul(inverse_by_cofactors(p), g),
            Parent::Ground => wanted,
            Parent::Link(parent) => {
                let (s, above) = (part.load(&self.above), &done[parent as usize]);
                let end = add_cross(part.load(&above.v), part.load(&above.w), s);
                sum(end, wanted)
            }
        };
        // ω = C⁻¹(b − Bᵀu), v = u + r × ω
        let b = columns(part.load(&self.b));
        let rest = difference(part.load(&self.twisted), mul_transposed(b, u));
        let w = sym_mul(part.load(&self.turns), rest);
        part.store(&mut self.v, add_cross(u, part.load(&self.arm), w));
        part.store(&mut self.w, w);
        // λ = P u − g; nothing holds what flies.
        match parent {
            Parent::None => [part.all(0.0); 3],
            _ => difference(sym_mul(p, u), g),
        }
    }
}

impl Found {
    /// The worse of both, lane by lane.
    pub(super) fn join(&mut self, other: &Found) {
        for l in 0..LANES {
            if self.worst[l] < other.worst[l] {
                self.at[l] = other.at[l];
            }
        }
        let pairs = [
            (&mut self.worst, &other.worst),
            (&mut self.sum, &other.sum),
            (&mut self.complementarity, &other.complementarity),
            (&mut self.c, &other.c),
            (&mut self.cancelling, &other.cancelling),
            (&mut self.free, &other.free),
            (&mut self.speed, &other.speed),
            (&mut self.thinness, &other.thinness),
        ];
        for (own, other) in pairs {
            (0..LANES).for_each(|l| own[l] = own[l].max(other[l]));
        }
    }

    /// The joint of body i: its w and c, its impulse, and a bound on its diagonal of S.
    #[inline(always)]
    fn add<S: Simd>(
        &mut self,
        part: LanePart<S>,
        i: usize,
        (w, c): (Vec3<S>, Vec3<S>),
        (lambda, d): (Vec3<S>, X<S>),
    ) {
        let square = dot(w, w);
        let [worst, at] = part.load(&[self.worst, self.at]);
        let here = part.all(i as f64);
        let at = worst.if_below(square, here, at);
        at.store(&mut self.at, part.index);
        part.raise(&mut self.worst, square);
        let [total] = part.load(&[self.sum]);
        (total + square).store(&mut self.sum, part.index);
        let product = dot(lambda, w);
        part.raise(&mut self.complementarity, product * product);
        part.raise(&mut self.c, largest_square(c));
        part.raise(&mut self.cancelling, dot(lambda, lambda) * d * d);
    }
}
