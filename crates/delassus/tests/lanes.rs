//! Trees of bodies on ball joints are stepped eight at a time, and the general step agrees to rounding.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use delassus::collide::Shape;
use delassus::math::{DMat3, DQuat, DVec3};
use delassus::solver::{Observed, from_spec};
use delassus::world::{
    Attach, Body, Drive, GeometricStiffness, Gyroscopic, Integrator, Joint, JointAxis, JointBody,
    JointKind, MovedBy, Settings, Step,
};
use delassus::{BodyId, Direct, JointId, Stop, World, WorldBuilder, scenes};

/// Step of these runs \[s\].
const H: f64 = 1.0 / 60.0;
/// Positions that differ by less are equal to rounding, after a second in which chaos has not yet set in \[m\].
const ROUNDING: f64 = 1e-9;

/// The same at second order, where both ways stop correcting poses at 1e-10 m but start from other guesses: over a
/// substep of 4 ms and an arm of 0.2 m that is a spin of 1e-7 rad/s, and a dozen of these may add up.
const CLOSED: f64 = 2e-6;

/// Law residual of an exact solve: arms that are long against the inertia cost a digit or two [m/s].
const SOLVED: f64 = 1e-10;

/// Bodies of all shapes in trees of several kinds: hanging, flying, branching, lone, by either side of their joints.
fn forest(copies: usize) -> World {
    plant(copies).build().unwrap()
}

fn plant(copies: usize) -> WorldBuilder {
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
    builder
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
    // At second order a world solves by itself.
    let second = world.settings.integrator == Integrator::Rattle;
    assert_eq!(seen, if second { 0 } else { world.settings.substeps });
    assert!(!step.report.history.is_empty(), "in lanes");
    step
}

/// A step in lanes, which leaves no history.
fn in_lanes(world: &mut World, solver: &mut Direct) -> Step {
    let step = world.step(H, solver).unwrap();
    assert!(step.report.history.is_empty(), "not in lanes");
    assert_eq!(step.unsolved, 0);
    step
}

fn assert_close(a: &World, b: &World, tolerance: f64) {
    for i in 0..a.bodies().len() {
        let (a, b) = (a.bodies(), b.bodies());
        let pairs = [
            (a.position[i], b.position[i]),
            (a.velocity[i], b.velocity[i]),
            (a.spin[i], b.spin[i]),
        ];
        for (k, (a, b)) in pairs.into_iter().enumerate() {
            assert!((a - b).length() < tolerance, "{i} {k}: {a} {b}");
        }
        let turned = a.orientation[i].dot(b.orientation[i]).abs();
        assert!((turned - 1.0).abs() < tolerance, "{i}: {turned}");
    }
    for j in 0..a.joints().len() {
        let id = JointId(j as u32);
        let (x, y) = (a.joint_impulse(id), b.joint_impulse(id));
        assert_eq!(x.len(), y.len());
        // Where it halves a substep the general step shows the last half.
        let same = a.last_substep() == b.last_substep();
        let close = x.iter().zip(y).all(|(x, y)| (x - y).abs() < tolerance);
        assert!(close || !same, "{j}: {x:?} {y:?}");
        let (x, y) = (a.reaction(id), b.reaction(id));
        assert!(
            (x.force - y.force).length() < 1e3 * tolerance,
            "{j}: {x:?} {y:?}"
        );
        assert!(
            (x.torque - y.torque).length() < 1e3 * tolerance,
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
        let second = lanes.settings.integrator == Integrator::Rattle;
        let tolerance = if second { CLOSED } else { ROUNDING };
        assert_close(&general, &lanes, tolerance);
        assert!((a.violation - b.violation).abs() < ROUNDING);
        assert_eq!((a.coarse, b.coarse), (0, 0));
        assert_eq!((a.report.solver, b.report.solver), ("direct", "direct"));
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

/// A world at second order.
fn second_order(mut world: World) -> World {
    world.settings.integrator = Integrator::Rattle;
    world
}

#[test]
fn lanes_and_the_general_step_agree_at_second_order() {
    let necklaces = |name: &str| second_order(scenes::build(name).unwrap().world);
    compare(|| necklaces("necklaces:9x5"), 30);
    compare(|| second_order(forest(11)), 20);
    // All trees are alike, so that all of them are halved where one is.
    let fast = || {
        let mut world = necklaces("necklaces:8x4");
        world.settings.substeps = 1;
        world.bodies_mut().spin.fill(DVec3::new(0.0, 20.0, 0.0));
        world
    };
    let step = in_lanes(&mut fast(), &mut direct());
    assert!(10 < step.report.iterations, "not halved");
    assert!(step.violation < 1e-9);
    compare(fast, 6);
    for gyroscopic in [Gyroscopic::Off, Gyroscopic::Explicit] {
        let make = || {
            let mut world = second_order(forest(8));
            world.settings.gyroscopic = gyroscopic;
            world.gravity = DVec3::new(1.0, -2.0, -30.0);
            world
        };
        compare(make, 6);
    }
}

#[test]
fn second_order_in_lanes_is_of_second_order_and_keeps_energy() {
    let energy = |world: &World| {
        let probe = world.bodies().probe(world.gravity);
        probe.kinetic + probe.potential
    };
    // Small steps, so that none is halved: where the trees are after half a second, and the worst energy.
    let run = |substeps: u32| {
        let mut world = second_order(forest(8));
        world.settings.substeps = substeps;
        // A first step makes the velocities fit the joints.
        in_lanes(&mut world, &mut direct());
        let start = energy(&world);
        let mut worst = 0.0_f64;
        for _ in 0..29 {
            in_lanes(&mut world, &mut direct());
            worst = worst.max((energy(&world) - start).abs());
        }
        (world.bodies().position.clone(), worst)
    };
    let (coarse, fine, finest) = (run(16), run(32), run(128));
    let far = |a: &[DVec3]| {
        let apart = a.iter().zip(&finest.0).map(|(a, b)| (*a - *b).length());
        apart.fold(0.0, f64::max)
    };
    let order = (far(&coarse.0) / far(&fine.0)).log2();
    assert!((1.8..2.2).contains(&order), "{order}");
    let order = (coarse.1 / fine.1).log2();
    assert!((1.7..2.3).contains(&order), "{} {}", coarse.1, fine.1);
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
    bits_do_not_depend_on_threads(forest);
    bits_do_not_depend_on_threads(|copies| second_order(forest(copies)));
}

fn bits_do_not_depend_on_threads(forest: impl Fn(usize) -> World + Sync) {
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

/// A forest beside a ball that falls on the ground and a pendulum on a hinge; one of its trees ends in a ball that lies on
/// the ground from the start.
fn clearing() -> World {
    let mut builder = plant(12);
    let far = DVec3::new(0.0, 50.0, 0.0);
    let ground = Body {
        motion: MovedBy::Static,
        position: DVec3::Z * -1.0,
        ..Body::default()
    };
    let ground = builder.add_body(ground).unwrap();
    let ball = Body {
        position: far + DVec3::Z * -0.7,
        velocity: DVec3::new(0.5, 0.0, -1.0),
        inertia: DMat3::from_diagonal(DVec3::splat(0.004)),
        ..Body::default()
    };
    let ball = builder.add_body(ball).unwrap();
    let mut cover = |body: BodyId, shape: Shape| {
        builder
            .add_collider(body, shape, Attach::default())
            .unwrap();
    };
    cover(ground, Shape::HalfSpace);
    cover(ball, Shape::Sphere { radius: 0.1 });
    cover(BodyId(3), Shape::Sphere { radius: 1.0 });
    let bob = Body {
        position: far + DVec3::X,
        ..Body::default()
    };
    let bob = builder.add_body(bob).unwrap();
    let axis = JointAxis::new(far + DVec3::new(0.5, 0.0, 3.0), DVec3::Y);
    let hinge = JointKind::Hinge(Drive::default());
    let joint = Joint::at(builder.bodies(), [Some(bob), None], axis, hinge);
    builder.add_joint(joint).unwrap();
    builder.build().unwrap()
}

#[test]
fn trees_that_nothing_touches_are_set_aside() {
    for integrator in [Integrator::Spook, Integrator::Rattle] {
        let make = || {
            let mut world = clearing();
            world.settings.integrator = integrator;
            world
        };
        let solver = || {
            let stop = Stop {
                tolerance: 1e-10,
                ..Stop::default()
            };
            from_spec("auto", stop, 0).unwrap()
        };
        let (mut general, mut lanes) = (make(), make());
        let (mut one, mut other) = (solver(), solver());
        let (mut all, mut few, mut touched) = (0, usize::MAX, 0);
        for _ in 0..20 {
            let mut watched = Observed::new(one.as_mut(), |seen| all = seen.problem.n_rows());
            let a = general.step(H, &mut watched).unwrap();
            let mut watched =
                Observed::lightly(other.as_mut(), |seen| few = few.min(seen.problem.n_rows()));
            let b = lanes.step(H, &mut watched).unwrap();
            assert_eq!((a.unsolved, b.unsolved), (0, 0));
            assert_eq!(a.coarse, b.coarse);
            touched += a.contacts;
            if integrator == Integrator::Spook {
                assert_eq!(a.contacts, b.contacts);
                let mut chosen = b.report.chosen.iter().map(|of| of.choice.first.solver);
                assert!(chosen.any(|solver| solver == "direct"));
                assert!((a.violation - b.violation).abs() < ROUNDING);
                assert!((a.probe.kinetic - b.probe.kinetic).abs() < 1e-6);
            }
            assert_eq!(general.time().to_bits(), lanes.time().to_bits());
        }
        // The tree that touches the ground has six joints, the pendulum five rows.
        assert!(all > 300 && few < 18 + 5 + 2 * 3 + 1, "{all} {few}");
        assert!(0 < touched);
        // What touches is taken at first order; trees that are set aside move as they do where they are all there is.
        let mut alone = forest(12);
        alone.settings.integrator = integrator;
        (0..20).for_each(|_| drop(in_lanes(&mut alone, &mut direct())));
        // Bodies without joints, the eleventh of each copy, are left to the general step.
        for i in (12..alone.bodies().len()).filter(|i| i % 12 != 10) {
            let apart = alone.bodies().position[i] - lanes.bodies().position[i];
            assert!(apart.length() < CLOSED, "{i}: {apart}");
        }
        if integrator == Integrator::Spook {
            assert_close(&general, &lanes, ROUNDING);
        }
        for (i, asleep) in lanes.bodies().asleep.iter().enumerate() {
            assert!(!asleep, "{i}");
        }
    }
}
