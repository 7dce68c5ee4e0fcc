//! Steps differentiated: against central differences of whole steps, forward against backward, and cases known by heart.

#![cfg(feature = "robots")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "common/world.rs"]
mod kit;

use delassus::math::{DQuat, DVec3, Random};
use delassus::model::{robot::Base, scene::of_robot};
use delassus::world::{
    Body, Differentiate, DifferentiateError, Drive, Input, JointAxis, JointKind, Layout, Motor,
    Servo, StepChange, StepDerivative,
};
use delassus::{BodyId, JointId, Newton, RobotId, Solver, Stop, World, WorldBuilder};
use kit::{GRAVITY, at, ball, cuboid, ground, material, space};

/// Step of these worlds \[s\].
const H: f64 = 0.01;

fn tight() -> Newton {
    let mut solver = Newton::default();
    solver.limit(Stop {
        tolerance: 1e-13,
        ..Stop::default()
    });
    solver
}

fn differentiated(world: &World, inputs: &[Input]) -> StepDerivative {
    let by = Differentiate {
        inputs: inputs.to_vec(),
        ..Differentiate::default()
    };
    world.differentiate(H, &mut tight(), &by).unwrap()
}

/// The world with one number of its poses, velocities, forces or inputs moved.
fn moved(world: &World, layout: &Layout, inputs: &[Input], at: usize, by: f64) -> World {
    let (mut world, n) = (world.clone(), layout.len());
    if 3 * n <= at {
        let input = inputs[at - 3 * n];
        let value = input.get(&world).unwrap();
        match input {
            Input::Gravity(axis) => world.gravity[axis] += by,
            Input::Mass(id) => {
                let bodies = world.bodies_mut();
                bodies.inertia[id.index()] *= (value + by) / value;
                bodies.mass[id.index()] += by;
            }
            Input::Friction(material) => world.surfaces_mut()[material].friction += by,
            Input::Restitution(material) => world.surfaces_mut()[material].restitution += by,
            Input::MotorSpeed(id) => drive(&mut world, id).motor.as_mut().unwrap().speed += by,
            Input::MotorForce(id) => drive(&mut world, id).motor.as_mut().unwrap().max_force += by,
            Input::ServoPosition(id) => {
                drive(&mut world, id).servo.as_mut().unwrap().position += by;
            }
            Input::RobotServoPosition(id, joint) => {
                let robot = world.robot_mut(id).unwrap();
                let drive = &mut robot.joints_mut()[joint].control.drive;
                drive.servo.as_mut().unwrap().position += by;
            }
            other => panic!("no test moves {other}"),
        }
        return world;
    }
    let (kind, at) = (at / n, at % n);
    if let Some(id) = layout.bodies().get(at / 6) {
        let (i, k, bodies) = (id.index(), at % 6, world.bodies_mut());
        match (kind, k < 3) {
            (0, true) => bodies.position[i][k] += by,
            (0, false) => {
                let turn = DQuat::from_scaled_axis(DVec3::AXES[k - 3] * by);
                bodies.orientation[i] = turn * bodies.orientation[i];
            }
            (1, true) => bodies.velocity[i][k] += by,
            (1, false) => bodies.spin[i][k - 3] += by,
            (_, true) => bodies.force[i][k] += by,
            (_, false) => bodies.torque[i][k - 3] += by,
        }
        // Coordinates of joints follow the pose.
        let state = layout.coordinates(&world);
        layout.place(&mut world, &state).unwrap();
        return world;
    }
    let robots = (0..world.robots().len() as u32).map(RobotId);
    let mut places = robots.map(|id| (id, layout.robot(id).unwrap()));
    let (id, range) = places.find(|(_, range)| range.contains(&at)).unwrap();
    let robot = &world.robots()[id.index()];
    let (mut q, mut v) = (robot.configuration().to_vec(), robot.velocity().to_vec());
    match kind {
        0 => {
            let mut along = vec![0.0; v.len()];
            along[at - range.start] = by;
            robot.tree().integrate(&mut q, &along, 1.0).unwrap();
        }
        1 => v[at - range.start] += by,
        _ => {
            world.robot_mut(id).unwrap().force[at - range.start] += by;
            return world;
        }
    }
    world.place_robot(id, &q, &v).unwrap();
    world
}

fn drive(world: &mut World, id: JointId) -> &mut Drive {
    world.joint_mut(id).unwrap().kind.drive_mut().unwrap()
}

/// What leads from one state to another: poses, then velocities.
fn difference(a: &World, b: &World, layout: &Layout) -> Vec<f64> {
    let (mut pose, mut velocity) = (Vec::new(), Vec::new());
    for id in layout.bodies() {
        let i = id.index();
        let (from, to) = (a.bodies(), b.bodies());
        pose.extend((to.position[i] - from.position[i]).to_array());
        let mut turn = to.orientation[i] * from.orientation[i].conjugate();
        if turn.w < 0.0 {
            turn = -turn;
        }
        // A turn of 1e-5 or less: its vector part is half of it.
        pose.extend((2.0 * turn.xyz()).to_array());
        velocity.extend((to.velocity[i] - from.velocity[i]).to_array());
        velocity.extend((to.spin[i] - from.spin[i]).to_array());
    }
    for (a, b) in a.robots().iter().zip(b.robots()) {
        let tree = a.tree();
        pose.extend(
            tree.difference(a.configuration(), b.configuration())
                .unwrap(),
        );
        let pairs = a.velocity().iter().zip(b.velocity());
        velocity.extend(pairs.map(|(a, b)| b - a));
    }
    pose.extend(velocity);
    pose
}

fn stepped(world: &World) -> World {
    let mut world = world.clone();
    let step = world.step(H, &mut tight()).unwrap();
    assert!(step.report.residual.law < 1e-11, "{}", step.report);
    world
}

/// One column of the derivative.
fn column(derivative: &StepDerivative, n_inputs: usize, at: usize) -> Vec<f64> {
    let n = derivative.layout().len();
    let mut all = vec![0.0; 3 * n + n_inputs];
    all[at] = 1.0;
    let change = StepChange {
        state: all[..2 * n].to_vec(),
        force: all[2 * n..3 * n].to_vec(),
        inputs: all[3 * n..].to_vec(),
    };
    derivative.forward(&change).unwrap()
}

/// Compares every column with the central difference of whole steps, where modes stay; gives how many were compared.
fn compare(name: &str, world: &World, inputs: &[Input], tolerance: f64) -> usize {
    let derivative = differentiated(world, inputs);
    assert_eq!(derivative.degenerate().count(), 0, "{name} is on an edge");
    let layout = derivative.layout().clone();
    let modes: Vec<_> = derivative.modes().collect();
    let kinks: Vec<usize> = derivative.kinks().collect();
    let mut compared = 0;
    for at in 0..3 * layout.len() + inputs.len() {
        let step = 1e-5;
        let sides = [step, -step].map(|by| moved(world, &layout, inputs, at, by));
        let same = sides.iter().all(|side| {
            let side = differentiated(side, inputs);
            side.modes().eq(modes.iter().copied())
        });
        if !same || kinks.contains(&at) {
            continue;
        }
        let [plus, minus] = sides.map(|side| stepped(&side));
        let found = difference(&minus, &plus, &layout);
        let exact = column(&derivative, inputs.len(), at);
        let size = exact.iter().fold(1.0, |m: f64, x| x.abs().max(m));
        for (i, (found, exact)) in found.iter().zip(&exact).enumerate() {
            let found = found / (2.0 * step);
            let error = (found - exact).abs() / size;
            assert!(error < tolerance, "{name} {at} {i}: {found} {exact}");
        }
        compared += 1;
    }
    transposed(name, &derivative, inputs.len());
    compared
}

/// a·(J x) = (Jᵀa)·x to 1e-12.
fn transposed(name: &str, derivative: &StepDerivative, n_inputs: usize) {
    let mut random = Random::new(7);
    let mut some =
        |count: usize| -> Vec<f64> { (0..count).map(|_| random.range(-1.0, 1.0)).collect() };
    let n = derivative.layout().len();
    let change = StepChange {
        state: some(2 * n),
        force: some(n),
        inputs: some(n_inputs),
    };
    let a = some(2 * n);
    let forth = derivative.forward(&change).unwrap();
    let back = derivative.backward(&a).unwrap();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let left = dot(&a, &forth);
    let right = dot(&back.state, &change.state)
        + dot(&back.force, &change.force)
        + dot(&back.inputs, &change.inputs);
    let sizes = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x * y).abs()).sum::<f64>();
    let size = 1.0 + sizes(&a, &forth) + sizes(&back.state, &change.state);
    assert!(
        (left - right).abs() < 1e-12 * size,
        "{name}: {left} {right}"
    );
}

fn turning(position: DVec3, velocity: DVec3, spin: DVec3) -> Body {
    Body {
        velocity,
        spin,
        ..at(position)
    }
}

/// Gravity that pulls down a slope of so many radians along x, over level ground.
fn slope(angle: f64) -> DVec3 {
    DVec3::new(angle.sin(), 0.0, -angle.cos()) * GRAVITY
}

#[test]
fn a_thrown_ball_moves_on_as_its_velocity_and_gravity_say() {
    let mut builder = WorldBuilder::default();
    let surface = material(&mut builder, 0.5, 0.0);
    let start = turning(DVec3::Z, DVec3::new(3.0, 0.0, 4.0), DVec3::ZERO);
    let id = ball(&mut builder, 0.1, start, surface);
    let world = builder.build().unwrap();
    let inputs = [Input::Gravity(2), Input::Mass(id)];
    let derivative = differentiated(&world, &inputs);
    assert!(derivative.is_smooth() && derivative.is_unique());
    let near = |found: f64, exact: f64| assert!((found - exact).abs() < 1e-9, "{found} {exact}");
    // v⁺ = v + h g, x⁺ = x + h v⁺.
    let by_gravity = column(&derivative, 2, 18);
    near(by_gravity[2], H * H);
    near(by_gravity[8], H);
    let by_speed = column(&derivative, 2, 6);
    near(by_speed[0], H);
    near(by_speed[6], 1.0);
    // Weight and inertia grow alike.
    assert!(column(&derivative, 2, 19).iter().all(|x| x.abs() < 1e-9));
    // A force of 1 N on 1 kg.
    near(column(&derivative, 2, 12)[6], H);
}

#[test]
fn a_block_on_a_slope_feels_friction_only_while_it_slides() {
    let angle = 0.5_f64;
    let block = |mu: f64, speed: f64| {
        let mut builder = WorldBuilder::default();
        let surface = material(&mut builder, mu, 0.0);
        ground(&mut builder, DQuat::IDENTITY, surface);
        let start = turning(DVec3::Z * 0.0999, DVec3::X * speed, DVec3::ZERO);
        cuboid(&mut builder, DVec3::new(0.5, 0.5, 0.1), start, surface);
        builder.gravity = slope(angle);
        builder.build().unwrap()
    };
    let inputs = [Input::Friction(1), Input::Mass(BodyId(1))];
    let sliding = differentiated(&block(0.2, 1.0), &inputs);
    let n = sliding.layout().len();
    // dv/dμ = −N/m with N the force of the step, which also parts the overlap: 1e-4 m at 4/21 of it a step.
    let normal = GRAVITY * H * angle.cos() + 1e-4 * (4.0 / 21.0) / H;
    let found = column(&sliding, 2, 3 * n);
    assert!((found[n] + normal).abs() < 1e-8, "{} {normal}", found[n]);
    assert!((found[0] + H * normal).abs() < 1e-8);
    // The mass falls out.
    let found = column(&sliding, 2, 3 * n + 1);
    assert!(found.iter().all(|x| x.abs() < 1e-8), "{found:?}");
    let resting = differentiated(&block(0.9, 0.0), &inputs);
    let found = column(&resting, 2, 3 * n);
    assert!(found.iter().all(|x| x.abs() < 1e-8), "{found:?}");
}

/// A pendulum of 1 kg at 1 m on a hinge of the world, with a motor of so much torque.
fn pendulum(torque: f64) -> World {
    let mut builder = WorldBuilder::default();
    let body = Body {
        position: DVec3::X,
        mass: 1.0,
        inertia: delassus::math::DMat3::IDENTITY * 0.01,
        ..Body::default()
    };
    let id = builder.add_body(body).unwrap();
    let motor = Motor {
        speed: 0.3,
        max_force: torque,
    };
    let drive = Drive {
        motor: Some(motor),
        ..Drive::default()
    };
    let axis = JointAxis::new(DVec3::ZERO, DVec3::Y);
    builder
        .join(JointKind::Hinge(drive), [Some(id), None], axis)
        .unwrap();
    builder.build().unwrap()
}

#[test]
fn a_pendulum_follows_its_motor_until_the_motor_is_too_weak() {
    let inputs = [Input::MotorSpeed(JointId(0)), Input::MotorForce(JointId(0))];
    let strong = differentiated(&pendulum(1000.0), &inputs);
    // Spin about y is the tenth number of the state and follows the wanted speed.
    let found = column(&strong, 2, 18);
    assert!((found[10] - 1.0).abs() < 1e-8 && (found[4] - H).abs() < 1e-8);
    assert!(column(&strong, 2, 19).iter().all(|x| x.abs() < 1e-8));
    let weak = differentiated(&pendulum(0.5), &inputs);
    assert!(column(&weak, 2, 18).iter().all(|x| x.abs() < 1e-8));
    // dω = h dτ/(I + m l²), against gravity or with it.
    let found = column(&weak, 2, 19)[10].abs();
    assert!((found - H / 1.01).abs() < 1e-8, "{found}");
    assert!(compare("strong", &pendulum(1000.0), &inputs, 1e-6) >= 18);
    assert!(compare("weak", &pendulum(0.5), &inputs, 1e-6) >= 18);
}

#[test]
fn bodies_that_slide_roll_spin_and_meet_agree_with_whole_steps() {
    let mut compared = 0;
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let mut builder = WorldBuilder::default();
        let surface = material(&mut builder, 0.3, 0.0);
        ground(&mut builder, DQuat::IDENTITY, surface);
        // A ball that slides and spins on the ground, and one that is pressed against it.
        let low = DVec3::Z * 0.0999;
        ball(
            &mut builder,
            0.1,
            turning(low, random.vector(), 5.0 * random.vector()),
            surface,
        );
        let next = low + DVec3::new(0.18, 0.06, 0.02);
        let towards = DVec3::new(-1.0, -0.3, -0.5);
        ball(
            &mut builder,
            0.1,
            turning(next, towards, random.vector()),
            surface,
        );
        // A box that flies, turning.
        let start = turning(
            DVec3::new(2.0, 0.0, 1.0),
            random.vector(),
            4.0 * random.vector(),
        );
        cuboid(&mut builder, DVec3::new(0.1, 0.2, 0.3), start, surface);
        // A box that stands on an edge, not level, and slides.
        let turn = DQuat::from_scaled_axis(DVec3::new(0.3, 0.4, 0.2));
        let start = Body {
            orientation: turn,
            ..turning(
                DVec3::new(-2.0, 0.0, 0.2),
                DVec3::new(1.0, 0.5, -0.4),
                random.vector(),
            )
        };
        cuboid(&mut builder, DVec3::new(0.1, 0.2, 0.15), start, surface);
        let world = builder.build().unwrap();
        let inputs = [
            Input::Friction(1),
            Input::Mass(BodyId(1)),
            Input::Mass(BodyId(4)),
            Input::Gravity(0),
            Input::Gravity(2),
        ];
        compared += compare(&format!("bodies {seed}"), &world, &inputs, 2e-6);
    }
    assert!(4 * 70 <= compared, "{compared}");
}

#[test]
fn restitution_and_joints_agree_with_whole_steps() {
    let mut builder = WorldBuilder::default();
    let surface = material(&mut builder, 0.3, 0.6);
    ground(&mut builder, DQuat::IDENTITY, surface);
    let down = turning(DVec3::Z * 0.105, DVec3::new(0.4, 0.1, -2.0), DVec3::X);
    let id = ball(&mut builder, 0.1, down, surface);
    // A chain of three with a servo, that hangs in the air.
    let mut last = None;
    for i in 0..3 {
        let body = Body {
            name: format!("link {i}"),
            position: DVec3::new(0.5 + f64::from(i), 0.0, 5.0),
            velocity: DVec3::new(0.0, 0.0, -0.1),
            spin: DVec3::new(0.1, 0.2, 0.3),
            inertia: delassus::math::DMat3::from_diagonal(DVec3::new(0.1, 0.2, 0.3)),
            ..Body::default()
        };
        let body = builder.add_body(body).unwrap();
        let axis = JointAxis::new(DVec3::new(f64::from(i), 0.0, 5.0), DVec3::Y);
        let servo = Servo {
            position: 0.2,
            stiffness: 40.0,
            damping: 2.0,
            max_force: 1e3,
            min_force: None,
        };
        let drive = Drive {
            servo: Some(servo),
            ..Drive::default()
        };
        let kind = match i {
            0 => JointKind::Hinge(drive),
            1 => JointKind::Universal,
            _ => JointKind::Ball,
        };
        builder.join(kind, [Some(body), last], axis).unwrap();
        last = Some(body);
    }
    let world = builder.build().unwrap();
    let inputs = [
        Input::Restitution(1),
        Input::Mass(id),
        Input::ServoPosition(JointId(0)),
        Input::Friction(1),
    ];
    let compared = compare("joints", &world, &inputs, 2e-6);
    assert!(70 <= compared, "{compared}");
}

/// An arm of three hinges with servos whose hand, a ball, rubs along the ground; or a floating chain above it.
fn arm(free: bool) -> World {
    let base = if free { "<freejoint/>" } else { "" };
    let text = format!(
        r#"<mujoco><option gravity="0 0 -9.81"/><worldbody>
        <geom name="floor" type="plane" size="5 5 .1" friction=".4 0 0"/>
        <body name="a" pos="0 0 .5">{base}<inertial mass="2" pos="0 0 0" diaginertia=".02 .03 .04"/>
        <body name="b"><joint name="j0" axis="0 0 1"/><joint name="j1" axis="0 1 0" damping=".1"/>
        <inertial mass="1" pos=".2 0 0" diaginertia=".01 .02 .02"/>
        <body name="c" pos=".4 0 0"><joint name="j2" type="ball"/>
        <inertial mass=".5" pos=".1 .02 0" diaginertia=".005 .01 .01"/>
        <geom type="sphere" size=".05" pos=".2 0 0" friction=".4 0 0"/></body></body></body></worldbody>
        <actuator><position joint="j1" kp="50" kv="2"/></actuator></mujoco>"#
    );
    let mut world = of_robot(&text, "arm.xml", None, Base::Fixed).unwrap().world;
    let id = RobotId(0);
    let robot = &world.robots()[0];
    let (mut q, mut v) = (robot.configuration().to_vec(), robot.velocity().to_vec());
    // Reaches down: 0.4 sin θ + 0.2 sin θ below 0.5 − 0.05.
    let down = (0.4505_f64 / 0.6).asin();
    let n = v.len();
    let first = q.len() - 6;
    q[first + 1] = down;
    for (i, v) in v.iter_mut().enumerate() {
        *v = 0.2 + 0.1 * (i as f64);
    }
    v[n - 5] = 0.5;
    world.place_robot(id, &q, &v).unwrap();
    world
}

#[test]
fn robots_agree_with_whole_steps() {
    let inputs = [Input::Gravity(2), Input::Gravity(0)];
    for free in [false, true] {
        let world = arm(free);
        let derivative = differentiated(&world, &inputs);
        let n = derivative.layout().len();
        assert_eq!(n, if free { 11 } else { 5 });
        assert!(derivative.modes().count() >= 1);
        let compared = compare(&format!("arm, free {free}"), &world, &inputs, 2e-6);
        assert!(3 * n <= compared, "{compared} of {}", 3 * n + 2);
    }
}

#[test]
fn several_substeps_are_one_after_the_other() {
    let mut builder = WorldBuilder::default();
    let surface = material(&mut builder, 0.3, 0.0);
    ground(&mut builder, DQuat::IDENTITY, surface);
    let start = turning(
        DVec3::Z * 0.0999,
        DVec3::new(1.0, 0.4, 0.0),
        DVec3::new(3.0, 2.0, 1.0),
    );
    let id = ball(&mut builder, 0.1, start, surface);
    builder.settings.substeps = 3;
    let world = builder.build().unwrap();
    let compared = compare(
        "substeps",
        &world,
        &[Input::Friction(1), Input::Mass(id)],
        2e-6,
    );
    assert!(18 <= compared, "{compared}");
}

#[test]
fn an_edge_is_said_and_the_smoothed_derivative_lies_between_its_sides() {
    // Friction holds exactly as much as it must.
    let angle = 0.5_f64;
    let block = |mu: f64| {
        let mut builder = WorldBuilder::default();
        let surface = material(&mut builder, mu, 0.0);
        ground(&mut builder, DQuat::IDENTITY, surface);
        builder.gravity = slope(angle);
        ball(&mut builder, 0.1, at(DVec3::Z * 0.1), surface);
        builder.build().unwrap()
    };
    // A ball on a slope rolls without slipping up to μ = (2/7) tan θ.
    let world = block(2.0 / 7.0 * angle.tan());
    let edge = differentiated(&world, &[Input::Friction(1)]);
    assert!(edge.degenerate().count() == 1 && !edge.is_smooth());
    let by_mu = |world: &World, smoothing| {
        let by = Differentiate {
            inputs: vec![Input::Friction(1)],
            smoothing,
        };
        let derivative = world.differentiate(H, &mut tight(), &by).unwrap();
        transposed("smoothed", &derivative, 1);
        column(&derivative, 1, 18)[6]
    };
    let slides = by_mu(&block(0.1), None);
    let rolls = by_mu(&block(0.5), None);
    let between = by_mu(&world, Some(1e-3));
    assert!(rolls.abs() < 1e-8 && slides < -0.05, "{slides} {rolls}");
    assert!(
        slides < 0.8 * between && between < 0.2 * slides,
        "{between} of {slides}"
    );
    // Far from the edge smoothing changes little.
    let near = by_mu(&block(0.1), Some(1e-4));
    assert!(
        (near - slides).abs() < 1e-3 * slides.abs(),
        "{near} {slides}"
    );
}

#[test]
fn what_cannot_be_differentiated_is_refused_by_name() {
    let world = space().build().unwrap();
    let by = |input| Differentiate {
        inputs: vec![input],
        smoothing: None,
    };
    let found = world.differentiate(H, &mut tight(), &by(Input::Mass(BodyId(3))));
    assert!(matches!(found, Err(DifferentiateError::NoInput { .. })));
    let found = world.differentiate(f64::NAN, &mut tight(), &Differentiate::default());
    assert!(matches!(found, Err(DifferentiateError::Step(_))));
    let mut second = pendulum(1.0);
    second.settings.integrator = delassus::world::Integrator::Rattle;
    let found = second.differentiate(H, &mut tight(), &Differentiate::default());
    assert!(matches!(found, Err(DifferentiateError::Unsupported { .. })));
    let derivative = differentiated(&pendulum(1.0), &[]);
    assert!(derivative.backward(&[1.0]).is_err());
    assert!(derivative.backward(&[f64::NAN; 12]).is_err());
}

#[test]
fn gradients_by_coordinates_are_those_by_tangents() {
    let mut world = arm(true);
    let turned = DQuat::from_scaled_axis(DVec3::new(0.3, -0.2, 0.5));
    let body = Body {
        orientation: turned,
        ..at(DVec3::new(3.0, 0.0, 4.0))
    };
    world.add_body(body).unwrap();
    let layout = Layout::new(&world);
    let state = layout.coordinates(&world);
    assert_eq!(state.len(), layout.n_coordinates(&world));
    let mut random = Random::new(3);
    let weights: Vec<f64> = state.iter().map(|_| random.range(-1.0, 1.0)).collect();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    // L = weights · coordinates, along every tangent.
    let by_tangent = layout.to_tangent(&world, &weights).unwrap();
    for (at, known) in by_tangent.iter().enumerate() {
        let step = 1e-6;
        let value = |by: f64| {
            dot(
                &weights,
                &layout.coordinates(&moved(&world, &layout, &[], at, by)),
            )
        };
        let found = (value(step) - value(-step)) / (2.0 * step);
        assert!((found - known).abs() < 1e-8, "{at}: {found} {known}");
    }
    // There and back leaves a gradient by tangents as it is.
    let there = layout.to_coordinates(&world, &by_tangent).unwrap();
    let back = layout.to_tangent(&world, &there).unwrap();
    for (a, b) in back.iter().zip(&by_tangent) {
        assert!((a - b).abs() < 1e-14, "{a} {b}");
    }
    let mut other = world.clone();
    layout.place(&mut other, &state).unwrap();
    assert_eq!(other.state_hash(), world.state_hash());
    assert!(layout.place(&mut other, &state[1..]).is_err());
    assert!(layout.place(&mut other, &vec![0.0; state.len()]).is_err());
    assert_eq!(other.state_hash(), world.state_hash());
}
