//! What does not change from frame to frame: bodies, shapes, joints, and where to look from.

use std::collections::HashMap;

use delassus::World;
use delassus::collide::Shape;
use delassus::world::{MovedBy, Robot};
use glam::{DMat3, DQuat, DVec3};
use serde::Serialize;

use crate::dials::{DialLine, KeyframeLine, dial_lines, keyframe_lines};
use crate::recording::Tape;

/// A scene as the page builds it.
#[derive(Debug, Serialize)]
pub(crate) struct Layout {
    #[serde(rename = "type")]
    kind: &'static str,
    /// Counts layouts: frames say to which they belong.
    epoch: u32,
    name: String,
    title: String,
    bodies: Vec<BodyLine>,
    /// Every shape once.
    shapes: Vec<Shape>,
    colliders: Vec<ColliderLine>,
    joints: Vec<JointLine>,
    /// Joints of robots that can be turned by hand.
    dials: Vec<DialLine>,
    /// States that robots come with.
    keyframes: Vec<KeyframeLine>,
    bounds: Bounds,
    /// Places to look from that the scene has.
    cameras: Vec<CameraLine>,
    /// Where it is a recording: its frames and plots.
    recording: Option<Tape>,
}

#[derive(Debug, Serialize)]
struct BodyLine {
    name: String,
    motion: MovedBy,
    mass: f64,
    position: [f64; 3],
    /// x, y, z, w.
    orientation: [f64; 4],
    /// Its place among the poses of a frame; none where it never moves.
    pose: Option<u32>,
    /// The link that carries it, for a link of a robot.
    parent: Option<u32>,
    /// Red, green and blue from 0 to 1, where the scene says.
    colour: Option<[f64; 3]>,
}

#[derive(Debug, Serialize)]
struct ColliderLine {
    body: usize,
    shape: usize,
    position: [f64; 3],
    rotation: [f64; 4],
}

#[derive(Debug, Serialize)]
struct JointLine {
    name: String,
    kind: &'static str,
    bodies: [Option<u32>; 2],
    frames: [FrameLine; 2],
}

#[derive(Debug, Serialize)]
struct FrameLine {
    origin: [f64; 3],
    axes: [f64; 4],
}

#[derive(Debug, Serialize)]
struct CameraLine {
    name: String,
    position: [f64; 3],
    target: [f64; 3],
    up: [f64; 3],
    /// Height of its picture as an angle \[degrees\].
    field: f64,
}

/// A box to look at \[m\].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Bounds {
    low: [f64; 3],
    high: [f64; 3],
}

/// Bodies that have a pose in every frame, in order.
pub(crate) fn moving(world: &World) -> Vec<usize> {
    let bodies = world.bodies();
    (0..bodies.len())
        .filter(|&i| bodies.motion[i] != MovedBy::Static)
        .collect()
}

impl Layout {
    pub(crate) fn of(
        (epoch, name, title): (u32, &str, &str),
        world: &World,
        recording: Option<Tape>,
    ) -> Layout {
        let (shapes, colliders) = shapes(world);
        Layout {
            kind: "scene",
            epoch,
            name: name.to_owned(),
            title: title.to_owned(),
            bodies: bodies(world),
            shapes,
            colliders,
            joints: joints(world),
            dials: dial_lines(world),
            keyframes: keyframe_lines(world),
            bounds: Bounds::of(world),
            cameras: cameras(world),
            recording,
        }
    }
}

fn bodies(world: &World) -> Vec<BodyLine> {
    let bodies = world.bodies();
    let mut poses = 0..;
    let parents = parents(world);
    let line = |i: usize| BodyLine {
        name: bodies.name[i].clone(),
        motion: bodies.motion[i],
        mass: bodies.mass[i],
        position: bodies.position[i].to_array(),
        orientation: bodies.orientation[i].to_array(),
        pose: (bodies.motion[i] != MovedBy::Static)
            .then(|| poses.next())
            .flatten(),
        parent: parents[i],
        colour: world.look.colours.get(&delassus::BodyId(i as u32)).copied(),
    };
    (0..bodies.len()).map(line).collect()
}

fn cameras(world: &World) -> Vec<CameraLine> {
    let line = |camera: &delassus::world::Camera| CameraLine {
        name: camera.name.clone(),
        position: camera.position.to_array(),
        target: camera.target.to_array(),
        up: camera.up.to_array(),
        field: camera.field.to_degrees(),
    };
    world.look.cameras.iter().map(line).collect()
}

/// The body that carries each link.
fn parents(world: &World) -> Vec<Option<u32>> {
    let mut parents = vec![None; world.bodies().len()];
    for robot in world.robots() {
        for (i, link) in robot.tree().links().iter().enumerate() {
            let own = robot.body(delassus::LinkId(i as u32));
            let parent = link.parent.and_then(|id| robot.body(id));
            if let (Some(own), Some(parent)) = (own, parent) {
                parents[own.index()] = Some(parent.0);
            }
        }
    }
    parents
}

/// Ten thousand equal balls are one shape.
fn shapes(world: &World) -> (Vec<Shape>, Vec<ColliderLine>) {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut shapes = Vec::new();
    let mut lines = Vec::with_capacity(world.colliders().len());
    // What was taken away is not shown.
    let there = |c: &&delassus::collide::Collider| world.bodies().motion[c.body] != MovedBy::Gone;
    for collider in world.colliders().iter().filter(there) {
        let key = serde_json::to_string(&collider.shape).expect("shapes are plain data");
        let shape = *known.entry(key).or_insert_with(|| {
            shapes.push(collider.shape.clone());
            shapes.len() - 1
        });
        lines.push(ColliderLine {
            body: collider.body,
            shape,
            position: collider.pose.0.to_array(),
            rotation: collider.pose.1.to_array(),
        });
    }
    (shapes, lines)
}

fn joints(world: &World) -> Vec<JointLine> {
    let line = |joint: &delassus::world::Joint| JointLine {
        name: joint.name.clone(),
        kind: joint.kind.name(),
        bodies: joint.bodies.map(|link| link.map(|id| id.0)),
        frames: joint.frames.map(|frame| FrameLine {
            origin: frame.origin.to_array(),
            axes: frame.axes.to_array(),
        }),
    };
    let robots = world.robots().iter().flat_map(robot_joints);
    world.joints().iter().map(line).chain(robots).collect()
}

/// Joints of a robot: their frame is that of the link they carry, seen from both sides.
fn robot_joints(robot: &Robot) -> impl Iterator<Item = JointLine> {
    let links = robot.tree().links();
    robot.joints().iter().map(move |joint| {
        let link = &links[joint.link.index()];
        let parent = link.parent;
        let centre = parent.map_or(DVec3::ZERO, |id| links[id.index()].body.com);
        let body = |id| robot.body(id).map(|body| body.0);
        let frame = |origin: DVec3, axes: DQuat| FrameLine {
            origin: origin.to_array(),
            axes: axes.to_array(),
        };
        JointLine {
            name: joint.name.clone(),
            kind: "robot",
            bodies: [body(joint.link), parent.and_then(body)],
            frames: [
                frame(-link.body.com, DQuat::IDENTITY),
                frame(
                    link.place.position - centre,
                    DQuat::from_mat3(&link.place.rotation),
                ),
            ],
        }
    })
}

impl Bounds {
    /// Everything finite, and the room below for what hangs.
    fn of(world: &World) -> Bounds {
        let bodies = world.bodies();
        let mut low = DVec3::splat(f64::INFINITY);
        let mut high = -low;
        let mut add = |centre: DVec3, half: DVec3| {
            low = low.min(centre - half);
            high = high.max(centre + half);
        };
        let mut floor = false;
        for collider in world.colliders() {
            let Some((centre, half)) = extent(&collider.shape) else {
                floor = true;
                continue;
            };
            let turn = bodies.orientation[collider.body] * collider.pose.1;
            let at = bodies.to_world(
                delassus::BodyId(collider.body as u32),
                collider.pose.0 + collider.pose.1 * centre,
            );
            add(at, absolute(turn) * half);
        }
        for position in (0..bodies.len())
            .filter(|&i| bodies.motion[i] != MovedBy::Static)
            .map(|i| bodies.position[i])
        {
            add(position, DVec3::ZERO);
        }
        let anchors = world.joints().iter().filter_map(|joint| {
            let world_side = joint.bodies.iter().position(Option::is_none)?;
            Some(joint.frames[world_side].origin)
        });
        let anchors: Vec<DVec3> = anchors.collect();
        for anchor in &anchors {
            add(*anchor, DVec3::ZERO);
        }
        // What hangs from one point can swing below it as far as it reaches.
        if let ([anchor], false) = (anchors.as_slice(), floor) {
            let far = bodies.position.iter().map(|x| (*x - *anchor).length());
            let far = far.fold(0.0, f64::max);
            add(*anchor - DVec3::Z * far, DVec3::ZERO);
        }
        if !(low.is_finite() && high.is_finite()) {
            (low, high) = (DVec3::splat(-1.0), DVec3::ONE);
        }
        if floor {
            low.z = low.z.min(0.0);
        }
        Bounds {
            low: low.to_array(),
            high: high.to_array(),
        }
    }
}

/// Half-edges of the box around a turned box, per half-edge: |R|.
fn absolute(turn: DQuat) -> DMat3 {
    let turn = DMat3::from_quat(turn);
    DMat3::from_cols(turn.x_axis.abs(), turn.y_axis.abs(), turn.z_axis.abs())
}

/// Centre and half-edges of a shape in its own frame; none for ground without end.
fn extent(shape: &Shape) -> Option<(DVec3, DVec3)> {
    let cloud = |points: &[[f64; 3]]| {
        let start = (DVec3::splat(f64::INFINITY), DVec3::splat(f64::NEG_INFINITY));
        let (low, high) = points.iter().fold(start, |(low, high), point| {
            let point = DVec3::from(*point);
            (low.min(point), high.max(point))
        });
        (0.5 * (low + high), 0.5 * (high - low))
    };
    Some(match shape {
        Shape::Sphere { radius } => (DVec3::ZERO, DVec3::splat(*radius)),
        Shape::Box { half } => (DVec3::ZERO, DVec3::from(*half)),
        Shape::Capsule {
            half_length,
            radius,
        } => (
            DVec3::ZERO,
            DVec3::new(*radius, *radius, half_length + radius),
        ),
        Shape::Cylinder {
            half_length,
            radius,
        } => (DVec3::ZERO, DVec3::new(*radius, *radius, *half_length)),
        Shape::Hull { points } => cloud(points),
        Shape::Mesh { vertices, .. } => cloud(vertices),
        Shape::HeightField { heights, size, .. } => {
            let highest = heights.iter().fold(0.0, |m: f64, x| m.max(x.abs())) * size[2].abs();
            (
                DVec3::ZERO,
                DVec3::new(0.5 * size[0], 0.5 * size[1], highest),
            )
        }
        Shape::HalfSpace => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use delassus::scenes;

    #[test]
    fn equal_shapes_are_sent_once_and_every_scene_has_bounds() {
        for exhibit in scenes::exhibits() {
            let scene = scenes::build(exhibit.name).unwrap();
            let layout = Layout::of((1, exhibit.name, &scene.title), &scene.world, None);
            assert_eq!(layout.colliders.len(), scene.world.colliders().len());
            assert!(layout.shapes.len() <= layout.colliders.len());
            let bounds = layout.bounds;
            for axis in 0..3 {
                let size = bounds.high[axis] - bounds.low[axis];
                assert!((0.0..1e3).contains(&size), "{}: {bounds:?}", exhibit.name);
            }
        }
        let pile = scenes::build("pile:100").unwrap();
        assert_eq!(shapes(&pile.world).0.len(), 2, "balls and planes");
    }
}
