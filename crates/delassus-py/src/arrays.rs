//! Arrays from Python, checked: kinds of numbers, shapes, finiteness. And arrays to Python, handed over without a copy.

use numpy::{
    PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::error::refuse;

/// Finite numbers in rows, the last index fastest.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

/// Reads an array, or anything NumPy makes one of. Complex numbers, texts, objects and masks are refused, and so is
/// what is not finite.
pub(crate) fn numbers(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Numbers> {
    let plain = given.cast_exact::<PyUntypedArray>().is_ok();
    let numbers = match given.cast::<PyArrayDyn<f64>>() {
        Ok(array) if plain && is_aligned(array) => copied(what, array)?,
        _ => copied(what, &converted(what, given)?)?,
    };
    if let Some(at) = numbers.values.iter().position(|x| !x.is_finite()) {
        let (place, value) = (index(at, &numbers.shape), numbers.values[at]);
        return Err(refuse(format!(
            "{what}{place} is {value}; every number must be finite"
        )));
    }
    Ok(numbers)
}

/// Whether numbers stand where the processor wants them; those in a field of packed records do not.
fn is_aligned(array: &Bound<'_, PyArrayDyn<f64>>) -> bool {
    let mut places = array.strides().iter().map(|stride| stride.unsigned_abs());
    array.data().is_aligned() && places.all(|stride| stride.is_multiple_of(size_of::<f64>()))
}

fn copied(what: &str, array: &Bound<'_, PyArrayDyn<f64>>) -> PyResult<Numbers> {
    let array = array
        .try_readonly()
        .map_err(|cause| refuse(format!("{what} cannot be read: {cause}")))?;
    let view = array.as_array();
    // One number that is repeated by its strides takes no room there, but here.
    let mut values = room(view.len())?;
    match view.as_slice() {
        Some(all) => values.extend_from_slice(all),
        None => values.extend(view.iter()),
    }
    Ok(Numbers {
        shape: view.shape().to_vec(),
        values,
    })
}

/// The same as an array of doubles.
fn converted<'py>(what: &str, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let py = given.py();
    let numpy = py.import("numpy")?;
    if given.is_instance(&numpy.getattr("ma")?.getattr("MaskedArray")?)? {
        return Err(refuse(format!(
            "{what} is a masked array; fill what is masked, as by {what}.filled(0.0)"
        )));
    }
    let array = numpy.call_method1("asarray", (given,)).map_err(|cause| {
        // What goes wrong in somebody's own conversion is theirs to tell.
        let ours =
            cause.is_instance_of::<PyValueError>(py) || cause.is_instance_of::<PyTypeError>(py);
        match ours {
            true => refuse(format!(
                "{what} is no array of numbers: {}",
                cause.value(py)
            )),
            false => cause,
        }
    })?;
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    if !["i", "u", "f"].contains(&kind.as_str()) {
        let found = match given.hasattr("tocoo")? {
            true => "is a sparse matrix".to_owned(),
            false if given.is_none() => "is None".to_owned(),
            false => format!("has dtype {dtype}"),
        };
        return Err(refuse(format!(
            "{what} {found}; an array of real numbers is needed, as numpy.asarray(…, dtype=float) makes it"
        )));
    }
    let array = numpy.call_method1("require", (array, "float64", "A"))?;
    Ok(array.cast_into::<PyArrayDyn<f64>>()?)
}

/// Where an entry stands, as Python would write it; nothing for a single number.
fn index(mut at: usize, shape: &[usize]) -> String {
    if shape.is_empty() {
        return String::new();
    }
    let mut places = Vec::new();
    for size in shape.iter().rev() {
        places.push((at % size).to_string());
        at /= size;
    }
    places.reverse();
    format!("[{}]", places.join(", "))
}

/// A whole number that is not negative. The name of the argument is added where it is shown.
pub(crate) fn whole(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    given.extract().map_err(|cause: PyErr| {
        match cause.is_instance_of::<PyOverflowError>(given.py()) {
            true => refuse(format!(
                "{given} is out of range; give a whole number from 0 on"
            )),
            false => cause,
        }
    })
}

/// The same where it may be left out.
pub(crate) fn whole_or_none(given: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    match given.is_none() {
        true => Ok(None),
        false => Ok(Some(usize::try_from(whole(given)?).unwrap_or(usize::MAX))),
    }
}

/// A shape as Python writes it.
pub(crate) fn shown(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}

/// Numbers of exactly this shape.
pub(crate) fn shaped(what: &str, given: &Bound<'_, PyAny>, shape: &[usize]) -> PyResult<Vec<f64>> {
    let found = numbers(what, given)?;
    if found.shape != shape {
        let (found, needed) = (shown(&found.shape), shown(shape));
        return Err(refuse(format!(
            "{what} has shape {found} where {needed} is needed"
        )));
    }
    Ok(found.values)
}

/// A list of numbers of any length.
pub(crate) fn vector(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let found = numbers(what, given)?;
    match found.shape.len() {
        1 => Ok(found.values),
        _ => Err(refuse(format!(
            "{what} has shape {}; it must have one index alone",
            shown(&found.shape)
        ))),
    }
}

/// Three numbers.
pub(crate) fn three(what: &str, given: &Bound<'_, PyAny>) -> PyResult<delassus::math::DVec3> {
    let values = shaped(what, given, &[3])?;
    Ok(delassus::math::DVec3::from_slice(&values))
}

/// One state or a batch of them: each array has one row of its own width for each state.
#[derive(Debug)]
pub(crate) struct States<const N: usize> {
    /// How many, where they came as a batch.
    pub(crate) batch: Option<usize>,
    pub(crate) arrays: [Vec<f64>; N],
}

/// Reads arrays that belong together, each given with its name and its width.
pub(crate) fn states<const N: usize>(
    given: [(&str, &Bound<'_, PyAny>, usize); N],
) -> PyResult<States<N>> {
    let mut states = States {
        batch: None,
        arrays: [const { Vec::new() }; N],
    };
    for (number, (what, array, width)) in given.iter().enumerate() {
        let found = numbers(what, array)?;
        let batch = match found.shape[..] {
            [one] if one == *width => None,
            [many, one] if one == *width => Some(many),
            _ => {
                return Err(refuse(format!(
                    "{what} has shape {}; one state has shape ({width},), a batch of n states (n, {width})",
                    shown(&found.shape)
                )));
            }
        };
        if number == 0 {
            states.batch = batch;
        } else if batch != states.batch {
            let (first, told) = (given[0].0, |batch: Option<usize>| match batch {
                None => "one state".to_owned(),
                Some(count) => format!("a batch of {count}"),
            });
            return Err(refuse(format!(
                "{what} is {} where {first} is {}; give as many rows of both",
                told(batch),
                told(states.batch)
            )));
        }
        states.arrays[number] = found.values;
    }
    Ok(states)
}

/// Entries of a matrix with its size; zeros are left out.
#[derive(Debug)]
pub(crate) struct Entries {
    pub(crate) shape: (usize, usize),
    pub(crate) list: Vec<(usize, usize, f64)>,
}

/// Reads a dense matrix, or a sparse one of SciPy.
pub(crate) fn entries(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Entries> {
    if given.hasattr("tocoo")? {
        return sparse_entries(what, given);
    }
    let found = numbers(what, given)?;
    let [rows, columns] = found.shape[..] else {
        return Err(refuse(format!(
            "{what} has shape {}; a matrix has two indices",
            shown(&found.shape)
        )));
    };
    let entries = || {
        let all = found.values.iter().enumerate();
        all.filter(|(_, value)| **value != 0.0)
    };
    // An entry is three numbers; a list that grows has room for twice as many.
    room_for(entries().count().saturating_mul(6))?;
    Ok(Entries {
        shape: (rows, columns),
        list: entries()
            .map(|(e, value)| (e / columns, e % columns, *value))
            .collect(),
    })
}

fn sparse_entries(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Entries> {
    let list = given.call_method0("tocoo")?;
    let shape: Vec<usize> = list.getattr("shape")?.extract()?;
    let [rows, columns] = shape[..] else {
        return Err(refuse(format!(
            "{what} has shape {}; a matrix has two indices",
            shown(&shape)
        )));
    };
    let place = |name: &str| vector(&format!("{what}.{name}"), &list.getattr(name)?);
    let (row, column, data) = (place("row")?, place("col")?, place("data")?);
    if row.len() != data.len() || column.len() != data.len() {
        return Err(refuse(format!(
            "{what} is no matrix: it has {} rows, {} columns and {} values in its list",
            row.len(),
            column.len(),
            data.len()
        )));
    }
    let mut entries = Vec::with_capacity(data.len());
    for ((i, j), value) in row.into_iter().zip(column).zip(data) {
        let inside = |x: f64, size: usize| 0.0 <= x && x < size as f64;
        if !inside(i, rows) || !inside(j, columns) {
            return Err(refuse(format!(
                "{what} has an entry at ({i}, {j}), outside its shape {}",
                shown(&shape)
            )));
        }
        if value != 0.0 {
            entries.push((i as usize, j as usize, value));
        }
    }
    Ok(Entries {
        shape: (rows, columns),
        list: entries,
    })
}

/// Whether there is room for so many numbers: what the engine allocates itself would end the process where there is not.
pub(crate) fn room_for(count: usize) -> PyResult<()> {
    room(count).map(drop)
}

fn room(count: usize) -> PyResult<Vec<f64>> {
    let mut room = Vec::new();
    room.try_reserve_exact(count)
        .map_err(|_| PyMemoryError::new_err(format!("there is no room for {count} numbers")))?;
    Ok(room)
}

/// An array with one index.
pub(crate) fn array(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_vec(py, values)
}

/// An array of rows of this width.
pub(crate) fn rows(
    py: Python<'_>,
    values: Vec<f64>,
    shape: [usize; 2],
) -> PyResult<Bound<'_, PyArray2<f64>>> {
    array(py, values).reshape(shape)
}

/// An array of any shape: that of one state, with the number of states in front where they came as a batch.
pub(crate) fn batched<'py>(
    py: Python<'py>,
    values: Vec<f64>,
    batch: Option<usize>,
    one: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let shape: Vec<usize> = batch.into_iter().chain(one.iter().copied()).collect();
    Ok(array(py, values).reshape(shape)?.into_any())
}
