//! A robot in the problem of one step: its mass and momentum, rows on its links, and rows on its joints.

use std::cell::RefCell;
use std::sync::Arc;

use super::step::Flight;
use super::{ClosureKind, FITS, OWN_LINK, Robot, RobotJoint};
use crate::error::BuildError;
use crate::index::{LinkId, MassId};
use crate::law::Law;
use crate::problem::mass::{MassBlock, TreeMass};
use crate::problem::place::{At, Place};
use crate::tree::spatial::Force;
use crate::tree::{Data, LinkPoint, LinkRows, Offsets, Tree, TreeError, TreeRows};
use crate::world::rows::{RowState, Target};
use crate::world::{Bodies, JointPart, RobotItem, World};

use glam::DVec3;

/// Rows whose numbers are all below this share of the largest are zero: a planar loop never leaves its plane.
const NOTHING: f64 = 1e-12;

/// More than anything pushes with \[N\] or \[N m\]: springs and dampers have no bound.
pub(super) const UNBOUNDED: f64 = 1e9;

/// Places of a block that need no list of their own.
const FEW: usize = 12;

/// A robot with its place in the problem.
#[derive(Debug)]
pub(in crate::world) struct PlacedRobot {
    tree: Arc<Tree>,
    pub(in crate::world) mass: MassId,
    /// Poses now, velocities of v¹.
    data: Data,
}

/// Momentum, bias, velocities and forces of a robot, for a moment.
#[derive(Debug, Default)]
pub(in crate::world) struct JointForces {
    pub(in crate::world) p: Vec<f64>,
    bias: Vec<f64>,
    v: Vec<f64>,
    tau: Vec<f64>,
}

/// What one row on joint velocities is, or the rows of one loop are.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct JointRows {
    pub(in crate::world) item: RobotItem,
    pub(in crate::world) part: JointPart,
    pub(in crate::world) law: Law,
    pub(in crate::world) target: Target,
}

/// Rows of a robot one after the other, in memory that is kept.
#[derive(Debug, Default)]
pub(in crate::world) struct JointRowList {
    /// What each block is, and where its places and its rows end.
    blocks: Vec<(JointRows, usize, usize)>,
    /// Where blocks act on the robot, and where the numbers of each end.
    places: Vec<(Place, usize)>,
    numbers: Vec<f64>,
    /// Violation and velocity of each row at the beginning of the step.
    states: Vec<RowState>,
}

impl JointRowList {
    /// Adds a block: where it acts, with its rows there, and the state of each row.
    pub(super) fn push<'a>(
        &mut self,
        rows: JointRows,
        on: impl IntoIterator<Item = (Place, &'a [f64])>,
        states: impl IntoIterator<Item = RowState>,
    ) {
        self.push_times(1.0, rows, on, states);
    }

    /// The same with all its rows times a sign.
    pub(super) fn push_times<'a>(
        &mut self,
        sign: f64,
        rows: JointRows,
        on: impl IntoIterator<Item = (Place, &'a [f64])>,
        states: impl IntoIterator<Item = RowState>,
    ) {
        for (place, row) in on {
            self.numbers.extend(row.iter().map(|x| sign * x));
            self.places.push((place, self.numbers.len()));
        }
        self.states.extend(states);
        self.blocks
            .push((rows, self.places.len(), self.states.len()));
    }

    /// Forgets all.
    pub(in crate::world) fn clear(&mut self) {
        self.blocks.clear();
        self.places.clear();
        self.numbers.clear();
        self.states.clear();
    }

    /// Every block with its places on a mass and the states of its rows.
    pub(in crate::world) fn each(
        &self,
        mass: MassId,
        mut visit: impl FnMut(&JointRows, &[At<'_>], &[RowState]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let (mut place, mut number, mut state) = (0, 0, 0);
        for (rows, last_place, last_state) in &self.blocks {
            let mut numbers = number;
            let on = self.places[place..*last_place].iter().map(|&(place, end)| {
                let rows = &self.numbers[numbers..end];
                numbers = end;
                At { mass, place, rows }
            });
            let states = &self.states[state..*last_state];
            let count = last_place - place;
            let mut few = [At {
                mass,
                place: Place::Plain,
                rows: &[],
            }; FEW];
            match few.get_mut(..count) {
                Some(few) => {
                    few.iter_mut().zip(on).for_each(|(to, at)| *to = at);
                    visit(rows, few, states)?;
                }
                None => visit(rows, &on.collect::<Vec<At<'_>>>(), states)?,
            }
            number = match last_place.checked_sub(1) {
                Some(last) => self.places[last].1,
                None => 0,
            };
            (place, state) = (*last_place, *last_state);
        }
        Ok(())
    }
}

impl Robot {
    /// M + hD and the momentum before constraints, p = M v + h(τ + Jᵀf − bias), in axes that do not turn. `old` is a tree
    /// that nobody needs any more.
    pub(in crate::world) fn mass_block(
        &self,
        world: &World,
        h: f64,
        old: Option<TreeMass>,
        forces: &mut JointForces,
    ) -> Result<MassBlock, BuildError> {
        // A copy of the pointer is counted, and all copies of a world in a batch share that count.
        let mut mass = match (old, self.damped.0 == h) {
            (Some(old), true) if old.is_of(&self.damped.1) => old,
            (_, true) => TreeMass::unplaced(Arc::clone(&self.damped.1)),
            (_, false) => {
                let soft = self.softened(h).map_err(|error| self.fault(error))?;
                TreeMass::unplaced(soft.into())
            }
        };
        let made = self.find_bias(world, &mut mass, forces);
        let made = made.and_then(|()| mass.placed(&self.q));
        let made = made.and_then(|mass| {
            self.find_momentum(world, h, &mass, forces)?;
            Ok(mass)
        });
        made.map_err(|error| self.fault(error))
    }

    /// Poses, and the forces that keep joints from accelerating.
    fn find_bias(
        &self,
        world: &World,
        mass: &mut TreeMass,
        forces: &mut JointForces,
    ) -> Result<(), TreeError> {
        let (damped, data) = mass.unplaced_mut();
        let bias = &mut forces.bias;
        bias.clear();
        bias.resize(self.tree.n_dofs(), 0.0);
        if self.free.is_some() {
            return damped.kinematics(&self.q, data);
        }
        // Its own data is that of its state.
        damped.bias_from(&self.data, data, (&self.v, world.gravity), bias)
    }

    /// The momentum before constraints.
    fn find_momentum(
        &self,
        world: &World,
        h: f64,
        mass: &MassBlock,
        forces: &mut JointForces,
    ) -> Result<(), TreeError> {
        let JointForces { p, bias, v, tau } = forces;
        p.clear();
        p.resize(self.tree.n_dofs(), 0.0);
        if let Some(Flight { end, .. }) = &self.free {
            mass.mul(end, p);
            return Ok(());
        }
        v.clone_from(&self.v);
        self.tree.unturned(v, h)?;
        // M v = (M + hD) v − hD v
        mass.mul(v, p);
        if let MassBlock::Tree(damped) = mass {
            damped.tree().take_added_armature(&self.tree, v, p);
        }
        self.applied(world.bodies(), (world.gravity, 0.0), tau)?;
        for (p, (tau, bias)) in p.iter_mut().zip(tau.iter().zip(bias.iter())) {
            *p += h * (tau - bias);
        }
        Ok(())
    }

    /// τ = τ_given + Jᵀf − K (q − rest): joint forces that were given, what forces given on links are at the joints, and
    /// springs where they are `ahead` seconds from now.
    pub(super) fn applied(
        &self,
        bodies: &Bodies,
        (gravity, ahead): (DVec3, f64),
        tau: &mut Vec<f64>,
    ) -> Result<(), TreeError> {
        tau.clone_from(&self.force);
        self.add_passive(tau, (gravity, ahead))?;
        for (i, id) in self.bodies.iter().enumerate() {
            let (force, torque) = (bodies.force[id.index()], bodies.torque[id.index()]);
            if force != DVec3::ZERO || torque != DVec3::ZERO {
                let at = LinkPoint::new(LinkId(i as u32), bodies.position[id.index()]);
                let force = Force { torque, force };
                self.tree.add_wrench(&self.data, at, force, tau)?;
            }
        }
        Ok(())
    }

    pub(super) fn fault(&self, error: TreeError) -> BuildError {
        BuildError::Tree {
            place: format!("robot \"{}\"", self.name),
            error,
        }
    }

    /// The robot in a problem in which its velocity without constraints is v¹, and how its links move then where somebody
    /// will ask for it. `old` is one that nobody needs any more.
    pub(in crate::world) fn placed(
        &self,
        mass: MassId,
        (free, moves): (&[f64], bool),
        old: Option<PlacedRobot>,
    ) -> Result<PlacedRobot, BuildError> {
        let mut placed = match old {
            Some(old) if Arc::ptr_eq(&old.tree, &self.tree) => PlacedRobot { mass, ..old },
            _ => PlacedRobot {
                tree: Arc::clone(&self.tree),
                mass,
                data: self.data.clone(),
            },
        };
        if moves {
            let moved = self.tree.velocities(&self.q, free, &mut placed.data);
            moved.map_err(|error| self.fault(error))?;
        }
        Ok(placed)
    }

    /// Whether a joint parts two of its links, or one and what is no link of it, along a direction at a point.
    pub(in crate::world) fn can_part(
        &self,
        links: (LinkId, Option<LinkId>),
        at: (DVec3, DVec3),
    ) -> bool {
        self.tree.can_part(&self.data, links, at)
    }

    /// Limits, motors, servos, friction and loops at the end, `time`, of a step of h seconds.
    pub(in crate::world) fn joint_rows(
        &self,
        time: f64,
        h: f64,
        all: &mut JointRowList,
    ) -> Result<(), BuildError> {
        all.clear();
        for item in 0..self.joints.len() {
            self.drive(item, (time, h), all);
        }
        self.tendon_rows(h, all)?;
        let mut room = RowRoom::take();
        for (i, closure) in self.closures.iter().enumerate() {
            let RowRoom {
                rows,
                gap,
                matrix,
                keep,
                on,
            } = &mut room;
            rows.clear();
            gap.clear();
            let added = closure.kind.add_rows(self.posed(), rows, gap);
            added.expect(FITS);
            self.tree.write_rows(&self.data, rows, matrix);
            find_moving(matrix, self.tree.n_dofs(), keep);
            if keep.is_empty() {
                continue;
            }
            let velocity = |row: usize| {
                let n = self.tree.n_dofs();
                crate::math::dot(&matrix[row * n..(row + 1) * n], &self.v)
            };
            let held = JointRows {
                item: RobotItem::Closure(i as u32),
                part: JointPart::Held,
                law: Law::Equality,
                target: Target::Hold,
            };
            let states = keep.iter().map(|&row| RowState {
                gap: gap[row],
                velocity: velocity(row),
            });
            match closure.kind {
                ClosureKind::Joint { .. } | ClosureKind::Sums { .. } => {
                    all.push(held, coordinates(matrix), states);
                }
                ClosureKind::Connect { .. } | ClosureKind::Weld { .. } => {
                    self.tree.write_link_rows(&self.data, rows, keep, on);
                    all.push(held, on_links(on), states);
                }
            }
        }
        room.give_back();
        Ok(())
    }

    fn drive(&self, number: usize, (time, h): (f64, f64), all: &mut JointRowList) {
        let (item, joint) = (RobotItem::Joint(number as u32), &self.joints[number]);
        let mut push = |dof: usize, sign: f64, (part, law, target, gap)| {
            let rows = JointRows {
                item,
                part,
                law,
                target,
            };
            let velocity = sign * self.v[dof];
            let on = [(Place::Coordinate { dof }, &[sign][..])];
            all.push(rows, on, [RowState { gap, velocity }]);
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
        if let Some([lo, hi]) = drive.limits {
            use JointPart::{FirstLimit, SecondLimit};
            let sides = [(FirstLimit, 1.0, q - lo), (SecondLimit, -1.0, hi - q)];
            let taken = self.takes_in(number, [lo, hi], h);
            for ((part, sign, gap), _) in sides.into_iter().zip(taken).filter(|(_, taken)| *taken) {
                push(dof, sign, (part, Law::Unilateral, Target::Limit, gap));
            }
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
            push(dof, 1.0, (JointPart::Servo, servo.law(), spring, gap));
        }
    }
}

impl Robot {
    /// The largest angle of a ball: θ = |θ| u changes its length at the rate u·ω, in the axes of the link as of the
    /// parent.
    fn swing_limit(&self, item: RobotItem, joint: &RobotJoint, all: &mut JointRowList) {
        let Some([_, most]) = joint.control.drive.limits else {
            return;
        };
        let Offsets { q: at, v: dof } = joint.at;
        let turn = super::spring::turn(&self.q[at..at + 4]);
        let Some(axis) = turn.try_normalize() else {
            return;
        };
        // −u, one number a velocity.
        let along = (-axis).to_array();
        let on = along.chunks_exact(1).enumerate();
        let on = on.filter(|(_, row)| row[0] != 0.0);
        let on = on.map(|(k, row)| (Place::Coordinate { dof: dof + k }, row));
        let rows = JointRows {
            item,
            part: JointPart::SecondLimit,
            law: Law::Unilateral,
            target: Target::Limit,
        };
        let gap = most - turn.length();
        let velocity = crate::math::dot(&along, &self.v[dof..dof + 3]);
        all.push(rows, on, [RowState { gap, velocity }]);
    }
}

impl PlacedRobot {
    /// Velocity of a link's centre of mass without constraints, linear part first.
    pub(in crate::world) fn free_velocity(&self, link: LinkId) -> [f64; 6] {
        let tree = &self.tree;
        let pose = tree.pose(&self.data, link).expect(OWN_LINK);
        let centre = pose.point(tree.links()[link.index()].body.com);
        let motion = tree.point_velocity(&self.data, link, centre);
        let motion = motion.expect(OWN_LINK);
        let (l, a) = (motion.linear, motion.angular);
        [l.x, l.y, l.z, a.x, a.y, a.z]
    }
}

/// Rows that move something.
fn find_moving(matrix: &[f64], n: usize, keep: &mut Vec<usize>) {
    let largest = crate::math::max_abs(matrix);
    let rows = matrix.chunks_exact(n.max(1)).enumerate();
    let moving = rows.filter(|(_, row)| NOTHING * largest < crate::math::max_abs(row));
    keep.clear();
    keep.extend(moving.map(|(i, _)| i));
}

thread_local! {
    /// Rows of loops and tendons while they are found: a step does it again and again. It is no state: whoever takes it
    /// finds it empty.
    static ROOM: RefCell<RowRoom> = RefCell::default();
}

/// Room for the rows of a loop or a tendon.
#[derive(Debug, Default)]
pub(super) struct RowRoom {
    pub(super) rows: TreeRows,
    /// How far each is open.
    pub(super) gap: Vec<f64>,
    /// Rows over all velocities, those that move something, and rows on links.
    pub(super) matrix: Vec<f64>,
    pub(super) keep: Vec<usize>,
    pub(super) on: LinkRows,
}

impl RowRoom {
    /// Empty room, for a moment.
    pub(super) fn take() -> RowRoom {
        let mut room = ROOM.take();
        room.rows.clear();
        room.gap.clear();
        room
    }

    /// For whoever comes next.
    pub(super) fn give_back(self) {
        ROOM.set(self);
    }
}

/// Rows on links with their places.
pub(super) fn on_links(rows: &LinkRows) -> impl Iterator<Item = (Place, &[f64])> {
    rows.each().map(|(link, rows)| (Place::Link { link }, rows))
}

/// One row over all velocities as rows on those coordinates that it measures.
pub(super) fn coordinates(row: &[f64]) -> impl Iterator<Item = (Place, &[f64])> {
    let factors = row.chunks_exact(1).enumerate();
    let factors = factors.filter(|(_, factor)| factor[0] != 0.0);
    factors.map(|(dof, factor)| (Place::Coordinate { dof }, factor))
}
