//! A Siconos `NumericsMatrix` as text: storage, rows, columns, then by storage
//!
//! - `0` dense: rows and columns again, then the values. They are **column-major**, although the
//!   line breaks come after every `columns` values and make the text look row-major.
//! - `1` sparse block: number of blocks, of block rows and of block columns; where each block row
//!   ends, where each block column ends; lengths of the two index arrays; the first block of every
//!   block row; the block column of every block; then each block as its number and its values,
//!   column-major again.
//! - `2` sparse: how the matrix was made (1 triplets, 2 compressed columns), then what CSparse
//!   prints of it. That print keeps six digits of values *and of indices*: an index of a million or
//!   more comes out as `1e+06` and is refused, because the true one is lost.
//!
//! Zeros of dense matrices and of blocks are filling and are dropped; zeros that a sparse file
//! stores on purpose are kept.

use super::super::error::FileError;
use super::super::friction::Triplets;
use super::tokens::Tokens;

type Entries = Vec<(usize, usize, f64)>;

/// Reads the matrix that messages call `name`.
pub(super) fn read(tokens: &mut Tokens<'_>, name: &str) -> Result<Triplets, FileError> {
    let token = tokens.take(&format!("the storage of {name}"))?;
    let (n_rows, _) = tokens.size(&format!("the number of rows of {name}"))?;
    let (n_cols, _) = tokens.size(&format!("the number of columns of {name}"))?;
    let entries = match token.text {
        "0" => dense(tokens, name, n_rows, n_cols)?,
        "1" => sparse_block(tokens, name, n_rows, n_cols)?,
        "2" => sparse(tokens, name, n_rows, n_cols)?,
        _ => {
            let storages = "0 (dense), 1 (sparse block) or 2 (sparse)";
            return Err(token.unexpected(format!("the storage of {name}, {storages},")));
        }
    };
    Triplets::new(name, n_rows, n_cols, entries)
}

fn dense(
    tokens: &mut Tokens<'_>,
    name: &str,
    n_rows: usize,
    n_cols: usize,
) -> Result<Entries, FileError> {
    tokens.known(&format!("the number of rows of {name}"), n_rows)?;
    tokens.known(&format!("the number of columns of {name}"), n_cols)?;
    let mut entries = Vec::new();
    column_major(tokens, name, 0..n_rows, 0..n_cols, &mut entries)?;
    Ok(entries)
}

fn column_major(
    tokens: &mut Tokens<'_>,
    name: &str,
    rows: std::ops::Range<usize>,
    cols: std::ops::Range<usize>,
    entries: &mut Entries,
) -> Result<(), FileError> {
    let count = rows.len() as u128 * cols.len() as u128;
    tokens.make_room(count, name, tokens.place())?;
    if rows.is_empty() {
        // Without this a matrix of no rows and a huge number of columns would loop for ever.
        return Ok(());
    }
    let what = format!("a value of {name}");
    for col in cols {
        for row in rows.clone() {
            let value = tokens.number(&what)?;
            if value != 0.0 {
                entries.push((row, col, value));
            }
        }
    }
    Ok(())
}

fn sparse_block(
    tokens: &mut Tokens<'_>,
    name: &str,
    n_rows: usize,
    n_cols: usize,
) -> Result<Entries, FileError> {
    let (n_blocks, place) = tokens.size(&format!("the number of blocks of {name}"))?;
    // Every block takes its number, its block column and at least one value.
    tokens.make_room(
        3 * n_blocks as u128,
        &format!("the blocks of {name}"),
        place,
    )?;
    let (n_block_rows, _) = tokens.size(&format!("the number of block rows of {name}"))?;
    let (n_block_cols, _) = tokens.size(&format!("the number of block columns of {name}"))?;
    let row_ends = ends(
        tokens,
        &format!("the end of a block row of {name}"),
        n_block_rows,
        n_rows,
    )?;
    let col_ends = ends(
        tokens,
        &format!("the end of a block column of {name}"),
        n_block_cols,
        n_cols,
    )?;

    let what = format!("the number of block rows of {name} and one,");
    // Trailing block rows without blocks have no pointer in some files.
    let n_pointers = tokens.index(&what, n_block_rows.saturating_add(2))?;
    tokens.known(&format!("the number of blocks of {name}"), n_blocks)?;
    let row_of = block_rows(tokens, name, n_pointers, n_blocks)?;
    let what = format!("the block column of a block of {name}");
    let col_of = (0..n_blocks)
        .map(|_| tokens.index(&what, n_block_cols))
        .collect::<Result<Vec<_>, _>>()?;

    let mut entries = Vec::new();
    for block in 0..n_blocks {
        tokens.known(&format!("the number of a block of {name}"), block)?;
        let rows = start(&row_ends, row_of[block])..row_ends[row_of[block]];
        let cols = start(&col_ends, col_of[block])..col_ends[col_of[block]];
        column_major(tokens, name, rows, cols, &mut entries)?;
    }
    Ok(entries)
}

/// Where the block rows of the matrix that comes next end; nothing is read. The matrix must be in sparse blocks.
pub(super) fn block_row_ends(tokens: &Tokens<'_>, name: &str) -> Result<Vec<usize>, FileError> {
    let mut ahead = tokens.clone();
    let tokens = &mut ahead;
    tokens.known(&format!("the storage of {name}, sparse blocks"), 1)?;
    let (n_rows, _) = tokens.size(&format!("the number of rows of {name}"))?;
    tokens.size(&format!("the number of columns of {name}"))?;
    tokens.size(&format!("the number of blocks of {name}"))?;
    let (n_block_rows, _) = tokens.size(&format!("the number of block rows of {name}"))?;
    tokens.size(&format!("the number of block columns of {name}"))?;
    let what = format!("the end of a block row of {name}");
    ends(tokens, &what, n_block_rows, n_rows)
}

fn start(ends: &[usize], k: usize) -> usize {
    if k == 0 { 0 } else { ends[k - 1] }
}

/// Ends of consecutive non-empty blocks, the last of which is `total`.
fn ends(
    tokens: &mut Tokens<'_>,
    what: &str,
    count: usize,
    total: usize,
) -> Result<Vec<usize>, FileError> {
    tokens.make_room(count as u128, what, tokens.place())?;
    let mut ends = Vec::with_capacity(count);
    let mut last = 0;
    for k in 0..count {
        let (end, place) = tokens.size(what)?;
        if end <= last || total < end || (k + 1 == count && end != total) {
            return Err(FileError::OutOfRange {
                place,
                what: what.into(),
                found: end.to_string(),
                expected: format!("above {last}, and {total} for the last"),
            });
        }
        last = end;
        ends.push(end);
    }
    if last != total {
        return Err(FileError::Mismatch {
            place: tokens.place(),
            what: what.into(),
            found: last.to_string(),
            expected: total.to_string(),
        });
    }
    Ok(ends)
}

/// The block row of every block, from the pointers to the first block of each block row.
fn block_rows(
    tokens: &mut Tokens<'_>,
    name: &str,
    n_pointers: usize,
    n_blocks: usize,
) -> Result<Vec<usize>, FileError> {
    let what = format!("the first block of a block row of {name}");
    let mut row_of = Vec::with_capacity(n_blocks);
    for pointer in 0..n_pointers {
        let (first, place) = tokens.size(&what)?;
        let start = row_of.len();
        let last = pointer + 1 == n_pointers;
        if first < start
            || n_blocks < first
            || (pointer == 0 && first != 0)
            || (last && first != n_blocks)
        {
            return Err(FileError::OutOfRange {
                place,
                what,
                found: first.to_string(),
                expected: format!("{start} or more, 0 for the first and {n_blocks} for the last"),
            });
        }
        // Pointer k closes block row k − 1.
        row_of.resize(first, pointer.saturating_sub(1));
    }
    if row_of.len() == n_blocks {
        return Ok(row_of);
    }
    Err(FileError::Mismatch {
        place: tokens.place(),
        what: format!("the number of blocks in block rows of {name}"),
        found: row_of.len().to_string(),
        expected: n_blocks.to_string(),
    })
}

fn sparse(
    tokens: &mut Tokens<'_>,
    name: &str,
    n_rows: usize,
    n_cols: usize,
) -> Result<Entries, FileError> {
    let origin = tokens.take(&format!("the sparse storage of {name}"))?;
    match origin.text {
        "1" | "2" => {}
        "3" => {
            return Err(unsupported(
                origin.place(),
                "a Siconos matrix in compressed rows (3)",
            ));
        }
        "4" => {
            return Err(unsupported(
                origin.place(),
                "a Siconos matrix in half triplets (4)",
            ));
        }
        _ => return Err(origin.unexpected("1 (triplets) or 2 (compressed columns)")),
    }
    tokens.word("CSparse")?;
    tokens.skip_line();
    let head = tokens.take("\"triplet:\" or the size of the matrix")?;
    let is_triplet = head.text == "triplet:";
    let size = if is_triplet {
        tokens.take("the size of the matrix")?
    } else {
        head
    };
    if size.text != format!("{n_rows}-by-{n_cols},") {
        return Err(size.unexpected(format!("\"{n_rows}-by-{n_cols},\"")));
    }
    tokens.word("nzmax:")?;
    tokens.size("the room for entries")?;
    tokens.word("nnz:")?;
    let count = tokens.take("the number of entries")?;
    let digits = count.text.trim_end_matches(',');
    let n_entries: usize = digits
        .parse()
        .map_err(|_| count.unexpected("the number of entries in digits"))?;
    // An entry takes a row, a colon and a value at the least.
    tokens.make_room(
        3 * n_entries as u128,
        &format!("the entries of {name}"),
        count.place(),
    )?;
    if is_triplet {
        triplets(tokens, n_rows, n_cols, n_entries)
    } else {
        tokens.word("1-norm:")?;
        tokens.number("the norm of the matrix")?;
        compressed_columns(tokens, n_rows, n_cols, n_entries)
    }
}

fn unsupported(place: super::super::error::Place, kind: &'static str) -> FileError {
    let remedy = "write it as triplets (1) or compressed columns (2)";
    FileError::Unsupported {
        place,
        kind,
        remedy,
    }
}

fn triplets(
    tokens: &mut Tokens<'_>,
    n_rows: usize,
    n_cols: usize,
    n_entries: usize,
) -> Result<Entries, FileError> {
    let mut entries = Vec::with_capacity(n_entries);
    for _ in 0..n_entries {
        let row = tokens.index("the row of an entry", n_rows)?;
        let col = tokens.index("the column of an entry", n_cols)?;
        tokens.word(":")?;
        entries.push((row, col, tokens.number("the value of an entry")?));
    }
    Ok(entries)
}

fn compressed_columns(
    tokens: &mut Tokens<'_>,
    n_rows: usize,
    n_cols: usize,
    n_entries: usize,
) -> Result<Entries, FileError> {
    let mut entries = Vec::with_capacity(n_entries);
    for col in 0..n_cols {
        tokens.word("col")?;
        tokens.known("the number of a column", col)?;
        tokens.word(":")?;
        tokens.word("locations")?;
        tokens.known("the first location of a column", entries.len())?;
        tokens.word("to")?;
        let last = tokens.take("the last location of a column")?;
        // The last location of an empty first column is −1.
        let end = last
            .text
            .parse::<i64>()
            .ok()
            .and_then(|k| usize::try_from(k.checked_add(1)?).ok());
        let end = match end {
            Some(end) if entries.len() <= end && end <= n_entries => end,
            _ => return Err(last.unexpected(format!("a location below {n_entries}"))),
        };
        while entries.len() < end {
            let row = tokens.index("the row of an entry", n_rows)?;
            tokens.word(":")?;
            entries.push((row, col, tokens.number("the value of an entry")?));
        }
    }
    if entries.len() == n_entries {
        return Ok(entries);
    }
    Err(FileError::Mismatch {
        place: tokens.place(),
        what: "the number of entries".into(),
        found: entries.len().to_string(),
        expected: n_entries.to_string(),
    })
}
