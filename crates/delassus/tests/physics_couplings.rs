//! Cylindrical and planar joints, springs, screws, racks and pulleys against what paper says.
#![cfg(feature = "world")]

use std::f64::consts::TAU;

use delassus::math::{DMat3, DVec3};
use delassus::world::{Body, Drive, Integrator, Joint, JointAxis, JointBody, JointKind, Motor};
use delassus::{BodyId, Direct, GaussSeidel, JointId, Solver, World, WorldBuilder};

const G: f64 = 9.81;
/// What solves to 1e-13 m/s leave after some hundred steps.
const SOLVED: f64 = 1e-8;

/// A body of mass m and principal moments at a place.
fn body(name: &str, at: DVec3, mass: f64, moments: DVec3) -> Body {
    Body {
        mass,
        inertia: DMat3::from_diagonal(moments),
        ..Body::at(name, at)
    }
}

fn join(
    builder: &mut WorldBuilder,
    links: [JointBody; 2],
    (point, axis): (DVec3, DVec3),
    kind: JointKind,
) -> JointId {
    let axis = JointAxis::new(point, axis);
    let joint = Joint::at(builder.bodies(), links, axis, kind);
    builder.add_joint(joint).expect("a joint")
}

fn exact() -> GaussSeidel {
    let mut solver = GaussSeidel::default();
    solver.stop.tolerance = 1e-13;
    solver.stop.sweeps = 10_000;
    solver
}

fn steps(world: &mut World, h: f64, count: usize) {
    let mut solver = exact();
    for _ in 0..count {
        let step = world.step(h, &mut solver).expect("a step");
        assert_eq!(step.unsolved, 0);
    }
}

/// Symplectic Euler under a constant acceleration a from rest: ½ a h² n (n + 1) after n steps.
fn fallen(a: f64, h: f64, n: usize) -> f64 {
    0.5 * a * h * h * (n * (n + 1)) as f64
}

/// Accelerations along x, y, z and about x, y, z of a body that is pushed and twisted along all of them.
fn pushed(kind: JointKind, axis: DVec3) -> ([f64; 3], [f64; 3]) {
    let mut builder = WorldBuilder::default();
    builder.gravity = DVec3::ZERO;
    let added = body("b", DVec3::ZERO, 2.0, DVec3::new(0.3, 0.4, 0.5));
    let id = builder.add_body(added).expect("a body");
    join(&mut builder, [Some(id), None], (DVec3::ZERO, axis), kind);
    let mut world = builder.build().expect("a world");
    world.bodies_mut().force[0] = DVec3::new(2.0, 4.0, 6.0);
    world.bodies_mut().torque[0] = DVec3::new(0.3, 0.4, 0.5);
    let h = 1e-3;
    steps(&mut world, h, 1);
    let per_second = |v: DVec3| (v / h).to_array();
    let bodies = world.bodies();
    (per_second(bodies.velocity[0]), per_second(bodies.spin[0]))
}

#[test]
fn a_cylindrical_joint_leaves_one_way_and_one_turn() {
    let free = JointKind::Cylindrical(Drive::default());
    let (a, alpha) = pushed(free, DVec3::Z);
    for (found, expected) in a.iter().chain(&alpha).zip([0.0, 0.0, 3.0, 0.0, 0.0, 1.0]) {
        assert!((found - expected).abs() < 1e-6, "{a:?} {alpha:?}");
    }
}

#[test]
fn a_planar_joint_leaves_two_ways_and_one_turn() {
    let (a, alpha) = pushed(JointKind::Planar, DVec3::Z);
    for (found, expected) in a.iter().chain(&alpha).zip([1.0, 2.0, 0.0, 0.0, 0.0, 1.0]) {
        assert!((found - expected).abs() < 1e-6, "{a:?} {alpha:?}");
    }
    // A plane that carries a puck which turns and slides keeps it.
    let mut builder = WorldBuilder::default();
    let mut puck = body("puck", DVec3::ZERO, 1.0, DVec3::splat(0.1));
    (puck.velocity, puck.spin) = (DVec3::new(1.0, -2.0, 0.0), DVec3::Z * 5.0);
    let puck = builder.add_body(puck).expect("a puck");
    let at = (DVec3::new(0.3, 0.0, 0.0), DVec3::Z);
    join(&mut builder, [Some(puck), None], at, JointKind::Planar);
    let mut world = builder.build().expect("a world");
    steps(&mut world, 0.01, 200);
    let (x, spin) = (world.bodies().position[0], world.bodies().spin[0]);
    assert!((x - DVec3::new(2.0, -4.0, 0.0)).length() < 1e-6, "{x}");
    assert!((spin - DVec3::Z * 5.0).length() < 1e-6, "{spin}");
}

#[test]
fn motors_of_a_cylindrical_joint_act_along_it() {
    let drive = Drive {
        motor: Some(Motor {
            speed: 0.25,
            max_force: 100.0,
        }),
        limits: Some([-1.0, 0.1]),
        ..Drive::default()
    };
    let mut builder = WorldBuilder::default();
    let added = body("b", DVec3::ZERO, 1.0, DVec3::splat(0.1));
    let id = builder.add_body(added).expect("a body");
    let at = (DVec3::ZERO, DVec3::Z);
    let kind = JointKind::Cylindrical(drive);
    let joint = join(&mut builder, [Some(id), None], at, kind);
    let mut world = builder.build().expect("a world");
    steps(&mut world, 0.01, 20);
    assert!((world.joints()[0].rate(world.bodies()).expect("a rate") - 0.25).abs() < 1e-6);
    steps(&mut world, 0.01, 100);
    assert!((world.joints()[joint.index()].coordinate - 0.1).abs() < 1e-4);
}

/// Where a mass on a spring is after t seconds, by steps of h.
fn sprung(h: f64, t: f64, (k, c): (f64, f64)) -> f64 {
    let mut builder = WorldBuilder::default();
    builder.gravity = DVec3::ZERO;
    let mass = body("m", DVec3::X * 1.5, 2.0, DVec3::splat(0.1));
    let mass = builder.add_body(mass).expect("a mass");
    let kind = JointKind::Spring {
        length: 1.0,
        stiffness: k,
        damping: c,
    };
    let axis = JointAxis::new(DVec3::X * 1.5, DVec3::Z);
    let mut joint = Joint::at(builder.bodies(), [Some(mass), None], axis, kind);
    joint.frames[1].origin = DVec3::ZERO;
    builder.add_joint(joint).expect("a spring");
    let mut world = builder.build().expect("a world");
    let mut solver = exact();
    for _ in 0..(t / h).round() as usize {
        world.step(h, &mut solver).expect("a step");
    }
    world.bodies().position[0].x - 1.0
}

#[test]
fn a_spring_and_damper_swing_and_fade_as_the_exact_solution_to_first_order() {
    let (m, k, c, t) = (2.0_f64, 50.0, 1.2, 2.0);
    // x = x₀ e^(−δt) (cos ω t + δ/ω sin ω t), δ = c/2m, ω² = k/m − δ².
    let delta = c / (2.0 * m);
    let omega = (k / m - delta * delta).sqrt();
    let solution = |t: f64| {
        let (s, co) = (omega * t).sin_cos();
        0.5 * (-delta * t).exp() * (co + delta / omega * s)
    };
    let off = |h: f64| sprung(h, t, (k, c)) - solution(t);
    let errors = [1e-2, 5e-3, 2.5e-3, 1.25e-3].map(off);
    for pair in errors.windows(2) {
        let ratio = pair[0] / pair[1];
        assert!((1.8..2.3).contains(&ratio), "{errors:?}");
    }
    // Richardson: what is left after the first order is small.
    let extrapolated = 2.0 * errors[3] - errors[2];
    assert!(extrapolated.abs() < 1e-3 * 0.5, "{errors:?}");
}

#[test]
fn a_spring_hangs_where_its_force_is_the_weight_and_says_so() {
    let mut builder = WorldBuilder::default();
    let mass = builder.add_body(body("m", -DVec3::Z, 2.0, DVec3::splat(0.1)));
    let mass = mass.expect("a mass");
    let kind = JointKind::Spring {
        length: 1.0,
        stiffness: 200.0,
        damping: 40.0,
    };
    let axis = JointAxis::new(-DVec3::Z, DVec3::Z);
    let mut joint = Joint::at(builder.bodies(), [Some(mass), None], axis, kind);
    joint.frames[1].origin = DVec3::ZERO;
    let joint = builder.add_joint(joint).expect("a spring");
    let mut world = builder.build().expect("a world");
    steps(&mut world, 0.01, 500);
    let z = world.bodies().position[0].z;
    assert!((z + 1.0 + 2.0 * G / 200.0).abs() < 1e-9, "{z}");
    let force = world.reaction(joint).force;
    assert!((force - DVec3::Z * 2.0 * G).length() < 1e-6, "{force}");
}

/// A nut of 2 kg and 0.05 kg m² on a vertical screw.
fn nut(pitch: f64) -> World {
    let mut builder = WorldBuilder::default();
    let added = body("nut", DVec3::ZERO, 2.0, DVec3::new(0.1, 0.1, 0.05));
    let id = builder.add_body(added).expect("a nut");
    let kind = JointKind::Screw {
        pitch,
        drive: Drive::default(),
    };
    join(
        &mut builder,
        [Some(id), None],
        (DVec3::ZERO, DVec3::Z),
        kind,
    );
    builder.build().expect("a world")
}

#[test]
fn a_nut_winds_itself_down_a_screw_by_its_pitch() {
    for pitch in [0.4, -0.4] {
        let mut world = nut(pitch);
        let (h, n) = (1e-3, 3000);
        steps(&mut world, h, n);
        // (m + I/l²) a = −m g with l = pitch/2π.
        let lead = pitch / TAU;
        let a = -2.0 * G / (2.0 + 0.05 / (lead * lead));
        let z = world.bodies().position[0].z;
        assert!((z - fallen(a, h, n)).abs() < 1e-6, "{z}");
        let turn = world.joints()[0].coordinate;
        assert!(TAU < turn.abs(), "several turns are counted: {turn}");
        assert!((z - lead * turn).abs() < SOLVED, "{z} {turn}");
    }
}

#[test]
fn screws_are_closed_by_the_second_order_step_too() {
    let mut world = nut(0.4);
    world.settings.integrator = Integrator::Rattle;
    let mut solver = Direct::default();
    let (h, n) = (1e-3, 2000);
    for _ in 0..n {
        let step = world
            .step(h, &mut solver as &mut dyn Solver)
            .expect("a step");
        assert_eq!((step.unsolved, step.coarse), (0, 0));
        assert!(step.violation < 1e-9, "{}", step.violation);
    }
    let lead = 0.4 / TAU;
    let a = -2.0 * G / (2.0 + 0.05 / (lead * lead));
    let t = h * n as f64;
    let z = world.bodies().position[0].z;
    // Second order has no half step to add.
    assert!((z - 0.5 * a * t * t).abs() < 1e-6, "{z}");
}

#[test]
fn a_pinion_drives_its_rack_by_its_radius_through_full_turns() {
    let (radius, inertia, mass, torque) = (0.2, 0.03, 3.0, 0.9);
    let mut builder = WorldBuilder::default();
    builder.gravity = DVec3::ZERO;
    let pinion = body("pinion", DVec3::ZERO, 1.0, DVec3::splat(inertia));
    let pinion = builder.add_body(pinion).expect("a pinion");
    let rack = body("rack", DVec3::Y * -radius, mass, DVec3::splat(0.1));
    let rack = builder.add_body(rack).expect("a rack");
    let free = Drive::default();
    let bearing = JointKind::Hinge(free);
    join(
        &mut builder,
        [Some(pinion), None],
        (DVec3::ZERO, DVec3::Z),
        bearing,
    );
    let guide = JointKind::Slider(free);
    let at = (DVec3::Y * -radius, DVec3::X);
    join(&mut builder, [Some(rack), None], at, guide);
    // z is the axle and x the way of the rack.
    let teeth = JointKind::Rack { radius };
    let links = [Some(pinion), Some(rack)];
    join(&mut builder, links, (DVec3::ZERO, DVec3::Z), teeth);
    let mut world = builder.build().expect("a world");
    let (h, n) = (1e-3, 1500);
    let mut solver = exact();
    for _ in 0..n {
        world.bodies_mut().torque[pinion.index()] = DVec3::Z * torque;
        let step = world.step(h, &mut solver).expect("a step");
        assert_eq!(step.unsolved, 0);
    }
    // (I + M r²) α = τ; the rack runs against x.
    let alpha = torque / (inertia + mass * radius * radius);
    let turn = world.joints()[0].coordinate;
    assert!((turn - fallen(alpha, h, n)).abs() < 1e-6, "{turn}");
    assert!(TAU < turn, "more than a turn: {turn}");
    let x = world.bodies().position[rack.index()].x;
    assert!((x + radius * turn).abs() < SOLVED, "{x} {turn}");
}

/// Two masses on a rope over two pulleys 4 m above them.
fn atwood(masses: [f64; 2], ratio: f64) -> World {
    let mut builder = WorldBuilder::default();
    let places = [DVec3::new(-1.0, 0.0, 0.0), DVec3::new(1.0, 0.0, 0.0)];
    let ids: Vec<BodyId> = (0..2)
        .map(|i| {
            let one = body(&format!("m{i}"), places[i], masses[i], DVec3::splat(0.1));
            builder.add_body(one).expect("a mass")
        })
        .collect();
    let kind = JointKind::Pulley {
        anchors: places.map(|x| x + DVec3::Z * 4.0),
        ratio,
        length: 4.0 + ratio * 4.0,
    };
    let links = [Some(ids[0]), Some(ids[1])];
    let axis = JointAxis::new(places[0], DVec3::Z);
    let mut joint = Joint::at(builder.bodies(), links, axis, kind);
    for frame in &mut joint.frames {
        frame.origin = DVec3::ZERO;
    }
    builder.add_joint(joint).expect("a rope");
    builder.build().expect("a world")
}

#[test]
fn atwoods_machine_accelerates_as_its_masses_and_its_ratio_say() {
    for (m1, m2, ratio) in [
        (1.0, 1.5, 1.0),
        (3.0, 1.0, 1.0),
        (1.0, 1.5, 2.0),
        (1.0, 4.0, 2.0),
    ] {
        let mut world = atwood([m1, m2], ratio);
        let (h, n) = (1e-3, 500);
        steps(&mut world, h, n);
        // m₁a₁ = m₁g − T, m₂a₂ = m₂g − ρT, a₁ = −ρa₂, downwards.
        let a2 = G * (m2 - ratio * m1) / (m2 + ratio * ratio * m1);
        let a1 = -ratio * a2;
        let z = [0, 1].map(|i| world.bodies().position[i].z);
        assert!((z[0] + fallen(a1, h, n)).abs() < 1e-6, "{z:?}");
        assert!((z[1] + fallen(a2, h, n)).abs() < 1e-6, "{z:?}");
        let tension = world.reaction(JointId(0)).force;
        let expected = m1 * (G - a1);
        assert!((tension - DVec3::Z * expected).length() < 1e-5, "{tension}");
    }
}

#[test]
fn a_slack_rope_does_nothing() {
    let mut world = atwood([1.0, 2.0], 1.0);
    for velocity in &mut world.bodies_mut().velocity {
        *velocity = DVec3::Z * 3.0;
    }
    let (h, n) = (1e-3, 200);
    let mut solver = GaussSeidel::default();
    for _ in 0..n {
        let step = world.step(h, &mut solver).expect("a step");
        assert_eq!(step.unsolved, 0);
    }
    let t = h * n as f64;
    for i in 0..2 {
        let z = world.bodies().position[i].z;
        assert!((z - (3.0 * t - fallen(G, h, n))).abs() < SOLVED, "{z}");
    }
    assert_eq!(world.reaction(JointId(0)).force, DVec3::ZERO);
}

#[test]
fn nonsense_is_refused() {
    let free = Drive::default();
    let spring = |length: f64, stiffness: f64, damping: f64| JointKind::Spring {
        length,
        stiffness,
        damping,
    };
    let rope = |ratio: f64, length: f64| JointKind::Pulley {
        anchors: [DVec3::X, DVec3::Z],
        ratio,
        length,
    };
    let screw = |pitch: f64| JointKind::Screw { pitch, drive: free };
    let kinds = [
        screw(0.0),
        screw(f64::NAN),
        JointKind::Rack { radius: 0.0 },
        spring(-1.0, 1.0, 0.0),
        spring(1.0, 0.0, 0.0),
        spring(1.0, f64::INFINITY, 0.0),
        rope(0.0, 1.0),
        rope(1.0, -1.0),
        JointKind::Gone,
    ];
    for kind in kinds {
        let mut builder = WorldBuilder::default();
        let one = builder.add_body(Body::default()).expect("a body");
        let axis = JointAxis::new(DVec3::ZERO, DVec3::Z);
        let joint = Joint::at(builder.bodies(), [Some(one), None], axis, kind.clone());
        assert!(builder.add_joint(joint).is_err(), "{kind:?}");
    }
}
