//! Scene files: TOML in, a [`World`](crate::World) with run defaults out.
//!
#![doc = include_str!("../../../docs/scenes.md")]

mod body;
mod force;
mod joint;
mod look;
mod place;
mod reader;
#[cfg(feature = "robots")]
mod robot;
mod shape;

use std::path::Path;

use glam::DVec3;
use toml::de::DeTable;

use crate::collide::ShapeError;
#[cfg(feature = "robots")]
use crate::model::robot::ImportError;
use crate::solver::{SpecError, Stop, from_spec};
use crate::world::{
    FrictionModel, GeometricStiffness, Gyroscopic, Integrator, RunDefaults, Scene, Settings, Sleep,
    Surface, WorldBuilder, WorldError,
};
use body::Materials;
use reader::{Table, Value, fault};
#[cfg(feature = "robots")]
pub use robot::of_robot;
use shape::Around;

/// The JSON schema of scene files, for editors: what keys there are, and what each may hold.
pub const SCHEMA: &str = include_str!("schema.json");

/// Longest scene file that is read, in bytes.
pub const MAX_BYTES: usize = 64 << 20;
/// Most bodies of a scene file, and most joints.
pub const MAX_BODIES: usize = 1_000_000;

/// Why a scene cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SceneError {
    /// A fault in the file.
    #[error("{place}: {what}")]
    Invalid {
        /// Line and column, or the path of keys.
        place: String,
        /// The fault and its remedy.
        what: String,
    },
    /// A robot file by itself that is refused.
    #[cfg(feature = "robots")]
    #[error(transparent)]
    RobotFile(#[from] ImportError),
    /// A robot file by itself whose world cannot be built.
    #[error("{file}: {error}")]
    RobotWorld {
        /// The file.
        file: String,
        /// What is wrong with it.
        #[source]
        error: Box<WorldError>,
    },
    /// Something that the file describes cannot be.
    #[error("{place}: {what}: {cause}")]
    Refused {
        /// Line and column, or the file.
        place: String,
        /// What it is.
        what: String,
        /// Why it cannot be.
        #[source]
        cause: Box<SceneCause>,
    },
}

/// Why something that a scene file describes cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SceneCause {
    /// The world does not take it.
    #[error(transparent)]
    World(#[from] WorldError),
    /// Its robot file is refused.
    #[cfg(feature = "robots")]
    #[error(transparent)]
    Robot(#[from] ImportError),
    /// Its shape is refused.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// There is no such solver.
    #[error(transparent)]
    Solver(#[from] SpecError),
}

/// Reads a scene file that needs no other file.
pub fn parse(text: &str) -> Result<Scene, SceneError> {
    parse_in(text, None)
}

/// Reads a scene file; robots and meshes it names are looked for in `folder`.
pub fn parse_in(text: &str, folder: Option<&Path>) -> Result<Scene, SceneError> {
    if MAX_BYTES < text.len() {
        let bytes = text.len();
        let what = format!("the file has {bytes} bytes; at most {MAX_BYTES} are read");
        return Err(fault(text, 0, what));
    }
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        fault(text, at, error.message().trim().replace('\n', ", "))
    })?;
    let scene = Table::document(text, document.get_ref());
    scene.only(&[
        "title",
        "gravity",
        "run",
        "settings",
        "materials",
        "pairs",
        "bodies",
        "joints",
        "robots",
        "forces",
        "cameras",
    ])?;
    let mut builder = WorldBuilder::default();
    let title = scene.read("title", Value::text)?.unwrap_or("untitled");
    if let Some(gravity) = scene.read("gravity", Value::vector)? {
        builder.gravity = gravity;
    }
    let run = scene.read("run", read_run)?.unwrap_or_default();
    if let Some(settings) = scene.read("settings", read_settings)? {
        builder.settings = settings;
    }
    let materials = read_materials(&scene, &mut builder)?;
    let around = Around {
        materials: &materials,
        folder,
    };
    let mut names = body::add_bodies(&scene, around, &mut builder)?;
    look::add_cameras(&scene, &mut builder)?;
    let links = (&mut names, &mut builder);
    let (warnings, lost) = add_robots(&scene, folder, &materials, links)?;
    joint::add_joints(&scene, &names, &mut builder)?;
    let mut world = builder.build().map_err(|error| scene.refuse(error))?;
    force::add_forces(&scene, &names, &mut world)?;
    Ok(Scene {
        title: title.to_owned(),
        world,
        run,
        warnings,
        lost,
    })
}

#[cfg(feature = "robots")]
use robot::add_robots;

/// Without the feature `robots` a scene may have none.
#[cfg(not(feature = "robots"))]
fn add_robots(
    scene: &Table,
    _: Option<&Path>,
    _: &Materials,
    _: (&mut body::Names, &mut WorldBuilder),
) -> Result<(Vec<String>, Vec<String>), SceneError> {
    match scene.get("robots") {
        Some(value) => Err(value.fault("this program was built without the feature `robots`")),
        None => Ok((Vec::new(), Vec::new())),
    }
}

fn read_run(value: &Value) -> Result<RunDefaults, SceneError> {
    let run = value.table_of(&["dt", "time", "solver", "tolerance", "iterations"])?;
    let default = RunDefaults::default();
    let solver = run.read("solver", |value| {
        let spec = value.text()?;
        match from_spec(spec, Stop::default(), 0) {
            Ok(_) => Ok(spec.to_owned()),
            Err(error) => Err(value.refuse(error)),
        }
    })?;
    let iterations = run.read("iterations", |value| value.whole(1, 1_000_000_000))?;
    Ok(RunDefaults {
        dt: run
            .read("dt", |value| value.within(1e-9, 1e3))?
            .unwrap_or(default.dt),
        time: run
            .read("time", |value| value.within(0.0, 1e9))?
            .unwrap_or(default.time),
        solver: solver.unwrap_or(default.solver),
        tolerance: run
            .read("tolerance", Value::not_negative)?
            .unwrap_or(default.tolerance),
        iterations: iterations.map_or(default.iterations, |count| count as usize),
    })
}

fn read_settings(value: &Value) -> Result<Settings, SceneError> {
    let table = value.table_of(&[
        "substeps",
        "integrator",
        "friction",
        "contact-compliance",
        "contact-damping",
        "restitution-threshold",
        "gyroscopic",
        "geometric-stiffness",
        "sleep",
    ])?;
    let default = Settings::default();
    let gyroscopic = [
        ("implicit", Gyroscopic::Implicit),
        ("explicit", Gyroscopic::Explicit),
        ("off", Gyroscopic::Off),
    ];
    let stiffness = [
        ("never", GeometricStiffness::Never),
        ("needed", GeometricStiffness::Needed),
        ("always", GeometricStiffness::Always),
    ];
    let sleep = table.read("sleep", |value| {
        let sleep = value.table_of(&["speed", "after"])?;
        let default = Sleep::default();
        Ok(Sleep {
            speed: sleep
                .read("speed", Value::positive)?
                .unwrap_or(default.speed),
            after: sleep
                .read("after", Value::not_negative)?
                .unwrap_or(default.after),
        })
    })?;
    let substeps = table.read("substeps", |value| value.whole(1, 10_000))?;
    Ok(Settings {
        substeps: substeps.map_or(default.substeps, |count| count as u32),
        integrator: table
            .read("integrator", |value| value.choice(&Integrator::NAMES))?
            .unwrap_or(default.integrator),
        gyroscopic: table
            .read("gyroscopic", |value| value.choice(&gyroscopic))?
            .unwrap_or(default.gyroscopic),
        geometric_stiffness: table
            .read("geometric-stiffness", |value| value.choice(&stiffness))?
            .unwrap_or(default.geometric_stiffness),
        friction: table
            .read("friction", read_friction)?
            .unwrap_or(default.friction),
        contact_compliance: table
            .read("contact-compliance", Value::not_negative)?
            .unwrap_or(default.contact_compliance),
        contact_damping: table
            .read("contact-damping", Value::positive)?
            .unwrap_or(default.contact_damping),
        restitution_threshold: table
            .read("restitution-threshold", Value::not_negative)?
            .unwrap_or(default.restitution_threshold),
        sleep,
    })
}

/// `cone`, `box`, `ellipsoid`, or `facets:8`.
fn read_friction(value: &Value) -> Result<FrictionModel, SceneError> {
    let word = value.text()?;
    if let Some(directions) = word.strip_prefix("facets:") {
        return match directions.parse() {
            Ok(directions) if (3..=1024).contains(&directions) => {
                Ok(FrictionModel::Facets(directions))
            }
            _ => Err(value.fault("facets take 3 to 1024 directions, as in \"facets:8\"")),
        };
    }
    value.choice(&[
        ("cone", FrictionModel::Cone),
        ("box", FrictionModel::Box),
        ("ellipsoid", FrictionModel::Ellipsoid),
        ("facets", FrictionModel::Facets(8)),
    ])
}

/// Keys of a surface.
const SURFACE: [&str; 4] = ["friction", "restitution", "rolling", "spinning"];

/// A surface, each of its numbers with a default.
fn read_surface(table: &Table, default: Surface) -> Result<Surface, SceneError> {
    Ok(Surface {
        friction: table
            .read("friction", |value| value.within(0.0, 1e6))?
            .unwrap_or(default.friction),
        restitution: table
            .read("restitution", |value| value.within(0.0, 1.0))?
            .unwrap_or(default.restitution),
        rolling: table
            .read("rolling", |value| value.within(0.0, 1e6))?
            .unwrap_or(default.rolling),
        spinning: table
            .read("spinning", |value| value.within(0.0, 1e6))?
            .unwrap_or(default.spinning),
    })
}

fn read_materials(scene: &Table, builder: &mut WorldBuilder) -> Result<Materials, SceneError> {
    let mut materials = Materials::default();
    let default = Surface::default();
    let mut surfaces = Vec::new();
    if let Some(list) = scene.read("materials", Value::table)? {
        for (name, value) in list.sorted() {
            let surface = read_surface(&value.table_of(&SURFACE)?, default)?;
            let id = builder
                .add_material(surface)
                .map_err(|error| value.refuse(error))?;
            materials.insert(name.to_owned(), id);
            surfaces.push((id, surface));
        }
    }
    let mut seen = Vec::new();
    for pair in scene.tables("pairs", MAX_BODIES)? {
        let mut known = vec!["materials"];
        known.extend(SURFACE);
        pair.only(&known)?;
        let value = pair.need("materials", "[\"wood\", \"steel\"]")?;
        let [a, b] = value.some("[\"wood\", \"steel\"]")?;
        let (a, b) = (
            body::find_material(&a, &materials)?,
            body::find_material(&b, &materials)?,
        );
        let ids = (a.min(b), a.max(b));
        if seen.contains(&ids) {
            return Err(pair.fault("this pair is given twice; keep one"));
        }
        seen.push(ids);
        // What the pair does not say stays as its two materials have it.
        let of = |id| {
            let found = surfaces.iter().find(|(known, _)| *known == id);
            found.map_or(default, |(_, surface)| *surface)
        };
        let surface = read_surface(&pair, Surface::mixed(of(a), of(b)))?;
        builder
            .set_pair(ids, surface)
            .map_err(|error| pair.refuse(error))?;
    }
    Ok(materials)
}

/// A rotation by axis and angle, or by a quaternion.
fn read_rotation(value: &Value) -> Result<glam::DQuat, SceneError> {
    let table = value.table_of(&["axis", "degrees", "radians", "quaternion"])?;
    if let Some(quaternion) = table.get("quaternion") {
        if ["axis", "degrees", "radians"]
            .iter()
            .any(|key| table.get(key).is_some())
        {
            return Err(table.fault("give either a quaternion or axis and angle, not both"));
        }
        let [w, x, y, z] = quaternion.numbers("[1, 0, 0, 0]")?;
        let turn = glam::DQuat::from_xyzw(x, y, z, w);
        let length = turn.length();
        if !((length - 1.0).abs() < 1e-3) {
            return Err(quaternion.fault(format!("its length is {length}; give one of length 1")));
        }
        return Ok(turn.normalize());
    }
    let axis: DVec3 = table.need("axis", "[0, 0, 1]")?.direction()?;
    let degrees = table.read("degrees", |value| value.within(-1e6, 1e6))?;
    let radians = table.read("radians", |value| value.within(-1e6, 1e6))?;
    let angle = match (degrees, radians) {
        (Some(degrees), None) => degrees.to_radians(),
        (None, Some(radians)) => radians,
        _ => return Err(table.fault("give its angle once, as degrees = 90 or radians = 1.57")),
    };
    Ok(glam::DQuat::from_axis_angle(axis, angle))
}
