//! Rigid bodies as arrays: one array per quantity, indexed by [`BodyId`].

use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

use super::WorldError;
use crate::index::BodyId;
use crate::problem::mass::MassBlock;

/// What moves a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MovedBy {
    /// Nothing: it never moves.
    Static,
    /// Its given velocity, whatever it meets.
    Kinematic,
    /// Forces and impulses.
    #[default]
    Dynamic,
    /// The joints of the robot it is a link of: its state follows theirs, and what is written here is overwritten.
    Link,
    /// Nothing any more: it was taken away by [`World::remove_body`](super::World::remove_body). Its place stays, so that the
    /// ids of all others do.
    Gone,
}

/// One body, as added to a world and read back from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Name, unique in its world; the order of names decides the order of everything else.
    pub name: String,
    /// What moves it.
    pub motion: MovedBy,
    /// Centre of mass \[m\].
    pub position: DVec3,
    /// Body axes to world axes.
    pub orientation: DQuat,
    /// Velocity of the centre of mass \[m/s\].
    pub velocity: DVec3,
    /// Angular velocity, world axes \[rad/s\].
    pub spin: DVec3,
    /// Mass \[kg\]; ignored unless dynamic.
    pub mass: f64,
    /// Inertia about the centre of mass, body axes \[kg m²\]; ignored unless dynamic.
    pub inertia: DMat3,
}

impl Default for Body {
    fn default() -> Body {
        Body {
            name: String::new(),
            motion: MovedBy::Dynamic,
            position: DVec3::ZERO,
            orientation: DQuat::IDENTITY,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            mass: 1.0,
            inertia: DMat3::IDENTITY,
        }
    }
}

/// All bodies of a world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bodies {
    /// Names.
    pub name: Vec<String>,
    /// What moves each.
    pub motion: Vec<MovedBy>,
    /// Centres of mass \[m\].
    pub position: Vec<DVec3>,
    /// Orientations.
    pub orientation: Vec<DQuat>,
    /// Velocities \[m/s\].
    pub velocity: Vec<DVec3>,
    /// Angular velocities, world axes \[rad/s\].
    pub spin: Vec<DVec3>,
    /// Masses \[kg\].
    pub mass: Vec<f64>,
    /// Inertias in body axes \[kg m²\].
    pub inertia: Vec<DMat3>,
    /// Forces besides gravity for the next step \[N\]; a step that succeeds sets them to zero, a refused one keeps them.
    pub force: Vec<DVec3>,
    /// Torques about the centre of mass for the next step, world axes \[N m\].
    pub torque: Vec<DVec3>,
    /// How long each has been at rest \[s\]; only counted where sleeping is on.
    pub rest: Vec<f64>,
    /// Asleep: left out of the step until something wakes it.
    pub asleep: Vec<bool>,
}

impl Bodies {
    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.name.len()
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.name.is_empty()
    }

    /// Whether there is such a body and it has not been taken away.
    pub fn has(&self, id: BodyId) -> bool {
        let motion = self.motion.get(id.index());
        motion.is_some_and(|motion| *motion != MovedBy::Gone)
    }

    /// The body of this name; those that were taken away are not found. Looks at one name after the other.
    pub fn find(&self, name: &str) -> Option<BodyId> {
        let named = |id: &BodyId| self.name[id.index()] == name && self.has(*id);
        self.ids().find(named)
    }

    /// All ids, those of bodies that were taken away included.
    pub fn ids(&self) -> impl Iterator<Item = BodyId> + use<> {
        (0..self.len() as u32).map(BodyId)
    }

    /// Adds a body; refuses masses, inertias and numbers that no body can have.
    pub(super) fn push(&mut self, body: Body) -> Result<BodyId, WorldError> {
        let name = body.name.clone();
        let refuse = |what: String| WorldError::Body {
            name: name.clone(),
            what,
        };
        let numbers = [body.position, body.velocity, body.spin];
        if !numbers.iter().all(|v| v.is_finite()) {
            return Err(refuse(
                "position, velocity and spin must be finite numbers".to_owned(),
            ));
        }
        if !((body.orientation.length() - 1.0).abs() < 1e-6) {
            let length = body.orientation.length();
            return Err(refuse(format!(
                "orientation has length {length}; give a unit quaternion"
            )));
        }
        if body.motion == MovedBy::Dynamic {
            MassBlock::rigid(body.mass, body.inertia).map_err(|error| WorldError::BodyMass {
                name: name.clone(),
                error,
            })?;
        }
        self.name.push(body.name);
        self.motion.push(body.motion);
        self.position.push(body.position);
        self.orientation.push(body.orientation.normalize());
        self.velocity.push(body.velocity);
        self.spin.push(body.spin);
        self.mass.push(body.mass);
        self.inertia.push(body.inertia);
        self.force.push(DVec3::ZERO);
        self.torque.push(DVec3::ZERO);
        self.rest.push(0.0);
        self.asleep.push(false);
        Ok(BodyId(self.len() as u32 - 1))
    }

    /// One body read back.
    pub fn get(&self, id: BodyId) -> Body {
        let i = id.index();
        Body {
            name: self.name[i].clone(),
            motion: self.motion[i],
            position: self.position[i],
            orientation: self.orientation[i],
            velocity: self.velocity[i],
            spin: self.spin[i],
            mass: self.mass[i],
            inertia: self.inertia[i],
        }
    }

    /// Inertia in world axes, R I Rᵀ.
    pub fn world_inertia(&self, id: BodyId) -> DMat3 {
        let inertia = self.inertia[id.index()];
        let diagonal = inertia.x_axis.x;
        // A sphere looks the same from everywhere.
        if inertia == DMat3::from_diagonal(DVec3::splat(diagonal)) {
            return inertia;
        }
        let turn = DMat3::from_quat(self.orientation[id.index()]);
        let world = turn * inertia * turn.transpose();
        (world + world.transpose()) * 0.5
    }

    /// True for bodies that impulses move in the next step, links included.
    pub fn is_free(&self, id: BodyId) -> bool {
        self.motion[id.index()] == MovedBy::Link || self.is_single(id)
    }

    /// True for bodies with a mass block of their own in the next step.
    pub(super) fn is_single(&self, id: BodyId) -> bool {
        self.motion[id.index()] == MovedBy::Dynamic && !self.asleep[id.index()]
    }

    /// A point of the body given in body axes, in the world.
    pub fn to_world(&self, id: BodyId, local: DVec3) -> DVec3 {
        self.position[id.index()] + self.orientation[id.index()] * local
    }

    /// Velocity of the body's material point at a world position.
    pub fn velocity_at(&self, id: BodyId, point: DVec3) -> DVec3 {
        let i = id.index();
        self.velocity[i] + self.spin[i].cross(point - self.position[i])
    }
}
