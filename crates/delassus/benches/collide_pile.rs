//! Collision of random piles: milliseconds per update for spheres and boxes, moving a little between updates.
//!
//! `cargo bench -p delassus --bench collide_pile [-- LARGEST]`

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use delassus::collide::{Collider, Collisions, Shape};
use delassus::math::{DQuat, DVec3, Random};

/// Updates per run; the first builds the tree and is left out.
const UPDATES: usize = 41;

fn main() {
    let largest = std::env::args()
        .filter_map(|a| a.parse().ok())
        .next()
        .unwrap_or(10_000);
    println!("shape       bodies  contacts    ms/best  ms/median  ms/first  state");
    let sphere = Shape::Sphere { radius: 0.5 };
    let cube = Shape::Box { half: [0.5; 3] };
    for size in [1000, 10_000, 100_000]
        .into_iter()
        .filter(|&n| n <= largest)
    {
        measure("sphere", &sphere, size);
        measure("box", &cube, size);
    }
}

/// One line: a jittered grid so dense that each body touches about six others, over a half-space.
fn measure(name: &str, shape: &Shape, size: usize) {
    let mut random = Random::new(1);
    let side = (size as f64).cbrt().ceil() as usize;
    let mut colliders = vec![Collider::new(Shape::HalfSpace, size)];
    let mut poses = Vec::with_capacity(size + 1);
    for i in 0..size {
        let cell = DVec3::new(
            (i % side) as f64,
            (i / side % side) as f64,
            (i / side / side) as f64,
        );
        let v = random.vector();
        let turn = DQuat::from_xyzw(v.x, v.y, v.z, 2.0).normalize();
        poses.push((cell * 0.98 + random.vector() * 0.05 + DVec3::Z * 0.45, turn));
        colliders.push(Collider::new(shape.clone(), i));
    }
    poses.push((DVec3::ZERO, DQuat::IDENTITY));
    let mut movable = vec![true; size];
    movable.push(false);
    let reach = vec![1e-3; size + 1];
    let mut collisions = Collisions::new(colliders).expect("the shapes are sound");
    let mut times = Vec::with_capacity(UPDATES);
    for _ in 0..UPDATES {
        for pose in &mut poses[..size] {
            pose.0 += random.vector() * 1e-3;
        }
        let start = Instant::now();
        collisions
            .update(&poses, &movable, &reach, &|_, _| false)
            .expect("the poses are sound");
        times.push(1e3 * start.elapsed().as_secs_f64());
    }
    let first = times.remove(0);
    times.sort_by(f64::total_cmp);
    let contacts = collisions.contacts();
    let mut hasher = DefaultHasher::new();
    for c in contacts {
        (c.id, c.gap.to_bits()).hash(&mut hasher);
    }
    println!(
        "{name:<8} {size:>9} {:>9} {:>10.3} {:>9.3} {first:>9.2}  {:016x}",
        contacts.len(),
        times[0],
        times[times.len() / 2],
        hasher.finish()
    );
}
