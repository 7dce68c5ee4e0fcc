//! The bodies, shapes and ball joints of a world in Rapier, at its default settings.

use delassus::collide::Shape;
use delassus::math::{DQuat, DVec3};
use delassus::world::{JointKind, World};
use rapier3d::prelude::*;

use crate::{Engine, STEP};

/// Half of a wall that stands for a plane \[m\].
const WALL: f32 = 50.0;

/// A world of Rapier and the handles of its bodies in the order of the scene.
pub(crate) struct Rapier {
    world: PhysicsWorld,
    bodies: Vec<RigidBodyHandle>,
}

fn vector(v: DVec3) -> Vector {
    Vector::new(v.x as f32, v.y as f32, v.z as f32)
}

fn pose(x: DVec3, q: DQuat) -> Pose {
    let q = Rotation::from_xyzw(q.x as f32, q.y as f32, q.z as f32, q.w as f32);
    Pose::from_parts(vector(x), q)
}

impl Rapier {
    /// The same bodies, friction and joints.
    pub(crate) fn of(ours: &World) -> Rapier {
        let mut world = PhysicsWorld::new();
        world.gravity = vector(ours.gravity);
        world.integration_parameters.dt = STEP as f32;
        #[cfg(feature = "parallel")]
        world.configure_thread_pool(2).expect("threads can be started");
        let mut bodies = Vec::new();
        for id in ours.bodies().ids() {
            let body = ours.bodies().get(id);
            let builder = match ours.bodies().is_free(id) {
                true => RigidBodyBuilder::dynamic(),
                false => RigidBodyBuilder::fixed(),
            };
            let builder = builder.pose(pose(body.position, body.orientation)).can_sleep(false);
            bodies.push(world.insert_body(builder));
        }
        for (c, collider) in ours.colliders().iter().enumerate() {
            let friction = ours.surface(c, c).map_or(0.5, |surface| surface.friction) as f32;
            let (builder, turn) = shape(&collider.shape);
            let (x, q) = collider.pose;
            let builder = builder.position(pose(x, q) * turn).density(0.0).friction(friction);
            let builder = builder.friction_combine_rule(CoefficientCombineRule::Average);
            world.insert_collider(builder, Some(bodies[collider.body]));
        }
        for id in ours.bodies().ids() {
            let body = ours.bodies().get(id);
            let i = body.inertia;
            let own = MassProperties::with_inertia_matrix(
                Vector::ZERO,
                body.mass as f32,
                Matrix::from_cols(
                    vector(i.x_axis),
                    vector(i.y_axis),
                    vector(i.z_axis),
                ),
            );
            if ours.bodies().is_free(id) {
                world.bodies[bodies[id.index()]].set_additional_mass_properties(own, true);
            }
        }
        let ground = world.insert_body(RigidBodyBuilder::fixed());
        for joint in ours.joints() {
            assert_eq!(joint.kind, JointKind::Ball, "only ball joints are compared");
            let ends = joint.bodies.map(|body| body.map_or(ground, |b| bodies[b.index()]));
            let held = SphericalJointBuilder::new()
                .local_anchor1(vector(joint.frames[0].origin))
                .local_anchor2(vector(joint.frames[1].origin))
                .contacts_enabled(false);
            world.insert_impulse_joint(ends[0], ends[1], held);
        }
        Rapier { world, bodies }
    }
}

/// A shape, and how it is turned to lie as ours does.
fn shape(shape: &Shape) -> (ColliderBuilder, Pose) {
    let still = Pose::IDENTITY;
    let f = |x: f64| x as f32;
    match shape {
        Shape::Sphere { radius } => (ColliderBuilder::ball(f(*radius)), still),
        Shape::Box { half: [x, y, z] } => (ColliderBuilder::cuboid(f(*x), f(*y), f(*z)), still),
        Shape::Capsule {
            half_length,
            radius,
        } => (ColliderBuilder::capsule_z(f(*half_length), f(*radius)), still),
        Shape::Cylinder {
            half_length,
            radius,
        } => {
            // Ours stands along z, theirs along y.
            let turn = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
            let builder = ColliderBuilder::cylinder(f(*half_length), f(*radius));
            (builder, pose(DVec3::ZERO, turn))
        }
        Shape::Hull { points } => {
            let points: Vec<Vector> = points.iter().map(|p| vector(DVec3::from_array(*p))).collect();
            let hull = ColliderBuilder::convex_hull(&points).expect("a hull with a volume");
            (hull, still)
        }
        Shape::HalfSpace => {
            // Boxes are what its users take for walls.
            let wall = ColliderBuilder::cuboid(WALL, WALL, WALL);
            (wall, pose(DVec3::NEG_Z * f64::from(WALL), DQuat::IDENTITY))
        }
        other => panic!("{other:?} is not compared"),
    }
}

impl Engine for Rapier {
    fn name(&self) -> String {
        "rapier 0.36.1, default".to_owned()
    }

    fn step(&mut self) {
        self.world.step();
    }

    fn poses(&self) -> Vec<(DVec3, DQuat)> {
        let poses = self.bodies.iter().map(|id| {
            let body = &self.world.bodies[*id];
            let (x, q) = (body.translation(), body.rotation());
            let q = DQuat::from_xyzw(q.x.into(), q.y.into(), q.z.into(), q.w.into());
            (DVec3::new(x.x.into(), x.y.into(), x.z.into()), q.normalize())
        });
        poses.collect()
    }

    fn fastest(&self) -> f64 {
        let speeds = self.bodies.iter().map(|id| {
            let v = self.world.bodies[*id].linvel();
            f64::from(v.x).hypot(v.y.into()).hypot(v.z.into())
        });
        speeds.fold(0.0, f64::max)
    }
}
