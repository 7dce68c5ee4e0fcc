//! What is promised about `auto`: the table decides, the report says what it did, the answer obeys the file's law.

#![allow(clippy::unwrap_used)] // A test may stop anywhere.

use delassus::problem::Form;
use delassus::problem::file::{FileContent, Format, parse};
use delassus::problem::place::At;
use delassus::solver::auto::{Auto, choose};
use delassus::solver::{Record, from_spec};
use delassus::{
    BlockId, Fit, Law, MassBlock, MassId, Problem, Residual, Solution, Solver, Status, Stop,
    gallery,
};

fn stop(tolerance: f64) -> Stop {
    Stop {
        tolerance,
        ..Stop::default()
    }
}

#[test]
fn built_in_problems_get_the_solver_of_their_class() {
    let expected = [
        ("chain:5", "direct"),
        ("machine", "newton"),
        ("stack:5", "newton"),
        ("stack:20", "newton"),
        ("pile:1000", "coloured"),
        ("peg:32", "newton"),
        ("peg:128", "newton"),
    ];
    for (name, solver) in expected {
        let problem = gallery::build(name).unwrap();
        assert_eq!(choose(&problem, 1e-6).first.solver, solver, "{name}");
    }
    let facets = gallery::experiments::peg(8).problems(1, 0).unwrap();
    assert_eq!(choose(&facets[0], 1e-6).first.solver, "lemke,budget=500");
    // Rows with bounds in dual form are a complementarity problem.
    let mut builder = Problem::builder();
    let mass = builder
        .add_mass(MassBlock::dense(vec![2.0]).unwrap(), &[-1.0])
        .unwrap();
    builder
        .add_block(Law::Unilateral, &[(mass, &[1.0])], &[0.0], &[0.0])
        .unwrap();
    let bounded = builder.build().unwrap().to_dual();
    assert_eq!(choose(&bounded, 1e-6).first.solver, "lemke");
    assert_eq!(
        choose(&Problem::builder().build().unwrap(), 1e-6).class,
        "no rows"
    );
}

#[test]
fn facets_and_round_cones_on_one_body_go_to_newton_and_are_solved() {
    let mut builder = Problem::builder();
    let mass = MassBlock::dense(vec![2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0]).unwrap();
    let mass = builder.add_mass(mass, &[-1.0, 1.5, 0.4]).unwrap();
    let rows = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    for law in [
        Law::FrictionCone { mu: 0.3 },
        Law::FrictionFacets {
            mu: 0.5,
            directions: 8,
        },
    ] {
        builder
            .add_block(law, &[(mass, &rows)], &[0.1; 3], &[0.0; 3])
            .unwrap();
    }
    let problem = builder.build().unwrap();
    let choice = choose(&problem, 1e-10);
    assert_eq!(
        choice.class,
        "faceted cones together with round or rolling ones"
    );
    let mut solution = Solution::zeros(&problem);
    let report = Auto::new(stop(1e-10), 0).solve(&problem, &mut solution);
    assert_eq!((report.status, report.fit), (Status::Solved, Fit::Exact));
    assert_eq!(report.fallback, None);
}

#[test]
fn every_built_in_problem_is_solved_and_the_report_says_by_whom() {
    for exhibit in gallery::exhibits() {
        let problem = gallery::build(exhibit.name).unwrap();
        let mut solver = Auto::new(stop(1e-6), 0);
        let mut solution = Solution::zeros(&problem);
        let report = solver.solve(&problem, &mut solution);
        let name = exhibit.name;
        assert_eq!(
            (report.solver, report.status),
            ("auto", Status::Solved),
            "{name}"
        );
        assert_eq!(report.fit, Fit::Exact, "{name}");
        match report.chosen.as_slice() {
            [whole] => assert_eq!(whole.choice, choose(&problem, 1e-6), "{name}"),
            parts => assert!(1 < parts.len() && parts.iter().all(|part| 0 < part.islands)),
        }
        assert_eq!(report.residual, Residual::of(&problem, &solution), "{name}");
        assert!(report.residual.law <= 1e-6, "{name}");
    }
}

#[test]
fn where_sweeps_creep_newton_is_tried_and_the_report_says_so() {
    // Given by its matrix, so that nobody can count the contacts of a body.
    let problem = gallery::build("heavy-stack:5").unwrap().to_dual();
    let report = Auto::new(stop(1e-9), 0).solve(&problem, &mut Solution::zeros(&problem));
    assert_eq!(
        (report.status, report.fallback),
        (Status::Solved, Some("newton"))
    );
    let message = report.message.as_deref().unwrap();
    assert!(
        message.contains("gauss-seidel ended as iteration-limit"),
        "{message}"
    );
    assert!(message.contains("then newton"), "{message}");
    // Few sweeps, and a handful of factors.
    assert!(report.history.len() < 100, "{report}");
    // The laws of the problem decide, not those of the facets that pivoting obeys: this one slides.
    let problem = gallery::build("pile:30").unwrap();
    let hard = Stop {
        sweeps: 3,
        ..stop(1e-9)
    };
    let report = Auto::new(hard, 0).solve(&problem, &mut Solution::zeros(&problem));
    assert_ne!(report.status, Status::Solved);
    assert!(1e-9 < report.residual.law);
}

#[test]
fn the_attempts_together_keep_to_the_sweeps_and_pivots_asked_for() {
    for name in ["heavy-stack:5", "pile:30", "machine", "stack:20"] {
        let problem = gallery::build(name).unwrap();
        for most in [1, 10, 100] {
            let limited = Stop {
                sweeps: most,
                pivots: most,
                ..stop(1e-13)
            };
            let report = Auto::new(limited, 0).solve(&problem, &mut Solution::zeros(&problem));
            let (sweeps, parts) = (report.history.len(), report.chosen.len());
            assert!(sweeps <= most * parts, "{name}: {report}");
            // The first exchange of a path, which brings in its cover, is not refused.
            let pivots = report.iterations - sweeps;
            assert!(pivots <= (most + 10) * parts, "{name}: {report}");
        }
    }
}

#[test]
fn the_same_problem_gets_the_same_bits_from_new_and_used_solvers() {
    let problem = gallery::build("stack:5").unwrap();
    let other = gallery::build("chain:12").unwrap();
    let mut used = Auto::new(stop(1e-8), 0);
    used.solve(&other, &mut Solution::zeros(&other));
    used.solve(&problem, &mut Solution::zeros(&problem));
    let (mut first, mut second) = (Solution::zeros(&problem), Solution::zeros(&problem));
    used.solve(&problem, &mut first);
    Auto::new(stop(1e-8), 0).solve(&problem, &mut second);
    assert_eq!(first, second);
}

#[test]
fn exact_numbers_of_sweeps_are_done_by_the_first_choice_alone() {
    let problem = gallery::build("stack:5").unwrap();
    let fixed = Stop {
        tolerance: 0.0,
        sweeps: 7,
        ..Stop::default()
    };
    let (mut auto, mut plain) = (Solution::zeros(&problem), Solution::zeros(&problem));
    let report = Auto::new(fixed, 0).solve(&problem, &mut auto);
    from_spec("gauss-seidel,rule=exact", fixed, 0)
        .unwrap()
        .solve(&problem, &mut plain);
    assert_eq!((report.iterations, report.fallback), (7, None));
    assert_eq!(auto, plain);
}

#[test]
fn a_proof_that_there_is_no_answer_is_not_tried_again() {
    // w₁ = −z₁ − 1 ≥ 0 has no z₁ ≥ 0.
    let matrix = delassus::problem::delassus::BlockMatrix::from_entries(&[1], &[(0, 0, -1.0)]);
    let problem = Problem::dual(matrix.unwrap(), vec![-1.0], &[Law::Unilateral]).unwrap();
    let report = Auto::new(stop(1e-8), 0).solve(&problem, &mut Solution::zeros(&problem));
    assert_eq!((report.status, report.fallback), (Status::Ray, None));
    assert!(report.certificate.unwrap().farkas.is_some());
}

/// Chains and stacks that have nothing to do with each other, in turns.
fn mixed() -> Problem {
    let (chain, stack) = (
        gallery::build("chain:6").unwrap(),
        gallery::build("stack:2").unwrap(),
    );
    let mut builder = Problem::builder();
    for problem in [&chain, &stack, &chain, &stack, &stack] {
        let Form::Primal(primal) = problem.form() else {
            panic!("given by masses");
        };
        let mut masses = Vec::new();
        for (i, mass) in primal.mass().iter().enumerate() {
            let p = primal.slice(primal.p(), MassId(i as u32));
            masses.push(builder.add_mass(mass.clone(), p).unwrap());
        }
        for (k, block) in problem.blocks().iter().enumerate() {
            let places = primal.places(BlockId(k as u32));
            let moved = |at: At<'_>| masses[at.mass.index()];
            let on: Vec<_> = places
                .map(|at| At {
                    mass: moved(at),
                    ..at
                })
                .collect();
            let (sigma, q) = (&primal.sigma()[block.rows()], &primal.q()[block.rows()]);
            builder.add_block_at(block.law, &on, sigma, q).unwrap();
        }
    }
    builder.build().unwrap()
}

#[test]
fn islands_of_different_kinds_get_different_solvers() {
    let problem = mixed();
    let mut solution = Solution::zeros(&problem);
    let report = Auto::new(stop(1e-8), 0).solve(&problem, &mut solution);
    let chosen: Vec<(&str, usize)> = report
        .chosen
        .iter()
        .map(|part| (part.choice.first.solver, part.islands))
        .collect();
    assert_eq!(chosen, [("direct", 2), ("newton", 3)]);
    assert_eq!((report.status, report.fit), (Status::Solved, Fit::Exact));
    assert_eq!(report.residual, Residual::of(&problem, &solution));
    assert!(report.residual.law <= 1e-8);
    // One solver for all comes to the same velocities, which are unique.
    let mut other = Solution::zeros(&problem);
    let hybrid = from_spec("hybrid,rule=exact", stop(1e-10), 0)
        .unwrap()
        .solve(&problem, &mut other);
    assert_eq!(hybrid.status, Status::Solved);
    for (a, b) in solution.v.iter().zip(&other.v) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
    // A warm start is shared out to the parts, and the same bits come again.
    let (mut first, mut second) = (solution.clone(), solution.clone());
    let warm = Auto::new(stop(1e-8), 0).solve(&problem, &mut first);
    Auto::new(stop(1e-8), 0).solve(&problem, &mut second);
    assert_eq!(first, second);
    assert!(warm.iterations <= report.iterations);
}

#[test]
fn the_history_of_parts_goes_forward_and_ends_at_the_residual() {
    let problem = mixed();
    let stop = Stop {
        record: Record::Residuals,
        ..stop(1e-8)
    };
    let report = Auto::new(stop, 0).solve(&problem, &mut Solution::zeros(&problem));
    for pair in report.history.windows(2) {
        assert!(pair[0].sweep < pair[1].sweep && pair[0].elapsed_s <= pair[1].elapsed_s);
    }
    let last = report.history.last().unwrap().law.unwrap();
    assert!((last - report.residual.law).abs() <= 1e-12, "{last}");
}

#[test]
fn normals_that_contradict_each_other_are_a_ray_whatever_the_friction() {
    let eye = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let mut builder = Problem::builder();
    let mass = builder
        .add_mass(MassBlock::dense(eye.clone()).unwrap(), &[0.0, 0.2, 0.0])
        .unwrap();
    let law = Law::FrictionCone { mu: 0.5 };
    // Pushed up and down at once: G₁ + G₂ = 0 in the normals, q₁ + q₂ > 0.
    let other: Vec<f64> = eye.iter().map(|x| -x).collect();
    for rows in [&eye, &other] {
        let (sigma, q) = ([0.0; 3], [1.0, 0.0, 0.0]);
        builder.add_block(law, &[(mass, rows)], &sigma, &q).unwrap();
    }
    let problem = builder.build().unwrap();
    let report = Auto::new(stop(1e-9), 0).solve(&problem, &mut Solution::zeros(&problem));
    assert_eq!((report.status, report.fit), (Status::Ray, Fit::Exact));
    let y = report.certificate.unwrap().farkas.unwrap();
    assert!(y[0] > 0.0 && (y[0] - y[3]).abs() <= 1e-9 * y[0], "{y:?}");
    assert!([1, 2, 4, 5].iter().all(|&row| y[row] == 0.0), "{y:?}");
}

/// A point of 1 kg between two walls that rise at the angle φ from each other and close at 1 m/s each.
fn wedged(mu: f64, angle: f64) -> Problem {
    let eye = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let mut builder = Problem::builder();
    let mass = MassBlock::dense(eye).unwrap();
    let mass = builder.add_mass(mass, &[0.0; 3]).unwrap();
    let (sin, cos) = angle.sin_cos();
    for side in [1.0, -1.0] {
        // n = (±cos φ, sin φ, 0), t₁ along the wall upwards, t₂ out of the plane.
        let rows = [side * cos, sin, 0.0, -side * sin, cos, 0.0, 0.0, 0.0, 1.0];
        let (sigma, q) = ([0.0; 3], [1.0, 0.0, 0.0]);
        let law = Law::FrictionCone { mu };
        builder
            .add_block(law, &[(mass, &rows)], &sigma, &q)
            .unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn a_self_stress_with_friction_is_a_ray_and_no_proof() {
    for solver in ["newton", "auto"] {
        let solve = |mu: f64| {
            let problem = wedged(mu, 0.3);
            let mut solver = from_spec(solver, stop(1e-9), 0).unwrap();
            let report = solver.solve(&problem, &mut Solution::zeros(&problem));
            (problem, report)
        };
        // μ < tan φ: the walls squeeze it out, at v = 1/sin φ.
        let (_, report) = solve(0.2);
        assert_eq!(report.status, Status::Solved, "{solver}");
        // μ > tan φ: the forces on both sides lie in their cones and on one line, and grow for ever.
        let (problem, report) = solve(0.5);
        assert_eq!(report.status, Status::Ray, "{solver}: {report}");
        let certificate = report.certificate.unwrap();
        assert_eq!(
            certificate.farkas, None,
            "{solver}: squeezed out without friction"
        );
        let y = certificate.ray;
        let mut v = vec![0.0; 3];
        problem.velocity(&y, &mut v);
        assert!(v.iter().all(|v| v.abs() <= 1e-8), "{solver}: {v:?}");
        for contact in y.chunks(3) {
            let t = contact[1].hypot(contact[2]);
            assert!(0.1 < contact[0] && t <= 0.5 * contact[0] + 1e-8);
        }
    }
}

/// A load of 1e308 N makes velocities whose residual is no number. The softened problems near the best impulses were then
/// answered without a factorisation, again and again: the solve never ended, and could not be interrupted.
#[test]
fn loads_that_overflow_end_the_solve() {
    let text = r#"{"schema":"delassus-problem-1","kind":"contact","h":0.01,"cone":"disk",
        "bodies":[{"m":1.0,"I_body":[[0.1,0.01,0],[0.01,0.15,0],[0,0,0.1]],"x":[0,0.3,0.5],"q":[1,0,0,0],"v":[1,0,0],
            "w":[1,2,3],"f":[-1e308,0,-9.81]},
        {"m":5.0,"I_body":[[0.1,0,0],[0,0.1,0],[0,0,0.1]],"x":[0,0,1.5],"q":[0.6,0.8,0,0]}],
        "contacts":[{"a":1,"b":0,"p":[0.1,0,0],"n":[0,0,1],"t1":[1,0,0],"t2":[0,1,0],"mu":[0.3,0.0],"q_n":0.1,
            "sigma_n":1e-3},
        {"a":0,"b":-1,"p":[0.1,0,0],"n":[0,0,1],"t1":[1,0,0],"t2":[0,1,0],"mu":0.5}],
        "joints":[{"a":0,"b":1,"p":[0,0,1],"q":[0,0,1],"sigma":1e-4}]}"#;
    let (send, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let loaded = parse(text.as_bytes(), Format::Json).unwrap();
        let FileContent::Problem { problem, .. } = loaded.content else {
            panic!("it is a problem");
        };
        let mut solution = Solution::zeros(&problem);
        let status = Auto::new(stop(1e-8), 0)
            .solve(&problem, &mut solution)
            .status;
        send.send(status).unwrap();
    });
    let status = end.recv_timeout(std::time::Duration::from_secs(120));
    assert_ne!(status.expect("it ends"), Status::Solved);
}
