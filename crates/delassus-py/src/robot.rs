//! Robots as kinematic trees: dynamics and kinematics of one state or of many.

use std::path::{Path, PathBuf};
use std::time::Instant;

use delassus::math::DVec3;
use delassus::model::robot;
use delassus::problem::file::limit;
use delassus::solver::exact::kkt::TreeKkt;
use delassus::tree::{Batch, Data, KktGiven, KktUnknowns, TreeError, TreeRows};
use delassus::world::RobotModel;
use delassus::{LinkId, Tree};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{array, batched, numbers, room_for, shaped, shown, states, three};
use crate::error::{of_disk, refuse};
use crate::interrupt::NOTICE;
use crate::keys::Which;
use crate::world::base;

/// Most numbers of an array that is given back: sixteen gigabytes.
const MOST: usize = 1 << 31;

/// States between two looks at Ctrl-C, whatever the number of lanes a multiple of it.
const LOOK: usize = 4096;

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
    /// The text it was read from, its name and its folder.
    source: (String, String, Option<PathBuf>),
    floating: bool,
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
            source: (text.to_owned(), name.to_owned(), folder.map(Path::to_owned)),
            floating,
        })
    }

    fn tree(&self) -> &Tree {
        &self.model.tree
    }

    fn link(&self, which: &Which) -> PyResult<LinkId> {
        let links = self.tree().links().iter();
        let names: Vec<&str> = links.map(|link| link.name.as_str()).collect();
        Ok(LinkId(which.among("link", &names)? as u32))
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
        py.detach(|| {
            let mut asked = Instant::now();
            for state in 0..count {
                let own = &mut out[state * size..(state + 1) * size];
                compute(state, own).map_err(|error| match batch {
                    None => refuse(error),
                    Some(_) => refuse(format!("state {state}: {error}")),
                })?;
                hear_signals(&mut asked)?;
            }
            Ok::<(), PyErr>(())
        })?;
        Ok(out)
    }
}

/// The part of an array that belongs to a state.
fn part(values: &[f64], state: usize, width: usize) -> &[f64] {
    &values[state * width..(state + 1) * width]
}

/// Ends a long batch where a signal handler raises; it is asked as often as Ctrl-C should be noticed.
fn hear_signals(asked: &mut Instant) -> PyResult<()> {
    if asked.elapsed() < NOTICE {
        return Ok(());
    }
    *asked = Instant::now();
    Python::attach(|py| py.check_signals())
}

/// Rows written out, as forces on the joints of a tree.
fn dense_rows(tree: &Tree, data: &Data, matrix: &[f64]) -> Result<TreeRows, TreeError> {
    let mut rows = TreeRows::default();
    for row in matrix.chunks_exact(tree.n_dofs().max(1)) {
        rows.start();
        for (dof, &factor) in row.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
            tree.add_dof(data, &mut rows, dof, factor)?;
        }
    }
    Ok(rows)
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

    /// `from_file` by the name that worlds and problems have for it.
    #[staticmethod]
    #[pyo3(signature = (path, *, floating=false))]
    fn read(path: PathBuf, floating: bool) -> PyResult<Robot> {
        Robot::from_file(path, floating)
    }

    /// The same from the text of a file.
    #[staticmethod]
    #[pyo3(signature = (text, *, folder=None, floating=false))]
    fn parse(text: &str, folder: Option<PathBuf>, floating: bool) -> PyResult<Robot> {
        Robot::of_text(text, "text", folder.as_deref(), floating)
    }

    /// What `pickle` calls.
    #[staticmethod]
    fn _unpickled(source: (String, String, Option<PathBuf>), floating: bool) -> PyResult<Robot> {
        let (text, name, folder) = source;
        Robot::of_text(&text, &name, folder.as_deref(), floating)
    }

    /// It is pickled as the text of its file; meshes that the file names are looked for again.
    fn __reduce__<'py>(slf: &Bound<'py, Robot>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, own) = (slf.py(), slf.get());
        let make = slf.get_type().getattr("_unpickled")?;
        (make, (own.source.clone(), own.floating)).into_pyobject(py)
    }

    /// It never changes, so that a copy is the robot itself.
    fn __copy__(slf: Py<Robot>) -> Py<Robot> {
        slf
    }

    /// The same.
    fn __deepcopy__(slf: Py<Robot>, _memo: &Bound<'_, PyAny>) -> Py<Robot> {
        slf
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

    /// `n_coordinates` by its name in other libraries.
    #[getter]
    fn nq(&self) -> usize {
        self.n_coordinates()
    }

    /// `n_dofs` by its name in other libraries.
    #[getter]
    fn nv(&self) -> usize {
        self.n_dofs()
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
        py.detach(|| {
            if given.batch.is_none() {
                let found = tree.forward_dynamics(&mut tree.data(), (q, v, tau), gravity, &mut out);
                return found.map_err(refuse);
            }
            // Several states side by side in vector registers, some thousands between two looks at Ctrl-C.
            let (mut batch, mut asked) = (Batch::default(), Instant::now());
            let chunks = out.chunks_mut(LOOK * n.max(1)).enumerate();
            for (k, out) in chunks {
                let (from, to) = (k * LOOK, k * LOOK + out.len() / n.max(1));
                let states = (
                    &q[from * nq..to * nq],
                    &v[from * n..to * n],
                    &tau[from * n..to * n],
                );
                tree.forward_dynamics_batch(&mut batch, states, gravity, out)
                    .map_err(refuse)?;
                hear_signals(&mut asked)?;
            }
            Ok(())
        })?;
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

    /// The KKT system of constrained dynamics: x and λ with M(q)x = p + Gᵀλ and G x + Σλ = b, by articulated-body
    /// passes, without M.
    ///
    /// G has one row for each constraint, as rows of `jacobian`; a batch has a matrix for each state. `sigma` is the
    /// compliance of each row, zero by default. With p = −rnea(q, v, 0) + τ and b = −Ġv, x is the acceleration and λ
    /// the force of each row. Where rows depend on each other λ is one of many answers; x and Gᵀλ are the only ones.
    #[pyo3(signature = (q, G, p, b, *, sigma=None))]
    #[expect(non_snake_case, reason = "the name of the matrix in every chapter")]
    fn kkt<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        G: &Bound<'py, PyAny>,
        p: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
        sigma: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (py, tree) = (q.py(), self.tree());
        let (nq, n) = (tree.n_coordinates(), tree.n_dofs());
        let g = numbers("G", G)?;
        let (batch, m) = match g.shape[..] {
            [m, width] if width == n => (None, m),
            [count, m, width] if width == n => (Some(count), m),
            _ => {
                return Err(refuse(format!(
                    "G has shape {}; one state has shape (rows, {n}), a batch (states, rows, {n})",
                    shown(&g.shape)
                )));
            }
        };
        let given = states([("q", q, nq), ("p", p, n), ("b", b, m)])?;
        if given.batch != batch {
            return Err(refuse(format!(
                "G has shape {} where q has shape {}; give a matrix for each state",
                shown(&g.shape),
                shown(&given.batch.into_iter().chain([nq]).collect::<Vec<_>>())
            )));
        }
        let sigma = sigma.map_or(Ok(vec![0.0; m]), |sigma| shaped("sigma", sigma, &[m]))?;
        if let Some(i) = sigma.iter().position(|sigma| *sigma < 0.0) {
            return Err(refuse(format!(
                "sigma[{i}] is {}; a compliance is not negative",
                sigma[i]
            )));
        }
        let [q, p, b] = &given.arrays;
        let both = self.each(py, (batch, n + m), |state, out| {
            let mut data = tree.data();
            tree.kinematics(part(q, state, nq), &mut data)?;
            let rows = dense_rows(tree, &data, part(&g.values, state, m * n))?;
            let (y1, y2) = (part(p, state, n), part(b, state, m));
            let (x1, x2) = out.split_at_mut(n);
            let system = KktGiven {
                y1,
                y2,
                sigma: &sigma,
            };
            TreeKkt::default().solve(tree, &mut data, &rows, system, KktUnknowns { x1, x2 })?;
            // The engine has [M Gᵀ; G −Σ][x₁; x₂] = [y₁; y₂], so λ = −x₂; taken from zero, none is −0.
            out[n..].iter_mut().for_each(|x| *x = 0.0 - *x);
            Ok(())
        })?;
        let of = |range: std::ops::Range<usize>| -> Vec<f64> {
            let states = both.chunks_exact((n + m).max(1));
            states
                .flat_map(|one| &one[range.clone()])
                .copied()
                .collect()
        };
        let (x, lambda) = (of(0..n), of(n..n + m));
        Ok((
            batched(py, x, batch, &[n])?,
            batched(py, lambda, batch, &[m])?,
        ))
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
