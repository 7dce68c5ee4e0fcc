//! Actuators of MJCF files as servos of joints.
//!
//! All kinds that are read push with gain·ctrl + b₀ + b₁·length + b₂·velocity, length = gear · joint position, and the
//! joint feels gear times that. With no input, which is how a file starts, b₁ and b₂ are a spring and a damper.

use mjcf_rs::extras::{Actuator, ActuatorKind};
use roxmltree::Node;

use super::mjcf::Reader;
use super::{ImportError, Warning};
use crate::world::Servo;

/// Elements that are read; others are listed as not used.
pub(super) const ACTUATORS: &[&str] = &["motor", "position", "velocity", "general"];

/// The largest force of an actuator without bounds \[N m\] or \[N\]: more than any robot has.
const UNBOUNDED: f64 = 1e9;

/// What an actuator is to its joint.
#[derive(Debug, PartialEq)]
pub(super) enum Acts {
    /// A spring and damper.
    Servo(Servo),
    /// A force that somebody must ask for, up to this.
    Force(f64),
}

/// What an actuator does with no input to a joint whose file counts from `reference`, or why it is not used.
pub(super) fn acts(
    actuator: &Actuator,
    autolimits: bool,
    reference: f64,
) -> Result<Acts, &'static str> {
    if !matches!(actuator.dyn_type.as_deref(), None | Some("none")) {
        return Err("activation dynamics are not supported");
    }
    let number = |list: &[f64], k: usize| list.get(k).copied().unwrap_or(0.0);
    let (gain, bias) = match actuator.kind {
        ActuatorKind::Motor => (1.0, [0.0; 3]),
        ActuatorKind::Position => {
            let kp = actuator.kp.unwrap_or(1.0);
            (kp, [0.0, -kp, -actuator.kv.unwrap_or(0.0)])
        }
        ActuatorKind::Velocity => {
            let kv = actuator.kv.unwrap_or(1.0);
            (kv, [0.0, 0.0, -kv])
        }
        ActuatorKind::General => {
            if !matches!(actuator.gain_type.as_deref(), None | Some("fixed")) {
                return Err("a gain that is not fixed is not supported");
            }
            let bias = match actuator.bias_type.as_deref() {
                None | Some("none") => [0.0; 3],
                Some("affine") => [0, 1, 2].map(|k| number(&actuator.biasprm, k)),
                Some(_) => return Err("its bias is not supported"),
            };
            (actuator.gainprm.first().copied().unwrap_or(1.0), bias)
        }
        _ => return Err("this kind of actuator is not supported"),
    };
    let range = |given: Option<[f64; 2]>, limited: mjcf_rs::types::Tristate| {
        given.filter(|_| limited.resolve(autolimits, given.is_some()))
    };
    let gear = actuator.gear[0];
    let most = |[lo, hi]: [f64; 2]| lo.abs().max(hi.abs());
    let inputs = range(actuator.ctrl_range, actuator.ctrl_limited);
    let forces = range(actuator.force_range, actuator.force_limited);
    let bound = forces.map_or(UNBOUNDED, |range| (gear.abs() * most(range)).min(UNBOUNDED));
    let (stiffness, damping) = (-bias[1] * gear * gear, -bias[2] * gear * gear);
    if !(0.0 <= stiffness && 0.0 <= damping && (stiffness + damping).is_finite()) {
        return Err("it pushes away from where it is; that is not supported");
    }
    if stiffness + damping == 0.0 {
        let asked = inputs.map_or(UNBOUNDED, |range| (gain * gear).abs() * most(range));
        return Ok(Acts::Force(asked.min(bound)));
    }
    // The input is zero, or as near to it as it may be.
    let input = inputs.map_or(0.0, |[lo, hi]| 0.0_f64.min(hi).max(lo));
    let constant = gear * (gain * input + bias[0] + bias[1] * gear * reference);
    let position = if stiffness == 0.0 {
        0.0
    } else {
        constant / stiffness
    };
    if !position.is_finite() || (stiffness == 0.0 && constant != 0.0) {
        return Err("it pushes at rest without a spring; that is not supported");
    }
    Ok(Acts::Servo(Servo {
        position,
        stiffness,
        damping,
        max_force: bound,
    }))
}

/// Two servos on one joint as one: k = k₁ + k₂ at the position (k₁x₁ + k₂x₂)/k, with both dampings and both bounds.
fn both(a: Servo, b: Servo) -> Servo {
    let stiffness = a.stiffness + b.stiffness;
    let pull = a.stiffness * a.position + b.stiffness * b.position;
    Servo {
        position: if stiffness == 0.0 {
            0.0
        } else {
            pull / stiffness
        },
        stiffness,
        damping: a.damping + b.damping,
        max_force: (a.max_force + b.max_force).min(UNBOUNDED),
    }
}

impl Reader<'_> {
    /// Gives the joints their servos, and says which actuators are not used.
    pub(super) fn add_actuators(&mut self) -> Result<(), ImportError> {
        let (model, root) = (self.model, self.source.root());
        let elements = root.descendants().filter(|n| n.has_tag_name("actuator"));
        let elements: Vec<Node<'_, '_>> = elements
            .flat_map(|block| block.children())
            .filter(|n| ACTUATORS.contains(&n.tag_name().name()))
            .collect();
        use ActuatorKind::{General, Motor, Position, Velocity};
        let supported = |a: &&Actuator| matches!(a.kind, Motor | Position | Velocity | General);
        let actuators: Vec<&Actuator> = model.actuators.iter().filter(supported).collect();
        for (k, actuator) in actuators.iter().enumerate() {
            // Elements stand for actuators one by one where nothing was included.
            let element = elements
                .get(k)
                .filter(|_| elements.len() == actuators.len());
            let element = element.copied().unwrap_or(root);
            let line = self.source.line(element);
            let unused = match self.actuate(actuator, element)? {
                Some(why) => why,
                None => continue,
            };
            let name = actuator.name.as_deref().unwrap_or_default();
            let text = format!("actuator \"{name}\" is not used: {unused}");
            self.warnings.push(Warning { line, text });
        }
        Ok(())
    }

    /// Adds an actuator to its joint, or says why not.
    fn actuate(
        &mut self,
        actuator: &Actuator,
        element: Node<'_, '_>,
    ) -> Result<Option<&'static str>, ImportError> {
        let Some(name) = &actuator.joint else {
            return Ok(Some("only actuators of joints are supported"));
        };
        let Some((body, k, joint)) = self.joints.iter_mut().find(|(_, _, j)| j.name == *name)
        else {
            let what = format!("joint \"{name}\" does not exist");
            return Err(self.source.fault(element, what));
        };
        if self.links[joint.link.index()].joint.dofs() != 1 {
            return Ok(Some("its joint has several dofs"));
        }
        let reference = self.model.bodies[*body].body.joints[*k].ref_;
        match acts(actuator, self.model.compiler.autolimits, reference) {
            Ok(Acts::Servo(servo)) => {
                joint.servo = Some(joint.servo.map_or(servo, |old| both(old, servo)));
            }
            Ok(Acts::Force(most)) => {
                joint.effort = Some(joint.effort.unwrap_or(0.0) + most);
            }
            Err(why) => return Ok(Some(why)),
        }
        for unread in ["dampratio", "timeconst", "inheritrange"] {
            if element.has_attribute(unread) {
                return Ok(Some("dampratio, timeconst and inheritrange are not read"));
            }
        }
        Ok(None)
    }
}
