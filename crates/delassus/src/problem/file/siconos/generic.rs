//! Generic mechanical problems: a matrix in sparse blocks, and a law for each of its block rows.

use std::ops::Range;

use super::super::error::FileError;
use super::DatFile;
use super::tokens::Tokens;
use super::{agree, coefficient, matrix};

/// Consecutive rows of a generic problem under one law.
#[derive(Clone, Debug, PartialEq)]
pub struct GenericBlock {
    /// The rows.
    pub rows: Range<usize>,
    /// Their law.
    pub law: GenericLaw,
}

/// The law of a block row of a generic problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GenericLaw {
    /// w = 0, z free.
    Equality,
    /// 0 ≤ z ⟂ w ≥ 0.
    Complementarity,
    /// A contact in space with this coefficient of friction, normal first.
    Friction(f64),
}

pub(super) fn read(tokens: &mut Tokens<'_>) -> Result<DatFile, FileError> {
    let place = tokens.place();
    let ends = matrix::block_row_ends(tokens, "M")?;
    let m = matrix::read(tokens, "M")?;
    let n = m.n_rows;
    agree(&place, "the number of columns of M", m.n_cols, n)?;
    let q = tokens.numbers(n, "a value of q")?;
    let mut blocks = Vec::with_capacity(ends.len());
    let mut start = 0;
    for end in ends {
        let law = law(tokens, end - start)?;
        let rows = start..end;
        blocks.push(GenericBlock { rows, law });
        start = end;
    }
    match tokens.next() {
        Some(token) => Err(token.unexpected("the end of the file")),
        None => Ok(DatFile::Generic { blocks, m, q }),
    }
}

/// The law of a block of so many rows, by the number that Siconos gives to kinds of problems.
fn law(tokens: &mut Tokens<'_>, n_rows: usize) -> Result<GenericLaw, FileError> {
    let token = tokens.take("the law of a block row")?;
    let unsupported = |kind| FileError::Unsupported {
        place: token.place(),
        kind,
        remedy: "these files state no coefficient of friction and no bounds for it: give the problem as a friction, relay or MLCP file",
    };
    match token.text {
        "0" => Ok(GenericLaw::Complementarity),
        "2" => Ok(GenericLaw::Equality),
        "4" => {
            let what = "the number of rows of a contact in space";
            agree(&token.place(), what, n_rows, 3)?;
            coefficient(tokens, "a coefficient of friction").map(GenericLaw::Friction)
        }
        "3" => Err(unsupported("a planar contact (3) in a generic problem")),
        "9" => Err(unsupported("a relay (9) in a generic problem")),
        _ => Err(token.unexpected(
            "the law of a block row, 0 (complementarity), 2 (equality) or 4 (contact in space),",
        )),
    }
}
