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
pub mod limit;
#[cfg(feature = "files")]
pub mod siconos;

pub use error::{FileError, Place, Unfit};
#[cfg(feature = "files")]
pub use friction::{FrictionFile, FrictionForm, Triplets};
#[cfg(feature = "files")]
use siconos::{DatFile, DatFormat, GenericBlock, GenericLaw, MlcpLaw};

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
    /// Siconos: rolling friction in the plane, local form.
    Rfc2d,
    /// Siconos: rolling friction in space, local form.
    Rfc3d,
    /// Siconos: rolling friction in the plane, global form.
    Grfc2d,
    /// Siconos: rolling friction in space, global form.
    Grfc3d,
    /// Siconos: variables between bounds.
    Relay,
    /// Siconos: a matrix with a law for each block row.
    Gmp,
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
    pub const NAMES: [(&'static str, Format); 15] = [
        ("json", Format::Json),
        ("fclib", Format::Fclib),
        ("dat", Format::Dat),
        ("lcp", Format::Lcp),
        ("mlcp", Format::Mlcp),
        ("fc2d", Format::Fc2d),
        ("fc3d", Format::Fc3d),
        ("gfc2d", Format::Gfc2d),
        ("gfc3d", Format::Gfc3d),
        ("rfc2d", Format::Rfc2d),
        ("rfc3d", Format::Rfc3d),
        ("grfc2d", Format::Grfc2d),
        ("grfc3d", Format::Grfc3d),
        ("relay", Format::Relay),
        ("gmp", Format::Gmp),
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
        Format::Rfc2d => siconos_dat(bytes, Some(DatFormat::Rfc2d)),
        Format::Rfc3d => siconos_dat(bytes, Some(DatFormat::Rfc3d)),
        Format::Grfc2d => siconos_dat(bytes, Some(DatFormat::Grfc2d)),
        Format::Grfc3d => siconos_dat(bytes, Some(DatFormat::Grfc3d)),
        Format::Relay => siconos_dat(bytes, Some(DatFormat::Relay)),
        Format::Gmp => siconos_dat(bytes, Some(DatFormat::Gmp)),
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
            work: Work::Problem {
                problem: Box::new(problem),
                velocity_order: None,
            },
        }
    }
}
