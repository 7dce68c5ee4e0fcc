//! No TOML text makes the scene reader panic, and what it accepts can be stepped or is refused with an error.
#![no_main]

use delassus::solver::from_spec;
use delassus::model::scene::parse;
use delassus::Stop;
use libfuzzer_sys::fuzz_target;

/// Larger scenes are read but not stepped: the fuzzer should spend its time on odd ones, not on big ones.
const BODIES: usize = 30;
const STEPS: usize = 3;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(mut scene) = parse(text) else {
        return;
    };
    scene.world.settings.substeps = scene.world.settings.substeps.min(2);
    if BODIES < scene.world.bodies().len() {
        return;
    }
    let stop = Stop {
        iterations: 12,
        ..Stop::default()
    };
    let Ok(mut solver) = from_spec(&scene.run.solver, stop, 0) else {
        return;
    };
    for _ in 0..STEPS {
        let stepped = scene.world.step(scene.run.dt, solver.as_mut());
        let bodies = scene.world.bodies();
        let finite = bodies.position.iter().chain(&bodies.velocity).all(|v| v.is_finite());
        assert!(finite, "{stepped:?}");
        if stepped.is_err() {
            return;
        }
    }
});
