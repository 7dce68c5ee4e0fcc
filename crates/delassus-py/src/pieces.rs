//! What is added to a world from Python: materials, bodies, joints, robots.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use delassus::math::{DMat3, DQuat, DVec3, MassProperties};
use delassus::model::robot::{self, Loss, Options};
use delassus::model::scene::{SceneError, parse};
use delassus::problem::file::limit;
use delassus::world::{Attach, Body as NewBody, MovedBy, Placement, Scene, Surface};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::numbers;
use crate::draft::{JointPlan, Link, Material};
use crate::error::{of_disk, refuse};
use crate::handle::{Body, Joint};
use crate::joint::find_body;
use crate::keys::Keys;
use crate::shape::{Shape, compound};
use crate::world::{World, base};

/// Density of bodies that are given neither mass nor density, that of water \[kg/m³\].
const WATER: f64 = 1000.0;

/// A scene without bodies, from keyword arguments: the reader of scene files checks them.
pub(crate) fn empty(title: &str, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Scene> {
    const RUN: [&str; 4] = ["dt", "solver", "tolerance", "iterations"];
    const SETTINGS: [&str; 9] = [
        "substeps",
        "integrator",
        "friction",
        "contact_compliance",
        "contact_damping",
        "restitution_threshold",
        "gyroscopic",
        "geometric_stiffness",
        "sleep",
    ];
    let ending = Path::new(title).extension().and_then(OsStr::to_str);
    if ending.is_some_and(|ending| ["toml", "urdf", "xml", "mjcf"].contains(&ending)) {
        return Err(refuse(format!(
            "World(\"{title}\") would be an empty world with this title; World.read(\"{title}\") reads the file"
        )));
    }
    let (mut scene, mut run, mut settings) = (
        format!("title = {}\n", serde_json::json!(title)),
        "[run]\n".to_owned(),
        "[settings]\n".to_owned(),
    );
    for (key, value) in keys.into_iter().flatten() {
        let key: String = key.extract()?;
        if value.is_none() {
            continue;
        }
        let line = format!("{} = {}\n", key.replace('_', "-"), literal(&key, &value)?);
        match key.as_str() {
            "gravity" => scene.push_str(&line),
            key if RUN.contains(&key) => run.push_str(&line),
            key if SETTINGS.contains(&key) => settings.push_str(&line),
            _ => {
                return Err(refuse(format!(
                    "World takes no \"{key}\"; known: gravity, {}, {}",
                    RUN.join(", "),
                    SETTINGS.join(", ")
                )));
            }
        }
    }
    let text = scene + &run + &settings;
    read(&text)
}

/// A scene from a text that nobody wrote: its lines mean nothing, so a message leaves them out.
fn read(text: &str) -> PyResult<Scene> {
    parse(text).map_err(|error| match error {
        SceneError::Invalid { what, .. } => refuse(what),
        SceneError::Refused { what, cause, .. } => refuse(format!("{what}: {cause}")),
        other => refuse(other),
    })
}

/// A value as TOML.
fn literal(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.extract::<String>() {
        return Ok(serde_json::json!(text).to_string());
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let mut items = Vec::new();
        for (name, value) in table {
            let name: String = name.extract()?;
            items.push(format!("{name} = {}", literal(&name, &value)?));
        }
        return Ok(format!("{{ {} }}", items.join(", ")));
    }
    if let Ok(whole) = value.extract::<i64>() {
        return Ok(whole.to_string());
    }
    let found = numbers(key, value)?;
    let list: Vec<String> = found.values.iter().map(|x| format!("{x:?}")).collect();
    match found.shape.len() {
        0 => Ok(list.join("")),
        _ => Ok(format!("[{}]", list.join(", "))),
    }
}

fn motion(word: &str) -> PyResult<MovedBy> {
    match word {
        "dynamic" => Ok(MovedBy::Dynamic),
        "static" => Ok(MovedBy::Static),
        "kinematic" => Ok(MovedBy::Kinematic),
        _ => Err(refuse(format!(
            "motion is \"{word}\"; known: dynamic, static, kinematic"
        ))),
    }
}

/// Three principal moments or a symmetric matrix \[kg m²\].
fn inertia(keys: &mut Keys<'_>) -> PyResult<Option<DMat3>> {
    let Some(given) = keys.get("inertia")? else {
        return Ok(None);
    };
    let found = numbers("inertia", &given)?;
    let matrix = match (&found.shape[..], &found.values[..]) {
        ([3], [a, b, c]) => DMat3::from_diagonal(DVec3::new(*a, *b, *c)),
        ([3, 3], values) => DMat3::from_cols_slice(values),
        _ => {
            return Err(refuse(
                "inertia must be three principal moments or a 3 by 3 matrix",
            ));
        }
    };
    // The reader of scene files knows which moments no body has.
    let rows = matrix.to_cols_array_2d();
    read(&format!(
        "[[bodies]]\nname = \"x\"\nmass = 1\ninertia = {rows:?}\n"
    ))?;
    Ok(Some(matrix))
}

fn surface(mut keys: Keys<'_>, default: Surface) -> PyResult<Surface> {
    let surface = Surface {
        friction: keys.number("friction")?.unwrap_or(default.friction),
        restitution: keys.number("restitution")?.unwrap_or(default.restitution),
        rolling: keys.number("rolling")?.unwrap_or(default.rolling),
        spinning: keys.number("spinning")?.unwrap_or(default.spinning),
    };
    keys.close()?;
    Ok(surface)
}

/// One shape, or several.
fn shapes(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Shape>> {
    let Some(given) = given else {
        return Ok(Vec::new());
    };
    if let Ok(one) = given.cast::<Shape>() {
        return Ok(vec![one.get().clone()]);
    }
    let fault = || refuse("shapes must be a Shape or a list of them, as in Shape.sphere(0.1)");
    let mut list = Vec::new();
    for item in given.try_iter().map_err(|_| fault())? {
        let item = item?;
        let shape = item.cast::<Shape>().map_err(|_| fault())?;
        list.push(shape.get().clone());
    }
    Ok(list)
}

#[pymethods]
impl World {
    /// Adds a material: `friction` 0.5, `restitution`, `rolling` and `spinning` 0 unless given. Shapes name it.
    #[pyo3(signature = (name, **keys))]
    fn add_material(&self, name: &str, keys: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let mut inner = self.raw()?;
        if inner.materials.iter().any(|known| known.name == name) {
            return Err(refuse(format!(
                "there is a material \"{name}\" already; give each a name of its own"
            )));
        }
        let surface = surface(Keys::new("a material", keys), Surface::default())?;
        let draft = inner.draft()?;
        let id = draft.builder.add_material(surface).map_err(refuse)?;
        draft.stale = true;
        inner.materials.push(Material {
            name: name.to_owned(),
            id,
            surface,
        });
        Ok(())
    }

    /// Gives a pair of materials numbers of its own, in place of √(μ₁μ₂) and the larger of the others.
    #[pyo3(signature = (first, second, **keys))]
    fn pair_materials(
        &self,
        first: &str,
        second: &str,
        keys: Option<Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let mut inner = self.raw()?;
        let (a, b) = (
            inner.find_material(first)?.clone(),
            inner.find_material(second)?.clone(),
        );
        let mixed = Surface::mixed(a.surface, b.surface);
        let surface = surface(Keys::new("a pair of materials", keys), mixed)?;
        let draft = inner.draft()?;
        draft
            .builder
            .set_pair((a.id, b.id), surface)
            .map_err(refuse)?;
        draft.stale = true;
        Ok(())
    }

    /// Adds a body made of shapes and gives a handle of it.
    ///
    /// `motion` is `dynamic`, `static` or `kinematic` (moves at its velocity whatever it meets). A dynamic body takes
    /// `mass` and `inertia` (three moments or a matrix, about `position`), or `density` or `mass` alone, and then the
    /// rest from its shapes; without any of them it has the density of water, 1000 kg/m³. From then on its position is
    /// that of its centre of mass. `position`, `orientation` (w, x, y, z), `velocity` and `spin` are its state.
    ///
    /// >>> import delassus
    /// >>> world = delassus.World()
    /// >>> ground = world.add_ground()
    /// >>> ball = world.add_body("ball", delassus.Shape.sphere(0.1), position=[0, 0, 1], density=500)
    /// >>> round(ball.mass, 6)
    /// 2.094395
    /// >>> report = world.step(100)
    /// >>> bool(abs(ball.position[2] - 0.1) < 1e-3)
    /// True
    #[pyo3(signature = (name="", shapes=None, *, motion="dynamic", **keys))]
    fn add_body(
        slf: &Bound<'_, World>,
        name: &str,
        shapes: Option<&Bound<'_, PyAny>>,
        motion: &str,
        keys: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Body> {
        let shapes = self::shapes(shapes)?;
        let mut keys = Keys::new("a body", keys);
        let mut body = NewBody {
            name: name.to_owned(),
            motion: self::motion(motion)?,
            position: keys.vector("position")?.unwrap_or(DVec3::ZERO),
            orientation: keys.turn("orientation")?.unwrap_or(DQuat::IDENTITY),
            velocity: keys.vector("velocity")?.unwrap_or(DVec3::ZERO),
            spin: keys.vector("spin")?.unwrap_or(DVec3::ZERO),
            ..NewBody::default()
        };
        let (mass, density) = (keys.number("mass")?, keys.number("density")?);
        let inertia = inertia(&mut keys)?;
        keys.close()?;
        let mut com = DVec3::ZERO;
        if body.motion == MovedBy::Dynamic {
            let own = match (mass, inertia, density) {
                (Some(mass), Some(inertia), None) => MassProperties { mass, inertia, com },
                (None, None, density) => compound(density.unwrap_or(WATER), &shapes)?,
                (Some(mass), None, None) => {
                    let one = compound(1.0, &shapes)?;
                    MassProperties {
                        mass,
                        inertia: one.inertia * (mass / one.mass),
                        ..one
                    }
                }
                _ => {
                    return Err(refuse(
                        "give mass and inertia, or mass alone, or density alone",
                    ));
                }
            };
            (body.mass, body.inertia, com) = (own.mass, own.inertia, own.com);
        }
        let mut inner = slf.get().raw()?;
        let id = inner.add_body(body, &shapes, com)?;
        let bodies = match &inner.draft {
            Some(draft) => draft.builder.bodies(),
            None => inner.world.bodies(),
        };
        let name = bodies.name[id.index()].clone();
        Ok(Body::new(slf, id, name))
    }

    /// Adds everything below a height as a static body.
    #[pyo3(signature = (name="ground", *, height=0.0, material=None))]
    fn add_ground(
        slf: &Bound<'_, World>,
        name: &str,
        height: f64,
        material: Option<String>,
    ) -> PyResult<Body> {
        let keys = PyDict::new(slf.py());
        keys.set_item("position", (0.0, 0.0, height))?;
        let ground = PyDict::new(slf.py());
        ground.set_item("material", material)?;
        let shape = slf.py().get_type::<Shape>();
        let shape = shape.call_method("half_space", (), Some(&ground))?;
        World::add_body(slf, name, Some(&shape), "static", Some(keys))
    }

    /// Adds a joint between two bodies, or a body and `None`, the world, and gives a handle of it. This works while the
    /// world runs too. Points and axes are in the world, where the bodies stand now.
    ///
    /// | kind | keys |
    /// |---|---|
    /// | `ball` | `point` |
    /// | `hinge`, `slider` | `point`, `axis`, `limits`, `motor`, `servo`, `friction` |
    /// | `universal` | `point`, `axes` (two, normal to each other) |
    /// | `cylindrical` | as `slider`, and free to turn about `axis` |
    /// | `screw` | `point`, `axis`, `pitch` (way of a full turn), and the drive of the turn as for `hinge` |
    /// | `planar` | `normal`, `point` |
    /// | `fixed` | `point` |
    /// | `distance` | `anchors` (two points), `length` or `least` and `greatest` |
    /// | `spring` | `anchors`, `stiffness`, `damping`, `length` without force |
    /// | `gear` | `terms`: (name, axis, ratio) of every wheel; no bodies |
    /// | `rolling` | `radius`, `normal`, `point` |
    /// | `rack-and-pinion` | `point`, `axis` of the pinion, `direction` of the rack, `radius` |
    /// | `pulley` | `points` (one on each body), `anchors` (where the rope runs over), `ratio`, `length` |
    ///
    /// All take `compliance`, `damping` and `collide`. A motor is `dict(speed=…, max_force=…)`, a servo
    /// `dict(position=…, stiffness=…, damping=…, max_force=…)`, with `min_force=…` where it is not −max_force.
    ///
    /// >>> import delassus
    /// >>> world = delassus.World()
    /// >>> bob = world.add_body("bob", delassus.Shape.sphere(0.1), position=[1, 0, 0])
    /// >>> hinge = world.add_joint("hinge", (bob, None), point=[0, 0, 0], axis=[0, 1, 0])
    /// >>> report = world.step(10)
    /// >>> hinge.coordinate > 0        # it falls
    /// True
    #[pyo3(signature = (kind, bodies=None, *, name="", **keys))]
    fn add_joint(
        slf: &Bound<'_, World>,
        kind: &str,
        bodies: Option<&Bound<'_, PyAny>>,
        name: &str,
        keys: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Joint> {
        let links = match bodies {
            None if kind == "gear" => [Link::World, Link::World],
            None => {
                return Err(refuse(format!(
                    "a {kind} joint joins two bodies; name them"
                )));
            }
            Some(pair) => {
                let pair: (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract().map_err(|_| {
                    refuse("bodies must be two: bodies, names, or None for the world")
                })?;
                [Link::read(slf, &pair.0)?, Link::read(slf, &pair.1)?]
            }
        };
        let mut inner = slf.get().raw()?;
        let name = name.to_owned();
        let plan = JointPlan { links, keys, name };
        let id = inner.add_joint(kind, plan)?;
        let name = inner.joints.names.last().expect("one was added").clone();
        Ok(Joint::new(slf, id, name))
    }

    /// Adds a robot from a URDF or MJCF file, or from its text, and gives its name; its links are bodies called
    /// `name/link`. `position` and `orientation` say where the file's origin stands.
    ///
    /// A URDF robot is bolted to the world unless `floating`; `lossy` leaves out what is not simulated.
    #[pyo3(signature = (file, name="robot", *, floating=false, lossy=false, **keys))]
    fn add_robot(
        &self,
        file: PathBuf,
        name: &str,
        floating: bool,
        lossy: bool,
        keys: Option<Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let given = file.to_string_lossy();
        let (text, place, folder) = match given.trim_start().starts_with('<') {
            true => (given.clone().into_owned(), "text".to_owned(), None),
            false => {
                let text = limit::read_text(&file).map_err(|cause| of_disk(&file, &cause))?;
                (text, file.display().to_string(), file.parent())
            }
        };
        let options = Options {
            base: base(floating),
            loss: if lossy { Loss::Allow } else { Loss::Refuse },
        };
        let mut read = robot::parse(&text, &place, folder, options).map_err(refuse)?;
        let mut keys = Keys::new("a robot", keys);
        let mut inner = self.raw()?;
        let material = keys.text("material")?;
        let placement = Placement {
            name: name.to_owned(),
            position: keys.vector("position")?.unwrap_or(DVec3::ZERO),
            rotation: keys.turn("orientation")?.unwrap_or(DQuat::IDENTITY),
            attach: Attach {
                material: inner.material(material.as_deref())?,
                ..Attach::default()
            },
            self_collide: false,
        };
        if let Some(collide) = keys.flag("self_collide")? {
            read.robot.self_collide = collide;
        }
        keys.close()?;
        let draft = inner.draft()?;
        // A robot that is refused half-way leaves nothing behind.
        let mut builder = draft.builder.clone();
        let before = builder.bodies().len();
        builder.add_robot(&read.robot, &placement).map_err(refuse)?;
        let added = builder.bodies().name[before..].to_vec();
        if let Some(taken) = added.iter().find(|name| draft.names.contains(*name)) {
            return Err(refuse(format!(
                "there is a body \"{taken}\" already; rename the robot"
            )));
        }
        draft.builder = builder;
        draft.names.extend(added);
        draft.stale = true;
        inner
            .warnings
            .extend(read.warnings.iter().map(ToString::to_string));
        Ok(name.to_owned())
    }

    /// A body by its name.
    fn body(slf: &Bound<'_, World>, name: &str) -> PyResult<Body> {
        let id = find_body(slf.get().lock()?.world.bodies(), name)?;
        Ok(Body::new(slf, id, name.to_owned()))
    }

    /// A joint by its name.
    fn joint(slf: &Bound<'_, World>, name: &str) -> PyResult<Joint> {
        let inner = slf.get().lock()?;
        let Some(id) = inner.world.find_joint(name) else {
            return Err(refuse(format!(
                "there is no joint \"{name}\"; the world has {}, see joint_names",
                inner.joints.names.len()
            )));
        };
        Ok(Joint::new(slf, id, name.to_owned()))
    }

    /// Names of the joints between bodies.
    #[getter]
    fn joint_names(&self) -> PyResult<Vec<String>> {
        Ok(self.lock()?.joints.names.clone())
    }
}
