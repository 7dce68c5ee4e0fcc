//! Bodies: one link for each joint, massless but for the last; a fixed link where there is none.

use glam::DVec3;

use super::super::ImportError;
use super::Reader;
use super::element::{Element, View};
use super::geom::{Files, Geom};
use super::joint::{Joint, JointType};
use super::pose::pose;
use crate::index::LinkId;
use crate::tree::spatial::Pose;
use crate::tree::{Link, MassProperties, TreeJoint};

/// Where a body sits: its link, and its frame in that of the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat<'a> {
    pub(super) name: &'a str,
    pub(super) link: Option<LinkId>,
    pub(super) frame: Pose,
    /// Whether a joint stands between it and the world.
    pub(super) moves: bool,
}

impl Seat<'_> {
    /// The world itself.
    pub(super) const WORLD: Seat<'static> = Seat {
        name: "world",
        link: None,
        frame: Pose::IDENTITY,
        moves: false,
    };
}

/// A child of a body, frames resolved: its element, its frame in the body, the class for it.
type Part<'a> = (&'a Element, Pose, Option<usize>);

impl<'a> Reader<'a> {
    /// Everything in the world.
    pub(super) fn add_world(&mut self) -> Result<(), ImportError> {
        let mut parts = Vec::new();
        for section in self.root.all("worldbody") {
            let class = self.defaults.childclass(section)?;
            self.collect(section, (Pose::IDENTITY, class), &mut parts)?;
        }
        for &(element, frame, class) in &parts {
            match element.tag.as_str() {
                "geom" => self.add_geom(0, (element, frame, class))?,
                "site" => self.add_site(0, (element, frame, class))?,
                "joint" | "freejoint" => {
                    return Err(element.fault("the world cannot move; put the joint into a body"));
                }
                _ => {}
            }
        }
        for part in parts.into_iter().filter(|(e, ..)| e.tag == "body") {
            self.add_body(0, part)?;
        }
        Ok(())
    }

    /// The children of a body with those of its frames, in the order of the file.
    fn collect(
        &self,
        element: &'a Element,
        (frame, class): (Pose, Option<usize>),
        parts: &mut Vec<Part<'a>>,
    ) -> Result<(), ImportError> {
        for child in &element.children {
            if child.tag != "frame" {
                parts.push((child, frame, class));
                continue;
            }
            let own = pose(&View::plain(child), self.compiler(child))?;
            let class = self.defaults.childclass(child)?.or(class);
            self.collect(child, (frame.then(&own), class), parts)?;
        }
        Ok(())
    }

    fn add_geom(
        &mut self,
        body: usize,
        (element, frame, class): Part<'a>,
    ) -> Result<(), ImportError> {
        let view = self.defaults.view(element, &["geom"], class)?;
        let compiler = self.compiler(element);
        let mut files = Files {
            assets: &mut self.assets,
            folder: self.folder,
        };
        let geom = Geom::read(view, &frame, compiler, &mut files)?;
        self.geoms.push((body, geom));
        Ok(())
    }

    fn add_site(
        &mut self,
        body: usize,
        (element, frame, class): Part<'a>,
    ) -> Result<(), ImportError> {
        let view = self.defaults.view(element, &["site"], class)?;
        let own = match view.exactly::<6>("fromto")? {
            Some([a, b, c, d, e, f]) => {
                let (from, to) = (DVec3::new(a, b, c), DVec3::new(d, e, f));
                let turn = (from - to).try_normalize().map(super::pose::from_z);
                Pose::new(0.5 * (from + to), turn.unwrap_or_default())
            }
            None => pose(&view, self.compiler(element))?,
        };
        if let Some(name) = element.attribute("name") {
            self.sites.insert(name, (body, frame.then(&own)));
        }
        Ok(())
    }

    /// A body with everything on it, in a frame of its parent.
    fn add_body(
        &mut self,
        parent: usize,
        (element, frame, class): Part<'a>,
    ) -> Result<(), ImportError> {
        let id = self.seats.len();
        let class = self.defaults.childclass(element)?.or(class);
        let seat = self.seats[parent];
        let place = pose(&View::plain(element), self.compiler(element))?;
        let gap = seat.frame.then(&frame).then(&place);
        let mut parts = Vec::new();
        self.collect(element, (Pose::IDENTITY, class), &mut parts)?;
        // Known before its geoms are, which refer to it.
        self.seats.push(Seat {
            name: element.name(),
            ..seat
        });
        let (mut inertial, mut joints) = (None, Vec::new());
        for &part in &parts {
            let (child, frame, class) = part;
            match child.tag.as_str() {
                "geom" => self.add_geom(id, part)?,
                "site" => self.add_site(id, part)?,
                "inertial" if inertial.is_some() => {
                    return Err(child.fault("its body has another; leave one"));
                }
                "inertial" => inertial = Some((child, frame)),
                "joint" => {
                    let view = self.defaults.view(child, &["joint"], class)?;
                    self.lose_curves(&view)?;
                    let mut joint = Joint::read(view, &frame, self.compiler(child))?;
                    if joint.damping < 0.0 {
                        let text = format!(
                            "joint \"{}\" is driven on by its damping of {}; none is taken",
                            child.name(),
                            joint.damping
                        );
                        self.note(child, text);
                        joint.damping = 0.0;
                    }
                    joints.push(joint);
                }
                "freejoint" => joints.push(Joint::free(child)),
                _ => {}
            }
        }
        let mass = self.mass_of(id, element, inertial)?;
        let bodies = parts.into_iter().filter(|(e, ..)| e.tag == "body");
        let bodies: Vec<Part<'a>> = bodies.collect();
        check_joints(element, parent, &joints)?;
        if !joints.is_empty() && mass.mass == 0.0 && bodies.is_empty() {
            let text = format!("body \"{}\" moves but has no mass", element.name());
            self.note(element, text);
        }
        self.add_links((id, element), (seat.link, gap), (joints, mass));
        if seat.moves {
            self.seats[id].moves = true;
        }
        let relief = View::plain(element).number("gravcomp", 0.0)?;
        // Without springs and dampers MuJoCo leaves out all forces of its kind.
        let held = ["spring", "damper"]
            .iter()
            .any(|flag| !self.options.is_off(flag));
        if let (Some(link), true) = (self.seats[id].link, held && relief != 0.0) {
            self.gravcomp.push((link, relief));
        }
        for part in bodies {
            self.add_body(id, part)?;
        }
        Ok(())
    }

    /// The links of a body, which carries on from a link and a frame on it.
    fn add_links(
        &mut self,
        (id, element): (usize, &'a Element),
        (mut carrier, mut gap): (Option<LinkId>, Pose),
        (joints, mass): (Vec<Joint<'a>>, MassProperties),
    ) {
        let name = element.name();
        if joints.is_empty() {
            let link = Link::new(carrier, TreeJoint::Fixed, gap, mass).named(name);
            let link = self.push(link, element);
            self.seats[id].link = Some(link);
            self.seats[id].frame = Pose::IDENTITY;
            return;
        }
        let count = joints.len();
        for (k, mut joint) in joints.into_iter().enumerate() {
            let last = k + 1 == count;
            let anchor = joint.anchor;
            let place = gap.then(&Pose::at(anchor));
            let mut link = Link::new(carrier, joint.kind.tree(), place, MassProperties::NONE);
            link.damping = if self.options.is_off("damper") {
                0.0
            } else {
                joint.damping
            };
            link.armature = joint.armature;
            if joint.kind == JointType::Free && joint.model.stiffness != 0.0 {
                let what = format!("stiffness {} of a free joint", joint.model.stiffness);
                self.lose(joint.view.element, what);
                joint.model.stiffness = 0.0;
            }
            if last {
                link.body = MassProperties {
                    com: mass.com - anchor,
                    ..mass
                };
            }
            link.name = if last {
                name.to_owned()
            } else {
                format!("{name}/{}", joint.model.name)
            };
            let number = self.push(link, element);
            joint.model.link = number;
            self.joints.push(joint);
            carrier = Some(number);
            gap = Pose::at(-anchor);
        }
        self.seats[id].link = carrier;
        self.seats[id].frame = gap;
        self.seats[id].moves = true;
    }

    fn push(&mut self, link: Link, owner: &'a Element) -> LinkId {
        self.links.push(link);
        self.owners.push(owner);
        LinkId(self.links.len() as u32 - 1)
    }
}

/// What MuJoCo does not let pass about the joints of a body.
fn check_joints(body: &Element, parent: usize, joints: &[Joint<'_>]) -> Result<(), ImportError> {
    let Some(free) = joints.iter().find(|joint| joint.kind == JointType::Free) else {
        return Ok(());
    };
    if 1 < joints.len() {
        let what = "a free joint must be the only joint of its body";
        return Err(free.view.element.fault(what));
    }
    if parent != 0 {
        return Err(body.fault("only a body of the world can have a free joint"));
    }
    Ok(())
}
