//! Worlds that are built in Python, piece by piece.
//!
//! The engine checks a world as a whole when it is built. So the pieces are kept in a builder as long as no step was made,
//! the world is built anew where somebody looks at it after a change, and what was written into the old one is carried
//! over. The first step settles it.

use std::collections::HashSet;

use delassus::collide::MAX_SIZE;
use delassus::math::DVec3;
use delassus::world::{Attach, Body as NewBody, JointKind, MaterialId, MovedBy, Surface};
use delassus::{BodyId, JointId, RobotId, WorldBuilder};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::refuse;
use crate::handle::Body;
use crate::joint::{Plan, find_body};
use crate::keys::Keys;
use crate::shape::Shape;
use crate::world::{Inner, World};

/// The pieces of a world that has not been stepped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) builder: WorldBuilder,
    pub(crate) names: HashSet<String>,
    /// Whether the world lacks a piece.
    pub(crate) stale: bool,
    /// Whether the world was written to.
    touched: bool,
}

/// A material with its name.
#[derive(Clone, Debug)]
pub(crate) struct Material {
    pub(crate) name: String,
    pub(crate) id: MaterialId,
    pub(crate) surface: Surface,
}

impl Inner {
    /// The pieces, where more can be added.
    pub(crate) fn draft(&mut self) -> PyResult<&mut Draft> {
        self.draft.as_mut().ok_or_else(|| {
            refuse(
                "materials and robots are added to a World() before its first step; bodies and joints at any time",
            )
        })
    }

    /// Builds the world anew where a piece was added.
    pub(crate) fn refresh(&mut self) -> PyResult<()> {
        let Some(draft) = self.draft.as_mut().filter(|draft| draft.stale) else {
            return Ok(());
        };
        let mut world = draft.builder.clone().build().map_err(refuse)?;
        if draft.touched {
            carry_over(&self.world, &mut world)?;
        }
        draft.stale = false;
        self.world = world;
        Ok(())
    }

    /// Notes that the world is written to, so that later pieces do not undo it.
    pub(crate) fn touch(&mut self) {
        if let Some(draft) = &mut self.draft {
            draft.touched = true;
        }
    }

    /// From now on nothing but bodies and joints can be added.
    pub(crate) fn settle(&mut self) {
        self.draft = None;
    }

    pub(crate) fn material(&self, name: Option<&str>) -> PyResult<MaterialId> {
        let Some(name) = name else {
            return Ok(Attach::default().material);
        };
        self.find_material(name).map(|material| material.id)
    }

    pub(crate) fn find_material(&self, name: &str) -> PyResult<&Material> {
        let found = self.materials.iter().find(|known| known.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.materials.iter().map(|m| m.name.as_str()).collect();
            refuse(match known[..] {
                [] => format!("there is no material \"{name}\"; add_material makes it"),
                _ => format!(
                    "there is no material \"{name}\"; known: {}",
                    known.join(", ")
                ),
            })
        })
    }

    /// Adds a body whose shapes stand in its frame.
    pub(crate) fn add_body(
        &mut self,
        mut body: NewBody,
        shapes: &[Shape],
        com: DVec3,
    ) -> PyResult<BodyId> {
        let materials = shapes
            .iter()
            .map(|shape| self.material(shape.material.as_deref()));
        let materials = materials.collect::<PyResult<Vec<MaterialId>>>()?;
        self.not_recording()?;
        let taken = |name: &str| match &self.draft {
            Some(draft) => draft.names.contains(name),
            None => self.world.find_body(name).is_some(),
        };
        if body.name.is_empty() {
            let mut number = match &self.draft {
                Some(draft) => draft.builder.bodies().len(),
                None => self.world.bodies().len(),
            };
            while taken(&format!("body-{number}")) {
                number += 1;
            }
            body.name = format!("body-{number}");
        }
        if body.name == "world" || taken(&body.name) {
            return Err(refuse(format!(
                "\"{}\" is taken; give each body a name of its own, \"world\" is the fixed world itself",
                body.name
            )));
        }
        let grounded = shapes.iter().any(|shape| shape.shape.is_static_only());
        if grounded && body.motion == MovedBy::Dynamic {
            return Err(refuse(
                "half-spaces, meshes and height fields are ground; add motion=\"static\"",
            ));
        }
        body.position += body.orientation * com;
        within_reach(&body, shapes, com)?;
        let pieces = shapes.iter().zip(materials).map(|(shape, material)| {
            let attach = Attach {
                position: shape.position - com,
                rotation: shape.rotation,
                material,
                groups: shape.groups,
            };
            (shape.shape.clone(), attach)
        });
        match &mut self.draft {
            Some(draft) => {
                let name = body.name.clone();
                let id = draft.builder.add_body(body).map_err(refuse)?;
                draft.names.insert(name);
                draft.stale = true;
                for (shape, attach) in pieces {
                    let added = draft.builder.add_collider(id, shape, attach);
                    added.map_err(refuse)?;
                }
                Ok(id)
            }
            None => {
                let id = self.world.add_body(body).map_err(refuse)?;
                for (shape, attach) in pieces {
                    if let Err(error) = self.world.add_collider(id, shape, attach) {
                        self.world.remove_body(id).map_err(refuse)?;
                        return Err(refuse(error));
                    }
                }
                Ok(id)
            }
        }
    }

    /// Takes a body away, with the joints that hold it; no materials or robots can be added then.
    pub(crate) fn remove_body(&mut self, id: BodyId) -> PyResult<()> {
        self.not_recording()?;
        self.refresh()?;
        self.settle();
        self.world.remove_body(id).map_err(refuse)?;
        self.joints = Joints::of(&self.world);
        Ok(())
    }

    /// Adds a joint to the pieces, or to a world that runs.
    pub(crate) fn add_joint(&mut self, kind: &str, plan: JointPlan<'_>) -> PyResult<JointId> {
        self.not_recording()?;
        if self.draft.as_ref().is_some_and(|draft| draft.touched) {
            self.refresh()?;
        }
        let bodies = match &self.draft {
            Some(draft) if draft.stale => draft.builder.bodies(),
            _ => self.world.bodies(),
        };
        let JointPlan { links, keys, name } = plan;
        let link = |link: &Link| match link {
            Link::World => Ok(None),
            Link::Name(name) => find_body(bodies, name).map(Some),
        };
        let links = [link(&links[0])?, link(&links[1])?];
        let plan = Plan {
            bodies,
            links,
            keys: Keys::new(format!("a {kind} joint"), keys),
        };
        let mut joint = plan.joint(kind)?;
        joint.name = match name.is_empty() {
            true => format!("joint-{}", self.joints.next),
            false => name,
        };
        if self.joints.names.contains(&joint.name) {
            return Err(refuse(format!(
                "two joints are called \"{}\"; give each a name of its own",
                joint.name
            )));
        }
        let named = joint.name.clone();
        let id = match &mut self.draft {
            Some(draft) => {
                let id = draft.builder.add_joint(joint).map_err(refuse)?;
                draft.stale = true;
                id
            }
            None => self.world.add_joint(joint).map_err(refuse)?,
        };
        self.joints.names.push(named);
        self.joints.next += 1;
        Ok(id)
    }

    /// Takes a joint away from a world; no materials or robots can be added then.
    pub(crate) fn remove_joint(&mut self, id: JointId) -> PyResult<()> {
        self.not_recording()?;
        self.refresh()?;
        self.settle();
        self.world.remove_joint(id).map_err(refuse)?;
        self.joints = Joints::of(&self.world);
        Ok(())
    }
}

/// Refuses a body or a shape that stands further than collision can see. The place of a body and those of its shapes in
/// it were checked one by one; here their sum is.
fn within_reach(body: &NewBody, shapes: &[Shape], com: DVec3) -> PyResult<()> {
    let far = |x: DVec3| !(x.abs().max_element() <= MAX_SIZE);
    if !shapes.is_empty() && far(body.position) {
        return Err(refuse(format!(
            "the centre of mass of \"{}\" would stand at {}; lengths are at most {MAX_SIZE:e} m",
            body.name, body.position
        )));
    }
    match shapes.iter().find(|shape| far(shape.position - com)) {
        Some(shape) => Err(refuse(format!(
            "a shape of \"{}\" would stand at {} from its centre of mass; lengths are at most {MAX_SIZE:e} m",
            body.name,
            shape.position - com
        ))),
        None => Ok(()),
    }
}

/// Copies into a new world what was written into the old one, whose pieces are its first.
fn carry_over(old: &delassus::World, new: &mut delassus::World) -> PyResult<()> {
    (new.gravity, new.settings) = (old.gravity, old.settings);
    for (i, robot) in old.robots().iter().enumerate() {
        let id = RobotId(i as u32);
        let (q, v) = (robot.configuration(), robot.velocity());
        new.place_robot(id, q, v).map_err(refuse)?;
        if let Some(own) = new.robot_mut(id) {
            own.force.clone_from(&robot.force);
            for (joint, before) in own.joints_mut().iter_mut().zip(robot.joints()) {
                joint.control = before.control;
            }
        }
    }
    let (from, count) = (old.bodies(), old.bodies().len());
    let to = new.bodies_mut();
    to.position[..count].copy_from_slice(&from.position);
    to.orientation[..count].copy_from_slice(&from.orientation);
    to.velocity[..count].copy_from_slice(&from.velocity);
    to.spin[..count].copy_from_slice(&from.spin);
    to.force[..count].copy_from_slice(&from.force);
    to.torque[..count].copy_from_slice(&from.torque);
    for i in 0..new.joints().len() {
        if let Some(own) = new.joint_mut(delassus::JointId(i as u32)) {
            match old.joints().get(i) {
                Some(joint) => *own = joint.clone(),
                // Its frames were laid onto each other where the bodies stand now.
                None => own.coordinate = 0.0,
            }
        }
    }
    Ok(())
}

/// Which joints there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joints {
    /// Names of those that were not taken away.
    pub(crate) names: Vec<String>,
    /// How many there ever were.
    pub(crate) next: u64,
}

impl Joints {
    /// The joints of a world that was made elsewhere.
    pub(crate) fn of(world: &delassus::World) -> Joints {
        let there = world.joints().iter();
        let there = there.filter(|joint| joint.kind != JointKind::Gone);
        Joints {
            names: there.map(|joint| joint.name.clone()).collect(),
            next: world.joints().len() as u64,
        }
    }
}

/// One end of a joint.
pub(crate) enum Link {
    World,
    Name(String),
}

/// A joint as it was asked for.
pub(crate) struct JointPlan<'py> {
    pub(crate) links: [Link; 2],
    pub(crate) keys: Option<Bound<'py, PyDict>>,
    pub(crate) name: String,
}

impl Link {
    /// A body, its name, or `None` for the world.
    pub(crate) fn read(world: &Bound<'_, World>, given: &Bound<'_, PyAny>) -> PyResult<Link> {
        if given.is_none() {
            return Ok(Link::World);
        }
        if let Ok(body) = given.cast::<Body>() {
            if !body.get().is_of(world) {
                return Err(refuse(format!(
                    "body \"{}\" belongs to another world",
                    body.get().name
                )));
            }
            return Ok(Link::Name(body.get().name.clone()));
        }
        match given.extract::<String>() {
            Ok(name) if name == "world" => Ok(Link::World),
            Ok(name) => Ok(Link::Name(name)),
            Err(_) => Err(refuse(
                "a joint joins bodies or their names; None is the fixed world",
            )),
        }
    }
}

impl Draft {
    /// The pieces of an empty world with these settings.
    pub(crate) fn of(world: &delassus::World) -> Draft {
        let mut builder = WorldBuilder::default();
        (builder.gravity, builder.settings) = (world.gravity, world.settings);
        Draft {
            builder,
            ..Draft::default()
        }
    }
}
