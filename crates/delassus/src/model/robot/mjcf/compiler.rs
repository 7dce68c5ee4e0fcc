//! `<compiler>`, `<option>` and what else holds for the whole file.

use std::path::{Path, PathBuf};

use glam::DVec3;

use super::super::ImportError;
use super::element::{Element, Tristate, View};

/// What the compiler is told.
#[derive(Clone, Debug)]
pub(super) struct Compiler {
    degrees: bool,
    /// Letters of the axes of `euler`.
    pub(super) euler: [u8; 3],
    pub(super) autolimits: bool,
    /// Folders of meshes and of everything else.
    mesh_folder: Option<String>,
    asset_folder: Option<String>,
    strip_path: bool,
    pub(super) inertia_from_geom: Tristate,
    /// Groups whose geoms have mass.
    pub(super) groups: [i64; 2],
    pub(super) bound_mass: f64,
    pub(super) bound_inertia: f64,
    pub(super) balance: bool,
    pub(super) total_mass: f64,
    pub(super) fit_boxes: bool,
    /// Whether frames of floating bodies are turned into their principal axes.
    pub(super) align_free: bool,
}

impl Default for Compiler {
    fn default() -> Compiler {
        Compiler {
            degrees: true,
            euler: *b"xyz",
            autolimits: true,
            mesh_folder: None,
            asset_folder: None,
            strip_path: false,
            inertia_from_geom: Tristate::Auto,
            groups: [0, 5],
            bound_mass: 0.0,
            bound_inertia: 0.0,
            balance: false,
            total_mass: -1.0,
            fit_boxes: false,
            align_free: false,
        }
    }
}

impl Compiler {
    /// All `<compiler>` elements of a model, later attributes over earlier ones.
    pub(super) fn read(root: &Element, scope: usize) -> Result<Compiler, ImportError> {
        let mut compiler = Compiler::default();
        for element in root.all("compiler").filter(|e| e.scope == scope) {
            compiler.take(element)?;
        }
        Ok(compiler)
    }

    fn take(&mut self, element: &Element) -> Result<(), ImportError> {
        let view = View::plain(element);
        if element
            .attribute("coordinate")
            .is_some_and(|c| c != "local")
        {
            let what = "global coordinates are not read; save the model with local ones, as MuJoCo 2.3.3 and older can";
            return Err(element.fault(what));
        }
        let units = [("degree", true), ("radian", false)];
        self.degrees = view.word("angle", &units, self.degrees)?;
        if let Some(order) = element.attribute("eulerseq") {
            let letters = <[u8; 3]>::try_from(order.as_bytes()).ok();
            let letters = letters.filter(|l| l.iter().all(|c| b"xyzXYZ".contains(c)));
            self.euler = letters.ok_or_else(|| {
                let what = format!("eulerseq=\"{order}\" should be three of x, y, z, X, Y, Z");
                element.fault(what)
            })?;
        }
        self.autolimits = view.flag("autolimits", self.autolimits)?;
        self.strip_path = view.flag("strippath", self.strip_path)?;
        self.balance = view.flag("balanceinertia", self.balance)?;
        self.fit_boxes = view.flag("fitaabb", self.fit_boxes)?;
        self.align_free = view.flag("alignfree", self.align_free)?;
        for (name, folder) in [
            ("meshdir", &mut self.mesh_folder),
            ("assetdir", &mut self.asset_folder),
        ] {
            if let Some(given) = element.attribute(name) {
                *folder = Some(given.to_owned());
            }
        }
        if element.attribute("inertiafromgeom").is_some() {
            self.inertia_from_geom = view.tristate("inertiafromgeom")?;
        }
        if let Some([lo, hi]) = element.exactly("inertiagrouprange")? {
            self.groups = [lo as i64, hi as i64];
        }
        self.bound_mass = view.number("boundmass", self.bound_mass)?;
        self.bound_inertia = view.number("boundinertia", self.bound_inertia)?;
        self.total_mass = view.number("settotalmass", self.total_mass)?;
        Ok(())
    }

    /// Files of an attached model are named from its own folder.
    pub(super) fn move_below(&mut self, folder: &Path) {
        let moved = |old: &Option<String>| {
            let inside = old.as_deref().unwrap_or_default();
            Some(folder.join(inside).to_string_lossy().into_owned())
        };
        self.mesh_folder = match &self.mesh_folder {
            None => moved(&self.asset_folder),
            given => moved(given),
        };
    }

    /// An angle of the file \[rad\].
    pub(super) fn radians(&self, angle: f64) -> f64 {
        if self.degrees {
            angle * (std::f64::consts::PI / 180.0)
        } else {
            angle
        }
    }

    /// Where a mesh that a file names must be, from the folder of the model.
    pub(super) fn mesh_path(&self, file: &str) -> PathBuf {
        let plain = file.replace('\\', "/");
        let name = match plain.rsplit_once('/') {
            Some((_, name)) if self.strip_path => name,
            _ => &plain,
        };
        let folder = self.mesh_folder.as_ref().or(self.asset_folder.as_ref());
        folder.map_or(PathBuf::from(name), |folder| {
            PathBuf::from(folder.replace('\\', "/")).join(name)
        })
    }
}

/// What `<option>` says that is used, and what acts that is not.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) gravity: DVec3,
    pub(super) timestep: Option<f64>,
    /// Whether contacts, limits, equalities, springs, dampers, dry friction and actuators act.
    pub(super) off: Vec<String>,
    /// Groups whose actuators do nothing.
    pub(super) idle_groups: Vec<i64>,
}

impl Options {
    pub(super) fn read(root: &Element) -> Result<Options, ImportError> {
        let mut options = Options {
            gravity: DVec3::new(0.0, 0.0, -9.81),
            timestep: None,
            off: Vec::new(),
            idle_groups: Vec::new(),
        };
        for element in root.all("option").filter(|e| e.scope == 0) {
            let view = View::plain(element);
            options.gravity = view.vector("gravity", options.gravity)?;
            if let Some([step]) = element.exactly("timestep")? {
                if !(0.0 < step) {
                    return Err(element.fault(format!("timestep is {step}; it must be positive")));
                }
                options.timestep = Some(step);
            }
            if let Some(groups) = element.numbers("actuatorgroupdisable")? {
                options.idle_groups = groups.iter().map(|group| *group as i64).collect();
            }
            for flag in element.all("flag") {
                let off = flag.attributes.iter().filter(|(_, v)| v == "disable");
                options.off.extend(off.map(|(name, _)| name.clone()));
            }
        }
        if options.is_off("gravity") {
            options.gravity = DVec3::ZERO;
        }
        Ok(options)
    }

    /// Whether a flag is disabled.
    pub(super) fn is_off(&self, flag: &str) -> bool {
        let parts = ["equality", "frictionloss", "limit", "contact"];
        let whole = |name: &str| name == "constraint" && parts.contains(&flag);
        self.off.iter().any(|name| name == flag || whole(name))
    }
}
