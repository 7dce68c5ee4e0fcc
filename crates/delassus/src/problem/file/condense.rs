//! From a friction file to a [`Problem`]: the local form is a dual problem as it stands; the global form becomes
//! masses and rows, one mass block for each connected component of M, or its local form where M is not symmetric.

mod unsymmetric;

use super::{FileContent, FileError, FrictionFile, FrictionForm, Loaded, Triplets};
use crate::error::BuildError;
use crate::index::MassId;
use crate::law::Law;
use crate::linalg::disjoint::DisjointSets;
use crate::problem::delassus::BlockMatrix;
use crate::problem::mass::{MAX_DENSE, MassBlock};
use crate::problem::{Problem, ProblemBuilder};

/// M is symmetrised where no entry differs from its mirror image by more than this share of √(M_ii M_jj): files printed
/// with seven digits are no better.
const ASYMMETRY: f64 = 1e-6;

/// Most values of G that dense rows over large components may take (one gigabyte).
const MAX_VALUES: usize = 1 << 27;

impl FrictionFile {
    /// The problem the file states, with impulses and row velocities of the file's own sign.
    pub fn into_loaded(self) -> Result<Loaded, FileError> {
        let laws = self.laws();
        match self.form {
            FrictionForm::Local { w, q } => {
                let sizes = vec![self.dimension; laws.len()];
                let matrix = BlockMatrix::from_entries(&sizes, &w.entries).map_err(refused)?;
                let problem = Problem::dual(matrix, q, &laws).map_err(refused)?;
                Ok(Loaded::problem("friction-local", self.title, problem))
            }
            FrictionForm::Global {
                m,
                h,
                f,
                w,
                equalities,
            } => {
                let contacts = MatrixRows {
                    h: &h,
                    offset: &w,
                    laws: &laws,
                    size: self.dimension,
                };
                let equal = equalities.as_ref().map_or(0, |(_, b)| b.len());
                let equal = vec![Law::Equality; equal];
                let held = equalities.as_ref().map(|(g, b)| MatrixRows {
                    h: g,
                    offset: b,
                    laws: &equal,
                    size: 1,
                });
                let rows: Vec<MatrixRows<'_>> = std::iter::once(contacts).chain(held).collect();
                let unsymmetric = m.most_unsymmetric();
                if unsymmetric.is_some_and(|(.., share)| ASYMMETRY < share) {
                    let problem = unsymmetric::local(&m, &f, &rows)?;
                    return Ok(Loaded::problem("friction-unsymmetric", self.title, problem));
                }
                let mut global = Global::new(&m, &f)?;
                // u = Hᵀv + w, so G = Hᵀ and q = −w; likewise Gᵀv + b = 0.
                for rows in &rows {
                    global.add_rows(rows)?;
                }
                let problem = global.builder.build().map_err(refused)?;
                let content = FileContent::Problem {
                    problem: Box::new(problem),
                    velocity_order: Some(global.order),
                };
                Ok(Loaded {
                    kind: "friction-global",
                    title: self.title,
                    guess: None,
                    content,
                })
            }
        }
    }
}

impl FrictionFile {
    /// The law of every contact.
    fn laws(&self) -> Vec<Law> {
        let law = |(k, &mu): (usize, &f64)| match &self.rolling {
            None => Law::FrictionCone { mu },
            Some(rolling) => Law::RollingCone {
                mu,
                rolling: rolling[k],
            },
        };
        self.mu.iter().enumerate().map(law).collect()
    }
}

fn refused(error: BuildError) -> FileError {
    FileError::invalid("problem", error.to_string())
}

/// Rows of the problem: columns of H or G, what is added to their velocities, and a law for every `size` of them.
struct MatrixRows<'a> {
    h: &'a Triplets,
    offset: &'a [f64],
    laws: &'a [Law],
    size: usize,
}

/// A global problem being put together.
struct Global {
    builder: ProblemBuilder,
    /// Degrees of freedom of the file, component by component.
    order: Vec<usize>,
    /// For every degree of freedom its component and place in it.
    place: Vec<(usize, usize)>,
    sizes: Vec<usize>,
    n_values: usize,
}

impl Global {
    /// Splits M into connected components, in the order of their first degree of freedom.
    fn new(m: &Triplets, f: &[f64]) -> Result<Global, FileError> {
        let (place, sizes, order) = components(m);
        check_sizes(&sizes)?;
        let mut matrices: Vec<Vec<f64>> = sizes.iter().map(|&n| vec![0.0; n * n]).collect();
        // A stored zero couples nothing and may lie between components.
        for &(row, column, value) in m.entries.iter().filter(|entry| entry.2 != 0.0) {
            let ((component, i), (_, j)) = (place[row], place[column]);
            let n = sizes[component];
            matrices[component][i * n + j] += 0.5 * value;
            matrices[component][j * n + i] += 0.5 * value;
        }
        let mut builder = Problem::builder();
        let mut first = 0;
        for (component, matrix) in matrices.into_iter().enumerate() {
            let dofs = &order[first..first + sizes[component]];
            let p: Vec<f64> = dofs.iter().map(|&dof| f[dof]).collect();
            first += sizes[component];
            let mass = MassBlock::dense(matrix).map_err(|error| {
                FileError::invalid(
                    format!("M, component of row {}", dofs[0]),
                    error.to_string(),
                )
            })?;
            builder.add_mass(mass, &p).map_err(refused)?;
        }
        Ok(Global {
            builder,
            order,
            place,
            sizes,
            n_values: 0,
        })
    }

    /// Adds a block of columns of H for each law, with q = −`offset`.
    fn add_rows(&mut self, rows: &MatrixRows<'_>) -> Result<(), FileError> {
        let &MatrixRows {
            h,
            offset,
            laws,
            size: rows,
        } = rows;
        let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); h.n_cols];
        for &(dof, column, value) in &h.entries {
            columns[column].push((dof, value));
        }
        for (k, &law) in laws.iter().enumerate() {
            let columns = &columns[k * rows..(k + 1) * rows];
            let touched = columns.iter().flatten().map(|&(dof, _)| self.place[dof].0);
            let mut touched: Vec<usize> = touched.collect();
            touched.sort_unstable();
            touched.dedup();
            self.n_values += touched.iter().map(|&c| rows * self.sizes[c]).sum::<usize>();
            if MAX_VALUES < self.n_values {
                let what =
                    "couples too many degrees of freedom to too many contacts; give the local form";
                return Err(FileError::invalid("H", what));
            }
            let mut values: Vec<Vec<f64>> = touched
                .iter()
                .map(|&c| vec![0.0; rows * self.sizes[c]])
                .collect();
            for (i, column) in columns.iter().enumerate() {
                for &(dof, value) in column {
                    let (component, j) = self.place[dof];
                    if let Ok(at) = touched.binary_search(&component) {
                        values[at][i * self.sizes[component] + j] += value;
                    }
                }
            }
            let on: Vec<(MassId, &[f64])> = touched
                .iter()
                .zip(&values)
                .map(|(&c, values)| (MassId(c as u32), &values[..]))
                .collect();
            let q: Vec<f64> = offset[k * rows..(k + 1) * rows]
                .iter()
                .map(|w| -w)
                .collect();
            let added = self.builder.add_block(law, &on, &vec![0.0; rows], &q);
            added.map_err(refused)?;
        }
        Ok(())
    }
}

/// Refuses components too large to be factored.
fn check_sizes(sizes: &[usize]) -> Result<(), FileError> {
    match sizes.iter().find(|&&size| MAX_DENSE < size) {
        Some(size) => {
            let what = format!(
                "couples {size} degrees of freedom; at most {MAX_DENSE} are factored: give the local form"
            );
            Err(FileError::invalid("M", what))
        }
        None => Ok(()),
    }
}

/// Component and place of each row, sizes, and rows by component.
type Components = (Vec<(usize, usize)>, Vec<usize>, Vec<usize>);

/// Connected components of a matrix.
fn components(m: &Triplets) -> Components {
    let mut sets = DisjointSets::new(m.n_rows);
    for &(row, column, value) in &m.entries {
        if value != 0.0 {
            sets.join(row, column);
        }
    }
    let (number, count) = sets.numbered();
    let (mut place, mut sizes) = (Vec::with_capacity(m.n_rows), vec![0; count]);
    for component in number {
        place.push((component, sizes[component]));
        sizes[component] += 1;
    }
    let mut starts = vec![0; sizes.len() + 1];
    for (c, size) in sizes.iter().enumerate() {
        starts[c + 1] = starts[c] + size;
    }
    let mut order = vec![0; m.n_rows];
    for (row, &(component, at)) in place.iter().enumerate() {
        order[starts[component] + at] = row;
    }
    (place, sizes, order)
}
