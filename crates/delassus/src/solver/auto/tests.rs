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

#[test]
fn a_time_limit_does_not_make_solvers_anew() {
    let problem = crate::gallery::build("stack:3").expect("a built-in problem");
    let stop = Stop {
        time: Some(Duration::from_secs(60)),
        ..Stop::default()
    };
    let mut auto = Auto::new(stop, 0);
    let mut places = Vec::new();
    for _ in 0..3 {
        auto.solve(&problem, &mut Solution::zeros(&problem));
        let place =
            |(_, solver): &(_, Box<dyn Solver + Send>)| std::ptr::from_ref(&**solver).addr();
        places.push(auto.made.iter().map(place).collect::<Vec<_>>());
    }
    assert!(!places[0].is_empty());
    assert_eq!(places[0], places[1]);
    assert_eq!(places[0], places[2]);
}
