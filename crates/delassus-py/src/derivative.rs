//! Derivatives of an answer with respect to the data of its problem.

use delassus::derivative::{Change, Mode};
use delassus::{Problem as Engine, Solution};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::Answer;
use crate::arrays::{array, room_for, rows, shaped};
use crate::error::refuse;
use crate::interrupt::{Flag, interruptible};
use crate::primal::MOST;
use crate::problem::Problem;

/// How the answer of a solved problem changes with p, q, Σ, μ, G and M.
///
/// Blocks stay in their modes for small changes, and in a mode each law is linear: one system, factored once, serves
/// every direction, forward and backward.
///
/// >>> import delassus
/// >>> problem = delassus.lcp([[2, 1], [1, 2]], [-5, -6])
/// >>> derivative = delassus.derivative(problem, delassus.solve(problem))
/// >>> derivative.modes
/// ['held', 'held']
/// >>> dv, dlam = derivative.forward(q=[1, 0])
/// >>> dlam.round(6).tolist()
/// [-0.666667, 0.333333]
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct Derivative {
    inner: delassus::derivative::Derivative<'static>,
    answer: Solution,
    n_blocks: usize,
    /// Where velocity i stands outside, if the order differs.
    order: Option<Vec<usize>>,
}

/// Changes of v and λ.
type Pair<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Differentiates the answer of a problem: an `Answer`, or its impulses.
///
/// The answer should be solved tightly, since it says which contacts stick and which slip. `smoothing`, a share of the
/// problem's velocities such as 1e-3, smooths every law by so much: a derivative that means something on the edge between
/// two modes too. Without it `friction-facets` raise `Error`.
#[pyfunction]
#[pyo3(signature = (problem, answer, *, smoothing=None))]
pub(crate) fn derivative(
    py: Python<'_>,
    problem: &Problem,
    answer: &Bound<'_, PyAny>,
    smoothing: Option<f64>,
) -> PyResult<Derivative> {
    let engine: &Engine = &problem.problem;
    let given = match answer.cast::<Answer>() {
        Ok(answer) => answer.get().impulses(py),
        Err(_) => answer.clone(),
    };
    let lambda = shaped("answer", &given, &[engine.n_rows()])?;
    let answer = Solution::from_lambda(engine, lambda);
    let found = interruptible(py, &Flag::take(), || match smoothing {
        None => delassus::derivative::Derivative::new(engine, &answer),
        Some(tau) => delassus::derivative::Derivative::smoothed(engine, &answer, tau),
    })?;
    Ok(Derivative {
        inner: found.map_err(refuse)?.into_owned(),
        answer,
        n_blocks: engine.blocks().len(),
        order: problem.order.clone(),
    })
}

#[pymethods]
impl Derivative {
    /// What each block does: `open`, `held`, `slips` or `mixed`.
    #[getter]
    fn modes(&self) -> Vec<&'static str> {
        let name = |mode: Mode| match mode {
            Mode::Open => "open",
            Mode::Held => "held",
            Mode::Slips => "slips",
            Mode::Mixed => "mixed",
        };
        self.inner.modes().map(name).collect()
    }

    /// Blocks on the edge between two modes, where the derivative is that of one side.
    #[getter]
    fn degenerate(&self) -> Vec<u32> {
        self.inner.degenerate().map(|block| block.0).collect()
    }

    /// Whether impulses change in one way only; false where rows depend on others.
    #[getter]
    fn unique(&self) -> bool {
        self.inner.is_unique()
    }

    /// (dv, dλ) for changes of the data; what is not given does not change. `mu` has a number for each block, `G` and
    /// `M` are dense. For a problem given by its matrix `q` is the change of q itself, as in w = M z + q.
    #[pyo3(signature = (*, p=None, q=None, sigma=None, mu=None, G=None, M=None))]
    #[expect(non_snake_case, reason = "matrices have capital names, as on paper")]
    #[expect(clippy::too_many_arguments, reason = "one for each array of the data")]
    fn forward<'py>(
        &self,
        py: Python<'py>,
        p: Option<&Bound<'py, PyAny>>,
        q: Option<&Bound<'py, PyAny>>,
        sigma: Option<&Bound<'py, PyAny>>,
        mu: Option<&Bound<'py, PyAny>>,
        G: Option<&Bound<'py, PyAny>>,
        M: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Pair<'py>> {
        let (n, nv) = self.sizes();
        let read = |what: &str, given: Option<&Bound<'py, PyAny>>, shape: &[usize]| match given {
            Some(given) => shaped(what, given, shape),
            None => Ok(Vec::new()),
        };
        let mut change = Change {
            p: self.inwards(read("p", p, &[nv])?, 1),
            q: read("q", q, &[n])?,
            sigma: read("sigma", sigma, &[n])?,
            mu: read("mu", mu, &[self.n_blocks])?,
            g: self.inwards(read("G", G, &[n, nv])?, n),
            m: read("M", M, &[nv, nv])?,
            ..Change::default()
        };
        if nv == 0 {
            change.q.iter_mut().for_each(|q| *q = -*q);
        }
        if let (Some(order), false) = (&self.order, change.m.is_empty()) {
            let given = change.m.clone();
            for (i, a) in order.iter().enumerate() {
                for (j, b) in order.iter().enumerate() {
                    change.m[i * nv + j] = given[a * nv + b];
                }
            }
        }
        let changed = self.inner.forward(&change).map_err(refuse)?;
        let v = self.outwards(changed.v);
        Ok((array(py, v), array(py, changed.lambda)))
    }

    /// The derivatives of any number L with respect to the data, from ∂L/∂v and ∂L/∂λ: arrays by name, `p`, `q`,
    /// `sigma`, `mu`, and `G` and `M` where the problem has them. One solve, however large they are; `G` and `M` are
    /// dense, and left out where `matrices` is false.
    ///
    /// >>> import delassus
    /// >>> problem = delassus.lcp([[2, 1], [1, 2]], [-5, -6])
    /// >>> derivative = delassus.derivative(problem, delassus.solve(problem))
    /// >>> derivative.backward(lambda_=[1, 0])["q"].round(6).tolist()
    /// [-0.666667, 0.333333]
    #[pyo3(signature = (v=None, lambda_=None, *, matrices=true))]
    fn backward<'py>(
        &self,
        py: Python<'py>,
        v: Option<&Bound<'py, PyAny>>,
        lambda_: Option<&Bound<'py, PyAny>>,
        matrices: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (n, nv) = self.sizes();
        let v = match v {
            Some(v) => self.inwards(shaped("v", v, &[nv])?, 1),
            None => Vec::new(),
        };
        let lambda = match lambda_ {
            Some(lambda) => shaped("lambda_", lambda, &[n])?,
            None => Vec::new(),
        };
        if matrices {
            let count = n.saturating_add(nv).saturating_mul(nv);
            if MOST < count {
                return Err(refuse(format!(
                    "G and M of {n} rows and {nv} velocities are too large to be written out; give matrices=False"
                )));
            }
            room_for(count)?;
        }
        let found = self.inner.backward(&v, &lambda).map_err(refuse)?;
        let named = PyDict::new(py);
        if 0 < nv && matrices {
            let place = |i: usize| self.order.as_ref().map_or(i, |order| order[i]);
            let (mut g, mut m) = (vec![0.0; n * nv], vec![0.0; nv * nv]);
            for j in 0..nv {
                for i in 0..n {
                    g[i * nv + place(j)] = found.g(&self.answer, i, j);
                }
                for i in 0..nv {
                    m[place(i) * nv + place(j)] = found.m(&self.answer, i, j);
                }
            }
            named.set_item("G", rows(py, g, [n, nv])?)?;
            named.set_item("M", rows(py, m, [nv, nv])?)?;
        }
        if 0 < nv {
            named.set_item("p", array(py, self.outwards(found.p)))?;
            named.set_item("sigma", array(py, found.sigma))?;
        }
        let sign = if nv == 0 { -1.0 } else { 1.0 };
        let q: Vec<f64> = found.q.iter().map(|q| sign * q).collect();
        named.set_item("q", array(py, q))?;
        named.set_item("mu", array(py, found.mu))?;
        Ok(named)
    }

    fn __repr__(&self) -> String {
        let slips = self.inner.modes().filter(|m| *m == Mode::Slips).count();
        let open = self.inner.modes().filter(|m| *m == Mode::Open).count();
        format!(
            "<Derivative of {} blocks: {open} open, {slips} slip, {} on an edge>",
            self.n_blocks,
            self.inner.degenerate().count()
        )
    }
}

impl Derivative {
    fn sizes(&self) -> (usize, usize) {
        (self.answer.lambda.len(), self.answer.v.len())
    }

    /// Rows of velocities in the engine's order.
    fn inwards(&self, given: Vec<f64>, n_rows: usize) -> Vec<f64> {
        let (Some(order), false) = (&self.order, given.is_empty()) else {
            return given;
        };
        let nv = order.len();
        let rows = given.chunks_exact(nv.max(1)).take(n_rows);
        rows.flat_map(|row| order.iter().map(|at| row[*at]))
            .collect()
    }

    /// Velocities in the order of the file.
    fn outwards(&self, found: Vec<f64>) -> Vec<f64> {
        let Some(order) = &self.order else {
            return found;
        };
        let mut placed = vec![0.0; found.len()];
        for (at, x) in order.iter().zip(found) {
            placed[*at] = x;
        }
        placed
    }
}
