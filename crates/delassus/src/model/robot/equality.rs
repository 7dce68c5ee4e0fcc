//! MJCF `equality`: points, poses and coordinates that agree, as loops to close.

use glam::DVec3;
use mjcf_rs::equality::{Equality, EqualityCommon, EqualityConnect, EqualityWeld};
use roxmltree::Node;

use super::ImportError;
use super::mjcf::Reader;
use crate::index::LinkId;
use crate::tree::Tree;
use crate::tree::spatial::Pose;
use crate::world::{Anchor, Closure, ClosureKind};

impl Reader<'_> {
    /// Link and frame of a body of an equality; no name is the world.
    fn body(&self, name: Option<&str>) -> Result<(Option<LinkId>, Pose), ImportError> {
        let Some(name) = name.filter(|name| *name != "world") else {
            return Ok((None, Pose::IDENTITY));
        };
        let id = self.model.body_id_by_name(name);
        id.map(|id| self.seats[id]).ok_or_else(|| {
            let what = format!("body \"{name}\" does not exist");
            self.misnamed(["body1", "body2"], name, what)
        })
    }

    /// The link that a joint of one dof carries.
    fn carried(&self, tree: &Tree, name: &str) -> Result<LinkId, ImportError> {
        let joint = self.joints.iter().find(|(_, _, joint)| joint.name == name);
        let link = joint.map(|(_, _, joint)| joint.link);
        let single = |link: &LinkId| tree.links()[link.index()].joint.dofs() == 1;
        link.filter(single).ok_or_else(|| {
            let what = format!("joint \"{name}\" does not exist or has several dofs");
            self.misnamed(["joint1", "joint2"], name, what)
        })
    }

    /// A fault of the first equality that uses a name.
    fn misnamed(&self, attributes: [&str; 2], name: &str, what: String) -> ImportError {
        let uses = |n: &Node<'_, '_>| attributes.iter().any(|a| n.attribute(*a) == Some(name));
        let node = self.source.root().descendants().find(uses);
        self.source
            .fault(node.unwrap_or_else(|| self.source.root()), what)
    }

    /// The loop that an equality closes; none, with a warning, where it is not supported.
    pub(super) fn closure(
        &mut self,
        tree: &Tree,
        equality: &Equality,
    ) -> Result<Option<Closure>, ImportError> {
        let data = tree.data();
        let frame = |link: Option<LinkId>| match link {
            Some(link) => tree
                .pose(&data, link)
                .expect("bodies of the file sit on links of its tree"),
            None => Pose::IDENTITY,
        };
        let (common, kind): (&EqualityCommon, ClosureKind) = match equality {
            Equality::Connect(EqualityConnect { body1, .. })
            | Equality::Weld(EqualityWeld { body1, .. })
                if body1.is_empty() =>
            {
                self.warn(
                    0,
                    "equality of sites is not supported: name bodies".to_owned(),
                );
                return Ok(None);
            }
            Equality::Connect(e) => {
                let (a, seat) = self.body(Some(&e.body1))?;
                let (b, _) = self.body(e.body2.as_deref())?;
                let point = seat.point(DVec3::from(e.anchor));
                // The points coincide in the configuration of the file.
                let other = frame(b).inverse().point(frame(a).point(point));
                (
                    &e.common,
                    ClosureKind::Connect {
                        a: Anchor { link: a, point },
                        b: Anchor {
                            link: b,
                            point: other,
                        },
                    },
                )
            }
            Equality::Weld(e) => {
                let (a, seat_a) = self.body(Some(&e.body1))?;
                let (b, seat_b) = self.body(e.body2.as_deref())?;
                // A turn of zero length stands for the configuration of the file.
                let turn = e.relpose.as_ref().map(|pose| pose.rotation);
                let turn = turn
                    .filter(|turn| 1e-12 < turn.length())
                    .map(|turn| turn.normalize());
                let relative = match (&e.relpose, turn) {
                    // Given between the bodies: taken to the frames of their links.
                    (Some(pose), Some(turn)) => seat_a
                        .then(&Pose::new(pose.translation, turn))
                        .then(&seat_b.inverse()),
                    _ => frame(a).inverse().then(&frame(b)),
                };
                (&e.common, ClosureKind::Weld { a, b, relative })
            }
            Equality::Joint(e) => {
                let dependent = self.carried(tree, &e.joint1)?;
                let on = e.joint2.as_deref().map(|name| self.carried(tree, name));
                let kind = ClosureKind::Joint {
                    dependent,
                    on: on.transpose()?,
                    coefficients: e.polycoef,
                };
                (&e.common, kind)
            }
            Equality::Tendon(_) => {
                self.warn(0, "equality of tendons is not supported".to_owned());
                return Ok(None);
            }
        };
        let name = common.name.clone().unwrap_or_default();
        if !common.active {
            self.warn(0, format!("equality \"{name}\" is inactive and left out"));
            return Ok(None);
        }
        Ok(Some(Closure { name, kind }))
    }
}
