//! Keyframes: states that a file comes with, from MuJoCo's coordinates to those of the tree.

use glam::{DQuat, DVec3};

use super::super::ImportError;
use super::Reader;
use super::element::Element;
use super::joint::{Joint, JointType, quaternion};
use super::pose::unit;
use crate::tree::spatial::Pose;
use crate::tree::{Offsets, Tree};
use crate::world::Keyframe;

impl Reader<'_> {
    /// The keyframes of the file itself; those of attached models do not fit it.
    pub(super) fn keyframes(&mut self, tree: &Tree) -> Result<Vec<Keyframe>, ImportError> {
        let mut frames = Vec::new();
        let keys = self.root.section("keyframe").filter(|e| e.tag == "key");
        for key in keys.filter(|key| key.scope == 0) {
            let frame = self.keyframe(tree, key)?;
            if key.attribute("qpos").is_some()
                && self.joints.iter().any(|j| self.is_aligned(tree, j))
            {
                let text = "<key>: counts from the principal axes of a body whose free joint is aligned; it is left out";
                self.note(key, text.to_owned());
                continue;
            }
            frames.push(frame);
        }
        Ok(frames)
    }

    /// Whether MuJoCo turns the frame of a floating body, one without others on it, into its principal axes.
    fn is_aligned(&self, tree: &Tree, joint: &Joint<'_>) -> bool {
        let element = joint.view.element;
        let asked = match element.attribute("align") {
            Some("true") => true,
            Some("false") => false,
            _ => self.compiler(element).align_free,
        };
        let own = Some(joint.model.link);
        let alone = tree.links().iter().all(|link| link.parent != own);
        joint.kind == JointType::Free && asked && alone
    }

    /// The configuration of the file in its own coordinates.
    fn usual(&self, tree: &Tree) -> Vec<f64> {
        let mut list = Vec::new();
        for joint in &self.joints {
            match joint.kind {
                JointType::Free => {
                    let pose = tree.links()[joint.model.link.index()].place;
                    let turn = DQuat::from_mat3(&pose.rotation).normalize();
                    list.extend(pose.position.to_array());
                    list.extend([turn.w, turn.x, turn.y, turn.z]);
                }
                JointType::Ball => list.extend([1.0, 0.0, 0.0, 0.0]),
                _ => list.push(joint.reference),
            }
        }
        list
    }

    fn keyframe(&self, tree: &Tree, key: &Element) -> Result<Keyframe, ImportError> {
        let (mut q, mut v) = (tree.neutral(), vec![0.0; tree.n_dofs()]);
        // What a short list leaves out is as in the configuration of the file.
        let numbers = |name: &str, usual: Vec<f64>| {
            let given = key.numbers(name)?;
            let wanted = usual.len();
            let Some(mut list) = given.filter(|list| !list.is_empty()) else {
                return Ok(None);
            };
            if wanted < list.len() {
                let what = format!("{name} has {} numbers; the model has {wanted}", list.len());
                return Err(key.fault(what));
            }
            list.extend_from_slice(&usual[list.len()..]);
            Ok(Some(list))
        };
        let qpos = numbers("qpos", self.usual(tree))?;
        let qvel = numbers("qvel", v.clone())?;
        let mut at = (0, 0);
        for joint in &self.joints {
            let link = joint.model.link;
            let Some(Offsets { q: own_q, v: own_v }) = tree.offsets(link) else {
                continue;
            };
            let kind = joint.kind.tree();
            let mut pose = Pose::IDENTITY;
            if let Some(list) = &qpos {
                let given = &list[at.0..at.0 + kind.coordinates()];
                // A quaternion of zeros turns nothing, as in MuJoCo.
                let turn = |q: &[f64]| {
                    unit(quaternion([q[0], q[1], q[2], q[3]])).unwrap_or(DQuat::IDENTITY)
                };
                match joint.kind {
                    JointType::Free => {
                        // The file gives the pose in the world, the tree counts from that of the body.
                        pose = Pose::new(DVec3::from_slice(given), turn(&given[3..]));
                        let place = tree.links()[link.index()].place;
                        let own = place.inverse().then(&pose);
                        let turn = DQuat::from_mat3(&own.rotation).normalize();
                        q[own_q..own_q + 3].copy_from_slice(&own.position.to_array());
                        q[own_q + 3..own_q + 7].copy_from_slice(&[turn.w, turn.x, turn.y, turn.z]);
                    }
                    JointType::Ball => {
                        let turn = turn(given);
                        q[own_q..own_q + 4].copy_from_slice(&[turn.w, turn.x, turn.y, turn.z]);
                    }
                    _ => q[own_q] = given[0] - joint.reference,
                }
            } else if joint.kind == JointType::Free {
                pose = tree.links()[link.index()].place;
            }
            if let Some(list) = &qvel {
                let given = &list[at.1..at.1 + kind.dofs()];
                let own = &mut v[own_v..own_v + kind.dofs()];
                if joint.kind == JointType::Free {
                    // Linear in world axes first; the tree has turning first, and both in its own axes.
                    let linear = pose.rotation.transpose() * DVec3::from_slice(given);
                    own[..3].copy_from_slice(&given[3..]);
                    own[3..].copy_from_slice(&linear.to_array());
                } else {
                    own.copy_from_slice(given);
                }
            }
            at = (at.0 + kind.coordinates(), at.1 + kind.dofs());
        }
        Ok(Keyframe {
            name: key.name().to_owned(),
            q,
            v,
        })
    }
}
