//! Sensors: those that have an instrument here; others are listed. None of them acts.

use super::super::ImportError;
use super::Reader;
use super::element::{Element, View};
use crate::index::LinkId;
use crate::tree::spatial::Pose;
use crate::world::{SensorKind, SensorModel};

impl Reader<'_> {
    /// The sensors of the file, in its order.
    pub(super) fn sensors(&mut self) -> Result<Vec<SensorModel>, ImportError> {
        let (root, mut sensors) = (self.root, Vec::new());
        for element in root.section("sensor") {
            match self.sensor(element)? {
                Ok(kind) => sensors.push(SensorModel {
                    name: element.name().to_owned(),
                    kind,
                }),
                Err(why) => self.note(element, format!("<sensor>, <{}>: {why}", element.tag)),
            }
        }
        Ok(sensors)
    }

    /// What a sensor measures, or why it is not mounted.
    fn sensor(&self, element: &Element) -> Result<Result<SensorKind, &'static str>, ImportError> {
        const GONE: &str = "what it sits on is not a link of the robot; it is not mounted";
        let found = match element.tag.as_str() {
            "accelerometer" | "gyro" => {
                let at = self.sensed(element, "site");
                at.map(|(link, pose)| SensorKind::Imu { link, pose })
            }
            "velocimeter" => {
                let at = self.sensed(element, "site");
                at.map(|(link, pose)| SensorKind::Frame { link, pose })
            }
            "rangefinder" => {
                // A cutoff of zero is none.
                let cutoff = View::plain(element).number("cutoff", 0.0)?;
                let reach = if 0.0 < cutoff { cutoff } else { f64::INFINITY };
                let at = self.sensed(element, "site");
                at.map(|(link, pose)| SensorKind::Distance { link, pose, reach })
            }
            "framepos" | "framequat" | "framelinvel" | "frameangvel" | "framexaxis"
            | "frameyaxis" | "framezaxis" => {
                if element.attribute("refname").is_some() {
                    return Ok(Err("seen from another frame; it is not mounted"));
                }
                let at = match element.attribute("objtype") {
                    Some("site" | "xbody") => self.sensed(element, "objname"),
                    _ => return Ok(Err("of neither a site nor an xbody; it is not mounted")),
                };
                at.map(|(link, pose)| SensorKind::Frame { link, pose })
            }
            "jointpos" | "jointvel" => {
                let named = |name| self.joints.iter().position(|j| j.model.name == name);
                let found = element.attribute("joint").and_then(named);
                let single = found.filter(|j| self.joints[*j].is_single());
                single.map(SensorKind::Joint)
            }
            _ => return Ok(Err("there is no such instrument; it is not mounted")),
        };
        Ok(found.ok_or(GONE))
    }

    /// The link and the frame on it of the site or body that an attribute names.
    fn sensed(&self, element: &Element, attribute: &str) -> Option<(LinkId, Pose)> {
        let name = element.attribute(attribute)?;
        if element.attribute("objtype") == Some("xbody") {
            let seat = self.body(name)?;
            return Some((seat.link?, seat.frame));
        }
        let (body, pose) = self.sites.get(name)?;
        let seat = self.seats[*body];
        Some((seat.link?, seat.frame.then(pose)))
    }
}
