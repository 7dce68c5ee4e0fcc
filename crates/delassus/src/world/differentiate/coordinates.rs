//! Poses as numbers with quaternions, and gradients to and fro: what a program that knows no tangents needs.
//!
//! ```text
//! body :   (x, w, i, j, k)     dquat = ½ (0, dθ) ⊗ quat                       θ about the world's axes
//! robot:   its configuration   dq along the velocities of its joints
//! ```
//!
//! With J = ∂(coordinates)/∂(tangent) a gradient by coordinates becomes Jᵀg. The way back is J⁺ᵀg with J⁺ the pseudo-inverse:
//! the gradient that leaves the length of a quaternion alone.

use glam::{DQuat, DVec3};

use super::Layout;
use crate::world::{JointKind, World, WorldError};

impl Layout {
    /// Coordinates of all poses and then all velocities: seven and six numbers a body, (x, y, z, w, i, j, k) and velocity
    /// with spin; configuration and velocity of each robot.
    pub fn coordinates(&self, world: &World) -> Vec<f64> {
        let mut all = Vec::new();
        let bodies = world.bodies();
        for id in &self.bodies {
            all.extend(bodies.position[id.index()].to_array());
            let DQuat { x, y, z, w } = bodies.orientation[id.index()];
            all.extend([w, x, y, z]);
        }
        for robot in world.robots() {
            all.extend(robot.configuration());
        }
        for id in &self.bodies {
            all.extend(bodies.velocity[id.index()].to_array());
            all.extend(bodies.spin[id.index()].to_array());
        }
        for robot in world.robots() {
            all.extend(robot.velocity());
        }
        all
    }

    /// Numbers of [`Layout::coordinates`].
    pub fn n_coordinates(&self, world: &World) -> usize {
        let robots = world.robots().iter();
        let configurations = robots.map(|robot| robot.configuration().len());
        7 * self.bodies.len() + configurations.sum::<usize>() + self.len()
    }

    /// Writes coordinates into the world. Quaternions are brought to length one. Full turns are not among the coordinates:
    /// a hinge then stands within half a turn of zero, a screw or a rack at the turn nearest to where it was. The world
    /// stays as it is where the coordinates do not fit.
    pub fn place(&self, world: &mut World, coordinates: &[f64]) -> Result<(), WorldError> {
        check("coordinates", coordinates, self.n_coordinates(world))?;
        if !coordinates.iter().all(|x| x.is_finite()) {
            return Err(refuse("a coordinate is not a finite number".to_owned()));
        }
        let turn = |q: &[f64]| DQuat::from_xyzw(q[4], q[5], q[6], q[3]);
        let mut poses = coordinates.chunks_exact(7).take(self.bodies.len());
        let has_direction = |length: f64| 1e-6 < length && length.is_finite();
        if poses.any(|pose| !has_direction(turn(pose).length())) {
            return Err(refuse("a quaternion has no direction".to_owned()));
        }
        let (mut at, half) = (7 * self.bodies.len(), coordinates.len() - self.len());
        let mut robots = Vec::new();
        for (r, robot) in world.robots().iter().enumerate() {
            let n = robot.configuration().len();
            let v = half + self.robots[r]..half + self.robots[r + 1];
            robots.push((coordinates[at..at + n].to_vec(), coordinates[v].to_vec()));
            at += n;
        }
        let before = world.robot_states();
        for (r, (q, v)) in robots.iter().enumerate() {
            if let Err(error) = world.place_robot(crate::index::RobotId(r as u32), q, v) {
                for (r, (q, v)) in before.iter().enumerate() {
                    world.place_robot(crate::index::RobotId(r as u32), q, v)?;
                }
                return Err(error);
            }
        }
        for (b, id) in self.bodies.iter().enumerate() {
            let i = id.index();
            let (pose, velocity) = (&coordinates[7 * b..], &coordinates[half + 6 * b..]);
            let bodies = world.bodies_mut();
            bodies.position[i] = DVec3::from_slice(pose);
            bodies.orientation[i] = turn(pose).normalize();
            bodies.velocity[i] = DVec3::from_slice(velocity);
            bodies.spin[i] = DVec3::from_slice(&velocity[3..]);
        }
        for i in 0..world.joints.len() {
            if let JointKind::Hinge(_) = world.joints[i].kind {
                world.joints[i].coordinate = 0.0;
            }
            world.joints[i].coordinate = world.joints[i].measure(&world.bodies);
        }
        Ok(())
    }

    /// Adds forces for the next step: six numbers a body, one for each velocity of a robot.
    pub fn push(&self, world: &mut World, force: &[f64]) -> Result<(), WorldError> {
        check("forces", force, self.len())?;
        for (id, own) in self.bodies.iter().zip(force.chunks_exact(6)) {
            let bodies = world.bodies_mut();
            bodies.force[id.index()] += DVec3::from_slice(own);
            bodies.torque[id.index()] += DVec3::from_slice(&own[3..]);
        }
        let robots = world.robots.iter_mut();
        for (robot, range) in robots.zip(self.robots.windows(2)) {
            let own = &force[range[0]..range[1]];
            for (sum, force) in robot.force.iter_mut().zip(own) {
                *sum += force;
            }
        }
        Ok(())
    }

    /// The gradient by tangents, poses then velocities, from one by the coordinates of this world: Jᵀg.
    pub fn to_tangent(&self, world: &World, gradient: &[f64]) -> Result<Vec<f64>, WorldError> {
        check("numbers of a gradient", gradient, self.n_coordinates(world))?;
        let half = gradient.len() - self.len();
        let mut found = Vec::with_capacity(2 * self.len());
        for (b, id) in self.bodies.iter().enumerate() {
            let own = &gradient[7 * b..7 * b + 7];
            found.extend(&own[..3]);
            let columns = turns(world.bodies().orientation[id.index()]);
            found.extend(columns.map(|column| dot4(&column, &own[3..])));
        }
        let mut at = 7 * self.bodies.len();
        for robot in world.robots() {
            let n = robot.configuration().len();
            let own = &gradient[at..at + n];
            let columns = robot.tree().tangents(robot.configuration());
            found.extend(columns.iter().map(|column| sparse_dot(column, own)));
            at += n;
        }
        found.extend(&gradient[half..]);
        Ok(found)
    }

    /// The gradient by coordinates from one by tangents: that which leaves the length of a quaternion alone.
    pub fn to_coordinates(&self, world: &World, gradient: &[f64]) -> Result<Vec<f64>, WorldError> {
        check("numbers of a gradient", gradient, 2 * self.len())?;
        let mut found = Vec::with_capacity(self.n_coordinates(world));
        for (b, id) in self.bodies.iter().enumerate() {
            let own = &gradient[6 * b..6 * b + 6];
            found.extend(&own[..3]);
            let columns = turns(world.bodies().orientation[id.index()]);
            // Columns of J for a turn are normal to each other and of length ½: J⁺ = 4 Jᵀ.
            let number = |k: usize| {
                (0..3)
                    .map(|j| 4.0 * columns[j][k] * own[3 + j])
                    .sum::<f64>()
            };
            found.extend((0..4).map(number));
        }
        for (r, robot) in world.robots().iter().enumerate() {
            let own = &gradient[self.robots[r]..self.robots[r + 1]];
            let mut by_q = vec![0.0; robot.configuration().len()];
            let columns = robot.tree().tangents(robot.configuration());
            for (column, by) in columns.iter().zip(own) {
                // All columns are normal to each other.
                let square: f64 = column.iter().map(|(_, x)| x * x).sum();
                for (i, x) in column {
                    by_q[*i] += by * x / square;
                }
            }
            found.extend(by_q);
        }
        found.extend(&gradient[self.len()..]);
        Ok(found)
    }
}

fn refuse(what: String) -> WorldError {
    WorldError::Body {
        name: "state".to_owned(),
        what,
    }
}

fn check(what: &str, array: &[f64], length: usize) -> Result<(), WorldError> {
    match array.len() {
        n if n == length => Ok(()),
        n => Err(refuse(format!(
            "{n} {what} are given where the world has {length}"
        ))),
    }
}

/// ½ (0, e) ⊗ q for the three axes e, as (w, i, j, k).
fn turns(q: DQuat) -> [[f64; 4]; 3] {
    DVec3::AXES.map(|axis| {
        let half = axis * 0.5;
        let DQuat { x, y, z, w } = DQuat::from_xyzw(half.x, half.y, half.z, 0.0).mul_quat(q);
        [w, x, y, z]
    })
}

fn dot4(a: &[f64; 4], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn sparse_dot(column: &[(usize, f64)], gradient: &[f64]) -> f64 {
    column.iter().map(|(i, x)| x * gradient[*i]).sum()
}
