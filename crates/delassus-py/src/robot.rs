//! Robots as kinematic trees: dynamics and kinematics of one state or of many.

use std::path::{Path, PathBuf};

use delassus::math::DVec3;
use delassus::model::robot;
use delassus::problem::file::limit;
use delassus::tree::{Batch, TreeError};
use delassus::world::RobotModel;
use delassus::{LinkId, Tree};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arrays::{array, batched, room_for, states, three};
use crate::error::{of_disk, refuse};
use crate::world::base;

/// Most numbers of an array that is given back: sixteen gigabytes.
const MOST: usize = 1 << 31;

/// A link by its place or its name.
#[derive(Debug, FromPyObject)]
enum Which {
    Place(u32),
    Name(String),
}

/// A robot in joint coordinates: q has `n_coordinates` numbers, velocities and forces `n_dofs`.
///
/// Every method takes one state, as arrays of one index, or a batch of them, as arrays with one state per row. Where
/// the base floats, q begins with its position and its quaternion (w, x, y, z). Joint frames, limits and closed loops
/// are those of the file; the dynamics here are those of the open tree, joint damping included.
///
/// >>> import delassus
/// >>> robot = delassus.Robot.parse('''<robot name="pendulum"><link name="base"/><link name="bob">
/// ... <inertial><origin xyz="0 0 -1"/><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0"
/// ... izz="0.1"/></inertial></link><joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/>
/// ... <axis xyz="0 1 0"/></joint></robot>''')
/// >>> robot.n_dofs, robot.crba([0.0]).round(9).tolist()
/// (1, [[2.1]])
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct Robot {
    model: RobotModel,
    warnings: Vec<String>,
}

impl Robot {
    fn of_text(text: &str, name: &str, folder: Option<&Path>, floating: bool) -> PyResult<Robot> {
        let read = robot::parse(text, name, folder, base(floating)).map_err(refuse)?;
        let warnings = read.warnings.iter();
        Ok(Robot {
            warnings: warnings
                .map(|warning| format!("{name}:{}: {}", warning.line, warning.text))
                .collect(),
            model: read.robot,
        })
    }

    fn tree(&self) -> &Tree {
        &self.model.tree
    }

    fn link(&self, which: &Which) -> PyResult<LinkId> {
        let links = self.tree().links();
        let place = match which {
            Which::Place(place) => Some(*place as usize).filter(|place| *place < links.len()),
            Which::Name(name) => links.iter().position(|link| link.name == *name),
        };
        place.map(|place| LinkId(place as u32)).ok_or_else(|| {
            let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
            let asked = match which {
                Which::Place(place) => place.to_string(),
                Which::Name(name) => format!("\"{name}\""),
            };
            refuse(format!(
                "there is no link {asked}; the robot has {} links: {}",
                names.len(),
                names.join(", ")
            ))
        })
    }

    /// Computes `size` numbers for each state.
    fn each(
        &self,
        py: Python<'_>,
        (batch, size): (Option<usize>, usize),
        compute: impl Fn(usize, &mut [f64]) -> Result<(), TreeError> + Send + Sync,
    ) -> PyResult<Vec<f64>> {
        let count = batch.unwrap_or(1);
        let total = count.checked_mul(size).filter(|total| *total <= MOST);
        let total = total.ok_or_else(|| {
            refuse(format!(
                "the answer has {size} numbers for each of {count} states, more than the {MOST} that fit into one array"
            ))
        })?;
        room_for(total)?;
        let mut out = vec![0.0; total];
        let done = py.detach(|| {
            for state in 0..count {
                compute(state, &mut out[state * size..(state + 1) * size])
                    .map_err(|error| (state, error))?;
            }
            Ok(())
        });
        done.map_err(|(state, error): (usize, TreeError)| match batch {
            None => refuse(error),
            Some(_) => refuse(format!("state {state}: {error}")),
        })?;
        Ok(out)
    }
}

/// The part of an array that belongs to a state.
fn part(values: &[f64], state: usize, width: usize) -> &[f64] {
    &values[state * width..(state + 1) * width]
}

/// Gravity as given, or that of the earth along −z [m/s²].
fn gravity_of(given: Option<&Bound<'_, PyAny>>) -> PyResult<DVec3> {
    given.map_or(Ok(DVec3::new(0.0, 0.0, -9.81)), |given| {
        three("gravity", given)
    })
}

#[pymethods]
impl Robot {
    /// Reads a URDF or MJCF file. A URDF robot is bolted to the ground unless `floating`.
    #[staticmethod]
    #[pyo3(signature = (path, *, floating=false))]
    fn from_file(path: PathBuf, floating: bool) -> PyResult<Robot> {
        let text = limit::read_text(&path).map_err(|cause| of_disk(&path, &cause))?;
        let name = path.display().to_string();
        Robot::of_text(&text, &name, path.parent(), floating)
    }

    /// The same from the text of a file.
    #[staticmethod]
    #[pyo3(signature = (text, *, folder=None, floating=false))]
    fn parse(text: &str, folder: Option<PathBuf>, floating: bool) -> PyResult<Robot> {
        Robot::of_text(text, "text", folder.as_deref(), floating)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.model.name
    }

    /// What of the file was not understood, one sentence each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Numbers of a configuration.
    #[getter]
    fn n_coordinates(&self) -> usize {
        self.tree().n_coordinates()
    }

    /// Numbers of a velocity.
    #[getter]
    fn n_dofs(&self) -> usize {
        self.tree().n_dofs()
    }

    /// Names of the links.
    #[getter]
    fn links(&self) -> Vec<String> {
        let links = self.tree().links().iter();
        links.map(|link| link.name.clone()).collect()
    }

    /// Names of the joints that have limits, motors or friction of their own.
    #[getter]
    fn joints(&self) -> Vec<String> {
        let joints = self.model.joints.iter();
        joints.map(|joint| joint.name.clone()).collect()
    }

    /// Sum of all masses [kg].
    #[getter]
    fn mass(&self) -> f64 {
        self.tree().mass()
    }

    /// The configuration with no displacement anywhere.
    #[getter]
    fn neutral<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        array(py, self.tree().neutral())
    }

    /// Inverse dynamics: the joint forces τ = M(q)a + C(q, v)v + g(q) + damping v.
    #[pyo3(signature = (q, v, a, *, gravity=None))]
    fn rnea<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        a: &Bound<'py, PyAny>,
        gravity: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, tree) = (q.py(), self.tree());
        let (nq, n) = (tree.n_coordinates(), tree.n_dofs());
        let gravity = gravity_of(gravity)?;
        let given = states([("q", q, nq), ("v", v, n), ("a", a, n)])?;
        let [q, v, a] = &given.arrays;
        let tau = self.each(py, (given.batch, n), |state, tau| {
            let at = (part(q, state, nq), part(v, state, n), part(a, state, n));
            tree.inverse_dynamics(&mut tree.data(), at, gravity, tau)
        })?;
        batched(py, tau, given.batch, &[n])
    }

    /// Forward dynamics: the acceleration M⁻¹(τ − C(q, v)v − g(q) − damping v).
    #[pyo3(signature = (q, v, tau, *, gravity=None))]
    fn aba<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        tau: &Bound<'py, PyAny>,
        gravity: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, tree) = (q.py(), self.tree());
        let (nq, n) = (tree.n_coordinates(), tree.n_dofs());
        let gravity = gravity_of(gravity)?;
        let given = states([("q", q, nq), ("v", v, n), ("tau", tau, n)])?;
        let [q, v, tau] = &given.arrays;
        let mut out = vec![0.0; v.len()];
        py.detach(|| match given.batch {
            None => tree.forward_dynamics(&mut tree.data(), (q, v, tau), gravity, &mut out),
            // Several states side by side in vector registers.
            Some(_) => {
                tree.forward_dynamics_batch(&mut Batch::default(), (q, v, tau), gravity, &mut out)
            }
        })
        .map_err(refuse)?;
        batched(py, out, given.batch, &[n])
    }

    /// The mass matrix M(q).
    fn crba<'py>(&self, q: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, tree) = (q.py(), self.tree());
        let (nq, n) = (tree.n_coordinates(), tree.n_dofs());
        let given = states([("q", q, nq)])?;
        let [q] = &given.arrays;
        let matrices = self.each(py, (given.batch, n * n), |state, matrix| {
            tree.mass_matrix(&mut tree.data(), part(q, state, nq), matrix)
        })?;
        batched(py, matrices, given.batch, &[n, n])
    }

    /// The six rows (angular, then linear; world axes) with (ω, velocity) = J v of a point of a link. The point is given
    /// in the link's own frame [m], by default its origin.
    #[pyo3(signature = (q, link, point=None))]
    fn jacobian<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        link: Which,
        point: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, tree) = (q.py(), self.tree());
        let (nq, n) = (tree.n_coordinates(), tree.n_dofs());
        let link = self.link(&link)?;
        let point = point.map_or(Ok(DVec3::ZERO), |point| three("point", point))?;
        let given = states([("q", q, nq)])?;
        let [q] = &given.arrays;
        let jacobians = self.each(py, (given.batch, 6 * n), |state, rows| {
            let mut data = tree.data();
            tree.kinematics(part(q, state, nq), &mut data)?;
            let place = tree.pose(&data, link)?.point(point);
            tree.jacobian(&data, link, place, rows)
        })?;
        batched(py, jacobians, given.batch, &[6, n])
    }

    /// Where a link is: a matrix of four by four that takes points of the link's frame to the world.
    fn pose<'py>(&self, q: &Bound<'py, PyAny>, link: Which) -> PyResult<Bound<'py, PyAny>> {
        let (py, tree) = (q.py(), self.tree());
        let nq = tree.n_coordinates();
        let link = self.link(&link)?;
        let given = states([("q", q, nq)])?;
        let [q] = &given.arrays;
        let poses = self.each(py, (given.batch, 16), |state, matrix| {
            let mut data = tree.data();
            tree.kinematics(part(q, state, nq), &mut data)?;
            let pose = tree.pose(&data, link)?;
            for i in 0..3 {
                for j in 0..3 {
                    matrix[4 * i + j] = pose.rotation.col(j)[i];
                }
                matrix[4 * i + 3] = pose.position[i];
            }
            matrix[15] = 1.0;
            Ok(())
        })?;
        batched(py, poses, given.batch, &[4, 4])
    }

    /// The configuration after h seconds at constant velocity; quaternions stay of length one.
    fn integrate<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        h: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !h.is_finite() {
            return Err(refuse(format!("h is {h}; it must be finite")));
        }
        let (py, tree) = (q.py(), self.tree());
        let (nq, n) = (tree.n_coordinates(), tree.n_dofs());
        let given = states([("q", q, nq), ("v", v, n)])?;
        let [q, v] = &given.arrays;
        let moved = self.each(py, (given.batch, nq), |state, next| {
            next.copy_from_slice(part(q, state, nq));
            tree.integrate(next, part(v, state, n), h)
        })?;
        batched(py, moved, given.batch, &[nq])
    }

    fn __repr__(&self) -> String {
        format!(
            "<Robot \"{}\": {} links, {} degrees of freedom, {:.3} kg>",
            self.model.name,
            self.tree().links().len(),
            self.tree().n_dofs(),
            self.tree().mass()
        )
    }
}
