//! Robots from files: URDF and MJCF into a [`Tree`], with joint limits, loop closures, and a list of everything
//! the file says that is not used.
//!
#![doc = include_str!("../../../docs/robots.md")]

mod actuator;
mod checks;
mod closure;
mod equality;
mod geometry;
mod include;
mod mesh;
mod mjcf;
mod shapes;
mod urdf;
mod xml;

use std::path::Path;

pub use actuator::ServoEntry;
pub use closure::{Closure, ClosureKind};
pub use geometry::{Geometry, ShapeEntry};
use glam::DVec3;

use super::{Tree, TreeError};
use crate::index::LinkId;

/// A robot as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Robot {
    /// Name in the file, or empty.
    pub name: String,
    /// `urdf` or `mjcf`.
    pub format: &'static str,
    /// Links and joints.
    pub tree: Tree,
    /// What the file says about each joint that moves, in the order of the links.
    pub joints: Vec<JointEntry>,
    /// Loops that constraint rows must close.
    pub closures: Vec<Closure>,
    /// What its links, and the ground, collide with.
    pub shapes: Vec<ShapeEntry>,
    /// Gravity, where the file gives it \[m/s²\].
    pub gravity: Option<DVec3>,
    /// What is in the file and not used, one entry for each kind of thing.
    pub warnings: Vec<Warning>,
}

/// A joint of a robot: limits and friction are laws of a problem, not of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct JointEntry {
    /// Its name in the file, or empty.
    pub name: String,
    /// The link it carries.
    pub link: LinkId,
    /// Least and largest displacement \[rad\] or \[m\].
    pub range: Option<(f64, f64)>,
    /// Largest force of its motor \[N m\] or \[N\].
    pub effort: Option<f64>,
    /// Largest rate \[rad/s\] or \[m/s\].
    pub speed: Option<f64>,
    /// Dry friction \[N m\] or \[N\].
    pub friction: f64,
    /// What holds it where nobody asks for anything else.
    pub servo: Option<ServoEntry>,
}

/// Something in the file that is not used.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// First line it is met at, from one; zero if not known.
    pub line: usize,
    /// What it is and what happens instead.
    pub text: String,
}

/// Why a robot file is refused: the file, the place in it, and the fault.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{file}:{line}: {element}: {what}")]
pub struct ImportError {
    /// The file's name as given.
    pub file: String,
    /// Line, from one; zero if not known.
    pub line: usize,
    /// The element, as `<link name="arm">`.
    pub element: String,
    /// The fault and its remedy.
    pub what: String,
}

/// How the root of a URDF robot stands on the ground; a URDF file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// Bolted to it.
    #[default]
    Fixed,
    /// Free to move.
    Floating,
}

/// Reads a robot from the text of a URDF or MJCF file, told apart by the root element. Files it names are looked
/// for in `folder`; without one they are not looked for.
pub fn parse(
    text: &str,
    file: &str,
    folder: Option<&Path>,
    base: Base,
) -> Result<Robot, ImportError> {
    let source = xml::Source::new(text, file)?;
    match source.root().tag_name().name() {
        "robot" => urdf::read(&source, folder, base),
        "mujoco" => {
            let whole = include::expand(text, &source, folder)?;
            mjcf::read(&xml::Source::new(&whole, file)?, &whole, folder)
        }
        _ => Err(source.fault(
            source.root(),
            "a robot file starts with <robot> (URDF) or <mujoco> (MJCF)",
        )),
    }
}

/// The error of a tree at the element that made the link.
fn tree_fault(
    source: &xml::Source<'_>,
    error: &TreeError,
    element: impl Fn(LinkId) -> Option<roxmltree::NodeId>,
) -> ImportError {
    let node = error
        .link()
        .and_then(element)
        .and_then(|id| source.document.get_node(id))
        .unwrap_or_else(|| source.root());
    source.fault(node, error.to_string())
}
