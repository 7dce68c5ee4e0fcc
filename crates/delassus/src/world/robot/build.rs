//! Adding a robot to a world that is being built: its links become bodies, its shapes colliders.

use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::{
    Anchor, Closure, ClosureKind, Control, JointModel, Projection, Robot, RobotJoint, RobotModel,
};
use crate::index::{LinkId, RobotId};
use crate::tree::spatial::Pose;
use crate::tree::{Midpoint, Tree, TreeError, TreeRows};
use crate::world::{Attach, Body, Drive, MovedBy, WorldBuilder, WorldError};

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
    /// Links may touch each other, unless a joint joins them.
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
    /// Whether every closure has rows on this tree.
    fn try_closures(&self) -> Result<(), TreeError> {
        let (mut rows, mut gap) = (TreeRows::default(), Vec::new());
        let mut closures = self.closures.iter();
        closures.try_for_each(|closure| closure.kind.add_rows(self.posed(), &mut rows, &mut gap))
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
            return Err(refuse(
                "its position and rotation must be finite".to_owned(),
            ));
        }
        let unfit = |error: TreeError| WorldError::RobotTree {
            name: name.clone(),
            error,
        };
        let tree = moved(&model.tree, &base).map_err(unfit)?;
        let id = RobotId(self.robots.len() as u32);
        let mut bodies = Vec::with_capacity(tree.links().len());
        let names = link_names(&name, &tree);
        for (i, (link, name)) in tree.links().iter().zip(names).enumerate() {
            let moves = tree.moves(LinkId(i as u32));
            let body = self.add_body(Body {
                name,
                motion: if moves {
                    MovedBy::Link
                } else {
                    MovedBy::Static
                },
                mass: link.body.mass,
                inertia: link.body.inertia,
                ..Body::default()
            })?;
            self.seats.resize(self.bodies.len(), None);
            self.seats[body.index()] = Some((id.0, i as u32));
            bodies.push(body);
        }
        let closures = model.closures.iter().map(|c| closure(c, &base)).collect();
        let joints = model.joints.iter().map(|j| joint(j, &tree));
        let joints = joints.collect::<Result<_, _>>().map_err(unfit)?;
        let tree = Arc::new(tree);
        let mut robot = Robot {
            name: name.clone(),
            damped: (0.0, Arc::clone(&tree)),
            data: tree.data(),
            q: tree.neutral(),
            v: vec![0.0; tree.n_dofs()],
            force: vec![0.0; tree.n_dofs()],
            joints,
            closures,
            bodies,
            self_collide: placement.self_collide,
            projection: Projection::default(),
            free: None,
            midpoint: Midpoint::default(),
            tree,
        };
        let start = (robot.q.clone(), robot.v.clone());
        let placed = robot.place(&start.0, &start.1);
        // A joint that meets no inertia, and a loop of links that are not there, are refused here rather than in the
        // first step.
        let placed = placed.and_then(|()| robot.tree.factor(&mut robot.data.clone(), &start.0));
        let tried = placed.and_then(|_| robot.try_closures());
        tried.map_err(unfit)?;
        robot.show(&mut self.bodies);
        self.add_shapes(model, &robot, (placement, &base))?;
        self.robots.push(robot);
        Ok(id)
    }

    fn add_shapes(
        &mut self,
        model: &RobotModel,
        robot: &Robot,
        (placement, base): (&Placement, &Pose),
    ) -> Result<(), WorldError> {
        let mut ground = None;
        for entry in &model.shapes {
            let mut attach = placement.attach;
            if let Some(surface) = entry.surface {
                attach.material = self.add_material(surface)?;
            }
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
        Ok(())
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
        self.seats.resize(self.bodies.len(), None);
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

/// The tree with its ground moved.
fn moved(tree: &Tree, base: &Pose) -> Result<Tree, TreeError> {
    let mut links = tree.links().to_vec();
    for link in links.iter_mut().filter(|link| link.parent.is_none()) {
        link.place = base.then(&link.place);
    }
    Tree::new(links)
}

fn unknown(link: LinkId, tree: &Tree) -> TreeError {
    let count = tree.links().len();
    TreeError::UnknownLink { link, count }
}

/// A closure whose ground has moved with the robot.
fn closure(closure: &Closure, base: &Pose) -> Closure {
    let moved = |end: Anchor| match end.link {
        None => Anchor {
            point: base.point(end.point),
            ..end
        },
        Some(_) => end,
    };
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
    Ok(RobotJoint {
        name: entry.name.clone(),
        link: entry.link,
        control: Control {
            drive: Drive {
                limits: entry.range.filter(|_| single),
                friction: entry.friction,
                servo: entry.servo.filter(|_| single),
                ..Drive::default()
            },
            ..Control::default()
        },
        at,
        dofs,
    })
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
