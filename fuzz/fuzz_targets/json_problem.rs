//! No JSON text makes the reader panic, and what it accepts can be swept by every rule with finite answers.
#![no_main]

use delassus::problem::file::{Format, FileContent, parse};
use delassus::solver::Rule;
use delassus::solver::sweep::gauss_seidel::SweepKind;
use delassus::{GaussSeidel, Solution, Solver, Stop};
use libfuzzer_sys::fuzz_target;

/// Larger problems are read but not solved: the fuzzer should spend its time on odd ones, not on big ones.
const BLOCKS: usize = 50;
const VELOCITIES: usize = 300;

fuzz_target!(|data: &[u8]| {
    let Ok(loaded) = parse(data, Format::Json) else {
        return;
    };
    let FileContent::Problem { problem, .. } = loaded.content else {
        return;
    };
    if BLOCKS < problem.blocks().len() || VELOCITIES < problem.n_velocities() {
        return;
    }
    // The length of the input chooses the rule and the sweep, so that all of them are met.
    let (_, rule) = Rule::NAMES[data.len() % Rule::NAMES.len()];
    let (_, sweep) = SweepKind::NAMES[data.len() / 7 % SweepKind::NAMES.len()];
    let stop = Stop {
        iterations: 12,
        ..Stop::default()
    };
    let mut solver = GaussSeidel {
        stop,
        rule,
        sweep,
        ..GaussSeidel::default()
    };
    let mut solution = Solution::zeros(&problem);
    let report = solver.solve(&problem, &mut solution);
    let finite = solution.v.iter().chain(&solution.lambda).all(|x| x.is_finite());
    assert!(finite, "{report}");
});
