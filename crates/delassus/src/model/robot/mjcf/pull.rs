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

    /// Adds it to what acts along a path; returns a servo that needs a path of its own.
    pub(super) fn pull_at(
        &self,
        path: &mut Tendon,
        gear: f64,
    ) -> Result<Option<Servo>, &'static str> {
        if let Some(push) = self.push(gear) {
            path.push += push;
            return Ok(None);
        }
        let (pushed, servo) = (self.part(gear), self.servo(gear, 0.0)?);
        path.push += pushed;
        Ok(added(&mut path.servo, servo))
    }

    /// What of it acts as a force beside its servo: the constant, where no spring has a place to rest.
    pub(super) fn part(&self, gear: f64) -> f64 {
        if self.stiffness == 0.0 {
            gear * self.constant
        } else {
            0.0
        }
    }

    /// As a servo of a position x = (l − l₀)/gear, beside the force of [`Pull::part`].
    pub(super) fn servo(&self, gear: f64, origin: f64) -> Result<Servo, &'static str> {
        let (stiffness, damping) = (self.stiffness * gear * gear, self.damping * gear * gear);
        if !(0.0 <= stiffness && 0.0 <= damping && (stiffness + damping).is_finite()) {
            return Err("an actuator that pushes away from where it is");
        }
        // clamp(c − d l̇, lo, hi) = c + clamp(−d l̇, lo − c, hi − c); a spring takes c into its position.
        let (position, beside) = if stiffness == 0.0 {
            (0.0, self.constant)
        } else {
            let constant = gear * (self.constant - self.stiffness * origin);
            (constant / stiffness, 0.0)
        };
        if !(position.is_finite() && beside.is_finite()) {
            return Err("an actuator without a place to rest");
        }
        let mut bounds = self.bounds.map(|force| match force.abs() < UNBOUNDED {
            true => gear * (force - beside),
            false => gear.signum() * force,
        });
        if gear < 0.0 {
            bounds.reverse();
        }
        let servo = Servo {
            position,
            stiffness,
            damping,
            max_force: UNBOUNDED,
            min_force: None,
        };
        Ok(held(servo, bounds))
    }
}

/// A servo within bounds, those of before aside.
pub(super) fn held(servo: Servo, bounds: [f64; 2]) -> Servo {
    let [lo, hi] = bounds.map(|force| force.clamp(-UNBOUNDED, UNBOUNDED));
    Servo {
        max_force: hi,
        min_force: (lo != -hi).then_some(lo),
        ..servo
    }
}

/// Adds a servo to the one that acts already; where bounds keep them from being one, returns the one that wants no
/// position.
pub(super) fn added(acting: &mut Option<Servo>, servo: Servo) -> Option<Servo> {
    let free = |servo: &Servo| servo.bounds() == [-UNBOUNDED, UNBOUNDED];
    let Some(old) = acting else {
        *acting = Some(servo);
        return None;
    };
    if free(old) && free(&servo) {
        *old = both(*old, servo);
        return None;
    }
    Some(match old.stiffness {
        0.0 => std::mem::replace(old, servo),
        _ => servo,
    })
}

/// Two servos without bounds as one: k = k₁ + k₂ at the position (k₁x₁ + k₂x₂)/k, with both dampings.
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
        ..a
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
