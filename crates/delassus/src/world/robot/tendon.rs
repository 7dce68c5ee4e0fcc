//! Tendons: weighted sums of joint displacements, strings through points of links and around surfaces, and what else
//! actuators push, with limits, springs and friction of their own.

use super::rows::{JointRowList, JointRows, RowRoom, UNBOUNDED, coordinates, on_links};
use super::{Cord, FITS, Muscle, Posed, Robot, RobotItem, Transmission};
use crate::error::BuildError;
use crate::index::LinkId;
use crate::law::Law;
use crate::tree::spatial::Pose;
use crate::tree::{TreeError, TreeRows};
use crate::world::rows::{RowState, Target};
use crate::world::{JointPart, Servo};

/// A length l = l₀ + Σ cᵢ qᵢ + Σ lⱼ/dⱼ, over displacements of joints of one dof, and over the pieces of a string; or that
/// of a transmission.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tendon {
    /// Its name, or empty.
    pub name: String,
    /// Links whose joints it measures, with their factors.
    pub terms: Vec<(LinkId, f64)>,
    /// Strings through points of links and around surfaces.
    pub strings: Vec<Cord>,
    /// A length of another kind, which an actuator pushes.
    pub transmission: Option<Transmission>,
    /// What is added to the sum.
    pub offset: f64,
    /// Least and largest length.
    pub range: Option<[f64; 2]>,
    /// Of its spring, per length.
    pub stiffness: f64,
    /// Force against its velocity, per velocity.
    pub damping: f64,
    /// Lengths between which the spring is slack.
    pub rest: [f64; 2],
    /// Dry friction along it.
    pub friction: f64,
    /// Inertia against changes of its velocity \[kg\].
    pub armature: f64,
    /// What pulls it until it is driven otherwise.
    pub servo: Option<Servo>,
    /// A force that always acts along it, positive where it lengthens it.
    pub push: f64,
    /// A muscle along it.
    pub muscle: Option<Muscle>,
}

impl Tendon {
    /// Whether it does anything to its joints.
    pub fn acts(&self) -> bool {
        let numbers = [
            self.stiffness,
            self.damping,
            self.friction,
            self.armature,
            self.push,
        ];
        let pulls = self.servo.is_some() || self.muscle.is_some();
        self.range.is_some() || pulls || numbers.iter().any(|x| *x != 0.0)
    }

    /// Whether its constant force and its muscle are forces.
    pub(super) fn is_legal(&self) -> bool {
        self.push.is_finite() && self.muscle.is_none_or(|muscle| muscle.is_legal())
    }

    /// The links that it pulls at.
    pub(super) fn links(&self) -> Vec<LinkId> {
        let terms = self.terms.iter().map(|(link, _)| *link);
        let cords = self.strings.iter().flat_map(Cord::links);
        let pushed = self.transmission.iter().flat_map(Transmission::links);
        terms.chain(cords).chain(pushed).collect()
    }

    /// The same where the ground has moved with the robot.
    pub(super) fn moved(&self, base: &Pose) -> Tendon {
        Tendon {
            strings: self.strings.iter().map(|cord| cord.moved(base)).collect(),
            transmission: self.transmission.map(|other| other.moved(base)),
            ..self.clone()
        }
    }

    /// The same length times a gear, with nothing that acts along it.
    pub(crate) fn geared(&self, gear: f64) -> Tendon {
        let cord = |cord: &Cord| Cord {
            divisor: cord.divisor / gear,
            stops: cord.stops.clone(),
        };
        Tendon {
            terms: self.terms.iter().map(|(l, c)| (*l, gear * c)).collect(),
            strings: self.strings.iter().map(cord).collect(),
            offset: gear * self.offset,
            ..Tendon::default()
        }
    }

    /// Its length, and the row that its velocity is.
    pub fn measure(&self, posed: Posed<'_>, rows: &mut TreeRows) -> Result<f64, TreeError> {
        let mut length = self.offset + posed.sum(&self.terms)?;
        rows.start();
        posed.add_sum(rows, &self.terms, 1.0)?;
        for cord in &self.strings {
            length += cord.measure(posed, rows)?;
        }
        if let Some(other) = &self.transmission {
            length += other.measure(posed, rows)?;
        }
        Ok(length)
    }

    /// Whether nothing but its limits has rows.
    fn has_limits_alone(&self) -> bool {
        let others = [self.friction, self.armature, self.stiffness, self.damping];
        others.iter().all(|x| *x == 0.0) && self.servo.is_none()
    }

    /// How far its spring is strained at a length.
    fn strain(&self, length: f64) -> f64 {
        let [lo, hi] = self.rest;
        length - length.clamp(lo.min(hi), hi.max(lo))
    }

    /// Whether its spring or its constant force hold any.
    pub(super) fn holds_energy(&self) -> bool {
        self.stiffness != 0.0 || self.push != 0.0
    }

    /// What its spring and its constant force hold at a length \[J\].
    pub(super) fn energy(&self, length: f64) -> f64 {
        0.5 * self.stiffness * self.strain(length).powi(2) - self.push * length
    }
}

impl Robot {
    /// Adds Jᵀf of constant forces and muscles, which have no rows.
    pub(super) fn add_pushes(&self, tau: &mut [f64]) -> Result<(), TreeError> {
        let pushes = |tendon: &&Tendon| tendon.push != 0.0 || tendon.muscle.is_some();
        for tendon in self.tendons.iter().filter(pushes) {
            let mut room = RowRoom::take();
            let RowRoom { rows, matrix, .. } = &mut room;
            let length = tendon.measure(self.posed(), rows)?;
            self.tree.write_rows(&self.data, rows, matrix);
            let velocity = crate::math::dot(matrix, &self.v);
            let muscle = tendon.muscle.map_or(0.0, |m| m.force(length, velocity));
            for (tau, factor) in tau.iter_mut().zip(&*matrix) {
                *tau += (tendon.push + muscle) * factor;
            }
            room.give_back();
        }
        Ok(())
    }

    /// J̇v of a tendon, by central differences along the motion; of a sum of displacements it is nothing.
    fn drift(&self, tendon: &Tendon) -> Result<f64, TreeError> {
        if tendon.strings.is_empty() && tendon.transmission.is_none() {
            return Ok(0.0);
        }
        let (mut data, mut ends) = (self.data.clone(), [0.0; 2]);
        // A way of about 1e-5 [m or rad] keeps the most digits of a second difference.
        let ahead = 1e-5 / crate::math::max_abs(&self.v).max(1.0);
        for (end, ahead) in ends.iter_mut().zip([ahead, -ahead]) {
            let (mut q, mut rows) = (self.q.clone(), TreeRows::default());
            self.tree.integrate(&mut q, &self.v, ahead)?;
            self.tree.kinematics(&q, &mut data)?;
            let posed = Posed {
                tree: &self.tree,
                data: &data,
                q: &q,
            };
            tendon.measure(posed, &mut rows)?;
            *end = crate::math::dot(&self.tree.rows_matrix(&data, &rows), &self.v);
        }
        Ok((ends[0] - ends[1]) / (2.0 * ahead))
    }

    /// Energy of the inertia along tendons, ½ a l̇² \[J\].
    pub(super) fn tendon_energy(&self) -> f64 {
        let heavy = self.tendons.iter().filter(|tendon| tendon.armature != 0.0);
        heavy.fold(0.0, |sum, tendon| {
            let mut room = RowRoom::take();
            let measured = tendon.measure(self.posed(), &mut room.rows);
            measured.expect(FITS);
            self.tree
                .write_rows(&self.data, &room.rows, &mut room.matrix);
            let rate = crate::math::dot(&room.matrix, &self.v);
            room.give_back();
            sum + 0.5 * tendon.armature * rate.powi(2)
        })
    }

    /// Limits, springs, servos, friction and inertia of its tendons in a step of h seconds.
    pub(super) fn tendon_rows(&self, h: f64, all: &mut JointRowList) -> Result<(), BuildError> {
        let mut room = RowRoom::take();
        for (i, tendon) in self.tendons.iter().enumerate() {
            let far = self.leaves_out_tendon(i, h);
            if far && tendon.has_limits_alone() {
                continue;
            }
            let RowRoom {
                rows, matrix, on, ..
            } = &mut room;
            rows.clear();
            let measured = tendon.measure(self.posed(), rows);
            let length = measured.map_err(|error| self.fault(error))?;
            self.tree.write_rows(&self.data, rows, matrix);
            let velocity = crate::math::dot(matrix, &self.v);
            if crate::math::max_abs(matrix) == 0.0 {
                continue;
            }
            let by_links = !tendon.strings.is_empty();
            if by_links {
                self.tree.write_link_rows(&self.data, rows, &[0], on);
            }
            let mut push = |sign: f64, part: JointPart, law: Law, (target, gap): (Target, f64)| {
                let rows = JointRows {
                    item: RobotItem::Tendon(i as u32),
                    part,
                    law,
                    target,
                };
                let state = RowState {
                    gap,
                    velocity: sign * velocity,
                };
                match by_links {
                    true => all.push_times(sign, rows, on_links(on), [state]),
                    false => all.push_times(sign, rows, coordinates(matrix), [state]),
                }
            };
            let within = |force: f64| Law::Interval {
                lo: -force,
                hi: force,
            };
            if 0.0 < tendon.friction {
                let still = (Target::Velocity(0.0), 0.0);
                push(1.0, JointPart::Friction(0), within(tendon.friction), still);
            }
            if 0.0 < tendon.armature {
                // λ = a (l̇ − l̇⁺) with l̇ = J v − h J̇v before the step: a spring of a/h² that is h l̇ short.
                let drift = self.drift(tendon).map_err(|error| self.fault(error))?;
                let inertia = Target::Spring(tendon.armature / (h * h), 0.0);
                let short = (inertia, -h * (velocity - h * drift));
                push(1.0, JointPart::Friction(1), within(UNBOUNDED), short);
            }
            if let Some([lo, hi]) = tendon.range.filter(|_| !far) {
                let limit = |gap: f64| (Target::Limit, gap);
                use JointPart::{FirstLimit, SecondLimit};
                push(1.0, FirstLimit, Law::Unilateral, limit(length - lo));
                push(-1.0, SecondLimit, Law::Unilateral, limit(hi - length));
            }
            let strain = tendon.strain(length);
            let stiffness = if strain == 0.0 { 0.0 } else { tendon.stiffness };
            if 0.0 < stiffness + tendon.damping {
                let spring = (Target::Spring(stiffness, tendon.damping), strain);
                push(1.0, JointPart::Motor, within(UNBOUNDED), spring);
            }
            if let Some(servo) = tendon.servo {
                let spring = Target::Spring(servo.stiffness, servo.damping);
                let gap = length - servo.position;
                push(1.0, JointPart::Servo, servo.law(), (spring, gap));
            }
        }
        room.give_back();
        Ok(())
    }
}
