//! Published problems with rolling friction, mixed laws and bounds: read, and solved to 1e-10 of their scale.

#![cfg(feature = "files")]
#![allow(clippy::print_stderr, clippy::unwrap_used)] // A test may stop anywhere, and says what it skips.

use std::path::{Path, PathBuf};

use delassus::problem::Form;
use delassus::problem::file::{self, DatFormat, FileContent, Format};
use delassus::solver::from_spec;
use delassus::{Problem, Residual, Solution, Status, Stop};

/// Residual over the largest free row velocity.
const RELATIVE: f64 = 1e-10;

fn shared(folder: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let Ok(entries) = std::fs::read_dir(path.join(folder)) else {
        eprintln!("skipped: shared data folder not found");
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn read(path: &Path) -> Problem {
    let bytes = std::fs::read(path).unwrap();
    let loaded = file::parse(&bytes, Format::of_name(path.to_str().unwrap())).unwrap();
    match loaded.content {
        FileContent::Problem { problem, .. } => *problem,
        other => panic!("{}: {other:?}", path.display()),
    }
}

#[test]
fn rolling_generic_and_relay_files_are_solved() {
    let mut files = Vec::new();
    for folder in ["RollingFrictionContact", "GenericMechanical", "Relay"] {
        files.extend(shared(&format!("data/siconos_dat/{folder}")));
    }
    let chute = |path: &PathBuf| path.to_str().unwrap().contains("Chute");
    files.extend(shared("data/fclib_hdf5").into_iter().filter(chute));
    for path in files {
        let problem = read(&path);
        let scale = problem.c().iter().fold(0.0_f64, |m, c| m.max(c.abs()));
        for solver in ["auto", "newton"] {
            let stop = Stop {
                tolerance: RELATIVE * scale,
                ..Stop::default()
            };
            let mut solution = Solution::zeros(&problem);
            let mut solver = from_spec(solver, stop, 0).unwrap();
            let report = solver.solve(&problem, &mut solution);
            let what = format!("{} {}", path.display(), solver.name());
            assert_eq!(report.status, Status::Solved, "{what}: {report}");
            let residual = Residual::of(&problem, &solution);
            assert!(residual.relative <= RELATIVE, "{what}: {residual:?}");
        }
    }
}

/// M = [1 ½; 0 1] beside masses of 1 and 1e9, H the identity, f = (−1, −2, 0, 0): W is the inverse of M itself, not of its
/// mean with its transpose.
#[test]
fn a_matrix_that_is_not_symmetric_is_solved_as_it_is_given() {
    let asymmetric = |path: &PathBuf| path.ends_with("asym.dat");
    for path in shared("attack").into_iter().filter(asymmetric) {
        let bytes = std::fs::read(path).unwrap();
        let loaded = file::parse(&bytes, Format::Dat(Some(DatFormat::Gfc3d))).unwrap();
        assert_eq!(loaded.kind, "friction-unsymmetric");
        let FileContent::Problem { problem, .. } = loaded.content else {
            panic!()
        };
        let Form::Dual(matrix) = problem.form() else {
            panic!()
        };
        let w = matrix.block_row(0).next().unwrap().1.to_vec();
        assert_eq!(w, [1.0, -0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        // W f = M⁻¹f
        assert_eq!(problem.c(), [0.0, -2.0, 0.0]);
    }
}
