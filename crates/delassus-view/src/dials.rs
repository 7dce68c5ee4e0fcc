//! Joints of robots that can be turned by hand: one dial for each joint of one dof, with its actuator where it has one.

use delassus::world::{Robot, RobotJoint};
use delassus::{RobotId, World};
use serde::Serialize;

use crate::refused::Refused;

/// What no page has asked for legally.
const NO_DIAL: Refused = Refused::NotNow("there is no such joint; the scene has changed");
const NO_ACTUATOR: Refused = Refused::NotNow("this joint has no actuator that takes an input");
const NO_KEYFRAME: Refused = Refused::NotNow("there is no such keyframe; the scene has changed");

/// A joint of one dof, by its robot and its place among the joints there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dial {
    robot: RobotId,
    joint: usize,
    /// Force of its motor that was asked for \[N m or N\].
    push: f64,
}

/// A joint as the page builds a slider for it.
#[derive(Debug, Serialize)]
pub(crate) struct DialLine {
    robot: String,
    name: String,
    /// `hinge` or `slide`.
    kind: &'static str,
    /// The body it carries.
    body: Option<u32>,
    /// Least and largest displacement, where it is limited \[rad or m\].
    range: Option<[f64; 2]>,
    actuator: Option<Actuator>,
}

/// What an actuator takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Actuator {
    /// A servo: the wanted position \[rad or m\].
    Position,
    /// A motor: a force up to this one \[N m or N\].
    Force(f64),
}

/// A state that a robot comes with, as the page lists it.
#[derive(Debug, Serialize)]
pub(crate) struct KeyframeLine {
    robot: String,
    name: String,
}

fn actuator(joint: &RobotJoint) -> Option<Actuator> {
    match joint.control.drive.servo {
        Some(servo) if 0.0 < servo.stiffness => Some(Actuator::Position),
        Some(_) => None,
        None => joint.effort.filter(|most| 0.0 < *most).map(Actuator::Force),
    }
}

/// Every joint of one dof of every robot, in order.
pub(crate) fn dials(world: &World) -> Vec<Dial> {
    let mut dials = Vec::new();
    for (r, robot) in world.robots().iter().enumerate() {
        let joints = robot.joints().iter().enumerate();
        let single = joints.filter(|(_, joint)| joint.dofs() == 1);
        dials.extend(single.map(|(joint, _)| Dial {
            robot: RobotId(r as u32),
            joint,
            push: 0.0,
        }));
    }
    dials
}

/// The same as lines of the scene.
pub(crate) fn dial_lines(world: &World) -> Vec<DialLine> {
    let dials = dials(world).into_iter();
    dials
        .filter_map(|dial| {
            let (robot, joint) = dial.find(world)?;
            let link = &robot.tree().links()[joint.link.index()];
            Some(DialLine {
                robot: robot.name().to_owned(),
                name: joint.name.clone(),
                kind: match link.joint {
                    delassus::tree::TreeJoint::Prismatic { .. } => "slide",
                    _ => "hinge",
                },
                body: robot.body(joint.link).map(|id| id.0),
                range: joint.control.drive.limits,
                actuator: actuator(joint),
            })
        })
        .collect()
}

/// Keyframes of all robots.
pub(crate) fn keyframe_lines(world: &World) -> Vec<KeyframeLine> {
    let line = |(i, (robot, name)): (usize, (&Robot, &String))| KeyframeLine {
        robot: robot.name().to_owned(),
        name: match name.as_str() {
            "" => format!("keyframe {}", i + 1),
            name => name.to_owned(),
        },
    };
    let robots = world.robots().iter();
    let frames = robots.flat_map(|robot| robot.keyframes().iter().map(move |k| (robot, &k.name)));
    frames.enumerate().map(line).collect()
}

impl Dial {
    fn find<'a>(&self, world: &'a World) -> Option<(&'a Robot, &'a RobotJoint)> {
        let robot = world.robots().get(self.robot.index())?;
        Some((robot, robot.joints().get(self.joint)?))
    }

    /// Position, velocity, force of the actuator, and what it is asked for; not a number where there is none.
    pub(crate) fn numbers(&self, world: &World) -> [f64; 4] {
        let Some((robot, joint)) = self.find(world) else {
            return [f64::NAN; 4];
        };
        let efforts = world.efforts(self.robot, self.joint);
        let force = self.push + efforts.first().map_or(0.0, |effort| effort.drive);
        let asked = match actuator(joint) {
            Some(Actuator::Position) => joint.control.drive.servo.map_or(f64::NAN, |s| s.position),
            Some(Actuator::Force(_)) => self.push,
            None => f64::NAN,
        };
        let q = robot.configuration()[joint.coordinate()];
        [q, robot.velocity()[joint.dof()], force, asked]
    }

    /// The same from the recorded coordinates, velocities and forces of drives of all robots.
    pub(crate) fn recorded(&self, world: &World, robots: &[[Vec<f64>; 3]]) -> Option<[f64; 4]> {
        let (_, joint) = self.find(world)?;
        let [q, v, drive] = robots.get(self.robot.index())?;
        let (at, dof) = (joint.coordinate(), joint.dof());
        Some([*q.get(at)?, *v.get(dof)?, *drive.get(dof)?, f64::NAN])
    }

    /// Puts the joint into a position, at rest.
    pub(crate) fn place(&self, world: &mut World, position: f64) -> Result<(), Refused> {
        let (robot, joint) = self.find(world).ok_or(NO_DIAL)?;
        let mut q = robot.configuration().to_vec();
        let mut v = robot.velocity().to_vec();
        q[joint.coordinate()] = match joint.control.drive.limits {
            Some([lo, hi]) => position.max(lo).min(hi),
            None => position,
        };
        v[joint.dof()] = 0.0;
        Ok(world.place_robot(self.robot, &q, &v)?)
    }

    /// Asks its actuator for something.
    pub(crate) fn drive(&mut self, world: &mut World, value: f64) -> Result<(), Refused> {
        let (_, joint) = self.find(world).ok_or(NO_DIAL)?;
        match actuator(joint).ok_or(NO_ACTUATOR)? {
            Actuator::Force(most) => self.push = value.clamp(-most, most),
            Actuator::Position => {
                let robot = world.robot_mut(self.robot).ok_or(NO_DIAL)?;
                let servo = &mut robot.joints_mut()[self.joint].control.drive.servo;
                servo.as_mut().ok_or(NO_ACTUATOR)?.position = value;
            }
        }
        Ok(())
    }

    /// Lets the motor push in the next step.
    pub(crate) fn push(&self, world: &mut World) {
        if self.push == 0.0 {
            return;
        }
        if let Some(robot) = world.robot_mut(self.robot)
            && let Some(dof) = robot.joints().get(self.joint).map(RobotJoint::dof)
        {
            robot.force[dof] += self.push;
        }
    }
}

/// Puts a robot into one of the states that the scene lists.
pub(crate) fn place_keyframe(world: &mut World, index: usize) -> Result<(), Refused> {
    let robots = world.robots().iter().enumerate();
    let mut frames = robots.flat_map(|(r, robot)| robot.keyframes().iter().map(move |k| (r, k)));
    let (robot, frame) = frames.nth(index).ok_or(NO_KEYFRAME)?;
    let (q, v) = (frame.q.clone(), frame.v.clone());
    Ok(world.place_robot(RobotId(robot as u32), &q, &v)?)
}

#[cfg(test)]
mod tests {
    use delassus::model::robot::Options;
    use delassus::model::scene::of_robot;

    use super::*;

    const ARM: &str = r#"<mujoco><option gravity="0 0 0"/><worldbody><body name="upper">
        <joint name="shoulder" axis="0 1 0" range="-60 60"/><geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/>
        <body name="lower" pos=".5 0 0"><joint name="elbow" axis="0 1 0"/>
        <geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/></body></body></worldbody>
        <actuator><position joint="shoulder" kp="10" kv="0.1"/><motor joint="elbow" gear="3" ctrlrange="-1 1"/></actuator>
        <keyframe><key name="bent" qpos="0.5 -1"/></keyframe></mujoco>"#;

    fn arm() -> World {
        let scene = of_robot(ARM, "arm.xml", None, Options::default());
        scene.expect("the arm is sound").world
    }

    #[test]
    fn a_robot_has_a_dial_for_each_joint_and_a_line_for_each_keyframe() {
        let world = arm();
        let lines = dial_lines(&world);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].actuator, Some(Actuator::Position));
        assert_eq!(lines[1].actuator, Some(Actuator::Force(3.0)));
        assert!(lines[0].range.is_some() && lines[1].range.is_none());
        assert_eq!(keyframe_lines(&world)[0].name, "bent");
    }

    #[test]
    fn a_joint_is_placed_within_its_limits_and_driven_by_its_actuator() {
        let mut world = arm();
        let mut dials = dials(&world);
        dials[0].place(&mut world, 9.0).expect("it is placed");
        let limit = std::f64::consts::FRAC_PI_3;
        assert!((dials[0].numbers(&world)[0] - limit).abs() < 1e-12);
        place_keyframe(&mut world, 0).expect("there is one");
        assert_eq!(dials[1].numbers(&world)[0], -1.0);
        assert!(place_keyframe(&mut world, 1).is_err());
        dials[0].drive(&mut world, 0.2).expect("it has a servo");
        dials[1].drive(&mut world, 99.0).expect("it has a motor");
        assert_eq!(dials[0].numbers(&world)[3], 0.2);
        assert_eq!(dials[1].numbers(&world)[3], 3.0, "no more than its effort");
        let mut solver = delassus::GaussSeidel::default();
        dials.iter().for_each(|dial| dial.push(&mut world));
        world.step(0.01, &mut solver).expect("a step can be made");
        assert!(0.0 < dials[1].numbers(&world)[1], "the motor turns it");
        let numbers = dials[0].numbers(&world);
        assert!(numbers[2] < 0.0, "the servo turns back: {numbers:?}");
    }
}
