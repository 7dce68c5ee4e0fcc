//! Short ways to say what is common: a body at a place, a shape on it, a joint, flat ground, the force of a contact.

use glam::{DQuat, DVec3};

use super::{
    Attach, Bodies, Body, Drive, Joint, JointAxis, JointBody, JointKind, MovedBy, Touch, World,
    WorldBuilder, WorldError,
};
use crate::collide::Shape;
use crate::index::{BodyId, JointId};
use crate::math::tangents;

impl Body {
    /// A dynamic body at rest, with its centre of mass at this place \[m\].
    pub fn at(name: &str, position: DVec3) -> Body {
        Body {
            name: name.to_owned(),
            position,
            ..Body::default()
        }
    }

    /// A body that never moves, at this place \[m\].
    pub fn fixed(name: &str, position: DVec3) -> Body {
        Body {
            motion: MovedBy::Static,
            ..Body::at(name, position)
        }
    }
}

impl Body {
    /// The same with a velocity of its centre of mass \[m/s\].
    pub fn moving(self, velocity: DVec3) -> Body {
        Body { velocity, ..self }
    }

    /// The same with an angular velocity \[rad/s\].
    pub fn spinning(self, spin: DVec3) -> Body {
        Body { spin, ..self }
    }

    /// The same, turned.
    pub fn turned(self, orientation: DQuat) -> Body {
        Body {
            orientation,
            ..self
        }
    }
}

impl JointKind {
    /// A hinge that nothing drives or limits.
    pub fn hinge() -> JointKind {
        JointKind::Hinge(Drive::default())
    }

    /// A slider that nothing drives or limits.
    pub fn slider() -> JointKind {
        JointKind::Slider(Drive::default())
    }
}

impl World {
    /// Adds a body of one shape and density \[kg/m³\] between steps: [`World::add_solid`] with nothing else to say.
    pub fn add(&mut self, shape: Shape, density: f64, body: Body) -> Result<BodyId, WorldError> {
        self.add_solid(shape, density, body, Attach::default())
    }

    /// Joins two bodies, or one with the world, at an axis, where they stand now.
    pub fn join(
        &mut self,
        kind: JointKind,
        links: [JointBody; 2],
        axis: JointAxis,
    ) -> Result<JointId, WorldError> {
        check_links(&self.bodies, links)?;
        let joint = Joint::at(&self.bodies, links, axis, kind);
        self.add_joint(joint)
    }
}

/// Refuses bodies that are not there.
fn check_links(bodies: &Bodies, links: [JointBody; 2]) -> Result<(), WorldError> {
    let missing = links.into_iter().flatten().find(|id| !bodies.has(*id));
    let count = bodies.len();
    missing.map_or(Ok(()), |body| Err(WorldError::NoBody { body, count }))
}

impl WorldBuilder {
    /// Adds a body of one shape and density \[kg/m³\]: [`WorldBuilder::add_solid`] with nothing else to say.
    pub fn add(&mut self, shape: Shape, density: f64, body: Body) -> Result<BodyId, WorldError> {
        self.add_solid(shape, density, body, Attach::default())
    }

    /// Joins two bodies, or one with the world, at an axis, where they stand now.
    pub fn join(
        &mut self,
        kind: JointKind,
        links: [JointBody; 2],
        axis: JointAxis,
    ) -> Result<JointId, WorldError> {
        check_links(&self.bodies, links)?;
        let joint = Joint::at(&self.bodies, links, axis, kind);
        self.add_joint(joint)
    }

    /// Adds the body `ground`, everything below z = 0, in the default material.
    pub fn add_ground(&mut self) -> Result<BodyId, WorldError> {
        let ground = self.add_body(Body::fixed("ground", DVec3::ZERO))?;
        self.add_collider(ground, Shape::HalfSpace, Attach::default())?;
        Ok(ground)
    }
}

impl Touch {
    /// The two bodies; a body that cannot move is the second.
    pub fn bodies(&self) -> (BodyId, BodyId) {
        let (a, b) = self.point.bodies;
        (BodyId(a as u32), BodyId(b as u32))
    }

    /// Impulse on the first body over the last substep, along the world's axes \[N s\].
    pub fn world_impulse(&self) -> DVec3 {
        self.in_world(self.impulse)
    }

    /// Impulse of torque of rolling and spinning friction on the first body, along the world's axes \[N m s\].
    pub fn world_torque(&self) -> DVec3 {
        self.in_world(self.torque)
    }

    /// A vector given along (n, t₁, t₂), along the world's axes.
    fn in_world(&self, [along_n, along_t1, along_t2]: [f64; 3]) -> DVec3 {
        let n = self.point.normal;
        let (t1, t2) = tangents(n);
        n * along_n + t1 * along_t1 + t2 * along_t2
    }

    /// Mean force on the first body over the last substep of h seconds, along the world's axes \[N\].
    pub fn force(&self, h: f64) -> DVec3 {
        self.world_impulse() / h
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::sweep::gauss_seidel::GaussSeidel;

    /// Six digits of the weight, where solves end at 1e-8 m/s.
    const DIGITS: f64 = 1e-6;

    #[test]
    fn the_force_of_the_ground_on_a_ball_at_rest_is_its_weight() {
        let mut builder = WorldBuilder::default();
        let ground = builder.add_ground().expect("the world is empty");
        let ball = Body::at("ball", DVec3::new(0.0, 0.0, 0.1));
        let shape = Shape::Sphere { radius: 0.1 };
        let ball = builder.add_solid(shape, 1000.0, ball, Attach::default());
        let ball = ball.expect("a ball has a mass");
        let mut world = builder.build().expect("two bodies make a world");
        let h = 0.01;
        for _ in 0..100 {
            let step = world.step(h, &mut GaussSeidel::default());
            step.expect("a ball at rest can be stepped");
        }
        let weight = world.bodies().mass[ball.index()] * 9.81;
        let [touch] = world.touches() else {
            panic!("a ball touches a plane in one point");
        };
        assert_eq!(touch.bodies(), (ball, ground));
        let force = touch.force(h);
        assert!((force - DVec3::new(0.0, 0.0, weight)).length() < DIGITS * weight);
        let sum = world.contact_force((ball, ground), h);
        assert!((force - sum).length() < DIGITS * weight);
    }
}
