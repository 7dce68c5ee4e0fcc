//! Substeps of second order of eight equal trees: RATTLE, as `world/rattle.rs` takes it with any rigid joints.
//!
//! ```text
//! v½ ← v + ½h M⁻¹f + M⁻¹G(x)ᵀλ  with λ such that  g(x ⊕ h v½) = 0
//! x  ← x ⊕ h v½
//! v  ← v½ + ½h M⁻¹f + M⁻¹G(x)ᵀμ  with μ such that  G(x) v = 0
//! ```
//!
//! The second kick is a first-order substep of ½h whose rows ask for no velocity, and whose bodies stay where they are
//! (`kernel.rs`). It leaves the factors of the new pose, with which the next λ is found. It is also the first guess of
//! the next substep's first kick: the same forces at the same pose. What the guess leaves open is closed by Newton steps
//! S(x) Δλ = −g/h, each a walk to the root and one back, on which velocities, poses and gaps are taken along.
//!
//! A substep is halved where the general step would be, but for these eight trees alone.

use pulp::{Arch, Simd, WithSimd};

use super::super::rattle::{CLOSED, CORRECTIONS, HALVINGS, SWING};
use super::super::{Gyroscopic, stiffness::GeometricStiffness};
use super::algebra::{columns, frame, free_turn, largest_square, turned};
use super::kernel::{BodyState, BodyWork, Found, Kick, Lane3, Pushed, Substep, SubstepRule};
use super::layout::{BodyMake, Parent, TreeBody};
use crate::linalg::sym3::lanes::sym_mul;
use crate::math::simd::fused::{add_scaled, cross, dot, mul};
use crate::math::simd::{LANES, Lane, LanePart, Vec3, X, difference, scaled, sum};

/// What a substep of second order needs of a body of eight trees besides.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct BodyDrift {
    /// The state that the substep starts from.
    x: Lane3,
    q: [Lane; 4],
    v: Lane3,
    w: Lane3,
    /// v½; a tumbling body arrives with another angular velocity.
    half_v: Lane3,
    half_w: Lane3,
    arrived: Lane3,
    /// What the last second kick gave to the velocity.
    kick_v: Lane3,
    kick_w: Lane3,
    /// λ of this substep, and all impulses since the last substep that was not a half.
    lambda: Lane3,
    total: Lane3,
}

/// Eight trees and what all of them have in common.
pub(super) struct Trees<'a> {
    pub(super) links: &'a [TreeBody],
    pub(super) made: &'a [BodyMake],
    pub(super) rule: SubstepRule,
    pub(super) state: &'a mut [BodyState],
    pub(super) work: &'a mut [BodyWork],
    pub(super) drift: &'a mut [BodyDrift],
    /// Empty where nothing was given.
    pub(super) pushed: &'a [Pushed],
}

/// Eight trees on their way.
pub(super) struct Rattle<'a> {
    trees: Trees<'a>,
    arch: Arch,
    /// Substep of the last kick \[s\].
    last: f64,
    /// Fastest swing of an arm \[rad/s\].
    fastest: f64,
    /// Kicks and corrections.
    iterations: usize,
}

impl<'a> Rattle<'a> {
    /// Factors of the first pose, and a first guess: the kick that holds the velocities there.
    pub(super) fn new(trees: Trees<'a>, arch: Arch) -> Rattle<'a> {
        let h = trees.rule.h;
        let mut all = Rattle {
            trees,
            arch,
            last: h,
            fastest: 0.0,
            iterations: 0,
        };
        for (drift, state) in all.trees.drift.iter_mut().zip(&*all.trees.state) {
            (drift.half_v, drift.arrived) = (state.v, state.w);
        }
        all.trees.kick(arch, h);
        let trees = &mut all.trees;
        all.fastest = largest(&arch.dispatch(Arrive::<true> { trees })).sqrt();
        all
    }

    /// A substep of h seconds, halved until the joints can be closed; what the judge finds, or nothing where they
    /// cannot.
    pub(super) fn substep(&mut self, h: f64) -> Option<Found> {
        for drift in &mut *self.trees.drift {
            drift.total = Lane3::default();
        }
        let mut found = Found::default();
        self.close(h, HALVINGS, &mut found).then_some(found)
    }

    /// The impulses of the last substep are what bodies keep. Gives the number of kicks and corrections.
    pub(super) fn finish(self) -> usize {
        for (drift, state) in self.trees.drift.iter().zip(self.trees.state) {
            state.lambda = drift.total;
        }
        self.iterations
    }

    fn close(&mut self, h: f64, halvings: u32, found: &mut Found) -> bool {
        let swing = if halvings == 0 { f64::INFINITY } else { SWING };
        if h * self.fastest <= swing && self.attempt(h, found) {
            return true;
        }
        halvings != 0
            && self.close(0.5 * h, halvings - 1, found)
            && self.close(0.5 * h, halvings - 1, found)
    }

    /// One substep, or none.
    fn attempt(&mut self, h: f64, found: &mut Found) -> bool {
        let (arch, ratio) = (self.arch, h / self.last);
        let trees = &mut self.trees;
        let mut open = largest(&arch.dispatch(Try::<true> { trees, h, ratio }));
        let mut corrections = 0;
        while CLOSED * CLOSED < open {
            if corrections == CORRECTIONS || !open.is_finite() {
                self.trees.go_back();
                return false;
            }
            let trees = &mut self.trees;
            arch.dispatch(Press { trees });
            let trees = &mut self.trees;
            open = largest(&arch.dispatch(Try::<false> { trees, h, ratio }));
            corrections += 1;
        }
        found.join(&self.trees.kick(arch, h));
        let trees = &mut self.trees;
        self.fastest = largest(&arch.dispatch(Arrive::<false> { trees })).sqrt();
        self.last = h;
        self.iterations += 1 + corrections;
        true
    }
}

fn largest(lane: &Lane) -> f64 {
    lane.iter().fold(0.0, |most, x| most.max(*x))
}

impl Trees<'_> {
    /// The second kick of a substep of h seconds.
    fn kick(&mut self, arch: Arch, h: f64) -> Found {
        let mut found = Found::default();
        arch.dispatch(Kick(Substep {
            links: self.links,
            made: self.made,
            rule: SubstepRule {
                h: 0.5 * h,
                closing: 0.0,
                upsilon: 0.0,
                // The gyroscopic torque is in the drift.
                gyroscopic: Gyroscopic::Off,
                stiffness: GeometricStiffness::Never,
                ..self.rule
            },
            state: self.state,
            work: self.work,
            pushed: self.pushed,
            found: &mut found,
        }));
        found
    }

    /// Back to where the substep started.
    fn go_back(&mut self) {
        for (state, drift) in self.state.iter_mut().zip(&*self.drift) {
            (state.x, state.q) = (drift.x, drift.q);
            (state.v, state.w) = (drift.v, drift.w);
        }
    }
}

/// Tries a pose: v½ from the first guess or with a correction, x' = x ⊕ h v½, and what is open there.
struct Try<'a, 'b, const FIRST: bool> {
    trees: &'a mut Trees<'b>,
    h: f64,
    /// This substep over the last one.
    ratio: f64,
}

impl<const FIRST: bool> WithSimd for Try<'_, '_, FIRST> {
    /// Largest component of a gap, squared.
    type Output = Lane;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Lane {
        let mut open = Lane::default();
        for index in 0..LANES / S::F64_LANES {
            self.walk(LanePart { simd, index }, &mut open);
        }
        open
    }
}

impl<const FIRST: bool> Try<'_, '_, FIRST> {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>, open: &mut Lane) {
        let (h, zero) = (part.all(self.h), part.all(0.0));
        let mut widest = zero;
        for i in 0..self.trees.links.len() {
            let (v, w) = if FIRST {
                self.guess(part, i)
            } else {
                self.correct(part, i)
            };
            let trees = &mut *self.trees;
            let (link, made, drift) = (trees.links[i], &trees.made[i], &mut trees.drift[i]);
            part.store(&mut drift.half_v, v);
            part.store(&mut drift.half_w, w);
            let (done, rest) = trees.state.split_at_mut(i);
            let state = &mut rest[0];
            let x = add_scaled(part.load(&drift.x), v, h);
            let q = part.load(&drift.q);
            let (q, w) = if link.round || trees.rule.gyroscopic == Gyroscopic::Off {
                (frame(q, w, self.h), w)
            } else {
                free_turn(part.load(&made.inertia), q, w, self.h)
            };
            part.store(&mut state.x, x);
            part.store(&mut state.q, q);
            part.store(&mut state.v, v);
            part.store(&mut state.w, w);
            part.store(&mut drift.arrived, w);
            let work = &mut trees.work[i];
            part.store(&mut work.pressed, [zero; 3]);
            part.store(&mut work.twisted, [zero; 3]);
            let point = sum(x, turned(q, part.load(&made.arm)));
            let above = part.load(&made.above);
            let gap = match link.parent {
                Parent::None => continue,
                Parent::Ground => difference(point, above),
                Parent::Link(parent) => {
                    let parent = &done[parent as usize];
                    let end = turned(part.load(&parent.q), above);
                    difference(point, sum(part.load(&parent.x), end))
                }
            };
            widest = widest.max(largest_square(gap));
            part.store(&mut work.wanted, scaled(gap, part.all(-1.0 / self.h)));
        }
        widest.store(open, part.index);
    }

    /// The last second kick once more, over this substep.
    #[inline(always)]
    fn guess<S: Simd>(&mut self, part: LanePart<S>, i: usize) -> (Vec3<S>, Vec3<S>) {
        let (state, drift) = (&self.trees.state[i], &mut self.trees.drift[i]);
        let (v, w) = (part.load(&state.v), part.load(&state.w));
        part.store(&mut drift.x, part.load(&state.x));
        part.store(&mut drift.q, part.load(&state.q));
        part.store(&mut drift.v, v);
        part.store(&mut drift.w, w);
        let ratio = part.all(self.ratio);
        part.store(&mut drift.lambda, scaled(part.load(&state.lambda), ratio));
        (
            add_scaled(v, part.load(&drift.kick_v), ratio),
            add_scaled(w, part.load(&drift.kick_w), ratio),
        )
    }

    /// v½ + M⁻¹GᵀΔλ.
    #[inline(always)]
    fn correct<S: Simd>(&mut self, part: LanePart<S>, i: usize) -> (Vec3<S>, Vec3<S>) {
        let (done, rest) = self.trees.work.split_at_mut(i);
        let (work, drift) = (&mut rest[0], &mut self.trees.drift[i]);
        let change = work.follow(part, self.trees.links[i].parent, done);
        part.add(&mut drift.lambda, change);
        (
            sum(part.load(&drift.half_v), part.load(&work.v)),
            sum(part.load(&drift.half_w), part.load(&work.w)),
        )
    }
}

/// From the leaves to the root with the factors of the old pose: what the gaps press with.
struct Press<'a, 'b> {
    trees: &'a mut Trees<'b>,
}

impl WithSimd for Press<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for index in 0..LANES / S::F64_LANES {
            let part = LanePart { simd, index };
            for i in (0..self.trees.links.len()).rev() {
                let (before, rest) = self.trees.work.split_at_mut(i);
                let work = &mut rest[0];
                let pressed = part.load(&work.pressed);
                let r = part.load(&work.arm);
                // g = a − B C⁻¹b with b at the joint.
                let twisted = difference(part.load(&work.twisted), cross(r, pressed));
                let turn = sym_mul(part.load(&work.turns), twisted);
                let g = difference(pressed, mul(columns(part.load(&work.b)), turn));
                part.store(&mut work.twisted, twisted);
                part.store(&mut work.g, g);
                if let Parent::Link(parent) = self.trees.links[i].parent {
                    let wanted = (part.load(&work.wanted), part.load(&work.above));
                    before[parent as usize].press(part, (part.load(&work.p), g), wanted);
                }
            }
        }
    }
}

/// After a second kick: what it gave, and the impulses of the substep. `BEGIN`: it was but a guess, and is taken back.
struct Arrive<'a, 'b, const BEGIN: bool> {
    trees: &'a mut Trees<'b>,
}

impl<const BEGIN: bool> WithSimd for Arrive<'_, '_, BEGIN> {
    /// Squares of the fastest swings of an arm, from the centre of a body to one of its joints. Spin about the arm itself
    /// does not count.
    type Output = Lane;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Lane {
        let mut fastest = Lane::default();
        for index in 0..LANES / S::F64_LANES {
            let part = LanePart { simd, index };
            self.walk(part).store(&mut fastest, index);
        }
        fastest
    }
}

impl<const BEGIN: bool> Arrive<'_, '_, BEGIN> {
    #[inline(always)]
    fn walk<S: Simd>(&mut self, part: LanePart<S>) -> X<S> {
        let trees = &mut *self.trees;
        let zero = part.all(0.0);
        let mut fastest = zero;
        for i in 0..trees.links.len() {
            let (done, rest) = trees.state.split_at_mut(i);
            let (state, drift, work) = (&mut rest[0], &mut trees.drift[i], &trees.work[i]);
            let (v, mut w) = (part.load(&state.v), part.load(&state.w));
            let (old_v, old_w) = (part.load(&drift.half_v), part.load(&drift.arrived));
            part.store(&mut drift.kick_v, difference(v, old_v));
            part.store(&mut drift.kick_w, difference(w, old_w));
            if BEGIN {
                part.store(&mut state.v, old_v);
                part.store(&mut state.w, old_w);
                part.store(&mut state.pull, [zero; 3]);
                w = old_w;
            } else {
                // The second kick has added μ to the sum over all substeps already.
                let first = part.load(&drift.lambda);
                part.add(&mut state.pull, first);
                part.add(&mut drift.total, sum(first, part.load(&state.lambda)));
            }
            match trees.links[i].parent {
                Parent::None => continue,
                Parent::Ground => {}
                Parent::Link(parent) => {
                    let spin = part.load(&done[parent as usize].w);
                    fastest = fastest.max(swing(spin, part.load(&work.above)));
                }
            }
            fastest = fastest.max(swing(w, part.load(&work.arm)));
        }
        fastest
    }
}

/// |ω × r|²/|r|²; zero where there is no arm.
#[inline(always)]
fn swing<S: Simd>(spin: Vec3<S>, arm: Vec3<S>) -> X<S> {
    let (turn, square) = (cross(spin, arm), dot(arm, arm));
    let zero = square.like(0.0);
    zero.if_below(square, dot(turn, turn) / square, zero)
}
