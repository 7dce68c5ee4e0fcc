//! The mass of a body: given, or that of its geoms; bounded, balanced and scaled as the compiler is told.

use glam::{DMat3, DVec3};

use super::super::ImportError;
use super::super::solid::sum;
use super::Reader;
use super::compiler::Compiler;
use super::element::{Element, Tristate, View};
use super::geom::Files;
use super::pose::pose;
use crate::linalg::sym3::Sym3;
use crate::tree::MassProperties;
use crate::tree::spatial::Pose;

impl<'a> Reader<'a> {
    /// As `<inertial>` says, or from the geoms.
    pub(super) fn mass_of(
        &mut self,
        body: usize,
        element: &'a Element,
        inertial: Option<(&'a Element, Pose)>,
    ) -> Result<MassProperties, ImportError> {
        let compiler = self.compiler(element);
        let rule = compiler.inertia_from_geom;
        let given = inertial.map(|(e, frame)| explicit(e, &frame, compiler));
        let given = given.transpose()?;
        let from_geoms = match rule {
            Tristate::Yes => true,
            Tristate::Auto => given.is_none(),
            Tristate::No => false,
        };
        let mut parts = Vec::new();
        if from_geoms {
            let [lo, hi] = compiler.groups;
            for (_, geom) in self.geoms.iter().filter(|(owner, _)| *owner == body) {
                if !(lo..=hi).contains(&geom.group) {
                    continue;
                }
                let mut files = Files {
                    assets: &mut self.assets,
                    folder: self.folder,
                };
                parts.extend(geom.mass(compiler, &mut files)?);
            }
        }
        let mass = match given {
            _ if !parts.is_empty() => sum(&parts),
            Some(given) => given,
            // MuJoCo puts a least mass that nothing has a place for at the body's own `pos`, in its own frame.
            None if 0.0 < compiler.bound_mass => MassProperties {
                com: View::plain(element).vector("pos", DVec3::ZERO)?,
                ..MassProperties::NONE
            },
            None => MassProperties::NONE,
        };
        bounded(mass, compiler, inertial.map_or(element, |(e, _)| e))
    }

    /// Scales all masses so that their sum is as the compiler is told.
    pub(super) fn set_total_mass(&mut self) {
        let wanted = self.scopes.first().map_or(-1.0, |scope| scope.total_mass);
        let sum: f64 = self.links.iter().map(|link| link.body.mass).sum();
        if !(0.0 < wanted && 0.0 < sum) {
            return;
        }
        let scale = wanted / sum;
        for link in &mut self.links {
            link.body.mass *= scale;
            link.body.inertia *= scale;
        }
    }
}

/// What `<inertial>` says, in the frame of the body.
fn explicit(
    element: &Element,
    frame: &Pose,
    compiler: &Compiler,
) -> Result<MassProperties, ImportError> {
    let view = View::plain(element);
    element.text("mass")?;
    let mass = view.number("mass", 0.0)?;
    if mass < 0.0 {
        return Err(element.fault(format!("mass is {mass}; it must not be negative")));
    }
    let place = frame.then(&pose(&view, compiler)?);
    let diagonal = element.exactly::<3>("diaginertia")?;
    let full = element.exactly::<6>("fullinertia")?;
    let local = match (diagonal, full) {
        (Some(_), Some(_)) => {
            return Err(element.fault("diaginertia and fullinertia both give it; leave one"));
        }
        (Some(d), None) => DMat3::from_diagonal(DVec3::from(d)),
        (None, Some([xx, yy, zz, xy, xz, yz])) => DMat3::from_cols(
            DVec3::new(xx, xy, xz),
            DVec3::new(xy, yy, yz),
            DVec3::new(xz, yz, zz),
        ),
        (None, None) => DMat3::ZERO,
    };
    let inertia = place.rotation * local * place.rotation.transpose();
    Ok(MassProperties {
        mass,
        com: place.position,
        inertia: 0.5 * (inertia + inertia.transpose()),
    })
}

/// Not below the bounds, and with moments that a body can have.
fn bounded(
    mass: MassProperties,
    compiler: &Compiler,
    element: &Element,
) -> Result<MassProperties, ImportError> {
    let (least, bound) = (compiler.bound_mass, compiler.bound_inertia);
    if !(mass.com.is_finite() && mass.inertia.is_finite() && mass.mass.is_finite()) {
        return Err(element.fault("its mass or inertia is not finite"));
    }
    let (moments, axes) = Sym3::of(&mass.inertia).principal();
    let mut found = moments.map(|moment| moment.max(bound));
    let [a, b, c] = found;
    // a ≤ b ≤ c: a body has a + b ≥ c.
    let balanced = compiler.balance && a + b < c;
    if balanced {
        found = [(a + b + c) / 3.0; 3];
    }
    let inertia = if found == moments {
        mass.inertia
    } else {
        let diagonal = DMat3::from_diagonal(DVec3::from(found));
        let turned = axes * diagonal * axes.transpose();
        0.5 * (turned + turned.transpose())
    };
    Ok(MassProperties {
        mass: mass.mass.max(least),
        com: mass.com,
        inertia,
    })
}
