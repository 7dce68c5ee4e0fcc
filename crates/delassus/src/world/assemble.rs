//! World and step size → [`Problem`]: bodies that impulses move become mass blocks, joints and contacts become
//! constraint blocks; what moves by itself enters through q.

mod contacts;
mod joints;

pub(super) use contacts::{PUSH, law as contact_law};

use glam::{DMat3, DVec3};

use super::robot::{JointForces, JointRowList, PlacedRobot};
use super::rows::{RowState, Target};
use super::warm::Key;
use super::{RobotItem, Surface};
use super::{World, integrate, stiffness};
use crate::collide::ContactPoint;
use crate::error::BuildError;
use crate::index::{BlockId, BodyId, LinkId, MassId, RobotId};
use crate::law::Law;
use crate::math::parallel::{self, CHUNK};
use crate::problem::mass::MassBlock;
use crate::problem::stabilise::{Approach, Restitution, RowTerms, Stabilise, contact};
use crate::problem::{Contact, Problem, ProblemBuilder};

/// Bodies that a thread looks at in one go.
const MANY: usize = 8 * CHUNK;

/// Fastest that loops of robots are closed \[m/s or rad/s\].
const CLOSING: f64 = 1.0;

/// A problem with the way back to the world.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) problem: Problem,
    /// Who each block belongs to, in block order.
    pub(super) keys: Vec<Key>,
    /// The body of each mass block.
    pub(super) bodies: Vec<BodyId>,
    /// First block that is a contact, and the contact of each block from there on.
    pub(super) first_contact: usize,
    pub(super) contacts: Vec<usize>,
    /// Whether some contact has rows of spin, and hence more than three.
    pub(super) spins: bool,
    work: Box<Work>,
}

impl Assembly {
    /// Its memory, for the next step.
    pub(super) fn recycle(self) -> Room {
        Room {
            builder: ProblemBuilder::recycle(self.problem),
            keys: self.keys,
            owners: self.bodies,
            used: self.contacts,
            work: Some(self.work),
        }
    }

    /// Its memory, for the same step once more; an empty problem is left.
    pub(super) fn vacate(&mut self) -> Result<Room, BuildError> {
        let empty = ProblemBuilder::default().build()?;
        Ok(Room {
            builder: ProblemBuilder::recycle(std::mem::replace(&mut self.problem, empty)),
            keys: std::mem::take(&mut self.keys),
            owners: std::mem::take(&mut self.bodies),
            used: std::mem::take(&mut self.contacts),
            work: Some(std::mem::take(&mut self.work)),
        })
    }
}

/// Memory of the last step's problem: a large world would ask for it anew, cleared page by page.
#[derive(Debug, Default)]
pub(super) struct Room {
    builder: ProblemBuilder,
    keys: Vec<Key>,
    owners: Vec<BodyId>,
    used: Vec<usize>,
    work: Option<Box<Work>>,
}

/// Lists that a step fills while its rows are added, in a box: it is handed on from step to step.
#[derive(Debug, Default)]
struct Work {
    /// The mass of every body that has one.
    mass: Vec<Option<MassId>>,
    /// Velocity of every body without constraints: the given one where impulses do not move it.
    free: Vec<[f64; 6]>,
    old: Vec<[f64; 6]>,
    /// The masses that contacts of free bodies act on.
    pairs: Vec<[Option<MassId>; 2]>,
    stiffness: Vec<DMat3>,
    /// Ball joints that stand next to each other, and the masses they act on.
    balls: Vec<u32>,
    ball_pairs: Vec<[Option<MassId>; 2]>,
    /// Contacts that are added one by one, with their places in the list.
    found: Vec<(usize, Contact)>,
    /// Rows of a robot, compliance and wanted velocities of one block.
    joint_rows: JointRowList,
    joint_forces: JointForces,
    sigma: Vec<f64>,
    q: Vec<f64>,
    /// Robots that can move, in the order of the world.
    robots: Vec<Option<PlacedRobot>>,
    /// Surfaces of all pairs of materials, where contacts are many.
    surfaces: Vec<Surface>,
}

impl Assembly {
    /// Whether every block is a contact of three rows.
    pub(super) fn is_contacts_alone(&self) -> bool {
        let blocks = self.problem.blocks().len();
        0 < blocks && self.contacts.len() == blocks && !self.spins
    }

    /// Whose block it is.
    pub(super) fn key(&self, block: Option<BlockId>) -> Option<Key> {
        self.keys.get(block?.index()).copied()
    }
}

/// What is known of the step while rows are added.
struct Assembling<'a> {
    world: &'a World,
    h: f64,
    builder: ProblemBuilder,
    keys: Vec<Key>,
    owners: Vec<BodyId>,
    /// Contacts, by their places in the list.
    used: Vec<usize>,
    work: Box<Work>,
    /// Whether some contact has rows of spin.
    spins: bool,
    /// Held rows ask for no velocity, whatever their violation.
    velocities: bool,
}

/// The joints alone, their held rows without stabilisation: M v = p + Gᵀλ, G v = 0 after h seconds of all forces.
pub(super) fn velocities(world: &World, h: f64, mut room: Room) -> Result<Assembly, BuildError> {
    room.work.get_or_insert_default().stiffness.clear();
    let mut step = Assembling::new(world, h, room)?;
    step.velocities = true;
    step.joints()?;
    let first_contact = step.keys.len();
    step.finish(first_contact)
}

/// Assembles the step; `contacts` come from collision detection.
pub(super) fn assemble(
    world: &World,
    h: f64,
    contacts: &[ContactPoint],
    mut room: Room,
) -> Result<Assembly, BuildError> {
    let work = room.work.get_or_insert_default();
    stiffness::of_joints(world, h, &mut work.stiffness);
    let mut step = Assembling::new(world, h, room)?;
    step.builder
        .reserve(0, contacts.len() + world.joints().len());
    step.keys.reserve(contacts.len());
    step.joints()?;
    let first_contact = step.keys.len();
    step.contacts(contacts)?;
    step.link_contacts(contacts)?;
    step.robot_rows()?;
    step.finish(first_contact)
}

impl<'a> Assembling<'a> {
    /// Adds every free body.
    fn new(world: &'a World, h: f64, room: Room) -> Result<Assembling<'a>, BuildError> {
        let bodies = world.bodies();
        let mut work = room.work.unwrap_or_default();
        work.mass.clear();
        work.free.clear();
        work.old.clear();
        work.pairs.clear();
        let mut step = Assembling {
            world,
            h,
            builder: room.builder,
            keys: emptied(room.keys),
            owners: emptied(room.owners),
            used: emptied(room.used),
            work,
            spins: false,
            velocities: false,
        };
        step.builder.reserve(bodies.len(), 0);
        step.owners
            .extend(bodies.ids().filter(|id| bodies.is_single(*id)));
        let (owners, stiffness) = (&step.owners, &step.work.stiffness);
        step.builder.add_bodies(
            owners.len(),
            |i| mass_block(world, h, owners[i], stiffness),
            |i| {
                let name = &bodies.name[owners[i].index()];
                format!("free velocity of body \"{name}\"")
            },
        )?;
        step.list_velocities();
        step.add_robots()?;
        Ok(step)
    }

    /// The mass of every body, and its velocities at the beginning and without constraints.
    fn list_velocities(&mut self) {
        let bodies = self.world.bodies();
        let Work {
            mass, free, old, ..
        } = &mut *self.work;
        mass.resize(bodies.len(), None);
        for (k, id) in self.owners.iter().enumerate() {
            mass[id.index()] = Some(MassId(k as u32));
        }
        free.resize(bodies.len(), [0.0; 6]);
        old.resize(bodies.len(), [0.0; 6]);
        let moving = self.builder.free_velocity().as_chunks::<6>().0;
        let parts = mass.chunks(MANY).zip(free.chunks_mut(MANY));
        let parts = parts.zip(old.chunks_mut(MANY)).enumerate();
        parallel::each(parts, |(part, ((mass, free), old))| {
            for (j, i) in (part * MANY..part * MANY + mass.len()).enumerate() {
                let stands = bodies.motion[i] == super::MovedBy::Static;
                old[j] = match stands {
                    true => [0.0; 6],
                    false => spatial(bodies.velocity[i], bodies.spin[i]),
                };
                free[j] = match mass[j] {
                    Some(mass) => moving[mass.index()],
                    None if bodies.asleep[i] => [0.0; 6],
                    None => old[j],
                };
            }
        });
    }

    /// The problem, once all rows have been added.
    fn finish(self, first_contact: usize) -> Result<Assembly, BuildError> {
        Ok(Assembly {
            problem: self.builder.build()?,
            keys: self.keys,
            bodies: self.owners,
            first_contact,
            contacts: self.used,
            spins: self.spins,
            work: self.work,
        })
    }

    /// Adds the mass of every robot behind those of free bodies.
    fn add_robots(&mut self) -> Result<(), BuildError> {
        // What stands there is of the last step.
        let robots = self.world.robots();
        self.work.robots.resize_with(robots.len(), || None);
        // Only what bounces asks how fast links would meet.
        let bounces = self.world.has_restitution();
        for (r, robot) in robots.iter().enumerate() {
            let n = robot.tree().n_dofs();
            let before = self.work.robots[r].take();
            if n == 0 {
                continue;
            }
            let (old, forces) = (self.builder.take_old_tree(), &mut self.work.joint_forces);
            let block = robot.mass_block(self.world, self.h, old, forces)?;
            let mass = self.builder.add_mass(block, &forces.p)?;
            let free = self.builder.free_velocity();
            let placed = robot.placed(mass, (&free[free.len() - n..], bounces), before)?;
            for i in 0..robot.tree().links().len() {
                let link = LinkId(i as u32);
                if let (Some(body), true) = (robot.body(link), robot.tree().moves(link)) {
                    self.work.mass[body.index()] = Some(mass);
                    if bounces {
                        self.work.free[body.index()] = placed.free_velocity(link);
                    }
                }
            }
            self.work.robots[r] = Some(placed);
        }
        Ok(())
    }

    /// Limits, motors, servos, friction and loops of the robots.
    fn robot_rows(&mut self) -> Result<(), BuildError> {
        let h = self.h;
        let hold = Stabilise::Spook {
            compliance: 0.0,
            damping: 2.0 * h,
        };
        let robots = std::mem::take(&mut self.work.robots);
        let known = self.world.robots().iter().zip(&robots).enumerate();
        for (r, (robot, placed)) in known {
            let Some(placed) = placed else { continue };
            let (time, list) = (self.world.time() + h, &mut self.work.joint_rows);
            robot.joint_rows(time, h, list)?;
            list.each(placed.mass, |block, on, states| {
                let (sigma, q) = (&mut self.work.sigma, &mut self.work.q);
                sigma.clear();
                q.clear();
                for state in states {
                    // A loop that starts open is closed at this speed, whatever the step.
                    let gap = match block.item {
                        RobotItem::Closure(_) => state.gap.clamp(-CLOSING * h, CLOSING * h),
                        RobotItem::Joint(_) | RobotItem::Tendon(_) => state.gap,
                    };
                    let terms = aim(block.target, &hold, h, RowState { gap, ..*state });
                    sigma.push(terms.sigma);
                    q.push(terms.q);
                }
                let law = impulses(block.law, h);
                self.builder.add_block_at(law, on, sigma, q)?;
                self.keys.push(Key::Robot {
                    robot: RobotId(r as u32),
                    item: block.item,
                    part: block.part,
                });
                Ok(())
            })?;
        }
        self.work.robots = robots;
        Ok(())
    }

    /// Whether a body is a link that its robot moves.
    fn is_link(&self, body: usize) -> bool {
        self.work.mass[body].is_some() && self.world.link_of(body).is_some()
    }
}

/// The same memory without content.
fn emptied<T>(mut array: Vec<T>) -> Vec<T> {
    array.clear();
    array
}

/// What a row asks for where it stands.
fn aim(target: Target, hold: &Stabilise, h: f64, state: RowState) -> RowTerms {
    let RowState { gap, velocity } = state;
    match target {
        Target::Hold => hold.row(h, gap, velocity),
        Target::Limit => {
            let approach = Approach {
                gap,
                velocity,
                free_velocity: velocity,
            };
            contact(hold, h, approach, Restitution::default())
        }
        Target::Velocity(speed) => RowTerms {
            sigma: 0.0,
            q: speed,
        },
        Target::Spring(stiffness, damping) => {
            Stabilise::Spring { stiffness, damping }.row(h, gap, velocity)
        }
    }
}

/// A law whose bounds are forces, for a step of h seconds.
fn impulses(law: Law, h: f64) -> Law {
    match law {
        Law::Interval { lo, hi } => Law::Interval {
            lo: lo * h,
            hi: hi * h,
        },
        law => law,
    }
}

/// Mass and momentum before constraints of a free body, p = M v_k + h f, gyroscopic torque included.
fn mass_block(
    world: &World,
    h: f64,
    id: BodyId,
    stiffness: &[DMat3],
) -> Result<(MassBlock, [f64; 6]), BuildError> {
    let (bodies, i) = (world.bodies(), id.index());
    let inertia = bodies.world_inertia(id);
    let force = bodies.force[i] + world.gravity * bodies.mass[i];
    let linear = bodies.velocity[i] * bodies.mass[i] + h * force;
    let kind = world.settings.gyroscopic;
    let spun = integrate::gyroscopic(kind, inertia, bodies.spin[i], h);
    let angular = spun + h * bodies.torque[i];
    // (I + h²K) ω⁺ = I ω + h τ + …: the joints' torques at the new orientation.
    let seen = stiffness.get(i).map_or(inertia, |k| inertia + *k);
    let block = MassBlock::rigid(bodies.mass[i], seen)?;
    Ok((block, spatial(linear, angular)))
}

/// q ← q − G_b v_b for a body whose velocity is given.
fn subtract(q: &mut [f64], rows: &[f64], v: &[f64; 6]) {
    for (q, row) in q.iter_mut().zip(rows.chunks_exact(6)) {
        *q -= dot(row, v);
    }
}

fn dot(a: &[f64], b: &[f64; 6]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn spatial(linear: DVec3, angular: DVec3) -> [f64; 6] {
    [
        linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
    ]
}
