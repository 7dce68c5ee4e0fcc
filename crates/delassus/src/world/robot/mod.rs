//! Robots: kinematic trees that live in a world beside free bodies.
//!
//! Every link is a body of the world, to collide and to be read; its state follows from the joint coordinates, and
//! its mass is part of one [`MassBlock::Tree`](crate::MassBlock). Rows of contacts and joints on a link become rows
//! on the joints between it and the ground. Limits, motors, servos, dry friction and loop closures are rows on the
//! joint velocities themselves; damping and armature are part of the mass.

mod brake;
mod build;
mod closure;
mod cord;
mod effort;
mod limits;
mod model;
mod muscle;
mod rows;
mod spring;
mod step;
mod tendon;
mod transmission;

pub(super) use rows::{JointForces, JointRowList, PlacedRobot};
pub(super) use step::RobotState;

use std::f64::consts::TAU;
use std::sync::Arc;

pub use build::Placement;
pub use closure::{Anchor, Closure, ClosureKind, Posed};
pub use cord::{Cord, Mount, Waypoint, Wrap, WrapSurface};
pub use effort::Effort;
pub use model::{
    ContactRule, JointModel, Keyframe, RobotModel, SensorKind, SensorModel, ShapeModel,
};
pub use muscle::Muscle;
pub use tendon::Tendon;
pub use transmission::Transmission;

use brake::Pace;
use limits::Reached;
use rows::RowRoom;
use step::Flight;

use super::{Drive, RobotItem, Servo, World, WorldError};
use crate::error::BuildError;
use crate::index::{BodyId, LinkId, RobotId};
use crate::linalg::ranked::RankedCholesky;
use crate::linalg::wide_lu::Four;
use crate::solver::exact::kkt::TreeKkt;
use crate::tree::{Data, Midpoint, Offsets, Tree, TreeError, TreeRows};

/// A link of one of a world's robots.
#[derive(Clone, Copy, Debug)]
pub(super) struct RobotLink {
    pub(super) robot: RobotId,
    pub(super) link: LinkId,
}

/// Why closures and tendons have rows.
const FITS: &str = "closures and tendons were tried on the tree when the robot was added";
/// Why a link has a pose.
const OWN_LINK: &str = "a robot has one body for each link of its tree";

/// A robot of a world: its tree and state, and what drives it.
#[derive(Clone, Debug)]
pub struct Robot {
    name: String,
    tree: Arc<Tree>,
    /// The step h and the tree with the damping of that step in its mass.
    damped: (f64, Arc<Tree>),
    /// Poses and velocities of the present state.
    data: Data,
    q: Vec<f64>,
    v: Vec<f64>,
    joints: Vec<RobotJoint>,
    closures: Vec<Closure>,
    tendons: Vec<Tendon>,
    springs: Vec<spring::Spring>,
    pace: Pace,
    /// Dampers of floating links.
    drag: Vec<(LinkId, f64)>,
    /// Links that are relieved of a share of their weight.
    gravcomp: Vec<(LinkId, f64)>,
    /// Bounds of the forces that carry it, by the links of their joints.
    relief: Vec<(LinkId, [f64; 2])>,
    /// Pairs of bodies that never touch.
    apart: Vec<(u32, u32)>,
    /// States that it came with.
    keyframes: Vec<Keyframe>,
    /// Sensors that it came with.
    sensors: Arc<[SensorModel]>,
    /// The body of each link.
    bodies: Vec<BodyId>,
    self_collide: bool,
    /// Joint forces for the next step, one per dof \[N m or N\]; a step that succeeds sets them to zero.
    pub force: Vec<f64>,
    projection: Projection,
    /// Joints and tendons whose limits the step under way was found to reach.
    reached: Reached,
    /// Where the midpoint rule steps it: velocities at the end, in the axes of the beginning, and in the mean.
    free: Option<Flight>,
    midpoint: Midpoint,
    /// Whether its bodies are known to be where its joints have them.
    pub(super) shown: bool,
}

/// A joint of a robot.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotJoint {
    /// Name in the file.
    pub name: String,
    /// The link it carries.
    pub link: LinkId,
    /// What acts along it.
    pub control: Control,
    /// Largest force of its motor, where the file gives one \[N m\] or \[N\]; [`Robot::force`] is not held to it.
    pub effort: Option<f64>,
    /// First coordinate and first velocity.
    at: Offsets,
    dofs: usize,
}

impl RobotJoint {
    /// Its first coordinate in [`Robot::configuration`].
    pub fn coordinate(&self) -> usize {
        self.at.q
    }

    /// Its first velocity in [`Robot::velocity`].
    pub fn dof(&self) -> usize {
        self.at.v
    }

    /// Number of its velocities.
    pub fn dofs(&self) -> usize {
        self.dofs
    }
}

/// What acts along a joint. Joints of several dofs have dry friction on each, and nothing else of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Control {
    /// Limits, motor, servo and dry friction.
    pub drive: Drive,
    /// Swings the servo's wanted position.
    pub swing: Option<Swing>,
    /// Motor and servo let go at this time \[s\].
    pub until: Option<f64>,
}

/// A wanted position that swings: amplitude · sin 2π(rate t + phase) is added to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swing {
    /// Amplitude \[rad or m\].
    pub amplitude: f64,
    /// Swings per second \[1/s\].
    pub rate: f64,
    /// Share of a swing it is ahead.
    pub phase: f64,
}

impl Control {
    /// The servo at a time, its swing included; none where it has let go.
    fn servo(&self, time: f64) -> Option<Servo> {
        let servo = self.drive.servo.filter(|_| self.holds(time))?;
        let Some(swing) = self.swing else {
            return Some(servo);
        };
        let angle = TAU * (swing.rate * time + swing.phase);
        Some(Servo {
            position: servo.position + swing.amplitude * angle.sin(),
            ..servo
        })
    }

    fn holds(&self, time: f64) -> bool {
        self.until.is_none_or(|until| time <= until)
    }

    pub(super) fn is_legal(&self) -> bool {
        let finite = |swing: Swing| {
            let numbers = [swing.amplitude, swing.rate, swing.phase];
            numbers.iter().all(|x| x.is_finite())
        };
        self.drive.is_legal()
            && self.swing.is_none_or(finite)
            && self.until.is_none_or(|time| !time.is_nan())
    }
}

/// Work arrays that bring loops back to closed.
#[derive(Clone, Debug, Default)]
struct Projection {
    kkt: TreeKkt,
    /// J, also in fours, its answers X and S = X Xᵀ, where the inverse of the mass is written out.
    matrix: Vec<f64>,
    fours: Vec<Four>,
    answers: Vec<Four>,
    factor: RankedCholesky,
    rows: TreeRows,
    /// How far loops are open, and after a move.
    gap: Vec<f64>,
    next: Vec<f64>,
    /// The configuration after a move.
    q: Vec<f64>,
    /// Zeros, what is asked of the rows, the move and its forces.
    still: Vec<f64>,
    wanted: Vec<f64>,
    move_by: Vec<f64>,
    force: Vec<f64>,
}

impl Robot {
    /// Whether springs, tendons or relief of weight act on it, whose energy is not counted.
    pub(in crate::world) fn is_sprung(&self) -> bool {
        !(self.springs.is_empty() && self.tendons.is_empty() && self.gravcomp.is_empty())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its tree; the ground of the tree is that of the world.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Joint coordinates q, as [`Tree`] orders them.
    pub fn configuration(&self) -> &[f64] {
        &self.q
    }

    /// Joint velocities q̇.
    pub fn velocity(&self) -> &[f64] {
        &self.v
    }

    /// Joints that move.
    pub fn joints(&self) -> &[RobotJoint] {
        &self.joints
    }

    /// A joint by name, to drive it.
    pub fn joint_mut(&mut self, name: &str) -> Option<&mut RobotJoint> {
        self.joints.iter_mut().find(|joint| joint.name == name)
    }

    /// Joints that move, to drive them.
    pub fn joints_mut(&mut self) -> &mut [RobotJoint] {
        &mut self.joints
    }

    /// Displacement of a joint of one dof \[rad or m\].
    pub fn position(&self, joint: &str) -> Option<f64> {
        let joint = self.joints.iter().find(|j| j.name == joint)?;
        let single = joint.dofs == 1;
        self.q.get(joint.at.q).copied().filter(|_| single)
    }

    /// Loops that its rows close.
    pub fn closures(&self) -> &[Closure] {
        &self.closures
    }

    /// How far each of its loops is open, at the worst of its rows \[m or rad\].
    pub fn openings(&self) -> Vec<f64> {
        let opening = |closure: &Closure| {
            let (mut rows, mut gap) = (TreeRows::default(), Vec::new());
            let added = closure.kind.add_rows(self.posed(), &mut rows, &mut gap);
            added.expect(FITS);
            gap.iter().fold(0.0, |worst: f64, g| worst.max(g.abs()))
        };
        self.closures.iter().map(opening).collect()
    }

    /// Tendons, and what actuators push besides joints.
    pub fn tendons(&self) -> &[Tendon] {
        &self.tendons
    }

    /// States that it came with, for [`World::place_robot`].
    pub fn keyframes(&self) -> &[Keyframe] {
        &self.keyframes
    }

    /// Sensors that it came with, for [`World::mount_sensors`].
    pub fn sensors(&self) -> &[SensorModel] {
        &self.sensors
    }

    /// Links that are relieved of a share of their weight.
    pub fn gravcomp(&self) -> &[(LinkId, f64)] {
        &self.gravcomp
    }

    /// The body of the world that a link is.
    pub fn body(&self, link: LinkId) -> Option<BodyId> {
        self.bodies.get(link.index()).copied()
    }

    /// Whether its links may touch each other.
    pub fn self_collides(&self) -> bool {
        self.self_collide
    }

    /// A joint or loop in words.
    pub(super) fn describe(&self, item: RobotItem) -> String {
        let what = match item {
            RobotItem::Joint(i) => {
                let joint = self.joints.get(i as usize);
                format!("joint \"{}\"", joint.map_or("", |joint| &joint.name))
            }
            RobotItem::Closure(i) => {
                let closure = self.closures.get(i as usize);
                format!("loop \"{}\"", closure.map_or("", |closure| &closure.name))
            }
            RobotItem::Tendon(i) => {
                let tendon = self.tendons.get(i as usize);
                format!("tendon \"{}\"", tendon.map_or("", |tendon| &tendon.name))
            }
        };
        format!("{what} of robot \"{}\"", self.name)
    }

    /// The bodies that the rows of a joint or loop act on: for a joint the link that it carries.
    pub(super) fn acted_on(&self, item: RobotItem) -> Vec<BodyId> {
        let links: Vec<LinkId> = match item {
            RobotItem::Joint(i) => {
                let joint = self.joints.get(i as usize);
                joint.iter().map(|joint| joint.link).collect()
            }
            RobotItem::Closure(i) => {
                let closure = self.closures.get(i as usize);
                closure.map_or(Vec::new(), |closure| Robot::held_by(&closure.kind))
            }
            RobotItem::Tendon(i) => {
                let tendon = self.tendons.get(i as usize);
                tendon.map_or(Vec::new(), Tendon::links)
            }
        };
        links.into_iter().filter_map(|l| self.body(l)).collect()
    }

    /// The links that a closure holds together.
    fn held_by(closure: &ClosureKind) -> Vec<LinkId> {
        let some = |links: [Option<LinkId>; 2]| links.into_iter().flatten().collect();
        match closure {
            ClosureKind::Connect { a, b } => some([a.link, b.link]),
            ClosureKind::Weld { a, b, .. } => some([*a, *b]),
            ClosureKind::Joint { dependent, on, .. } => some([Some(*dependent), *on]),
            ClosureKind::Sums { dependent, on, .. } => {
                dependent.iter().chain(on).map(|(link, _)| *link).collect()
            }
        }
    }

    /// Its tree as it stands now.
    fn posed(&self) -> Posed<'_> {
        Posed {
            tree: &self.tree,
            data: &self.data,
            q: &self.q,
        }
    }

    /// Sets the state; its bodies follow through [`World::place_robot`].
    pub(super) fn place(&mut self, q: &[f64], v: &[f64]) -> Result<(), TreeError> {
        self.shown = false;
        self.tree.velocities(q, v, &mut self.data)?;
        self.q.copy_from_slice(q);
        self.v.copy_from_slice(v);
        Ok(())
    }

    /// Sets the state that a caller gives.
    fn put(&mut self, q: &[f64], v: &[f64]) -> Result<(), WorldError> {
        self.place(q, v).map_err(|error| WorldError::RobotTree {
            name: self.name.clone(),
            error,
        })
    }

    /// Puts poses and velocities of the links into their bodies.
    pub(super) fn show(&self, bodies: &mut super::Bodies) {
        for (i, id) in self.bodies.iter().enumerate() {
            let (turn, centre, motion) = self.tree.shown(&self.data, LinkId(i as u32));
            bodies.position[id.index()] = centre;
            // The axes are of length one to rounding, and so is what comes of them.
            bodies.orientation[id.index()] = glam::DQuat::from_mat3(&turn);
            bodies.velocity[id.index()] = motion.linear;
            bodies.spin[id.index()] = motion.angular;
        }
    }

    /// Least and largest violation of its loops and limits \[m or rad\].
    pub(super) fn violation(&self) -> f64 {
        let mut worst: f64 = 0.0;
        for joint in &self.joints {
            if let (Some([lo, hi]), 1) = (joint.control.drive.limits, joint.dofs) {
                let q = self.q[joint.at.q];
                worst = worst.max(lo - q).max(q - hi);
            }
        }
        if self.closures.is_empty() {
            return worst;
        }
        let mut room = RowRoom::take();
        let gap = &mut room.gap;
        for closure in &self.closures {
            let added = closure.kind.add_gaps(self.posed(), gap);
            added.expect(FITS);
        }
        let worst = gap.iter().fold(worst, |m, g| m.max(g.abs()));
        room.give_back();
        worst
    }
}

impl World {
    /// Robots.
    pub fn robots(&self) -> &[Robot] {
        &self.robots
    }

    /// A robot, to drive its joints between steps.
    pub fn robot_mut(&mut self, id: RobotId) -> Option<&mut Robot> {
        self.robots.get_mut(id.index())
    }

    /// A robot by name.
    pub fn robot(&self, name: &str) -> Option<&Robot> {
        self.robots.iter().find(|robot| robot.name == name)
    }

    /// Puts a robot into a state. It is unchanged where the state does not fit.
    pub fn place_robot(&mut self, id: RobotId, q: &[f64], v: &[f64]) -> Result<(), WorldError> {
        let robot = build::known(&mut self.robots, id)?;
        robot.put(q, v)?;
        robot.show(&mut self.bodies);
        Ok(())
    }

    /// Energy and momentum of all dynamic bodies, links and rotors.
    pub fn probe(&self) -> super::Probe {
        let mut probe = self.bodies.probe(self.gravity);
        for robot in &self.robots {
            probe.kinetic += robot.tree.rotor_energy(&robot.v) + robot.tendon_energy();
            probe.potential += robot.stored(&self.bodies, self.gravity);
        }
        probe
    }

    /// The energy of [`World::probe`] alone \[J\].
    pub(super) fn energy(&self) -> f64 {
        let robots = self.robots.iter();
        let more = robots.map(|robot| {
            robot.tree.rotor_energy(&robot.v)
                + robot.tendon_energy()
                + robot.stored(&self.bodies, self.gravity)
        });
        self.bodies.energy(self.gravity) + more.sum::<f64>()
    }

    /// Refuses joint forces that no step can start from.
    pub(super) fn check_joint_forces(&self) -> Result<(), super::StepError> {
        for robot in &self.robots {
            let place = || format!("force of robot \"{}\"", robot.name);
            BuildError::check_length(place, robot.tree.n_dofs(), robot.force.len())?;
            BuildError::check_finite(place, &robot.force)?;
        }
        Ok(())
    }

    /// The link that a body is, if it is one.
    pub(super) fn link_of(&self, body: usize) -> Option<RobotLink> {
        self.link_of.get(body).copied().flatten()
    }
}
