//! A robot described plainly: what [`WorldBuilder::add_robot`](crate::WorldBuilder::add_robot) takes, from a file or
//! from a program.

use glam::DVec3;

use super::Closure;
use crate::collide::Shape;
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
    /// What its links, and the ground, collide with.
    pub shapes: Vec<ShapeModel>,
    /// Gravity, where the robot comes with one \[m/s²\].
    pub gravity: Option<DVec3>,
}

/// A joint of a robot: limits and friction are laws of a problem, not of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct JointModel {
    /// Its name, or empty.
    pub name: String,
    /// The link it carries.
    pub link: LinkId,
    /// Least and largest displacement \[rad\] or \[m\].
    pub range: Option<[f64; 2]>,
    /// Largest force of its motor \[N m\] or \[N\].
    pub effort: Option<f64>,
    /// Largest rate \[rad/s\] or \[m/s\].
    pub speed: Option<f64>,
    /// Dry friction \[N m\] or \[N\].
    pub friction: f64,
    /// What holds it until it is driven otherwise.
    pub servo: Option<Servo>,
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
            servo: None,
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
}
