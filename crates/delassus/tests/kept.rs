//! Contacts that are kept while their bodies hardly move: how far they are off, and that a run with them is one that can
//! be stopped, copied and shared between threads.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::HashMap;

use delassus::collide::Collisions;
use delassus::math::{DQuat, DVec3};
use delassus::solver::from_spec;
use delassus::world::{Sleep, State, World};
use delassus::{Solver, Stop, scenes};

/// Step \[s\].
const STEP: f64 = 1.0 / 60.0;
/// Points of two bodies of 0.15 m move by at most s = 0.3 mm before their contacts are found anew. Most are then off by s²/r
/// with the radius r of an edge, 0.07 m or more; where an edge crosses the border of a face, by its slope times s.
const MEAN: f64 = 1.3e-6;
const WORST: f64 = 3e-4;

fn swept() -> Box<dyn Solver> {
    let stop = Stop {
        tolerance: 0.0,
        sweeps: 16,
        ..Stop::default()
    };
    from_spec("coloured", stop, 0).unwrap()
}

fn advance(world: &mut World, solver: &mut dyn Solver, steps: usize) {
    for _ in 0..steps {
        world.step(STEP, solver).unwrap();
    }
}

/// The deepest contact of every pair of colliders, found at these poses.
fn found_anew(world: &World, poses: &[(DVec3, DQuat)]) -> HashMap<(u32, u32), f64> {
    let mut collisions = Collisions::new(world.colliders().to_vec()).unwrap();
    let ids = world.bodies().ids();
    let movable: Vec<bool> = ids.map(|id| world.bodies().is_free(id)).collect();
    let reach = vec![3e-3; poses.len()];
    collisions
        .update(poses, &movable, &reach, &|_, _| false)
        .unwrap();
    let mut deepest = HashMap::new();
    for point in collisions.contacts() {
        let least = deepest.entry(point.colliders).or_insert(f64::INFINITY);
        *least = point.gap.min(*least);
    }
    deepest
}

#[test]
fn kept_contacts_are_off_by_the_square_of_a_small_way() {
    let mut world = heap(None);
    let mut solver = swept();
    let (mut kept, mut all, mut worst, mut sum) = (0, 0, 0.0_f64, 0.0);
    for _ in 0..20 {
        let bodies = world.bodies();
        let poses = bodies.position.iter().zip(&bodies.orientation);
        let poses: Vec<_> = poses.map(|(x, q)| (*x, *q)).collect();
        let anew = found_anew(&world, &poses);
        world.step(STEP, solver.as_mut()).unwrap();
        for pair in world
            .touches()
            .chunk_by(|x, y| x.point.colliders == y.point.colliders)
        {
            let deepest = pair.iter().map(|touch| touch.point.gap);
            let deepest = deepest.fold(f64::INFINITY, f64::min);
            // One that overlaps is found by both.
            let overlaps = deepest < -1e-5;
            let other = anew.get(&pair[0].point.colliders).copied();
            let other = other.or(overlaps.then_some(f64::INFINITY));
            let Some(other) = other.filter(|_| overlaps) else {
                continue;
            };
            let off = (deepest - other).abs();
            worst = worst.max(off);
            sum += off;
            all += 1;
            kept += i32::from(deepest != other);
        }
    }
    let mean = sum / f64::from(all);
    assert!(worst < WORST && mean < MEAN, "{worst} {mean}");
    // Contacts with the ground and walls and those of two capsules are found in every step.
    assert!(1000 < all && all < 4 * kept, "{kept} of {all} were kept");
}

/// Rubble that has fallen together.
fn heap(sleep: Option<Sleep>) -> World {
    let mut world = scenes::build("rubble:300").unwrap().world;
    world.settings.sleep = sleep;
    advance(&mut world, swept().as_mut(), 180);
    world
}

/// What is left after 50 steps in which a body is taken away, stopped as `stop` does it after 30.
fn run(mut world: World, stop: impl Fn(World) -> World) -> (u64, State) {
    let mut solver = swept();
    advance(&mut world, solver.as_mut(), 20);
    let gone = world.find_body("stone-000017").unwrap();
    world.remove_body(gone).unwrap();
    advance(&mut world, solver.as_mut(), 10);
    let mut world = stop(world);
    advance(&mut world, swept().as_mut(), 20);
    (world.state_hash(), world.state())
}

#[test]
fn runs_with_kept_contacts_are_stopped_copied_and_shared_without_a_trace() {
    let early = Sleep {
        speed: 0.02,
        after: 0.2,
    };
    for sleep in [None, Some(early)] {
        let start = heap(sleep);
        let whole = run(start.clone(), |world| world);
        let through_text = run(start.clone(), |world| {
            let text = serde_json::to_string(&world.state()).unwrap();
            let mut other = scenes::build("rubble:300").unwrap().world;
            other.settings.sleep = sleep;
            let state: State = serde_json::from_str(&text).unwrap();
            other.restore(&state).unwrap();
            other
        });
        assert_eq!(whole, through_text);
        // Looking at the next problem leaves nothing behind.
        let looked_at = run(start.clone(), |mut world| {
            world.problem(STEP).unwrap();
            world.clone()
        });
        assert_eq!(whole, looked_at);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        let shared = pool.build().unwrap().install(|| run(start, |world| world));
        assert_eq!(whole, shared);
    }
}
