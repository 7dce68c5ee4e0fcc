//! A robot whose motor is told a new speed at every step: a controller holds an arm level while a box lands on it.
//!
//! `cargo run -p delassus --example 02_robot_motors`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use delassus::collide::Shape;
use delassus::math::DVec3;
use delassus::model::robot::{Base, parse};
use delassus::world::{Attach, Body, Motor, Placement};
use delassus::{Auto, WorldBuilder};

const ARM: &str = r#"<robot name="arm">
  <link name="post"/>
  <joint name="shoulder" type="continuous">
    <parent link="post"/><child link="tray"/><origin xyz="0 0 1"/><axis xyz="0 -1 0"/>
  </joint>
  <link name="tray">
    <inertial><origin xyz="0.3 0 0"/><mass value="1"/><inertia ixx="0.01" iyy="0.03" izz="0.04"/></inertial>
    <collision><origin xyz="0.3 0 0"/><geometry><box size="0.6 0.2 0.02"/></geometry></collision>
  </link>
</robot>"#;

fn main() -> Result<(), Box<dyn Error>> {
    let file = parse(ARM, "arm", None, Base::Fixed)?;
    let mut builder = WorldBuilder::default();
    let arm = builder.add_robot(&file.robot, &Placement::default())?;
    let (body, half) = (Body::at("box", DVec3::new(0.4, 0.0, 1.5)), [0.05; 3]);
    builder.add_solid(Shape::Box { half }, 500.0, body, Attach::default())?;

    let (mut world, mut solver, max_force) = (builder.build()?, Auto::default(), 20.0);
    for step in 1..=200 {
        let angle = world.robots()[arm.index()]
            .position("shoulder")
            .unwrap_or(0.0);
        let joint = world
            .robot_mut(arm)
            .and_then(|robot| robot.joint_mut("shoulder"));
        let speed = -10.0 * angle;
        joint.ok_or("no shoulder")?.control.drive.motor = Some(Motor { speed, max_force });
        world.step(0.005, &mut solver)?;
        if step % 20 == 0 {
            let (time, touches) = (world.time(), world.touches().len());
            println!("{time:.1} s: shoulder at {angle:+.4} rad, {touches} contacts");
        }
    }
    Ok(())
}
