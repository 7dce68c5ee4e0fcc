//! Forces of the last step as the page draws them: contacts, joints between bodies, and joints of robots.
//!
//! A robot has no rows for what its joints hold. The force through a joint follows from the motion of what it carries:
//!
//! ```text
//! f = Σ over the links carried [ m (a − g) − contacts − joints between bodies ]
//! ```

use delassus::world::{Joint, Robot, Touch};
use delassus::{JointId, LinkId, World};
use glam::DVec3;

use super::{Pane, links};
use crate::frame::{Arrow, arrow};

/// Most contacts drawn.
const MOST_ARROWS: usize = 20_000;

/// A force through a joint, and the bodies that feel it.
pub(super) struct Load {
    pub(super) bodies: Vec<usize>,
    pub(super) point: DVec3,
    pub(super) force: DVec3,
}

impl Pane {
    /// Contacts and joints.
    pub(super) fn arrows(&self) -> Vec<Arrow> {
        if let Some(arrows) = &self.remembered {
            return arrows.clone();
        }
        let loads = self.loads();
        let joints = loads.iter().map(|load| {
            let on = [load.bodies.first().copied(), load.bodies.get(1).copied()];
            arrow(load.point, load.force, (1.0, on))
        });
        contact_arrows(&self.world).chain(joints).collect()
    }

    /// Every force through a joint.
    pub(super) fn loads(&self) -> Vec<Load> {
        let mut loads = self.joint_loads();
        for robot in self.world.robots() {
            // Loops and tendons carry forces that no motion tells.
            if robot.closures().is_empty() && robot.tendons().is_empty() {
                self.robot_loads(robot, &mut loads);
            }
        }
        loads.retain(|load| load.force != DVec3::ZERO && load.force.is_finite());
        loads
    }

    /// Of joints between bodies, on their first body.
    fn joint_loads(&self) -> Vec<Load> {
        let bodies = self.world.bodies();
        let joints = self.world.joints().iter().enumerate();
        let load = |(j, joint): (usize, &Joint)| Load {
            bodies: joint.links().iter().map(|id| id.index()).collect(),
            point: match joint.bodies[0] {
                Some(id) => bodies.to_world(id, joint.frames[0].origin),
                None => joint.frames[0].origin,
            },
            force: self.world.reaction(JointId(j as u32)).force,
        };
        joints.map(load).collect()
    }

    /// Of the joints of a robot, on the links that they carry.
    fn robot_loads(&self, robot: &Robot, loads: &mut Vec<Load>) {
        let (bodies, gravity) = (self.world.bodies(), self.world.gravity);
        let (dt, before) = &self.before;
        if before.len() != bodies.len() || self.world.last_substep() == 0.0 {
            return;
        }
        let tree = robot.tree().links();
        let mut carried = vec![DVec3::ZERO; tree.len()];
        let pushed = self.pushed();
        for (link, id) in links(robot) {
            let i = id.index();
            let relieved = robot.gravcomp().iter().find(|(other, _)| *other == link);
            let weight = gravity * (1.0 - relieved.map_or(0.0, |(_, share)| *share));
            let acceleration = (bodies.velocity[i] - before[i]) / *dt;
            carried[link.index()] = bodies.mass[i] * (acceleration - weight) - pushed[i];
        }
        // Parents stand before their children.
        for i in (0..tree.len()).rev() {
            if let Some(parent) = tree[i].parent {
                let own = carried[i];
                carried[parent.index()] += own;
            }
        }
        for joint in robot.joints() {
            let LinkId(i) = joint.link;
            let link = &tree[i as usize];
            // A floating link hangs on nothing.
            if link.joint == delassus::tree::TreeJoint::Floating {
                continue;
            }
            let parent = link.parent.and_then(|id| robot.body(id));
            if let Some(body) = robot.body(joint.link) {
                loads.push(Load {
                    bodies: [Some(body), parent]
                        .into_iter()
                        .flatten()
                        .map(|id| id.index())
                        .collect(),
                    point: bodies.to_world(body, -link.body.com),
                    force: carried[i as usize],
                });
            }
        }
    }

    /// Sum of the forces of contacts and joints between bodies on each body \[N\].
    fn pushed(&self) -> Vec<DVec3> {
        let mut sum = vec![DVec3::ZERO; self.world.bodies().len()];
        for touch in self.world.touches() {
            let force = touch.force(self.world.last_substep());
            sum[touch.point.bodies.0] += force;
            sum[touch.point.bodies.1] -= force;
        }
        for (j, joint) in self.world.joints().iter().enumerate() {
            let force = self.world.reaction(JointId(j as u32)).force;
            for (body, sign) in joint.bodies.iter().zip([1.0, -1.0]) {
                if let Some(id) = body {
                    sum[id.index()] += sign * force;
                }
            }
        }
        sum
    }

    /// Sum of the magnitudes of all forces on each body \[N\].
    pub(super) fn forces(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.world.bodies().len()];
        for touch in self.world.touches() {
            let force = touch.force(self.world.last_substep()).length();
            sum[touch.point.bodies.0] += force;
            sum[touch.point.bodies.1] += force;
        }
        for load in self.loads() {
            for body in load.bodies {
                sum[body] += load.force.length();
            }
        }
        sum
    }
}

/// Contacts as point, force and kind 0.
fn contact_arrows(world: &World) -> impl Iterator<Item = Arrow> {
    let seen = move |touch: &Touch| {
        let mut force = touch.force(world.last_substep());
        // Of the two bodies the one that is carried shows the force: arrows point up where things stand.
        if 0.0 < force.dot(world.gravity) {
            force = -force;
        }
        (force != DVec3::ZERO).then(|| {
            let p = 0.5 * (touch.point.point_a + touch.point.point_b);
            let (a, b) = touch.point.bodies;
            arrow(p, force, (0.0, [Some(a), Some(b)]))
        })
    };
    world.touches().iter().filter_map(seen).take(MOST_ARROWS)
}
