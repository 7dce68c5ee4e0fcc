//! What the hot passes cost, in instructions: one that takes a tenth more than it did is a regression, whatever the
//! machine is doing besides.
//!
//! Each pass runs under `valgrind --tool=callgrind`, which counts what is executed inside [`counted_pass`] and executes
//! AVX2 but nothing wider, so that the lanes are the same on every machine that has them. Without valgrind, or without
//! AVX2, nothing is measured, and the test says so. Budgets are those of the profile `dev`; another compiler counts a
//! little differently. `DELASSUS_BUDGET=print cargo test --test budget -- --nocapture` prints what is counted now.

#![cfg(all(feature = "parallel", feature = "robots"))]
#![cfg(debug_assertions)]
#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test says what it skips"
)]

use std::process::Command;

use delassus::gallery::experiments;
use delassus::math::{DMat3, DVec3};
use delassus::solver::from_spec;
use delassus::solver::pivot::{Lemke, Method};
use delassus::tree::spatial::Pose;
use delassus::tree::{Link, MassProperties, Tree, TreeJoint};
use delassus::world::{Integrator, Scene};
use delassus::{LinkId, Solution, Solver, Status, Stop, gallery, scenes};

/// Share of its budget that a pass may take.
const MOST: f64 = 1.1;
/// Names the pass to the process that runs it.
const VARIABLE: &str = "DELASSUS_BUDGET";

/// A pass, and the instructions it took when this was written.
struct Pass {
    name: &'static str,
    budget: f64,
    run: fn(),
}

const PASSES: [Pass; 7] = [
    Pass {
        name: "twenty coloured sweeps over a pile of 1000 contacts",
        budget: 9.93e6,
        run: sweeps,
    },
    Pass {
        name: "four steps of necklaces in lanes",
        budget: 1.8631e7,
        run: || steps("necklaces:40x20", Integrator::Spook, "direct", (2, 4)),
    },
    Pass {
        name: "four steps of necklaces in lanes at second order",
        budget: 3.6203e7,
        run: || steps("necklaces:40x20", Integrator::Rattle, "direct", (2, 4)),
    },
    Pass {
        name: "twenty steps of a humanoid",
        budget: 1.0334e7,
        run: || steps("humanoid", Integrator::Spook, "newton", (60, 20)),
    },
    Pass {
        name: "ten steps of an arch at rest",
        budget: 8.0679e6,
        run: || steps("arch", Integrator::Spook, "newton", (20, 10)),
    },
    Pass {
        name: "twenty pegs of 32 contacts by Lemke's reduced method",
        budget: 1.3104e7,
        run: pegs,
    },
    Pass {
        name: "forward dynamics of a chain of 60 links, a hundred times",
        budget: 9.8462e6,
        run: recursions,
    },
];

/// What is counted. Its name is how the counter knows it.
#[inline(never)]
fn counted_pass(mut work: impl FnMut()) {
    work();
}

fn sweeps() {
    let problem = gallery::build("pile:1000").unwrap();
    let stop = Stop {
        tolerance: 0.0,
        sweeps: 20,
        ..Stop::default()
    };
    let mut solver = from_spec("coloured", stop, 0).unwrap();
    let mut solution = Solution::zeros(&problem);
    counted_pass(|| {
        let report = solver.solve(&problem, &mut solution);
        assert_eq!(report.iterations, 20);
    });
}

/// So many steps of a scene at first, then so many that are counted.
fn steps(scene: &str, integrator: Integrator, solver: &str, (before, counted): (usize, usize)) {
    let Scene { mut world, run, .. } = scenes::build(scene).unwrap();
    world.settings.integrator = integrator;
    let stop = Stop {
        tolerance: run.tolerance,
        sweeps: run.iterations,
        ..Stop::default()
    };
    let mut solver = from_spec(solver, stop, 0).unwrap();
    let mut step = || {
        let step = world.step(run.dt, solver.as_mut()).unwrap();
        assert_eq!(step.unsolved, 0);
    };
    (0..before).for_each(|_| step());
    counted_pass(|| (0..counted).for_each(|_| step()));
}

fn pegs() {
    let problems = experiments::peg(32).problems(20, 1).unwrap();
    let mut solver = Lemke::new(Method::Reduced);
    solver.stop.tolerance = 1e-9;
    counted_pass(|| {
        for problem in &problems {
            let report = solver.solve(problem, &mut Solution::zeros(problem));
            assert_eq!(report.status, Status::Solved);
        }
    });
}

fn recursions() {
    let body = MassProperties {
        mass: 1.0,
        com: DVec3::new(0.1, 0.2, -0.3),
        inertia: DMat3::IDENTITY,
    };
    let link = |i: u32| {
        let axis = DVec3::AXES[i as usize % 3];
        let place = Pose::at(DVec3::new(0.0, 0.1, -0.2));
        let parent = i.checked_sub(1).map(LinkId);
        Link::new(parent, TreeJoint::Revolute { axis }, place, body)
    };
    let tree = Tree::new((0..60).map(link).collect()).unwrap();
    let (q, v) = (vec![0.3; tree.n_dofs()], vec![0.5; tree.n_dofs()]);
    let (mut out, mut data) = (vec![0.0; tree.n_dofs()], tree.data());
    counted_pass(|| {
        for _ in 0..100 {
            tree.forward_dynamics(&mut data, (&q, &v, &v), DVec3::Z, &mut out)
                .unwrap();
        }
    });
}

/// The pass that the process was started for.
#[test]
#[ignore = "the other test starts it, once for each pass"]
fn work() {
    let name = std::env::var(VARIABLE).expect("the other test says which pass");
    let pass = PASSES.iter().find(|pass| pass.name == name);
    let run = pass.expect("the variable names a pass").run;
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    alone.unwrap().install(run);
}

/// Instructions of a pass, or why they cannot be counted.
fn count(pass: &Pass) -> Result<f64, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("valgrind");
    command.args([
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--toggle-collect=*counted_pass*",
    ]);
    command.arg(own).args(["--ignored", "--exact", "work"]);
    let found = command.env(VARIABLE, pass.name).output();
    let found = found.map_err(|error| format!("valgrind cannot be started: {error}"))?;
    let told = String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "{}: {told}", pass.name);
    let line = told
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    let number = line.and_then(|number| number.trim().parse().ok());
    number.ok_or_else(|| format!("valgrind has not said what it counted: {told}"))
}

#[test]
fn hot_passes_take_no_more_instructions_than_their_budgets() {
    if !has_avx2() {
        eprintln!("skipped: budgets are counted with AVX2, which this machine has not");
        return;
    }
    let print = std::env::var(VARIABLE).is_ok_and(|word| word == "print");
    let mut excess = Vec::new();
    for pass in &PASSES {
        let count = match count(pass) {
            Ok(count) => count,
            Err(why) => {
                eprintln!("skipped: {why}");
                return;
            }
        };
        let share = count / pass.budget;
        if print {
            eprintln!("{:60} {count:12.4e}  {share:.3}", pass.name);
        }
        assert!(0.0 < count, "{}: nothing was counted", pass.name);
        if !(share <= MOST) {
            excess.push(format!("{}: {share:.2} of its budget", pass.name));
        }
    }
    assert!(excess.is_empty(), "{excess:#?}");
}

fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}
