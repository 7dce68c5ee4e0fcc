//! What moves and what pushes at each frame: joints of robots and contacts as tables, and everything together as binary.
//!
//! Contacts, and forces along joints of robots, are those of the substep that ended at the frame. The layout of the
//! binary is given in `crates/delassus/docs/run.md`.

use std::path::Path;

use delassus::math::DVec3;
use delassus::world::{Effort, Robot, Touch};
use delassus::{JointId, RobotId, World};

use crate::census;
use crate::disk::DiskError;
use crate::record::{Output, number, quoted};

const MAGIC: &[u8; 8] = b"DELASSUD";
const VERSION: u32 = 1;

/// The three files.
#[derive(Debug)]
pub(crate) struct Dynamics {
    robots: Output,
    contacts: Output,
    binary: Output,
    /// Bodies that can move.
    moving: Vec<usize>,
    /// Names of all bodies as CSV.
    names: Vec<String>,
}

/// A contact as it is written down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Push {
    pub(crate) bodies: (usize, usize),
    /// Between the two surfaces \[m\].
    pub(crate) point: DVec3,
    /// From the second body to the first.
    pub(crate) normal: DVec3,
    /// On the first body \[N\].
    pub(crate) force: DVec3,
    /// Negative where they overlap \[m\].
    pub(crate) gap: f64,
}

impl Push {
    /// Every contact that pushes, in the order of the world.
    pub(crate) fn all(world: &World) -> impl Iterator<Item = Push> {
        let h = world.last_substep();
        let push = move |touch: &Touch| Push {
            bodies: touch.point.bodies,
            point: 0.5 * (touch.point.point_a + touch.point.point_b),
            normal: touch.point.normal,
            force: touch.force(h),
            gap: touch.point.gap,
        };
        let pushes = world.touches().iter().map(push);
        pushes.filter(|push| push.force != DVec3::ZERO)
    }
}

/// Forces along every dof of a robot.
pub(crate) fn efforts(world: &World, robot: usize) -> Vec<Effort> {
    let Some(found) = world.robots().get(robot) else {
        return Vec::new();
    };
    let mut all = vec![Effort::default(); found.velocity().len()];
    for (i, joint) in found.joints().iter().enumerate() {
        for (k, effort) in world
            .efforts(RobotId(robot as u32), i)
            .into_iter()
            .enumerate()
        {
            all[joint.dof() + k] = effort;
        }
    }
    all
}

/// Number of coordinates of a joint of so many dofs: one more where it is turned by a quaternion.
fn coordinates(robot: &Robot, joint: usize) -> usize {
    let link = robot.joints()[joint].link;
    robot.tree().links()[link.index()].joint.coordinates()
}

impl Dynamics {
    pub(crate) fn create(folder: &Path, world: &World) -> Result<Dynamics, DiskError> {
        let bodies = world.bodies();
        let mut dynamics = Dynamics {
            robots: Output::create(folder, "robots.csv")?,
            contacts: Output::create(folder, "contacts.csv")?,
            binary: Output::create(folder, "dynamics.bin")?,
            moving: census::moving(world),
            names: bodies.name.iter().map(|name| quoted(name)).collect(),
        };
        dynamics
            .robots
            .put(b"time,robot,joint,index,q,qdot,drive,limit,friction\n")?;
        dynamics
            .contacts
            .put(b"time,first,second,x,y,z,nx,ny,nz,fx,fy,fz,gap\n")?;
        let head = dynamics.head(world);
        dynamics.binary.put(&head)?;
        Ok(dynamics)
    }

    fn head(&self, world: &World) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        let whole = |head: &mut Vec<u8>, n: usize| head.extend((n as u32).to_le_bytes());
        let name = |head: &mut Vec<u8>, text: &str| {
            whole(head, text.len());
            head.extend(text.as_bytes());
        };
        head.extend(VERSION.to_le_bytes());
        whole(&mut head, world.bodies().len());
        for text in &world.bodies().name {
            name(&mut head, text);
        }
        whole(&mut head, self.moving.len());
        self.moving.iter().for_each(|&i| whole(&mut head, i));
        whole(&mut head, world.joints().len());
        for joint in world.joints() {
            name(&mut head, &joint.name);
        }
        whole(&mut head, world.robots().len());
        for robot in world.robots() {
            name(&mut head, robot.name());
            whole(&mut head, robot.configuration().len());
            whole(&mut head, robot.velocity().len());
            whole(&mut head, robot.joints().len());
            for (i, joint) in robot.joints().iter().enumerate() {
                name(&mut head, &joint.name);
                let place = [
                    joint.coordinate(),
                    coordinates(robot, i),
                    joint.dof(),
                    joint.dofs(),
                ];
                place.into_iter().for_each(|n| whole(&mut head, n));
            }
        }
        head
    }

    /// Adds the world as it is.
    pub(crate) fn frame(&mut self, world: &World) -> Result<(), DiskError> {
        let efforts: Vec<Vec<Effort>> = (0..world.robots().len())
            .map(|robot| efforts(world, robot))
            .collect();
        let pushes: Vec<Push> = Push::all(world).collect();
        self.put_robots(world, &efforts)?;
        self.put_contacts(world, &pushes)?;
        self.put_binary(world, &efforts, &pushes)
    }

    fn put_robots(&mut self, world: &World, efforts: &[Vec<Effort>]) -> Result<(), DiskError> {
        let time = number(world.time());
        let mut text = String::new();
        for (robot, efforts) in world.robots().iter().zip(efforts) {
            let (q, v) = (robot.configuration(), robot.velocity());
            for (i, joint) in robot.joints().iter().enumerate() {
                let names = format!("{time},{},{}", quoted(robot.name()), quoted(&joint.name));
                for k in 0..coordinates(robot, i) {
                    let at = number(q[joint.coordinate() + k]);
                    text.push_str(&format!("{names},{k},{at}"));
                    // A quaternion has one number more than there are velocities.
                    let dof = (k < joint.dofs()).then(|| joint.dof() + k);
                    let numbers = dof.map(|dof| {
                        let Effort {
                            drive,
                            limit,
                            friction,
                        } = efforts[dof];
                        [v[dof], drive, limit, friction].map(number).join(",")
                    });
                    text.push_str(&format!(",{}\n", numbers.as_deref().unwrap_or(",,,")));
                }
            }
        }
        self.robots.put(text.as_bytes())
    }

    fn put_contacts(&mut self, world: &World, pushes: &[Push]) -> Result<(), DiskError> {
        let time = number(world.time());
        let mut text = String::new();
        for push in pushes {
            let (a, b) = (&self.names[push.bodies.0], &self.names[push.bodies.1]);
            text.push_str(&format!("{time},{a},{b}"));
            let vectors = [push.point, push.normal, push.force].map(|x| x.to_array());
            for value in vectors.into_iter().flatten().chain([push.gap]) {
                text.push(',');
                text.push_str(&number(value));
            }
            text.push('\n');
        }
        self.contacts.put(text.as_bytes())
    }

    fn put_binary(
        &mut self,
        world: &World,
        efforts: &[Vec<Effort>],
        pushes: &[Push],
    ) -> Result<(), DiskError> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut put = |numbers: &[f64]| bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        let bodies = world.bodies();
        put(&[world.time()]);
        for &i in &self.moving {
            put(&bodies.velocity[i].to_array());
            put(&bodies.spin[i].to_array());
        }
        for j in 0..world.joints().len() {
            let reaction = world.reaction(JointId(j as u32));
            put(&reaction.force.to_array());
            put(&reaction.torque.to_array());
        }
        for (robot, efforts) in world.robots().iter().zip(efforts) {
            put(robot.configuration());
            put(robot.velocity());
            for part in [
                |e: &Effort| e.drive,
                |e: &Effort| e.limit,
                |e: &Effort| e.friction,
            ] {
                put(&efforts.iter().map(part).collect::<Vec<f64>>());
            }
        }
        bytes.extend((pushes.len() as u32).to_le_bytes());
        for push in pushes {
            bytes.extend((push.bodies.0 as u32).to_le_bytes());
            bytes.extend((push.bodies.1 as u32).to_le_bytes());
            let vectors = [push.point, push.normal, push.force].map(|x| x.to_array());
            let numbers = vectors.into_iter().flatten().chain([push.gap]);
            bytes.extend(numbers.flat_map(f64::to_le_bytes));
        }
        self.binary.put(&(bytes.len() as u32).to_le_bytes())?;
        self.binary.put(&bytes)
    }

    /// Writes out what is still in memory.
    pub(crate) fn flush(&mut self) -> Result<(), DiskError> {
        self.robots.flush()?;
        self.contacts.flush()?;
        self.binary.flush()
    }
}
