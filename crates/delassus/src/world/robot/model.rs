//! A robot described plainly: what [`WorldBuilder::add_robot`](crate::WorldBuilder::add_robot) takes, from a file or
//! from a program.

use glam::DVec3;

use super::{Closure, Tendon};
use crate::collide::{Groups, Shape};
use crate::index::LinkId;
use crate::tree::Tree;
use crate::tree::spatial::Pose;
use crate::world::{Servo, Surface};

/// A robot before it stands in a world.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotModel {
    /// Its own name, or empty; in a world it has that of its [`Placement`](crate::world::Placement).
    pub name: String,
    /// Links and joints.
    pub tree: Tree,
    /// Limits, motor and friction of each joint that moves, in the order of the links.
    pub joints: Vec<JointModel>,
    /// Loops that constraint rows must close.
    pub closures: Vec<Closure>,
    /// Tendons that have limits, springs or friction of their own, and what actuators push besides joints.
    pub tendons: Vec<Tendon>,
    /// What its links, and the ground, collide with.
    pub shapes: Vec<ShapeModel>,
    /// Two shapes, by position in the list, whose contact has a surface of its own.
    pub pairs: Vec<(usize, usize, Surface)>,
    /// Links that never touch each other; `None` is the ground.
    pub apart: Vec<[Option<LinkId>; 2]>,
    /// Whether its links may touch each other, unless a joint joins them.
    pub self_collide: bool,
    /// Links that are relieved of a share of their weight.
    pub gravcomp: Vec<(LinkId, f64)>,
    /// Joints, by the links they carry, whose actuators carry that weight: least and largest force along each dof
    /// \[N m\] or \[N\].
    pub relief: Vec<(LinkId, [f64; 2])>,
    /// States that it comes with.
    pub keyframes: Vec<Keyframe>,
    /// Sensors that it comes with, for [`World::mount_sensors`](crate::World::mount_sensors).
    pub sensors: Vec<SensorModel>,
    /// Gravity, where the robot comes with one \[m/s²\].
    pub gravity: Option<DVec3>,
    /// Step, where the robot comes with one \[s\].
    pub timestep: Option<f64>,
}

impl RobotModel {
    /// A tree that nothing acts on and nothing touches.
    pub fn new(name: impl Into<String>, tree: Tree) -> RobotModel {
        RobotModel {
            name: name.into(),
            tree,
            joints: Vec::new(),
            closures: Vec::new(),
            tendons: Vec::new(),
            shapes: Vec::new(),
            pairs: Vec::new(),
            apart: Vec::new(),
            self_collide: false,
            gravcomp: Vec::new(),
            relief: Vec::new(),
            keyframes: Vec::new(),
            sensors: Vec::new(),
            gravity: None,
            timestep: None,
        }
    }
}

/// A state with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyframe {
    /// Its name, or empty.
    pub name: String,
    /// Configuration, as [`Tree`] orders it.
    pub q: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
}

/// A sensor on a link, or of a joint.
#[derive(Clone, Debug, PartialEq)]
pub struct SensorModel {
    /// Its name, or empty.
    pub name: String,
    /// What it measures.
    pub kind: SensorKind,
}

/// What a sensor of a robot measures; poses are in the frame of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SensorKind {
    /// Acceleration and angular velocity.
    Imu {
        /// The link.
        link: LinkId,
        /// Where it sits.
        pose: Pose,
    },
    /// Pose and velocity.
    Frame {
        /// The link.
        link: LinkId,
        /// Where it sits.
        pose: Pose,
    },
    /// Position, speed and force of a joint, by position in [`RobotModel::joints`].
    Joint(usize),
    /// Distance along its z axis.
    Distance {
        /// The link.
        link: LinkId,
        /// Where it sits.
        pose: Pose,
        /// How far it sees \[m\].
        reach: f64,
    },
}

/// A joint of a robot: limits and friction are laws of a problem, not of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct JointModel {
    /// Its name, or empty.
    pub name: String,
    /// The link it carries.
    pub link: LinkId,
    /// Least and largest displacement \[rad\] or \[m\]; of a ball the second is its largest angle.
    pub range: Option<[f64; 2]>,
    /// Largest force of its motor \[N m\] or \[N\].
    pub effort: Option<f64>,
    /// Largest rate \[rad/s\] or \[m/s\].
    pub speed: Option<f64>,
    /// Dry friction \[N m\] or \[N\].
    pub friction: f64,
    /// Of a spring \[N m/rad\] or \[N/m\].
    pub stiffness: f64,
    /// Displacement at which the spring rests; a ball's rests where it is not turned \[rad\] or \[m\].
    pub rest: f64,
    /// What holds it until it is driven otherwise.
    pub servo: Option<Servo>,
    /// A force that always acts along it \[N m\] or \[N\].
    pub push: f64,
}

impl JointModel {
    /// A joint that moves without bounds, friction or servo.
    pub fn free(name: impl Into<String>, link: LinkId) -> JointModel {
        JointModel {
            name: name.into(),
            link,
            range: None,
            effort: None,
            speed: None,
            friction: 0.0,
            stiffness: 0.0,
            rest: 0.0,
            servo: None,
            push: 0.0,
        }
    }
}

/// A shape on a link, or on the ground.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeModel {
    /// The link that carries it; `None` is the ground.
    pub link: Option<LinkId>,
    /// Its frame in that of the link.
    pub pose: Pose,
    /// What it is.
    pub shape: Shape,
    /// Its surface, where it has its own.
    pub surface: Option<Surface>,
    /// How its surface and another's make one, where it is not as between materials of a scene.
    pub rule: Option<ContactRule>,
    /// Which others it collides with.
    pub groups: Groups,
}

impl ShapeModel {
    /// A shape that touches everything, with the material of its robot.
    pub fn new(link: Option<LinkId>, pose: Pose, shape: Shape) -> ShapeModel {
        ShapeModel {
            link,
            pose,
            shape,
            surface: None,
            rule: None,
            groups: Groups::default(),
        }
    }
}

/// The contact numbers of a geom of MuJoCo: of two geoms that of the higher priority counts, or the larger numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactRule {
    /// Sliding, spinning \[m\] and rolling \[m\].
    pub friction: [f64; 3],
    /// How many of them count: none (1), the first (3), two (4) or all (6).
    pub condim: u8,
    /// Which of two goes before.
    pub priority: i64,
}

impl ContactRule {
    /// The surface of these numbers alone.
    pub fn surface(&self) -> Surface {
        let [slide, spin, roll] = self.friction;
        let counts = |from: u8, mu: f64| if from <= self.condim { mu } else { 0.0 };
        Surface {
            friction: counts(3, slide),
            spinning: counts(4, spin),
            rolling: counts(6, roll),
            ..Surface::default()
        }
    }

    /// What two make together.
    pub fn mixed(a: ContactRule, b: ContactRule) -> ContactRule {
        match a.priority.cmp(&b.priority) {
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Equal => ContactRule {
                friction: [0, 1, 2].map(|k| a.friction[k].max(b.friction[k])),
                condim: a.condim.max(b.condim),
                priority: a.priority,
            },
        }
    }
}
