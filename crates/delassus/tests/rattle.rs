//! The second-order step of worlds: as exact as promised, and honest where it is not possible.

#![cfg(feature = "world")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "common/world.rs"]
mod kit;

use delassus::chains::{self, Chain, Chains};
use delassus::math::{DMat3, DQuat, DVec3};
use delassus::world::{Body, GeometricStiffness, Integrator, Joint, JointAxis, JointKind};
use delassus::{Direct, Hybrid, Solver, World, scenes};
use kit::{at, space};

const FRAME: f64 = 1.0 / 60.0;

fn scene(name: &str, integrator: Integrator, substeps: u32) -> World {
    let mut world = scenes::build(name).unwrap().world;
    world.settings.integrator = integrator;
    world.settings.substeps = substeps;
    world
}

fn energy(world: &World) -> f64 {
    let probe = world.bodies().probe(world.gravity);
    probe.kinetic + probe.potential
}

#[test]
fn chain_follows_the_reference_at_second_order() {
    // The tip after half a second and after one, by a Runge-Kutta integration in joint angles at 20 kHz.
    let errors = |substeps: u32| {
        let mut world = scene("necklaces:1x40", Integrator::Rattle, substeps);
        let mut errors = Vec::new();
        for frame in 1..=60 {
            let step = world.step(FRAME, &mut Direct::default()).unwrap();
            assert!(step.coarse == 0 && step.unsolved == 0 && step.violation < 1e-9);
            let tip = world.bodies().position[39];
            match frame {
                30 => errors.push((tip.x - 3.45933273).hypot(tip.z + 1.22625)),
                60 => errors.push((tip.x + 0.99903593).hypot(tip.z + 3.35543277)),
                _ => {}
            }
        }
        errors
    };
    let (coarse, fine) = (errors(4), errors(8));
    // Substeps are still all alike after half a second; later some are halved.
    let order = (coarse[0] / fine[0]).log2();
    assert!((1.9..2.1).contains(&order), "{coarse:?} {fine:?}");
    assert!(fine[1] < 1e-3, "{coarse:?} {fine:?}");
}

#[test]
fn a_world_and_chains_take_the_same_steps() {
    let mut world = scene("necklaces:3x7", Integrator::Rattle, 5);
    let start: Vec<DVec3> = world.bodies().position.clone();
    let chain = |i: usize| {
        let direction = (start[7 * i + 1] - start[7 * i]).normalize();
        Chain::straight(start[7 * i] - 0.05 * direction, direction, 7, 1.0, 0.05)
    };
    let all: Vec<Chain> = (0..3).map(chain).collect();
    let mut side_by_side = Chains::new(world.gravity, &all).unwrap();
    let rattle = chains::Integrator::Rattle(chains::Rattle {
        tolerance: 1e-12,
        ..chains::Rattle::default()
    });
    for _ in 0..12 {
        world.step(FRAME, &mut Direct::default()).unwrap();
        side_by_side.step(FRAME, 5, rattle);
    }
    for (i, x) in world.bodies().position.iter().enumerate() {
        let bead = side_by_side.bead(i / 7, i % 7).unwrap();
        assert!(
            (*x - bead.position).length() < 1e-8,
            "{i} {x} {}",
            bead.position
        );
    }
}

/// A body of three different moments of inertia, spinning in space or about a point of itself.
fn tumbler(held: bool) -> World {
    let mut builder = space();
    let body = builder.add_body(Body {
        inertia: DMat3::from_diagonal(DVec3::new(0.3, 0.2, 0.45)),
        velocity: if held {
            DVec3::new(0.0, 0.9, -1.2)
        } else {
            DVec3::ZERO
        },
        spin: DVec3::new(0.4, 4.0, 3.0),
        ..at(DVec3::new(0.3, 0.0, 0.0))
    });
    let body = body.unwrap();
    if held {
        let place = JointAxis::new(DVec3::ZERO, DVec3::Z);
        let joint = Joint::at(builder.bodies(), [Some(body), None], place, JointKind::Ball);
        builder.add_joint(joint).unwrap();
        builder.gravity = DVec3::new(0.0, 0.0, -9.81);
    }
    let mut world = builder.build().unwrap();
    world.settings.integrator = Integrator::Rattle;
    world
}

#[test]
fn tumbling_bodies_keep_their_energy_at_second_order() {
    for held in [false, true] {
        let run = |h: f64| {
            let mut world = tumbler(held);
            let start = energy(&world);
            let mut worst = 0.0_f64;
            for _ in 0..(2.0 / h).round() as usize {
                let step = world.step(h, &mut Direct::default()).unwrap();
                assert_eq!(step.coarse, 0);
                worst = worst.max((energy(&world) - start).abs());
            }
            (
                worst,
                world.bodies().orientation[0],
                world.bodies().position[0],
            )
        };
        let (fine, coarse, finest) = (run(2e-3), run(4e-3), run(2.5e-4));
        assert!(fine.0 < 5e-3 * 3.0, "{held} {}", fine.0);
        let far = |a: &(f64, DQuat, DVec3)| a.1.angle_between(finest.1);
        let order = (far(&coarse) / far(&fine)).log2();
        assert!(
            (1.7..2.4).contains(&order),
            "{held}: {} {}",
            far(&coarse),
            far(&fine)
        );
    }
}

#[test]
fn contacts_and_compliance_are_taken_at_first_order_and_counted() {
    let mut world = scene("newton-cradle:3", Integrator::Rattle, 1);
    world.settings.substeps = 1;
    let mut solver = Hybrid::default();
    let (mut coarse, mut fine) = (0, 0);
    for _ in 0..400 {
        let step = world.step(0.001, &mut solver).unwrap();
        assert!(step.coarse <= 1);
        coarse += step.coarse;
        fine += 1 - step.coarse;
    }
    assert!(0 < coarse && 0 < fine, "{coarse} {fine}");
    let mut world = scene("necklaces:1x3", Integrator::Rattle, 4);
    world.joint_mut(delassus::JointId(1)).unwrap().compliance = 1e-6;
    let step = world.step(FRAME, &mut Direct::default()).unwrap();
    assert_eq!(step.coarse, 4);
}

/// Ten tonnes on forty beads of a kilogram, released aslant. Their pull makes the beads swing faster than a substep of
/// 2 ms can follow: only with the stiffness of the pull in the step, which is the default, or with steps of second
/// order that are halved where they must be, does the chain hold.
#[test]
fn a_heavy_end_stays_on_its_chain() {
    let widest = |solver: &mut dyn Solver, integrator: Integrator, stiff| {
        let mut world = scene("necklaces:1x40", integrator, 8);
        world.settings.geometric_stiffness = stiff;
        let down = DVec3::new(0.6, 0.0, -0.8);
        for i in 0..40 {
            let place = down * (0.05 * f64::from(2 * i + 1));
            world.bodies_mut().position[i as usize] = place;
            world.bodies_mut().orientation[i as usize] = DQuat::from_rotation_arc(DVec3::X, down);
        }
        world.bodies_mut().mass[39] *= 10_000.0;
        world.bodies_mut().inertia[39] *= 10_000.0;
        let mut widest = 0.0_f64;
        for _ in 0..120 {
            let step = world.step(FRAME, solver).unwrap();
            assert_eq!((step.unsolved, step.coarse), (0, 0), "{}", step.report);
            widest = widest.max(step.violation);
        }
        widest
    };
    let first = Integrator::Spook;
    let (never, needed) = (GeometricStiffness::Never, GeometricStiffness::default());
    let direct = widest(&mut Direct::default(), first, needed);
    let hybrid = widest(&mut Hybrid::default(), first, needed);
    let second = widest(&mut Direct::default(), Integrator::Rattle, never);
    assert!(direct < 1e-4 && hybrid < 1e-4, "{direct} {hybrid}");
    assert!(second < 1e-9, "{second}");
    let explicit = widest(&mut Direct::default(), first, never);
    assert!(0.1 < explicit, "{explicit}");
}

#[test]
fn a_step_is_halved_where_links_turn_too_far() {
    let mut world = scene("necklaces:1x10", Integrator::Rattle, 1);
    for spin in &mut world.bodies_mut().spin {
        spin.y = 60.0;
    }
    let step = world.step(FRAME, &mut Direct::default()).unwrap();
    assert!(step.violation < 1e-9, "{} {}", step.violation, step.coarse);
    assert!((world.time() - FRAME).abs() < 1e-15);
}
