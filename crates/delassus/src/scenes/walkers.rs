//! Robots that stand, walk, crawl and grasp: trees with servos, in contact with the ground and with free bodies.

use glam::{DQuat, DVec3};

use super::robots::{HINGE, Rig, bar, block, servo, swinging};
use super::{Made, Stage, at, run};
use crate::collide::Shape;
use crate::index::LinkId;
use crate::tree::TreeJoint;
use crate::tree::spatial::Pose;
use crate::world::{Control, WorldError};

/// N links of 10 cm with alternating axes, on the ground; a wave runs through the upright ones.
pub(super) fn snake(count: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.5, 0.0)?;
    stage.ground()?;
    let mut rig = Rig::default();
    let (length, radius) = (0.1, 0.03);
    let shape = || bar(DVec3::X * length, radius);
    let head = (None, DVec3::Z * radius);
    let mut last = rig.link("link-000", head, TreeJoint::Floating, shape());
    for i in 1..count {
        let axis = if i % 2 == 0 { DVec3::Y } else { DVec3::Z };
        let joint = TreeJoint::Revolute { axis };
        let name = format!("link-{i:03}");
        last = rig.link(&name, (Some(last), DVec3::X * length), joint, shape());
        let hold = servo(0.0, (20.0, 1.0, 5.0));
        let wave = (0.3, 0.5, i as f64 / 20.0);
        rig.drive(
            last,
            if i % 2 == 0 {
                hold
            } else {
                swinging(hold, wave)
            },
        );
    }
    rig.stand(&mut stage, "snake")?;
    // Links that touch down on a bending neighbour couple: a few steps take thousands of sweeps.
    Ok((stage, run((0.005, 2.0), 1e-4, 5000)))
}

/// Fourteen links on hinges: it stands on its servos for two seconds, then they let go and it falls.
pub(super) fn humanoid(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.8, 0.0)?;
    stage.ground()?;
    let rig = figure();
    rig.stand(&mut stage, "humanoid")?;
    Ok((stage, run((0.005, 4.0), 1e-8, 5000)))
}

/// The figure of `humanoid`, about 75 kg and 1.75 m, with its feet on z = 0.
fn figure() -> Rig {
    let mut rig = Rig::default();
    let hold = |stiffness: f64| Control {
        until: Some(2.0),
        ..servo(0.0, (stiffness, 0.05 * stiffness, stiffness))
    };
    let roll = TreeJoint::Revolute { axis: DVec3::X };
    let hip = 0.92;
    // Its centre of mass is in front of the ankles, as a person's is: without servos it falls forward.
    let trunk = block([0.1, 0.17, 0.26], DVec3::new(0.03, 0.0, 0.32));
    let torso = rig.link("torso", (None, DVec3::Z * hip), TreeJoint::Floating, trunk);
    let ball = Shape::Sphere { radius: 0.105 };
    let neck = (Some(torso), DVec3::Z * 0.6);
    let head = rig.link("head", neck, HINGE, (ball, Pose::at(DVec3::Z * 0.12)));
    rig.drive(head, hold(200.0));
    for (side, sign) in [("left", 1.0), ("right", -1.0)] {
        let name = |part: &str| format!("{side}-{part}");
        let socket = (Some(torso), DVec3::new(0.0, sign * 0.1, 0.0));
        let pelvis = (Shape::Sphere { radius: 0.07 }, Pose::IDENTITY);
        let socket = rig.link(&name("hip"), socket, roll, pelvis);
        rig.drive(socket, hold(2000.0));
        let mut limb = |part: &str, parent: (LinkId, DVec3), shape, stiffness, limits| {
            let link = rig.link(&name(part), (Some(parent.0), parent.1), HINGE, shape);
            let mut control = hold(stiffness);
            control.drive.limits = Some(limits);
            control.drive.friction = 0.5;
            rig.drive(link, control);
            link
        };
        let down = |length: f64| DVec3::Z * -length;
        let straight = (socket, DVec3::ZERO);
        let shape = bar(down(0.42), 0.065);
        let thigh = limb("thigh", straight, shape, 2000.0, [-2.0, 0.6]);
        let knee = (thigh, down(0.42));
        let shin = limb("shin", knee, bar(down(0.42), 0.05), 2000.0, [0.0, 2.4]);
        let sole = block([0.13, 0.05, 0.03], DVec3::new(0.03, 0.0, -0.05));
        limb("foot", (shin, down(0.42)), sole, 2000.0, [-0.8, 0.8]);
        let shoulder = (torso, DVec3::new(0.0, sign * 0.23, 0.52));
        let shape = bar(down(0.3), 0.045);
        let upper = limb("upper-arm", shoulder, shape, 300.0, [-2.5, 1.0]);
        let elbow = (upper, down(0.3));
        limb("forearm", elbow, bar(down(0.28), 0.035), 200.0, [-2.4, 0.0]);
    }
    rig
}

/// A body of 15 kg on four legs of two links; diagonal legs step together three times a second.
pub(super) fn quadruped(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.9, 0.0)?;
    stage.ground()?;
    let mut rig = Rig::default();
    let (leg, bend, foot) = (0.22, 0.6_f64, 0.025);
    let height = 2.0 * leg * bend.cos() + foot;
    let trunk = block([0.3, 0.12, 0.06], DVec3::ZERO);
    let start = (None, DVec3::Z * height);
    let trunk = rig.link("trunk", start, TreeJoint::Floating, trunk);
    let legs = [
        ("front-left", 1.0, 1.0, 0.0),
        ("front-right", 1.0, -1.0, 0.5),
        ("hind-left", -1.0, 1.0, 0.5),
        ("hind-right", -1.0, -1.0, 0.0),
    ];
    let (stride, lift, rate) = (0.15, 0.15, 3.0);
    let motor = (400.0, 10.0, 60.0);
    for (name, front, left, phase) in legs {
        // The knee points back: thigh bent by +bend about y, shin by −2 bend against it.
        let hip = DVec3::new(front * 0.22, left * 0.15, 0.0);
        let knee = DQuat::from_rotation_y(bend) * (DVec3::Z * -leg);
        let sole = DQuat::from_rotation_y(-bend) * (DVec3::Z * -leg);
        let thigh = format!("{name}-thigh");
        let thigh = rig.link(&thigh, (Some(trunk), hip), HINGE, bar(knee, 0.022));
        rig.drive(thigh, swinging(servo(0.0, motor), (stride, rate, phase)));
        let shin = format!("{name}-shin");
        let shin = rig.link(&shin, (Some(thigh), knee), HINGE, bar(sole, 0.016));
        rig.shape(shin, Shape::Sphere { radius: foot }, Pose::at(sole));
        // A leg that swings forward is lifted: the knee follows a quarter ahead.
        let bent = swinging(servo(0.0, motor), (lift, rate, phase + 0.25));
        rig.drive(shin, bent);
    }
    rig.stand(&mut stage, "quadruped")?;
    Ok((stage, run((0.0025, 4.0), 1e-6, 5000)))
}

/// Two fingers close on a box of 0.8 kg with 40 N and lift it 30 cm by friction 0.8.
pub(super) fn gripper(_: usize) -> Result<Made, WorldError> {
    let mut stage = Stage::new(0.8, 0.0)?;
    stage.ground()?;
    let cube = Shape::Box {
        half: [0.05, 0.05, 0.05],
    };
    stage.solid(cube, 800.0, at("box".to_owned(), DVec3::Z * 0.05))?;
    let mut rig = Rig::default();
    let along = |axis: DVec3| TreeJoint::Prismatic { axis };
    let palm = block([0.15, 0.04, 0.02], DVec3::ZERO);
    let hand = rig.link("hand", (None, DVec3::Z * 0.2), along(DVec3::Z), palm);
    // From the bottom to the top within two seconds, slowly at both ends.
    let lift = swinging(servo(0.15, (5000.0, 300.0, 400.0)), (0.15, 0.25, -0.25));
    rig.drive(hand, lift);
    for (name, sign) in [("left", 1.0), ("right", -1.0)] {
        let place = DVec3::new(-sign * 0.09, 0.0, -0.02);
        let finger = block([0.01, 0.03, 0.07], DVec3::Z * -0.08);
        let close = along(DVec3::X * sign);
        let finger = rig.link(name, (Some(hand), place), close, finger);
        rig.drive(finger, servo(0.06, (2000.0, 60.0, 40.0)));
    }
    rig.stand(&mut stage, "gripper")?;
    Ok((stage, run((0.0025, 2.0), 1e-6, 1000)))
}
