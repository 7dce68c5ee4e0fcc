//! XML with places: attributes as numbers, and errors that name file, line and element.

use glam::DVec3;
use roxmltree::{Document, Node, ParsingOptions};

use super::{ImportError, ImportFault, Warning};

/// Most elements of a file: robots have thousands, attacks have more.
const MAX_NODES: u32 = 2_000_000;

/// Deepest nesting: parsers recurse, and a file must not be able to exhaust the stack.
const MAX_DEPTH: usize = 256;

/// A parsed file.
pub(super) struct Source<'a> {
    pub(super) document: Document<'a>,
    file: &'a str,
}

impl<'a> Source<'a> {
    /// Parses the text. Document types are refused, and entities with them.
    pub(super) fn new(text: &'a str, file: &'a str) -> Result<Source<'a>, ImportError> {
        if let Some(line) = too_deep(text) {
            return Err(ImportError {
                file: file.to_owned(),
                line,
                element: "XML".to_owned(),
                what: format!("elements are nested more than {MAX_DEPTH} deep").into(),
            });
        }
        if !text
            .trim_start_matches('\u{feff}')
            .trim_start()
            .starts_with('<')
        {
            return Err(ImportError {
                file: file.to_owned(),
                line: 1,
                element: "XML".to_owned(),
                what: "it does not begin with \"<\": a robot is a URDF or MJCF file; `delassus doctor` reads scenes and problems"
                    .into(),
            });
        }
        let options = ParsingOptions {
            allow_dtd: false,
            nodes_limit: MAX_NODES,
        };
        let document =
            Document::parse_with_options(text, options).map_err(|error| ImportError {
                file: file.to_owned(),
                line: error.pos().row as usize,
                element: "XML".to_owned(),
                what: error.to_string().into(),
            })?;
        Ok(Source { document, file })
    }

    pub(super) fn root(&self) -> Node<'_, 'a> {
        self.document.root_element()
    }

    /// Line of an element, from one.
    pub(super) fn line(&self, node: Node<'_, '_>) -> usize {
        self.document.text_pos_at(node.range().start).row as usize
    }

    /// A refusal at an element.
    pub(super) fn fault(&self, node: Node<'_, '_>, what: impl Into<ImportFault>) -> ImportError {
        let tag = node.tag_name().name();
        let element = match node.attribute("name") {
            Some(name) => format!("<{tag} name=\"{name}\">"),
            None => format!("<{tag}>"),
        };
        ImportError {
            file: self.file.to_owned(),
            line: self.line(node),
            element,
            what: what.into(),
        }
    }

    /// Something that is not used, or not as it is written.
    pub(super) fn warning(&self, line: usize, text: String) -> Warning {
        Warning {
            file: self.file.to_owned(),
            line,
            text,
            lost: false,
        }
    }

    /// An attribute that must be there.
    pub(super) fn text<'n>(&self, node: Node<'n, '_>, name: &str) -> Result<&'n str, ImportError> {
        node.attribute(name)
            .ok_or_else(|| self.fault(node, format!("attribute {name} is missing")))
    }

    /// Exactly N finite numbers of an attribute, if it is there.
    pub(super) fn numbers<const N: usize>(
        &self,
        node: Node<'_, '_>,
        name: &str,
    ) -> Result<Option<[f64; N]>, ImportError> {
        let Some(text) = node.attribute(name) else {
            return Ok(None);
        };
        let numbers: Option<Vec<f64>> = text
            .split_whitespace()
            .map(|word| word.parse().ok().filter(|x: &f64| x.is_finite()))
            .collect();
        let numbers = numbers.and_then(|numbers| <[f64; N]>::try_from(numbers).ok());
        numbers.map(Some).ok_or_else(|| {
            let what = format!("{name}=\"{text}\" should be {N} finite numbers");
            self.fault(node, what)
        })
    }

    /// One number, or what stands for it where it is not given.
    pub(super) fn number(
        &self,
        node: Node<'_, '_>,
        name: &str,
        default: f64,
    ) -> Result<f64, ImportError> {
        Ok(self.numbers::<1>(node, name)?.map_or(default, |[x]| x))
    }

    /// A vector, or what stands for it where it is not given.
    pub(super) fn vector(
        &self,
        node: Node<'_, '_>,
        name: &str,
        default: DVec3,
    ) -> Result<DVec3, ImportError> {
        Ok(self.numbers(node, name)?.map_or(default, DVec3::from))
    }

    /// One warning for every kind of element that `known` does not list under its parent, with how many there are.
    pub(super) fn unused(
        &self,
        known: &[(&str, &[&str])],
        why: impl Fn(&str) -> String,
    ) -> Vec<Warning> {
        let mut found: Vec<(&str, usize, usize)> = Vec::new();
        let mut open = vec![self.root()];
        while let Some(node) = open.pop() {
            let tag = node.tag_name().name();
            let listed = known.iter().find(|(parent, _)| *parent == tag);
            for child in node.children().filter(Node::is_element) {
                let name = child.tag_name().name();
                if listed.is_some_and(|(_, children)| children.contains(&name)) {
                    open.push(child);
                    continue;
                }
                let line = self.line(child);
                match found.iter_mut().find(|(tag, ..)| *tag == name) {
                    Some((_, first, count)) => {
                        *first = line.min(*first);
                        *count += 1;
                    }
                    None => found.push((name, line, 1)),
                }
            }
        }
        found.sort_by_key(|&(tag, line, _)| (line, tag));
        let warn = |(tag, line, count): (&str, usize, usize)| {
            let times = if count == 1 {
                String::new()
            } else {
                format!(" ({count} times)")
            };
            let text = format!("<{tag}>{times}: {}", why(tag));
            self.warning(line, text)
        };
        found.into_iter().map(warn).collect()
    }
}

/// The line at which elements are nested too deep, if they are; seen before the text is parsed.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut rest) = (0usize, text);
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let skip = |end: &str| rest.find(end).map_or("", |at| &rest[at + end.len()..]);
        if rest.starts_with("<!--") {
            rest = skip("-->");
        } else if rest.starts_with("<![CDATA[") {
            rest = skip("]]>");
        } else if rest.starts_with("<?") {
            rest = skip("?>");
        } else if rest.starts_with("<!") {
            rest = &rest[2..];
        } else if rest.starts_with("</") {
            depth = depth.saturating_sub(1);
            rest = &rest[2..];
        } else {
            let (end, closed) = tag_end(rest);
            depth += usize::from(!closed);
            if MAX_DEPTH < depth {
                return Some(1 + text[..text.len() - rest.len()].matches('\n').count());
            }
            rest = &rest[end..];
        }
    }
    None
}

/// Behind an opening tag, and whether it closes itself; a bracket inside quotes does not end it.
pub(super) fn tag_end(tag: &str) -> (usize, bool) {
    let mut quote = None;
    let mut before = ' ';
    for (i, c) in tag.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '>' => return (i + 1, before == '/'),
            None => {}
        }
        before = c;
    }
    (tag.len(), false)
}

/// The first child element of a name.
pub(super) fn child<'n, 'd>(node: Node<'n, 'd>, name: &str) -> Option<Node<'n, 'd>> {
    node.children().find(|child| child.has_tag_name(name))
}
