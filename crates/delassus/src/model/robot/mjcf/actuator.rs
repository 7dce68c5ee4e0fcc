//! Actuators as servos of joints and tendons.
//!
//! All kinds that are read push with (g₀ + g₁l + g₂l̇)·u + b₀ + b₁l + b₂l̇ for the input u, where l = gear · position,
//! and what they act on feels gear times that. The input is zero, or as near to it as it may be, which is how a file
//! starts; activations have settled at it.

use super::super::ImportError;
use super::Reader;
use super::element::{Element, Tristate, View};
use super::joint::limits;
use crate::tree::{Offsets, Tree};
use crate::world::{Servo, Tendon};

/// Kinds of actuators: they share one set of defaults.
pub(super) const KINDS: [&str; 9] = [
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
];

/// The largest force of an actuator without bounds \[N m\] or \[N\]: more than any robot has.
const UNBOUNDED: f64 = 1e9;

/// Gains and biases that are linear, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    None,
    Fixed,
    Affine,
    Other,
}

/// How an input becomes an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dynamics {
    None,
    Integrator,
    Filter,
    Other,
}

/// What an actuator is, folded from its classes to the element.
#[derive(Clone, Copy, Debug)]
struct Actuator {
    gain: (Form, [f64; 10]),
    bias: (Form, [f64; 10]),
    dynamics: Dynamics,
    inherit: f64,
    /// The kind whose gains these are, where it is not a general one.
    kind: Option<&'static str>,
}

impl Default for Actuator {
    fn default() -> Actuator {
        let mut one = [0.0; 10];
        one[0] = 1.0;
        Actuator {
            gain: (Form::Fixed, one),
            bias: (Form::None, [0.0; 10]),
            dynamics: Dynamics::None,
            inherit: 0.0,
            kind: None,
        }
    }
}

/// One number, and zeros behind it.
fn first(x: f64) -> [f64; 10] {
    let mut list = [0.0; 10];
    list[0] = x;
    list
}

impl Actuator {
    fn of(view: &View<'_>) -> Result<Actuator, ImportError> {
        let mut actuator = Actuator::default();
        for level in view.levels().rev() {
            actuator.take(level)?;
        }
        Ok(actuator)
    }

    /// What one element says, on top of what those behind it said.
    fn take(&mut self, element: &Element) -> Result<(), ImportError> {
        let view = View::plain(element);
        let given = |name: &str| Ok::<_, ImportError>(view.exactly::<1>(name)?.map(|[x]| x));
        let kind = KINDS[1..].iter().find(|kind| **kind == element.tag);
        if let Some(kind) = kind {
            // Gains of another kind mean nothing to this one; those of a general actuator do.
            if *kind == "motor" || self.kind.is_some_and(|old| old != *kind) {
                *self = Actuator {
                    inherit: self.inherit,
                    ..Actuator::default()
                };
            }
            self.kind = Some(kind);
        }
        match element.tag.as_str() {
            "motor" => {}
            "position" | "intvelocity" => self.take_position(&view)?,
            "velocity" => {
                let kv = given("kv")?.unwrap_or(self.gain.1[0]);
                self.gain = (Form::Fixed, first(kv));
                let mut bias = [0.0; 10];
                bias[2] = -kv;
                self.bias = (Form::Affine, bias);
                self.dynamics = Dynamics::None;
            }
            "damper" => {
                let kv = given("kv")?.unwrap_or(-self.gain.1[2]);
                let mut gain = [0.0; 10];
                gain[2] = -kv;
                self.gain = (Form::Affine, gain);
                self.bias = (Form::None, [0.0; 10]);
                self.dynamics = Dynamics::None;
            }
            "cylinder" => {
                let area = given("area")?.unwrap_or(self.gain.1[0]);
                let round = |d: f64| 0.25 * std::f64::consts::PI * d * d;
                let area = given("diameter")?.map_or(area, round);
                self.gain = (Form::Fixed, first(area));
                let [a, b, c] =
                    view.padded("bias", [self.bias.1[0], self.bias.1[1], self.bias.1[2]])?;
                self.bias.0 = Form::Affine;
                self.bias.1[..3].copy_from_slice(&[a, b, c]);
                self.dynamics = Dynamics::Filter;
            }
            "muscle" => {
                self.gain.0 = Form::Other;
                self.bias.0 = Form::Other;
                self.dynamics = Dynamics::Other;
            }
            "adhesion" => {
                let gain = given("gain")?.unwrap_or(self.gain.1[0]);
                self.gain = (Form::Fixed, first(gain));
                self.bias = (Form::None, [0.0; 10]);
            }
            _ => self.take_general(&view)?,
        }
        Ok(())
    }

    /// A servo to a position: kp, and kv or a damping ratio.
    fn take_position(&mut self, view: &View<'_>) -> Result<(), ImportError> {
        let given = |name: &str| Ok::<_, ImportError>(view.exactly::<1>(name)?.map(|[x]| x));
        let kp = given("kp")?.unwrap_or(self.gain.1[0]);
        self.gain = (Form::Fixed, first(kp));
        self.bias.0 = Form::Affine;
        (self.bias.1[0], self.bias.1[1]) = (0.0, -kp);
        if let Some(kv) = given("kv")? {
            self.bias.1[2] = -kv;
        }
        if let Some(ratio) = given("dampratio")? {
            self.bias.1[2] = ratio;
        }
        self.inherit = view.number("inheritrange", self.inherit)?;
        if view.element.tag == "intvelocity" {
            self.dynamics = Dynamics::Integrator;
        } else if let Some(time) = given("timeconst")? {
            let filters = 0.0 < time;
            self.dynamics = if filters {
                Dynamics::Filter
            } else {
                Dynamics::None
            };
        }
        Ok(())
    }

    /// Whether the last number of a position servo is a damping ratio: it is positive.
    fn wants_ratio(&self) -> bool {
        let (gain, bias) = (self.gain, self.bias);
        let servo = gain.0 == Form::Fixed && bias.0 == Form::Affine;
        servo && gain.1[0] == -bias.1[1] && 0.0 < bias.1[2]
    }

    fn take_general(&mut self, view: &View<'_>) -> Result<(), ImportError> {
        let forms = [
            ("none", Form::None),
            ("fixed", Form::Fixed),
            ("affine", Form::Affine),
            ("muscle", Form::Other),
            ("user", Form::Other),
            ("dcmotor", Form::Other),
        ];
        self.gain.0 = view.word("gaintype", &forms, self.gain.0)?;
        self.bias.0 = view.word("biastype", &forms, self.bias.0)?;
        let dynamics = [
            ("none", Dynamics::None),
            ("integrator", Dynamics::Integrator),
            ("filter", Dynamics::Filter),
            ("filterexact", Dynamics::Filter),
            ("muscle", Dynamics::Other),
            ("user", Dynamics::Other),
            ("dcmotor", Dynamics::Other),
        ];
        self.dynamics = view.word("dyntype", &dynamics, self.dynamics)?;
        self.gain.1 = view.padded("gainprm", self.gain.1)?;
        self.bias.1 = view.padded("biasprm", self.bias.1)?;
        self.inherit = view.number("inheritrange", self.inherit)?;
        Ok(())
    }
}

/// What an actuator does with its input where it is: c − k l − d l̇.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pull {
    constant: f64,
    stiffness: f64,
    damping: f64,
    /// Largest force.
    bound: f64,
    /// Largest force that its inputs ask for.
    asked: f64,
}

impl Pull {
    fn is_nothing(&self) -> bool {
        self.constant == 0.0 && self.stiffness == 0.0 && self.damping == 0.0
    }

    /// A force without spring or damper, within the bounds.
    fn push(&self, gear: f64) -> Option<f64> {
        let plain = self.stiffness == 0.0 && self.damping == 0.0;
        plain.then(|| gear * self.constant.clamp(-self.bound, self.bound))
    }

    /// As a servo of a position x = (l − l₀)/gear.
    fn servo(&self, gear: f64, origin: f64) -> Result<Servo, &'static str> {
        let (stiffness, damping) = (self.stiffness * gear * gear, self.damping * gear * gear);
        if !(0.0 <= stiffness && 0.0 <= damping && (stiffness + damping).is_finite()) {
            return Err("an actuator that pushes away from where it is");
        }
        let constant = gear * (self.constant - self.stiffness * origin);
        let position = if stiffness == 0.0 {
            0.0
        } else {
            constant / stiffness
        };
        if !position.is_finite() || (stiffness == 0.0 && constant != 0.0) {
            return Err("an actuator that pushes at rest without a spring");
        }
        Ok(Servo {
            position,
            stiffness,
            damping,
            max_force: (gear.abs() * self.bound).min(UNBOUNDED),
        })
    }
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

impl<'a> Reader<'a> {
    /// Gives joints and tendons their servos.
    pub(super) fn add_actuators(
        &mut self,
        tree: &Tree,
        tendons: &mut [Tendon],
    ) -> Result<(), ImportError> {
        let root = self.root;
        for element in root.section("actuator") {
            if !KINDS.contains(&element.tag.as_str()) {
                continue;
            }
            let view = self.defaults.view(element, &KINDS, None)?;
            if let Err(why) = self.actuate(tree, &view, tendons)? {
                self.lose(element, format!("{why}, \"{}\",", element.name()));
            }
        }
        for joint in &mut self.joints {
            if let (Some(servo), Some([lo, hi])) = (&mut joint.model.servo, joint.bounds) {
                servo.max_force = servo.max_force.min(lo.abs().max(hi.abs()));
            }
        }
        Ok(())
    }

    /// Adds an actuator to what it acts on, or says why it cannot be simulated.
    fn actuate(
        &mut self,
        tree: &Tree,
        view: &View<'a>,
        tendons: &mut [Tendon],
    ) -> Result<Result<(), &'static str>, ImportError> {
        let element = view.element;
        let gear = view.padded("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?[0];
        let of_joint = ["joint", "jointinparent"]
            .into_iter()
            .find_map(|name| element.attribute(name));
        let joint = of_joint.map(|name| {
            let found = self.joints.iter().position(|j| j.model.name == name);
            found.ok_or_else(|| element.fault(format!("joint \"{name}\" does not exist")))
        });
        let joint = joint.transpose()?;
        let tendon = element.attribute("tendon").map(|name| {
            let found = tendons.iter().position(|t| t.name == name);
            let spatial = self.root.section("tendon").any(|t| t.name() == name);
            match (found, spatial) {
                (None, false) => Err(element.fault(format!("tendon \"{name}\" does not exist"))),
                _ => Ok(found),
            }
        });
        let tendon = tendon.transpose()?;
        let pull = match self.pull(tree, view, (joint, gear))? {
            Ok(pull) => pull,
            Err(why) => return Ok(Err(why)),
        };
        if self.options.is_off("actuation") {
            return Ok(Ok(()));
        }
        let single = joint.filter(|&j| self.joints[j].is_single());
        if let Some(j) = single {
            let joint = &mut self.joints[j];
            if pull.is_nothing() {
                let most = (gear.abs() * pull.asked).min(UNBOUNDED);
                joint.model.effort = Some(joint.model.effort.unwrap_or(0.0) + most);
                return Ok(Ok(()));
            }
            if let Some(push) = pull.push(gear) {
                joint.model.push += push;
                return Ok(Ok(()));
            }
            return Ok(pull.servo(gear, gear * joint.reference).map(|servo| {
                let old = joint.model.servo;
                joint.model.servo = Some(old.map_or(servo, |old| both(old, servo)));
            }));
        }
        if pull.is_nothing() {
            // It pushes when somebody asks it to, which nobody can.
            let text = format!("<{}>: only actuators of joints can be driven", element.tag);
            self.note(element, text);
            return Ok(Ok(()));
        }
        if let Some(Some(t)) = tendon {
            let tendon = &mut tendons[t];
            return Ok(pull.servo(gear, 0.0).map(|servo| {
                let old = tendon.servo;
                tendon.servo = Some(old.map_or(servo, |old| both(old, servo)));
            }));
        }
        Ok(Err(
            "an actuator of neither a hinge, a slide nor a fixed tendon",
        ))
    }

    /// What an actuator does at the input nearest to zero.
    fn pull(
        &self,
        tree: &Tree,
        view: &View<'a>,
        (joint, gear): (Option<usize>, f64),
    ) -> Result<Result<Pull, &'static str>, ImportError> {
        let mut actuator = Actuator::of(view)?;
        let element = view.element;
        let autolimits = self.compiler(element).autolimits;
        if actuator.gain.0 == Form::Other || actuator.bias.0 == Form::Other {
            return Ok(Err("a muscle, or an actuator of one's own"));
        }
        for what in ["armature", "damping"] {
            if view.padded::<5>(what, [0.0; 5])?[0] != 0.0 {
                return Ok(Err("an actuator with inertia or damping of its own"));
            }
        }
        let mut inputs = limits(view, ("ctrllimited", "ctrlrange"), autolimits, true)?;
        let forces = limits(view, ("forcelimited", "forcerange"), autolimits, true)?;
        let model = joint.map(|j| &self.joints[j]);
        if let (Some(joint), true) = (model, 0.0 < actuator.inherit) {
            let Some(range) = joint.model.range else {
                return Ok(Err(
                    "an actuator that inherits the range of a joint without one",
                ));
            };
            let [lo, hi] = range.map(|x| x + joint.reference);
            let (middle, half) = (0.5 * (lo + hi), 0.5 * (hi - lo) * actuator.inherit);
            inputs = Some([middle - half, middle + half]);
        }
        if view.tristate("ctrllimited")? == Tristate::No {
            inputs = None;
        }
        if actuator.wants_ratio() {
            // d = 2ζ√(k m) with the inertia m that the actuator meets.
            let mass = model.map_or(0.0, |joint| self.inertia_at(tree, joint.model.link));
            let (ratio, kp) = (actuator.bias.1[2], actuator.gain.1[0]);
            let mass = if gear == 0.0 {
                0.0
            } else {
                mass / (gear * gear)
            };
            actuator.bias.1[2] = -2.0 * ratio * (kp * mass).max(0.0).sqrt();
        }
        let input = inputs.map_or(0.0, |[lo, hi]| 0.0_f64.min(hi).max(lo));
        if input != 0.0 && matches!(actuator.dynamics, Dynamics::Integrator | Dynamics::Other) {
            return Ok(Err("an actuator whose activation grows at rest"));
        }
        let part = |(form, list): (Form, [f64; 10]), affine: bool| match form {
            Form::None => [0.0; 3],
            Form::Fixed => [list[0], 0.0, 0.0],
            _ if affine => [list[0], list[1], list[2]],
            _ => [0.0; 3],
        };
        let (g, b) = (part(actuator.gain, true), part(actuator.bias, true));
        let sum = |k: usize| g[k] * input + b[k];
        let most = |[lo, hi]: [f64; 2]| lo.abs().max(hi.abs());
        let bound = forces.map_or(UNBOUNDED, most);
        let asked = inputs.map_or(UNBOUNDED, |range| g[0].abs() * most(range));
        Ok(Ok(Pull {
            constant: sum(0),
            stiffness: -sum(1),
            damping: -sum(2),
            bound,
            asked: asked.min(bound),
        }))
    }

    /// The diagonal entry of M of a joint of one dof in the configuration of the file.
    fn inertia_at(&self, tree: &Tree, link: crate::index::LinkId) -> f64 {
        let (n, mut data) = (tree.n_dofs(), tree.data());
        let Offsets { v: dof, .. } = tree.offsets(link).expect("links of joints are in the tree");
        let (mut unit, mut column) = (vec![0.0; n], vec![0.0; n]);
        unit[dof] = 1.0;
        tree.mul_mass(&mut data, &unit, &mut column)
            .expect("both have one number for each velocity");
        column[dof]
    }
}
