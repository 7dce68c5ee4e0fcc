//! MJCF: what the file says, resolved as MuJoCo resolves it, into bodies, joints, shapes and what acts on them.
//!
//! First everything that stands for something else is put in place ([`expand`]), then attributes are read through
//! their default classes ([`defaults`]), then bodies are walked from the world outwards.

mod actuator;
mod assets;
mod body;
mod bounds;
mod checks;
mod compiler;
mod contact;
mod defaults;
mod element;
mod equality;
mod expand;
mod geom;
mod inertia;
mod joint;
mod keyframe;
mod lengthrange;
mod pose;
mod pull;
mod sensor;
mod tendon;
mod transmission;

use std::collections::HashMap;
use std::path::Path;

use self::assets::Assets;
use self::body::Seat;
use self::compiler::{Compiler, Options};
use self::defaults::Defaults;
use self::element::{Element, View};
use self::geom::Geom;
use self::joint::Joint;
use super::xml::Source;
use super::{ImportError, ImportFault, Loss, RobotFile, Warning};
use crate::index::LinkId;
use crate::tree::spatial::Pose;
use crate::tree::{Link, Tree, TreeError};
use crate::world::RobotModel;

pub(super) fn read(
    source: &Source<'_>,
    file: &str,
    folder: Option<&Path>,
    loss: Loss,
) -> Result<RobotFile, ImportError> {
    let (root, scopes) = expand::expand(source, file, folder)?;
    let defaults = Defaults::read(&root)?;
    let mut reader = Reader {
        root: &root,
        scopes: &scopes,
        defaults: &defaults,
        options: Options::read(&root)?,
        assets: Assets::read(&root, &defaults)?,
        folder,
        links: Vec::new(),
        owners: Vec::new(),
        seats: vec![Seat::WORLD],
        joints: Vec::new(),
        geoms: Vec::new(),
        sites: HashMap::new(),
        gravcomp: Vec::new(),
        warnings: Vec::new(),
        losses: Vec::new(),
    };
    checks::check_names(&root)?;
    reader.list_unused();
    reader.add_world()?;
    if loss == Loss::Refuse && !reader.losses.is_empty() {
        // Before others are blamed for naming what is not there.
        return Err(reader.losses.swap_remove(0));
    }
    reader.finish(loss)
}

/// A model on its way from elements to links.
struct Reader<'a> {
    root: &'a Element,
    scopes: &'a [Compiler],
    defaults: &'a Defaults<'a>,
    options: Options,
    assets: Assets<'a>,
    folder: Option<&'a Path>,
    links: Vec<Link>,
    /// The element each link was made for.
    owners: Vec<&'a Element>,
    /// Bodies; the first is the world.
    seats: Vec<Seat<'a>>,
    joints: Vec<Joint<'a>>,
    /// Geoms with their bodies.
    geoms: Vec<(usize, Geom<'a>)>,
    /// Bodies and frames of sites, by name.
    sites: HashMap<&'a str, (usize, Pose)>,
    /// Shares of their weight that links are relieved of.
    gravcomp: Vec<(LinkId, f64)>,
    warnings: Vec<Warning>,
    losses: Vec<ImportError>,
}

impl<'a> Reader<'a> {
    fn compiler(&self, element: &Element) -> &'a Compiler {
        &self.scopes[element.scope]
    }

    /// Something that is said once, where it is met first.
    fn note(&mut self, element: &Element, text: String) {
        if self.warnings.iter().all(|warning| warning.text != text) {
            self.warnings.push(Warning {
                file: element.file().to_owned(),
                line: element.line,
                text,
                lost: false,
            });
        }
    }

    /// Something that acts in the file and cannot be simulated.
    fn lose(&mut self, element: &Element, what: String) {
        let known = |error: &ImportError| match &error.what {
            ImportFault::NotSimulated { what: old } => *old == what,
            _ => false,
        };
        if !self.losses.iter().any(known) {
            let fault = element.fault(ImportFault::NotSimulated { what });
            self.losses.push(fault);
        }
    }

    /// Springs and dampers whose force is no straight line: further numbers of `stiffness` and `damping`.
    fn lose_curves(&mut self, view: &View<'a>) -> Result<(), ImportError> {
        for name in ["stiffness", "damping"] {
            let further = &view.padded::<5>(name, [0.0; 5])?[1..];
            if further.iter().any(|number| *number != 0.0) {
                let tag = &view.element.tag;
                let what = format!("<{tag}>, {name} of more than one number,");
                self.lose(view.element, what);
            }
        }
        Ok(())
    }

    /// A body by name.
    fn body(&self, name: &str) -> Option<&Seat<'a>> {
        if name == "world" {
            return self.seats.first();
        }
        self.seats.iter().skip(1).find(|seat| seat.name == name)
    }

    /// A joint by name.
    fn joint(&self, name: &str) -> Option<&Joint<'a>> {
        self.joints.iter().find(|joint| joint.model.name == name)
    }

    fn tree_fault(&self, error: TreeError) -> ImportError {
        let owner = error.link().and_then(|link| self.owners.get(link.index()));
        owner.unwrap_or(&self.root).fault(error)
    }

    fn finish(mut self, loss: Loss) -> Result<RobotFile, ImportError> {
        self.set_total_mass();
        let links = std::mem::take(&mut self.links);
        let mut tree = Tree::new(links).map_err(|error| self.tree_fault(error))?;
        tree = self.soften(tree)?;
        let mut tendons = self.tendons(&tree)?;
        let paths = self.add_actuators(&tree, &mut tendons)?;
        let closures = self.closures(&tree, &tendons)?;
        tendons.extend(paths);
        let (shapes, pairs) = self.shapes()?;
        for (mesh, what) in self.assets.cut_short() {
            self.note(mesh, format!("<mesh>: {what}"));
        }
        let apart = self.apart()?;
        let keyframes = self.keyframes(&tree)?;
        let relief = self.relief();
        let sensors = self.sensors()?;
        let robot = RobotModel {
            joints: self
                .joints
                .iter()
                .map(|joint| joint.model.clone())
                .collect(),
            closures,
            tendons: tendons.into_iter().filter(|t| t.acts()).collect(),
            shapes,
            pairs,
            apart,
            keyframes,
            self_collide: true,
            gravcomp: self.gravcomp,
            relief,
            sensors,
            gravity: Some(self.options.gravity),
            timestep: self.options.timestep,
            ..RobotModel::new(self.root.attribute("model").unwrap_or_default(), tree)
        };
        let mut losses = self.losses.into_iter();
        if loss == Loss::Refuse {
            losses.next().map_or(Ok(()), Err)?;
        }
        let mut warnings: Vec<Warning> = losses.map(Warning::from).collect();
        warnings.append(&mut self.warnings);
        Ok(RobotFile {
            robot,
            format: "mjcf",
            warnings,
        })
    }
}

impl From<ImportError> for Warning {
    /// What is left out although it acts.
    fn from(error: ImportError) -> Warning {
        let what = match error.what {
            ImportFault::NotSimulated { what } => what,
            other => other.to_string(),
        };
        Warning {
            file: error.file,
            line: error.line,
            text: format!("{}: {what} is not simulated", error.element),
            lost: true,
        }
    }
}
