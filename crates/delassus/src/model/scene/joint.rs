//! Joints of a scene file. Points and axes are in the world, where the bodies stand at the start.

use std::collections::BTreeMap;

use glam::{DMat3, DQuat, DVec3};

use super::body::Names;
use super::reader::{Table, Value, hint, short};
use super::{MAX_BODIES, SceneError};
use crate::collide::MAX_SIZE;
use crate::index::BodyId;
use crate::world::{
    Bodies, Drive, GearTerm, Joint, JointAxis, JointBody, JointKind, Motor, Servo, WorldBuilder,
};

/// Keys that every kind of joint takes.
const COMMON: [&str; 4] = ["name", "type", "compliance", "damping"];
/// Keys of joints between two bodies.
const PAIR: [&str; 2] = ["bodies", "collide"];
/// Keys of the free coordinate of hinge and slider.
pub(super) const DRIVE: [&str; 4] = ["limits", "motor", "servo", "friction"];

#[derive(Clone, Copy, Debug, PartialEq)]
enum JointWord {
    Ball,
    Hinge,
    Slider,
    Universal,
    Fixed,
    Distance,
    Gear,
    Rolling,
    Cylindrical,
    Planar,
    Spring,
    Screw,
    Rack,
    Pulley,
}

const KINDS: [(&str, JointWord); 14] = [
    ("ball", JointWord::Ball),
    ("hinge", JointWord::Hinge),
    ("slider", JointWord::Slider),
    ("universal", JointWord::Universal),
    ("fixed", JointWord::Fixed),
    ("distance", JointWord::Distance),
    ("gear", JointWord::Gear),
    ("rolling", JointWord::Rolling),
    ("cylindrical", JointWord::Cylindrical),
    ("planar", JointWord::Planar),
    ("spring", JointWord::Spring),
    ("screw", JointWord::Screw),
    ("rack-and-pinion", JointWord::Rack),
    ("pulley", JointWord::Pulley),
];

impl JointWord {
    fn keys(self) -> Vec<&'static str> {
        let mut keys = COMMON.to_vec();
        let own: &[&str] = match self {
            JointWord::Ball | JointWord::Fixed => &["point"],
            JointWord::Hinge => &["point", "axis", "limits-degrees"],
            JointWord::Slider | JointWord::Cylindrical => &["point", "axis"],
            JointWord::Universal => &["point", "axes"],
            JointWord::Distance => &["anchors", "length", "least", "greatest"],
            JointWord::Gear => &["terms"],
            JointWord::Rolling => &["point", "radius", "normal"],
            JointWord::Planar => &["point", "normal"],
            JointWord::Spring => &["anchors", "length", "stiffness"],
            JointWord::Screw => &["point", "axis", "pitch", "limits-degrees"],
            JointWord::Rack => &["point", "axis", "direction", "radius"],
            JointWord::Pulley => &["points", "anchors", "ratio", "length"],
        };
        keys.extend(own);
        // Its damping is a force over a speed, and nothing is held.
        if self == JointWord::Spring {
            keys.retain(|key| *key != "compliance");
        }
        if self != JointWord::Gear {
            keys.extend(PAIR);
        }
        if self.is_driven() {
            keys.extend(DRIVE);
        }
        keys
    }

    /// Whether it takes the keys of a drive.
    fn is_driven(self) -> bool {
        matches!(
            self,
            JointWord::Hinge | JointWord::Slider | JointWord::Cylindrical | JointWord::Screw
        )
    }
}

/// Reads every joint and adds them in the order of their names.
pub(super) fn add_joints(
    scene: &Table,
    names: &Names,
    builder: &mut WorldBuilder,
) -> Result<(), SceneError> {
    let mut named = BTreeMap::new();
    for mut table in scene.tables("joints", MAX_BODIES)? {
        let name = match table.get("name") {
            Some(value) => value.text()?.to_owned(),
            None => spoken_name(&table)?,
        };
        table.what = format!("joint \"{}\"", short(&name));
        if named.contains_key(&name) {
            return Err(table.fault("another joint has this name too; give each its own name"));
        }
        named.insert(name, table);
    }
    for (name, table) in named {
        let joint = Joint {
            name,
            ..read_joint(&table, names, builder)?
        };
        builder
            .add_joint(joint)
            .map_err(|error| table.refuse(error))?;
    }
    Ok(())
}

/// `hinge(crank, rod)` for a joint without a name.
fn spoken_name(table: &Table) -> Result<String, SceneError> {
    let kind = table.need("type", "\"ball\"")?.text()?;
    let mut bodies = Vec::new();
    for body in table.read("bodies", Value::list)?.unwrap_or_default() {
        bodies.push(body.text()?);
    }
    Ok(format!("{kind}({})", bodies.join(", ")))
}

/// The body a value names.
pub(super) fn find(value: &Value, names: &Names) -> Result<BodyId, SceneError> {
    let name = value.text()?;
    names.get(name).copied().ok_or_else(|| {
        let known = names.keys().map(String::as_str);
        value.fault(format!(
            "there is no body \"{}\"; {}",
            short(name),
            hint(name, known)
        ))
    })
}

fn read_links(table: &Table, names: &Names) -> Result<[JointBody; 2], SceneError> {
    let like = "[\"crate\", \"world\"]";
    let value = table.need("bodies", like)?;
    let [a, b] = value.some(like)?;
    let link = |value: &Value| match value.text()? {
        "world" => Ok(None),
        _ => find(value, names).map(Some),
    };
    let links = [link(&a)?, link(&b)?];
    if links[0] == links[1] {
        return Err(value.fault("it joins a body to itself; name two bodies"));
    }
    Ok(links)
}

fn read_joint(table: &Table, names: &Names, builder: &WorldBuilder) -> Result<Joint, SceneError> {
    let kind = table.need("type", "\"ball\"")?.choice(&KINDS)?;
    table.only(&kind.keys())?;
    let mut joint = match kind {
        JointWord::Gear => {
            let terms = JointKind::Gear(read_terms(table, names, builder)?);
            let axis = JointAxis::new(DVec3::ZERO, DVec3::Z);
            Joint::at(builder.bodies(), [None, None], axis, terms)
        }
        _ => read_pair(table, kind, read_links(table, names)?, builder.bodies())?,
    };
    joint.compliance = table
        .read("compliance", Value::not_negative)?
        .unwrap_or(0.0);
    if kind != JointWord::Spring {
        joint.damping = table.read("damping", Value::not_negative)?;
    }
    joint.collide = table.read("collide", Value::flag)?.unwrap_or(false);
    Ok(joint)
}

/// A joint between two bodies.
fn read_pair(
    table: &Table,
    kind: JointWord,
    links: [JointBody; 2],
    bodies: &Bodies,
) -> Result<Joint, SceneError> {
    let middle = || {
        let first = links.iter().flatten().next();
        first.map_or(DVec3::ZERO, |id| bodies.position[id.index()])
    };
    let point = || table.need("point", "[0, 0, 1]")?.vector();
    let near = || -> Result<DVec3, SceneError> {
        Ok(table.read("point", Value::vector)?.unwrap_or_else(middle))
    };
    let axis = || table.need("axis", "[0, 0, 1]")?.direction();
    let normal = || -> Result<DVec3, SceneError> {
        Ok(table.read("normal", Value::direction)?.unwrap_or(DVec3::Z))
    };
    let at = |point, axis, kind| Joint::at(bodies, links, JointAxis::new(point, axis), kind);
    Ok(match kind {
        JointWord::Ball | JointWord::Gear => at(point()?, DVec3::Z, JointKind::Ball),
        JointWord::Fixed => at(near()?, DVec3::Z, JointKind::Fixed),
        JointWord::Hinge => at(point()?, axis()?, JointKind::Hinge(read_drive(table)?)),
        JointWord::Slider => at(near()?, axis()?, JointKind::Slider(read_drive(table)?)),
        JointWord::Cylindrical => at(near()?, axis()?, JointKind::Cylindrical(read_drive(table)?)),
        JointWord::Planar => at(near()?, normal()?, JointKind::Planar),
        JointWord::Universal => {
            read_universal(table, at(point()?, DVec3::Z, JointKind::Universal))?
        }
        JointWord::Distance => {
            let anchors = read_anchors(table, "anchors")?;
            let kind = read_distance(table, anchors[0].distance(anchors[1]))?;
            between(&at, anchors, kind)
        }
        JointWord::Spring => {
            let anchors = read_anchors(table, "anchors")?;
            let kind = read_spring(table, anchors[0].distance(anchors[1]))?;
            between(&at, anchors, kind)
        }
        JointWord::Screw => {
            let drive = read_drive(table)?;
            let pitch = read_size(&table.need("pitch", "0.005")?)?;
            at(point()?, axis()?, JointKind::Screw { pitch, drive })
        }
        JointWord::Rack => {
            let radius = read_size(&table.need("radius", "0.1")?)?;
            read_rack(table, at(point()?, DVec3::Z, JointKind::Rack { radius }))?
        }
        JointWord::Pulley => read_pulley(table, &at)?,
        JointWord::Rolling => {
            if links[0].is_none() {
                return Err(table.fault("its first body rolls; name the ball first"));
            }
            let radius = table.need("radius", "0.5")?.positive()?;
            at(near()?, normal()?, JointKind::Rolling { radius })
        }
    })
}

fn read_spring(table: &Table, start: f64) -> Result<JointKind, SceneError> {
    let length = table.read("length", |value| value.within(0.0, MAX_SIZE))?;
    let stiffness = table.need("stiffness", "1000")?.not_negative()?;
    let damping = table.read("damping", Value::not_negative)?.unwrap_or(0.0);
    if stiffness + damping == 0.0 {
        return Err(table.fault("a spring without stiffness and damping does nothing"));
    }
    Ok(JointKind::Spring {
        length: length.unwrap_or(start),
        stiffness,
        damping,
    })
}

/// Two points of the world, one for each body.
fn read_anchors(table: &Table, key: &str) -> Result<[DVec3; 2], SceneError> {
    let like = "[[0, 0, 1], [0, 0, 2]]";
    let [a, b]: [Value; 2] = table.need(key, like)?.some(like)?;
    Ok([a.vector()?, b.vector()?])
}

/// A length that is not zero, of either sign.
fn read_size(value: &Value) -> Result<f64, SceneError> {
    let size = value.within(-MAX_SIZE, MAX_SIZE)?;
    if size == 0.0 {
        return Err(
            value.fault("found 0, with which nothing follows; give a length of either sign")
        );
    }
    Ok(size)
}

/// A joint whose frames are at two points, the first on the first body.
fn between(
    at: &impl Fn(DVec3, DVec3, JointKind) -> Joint,
    [a, b]: [DVec3; 2],
    kind: JointKind,
) -> Joint {
    let far = at(b, DVec3::Z, kind.clone()).frames[1];
    let mut joint = at(a, DVec3::Z, kind);
    joint.frames[1] = far;
    joint
}

/// z of both frames is the axle, x the way of the rack.
fn read_rack(table: &Table, joint: Joint) -> Result<Joint, SceneError> {
    let z = table.need("axis", "[0, 0, 1]")?.direction()?;
    let value = table.need("direction", "[1, 0, 0]")?;
    let x = value.direction()?;
    let cosine = x.dot(z);
    if !(cosine.abs() < 1e-6) {
        return Err(value.fault(format!(
            "a rack runs normal to the axle of its pinion, but the cosine of the two is {cosine}"
        )));
    }
    let x = (x - z * cosine).normalize();
    Ok(turned(joint, DMat3::from_cols(x, z.cross(x), z)))
}

fn read_pulley(
    table: &Table,
    at: &impl Fn(DVec3, DVec3, JointKind) -> Joint,
) -> Result<Joint, SceneError> {
    let points = read_anchors(table, "points")?;
    let anchors = read_anchors(table, "anchors")?;
    let ratio = table.read("ratio", Value::positive)?.unwrap_or(1.0);
    let [a, b] = [0, 1].map(|i| (points[i] - anchors[i]).length());
    // l₁ + ratio l₂, as long as it is at the start.
    let now = a + ratio * b;
    let length = table.read("length", |value| value.within(1e-9, MAX_SIZE))?;
    if !(0.0 < now) {
        return Err(table.fault("its points lie on its anchors; move them apart"));
    }
    let kind = JointKind::Pulley {
        anchors,
        ratio,
        length: length.unwrap_or(now),
    };
    Ok(between(at, points, kind))
}

/// Both frames, which stand as the world does, get these axes.
fn turned(mut joint: Joint, axes: DMat3) -> Joint {
    let axes = DQuat::from_mat3(&axes);
    for frame in &mut joint.frames {
        frame.axes = (frame.axes * axes).normalize();
    }
    joint
}

/// Both frames get x and y along the two axes.
fn read_universal(table: &Table, joint: Joint) -> Result<Joint, SceneError> {
    let value = table.need("axes", "[[1, 0, 0], [0, 1, 0]]")?;
    let [x, y] = value.some("[[1, 0, 0], [0, 1, 0]]")?;
    let (x, y) = (x.direction()?, y.direction()?);
    let cosine = x.dot(y);
    if !(cosine.abs() < 1e-6) {
        return Err(value.fault(format!(
            "the two axes must be normal to each other, but their cosine is {cosine}"
        )));
    }
    let y = (y - x * cosine).normalize();
    Ok(turned(joint, DMat3::from_cols(x, y, x.cross(y))))
}

fn read_distance(table: &Table, start: f64) -> Result<JointKind, SceneError> {
    let length = |value: &Value| value.within(0.0, MAX_SIZE);
    let least = table.read("least", length)?;
    let greatest = table.read("greatest", length)?;
    let exact = table.read("length", length)?;
    if exact.is_some() && (least.is_some() || greatest.is_some()) {
        return Err(table.fault("give either length, or least and greatest"));
    }
    let (least, greatest) = match (least, greatest) {
        (None, None) => (exact.unwrap_or(start), exact.unwrap_or(start)),
        _ => (least.unwrap_or(0.0), greatest.unwrap_or(MAX_SIZE)),
    };
    if greatest < least {
        return Err(table.fault(format!(
            "least {least} is above greatest {greatest}; exchange them"
        )));
    }
    Ok(JointKind::Distance { least, greatest })
}

fn read_terms(
    table: &Table,
    names: &Names,
    builder: &WorldBuilder,
) -> Result<Vec<GearTerm>, SceneError> {
    let like = "[{ body = \"small\", axis = [0, 0, 1], ratio = 2 }, …]";
    let value = table.need("terms", like)?;
    let mut terms: Vec<GearTerm> = Vec::new();
    for item in value.list()? {
        let term = item.table_of(&["body", "axis", "ratio"])?;
        let body = term.need("body", "\"small\"")?;
        let id = find(&body, names)?;
        if terms.iter().any(|known| known.body == id) {
            return Err(body.fault("this body has a term already; keep one"));
        }
        let axis = term.need("axis", "[0, 0, 1]")?.direction()?;
        let ratio = term.need("ratio", "1")?;
        let number = ratio.within(-1e9, 1e9)?;
        if number == 0.0 {
            return Err(ratio.fault("a ratio of zero does nothing; leave the term out"));
        }
        let turn = builder.bodies().orientation[id.index()].conjugate();
        terms.push(GearTerm {
            body: id,
            axis: turn * axis,
            ratio: number,
        });
    }
    if terms.len() < 2 {
        return Err(value.fault("a gear needs two terms or more"));
    }
    terms.sort_by_key(|term| term.body);
    Ok(terms)
}

pub(super) fn read_drive(table: &Table) -> Result<Drive, SceneError> {
    let pair = |value: &Value, scale: f64| {
        let [lo, hi] = value.numbers("[-1, 1]")?.map(|x: f64| x * scale);
        if hi < lo {
            return Err(value.fault("the lower limit is above the upper one; exchange them"));
        }
        Ok([lo, hi])
    };
    let limits = table.read("limits", |value| pair(value, 1.0))?;
    let degrees = table.read("limits-degrees", |value| {
        pair(value, std::f64::consts::PI / 180.0)
    })?;
    if limits.is_some() && degrees.is_some() {
        return Err(table.fault("give either limits or limits-degrees"));
    }
    let motor = table.read("motor", |value| {
        let motor = value.table_of(&["speed", "max-force"])?;
        Ok(Motor {
            speed: motor.need("speed", "1")?.within(-1e9, 1e9)?,
            max_force: motor.need("max-force", "100")?.not_negative()?,
        })
    })?;
    let servo = table.read("servo", |value| {
        let keys = ["position", "stiffness", "damping", "max-force", "min-force"];
        let servo = value.table_of(&keys)?;
        let stiffness = servo.need("stiffness", "1000")?.positive()?;
        Ok(Servo {
            position: servo.need("position", "0")?.within(-1e9, 1e9)?,
            stiffness,
            damping: servo.read("damping", Value::not_negative)?.unwrap_or(0.0),
            max_force: servo.need("max-force", "100")?.not_negative()?,
            min_force: servo.read("min-force", |value| value.within(-1e9, 0.0))?,
        })
    })?;
    let friction = table.read("friction", Value::not_negative)?;
    Ok(Drive {
        limits: limits.or(degrees),
        motor,
        servo,
        friction: friction.unwrap_or(0.0),
    })
}
