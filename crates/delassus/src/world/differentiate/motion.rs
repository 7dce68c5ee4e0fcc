//! How poses after a step follow from poses before it and the new velocities.
//!
//! ```text
//! body :   x⁺ = x + h v⁺,   R⁺ = exp(h ω⁺) R        dθ⁺ = exp(h ω⁺) dθ + h J(h ω⁺) dω⁺,   J(θ) = ∫₀¹ exp(s θ) ds
//! robot:   q⁺ = q ⊕ h v⁺, loops closed again
//! ```
//!
//! Robots whose joints have one velocity each and that have no loops just add h v⁺; all others are moved a little both
//! ways.

use glam::{DMat3, DQuat, DVec3};

use super::columns::places;
use super::{DifferentiateError, Layout, Solved};
use crate::tree::TreeError;
use crate::world::{MovedBy, Robot, World};

/// Step of a difference.
const STEP: f64 = 1e-5;

/// The derivative of poses after a step, and of velocities where these are turned.
#[derive(Clone, Debug)]
pub(super) struct Motion {
    h: f64,
    /// Numbers of a pose.
    n: usize,
    /// The velocity in the problem that each number is.
    places: Vec<Option<usize>>,
    bodies: Vec<BodyMotion>,
    robots: Vec<RobotMotion>,
}

#[derive(Clone, Copy, Debug)]
struct BodyMotion {
    at: usize,
    /// Whether its pose moves.
    moves: bool,
    turn: DMat3,
    /// h J(h ω).
    by_spin: DMat3,
}

#[derive(Clone, Debug)]
struct RobotMotion {
    at: usize,
    n: usize,
    /// Pose after by pose before and by v⁺, velocity after by both, row by row; empty where q⁺ = q + h v⁺.
    tables: Option<[Vec<f64>; 4]>,
}

impl Motion {
    pub(super) fn new(
        world: &World,
        layout: &Layout,
        solved: &Solved,
    ) -> Result<Motion, DifferentiateError> {
        let h = solved.h;
        let places = places(world, layout, solved);
        let bodies = layout.bodies().iter().enumerate().map(|(b, id)| {
            let i = id.index();
            let spin = match places[6 * b] {
                Some(place) => DVec3::from_slice(&solved.solution.v[place + 3..]),
                None => world.bodies().spin[i],
            };
            let asleep = world.bodies().asleep[i];
            BodyMotion {
                at: 6 * b,
                moves: world.bodies().motion[i] != MovedBy::Static && !asleep,
                turn: DMat3::from_quat(DQuat::from_scaled_axis(h * spin)),
                by_spin: mean_turn(h * spin) * h,
            }
        });
        let bodies = bodies.collect();
        let mut at = 6 * layout.bodies().len();
        let mut robots = Vec::new();
        for robot in world.robots() {
            let n = robot.tree().n_dofs();
            let v = &solved.solution.v[solved.assembly.bodies.len() * 6..];
            let start = at - 6 * layout.bodies().len();
            let tables = match robot.just_adds() {
                true => None,
                false => Some(tables(robot, &v[start..start + n], h).map_err(|error| {
                    DifferentiateError::Step(
                        crate::error::BuildError::Tree {
                            place: format!("robot \"{}\"", robot.name()),
                            error,
                        }
                        .into(),
                    )
                })?),
            };
            robots.push(RobotMotion { at, n, tables });
            at += n;
        }
        Ok(Motion {
            h,
            n: layout.len(),
            places,
            bodies,
            robots,
        })
    }

    /// The state after from the state before and dv.
    pub(super) fn forward(&self, state: &[f64], dv: &[f64]) -> Vec<f64> {
        let (n, h) = (self.n, self.h);
        let mut after = state.to_vec();
        // What impulses move has the new velocity.
        for (i, place) in self.places.iter().enumerate() {
            if let Some(place) = place {
                after[n + i] = dv[*place];
            }
        }
        for body in self.bodies.iter().filter(|body| body.moves) {
            let vector = |from: &[f64], k: usize| DVec3::from_slice(&from[body.at + k..]);
            let velocity = &after[n..];
            let position = vector(state, 0) + h * vector(velocity, 0);
            let turn = body.turn * vector(state, 3) + body.by_spin * vector(velocity, 3);
            after[body.at..body.at + 3].copy_from_slice(&position.to_array());
            after[body.at + 3..body.at + 6].copy_from_slice(&turn.to_array());
        }
        for robot in &self.robots {
            let own = robot.at..robot.at + robot.n;
            let pose = state[own.clone()].to_vec();
            let v = after[n + robot.at..n + robot.at + robot.n].to_vec();
            let Some([a, b, c, d]) = &robot.tables else {
                for ((x, pose), v) in after[own].iter_mut().zip(&pose).zip(&v) {
                    *x = pose + h * v;
                }
                continue;
            };
            for i in 0..robot.n {
                let row = |table: &[f64], x: &[f64]| {
                    crate::math::dot(&table[i * robot.n..(i + 1) * robot.n], x)
                };
                after[robot.at + i] = row(a, &pose) + row(b, &v);
                after[n + robot.at + i] = row(c, &pose) + row(d, &v);
            }
        }
        after
    }

    /// ∂L/∂ of the state before, what goes through dv apart, and ∂L/∂v of so many velocities.
    pub(super) fn backward(&self, after: &[f64], n_velocities: usize) -> (Vec<f64>, Vec<f64>) {
        let (n, h) = (self.n, self.h);
        let mut state = after.to_vec();
        for body in self.bodies.iter().filter(|body| body.moves) {
            let vector = |k: usize| DVec3::from_slice(&after[body.at + k..]);
            let turn = body.turn.transpose() * vector(3);
            state[body.at + 3..body.at + 6].copy_from_slice(&turn.to_array());
            let velocity = [h * vector(0), body.by_spin.transpose() * vector(3)];
            for (k, x) in velocity.iter().flat_map(|v| v.to_array()).enumerate() {
                state[n + body.at + k] += x;
            }
        }
        for robot in &self.robots {
            let own = robot.at..robot.at + robot.n;
            let Some([a, b, c, d]) = &robot.tables else {
                for i in own {
                    state[n + i] += h * after[i];
                }
                continue;
            };
            let (pose, v) = (&after[own], &after[n + robot.at..]);
            for j in 0..robot.n {
                let column = |table: &[f64], x: &[f64]| -> f64 {
                    (0..robot.n).map(|i| table[i * robot.n + j] * x[i]).sum()
                };
                state[robot.at + j] = column(a, pose) + column(c, v);
                state[n + robot.at + j] = column(b, pose) + column(d, v);
            }
        }
        let mut dv = vec![0.0; n_velocities];
        for (i, place) in self.places.iter().enumerate() {
            if let Some(place) = place {
                dv[*place] = std::mem::take(&mut state[n + i]);
            }
        }
        (state, dv)
    }
}

/// ∫₀¹ exp(s [θ]×) ds = 1 + (1 − cos)/θ² [θ]× + (θ − sin)/θ³ [θ]×².
fn mean_turn(theta: DVec3) -> DMat3 {
    let square = theta.length_squared();
    let angle = square.sqrt();
    let (b, c) = if angle < 1e-2 {
        (
            0.5 - square / 24.0 + square * square / 720.0,
            1.0 / 6.0 - square / 120.0 + square * square / 5040.0,
        )
    } else {
        let (sin, cos) = angle.sin_cos();
        ((1.0 - cos) / square, (angle - sin) / (square * angle))
    };
    let cross = DMat3::from_cols(
        DVec3::new(0.0, theta.z, -theta.y),
        DVec3::new(-theta.z, 0.0, theta.x),
        DVec3::new(theta.y, -theta.x, 0.0),
    );
    DMat3::IDENTITY + cross * b + cross * cross * c
}

/// The derivative of a robot's pose and velocity after it has moved with v for h seconds.
fn tables(robot: &Robot, v: &[f64], h: f64) -> Result<[Vec<f64>; 4], TreeError> {
    let n = v.len();
    let tree = robot.tree();
    let mut found = [(); 4].map(|()| vec![0.0; n * n]);
    let end = |along: usize, by: f64, is_pose: bool| {
        let (mut q, mut v) = (robot.configuration().to_vec(), v.to_vec());
        if is_pose {
            let mut direction = vec![0.0; n];
            direction[along] = by;
            tree.integrate(&mut q, &direction, 1.0)?;
        } else {
            v[along] += by;
        }
        robot.moved(&q, &v, h)
    };
    for j in 0..n {
        for (is_pose, first) in [(true, 0), (false, 1)] {
            let (plus, minus) = (end(j, STEP, is_pose)?, end(j, -STEP, is_pose)?);
            let pose = tree.difference(&minus.0, &plus.0)?;
            for i in 0..n {
                found[first][i * n + j] = pose[i] / (2.0 * STEP);
                found[first + 2][i * n + j] = (plus.1[i] - minus.1[i]) / (2.0 * STEP);
            }
        }
    }
    Ok(found)
}
