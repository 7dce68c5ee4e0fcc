//! Read a JSON problem, solve it, and write it back in the form that any solver can read.
//!
//! `cargo run -p delassus --example 03_read_a_file`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use delassus::problem::file::{FileError, Format, Work, json, parse};
use delassus::{GaussSeidel, Solution, Solver};

const BALL: &str = r#"{
  "schema": "delassus-problem-1", "kind": "contact", "title": "a ball thrown along the ground",
  "h": 0.01, "cone": "disk",
  "bodies": [{
    "m": 1.0, "I_body": [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]],
    "x": [0, 0, 0.5], "q": [1, 0, 0, 0], "v": [2, 0.5, 0], "f": [0, 0, -9.81]
  }],
  "contacts": [{
    "a": 0, "b": -1, "p": [0, 0, 0], "n": [0, 0, 1], "t1": [1, 0, 0], "t2": [0, 1, 0], "mu": 0.4
  }]
}"#;

fn main() -> Result<(), FileError> {
    let loaded = parse(BALL.as_bytes(), Format::Json)?;
    println!("{}: {}", loaded.kind, loaded.title);
    let Work::Problem { problem, .. } = loaded.work else {
        println!("nothing to solve");
        return Ok(());
    };
    let mut solution = Solution::zeros(&problem);
    let report = GaussSeidel::default().solve(&problem, &mut solution);
    println!("{report}");
    println!("lambda {:+.6?}", solution.lambda);

    // What is saved is the problem itself: masses and rows, no geometry.
    let text = json::save(&problem, &loaded.title);
    println!("saved:\n{text}");
    let again = parse(text.as_bytes(), Format::Json)?;
    let same = matches!(again.work, Work::Problem { problem: again, .. } if again == problem);
    println!("read back bit for bit: {same}");

    // A mistake is told with its place.
    let wrong = BALL.replace("\"mu\": 0.4", "\"mu\": -0.4");
    if let Err(error) = parse(wrong.as_bytes(), Format::Json) {
        println!("and a wrong file: {error}");
    }
    Ok(())
}
