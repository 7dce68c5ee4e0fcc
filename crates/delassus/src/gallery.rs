//! Built-in problems by name, shared by tests, benches and the command line.
//!
//! Each is one step of a small scene, built from bodies at rest under gravity (or given velocities) with
//! h = 10 ms. The same name gives the same bits everywhere.

mod exhibits;
pub mod experiments;
mod scene;

use self::exhibits::{chain, corner, heavy_stack, machine, peg, pile, rod, slide, stack};
use crate::error::{BuildError, nearest};
use crate::problem::Problem;

/// One built-in problem.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// Its name; a size may follow as `name:12`.
    pub name: &'static str,
    /// The size taken when none is given, or zero where it has none.
    pub size: usize,
    /// The largest size.
    pub limit: usize,
    /// What it is, in one line.
    pub about: &'static str,
    make: fn(usize) -> Result<Problem, BuildError>,
}

/// All built-in problems.
pub fn exhibits() -> &'static [Exhibit] {
    const fn exhibit(
        name: &'static str,
        (size, limit): (usize, usize),
        about: &'static str,
        make: fn(usize) -> Result<Problem, BuildError>,
    ) -> Exhibit {
        Exhibit {
            name,
            size,
            limit,
            about,
            make,
        }
    }
    const ALL: [Exhibit; 9] = [
        exhibit(
            "slide",
            (0, 0),
            "a ball thrown along the ground: one sliding contact",
            slide,
        ),
        exhibit(
            "rod",
            (0, 0),
            "a tilted rod hits the ground: normal and tangent coupled",
            rod,
        ),
        exhibit(
            "corner",
            (0, 0),
            "a block pushed into a corner: 12 redundant contacts",
            corner,
        ),
        exhibit(
            "peg",
            (16, 4096),
            "a peg in a square hole, N contacts on its walls",
            peg,
        ),
        exhibit(
            "stack",
            (5, 100_000),
            "N boxes on each other, four contacts each",
            stack,
        ),
        exhibit(
            "heavy-stack",
            (5, 100_000),
            "the same with a top 100 times as heavy",
            heavy_stack,
        ),
        exhibit(
            "pile",
            (1000, 4_000_000),
            "spheres in a sheared lattice, N contacts",
            pile,
        ),
        exhibit(
            "chain",
            (40, 1_000_000),
            "N beads on ball joints, swinging",
            chain,
        ),
        exhibit(
            "machine",
            (0, 0),
            "motor, gear, limit, rolling wheel: every other law",
            machine,
        ),
    ];
    &ALL
}

/// Why a built-in problem cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GalleryError {
    /// No such problem.
    #[error("there is no built-in problem \"{name}\"; known: {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A size that is no number, zero or too large.
    #[error("\"{text}\" is not a size of {name}; give a whole number from 1 to {limit}")]
    BadSize {
        /// The problem.
        name: &'static str,
        /// What was given as size.
        text: String,
        /// The largest size.
        limit: usize,
    },
    /// A size given to a problem that has none.
    #[error("{name} has no size; leave out \":{text}\"")]
    NoSize {
        /// The problem.
        name: &'static str,
        /// What was given as size.
        text: String,
    },
    /// The problem itself is refused; none of these should be.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The problem whose name is near enough to a word to be meant by it, with the size that was given.
pub fn meant(spec: &str) -> Option<String> {
    let (name, size) = spec.find(':').map_or((spec, ""), |at| spec.split_at(at));
    let known = exhibits().iter().map(|exhibit| exhibit.name);
    nearest(name, known).map(|meant| format!("{meant}{size}"))
}

/// Makes a built-in problem from `name` or `name:size`. The same name gives the same bits.
pub fn build(spec: &str) -> Result<Problem, GalleryError> {
    let (name, text) = match spec.split_once(':') {
        Some((name, text)) => (name, Some(text)),
        None => (spec, None),
    };
    let Some(exhibit) = exhibits().iter().find(|exhibit| exhibit.name == name) else {
        let known: Vec<&str> = exhibits().iter().map(|exhibit| exhibit.name).collect();
        let name = name.chars().take(80).collect();
        return Err(GalleryError::Unknown {
            name,
            known: known.join(", "),
        });
    };
    let size = match text {
        None => exhibit.size,
        Some(text) if exhibit.limit == 0 => {
            return Err(GalleryError::NoSize {
                name: exhibit.name,
                text: text.to_owned(),
            });
        }
        Some(text) => match text.parse() {
            Ok(size) if 1 <= size && size <= exhibit.limit => size,
            _ => {
                let (name, limit) = (exhibit.name, exhibit.limit);
                return Err(GalleryError::BadSize {
                    name,
                    text: text.to_owned(),
                    limit,
                });
            }
        },
    };
    Ok((exhibit.make)(size)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GaussSeidel, Solution, Solver, Status, Stop};

    #[test]
    fn every_exhibit_is_solved_by_the_default_solver() {
        for exhibit in exhibits() {
            let problem = build(exhibit.name).unwrap();
            let stop = Stop {
                tolerance: 1e-6,
                sweeps: 200_000,
                ..Stop::default()
            };
            let mut solution = Solution::zeros(&problem);
            let report = GaussSeidel {
                stop,
                ..Default::default()
            }
            .solve(&problem, &mut solution);
            assert_eq!(report.status, Status::Solved, "{}: {report}", exhibit.name);
            assert!(
                report.residual.momentum < 1e-9,
                "{}: {report}",
                exhibit.name
            );
        }
    }

    #[test]
    fn piles_have_the_number_of_contacts_asked_for() {
        for n in [1, 2, 7, 100, 1001] {
            assert_eq!(build(&format!("pile:{n}")).unwrap().blocks().len(), n);
        }
        assert_eq!(build("peg:8").unwrap().blocks().len(), 8);
    }

    #[test]
    fn wrong_names_and_sizes_are_refused_with_what_is_known() {
        assert!(build("pil").unwrap_err().to_string().contains("pile"));
        for bad in [
            "stack:0",
            "stack:-1",
            "stack:x",
            "stack:99999999999999999999",
            "stack:",
        ] {
            assert!(
                build(bad).unwrap_err().to_string().contains("whole number"),
                "{bad}"
            );
        }
        assert!(
            build("slide:3")
                .unwrap_err()
                .to_string()
                .contains("no size")
        );
    }
}
