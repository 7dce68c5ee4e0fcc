//! Numbers of a world that a step is differentiated by, and how each is moved a little and put back.

use std::fmt;

use glam::{DQuat, DVec3};

use super::Layout;
use crate::index::{BodyId, JointId, RobotId};
use crate::world::{Drive, MovedBy, World};

/// A number besides the state and the forces that a step depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Gravity along an axis of the world, 0 to 2 \[m/s²\].
    Gravity(usize),
    /// The mass of a body, its inertia growing in proportion \[kg\].
    Mass(BodyId),
    /// The coefficient of friction of a material, by its place in [`World::surfaces_mut`](World::surfaces_mut).
    Friction(usize),
    /// The coefficient of restitution of a material.
    Restitution(usize),
    /// The wanted speed of a joint's motor \[rad/s or m/s\].
    MotorSpeed(JointId),
    /// The greatest force of a joint's motor \[N m or N\].
    MotorForce(JointId),
    /// The wanted position of a joint's servo \[rad or m\].
    ServoPosition(JointId),
    /// The wanted speed of the motor of a robot's joint, by its place in [`Robot::joints`](crate::world::Robot::joints).
    RobotMotorSpeed(RobotId, usize),
    /// The greatest force of the motor of a robot's joint.
    RobotMotorForce(RobotId, usize),
    /// The wanted position of the servo of a robot's joint.
    RobotServoPosition(RobotId, usize),
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Gravity(axis) => write!(f, "gravity along axis {axis}"),
            Input::Mass(body) => write!(f, "mass of {body}"),
            Input::Friction(material) => write!(f, "friction of material {material}"),
            Input::Restitution(material) => write!(f, "restitution of material {material}"),
            Input::MotorSpeed(joint) => write!(f, "speed of the motor of {joint}"),
            Input::MotorForce(joint) => write!(f, "force of the motor of {joint}"),
            Input::ServoPosition(joint) => write!(f, "position of the servo of {joint}"),
            Input::RobotMotorSpeed(robot, joint) => {
                write!(f, "speed of the motor of joint {joint} of {robot}")
            }
            Input::RobotMotorForce(robot, joint) => {
                write!(f, "force of the motor of joint {joint} of {robot}")
            }
            Input::RobotServoPosition(robot, joint) => {
                write!(f, "position of the servo of joint {joint} of {robot}")
            }
        }
    }
}

impl Input {
    /// Its value; `None` where the world has no such number.
    pub fn get(&self, world: &World) -> Option<f64> {
        match *self {
            Input::Gravity(axis) => world.gravity.to_array().get(axis).copied(),
            Input::Mass(body) => {
                let motion = world.bodies.motion.get(body.index())?;
                (*motion == MovedBy::Dynamic).then(|| world.bodies.mass[body.index()])
            }
            Input::Friction(material) => Some(world.surfaces.get(material)?.friction),
            Input::Restitution(material) => Some(world.surfaces.get(material)?.restitution),
            Input::MotorSpeed(id) | Input::MotorForce(id) | Input::ServoPosition(id) => {
                self.of_drive(world.joints.get(id.index())?.kind.drive()?)
            }
            Input::RobotMotorSpeed(robot, joint)
            | Input::RobotMotorForce(robot, joint)
            | Input::RobotServoPosition(robot, joint) => {
                let robot = world.robots.get(robot.index())?;
                self.of_drive(&robot.joints().get(joint)?.control.drive)
            }
        }
    }

    fn of_drive(&self, drive: &Drive) -> Option<f64> {
        match self {
            Input::MotorSpeed(_) | Input::RobotMotorSpeed(..) => Some(drive.motor?.speed),
            Input::MotorForce(_) | Input::RobotMotorForce(..) => Some(drive.motor?.max_force),
            _ => Some(drive.servo?.position),
        }
    }

    /// Writes its value into a world. False where the world has no such number, or not this value; then it stays as it is.
    pub fn put(&self, world: &mut World, value: f64) -> bool {
        let legal = match self {
            Input::Mass(_) => 0.0 < value,
            Input::Restitution(_) => (0.0..=1.0).contains(&value),
            _ => !self.is_positive() || 0.0 <= value,
        };
        if !(value.is_finite() && legal && self.get(world).is_some()) {
            return false;
        }
        self.set(world, value);
        world.lanes.touch_bodies();
        world.lanes.touch_joints();
        true
    }

    /// Writes its value; a world without such a number stays as it is. Nothing is checked.
    pub(super) fn set(&self, world: &mut World, value: f64) {
        match *self {
            Input::Gravity(axis) if axis < 3 => world.gravity[axis] = value,
            Input::Mass(body) => {
                let bodies = &mut world.bodies;
                let i = body.index();
                if i < bodies.len() {
                    bodies.inertia[i] *= value / bodies.mass[i];
                    bodies.mass[i] = value;
                }
            }
            Input::Friction(material) => {
                if let Some(surface) = world.surfaces.get_mut(material) {
                    surface.friction = value;
                }
            }
            Input::Restitution(material) => {
                if let Some(surface) = world.surfaces.get_mut(material) {
                    surface.restitution = value;
                }
            }
            Input::MotorSpeed(id) | Input::MotorForce(id) | Input::ServoPosition(id) => {
                let joint = world.joints.get_mut(id.index());
                if let Some(drive) = joint.and_then(|joint| joint.kind.drive_mut()) {
                    self.set_drive(drive, value);
                }
            }
            Input::RobotMotorSpeed(robot, joint)
            | Input::RobotMotorForce(robot, joint)
            | Input::RobotServoPosition(robot, joint) => {
                let robot = world.robots.get_mut(robot.index());
                if let Some(joint) = robot.and_then(|robot| robot.joints_mut().get_mut(joint)) {
                    self.set_drive(&mut joint.control.drive, value);
                }
            }
            Input::Gravity(_) => {}
        }
    }

    fn set_drive(&self, drive: &mut Drive, value: f64) {
        match (self, &mut drive.motor, &mut drive.servo) {
            (Input::MotorSpeed(_) | Input::RobotMotorSpeed(..), Some(motor), _) => {
                motor.speed = value;
            }
            (Input::MotorForce(_) | Input::RobotMotorForce(..), Some(motor), _) => {
                motor.max_force = value;
            }
            (Input::ServoPosition(_) | Input::RobotServoPosition(..), _, Some(servo)) => {
                servo.position = value;
            }
            _ => {}
        }
    }

    /// Whether it cannot fall below zero.
    pub(super) fn is_positive(&self) -> bool {
        matches!(
            self,
            Input::Mass(_)
                | Input::Friction(_)
                | Input::Restitution(_)
                | Input::MotorForce(_)
                | Input::RobotMotorForce(..)
        )
    }
}

/// One number of the state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Coordinate {
    /// Of a body: its place in the world, and which of six.
    Body(usize, usize),
    /// Of a robot: its place, and which of its velocities.
    Robot(usize, usize),
}

impl Layout {
    /// What a number of a pose, velocity or force belongs to.
    pub(super) fn coordinate(&self, at: usize) -> Coordinate {
        if let Some(body) = self.bodies.get(at / 6) {
            return Coordinate::Body(body.index(), at % 6);
        }
        let robot = self.robots.partition_point(|start| *start <= at) - 1;
        Coordinate::Robot(robot, at - self.robots[robot])
    }
}

impl World {
    /// Moves a pose along one of its numbers, away from where it is in `base`.
    pub(super) fn shift_pose(&mut self, base: &World, at: Coordinate, by: f64) {
        match at {
            Coordinate::Body(i, k) => {
                let bodies = &mut self.bodies;
                bodies.position[i] = base.bodies.position[i];
                bodies.orientation[i] = base.bodies.orientation[i];
                if k < 3 {
                    bodies.position[i][k] += by;
                } else if by != 0.0 {
                    let turn = DQuat::from_scaled_axis(DVec3::AXES[k - 3] * by);
                    bodies.orientation[i] = (turn * bodies.orientation[i]).normalize();
                }
            }
            Coordinate::Robot(r, k) => {
                let old = &base.robots[r];
                let mut q = old.configuration().to_vec();
                let mut along = vec![0.0; old.velocity().len()];
                along[k] = by;
                if by != 0.0 {
                    old.tree()
                        .integrate(&mut q, &along, 1.0)
                        .expect("a robot moves from a configuration that it has");
                }
                self.put_robot(r, &q, old.velocity());
            }
        }
        for i in 0..self.joints.len() {
            self.joints[i].coordinate = match by == 0.0 {
                true => base.joints[i].coordinate,
                false => self.joints[i].measure(&self.bodies),
            };
        }
    }

    /// Changes one of its velocities.
    pub(super) fn shift_velocity(&mut self, base: &World, at: Coordinate, by: f64) {
        match at {
            Coordinate::Body(i, k) => {
                let bodies = &mut self.bodies;
                bodies.velocity[i] = base.bodies.velocity[i];
                bodies.spin[i] = base.bodies.spin[i];
                match k < 3 {
                    true => bodies.velocity[i][k] += by,
                    false => bodies.spin[i][k - 3] += by,
                }
            }
            Coordinate::Robot(r, k) => {
                let old = &base.robots[r];
                let mut v = old.velocity().to_vec();
                v[k] += by;
                self.put_robot(r, old.configuration(), &v);
            }
        }
    }

    fn put_robot(&mut self, r: usize, q: &[f64], v: &[f64]) {
        let robot = &mut self.robots[r];
        robot
            .place(q, v)
            .expect("a robot takes a state near one that it has");
        robot.show(&mut self.bodies);
    }
}
