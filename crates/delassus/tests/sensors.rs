//! What instruments show where the answer is known.
#![cfg(feature = "world")]

use delassus::collide::Shape;
use delassus::math::{DQuat, DVec3};
use delassus::world::{
    Attach, Body, Drive, Frame, Joint, JointAxis, JointKind, Motor, Ray, Reading, Sensor,
    SensorError,
};
use delassus::{Auto, BodyId, GaussSeidel, JointId, RobotId, World, WorldBuilder, scenes};

/// Steps take 1 ms.
const H: f64 = 1e-3;
const G: f64 = 9.81;
/// What solves to 1e-8 m/s leave of a force over a step.
const SOLVED: f64 = 1e-4;

fn at(origin: DVec3) -> Frame {
    Frame {
        origin,
        axes: DQuat::IDENTITY,
    }
}

fn steps(world: &mut World, count: usize) {
    let mut solver = GaussSeidel::default();
    solver.stop.tolerance = 1e-12;
    for _ in 0..count {
        world.step(H, &mut solver).expect("a step");
    }
}

/// A ball of 1 m diameter on the ground.
fn ball() -> (World, BodyId) {
    let mut builder = WorldBuilder::default();
    builder.add_ground().expect("ground");
    let body = Body::at("ball", DVec3::Z * 0.5);
    let ball = builder.add_solid(Shape::Sphere { radius: 0.5 }, 10.0, body, Attach::default());
    let ball = ball.expect("a ball");
    (builder.build().expect("a world"), ball)
}

#[test]
fn an_accelerometer_feels_the_ground_and_nothing_in_free_fall() {
    let (mut world, ball) = ball();
    let imu = Sensor::Imu {
        body: ball,
        frame: at(DVec3::X * 0.1),
    };
    let imu = world.add_sensor(imu).expect("a ball");
    let push = world.add_sensor(Sensor::Contact(ball)).expect("a ball");
    assert_eq!(world.reading(imu), None, "before the first step");
    steps(&mut world, 300);
    let Some(Reading::Imu { acceleration, .. }) = world.reading(imu) else {
        panic!("it has been stepped");
    };
    assert!(
        (acceleration - DVec3::Z * G).length() < SOLVED,
        "{acceleration}"
    );
    let weight = world.bodies().mass[ball.index()] * G;
    let Some(Reading::Contact { force, torque }) = world.reading(push) else {
        panic!("it has been stepped");
    };
    assert!(
        (force - DVec3::Z * weight).length() < SOLVED * weight,
        "{force}"
    );
    assert!(torque.length() < SOLVED * weight);
    // Thrown up, it falls freely.
    world.bodies_mut().velocity[ball.index()] = DVec3::Z * 5.0;
    steps(&mut world, 2);
    let Some(Reading::Imu { acceleration, .. }) = world.reading(imu) else {
        panic!("it has been stepped");
    };
    assert!(acceleration.length() < SOLVED, "{acceleration}");
    world.remove_body(ball).expect("it is there");
    steps(&mut world, 1);
    assert_eq!(world.reading(imu), None, "it went with the ball");
}

#[test]
fn an_imu_on_a_wheel_feels_the_centripetal_acceleration_in_its_own_axes() {
    let mut builder = WorldBuilder::default();
    builder.gravity = DVec3::ZERO;
    let mut body = Body::at("wheel", DVec3::ZERO);
    let (omega, radius) = (2.0, 0.5);
    body.spin = DVec3::Z * omega;
    let wheel = builder.add_body(body).expect("a wheel");
    let mut world = builder.build().expect("a world");
    let turn = DQuat::from_rotation_z(0.3);
    let frame = Frame {
        origin: DVec3::X * radius,
        axes: turn,
    };
    let sensor = Sensor::Imu { body: wheel, frame };
    let imu = world.add_sensor(sensor).expect("a wheel");
    steps(&mut world, 400);
    let Some(Reading::Imu {
        acceleration, spin, ..
    }) = world.reading(imu)
    else {
        panic!("it has been stepped");
    };
    // ω² r towards the axle; the mean over a step lags by half of it.
    let expected = turn.conjugate() * (-DVec3::X * omega * omega * radius);
    let lag = omega * omega * radius * omega * H;
    assert!((acceleration - expected).length() < lag, "{acceleration}");
    assert!((spin - DVec3::Z * omega).length() < 1e-9);
}

#[test]
fn a_joint_sensor_shows_angle_speed_and_reaction() {
    let mut builder = WorldBuilder::default();
    let bar = builder.add_body(Body::at("bar", DVec3::X)).expect("a bar");
    let motor = Drive {
        motor: Some(Motor {
            speed: 0.5,
            max_force: 1e3,
        }),
        ..Drive::default()
    };
    let axis = JointAxis::new(DVec3::ZERO, DVec3::Z);
    let kind = JointKind::Hinge(motor);
    let joint = Joint::at(builder.bodies(), [Some(bar), None], axis, kind);
    let joint = builder.add_joint(joint).expect("a hinge");
    let mut world = builder.build().expect("a world");
    let sensor = world.add_sensor(Sensor::Joint(joint)).expect("a hinge");
    steps(&mut world, 1000);
    let Some(Reading::Joint {
        position: Some(position),
        speed: Some(speed),
        reaction,
    }) = world.reading(sensor)
    else {
        panic!("a hinge has an angle");
    };
    assert!((speed - 0.5).abs() < 1e-9 && (position - 0.5).abs() < 1e-6);
    // Weight, and m ω² r towards the axle.
    let (z, across) = (reaction.force.z, reaction.force.truncate().length());
    assert!(
        (z - G).abs() < 1e-3 && (across - 0.25).abs() < 1e-3,
        "{reaction:?}"
    );
    world.remove_joint(joint).expect("it is there");
    steps(&mut world, 1);
    assert_eq!(world.reading(sensor), None);
}

#[test]
fn a_distance_sensor_sees_the_ground_and_not_its_own_body() {
    let (mut world, ball) = ball();
    let down = Ray::new(DVec3::ZERO, -DVec3::Z).within(2.0);
    let distance = Sensor::Distance {
        body: Some(ball),
        ray: down,
    };
    let sensor = world.add_sensor(distance).expect("a ball");
    steps(&mut world, 10);
    let Some(Reading::Distance(Some(found))) = world.reading(sensor) else {
        panic!("the ground is near");
    };
    assert!((found - 0.5).abs() < 1e-6, "{found}");
    world.bodies_mut().position[ball.index()] = DVec3::Z * 5.0;
    steps(&mut world, 1);
    assert_eq!(world.reading(sensor), Some(Reading::Distance(None)));
}

#[test]
fn a_robot_joint_is_read_and_what_is_not_there_is_refused() {
    let mut world = scenes::build("double-pendulum").expect("a robot").world;
    let robot = RobotId(0);
    let sensor = world.add_sensor(Sensor::RobotJoint { robot, joint: 0 });
    let sensor = sensor.expect("it has a joint");
    let mut solver = Auto::default();
    world.step(H, &mut solver).expect("a step");
    let Some(Reading::RobotJoint {
        position, speed, ..
    }) = world.reading(sensor)
    else {
        panic!("it has been stepped");
    };
    let own = &world.robots()[0];
    assert_eq!(
        [position, speed],
        [own.configuration()[0], own.velocity()[0]]
    );
    let bad = [
        Sensor::RobotJoint { robot, joint: 9 },
        Sensor::RobotJoint {
            robot: RobotId(4),
            joint: 0,
        },
        Sensor::Joint(JointId(7)),
        Sensor::Contact(BodyId(99)),
        Sensor::Imu {
            body: BodyId(0),
            frame: at(DVec3::NAN),
        },
        Sensor::Distance {
            body: None,
            ray: Ray::new(DVec3::ZERO, DVec3::ZERO),
        },
    ];
    for sensor in bad {
        let refused: SensorError = world.add_sensor(sensor).expect_err("not there");
        assert!(!refused.to_string().is_empty());
    }
}

/// Sensors that an MJCF file has are mounted as it says, and show what they would on the body by hand.
#[cfg(feature = "robots")]
#[test]
fn sensors_of_a_robot_file_are_mounted_on_its_links() {
    use delassus::model::robot::{Base, parse};
    use delassus::world::Placement;
    let text = r#"<mujoco><worldbody><geom type="plane" size="9 9 1"/>
        <body name="arm" pos="0 0 2"><joint name="j" axis="0 1 0" damping="1e6"/>
        <geom type="box" size=".4 .05 .05" pos=".4 0 0"/>
        <site name="tip" pos=".8 0 0" euler="180 0 0"/></body></worldbody>
        <sensor><accelerometer name="a" site="tip"/><gyro name="g" site="tip"/><rangefinder name="r" site="tip"/>
        <rangefinder name="short" site="tip" cutoff=".5"/><jointpos name="q" joint="j"/>
        <framepos name="p" objtype="site" objname="tip"/><velocimeter name="v" site="tip"/><touch site="tip"/></sensor></mujoco>"#;
    let file = parse(text, "arm.xml", None, Base::Fixed).expect("a robot");
    let names: Vec<&str> = file.robot.sensors.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["a", "g", "r", "short", "q", "p", "v"]);
    assert!(file.warnings.iter().any(|w| w.text.contains("<touch>")));
    let mut builder = WorldBuilder::default();
    let robot = builder.add_robot(&file.robot, &Placement::default());
    let robot = robot.expect("a robot");
    let mut world = builder.build().expect("a world");
    let ids = world.mount_sensors(robot).expect("sensors");
    steps(&mut world, 10);
    let shown: Vec<Reading> = ids.iter().filter_map(|id| world.reading(*id)).collect();
    let Reading::Imu { acceleration, .. } = shown[0] else {
        panic!("{:?}", shown[0]);
    };
    // Its z points down.
    assert!(
        (acceleration + DVec3::Z * G).length() < 1e-3,
        "{acceleration}"
    );
    let Reading::Distance(Some(height)) = shown[2] else {
        panic!("{:?}", shown[2]);
    };
    assert!((height - 2.0).abs() < 1e-4, "{height}");
    assert_eq!(shown[3], Reading::Distance(None));
    assert!(matches!(shown[4], Reading::RobotJoint { position, .. } if position.abs() < 1e-4));
    let Reading::Frame { position, .. } = shown[5] else {
        panic!("{:?}", shown[5]);
    };
    assert!(
        (position - DVec3::new(0.8, 0.0, 2.0)).length() < 1e-4,
        "{position}"
    );
    let gone = delassus::RobotId(7);
    assert!(matches!(
        world.mount_sensors(gone),
        Err(SensorError::Unknown(_))
    ));
}
