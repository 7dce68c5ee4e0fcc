//! Names that are given twice, and the elements and attributes that are read by nothing here.

use std::collections::HashSet;

use super::super::ImportError;
use super::Reader;
use super::actuator::KINDS;
use super::element::Element;

/// Sections whose elements refer to things, or stand behind them, and do not define bodies, joints or geoms.
const ASIDE: [&str; 6] = [
    "default", "equality", "tendon", "actuator", "sensor", "contact",
];

/// No two bodies, joints, geoms or sites have one name: what refers to it could mean either.
pub(super) fn check_names(root: &Element) -> Result<(), ImportError> {
    let (mut seen, mut twice) = (HashSet::new(), None);
    for section in root.all("worldbody") {
        section.visit(&mut |element| {
            let kind = match element.tag.as_str() {
                "freejoint" => "joint",
                kind @ ("body" | "joint" | "geom" | "site") => kind,
                _ => return,
            };
            let name = element.name();
            if !name.is_empty() && !seen.insert((kind, name)) {
                twice = twice.or(Some(element));
            }
        });
    }
    twice.map_or(Ok(()), |element: &Element| {
        let name = element.name();
        let what = format!("there are two of this kind with the name \"{name}\"");
        Err(element.fault(what))
    })
}

/// Elements that are used, by parent; those of a body stand in frames too.
const KNOWN: [(&str, &[&str]); 10] = [
    (
        "mujoco",
        &[
            "compiler",
            "option",
            "default",
            "worldbody",
            "equality",
            "actuator",
            "asset",
            "contact",
            "tendon",
            "keyframe",
            "sensor",
        ],
    ),
    ("option", &["flag"]),
    ("asset", &["mesh", "hfield", "model"]),
    (
        "default",
        &[
            "default", "joint", "geom", "site", "mesh", "equality", "tendon", "pair",
        ],
    ),
    ("body", BODY),
    ("contact", &["pair", "exclude"]),
    ("tendon", &["fixed", "spatial"]),
    ("equality", &["connect", "weld", "joint", "tendon"]),
    ("actuator", &KINDS),
    ("keyframe", &["key"]),
];

const BODY: &[&str] = &[
    "body",
    "geom",
    "joint",
    "freejoint",
    "inertial",
    "frame",
    "site",
];

/// Elements that say nothing about how things move.
const LOOKS: [&str; 10] = [
    "visual",
    "light",
    "camera",
    "statistic",
    "texture",
    "material",
    "skin",
    "custom",
    "size",
    "lengthrange",
];

/// Elements that act and are not simulated.
const LOST: [(&str, &str); 11] = [
    ("flexcomp", "a soft body"),
    ("flex", "a soft body"),
    ("flexstrain", "a soft body"),
    ("composite", "a composite body"),
    ("plugin", "a plugin"),
    ("extension", "plugins"),
    ("orientation", "an actuator of orientation"),
    ("pid", "an actuator with an integral"),
    ("dcmotor", "an electric motor"),
    ("deformable", "a soft body"),
    ("attach", "an attached model"),
];

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
            "gravcomp",
            "mocap",
            "sleep",
            "fuse",
            "simple",
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
            "stiffness",
            "springref",
            "springdamper",
            "actuatorfrcrange",
            "actuatorfrclimited",
            "actuatorgravcomp",
        ],
    ),
    ("freejoint", &["name", "group", "align"]),
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
            "hfield",
            "fitscale",
            "shellinertia",
            "priority",
            "castshadow",
            "fluidshape",
            "fluidcoef",
        ],
    ),
];

/// Attributes that make contacts and limits soft; here they are hard.
const SOFT: [&str; 10] = [
    "solref",
    "solimp",
    "solmix",
    "margin",
    "gap",
    "solreflimit",
    "solimplimit",
    "solreffriction",
    "solimpfriction",
    "torquescale",
];

/// Flags that are heeded.
const FLAGS: [&str; 9] = [
    "constraint",
    "equality",
    "frictionloss",
    "limit",
    "contact",
    "spring",
    "damper",
    "gravity",
    "actuation",
];

/// What acts and is not simulated, of elements whose other attributes are all looked at or without effect here.
const FURTHER: [(&str, &[&str]); 5] = [
    ("frame", &["scale", "massscale"]),
    ("fixed", &["springyield"]),
    ("spatial", &["springyield"]),
    ("tendon", &["springyield"]),
    ("pair", &["adhesion"]),
];

impl<'a> Reader<'a> {
    /// Lists what is not used, once for each kind, with how many there are.
    pub(super) fn list_unused(&mut self) {
        let root = self.root;
        let mut found: Vec<(&'a Element, usize)> = Vec::new();
        count_unknown(root, &mut found);
        for (element, count) in found {
            let tag = element.tag.as_str();
            if let Some((_, what)) = LOST.iter().find(|(name, _)| *name == tag) {
                self.lose(element, format!("<{tag}>, {what},"));
                continue;
            }
            let times = if count == 1 {
                String::new()
            } else {
                format!(" ({count} times)")
            };
            let why = if LOOKS.contains(&tag) {
                "looks and marks are not used"
            } else {
                "is not understood and not used"
            };
            self.note(element, format!("<{tag}>{times}: {why}"));
        }
        self.list_attributes();
        self.list_options();
    }

    fn list_attributes(&mut self) {
        let mut found: Vec<(&'a Element, &'a str)> = Vec::new();
        for section in &self.root.children {
            let aside = ASIDE[1..].contains(&section.tag.as_str());
            section.visit(&mut |element| {
                let tag = element.tag.as_str();
                // There a joint is one that is named, not one that is made.
                let known = ATTRIBUTES.iter().find(|(name, _)| *name == tag && !aside);
                let further = FURTHER.iter().find(|(name, _)| *name == tag);
                let delays = KINDS.contains(&tag);
                let counts = |name: &str| {
                    known.is_some_and(|(_, known)| !known.contains(&name))
                        || further.is_some_and(|(_, further)| further.contains(&name))
                        || (delays && name == "delay")
                };
                for (name, value) in &element.attributes {
                    // Zeros change nothing: no margin, no gap.
                    let says = !value.trim_matches(['0', '.', ' ']).is_empty();
                    let met = |(e, a): &(&Element, &str)| e.tag == tag && *a == name;
                    if says && counts(name) && !found.iter().any(met) {
                        found.push((element, name));
                    }
                }
            });
        }
        for (element, attribute) in found {
            let tag = &element.tag;
            match attribute {
                "adhesion" | "surfacevel" | "springyield" | "scale" | "massscale" => {
                    self.lose(element, format!("{attribute} of a {tag}"));
                }
                _ if SOFT.contains(&attribute) => {
                    let text =
                        format!("<{tag} {attribute}>: is not used; contacts and limits are hard");
                    self.note(element, text);
                }
                _ => self.note(element, format!("<{tag} {attribute}>: is not used")),
            }
        }
    }

    fn list_options(&mut self) {
        let root = self.root;
        for option in root.all("option") {
            for what in ["density", "viscosity", "wind"] {
                let given = option.attribute(what).unwrap_or("0");
                if !given.trim_matches(['0', '.', ' ']).is_empty() && what != "wind" {
                    self.lose(
                        option,
                        format!("a fluid around the bodies, {what} {given},"),
                    );
                }
            }
            let used = [
                "gravity",
                "timestep",
                "density",
                "viscosity",
                "wind",
                "actuatorgroupdisable",
            ];
            let others = option.attributes.iter().map(|(name, _)| name.as_str());
            let others: Vec<&str> = others.filter(|name| !used.contains(name)).collect();
            if !others.is_empty() {
                self.note(
                    option,
                    format!("<option {}>: is not used", others.join(" ")),
                );
            }
            for flag in option.all("flag") {
                let names = flag.attributes.iter().map(|(name, _)| name.as_str());
                let others: Vec<&str> = names.filter(|name| !FLAGS.contains(name)).collect();
                if !others.is_empty() {
                    let text = format!("<flag {}>: is not used", others.join(" "));
                    self.note(flag, text);
                }
            }
        }
    }
}

/// Elements that no list has, those inside them left out, the first of each kind with how many there are.
fn count_unknown<'a>(element: &'a Element, found: &mut Vec<(&'a Element, usize)>) {
    // No sensor acts, be it a plugin.
    if element.tag == "sensor" {
        return;
    }
    let parent = match element.tag.as_str() {
        "worldbody" | "frame" => "body",
        tag => tag,
    };
    let Some((_, listed)) = KNOWN.iter().find(|(name, _)| *name == parent) else {
        // Whatever is inside an element without a list of its own is part of it, but for plugins.
        for child in element
            .children
            .iter()
            .filter(|child| child.tag == "plugin")
        {
            found.push((child, 1));
        }
        return;
    };
    for child in &element.children {
        let tag = child.tag.as_str();
        // Defaults are given for actuators too.
        let of_actuators = parent == "default" && KINDS.contains(&tag);
        if of_actuators || listed.contains(&tag) {
            count_unknown(child, found);
            continue;
        }
        match found.iter_mut().find(|(first, _)| first.tag == tag) {
            Some((_, count)) => *count += 1,
            None => found.push((child, 1)),
        }
    }
}
