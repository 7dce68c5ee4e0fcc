//! What actuators act on besides joints and tendons that are there already: slider-cranks, sites, and paths for muscles.

use glam::DVec3;

use super::super::ImportError;
use super::Reader;
use super::element::View;
use super::equality::frame;
use super::joint::{Joint, JointType};
use crate::tree::spatial::Pose;
use crate::tree::{Tree, TreeRows};
use crate::world::{Anchor, Mount, Muscle, Posed, Tendon, Transmission};

/// The curves of a muscle as a file gives them: range, force, scale, lmin, lmax, vmax, fpmax, fvmax.
pub(super) type Curves = [f64; 9];

/// Curves where nothing is said.
pub(super) const CURVES: Curves = [0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2];

/// What an actuator acts on.
pub(super) enum Acted {
    /// A joint, by its place in the list.
    Joint(usize),
    /// A tendon, by its place in the list.
    Tendon(usize),
    /// A path of its own, gear included.
    Path(Box<Tendon>),
    /// Something that is not simulated.
    Nothing,
}

impl<'a> Reader<'a> {
    /// What an actuator acts on.
    pub(super) fn acted(&self, view: &View<'a>, tendons: &[Tendon]) -> Result<Acted, ImportError> {
        let element = view.element;
        let of_joint = ["joint", "jointinparent"]
            .into_iter()
            .find_map(|name| element.attribute(name));
        if let Some(name) = of_joint {
            let found = self.joints.iter().position(|j| j.model.name == name);
            let joint = found.map(Acted::Joint);
            return joint.ok_or_else(|| element.fault(format!("joint \"{name}\" does not exist")));
        }
        if let Some(name) = element.attribute("tendon") {
            let found = tendons.iter().position(|t| t.name == name);
            let tendon = found.map(Acted::Tendon);
            return tendon
                .ok_or_else(|| element.fault(format!("tendon \"{name}\" does not exist")));
        }
        let path = self.own_path(view)?;
        Ok(path.map_or(Acted::Nothing, |path| Acted::Path(Box::new(path))))
    }

    /// The range that a joint or tendon is given, whether it holds or not.
    pub(super) fn inherited(
        &self,
        acted: &Acted,
        tendons: &[Tendon],
    ) -> Result<Option<[f64; 2]>, ImportError> {
        let range = match acted {
            Acted::Joint(j) => {
                let (view, kind) = (&self.joints[*j].view, self.joints[*j].kind);
                let compiler = self.compiler(view.element);
                let given = view.exactly::<2>("range")?;
                given.map(|range| match kind {
                    JointType::Slide(_) => range,
                    _ => range.map(|x| compiler.radians(x)),
                })
            }
            Acted::Tendon(t) => {
                let name = &tendons[*t].name;
                let mut all = self.root.section("tendon");
                match all.find(|element| element.name() == name) {
                    None => None,
                    Some(element) => {
                        let view = self.defaults.view(element, &["tendon"], None)?;
                        view.exactly::<2>("range")?
                    }
                }
            }
            _ => None,
        };
        Ok(range.filter(|[lo, hi]| lo < hi))
    }

    /// Whether the length of what it acts on is always zero, so that springs never pull.
    pub(super) fn has_no_length(&self, acted: &Acted) -> bool {
        match acted {
            Acted::Path(path) => matches!(path.transmission, Some(Transmission::Thrust { .. })),
            Acted::Joint(j) => self.joints[*j].kind == JointType::Free,
            _ => false,
        }
    }

    /// What an actuator of a ball or free joint pushes; none where a free joint is pushed and turned in axes of two
    /// bodies, the world's and its own.
    fn turning(
        &self,
        tree: &Tree,
        view: &View<'a>,
        joint: &Joint<'_>,
    ) -> Result<Option<Transmission>, ImportError> {
        let gear = view.padded("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?;
        let in_parent = view.element.attribute("jointinparent").is_some();
        let [first, second] = [[0, 1, 2], [3, 4, 5]].map(|k| DVec3::from(k.map(|k| gear[k])));
        let own = |link| Mount {
            link,
            frame: Pose::IDENTITY,
        };
        let child = own(Some(joint.model.link));
        if joint.kind == JointType::Free {
            if second != DVec3::ZERO && !in_parent {
                let only = first == DVec3::ZERO;
                return Ok(only.then_some(Transmission::Thrust {
                    site: child,
                    force: first,
                    torque: second,
                }));
            }
            let (reference, shift, turn) = (own(None), first, second);
            return Ok(Some(Transmission::Relative {
                site: child,
                reference,
                shift,
                turn,
            }));
        }
        // The axes of the child where the joint is not turned, on the link that carries it.
        let parent = tree.links()[joint.model.link.index()].parent;
        let link_frame = |link| frame(tree, link);
        let carrier = Mount {
            link: parent,
            frame: link_frame(parent).inverse().then(&link_frame(child.link)),
        };
        // Seen from the child the parent turns the other way.
        let (site, reference, turn) = match in_parent {
            true => (child, carrier, first),
            false => (carrier, child, -first),
        };
        let shift = DVec3::ZERO;
        Ok(Some(Transmission::Relative {
            site,
            reference,
            shift,
            turn,
        }))
    }

    /// The path of an actuator with its gear; none where it has none that is simulated.
    pub(super) fn path(
        &self,
        tree: &Tree,
        view: &View<'a>,
        acted: &Acted,
        tendons: &[Tendon],
    ) -> Result<Option<Tendon>, ImportError> {
        let gear = view.padded("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?[0];
        let geared = match acted {
            Acted::Joint(j) => {
                let joint = &self.joints[*j];
                let single = Tendon {
                    terms: vec![(joint.model.link, 1.0)],
                    offset: joint.reference,
                    ..Tendon::default()
                };
                if joint.is_single() {
                    Some(single.geared(gear))
                } else {
                    let transmission = self.turning(tree, view, joint)?;
                    let turned = Tendon {
                        transmission,
                        ..Tendon::default()
                    };
                    turned.transmission.is_some().then_some(turned)
                }
            }
            Acted::Tendon(t) => Some(tendons[*t].geared(gear)),
            Acted::Path(path) => Some((**path).clone()),
            Acted::Nothing => None,
        };
        let named = |path| Tendon {
            name: view.element.name().to_owned(),
            ..path
        };
        Ok(geared.map(named))
    }

    /// A path of an actuator's own, gear included; none where it acts on a joint, a tendon or a body.
    fn own_path(&self, view: &View<'a>) -> Result<Option<Tendon>, ImportError> {
        let element = view.element;
        let gear = view.padded("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?;
        let mount = |attribute: &str| {
            let (link, frame) = self.site(element, attribute)?;
            Ok::<_, ImportError>(Mount { link, frame })
        };
        let [shift, turn] = [[0, 1, 2], [3, 4, 5]].map(|k| DVec3::from(k.map(|k| gear[k])));
        let transmission = if element.attribute("cranksite").is_some() {
            let (crank, slider) = (mount("cranksite")?, mount("slidersite")?);
            let rod = view.number("cranklength", 0.0)?;
            if !(0.0 < rod) {
                let what = format!("cranklength {rod} must be positive");
                return Err(element.fault(what));
            }
            Transmission::Crank {
                crank: Anchor {
                    link: crank.link,
                    point: crank.frame.position,
                },
                slider,
                rod,
                gear: gear[0],
            }
        } else if element.attribute("site").is_none() {
            return Ok(None);
        } else if element.attribute("refsite").is_some() {
            Transmission::Relative {
                site: mount("site")?,
                reference: mount("refsite")?,
                shift,
                turn,
            }
        } else {
            Transmission::Thrust {
                site: mount("site")?,
                force: shift,
                torque: turn,
            }
        };
        Ok(Some(Tendon {
            name: element.name().to_owned(),
            transmission: Some(transmission),
            ..Tendon::default()
        }))
    }

    /// The moments J of a path in the configuration of the file, one for each velocity, and M⁻¹Jᵀ.
    pub(super) fn response(
        &self,
        tree: &Tree,
        view: &View<'a>,
        path: &Tendon,
    ) -> Result<(Vec<f64>, Vec<f64>), ImportError> {
        let (data, q) = (&tree.data(), &tree.neutral()[..]);
        let mut rows = TreeRows::default();
        let measured = path.measure(Posed { tree, data, q }, &mut rows);
        measured.map_err(|error| view.element.fault(error))?;
        let moments = tree.rows_matrix(data, &rows);
        let mut response = moments.clone();
        let solved = tree.solve(&mut tree.data(), &mut response);
        solved.map_err(|error| view.element.fault(error))?;
        Ok((moments, response))
    }

    /// A muscle along a path with the activation that it has at rest, or why it cannot be simulated.
    pub(super) fn muscle(
        &self,
        tree: &Tree,
        view: &View<'a>,
        path: &Tendon,
        curves: Curves,
    ) -> Result<Result<Muscle, &'static str>, ImportError> {
        let [
            r0,
            r1,
            force,
            scale,
            shortest,
            longest,
            speed,
            passive,
            stretching,
        ] = curves;
        let lengths = match view.exactly::<2>("lengthrange")? {
            Some(lengths) => lengths,
            None => match self.length_range(tree, view, path)? {
                Ok(lengths) => lengths,
                Err(why) => return Ok(Err(why)),
            },
        };
        if !(lengths[0] < lengths[1]) || !(r0 < r1) {
            let what = "lengthrange and range of a muscle must be in order";
            return Err(view.element.fault(what));
        }
        let force = if force < 0.0 {
            // F₀ = scale/|M⁻¹Jᵀ|: as strong as the inertia that it moves.
            let (_, moved) = self.response(tree, view, path)?;
            scale / crate::math::dot(&moved, &moved).sqrt().max(1e-15)
        } else {
            force
        };
        Ok(Ok(Muscle {
            lengths,
            range: [r0, r1],
            force,
            shortest,
            longest,
            speed,
            passive,
            stretching,
            activation: 0.0,
            bounds: [-super::pull::UNBOUNDED, super::pull::UNBOUNDED],
        }))
    }
}
