//! Tendons: fixed ones are sums of joint displacements, spatial ones strings through sites and around geoms.

use super::super::ImportError;
use super::Reader;
use super::element::{Element, View};
use super::geom::GeomType;
use super::joint::limits;
use crate::tree::{Tree, TreeRows};
use crate::world::{Anchor, Cord, Mount, Posed, Tendon, Waypoint, Wrap, WrapSurface};

impl<'a> Reader<'a> {
    /// The tendons of the file.
    pub(super) fn tendons(&mut self, tree: &Tree) -> Result<Vec<Tendon>, ImportError> {
        let mut tendons = Vec::new();
        let root = self.root;
        for element in root.section("tendon") {
            let view = self.defaults.view(element, &["tendon"], None)?;
            self.lose_curves(&view)?;
            let mut tendon = self.tendon(&view)?;
            match element.tag.as_str() {
                "fixed" => {
                    for term in element.all("joint") {
                        self.add_term(term, &mut tendon)?;
                    }
                }
                "spatial" => self.add_strings(element, &mut tendon)?,
                _ => continue,
            }
            // Where no length is given the spring rests in the configuration of the file.
            if tendon.rest[0] < 0.0 && tendon.rest[1] < 0.0 {
                let (data, q) = (&tree.data(), &tree.neutral()[..]);
                let posed = Posed { tree, data, q };
                let length = tendon.measure(posed, &mut TreeRows::default());
                tendon.rest = [length.map_err(|error| element.fault(error))?; 2];
            }
            tendons.push(tendon);
        }
        Ok(tendons)
    }

    fn tendon(&self, view: &View<'a>) -> Result<Tendon, ImportError> {
        let element = view.element;
        let autolimits = self.compiler(element).autolimits;
        let range = limits(view, ("limited", "range"), autolimits, true)?;
        let first = |name: &str| Ok::<f64, ImportError>(view.padded::<5>(name, [0.0; 5])?[0]);
        let (stiffness, damping) = (first("stiffness")?, first("damping")?);
        let friction = view.number("frictionloss", 0.0)?;
        let armature = view.number("armature", 0.0)?;
        if [stiffness, damping, friction, armature]
            .iter()
            .any(|x| *x < 0.0)
        {
            let what = "stiffness, damping, frictionloss and armature must not be negative";
            return Err(element.fault(what));
        }
        let given = view
            .giver("springlength")
            .map(|e| e.numbers("springlength"));
        let rest = match given.transpose()?.flatten().as_deref() {
            None => [-1.0; 2],
            Some(&[length]) => [length; 2],
            Some(&[lo, hi]) if lo <= hi => [lo, hi],
            Some(_) => return Err(element.fault("springlength is one number, or two in order")),
        };
        let off = |flag: &str, value: f64| {
            if self.options.is_off(flag) {
                0.0
            } else {
                value
            }
        };
        Ok(Tendon {
            name: element.name().to_owned(),
            range: range.filter(|_| !self.options.is_off("limit")),
            stiffness: off("spring", stiffness),
            damping: off("damper", damping),
            rest,
            friction: off("frictionloss", friction),
            armature,
            ..Tendon::default()
        })
    }

    /// One joint with its factor; the file counts from `ref`.
    fn add_term(&self, term: &Element, tendon: &mut Tendon) -> Result<(), ImportError> {
        let name = term.text("joint")?;
        let Some(joint) = self.joint(name).filter(|joint| joint.is_single()) else {
            let what = format!("joint \"{name}\" does not exist or has several dofs");
            return Err(term.fault(what));
        };
        let factor = View::plain(term).number("coef", 1.0)?;
        tendon.offset += factor * joint.reference;
        tendon.terms.push((joint.model.link, factor));
        Ok(())
    }

    /// Strings through sites and around geoms; a pulley begins another one, whose length it divides.
    fn add_strings(&self, element: &Element, tendon: &mut Tendon) -> Result<(), ImportError> {
        let (mut divisor, mut stops) = (1.0, Vec::new());
        let ended = |stops: &[Waypoint], at: &Element| match stops.last() {
            Some(Waypoint::Around(_)) => Err(at.fault("a geom stands between two sites")),
            _ => Ok(()),
        };
        for child in &element.children {
            match child.tag.as_str() {
                "site" => {
                    let (link, frame) = self.site(child, "site")?;
                    let point = frame.position;
                    stops.push(Waypoint::Eye(Anchor { link, point }));
                }
                "geom" => {
                    if !matches!(stops.last(), Some(Waypoint::Eye(_))) {
                        return Err(child.fault("a geom stands between two sites"));
                    }
                    stops.push(Waypoint::Around(self.wrap(child)?));
                }
                "pulley" => {
                    ended(&stops, child)?;
                    let stops = std::mem::take(&mut stops);
                    tendon.strings.push(Cord { divisor, stops });
                    child.text("divisor")?;
                    divisor = View::plain(child).number("divisor", 1.0)?;
                    if !(0.0 < divisor) {
                        return Err(child.fault("divisor must be positive"));
                    }
                }
                _ => {}
            }
        }
        ended(&stops, element)?;
        tendon.strings.push(Cord { divisor, stops });
        tendon.strings.retain(|cord| 1 < cord.stops.len());
        Ok(())
    }

    /// A geom that a string lies on.
    fn wrap(&self, element: &Element) -> Result<Wrap, ImportError> {
        let name = element.text("geom")?;
        let mut geoms = self.geoms.iter();
        let Some((body, geom)) = geoms.find(|(_, geom)| geom.element().name() == name) else {
            return Err(element.fault(format!("geom \"{name}\" does not exist")));
        };
        let surface = match geom.kind {
            GeomType::Sphere => WrapSurface::Sphere,
            GeomType::Cylinder => WrapSurface::Cylinder,
            _ => {
                let what = format!("geom \"{name}\" is neither a sphere nor a cylinder");
                return Err(element.fault(what));
            }
        };
        let side = match element.attribute("sidesite") {
            None => None,
            Some(_) => {
                let (link, frame) = self.site(element, "sidesite")?;
                let point = frame.position;
                Some(Anchor { link, point })
            }
        };
        let seat = self.seats[*body];
        Ok(Wrap {
            on: Mount {
                link: seat.link,
                frame: seat.frame.then(&geom.pose),
            },
            radius: geom.size[0],
            surface,
            side,
        })
    }
}
