//! Kinds `contact` and `joints`: bodies with poses and forces, contacts and ball joints at world points.

use glam::{DMat3, DQuat, DVec3};
use serde::Deserialize;

use super::super::{FileError, Loaded, Unfit};
use super::keyed::Keyed;
use crate::index::MassId;
use crate::law::Law;
use crate::problem::mass::{Moving, check_moments};
use crate::problem::place::Point;
use crate::problem::{Problem, ProblemBuilder};

/// Frames and quaternions are accepted within this distance of being orthonormal.
pub(super) const UNIT_TOLERANCE: f64 = 1e-6;

problem_file! {
    /// Bodies, contacts and joints of one step.
    ContactFile {
        h: f64,
        cone: Cone,
        bodies: Vec<Keyed<Body>>,
        contacts: Vec<Keyed<Contact>>,
        #[serde(default)]
        joints: Vec<Keyed<BallJoint>>,
    }
}

problem_file! {
    /// Bodies and ball joints only.
    JointsFile {
        h: f64,
        bodies: Vec<Keyed<Body>>,
        joints: Vec<Keyed<BallJoint>>,
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Cone {
    Disk,
    Polyhedral,
    Box,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    m: f64,
    #[serde(rename = "I_body")]
    inertia: [[f64; 3]; 3],
    x: [f64; 3],
    q: [f64; 4],
    #[serde(default)]
    v: [f64; 3],
    #[serde(default)]
    w: [f64; 3],
    #[serde(default)]
    f: [f64; 3],
    #[serde(default)]
    tau: [f64; 3],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contact {
    a: i64,
    b: i64,
    p: [f64; 3],
    n: [f64; 3],
    t1: [f64; 3],
    t2: [f64; 3],
    mu: Friction,
    #[serde(default = "eight")]
    d: u32,
    #[serde(default)]
    q_n: f64,
    #[serde(default)]
    sigma_n: f64,
}

/// One coefficient, or one for each tangent.
#[derive(Clone, Copy, Deserialize)]
#[serde(
    untagged,
    expecting = "mu must be one number, or two: one for each tangent"
)]
pub(super) enum Friction {
    Isotropic(f64),
    Elliptic([f64; 2]),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BallJoint {
    a: i64,
    b: i64,
    p: [f64; 3],
    #[serde(default)]
    q: [f64; 3],
    #[serde(default)]
    sigma: f64,
}

pub(super) fn eight() -> u32 {
    8
}

pub(super) fn contact(file: ContactFile) -> Result<Loaded, FileError> {
    let mut assembly = Assembly::new(file.h, &file.bodies)?;
    for (i, contact) in file.contacts.iter().enumerate() {
        assembly.contact(&format!("contacts[{i}]"), contact, file.cone)?;
    }
    for (i, joint) in file.joints.iter().enumerate() {
        assembly.joint(&format!("joints[{i}]"), joint)?;
    }
    assembly.finish("contact", file.title)
}

pub(super) fn joints(file: JointsFile) -> Result<Loaded, FileError> {
    let mut assembly = Assembly::new(file.h, &file.bodies)?;
    for (i, joint) in file.joints.iter().enumerate() {
        assembly.joint(&format!("joints[{i}]"), joint)?;
    }
    assembly.finish("joints", file.title)
}

/// (n, t₁, t₂) as vectors, if they are a right-handed frame.
pub(super) fn contact_frame(n: [f64; 3], t1: [f64; 3], t2: [f64; 3]) -> Result<[DVec3; 3], Unfit> {
    let frame = [n, t1, t2].map(DVec3::from);
    let skew = frame.map(|axis| (axis.length() - 1.0).abs());
    let turn = (frame[1].cross(frame[2]) - frame[0]).length();
    if UNIT_TOLERANCE < skew.iter().fold(turn, |m, s| m.max(*s)) {
        let what = "n, t1, t2 are not orthonormal with t1 × t2 = n; normalise the frame";
        return Err(what.into());
    }
    Ok(frame)
}

/// The law of a contact.
pub(super) fn contact_law(cone: Cone, mu: Friction, directions: u32) -> Result<Law, Unfit> {
    Ok(match (cone, mu) {
        (Cone::Box, Friction::Isotropic(mu)) => Law::FrictionBox { mu },
        (Cone::Disk, Friction::Elliptic(mu)) => Law::EllipticCone { mu },
        // Without friction every cone is the same ray.
        (Cone::Polyhedral, Friction::Isotropic(mu)) if mu != 0.0 => {
            Law::FrictionFacets { mu, directions }
        }
        (_, Friction::Isotropic(mu)) => Law::FrictionCone { mu },
        (_, Friction::Elliptic(_)) => {
            return Err("two values of mu need cone \"disk\"".into());
        }
    })
}

/// A problem being put together from bodies.
struct Assembly {
    builder: ProblemBuilder,
    centres: Vec<DVec3>,
}

impl Assembly {
    fn new(h: f64, bodies: &[Keyed<Body>]) -> Result<Assembly, FileError> {
        if !(0.0 < h) {
            return Err(FileError::invalid(
                "h",
                format!("the time step is {h}; it must be positive"),
            ));
        }
        let mut builder = Problem::builder();
        for (i, body) in bodies.iter().enumerate() {
            add_body(&mut builder, h, body)
                .map_err(|what| FileError::invalid(format!("bodies[{i}]"), what))?;
        }
        let centres = bodies.iter().map(|body| DVec3::from(body.x)).collect();
        Ok(Assembly { builder, centres })
    }

    fn contact(&mut self, place: &str, contact: &Contact, cone: Cone) -> Result<(), FileError> {
        let fail = |why: Unfit| FileError::invalid(place, why);
        let frame = contact_frame(contact.n, contact.t1, contact.t2).map_err(fail)?;
        let law = contact_law(cone, contact.mu, contact.d).map_err(fail)?;
        let (sigma, q) = ([contact.sigma_n, 0.0, 0.0], [contact.q_n, 0.0, 0.0]);
        let point = DVec3::from(contact.p);
        self.add(
            place,
            (contact.a, contact.b),
            (point, frame),
            (law, sigma, q),
        )
    }

    fn joint(&mut self, place: &str, joint: &BallJoint) -> Result<(), FileError> {
        let frame = (DVec3::from(joint.p), DVec3::AXES);
        let law = (Law::Equality, [joint.sigma; 3], joint.q);
        self.add(place, (joint.a, joint.b), frame, law)
    }

    fn add(
        &mut self,
        place: &str,
        (a, b): (i64, i64),
        (point, directions): (DVec3, [DVec3; 3]),
        (law, sigma, q): (Law, [f64; 3], [f64; 3]),
    ) -> Result<(), FileError> {
        if a == b {
            let what = format!("a and b are both {a}; a constraint needs two different bodies");
            return Err(FileError::invalid(place, what));
        }
        let mut ends = [None; 2];
        for ((name, body), end) in [("a", a), ("b", b)].into_iter().zip(&mut ends) {
            if body == -1 {
                continue;
            }
            let Some((id, centre)) = usize::try_from(body)
                .ok()
                .and_then(|id| Some((id, self.centres.get(id)?)))
            else {
                let count = self.centres.len();
                let what = format!(
                    "{name} is {body}; there are {count} bodies, counted from 0, and -1 is ground"
                );
                return Err(FileError::invalid(place, what));
            };
            *end = Some((MassId(id as u32), point - centre));
        }
        let point = Point {
            directions: &directions,
            first: ends[0],
            second: ends[1],
        };
        let added = self.builder.add_point(law, &point, &sigma, &q);
        added
            .map(|_| ())
            .map_err(|error| FileError::invalid(place, error))
    }

    fn finish(self, kind: &'static str, title: String) -> Result<Loaded, FileError> {
        let problem = self.builder.build();
        let problem = problem.map_err(|error| FileError::invalid(kind, error))?;
        Ok(Loaded::problem(kind, title, problem))
    }
}

/// p = M v + h (f, τ − ω × Iω): the gyroscopic torque is not part of the file.
fn add_body(builder: &mut ProblemBuilder, h: f64, body: &Body) -> Result<(), Unfit> {
    let [w, x, y, z] = body.q;
    let orientation = DQuat::from_xyzw(x, y, z, w);
    if !((orientation.length() - 1.0).abs() <= UNIT_TOLERANCE) {
        let length = orientation.length();
        let what = format!("q has length {length}; give a unit quaternion (w, x, y, z)");
        return Err(what.into());
    }
    let inertia = DMat3::from_cols_array_2d(&body.inertia).transpose();
    check_moments(&inertia).map_err(|error| error.to_string())?;
    let moving = Moving {
        mass: body.m,
        inertia,
        orientation: body.q,
        spin: DVec3::from(body.w),
        torque: DVec3::from(body.tau),
    };
    let (mass, angular, turned) = moving.block(h)?;
    let (v, force) = (DVec3::from(body.v), DVec3::from(body.f));
    let momentum = v * body.m + h * force;
    // v¹ = v + h M⁻¹(f, τ − ω × Iω), not M⁻¹p: what is not pushed keeps its velocity to the last digit.
    let moved = v + force * (h / body.m);
    let p = [momentum, angular].map(|part| part.to_array());
    let free = [moved, turned].map(|part| part.to_array());
    let added = builder.add_moving_mass(mass, p.as_flattened(), free.as_flattened());
    added.map(|_| ()).map_err(Unfit::from)
}
