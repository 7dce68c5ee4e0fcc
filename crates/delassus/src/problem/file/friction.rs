//! A frictional-contact problem as files state it, before it becomes a `Problem`.
//!
//! Both text and HDF5 readers end here. The signs are those of the files: reactions push contacts
//! apart, the normal component comes first, and the cone is |r_T| ≤ μ r_N, with rolling friction |r_R| ≤ μ_r r_N too.

use super::error::{FileError, Place};

/// A frictional-contact problem as files state it, before it becomes a `Problem`.
#[derive(Clone, Debug, PartialEq)]
pub struct FrictionFile {
    /// Title, empty where the format has none.
    pub title: String,
    /// Components per contact: the normal first, then one or two tangents; with rolling friction as many spins follow.
    pub dimension: usize,
    /// Number of contacts.
    pub n_contacts: usize,
    /// The matrices and vectors.
    pub form: FrictionForm,
    /// Coefficient of friction of every contact.
    pub mu: Vec<f64>,
    /// Coefficient of rolling friction of every contact, where there is such friction \[m\].
    pub rolling: Option<Vec<f64>>,
}

/// The two ways in which files state a frictional-contact problem.
#[derive(Clone, Debug, PartialEq)]
pub enum FrictionForm {
    /// u = W r + q.
    Local {
        /// The Delassus matrix, `dimension * n_contacts` square. It need not be symmetric.
        w: Triplets,
        /// Relative velocity without reactions.
        q: Vec<f64>,
    },
    /// M v = H r + G λ + f, u = Hᵀ v + w, Gᵀ v + b = 0.
    Global {
        /// Mass (or iteration) matrix, `ndof` square.
        m: Triplets,
        /// Directions of the reactions, `ndof` rows by `dimension * n_contacts` columns.
        h: Triplets,
        /// Momentum without reactions, `ndof` values.
        f: Vec<f64>,
        /// Prescribed relative velocity, `dimension * n_contacts` values.
        w: Vec<f64>,
        /// G (`ndof` rows) and b (one value per column of G), where there are equalities.
        equalities: Option<(Triplets, Vec<f64>)>,
    },
}

/// A sparse matrix: entries in row-major order, each position at most once.
#[derive(Clone, Debug, PartialEq)]
pub struct Triplets {
    /// Number of rows.
    pub n_rows: usize,
    /// Number of columns.
    pub n_cols: usize,
    /// Row, column, value.
    pub entries: Vec<(usize, usize, f64)>,
}

impl Triplets {
    /// Sorts the entries and sums those at one position, as assembled matrices mean them.
    ///
    /// `name` is what messages call the matrix.
    pub fn new(
        name: &str,
        n_rows: usize,
        n_cols: usize,
        mut entries: Vec<(usize, usize, f64)>,
    ) -> Result<Self, FileError> {
        for &(row, col, value) in &entries {
            if n_rows <= row || n_cols <= col {
                return Err(FileError::OutOfRange {
                    place: Place::Value(name.into()),
                    what: "an entry's position".into(),
                    found: format!("row {row}, column {col}"),
                    expected: format!("inside {n_rows} rows and {n_cols} columns, from zero"),
                });
            }
            finite(value, || format!("{name}[{row},{col}]"))?;
        }
        // The sort is stable, so that duplicates are summed in the order of the file.
        entries.sort_by_key(|&(row, col, _)| (row, col));
        entries.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        for &(row, col, value) in &entries {
            finite(value, || format!("{name}[{row},{col}]"))?;
        }
        Ok(Self {
            n_rows,
            n_cols,
            entries,
        })
    }

    /// Largest |A_ij − A_ji| over the largest |A_ij|: zero for a symmetric matrix, infinite for one
    /// that is not square.
    pub fn asymmetry(&self) -> f64 {
        if self.n_rows != self.n_cols {
            return f64::INFINITY;
        }
        let (mut difference, mut scale) = (0.0_f64, 0.0_f64);
        for &(row, col, value) in &self.entries {
            scale = scale.max(value.abs());
            difference = difference.max((value - self.at(col, row)).abs());
        }
        if scale == 0.0 {
            0.0
        } else {
            difference / scale
        }
    }

    /// The entry that differs most from its mirror image, by |A_ij − A_ji| over √(A_ii A_jj): what a matrix of masses
    /// of different sizes is judged by. Infinite where they differ and a diagonal entry is not positive.
    pub fn most_unsymmetric(&self) -> Option<(usize, usize, f64)> {
        let mut most: Option<(usize, usize, f64)> = None;
        for &(row, col, value) in &self.entries {
            let difference = (value - self.at(col, row)).abs();
            if difference == 0.0 {
                continue;
            }
            let scale = (self.at(row, row).max(0.0) * self.at(col, col).max(0.0)).sqrt();
            let share = difference / scale;
            if most.is_none_or(|(.., least)| least < share) {
                most = Some((row, col, share));
            }
        }
        most
    }

    /// The value at a position, zero where none is stored.
    pub fn at(&self, row: usize, col: usize) -> f64 {
        self.entries
            .binary_search_by_key(&(row, col), |&(r, c, _)| (r, c))
            .map_or(0.0, |k| self.entries[k].2)
    }
}

impl FrictionForm {
    /// Checks sizes and values for `n_rows` rows of all contacts together.
    fn check(&self, n_rows: usize) -> Result<(), FileError> {
        match self {
            FrictionForm::Local { w, q } => {
                same("rows of W", w.n_rows, n_rows)?;
                same("columns of W", w.n_cols, n_rows)?;
                vector("q", q, n_rows)?;
            }
            FrictionForm::Global {
                m,
                h,
                f,
                w,
                equalities,
            } => {
                let n_dof = m.n_rows;
                same("columns of M", m.n_cols, n_dof)?;
                same("rows of H", h.n_rows, n_dof)?;
                same("columns of H", h.n_cols, n_rows)?;
                vector("f", f, n_dof)?;
                vector("w", w, n_rows)?;
                if let Some((g, b)) = equalities {
                    same("rows of G", g.n_rows, n_dof)?;
                    vector("b", b, g.n_cols)?;
                }
            }
        }
        Ok(())
    }
}

impl FrictionFile {
    /// Checks that all sizes agree and that all values are legal; one contact per entry of `mu`.
    pub fn new(
        title: String,
        dimension: usize,
        form: FrictionForm,
        mu: Vec<f64>,
        rolling: Option<Vec<f64>>,
    ) -> Result<Self, FileError> {
        let (fits, expected) = match rolling {
            None => (matches!(dimension, 2 | 3), "2 or 3"),
            Some(_) => (matches!(dimension, 3 | 5), "3 or 5 with rolling friction"),
        };
        if !fits {
            return Err(FileError::OutOfRange {
                place: Place::Value("dimension".into()),
                what: "the number of components per contact".into(),
                found: dimension.to_string(),
                expected: expected.into(),
            });
        }
        let n_contacts = mu.len();
        let n_rows = dimension * n_contacts;
        form.check(n_rows)?;
        coefficients("mu", "a coefficient of friction", &mu)?;
        if let Some(rolling) = &rolling {
            same("entries of mu_r", rolling.len(), n_contacts)?;
            coefficients("mu_r", "a coefficient of rolling friction", rolling)?;
        }
        Ok(Self {
            title,
            dimension,
            n_contacts,
            form,
            mu,
            rolling,
        })
    }
}

/// Refuses coefficients that are not finite or negative.
fn coefficients(name: &str, what: &str, values: &[f64]) -> Result<(), FileError> {
    for (k, &value) in values.iter().enumerate() {
        finite(value, || format!("{name}[{k}]"))?;
        if value < 0.0 {
            return Err(FileError::OutOfRange {
                place: Place::Value(format!("{name}[{k}]")),
                what: what.into(),
                found: value.to_string(),
                expected: "zero or more".into(),
            });
        }
    }
    Ok(())
}

fn same(what: &str, found: usize, expected: usize) -> Result<(), FileError> {
    if found == expected {
        return Ok(());
    }
    Err(FileError::Mismatch {
        place: Place::Value(what.into()),
        what: "their number".into(),
        found: found.to_string(),
        expected: expected.to_string(),
    })
}

fn vector(name: &str, values: &[f64], len: usize) -> Result<(), FileError> {
    same(&format!("entries of {name}"), values.len(), len)?;
    for (k, &value) in values.iter().enumerate() {
        finite(value, || format!("{name}[{k}]"))?;
    }
    Ok(())
}

fn finite(value: f64, name: impl FnOnce() -> String) -> Result<(), FileError> {
    if value.is_finite() {
        return Ok(());
    }
    Err(FileError::NotFinite {
        place: Place::Value(name()),
        found: value.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(n: usize) -> Triplets {
        Triplets::new("I", n, n, (0..n).map(|k| (k, k, 1.0)).collect()).unwrap()
    }

    fn local(w: Triplets, q: Vec<f64>, mu: Vec<f64>) -> Result<FrictionFile, FileError> {
        FrictionFile::new(String::new(), 3, FrictionForm::Local { w, q }, mu, None)
    }

    #[test]
    fn duplicates_are_summed_and_entries_sorted() {
        let a = Triplets::new("A", 2, 2, vec![(1, 0, 1.0), (0, 1, 2.0), (1, 0, 4.0)]).unwrap();
        assert_eq!(a.entries, [(0, 1, 2.0), (1, 0, 5.0)]);
        assert_eq!(a.at(1, 0), 5.0);
        assert_eq!(a.at(0, 0), 0.0);
        assert_eq!(a.asymmetry(), 3.0 / 5.0);
    }

    #[test]
    fn asymmetry_is_judged_against_the_diagonal_of_the_entry() {
        let entries = vec![(0, 0, 1.0), (1, 0, 0.5), (1, 1, 4.0), (2, 2, 1e9)];
        let a = Triplets::new("A", 3, 3, entries).unwrap();
        assert!(a.asymmetry() < 1e-9);
        assert_eq!(a.most_unsymmetric(), Some((1, 0, 0.25)));
        assert_eq!(identity(2).most_unsymmetric(), None);
    }

    #[test]
    fn entries_outside_the_matrix_and_sums_beyond_a_double_are_refused() {
        let outside = Triplets::new("A", 2, 2, vec![(2, 0, 1.0)]).unwrap_err();
        assert!(matches!(outside, FileError::OutOfRange { .. }));
        let overflow = Triplets::new("A", 1, 1, vec![(0, 0, f64::MAX), (0, 0, f64::MAX)]);
        assert_eq!(
            overflow.unwrap_err().to_string(),
            "A[0,0]: inf is not a finite number; a problem must be finite everywhere, so write the file again"
        );
    }

    #[test]
    fn sizes_that_disagree_are_refused_by_name() {
        assert!(local(identity(3), vec![0.0; 3], vec![0.5]).is_ok());
        let short_q = local(identity(3), vec![0.0; 2], vec![0.5]).unwrap_err();
        assert!(
            short_q
                .to_string()
                .starts_with("entries of q: their number is 2 but must be 3")
        );
        let small_w = local(identity(2), vec![0.0; 3], vec![0.5]).unwrap_err();
        assert!(small_w.to_string().starts_with("rows of W"));
        let equalities = Some((identity(3), vec![0.0; 2]));
        let (m, h) = (identity(3), identity(3));
        let form = FrictionForm::Global {
            m,
            h,
            f: vec![0.0; 3],
            w: vec![0.0; 3],
            equalities,
        };
        let short_b = FrictionFile::new(String::new(), 3, form, vec![0.5], None).unwrap_err();
        assert!(short_b.to_string().starts_with("entries of b"));
    }

    #[test]
    fn illegal_values_are_refused_with_their_index() {
        let negative = local(identity(3), vec![0.0; 3], vec![-0.5]).unwrap_err();
        assert!(
            negative
                .to_string()
                .starts_with("mu[0]: a coefficient of friction is -0.5")
        );
        let nan = local(identity(3), vec![0.0, f64::NAN, 0.0], vec![0.5]).unwrap_err();
        assert!(
            nan.to_string()
                .starts_with("q[1]: NaN is not a finite number")
        );
        let form = FrictionForm::Local {
            w: identity(5),
            q: vec![0.0; 5],
        };
        let of = |rolling| FrictionFile::new(String::new(), 5, form.clone(), vec![0.5], rolling);
        let plain = of(None).unwrap_err();
        assert!(plain.to_string().starts_with("dimension:"), "{plain}");
        assert!(of(Some(vec![0.1])).is_ok());
        let short = of(Some(Vec::new())).unwrap_err().to_string();
        assert!(short.starts_with("entries of mu_r: their number is 0 but must be 1"));
        let negative = of(Some(vec![-0.1])).unwrap_err().to_string();
        assert!(negative.starts_with("mu_r[0]: a coefficient of rolling friction is -0.1"));
    }
}
