//! Rules that solve a neighbour of Coulomb's law: each must say so, and each must solve its own neighbour well.

mod common;

use common::scenes::{self, Wrench, ball, one_contact, tilted_rod};
use common::{distance, rebuilt, row_velocities, solve, with_rule};
use delassus::math::{DVec3, Random, tangents};
use delassus::problem::jacobian::point_rows;
use delassus::solver::Rule;
use delassus::{Fit, GaussSeidel, Law, Residual, Solver, Status, Stop};

/// Law residual an approximate rule must reach on the law it does solve [m/s].
const LAW: f64 = 1e-10;
/// A neighbour's answer misses Coulomb's law by what the laws differ: percents of velocities of size one [m/s].
const VISIBLE: f64 = 1e-3;

const APPROXIMATE: [Rule; 4] = [Rule::Box, Rule::Project, Rule::Nonlinear, Rule::Ccp];

fn strict(rule: Rule) -> GaussSeidel {
    GaussSeidel {
        stop: Stop {
            tolerance: LAW,
            sweeps: 50_000,
            ..Stop::default()
        },
        ..with_rule(rule)
    }
}

#[test]
fn rules_for_a_neighbouring_law_say_that_they_are_approximate() {
    let cones = [
        Law::FrictionCone { mu: 0.5 },
        Law::EllipticCone { mu: [0.5, 0.2] },
        Law::EllipticCone { mu: [0.5, 0.0] },
    ];
    for law in cones {
        for rule in APPROXIMATE {
            assert_eq!(with_rule(rule).fit(&law), Fit::Approximate, "{rule:?}");
        }
        for rule in [Rule::Iso, Rule::Exact] {
            assert_eq!(with_rule(rule).fit(&law), Fit::Exact, "{rule:?}");
        }
    }
    // Without friction there is nothing to approximate, except for the rule that always solves all three rows.
    let smooth = Law::FrictionCone { mu: 0.0 };
    for rule in [Rule::Box, Rule::Nonlinear, Rule::Ccp] {
        assert_eq!(with_rule(rule).fit(&smooth), Fit::Exact, "{rule:?}");
    }
    assert_eq!(with_rule(Rule::Project).fit(&smooth), Fit::Approximate);
    let facets = Law::FrictionFacets {
        mu: 0.5,
        directions: 8,
    };
    assert_eq!(GaussSeidel::default().fit(&facets), Fit::No);
}

#[test]
fn a_law_without_a_rule_is_unsupported_and_leaves_the_warm_start() {
    let (mass, rows, g) = tilted_rod(&mut Random::new(1));
    let law = Law::FrictionFacets {
        mu: 0.5,
        directions: 8,
    };
    let problem = one_contact(law, mass, &rows, g);
    let (report, solution) = solve(&mut GaussSeidel::default(), &problem);
    assert_eq!(report.status, Status::Unsupported);
    assert_eq!(report.iterations, 0);
    assert_eq!(solution.lambda, [0.0; 3]);
    assert!(report.message.unwrap().contains("friction-facets"));
}

#[test]
fn convex_relaxation_lifts_every_sliding_contact() {
    // λ ∈ K ⟂ w ∈ K*: a sliding contact leaves the surface with w_n = μ|w_t|, which Coulomb's law forbids.
    let (mut random, mu) = (Random::new(2), 0.4);
    let mut sliding = 0;
    for _ in 0..300 {
        let (mass, rows, g) = tilted_rod(&mut random);
        let problem = one_contact(Law::FrictionCone { mu }, mass, &rows, g);
        let (report, solution) = solve(&mut strict(Rule::Ccp), &problem);
        assert_eq!(report.status, Status::Solved, "{report}");
        let w = row_velocities(&problem, &solution);
        let slip = w[1].hypot(w[2]);
        if 1e-3 < slip && 1e-3 < solution.lambda[0] {
            sliding += 1;
            // The rule's own stopping test is on velocities, so the identity holds to a few times its tolerance.
            assert!((w[0] - mu * slip).abs() < 1e3 * LAW, "{w:?}");
            assert!(VISIBLE * slip < report.residual.law);
        } else {
            assert!(-1e3 * LAW < w[0]);
        }
    }
    assert!(150 < sliding, "{sliding}");
}

#[test]
fn box_rule_on_a_cone_solves_the_friction_box() {
    let mut random = Random::new(3);
    let (mu, mut solved) = (0.3, 0);
    for _ in 0..6 {
        let load = Wrench::draw(&mut random);
        for scene in [
            scenes::block_in_corner(load),
            scenes::peg(4, load),
            scenes::stack(2, load),
        ] {
            let cone = scene.problem(Law::FrictionCone { mu }, 0.0);
            let copy = rebuilt(&cone, 1, |_| Law::FrictionBox { mu });
            let (report, solution) = solve(&mut strict(Rule::Box), &cone);
            assert_eq!(report.fit, Fit::Approximate);
            if report.status == Status::Solved {
                solved += 1;
                // η is one sweep's change, the residual what is left: a small multiple of it.
                let residual = Residual::of(&copy, &solution);
                assert!(residual.law <= 10.0 * LAW, "{residual:?}");
            }
            // The law itself under any rule takes the same steps.
            let (_, other) = solve(&mut strict(Rule::Iso), &copy);
            if report.status == Status::Solved {
                assert!(distance(&other.lambda, &solution.lambda) < 1e-6);
            }
        }
    }
    assert!(12 <= solved, "{solved}");
}

/// A particle of one kilogram on the ground, pressed down and pushed sideways: c = g.
fn particle(law: Law, g: [f64; 3]) -> delassus::Problem {
    let (t1, t2) = tangents(DVec3::Z);
    let rows = point_rows([DVec3::Z, t1, t2], DVec3::ZERO, 1.0);
    one_contact(law, ball(1.0, 0.5), &rows, g)
}

#[test]
fn box_rule_holds_up_to_root_two_times_the_friction_on_the_diagonal() {
    // errata GS13-36-diagonal: two independent bounds are a square, not a disk.
    let (mu, push) = (0.5, 1.3);
    // 1.3 times what friction can hold, along the diagonal of the tangents and along the first one.
    let diagonal = push * mu / std::f64::consts::SQRT_2;
    for (g, boxed) in [
        ([-1.0, diagonal, diagonal], 0.0),
        ([-1.0, push * mu, 0.0], (push - 1.0) * mu),
    ] {
        let law = Law::FrictionCone { mu };
        let slip = |rule| {
            let problem = particle(law, g);
            let (_, solution) = solve(&mut strict(rule), &problem);
            let w = row_velocities(&problem, &solution);
            w[1].hypot(w[2])
        };
        assert!((slip(Rule::Iso) - (push - 1.0) * mu).abs() < LAW);
        assert!((slip(Rule::Exact) - (push - 1.0) * mu).abs() < LAW);
        assert!((slip(Rule::Box) - boxed).abs() < LAW);
    }
}

#[test]
fn block_rules_of_the_source_are_exact_for_spheres() {
    // A ball's contact block is diagonal with equal tangents: nothing couples, so (18)-(19) and (20)-(21) are right.
    let mut random = Random::new(4);
    for _ in 0..200 {
        let r = random.range(0.1, 2.0);
        let n = common::planted::unit(&mut random);
        let (t1, t2) = tangents(n);
        let rows = point_rows([n, t1, t2], -n * r, 1.0);
        let mass = ball(random.range(0.5, 3.0), r);
        let law = Law::FrictionCone { mu: 0.3 };
        let problem = one_contact(law, mass, &rows, random.vector().to_array());
        for rule in [Rule::Nonlinear, Rule::Project] {
            let (report, _) = solve(&mut strict(rule), &problem);
            assert_eq!(report.status, Status::Solved);
            assert!(report.residual.law < LAW, "{rule:?}: {report}");
        }
    }
}

#[test]
fn slip_along_the_stick_impulse_keeps_signorini_but_not_the_direction() {
    // errata GS11-2021: normal velocity zero and the impulse on the cone, but friction does not oppose the slip.
    let mut random = Random::new(5);
    let mut angles = Vec::new();
    for _ in 0..400 {
        let (mass, rows, g) = tilted_rod(&mut random);
        let mu = random.range(0.05, 0.8);
        let problem = one_contact(Law::FrictionCone { mu }, mass, &rows, g);
        let (report, solution) = solve(&mut strict(Rule::Nonlinear), &problem);
        let (lambda, w) = (&solution.lambda, row_velocities(&problem, &solution));
        assert_eq!(report.fit, Fit::Approximate);
        let (slip, friction) = (w[1].hypot(w[2]), lambda[1].hypot(lambda[2]));
        assert!(-LAW < w[0], "penetrates at {} m/s", w[0]);
        if 1e-6 < slip && 1e-9 < friction {
            assert!((friction - mu * lambda[0]).abs() < 1e-12);
            let cosine = -(w[1] * lambda[1] + w[2] * lambda[2]) / (slip * friction);
            angles.push(cosine.clamp(-1.0, 1.0).acos().to_degrees());
            // The exact rule finds the direction of least resistance on the same contact.
            let (exact, _) = solve(&mut strict(Rule::Exact), &problem);
            assert!(exact.residual.law < LAW, "{exact}");
        }
    }
    angles.sort_by(f64::total_cmp);
    let median = angles[angles.len() / 2];
    assert!(200 < angles.len() && 10.0 < median, "{median}");
}

#[test]
fn the_square_cone_depends_on_how_the_tangents_are_turned() {
    let (mu, push) = (0.5, 0.6);
    let slip = |rule, angle: f64| {
        let law = Law::FrictionCone { mu };
        let problem = particle(law, [-1.0, push * angle.cos(), push * angle.sin()]);
        let (_, solution) = solve(&mut strict(rule), &problem);
        let w = row_velocities(&problem, &solution);
        w[1].hypot(w[2])
    };
    let quarter = std::f64::consts::FRAC_PI_4;
    assert!((slip(Rule::Iso, 0.0) - slip(Rule::Iso, quarter)).abs() < LAW);
    assert!(0.09 < slip(Rule::Box, 0.0) - slip(Rule::Box, quarter));
}

/// One visit of a contact by a rule, written out: w = Dλ + g, D row-major.
fn visit(rule: Rule, d: &[f64], g: &[f64; 3], lambda: &[f64; 3], mu: f64) -> [f64; 3] {
    let row = |i: usize, z: &[f64; 3]| g[i] + (0..3).map(|j| d[3 * i + j] * z[j]).sum::<f64>();
    let mut z = *lambda;
    match rule {
        Rule::Iso => {
            z[0] = (z[0] - row(0, &z) / d[0]).max(0.0);
            let (a, b, c) = (d[4], d[5], d[8]);
            let top = 0.5 * (a + c) + (0.25 * (a - c) * (a - c) + b * b).sqrt();
            let t = [z[1] - row(1, &z) / top, z[2] - row(2, &z) / top];
            let cut = (mu * z[0] / t[0].hypot(t[1])).min(1.0);
            [z[0], t[0] * cut, t[1] * cut]
        }
        _ => {
            z[0] = (z[0] - row(0, &z) / d[0]).max(0.0);
            let bound = mu * z[0];
            z[1] = (z[1] - row(1, &z) / d[4]).max(-bound).min(bound);
            z[2] = (z[2] - row(2, &z) / d[8]).max(-bound).min(bound);
            z
        }
    }
}

#[test]
fn one_sweep_over_one_contact_is_the_rule_as_written() {
    // Fixed points do not show whether w is refreshed between the normal and the tangents; one step does.
    let mut random = Random::new(6);
    for _ in 0..200 {
        let (mass, rows, g) = tilted_rod(&mut random);
        let lambda = [
            random.range(0.0, 1.0),
            random.range(-0.3, 0.3),
            random.range(-0.3, 0.3),
        ];
        let problem = one_contact(Law::FrictionCone { mu: 0.4 }, mass, &rows, g);
        let blocks = problem.diagonal_blocks();
        for rule in [Rule::Iso, Rule::Box] {
            let expected = visit(rule, blocks.block(0), &g, &lambda, 0.4);
            let (_, solution) = common::sweeps(&with_rule(rule), &problem, &lambda, 1);
            assert!(distance(&solution.lambda, &expected) < 1e-12, "{rule:?}");
        }
    }
}
