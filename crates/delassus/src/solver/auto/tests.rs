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

/// Twice as many equalities as a dense mass has velocities: the factor of a thousand rows took seconds, that of three
/// thousand minutes.
#[test]
fn more_equalities_than_velocities_are_not_factored_row_by_row() {
    let (rows, velocities) = (600, 12);
    let mut random = crate::math::Random::new(7);
    let mut row = || {
        (0..velocities)
            .map(|_| random.range(-1.0, 1.0))
            .collect::<Vec<f64>>()
    };
    let mass: Vec<Vec<f64>> = (0..velocities)
        .map(|i| {
            (0..velocities)
                .map(|j| f64::from(u8::from(i == j)))
                .collect()
        })
        .collect();
    let file = serde_json::json!({
        "schema": "delassus-problem-1", "kind": "rows", "Minv": mass, "v1": row(),
        "G": (0..rows).map(|_| row()).collect::<Vec<_>>(),
        "q": vec![0.0; rows], "sigma": vec![0.0; rows],
        "lo": vec![None::<f64>; rows], "hi": vec![None::<f64>; rows],
    });
    let format = crate::problem::file::Format::Json;
    let loaded = crate::problem::file::parse(file.to_string().as_bytes(), format);
    let content = loaded.expect("a problem file").content;
    let crate::problem::file::FileContent::Problem { problem, .. } = content else {
        panic!("rows are a problem");
    };
    let report = Auto::default().solve(&problem, &mut Solution::zeros(&problem));
    assert_eq!(
        (report.status, report.iterations < 20),
        (Status::Solved, true)
    );
    assert_eq!(report.chosen[0].choice.first.solver, "newton");
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
