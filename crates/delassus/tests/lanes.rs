//! Trees of bodies on ball joints are stepped eight at a time, and the general step agrees to rounding.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use delassus::math::{DMat3, DQuat, DVec3};
use delassus::solver::{Observed, from_spec};
use delassus::world::{
    Body, Drive, GeometricStiffness, Gyroscopic, Joint, JointAxis, JointBody, JointKind, MovedBy,
    Settings, Step,
};
use delassus::{BodyId, Direct, JointId, Stop, World, WorldBuilder, scenes};

/// Step of these runs \[s\].
const H: f64 = 1.0 / 60.0;
/// Positions that differ by less are equal to rounding, after a second in which chaos has not yet set in \[m\].
const ROUNDING: f64 = 1e-9;

/// Law residual of an exact solve: arms that are long against the inertia cost a digit or two [m/s].
const SOLVED: f64 = 1e-10;

/// Bodies of all shapes in trees of several kinds: hanging, flying, branching, lone, by either side of their joints.
fn forest(copies: usize) -> World {
    let mut builder = WorldBuilder::default();
    builder.settings.substeps = 4;
    for copy in 0..copies {
        let corner = DVec3::new(3.0 * copy as f64, 0.0, 0.0);
        let turn = DQuat::from_rotation_z(0.7 * copy as f64);
        let mut add = |at: DVec3, round: bool| {
            let moments = if round {
                DVec3::splat(0.02)
            } else {
                DVec3::new(0.01, 0.02, 0.025)
            };
            let body = Body {
                position: corner + turn * at,
                orientation: turn * DQuat::from_rotation_x(at.x + 0.3),
                spin: DVec3::new(at.z, 1.0, -at.x),
                mass: 1.0 + at.x.abs(),
                inertia: DMat3::from_diagonal(moments),
                ..Body::default()
            };
            builder.add_body(body).unwrap()
        };
        let hanging: Vec<BodyId> = (0..6)
            .map(|i| add(DVec3::X * (0.2 + 0.4 * f64::from(i)), i % 2 == 0))
            .collect();
        let flying: Vec<BodyId> = (0..4)
            .map(|i| add(DVec3::new(0.5 * f64::from(i), 1.0, 0.2), false))
            .collect();
        add(DVec3::new(0.0, 2.0, 0.0), false);
        let post = Body {
            motion: MovedBy::Static,
            position: corner,
            ..Body::default()
        };
        let post = builder.add_body(post).unwrap();
        let mut join = |links: [JointBody; 2], at: DVec3| {
            let axis = JointAxis::new(corner + turn * at, DVec3::Z);
            let joint = Joint::at(builder.bodies(), links, axis, JointKind::Ball);
            builder.add_joint(joint).unwrap();
        };
        let ground = if copy % 2 == 0 { None } else { Some(post) };
        join([ground, Some(hanging[0])], DVec3::ZERO);
        for i in 1..4 {
            let at = DVec3::X * (0.4 * i as f64);
            join([Some(hanging[i]), Some(hanging[i - 1])], at);
        }
        // Two branches from the second body, one joint the other way round.
        join(
            [Some(hanging[1]), Some(hanging[4])],
            DVec3::new(0.7, 0.1, 0.0),
        );
        join(
            [Some(hanging[5]), Some(hanging[1])],
            DVec3::new(0.6, -0.1, 0.1),
        );
        for i in 1..4 {
            let at = DVec3::new(0.5 * i as f64 - 0.25, 1.0, 0.2);
            join([Some(flying[i - 1]), Some(flying[i])], at);
        }
    }
    builder.build().unwrap()
}

fn direct() -> Direct {
    Direct {
        stop: Stop {
            tolerance: 1e-8,
            ..Stop::default()
        },
        ..Direct::default()
    }
}

/// A step by the general way: whoever watches a solver sees every problem written out.
fn written(world: &mut World, solver: &mut Direct) -> Step {
    let mut seen = 0;
    let mut watched = Observed::new(solver, |_| seen += 1);
    let step = world.step(H, &mut watched).unwrap();
    assert_eq!(seen, world.settings.substeps);
    step
}

/// A step in lanes, which leaves no history.
fn in_lanes(world: &mut World, solver: &mut Direct) -> Step {
    let step = world.step(H, solver).unwrap();
    assert!(step.report.history.is_empty(), "not in lanes");
    assert_eq!(step.unsolved, 0);
    step
}

fn assert_close(a: &World, b: &World) {
    for i in 0..a.bodies().len() {
        let (a, b) = (a.bodies(), b.bodies());
        let pairs = [
            (a.position[i], b.position[i]),
            (a.velocity[i], b.velocity[i]),
            (a.spin[i], b.spin[i]),
        ];
        for (k, (a, b)) in pairs.into_iter().enumerate() {
            assert!((a - b).length() < ROUNDING, "{i} {k}: {a} {b}");
        }
        let turned = a.orientation[i].dot(b.orientation[i]).abs();
        assert!((turned - 1.0).abs() < ROUNDING, "{i}: {turned}");
    }
    for j in 0..a.joints().len() {
        let id = JointId(j as u32);
        let (x, y) = (a.joint_impulse(id), b.joint_impulse(id));
        assert_eq!((x.len(), y.len()), (3, 3));
        assert!(
            x.iter().zip(y).all(|(x, y)| (x - y).abs() < ROUNDING),
            "{j}"
        );
        let (x, y) = (a.reaction(id), b.reaction(id));
        assert!(
            (x.force - y.force).length() < 1e3 * ROUNDING,
            "{j}: {x:?} {y:?}"
        );
        assert!(
            (x.torque - y.torque).length() < 1e3 * ROUNDING,
            "{j}: {x:?} {y:?}"
        );
    }
}

fn compare(make: impl Fn() -> World, steps: usize) {
    let (mut general, mut lanes) = (make(), make());
    let (mut one, mut other) = (direct(), direct());
    for k in 0..steps {
        // A push now and then.
        if k % 7 == 3 {
            for world in [&mut general, &mut lanes] {
                world.bodies_mut().force[0] = DVec3::new(3.0, 1.0, 2.0);
                world.bodies_mut().torque[1] = DVec3::new(0.01, 0.0, 0.02);
            }
        }
        let (a, b) = (
            written(&mut general, &mut one),
            in_lanes(&mut lanes, &mut other),
        );
        assert_close(&general, &lanes);
        assert!((a.violation - b.violation).abs() < ROUNDING);
        assert!((a.probe.kinetic - b.probe.kinetic).abs() < 1e-6);
        assert!((a.probe.potential - b.probe.potential).abs() < 1e-6);
        let momentum = a.probe.angular_momentum - b.probe.angular_momentum;
        assert!(momentum.length() < 1e-6, "{momentum}");
        assert!((a.report.residual.relative * b.report.residual.law).is_finite());
        let law = b.report.residual.law;
        assert!(law < SOLVED, "{law:e}");
        assert_eq!(general.time().to_bits(), lanes.time().to_bits());
        assert!(lanes.bodies().force.iter().all(|f| *f == DVec3::ZERO));
    }
}

#[test]
fn lanes_and_the_general_step_agree_to_rounding() {
    compare(|| scenes::build("necklaces:9x5").unwrap().world, 30);
    compare(|| forest(11), 20);
}

#[test]
fn every_setting_of_a_step_is_the_same_in_lanes() {
    for gyroscopic in [Gyroscopic::Off, Gyroscopic::Explicit, Gyroscopic::Implicit] {
        for geometric_stiffness in [
            GeometricStiffness::Never,
            GeometricStiffness::Needed,
            GeometricStiffness::Always,
        ] {
            let make = || {
                let mut world = forest(8);
                world.settings = Settings {
                    gyroscopic,
                    geometric_stiffness,
                    ..world.settings
                };
                world.gravity = DVec3::new(1.0, -2.0, -30.0);
                world
            };
            compare(make, 6);
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_and_each_tree_is_alone_in_its_lane() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut world = forest(101);
            let mut solver = direct();
            let last = (0..20).map(|_| in_lanes(&mut world, &mut solver)).last();
            let probe = last.unwrap().probe;
            (world.state_hash(), probe.kinetic.to_bits(), world)
        })
    };
    let (hash, kinetic, one) = run(1);
    for threads in [2, 8] {
        let (other_hash, other_kinetic, _) = run(threads);
        assert_eq!((hash, kinetic), (other_hash, other_kinetic), "{threads}");
    }
    // The first eight trees of each kind do not know how many others there are.
    let mut few = forest(8);
    let mut solver = direct();
    (0..20).for_each(|_| drop(in_lanes(&mut few, &mut solver)));
    for i in 0..few.bodies().len() {
        assert_eq!(
            few.bodies().get(BodyId(i as u32)),
            one.bodies().get(BodyId(i as u32))
        );
    }
}

/// A step that does not go into lanes, though nobody watches.
fn as_ever(world: &mut World, solver: &mut Direct) {
    let step = world.step(H, solver).unwrap();
    assert!(!step.report.history.is_empty(), "in lanes");
}

#[test]
fn what_is_no_tree_of_balls_is_stepped_as_ever() {
    // A loop, a hinge, a compliant joint, a body that moves by itself, and too few trees for the lanes.
    let mut solver = direct();
    let mut world = forest(8);
    let (a, b) = (BodyId(0), BodyId(2));
    let axis = JointAxis::new(world.bodies().position[0], DVec3::Z);
    let joint = Joint::at(world.bodies(), [Some(a), Some(b)], axis, JointKind::Ball);
    in_lanes(&mut world, &mut solver);
    world.add_joint(joint).unwrap();
    as_ever(&mut world, &mut solver);
    world.pop_joint().unwrap();
    in_lanes(&mut world, &mut solver);
    let axis = JointAxis::new(world.bodies().position[10], DVec3::Z);
    let hinge = JointKind::Hinge(Drive::default());
    let joint = Joint::at(world.bodies(), [Some(BodyId(10)), None], axis, hinge);
    world.add_joint(joint).unwrap();
    as_ever(&mut world, &mut solver);
    world.pop_joint().unwrap();
    in_lanes(&mut world, &mut solver);
    world.joint_mut(JointId(3)).unwrap().compliance = 1e-6;
    as_ever(&mut world, &mut solver);
    world.joint_mut(JointId(3)).unwrap().compliance = 0.0;
    in_lanes(&mut world, &mut solver);
    world.bodies_mut().motion[0] = MovedBy::Kinematic;
    as_ever(&mut world, &mut solver);
    world.bodies_mut().motion[0] = MovedBy::Dynamic;
    in_lanes(&mut world, &mut solver);
    world.bodies_mut().inertia[0] *= 2.0;
    world.bodies_mut().mass[0] *= 3.0;
    in_lanes(&mut world, &mut solver);
    let mut few = scenes::build("necklaces:3x5").unwrap().world;
    assert!(!few.step(H, &mut solver).unwrap().report.history.is_empty());
    // A number that is none is refused by name, and nothing has moved.
    let before = world.state_hash();
    world.bodies_mut().force[3].x = f64::NAN;
    let refused = world.step(H, &mut solver).unwrap_err();
    assert!(refused.to_string().contains("force of body"), "{refused}");
    assert_eq!(world.state_hash(), before);
}

#[test]
fn auto_says_what_it_chose_and_sweeps_are_swept() {
    let step = |spec: &str| {
        let mut world = forest(8);
        let stop = Stop {
            tolerance: 1e-6,
            ..Stop::default()
        };
        let mut solver = from_spec(spec, stop, 0).unwrap();
        world.step(H, solver.as_mut()).unwrap().report
    };
    let auto = step("auto");
    assert!(auto.history.is_empty() && auto.solver == "auto");
    assert_eq!(auto.chosen[0].choice.first.solver, "direct");
    let swept = step("gauss-seidel");
    assert!(!swept.history.is_empty() && swept.solver == "gauss-seidel");
}

#[test]
fn bodies_that_turn_by_more_than_a_radian_gain_nothing() {
    // The lone body of each copy spins at 300 rad/s: 1.25 rad a substep.
    let mut worlds = [forest(9), forest(9)];
    for world in &mut worlds {
        let bodies = world.bodies_mut();
        let lone = (0..bodies.len()).filter(|i| i % 12 == 10);
        for i in lone.collect::<Vec<_>>() {
            bodies.spin[i] = DVec3::new(200.0, 150.0, 160.0);
        }
    }
    let [mut lanes, mut general] = worlds;
    let mut before = f64::INFINITY;
    for _ in 0..30 {
        in_lanes(&mut lanes, &mut direct());
        written(&mut general, &mut direct());
        let spin = lanes.bodies().spin[10];
        let turn = DMat3::from_quat(lanes.bodies().orientation[10]);
        let own = turn.transpose() * spin;
        let energy = 0.5 * own.dot(lanes.bodies().inertia[10] * own);
        assert!(energy <= before * (1.0 + 1e-6), "{energy} after {before}");
        before = energy;
        let apart = (spin - general.bodies().spin[10]).length();
        assert!(apart < 1e-6 * spin.length(), "{apart}");
    }
}

#[test]
fn numbers_that_no_step_takes_are_refused_in_lanes_too() {
    let mut world = forest(8);
    in_lanes(&mut world, &mut direct());
    let before = world.state_hash();
    world.bodies_mut().mass[0] = -1.0;
    assert!(world.step(H, &mut direct()).is_err());
    world.bodies_mut().mass[0] = 1.0;
    world.bodies_mut().force[3] = DVec3::splat(f64::NAN);
    assert!(world.step(H, &mut direct()).is_err());
    assert_eq!(world.state_hash(), before);
    world.bodies_mut().force[3] = DVec3::ZERO;
    in_lanes(&mut world, &mut direct());
}
