//! Bodies and joints of a world by themselves. They know when what they name is gone.

use delassus::math::DVec3;
use delassus::world::MovedBy;
use delassus::{BodyId, JointId};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{array, three};
use crate::error::refuse;
use crate::joint::changed;
use crate::keys::quaternion;
use crate::world::{Inner, World};

/// A body of a world.
///
/// What is read is how it stands now; what is assigned counts from the next step on.
///
/// >>> import delassus
/// >>> world = delassus.World.scene("stack:2")
/// >>> top = world.body(world.body_names[-1])
/// >>> top.velocity = [1, 0, 0]
/// >>> top.push([0, 0, 5.0])                 # for the next step [N]
/// >>> world.step().solved
/// True
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct Body {
    world: Py<World>,
    id: BodyId,
    pub(crate) name: String,
}

type Vector<'py> = Bound<'py, PyArray1<f64>>;

impl Body {
    pub(crate) fn new(world: &Bound<'_, World>, id: BodyId, name: String) -> Body {
        Body {
            world: world.clone().unbind(),
            id,
            name,
        }
    }

    fn get<'py>(
        &self,
        py: Python<'py>,
        read: impl Fn(&delassus::world::Body) -> Vec<f64>,
    ) -> PyResult<Vector<'py>> {
        let inner = self.world.get().lock()?;
        self.check(&inner)?;
        Ok(array(py, read(&inner.world.bodies().get(self.id))))
    }

    /// Whether it is a body of this world.
    pub(crate) fn is_of(&self, world: &Bound<'_, World>) -> bool {
        self.world.is(world)
    }

    /// Raises where it was removed.
    fn check(&self, inner: &Inner) -> PyResult<()> {
        match inner.world.has_body(self.id) {
            true => Ok(()),
            false => Err(refuse(format!(
                "body \"{}\" was removed from its world",
                self.name
            ))),
        }
    }

    /// Changes the body, which wakes; a link of a robot is placed by its robot.
    fn put(&self, what: &str, change: impl FnOnce(&mut Inner)) -> PyResult<()> {
        let mut inner = self.world.get().lock()?;
        self.check(&inner)?;
        if inner.world.bodies().motion[self.id.index()] == MovedBy::Link {
            return Err(refuse(format!(
                "{what} of body \"{}\" follows the joints of its robot: use place_robot",
                self.name
            )));
        }
        inner.touch();
        change(&mut inner);
        inner.world.wake(self.id);
        Ok(())
    }
}

#[pymethods]
impl Body {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Its row in the arrays of its world.
    #[getter]
    fn index(&self) -> usize {
        self.id.index()
    }

    /// `dynamic`, `static`, `kinematic`, or `link` of a robot.
    #[getter]
    fn motion(&self) -> PyResult<&'static str> {
        let inner = self.world.get().lock()?;
        self.check(&inner)?;
        Ok(match inner.world.bodies().motion[self.id.index()] {
            MovedBy::Dynamic => "dynamic",
            MovedBy::Static => "static",
            MovedBy::Kinematic => "kinematic",
            MovedBy::Link => "link",
            MovedBy::Gone => "gone",
        })
    }

    /// Its mass [kg]; of no meaning unless it is dynamic or a link.
    #[getter]
    fn mass(&self) -> PyResult<f64> {
        let inner = self.world.get().lock()?;
        self.check(&inner)?;
        Ok(inner.world.bodies().mass[self.id.index()])
    }

    /// Position of its centre of mass [m].
    #[getter]
    fn position<'py>(&self, py: Python<'py>) -> PyResult<Vector<'py>> {
        self.get(py, |body| body.position.to_array().to_vec())
    }

    #[setter]
    fn set_position(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = three("position", value)?;
        let i = self.id.index();
        self.put("position", |inner| {
            inner.world.bodies_mut().position[i] = value
        })
    }

    /// Orientation as a unit quaternion (w, x, y, z).
    #[getter]
    fn orientation<'py>(&self, py: Python<'py>) -> PyResult<Vector<'py>> {
        self.get(py, |body| {
            let q = body.orientation;
            vec![q.w, q.x, q.y, q.z]
        })
    }

    #[setter]
    fn set_orientation(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = quaternion("orientation", value)?;
        let i = self.id.index();
        self.put("orientation", |inner| {
            inner.world.bodies_mut().orientation[i] = value;
        })
    }

    /// Velocity of its centre of mass [m/s].
    #[getter]
    fn velocity<'py>(&self, py: Python<'py>) -> PyResult<Vector<'py>> {
        self.get(py, |body| body.velocity.to_array().to_vec())
    }

    #[setter]
    fn set_velocity(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = three("velocity", value)?;
        let i = self.id.index();
        self.put("velocity", |inner| {
            inner.world.bodies_mut().velocity[i] = value
        })
    }

    /// Angular velocity in world axes [rad/s].
    #[getter]
    fn spin<'py>(&self, py: Python<'py>) -> PyResult<Vector<'py>> {
        self.get(py, |body| body.spin.to_array().to_vec())
    }

    #[setter]
    fn set_spin(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = three("spin", value)?;
        let i = self.id.index();
        self.put("spin", |inner| inner.world.bodies_mut().spin[i] = value)
    }

    /// Pushes it during the next step by a force [N], at a point of the world or else its centre, and a torque [N m].
    /// Several pushes add up.
    #[pyo3(signature = (force, *, torque=None, at=None))]
    fn push(
        &self,
        force: &Bound<'_, PyAny>,
        torque: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let force = three("force", force)?;
        let torque = torque.map(|given| three("torque", given)).transpose()?;
        let at = at.map(|given| three("at", given)).transpose()?;
        let mut inner = self.world.get().lock()?;
        self.check(&inner)?;
        inner.touch();
        let i = self.id.index();
        let bodies = inner.world.bodies_mut();
        // τ + (p − c) × f about the centre
        let arm = at.map_or(DVec3::ZERO, |at| at - bodies.position[i]);
        bodies.force[i] += force;
        bodies.torque[i] += torque.unwrap_or(DVec3::ZERO) + arm.cross(force);
        inner.world.wake(self.id);
        Ok(())
    }

    /// Takes it out of its world, with the joints that hold it. Every handle of it raises from then on; its row in the
    /// arrays of the world stays, at rest.
    fn remove(&self) -> PyResult<()> {
        let mut inner = self.world.get().lock()?;
        self.check(&inner)?;
        inner.remove_body(self.id)
    }

    fn __repr__(&self) -> PyResult<String> {
        let inner = self.world.get().lock()?;
        if self.check(&inner).is_err() {
            return Ok(format!("<Body \"{}\", removed>", self.name));
        }
        let DVec3 { x, y, z } = inner.world.bodies().position[self.id.index()];
        Ok(format!(
            "<Body \"{}\" at ({x:.4}, {y:.4}, {z:.4})>",
            self.name
        ))
    }
}

/// A joint between two bodies of a world, or a body and the world.
///
/// >>> import delassus
/// >>> world = delassus.World()
/// >>> wheel = world.add_body("wheel", delassus.Shape.cylinder(0.05, 0.2))
/// >>> axle = world.add_joint("hinge", (wheel, None), point=[0, 0, 0], axis=[0, 0, 1],
/// ...                        motor=dict(speed=2.0, max_force=1000.0))
/// >>> report = world.step(10)
/// >>> round(axle.coordinate, 6)
/// 0.2
/// >>> axle.drive(motor=dict(speed=-2.0, max_force=1000.0))
/// >>> report = world.step(10)
/// >>> abs(axle.coordinate) < 1e-6
/// True
/// >>> axle.remove()
/// >>> axle.coordinate
/// Traceback (most recent call last):
/// ...
/// delassus.Error: joint "joint-0" was removed from its world
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct Joint {
    world: Py<World>,
    id: JointId,
    pub(crate) name: String,
}

impl Joint {
    /// Whether it is a joint of this world.
    pub(crate) fn is_of(&self, world: &Bound<'_, World>) -> bool {
        self.world.is(world)
    }

    pub(crate) fn new(world: &Bound<'_, World>, id: JointId, name: String) -> Joint {
        Joint {
            world: world.clone().unbind(),
            id,
            name,
        }
    }

    /// Where it stands, if it is still there.
    fn place(&self, inner: &Inner) -> PyResult<usize> {
        match inner.world.has_joint(self.id) {
            true => Ok(self.id.index()),
            false => Err(refuse(format!(
                "joint \"{}\" was removed from its world",
                self.name
            ))),
        }
    }

    fn reaction<'py>(
        &self,
        py: Python<'py>,
        read: impl Fn(delassus::world::Reaction) -> DVec3,
    ) -> PyResult<Vector<'py>> {
        let inner = self.world.get().lock()?;
        self.place(&inner)?;
        let reaction = inner.world.reaction(self.id);
        Ok(array(py, read(reaction).to_array().to_vec()))
    }
}

#[pymethods]
impl Joint {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Its kind, as `World.add_joint` names it.
    #[getter]
    fn kind(&self) -> PyResult<&'static str> {
        let inner = self.world.get().lock()?;
        Ok(inner.world.joints()[self.place(&inner)?].kind.name())
    }

    /// Names of the bodies it acts on.
    #[getter]
    fn bodies(&self) -> PyResult<Vec<String>> {
        let inner = self.world.get().lock()?;
        let links = inner.world.joints()[self.place(&inner)?].links();
        let names = &inner.world.bodies().name;
        Ok(links.iter().map(|id| names[id.index()].clone()).collect())
    }

    /// Angle of a hinge [rad], full turns included, or displacement of a slider [m].
    #[getter]
    fn coordinate(&self) -> PyResult<f64> {
        let inner = self.world.get().lock()?;
        Ok(inner.world.joints()[self.place(&inner)?].coordinate)
    }

    /// Largest violation of what it holds [m or rad].
    #[getter]
    fn violation(&self) -> PyResult<f64> {
        let inner = self.world.get().lock()?;
        let joint = &inner.world.joints()[self.place(&inner)?];
        Ok(joint.violation(inner.world.bodies()))
    }

    /// Mean force on its first body over the last step, in world axes [N].
    #[getter]
    fn force<'py>(&self, py: Python<'py>) -> PyResult<Vector<'py>> {
        self.reaction(py, |reaction| reaction.force)
    }

    /// Mean torque on its first body over the last step, about the joint's point, in world axes [N m].
    #[getter]
    fn torque<'py>(&self, py: Python<'py>) -> PyResult<Vector<'py>> {
        self.reaction(py, |reaction| reaction.torque)
    }

    /// Changes `motor`, `servo`, `limits` or `friction` from the next step on, where it has a coordinate. What is not given
    /// stays; `None` takes it away.
    #[pyo3(signature = (**keys))]
    fn drive(&self, keys: Option<Bound<'_, PyDict>>) -> PyResult<()> {
        let mut inner = self.world.get().lock()?;
        self.place(&inner)?;
        let id = self.id;
        let Some(before) = inner.world.joints()[id.index()].kind.drive().copied() else {
            return Err(refuse(format!(
                "joint \"{}\" has no coordinate to drive; hinges, sliders, screws and cylindrical joints have",
                self.name
            )));
        };
        let new = changed(format!("joint \"{}\"", self.name), keys, before)?;
        inner.touch();
        let joint = inner.world.joint_mut(id).expect("it was found above");
        if let Some(drive) = joint.kind.drive_mut() {
            *drive = new;
        }
        Ok(())
    }

    /// Takes it out of its world. Every handle of it raises from then on.
    fn remove(&self) -> PyResult<()> {
        let mut inner = self.world.get().lock()?;
        self.place(&inner)?;
        inner.remove_joint(self.id)
    }

    fn __repr__(&self) -> PyResult<String> {
        let inner = self.world.get().lock()?;
        Ok(match self.place(&inner) {
            Ok(place) => {
                let joint = &inner.world.joints()[place];
                format!("<Joint \"{}\": {}>", self.name, joint.kind.name())
            }
            Err(_) => format!("<Joint \"{}\": removed>", self.name),
        })
    }
}
