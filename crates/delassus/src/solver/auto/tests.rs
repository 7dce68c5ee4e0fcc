//! The table and its chapter say the same.

use super::*;

/// Attempts as the chapter writes them.
fn listed(rungs: &[Rung]) -> String {
    let written = |rung: &Rung| match rung.allowance {
        Probe(sweeps) => format!("`{}`, {sweeps} sweeps", rung.solver),
        Onward | Anew | Once => format!("`{}`", rung.solver),
    };
    let rungs: Vec<String> = rungs.iter().map(written).collect();
    rungs.join(", then ")
}

#[test]
fn every_solver_of_the_table_can_be_made_and_stands_in_the_chapter() {
    let chapter = include_str!("../../../docs/auto.md");
    for choice in TABLE {
        for rung in [&[choice.first], choice.then, choice.last].concat() {
            let spec = rung.solver;
            assert!(from_spec(spec, Stop::default(), 0).is_ok(), "{spec}");
        }
        let patience = if choice.last.is_empty() {
            ""
        } else {
            "; patience"
        };
        let line = format!(
            "| {} | {} | {}{patience} | {} |",
            choice.class,
            listed(&[choice.first]),
            listed(choice.then),
            choice.why
        );
        assert!(chapter.contains(&line), "{line}");
    }
    let line = format!("Patience is {}.", listed(&PATIENCE));
    assert!(chapter.contains(&line), "{line}");
}
