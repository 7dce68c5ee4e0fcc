//! From the rows of a problem to contacts in lanes: arms, steps and what else a visit needs.
//!
//! Colours have given every block its group and lane; a group is filled at a time. Its blocks are near each other in
//! the problem, so that memory is read nearly as it stands. The recognition is that of
//! [`Point`](super::super::point::Point), for eight contacts at once.

use pulp::Simd;

use super::super::point::ROUNDING;
use super::domain::{Groups, Shared};
use super::lanes::{EMPTY, Group, LANES, Lane};
use crate::math::simd::{Vec3, X, cross, difference, sum};

/// Fills the groups; gives the blocks whose rows are not those of a contact at a point.
pub(super) struct LayOut<'a> {
    pub(super) shared: Shared<'a>,
    pub(super) groups: &'a mut Groups,
}

impl pulp::WithSimd for LayOut<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<u32> {
        let mut source = Source::NONE;
        let mut strange = Vec::new();
        for (group, blocks) in self.groups.iter_mut() {
            source.gather(self.shared, blocks, group);
            let mut wrong = [0.0; LANES];
            for part in 0..LANES / S::F64_LANES {
                let defects = recognise(simd, &source, group, part);
                defects.store(&mut wrong, part);
            }
            let wrong = blocks.iter().zip(wrong);
            let wrong = wrong.filter(|((k, _), wrong)| *k != EMPTY && *wrong != 0.0);
            strange.extend(wrong.map(|((k, _), _)| *k));
        }
        strange
    }
}

/// What has to be computed with: the rows of G on both bodies, and D as (nn, nt₁, nt₂, t₁t₁, t₁t₂, t₂t₂). Lanes without
/// a block hold anything.
struct Source {
    rows: [[Lane; 18]; 2],
    d: [Lane; 6],
}

impl Source {
    const NONE: Source = Source {
        rows: [[[0.0; LANES]; 18]; 2],
        d: [[0.0; LANES]; 6],
    };

    /// Copies the numbers of up to eight blocks into lanes; those that a visit needs as they are into the group.
    fn gather(&mut self, shared: Shared<'_>, blocks: &[(u32, u32); LANES], group: &mut Group) {
        let (problem, primal) = (shared.problem, shared.primal);
        let jacobian = primal.jacobian();
        for (l, &(k, start)) in blocks.iter().enumerate() {
            if k == EMPTY {
                break;
            }
            let (k, start) = (k as usize, start as usize);
            let entries = jacobian.entry_range(k);
            let on_ground = entries.len() == 1;
            for (side, e) in self.rows.iter_mut().zip(entries) {
                for (lane, value) in side.iter_mut().zip(jacobian.entry_values(e)) {
                    lane[l] = *value;
                }
            }
            if on_ground {
                // Ground is pushed the other way, and does not turn.
                for i in 0..18 {
                    let pushed = -self.rows[0][i][l];
                    self.rows[1][i][l] = if i % 6 < 3 { pushed } else { 0.0 };
                }
            }
            let d = problem.diagonal_blocks().block(k);
            for (lane, from) in self.d.iter_mut().zip([0, 3, 6, 4, 5, 8]) {
                lane[l] = d[from];
            }
            let (q, sigma) = (&primal.q()[start..], &primal.sigma()[start..]);
            for i in 0..3 {
                group.q[i][l] = q[i];
                group.sigma[i][l] = sigma[i];
            }
        }
    }
}

/// Writes frame, arms and steps; zero where frame and arms explain all rows.
#[inline(always)]
fn recognise<S: Simd>(simd: S, source: &Source, group: &mut Group, part: usize) -> X<S> {
    let a = directions(X::load_all(simd, &source.rows[0], part));
    let b = directions(X::load_all(simd, &source.rows[1], part));
    let (arm_a, wrong_a) = arm(a);
    let (arm_b, wrong_b) = arm(b);
    let mut wrong = wrong_a + wrong_b;
    // Both bodies feel the same directions, of opposite sign, and the last follows from the others.
    let [n, t1, t2] = [a[0].0, a[1].0, a[2].0];
    let zero = n[0].like(0.0);
    for i in 0..3 {
        for x in sum(a[i].0, b[i].0) {
            wrong = wrong + beyond(x, zero);
        }
    }
    for x in difference(cross(n, t1), t2) {
        wrong = wrong + beyond(x, zero.like(ROUNDING));
    }
    for i in 0..3 {
        n[i].store(&mut group.normal[i], part);
        t1[i].store(&mut group.tangent[i], part);
        arm_a[i].store(&mut group.arms[0][i], part);
        arm_b[i].store(&mut group.arms[1][i], part);
    }
    let [nn, nt1, nt2, d11, d12, d22] = X::load_all(simd, &source.d, part);
    nt1.store(&mut group.coupling[0], part);
    nt2.store(&mut group.coupling[1], part);
    let half = zero.like(0.5);
    let off = half * (d11 - d22);
    let top = half * (d11 + d22) + (off * off + d12 * d12).sqrt();
    for (step, d) in [(&mut group.normal_step, nn), (&mut group.step, top)] {
        zero.if_below(d, d.recip(), zero).store(step, part);
    }
    wrong
}

/// Linear and rotational part of each of three rows.
#[inline(always)]
fn directions<S: Simd>(x: [X<S>; 18]) -> [(Vec3<S>, Vec3<S>); 3] {
    let row = [x[0], x[6], x[12]];
    let mut out = [([row[0]; 3], [row[0]; 3]); 3];
    for i in 0..3 {
        for j in 0..3 {
            out[i].0[j] = x[6 * i + j];
            out[i].1[j] = x[6 * i + 3 + j];
        }
    }
    out
}

/// r with 2r = Σ dᵢ × (r × dᵢ), and how many numbers of the rows it does not explain to rounding.
#[inline(always)]
fn arm<S: Simd>(rows: [(Vec3<S>, Vec3<S>); 3]) -> (Vec3<S>, X<S>) {
    let zero = rows[0].0[0].like(0.0);
    let mut twice = [zero; 3];
    let mut largest = zero;
    for (d, turn) in rows {
        twice = sum(twice, cross(d, turn));
        for x in turn {
            largest = largest.max(x.abs());
        }
    }
    let half = zero.like(0.5);
    let r = [half * twice[0], half * twice[1], half * twice[2]];
    let limit = zero.like(ROUNDING) * largest;
    let mut wrong = zero;
    for (d, turn) in rows {
        for x in difference(cross(r, d), turn) {
            wrong = wrong + beyond(x, limit);
        }
    }
    (r, wrong)
}

/// One where |x| exceeds the limit or is no number, else zero.
#[inline(always)]
fn beyond<S: Simd>(x: X<S>, limit: X<S>) -> X<S> {
    // So small a number changes no limit but zero.
    let limit = limit + limit.like(f64::MIN_POSITIVE);
    x.abs().if_below(limit, limit.like(0.0), limit.like(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::domain::Domain;
    use super::super::partition::Partition;
    use super::*;
    use crate::math::{DMat3, DVec3, Random, tangents};
    use crate::problem::jacobian::point_rows;
    use crate::problem::{Form, Problem};
    use crate::solver::Rule;
    use crate::solver::sweep::point::Point;
    use crate::{Law, MassBlock};

    /// Directions and arms of a contact.
    fn place(seed: u64) -> ([DVec3; 3], [DVec3; 2]) {
        let mut random = Random::new(seed);
        let n = random.vector().normalize();
        let (t1, t2) = tangents(n);
        ([n, t1, t2], [random.vector(), random.vector()])
    }

    /// Whether a contact of two bodies, whose second rows are changed by `spoil`, goes in lanes.
    fn goes((frame, arms): ([DVec3; 3], [DVec3; 2]), spoil: impl Fn(&mut [f64; 18])) -> bool {
        let mut builder = Problem::builder();
        let mass = MassBlock::rigid(1.0, DMat3::IDENTITY).unwrap();
        let a = builder.add_mass(mass.clone(), &[0.0; 6]).unwrap();
        let b = builder.add_mass(mass, &[0.0; 6]).unwrap();
        let first = point_rows(frame, arms[0], 1.0);
        let mut second = point_rows(frame, arms[1], -1.0);
        spoil(&mut second);
        let rows: [(_, &[f64]); 2] = [(a, &first), (b, &second)];
        let law = Law::FrictionCone { mu: 0.5 };
        builder.add_block(law, &rows, &[0.0; 3], &[0.0; 3]).unwrap();
        let problem = builder.build().unwrap();
        let Form::Primal(primal) = problem.form() else {
            return false;
        };
        let mut partition = Partition::default();
        partition.prepare(primal, 1);
        let shared = Shared {
            problem: &problem,
            primal,
            partition: &partition,
            rule: Rule::Iso,
        };
        let mut domain = Domain::default();
        domain.blocks.push(0);
        domain.prepare(0, shared, pulp::Arch::new());
        let Some(group) = domain.first_group() else {
            return false;
        };
        let arms = group.arms.map(|arm| arm.map(|x| x[0]));
        assert_eq!(Point::of(primal, 0).map(|point| point.arms), Some(arms));
        true
    }

    #[test]
    fn contacts_at_a_point_go_in_lanes_and_anything_else_does_not() {
        for seed in 0..300 {
            assert!(goes(place(seed), |_| {}), "{seed}");
            for i in 0..18 {
                assert!(!goes(place(seed), |rows| rows[i] += 1e-12), "{seed} {i}");
            }
        }
    }

    #[test]
    fn left_handed_directions_do_not_go_in_lanes() {
        // t₂ would come back as −t₂.
        let ([n, t1, t2], arms) = place(1);
        assert!(!goes(([n, t2, t1], arms), |_| {}));
    }
}
