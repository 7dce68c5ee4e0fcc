//! What an actuator does at rest: a constant force, a spring and a damper within bounds, as a push or as a servo.

use crate::world::{Servo, Tendon};

/// The largest force of an actuator without bounds \[N m\] or \[N\]: more than any robot has.
pub(super) const UNBOUNDED: f64 = 1e9;

/// What an actuator does with its input where it is: c − k l − d l̇.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pull {
    pub(super) constant: f64,
    pub(super) stiffness: f64,
    pub(super) damping: f64,
    /// Least and largest force.
    pub(super) bounds: [f64; 2],
    /// Largest force that its inputs ask for.
    pub(super) asked: f64,
}

impl Pull {
    pub(super) fn is_nothing(&self) -> bool {
        self.push(1.0) == Some(0.0)
    }

    /// A force without spring or damper, within the bounds.
    pub(super) fn push(&self, gear: f64) -> Option<f64> {
        let plain = self.stiffness == 0.0 && self.damping == 0.0;
        plain.then(|| gear * within(self.constant, self.bounds))
    }

    /// The larger bound, which holds on both sides of a servo.
    pub(super) fn most(&self) -> f64 {
        most(self.bounds)
    }

    /// Adds it to what acts along a path.
    pub(super) fn pull_at(&self, path: &mut Tendon, gear: f64) -> Result<(), &'static str> {
        if let Some(push) = self.push(gear) {
            path.push += push;
            return Ok(());
        }
        let mut rest = *self;
        if self.stiffness == 0.0 && self.most() == UNBOUNDED {
            // Without bounds a force and a damper act side by side.
            path.push += gear * self.constant;
            rest.constant = 0.0;
        }
        let servo = rest.servo(gear, 0.0)?;
        path.servo = Some(path.servo.map_or(servo, |old| both(old, servo)));
        Ok(())
    }

    /// As a servo of a position x = (l − l₀)/gear.
    pub(super) fn servo(&self, gear: f64, origin: f64) -> Result<Servo, &'static str> {
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
            max_force: (gear.abs() * self.most()).min(UNBOUNDED),
        })
    }
}

/// Two servos on one joint as one: k = k₁ + k₂ at the position (k₁x₁ + k₂x₂)/k, with both dampings and both bounds.
pub(super) fn both(a: Servo, b: Servo) -> Servo {
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

/// The larger of two bounds.
pub(super) fn most([lo, hi]: [f64; 2]) -> f64 {
    lo.abs().max(hi.abs())
}

/// The force nearest to one that is wanted.
pub(super) fn within(force: f64, [lo, hi]: [f64; 2]) -> f64 {
    force.max(lo).min(hi)
}
