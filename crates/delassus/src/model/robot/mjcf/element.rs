//! MJCF as a tree of elements that owns its text, so that included files, copies and attached models can stand in it
//! as if they had been written there. Every element remembers its file and line.

use std::path::Path;
use std::sync::Arc;

use glam::DVec3;
use roxmltree::Node;

use super::super::xml::Source;
use super::super::{ImportError, ImportFault};

/// One element.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) tag: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<Element>,
    file: Arc<str>,
    pub(super) line: usize,
    /// Which compiler options hold for it: attached models bring their own.
    pub(super) scope: usize,
    /// The folder of its file from that of the model, where it is included.
    pub(super) folder: Arc<Path>,
}

impl Element {
    /// The element of a parsed file, with everything in it.
    pub(super) fn of(source: &Source<'_>, node: Node<'_, '_>, file: &Arc<str>) -> Element {
        let own = |a: roxmltree::Attribute<'_, '_>| (a.name().to_owned(), a.value().to_owned());
        let children = node.children().filter(Node::is_element);
        Element {
            tag: node.tag_name().name().to_owned(),
            attributes: node.attributes().map(own).collect(),
            children: children
                .map(|child| Element::of(source, child, file))
                .collect(),
            file: Arc::clone(file),
            line: source.line(node),
            scope: 0,
            folder: Arc::from(Path::new("")),
        }
    }

    /// An element that is not written, in the place of another.
    pub(super) fn instead(&self, tag: &str, children: Vec<Element>) -> Element {
        Element {
            tag: tag.to_owned(),
            attributes: Vec::new(),
            children,
            file: Arc::clone(&self.file),
            line: self.line,
            scope: self.scope,
            folder: Arc::clone(&self.folder),
        }
    }

    /// The file it stands in.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// An attribute of the element itself.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Gives it an attribute, in place of the one of that name.
    pub(super) fn set(&mut self, name: &str, value: String) {
        match self.attributes.iter_mut().find(|(own, _)| own == name) {
            Some((_, old)) => *old = value,
            None => self.attributes.push((name.to_owned(), value)),
        }
    }

    /// Its name, or nothing.
    pub(super) fn name(&self) -> &str {
        self.attribute("name").unwrap_or_default()
    }

    /// An attribute that must be there.
    pub(super) fn text(&self, name: &str) -> Result<&str, ImportError> {
        self.attribute(name)
            .ok_or_else(|| self.fault(format!("attribute {name} is missing")))
    }

    /// Its children of a name.
    pub(super) fn all<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.tag == tag)
    }

    /// The children of all its children of a name: sections may be written in pieces.
    pub(super) fn section<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a Element> {
        self.all(tag).flat_map(|piece| &piece.children)
    }

    /// Calls for itself and everything in it, parents first.
    pub(super) fn visit<'a>(&'a self, see: &mut impl FnMut(&'a Element)) {
        see(self);
        for child in &self.children {
            child.visit(see);
        }
    }

    /// A refusal here.
    pub(super) fn fault(&self, what: impl Into<ImportFault>) -> ImportError {
        let tag = &self.tag;
        let element = match self.attribute("name") {
            Some(name) => format!("<{tag} name=\"{name}\">"),
            None => format!("<{tag}>"),
        };
        ImportError {
            file: self.file.to_string(),
            line: self.line,
            element,
            what: what.into(),
        }
    }

    /// The finite numbers of an attribute.
    pub(super) fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>, ImportError> {
        // An attribute without content says nothing.
        let Some(text) = self.attribute(name).filter(|text| !text.trim().is_empty()) else {
            return Ok(None);
        };
        let number = |word: &str| {
            let finite = word.parse().ok().filter(|x: &f64| x.is_finite());
            finite.ok_or_else(|| self.fault(format!("{word} in {name} is not a finite number")))
        };
        let words = text.split_whitespace();
        words.map(number).collect::<Result<_, _>>().map(Some)
    }

    /// Exactly N numbers, if the attribute is there.
    pub(super) fn exactly<const N: usize>(
        &self,
        name: &str,
    ) -> Result<Option<[f64; N]>, ImportError> {
        let Some(found) = self.numbers(name)? else {
            return Ok(None);
        };
        let count = found.len();
        let array = <[f64; N]>::try_from(found);
        array.map(Some).map_err(|_| {
            let what = format!("{name} has {count} numbers; it needs {N}");
            self.fault(what)
        })
    }

    /// A word that must be one of some.
    pub(super) fn word<T: Copy>(
        &self,
        name: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ImportError> {
        let Some(text) = self.attribute(name) else {
            return Ok(None);
        };
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.fault(format!("{name}=\"{text}\" is none of {}", known.join(", ")))
        })
    }
}

/// An element with the default classes that stand behind it, the nearest first.
#[derive(Clone, Debug)]
pub(super) struct View<'a> {
    pub(super) element: &'a Element,
    pub(super) behind: Vec<&'a Element>,
}

impl<'a> View<'a> {
    /// An element that has no defaults.
    pub(super) fn plain(element: &'a Element) -> View<'a> {
        View {
            element,
            behind: Vec::new(),
        }
    }

    /// The element, then its defaults.
    pub(super) fn levels(&self) -> impl DoubleEndedIterator<Item = &'a Element> {
        std::iter::once(self.element).chain(self.behind.iter().copied())
    }

    /// The nearest element that has an attribute.
    pub(super) fn giver(&self, name: &str) -> Option<&'a Element> {
        self.levels().find(|level| level.attribute(name).is_some())
    }

    /// An attribute, of the element or of its classes.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.levels().find_map(|level| level.attribute(name))
    }

    /// Exactly N numbers, if somebody gives them.
    pub(super) fn exactly<const N: usize>(
        &self,
        name: &str,
    ) -> Result<Option<[f64; N]>, ImportError> {
        self.giver(name).map_or(Ok(None), |e| e.exactly(name))
    }

    /// One number, or what stands for it where it is not given.
    pub(super) fn number(&self, name: &str, default: f64) -> Result<f64, ImportError> {
        Ok(self.exactly(name)?.map_or(default, |[x]| x))
    }

    /// A vector, or what stands for it where it is not given.
    pub(super) fn vector(&self, name: &str, default: DVec3) -> Result<DVec3, ImportError> {
        Ok(self.exactly(name)?.map_or(default, DVec3::from))
    }

    /// Up to N numbers: each level gives the first few and leaves the others as they are behind it.
    pub(super) fn padded<const N: usize>(
        &self,
        name: &str,
        mut numbers: [f64; N],
    ) -> Result<[f64; N], ImportError> {
        for level in self.levels().rev() {
            let Some(given) = level.numbers(name)? else {
                continue;
            };
            if N < given.len() {
                let what = format!("{name} has {} numbers; at most {N} are used", given.len());
                return Err(level.fault(what));
            }
            numbers[..given.len()].copy_from_slice(&given);
        }
        Ok(numbers)
    }

    /// A word that must be one of some.
    pub(super) fn word<T: Copy>(
        &self,
        name: &str,
        words: &[(&str, T)],
        default: T,
    ) -> Result<T, ImportError> {
        let found = self.giver(name).map(|e| e.word(name, words)).transpose()?;
        Ok(found.flatten().unwrap_or(default))
    }

    /// A whole number, or what stands for it where it is not given.
    pub(super) fn whole(&self, name: &str, default: i64) -> Result<i64, ImportError> {
        let (Some(giver), Some(text)) = (self.giver(name), self.get(name)) else {
            return Ok(default);
        };
        let text = text.trim();
        let number = text.parse::<i64>().ok();
        let rounded = text.parse::<f64>().ok().filter(|x| x.fract() == 0.0);
        number
            .or(rounded.map(|x| x as i64))
            .ok_or_else(|| giver.fault(format!("{name}=\"{text}\" is not a whole number")))
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool, ImportError> {
        self.word(name, &[("true", true), ("false", false)], default)
    }
}

/// Yes, no, or as the numbers beside it say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tristate {
    Yes,
    No,
    Auto,
}

impl View<'_> {
    /// `true`, `false` or `auto`, which is what it is where it is not given.
    pub(super) fn tristate(&self, name: &str) -> Result<Tristate, ImportError> {
        let words = [
            ("true", Tristate::Yes),
            ("false", Tristate::No),
            ("auto", Tristate::Auto),
        ];
        self.word(name, &words, Tristate::Auto)
    }
}
