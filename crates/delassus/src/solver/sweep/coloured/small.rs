//! Small steps in lanes: sweeps that push, bodies that move on, sweeps that calm.
//!
//! Every small step starts from the impulses of the one before. What these do need not be summed up: a small step ended
//! with v = v_0 + h a + M⁻¹Gᵀλ, so that the next one begins with v + h a + M⁻¹Gᵀλ = 2v − v_0.

use pulp::Simd;

use super::domain::{self, Course, Domain, Shared, Stats};
use super::kernel::{BodyLanes, frame, normal, slide};
use super::lanes::{Group, LANES, Row};
use super::{Coloured, Order, Work, fill};
use crate::law::Law;
use crate::math::parallel::{self, CHUNK};
use crate::math::simd::turned::columns;
use crate::math::simd::{Vec3, X, cross, dot, three};
use crate::problem::{Block, Form, Primal, Problem};
use crate::solver::{Record, Rule, SmallSteps};

/// Share of their own compliance that pushing contacts get on top: it keeps a push from going back and forth.
const SOFT: f64 = 0.003;

/// How far a body has gone since the step began: its way and its turn.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Moved([f64; 8]);

/// What all contacts of a small step share.
#[derive(Clone, Copy)]
struct Terms {
    /// 1/h and e/h of a small step \[1/s\].
    rate: f64,
    push_rate: f64,
    fastest: f64,
}

/// Which sweep of a small step it is.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Push,
    /// Behind another one that pushed.
    PushAgain,
    Calm,
    /// The last of its small step: impulses are summed up.
    CalmLast,
}

impl Coloured {
    /// The sweeps of [`SmallSteps`]; false where a block is not a contact in lanes, or the order is another one.
    pub(super) fn small_steps(
        &mut self,
        problem: &Problem,
        lambda: &mut [f64],
        steps: &mut SmallSteps<'_>,
    ) -> bool {
        let stop = self.stop;
        let plain = stop.time.is_none() && stop.record == Record::Sweeps && !stop.is_cancelled();
        let forward = self.order == Order::Forward && self.relax == 1.0;
        let few = u32::try_from(problem.n_rows().max(problem.n_velocities())).is_ok();
        let (Form::Primal(primal), true) = (problem.form(), few && plain && forward) else {
            return false;
        };
        // Whether all are cones is seen when they are laid out; as a rule it is told by one.
        let cone = |block: &Block| matches!(block.law, Law::FrictionCone { .. });
        let cones = self.rule == Rule::Iso && problem.blocks().first().is_some_and(cone);
        if !cones || steps.count == 0 || stop.sweeps < 2 * steps.count {
            return false;
        }
        self.work.partition.prepare(primal, problem.blocks().len());
        let parallel = 1 < self.work.partition.leaves() && 1 < parallel::current_num_threads();
        if parallel {
            parallel::scope(|_| self.step_by_step(problem, primal, lambda, steps, true))
        } else {
            self.step_by_step(problem, primal, lambda, steps, false)
        }
    }

    fn step_by_step(
        &mut self,
        problem: &Problem,
        primal: &Primal,
        lambda: &mut [f64],
        steps: &mut SmallSteps<'_>,
        parallel: bool,
    ) -> bool {
        self.prepare(problem, primal, None, parallel);
        let rigid = self.work.partition.is_rigid();
        if !rigid || self.work.domains.iter().any(Domain::has_others) {
            return false;
        }
        self.begin(primal, lambda, steps);
        let Work {
            partition,
            domains,
            rows,
            arch,
            moved,
            before,
            ..
        } = &mut self.work;
        let (count, h) = (steps.count, steps.h / steps.count as f64);
        let shared = Shared {
            problem,
            primal,
            partition,
            rule: self.rule,
        };
        let course = Course {
            relax: (1.0, 1.0),
            backward: false,
            parallel,
            arch: *arch,
        };
        let terms = Terms {
            rate: 1.0 / h,
            push_rate: steps.share / h,
            fastest: steps.fastest,
        };
        domain::push(domains, shared, rows, course);
        // One that is left over pushes.
        let (pushes, calms) = (self.stop.sweeps.div_ceil(2), self.stop.sweeps / 2);
        for k in 0..count {
            for i in 0..part(pushes, k, count) {
                let phase = if i == 0 {
                    Phase::Push
                } else {
                    Phase::PushAgain
                };
                sweep(domains, (rows, moved), course, (phase, terms));
            }
            advance(rows, moved, h);
            let calm = part(calms, k, count);
            for i in 1..=calm {
                let phase = if i == calm {
                    Phase::CalmLast
                } else {
                    Phase::Calm
                };
                sweep(domains, (rows, moved), course, (phase, terms));
            }
            if k + 1 < count {
                carry_on(rows, before);
            }
        }
        self.end(primal, lambda, steps);
        true
    }

    /// Impulses, gaps and velocities at the beginning: v = v_0 + h a, with h a = (v¹ − v_0)/n.
    fn begin(&mut self, primal: &Primal, lambda: &[f64], steps: &SmallSteps<'_>) {
        let Work {
            partition,
            domains,
            rows,
            moved,
            before,
            ..
        } = &mut self.work;
        let share = 1.0 / steps.count as f64;
        let gaps = &*steps.gaps;
        parallel::each(domains.iter_mut(), |domain| {
            for (group, members) in domain.groups.iter_mut() {
                group.begin(members, (lambda, gaps), share);
            }
        });
        // What stands in them is of the last step, and is written over.
        rows.resize(partition.n_rows(), Row::default());
        fill(primal, partition, rows);
        moved.resize(rows.len(), Moved::default());
        before.resize(rows.len(), [0.0; 6]);
        let old = steps.old.as_chunks::<6>().0;
        let parts = partition
            .parts(&mut rows[..])
            .zip(partition.parts(&mut before[..]))
            .zip(partition.parts(&mut moved[..]));
        parallel::each(
            parts,
            |(((bodies, first, rows), (.., before)), (.., moved))| {
                moved.fill(Moved::default());
                before.fill([0.0; 6]);
                for (b, old) in bodies.clone().zip(&old[bodies]) {
                    let row = partition.row(b) - first;
                    before[row] = *old;
                    for (v, old) in rows[row].0[..6].iter_mut().zip(old) {
                        *v = old + share * (*v - old);
                    }
                }
            },
        );
    }

    /// Impulses, gaps and mean velocities at the end.
    fn end(&mut self, primal: &Primal, lambda: &mut [f64], steps: &mut SmallSteps<'_>) {
        let work = &mut self.work;
        // Every part of the problem takes what is its own from all subtrees that reach into it.
        let length = parallel::share(steps.gaps.len()).max(8 * CHUNK);
        let parts = steps
            .gaps
            .chunks_mut(length)
            .zip(lambda.as_chunks_mut::<3>().0.chunks_mut(length));
        let domains = &work.domains;
        parallel::each(parts.enumerate(), |(part, (gaps, lambda))| {
            let first = part * length;
            let own = first..first + gaps.len();
            for domain in domains.iter().filter(|domain| domain.reaches(&own)) {
                for (group, members) in domain.groups.iter() {
                    group.end(members, first, (lambda, gaps));
                }
            }
        });
        let (h, partition, moved) = (steps.h, &work.partition, &work.moved);
        steps.mean.resize(6 * primal.mass().len(), 0.0);
        let parts = steps.mean.as_chunks_mut::<6>().0.chunks_mut(8 * CHUNK);
        parallel::each(parts.enumerate(), |(part, mean)| {
            for (b, mean) in (part * 8 * CHUNK..).zip(mean) {
                let moved = &moved[partition.row(b)].0;
                (0..6).for_each(|i| mean[i] = moved[i] / h);
            }
        });
    }
}

/// Share k of so many sweeps.
fn part(sweeps: usize, k: usize, count: usize) -> usize {
    sweeps * (k + 1) / count - sweeps * k / count
}

/// Way and turn of every body: d ← d + h v.
fn advance(rows: &[Row], moved: &mut [Moved], h: f64) {
    let parts = moved.chunks_mut(8 * CHUNK).zip(rows.chunks(8 * CHUNK));
    parallel::each(parts, |(moved, rows)| {
        for (moved, row) in moved.iter_mut().zip(rows) {
            for i in 0..6 {
                moved.0[i] += h * row.0[i];
            }
        }
    });
}

/// The next small step begins: v ← 2v − v_0, and v_0 ← v.
fn carry_on(rows: &mut [Row], before: &mut [[f64; 6]]) {
    let parts = before.chunks_mut(8 * CHUNK).zip(rows.chunks_mut(8 * CHUNK));
    parallel::each(parts, |(before, rows)| {
        for (before, row) in before.iter_mut().zip(rows) {
            for i in 0..6 {
                let v = row.0[i];
                row.0[i] = 2.0 * v - before[i];
                before[i] = v;
            }
        }
    });
}

/// One pass over all contacts.
fn sweep(
    domains: &mut [Domain],
    (rows, moved): (&mut [Row], &[Moved]),
    course: Course,
    (phase, terms): (Phase, Terms),
) {
    let work = |domain: &mut Domain, rows: &mut [Row]| {
        let visit = Visit {
            groups: &mut domain.groups.lanes,
            rows,
            moved: &moved[domain.first..],
            phase,
            terms,
        };
        course.arch.dispatch(visit);
        Stats::default()
    };
    domain::walk(domains, rows, course, &work);
}

/// Visits groups one after the other.
struct Visit<'a> {
    groups: &'a mut [Group],
    rows: &'a mut [Row],
    moved: &'a [Moved],
    phase: Phase,
    terms: Terms,
}

impl pulp::WithSimd for Visit<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (rows, moved, terms) = (self.rows, self.moved, self.terms);
        for group in self.groups {
            for part in 0..LANES / S::F64_LANES {
                match self.phase {
                    Phase::Push => {
                        follow(simd, group, part, moved);
                        visit::<S, true>(simd, group, part, (rows, terms));
                    }
                    Phase::PushAgain => visit::<S, true>(simd, group, part, (rows, terms)),
                    Phase::Calm => visit::<S, false>(simd, group, part, (rows, terms)),
                    Phase::CalmLast => {
                        visit::<S, false>(simd, group, part, (rows, terms));
                        sum_up(simd, group, part);
                    }
                }
            }
        }
    }
}

/// The gap as the bodies have moved: g = g₀ + n·(d_a + θ_a × r_a − d_b − θ_b × r_b).
#[inline(always)]
fn follow<S: Simd>(simd: S, group: &mut Group, part: usize, moved: &[Moved]) {
    let a = way(simd, group, part, 0, moved);
    let b = way(simd, group, part, 1, moved);
    let n = X::load_all(simd, &group.normal, part);
    let apart = three!(i => a[i] - b[i]);
    let gap = X::load(simd, &group.gap, part) + dot(n, apart);
    gap.store(&mut group.gap_now, part);
}

/// How far the contact has gone with one of its bodies: d + θ × r.
#[inline(always)]
fn way<S: Simd>(simd: S, group: &Group, part: usize, side: usize, moved: &[Moved]) -> Vec3<S> {
    let bodies = &group.bodies[side][part * S::F64_LANES..(part + 1) * S::F64_LANES];
    let [x, y, z, p, q, r, ..] = columns(simd, |l| &moved[bodies[l] as usize].0);
    let turned = cross([p, q, r], X::load_all(simd, &group.arms[side], part));
    [x + turned[0], y + turned[1], z + turned[2]]
}

/// Adds the impulses of this small step to those of the whole one.
#[inline(always)]
fn sum_up<S: Simd>(simd: S, group: &mut Group, part: usize) {
    for i in 0..3 {
        let total = X::load(simd, &group.total[i], part) + X::load(simd, &group.lambda[i], part);
        total.store(&mut group.total[i], part);
    }
}

/// Visits as many contacts of a group as there are lanes.
#[inline(always)]
fn visit<S: Simd, const PUSH: bool>(
    simd: S,
    group: &mut Group,
    part: usize,
    (rows, terms): (&mut [Row], Terms),
) {
    let range = part * S::F64_LANES..(part + 1) * S::F64_LANES;
    let bodies = group.bodies;
    let (first, second) = (&bodies[0][range.clone()], &bodies[1][range]);
    let a = BodyLanes::gather(simd, rows, first);
    let b = BodyLanes::gather(simd, rows, second);
    let [n, t1, t2] = frame(simd, group, part);
    let arm_a = X::load_all(simd, &group.arms[0], part);
    let arm_b = X::load_all(simd, &group.arms[1], part);
    let lambda = X::load_all(simd, &group.lambda, part);
    // u = v_a + ω_a × r_a − v_b − ω_b × r_b
    let (va, vb) = (a.velocity(), b.velocity());
    let (ra, rb) = (cross(a.spin(), arm_a), cross(b.spin(), arm_b));
    let u = three!(i => (va[i] + ra[i]) - (vb[i] + rb[i]));
    // w_n = G_n v − r(g)
    let gap = X::load(simd, &group.gap_now, part);
    let zero = gap.like(0.0);
    let parting = if PUSH {
        let (wanted, most) = (gap * gap.like(-terms.push_rate), gap.like(terms.fastest));
        wanted.if_below(most, wanted, most)
    } else {
        zero
    };
    let closing = gap * gap.like(-terms.rate);
    let wanted = gap.if_below(zero, parting, closing);
    let w = [dot(n, u) - wanted, dot(t1, u), dot(t2, u)];
    let n_new = normal(simd, group, part, w[0], lambda[0]);
    let n_new = if PUSH {
        // z_n = max(0, λ_n − w_n/d_nn)/(1 + s)
        n_new * n_new.like(1.0 / (1.0 + SOFT))
    } else {
        n_new
    };
    let z = slide(simd, group, part, (n_new, w, lambda));
    let delta: Vec3<S> = three!(i => z[i] - lambda[i]);
    for i in 0..3 {
        z[i].store(&mut group.lambda[i], part);
    }
    // f = nΔ_n + t₁Δ₁ + t₂Δ₂ pushes the first body and pulls the second.
    let f = three!(j => dot([n[j], t1[j], t2[j]], delta));
    a.push(f, arm_a, rows, first);
    b.push(three!(j => -f[j]), arm_b, rows, second);
}
