//! Taking a world's state out and putting it back, bit for bit: what a run needs to go on as if it had never
//! stopped. Shapes, joints and materials are not part of it; they come from the scene.

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use super::events::Pushing;
use super::reaction::Reactions;
use super::robot::RobotState;
use super::warm::Warm;
use super::{Elapsed, Integrator, MovedBy, World};
use crate::error::TreeError;
use crate::index::{BodyId, JointId};

/// Everything that changes while a world is stepped, warm-start impulses included.
///
/// It holds the time, poses, velocities, rest and sleep of all bodies, the coordinate of each joint, configuration and
/// velocity of each robot, and the impulses of the last step. It does not hold what only a caller changes: gravity, settings, surfaces, drives and frames of
/// joints, forces for the next step, masses and shapes. Those come from the scene when a run is resumed; a program
/// that changes them while it steps must set them again after [`World::restore`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    time: Elapsed,
    names: Vec<String>,
    position: Vec<DVec3>,
    orientation: Vec<DQuat>,
    velocity: Vec<DVec3>,
    spin: Vec<DVec3>,
    rest: Vec<f64>,
    asleep: Vec<bool>,
    joints: Vec<(String, f64)>,
    #[serde(default)]
    robots: Vec<RobotState>,
    /// Bodies and joints that were taken away.
    #[serde(default)]
    gone: Gone,
    /// Colliders that push each other.
    #[serde(default)]
    pushing: Vec<Pushing>,
    /// Where bodies were last looked at closely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reference: Vec<(DVec3, DQuat)>,
    warm: Warm,
}

/// What was taken away, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gone {
    bodies: Vec<BodyId>,
    joints: Vec<JointId>,
}

impl State {
    /// How many bodies it holds.
    pub fn bodies(&self) -> usize {
        self.names.len()
    }

    /// Time simulated when it was taken \[s\].
    pub fn time(&self) -> f64 {
        self.time.seconds
    }
}

/// What a refused step puts back.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    time: Elapsed,
    position: Vec<DVec3>,
    orientation: Vec<DQuat>,
    velocity: Vec<DVec3>,
    spin: Vec<DVec3>,
    rest: Vec<f64>,
    asleep: Vec<bool>,
    coordinates: Vec<f64>,
    robots: Vec<RobotState>,
    reactions: Reactions,
    has_warm: bool,
    warm: Warm,
    reference: Vec<(DVec3, DQuat)>,
}

/// Why a state does not fit a world.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// It belongs to another scene.
    #[error("the state is of another scene: {what}")]
    OtherScene {
        /// What differs.
        what: String,
    },
    /// The state of a robot does not fit it.
    #[error("the state is of another scene: robot \"{robot}\": {error}")]
    Robot {
        /// The robot.
        robot: String,
        /// What does not fit.
        #[source]
        error: TreeError,
    },
    /// It holds a number no world can have.
    #[error("body \"{body}\" has a position, orientation or velocity that is not a finite number")]
    NotFinite {
        /// The body.
        body: String,
    },
}

impl World {
    /// The state before a step, written over an older one. Impulses are only kept where several substeps might spoil
    /// them.
    pub(super) fn snapshot(&self, into: &mut Snapshot) {
        let bodies = &self.bodies;
        into.time = self.time;
        into.position.clone_from(&bodies.position);
        into.orientation.clone_from(&bodies.orientation);
        into.velocity.clone_from(&bodies.velocity);
        into.spin.clone_from(&bodies.spin);
        into.rest.clone_from(&bodies.rest);
        into.asleep.clone_from(&bodies.asleep);
        into.coordinates.clear();
        let coordinates = self.joints.iter().map(|joint| joint.coordinate);
        into.coordinates.extend(coordinates);
        self.copy_robot_states(&mut into.robots);
        self.reactions.copy_to(&mut into.reactions);
        into.has_warm =
            1 < self.settings.substeps || self.settings.integrator == Integrator::Rattle;
        if into.has_warm {
            self.warm.copy_to(&mut into.warm);
        }
        into.reference.clone_from(&self.reference.poses);
    }

    /// The energy that the step under way began with, where it is no part of another.
    pub(super) fn energy_of_the_beginning(&mut self) -> f64 {
        self.swap_with_the_beginning();
        for robot in &self.robots {
            robot.show(&mut self.bodies);
        }
        let energy = self.energy();
        self.swap_with_the_beginning();
        energy
    }

    /// The state that the step under way began with instead of the present one, which is kept in its place.
    fn swap_with_the_beginning(&mut self) {
        let (bodies, before) = (&mut self.bodies, &mut self.spare.before);
        std::mem::swap(&mut bodies.position, &mut before.position);
        std::mem::swap(&mut bodies.orientation, &mut before.orientation);
        std::mem::swap(&mut bodies.velocity, &mut before.velocity);
        std::mem::swap(&mut bodies.spin, &mut before.spin);
        for (robot, state) in self.robots.iter_mut().zip(&mut before.robots) {
            let shown = robot.shown;
            let own = (robot.configuration().to_vec(), robot.velocity().to_vec());
            let (q, v) = std::mem::replace(state, own);
            robot
                .place(&q, &v)
                .expect("a robot takes back a state that it had");
            robot.shown = shown;
        }
    }

    /// Puts the state before a step back.
    pub(super) fn rewind(&mut self, before: Snapshot) {
        self.time = before.time;
        self.bodies.position = before.position;
        self.bodies.orientation = before.orientation;
        self.bodies.velocity = before.velocity;
        self.bodies.spin = before.spin;
        self.bodies.rest = before.rest;
        self.bodies.asleep = before.asleep;
        for (joint, coordinate) in self.joints.iter_mut().zip(before.coordinates) {
            joint.coordinate = coordinate;
        }
        self.restore_robots(&before.robots)
            .expect("a robot takes back a state that it had");
        self.reactions = before.reactions;
        if before.has_warm {
            self.warm = before.warm;
        }
        self.reference.poses = before.reference;
    }

    /// The state as it is now.
    pub fn state(&self) -> State {
        State {
            time: self.time,
            names: self.bodies.name.clone(),
            position: self.bodies.position.clone(),
            orientation: self.bodies.orientation.clone(),
            velocity: self.bodies.velocity.clone(),
            spin: self.bodies.spin.clone(),
            rest: self.bodies.rest.clone(),
            asleep: self.bodies.asleep.clone(),
            joints: self
                .joints
                .iter()
                .map(|joint| (joint.name.clone(), joint.coordinate))
                .collect(),
            robots: self.robot_states(),
            gone: self.gone(),
            pushing: self.pushes.last().to_vec(),
            reference: self.reference.poses.clone(),
            warm: self.warm.clone(),
        }
    }

    /// Puts a state back. The world is unchanged where it does not fit. What had been taken away when the state was taken is
    /// taken away here too; what has been taken away since cannot come back, and such a state is refused.
    pub fn restore(&mut self, state: &State) -> Result<(), StateError> {
        let other = |what: String| Err(StateError::OtherScene { what });
        if state.names != self.bodies.name {
            let found = state.names.len();
            return other(format!(
                "its {found} bodies are not the {} of the world",
                self.bodies.len()
            ));
        }
        let n = state.names.len();
        let lengths = [
            state.position.len(),
            state.orientation.len(),
            state.velocity.len(),
            state.spin.len(),
            state.rest.len(),
            state.asleep.len(),
        ];
        let joints = state.joints.iter().map(|joint| &joint.0);
        let referred = state.reference.iter();
        if lengths.iter().any(|&length| length != n)
            || n < referred.len()
            || !referred
                .clone()
                .all(|(at, turn)| at.is_finite() && turn.is_finite())
            || !joints.eq(self.joints.iter().map(|joint| &joint.name))
            || !state.warm.is_sound()
        {
            return other("its arrays or joints do not match".to_owned());
        }
        self.check_gone(&state.gone)?;
        let mut bodies = self.bodies.clone();
        bodies.position.clone_from(&state.position);
        bodies.orientation.clone_from(&state.orientation);
        bodies.velocity.clone_from(&state.velocity);
        bodies.spin.clone_from(&state.spin);
        bodies.rest.clone_from(&state.rest);
        bodies.asleep.clone_from(&state.asleep);
        if let Some(id) = bodies.not_finite() {
            let body = bodies.name[id.index()].clone();
            return Err(StateError::NotFinite { body });
        }
        self.check_robots(state)?;
        self.bodies = bodies;
        for joint in &state.gone.joints {
            // One that is gone already is none of them.
            self.remove_joint(*joint).ok();
        }
        for body in &state.gone.bodies {
            self.remove_body(*body).ok();
        }
        // Removal wakes neighbours.
        self.bodies.rest.clone_from(&state.rest);
        self.bodies.asleep.clone_from(&state.asleep);
        self.lanes.touch_bodies();
        for (joint, (_, coordinate)) in self.joints.iter_mut().zip(&state.joints) {
            joint.coordinate = *coordinate;
        }
        self.warm = state.warm.clone();
        self.reference.poses.clone_from(&state.reference);
        self.time = state.time;
        self.touches.clear();
        self.pushes.restore(&state.pushing);
        self.sensors.clear();
        Ok(())
    }

    /// What was taken away so far.
    fn gone(&self) -> Gone {
        let joints = (0..self.joints.len() as u32).map(JointId);
        Gone {
            bodies: self.bodies.ids().filter(|id| !self.has_body(*id)).collect(),
            joints: joints.filter(|id| !self.has_joint(*id)).collect(),
        }
    }

    /// Refuses a state that holds what was taken away since, or that misses what cannot be taken away.
    fn check_gone(&self, gone: &Gone) -> Result<(), StateError> {
        let other = |what: String| Err(StateError::OtherScene { what });
        let now = self.gone();
        if let Some(id) = now
            .bodies
            .iter()
            .find(|id| gone.bodies.binary_search(id).is_err())
        {
            let name = &self.bodies.name[id.index()];
            return other(format!(
                "body \"{name}\" was taken away since; build the world again"
            ));
        }
        if let Some(id) = now
            .joints
            .iter()
            .find(|id| gone.joints.binary_search(id).is_err())
        {
            let name = &self.joints[id.index()].name;
            return other(format!(
                "joint \"{name}\" was taken away since; build the world again"
            ));
        }
        let removable =
            |id: &BodyId| id.index() < self.bodies.len() && self.link_of(id.index()).is_none();
        let known = |id: &JointId| id.index() < self.joints.len();
        if !(gone.bodies.iter().all(removable) && gone.joints.iter().all(known)) {
            return other("it lacks bodies or joints that cannot be taken away".to_owned());
        }
        Ok(())
    }

    /// Puts the states of robots back; none is changed where one does not fit.
    fn check_robots(&mut self, state: &State) -> Result<(), StateError> {
        let before = self.robot_states();
        if before.len() != state.robots.len() {
            return Err(StateError::OtherScene {
                what: format!(
                    "it has {} robots and the world {}",
                    state.robots.len(),
                    before.len()
                ),
            });
        }
        let restored = self.restore_robots(&state.robots);
        if restored.is_err() {
            self.restore_robots(&before)
                .expect("a robot takes back a state that it had");
        }
        restored
    }

    /// A hash of all poses and velocities: equal bits, equal hash, on every machine.
    pub fn state_hash(&self) -> u64 {
        let mut hash: u64 = 0xCBF2_9CE4_8422_2325;
        let mut add = |x: f64| {
            for byte in x.to_bits().to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
            }
        };
        for robot in &self.robots {
            let state = robot.configuration().iter().chain(robot.velocity());
            state.copied().for_each(&mut add);
        }
        for i in 0..self.bodies.len() {
            if matches!(
                self.bodies.motion[i],
                MovedBy::Static | MovedBy::Link | MovedBy::Gone
            ) {
                continue;
            }
            let bodies = &self.bodies;
            bodies.position[i].to_array().into_iter().for_each(&mut add);
            let turn = bodies.orientation[i].to_array();
            turn.into_iter().for_each(&mut add);
            for vector in [bodies.velocity[i], bodies.spin[i]] {
                vector.to_array().into_iter().for_each(&mut add);
            }
        }
        hash
    }
}
