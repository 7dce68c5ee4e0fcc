//! Problems: from arrays, files, built-in names and texts.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use delassus::gallery;
use delassus::problem::Form;
use delassus::problem::delassus::BlockMatrix;
use delassus::problem::file::{self, FileContent, Format, Loaded, json, limit};
use delassus::{Law, Residual, Solution};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyString, PyTuple};

use crate::answer::residuals;
use crate::arrays::{array, entries, numbers, shaped, shown, vector, whole};
use crate::error::{of_disk, refuse, refuse_at};
use crate::interrupt::{Flag, interruptible};
use crate::primal::delassus_entries;

/// One constraint problem, complete and immutable: it can be saved, loaded and solved by any solver.
///
/// Made from arrays by `Problem(M, p, G, q, laws)`, `Problem.dual`, `lcp` and `friction`, by `Problem.read`,
/// `Problem.parse` and `Problem.builtin`, and by `World.problem` from a step of a world.
///
/// >>> import delassus
/// >>> problem = delassus.Problem.builtin("stack:3")
/// >>> delassus.solve(problem).solved
/// True
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) problem: Arc<delassus::Problem>,
    kind: Cow<'static, str>,
    title: String,
    /// Impulses to start from.
    pub(crate) guess: Option<Vec<f64>>,
    /// Where velocity i stands in the file, if the order differs.
    pub(crate) order: Option<Vec<usize>>,
}

impl Problem {
    /// A problem of the engine with the impulses it starts from.
    pub(crate) fn new(
        problem: delassus::Problem,
        title: String,
        guess: Option<Vec<f64>>,
    ) -> Problem {
        Problem {
            kind: match problem.form() {
                Form::Primal(_) => "problem".into(),
                Form::Dual(_) => "dual".into(),
            },
            problem: Arc::new(problem),
            title,
            guess,
            order: None,
        }
    }

    fn of(loaded: Loaded) -> PyResult<Problem> {
        let kind = loaded.kind;
        let (problem, order) = match loaded.content {
            FileContent::Problem {
                problem,
                velocity_order,
            } => (*problem, velocity_order),
            FileContent::Tree(work) => (work.problem, None),
            FileContent::Stabilisation(_) => {
                return Err(refuse(format!(
                    "a file of kind {kind} is computed, not solved; use `delassus solve` on the command line"
                )));
            }
        };
        Ok(Problem {
            problem: Arc::new(problem),
            kind: kind.into(),
            title: loaded.title,
            guess: loaded.guess,
            order,
        })
    }

    /// w = M z + q with a law for each block of so many rows.
    pub(crate) fn matrix(
        (name, kind): (&str, &'static str),
        (matrix, q): (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
        laws: impl FnOnce(usize) -> PyResult<Vec<(usize, Law)>>,
    ) -> PyResult<Problem> {
        let q = vector("q", q)?;
        let entries = entries(name, matrix)?;
        let n = q.len();
        if entries.shape != (n, n) {
            let (rows, columns) = entries.shape;
            return Err(refuse(format!(
                "{name} has shape ({rows}, {columns}) where q, which has {n} numbers, needs ({n}, {n})"
            )));
        }
        let (sizes, laws): (Vec<usize>, Vec<Law>) = laws(n)?.into_iter().unzip();
        let matrix = BlockMatrix::from_entries(&sizes, &entries.list).map_err(refuse)?;
        // What is given twice is added, and a sum may be beyond all numbers.
        let mut sums = delassus_entries(&matrix);
        if let Some((i, j, sum)) = sums.find(|(_, _, sum)| !sum.is_finite()) {
            return Err(refuse(format!(
                "entries of {name} at ({i}, {j}) add up to {sum}; every number must be finite"
            )));
        }
        drop(sums);
        let problem = delassus::Problem::dual(matrix, q, &laws).map_err(refuse)?;
        let problem = Problem::new(problem, String::new(), None);
        Ok(Problem {
            kind: kind.into(),
            ..problem
        })
    }
}

/// The format of this name.
fn format_of(name: &str) -> PyResult<Format> {
    let found = Format::NAMES.iter().find(|(known, _)| *known == name);
    found.map(|(_, format)| *format).ok_or_else(|| {
        let known: Vec<&str> = Format::NAMES.iter().map(|(known, _)| *known).collect();
        refuse(format!(
            "there is no format \"{name}\"; known: {}",
            known.join(", ")
        ))
    })
}

/// What text or bytes hold.
pub(crate) fn content(given: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes().to_vec());
    }
    if given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyByteArray>() {
        return given.extract();
    }
    let found = given.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a str or bytes are needed, not {found}"
    )))
}

#[pymethods]
impl Problem {
    /// Reads a problem file: own JSON, Siconos `.dat`, FCLIB `.hdf5`. The format is told by the ending unless given.
    #[staticmethod]
    #[pyo3(signature = (path, format=None))]
    fn read(path: PathBuf, format: Option<&str>) -> PyResult<Problem> {
        let name = path.display().to_string();
        let format = match format {
            Some(format) => format_of(format)?,
            None => Format::of_name(&name),
        };
        let bytes = limit::read(&path).map_err(|cause| of_disk(&path, &cause))?;
        let loaded = file::parse(&bytes, format).map_err(|cause| refuse_at(&name)(&cause))?;
        Problem::of(loaded)
    }

    /// Reads a problem from the text or bytes of a file.
    ///
    /// >>> import delassus
    /// >>> text = '{"schema": "delassus-problem-1", "kind": "lcp", "M": [[2]], "q": [-1]}'
    /// >>> delassus.solve(delassus.Problem.parse(text)).z.tolist()
    /// [0.5]
    #[staticmethod]
    #[pyo3(signature = (content, format="json"))]
    fn parse(#[pyo3(from_py_with = content)] content: Vec<u8>, format: &str) -> PyResult<Problem> {
        let loaded = file::parse(&content, format_of(format)?).map_err(refuse)?;
        Problem::of(loaded)
    }

    /// What `pickle` calls.
    #[staticmethod]
    fn _unpickled(json: &str, kind: String, order: Option<Vec<usize>>) -> PyResult<Problem> {
        let loaded = file::parse(json.as_bytes(), Format::Json).map_err(refuse)?;
        let problem = Problem::of(loaded)?;
        if let Some(order) = &order {
            let mut places = order.clone();
            places.sort_unstable();
            if !places.into_iter().eq(0..problem.problem.n_velocities()) {
                return Err(refuse(
                    "the order of the velocities names each once; pickle the problem again",
                ));
            }
        }
        Ok(Problem {
            kind: kind.into(),
            order,
            ..problem
        })
    }

    /// It is pickled as its JSON, which comes back bit for bit.
    fn __reduce__<'py>(slf: &Bound<'py, Problem>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, own) = (slf.py(), slf.get());
        let make = slf.get_type().getattr("_unpickled")?;
        let given = (own.json(), own.kind(), own.order.clone());
        (make, given).into_pyobject(py)
    }

    /// It never changes, so that a copy is the problem itself.
    fn __copy__(slf: Py<Problem>) -> Py<Problem> {
        slf
    }

    /// The same.
    fn __deepcopy__(slf: Py<Problem>, _memo: &Bound<'_, PyAny>) -> Py<Problem> {
        slf
    }

    /// A built-in problem: `name` or `name:size`, as `delassus list problems` names them.
    #[staticmethod]
    fn builtin(name: &str) -> PyResult<Problem> {
        let problem = gallery::build(name).map_err(refuse)?;
        Ok(Problem::new(problem, name.to_owned(), None))
    }

    /// The problem as JSON, from which `Problem.parse` makes the same bits.
    fn json(&self) -> String {
        json::save_with(&self.problem, &self.title, self.guess.as_deref(), None)
    }

    /// Writes the problem as JSON. A file of this name is replaced.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        fs::write(&path, self.json()).map_err(|cause| of_disk(&path, &cause))
    }

    /// The kind of its file: `lcp`, `friction`, `contact`, `problem`, …
    #[getter]
    fn kind(&self) -> &str {
        &self.kind
    }

    /// Its title, or an empty text.
    #[getter]
    fn title(&self) -> &str {
        &self.title
    }

    /// Number of rows.
    #[getter]
    fn n_rows(&self) -> usize {
        self.problem.n_rows()
    }

    /// Number of velocities; zero for a problem given by its matrix.
    #[getter]
    fn n_velocities(&self) -> usize {
        self.problem.n_velocities()
    }

    /// The law of each block.
    #[getter]
    fn laws(&self) -> Vec<&'static str> {
        let blocks = self.problem.blocks().iter();
        blocks.map(|block| block.law.name()).collect()
    }

    /// Row velocities without impulses, the q of w = S λ + q [m/s].
    #[getter]
    fn c<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        array(py, self.problem.c().to_vec())
    }

    /// Impulses a solve starts from, where the file or the world has them.
    #[getter]
    fn guess<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        Some(array(py, self.guess.clone()?))
    }

    /// Judges impulses: every metric by name, as in `Answer.residuals`.
    fn residuals<'py>(
        &self,
        py: Python<'py>,
        lambda_: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let lambda = shaped("lambda_", lambda_, &[self.problem.n_rows()])?;
        let residual = interruptible(py, &Flag::take(), || {
            let solution = Solution::from_lambda(&self.problem, lambda);
            Residual::of(&self.problem, &solution)
        })?;
        residuals(py, &residual)
    }

    fn __repr__(&self) -> String {
        let title = match self.title.is_empty() {
            true => String::new(),
            false => format!(" \"{}\"", self.title),
        };
        format!(
            "<Problem{title}: {}, {} blocks, {} rows, {} velocities>",
            self.kind,
            self.problem.blocks().len(),
            self.problem.n_rows(),
            self.problem.n_velocities()
        )
    }
}

/// A linear complementarity problem: find z with w = M z + q, z ≥ 0, w ≥ 0 and zᵀw = 0.
///
/// M is a NumPy array or a sparse matrix of SciPy; it need be neither symmetric nor regular.
///
/// >>> import delassus
/// >>> delassus.solve(delassus.lcp([[1, 0], [0, 1]], [-1, 3])).z.tolist()
/// [1.0, 0.0]
#[pyfunction]
#[pyo3(name = "lcp", signature = (M, q))]
#[allow(non_snake_case)] // The name of the matrix in every text about these problems.
pub(crate) fn lcp(M: &Bound<'_, PyAny>, q: &Bound<'_, PyAny>) -> PyResult<Problem> {
    let laws = |n: usize| Ok(vec![(1, Law::Unilateral); n]);
    Problem::matrix(("M", "lcp"), (M, q), laws)
}

/// Contacts with Coulomb friction: w = W λ + q with rows (n, t₁, t₂) for each contact.
///
/// W is a NumPy array or a sparse matrix of SciPy, mu one coefficient or one for each contact. λ_n > 0 pushes apart,
/// w_n > 0 separates. With `rows=2` the contacts lie in a plane and have rows (n, t).
///
/// >>> import delassus, numpy
/// >>> problem = delassus.friction(numpy.eye(3), [-1, 0.2, 0], 0.5)
/// >>> delassus.solve(problem).lambda_.round(9).tolist()
/// [1.0, -0.2, 0.0]
#[pyfunction]
#[pyo3(name = "friction", signature = (W, q, mu, rows=3))]
#[allow(non_snake_case)]
pub(crate) fn friction(
    W: &Bound<'_, PyAny>,
    q: &Bound<'_, PyAny>,
    mu: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = whole)] rows: u64,
) -> PyResult<Problem> {
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    if rows != 2 && rows != 3 {
        return Err(refuse(format!("rows is {rows}; contacts have 2 or 3 rows")));
    }
    let mu = numbers("mu", mu)?;
    let laws = |n: usize| {
        if !n.is_multiple_of(rows) {
            return Err(refuse(format!(
                "q has {n} numbers, which is no multiple of the {rows} rows of a contact"
            )));
        }
        let count = n / rows;
        let mu = match mu.shape[..] {
            [] => vec![mu.values[0]; count],
            [given] if given == count => mu.values,
            _ => {
                let given = shown(&mu.shape);
                return Err(refuse(format!(
                    "mu has shape {given} where there are {count} contacts; give one number, or one for each"
                )));
            }
        };
        let law = |mu| (rows, Law::FrictionCone { mu });
        Ok(mu.into_iter().map(law).collect())
    };
    Problem::matrix(("W", "friction"), (W, q), laws)
}
