//! Read a problem, solve it, write it back, and meet a mistake.
//!
//! `cargo run -p delassus --example 07_read_a_file`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use delassus::problem::file::{FileContent, FileError, Format, json, parse};
use delassus::{Auto, Solution, Solver};

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
    // `Format::of_name` tells the format from the name of a file: JSON, Siconos .dat, FCLIB .hdf5.
    let loaded = parse(BALL.as_bytes(), Format::Json)?;
    if let FileContent::Problem { problem, .. } = loaded.content {
        let mut solution = Solution::zeros(&problem);
        println!("{}", Auto::default().solve(&problem, &mut solution));
        println!("impulse {:+.6?}", solution.lambda);
        // What is saved is the problem itself: masses and rows. It comes back bit for bit.
        println!("{}", json::save(&problem, &loaded.title));
    }
    let wrong = BALL.replace("\"mu\": 0.4", "\"mu\": -0.4");
    if let Err(error) = parse(wrong.as_bytes(), Format::Json) {
        println!("a wrong file: {error}");
    }
    Ok(())
}
