//! A robot in the problem of one step: its mass and momentum, rows on its links, and rows on its joints.

use super::step::Flight;
use super::{ClosureKind, FITS, OWN_LINK, Robot, RobotJoint};
use crate::error::BuildError;
use crate::index::{LinkId, MassId};
use crate::law::Law;
use crate::problem::mass::MassBlock;
use crate::problem::place::Place;
use crate::tree::spatial::Force;
use crate::tree::{Data, LinkPoint, Offsets, TreeError, TreeRows};
use crate::world::rows::Target;
use crate::world::{Bodies, JointPart, RobotItem, World};

use glam::DVec3;

/// Rows whose numbers are all below this share of the largest are zero: a planar loop never leaves its plane.
const NOTHING: f64 = 1e-12;

/// More than anything pushes with \[N\] or \[N m\]: springs and dampers have no bound.
pub(super) const UNBOUNDED: f64 = 1e9;

/// A robot with its place in the problem.
#[derive(Debug)]
pub(in crate::world) struct PlacedRobot<'a> {
    pub(in crate::world) robot: &'a Robot,
    pub(in crate::world) mass: MassId,
    /// Poses now, velocities of v¹.
    data: Data,
}

/// One row on joint velocities, or the rows of one loop.
pub(in crate::world) struct JointRows {
    pub(in crate::world) item: RobotItem,
    pub(in crate::world) part: JointPart,
    pub(in crate::world) law: Law,
    pub(in crate::world) target: Target,
    /// Where it acts on the robot, with its rows there.
    pub(in crate::world) on: Vec<(Place, Vec<f64>)>,
    /// Violation and velocity of each row at the beginning of the step.
    pub(in crate::world) gap: Vec<f64>,
    pub(in crate::world) velocity: Vec<f64>,
}

impl Robot {
    /// M + hD and the momentum before constraints, p = M v + h(τ + Jᵀf − bias), in axes that do not turn.
    pub(in crate::world) fn mass_block(
        &self,
        world: &World,
        h: f64,
    ) -> Result<(MassBlock, Vec<f64>), BuildError> {
        let damped = if self.damped.0 == h {
            std::sync::Arc::clone(&self.damped.1)
        } else {
            let soft = self.softened(h).map_err(|error| self.fault(error))?;
            soft.into()
        };
        let n = self.tree.n_dofs();
        let mut data = self.data.clone();
        if let Some(Flight { end, .. }) = &self.free {
            let mut p = vec![0.0; n];
            let block = damped
                .mul_mass(&mut data, end, &mut p)
                .and_then(|()| MassBlock::placed_tree(damped, data, &self.q));
            return Ok((block.map_err(|error| self.fault(error))?, p));
        }
        let (mut bias, mut p) = (vec![0.0; n], vec![0.0; n]);
        let mut v = self.v.clone();
        let mut compute = || {
            damped.bias(&mut data, (&self.q, &self.v), world.gravity, &mut bias)?;
            self.tree.unturned(&mut v, h)?;
            self.tree.mul_mass(&mut data, &v, &mut p)?;
            self.applied(world.bodies(), (world.gravity, 0.0))
        };
        let applied = compute().map_err(|error| self.fault(error))?;
        for k in 0..n {
            p[k] += h * (applied[k] - bias[k]);
        }
        let block =
            MassBlock::placed_tree(damped, data, &self.q).map_err(|error| self.fault(error))?;
        Ok((block, p))
    }

    /// τ = τ_given + Jᵀf − K (q − rest): joint forces that were given, what forces given on links are at the joints, and
    /// springs where they are `ahead` seconds from now.
    pub(super) fn applied(
        &self,
        bodies: &Bodies,
        (gravity, ahead): (DVec3, f64),
    ) -> Result<Vec<f64>, TreeError> {
        let mut tau = self.force.clone();
        self.add_passive(&mut tau, (gravity, ahead))?;
        for (i, id) in self.bodies.iter().enumerate() {
            let (force, torque) = (bodies.force[id.index()], bodies.torque[id.index()]);
            if force != DVec3::ZERO || torque != DVec3::ZERO {
                let at = LinkPoint::new(LinkId(i as u32), bodies.position[id.index()]);
                let force = Force { torque, force };
                self.tree.add_wrench(&self.data, at, force, &mut tau)?;
            }
        }
        Ok(tau)
    }

    pub(super) fn fault(&self, error: TreeError) -> BuildError {
        BuildError::Tree {
            place: format!("robot \"{}\"", self.name),
            error,
        }
    }

    /// The robot in a problem in which its velocity without constraints is v¹.
    pub(in crate::world) fn placed(
        &self,
        mass: MassId,
        free: &[f64],
    ) -> Result<PlacedRobot<'_>, BuildError> {
        let mut data = self.data.clone();
        let moved = self.tree.velocities(&self.q, free, &mut data);
        moved.map_err(|error| self.fault(error))?;
        Ok(PlacedRobot {
            robot: self,
            mass,
            data,
        })
    }

    /// Limits, motors, servos, friction and loops at the end, `time`, of a step of h seconds.
    pub(in crate::world) fn joint_rows(
        &self,
        time: f64,
        h: f64,
    ) -> Result<Vec<JointRows>, BuildError> {
        let mut all = Vec::new();
        for item in 0..self.joints.len() {
            self.drive(item, (time, h), &mut all);
        }
        self.tendon_rows(h, &mut all)?;
        for (i, closure) in self.closures.iter().enumerate() {
            let (mut rows, mut gap) = (TreeRows::default(), Vec::new());
            let added = closure.kind.add_rows(self.posed(), &mut rows, &mut gap);
            added.expect(FITS);
            let matrix = self.tree.rows_matrix(&self.data, &rows);
            let keep = that_move(&matrix, self.tree.n_dofs());
            if keep.is_empty() {
                continue;
            }
            let on = match closure.kind {
                ClosureKind::Joint { .. } | ClosureKind::Sums { .. } => coordinates(&matrix),
                ClosureKind::Connect { .. } | ClosureKind::Weld { .. } => {
                    let links = self.tree.rows_on_links(&self.data, &rows, &keep);
                    let place = |link| Place::Link { link };
                    links
                        .into_iter()
                        .map(|(l, rows)| (place(l), rows))
                        .collect()
                }
            };
            let velocity = |row: usize| {
                let n = self.tree.n_dofs();
                crate::math::dot(&matrix[row * n..(row + 1) * n], &self.v)
            };
            all.push(JointRows {
                item: RobotItem::Closure(i as u32),
                part: JointPart::Held,
                law: Law::Equality,
                target: Target::Hold,
                on,
                gap: keep.iter().map(|&row| gap[row]).collect(),
                velocity: keep.iter().map(|&row| velocity(row)).collect(),
            });
        }
        Ok(all)
    }

    fn drive(&self, number: usize, (time, h): (f64, f64), all: &mut Vec<JointRows>) {
        let (item, joint) = (RobotItem::Joint(number as u32), &self.joints[number]);
        let mut push = |dof: usize, sign: f64, (part, law, target, gap)| {
            all.push(JointRows {
                item,
                part,
                law,
                target,
                on: vec![(Place::Coordinate { dof }, vec![sign])],
                gap: vec![gap],
                velocity: vec![sign * self.v[dof]],
            });
        };
        // Bounds are forces here; assembly turns them into impulses.
        let within = |force: f64| Law::Interval {
            lo: -force,
            hi: force,
        };
        let Offsets { q: at, v: dof } = joint.at;
        let control = &joint.control;
        let drive = &control.drive;
        if 0.0 < drive.friction {
            let still = Target::Velocity(0.0);
            for k in 0..joint.dofs {
                let part = JointPart::Friction(k as u8);
                push(dof + k, 1.0, (part, within(drive.friction), still, 0.0));
            }
        }
        if let Some((_, damping)) = self.drag.iter().find(|(link, _)| *link == joint.link) {
            for k in 0..joint.dofs {
                // Dry friction has the numbers before.
                let part = JointPart::Friction((joint.dofs + k) as u8);
                let drag = Target::Spring(0.0, *damping);
                push(dof + k, 1.0, (part, within(UNBOUNDED), drag, 0.0));
            }
        }
        if joint.dofs != 1 {
            self.swing_limit(item, joint, all);
            return;
        }
        let q = self.q[at];
        if let Some([lo, hi]) = drive.limits.filter(|_| !self.leaves_out(number, h)) {
            use JointPart::{FirstLimit, SecondLimit};
            push(
                dof,
                1.0,
                (FirstLimit, Law::Unilateral, Target::Limit, q - lo),
            );
            push(
                dof,
                -1.0,
                (SecondLimit, Law::Unilateral, Target::Limit, hi - q),
            );
        }
        if let Some(motor) = drive.motor.filter(|_| control.holds(time)) {
            let speed = Target::Velocity(motor.speed);
            push(
                dof,
                1.0,
                (JointPart::Motor, within(motor.max_force), speed, 0.0),
            );
        }
        if let Some(servo) = control.servo(time) {
            let spring = Target::Spring(servo.stiffness, servo.damping);
            let gap = q - servo.position;
            push(
                dof,
                1.0,
                (JointPart::Servo, within(servo.max_force), spring, gap),
            );
        }
    }
}

impl Robot {
    /// The largest angle of a ball: θ = |θ| u changes its length at the rate u·ω, in the axes of the link as of the
    /// parent.
    fn swing_limit(&self, item: RobotItem, joint: &RobotJoint, all: &mut Vec<JointRows>) {
        let Some([_, most]) = joint.control.drive.limits else {
            return;
        };
        let Offsets { q: at, v: dof } = joint.at;
        let turn = super::spring::turn(&self.q[at..at + 4]);
        let Some(axis) = turn.try_normalize() else {
            return;
        };
        let axis = axis.to_array();
        let on = (0..3).filter(|k| axis[*k] != 0.0);
        let on = on.map(|k| (Place::Coordinate { dof: dof + k }, vec![-axis[k]]));
        all.push(JointRows {
            item,
            part: JointPart::SecondLimit,
            law: Law::Unilateral,
            target: Target::Limit,
            on: on.collect(),
            gap: vec![most - turn.length()],
            velocity: vec![-crate::math::dot(&axis, &self.v[dof..dof + 3])],
        });
    }
}

impl PlacedRobot<'_> {
    /// Velocity of a link's centre of mass without constraints, linear part first.
    pub(in crate::world) fn free_velocity(&self, link: LinkId) -> [f64; 6] {
        let tree = &self.robot.tree;
        let pose = tree.pose(&self.data, link).expect(OWN_LINK);
        let centre = pose.point(tree.links()[link.index()].body.com);
        let motion = tree.point_velocity(&self.data, link, centre);
        let motion = motion.expect(OWN_LINK);
        let (l, a) = (motion.linear, motion.angular);
        [l.x, l.y, l.z, a.x, a.y, a.z]
    }
}

/// Rows that move something.
fn that_move(matrix: &[f64], n: usize) -> Vec<usize> {
    let largest = crate::math::max_abs(matrix);
    let rows = matrix.chunks_exact(n.max(1)).enumerate();
    rows.filter(|(_, row)| NOTHING * largest < crate::math::max_abs(row))
        .map(|(i, _)| i)
        .collect()
}

/// One row over all velocities as rows on those coordinates that it measures.
pub(super) fn coordinates(row: &[f64]) -> Vec<(Place, Vec<f64>)> {
    let factors = row.iter().enumerate();
    factors
        .filter(|(_, factor)| **factor != 0.0)
        .map(|(dof, factor)| (Place::Coordinate { dof }, vec![*factor]))
        .collect()
}
