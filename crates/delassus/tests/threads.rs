//! The same bits however many threads share the work, in a pile with enough contacts for several of them.

#![cfg(all(feature = "parallel", feature = "world"))]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its world has failed"
)]

use delassus::collide::Shape;
use delassus::math::DVec3;
use delassus::solver::from_spec;
use delassus::world::{Attach, Body, MovedBy};
use delassus::{Stop, World, WorldBuilder};

const SIDE: u32 = 8;
const RADIUS: f64 = 0.1;

/// A cube of balls that touch, every other layer a little to the side so that it collapses.
fn cube() -> World {
    let mut builder = WorldBuilder::default();
    let ground = Body {
        name: "ground".to_owned(),
        motion: MovedBy::Static,
        ..Body::default()
    };
    let ground = builder.add_body(ground).unwrap();
    builder
        .add_collider(ground, Shape::HalfSpace, Attach::default())
        .unwrap();
    for i in 0..SIDE.pow(3) {
        let cell = [i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE].map(f64::from);
        let shift = DVec3::new(0.02 * (cell[2] % 2.0), 0.0, RADIUS);
        let body = Body {
            position: 2.0 * RADIUS * DVec3::from(cell) + shift,
            ..Body::default()
        };
        builder
            .add_solid(
                Shape::Sphere { radius: RADIUS },
                1000.0,
                body,
                Attach::default(),
            )
            .unwrap();
    }
    builder.build().unwrap()
}

/// State and residual after each of some steps.
fn run(threads: usize) -> Vec<(u64, usize, u64, u64)> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        let stop = Stop {
            tolerance: 0.0,
            sweeps: 4,
            ..Stop::default()
        };
        let mut solver = from_spec("gauss-seidel", stop, 0).unwrap();
        let mut world = cube();
        let steps = (0..20).map(|_| {
            let step = world.step(0.01, solver.as_mut()).unwrap();
            let residual = step.report.residual;
            (
                world.state_hash(),
                step.contacts,
                residual.law.to_bits(),
                residual.law_rms.to_bits(),
            )
        });
        steps.collect()
    })
}

#[test]
fn pile_ends_in_the_same_bits_on_one_two_and_three_threads() {
    let alone = run(1);
    assert!(alone.iter().all(|step| 1024 < step.1), "{alone:?}");
    assert_ne!(alone[0].0, alone[19].0);
    assert_eq!(alone, run(2));
    assert_eq!(alone, run(3));
}
