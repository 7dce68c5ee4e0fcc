//! Slips of the 2013 notes [GS13]: each test writes the formula as printed, shows what goes wrong with it, and
//! shows the library right in the same situation. `crates/delassus/docs/errata.md` lists them by key.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

mod common;

use common::dense::{self, Matrix};
use common::scenes::{GRAVITY, H, Wrench, ball, one_contact, six, tilted_rod};
use common::{distance, row_velocities, solve, sweeps, with_rule};
use delassus::math::{DVec3, Random, tangents};
use delassus::problem::delassus::BlockMatrix;
use delassus::problem::jacobian::{point_row, point_rows};
use delassus::problem::stabilise::{Approach, Restitution, RowTerms, Stabilise, contact};
use delassus::solver::Rule;
use delassus::solver::sweep::gauss_seidel::SweepKind;
use delassus::{GaussSeidel, Law, MassBlock, Problem, Residual, Solution, Solver, Status};

/// Numbers of size one after a converged iteration or a closed formula.
const ROUNDING: f64 = 1e-12;
/// What counts as blown up.
const HUGE: f64 = 1e6;

/// A symmetric positive definite 3×3 system A x = b.
fn system() -> (Matrix, Vec<f64>) {
    let a = vec![
        vec![4.0, 1.0, -2.0],
        vec![1.0, 3.0, 0.5],
        vec![-2.0, 0.5, 5.0],
    ];
    (a, vec![1.0, -2.0, 3.0])
}

/// The same system as a problem: three equality rows with S = A and c = −b.
fn as_problem(a: &Matrix, b: &[f64]) -> Problem {
    let mut entries = Vec::new();
    for (i, row) in a.iter().enumerate() {
        entries.extend(row.iter().enumerate().map(|(j, &x)| (i, j, x)));
    }
    let matrix = BlockMatrix::from_entries(&vec![1; b.len()], &entries).unwrap();
    let c = b.iter().map(|b| -b).collect();
    Problem::dual(matrix, c, &vec![Law::Equality; b.len()]).unwrap()
}

fn defect(a: &Matrix, b: &[f64], x: &[f64]) -> f64 {
    distance(&dense::apply(a, x), b)
}

#[test]
fn correcting_along_the_residual_diverges() {
    // errata GS13-6: (6)-(8) print +r on the right where the text and (4) say −r.
    let (a, b) = system();
    let mut x = vec![0.0; 3];
    for _ in 0..60 {
        let ax = dense::apply(&a, &x);
        let mut dx = [0.0; 3];
        for i in 0..3 {
            let r = ax[i] - b[i];
            let below: f64 = (0..i).map(|j| a[i][j] * dx[j]).sum();
            dx[i] = (r - below) / a[i][i];
        }
        for i in 0..3 {
            x[i] += dx[i];
        }
    }
    assert!(HUGE < defect(&a, &b, &x));
    let (_, solution) = sweeps(&GaussSeidel::default(), &as_problem(&a, &b), &[0.0; 3], 60);
    assert!(defect(&a, &b, &solution.lambda) < ROUNDING);
}

#[test]
fn residuals_updated_by_the_lower_triangle_alone_settle_nowhere() {
    // errata GS13-9: above the diagonal the entries are those of Lᵀ, and r_j itself changes by d_jj Δx_j.
    // As printed l_1j is zero for j > 1 and the row just served is never updated.
    let (a, b) = system();
    let (mut x, mut r) = (vec![0.0; 3], b.iter().map(|b| -b).collect::<Vec<f64>>());
    for _ in 0..60 {
        for j in 0..3 {
            let dx = -r[j] / a[j][j];
            x[j] += dx;
            for i in j + 1..3 {
                r[i] += a[i][j] * dx;
            }
        }
    }
    assert!(1.0 < defect(&a, &b, &x));
    // The carried residual is not the residual either.
    let true_r: Vec<f64> = dense::apply(&a, &x)
        .iter()
        .zip(&b)
        .map(|(ax, b)| ax - b)
        .collect();
    assert!(1.0 < distance(&r, &true_r));
    let carried = GaussSeidel {
        sweep: SweepKind::Residual,
        ..GaussSeidel::default()
    };
    let (_, solution) = sweeps(&carried, &as_problem(&a, &b), &[0.0; 3], 60);
    assert!(defect(&a, &b, &solution.lambda) < ROUNDING);
}

#[test]
fn counting_the_coupling_twice_is_another_iteration() {
    // errata GS13-10: the running residual of (9) and (10) already contains l_ij Δx_j, which (7) and (8) subtract
    // again. The splitting becomes D + 2L: it still converges on equality rows, but it is no descent along one
    // coordinate at a time, which projections rely on.
    let (a, b) = system();
    let (mut x, mut r) = (vec![0.0; 3], b.iter().map(|b| -b).collect::<Vec<f64>>());
    let mut first = Vec::new();
    for sweep in 0..60 {
        let mut dx = [0.0; 3];
        for j in 0..3 {
            let again: f64 = (0..j).map(|i| a[j][i] * dx[i]).sum();
            dx[j] = -(r[j] + again) / a[j][j];
            x[j] += dx[j];
            for i in 0..3 {
                r[i] += a[i][j] * dx[j];
            }
        }
        if sweep == 0 {
            first = x.clone();
        }
    }
    assert!(defect(&a, &b, &x) < 1e-9);
    let problem = as_problem(&a, &b);
    let (_, solution) = sweeps(&GaussSeidel::default(), &problem, &[0.0; 3], 1);
    assert!(1e-2 < distance(&first, &solution.lambda));
    // Ours leaves the row served last without residual; the double count does not.
    let last = |x: &[f64]| (dense::dot(&a[2], x) - b[2]).abs();
    assert!(last(&solution.lambda) < ROUNDING && 1e-2 < last(&first));
}

/// A ball that slides over the ground at 1 m/s, its contact at `arm` from the centre.
fn sliding_ball(arm: DVec3) -> Solution {
    let mut builder = Problem::builder();
    let p = six(DVec3::new(1.0, 0.0, -GRAVITY * H), DVec3::ZERO);
    let body = builder.add_mass(ball(1.0, 0.5), &p).unwrap();
    let (t1, t2) = tangents(DVec3::Z);
    let rows = point_rows([DVec3::Z, t1, t2], arm, 1.0);
    let law = Law::FrictionCone { mu: 0.5 };
    builder
        .add_block(law, &[(body, &rows)], &[0.0; 3], &[0.0; 3])
        .unwrap();
    solve(&mut with_rule(Rule::Exact), &builder.build().unwrap()).1
}

#[test]
fn contact_on_the_far_side_gives_a_sliding_ball_backspin() {
    // errata GS13-14: with n from sphere 2 to sphere 1 the contact is at x₁ − r₁n = x₂ + r₂n.
    // The printed x₁ + r₁n and x₂ − r₂n are the far ends, two diameters apart.
    let (x1, x2, r1) = (DVec3::new(0.3, 0.0, 1.0), DVec3::ZERO, 0.6);
    let n = (x1 - x2).normalize();
    let r2 = (x1 - x2).length() - r1;
    let printed = (x1 + r1 * n) - (x2 - r2 * n);
    assert!((printed.length() - 2.0 * (r1 + r2)).abs() < ROUNDING);
    assert!(((x1 - r1 * n) - (x2 + r2 * n)).length() < ROUNDING);
    // Friction slows the ball and must spin it forwards, about +y.
    let n = DVec3::Z;
    let (right, wrong) = (sliding_ball(-0.5 * n), sliding_ball(0.5 * n));
    assert!(right.v[0] < 1.0 && 1e-3 < right.v[4]);
    assert!(wrong.v[0] < 1.0 && wrong.v[4] < -1e-3);
}

#[test]
fn gears_that_roll_are_told_they_slip() {
    // errata GS13-16: "all signs reversed for the second body" is right for the linear parts only; the angular
    // parts −r₁ n×t and −r₂ n×t have equal signs.
    let (n, r1, r2, speed) = (DVec3::Y, 0.5, 0.25, 2.8);
    let (t, _) = tangents(n);
    let axis = n.cross(t);
    // Surface speeds agree at the contact: ω₁ r₁ = −ω₂ r₂ about the same axis.
    let (w1, w2) = (axis * (speed / r1), axis * (-speed / r2));
    let printed = (r1 * n.cross(t)).dot(w1) - (r2 * n.cross(t)).dot(w2);
    assert!((printed.abs() - 2.0 * speed).abs() < ROUNDING);
    let row = |arm: DVec3, sign: f64, w: DVec3| {
        let row = point_row(t, arm, sign);
        dense::dot(&row, &six(DVec3::ZERO, w))
    };
    let slip = row(-r1 * n, 1.0, w1) + row(r2 * n, -1.0, w2);
    assert!(slip.abs() < ROUNDING);
    // The library's rows are the corrected formula.
    let first = point_row(t, -r1 * n, 1.0);
    let second = point_row(t, r2 * n, -1.0);
    assert!(distance(&first, &six(t, -r1 * n.cross(t))) < ROUNDING);
    assert!(distance(&second, &six(-t, -r2 * n.cross(t))) < ROUNDING);
}

const SPOOK: Stabilise = Stabilise::Spook {
    compliance: 0.0,
    damping: 4.0 * H,
};

#[test]
fn stabilisation_amplifies_the_velocity_at_every_step() {
    // errata GS13-17: the factor of G v_k is Υ = 1/(1 + 4τ/h) as in (21), not 4Υ/h. Units alone show it.
    let upsilon = 1.0 / 17.0;
    let step = |q: &dyn Fn(f64, f64) -> f64| {
        let (mut gap, mut v): (f64, f64) = (1e-3, 0.0);
        for _ in 0..60 {
            v = q(gap, v);
            gap += H * v;
        }
        gap.abs().max(v.abs())
    };
    let printed = step(&|gap, v| 4.0 * upsilon / H * (v - gap));
    assert!(HUGE < printed);
    // The library's row, solved as an equality on a ball, lets the violation die out.
    let ours = step(&|gap, v| {
        let RowTerms { sigma, q } = SPOOK.row(H, gap, v);
        let mut builder = Problem::builder();
        let p = six(DVec3::X * v, DVec3::ZERO);
        let body = builder.add_mass(ball(1.0, 0.5), &p).unwrap();
        let row = point_row(DVec3::X, DVec3::ZERO, 1.0);
        builder
            .add_block(Law::Equality, &[(body, &row)], &[sigma], &[q])
            .unwrap();
        let (_, solution) = solve(&mut GaussSeidel::default(), &builder.build().unwrap());
        solution.v[0]
    });
    assert!(ours < 1e-6, "{ours}");
}

#[test]
fn separating_contact_is_thrown_out() {
    // errata GS13-18: the contact row repeats the slip of (17), weakens the gap term four times and misprints
    // the compliance. A particle leaving at 0.1 m/s would be made to leave at 2.35 m/s.
    let printed = |gap: f64, v: f64| (-gap + 4.0 * v) / (H * 17.0);
    assert!(2.0 < printed(0.0, 0.1));
    assert!(
        printed(0.0, -0.1) < -2.0,
        "and an approaching one may fall in"
    );
    for velocity in [0.1, -0.1] {
        let approach = Approach {
            gap: 0.0,
            velocity,
            free_velocity: velocity,
        };
        let RowTerms { sigma, q } = contact(&SPOOK, H, approach, Restitution::default());
        let mut builder = Problem::builder();
        let p = six(DVec3::Z * velocity, DVec3::ZERO);
        let body = builder.add_mass(ball(1.0, 0.5), &p).unwrap();
        let row = point_row(DVec3::Z, DVec3::ZERO, 1.0);
        builder
            .add_block(Law::Unilateral, &[(body, &row)], &[sigma], &[q])
            .unwrap();
        let (_, solution) = solve(&mut GaussSeidel::default(), &builder.build().unwrap());
        assert!((solution.v[2] - velocity.max(0.0)).abs() < ROUNDING);
    }
}

#[test]
fn compliant_contact_sinks_many_times_too_deep() {
    // errata GS13-18-epsilon: at rest Σ λ = −(e/h) g with λ = m g₀ h. With the printed coefficients the sag is
    // 4(1 + 4τ/h)/(1 + τ/h) times ε m g₀, 13.6 times at τ = 4h; the right ones give ε m g₀.
    let (compliance, weight) = (1e-4, GRAVITY);
    let printed_sigma = 4.0 * compliance / (H * H * 5.0);
    let printed_sag = printed_sigma * weight * H * (H * 17.0);
    assert!(13.0 < printed_sag / (compliance * weight));
    let spook = Stabilise::Spook {
        compliance,
        damping: 4.0 * H,
    };
    let (mut gap, mut v): (f64, f64) = (-1e-6, 0.0);
    for _ in 0..2000 {
        let approach = Approach {
            gap,
            velocity: v,
            free_velocity: v - H * GRAVITY,
        };
        let RowTerms { sigma, q } = contact(&spook, H, approach, Restitution::default());
        let free = v - H * GRAVITY;
        let lambda = ((q - free) / (1.0 + sigma)).max(0.0);
        v = free + lambda;
        gap += H * v;
    }
    assert!((gap + compliance * weight).abs() < 1e-9, "{gap}");
}

#[test]
fn friction_law_without_a_coefficient_accepts_anything() {
    // errata GS13-19: 0 ≤ w±, 0 ≤ β±, w±β± = 0 never mentions μ. It accepts sliding without friction and
    // sticking with any force; (36) is the law that is meant.
    let printed = |w: f64, beta: f64| {
        let parts = |x: f64| (x.max(0.0), (-x).max(0.0));
        let ((wp, wm), (bp, bm)) = (parts(w), parts(beta));
        wp * bp == 0.0 && wm * bm == 0.0
    };
    let (normal, mu) = (5.0, 0.5);
    for (w, beta, right) in [
        (1.0, 0.0, false),
        (0.0, 100.0, false),
        (1.0, -mu * normal, true),
        (-1.0, mu * normal, true),
        (0.0, 0.3, true),
    ] {
        assert!(printed(w, beta));
        for law in [Law::FrictionBox { mu }, Law::FrictionCone { mu }] {
            let fault = law.fault(&[normal, beta], &[0.0, w], &[1.0; 2]);
            assert_eq!(fault.natural < ROUNDING, right, "{law:?} {w} {beta}");
        }
    }
}

/// Rows, masses and forces of a small random equality problem, and its exact impulses.
fn equalities(seed: u64) -> (Problem, dense::Assembled, Vec<f64>) {
    let recipe = common::planted::Recipe {
        sigma: (0.1, 0.1),
        ..common::planted::Recipe::chain(Law::Equality, 2, 3)
    };
    let problem = common::planted::planted(&recipe, seed).problem;
    let assembled = dense::assemble(&problem);
    let minus_c: Vec<f64> = assembled.c.iter().map(|c| -c).collect();
    let exact = dense::solve(&assembled.s, &minus_c);
    (problem, assembled, exact)
}

#[test]
fn increment_with_the_sign_of_the_residual_doubles_the_error() {
    // errata GS13-27-sign: the last line must read −r with the r of (28); then one exact solve hits.
    let (problem, assembled, exact) = equalities(1);
    let lambda: Vec<f64> = exact.iter().map(|x| x + 0.5).collect();
    let mut solution = Solution::from_lambda(&problem, lambda.clone());
    let r = row_velocities(&problem, &solution);
    let step = dense::solve(&assembled.s, &r);
    let printed: Vec<f64> = lambda.iter().zip(&step).map(|(l, s)| l + s).collect();
    let right: Vec<f64> = lambda.iter().zip(&step).map(|(l, s)| l - s).collect();
    assert!((distance(&printed, &exact) - 1.0).abs() < 1e-9);
    assert!(distance(&right, &exact) < 1e-9);
    let mut solver = GaussSeidel::default();
    solver.stop.tolerance = ROUNDING;
    assert_eq!(solver.solve(&problem, &mut solution).status, Status::Solved);
    assert!(distance(&solution.lambda, &exact) < 1e-9);
}

#[test]
fn weight_is_forgotten_when_the_force_term_is_replaced() {
    // errata GS13-27: the first line prints −hGM⁻¹Gᵀλ where −hGM⁻¹f belongs. From λ = 0 the row that holds a
    // hanging ball then sees no weight, and the ball falls.
    let row = point_row(DVec3::Z, DVec3::ZERO, 1.0);
    let m = 2.0;
    let free = -GRAVITY * H;
    // b − Sλ − G v_k − hGM⁻¹Gᵀλ with S = 1/m, b = 0 and the ball at rest, repeated until nothing changes.
    let (mut lambda, at_rest) = (0.0_f64, 0.0_f64);
    for _ in 0..10 {
        lambda += m * (-lambda / m - at_rest - H * lambda / m);
    }
    assert!(free + lambda / m < -0.09);
    let mut builder = Problem::builder();
    let p = six(DVec3::Z * (m * free), DVec3::ZERO);
    let body = builder.add_mass(ball(m, 0.5), &p).unwrap();
    builder
        .add_block(Law::Equality, &[(body, &row)], &[0.0], &[0.0])
        .unwrap();
    let problem = builder.build().unwrap();
    let (_, solution) = solve(&mut GaussSeidel::default(), &problem);
    assert!((solution.lambda[0] - m * GRAVITY * H).abs() < ROUNDING);
    assert!(solution.v[2].abs() < ROUNDING);
}

/// The error of one row after 40 corrections with a diagonal d, the true one being s: factor |1 − s/d| each.
fn error_after_forty(s: f64, d: f64) -> f64 {
    let (mut v, mut count) = (-1.0_f64, 0);
    while count < 40 {
        v += s * (-v / d);
        count += 1;
    }
    v.abs()
}

/// The library's diagonal of one row on one body, and the velocity error left after one sweep.
fn library_row(mass: MassBlock, row: &[f64], sigma: f64) -> (f64, f64) {
    let mut builder = Problem::builder();
    let body = builder.add_mass(mass, &[1.0; 6]).unwrap();
    builder
        .add_block(Law::Equality, &[(body, row)], &[sigma], &[0.0])
        .unwrap();
    let problem = builder.build().unwrap();
    let (_, solution) = sweeps(&GaussSeidel::default(), &problem, &[0.0], 1);
    let w = row_velocities(&problem, &solution);
    (problem.diagonal_blocks().block(0)[0], w[0].abs())
}

#[test]
fn light_bodies_blow_up_when_mass_stands_for_its_inverse() {
    // errata GS13-31: K = M⁻¹Gᵀ. With M as printed a body of 0.1 kg has d = 0.1 instead of 10.
    let m = 0.1;
    assert!(HUGE < error_after_forty(1.0 / m, m));
    let row = point_row(DVec3::X, DVec3::ZERO, 1.0);
    let (d, error) = library_row(ball(m, 0.5), &row, 0.0);
    assert!((d - 1.0 / m).abs() < ROUNDING && error < ROUNDING);
}

#[test]
fn large_balls_blow_up_when_the_arm_is_not_squared() {
    // errata GS13-35: the rotational part of a tangential row is r²/J. With r/J a ball of 10 m radius has
    // d = 1.25 instead of 3.5 and every correction overshoots by 2.8; the printed sum also mixes units.
    let (m, r) = (1.0, 10.0);
    let inertia = 0.4 * m * r * r;
    let (right, printed) = (1.0 / m + r * r / inertia, 1.0 / m + r / inertia);
    assert!(HUGE < error_after_forty(right, printed));
    let row = point_row(DVec3::X, -r * DVec3::Z, 1.0);
    let (d, error) = library_row(ball(m, r), &row, 0.0);
    assert!((d - right).abs() < ROUNDING && error < ROUNDING);
}

#[test]
fn compliant_rows_blow_up_when_compliance_is_missing_from_the_diagonal() {
    // errata GS13-2.1-epsilon: in line 3 d_ii must contain ε̃. Without it each correction is 1 + ε̃/s too large.
    let (s, sigma) = (1.0, 3.0);
    assert!(HUGE < error_after_forty(s + sigma, s));
    let row = point_row(DVec3::X, DVec3::ZERO, 1.0);
    let (d, error) = library_row(ball(1.0 / s, 0.5), &row, sigma);
    assert!((d - s - sigma).abs() < ROUNDING && error < ROUNDING);
}

#[test]
fn warm_started_contact_sticks_like_glue() {
    // errata GS13-2.1: in line 2 the warm start's impulse must be in v. Without it a particle that leaves freely at
    // 2 m/s is pulled back by the impulse it still thinks it has.
    let (free, warm) = (2.0, 5.0);
    let (mut v, mut lambda): (f64, f64) = (free, warm);
    for _ in 0..50 {
        let z = (lambda - v).max(0.0);
        v += z - lambda;
        lambda = z;
    }
    assert!(
        v.abs() < ROUNDING && 1.0 < lambda,
        "the printed start glues"
    );
    let mut builder = Problem::builder();
    let p = six(DVec3::Z * free, DVec3::ZERO);
    let body = builder.add_mass(ball(1.0, 0.5), &p).unwrap();
    let row = point_row(DVec3::Z, DVec3::ZERO, 1.0);
    builder
        .add_block(Law::Unilateral, &[(body, &row)], &[0.0], &[0.0])
        .unwrap();
    let problem = builder.build().unwrap();
    let mut solution = Solution::from_lambda(&problem, vec![warm]);
    let report = GaussSeidel::default().solve(&problem, &mut solution);
    assert_eq!(report.status, Status::Solved);
    assert!((solution.v[2] - free).abs() < ROUNDING && solution.lambda[0] == 0.0);
}

/// λ after each of the last hundred of 2500 visits of one contact by (36) as printed.
fn box_tail(d: &[f64], g: &[f64; 3], mu: f64) -> Vec<[f64; 3]> {
    let (mut z, mut tail) = ([0.0_f64; 3], Vec::new());
    for visit in 0..2500 {
        for i in 0..3 {
            let w: f64 = g[i] + (0..3).map(|j| d[3 * i + j] * z[j]).sum::<f64>();
            let (lo, hi) = if i == 0 {
                (0.0, f64::INFINITY)
            } else {
                (-mu * z[0], mu * z[0])
            };
            z[i] = (z[i] - w / d[4 * i]).max(lo).min(hi);
        }
        if 2400 <= visit {
            tail.push(z);
        }
    }
    tail
}

#[test]
fn box_friction_that_cycles_is_never_called_solved() {
    // errata GS13-36: the formula is right, but its bound moves with the normal impulse, and on about one tilted
    // rod in a hundred normal and tangents chase each other for ever.
    let mut random = Random::new(36);
    let mut cycles = 0;
    for _ in 0..1000 {
        let (mass, rows, g) = tilted_rod(&mut random);
        let mu = random.range(0.05, 0.8);
        let problem = one_contact(Law::FrictionBox { mu }, mass, &rows, g);
        let tail = box_tail(problem.diagonal_blocks().block(0), &g, mu);
        let top = tail.iter().map(|z| z[0]).fold(0.0, f64::max);
        let spread = (0..100).fold(0.0, |m: f64, i| m.max(distance(&tail[i], &tail[99])));
        let cycling = 1e-3 * top < spread;
        cycles += usize::from(cycling);
        let (report, solution) = solve(&mut with_rule(Rule::Box), &problem);
        let solved = report.status == Status::Solved;
        assert!(!(cycling && solved), "{report}");
        assert!(!solved || report.residual.law <= 1e-8, "{report}");
        assert_ne!(report.status, Status::Diverged, "{report}");
        assert!(Residual::of(&problem, &solution).law.is_finite());
        if cycling {
            // The cone rule on the same rod settles on Coulomb's law.
            let cone = common::rebuilt(&problem, 1, |_| Law::FrictionCone { mu });
            let (exact, _) = solve(&mut with_rule(Rule::Exact), &cone);
            assert_eq!(exact.status, Status::Solved, "{exact}");
            // On a cone the box is an approximation; it must not be called solved there either.
            let (boxed, _) = solve(&mut with_rule(Rule::Box), &cone);
            assert_eq!(boxed.status, Status::Stalled, "{boxed}");
        }
    }
    assert!(0 < cycles, "no rod cycled, so nothing was tested");
}

#[test]
fn box_friction_settles_on_scenes_it_can_settle_on() {
    // The counterpart of the cycles: ordinary loads end solved, by the judge of the box law itself.
    let mut random = Random::new(37);
    let mut solved = 0;
    for _ in 0..10 {
        let scene = common::scenes::stack(2, Wrench::draw(&mut random));
        let problem = scene.problem(Law::FrictionBox { mu: 0.4 }, 0.0);
        let (report, _) = solve(&mut with_rule(Rule::Box), &problem);
        solved += usize::from(report.status == Status::Solved);
    }
    assert!(7 <= solved, "{solved} of 10");
}
