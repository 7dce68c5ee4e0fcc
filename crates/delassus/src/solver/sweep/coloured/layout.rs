//! From the places of a problem to contacts in lanes: directions, arms, steps and what else a visit needs.
//!
//! Colours have given every block its group and lane; a group is filled at a time. Its blocks are near each other in
//! the problem, so that memory is read nearly as it stands.

use pulp::Simd;

use super::domain::{Groups, Shared};
use super::lanes::{Group, LANES, Lane, Member};
use crate::math::simd::X;

/// Fills the groups.
pub(super) struct LayOut<'a> {
    pub(super) shared: Shared<'a>,
    pub(super) groups: &'a mut Groups,
}

impl pulp::WithSimd for LayOut<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut d = [[0.0; LANES]; 6];
        for (group, members) in self.groups.iter_mut() {
            gather(self.shared, members, group, &mut d);
            for part in 0..LANES / S::F64_LANES {
                steps(simd, &d, group, part);
            }
        }
    }
}

/// Copies the numbers of up to eight blocks into lanes, and D as (nn, nt₁, nt₂, t₁t₁, t₁t₂, t₂t₂) into `d`. Lanes
/// without a block hold anything.
fn gather(shared: Shared<'_>, members: &[Member; LANES], group: &mut Group, d: &mut [Lane; 6]) {
    let (problem, primal) = (shared.problem, shared.primal);
    for (l, &member) in members.iter().enumerate() {
        if member == Member::NONE {
            break;
        }
        let (k, start) = (member.block as usize, member.start as usize);
        let point = primal.jacobian().point(k);
        let point = point.expect("only blocks at a point are given a lane");
        // Ground is pushed the other way, and does not turn.
        let mut arms = [[0.0; 3]; 2];
        for (_, arm, side) in point.ends() {
            arms[side as usize] = arm.to_array();
        }
        let (q, sigma) = (&primal.q()[start..], &primal.sigma()[start..]);
        for i in 0..3 {
            group.normal[i][l] = point.directions[0][i];
            group.tangent[i][l] = point.directions[1][i];
            group.arms[0][i][l] = arms[0][i];
            group.arms[1][i][l] = arms[1][i];
            group.q[i][l] = q[i];
            group.sigma[i][l] = sigma[i];
        }
        let block = problem.diagonal_blocks().block(k);
        for (lane, from) in d.iter_mut().zip([0, 3, 6, 4, 5, 8]) {
            lane[l] = block[from];
        }
    }
}

/// 1/d_nn and 1/λ_max(D_tt), and the coupling between them.
#[inline(always)]
fn steps<S: Simd>(simd: S, d: &[Lane; 6], group: &mut Group, part: usize) {
    let [nn, nt1, nt2, d11, d12, d22] = X::load_all(simd, d, part);
    nt1.store(&mut group.coupling[0], part);
    nt2.store(&mut group.coupling[1], part);
    let (zero, half) = (nn.like(0.0), nn.like(0.5));
    // λ_max = ½(d₁₁ + d₂₂) + (¼(d₁₁ − d₂₂)² + d₁₂²)^½
    let off = half * (d11 - d22);
    let top = half * (d11 + d22) + (off * off + d12 * d12).sqrt();
    for (step, d) in [(&mut group.normal_step, nn), (&mut group.step, top)] {
        zero.if_below(d, d.recip(), zero).store(step, part);
    }
}

#[cfg(test)]
mod tests {
    use super::super::domain::Domain;
    use super::super::partition::Partition;
    use super::*;
    use crate::math::{DMat3, DVec3, Random, tangents};
    use crate::problem::place::Point;
    use crate::problem::{Form, Problem, ProblemBuilder};
    use crate::solver::Rule;
    use crate::{Law, MassBlock, MassId};

    const CONE: Law = Law::FrictionCone { mu: 0.5 };

    /// Directions and arms of a contact.
    fn place(seed: u64) -> ([DVec3; 3], [DVec3; 2]) {
        let mut random = Random::new(seed);
        let n = random.vector().normalize();
        let (t1, t2) = tangents(n);
        ([n, t1, t2], [random.vector(), random.vector()])
    }

    /// The arms in lanes of the one block that `add` puts on two bodies; `None` where it is visited alone.
    fn arms(add: impl Fn(&mut ProblemBuilder, [MassId; 2])) -> Option<[DVec3; 2]> {
        let mut builder = Problem::builder();
        let mass = MassBlock::rigid(1.0, DMat3::IDENTITY).unwrap();
        let a = builder.add_mass(mass.clone(), &[0.0; 6]).unwrap();
        let b = builder.add_mass(mass, &[0.0; 6]).unwrap();
        add(&mut builder, [a, b]);
        let problem = builder.build().unwrap();
        let Form::Primal(primal) = problem.form() else {
            return None;
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
        let group = domain.first_group()?;
        Some(group.arms.map(|arm| DVec3::from_array(arm.map(|x| x[0]))))
    }

    /// The same of a contact at a point.
    fn arms_at(
        directions: [DVec3; 3],
        first: Option<DVec3>,
        second: Option<DVec3>,
    ) -> Option<[DVec3; 2]> {
        arms(|builder, [a, b]| {
            let point = Point {
                directions: &directions,
                first: first.map(|arm| (a, arm)),
                second: second.map(|arm| (b, arm)),
            };
            builder
                .add_point(CONE, &point, &[0.0; 3], &[0.0; 3])
                .unwrap();
        })
    }

    #[test]
    fn contacts_at_a_point_go_in_lanes_with_the_arms_they_were_given() {
        for seed in 0..300 {
            let (frame, [a, b]) = place(seed);
            let zero = DVec3::ZERO;
            assert_eq!(arms_at(frame, Some(a), Some(b)), Some([a, b]));
            assert_eq!(arms_at(frame, Some(a), None), Some([a, zero]));
            assert_eq!(arms_at(frame, None, Some(b)), Some([zero, b]));
        }
    }

    #[test]
    fn directions_that_are_no_right_handed_frame_do_not_go_in_lanes() {
        // The last direction would come back as another.
        let ([n, t1, t2], [a, b]) = place(1);
        for directions in [[n, t2, t1], [n, t1, -t2], [n, t1, t2 + DVec3::X * 1e-12]] {
            assert_eq!(arms_at(directions, Some(a), Some(b)), None);
        }
    }

    #[test]
    fn plain_rows_do_not_go_in_lanes() {
        let (frame, [a, b]) = place(2);
        let alone = arms(|builder, masses| {
            let rows = [(a, 1.0), (b, -1.0)];
            let rows =
                rows.map(|(arm, sign)| crate::problem::jacobian::point_rows(frame, arm, sign));
            let rows: [(_, &[f64]); 2] = [(masses[0], &rows[0]), (masses[1], &rows[1])];
            builder
                .add_block(CONE, &rows, &[0.0; 3], &[0.0; 3])
                .unwrap();
        });
        assert_eq!(alone, None);
    }
}
