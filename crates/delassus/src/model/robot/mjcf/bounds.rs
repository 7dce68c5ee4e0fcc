//! `actuatorfrcrange`: bounds of what all actuators of a joint, or of a tendon, push with together.

use super::super::ImportError;
use super::Reader;
use super::actuator::KINDS;
use super::joint::limits;
use super::pull::{held, within};
use crate::index::LinkId;
use crate::world::{Servo, Tendon};

impl Reader<'_> {
    /// Holds what the actuators of a joint push with to the joint's own bounds; `others` act along paths.
    pub(super) fn bound_joints(&mut self, others: &[&Tendon]) {
        // A path without terms runs through sites, over any joint.
        let moves = |path: &&Tendon, link: LinkId| {
            path.terms.is_empty() || path.terms.iter().any(|&(l, _)| l == link)
        };
        let mut apart = Vec::new();
        for joint in &mut self.joints {
            let Some(range) = joint.bounds else {
                continue;
            };
            let model = &mut joint.model;
            if others.iter().any(|path| moves(path, model.link)) {
                apart.push(joint.view.element);
            }
            bound(&mut model.push, &mut model.servo, range);
        }
        for element in apart {
            let text = "<joint actuatorfrcrange>: does not bound what acts through tendons, sites or a second servo";
            self.note(element, text.to_owned());
        }
    }

    /// The same for tendons; `paths` are those that muscles and second servos have for themselves.
    pub(super) fn bound_tendons(
        &mut self,
        tendons: &mut [Tendon],
        paths: &[Tendon],
    ) -> Result<(), ImportError> {
        let root = self.root;
        let elements = root.section("tendon");
        let elements = elements.filter(|e| matches!(e.tag.as_str(), "fixed" | "spatial"));
        for (element, tendon) in elements.zip(tendons) {
            let view = self.defaults.view(element, &["tendon"], None)?;
            let autolimits = self.compiler(element).autolimits;
            let names = ("actuatorfrclimited", "actuatorfrcrange");
            let Some(range) = limits(&view, names, autolimits, true)? else {
                continue;
            };
            let tag = &element.tag;
            // Forces are bounded before the gear.
            let Some(gear) = self.gear_at(element.name())? else {
                let text =
                    format!("<{tag} actuatorfrcrange>: does not bound actuators of several gears");
                self.note(element, text);
                continue;
            };
            let mut range = range.map(|force| gear * force);
            if gear < 0.0 {
                range.reverse();
            }
            bound(&mut tendon.push, &mut tendon.servo, range);
            let same = |path: &Tendon| {
                path.strings == tendon.strings
                    && path
                        .terms
                        .iter()
                        .map(|term| term.0)
                        .eq(tendon.terms.iter().map(|term| term.0))
            };
            if paths.iter().any(same) {
                let text =
                    format!("<{tag} actuatorfrcrange>: does not bound muscles or a second servo");
                self.note(element, text);
            }
        }
        Ok(())
    }

    /// The gear of the actuators of a tendon, 1 where there are none; none where they have several.
    fn gear_at(&self, tendon: &str) -> Result<Option<f64>, ImportError> {
        let mut found = None;
        for element in self.root.section("actuator") {
            if element.attribute("tendon") != Some(tendon) {
                continue;
            }
            let view = self.defaults.view(element, &KINDS, None)?;
            let gear = view.padded("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?[0];
            if found.is_some_and(|other| other != gear) {
                return Ok(None);
            }
            found = Some(gear);
        }
        Ok(Some(found.unwrap_or(1.0)))
    }
}

/// Holds a push P and the force f of a servo between lo and hi together.
fn bound(push: &mut f64, servo: &mut Option<Servo>, [lo, hi]: [f64; 2]) {
    let Some(acting) = servo else {
        *push = within(*push, [lo, hi]);
        return;
    };
    // lo ≤ P + clamp(f, a, b) ≤ hi is P + clamp(f, max(a, lo − P), min(b, hi − P)), where that leaves room.
    let [a, b] = acting.bounds();
    let room = [a.max(lo - *push), b.min(hi - *push)];
    if room[0] <= room[1] {
        *acting = held(*acting, room);
    } else {
        *push = if *push + b < lo { lo } else { hi };
        *servo = None;
    }
}
