//! The live page for a world that a program builds itself. Open the address that is printed; Enter ends it.
//!
//! `cargo run -p delassus-view --example 08_own_world`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use delassus::WorldBuilder;
use delassus::collide::Shape;
use delassus::math::DVec3;
use delassus::world::{Attach, Body, RunDefaults, Scene, WorldError};
use delassus_view::{Options, Server, Show, Start};

/// A leaning tower of bricks. The page asks for it again at every reset.
fn tower() -> Result<Scene, WorldError> {
    let mut builder = WorldBuilder::default();
    builder.add_ground()?;
    for i in 0..8 {
        let place = DVec3::new(0.04 * f64::from(i), 0.0, 0.1 + 0.2 * f64::from(i));
        let brick = Shape::Box {
            half: [0.3, 0.15, 0.1],
        };
        let body = Body::at(&format!("brick-{i}"), place);
        builder.add_solid(brick, 2000.0, body, Attach::default())?;
    }
    Ok(Scene {
        title: "a leaning tower".to_owned(),
        world: builder.build()?,
        run: RunDefaults::default(),
        warnings: Vec::new(),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let show = Show::Live {
        name: "tower".to_owned(),
        loader: Some(Box::new(|| Ok(tower()?))),
        start: Start::default(),
    };
    let server = Server::start(show, &Options::default())?;
    println!("{}", server.url());
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}
