//! Mechanisms as trees: pendulums, a four-bar linkage, a delta robot; and the rig they are built with.

use std::f64::consts::TAU;

use glam::{DQuat, DVec3};

use super::{Made, Stage, run};
use crate::collide::Shape;
use crate::index::{LinkId, RobotId};
use crate::tree::spatial::Pose;
use crate::tree::{Link, MassProperties, Tree, TreeJoint};
use crate::world::{
    Anchor, Closure, ClosureKind, Control, Drive, JointModel, Motor, Placement, RobotModel, Servo,
    ShapeModel, Swing, WorldError,
};

/// Density of everything \[kg/m³\]: close to that of water, as animals and many robots are.
pub(super) const DENSITY: f64 = 1000.0;

/// Links, joints and shapes of a robot being built. All link frames have the axes of the world at the start.
#[derive(Default)]
pub(super) struct Rig {
    links: Vec<Link>,
    joints: Vec<JointModel>,
    controls: Vec<Control>,
    shapes: Vec<ShapeModel>,
    closures: Vec<Closure>,
}

impl Rig {
    /// A link of one shape of uniform density whose joint sits at a point of its parent.
    pub(super) fn link(
        &mut self,
        name: &str,
        (parent, at): (Option<LinkId>, DVec3),
        joint: TreeJoint,
        (shape, pose): (Shape, Pose),
    ) -> LinkId {
        let id = LinkId(self.links.len() as u32);
        let solid = shape.mass_properties(DENSITY);
        let own = solid.expect("links of built-in robots are solids");
        let inertia = pose.rotation * own.inertia * pose.rotation.transpose();
        let body = MassProperties {
            mass: own.mass,
            com: pose.point(own.com),
            inertia: 0.5 * (inertia + inertia.transpose()),
        };
        let link = Link::new(parent, joint, Pose::at(at), body);
        self.links.push(link.named(name));
        self.joints.push(JointModel::free(name, id));
        self.controls.push(Control::default());
        self.shapes.push(ShapeModel::new(Some(id), pose, shape));
        id
    }

    /// One more shape on a link, which does not change its mass.
    pub(super) fn shape(&mut self, link: LinkId, shape: Shape, pose: Pose) {
        self.shapes.push(ShapeModel::new(Some(link), pose, shape));
    }

    /// What acts along the joint of a link.
    pub(super) fn drive(&mut self, link: LinkId, control: Control) {
        self.controls[link.index()] = control;
    }

    /// Holds a point of one link to a point of another.
    fn connect(&mut self, name: &str, a: (LinkId, DVec3), b: (LinkId, DVec3)) {
        let anchor = |(link, point)| Anchor {
            link: Some(link),
            point,
        };
        self.closures.push(Closure {
            name: name.to_owned(),
            kind: ClosureKind::Connect {
                a: anchor(a),
                b: anchor(b),
            },
        });
    }

    /// Puts the robot into a scene at its origin.
    pub(super) fn stand(self, stage: &mut Stage, name: &str) -> Result<RobotId, WorldError> {
        let tree = Tree::new(self.links).map_err(|error| WorldError::RobotTree {
            name: name.to_owned(),
            error,
        })?;
        let model = RobotModel {
            joints: self.joints,
            closures: self.closures,
            shapes: self.shapes,
            ..RobotModel::new(name, tree)
        };
        let placement = Placement {
            name: name.to_owned(),
            attach: stage.attach,
            ..Placement::default()
        };
        let id = stage.builder.add_robot(&model, &placement)?;
        let robot = stage.builder.robot_mut(id);
        let robot = robot.expect("the robot was added just now");
        for (joint, control) in robot.joints_mut().iter_mut().zip(self.controls) {
            joint.control = control;
        }
        Ok(id)
    }
}

/// A round bar from the origin of its link to a point.
pub(super) fn bar(to: DVec3, radius: f64) -> (Shape, Pose) {
    let half_length = 0.5 * to.length();
    let turn = DQuat::from_rotation_arc(DVec3::Z, to.normalize());
    let shape = Shape::Capsule {
        half_length,
        radius,
    };
    (shape, Pose::new(0.5 * to, turn))
}

/// A box whose centre is at a point of its link.
pub(super) fn block(half: [f64; 3], at: DVec3) -> (Shape, Pose) {
    (Shape::Box { half }, Pose::at(at))
}

/// A servo that holds a position, which may swing.
pub(super) fn servo(position: f64, (stiffness, damping, max_force): (f64, f64, f64)) -> Control {
    let servo = Servo {
        position,
        stiffness,
        damping,
        max_force,
        min_force: None,
    };
    Control {
        drive: Drive {
            servo: Some(servo),
            ..Drive::default()
        },
        ..Control::default()
    }
}

/// The same, swinging.
pub(super) fn swinging(control: Control, (amplitude, rate, phase): (f64, f64, f64)) -> Control {
    Control {
        swing: Some(Swing {
            amplitude,
            rate,
            phase,
        }),
        ..control
    }
}

pub(super) const HINGE: TreeJoint = TreeJoint::Revolute { axis: DVec3::Y };

/// Two bars of 1 m on hinges, released level: no friction anywhere, and chaos.
pub(super) fn double_pendulum(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.5, 0.0)?;
    let mut rig = Rig::default();
    let upper = rig.link("upper", (None, DVec3::Z * 2.0), HINGE, bar(DVec3::X, 0.03));
    let lower = (Some(upper), DVec3::X);
    rig.link("lower", lower, HINGE, bar(DVec3::X, 0.03));
    rig.stand(&mut stage, "pendulum")?;
    Ok((stage, run((0.001, 5.0), 1e-9, 1000)))
}

/// Crank 0.2 m, coupler 0.5 m, rocker 0.4 m on pivots 0.5 m apart: the crank turns fully, the rocker rocks.
pub(super) fn four_bar(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.5, 0.0)?;
    let mut rig = Rig::default();
    let (left, right) = (DVec3::Z, DVec3::new(0.5, 0.0, 1.0));
    let pin = DVec3::Z * 0.2;
    let (coupler, rocker) = (0.5, 0.4);
    // Where the coupler's circle about the pin meets the rocker's about its pivot, on the upper side.
    let across = right - (left + pin);
    let d = across.length();
    let along = (coupler * coupler - rocker * rocker + d * d) / (2.0 * d);
    let up = DVec3::new(-across.z, 0.0, across.x) / d;
    let height = f64::sqrt(coupler * coupler - along * along);
    let joint = across * (along / d) + up * height;
    let crank = rig.link("crank", (None, left), HINGE, bar(pin, 0.02));
    let coupler = rig.link("coupler", (Some(crank), pin), HINGE, bar(joint, 0.02));
    let tip = left + pin + joint - right;
    let rocker = rig.link("rocker", (None, right), HINGE, bar(tip, 0.02));
    rig.connect("pin", (coupler, joint), (rocker, tip));
    let motor = Motor {
        speed: TAU,
        max_force: 100.0,
    };
    let drive = Drive {
        motor: Some(motor),
        ..Drive::default()
    };
    rig.drive(
        crank,
        Control {
            drive,
            ..Control::default()
        },
    );
    rig.stand(&mut stage, "four-bar")?;
    Ok((stage, run((0.005, 3.0), 1e-9, 5000)))
}

/// Three arms of 0.3 m on servos carry a platform by six rods of 0.6 m, which keep it level. The spanning tree hangs
/// the platform on one rod; five loops close the others.
pub(super) fn delta_robot(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.5, 0.0)?;
    let mut rig = Rig::default();
    let (base, arm, rod, platform, half) = (0.2, 0.3, 0.6_f64, 0.06, 0.05);
    let reach: f64 = base + arm - platform;
    let drop = (rod * rod - reach * reach).sqrt();
    let mut ends = Vec::new();
    for i in 0..3 {
        let turn = DQuat::from_rotation_z(TAU * f64::from(i) / 3.0);
        let (out, side) = (turn * DVec3::X, turn * DVec3::Y);
        let shoulder = (None, DVec3::Z + out * base);
        let shape = bar(out * arm, 0.015);
        let name = format!("arm-{i}");
        let axis = TreeJoint::Revolute { axis: side };
        let upper = rig.link(&name, shoulder, axis, shape);
        let control = servo(0.0, (200.0, 10.0, 60.0));
        rig.drive(upper, swinging(control, (0.25, 0.5, f64::from(i) / 3.0)));
        for (letter, sign) in [("a", -1.0), ("b", 1.0)] {
            let to = -out * reach - DVec3::Z * drop;
            let cross = TreeJoint::Universal {
                first: side,
                second: side.cross(to),
            };
            let elbow = (Some(upper), out * arm + side * (sign * half));
            let name = format!("rod-{i}{letter}");
            let lower = rig.link(&name, elbow, cross, bar(to, 0.008));
            ends.push((lower, to, out * platform + side * (sign * half)));
        }
    }
    let (first, to, corner) = ends[0];
    let disc = Shape::Cylinder {
        half_length: 0.01,
        radius: 0.08,
    };
    // The frame of the platform is at its corner on the first rod.
    let shape = (disc, Pose::at(-corner));
    let plate = rig.link("platform", (Some(first), to), TreeJoint::Ball, shape);
    for (i, &(rod, to, place)) in ends.iter().enumerate().skip(1) {
        rig.connect(&format!("loop-{i}"), (rod, to), (plate, place - corner));
    }
    rig.stand(&mut stage, "delta")?;
    Ok((stage, run((0.005, 4.0), 1e-8, 5000)))
}
