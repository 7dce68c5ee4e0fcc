//! Robots in a world: what drives them, what they touch, and that every solver sees the same mechanics.

#![cfg(feature = "world")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its world must stop there"
)]

use delassus::collide::Shape;
use delassus::math::{DMat3, DQuat, DVec3};
use delassus::scenes::build;
use delassus::solver::{Stop, from_spec};
use delassus::tree::spatial::Pose;
use delassus::tree::{Link, MassProperties, Tree, TreeError, TreeJoint};
use delassus::world::{
    Anchor, Attach, Body, Closure, ClosureKind, Drive, FrictionModel, Gyroscopic, Joint, JointAxis,
    JointKind, JointModel, Motor, MovedBy, Placement, RobotModel, Scene, Servo, ShapeModel, State,
    WorldError,
};
use delassus::{BodyId, LinkId, RobotId, Solver, World, WorldBuilder};

const H: f64 = 0.005;

fn solver(spec: &str, tolerance: f64) -> Box<dyn Solver> {
    let stop = Stop {
        tolerance,
        sweeps: 20_000,
        ..Stop::default()
    };
    from_spec(spec, stop, 0).unwrap()
}

fn run(world: &mut World, steps: usize) {
    let mut solver = solver("gauss-seidel", 1e-10);
    for _ in 0..steps {
        world.step(H, solver.as_mut()).unwrap();
    }
}

/// A robot of these links, each with a joint of its name and an optional shape.
fn model(links: Vec<Link>, shapes: Vec<(u32, Shape)>) -> RobotModel {
    let joints = links
        .iter()
        .enumerate()
        .map(|(i, link)| JointModel::free(&link.name, LinkId(i as u32)));
    let shapes = shapes
        .into_iter()
        .map(|(link, shape)| ShapeModel::new(Some(LinkId(link)), Pose::IDENTITY, shape));
    RobotModel {
        joints: joints.collect(),
        shapes: shapes.collect(),
        ..RobotModel::new("test", Tree::new(links.clone()).unwrap())
    }
}

fn solid(mass: f64, com: DVec3, moments: [f64; 3]) -> MassProperties {
    MassProperties {
        mass,
        com,
        inertia: DMat3::from_diagonal(DVec3::from(moments)),
    }
}

/// A bar of 2 kg about y with its centre 0.5 m along x: 0.6 kg m² about the joint.
fn arm() -> Link {
    let body = solid(2.0, DVec3::X * 0.5, [0.01, 0.1, 0.1]);
    Link::new(
        None,
        TreeJoint::Revolute { axis: DVec3::Y },
        Pose::IDENTITY,
        body,
    )
    .named("arm")
}

const ARM_INERTIA: f64 = 0.6;

#[test]
fn a_model_that_names_a_link_it_does_not_have_is_refused_when_it_is_added() {
    let ghost = LinkId(7);
    let ball = || Shape::Sphere { radius: 0.1 };
    let plain = model(vec![arm()], vec![(0, ball())]);
    let mut joint = plain.clone();
    joint.joints[0].link = ghost;
    let closed = |kind: ClosureKind| {
        let mut model = plain.clone();
        let name = "loop".to_owned();
        model.closures.push(Closure { name, kind });
        model
    };
    let tied = |dependent, on| ClosureKind::Joint {
        dependent,
        on,
        coefficients: [0.0; 5],
    };
    let end = |link| Anchor {
        link,
        point: DVec3::X,
    };
    let pinned = ClosureKind::Connect {
        a: end(None),
        b: end(Some(ghost)),
    };
    let refused = |model: &RobotModel| {
        let mut builder = WorldBuilder::default();
        builder.add_robot(model, &Placement::default()).err()
    };
    for model in [
        model(vec![arm()], vec![(7, ball())]),
        joint,
        closed(tied(ghost, None)),
        closed(tied(LinkId(0), Some(ghost))),
        closed(pinned),
    ] {
        let Some(WorldError::RobotTree { error, .. }) = refused(&model) else {
            panic!("{:?} was taken", model.closures);
        };
        assert_eq!(
            error,
            TreeError::UnknownLink {
                link: ghost,
                count: 1
            }
        );
    }
    assert_eq!(refused(&plain), None);
}

#[test]
fn a_robot_that_was_never_added_cannot_be_placed() {
    let mut world = arm_world(arm(), Drive::default());
    let refused = world.place_robot(RobotId(1), &[0.0], &[0.0]);
    let unknown = WorldError::UnknownRobot {
        robot: RobotId(1),
        count: 1,
    };
    assert_eq!(refused, Err(unknown));
    assert_eq!(world.place_robot(RobotId(0), &[0.5], &[0.0]), Ok(()));
}

/// A world of one arm without gravity.
fn arm_world(link: Link, drive: Drive) -> World {
    let mut builder = WorldBuilder::default();
    builder.gravity = DVec3::ZERO;
    let id = builder
        .add_robot(&model(vec![link], vec![]), &Placement::default())
        .unwrap();
    builder.robot_mut(id).unwrap().joints_mut()[0].control.drive = drive;
    builder.build().unwrap()
}

fn rate(world: &World) -> f64 {
    world.robots()[0].velocity()[0]
}

fn angle(world: &World) -> f64 {
    world.robots()[0].position("arm").unwrap()
}

fn ground(builder: &mut WorldBuilder) {
    let ground = Body {
        name: "ground".to_owned(),
        motion: MovedBy::Static,
        ..Body::default()
    };
    let ground = builder.add_body(ground).unwrap();
    let shape = delassus::collide::Shape::HalfSpace;
    builder
        .add_collider(ground, shape, Attach::default())
        .unwrap();
}

#[test]
fn a_motor_pushes_with_its_force_until_it_has_its_speed() {
    let motor = Motor {
        speed: 2.0,
        max_force: 3.0,
    };
    let drive = Drive {
        motor: Some(motor),
        ..Drive::default()
    };
    let mut world = arm_world(arm(), drive);
    run(&mut world, 20);
    assert!((rate(&world) - 20.0 * H * 3.0 / ARM_INERTIA).abs() < 1e-9);
    run(&mut world, 100);
    assert!((rate(&world) - 2.0).abs() < 1e-9);
}

#[test]
fn a_servo_sags_by_weight_over_stiffness_and_gives_way_beyond_its_force() {
    let servo = Servo {
        position: 0.0,
        stiffness: 100.0,
        damping: 20.0,
        max_force: 50.0,
        min_force: None,
    };
    let drive = Drive {
        servo: Some(servo),
        ..Drive::default()
    };
    let mut world = arm_world(arm(), drive);
    world.gravity = DVec3::new(0.0, 0.0, -9.81);
    run(&mut world, 2000);
    // About y the weight turns the arm by +q: k q = m g l cos q.
    let q = angle(&world);
    assert!((100.0 * q - 2.0 * 9.81 * 0.5 * q.cos()).abs() < 1e-6, "{q}");
    let weak = Servo {
        max_force: 1.0,
        ..servo
    };
    let robot = world.robot_mut(RobotId(0)).unwrap();
    robot.joint_mut("arm").unwrap().control.drive.servo = Some(weak);
    run(&mut world, 100);
    assert!(1.0 < angle(&world));
}

#[test]
fn limits_stop_friction_brakes_and_damping_decays_as_implicit_euler_says() {
    let mut world = arm_world(
        arm(),
        Drive {
            limits: Some([-0.1, 0.3]),
            ..Drive::default()
        },
    );
    world.place_robot(RobotId(0), &[0.0], &[1.0]).unwrap();
    run(&mut world, 200);
    assert!((angle(&world) - 0.3).abs() < 1e-9 && rate(&world).abs() < 1e-9);

    let mut world = arm_world(
        arm(),
        Drive {
            friction: 0.3,
            ..Drive::default()
        },
    );
    world.place_robot(RobotId(0), &[0.0], &[1.0]).unwrap();
    run(&mut world, 200);
    assert!((rate(&world) - (1.0 - 200.0 * H * 0.5)).abs() < 1e-9);
    run(&mut world, 300);
    assert_eq!(rate(&world), 0.0);

    let mut link = arm();
    link.damping = 4.0;
    let mut world = arm_world(link, Drive::default());
    world.place_robot(RobotId(0), &[0.0], &[1.0]).unwrap();
    run(&mut world, 50);
    let wanted = (1.0 + H * 4.0 / ARM_INERTIA).powi(-50);
    assert!((rate(&world) - wanted).abs() < 1e-12);
}

#[test]
fn rotors_are_part_of_mass_and_energy() {
    let mut link = arm();
    link.armature = 0.4;
    let mut world = arm_world(link, Drive::default());
    world.robot_mut(RobotId(0)).unwrap().force[0] = 2.0;
    run(&mut world, 1);
    assert!((rate(&world) - H * 2.0 / (ARM_INERTIA + 0.4)).abs() < 1e-14);
    assert_eq!(world.robots()[0].force, [0.0]);
    let energy = world.probe().kinetic;
    assert!((energy - 0.5 * rate(&world).powi(2)).abs() < 1e-15);
}

#[test]
fn forces_on_links_act_through_the_joints() {
    let mut world = arm_world(arm(), Drive::default());
    let body = world.robots()[0].body(LinkId(0)).unwrap();
    world.bodies_mut().force[body.index()] = DVec3::new(7.0, 5.0, -6.0);
    world.bodies_mut().torque[body.index()] = DVec3::Y * 2.0;
    run(&mut world, 1);
    // About y: torque 2 and 6 N down at 0.5 m.
    assert!((rate(&world) - H * 5.0 / ARM_INERTIA).abs() < 1e-14);
    let bodies = world.bodies();
    assert!((bodies.velocity[body.index()].z + 0.5 * rate(&world)).abs() < 1e-3);
}

/// The same box as a free body and as a floating tree, in two worlds.
fn twins(velocity: DVec3, spin: DVec3, height: f64) -> (World, World) {
    let half = [0.3, 0.2, 0.1];
    let (mass, moments) = (3.0, [0.05, 0.1, 0.13]);
    let shape = delassus::collide::Shape::Box { half };
    let mut builder = WorldBuilder::default();
    builder.settings.gyroscopic = Gyroscopic::Explicit;
    ground(&mut builder);
    let body = Body {
        name: "box".to_owned(),
        position: DVec3::Z * height,
        velocity,
        spin,
        mass,
        inertia: DMat3::from_diagonal(DVec3::from(moments)),
        ..Body::default()
    };
    let id = builder.add_body(body).unwrap();
    builder.add_collider(id, shape, Attach::default()).unwrap();
    let free = builder.build().unwrap();

    let mut builder = WorldBuilder::default();
    ground(&mut builder);
    let link = Link::new(
        None,
        TreeJoint::Floating,
        Pose::IDENTITY,
        solid(mass, DVec3::ZERO, moments),
    );
    let model = model(vec![link.named("box")], vec![(0, Shape::Box { half })]);
    let placement = Placement {
        position: DVec3::Z * height,
        ..Placement::default()
    };
    let id = builder.add_robot(&model, &placement).unwrap();
    let q = builder.robot_mut(id).unwrap().configuration().to_vec();
    let v = [spin.to_array(), velocity.to_array()].concat();
    builder.place_robot(id, &q, &v).unwrap();
    (free, builder.build().unwrap())
}

#[test]
fn a_box_as_a_tree_flies_slides_and_comes_to_rest_like_a_free_body() {
    let (mut free, mut tree) = twins(DVec3::new(2.0, 0.5, 1.0), DVec3::new(0.0, 0.0, 3.0), 0.5);
    for step in 0..400 {
        run(&mut free, 1);
        run(&mut tree, 1);
        let (a, b) = (free.bodies(), tree.bodies());
        let apart = (a.position[1] - b.position[1]).length();
        let turned = a.orientation[1].angle_between(b.orientation[1]);
        // Spinning about a principal axis, both do the same sums up to rounding and the solver's tolerance.
        assert!(
            apart < 1e-6 && turned < 1e-6,
            "step {step}: {apart} {turned}"
        );
    }
    assert!(tree.bodies().velocity[1].length() < 1e-6);
    assert!((tree.bodies().position[1].z - 0.1).abs() < 1e-4);
    assert_eq!(free.touches().len(), tree.touches().len());
    let force = |world: &World| world.contact_force((BodyId(1), BodyId(0)), H).z;
    assert!((force(&free) - 3.0 * 9.81).abs() < 1e-5);
    assert!((force(&tree) - 3.0 * 9.81).abs() < 1e-5);
}

#[test]
fn a_tumbling_tree_does_the_same_sums_as_a_free_body() {
    let spin = DVec3::new(3.0, 1.0, -2.0);
    let (mut free, mut tree) = twins(DVec3::new(1.0, 0.0, 4.0), spin, 5.0);
    run(&mut free, 80);
    run(&mut tree, 80);
    let (a, b) = (free.bodies(), tree.bodies());
    assert!((a.position[1] - b.position[1]).length() < 1e-11);
    assert!((a.spin[1] - b.spin[1]).length() < 1e-11);
    assert!((a.spin[1] - spin).length() > 0.1, "it tumbles");
    // The cosine of an angle knows it to the root of rounding.
    assert!(a.orientation[1].angle_between(b.orientation[1]) < 1e-7);
}

/// A pendulum as a tree whose bob hangs on a free body by a joint of the world.
fn mixed() -> World {
    let mut builder = WorldBuilder::default();
    ground(&mut builder);
    let placement = Placement {
        position: DVec3::Z * 2.0,
        ..Placement::default()
    };
    builder
        .add_robot(&model(vec![arm()], vec![]), &placement)
        .unwrap();
    let ball = delassus::collide::Shape::Sphere { radius: 0.1 };
    let body = Body {
        name: "bob".to_owned(),
        position: DVec3::new(1.0, 0.0, 1.5),
        ..Body::default()
    };
    let bob = builder
        .add_solid(ball, 500.0, body, Attach::default())
        .unwrap();
    let link = BodyId(1);
    assert_eq!(builder.bodies().name[1], "robot/arm");
    let links = [Some(bob), Some(link)];
    let place = JointAxis::new(DVec3::new(1.0, 0.0, 2.0), DVec3::Y);
    let joint = Joint::at(builder.bodies(), links, place, JointKind::Ball);
    builder.add_joint(joint).unwrap();
    builder.build().unwrap()
}

#[test]
fn a_tree_and_a_free_body_hang_on_each_other() {
    let mut world = mixed();
    let before = world.probe();
    let mut worst: f64 = 0.0;
    let mut solver = solver("gauss-seidel", 1e-10);
    for _ in 0..200 {
        let step = world.step(0.001, solver.as_mut()).unwrap();
        worst = worst.max(step.violation);
    }
    let after = world.probe();
    let (a, b) = (
        before.kinetic + before.potential,
        after.kinetic + after.potential,
    );
    assert!(1.0 < after.kinetic && (a - b).abs() < 0.05, "{a} {b}");
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn every_solver_gives_the_same_steps() {
    for (scene, tolerance) in [("four-bar", 1e-7), ("delta-robot", 1e-7), ("gripper", 1e-4)] {
        let state = |spec: &str| {
            let mut scene = build(scene).unwrap();
            scene.world.settings.friction = FrictionModel::Box;
            let mut solver = solver(spec, 1e-9);
            for _ in 0..12 {
                let step = scene.world.step(scene.run.dt, solver.as_mut()).unwrap();
                let law = step.report.residual.law;
                assert!(law < 1e-6, "{} under {spec}: {law}", scene.title);
            }
            scene.world.robots()[0].velocity().to_vec()
        };
        let wanted = state("gauss-seidel");
        for spec in ["jacobi", "lemke", "lemke-reduced", "hybrid"] {
            for (a, b) in state(spec).iter().zip(&wanted) {
                assert!((a - b).abs() < tolerance, "{scene} under {spec}: {a} {b}");
            }
        }
    }
}

#[test]
fn a_state_is_taken_out_and_put_back_bit_for_bit() {
    let mut scene = build("quadruped").unwrap();
    let world = &mut scene.world;
    run(world, 20);
    let text = serde_json::to_string(&world.state()).unwrap();
    let state: State = serde_json::from_str(&text).unwrap();
    run(world, 20);
    let end = world.state_hash();
    let mut again = build("quadruped").unwrap().world;
    again.restore(&state).unwrap();
    run(&mut again, 20);
    assert_eq!(again.state_hash(), end);
    let mut other = build("humanoid").unwrap().world;
    let hash = other.state_hash();
    assert!(other.restore(&state).is_err());
    assert_eq!(other.state_hash(), hash);
}

#[test]
fn a_refused_step_keeps_the_robot() {
    let mut world = arm_world(arm(), Drive::default());
    world.place_robot(RobotId(0), &[0.5], &[1.0]).unwrap();
    let hash = world.state_hash();
    let mut solver = solver("gauss-seidel", 1e-10);
    for force in [f64::NAN, f64::INFINITY] {
        world.robot_mut(RobotId(0)).unwrap().force[0] = force;
        assert!(world.step(H, solver.as_mut()).is_err());
        assert_eq!(world.state_hash(), hash);
    }
    world.robot_mut(RobotId(0)).unwrap().force[0] = 0.0;
    world.step(H, solver.as_mut()).unwrap();
    assert!(world.place_robot(RobotId(0), &[f64::NAN], &[0.0]).is_err());
    assert!(world.place_robot(RobotId(0), &[0.0, 0.0], &[0.0]).is_err());
}

/// Steps a built-in scene for some seconds with its own defaults.
fn play(scene: &mut Scene, seconds: f64) {
    let stop = Stop {
        tolerance: scene.run.tolerance,
        sweeps: scene.run.iterations,
        ..Stop::default()
    };
    let mut solver = from_spec(&scene.run.solver, stop, 0).unwrap();
    for _ in 0..(seconds / scene.run.dt).round() as usize {
        scene.world.step(scene.run.dt, solver.as_mut()).unwrap();
    }
}

fn position(scene: &Scene, name: &str) -> DVec3 {
    let bodies = scene.world.bodies();
    let at = bodies.name.iter().position(|body| body == name);
    bodies.position[at.unwrap()]
}

#[test]
fn the_humanoid_stands_until_its_servos_let_go() {
    let mut scene = build("humanoid").unwrap();
    let start = position(&scene, "humanoid/torso");
    play(&mut scene, 2.0);
    let moved = (position(&scene, "humanoid/torso") - start).length();
    assert!(moved < 0.02, "moved by {moved} m");
    play(&mut scene, 2.0);
    let height = position(&scene, "humanoid/torso").z;
    assert!(height < 0.6 * start.z, "still at {height} m");
}

#[test]
fn the_quadruped_trots_and_stays_upright() {
    let mut scene = build("quadruped").unwrap();
    let start = position(&scene, "quadruped/trunk");
    play(&mut scene, 2.0);
    let end = position(&scene, "quadruped/trunk");
    assert!(0.5 < end.x - start.x, "{start} {end}");
    assert!(
        (end.z - start.z).abs() < 0.05 && (end.y - start.y).abs() < 0.1,
        "{end}"
    );
    let trunk = scene.world.robots()[0].body(LinkId(0)).unwrap();
    let up = scene.world.bodies().orientation[trunk.index()] * DVec3::Z;
    assert!(0.95 < up.z, "{up}");
}

#[test]
fn the_gripper_lifts_the_box_by_friction_alone() {
    let mut scene = build("gripper").unwrap();
    play(&mut scene, 2.0);
    let lifted = position(&scene, "box");
    assert!(
        (lifted.z - 0.35).abs() < 0.01 && lifted.x.abs() < 0.001,
        "{lifted}"
    );
    // Smooth fingers lift nothing.
    let mut scene = build("gripper").unwrap();
    for surface in scene.world.surfaces_mut() {
        surface.friction = 0.01;
    }
    play(&mut scene, 2.0);
    assert!(position(&scene, "box").z < 0.06);
}

#[test]
fn the_delta_robot_keeps_its_platform_level() {
    let mut scene = build("delta-robot").unwrap();
    let start = position(&scene, "delta/platform");
    let mut reach: f64 = 0.0;
    for _ in 0..20 {
        play(&mut scene, 0.1);
        let robot = &scene.world.robots()[0];
        let links = robot.tree().links();
        let plate = links.iter().position(|link| link.name == "platform");
        let body = robot.body(LinkId(plate.unwrap() as u32)).unwrap();
        let turn = scene.world.bodies().orientation[body.index()];
        assert!(turn.angle_between(DQuat::IDENTITY) < 1e-6);
        reach = reach.max((position(&scene, "delta/platform") - start).length());
    }
    assert!(0.03 < reach, "{reach}");
}

#[test]
fn the_crank_turns_the_four_bar_and_the_loop_stays_closed() {
    // Turns in two seconds beyond the two the motor wants: closing the loop moves the crank a little.
    let excess = |dt: f64| {
        let mut scene = build("four-bar").unwrap();
        let mut solver = solver("gauss-seidel", 1e-10);
        for _ in 0..(2.0 / dt).round() as usize {
            let step = scene.world.step(dt, solver.as_mut()).unwrap();
            assert!(step.violation < 1e-10, "{}", step.violation);
        }
        let robot = &scene.world.robots()[0];
        assert!(robot.position("rocker").unwrap().abs() < 0.05);
        (robot.position("crank").unwrap() / std::f64::consts::TAU - 2.0).abs()
    };
    let (coarse, fine) = (excess(0.005), excess(0.00125));
    assert!(coarse < 0.005 && fine < 0.3 * coarse, "{coarse} {fine}");
}

#[test]
fn a_snake_lies_on_the_ground_and_stays_whole() {
    let mut scene = build("snake:20").unwrap();
    play(&mut scene, 0.5);
    let probe = scene.world.probe();
    assert!(probe.kinetic.is_finite() && probe.kinetic < 5.0);
    for body in scene.world.bodies().position.iter().skip(1) {
        assert!((body.z - 0.03).abs() < 0.02, "{body}");
    }
}
