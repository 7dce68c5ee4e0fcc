//! Derivatives of a world's step.

use delassus::derivative::Mode;
use delassus::solver::from_spec;
use delassus::world::{Differentiate, Input, Layout, StepChange};
use delassus::{RobotId, Stop};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyTuple};

use crate::arrays::{array, rows, shaped};
use crate::error::refuse;
use crate::handle::{Body, Joint};
use crate::interrupt::{Flag, interruptible};
use crate::joint::find_body;
use crate::world::{Inner, World};

/// The inputs of a step, as they are written.
const INPUTS: &str = "(\"gravity\", axis), (\"mass\", body), (\"friction\", material), (\"restitution\", material), \
    (\"motor-speed\", joint), (\"motor-force\", joint), (\"servo-position\", joint), and the last three as (…, robot, joint)";

/// How the state after a step changes with the state before it, with forces, and with inputs such as masses and friction.
///
/// A state has 2n numbers: n of poses and n of velocities, as `body` and `robot` place them. Those of a body are position
/// and turn about the world's axes, and velocity and spin; those of a robot are one for each of its velocities.
///
/// >>> import delassus
/// >>> world = delassus.World()
/// >>> ball = world.add_body("ball", delassus.Shape.sphere(0.1), position=[0, 0, 1])
/// >>> derivative = world.differentiate(0.01, inputs=[("gravity", 2)])
/// >>> back = derivative.backward([0, 0, 1] + [0] * 9)      # of its height after the step
/// >>> back["inputs"].round(9).tolist(), back["state"].round(9).tolist()[8]
/// ([0.0001], 0.01)
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct StepDerivative {
    inner: delassus::world::StepDerivative,
    before: delassus::World,
    n_inputs: usize,
    degenerate: Vec<String>,
    modes: Vec<(String, &'static str)>,
}

/// Names of modes.
fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::Open => "open",
        Mode::Held => "held",
        Mode::Slips => "slips",
        Mode::Mixed => "mixed",
    }
}

/// An input by its name and what it belongs to.
fn input(world: &Bound<'_, World>, inner: &Inner, given: &Bound<'_, PyAny>) -> PyResult<Input> {
    let fault = || refuse(format!("an input is one of {INPUTS}"));
    let parts = given.cast::<PyTuple>().map_err(|_| fault())?;
    let kind: String = parts
        .get_item(0)
        .and_then(|x| x.extract())
        .map_err(|_| fault())?;
    let of = parts.get_item(1).map_err(|_| fault())?;
    let material = || -> PyResult<usize> {
        match of.extract::<usize>() {
            Ok(place) => Ok(place),
            Err(_) => {
                let name: String = of.extract().map_err(|_| fault())?;
                Ok(inner.find_material(&name)?.id.index())
            }
        }
    };
    if parts.len() == 3 {
        let name: String = of.extract().map_err(|_| fault())?;
        let robots = inner.world.robots();
        let Some(r) = robots.iter().position(|robot| robot.name() == name) else {
            return Err(refuse(format!("there is no robot \"{name}\"")));
        };
        let joint: String = parts.get_item(2)?.extract().map_err(|_| fault())?;
        let mut joints = robots[r].joints().iter();
        let Some(j) = joints.position(|known| known.name == joint) else {
            return Err(refuse(format!("robot \"{name}\" has no joint \"{joint}\"")));
        };
        let id = RobotId(r as u32);
        return match kind.as_str() {
            "motor-speed" => Ok(Input::RobotMotorSpeed(id, j)),
            "motor-force" => Ok(Input::RobotMotorForce(id, j)),
            "servo-position" => Ok(Input::RobotServoPosition(id, j)),
            _ => Err(fault()),
        };
    }
    if parts.len() != 2 {
        return Err(fault());
    }
    let joint = || -> PyResult<delassus::JointId> {
        let name: String = match of.cast::<Joint>() {
            Ok(joint) if joint.get().is_of(world) => joint.get().name.clone(),
            Ok(_) => return Err(refuse("the joint belongs to another world")),
            Err(_) => of.extract().map_err(|_| fault())?,
        };
        let known = inner.world.find_joint(&name);
        known.ok_or_else(|| refuse(format!("there is no joint \"{name}\"")))
    };
    match kind.as_str() {
        "gravity" => Ok(Input::Gravity(of.extract().map_err(|_| fault())?)),
        "mass" => {
            let name: String = match of.cast::<Body>() {
                Ok(body) if body.get().is_of(world) => body.get().name.clone(),
                Ok(_) => return Err(refuse("the body belongs to another world")),
                Err(_) => of.extract().map_err(|_| fault())?,
            };
            Ok(Input::Mass(find_body(inner.world.bodies(), &name)?))
        }
        "friction" => Ok(Input::Friction(material()?)),
        "restitution" => Ok(Input::Restitution(material()?)),
        "motor-speed" => Ok(Input::MotorSpeed(joint()?)),
        "motor-force" => Ok(Input::MotorForce(joint()?)),
        "servo-position" => Ok(Input::ServoPosition(joint()?)),
        _ => Err(fault()),
    }
}

#[pymethods]
impl World {
    /// Differentiates the next step of `dt` seconds, by default that of the scene; the world stays as it is.
    ///
    /// `inputs` are numbers besides state and forces: `("gravity", axis)`, `("mass", body)`, `("friction", material)`,
    /// `("restitution", material)`, `("motor-speed", joint)`, `("motor-force", joint)`, `("servo-position", joint)`, and the
    /// last three as `(…, robot, joint)` for the joint of a robot. A material is a name given to `add_material`, or its
    /// number; 0 is the default one.
    ///
    /// The step is solved by Newton's method to `tolerance`. `smoothing`, a share of the step's velocities such as 1e-3,
    /// gives a derivative that means something on the edge between sticking and slipping too.
    #[pyo3(signature = (dt=None, *, inputs=None, smoothing=None, tolerance=1e-12))]
    fn differentiate(
        slf: &Bound<'_, World>,
        dt: Option<f64>,
        inputs: Option<Vec<Bound<'_, PyAny>>>,
        smoothing: Option<f64>,
        tolerance: f64,
    ) -> PyResult<StepDerivative> {
        let inner = slf.get().lock()?;
        let inner = &*inner;
        if !(tolerance.is_finite() && 0.0 < tolerance) {
            return Err(refuse(format!(
                "tolerance is {tolerance}; it must be positive"
            )));
        }
        let inputs = inputs.unwrap_or_default();
        let inputs = inputs.iter().map(|given| input(slf, inner, given));
        let by = Differentiate {
            inputs: inputs.collect::<PyResult<Vec<Input>>>()?,
            smoothing,
        };
        let flag = Flag::take();
        let stop = Stop {
            tolerance,
            cancel: Some(flag.cancel()),
            ..Stop::default()
        };
        let mut solver = from_spec("newton", stop, 0).map_err(refuse)?;
        let (dt, world) = (dt.unwrap_or(inner.run.dt), &inner.world);
        let found = interruptible(slf.py(), &flag, || {
            world.differentiate(dt, solver.as_mut(), &by)
        })?;
        let found = found.map_err(refuse)?;
        let describe = |key| world.describe(key);
        Ok(StepDerivative {
            degenerate: found.degenerate().map(describe).collect(),
            modes: found
                .modes()
                .map(|(key, mode)| (describe(key), word(mode)))
                .collect(),
            n_inputs: by.inputs.len(),
            before: world.clone(),
            inner: found,
        })
    }

    /// The value of an input, as `differentiate` names them.
    fn get_input(slf: &Bound<'_, World>, name: &Bound<'_, PyAny>) -> PyResult<f64> {
        let inner = slf.get().lock()?;
        let input = input(slf, &inner, name)?;
        let value = input.get(&inner.world);
        value.ok_or_else(|| refuse(format!("there is no {input} in this world")))
    }

    /// Sets the value of an input, as `differentiate` names them: from the next step on.
    ///
    /// >>> import delassus
    /// >>> world = delassus.World()
    /// >>> ball = world.add_body("ball", delassus.Shape.sphere(0.1))
    /// >>> world.set_input(("mass", ball), 3.0)
    /// >>> ball.mass
    /// 3.0
    fn set_input(slf: &Bound<'_, World>, name: &Bound<'_, PyAny>, value: f64) -> PyResult<()> {
        let mut inner = slf.get().lock()?;
        let input = input(slf, &inner, name)?;
        if !input.put(&mut inner.world, value) {
            return Err(refuse(format!(
                "the {input} cannot be {value} in this world"
            )));
        }
        // Materials and robots that are added later would undo it.
        inner.settle();
        Ok(())
    }

    /// The state as one array: (x, y, z, w, i, j, k) of every body that can move, the configuration of every robot, then
    /// velocity and spin of the bodies and the velocities of the robots. Quaternions that are written are brought to
    /// length one.
    #[getter]
    fn coordinates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let inner = self.lock()?;
        let layout = Layout::new(&inner.world);
        Ok(array(py, layout.coordinates(&inner.world)))
    }

    #[setter]
    fn set_coordinates(&self, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut inner = self.lock()?;
        let layout = Layout::new(&inner.world);
        let count = layout.n_coordinates(&inner.world);
        let coordinates = shaped("coordinates", given, &[count])?;
        inner.touch();
        layout
            .place(&mut inner.world, &coordinates)
            .map_err(refuse)?;
        for id in layout.bodies() {
            inner.world.wake(*id);
        }
        Ok(())
    }

    /// Adds forces for the next step, in the order of `StepDerivative`: force and torque of every body that can move, one
    /// number for each velocity of a robot.
    fn push(&self, force: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut inner = self.lock()?;
        let layout = Layout::new(&inner.world);
        let force = shaped("force", force, &[layout.len()])?;
        inner.touch();
        for id in layout.bodies() {
            inner.world.wake(*id);
        }
        layout.push(&mut inner.world, &force).map_err(refuse)
    }
}

impl StepDerivative {
    fn optional(
        &self,
        what: &str,
        given: Option<&Bound<'_, PyAny>>,
        count: usize,
    ) -> PyResult<Vec<f64>> {
        given.map_or(Ok(Vec::new()), |given| shaped(what, given, &[count]))
    }

    fn named<'py>(
        &self,
        py: Python<'py>,
        state: Vec<f64>,
        found: StepChange,
    ) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        named.set_item("state", array(py, state))?;
        named.set_item("force", array(py, found.force))?;
        named.set_item("inputs", array(py, found.inputs))?;
        Ok(named)
    }
}

#[pymethods]
impl StepDerivative {
    /// Numbers of a pose; as many are velocities, and as many forces.
    #[getter]
    fn n(&self) -> usize {
        self.inner.layout().len()
    }

    /// What each block of rows of the last substep does, with its name: `open`, `held`, `slips` or `mixed`.
    #[getter]
    fn modes(&self) -> Vec<(String, &'static str)> {
        self.modes.clone()
    }

    /// What is on the edge between two modes, in words: there the derivative is that of one side.
    #[getter]
    fn degenerate(&self) -> Vec<String> {
        self.degenerate.clone()
    }

    /// Numbers, counted through poses, velocities, forces and inputs, along which rows change their slope: a contact that
    /// appears or goes to another feature.
    #[getter]
    fn kinks(&self) -> Vec<usize> {
        self.inner.kinks().collect()
    }

    /// Whether it is the derivative of both sides: nothing is on an edge, and there is no kink.
    #[getter]
    fn smooth(&self) -> bool {
        self.inner.is_smooth()
    }

    /// Whether impulses change in one way only.
    #[getter]
    fn unique(&self) -> bool {
        self.inner.is_unique()
    }

    /// Where the six numbers of a body stand among those of poses, velocities or forces.
    fn body<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PySlice>> {
        let id = find_body(self.before.bodies(), name)?;
        let place = self.inner.layout().body(id);
        let place =
            place.ok_or_else(|| refuse(format!("body \"{name}\" cannot move by itself")))?;
        Ok(PySlice::new(py, place as isize, place as isize + 6, 1))
    }

    /// Where the numbers of a robot stand among those of poses, velocities or forces.
    fn robot<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PySlice>> {
        let mut robots = self.before.robots().iter();
        let place = robots.position(|robot| robot.name() == name);
        let range = place.and_then(|r| self.inner.layout().robot(RobotId(r as u32)));
        let range = range.ok_or_else(|| refuse(format!("there is no robot \"{name}\"")))?;
        Ok(PySlice::new(
            py,
            range.start as isize,
            range.end as isize,
            1,
        ))
    }

    /// How the state after the step changes; what is not given does not change.
    #[pyo3(signature = (state=None, force=None, inputs=None))]
    fn forward<'py>(
        &self,
        py: Python<'py>,
        state: Option<&Bound<'py, PyAny>>,
        force: Option<&Bound<'py, PyAny>>,
        inputs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let change = StepChange {
            state: self.optional("state", state, 2 * self.n())?,
            force: self.optional("force", force, self.n())?,
            inputs: self.optional("inputs", inputs, self.n_inputs)?,
        };
        Ok(array(py, self.inner.forward(&change).map_err(refuse)?))
    }

    /// The derivatives of any number L with respect to `state`, `force` and `inputs`, from that with respect to the state
    /// after the step. One solve, however many they are.
    fn backward<'py>(
        &self,
        py: Python<'py>,
        state: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let state = shaped("state", state, &[2 * self.n()])?;
        let mut found = self.inner.backward(&state).map_err(refuse)?;
        self.named(py, std::mem::take(&mut found.state), found)
    }

    /// The same between coordinates as `World.coordinates` has them: `after` are those after the step, and `gradient` is
    /// ∂L/∂ of these.
    fn pull<'py>(
        &self,
        py: Python<'py>,
        after: &Bound<'py, PyAny>,
        gradient: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let layout = self.inner.layout();
        let count = layout.n_coordinates(&self.before);
        let (after, gradient) = (
            shaped("after", after, &[count])?,
            shaped("gradient", gradient, &[count])?,
        );
        let mut world = self.before.clone();
        layout.place(&mut world, &after).map_err(refuse)?;
        let by_state = layout.to_tangent(&world, &gradient).map_err(refuse)?;
        let found = self.inner.backward(&by_state).map_err(refuse)?;
        let state = layout
            .to_coordinates(&self.before, &found.state)
            .map_err(refuse)?;
        self.named(py, state, found)
    }

    /// The derivative of the state after the step by the state before it: 2n × 2n.
    #[getter]
    fn matrix<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n = 2 * self.n();
        rows(py, self.inner.state_matrix().map_err(refuse)?, [n, n])
    }

    fn __repr__(&self) -> String {
        let slips = self.modes.iter().filter(|(_, mode)| *mode == "slips");
        format!(
            "<StepDerivative of {} velocities and {} inputs: {} blocks, {} slip, {} on an edge>",
            self.n(),
            self.n_inputs,
            self.modes.len(),
            slips.count(),
            self.degenerate.len()
        )
    }
}
