//! FCLIB `.hdf5` files: one frictional-contact problem, perhaps with an answer and guesses.
//!
//! The root holds exactly one of `fclib_local`, `fclib_global`, `fclib_local_rolling` and
//! `fclib_global_rolling`, with `spacedim`, `info/title`, matrices and `vectors`:
//!
//! - local: u = W r + q; `W`, `vectors/{q,mu}`;
//! - rolling: the same with as many spins as tangents in each contact, and `vectors/mu_r`;
//! - global: M v = H r + G λ + f, u = Hᵀ v + w, Gᵀ v + b = 0; `M`, `H`, perhaps `G`,
//!   `vectors/{f,w,mu}`, and `b` with `G`.
//!
//! A matrix is `m` rows, `n` columns, `nz`, `nzmax`, `p`, `i`, `x`. Traps:
//!
//! 1. `nz` = −2 is compressed rows, −1 compressed columns, otherwise the number of triplets. In
//!    triplets the rows are in `i` and the columns in `p`, the opposite of FCLIB's own header.
//! 2. `nzmax` may exceed the stored length, and `i` and `x` may be longer than what is used.
//! 3. A dataset can be declared and never written; HDF5 then reads as zeros. A problem with such a
//!    dataset is refused. (The answers in published files are often like that, and are not read.)
//! 4. The local form can be mixed with equalities (`V`, `R`, `s`); that one is refused by name.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hdf5_pure::{DType, Dataset, File, FormatError, Layout};

use super::error::{FileError, Place, shortened};
use super::friction::{FrictionFile, FrictionForm, Triplets};

/// How much larger than the whole file one of its compressed datasets may be. Real matrices shrink
/// by less than ten; a file that claims more is damaged or hostile.
const MAX_EXPANSION: u64 = 64;

/// Reads the problem of an FCLIB file, whose content is `bytes`.
pub fn read(bytes: &[u8]) -> Result<FrictionFile, FileError> {
    let reader = Reader::open(bytes)?;
    let groups = reader.groups("")?;
    let has = |name: &str| groups.iter().any(|group| group == name);
    let known: Vec<&str> = GROUPS.into_iter().filter(|group| has(group)).collect();
    match known[..] {
        [group] if group.starts_with("fclib_local") => local(&reader, group),
        [group] => global(&reader, group),
        [] => Err(FileError::Missing {
            place: object("fclib_local"),
            expected:
                "a group fclib_local or fclib_global at the root, or one of these with _rolling"
                    .into(),
        }),
        _ => Err(FileError::Unsupported {
            place: object(""),
            kind: "a file with both fclib_local and fclib_global, or with and without rolling",
            remedy: "keep one problem per file",
        }),
    }
}

/// The groups that hold a problem.
const GROUPS: [&str; 4] = [
    "fclib_local",
    "fclib_global",
    "fclib_local_rolling",
    "fclib_global_rolling",
];

fn local(reader: &Reader, group: &str) -> Result<FrictionFile, FileError> {
    let groups = reader.groups(group)?;
    if groups.iter().any(|group| group == "V" || group == "R") {
        return Err(FileError::Unsupported {
            place: Place::Object(format!("{group}/V")),
            kind: "a local problem mixed with equalities (V, R, s)",
            remedy: "write the problem in global form, with G and b",
        });
    }
    let form = FrictionForm::Local {
        w: reader.matrix(&format!("{group}/W"))?,
        q: reader.reals(&format!("{group}/vectors/q"))?,
    };
    finish(reader, group, form)
}

fn global(reader: &Reader, group: &str) -> Result<FrictionFile, FileError> {
    let groups = reader.groups(group)?;
    let equalities = if groups.iter().any(|group| group == "G") {
        Some((
            reader.matrix(&format!("{group}/G"))?,
            reader.reals(&format!("{group}/vectors/b"))?,
        ))
    } else {
        None
    };
    let form = FrictionForm::Global {
        m: reader.matrix(&format!("{group}/M"))?,
        h: reader.matrix(&format!("{group}/H"))?,
        f: reader.reals(&format!("{group}/vectors/f"))?,
        w: reader.reals(&format!("{group}/vectors/w"))?,
        equalities,
    };
    finish(reader, group, form)
}

fn finish(reader: &Reader, group: &str, form: FrictionForm) -> Result<FrictionFile, FileError> {
    let space = reader.size(&format!("{group}/spacedim"))?;
    let mu = reader.reals(&format!("{group}/vectors/mu"))?;
    let rolling = match group.ends_with("_rolling") {
        true => Some(reader.reals(&format!("{group}/vectors/mu_r"))?),
        false => None,
    };
    let (FrictionForm::Local { q: rows, .. } | FrictionForm::Global { w: rows, .. }) = &form;
    // Files with rolling friction state the dimension of space or that of a contact.
    let dimension = match (rolling.is_some(), rows.len().checked_div(mu.len())) {
        (true, Some(components)) => components,
        _ => space,
    };
    let title = reader.title(&format!("{group}/info/title"));
    FrictionFile::new(title, dimension, form, mu, rolling).map_err(|error| error.inside(group))
}

/// An open file, and how long it is.
struct Reader {
    file: File,
    n_bytes: u64,
}

impl Reader {
    fn open(bytes: &[u8]) -> Result<Self, FileError> {
        let file = guarded("", || File::from_bytes(bytes.to_vec()))?;
        Ok(Self {
            file,
            n_bytes: bytes.len() as u64,
        })
    }

    fn groups(&self, path: &str) -> Result<Vec<String>, FileError> {
        guarded(path, || {
            if path.is_empty() {
                self.file.root().groups()
            } else {
                self.file.group(path)?.groups()
            }
        })
    }

    /// The dataset at `path`, once it is known to hold no more than the file can.
    fn dataset(&self, path: &str, is_type: fn(&DType) -> bool) -> Result<Dataset, FileError> {
        let dataset = guarded(path, || self.file.dataset(path))?;
        let dtype = guarded(path, || dataset.dtype())?;
        if !is_type(&dtype) {
            return Err(FileError::Unexpected {
                place: object(path),
                found: shortened(&format!("{dtype:?}")),
                expected: "a dataset of the type that FCLIB writes".into(),
            });
        }
        let shape = guarded(path, || dataset.shape())?;
        let element = guarded(path, || dataset.element_size())?;
        let declared = shape.iter().fold(u128::from(element), |product, &extent| {
            product.saturating_mul(u128::from(extent))
        });
        let available = match guarded(path, || dataset.layout())? {
            Layout::Compact { .. }
            | Layout::Contiguous {
                address: Some(_), ..
            } => self.n_bytes,
            Layout::Chunked { .. } => self.n_bytes.saturating_mul(MAX_EXPANSION),
            _ => {
                return Err(FileError::Missing {
                    place: object(path),
                    expected: "values, but the dataset was declared and never written".into(),
                });
            }
        };
        if u128::from(available) < declared {
            return Err(FileError::TooLarge {
                place: object(path),
                what: "the bytes of the dataset".into(),
                declared,
                available: available.into(),
            });
        }
        Ok(dataset)
    }

    fn reals(&self, path: &str) -> Result<Vec<f64>, FileError> {
        let dataset = self.dataset(path, |dtype| matches!(dtype, DType::F32 | DType::F64))?;
        let values = guarded(path, || dataset.read_f64())?;
        match values.iter().position(|value| !value.is_finite()) {
            Some(k) => Err(FileError::NotFinite {
                place: Place::Object(format!("{path}[{k}]")),
                found: values[k].to_string(),
            }),
            None => Ok(values),
        }
    }

    fn integers(&self, path: &str) -> Result<Vec<i64>, FileError> {
        let dataset = self.dataset(path, is_integer)?;
        guarded(path, || dataset.read_i64())
    }

    fn integer(&self, path: &str) -> Result<i64, FileError> {
        match self.integers(path)?[..] {
            [value] => Ok(value),
            ref values => Err(mismatch(path, "the number of values", values.len(), 1)),
        }
    }

    fn size(&self, path: &str) -> Result<usize, FileError> {
        let value = self.integer(path)?;
        usize::try_from(value).map_err(|_| FileError::OutOfRange {
            place: object(path),
            what: "a size".into(),
            found: value.to_string(),
            expected: "zero or more".into(),
        })
    }

    /// The title is an ornament: a file without a legible one is still a problem.
    fn title(&self, path: &str) -> String {
        let is_text = |dtype: &DType| matches!(dtype, DType::String | DType::VariableLengthString);
        let read = |dataset: Dataset| guarded(path, || dataset.read_string());
        let lines = self
            .dataset(path, is_text)
            .and_then(read)
            .unwrap_or_default();
        lines
            .into_iter()
            .next()
            .map(|title| title.trim().to_string())
            .unwrap_or_default()
    }

    fn matrix(&self, path: &str) -> Result<Triplets, FileError> {
        let n_rows = self.size(&format!("{path}/m"))?;
        let n_cols = self.size(&format!("{path}/n"))?;
        let nz = self.integer(&format!("{path}/nz"))?;
        let p = self.integers(&format!("{path}/p"))?;
        let i = self.integers(&format!("{path}/i"))?;
        let x = self.reals(&format!("{path}/x"))?;
        let entries = match nz {
            -2 => compressed(path, &p, &i, &x, (n_rows, n_cols))?,
            -1 => compressed(path, &p, &i, &x, (n_cols, n_rows))?
                .into_iter()
                .map(|(col, row, value)| (row, col, value))
                .collect(),
            0.. => triplets(path, nz as u64, [&i, &p], &x, (n_rows, n_cols))?,
            _ => {
                return Err(FileError::Unexpected {
                    place: Place::Object(format!("{path}/nz")),
                    found: nz.to_string(),
                    expected:
                        "-2 (compressed rows), -1 (compressed columns) or a number of triplets"
                            .into(),
                });
            }
        };
        Triplets::new(path, n_rows, n_cols, entries)
    }
}

fn is_integer(dtype: &DType) -> bool {
    use DType::{I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(dtype, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}

/// Entries as (line, position in line, value), a line being a row or a column.
fn compressed(
    path: &str,
    pointers: &[i64],
    positions: &[i64],
    values: &[f64],
    (n_lines, n_positions): (usize, usize),
) -> Result<Vec<(usize, usize, f64)>, FileError> {
    let (name, position_name) = (format!("{path}/p"), format!("{path}/i"));
    if n_lines.checked_add(1) != Some(pointers.len()) {
        let what = "the number of pointers, one more than lines,";
        return Err(mismatch(
            &name,
            what,
            pointers.len(),
            n_lines.saturating_add(1),
        ));
    }
    let stored = positions.len().min(values.len());
    let mut entries = Vec::with_capacity(stored);
    let mut start = index(&name, 0, pointers[0], 1)?;
    for line in 0..n_lines {
        let end = index(&name, line + 1, pointers[line + 1], stored + 1)?;
        if end < start {
            return Err(FileError::OutOfRange {
                place: Place::Object(format!("{name}[{}]", line + 1)),
                what: "a pointer".into(),
                found: end.to_string(),
                expected: format!("{start} or more, the pointer before it"),
            });
        }
        for k in start..end {
            let position = index(&position_name, k, positions[k], n_positions)?;
            entries.push((line, position, values[k]));
        }
        start = end;
    }
    Ok(entries)
}

fn triplets(
    path: &str,
    nz: u64,
    [rows, cols]: [&[i64]; 2],
    values: &[f64],
    (n_rows, n_cols): (usize, usize),
) -> Result<Vec<(usize, usize, f64)>, FileError> {
    let stored = rows.len().min(cols.len()).min(values.len());
    let count = usize::try_from(nz).ok().filter(|&count| count <= stored);
    let Some(count) = count else {
        return Err(FileError::TooLarge {
            place: Place::Object(format!("{path}/nz")),
            what: "the triplets".into(),
            declared: nz.into(),
            available: stored as u128,
        });
    };
    let (row_name, col_name) = (format!("{path}/i"), format!("{path}/p"));
    (0..count)
        .map(|k| {
            let row = index(&row_name, k, rows[k], n_rows)?;
            let col = index(&col_name, k, cols[k], n_cols)?;
            Ok((row, col, values[k]))
        })
        .collect()
}

/// `value`, which stands at `k` of a dataset, as an index below `limit`.
fn index(path: &str, k: usize, value: i64, limit: usize) -> Result<usize, FileError> {
    usize::try_from(value)
        .ok()
        .filter(|&value| value < limit)
        .ok_or_else(|| FileError::OutOfRange {
            place: Place::Object(format!("{path}[{k}]")),
            what: "an index".into(),
            found: value.to_string(),
            expected: format!("from zero and below {limit}"),
        })
}

fn mismatch(path: &str, what: &str, found: usize, expected: usize) -> FileError {
    let (found, expected) = (found.to_string(), expected.to_string());
    FileError::Mismatch {
        place: object(path),
        what: what.into(),
        found,
        expected,
    }
}

fn object(path: &str) -> Place {
    Place::Object(path.into())
}

/// Calls the HDF5 library. It is written to refuse damaged files, but it is large and a panic in it
/// must not end the program of somebody who opened a broken download.
fn guarded<T>(
    path: &str,
    call: impl FnOnce() -> Result<T, hdf5_pure::Error>,
) -> Result<T, FileError> {
    let failed = |message: String| FileError::Container {
        place: object(path),
        message,
    };
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(hdf5_pure::Error::Format(FormatError::PathNotFound(_)))) => {
            let expected = "an object that the FCLIB format requires".into();
            Err(FileError::Missing {
                place: object(path),
                expected,
            })
        }
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed("the reader gave up on its structure".into())),
    }
}

#[cfg(test)]
mod tests;
