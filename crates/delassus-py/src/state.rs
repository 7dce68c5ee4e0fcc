//! The state of a world in and out: arrays of bodies, robots, contacts, energy, checkpoints.

use delassus::math::{DQuat, DVec3};
use delassus::world::{Bodies, MovedBy, State, Touch};
use delassus::{BodyId, RobotId};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{array, rows, shaped};
use crate::error::refuse;
use crate::joint::changed;
use crate::keys::Which;
use crate::problem::content;
use crate::world::{Inner, World};

/// How far the length of a quaternion may be from one.
const UNIT: f64 = 1e-9;

/// An array of a world's bodies: three numbers each.
type Field = fn(&mut Bodies) -> &mut Vec<DVec3>;

impl Inner {
    fn robot(&self, which: &Which) -> PyResult<RobotId> {
        let robots = self.world.robots().iter();
        let names: Vec<&str> = robots.map(|robot| robot.name()).collect();
        Ok(RobotId(which.among("robot", &names)? as u32))
    }
}

fn flat(vectors: &[DVec3]) -> Vec<f64> {
    vectors.iter().flat_map(|x| x.to_array()).collect()
}

/// (w, x, y, z), as everywhere in Python.
pub(crate) fn scalar_first(q: DQuat) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

impl World {
    fn field<'py>(&self, py: Python<'py>, field: Field) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut inner = self.lock()?;
        let values = flat(field(inner.world.bodies_mut()));
        let n = inner.world.bodies().len();
        rows(py, values, [n, 3])
    }

    fn put(&self, (what, given): (&str, &Bound<'_, PyAny>), field: Field) -> PyResult<()> {
        let mut inner = self.lock()?;
        let values = shaped(what, given, &[inner.world.bodies().len(), 3])?;
        let new = values.chunks_exact(3).map(DVec3::from_slice).collect();
        inner.replace(what, new, field)
    }
}

impl Inner {
    /// Writes a field of all bodies. Those that change wake up; links of robots cannot change so.
    fn replace<T: Copy + PartialEq>(
        &mut self,
        what: &str,
        new: Vec<T>,
        field: impl Fn(&mut Bodies) -> &mut Vec<T>,
    ) -> PyResult<()> {
        let old = field(self.world.bodies_mut()).clone();
        let changed: Vec<BodyId> = (self.world.bodies().ids())
            .filter(|id| old[id.index()] != new[id.index()])
            .collect();
        let bodies = self.world.bodies();
        let is_link = |id: &&BodyId| bodies.motion[id.index()] == MovedBy::Link;
        let is_state = !["forces", "torques"].contains(&what);
        if let Some(link) = changed.iter().find(is_link).filter(|_| is_state) {
            let (i, name) = (link.index(), &bodies.name[link.index()]);
            return Err(refuse(format!(
                "{what}[{i}] differs from the present one, but body \"{name}\" is a link of a robot: use place_robot"
            )));
        }
        self.touch();
        *field(self.world.bodies_mut()) = new;
        for id in changed {
            self.world.wake(id);
        }
        Ok(())
    }
}

#[pymethods]
impl World {
    /// Names of the bodies, in the order of the rows of all arrays.
    #[getter]
    fn body_names(&self) -> PyResult<Vec<String>> {
        Ok(self.lock()?.world.bodies().name.clone())
    }

    /// Positions of the centres of mass [m], one row per body. Assign an array to move bodies.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.field(py, |bodies| &mut bodies.position)
    }

    #[setter]
    fn set_positions(&self, given: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(("positions", given), |bodies| &mut bodies.position)
    }

    /// Orientations as unit quaternions (w, x, y, z), one row per body.
    #[getter]
    fn orientations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = self.lock()?;
        let turns = &inner.world.bodies().orientation;
        let values = turns.iter().flat_map(|q| scalar_first(*q)).collect();
        rows(py, values, [turns.len(), 4])
    }

    #[setter]
    fn set_orientations(&self, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut inner = self.lock()?;
        let values = shaped("orientations", given, &[inner.world.bodies().len(), 4])?;
        let mut new = Vec::with_capacity(values.len() / 4);
        for (i, q) in values.chunks_exact(4).enumerate() {
            let q = DQuat::from_xyzw(q[1], q[2], q[3], q[0]);
            if UNIT < (q.length() - 1.0).abs() {
                let length = q.length();
                return Err(refuse(format!(
                    "orientations[{i}] has length {length}; divide the quaternion by it"
                )));
            }
            new.push(q);
        }
        inner.replace("orientations", new, |bodies| &mut bodies.orientation)
    }

    /// Velocities of the centres of mass [m/s].
    #[getter]
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.field(py, |bodies| &mut bodies.velocity)
    }

    #[setter]
    fn set_velocities(&self, given: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(("velocities", given), |bodies| &mut bodies.velocity)
    }

    /// Angular velocities in world axes [rad/s].
    #[getter]
    fn spins<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.field(py, |bodies| &mut bodies.spin)
    }

    #[setter]
    fn set_spins(&self, given: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(("spins", given), |bodies| &mut bodies.spin)
    }

    /// Forces on the bodies during the next step [N]; zero again after it.
    #[getter]
    fn forces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.field(py, |bodies| &mut bodies.force)
    }

    #[setter]
    fn set_forces(&self, given: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(("forces", given), |bodies| &mut bodies.force)
    }

    /// Torques on the bodies during the next step [N m]; zero again after it.
    #[getter]
    fn torques<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.field(py, |bodies| &mut bodies.torque)
    }

    #[setter]
    fn set_torques(&self, given: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(("torques", given), |bodies| &mut bodies.torque)
    }

    /// Names of the robots.
    #[getter]
    fn robots(&self) -> PyResult<Vec<String>> {
        let inner = self.lock()?;
        let robots = inner.world.robots().iter();
        Ok(robots.map(|robot| robot.name().to_owned()).collect())
    }

    /// Names of the joints of a robot.
    #[pyo3(signature = (robot=Which::Place(0)), text_signature = "($self, robot=0)")]
    fn robot_joints(&self, robot: Which) -> PyResult<Vec<String>> {
        let inner = self.lock()?;
        let id = inner.robot(&robot)?;
        let joints = inner.world.robots()[id.index()].joints().iter();
        Ok(joints.map(|joint| joint.name.clone()).collect())
    }

    /// Configuration q and velocity q̇ of a robot, by its place or name.
    #[pyo3(signature = (robot=Which::Place(0)), text_signature = "($self, robot=0)")]
    #[allow(clippy::type_complexity)] // A pair of arrays.
    fn robot_state<'py>(
        &self,
        py: Python<'py>,
        robot: Which,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let inner = self.lock()?;
        let id = inner.robot(&robot)?;
        let robot = &inner.world.robots()[id.index()];
        let (q, v) = (robot.configuration().to_vec(), robot.velocity().to_vec());
        Ok((array(py, q), array(py, v)))
    }

    /// Puts a robot into a state. It is unchanged where the state does not fit.
    #[pyo3(signature = (q, v, robot=Which::Place(0)), text_signature = "($self, q, v, robot=0)")]
    fn place_robot(
        &self,
        q: &Bound<'_, PyAny>,
        v: &Bound<'_, PyAny>,
        robot: Which,
    ) -> PyResult<()> {
        let mut inner = self.lock()?;
        let id = inner.robot(&robot)?;
        let tree = inner.world.robots()[id.index()].tree();
        let q = shaped("q", q, &[tree.n_coordinates()])?;
        let v = shaped("v", v, &[tree.n_dofs()])?;
        inner.touch();
        inner.world.place_robot(id, &q, &v).map_err(refuse)
    }

    /// Joint forces of a robot during the next step [N or N m]; zero again after it.
    #[pyo3(signature = (tau, robot=Which::Place(0)), text_signature = "($self, tau, robot=0)")]
    fn push_robot(&self, tau: &Bound<'_, PyAny>, robot: Which) -> PyResult<()> {
        let mut inner = self.lock()?;
        let id = inner.robot(&robot)?;
        let n = inner.world.robots()[id.index()].tree().n_dofs();
        let tau = shaped("tau", tau, &[n])?;
        inner.touch();
        let robot = inner.world.robot_mut(id).expect("it was found above");
        robot.force = tau;
        Ok(())
    }

    /// Moves the target of a joint's servo [rad or m].
    #[pyo3(signature = (joint, position, robot=Which::Place(0)), text_signature = "($self, joint, position, robot=0)")]
    fn aim_servo(&self, joint: &str, position: f64, robot: Which) -> PyResult<()> {
        if !position.is_finite() {
            return Err(refuse(format!(
                "the position of joint \"{joint}\" is {position}; it must be finite"
            )));
        }
        let mut inner = self.lock()?;
        let id = inner.robot(&robot)?;
        inner.touch();
        let robot = inner.world.robot_mut(id).expect("it was found above");
        let known: Vec<String> = robot.joints().iter().map(|j| j.name.clone()).collect();
        let Some(found) = robot.joint_mut(joint) else {
            let known = known.join(", ");
            return Err(refuse(format!(
                "there is no joint \"{joint}\"; known: {known}"
            )));
        };
        let Some(servo) = &mut found.control.drive.servo else {
            return Err(refuse(format!(
                "joint \"{joint}\" has no servo; give it one in the scene or robot file"
            )));
        };
        servo.position = position;
        Ok(())
    }

    /// Changes `motor`, `servo`, `limits` or `friction` of a robot's joint from the next step on. What is not given
    /// stays; `None` takes it away.
    #[pyo3(signature = (joint, robot=Which::Place(0), **keys), text_signature = "($self, joint, robot=0, **keys)")]
    fn drive_robot(
        &self,
        joint: &str,
        robot: Which,
        keys: Option<Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let mut inner = self.lock()?;
        let id = inner.robot(&robot)?;
        inner.touch();
        let robot = inner.world.robot_mut(id).expect("it was found above");
        let Some(found) = robot.joint_mut(joint).filter(|joint| joint.dofs() == 1) else {
            return Err(refuse(format!(
                "there is no joint \"{joint}\" of one degree of freedom; see robot_joints"
            )));
        };
        let what = format!("joint \"{joint}\"");
        found.control.drive = changed(what, keys, found.control.drive)?;
        Ok(())
    }

    /// Contacts of the last step as a structured array: `bodies`, `point_a` and `point_b` [m], `normal` from b to a,
    /// `gap` [m], `impulse` (n, t₁, t₂) on a [N s], `torque` [N m s], `id`.
    ///
    /// >>> import delassus
    /// >>> world = delassus.World.scene("stack:2")
    /// >>> report = world.step()
    /// >>> bool((world.contacts["impulse"][:, 0] >= 0).all())
    /// True
    #[getter]
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.lock()?;
        let touches: Vec<&Touch> = inner.world.touches().iter().collect();
        contacts(py, &touches, None)
    }

    /// Kinetic and potential energy together [J].
    #[getter]
    fn energy(&self) -> PyResult<f64> {
        let probe = self.lock()?.world.probe();
        Ok(probe.kinetic + probe.potential)
    }

    /// Energies [J], momentum [N s] and angular momentum about the origin [N m s], by name.
    #[getter]
    fn probe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let probe = self.lock()?.world.probe();
        let table = PyDict::new(py);
        table.set_item("kinetic", probe.kinetic)?;
        table.set_item("potential", probe.potential)?;
        table.set_item("momentum", array(py, flat(&[probe.momentum])))?;
        let spin = flat(&[probe.angular_momentum]);
        table.set_item("angular_momentum", array(py, spin))?;
        Ok(table)
    }

    /// Everything that steps change, impulses included, as bytes: `restore` goes on from there bit for bit.
    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.lock()?.world.state();
        let bytes = serde_json::to_vec(&state).map_err(refuse)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Goes back to a checkpoint of the same scene. The world is unchanged where it does not fit.
    fn restore(&self, #[pyo3(from_py_with = content)] checkpoint: Vec<u8>) -> PyResult<()> {
        let state: State = serde_json::from_slice(&checkpoint)
            .map_err(|cause| refuse(format!("this is no checkpoint of a world: {cause}")))?;
        let mut inner = self.lock()?;
        inner.not_recording()?;
        inner.world.restore(&state).map_err(refuse)?;
        inner.settle();
        Ok(())
    }

    /// A hash of all poses and velocities: equal bits, equal hash.
    #[getter]
    fn state_hash(&self) -> PyResult<u64> {
        Ok(self.lock()?.world.state_hash())
    }
}

/// The fields of a contact: name, kind and shape.
const FIELDS: [(&str, &str, &[usize]); 8] = [
    ("bodies", "i8", &[2]),
    ("point_a", "f8", &[3]),
    ("point_b", "f8", &[3]),
    ("normal", "f8", &[3]),
    ("gap", "f8", &[]),
    ("impulse", "f8", &[3]),
    ("torque", "f8", &[3]),
    ("id", "u8", &[]),
];

/// A table of contacts; of those of several copies, with the number of the copy in front.
pub(crate) fn contacts<'py>(
    py: Python<'py>,
    touches: &[&Touch],
    copies: Option<Vec<i64>>,
) -> PyResult<Bound<'py, PyAny>> {
    let copy: (&str, &str, &[usize]) = ("copy", "i8", &[]);
    let fields: Vec<(&str, &str, Bound<'py, pyo3::types::PyTuple>)> = (copies.iter())
        .map(|_| &copy)
        .chain(&FIELDS)
        .map(|(name, kind, shape)| Ok((*name, *kind, pyo3::types::PyTuple::new(py, *shape)?)))
        .collect::<PyResult<_>>()?;
    let numpy = py.import("numpy")?;
    let dtype = numpy.call_method1("dtype", (fields,))?;
    let n = touches.len();
    let table = numpy.call_method1("zeros", (n, dtype))?;
    let three =
        |of: fn(&&Touch) -> [f64; 3]| rows(py, touches.iter().flat_map(of).collect(), [n, 3]);
    let bodies = touches.iter().flat_map(|touch| {
        let (a, b) = touch.point.bodies;
        [a as f64, b as f64]
    });
    if let Some(copies) = copies {
        table.set_item("copy", PyArray1::from_vec(py, copies))?;
    }
    table.set_item("bodies", rows(py, bodies.collect(), [n, 2])?)?;
    table.set_item("point_a", three(|touch| touch.point.point_a.to_array())?)?;
    table.set_item("point_b", three(|touch| touch.point.point_b.to_array())?)?;
    table.set_item("normal", three(|touch| touch.point.normal.to_array())?)?;
    let gaps = touches.iter().map(|touch| touch.point.gap);
    table.set_item("gap", array(py, gaps.collect()))?;
    table.set_item("impulse", three(|touch| touch.impulse)?)?;
    table.set_item("torque", three(|touch| touch.torque)?)?;
    let ids: Vec<u64> = touches.iter().map(|touch| touch.point.id).collect();
    table.set_item("id", PyArray1::from_vec(py, ids))?;
    Ok(table)
}
