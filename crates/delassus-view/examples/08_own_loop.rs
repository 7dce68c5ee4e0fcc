//! The live page for a program that steps its world in a loop of its own. Open the address that it prints.
//!
//! `cargo run --release -p delassus-view --example 08_own_loop -- 60` (seconds)

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};

use delassus::collide::Shape;
use delassus::math::DVec3;
use delassus::world::{Attach, Body, RunDefaults, Scene, WorldError};
use delassus::{Auto, WorldBuilder};
use delassus_view::{Mirror, Options};

/// A leaning tower of bricks.
fn tower() -> Result<Scene, WorldError> {
    let (mut builder, half) = (WorldBuilder::default(), [0.3, 0.15, 0.1]);
    builder.add_ground()?;
    for i in 0..8 {
        let place = DVec3::new(0.06 * f64::from(i), 0.0, 0.1 + 0.2 * f64::from(i));
        let body = Body::at(&format!("brick-{i}"), place);
        builder.add_solid(Shape::Box { half }, 2000.0, body, Attach::default())?;
    }
    Ok(Scene {
        title: "a leaning tower".to_owned(),
        world: builder.build()?,
        run: RunDefaults::default(),
        warnings: Vec::new(),
        lost: Vec::new(),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args()
        .nth(1)
        .map_or(Ok(60.0), |word| word.parse())?;
    // The page gets a world of its own, for names and shapes.
    let mirror = Mirror::start("tower", tower()?, &Options::default())?;
    println!("{}", mirror.url());
    let (mut world, mut solver, start) = (tower()?.world, Auto::default(), Instant::now());
    while world.time() < seconds {
        world.step(0.01, &mut solver)?;
        mirror.show(&world);
        sleep(Duration::from_secs_f64(world.time()).saturating_sub(start.elapsed()));
    }
    Ok(())
}
