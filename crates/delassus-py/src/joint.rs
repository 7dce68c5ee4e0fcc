//! Joints of worlds that are built in Python, from keyword arguments as scene files have them.

use delassus::BodyId;
use delassus::math::{DMat3, DQuat, DVec3};
use delassus::world::{
    Bodies, Drive, GearTerm, Joint, JointAxis, JointBody, JointKind, Motor, MovedBy, Servo,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{shaped, three};
use crate::error::refuse;
use crate::keys::Keys;

/// How far from normal to each other the axes of a universal joint may be, as a cosine.
const SQUARE: f64 = 1e-6;
/// The greatest distance of a rope that is given only its least one \[m\].
const FAR: f64 = delassus::collide::MAX_SIZE;

/// The kinds of joint, as scene files name them.
const KINDS: &str = "ball, hinge, slider, cylindrical, screw, planar, universal, fixed, distance, spring, gear, rolling, rack-and-pinion, pulley";

/// A joint under way: its keyword arguments and the bodies it may name.
pub(crate) struct Plan<'a, 'py> {
    pub(crate) bodies: &'a Bodies,
    pub(crate) links: [JointBody; 2],
    pub(crate) keys: Keys<'py>,
}

impl Plan<'_, '_> {
    /// Makes the joint; its frames are where its bodies stand now.
    pub(crate) fn joint(mut self, kind: &str) -> PyResult<Joint> {
        let mut joint = match kind {
            "ball" => {
                let point = self.point(None)?;
                self.at(point, DVec3::Z, JointKind::Ball)
            }
            "fixed" => {
                let point = self.point(Some(self.middle()))?;
                self.at(point, DVec3::Z, JointKind::Fixed)
            }
            "hinge" => {
                let (point, axis) = (self.point(None)?, self.axis()?);
                let drive = drive(&mut self.keys, Drive::default())?;
                self.at(point, axis, JointKind::Hinge(drive))
            }
            "slider" => {
                let (point, axis) = (self.point(Some(self.middle()))?, self.axis()?);
                let drive = drive(&mut self.keys, Drive::default())?;
                self.at(point, axis, JointKind::Slider(drive))
            }
            "cylindrical" => {
                let (point, axis) = (self.point(Some(self.middle()))?, self.axis()?);
                let drive = drive(&mut self.keys, Drive::default())?;
                self.at(point, axis, JointKind::Cylindrical(drive))
            }
            "screw" => {
                let (point, axis) = (self.point(None)?, self.axis()?);
                let pitch = self.keys.number("pitch")?;
                let pitch = self.keys.need("pitch", pitch)?;
                let drive = drive(&mut self.keys, Drive::default())?;
                self.at(point, axis, JointKind::Screw { pitch, drive })
            }
            "planar" => {
                let point = self.point(Some(self.middle()))?;
                let normal = self.keys.direction("normal")?.unwrap_or(DVec3::Z);
                self.at(point, normal, JointKind::Planar)
            }
            "universal" => self.universal()?,
            "distance" => self.distance()?,
            "spring" => self.spring()?,
            "gear" => {
                let terms = self.terms()?;
                self.at(DVec3::ZERO, DVec3::Z, JointKind::Gear(terms))
            }
            "rolling" => {
                if self.links[0].is_none() {
                    return Err(refuse(
                        "the first body of a rolling joint is the ball; name it first",
                    ));
                }
                let point = self.point(Some(self.middle()))?;
                let radius = self.keys.number("radius")?;
                let radius = self.keys.need("radius", radius)?;
                let normal = self.keys.direction("normal")?.unwrap_or(DVec3::Z);
                self.at(point, normal, JointKind::Rolling { radius })
            }
            "rack-and-pinion" => self.rack()?,
            "pulley" => self.pulley()?,
            _ => {
                return Err(refuse(format!(
                    "there is no kind of joint \"{kind}\"; known: {KINDS}"
                )));
            }
        };
        if kind != "spring" {
            joint.compliance = self.keys.number("compliance")?.unwrap_or(0.0);
            joint.damping = self.keys.number("damping")?;
        }
        joint.collide = self.keys.flag("collide")?.unwrap_or(false);
        self.keys.close()?;
        Ok(joint)
    }

    fn at(&self, point: DVec3, axis: DVec3, kind: JointKind) -> Joint {
        Joint::at(self.bodies, self.links, JointAxis::new(point, axis), kind)
    }

    /// The centre of its first body that is not the world.
    fn middle(&self) -> DVec3 {
        let first = self.links.iter().flatten().next();
        first.map_or(DVec3::ZERO, |id| self.bodies.position[id.index()])
    }

    fn point(&mut self, default: Option<DVec3>) -> PyResult<DVec3> {
        let given = self.keys.vector("point")?.or(default);
        self.keys.need("point", given)
    }

    fn axis(&mut self) -> PyResult<DVec3> {
        let given = self.keys.direction("axis")?;
        self.keys.need("axis", given)
    }

    /// Both frames get x and y along the two axes.
    fn universal(&mut self) -> PyResult<Joint> {
        let point = self.point(None)?;
        let given = self.keys.get("axes")?;
        let axes = shaped("axes", &self.keys.need("axes", given)?, &[2, 3])?;
        let unit = |row: &[f64]| DVec3::from_slice(row).try_normalize();
        let (Some(x), Some(y)) = (unit(&axes[..3]), unit(&axes[3..])) else {
            return Err(refuse("one of the axes is zero, which has no direction"));
        };
        let cosine = x.dot(y);
        if SQUARE < cosine.abs() {
            return Err(refuse(format!(
                "the two axes must be normal to each other, but their cosine is {cosine}"
            )));
        }
        let y = (y - x * cosine).normalize();
        let joint = self.at(point, DVec3::Z, JointKind::Universal);
        Ok(turned(joint, DMat3::from_cols(x, y, x.cross(y))))
    }

    /// z of both frames is the axle, x the way of the rack.
    fn rack(&mut self) -> PyResult<Joint> {
        let (point, z) = (self.point(None)?, self.axis()?);
        let radius = self.keys.number("radius")?;
        let radius = self.keys.need("radius", radius)?;
        let along = self.keys.direction("direction")?;
        let x = self.keys.need("direction", along)?;
        let cosine = x.dot(z);
        if SQUARE < cosine.abs() {
            return Err(refuse(format!(
                "a rack runs normal to the axle of its pinion, but the cosine of the two is {cosine}"
            )));
        }
        let x = (x - z * cosine).normalize();
        let joint = self.at(point, DVec3::Z, JointKind::Rack { radius });
        Ok(turned(joint, DMat3::from_cols(x, z.cross(x), z)))
    }

    /// A rope from a point of the first body over two points of the world to one of the second.
    fn pulley(&mut self) -> PyResult<Joint> {
        let (points, anchors) = (self.pair("points")?, self.pair("anchors")?);
        let ratio = self.keys.number("ratio")?.unwrap_or(1.0);
        let [a, b] = [0, 1].map(|i| points[i].distance(anchors[i]));
        // l₁ + ratio l₂, as long as it is at the start.
        let now = a + ratio * b;
        if !(0.0 < now) {
            return Err(refuse(
                "the points of a pulley lie on its anchors, or its ratio is negative",
            ));
        }
        let kind = JointKind::Pulley {
            anchors,
            ratio,
            length: self.keys.number("length")?.unwrap_or(now),
        };
        Ok(self.between(points, kind))
    }

    /// Two points of the world, one on each body.
    fn anchors(&mut self) -> PyResult<[DVec3; 2]> {
        self.pair("anchors")
    }

    /// Two points of the world.
    fn pair(&mut self, key: &'static str) -> PyResult<[DVec3; 2]> {
        let given = self.keys.get(key)?;
        let points = shaped(key, &self.keys.need(key, given)?, &[2, 3])?;
        Ok([&points[..3], &points[3..]].map(DVec3::from_slice))
    }

    /// A joint whose frames stand at two points.
    fn between(&self, [a, b]: [DVec3; 2], kind: JointKind) -> Joint {
        let far = self.at(b, DVec3::Z, kind.clone()).frames[1];
        let mut joint = self.at(a, DVec3::Z, kind);
        joint.frames[1] = far;
        joint
    }

    /// Its damping is a force over a speed, and nothing is held.
    fn spring(&mut self) -> PyResult<Joint> {
        let [a, b] = self.anchors()?;
        let stiffness = self.keys.number("stiffness")?;
        let kind = JointKind::Spring {
            length: self.keys.number("length")?.unwrap_or(a.distance(b)),
            stiffness: self.keys.need("stiffness", stiffness)?,
            damping: self.keys.number("damping")?.unwrap_or(0.0),
        };
        Ok(self.between([a, b], kind))
    }

    fn distance(&mut self) -> PyResult<Joint> {
        let [a, b] = self.anchors()?;
        let exact = self.keys.number("length")?;
        let (least, greatest) = (self.keys.number("least")?, self.keys.number("greatest")?);
        if exact.is_some() && (least.is_some() || greatest.is_some()) {
            return Err(refuse("give either length, or least and greatest"));
        }
        let start = exact.unwrap_or((a - b).length());
        let (least, greatest) = match (least, greatest) {
            (None, None) => (start, start),
            _ => (least.unwrap_or(0.0), greatest.unwrap_or(FAR)),
        };
        Ok(self.between([a, b], JointKind::Distance { least, greatest }))
    }

    /// Wheels of a gear: (body, axis in the world, ratio) each.
    fn terms(&mut self) -> PyResult<Vec<GearTerm>> {
        let given = self.keys.get("terms")?;
        let given = self.keys.need("terms", given)?;
        let like = "terms must be a list of (body, axis, ratio)";
        let list: Vec<(String, Bound<'_, PyAny>, f64)> =
            given.extract().map_err(|_| refuse(like))?;
        let mut terms: Vec<GearTerm> = Vec::with_capacity(list.len());
        for (name, axis, ratio) in list {
            let body = find_body(self.bodies, &name)?;
            if terms.iter().any(|term| term.body == body) {
                return Err(refuse(format!("body \"{name}\" has two terms; keep one")));
            }
            let axis = three("axis of a term", &axis)?;
            let unit = axis.try_normalize();
            let unit = unit.ok_or_else(|| refuse("the axis of a term has no direction"))?;
            if !(ratio.is_finite() && ratio != 0.0) {
                return Err(refuse(format!(
                    "the ratio of body \"{name}\" is {ratio}; it must be finite and not zero"
                )));
            }
            terms.push(GearTerm {
                body,
                axis: self.bodies.orientation[body.index()].conjugate() * unit,
                ratio,
            });
        }
        terms.sort_by_key(|term| term.body);
        Ok(terms)
    }
}

/// Both frames, which stand as the world does, get these axes.
fn turned(mut joint: Joint, axes: DMat3) -> Joint {
    let turn = DQuat::from_mat3(&axes);
    for frame in &mut joint.frames {
        frame.axes = (frame.axes * turn).normalize();
    }
    joint
}

/// A body by name.
pub(crate) fn find_body(bodies: &Bodies, name: &str) -> PyResult<BodyId> {
    let mut known = bodies.name.iter().zip(&bodies.motion);
    let place = known.position(|(known, motion)| known == name && *motion != MovedBy::Gone);
    place.map(|place| BodyId(place as u32)).ok_or_else(|| {
        refuse(format!(
            "there is no body \"{name}\"; the world has {}, see body_names",
            bodies.len()
        ))
    })
}

/// What acts along a coordinate: what is not given stays as it is. `None` for a motor or servo takes it away.
pub(crate) fn drive(keys: &mut Keys<'_>, before: Drive) -> PyResult<Drive> {
    let mut drive = before;
    if let Some(given) = keys.get("limits")? {
        let limits = shaped("limits", &given, &[2])?;
        drive.limits = Some([limits[0], limits[1]]);
    }
    if let Some(given) = keys.get("motor")? {
        let mut own = Keys::inside("motor".to_owned(), &given)?;
        let (speed, force) = (own.number("speed")?, own.number("max_force")?);
        drive.motor = Some(Motor {
            speed: own.need("speed", speed)?,
            max_force: own.need("max_force", force)?,
        });
        own.close()?;
    }
    if let Some(given) = keys.get("servo")? {
        let mut own = Keys::inside("servo".to_owned(), &given)?;
        let (position, stiffness) = (own.number("position")?, own.number("stiffness")?);
        let (damping, force) = (own.number("damping")?, own.number("max_force")?);
        drive.servo = Some(Servo {
            position: own.need("position", position)?,
            stiffness: own.need("stiffness", stiffness)?,
            damping: damping.unwrap_or(0.0),
            max_force: own.need("max_force", force)?,
            min_force: own.number("min_force")?,
        });
        own.close()?;
    }
    if let Some(friction) = keys.number("friction")? {
        drive.friction = friction;
    }
    check(&drive)?;
    Ok(drive)
}

/// Refuses what no joint can do.
fn check(drive: &Drive) -> PyResult<()> {
    let negative = |x: f64| !(0.0 <= x);
    let fault = match drive {
        Drive {
            limits: Some([low, high]),
            ..
        } if high < low => format!("the lower limit {low} is above the upper one {high}"),
        Drive { motor: Some(m), .. } if negative(m.max_force) => {
            format!("max_force of the motor is {}; it cannot be negative", m.max_force)
        }
        Drive { servo: Some(s), .. }
            if negative(s.max_force) || negative(s.damping) || !(0.0 < s.stiffness + s.damping) || negative(s.stiffness) =>
        {
            "stiffness, damping and max_force of a servo cannot be negative, and it needs stiffness or damping".to_owned()
        }
        Drive { servo: Some(s), .. } if s.min_force.is_some_and(|least| !(least <= 0.0)) => {
            "min_force of a servo cannot be positive".to_owned()
        }
        Drive { friction, .. } if negative(*friction) => {
            format!("friction is {friction}; it cannot be negative")
        }
        _ => return Ok(()),
    };
    Err(refuse(fault))
}

/// The same for a change of a drive: a motor or servo that is given as `None` is taken away.
pub(crate) fn changed(
    what: String,
    given: Option<Bound<'_, PyDict>>,
    before: Drive,
) -> PyResult<Drive> {
    let mut start = before;
    if let Some(given) = &given {
        let is_none = |key: &str| -> PyResult<bool> {
            Ok(given.get_item(key)?.is_some_and(|value| value.is_none()))
        };
        if is_none("motor")? {
            start.motor = None;
        }
        if is_none("servo")? {
            start.servo = None;
        }
        if is_none("limits")? {
            start.limits = None;
        }
    }
    let mut keys = Keys::new(what, given);
    let found = drive(&mut keys, start)?;
    keys.close()?;
    Ok(found)
}
