//! The bodies and shapes of a world in Jolt 5.0.0, at its default settings, through `jolt/shim.cpp`.

use std::ffi::c_void;

use delassus::collide::Shape;
use delassus::math::{DQuat, DVec3};
use delassus::world::World;

use crate::{Engine, STEP};

/// Half of a wall that stands for a plane \[m\], as for Rapier.
const WALL: f64 = 50.0;

#[repr(C)]
#[derive(Default)]
struct JoltBody {
    position: [f32; 3],
    orientation: [f32; 4],
    place: [f32; 3],
    turn: [f32; 4],
    mass: f32,
    inertia: [f32; 9],
    friction: f32,
}

unsafe extern "C" {
    fn jolt_new(gravity: *const f32, threads: i32, bodies: i32) -> *mut c_void;
    fn jolt_add(world: *mut c_void, body: *const JoltBody, kind: i32, numbers: *const f32, count: i32) -> bool;
    fn jolt_start(world: *mut c_void);
    fn jolt_step(world: *mut c_void, dt: f32) -> u32;
    fn jolt_state(world: *const c_void, body: i32, out: *mut f32);
    fn jolt_free(world: *mut c_void);
}

/// A world of Jolt; where it has each body of the scene, those that move alone.
pub(crate) struct Jolt {
    world: *mut c_void,
    places: Vec<Option<i32>>,
    /// Poses of the scene, for what never moves.
    given: Vec<(DVec3, DQuat)>,
}

fn vector(v: DVec3) -> [f32; 3] {
    v.to_array().map(|x| x as f32)
}

fn quaternion(q: DQuat) -> [f32; 4] {
    q.to_array().map(|x| x as f32)
}

impl Jolt {
    /// The same bodies and friction; `None` for a world with joints, or a body of several shapes that moves.
    pub(crate) fn of(ours: &World, threads: usize) -> Option<Jolt> {
        if !ours.joints().is_empty() {
            return None;
        }
        let bodies = ours.bodies();
        let count = (ours.colliders().len() + 1) as i32;
        // SAFETY: three numbers are read.
        let world = unsafe { jolt_new(vector(ours.gravity).as_ptr(), threads as i32, count) };
        let mut jolt = Jolt {
            world,
            places: vec![None; bodies.len()],
            given: Vec::new(),
        };
        jolt.given = bodies.ids().map(|id| bodies.get(id)).map(|b| (b.position, b.orientation)).collect();
        for (c, collider) in ours.colliders().iter().enumerate() {
            let id = bodies.ids().nth(collider.body)?;
            let body = bodies.get(id);
            let (kind, numbers, within) = shape(&collider.shape);
            let (place, turn) = (collider.pose.0 + collider.pose.1 * within.0, collider.pose.1 * within.1);
            let free = bodies.is_free(id);
            let given = JoltBody {
                position: vector(body.position),
                orientation: quaternion(body.orientation),
                place: vector(place),
                turn: quaternion(turn),
                mass: if free { body.mass as f32 } else { 0.0 },
                inertia: body.inertia.to_cols_array().map(|x| x as f32),
                friction: ours.surface(c, c).map_or(0.5, |surface| surface.friction) as f32,
            };
            // SAFETY: the world is alive, and the shape has as many numbers as are said.
            let added = unsafe { jolt_add(jolt.world, &given, kind, numbers.as_ptr(), numbers.len() as i32) };
            if !added || (free && jolt.places[collider.body].is_some()) {
                return None;
            }
            if free {
                jolt.places[collider.body] = Some(c as i32);
            }
        }
        // SAFETY: the world is alive.
        unsafe { jolt_start(jolt.world) };
        Some(jolt)
    }

    fn state(&self, body: i32) -> [f32; 8] {
        let mut out = [0.0; 8];
        // SAFETY: the world is alive, the body was added, and eight numbers are written.
        unsafe { jolt_state(self.world, body, out.as_mut_ptr()) };
        out
    }
}

impl Drop for Jolt {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards.
        unsafe { jolt_free(self.world) };
    }
}

/// A kind and its numbers, and how it lies as ours does: where and turned how.
fn shape(shape: &Shape) -> (i32, Vec<f32>, (DVec3, DQuat)) {
    let f = |numbers: &[f64]| numbers.iter().map(|x| *x as f32).collect();
    let still = (DVec3::ZERO, DQuat::IDENTITY);
    // Ours stands along z, theirs along y.
    let upright = (DVec3::ZERO, DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2));
    match shape {
        Shape::Sphere { radius } => (0, f(&[*radius]), still),
        Shape::Box { half } => (1, f(half), still),
        Shape::Capsule {
            half_length,
            radius,
        } => (2, f(&[*half_length, *radius]), upright),
        Shape::Cylinder {
            half_length,
            radius,
        } => (3, f(&[*half_length, *radius]), upright),
        Shape::Hull { points } => (4, f(points.as_flattened()), still),
        Shape::HalfSpace => (1, f(&[WALL; 3]), (DVec3::NEG_Z * WALL, DQuat::IDENTITY)),
        other => panic!("{other:?} is not compared"),
    }
}

impl Engine for Jolt {
    fn name(&self) -> String {
        "jolt 5.0.0, default".to_owned()
    }

    fn step(&mut self) {
        // SAFETY: the world is alive.
        let full = unsafe { jolt_step(self.world, STEP as f32) };
        assert_eq!(full, 0, "Jolt has room for all contacts");
    }

    fn poses(&self) -> Vec<(DVec3, DQuat)> {
        let both = self.places.iter().zip(&self.given);
        let poses = both.map(|(place, given)| {
            let Some(place) = place else { return *given };
            let [x, y, z, i, j, k, w, _] = self.state(*place).map(f64::from);
            (DVec3::new(x, y, z), DQuat::from_xyzw(i, j, k, w).normalize())
        });
        poses.collect()
    }

    fn fastest(&self) -> f64 {
        let moving = self.places.iter().flatten();
        moving.fold(0.0, |most, place| f64::from(self.state(*place)[7]).max(most))
    }
}
