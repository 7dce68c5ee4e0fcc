//! Sensors: what an instrument on a body, a joint or a link would show after each step.

use glam::{DQuat, DVec3};

use super::{
    Filter, Frame, JointBody, QueryError, Ray, Reaction, Robot, SensorKind, World, WorldError,
};
use crate::index::{BodyId, JointId, LinkId, RobotId};
use crate::tree::spatial::Pose;

/// An instrument.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sensor {
    /// Accelerometer and gyroscope in a frame of a body or link.
    Imu {
        /// The body.
        body: BodyId,
        /// Where it sits, in the body's axes from its centre of mass.
        frame: Frame,
    },
    /// Pose and velocity of a frame of a body or link.
    Frame {
        /// The body.
        body: BodyId,
        /// Where it sits, in the body's axes from its centre of mass.
        frame: Frame,
    },
    /// Position, speed and reaction of a joint between bodies.
    Joint(JointId),
    /// Position, speed and force of a robot's joint of one dof.
    RobotJoint {
        /// The robot.
        robot: RobotId,
        /// The joint, by position in [`Robot::joints`](super::Robot::joints).
        joint: usize,
    },
    /// The force of all contacts on a body.
    Contact(BodyId),
    /// Distance to the first thing along a ray.
    Distance {
        /// The body that carries it, which the ray does not see; `None` is the world.
        body: JointBody,
        /// The ray in the body's axes from its centre of mass.
        ray: Ray,
    },
}

/// What an instrument shows.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reading {
    /// Of an IMU, in its own axes: means over the last step.
    Imu {
        /// a − g: what an accelerometer feels \[m/s²\]; it shows +9.81 upwards at rest.
        acceleration: DVec3,
        /// Angular velocity after the step \[rad/s\].
        spin: DVec3,
        /// Its axes in the world after the step.
        orientation: DQuat,
    },
    /// Of a frame after the step, in world axes.
    Frame {
        /// Its origin \[m\].
        position: DVec3,
        /// Its axes.
        orientation: DQuat,
        /// Velocity of its origin \[m/s\].
        velocity: DVec3,
        /// Angular velocity \[rad/s\].
        spin: DVec3,
    },
    /// Of a joint between bodies.
    Joint {
        /// Angle or displacement \[rad or m\], where it has one.
        position: Option<f64>,
        /// Its rate \[rad/s or m/s\].
        speed: Option<f64>,
        /// Mean force and torque over the step, on its first body.
        reaction: Reaction,
    },
    /// Of a robot's joint.
    RobotJoint {
        /// Angle or displacement \[rad or m\].
        position: f64,
        /// Its rate \[rad/s or m/s\].
        speed: f64,
        /// Mean force of motor, servo, limits and friction over the last substep \[N m or N\].
        force: f64,
    },
    /// Of contacts, in world axes: means over the last substep.
    Contact {
        /// Force on the body \[N\].
        force: DVec3,
        /// Torque about its centre of mass \[N m\].
        torque: DVec3,
    },
    /// Distance \[m\]; `None` where there is nothing within reach.
    Distance(Option<f64>),
}

/// A sensor's place in its world's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SensorId(u32);

/// Why a sensor cannot be added.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SensorError {
    /// It names what is not there.
    #[error("the sensor names what is not there: {0}")]
    Unknown(#[from] WorldError),
    /// It names a joint that its robot does not have, or one of several dofs.
    #[error("{robot} has no joint {joint} of one dof; Robot::joints lists them")]
    NoRobotJoint {
        /// The robot.
        robot: RobotId,
        /// The joint asked for.
        joint: usize,
    },
    /// A sensor of a robot on a link that the robot does not have.
    #[error("a sensor of {robot} names a link that it does not have")]
    NoLink {
        /// The robot.
        robot: RobotId,
    },
    /// A frame that is none.
    #[error("the sensor's frame at {origin} must be finite, its axes of length one")]
    BadFrame {
        /// The origin given.
        origin: DVec3,
    },
    /// A ray that is none.
    #[error("the sensor's ray: {0}")]
    BadRay(#[from] QueryError),
}

/// All sensors of a world.
#[derive(Clone, Debug, Default)]
pub(super) struct Sensors {
    list: Vec<Mounted>,
}

/// A sensor, what it must know of the time before the step, and what it shows.
#[derive(Clone, Debug)]
struct Mounted {
    sensor: Sensor,
    /// Velocity of an IMU's point when the step began \[m/s\].
    before: DVec3,
    reading: Option<Reading>,
}

impl Sensors {
    /// Shows nothing until the next step.
    pub(super) fn clear(&mut self) {
        self.list.iter_mut().for_each(|m| m.reading = None);
    }
}

impl World {
    /// Adds a sensor. It shows something from the next step on.
    pub fn add_sensor(&mut self, sensor: Sensor) -> Result<SensorId, SensorError> {
        match &sensor {
            Sensor::Imu { body, frame } | Sensor::Frame { body, frame } => {
                self.check_body(*body)?;
                let unit = (frame.axes.length() - 1.0).abs() < 1e-6;
                if !(frame.origin.is_finite() && unit) {
                    let origin = frame.origin;
                    return Err(SensorError::BadFrame { origin });
                }
            }
            Sensor::Joint(joint) => self.check_joint(*joint)?,
            Sensor::RobotJoint { robot, joint } => {
                let known = self.known_robot(*robot)?;
                let single = known.joints().get(*joint).filter(|j| j.dofs() == 1);
                if single.is_none() {
                    let (robot, joint) = (*robot, *joint);
                    return Err(SensorError::NoRobotJoint { robot, joint });
                }
            }
            Sensor::Contact(body) => self.check_body(*body)?,
            Sensor::Distance { body, ray } => {
                if let Some(body) = body {
                    self.check_body(*body)?;
                }
                ray.check()?;
            }
        }
        self.sensors.list.push(Mounted {
            sensor,
            before: DVec3::ZERO,
            reading: None,
        });
        Ok(SensorId(self.sensors.list.len() as u32 - 1))
    }

    fn known_robot(&self, robot: RobotId) -> Result<&Robot, WorldError> {
        let count = self.robots.len();
        let known = self.robots.get(robot.index());
        known.ok_or(WorldError::UnknownRobot { robot, count })
    }

    /// Adds the sensors that a robot came with, in the order of [`Robot::sensors`].
    pub fn mount_sensors(&mut self, robot: RobotId) -> Result<Vec<SensorId>, SensorError> {
        let own = self.known_robot(robot)?;
        // A body stands at the centre of mass of its link, with the axes of the link.
        let seat = |link: LinkId, pose: &Pose| {
            let (body, links) = (own.body(link), own.tree().links());
            let (body, com) = body.zip(links.get(link.index()).map(|link| link.body.com))?;
            let origin = pose.position - com;
            let axes = DQuat::from_mat3(&pose.rotation).normalize();
            Some((body, Frame { origin, axes }))
        };
        let mounted = |kind: &SensorKind| match kind {
            SensorKind::Imu { link, pose } => {
                seat(*link, pose).map(|(body, frame)| Sensor::Imu { body, frame })
            }
            SensorKind::Frame { link, pose } => {
                seat(*link, pose).map(|(body, frame)| Sensor::Frame { body, frame })
            }
            SensorKind::Joint(joint) => Some(Sensor::RobotJoint {
                robot,
                joint: *joint,
            }),
            SensorKind::Distance { link, pose, reach } => {
                seat(*link, pose).map(|(body, frame)| Sensor::Distance {
                    body: Some(body),
                    ray: Ray {
                        origin: frame.origin,
                        direction: frame.axes * DVec3::Z,
                        reach: *reach,
                    },
                })
            }
        };
        let sensors: Vec<Option<Sensor>> = own.sensors().iter().map(|s| mounted(&s.kind)).collect();
        let none = || SensorError::NoLink { robot };
        let add = |sensor: Option<Sensor>| self.add_sensor(sensor.ok_or_else(none)?);
        sensors.into_iter().map(add).collect()
    }

    /// What a sensor shows after the last step; `None` before the first, after [`World::restore`], and once what it sits on
    /// has been taken away.
    pub fn reading(&self, id: SensorId) -> Option<Reading> {
        self.sensors.list.get(id.0 as usize)?.reading
    }

    /// Before a step: what accelerations are measured from.
    pub(super) fn sensors_begin(&mut self) {
        let mut sensors = std::mem::take(&mut self.sensors);
        for mounted in &mut sensors.list {
            if let Sensor::Imu { body, frame } = &mounted.sensor {
                mounted.before = self.point_velocity(*body, frame);
            }
        }
        self.sensors = sensors;
    }

    /// After a step of h seconds.
    pub(super) fn sensors_read(&mut self, h: f64) {
        let mut sensors = std::mem::take(&mut self.sensors);
        for mounted in &mut sensors.list {
            mounted.reading = self.read(mounted, h);
        }
        self.sensors = sensors;
    }

    fn point_velocity(&self, body: BodyId, frame: &Frame) -> DVec3 {
        let point = self.bodies.to_world(body, frame.origin);
        self.bodies.velocity_at(body, point)
    }

    fn read(&self, mounted: &Mounted, h: f64) -> Option<Reading> {
        Some(match &mounted.sensor {
            Sensor::Imu { body, frame } => {
                self.check_body(*body).ok()?;
                let i = body.index();
                let axes = (self.bodies.orientation[i] * frame.axes).normalize();
                let into = axes.conjugate();
                // a = (v⁺ − v)/h of the point, less gravity.
                let rate = (self.point_velocity(*body, frame) - mounted.before) / h;
                Reading::Imu {
                    acceleration: into * (rate - self.gravity),
                    spin: into * self.bodies.spin[i],
                    orientation: axes,
                }
            }
            Sensor::Frame { body, frame } => {
                self.check_body(*body).ok()?;
                let i = body.index();
                Reading::Frame {
                    position: self.bodies.to_world(*body, frame.origin),
                    orientation: (self.bodies.orientation[i] * frame.axes).normalize(),
                    velocity: self.point_velocity(*body, frame),
                    spin: self.bodies.spin[i],
                }
            }
            Sensor::Joint(id) => {
                self.check_joint(*id).ok()?;
                let joint = &self.joints[id.index()];
                let speed = joint.rate(&self.bodies);
                Reading::Joint {
                    position: speed.map(|_| joint.coordinate),
                    speed,
                    reaction: self.reaction(*id),
                }
            }
            Sensor::RobotJoint { robot, joint } => {
                let own = self.robots.get(robot.index())?;
                let at = own.joints().get(*joint)?;
                let effort = self.efforts(*robot, *joint);
                Reading::RobotJoint {
                    position: *own.configuration().get(at.coordinate())?,
                    speed: *own.velocity().get(at.dof())?,
                    force: effort.first()?.sum(),
                }
            }
            Sensor::Contact(body) => {
                self.check_body(*body).ok()?;
                let Reaction { force, torque } = self.contacts_on(*body);
                Reading::Contact { force, torque }
            }
            Sensor::Distance { body, ray } => Reading::Distance(self.measure(*body, *ray)?),
        })
    }

    /// How far the first thing is along a ray of a body. `None` where the body is gone or stands where no pose is.
    fn measure(&self, body: JointBody, ray: Ray) -> Option<Option<f64>> {
        let (ray, own) = match body {
            None => (ray, Vec::new()),
            Some(id) => {
                self.check_body(id).ok()?;
                let turned = Ray {
                    origin: self.bodies.to_world(id, ray.origin),
                    direction: self.bodies.orientation[id.index()] * ray.direction,
                    ..ray
                };
                (turned, vec![id])
            }
        };
        let filter = Filter {
            without: &own,
            ..Filter::default()
        };
        let hit = self.cast_ray(ray, filter).ok()?;
        Some(hit.map(|hit| hit.distance))
    }
}
