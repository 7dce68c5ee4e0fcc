//! Robots under every solver: one step each of robots that touch something, and runs at the defaults of their scenes.

#![cfg(feature = "world")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot build its world must stop there"
)]

use delassus::scenes::build;
use delassus::solver::{Monitor, Stop, from_spec};
use delassus::world::FrictionModel;
use delassus::{Fit, Law, Problem, Report, RobotId, Solution, Solver, Status};

fn solver(spec: &str, tolerance: f64) -> Box<dyn Solver> {
    let stop = Stop {
        tolerance,
        sweeps: 200_000,
        ..Stop::default()
    };
    from_spec(spec, stop, 0).unwrap()
}

/// Solves, and keeps the problem.
struct Keep {
    solver: Box<dyn Solver>,
    problem: Option<Problem>,
}

impl Solver for Keep {
    fn name(&self) -> &'static str {
        self.solver.name()
    }

    fn fit(&self, law: &Law) -> Fit {
        self.solver.fit(law)
    }

    fn stop(&self) -> Stop {
        self.solver.stop()
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        self.problem = Some(problem.clone());
        self.solver.run(problem, solution, monitor)
    }
}

/// The problem of a step of a scene, with its friction or with none.
fn captured(name: &str, steps: usize, friction: Option<FrictionModel>) -> Problem {
    let mut scene = build(name).unwrap();
    match friction {
        Some(model) => scene.world.settings.friction = model,
        None => {
            let surfaces = scene.world.surfaces_mut().iter_mut();
            surfaces.for_each(|surface| surface.friction = 0.0);
        }
    }
    let solver = solver("gauss-seidel", 1e-8);
    let mut keep = Keep {
        solver,
        problem: None,
    };
    for _ in 0..steps {
        scene.world.step(scene.run.dt, &mut keep).unwrap();
    }
    keep.problem.unwrap()
}

fn answer(problem: &Problem, spec: &str, tolerance: f64) -> (Vec<f64>, Report) {
    let mut solution = Solution::zeros(problem);
    let report = solver(spec, tolerance).solve(problem, &mut solution);
    (solution.v, report)
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

fn touches(problem: &Problem) -> bool {
    problem.blocks().iter().any(|block| block.law.is_contact())
}

const TOUCHING: [(&str, usize); 4] = [
    ("snake:10", 30),
    ("humanoid", 40),
    ("quadruped", 60),
    ("gripper", 250),
];

const ALL: [&str; 10] = [
    "gauss-seidel,rule=exact",
    "coloured",
    "jacobi",
    "jacobi,accelerate=nesterov",
    "lemke",
    "lemke-reduced",
    "lemke-structural",
    "lemke-standard",
    "hybrid",
    "auto",
];

/// Tolerance of every solve [m/s]; servos are stiff, and below it is rounding.
const TIGHT: f64 = 1e-8;

#[test]
fn robots_that_touch_something_move_alike_under_every_solver() {
    let mut faults = Vec::new();
    for (name, steps) in TOUCHING {
        // Without friction the velocities are unique, and every solver is exact.
        let problem = captured(name, steps, None);
        assert!(touches(&problem), "{name} touches nothing");
        let (wanted, report) = answer(&problem, "gauss-seidel", TIGHT);
        assert_eq!(report.status, Status::Solved, "{name}: {report}");
        for spec in ALL {
            let (v, report) = answer(&problem, spec, TIGHT);
            let apart = apart(&v, &wanted);
            eprintln!("{name}: apart by {apart:.1e}; {report}");
            if report.status != Status::Solved || !(apart < 1e-5) {
                faults.push(format!("{name} under {spec}: {apart:.1e}, {report}"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn friction_of_robots_is_obeyed_by_every_solver_that_knows_its_law() {
    // With friction several velocities may obey the laws, as they do for the snake; the laws decide.
    let mut faults = Vec::new();
    for (name, steps) in TOUCHING {
        for model in [FrictionModel::Box, FrictionModel::Cone] {
            let problem = captured(name, steps, Some(model));
            for spec in ALL {
                let (_, report) = answer(&problem, spec, TIGHT);
                eprintln!("{name}, {model:?}: {report}");
                // Lemke's methods put facets in place of cones.
                let exact = model == FrictionModel::Box || !spec.starts_with("lemke");
                let obeyed = report.residual.law <= TIGHT || !exact;
                if report.status != Status::Solved || !obeyed {
                    faults.push(format!("{name}, {model:?}, under {spec}: {report}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn loops_alone_are_closed_alike_by_elimination_and_by_sweeps() {
    for name in ["four-bar", "delta-robot"] {
        let mut scene = build(name).unwrap();
        let robot = scene.world.robot_mut(RobotId(0)).unwrap();
        for joint in robot.joints_mut() {
            joint.control = Default::default();
        }
        let solver = solver("gauss-seidel", 1e-9);
        let mut keep = Keep {
            solver,
            problem: None,
        };
        for _ in 0..20 {
            scene.world.step(scene.run.dt, &mut keep).unwrap();
        }
        let problem = keep.problem.unwrap();
        let (wanted, report) = answer(&problem, "kkt", 1e-9);
        assert_eq!(report.status, Status::Solved, "{name}: {report}");
        for spec in [
            "gauss-seidel",
            "direct",
            "hybrid",
            "lemke",
            "lemke-standard",
            "jacobi",
            "jacobi,accelerate=chebyshev",
        ] {
            let (v, report) = answer(&problem, spec, 1e-9);
            assert_eq!(report.status, Status::Solved, "{name} under {spec}");
            let apart = apart(&v, &wanted);
            assert!(apart < 1e-6, "{name} under {spec}: {apart}");
        }
    }
}

#[test]
fn every_step_of_a_robot_is_solved_at_the_defaults_of_its_scene() {
    // To where they are hardest: the snake settles, the quadruped starts to trot, the humanoid has fallen on its limits.
    for (name, steps) in [
        ("snake:20", 60),
        ("quadruped", 200),
        ("humanoid", 540),
        ("gripper", 120),
        ("delta-robot", 40),
        ("four-bar", 40),
    ] {
        let mut scene = build(name).unwrap();
        let stop = Stop {
            tolerance: scene.run.tolerance,
            sweeps: scene.run.iterations,
            ..Stop::default()
        };
        let mut solver = from_spec(&scene.run.solver, stop, 0).unwrap();
        for k in 0..steps {
            let step = scene.world.step(scene.run.dt, solver.as_mut()).unwrap();
            let report = &step.report;
            assert_eq!(report.status, Status::Solved, "{name}, step {k}: {report}");
        }
    }
}

/// Impulses in a linkage that turns change by nearly the same amount from step to step: from what comes next most steps
/// take one factorisation, where from the last step's impulses they took 1.6.
#[test]
fn impulses_that_change_steadily_are_foreseen() {
    let mut scene = build("four-bar").unwrap();
    let mut newton = solver("newton", scene.run.tolerance);
    let mut factorisations = 0;
    for _ in 0..400 {
        let step = scene.world.step(scene.run.dt, newton.as_mut()).unwrap();
        assert_eq!(step.unsolved, 0);
        factorisations += step.report.iterations;
    }
    assert!(factorisations < 500, "{factorisations} in 400 steps");
}
