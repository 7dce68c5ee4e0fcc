//! `equality`: points, poses and coordinates that agree, as loops to close.

use glam::DVec3;

use super::super::ImportError;
use super::Reader;
use super::element::{Element, View};
use super::joint::quaternion;
use super::pose::unit;
use crate::index::LinkId;
use crate::tree::Tree;
use crate::tree::spatial::Pose;
use crate::world::{Anchor, Closure, ClosureKind, Tendon};

/// A link and a frame on it.
type Place = (Option<LinkId>, Pose);

impl<'a> Reader<'a> {
    /// Loops that the file closes.
    pub(super) fn closures(
        &mut self,
        tree: &Tree,
        tendons: &[Tendon],
    ) -> Result<Vec<Closure>, ImportError> {
        let mut closures = Vec::new();
        if self.options.is_off("equality") {
            return Ok(closures);
        }
        let root = self.root;
        for element in root.section("equality") {
            let view = self.defaults.view(element, &["equality"], None)?;
            let name = element.name().to_owned();
            let kind = match element.tag.as_str() {
                "connect" => self.connect(tree, element)?,
                "weld" => self.weld(tree, element)?,
                "joint" => self.joints_agree(element)?,
                "tendon" => match self.tendons_agree(element, tendons)? {
                    Some(kind) => kind,
                    None if view.flag("active", true)? => {
                        self.lose(element, "an equality of spatial tendons".to_owned());
                        continue;
                    }
                    None => continue,
                },
                _ => continue,
            };
            if !view.flag("active", true)? {
                self.note(
                    element,
                    format!("equality \"{name}\" is inactive and left out"),
                );
                continue;
            }
            closures.push(Closure { name, kind });
        }
        Ok(closures)
    }

    /// Link and frame of a body of an equality; no name is the world.
    fn place(&self, element: &Element, attribute: &str) -> Result<Place, ImportError> {
        let Some(name) = element.attribute(attribute) else {
            return Ok((None, Pose::IDENTITY));
        };
        let seat = self.body(name).map(|seat| (seat.link, seat.frame));
        seat.ok_or_else(|| element.fault(format!("body \"{name}\" does not exist")))
    }

    /// Link and frame of a site.
    pub(super) fn site(&self, element: &Element, attribute: &str) -> Result<Place, ImportError> {
        let name = element.text(attribute)?;
        let Some(&(body, pose)) = self.sites.get(name) else {
            return Err(element.fault(format!("site \"{name}\" does not exist")));
        };
        let seat = self.seats[body];
        Ok((seat.link, seat.frame.then(&pose)))
    }

    fn connect(&self, tree: &Tree, element: &Element) -> Result<ClosureKind, ImportError> {
        if element.attribute("site1").is_some() {
            let anchor = |attribute: &str| {
                let (link, frame) = self.site(element, attribute)?;
                let point = frame.position;
                Ok::<_, ImportError>(Anchor { link, point })
            };
            let (a, b) = (anchor("site1")?, anchor("site2")?);
            return Ok(ClosureKind::Connect { a, b });
        }
        element.text("body1")?;
        let (a, seat) = self.place(element, "body1")?;
        let (b, _) = self.place(element, "body2")?;
        let anchor = View::plain(element).vector("anchor", DVec3::ZERO)?;
        let point = seat.point(anchor);
        // The points coincide in the configuration of the file.
        let other = frame(tree, b).inverse().point(frame(tree, a).point(point));
        Ok(ClosureKind::Connect {
            a: Anchor { link: a, point },
            b: Anchor {
                link: b,
                point: other,
            },
        })
    }

    fn weld(&self, tree: &Tree, element: &Element) -> Result<ClosureKind, ImportError> {
        if element.attribute("site1").is_some() {
            let (a, first) = self.site(element, "site1")?;
            let (b, second) = self.site(element, "site2")?;
            let relative = first.then(&second.inverse());
            return Ok(ClosureKind::Weld { a, b, relative });
        }
        element.text("body1")?;
        let (a, seat_a) = self.place(element, "body1")?;
        let (b, seat_b) = self.place(element, "body2")?;
        // A turn of zero length stands for the configuration of the file.
        let given = element.exactly::<7>("relpose")?;
        let given = given.and_then(|[x, y, z, w, i, j, k]| {
            let turn = unit(quaternion([w, i, j, k]))?;
            Some(Pose::new(DVec3::new(x, y, z), turn))
        });
        let relative = match given {
            // Given between the bodies: taken to the frames of their links.
            Some(pose) => seat_a.then(&pose).then(&seat_b.inverse()),
            None => frame(tree, a).inverse().then(&frame(tree, b)),
        };
        Ok(ClosureKind::Weld { a, b, relative })
    }

    /// Lengths of fixed tendons, both counted from the configuration of the file; none for spatial ones.
    fn tendons_agree(
        &self,
        element: &Element,
        tendons: &[Tendon],
    ) -> Result<Option<ClosureKind>, ImportError> {
        let terms = |name: &str| {
            let found = tendons.iter().find(|tendon| tendon.name == name);
            let known = self.root.section("tendon").any(|t| t.name() == name);
            match (found, known) {
                (Some(tendon), _) if tendon.strings.is_empty() => Ok(Some(tendon.terms.clone())),
                (Some(_), _) => Ok(None),
                (None, true) => Ok(None),
                _ => Err(element.fault(format!("tendon \"{name}\" does not exist"))),
            }
        };
        let dependent = terms(element.text("tendon1")?)?;
        let on = element
            .attribute("tendon2")
            .map_or(Ok(Some(Vec::new())), terms)?;
        let line = [0.0, 1.0, 0.0, 0.0, 0.0];
        let coefficients = View::plain(element).padded("polycoef", line)?;
        let (Some(dependent), Some(on)) = (dependent, on) else {
            return Ok(None);
        };
        Ok(Some(ClosureKind::Sums {
            dependent,
            on,
            coefficients,
        }))
    }

    fn joints_agree(&self, element: &Element) -> Result<ClosureKind, ImportError> {
        let carried = |name: &str| {
            let joint = self.joint(name).filter(|joint| joint.is_single());
            joint.map(|joint| joint.model.link).ok_or_else(|| {
                let what = format!("joint \"{name}\" does not exist or has several dofs");
                element.fault(what)
            })
        };
        let dependent = carried(element.text("joint1")?)?;
        let on = element.attribute("joint2").map(carried).transpose()?;
        if on == Some(dependent) {
            return Err(element.fault("a joint cannot follow itself; name another one"));
        }
        let line = [0.0, 1.0, 0.0, 0.0, 0.0];
        let coefficients = View::plain(element).padded("polycoef", line)?;
        Ok(ClosureKind::Joint {
            dependent,
            on,
            coefficients,
        })
    }
}

/// The frame of a link in the configuration of the file.
pub(super) fn frame(tree: &Tree, link: Option<LinkId>) -> Pose {
    let data = tree.data();
    link.map_or(Pose::IDENTITY, |link| {
        tree.pose(&data, link)
            .expect("bodies of the file sit on links of its tree")
    })
}
