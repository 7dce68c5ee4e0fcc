//! Problems from the arrays of M v = p + Gᵀλ, w = G v + Σλ − q, and these arrays of any problem.

use std::collections::BTreeMap;
use std::ops::Range;

use delassus::problem::delassus::BlockMatrix;
use delassus::problem::{Form, Primal};
use delassus::{BlockId, Law, MassBlock, MassId};
use numpy::PyArray1;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Map, Value};

use crate::arrays::{Entries, array, entries, numbers, room_for, rows, shaped, vector, whole};
use crate::error::{refuse, refuse_at};
use crate::interrupt::{Flag, interruptible};
use crate::problem::Problem;

/// Most rows of a dense block of M, as the engine has it.
const DENSE: usize = 8192;

/// Most numbers of a matrix that is written out: two gigabytes.
pub(crate) const MOST: usize = 1 << 28;

/// Most rows of a dense Delassus matrix: two gigabytes.
const DENSE_ROWS: usize = 16_384;

/// A law with the number of its rows.
pub(crate) type Laws = Vec<(usize, Law)>;

/// What the laws of all blocks are, where they have so many rows in all: a list of them, or one for every block.
pub(crate) fn laws(given: &Bound<'_, PyAny>, rows: usize) -> PyResult<Laws> {
    let is_one = given.extract::<String>().is_ok() || given.cast::<PyDict>().is_ok();
    if is_one {
        let (own, law) = law("laws", given)?;
        if own == 0 || !rows.is_multiple_of(own) {
            return Err(refuse(format!(
                "q has {rows} numbers, which is no multiple of the {own} rows of {}",
                law.name()
            )));
        }
        return Ok(vec![(own, law); rows / own]);
    }
    let items = given.try_iter().map_err(|_| {
        refuse("laws must be a list with a law for each block: names, or dicts with a name and its numbers")
    })?;
    let found: Laws = (items.enumerate())
        .map(|(k, item)| law(&format!("laws[{k}]"), &item?))
        .collect::<PyResult<_>>()?;
    let total = found
        .iter()
        .fold(0_usize, |sum, (own, _)| sum.saturating_add(*own));
    if total != rows {
        return Err(refuse(format!(
            "laws have {total} rows where q has {rows} numbers; give a law for each block, with rows=… where it is \
             not the usual number"
        )));
    }
    Ok(found)
}

/// One law: its name, or a dict of the keys that problem files have, and `rows` where it has others than usual.
fn law(what: &str, given: &Bound<'_, PyAny>) -> PyResult<(usize, Law)> {
    let mut keys = Map::new();
    let mut rows = None;
    if let Ok(name) = given.extract::<String>() {
        keys.insert("name".to_owned(), Value::String(name));
    } else if let Ok(dict) = given.cast::<PyDict>() {
        for (key, value) in dict {
            let key: String = key
                .extract()
                .map_err(|_| refuse(format!("{what} has a key that is no text")))?;
            match key.as_str() {
                "rows" => rows = Some(whole(&value)? as usize),
                _ => {
                    let value = number_or_name(&format!("{key} of {what}"), &key, &value)?;
                    keys.insert(key, value);
                }
            }
        }
    } else {
        return Err(refuse(format!(
            "{what} is of type {}; give a name, or a dict as {{\"name\": \"friction-cone\", \"mu\": 0.5}}",
            given.get_type().name()?
        )));
    }
    let law: Law =
        serde_json::from_value(Value::Object(keys)).map_err(|cause| refuse_at(what)(&cause))?;
    Ok((rows.unwrap_or(usual_rows(&law)), law))
}

fn number_or_name(what: &str, key: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(text) = given.extract::<String>() {
        return Ok(Value::String(text));
    }
    // No bound is written as None, or as an infinite number on its own side.
    let is_open =
        |x: f64| (key == "lo" && x == f64::NEG_INFINITY) || (key == "hi" && x == f64::INFINITY);
    if given.is_none() || given.extract::<f64>().is_ok_and(is_open) {
        return Ok(Value::Null);
    }
    if let Ok(whole) = given.extract::<u64>() {
        return Ok(Value::from(whole));
    }
    let found = numbers(what, given)?;
    match (&found.shape[..], &found.values[..]) {
        ([], [one]) => Ok(Value::from(*one)),
        _ => Ok(Value::from(found.values)),
    }
}

/// Rows in space, where nothing else is said.
fn usual_rows(law: &Law) -> usize {
    match law {
        Law::FrictionBox { .. }
        | Law::FrictionCone { .. }
        | Law::EllipticCone { .. }
        | Law::FrictionFacets { .. } => 3,
        Law::TorsionalCone { .. } => 4,
        Law::RollingCone { .. } => 5,
        Law::RollingSpinning { .. } | Law::EllipsoidCone { .. } => 6,
        _ => 1,
    }
}

/// The laws of a problem, as they are given.
pub(crate) fn laws_of<'py>(
    py: Python<'py>,
    problem: &delassus::Problem,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for block in problem.blocks() {
        let dict = PyDict::new(py);
        let value = serde_json::to_value(block.law).map_err(refuse)?;
        for (key, value) in value.as_object().into_iter().flatten() {
            match value {
                Value::String(name) => dict.set_item(key, name)?,
                Value::Number(number) if number.is_u64() => dict.set_item(key, number.as_u64())?,
                Value::Number(number) => dict.set_item(key, number.as_f64())?,
                Value::Array(list) => {
                    let list: Vec<Option<f64>> = list.iter().map(Value::as_f64).collect();
                    dict.set_item(key, list)?;
                }
                _ => dict.set_item(key, py.None())?,
            }
        }
        dict.set_item("rows", block.n_rows)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// A problem from M, p, G, q, laws and Σ. M is cut into the smallest blocks along its diagonal, so that bodies that are
/// not coupled by M are masses of their own.
pub(crate) fn of_arrays(
    (m, p): (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
    (g, q): (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
    given: &Bound<'_, PyAny>,
    sigma: Option<&Bound<'_, PyAny>>,
) -> PyResult<delassus::Problem> {
    let (p, q) = (vector("p", p)?, vector("q", q)?);
    let (nv, n) = (p.len(), q.len());
    let (m, g) = (entries("M", m)?, entries("G", g)?);
    check_shape("M", m.shape, (nv, nv), "p", nv)?;
    check_shape("G", g.shape, (n, nv), "q and p", nv)?;
    let laws = laws(given, n)?;
    let sigma = match sigma {
        None => vec![0.0; n],
        Some(sigma) => match numbers("sigma", sigma)?.shape.is_empty() {
            true => vec![shaped("sigma", sigma, &[])?[0]; n],
            false => shaped("sigma", sigma, &[n])?,
        },
    };
    let parts = blocks_of(&m, nv)?;
    let mut builder = delassus::Problem::builder();
    let mut mass_of = Vec::with_capacity(nv);
    for (b, (range, matrix)) in parts.iter().enumerate() {
        let place = refuse_at(format!("M[{0}:{1}, {0}:{1}]", range.start, range.end));
        let mass = MassBlock::dense(matrix.clone()).map_err(|cause| place(&cause))?;
        builder
            .add_mass(mass, &p[range.clone()])
            .map_err(|cause| place(&cause))?;
        mass_of.resize(range.end, b);
    }
    let parts: Vec<Range<usize>> = parts.into_iter().map(|(range, _)| range).collect();
    let on = rows_of(&g, &laws, (&mass_of, &parts))?;
    let mut start = 0;
    for ((rows, law), on) in laws.iter().zip(on) {
        let own = start..start + rows;
        let on: Vec<(MassId, &[f64])> = (on.iter())
            .map(|(b, rows)| (MassId(*b as u32), &rows[..]))
            .collect();
        builder
            .add_block(*law, &on, &sigma[own.clone()], &q[own.clone()])
            .map_err(refuse)?;
        start = own.end;
    }
    builder.build().map_err(refuse)
}

fn check_shape(
    what: &str,
    found: (usize, usize),
    needed: (usize, usize),
    by: &str,
    width: usize,
) -> PyResult<()> {
    match found == needed {
        true => Ok(()),
        false => Err(refuse(format!(
            "{what} has shape {found:?} where {by} need {needed:?}: {width} velocities"
        ))),
    }
}

/// The diagonal blocks of a matrix: no entry lies outside them.
fn blocks_of(matrix: &Entries, n: usize) -> PyResult<Vec<(Range<usize>, Vec<f64>)>> {
    let mut reach: Vec<usize> = (0..n).collect();
    for &(i, j, _) in &matrix.list {
        let (low, high) = (i.min(j), i.max(j));
        reach[low] = reach[low].max(high);
    }
    let mut parts: Vec<(Range<usize>, Vec<f64>)> = Vec::new();
    let (mut start, mut end, mut numbers) = (0, 0, 0_usize);
    let mut of = Vec::with_capacity(n);
    for (i, reach) in reach.into_iter().enumerate() {
        end = end.max(reach + 1);
        of.push(parts.len());
        if end == i + 1 {
            let size = end - start;
            if DENSE < size {
                return Err(refuse(format!(
                    "M couples the {size} velocities from {start} to {end}; at most {DENSE} may be coupled"
                )));
            }
            numbers += size * size;
            parts.push((start..end, Vec::new()));
            start = end;
        }
    }
    room_for(numbers.saturating_mul(3))?;
    for (range, block) in &mut parts {
        block.resize(range.len() * range.len(), 0.0);
    }
    for &(i, j, value) in &matrix.list {
        let (range, block) = &mut parts[of[i]];
        block[(i - range.start) * range.len() + j - range.start] += value;
    }
    Ok(parts)
}

/// The rows of each block on each mass, row-major.
type OnMasses = Vec<BTreeMap<usize, Vec<f64>>>;

fn rows_of(
    g: &Entries,
    laws: &Laws,
    (mass_of, parts): (&[usize], &[Range<usize>]),
) -> PyResult<OnMasses> {
    let mut block_of = Vec::with_capacity(g.shape.0);
    let mut starts = Vec::with_capacity(laws.len());
    for (k, (rows, _)) in laws.iter().enumerate() {
        starts.push(block_of.len());
        block_of.resize(block_of.len() + rows, k);
    }
    let mut on: OnMasses = vec![BTreeMap::new(); laws.len()];
    for &(i, j, _) in &g.list {
        on[block_of[i]].entry(mass_of[j]).or_default();
    }
    let sizes = on
        .iter()
        .zip(laws)
        .flat_map(|(on, (rows, _))| on.keys().map(move |b| rows.saturating_mul(parts[*b].len())));
    room_for(sizes.fold(0, usize::saturating_add).saturating_mul(2))?;
    for (on, (rows, _)) in on.iter_mut().zip(laws) {
        for (b, values) in on.iter_mut() {
            values.resize(rows * parts[*b].len(), 0.0);
        }
    }
    for &(i, j, value) in &g.list {
        let (k, b) = (block_of[i], mass_of[j]);
        if let Some(values) = on[k].get_mut(&b) {
            values[(i - starts[k]) * parts[b].len() + j - parts[b].start] += value;
        }
    }
    Ok(on)
}

/// Entries of M, in rows.
pub(crate) fn mass_entries(primal: &Primal) -> Vec<(usize, usize, f64)> {
    let mut list = Vec::new();
    let mut start = 0;
    for mass in primal.mass() {
        let n = mass.dim();
        let (mut unit, mut column) = (vec![0.0; n], vec![0.0; n]);
        for j in 0..n {
            unit[j] = 1.0;
            mass.mul(&unit, &mut column);
            unit[j] = 0.0;
            // M is symmetric: its columns are its rows.
            let row = column.iter().enumerate().filter(|(_, x)| **x != 0.0);
            list.extend(row.map(|(i, x)| (start + j, start + i, *x)));
        }
        start += n;
    }
    list
}

/// Entries of G.
pub(crate) fn row_entries(
    problem: &delassus::Problem,
    primal: &Primal,
) -> Vec<(usize, usize, f64)> {
    let mut starts = Vec::with_capacity(primal.mass().len());
    let mut total = 0;
    for mass in primal.mass() {
        starts.push(total);
        total += mass.dim();
    }
    let mut list = Vec::new();
    for (k, block) in problem.blocks().iter().enumerate() {
        for (mass, rows) in primal.written_rows(BlockId(k as u32)) {
            let width = primal.mass()[mass.index()].dim();
            let entries = rows.iter().enumerate().filter(|(_, x)| **x != 0.0);
            list.extend(entries.map(|(e, x)| {
                (
                    block.start + e / width,
                    starts[mass.index()] + e % width,
                    *x,
                )
            }));
        }
    }
    list
}

/// Entries of S.
pub(crate) fn delassus_entries(
    matrix: &BlockMatrix,
) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
    (0..matrix.n_blocks()).flat_map(move |k| {
        let rows = matrix.rows(k);
        matrix.block_row(k).flat_map(move |(j, values)| {
            let (start, columns) = (rows.start, matrix.rows(j));
            let entries = values.iter().enumerate().filter(|(_, x)| **x != 0.0);
            entries.map(move |(e, x)| {
                let (i, l) = (e / columns.len(), e % columns.len());
                (start + i, columns.start + l, *x)
            })
        })
    })
}

/// A matrix of these entries: an array, or a sparse one of SciPy.
fn matrix<'py>(
    py: Python<'py>,
    what: &str,
    list: &[(usize, usize, f64)],
    shape: [usize; 2],
    sparse: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if sparse {
        let module = py.import("scipy.sparse").map_err(|cause| {
            let told = PyImportError::new_err(
                "sparse matrices need SciPy; pip install scipy, or 'delassus[sparse]'",
            );
            told.set_cause(py, Some(cause));
            told
        })?;
        let place = |of: fn(&(usize, usize, f64)) -> i64| {
            PyArray1::from_vec(py, list.iter().map(of).collect())
        };
        let (i, j) = (place(|entry| entry.0 as i64), place(|entry| entry.1 as i64));
        let values = array(py, list.iter().map(|entry| entry.2).collect());
        let keys = PyDict::new(py);
        keys.set_item("shape", shape)?;
        return module.call_method("csr_array", ((values, (i, j)),), Some(&keys));
    }
    let count = shape[0].saturating_mul(shape[1]);
    if MOST < count {
        return Err(refuse(format!(
            "{what} is {} by {}, too large to be written out; give sparse=True",
            shape[0], shape[1]
        )));
    }
    room_for(count)?;
    let mut values = vec![0.0; count];
    for &(i, j, value) in list {
        values[i * shape[1] + j] = value;
    }
    Ok(rows(py, values, shape)?.into_any())
}

impl Problem {
    fn primal(&self) -> Option<&Primal> {
        match self.problem.form() {
            Form::Primal(primal) => Some(primal),
            Form::Dual(_) => None,
        }
    }

    /// Where velocity i stands outside.
    fn place(&self, i: usize) -> usize {
        self.order.as_ref().map_or(i, |order| order[i])
    }
}

#[pymethods]
impl Problem {
    /// A problem from the arrays of M v = p + Gᵀλ, w = G v + Σλ − q, where (λ, w) obey `laws`.
    ///
    /// M and G are NumPy arrays or sparse matrices of SciPy. `laws` has a law for each block of rows, in the order of the
    /// rows: a name, or a dict of the keys that problem files have, as `{"name": "friction-cone", "mu": 0.5}`, with
    /// `rows` where a block has not the usual number (a friction cone in a plane has 2). One law alone is that of every
    /// block. `sigma` is the compliance, one number or one for each row.
    ///
    /// >>> import delassus, numpy
    /// >>> weight = [0, 0, -9.81e-2]                              # a kilogram, for a hundredth of a second
    /// >>> frame = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]              # rows (n, t₁, t₂)
    /// >>> cone = {"name": "friction-cone", "mu": 0.5}
    /// >>> problem = delassus.Problem(numpy.eye(3), weight, frame, [0, 0, 0], [cone])
    /// >>> delassus.solve(problem).lambda_.round(9).tolist()
    /// [0.0981, 0.0, 0.0]
    #[new]
    #[pyo3(signature = (M, p, G, q, laws, *, sigma=None))]
    #[expect(non_snake_case, reason = "matrices have capital names, as on paper")]
    fn new_of_arrays(
        M: &Bound<'_, PyAny>,
        p: &Bound<'_, PyAny>,
        G: &Bound<'_, PyAny>,
        q: &Bound<'_, PyAny>,
        laws: &Bound<'_, PyAny>,
        sigma: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Problem> {
        let problem = of_arrays((M, p), (G, q), laws, sigma)?;
        Ok(Problem::new(problem, String::new(), None))
    }

    /// A problem from a matrix: w = S λ + q, where (λ, w) obey `laws`, given as for `Problem`. S need be neither
    /// symmetric nor regular.
    ///
    /// >>> import delassus
    /// >>> laws = ["equality", {"name": "interval", "lo": -1, "hi": 1}]       # a mixed problem
    /// >>> delassus.solve(delassus.Problem.dual([[2, 1], [1, 2]], [-2, 6], laws)).lambda_.tolist()
    /// [1.5, -1.0]
    #[staticmethod]
    #[pyo3(signature = (S, q, laws))]
    #[expect(non_snake_case, reason = "matrices have capital names, as on paper")]
    fn dual(
        S: &Bound<'_, PyAny>,
        q: &Bound<'_, PyAny>,
        laws: &Bound<'_, PyAny>,
    ) -> PyResult<Problem> {
        Problem::matrix(("S", "dual"), (S, q), |n| self::laws(laws, n))
    }

    /// The law of each block with its numbers and its `rows`, as `Problem` takes them.
    ///
    /// >>> import delassus
    /// >>> delassus.friction([[1, 0], [0, 1]], [-1, 0], 0.5, rows=2).blocks
    /// [{'mu': 0.5, 'name': 'friction-cone', 'rows': 2}]
    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        laws_of(py, &self.problem)
    }

    /// Momenta before constraints [N s]; empty for a problem given by its matrix.
    #[getter]
    fn p<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let given = self.primal().map_or(&[][..], Primal::p);
        let mut p = vec![0.0; given.len()];
        for (i, value) in given.iter().enumerate() {
            p[self.place(i)] = *value;
        }
        array(py, p)
    }

    /// Wanted row velocities [m/s], the q of w = G v + Σλ − q; for a problem given by its matrix that of w = S λ + q.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let q = self.primal().map_or(self.problem.c(), Primal::q);
        array(py, q.to_vec())
    }

    /// Compliance of each row [1/kg]; empty for a problem given by its matrix.
    #[getter]
    fn sigma<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        array(
            py,
            self.primal()
                .map_or(Vec::new(), |primal| primal.sigma().to_vec()),
        )
    }

    /// The mass matrix M, dense or as a sparse matrix of SciPy.
    ///
    /// >>> import delassus
    /// >>> problem = delassus.World.scene("stack:2").problem()
    /// >>> problem.mass_matrix().shape == (problem.n_velocities, problem.n_velocities)
    /// True
    #[pyo3(signature = (*, sparse=false))]
    fn mass_matrix<'py>(&self, py: Python<'py>, sparse: bool) -> PyResult<Bound<'py, PyAny>> {
        let n = self.problem.n_velocities();
        let mut list = self.primal().map_or(Vec::new(), mass_entries);
        for (i, j, _) in &mut list {
            (*i, *j) = (self.place(*i), self.place(*j));
        }
        matrix(py, "M", &list, [n, n], sparse)
    }

    /// The Jacobian G, dense or as a sparse matrix of SciPy: w = G v + Σλ − q.
    #[pyo3(signature = (*, sparse=false))]
    fn jacobian<'py>(&self, py: Python<'py>, sparse: bool) -> PyResult<Bound<'py, PyAny>> {
        let shape = [self.problem.n_rows(), self.problem.n_velocities()];
        let mut list = match self.primal() {
            Some(primal) => row_entries(&self.problem, primal),
            None => Vec::new(),
        };
        for (_, j, _) in &mut list {
            *j = self.place(*j);
        }
        matrix(py, "G", &list, shape, sparse)
    }

    /// The Delassus matrix S = G M⁻¹Gᵀ + Σ, dense or as a sparse matrix of SciPy.
    ///
    /// >>> import delassus
    /// >>> delassus.lcp([[2, 1], [1, 2]], [-5, -6]).delassus().tolist()
    /// [[2.0, 1.0], [1.0, 2.0]]
    #[pyo3(signature = (*, sparse=false))]
    fn delassus<'py>(&self, py: Python<'py>, sparse: bool) -> PyResult<Bound<'py, PyAny>> {
        let n = self.problem.n_rows();
        if sparse {
            let list: Vec<_> = interruptible(py, &Flag::take(), || match self.problem.form() {
                Form::Dual(matrix) => delassus_entries(matrix).collect(),
                Form::Primal(_) => match self.problem.to_dual().form() {
                    Form::Dual(matrix) => delassus_entries(matrix).collect(),
                    Form::Primal(_) => Vec::new(),
                },
            })?;
            return matrix(py, "S", &list, [n, n], true);
        }
        if DENSE_ROWS < n {
            return Err(refuse(format!(
                "the dense matrix of {n} rows is too large; at most {DENSE_ROWS} rows are written out, or give sparse=True"
            )));
        }
        room_for(n * n)?;
        let dense = interruptible(py, &Flag::take(), || self.problem.delassus_dense())?;
        Ok(rows(py, dense, [n, n])?.into_any())
    }
}
