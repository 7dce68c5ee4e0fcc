//! Joints: axes, limits, springs, dampers, friction.

use glam::{DQuat, DVec3};

use super::super::ImportError;
use super::Reader;
use super::compiler::Compiler;
use super::element::{Element, Tristate, View};
use crate::index::LinkId;
use crate::tree::spatial::Pose;
use crate::tree::{Offsets, Tree, TreeJoint};
use crate::world::JointModel;

/// How a joint moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum JointType {
    Free,
    Ball,
    Slide(DVec3),
    Hinge(DVec3),
}

impl JointType {
    pub(super) fn tree(self) -> TreeJoint {
        match self {
            JointType::Free => TreeJoint::Floating,
            JointType::Ball => TreeJoint::Ball,
            JointType::Slide(axis) => TreeJoint::Prismatic { axis },
            JointType::Hinge(axis) => TreeJoint::Revolute { axis },
        }
    }
}

/// A joint of a body.
#[derive(Clone, Debug)]
pub(super) struct Joint<'a> {
    pub(super) view: View<'a>,
    pub(super) model: JointModel,
    pub(super) kind: JointType,
    /// A point of it in the frame of the body.
    pub(super) anchor: DVec3,
    pub(super) damping: f64,
    pub(super) armature: f64,
    /// Where the file counts from: its value in the configuration of the bodies.
    pub(super) reference: f64,
    /// Time constant and damping ratio, from which spring and damper follow.
    auto: Option<[f64; 2]>,
    /// Bounds of what all actuators together push with.
    pub(super) bounds: Option<[f64; 2]>,
    /// Whether its actuators carry the weight that links are relieved of.
    carries: bool,
}

impl<'a> Joint<'a> {
    /// `<freejoint>`, which has no defaults.
    pub(super) fn free(element: &'a Element) -> Joint<'a> {
        Joint {
            view: View::plain(element),
            model: JointModel::free(element.name(), LinkId(0)),
            kind: JointType::Free,
            anchor: DVec3::ZERO,
            damping: 0.0,
            armature: 0.0,
            reference: 0.0,
            auto: None,
            bounds: None,
            carries: false,
        }
    }

    /// Reads a joint in a frame of its body.
    pub(super) fn read(
        view: View<'a>,
        frame: &Pose,
        compiler: &Compiler,
    ) -> Result<Joint<'a>, ImportError> {
        let words = [("free", 0), ("ball", 1), ("slide", 2), ("hinge", 3)];
        let number = view.word("type", &words, 3)?;
        let axis = view.vector("axis", DVec3::Z)?;
        let axis = (frame.rotation * axis).try_normalize();
        let axis = axis.ok_or_else(|| view.element.fault("its axis is zero"));
        let kind = match number {
            0 => JointType::Free,
            1 => JointType::Ball,
            2 => JointType::Slide(axis?),
            _ => JointType::Hinge(axis?),
        };
        let turns = matches!(kind, JointType::Hinge(_) | JointType::Ball);
        let angle = |x: f64| if turns { compiler.radians(x) } else { x };
        let reference = match kind {
            JointType::Hinge(_) | JointType::Slide(_) => angle(view.number("ref", 0.0)?),
            _ => 0.0,
        };
        let mut model = JointModel::free(view.element.name(), LinkId(0));
        // The largest angle of a ball is zero where none is given.
        let stiff = kind == JointType::Ball
            && view.exactly::<2>("range")?.is_none()
            && view.tristate("limited")? == Tristate::Yes;
        let range = match stiff {
            true => Some([0.0, 0.0]),
            false => limits(
                &view,
                ("limited", "range"),
                compiler.autolimits,
                kind != JointType::Free,
            )?,
        };
        model.range = range.map(|range| range.map(|x| angle(x) - reference));
        model.friction = view.number("frictionloss", 0.0)?;
        model.stiffness = view.padded::<5>("stiffness", [0.0; 5])?[0];
        model.rest = match kind {
            JointType::Hinge(_) | JointType::Slide(_) => {
                angle(view.number("springref", 0.0)?) - reference
            }
            _ => 0.0,
        };
        let damping = view.padded::<5>("damping", [0.0; 5])?[0];
        for (what, value) in [
            ("stiffness", model.stiffness),
            ("frictionloss", model.friction),
            ("armature", view.number("armature", 0.0)?),
        ] {
            if value < 0.0 {
                let what = format!("{what} is {value}; it must not be negative");
                return Err(view.element.fault(what));
            }
        }
        let auto = view.exactly::<2>("springdamper")?;
        let autolimits = compiler.autolimits;
        let bounds = limits(
            &view,
            ("actuatorfrclimited", "actuatorfrcrange"),
            autolimits,
            true,
        )?;
        Ok(Joint {
            anchor: match kind {
                JointType::Free => DVec3::ZERO,
                _ => frame.point(view.vector("pos", DVec3::ZERO)?),
            },
            damping,
            armature: view.number("armature", 0.0)?,
            reference,
            auto: auto.filter(|[time, ratio]| 0.0 < *time && 0.0 < *ratio),
            bounds,
            carries: view.flag("actuatorgravcomp", false)?,
            view,
            model,
            kind,
        })
    }

    /// Whether it has one velocity.
    pub(super) fn is_single(&self) -> bool {
        matches!(self.kind, JointType::Slide(_) | JointType::Hinge(_))
    }
}

/// The two numbers of a range, of which either may be infinite; both infinite hold nothing.
fn ends(view: &View<'_>, name: &str) -> Result<Option<[f64; 2]>, ImportError> {
    let text = view.get(name).unwrap_or_default().to_ascii_lowercase();
    if !text.contains("inf") {
        return view.exactly::<2>(name);
    }
    let words = text.split_whitespace().map(|word| word.parse::<f64>().ok());
    match words.collect::<Option<Vec<f64>>>().as_deref() {
        Some(&[f64::NEG_INFINITY, f64::INFINITY]) => Ok(None),
        Some(&[lo, hi]) if lo < hi => Ok(Some([lo.max(-ENDLESS), hi.min(ENDLESS)])),
        _ => view.exactly::<2>(name),
    }
}

/// Stands for an infinite end of a range.
const ENDLESS: f64 = 1e9;

/// A range that holds: as the switch beside it says, or where the numbers are in order.
pub(super) fn limits(
    view: &View<'_>,
    (switch, name): (&str, &str),
    autolimits: bool,
    matters: bool,
) -> Result<Option<[f64; 2]>, ImportError> {
    let given = ends(view, name)?;
    let holds = match given {
        None if view.get(name).is_some() => Tristate::No,
        _ => view.tristate(switch)?,
    };
    let element = view.element;
    match (holds, given) {
        _ if !matters => Ok(None),
        (Tristate::No, _) | (Tristate::Auto, None) => Ok(None),
        (Tristate::Yes, None) => Err(element.fault(format!("{switch}, but no {name} is given"))),
        (Tristate::Auto, Some(_)) if !autolimits => {
            let what =
                format!("it has a {name}; without autolimits, {switch} must say whether it holds");
            Err(element.fault(what))
        }
        (_, Some([lo, hi])) if lo < hi => Ok(Some([lo, hi])),
        (Tristate::Auto, Some([lo, hi])) if lo == hi => Ok(None),
        (_, Some([lo, hi])) => {
            let what = format!("{name} {lo} {hi} excludes every position");
            Err(element.fault(what))
        }
    }
}

impl Reader<'_> {
    /// Bounds of the forces of joints whose actuators carry the weight of links. Without actuators nothing carries it.
    pub(super) fn relief(&self) -> Vec<(LinkId, [f64; 2])> {
        let kinds = super::actuator::KINDS;
        let mut actuators = self.root.section("actuator");
        let idle =
            self.options.is_off("actuation") || !actuators.any(|e| kinds.contains(&e.tag.as_str()));
        let carrying = self.joints.iter().filter(|joint| joint.carries);
        let bounds = carrying.filter_map(|joint| {
            let own = joint.bounds.filter(|_| joint.is_single());
            let bounds = if idle { Some([0.0; 2]) } else { own };
            bounds.map(|bounds| (joint.model.link, bounds))
        });
        if self.gravcomp.is_empty() {
            Vec::new()
        } else {
            bounds.collect()
        }
    }

    /// Springs and dampers that follow from a time constant T and a ratio ζ: k = m/(Tζ)² and d = 2m/T, with
    /// 1/m = (M⁻¹)_kk the joint's own.
    pub(super) fn soften(&mut self, tree: Tree) -> Result<Tree, ImportError> {
        for joint in &mut self.joints {
            if self.options.is_off("spring") {
                joint.model.stiffness = 0.0;
            }
            if self.options.is_off("frictionloss") {
                joint.model.friction = 0.0;
            }
            if self.options.is_off("limit") {
                joint.model.range = None;
            }
        }
        if self.joints.iter().all(|joint| joint.auto.is_none()) {
            return Ok(tree);
        }
        let mut links = tree.links().to_vec();
        let q = tree.neutral();
        let zeros = vec![0.0; tree.n_dofs()];
        for joint in &mut self.joints {
            let (Some([time, ratio]), true) = (joint.auto, joint.is_single()) else {
                continue;
            };
            let link = joint.model.link;
            let Some(Offsets { v: dof, .. }) = tree.offsets(link) else {
                continue;
            };
            let (mut force, mut answer) = (zeros.clone(), zeros.clone());
            force[dof] = 1.0;
            let state = (&q[..], &zeros[..], &force[..]);
            let mut data = tree.data();
            tree.forward_dynamics(&mut data, state, DVec3::ZERO, &mut answer)
                .map_err(|error| joint.view.element.fault(error))?;
            let mass = 1.0 / answer[dof];
            joint.model.stiffness = mass / (time * ratio).powi(2);
            joint.damping = 2.0 * mass / time;
            links[link.index()].damping = joint.damping;
        }
        Tree::new(links).map_err(|error| self.tree_fault(error))
    }
}

/// A rotation as MJCF writes it.
pub(super) fn quaternion([w, x, y, z]: [f64; 4]) -> DQuat {
    DQuat::from_xyzw(x, y, z, w)
}
