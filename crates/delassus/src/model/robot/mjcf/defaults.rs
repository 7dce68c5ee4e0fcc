//! Default classes: a tree of them, each with elements that stand behind those of the model.

use std::collections::HashMap;

use super::super::ImportError;
use super::element::{Element, View};

/// The class behind everything, whatever the file calls it.
const MAIN: usize = 0;

/// All classes of a file.
#[derive(Debug)]
pub(super) struct Defaults<'a> {
    classes: Vec<Class<'a>>,
    /// By the model that defines them and their names: models that are attached have classes of their own.
    numbers: HashMap<(usize, &'a str), usize>,
}

#[derive(Debug)]
struct Class<'a> {
    parent: Option<usize>,
    elements: Vec<&'a Element>,
}

impl<'a> Defaults<'a> {
    /// Reads every `<default>` section; several at the top are one.
    pub(super) fn read(root: &'a Element) -> Result<Defaults<'a>, ImportError> {
        let main = Class {
            parent: None,
            elements: Vec::new(),
        };
        let mut found = Defaults {
            classes: vec![main],
            numbers: HashMap::from([((0, "main"), MAIN)]),
        };
        for section in root.all("default") {
            // A section at the top is the main class, unless an attached model brought it.
            let scope = section.scope;
            match section.attribute("class") {
                Some(class) if scope != 0 => match found.numbers.get(&(scope, class)).copied() {
                    Some(number) => found.fill(section, number)?,
                    None => found.add(section, class, None)?,
                },
                other => {
                    found.numbers.insert((0, other.unwrap_or("main")), MAIN);
                    found.fill(section, MAIN)?;
                }
            }
        }
        Ok(found)
    }

    fn add(
        &mut self,
        section: &'a Element,
        class: &'a str,
        parent: Option<usize>,
    ) -> Result<(), ImportError> {
        let number = self.classes.len();
        if self
            .numbers
            .insert((section.scope, class), number)
            .is_some()
        {
            let what = format!("the class \"{class}\" is defined twice");
            return Err(section.fault(what));
        }
        self.classes.push(Class {
            parent,
            elements: Vec::new(),
        });
        self.fill(section, number)
    }

    fn fill(&mut self, section: &'a Element, number: usize) -> Result<(), ImportError> {
        for child in &section.children {
            if child.tag != "default" {
                self.classes[number].elements.push(child);
                continue;
            }
            let Some(class) = child.attribute("class") else {
                return Err(child.fault("a class inside another needs a name: give class"));
            };
            self.add(child, class, Some(number))?;
        }
        Ok(())
    }

    /// The number of a class that an element names.
    fn number(&self, element: &Element, attribute: &str) -> Result<Option<usize>, ImportError> {
        let Some(class) = element.attribute(attribute) else {
            return Ok(None);
        };
        // Its own model's, or the first of that name.
        let own = self.numbers.get(&(element.scope, class));
        let named = || self.numbers.iter().filter(|((_, name), _)| *name == class);
        let found = own
            .or_else(|| named().min().map(|(_, number)| number))
            .copied();
        found.map(Some).ok_or_else(|| {
            let what = format!("{attribute}=\"{class}\": there is no such default class");
            element.fault(what)
        })
    }

    /// The class of the children of a body or frame, where it changes it.
    pub(super) fn childclass(&self, element: &Element) -> Result<Option<usize>, ImportError> {
        self.number(element, "childclass")
    }

    /// What stands behind an element of one of some kinds, whose carrier has a class for its children.
    pub(super) fn view(
        &self,
        element: &'a Element,
        kinds: &[&str],
        carrier: Option<usize>,
    ) -> Result<View<'a>, ImportError> {
        let class = self.number(element, "class")?.or(carrier);
        let mut class = Some(class.unwrap_or(MAIN));
        let mut behind = Vec::new();
        while let Some(number) = class {
            // Of several in one class the later ones go before.
            let own = self.classes[number].elements.iter().rev();
            behind.extend(own.filter(|e| kinds.contains(&e.tag.as_str())));
            class = self.classes[number].parent;
        }
        Ok(View { element, behind })
    }
}
