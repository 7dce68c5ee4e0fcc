//! Values of a TOML document that know their line, so that every complaint names its place.

use std::ops::Range;

use glam::DVec3;
use toml::de::{DeTable, DeValue};

use super::{SceneCause, SceneError};
use crate::collide::MAX_SIZE;
pub(super) use crate::error::nearest;

/// A table of the document: a body, a joint, a shape.
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    text: &'a str,
    /// What it describes, for messages: `body "crate"`.
    pub(super) what: String,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
}

/// A value of the document.
#[derive(Clone, Debug)]
pub(super) struct Value<'a> {
    text: &'a str,
    /// What it is, for messages: `mass of body "crate"`.
    name: String,
    span: Range<usize>,
    value: &'a DeValue<'a>,
}

/// A complaint about a byte of the text, with line and column counted from one.
pub(super) fn fault(text: &str, at: usize, what: String) -> SceneError {
    let place = place(text, at);
    SceneError::Invalid { place, what }
}

/// Line and column of a byte, counted from one.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at.min(text.len())).unwrap_or(text);
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.chars().rev().take_while(|&c| c != '\n').count();
    format!("{line}:{column}")
}

/// A text for a message, shortened.
pub(super) fn short(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    if start.len() < text.len() {
        start + "…"
    } else {
        start
    }
}

/// `; did you mean "…"?` or the list of what is known.
pub(super) fn hint<'n>(name: &str, known: impl IntoIterator<Item = &'n str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => {
            let some: Vec<&str> = known.into_iter().take(20).collect();
            match some.is_empty() {
                true => "there are none to be given".to_owned(),
                false => format!("known: {}", some.join(", ")),
            }
        }
    }
}

impl<'a> Table<'a> {
    /// The document itself.
    pub(super) fn document(text: &'a str, entries: &'a DeTable<'a>) -> Table<'a> {
        Table {
            text,
            what: "the scene".to_owned(),
            span: 0..0,
            entries,
        }
    }

    /// A complaint about the table as a whole.
    pub(super) fn fault(&self, what: impl std::fmt::Display) -> SceneError {
        fault(self.text, self.span.start, format!("{}: {what}", self.what))
    }

    /// The table as a whole describes something that cannot be.
    pub(super) fn refuse(&self, cause: impl Into<SceneCause>) -> SceneError {
        SceneError::Refused {
            place: place(self.text, self.span.start),
            what: self.what.clone(),
            cause: Box::new(cause.into()),
        }
    }

    /// Refuses keys that are not listed.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), SceneError> {
        let unknown = |key: &str| !known.contains(&key);
        let first = self
            .entries
            .iter()
            .filter(|(key, _)| unknown(key.get_ref()))
            .min_by_key(|(key, _)| key.span().start);
        let Some((key, _)) = first else {
            return Ok(());
        };
        let name: &str = key.get_ref();
        let what = format!(
            "{} has no key \"{}\"; {}",
            self.what,
            short(name),
            hint(name, known.iter().copied())
        );
        Err(fault(self.text, key.span().start, what))
    }

    /// The value of a key, where it is given.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let value = self.entries.get(key)?;
        Some(Value {
            text: self.text,
            name: format!("{key} of {}", self.what),
            span: value.span(),
            value: value.get_ref(),
        })
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &str, like: &str) -> Result<Value<'a>, SceneError> {
        self.get(key)
            .ok_or_else(|| self.fault(format!("{key} is missing; add {key} = {like}")))
    }

    /// The value of a key read by a function, where it is given.
    pub(super) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Value<'a>) -> Result<T, SceneError>,
    ) -> Result<Option<T>, SceneError> {
        self.get(key).map(|value| read(&value)).transpose()
    }

    /// The tables of an array of tables; none where the key is missing.
    pub(super) fn tables(&self, key: &str, most: usize) -> Result<Vec<Table<'a>>, SceneError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let items = value.list()?;
        if most < items.len() {
            let found = items.len();
            return Err(value.fault(format!("{found} entries; at most {most} are read")));
        }
        items.iter().map(Value::table).collect()
    }

    /// All entries in the order of their names.
    pub(super) fn sorted(&self) -> Vec<(&'a str, Value<'a>)> {
        let entry = |key: &'a str| Some((key, self.get(key)?));
        let mut all: Vec<_> = self
            .entries
            .keys()
            .filter_map(|key| entry(key.get_ref()))
            .collect();
        all.sort_by_key(|(key, _)| *key);
        all
    }
}

impl<'a> Value<'a> {
    /// A complaint about this value.
    pub(super) fn fault(&self, what: impl std::fmt::Display) -> SceneError {
        fault(self.text, self.span.start, format!("{}: {what}", self.name))
    }

    /// The value describes something that cannot be.
    pub(super) fn refuse(&self, cause: impl Into<SceneCause>) -> SceneError {
        SceneError::Refused {
            place: place(self.text, self.span.start),
            what: self.name.clone(),
            cause: Box::new(cause.into()),
        }
    }

    fn wrong(&self, expected: &str) -> SceneError {
        let found = self.text.get(self.span.clone()).unwrap_or("something else");
        self.fault(format!("found {}, give {expected}", short(found.trim())))
    }

    /// A finite number of at most 1e300; whole numbers count.
    pub(super) fn number(&self) -> Result<f64, SceneError> {
        let number = match self.value {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .ok()
                .map(|whole| whole as f64),
            _ => None,
        };
        match number {
            Some(x) if f64::abs(x) <= 1e300 => Ok(x),
            _ => Err(self.wrong("a finite number of at most 1e300")),
        }
    }

    /// A number within bounds, both included.
    pub(super) fn within(&self, lo: f64, hi: f64) -> Result<f64, SceneError> {
        let x = self.number()?;
        if lo <= x && x <= hi {
            return Ok(x);
        }
        Err(self.wrong(&format!("a number from {lo} to {hi}")))
    }

    /// A number that is not negative.
    pub(super) fn not_negative(&self) -> Result<f64, SceneError> {
        let x = self.number()?;
        if 0.0 <= x {
            return Ok(x);
        }
        Err(self.wrong("a number that is not negative"))
    }

    /// A number above zero.
    pub(super) fn positive(&self) -> Result<f64, SceneError> {
        let x = self.number()?;
        if 0.0 < x {
            return Ok(x);
        }
        Err(self.wrong("a number above zero"))
    }

    /// A whole number within bounds, both included.
    pub(super) fn whole(&self, lo: u64, hi: u64) -> Result<u64, SceneError> {
        let number = match self.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number
            .filter(|x| lo <= *x && *x <= hi)
            .ok_or_else(|| self.wrong(&format!("a whole number from {lo} to {hi}")))
    }

    /// True or false.
    pub(super) fn flag(&self) -> Result<bool, SceneError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.wrong("true or false"))
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&'a str, SceneError> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong("a text in quotes")),
        }
    }

    /// One of some words.
    pub(super) fn choice<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, SceneError> {
        let word = self.text()?;
        let found = known.iter().find(|(name, _)| *name == word);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names = known.iter().map(|(name, _)| *name);
            self.fault(format!(
                "\"{}\" is not one of its values; {}",
                short(word),
                hint(word, names)
            ))
        })
    }

    /// Whether it is an array. A complaint that nobody reads would cost the time to find its line.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    /// An array.
    pub(super) fn list(&self) -> Result<Vec<Value<'a>>, SceneError> {
        let items = match self.value {
            DeValue::Array(items) => items,
            _ => return Err(self.wrong("an array")),
        };
        let item = |(i, value): (usize, &'a toml::Spanned<DeValue<'a>>)| Value {
            text: self.text,
            name: format!("entry {} of {}", i + 1, self.name),
            span: value.span(),
            value: value.get_ref(),
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// An array of so many values, as `like` shows.
    pub(super) fn some<const N: usize>(&self, like: &str) -> Result<[Value<'a>; N], SceneError> {
        let items = self.list()?;
        items
            .try_into()
            .map_err(|_| self.wrong(&format!("{N} values as in {like}")))
    }

    /// So many finite numbers.
    pub(super) fn numbers<const N: usize>(&self, like: &str) -> Result<[f64; N], SceneError> {
        let items: [Value; N] = self.some(like)?;
        let mut numbers = [0.0; N];
        for (number, item) in numbers.iter_mut().zip(&items) {
            *number = item.number()?;
        }
        Ok(numbers)
    }

    /// Three numbers, none beyond 1e9: a place, a velocity, a direction.
    pub(super) fn vector(&self) -> Result<DVec3, SceneError> {
        let numbers = self.numbers::<3>("[0, 0, 1]")?;
        if numbers.iter().all(|x| x.abs() <= MAX_SIZE) {
            return Ok(DVec3::from(numbers));
        }
        Err(self.wrong(&format!("numbers of at most {MAX_SIZE:e}")))
    }

    /// A direction: a vector with a length, brought to length one.
    pub(super) fn direction(&self) -> Result<DVec3, SceneError> {
        let vector = self.vector()?;
        let length = vector.length();
        if 1e-9 <= length {
            return Ok(vector / length);
        }
        Err(self.wrong("a direction, whose length is not zero"))
    }

    /// Many points.
    pub(super) fn points(&self) -> Result<Vec<[f64; 3]>, SceneError> {
        let points = self.list()?;
        points.iter().map(|p| p.numbers("[0, 0, 1]")).collect()
    }

    /// A table.
    pub(super) fn table(&self) -> Result<Table<'a>, SceneError> {
        match self.value {
            DeValue::Table(entries) => Ok(Table {
                text: self.text,
                what: self.name.clone(),
                span: self.span.clone(),
                entries,
            }),
            _ => Err(self.wrong("a table")),
        }
    }

    /// A table of which only some keys are known.
    pub(super) fn table_of(&self, known: &[&str]) -> Result<Table<'a>, SceneError> {
        let table = self.table()?;
        table.only(known)?;
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_its_word() {
        let known = ["mass", "inertia", "position", "rotation"];
        assert_eq!(nearest("postion", known), Some("position"));
        assert_eq!(nearest("mas", known), Some("mass"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn columns_are_counted_in_letters() {
        let error = fault("ä\nöü x", 8, "here".to_owned());
        assert_eq!(error.to_string(), "2:4: here");
    }
}
