//! What an MJCF file must keep and its parser does not check: numbers, classes, names; and the elements and attributes
//! that are read by nothing here.

use roxmltree::{Attribute, Node};

use super::actuator::ACTUATORS;
use super::xml::Source;
use super::{ImportError, Warning};

/// Elements that are used, by parent.
const KNOWN: [(&str, &[&str]); 8] = [
    (
        "mujoco",
        &[
            "compiler",
            "option",
            "default",
            "worldbody",
            "equality",
            "actuator",
            "include",
            "asset",
        ],
    ),
    ("asset", &["mesh"]),
    (
        "default",
        &[
            "default", "joint", "geom", "equality", "motor", "position", "velocity", "general",
        ],
    ),
    ("worldbody", &["body", "geom", "frame"]),
    (
        "frame",
        &["body", "geom", "joint", "freejoint", "inertial", "frame"],
    ),
    (
        "body",
        &["body", "geom", "joint", "freejoint", "inertial", "frame"],
    ),
    ("equality", &["connect", "weld", "joint"]),
    ("actuator", ACTUATORS),
];

/// Why an element is left out.
fn why_unused(tag: &str) -> String {
    match tag {
        "visual" | "light" | "camera" | "statistic" | "site" | "texture" | "material" => {
            "looks and marks are not used"
        }
        "intvelocity" | "damper" | "cylinder" | "muscle" | "adhesion" | "plugin" => {
            "this kind of actuator is not supported"
        }
        "sensor" | "keyframe" | "custom" | "size" => "is not used",
        "contact" => "pairs and exclusions are not used",
        "tendon" => "tendons are not supported",
        _ => "is not understood and not used",
    }
    .to_owned()
}

/// Elements that are left out, one warning for each kind.
pub(super) fn unused_elements(source: &Source<'_>) -> Vec<Warning> {
    source.unused(&KNOWN, why_unused)
}

/// Attributes made of numbers.
const NUMBERS: [&str; 33] = [
    "anchor",
    "armature",
    "axis",
    "axisangle",
    "biasprm",
    "ctrlrange",
    "damping",
    "density",
    "diaginertia",
    "euler",
    "forcerange",
    "friction",
    "frictionloss",
    "fromto",
    "fullinertia",
    "gainprm",
    "gear",
    "gravity",
    "kp",
    "kv",
    "margin",
    "mass",
    "polycoef",
    "pos",
    "quat",
    "range",
    "ref",
    "relpose",
    "size",
    "springref",
    "stiffness",
    "xyaxes",
    "zaxis",
];

/// Every number of the elements that are used is one: the parser does not say where it met another.
fn check_numbers(source: &Source<'_>) -> Result<(), ImportError> {
    let used = |node: &Node<'_, '_>| {
        let tag = node.tag_name().name();
        KNOWN.iter().any(|(_, children)| children.contains(&tag))
    };
    for node in source.root().descendants().filter(used) {
        for attribute in node.attributes().filter(|a| NUMBERS.contains(&a.name())) {
            let words = attribute.value().split_whitespace();
            let finite = |word: &str| word.parse().is_ok_and(|x: f64| x.is_finite());
            if let Some(word) = words.into_iter().find(|word| !finite(word)) {
                let what = format!("{word} in {} is not a finite number", attribute.name());
                return Err(source.fault(node, what));
            }
        }
    }
    Ok(())
}

/// Checks a file in which everything included stands in its place.
pub(super) fn check(source: &Source<'_>) -> Result<(), ImportError> {
    check_numbers(source)?;
    check_euler(source)?;
    check_names(source)?;
    check_classes(source)
}

/// Three axes, each of the turning (small) or of the fixed frame (capital).
fn check_euler(source: &Source<'_>) -> Result<(), ImportError> {
    for node in source.root().descendants() {
        let order = node.attribute("eulerseq").unwrap_or("xyz");
        if order.len() != 3 || !order.chars().all(|c| "xyzXYZ".contains(c)) {
            let what = format!("eulerseq=\"{order}\" should be three of x, y, z, X, Y, Z");
            return Err(source.fault(node, what));
        }
    }
    Ok(())
}

/// Elements that define things of the world, not defaults for them or references to them.
fn defines(node: &Node<'_, '_>) -> bool {
    let sections = [
        "default", "equality", "tendon", "actuator", "sensor", "contact",
    ];
    !node
        .ancestors()
        .any(|above| sections.contains(&above.tag_name().name()))
}

/// No two bodies, joints, geoms or meshes have one name: what refers to it could mean either.
fn check_names(source: &Source<'_>) -> Result<(), ImportError> {
    let mut seen = std::collections::HashSet::new();
    for node in source.root().descendants().filter(defines) {
        let kind = match node.tag_name().name() {
            "freejoint" => "joint",
            kind @ ("body" | "joint" | "geom" | "mesh") => kind,
            _ => continue,
        };
        let Some(name) = node.attribute("name").filter(|name| !name.is_empty()) else {
            continue;
        };
        if !seen.insert((kind, name)) {
            let what = format!("there are two of this kind with the name \"{name}\"");
            return Err(source.fault(node, what));
        }
    }
    Ok(())
}

/// Every class that is named is defined, once.
fn check_classes(source: &Source<'_>) -> Result<(), ImportError> {
    let mut classes = std::collections::HashSet::from(["main"]);
    let elements = source.root().descendants();
    for node in elements.filter(|n| n.has_tag_name("default")) {
        let Some(class) = node.attribute("class") else {
            continue;
        };
        let inner = node.parent().is_some_and(|p| p.has_tag_name("default"));
        if !classes.insert(class) && inner {
            let what = format!("the class \"{class}\" is defined twice");
            return Err(source.fault(node, what));
        }
    }
    for node in source.root().descendants() {
        for attribute in ["class", "childclass"] {
            let named = node.attribute(attribute);
            if let Some(class) = named.filter(|class| !classes.contains(class)) {
                let what = format!("{attribute}=\"{class}\": there is no such default class");
                return Err(source.fault(node, what));
            }
        }
    }
    Ok(())
}

/// Attributes of the elements that are used which are used themselves, or are only looked at.
const ATTRIBUTES: [(&str, &[&str]); 4] = [
    (
        "body",
        &[
            "name",
            "childclass",
            "pos",
            "quat",
            "axisangle",
            "xyaxes",
            "zaxis",
            "euler",
            "user",
        ],
    ),
    (
        "joint",
        &[
            "name",
            "class",
            "type",
            "group",
            "pos",
            "axis",
            "limited",
            "range",
            "damping",
            "armature",
            "frictionloss",
            "ref",
            "user",
        ],
    ),
    ("freejoint", &["name", "group"]),
    (
        "geom",
        &[
            "name",
            "class",
            "type",
            "contype",
            "conaffinity",
            "condim",
            "group",
            "size",
            "material",
            "rgba",
            "friction",
            "mass",
            "density",
            "pos",
            "quat",
            "axisangle",
            "xyaxes",
            "zaxis",
            "euler",
            "fromto",
            "mesh",
            "user",
        ],
    ),
];

/// One warning for each kind of attribute that says something and is not used.
pub(super) fn unused_attributes(source: &Source<'_>) -> Vec<Warning> {
    let elsewhere = |node: &Node<'_, '_>| {
        let sections = ["equality", "tendon", "actuator", "sensor", "contact"];
        node.ancestors()
            .any(|above| sections.contains(&above.tag_name().name()))
    };
    let mut found: Vec<(&str, &str, usize)> = Vec::new();
    for node in source.root().descendants().filter(|n| !elsewhere(n)) {
        let tag = node.tag_name().name();
        let Some((_, known)) = ATTRIBUTES.iter().find(|(name, _)| *name == tag) else {
            continue;
        };
        // Zeros change nothing: no margin, no stiffness.
        let says = |a: &Attribute<'_, '_>| !a.value().trim_matches(['0', '.', ' ']).is_empty();
        for attribute in node.attributes().filter(says).map(|a| a.name()) {
            let met = found.iter().any(|(t, a, _)| (*t, *a) == (tag, attribute));
            if !known.contains(&attribute) && !met {
                found.push((tag, attribute, source.line(node)));
            }
        }
    }
    let warn = |(tag, attribute, line)| Warning {
        line,
        text: format!("<{tag} {attribute}>: is not used"),
    };
    found.into_iter().map(warn).collect()
}
