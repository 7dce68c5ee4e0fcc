//! A sweep allocates nothing: a hundred times as many sweeps ask the allocator for nothing more. Neither does a
//! recursion over a tree, nor a factorisation of `newton`, nor a step of a world of chains or of a robot.

#![cfg(feature = "parallel")]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "counting allocations takes an allocator, and that is unsafe to write"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use delassus::math::{DMat3, DVec3};
use delassus::solver::exact::kkt::TreeKkt;
use delassus::solver::from_spec;
use delassus::tree::spatial::Pose;
use delassus::tree::{
    KktGiven, KktUnknowns, Link, LinkPoint, MassProperties, Tree, TreeJoint, TreeRows,
};
use delassus::{LinkId, Problem, Solution, Stop, gallery};

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Dynamics and constrained dynamics of a chain, over and over.
fn recursions() {
    let body = MassProperties {
        mass: 1.0,
        com: DVec3::new(0.1, 0.2, -0.3),
        inertia: DMat3::IDENTITY,
    };
    let joints = [
        TreeJoint::Floating,
        TreeJoint::Ball,
        TreeJoint::Revolute { axis: DVec3::Y },
    ];
    let link = |i: u32| {
        let parent = i.checked_sub(1).map(LinkId);
        let place = Pose::at(DVec3::new(0.0, 0.1, -0.2));
        Link::new(parent, joints[i as usize % 3], place, body)
    };
    let tree = Tree::new((0..9).map(link).collect()).unwrap();
    let n = tree.n_dofs();
    let (q, v, mut out, mut m) = (tree.neutral(), vec![0.5; n], vec![0.0; n], vec![0.0; n * n]);
    let (mut data, mut rows, mut kkt) = (tree.data(), TreeRows::default(), TreeKkt::default());
    let mut x2 = [0.0; 3];
    let mut round = || {
        let before = COUNT.load(Ordering::Relaxed);
        tree.forward_dynamics(&mut data, (&q, &v, &v), DVec3::Z, &mut out)
            .unwrap();
        tree.inverse_dynamics(&mut data, (&q, &v, &v), DVec3::Z, &mut out)
            .unwrap();
        tree.mass_matrix(&mut data, &q, &mut m).unwrap();
        rows.clear();
        for axis in DVec3::AXES {
            rows.start();
            tree.add_linear(
                &data,
                &mut rows,
                LinkPoint::new(LinkId(8), DVec3::ONE),
                axis,
            )
            .unwrap();
        }
        kkt.solve(
            &tree,
            &mut data,
            &rows,
            KktGiven {
                y1: &v,
                y2: &[0.0; 3],
                sigma: &[0.0; 3],
            },
            KktUnknowns {
                x1: &mut out,
                x2: &mut x2,
            },
        )
        .unwrap();
        COUNT.load(Ordering::Relaxed) - before
    };
    round();
    // The harness may allocate beside us, once.
    assert_eq!((0..5).map(|_| round()).min(), Some(0));
}

/// Steps of a world whose trees go into lanes, over and over on one thread.
#[cfg(feature = "world")]
fn steps(integrator: delassus::world::Integrator) {
    let mut world = delassus::scenes::build("necklaces:20x6").unwrap().world;
    world.settings.integrator = integrator;
    let mut solver = delassus::Direct::default();
    let mut round = |push: bool| {
        let before = COUNT.load(Ordering::Relaxed);
        if push {
            world.bodies_mut().force[3] = DVec3::X;
        }
        let step = world.step(1.0 / 60.0, &mut solver).unwrap();
        assert_eq!(step.unsolved, 0);
        COUNT.load(Ordering::Relaxed) - before
    };
    for push in [false, true] {
        for _ in 0..2 {
            round(push);
        }
        // The harness may allocate beside us, once.
        let least = (0..5).map(|_| round(push)).min();
        assert_eq!(least, Some(0), "{push} {integrator:?}");
    }
}

/// Steps of worlds with a robot: on the ground, with an object in its hand, and with loops.
#[cfg(feature = "robots")]
fn robot_steps() {
    let mut excess = Vec::new();
    for name in ["humanoid", "quadruped", "gripper", "four-bar"] {
        for spec in ["newton", "auto"] {
            let delassus::world::Scene { mut world, run, .. } =
                delassus::scenes::build(name).unwrap();
            let stop = Stop {
                tolerance: run.tolerance,
                sweeps: run.iterations,
                ..Stop::default()
            };
            let mut solver = from_spec(spec, stop, 0).unwrap();
            let mut round = || {
                let before = COUNT.load(Ordering::Relaxed);
                let step = world.step(run.dt, solver.as_mut()).unwrap();
                assert_eq!(step.unsolved, 0);
                COUNT.load(Ordering::Relaxed) - before
            };
            for _ in 0..100 {
                round();
            }
            // The harness may allocate beside us, and contacts that come and go ask for room now and then.
            let fewest = (0..20).map(|_| round()).min().unwrap();
            if fewest != 0 {
                excess.push(format!(
                    "{name} by {spec}: {fewest} pieces of memory a step"
                ));
            }
        }
    }
    assert!(excess.is_empty(), "{excess:?}");
}

// One test only: tests of one file run side by side and would count each other's allocations.
#[test]
fn more_sweeps_and_recursions_cost_no_more_allocations() {
    recursions();
    #[cfg(feature = "world")]
    {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        alone.unwrap().install(|| {
            steps(delassus::world::Integrator::Spook);
            steps(delassus::world::Integrator::Rattle);
        });
    }
    #[cfg(feature = "robots")]
    {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        alone.unwrap().install(robot_steps);
    }
    let specs = [
        "gauss-seidel",
        "gauss-seidel,rule=exact",
        "gauss-seidel,rule=box",
        "gauss-seidel,rule=ccp,order=shuffle",
        "gauss-seidel,rule=project,relax=0.9",
        "gauss-seidel,rule=nonlinear,order=symmetric",
        "gauss-seidel,sweep=residual",
        "coloured",
        "coloured,rule=exact,order=symmetric",
    ];
    for name in ["stack:3", "machine", "chain:5"] {
        let primal = gallery::build(name).unwrap();
        for problem in [primal.to_dual(), primal] {
            for spec in specs {
                assert_same(name, &problem, spec);
            }
        }
    }
    // Inside one of its methods: between them it makes room for the next.
    for name in ["heavy-stack:10", "pile:40", "chain:5"] {
        let problem = gallery::build(name).unwrap();
        for problem in [problem.to_dual(), problem] {
            assert_same_within(name, &problem, "newton", (2, 4));
        }
    }
    // Large enough for two leaves, which two threads sweep side by side.
    let pile = gallery::build("pile:1200").unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    pool.unwrap()
        .install(|| assert_same("pile:1200", &pile, "coloured"));
}

fn assert_same(name: &str, problem: &Problem, spec: &str) {
    assert_same_within(name, problem, spec, (10, 1000));
}

/// Few iterations and many ask for as many pieces of memory.
fn assert_same_within(name: &str, problem: &Problem, spec: &str, (few, many): (usize, usize)) {
    let count = |iterations| {
        let stop = Stop {
            tolerance: 0.0,
            sweeps: iterations,
            ..Stop::default()
        };
        let mut solver = from_spec(spec, stop, 1).unwrap();
        let mut solution = Solution::zeros(problem);
        let before = COUNT.load(Ordering::Relaxed);
        solver.solve(problem, &mut solution);
        COUNT.load(Ordering::Relaxed) - before
    };
    // The threads of the test harness and of the pool allocate when they please; the smallest count is without them.
    let fewest = |iterations| (0..5).map(|_| count(iterations)).min();
    assert_eq!(fewest(few), fewest(many), "{name} {spec}");
}
