//! Jacobi and coloured Gauss-Seidel on the device against the same sweeps on the CPU: every law, every rule, same
//! bits on every run, and what happens where there is no device.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its problem must stop there"
)]

#[path = "../../delassus/tests/common/mod.rs"]
mod common;
mod device;

use common::planted::{Recipe, planted};
use common::scenes::star;
use common::{assert_finite, dense, distance};
use delassus::problem::Form;
use delassus::solver::Rule;
use delassus::solver::sweep::coloured::Coloured;
use delassus::solver::sweep::gauss_seidel::Order;
use delassus::solver::sweep::jacobi::{Accelerate, Scheme, majorant};
use delassus::{
    BlockId, GaussSeidel, Jacobi, Law, Problem, Report, Solution, Solver, Status, Stop, gallery,
};
use delassus_gpu::{ColouredGpu, Gpu, GpuError, JacobiGpu, Search};
use device::gpu;

/// Half the distance of one to the next single-precision number.
const EPSILON: f64 = f32::EPSILON as f64 / 2.0;

fn laws() -> Vec<(Law, usize)> {
    let interval = |lo, hi| Law::Interval { lo, hi };
    vec![
        (Law::Equality, 3),
        (Law::Equality, 5),
        (Law::Unilateral, 2),
        (interval(-0.4, 0.3), 2),
        (interval(-0.2, f64::INFINITY), 1),
        (interval(0.2, 0.2), 2),
        (Law::FrictionBox { mu: 0.4 }, 3),
        (Law::FrictionBox { mu: 0.4 }, 2),
        (Law::FrictionCone { mu: 0.5 }, 3),
        (Law::FrictionCone { mu: 0.0 }, 3),
        (Law::FrictionCone { mu: 0.4 }, 2),
        (Law::EllipticCone { mu: [0.6, 0.2] }, 3),
        (Law::EllipticCone { mu: [0.5, 0.0] }, 3),
    ]
}

/// Five blocks of each law, and all of them mixed, with rigid and dense masses and some compliance.
fn recipes() -> Vec<Recipe> {
    let mut all: Vec<Recipe> = laws()
        .into_iter()
        .map(|(law, rows)| Recipe::chain(law, rows, 5))
        .collect();
    all.push(Recipe {
        blocks: laws(),
        mixed: true,
        sigma: (0.0, 0.1),
        ..Recipe::chain(Law::Equality, 1, 13)
    });
    all
}

fn exactly(sweeps: usize) -> Stop {
    Stop {
        tolerance: 0.0,
        sweeps,
        ..Stop::default()
    }
}

fn solve(solver: &mut dyn Solver, problem: &Problem) -> (Report, Solution) {
    let mut solution = Solution::zeros(problem);
    let report = solver.solve(problem, &mut solution);
    assert_finite(&report, &solution, &format!("{report}"));
    (report, solution)
}

/// How far single precision may lead velocities astray in so many sweeps [m/s].
///
/// A row velocity is a sum of at most n_w products of G and velocities, each of which sums at most n_u products of
/// M⁻¹Gᵀ and impulses; a step multiplies by the rows of D⁻¹. With a few operations more for the law, its rounding is
/// below c ε s, c = n_w + n_u + n_d + 16, where s is the size of all these terms. Seen through D̃⁻¹ it is an error of
/// the impulses of at most √m c ε s/√d_min in the norm of D̃, d_min the least eigenvalue of D̃. A sweep is
/// nonexpansive in that norm (theorems for convex laws; contacts are tested to do no worse), so that k sweeps add k
/// of them. Since S ≼ D̃, velocities are off by no more in the norm of M, and by 1/√M_min more in any component.
fn rounding(problem: &Problem, scheme: Scheme, lambda: &[f64], sweeps: usize) -> f64 {
    let Form::Primal(primal) = problem.form() else {
        panic!("the bound is derived for bodies");
    };
    let majorant = majorant(problem, scheme);
    let (mut top, mut inverse, mut n_d): (f64, f64, usize) = (0.0, 0.0, 0);
    for (k, block) in problem.blocks().iter().enumerate() {
        let d = majorant.block(k);
        let rows: dense::Matrix = d.chunks_exact(block.n_rows).map(<[f64]>::to_vec).collect();
        let norm = |rows: &dense::Matrix| dense::norm(&rows.concat());
        top = top.max(norm(&rows));
        inverse = inverse.max(norm(&dense::inverse(&rows)));
        n_d = n_d.max(block.n_rows);
    }
    let parts = dense::assemble(problem);
    let light = dense::norm(&dense::inverse(&parts.mass).concat());
    let nonzero = |row: &Vec<f64>| row.iter().filter(|g| **g != 0.0).count();
    let n_w = parts.g.iter().map(nonzero).max().unwrap_or(0);
    let n_u = dense::transposed(&parts.g)
        .iter()
        .map(nonzero)
        .max()
        .unwrap_or(0);
    let largest = lambda.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    // Iterates are as large as the answer within a factor of two.
    let size = problem.velocity_scale() + 2.0 * largest * (top + primal.mass().len() as f64);
    let c = (n_w + n_u + n_d + 16) as f64;
    sweeps as f64 * (problem.n_rows() as f64).sqrt() * c * EPSILON * size * (inverse * light).sqrt()
}

#[test]
fn jacobi_sweeps_equal_those_of_the_cpu_for_every_law_scheme_and_rule() {
    let Some(gpu) = gpu() else { return };
    let (mut worst, mut tightest): (f64, f64) = (0.0, 0.0);
    for recipe in recipes() {
        let problem = planted(&recipe, 7).problem;
        for (_, scheme) in Scheme::NAMES {
            for (_, rule) in Rule::NAMES {
                for sweeps in [1, 3, 20] {
                    let mut cpu = Jacobi {
                        stop: exactly(sweeps),
                        scheme,
                        rule,
                        ..Jacobi::default()
                    };
                    let mut device = JacobiGpu::on(gpu.clone(), cpu.clone());
                    let (expected, reference) = solve(&mut cpu, &problem);
                    let (report, solution) = solve(&mut device, &problem);
                    let what = format!("{:?} {:?} {sweeps}", recipe.blocks[0], cpu.options());
                    assert_eq!(device.trouble(), None, "{what}");
                    assert_eq!(report.iterations, expected.iterations);
                    let bound = rounding(&problem, scheme, &reference.lambda, sweeps);
                    let off = distance(&solution.v, &reference.v);
                    assert!(off <= bound, "{what}: {off:e} above {bound:e}");
                    worst = worst.max(off);
                    tightest = tightest.max(off / bound);
                    // η falls as on the CPU, within the same bound.
                    let eta = report.history[sweeps - 1].eta - expected.history[sweeps - 1].eta;
                    assert!(
                        eta.abs() <= bound * problem.n_rows() as f64,
                        "{what}: {eta:e}"
                    );
                }
            }
        }
    }
    assert!(0.0 < worst, "single precision leaves a trace");
    println!("velocities differ by at most {worst:.1e} m/s, {tightest:.1e} of the bound");
}

#[test]
fn momentum_is_that_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for recipe in recipes() {
        let problem = planted(&recipe, 7).problem;
        let mut cpu = Jacobi {
            stop: exactly(5),
            accelerate: Accelerate::Nesterov,
            ..Jacobi::default()
        };
        let (_, reference) = solve(&mut cpu, &problem);
        let (_, solution) = solve(&mut JacobiGpu::on(gpu.clone(), cpu), &problem);
        // An extrapolation by β lets an error grow by 1 + 2β; in five sweeps β is 0, 0, 0.28, 0.43 and 0.53.
        let growth = 1.56 * 1.87 * 2.07;
        let bound = growth * rounding(&problem, Scheme::Split, &reference.lambda, 5);
        let off = distance(&solution.v, &reference.v);
        assert!(
            off <= bound,
            "{:?}: {off:e} above {bound:e}",
            recipe.blocks[0]
        );
    }
}

/// The problem with its blocks in another order.
fn reordered(problem: &Problem, order: &[BlockId]) -> Problem {
    let Form::Primal(primal) = problem.form() else {
        panic!("only bodies can be coloured");
    };
    let mut builder = Problem::builder();
    let mut first = 0;
    for mass in primal.mass() {
        let p = &primal.p()[first..first + mass.dim()];
        builder.add_mass(mass.clone(), p).unwrap();
        first += mass.dim();
    }
    for &k in order {
        let block = problem.blocks()[k.index()];
        let places: Vec<_> = primal.places(k).collect();
        let (sigma, q) = (&primal.sigma()[block.rows()], &primal.q()[block.rows()]);
        builder.add_block_at(block.law, &places, sigma, q).unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn coloured_sweeps_equal_gauss_seidel_in_the_order_of_the_colours() {
    let Some(gpu) = gpu() else { return };
    for recipe in recipes() {
        let problem = planted(&recipe, 3).problem;
        let sets = ColouredGpu::sets(&problem);
        assert!(1 < sets.len() && sets.len() < problem.blocks().len());
        let ordered = reordered(&problem, &sets.concat());
        for (_, rule) in Rule::NAMES {
            // Few sweeps show a wrong step that many would repair.
            for (order, relax, sweeps) in [
                (Order::Forward, 1.0, 1),
                (Order::Backward, 1.3, 3),
                (Order::Symmetric, 0.7, 15),
            ] {
                let mut cpu = GaussSeidel {
                    stop: exactly(sweeps),
                    rule,
                    order,
                    relax,
                    ..GaussSeidel::default()
                };
                let mut device = ColouredGpu::on(
                    gpu.clone(),
                    Coloured {
                        stop: exactly(sweeps),
                        rule,
                        order,
                        relax,
                        ..Coloured::default()
                    },
                );
                let (_, reference) = solve(&mut cpu, &ordered);
                let (_, solution) = solve(&mut device, &problem);
                let what = format!("{:?} {:?}", recipe.blocks[0], cpu.options());
                assert_eq!(device.trouble(), None, "{what}");
                let bound = rounding(&ordered, Scheme::Plain, &reference.lambda, sweeps);
                let off = distance(&solution.v, &reference.v);
                assert!(off <= bound, "{what}: {off:e} above {bound:e}");
            }
        }
    }
}

/// Law residual that every planted problem is solved to: single precision of sliding contacts [m/s].
const LAW: f64 = 1e-6;
/// Joints, limits and friction boxes are refined as far as double precision is asked to [m/s].
const REFINED: f64 = 1e-11;

fn solvers(gpu: &Gpu, tolerance: f64) -> Vec<Box<dyn Solver>> {
    let stop = Stop {
        tolerance,
        sweeps: 50_000,
        ..Stop::default()
    };
    let jacobi = |accelerate, rule| {
        let options = Jacobi {
            stop,
            accelerate,
            rule,
            ..Jacobi::default()
        };
        Box::new(JacobiGpu::on(gpu.clone(), options)) as Box<dyn Solver>
    };
    let coloured = |rule| {
        let options = Coloured {
            stop,
            rule,
            ..Coloured::default()
        };
        Box::new(ColouredGpu::on(gpu.clone(), options)) as Box<dyn Solver>
    };
    vec![
        jacobi(Accelerate::None, Rule::Iso),
        jacobi(Accelerate::Nesterov, Rule::Iso),
        jacobi(Accelerate::None, Rule::Exact),
        coloured(Rule::Iso),
        coloured(Rule::Exact),
    ]
}

#[test]
fn planted_answers_of_every_law_are_found() {
    let Some(gpu) = gpu() else { return };
    for recipe in recipes() {
        let planted = planted(&recipe, 1);
        let cones = planted.problem.blocks().iter().any(|block| {
            matches!(
                block.law,
                Law::FrictionCone { .. } | Law::EllipticCone { .. }
            )
        });
        let tolerance = if cones { LAW } else { REFINED };
        for mut solver in solvers(&gpu, tolerance) {
            let (report, solution) = solve(solver.as_mut(), &planted.problem);
            let what = format!("{:?} {:?}", recipe.blocks[0], solver.options());
            assert_eq!(report.status, Status::Solved, "{what}: {report}");
            assert!(report.residual.law <= tolerance, "{what}: {report}");
            assert!(report.residual.momentum <= 1e-13, "{what}: {report}");
            assert_eq!(report.fallback, None);
            // The condition of these problems is below 1e3.
            let off = distance(&solution.v, &planted.answer.v);
            assert!(off <= 1e3 * tolerance, "{what}: v off by {off:e}");
        }
    }
}

#[test]
fn contacts_of_the_gallery_are_solved_and_reruns_have_the_same_bits() {
    let Some(gpu) = gpu() else { return };
    for name in ["stack:3", "pile:200", "chain:20", "hanging:20"] {
        let Ok(problem) = gallery::build(name) else {
            continue;
        };
        for (first, second) in solvers(&gpu, 1e-5).iter_mut().zip(&mut solvers(&gpu, 1e-5)) {
            let (report, solution) = solve(first.as_mut(), &problem);
            assert_eq!(report.status, Status::Solved, "{name}: {report}");
            let (again, same) = solve(second.as_mut(), &problem);
            assert_eq!(solution, same, "{name} {}", report.solver);
            let lines = |report: &Report| -> Vec<(f64, f64)> {
                let lines = report.history.iter();
                lines.map(|line| (line.eta, line.dual_decrease)).collect()
            };
            assert_eq!(lines(&report), lines(&again));
            // A solver used again, its arrays still on the device, gives them too.
            let (_, third) = solve(first.as_mut(), &problem);
            assert_eq!(solution, third, "{name} {}", report.solver);
        }
    }
}

#[test]
fn the_objective_falls_and_the_device_measures_what_the_judge_does() {
    let Some(gpu) = gpu() else { return };
    for recipe in recipes() {
        let problem = planted(&recipe, 5).problem;
        let convex = problem.blocks().iter().all(|block| block.law.is_convex());
        let jacobi = Jacobi {
            stop: exactly(6),
            ..Jacobi::default()
        };
        let coloured = Coloured {
            stop: exactly(6),
            ..Coloured::default()
        };
        let mut one = JacobiGpu::on(gpu.clone(), jacobi);
        let mut two = ColouredGpu::on(gpu.clone(), coloured);
        let (a, solution) = solve(&mut one, &problem);
        let (b, _) = solve(&mut two, &problem);
        let bound = rounding(&problem, Scheme::Split, &solution.lambda, 6);
        for (report, law) in [(&a, one.device_law()), (&b, two.device_law())] {
            let off = (law.unwrap() - report.residual.law).abs();
            assert!(
                off <= bound,
                "{:?} {}: {law:?} is not {:e}",
                recipe.blocks[0],
                report.solver,
                report.residual.law
            );
            for line in report.history.iter().filter(|_| convex) {
                assert!(-bound <= line.dual_decrease, "{line:?}");
            }
        }
    }
}

#[test]
fn plain_steps_on_a_star_diverge_and_say_so() {
    let Some(gpu) = gpu() else { return };
    let problem = star(16, 20.0);
    let mut options = Jacobi {
        scheme: Scheme::Plain,
        ..Jacobi::default()
    };
    let (report, _) = solve(&mut JacobiGpu::on(gpu.clone(), options.clone()), &problem);
    assert_eq!(report.status, Status::Diverged, "{report}");
    assert!(report.message.unwrap().contains("scheme=split"));
    // Even where nobody looks on the way, nothing that is not a number comes out.
    options.stop = exactly(3000);
    let (report, _) = solve(&mut JacobiGpu::on(gpu.clone(), options.clone()), &problem);
    assert_eq!(report.status, Status::Diverged, "{report}");
    (options.scheme, options.stop) = (Scheme::Split, Stop::default());
    let (report, _) = solve(&mut JacobiGpu::on(gpu, options), &problem);
    assert_eq!(report.status, Status::Solved, "{report}");
}

#[test]
fn without_an_adapter_the_cpu_goes_on_and_says_so() {
    let trouble = Gpu::search(Search::Nothing).unwrap_err();
    assert!(matches!(trouble, GpuError::NoAdapter { .. }), "{trouble}");
    let text = trouble.to_string();
    assert!(text.contains("mesa-vulkan-drivers"), "{text}");
    let problem = gallery::build("stack:3").unwrap();
    let mut jacobi = JacobiGpu::without(trouble.clone(), Jacobi::default());
    let mut coloured = ColouredGpu::without(trouble, Coloured::default());
    let pairs: [(&mut dyn Solver, &mut dyn Solver, &str); 2] = [
        (&mut jacobi, &mut Jacobi::default(), "jacobi"),
        (&mut coloured, &mut Coloured::default(), "coloured"),
    ];
    for (device, cpu, name) in pairs {
        let (report, solution) = solve(device, &problem);
        let (expected, same) = solve(cpu, &problem);
        assert_eq!(report.fallback, Some(name));
        assert_eq!((report.status, solution), (expected.status, same));
        let message = report.message.unwrap();
        assert!(message.contains("no Vulkan"), "{message}");
    }
}

#[test]
fn what_the_device_cannot_do_is_left_to_the_cpu() {
    let Some(gpu) = gpu() else { return };
    // A mass of 1e-40 kg: its inverse is beyond single precision.
    let mut builder = Problem::builder();
    let speck = builder
        .add_mass(delassus::MassBlock::dense(vec![1e-40]).unwrap(), &[-1e-40])
        .unwrap();
    builder
        .add_block(Law::Unilateral, &[(speck, &[1.0])], &[0.0], &[0.0])
        .unwrap();
    let speck = builder.build().unwrap();
    let mut solver = JacobiGpu::on(gpu.clone(), Jacobi::default());
    let (report, solution) = solve(&mut solver, &speck);
    assert_eq!(report.fallback, Some("jacobi"), "{report}");
    assert!(report.message.unwrap().contains("single precision"));
    assert!(solution.v[0].abs() < 1e-12);
    // Dual problems: Jacobi takes them, colours do not.
    let planted = planted(&Recipe::chain(Law::Equality, 3, 5), 2);
    let dual = planted.problem.to_dual();
    let (report, solution) = solve(&mut solver, &dual);
    assert_eq!((report.status, report.fallback), (Status::Solved, None));
    assert!(distance(&solution.lambda, &planted.answer.lambda) < 1e-5);
    let mut coloured = ColouredGpu::on(gpu.clone(), Coloured::default());
    let (report, _) = solve(&mut coloured, &dual);
    assert_eq!(report.fallback, Some("coloured"));
    // A problem without rows.
    let mut builder = Problem::builder();
    let mass = delassus::MassBlock::dense(vec![2.0]).unwrap();
    builder.add_mass(mass, &[1.0]).unwrap();
    let empty = builder.build().unwrap();
    for solver in &mut solvers(&gpu, 1e-9) {
        let (report, solution) = solve(solver.as_mut(), &empty);
        assert_eq!(report.status, Status::Solved, "{report}");
        assert_eq!(report.fallback, None, "{report}");
        assert!((solution.v[0] - 0.5).abs() < 1e-15);
    }
}

#[test]
fn warm_starts_are_kept_and_topologies_may_change_between_solves() {
    let Some(gpu) = gpu() else { return };
    let (a, b) = (
        gallery::build("chain:12").unwrap(),
        gallery::build("stack:2").unwrap(),
    );
    for fresh in 0..solvers(&gpu, 1e-6).len() {
        let make = || solvers(&gpu, 1e-6).swap_remove(fresh);
        let mut solver = make();
        let mut solution = Solution::zeros(&a);
        let cold = solver.solve(&a, &mut solution);
        let warm = solver.solve(&a, &mut solution);
        assert!(warm.iterations <= 8 && 8 < cold.iterations, "{warm}");
        let (_, other) = solve(solver.as_mut(), &b);
        assert_eq!(other, solve(make().as_mut(), &b).1);
        assert_eq!(solve(solver.as_mut(), &a).1, solve(make().as_mut(), &a).1);
    }
}

#[test]
fn history_has_one_line_for_each_sweep() {
    let Some(gpu) = gpu() else { return };
    let problem = gallery::build("chain:12").unwrap();
    let options = Jacobi {
        stop: exactly(100),
        ..Jacobi::default()
    };
    let (report, _) = solve(&mut JacobiGpu::on(gpu, options), &problem);
    let sweeps: Vec<usize> = report.history.iter().map(|line| line.sweep).collect();
    assert_eq!(sweeps, (1..=100).collect::<Vec<_>>());
}
