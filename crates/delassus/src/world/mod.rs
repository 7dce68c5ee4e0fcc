//! A world of rigid bodies, joints and contacts, stepped by any solver.
//!
//! One step: find contacts, assemble a [`Problem`](crate::Problem), start from the last step's impulses, solve, move the bodies.
//! The problem of any step can be taken out, saved and solved elsewhere: [`World::problem`].
//!
#![doc = include_str!("../../docs/world.md")]

mod agree;
mod assemble;
mod batch;
mod bodies;
mod bounce;
mod builder;
mod calm;
mod contacts;
mod differentiate;
mod edit;
mod events;
mod gain;
mod handle;
mod integrate;
mod joint;
mod lanes;
mod load;
mod look;
mod names;
mod outlook;
mod query;
mod rattle;
mod reaction;
mod reference;
mod robot;
mod rows;
mod scene;
mod sensor;
mod shorthand;
mod sleep;
mod state;
mod step;
mod stiffness;
mod touches;
mod warm;

use glam::DVec3;

pub use batch::Batch;
pub use bodies::{Bodies, Body, MovedBy};
pub use builder::{Attach, MaterialId, WorldBuilder};
pub use differentiate::{
    Differentiate, DifferentiateError, Input, Layout, StepChange, StepDerivative,
};
pub use events::{ContactChange, ContactEvent};
pub use integrate::{Gyroscopic, Probe};
pub use joint::{Drive, Frame, GearTerm, Joint, JointAxis, JointKind, Motor, Servo};
pub use load::{Load, LoadPoint};
pub use look::{Camera, Look};
pub use query::{Filter, Overlap, Queries, QueryError, Ray, RayHit};
pub use rattle::Integrator;
pub use reaction::Reaction;
use robot::RobotLink;
pub use robot::{
    Anchor, Closure, ClosureKind, ContactRule, Control, Cord, Effort, JointModel, Keyframe, Mount,
    Muscle, Placement, Posed, Robot, RobotJoint, RobotModel, SensorKind, SensorModel, ShapeModel,
    Swing, Tendon, Transmission, Waypoint, Wrap, WrapSurface,
};
pub use rows::JointBody;
pub use scene::{RunDefaults, Scene};
pub use sensor::{Reading, Sensor, SensorError, SensorId};
pub use sleep::Sleep;
pub use state::{State, StateError};
pub use step::{Clock, Step, StepError};
pub use stiffness::GeometricStiffness;
pub use touches::Touch;
pub use warm::{JointPart, Key, RobotItem};

use crate::collide::{CollideError, Collider, Collisions, ShapeError};
use crate::error::{BuildError, TreeError};
use crate::index::{BodyId, JointId, RobotId};
use crate::problem::Solution;
use touches::Touches;
use warm::Warm;

/// Which friction law contacts get. Those with rolling or spinning friction slide by the cone under `Box` and `Facets`
/// too: no other law has rows of spin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrictionModel {
    /// Coulomb's cone.
    #[default]
    Cone,
    /// Two independent tangents.
    Box,
    /// Coulomb's cone; sliding, rolling and spinning share one ellipsoid, while under `Cone` each has its own bound.
    Ellipsoid,
    /// A cone of so many directions.
    Facets(u32),
}

/// How a world is stepped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Steps a call to [`World::step`] is divided into.
    pub substeps: u32,
    /// How time is taken: at first or second order.
    pub integrator: Integrator,
    /// How spinning bodies are treated.
    pub gyroscopic: Gyroscopic,
    /// Which bodies see the pull of their joints at the new pose, so that taut chains with heavy ends stay stable at
    /// first order.
    pub geometric_stiffness: GeometricStiffness,
    /// Which law contacts obey.
    pub friction: FrictionModel,
    /// Compliance of contacts \[m/N\].
    pub contact_compliance: f64,
    /// Damping time of contacts in steps: penetration is pushed out by 4/(1 + 4·this) per step. Larger values
    /// leave a little more penetration and much less noise when solves are cut short.
    pub contact_damping: f64,
    /// Approach speed below which contacts do not bounce \[m/s\].
    pub restitution_threshold: f64,
    /// Bodies at rest fall asleep; off where `None`.
    pub sleep: Option<Sleep>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            substeps: 1,
            integrator: Integrator::default(),
            gyroscopic: Gyroscopic::default(),
            geometric_stiffness: GeometricStiffness::default(),
            friction: FrictionModel::default(),
            contact_compliance: 0.0,
            contact_damping: 5.0,
            restitution_threshold: 0.1,
            sleep: None,
        }
    }
}

/// Friction and restitution of a surface, or of a pair of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// Coefficient of friction.
    pub friction: f64,
    /// Coefficient of restitution in [0, 1].
    pub restitution: f64,
    /// Coefficient of rolling friction: the largest torque against rolling over the normal force \[m\].
    pub rolling: f64,
    /// Coefficient of spinning friction: the largest torque about the normal over the normal force \[m\].
    pub spinning: f64,
}

impl Default for Surface {
    /// Friction 0.5 and nothing else.
    fn default() -> Surface {
        Surface {
            friction: 0.5,
            restitution: 0.0,
            rolling: 0.0,
            spinning: 0.0,
        }
    }
}

impl Surface {
    /// What two surfaces make together: √(μ_a μ_b), and the larger of the two of everything else.
    pub fn mixed(a: Surface, b: Surface) -> Surface {
        Surface {
            friction: (a.friction * b.friction).sqrt(),
            restitution: a.restitution.max(b.restitution),
            rolling: a.rolling.max(b.rolling),
            spinning: a.spinning.max(b.spinning),
        }
    }

    /// Whether rolling or spinning is resisted.
    pub fn resists_spin(&self) -> bool {
        0.0 < self.rolling || 0.0 < self.spinning
    }
}

/// Why a world cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A clock that shows no number.
    #[error("the time is {seconds} s; it must be finite")]
    BadTime {
        /// What it should show \[s\].
        seconds: f64,
    },
    /// A body that cannot be.
    #[error("body \"{name}\": {what}")]
    Body {
        /// Its name.
        name: String,
        /// What is wrong and how to mend it.
        what: String,
    },
    /// A joint that cannot be.
    #[error("joint \"{name}\": {what}")]
    Joint {
        /// Its name.
        name: String,
        /// What is wrong and how to mend it.
        what: String,
    },
    /// A body whose mass or inertia cannot be.
    #[error("body \"{name}\": {error}")]
    BodyMass {
        /// Its name.
        name: String,
        /// What is wrong with it.
        #[source]
        error: BuildError,
    },
    /// A body that was never added.
    #[error("there is no {body}; {count} were added, counted from 0")]
    NoBody {
        /// The body asked for.
        body: BodyId,
        /// How many there are.
        count: usize,
    },
    /// A body that was taken away.
    #[error("{body}, \"{name}\", was taken away; add it again and use the new id")]
    BodyGone {
        /// The body asked for.
        body: BodyId,
        /// The name it had.
        name: String,
    },
    /// A joint that was never added.
    #[error("there is no {joint}; {count} were added, counted from 0")]
    NoJoint {
        /// The joint asked for.
        joint: JointId,
        /// How many there are.
        count: usize,
    },
    /// A joint that was taken away.
    #[error("{joint}, \"{name}\", was taken away; add it again and use the new id")]
    JointGone {
        /// The joint asked for.
        joint: JointId,
        /// The name it had.
        name: String,
    },
    /// A robot that was never added.
    #[error("there is no {robot}; {count} were added, counted from 0")]
    UnknownRobot {
        /// The robot asked for.
        robot: RobotId,
        /// How many there are.
        count: usize,
    },
    /// A robot whose tree or state cannot be.
    #[error("robot \"{name}\": {error}")]
    RobotTree {
        /// Its name.
        name: String,
        /// What is wrong with it.
        #[source]
        error: TreeError,
    },
    /// A robot that cannot be.
    #[error("robot \"{name}\": {what}")]
    Robot {
        /// Its name.
        name: String,
        /// What is wrong and how to mend it.
        what: String,
    },
    /// A collider that cannot be.
    #[error("collider {index} of body \"{body}\": {what}")]
    Collider {
        /// Which collider.
        index: usize,
        /// Its body.
        body: String,
        /// What is wrong and how to mend it.
        what: String,
    },
    /// A collider on a body that was never added.
    #[error("collider {index}: there is no {body}, only {count}; add the body first")]
    UnknownBody {
        /// Which collider.
        index: usize,
        /// The body asked for.
        body: BodyId,
        /// How many there are.
        count: usize,
    },
    /// A collider whose shape cannot be.
    #[error("collider {index} of body \"{body}\": {error}")]
    Shape {
        /// Which collider.
        index: usize,
        /// Its body.
        body: String,
        /// What is wrong with it.
        #[source]
        error: ShapeError,
    },
    /// Colliders that cannot be used together.
    #[error(transparent)]
    Collide(#[from] CollideError),
}

/// Bodies, joints, colliders and what is remembered between steps. A copy goes on with the same bits; it has memory of its
/// own.
#[derive(Clone, Debug)]
pub struct World {
    /// Gravity \[m/s²\].
    pub gravity: DVec3,
    /// How it is stepped.
    pub settings: Settings,
    /// How it is shown.
    pub look: Look,
    bodies: Bodies,
    joints: Vec<Joint>,
    loads: Vec<Load>,
    robots: Vec<Robot>,
    /// The link that each body is, if it is one.
    link_of: Vec<Option<RobotLink>>,
    colliders: Vec<Collider>,
    surfaces: Vec<Surface>,
    pairs: Vec<((u32, u32), Surface)>,
    materials: Vec<u32>,
    /// Largest distance of a body's colliders from its centre \[m\].
    radius: Vec<f64>,
    /// Body pairs that joints keep from colliding.
    joined: contacts::Joined,
    /// Links of robots that do not collide.
    apart: Vec<(u32, u32)>,
    collisions: Collisions,
    /// Whether the groups let any two colliders meet.
    may_meet: bool,
    reference: reference::Reference,
    warm: Warm,
    touches: Touches,
    pushes: events::Pushes,
    sensors: sensor::Sensors,
    time: Elapsed,
    /// Memory of the last step.
    spare: Spare,
    factors: rattle::Factors,
    reactions: reaction::Reactions,
    lanes: lanes::Lanes,
}

/// What a step needs and gives back: memory for its problem, the bodies that may touch, the answer, the state before.
#[derive(Debug, Default)]
struct Spare {
    room: assemble::Room,
    near: contacts::Near,
    solution: Solution,
    before: state::Snapshot,
    reactions: reaction::Reactions,
    small: calm::Small,
    /// How often the restitution of the step under way was halved.
    halvings: u32,
}

impl Clone for Spare {
    /// Memory is not worth a copy.
    fn clone(&self) -> Spare {
        Spare::default()
    }
}

/// Time simulated, with what each sum loses carried to the next: ten thousand steps of 0.5 ms are 5 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Elapsed {
    seconds: f64,
    lost: f64,
}

impl Elapsed {
    /// Kahan's sum: t ← t + (h − c), and c ← what the sum has rounded away.
    fn add(&mut self, h: f64) {
        let term = h - self.lost;
        let sum = self.seconds + term;
        self.lost = (sum - self.seconds) - term;
        self.seconds = sum;
    }
}

impl World {
    /// Bodies.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Bodies, to set velocities, forces and poses between steps.
    pub fn bodies_mut(&mut self) -> &mut Bodies {
        self.lanes.touch_bodies();
        for robot in &mut self.robots {
            robot.shown = false;
        }
        &mut self.bodies
    }

    /// Joints.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }

    /// A joint's drive and frames, to change between steps. Its bodies wake: a new drive is felt at once. `None` where it
    /// was taken away.
    pub fn joint_mut(&mut self, id: JointId) -> Option<&mut Joint> {
        if !self.has_joint(id) {
            return None;
        }
        for link in self.joints.get(id.index())?.links() {
            self.wake(link);
        }
        self.lanes.touch_joints();
        self.joints.get_mut(id.index())
    }

    /// Colliders.
    pub fn colliders(&self) -> &[Collider] {
        &self.colliders
    }

    /// Contacts of the last step with their impulses, in a fixed order.
    pub fn touches(&self) -> &[Touch] {
        self.touches.list()
    }

    /// Impulses of a joint's held rows over the last substep, on its first body, in the order of its rows [N s or
    /// N m s]: for a ball, hinge, universal or fixed joint the first three act at its point along the world's axes.
    /// Empty before the first step and where none of its bodies can move.
    pub fn joint_impulse(&self, id: JointId) -> &[f64] {
        if !self.has_joint(id) {
            return &[];
        }
        let part = JointPart::Held;
        self.warm.impulse(Key::Joint { joint: id, part })
    }

    /// Impulses of rows of a robot's joint, loop or tendon over the last substep [N s or N m s]; empty before the
    /// first step and where it has no such rows.
    pub fn robot_impulse(&self, robot: RobotId, item: RobotItem, part: JointPart) -> &[f64] {
        self.warm.impulse(Key::Robot { robot, item, part })
    }

    /// Length of the last substep \[s\]; zero before the first. An impulse over it is a mean force.
    pub fn last_substep(&self) -> f64 {
        self.warm.step()
    }

    /// Surfaces of the materials in the order they were added, behind the default one; they may be
    /// changed between steps. Pairs with their own surface keep it.
    pub fn surfaces_mut(&mut self) -> &mut [Surface] {
        &mut self.surfaces
    }

    /// Time simulated so far \[s\].
    pub fn time(&self) -> f64 {
        self.time.seconds
    }

    /// Sets the clock, which forces over time go by \[s\].
    pub fn set_time(&mut self, seconds: f64) -> Result<(), WorldError> {
        if !seconds.is_finite() {
            return Err(WorldError::BadTime { seconds });
        }
        self.time = Elapsed { seconds, lost: 0.0 };
        Ok(())
    }
}
