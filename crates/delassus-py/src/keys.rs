//! Keyword arguments and dicts of options, read key by key: what is left at the end is refused.

use delassus::math::{DQuat, DVec3};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{shaped, three};
use crate::error::refuse;

/// How far the length of a quaternion may be from one.
const UNIT: f64 = 1e-6;

/// One of several things, by its place or its name.
#[derive(Debug)]
pub(crate) enum Which {
    Place(i64),
    Name(String),
}

impl FromPyObject<'_, '_> for Which {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Which> {
        match (given.extract(), given.extract()) {
            (Ok(place), _) => Ok(Which::Place(place)),
            (_, Ok(name)) => Ok(Which::Name(name)),
            _ => Err(PyTypeError::new_err(format!(
                "a name or a number is needed, not {}",
                given.get_type().name()?
            ))),
        }
    }
}

impl Which {
    /// Its place among things of these names.
    pub(crate) fn among(&self, kind: &str, names: &[&str]) -> PyResult<usize> {
        let (asked, place) = match self {
            Which::Place(place) => (place.to_string(), usize::try_from(*place).ok()),
            Which::Name(name) => {
                let place = names.iter().position(|known| known == name);
                (format!("\"{name}\""), place)
            }
        };
        let known = match names {
            [] => "there is none".to_owned(),
            _ => format!("known: {}", names.join(", ")),
        };
        place
            .filter(|place| *place < names.len())
            .ok_or_else(|| refuse(format!("there is no {kind} {asked}; {known}")))
    }
}

/// Options by name.
#[derive(Debug)]
pub(crate) struct Keys<'py> {
    /// What they belong to, for messages.
    what: String,
    given: Option<Bound<'py, PyDict>>,
    known: Vec<&'static str>,
}

impl<'py> Keys<'py> {
    pub(crate) fn new(what: impl Into<String>, given: Option<Bound<'py, PyDict>>) -> Keys<'py> {
        Keys {
            what: what.into(),
            given,
            known: Vec::new(),
        }
    }

    /// The dict that an option is.
    pub(crate) fn inside(what: String, given: &Bound<'py, PyAny>) -> PyResult<Keys<'py>> {
        match given.cast::<PyDict>() {
            Ok(dict) => Ok(Keys::new(what, Some(dict.clone()))),
            Err(_) => Err(refuse(format!(
                "{what} must be a dict of its numbers, as in dict(speed=1.0, max_force=10.0)"
            ))),
        }
    }

    /// An option, where it is given and not `None`.
    pub(crate) fn get(&mut self, key: &'static str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.known.push(key);
        let Some(given) = &self.given else {
            return Ok(None);
        };
        Ok(given.get_item(key)?.filter(|value| !value.is_none()))
    }

    /// Where an option stands, for messages.
    pub(crate) fn place(&self, key: &str) -> String {
        format!("{key} of {}", self.what)
    }

    /// An option that must be there.
    pub(crate) fn need<T>(&self, key: &str, found: Option<T>) -> PyResult<T> {
        found.ok_or_else(|| refuse(format!("{} is missing; give it", self.place(key))))
    }

    /// A finite number.
    pub(crate) fn number(&mut self, key: &'static str) -> PyResult<Option<f64>> {
        let Some(value) = self.get(key)? else {
            return Ok(None);
        };
        let place = self.place(key);
        let number = shaped(&place, &value, &[])?;
        Ok(number.first().copied())
    }

    /// Three numbers.
    pub(crate) fn vector(&mut self, key: &'static str) -> PyResult<Option<DVec3>> {
        let Some(value) = self.get(key)? else {
            return Ok(None);
        };
        three(&self.place(key), &value).map(Some)
    }

    /// Three numbers that are not all zero, as a unit vector.
    pub(crate) fn direction(&mut self, key: &'static str) -> PyResult<Option<DVec3>> {
        let Some(value) = self.vector(key)? else {
            return Ok(None);
        };
        let unit = value.try_normalize().ok_or_else(|| {
            refuse(format!(
                "{} is {value}, which has no direction",
                self.place(key)
            ))
        })?;
        Ok(Some(unit))
    }

    /// A truth value.
    pub(crate) fn flag(&mut self, key: &'static str) -> PyResult<Option<bool>> {
        let Some(value) = self.get(key)? else {
            return Ok(None);
        };
        let place = self.place(key);
        let flag = value.extract();
        flag.map(Some)
            .map_err(|_| refuse(format!("{place} must be True or False")))
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &'static str) -> PyResult<Option<String>> {
        let Some(value) = self.get(key)? else {
            return Ok(None);
        };
        let place = self.place(key);
        let text = value.extract();
        text.map(Some)
            .map_err(|_| refuse(format!("{place} must be a text")))
    }

    /// A unit quaternion (w, x, y, z).
    pub(crate) fn turn(&mut self, key: &'static str) -> PyResult<Option<DQuat>> {
        let Some(value) = self.get(key)? else {
            return Ok(None);
        };
        quaternion(&self.place(key), &value).map(Some)
    }

    /// Refuses what nobody asked for.
    pub(crate) fn close(self) -> PyResult<()> {
        let Some(given) = &self.given else {
            return Ok(());
        };
        for key in given.keys() {
            let key: String = key.extract()?;
            if !self.known.contains(&key.as_str()) {
                return Err(refuse(format!(
                    "{} takes no \"{key}\"; known: {}",
                    self.what,
                    self.known.join(", ")
                )));
            }
        }
        Ok(())
    }
}

/// A unit quaternion (w, x, y, z).
pub(crate) fn quaternion(what: &str, given: &Bound<'_, PyAny>) -> PyResult<DQuat> {
    let q = shaped(what, given, &[4])?;
    let q = DQuat::from_xyzw(q[1], q[2], q[3], q[0]);
    let length = q.length();
    if UNIT < (length - 1.0).abs() {
        return Err(refuse(format!(
            "{what} has length {length}; divide the quaternion by it"
        )));
    }
    Ok(q.normalize())
}
