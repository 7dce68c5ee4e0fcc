//! Small worlds for the tests of physics: one ground, a few bodies, one solver.
#![allow(
    dead_code,
    reason = "every test file compiles its own copy and none uses all of it"
)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its world must stop there"
)]

use delassus::collide::Shape;
use delassus::math::{DMat3, DQuat, DVec3};
use delassus::world::{
    Attach, Body, Joint, JointAxis, JointKind, MaterialId, MovedBy, Step, Surface,
};
use delassus::{BodyId, GaussSeidel, JointId, Stop, World, WorldBuilder};

/// Gravity of the default world [m/s²].
pub(crate) const GRAVITY: f64 = 9.81;

/// Gauss-Seidel with so small a law residual that what is left to see is the stepper.
pub(crate) fn solver(tolerance: f64) -> GaussSeidel {
    GaussSeidel {
        stop: Stop {
            tolerance,
            sweeps: 100_000,
            ..Stop::default()
        },
        ..GaussSeidel::default()
    }
}

/// An empty world without gravity.
pub(crate) fn space() -> WorldBuilder {
    let mut builder = WorldBuilder::default();
    builder.gravity = DVec3::ZERO;
    builder
}

pub(crate) fn material(builder: &mut WorldBuilder, friction: f64, restitution: f64) -> MaterialId {
    let surface = Surface {
        friction,
        restitution,
        ..Surface::default()
    };
    builder.add_material(surface).unwrap()
}

pub(crate) fn of(material: MaterialId) -> Attach {
    Attach {
        material,
        ..Attach::default()
    }
}

/// A static half-space through the origin whose z axis is turned.
pub(crate) fn ground(builder: &mut WorldBuilder, turn: DQuat, material: MaterialId) -> BodyId {
    let id = builder
        .add_body(Body {
            name: "ground".to_owned(),
            motion: MovedBy::Static,
            orientation: turn,
            ..Body::default()
        })
        .unwrap();
    let shape = Shape::HalfSpace;
    builder.add_collider(id, shape, of(material)).unwrap();
    id
}

/// A box of water's density.
pub(crate) fn cuboid(
    builder: &mut WorldBuilder,
    half: DVec3,
    body: Body,
    material: MaterialId,
) -> BodyId {
    let shape = Shape::Box {
        half: half.to_array(),
    };
    builder
        .add_solid(shape, 1000.0, body, of(material))
        .unwrap()
}

/// A ball of 1 kg.
pub(crate) fn ball(
    builder: &mut WorldBuilder,
    radius: f64,
    body: Body,
    material: MaterialId,
) -> BodyId {
    let inertia = DMat3::from_diagonal(DVec3::splat(0.4 * radius * radius));
    let body = Body {
        mass: 1.0,
        inertia,
        ..body
    };
    let id = builder.add_body(body).unwrap();
    let shape = Shape::Sphere { radius };
    builder.add_collider(id, shape, of(material)).unwrap();
    id
}

/// A body at rest at a place.
pub(crate) fn at(position: DVec3) -> Body {
    Body {
        position,
        ..Body::default()
    }
}

/// Steps that must all be solved; gives the last.
pub(crate) fn run(world: &mut World, h: f64, steps: usize, solver: &mut GaussSeidel) -> Step {
    let mut last = None;
    for _ in 0..steps {
        let step = world.step(h, solver).unwrap();
        assert_eq!(step.unsolved, 0, "{}", step.report);
        last = Some(step);
    }
    last.unwrap()
}

/// A joint at the origin, with an axis.
pub(crate) fn join(
    builder: &mut WorldBuilder,
    links: [Option<BodyId>; 2],
    axis: DVec3,
    kind: JointKind,
) -> JointId {
    let joint = Joint::at(
        builder.bodies(),
        links,
        JointAxis::new(DVec3::ZERO, axis),
        kind,
    );
    builder.add_joint(joint).unwrap()
}
