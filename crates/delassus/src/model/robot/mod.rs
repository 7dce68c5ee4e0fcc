//! Robots from files: URDF and MJCF into a [`RobotModel`], with a list of everything the file says that is not used.
//!
#![doc = include_str!("../../../docs/robots.md")]

mod mend;
mod mjcf;
mod picture;
mod solid;
mod urdf;
mod xml;

use super::{hull, mesh};
use std::path::Path;

use crate::index::LinkId;
use crate::tree::TreeError;
use crate::world::RobotModel;

/// A robot as read.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotFile {
    /// What a world builds it from.
    pub robot: RobotModel,
    /// `urdf` or `mjcf`.
    pub format: &'static str,
    /// What is in the file and not used, one entry for each kind of thing.
    pub warnings: Vec<Warning>,
}

impl RobotFile {
    /// What acts in the file and is left out.
    pub fn lost(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.iter().filter(|warning| warning.lost)
    }
}

/// Something in the file that is not used, or not as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// The file it stands in, as it is named.
    pub file: String,
    /// First line it is met at, from one; zero if not known.
    pub line: usize,
    /// What it is and what happens instead.
    pub text: String,
    /// Whether the robot would move otherwise with it: only where [`Loss::Allow`] was asked for.
    pub lost: bool,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lost = if self.lost { "left out: " } else { "" };
        write!(f, "{}:{}: {lost}{}", self.file, self.line, self.text)
    }
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
    #[source]
    pub what: ImportFault,
}

/// What is wrong at a place of a robot file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportFault {
    /// The links and joints of the file are no tree that can move.
    #[error(transparent)]
    Tree(Box<TreeError>),
    /// Something that acts in the file and is not simulated.
    #[error("{what} is not simulated; leave it out of the file, or read the file with loss")]
    NotSimulated {
        /// What it is.
        what: String,
    },
    /// Something else, in words.
    #[error("{0}")]
    Text(String),
}

impl From<TreeError> for ImportFault {
    fn from(error: TreeError) -> ImportFault {
        ImportFault::Tree(Box::new(error))
    }
}

impl From<String> for ImportFault {
    fn from(text: String) -> ImportFault {
        ImportFault::Text(text)
    }
}

impl From<&str> for ImportFault {
    fn from(text: &str) -> ImportFault {
        ImportFault::Text(text.to_owned())
    }
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

/// What to do with a file that holds something which acts and is not simulated, such as soft bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// Refuse it, and say what it is.
    #[default]
    Refuse,
    /// Leave it out, and list it among the warnings.
    Allow,
}

/// How a robot file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How the root of a URDF robot stands.
    pub base: Base,
    /// Whether something may be left out.
    pub loss: Loss,
}

impl From<Base> for Options {
    fn from(base: Base) -> Options {
        Options {
            base,
            ..Options::default()
        }
    }
}

/// Reads a robot from the text of a URDF or MJCF file, told apart by the root element. Files it names are looked
/// for in `folder`; without one they are not looked for.
pub fn parse(
    text: &str,
    file: &str,
    folder: Option<&Path>,
    options: impl Into<Options>,
) -> Result<RobotFile, ImportError> {
    let Options { base, loss } = options.into();
    let text = mend::mend(text);
    let source = xml::Source::new(&text, file)?;
    match source.root().tag_name().name() {
        "robot" => urdf::read(&source, folder, base),
        "mujoco" => mjcf::read(&source, file, folder, loss),
        _ => Err(source.fault(
            source.root(),
            "a robot file starts with <robot> (URDF) or <mujoco> (MJCF)",
        )),
    }
}

/// The error of a tree at the element that made the link.
fn tree_fault(
    source: &xml::Source<'_>,
    error: TreeError,
    element: impl Fn(LinkId) -> Option<roxmltree::NodeId>,
) -> ImportError {
    let node = error
        .link()
        .and_then(element)
        .and_then(|id| source.document.get_node(id))
        .unwrap_or_else(|| source.root());
    source.fault(node, error)
}
