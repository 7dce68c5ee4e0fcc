//! A run as MCAP with JSON messages in the schemas of Foxglove, which the usual viewers of robots open.
//!
//! | topic | schema | what |
//! |---|---|---|
//! | `/tf` | `foxglove.FrameTransforms` | pose of every body that moves, in the frame `world` (`world_` where a body that moves is called so) |
//! | `/scene` | `foxglove.SceneUpdate` | shapes of all bodies, once |
//! | `/joint_states` | `foxglove.JointStates` | position, velocity and effort of joints of one dof of robots |
//! | `/contacts` | `delassus.Contacts` | bodies, point, normal, force and gap of every contact |
//! | `/contact_arrows` | `foxglove.SceneUpdate` | the same as arrows |

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use delassus::World;
use delassus::collide::Shape;
use delassus::world::MovedBy;
use glam::{DQuat, DVec3};
use mcap::records::MessageHeader;
use mcap::{McapError, WriteOptions, Writer};
use serde_json::{Value, json};

use super::{ExportError, GROUND, Written, colour, triangles};
use crate::census;
use crate::disk::{DiskError, Unnamed};
use crate::dynamics::{Push, efforts};

const TF: (&str, &str) = ("/tf", "foxglove.FrameTransforms");
const SCENE: (&str, &str) = ("/scene", "foxglove.SceneUpdate");
const JOINTS: (&str, &str) = ("/joint_states", "foxglove.JointStates");
const CONTACTS: (&str, &str) = ("/contacts", "delassus.Contacts");
const ARROWS: (&str, &str) = ("/contact_arrows", "foxglove.SceneUpdate");
const TOPICS: [(&str, &str); 5] = [TF, SCENE, JOINTS, CONTACTS, ARROWS];
/// The frame of the world, unless a body that moves has its name.
const WORLD: &str = "world";
/// Length of the arrow of the weight of all bodies that move \[m\].
const ARROW: f64 = 1.0;

/// A file being written.
pub(crate) struct Mcap {
    writer: Writer<BufWriter<File>>,
    unnamed: Unnamed,
    /// The frame of the world.
    root: String,
    channels: BTreeMap<&'static str, u16>,
    moving: Vec<usize>,
    /// Newtons per metre of an arrow.
    scale: f64,
    count: u32,
    last: Option<u64>,
}

impl Mcap {
    pub(super) fn create(path: &Path, world: &World) -> Result<Mcap, ExportError> {
        let (unnamed, file) = Unnamed::create(path)?;
        let fault = |cause: McapError| ExportError::Mcap {
            path: path.to_owned(),
            cause: Box::new(cause),
        };
        // Uncompressed, so that every reader reads it.
        let options = WriteOptions::new().compression(None).library("delassus");
        let writer = options.create(BufWriter::new(file)).map_err(fault)?;
        let bodies = world.bodies();
        let moving = census::moving(world);
        let weight: f64 =
            moving.iter().map(|&i| bodies.mass[i]).sum::<f64>() * world.gravity.length();
        let mut mcap = Mcap {
            writer,
            unnamed,
            root: root(world, &moving),
            channels: BTreeMap::new(),
            moving,
            scale: if 0.0 < weight && weight.is_finite() {
                weight / ARROW
            } else {
                1.0
            },
            count: 0,
            last: None,
        };
        for (topic, schema) in TOPICS {
            let text = schema_text(schema).to_string();
            let schema = mcap
                .writer
                .add_schema(schema, "jsonschema", text.as_bytes());
            let schema = schema.map_err(fault)?;
            let channel = mcap
                .writer
                .add_channel(schema, topic, "json", &BTreeMap::new());
            mcap.channels.insert(topic, channel.map_err(fault)?);
        }
        Ok(mcap)
    }

    pub(super) fn frame(&mut self, world: &World) -> Result<(), ExportError> {
        let nanoseconds = (1e9 * world.time()).round().max(0.0) as u64;
        if self.last.is_some_and(|last| nanoseconds <= last) {
            return Ok(());
        }
        let first = self.last.replace(nanoseconds).is_none();
        let stamp =
            json!({ "sec": nanoseconds / 1_000_000_000, "nsec": nanoseconds % 1_000_000_000 });
        if first {
            self.put(SCENE.0, nanoseconds, &shapes(world, &self.root, &stamp))?;
        }
        let transforms = self.transforms(world, &stamp);
        self.put(TF.0, nanoseconds, &transforms)?;
        if !world.robots().is_empty() {
            self.put(JOINTS.0, nanoseconds, &joint_states(world, &stamp))?;
        }
        let pushes: Vec<Push> = Push::all(world).collect();
        self.put(CONTACTS.0, nanoseconds, &contacts(world, &pushes, &stamp))?;
        let arrows = arrows(&pushes, self.scale, entity(&self.root, "contacts", &stamp));
        self.put(ARROWS.0, nanoseconds, &arrows)
    }

    fn put(&mut self, topic: &str, time: u64, message: &Value) -> Result<(), ExportError> {
        let header = MessageHeader {
            channel_id: self.channels.get(topic).copied().unwrap_or_default(),
            sequence: self.count,
            log_time: time,
            publish_time: time,
        };
        self.count = self.count.wrapping_add(1);
        let text = message.to_string();
        let written = self.writer.write_to_known_channel(&header, text.as_bytes());
        written.map_err(|cause| self.fault(cause))
    }

    fn fault(&self, cause: McapError) -> ExportError {
        ExportError::Mcap {
            path: self.unnamed.path().to_owned(),
            cause: Box::new(cause),
        }
    }

    /// Ends the file.
    pub(super) fn close(mut self) -> Result<Written, ExportError> {
        if let Err(cause) = self.writer.finish() {
            return Err(self.fault(cause));
        }
        let path = self.unnamed.path().to_owned();
        let file = self.writer.into_inner().into_inner();
        let file = file.map_err(|error| error.into_error());
        let file = file.map_err(DiskError::denied(&path, "write"))?;
        self.unnamed.name(file)?;
        Ok(Written { path, left_out: 0 })
    }

    fn transforms(&self, world: &World, stamp: &Value) -> Value {
        let bodies = world.bodies();
        let transform = |&i: &usize| {
            json!({
                "timestamp": stamp,
                "parent_frame_id": self.root,
                "child_frame_id": bodies.name[i],
                "translation": vector(bodies.position[i]),
                "rotation": quaternion(bodies.orientation[i]),
            })
        };
        json!({ "transforms": self.moving.iter().map(transform).collect::<Vec<Value>>() })
    }
}

/// A name for the frame of the world that no body has which moves, and so has a frame of its own.
fn root(world: &World, moving: &[usize]) -> String {
    let names = &world.bodies().name;
    let mut root = WORLD.to_owned();
    while moving.iter().any(|&i| names[i] == root) {
        root.push('_');
    }
    root
}

fn vector(v: DVec3) -> Value {
    json!({ "x": v.x, "y": v.y, "z": v.z })
}

fn quaternion(q: DQuat) -> Value {
    json!({ "x": q.x, "y": q.y, "z": q.z, "w": q.w })
}

/// An entity of a scene with every list it must have.
fn entity(frame: &str, id: &str, stamp: &Value) -> Value {
    json!({
        "timestamp": stamp, "frame_id": frame, "id": id, "lifetime": { "sec": 0, "nsec": 0 }, "frame_locked": true,
        "metadata": [], "arrows": [], "cubes": [], "spheres": [], "cylinders": [], "lines": [], "triangles": [],
        "texts": [], "models": [],
    })
}

fn push(list: &mut Value, item: Value) {
    if let Value::Array(list) = list {
        list.push(item);
    }
}

/// Every body with its shapes: those that move in their own frame, the others where they are.
fn shapes(world: &World, root: &str, stamp: &Value) -> Value {
    let bodies = world.bodies();
    let mut entities: BTreeMap<usize, Value> = BTreeMap::new();
    for collider in world.colliders() {
        let i = collider.body;
        if bodies.motion[i] == MovedBy::Gone {
            continue;
        }
        let moves = bodies.motion[i] != MovedBy::Static;
        let (position, turn) = match moves {
            true => collider.pose,
            false => (
                bodies.position[i] + bodies.orientation[i] * collider.pose.0,
                bodies.orientation[i] * collider.pose.1,
            ),
        };
        let frame = if moves { bodies.name[i].as_str() } else { root };
        let entity = entities
            .entry(i)
            .or_insert_with(|| entity(frame, &bodies.name[i], stamp));
        let [r, g, b] = colour(world, i);
        let paint = json!({ "r": r, "g": g, "b": b, "a": 1.0 });
        let pose = json!({ "position": vector(position), "orientation": quaternion(turn) });
        let size = |x: f64, y: f64, z: f64| vector(2.0 * DVec3::new(x, y, z));
        match &collider.shape {
            Shape::Sphere { radius: r } => {
                push(
                    &mut entity["spheres"],
                    json!({ "pose": pose, "size": size(*r, *r, *r), "color": paint }),
                );
            }
            Shape::Box { half: [x, y, z] } => {
                push(
                    &mut entity["cubes"],
                    json!({ "pose": pose, "size": size(*x, *y, *z), "color": paint }),
                );
            }
            Shape::Cylinder {
                half_length,
                radius: r,
            } => push(
                &mut entity["cylinders"],
                json!({ "pose": pose, "size": size(*r, *r, *half_length), "bottom_scale": 1.0, "top_scale": 1.0, "color": paint }),
            ),
            Shape::HalfSpace => {
                let flat = json!({ "x": 2.0 * GROUND, "y": 2.0 * GROUND, "z": 1e-3 });
                push(
                    &mut entity["cubes"],
                    json!({ "pose": pose, "size": flat, "color": paint }),
                );
            }
            other => {
                if let Some((points, corners)) = triangles(other) {
                    let points: Vec<Value> =
                        points.iter().map(|p| vector(DVec3::from(*p))).collect();
                    let indices: Vec<u32> = corners.into_iter().flatten().collect();
                    push(
                        &mut entity["triangles"],
                        json!({ "pose": pose, "points": points, "color": paint, "colors": [], "indices": indices }),
                    );
                }
            }
        }
    }
    json!({ "deletions": [], "entities": entities.into_values().collect::<Vec<Value>>() })
}

/// Joints of one dof, by `robot/joint` where there are several robots.
fn joint_states(world: &World, stamp: &Value) -> Value {
    let mut joints = Vec::new();
    for (r, robot) in world.robots().iter().enumerate() {
        let efforts = efforts(world, r);
        for joint in robot.joints().iter().filter(|joint| joint.dofs() == 1) {
            let name = match world.robots().len() {
                1 => joint.name.clone(),
                _ => format!("{}/{}", robot.name(), joint.name),
            };
            joints.push(json!({
                "name": name,
                "position": robot.configuration()[joint.coordinate()],
                "velocity": robot.velocity()[joint.dof()],
                "effort": efforts[joint.dof()].drive,
            }));
        }
    }
    json!({ "timestamp": stamp, "joints": joints })
}

fn contacts(world: &World, pushes: &[Push], stamp: &Value) -> Value {
    let names = &world.bodies().name;
    let contact = |push: &Push| {
        json!({
            "first": names[push.bodies.0],
            "second": names[push.bodies.1],
            "point": vector(push.point),
            "normal": vector(push.normal),
            "force": vector(push.force),
            "gap": push.gap,
        })
    };
    json!({ "timestamp": stamp, "contacts": pushes.iter().map(contact).collect::<Vec<Value>>() })
}

/// Forces on the first bodies as arrows of an entity, which replaces that of the frame before.
fn arrows(pushes: &[Push], scale: f64, mut entity: Value) -> Value {
    for contact in pushes {
        let length = contact.force.length() / scale;
        let Some(direction) = contact.force.try_normalize() else {
            continue;
        };
        let turn = DQuat::from_rotation_arc(DVec3::X, direction);
        push(
            &mut entity["arrows"],
            json!({
                "pose": { "position": vector(contact.point), "orientation": quaternion(turn) },
                "shaft_length": 0.8 * length, "shaft_diameter": 0.02, "head_length": 0.2 * length, "head_diameter": 0.05,
                "color": { "r": 0.9, "g": 0.28, "b": 0.3, "a": 1.0 },
            }),
        );
    }
    json!({ "deletions": [], "entities": [entity] })
}

/// The JSON schema of a topic, as far as its own fields go.
fn schema_text(name: &str) -> Value {
    let stamp = json!({ "type": "object", "title": "time", "properties": { "sec": { "type": "integer" }, "nsec": { "type": "integer" } } });
    let number = json!({ "type": "number" });
    let text = json!({ "type": "string" });
    let three =
        json!({ "type": "object", "properties": { "x": number, "y": number, "z": number } });
    let four = json!({ "type": "object", "properties": { "x": number, "y": number, "z": number, "w": number } });
    let list = |properties: Value| json!({ "type": "array", "items": { "type": "object", "properties": properties } });
    let properties = match name {
        "foxglove.FrameTransforms" => json!({ "transforms": list(json!({
            "timestamp": stamp, "parent_frame_id": text, "child_frame_id": text, "translation": three, "rotation": four,
        })) }),
        "foxglove.JointStates" => json!({ "timestamp": stamp, "joints": list(json!({
            "name": text, "position": number, "velocity": number, "effort": number,
        })) }),
        "delassus.Contacts" => json!({ "timestamp": stamp, "contacts": list(json!({
            "first": text, "second": text, "point": three, "normal": three, "force": three, "gap": number,
        })) }),
        _ => json!({ "deletions": list(json!({})), "entities": list(json!({
            "timestamp": stamp, "frame_id": text, "id": text,
        })) }),
    };
    json!({ "title": name, "type": "object", "properties": properties })
}

#[cfg(test)]
mod tests {
    use delassus::{WorldBuilder, world::Body};

    use super::*;

    fn named(names: &[&str]) -> World {
        let mut builder = WorldBuilder::default();
        for name in names {
            let name = (*name).to_owned();
            builder
                .add_body(Body {
                    name,
                    ..Body::default()
                })
                .unwrap();
        }
        builder.build().unwrap()
    }

    #[test]
    fn a_body_called_world_does_not_take_the_frame_of_the_world() {
        assert_eq!(root(&named(&["stone"]), &[0]), "world");
        // Without a frame of its own it is in nobody's way.
        assert_eq!(root(&named(&["world"]), &[]), "world");
        let world = named(&["world", "world_"]);
        let name = format!("delassus-mcap-{}.mcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mcap = Mcap::create(&path, &world).unwrap();
        let poses = mcap.transforms(&world, &Value::Null);
        for (pose, child) in [(0, "world"), (1, "world_")] {
            let pose = &poses["transforms"][pose];
            assert_eq!(pose["child_frame_id"], child);
            assert_eq!(pose["parent_frame_id"], "world__");
        }
        drop(mcap);
        assert!(!path.exists());
    }
}
