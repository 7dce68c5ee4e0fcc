//! What a builder refuses and which of two answers it keeps; what a caller changes between steps.

#![cfg(feature = "world")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its world has failed"
)]

use delassus::math::DVec3;
use delassus::world::{
    Attach, Body, Drive, Joint, JointAxis, JointKind, Motor, Sleep, StepError, Surface, WorldError,
};
use delassus::{BodyId, GaussSeidel, JointId, WorldBuilder, collide::Shape};

const H: f64 = 0.01;

/// A body on a vertical hinge, with one more joint for each name.
fn hinged(names: &[&str]) -> WorldBuilder {
    let mut builder = WorldBuilder::default();
    builder.gravity = DVec3::ZERO;
    let wheel = builder.add_body(Body::default()).unwrap();
    for name in names {
        let place = JointAxis::new(DVec3::ZERO, DVec3::Z);
        let kind = JointKind::Hinge(Drive::default());
        let mut joint = Joint::at(builder.bodies(), [Some(wheel), None], place, kind);
        joint.name = (*name).to_owned();
        builder.add_joint(joint).unwrap();
    }
    builder
}

#[test]
fn two_joints_of_one_name_are_refused() {
    assert!(hinged(&["axle", "", ""]).build().is_ok());
    let refused = hinged(&["axle", "crank", "axle"]).build().unwrap_err();
    let WorldError::Joint { name, what } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(name, "axle");
    assert!(what.contains("two joints"), "{what}");
}

#[test]
fn last_surface_given_to_a_pair_counts() {
    let mut builder = WorldBuilder::default();
    let surface = |friction| Surface {
        friction,
        ..Surface::default()
    };
    let wood = builder.add_material(surface(0.4)).unwrap();
    let ice = builder.add_material(surface(0.1)).unwrap();
    for material in [wood, ice] {
        let attach = Attach {
            material,
            ..Attach::default()
        };
        let shape = Shape::Sphere { radius: 0.1 };
        builder
            .add_solid(shape, 1.0, Body::default(), attach)
            .unwrap();
    }
    builder.set_pair((wood, ice), surface(0.9)).unwrap();
    builder.set_pair((ice, ice), surface(0.5)).unwrap();
    builder.set_pair((ice, wood), surface(0.2)).unwrap();
    let world = builder.build().unwrap();
    assert_eq!(world.surface(0, 1).unwrap().friction, 0.2);
    assert_eq!(world.surface(1, 1).unwrap().friction, 0.5);
}

#[test]
fn new_drive_is_felt_by_sleepers() {
    let mut builder = hinged(&["axle"]);
    builder.settings.sleep = Some(Sleep::default());
    let mut world = builder.build().unwrap();
    let mut solver = GaussSeidel::default();
    for _ in 0..100 {
        world.step(H, &mut solver).unwrap();
    }
    assert!(world.bodies().asleep[0]);
    let joint = world.joint_mut(JointId(0)).unwrap();
    let motor = Motor {
        speed: 2.0,
        max_force: 1e3,
    };
    joint.kind = JointKind::Hinge(Drive {
        motor: Some(motor),
        ..Drive::default()
    });
    world.step(H, &mut solver).unwrap();
    assert!((world.bodies().spin[0].z - 2.0).abs() < 1e-6);
    assert!(world.joint_mut(JointId(7)).is_none());
}

#[test]
fn refused_step_keeps_the_forces_and_a_good_one_uses_them_up() {
    let mut world = hinged(&[]).build().unwrap();
    let mut solver = GaussSeidel::default();
    let bad = DVec3::new(f64::INFINITY, 0.0, 0.0);
    world.bodies_mut().force[0] = bad;
    for _ in 0..2 {
        let refused = world.step(H, &mut solver).unwrap_err();
        assert!(matches!(refused, StepError::Assemble(_)), "{refused}");
        assert_eq!(world.bodies().force[0], bad);
    }
    world.bodies_mut().force[0] = DVec3::X;
    world.step(H, &mut solver).unwrap();
    assert_eq!(world.bodies().force[0], DVec3::ZERO);
    assert!((world.bodies().get(BodyId(0)).velocity.x - H).abs() < 1e-15);
}
