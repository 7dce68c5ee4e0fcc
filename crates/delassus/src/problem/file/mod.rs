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
#[cfg(feature = "files")]
mod friction;
pub mod json;
#[cfg(feature = "files")]
pub mod siconos;

pub use error::{FileError, Place, Unfit};
#[cfg(feature = "files")]
pub use friction::{FrictionFile, FrictionForm, Triplets};
#[cfg(feature = "files")]
use siconos::{DatFile, DatFormat, MlcpLaw};

use crate::law::Law;
use crate::problem::Problem;
use crate::problem::delassus::BlockMatrix;

/// How a file's bytes are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Own JSON, all kinds.
    Json,
    /// FCLIB HDF5, local or global.
    Fclib,
    /// Siconos text whose kind is told from its shape.
    Dat,
    /// Siconos: linear complementarity.
    Lcp,
    /// Siconos: mixed linear complementarity.
    Mlcp,
    /// Siconos: friction in the plane, local form.
    Fc2d,
    /// Siconos: friction in space, local form.
    Fc3d,
    /// Siconos: friction in the plane, global form.
    Gfc2d,
    /// Siconos: friction in space, global form.
    Gfc3d,
}

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
    pub work: Work,
}

/// What a file asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A constraint problem.
    Problem {
        /// The problem.
        problem: Box<Problem>,
        /// Where velocity i of the problem stands in the file, if the order differs.
        velocity_order: Option<Vec<usize>>,
    },
    /// Constrained dynamics of a kinematic tree, kept as such beside the problem it is.
    Tree(Box<TreeWork>),
    /// Coefficients of SPOOK rows: nothing to iterate, only to compute.
    Stabilisation(Vec<SpookRow>),
}

/// A `tree` file: [M Jᵀ; J −Σ][x₁; x₂] = [y₁; y₂].
#[derive(Clone, Debug, PartialEq)]
pub struct TreeWork {
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

impl Format {
    /// All formats, with the names used on the command line.
    pub const NAMES: [(&'static str, Format); 9] = [
        ("json", Format::Json),
        ("fclib", Format::Fclib),
        ("dat", Format::Dat),
        ("lcp", Format::Lcp),
        ("mlcp", Format::Mlcp),
        ("fc2d", Format::Fc2d),
        ("fc3d", Format::Fc3d),
        ("gfc2d", Format::Gfc2d),
        ("gfc3d", Format::Gfc3d),
    ];

    /// Tells the format from a file's name: `.dat`, `.hdf5`/`.h5`, anything else is JSON.
    pub fn of_name(name: &str) -> Format {
        match name.rsplit('.').next() {
            Some("dat") => Format::Dat,
            Some("hdf5" | "h5") => Format::Fclib,
            _ => Format::Json,
        }
    }
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
        Format::Dat => siconos_dat(bytes, None),
        Format::Lcp => siconos_dat(bytes, Some(DatFormat::Lcp)),
        Format::Mlcp => siconos_dat(bytes, Some(DatFormat::Mlcp)),
        Format::Fc2d => siconos_dat(bytes, Some(DatFormat::Fc2d)),
        Format::Fc3d => siconos_dat(bytes, Some(DatFormat::Fc3d)),
        Format::Gfc2d => siconos_dat(bytes, Some(DatFormat::Gfc2d)),
        Format::Gfc3d => siconos_dat(bytes, Some(DatFormat::Gfc3d)),
    }
}

#[cfg(feature = "files")]
fn siconos_dat(bytes: &[u8], format: Option<DatFormat>) -> Result<Loaded, FileError> {
    // Trailing remarks may be in any encoding; the numbers are ASCII.
    match siconos::parse(&String::from_utf8_lossy(bytes), format)? {
        DatFile::Friction(file) => file.into_loaded(),
        DatFile::Lcp { m, q } => {
            let problem = complementarity(&m.entries, q, |_| false)?;
            Ok(Loaded::problem("lcp", String::new(), problem))
        }
        DatFile::Mlcp { blocks, m, q } => {
            let is_free = |i: usize| {
                let mut blocks = blocks.iter();
                blocks.any(|b| b.law == MlcpLaw::Equality && b.rows.contains(&i))
            };
            let problem = complementarity(&m.entries, q, is_free)?;
            Ok(Loaded::problem("mlcp", String::new(), problem))
        }
    }
}

/// w = Mz + q with 0 ≤ z ⟂ w ≥ 0, or w = 0 in free rows, as a problem in dual form with one block for each row.
fn complementarity(
    entries: &[(usize, usize, f64)],
    q: Vec<f64>,
    is_free: impl Fn(usize) -> bool,
) -> Result<Problem, FileError> {
    let fail = |error: crate::BuildError| FileError::invalid("M", error.to_string());
    let laws: Vec<Law> = (0..q.len())
        .map(|i| match is_free(i) {
            true => Law::Equality,
            false => Law::Unilateral,
        })
        .collect();
    let matrix = BlockMatrix::from_entries(&vec![1; q.len()], entries).map_err(fail)?;
    Problem::dual(matrix, q, &laws).map_err(fail)
}

impl Loaded {
    /// A constraint problem whose velocities stand in the file's order.
    fn problem(kind: &'static str, title: String, problem: Problem) -> Loaded {
        Loaded {
            kind,
            title,
            guess: None,
            work: Work::Problem {
                problem: Box::new(problem),
                velocity_order: None,
            },
        }
    }
}
