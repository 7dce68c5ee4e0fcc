//! MJCF: bodies, joints, inertias given or from geoms, outsides, limits, equality constraints.
//!
//! Default classes and angle units are resolved by `mjcf-rs`; places for messages come from the XML.

use std::path::Path;

use glam::{DMat3, DVec3};
use mjcf_rs::body::{Body, GeomType, InertiaSpec, Joint, JointType};
use mjcf_rs::compiler::InertiaFromGeom;
use mjcf_rs::types::Tristate;
use mjcf_rs::{Model, ParseError};
use roxmltree::{Node, NodeId};

use super::xml::Source;
use super::{ImportError, ImportFault, RobotFile, Warning, checks, geom as geoms, tree_fault};
use crate::collide::Shape;
use crate::index::LinkId;
use crate::tree::spatial::Pose;
use crate::tree::{Link, MassProperties, Tree, TreeJoint};
use crate::world::{JointModel, RobotModel, ShapeModel};

pub(super) fn read(
    source: &Source<'_>,
    text: &str,
    folder: Option<&Path>,
) -> Result<RobotFile, ImportError> {
    checks::check(source)?;
    let model = Model::from_str(text, folder.unwrap_or(Path::new("")))
        .map_err(|error| parse_fault(source, &error))?;
    let mut robot = Reader {
        source,
        model: &model,
        elements: body_elements(source, &model),
        links: Vec::new(),
        owners: Vec::new(),
        joints: Vec::new(),
        seats: vec![(None, Pose::IDENTITY)],
        warnings: checks::unused_elements(source),
    };
    robot.warnings.extend(checks::unused_attributes(source));
    for id in 1..model.bodies.len() {
        robot.add_body(id)?;
    }
    robot.add_actuators()?;
    let shapes = robot.outsides(folder)?;
    robot.finish(shapes)
}

/// The element of every body: known where the file has as many as the model.
fn body_elements(source: &Source<'_>, model: &Model) -> Vec<NodeId> {
    let bodies = source.root().descendants();
    let found: Vec<NodeId> = bodies
        .filter(|n| n.has_tag_name("body"))
        .map(|n| n.id())
        .collect();
    if found.len() + 1 == model.bodies.len() {
        found
    } else {
        Vec::new()
    }
}

/// An error of the parser at the first element it can mean.
fn parse_fault(source: &Source<'_>, error: &ParseError) -> ImportError {
    let (tag, attribute) = match error {
        ParseError::BadAttribute { tag, attr, .. }
        | ParseError::BadAttributeValue { tag, attr, .. } => (tag.as_str(), attr.as_str()),
        ParseError::UnknownClass { tag, .. } => (tag.as_str(), "class"),
        ParseError::BadInclude { .. } | ParseError::Io { .. } => ("include", "file"),
        _ => ("mujoco", "model"),
    };
    let value = match error {
        ParseError::BadAttributeValue { value, .. } => Some(value.as_str()),
        ParseError::UnknownClass { class, .. } => Some(class.as_str()),
        _ => None,
    };
    let means = |n: &Node<'_, '_>| {
        let found = n.attribute(attribute);
        n.has_tag_name(tag) && found.is_some() && (value.is_none() || found == value)
    };
    let node = source.root().descendants().find(means);
    source.fault(node.unwrap_or_else(|| source.root()), error.to_string())
}

pub(super) struct Reader<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) model: &'a Model,
    elements: Vec<NodeId>,
    pub(super) links: Vec<Link>,
    /// The body each link was made for.
    owners: Vec<usize>,
    /// Joints by their place in the model: body and index.
    pub(super) joints: Vec<(usize, usize, JointModel)>,
    /// Where each body sits: its link, and its frame in that of the link.
    pub(super) seats: Vec<(Option<LinkId>, Pose)>,
    pub(super) warnings: Vec<Warning>,
}

/// Limits and friction of a joint. The file counts from `ref`, the tree from the configuration of the file.
fn joint_model(joint: &Joint, name: String, link: LinkId, autolimits: bool) -> JointModel {
    let limited = joint.limited.resolve(autolimits, joint.range.is_some());
    let range = joint.range.filter(|[lo, hi]| limited && lo < hi);
    JointModel {
        name,
        link,
        range: range.map(|[lo, hi]| [lo - joint.ref_, hi - joint.ref_]),
        effort: None,
        speed: None,
        friction: joint.frictionloss,
        servo: None,
    }
}

impl Reader<'_> {
    fn element(&self, body: usize) -> Node<'_, '_> {
        let id = body.checked_sub(1).and_then(|i| self.elements.get(i));
        let node = id.and_then(|id| self.source.document.get_node(*id));
        node.unwrap_or_else(|| self.source.root())
    }

    fn fault(&self, body: usize, what: impl Into<ImportFault>) -> ImportError {
        self.source.fault(self.element(body), what)
    }

    /// Says it where it is met first.
    pub(super) fn warn(&mut self, body: usize, text: String) {
        if self.warnings.iter().all(|warning| warning.text != text) {
            let line = self.source.line(self.element(body));
            self.warnings.push(Warning { line, text });
        }
    }

    /// Where the body that carries this one sits.
    fn carrier(
        &self,
        id: usize,
        parent: Option<usize>,
    ) -> Result<(Option<LinkId>, Pose), ImportError> {
        let Some(parent) = parent else {
            return Ok((None, Pose::IDENTITY));
        };
        let seat = self.seats.get(parent).copied();
        seat.ok_or_else(|| {
            self.fault(
                id,
                "it stands before the body that carries it; exchange them",
            )
        })
    }

    /// One link for each joint of the body, massless but for the last; a fixed link where it has none.
    fn add_body(&mut self, id: usize) -> Result<(), ImportError> {
        let entry = &self.model.bodies[id];
        let body = &entry.body;
        let (mut carrier, seat) = self.carrier(id, entry.parent)?;
        let mut gap = seat.then(&Pose::new(body.pose.translation, body.pose.rotation));
        let name = body.name.clone().unwrap_or_default();
        let mass = self.mass_of(id, body)?;
        if body.joints.is_empty() {
            let link = Link::new(carrier, TreeJoint::Fixed, gap, mass).named(name);
            let link = self.push(link, id);
            self.seats.push((Some(link), Pose::IDENTITY));
            return Ok(());
        }
        self.check_joints(id, entry.parent, body)?;
        let mut bodies = self.model.bodies.iter();
        if mass.mass == 0.0 && bodies.all(|other| other.parent != Some(id)) {
            self.warn(id, format!("body \"{name}\" moves but has no mass"));
        }
        for (k, joint) in body.joints.iter().enumerate() {
            let axis = DVec3::from(joint.axis);
            let (kind, anchor) = match joint.type_ {
                JointType::Hinge => (TreeJoint::Revolute { axis }, DVec3::from(joint.pos)),
                JointType::Slide => (TreeJoint::Prismatic { axis }, DVec3::from(joint.pos)),
                JointType::Ball => (TreeJoint::Ball, DVec3::from(joint.pos)),
                JointType::Free => (TreeJoint::Floating, DVec3::ZERO),
            };
            let last = k + 1 == body.joints.len();
            let mut link = Link::new(
                carrier,
                kind,
                gap.then(&Pose::at(anchor)),
                MassProperties::NONE,
            );
            link.damping = joint.damping;
            if kind == TreeJoint::Floating && joint.armature != 0.0 {
                let text = format!("armature {} of a free joint is not used", joint.armature);
                self.warn(id, text);
            } else {
                link.armature = joint.armature;
            }
            if last {
                link.body = MassProperties {
                    com: mass.com - anchor,
                    ..mass
                };
            }
            let own = joint.name.clone().unwrap_or_default();
            link.name = if last {
                name.clone()
            } else {
                format!("{name}/{own}")
            };
            let number = self.push(link, id);
            let joint = joint_model(joint, own, number, self.model.compiler.autolimits);
            self.joints.push((id, k, joint));
            carrier = Some(number);
            gap = Pose::at(-anchor);
        }
        self.seats.push((carrier, gap));
        Ok(())
    }

    /// What the parser lets pass about joints.
    fn check_joints(
        &self,
        id: usize,
        parent: Option<usize>,
        body: &Body,
    ) -> Result<(), ImportError> {
        for joint in &body.joints {
            let name = joint.name.as_deref().unwrap_or_default();
            let free = joint.type_ == JointType::Free;
            if free && 1 < body.joints.len() {
                return Err(self.fault(id, "a free joint must be the only joint of its body"));
            }
            if free && parent != Some(0) {
                return Err(self.fault(id, "only a body of the world can have a free joint"));
            }
            let fault = match (joint.limited, joint.range) {
                (_, Some([lo, hi])) if hi < lo => {
                    format!("range {lo} {hi} of joint \"{name}\" excludes every position")
                }
                (Tristate::True, None) => {
                    format!("joint \"{name}\" is limited, but no range is given")
                }
                (Tristate::Auto, Some(_)) if !self.model.compiler.autolimits => format!(
                    "joint \"{name}\" has a range; without autolimits, limited must say whether it holds"
                ),
                _ => continue,
            };
            return Err(self.fault(id, fault));
        }
        Ok(())
    }

    fn push(&mut self, link: Link, body: usize) -> LinkId {
        self.links.push(link);
        self.owners.push(body);
        LinkId(self.links.len() as u32 - 1)
    }

    /// As `<inertial>` says, or from the geoms.
    fn mass_of(&mut self, id: usize, body: &Body) -> Result<MassProperties, ImportError> {
        let rule = self.model.compiler.inertia_from_geom;
        if let (Some(inertial), true) = (&body.inertial, rule != InertiaFromGeom::True) {
            let pose = Pose::new(inertial.pose.translation, inertial.pose.rotation);
            let local = match inertial.inertia {
                InertiaSpec::Diagonal(d) => DMat3::from_diagonal(DVec3::from(d)),
                InertiaSpec::Full([xx, yy, zz, xy, xz, yz]) => DMat3::from_cols(
                    DVec3::new(xx, xy, xz),
                    DVec3::new(xy, yy, yz),
                    DVec3::new(xz, yz, zz),
                ),
            };
            let inertia = pose.rotation * local * pose.rotation.transpose();
            return Ok(MassProperties {
                mass: inertial.mass,
                com: pose.position,
                inertia: 0.5 * (inertia + inertia.transpose()),
            });
        }
        if rule == InertiaFromGeom::False {
            return Ok(MassProperties::NONE);
        }
        let mut parts = Vec::new();
        for geom in &body.geoms {
            match geoms::of_geom(geom, self.model.compiler.inertia_density) {
                Some(part) if part.mass < 0.0 => {
                    let what = format!("a geom has mass {}; it must not be negative", part.mass);
                    return Err(self.fault(id, what));
                }
                Some(part) => parts.push(part),
                None if matches!(geom.type_, GeomType::Mesh | GeomType::Sdf) => {
                    let text = "the mass of a mesh is not computed; give the body an <inertial>";
                    self.warn(id, text.to_owned());
                }
                None => {}
            }
        }
        Ok(geoms::sum(&parts))
    }

    /// The shapes of all bodies, the ground first.
    fn outsides(&mut self, folder: Option<&Path>) -> Result<Vec<ShapeModel>, ImportError> {
        let model = self.model;
        let mut entries = Vec::new();
        for (id, (entry, &(link, seat))) in model.bodies.iter().zip(&self.seats.clone()).enumerate()
        {
            for geom in &entry.body.geoms {
                if let Some(what) = geoms::fault(geom, model) {
                    return Err(self.fault(id, what));
                }
                if let Some(file) = geoms::missing(geom, model, folder) {
                    let names = |n: &Node<'_, '_>| n.attribute("file") == Some(file);
                    let mut elements = self.source.root().descendants();
                    let element = elements.find(names).unwrap_or_else(|| self.element(id));
                    let what = format!("the mesh {file} does not exist");
                    return Err(self.source.fault(element, what));
                }
                let (found, remark) = geoms::outside(geom, model, folder);
                if let Some(text) = remark {
                    self.warn(id, text);
                }
                let Some((pose, shape)) = found else {
                    continue;
                };
                if shape == Shape::HalfSpace && link.is_some() {
                    self.warn(
                        id,
                        "a plane that is not part of the world is left out".to_owned(),
                    );
                    continue;
                }
                entries.push(ShapeModel {
                    link,
                    pose: seat.then(&pose),
                    shape,
                    surface: geoms::surface(geom),
                });
            }
        }
        Ok(entries)
    }

    fn finish(mut self, shapes: Vec<ShapeModel>) -> Result<RobotFile, ImportError> {
        let option = self
            .source
            .root()
            .children()
            .find(|n| n.has_tag_name("option"));
        if let Some(option) = option {
            let others: Vec<&str> = option
                .attributes()
                .map(|a| a.name())
                .filter(|name| *name != "gravity")
                .collect();
            if !others.is_empty() {
                let line = self.source.line(option);
                let text = format!("<option {}>: is not used", others.join(" "));
                self.warnings.push(Warning { line, text });
            }
        }
        let compiler = &self.model.compiler;
        for (what, given) in [
            ("settotalmass", 0.0 < compiler.set_total_mass),
            ("boundmass", 0.0 < compiler.bound_mass),
            ("boundinertia", 0.0 < compiler.bound_inertia),
            ("balanceinertia", compiler.balance_inertia),
        ] {
            if given {
                self.warn(0, format!("<compiler {what}> is not used"));
            }
        }
        let links = std::mem::take(&mut self.links);
        let tree = Tree::new(links).map_err(|error| {
            tree_fault(self.source, error, |link| {
                let body = self.owners.get(link.index())?;
                self.elements.get(body.checked_sub(1)?).copied()
            })
        })?;
        let mut closures = Vec::new();
        for equality in &self.model.equality {
            closures.extend(self.closure(&tree, equality)?);
        }
        let robot = RobotModel {
            name: self.model.name.clone().unwrap_or_default(),
            tree,
            joints: self.joints.into_iter().map(|(_, _, joint)| joint).collect(),
            closures,
            shapes,
            gravity: Some(DVec3::from(self.model.option.gravity)),
        };
        Ok(RobotFile {
            robot,
            format: "mjcf",
            warnings: self.warnings,
        })
    }
}
