//! Rolling and spinning friction against analysis, at the default solver: when a ball rolls down a slope, how it slows
//! down, when a spinning body stops.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "common/world.rs"]
mod kit;

use delassus::collide::Shape;
use delassus::math::{DQuat, DVec3};
use delassus::model::scene::parse;
use delassus::solver::{Status, from_spec};
use delassus::world::{Body, FrictionModel, MaterialId, Surface};
use delassus::{BodyId, Law, Solution, Solver, Stop, World, WorldBuilder};
use kit::{GRAVITY, at, ball, ground, of};

/// Law residual of each solve [m/s].
const TIGHT: f64 = 1e-11;
/// Step [s].
const H: f64 = 0.01;
/// Radius of the balls [m].
const RADIUS: f64 = 0.1;
/// Relative error of accelerations: velocities are exact for constant forces, so that the solver's tolerance and the
/// little that a contact sags are what is seen.
const ACCELERATION: f64 = 1e-6;
/// The ball or disk on the ground.
const BODY: BodyId = BodyId(1);

fn solver() -> Box<dyn Solver + Send> {
    let stop = Stop {
        tolerance: TIGHT,
        ..Stop::default()
    };
    from_spec("auto", stop, 0).unwrap()
}

fn run(world: &mut World, steps: usize) {
    let mut solver = solver();
    for _ in 0..steps {
        let step = world.step(H, solver.as_mut()).unwrap();
        assert_eq!(step.unsolved, 0, "{}", step.report);
    }
}

fn surface(builder: &mut WorldBuilder, friction: f64, rolling: f64, spinning: f64) -> MaterialId {
    let surface = Surface {
        friction,
        rolling,
        spinning,
        ..Surface::default()
    };
    builder.add_material(surface).unwrap()
}

/// A ball at rest on a slope towards +x, with rolling friction.
fn slope(angle: f64, rolling: f64) -> (World, DVec3) {
    let mut builder = WorldBuilder::default();
    let material = surface(&mut builder, 1.0, rolling, 0.0);
    let turn = DQuat::from_rotation_y(angle);
    ground(&mut builder, turn, material);
    ball(&mut builder, RADIUS, at(turn * DVec3::Z * RADIUS), material);
    (builder.build().unwrap(), turn * DVec3::X)
}

#[test]
fn a_ball_rolls_down_a_slope_iff_its_tangent_exceeds_rolling_friction_over_radius() {
    /// How near to the critical slope both sides are tried, relative.
    const NEAR: f64 = 1e-3;
    /// Speed of a ball that stays [m/s].
    const STAYS: f64 = 1e-9;
    for rolling in [1e-4, 0.002, 0.01, 0.03] {
        let below = (rolling / RADIUS * (1.0 - NEAR)).atan();
        let (mut world, _) = slope(below, rolling);
        run(&mut world, 50);
        let speed = world.bodies().velocity[BODY.index()].length();
        assert!(speed < STAYS, "{rolling}: {speed}");
        // The torque that holds it: the weight's about the point of contact.
        let torque = DVec3::from(world.touches()[0].torque).length() / H;
        let expected = GRAVITY * RADIUS * below.sin();
        assert!(
            (torque / expected - 1.0).abs() < 1e-6,
            "{torque} {expected}"
        );
        let above = (rolling / RADIUS * (1.0 + NEAR)).atan();
        let (mut world, downhill) = slope(above, rolling);
        run(&mut world, 50);
        let found = world.bodies().velocity[BODY.index()].dot(downhill) / (50.0 * H);
        // a = 5/7 g (sin θ − μ_r/r cos θ)
        let net = above.sin() - rolling / RADIUS * above.cos();
        let expected = 5.0 / 7.0 * GRAVITY * net;
        assert!(
            (found / expected - 1.0).abs() < 1e-3,
            "{rolling}: {found} {expected}"
        );
    }
}

#[test]
fn a_ball_on_a_steeper_slope_accelerates_as_rolling_friction_leaves_it() {
    for rolling in [0.0, 0.002, 0.01] {
        for angle in [0.15_f64, 0.3, 0.5] {
            let (mut world, downhill) = slope(angle, rolling);
            run(&mut world, 100);
            let found = world.bodies().velocity[BODY.index()].dot(downhill);
            let expected = 5.0 / 7.0 * GRAVITY * (angle.sin() - rolling / RADIUS * angle.cos());
            let error = (found / expected - 1.0).abs();
            assert!(error < ACCELERATION, "{rolling} {angle}: {error:e}");
        }
    }
}

#[test]
fn a_rolling_ball_slows_down_and_stops() {
    const SPEED: f64 = 1.0;
    let rolling = 0.01;
    let mut builder = WorldBuilder::default();
    // The ground says nothing of rolling: the larger of both counts.
    let (plain, felt) = (
        surface(&mut builder, 1.0, 0.0, 0.0),
        surface(&mut builder, 1.0, rolling, 0.0),
    );
    ground(&mut builder, DQuat::IDENTITY, plain);
    let body = Body {
        velocity: DVec3::new(SPEED, 0.0, 0.0),
        spin: DVec3::new(0.0, SPEED / RADIUS, 0.0),
        ..at(DVec3::Z * RADIUS)
    };
    ball(&mut builder, RADIUS, body, felt);
    let mut world = builder.build().unwrap();
    // v = v₀ − 5/7 (μ_r/r) g t
    let braking = 5.0 / 7.0 * rolling / RADIUS * GRAVITY;
    run(&mut world, 100);
    let found = world.bodies().velocity[BODY.index()].x;
    let expected = SPEED - braking * 100.0 * H;
    assert!(
        (found - expected).abs() < ACCELERATION,
        "{found} {expected}"
    );
    let left = ((SPEED / braking / H) as usize) - 100;
    run(&mut world, left - 1);
    assert!(0.0 < world.bodies().velocity[BODY.index()].x);
    run(&mut world, 3);
    assert!(world.bodies().velocity[BODY.index()].length() < 1e-9);
    assert!(world.bodies().spin[BODY.index()].length() < 1e-8);
}

/// Spins a body on the ground and compares its spin with ω₀ − μ_s m g t/I until it stops.
fn spins_down(world: &mut World, spinning: f64, (mass, inertia): (f64, f64)) {
    let start = world.bodies().spin[BODY.index()].z;
    let braking = spinning * mass * GRAVITY / inertia;
    let steps = (start / braking / H) as usize;
    assert!(20 < steps, "{steps}");
    for k in 1..=steps {
        run(world, 1);
        let found = world.bodies().spin[BODY.index()].z;
        let expected = start - braking * k as f64 * H;
        assert!(
            (found - expected).abs() < 1e-6 * start,
            "{k}: {found} {expected}"
        );
    }
    run(world, 2);
    let (v, spin) = (
        world.bodies().velocity[BODY.index()],
        world.bodies().spin[BODY.index()],
    );
    assert!(v.length() < 1e-8 && spin.length() < 1e-7, "{v} {spin}");
}

#[test]
fn a_spinning_ball_stops_when_theory_says() {
    for model in [FrictionModel::Cone, FrictionModel::Ellipsoid] {
        let spinning = 0.004;
        let mut builder = WorldBuilder::default();
        builder.settings.friction = model;
        let material = surface(&mut builder, 0.5, 0.0, spinning);
        ground(&mut builder, DQuat::IDENTITY, material);
        let body = Body {
            spin: DVec3::new(0.0, 0.0, 5.0),
            ..at(DVec3::Z * RADIUS)
        };
        ball(&mut builder, RADIUS, body, material);
        let mut world = builder.build().unwrap();
        spins_down(&mut world, spinning, (1.0, 0.4 * RADIUS * RADIUS));
    }
}

/// A disk lies on many points; without sliding friction their spinning friction adds up to μ_s times the weight.
#[test]
fn a_spinning_disk_stops_when_theory_says() {
    let spinning = 0.01;
    let mut builder = WorldBuilder::default();
    let material = surface(&mut builder, 0.0, 0.0, spinning);
    ground(&mut builder, DQuat::IDENTITY, material);
    let (radius, half_length) = (0.2, 0.02);
    let shape = Shape::Cylinder {
        half_length,
        radius,
    };
    let body = Body {
        spin: DVec3::new(0.0, 0.0, 4.0),
        ..at(DVec3::Z * half_length)
    };
    builder
        .add_solid(shape, 1000.0, body, of(material))
        .unwrap();
    let mut world = builder.build().unwrap();
    let mass = world.bodies().mass[BODY.index()];
    spins_down(&mut world, spinning, (mass, 0.5 * mass * radius * radius));
}

/// A ball that slides and spins: the impulse lies on the ellipsoid of both, not on two separate bounds.
#[test]
fn sliding_and_spinning_share_one_ellipsoid() {
    let (mu, spinning) = (0.3, 0.01);
    let touch = |model: FrictionModel| {
        let mut builder = WorldBuilder::default();
        builder.settings.friction = model;
        let material = surface(&mut builder, mu, 0.0, spinning);
        ground(&mut builder, DQuat::IDENTITY, material);
        let body = Body {
            velocity: DVec3::new(2.0, 1.0, 0.0),
            spin: DVec3::new(0.0, 0.0, 50.0),
            ..at(DVec3::Z * RADIUS)
        };
        ball(&mut builder, RADIUS, body, material);
        let mut world = builder.build().unwrap();
        run(&mut world, 1);
        let touch = world.touches()[0];
        let [n, t1, t2] = touch.impulse;
        [
            t1.hypot(t2) / (mu * n),
            touch.torque[0].abs() / (spinning * n),
        ]
    };
    let [slide, spin] = touch(FrictionModel::Cone);
    assert!(
        (slide - 1.0).abs() < 1e-9 && (spin - 1.0).abs() < 1e-9,
        "{slide} {spin}"
    );
    let [slide, spin] = touch(FrictionModel::Ellipsoid);
    assert!((slide.hypot(spin) - 1.0).abs() < 1e-9, "{slide} {spin}");
    assert!(0.1 < slide && 0.1 < spin, "{slide} {spin}");
}

/// Laws of the contacts of a step, and a checkpoint that carries their impulses.
#[test]
fn contacts_have_rows_of_spin_only_where_a_surface_resists_it() {
    let text = r#"
        [materials.felt]
        friction = 0.6
        rolling = 0.01
        spinning = 0.002
        [[bodies]]
        name = "ground"
        motion = "static"
        shapes = [{ half-space = {} }]
        [[bodies]]
        name = "ball"
        position = [0, 0, 0.1]
        density = 1000
        shapes = [{ sphere = { radius = 0.1 }, material = "felt" }]
        [[bodies]]
        name = "marble"
        position = [1, 0, 0.1]
        density = 1000
        shapes = [{ sphere = { radius = 0.1 } }]
    "#;
    let mut scene = parse(text).unwrap();
    let world = &mut scene.world;
    let (problem, _) = world.problem(H).unwrap();
    let mut laws: Vec<(&str, usize)> = problem
        .blocks()
        .iter()
        .map(|b| (b.law.name(), b.n_rows))
        .collect();
    laws.sort_unstable();
    assert_eq!(laws, [("friction-cone", 3), ("rolling-spinning", 6)]);
    let felt = problem.blocks().iter().find(|b| b.n_rows == 6).unwrap().law;
    let expected = Law::RollingSpinning {
        mu: (0.6_f64 * 0.5).sqrt(),
        rolling: 0.01,
        spinning: 0.002,
    };
    assert_eq!(felt, expected);
    run(world, 3);
    // Bodies of a file are sorted by name.
    let force = world.contact_force((BodyId(0), BodyId(1)), H);
    let weight = world.bodies().mass[0] * GRAVITY;
    assert!((force.z / weight - 1.0).abs() < 1e-6, "{force}");
    // A copy that starts from the state needs as few iterations as the original.
    let state = world.state();
    run(world, 1);
    let after = world.bodies().velocity[0];
    world.restore(&state).unwrap();
    run(world, 1);
    assert_eq!(world.bodies().velocity[0], after);
}

/// Balls in four layers, each layer over the gaps of the one below and a little out of place, on the ground.
fn heap(friction: FrictionModel, [rolling, spinning]: [f64; 2]) -> World {
    let mut builder = WorldBuilder::default();
    builder.settings.friction = friction;
    let material = surface(&mut builder, 0.5, rolling, spinning);
    ground(&mut builder, DQuat::IDENTITY, material);
    for layer in 0..4 {
        for place in 0..(4 - layer) * (4 - layer) {
            let (row, column) = (place / (4 - layer), place % (4 - layer));
            let shift = f64::from(layer) + 0.02 * f64::from((7 * place + 3 * layer) % 5);
            let [x, y] = [row, column].map(|i| RADIUS * (2.05 * f64::from(i) + shift));
            let z = RADIUS * (1.0 + 1.5 * f64::from(layer));
            ball(&mut builder, RADIUS, at(DVec3::new(x, y, z)), material);
        }
    }
    builder.build().unwrap()
}

/// The interior point knows every round law, so that a heap is solved from no start in 10 to 40 factorisations, one of thirty
/// in 111.
#[test]
fn a_heap_of_balls_is_solved_from_no_start() {
    const FACTORISATIONS: usize = 120;
    let stop = |tolerance| Stop {
        tolerance,
        ..Stop::default()
    };
    for (friction, law, coefficients) in [
        (FrictionModel::Cone, "rolling-spinning", [0.01, 0.005]),
        (FrictionModel::Cone, "rolling-cone", [0.01, 0.0]),
        (FrictionModel::Ellipsoid, "ellipsoid-cone", [0.01, 0.005]),
        (FrictionModel::Ellipsoid, "torsional-cone", [0.0, 0.005]),
        (FrictionModel::Box, "friction-box", [0.0, 0.0]),
    ] {
        let mut world = heap(friction, coefficients);
        let mut solver = from_spec("auto", stop(1e-6), 0).unwrap();
        for _ in 0..6 {
            for _ in 0..4 {
                let step = world.step(H, solver.as_mut()).unwrap();
                assert_eq!(step.unsolved, 0, "{law}: {}", step.report);
            }
            let (problem, _) = world.problem(H).unwrap();
            let alike = problem.blocks().iter().all(|b| b.law.name() == law);
            assert!(alike && 40 < problem.blocks().len(), "{law}");
            let mut newton = from_spec("newton", stop(1e-6), 0).unwrap();
            let report = newton.solve(&problem, &mut Solution::zeros(&problem));
            assert_eq!(report.status, Status::Solved, "{law}: {report}");
            assert!(report.iterations <= FACTORISATIONS, "{law}: {report}");
        }
    }
}
