//! What only a world made for it can show.

use std::path::Path;
use std::process;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Parser;
use delassus::WorldBuilder;
use delassus::world::Body;

use super::*;
use crate::args::{Args, Command};
use crate::scene::Source;
use plan::Options;

/// A step in which free fall leaves the finite numbers: h² g is not one.
const TOO_LONG: f64 = 1e160;

fn falling() -> World {
    let mut builder = WorldBuilder::default();
    let body = Body {
        name: "stone".to_owned(),
        ..Body::default()
    };
    builder.add_body(body).unwrap();
    builder.build().unwrap()
}

fn plan(dt: f64) -> Plan {
    Plan {
        source: Source {
            name: "stone".to_owned(),
            text: None,
            folder: None,
            floating: false,
            lossy: false,
        },
        title: "a stone <falls>".to_owned(),
        options: Options {
            dt,
            solver: "gauss-seidel".to_owned(),
            tolerance: 1e-6,
            iterations: 100,
            pivots: 100,
            substeps: 1,
            integrator: delassus::world::Integrator::Spook,
            seed: 0,
        },
        first: 0,
        steps: 4,
        every: 1,
        checkpoint_every: None,
        lost: Vec::new(),
    }
}

fn args(out: &Path) -> RunArgs {
    let out = out.to_str().unwrap();
    let args = Args::parse_from(["delassus", "run", "stone", "--quiet", "--out", out]);
    match args.command {
        Command::Run(args) => args,
        other => panic!("{other:?}"),
    }
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("delassus-{}-{name}", process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A flag that nobody has raised yet.
fn flag() -> &'static AtomicBool {
    Box::leak(Box::new(AtomicBool::new(false)))
}

#[test]
fn a_refused_step_keeps_the_last_good_state_and_its_problem() {
    let out = folder("refused");
    let (args, plan, mut world) = (args(&out), plan(TOO_LONG), falling());
    let before = world.state_hash();
    let mut solver = solvers::make("gauss-seidel", plan.stop(), 0).unwrap();
    let mut run = Run::start(&args, &plan, &world, flag()).unwrap();
    let ending = run.steps(&mut world, solver.as_mut()).unwrap();
    let Ending::Refused(why) = &ending else {
        panic!("{ending:?}");
    };
    let text = why.to_string();
    assert!(
        text.contains("stone") && text.contains("refused-step-1.json"),
        "{text}"
    );
    assert_eq!(world.state_hash(), before);
    let saved = std::fs::read(out.join("refused-step-1.json")).unwrap();
    assert!(delassus::problem::file::parse(&saved, delassus::problem::file::Format::Json).is_ok());
    let ended = (&ending, Duration::ZERO);
    let summary = Summary::new(&run, &world, solver.as_ref(), ended);
    run.finish(&world, &summary).unwrap();
    assert!(summary.json().contains("\"ending\": \"refused\""));
    std::fs::remove_dir_all(&out).unwrap();
}

#[test]
fn an_interrupted_run_can_be_resumed_from_where_it_stopped() {
    let out = folder("interrupted");
    let (args, plan, mut world) = (args(&out), plan(0.01), falling());
    let mut solver = solvers::make("gauss-seidel", plan.stop(), 0).unwrap();
    let mut run = Run::start(&args, &plan, &world, flag()).unwrap();
    run.interrupted.store(true, Ordering::Relaxed);
    let ending = run.steps(&mut world, solver.as_mut()).unwrap();
    let Ending::Interrupted(why) = ending else {
        panic!("{ending:?}");
    };
    let text = why.to_string();
    assert!(text.contains("interrupted at step 0 of 4"), "{text}");
    assert!(Checkpoint::read(&out.join("checkpoint-0.json")).is_ok());
    std::fs::remove_dir_all(&out).unwrap();
}

/// A request to end that comes within a solve ends the run with the state before that step.
#[test]
fn a_step_that_is_interrupted_leaves_the_world_as_it_was() {
    let out = folder("within");
    let (args, plan) = (args(&out), plan(0.01));
    let mut world = delassus::scenes::build("stack:3").unwrap().world;
    let raised = flag();
    let stop = Stop {
        tolerance: 1e-13,
        sweeps: usize::MAX,
        cancel: Some(Cancel::new(raised)),
        ..plan.stop()
    };
    for spec in ["lemke,budget=0", "gauss-seidel", "auto"] {
        raised.store(false, Ordering::Relaxed);
        let mut solver = solvers::make(spec, stop, 0).unwrap();
        let before = world.state_hash();
        raised.store(true, Ordering::Relaxed);
        let mut run = Run::start(&args, &plan, &world, flag()).unwrap();
        let ending = run.steps(&mut world, solver.as_mut()).unwrap();
        assert!(
            matches!(ending, Ending::Interrupted(_)),
            "{spec}: {ending:?}"
        );
        assert_eq!(world.state_hash(), before, "{spec}");
    }
    std::fs::remove_dir_all(&out).unwrap();
}

/// Somebody pushes a stone between two steps, and the run is told that nothing does: what it sees is what an exploding
/// pile looks like.
/// A ball of 4.2 t that begins 0.9 m deep in the ground is lifted by 37 kJ, and that is no energy from nothing.
#[test]
fn what_begins_in_the_ground_may_be_lifted_out_of_it() {
    let mut builder = delassus::WorldBuilder::default();
    builder.add_ground().unwrap();
    let shape = delassus::collide::Shape::Sphere { radius: 1.0 };
    let body = delassus::world::Body::at("ball", delassus::math::DVec3::Z * 0.1);
    builder.add(shape, 1000.0, body).unwrap();
    let mut world = builder.build().unwrap();
    let mut solver = delassus::GaussSeidel::default();
    let mut tally = Tally::new(&world);
    for number in 1..300 {
        let step = world.step(0.01, &mut solver).unwrap();
        tally.add(number, &world, &step);
    }
    assert!(3e4 < tally.energy_end - tally.energy_start);
    assert_eq!(tally.gained, None);
}

#[test]
fn energy_that_nothing_supplies_is_noticed_and_a_fall_is_not() {
    let mut world = falling();
    let mut solver = delassus::GaussSeidel::default();
    let mut tally = Tally::new(&world);
    for number in 1..200 {
        let step = world.step(0.01, &mut solver).unwrap();
        tally.add(number, &world, &step);
    }
    assert_eq!(tally.gained, None);
    world.bodies_mut().velocity[0] *= 2.0;
    let step = world.step(0.01, &mut solver).unwrap();
    tally.add(200, &world, &step);
    let told = tally.gained.unwrap().to_string();
    assert!(
        told.contains("after step 200") && told.contains("--keep-going"),
        "{told}"
    );
}
