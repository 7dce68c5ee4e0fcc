//! Robots of a scene file, and a robot file by itself as a scene.

use std::collections::BTreeMap;
use std::path::Path;

use glam::DVec3;

use super::body::{Materials, Names, find_material};
use super::joint::{DRIVE, read_drive};
use super::reader::{Table, Value, hint, short};
use super::{MAX_BODIES, SceneError, read_rotation};
use crate::collide::Shape;
use crate::index::{LinkId, RobotId};
use crate::model::robot::{self, Base, Loss, Options, RobotFile};
use crate::problem::file::limit;
use crate::tree::TreeJoint;
use crate::world::{
    Attach, Body, Control, Drive, Motor, MovedBy, Placement, RobotModel, RunDefaults, Scene, Servo,
    Swing, WorldBuilder, WorldError,
};

const KEYS: [&str; 12] = [
    "name",
    "file",
    "text",
    "base",
    "lossy",
    "position",
    "rotation",
    "material",
    "self-collide",
    "joints",
    "velocities",
    "drives",
];

/// Why an id names a robot.
const ADDED: &str = "the robot was added just now";

/// Reads every robot and adds them in the order of their names; their links are bodies that joints may name.
/// Gives what their files hold that is not used.
pub(super) fn add_robots(
    scene: &Table,
    folder: Option<&Path>,
    materials: &Materials,
    (names, builder): (&mut Names, &mut WorldBuilder),
) -> Result<(Vec<String>, Vec<String>), SceneError> {
    let mut named = BTreeMap::new();
    for mut table in scene.tables("robots", MAX_BODIES)? {
        let value = table.need("name", "\"arm\"")?;
        let name = value.text()?;
        table.what = format!("robot \"{}\"", short(name));
        if name.is_empty() || named.insert(name, table).is_some() {
            return Err(value.fault("give each robot a name of its own"));
        }
    }
    let (mut warnings, mut lost) = (Vec::new(), Vec::new());
    for (name, table) in named {
        table.only(&KEYS)?;
        let mut read = read_model(&table, folder)?;
        if let Some(collide) = table.read("self-collide", Value::flag)? {
            read.robot.self_collide = collide;
        }
        let model = &read.robot;
        warnings.extend(read.warnings.iter().map(ToString::to_string));
        lost.extend(read.lost().map(ToString::to_string));
        let placement = Placement {
            name: name.to_owned(),
            position: table.read("position", Value::vector)?.unwrap_or_default(),
            rotation: table.read("rotation", read_rotation)?.unwrap_or_default(),
            attach: Attach {
                material: table
                    .read("material", |value| find_material(value, materials))?
                    .unwrap_or(Attach::default().material),
                ..Attach::default()
            },
            self_collide: false,
        };
        let id = builder
            .add_robot(model, &placement)
            .map_err(|error| table.refuse(error))?;
        read_state(&table, id, builder)?;
        read_drives(&table, model, id, builder)?;
        let links = (0..model.tree.links().len() as u32).map(LinkId);
        let robot = builder.robot_mut(id).expect(ADDED);
        let bodies: Vec<_> = links.filter_map(|link| robot.body(link)).collect();
        for body in bodies {
            names.insert(builder.bodies().name[body.index()].clone(), body);
        }
    }
    Ok((warnings, lost))
}

/// The robot of a file beside the scene, or of a text within it.
fn read_model(table: &Table, folder: Option<&Path>) -> Result<RobotFile, SceneError> {
    let base = table.read("base", |value| {
        value.choice(&[("fixed", Base::Fixed), ("floating", Base::Floating)])
    })?;
    let (value, text, file, folder) = match (table.get("file"), table.get("text")) {
        (Some(value), None) => {
            let name = value.text()?;
            let Some(folder) = folder else {
                return Err(value.fault(
                    "there is no folder to look in, since the scene is not a file; give text = '''…'''",
                ));
            };
            let path = folder.join(name);
            let text = limit::read_text(&path)
                .map_err(|error| value.fault(format!("{}: {error}", path.display())))?;
            let inside = path.parent().map(Path::to_owned);
            (value, text, name.to_owned(), inside)
        }
        (None, Some(value)) => {
            let text = value.text()?.to_owned();
            (value, text, "text".to_owned(), folder.map(Path::to_owned))
        }
        _ => return Err(table.fault("give either its file, or its text")),
    };
    let loss = match table.read("lossy", Value::flag)? {
        Some(true) => Loss::Allow,
        _ => Loss::Refuse,
    };
    let options = Options {
        base: base.unwrap_or_default(),
        loss,
    };
    let read = robot::parse(&text, &file, folder.as_deref(), options);
    read.map_err(|error| value.refuse(error))
}

/// Displacements and velocities of joints at the start, by name.
fn read_state(table: &Table, id: RobotId, builder: &mut WorldBuilder) -> Result<(), SceneError> {
    let robot = builder.robot_mut(id).expect(ADDED);
    let mut q = robot.configuration().to_vec();
    let mut v = robot.velocity().to_vec();
    let known: Vec<&str> = robot.joints().iter().map(|j| j.name.as_str()).collect();
    for key in ["joints", "velocities"] {
        let Some(list) = table.read(key, Value::table)? else {
            continue;
        };
        for (name, value) in list.sorted() {
            let joint = robot.joints().iter().find(|joint| joint.name == name);
            let Some(joint) = joint.filter(|joint| joint.dofs() == 1) else {
                return Err(value.fault(no_joint(name, &known)));
            };
            let number = value.within(-1e6, 1e6)?;
            match key {
                "joints" => q[joint.coordinate()] = number,
                _ => v[joint.dof()] = number,
            }
        }
    }
    let placed = builder.place_robot(id, &q, &v);
    placed.map_err(|error| table.refuse(error))
}

fn no_joint(name: &str, known: &[&str]) -> String {
    format!(
        "the robot has no joint \"{}\" of one dof; {}",
        short(name),
        hint(name, known.iter().copied())
    )
}

/// What acts along joints, by name; limits and friction of the file stay unless given, and its effort and velocity
/// bound motors and servos.
fn read_drives(
    table: &Table,
    model: &RobotModel,
    id: RobotId,
    builder: &mut WorldBuilder,
) -> Result<(), SceneError> {
    let robot = builder.robot_mut(id).expect(ADDED);
    let Some(list) = table.read("drives", Value::table)? else {
        return Ok(());
    };
    let known: Vec<String> = robot.joints().iter().map(|j| j.name.clone()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let mut keys = DRIVE.to_vec();
    keys.extend(["limits-degrees", "swing", "until"]);
    for (name, value) in list.sorted() {
        let entry = model.joints.iter().find(|entry| entry.name == name);
        let joint = robot.joint_mut(name).filter(|joint| joint.dofs() == 1);
        let (Some(joint), Some(entry)) = (joint, entry) else {
            return Err(value.fault(no_joint(name, &known)));
        };
        let drive = value.table_of(&keys)?;
        let given = read_drive(&drive)?;
        let before = joint.control.drive;
        let force = |x: f64| x.min(entry.effort.unwrap_or(f64::INFINITY));
        let speed = |x: f64| {
            entry
                .speed
                .map_or(x, |most| x.clamp(-most.abs(), most.abs()))
        };
        joint.control = Control {
            drive: Drive {
                limits: given.limits.or(before.limits),
                motor: given.motor.map(|motor| Motor {
                    speed: speed(motor.speed),
                    max_force: force(motor.max_force),
                }),
                servo: given.servo.map(|servo| Servo {
                    max_force: force(servo.max_force),
                    min_force: servo.min_force.map(|least| -force(-least)),
                    ..servo
                }),
                friction: match drive.get("friction") {
                    Some(_) => given.friction,
                    None => before.friction,
                },
            },
            swing: drive.read("swing", read_swing)?,
            until: drive.read("until", Value::not_negative)?,
        };
        if joint.control.swing.is_some() && joint.control.drive.servo.is_none() {
            return Err(drive.fault("a swing moves the position of a servo; add a servo"));
        }
    }
    Ok(())
}

fn read_swing(value: &Value) -> Result<Swing, SceneError> {
    let table = value.table_of(&["amplitude", "rate", "phase"])?;
    Ok(Swing {
        amplitude: table.need("amplitude", "0.3")?.within(-1e6, 1e6)?,
        rate: table.need("rate", "1")?.within(0.0, 1e6)?,
        phase: table
            .read("phase", |value| value.within(-1e6, 1e6))?
            .unwrap_or(0.0),
    })
}

/// A robot file as a scene: the robot above the ground, which it touches where its base is free. Meshes and included
/// files are looked for in `folder`.
pub fn of_robot(
    text: &str,
    file: &str,
    folder: Option<&Path>,
    options: impl Into<Options>,
) -> Result<Scene, SceneError> {
    let read = robot::parse(text, file, folder, options)?;
    let mut warnings: Vec<String> = read.warnings.iter().map(ToString::to_string).collect();
    let lost = read.lost().map(ToString::to_string).collect();
    let model = read.robot;
    // An MJCF file says where its bodies are; of a URDF robot that is free nobody says it.
    let placed = read.format == "mjcf";
    if placed && !has_ground(&model) {
        warnings.push(format!("{file}:0: it has no ground; one is laid below it"));
    }
    let built = stand(&model, placed).and_then(WorldBuilder::build);
    let world = built.map_err(|error| SceneError::RobotWorld {
        file: file.to_owned(),
        error: Box::new(error),
    })?;
    let name = if model.name.is_empty() {
        file.to_owned()
    } else {
        model.name.clone()
    };
    Ok(Scene {
        title: name,
        world,
        run: RunDefaults {
            dt: model.timestep.unwrap_or(0.005),
            time: 3.0,
            ..RunDefaults::default()
        },
        warnings,
        lost,
    })
}

/// Whether the file brings a plane or a height field.
fn has_ground(model: &RobotModel) -> bool {
    let flat = |shape: &Shape| matches!(shape, Shape::HalfSpace | Shape::HeightField { .. });
    model.shapes.iter().any(|entry| flat(&entry.shape))
}

/// A world with the robot in it, where it is placed or on the ground.
fn stand(model: &RobotModel, placed: bool) -> Result<WorldBuilder, WorldError> {
    let mut builder = WorldBuilder::default();
    if let Some(gravity) = model.gravity {
        builder.gravity = gravity;
    }
    let own_ground = has_ground(model);
    let lowest = lowest(model).unwrap_or(0.0);
    let mut roots = model.tree.links().iter().filter(|l| l.parent.is_none());
    let free = roots.any(|link| link.joint == TreeJoint::Floating);
    let stands = free && !own_ground && !placed;
    let lift = if stands { -lowest } else { 0.0 };
    let placement = Placement {
        position: DVec3::Z * lift,
        ..Placement::default()
    };
    let id = builder.add_robot(model, &placement)?;
    let robot = builder.robot_mut(id).expect(ADDED);
    // Zero may lie outside the limits.
    let mut q = robot.configuration().to_vec();
    for joint in robot.joints() {
        let single = model.tree.links()[joint.link.index()].joint.dofs() == 1;
        if let Some([lo, hi]) = joint.control.drive.limits.filter(|_| single) {
            q[joint.coordinate()] = q[joint.coordinate()].clamp(lo, hi);
        }
    }
    let v = robot.velocity().to_vec();
    builder.place_robot(id, &q, &v)?;
    if !own_ground {
        let ground = builder.add_body(Body {
            name: "ground".to_owned(),
            motion: MovedBy::Static,
            position: DVec3::Z * if stands { 0.0 } else { lowest.min(0.0) },
            ..Body::default()
        })?;
        builder.add_collider(ground, Shape::HalfSpace, Attach::default())?;
    }
    Ok(builder)
}

/// The lowest point of a robot's shapes in the configuration of its file.
fn lowest(model: &RobotModel) -> Option<f64> {
    let data = model.tree.data();
    let mut least: Option<f64> = None;
    for shape in &model.shapes {
        let Some(frame) = shape
            .link
            .and_then(|link| model.tree.pose(&data, link).ok())
        else {
            continue;
        };
        let pose = frame.then(&shape.pose);
        // The lowest z of the shape is z of its frame − max x · (−Rᵀe_z).
        let down = -(pose.rotation.transpose() * DVec3::Z);
        let z = shape.shape.reach(down).map(|reach| pose.position.z - reach);
        least = least.into_iter().chain(z).reduce(f64::min);
    }
    least
}
