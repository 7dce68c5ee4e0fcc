//! Siconos `.dat` files: one problem written as white-space separated numbers.
//!
//! | kind | layout |
//! |---|---|
//! | LCP | n, M, q; a remark in words may follow |
//! | MLCP | two flags, n, m, block ends and kinds, M, q, then A, B, C, D, a, b: see [`DatFile::Mlcp`] |
//! | friction | dimension, contacts, W, q, mu; a flag may follow |
//! | global friction | dimension, contacts, M, H, f, w, mu; a flag may follow |
//! | rolling friction | the same two with dimension 5 (3 in the plane) and mu_r after mu |
//! | relay | n, M, q, lb, ub |
//! | generic mechanical | M in sparse blocks, q, then a law for each block row: see [`DatFile::Generic`] |
//!
//! where a matrix is a `NumericsMatrix`: storage (0 dense, 1 sparse block, 2 sparse), rows, columns,
//! values. Dense values and blocks are **column-major**. No file says what it holds: without a
//! [`DatFormat`] every kind whose first numbers fit is tried on the whole text. A global problem
//! with as many degrees of freedom as contact rows starts like a local one, and only what follows
//! the first matrix tells them apart.

mod generic;
mod matrix;
mod mlcp;
mod tokens;

pub use super::DatFormat;
use super::error::{FileError, Place};
use super::friction::{FrictionFile, FrictionForm, Triplets};
pub use generic::{GenericBlock, GenericLaw};
pub use mlcp::{MlcpBlock, MlcpLaw};
use tokens::{Token, Tokens};

/// The content of a `.dat` file.
#[derive(Clone, Debug, PartialEq)]
pub enum DatFile {
    /// A frictional-contact problem.
    Friction(FrictionFile),
    /// w = M z + q, 0 ≤ z ⟂ w ≥ 0.
    Lcp {
        /// The matrix, square.
        m: Triplets,
        /// The vector.
        q: Vec<f64>,
    },
    /// w = M z + q, where every block of rows is w = 0 or 0 ≤ z ⟂ w ≥ 0.
    ///
    /// Files state the matrix as M, as its four parts, or both: M = [A C; D B], q = [a; b], with
    /// the n equalities first. Stated twice, the two must agree. Numbers after the problem are an
    /// answer of unstated layout, useless in some files, and are left unread.
    Mlcp {
        /// Consecutive blocks of rows.
        blocks: Vec<MlcpBlock>,
        /// The matrix, square.
        m: Triplets,
        /// The vector.
        q: Vec<f64>,
    },
    /// w = M z + q, lb ≤ z ≤ ub: w = 0 inside, w ≥ 0 at lb, w ≤ 0 at ub.
    Relay {
        /// The matrix, square.
        m: Triplets,
        /// The vector.
        q: Vec<f64>,
        /// Bounds of every variable, lower and upper.
        bounds: Vec<(f64, f64)>,
    },
    /// w = M z + q with a law for each block row: equalities, complementarity, or one contact.
    ///
    /// After q each block row has a number: 0 complementarity, 2 equality, 4 a contact in space, whose coefficient of
    /// friction follows.
    Generic {
        /// Consecutive blocks of rows.
        blocks: Vec<GenericBlock>,
        /// The matrix, square.
        m: Triplets,
        /// The vector.
        q: Vec<f64>,
    },
}

/// Reads a `.dat` file; without `format`, the kind is told from the numbers.
pub fn parse(text: &str, format: Option<DatFormat>) -> Result<DatFile, FileError> {
    let result = match format {
        Some(format) => read_as(&mut Tokens::new(text), format),
        None => detect(text),
    };
    // A file that could be read is never refused for what else it resembles.
    result.map_err(|error| refused_by_name(text).unwrap_or(error))
}

fn read_as(tokens: &mut Tokens<'_>, format: DatFormat) -> Result<DatFile, FileError> {
    match format {
        DatFormat::Lcp => lcp(tokens),
        DatFormat::Mlcp => mlcp::read(tokens),
        DatFormat::Fc2d => local(tokens, 2, Rolls::No),
        DatFormat::Fc3d => local(tokens, 3, Rolls::No),
        DatFormat::Gfc2d => global(tokens, 2, Rolls::No),
        DatFormat::Gfc3d => global(tokens, 3, Rolls::No),
        DatFormat::Rfc2d => local(tokens, 3, Rolls::Yes),
        DatFormat::Rfc3d => local(tokens, 5, Rolls::Yes),
        DatFormat::Grfc2d => global(tokens, 3, Rolls::Yes),
        DatFormat::Grfc3d => global(tokens, 5, Rolls::Yes),
        DatFormat::Relay => relay(tokens),
        DatFormat::Gmp => generic::read(tokens),
    }
}

fn lcp(tokens: &mut Tokens<'_>) -> Result<DatFile, FileError> {
    let (n, _) = tokens.size("the number of unknowns n")?;
    let m = square(tokens, "M", n)?;
    let q = tokens.numbers(n, "a value of q")?;
    match excess(tokens) {
        Some(token) => Err(token.unexpected("the end of the file or a remark")),
        None => Ok(DatFile::Lcp { m, q }),
    }
}

fn relay(tokens: &mut Tokens<'_>) -> Result<DatFile, FileError> {
    let (n, _) = tokens.size("the number of unknowns n")?;
    let m = square(tokens, "M", n)?;
    let q = tokens.numbers(n, "a value of q")?;
    // Nothing but their number tells bounds from what may stand behind an LCP.
    let mut ahead = tokens.clone();
    let follow = std::iter::from_fn(|| ahead.next());
    let follow = follow.take_while(|token| token.text.parse::<f64>().is_ok());
    let (place, bounds) = (tokens.place(), n.saturating_mul(2));
    agree(&place, "the number of bounds", follow.count(), bounds)?;
    let lower = tokens.numbers(n, "a lower bound")?;
    let mut bounds = Vec::with_capacity(n);
    for lo in lower {
        let place = tokens.place();
        let hi = tokens.number("an upper bound")?;
        if hi < lo {
            return Err(FileError::OutOfRange {
                place,
                what: "an upper bound".into(),
                found: hi.to_string(),
                expected: format!("at least the lower one, {lo}"),
            });
        }
        bounds.push((lo, hi));
    }
    match excess(tokens) {
        Some(token) => Err(token.unexpected("the end of the file or a remark")),
        None => Ok(DatFile::Relay { m, q, bounds }),
    }
}

/// The first of the numbers that follow a problem, where no remark in words explains them or where
/// they continue its last line: a sign that a size is wrong.
fn excess<'a>(tokens: &Tokens<'a>) -> Option<Token<'a>> {
    let is_number = |token: &Token<'_>| token.text.parse::<f64>().is_ok();
    let mut ahead = tokens.clone();
    let first = ahead.next().filter(is_number)?;
    let continues = first.line() == tokens.line();
    let unexplained =
        continues || std::iter::from_fn(|| ahead.next()).all(|token| is_number(&token));
    unexplained.then_some(first)
}

/// Whether coefficients of rolling friction follow those of friction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rolls {
    No,
    Yes,
}

fn local(tokens: &mut Tokens<'_>, dimension: usize, rolls: Rolls) -> Result<DatFile, FileError> {
    let (n_contacts, n_rows) = contacts(tokens, dimension)?;
    let w = square(tokens, "W", n_rows)?;
    let q = tokens.numbers(n_rows, "a value of q")?;
    let (mu, rolling) = friction_coefficients(tokens, n_contacts, rolls)?;
    let form = FrictionForm::Local { w, q };
    FrictionFile::new(String::new(), dimension, form, mu, rolling).map(DatFile::Friction)
}

fn global(tokens: &mut Tokens<'_>, dimension: usize, rolls: Rolls) -> Result<DatFile, FileError> {
    let (n_contacts, n_rows) = contacts(tokens, dimension)?;
    let place = tokens.place();
    let m = matrix::read(tokens, "M")?;
    let n_dof = m.n_rows;
    agree(&place, "the number of columns of M", m.n_cols, n_dof)?;
    let place = tokens.place();
    let h = matrix::read(tokens, "H")?;
    agree(&place, "the number of rows of H", h.n_rows, n_dof)?;
    agree(&place, "the number of columns of H", h.n_cols, n_rows)?;
    let f = tokens.numbers(n_dof, "a value of f")?;
    let w = tokens.numbers(n_rows, "a value of w")?;
    let (mu, rolling) = friction_coefficients(tokens, n_contacts, rolls)?;
    let form = FrictionForm::Global {
        m,
        h,
        f,
        w,
        equalities: None,
    };
    FrictionFile::new(String::new(), dimension, form, mu, rolling).map(DatFile::Friction)
}

/// Checks the dimension; gives the number of contacts and of their rows.
fn contacts(tokens: &mut Tokens<'_>, dimension: usize) -> Result<(usize, usize), FileError> {
    tokens.known("the dimension", dimension)?;
    let (n_contacts, place) = tokens.size("the number of contacts")?;
    tokens.make_room(
        dimension as u128 * n_contacts as u128,
        "the contacts",
        place,
    )?;
    Ok((n_contacts, dimension * n_contacts))
}

/// A matrix that must be `n` square.
fn square(tokens: &mut Tokens<'_>, name: &str, n: usize) -> Result<Triplets, FileError> {
    let place = tokens.place();
    let matrix = matrix::read(tokens, name)?;
    agree(
        &place,
        &format!("the number of rows of {name}"),
        matrix.n_rows,
        n,
    )?;
    agree(
        &place,
        &format!("the number of columns of {name}"),
        matrix.n_cols,
        n,
    )?;
    Ok(matrix)
}

fn agree(place: &Place, what: &str, found: usize, expected: usize) -> Result<(), FileError> {
    if found == expected {
        return Ok(());
    }
    let (found, expected) = (found.to_string(), expected.to_string());
    Err(FileError::Mismatch {
        place: place.clone(),
        what: what.into(),
        found,
        expected,
    })
}

/// The coefficients, then the end: Siconos writes a flag after them, which says nothing about the
/// problem.
fn friction_coefficients(
    tokens: &mut Tokens<'_>,
    count: usize,
    rolls: Rolls,
) -> Result<(Vec<f64>, Option<Vec<f64>>), FileError> {
    let mu = coefficients(tokens, count, "a coefficient of friction")?;
    let rolling = match rolls {
        Rolls::Yes => Some(coefficients(
            tokens,
            count,
            "a coefficient of rolling friction",
        )?),
        Rolls::No => None,
    };
    if let Some(flag) = tokens.next()
        && flag.text.parse::<i32>().is_err()
    {
        return Err(flag.unexpected("the end of the file or a whole number"));
    }
    match tokens.next() {
        Some(token) => Err(token.unexpected("the end of the file")),
        None => Ok((mu, rolling)),
    }
}

/// One number for each contact, none negative.
fn coefficients(tokens: &mut Tokens<'_>, count: usize, what: &str) -> Result<Vec<f64>, FileError> {
    tokens.make_room(count as u128, what, tokens.place())?;
    (0..count).map(|_| coefficient(tokens, what)).collect()
}

fn coefficient(tokens: &mut Tokens<'_>, what: &str) -> Result<f64, FileError> {
    let place = tokens.place();
    let value = tokens.number(what)?;
    match value < 0.0 {
        true => Err(FileError::OutOfRange {
            place,
            what: what.into(),
            found: value.to_string(),
            expected: "zero or more".into(),
        }),
        false => Ok(value),
    }
}

/// Tries every kind whose first numbers fit on the whole text.
fn detect(text: &str) -> Result<DatFile, FileError> {
    let start = Place::Text { line: 1, column: 1 };
    let candidates = fitting(&Header::new(text));
    let mut found: Option<(DatFormat, DatFile)> = None;
    let mut furthest: Option<(usize, FileError)> = None;
    for format in candidates {
        let mut tokens = Tokens::new(text);
        match (read_as(&mut tokens, format), &found) {
            (Ok(file), None) => found = Some((format, file)),
            (Ok(_), Some((other, _))) => {
                let reason = format!("it reads as {} and as {}", other.name(), format.name());
                return Err(FileError::UnknownKind {
                    place: start,
                    reason,
                });
            }
            // The reading that came furthest understood most, and its complaint helps most.
            (Err(error), _) => {
                let left = tokens.remaining();
                if furthest.as_ref().is_none_or(|(least, _)| left < *least) {
                    furthest = Some((left, error));
                }
            }
        }
    }
    match (found, furthest) {
        (Some((_, file)), _) => Ok(file),
        (None, Some((_, error))) => Err(error),
        (None, None) => {
            let reason = "its first numbers fit no kind of problem".into();
            Err(FileError::UnknownKind {
                place: start,
                reason,
            })
        }
    }
}

/// The first numbers of a file, as far as they are whole.
struct Header([Option<u64>; 6]);

impl Header {
    fn new(text: &str) -> Self {
        let mut tokens = Tokens::new(text);
        Self(std::array::from_fn(|_| {
            tokens.next().and_then(|token| token.text.parse().ok())
        }))
    }

    fn is_storage(&self, k: usize) -> bool {
        matches!(self.0[k], Some(0..=2))
    }

    fn same(&self, a: usize, b: usize) -> bool {
        self.0[a].is_some() && self.0[a] == self.0[b]
    }
}

fn fitting(header: &Header) -> Vec<DatFormat> {
    let [first, second, third, ..] = header.0;
    let mut formats = Vec::new();
    if header.is_storage(1) && header.same(0, 2) && header.same(2, 3) {
        formats.extend([DatFormat::Lcp, DatFormat::Relay]);
    }
    // With M present the ends of blocks follow, and they start at zero.
    let states_m = first == Some(1) && matches!(second, Some(0 | 1)) && header.0[4] == Some(0);
    let states_parts = first == Some(0) && second == Some(1);
    if (states_m || states_parts) && third.is_some() && header.0[3].is_some() {
        formats.push(DatFormat::Mlcp);
    }
    if header.is_storage(2) && header.same(3, 4) {
        match first {
            Some(2) => formats.extend([DatFormat::Fc2d, DatFormat::Gfc2d]),
            Some(3) => formats.extend([DatFormat::Fc3d, DatFormat::Gfc3d]),
            Some(5) => formats.extend([DatFormat::Rfc3d, DatFormat::Grfc3d]),
            _ => {}
        }
    }
    // A bare matrix in sparse blocks: rows and columns, blocks, block rows and block columns.
    let blocks = header.same(1, 2) && header.same(4, 5) && header.0[4] != Some(0);
    if first == Some(1) && blocks {
        formats.push(DatFormat::Gmp);
    }
    formats
}

/// Files that Siconos ships beside these and that are no problem of a kind known here.
fn refused_by_name(text: &str) -> Option<FileError> {
    let place = Place::Text { line: 1, column: 1 };
    is_samples(text).then_some(FileError::Unsupported {
        place,
        kind: "a table of Alart-Curnier function samples (ACinputs)",
        remedy: "it is test input for a function and holds no problem to solve",
    })
}

/// A count, then ten numbers per sample, of which the first is not a whole number.
fn is_samples(text: &str) -> bool {
    let mut tokens = Tokens::new(text);
    let count = tokens
        .next()
        .and_then(|token| token.text.parse::<usize>().ok());
    let Some(count) = count.and_then(|count| count.checked_mul(10)) else {
        return false;
    };
    let sampled = tokens
        .clone()
        .next()
        .is_some_and(|token| token.text.contains('.'));
    sampled && std::iter::from_fn(|| tokens.next()).count() == count
}

#[cfg(test)]
mod tests;
