//! Actuators as servos of joints, tendons and paths of their own, and as muscles.
//!
//! All kinds but muscles push with (g₀ + g₁l + g₂l̇)·u + b₀ + b₁l + b₂l̇ for the input u, where l = gear · position,
//! and what they act on feels gear times that. The input is zero, or as near to it as it may be, which is how a file
//! starts; activations have settled at it.

use super::super::ImportError;
use super::Reader;
use super::element::{Element, Tristate, View};
use super::joint::{JointType, limits};
use super::pull::{Pull, UNBOUNDED, added, most};
use super::transmission::{Acted, CURVES, Curves};
use crate::tree::Tree;
use crate::world::Tendon;

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

/// Gains and biases that are linear, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    None,
    Fixed,
    Affine,
    Muscle,
    Other,
}

/// How an input becomes an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dynamics {
    None,
    Integrator,
    /// It settles at the input.
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
            "muscle" => self.take_muscle(&view)?,
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

    /// The curves of a muscle: numbers that are as they are in no muscle stand for the usual ones.
    fn take_muscle(&mut self, view: &View<'_>) -> Result<(), ImportError> {
        let given = |name: &str| Ok::<_, ImportError>(view.exactly::<1>(name)?.map(|[x]| x));
        let list = &mut self.gain.1;
        for (k, usual) in CURVES.iter().enumerate() {
            if list[k] == f64::from(u8::from(k == 0)) {
                list[k] = *usual;
            }
        }
        if let Some(range) = view.exactly::<2>("range")? {
            list[..2].copy_from_slice(&range);
        }
        let names = ["force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"];
        for (k, name) in names.into_iter().enumerate() {
            if let Some(x) = given(name)?.filter(|x| 0.0 <= *x) {
                list[2 + k] = x;
            }
        }
        self.gain.0 = Form::Muscle;
        self.bias = self.gain;
        self.dynamics = Dynamics::Filter;
        Ok(())
    }

    /// The curves of a muscle, and those of its passive force where they are others; or why it is none that can be
    /// simulated.
    fn curves(&self) -> Result<(Curves, Option<Curves>), &'static str> {
        let (mut curves, mut passive) = (CURVES, CURVES);
        curves.copy_from_slice(&self.gain.1[..9]);
        passive.copy_from_slice(&self.bias.1[..9]);
        match (self.gain.0, self.bias.0) {
            (Form::Muscle, Form::Muscle) if curves == passive => Ok((curves, None)),
            (Form::Muscle, other @ (Form::Muscle | Form::None)) => {
                // Without its passive force.
                curves[7] = 0.0;
                Ok((curves, (other == Form::Muscle).then_some(passive)))
            }
            _ => Err("a muscle whose gain and bias are of two kinds"),
        }
    }

    fn is_muscle(&self) -> bool {
        self.gain.0 == Form::Muscle || self.bias.0 == Form::Muscle
    }

    /// Whether it is a servo whose input is a position.
    fn follows_a_position(&self) -> bool {
        let (gain, bias) = (self.gain, self.bias);
        let servo = gain.0 == Form::Fixed && bias.0 == Form::Affine;
        servo && gain.1[0] == -bias.1[1]
    }

    /// Whether the last number of a position servo is a damping ratio: it is positive.
    fn wants_ratio(&self) -> bool {
        self.follows_a_position() && 0.0 < self.bias.1[2]
    }

    fn take_general(&mut self, view: &View<'_>) -> Result<(), ImportError> {
        let forms = [
            ("none", Form::None),
            ("fixed", Form::Fixed),
            ("affine", Form::Affine),
            ("muscle", Form::Muscle),
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
            ("muscle", Dynamics::Filter),
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

impl<'a> Reader<'a> {
    /// Gives joints and tendons their servos; returns the paths that actuators have for themselves.
    pub(super) fn add_actuators(
        &mut self,
        tree: &Tree,
        tendons: &mut [Tendon],
    ) -> Result<Vec<Tendon>, ImportError> {
        let (root, mut paths) = (self.root, Vec::new());
        for element in root.section("actuator") {
            if !KINDS.contains(&element.tag.as_str()) {
                continue;
            }
            let view = self.defaults.view(element, &KINDS, None)?;
            let acted = self.acted(&view, tendons)?;
            if self.options.idle_groups.contains(&view.whole("group", 0)?) {
                self.note(element, format!("<{}>: its group is disabled", element.tag));
                continue;
            }
            let done = if Actuator::of(&view)?.is_muscle() {
                self.contract(tree, &view, acted, tendons)?
            } else {
                let done = self.actuate(tree, &view, acted, tendons)?;
                done.map(|path| path.into_iter().collect())
            };
            match done {
                Ok(own) => paths.extend(own),
                Err(why) => self.lose(element, format!("{why}, \"{}\",", element.name())),
            }
        }
        let acts =
            |path: &&Tendon| path.servo.is_some() || path.push != 0.0 || path.muscle.is_some();
        let acting: Vec<&Tendon> = paths.iter().chain(&*tendons).filter(acts).collect();
        self.bound_joints(&acting);
        self.bound_tendons(tendons, &paths)?;
        Ok(paths)
    }

    /// Adds an actuator to what it acts on, or says why it cannot be simulated. Returns its path where it has its own.
    fn actuate(
        &mut self,
        tree: &Tree,
        view: &View<'a>,
        acted: Acted,
        tendons: &mut [Tendon],
    ) -> Result<Result<Option<Tendon>, &'static str>, ImportError> {
        let element = view.element;
        let gear = view.padded("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?[0];
        let mut pull = match self.pull(tree, view, &acted, tendons)? {
            Ok(pull) => pull,
            Err(why) => return Ok(Err(why)),
        };
        if self.has_no_length(&acted) {
            pull.stiffness = 0.0;
        }
        if self.options.is_off("actuation") {
            return Ok(Ok(None));
        }
        if let Acted::Joint(j) = acted
            && self.joints[j].is_single()
        {
            let joint = &mut self.joints[j];
            if pull.is_nothing() {
                let most = (gear.abs() * pull.asked).min(UNBOUNDED);
                joint.model.effort = Some(joint.model.effort.unwrap_or(0.0) + most);
                return Ok(Ok(None));
            }
            if let Some(push) = pull.push(gear) {
                joint.model.push += push;
                return Ok(Ok(None));
            }
            let pushed = pull.part(gear);
            let servo = match pull.servo(gear, gear * joint.reference) {
                Ok(servo) => servo,
                Err(why) => return Ok(Err(why)),
            };
            joint.model.push += pushed;
            let Some(servo) = added(&mut joint.model.servo, servo) else {
                return Ok(Ok(None));
            };
            let beside = Tendon {
                name: element.name().to_owned(),
                terms: vec![(joint.model.link, 1.0)],
                servo: Some(servo),
                ..Tendon::default()
            };
            let text = "a second servo with bounds acts beside that of the joint, whatever drives the joint";
            self.note(element, text.to_owned());
            return Ok(Ok(Some(beside)));
        }
        if pull.is_nothing() {
            // It pushes when somebody asks it to, which nobody can.
            let text = format!("<{}>: only actuators of joints can be driven", element.tag);
            self.note(element, text);
            return Ok(Ok(None));
        }
        Ok(match acted {
            Acted::Tendon(t) => {
                let left = pull.pull_at(&mut tendons[t], gear);
                left.map(|left| {
                    left.map(|servo| Tendon {
                        name: element.name().to_owned(),
                        servo: Some(servo),
                        ..tendons[t].geared(1.0)
                    })
                })
            }
            Acted::Path(mut path) => pull.pull_at(&mut path, 1.0).map(|_| Some(*path)),
            Acted::Joint(_) => match self.path(tree, view, &acted, tendons)? {
                Some(mut path) => pull.pull_at(&mut path, 1.0).map(|_| Some(path)),
                None => Err("an actuator that pushes and turns a free joint at once"),
            },
            Acted::Nothing if element.attribute("body").is_some() => {
                Err("adhesion of a body to what it touches")
            }
            Acted::Nothing => Err("an actuator of neither a joint, a tendon nor a site"),
        })
    }

    /// A muscle on a path of its own, or why it cannot be simulated.
    fn contract(
        &mut self,
        tree: &Tree,
        view: &View<'a>,
        acted: Acted,
        tendons: &mut [Tendon],
    ) -> Result<Result<Vec<Tendon>, &'static str>, ImportError> {
        let actuator = Actuator::of(view)?;
        let autolimits = self.compiler(view.element).autolimits;
        let inputs = limits(view, ("ctrllimited", "ctrlrange"), autolimits, true)?;
        let forces = limits(view, ("forcelimited", "forcerange"), autolimits, true)?;
        let (curves, passive) = match (actuator.curves(), actuator.dynamics) {
            (Err(why), _) => return Ok(Err(why)),
            (Ok((_, Some(_))), _) if forces.is_some() => {
                return Ok(Err("a muscle whose gain and bias are bounded together"));
            }
            (Ok(curves), Dynamics::Filter | Dynamics::None) => curves,
            _ => return Ok(Err("a muscle whose activation grows at rest")),
        };
        let free = matches!(acted, Acted::Joint(j) if self.joints[j].kind == JointType::Free);
        let path = self.path(tree, view, &acted, tendons)?;
        let Some(path) = path.filter(|_| !free) else {
            return Ok(Err(
                "a muscle of neither a hinge, a slide, a ball, a tendon nor a site",
            ));
        };
        if let Some(why) = own_inertia(view)? {
            return Ok(Err(why));
        }
        let mut paths = Vec::new();
        for (curves, input) in [(Some(curves), resting(inputs)), (passive, 0.0)] {
            let Some(curves) = curves else {
                continue;
            };
            let mut muscle = match self.muscle(tree, view, &path, curves)? {
                Ok(muscle) => muscle,
                Err(why) => return Ok(Err(why)),
            };
            muscle.activation = input.clamp(0.0, 1.0);
            muscle.bounds = forces.unwrap_or(muscle.bounds);
            let muscle = Some(muscle);
            paths.push(Tendon {
                muscle,
                ..path.clone()
            });
        }
        if view.exactly::<2>("lengthrange")?.is_none()
            && let Some([least, most]) = paths[0].muscle.as_ref().map(|muscle| muscle.lengths)
        {
            let name = view.element.name();
            let text = format!(
                "muscle \"{name}\" has no lengthrange; {least:.6} to {most:.6} is taken, which the limits of its joints allow"
            );
            self.note(view.element, text);
        }
        if self.options.is_off("actuation") {
            return Ok(Ok(Vec::new()));
        }
        Ok(Ok(paths))
    }

    /// What an actuator does at the input nearest to zero.
    fn pull(
        &self,
        tree: &Tree,
        view: &View<'a>,
        acted: &Acted,
        tendons: &[Tendon],
    ) -> Result<Result<Pull, &'static str>, ImportError> {
        let mut actuator = Actuator::of(view)?;
        let element = view.element;
        let autolimits = self.compiler(element).autolimits;
        if actuator.gain.0 == Form::Other || actuator.bias.0 == Form::Other {
            return Ok(Err("an actuator of one's own"));
        }
        if let Some(why) = own_inertia(view)? {
            return Ok(Err(why));
        }
        let forces = limits(view, ("forcelimited", "forcerange"), autolimits, true)?;
        let inherits = 0.0 < actuator.inherit && actuator.follows_a_position();
        let own = ("ctrllimited", "ctrlrange");
        let mut inputs = limits(view, own, autolimits, !inherits)?;
        if inherits {
            let Some([lo, hi]) = self.inherited(acted, tendons)? else {
                return Ok(Err(
                    "an actuator that inherits the range of a joint or tendon without one",
                ));
            };
            let (middle, half) = (0.5 * (lo + hi), 0.5 * (hi - lo) * actuator.inherit);
            inputs = Some([middle - half, middle + half]);
        }
        if view.tristate("ctrllimited")? == Tristate::No {
            inputs = None;
        }
        if actuator.wants_ratio() {
            // d = 2ζ√(k m) with the inertia that the actuator meets, 1/m = J M⁻¹ Jᵀ.
            let mass = match self.path(tree, view, acted, tendons)? {
                Some(path) => {
                    let (moments, response) = self.response(tree, view, &path)?;
                    let ease = crate::math::dot(&moments, &response);
                    if 0.0 < ease { 1.0 / ease } else { 0.0 }
                }
                None => 0.0,
            };
            let (ratio, kp): (f64, f64) = (actuator.bias.1[2], actuator.gain.1[0]);
            actuator.bias.1[2] = -2.0 * ratio * (kp * mass).max(0.0).sqrt();
        }
        let input = resting(inputs);
        if input != 0.0 && matches!(actuator.dynamics, Dynamics::Integrator | Dynamics::Other) {
            return Ok(Err("an actuator whose activation grows at rest"));
        }
        let part = |(form, list): (Form, [f64; 10])| match form {
            Form::Fixed => [list[0], 0.0, 0.0],
            Form::Affine => [list[0], list[1], list[2]],
            _ => [0.0; 3],
        };
        let (g, b) = (part(actuator.gain), part(actuator.bias));
        let sum = |k: usize| g[k] * input + b[k];
        let bounds = forces.unwrap_or([-UNBOUNDED, UNBOUNDED]);
        let asked = inputs.map_or(UNBOUNDED, |range| g[0].abs() * most(range));
        Ok(Ok(Pull {
            constant: sum(0),
            stiffness: -sum(1),
            damping: -sum(2),
            bounds,
            asked: asked.min(most(bounds)),
        }))
    }
}

/// The input nearest to zero.
fn resting(inputs: Option<[f64; 2]>) -> f64 {
    inputs.map_or(0.0, |[lo, hi]| 0.0_f64.min(hi).max(lo))
}

/// Why an actuator with a rotor or damper of its own is refused.
fn own_inertia(view: &View<'_>) -> Result<Option<&'static str>, ImportError> {
    for what in ["armature", "damping"] {
        if view.padded::<5>(what, [0.0; 5])? != [0.0; 5] {
            return Ok(Some("an actuator with inertia or damping of its own"));
        }
    }
    Ok(None)
}
