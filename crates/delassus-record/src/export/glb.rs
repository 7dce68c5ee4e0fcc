//! An animation as binary glTF 2.0: one node for each body, one animation with a channel for every place and turn.
//!
//! glTF has y up and looks along −z; the root node turns the scene, which has z up.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use delassus::World;
use delassus::collide::Shape;
use delassus::world::MovedBy;
use glam::{DMat3, DQuat, DVec3, Quat};
use serde_json::{Value, json};

use super::{ExportError, Written, colour, triangles};
use crate::census;
use crate::disk::{DiskError, Unnamed};

const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
/// Where a buffer view is used: points, and indices of them.
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;
/// Turns z up into y up: −90° about x.
const UPRIGHT: [f64; 4] = [
    -std::f64::consts::FRAC_1_SQRT_2,
    0.0,
    0.0,
    std::f64::consts::FRAC_1_SQRT_2,
];

/// Frames collected until the run ends: the head of the file says where everything stands.
pub(crate) struct Glb {
    file: File,
    unnamed: Unnamed,
    moving: Vec<usize>,
    /// Times of the first frame and of the last one that was offered \[s\].
    span: Option<(f64, f64)>,
    /// Times after the first frame \[s\].
    times: Vec<f32>,
    /// Frames whose time is no later than the one before, in so few digits.
    left_out: usize,
    /// Place and turn of each body that moves, frame by frame.
    places: Vec<Vec<[f32; 3]>>,
    turns: Vec<Vec<[f32; 4]>>,
}

/// The binary part with the views and accessors that describe it.
#[derive(Default)]
struct Binary {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Binary {
    /// Adds numbers and gives their accessor.
    fn add<const N: usize>(
        &mut self,
        rows: &[[f32; N]],
        (kind, target): (&str, Option<u32>),
    ) -> usize {
        let bytes: Vec<u8> = rows
            .iter()
            .flatten()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let mut low = [f32::INFINITY; N];
        let mut high = [f32::NEG_INFINITY; N];
        for row in rows {
            for k in 0..N {
                low[k] = low[k].min(row[k]);
                high[k] = high[k].max(row[k]);
            }
        }
        let view = self.view(&bytes, target);
        let (min, max) = (low.to_vec(), high.to_vec());
        self.accessors.push(json!({
            "bufferView": view, "componentType": FLOAT, "count": rows.len(), "type": kind, "min": min, "max": max,
        }));
        self.accessors.len() - 1
    }

    fn add_indices(&mut self, triangles: &[[u32; 3]]) -> usize {
        let numbers = triangles.iter().flatten();
        let bytes: Vec<u8> = numbers.flat_map(|i| i.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(INDICES));
        self.accessors.push(json!({
            "bufferView": view, "componentType": UNSIGNED_INT, "count": 3 * triangles.len(), "type": "SCALAR",
        }));
        self.accessors.len() - 1
    }

    fn view(&mut self, bytes: &[u8], target: Option<u32>) -> usize {
        let mut view =
            json!({ "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len() });
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.bytes.extend(bytes);
        self.views.push(view);
        self.views.len() - 1
    }
}

impl Glb {
    /// Refuses a place that cannot be written before anything is run.
    pub(super) fn create(path: &Path, world: &World) -> Result<Glb, ExportError> {
        let (unnamed, file) = Unnamed::create(path)?;
        let moving = census::moving(world);
        Ok(Glb {
            file,
            unnamed,
            span: None,
            times: Vec::new(),
            left_out: 0,
            places: vec![Vec::new(); moving.len()],
            turns: vec![Vec::new(); moving.len()],
            moving,
        })
    }

    pub(super) fn frame(&mut self, world: &World) {
        let bodies = world.bodies();
        let now = world.time();
        // The end of a run may be offered twice.
        if self.span.is_some_and(|(_, last)| now <= last) {
            return;
        }
        let first = self.span.map_or(now, |(first, _)| first);
        self.span = Some((first, now));
        // From the first frame on: a run that is resumed late would have no digits left for its steps.
        let time = (now - first) as f32;
        // Times must grow.
        if self.times.last().is_some_and(|last| time <= *last) {
            self.left_out += 1;
            return;
        }
        self.times.push(time);
        for (k, &i) in self.moving.iter().enumerate() {
            let turn = bodies.orientation[i].normalize().as_quat();
            let last = self.turns[k].last().map(|last| Quat::from_array(*last));
            // q and −q are the same turn; the nearer one is what one looks at in between.
            let near = match last {
                Some(last) if last.dot(turn) < 0.0 => -turn,
                _ => turn,
            };
            self.turns[k].push(near.to_array());
            self.places[k].push(bodies.position[i].as_vec3().to_array());
        }
    }

    /// Writes the file.
    pub(super) fn close(mut self, world: &World) -> Result<Written, ExportError> {
        let path = self.unnamed.path().to_owned();
        let bytes = self.bytes(world);
        let bytes = bytes.ok_or_else(|| ExportError::TooLong { path: path.clone() })?;
        let written = self.file.write_all(&bytes);
        written.map_err(DiskError::denied(&path, "write"))?;
        self.unnamed.name(self.file)?;
        Ok(Written {
            path,
            left_out: self.left_out,
        })
    }

    /// All of the file; none where it is too long.
    fn bytes(&self, world: &World) -> Option<Vec<u8>> {
        let mut binary = Binary::default();
        let (mut nodes, meshes, materials) = scene(world, &mut binary);
        let times: Vec<[f32; 1]> = self.times.iter().map(|t| [*t]).collect();
        let (mut samplers, mut channels) = (Vec::new(), Vec::new());
        if !times.is_empty() {
            let input = binary.add(&times, ("SCALAR", None));
            for (k, &body) in self.moving.iter().enumerate() {
                let places = binary.add(&self.places[k], ("VEC3", None));
                let turns = binary.add(&self.turns[k], ("VEC4", None));
                for (output, path) in [(places, "translation"), (turns, "rotation")] {
                    let target = json!({ "node": body + 1, "path": path });
                    channels.push(json!({ "sampler": samplers.len(), "target": target }));
                    samplers.push(
                        json!({ "input": input, "output": output, "interpolation": "LINEAR" }),
                    );
                }
            }
        }
        let mut children: Vec<usize> = (1..=world.bodies().len()).collect();
        let cameras = cameras(world, &mut nodes, &mut children);
        nodes[0] = match children.is_empty() {
            true => json!({ "name": "world", "rotation": UPRIGHT }),
            false => json!({ "name": "world", "rotation": UPRIGHT, "children": children }),
        };
        let mut document = json!({
            "asset": { "version": "2.0", "generator": "delassus" },
            "scene": 0,
            "scenes": [{ "nodes": [0] }],
            "nodes": nodes,
        });
        // Lists must not be empty.
        let mut put = |key: &str, list: Vec<Value>| {
            if !list.is_empty() {
                document[key] = Value::Array(list);
            }
        };
        put("cameras", cameras);
        put("meshes", meshes);
        put("materials", materials);
        if !channels.is_empty() {
            put(
                "animations",
                vec![json!({ "name": "run", "samplers": samplers, "channels": channels })],
            );
        }
        binary
            .bytes
            .resize(binary.bytes.len().next_multiple_of(4), 0);
        put("bufferViews", binary.views);
        put("accessors", binary.accessors);
        if !binary.bytes.is_empty() {
            put("buffers", vec![json!({ "byteLength": binary.bytes.len() })]);
        }
        container(&document, &binary.bytes)
    }
}

/// Twelve bytes of head, then JSON and binary as chunks; none where a length does not fit.
fn container(document: &Value, binary: &[u8]) -> Option<Vec<u8>> {
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let whole = |n: usize| u32::try_from(n).ok().map(u32::to_le_bytes);
    let mut bytes = b"glTF".to_vec();
    bytes.extend(2u32.to_le_bytes());
    let extra = if binary.is_empty() {
        0
    } else {
        8 + binary.len()
    };
    bytes.extend(whole(12 + 8 + text.len() + extra)?);
    bytes.extend(whole(text.len())?);
    bytes.extend(b"JSON");
    bytes.extend(text);
    if !binary.is_empty() {
        bytes.extend(whole(binary.len())?);
        bytes.extend(b"BIN\0");
        bytes.extend(binary);
    }
    Some(bytes)
}

/// Cameras of a scene, each with a node of its own: a camera of glTF looks along −z and has y up.
fn cameras(world: &World, nodes: &mut Vec<Value>, children: &mut Vec<usize>) -> Vec<Value> {
    let mut cameras = Vec::new();
    for camera in &world.look.cameras {
        let back = (camera.position - camera.target).normalize_or(DVec3::Z);
        let side = camera.up.cross(back).normalize_or(DVec3::X);
        let turn = DQuat::from_mat3(&DMat3::from_cols(side, back.cross(side), back));
        children.push(nodes.len());
        nodes.push(json!({
            "name": camera.name, "camera": cameras.len(),
            "translation": camera.position.to_array(), "rotation": turn.normalize().to_array(),
        }));
        cameras.push(json!({
            "name": camera.name, "type": "perspective", "perspective": { "yfov": camera.field, "znear": 0.01 },
        }));
    }
    cameras
}

/// Nodes (a place for the root, then one per body, then one per collider), meshes and materials.
fn scene(world: &World, binary: &mut Binary) -> (Vec<Value>, Vec<Value>, Vec<Value>) {
    let bodies = world.bodies();
    let mut nodes = vec![Value::Null];
    for i in 0..bodies.len() {
        let (x, q) = (bodies.position[i], bodies.orientation[i].normalize());
        nodes.push(json!({ "name": bodies.name[i], "translation": x.to_array(), "rotation": q.to_array() }));
    }
    let (mut meshes, mut materials) = (Vec::new(), Vec::new());
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut colours: Vec<[f64; 3]> = Vec::new();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); bodies.len()];
    for collider in world.colliders() {
        // What was taken away is not shown.
        if bodies.motion[collider.body] == MovedBy::Gone {
            continue;
        }
        let paint = colour(world, collider.body);
        let material = colours.iter().position(|c| *c == paint);
        let material = material.unwrap_or_else(|| {
            let [r, g, b] = paint.map(linear);
            materials.push(json!({
                "pbrMetallicRoughness": { "baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.7 },
                "doubleSided": true,
            }));
            colours.push(paint);
            colours.len() - 1
        });
        let key = format!(
            "{material} {}",
            serde_json::to_string(&collider.shape).unwrap_or_default()
        );
        let mesh = match known.get(&key) {
            Some(mesh) => *mesh,
            None => {
                let Some(mesh) = mesh(&collider.shape, material, binary) else {
                    continue;
                };
                meshes.push(mesh);
                known.insert(key, meshes.len() - 1);
                meshes.len() - 1
            }
        };
        let (position, turn): (_, DQuat) = collider.pose;
        children[collider.body].push(nodes.len());
        nodes.push(json!({
            "mesh": mesh, "translation": position.to_array(), "rotation": turn.normalize().to_array(),
        }));
    }
    for (i, list) in children
        .into_iter()
        .enumerate()
        .filter(|(_, list)| !list.is_empty())
    {
        nodes[i + 1]["children"] = list.into();
    }
    (nodes, meshes, materials)
}

fn mesh(shape: &Shape, material: usize, binary: &mut Binary) -> Option<Value> {
    let (points, triangles) = triangles(shape)?;
    let rows: Vec<[f32; 3]> = points.iter().map(|p| p.map(|x| x as f32)).collect();
    let position = binary.add(&rows, ("VEC3", Some(VERTICES)));
    let mut attributes = json!({ "POSITION": position });
    // Without normals a viewer shows flat faces, as a box has them.
    if matches!(shape, Shape::Sphere { .. } | Shape::Capsule { .. }) {
        attributes["NORMAL"] = binary
            .add(&normals(&rows, &triangles), ("VEC3", Some(VERTICES)))
            .into();
    }
    let indices = binary.add_indices(&triangles);
    Some(
        json!({ "primitives": [{ "attributes": attributes, "indices": indices, "material": material }] }),
    )
}

/// Unit normals at points: sums over the triangles there, each by its area.
fn normals(points: &[[f32; 3]], triangles: &[[u32; 3]]) -> Vec<[f32; 3]> {
    let mut sums = vec![glam::Vec3::ZERO; points.len()];
    for triangle in triangles {
        let [a, b, c] = triangle.map(|i| glam::Vec3::from(points[i as usize]));
        let area = (b - a).cross(c - a);
        triangle.iter().for_each(|&i| sums[i as usize] += area);
    }
    let unit = |sum: &glam::Vec3| sum.try_normalize().unwrap_or(glam::Vec3::Z).to_array();
    sums.iter().map(unit).collect()
}

/// From the colour of a screen to the strength of light (sRGB).
fn linear(x: f64) -> f64 {
    match x <= 0.04045 {
        true => x / 12.92,
        false => ((x + 0.055) / 1.055).powf(2.4),
    }
}

#[cfg(test)]
mod tests {
    use delassus::{GaussSeidel, WorldBuilder, world::Body};

    use super::*;

    #[test]
    fn frames_that_single_precision_cannot_tell_apart_are_counted() {
        let mut builder = WorldBuilder::default();
        builder.add_body(Body::default()).unwrap();
        let mut world = builder.build().unwrap();
        let name = format!("delassus-glb-{}.glb", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut glb = Glb::create(&path, &world).unwrap();
        for dt in [1.0, 1e-9, 1e-9, 1.0] {
            glb.frame(&world);
            world.step(dt, &mut GaussSeidel::default()).unwrap();
        }
        // The end is offered twice, and that is not counted.
        glb.frame(&world);
        glb.frame(&world);
        assert_eq!((glb.times.len(), glb.left_out), (3, 2));
        assert_eq!(glb.close(&world).unwrap().left_out, 2);
        std::fs::remove_file(&path).unwrap();
    }
}
