//! Forces along the joints of robots, read off the impulses of the last substep.

use super::Robot;
use crate::index::RobotId;
use crate::world::{JointPart, RobotItem, World};

/// Mean forces along one dof of a robot's joint over the last substep \[N m or N\]. Springs, dampers and
/// [`Robot::force`] are not among them: they have no rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Of its motor and servo.
    pub drive: f64,
    /// Of its limits; zero along a joint of several dofs.
    pub limit: f64,
    /// Of dry friction, and of the damper of a floating link.
    pub friction: f64,
}

impl Effort {
    /// All of it together.
    pub fn sum(&self) -> f64 {
        self.drive + self.limit + self.friction
    }
}

impl World {
    /// Forces along each dof of a joint, by its place in [`Robot::joints`]; zero before the first step, empty where
    /// there is no such joint.
    pub fn efforts(&self, robot: RobotId, joint: usize) -> Vec<Effort> {
        let robots: &[Robot] = self.robots();
        let found = robots
            .get(robot.index())
            .and_then(|r| r.joints().get(joint));
        let dofs = found.map_or(0, |joint| joint.dofs());
        let h = self.last_substep();
        let per_second = if 0.0 < h { 1.0 / h } else { 0.0 };
        let item = RobotItem::Joint(joint as u32);
        let force = |part: JointPart| {
            let impulse = self.robot_impulse(robot, item, part);
            impulse.first().map_or(0.0, |first| first * per_second)
        };
        let effort = |dof: usize| {
            let friction =
                |k: usize| u8::try_from(k).map_or(0.0, |k| force(JointPart::Friction(k)));
            let single = if dofs == 1 { 1.0 } else { 0.0 };
            // The row of the upper limit counts downwards.
            let limits = force(JointPart::FirstLimit) - force(JointPart::SecondLimit);
            let drives = force(JointPart::Motor) + force(JointPart::Servo);
            Effort {
                drive: single * drives,
                limit: single * limits,
                friction: friction(dof) + friction(dofs + dof),
            }
        };
        (0..dofs).map(effort).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::scene::of_robot;
    use crate::{GaussSeidel, RobotId, World};

    /// A bar of 2 kg and 1 m on a hinge, level, with what is given on the hinge.
    fn bar(hinge: &str, actuator: &str) -> World {
        let text = format!(
            r#"<mujoco><compiler autolimits="true"/><worldbody><body name="bar">
            <joint name="hinge" type="hinge" axis="0 1 0" {hinge}/>
            <inertial mass="2" pos=".5 0 0" diaginertia=".01 .2 .2"/></body></worldbody>
            <actuator>{actuator}</actuator></mujoco>"#
        );
        let scene = of_robot(&text, "bar.xml", None, crate::model::robot::Base::Fixed);
        scene.unwrap().world
    }

    /// m g l/2 about y pulls the bar down; what holds it pushes the other way.
    #[test]
    fn what_holds_a_bar_is_found_where_it_acts() {
        let weight = 2.0 * 9.81 * 0.5;
        let held = |world: &mut World| {
            let mut solver = GaussSeidel::default();
            solver.stop.tolerance = 1e-12;
            assert_eq!(world.efforts(RobotId(0), 0)[0].sum(), 0.0);
            for _ in 0..400 {
                world.step(0.002, &mut solver).unwrap();
            }
            world.efforts(RobotId(0), 0)[0]
        };
        let limit = held(&mut bar(r#"range="-60 0""#, ""));
        assert!(
            (limit.limit + weight).abs() < 1e-3 && limit.drive == 0.0,
            "{limit:?}"
        );
        let dry = held(&mut bar(r#"frictionloss="20""#, ""));
        assert!((dry.friction + weight).abs() < 1e-3, "{dry:?}");
        let servo = r#"<position joint="hinge" kp="10000" kv="300"/>"#;
        let driven = held(&mut bar("", servo));
        assert!((driven.drive + weight).abs() < 1e-2, "{driven:?}");
        assert!(bar("", "").efforts(RobotId(0), 1).is_empty());
    }
}
