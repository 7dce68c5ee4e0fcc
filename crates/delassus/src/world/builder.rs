//! Building a [`World`]: everything is checked here, so that steps may trust it.

use glam::{DQuat, DVec3};

use super::contacts::Joined;
use super::events::Pushes;
use super::lanes::Lanes;
use super::rattle::Factors;
use super::reaction::Reactions;
use super::reference::Reference;
use super::robot::RobotLink;
use super::sensor::Sensors;
use super::touches::Touches;
use super::warm::Warm;
use super::{
    Bodies, Body, Elapsed, Joint, Look, MovedBy, Robot, Settings, Spare, Surface, World, WorldError,
};
use crate::collide::{Collider, Collisions, Groups, Shape};
use crate::index::{BodyId, JointId};

/// A material's place in the world's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MaterialId(pub(super) u32);

impl MaterialId {
    /// Its place in [`World::surfaces_mut`](super::World::surfaces_mut).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Collects bodies, shapes and joints; [`WorldBuilder::build`] gives the world.
#[derive(Clone, Debug)]
pub struct WorldBuilder {
    /// Gravity \[m/s²\].
    pub gravity: DVec3,
    /// How the world is stepped.
    pub settings: Settings,
    /// How the world is shown.
    pub look: Look,
    pub(super) bodies: Bodies,
    joints: Vec<Joint>,
    colliders: Vec<Collider>,
    materials: Vec<u32>,
    surfaces: Vec<Surface>,
    pairs: Vec<((u32, u32), Surface)>,
    pub(super) robots: Vec<Robot>,
    /// The link that each body is, if it is one.
    pub(super) link_of: Vec<Option<RobotLink>>,
}

impl Default for WorldBuilder {
    fn default() -> WorldBuilder {
        WorldBuilder {
            gravity: DVec3::new(0.0, 0.0, -9.81),
            settings: Settings::default(),
            look: Look::default(),
            bodies: Bodies::default(),
            joints: Vec::new(),
            colliders: Vec::new(),
            materials: Vec::new(),
            surfaces: vec![Surface::default()],
            pairs: Vec::new(),
            robots: Vec::new(),
            link_of: Vec::new(),
        }
    }
}

/// How a shape is attached to a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attach {
    /// Position in the body's axes, from its centre of mass \[m\].
    pub position: DVec3,
    /// Rotation in the body's axes.
    pub rotation: DQuat,
    /// Its material; the first is friction 0.5 without bounce.
    pub material: MaterialId,
    /// Which others it collides with.
    pub groups: Groups,
}

impl Default for Attach {
    fn default() -> Attach {
        Attach {
            position: DVec3::ZERO,
            rotation: DQuat::IDENTITY,
            material: MaterialId(0),
            groups: Groups::default(),
        }
    }
}

impl WorldBuilder {
    /// Bodies so far.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Adds a body. Names must be unique; an empty one is replaced by a number.
    pub fn add_body(&mut self, mut body: Body) -> Result<BodyId, WorldError> {
        if body.name.is_empty() {
            body.name = format!("body-{:06}", self.bodies.len());
        }
        if body.motion == MovedBy::Gone {
            return Err(WorldError::Body {
                name: body.name,
                what: "it is gone already; only bodies that are there can be added".to_owned(),
            });
        }
        self.bodies.push(body)
    }

    /// Adds a body made of one shape of uniform density \[kg/m³\], centred on its centre of mass and turned in the
    /// body's axes as `attach` says.
    pub fn add_solid(
        &mut self,
        shape: Shape,
        density: f64,
        body: Body,
        attach: Attach,
    ) -> Result<BodyId, WorldError> {
        let (body, attach) = solid(&shape, density, body, attach)?;
        let id = self.add_body(body)?;
        self.add_collider(id, shape, attach)?;
        Ok(id)
    }

    /// Adds a material.
    pub fn add_material(&mut self, surface: Surface) -> Result<MaterialId, WorldError> {
        check_surface(&surface)?;
        self.surfaces.push(surface);
        Ok(MaterialId(self.surfaces.len() as u32 - 1))
    }

    /// Gives one pair of materials its own surface, in place of [`Surface::mixed`]. Of several calls for one pair the
    /// last one counts.
    pub fn set_pair(
        &mut self,
        (a, b): (MaterialId, MaterialId),
        surface: Surface,
    ) -> Result<(), WorldError> {
        check_surface(&surface)?;
        self.pairs.push(((a.0.min(b.0), a.0.max(b.0)), surface));
        Ok(())
    }

    /// Attaches a shape to a body.
    pub fn add_collider(
        &mut self,
        body: BodyId,
        shape: Shape,
        attach: Attach,
    ) -> Result<(), WorldError> {
        let counts = (self.colliders.len(), self.surfaces.len());
        let collider = checked(&self.bodies, counts, body, shape, attach)?;
        self.colliders.push(collider);
        self.materials.push(attach.material.0);
        Ok(())
    }

    /// Adds a joint. Names must be unique; an empty one is replaced by a number.
    pub fn add_joint(&mut self, mut joint: Joint) -> Result<JointId, WorldError> {
        if joint.name.is_empty() {
            joint.name = format!("joint-{:06}", self.joints.len());
        }
        check_joint(&joint, &self.bodies)?;
        joint.coordinate = joint.measure(&self.bodies);
        self.joints.push(joint);
        Ok(JointId(self.joints.len() as u32 - 1))
    }

    /// Finishes the world.
    pub fn build(mut self) -> Result<World, WorldError> {
        if let Some(name) = repeated(self.bodies.name.iter()) {
            let what = "two bodies have this name; give each its own".to_owned();
            return Err(WorldError::Body { name, what });
        }
        if let Some(name) = repeated(self.joints.iter().map(|joint| &joint.name)) {
            let what = "two joints have this name; give each its own".to_owned();
            return Err(WorldError::Joint { name, what });
        }
        // Of several surfaces for one pair the last one given comes first, and stays.
        self.pairs.reverse();
        self.pairs.sort_by_key(|entry| entry.0);
        self.pairs.dedup_by_key(|entry| entry.0);
        let apart = self.finish_robots()?;
        let joined = joined(&self.joints, &apart);
        let mut radius = vec![0.0; self.bodies.len()];
        for collider in &self.colliders {
            let reach = collider.pose.0.length() + bounding_radius(&collider.shape);
            radius[collider.body] = f64::max(radius[collider.body], reach);
        }
        let collisions = Collisions::new(self.colliders.clone())?;
        Ok(World {
            gravity: self.gravity,
            settings: self.settings,
            look: self.look,
            loads: Vec::new(),
            bodies: self.bodies,
            joints: self.joints,
            robots: self.robots,
            link_of: self.link_of,
            may_meet: may_meet(&self.colliders),
            collisions,
            colliders: self.colliders,
            surfaces: self.surfaces,
            pairs: self.pairs,
            materials: self.materials,
            radius,
            joined,
            apart,
            reference: Reference::default(),
            warm: Warm::default(),
            touches: Touches::default(),
            pushes: Pushes::default(),
            sensors: Sensors::default(),
            time: Elapsed::default(),
            spare: Spare::default(),
            factors: Factors::default(),
            reactions: Reactions::default(),
            lanes: Lanes::default(),
        })
    }
}

/// The body of one shape of uniform density, and how the shape is attached so that the centre of mass is the body's.
pub(super) fn solid(
    shape: &Shape,
    density: f64,
    body: Body,
    attach: Attach,
) -> Result<(Body, Attach), WorldError> {
    let Some(own) = shape.mass_properties(density) else {
        let name = body.name;
        let what = "its shape has no mass of its own; give mass and inertia".to_owned();
        return Err(WorldError::Body { name, what });
    };
    let body = Body {
        mass: own.mass,
        inertia: own.placed(attach.position, attach.rotation).inertia,
        ..body
    };
    let position = attach.position - attach.rotation * own.com;
    Ok((body, Attach { position, ..attach }))
}

/// A shape on a body as a collider, where both can be; `counts` are the colliders and the surfaces so far.
pub(super) fn checked(
    bodies: &Bodies,
    counts: (usize, usize),
    body: BodyId,
    shape: Shape,
    attach: Attach,
) -> Result<Collider, WorldError> {
    let (index, surfaces) = counts;
    let Some(name) = bodies.name.get(body.index()).filter(|_| bodies.has(body)) else {
        return Err(WorldError::UnknownBody {
            index,
            body,
            count: bodies.len(),
        });
    };
    let refuse = |what: String| WorldError::Collider {
        index,
        body: name.clone(),
        what,
    };
    if surfaces <= attach.material.0 as usize {
        return Err(refuse("its material is not of this world".to_owned()));
    }
    shape.check().map_err(|error| WorldError::Shape {
        index,
        body: name.clone(),
        error,
    })?;
    let moves = [MovedBy::Dynamic, MovedBy::Link].contains(&bodies.motion[body.index()]);
    if shape.is_static_only() && moves {
        let what = "half-spaces, meshes and height fields are ground; make the body static";
        return Err(refuse(what.to_owned()));
    }
    Ok(Collider {
        shape,
        body: body.index(),
        pose: (attach.position, attach.rotation),
        group: attach.groups,
    })
}

/// Body pairs that joints keep from colliding, with those that are kept apart anyway.
pub(super) fn joined(joints: &[Joint], apart: &[(u32, u32)]) -> Joined {
    let mut joined = apart.to_vec();
    for joint in joints.iter().filter(|joint| !joint.collide) {
        let links = joint.links();
        for (i, a) in links.iter().enumerate() {
            let later = links[i + 1..].iter();
            joined.extend(later.map(|b| (a.0.min(b.0), a.0.max(b.0))));
        }
    }
    joined.sort_unstable();
    joined.dedup();
    Joined::new(&joined)
}

/// Whether the groups let any two colliders meet.
pub(super) fn may_meet(colliders: &[Collider]) -> bool {
    let join = |get: fn(&Groups) -> u32| colliders.iter().fold(0, |all, c| all | get(&c.group));
    join(|group| group.member) & join(|group| group.with) != 0
}

/// The first name in alphabetical order that occurs twice.
fn repeated<'a>(names: impl Iterator<Item = &'a String>) -> Option<String> {
    let mut names: Vec<&String> = names.collect();
    names.sort_unstable();
    let pair = names.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(pair[0].clone())
}

fn check_surface(surface: &Surface) -> Result<(), WorldError> {
    let Surface {
        friction,
        restitution,
        rolling,
        spinning,
    } = *surface;
    let coefficients = [friction, rolling, spinning];
    let legal = coefficients.iter().all(|c| c.is_finite() && 0.0 <= *c);
    if legal && (0.0..=1.0).contains(&restitution) {
        return Ok(());
    }
    let what = format!(
        "friction {friction}, rolling {rolling}, spinning {spinning} and restitution {restitution} are not possible; no friction is negative, restitution lies in [0, 1]"
    );
    Err(WorldError::Body {
        name: "material".to_owned(),
        what,
    })
}

/// Refuses joints that mean nothing: no body that moves, unknown bodies, numbers out of range.
pub(super) fn check_joint(joint: &Joint, bodies: &Bodies) -> Result<(), WorldError> {
    let refuse = |what: &str| {
        Err(WorldError::Joint {
            name: joint.name.clone(),
            what: what.to_owned(),
        })
    };
    let links = joint.links();
    if links.iter().any(|id| !bodies.has(*id)) {
        return refuse("it names a body that does not exist; add the body first");
    }
    let mut sorted = links.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return refuse("it joins a body to itself");
    }
    if !links
        .iter()
        .any(|id| matches!(bodies.motion[id.index()], MovedBy::Dynamic | MovedBy::Link))
    {
        return refuse("none of its bodies is dynamic, so it can do nothing");
    }
    let finite = joint
        .frames
        .iter()
        .all(|f| f.origin.is_finite() && f.axes.is_finite());
    let compliant = joint.compliance.is_finite() && 0.0 <= joint.compliance;
    // Rigid and undamped, the drift map has a double eigenvalue −1: violations grow without bound.
    let damped = |tau: f64| 0.0 < tau || (tau == 0.0 && 0.0 < joint.compliance);
    if !(finite && compliant && joint.damping.is_none_or(damped)) {
        return refuse(
            "its frames must be finite, compliance not negative, damping positive (zero only where compliant)",
        );
    }
    if joint.kind.is_legal() {
        Ok(())
    } else {
        refuse("its numbers are out of range (limits in order, forces not negative)")
    }
}

/// Largest distance of a point of the shape from its origin; zero for ground.
pub(super) fn bounding_radius(shape: &Shape) -> f64 {
    match shape {
        Shape::Sphere { radius } => *radius,
        Shape::Box { half } => DVec3::from(*half).length(),
        Shape::Capsule {
            half_length,
            radius,
        } => half_length + radius,
        Shape::Cylinder {
            half_length,
            radius,
        } => half_length.hypot(*radius),
        Shape::Hull { points } => points
            .iter()
            .map(|p| DVec3::from(*p).length())
            .fold(0.0, f64::max),
        _ => 0.0,
    }
}
