//! Sweeps that are cut short: what parts overlaps does not stay as motion.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use delassus::collide::Shape;
use delassus::math::DVec3;
use delassus::solver::{Observed, Seen, from_spec};
use delassus::world::{Attach, Body};
use delassus::{GaussSeidel, Residual, Stop, WorldBuilder, scenes};

/// Eight sweeps a step, whatever they reach.
fn eight() -> Stop {
    Stop {
        tolerance: 0.0,
        sweeps: 8,
        ..Stop::default()
    }
}

#[test]
fn a_deep_pile_swept_a_few_times_comes_to_rest() {
    let mut world = scenes::build("pile:1000").unwrap().world;
    let mut solver = from_spec("coloured", eight(), 0).unwrap();
    let mut penetration = 0.0;
    for _ in 0..600 {
        let step = world.step(1.0 / 60.0, solver.as_mut()).unwrap();
        assert_eq!((step.unsolved, step.swept), (0, 1));
        penetration = step.penetration;
    }
    assert_eq!(solver.stop().sweeps, 8);
    let velocities = world.bodies().velocity.iter();
    let fastest = velocities.fold(0.0, |m: f64, v| v.length().max(m));
    assert!(fastest < 0.01, "{fastest}");
    assert!(penetration < 2e-3, "{penetration}");
}

#[test]
fn a_push_leaves_no_velocity_behind() {
    // A ball 2 cm deep in the ground comes out of it and then lies there.
    let mut builder = WorldBuilder::default();
    builder.add_ground().unwrap();
    let body = Body::at("ball", DVec3::Z * 0.08);
    let sphere = Shape::Sphere { radius: 0.1 };
    let ball = builder
        .add_solid(sphere, 1000.0, body, Attach::default())
        .unwrap();
    let mut world = builder.build().unwrap();
    let mut solver = GaussSeidel {
        stop: eight(),
        ..GaussSeidel::default()
    };
    for _ in 0..200 {
        let before = world.bodies().position[ball.index()].z;
        world.step(0.01, &mut solver).unwrap();
        assert!(before <= world.bodies().position[ball.index()].z + 1e-12);
        let left = world.bodies().velocity[ball.index()].length();
        assert!(left < 1e-9, "{left}");
    }
    let height = world.bodies().position[ball.index()].z;
    assert!((height - 0.1).abs() < 1e-6, "{height}");
}

#[test]
fn small_steps_are_judged_as_an_answer_to_the_whole_step() {
    let mut world = scenes::build("pile:300").unwrap().world;
    let mut solver = from_spec("coloured", eight(), 0).unwrap();
    let mut seen = 0;
    for _ in 0..60 {
        let mut keeps = Vec::new();
        let mut told = f64::NAN;
        let mut observed = Observed::new(solver.as_mut(), |solve: Seen<'_>| {
            // M v = p + Gᵀλ of the whole step holds for the impulses of all small steps and the velocity that is left.
            let residual = Residual::of(solve.problem, solve.solution);
            assert!(residual.momentum < 1e-9, "{}", residual.momentum);
            assert_eq!(residual.law.to_bits(), solve.report.residual.law.to_bits());
            assert_eq!(solve.report.iterations, 8);
            keeps.clone_from(&solve.solution.v);
            told = solve.report.residual.law;
            seen += 1;
        });
        let step = world.step(1.0 / 60.0, &mut observed).unwrap();
        assert_eq!(step.report.residual.law.to_bits(), told.to_bits());
        // Bodies stand in the order of the problem, behind the ground and the walls.
        let bodies = world.bodies();
        let free = bodies.ids().filter(|id| bodies.is_free(*id));
        for (id, v) in free.zip(keeps.chunks_exact(6)) {
            assert_eq!(bodies.velocity[id.index()], DVec3::from_slice(v));
        }
    }
    // Once they fall there are contacts in every step.
    assert!(40 < seen, "{seen}");
}

/// Where a ball of 10 cm lies after a second that began above the ground, with so many sweeps a step.
fn dropped(height: f64, sweeps: usize) -> f64 {
    let mut builder = WorldBuilder::default();
    builder.add_ground().unwrap();
    let body = Body::at("ball", DVec3::Z * height);
    let sphere = Shape::Sphere { radius: 0.1 };
    let ball = builder
        .add_solid(sphere, 1000.0, body, Attach::default())
        .unwrap();
    let mut world = builder.build().unwrap();
    let stop = Stop { sweeps, ..eight() };
    let mut solver = from_spec("coloured", stop, 0).unwrap();
    for _ in 0..100 {
        world.step(0.01, solver.as_mut()).unwrap();
    }
    assert!(world.bodies().velocity[ball.index()].length() < 1e-9);
    world.bodies().position[ball.index()].z
}

#[test]
fn a_ball_in_small_steps_sinks_in_by_what_its_push_yields() {
    for sweeps in [2, 3, 7, 8, 20] {
        let count = (sweeps / 2) as f64;
        let h = 0.01 / count;
        // The push e g/h is held against the compliance s/m under the impulse m g h, with a damping time of five steps.
        let e = 4.0 / (1.0 + 4.0 * 5.0 * count);
        let sag = 0.003 * 9.81 * h * h / e;
        for start in [1.3, 0.08] {
            let height = dropped(start, sweeps);
            assert!((height - (0.1 - sag)).abs() < 1e-7, "{sweeps}: {height}");
        }
    }
}

#[test]
fn threads_change_no_bit_of_small_steps() {
    let bodies = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut world = scenes::build("rubble:300").unwrap().world;
            let mut solver = from_spec("coloured", eight(), 0).unwrap();
            for _ in 0..120 {
                world.step(1.0 / 60.0, solver.as_mut()).unwrap();
            }
            world.bodies().position.clone()
        })
    };
    let one = bodies(1);
    assert!(one.iter().all(|x| x.is_finite()));
    assert_eq!(one, bodies(2));
    assert_eq!(one, bodies(3));
}

/// Springs hold by their overlap, so that their steps are taken whole.
#[test]
fn a_ball_on_a_soft_ground_sinks_in_by_its_weight() {
    for name in ["coloured", "gauss-seidel"] {
        for compliance in [1e-5, 1e-4] {
            let mut builder = WorldBuilder::default();
            builder.settings.contact_compliance = compliance;
            builder.add_ground().unwrap();
            let body = Body::at("ball", DVec3::Z * 0.1);
            let sphere = Shape::Sphere { radius: 0.1 };
            let ball = builder
                .add_solid(sphere, 1000.0, body, Attach::default())
                .unwrap();
            let mut world = builder.build().unwrap();
            let mut solver = from_spec(name, eight(), 0).unwrap();
            for _ in 0..300 {
                world.step(0.01, solver.as_mut()).unwrap();
            }
            let i = ball.index();
            let sag = compliance * 9.81 * world.bodies().mass[i];
            let height = world.bodies().position[i].z;
            assert!(
                (height - (0.1 - sag)).abs() < 1e-3 * sag,
                "{name}: {height}"
            );
            assert!(world.bodies().velocity[i].length() < 1e-9, "{name}");
        }
    }
}

/// Enough balls and contacts that planes, pairs and warm starts are shared between threads.
#[test]
fn threads_change_no_bit_of_thousands_of_balls() {
    let bodies = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut builder = WorldBuilder::default();
            builder.add_ground().unwrap();
            for i in 0..15 * 15 * 14 {
                let [x, y, z] = [i % 15, i / 15 % 15, i / 225].map(f64::from);
                let body = Body::at(&format!("{i}"), DVec3::new(x, y, z + 0.5) * 0.1995);
                let sphere = Shape::Sphere { radius: 0.1 };
                builder
                    .add_solid(sphere, 1000.0, body, Attach::default())
                    .unwrap();
            }
            let mut world = builder.build().unwrap();
            let mut solver = from_spec("coloured", eight(), 0).unwrap();
            for _ in 0..3 {
                let step = world.step(1.0 / 60.0, solver.as_mut()).unwrap();
                assert!(4096 < step.contacts, "{}", step.contacts);
            }
            world.bodies().position.clone()
        })
    };
    let one = bodies(1);
    assert_eq!(one, bodies(2));
    assert_eq!(one, bodies(3));
}
