//! A world of one's own: a ball is thrown at two boxes on the ground.
//!
//! `cargo run -p delassus --example 01_step_a_world`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use delassus::collide::Shape;
use delassus::math::DVec3;
use delassus::world::Body;
use delassus::{Auto, WorldBuilder};

fn main() -> Result<(), Box<dyn Error>> {
    // Gravity points along −z; friction is 0.5 unless a material says otherwise.
    let mut builder = WorldBuilder::default();
    builder.add_ground()?;
    for (name, z) in [("lower", 0.1), ("upper", 0.3)] {
        builder.add(
            Shape::cuboid(0.2, 0.2, 0.1),
            600.0,
            Body::at(name, DVec3::Z * z),
        )?;
    }
    let ball = Body::at("ball", DVec3::new(-2.0, 0.0, 0.5)).moving(DVec3::new(6.0, 0.0, 1.0));
    let ball = builder.add(Shape::ball(0.1), 3000.0, ball)?;
    let mut world = builder.build()?;

    let mut solver = Auto::default();
    for step in 1..=100 {
        let done = world.step(0.01, &mut solver)?;
        if step % 10 == 0 {
            let x = world.bodies().position[ball.index()];
            println!("{:.1} s: ball at {x:.3}; {}", world.time(), done.report);
        }
    }
    Ok(())
}
