//! Problem files: own JSON, Siconos `.dat` and FCLIB `.hdf5`, all read into the same [`Problem`].
//!
//! Reading never panics and never reserves more memory than a small multiple of the input: a size that a
//! file declares is believed only after the input is seen to be long enough for it.
//!
#![doc = include_str!("../../../docs/files.md")]

#[cfg(feature = "files")]
mod condense;
mod error;
#[cfg(feature = "files")]
pub mod fclib;
mod format;
#[cfg(feature = "files")]
mod friction;
pub mod json;
pub mod limit;
#[cfg(feature = "files")]
pub mod siconos;

pub use error::{FileError, Place, Unfit};
pub use format::{DatFormat, Format};
#[cfg(feature = "files")]
pub use friction::{FrictionFile, FrictionForm, Triplets};
#[cfg(feature = "files")]
use siconos::{DatFile, GenericBlock, GenericLaw, MlcpLaw};

use crate::law::Law;
use crate::problem::Problem;
use crate::problem::delassus::BlockMatrix;

/// A file as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The kind the file names itself, as `contact`, `rows`, `joints`, `friction-local`.
    pub kind: &'static str,
    /// Its title, or empty.
    pub title: String,
    /// Impulses to start from, where the file has them: those a captured step started from.
    pub guess: Option<Vec<f64>>,
    /// What there is to do.
    pub content: FileContent,
}

/// What a file asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum FileContent {
    /// A constraint problem.
    Problem {
        /// The problem.
        problem: Box<Problem>,
        /// Where velocity i of the problem stands in the file, if the order differs.
        velocity_order: Option<Vec<usize>>,
    },
    /// Constrained dynamics of a kinematic tree, kept as such beside the problem it is.
    Tree(Box<TreeProblem>),
    /// Coefficients of SPOOK rows: nothing to iterate, only to compute.
    Stabilisation(Vec<SpookRow>),
}

/// A `tree` file: [M Jᵀ; J −Σ][x₁; x₂] = [y₁; y₂].
#[derive(Clone, Debug, PartialEq)]
pub struct TreeProblem {
    /// As a problem: v = x₁, λ = −x₂, p = y₁, q = y₂, every row an equality on links of the tree.
    pub problem: Problem,
    /// A velocity, for the bias force.
    pub v: Vec<f64>,
}

/// One computed row of a `stabilisation` file.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct SpookRow {
    /// Compliance Σ \[1/kg\].
    pub sigma: f64,
    /// Υ.
    pub upsilon: f64,
    /// Wanted velocity q \[m/s\].
    pub q: f64,
    /// Spectral radius of the drift map without compliance.
    pub rho_drift: f64,
}

/// Reads a problem file from memory.
pub fn parse(bytes: &[u8], format: Format) -> Result<Loaded, FileError> {
    match format {
        Format::Json => json::parse(bytes),
        #[cfg(not(feature = "files"))]
        _ => Err(FileError::Unsupported {
            place: Place::Value("format".to_owned()),
            kind: "a Siconos or FCLIB file",
            remedy: "build delassus with its feature `files`, or convert the file to JSON",
        }),
        #[cfg(feature = "files")]
        _ => other(bytes, format),
    }
}

/// The formats that are not our own.
#[cfg(feature = "files")]
fn other(bytes: &[u8], format: Format) -> Result<Loaded, FileError> {
    match format {
        Format::Json => json::parse(bytes),
        Format::Fclib => fclib::read(bytes)?.into_loaded(),
        Format::Dat(kind) => siconos_dat(bytes, kind),
    }
}

#[cfg(feature = "files")]
fn siconos_dat(bytes: &[u8], format: Option<DatFormat>) -> Result<Loaded, FileError> {
    // Trailing remarks may be in any encoding; the numbers are ASCII.
    match siconos::parse(&String::from_utf8_lossy(bytes), format)? {
        DatFile::Friction(file) => file.into_loaded(),
        DatFile::Lcp { m, q } => {
            let blocks = vec![(1, Law::Unilateral); q.len()];
            matrix_problem("lcp", &m.entries, q, &blocks)
        }
        DatFile::Mlcp { blocks, m, q } => {
            let rows = blocks.iter().flat_map(|block| {
                let law = match block.law {
                    MlcpLaw::Equality => Law::Equality,
                    MlcpLaw::Complementarity => Law::Unilateral,
                };
                block.rows.clone().map(move |_| (1, law))
            });
            matrix_problem("mlcp", &m.entries, q, &rows.collect::<Vec<_>>())
        }
        DatFile::Relay { m, q, bounds } => {
            let law = |&(lo, hi): &(f64, f64)| (1, Law::Interval { lo, hi });
            matrix_problem(
                "relay",
                &m.entries,
                q,
                &bounds.iter().map(law).collect::<Vec<_>>(),
            )
        }
        DatFile::Generic { blocks, m, q } => {
            let law = |block: &GenericBlock| match block.law {
                GenericLaw::Equality => (block.rows.len(), Law::Equality),
                GenericLaw::Complementarity => (block.rows.len(), Law::Unilateral),
                GenericLaw::Friction(mu) => (3, Law::FrictionCone { mu }),
            };
            let blocks: Vec<(usize, Law)> = blocks.iter().map(law).collect();
            matrix_problem("generic", &m.entries, q, &blocks)
        }
    }
}

/// w = Mz + q as a problem in dual form, with a law for each block of so many rows.
fn matrix_problem(
    kind: &'static str,
    entries: &[(usize, usize, f64)],
    q: Vec<f64>,
    blocks: &[(usize, Law)],
) -> Result<Loaded, FileError> {
    let fail = |error: crate::BuildError| FileError::invalid("M", error.to_string());
    let (sizes, laws): (Vec<usize>, Vec<Law>) = blocks.iter().copied().unzip();
    let matrix = BlockMatrix::from_entries(&sizes, entries).map_err(fail)?;
    let problem = Problem::dual(matrix, q, &laws).map_err(fail)?;
    Ok(Loaded::problem(kind, String::new(), problem))
}

impl Loaded {
    /// A constraint problem whose velocities stand in the file's order.
    fn problem(kind: &'static str, title: String, problem: Problem) -> Loaded {
        Loaded {
            kind,
            title,
            guess: None,
            content: FileContent::Problem {
                problem: Box::new(problem),
                velocity_order: None,
            },
        }
    }
}
