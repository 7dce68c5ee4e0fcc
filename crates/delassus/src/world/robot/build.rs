//! Adding a robot to a world that is being built: its links become bodies, its shapes colliders.

use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::brake::Pace;
use super::spring::Spring;
use super::{
    Anchor, Closure, ClosureKind, ContactRule, Control, JointModel, Projection, Reached, Robot,
    RobotJoint, RobotLink, RobotModel, ShapeModel,
};
use crate::collide::Groups;
use crate::index::{BodyId, LinkId, RobotId};
use crate::tree::spatial::Pose;
use crate::tree::{Midpoint, Tree, TreeError, TreeJoint, TreeRows};
use crate::world::{Attach, Body, Drive, MaterialId, MovedBy, WorldBuilder, WorldError};

/// Where a robot stands in a world and how it is called there.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// Name, unique among the robots; its links are called `name/link`.
    pub name: String,
    /// Position of the file's origin \[m\].
    pub position: DVec3,
    /// Its axes.
    pub rotation: DQuat,
    /// Material and groups of its shapes; friction that the file gives goes before.
    pub attach: Attach,
    /// Links may touch each other, unless a joint joins them, even where the model says that they do not.
    pub self_collide: bool,
}

impl Default for Placement {
    fn default() -> Placement {
        Placement {
            name: "robot".to_owned(),
            position: DVec3::ZERO,
            rotation: DQuat::IDENTITY,
            attach: Attach::default(),
            self_collide: false,
        }
    }
}

impl Robot {
    /// Places it. A joint that meets no inertia, and a loop of links that are not there, are refused here rather than in
    /// the first step.
    fn try_out(&mut self, (q, v): &(Vec<f64>, Vec<f64>)) -> Result<(), TreeError> {
        self.place(q, v)?;
        self.tree.factor(&mut self.data.clone(), q)?;
        self.try_closures()
    }

    /// Notes pairs of bodies that never touch.
    fn keep_apart(&mut self, pairs: &[[Option<LinkId>; 2]], ground: Option<BodyId>) {
        for pair in pairs {
            let body = |link: Option<LinkId>| link.map_or(ground, |link| self.body(link));
            if let (Some(a), Some(b)) = (body(pair[0]), body(pair[1])) {
                self.apart.push((a.0.min(b.0), a.0.max(b.0)));
            }
        }
    }

    /// Whether every closure has rows on this tree.
    fn try_closures(&self) -> Result<(), TreeError> {
        let (mut rows, mut gap) = (TreeRows::default(), Vec::new());
        let mut closures = self.closures.iter();
        closures
            .try_for_each(|closure| closure.kind.add_rows(self.posed(), &mut rows, &mut gap))?;
        let mut tendons = self.tendons.iter();
        tendons.try_for_each(|tendon| tendon.measure(self.posed(), &mut rows).map(|_| ()))?;
        let known = |link: LinkId| match self.tree.offsets(link) {
            Some(_) => Ok(()),
            None => Err(unknown(link, &self.tree)),
        };
        let bounded = self.relief.iter().map(|(link, _)| *link);
        let mut named = self.gravcomp.iter().map(|(link, _)| *link).chain(bounded);
        named.try_for_each(known)
    }
}

impl WorldBuilder {
    /// Adds a robot in the configuration of its file, at rest.
    pub fn add_robot(
        &mut self,
        model: &RobotModel,
        placement: &Placement,
    ) -> Result<RobotId, WorldError> {
        let name = placement.name.clone();
        let refuse = |what: String| WorldError::Robot {
            name: name.clone(),
            what,
        };
        if name.is_empty() || self.robots.iter().any(|robot| robot.name == name) {
            return Err(refuse("give each robot a name of its own".to_owned()));
        }
        let base = Pose::new(placement.position, placement.rotation);
        if !(base.position.is_finite() && base.rotation.is_finite()) {
            return Err(refuse("its position and rotation must be finite".into()));
        }
        let unfit = |error: TreeError| WorldError::RobotTree {
            name: name.clone(),
            error,
        };
        let (tree, drag) = moved(&model.tree, &base).map_err(unfit)?;
        let id = RobotId(self.robots.len() as u32);
        let mut bodies = Vec::with_capacity(tree.links().len());
        let names = link_names(&name, &tree);
        for (i, (own, name)) in tree.links().iter().zip(names).enumerate() {
            let link = LinkId(i as u32);
            let motion = match tree.moves(link) {
                true => MovedBy::Link,
                false => MovedBy::Static,
            };
            let body = self.add_body(Body {
                name,
                motion,
                mass: own.body.mass,
                inertia: own.body.inertia,
                ..Body::default()
            })?;
            self.link_of.resize(self.bodies.len(), None);
            self.link_of[body.index()] = Some(RobotLink { robot: id, link });
            bodies.push(body);
        }
        let joints = model.joints.iter().map(|j| joint(j, &tree));
        let joints: Vec<RobotJoint> = joints.collect::<Result<_, _>>().map_err(unfit)?;
        let tree = Arc::new(tree);
        let mut robot = Robot {
            name: name.clone(),
            reached: Reached::default(),
            damped: (0.0, Arc::clone(&tree)),
            data: tree.data(),
            q: tree.neutral(),
            v: vec![0.0; tree.n_dofs()],
            force: vec![0.0; tree.n_dofs()],
            springs: springs(&model.joints, &tree),
            pace: Pace::new(&tree, &joints),
            drag,
            joints,
            closures: model.closures.iter().map(|c| closure(c, &base)).collect(),
            tendons: model.tendons.iter().map(|t| t.moved(&base)).collect(),
            gravcomp: model.gravcomp.clone(),
            relief: model.relief.clone(),
            apart: Vec::new(),
            keyframes: model.keyframes.clone(),
            sensors: model.sensors.clone().into(),
            bodies,
            self_collide: placement.self_collide || model.self_collide,
            projection: Projection::default(),
            free: None,
            midpoint: Midpoint::default(),
            shown: false,
            tree,
        };
        let start = (robot.q.clone(), robot.v.clone());
        robot.try_out(&start).map_err(unfit)?;
        robot.show(&mut self.bodies);
        let ground = self.add_shapes(model, &robot, (placement, &base))?;
        robot.keep_apart(&model.apart, ground);
        self.robots.push(robot);
        Ok(id)
    }

    fn add_shapes(
        &mut self,
        model: &RobotModel,
        robot: &Robot,
        (placement, base): (&Placement, &Pose),
    ) -> Result<Option<BodyId>, WorldError> {
        let mut ground = None;
        let materials = self.add_materials(model, placement)?;
        for (entry, &material) in model.shapes.iter().zip(&materials) {
            let mut attach = placement.attach;
            attach.material = material;
            attach.groups = Groups {
                member: attach.groups.member & entry.groups.member,
                with: attach.groups.with & entry.groups.with,
            };
            // A body stands at its centre of mass; shapes are given in the frame of the link.
            let (body, pose) = match entry.link {
                Some(link) => {
                    let body = robot.body(link).ok_or_else(|| WorldError::RobotTree {
                        name: robot.name.clone(),
                        error: unknown(link, &robot.tree),
                    })?;
                    let com = robot.tree.links()[link.index()].body.com;
                    (body, Pose::at(-com).then(&entry.pose))
                }
                None => {
                    let body = match ground {
                        Some(body) => body,
                        None => self.add_body(Body {
                            name: format!("{}/ground", robot.name),
                            motion: MovedBy::Static,
                            ..Body::default()
                        })?,
                    };
                    ground = Some(body);
                    (body, base.then(&entry.pose))
                }
            };
            attach.position = pose.position;
            attach.rotation = DQuat::from_mat3(&pose.rotation).normalize();
            self.add_collider(body, entry.shape.clone(), attach)?;
        }
        Ok(ground)
    }

    /// The material of each shape: one for all that have the same numbers, and one for each that is in a pair.
    fn add_materials(
        &mut self,
        model: &RobotModel,
        placement: &Placement,
    ) -> Result<Vec<MaterialId>, WorldError> {
        let paired = |i: usize| model.pairs.iter().any(|(a, b, _)| *a == i || *b == i);
        let mut materials: Vec<MaterialId> = Vec::new();
        let mut known: Vec<(ShapeModel, MaterialId)> = Vec::new();
        for (i, entry) in model.shapes.iter().enumerate() {
            let Some(surface) = entry.surface else {
                materials.push(placement.attach.material);
                continue;
            };
            let same = |(old, _): &&(ShapeModel, MaterialId)| {
                old.surface == entry.surface && old.rule == entry.rule
            };
            let found = known.iter().find(same).filter(|_| !paired(i));
            let material = match found {
                Some((_, material)) => *material,
                None => {
                    let material = self.add_material(surface)?;
                    known.push((entry.clone(), material));
                    material
                }
            };
            materials.push(material);
        }
        for (i, (a, first)) in known.iter().enumerate() {
            for (b, second) in &known[i..] {
                if let (Some(a), Some(b)) = (a.rule, b.rule) {
                    let surface = ContactRule::mixed(a, b).surface();
                    self.set_pair((*first, *second), surface)?;
                }
            }
        }
        for &(a, b, surface) in &model.pairs {
            if let (Some(a), Some(b)) = (materials.get(a), materials.get(b)) {
                self.set_pair((*a, *b), surface)?;
            }
        }
        Ok(materials)
    }

    /// A robot added before, to drive its joints.
    pub fn robot_mut(&mut self, id: RobotId) -> Option<&mut Robot> {
        self.robots.get_mut(id.index())
    }

    /// Puts a robot added before into a state.
    pub fn place_robot(&mut self, id: RobotId, q: &[f64], v: &[f64]) -> Result<(), WorldError> {
        let robot = known(&mut self.robots, id)?;
        robot.put(q, v)?;
        robot.show(&mut self.bodies);
        Ok(())
    }

    /// Pairs of links that never touch although their robot's links may, and controls that cannot be.
    pub(in crate::world) fn finish_robots(&mut self) -> Result<Vec<(u32, u32)>, WorldError> {
        self.link_of.resize(self.bodies.len(), None);
        let mut joined = Vec::new();
        for robot in &self.robots {
            if let Some(joint) = robot.joints.iter().find(|j| !j.control.is_legal()) {
                return Err(WorldError::Robot {
                    name: robot.name.clone(),
                    what: format!(
                        "the drive of joint \"{}\" is out of range (limits in order, forces not negative)",
                        joint.name
                    ),
                });
            }
            if let Some(tendon) = robot.tendons.iter().find(|t| !t.is_legal()) {
                return Err(WorldError::Robot {
                    name: robot.name.clone(),
                    what: format!(
                        "the force or muscle of tendon \"{}\" is out of range (finite numbers, bounds in order)",
                        tendon.name
                    ),
                });
            }
            let count = if robot.self_collide {
                robot.bodies.len()
            } else {
                0
            };
            for a in 0..count {
                let near = |b: &usize| robot.tree.adjacent(LinkId(a as u32), LinkId(*b as u32));
                let pair = |b: usize| (robot.bodies[a].0, robot.bodies[b].0);
                joined.extend((a + 1..count).filter(near).map(pair));
            }
            joined.extend(robot.apart.iter().copied());
        }
        Ok(joined)
    }
}

/// The robot of an id that a caller gives.
pub(super) fn known(robots: &mut [Robot], robot: RobotId) -> Result<&mut Robot, WorldError> {
    let count = robots.len();
    let found = robots.get_mut(robot.index());
    found.ok_or(WorldError::UnknownRobot { robot, count })
}

/// The tree with its ground moved, without the dampers of floating links, which are given beside it: M + hD is a tree
/// for other joints alone.
fn moved(tree: &Tree, base: &Pose) -> Result<(Tree, Vec<(LinkId, f64)>), TreeError> {
    let mut links = tree.links().to_vec();
    let mut drag = Vec::new();
    for (i, link) in links.iter_mut().enumerate() {
        if link.joint == TreeJoint::Floating && 0.0 < link.damping {
            drag.push((LinkId(i as u32), link.damping));
            link.damping = 0.0;
        }
    }
    for link in links.iter_mut().filter(|link| link.parent.is_none()) {
        link.place = base.then(&link.place);
    }
    Ok((Tree::new(links)?, drag))
}

fn unknown(link: LinkId, tree: &Tree) -> TreeError {
    let count = tree.links().len();
    TreeError::UnknownLink { link, count }
}

/// A closure whose ground has moved with the robot.
fn closure(closure: &Closure, base: &Pose) -> Closure {
    let moved = |end: Anchor| end.moved(base);
    let kind = match closure.kind.clone() {
        ClosureKind::Connect { a, b } => ClosureKind::Connect {
            a: moved(a),
            b: moved(b),
        },
        ClosureKind::Weld { a, b, mut relative } => {
            if a.is_none() {
                relative = base.then(&relative);
            }
            if b.is_none() {
                relative = relative.then(&base.inverse());
            }
            ClosureKind::Weld { a, b, relative }
        }
        kind => kind,
    };
    Closure {
        name: closure.name.clone(),
        kind,
    }
}

fn joint(entry: &JointModel, tree: &Tree) -> Result<RobotJoint, TreeError> {
    let at = tree.offsets(entry.link);
    let at = at.ok_or_else(|| unknown(entry.link, tree))?;
    let dofs = tree.links()[entry.link.index()].joint.dofs();
    let single = dofs == 1;
    let ball = tree.links()[entry.link.index()].joint == TreeJoint::Ball;
    Ok(RobotJoint {
        name: entry.name.clone(),
        link: entry.link,
        control: Control {
            drive: Drive {
                limits: entry.range.filter(|_| single || ball),
                friction: entry.friction,
                servo: entry.servo.filter(|_| single),
                ..Drive::default()
            },
            ..Control::default()
        },
        effort: entry.effort.filter(|_| single),
        at,
        dofs,
    })
}

/// The springs and constant forces of joints that have one and can be turned or slid.
fn springs(joints: &[JointModel], tree: &Tree) -> Vec<Spring> {
    let spring = |entry: &JointModel| {
        let at = tree.offsets(entry.link)?;
        let joint = tree.links()[entry.link.index()].joint;
        let fits = joint.dofs() == 1 || joint == TreeJoint::Ball;
        let acts = 0.0 < entry.stiffness || entry.push != 0.0;
        (fits && acts).then_some(Spring {
            link: entry.link,
            at,
            dofs: joint.dofs(),
            stiffness: entry.stiffness,
            rest: entry.rest,
            push: if joint.dofs() == 1 { entry.push } else { 0.0 },
        })
    };
    joints.iter().filter_map(spring).collect()
}

/// `robot/link` for every link, with its number where the name is empty or another link's too.
fn link_names(robot: &str, tree: &Tree) -> Vec<String> {
    let mut count = std::collections::HashMap::new();
    for link in tree.links() {
        *count.entry(&link.name).or_insert(0) += 1;
    }
    let name = |(i, link): (usize, &crate::tree::Link)| {
        let name = &link.name;
        if name.is_empty() || count.get(name) != Some(&1) {
            return format!("{robot}/{name}#{i}");
        }
        format!("{robot}/{name}")
    };
    tree.links().iter().enumerate().map(name).collect()
}
