//! Bodies, shapes and joints that come and go while a world runs, and how they are found by name.
//!
//! An id is given once: what is taken away leaves its place empty, so that every other id stays what it was and an id of
//! what is gone says so instead of naming something new. A place takes some 300 bytes, and each step looks at it once; a
//! world that adds and removes without end is best rebuilt now and then.

use super::builder::{bounding_radius, checked, joined, may_meet, solid};
use super::{Attach, Bodies, Body, Joint, JointKind, MovedBy, World, WorldError};
use crate::collide::{Groups, Shape};
use crate::index::{BodyId, JointId, LinkId, RobotId};

/// How far around a body that is taken away others wake, as a share of its size.
const NEARBY: f64 = 0.05;

impl World {
    /// Whether there is such a body and it has not been taken away.
    pub fn has_body(&self, id: BodyId) -> bool {
        self.bodies.has(id)
    }

    /// Whether there is such a joint and it has not been taken away.
    pub fn has_joint(&self, id: JointId) -> bool {
        let joint = self.joints.get(id.index());
        joint.is_some_and(|joint| joint.kind != JointKind::Gone)
    }

    /// The body of this name, links of robots included.
    pub fn find_body(&self, name: &str) -> Option<BodyId> {
        self.bodies.find(name)
    }

    /// The joint of this name. Joints of robots are found by [`Robot::joint_mut`](super::Robot::joint_mut).
    pub fn find_joint(&self, name: &str) -> Option<JointId> {
        let named = |joint: &Joint| joint.name == name && joint.kind != JointKind::Gone;
        let found = self.joints.iter().position(named)?;
        Some(JointId(found as u32))
    }

    /// The robot of this name.
    pub fn find_robot(&self, name: &str) -> Option<RobotId> {
        let found = self.robots.iter().position(|robot| robot.name() == name)?;
        Some(RobotId(found as u32))
    }

    /// The body of a robot's link, by the name that its file gives the link.
    pub fn find_link(&self, robot: RobotId, link: &str) -> Option<BodyId> {
        let robot = self.robots.get(robot.index())?;
        let links = robot.tree().links();
        let found = links.iter().position(|other| other.name == link)?;
        robot.body(LinkId(found as u32))
    }

    /// Adds a body between steps, behind all others. One with an empty name gets a number.
    pub fn add_body(&mut self, mut body: Body) -> Result<BodyId, WorldError> {
        if body.name.is_empty() {
            let mut numbers = self.bodies.len()..;
            let free = numbers.find_map(|number| {
                let name = format!("body-{number:06}");
                self.find_body(&name).is_none().then_some(name)
            });
            body.name = free.expect("there are fewer bodies than numbers");
        }
        let refuse = |name: String, what: &str| {
            let what = what.to_owned();
            Err(WorldError::Body { name, what })
        };
        if self.find_body(&body.name).is_some() {
            let what = "two bodies have this name; give each its own";
            return refuse(body.name, what);
        }
        if matches!(body.motion, MovedBy::Link | MovedBy::Gone) {
            let what = "only static, kinematic and dynamic bodies can be added to a running world";
            return refuse(body.name, what);
        }
        let id = self.bodies.push(body)?;
        self.radius.push(0.0);
        self.link_of.resize(self.bodies.len(), None);
        self.lanes.touch_joints();
        Ok(id)
    }

    /// Attaches a shape to a body between steps. Sleepers that it overlaps wake.
    pub fn add_collider(
        &mut self,
        body: BodyId,
        shape: Shape,
        attach: Attach,
    ) -> Result<(), WorldError> {
        let counts = (self.colliders.len(), self.surfaces.len());
        let collider = checked(&self.bodies, counts, body, shape, attach)?;
        self.collisions.push(collider.clone())?;
        let reach = attach.position.length() + bounding_radius(&collider.shape);
        let radius = &mut self.radius[body.index()];
        *radius = radius.max(reach);
        self.colliders.push(collider);
        self.materials.push(attach.material.0);
        self.may_meet = may_meet(&self.colliders);
        self.wake(body);
        self.wake_near(body);
        Ok(())
    }

    /// Adds a body made of one shape of uniform density \[kg/m³\] between steps: [`WorldBuilder::add_solid`](super::WorldBuilder::add_solid).
    pub fn add_solid(
        &mut self,
        shape: Shape,
        density: f64,
        body: Body,
        attach: Attach,
    ) -> Result<BodyId, WorldError> {
        let (body, attach) = solid(&shape, density, body, attach)?;
        let id = self.add_body(body)?;
        // Nothing is left behind where the shape is refused.
        if let Err(error) = self.add_collider(id, shape, attach) {
            self.bodies.pop();
            self.radius.pop();
            self.link_of.truncate(self.bodies.len());
            return Err(error);
        }
        Ok(id)
    }

    /// Takes a body away between steps, with its shapes and the joints that hold it; what it touched or was joined to
    /// wakes. Its id names nothing from now on, and all others stay. Links of robots cannot be taken away.
    pub fn remove_body(&mut self, id: BodyId) -> Result<Body, WorldError> {
        self.check_body(id)?;
        let body = self.bodies.get(id);
        if let Some(link) = self.link_of(id.index()) {
            let robot = self.robots[link.robot.index()].name().to_owned();
            return Err(WorldError::Body {
                name: body.name,
                what: format!("it is a link of robot \"{robot}\", which stays whole"),
            });
        }
        self.wake_near(id);
        for joint in (0..self.joints.len() as u32).map(JointId) {
            if self.joints[joint.index()].links().contains(&id) {
                self.clear_joint(joint);
            }
        }
        for (i, collider) in self.colliders.iter_mut().enumerate() {
            if collider.body == id.index() {
                collider.group = Groups::NONE;
                self.collisions.remove(i);
            }
        }
        self.bodies.clear(id);
        self.radius[id.index()] = 0.0;
        self.touches.forget(id);
        self.may_meet = may_meet(&self.colliders);
        self.joined = joined(&self.joints, &self.apart);
        self.lanes.touch_joints();
        Ok(body)
    }

    /// Takes a joint away between steps; its bodies wake. Its id names nothing from now on, and all others stay.
    pub fn remove_joint(&mut self, id: JointId) -> Result<Joint, WorldError> {
        self.check_joint(id)?;
        let joint = self.clear_joint(id);
        self.joined = joined(&self.joints, &self.apart);
        self.lanes.touch_joints();
        Ok(joint)
    }

    /// Says why an id names no body, where it does not.
    pub fn check_body(&self, body: BodyId) -> Result<(), WorldError> {
        match self.bodies.name.get(body.index()) {
            Some(_) if self.has_body(body) => Ok(()),
            Some(name) => Err(WorldError::BodyGone {
                body,
                name: name.clone(),
            }),
            None => Err(WorldError::NoBody {
                body,
                count: self.bodies.len(),
            }),
        }
    }

    /// Says why an id names no joint, where it does not.
    pub fn check_joint(&self, joint: JointId) -> Result<(), WorldError> {
        match self.joints.get(joint.index()) {
            Some(_) if self.has_joint(joint) => Ok(()),
            Some(gone) => Err(WorldError::JointGone {
                joint,
                name: gone.name.clone(),
            }),
            None => Err(WorldError::NoJoint {
                joint,
                count: self.joints.len(),
            }),
        }
    }

    /// Leaves nothing of a joint but its name; gives what it was.
    fn clear_joint(&mut self, id: JointId) -> Joint {
        for link in self.joints[id.index()].links() {
            self.wake(link);
        }
        let place = &mut self.joints[id.index()];
        let gone = Joint {
            bodies: [None; 2],
            kind: JointKind::Gone,
            ..place.clone()
        };
        self.reactions.forget(id);
        self.warm.forget(id);
        std::mem::replace(place, gone)
    }

    /// Wakes sleepers that a body may touch: contacts of sleepers are not looked for, so that none of them is known.
    fn wake_near(&mut self, id: BodyId) {
        let (i, bodies) = (id.index(), &self.bodies);
        let ground = |c: &crate::collide::Collider| c.body == i && c.shape.is_static_only();
        let endless = self.colliders.iter().any(ground);
        let near = |j: &BodyId| {
            let reach = (self.radius[i] + self.radius[j.index()]) * (1.0 + NEARBY);
            let distance = bodies.position[i].distance(bodies.position[j.index()]);
            bodies.asleep[j.index()] && (endless || distance <= reach)
        };
        let near: Vec<BodyId> = bodies.ids().filter(near).collect();
        near.into_iter().for_each(|j| self.wake(j));
    }
}

impl Bodies {
    /// Takes the last body back.
    fn pop(&mut self) {
        self.name.pop();
        self.motion.pop();
        self.position.pop();
        self.orientation.pop();
        self.velocity.pop();
        self.spin.pop();
        self.mass.pop();
        self.inertia.pop();
        self.force.pop();
        self.torque.pop();
        self.rest.pop();
        self.asleep.pop();
    }

    /// Leaves nothing of a body but its name and place.
    pub(super) fn clear(&mut self, id: BodyId) {
        let i = id.index();
        self.motion[i] = MovedBy::Gone;
        self.asleep[i] = false;
        self.rest[i] = 0.0;
        // Nothing is left that could be out of range.
        self.position[i] = glam::DVec3::ZERO;
        self.orientation[i] = glam::DQuat::IDENTITY;
        let vectors = [
            &mut self.velocity,
            &mut self.spin,
            &mut self.force,
            &mut self.torque,
        ];
        vectors.into_iter().for_each(|v| v[i] = glam::DVec3::ZERO);
    }
}
