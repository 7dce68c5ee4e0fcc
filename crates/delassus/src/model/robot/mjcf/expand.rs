//! What stands for something else: `<include>` for the content of a file, `<replicate>` for copies of its content,
//! `<attach>` for a body of another model. Afterwards a model has none of them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::ImportError;
use super::super::mend::mend;
use super::super::xml::Source;
use super::compiler::Compiler;
use super::element::{Element, View};
use super::pose::euler;
use crate::problem::file::limit;
use crate::tree::spatial::Pose;

/// Most elements of a model with everything in place: robots have thousands, attacks have more.
const MAX_ELEMENTS: usize = 1_000_000;

/// Attributes that name other elements.
const REFERENCES: [&str; 24] = [
    "joint",
    "joint1",
    "joint2",
    "jointinparent",
    "body",
    "body1",
    "body2",
    "geom",
    "geom1",
    "geom2",
    "site",
    "site1",
    "site2",
    "refsite",
    "slidersite",
    "cranksite",
    "sidesite",
    "tendon",
    "tendon1",
    "tendon2",
    "mesh",
    "hfield",
    "objname",
    "refname",
];

/// Sections whose elements refer to the bodies of the model. Tendons come first: others refer to them.
const SECTIONS: [&str; 5] = ["tendon", "contact", "equality", "actuator", "sensor"];

/// The whole model of a file, and the compiler options of it and of the models attached to it.
pub(super) fn expand(
    source: &Source<'_>,
    file: &str,
    folder: Option<&Path>,
) -> Result<(Element, Vec<Compiler>), ImportError> {
    let mut scopes = Vec::new();
    let root = model(source, file, (folder, 0), &mut scopes)?;
    Ok((root, scopes))
}

/// One model. Models are attached at most `depth` deep, which rules out circles.
fn model(
    source: &Source<'_>,
    file: &str,
    (folder, depth): (Option<&Path>, usize),
    scopes: &mut Vec<Compiler>,
) -> Result<Element, ImportError> {
    let mut root = Element::of(source, source.root(), &Arc::from(file));
    let mut seen = vec![file.to_owned()];
    include(&mut root, (folder, Path::new("")), &mut seen)?;
    let scope = scopes.len();
    set_scope(&mut root, scope);
    scopes.push(Compiler::read(&root, scope)?);
    attach(&mut root, (folder, depth), scopes)?;
    while replicate_one(&mut root, scopes)? {}
    Ok(root)
}

fn set_scope(element: &mut Element, scope: usize) {
    element.scope = scope;
    for child in &mut element.children {
        set_scope(child, scope);
    }
}

fn set_folder(element: &mut Element, folder: &Arc<Path>) {
    element.folder = Arc::clone(folder);
    for child in &mut element.children {
        set_folder(child, folder);
    }
}

fn count(element: &Element) -> usize {
    let mut count = 0;
    element.visit(&mut |_| count += 1);
    count
}

/// Puts the content of other files in place of `<include>`. Files are named from the folder of the model, or from
/// that of the file that includes them; each may be included once, as in MuJoCo, which rules out circles.
fn include(
    element: &mut Element,
    (folder, inside): (Option<&Path>, &Path),
    seen: &mut Vec<String>,
) -> Result<(), ImportError> {
    let mut children = Vec::new();
    for mut child in std::mem::take(&mut element.children) {
        if child.tag != "include" {
            include(&mut child, (folder, inside), seen)?;
            children.push(child);
            continue;
        }
        let Some(folder) = folder else {
            let what = "other files can be included from a file alone, not from a text";
            return Err(child.fault(what));
        };
        let name = child.text("file")?.replace('\\', "/");
        let fault = |what: &str| child.fault(format!("{name}: {what}"));
        if seen.contains(&name) {
            return Err(fault("is included a second time"));
        }
        seen.push(name.clone());
        let mut place = PathBuf::from(&name);
        let mut text = limit::read_text(&folder.join(&place));
        if text.is_err() {
            place = inside.join(&name);
            text = limit::read_text(&folder.join(&place)).or(text);
        }
        let text = mend(&text.map_err(|error| fault(&error.to_string()))?);
        let source = Source::new(&text, &name)?;
        let mut inner = Element::of(&source, source.root(), &Arc::from(name.as_str()));
        let below = place.parent().unwrap_or(Path::new(""));
        set_folder(&mut inner, &Arc::from(below));
        include(&mut inner, (Some(folder), below), seen)?;
        children.append(&mut inner.children);
    }
    element.children = children;
    if MAX_ELEMENTS < count(element) {
        return Err(element.fault("has too many elements with everything included"));
    }
    Ok(())
}

/// Names inside copies, and what is put behind them in each copy.
struct Copies {
    names: HashSet<String>,
    suffixes: Vec<String>,
}

/// Replaces the first `<replicate>` that has none inside; false where there is none.
fn replicate_one(root: &mut Element, scopes: &[Compiler]) -> Result<bool, ImportError> {
    let size = count(root);
    let Some(copies) = replicate(root, scopes, size)? else {
        return Ok(false);
    };
    let Copies {
        mut names,
        suffixes,
    } = copies;
    for section in SECTIONS {
        for piece in root.children.iter_mut().filter(|e| e.tag == section) {
            let mut all = Vec::new();
            for element in std::mem::take(&mut piece.children) {
                if !refers(&element, &names) {
                    all.push(element);
                    continue;
                }
                for suffix in &suffixes {
                    let mut copy = element.clone();
                    rename(&mut copy, &|name, own| {
                        (own || names.contains(name)).then(|| format!("{name}{suffix}"))
                    });
                    all.push(copy);
                }
                if section == "tendon" {
                    names.insert(element.name().to_owned());
                }
            }
            piece.children = all;
        }
    }
    if MAX_ELEMENTS < count(root) {
        return Err(root.fault("has too many elements with everything replicated"));
    }
    Ok(true)
}

fn replicate(
    element: &mut Element,
    scopes: &[Compiler],
    size: usize,
) -> Result<Option<Copies>, ImportError> {
    for child in &mut element.children {
        let found = replicate(child, scopes, size)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    let Some(at) = element.children.iter().position(|e| e.tag == "replicate") else {
        return Ok(None);
    };
    let node = element.children.remove(at);
    let view = View::plain(&node);
    node.text("count")?;
    let times = view.whole("count", 0)?;
    let within = usize::try_from(times).ok().filter(|times| {
        let grown = times.checked_mul(count(&node));
        grown.is_some_and(|grown| size.saturating_add(grown) <= MAX_ELEMENTS)
    });
    let Some(times) = within.filter(|times| 1 <= *times) else {
        let what = format!("count is {times}; it must be positive, and the copies not too many");
        return Err(node.fault(what));
    };
    let offset = view.vector("offset", glam::DVec3::ZERO)?;
    let angles = view.exactly::<3>("euler")?.unwrap_or_default();
    // The format's own defaults: nothing between name and number, nothing before a name.
    let separator = node.attribute("sep").unwrap_or_default();
    let digits = (times - 1).to_string().len();
    let mut copies = Copies {
        names: HashSet::new(),
        suffixes: Vec::new(),
    };
    for child in &node.children {
        child.visit(&mut |e| {
            copies.names.insert(e.name().to_owned());
        });
    }
    copies.names.remove("");
    let mut position = glam::DVec3::ZERO;
    for i in 0..times {
        let suffix = format!("{separator}{i:0digits$}");
        let mut frame = node.instead("frame", node.children.clone());
        for child in &mut frame.children {
            rename(child, &|name, own| own.then(|| format!("{name}{suffix}")));
        }
        // Rᵢ is that of i times the angles, and xᵢ₊₁ = xᵢ + Rᵢ offset.
        let turn = euler(angles.map(|angle| i as f64 * angle), &scopes[node.scope]);
        put(&mut frame, &Pose::new(position, turn));
        position += turn * offset;
        if let Some(class) = node.attribute("childclass") {
            frame.set("childclass", class.to_owned());
        }
        element.children.insert(at + i, frame);
        copies.suffixes.push(suffix);
    }
    Ok(Some(copies))
}

/// Writes a pose into the attributes of a frame; numbers come back as they were.
fn put(frame: &mut Element, pose: &Pose) {
    let [x, y, z] = pose.position.to_array();
    let turn = glam::DQuat::from_mat3(&pose.rotation).normalize();
    frame.set("pos", format!("{x:?} {y:?} {z:?}"));
    let (w, x, y, z) = (turn.w, turn.x, turn.y, turn.z);
    frame.set("quat", format!("{w:?} {x:?} {y:?} {z:?}"));
}

fn refers(element: &Element, names: &HashSet<String>) -> bool {
    let mut found = false;
    element.visit(&mut |e| {
        let refers = |(name, value): &(String, String)| {
            REFERENCES.contains(&name.as_str()) && names.contains(value)
        };
        found |= e.attributes.iter().any(refers);
    });
    found
}

/// Gives names, own ones (true) and those of others, new forms.
fn rename(element: &mut Element, new: &impl Fn(&str, bool) -> Option<String>) {
    for (name, value) in &mut element.attributes {
        let own = name == "name";
        let named = own || REFERENCES.contains(&name.as_str());
        if let Some(value_new) = named.then(|| new(value, own)).flatten() {
            *value = value_new;
        }
    }
    for child in &mut element.children {
        rename(child, new);
    }
}

/// Deepest nesting of attached models.
const MAX_DEPTH: usize = 8;

/// Puts bodies of other models in place of every `<attach>`, and what refers to them into the sections.
fn attach(
    root: &mut Element,
    (folder, depth): (Option<&Path>, usize),
    scopes: &mut Vec<Compiler>,
) -> Result<(), ImportError> {
    let assets: Vec<Element> = root
        .section("asset")
        .filter(|e| e.tag == "model")
        .cloned()
        .collect();
    let mut brought = Vec::new();
    let mut bodies = std::mem::take(&mut root.children);
    for section in bodies.iter_mut().filter(|e| e.tag == "worldbody") {
        attach_in(section, &assets, (folder, depth), (scopes, &mut brought))?;
    }
    root.children = bodies;
    root.children.append(&mut brought);
    Ok(())
}

fn attach_in(
    element: &mut Element,
    assets: &[Element],
    (folder, depth): (Option<&Path>, usize),
    (scopes, brought): (&mut Vec<Compiler>, &mut Vec<Element>),
) -> Result<(), ImportError> {
    for child in &mut element.children {
        if child.tag != "attach" {
            attach_in(child, assets, (folder, depth), (scopes, brought))?;
            continue;
        }
        let wanted = child.text("model")?;
        let (Some(folder), true) = (folder, depth < MAX_DEPTH) else {
            let what = "models are attached from files alone, and not too deep";
            return Err(child.fault(what));
        };
        let is_wanted = |asset: &&Element| called(asset, folder) == wanted;
        let Some(asset) = assets.iter().find(is_wanted) else {
            return Err(child.fault(format!("model \"{wanted}\" is not among the assets")));
        };
        let file = asset.text("file")?.to_owned();
        let read = limit::read_text(&folder.join(&file));
        let text = mend(&read.map_err(|error| asset.fault(format!("{file}: {error}")))?);
        let below = folder.join(&file);
        let below = below.parent().unwrap_or(folder);
        let source = Source::new(&text, &file)?;
        let first = scopes.len();
        let mut other = model(&source, &file, (Some(below), depth + 1), scopes)?;
        for scope in &mut scopes[first..] {
            scope.move_below(Path::new(&file).parent().unwrap_or(Path::new("")));
        }
        let prefix = child.attribute("prefix").unwrap_or_default().to_owned();
        take_over(&mut other, &prefix);
        let mut parts = parts(&other, child, &prefix)?;
        let names = parts.1;
        for section in SECTIONS {
            for piece in other.children.iter_mut().filter(|e| e.tag == section) {
                piece.children.retain(|e| only_refers(e, &names));
                brought.push(piece.clone());
            }
        }
        let kept = ["asset", "default", "compiler"];
        brought.extend(
            other
                .children
                .iter()
                .filter(|e| kept.contains(&e.tag.as_str()))
                .cloned(),
        );
        let mut frame = child.instead("frame", std::mem::take(&mut parts.0));
        frame.set("childclass", format!("{prefix}main"));
        // The class is one of the other model.
        frame.scope = first;
        *child = frame;
    }
    Ok(())
}

/// The name of a model among the assets, or that in its file where it has none.
fn called(asset: &Element, folder: &Path) -> String {
    let name = asset.name();
    if !name.is_empty() {
        return name.to_owned();
    }
    let read = || {
        let file = asset.attribute("file")?;
        let text = mend(&limit::read_text(&folder.join(file)).ok()?);
        let source = Source::new(&text, file).ok()?;
        source.root().attribute("model").map(str::to_owned)
    };
    // A file that cannot be read has no name; it is refused where it is attached.
    read().unwrap_or_default()
}

/// The bodies that are attached, and the names of everything in them.
fn parts(
    other: &Element,
    attach: &Element,
    prefix: &str,
) -> Result<(Vec<Element>, HashSet<String>), ImportError> {
    let wanted = attach.attribute("body").or(attach.attribute("frame"));
    let mut found = Vec::new();
    match wanted {
        None => found.extend(other.section("worldbody").cloned()),
        Some(body) => {
            let name = format!("{prefix}{body}");
            for section in other.all("worldbody") {
                section.visit(&mut |e| {
                    if matches!(e.tag.as_str(), "body" | "frame") && e.name() == name {
                        found.push(e.clone());
                    }
                });
            }
            if found.is_empty() {
                let what = format!("the model has no body \"{body}\"");
                return Err(attach.fault(what));
            }
        }
    }
    let mut names = HashSet::from(["world".to_owned(), format!("{prefix}world")]);
    let mut see = |e: &Element| {
        names.insert(e.name().to_owned());
    };
    found.iter().for_each(|e| e.visit(&mut see));
    other.section("asset").for_each(|e| e.visit(&mut see));
    other.section("tendon").for_each(|e| e.visit(&mut see));
    Ok((found, names))
}

fn only_refers(element: &Element, names: &HashSet<String>) -> bool {
    let mut fits = true;
    element.visit(&mut |e| {
        let other = |(name, value): &(String, String)| {
            REFERENCES.contains(&name.as_str()) && !names.contains(value)
        };
        fits &= !e.attributes.iter().any(other);
    });
    fits
}

/// Puts a prefix before all names and classes of a model, and gives every element a class of it.
fn take_over(root: &mut Element, prefix: &str) {
    rename(root, &|name, _| {
        (name != "world").then(|| format!("{prefix}{name}"))
    });
    fn classes(element: &mut Element, prefix: &str) {
        for (name, value) in &mut element.attributes {
            if matches!(name.as_str(), "class" | "childclass") {
                *value = format!("{prefix}{value}");
            }
        }
        for child in &mut element.children {
            classes(child, prefix);
        }
    }
    classes(root, prefix);
    let main = format!("{prefix}main");
    let (mut defaults, scope) = (false, root.scope);
    // What attached models of its own brought has its classes already.
    for section in root.children.iter_mut().filter(|e| e.scope == scope) {
        match section.tag.as_str() {
            "default" => {
                section.set("class", main.clone());
                defaults = true;
            }
            tag if SECTIONS.contains(&tag) || tag == "asset" => {
                for element in &mut section.children {
                    if element.attribute("class").is_none() {
                        element.set("class", main.clone());
                    }
                }
            }
            _ => {}
        }
    }
    if !defaults {
        let mut section = root.instead("default", Vec::new());
        section.set("class", main);
        root.children.push(section);
    }
}
