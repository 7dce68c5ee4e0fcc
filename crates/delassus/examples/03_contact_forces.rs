//! Forces at contacts: what two posts carry of a plank that is loaded off its middle.
//!
//! `cargo run -p delassus --example 03_contact_forces`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use delassus::collide::Shape;
use delassus::math::DVec3;
use delassus::world::{Attach, Body};
use delassus::{Auto, WorldBuilder};

fn main() -> Result<(), Box<dyn Error>> {
    let mut builder = WorldBuilder::default();
    for (name, x) in [("left post", -0.9), ("right post", 0.9)] {
        let post = builder.add_body(Body::fixed(name, DVec3::new(x, 0.0, 0.25)))?;
        let shape = Shape::cuboid(0.1, 0.1, 0.25);
        builder.add_collider(post, shape, Attach::default())?;
    }
    let plank = Body::at("plank", DVec3::Z * 0.52);
    builder.add(Shape::cuboid(1.0, 0.1, 0.02), 500.0, plank)?;
    let load = Body::at("load", DVec3::new(0.4, 0.0, 0.64));
    builder.add(Shape::cuboid(0.1, 0.1, 0.1), 2000.0, load)?;

    let (mut world, mut solver, h) = (builder.build()?, Auto::default(), 0.01);
    for _ in 0..100 {
        world.step(h, &mut solver)?;
    }
    let name = &world.bodies().name;
    for touch in world.touches() {
        let ((on, by), force) = (touch.bodies(), touch.force(h));
        let (on, by) = (&name[on.index()], &name[by.index()]);
        println!("{by} on {on} at {:.2}: {force:.2} N", touch.point.point_a);
    }
    Ok(())
}
