//! Robots bring no energy from nothing: contacts that no joint can part, axes that line up.

#![cfg(feature = "robots")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its scene must stop there"
)]

use delassus::model::robot::{Base, parse};
use delassus::model::scene::of_robot;
use delassus::solver::from_spec;
use delassus::world::Placement;
use delassus::{RobotId, Solver, Stop, World, WorldBuilder};

const H: f64 = 0.005;

/// A wheel under a bolted chassis, and a turntable that stands on the ground.
const BOLTED: &str = r#"<robot name="bolted">
  <link name="chassis"/>
  <joint name="wheel" type="continuous"><parent link="chassis"/><child link="rim"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/></joint>
  <link name="rim">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.02" izz="0.01"/></inertial>
    <collision><geometry><sphere radius="0.3"/></geometry></collision>
  </link>
  <joint name="table" type="continuous"><parent link="chassis"/><child link="plate"/><origin xyz="2 0 0.1"/><axis xyz="0 0 1"/></joint>
  <link name="plate">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.02"/></inertial>
    <collision><geometry><cylinder radius="0.3" length="0.2"/></geometry></collision>
  </link>
</robot>"#;

/// A head on three axes that meet, without mass between them: the last lines up with the first where the second ends.
const NECK: &str = r#"<robot name="neck">
  <link name="thorax"><inertial><mass value="20"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <joint name="z" type="continuous"><parent link="thorax"/><child link="a"/><origin xyz="0 0 2"/><axis xyz="0 0 1"/></joint>
  <link name="a"/>
  <joint name="x" type="revolute"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/><limit lower="-1.5708" upper="1.5708" effort="1" velocity="1"/></joint>
  <link name="b"/>
  <joint name="y" type="continuous"><parent link="b"/><child link="head"/><axis xyz="0 1 0"/></joint>
  <link name="head">
    <inertial><origin xyz="0.02 0.03 0.1"/><mass value="5"/><inertia ixx="0.03" iyy="0.025" izz="0.02"/></inertial>
  </link>
</robot>"#;

/// As `delassus run` solves.
fn solver() -> Box<dyn Solver> {
    let stop = Stop {
        tolerance: 1e-6,
        sweeps: 1000,
        ..Stop::default()
    };
    from_spec("auto", stop, 0).unwrap()
}

fn energy(world: &World) -> f64 {
    let probe = world.probe();
    probe.kinetic + probe.potential
}

/// The ground pushes a wheel through its axle, and a turntable along its axis: no impulse moves either, and any number is an
/// answer. A Franka arm that stood so had impulses of 1e35 N s, and 525 J out of their rounding.
#[test]
fn contacts_that_no_joint_can_part_are_no_part_of_the_problem() {
    let mut scene = of_robot(BOLTED, "bolted.urdf", None, Base::Fixed).unwrap();
    let spins = [7.0, 3.0];
    scene
        .world
        .place_robot(RobotId(0), &[0.0, 0.0], &spins)
        .unwrap();
    assert_eq!(scene.world.problem(H).unwrap().0.blocks().len(), 0);
    for _ in 0..100 {
        let step = scene.world.step(H, solver().as_mut()).unwrap();
        assert!(0 < step.contacts && step.unsolved == 0);
    }
    // Gravity pulls at the axles, to rounding.
    for (speed, spin) in scene.world.robots()[0].velocity().iter().zip(spins) {
        assert!((speed - spin).abs() < 1e-12, "{speed}");
    }
}

/// One that floats can be parted, and is.
#[test]
fn contacts_of_a_floating_robot_stay() {
    let mut scene = of_robot(BOLTED, "bolted.urdf", None, Base::Floating).unwrap();
    assert!(!scene.world.problem(H).unwrap().0.blocks().is_empty());
    for _ in 0..100 {
        scene.world.step(H, solver().as_mut()).unwrap();
    }
    let rim = scene.world.find_body("robot/rim").unwrap();
    let height = scene.world.bodies().position[rim.index()].z;
    assert!((height - 0.3).abs() < 1e-3, "{height}");
}

/// At the lock the first and the last axis turn against each other without moving anything, so that their speed is anything
/// too. Leaving it, that speed becomes that of the head.
#[test]
fn axes_that_line_up_bring_no_energy() {
    // Share of the kinetic energy that a step of first order may gain.
    const SHARE: f64 = 0.0101;
    for base in [Base::Fixed, Base::Floating] {
        let mut scene = of_robot(NECK, "neck.urdf", None, base).unwrap();
        let root = scene.world.robots()[0].velocity().len() - 3;
        let mut q = scene.world.robots()[0].configuration().to_vec();
        let mut v = vec![0.0; root + 3];
        let at = q.len() - 3;
        q[at..].copy_from_slice(&[0.3, std::f64::consts::FRAC_PI_2, 0.2]);
        v[root..].copy_from_slice(&[300.0, -12.0, 300.0]);
        scene.world.place_robot(RobotId(0), &q, &v).unwrap();
        let mut braked = 0.0;
        for _ in 0..400 {
            let before = energy(&scene.world);
            let step = scene.world.step(H, solver().as_mut()).unwrap();
            let kinetic = step.probe.kinetic;
            let after = energy(&scene.world);
            assert_eq!(
                step.unsolved, 0,
                "{base:?} {}: {:?}",
                step.report, step.report.message
            );
            assert!(
                after - before <= SHARE * kinetic,
                "{base:?}: {before} {after} of {kinetic}, braked {}",
                step.braked
            );
            braked += step.braked;
        }
        assert!(
            0.0 < braked,
            "{base:?}: the test did not reach what it tests"
        );
    }
}

/// MuJoCo's ball without a range may turn by nothing where it is limited.
#[test]
fn a_limited_ball_without_a_range_stays_where_it_is() {
    let text = r#"<mujoco><worldbody><body pos="0 0 1">
        <joint type="ball" limited="true"/><geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/>
    </body></worldbody></mujoco>"#;
    let mut scene = of_robot(text, "ball.xml", None, Base::Fixed).unwrap();
    for _ in 0..200 {
        let step = scene.world.step(H, solver().as_mut()).unwrap();
        assert_eq!(step.unsolved, 0);
    }
    // Half the angle, which a step of the fall and its correction leave.
    let turn = scene.world.robots()[0].configuration()[0];
    assert!(0.999 < turn.abs(), "{turn}");
}

/// A finger that begins 2 cm deep in both claws of another can part from neither: it stays, and every step is solved.
#[test]
fn links_that_begin_inside_each_other_are_not_forced_apart() {
    let mass = r#"<inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/>"#;
    let text = format!(
        r#"<mujoco><worldbody><body pos="0 0 1"><joint type="slide" axis="1 0 0"/>{mass}<geom type="box" size=".05 .02 .02"/></body>
        <body pos="0 0 1"><joint type="slide" axis="1 0 0"/>{mass}<geom type="box" size=".02 .1 .05" pos="-.05 0 0"/>
        <geom type="box" size=".02 .1 .05" pos=".05 0 0"/></body></worldbody></mujoco>"#
    );
    let file = parse(&text, "fingers.xml", None, Base::Fixed).unwrap();
    let mut builder = WorldBuilder::default();
    builder
        .add_robot(&file.robot, &Placement::default())
        .unwrap();
    let mut world = builder.build().unwrap();
    let mut solver = from_spec("auto", Stop::default(), 0).unwrap();
    for _ in 0..100 {
        let step = world.step(H, solver.as_mut()).unwrap();
        assert!(0 < step.contacts);
        assert_eq!(step.unsolved, 0, "{:?}", step.report.message);
    }
    let q = world.robots()[0].configuration();
    assert!(q[0].abs() + q[1].abs() < 1e-6, "{q:?}");
}
