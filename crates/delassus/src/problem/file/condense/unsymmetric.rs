//! Global problems whose M is not symmetric, solved as they are given: W = Hᵀ M⁻¹ H and q = Hᵀ M⁻¹ f + w.
//!
//! An iteration matrix need not be symmetric, and the mean of it and its transpose would be another problem. Masses of
//! the library are symmetric, so that such a file becomes its local form, which need not be. Each component of M is
//! factored by itself.

use super::{Components, MAX_VALUES, MatrixRows, check_sizes, components, refused};
use crate::linalg::lu::ProfileLu;
use crate::problem::Problem;
use crate::problem::delassus::BlockMatrix;
use crate::problem::file::{FileError, Triplets};

/// The local form of M v = H r + G λ + f, u = Hᵀv + w, 0 = Gᵀv + b.
pub(super) fn local(
    m: &Triplets,
    f: &[f64],
    rows: &[MatrixRows<'_>],
) -> Result<Problem, FileError> {
    let parts = components(m);
    let factors = factored(m, &parts)?;
    let (place, sizes, order) = parts;
    // Columns of H and G by the component they act on: (row of the problem, values over the component).
    let mut on: Vec<Vec<(usize, Vec<f64>)>> = vec![Vec::new(); sizes.len()];
    let (mut c, mut laws, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    for part in rows {
        let start = c.len();
        let mut entries = part.h.entries.clone();
        entries.sort_by_key(|&(dof, column, _)| (column, dof));
        for (dof, column, value) in entries {
            let (component, i) = place[dof];
            let (row, columns) = (start + column, &mut on[component]);
            if columns.last().is_none_or(|last| last.0 != row) {
                columns.push((row, vec![0.0; sizes[component]]));
            }
            if let Some((_, values)) = columns.last_mut() {
                values[i] += value;
            }
        }
        c.extend_from_slice(part.offset);
        laws.extend_from_slice(part.laws);
        blocks.extend(part.laws.iter().map(|_| part.size));
    }
    let count: usize = on.iter().map(|columns| columns.len() * columns.len()).sum();
    if MAX_VALUES < count {
        let what = "couples too many contacts through one part of M, which is not symmetric; give the local form";
        return Err(FileError::invalid("H", what));
    }
    let mut entries = Vec::with_capacity(count);
    let mut first = 0;
    for (component, columns) in on.iter().enumerate() {
        let dofs = &order[first..first + sizes[component]];
        first += sizes[component];
        let mut free: Vec<f64> = dofs.iter().map(|&dof| f[dof]).collect();
        factors[component].solve(&mut free);
        for (row, h) in columns {
            c[*row] += crate::math::dot(h, &free);
        }
        for (column, h) in columns {
            let mut moved = h.clone();
            factors[component].solve(&mut moved);
            for (row, h) in columns {
                entries.push((*row, *column, crate::math::dot(h, &moved)));
            }
        }
    }
    let matrix = BlockMatrix::from_entries(&blocks, &entries).map_err(refused)?;
    Problem::dual(matrix, c, &laws).map_err(refused)
}

/// M of each component, factored.
fn factored(m: &Triplets, (place, sizes, order): &Components) -> Result<Vec<ProfileLu>, FileError> {
    check_sizes(sizes)?;
    let mut factors = vec![ProfileLu::default(); sizes.len()];
    factors
        .iter_mut()
        .zip(sizes)
        .for_each(|(lu, &size)| lu.reset(size));
    for &(row, column, value) in m.entries.iter().filter(|entry| entry.2 != 0.0) {
        let ((component, i), (_, j)) = (place[row], place[column]);
        factors[component].add(i, j, value);
    }
    let mut first = 0;
    for (lu, size) in factors.iter_mut().zip(sizes) {
        if !(0.0 < lu.factor()) {
            let place = format!("M, component of row {}", order[first]);
            return Err(FileError::invalid(
                place,
                "is singular; correct its entries",
            ));
        }
        first += size;
    }
    Ok(factors)
}
