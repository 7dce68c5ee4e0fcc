//! Mixed linear complementarity problems: equalities and complementarity in blocks of rows.

use std::ops::Range;

use super::super::error::FileError;
use super::super::friction::Triplets;
use super::DatFile;
use super::tokens::Tokens;

/// Consecutive rows of a mixed problem under one law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MlcpBlock {
    /// The rows.
    pub rows: Range<usize>,
    /// Their law.
    pub law: MlcpLaw,
}

/// The law of a block of a mixed problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MlcpLaw {
    /// w = 0, z free.
    Equality,
    /// 0 ≤ z ⟂ w ≥ 0.
    Complementarity,
}

pub(super) fn read(tokens: &mut Tokens<'_>) -> Result<DatFile, FileError> {
    let states_m = flag(tokens, "the flag of M (0 or 1)")?;
    let token = tokens.clone().next();
    let states_parts = flag(tokens, "the flag of A, B, C, D (0 or 1)")?;
    let (n, _) = tokens.size("the number of equalities n")?;
    let (m, place) = tokens.size("the number of complementarities m")?;
    tokens.make_room(n as u128 + m as u128, "the mixed problem", place)?;

    let whole = if states_m {
        Some(whole(tokens, n, m)?)
    } else {
        None
    };
    let place = tokens.place();
    let parts = if states_parts {
        Some(parts(tokens, n, m)?)
    } else {
        None
    };
    match (whole, parts) {
        (Some((blocks, matrix, q)), Some((parts_matrix, parts_q))) => {
            // The parts put the equalities first; under another order of blocks M alone tells which
            // row is which.
            if blocks == equalities_first(n, m) && (matrix != parts_matrix || q != parts_q) {
                return Err(FileError::Mismatch {
                    place,
                    what: "the problem stated by A, B, C, D, a, b".into(),
                    found: "another".into(),
                    expected: "the one stated by M and q".into(),
                });
            }
            Ok(DatFile::Mlcp {
                blocks,
                m: matrix,
                q,
            })
        }
        (Some((blocks, matrix, q)), None) => Ok(DatFile::Mlcp {
            blocks,
            m: matrix,
            q,
        }),
        (None, Some((matrix, q))) => Ok(DatFile::Mlcp {
            blocks: equalities_first(n, m),
            m: matrix,
            q,
        }),
        (None, None) => match token {
            Some(token) => Err(token.unexpected("1, for want of a matrix above,")),
            None => Err(FileError::Ended {
                place,
                expected: "a matrix".into(),
            }),
        },
    }
}

fn flag(tokens: &mut Tokens<'_>, expected: &str) -> Result<bool, FileError> {
    let token = tokens.take(expected)?;
    match token.text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(token.unexpected(expected)),
    }
}

fn equalities_first(n: usize, m: usize) -> Vec<MlcpBlock> {
    let equalities = MlcpBlock {
        rows: 0..n,
        law: MlcpLaw::Equality,
    };
    let complementarities = MlcpBlock {
        rows: n..n + m,
        law: MlcpLaw::Complementarity,
    };
    [equalities, complementarities]
        .into_iter()
        .filter(|block| !block.rows.is_empty())
        .collect()
}

/// Block ends and kinds, M and q.
fn whole(
    tokens: &mut Tokens<'_>,
    n: usize,
    m: usize,
) -> Result<(Vec<MlcpBlock>, Triplets, Vec<f64>), FileError> {
    let place = tokens.place();
    let blocks = blocks(tokens, n + m)?;
    let n_equalities: usize = blocks
        .iter()
        .filter(|block| block.law == MlcpLaw::Equality)
        .map(|block| block.rows.len())
        .sum();
    super::agree(
        &place,
        "the number of rows in equality blocks",
        n_equalities,
        n,
    )?;
    let matrix = super::square(tokens, "M", n + m)?;
    let q = tokens.numbers(n + m, "a value of q")?;
    Ok((blocks, matrix, q))
}

fn blocks(tokens: &mut Tokens<'_>, n_rows: usize) -> Result<Vec<MlcpBlock>, FileError> {
    let what = "the first row of a block";
    tokens.known(what, 0)?;
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < n_rows {
        let (end, place) = tokens.size(what)?;
        if end <= start || n_rows < end {
            return Err(FileError::OutOfRange {
                place,
                what: what.into(),
                found: end.to_string(),
                expected: format!("above {start} and at most {n_rows}"),
            });
        }
        ranges.push(start..end);
        start = end;
    }
    let mut blocks = Vec::with_capacity(ranges.len());
    for rows in ranges {
        let is_complementarity = flag(
            tokens,
            "the kind of a block (0 equality, 1 complementarity)",
        )?;
        let law = if is_complementarity {
            MlcpLaw::Complementarity
        } else {
            MlcpLaw::Equality
        };
        blocks.push(MlcpBlock { rows, law });
    }
    Ok(blocks)
}

/// A, B, C, D row by row, unlike every other matrix of these files, then a and b.
fn parts(tokens: &mut Tokens<'_>, n: usize, m: usize) -> Result<(Triplets, Vec<f64>), FileError> {
    let mut entries = Vec::new();
    let (top, bottom) = (0..n, n..n + m);
    for (name, rows, cols) in [
        ("A", &top, &top),
        ("B", &bottom, &bottom),
        ("C", &top, &bottom),
        ("D", &bottom, &top),
    ] {
        let what = format!("a value of {name}");
        tokens.make_room(
            rows.len() as u128 * cols.len() as u128,
            name,
            tokens.place(),
        )?;
        for row in rows.clone() {
            for col in cols.clone() {
                let value = tokens.number(&what)?;
                if value != 0.0 {
                    entries.push((row, col, value));
                }
            }
        }
    }
    let mut q = tokens.numbers(n, "a value of a")?;
    q.extend(tokens.numbers(m, "a value of b")?);
    Ok((Triplets::new("M", n + m, n + m, entries)?, q))
}
